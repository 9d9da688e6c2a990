# SPDX-License-Identifier: Apache-2.0
"""A small server of Gemini's Interactions API on loopback, for tests: it answers from a list of turns and is strict.

A turn is {"steps": [...]} with the options "status" (of the interaction), "error" ({"status", "body"}: an HTTP error once,
then the turn), "cut" (the stream ends behind that many events, once), "forget" (the state is lost before this turn), and
"expect" (a function of the request's new steps that returns a sentence, or None).

It refuses what the API would: members that it does not know, a wrong type, steps in an impossible order, a call without its
result or a result without its call, a thought whose signature is not the one that was given, an interaction that it does
not know or was asked not to store.  Everything that it refuses stands in `violations`.
"""

import base64
import http.server
import json
import threading

BODY = {"model", "agent", "input", "system_instruction", "tools", "generation_config", "response_format", "store",
        "background", "stream", "previous_interaction_id"}
CONFIG = {"temperature", "top_p", "max_output_tokens", "seed", "stop_sequences", "thinking_level", "thinking_summaries",
          "tool_choice"}
TOOLS = {"function": {"type", "name", "description", "parameters"},
         "computer_use": {"type", "environment", "excluded_predefined_functions"}}
STEPS = {"user_input": {"type", "content"}, "model_output": {"type", "content"},
         "thought": {"type", "signature", "summary"},
         "function_call": {"type", "id", "name", "arguments", "signature"},
         "function_result": {"type", "call_id", "name", "result", "is_error"}}
CONTENT = {"text": {"type", "text", "annotations"}, "image": {"type", "data", "uri", "mime_type"}}


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def need(condition, message, status=400):
    if not condition:
        raise Refused(status, message)


def only(known, value, what):
    need(isinstance(value, dict), "%s must be an object" % what)
    unknown = set(value) - known
    need(not unknown, "%s has the unknown members %s" % (what, sorted(unknown)))


def check_content(parts, what):
    need(isinstance(parts, list) and parts, "%s must be a list that is not empty" % what)
    for part in parts:
        need(isinstance(part, dict) and part.get("type") in CONTENT, "%s has a part of an unknown type" % what)
        only(CONTENT[part["type"]], part, what)
        if part["type"] == "text":
            need(isinstance(part.get("text"), str), "a text must be a string")
        else:
            need(part.get("mime_type", "").startswith("image/"), "an image needs its mime_type")
            base64.b64decode(part["data"], validate=True)


def check_step(step, what):
    need(isinstance(step, dict) and step.get("type") in STEPS, "%s has an unknown type" % what)
    only(STEPS[step["type"]], step, what)
    if step["type"] in ("user_input", "model_output"):
        check_content(step.get("content"), what + ".content")
    elif step["type"] == "function_call":
        need(step.get("id") and step.get("name") and isinstance(step.get("arguments"), dict),
             "%s needs id, name and arguments" % what)
    elif step["type"] == "function_result":
        need(step.get("call_id") and "result" in step, "%s needs call_id and result" % what)
        if not isinstance(step["result"], str):
            check_content(step["result"], what + ".result")


def check_tool(tool):
    need(isinstance(tool, dict) and tool.get("type") in TOOLS, "a tool has an unknown type")
    only(TOOLS[tool["type"]], tool, "a tool")
    if tool["type"] == "function":
        need(tool.get("name") and tool.get("parameters", {}).get("type") == "object", "a function needs name and parameters")
    else:
        need(tool.get("environment") in ("browser", "mobile", "desktop"), "computer_use needs its environment")


def check_body(body):
    only(BODY, body, "the request")
    need(isinstance(body.get("model"), str), "the request needs a model")
    only(CONFIG, body.get("generation_config", {}), "generation_config")
    level = body.get("generation_config", {}).get("thinking_level", "low")
    need(level in ("minimal", "low", "medium", "high"), "no such thinking_level")
    for tool in body.get("tools", []):
        check_tool(tool)
    for name in ("store", "stream", "background"):
        need(isinstance(body.get(name, True), bool), "%s must be true or false" % name)
    need(body.get("store", True) or not body.get("background"), "background needs store")
    need(isinstance(body.get("input"), list) and body["input"], "input must be a list of steps")
    for i, step in enumerate(body["input"]):
        check_step(step, "input[%d]" % i)


def check_order(steps):
    """Calls are answered at once, each by one result, and by nothing else."""
    calls, answered = [], []
    for step in steps + [{"type": "end"}]:
        kind = step["type"]
        missing = [c for c in calls if c not in answered]
        if answered and kind != "function_result":
            need(not missing, "the calls %s have no result" % missing)
            calls, answered = [], []
        if kind == "function_call":
            calls.append(step["id"])
        elif kind == "function_result":
            need(step["call_id"] in calls, "there is no call %s for this result" % step["call_id"])
            need(step["call_id"] not in answered, "the call %s has two results" % step["call_id"])
            answered.append(step["call_id"])
        elif kind in ("user_input", "end"):
            need(not calls, "the calls %s have no result" % calls)
    need(steps[-1]["type"] in ("user_input", "function_result"), "the last step must be the user's or a result")


class Server:
    def __init__(self, turns):
        self.turns, self.next = list(turns), 0
        self.requests, self.violations, self.cancelled = [], [], []
        self.stored = {}  # id: the whole list of steps, with its answer
        self.results = {}  # id: the interaction, of those in the background
        self.given = []   # steps of all answers, which must come back as they are
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def send_json(self, status, value):
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def answer(self, work):
                try:
                    need(self.headers.get("x-goog-api-key"), "no key", 401)
                    need(self.headers.get("Api-Revision") == "2026-05-20", "no Api-Revision")
                    work()
                except Refused as refused:
                    if refused.status != 599:
                        outer.violations.append(refused.message)
                    names = {401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
                    self.send_json(refused.status, {"error": {"code": refused.status, "message": refused.message,
                                                              "status": names.get(refused.status, "INVALID_ARGUMENT")}})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))

                def create():
                    need(self.path == "/v1beta/interactions", "no such path: " + self.path, 404)
                    outer.create(self, json.loads(body))

                if self.path.endswith("/cancel"):
                    outer.cancelled.append(self.path)
                    self.send_json(200, {"id": self.path.split("/")[-2], "status": "cancelled"})
                else:
                    self.answer(create)

            def do_GET(self):
                def fetch():
                    found = outer.results.get(self.path.split("/")[-1])
                    need(found, "no such interaction", 404)
                    found["asked"] += 1
                    done = found["asked"] > 1
                    self.send_json(200, found["whole"] if done else dict(found["whole"], status="in_progress", steps=[]))

                self.answer(fetch)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/v1beta" % self.http.server_address[1]

    def end(self):
        self.http.shutdown()
        self.http.server_close()

    def history(self, body):
        previous = body.get("previous_interaction_id")
        if previous is None:
            return body["input"]
        if previous not in self.stored:  # no fault of the client: it is said and not counted
            raise Refused(404, "Interaction not found") if previous not in self.forgotten else LostState()
        return self.stored[previous] + body["input"]

    forgotten = frozenset()

    def check_given(self, steps):
        """Thoughts and calls that came from here are as they came."""
        ours = [s for s in steps if s["type"] in ("thought", "function_call", "model_output")]
        given = [s for s in self.given if s["type"] in ("thought", "function_call", "model_output")]
        need(ours == given, "the answers did not come back as they were given: %s, not %s" % (ours, given))

    def create(self, handler, body):
        self.requests.append(body)
        need(self.next < len(self.turns), "no turn is left")
        turn = self.turns[self.next]
        if turn.pop("forget", False):
            self.forgotten = frozenset(self.stored)
            self.stored = {}
        check_body(body)
        try:
            steps = self.history(body)
        except LostState:
            handler.send_json(404, {"error": {"code": 404, "message": "Interaction not found", "status": "NOT_FOUND"}})
            return
        check_order(steps)
        self.check_given(steps)
        if "expect" in turn:
            wrong = turn["expect"](body)
            need(not wrong, wrong)
        error = turn.pop("error", None)
        if error:
            handler.send_json(error["status"], error["body"])
            return
        cut = turn.pop("cut", None)
        interaction = self.interaction(turn, body)
        if cut is None:
            self.next += 1
            self.given += turn["steps"]
            if body.get("store", True):
                self.stored[interaction["id"]] = steps + turn["steps"]
        if body.get("background"):
            self.results[interaction["id"]] = {"whole": interaction, "asked": 0}
            handler.send_json(200, dict(interaction, status="queued", steps=[]))
        elif body.get("stream"):
            self.stream(handler, interaction, cut)
        else:
            handler.send_json(200, interaction)

    def interaction(self, turn, body):
        called = any(s["type"] == "function_call" for s in turn["steps"])
        return {"id": "v1_test%d-%d" % (self.next, len(self.requests)), "object": "interaction", "model": body["model"],
                "status": turn.get("status") or ("requires_action" if called else "completed"), "steps": turn["steps"],
                "usage": {"total_input_tokens": 100, "total_cached_tokens": 40, "total_output_tokens": 10,
                          "total_thought_tokens": 5, "total_tool_use_tokens": 0, "total_tokens": 115}}

    def stream(self, handler, interaction, cut):
        events = list(events_of(interaction))
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for event in events if cut is None else events[:cut]:
            handler.wfile.write(("event: %s\ndata: %s\n\n" % (event["event_type"], json.dumps(event))).encode())
        handler.close_connection = True


class LostState(Exception):
    pass


def halves(text):
    return [text[:len(text) // 2], text[len(text) // 2:]]


def deltas_of(step):
    """The step as it starts, and its deltas."""
    kind = step["type"]
    if kind == "thought":
        deltas = [{"type": "thought_summary", "content": {"type": "text", "text": half}}
                  for part in step.get("summary", []) for half in halves(part["text"])]
        return {"type": kind}, deltas + [{"type": "thought_signature", "signature": step["signature"]}]
    if kind == "model_output":
        return {"type": kind}, [{"type": "text", "text": half} for part in step["content"] for half in halves(part["text"])]
    if kind == "function_call":
        return dict(step, arguments={}), [{"type": "arguments_delta", "arguments": half}
                                          for half in halves(json.dumps(step["arguments"]))]
    return step, []


def events_of(interaction):
    head = {k: v for k, v in interaction.items() if k not in ("steps", "usage")}
    yield {"event_type": "interaction.created", "interaction": dict(head, status="in_progress")}
    yield {"event_type": "interaction.status_update", "interaction_id": head["id"], "status": "in_progress"}
    for index, step in enumerate(interaction["steps"]):
        start, deltas = deltas_of(step)
        yield {"event_type": "step.start", "index": index, "step": start}
        for delta in deltas:
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    yield {"event_type": "interaction.completed", "interaction": dict(head, usage=interaction["usage"])}
