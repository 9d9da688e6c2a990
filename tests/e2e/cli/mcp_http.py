#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests' server of tools (mcp_server.py) at an address: streamable HTTP of both eras, in one process of threads.

    mcp_http.py [the options of mcp_server.py] [--token TOKEN | --login FILE] [--fault NAME] [--old]

FILE is JSON: {"issuer": URL, "tokens": {TOKEN: SCOPE}}; a call of the tool add wants the scope "write", all else "read".

--old: only HTTP+SSE of 2024-11-05.

Prints its address.  Writes each request to received.jsonl: {"http": METHOD, "headers": {…}, …the message}.
"""

import http.server
import json
import queue
import sys
import threading

import mcp_server

META = mcp_server.META


class Session(mcp_server.Server):
    """Messages of one exchange go where `out` says."""

    def __init__(self, options):
        super().__init__(options)
        self.local = threading.local()

    def say(self, message):
        self.local.out.append(dict({"jsonrpc": "2.0"}, **message))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept = {}     # event id -> what comes behind it
    session = None  # the one that there is
    streams = {}    # of --old: session -> what is to be said
    opened = 0
    options = None

    def log_message(self, *args):
        pass

    def note(self, message):
        with open("received.jsonl", "a", encoding="utf-8") as f:
            f.write(json.dumps(dict({"http": self.command, "headers": {k.lower(): v for k, v in self.headers.items()}}, **message)) + "\n")

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if body:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def place(self):
        return "http://127.0.0.1:%d" % self.server.server_port

    def wants_login(self, m):
        """Of OAuth: who is not logged in, or not for that, is told where to."""
        with open(self.options.login, encoding="utf-8") as f:
            scope = json.load(f)["tokens"].get((self.headers.get("Authorization") or "")[len("Bearer "):])
        need = "write" if m.get("params", {}).get("name") == "add" else "read"
        if scope is not None and need in scope.split():
            return False
        place = "http://192.0.2.1" if self.options.fault == "metadata" else self.place()
        told = 'Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="%s"' % (place, need)
        if scope is None:
            self.answer(401, WWW_Authenticate=told)
        else:
            self.answer(403, WWW_Authenticate=told + ', error="insufficient_scope"')
        return True

    def refused(self, m):
        if self.options.login:
            return self.wants_login(m)
        if self.options.token and self.headers.get("Authorization") != "Bearer " + self.options.token:
            self.answer(401)
            return True
        return False

    def old_stream(self):
        """HTTP+SSE of 2024-11-05: answers come on this stream, which ends as `fault` says."""
        fault, streams = self.options.fault, self.streams
        Handler.opened += 1
        at = "s%d" % Handler.opened
        streams[at] = queue.SimpleQueue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        place = "http://192.0.2.1/messages" if fault == "elsewhere" else "/messages?session=" + at
        self.wfile.write(b": hello\n\nevent: endpoint\ndata: %s\n\n" % place.encode())
        while (message := streams[at].get()) is not None:
            self.wfile.write(b"event: message\ndata: %s\n\n" % json.dumps(message).encode())
        self.close_connection = True

    def old_message(self, m):
        at = self.path.partition("session=")[2]
        if at not in self.streams:
            self.answer(405 if self.path == "/mcp" else 404)
            return
        server = self.server.tools
        server.local.out = out = []
        if m.get("method") == "tools/call" and m["params"]["name"] == "crash":
            self.streams.pop(at).put(None)
        else:
            server.hear(m)
        self.answer(202, b"Accepted", "text/plain")
        for message in out:
            self.streams[at].put(message)

    def do_GET(self):
        self.note({"path": self.path})
        if self.options.old:
            if not self.refused({}):
                self.old_stream()
            return
        if self.options.login and self.path == "/.well-known/oauth-protected-resource/mcp":
            with open(self.options.login, encoding="utf-8") as f:
                issuer = json.load(f)["issuer"]
            self.answer(200, json.dumps({"resource": self.place() + "/mcp", "authorization_servers": [issuer]}).encode())
            return
        if self.options.fault == "expires" and self.headers.get("Last-Event-ID"):
            self.options.fault = ""
            self.answer(401)
            return
        events = self.kept.pop(self.headers.get("Last-Event-ID"), None)
        if events is None:
            self.answer(405)
        else:
            self.answer(200, events.encode(), "text/event-stream")

    def do_DELETE(self):
        self.note({})
        Handler.session = None
        self.answer(204)

    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(m)
        if self.refused(m):
            return
        if self.options.old:
            self.old_message(m)
            return
        if m.get("method") == "tasks/get" and self.options.fault == "task_away" and Handler.opened < 2:
            Handler.opened += 1
            self.answer(503)
            return
        params = m.get("params", {})
        modern = META + "protocolVersion" in params.get("_meta", {})
        if modern and self.options.era == "legacy":
            self.answer(400, b"Bad Request: no session", "text/plain")
        elif modern:
            if self.headers.get("Mcp-Method") != m["method"] or self.headers.get("MCP-Protocol-Version") != mcp_server.MODERN or \
               (m["method"] == "tools/call" and self.headers.get("Mcp-Name") != params["name"]):
                self.answer(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"headers"}}')
            else:
                self.speak(m, {})
        elif m.get("method") == "initialize":
            Handler.session = "s-%d" % threading.get_ident()
            self.speak(m, {"Mcp_Session_Id": Handler.session})
        elif self.headers.get("Mcp-Session-Id") != Handler.session or self.options.fault == "forgets":
            self.options.fault = ""
            Handler.session = None
            self.answer(404)
        else:
            self.speak(m, {})

    def speak(self, m, headers):
        server = self.server.tools
        server.local.out = out = []
        if m.get("method") == "subscriptions/listen":
            self.answer(200, b": nothing to say\n\n", "text/event-stream")
            return
        if "method" not in m:
            server.local.out = server.then
            server.hear(m)
            server.waits.set()
            self.answer(202)
            return
        server.on(m)
        if "method" in m and m["method"] == "tasks/result" and "method" in out[0]:
            self.question_on_stream(out)
        elif "id" not in m or not out:
            self.answer(202, **headers)
        elif m["method"] == "tools/call" and m["params"]["name"] == "steps" and server.era == "legacy":
            # An empty first event, then the end; the rest is behind its number.
            self.kept["e1"] = "".join("event: message\ndata: %s\n\n" % json.dumps(x) for x in out)
            self.answer(200, b"id: e1\nretry: 10\ndata: \n\n", "text/event-stream")
        elif m["method"] == "tools/call" and m["params"]["name"] == "cut":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.close_connection = True
        elif len(out) > 1 or m["method"] == "tools/list":
            self.answer(200, "".join("data: %s\n\n" % json.dumps(x) for x in out).encode(), "text/event-stream", **headers)
        else:
            self.answer(200, json.dumps(out[0]).encode(), **headers)


    def question_on_stream(self, out):
        """The stream stays open until the answer was posted, which is what is said next."""
        server = self.server.tools
        server.waits = threading.Event()
        server.then = out
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: %s\n\n" % json.dumps(out.pop(0)).encode())
        server.waits.wait(60)
        self.wfile.write(b"data: %s\n\n" % json.dumps(out.pop(0)).encode())
        self.close_connection = True


def own_option(name):
    if name not in sys.argv:
        return ""
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    return value


def main():
    token, login = own_option("--token"), own_option("--login")
    old = "--old" in sys.argv and not sys.argv.remove("--old")
    Handler.options = mcp_server.options()
    Handler.options.token, Handler.options.login, Handler.options.old = token, login, old
    mcp_server.TOOLS.append({"name": "cut", "description": "Cuts the connection.", "inputSchema": {"type": "object"}})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda request, address: None  # who asks may have gone
    server.tools = Session(Handler.options)
    print("http://127.0.0.1:%d/mcp" % server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
