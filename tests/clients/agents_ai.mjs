// SPDX-License-Identifier: Apache-2.0
// The OpenAI Agents SDK and the AI SDK's Open Responses provider against thole serve, unmodified.
import assert from 'node:assert/strict';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import { generateText, stepCountIs, streamText, tool as aiTool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';

const base = `http://127.0.0.1:${process.env.PORT}`, key = process.env.TOKEN, said = process.env.SAID;
setTracingDisabled(true);
setDefaultOpenAIClient(new OpenAI({ baseURL: base + '/v1', apiKey: key }));
const agent = new Agent({ name: 'x', instructions: 'Be brief.', model: 'gpt-5.4' });
assert.equal((await run(agent, 'hi')).finalOutput, said);
const stream = await run(agent, 'hi', { stream: true });
for await (const event of stream) assert.ok(event.type);
assert.equal(stream.finalOutput, said);

// A tool is called once, and its result sent back.
let calls = 0;
const once = tool({ name: 'once', description: 'Once.', parameters: z.object({ location: z.string() }), execute: () => `rain ${++calls}` });
assert.equal((await run(new Agent({ name: 'y', model: 'gpt-5.4', tools: [once] }), 'hi')).finalOutput, said);
assert.equal(calls, 1);

const provider = createOpenResponses({ name: 'thole', url: base + '/v1/responses', apiKey: key });
assert.equal((await generateText({ model: provider('gpt-5.4'), prompt: 'hi' })).text, said);
let text = '';
for await (const piece of streamText({ model: provider('gpt-5.4'), prompt: 'hi' }).textStream) text += piece;
assert.equal(text, said);
const tools = { once: aiTool({ description: 'Once.', inputSchema: z.object({ location: z.string() }), execute: () => `rain ${++calls}` }) };
const loop = await generateText({ model: provider('gpt-5.4'), prompt: 'hi', tools, stopWhen: stepCountIs(3) });
assert.deepEqual([loop.text, calls], [said, 2]);
