# SPDX-License-Identifier: Apache-2.0
"""A critic behind HTTP judges whether a task is done: what it is sent, what follows, and what no answer means."""

import http.server
import json
import signal
import threading
import unittest

import house
import serving

SHELL = {"function_call": {"name": "shell", "arguments": {"command": "echo it is made"}}}
LABELS = 27


class Critic(http.server.BaseHTTPRequestHandler):
    answers, status, asked, gate = [], 200, [], None
    hangs, hung_up = False, False

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Critic.asked.append((self.path, self.headers.get("Authorization"), body))
        if Critic.hangs:
            Critic.hung_up = self.connection.recv(1) == b""
            return
        if Critic.gate:
            Critic.gate.wait(60)
        answer = Critic.answers.pop(0) if len(Critic.answers) > 1 else Critic.answers[0]
        try:
            self.send_response(Critic.status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except OSError:
            pass  # it was killed

    def log_message(self, *_):
        pass


def says(success, **issues):
    probs = [success] + [0.1] * (LABELS - 1)
    for place, value in issues.items():
        probs[int(place[1:])] = value
    return json.dumps({"id": "c", "object": "list", "model": "critic-qwen3-4b", "usage": {"prompt_tokens": 9},
                       "data": [{"index": 0, "label": "x", "probs": probs, "num_classes": LABELS}]}).encode()


def serve_critic(test):
    """Its address."""
    test.env.update(THOLE_MODEL="gpt-5.4", CRITIC_TOKEN="t0ken-of-the-critic")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Critic)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Critic.answers, Critic.status, Critic.asked, Critic.gate = [says(0.9)], 200, [], None
    Critic.hangs = Critic.hung_up = False
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return "http://127.0.0.1:%d/v1/" % server.server_port


class Critics(house.House):
    def setUp(self):
        super().setUp()
        self.url = serve_critic(self)

    def agent(self, **judge):
        critic = {"url": self.url, "token_env": "CRITIC_TOKEN"}
        critic.update(judge.pop("critic", {}))
        file = self.folder / "agent.yaml"
        file.write_text(json.dumps({"instructions": "Be thorough.", "workspace": str(self.work), "tools": ["shell"], "judge": dict(judge, critic=critic)}))
        return file

    def play(self, name, *rules, code=0, **judge):
        if self.standin:
            self.standin.end()
        self.standin = house.Standin(self.folder, {"rules": list(rules) + [{"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        return self.good("run", "-a", self.agent(**judge), "-s", name, "Make it.", code=code)

    def verdicts(self, name):
        events = [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]
        return [e["data"] for e in events if e["kind"] == "verdict"]

    def test_it_says_that_it_is_done(self):
        self.play("one", {"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        ((path, token, body),) = Critic.asked
        self.assertEqual((path, token, body["model"]), ("/v1/classify", "Bearer t0ken-of-the-critic", "critic-qwen3-4b"))
        self.assertTrue(body["input"].startswith("<|im_start|>system\nBe thorough."), body["input"])
        for text in ("<|im_start|>user\nMake it.<|im_end|>", "<tool_response>\nit is made", "<|im_start|>assistant\nDone.<|im_end|>"):
            self.assertIn(text, body["input"])
        (verdict,) = self.verdicts("one")
        self.assertEqual((verdict["complete"], verdict["score"], verdict["model"], verdict["labels"]["success"]), (True, 0.9, "critic-qwen3-4b", 0.9))
        self.assertNotIn("t0ken", self.good("log", "one", "--json").out)

    def test_the_agent_is_told_what_it_sees(self):
        Critic.answers = [says(0.2, _10=0.8), says(0.7)]
        self.play("one", {"if": {"body": {"contains": "insufficient testing (80 %)"}},
                          "expect": [{"body": {"contains": "a likelihood of 20 %"}}], "parts": [{"text": "Tested."}]})
        self.assertEqual([(v["complete"], v["score"]) for v in self.verdicts("one")], [(False, 0.2), (True, 0.7)])
        self.assertIn("Tested.", Critic.asked[1][2]["input"])
        Critic.answers = [says(0.2)]
        self.play("two", code=4, rounds=2)
        self.assertEqual(len(self.verdicts("two")), 2)

    def test_no_answer_takes_a_round(self):
        for name, status, answer, words in (("status", 500, says(0.9), "HTTP 500"), ("words", 200, b"Good.", "the verdict"),
                                            ("few", 200, says(0.9)[:-4] + b"1}]}", "num_classes"), ("large", 200, b" " * 70000, "the critic")):
            Critic.answers, Critic.status = [answer], status
            self.play(name, code=1, rounds=2)
            self.assertIn("nobody judged whether the task is done", self.good("log", name).out)
            self.assertEqual(len(self.verdicts(name)), 2)
            self.assertIn(words, self.verdicts(name)[0]["failed"])
        del self.env["CRITIC_TOKEN"]
        self.play("token", code=1, rounds=1)
        self.assertIn("the variable CRITIC_TOKEN is not set", self.verdicts("token")[0]["failed"])

    def test_killed_while_it_judges(self):
        Critic.gate = threading.Event()
        self.standin = house.Standin(self.folder, {"rules": [{"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        run = self.start("run", "-a", self.agent(), "-s", "one", "Make it.")
        self.wait_for(lambda: Critic.asked)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        Critic.gate.set()
        self.good("resume", "one")
        self.assertEqual(len(self.verdicts("one")), 1)
        self.assertEqual(len(self.standin.requests()), 1)

    def test_bad_files_are_refused_by_name(self):
        for judge, words in (({"goal": "x"}, "without model and goal"), ({"critic": {"url": "ftp://x"}}, "neither http nor https"),
                             ({"critic": {"timeout_s": 601}}, "more than 600"), ({"critic": {"token_env": "sk-a1"}}, "no name of a variable"), ({"critic": {"url": ""}}, "url")):
            ended = self.thole("run", "-a", self.agent(**judge), "-s", "bad", "Begin.")
            self.assertEqual(ended.code, 2)
            self.assertIn(words, ended.err)


class Stopped(serving.Served):
    def test_stopped_while_it_judges(self):
        """The critic sees its connection closed by a server that goes on."""
        url = serve_critic(self)
        Critic.hangs = True
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "a.yaml").write_text(json.dumps({"name": "a", "model": "gpt-5.4", "judge": {"critic": {"url": url, "timeout_s": 600}}}))
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work)
        self.good_call("POST", "/api/sessions", {"agent": "a", "message": "look", "id": "s"}, status=201)
        self.wait_for(lambda: Critic.asked)
        self.good_call("POST", "/api/sessions/s/cancel", status=202)
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/s")["state"] == "stopped")
        self.wait_for(lambda: Critic.hung_up)
        self.assertEqual(self.open_here(), 1, "the end of the session ends it, too")
        events = self.good_call("GET", "/api/sessions/s/events?limit=1000")["events"]
        self.assertEqual([e for e in events if e["kind"] in ("verdict", "final")], [])


if __name__ == "__main__":
    unittest.main()
