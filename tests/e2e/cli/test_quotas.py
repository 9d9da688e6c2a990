# SPDX-License-Identifier: Apache-2.0
"""What a user may have of a server, and where requests come from."""

import json
import socket
import unittest

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
            self.good_call("POST", "/api/sessions", {"message": "x"}, status=201, who=who)

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
        self.configure("strangers_per_second: 5", "proxies: [127.0.0.1]")
        self.serve_http()

        def seen(address):
            return [self.call("GET", "/api/agents", who=None, headers={"X-Forwarded-For": address}).status for _ in range(20)]

        for address in ("192.0.2.1", "192.0.2.2", "2001:db8:1::1"):
            answers = seen(address)
            self.assertEqual(answers[:5], [401] * 5)
            self.assertIn(429, answers)
        self.assertNotEqual(seen("2001:db8:1::2")[0], 401)  # of the same network
        login = self.call("POST", "/api/login", {"code": "x"}, who=None, headers={"X-Forwarded-For": "192.0.2.1"})
        self.assertEqual((login.status, login.headers["Retry-After"]), (429, "1"))
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

    def test_what_is_no_setting(self):
        for line, word in (("proxies: [localhost]", "proxies[0]"), ("users: [{name: a}, {name: a}]", "twice"),
                           ("users: [{sessions: 1}]", "name"), ("strangers_per_second: 0", "strangers_per_second")):
            with self.subTest(line=line):
                self.configure(line)
                self.bad(2, ["serve", word], "serve", "--listen", "127.0.0.1:0")


if __name__ == "__main__":
    unittest.main()
