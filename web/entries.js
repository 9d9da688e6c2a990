// SPDX-License-Identifier: Apache-2.0
// entries.js - the entries of a timeline as elements.
import { h, fill, icon, button, iconButton, dialog, toast } from './dom.js';
import { action, bytes, capital, clock, cost, count, duration, moment, oneLine, plural, visible } from './format.js';
import { Fold, marks } from './fold.js';
import { picture, openPicture } from './picture.js';
import { badge } from './states.js';

export const classes = {
  L: ['Local', 'changes only the session itself'],
  R: ['Reads', 'only looks; may be done again'],
  K: ['Keyed', 'is known by its number, and done once'],
  V: ['Verifiable', 'can be checked afterwards'],
  W: ['Changes things', 'is done at most once; nothing can check it afterwards'],
  X: ['Irreversible', 'cannot be undone'],
};

export const outcomes = {
  planned: 'Planned', asked: 'Waits for you', approved: 'Approved', rejected: 'Rejected', running: 'Runs', done: 'Done', failed: 'Failed',
  not_started: 'Not started', unknown: 'Unknown', refused: 'Refused', parked: 'Unknown',
};

const LINES = 7; // of text that a box shows without scrolling
const LETTERS = 500;

/** Text of a model, tool or page; where it may be longer than its box, the Tab key leads there, and arrows scroll it. */
function pre(text, className) {
  const long = text.length > LETTERS || text.split('\n', LINES + 1).length > LINES;
  return h('pre', { class: className, dir: 'auto', tabindex: long ? '0' : '-1' }, visible(text));
}

function save(name, text, type = 'text/plain') {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const SHOWN_MAX = 200000;

export function showText(title, text, name) {
  dialog(title, () => [
    text.length > SHOWN_MAX ? h('p', { class: 'muted' }, `The first ${bytes(SHOWN_MAX)} of ${bytes(text.length)}; “Save” has all.`) : null,
    pre(text.slice(0, SHOWN_MAX), 'whole'),
    h('div', { class: 'row end' }, button('Save', { onclick: () => save(name, text) }, 'down')),
  ]).classList.add('wide');
}

function seqs(e) {
  return [...new Set([e.seq, e.answer, e.asked?.seq, e.decided?.seq, e.result?.seq, e.settled?.seq].filter(Boolean))].sort((a, b) => a - b);
}

async function showEvents(ctx, e) {
  try {
    const all = await Promise.all(seqs(e).map((seq) => ctx.source.event(seq)));
    const text = all.filter(Boolean).map((one) => JSON.stringify(one, null, 2)).join('\n\n');
    showText(all.length === 1 ? `Event ${e.seq}` : `Events ${seqs(e).join(', ')}`, text, `${ctx.source.id}-${e.seq}.json`);
  } catch (error) {
    toast(`The event cannot be read: ${error.message}.`, true);
  }
}

/** Where the whole of a text that was cut stands in its event. */
async function showWhole(ctx, seq, pick, title) {
  try {
    const event = await ctx.source.event(seq);
    const found = pick(event);
    showText(title, typeof found === 'string' ? found : textOf(found), `${ctx.source.id}-${seq}.txt`);
  } catch (error) {
    toast(`The event cannot be read: ${error.message}.`, true);
  }
}

function textOf(value) {
  if (Array.isArray(value)) return value.map((p) => (typeof p === 'string' ? p : p?.text ?? p?.refusal ?? (Array.isArray(p?.content) ? textOf(p.content) : ''))).filter(Boolean).join('\n');
  return JSON.stringify(value, null, 2);
}

function text(ctx, part, className, seq, pick) {
  if (!part.text) return null;
  return [pre(part.text, className), part.of ? button(`Show all (${bytes(part.of)})`, { class: 'link', onclick: () => showWhole(ctx, seq, pick, 'Whole text') }) : null];
}

function tools(ctx, e) {
  return h('span', { class: 'entry-tools' },
    ctx.jump ? iconButton('film', 'Replay from here', { onclick: () => ctx.jump(e) }) : null,
    ctx.fork ? iconButton('fork', 'Fork after this', { onclick: () => ctx.fork(e) }) : null,
    iconButton('code', 'Event as JSON', { onclick: () => showEvents(ctx, e) }));
}

function frame(ctx, e, { kind, title, meta = [], body = [], state }) {
  const time = h('time', { datetime: new Date(e.ts).toISOString(), title: moment(e.ts) }, clock(e.ts));
  const element = h('article', { class: `entry ${kind}`, 'data-state': state, tabindex: '-1', 'data-seq': e.seq },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    h('header', null, h('span', { class: 'what', dir: 'auto' }, title),
      h('span', { class: 'facts' }, meta.filter(Boolean).map((m) => h('span', null, m)), time), tools(ctx, e)),
    body);
  return element;
}

/* ---- what was said ---- */

function message(ctx, e) {
  const told = e.source === 'environment'; // of a task in the background, by a judge and the like: no person
  const who = told ? 'Runtime' : e.role === 'user' ? e.name ?? 'Person' : capital(e.role ?? 'somebody');
  return frame(ctx, e, {
    kind: `message ${e.role === 'user' && !told ? 'user' : 'other'}`,
    title: oneLine(who, 60),
    body: [text(ctx, e, 'said', e.seq, (ev) => ev.data.content), e.pictures?.map((p) => shot(ctx, e, p, []))],
  });
}

function turnFacts(e) {
  const u = e.usage;
  return [
    e.elapsed ? duration(e.elapsed) : null,
    u ? `${count(u.input)} in${u.cached ? ` (${count(u.cached)} cached)` : ''}, ${count(u.output)} out` : null,
    e.cost ? cost(e.cost) : null,
  ];
}

function turn(ctx, e) {
  const body = e.parts.map((p) => (p.kind === 'note' ? h('p', { class: 'muted' }, oneLine(p.text))
    : p.kind === 'thought' ? h('details', { class: 'thought', open: p.text.length < 600 ? '' : null }, h('summary', null, 'Thought'), text(ctx, p, 'said', e.answer, (ev) => thoughts(ev.data.items)))
      : text(ctx, p, 'said', e.answer, (ev) => textOf(ev.data.items))));
  if (e.live && e.state === 'asking') {
    if (e.live.reasoning) body.push(h('div', { class: 'thought live' }, pre(e.live.reasoning.slice(-3000), 'said')));
    if (e.live.text) body.push(pre(e.live.text, 'said live'));
    if (e.live.arguments) body.push(h('p', { class: 'muted clip' }, `writes a call: ${oneLine(e.live.arguments.slice(-160), 160)}`));
  }
  if (e.problem) {
    const after = e.problem.retry ? `, is tried again${e.problem.wait ? ` in ${duration(e.problem.wait)}` : ''}` : e.problem.next ? `, goes on with ${oneLine(e.problem.next, 60)}` : '';
    body.push(h('p', { class: 'problem-text' }, `${visible(e.problem.message)} (${oneLine(e.problem.class, 40)}${after})`));
  }
  if (e.state === 'given_up') body.push(h('p', { class: 'muted' }, 'Its answer was not waited for.'));
  if (e.state === 'incomplete') body.push(h('p', { class: 'problem-text' }, `The answer is not whole: ${oneLine(e.reason ?? '', 120)}`));
  const asking = e.state === 'asking';
  return frame(ctx, e, {
    kind: 'turn', state: e.state,
    title: [e.agent ? `${oneLine(e.agent, 40)} · ` : '', e.turn ? `Turn ${e.turn}` : 'Turn', e.attempt > 1 ? `, try ${e.attempt}` : '',
      asking ? h('span', { class: 'busy' }, ` asks ${oneLine(e.model ?? 'the model', 50)}`) : h('span', { class: 'muted' }, ` ${oneLine(e.model ?? '', 50)}`)],
    meta: turnFacts(e),
    body,
  });
}

function thoughts(items) {
  return (items ?? []).filter((i) => i.type === 'reasoning').map((i) => textOf([...(i.summary ?? []), ...(i.content ?? [])])).join('\n\n');
}

/* ---- calls ---- */

function shot(ctx, e, p, points) {
  const screen = ctx.screen?.() ?? null;
  const alt = `Screen ${points.length ? 'with the point of the action' : ''} at ${clock(e.ts)}`;
  return h('button', { type: 'button', class: 'shot-button', 'aria-label': `${alt}; opens it in full size`, onclick: () => openPicture(ctx.source, p, { marks: points, screen, alt }) },
    picture(ctx.source, p, { marks: points, screen, alt: '', shown: 440 }));
}

/** What exactly is asked for. */
export function exactly(tool, args) {
  if (Array.isArray(args?.actions)) {
    return h('ol', { class: 'actions' }, args.actions.map((a) => h('li', { dir: 'auto' }, a && typeof a === 'object' ? action(a) : visible(String(a)))));
  }
  if (args && typeof args === 'object' && typeof args.command === 'string') {
    const rest = Object.entries(args).filter(([k]) => k !== 'command');
    return [pre(args.command, 'command'), rest.length ? pairs(rest) : null];
  }
  if (args && typeof args === 'object') return pairs(Object.entries(args));
  return pre(typeof args === 'string' ? args : JSON.stringify(args), 'command');
}

function pairs(list) {
  return h('dl', { class: 'pairs' }, list.map(([k, v]) => [h('dt', { dir: 'auto' }, visible(k)),
    h('dd', { dir: 'auto' }, pre(typeof v === 'string' ? v : JSON.stringify(v, null, 1), 'value'))]));
}

function evidence(e) {
  if (!e.evidence || typeof e.evidence !== 'object') return null;
  const list = Object.entries(e.evidence);
  return list.length ? h('details', { class: 'evidence', open: ['unknown', 'parked'].includes(e.state) ? '' : null }, h('summary', null, 'Evidence'), pairs(list)) : null;
}

function child(ctx, e) {
  const c = e.child;
  const steps = h('div', { class: 'steps', role: 'group', 'aria-label': 'Steps of that session' });
  const open = button('Show its steps', { class: 'link' });
  open.addEventListener('click', () => nested(ctx, c.id, steps, open));
  return h('div', { class: 'child' },
    h('p', null, badge(c.state ?? 'running'), ' ', h('a', { href: `#/s/${encodeURIComponent(c.id)}` }, oneLine(c.agent ?? c.id, 60)), ' works on this',
      c.turns ? `, ${plural(c.turns, 'turn')}` : '', c.cost ? `, ${cost(c.cost / 1e9)}` : ''),
    c.waits?.length ? h('p', null, h('a', { href: '#/waiting' }, `waits for you: ${oneLine(c.waits[0].line, 100)}`)) : null, open, steps);
}

/** The steps of a session that works for this one, in its place: a tree. */
async function nested(ctx, id, into, open) {
  open.disabled = true;
  try {
    const source = ctx.source.other(id);
    const row = await source.row();
    const fold = new Fold();
    const from = Math.max(1, (row.head_seq ?? 0) - 300);
    for (const event of await source.range(from, row.head_seq ?? 0)) fold.add(event);
    const inner = { ...ctx, source, decide: null, fork: null, jump: null, screen: () => fold.screen };
    fill(into, from > 1 ? h('p', { class: 'muted' }, 'Its last 300 events; its own page has all.') : null, fold.entries.map((e) => entry(e, inner)));
    open.remove();
  } catch (error) {
    open.disabled = false;
    toast(`Its steps cannot be read: ${error.message}.`, true);
  }
}

const unknownText = 'It may or may not have happened. It was not done again.';

function settleForm(ctx, e) {
  const note = h('input', { type: 'text', 'aria-label': 'What you found (told to the model)', placeholder: 'What you found (told to the model)' });
  const go = (outcome) => ctx.settle(e, outcome, note.value);
  return h('div', { class: 'decide' }, note, h('div', { class: 'row' },
    button('It was done', { onclick: () => go('done') }), button('It did not start', { onclick: () => go('not_started') }), button('Nobody knows', { onclick: () => go('unknown') })));
}

function decisionLine(e) {
  const d = e.decided;
  if (!d) return null;
  const what = d.expired ? 'Nobody decided in time, so it is refused' : d.approve && e.question && d.message ? 'Answered' : d.approve ? `Approved${d.always ? ', and every later call of this tool' : ''}` : `Rejected${d.always ? ', and every later call of this tool' : ''}`;
  return h('p', { class: 'decision' }, icon(d.approve ? 'check' : 'close'), `${what}${d.by ? ` by ${oneLine(d.by, 60)}` : ''}`,
    h('span', { class: 'muted' }, ` after ${duration(d.ts - (e.asked?.ts ?? e.ts))}`), d.message ? h('q', { dir: 'auto' }, visible(d.message)) : null);
}

function call(ctx, e) {
  const points = marks(e.args);
  const body = [h('div', { class: 'asked' }, exactly(e.tool, e.args))];
  if (e.reason && e.policy !== 'run') body.push(h('p', { class: 'why' }, visible(e.reason)));
  body.push(decisionLine(e));
  if (e.child) body.push(child(ctx, e));
  if (e.state === 'asked' && ctx.decide) body.push(ctx.decide(e));
  if (['unknown', 'parked'].includes(e.state)) body.push(h('p', { class: 'unknown-text' }, icon('warn'), unknownText, e.looked ? ' What the look afterwards showed is below.' : ''));
  if (e.result) {
    body.push(text(ctx, e.result, 'output', e.result.seq, (ev) => ev.data.output));
    body.push(e.result.pictures.map((p) => shot(ctx, e, p, points)));
  }
  body.push(evidence(e));
  if (e.state === 'parked' && ctx.settle) body.push(settleForm(ctx, e));
  if (e.settled) body.push(h('p', { class: 'decision' }, icon('check'), `Settled as ${outcomes[e.settled.status]?.toLowerCase() ?? e.settled.status}${e.settled.by ? ` by ${oneLine(e.settled.by, 60)}` : ''}`, e.settled.message ? h('q', { dir: 'auto' }, visible(e.settled.message)) : null));
  return frame(ctx, e, {
    kind: 'call', state: e.state,
    title: [h('span', { class: 'tool' }, oneLine(e.tool, 60)), ' ', h('span', { class: 'chip', 'data-state': e.state }, outcomes[e.state] ?? e.state),
      ['X', 'W'].includes(e.class) && e.state !== 'done' ? h('span', { class: 'chip plain', title: classes[e.class][1] }, classes[e.class][0]) : null],
    meta: [e.elapsed ? duration(e.elapsed) : null],
    body,
  });
}

/* ---- the rest ---- */

function begin(ctx, e) {
  return frame(ctx, e, {
    kind: 'note', title: e.title,
    body: [e.parent ? h('p', null, 'It shares the events up to ', String(e.parentSeq), ' of ', h('a', { href: `#/s/${encodeURIComponent(e.parent)}` }, oneLine(e.parent, 60)))
      : h('p', { class: 'muted' }, `${oneLine(e.agent ?? 'agent', 60)} with ${oneLine(e.model ?? 'a model', 60)}`)],
  });
}

function final(ctx, e) {
  return frame(ctx, e, {
    kind: 'final', state: 'finished', title: e.status === 'refused' ? 'Refused' : 'Finished',
    body: [e.instead ? h('p', { class: 'muted' }, `Said by the agent file: ${oneLine(e.instead, 60)}`) : null, e.same ? null : text(ctx, e, 'said', e.seq, (ev) => ev.data.output)],
  });
}

function note(ctx, e) {
  return frame(ctx, e, { kind: `${e.type}${e.bad ? ' bad' : ''}`, state: e.state, title: oneLine(e.title, 160), body: [text(ctx, e, 'said small', e.seq, (ev) => ev.data.message ?? ev.data.summary ?? ev.data)] });
}

function input(ctx, e) {
  return frame(ctx, e, {
    kind: `input${e.bad ? ' bad' : ''}`, title: oneLine(e.title, 160), meta: [plural(e.count, 'action')],
    body: [h('ul', { class: 'actions' }, e.lines.map((line) => h('li', { dir: 'auto' }, line))), e.faults.map((f) => h('p', { class: 'problem-text' }, visible(f)))],
  });
}

const kinds = { message, turn, call, begin, final, input };

/** ctx: {source, screen(), decide(e), settle(e, outcome, word), fork(e), jump(e)}; all but source may be missing. */
export function entry(e, ctx) {
  return (kinds[e.type] ?? note)(ctx, e);
}

/** Groups of the filter. */
export const groups = {
  said: ['Messages', (e) => ['message', 'turn', 'final', 'begin'].includes(e.type)],
  calls: ['Calls', (e) => e.type === 'call'],
  decisions: ['Decisions', (e) => e.type === 'call' && Boolean(e.asked || e.decided)],
  problems: ['Problems', (e) => e.bad || e.problem || ['failed', 'unknown', 'parked', 'refused', 'rejected', 'not_started'].includes(e.state) || (e.type === 'state' && e.state !== 'running')],
};

/** Whether a text stands in what an entry shows. */
export function hasText(e, needle) {
  const parts = [e.title, e.text, e.line, e.result?.text, e.reason, e.tool, ...(e.parts ?? []).map((p) => p.text)];
  return parts.some((p) => p && p.toLowerCase().includes(needle));
}
