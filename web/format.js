// SPDX-License-Identifier: Apache-2.0
// format.js - numbers, times and foreign text for people.

const unit = (value, word) => `${value} ${word}${value === 1 ? '' : 's'}`;

export function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds - minutes * 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes - hours * 60} min` : `${Math.floor(hours / 24)} days`;
}

export function ago(ms, now = Date.now()) {
  const seconds = Math.max(0, (now - ms) / 1000);
  if (seconds < 5) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return seconds < 86400 * 14 ? `${unit(Math.floor(seconds / 86400), 'day')} ago` : date(ms);
}

// One formatter each, in the viewer's own zone: making one takes longer than using it a hundred times.
const dates = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
const clocks = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export const date = (ms) => dates.format(ms);
export const clock = (ms) => clocks.format(ms);
export const moment = (ms) => whole.format(ms);

export function count(n) {
  if (!Number.isFinite(n)) return '0';
  if (Math.abs(n) < 1000) return String(Math.round(n));
  if (Math.abs(n) < 10000) return `${(n / 1000).toFixed(1)}k`;
  return Math.abs(n) < 1e6 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`;
}

export function bytes(n) {
  if (n < 1000) return unit(n, 'byte');
  return n < 1e6 ? `${(n / 1e3).toFixed(1)} KB` : `${(n / 1e6).toFixed(1)} MB`;
}

/** In US dollars; '' where nothing is known. */
export function cost(usd) {
  if (!Number.isFinite(usd) || usd === 0) return '';
  if (usd < 0.0001) return '< $0.0001';
  return `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

export const plural = unit;

// What a terminal or a reader of right-to-left text would act on stands there as a sign instead.
const controls = 'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');
const names = {
  0x7f: '⟦DEL⟧', 0x85: '⟦NEL⟧', 0xad: '⟦SHY⟧', 0x61c: '⟦ALM⟧', 0x200b: '⟦ZWSP⟧', 0x200e: '⟦LRM⟧', 0x200f: '⟦RLM⟧', 0x2028: '⟦LSEP⟧', 0x2029: '⟦PSEP⟧',
  0x202a: '⟦LRE⟧', 0x202b: '⟦RLE⟧', 0x202c: '⟦PDF⟧', 0x202d: '⟦LRO⟧', 0x202e: '⟦RLO⟧', 0x2066: '⟦LRI⟧', 0x2067: '⟦RLI⟧',
  0x2068: '⟦FSI⟧', 0x2069: '⟦PDI⟧', 0xfeff: '⟦BOM⟧',
};
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Foreign text with all that is invisible or moves other text made visible. */
export function visible(text) {
  return String(text).replace(hidden, (c) => {
    const code = c.codePointAt(0);
    return code < 0x20 ? `⟦${controls[code]}⟧` : names[code] ?? `⟦U+${code.toString(16).toUpperCase()}⟧`;
  });
}

/** The same on one line. */
export function oneLine(text, max = 200) {
  const line = visible(String(text).slice(0, max * 2)).replace(/\s+/g, ' ').trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** A sentence's first letter as a heading has it. */
export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : '');

/** One action of a computer in words. */
export function action(a) {
  const at = Number.isFinite(a.x) ? ` at ${a.x}, ${a.y}` : '';
  const keys = Array.isArray(a.keys) ? a.keys.map((k) => visible(k)).join(' + ') : '';
  const quoted = (text) => `“${visible(text ?? '')}”`;
  switch (a.type) {
    case 'screenshot': return 'Look at the screen';
    case 'click': {
      const which = a.button && a.button !== 'left' ? `${a.button}-click` : 'click';
      return capital(`${['', '', 'double-', 'triple-'][a.count] ?? ''}${which}${at}${keys ? ` with ${keys}` : ''}`);
    }
    case 'type': return `Type ${quoted(a.text)}${a.enter ? ' and Enter' : ''}${at}`;
    case 'key': return `Press ${keys}${a.count > 1 ? ` ${a.count} times` : ''}`;
    case 'scroll': return `Scroll ${a.dy > 0 ? 'down' : a.dy < 0 ? 'up' : a.dx > 0 ? 'right' : 'left'}${at}`;
    case 'drag': return Array.isArray(a.path) && a.path.length
      ? `Drag from ${a.path[0].x}, ${a.path[0].y} to ${a.path.at(-1).x}, ${a.path.at(-1).y}` : 'Drag';
    case 'move': return `Move the pointer${at.replace(' at', ' to')}`;
    case 'wait': return `Wait ${duration(a.duration_ms ?? 1000)}`;
    case 'clipboard_set': return `Put ${quoted(a.text)} on the clipboard`;
    default: return capital(visible(String(a.type ?? 'act')).replace(/_/g, ' ')) + at + (keys ? ` ${keys}` : '');
  }
}
