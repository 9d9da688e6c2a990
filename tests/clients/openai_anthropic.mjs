// SPDX-License-Identifier: Apache-2.0
// The official OpenAI and Anthropic clients against thole serve, unmodified.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import Anthropic from '@anthropic-ai/sdk';

const base = `http://127.0.0.1:${process.env.PORT}`, key = process.env.TOKEN, model = 'gpt-5.4', said = process.env.SAID;
const client = new OpenAI({ baseURL: base + '/v1', apiKey: key });
const parameters = { type: 'object', properties: { location: { type: 'string' } } };
const tools = [{ type: 'function', name: 'get_weather', description: 'The weather.', strict: false, parameters }];

const first = await client.responses.create({ model, input: 'hi' });
assert.equal(first.output_text, said);
const second = await client.responses.create({ model, input: 'more', previous_response_id: first.id });
assert.equal(second.output_text, said);
assert.equal((await client.responses.retrieve(second.id)).output_text, said);
assert.equal((await client.responses.inputItems.list(second.id)).data.length, 1);
let text = '';
for await (const event of await client.responses.create({ model, input: 'hi', stream: true }))
  if (event.type === 'response.output_text.delta') text += event.delta;
assert.equal(text, said);
assert.equal((await client.responses.stream({ model, input: 'hi' }).finalResponse()).output_text, said);
const called = (await client.responses.create({ model, input: 'w?', tools })).output;
assert.deepEqual(called.map((i) => i.type), ['function_call']);
assert.equal((await client.responses.inputTokens.count({ model, input: 'hi' })).object, 'response.input_tokens');

let later = await client.responses.create({ model, input: 'later', background: true });
while (['queued', 'in_progress'].includes(later.status)) later = await client.responses.retrieve(later.id);
assert.equal(later.status, 'completed');
const numbers = [];
for await (const event of await client.responses.retrieve(later.id, { stream: true, starting_after: 1 })) numbers.push(event.sequence_number);
assert.deepEqual(numbers, numbers.map((_, i) => i + 2));
assert.equal((await client.responses.cancel(later.id)).status, 'completed');

const conversation = await client.conversations.create({ metadata: { k: 'v' }, items: [{ role: 'user', content: 'Before.' }] });
assert.equal((await client.responses.create({ model, input: 'hi', conversation: conversation.id })).conversation.id, conversation.id);
assert.equal((await client.responses.create({ model, input: 'again', conversation: conversation.id })).output_text, said);
const items = [];
for await (const item of client.conversations.items.list(conversation.id, { order: 'asc', limit: 2 })) items.push(item);
assert.deepEqual(items.map((i) => i.role), ['user', 'user', 'assistant', 'user', 'assistant']);
assert.equal((await client.conversations.update(conversation.id, { metadata: { k: 'w' } })).metadata.k, 'w');
await client.conversations.items.delete(items[0].id, { conversation_id: conversation.id });
assert.equal((await client.conversations.items.list(conversation.id)).data.length, 4);
assert.equal((await client.conversations.delete(conversation.id)).deleted, true);

// Over a WebSocket, the second response goes on from the first.
const socket = new ResponsesWS(client);
const whole = () => new Promise((resolve, reject) => {
  const done = (event) => { socket.off('error', reject); resolve(event.response); };
  socket.once('response.completed', done);
  socket.once('error', reject);
});
const ready = new Promise((resolve) => socket.socket.once('open', resolve));
await ready;
let answer = whole();
socket.send({ type: 'response.create', model, input: 'hi', store: false });
const one = await answer;
assert.equal(one.output[0].content[0].text, said);
answer = whole();
socket.send({ type: 'response.create', model, input: 'more', store: false, previous_response_id: one.id });
assert.equal((await answer).previous_response_id, one.id);
socket.close();

const messages = [{ role: 'user', content: 'hi' }];
assert.equal((await client.chat.completions.create({ model, messages })).choices[0].message.content, said);
assert.equal(await client.chat.completions.stream({ model, messages }).finalContent(), said);
const functions = [{ type: 'function', function: { name: 'get_weather', parameters } }];
assert.equal((await client.chat.completions.create({ model, messages, tools: functions })).choices[0].message.tool_calls[0].function.name, 'get_weather');
const usage = [];
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } }))
  if (chunk.usage) usage.push(chunk.usage.total_tokens);
assert.equal(usage.length, 1);
const names = [];
for await (const row of client.models.list()) names.push(row.id);
assert.deepEqual(names, ['default', model]);
await assert.rejects(client.responses.create({ model: 'none', input: 'x' }), (e) => e.status === 404 && e.code === 'model_not_found' && e.param === 'model');
await assert.rejects(client.responses.create({ model, input: 'x', previous_response_id: 'resp_x' }), (e) => e.code === 'previous_response_not_found');

const anthropic = new Anthropic({ baseURL: base, apiKey: key });
assert.equal((await anthropic.messages.create({ model, max_tokens: 100, messages })).content[0].text, said);
assert.equal(await anthropic.messages.stream({ model, max_tokens: 100, messages }).finalText(), said);
const use = await anthropic.messages
  .stream({ model, max_tokens: 100, messages, tools: [{ name: 'get_weather', input_schema: parameters }] })
  .finalMessage();
assert.deepEqual([use.content.at(-1).type, use.stop_reason], ['tool_use', 'tool_use']);
assert.ok((await anthropic.messages.countTokens({ model, messages })).input_tokens > 0);
await assert.rejects(anthropic.messages.create({ model: 'none', max_tokens: 5, messages }), (e) => e.status === 404 && e.error.error.type === 'not_found_error');
const stranger = new Anthropic({ baseURL: base, apiKey: 'nobody-0123456789', maxRetries: 0 });
await assert.rejects(stranger.messages.create({ model, max_tokens: 5, messages }), (e) => e.status === 401 && e.error.error.type === 'authentication_error');
