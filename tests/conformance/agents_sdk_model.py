# SPDX-License-Identifier: Apache-2.0
"""The model of a scenario: a server of the Responses API that answers the n-th request with the n-th scripted turn."""
import http.server
import json
import threading

# What the SDK's client raises, by status; 500 and above: the last one.
HTTP_ERRORS = {400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
               409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError", 500: "InternalServerError"}
NO_MORE = {"http_error": {"status": 400}}  # the script has no more answers


def http_body(fault):
    """The body of an error that a script names, or gives whole."""
    if "body" in fault:
        return fault["body"]
    e = {"message": fault.get("message", "scripted"), "type": fault.get("type", "server_error")}
    if fault.get("code"):
        e["code"] = fault["code"]
    return {"error": e}


def http_error(fault):
    """The same as the SDK's client raises it."""
    status = fault.get("status", 500)
    kind = HTTP_ERRORS.get(min(status, 500), "APIStatusError")
    return {"class": kind, "message": "Error code: %d - %s" % (status, http_body(fault))}


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def begin(self, turns, wanted, plain, retry):
        """`wanted`: the inputs that the reference sent, turn by turn, as `plain` makes them of a request; `retry`: the statuses
        after which a request is to be tried again, if a scenario says so."""
        self.turns, self.wanted, self.plain, self.retry = turns, wanted, plain, retry
        self.taken, self.answered, self.order = {}, set(), threading.Condition()

    def take(self, body):
        """Which turn a request is for.  Agents that work side by side ask in any order: theirs is the one whose input it has."""
        n = min(set(range(len(self.taken) + 1)) - set(self.taken))
        input_ = self.plain(body)
        if n < len(self.wanted) and self.wanted[n] != input_:
            n = next((m for m in range(n, len(self.wanted)) if m not in self.taken and self.wanted[m] == input_), n)
        self.taken[n] = body
        return n

    def wait_for_those_before(self, n):
        """Their answers arrive in the script's order, unless it has delays."""
        if not any(t.get("delay_ms") for t in self.turns[:n + 1]):
            self.order.wait_for(lambda: self.answered.issuperset(range(n)), timeout=5)

    def requests(self):
        return [self.taken[n] for n in sorted(self.taken)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.order:
            n = self.server.take(body)
            self.server.wait_for_those_before(n)
        self.say(n, body)
        with self.server.order:
            self.server.answered.add(n)
            self.server.order.notify_all()

    def say(self, n, body):
        turn = self.server.turns[n] if n < len(self.server.turns) else NO_MORE
        if turn.get("delay_ms"):
            threading.Event().wait(turn["delay_ms"] / 1000)
        fault = turn.get("http_error")
        if fault:
            return self.answer(fault.get("status", 500), http_body(fault))
        status = turn.get("status", "completed")
        response = {"id": "resp_%d" % (n + 1), "object": "response", "status": status,
                    "model": body.get("model"), "output": turn.get("output", []),
                    "usage": turn.get("usage") or {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
        if status == "incomplete":
            response["incomplete_details"] = turn.get("incomplete_details") or {"reason": "max_output_tokens"}
        if status == "failed":
            response["error"] = turn.get("error") or {"code": "server_error", "message": "scripted"}
        if not body.get("stream"):
            return self.answer(200, response)
        events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
        for i, item in enumerate(response["output"]):
            events.append({"type": "response.output_item.done", "output_index": i, "item": item})
        if turn.get("empty_terminal_output"):
            response["output"] = []
        ends = status if status in ("incomplete", "failed") else "completed"
        events.append({"type": "response." + ends, "response": response})
        text = "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events)
        self.answer(200, text, "text/event-stream")

    def answer(self, status, body, kind="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            if status >= 400 and self.server.retry is not None:
                self.send_header("x-should-retry", "true" if status in self.server.retry else "false")
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass


def start():
    model = Model(("127.0.0.1", 0), Handler)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    return model
