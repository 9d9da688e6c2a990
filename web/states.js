// SPDX-License-Identifier: Apache-2.0
// states.js - the states of a session in words, and what one event says that it does now.
import { h } from './dom.js';
import { action, oneLine } from './format.js';

export const states = {
  loading: 'Loading', idle: 'Idle', running: 'Running', waiting: 'Waits for you', paused: 'Paused', scheduled: 'Begins later', stopped: 'Stopped',
  finished: 'Finished', failed: 'Failed', stuck: 'Stuck', limit: 'At a limit',
};

export const isActive = (state) => ['loading', 'running', 'waiting', 'paused', 'scheduled'].includes(state);

export function badge(state) {
  return h('span', { class: 'badge', 'data-state': state }, states[state] ?? oneLine(state, 40));
}

/** A call in a few words. */
export function callLine(tool, args) {
  if (Array.isArray(args?.actions)) {
    const acts = args.actions.filter((a) => a && typeof a === 'object');
    return acts.length ? acts.slice(0, 3).map((a, i) => (i ? action(a).replace(/^./, (c) => c.toLowerCase()) : action(a))).join(', then ') + (acts.length > 3 ? ` and ${acts.length - 3} more` : '') : 'Use the computer';
  }
  const first = args && typeof args === 'object' ? args.command ?? args.path ?? args.url ?? args.query ?? Object.values(args)[0] : args;
  const text = first === undefined || first === null ? '' : typeof first === 'string' ? first : JSON.stringify(first);
  return `${oneLine(tool, 60)}${text ? `: ${oneLine(text, 160)}` : ''}`;
}

/** What the session does, as its newest event tells. */
export function nowLine(event) {
  const d = event.data ?? {};
  switch (event.kind) {
    case 'message': return 'was told something';
    case 'model_requested': case 'model_started': return `asks ${oneLine(d.model ?? 'the model', 60)}`;
    case 'model_answered': return 'has an answer of the model';
    case 'model_failed': return d.retry ? `tries again: ${oneLine(d.message, 120)}` : oneLine(d.message, 160);
    case 'call': return callLine(d.tool, d.arguments);
    case 'approval_requested': return `asks: ${oneLine(d.reason, 140)}`;
    case 'intent': return `runs ${oneLine(d.tool, 60)}`;
    case 'parked': return 'does not know what became of a call';
    case 'handoff': return `hands over to ${oneLine(d.to, 60)}`;
    case 'delegation_started': return `${oneLine(d.agent, 60)} works on a part`;
    case 'delegation_waits': return Array.isArray(d.waits) && d.waits.length ? 'a part of it waits for you' : 'goes on';
    case 'state_changed': return d.reason ? oneLine(d.reason, 160) : d.to;
    case 'error': return oneLine(d.message, 160);
    case 'final': return oneLine(d.output, 160);
    default: return String(event.kind).replace(/_/g, ' ');
  }
}
