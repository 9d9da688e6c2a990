// SPDX-License-Identifier: Apache-2.0
// fold.js - events become entries: what a person sees as one thing (a call with its approval and outcome, a turn with its
// answer) is one entry.  Pure.
//
// A session may be read from its end: prepend() takes older events.  What is about a call that is not read yet waits for it.
// Entries keep little: long texts are cut, and the whole event is asked for by its number.
import { action, visible } from './format.js';
import { callLine } from './states.js';

const TEXT_MAX = 5000;
const LIVE_MAX = 100000;
const LINES_MAX = 40; // of what a person did without a pause

/** {text, of}: `of` is the whole length where it was cut. */
export function cut(text, max = TEXT_MAX) {
  const whole = typeof text === 'string' ? text : text === undefined || text === null ? '' : JSON.stringify(text, null, 2);
  return whole.length > max ? { text: whole.slice(0, max), of: whole.length } : { text: whole };
}

/** The value with long texts in it cut, and not too much of it. */
function lighten(value, budget = { left: 200 }, depth = 0) {
  if (typeof value === 'string') return value.length > 2000 ? `${value.slice(0, 2000)}… (${value.length} characters)` : value;
  if (!value || typeof value !== 'object') return value;
  if (depth > 8 || budget.left <= 0) return '…';
  if (Array.isArray(value)) return value.slice(0, 100).map((v) => (budget.left--, lighten(v, budget, depth + 1)));
  const out = {};
  for (const [k, v] of Object.entries(value).slice(0, 100)) {
    budget.left--;
    out[k.slice(0, 200)] = lighten(v, budget, depth + 1);
  }
  return out;
}

/** {text, pictures} of what is a text, or a list of parts. */
export function content(value) {
  if (typeof value === 'string' || value === null || value === undefined) return { ...cut(value ?? ''), pictures: [] };
  if (!Array.isArray(value)) return { ...cut(value), pictures: [] };
  const texts = [];
  const pictures = [];
  for (const part of value) {
    if (typeof part === 'string') texts.push(part);
    else if (part && typeof part.blob === 'string') pictures.push({ hash: part.blob, width: part.width, height: part.height, type: part.media_type });
    else if (part && typeof part.text === 'string') texts.push(part.text);
    else if (part && typeof part.refusal === 'string') texts.push(part.refusal);
    else if (part && /image/.test(part.type ?? '')) texts.push('(a picture)');
    else if (part) texts.push(JSON.stringify(part));
  }
  return { ...cut(texts.join('\n')), pictures };
}

function answerParts(items) {
  const parts = [];
  for (const item of Array.isArray(items) ? items : []) {
    if (!item || typeof item !== 'object') continue;
    if (item.type === 'message') parts.push({ kind: 'text', ...content(item.content) });
    else if (item.type === 'reasoning') {
      const all = [...(Array.isArray(item.summary) ? item.summary : []), ...(Array.isArray(item.content) ? item.content : [])];
      const text = all.map((p) => p?.text ?? '').filter(Boolean).join('\n\n');
      if (text) parts.push({ kind: 'thought', ...cut(text) });
    } else if (!/call$/.test(item.type ?? '') || /^(web_search|file_search|code_interpreter|image_generation)/.test(item.type)) {
      parts.push({ kind: 'note', text: String(item.type).replace(/_/g, ' ') });
    }
  }
  return parts.filter((p) => p.text || p.pictures?.length);
}

const number = (v) => (Number.isFinite(v) ? v : 0);

function usageOf(u) {
  if (!u || typeof u !== 'object') return null;
  return { input: number(u.input), cached: number(u.cached), written: number(u.written), output: number(u.output), reasoning: number(u.reasoning) };
}

// What an event that is no part of a call or turn says, in one line, and of which sort it is.
const plain = {
  session_created: (d) => ({ type: 'begin', agent: d.agent?.name, model: d.model, title: 'The session begins' }),
  session_forked: (d) => ({ type: 'begin', title: 'A fork begins', parent: d.parent, parentSeq: d.seq }),
  message: (d) => ({ type: 'message', role: d.role, name: d.name, ...content(d.content) }),
  guardrail: (d) => ({ type: 'guardrail', bad: d.tripped === true || Boolean(d.info?.failed), title: `Guardrail ${d.name} ${d.tripped ? 'stopped' : d.info?.failed ? 'failed at' : 'looked at'} ${String(d.stage).replace(/_/g, ' ')}`, ...cut(d.message ?? d.info?.failed ?? '') }),
  handoff: (d) => ({ type: 'handoff', title: `${d.from} hands over to ${d.to}`, ...cut(d.arguments ? JSON.stringify(d.arguments) : '') }),
  code: (d) => ({ type: 'note', bad: Boolean(d.failed), title: `${d.name} answered (${String(d.use).replace(/_/g, ' ')})`, ...cut(d.failed ?? '') }),
  items_added: (d) => ({ type: 'note', title: `${d.items?.length ?? 0} items were put into its history` }),
  items_removed: (d) => ({ type: 'note', title: d.count ? `The newest ${d.count} items were taken out of its history` : 'All items were taken out of its history' }),
  condensation: (d) => ({ type: 'note', title: `Events ${d.first_seq} to ${d.last_seq} are shortened for the model`, ...cut(d.summary ?? '') }),
  state_changed: (d) => ({ type: 'state', state: d.to, title: ({ paused: 'Paused', scheduled: 'Begins later', stopped: 'Stopped', running: 'Goes on', stuck: 'Stuck', limit: 'At a limit' })[d.to] ?? `Now ${d.to}`, ...cut(d.reason ?? '') }),
  budget: (d) => ({ type: 'note', title: d.by ? `${d.by} gave it more` : 'Its limits were changed', ...cut(JSON.stringify({ ...d.limits, ...(d.turns ? { turns_more: d.turns } : {}), ...(d.seconds ? { seconds_more: d.seconds } : {}) })) }),
  plan: (d) => ({ type: 'note', title: d.on ? 'Plan mode: nothing is changed' : `${d.by || 'A person'} ended plan mode` }),
  goal: (d) => ({ type: 'note', title: d.goal ? `${d.by || 'A person'} gave it a goal: at most ${number(d.rounds)} verdicts` : `${d.by || 'A person'} ended its goal`, ...cut(d.goal ?? '') }),
  verdict: (d) => ({ type: 'note', title: d.failed ? 'No verdict' : d.complete ? `Judged to be done (${d.score})` : `Judged not to be done (${d.score})`, ...cut(d.failed ?? [].concat(d.missing ?? []).map(String).join('\n')) }),
  sampled: (d) => ({ type: 'note', title: d.failed ? 'The model gave a server no answer' : 'The model answered a server of tools', ...cut(d.failed ?? String(d.answer?.content?.text ?? '')) }),
  server_task: (d) => ({ type: 'note', title: 'A server does a call as a task', ...cut(d.task) }),
  error: (d) => ({ type: 'error', bad: true, title: `Failed: ${d.class}`, ...cut(d.message) }),
  control: (d) => ({ type: 'control', title: d.taken ? `${d.by ?? 'A person'} took over the desktop` : `${d.by ?? 'The person'} gave the desktop back`, ...cut(d.note || d.reason || '') }),
  final: (d) => ({ type: 'final', status: d.status, instead: d.instead_of, ...cut(d.output) }),
};

// What an event does to the entry of its call.
const onCall = {
  approval_requested(c, d, e) {
    c.state = 'asked';
    c.asked = { seq: e.seq, ts: e.ts_ms, reason: d.reason, expires: d.expires_ms, host: d.host ? `${d.host}:${number(d.port)}` : undefined };
  },
  approval_decided(c, d, e) {
    if (d.host) { // the call runs on
      c.state = 'running';
      c.asked = undefined;
      return;
    }
    c.decided = { seq: e.seq, ts: e.ts_ms, approve: d.approve, always: d.always, by: d.by, message: d.message, expired: d.expired };
    c.state = d.approve ? 'approved' : 'rejected';
  },
  question(c, d) {
    c.question = true;
    c.args = lighten(d.arguments);
  },
  intent(c, d, e) {
    c.state = 'running';
    c.started = e.ts_ms;
  },
  outcome(c, d, e) {
    c.state = d.status;
    c.result = { seq: e.seq, ts: e.ts_ms, ...content(d.output) };
    c.elapsed = number(d.elapsed_ms);
    c.evidence = lighten(d.evidence);
    c.looked = Boolean(d.observation);
  },
  parked(c, d, e) {
    c.state = 'parked';
    c.result = { seq: e.seq, ts: e.ts_ms, ...content(d.output) };
    c.elapsed = number(d.elapsed_ms);
    c.evidence = lighten(d.evidence);
    c.looked = Boolean(d.observation);
  },
  settled(c, d, e) {
    c.settled = { seq: e.seq, ts: e.ts_ms, status: d.status, by: d.by, message: d.message };
    if (c.state === 'parked') c.state = d.status;
  },
  delegation_started(c, d) {
    c.child = { id: d.child, agent: d.agent, state: 'running', waits: [] };
    c.state = 'running';
  },
  delegation_waits(c, d) {
    c.child ??= { id: d.child, waits: [] };
    c.child.waits = Array.isArray(d.waits) ? d.waits.slice(0, 20).map((w) => ({ session: w.session, call: w.call_id, line: callLine(w.tool, w.arguments) })) : [];
    c.child.state = c.child.waits.length ? 'waiting' : 'running';
  },
  delegation_finished(c, d) {
    c.child ??= { id: d.child, waits: [] };
    Object.assign(c.child, { state: d.state, turns: d.turns, cost: number(d.cost_nano), waits: [] });
  },
};

/** Whether the last turn before this entry said the very same: a final output that needs not be shown again. */
function said(entries, index) {
  let i = index - 1;
  while (i >= 0 && entries[i].type !== 'turn') i--;
  return i >= 0 && entries[i].parts.some((p) => p.kind === 'text' && p.text === entries[index].text);
}

/** One more action of a person; moves and releases say nothing new, and keys are put together. */
function addLine(lines, a) {
  if (['move', 'mouse_up', 'key_up'].includes(a.type)) return;
  const key = a.key ?? a.keys?.[0];
  if (a.type !== 'key_down' || typeof key !== 'string') lines.push(action(a).slice(0, 200));
  else if (lines.at(-1)?.startsWith('Keys ') && lines.at(-1).length < 200) lines.push(`${lines.pop()} ${visible(key)}`);
  else lines.push(`Keys ${visible(key)}`);
}

function joinLines(before, after) {
  if (!before.at(-1)?.startsWith('Keys ') || !after[0]?.startsWith('Keys ') || before.at(-1).length >= 200) return before.concat(after);
  return [...before.slice(0, -1), before.at(-1) + after[0].slice(4), ...after.slice(1)];
}

function giveUp(turn) {
  turn.state = 'given_up';
  turn.live = null;
  turn.rev++;
}

export class Fold {
  constructor() {
    this.entries = [];
    this.calls = new Map();
    this.orphans = [];
    this.inputs = new Map();
    this.lateInputs = [];
    this.open = null; // the turn that has no answer yet
    this.headless = null; // an answer whose request is not read yet
    this.started = null; // the beginning of such an answer
    this.first = null; // what comes first here for a turn that began before: it 'answers' it, or 'closes' it
    this.screen = null;
    this.count = 0;
  }

  put(event, fields) {
    const entry = { id: `e${event.seq}`, seq: event.seq, last: event.seq, ts: event.ts_ms, source: event.source, rev: 0, ...fields };
    this.entries.push(entry);
    return entry;
  }

  touch(entry, event) {
    entry.rev++;
    entry.last = Math.max(entry.last, event.seq);
    return entry;
  }

  /** One event more; the entry that it made or changed, or null. */
  add(event) {
    const d = event.data && typeof event.data === 'object' ? event.data : {};
    this.count++;
    if (event.kind === 'session_created') {
      const c = d.agent?.computer;
      if (c?.width && c?.height) this.screen = { width: c.width, height: c.height };
      this.limits = d.agent?.limits ?? null;
      this.agentName = d.agent?.name;
      this.rules = d.agent?.approve;
    }
    if (event.kind === 'budget') this.limits = { ...this.limits, ...d.limits };
    if (event.kind === 'plan') this.plan = d.on === true;
    if (event.kind.startsWith('model_')) return this.model(event, d);
    if (event.kind === 'call') return this.call(event, d);
    if (event.kind === 'input') return this.input(event, d);
    if (event.kind === 'input_done') return this.inputDone(event, d);
    if (onCall[event.kind]) return this.about(event, d);
    const make = plain[event.kind] ?? (() => ({ type: 'note', title: String(event.kind).replace(/_/g, ' ') }));
    const entry = this.put(event, make(d));
    if (entry.type === 'final') {
      entry.same = said(this.entries, this.entries.length - 1);
    }
    if (['error', 'state', 'final'].includes(entry.type)) this.close();
    return entry;
  }

  /** A turn that waits for its answer gets none any more. */
  close() {
    this.first ??= 'closes';
    if (this.open) giveUp(this.open);
    this.open = null;
  }

  model(event, d) {
    if (event.kind === 'model_requested') {
      this.close();
      this.open = this.put(event, { type: 'turn', state: 'asking', turn: d.turn, attempt: d.attempt, model: d.model, agent: d.agent, parts: [], live: null });
      return this.open;
    }
    if (event.kind === 'model_started') {
      if (this.open) return this.touch(this.open, event);
      if (!this.first) this.started = event;
      return null;
    }
    let turn = this.open;
    if (!turn) {
      turn = this.put(event, { type: 'turn', state: 'asking', parts: [], live: null, model: d.model });
      if (!this.first) this.headless = turn;
      this.first ??= 'answers';
    }
    turn.live = null;
    this.open = null;
    turn.ended = event.ts_ms;
    turn.answer = event.seq;
    if (event.kind === 'model_failed') {
      turn.state = 'failed';
      turn.problem = { class: d.class, message: cut(d.message, 1000).text, retry: d.retry, wait: d.retry_in_ms, next: d.next };
      turn.usage = usageOf(d.usage);
    } else {
      turn.state = d.status === 'incomplete' ? 'incomplete' : 'answered';
      turn.reason = d.reason;
      turn.model = d.model ?? turn.model;
      turn.parts = answerParts(d.items);
      turn.usage = usageOf(d.usage);
      turn.cost = Number.isFinite(d.cost_nano) ? d.cost_nano / 1e9 : null;
      turn.elapsed = number(d.elapsed_ms);
    }
    return this.touch(turn, event);
  }

  call(event, d) {
    const entry = this.put(event, {
      type: 'call', call: event.call ?? d.call_id, tool: String(d.tool), args: lighten(d.arguments), class: d.class, policy: d.policy, reason: d.reason,
      each: d.each, question: d.question === true, unknownTool: d.unknown, checks: lighten(d.safety_checks), state: d.policy === 'refuse' ? 'refused' : 'planned', digest: d.digest,
    });
    entry.line = callLine(entry.tool, entry.args);
    this.calls.set(entry.call, entry);
    return entry;
  }

  /** What a person did on the desktop; all that follows one another is one entry. */
  input(event, d) {
    const typed = d.tool !== 'computer';
    const title = `${d.by ?? 'The person'} ${typed ? 'typed in the terminal' : 'acted on the desktop'}`;
    const actions = (Array.isArray(d.arguments?.actions) ? d.arguments.actions : []).filter((a) => a && typeof a === 'object');
    const last = this.entries.at(-1);
    const entry = last?.type === 'input' && last.title === title ? this.touch(last, event)
      : this.put(event, { type: 'input', by: d.by, title, lines: [], count: 0, faults: [] });
    entry.count += typed ? 1 : actions.length;
    if (typed && typeof d.arguments?.command === 'string') entry.lines.push(d.arguments.command.slice(0, 300));
    for (const a of actions) addLine(entry.lines, a);
    entry.lines = entry.lines.slice(-LINES_MAX);
    this.inputs.set(d.effect_id, entry);
    return entry;
  }

  inputDone(event, d) {
    if (d.status === 'done') return null;
    const entry = this.inputs.get(d.effect_id);
    if (!entry) {
      this.lateInputs.push(event);
      return null;
    }
    entry.bad = true;
    entry.faults.push(`${d.status}: ${d.why ?? ''}`.slice(0, 300));
    return this.touch(entry, event);
  }

  about(event, d) {
    const key = event.call ?? d.call_id;
    const entry = this.calls.get(key);
    if (!entry) {
      this.orphans.push({ key, event });
      return null;
    }
    onCall[event.kind](entry, d, event);
    return this.touch(entry, event);
  }

  /** What was done without a pause, and read in two pieces, is one entry again. */
  joinInputs(older, newer) {
    const before = older.entries.at(-1);
    const after = newer[0];
    if (before?.type !== 'input' || after?.type !== 'input' || before.by !== after.by) return;
    Object.assign(after, { seq: before.seq, ts: before.ts, count: before.count + after.count, lines: joinLines(before.lines, after.lines).slice(-LINES_MAX),
      faults: before.faults.concat(after.faults), bad: before.bad || after.bad });
    after.rev++;
    older.entries.pop();
    for (const [key, entry] of this.inputs) if (entry === before) this.inputs.set(key, after);
  }

  /** A piece of the answer that is being made. */
  delta(piece) {
    const turn = this.open;
    if (!turn || typeof piece.text !== 'string') return null;
    turn.live ??= { text: '', reasoning: '', arguments: '' };
    const kind = piece.kind in turn.live ? piece.kind : 'text';
    if (turn.live[kind].length < LIVE_MAX) turn.live[kind] += piece.text;
    turn.rev++;
    return turn;
  }

  /** Events that come before all that are here. */
  prepend(events) {
    const older = new Fold();
    for (const event of events) older.add(event);
    if (older.open && this.started) this.touch(older.open, this.started);
    if (older.open && this.first === 'closes') giveUp(older.open);
    else if (older.open && !this.first) this.open = older.open;
    else if (older.open) {
      this.headless.model ??= older.open.model;
      Object.assign(this.headless, { turn: older.open.turn, attempt: older.open.attempt, agent: older.open.agent, ts: older.open.ts, seq: older.open.seq });
      this.headless.rev++;
      older.entries.splice(older.entries.indexOf(older.open), 1);
    }
    if (older.first) Object.assign(this, { first: older.first, headless: older.headless, started: older.started });
    else this.started ??= older.started;
    for (const [key, entry] of older.calls) if (!this.calls.has(key)) this.calls.set(key, entry);
    const rest = older.orphans;
    for (const { key, event } of this.orphans) {
      const entry = older.calls.get(key);
      if (!entry) rest.push({ key, event });
      else {
        onCall[event.kind](entry, event.data ?? {}, event);
        this.touch(entry, event);
      }
    }
    this.orphans = rest;
    for (const [key, entry] of older.inputs) if (!this.inputs.has(key)) this.inputs.set(key, entry);
    const late = this.lateInputs;
    this.lateInputs = older.lateInputs;
    for (const event of late) this.inputDone(event, event.data ?? {});
    const newer = this.entries;
    this.joinInputs(older, newer);
    this.entries = older.entries.concat(newer);
    const turn = newer.findIndex((e) => e.type === 'turn');
    newer.slice(0, turn < 0 ? newer.length : turn).forEach((e, i) => {
      if (e.type === 'final') e.same = said(this.entries, older.entries.length + i);
    });
    this.screen = older.screen ?? this.screen;
    this.limits = this.limits ?? older.limits;
    this.plan = this.plan ?? older.plan;
    this.agentName ??= older.agentName;
    this.rules ??= older.rules;
    this.count += older.count;
  }
}

/** Points of a call on the screen, in its order: {kind, x, y} or {kind, path}. */
export function marks(args) {
  const out = [];
  for (const a of Array.isArray(args?.actions) ? args.actions : []) {
    if (!a || typeof a !== 'object') continue;
    if (Array.isArray(a.path)) {
      const path = a.path.filter((p) => Number.isFinite(p?.x) && Number.isFinite(p?.y)).slice(0, 200);
      if (path.length > 1) out.push({ kind: 'drag', path });
    } else if (Number.isFinite(a.x) && Number.isFinite(a.y)) out.push({ kind: a.type === 'move' ? 'move' : a.type === 'scroll' ? 'scroll' : 'click', x: a.x, y: a.y });
    else if (a.type === 'zoom' && Array.isArray(a.region) && a.region.length === 4) out.push({ kind: 'region', region: a.region });
  }
  return out.slice(0, 20);
}
