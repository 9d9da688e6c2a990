// SPDX-License-Identifier: Apache-2.0
// money.js - what sessions took: tokens, money and time.
import { h, fill, icon } from './dom.js';
import { cost, count, date, duration, oneLine } from './format.js';
import { get, has } from './api.js';
import { bars } from './charts.js';
import { readWhole } from './replay.js';

const usd = (v) => cost(v) || '–';
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
const groups = ['day', 'agent', 'model', 'user'];

/** Sums by day, agent, model and user, as the server has them. */
async function fromServer() {
  const answers = await Promise.all(groups.map((by) => get(`/api/usage?by=${by}`)));
  return Object.fromEntries(groups.map((by, i) => [by, answers[i].usage.map((u) => ({ label: u[by] || '-', n: u.sessions ?? 0, in: u.tokens_in ?? 0, cached: u.tokens_cached ?? 0, out: u.tokens_out ?? 0, cost: u.cost_usd ?? 0 }))]));
}

/** The same out of the newest sessions, where it has none. */
async function fromSessions() {
  const rows = [];
  let after = null;
  for (let i = 0; i < PAGES; i++) {
    const page = await get(`/api/sessions?order=created&limit=1000${after ? `&after=${encodeURIComponent(after)}` : ''}`);
    rows.push(...page.sessions);
    after = page.next;
    if (!after) break;
  }
  const by = (pick) => {
    const sums = new Map();
    for (const r of rows) {
      const key = pick(r) || '-';
      const g = sums.get(key) ?? { label: key, n: 0, in: 0, cached: 0, out: 0, cost: 0 };
      g.n++;
      g.in += r.tokens_in ?? 0;
      g.cached += r.tokens_cached ?? 0;
      g.out += r.tokens_out ?? 0;
      g.cost += r.cost_usd ?? 0;
      sums.set(key, g);
    }
    return [...sums.values()];
  };
  return { day: by((r) => date(r.created_ms)).reverse(), agent: by((r) => r.agent), model: by((r) => r.model), user: by((r) => r.user), of: after ? rows.length : 0 };
}

function table(name, list) {
  const sorted = [...list].sort((a, b) => b.cost - a.cost || b.in - a.in).slice(0, 100);
  return h('section', { class: 'card' }, h('h2', null, name), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': name }, h('table', null,
    h('thead', null, h('tr', null, h('td', null, ''), ['Sessions', 'Tokens in', 'Cached', 'Tokens out', 'Cost'].map((t) => h('th', { scope: 'col' }, t)))),
    h('tbody', null, sorted.map((g) => h('tr', null, h('th', { scope: 'row', dir: 'auto' }, oneLine(g.label, 60)), [g.n, count(g.in), count(g.cached), count(g.out), usd(g.cost)].map((v) => h('td', null, String(v)))))))));
}

/** Over sessions. */
export function moneyView(root, { fail }) {
  let ended = false;
  fill(root, h('main', { class: 'centered' }, h('p', { class: 'muted' }, 'Reads the sessions…')));
  (async () => {
    const all = await (await has('get /api/usage').catch(() => false) ? fromServer() : fromSessions());
    if (ended) return;
    const total = (name) => sum(all.day, (d) => d[name]);
    const series = [{ name: 'fresh', class: 'c-fresh' }, { name: 'cached', class: 'c-cached' }, { name: 'output', class: 'c-out' }];
    fill(root, h('main', { class: 'page money' }, h('div', { class: 'toolbar' }, h('h1', null, 'Cost and use'), all.of ? h('p', { class: 'muted' }, `of the newest ${all.of} sessions`) : null),
      h('div', { class: 'tiles' }, tile('Sessions', count(total('n'))), tile('Tokens in', count(total('in')), total('in') ? `${Math.round((100 * total('cached')) / total('in'))} % cached` : null), tile('Tokens out', count(total('out'))), tile('Cost', total('cost') ? usd(total('cost')) : 'not known')),
      all.day.length ? [bars('Tokens per day', all.day.map((d) => ({ label: d.label, values: [Math.max(0, d.in - d.cached), d.cached, d.out] })), series, count),
        total('cost') ? bars('Cost per day', all.day.map((d) => ({ label: d.label, values: [d.cost] })), [{ name: 'US dollars', class: 'c-fresh' }], usd) : null,
        table('By agent', all.agent), table('By model', all.model), table('By user', all.user)] : h('p', { class: 'muted empty' }, 'Nothing was asked yet.')));
  })().catch((error) => { if (!ended) fail(error, ''); });
  return () => { ended = true; };
}
