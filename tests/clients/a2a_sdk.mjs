// SPDX-License-Identifier: Apache-2.0
// The A2A JavaScript SDK's client against thole serve, in both versions of the protocol.
import assert from 'node:assert/strict';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const base = `http://127.0.0.1:${process.env.PORT}`;
const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${process.env.TOKEN}` } });
const message = (text, more = {}) => ({ messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts: [{ content: { $case: 'text', value: text } }], ...more });

async function drive(factory, version) {
  const client = await factory.createFromUrl(base);
  assert.ok(client.protocolVersion.startsWith(version), client.protocolVersion);
  const sent = await client.sendMessage({ message: message('Say it.') });
  const task = sent.payload?.value ?? sent;
  assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
  assert.equal(task.artifacts[0].parts[0].content.value, process.env.SAID);
  assert.equal((await client.getTask({ id: task.id })).id, task.id);
  const kinds = [];
  for await (const event of client.sendMessageStream({ message: message('Again.', { contextId: task.contextId }) }))
    kinds.push(event.payload?.$case ?? event.kind);
  assert.equal(kinds[0], 'task');
  assert.equal(kinds.at(-1), 'statusUpdate');
  assert.ok(kinds.includes('artifactUpdate'));
  if (version === '1.0') {
    const list = await client.listTasks({ contextId: task.contextId, historyLength: 1 });
    assert.deepEqual([list.tasks.length, list.tasks[1].id, list.nextPageToken], [2, task.id, '']);
  }
  await assert.rejects(client.cancelTask({ id: task.id }));
  await assert.rejects(client.getTask({ id: 'nothing.0' }));
}

const transports = [new JsonRpcTransportFactory({ fetchImpl })];
await drive(new ClientFactory({ transports, cardResolver: new DefaultAgentCardResolver({ fetchImpl }) }), '1.0');

// A card that offers 0.3 alone: the SDK speaks its layer for that.
const old = { fetchImpl: async (url, init) => {
  const card = await (await fetchImpl(url, init)).json();
  delete card.supportedInterfaces;
  return Response.json(card);
}, legacyCompat: { enabled: true } };
await drive(new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: true } })],
                                cardResolver: new DefaultAgentCardResolver(old) }), '0.3');
console.log('ok');
