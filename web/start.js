// SPDX-License-Identifier: Apache-2.0
// start.js - begins a session.
import { h, dialog } from './dom.js';
import { get, ask } from './api.js';

const limits = [
  ['turns', 'Turns', 'times that the model is asked'],
  ['seconds', 'Seconds', 'from begin to end'],
  ['cost_usd', 'US dollars', 'for the model'],
];

async function begin(body) {
  // The same key for the same click: asked again after a lost answer, it begins nothing twice.
  const key = crypto.randomUUID();
  const options = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(body),
  };
  try {
    return await (await ask('/api/sessions', options)).json();
  } catch (error) {
    if (error.status !== 0) throw error;
    return (await ask('/api/sessions', options)).json();
  }
}

/** The form; `takes` names what the server takes beside agent and message, `computers` those that may be chosen. */
export function startDialog({ agents, computers, takes }) {
  const task = h('textarea', { id: 'task', rows: 5, required: true, placeholder: 'What shall it do?' });
  const agent = h('select', { id: 'agent' }, agents.map((a) => h('option', { value: a.name }, a.name)));
  const computer = computers.length ? h('select', { id: 'computer' },
    h('option', { value: '' }, 'the agent’s own'), [...computers, 'none'].map((kind) => h('option', { value: kind }, kind))) : null;
  const fields = takes.has('limits') ? limits.map(([name, label, tip]) => ({
    name,
    input: h('input', { id: `limit-${name}`, type: 'number', min: name === 'cost_usd' ? '0.01' : 1, step: name === 'cost_usd' ? '0.01' : 1, inputmode: 'decimal', placeholder: 'the agent’s' }),
    label, tip,
  })) : [];
  const problem = h('p', { class: 'problem', role: 'alert' });
  const box = dialog('New task', (close) => {
    const go = h('button', { class: 'primary' }, 'Start');
    const form = h('form', null,
      h('label', { for: 'task' }, 'Task'), task,
      h('div', { class: 'row' },
        h('div', { class: 'grow' }, h('label', { for: 'agent' }, 'Agent'), agent),
        computer ? h('div', { class: 'grow' }, h('label', { for: 'computer' }, 'Computer'), computer) : null),
      fields.length ? h('fieldset', null, h('legend', null, 'Limits'), h('div', { class: 'row' },
        fields.map((f) => h('div', { class: 'grow' }, h('label', { for: f.input.id, title: f.tip }, f.label), f.input)))) : null,
      problem,
      h('div', { class: 'row end' }, h('button', { type: 'button', onclick: close }, 'Cancel'), go));
    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      go.disabled = true;
      const body = { agent: agent.value, message: task.value.trim() };
      if (computer?.value) body.computer = computer.value;
      const set = fields.filter((f) => f.input.value !== '').map((f) => [f.name, Number(f.input.value)]);
      if (set.length) body.limits = Object.fromEntries(set);
      try {
        const row = await begin(body);
        close();
        location.hash = `#/s/${encodeURIComponent(row.session_id)}`;
      } catch (error) {
        problem.textContent = `${error.message}.`;
        go.disabled = false;
      }
    });
    task.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) form.requestSubmit();
    });
    return form;
  });
  task.focus();
  return box;
}

/** Asks what there is, then shows the form. */
export async function start() {
  const [agents, doc] = await Promise.all([get('/api/agents'), get('/api/openapi.json')]);
  const schema = doc.paths['/api/sessions']?.post?.requestBody?.content?.['application/json']?.schema;
  return startDialog({ agents: agents.agents, computers: agents.computers ?? [], takes: new Set(Object.keys(schema?.properties ?? {})) });
}
