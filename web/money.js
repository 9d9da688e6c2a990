// SPDX-License-Identifier: Apache-2.0
// money.js - what sessions took: tokens, money and time.
import { h, fill, button, icon } from './dom.js';
import { cost, count, duration, moment, oneLine } from './format.js';
import { get } from './api.js';
import { bars } from './charts.js';
import { readWhole } from './replay.js';
import { ServerSource } from './source.js';

const usd = (v) => cost(v) || '–';
const dollars = [{ name: 'US dollars', class: 'c-fresh' }];
const axis = (v) => cost(v) || '$0';
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
        budget('Cost', used, limits.cost_usd, axis), budget('Time', row.updated_ms - row.created_ms, limits.seconds ? limits.seconds * 1000 : 0, duration)),
      turns.length ? [bars('Tokens per turn', turns.map((x) => ({ label: x.label, values: x.usage })), tokens, count),
        bars('Time per turn', turns.map((x) => ({ label: x.label, values: x.time })), times, duration),
        used ? bars('Cost per turn', turns.map((x) => ({ label: x.label, values: [x.cost] })), dollars, axis) : null]
        : h('p', { class: 'muted' }, 'The model was not asked yet.')));
  }, (error) => { if (!abort.signal.aborted) fail(error, source.id); });
  return () => abort.abort();
}

const groups = ['day', 'agent', 'model', 'user'];
const BARS = 12; // of a chart of names; the rest are one bar
const NEWEST = 20; // sessions whose logs are read
const EVENTS_MAX = 3000; // of such a log

/** Sums by day, agent, model and user, as the server has them: of all that this login may see. */
async function readSums(every) {
  const answers = await Promise.all(groups.map((by) => get(`/api/usage?by=${by}${every ? '&user=*' : ''}`)));
  return Object.fromEntries(groups.map((by, i) => [by, answers[i].usage.map((u) => ({
    label: u[by] || '-', n: u.sessions ?? 0, in: u.tokens_in ?? 0, cached: u.tokens_cached ?? 0, written: u.tokens_written ?? 0, out: u.tokens_out ?? 0,
    cost: u.cost_usd ?? 0, time: [u.model_ms ?? 0, u.tools_ms ?? 0, u.person_ms ?? 0],
  }))]));
}

const bySize = (list) => [...list].sort((a, b) => b.cost - a.cost || b.in - a.in);
const values = (g) => input({ input: g.in, cached: g.cached, written: g.written, output: g.out });
const timed = (list) => list.some((g) => g.time.some(Boolean));

/** The largest as bars, the rest as one more. */
function largest(list, pick) {
  const rows = bySize(list).map((g) => ({ label: oneLine(g.label, 60), values: pick(g) }));
  if (rows.length <= BARS) return rows;
  const rest = rows.slice(BARS - 1);
  return [...rows.slice(0, BARS - 1), { label: `${rest.length} others`, values: rest[0].values.map((_, k) => sum(rest, (r) => r.values[k])) }];
}

function table(name, list) {
  return h('section', { class: 'card' }, h('h2', null, `By ${name}`), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': `By ${name}` }, h('table', null,
    h('thead', null, h('tr', null, h('td', null, ''), ['Sessions', 'Tokens in', 'Cached', 'Written', 'Tokens out', 'Cost', 'Model', 'Tools', 'Waiting'].map((t) => h('th', { scope: 'col' }, t)))),
    h('tbody', null, bySize(list).slice(0, 100).map((g) => h('tr', null, h('th', { scope: 'row', dir: 'auto' }, oneLine(g.label, 60)), [g.n, count(g.in), count(g.cached), count(g.written), count(g.out), usd(g.cost), ...g.time.map(duration)].map((v) => h('td', null, String(v)))))))));
}

function of(name, list) {
  return [list.length > 1 ? bars(`Tokens by ${name}`, largest(list, values), tokens, count) : null,
    list.length > 1 && timed(list) ? bars(`Time by ${name}`, largest(list, (g) => g.time), times, duration) : null,
    list.length > 1 && list.some((g) => g.cost) ? bars(`Cost by ${name}`, largest(list, (g) => [g.cost]), dollars, axis) : null, table(name, list)];
}

/** The newest sessions one by one, as their logs have it: {label, usage, time, cost} each. */
async function readNewest(told, signal) {
  const page = await get(`/api/sessions?limit=${NEWEST}`, signal);
  const read = [];
  for (const row of page.sessions) {
    told(read.length, page.sessions.length);
    if (row.head_seq > EVENTS_MAX) continue;
    const { fold } = await readWhole(new ServerSource(row.session_id), null, signal);
    const turns = turnsOf(fold.entries);
    const each = (name) => [...(turns[0]?.[name] ?? [])].map((_, k) => sum(turns, (t) => t[name][k]));
    if (turns.length) read.push({ label: oneLine(row.title || row.session_id, 60), usage: each('usage'), time: each('time'), cost: sum(turns, (t) => t.cost) });
  }
  return { read, left: page.sessions.filter((row) => row.head_seq > EVENTS_MAX).length };
}

function newestCharts({ read, left }) {
  if (!read.length) return h('p', { class: 'muted' }, 'No model was asked in them yet.');
  return [left ? h('p', { class: 'muted' }, `Left out for their length, above ${count(EVENTS_MAX)} events: ${left}.`) : null,
    bars('Tokens per session', read.map((r) => ({ label: r.label, values: r.usage })), tokens, count),
    bars('Time per session', read.map((r) => ({ label: r.label, values: r.time })), times, duration),
    read.some((r) => r.cost) ? bars('Cost per session', read.map((r) => ({ label: r.label, values: [r.cost] })), dollars, axis) : null];
}

/** The part of the view that reads logs, once somebody asks for it. */
function newest(signal) {
  const box = h('section', { class: 'newest', 'aria-live': 'polite' });
  const go = button(`Read the newest ${NEWEST} sessions`, { onclick: async () => {
    const note = h('p', { class: 'muted' });
    fill(box, note);
    try {
      fill(box, newestCharts(await readNewest((n, all) => { note.textContent = `Reads session ${n + 1} of ${all}…`; }, signal)));
    } catch (error) {
      if (!signal.aborted) fill(box, h('p', { class: 'problem' }, `They cannot be read: ${error.message}.`), go);
    }
  } });
  fill(box, h('p', { class: 'muted' }, 'Session by session, out of their logs.'), go);
  return box;
}

/** Over sessions. */
export function moneyView(root, { fail, scopes }) {
  const abort = new AbortController();
  fill(root, h('main', { class: 'centered' }, h('p', { class: 'muted' }, 'Reads the sessions…')));
  (async () => {
    const [all, quota] = await Promise.all([readSums(scopes.has('admin')), get('/api/quota', abort.signal)]);
    if (abort.signal.aborted) return;
    const total = (name) => sum(all.day, (d) => d[name]);
    fill(root, h('main', { class: 'page money' }, h('div', { class: 'toolbar' }, h('h1', null, 'Cost and use')),
      h('div', { class: 'tiles' }, tile('Sessions', count(total('n'))), tile('Tokens in', count(total('in')), total('in') ? `${Math.round((100 * total('cached')) / total('in'))} % cached` : null), tile('Tokens out', count(total('out'))), tile('Cost', total('cost') ? usd(total('cost')) : 'not known')),
      h('div', { class: 'budgets' }, budget('Running at once', quota.sessions.used, quota.sessions.limit, String), budget('Turns today', quota.turns_today.used, quota.turns_today.limit, String),
        budget('Cost today', quota.cost_usd_today.used, quota.cost_usd_today.limit, axis), quota.turns_today.limit || quota.cost_usd_today.limit ? h('p', { class: 'muted' }, `The next day begins at ${moment(quota.day_ends_ms)}.`) : null),
      all.day.length ? [bars('Tokens per day', all.day.map((d) => ({ label: d.label, values: values(d) })), tokens, count),
        timed(all.day) ? bars('Time per day', all.day.map((d) => ({ label: d.label, values: d.time })), times, duration) : null,
        total('cost') ? bars('Cost per day', all.day.map((d) => ({ label: d.label, values: [d.cost] })), dollars, axis) : null,
        of('agent', all.agent), of('model', all.model), of('user', all.user), newest(abort.signal)] : h('p', { class: 'muted empty' }, 'Nothing was asked yet.')));
  })().catch((error) => { if (!abort.signal.aborted) fail(error, ''); });
  return () => abort.abort();
}
