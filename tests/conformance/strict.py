#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversations whose requests `thole plumb encode` writes, with a server that is as strict as the real ones.

usage: strict.py   (BUILD_DIR, SHARED_DIR; THOLE names another program)

The stand-in runs with --pedantic: what it only warns of counts as a violation too. Exit status 77: it is not there.
"""

import base64
import http.client
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SHARED = os.environ.get("SHARED_DIR", os.path.join(ROOT, "..", "shared"))
THOLE = os.environ.get("THOLE") or os.path.join(os.environ.get("BUILD_DIR", os.path.join(ROOT, "build")), "thole")
WIDTH, HEIGHT = 1280, 800

SCRIPTS = [
    {"name": "preview", "model": "computer-use-preview", "match": "look", "turns": [
        {"parts": [{"reasoning": "First a look."}, {"screenshot": True}]},
        {"parts": [{"reasoning": ["Two", "parts"]}, {"click": [10, 20], "safety": [
            {"id": "cu_sc_1", "code": "malicious_instructions", "message": "Sure?"}]}]},
        [{"scroll": {"x": 5, "y": 6, "dy": 100}}],
        [{"drag": {"path": [[1, 2], [3, 4]]}}],
        [{"type": "héllo"}],
        [{"keypress": "ctrl+a"}],
        [{"wait": 1}],
        [{"text": "Done."}]]},
    {"name": "native", "model": "gpt-5\\.4", "match": "look", "turns": [
        {"parts": [{"reasoning": "All at once."}, {"actions": [
            {"screenshot": True}, {"double_click": [7, 8]}, {"click": [1, 1], "keys": ["shift"]}]}]},
        {"parts": [{"click": [10, 20], "safety": [{"id": "cu_sc_2", "code": "x", "message": "y"}]}]},
        {"parts": [{"text": "Half way.", "phase": "commentary"}, {"click": [10, 20]}]},
        [{"text": "Done.", "phase": "final_answer"}]]},
    {"name": "as function", "model": "gpt-4o", "match": "look", "options": {"computer_function": "computer"}, "turns": [
        [{"click": [10, 20]}, {"type": "x"}],
        [{"text": "Done."}]]},
    {"name": "cut short", "model": "gpt-5.*", "match": "think", "turns": [
        {"parts": [{"reasoning": "Too long a thought."}], "finish": "length"}], "after": "repeat_last"},
    {"name": "refusal", "model": "gpt-5.*", "match": "refuse", "turns": [
        {"parts": [{"reasoning": "Again."}, {"refusal": "No."}]},
        [{"text": "Well."}]]},
    {"name": "chat", "api": "chat", "model": "chat-.*|gpt-4o", "match": "everything", "options": {"computer_function": "computer"},
     "turns": [
        [{"text": "Let me see."}, {"function_call": {"name": "get_weather", "arguments": {"city": "Zürich"}}},
         {"function_call": {"name": "get_weather", "arguments": {"city": "Rom"}}}],
        {"expect": [{"tool_output": {"name": "get_weather", "nth": 0, "equals": "rain"}},
                    {"tool_output": {"name": "get_weather", "nth": 1, "equals": "sun"}}],
         "parts": [{"raw": {"tool_calls": [{"id": "call_x", "type": "function", "function": {
             "name": "computer", "arguments": "{\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2}]}"}}]}}]},
        {"expect": [{"images": {"min": 1}}, {"image_size": [WIDTH, HEIGHT]}],
         "parts": [{"function_call": {"name": "get_weather", "arguments": "{\"city\": not json"}}]},
        {"parts": [{"text": "Too lo"}], "finish": "length"},
        [{"refusal": "No."}],
        [{"text": "Done."}]]},
    {"name": "vllm", "api": "chat", "model": "open-.*", "flavour": "vllm", "match": "everything", "turns": [
        [{"function_call": {"name": "get_weather", "arguments": {"city": "Zürich"}}}],
        [{"text": "Done."}]]},
    {"name": "chat errors", "api": "chat", "model": "chat-.*", "match": "error", "turns": [
        {"faults": [{"status": 429, "retry_after": 1}, {"status": 500}, {"error_event": {"after": 1, "status": 529}},
                    {"cut": 300}, {"duplicate": True}, {"no_finish": True}], "parts": [{"text": "At last."}]}]},
    {"name": "messages", "api": "anthropic", "model": "claude-.*", "match": "everything", "turns": [
        [{"text": "A look."}, {"screenshot": True}],
        [{"actions": [{"click": {"x": 10, "y": 20, "keys": ["ctrl"]}}, {"scroll": {"x": 5, "y": 6, "direction": "up", "amount": 3}},
                      {"drag": {"path": [[1, 2], [3, 4]]}}, {"type": "h\u00e9llo"}, {"keypress": "ctrl+a"},
                      {"hold_key": {"keys": "shift", "seconds": 1}}, {"wait": 1}, {"cursor_position": True},
                      {"zoom": {"region": [0, 0, 100, 50]}}]}],
        [{"function_call": {"name": "get_weather", "arguments": {"city": "Z"}}},
         {"function_call": {"name": "get_weather", "arguments": {"city": "Y"}}}],
        {"parts": [{"text": "Searching"}], "finish": "pause"},
        {"parts": [{"text": "Half a sen"}], "finish": "length"},
        {"parts": [{"text": "No."}], "finish": "refusal"},
        [{"text": "Done."}]]},
    {"name": "kinds", "model": "gpt-5.*", "match": "kinds", "turns": [
        {"parts": [{"raw": {"type": "web_search_call", "id": "ws_1", "status": "completed",
                            "action": {"type": "search", "query": "q"}}},
                   {"function_call": {"name": "get_weather", "arguments": {"city": "Z"}}}]},
        [{"text": "Done."}]]},
]  # fmt: skip

WEATHER = {"name": "get_weather", "description": "Weather of a city.", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}


def png(width, height):
    """A picture of noise bands."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([y % 256]) * (3 * width) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


SCREENSHOT = "data:image/png;base64," + base64.b64encode(png(WIDTH, HEIGHT)).decode()


def plumb(*arguments, stdin):
    done = subprocess.run([THOLE, "plumb", *arguments], input=stdin, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"plumb {arguments}: {done.stderr.decode()}")
    return json.loads(done.stdout)


class Failed(Exception):
    pass


class Conversation:
    def __init__(self, port, model, screen=False, stream=True, tools=(WEATHER,)):
        self.port, self.model, self.stream, self.tools = port, model, stream, list(tools)
        self.screen = ["--screen", f"{WIDTH}x{HEIGHT}"] if screen else []
        self.items, self.bodies = [], []

    def say(self, text):
        self.items.append({"type": "message", "role": "user", "content": text})
        return self

    def turn(self):
        request = plumb("encode", "--model", self.model, *self.screen, *([] if self.stream else ["--no-stream"]),
                        stdin=json.dumps({"items": self.items, "tools": self.tools}).encode())
        body = json.dumps(request["body"]).encode()
        self.bodies.append(request["body"])
        call = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1{request['path'].removeprefix('/v1')}", body,
                                      {**request["headers"], "Authorization": "Bearer test"})
        try:
            with urllib.request.urlopen(call) as answer:
                try:
                    got = answer.read()
                except http.client.IncompleteRead as error:
                    got = error.partial
        except urllib.error.HTTPError as error:
            raise Failed(f"{error.code}: {error.read().decode()}") from None
        decoded = plumb("decode", "--model", self.model, *self.screen, stdin=got)
        if decoded.get("raw") and decoded["items"]:
            decoded["items"][0]["raw"] = {**decoded["raw"], "items": len(decoded["items"])}
        self.items += decoded["items"]
        return decoded

    def results(self, decoded, failing=False):
        """Answers every call; computer calls with a screenshot, or with a sentence only."""
        for item in decoded["items"]:
            if item["type"] == "computer_call":
                output = [{"type": "text", "text": "(5000, 20) is outside the screen"}] if failing else {
                    "type": "computer_screenshot", "image_url": SCREENSHOT}
                self.items.append({"type": "computer_call_output", "call_id": item["call_id"], "output": output,
                                   "acknowledged_safety_checks": item.get("pending_safety_checks", [])})
            elif item["type"] == "function_call" and item["name"] == "computer":
                self.items.append({"type": "function_call_output", "call_id": item["call_id"], "output": [
                    {"type": "input_text", "text": "done"}, {"type": "input_image", "image_url": SCREENSHOT}]})
            elif item["type"] == "function_call":
                city = "rain" if "Z" in item["arguments"] else "sun"
                self.items.append({"type": "function_call_output", "call_id": item["call_id"], "output": city})

    def run(self, failing_turn=-1):
        for n in range(20):
            decoded = self.turn()
            if decoded["status"] != "completed":
                raise Failed(f"turn {n}: {decoded}")
            if not any(item["type"].endswith("_call") for item in decoded["items"]):
                return decoded
            self.results(decoded, n == failing_turn)
        raise Failed("no end")


def text(decoded):
    return "".join(p.get("text", "") for i in decoded["items"] if i["type"] == "message" for p in i["content"])


def cases(port):
    for stream in (True, False):
        how = "stream" if stream else "body"
        yield f"text, {how}", lambda s=stream: text(Conversation(port, "gpt-4o", stream=s).say("hello").run()).index("Hello")
        yield f"reasoning and parallel calls, {how}", lambda s=stream: text(
            Conversation(port, "gpt-5.4", stream=s).say("weather").run()).index("東京")
        yield f"calls without reasoning, {how}", lambda s=stream: text(
            Conversation(port, "gpt-4o", stream=s).say("weather").run()).index("東京")
        yield f"preview tool, {how}", lambda s=stream: text(
            Conversation(port, "computer-use-preview", True, s).say("look").run()).index("Done")
        yield f"computer tool, {how}", lambda s=stream: text(
            Conversation(port, "gpt-5.4", True, s).say("look").run()).index("Done")
    yield "computer as a function", lambda: text(Conversation(port, "gpt-4o", True).say("look").run()).index("Done")
    for n in range(3):
        yield f"a failed preview call in turn {n}", lambda n=n: text(
            Conversation(port, "computer-use-preview", True).say("look").run(n)).index("Done")
        yield f"a failed computer call in turn {n}", lambda n=n: text(
            Conversation(port, "gpt-5.4", True).say("look").run(n)).index("Done")
    yield "reasoning that nothing follows", lambda: cut_short(port)
    yield "items of every kind", lambda: text(Conversation(port, "gpt-5.4").say("kinds").run()).index("Done")
    yield "refusal", lambda: refusal(port)
    yield "an agent's words", lambda: message_roles(port)


def chat_cases(port):
    """Chat Completions: everything, in its own words and from items alone."""
    for model in ("chat:chat-x", "openrouter/chat-x", "azure/gpt-4o"):
        for stream in (True, False):
            for raw in (True, False):
                how = f"{model}, {'stream' if stream else 'body'}, {'raw' if raw else 'items'}"
                yield f"chat: {how}", lambda m=model, s=stream, r=raw: chat_everything(port, m, s, r)
    yield "chat: an open server", lambda: text(
        Conversation(port, "hosted_vllm/open-model").say("everything").run()).index("Done")
    yield "chat: errors", lambda: chat_errors(port)


def messages_cases(port):
    """Anthropic Messages: everything, in its own words and from items alone."""
    for stream in (True, False):
        for raw in (True, False):
            how = f"{'stream' if stream else 'body'}, {'raw' if raw else 'items'}"
            yield f"messages: {how}", lambda s=stream, r=raw: messages_everything(port, s, r)


def messages_everything(port, stream, raw):
    c = Conversation(port, "claude-opus-5", True, stream).say("everything")
    for expected in ("completed", "completed", "completed", "pause_turn", "max_output_tokens", "completed"):
        decoded = c.turn()
        assert expected == decoded.get("reason", decoded["status"]), decoded
        assert not any("error" in item for item in decoded["items"]), decoded
        if not raw:
            decoded["items"][0].pop("raw", None)
        c.results(decoded)
        # A refusal is left out of what is sent, and the model is asked again.
        if not any(item["type"].endswith("_call") for item in decoded["items"]):
            c.say("go on")
    calls = [i for i in c.items if i["type"] == "computer_call"]
    assert len(calls) == 10 and calls[1]["actions"][0].get("keys") == ["ctrl"], calls


def chat_everything(port, model, stream, raw):
    c = Conversation(port, model, True, stream).say("everything")
    for expected in ("completed", "completed", "completed", "incomplete", "completed", "completed"):
        decoded = c.turn()
        assert decoded["status"] == expected, decoded
        if not raw:
            decoded["items"][0].pop("raw", None)
        c.results(decoded)
        if not any(item["type"].endswith("_call") for item in decoded["items"]):
            c.say("go on")
    assert text(decoded) == "Done.", decoded


def chat_errors(port):
    """Each try has its fault; only what is whole is an answer."""
    for expected in ("429", "500", "server", "cut", "completed", "completed"):
        c = Conversation(port, "chat:chat-x").say("error")
        try:
            decoded = c.turn()
        except Failed as error:
            assert str(error).startswith(expected), (expected, error)
            continue
        found = decoded["error"]["class"] if decoded["error"] else decoded["status"]
        if expected == "completed" and found == "cut":
            continue  # the stream without an end
        assert found == expected and (found != "completed" or text(decoded) == "At last."), (expected, decoded)


def cut_short(port):
    c = Conversation(port, "gpt-5.4").say("think")
    first = c.turn()
    assert first["status"] == "incomplete" and first["reason"] == "max_output_tokens", first
    c.say("go on")
    c.turn()
    assert not any(i.get("type") == "reasoning" for i in c.bodies[-1]["input"])


def refusal(port):
    c = Conversation(port, "gpt-5.4").say("refuse")
    assert c.turn()["items"][-1]["content"][0]["type"] == "refusal"
    assert "Well" in text(c.say("and?").turn())


def message_roles(port):
    c = Conversation(port, "gpt-4o").say("hello")
    c.items.append({"role": "assistant", "content": "Hi."})
    c.items.append({"role": "developer", "content": [{"type": "text", "text": "Be brief."}]})
    c.items.append({"role": "user", "content": [{"type": "text", "text": "See:"},
                                                {"type": "input_image", "image_url": SCREENSHOT}]})
    assert "Hello" in text(c.turn())


def main():
    if not os.path.exists(os.path.join(SHARED, "standin", "standin.py")):
        print("not run: there is no stand-in server beside the checkout")
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.json")
        port_file, record = os.path.join(folder, "port"), os.path.join(folder, "record.jsonl")
        with open(script, "w") as f:
            json.dump(SCRIPTS, f)
        server = subprocess.Popen(
            [sys.executable, "-S", os.path.join(SHARED, "standin", "standin.py"), "--port", "0", "--port-file", port_file,
             "--script", script, os.path.join(SHARED, "standin", "examples", "tools.json"),
             "--record", record, "--pedantic"],
            stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 20
            while not (os.path.exists(port_file) and open(port_file).read().strip()):
                assert server.poll() is None and time.monotonic() < until, "the stand-in does not start"
                time.sleep(0.05)
            port = int(open(port_file).read())
            for name, run in [*cases(port), *chat_cases(port), *messages_cases(port)]:
                try:
                    run()
                    passed += 1
                except (Failed, AssertionError, ValueError, RuntimeError) as error:
                    failed += 1
                    print(f"FAIL {name}: {type(error).__name__}: {str(error)[:600]}")
        finally:
            server.terminate()
            server.wait()
        for line in open(record):
            entry = json.loads(line)
            bad = {k: entry[k] for k in ("violations", "warnings", "script_fault", "internal_error") if entry.get(k)}
            if bad:
                failed += 1
                print(f"FAIL request {entry['n']} ({entry.get('script')}): {json.dumps(bad)[:600]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
