// SPDX-License-Identifier: Apache-2.0
// question.js - a question of the agent to the person: its options as buttons, and a field for any other answer.
import { h, announce, button } from './dom.js';
import { ago, duration, moment, oneLine, visible } from './format.js';

const OPTIONS_MAX = 20;

/** `answer(text)` and `refuse()` tell the server, and throw what it says against it; `done(what)` is called after that. */
export function questionCard({ e, title = null, answer, refuse, done, may = true }) {
  const question = typeof e.args?.question === 'string' ? e.args.question : '';
  const options = (Array.isArray(e.args?.options) ? e.args.options : []).filter((o) => typeof o === 'string' && o).slice(0, OPTIONS_MAX);
  const field = h('textarea', { class: 'word', rows: 2, 'aria-label': 'Your answer', placeholder: options.length ? 'Another answer' : 'Your answer' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  let busy = false;

  async function say(what, call, text) {
    if (busy || !may) return;
    busy = true;
    element.classList.add('busy');
    problem.textContent = '';
    try {
      await call();
      announce(text);
      done?.(what);
    } catch (error) {
      problem.textContent = error.status === 404 ? 'Somebody answered this already.' : error.status === 403 ? 'Your login may look, and not answer (scope approve).' : `${error.message}.`;
      if (error.status === 404) done?.('gone');
    }
    busy = false;
    element.classList.remove('busy');
  }
  const send = () => (field.value.trim() ? say('answer', () => answer(field.value.trim()), 'Answered') : field.focus());

  const element = h('article', { class: 'decide-card question-card card', tabindex: '-1', 'data-call': e.call, 'aria-label': `Question: ${oneLine(question, 120)}` },
    h('header', null,
      h('strong', null, 'The agent asks'),
      e.asked ? h('time', { class: 'muted', datetime: new Date(e.asked.ts).toISOString(), title: moment(e.asked.ts) }, ago(e.asked.ts)) : null,
      title),
    h('p', { class: 'question', dir: 'auto' }, visible(question)),
    may ? h('div', { class: 'answers' },
      options.length ? h('div', { class: 'row options' }, options.map((o) => button(oneLine(o, 200), { onclick: () => say('answer', () => answer(o), 'Answered') }))) : null,
      field,
      h('div', { class: 'row' }, button('Answer', { class: 'primary', onclick: send }), button('No answer', { class: 'danger', onclick: () => say('reject', refuse, 'Refused') }, 'close')))
      : h('p', { class: 'muted' }, 'Your login may look, and not answer.'),
    e.asked?.expires ? h('p', { class: 'muted' }, `Refused in ${duration(Math.max(0, e.asked.expires - Date.now()))}, if nobody answers.`) : null,
    problem);
  field.addEventListener('keydown', (k) => {
    if (k.key === 'Enter' && !k.shiftKey && !k.isComposing) { k.preventDefault(); send(); }
  });
  return element;
}
