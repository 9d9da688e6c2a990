// SPDX-License-Identifier: Apache-2.0
// fleet.js - the servers of one database, and what they have.  It looks again every two seconds while somebody looks at it.
import { h, fill, renew } from './dom.js';
import { count, duration, oneLine, plural } from './format.js';
import { get } from './api.js';

const EVERY_MS = 2000;
const states = ['running', 'waiting', 'paused', 'others'];
const columns = ['State', 'Running', 'Waiting', 'Paused', 'Others', 'Room for', 'Seen', 'Queue', 'Slow', 'Labels', 'Address', 'Process'];

/** Live, draining or dead; nobody is the sessions that were handed over and not taken yet. */
export function stateOf(node) {
  if (!node.host) return 'nobody';
  if (!node.lease_ms) return 'dead';
  return node.draining ? 'draining' : 'live';
}

const words = { live: 'finished', draining: 'waiting', dead: 'failed', nobody: 'paused' }; // by the colour of a session's state

function rowOf(node) {
  const state = stateOf(node);
  const nobody = state === 'nobody';
  return h('tr', null, h('th', { scope: 'row', dir: 'auto' }, nobody ? 'nobody' : oneLine(node.name || node.host, 60)),
    h('td', null, h('span', { class: 'badge', 'data-state': words[state] }, state)),
    states.map((s) => h('td', null, count(node.sessions?.[s] ?? 0))),
    h('td', null, nobody ? '–' : node.capacity ? count(node.capacity) : 'any'),
    h('td', { title: node.lease_ms ? `lease: ${duration(node.lease_ms)}` : null }, nobody ? '–' : `${duration(node.seen_ms ?? 0)} ago`),
    h('td', null, node.queue ? duration(node.queue_ms ?? 0) : '–'), h('td', null, nobody ? '–' : count(node.slow ?? 0)),
    [node.labels?.join(', '), node.address].map((v) => h('td', { dir: 'auto' }, oneLine(v || '–', 120))),
    h('td', { dir: 'auto', title: node.since ? `since ${node.since} UTC` : null }, nobody ? '–' : oneLine(`${node.process}@${node.host}`, 120)));
}

const order = { dead: 0, nobody: 1, draining: 2, live: 3 };

/** The numbers above the table. */
export function sums(nodes) {
  const live = nodes.filter((n) => ['live', 'draining'].includes(stateOf(n)));
  const of = (list, name) => list.reduce((n, x) => n + (x.sessions?.[name] ?? 0), 0);
  const without = nodes.filter((n) => !live.includes(n));
  return {
    nodes: live.length, draining: live.filter((n) => n.draining).length, dead: nodes.filter((n) => stateOf(n) === 'dead').length,
    running: of(live, 'running'), waiting: of(nodes, 'waiting'), ownerless: of(without, 'running'), seen: Math.max(0, ...live.map((n) => n.seen_ms ?? 0)),
    queue: nodes.reduce((n, x) => n + (x.queue ?? 0), 0), queueMs: Math.max(0, ...nodes.map((n) => n.queue_ms ?? 0)),
  };
}

function slowOf(s) {
  return h('tr', null, h('td', null, duration(s.ms ?? 0)), [s.statement, s.waits, s.host, `${s.process}`].map((v) => h('td', { dir: 'auto' }, oneLine(v || '–', 120))));
}

export function fleetView(root, { fail }) {
  const abort = new AbortController();
  const tiles = h('div', { class: 'tiles' });
  const body = h('tbody');
  const note = h('p', { class: 'muted', role: 'status' }, 'Looking for nodes…');
  const table = h('section', { class: 'card', hidden: true }, h('h2', null, 'Nodes'), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Nodes' }, h('table', { class: 'nodes' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Node'), columns.map((c) => h('th', { scope: 'col' }, c)))), body)));
  const slowBody = h('tbody');
  const slowTable = h('section', { class: 'card slow', hidden: true }, h('h2', null, 'Slow queries'), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Slow queries' },
    h('table', null, h('thead', null, h('tr', null, ['For', 'Statement', 'Waits for', 'From', 'Process of the database'].map((c) => h('th', { scope: 'col' }, c)))), slowBody)));
  let timer = null;
  let shown = false;

  const tile = (name, value, more) => h('div', { class: 'tile card' }, h('span', { class: 'muted' }, name), h('strong', null, value), more ? h('span', { class: 'muted' }, more) : null);

  function show({ nodes, slow = [] }) {
    const n = sums(nodes);
    table.hidden = !nodes.length;
    renew(tiles, !nodes.length ? null : [tile('Nodes', count(n.nodes), [n.draining ? `${n.draining} draining` : '', n.dead ? `${n.dead} dead` : ''].filter(Boolean).join(', ')),
      tile('Running', count(n.running)), tile('Waiting', count(n.waiting)), tile('Without an owner', count(n.ownerless), n.ownerless ? 'running, but at no live node' : null), tile('Queue', n.queue ? duration(n.queueMs) : '–', n.queue ? `the first of ${n.queue} to be taken` : 'none waits to be taken'), tile('Renewed', `${duration(n.seen)} ago`, 'by the slowest node')]);
    renew(body, [...nodes].sort((a, b) => order[stateOf(a)] - order[stateOf(b)] || (a.name ?? '').localeCompare(b.name ?? '')).map(rowOf));
    slowTable.hidden = !slow.length;
    renew(slowBody, slow.map(slowOf));
    const said = nodes.length ? `${plural(n.nodes, 'node')} live.` : 'This server is alone: its log is on its own machine. docs/FLEET.md says how several share one database.';
    if (note.textContent !== said) note.textContent = said;
  }

  async function look() {
    timer = null;
    if (document.visibilityState === 'visible') {
      try {
        show(await get('/api/fleet', abort.signal));
        shown = true;
      } catch (error) {
        if (abort.signal.aborted) return;
        if (!shown || error.status === 403) { fail(error, ''); return; }
        note.textContent = `Cannot look now: ${error.message}.`;
      }
    }
    if (!abort.signal.aborted) timer = setTimeout(look, EVERY_MS);
  }

  fill(root, h('main', { class: 'page money wide' }, h('div', { class: 'toolbar' }, h('h1', null, 'Fleet')), note, tiles, table, slowTable));
  look();
  return () => { abort.abort(); clearTimeout(timer); };
}
