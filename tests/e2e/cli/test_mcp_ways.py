# SPDX-License-Identifier: Apache-2.0
"""An agent's servers of tools (MCP), what not all of them do: the older form of HTTP, tasks, answers of the model, logs and
completion, restarts, and servers that many sessions share."""

import json

import house
from test_mcp_client import Http, call


class Ways(Http):
    def test_old(self):
        """HTTP+SSE of 2024-11-05, found by what it refuses: calls, a token, a stream that ends, and a place that is another's."""
        self.env["MCP_TOKEN"] = "secret-token-1234"
        agent = self.address(self.begin("--era", "legacy", "--old", "--token", "secret-token-1234"), token_env="MCP_TOKEN")
        self.serve({"parts": [call("t_add", a=19, b=23), call("t_roots")]}, {"parts": [call("t_crash")]}, {"parts": [call("t_draw")]},
                   {"parts": [{"text": "Done."}]})
        self.good("run", "-a", agent, "-s", "old", "go")
        add, roots, crash, draw = self.outcomes("old")
        self.assertEqual((add["status"], add["output"]), ("done", "42"))
        self.assertEqual((roots["status"], roots["output"]), ("done", "file://%s" % self.work))
        self.assertEqual(crash["status"], "unknown")
        self.assertIn("the stream of the server t has ended", json.dumps(crash["output"]))
        self.assertEqual(draw["status"], "done")
        received = [json.loads(line) for line in (self.work / "received.jsonl").read_text().splitlines()]
        self.assertEqual({r["headers"].get("authorization") for r in received}, {"Bearer secret-token-1234"})
        self.assertEqual(len(self.received("server/discover")), 1)
        self.assertEqual([r["path"] for r in received if r["http"] == "GET"], ["/mcp", "/mcp"])
        self.assertEqual(len(self.received("tools/call")), 4)
        self.standin.end()

        self.serve({"parts": [{"text": "never asked"}]})
        self.violations = False
        ended = self.good("run", "-a", self.address(self.begin("--era", "legacy", "--old", "--fault", "elsewhere")), "-s", "e", "go", code=1)
        self.assertIn("names an address for messages of another place", ended.out)


for inherited in [name for name in dir(Http) if name.startswith("test_") and name not in vars(Ways)]:
    setattr(Ways, inherited, None)  # they run in test_mcp_client
del Http

if __name__ == "__main__":
    house.main()
