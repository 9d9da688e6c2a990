// SPDX-License-Identifier: Apache-2.0
// The A2A JavaScript SDK's client against thole serve, in both versions of the protocol.
import assert from 'node:assert/strict';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { createServer } from 'node:http';

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
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==', 'base64');
  const seen = await client.sendMessage({ message: message('Look.', { parts: [{ content: { $case: 'raw', value: png }, mediaType: 'image/png', filename: 'a.png' }] }),
                                          configuration: { taskPushNotificationConfig: { url: told.url, token: version } } });
  const other = seen.payload?.value ?? seen;
  assert.equal(other.status.state, TaskState.TASK_STATE_COMPLETED);
  const letter = await told.next();
  assert.equal(letter.token, version);
  assert.equal((letter.body.task ?? letter.body).id, other.id);
  const hook = { taskId: task.id, id: 'mine', url: told.url, token: '' };
  assert.equal((await client.createTaskPushNotificationConfig(hook)).id, 'mine');
  assert.equal((await told.next()).body.task?.id ?? task.id, task.id);
  await assert.rejects(client.cancelTask({ id: task.id }));
  await assert.rejects(client.getTask({ id: 'nothing.0' }));
}

// Whoever is told of tasks.
const letters = [], waiting = [];
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (c) => chunks.push(c));
  request.on('end', () => {
    response.end();
    const letter = { token: request.headers['x-a2a-notification-token'], body: JSON.parse(Buffer.concat(chunks)) };
    waiting.length ? waiting.shift()(letter) : letters.push(letter);
  });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const told = { url: `http://127.0.0.1:${server.address().port}/told`, next: () => letters.length ? letters.shift() : new Promise((done) => waiting.push(done)) };

const transports = [new JsonRpcTransportFactory({ fetchImpl })];
await drive(new ClientFactory({ transports, cardResolver: new DefaultAgentCardResolver({ fetchImpl }) }), '1.0');
await drive(new ClientFactory({ transports: [new RestTransportFactory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) }), '1.0');

// A card that offers 0.3 alone: the SDK speaks its layer for that.
const old = { fetchImpl: async (url, init) => {
  const card = await (await fetchImpl(url, init)).json();
  delete card.supportedInterfaces;
  return Response.json(card);
}, legacyCompat: { enabled: true } };
await drive(new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: true } })],
                                cardResolver: new DefaultAgentCardResolver(old) }), '0.3');
server.close();
console.log('ok');
