// SPDX-License-Identifier: Apache-2.0
// The MCP TypeScript SDK's clients, 1.x and 2.x, against thole serve, over HTTP and through thole mcp.
import assert from 'node:assert/strict';
import * as v2 from '@modelcontextprotocol/client';
import * as v2stdio from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const base = `http://127.0.0.1:${process.env.PORT}`, key = process.env.TOKEN;
const url = () => new URL(base + '/mcp'), options = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
const program = { command: process.env.THOLE, args: ['mcp'], env: { ...process.env, THOLE_SERVER: base, THOLE_TOKEN: key } };

async function check(client, transport) {
  await client.connect(transport);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes('run_agent'));
  assert.deepEqual((await client.callTool({ name: 'list_agents', arguments: {} })).structuredContent, { agents: ['default'] });
  const seen = [];
  const run = await client.callTool({ name: 'run_agent', arguments: { message: 'hi' } }, ...hears(client, (p) => seen.push(p.progress)));
  assert.equal(run.structuredContent.output, process.env.SAID);
  assert.ok(seen.length > 0, 'progress');
  const listed = (await client.listResources()).resources.map((r) => r.uri);
  assert.ok(listed.includes('thole://sessions/' + run.structuredContent.session.session_id));
  const read = await client.readResource({ uri: listed[0] });
  assert.equal(JSON.parse(read.contents[0].text).session.state, 'finished');
  await client.close();
}

// 1.x takes a schema before the options.
const hears = (client, onprogress) => (client instanceof Client ? [undefined, { onprogress }] : [{ onprogress }]);
const me = { name: 'test', version: '1' };
await check(new Client(me), new StreamableHTTPClientTransport(url(), options));
await check(new Client(me), new StdioClientTransport(program));
for (const mode of ['legacy', 'auto'])
  await check(new v2.Client(me, { versionNegotiation: { mode } }), new v2.StreamableHTTPClientTransport(url(), options));
await check(new v2.Client(me, { versionNegotiation: { mode: 'auto' } }), new v2stdio.StdioClientTransport(program));
