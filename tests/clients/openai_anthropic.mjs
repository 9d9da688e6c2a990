// SPDX-License-Identifier: Apache-2.0
// The official OpenAI and Anthropic clients against thole serve, unmodified.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
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
assert.deepEqual((await client.responses.create({ model, input: 'w?', tools })).output.map((i) => i.type), ['function_call']);
let later = await client.responses.create({ model, input: 'later', background: true });
while (['queued', 'in_progress'].includes(later.status)) later = await client.responses.retrieve(later.id);
assert.equal(later.status, 'completed');

const messages = [{ role: 'user', content: 'hi' }];
assert.equal((await client.chat.completions.create({ model, messages })).choices[0].message.content, said);
assert.equal(await client.chat.completions.stream({ model, messages }).finalContent(), said);
const called = await client.chat.completions.create({ model, messages, tools: [{ type: 'function', function: { name: 'get_weather', parameters } }] });
assert.equal(called.choices[0].message.tool_calls[0].function.name, 'get_weather');
const names = [];
for await (const row of client.models.list()) names.push(row.id);
assert.deepEqual(names, ['default', model]);
await assert.rejects(client.responses.create({ model: 'none', input: 'x' }), (e) => e.status === 404 && e.code === 'model_not_found');

const anthropic = new Anthropic({ baseURL: base, apiKey: key });
assert.equal((await anthropic.messages.create({ model, max_tokens: 100, messages })).content[0].text, said);
assert.equal(await anthropic.messages.stream({ model, max_tokens: 100, messages }).finalText(), said);
const use = await anthropic.messages
  .stream({ model, max_tokens: 100, messages, tools: [{ name: 'get_weather', input_schema: parameters }] })
  .finalMessage();
assert.equal(use.content.at(-1).type, 'tool_use');
await assert.rejects(anthropic.messages.create({ model: 'none', max_tokens: 5, messages }), (e) => e.status === 404);
