// SPDX-License-Identifier: Apache-2.0
// replay.js - a session again, step by step, from its log.  Nothing is done again.
//
// A step is an entry of the timeline.  The stage shows the screen before it, with the points of its action, and after it.
import { h, s, fill, announce, button, icon, iconButton } from './dom.js';
import { clock, date, duration, oneLine, plural } from './format.js';
import { Fold, marks } from './fold.js';
import { entry } from './entries.js';
import { openPicture, picture } from './picture.js';
import { VirtualList } from './virtual.js';

const CHUNK = 1000;
const EVENTS_MAX = 60000;
const THUMB = 112; // width of one in the film strip, with its gap
const PAUSE_MAX_MS = 2500; // between two steps, however long it was

/** All events of a session as a fold, in pieces; `progress(done, of)`. */
export async function readWhole(source, progress, signal) {
  const row = await source.row(signal);
  const fold = new Fold();
  const last = Math.min(row.head_seq ?? 0, EVENTS_MAX);
  for (let from = 1; from <= last; from += CHUNK) {
    const to = Math.min(last, from + CHUNK - 1);
    for (const event of await source.range(from, to, signal)) fold.add(event);
    progress?.(to, last);
    await new Promise((resolve) => { setTimeout(resolve, 0); });
  }
  return { row, fold, cut: (row.head_seq ?? 0) > EVENTS_MAX };
}

const colour = (e) => (e.type === 'call' ? (['failed', 'unknown', 'parked', 'refused'].includes(e.state) ? 'bad' : 'call')
  : e.type === 'message' ? 'said' : e.type === 'turn' ? (e.state === 'failed' ? 'bad' : 'turn') : e.bad ? 'bad' : e.type === 'final' ? 'good' : 'other');

/** The pictures of a session in their order: {index: of the entry, shot}. */
export function shotsOf(entries) {
  const shots = [];
  entries.forEach((e, index) => {
    for (const shot of e.result?.pictures ?? e.pictures ?? []) shots.push({ index, shot });
  });
  return shots;
}

function lastAt(shots, index) {
  let low = 0;
  let high = shots.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (shots[mid].index <= index) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}

class Replay {
  constructor(root, source, options) {
    Object.assign(this, { root, source, options });
    this.abort = new AbortController();
    this.at = 0;
    this.from = 0;
    this.to = 0;
    this.playing = false;
    this.speed = 4;
    this.begin();
  }

  async begin() {
    const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Reads the log' });
    fill(this.root, h('main', { class: 'centered' }, h('div', { class: 'card' }, h('p', null, 'Reads the log…'), bar)));
    let whole;
    try {
      whole = await readWhole(this.source, (done, of) => { bar.max = of; bar.value = done; }, this.abort.signal);
    } catch (error) {
      if (!this.ended) this.options.fail(error, this.source.id);
      return;
    }
    if (this.ended) return;
    this.row = whole.row;
    this.fold = whole.fold;
    this.steps = this.fold.entries;
    this.to = Math.max(0, this.steps.length - 1);
    this.shots = shotsOf(this.steps);
    this.build(whole.cut);
    const wanted = this.options.at ? this.steps.findLastIndex((e) => e.seq <= this.options.at) : 0;
    this.go(Math.max(0, wanted), true);
  }

  build(cutOff) {
    this.stage = h('div', { class: 'stage' });
    this.caption = h('p', { class: 'caption', dir: 'auto' });
    this.slider = h('input', { type: 'range', min: 0, max: Math.max(0, this.steps.length - 1), value: 0, step: 1, 'aria-label': 'Step' });
    this.slider.addEventListener('input', () => { this.stop(); this.go(Number(this.slider.value)); });
    this.playButton = iconButton('play', 'Play', { onclick: () => (this.playing ? this.stop() : this.play()) });
    this.place = h('span', { class: 'place muted' });
    const speed = h('select', { 'aria-label': 'Speed', onchange: () => { this.speed = Number(speed.value); } },
      [1, 2, 4, 10, 50].map((n) => h('option', { value: n, selected: n === 4 }, `${n}×`)));
    this.rangeText = h('span', { class: 'muted' });
    const fork = this.options.fork ? button('Fork here', { onclick: () => this.options.fork(this.fold, this.steps[this.at]) }, 'fork') : null;
    this.film = h('div', { class: 'film', role: 'group', 'aria-label': 'Pictures', tabindex: '-1' });
    this.filmBody = h('div', { class: 'film-body' });
    this.film.append(this.filmBody);
    this.film.addEventListener('scroll', () => this.drawFilm(), { passive: true });
    this.track = this.overview();
    this.scroller = h('div', { class: 'scroller', tabindex: '-1' });
    fill(this.root, h('main', { class: 'replay' },
      h('header', { class: 'session-head' }, this.options.back ? h('a', { href: this.options.back, class: 'back', 'aria-label': 'Back to the session' }, icon('back')) : null,
        h('div', { class: 'heading' }, h('h1', { dir: 'auto' }, oneLine(this.row.title || this.source.id, 140)),
          h('p', { class: 'meta' }, h('span', null, this.options.live ? 'Replay: nothing is done again' : 'A recording: nothing is done again'),
            h('span', null, date(this.row.created_ms ?? this.steps[0]?.ts ?? 0)), h('span', null, plural(this.row.head_seq ?? 0, 'event')),
            cutOff ? h('span', null, `the first ${EVENTS_MAX} are shown`) : null)),
        h('div', { class: 'controls' }, fork)),
      h('div', { class: 'replay-body' },
        h('section', { class: 'theatre', 'aria-label': 'Screen' }, this.stage, this.caption,
          h('div', { class: 'transport' }, iconButton('back', 'Step back', { onclick: () => { this.stop(); this.go(this.at - 1); } }), this.playButton,
            iconButton('back', 'Step on', { class: 'turned', onclick: () => { this.stop(); this.go(this.at + 1); } }), this.slider, speed, this.place),
          this.track,
          h('div', { class: 'row range' }, button('From here', { onclick: () => this.range(this.at, Math.max(this.at, this.to)) }), button('Up to here', { onclick: () => this.range(Math.min(this.from, this.at), this.at) }),
            button('All', { onclick: () => this.range(0, this.steps.length - 1) }), this.rangeText),
          this.shots.length ? this.film : null),
        h('section', { class: 'timeline', 'aria-label': 'Timeline' }, this.scroller))));
    const ctx = { source: this.source, screen: () => this.fold.screen };
    this.list = new VirtualList(this.scroller, {
      label: 'Timeline', key: (e) => e.id, version: (e) => `${e.rev} ${e === this.steps[this.at]}`,
      estimate: (e) => (e.type === 'call' ? 150 : 80),
      render: (e) => {
        const element = entry(e, ctx);
        if (e === this.steps[this.at]) {
          element.classList.add('current');
          element.setAttribute('aria-current', 'step');
        }
        element.addEventListener('click', (ev) => {
          if (!ev.target.closest('button, a, details, pre')) { this.stop(); this.go(this.steps.indexOf(e), false, true); }
        });
        return element;
      },
    });
    this.onkey = (e) => this.key(e);
    document.addEventListener('keydown', this.onkey);
    this.range(0, this.steps.length - 1);
  }

  /** All steps as a band, each in its place in time; a drag chooses a range. */
  overview() {
    const w = 1000;
    const times = this.steps.map((e) => e.ts);
    const t0 = times[0] ?? 0;
    const t1 = Math.max(t0 + 1, times.at(-1) ?? 1);
    // Half by time and half by number, so that a long wait does not hide all else.
    this.x = this.steps.map((e, i) => w * (0.5 * ((e.ts - t0) / (t1 - t0)) + 0.5 * (i / Math.max(1, this.steps.length - 1))));
    const groups = {};
    this.steps.forEach((e, i) => { (groups[colour(e)] ??= []).push(`M${this.x[i].toFixed(1)} ${e.type === 'call' ? 4 : 14}V34`); });
    this.window = s('rect', { class: 'window', y: 0, height: 38, x: 0, width: w });
    this.needle = s('line', { class: 'needle', y1: 0, y2: 38, x1: 0, x2: 0 });
    const svg = s('svg', { class: 'overview', viewBox: `0 0 ${w} 38`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      this.window, Object.entries(groups).map(([k, d]) => s('path', { class: k, d: d.slice(0, 20000).join('') })), this.needle);
    let begun = null;
    const stepAt = (e) => {
      const r = svg.getBoundingClientRect();
      const x = Math.max(0, Math.min(w, ((e.clientX - r.left) / r.width) * w));
      let best = 0;
      for (let i = 0; i < this.x.length; i++) if (Math.abs(this.x[i] - x) < Math.abs(this.x[best] - x)) best = i;
      return best;
    };
    svg.addEventListener('pointerdown', (e) => { begun = stepAt(e); svg.setPointerCapture(e.pointerId); });
    svg.addEventListener('pointermove', (e) => {
      if (begun === null) return;
      const now = stepAt(e);
      if (now !== begun) this.range(Math.min(begun, now), Math.max(begun, now));
    });
    svg.addEventListener('pointerup', (e) => {
      const now = stepAt(e);
      if (begun === now) { this.stop(); this.go(now); }
      begun = null;
    });
    return svg;
  }

  range(from, to) {
    this.from = Math.max(0, from);
    this.to = Math.min(this.steps.length - 1, to);
    const some = this.steps.slice(this.from, this.to + 1);
    this.list.setItems(some);
    if (some.length) {
      this.rangeText.textContent = some.length === this.steps.length ? plural(some.length, 'step')
        : `${plural(some.length, 'step')}, ${clock(some[0].ts)} to ${clock(some.at(-1).ts)}`;
      this.window.setAttribute('x', this.x[this.from]);
      this.window.setAttribute('width', Math.max(2, this.x[this.to] - this.x[this.from]));
    }
    if (this.at < this.from || this.at > this.to) this.go(this.from);
  }

  go(index, first = false, keepList = false) {
    if (!this.steps.length) { fill(this.stage, h('p', { class: 'muted' }, 'Its log has no step.')); return; }
    index = Math.max(this.from, Math.min(this.to, index));
    if (index === this.at && !first && this.drawn) return;
    this.at = index;
    this.drawn = true;
    const e = this.steps[index];
    this.slider.value = String(index);
    this.slider.setAttribute('aria-valuetext', `Step ${index + 1} of ${this.steps.length}: ${this.words(e)}`);
    this.place.textContent = `${index + 1} / ${this.steps.length} · ${clock(e.ts)}`;
    this.caption.textContent = this.words(e);
    this.needle.setAttribute('x1', this.x[index]);
    this.needle.setAttribute('x2', this.x[index]);
    this.showStage(e, index);
    if (!keepList) this.list.scrollTo(index - this.from);
    this.list.draw();
    const shot = lastAt(this.shots, index);
    if (this.shots.length && shot !== this.currentShot) {
      this.currentShot = shot;
      this.film.scrollLeft = Math.max(0, shot * THUMB - this.film.clientWidth / 2 + THUMB / 2);
      this.drawFilm(true);
    }
    this.options.moved?.(e.seq);
  }

  words(e) {
    if (e.type === 'call') return `${e.line}${e.elapsed ? ` (${duration(e.elapsed)})` : ''}`;
    if (e.type === 'turn') return e.parts.map((p) => oneLine(p.text, 240)).join(' ') || `asks ${oneLine(e.model ?? 'the model', 60)}`;
    return oneLine(e.text || e.title || e.type, 240);
  }

  showStage(e, index) {
    const points = e.type === 'call' ? marks(e.args) : [];
    const after = lastAt(this.shots, index);
    const own = after >= 0 && this.shots[after].index === index;
    const before = own ? lastAt(this.shots, index - 1) : -1;
    const one = (shot, label, m) => h('div', { class: 'side-shot' }, h('span', { class: 'label muted' }, label),
      h('button', { type: 'button', class: 'shot-button', 'aria-label': `${label}; opens it in full size`, onclick: () => openPicture(this.source, shot, { marks: m, screen: this.fold.screen, alt: label }) },
        picture(this.source, shot, { marks: m, screen: this.fold.screen, alt: '' })));
    const key = `${before} ${after} ${points.length ? index : ''}`;
    if (key === this.stageKey) return;
    this.stageKey = key;
    if (after < 0) { fill(this.stage, h('p', { class: 'muted no-shot' }, 'No picture of the screen up to here.')); return; }
    if (own && before >= 0 && points.length) fill(this.stage, one(this.shots[before].shot, 'Before', points), one(this.shots[after].shot, 'After', points));
    else fill(this.stage, one(this.shots[after].shot, own ? 'After' : 'Screen', points));
    this.stage.classList.toggle('two', own && before >= 0 && points.length > 0);
  }

  drawFilm(force = false) {
    const first = Math.max(0, Math.floor(this.film.scrollLeft / THUMB) - 3);
    const last = Math.min(this.shots.length - 1, Math.ceil((this.film.scrollLeft + this.film.clientWidth) / THUMB) + 3);
    const key = `${first} ${last}`;
    if (key === this.filmKey && !force) return;
    this.filmKey = key;
    this.filmBody.style.width = `${this.shots.length * THUMB}px`;
    const thumbs = [];
    for (let i = first; i <= last; i++) {
      const { index, shot } = this.shots[i];
      const b = h('button', { type: 'button', class: 'thumb', 'aria-label': `Picture ${i + 1} of ${this.shots.length}, step ${index + 1}`, 'aria-current': i === this.currentShot ? 'true' : null, onclick: () => { this.stop(); this.go(index); } },
        h('img', { src: this.source.picture(shot.hash), alt: '', loading: 'lazy', decoding: 'async', width: shot.width, height: shot.height }));
      b.style.transform = `translateX(${i * THUMB}px)`;
      thumbs.push(b);
    }
    fill(this.filmBody, thumbs);
  }

  play() {
    if (this.at >= this.to) this.go(this.from);
    this.playing = true;
    fill(this.playButton, icon('pause'));
    this.playButton.setAttribute('aria-label', 'Pause');
    announce('Plays');
    this.next();
  }

  next() {
    if (!this.playing || this.ended) return;
    if (this.at >= this.to) { this.stop(); return; }
    const gap = this.steps[this.at + 1].ts - this.steps[this.at].ts;
    const wait = Math.max(60, Math.min(PAUSE_MAX_MS, Math.max(gap, 700)) / this.speed);
    this.timer = setTimeout(() => {
      this.go(this.at + 1);
      this.next();
    }, wait);
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    clearTimeout(this.timer);
    fill(this.playButton, icon('play'));
    this.playButton.setAttribute('aria-label', 'Play');
  }

  key(e) {
    if (e.target.closest('input:not([type="range"]), textarea, select, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.closest('input') && e.key.startsWith('Arrow')) return;
    if (e.key === ' ' && !e.target.closest('button, a, summary')) { if (this.playing) this.stop(); else this.play(); }
    else if (e.key === 'ArrowRight' || e.key === 'j') { this.stop(); this.go(this.at + 1); }
    else if (e.key === 'ArrowLeft' || e.key === 'k') { this.stop(); this.go(this.at - 1); }
    else if (e.key === 'Home') this.go(this.from);
    else if (e.key === 'End') this.go(this.to);
    else if (e.key === '[') this.range(this.at, this.to);
    else if (e.key === ']') this.range(this.from, this.at);
    else return;
    e.preventDefault();
  }

  destroy() {
    this.ended = true;
    this.abort.abort();
    this.stop();
    if (this.onkey) document.removeEventListener('keydown', this.onkey);
    this.list?.destroy();
  }
}

/** options: {fail(error, id), fork(fold, entry), back, at, moved(seq), live} */
export function replayView(root, source, options) {
  const view = new Replay(root, source, options);
  return () => view.destroy();
}
