// SPDX-License-Identifier: Apache-2.0
// The Agent Client Protocol's TypeScript SDK as an editor of thole acp: it checks every message by its schema.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const cwd = process.env.WORK, updates = [], asked = [];

async function edit(args, work) {
  const agent = spawn(process.env.THOLE, ['acp', '-m', 'gpt-5.4', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const app = client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => { updates.push(params.update); })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: 'selected', optionId: params.options.find((o) => o.kind === 'allow_once').optionId } };
    });
  await app.connectWith(stream, async (cx) => {
    const first = await cx.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    assert.equal(first.protocolVersion, 1);
    await work(cx, first);
  });
  agent.stdin.end();
  await new Promise((done) => (agent.exitCode === null ? agent.on('exit', done) : done()));
}

const said = (kind) => updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join('');
let sessionId;
await edit(['--approve', 'shell'], async (cx, first) => {
  assert.equal(first.agentCapabilities.loadSession, true);
  ({ sessionId } = await cx.request(methods.agent.session.new, { cwd, mcpServers: [] }));
  const end = await cx.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'Say hello.' }] });
  assert.equal(end.stopReason, 'end_turn');
  assert.equal(said('agent_message_chunk'), process.env.SAID);
  assert.equal(asked.length, 1);
  assert.equal(updates.filter((u) => u.sessionUpdate === 'tool_call').length, 1);
  assert.equal(updates.at(-1).sessionUpdate, 'agent_message_chunk');
  await assert.rejects(cx.request('session/whatever', {}), (e) => e.code === -32601);
});
updates.length = 0;
await edit([], async (cx) => {
  const { sessions } = await cx.request(methods.agent.session.list, { cwd });
  assert.ok(sessions.some((s) => s.sessionId === sessionId));
  await cx.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  assert.equal(said('user_message_chunk'), 'Say hello.');
  assert.equal(said('agent_message_chunk'), process.env.SAID);
  await cx.request(methods.agent.session.close, { sessionId });
});
console.log('ok');
