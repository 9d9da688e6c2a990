// SPDX-License-Identifier: Apache-2.0
// OpenRouter's agent SDK, which checks each event of a stream against its schema, and the providers of the AI SDK.
import assert from 'node:assert/strict';
import { OpenRouter, stepCountIs, tool as theirs } from '@openrouter/agent';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs as steps, streamText, tool } from 'ai';
import { z } from 'zod';

const base = `http://127.0.0.1:${process.env.PORT}/v1`, apiKey = process.env.TOKEN, model = 'gpt-5.4', said = process.env.SAID;
const inputSchema = z.object({ location: z.string() });

let calls = 0;
const router = new OpenRouter({ apiKey, serverURL: base });
const once = theirs({ name: 'once', description: 'The weather.', inputSchema, execute: async () => { calls++; return { weather: 'rain' }; } });
for (const name of [model, 'default']) {
  let last;
  for await (const event of router.callModel({ model: name, input: 'hi' }).getFullResponsesStream()) last = event.type;
  assert.equal(last, 'response.completed');
}
assert.equal(await router.callModel({ model, input: 'go', tools: [once], stopWhen: stepCountIs(3) }).getText(), said);
assert.equal(calls, 1);

const thinks = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
const openai = createOpenAI({ baseURL: base, apiKey }), anthropic = createAnthropic({ baseURL: base, apiKey });
for (const [chosen, providerOptions] of [[openai(model)], [openai.chat(model)], [anthropic(model), thinks]]) {
  const weather = tool({ description: 'The weather.', inputSchema, execute: async () => 'rain' });
  const loop = await generateText({ model: chosen, prompt: 'go', tools: { once: weather }, stopWhen: steps(4), providerOptions });
  assert.deepEqual([loop.text, loop.steps.length], [said, 2]);
  let text = '';
  for await (const piece of streamText({ model: chosen, prompt: 'hi', providerOptions }).textStream) text += piece;
  assert.equal(text, said);
}
