# SPDX-License-Identifier: Apache-2.0
"""Webhooks: what is told, how it is signed, and that a kill loses nothing."""

import base64
import hashlib
import hmac
import http.server
import json
import queue
import signal
import threading
import time
import unittest

import house
import serving

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Receiver(http.server.ThreadingHTTPServer):
    """Takes webhooks; `answers` says with what, the last one for all that follow (None: no answer at all)."""

    daemon_threads = True

    def __init__(self, answers=(200,)):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.got = queue.Queue()
        self.url = "http://127.0.0.1:%d/hook?key=do-not-log-me" % self.server_address[1]
        self.end = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, _body):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def next(self):
        headers, body = self.got.get(timeout=house.SECONDS)
        return headers, json.loads(body), body

    def stop(self):
        self.end.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.answer(body)
        self.server.got.put((dict(self.headers), body))
        if answer is None:
            self.server.end.wait()
            return
        self.send_response(answer)
        if answer == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Webhooks(serving.Served):
    def receive(self, *answers):
        receiver = Receiver(answers or (200,))
        self.addCleanup(receiver.stop)
        return receiver

    def configure(self, *hooks):
        rows = [dict({"secret": SECRET, "private": True, "retry_ms": 20}, **hook) for hook in hooks]
        (self.folder / "config" / "thole" / "config.yaml").write_text(
            "executor_linger_s: 20\nserve: " + json.dumps({"webhooks": [{k: v for k, v in r.items() if v is not None} for r in rows]}) + "\n")

    def begin(self, agents=()):
        folder = self.folder / "agents"
        folder.mkdir(exist_ok=True)
        for name, text in agents:
            (folder / (name + ".yaml")).write_text(text)
        return self.serve_http("--agents", folder, "--workspaces", self.work)

    def run_one(self, who="alice", state="finished", **body):
        name = self.good_call("POST", "/api/sessions", dict({"message": "Go."}, **body), status=201, who=who)["session_id"]
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, who=who)
        list(serving.frames(response))
        connection.close()
        self.assertEqual(self.good_call("GET", "/api/sessions/" + name, who=who)["state"], state)
        return name

    def verify(self, headers, raw):
        """As docs and libraries of Standard Webhooks have it."""
        headers = {name.lower(): value for name, value in headers.items()}
        text = ("%s.%s." % (headers["webhook-id"], headers["webhook-timestamp"])).encode() + raw
        wanted = "v1," + base64.b64encode(hmac.new(KEY, text, hashlib.sha256).digest()).decode()
        self.assertIn(wanted, headers["webhook-signature"].split())
        self.assertLess(abs(int(headers["webhook-timestamp"]) - time.time()), 300)
        self.assertEqual(headers["content-type"], "application/json")
        return headers["webhook-id"]

    def said(self):
        lines = [line for line in (self.folder / "journal").read_text().splitlines() if line.startswith("{")]
        return [row["message"] for row in map(json.loads, lines) if row.get("about") == "webhook"]

    def tearDown(self):
        text = (self.folder / "journal").read_text() if (self.folder / "journal").exists() else ""
        super().tearDown()
        for secret in (SECRET, "do-not-log-me"):
            self.assertNotIn(secret, text)

    def test_what_is_told(self):
        all_of_it, ends, bobs = self.receive(), self.receive(), self.receive()
        self.configure({"url": all_of_it.url}, {"url": ends.url, "events": ["session.finished", "session.limit"]}, {"url": bobs.url, "user": "bob"})
        shell = {"function_call": {"name": "shell", "arguments": {"command": "true"}}}
        self.serve_rules([{"if": {"user": "ask"}, "parts": [shell]}, {"if": {"user": "loop"}, "parts": [shell]},
                          {"if": {"user": "fail"}, "parts": [{"text": "x"}], "faults": [{"status": 400, "times": -1}]},
                          {"parts": [{"text": "Done."}]}])
        self.violations = False
        self.begin([("asks", "name: asks\ntools: [shell]\napprove: [shell]\n"), ("short", "name: short\ntools: [shell]\nlimits: {turns: 1}\n")])
        name = self.run_one(metadata={"ticket": 7})
        headers, told, raw = all_of_it.next()
        number = self.verify(headers, raw)
        self.assertRegex(number, r"^msg_[0-9a-f]{32}$")
        self.assertEqual(told["type"], "session.finished")
        self.assertRegex(told["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        data = told["data"]
        self.assertEqual((data["session_id"], data["user"], data["agent"], data["metadata"], data["output"]), (name, "alice", "default", {"ticket": 7}, "Done."))
        self.assertEqual(self.events(name)[data["seq"] - 1]["kind"], "final")
        self.assertEqual(ends.next()[1], told)
        for text, agent, state, kind, member in (("ask", "asks", "waiting", "session.waiting", "call_id"), ("loop", "short", "limit", "session.limit", "reason"),
                                                 ("fail", "default", "failed", "session.failed", "message")):
            name = self.run_one(agent=agent, message=text, state=state)
            headers, told, raw = all_of_it.next()
            self.verify(headers, raw)
            self.assertEqual((told["type"], told["data"]["session_id"]), (kind, name))
            self.assertTrue(told["data"][member])
        self.assertEqual(ends.next()[1]["type"], "session.limit")
        name = self.run_one(who="bob")
        self.assertEqual(bobs.next()[1]["data"]["session_id"], name)
        self.assertEqual(all_of_it.next()[1]["data"]["session_id"], name)
        self.assertTrue(bobs.got.empty() and all_of_it.got.empty())
        text = self.call("GET", "/metrics", who="boss").body.decode()
        self.assertIn("thole_webhooks_failed_total 0\n", text)

    def test_a_kill_loses_nothing_and_repeats_nothing(self):
        receiver = self.receive(None)
        self.configure({"url": receiver.url})
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        port = self.begin()
        names = [self.run_one() for _ in range(3)]
        first = {receiver.next()[1]["data"]["session_id"]: 1 for _ in names}
        self.assertEqual(sorted(first), sorted(names))  # sent, and never answered
        self.end_http(signal.SIGKILL)
        receiver.answers = [500, 200]
        port = self.serve_http("--agents", self.folder / "agents", port=port)
        taken = {}
        for _ in range(4):  # one of them twice, under one number
            headers, told, raw = receiver.next()
            taken.setdefault(self.verify(headers, raw), []).append(told["data"]["session_id"])
        self.assertEqual(sorted(len(v) for v in taken.values()), [1, 1, 2])
        self.assertEqual(sorted(v[0] for v in taken.values()), sorted(names))
        outbox = self.folder / "state" / "thole" / "webhooks.jsonl"
        self.wait_for(lambda: sum(number[4:] in outbox.read_text() for number in taken) == 3)
        self.end_http(signal.SIGKILL)
        self.serve_http("--agents", self.folder / "agents", port=port)
        name = self.run_one()
        self.assertEqual(receiver.next()[1]["data"]["session_id"], name)  # and nothing of before
        self.assertTrue(receiver.got.empty())
        self.assertNotIn("do-not-log-me", outbox.read_text())
        self.assertNotIn(SECRET, outbox.read_text())

    def test_what_happened_while_no_server_was_there(self):
        receiver = self.receive()
        self.configure({"url": receiver.url})
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.begin()
        name = self.run_one()
        receiver.next()
        self.wait_for(lambda: b"thole_webhooks_sent_total 1\n" in self.call("GET", "/metrics", who="boss").body)
        self.end_http()
        self.good("run", "-s", name, "Once more.", "-q")
        fork = self.good("fork", name).out.split()
        self.good("run", "Of the command line.", "-q")  # nobody's webhook
        self.begin()
        told = receiver.next()[1]["data"]
        self.assertEqual((told["session_id"], told["seq"]), (name, max(e["seq"] for e in self.events(name) if e["kind"] == "final")))
        self.assertEqual(self.good_call("GET", "/api/sessions")["sessions"][0]["user"], "alice", fork)
        self.assertTrue(receiver.got.empty())

    def test_private_addresses_and_redirects(self):
        here, elsewhere = self.receive(), self.receive(302)
        self.configure({"url": here.url, "private": None}, {"url": here.url.replace("127.0.0.1", "localhost"), "private": False}, {"url": elsewhere.url})
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.begin()
        self.run_one()
        for _ in range(3):
            elsewhere.next()  # tried again, and never followed
        self.wait_for(lambda: sum("not public" in text for text in self.said()) == 2)
        self.assertTrue(here.got.empty())

    def test_gone(self):
        receiver = self.receive(410)
        self.configure({"url": receiver.url})
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.begin()
        self.run_one()
        receiver.next()
        self.wait_for(lambda: any("410" in text for text in self.said()))
        self.run_one()
        self.server.send_signal(signal.SIGHUP)
        receiver.answers = [200]
        # Signals and requests come to the loop in no order: told are those that end once it was read again.
        self.wait_for(lambda: self.run_one() and not receiver.got.empty())
        receiver.next()

    def test_what_is_no_webhook(self):
        good = {"url": "https://example.org/x", "secret": SECRET}
        for change, word in (({"url": "ftp://example.org"}, "url"), ({"url": "https://a:b@example.org/"}, "url"), ({"url": "https://example.org/ x"}, "url"),
                             ({"secret": "abc"}, "whsec_"), ({"secret": "whsec_c2hvcnQ="}, "24 to 64"), ({"secret": None}, "secret"),
                             ({"secret_file": "/nowhere"}, "either"), ({"secret": None, "secret_file": "/nowhere"}, "/nowhere"),
                             ({"events": ["session.begun"]}, "session.finished"), ({"colour": "red"}, "colour")):
            with self.subTest(change=change):
                self.configure(dict(good, **change))
                code = 1 if "/nowhere" in word else 2
                self.assertNotIn("c2hvcnQ", self.bad(code, ["webhooks[0]", word], "serve", "--listen", "127.0.0.1:0").err)
        self.configure(good, good)
        self.bad(2, ["webhooks[1]", "same"], "serve", "--listen", "127.0.0.1:0")


if __name__ == "__main__":
    unittest.main()
