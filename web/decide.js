// SPDX-License-Identifier: Apache-2.0
// decide.js - what waits for a person: a card for each call, made from the log, and all of them in one place.
import { h, fill, announce, button } from './dom.js';
import { ago, duration, moment, oneLine, visible } from './format.js';
import { get } from './api.js';
import { Fold, marks } from './fold.js';
import { classes, exactly } from './entries.js';
import { openPicture, picture } from './picture.js';
import { questionCard } from './question.js';
import { Reader, ServerSource } from './source.js';

/** What waits in all sessions; asked for every few seconds, and told to whoever watches. */
export class Waiting {
  constructor() {
    this.list = [];
    this.watchers = new Set();
    this.timer = 0;
  }

  watch(fn) {
    this.watchers.add(fn);
    fn(this.list);
    return () => this.watchers.delete(fn);
  }

  start() {
    this.stopped = false;
    this.tick();
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  async look() {
    const all = [];
    let after = null;
    for (let pages = 0; pages < 10; pages++) {
      const page = await get(`/api/waiting?limit=100${after ? `&after=${encodeURIComponent(after)}` : ''}`);
      all.push(...page.waiting);
      after = page.next;
      if (!after) break;
    }
    const key = (l) => JSON.stringify(l.map((w) => [w.session_id, w.call_id, w.word]));
    if (key(all) === key(this.list)) return;
    if (all.length > this.list.length) announce(all.length === 1 ? 'One decision waits for you' : `${all.length} decisions wait for you`);
    this.list = all;
    for (const fn of this.watchers) fn(all);
  }

  async tick() {
    clearTimeout(this.timer);
    try {
      if (document.visibilityState === 'visible' || this.list.length === 0) await this.look();
    } catch {
      // The next look comes by itself; what has no answer says so elsewhere.
    }
    if (!this.stopped) this.timer = setTimeout(() => this.tick(), document.visibilityState === 'visible' ? 2500 : 10000);
  }
}

/** The newest picture before this entry: what was on the screen when the call was asked for. */
export function shotBefore(fold, e) {
  for (let i = fold.entries.indexOf(e) - 1; i >= 0; i--) {
    const found = fold.entries[i].result?.pictures?.at(-1) ?? fold.entries[i].pictures?.at(-1);
    if (found) return found;
  }
  return null;
}

/** The name that is only this question's: of its call's event, or of the host that is asked for. */
const exactName = (e) => `${e.call}#${e.asked?.host ? e.asked.seq : e.seq}`;

/** A person's word about a call; where another call had its id before, the event's number is named too. */
export async function decideCall(source, e, what, body) {
  try {
    return await source.act(what, { ...body, call_id: e.call });
  } catch (error) {
    if (error.status !== 400 || String(e.call).includes('#')) throw error;
    return source.act(what, { ...body, call_id: exactName(e) });
  }
}

/** The card of an approval, of an unknown outcome, or of a question.  `done(what)` is called when the server has the word; `title`: a link to the session, or null. */
export function card({ source, fold, e, whole, title = null, done, may = true }) {
  if (e.question && e.state !== 'parked') {
    return questionCard({ e, title, done, may, answer: (text) => decideCall(source, e, 'answer', { answer: text }), refuse: () => decideCall(source, e, 'reject', {}) });
  }
  const points = marks(e.args);
  const before = points.length || Array.isArray(e.args?.actions) ? shotBefore(fold, e) : null;
  const word = h('input', { type: 'text', class: 'word', 'aria-label': 'Why not (told to the model)', placeholder: 'Why not? The model is told.' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  const [className, classText] = classes[e.class] ?? ['', ''];
  let busy = false;

  async function say(what, body, text) {
    if (busy || !may) return;
    busy = true;
    element.classList.add('busy');
    problem.textContent = '';
    try {
      await decideCall(source, e, what, body);
      announce(text);
      done?.(what);
    } catch (error) {
      problem.textContent = error.status === 404 ? 'Somebody decided this already.' : error.status === 403 ? 'Your login may look, and not decide (scope approve).' : `${error.message}.`;
      if (error.status === 404) done?.('gone');
    }
    busy = false;
    element.classList.remove('busy');
  }
  const host = e.state === 'asked' ? e.asked?.host : undefined;
  const approve = () => say('approve', {}, 'Approved');
  const always = () => say('approve', { always: true }, host ? 'Allowed in this session' : 'Approved, and every later call of this tool');
  const reject = () => say('reject', !host && word.value.trim() ? { message: word.value.trim() } : {}, 'Rejected');
  const settle = (outcome) => say('settle', { outcome, ...(word.value.trim() ? { message: word.value.trim() } : {}) }, 'Settled');
  const parked = e.state === 'parked';
  const repeatable = Boolean(host) || (!e.each && e.class !== 'X' && !e.checks);
  const later = host ? `${oneLine(host, 80)} in this session` : `Every later call of ${oneLine(e.tool, 60)} in this session runs without asking`;
  const buttons = parked
    ? [button('It was done', { class: 'primary', onclick: () => settle('done') }), button('It did not start', { onclick: () => settle('not_started') }), button('Nobody knows', { onclick: () => settle('unknown') })]
    : [button(host ? 'For this task' : 'Approve once', { class: 'primary', onclick: approve, 'aria-keyshortcuts': 'a' }, 'check'),
      repeatable ? button('Always', { onclick: always, title: later, 'aria-keyshortcuts': 'Shift+A' }) : null,
      button('Reject', { class: 'danger', onclick: reject, 'aria-keyshortcuts': 'r' }, 'close')];
  if (parked) word.placeholder = 'What you found. The model is told.';
  const element = h('article', { class: 'decide-card card', tabindex: '-1', 'data-call': e.call, 'aria-label': `${parked ? 'Unknown outcome' : 'Approval'}: ${oneLine(e.line, 120)}` },
    h('header', null,
      h('strong', null, parked ? 'What became of this?' : host ? `May it reach ${oneLine(host, 80)}?` : 'May it do this?'), h('span', { class: 'chip plain', title: classText }, className || e.class),
      e.asked ? h('time', { class: 'muted', datetime: new Date(e.asked.ts).toISOString(), title: moment(e.asked.ts) }, ago(e.asked.ts)) : null,
      title),
    h('div', { class: 'tool' }, oneLine(e.tool, 80)),
    whole ?? exactly(e.tool, e.args),
    before ? h('button', { type: 'button', class: 'shot-button', 'aria-label': 'The screen before, with the point marked; opens it in full size', onclick: () => openPicture(source, before, { marks: points, screen: fold.screen, alt: 'The screen before' }) },
      picture(source, before, { marks: points, screen: fold.screen, alt: '' })) : null,
    h('dl', { class: 'reasons' },
      h('dt', null, 'Effect'), h('dd', null, `${className || e.class}: ${classText}`),
      h('dt', null, parked ? 'Known' : 'Asked because'), h('dd', { dir: 'auto' }, visible(parked ? e.result?.text ?? '' : e.asked?.reason ?? e.reason ?? '')),
      repeatable && !parked ? [h('dt', null, '“Always” writes'), host ? h('dd', null, 'this host may be reached in this session') : h('dd', null, 'every later call of ', h('code', null, oneLine(e.tool, 60)), ' in this session is approved')] : null,
      e.asked?.expires ? [h('dt', null, 'Refused'), h('dd', null, `in ${duration(Math.max(0, e.asked.expires - Date.now()))}, if nobody decides`)] : null),
    may ? h('div', { class: 'answers' }, host ? null : word, h('div', { class: 'row' }, buttons)) : h('p', { class: 'muted' }, 'Your login may look, and not decide.'),
    problem);
  element.addEventListener('keydown', (k) => {
    if (k.target === word && k.key === 'Enter' && !parked) { k.preventDefault(); reject(); }
    if (k.target.closest('input, textarea') || k.ctrlKey || k.metaKey || k.altKey || parked) return;
    if (k.key === 'a') approve();
    else if (k.key === 'A' && repeatable) always();
    else if (k.key === 'r') host ? reject() : word.focus();
    else return;
    k.preventDefault();
    k.stopPropagation();
  });
  return element;
}

/** The exact call out of its event, whatever its length: what is approved is what is shown. */
export async function wholeCall(source, e) {
  const event = await source.event(e.seq);
  return h('div', { class: 'asked' }, exactly(e.tool, event?.data?.arguments ?? e.args));
}

async function cardOf(w, onDone, may) {
  const source = new ServerSource(w.session_id);
  const fold = new Fold();
  const reader = new Reader(source, fold, 80);
  await reader.begin();
  const find = () => fold.entries.findLast((x) => x.type === 'call' && ['asked', 'parked'].includes(x.state)
    && (x.call === w.call_id || exactName(x) === w.call_id));
  let e = find();
  while (!e && await reader.older()) e = find();
  if (!e) return null;
  const title = h('a', { class: 'to-session', href: `#/s/${encodeURIComponent(w.session_id)}` }, oneLine(w.title || w.session_id, 80));
  return card({ source, fold, e, whole: await wholeCall(source, e), title, done: onDone, may });
}

/** All that waits, of all sessions. */
export function waitingView(root, { waiting, may }) {
  const list = h('div', { class: 'cards' });
  const note = h('p', { class: 'muted empty', role: 'status' });
  fill(root, h('main', { class: 'page narrow waiting' }, h('div', { class: 'toolbar' }, h('h1', null, 'Waits for you'),
    h('p', { class: 'muted keys' }, h('kbd', null, 'j'), ' ', h('kbd', null, 'k'), ' move, ', h('kbd', null, 'a'), ' approve, ', h('kbd', null, 'Shift A'), ' always, ', h('kbd', null, 'r'), ' reject')),
  note, list));
  const shown = new Map();
  let ended = false;

  function gone(key) {
    const element = shown.get(key);
    shown.delete(key);
    const next = element?.nextElementSibling ?? element?.previousElementSibling;
    const had = element?.contains(document.activeElement);
    element?.remove();
    if (had) next?.focus();
    tell();
  }
  function tell() {
    note.textContent = shown.size ? '' : 'Nothing waits. When an agent asks for an approval, it stands here.';
  }

  const unwatch = waiting.watch((all) => {
    const keys = new Set(all.map((w) => `${w.session_id} ${w.call_id} ${w.word}`));
    for (const key of [...shown.keys()]) if (!keys.has(key)) gone(key);
    for (const w of all.slice(0, 50)) {
      const key = `${w.session_id} ${w.call_id} ${w.word}`;
      if (shown.has(key)) continue;
      const place = h('div', { class: 'card loading' }, 'Reads the log…');
      shown.set(key, place);
      list.append(place);
      cardOf(w, () => { gone(key); waiting.tick(); }, may).then((element) => {
        if (ended || shown.get(key) !== place) return;
        if (!element) { gone(key); return; }
        place.replaceWith(element);
        shown.set(key, element);
        if (shown.size === 1) element.focus({ preventScroll: true });
      }, (error) => {
        place.textContent = `This one cannot be read: ${error.message}.`;
        shown.delete(key);
        setTimeout(() => place.remove(), 5000);
      });
    }
    tell();
  });

  function onkey(e) {
    if (e.target.closest('input, textarea, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = [...list.children];
    const at = all.findIndex((c) => c.contains(document.activeElement));
    if (e.key === 'j') all[Math.min(all.length - 1, at + 1)]?.focus();
    else if (e.key === 'k') all[Math.max(0, at - 1)]?.focus();
    else return;
    e.preventDefault();
  }
  document.addEventListener('keydown', onkey);
  return () => {
    ended = true;
    unwatch();
    document.removeEventListener('keydown', onkey);
  };
}

