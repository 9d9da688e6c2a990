// SPDX-License-Identifier: Apache-2.0
// picture.js - a screenshot with the points of an action drawn where they are.
import { h, s, dialog } from './dom.js';

const mark = {
  click: (m, r) => [s('circle', { cx: m.x, cy: m.y, r: r * 1.6, class: 'halo' }), s('circle', { cx: m.x, cy: m.y, r: r * 0.45, class: 'point' })],
  move: (m, r) => [s('circle', { cx: m.x, cy: m.y, r, class: 'halo thin' })],
  scroll: (m, r) => [s('circle', { cx: m.x, cy: m.y, r: r * 1.6, class: 'halo' }), s('path', { d: `M${m.x} ${m.y - r}V${m.y + r}`, class: 'line' })],
  drag: (m, r) => [s('polyline', { points: m.path.map((p) => `${p.x},${p.y}`).join(' '), class: 'line' }),
    s('circle', { cx: m.path[0].x, cy: m.path[0].y, r: r * 0.6, class: 'point' }), s('circle', { cx: m.path.at(-1).x, cy: m.path.at(-1).y, r: r * 1.3, class: 'halo' })],
  region: (m) => [s('rect', { x: m.region[0], y: m.region[1], width: m.region[2], height: m.region[3], class: 'line' })],
};

/** The points over a picture; `screen`: the size that they count in. */
export function overlay(marks, screen) {
  const r = Math.max(9, screen.width / 90);
  const several = marks.length > 1;
  return s('svg', { class: 'marks', viewBox: `0 0 ${screen.width} ${screen.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    marks.map((m, i) => s('g', { class: `mark ${m.kind}` }, mark[m.kind](m, r),
      several && m.x !== undefined ? s('text', { x: m.x + r * 1.7, y: m.y - r, 'font-size': r * 1.7 }, String(i + 1)) : null)));
}

/** {hash, width, height} as a figure. */
export function picture(source, shot, { marks = [], screen, alt = 'Screenshot', large = false } = {}) {
  const url = source.picture(shot.hash);
  const size = screen ?? { width: shot.width || 1024, height: shot.height || 640 };
  const img = h('img', { src: url, alt, width: shot.width || size.width, height: shot.height || size.height, decoding: 'async', draggable: 'false' });
  const missing = h('span', { class: 'missing muted' }, url ? '' : 'This picture is not here.');
  img.addEventListener('error', () => { missing.textContent = 'This picture cannot be read.'; });
  return h('figure', { class: large ? 'shot large' : 'shot' }, img, marks.length ? overlay(marks, size) : null, missing);
}

/** The same in full size, over the page. */
export function openPicture(source, shot, options) {
  dialog(options?.alt ?? 'Screenshot', () => picture(source, shot, { ...options, large: true })).classList.add('wide');
}
