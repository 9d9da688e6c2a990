// SPDX-License-Identifier: Apache-2.0
// The MCP TypeScript SDK's client against thole serve, over HTTP and through thole mcp.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const base = `http://127.0.0.1:${process.env.PORT}`, key = process.env.TOKEN;
const http = new StreamableHTTPClientTransport(new URL(base + '/mcp'), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
const stdio = new StdioClientTransport({ command: process.env.THOLE, args: ['mcp'], env: { ...process.env, THOLE_SERVER: base, THOLE_TOKEN: key } });
for (const transport of [http, stdio]) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes('run_agent'));
  assert.deepEqual((await client.callTool({ name: 'list_agents', arguments: {} })).structuredContent, { agents: ['default'] });
  const run = await client.callTool({ name: 'run_agent', arguments: { message: 'hi' } });
  assert.equal(run.structuredContent.output, process.env.SAID);
  await client.ping();
  await client.close();
}
