// SPDX-License-Identifier: Apache-2.0
// stream.js - a session's events as they become durable, without a gap and without a repeat.
//
// After a cut the stream is taken up behind the last event that came.  A number that comes twice is left out; a number that
// does not follow the last one is a reason to begin anew there.
import { ask } from './api.js';

const QUIET_MS = 40000; // the server gives a sign of life each 15 s
const RETRY_MS = [300, 700, 1500, 3000, 6000, 10000];

/** Frames out of text that comes in pieces. */
export class Frames {
  constructor(each) {
    this.each = each;
    this.rest = '';
    this.frame = {};
  }

  feed(text) {
    this.rest += text;
    let at = 0;
    for (let end; (end = this.rest.indexOf('\n', at)) >= 0; at = end + 1) this.line(this.rest.slice(at, end).replace(/\r$/, ''));
    this.rest = this.rest.slice(at);
  }

  line(line) {
    if (line === '') {
      if (this.frame.data !== undefined) this.each(this.frame);
      this.frame = {};
    } else if (!line.startsWith(':')) {
      const colon = line.indexOf(':');
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      this.frame[name] = name === 'data' && this.frame.data !== undefined ? `${this.frame.data}\n${value}` : value;
    }
  }
}

/**
 * on.events(list), on.delta(piece), on.state('live' | 'cut', sentence), on.end(error): what no retry mends.
 * Gives a function that ends it.
 */
export function follow(path, last, on) {
  let ended = false;
  let control = null;
  let fails = 0;
  let timer = 0;
  let watch = 0;

  function heard() {
    clearTimeout(watch);
    watch = setTimeout(() => control?.abort(), QUIET_MS);
  }

  async function read(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let events = [];
    const frames = new Frames((frame) => {
      if (frame.event === 'delta') {
        if (events.length) flush();
        on.delta(JSON.parse(frame.data));
      } else if (frame.event === 'lost') {
        last = JSON.parse(frame.data).head_seq; // the log is shorter than what was seen: another store
        on.lost?.(last);
      } else if (frame.id !== undefined) {
        const seq = Number(frame.id);
        if (seq <= last) return;
        if (seq !== last + 1) throw new Error(`event ${last + 1} did not come`);
        last = seq;
        events.push(JSON.parse(frame.data));
      }
    });
    function flush() {
      const list = events;
      events = [];
      if (list.length && !ended) on.events(list);
    }
    for (;;) {
      const { value, done } = await reader.read();
      if (done || ended) break;
      heard();
      try {
        frames.feed(value);
      } finally {
        flush();
      }
    }
  }

  async function run() {
    control = new AbortController();
    heard();
    try {
      const response = await ask(path, { signal: control.signal, headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(last) } });
      fails = 0;
      if (!ended) on.state('live');
      await read(response);
    } catch (error) {
      if (!ended && [401, 403, 404].includes(error.status)) {
        ended = true;
        on.end(error);
      }
    }
    control.abort();
    clearTimeout(watch);
    if (ended) return;
    on.state('cut');
    const wait = RETRY_MS[Math.min(fails++, RETRY_MS.length - 1)] * (0.7 + 0.6 * Math.random());
    timer = setTimeout(run, wait);
  }

  run();
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(watch);
    control?.abort();
  };
}
