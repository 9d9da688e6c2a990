// SPDX-License-Identifier: Apache-2.0
// The same agent behind Node's HTTP, for bench/serve.py: POST /v1/responses runs @openai/agents. Nothing is durable.
// usage: node peer_serve.mjs MODEL_PORT
import http from 'node:http';
import { Agent, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';

setTracingDisabled(true);
const client = new OpenAI({ apiKey: 'x', baseURL: `http://127.0.0.1:${process.argv[2]}/l0/n0/k5/v1`, maxRetries: 0 });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }), tracingDisabled: true });
const agent = new Agent({ name: 'model', model: 'gpt-5.4' });
const server = http.createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const run = await runner.run(agent, JSON.parse(Buffer.concat(pieces)).input);
  const body = JSON.stringify({ status: 'completed', output_text: run.finalOutput });
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`listening at http://127.0.0.1:${server.address().port}`));
