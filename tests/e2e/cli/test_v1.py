# SPDX-License-Identifier: Apache-2.0
"""thole serve under /v1: the Responses, Chat Completions and Messages APIs, as their clients use them."""

import base64
import contextlib
import json
import pathlib
import re
import socket
import threading
import unittest
import uuid

import house
import serving
import websocket

WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}
CALL = {"function_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}


def socket_of_nobody():
    """It listens, and never answers."""
    return socket.create_server(("127.0.0.1", 0))


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Cutter:
    """A model whose first answer ends in the middle, and whose second says `second`."""

    def __init__(self, first, second):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/v1" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, args=(first, second))
        self.thread.start()

    @staticmethod
    def events(text, whole):
        item = {"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []}
        yield {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress", "model": "gpt-5.4", "output": []}}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        yield {"type": "response.content_part.added", "item_id": "msg_1", "output_index": 0, "content_index": 0,
               "part": {"type": "output_text", "text": "", "annotations": []}}
        for word in re.findall(r"\S+ ?", text):
            yield {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word}
        done = dict(item, status="completed", content=[{"type": "output_text", "text": text, "annotations": []}])
        if whole:
            yield {"type": "response.output_item.done", "output_index": 0, "item": done}
            yield {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.4", "output": [done],
                                                             "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}}

    def parts(self, first, second):
        return (first, False), (second, True)

    def run(self, first, second):
        for text, whole in self.parts(first, second):
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as reader:
                length = 0
                while (line := reader.readline().strip()):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                reader.read(length)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
                for number, event in enumerate(self.events(text, whole)):
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it hears no more of an answer that is another
                        connection.sendall(("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(dict(event, sequence_number=number)))).encode())

    def end(self):
        self.thread.join(house.SECONDS)
        self.listener.close()


class Face(serving.Served):
    def begin(self, *turns, agents=(), models="gpt-5.4"):
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\nserve:\n  models: [%s]\n" % models)
        if turns:
            self.bodies = self.folder / "bodies"
            self.bodies.mkdir()
            self.standin = house.Standin(self.folder, {"turns": list(turns)}, "--bodies", str(self.bodies))
            self.env.update(OPENAI_BASE_URL=self.standin.url, ANTHROPIC_BASE_URL=self.standin.url[:-len("/v1")])
        folder = self.folder / "agents"
        folder.mkdir()
        for name, text in agents:
            (folder / (name + ".yaml")).write_text(text)
        self.serve_http("--agents", folder, "--workspaces", self.work)

    def sent(self):
        """The body of the newest request to the model."""
        return json.loads(sorted(self.bodies.iterdir(), key=lambda p: p.stat().st_mtime_ns)[-1].read_bytes())

    def respond(self, status=200, **body):
        body.setdefault("model", "gpt-5.4")
        return self.good_call("POST", "/v1/responses", body, status=status)

    def log_of(self, response):
        digits = response["id"].split("_")[1]
        name = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return self.good_call("GET", "/api/sessions/%s/events" % name)["events"]

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


class Damage(Face):
    def test_a_log_that_cannot_be_read(self):
        """It is said, and is no response that is not there."""
        self.begin([{"text": "Hello."}])
        one = self.respond(input="Say hello.")
        self.end_http()
        with self.event_missing(3):
            self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
            path = "/v1/responses/" + one["id"]
            for answer in (self.call("GET", path), self.call("GET", path + "/input_items"), self.call("DELETE", path),
                           self.call("POST", "/v1/responses", {"model": "gpt-5.4", "input": "More.", "previous_response_id": one["id"]})):
                self.assertEqual(answer.status, 500, answer)
                self.assertIn("damaged", answer.json()["error"]["message"])
            lane = websocket.Socket(self.port, "/v1/responses", serving.TOKENS["alice"])
            lane.send({"type": "response.create", "model": "gpt-5.4", "input": "More.", "previous_response_id": one["id"]})
            said = lane.receive()
            self.assertEqual((said["type"], said["status"]), ("error", 500), said)
            lane.close()
            for before in ("resp_none", one["id"][:-1] + "7"):
                gone = self.call("POST", "/v1/responses", {"model": "gpt-5.4", "input": "x", "previous_response_id": before})
                self.assertEqual((gone.status, gone.json()["error"]["code"]), (400, "previous_response_not_found"), gone)
            self.end_http()


class Responses(Face):
    def test_each_has_the_agent_of_its_own_settings(self):
        """Agents of settings that were there before are used again, and of no others; six, so that some are made anew."""
        kinds = [{"temperature": 0.25}, {"temperature": 0.5}, {"instructions": "Be brief."}, {"tools": [WEATHER]}, {"max_output_tokens": 900}, {}]
        self.begin(*[[{"text": "Done."}]] * (3 * len(kinds)))
        for asked in [k for kind in kinds for k in (kind, kind)] + kinds:
            made = self.respond(input="Go.", **asked)
            self.assertEqual(made["status"], "completed")
            digits = made["id"].split("_")[1]
            name = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
            agent = self.good_call("GET", "/api/sessions/%s/events?limit=1" % name)["events"][0]["data"]["agent"]
            settings = agent.get("settings", {})
            self.assertEqual((settings.get("temperature"), settings.get("max_output_tokens"), agent.get("instructions"), agent["tools"]),
                             (asked.get("temperature"), asked.get("max_output_tokens"), asked.get("instructions"),
                              ["get_weather"] if "tools" in asked else ["none"]), asked)

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

    def test_a_policy_about_a_function_of_the_client(self):
        """An agent's rule about it holds where a request brings it, and keeps nobody from asking without it."""
        rules = "model: gpt-5.4\nrules:\n  - {tool: get_weather, decide: refuse}\nquarantine: [get_mail]\n"
        self.serve_rules([{"if": {"tail": "Weather in Oslo?"}, "parts": [CALL]}, {"parts": [{"text": "So be it."}]}])
        self.begin(agents=[("shy", rules)])
        for body in ({"input": "Weather in Oslo?", "tools": [WEATHER]}, {"input": "Say so."}):
            self.assertEqual(self.respond(model="shy", **body)["output"][-1]["content"][0]["text"], "So be it.")
        made = self.good_call("POST", "/api/sessions", {"agent": "shy", "message": "Go."}, status=201)
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/" + made["session_id"])["state"] == "finished")

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

    def test_a_function_answered_with_more_to_say_after_the_server_was_killed(self):
        self.begin([CALL], [{"text": "Rain, and cold."}])
        one = self.respond(input="Weather in Oslo?", tools=[WEATHER])
        call = [i for i in one["output"] if i["type"] == "function_call"][0]
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}, {"role": "user", "content": "Is it cold?"},
                                  {"role": "user", "content": "Say it."}], tools=[WEATHER], previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain, and cold.")
        said = json.dumps(self.sent()["input"])
        self.assertLess(said.index("rain"), said.index("Is it cold?"))
        self.assertLess(said.index("Is it cold?"), said.index("Say it."))

    def test_a_function_answered_with_words_of_the_model_s(self):
        """What the client has from elsewhere stays the assistant's, in its place; and a text stays whole, whatever is in it."""
        self.begin([CALL], [{"text": "Rain."}], [{"text": "Rain."}])
        for more, roles in (([{"role": "assistant", "content": "I have looked."}, {"role": "user", "content": "Say it."}], ["user", "assistant", "user"]), ([], ["user"])):
            with self.subTest(roles=roles):
                one = self.respond(input="Weather in Oslo?", tools=[WEATHER])
                call = [i for i in one["output"] if i["type"] == "function_call"][0]
                result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain" if more else "rain\0and wind"}
                two = self.respond(input=[result] + more, tools=[WEATHER], previous_response_id=one["id"])
                self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")
                sent = self.sent()["input"]
                self.assertEqual([i["role"] for i in sent if i.get("role")], roles)
                self.assertEqual([i["output"] for i in sent if i["type"] == "function_call_output"], [result["output"]])

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
        wrong = self.good_call("POST", "/v1/responses", {"input": "x"}, status=400)["error"]
        self.assertIn("model is missing", wrong["message"])
        self.assertEqual((wrong["param"], wrong["code"]), ("model", "missing_required_parameter"))
        wrong = self.good_call("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, status=400)["error"]
        self.assertEqual((wrong["param"], wrong["message"]), ("model", "model must be a string"))
        self.assertEqual(self.respond(status=400, input=5)["error"]["param"], "input")
        self.assertIn("input is missing", self.respond(status=400)["error"]["message"])
        self.assertEqual(self.respond(status=404, input="x", conversation="conv_1")["error"]["code"], "conversation_not_found")
        wrong = self.respond(status=400, input="x", metadata={"a": 1})["error"]
        self.assertEqual((wrong["param"], wrong["code"]), ("metadata", "invalid_value"))
        self.assertEqual(self.respond(status=400, input="x", prompt={"id": "p"})["error"]["param"], "prompt")
        self.assertEqual(self.respond(status=400, input="x", model="default", max_tool_calls=1)["error"]["param"], "max_tool_calls")
        self.assertEqual([m["id"] for m in self.good_call("GET", "/v1/models")["data"]], ["default", "gpt-5.4"])
        self.assertEqual(self.good_call("GET", "/v1/models/gpt-5.4")["id"], "gpt-5.4")
        self.assertEqual(self.call("GET", "/v1/models/none").status, 404)


    def test_no_more_than_so_many_on_a_socket(self):
        """One response is under way and 32 wait; the next is refused, and the socket stays."""
        with socket_of_nobody() as model:
            self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % model.getsockname()[1]
            self.begin()
            lane = websocket.Socket(self.port, "/v1/responses", serving.TOKENS["alice"])
            for _ in range(34):
                lane.send({"type": "response.create", "model": "gpt-5.4", "input": "x"})
            # The first one's events may stand before either.
            errors = (said for said in iter(lane.receive, None) if said["type"] == "error")
            said = next(errors)
            self.assertEqual((said["status"], said["error"]["code"]), (429, "rate_limit_exceeded"))
            lane.send(b"bytes")
            self.assertIn("messages are text", next(errors)["error"]["message"])
            lane.close()

    def test_words_that_are_none(self):
        """Each is one clear error, which names its member."""
        self.begin([{"text": "Yes."}], [{"text": "Yes."}])
        schema = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
        for param, value in (("truncation", "some"), ("include", ["nothing"]), ("top_logprobs", 1), ("stop", ["x"]),
                             ("tool_choice", {"type": "function", "name": "none"}), ("tool_choice", {"type": "web_search"}),
                             ("text.format.type", {"format": {"type": "xml"}}), ("text.format.schema", {"format": dict(schema, schema=None)})):
            with self.subTest(param=param, value=value):
                wrong = self.respond(status=400, input="x", tools=[WEATHER], **{param.split(".")[0]: value})["error"]
                self.assertEqual(wrong["param"], param, wrong)
        for path, bodies in (("/v1/chat/completions", ({"stop": "x"}, {"logprobs": True}, {"functions": [{"name": "f"}]}, {"audio": {"voice": "a"}}, {"logit_bias": {"1": 2}})),
                             ("/v1/messages", ({"stop_sequences": ["x"]}, {"tools": [{"name": "f", "input_schema": {"type": "object"}}],
                                                                          "tool_choice": {"type": "tool", "name": "g"}}))):
            for more in bodies:
                body = dict({"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}, **more)
                self.assertEqual(self.good_call("POST", path, body, status=400)["error"]["type"], "invalid_request_error", more)
        # What nobody would do is said; what only helps, or is not known, is passed over.
        for kind in ("computer", "computer_use_preview", "shell", "local_shell", "apply_patch", "mcp", "file_search", "code_interpreter"):
            wrong = self.respond(status=400, input="x", tools=[WEATHER, {"type": kind}])["error"]
            self.assertEqual((wrong["param"], "'%s'" % kind in wrong["message"]), ("tools", True), wrong)
        self.assertEqual(self.respond(status=400, input="x", tools={"type": "shell"})["error"]["param"], "tools")
        for kind in ("bash_20250124", "computer_20250124", "text_editor_20250728", "memory_20250818", "code_execution_20250825"):
            body = {"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}], "tools": [{"type": kind, "name": "x"}]}
            self.assertIn("'%s'" % kind, self.good_call("POST", "/v1/messages", body, status=400)["error"]["message"])
        passed = self.respond(input="Well?", tools=[{"type": "web_search"}, {"type": "namespace", "name": "n", "tools": []}, {"type": "acme:new"}])
        self.assertEqual((passed["status"], passed["tools"]), ("completed", []))
        # A picture of the store is named by nobody, and one that is none is no session's end.
        for part in ({"type": "image", "blob": "0" * 64, "media_type": "image/png"}, {"type": "image"}):
            item = {"role": "user", "content": [part]}
            self.assertIn("input_image", self.respond(status=400, input=[item])["error"]["message"])
            output = {"type": "function_call_output", "call_id": "c", "output": [part]}
            self.assertIn("input_image", self.respond(status=400, input=[output])["error"]["message"])
        # What the others are for is taken.
        answer = self.respond(input="x", truncation="disabled", include=["message.output_text.logprobs"], service_tier="flex", top_logprobs=0,
                              tools=[WEATHER], tool_choice={"type": "function", "name": "get_weather"}, stop=[])
        self.assertEqual((answer["status"], answer["service_tier"]), ("completed", "flex"))
        # Its tier is the session's priority; of a higher one than the user may have he gets what he may.
        session = self.good_call("GET", "/api/sessions/" + str(uuid.UUID(answer["id"].split("_")[1])))
        self.assertEqual(session["priority"], "low")
        self.assertEqual([self.good_call("POST", "/v1/responses", {"model": "gpt-5.4", "input": "x", "service_tier": "priority"}, who=who)["service_tier"]
                          for who in ("alice", "boss")], ["default", "priority"])
        self.assertEqual(self.respond(model="default", input="x", stop=["x"], tool_choice={"type": "function", "name": "none"})["status"], "completed")

    def test_contents_that_are_none(self):
        """What no model could be given is refused, and is no session's end."""
        self.begin([{"text": "Yes."}])
        made = self.good_call("POST", "/v1/conversations", {"items": [{"role": "user", "content": "x"}]})
        there = "/v1/conversations/" + made["id"]
        for content in ([[]], [True], [None], ["x"], [{"type": "input_text", "text": -1}], [{"type": "text"}], [{"type": "output_text", "text": None}], 5, {}, True):
            with self.subTest(content=content):
                item = {"role": "user", "content": content}
                self.respond(status=400, input=[item])
                self.respond(status=400, input=[{"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
                                                {"type": "function_call_output", "call_id": "c", "output": content}])
                self.good_call("POST", there + "/items", {"items": [item]}, status=400)
                self.good_call("POST", "/v1/conversations", {"items": [item]}, status=400)
                for path in ("/v1/chat/completions", "/v1/messages"):
                    answer = self.call("POST", path, {"model": "gpt-5.4", "max_tokens": 100, "messages": [item]})
                    self.assertIn(answer.status, (200, 400), answer)  # what they read as an empty text is one
        self.assertEqual(len(self.good_call("GET", there + "/items")["data"]), 1)
        self.assertEqual(self.respond(input="Well?", conversation=made["id"])["status"], "completed")

    def test_queries(self):
        """What a path does not know in them is passed over; a value that a known one cannot have is not."""
        self.begin([{"text": "One."}], [{"text": "Two."}], [{"text": "Three."}])
        one, made = self.respond(input="x"), self.good_call("POST", "/v1/conversations", {"items": [{"role": "user", "content": "x"}]})
        response, conversation = "/v1/responses/" + one["id"], "/v1/conversations/" + made["id"]
        said = {"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}
        for method, path, body in (("GET", "/v1/models", None), ("GET", "/v1/models/gpt-5.4", None), ("GET", response, None), ("GET", response + "/input_items", None),
                                   ("GET", conversation, None), ("GET", conversation + "/items", None), ("POST", conversation, {"metadata": {}}),
                                   ("POST", "/v1/messages/count_tokens", said), ("POST", "/v1/messages", said), ("POST", "/v1/chat/completions", said)):
            for query in ("?beta=true&api-version=2025-03-01&include[]=x&=&&orders",):
                self.good_call(method, path + query, body)
        for path, names in ((response, ("stream=yes", "stream=", "starting_after=x", "starting_after=-1")),
                            (response + "/input_items", ("order=up", "order=", "limit=0", "limit=101", "limit=x", "after=x")),
                            (conversation + "/items", ("order=ASC", "limit=1.5", "after=msg_1"))):
            for query in names:
                wrong = self.good_call("GET", path + "?x=y&" + query, status=400)["error"]
                self.assertIn(query.split("=")[0], (wrong["param"], wrong["message"].split()[0]), wrong)
        for query in ("stream=false", "order=desc"):
            self.good_call("GET", (response if "stream" in query else conversation + "/items") + "?" + query)

    def test_items_of_types_that_no_api_has(self):
        """They would stay in the conversation, and fail each response after it."""
        self.begin([{"text": "Fine."}])
        good = {"role": "user", "content": "x"}
        made = self.good_call("POST", "/v1/conversations", {"items": [good]})
        path = "/v1/conversations/" + made["id"]
        for kind in ("acme:new", "conversation", "item_reference", "compaction", "Message", "x" * 5000, "%n%s"):
            for to, where in (("/v1/conversations", 1), (path + "/items", 1)):
                wrong = self.good_call("POST", to, {"items": [good, {"type": kind, "id": "x", "encrypted_content": ""}]}, status=400)["error"]
                self.assertEqual((wrong["code"], wrong["param"], "'%s'" % kind[:100] in wrong["message"]), ("invalid_value", "items[%d]" % where, True), wrong)
        self.assertEqual(self.good_call("POST", path + "/items", {"items": ["x"]}, status=400)["error"]["param"], "items[0]")
        self.assertEqual(len(self.items_of(made)), 1)
        self.assertEqual(self.respond(input="Well?", conversation=made["id"])["status"], "completed")

    def test_what_the_model_refuses(self):
        """It is the caller's fault, and not the server's."""
        self.begin({"parts": [{"text": "No."}], "faults": [{"status": 400, "message": "Invalid value: 'robot'.", "times": -1}]})
        answer = self.respond(input="x")
        self.assertEqual((answer["status"], answer["error"]["code"]), ("failed", "invalid_prompt"))
        self.assertIn("robot", answer["error"]["message"])
        answer = self.call("POST", "/v1/responses/compact", {"model": "gpt-5.4", "input": "x"})
        self.assertEqual((answer.status, answer.headers["X-Should-Retry"]), (400, "false"))
        self.assertIn("robot", answer.json()["error"]["message"])
        ask = {"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}
        for path in ("/v1/chat/completions", "/v1/messages"):
            answer = self.call("POST", path, ask)
            self.assertEqual((answer.status, answer.headers["X-Should-Retry"]), (400, "false"))
            wrong = answer.json()["error"]
            self.assertEqual(wrong["type"], "invalid_request_error")
            self.assertIn("robot", wrong["message"])

    def test_a_key_the_server_lacks_is_not_the_callers_fault(self):
        """He is told that much; what is to be set is in the server's journal alone."""
        self.env.pop("ANTHROPIC_API_KEY", None)
        self.begin(agents=[("helper", "name: helper\nmodel: claude-sonnet-4-5\n")], models="gpt-5.4, claude-sonnet-4-5")
        said = [{"role": "user", "content": "x"}]
        for model in ("claude-sonnet-4-5", "helper"):
            for path, body, kind in (("/v1/messages", {"max_tokens": 100, "messages": said}, "api_error"),
                                     ("/v1/chat/completions", {"messages": said}, "server_error"),
                                     ("/v1/responses", {"input": "x"}, "server_error"),
                                     ("/v1/responses", {"input": "x", "stream": True, "store": False}, "server_error")):
                with self.subTest(model=model, path=path):
                    answer = self.call("POST", path, dict(body, model=model))
                    self.assertEqual((answer.status, answer.json()["error"]["type"]), (500, kind), answer)
                    self.assertIn("no key", answer.json()["error"]["message"])
                    self.assertNotRegex(repr(answer), "ANTHROPIC_API_KEY|api-key-file|config")
        answer = self.call("POST", "/api/sessions", {"agent": "helper", "message": "x"})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (500, "setup"), answer)
        self.assertNotIn("ANTHROPIC_API_KEY", repr(answer))
        self.assertIn("set ANTHROPIC_API_KEY", (self.folder / "journal").read_text())

    def test_who_may_ask_again(self):
        """A client repeats by itself what only did not reach the model, and nothing that was done here."""
        quota = {"faults": [{"status": 429, "body": {"error": {"message": "No money.", "type": "insufficient_quota", "code": "insufficient_quota"}}, "times": -1}]}
        self.begin([shell("echo made")], dict(quota, parts=[{"text": "x"}]), agents=[("worker", "name: worker\ntools: [shell]\n")])
        ask = {"messages": [{"role": "user", "content": "x"}]}
        answer = self.call("POST", "/v1/chat/completions", dict(ask, model="worker"))
        self.assertEqual((answer.status, answer.headers["X-Should-Retry"]), (429, "false"), answer)
        self.end_http()
        self.standin.end()
        self.standin = house.Standin(self.folder, {"turns": [dict(quota, parts=[{"text": "x"}])]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.serve_http("--workspaces", self.work)
        answer = self.call("POST", "/v1/chat/completions", dict(ask, model="gpt-5.4"))
        self.assertEqual((answer.status, answer.headers["X-Should-Retry"]), (429, None), answer)

    def test_a_person_is_asked(self):
        agent = ("worker", "name: worker\ntools: [shell]\napprove: [shell]\n")
        self.begin([shell("echo made > made; cat made")], [{"text": "Made."}], [shell("echo more")], [{"text": "Not then."}], agents=[agent])
        one = self.respond(model="worker", input="Make it.")
        asked = one["output"][-1]
        self.assertEqual((one["status"], asked["type"], asked["name"]), ("completed", "mcp_approval_request", "shell"))
        self.assertFalse((self.work / "made").exists())
        self.assertEqual(self.good_call("GET", "/v1/responses/" + one["id"])["output"], one["output"])
        word = {"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": True}
        self.assertIn("approval", self.respond(status=400, model="worker", input="Well?", previous_response_id=one["id"])["error"]["message"])
        answer = self.call("POST", "/v1/responses", {"model": "worker", "input": [word], "previous_response_id": one["id"]}, who="runner")
        self.assertEqual(answer.status, 403, answer)
        two = self.respond(model="worker", input=[word], previous_response_id=one["id"])
        self.assertEqual([i["type"] for i in two["output"]], ["mcp_call", "message"])
        self.assertIn("made", two["output"][0]["output"])
        decided = [e for e in self.log_of(two) if e["kind"] == "approval_decided"]
        self.assertEqual([(d["source"], d["data"]["by"], d["data"]["approve"]) for d in decided], [("user", "alice", True)])
        self.assertEqual(self.good_call("GET", "/v1/responses/" + two["id"])["output"], two["output"])
        three = self.respond(model="worker", input="More.", previous_response_id=two["id"])
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        word = {"type": "mcp_approval_response", "approval_request_id": three["output"][-1]["id"], "approve": False, "reason": "Not now."}
        four = self.respond(model="worker", input=[word], previous_response_id=three["id"])
        self.assertEqual((four["output"][0]["status"], four["output"][-1]["content"][0]["text"]), ("failed", "Not then."))
        self.assertIn("Not now.", four["output"][0]["error"])

    def test_a_person_decides_and_says_more(self):
        agent = ("worker", "name: worker\ntools: [shell]\napprove: [shell]\n")
        self.begin([shell("echo made > made")], [{"text": "Made, and blue."}], agents=[agent])
        one = self.respond(model="worker", input="Make it.")
        word = {"type": "mcp_approval_response", "approval_request_id": one["output"][-1]["id"], "approve": True}
        two = self.respond(model="worker", input=[word, {"role": "user", "content": "And paint it blue."}], previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Made, and blue.")
        self.assertIn("And paint it blue.", json.dumps(self.sent()["input"]))

    def test_references_to_items(self):
        self.begin([{"text": "Not asked."}], [{"text": "Again."}])
        one = self.respond(input="Hello.")
        said = one["output"][0]
        self.assertEqual(said["id"].split("_")[1], one["id"].split("_")[1])
        two = self.respond(input=[{"role": "user", "content": "Hello."}, {"type": "item_reference", "id": said["id"]}, {"role": "user", "content": "And?"}])
        self.assertEqual(two["output"][0]["content"][0]["text"], "Again.")
        sent = self.log_of(two)[1]["data"]["items"]
        self.assertEqual(([i["role"] for i in sent], sent[1]["content"][0]["text"]), (["user", "assistant", "user"], "Not asked."))
        asked = [self.good_call("GET", "/v1/responses/%s/input_items?order=asc" % r["id"])["data"] for r in (one, two)]
        self.assertEqual([i["id"] for i in asked[0] + asked[1]],
                         ["in_%s_%d" % (r["id"][len("resp_"):], i) for r, count in ((one, 1), (two, 3)) for i in range(count)])
        three = self.respond(input=[{"type": "item_reference", "id": asked[0][0]["id"]}, {"type": "item_reference", "id": asked[1][2]["id"]}])
        self.assertEqual([i["content"][0]["text"] for i in self.log_of(three)[1]["data"]["items"]], ["Hello.", "And?"])
        for name in (asked[0][0]["id"][:-1] + "1", "msg_none"):
            self.assertEqual(self.respond(status=404, input=[{"id": name}])["error"]["code"], "item_not_found")
        answer = self.call("POST", "/v1/responses", {"model": "gpt-5.4", "input": [{"type": "item_reference", "id": said["id"]}]}, who="bob")
        self.assertEqual(answer.status, 404)

    def test_a_conversation(self):
        self.begin([{"text": "One."}], [{"text": "Two."}], [{"text": "Three."}])
        made = self.good_call("POST", "/v1/conversations", {"metadata": {"k": "v"}, "items": [{"role": "user", "content": "Count with me."}]})
        self.assertEqual((made["object"], made["metadata"]), ("conversation", {"k": "v"}))
        path = "/v1/conversations/" + made["id"]
        one = self.respond(input="Begin.", conversation=made["id"])
        self.assertEqual(one["conversation"], {"id": made["id"]})
        two = self.respond(input="Next.", conversation={"id": made["id"]})
        self.assertEqual(two["id"].rsplit("_", 1)[0], one["id"].rsplit("_", 1)[0], "the same session goes on")
        three = self.respond(input="Next.", conversation=made["id"], instructions="Shout.")
        self.assertNotEqual(three["id"].rsplit("_", 1)[0], one["id"].rsplit("_", 1)[0])
        listed = self.good_call("GET", path + "/items?order=asc&limit=100")["data"]
        texts = ["Count with me.", "Begin.", "One.", "Next.", "Two.", "Next.", "Three."]
        self.assertEqual([i["content"][0]["text"] for i in listed], texts)
        page = self.good_call("GET", path + "/items?limit=2")
        self.assertEqual(([i["content"][0]["text"] for i in page["data"]], page["has_more"]), (["Three.", "Next."], True))
        page = self.good_call("GET", path + "/items?limit=2&after=" + page["last_id"])
        self.assertEqual([i["content"][0]["text"] for i in page["data"]], ["Two.", "Next."])
        added = self.good_call("POST", path + "/items", {"items": [{"role": "user", "content": "By the way."}]})
        self.assertEqual(self.good_call("GET", path + "/items/" + added["first_id"])["content"][0]["text"], "By the way.")
        self.good_call("DELETE", path + "/items/" + listed[1]["id"])
        left = self.good_call("GET", path + "/items?order=asc")["data"]
        self.assertEqual([i["content"][0]["text"] for i in left], texts[:1] + texts[2:] + ["By the way."])
        self.assertEqual(self.good_call("POST", path, {"metadata": {"k": "w"}})["metadata"], {"k": "w"})
        self.assertEqual(self.good_call("GET", path)["metadata"], {"k": "w"})
        for method, where in (("GET", path), ("GET", path + "/items"), ("POST", path + "/items")):
            self.assertEqual(self.call(method, where, {"items": []} if method == "POST" else None, who="bob").status, 404)
        self.assertEqual(self.respond(status=400, input="x", conversation=made["id"], previous_response_id=one["id"])["error"]["code"],
                         "mutually_exclusive_parameters")
        self.assertEqual(self.call("DELETE", path, who="bob").status, 404)
        self.assertEqual(self.good_call("DELETE", path)["object"], "conversation.deleted")
        for gone in (path, "/v1/responses/" + one["id"], "/v1/responses/" + three["id"]):
            self.assertEqual(self.call("GET", gone).status, 404)

    def items_of(self, made, **query):
        path = "/v1/conversations/%s/items?order=asc&limit=100" % made["id"]
        return self.good_call("GET", path)["data"]

    def test_what_the_items_of_a_conversation_are_called(self):
        """The same for good, in every session that it goes on in; and what is taken out stays out."""
        self.begin([{"text": "One."}], [{"text": "Two."}], [{"text": "Three."}], [{"text": "Four."}])
        made = self.good_call("POST", "/v1/conversations", {"items": [{"role": "user", "content": "Count with me."}, {"role": "user", "content": "Loudly."}]})
        path = "/v1/conversations/" + made["id"]
        ids, texts = {}, lambda: [i["content"][0]["text"] for i in self.items_of(made)]

        def look():
            """No item is called otherwise than before, and none as another was."""
            for item in self.items_of(made):
                self.assertEqual(ids.setdefault(item["id"], item["content"][0]["text"]), item["content"][0]["text"])
                self.assertEqual(self.good_call("GET", path + "/items/" + item["id"]), item)
            return [i["id"] for i in self.items_of(made)]

        def remove(at):
            gone = look()[at]
            self.assertEqual(self.good_call("DELETE", path + "/items/" + gone)["id"], made["id"])
            self.assertNotIn(gone, look())
            for method in ("GET", "DELETE"):
                self.assertEqual(self.call(method, path + "/items/" + gone).status, 404)
            return gone

        self.assertEqual(len(look()), 2)
        one = self.respond(input="Begin.", conversation=made["id"])
        self.assertEqual(texts(), ["Count with me.", "Loudly.", "Begin.", "One."])
        remove(1)
        look()
        two = self.respond(input="Next.", conversation=made["id"])
        self.assertNotEqual(two["id"].rsplit("_", 1)[0], one["id"].rsplit("_", 1)[0], "it goes on without what was taken out")
        self.assertEqual(texts(), ["Count with me.", "Begin.", "One.", "Next.", "Two."])
        self.assertNotIn("Loudly.", json.dumps(self.sent()["input"]))
        last = remove(-1)  # what it was called is never another one's
        self.good_call("POST", path + "/items", {"items": [{"role": "assistant", "content": "Two, or so."}]})
        self.assertNotIn(last, look())
        self.end_http(9)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        three = self.respond(input="Next.", conversation=made["id"], instructions="Shout.")
        self.assertNotEqual(three["id"].rsplit("_", 1)[0], two["id"].rsplit("_", 1)[0])
        look()
        self.assertEqual(texts(), ["Count with me.", "Begin.", "One.", "Next.", "Two, or so.", "Next.", "Three."])
        four = self.respond(input="More.", conversation=made["id"], instructions="Shout.", status=200)
        self.assertEqual(four["id"].rsplit("_", 1)[0], three["id"].rsplit("_", 1)[0], "nothing was taken out since: the same session goes on")
        self.assertEqual(len(look()) + 2, len(ids))
        self.assertEqual(self.call("DELETE", path + "/items/" + look()[0], who="bob").status, 404)

    def test_what_goes_with_an_item_of_a_conversation(self):
        """A call with its result, and reasoning with what it was about: no model takes the one without the other."""
        self.begin([{"reasoning": "Hm."}, CALL], [{"text": "Rain."}], [{"text": "So it is."}])
        made = self.good_call("POST", "/v1/conversations", {})
        path = "/v1/conversations/%s/items/" % made["id"]
        one = self.respond(input="Oslo?", tools=[WEATHER], conversation=made["id"], include=["reasoning.encrypted_content"])
        call = one["output"][-1]
        self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}], tools=[WEATHER], conversation=made["id"],
                     include=["reasoning.encrypted_content"])
        kinds = [i["type"] for i in self.items_of(made)]
        self.assertEqual(kinds, ["message", "reasoning", "function_call", "function_call_output", "message"])
        self.good_call("DELETE", path + self.items_of(made)[3]["id"])
        self.assertEqual([i["type"] for i in self.items_of(made)], ["message", "message"])
        self.assertEqual(self.respond(input="And?", tools=[WEATHER], conversation=made["id"])["status"], "completed")
        self.assertEqual([i["role"] for i in self.sent()["input"]], ["user", "assistant", "user"])

    def test_reasoning_is_taken_out_of_a_conversation(self):
        """What it was about stays, and goes to its provider without it."""
        self.begin([{"reasoning": "Hm."}, {"text": "Rain."}], [{"text": "So it is."}])
        made = self.good_call("POST", "/v1/conversations", {})
        self.respond(input="Oslo?", conversation=made["id"], include=["reasoning.encrypted_content"])
        thought = self.items_of(made)[1]
        self.assertEqual(thought["type"], "reasoning")
        self.good_call("DELETE", "/v1/conversations/%s/items/%s" % (made["id"], thought["id"]))
        self.assertEqual(self.respond(input="And?", conversation=made["id"])["status"], "completed")
        self.assertEqual([i.get("type") for i in self.sent()["input"]], ["message"] * 3)
        self.assertNotIn("id", self.sent()["input"][1])

    def test_so_many_items_are_taken_out_of_a_conversation(self):
        """TH_SERVE_REMOVED_ITEMS_MAX."""
        self.begin()
        items = [{"role": "user", "content": "x"}] * 20
        made = self.good_call("POST", "/v1/conversations", {})
        path = "/v1/conversations/%s/items" % made["id"]
        for wrong in (5, {"role": "wizard", "content": "x"}, {"role": "user"}):
            self.assertEqual(self.good_call("POST", path, {"items": [wrong]}, status=400)["error"]["param"][:5], "items", wrong)
        for _ in range(13):
            self.good_call("POST", path, {"items": items})
        page = lambda: self.good_call("GET", path + "?order=asc&limit=100")["data"]
        listed = page()
        for n in range(256):
            listed = listed or page()
            self.good_call("DELETE", path + "/" + listed.pop(0)["id"])
        self.assertEqual(self.good_call("DELETE", path + "/" + page()[0]["id"], status=413)["error"]["code"], "limit")
        self.assertEqual(len(page()), 4)

    def test_a_conversation_without_a_default_model(self):
        """Its first session takes a model that a request may name."""
        self.env["THOLE_MODEL"] = ""
        self.begin([{"text": "Here."}])
        made = self.good_call("POST", "/v1/conversations", {"items": [{"role": "user", "content": "One."}]})
        self.assertEqual(self.respond(input="Two.", conversation=made["id"])["status"], "completed")
        self.assertEqual(len(self.good_call("GET", "/v1/conversations/%s/items" % made["id"])["data"]), 3)

    def test_forms_of_what_is_asked(self):
        self.begin([{"text": '{"n": 1}'}], [{"custom_call": {"name": "note", "input": "free text"}}], [{"text": "Noted."}])
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        text = {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}}
        one = self.respond(input="A number.", text=text, truncation="auto", prompt_cache_key="k", include=["reasoning.encrypted_content"])
        self.assertEqual((json.loads(one["output"][0]["content"][0]["text"]), one["text"]), ({"n": 1}, text))
        sent = self.sent()
        self.assertEqual(sent["text"]["format"]["schema"], schema)
        tools = [{"type": "custom", "name": "note", "description": "Takes a note."}, WEATHER]
        choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "note"}]}
        two = self.respond(input="Note it.", tools=tools, tool_choice=choice, previous_response_id=one["id"])
        call = two["output"][-1]
        self.assertEqual((call["type"], call["input"]), ("custom_tool_call", "free text"))
        self.assertEqual([t["name"] for t in self.sent()["tools"]], ["note"])
        three = self.respond(input=[{"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"}], tools=tools,
                             tool_choice=choice, previous_response_id=two["id"])
        self.assertEqual(three["output"][-1]["content"][0]["text"], "Noted.")

    def test_pictures_and_files(self):
        self.begin([{"text": "A dot."}])
        dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        answer = self.respond(input=[{"role": "user", "content": [{"type": "input_text", "text": "What is it?"},
                                                                  {"type": "input_image", "image_url": dot, "detail": "auto"},
                                                                  {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}]}])
        self.assertEqual(answer["output"][0]["content"][0]["text"], "A dot.")
        sent = self.sent()["input"][0]["content"]
        self.assertEqual([p["type"] for p in sent], ["input_text", "input_image", "input_file"])
        self.assertEqual(sent[1]["image_url"], dot)

    def test_pictures_and_files_of_other_apis(self):
        self.begin(*[[{"text": "Seen."}]] * 4)
        data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        pdf = "JVBERi0xLjQK"
        url, file = "https://example.org/x.png", "data:application/pdf;base64," + pdf
        block = lambda kind, **source: {"type": kind, "source": source}
        for path, content, wanted in (
                ("/v1/messages", [block("image", type="base64", media_type="image/png", data=data), block("image", type="url", url=url),
                                  dict(block("document", type="base64", media_type="application/pdf", data=pdf), title="a.pdf"),
                                  block("document", type="url", url="https://example.org/a.pdf")],
                 [{"type": "input_image", "image_url": "data:image/png;base64," + data}, {"type": "input_image", "image_url": url},
                  {"type": "input_file", "filename": "a.pdf", "file_data": file}, {"type": "input_file", "file_url": "https://example.org/a.pdf"}]),
                ("/v1/chat/completions", [{"type": "image_url", "image_url": {"url": url}}, {"type": "file", "file": {"filename": "a.pdf", "file_data": file}},
                                          {"type": "file", "file": {"file_id": "file-1"}}],
                 [{"type": "input_image", "image_url": url}, {"type": "input_file", "filename": "a.pdf", "file_data": file}, {"type": "input_file", "file_id": "file-1"}])):
            self.good_call("POST", path, {"model": "gpt-5.4", "max_tokens": 100, "messages": [{"role": "user", "content": content}]})
            self.assertEqual([part for item in self.sent()["input"] for part in item["content"]], wanted)

    def test_pictures_and_files_for_a_model_of_another_api(self):
        self.env.update(ANTHROPIC_API_KEY=house.KEY)
        self.begin([{"text": "Seen."}], models="claude-sonnet-4-5")
        dot, file = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "data:application/pdf;base64,JVBERi0xLjQK"
        parts = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": dot, "detail": "auto"},
                 {"type": "input_file", "filename": "a.pdf", "file_data": file}]
        answer = self.respond(model="claude-sonnet-4-5", input=[{"role": "user", "content": parts}], max_output_tokens=100)
        self.assertEqual(answer["status"], "completed", answer)
        sent = self.sent()["messages"][0]["content"]
        self.assertEqual([(p["type"], p.get("source")) for p in sent],
                         [("text", None), ("image", {"type": "base64", "media_type": "image/png", "data": dot.split(",")[1]}),
                          ("document", {"type": "base64", "media_type": "application/pdf", "data": file.split(",")[1]})])


    def compact(self, status=200, **body):
        body.setdefault("model", "gpt-5.4")
        return self.good_call("POST", "/v1/responses/compact", body, status=status)

    def texts_of(self, response):
        """What its session began with."""
        return [i["content"] if isinstance(i["content"], str) else i["content"][0]["text"] for i in self.log_of(response)[1]["data"]["items"]]

    def test_a_compaction(self):
        """The model's summary takes the place of all but what others said."""
        self.begin([{"text": "Seven, it was."}], [{"text": "Seven, and I looked."}])
        looked = [{"role": "user", "content": "Remember 7."}, {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
                  {"type": "function_call_output", "call_id": "c", "output": "a long result"}, {"role": "developer", "content": "Be brief."}]
        made = self.compact(input=looked, instructions="Count.")
        self.assertEqual((made["object"], [i["type"] for i in made["output"]]), ("response.compaction", ["message", "message", "compaction"]))
        self.assertEqual([(i["role"], i["content"][0]["text"]) for i in made["output"][:-1]], [("user", "Remember 7."), ("developer", "Be brief.")])
        self.assertEqual(len({i["id"] for i in made["output"]}), 3)
        self.assertGreater(made["usage"]["input_tokens"] * made["usage"]["output_tokens"], 0)
        sent = self.sent()
        self.assertEqual((sent["instructions"], sent["input"][2]["output"]), ("Count.", "a long result"))
        self.assertIn("is replaced by what you answer now", json.dumps(sent["input"][-1]))
        self.assertEqual(self.call("GET", "/v1/responses/" + made["id"]).status, 404)
        one = self.respond(input=made["output"] + [{"role": "user", "content": "Go on."}])
        summary = "[What was said before, summed up:]\nSeven, and I looked."
        self.assertEqual(self.texts_of(one), ["Remember 7.", "Be brief.", summary, "Go on."])
        # Of a response, too; and a summary is summed up with the rest.
        again = self.compact(previous_response_id=one["id"])
        self.assertEqual([i["content"][0]["text"] for i in again["output"][:-1]], ["Remember 7.", "Be brief.", "Go on."])
        self.assertEqual(self.good_call("GET", "/v1/responses/" + one["id"])["output"], one["output"])
        # The sessions go with the answers; what they used stays.
        self.wait_for(lambda: len(self.good_call("GET", "/api/sessions")["sessions"]) == 1)

    def test_a_compaction_by_the_model_s_provider(self):
        self.begin([{"text": "Hi."}])
        asked = [{"type": "compaction", "compact_threshold": 50000}]
        self.respond(input="Hello.", context_management=asked)
        self.assertEqual(self.sent()["context_management"], asked)
        for wrong in ([], {}, [{"type": "compaction"}], [{"type": "other", "compact_threshold": 5}], asked * 2, [{"type": "compaction", "compact_threshold": -1}]):
            self.assertEqual(self.respond(status=400, input="Hello.", context_management=wrong)["error"]["param"], "context_management")

    def test_a_compaction_that_cannot_be(self):
        self.begin([{"text": "Short."}])
        for body, status in (({"model": None}, 400), ({"input": None}, 400), ({"input": []}, 400), ({"model": "none"}, 404),
                             ({"previous_response_id": "resp_none"}, 400), ({"conversation": "conv_1"}, 404)):
            self.compact(status=status, **dict({"input": "x"}, **body))
        # The model that cannot be asked any more is said, and there is no session of it.
        self.standin.end()
        self.assertIn("message", self.compact(status=502, input="x")["error"])
        self.wait_for(lambda: not self.good_call("GET", "/api/sessions")["sessions"])

    def test_a_session_that_another_process_has(self):
        """It is free again soon, so clients may ask again: no 400, which they take for their own fault."""
        self.begin([{"text": "Hi."}], [{"text": "More."}])
        one = self.respond(input="Hello.")
        first, here = self.server, self.port
        self.addCleanup(self.journal.close)
        there = self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        self.addCleanup(first.stdout.close)
        self.addCleanup(first.wait, house.SECONDS)
        self.addCleanup(first.terminate)
        for self.port, status in ((there, 503), (here, 200)):
            self.respond(status=status, input="And?", previous_response_id=one["id"])

    def test_what_a_compaction_leaves_as_it_is(self):
        """The newest messages, TH_SERVE_STAYS_MAX bytes of them as JSON."""
        self.begin([{"text": "Short."}])
        size = 32 * 1024
        item = lambda n, length: {"type": "message", "role": "user", "content": n * (length - len('{"type":"message","role":"user","content":""}'))}
        for lengths, stay in (((size // 2, size // 2), "ab"), ((size // 2, size // 2 + 1), "b"), ((100, size), "b"), ((100, size + 1), "a")):
            made = self.compact(input=[item(n, length) for n, length in zip("ab", lengths)])
            self.assertEqual("".join(i["content"][0]["text"][0] for i in made["output"][:-1]), stay, lengths)

    def test_a_compaction_of_a_client_s_own(self):
        """What it packed itself is items as in any request."""
        self.begin([{"text": "On it goes."}])
        pack = lambda items: {"type": "compaction", "encrypted_content": base64.b64encode(json.dumps(items).encode()).decode()}
        one = self.respond(input=[pack([{"role": "user", "content": "Remember 7."}]), {"role": "user", "content": "Go on."}])
        self.assertEqual(self.texts_of(one), ["Remember 7.", "Go on."])
        item = {"role": "user", "content": [{"type": "image", "blob": "0" * 64, "media_type": "image/png"}]}
        refused = self.respond(status=400, input=[pack([item])])
        self.assertIn("input_image", refused["error"]["message"])

    def test_a_history_with_phases(self):
        self.begin([{"text": "Not asked."}], [{"text": "Now."}], [{"text": "Never."}])
        history = [{"type": "message", "role": "user", "content": "Look."},
                   {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "Looking."}]},
                   {"type": "message", "role": "user", "content": "And?"}]
        self.assertEqual(self.respond(input=history)["status"], "completed")
        self.assertEqual(self.sent()["input"][1]["phase"], "commentary")


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

    def test_what_is_kept_of_a_request_that_has_its_whole_conversation(self):
        """Nothing of a model's words alone, else a long chat is stored again with each of its requests; what an agent did."""
        self.begin([{"text": "Hi."}], [{"text": "Hi."}], agents=[("helper", "model: gpt-5.4\n")])
        said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello there"}]
        answers = [self.good_call("POST", "/v1/chat/completions", {"model": "gpt-5.4", "messages": said}),
                   self.good_call("POST", "/v1/messages", {"model": "gpt-5.4", "max_tokens": 99, "messages": said[1:]})]
        self.wait_for(lambda: not self.good_call("GET", "/api/sessions")["sessions"])
        used = self.good_call("GET", "/api/usage?by=model")["usage"]
        self.assertEqual([(r["model"], r["sessions"]) for r in used], [("gpt-5.4", len(answers))])
        self.good_call("POST", "/v1/chat/completions", {"model": "helper", "messages": said})
        self.good_call("POST", "/v1/chat/completions", {"model": "gpt-5.4", "messages": said, "store": True})
        self.good_call("POST", "/v1/chat/completions", {"model": "helper", "messages": said, "store": False})
        self.wait_for(lambda: len(self.good_call("GET", "/api/sessions")["sessions"]) == 2)

    def test_the_title_of_a_session(self):
        """The words of the first message, as a session has it that was begun otherwise: what lists show and searches find."""
        self.begin([{"text": "Hi."}])
        self.respond(input="What is the weather? " + "long " * 40 + "needle", instructions="Be brief.")
        self.respond(input=[{"role": "developer", "content": "Be kind."}, {"role": "user", "content": [{"type": "input_text", "text": "Tell me more"}]}])
        def found(query=""):
            return [s["title"] for s in self.good_call("GET", "/api/sessions" + query)["sessions"]]
        self.assertEqual([t[:20] for t in found()], ["Tell me more", "What is the weather?"])
        self.assertEqual(found("?title=tell"), ["Tell me more"])
        self.assertEqual([t[:20] for t in found("?text=needle")], ["What is the weather?"])

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

    def test_chat_with_its_reasoning(self):
        """A client sends back all of the answer that it got, with what was told of the reasoning."""
        self.begin([{"reasoning": "Hm."}, CALL], [{"text": "Rain."}])
        tools, asked = [{"type": "function", "function": {k: v for k, v in WEATHER.items() if k != "type"}}], [{"role": "user", "content": "Oslo?"}]
        chunks = [f[1]["choices"][0]["delta"] for f in self.frames("/v1/chat/completions", {"model": "gpt-5.4", "messages": asked, "tools": tools}) if f[1] != "[DONE]"]
        thought = "".join(d.get("reasoning_content", "") for d in chunks)
        self.assertEqual(thought, "Hm.")
        call, = [dict(c) for d in chunks for c in d.get("tool_calls", ())]
        call.pop("index")
        again = [{"role": "assistant", "reasoning_content": thought, "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": "rain"}]
        answer = self.good_call("POST", "/v1/chat/completions", {"model": "gpt-5.4", "messages": asked + again, "tools": tools})
        self.assertEqual(answer["choices"][0]["message"]["content"], "Rain.")
        self.assertNotIn("reasoning", [i.get("type") for i in self.sent()["input"]])

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

    def thinking_of(self, body):
        """The blocks of an answer that is whole, and those of a stream."""
        whole = self.good_call("POST", "/v1/messages", body)["content"]
        blocks, open_block = [], None
        for name, data in self.frames("/v1/messages", body):
            if name == "content_block_start":
                self.assertIsNone(open_block, "a block begins in another")
                open_block = data["content_block"]
                self.assertEqual(data["index"], len(blocks))
            elif name == "content_block_delta":
                member = {"thinking_delta": "thinking", "signature_delta": "signature", "text_delta": "text", "input_json_delta": "partial_json"}[data["delta"]["type"]]
                open_block[member] = open_block.get(member, "") + data["delta"][member]
            elif name == "content_block_stop":
                blocks.append(open_block)
                open_block = None
        return whole, blocks

    def test_messages_with_thinking(self):
        """Its blocks come signed, and go back to the provider that can check them, whichever API it has."""
        self.env.update(ANTHROPIC_API_KEY=house.KEY)
        self.begin([{"reasoning": "Hm."}, CALL], [{"text": "Rain."}], models="claude-sonnet-4-5, gpt-5.4")
        tools = [{"name": "get_weather", "description": "The weather.", "input_schema": WEATHER["parameters"]}]
        asked = [{"role": "user", "content": "Oslo?"}]
        for model in ("claude-sonnet-4-5", "gpt-5.4"):
            body = {"model": model, "max_tokens": 4000, "tools": tools, "thinking": {"type": "enabled", "budget_tokens": 1024}}
            whole, streamed = self.thinking_of(dict(body, messages=asked))
            self.assertEqual([b["type"] for b in whole], ["thinking", "tool_use"])
            self.assertEqual([(b["type"], b.get("thinking")) for b in streamed], [("thinking", "Hm."), ("tool_use", None)])
            self.assertEqual((whole[0]["thinking"], bool(whole[0]["signature"])), ("Hm.", True))
            self.assertTrue(streamed[0]["signature"])
            again = asked + [{"role": "assistant", "content": whole},
                             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": whole[1]["id"], "content": "rain"}]}]
            self.assertEqual(self.good_call("POST", "/v1/messages", dict(body, messages=again))["content"][-1]["text"], "Rain.")
            sent = self.sent()
            if model == "gpt-5.4":
                sealed = [i["encrypted_content"] for i in sent["input"] if i.get("type") == "reasoning"]
                self.assertEqual([whole[0]["signature"]], ["thole.other." + s for s in sealed])
            else:
                self.assertEqual((sent["thinking"], sent["messages"][1]["content"][0]), ({"type": "enabled", "budget_tokens": 1024}, whole[0]))
        self.assertNotIn("thinking", [b["type"] for b in self.good_call("POST", "/v1/messages", dict(body, thinking={"type": "disabled"}, messages=asked))["content"]])

    def told(self, path, body, second):
        """All that a stream said in pieces, and how it ended, where the model was cut after "One two "."""
        cutter = Cutter("One two ", second)
        self.env.update(OPENAI_BASE_URL=cutter.url)
        self.serve_http("--workspaces", self.work)
        try:
            found = self.frames(path, dict(body, model="gpt-5.4"))
        finally:
            self.assertEqual(self.end_http(), 0)
            cutter.end()
        pieces = ""
        for name, data in found:
            if path == "/v1/chat/completions" and data != "[DONE]":
                pieces += "".join(c["delta"].get("content") or "" for c in data.get("choices", ()))
            elif name == "content_block_delta":
                pieces += data["delta"]["text"]
            elif name == "response.output_text.delta":
                pieces += data["delta"]
        return pieces, found

    def test_an_answer_that_was_begun_twice(self):
        """What was told is not told again, and never joined with another answer."""
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("serve:\n  models: [gpt-5.4]\n")
        asked = {"messages": [{"role": "user", "content": "Count."}], "max_tokens": 100}
        for path, body in (("/v1/chat/completions", asked), ("/v1/messages", asked), ("/v1/responses", {"input": "Count."})):
            with self.subTest(path=path):
                self.assertEqual(self.told(path, body, "One two three.")[0], "One two three.")
                pieces, found = self.told(path, body, "Three two one.")
                self.assertEqual(pieces, "One two ")
                if path == "/v1/responses":
                    done, = [data for name, data in found if name == "response.output_text.done"]
                    self.assertEqual((done["text"], found[-2][0]), ("Three two one.", "response.completed"))
                else:
                    self.assertIn("was cut after a part of it was sent", found[-1][1]["error"]["message"])

    def test_thinking_through_responses(self):
        """What Anthropic signed goes through a client of the Responses API, and back."""
        self.env.update(ANTHROPIC_API_KEY=house.KEY)
        self.begin([{"reasoning": "Hm."}, CALL], [{"text": "Rain."}], models="claude-sonnet-4-5")
        body = {"model": "claude-sonnet-4-5", "reasoning": {"effort": "low"}, "tools": [WEATHER], "max_output_tokens": 8000, "include": ["reasoning.encrypted_content"]}
        asked = [{"role": "user", "content": "Oslo?"}]
        items = self.respond(input=asked, **body)["output"]
        self.assertEqual([i["type"] for i in items], ["reasoning", "function_call"])
        answer = self.respond(input=asked + items + [{"type": "function_call_output", "call_id": items[1]["call_id"], "output": "rain"}], **body)
        self.assertEqual(answer["output"][-1]["content"][0]["text"], "Rain.")
        block = self.sent()["messages"][1]["content"][0]
        self.assertEqual((block["type"], block["thinking"], "thole.thinking." + block["signature"]), ("thinking", "Hm.", items[0]["encrypted_content"]))
        # A client that leaves it to whoever stored it sends the item as it got it, without that.
        bare = {**{k: v for k, v in items[0].items() if k != "encrypted_content"}, "summary": []}
        again = dict(body, input=asked + [bare, items[1], {"type": "function_call_output", "call_id": items[1]["call_id"], "output": "rain"}])
        self.assertEqual(self.respond(**again)["status"], "completed")
        self.assertEqual(self.sent()["messages"][1]["content"][0], block)

    def test_no_more_than_so_many_are_looked_up(self):
        self.begin([{"reasoning": "Hm."}, CALL], [{"text": "Rain."}])
        asked, body = [{"role": "user", "content": "Oslo?"}], {"tools": [WEATHER], "include": ["reasoning.encrypted_content"]}
        items = self.respond(input=asked, **body)["output"]
        bare = {k: v for k, v in items[0].items() if k != "encrypted_content"}
        for count, wanted in ((64, 64), (65, 64)):  # TH_SERVE_LOOKUPS_MAX
            answer = self.respond(input=asked + [bare] * count + [items[1], {"type": "function_call_output", "call_id": items[1]["call_id"], "output": "rain"}], **body)
            self.assertEqual(answer["status"], "completed", answer)
            self.assertEqual(sum(i.get("type") == "reasoning" for i in self.sent()["input"]), wanted)


if __name__ == "__main__":
    unittest.main()
