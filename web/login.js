// SPDX-License-Identifier: Apache-2.0
// login.js - who is it?  By the code of a link (#code=…), or by a token.
import { h, fill } from './dom.js';
import { login } from './api.js';

/** Shows the form until somebody is logged in; then calls `done`. */
export function loginView(root, done) {
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  const submit = h('button', { class: 'primary' }, 'Log in');
  const form = h('form', { class: 'login card' },
    h('h1', null, h('span', { class: 'brand' }, 'thole')),
    h('label', { for: 'token' }, 'Your token'), input, submit, problem,
    h('p', { class: 'muted' }, 'On the machine of the server, ', h('code', null, 'thole token new NAME'), ' makes a token. ',
      'It is sent once, and then a cookie stands for it.'));
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    submit.disabled = true;
    problem.textContent = '';
    try {
      await login({ token: input.value.trim() });
      done();
    } catch (error) {
      problem.textContent = error.status === 401 ? 'The server does not know this token. Is it complete, and was it not revoked?' : `${error.message}.`;
      input.select();
    }
    submit.disabled = false;
  });
  fill(root, h('main', { class: 'centered' }, form));
  input.focus();
}

/** Logs in by the code of the address, which is then out of it. */
export async function loginByLink() {
  const found = /^#code=([\w.~-]+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', '#/');
  try {
    await login({ code: found[1] });
    return null;
  } catch (error) {
    return error.status === 401 ? 'This link was used already, or is too old. Ask for another one, or log in with a token.' : `${error.message}.`;
  }
}
