// SPDX-License-Identifier: Apache-2.0
// keys.js - the keys of the page, as a dialog behind "?".  Each view listens for its own; this is their list.
import { h, dialog } from './dom.js';

const keys = [
  ['Everywhere', [['?', 'these keys'], ['Tab', 'the next control'], ['Esc', 'close a dialog']]],
  ['Sessions', [['j', 'next'], ['k', 'previous'], ['/', 'search'], ['n', 'new task']]],
  ['A session', [['j', 'next entry'], ['k', 'previous entry'], ['m', 'write a message'], ['d', 'to what waits for you']]],
  ['A decision', [['a', 'approve once'], ['A', 'always'], ['r', 'reject, with a word'], ['j', 'next'], ['k', 'previous']]],
  ['Replay', [['Space', 'play, or stop'], ['←', 'step back'], ['→', 'step on'], ['[', 'range from here'], [']', 'range up to here'], ['Home', 'first'], ['End', 'last']]],
  ['The desktop, taken over', [['Ctrl+Shift+Esc', 'leave it with the keyboard; all other keys go to it']]],
];

export function keysDialog() {
  dialog('Keys', () => h('div', { class: 'keys' }, keys.map(([where, list]) =>
    h('section', null, h('h3', null, where), h('dl', null, list.map(([key, what]) => [h('dt', null, h('kbd', null, key)), h('dd', null, what)]))))));
}

/** "?" opens it, where no text is written and no dialog is open. */
export function listenForKeys() {
  document.addEventListener('keydown', (e) => {
    if (e.key !== '?' || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector('dialog[open]') || e.target.closest('input, textarea, select')) return;
    e.preventDefault();
    keysDialog();
  });
}
