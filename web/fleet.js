// SPDX-License-Identifier: Apache-2.0
// fleet.js - the servers of one database, and what they have.  It looks again every two seconds while somebody looks at it.
import { h, fill } from './dom.js';
import { count, duration, oneLine, plural } from './format.js';
import { get } from './api.js';

const EVERY_MS = 2000;
const states = ['running', 'waiting', 'paused', 'others'];
const columns = ['State', 'Running', 'Waiting', 'Paused', 'Others', 'Room for', 'Seen', 'Lease', 'Labels', 'Address', 'Process', 'Since'];

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
    h('td', null, nobody ? '–' : `${duration(node.seen_ms ?? 0)} ago`),
    h('td', null, nobody || !node.lease_ms ? '–' : duration(node.lease_ms)),
    [node.labels?.join(', '), node.address, nobody ? '' : `${node.process}@${node.host}`].map((v) => h('td', { dir: 'auto' }, oneLine(v || '–', 120))),
    h('td', { title: node.since ? `${node.since} UTC` : null }, oneLine(node.since?.slice(5, 16) || '–', 120)));
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
  };
}

export function fleetView(root, { fail }) {
  const abort = new AbortController();
  const tiles = h('div', { class: 'tiles' });
  const body = h('tbody');
  const note = h('p', { class: 'muted', role: 'status' }, 'Looking for nodes…');
  const table = h('section', { class: 'card', hidden: true }, h('h2', null, 'Nodes'), h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Nodes' }, h('table', { class: 'nodes' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Node'), columns.map((c) => h('th', { scope: 'col' }, c)))), body)));
  let timer = null;
  let shown = false;

  const tile = (name, value, more) => h('div', { class: 'tile card' }, h('span', { class: 'muted' }, name), h('strong', null, value), more ? h('span', { class: 'muted' }, more) : null);

  function show(nodes) {
    const n = sums(nodes);
    table.hidden = !nodes.length;
    fill(tiles, !nodes.length ? null : [tile('Nodes', count(n.nodes), [n.draining ? `${n.draining} draining` : '', n.dead ? `${n.dead} dead` : ''].filter(Boolean).join(', ')),
      tile('Running', count(n.running)), tile('Waiting', count(n.waiting)), tile('Without an owner', count(n.ownerless), n.ownerless ? 'running, but at no live node' : null), tile('Renewed', `${duration(n.seen)} ago`, 'by the slowest node')]);
    fill(body, [...nodes].sort((a, b) => order[stateOf(a)] - order[stateOf(b)] || (a.name ?? '').localeCompare(b.name ?? '')).map(rowOf));
    const said = nodes.length ? `${plural(n.nodes, 'node')} live.` : 'This server is alone: its log is on its own machine. docs/FLEET.md says how several share one database.';
    if (note.textContent !== said) note.textContent = said;
  }

  async function look() {
    timer = null;
    if (document.visibilityState === 'visible') {
      try {
        show((await get('/api/fleet', abort.signal)).nodes);
        shown = true;
      } catch (error) {
        if (abort.signal.aborted) return;
        if (!shown || error.status === 403) { fail(error, ''); return; }
        note.textContent = `Cannot look now: ${error.message}.`;
      }
    }
    if (!abort.signal.aborted) timer = setTimeout(look, EVERY_MS);
  }

  fill(root, h('main', { class: 'page money wide' }, h('div', { class: 'toolbar' }, h('h1', null, 'Fleet')), note, tiles, table));
  look();
  return () => { abort.abort(); clearTimeout(timer); };
}
