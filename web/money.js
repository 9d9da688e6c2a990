// SPDX-License-Identifier: Apache-2.0
// money.js - what sessions took: tokens, money and time.
import { h, fill, icon } from './dom.js';
import { cost, count, date, duration, oneLine } from './format.js';
import { get } from './api.js';
import { bars } from './charts.js';
import { readWhole } from './replay.js';

const usd = (v) => cost(v) || '$0';
const tokens = [{ name: 'fresh', class: 'c-fresh' }, { name: 'cached', class: 'c-cached' }, { name: 'written to the cache', class: 'c-written' }, { name: 'output', class: 'c-out' }];
const times = [{ name: 'model', class: 'c-fresh' }, { name: 'tools', class: 'c-out' }, { name: 'waiting for a person', class: 'c-wait' }];

const input = (u) => [Math.max(0, u.input - u.cached - u.written), u.cached, u.written, u.output];

/** Turns with their usage and times, out of the entries of a fold. */
export function turnsOf(entries) {
  const turns = [];
  for (const e of entries) {
    if (e.type === 'turn') {
      turns.push({ label: String(e.turn ?? turns.length + 1), usage: e.usage ? input(e.usage) : [0, 0, 0, 0], cost: e.cost ?? 0, time: [e.elapsed ?? 0, 0, 0] });
    } else if (e.type === 'call' && turns.length) {
      const turn = turns.at(-1);
      turn.time[1] += e.elapsed ?? 0;
      if (e.asked) turn.time[2] += Math.max(0, (e.decided?.ts ?? Date.now()) - e.asked.ts);
    }
  }
  return turns;
}

const sum = (list, pick) => list.reduce((n, x) => n + pick(x), 0);

function tile(name, value, more) {
  return h('div', { class: 'tile card' }, h('span', { class: 'muted' }, name), h('strong', null, value), more ? h('span', { class: 'muted' }, more) : null);
}

/** A limit and how much of it is used. */
function budget(name, used, limit, format) {
  if (!limit) return null;
  const part = Math.min(1, used / limit);
  return h('div', { class: 'budget' }, h('span', null, name), h('meter', { min: 0, max: 1, value: part, high: 0.8, optimum: 0, 'aria-label': `${name}: ${format(used)} of ${format(limit)}` }),
    h('span', { class: 'muted' }, `${format(used)} of ${format(limit)}`));
}

export function sessionMoneyView(root, source, { fail, back }) {
  const abort = new AbortController();
  fill(root, h('main', { class: 'centered' }, h('p', { class: 'muted' }, 'Reads the log…')));
  readWhole(source, null, abort.signal).then(({ row, fold }) => {
    const turns = turnsOf(fold.entries);
    const used = sum(turns, (t) => t.cost);
    const t = [0, 1, 2].map((k) => sum(turns, (x) => x.time[k]));
    const cached = sum(turns, (x) => x.usage[1]);
    const all = sum(turns, (x) => x.usage[0] + x.usage[1] + x.usage[2]);
    const limits = fold.limits ?? {};
    fill(root, h('main', { class: 'page money' }, h('div', { class: 'toolbar' }, h('div', { class: 'row' }, h('a', { class: 'button quiet', href: back, 'aria-label': 'Back to the session' }, icon('back')), h('h1', { dir: 'auto' }, oneLine(row.title || source.id, 100)))),
      h('div', { class: 'tiles' }, tile('Cost', used ? usd(used) : 'not known'), tile('Tokens in', count(all), all ? `${Math.round((100 * cached) / all)} % cached` : null), tile('Tokens out', count(sum(turns, (x) => x.usage[3]))),
        tile('Model', duration(t[0])), tile('Tools', duration(t[1])), tile('Waiting', duration(t[2]))),
      h('div', { class: 'budgets' }, budget('Turns', row.turns ?? turns.length, limits.turns, String), budget('Tokens', (row.tokens_in ?? 0) + (row.tokens_out ?? 0), limits.tokens, count),
        budget('Cost', used, limits.cost_usd, usd), budget('Time', row.updated_ms - row.created_ms, limits.seconds ? limits.seconds * 1000 : 0, duration)),
      turns.length ? [bars('Tokens per turn', turns.map((x) => ({ label: x.label, values: x.usage })), tokens, count),
        bars('Time per turn', turns.map((x) => ({ label: x.label, values: x.time })), times, duration),
        used ? bars('Cost per turn', turns.map((x) => ({ label: x.label, values: [x.cost] })), [{ name: 'US dollars', class: 'c-fresh' }], usd) : null]
        : h('p', { class: 'muted' }, 'The model was not asked yet.')));
  }, (error) => { if (!abort.signal.aborted) fail(error, source.id); });
  return () => abort.abort();
}

const PAGES = 5;

/** Over the newest sessions: by day, agent and user. */
export function moneyView(root, { fail }) {
  let ended = false;
  fill(root, h('main', { class: 'centered' }, h('p', { class: 'muted' }, 'Reads the sessions…')));
  (async () => {
    const rows = [];
    let after = null;
    for (let i = 0; i < PAGES; i++) {
      const page = await get(`/api/sessions?order=created&limit=1000${after ? `&after=${encodeURIComponent(after)}` : ''}`);
      rows.push(...page.sessions);
      after = page.next;
      if (!after) break;
    }
    if (ended) return;
    const by = (pick) => {
      const groups = new Map();
      for (const r of rows) {
        const key = pick(r);
        const g = groups.get(key) ?? { label: key, in: 0, out: 0, cost: 0, n: 0 };
        g.in += r.tokens_in ?? 0;
        g.out += r.tokens_out ?? 0;
        g.cost += r.cost_usd ?? 0;
        g.n++;
        groups.set(key, g);
      }
      return [...groups.values()];
    };
    const days = by((r) => date(r.created_ms)).reverse();
    const two = [{ name: 'in', class: 'c-fresh' }, { name: 'out', class: 'c-out' }];
    const table = (name, groups) => h('section', { class: 'card' }, h('h2', null, name), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': name }, h('table', null,
      h('thead', null, h('tr', null, ['', 'Sessions', 'Tokens in', 'Tokens out', 'Cost'].map((t) => (t ? h('th', { scope: 'col' }, t) : h('td', null, ''))))),
      h('tbody', null, groups.sort((a, b) => b.cost - a.cost || b.in - a.in).slice(0, 100).map((g) => h('tr', null, h('th', { scope: 'row' }, oneLine(g.label || '-', 60)), [g.n, count(g.in), count(g.out), usd(g.cost)].map((v) => h('td', null, String(v)))))))));
    fill(root, h('main', { class: 'page money' }, h('div', { class: 'toolbar' }, h('h1', null, 'Cost and use'), after ? h('p', { class: 'muted' }, `of the newest ${rows.length} sessions`) : null),
      h('div', { class: 'tiles' }, tile('Sessions', count(rows.length)), tile('Tokens in', count(sum(rows, (r) => r.tokens_in ?? 0))), tile('Tokens out', count(sum(rows, (r) => r.tokens_out ?? 0))), tile('Cost', usd(sum(rows, (r) => r.cost_usd ?? 0)))),
      rows.length ? [bars('Tokens per day', days.map((d) => ({ label: d.label, values: [d.in, d.out] })), two, count),
        sum(days, (d) => d.cost) ? bars('Cost per day', days.map((d) => ({ label: d.label, values: [d.cost] })), [{ name: 'US dollars', class: 'c-fresh' }], usd) : null,
        table('By agent', by((r) => r.agent)), table('By model', by((r) => r.model)), table('By user', by((r) => r.user))] : h('p', { class: 'muted empty' }, 'Nothing was asked yet.')));
  })().catch((error) => { if (!ended) fail(error, ''); });
  return () => { ended = true; };
}
