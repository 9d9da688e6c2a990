# SPDX-License-Identifier: Apache-2.0
"""What a user may have of a server, and where requests come from."""

import json
import signal
import socket
import threading
import time
import unittest

import house
import serving


class Quotas(serving.Served):
    def configure(self, *lines):
        text = "executor_linger_s: 20\nserve:\n" + "".join("  %s\n" % line for line in lines)
        (self.folder / "config" / "thole" / "config.yaml").write_text(text)

    def journal_lines(self):
        return [json.loads(line) for line in (self.folder / "journal").read_text().splitlines() if line.startswith("{")]

    def test_requests_of_a_user(self):
        self.configure("requests_per_second: 3", "users: [{name: bob, requests_per_second: 0}]")
        self.serve_http()
        answers = [self.call("GET", "/api/agents") for _ in range(8)]
        self.assertEqual([a.status for a in answers[:3]], [200] * 3)
        refused = [a for a in answers if a.status == 429]
        self.assertTrue(refused)
        self.assertEqual(refused[0].headers["Retry-After"], "1")
        self.assertEqual({self.call("GET", "/api/agents", who="bob").status for _ in range(20)}, {200})
        self.assertEqual(self.call("GET", "/healthz", who=None).status, 200)

    def test_sessions_of_a_user(self):
        self.configure("sessions_per_user: 2", "users: [{name: bob, sessions: 3}]")
        # A model that takes connections and never answers: what has begun goes on.
        silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(silent.close)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % silent.getsockname()[1]
        self.serve_http()
        for who, most in (("alice", 2), ("bob", 3)):
            names = [self.good_call("POST", "/api/sessions", {"message": "x"}, status=201, who=who)["session_id"] for _ in range(most)]
            for path, body in (("/api/sessions", {"message": "x"}), ("/v1/responses", {"model": "default", "input": "x"}),
                               ("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "x"}]}),
                               ("/v1/messages", {"model": "default", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]})):
                answer = self.call("POST", path, body, who=who)
                self.assertEqual(answer.status, 429, (path, answer))
                self.assertTrue(answer.headers["Retry-After"])
            self.good_call("POST", "/api/sessions/%s/cancel" % names[0], {}, status=202, who=who)
            connection, response = self.stream("/api/sessions/%s/events?until=rest" % names[0], who=who)
            list(serving.frames(response))
            connection.close()
            used = self.good_call("GET", "/api/quota", who=who)
            self.assertEqual((used["sessions"], used["turns_today"]["limit"]), ({"used": most - 1, "limit": most}, None))
            self.good_call("POST", "/api/sessions", {"message": "x"}, status=201, who=who)

    def test_sessions_that_go_on_at_once(self):
        """What a request goes on from is read first: those that wait for that count."""
        self.configure("sessions_per_user: 1")
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\ntools: [shell]\n")
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [{"text": "One."}]},
                          {"if": {"turns": {"max": 1}}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}}]},
                          {"parts": [{"text": "Two."}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work)
        before = [self.good_call("POST", "/v1/responses", {"model": "worker", "input": "x"})["id"] for _ in range(6)]
        answers, ready = [], threading.Barrier(len(before))

        def go_on(name):
            ready.wait(house.SECONDS)
            answers.append(self.call("POST", "/v1/responses", {"model": "worker", "input": "y", "previous_response_id": name}))

        threads = [threading.Thread(target=go_on, args=(name,)) for name in before]
        for thread in threads:
            thread.start()
        self.wait_for(lambda: len(answers) == len(before) - 1)
        self.assertEqual([a.status for a in answers], [429] * len(answers))
        for folder in self.work.iterdir():
            (folder / "go").write_text("")
        for thread in threads:
            thread.join(house.SECONDS)
        self.assertEqual(sorted(a.status for a in answers), [200] + [429] * (len(before) - 1))

    def test_the_highest_priority(self):
        """Of all users, and of one by name: without a word a session has no more than that."""
        self.configure("priority: low", "users: [{name: bob, priority: high}]")
        self.serve([{"text": "One."}], [{"text": "Two."}], [{"text": "Three."}])
        self.serve_http()

        def begin(who, **more):
            return self.patient_call("POST", "/api/sessions", dict({"message": "x"}, **more), who=who)

        self.assertEqual([begin("alice").json()["priority"], begin("bob", priority="high").json()["priority"]], ["low", "high"])
        self.assertNotIn("priority", begin("bob").json())
        refused = begin("alice", priority="normal")
        self.assertEqual((refused.status, refused.json()["error"]["code"]), (403, "priority"))

    def worker(self):
        """A server with an agent whose model never comes to an end."""
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\ntools: [shell]\n")
        self.serve_rules([{"parts": [{"function_call": {"name": "shell", "arguments": {"command": "echo x"}}}]}])
        return self.serve_http("--agents", agents, "--workspaces", self.work)

    def until_rest(self, name, who="alice"):
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, who=who)
        events = [frame[2] for frame in serving.frames(response) if frame[1] != "delta"]
        connection.close()
        return events

    def no_more(self, name, code):
        """Nothing is begun any more, nor gone on with, until midnight."""
        for path, body in (("/api/sessions", {"message": "x"}), ("/api/sessions/%s/messages" % name, {"text": "x"}), ("/api/sessions/%s/resume" % name, {}),
                           ("/v1/responses", {"model": "worker", "input": "x"})):
            answer = self.patient_call("POST", path, body)
            self.assertEqual((answer.status, answer.json().get("error", {}).get("code")), (429, code), (path, answer, answer.json()))
            self.assertTrue(1 <= int(answer.headers["Retry-After"]) <= 86400)
        self.assertEqual(self.call("GET", "/api/sessions/" + name).status, 200)

    def test_turns_of_a_day(self):
        self.configure("turns_per_day: 3", "users: [{name: bob, turns_per_day: 5}, {name: boss, turns_per_day: 1}]")
        port = self.worker()
        for who, most in (("alice", 3), ("bob", 5)):
            name = self.good_call("POST", "/api/sessions", {"agent": "worker", "message": "Go."}, status=201, who=who)["session_id"]
            events = self.until_rest(name, who)
            self.assertEqual(sum(e["kind"] == "model_answered" for e in events), most)
            held = [e["data"] for e in events if e["kind"] == "state_changed"]
            self.assertEqual([h["to"] for h in held], ["paused"])
            self.assertIn("your %d turns of today" % most, held[0]["reason"])
            if who == "alice":
                alices = name
        self.no_more(alices, "turns")
        self.assertEqual(self.good_call("GET", "/api/quota")["turns_today"], {"used": 3, "limit": 3})
        self.assertGreater(self.good_call("GET", "/api/quota")["day_ends_ms"], 1000 * time.time())
        # Who waits for an answer gets one that says so; nothing is left running.
        answer = self.patient_call("POST", "/v1/responses", {"model": "worker", "input": "x"}, who="boss")
        self.assertEqual((answer.status, answer.json()["status"]), (200, "cancelled"))
        # It is the store's knowledge, not this process's.
        self.end_http(signal.SIGKILL)
        self.serve_http("--agents", self.folder / "agents", port=port)
        self.no_more(alices, "turns")

    def test_money_of_a_day(self):
        self.configure("cost_usd_per_day: 0.000001")
        (self.folder / "config" / "thole" / "models.yaml").write_text("models: [{name: mine, like: gpt-5.4, price: {input: 1, output: 1}}]\n")
        self.env["THOLE_MODEL"] = "mine"
        self.worker()
        name = self.good_call("POST", "/api/sessions", {"agent": "worker", "message": "Go."}, status=201)["session_id"]
        events = self.until_rest(name)
        self.assertEqual(sum(e["kind"] == "model_answered" for e in events), 1)
        self.no_more(name, "cost")

    def test_who_waits_for_a_client_does_not_run(self):
        self.configure("sessions_per_user: 1")
        tool = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
        self.serve([{"function_call": {"name": "look", "arguments": {}}}], [{"text": "Seen."}])
        self.serve_http()
        one = self.good_call("POST", "/v1/responses", {"model": "default", "input": "x", "tools": [tool]})
        call = [i for i in one["output"] if i["type"] == "function_call"][0]
        two = self.good_call("POST", "/v1/responses", {"model": "default", "previous_response_id": one["id"], "tools": [tool],
                                                       "input": [{"type": "function_call_output", "call_id": call["call_id"], "output": "x"}]})
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Seen.")

    def test_strangers(self):
        self.configure("strangers_per_second: 2", "proxies: [127.0.0.1]")
        self.serve_http()

        def seen(*addresses):
            """How often it was looked at, and how often that may have been at most."""
            began = time.monotonic()
            answers = [self.call("GET", "/api/agents", who=None, headers={"X-Forwarded-For": a}) for _ in range(20) for a in addresses]
            self.assertEqual({a.headers["Retry-After"] for a in answers if a.status == 429}, {"1"})
            return [a.status for a in answers].count(401), 2 + 2 * (time.monotonic() - began) + 1

        for addresses in (["192.0.2.1"], ["192.0.2.2"], ["2001:db8:1::1", "2001:db8:1::2"]):  # the last two are of one network
            looked, most = seen(*addresses)
            self.assertGreaterEqual(looked, 2)
            self.assertLessEqual(looked, most)
        there = {"X-Forwarded-For": "192.0.2.3"}
        logins = [self.call("POST", "/api/login", {"code": "x"}, who=None, headers=there) for _ in range(20)]
        self.assertEqual({a.status for a in logins}, {401, 429})
        # Who has a token is let in from there.
        self.assertEqual(self.call("GET", "/api/agents", headers={"X-Forwarded-For": "192.0.2.1"}).status, 200)

    def test_where_it_comes_from(self):
        cases = [
            ({}, "127.0.0.1"),
            ({"X-Forwarded-For": "192.0.2.7"}, "192.0.2.7"),
            ({"X-Forwarded-For": "6.6.6.6, 192.0.2.7"}, "192.0.2.7"),
            ({"X-Forwarded-For": "6.6.6.6, 192.0.2.7, 10.1.2.3"}, "192.0.2.7"),
            ({"X-Forwarded-For": "10.9.9.9,10.1.2.3"}, "10.9.9.9"),
            ({"X-Forwarded-For": "192.0.2.7:4711"}, "192.0.2.7"),
            ({"X-Forwarded-For": "[2001:db8::7]:4711"}, "2001:db8::7"),
            ({"X-Forwarded-For": "192.0.2.7, somebody"}, "127.0.0.1"),
            ({"X-Forwarded-For": "somebody, 10.1.2.3"}, "10.1.2.3"),
            ({"X-Forwarded-For": ""}, "127.0.0.1"),
        ]
        self.configure("proxies: [127.0.0.1, 10.0.0.0/8]", "public_url: http://agents.example.org")
        port = self.serve_http()
        for headers, _ in cases:
            self.call("GET", "/healthz", who=None, headers=headers)
        page = {"Host": "agents.example.org", "Origin": "https://agents.example.org"}
        self.assertEqual(self.call("GET", "/api/me", headers=page).status, 403)
        self.assertEqual(self.call("GET", "/api/me", headers=dict(page, **{"X-Forwarded-Proto": "https"})).status, 200)
        login = self.call("POST", "/api/login", {"token": serving.TOKENS["alice"]}, who=None, headers={"X-Forwarded-Proto": "https"})
        self.assertIn("; Secure", login.headers["Set-Cookie"])
        self.assertEqual([line["from"] for line in self.journal_lines()[:len(cases)]], [wanted for _, wanted in cases])
        self.end_http()
        # Without proxies nobody is believed.
        (self.folder / "journal").unlink()
        self.configure("public_url: http://agents.example.org")
        self.serve_http(port=port)
        for headers, _ in cases:
            self.call("GET", "/healthz", who=None, headers=headers)
        self.assertEqual(self.call("GET", "/api/me", headers=dict(page, **{"X-Forwarded-Proto": "https"})).status, 403)
        self.assertEqual({line["from"] for line in self.journal_lines()}, {"127.0.0.1"})

    def test_a_machine_that_is_full(self):
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.configure("free_memory_mib: 1000000000")
        self.serve_http()
        refused = self.call("POST", "/api/sessions", {"id": "a", "message": "x"})
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"))
        self.assertRegex(refused.json()["error"]["message"], r"^\d+ MiB of memory are free here, and 1000000000 must stay free; try again in a second$")
        for path, body in (("/v1/responses", {"model": "default", "input": "x"}), ("/v1/conversations", {}),
                           ("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "x"}]}),
                           ("/v1/messages", {"model": "default", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]})):
            refused = self.call("POST", path, body)
            self.assertEqual((refused.status, refused.headers["Retry-After"]), (503, "1"), path)
        self.assertEqual(self.good_call("GET", "/api/sessions")["sessions"], [])
        # What is free again begins, and another limit is one more sentence.
        self.configure("free_memory_mib: 1", "load_per_processor: 0.0000001")
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "load of each processor" in self.call("POST", "/api/sessions", {"message": "x"}).json()["error"]["message"])
        self.configure("free_memory_mib: 1", "load_per_processor: 1000000")
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.call("POST", "/api/sessions", {"id": "a", "message": "x"}).status == 201)

    def test_what_is_no_setting(self):
        for line, word in (("proxies: [localhost]", "proxies[0]"), ("users: [{name: a}, {name: a}]", "twice"),
                           ("users: [{sessions: 1}]", "name"), ("strangers_per_second: 0", "strangers_per_second"),
                           ("cost_usd_per_day: 0", "cost_usd_per_day"), ("users: [{name: a, turns_per_day: -1}]", "turns_per_day")):
            with self.subTest(line=line):
                self.configure(line)
                self.bad(2, ["serve", word], "serve", "--listen", "127.0.0.1:0")


if __name__ == "__main__":
    unittest.main()
