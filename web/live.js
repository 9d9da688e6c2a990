// SPDX-License-Identifier: Apache-2.0
// live.js - the desktop of a session as it is now, and a person at it.
//
// The server sends changed tiles over a WebSocket; each message is one whole frame.  Whoever takes over has a lease, which is
// renewed while this tab lives; a tab that is gone gives the desktop back by itself.
import { h, fill, renew, announce, button, dialog, toast } from './dom.js';
import { oneLine } from './format.js';
import { sessionPath } from './api.js';
import { marks } from './fold.js';
import { overlay } from './picture.js';

export const RENEW_MS = 5000;
export const RETRY_MS = [500, 1000, 2000, 4000, 8000];
const MOVES_MS = 30; // between two moves of the pointer that are sent
const TYPES = { jpeg: 'image/jpeg', webp: 'image/webp', png: 'image/png' };
const buttons = ['left', 'middle', 'right'];

/** Tiles of a frame: [{x, y, width, height, bytes}]; throws where the message is not whole. */
export function tilesOf(buffer) {
  const view = new DataView(buffer);
  if (view.getUint8(0) !== 1) throw new Error('a frame of another version');
  const tiles = [];
  let at = 8;
  for (let n = view.getUint16(2, true); n > 0; n--) {
    const tile = { x: view.getUint16(at, true), y: view.getUint16(at + 2, true), width: view.getUint16(at + 4, true), height: view.getUint16(at + 6, true) };
    const size = view.getUint32(at + 8, true);
    at += 12;
    if (at + size > buffer.byteLength) throw new Error('a frame that is cut');
    tile.bytes = new Uint8Array(buffer, at, size);
    at += size;
    tiles.push(tile);
  }
  return tiles;
}

/** A socket that is not open yet is closed when it is: the browser tells of any other as of a fault. */
export function close(socket) {
  if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket?.close();
}

export function giveBackDialog(title, give) {
  const note = h('textarea', { rows: 3, id: 'give-note', placeholder: 'What did you do? The agent reads it.' });
  dialog(title, (end) => {
    const form = h('form', null, h('label', { for: 'give-note' }, 'Note for the agent'), note,
      h('div', { class: 'row end' }, h('button', { type: 'button', onclick: end }, 'Keep it'), h('button', { class: 'primary' }, 'Give back')));
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      give(note.value.trim());
      end();
    });
    return form;
  });
  note.focus();
}

export class LiveScreen {
  /** options: {id, mayRun, changed(): the view shows or hides} */
  constructor(options) {
    Object.assign(this, options);
    this.shown = false;
    this.mine = false;
    this.fails = 0;
    this.queue = Promise.resolve();
    this.canvas = h('canvas', { width: 1, height: 1, tabindex: '0', role: 'img', 'aria-label': 'The desktop, live' });
    this.paint = this.canvas.getContext('2d', { alpha: false });
    this.pointer = h('span', { class: 'pointer', 'aria-hidden': 'true' });
    this.points = h('span', { class: 'points' });
    this.status = h('p', { class: 'live-status', role: 'status' });
    this.controls = h('div', { class: 'row' });
    this.taking = button('Take over', { onclick: () => this.take() }, 'hand');
    this.holding = [button('Give back', { class: 'primary', onclick: () => this.giveBack() }), button('Send text', { onclick: () => this.sendText() }),
      button('Its clipboard', { onclick: () => this.send({ type: 'input', actions: [{ type: 'clipboard_get' }] }) })];
    this.element = h('section', { class: 'live-screen', 'aria-label': 'Desktop', hidden: true },
      h('div', { class: 'live-box' }, this.canvas, this.points, this.pointer), this.status, this.controls);
    this.listen();
    this.connect();
  }

  connect() {
    const url = new URL(sessionPath(this.id, '/screen?format=jpeg&quality=80&rate=20'), location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.format = 'jpeg';
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => { this.fails = 0; };
    socket.onmessage = (e) => {
      if (this.socket !== socket) return;
      if (typeof e.data === 'string') this.told(JSON.parse(e.data));
      else this.frame(e.data);
    };
    socket.onclose = () => {
      if (this.ended || this.socket !== socket) return;
      this.held(null, false, false);
      this.timer = setTimeout(() => this.connect(), RETRY_MS[Math.min(this.fails++, RETRY_MS.length - 1)]);
    };
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /* ---- what comes ---- */

  told(m) {
    switch (m.type) {
      case 'screen':
        this.queue = this.queue.then(() => {
          this.canvas.width = m.width;
          this.canvas.height = m.height;
        });
        this.size = { width: m.width, height: m.height };
        this.show(true);
        break;
      case 'none':
        this.show(false);
        break;
      case 'pointer':
        this.at = m;
        this.placePointer();
        break;
      case 'control':
        this.controllable = true; // a server that only shows says nothing of it
        this.held(m.holder, m.mine, m.ready);
        break;
      case 'refused':
        toast(`${m.message}.`, true);
        break;
      case 'clipboard':
        this.showClipboard(m.text);
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

  /** Frames are drawn in their order, each at once when all its tiles are decoded. */
  frame(buffer) {
    let tiles;
    try {
      tiles = tilesOf(buffer);
    } catch (error) {
      toast(`The picture of the desktop cannot be read: ${error.message}.`, true);
      return;
    }
    const decoded = Promise.all(tiles.map((t) => createImageBitmap(new Blob([t.bytes], { type: TYPES[this.format] }))));
    this.queue = this.queue.then(() => decoded).then((bitmaps) => {
      bitmaps.forEach((bitmap, i) => {
        if (!this.ended) this.paint.drawImage(bitmap, tiles[i].x, tiles[i].y);
        bitmap.close();
      });
      this.drawn = (this.drawn ?? 0) + 1;
      this.canvas.dataset.frames = String(this.drawn);
    }, () => { /* a tile that cannot be decoded: the next frame has it again */ });
  }

  placePointer() {
    if (!this.at || !this.size) return;
    this.pointer.style.left = `${(100 * this.at.x) / this.size.width}%`;
    this.pointer.style.top = `${(100 * this.at.y) / this.size.height}%`;
    this.pointer.classList.add('seen');
  }

  /** Points of the agent's newest action, for a moment. */
  acted(args) {
    const found = marks(args);
    if (!found.length || !this.size) return;
    fill(this.points, overlay(found, this.size));
    clearTimeout(this.fade);
    this.fade = setTimeout(() => this.points.replaceChildren(), 1500);
  }

  held(holder, mine, ready) {
    const before = this.mine;
    this.mine = mine;
    this.ready = ready;
    this.element.classList.toggle('mine', mine && ready);
    this.canvas.setAttribute('role', mine ? 'application' : 'img');
    this.canvas.setAttribute('aria-label', mine ? 'The desktop: keys and clicks go to it; Control Shift Escape leaves it' : 'The desktop, live');
    clearInterval(this.renewal);
    if (mine) this.renewal = setInterval(() => this.send({ type: 'renew' }), RENEW_MS);
    this.status.textContent = mine ? (ready ? 'You have the desktop; the agent waits.' : 'You get the desktop when the call under way is over.') : holder ? `${oneLine(holder, 60)} has the desktop.` : '';
    renew(this.controls, !this.mayRun || !this.controllable ? null : mine ? this.holding : holder ? null : this.taking);
    if (mine && ready && !(before && this.wasReady)) {
      announce('You have the desktop');
      this.canvas.focus();
    }
    this.wasReady = ready;
  }

  take() {
    this.send({ type: 'take' });
  }

  giveBack() {
    giveBackDialog('Give the desktop back', (note) => this.send({ type: 'give', note }));
  }

  /** Any Unicode text, typed where the desktop's keyboard is. */
  sendText() {
    const text = h('textarea', { rows: 4, id: 'send-text' });
    dialog('Send text', (close) => {
      const form = h('form', null, h('label', { for: 'send-text' }, 'It is typed where the keyboard of the desktop is'), text, h('div', { class: 'row end' },
        button('To the clipboard', { onclick: () => { this.input([{ type: 'clipboard_set', text: text.value }]); close(); } }), h('button', { class: 'primary' }, 'Type it')));
      form.addEventListener('submit', (e) => {
        e.preventDefault();
        if (text.value) this.input([{ type: 'type', text: text.value }]);
        close();
        this.canvas.focus();
      });
      return form;
    });
    text.focus();
  }

  showClipboard(text) {
    const box = h('textarea', { rows: 8, readonly: true, 'aria-label': 'Clipboard of the desktop' });
    box.value = text;
    dialog('Clipboard of the desktop', () => box);
    box.select();
  }

  /* ---- what goes ---- */

  input(actions) {
    if (this.mine && this.ready) this.send({ type: 'input', actions });
  }

  place(e) {
    const r = this.canvas.getBoundingClientRect();
    const clamp = (v, max) => Math.max(0, Math.min(max - 1, Math.round(v)));
    return { x: clamp(((e.clientX - r.left) / r.width) * this.size.width, this.size.width), y: clamp(((e.clientY - r.top) / r.height) * this.size.height, this.size.height) };
  }

  listen() {
    const c = this.canvas;
    let moved = 0;
    let later = 0;
    const has = () => this.mine && this.ready && this.size;
    c.addEventListener('pointermove', (e) => {
      if (!has()) return;
      const at = this.place(e);
      clearTimeout(later);
      const go = () => { moved = performance.now(); this.input([{ type: 'move', ...at }]); };
      if (performance.now() - moved > MOVES_MS) go();
      else later = setTimeout(go, MOVES_MS);
    });
    c.addEventListener('pointerdown', (e) => {
      if (!has()) return;
      e.preventDefault();
      c.focus();
      c.setPointerCapture(e.pointerId);
      clearTimeout(later);
      this.input([{ type: 'mouse_down', ...this.place(e), button: buttons[e.button] ?? 'left' }]);
    });
    c.addEventListener('pointerup', (e) => {
      if (!has()) return;
      clearTimeout(later);
      this.input([{ type: 'mouse_up', ...this.place(e), button: buttons[e.button] ?? 'left' }]);
    });
    c.addEventListener('contextmenu', (e) => { if (has()) e.preventDefault(); });
    c.addEventListener('wheel', (e) => {
      if (!has()) return;
      e.preventDefault();
      const notch = (v) => Math.max(-10, Math.min(10, Math.sign(v) * Math.ceil(Math.abs(v) / 100)));
      this.input([{ type: 'scroll', ...this.place(e), dx: notch(e.deltaX), dy: notch(e.deltaY) }]);
    }, { passive: false });
    c.addEventListener('keydown', (e) => {
      if (!has()) return;
      if (e.key === 'Escape' && e.ctrlKey && e.shiftKey) { c.blur(); return; }
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'v') return; // the paste event has the text
      if (e.isComposing || e.key === 'Dead' || e.key === 'Process') return;
      e.preventDefault();
      e.stopPropagation();
      this.input([{ type: 'key_down', key: e.key }]);
    });
    c.addEventListener('keyup', (e) => {
      if (!has() || e.isComposing || e.key === 'Dead' || e.key === 'Process') return;
      e.preventDefault();
      this.input([{ type: 'key_up', key: e.key }]);
    });
    c.addEventListener('paste', (e) => {
      if (!has()) return;
      e.preventDefault();
      const text = e.clipboardData.getData('text/plain');
      if (text) this.input([{ type: 'type', text }]);
    });
    c.addEventListener('compositionend', (e) => { if (e.data) this.input([{ type: 'type', text: e.data }]); });
  }

  destroy() {
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.fade);
    clearInterval(this.renewal);
    close(this.socket);
    this.socket = null;
  }
}
