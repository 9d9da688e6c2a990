// SPDX-License-Identifier: Apache-2.0
// source.js - where the events of one session come from: this server.  file.js has another, with the same functions.
import { get, post, sessionPath } from './api.js';
import { follow } from './stream.js';

export class ServerSource {
  constructor(id) {
    this.id = id;
    this.live = true;
  }

  row(signal) {
    return get(sessionPath(this.id), signal);
  }

  /** Events from number `from` up to and with `to`. */
  async range(from, to, signal) {
    const events = [];
    while (from <= to) {
      const page = await get(sessionPath(this.id, `/events?from=${from}&limit=${Math.min(1000, to - from + 1)}`), signal);
      for (const e of page.events) if (e.seq <= to) events.push(e);
      if (!page.events.length) break;
      from = page.events.at(-1).seq + 1;
    }
    return events;
  }

  async event(seq) {
    return (await this.range(seq, seq))[0];
  }

  picture(hash) {
    return /^[0-9a-f]{64}$/.test(hash) ? sessionPath(this.id, `/blobs/${hash}`) : null;
  }

  follow(last, on) {
    return follow(sessionPath(this.id, '/events'), last, on);
  }

  other(id) {
    return new ServerSource(id);
  }

  say(text) {
    return post(sessionPath(this.id, '/messages'), { text });
  }

  /** pause, resume, cancel, fork, approve, reject, settle */
  act(what, body) {
    return post(sessionPath(this.id, `/${what}`), body);
  }
}

const CHUNK = 500;

/** Reads a session from its end into a fold, older events on demand. */
export class Reader {
  constructor(source, fold, tail = 150) {
    Object.assign(this, { source, fold, tail });
    this.first = 1;
    this.last = 0;
    this.busy = null;
  }

  async begin(signal) {
    const row = await this.source.row(signal);
    this.last = row.head_seq ?? 0;
    this.first = Math.max(1, this.last - this.tail + 1);
    for (const e of await this.source.range(this.first, this.last, signal)) this.fold.add(e);
    return row;
  }

  get whole() {
    return this.first <= 1;
  }

  /** One piece more of what is older; true: there was one. */
  older(signal) {
    if (this.whole) return Promise.resolve(false);
    this.busy ??= (async () => {
      const from = Math.max(1, this.first - CHUNK);
      const events = await this.source.range(from, this.first - 1, signal);
      this.fold.prepend(events);
      this.first = from;
      return true;
    })().finally(() => { this.busy = null; });
    return this.busy;
  }
}
