# SPDX-License-Identifier: Apache-2.0
"""A model of Chat Completions that answers from a list, for thole and for openhands-sdk alike.

An answer is a list of {"text": …} and {"call": NAME, "args": {…}} (or "raw": arguments that are no JSON), or {"status": N, "body": {…}}, a refusal.
`answers` has a list for each conversation, by an expression that its messages of the user match; "" is any other.
"""

import http.server
import json
import re
import threading


def texts_of(message):
    content = message.get("content") or []
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.given, self.requests = answers, {}, []
        self.lock = threading.Lock()
        self.url = "http://127.0.0.1:%d/v1" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()

    def answer(self, body):
        said = "\n".join(text for m in body["messages"] if m["role"] == "user" for text in texts_of(m))
        with self.lock:
            who = next((words for words in self.answers if words and re.search(words, said)), "")
            number = self.given.get(who, 0)
            self.given[who] = number + 1
            self.requests.append((who, body))
            turns = self.answers[who]
            return len(self.requests), turns[number] if number < len(turns) else {"status": 400, "body": {"error": {"message": "no more answers"}}}


def completion(number, model, parts):
    message, calls = {"role": "assistant", "content": None}, []
    for part in parts:
        if "text" in part:
            message["content"] = part["text"]
        else:
            calls.append({"id": "call_%d_%d" % (number, len(calls)), "type": "function",
                          "function": {"name": part["call"], "arguments": part["raw"] if "raw" in part else json.dumps(part["args"])}})
    if calls:
        message["tool_calls"] = calls
    return {"id": "chatcmpl-%d" % number, "object": "chat.completion", "created": 1, "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, parts = self.server.answer(body)
        status, reply = (parts["status"], parts["body"]) if isinstance(parts, dict) else (200, completion(number, body["model"], parts))
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass
