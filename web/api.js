// SPDX-License-Identifier: Apache-2.0
// api.js - the server, as whoever is logged in.  The login is a cookie that no script can read.

/** What went wrong, as a sentence, and the status (0: there was no answer). */
export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const listeners = new Set();

/** Called when the server says that nobody is logged in. */
export function onLoggedOut(fn) {
  listeners.add(fn);
}

async function failure(response) {
  let told;
  try {
    told = (await response.json()).error;
  } catch {
    told = null; // a proxy's page, or nothing
  }
  const message = told?.message ?? `the server answered ${response.status}`;
  if (response.status === 401) for (const fn of listeners) fn();
  return new ApiError(response.status, message, told?.code);
}

/** A fetch to this server; throws an ApiError unless the answer is good. */
export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', redirect: 'error', ...options });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError(0, 'the server does not answer; this page tries again by itself');
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get(path, signal) {
  return (await ask(path, { signal })).json();
}

async function send(method, path, body) {
  const response = await ask(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body ?? {}),
  });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

export const post = (path, body) => send('POST', path, body);
export const patch = (path, body) => send('PATCH', path, body);
export const remove = (path) => ask(path, { method: 'DELETE' });

export const sessionPath = (id, rest = '') => `/api/sessions/${encodeURIComponent(id)}${rest}`;

/** Who is logged in: {user, scopes}; throws with status 401 when nobody is. */
export const me = () => get('/api/me');

/** By the code of a link, or by a token. */
export const login = (what) => post('/api/login', what);
export const logout = () => post('/api/logout');

let known = null;

/** Whether the server has this path, such as 'get /api/usage'. */
export async function has(what) {
  known ??= get('/api/openapi.json').then((doc) => doc.paths, (e) => { known = null; throw e; });
  const [method, path] = what.split(' ');
  return Boolean((await known)[path]?.[method]);
}
