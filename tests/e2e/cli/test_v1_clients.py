# SPDX-License-Identifier: Apache-2.0
"""thole serve under /v1, as programs that others wrote use it: what Codex and Claude Code send, made small."""

import json
import unittest

from test_v1 import Face, WEATHER

SPACE = {"type": "namespace", "name": "mcp__weather", "description": "Tools of a server.",
         "tools": [dict(WEATHER, strict=False), dict(WEATHER, name="get_wind", strict=False)]}
LONG = {"type": "namespace", "name": "mcp." + "s" * 40, "description": "", "tools": [dict(WEATHER, name="t" * 40)]}
FULL = "mcp__weather__get_weather"
CALL = {"function_call": {"name": FULL, "arguments": {"city": "Oslo"}}}


def many(count, words):
    return [dict(WEATHER, name="tool_%d" % i, description="word " * words) for i in range(count)]


class Namespaces(Face):
    """Codex has the tools of each MCP server in a namespace."""

    def test_a_call_and_its_result(self):
        self.begin([CALL], [{"text": "Rain."}])
        one = self.respond(input="Oslo?", tools=[SPACE, WEATHER], store=False, parallel_tool_calls=True)
        call, = (i for i in one["output"] if i["type"] == "function_call")
        self.assertEqual((call["namespace"], call["name"]), ("mcp__weather", "get_weather"))
        self.assertEqual(one["tools"][0], SPACE)
        self.assertEqual([t["name"] for t in self.sent()["tools"]], [FULL, "mcp__weather__get_wind", "get_weather"])
        given = [{"role": "user", "content": "Oslo?"}, {k: v for k, v in call.items() if k not in ("id", "status")},
                 {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}]
        two = self.respond(input=given, tools=[SPACE, WEATHER], store=False)
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")
        sent, = (i for i in self.sent()["input"] if i["type"] == "function_call")
        self.assertEqual((sent["name"], sent.get("namespace")), (FULL, None))

    def test_a_stream_and_what_is_stored(self):
        self.begin([CALL], [{"text": "Rain."}])
        frames = [f[1] for f in self.frames("/v1/responses", {"model": "gpt-5.4", "input": "Oslo?", "tools": [SPACE]}) if f[0]]
        call, = (f["item"] for f in frames if f["type"] == "response.output_item.done" and f["item"]["type"] == "function_call")
        self.assertEqual((call["namespace"], call["name"]), ("mcp__weather", "get_weather"))
        name = frames[-1]["response"]["id"]
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        read = self.good_call("GET", "/v1/responses/" + name)
        self.assertEqual((read["output"], read["tools"]), ([call], [SPACE]))
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}], tools=[SPACE], previous_response_id=name)
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")

    def test_names(self):
        """A name that no tool can have gets an end of its own; a choice names a tool as the client does."""
        self.begin([{"text": "No."}], [{"text": "No."}], [{"text": "No."}])
        self.respond(input="x", tools=[LONG])
        name, = (t["name"] for t in self.sent()["tools"])
        self.assertRegex(name, "^mcp_s{40}__t{9}_[0-9a-f]{8}$")
        self.respond(input="x", tools=[SPACE], tool_choice={"type": "function", "namespace": "mcp__weather", "name": "get_wind"})
        self.assertEqual(self.sent()["tool_choice"], {"type": "function", "name": "mcp__weather__get_wind"})
        wrong = self.respond(status=400, input="x", tools=[SPACE], tool_choice={"type": "function", "name": "get_wind"})
        self.assertEqual(wrong["error"]["param"], "tool_choice")


SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds tools.",
          "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"], "additionalProperties": False}}


class FoundTools(Face):
    """Codex lets its newer models search for the tools of MCP servers, and gives the newest all of their tools in the input."""

    def test_a_search(self):
        self.begin([{"function_call": {"name": "tool_search", "arguments": {"query": "rain"}}}], [CALL], [{"text": "Rain."}])
        given = [{"role": "user", "content": "Oslo?"}]
        one = self.respond(input=given, tools=[SEARCH], store=False)
        search, = one["output"]
        self.assertEqual({k: v for k, v in search.items() if k not in ("id", "call_id")},
                         {"type": "tool_search_call", "execution": "client", "arguments": {"query": "rain"}, "status": "completed"})
        self.assertEqual([t["name"] for t in self.sent()["tools"]], ["tool_search"])
        found = {"type": "tool_search_output", "call_id": search["call_id"], "execution": "client", "status": "completed",
                 "tools": [dict(SPACE, tools=[dict(t, defer_loading=True) for t in SPACE["tools"]])]}
        given += [search, found]
        two = self.respond(input=given, tools=[SEARCH], store=False)
        call, = two["output"]
        self.assertEqual((call["type"], call["namespace"], call["name"]), ("function_call", "mcp__weather", "get_weather"))
        self.assertEqual([t["name"] for t in self.sent()["tools"]], ["tool_search", FULL, "mcp__weather__get_wind"])
        given += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}, dict(found, call_id=None)]
        three = self.respond(input=given, tools=[SEARCH], store=False)
        self.assertEqual(three["output"][-1]["content"][0]["text"], "Rain.")
        sent = self.sent()["input"]
        self.assertEqual([i["type"] for i in sent], ["message", "function_call", "function_call_output", "function_call", "function_call_output"])
        self.assertEqual((sent[1]["name"], json.loads(sent[1]["arguments"])), ("tool_search", {"query": "rain"}))
        self.assertIn(FULL, sent[2]["output"])

    def test_a_stream_of_a_search(self):
        self.begin([{"function_call": {"name": "tool_search", "arguments": {"query": "rain"}}}])
        frames = [f[1] for f in self.frames("/v1/responses", {"model": "gpt-5.4", "input": "Oslo?", "tools": [SEARCH]}) if f[0]]
        item, = (f["item"] for f in frames if f["type"] == "response.output_item.done")
        self.assertEqual(item["type"], "tool_search_call")
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        self.assertEqual(self.good_call("GET", "/v1/responses/" + frames[-1]["response"]["id"])["output"], [item])

    def test_tools_of_the_input(self):
        self.begin([{"custom_call": {"name": "functions__exec", "input": "text('hi')"}}], [{"text": "Done."}])
        tools = [{"type": "namespace", "name": "functions", "description": "", "tools": [{"type": "custom", "name": "exec", "description": "Runs JavaScript."}]}]
        given = [{"type": "additional_tools", "id": "at_1", "role": "developer", "tools": tools}, {"role": "user", "content": "go"}]
        one = self.respond(input=given, store=False)
        call, = one["output"]
        self.assertEqual((call["type"], call["namespace"], call["name"], call["input"]), ("custom_tool_call", "functions", "exec", "text('hi')"))
        given += [call, {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "hi"}]
        self.assertEqual(self.respond(input=given, store=False)["output"][-1]["content"][0]["text"], "Done.")

    def test_what_was_brought_before(self):
        """Over a WebSocket Codex says only what is new; the tools of an earlier input are still there."""
        self.begin([CALL], [{"function_call": {"name": "get_wind", "arguments": {"city": "Oslo"}}}], [{"text": "Rain."}])
        one = self.respond(input=[{"type": "additional_tools", "role": "developer", "tools": [SPACE]}, {"role": "user", "content": "Oslo?"}], tools=[WEATHER])
        result = {"type": "function_call_output", "call_id": one["output"][-1]["call_id"], "output": "rain"}
        found = {"type": "additional_tools", "role": "developer", "tools": [dict(WEATHER, name="get_wind"), SPACE]}
        two = self.respond(input=[result, found], tools=[WEATHER], previous_response_id=one["id"])
        names = ["get_weather", FULL, "mcp__weather__get_wind", "get_wind"]
        self.assertEqual([t["name"] for t in self.sent()["tools"]], names)
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        result["call_id"] = two["output"][-1]["call_id"]
        three = self.respond(input=[result], tools=[WEATHER], previous_response_id=two["id"])
        self.assertEqual(three["output"][-1]["content"][0]["text"], "Rain.")
        self.assertEqual([t["name"] for t in self.sent()["tools"]], names)
        self.assertEqual(len(self.log_of(two)), len(self.log_of(three)), "the same session goes on")

    def test_how_many(self):
        """TH_AGENT_TOOLS_MAX with those of the input."""
        self.begin([{"text": "Hi."}])
        for count, status in ((128, 200), (129, 400)):
            given = [{"type": "additional_tools", "role": "developer", "tools": many(count, 1)}, {"role": "user", "content": "x"}]
            self.respond(status=status, input=given)


class ManyTools(Face):
    """Claude Code sends 80 KB of tools, and more with servers of its user's."""

    def test_of_messages(self):
        self.begin([{"text": "Hi."}])
        tools = [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in many(60, 800)]
        body = {"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}], "tools": tools}
        self.assertEqual(self.good_call("POST", "/v1/messages", body)["content"][0]["text"], "Hi.")
        self.assertEqual([t["description"] for t in self.sent()["tools"]], [t["description"] for t in tools])

    def test_of_responses(self):
        """What is read again has their names; a call is answered after the server was killed."""
        self.begin([{"function_call": {"name": "tool_7", "arguments": {"city": "Oslo"}}}], [{"text": "Rain."}])
        tools = [*many(60, 800), dict(SPACE, tools=many(2, 800))]
        one = self.respond(input="Oslo?", tools=tools, instructions="Be brief.")
        self.assertEqual([t.get("description") for t in one["tools"]], [t["description"] for t in tools])
        call, = one["output"]
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        read = self.good_call("GET", "/v1/responses/" + one["id"])
        self.assertEqual([t["name"] for t in read["tools"]], [t["name"] for t in tools])
        self.assertEqual(read["tools"][0], {"type": "function", "name": "tool_0", "description": None, "parameters": None, "strict": None})
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}], tools=tools, instructions="Be brief.",
                           previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")
        self.assertEqual(len(self.log_of(one)), len(self.log_of(two)), "the same session goes on")

    def test_too_many(self):
        """TH_SERVE_ECHO_MAX bytes of what the answer repeats."""
        self.begin([{"text": "Hi."}])
        tools = [dict(WEATHER, name="tool_%d" % i, description="x" * 10000) for i in range(100)]
        one = self.respond(input="x", tools=tools)
        repeated = [k for k in one if k not in ("id", "object", "created_at", "completed_at", "status", "background", "store", "error", "incomplete_details",
                                                "previous_response_id", "output", "usage")]
        room = (1 << 20) - len(json.dumps({k: one[k] for k in repeated}, separators=(",", ":")))
        for more, status in ((room, 200), (room + 1, 413)):
            tools[0]["description"] = "x" * (10000 + more)
            answer = self.respond(status=status, input="x", tools=tools)
            if status == 413:
                self.assertIn("larger than 1048576 bytes", answer["error"]["message"])


if __name__ == "__main__":
    unittest.main()
