// SPDX-License-Identifier: Apache-2.0
// compare.js - two sessions side by side, from the event where they part.
import { h, fill, icon } from './dom.js';
import { oneLine, plural } from './format.js';
import { entry } from './entries.js';
import { readWhole } from './replay.js';
import { badge } from './states.js';
import { VirtualList } from './virtual.js';

/** What of an entry must be the same in both; a fork's shared events are the very same. */
function same(a, b) {
  if (a.type !== b.type) return false;
  const of = (e) => JSON.stringify([e.tool, e.args, e.text, e.parts?.map((p) => p.text), e.result?.text, e.state, e.title]);
  return of(a) === of(b);
}

/** The index of the first entry in which they differ; `begin` entries are not compared. */
export function partAt(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && same(a[i], b[i])) i++;
  return i;
}

function sentence(parted, [a, b]) {
  if (!parted) return 'They have no step in common.';
  if (parted === Math.max(a.length, b.length)) return `They are the same, in all of their ${plural(parted, 'step')}.`;
  return `The first ${plural(parted, 'step')} ${parted === 1 ? 'is' : 'are'} the same; from there on they go their own ways.`;
}

const steps = (fold) => fold.entries.filter((e) => e.type !== 'begin');

export function compareView(root, a, b, { fail }) {
  const abort = new AbortController();
  const lists = [];
  fill(root, h('main', { class: 'centered' }, h('p', { class: 'muted' }, 'Reads both logs…')));
  Promise.all([a, b].map((source) => readWhole(source, null, abort.signal))).then((both) => {
    const all = both.map(({ fold }) => steps(fold));
    const parted = partAt(all[0], all[1]);
    const columns = both.map(({ row, fold }, k) => {
      const source = [a, b][k];
      const scroller = h('div', { class: 'scroller', tabindex: '-1' });
      const rest = all[k].slice(parted);
      const list = { scroller, rest, ctx: { source, screen: () => fold.screen } };
      lists.push(list);
      return h('section', { class: 'column', 'aria-label': oneLine(row.title || source.id, 80) },
        h('header', null, badge(row.state), h('a', { href: `#/s/${encodeURIComponent(source.id)}` }, oneLine(row.title || source.id, 80)), h('span', { class: 'muted' }, `${plural(rest.length, 'step')} of its own`)), scroller);
    });
    fill(root, h('main', { class: 'compare' }, h('header', { class: 'session-head' }, h('a', { href: `#/s/${encodeURIComponent(b.id)}`, class: 'back', 'aria-label': 'Back' }, icon('back')),
      h('div', { class: 'heading' }, h('h1', null, 'Compare'), h('p', { class: 'meta' }, sentence(parted, all)))),
    h('div', { class: 'columns' }, columns)));
    for (const it of lists) {
      it.list = new VirtualList(it.scroller, { label: 'Steps', key: (e) => e.id, version: (e) => e.rev, estimate: (e) => (e.type === 'call' ? 150 : 80), render: (e) => entry(e, it.ctx) });
      it.list.setItems(it.rest);
    }
  }).catch((error) => { if (!abort.signal.aborted) fail(error, ''); });
  return () => {
    abort.abort();
    for (const it of lists) it.list?.destroy();
  };
}
