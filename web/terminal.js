// SPDX-License-Identifier: Apache-2.0
// terminal.js - the terminal of a session's shell as it is now, and a person who types there.
//
// The server sends the rows that changed, as texts.  Taking over is that of the desktop (live.js): the agent waits meanwhile.
import { h, renew, announce, button, toast } from './dom.js';
import { oneLine, visible } from './format.js';
import { sessionPath } from './api.js';
import { close, giveBackDialog, RENEW_MS, RETRY_MS } from './live.js';

const ROWS_MAX = 500;
const keys = [['Ctrl C', 'C-c'], ['Ctrl D', 'C-d'], ['Esc', 'ESC'], ['Up', 'UP'], ['Down', 'DOWN'], ['Tab', 'TAB']];

export class LiveTerminal {
  /** options: {id, mayRun, changed(): the view shows or hides} */
  constructor(options) {
    Object.assign(this, options);
    this.shown = false;
    this.mine = false;
    this.fails = 0;
    this.rows = [];
    this.screen = h('pre', { class: 'terminal', tabindex: '0', role: 'log', 'aria-label': 'The terminal, live', 'aria-live': 'off', dir: 'ltr' });
    this.status = h('p', { class: 'live-status', role: 'status' });
    this.controls = h('div', { class: 'row' });
    this.taking = button('Take over', { onclick: () => this.send({ type: 'take' }) }, 'hand');
    this.giving = button('Give back', { class: 'primary', onclick: () => giveBackDialog('Give the terminal back', (note) => this.send({ type: 'give', note })) });
    this.line = h('input', { type: 'text', class: 'word', 'aria-label': 'A line for the terminal', placeholder: 'A line for the terminal', autocomplete: 'off', spellcheck: 'false' });
    this.form = h('form', { class: 'terminal-line', hidden: true }, this.line, h('div', { class: 'row' },
      h('button', { class: 'primary' }, 'Enter'), keys.map(([name, key]) => button(name, { onclick: () => this.type(key) }))));
    this.form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.type(this.line.value || 'ENTER');
      this.line.value = '';
    });
    this.element = h('section', { class: 'live-terminal', 'aria-label': 'Terminal', hidden: true }, this.screen, this.status, this.form, this.controls);
    this.connect();
  }

  connect() {
    const url = new URL(sessionPath(this.id, '/terminal?rate=10'), location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onopen = () => { this.fails = 0; };
    socket.onmessage = (e) => { if (this.socket === socket && typeof e.data === 'string') this.told(JSON.parse(e.data)); };
    socket.onclose = () => {
      if (this.ended || this.socket !== socket) return;
      this.held(null, false, false);
      this.timer = setTimeout(() => this.connect(), RETRY_MS[Math.min(this.fails++, RETRY_MS.length - 1)]);
    };
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  type(text) {
    if (this.mine && this.ready) this.send({ type: 'input', text });
  }

  told(m) {
    switch (m.type) {
      case 'terminal':
        this.rows = new Array(Math.min(m.rows, ROWS_MAX)).fill('');
        this.show(true);
        break;
      case 'rows':
        for (const [n, text] of m.rows) if (n < this.rows.length) this.rows[n] = String(text);
        this.cursor = m.cursor;
        this.draw();
        break;
      case 'none':
        this.show(false);
        break;
      case 'control':
        this.held(m.holder, m.mine, m.ready);
        break;
      case 'refused':
        toast(`${m.message}.`, true);
        break;
      default:
    }
  }

  show(yes) {
    if (this.shown === yes) return;
    this.shown = yes;
    this.element.hidden = !yes;
    this.changed();
  }

  /** Up to the last row that has anything, or the cursor's. */
  draw() {
    let last = this.cursor?.[1] ?? 0;
    for (let n = this.rows.length - 1; n > last; n--) if (this.rows[n]) last = n;
    const follow = this.screen.scrollTop + this.screen.clientHeight >= this.screen.scrollHeight - 4;
    this.screen.textContent = visible(this.rows.slice(0, last + 1).join('\n'));
    if (follow) this.screen.scrollTop = this.screen.scrollHeight;
  }

  held(holder, mine, ready) {
    const before = this.mine && this.ready;
    this.mine = mine;
    this.ready = ready;
    clearInterval(this.renewal);
    if (mine) this.renewal = setInterval(() => this.send({ type: 'renew' }), RENEW_MS);
    this.form.hidden = !(mine && ready);
    this.status.textContent = mine ? (ready ? 'You have the terminal; the agent waits.' : 'You get the terminal when the call under way is over.') : holder ? `${oneLine(holder, 60)} has taken over.` : '';
    renew(this.controls, !this.mayRun ? null : mine ? this.giving : holder ? null : this.taking);
    if (mine && ready && !before) {
      announce('You have the terminal');
      this.line.focus();
    }
  }

  destroy() {
    this.ended = true;
    clearTimeout(this.timer);
    clearInterval(this.renewal);
    close(this.socket);
    this.socket = null;
  }
}
