// SPDX-License-Identifier: Apache-2.0
// main.js - which view is shown: the address behind # names it.
import { h, fill, button, icon, iconButton, toast } from './dom.js';
import { me, logout, onLoggedOut } from './api.js';
import { loginByLink, loginView } from './login.js';
import { Waiting, waitingView } from './decide.js';
import { sessionsView } from './sessions.js';
import { forkDialog, sessionView } from './session.js';
import { replayView } from './replay.js';
import { moneyView, sessionMoneyView } from './money.js';
import { compareView } from './compare.js';
import { filesView } from './files.js';
import { fleetView } from './fleet.js';
import { keysDialog, listenForKeys } from './keys.js';
import { ServerSource } from './source.js';

const app = document.getElementById('app');
const waiting = new Waiting();
let user = null;
let asking = false;
let scopes = new Set();
let end = null;
let heading = 'thole';

function title(name) {
  heading = name ? `${name} · thole` : 'thole';
  const n = waiting.list.length;
  return n ? `(${n}) ${heading}` : heading;
}

/* ---- light and dark ---- */

function theme(next) {
  const now = localStorage.getItem('theme') ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const to = next ? (now === 'dark' ? 'light' : 'dark') : now;
  if (next) localStorage.setItem('theme', to);
  document.documentElement.dataset.theme = to;
  return to;
}

/* ---- views ---- */

const routes = [
  [/^\/waiting$/, (root) => { document.title = title('Waits for you'); return waitingView(root, { waiting, may: scopes.has('approve') }); }],
  [/^\/s\/([^/?]+)$/, (root, [, id]) => sessionView(root, id, { waiting, scopes, title, fail, again: route })],
  [/^\/s\/([^/?]+)\/replay$/, (root, [, id], query) => {
    const source = new ServerSource(id);
    document.title = title('Replay');
    return replayView(root, source, {
      live: true, fail, at: Number(query.get('at')) || 0, back: `#/s/${encodeURIComponent(id)}`,
      fork: scopes.has('run') ? (fold, e) => forkDialog(source, fold, e) : null,
      moved: (seq) => history.replaceState(null, '', `#/s/${encodeURIComponent(id)}/replay?at=${seq}`),
    });
  }],
  [/^\/s\/([^/?]+)\/money$/, (root, [, id]) => { document.title = title('Cost'); return sessionMoneyView(root, new ServerSource(id), { fail, back: `#/s/${encodeURIComponent(id)}` }); }],
  [/^\/s\/([^/?]+)\/files$/, (root, [, id]) => { document.title = title('Files'); return filesView(root, id, { fail, back: `#/s/${encodeURIComponent(id)}` }); }],
  [/^\/money$/, (root) => { document.title = title('Cost and use'); return moneyView(root, { fail, scopes }); }],
  [/^\/fleet$/, (root) => { document.title = title('Fleet'); return fleetView(root, { fail }); }],
  [/^\/compare\/([^/?]+)\/([^/?]+)$/, (root, [, one, other]) => { document.title = title('Compare'); return compareView(root, new ServerSource(one), new ServerSource(other), { fail }); }],
  [/^\/?$/, (root, _, query) => { document.title = title(''); return sessionsView(root, { waiting, scopes, query }); }],
];

function fail(error, id) {
  end?.();
  end = null;
  fill(document.getElementById('view'), h('main', { class: 'centered' }, h('div', { class: 'card' },
    h('h1', null, error.status === 404 ? 'There is no such session' : 'This cannot be shown'),
    h('p', null, error.status === 404 ? `Your login sees no session “${id}”. It may be another user’s, or have another name.` : `${error.message}.`),
    h('p', null, h('a', { href: '#/' }, 'All sessions')), button('Try again', { onclick: route }))));
}

function route() {
  const root = document.getElementById('view');
  if (!root) return;
  end?.();
  end = null;
  root.replaceChildren();
  const [path, query] = (location.hash.slice(1) || '/').split('?');
  for (const [pattern, make] of routes) {
    const found = pattern.exec(path);
    if (!found) continue;
    let parts;
    try {
      parts = found.map(decodeURIComponent);
    } catch {
      break;
    }
    end = make(root, parts, new URLSearchParams(query ?? ''));
    for (const a of document.querySelectorAll('nav a')) {
      const here = a.getAttribute('href') === `#${path}` || (a.getAttribute('href') === '#/' && path.startsWith('/s/'));
      if (here) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
    }
    return;
  }
  fail({ status: 0, message: 'there is no such view' }, '');
}

/* ---- the frame ---- */

function frame() {
  const badge = h('span', { class: 'count', hidden: true });
  const themeButton = iconButton(theme() === 'dark' ? 'sun' : 'moon', 'Light or dark', {
    onclick: () => fill(themeButton, icon(theme(true) === 'dark' ? 'sun' : 'moon')),
  });
  fill(app, h('a', { class: 'skip', href: '#view', onclick: (e) => { e.preventDefault(); document.querySelector('main')?.querySelector('a, button, input, [tabindex]')?.focus(); } }, 'To the content'),
    h('header', { class: 'top' },
      h('a', { class: 'brand', href: '#/' }, 'thole'),
      h('nav', { 'aria-label': 'Views' }, h('a', { href: '#/' }, icon('list'), h('span', { class: 'label' }, 'Sessions')),
        h('a', { href: '#/waiting' }, icon('hand'), h('span', { class: 'label' }, 'Waiting'), badge),
        h('a', { href: '#/money' }, icon('chart'), h('span', { class: 'label' }, 'Cost')),
        scopes.has('admin') ? h('a', { href: '#/fleet' }, icon('nodes'), h('span', { class: 'label' }, 'Fleet')) : null),
      h('div', { class: 'top-end' }, h('span', { class: 'who muted', title: [...scopes].join(', ') }, user), iconButton('keys', 'Keys', { onclick: keysDialog, 'aria-keyshortcuts': '?' }), themeButton,
        iconButton('out', 'Log out', { onclick: () => logout().then(() => ask(), (e) => toast(`${e.message}.`, true)) }))),
    h('div', { id: 'view' }));
  waiting.watch((list) => {
    badge.hidden = !list.length;
    badge.textContent = String(list.length);
    badge.setAttribute('aria-label', `${list.length} wait`);
    document.title = list.length ? `(${list.length}) ${heading}` : heading;
  });
}

function ask(sentence) {
  if (asking && !sentence) return;
  asking = true;
  end?.();
  end = null;
  waiting.stop();
  waiting.list = [];
  document.title = 'thole';
  loginView(app, boot);
  if (sentence) document.querySelector('.problem').textContent = sentence;
}

async function boot() {
  let who;
  try {
    who = await me();
  } catch (error) {
    if (error.status === 401) return;
    fill(app, h('main', { class: 'centered' }, h('div', { class: 'card' }, h('p', null, `${error.message}.`), button('Try again', { onclick: boot }))));
    return;
  }
  asking = false;
  user = who.user;
  scopes = new Set(who.scopes);
  waiting.watchers.clear();
  frame();
  waiting.start();
  route();
}

theme();
listenForKeys();
addEventListener('hashchange', async () => {
  if (location.hash.startsWith('#code=')) {
    const problem = await loginByLink();
    if (problem) ask(problem);
    else boot();
  } else route();
});
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible' && user) waiting.tick(); });
const problem = await loginByLink();
onLoggedOut(() => { user = null; ask(); });
if (problem) ask(problem);
else await boot();
