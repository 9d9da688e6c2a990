# SPDX-License-Identifier: Apache-2.0
"""POST /mcp: both eras of the protocol, and what a model may do there."""

import json
import unittest

import serving

BOTH = {"Accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Mcp(serving.Served):
    def ask(self, method, params=None, status=200, who="alice", **headers):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = self.call("POST", "/mcp", body, who=who, headers=dict(BOTH, **{k.replace("_", "-"): v for k, v in headers.items()}))
        self.assertEqual(answer.status, status, answer)
        found = answer.json()
        self.assertEqual((found["jsonrpc"], found["id"]), ("2.0", 1))
        return found

    def use(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def modern(self, method, status=200, **params):
        return self.ask(method, dict(params, _meta=META), status, MCP_Protocol_Version="2026-07-28", Mcp_Method=method)

    def test_a_run(self):
        self.serve([{"text": "Four."}], [{"text": "Five."}])
        self.serve_http()
        first = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})["result"]
        self.assertEqual((first["protocolVersion"], first["serverInfo"]["name"]), ("2025-06-18", "thole"))
        note = self.call("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=BOTH)
        self.assertEqual((note.status, note.body), (202, b""))
        names = [t["name"] for t in self.ask("tools/list")["result"]["tools"]]
        self.assertIn("run_agent", names)
        self.assertFalse([n for n in names if "approve" in n or "reject" in n or "settle" in n])
        done = self.use("run_agent", message="Two and two?")
        self.assertFalse(done["isError"], done)
        self.assertEqual((done["structuredContent"]["output"], done["structuredContent"]["session"]["state"]), ("Four.", "finished"))
        name = done["structuredContent"]["session"]["session_id"]
        self.assertEqual(self.use("message_session", session_id=name, message="Plus one?")["structuredContent"]["output"], "Five.")
        self.assertEqual(self.use("get_session", session_id=name)["structuredContent"]["output"], "Five.")
        self.assertEqual(self.use("session_events", session_id=name, limit=2)["structuredContent"]["events"][1]["seq"], 2)
        self.assertEqual(len(self.use("list_sessions")["structuredContent"]["sessions"]), 1)
        self.assertEqual(self.use("list_waiting")["structuredContent"]["waiting"], [])
        self.assertEqual(self.use("list_agents")["structuredContent"]["agents"], ["default"])
        other = self.ask("tools/call", {"name": "get_session", "arguments": {"session_id": name}}, who="bob")["result"]
        self.assertTrue(other["isError"])
        reads = self.ask("tools/call", {"name": "run_agent", "arguments": {"message": "x"}}, who="reader")["result"]
        self.assertTrue(reads["isError"])

    def test_the_stateless_era(self):
        self.serve_http()
        found = self.modern("server/discover")["result"]
        self.assertEqual((found["supportedVersions"], found["resultType"]), (["2026-07-28"], "complete"))
        found = self.modern("tools/list")["result"]
        self.assertEqual((found["ttlMs"], found["cacheScope"]), (0, "private"))
        self.assertEqual(self.modern("tools/call", name="list_agents")["result"]["resultType"], "complete")
        self.assertEqual(self.modern("initialize", 404)["error"]["code"], -32601)
        wrong = self.ask("tools/list", {"_meta": META}, 400, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call")
        self.assertEqual(wrong["error"]["code"], -32020)
        wrong = self.ask("tools/list", {}, 400, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/list")
        self.assertEqual(wrong["error"]["code"], -32602)
        other = dict(META, **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})
        self.assertEqual(self.ask("tools/list", {"_meta": other}, 400, Mcp_Method="tools/list")["error"]["code"], -32022)

    def test_over_standard_input(self):
        self.serve([{"text": "Four."}])
        self.serve_http()
        lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": "a", "method": "tools/list"},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run_agent", "arguments": {"message": "Two and two?"}}},
                 {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list_agents", "_meta": META}}]
        text = "\n".join(map(json.dumps, lines)) + "\nnonsense\n"
        env = dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"])
        ended = self.good("mcp", "--server", "http://127.0.0.1:%d/" % self.port, stdin=text, env=env)
        found = {m.get("id"): m for m in map(json.loads, ended.out.splitlines())}
        self.assertEqual(set(found), {0, "a", 2, 3, None})
        self.assertEqual(found[2]["result"]["structuredContent"]["output"], "Four.")
        self.assertEqual(found[3]["result"]["resultType"], "complete")
        self.assertEqual(found[None]["error"]["code"], -32700)
        ended = self.good("mcp", "--server", "http://127.0.0.1:%d" % self.port, stdin=json.dumps(lines[0]) + "\n",
                          env=dict(env, THOLE_TOKEN="wrong-token-0123456789"))
        self.assertIn("401", json.loads(ended.out)["error"]["message"])
        self.assertNotIn("wrong-token", ended.out + ended.err)
        self.bad(2, "THOLE_TOKEN", "mcp", stdin="")

    def test_what_is_wrong(self):
        self.serve_http()
        self.assertEqual(self.ask("nothing")["error"]["code"], -32601)
        self.assertEqual(self.ask("tools/call", {"name": "none"})["error"]["code"], -32602)
        self.assertIn("message", self.use("run_agent")["content"][0]["text"])
        self.assertTrue(self.use("get_session", session_id="x")["isError"])
        self.assertEqual(self.call("POST", "/mcp", b"{", headers=BOTH).json()["error"]["code"], -32700)
        self.assertEqual(self.call("POST", "/mcp", {}, headers={"Accept": "application/json"}).status, 406)
        self.assertEqual(self.call("GET", "/mcp").status, 405)
        self.assertEqual(self.ask("ping")["result"], {})


if __name__ == "__main__":
    unittest.main()
