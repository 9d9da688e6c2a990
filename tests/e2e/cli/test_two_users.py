# SPDX-License-Identifier: Apache-2.0
"""Two users walk at random over the API of one server, beside an oracle that knows what is whose.

A session, response or conversation of the other user, and a name that nobody has, must give the same answer but for the name, at every route of
the OpenAPI document; lists, what waits and what was used have one's own alone. Some requests are by token, some by a browser's login. TH_WALK says how
many steps (2,000; 100,000 with TH_TORTURE), TH_WALK_SEED where it begins.
"""

import http.client
import json
import os
import random
import re
import unittest

import serving

STEPS = int(os.environ.get("TH_WALK", "100000" if os.environ.get("TH_TORTURE") else "2000"))
SEED = int(os.environ.get("TH_WALK_SEED", "1"))
USERS = ("alice", "bob")


class Walk(serving.Served):
    def begin(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "default.yaml").write_text("name: default\ntools: [shell]\n")
        (agents / "asks.yaml").write_text("name: asks\ntools: [shell]\napprove: [shell]\n")
        self.serve_rules([{"if": {"user": "wait"}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "true"}}}]},
                          {"parts": [{"text": "Yes."}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work, "--quiet")
        self.lines = {who: http.client.HTTPConnection("127.0.0.1", self.port, timeout=60) for who in USERS}
        self.chance = random.Random(SEED)
        self.own = {who: {} for who in USERS}  # name -> the agent it has
        self.responses = {who: [] for who in USERS}
        self.conversations = {who: [] for who in USERS}
        self.cookies = {}
        for who in USERS:
            answer = self.call("POST", "/api/login", {"token": serving.TOKENS[who]}, who=None)
            self.cookies[who] = {"Cookie": answer.headers["Set-Cookie"].split(";")[0], "Origin": "http://127.0.0.1:%d" % self.port}
        self.routes = {"/api/sessions/": [], "/v1/responses/": [], "/v1/conversations/": []}
        for path, methods in self.good_call("GET", "/api/openapi.json")["paths"].items():
            for prefix, found in self.routes.items():
                if path.startswith(prefix + "{id}"):
                    filled = re.sub(r"\{(?!id\})\w+\}", "0" * 64, path).replace("{id}", "%s")
                    found += [(method.upper(), filled) for method in methods]
        self.assertTrue(all(self.routes.values()))

    def ask(self, who, method, path, body=None, **headers):
        line = self.lines[who]
        door = self.cookies[who] if self.chance.random() < 0.3 else {"Authorization": "Bearer " + serving.TOKENS[who]}
        sent = dict(door, **headers)
        if body is not None:
            sent["Content-Type"] = "application/json"
            body = json.dumps(body)
        line.request(method, path, body=body, headers=sent)
        return serving.Answer(line.getresponse())

    def other(self, who):
        return USERS[1 - USERS.index(who)]

    def foreign(self, who, method, path, body, name):
        """What is another's is as what is not there."""
        theirs = self.ask(who, method, path % name, body)
        nobody = "z" * len(name)
        none = self.ask(who, method, path % nobody, body)
        self.assertEqual(theirs.status, 404, theirs)
        self.assertEqual(none.status, 404, none)
        self.assertEqual(theirs.body.replace(name.encode(), nobody.encode()), none.body)

    # ---- steps ----

    def step_create(self, who):
        if len(self.own[who]) >= 60:
            return
        agent = self.chance.choice(["default", "asks"])
        name = "%s-%d" % (self.chance.choice("abc"), self.chance.randrange(10**9))
        body = {"agent": agent, "id": name, "message": self.chance.choice(["wait", "go"]), "metadata": {"of": who}}
        answer = self.ask(who, "POST", "/api/sessions", body)
        self.assertEqual(answer.status, 201, answer)
        self.own[who][name] = agent
        # The name is taken, and says no more than that, whoever has it.
        for again in USERS:
            self.assertEqual(self.ask(again, "POST", "/api/sessions", {"id": name}).status, 409)

    def step_list(self, who):
        seen, after = [], ""
        while True:
            page = self.ask(who, "GET", "/api/sessions?order=created&limit=7" + after).json()
            seen += [row["session_id"] for row in page["sessions"]]
            self.assertTrue(all(row["user"] == who for row in page["sessions"]))
            if "next" not in page:
                break
            after = "&after=" + page["next"]
        named = [name for name in seen if name in self.own[who]]
        self.assertEqual(sorted(named), sorted(self.own[who]))
        self.assertFalse(set(seen) & set(self.own[self.other(who)]))

    def step_waiting(self, who):
        rows = self.ask(who, "GET", "/api/waiting?limit=1000").json()["waiting"]
        self.assertTrue(all(row["user"] == who for row in rows))
        self.assertFalse({row["session_id"] for row in rows} & set(self.own[self.other(who)]))

    def step_search(self, who):
        page = self.ask(who, "GET", "/api/sessions?metadata=of%%3D%s" % self.other(who)).json()
        self.assertEqual(page["sessions"], [])

    def step_own(self, who):
        if not self.own[who]:
            return
        name = self.chance.choice(sorted(self.own[who]))
        path = self.chance.choice(["", "/events", "/items", "/export"])
        answer = self.ask(who, "GET", "/api/sessions/%s%s" % (name, path))
        self.assertEqual(answer.status, 200, answer)
        if not path:
            self.assertEqual((answer.json()["user"], answer.json()["metadata"]), (who, {"of": who}))

    def step_lead(self, who):
        if not self.own[who]:
            return
        name = self.chance.choice(sorted(self.own[who]))
        what, body = self.chance.choice([("messages", {"text": "go"}), ("cancel", {}), ("pause", {}), ("resume", {}), ("approve", {}), ("reject", {})])
        answer = self.ask(who, "POST", "/api/sessions/%s/%s" % (name, what), body)
        self.assertIn(answer.status, (200, 202, 404, 409), answer)
        self.assertNotIn(b"no session", answer.body)

    def step_fork(self, who):
        if not self.own[who] or len(self.own[who]) >= 60:
            return
        name, new = self.chance.choice(sorted(self.own[who])), "f-%d" % self.chance.randrange(10**9)
        answer = self.ask(who, "POST", "/api/sessions/%s/fork" % name, {"id": new})
        self.assertIn(answer.status, (201, 409, 413), answer)
        if answer.status == 201:
            self.own[who][new] = self.own[who][name]

    def step_foreign(self, who):
        theirs = sorted(self.own[self.other(who)])
        if not theirs:
            return
        name = self.chance.choice(theirs)
        method, path, body = self.chance.choice([
            ("GET", "/api/sessions/%s", None), ("GET", "/api/sessions/%s/events", None), ("GET", "/api/sessions/%s/items", None),
            ("GET", "/api/sessions/%s/export", None), ("GET", "/api/sessions/%s/blobs/" + "0" * 64, None),
            ("POST", "/api/sessions/%s/messages", {"text": "x"}), ("POST", "/api/sessions/%s/cancel", {}), ("POST", "/api/sessions/%s/pause", {}),
            ("POST", "/api/sessions/%s/resume", {}), ("POST", "/api/sessions/%s/fork", {}), ("POST", "/api/sessions/%s/approve", {}),
            ("POST", "/api/sessions/%s/reject", {}), ("POST", "/api/sessions/%s/settle", {"outcome": "done"})])
        self.foreign(who, method, path, body, name)

    def step_every_route(self, who):
        """The same for whatever routes there are; what is wrong with a body may be said before it is known whose it is for."""
        prefix = self.chance.choice(sorted(self.routes))
        theirs = sorted({"/api/sessions/": self.own, "/v1/responses/": self.responses, "/v1/conversations/": self.conversations}[prefix][self.other(who)])
        if not theirs:
            return
        name = self.chance.choice(theirs)
        method, path = self.chance.choice(self.routes[prefix])
        body = None if method in ("GET", "DELETE") else {}
        got = self.ask(who, method, path % name, body)
        nobody = "z" * len(name)
        none = self.ask(who, method, path % nobody, body)
        self.assertIn(got.status, (404,) if body is None else (404, 400, 403), (method, path, got))
        self.assertEqual((got.status, got.body.replace(name.encode(), nobody.encode())), (none.status, none.body), (method, path))

    def step_delete(self, who):
        if len(self.own[who]) < 20:
            return
        name = self.chance.choice(sorted(self.own[who]))
        answer = self.ask(who, "DELETE", "/api/sessions/" + name)
        self.assertIn(answer.status, (204, 409), answer)
        if answer.status == 204:
            del self.own[who][name]
            self.assertEqual(self.ask(who, "GET", "/api/sessions/" + name).status, 404)
            self.assertEqual(self.ask(self.other(who), "GET", "/api/sessions/" + name).status, 404)

    def step_usage(self, who):
        rows = self.ask(who, "GET", "/api/usage?by=session&limit=1000").json()["usage"]
        self.assertTrue(all(row["user"] == who for row in rows))
        self.assertFalse({row["session_id"] for row in rows} & set(self.own[self.other(who)]))
        self.assertLessEqual({row["user"] for row in self.ask(who, "GET", "/api/usage?by=user").json()["usage"]}, {who})
        for user in (self.other(who), "*"):
            self.assertEqual(self.ask(who, "GET", "/api/usage?user=" + user).status, 403)

    def step_converse(self, who):
        if len(self.conversations[who]) < 10:
            answer = self.ask(who, "POST", "/v1/conversations", {"metadata": {"of": who}})
            self.assertEqual(answer.status, 200, answer)
            self.conversations[who].append(answer.json()["id"])
        mine, theirs = self.conversations[who], self.conversations[self.other(who)]
        self.assertEqual(self.ask(who, "GET", "/v1/conversations/" + self.chance.choice(mine)).json()["metadata"], {"of": who})
        if theirs:
            name = self.chance.choice(theirs)
            got, none = (self.ask(who, "POST", "/v1/responses", {"model": "default", "input": "go", "conversation": c}) for c in (name, "z" * len(name)))
            self.assertGreaterEqual(got.status, 400)
            self.assertEqual((got.status, got.body.replace(name.encode(), b"z" * len(name))), (none.status, none.body))

    def step_me(self, who):
        self.assertEqual(self.ask(who, "GET", "/api/me").json()["user"], who)

    def step_respond(self, who):
        if len(self.responses[who]) >= 20:
            return
        answer = self.ask(who, "POST", "/v1/responses", {"model": "default", "input": "go"})
        self.assertEqual(answer.status, 200, answer)
        self.responses[who].append(answer.json()["id"])

    def step_responses(self, who):
        mine, theirs = self.responses[who], self.responses[self.other(who)]
        if mine:
            self.assertEqual(self.ask(who, "GET", "/v1/responses/" + self.chance.choice(mine)).json()["status"], "completed")
        if theirs:
            name = self.chance.choice(theirs)
            self.foreign(who, *self.chance.choice([("GET", "/v1/responses/%s", None), ("POST", "/v1/responses/%s/cancel", {}),
                                                   ("GET", "/v1/responses/%s/input_items", None), ("DELETE", "/v1/responses/%s", None)]), name)
            answer = self.ask(who, "POST", "/v1/responses", {"model": "default", "input": "go", "previous_response_id": name})
            self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, "previous_response_not_found"))

    def test_walk(self):
        self.begin()
        steps = [(self.step_create, 2), (self.step_fork, 1), (self.step_respond, 1), (self.step_lead, 6), (self.step_list, 3), (self.step_waiting, 3),
                 (self.step_search, 3), (self.step_own, 30), (self.step_foreign, 20), (self.step_every_route, 20), (self.step_responses, 11), (self.step_delete, 2), (self.step_usage, 3),
                 (self.step_converse, 3), (self.step_me, 2)]
        plan = [step for step, weight in steps for _ in range(weight)]
        for n in range(STEPS):
            who = self.chance.choice(USERS)
            step = self.chance.choice(plan)
            with self.subTest(n=n, who=who, step=step.__name__):
                step(who)
            if self._outcome.result.failures or self._outcome.result.errors:
                break
        for line in self.lines.values():
            line.close()


if __name__ == "__main__":
    unittest.main()
