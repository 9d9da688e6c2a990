// SPDX-License-Identifier: Apache-2.0
// session.js - one session as it goes: timeline, what waits, what is on its screen, and a box to speak to it.
import { h, fill, renew, announce, button, dialog, icon, iconButton, toast } from './dom.js';
import { ago, cost, count, duration, moment, oneLine, plural } from './format.js';
import { Fold, marks } from './fold.js';
import { entry, groups, hasText } from './entries.js';
import { card, decideCall, wholeCall } from './decide.js';
import { openPicture, picture } from './picture.js';
import { ServerSource, Reader } from './source.js';
import { listAddress } from './sessions.js';
import { badge, isActive } from './states.js';
import { VirtualList } from './virtual.js';
import { LiveScreen } from './live.js';
import { LiveTerminal } from './terminal.js';
import { get, has, patch, remove, sessionPath } from './api.js';

const READ_AHEAD = 3000; // events that are read by themselves, behind the first view

function heightOf(e) {
  if (e.type === 'call') return 120 + (e.result?.pictures?.length ? 260 : 0) + Math.min(160, (e.result?.text?.length ?? 0) / 4);
  const length = (e.text?.length ?? 0) + (e.parts ?? []).reduce((n, p) => n + p.text.length, 0);
  return 52 + Math.min(600, Math.ceil(length / 90) * 22);
}

/** Fork with an edited message: what was said there is shown, and can be said otherwise. */
export function forkDialog(source, fold, e) {
  const said = fold.entries.findLast((x) => x.type === 'message' && x.role === 'user' && x.seq <= e.seq);
  const at = e.type === 'message' ? e.seq - 1 : e.last;
  const box = h('textarea', { rows: 4, 'aria-label': 'Message to the fork' });
  box.value = e.type === 'message' ? e.text : '';
  const problem = h('p', { class: 'problem', role: 'alert' });
  dialog('Fork here', (close) => {
    const go = h('button', { class: 'primary' }, 'Fork');
    const form = h('form', null,
      h('p', null, at > 0 ? `A new session shares the events up to ${at}. This one stays as it is, and nothing is done again.` : 'Nothing comes before this message: begin a new task instead.'),
      said && e.type !== 'message' ? h('p', { class: 'muted', dir: 'auto' }, `It was last told: “${oneLine(said.text, 200)}”`) : null,
      h('label', null, 'Message', box), problem,
      h('div', { class: 'row end' }, h('button', { type: 'button', onclick: close }, 'Cancel'), go));
    go.disabled = at < 1;
    form.addEventListener('submit', async (ev) => {
      ev.preventDefault();
      go.disabled = true;
      try {
        const row = await source.act('fork', { seq: at });
        const made = new ServerSource(row.session_id);
        if (box.value.trim()) await made.say(box.value.trim());
        close();
        location.hash = `#/s/${encodeURIComponent(row.session_id)}`;
      } catch (error) {
        problem.textContent = `${error.message}.`;
        go.disabled = false;
      }
    });
    return form;
  });
  box.focus();
}

class SessionView {
  constructor(root, id, options) {
    this.options = options;
    this.source = new ServerSource(id);
    this.id = id;
    this.fold = new Fold();
    this.reader = new Reader(this.source, this.fold);
    this.ended = false;
    this.abort = new AbortController();
    this.filter = 'all';
    this.needle = '';
    this.row = null;
    this.cards = new Map();
    this.build(root);
    this.begin();
  }

  build(root) {
    this.head = h('header', { class: 'session-head' });
    this.back = h('a', { class: 'back', 'aria-label': 'All sessions' }, icon('back'));
    this.heading = h('div', { class: 'heading' });
    // These stay while the rest of the head is drawn anew: a pointer may be on one.
    this.toggle = button('Screen', { class: 'side-toggle', onclick: () => this.toggleSide() }, 'screen');
    this.controls = h('div', { class: 'controls' }, this.toggle,
      h('a', { class: 'button', href: `#/s/${encodeURIComponent(this.id)}/replay` }, icon('film'), h('span', { class: 'label' }, 'Replay')),
      h('a', { class: 'button', href: `#/s/${encodeURIComponent(this.id)}/files` }, icon('file'), h('span', { class: 'label' }, 'Files')),
      h('a', { class: 'button', href: `#/s/${encodeURIComponent(this.id)}/money` }, icon('chart'), h('span', { class: 'label' }, 'Cost')),
      iconButton('more', 'More', { onclick: () => this.more() }),
      h('a', { class: 'button quiet', href: sessionPath(this.id, '/export'), download: `${this.id}.jsonl`, 'aria-label': 'Download its log', title: 'Download its log' }, icon('down')));
    this.decisions = [];
    this.scroller = h('div', { class: 'scroller', tabindex: '-1' });
    this.older = h('p', { class: 'muted older', role: 'status' });
    this.link = h('p', { class: 'link-state', role: 'status' });
    this.pending = h('div', { class: 'pending', hidden: true, 'aria-label': 'Waits for you' });
    this.side = h('aside', { class: 'side', 'aria-label': 'Screen and figures' });
    this.box = h('textarea', { rows: 1, 'aria-label': 'Message', placeholder: 'Say something to it' });
    const send = iconButton('send', 'Send', { type: 'submit', class: 'send' });
    const form = h('form', { class: 'composer' }, this.box, send);
    form.addEventListener('submit', (e) => { e.preventDefault(); this.say(); });
    this.box.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); this.say(); }
    });
    this.box.addEventListener('input', () => {
      this.box.style.height = 'auto';
      this.box.style.height = `${Math.min(180, this.box.scrollHeight)}px`;
    });
    const search = h('input', { type: 'search', placeholder: 'Find', 'aria-label': 'Find in the timeline' });
    search.addEventListener('input', () => { this.needle = search.value.trim().toLowerCase(); this.show(); });
    this.filters = h('div', { class: 'filters', role: 'group', 'aria-label': 'What is shown' },
      [['all', 'All'], ...Object.entries(groups).map(([k, [name]]) => [k, name])].map(([key, name]) => {
        const b = h('button', { type: 'button', 'aria-pressed': String(key === 'all') }, name);
        b.addEventListener('click', () => {
          this.filter = key;
          for (const other of this.filters.children) other.setAttribute('aria-pressed', String(other === b));
          this.show();
        });
        return b;
      }));
    fill(root, h('main', { class: 'session' }, this.head,
      h('div', { class: 'split' },
        h('section', { class: 'timeline', 'aria-label': 'Timeline' },
          h('div', { class: 'filterbar' }, this.filters, h('span', { class: 'with-icon' }, icon('search'), search)),
          this.link, this.scroller, this.pending, form),
        this.side)));
    this.scroller.append(this.older);
    this.list = new VirtualList(this.scroller, {
      label: 'Timeline', sticks: true,
      key: (e) => e.id,
      version: (e) => e.rev,
      estimate: heightOf,
      render: (e) => entry(e, this.ctx),
      onEdge: (edge) => { if (edge === 'start') this.readOlder(); },
    });
    this.ctx = {
      source: this.source,
      screen: () => this.fold.screen,
      decide: () => h('p', { class: 'muted' }, 'It waits for your decision, below.'),
      settle: (e, outcome, word) => this.settle(e, outcome, word),
      fork: (e) => forkDialog(this.source, this.fold, e),
      jump: (e) => { location.hash = `#/s/${encodeURIComponent(this.id)}/replay?at=${e.seq}`; },
    };
    this.onkey = (e) => this.key(e);
    document.addEventListener('keydown', this.onkey);
  }

  async begin() {
    try {
      this.row = await this.reader.begin(this.abort.signal);
    } catch (error) {
      if (!this.ended) this.options.fail(error, this.id);
      return;
    }
    if (this.ended) return;
    // Head and cards take their room before the timeline is drawn into what is left, so that it does not move.
    this.showHead();
    await this.showPending();
    if (this.ended) return;
    this.show();
    this.list.toEnd();
    this.list.draw();
    performance.mark('session-shown');
    this.stop = this.source.follow(this.reader.last, {
      events: (list) => this.take(list),
      delta: (piece) => { if (this.fold.delta(piece)) this.soon(); },
      state: (state) => this.linkState(state),
      lost: () => this.options.again(),
      end: (error) => { if (!this.ended) this.options.fail(error, this.id); },
    });
    this.refresh();
    this.readAhead();
    this.openScreen();
  }

  /** The desktop as it is now, where the server has it and the session has one. */
  async openScreen() {
    const can = await has('get /api/sessions/{id}/screen').catch(() => false);
    if (!can || this.ended) return;
    const options = { id: this.id, mayRun: this.options.scopes.has('run'), changed: () => this.showSide() };
    this.live = new LiveScreen(options);
    if (await has('get /api/sessions/{id}/terminal').catch(() => false) && !this.ended) this.terminal = new LiveTerminal(options);
    this.showSide();
  }

  /** The older part while nobody waits for anything, so that search and filters have it. */
  async readAhead() {
    while (!this.ended && !this.reader.whole && this.fold.count < READ_AHEAD) {
      await new Promise((resolve) => { (window.requestIdleCallback ?? setTimeout)(resolve, { timeout: 500 }); });
      if (!this.ended && !await this.readOlder()) break;
    }
  }

  async readOlder() {
    if (this.reader.whole || this.ended) { this.older.textContent = ''; return false; }
    this.older.textContent = 'Reads what came before…';
    try {
      const more = await this.reader.older(this.abort.signal);
      if (!this.ended) this.show();
      return more;
    } catch (error) {
      if (!this.ended) this.older.textContent = `What came before cannot be read: ${error.message}.`;
      return false;
    }
  }

  take(events) {
    let important = null;
    for (const e of events) {
      this.fold.add(e);
      if (e.kind === 'intent' && e.data.tool === 'computer') this.live?.acted(this.fold.calls.get(e.call)?.args);
      if (e.kind === 'approval_requested') important = 'It asks for your approval';
      else if (e.kind === 'final') important = 'It has finished';
      else if (e.kind === 'error') important = 'It has failed';
      else if (e.kind === 'parked') important = 'It does not know what became of a call';
    }
    this.reader.last = events.at(-1).seq;
    if (important) announce(important);
    this.dirty = true;
    this.soon();
    this.refreshSoon();
  }

  /** At most one drawing per frame, however many events come. */
  soon() {
    if (this.drawing || this.ended) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (this.ended) return;
      if (this.dirty) this.show();
      else this.list.draw();
    });
  }

  visibleEntries() {
    const group = groups[this.filter]?.[1];
    if (!group && !this.needle) return this.fold.entries.slice();
    return this.fold.entries.filter((e) => (!group || group(e)) && (!this.needle || hasText(e, this.needle)));
  }

  show() {
    this.dirty = false;
    const all = this.visibleEntries();
    this.list.setItems(all);
    this.older.textContent = this.reader.whole ? '' : `Events before ${this.reader.first} come when you scroll up.`;
    if (!all.length) this.older.textContent = this.fold.entries.length ? 'Nothing of this sort so far.' : 'Nothing happened yet. Say something to it.';
    this.showPending();
    this.sideSoon();
  }

  /** Figures change twice a second at most, however fast events come. */
  sideSoon() {
    this.sideTimer ??= setTimeout(() => {
      this.sideTimer = null;
      if (!this.ended) this.showSide();
    }, this.sideShot || !this.row ? 400 : 0);
  }

  /* ---- the head ---- */

  linkState(state) {
    clearTimeout(this.cutTimer);
    if (state === 'live') this.link.textContent = '';
    else this.cutTimer = setTimeout(() => { this.link.textContent = 'The server does not answer. This page goes on by itself when it does; nothing is lost.'; }, 1200);
  }

  refreshSoon() {
    clearTimeout(this.refreshTimer);
    this.refreshTimer = setTimeout(() => this.refresh(), 150);
  }

  async refresh() {
    try {
      const row = await this.source.row(this.abort.signal);
      if (this.ended) return;
      this.row = row;
      this.showHead();
      this.showSide();
    } catch {
      // The stream tells when the server is back, and then this is asked again.
    }
  }

  async act(what, body, said) {
    try {
      await this.source.act(what, body ?? {});
      announce(said);
    } catch (error) {
      toast(`${error.message}.`, true);
    }
    this.refresh();
  }

  showHead() {
    const r = this.row;
    const may = this.options.scopes.has('run');
    const controls = [];
    if (may && r.state === 'running') controls.push(button('Pause', { onclick: () => this.act('pause', {}, 'Paused') }, 'pause'));
    if (may && ['paused', 'failed', 'limit', 'stopped', 'stuck'].includes(r.state)) controls.push(button('Resume', { class: r.state === 'paused' ? 'primary' : '', onclick: () => this.act('resume', {}, 'Goes on') }, 'play'));
    if (may && r.state === 'scheduled') controls.push(button('Begin now', { onclick: () => this.act('resume', {}, 'Begins') }, 'play'));
    if (may && r.state === 'limit') controls.push(button('Give more', { class: 'primary', onclick: () => this.give() }, 'play'));
    if (may && this.fold.plan && !isActive(r.state)) controls.push(button('Carry out the plan', { class: 'primary', onclick: () => this.act('act', {}, 'Plan mode is over') }, 'play'));
    if (may && isActive(r.state)) controls.push(button('Stop', { onclick: () => this.cancel() }, 'stop'));
    const focused = this.decisions.includes(document.activeElement) ? document.activeElement.textContent : null;
    document.title = this.options.title(oneLine(r.title || this.id, 60));
    this.back.href = listAddress();
    this.toggle.setAttribute('aria-pressed', String(this.sideShown ?? false));
    renew(this.heading, h('h1', { dir: 'auto' }, oneLine(r.title || this.id, 140)),
      h('p', { class: 'meta' }, badge(r.state), r.state === 'scheduled' && r.start_ms ? h('span', null, moment(r.start_ms)) : null, h('span', null, oneLine(r.agent ?? '', 40)), h('span', { class: 'muted' }, oneLine(r.model ?? '', 40)),
        r.parent ? h('a', { href: `#/compare/${encodeURIComponent(r.parent)}/${encodeURIComponent(this.id)}` }, 'fork: compare') : null));
    const same = controls.length === this.decisions.length && controls.every((b, i) => b.textContent === this.decisions[i].textContent && b.className === this.decisions[i].className);
    if (!same) {
      for (const b of this.decisions) b.remove();
      this.controls.prepend(...controls);
      this.decisions = controls;
    }
    if (!this.head.firstChild) this.head.append(this.back, this.heading, this.controls);
    if (focused && !same) this.decisions.find((b) => b.textContent === focused)?.focus();
  }

  /** It rests at a limit: a person gives it more, and it goes on. */
  give() {
    const limits = this.fold.limits ?? {};
    const kinds = [['turns', 'Model turns', 20, '1'], ['seconds', 'Seconds', 600, '1'], ['tokens', 'Tokens', 100000, '1'], ['cost_usd', 'US dollars', 1, 'any']]
      .filter(([name]) => name === 'turns' || limits[name]);
    dialog('Give it more', (close) => {
      const problem = h('p', { class: 'problem', role: 'alert' });
      const inputs = kinds.map(([name, label, value, step]) => [name, label, h('input', { id: `more-${name}`, type: 'number', min: 0, step, value: name === 'turns' ? value : '', placeholder: String(value) })]);
      const form = h('form', null, h('p', { class: 'muted' }, oneLine(this.row.reason ?? '', 300)),
        inputs.map(([name, label, input]) => [h('label', { for: `more-${name}` }, label), input]), h('div', { class: 'row' }, h('button', { class: 'primary' }, 'Go on')));
      form.addEventListener('submit', async (e) => {
        e.preventDefault();
        const more = Object.fromEntries(inputs.map(([name, , input]) => [name, Number(input.value)]).filter(([, n]) => n > 0));
        try {
          await this.source.act('resume', Object.keys(more).length ? { more } : {});
          announce('Goes on');
          close();
        } catch (error) {
          problem.textContent = `${error.message}.`;
        }
        this.refresh();
      });
      return [form, problem];
    });
  }

  /** What is seldom done: another title, comparing, and removing it. */
  more() {
    const may = this.options.scopes.has('run');
    dialog('This session', (close) => {
      const title = h('input', { id: 'new-title', value: this.row.title ?? '', maxlength: 200 });
      const problem = h('p', { class: 'problem', role: 'alert' });
      const tell = (error) => { problem.textContent = `${error.message}.`; };
      const rename = h('form', null, h('label', { for: 'new-title' }, 'Title'), h('div', { class: 'row' }, h('div', { class: 'grow' }, title), h('button', null, 'Save')));
      rename.addEventListener('submit', (e) => {
        e.preventDefault();
        patch(sessionPath(this.id), { title: title.value.trim() }).then(() => { close(); this.refresh(); }, tell);
      });
      const other = h('select', { id: 'compare-with', disabled: true }, h('option', null, 'no other session'));
      get('/api/sessions?limit=100').then((page) => {
        const others = page.sessions.filter((row) => row.session_id !== this.id);
        if (!others.length) return;
        fill(other, others.map((row) => h('option', { value: row.session_id }, `${oneLine(row.title || row.session_id, 60)} (${ago(row.updated_ms)})`)));
        other.disabled = false;
      }, tell);
      const compare = h('form', null, h('label', { for: 'compare-with' }, 'Compare with'), h('div', { class: 'row' }, h('div', { class: 'grow' }, other), h('button', null, 'Compare')));
      compare.addEventListener('submit', (e) => {
        e.preventDefault();
        if (other.disabled) return;
        close();
        location.hash = `#/compare/${encodeURIComponent(this.id)}/${encodeURIComponent(other.value)}`;
      });
      const drop = button('Delete for good', { class: 'danger', onclick: () => {
        if (drop.dataset.sure) remove(sessionPath(this.id)).then(() => { close(); location.hash = '#/'; }, tell);
        else {
          drop.dataset.sure = '1';
          drop.querySelector('.label').textContent = 'Yes, delete its log and pictures';
        }
      } });
      return h('div', null, may ? rename : null, compare, may ? h('p', { class: 'row end' }, drop) : null, problem);
    });
  }

  /** On a narrow screen the timeline and the side take turns. */
  toggleSide() {
    this.sideShown = !this.sideShown;
    this.side.parentNode.classList.toggle('side-shown', this.sideShown);
    this.showHead();
  }

  cancel() {
    dialog('Stop it?', (close) => h('div', null,
      h('p', null, 'Now: the request or the calls under way are given up. After this turn: all calls of the turn get their result first.'),
      h('div', { class: 'row end' }, button('Keep it going', { onclick: close }),
        button('After this turn', { onclick: () => { close(); this.act('cancel', { when: 'after_turn' }, 'Stops after this turn'); } }),
        button('Stop now', { class: 'danger', onclick: () => { close(); this.act('cancel', {}, 'Stopped'); } }))));
  }

  /* ---- what waits ---- */

  /** Gives a promise: all of it is shown. */
  showPending() {
    const waits = this.fold.entries.filter((e) => e.type === 'call' && ['asked', 'parked'].includes(e.state));
    const keys = new Set(waits.map((e) => e.id));
    for (const [key, element] of this.cards) {
      if (keys.has(key)) continue;
      element.remove();
      this.cards.delete(key);
    }
    const may = this.options.scopes.has('approve');
    const read = waits.filter((e) => !this.cards.has(e.id)).map((e) => {
      const place = h('div', { class: 'card loading' }, 'Reads the log…');
      this.cards.set(e.id, place);
      this.pending.append(place);
      return wholeCall(this.source, e).catch(() => null).then((whole) => {
        if (this.cards.get(e.id) !== place) return;
        const element = card({ source: this.source, fold: this.fold, e, whole, may, done: () => this.options.waiting.tick() });
        place.replaceWith(element);
        this.cards.set(e.id, element);
      });
    });
    // What is not read yet takes no room.
    const empty = () => [...this.cards.values()].every((c) => c.classList.contains('loading'));
    this.pending.hidden = empty();
    return Promise.all(read).then(() => { this.pending.hidden = empty(); });
  }

  async settle(e, outcome, word) {
    try {
      await decideCall(this.source, e, 'settle', { outcome, ...(word.trim() ? { message: word.trim() } : {}) });
      announce('Settled');
    } catch (error) {
      toast(`${error.message}.`, true);
    }
  }

  async say() {
    const text = this.box.value.trim();
    if (!text || this.saying) return;
    this.saying = true;
    try {
      await this.source.say(text);
      this.box.value = '';
      this.box.style.height = 'auto';
      this.list.toEnd();
    } catch (error) {
      toast(error.status === 409 && this.row?.state === 'waiting' ? 'It waits for a decision first; approve or reject it, then say it again.' : `It was not said: ${error.message}.`, true);
    }
    this.saying = false;
  }

  /* ---- the side ---- */

  lastShot() {
    for (let i = this.fold.entries.length - 1; i >= 0; i--) {
      const e = this.fold.entries[i];
      if (e.result?.pictures?.length) return { e, shot: e.result.pictures.at(-1) };
    }
    return null;
  }

  showSide() {
    if (!this.row) return;
    const r = this.row;
    const found = this.lastShot();
    if (found?.shot.hash !== this.sideShot?.hash) {
      this.sideShot = found?.shot;
      this.screenBox = found ? h('button', { type: 'button', class: 'shot-button', 'aria-label': 'Newest picture of its screen; opens it in full size', onclick: () => openPicture(this.source, found.shot, { marks: marks(found.e.args), screen: this.fold.screen }) },
        picture(this.source, found.shot, { marks: marks(found.e.args), screen: this.fold.screen, alt: '' })) : null;
    }
    const limits = this.fold.limits ?? {};
    const cached = this.fold.entries.reduce((n, e) => n + (e.usage?.cached ?? 0), 0);
    const facts = [
      ['Turns', r.turns ?? 0, limits.turns],
      ['Calls', r.calls ?? 0],
      ['Tokens in', count(r.tokens_in ?? 0) + (cached ? ` (${count(cached)} cached)` : '')],
      ['Tokens out', count(r.tokens_out ?? 0), limits.tokens ? count(limits.tokens) : null],
      ['Cost', cost(r.cost_usd) || 'not known', limits.cost_usd ? `$${limits.cost_usd}` : null],
      ['Began', moment(r.created_ms)],
      ['Last event', moment(r.updated_ms)],
      ['Took', duration(r.updated_ms - r.created_ms), limits.seconds ? duration(limits.seconds * 1000) : null],
      ['Name', oneLine(this.id, 80)],
      r.user ? ['User', oneLine(r.user, 60)] : null,
    ].filter(Boolean);
    // The live screen keeps its place in the page: what has the keyboard keeps it.
    if (this.live && this.live.element.parentNode !== this.side) this.side.prepend(this.live.element);
    if (this.terminal && this.terminal.element.parentNode !== this.side) this.live.element.after(this.terminal.element);
    this.sideRest ??= h('div', { class: 'side-rest' });
    if (this.sideRest.parentNode !== this.side) this.side.append(this.sideRest);
    renew(this.sideRest, this.live?.shown ? null : this.screenBox,
      h('dl', { class: 'figures' }, facts.map(([k, v, max]) => [h('dt', null, k), h('dd', { dir: 'auto' }, String(v), max ? h('span', { class: 'muted' }, ` of ${max}`) : null)])),
      h('p', { class: 'muted' }, plural(this.reader.last, 'event'), ' in its log'));
  }

  /* ---- keys ---- */

  key(e) {
    if (e.target.closest('input, textarea, select, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = this.list.focused();
    const last = this.list.items.length - 1;
    const moves = { j: Math.min(last, at + 1), ArrowDown: Math.min(last, at + 1), k: at < 0 ? last : Math.max(0, at - 1), ArrowUp: at < 0 ? last : Math.max(0, at - 1), Home: 0, End: last };
    if (e.key in moves) this.list.focus(moves[e.key]);
    else if (e.key === 'm') this.box.focus();
    else if (e.key === 'd') this.pending.querySelector('article')?.focus();
    else return;
    e.preventDefault();
  }

  destroy() {
    this.ended = true;
    this.abort.abort();
    this.stop?.();
    this.live?.destroy();
    this.terminal?.destroy();
    clearTimeout(this.refreshTimer);
    clearTimeout(this.cutTimer);
    clearTimeout(this.sideTimer);
    document.removeEventListener('keydown', this.onkey);
    this.list.destroy();
  }
}

export function sessionView(root, id, options) {
  const view = new SessionView(root, id, options);
  return () => view.destroy();
}
