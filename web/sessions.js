// SPDX-License-Identifier: Apache-2.0
// sessions.js - the list of sessions.  It looks for what changed every two seconds while somebody looks at it.
import { h, fill, renew, button, icon, toast } from './dom.js';
import { ago, cost, count, moment, oneLine, plural } from './format.js';
import { get, sessionPath } from './api.js';
import { badge, isActive, nowLine, states } from './states.js';
import { VirtualList } from './virtual.js';
import { start } from './start.js';

const PAGE = 200;
const NEWEST = 60; // that are looked at each time
const EVERY_MS = 2000;
const LOOKS = 4; // at logs, at once
const FILTERS = ['text', 'state', 'agent']; // as the address and the server have them

let address = '#/';
/** Where the list stands as it was last looked at. */
export const listAddress = () => address;

class Rows {
  constructor(filter) {
    this.filter = filter;
    this.byId = new Map();
    this.next = null;
    this.whole = false;
  }

  query(more) {
    const q = new URLSearchParams(more);
    for (const [name, value] of Object.entries(this.filter)) if (value) q.set(name, value);
    return `/api/sessions?${q}`;
  }

  async more() {
    if (this.whole || this.loading) return false;
    this.loading = true;
    try {
      const page = await get(this.query(this.next ? { limit: PAGE, after: this.next } : { limit: PAGE }));
      for (const row of page.sessions) if (!this.byId.has(row.session_id)) this.byId.set(row.session_id, row);
      this.next = page.next ?? null;
      this.whole = !page.next;
      return true;
    } finally {
      this.loading = false;
    }
  }

  /** What changed at the front; true: something did. */
  async look() {
    const page = await get(this.query({ limit: NEWEST }));
    let changed = false;
    const seen = new Set();
    for (const row of page.sessions) {
      const old = this.byId.get(row.session_id);
      seen.add(row.session_id);
      if (old && old.updated_ms === row.updated_ms && old.state === row.state && old.title === row.title) continue;
      this.byId.set(row.session_id, row);
      changed = true;
    }
    // What should stand among these and does not is gone, or fits the filter no more.
    const oldest = page.next ? page.sessions.at(-1)?.updated_ms ?? Infinity : -1;
    for (const [id, row] of this.byId) {
      if (row.updated_ms > oldest && !seen.has(id)) {
        this.byId.delete(id);
        changed = true;
      }
    }
    return changed;
  }

  sorted() {
    return [...this.byId.values()].sort((a, b) => b.updated_ms - a.updated_ms || (a.session_id < b.session_id ? -1 : 1));
  }
}

/** What each active row does now: its newest event, read once per change. */
class Nows {
  constructor(changed) {
    this.changed = changed;
    this.known = new Map(); // id -> {head, text}
    this.queue = [];
    this.busy = 0;
  }

  of(row) {
    if (!isActive(row.state) || !row.head_seq) return '';
    const it = this.known.get(row.session_id);
    if (!it || it.head !== row.head_seq) {
      this.known.set(row.session_id, { head: row.head_seq, text: it?.text ?? '' });
      this.queue.push(row);
      this.work();
    }
    return it?.text ?? '';
  }

  async work() {
    if (this.busy >= LOOKS || !this.queue.length) return;
    const row = this.queue.pop();
    this.busy++;
    try {
      const page = await get(sessionPath(row.session_id, `/events?from=${row.head_seq}&limit=1`));
      const event = page.events[0];
      if (event) {
        this.known.set(row.session_id, { head: row.head_seq, text: nowLine(event) });
        this.changed(row.session_id);
      }
    } catch {
      // It is asked again with the row's next change.
    }
    this.busy--;
    this.work();
  }
}

function rowElement(row, now, title) {
  const id = row.session_id;
  const meta = [
    h('span', { class: 'agent' }, oneLine(row.agent || 'agent', 40)),
    h('span', null, plural(row.turns ?? 0, 'turn')),
    row.tokens_in || row.tokens_out ? h('span', null, `${count((row.tokens_in ?? 0) + (row.tokens_out ?? 0))} tokens`) : null,
    cost(row.cost_usd) ? h('span', null, cost(row.cost_usd)) : null,
    h('span', { class: 'who' }, oneLine(row.user ?? '', 30)),
    row.parent ? h('span', { title: `shares its beginning with ${row.parent}` }, 'fork') : null,
  ];
  return h('div', { class: 'session-row' },
    h('a', { href: `#/s/${encodeURIComponent(id)}`, class: 'cover' },
      h('span', { class: 'first' }, badge(row.state), h('span', { class: 'title', dir: 'auto' }, title)),
      h('span', { class: 'now', dir: 'auto' }, now || '\u00a0'),
      h('span', { class: 'meta' }, meta),
      h('time', { class: 'age', datetime: new Date(row.updated_ms).toISOString(), title: moment(row.updated_ms) }, ago(row.updated_ms))));
}

/** Shows the list; gives a function that ends it. */
export function sessionsView(root, { waiting, query }) {
  address = location.hash || '#/';
  let rows = new Rows(Object.fromEntries(FILTERS.map((name) => [name, query.get(name)])));
  let ended = false;
  let timer = 0;
  const search = h('input', { type: 'search', placeholder: 'Search titles and tasks', 'aria-label': 'Search titles and tasks', value: rows.filter.text });
  const state = h('select', { 'aria-label': 'State' }, h('option', { value: '' }, 'Any state'),
    Object.entries(states).filter(([k]) => k !== 'loading').map(([value, name]) => h('option', { value }, name)));
  const agent = h('select', { 'aria-label': 'Agent' }, h('option', { value: '' }, 'Any agent'));
  const agents = new Set();
  state.value = rows.filter.state ?? '';
  if (rows.filter.agent) addAgents([rows.filter.agent]);
  agent.value = rows.filter.agent ?? '';
  const scroller = h('div', { class: 'scroller', tabindex: '-1' });
  const note = h('p', { class: 'muted empty', role: 'status' });
  const waits = h('div', { class: 'waits-slot' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  fill(root, h('main', { class: 'page sessions' },
    h('div', { class: 'toolbar' },
      h('h1', null, 'Sessions'),
      h('div', { class: 'tools' }, h('span', { class: 'with-icon' }, icon('search'), search), state, agent,
        button('New task', { class: 'primary', onclick: () => start().catch((e) => toast(`${e.message}.`, true)) }, 'plus'))),
    waits, problem, note, scroller));

  const nows = new Nows((id) => {
    bump.set(id, (bump.get(id) ?? 0) + 1);
    list.schedule();
  });
  const bump = new Map();
  const list = new VirtualList(scroller, {
    label: 'Sessions',
    key: (row) => row.session_id,
    estimate: () => (scroller.clientWidth < 640 ? 104 : 76),
    version: (row) => `${row.updated_ms} ${row.state} ${bump.get(row.session_id) ?? 0} ${Math.floor(Date.now() / 30000)}`,
    render: (row) => rowElement(row, nows.of(row), oneLine(row.title || row.session_id, 160)),
    onEdge: (edge) => { if (edge === 'end') more(); },
  });

  /** Agents that there are sessions of. */
  function addAgents(names) {
    for (const name of names) {
      if (!name || agents.has(name)) continue;
      agents.add(name);
      const option = h('option', { value: name }, oneLine(name, 40));
      agent.insertBefore(option, [...agent.options].slice(1).find((o) => o.value > name) ?? null);
    }
  }

  function show() {
    const all = rows.sorted();
    addAgents(all.map((row) => row.agent));
    list.setItems(all);
    const filtered = Object.values(rows.filter).some(Boolean);
    note.textContent = all.length ? '' : filtered ? 'No session fits. Take out the search, or choose another state or agent.'
      : 'Nothing was asked yet. “New task” begins a session; so does thole run on the command line.';
  }

  async function more() {
    const of = rows;
    try {
      if (await of.more() && of === rows && !ended) show();
    } catch (e) {
      if (!ended) problem.textContent = `The list is not whole: ${e.message}.`;
    }
  }

  async function tick() {
    const of = rows;
    if (document.visibilityState === 'visible') {
      try {
        const changed = await of.look();
        if (ended) return;
        problem.textContent = '';
        if (changed && of === rows) show();
      } catch (e) {
        if (!ended) problem.textContent = `${e.message}.`;
      }
    }
    if (!ended) timer = setTimeout(tick, EVERY_MS);
  }

  function refilter() {
    rows = new Rows({ text: search.value.trim(), state: state.value, agent: agent.value });
    // The way back from a session leads to the same list.
    const q = new URLSearchParams(Object.entries(rows.filter).filter(([, value]) => value)).toString();
    address = q ? `#/?${q}` : '#/';
    history.replaceState(null, '', address);
    scroller.scrollTop = 0;
    more();
  }
  get('/api/usage?by=agent').then((sums) => addAgents(sums.usage.map((u) => u.agent)), () => { /* those of the rows are there */ });
  let typed = 0;
  search.addEventListener('input', () => { clearTimeout(typed); typed = setTimeout(refilter, 200); });
  state.addEventListener('change', refilter);
  agent.addEventListener('change', refilter);

  function onkey(e) {
    if (e.target.closest('input, select, textarea, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = list.focused();
    if (e.key === 'j' || e.key === 'ArrowDown') move(at + 1, e);
    else if (e.key === 'k' || e.key === 'ArrowUp') move(Math.max(0, at - 1), e);
    else if (e.key === '/') { search.focus(); e.preventDefault(); }
    else if (e.key === 'n') { start().catch((err) => toast(`${err.message}.`, true)); e.preventDefault(); }
  }
  function move(index, e) {
    if (index >= list.items.length) return;
    list.scrollTo(index, 'center');
    list.shown.get(list.key(list.items[index]))?.element.querySelector('a')?.focus({ preventScroll: true });
    e.preventDefault();
  }
  document.addEventListener('keydown', onkey);

  const unwatch = waiting.watch((all) => {
    renew(waits, all.length ? h('a', { class: 'waits-banner', href: '#/waiting' }, icon('hand'),
      h('strong', null, all.length === 1 ? 'One decision waits for you' : `${all.length} decisions wait for you`),
      h('span', { class: 'muted clip' }, oneLine(all[0].title ?? '', 80))) : null);
  });
  more().then(() => { if (!ended) timer = setTimeout(tick, EVERY_MS); });
  const ages = setInterval(() => list.schedule(), 10000);
  return () => {
    ended = true;
    clearTimeout(timer);
    clearInterval(ages);
    document.removeEventListener('keydown', onkey);
    unwatch();
    list.destroy();
  };
}
