// SPDX-License-Identifier: Apache-2.0
// virtual.js - a list of any length of which only what is seen is in the page.
//
// Each item's height is estimated, and measured when it is shown first.  Sums over heights are a Fenwick tree, so finding the
// item at a place, and what a changed height moves, take log n.  What is at the top of the view stays there when something above
// it changes; a view at the end stays at the end.

const BESIDE = 600; // pixels that are made above and below the view

class Heights {
  constructor(values) {
    this.n = values.length;
    this.values = values;
    this.tree = new Float64Array(this.n + 1);
    for (let i = 1; i <= this.n; i++) {
      this.tree[i] += values[i - 1];
      const up = i + (i & -i);
      if (up <= this.n) this.tree[up] += this.tree[i];
    }
  }

  set(index, value) {
    const by = value - this.values[index];
    this.values[index] = value;
    for (let i = index + 1; i <= this.n; i += i & -i) this.tree[i] += by;
    return by;
  }

  /** Sum of all before `index`. */
  before(index) {
    let sum = 0;
    for (let i = index; i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }

  total() {
    return this.before(this.n);
  }

  /** The item that is at this place. */
  at(place) {
    let index = 0;
    for (let step = 1 << Math.floor(Math.log2(this.n || 1)); step; step >>= 1) {
      const next = index + step;
      if (next <= this.n && this.tree[next] <= place) {
        index = next;
        place -= this.tree[next];
      }
    }
    return Math.min(index, Math.max(0, this.n - 1));
  }
}

export class VirtualList {
  /**
   * scroller: the element that scrolls.  render(item, index) gives an element; key(item) is a text that tells items apart; estimate(item) is a
   * height; version(item) changes when the item must be rendered anew.  onEdge('start' | 'end') is called near the ends.
   */
  constructor(scroller, { render, key, estimate, version = () => 0, onEdge = null, label, sticks = false }) {
    Object.assign(this, { scroller, render, key, estimate, version, onEdge, sticks });
    this.items = [];
    this.heights = new Heights([]);
    this.measured = new Map();
    this.shown = new Map(); // key -> {element, index, version}
    this.body = document.createElement('div');
    this.body.className = 'virtual';
    this.body.setAttribute('role', 'list');
    this.body.setAttribute('aria-label', label);
    scroller.append(this.body);
    this.pending = 0;
    this.top = 0;
    this.stuck = sticks; // to the end; only the viewer's own scrolling changes it
    this.onscroll = () => {
      this.stuck = this.sticks && this.atEnd();
      this.schedule();
    };
    scroller.addEventListener('scroll', this.onscroll, { passive: true });
    // An item is not made anew between press and release: the click would be lost.
    this.pressed = null;
    this.onpress = (e) => { this.pressed = e.target.closest('[role="listitem"]')?.dataset.key ?? null; };
    this.onrelease = () => {
      if (this.pressed === null) return;
      setTimeout(() => {
        this.pressed = null;
        this.schedule();
      });
    };
    this.body.addEventListener('pointerdown', this.onpress);
    for (const kind of ['pointerup', 'pointercancel']) document.addEventListener(kind, this.onrelease);
    this.resizes = new ResizeObserver((all) => this.resized(all));
    this.views = new ResizeObserver(() => {
      if (this.stuck) this.toEnd();
      this.schedule();
    });
    this.views.observe(scroller);
  }

  destroy() {
    this.resizes.disconnect();
    this.views.disconnect();
    this.scroller.removeEventListener('scroll', this.onscroll);
    for (const kind of ['pointerup', 'pointercancel']) document.removeEventListener(kind, this.onrelease);
    cancelAnimationFrame(this.pending);
    this.gone = true;
  }

  /** Where the view is: the item at its top, and how far into it. */
  anchor() {
    if (!this.items.length) return null;
    const top = Math.max(0, this.scroller.scrollTop - this.body.offsetTop);
    const index = this.heights.at(top);
    return { key: this.key(this.items[index]), into: top - this.heights.before(index) };
  }

  atEnd() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 40;
  }

  /** Other items, in their order.  The view stays at the item that it is at. */
  setItems(items) {
    const stay = this.stuck;
    const anchor = stay ? null : this.anchor();
    this.items = items;
    this.index = null;
    const values = new Float64Array(items.length);
    for (let i = 0; i < items.length; i++) values[i] = this.measured.get(this.key(items[i])) ?? this.estimate(items[i]);
    this.heights = new Heights(values);
    this.resize();
    if (stay) this.toEnd();
    else if (anchor) this.restore(anchor);
    this.draw();
  }

  restore(anchor) {
    const index = this.indexOf(anchor.key);
    if (index < 0) return;
    this.scroller.scrollTop = this.body.offsetTop + this.heights.before(index) + anchor.into;
  }

  indexOf(key) {
    if (!this.index) {
      this.index = new Map();
      this.items.forEach((item, i) => this.index.set(this.key(item), i));
    }
    return this.index.get(key) ?? -1;
  }

  resize() {
    this.body.style.height = `${this.heights.total()}px`;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  schedule() {
    if (!this.pending && !this.gone) this.pending = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    if (this.gone) return;
    const top = this.scroller.scrollTop - this.body.offsetTop;
    const bottom = top + this.scroller.clientHeight;
    const first = this.heights.at(Math.max(0, top - BESIDE));
    const wanted = new Map();
    let place = this.heights.before(first);
    for (let i = first; i < this.items.length && place < bottom + BESIDE; i++) {
      wanted.set(this.key(this.items[i]), { index: i, place });
      place += this.heights.values[i];
    }
    this.drop(wanted);
    const fresh = [];
    for (const [key, at] of wanted) this.show(key, at, fresh);
    this.order(wanted);
    if (fresh.length) this.measure(fresh);
    this.edges(top, bottom);
  }

  drop(wanted) {
    for (const [key, it] of this.shown) {
      const at = wanted.get(key);
      const keep = at && (key === this.pressed || this.version(this.items[at.index]) === it.version);
      if (keep) continue;
      const focused = it.element.contains(document.activeElement);
      if (focused && at) this.refocus = key;
      if (focused && !at) continue; // who holds the keyboard stays until it moves on
      this.resizes.unobserve(it.element);
      it.element.remove();
      this.shown.delete(key);
    }
  }

  show(key, { index, place }, fresh) {
    let it = this.shown.get(key);
    if (!it) {
      const item = this.items[index];
      it = { element: this.render(item, index), version: this.version(item) };
      it.element.setAttribute('role', 'listitem');
      it.element.dataset.key = key;
      this.shown.set(key, it);
      fresh.push(key);
    }
    it.element.setAttribute('aria-setsize', this.items.length);
    it.element.setAttribute('aria-posinset', index + 1);
    it.element.style.transform = `translateY(${Math.round(place)}px)`;
  }

  /** In the page they stand in the order of the list: so the Tab key and those who listen meet them. */
  order(wanted) {
    let at = this.body.firstElementChild;
    for (const key of wanted.keys()) {
      const { element } = this.shown.get(key);
      while (at && !wanted.has(at.dataset.key)) at = at.nextElementSibling;
      if (element === at) {
        at = at.nextElementSibling;
        continue;
      }
      if (this.pressed !== null && element.isConnected) continue;
      const focused = element.contains(document.activeElement) ? document.activeElement : null;
      this.body.insertBefore(element, at);
      focused?.focus({ preventScroll: true }); // who is moved loses the keyboard
    }
    if (wanted.has(this.refocus)) {
      this.shown.get(this.refocus).element.focus({ preventScroll: true });
      this.refocus = null;
    }
  }

  measure(keys) {
    const found = keys.map((key) => [key, this.shown.get(key).element.offsetHeight]);
    this.take(found);
    for (const key of keys) this.resizes.observe(this.shown.get(key).element);
  }

  resized(entries) {
    const found = [];
    for (const entry of entries) if (entry.target.isConnected) found.push([entry.target.dataset.key, entry.target.offsetHeight]);
    if (!this.gone) this.take(found);
  }

  /** Heights as they turned out to be. */
  take(found) {
    const stay = this.stuck;
    const anchor = this.anchor();
    let changed = false;
    for (const [key, height] of found) {
      const index = this.shown.has(key) ? this.indexOf(key) : -1;
      if (index < 0 || !height) continue;
      this.measured.set(key, height);
      if (Math.abs(this.heights.values[index] - height) < 0.5) continue;
      this.heights.set(index, height);
      changed = true;
    }
    if (!changed) return;
    this.resize();
    if (stay) this.toEnd();
    else if (anchor) this.restore(anchor);
    this.schedule();
  }

  edges(top, bottom) {
    if (!this.onEdge || !this.items.length) return;
    if (top < 1500) this.onEdge('start');
    if (bottom > this.heights.total() - 1500) this.onEdge('end');
  }

  /** The heights that were measured are none any more: the width changed. */
  forget() {
    this.measured.clear();
  }

  scrollTo(index, where = 'center') {
    if (index < 0 || index >= this.items.length) return;
    const room = where === 'center' ? Math.max(0, (this.scroller.clientHeight - this.heights.values[index]) / 2) : 8;
    this.scroller.scrollTop = this.body.offsetTop + this.heights.before(index) - room;
    this.draw();
  }

  /** The keyboard goes to this item. */
  focus(index) {
    if (index < 0 || index >= this.items.length) return;
    const key = this.key(this.items[index]);
    const top = this.scroller.scrollTop - this.body.offsetTop;
    const place = this.heights.before(index);
    if (place < top || place + this.heights.values[index] > top + this.scroller.clientHeight) this.scrollTo(index, 'start');
    this.shown.get(key)?.element.focus({ preventScroll: true });
  }

  /** Index of the item that has the keyboard; -1: none. */
  focused() {
    const element = document.activeElement?.closest?.('[role="listitem"]');
    if (!element || !this.body.contains(element)) return -1;
    return this.indexOf(element.dataset.key);
  }
}
