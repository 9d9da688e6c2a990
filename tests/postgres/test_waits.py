# SPDX-License-Identifier: Apache-2.0
"""A database that says nothing for a while: whoever needs it waits, and nobody else does."""

import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import WithNodes

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}


class Asker(threading.Thread):
    """One request, which is answered when that can be."""

    def __init__(self, node, *request, **more):
        super().__init__(daemon=True)
        self.node, self.request, self.more, self.answer = node, request, more, None
        self.start()

    def run(self):
        self.answer = self.node.call(*self.request, **self.more)


class Alone:
    """A server of no fleet: what asks the store first is the handler."""

    def __init__(self, test):
        test.serve_http("--agents", test.agents, "--workspaces", test.work)
        self.call, self.good, self.end = test.call, test.good_call, test.end_http


class Waits(WithNodes):
    def tool(self, name, **arguments):
        body = {**CALL, "params": {**CALL["params"], "name": name, "arguments": arguments}}
        return ("POST", "/mcp", body), {"headers": {"Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call",
                                                    "Mcp-Name": name, "MCP-Protocol-Version": "2026-07-28"}}

    def said(self, context):
        message = {"messageId": "m", "role": "ROLE_USER", "contextId": context, "parts": [{"text": "Go on."}]}
        return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}

    def stored(self, first):
        """Sessions that nobody has: some of /api, a response, a conversation."""
        for name in ("one", "two", "three"):
            first.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, 201)
        self.response = first.good("POST", "/v1/responses", {"model": "worker", "input": "Go."})["id"]
        item = {"type": "message", "role": "user", "content": "Remember this."}
        self.conversation = first.good("POST", "/v1/conversations", {"items": [item]})["id"]
        for name in ("one", "two", "three"):
            self.wait_for(lambda: self.state(name) == "finished")
        self.assertEqual(first.end(), 0)

    def test_alone(self):
        self.serve_steps("echo x >> made", turns=1)
        self.stored(Alone(self))
        self.nobody_else_waits(Alone(self))

    def test_in_a_fleet(self):
        self.serve_steps("echo x >> made", turns=1)
        self.stored(self.node("n1"))
        self.nobody_else_waits(self.node("n2"))

    def nobody_else_waits(self, node):
        asked = [
            (("GET", "/api/sessions/one"), 200),
            (("GET", "/api/sessions"), 200),
            (("GET", "/api/sessions/one/items"), 200),
            (("GET", "/api/sessions/one/events"), 200),
            (("GET", "/api/sessions/one/export"), 200),
            (("GET", "/api/waiting"), 200),
            (("GET", "/api/usage"), 200),
            (("GET", "/api/quota"), 200),
            (("PATCH", "/api/sessions/one", {"title": "Another"}), 200),
            (("POST", "/api/sessions/two/messages", {"text": "Go on."}), 202),
            (("POST", "/api/sessions/three/approve", {}), 404),
            (("POST", "/api/sessions/one/fork", {"id": "four"}), 201),
            (("POST", "/api/sessions", {"agent": "worker", "id": "five", "message": "Go."}), 201),
            (("GET", "/v1/responses/" + self.response), 200),
            (("GET", "/v1/responses/" + self.response + "/input_items"), 200),
            (("POST", "/v1/responses", {"model": "worker", "input": "And?", "previous_response_id": self.response}), 200),
            (("GET", "/v1/conversations/" + self.conversation), 200),
            (("GET", "/v1/conversations/" + self.conversation + "/items"), 200),
            (("POST", "/a2a/worker", self.said("six")), 200),
        ]
        more = [self.tool("list_sessions"), self.tool("get_session", session_id="one"), self.tool("list_waiting")]
        self.postgres.signal(signal.SIGSTOP)
        try:
            askers = []
            for request, status in asked:
                askers.append((Asker(node, *request), status))
                self.assertEqual(node.call("GET", "/healthz", who=None).status, 200)
            for request, how in more:
                askers.append((Asker(node, *request, **how), 200))
                self.assertEqual(node.call("GET", "/healthz", who=None).status, 200)
            self.assertEqual(node.call("GET", "/api/agents").status, 200)
            self.assertEqual([asker.request for asker, _ in askers if asker.answer], [])  # none could be
        finally:
            self.postgres.signal(signal.SIGCONT)
        for asker, status in askers:
            asker.join(house.SECONDS)
            self.assertIsNotNone(asker.answer, asker.request)
            self.assertEqual(asker.answer.status, status, (asker.request, asker.answer))
        for name in ("two", "five"):
            self.wait_for(lambda: self.state(name) == "finished")


if __name__ == "__main__":
    server.run(house.main)
