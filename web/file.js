// SPDX-License-Identifier: Apache-2.0
// file.js - the player of a session that thole export wrote into one file: no server, no network.
import { h, fill } from './dom.js';
import { replayView } from './replay.js';

const pieces = (name) => document.querySelectorAll(`script[data-thole="${name}"]`);

class FileSource {
  constructor() {
    const about = JSON.parse(pieces('about')[0].textContent);
    this.about = about;
    this.id = about.session_id;
    this.live = false;
    this.chunks = [...pieces('events')].map((element) => ({ element, from: Number(element.dataset.from), to: Number(element.dataset.to) }));
    this.pictures = new Map([...pieces('picture')].map((element) => [element.dataset.hash, { element, url: null }]));
  }

  async row() {
    return this.about;
  }

  events(chunk) {
    if (this.read !== chunk) {
      this.read = chunk;
      this.list = JSON.parse(chunk.element.textContent);
    }
    return this.list;
  }

  async range(from, to) {
    const out = [];
    for (const chunk of this.chunks) {
      if (chunk.to < from || chunk.from > to) continue;
      for (const e of this.events(chunk)) if (e.seq >= from && e.seq <= to) out.push(e);
    }
    return out;
  }

  async event(seq) {
    return (await this.range(seq, seq))[0];
  }

  picture(hash) {
    const it = this.pictures.get(hash);
    if (!it) return null;
    if (!it.url) {
      const bytes = Uint8Array.from(atob(it.element.textContent.trim()), (c) => c.charCodeAt(0));
      it.url = URL.createObjectURL(new Blob([bytes], { type: it.element.dataset.type }));
      it.element.remove(); // the bytes are not held twice
    }
    return it.url;
  }

  other(id) {
    throw new Error(`${id} is a session of its own and not in this file`);
  }
}

const root = h('div', { id: 'view' });
const app = document.getElementById('app');
document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
document.body.append(h('div', { id: 'announcer', role: 'status', 'aria-live': 'polite' }));
fill(app, root);
try {
  const source = new FileSource();
  document.title = `${source.about.title || source.id} · thole`;
  replayView(root, source, {
    live: false,
    fail: (error) => fill(root, h('main', { class: 'centered' }, h('p', null, `This file cannot be read: ${error.message}.`))),
  });
} catch (error) {
  fill(root, h('main', { class: 'centered' }, h('p', null, `This file is not whole: ${error.message}.`)));
}
