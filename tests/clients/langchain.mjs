// SPDX-License-Identifier: Apache-2.0
// LangChain's models of OpenAI, by both of its APIs, and of Anthropic, with tools, streams and thinking.
import assert from 'node:assert/strict';
import { ChatOpenAI } from '@langchain/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { tool } from '@langchain/core/tools';
import { HumanMessage } from '@langchain/core/messages';
import { z } from 'zod';

const base = `http://127.0.0.1:${process.env.PORT}`, apiKey = process.env.TOKEN, model = 'gpt-5.4', said = process.env.SAID;
const configuration = { baseURL: base + '/v1' };
const once = tool(async ({ location }) => 'rain in ' + location, { name: 'once', description: 'The weather.', schema: z.object({ location: z.string() }) });
const thinking = { type: 'enabled', budget_tokens: 1024 };

for (const chat of [new ChatOpenAI({ model, apiKey, configuration, useResponsesApi: false }), new ChatOpenAI({ model, apiKey, configuration, useResponsesApi: true }),
  new ChatAnthropic({ model, apiKey, anthropicApiUrl: base, thinking, maxTokens: 3000 })]) {
  const first = await chat.invoke('hi');
  assert.equal(first.text, said);
  assert.ok(first.usage_metadata.total_tokens > 0);
  let text = '';
  for await (const piece of await chat.stream('hi')) text += piece.text;
  assert.equal(text, said);
  const history = [new HumanMessage('w?')], able = chat.bindTools([once]);
  const called = await able.invoke(history);
  assert.deepEqual(called.tool_calls.map((c) => [c.name, c.args]), [['once', { location: 'Oslo' }]]);
  history.push(called);
  for (const call of called.tool_calls) history.push(await once.invoke(call));
  assert.equal((await able.invoke(history)).text, said);
}
