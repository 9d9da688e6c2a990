# SPDX-License-Identifier: Apache-2.0
"""External analysers: programs and servers that say how risky a call is, in an ensemble, and what no answer means."""

import http.server
import json
import os
import pathlib
import signal
import threading
import time
import unittest

import house
import serving

SHELL = {"function_call": {"name": "shell", "arguments": {"command": "echo made > made.txt"}}}
WAITS = 3


class Guard(http.server.BaseHTTPRequestHandler):
    answer, status, asked = b"{}", 200, []

    hangs, hung_up = False, False

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Guard.asked.append((self.path, self.headers.get("Authorization"), json.loads(body)))
        if Guard.hangs:
            Guard.hung_up = self.connection.recv(1) == b""
            return
        self.send_response(Guard.status)
        self.send_header("Content-Length", str(len(Guard.answer)))
        self.end_headers()
        self.wfile.write(Guard.answer)

    def log_message(self, *_):
        pass


def words_of(path):
    try:
        return path.read_bytes().split(b"\0")
    except OSError: # it has ended
        return []


def serve_guard(test):
    """Its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Guard.answer, Guard.status, Guard.asked, Guard.hangs, Guard.hung_up = b"{}", 200, [], False, False
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return "http://127.0.0.1:%d/risk" % server.server_port


class Analysers(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"

    def play(self, name, *external, code=0, **confirm):
        (self.work / "made.txt").unlink(missing_ok=True)
        agent = {"workspace": str(self.work), "tools": ["shell"], "confirm": dict({"when": "risky", "external": external}, **confirm)}
        (self.folder / "agent.yaml").write_text(json.dumps(agent))
        if not self.standin:
            self.standin = house.Standin(self.folder, {"rules": [{"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                                                                 {"parts": [{"text": "Done."}]}]})
            self.env["OPENAI_BASE_URL"] = self.standin.url
        ended = self.good("run", "-a", self.folder / "agent.yaml", "-s", name, "Begin.", code=code)
        self.assertEqual((self.work / "made.txt").exists(), code == 0)
        events = [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]
        self.call = [e["data"] for e in events if e["kind"] == "call"][0]
        self.analyses = [e["data"] for e in events if e["kind"] == "analysis"]
        return ended

    def test_programs(self):
        def says(answer, name="p"):
            return {"name": name, "command": ["/bin/sh", "-c", "cat > call.json; echo '%s'" % answer]}

        self.play("low", says('{"risk": "LOW"}'))
        call = json.loads((self.work / "call.json").read_text())
        self.assertEqual((call["tool"], call["arguments"], call["class"]), ("shell", {"command": "echo made > made.txt"}, "W"))
        self.play("high", says('{"risk": "high", "reason": "it writes"}'), code=WAITS)
        self.assertEqual((self.call["policy"], self.call["risk"], self.call["reason"]), ("ask", "high", "it writes"))
        self.good("approve", "high")
        self.assertTrue((self.work / "made.txt").exists() or self.good("resume", "high"))
        # The highest of all counts.
        self.play("both", says('{"risk": "low"}', "a"), says('{"security_risk": "HIGH"}', "b"), code=WAITS)
        self.assertEqual(sorted((a["name"], a["index"], a["risk"]) for a in self.analyses), [("a", 0, "low"), ("b", 1, "high")])
        self.play("medium", says('{"risk": "medium"}'))
        self.play("threshold", says('{"risk": "medium"}'), threshold="medium", code=WAITS)
        self.play("unknown", says('{"risk": "unknown"}'))
        self.play("asks", says('{"risk": "unknown"}'), unknown=True, code=WAITS)

    def test_no_answer_is_a_high_risk_or_what_the_file_says(self):
        bad = (["/bin/false"], ["/bin/echo", "words"], ["/bin/echo", '{"risk": "terrible"}'], ["/nonexistent"])
        for i, command in enumerate(bad):
            self.play("bad%d" % i, {"name": "p", "command": command}, code=WAITS)
            self.assertIn("gave no answer", self.analyses[0]["failed"])
            self.assertEqual(self.call["reason"], self.analyses[0]["failed"])
        self.play("open", {"name": "p", "command": ["/bin/false"], "on_failure": "low"})
        self.play("late", {"name": "p", "command": ["/bin/sleep", "60"], "timeout_s": 1}, code=WAITS)
        self.assertIn("in time", self.analyses[0]["failed"])

    def test_servers(self):
        url = serve_guard(self)
        self.env["GUARD_TOKEN"] = "guard-secret"
        Guard.answer = b'{"risk": "high", "reason": "no"}'
        self.play("high", {"name": "s", "url": url, "token_env": "GUARD_TOKEN"}, code=WAITS)
        path, token, body = Guard.asked[-1]
        self.assertEqual((path, token, body["tool"]), ("/risk", "Bearer guard-secret", "shell"))
        self.assertNotIn("guard-secret", self.good("log", "high", "--json").out)
        Guard.answer = b'{"risk": "low"}'
        self.play("low", {"name": "s", "url": url})
        self.assertIsNone(Guard.asked[-1][1])
        Guard.status = 500
        self.play("broken", {"name": "s", "url": url}, code=WAITS)
        self.assertIn("HTTP 500", self.analyses[0]["failed"])
        Guard.status, Guard.answer = 200, b'{"risk": "low", "pad": "' + b"x" * 70000 + b'"}'
        self.play("long", {"name": "s", "url": url}, code=WAITS)
        self.assertIn("larger than 65536", self.analyses[0]["failed"])
        self.play("gone", {"name": "s", "url": "http://127.0.0.1:1/"}, code=WAITS)
        self.play("keyless", {"name": "s", "url": url, "token_env": "NO_SUCH"}, code=WAITS)
        self.assertIn("NO_SUCH", self.analyses[0]["failed"])
        # One that fails at once ends nothing: the others are asked, too.
        program = {"name": "p", "command": ["/bin/echo", '{"risk": "low"}']}
        self.play("keyless-first", {"name": "s", "url": url, "token_env": "NO_SUCH"}, program, code=WAITS)
        self.assertEqual([(a["name"], a["risk"]) for a in self.analyses], [("s", "high"), ("p", "low")])
        self.play("keyless-all", *[{"name": name, "url": url, "token_env": "NO_SUCH", "on_failure": "low"} for name in "ab"])
        self.assertEqual([a["name"] for a in self.analyses], ["a", "b"])

    def test_a_run_that_is_stopped_meanwhile(self):
        """The call is not made, also when another task begins."""
        wait = "touch asked; until [ -e go ]; do sleep 0.05; done; echo '{\"risk\": \"low\"}'"
        agent = {"workspace": str(self.work), "tools": ["shell"],
                 "confirm": {"when": "risky", "external": [{"name": "p", "command": ["/bin/sh", "-c", wait]}]}}
        (self.folder / "agent.yaml").write_text(json.dumps(agent))
        self.standin = house.Standin(self.folder, {"rules": [{"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                                                             {"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        run = self.start("run", "-a", self.folder / "agent.yaml", "-s", "one", "Begin.")
        deadline = time.monotonic() + 30
        while not (self.work / "asked").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        self.good("cancel", "one")
        (self.work / "go").touch()
        self.good("run", "-s", "one", "Something else.")
        self.assertFalse((self.work / "made.txt").exists())
        events = [json.loads(line) for line in self.good("log", "one", "--json").out.splitlines()]
        self.assertEqual([e["data"]["policy"] for e in events if e["kind"] == "call"], ["refuse"])

    def test_files_that_are_wrong(self):
        for external, words in (([{"name": "a"}], "without one of"), ([{"name": "a", "url": "ftp://x"}], "neither http"),
                                ([{"name": "a", "command": ["x"]}] * 2, "twice"),
                                ([{"name": str(i), "command": ["x"]} for i in range(9)], "more than 8"),
                                ([{"name": "a", "command": ["x"], "timeout_s": 121}], "120"),
                                ([{"name": "a", "url": "http://x", "token_env": "sk-a1"}], "no name of a variable")):
            (self.folder / "agent.yaml").write_text(json.dumps({"confirm": {"when": "risky", "external": external}}))
            self.bad(2, words, "run", "-a", self.folder / "agent.yaml", "Begin.")


class Stopped(serving.Served):
    def test_stopped_while_they_are_asked(self):
        """Server and program are not asked any more, also where the session stays open; the call is refused."""
        url, mark = serve_guard(self), "97.%d" % os.getpid()
        Guard.hangs = True
        agents = self.folder / "agents"
        agents.mkdir()
        external = [{"name": "s", "url": url, "timeout_s": 120}, {"name": "p", "command": ["/bin/sleep", mark], "timeout_s": 120}]
        (agents / "a.yaml").write_text(json.dumps({"name": "a", "model": "gpt-5.4", "tools": ["shell"],
                                                   "confirm": {"when": "risky", "external": external}}))

        def asked():
            return [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in words_of(path)]

        self.serve_rules([{"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, {"parts": [{"text": "Done."}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work)
        self.good_call("POST", "/api/sessions", {"agent": "a", "message": "look", "id": "s"}, status=201)
        self.wait_for(lambda: Guard.asked and asked())
        self.good_call("POST", "/api/sessions/s/cancel", status=202)
        self.wait_for(lambda: Guard.hung_up and not asked())
        self.assertEqual(self.open_here(), 1, "the end of the session ends them, too")
        events = self.good_call("GET", "/api/sessions/s/events?limit=1000")["events"]
        self.assertEqual([e["data"]["policy"] for e in events if e["kind"] == "call"], ["refuse"])
        self.assertEqual([e for e in events if e["kind"] == "analysis"], [])


if __name__ == "__main__":
    unittest.main()
