// SPDX-License-Identifier: Apache-2.0
// peer_guarded.mjs - @openai/agents at the work of `api mode=busy`: guardrails at every stage, a listener of every hook (it has
// none of a model's call), and streaming to a reader. agents_bench.mjs of ../shared/bench/peers streams and checks nothing.
//
//     node peer_guarded.mjs port=PORT [c=SESSIONS] [n=TOOL-TURNS] [reps=N]     prints one JSON line for each repetition
import { Agent, Runner, tool, setTracingDisabled, defineToolInputGuardrail, defineToolOutputGuardrail, OpenAIProvider } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

const options = Object.fromEntries(process.argv.slice(2).map(s => s.split('=')));
const sessions = +(options.c ?? 64), turns = +(options.n ?? 50), reps = +(options.reps ?? 1);
let calls = 0, checks = 0, hooks = 0;

setTracingDisabled(true);
const client = new OpenAI({ apiKey: 'sk-x', baseURL: `http://127.0.0.1:${options.port}/l0/n${turns}/k0/v1`, maxRetries: 0 });
const weather = tool({
  name: 'get_weather',
  description: 'Get the weather for a city',
  parameters: z.object({ city: z.string(), unit: z.string() }),
  execute: async ({ city }) => { calls++; return `The weather in ${city} is sunny, 21 degrees.`; },
  inputGuardrails: [defineToolInputGuardrail({ name: 'tool_input', run: async () => { checks++; return { behavior: { type: 'allow' } }; } })],
  outputGuardrails: [defineToolOutputGuardrail({ name: 'tool_output', run: async () => { checks++; return { behavior: { type: 'allow' } }; } })],
});
const passes = name => ({ name, execute: async () => { checks++; return { tripwireTriggered: false, outputInfo: null }; } });
const agent = new Agent({
  name: 'Assistant', instructions: 'You are a helpful assistant.', model: 'mock', tools: [weather],
  inputGuardrails: [passes('input')], outputGuardrails: [passes('output')],
});
for (const hook of ['agent_start', 'agent_end', 'agent_handoff', 'agent_tool_start', 'agent_tool_end'])
  agent.on(hook, () => { hooks++; });
const runner = new Runner({
  modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }), tracingDisabled: true,
});

async function one() {
  const run = await runner.run(agent, 'What is the weather in Paris?', { stream: true, maxTurns: turns + 5 });
  for await (const _ of run) { }
  await run.completed;
  return run.finalOutput;
}

for (let rep = 0; rep < reps; rep++) {
  calls = checks = hooks = 0;
  const cpu = process.cpuUsage(), began = process.hrtime.bigint();
  const answers = await Promise.all(Array.from({ length: sessions }, one));
  const wall = Number(process.hrtime.bigint() - began) / 1e3, used = process.cpuUsage(cpu), done = calls + sessions;
  if (!answers.every(a => typeof a === 'string' && a.endsWith('done')) || calls !== sessions * turns || checks !== 2 * calls + 2 * sessions)
    throw new Error(`bad run: ${answers[0]}, ${calls} calls, ${checks} checks`);
  console.log(JSON.stringify({ lib: 'agents guarded', sessions, turns: done, checks, hooks, cpu_us_turn: (used.user + used.system) / done, turns_s: done / wall * 1e6 }));
}
process.exit(0);
