# SPDX-License-Identifier: Apache-2.0
"""thole serve under /v1: the Responses, Chat Completions and Messages APIs, as their clients use them."""

import json
import pathlib
import unittest

import serving

WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}
CALL = {"function_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Face(serving.Served):
    def begin(self, *turns, agents=()):
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\nserve:\n  models: [gpt-5.4]\n")
        if turns:
            self.serve(*turns)
        folder = self.folder / "agents"
        folder.mkdir()
        for name, text in agents:
            (folder / (name + ".yaml")).write_text(text)
        self.serve_http("--agents", folder, "--workspaces", self.work)

    def respond(self, status=200, **body):
        body.setdefault("model", "gpt-5.4")
        return self.good_call("POST", "/v1/responses", body, status=status)

    def frames(self, path, body, who="alice"):
        answer = self.call("POST", path, dict(body, stream=True), who=who)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        found = []
        for block in answer.body.decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
            if "data" in lines:
                found.append((lines.get("event"), lines["data"] if lines["data"] == "[DONE]" else json.loads(lines["data"])))
        return found


class Responses(Face):
    def test_one_and_one_that_goes_on(self):
        self.begin([{"text": "Hello."}], [{"text": "Again."}], [{"text": "Otherwise."}])
        one = self.respond(input="Say hello.", instructions="Be brief.", metadata={"k": "v"})
        self.assertEqual((one["status"], one["output"][0]["content"][0]["text"]), ("completed", "Hello."))
        self.assertEqual((one["metadata"], one["instructions"], one["model"]), ({"k": "v"}, "Be brief.", "gpt-5.4"))
        self.assertGreater(one["usage"]["total_tokens"], 0)
        two = self.respond(input="And again.", instructions="Be brief.", metadata={"k": "v"}, previous_response_id=one["id"])
        self.assertEqual(two["id"].rsplit("_", 1)[0], one["id"].rsplit("_", 1)[0], "the same session goes on")
        self.assertEqual(two["previous_response_id"], one["id"])
        last = self.standin.requests()[-1]
        three = self.respond(input="Branch.", instructions="Be long.", previous_response_id=one["id"])
        self.assertNotEqual(three["id"].rsplit("_", 1)[0], one["id"].rsplit("_", 1)[0])
        for made in (one, two, three):
            got = self.good_call("GET", "/v1/responses/" + made["id"])
            for name in ("status", "output", "usage", "created_at", "instructions", "metadata"):
                if name != "created_at":
                    self.assertEqual(got[name], made[name], name)
        self.assertTrue(last)
        items = self.good_call("GET", "/v1/responses/%s/input_items" % two["id"])
        self.assertEqual([i["content"][0]["text"] for i in items["data"]], ["And again."])
        self.assertEqual(self.call("GET", "/v1/responses/" + one["id"], who="bob").status, 404)
        self.assertEqual(self.respond(status=400, input="x", previous_response_id="resp_none")["error"]["code"], "previous_response_not_found")

    def test_a_function_of_the_client(self):
        self.begin([CALL], [{"text": "It rains in Oslo."}])
        one = self.respond(input="Weather in Oslo?", tools=[WEATHER])
        self.assertEqual(one["status"], "completed")
        call = [i for i in one["output"] if i["type"] == "function_call"][0]
        self.assertEqual((call["name"], json.loads(call["arguments"])), ("get_weather", {"city": "Oslo"}))
        self.assertEqual(self.good_call("GET", "/v1/responses/" + one["id"])["output"], one["output"])
        wrong = self.respond(status=400, input=[{"type": "function_call_output", "call_id": "call_missing", "output": "x"}], tools=[WEATHER],
                             previous_response_id=one["id"])
        self.assertIn("No tool call found", wrong["error"]["message"])
        none = self.respond(status=400, input="Well?", tools=[WEATHER], previous_response_id=one["id"])
        self.assertIn("No tool output found", none["error"]["message"])
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}], tools=[WEATHER],
                           previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "It rains in Oslo.")

    def test_a_function_answered_after_the_server_was_killed(self):
        self.begin([CALL], [{"text": "Rain."}])
        one = self.respond(input="Weather in Oslo?", tools=[WEATHER])
        call = [i for i in one["output"] if i["type"] == "function_call"][0]
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}], tools=[WEATHER],
                           previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")

    def test_the_whole_conversation_in_each_request(self):
        self.begin([{"text": "Not asked."}], [{"text": "It rains."}])
        answer = self.respond(tools=[WEATHER], input=[
            {"role": "user", "content": "Weather?"},
            {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "rain"}])
        self.assertEqual(answer["output"][-1]["content"][0]["text"], "It rains.")

    def test_a_stream(self):
        self.begin([{"text": "One two three."}])
        found = self.frames("/v1/responses", {"model": "gpt-5.4", "input": "Count."})
        self.assertEqual(found[-1], (None, "[DONE]"))
        events = [f[1] for f in found[:-1]]
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertTrue(all(name == data["type"] for name, data in found[:-1]))
        kinds = [e["type"] for e in events]
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"])
        self.assertEqual("".join(e["delta"] for e in events if e["type"] == "response.output_text.delta"), "One two three.")
        self.assertEqual(events[-1]["response"]["output"][0]["content"][0]["text"], "One two three.")

    def test_a_stream_of_a_call(self):
        self.begin([CALL])
        found = self.frames("/v1/responses", {"model": "gpt-5.4", "input": "Weather?", "tools": [WEATHER]})
        done = [d for n, d in found if n == "response.function_call_arguments.done"]
        self.assertEqual(json.loads(done[0]["arguments"]), {"city": "Oslo"})

    def test_an_agent_runs_its_own_tools(self):
        self.begin([shell("echo made > made; cat made")], [{"text": "Made."}], agents=[("worker", "name: worker\ntools: [shell]\n")])
        answer = self.respond(model="worker", input="Make it.")
        call = answer["output"][0]
        self.assertEqual((call["type"], call["name"], call["server_label"], call["status"]), ("mcp_call", "shell", "thole", "completed"))
        self.assertIn("made", call["output"])
        self.assertEqual(answer["output"][1]["content"][0]["text"], "Made.")

    def test_in_the_background(self):
        self.begin([shell("sleep 0.5; echo x")], [{"text": "Later."}], [shell("sleep 30")], agents=[("worker", "name: worker\ntools: [shell]\n")])
        one = self.respond(model="worker", input="Take your time.", background=True)
        self.assertIn(one["status"], ("queued", "in_progress"))
        path = "/v1/responses/" + one["id"]
        self.wait_for(lambda: self.good_call("GET", path)["status"] not in ("queued", "in_progress"))
        got = self.good_call("GET", path)
        self.assertEqual((got["status"], got["output"][-1]["content"][0]["text"]), ("completed", "Later."))
        again = self.call("GET", "/v1/responses/%s?stream=true&starting_after=1" % one["id"])
        numbers = [json.loads(line[6:])["sequence_number"] for line in again.body.decode().split("\n") if line.startswith("data: {")]
        self.assertEqual(numbers, list(range(2, 2 + len(numbers))))
        two = self.respond(model="worker", input="Sleep.", background=True)
        ended = self.good_call("POST", "/v1/responses/%s/cancel" % two["id"], {})
        self.assertEqual(ended["status"], "cancelled")
        self.assertEqual(self.good_call("POST", "/v1/responses/%s/cancel" % two["id"], {})["status"], "cancelled")

    def test_what_may_not_be_asked(self):
        self.begin()
        self.assertEqual(self.respond(status=404, model="gpt-4", input="x")["error"]["code"], "model_not_found")
        self.assertIn("model is missing", self.good_call("POST", "/v1/responses", {"input": "x"}, status=400)["error"]["message"])
        self.assertIn("input is missing", self.respond(status=400)["error"]["message"])
        self.assertIn("conversation", self.respond(status=400, input="x", conversation="conv_1")["error"]["message"])
        self.assertEqual([m["id"] for m in self.good_call("GET", "/v1/models")["data"]], ["default", "gpt-5.4"])
        self.assertEqual(self.good_call("GET", "/v1/models/gpt-5.4")["id"], "gpt-5.4")
        self.assertEqual(self.call("GET", "/v1/models/none").status, 404)


class Others(Face):
    def test_chat(self):
        self.begin([{"text": "Hi."}])
        body = {"model": "gpt-5.4", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]}
        answer = self.good_call("POST", "/v1/chat/completions", body)
        self.assertEqual((answer["object"], answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"]),
                         ("chat.completion", "Hi.", "stop"))
        found = self.frames("/v1/chat/completions", dict(body, stream_options={"include_usage": True}))
        self.assertEqual(found[-1][1], "[DONE]")
        chunks = [f[1] for f in found[:-1]]
        self.assertEqual("".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]), "Hi.")
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "stop")
        self.assertGreater(chunks[-1]["usage"]["total_tokens"], 0)

    def test_chat_calls(self):
        self.begin([CALL], [{"text": "Rain."}])
        tools = [{"type": "function", "function": {k: v for k, v in WEATHER.items() if k != "type"}}]
        messages = [{"role": "user", "content": "Weather in Oslo?"}]
        answer = self.good_call("POST", "/v1/chat/completions", {"model": "gpt-5.4", "messages": messages, "tools": tools})
        said = answer["choices"][0]
        self.assertEqual(said["finish_reason"], "tool_calls")
        call = said["message"]["tool_calls"][0]
        self.assertEqual(json.loads(call["function"]["arguments"]), {"city": "Oslo"})
        messages += [said["message"], {"role": "tool", "tool_call_id": call["id"], "content": "rain"}]
        answer = self.good_call("POST", "/v1/chat/completions", {"model": "gpt-5.4", "messages": messages, "tools": tools})
        self.assertEqual(answer["choices"][0]["message"]["content"], "Rain.")

    def test_messages(self):
        self.begin([{"text": "Hi."}])
        body = {"model": "gpt-5.4", "max_tokens": 1000, "system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}]}
        answer = self.good_call("POST", "/v1/messages", body)
        self.assertEqual((answer["type"], answer["content"], answer["stop_reason"]), ("message", [{"type": "text", "text": "Hi."}], "end_turn"))
        found = self.frames("/v1/messages", body)
        self.assertEqual([f[0] for f in found if f[0] != "content_block_delta"],
                         ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"])
        self.assertEqual("".join(f[1]["delta"]["text"] for f in found if f[0] == "content_block_delta"), "Hi.")
        answer = self.good_call("POST", "/v1/messages", dict(body, model="none"), status=404)
        self.assertEqual((answer["type"], answer["error"]["type"]), ("error", "not_found_error"))

    def test_messages_calls(self):
        self.begin([CALL], [{"text": "Rain."}])
        body = {"model": "gpt-5.4", "max_tokens": 1000}
        tools = [{"name": "get_weather", "description": "The weather.", "input_schema": WEATHER["parameters"]}]
        messages = [{"role": "user", "content": "Weather in Oslo?"}]
        answer = self.good_call("POST", "/v1/messages", dict(body, messages=messages, tools=tools))
        self.assertEqual(answer["stop_reason"], "tool_use")
        call = answer["content"][-1]
        self.assertEqual((call["type"], call["name"], call["input"]), ("tool_use", "get_weather", {"city": "Oslo"}))
        messages += [{"role": "assistant", "content": answer["content"]},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "rain"}]}]
        answer = self.good_call("POST", "/v1/messages", dict(body, messages=messages, tools=tools))
        self.assertEqual(answer["content"][-1]["text"], "Rain.")


if __name__ == "__main__":
    unittest.main()
