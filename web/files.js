// SPDX-License-Identifier: Apache-2.0
// files.js - what a session changed in its folder, file by file, as plain diffs; with download.
import { h, fill, icon } from './dom.js';
import { bytes, oneLine, plural, visible } from './format.js';
import { ask, get, sessionPath } from './api.js';
import { ServerSource } from './source.js';

const QUIET_MS = 700; // without an event, and the list is read again
const LINES_MAX = 5000; // of a diff that are shown

/** A file's path as it stands behind path=. */
const query = (file) => `?path=${file.encoded ?? encodeURIComponent(file.path)}`;

const classes = { '+': 'added', '-': 'removed', '@': 'place', '\\': 'place' };

/** The lines of a unified diff, each an element with its text; the two lines of names are left out. */
export function diffLines(text) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const shown = lines.slice(2, 2 + LINES_MAX).map((line) => h('span', { class: `line ${classes[line[0]] ?? ''}` }, `${visible(line)}\n`));
  return lines.length > 2 + LINES_MAX ? [shown, h('span', { class: 'line place' }, `${plural(lines.length - 2 - LINES_MAX, 'more line')} in the file\n`)] : shown;
}

function sizes(f) {
  const was = f.was_size === null ? null : bytes(f.was_size);
  const is = f.size === null ? null : bytes(f.size);
  return was !== null && is !== null && was !== is ? `${was} → ${is}` : is ?? was;
}

class FilesView {
  constructor(root, id, { fail, back }) {
    this.id = id;
    this.fail = fail;
    this.abort = new AbortController();
    this.open = new Map(); // path -> its element, while it is open
    this.status = h('p', { class: 'muted', role: 'status' }, 'Reads the folder…');
    this.list = h('ul', { class: 'files' });
    this.heading = h('h1', { dir: 'auto' }, 'Files');
    fill(root, h('main', { class: 'page money' }, h('div', { class: 'toolbar' }, h('div', { class: 'row' },
      h('a', { class: 'button quiet', href: back, 'aria-label': 'Back to the session' }, icon('back')), this.heading)), this.status, this.list));
    this.begin();
  }

  async begin() {
    const source = new ServerSource(this.id);
    try {
      const row = await source.row(this.abort.signal);
      this.heading.textContent = `Files of ${oneLine(row.title || this.id, 100)}`;
      await this.read();
      if (this.abort.signal.aborted) return;
      const nothing = () => {};
      this.stop = source.follow(row.head_seq, { events: () => this.soon(), delta: nothing, state: nothing, lost: nothing, end: nothing });
    } catch (error) {
      if (!this.abort.signal.aborted) this.fail(error, this.id);
    }
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(), QUIET_MS);
  }

  async read() {
    let answer;
    try {
      answer = await get(sessionPath(this.id, '/files'), this.abort.signal);
    } catch (error) {
      if (this.abort.signal.aborted) return;
      if (error.code === 'busy') this.soon();
      this.status.textContent = error.code === 'no_folder' ? 'This session has no folder of its own, so nothing is known of its files.' : `The folder cannot be shown: ${error.message}.`;
      return;
    }
    if (this.abort.signal.aborted) return;
    const { files, complete, reason } = answer;
    this.status.textContent = `${files.length ? `${plural(files.length, 'file')} changed since it began.` : 'Nothing has changed in its folder since it began.'}${complete ? '' : ` This is not all: ${reason}.`}`;
    this.show(files);
  }

  show(files) {
    const opened = new Set(this.open.keys());
    const focused = this.list.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.open.clear();
    fill(this.list, files.map((f) => {
      const box = h('div', { class: 'diff-box' });
      const details = h('details', { class: `file ${f.state}` },
        h('summary', null, h('span', { class: 'badge' }, f.state), h('span', { class: 'path', dir: 'auto' }, visible(f.path)),
          h('span', { class: 'muted' }, f.kind === 'file' ? sizes(f) : f.kind === 'link' ? 'a link' : 'no ordinary file')), box);
      details.addEventListener('toggle', () => {
        if (details.open) {
          this.open.set(f.path, details);
          this.content(box, f);
        } else this.open.delete(f.path);
      });
      if (opened.has(f.path)) details.open = true;
      return h('li', { class: 'card' }, details);
    }));
    if (focused) [...this.list.querySelectorAll('summary, a')].find((e) => e.textContent === focused)?.focus();
  }

  async content(box, f) {
    const parts = [f.note ? h('p', { class: 'muted' }, `${f.note}.`) : null];
    if (f.kind === 'file' && f.state !== 'removed') parts.push(h('p', null, h('a', { class: 'button', href: sessionPath(this.id, `/files/content${query(f)}`), download: '' }, icon('down'), h('span', { class: 'label' }, 'Download'))));
    if (f.kind !== 'file') parts.push(h('p', { class: 'muted' }, 'Its content is not shown.'));
    else if (f.binary) parts.push(h('p', { class: 'muted' }, 'It is no text.'));
    else {
      try {
        const text = await (await ask(sessionPath(this.id, `/files/diff${query(f)}`), { signal: this.abort.signal })).text();
        parts.push(text.split('\n').length > 3 ? h('pre', { class: 'diff', tabindex: '0', 'aria-label': `Changes of ${oneLine(f.path, 100)}` }, diffLines(text)) : h('p', { class: 'muted' }, 'It is empty.'));
      } catch (error) {
        if (this.abort.signal.aborted) return;
        parts.push(h('p', { class: 'muted' }, `No diff: ${error.message}.`));
      }
    }
    fill(box, parts);
  }

  destroy() {
    this.abort.abort();
    clearTimeout(this.timer);
    this.stop?.();
  }
}

export function filesView(root, id, options) {
  const view = new FilesView(root, id, options);
  return () => view.destroy();
}
