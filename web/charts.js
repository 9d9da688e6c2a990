// SPDX-License-Identifier: Apache-2.0
// charts.js - bars, drawn by hand; each chart has its figures as a table too.
import { h, s } from './dom.js';

const H = 190;
const LEFT = 52;
const BOTTOM = 22;
const BARS_MAX = 240;

/** A round number above `value` for the top of the axis. */
function top(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (step * power >= value) return step * power;
  return 10 * power;
}

/** Neighbours are added up when there are more bars than can be seen. */
function squeeze(rows, series) {
  if (rows.length <= BARS_MAX) return rows;
  const each = Math.ceil(rows.length / BARS_MAX);
  const out = [];
  for (let i = 0; i < rows.length; i += each) {
    const part = rows.slice(i, i + each);
    out.push({ label: `${part[0].label} to ${part.at(-1).label}`, values: series.map((_, k) => part.reduce((n, r) => n + r.values[k], 0)) });
  }
  return out;
}

/** rows: [{label, values}]; series: [{name, class}]; format(value) for people. */
export function bars(title, rows, series, format) {
  const W = innerWidth < 640 ? 340 : 1000; // its letters are as large as others
  rows = squeeze(rows, series);
  const max = top(Math.max(0, ...rows.map((r) => r.values.reduce((a, b) => a + b, 0))));
  const wide = (W - LEFT) / Math.max(1, rows.length);
  const width = Math.max(1, Math.min(34, wide * 0.72));
  const y = (v) => (H - BOTTOM) * (1 - v / max) + 6 * (v / max);
  const marks = [];
  for (const part of [0, 0.5, 1]) {
    marks.push(s('line', { x1: LEFT, x2: W, y1: y(max * part), y2: y(max * part), class: 'grid' }),
      s('text', { x: LEFT - 6, y: y(max * part) + 4, 'text-anchor': 'end' }, format(max * part)));
  }
  rows.forEach((row, i) => {
    let sum = 0;
    const x = LEFT + i * wide + (wide - width) / 2;
    const stack = series.map(({ class: c }, k) => {
      const from = sum;
      sum += row.values[k];
      return row.values[k] > 0 ? s('rect', { x: x.toFixed(1), width: width.toFixed(1), y: y(sum).toFixed(1), height: Math.max(0.5, y(from) - y(sum)).toFixed(1), class: c }) : null;
    });
    marks.push(s('g', null, s('title', null, `${row.label}: ${series.map((it, k) => `${it.name} ${format(row.values[k])}`).join(', ')}`), stack));
  });
  const every = Math.ceil(rows.length / (W / 80));
  rows.forEach((row, i) => {
    if (i % every === 0) marks.push(s('text', { x: (LEFT + i * wide + wide / 2).toFixed(1), y: H - 6, 'text-anchor': 'middle' }, String(row.label).slice(0, 12)));
  });
  return h('section', { class: 'chart card' }, h('h2', null, title),
    h('ul', { class: 'legend' }, series.map((it) => h('li', null, s('svg', { width: 10, height: 10, viewBox: '0 0 10 10', 'aria-hidden': 'true' }, s('rect', { width: 10, height: 10, rx: 2, class: it.class })), it.name))),
    s('svg', { viewBox: `0 0 ${W} ${H}`, class: 'bars', role: 'img', 'aria-label': `${title}; the figures are in the table below` }, marks),
    h('details', null, h('summary', null, 'Figures'), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': `${title}: figures` }, h('table', null,
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Of'), series.map((it) => h('th', { scope: 'col' }, it.name)))),
      h('tbody', null, rows.map((r) => h('tr', null, h('th', { scope: 'row' }, r.label), r.values.map((v) => h('td', null, format(v))))))))));
}
