# SPDX-License-Identifier: Apache-2.0
"""Two users walk at random over the API of one server, beside an oracle that knows what is whose.

A session, response, conversation, task or picture of the other user, and a name that nobody has, must give the same answer but for the name, at
every route of the OpenAPI document and in the words of MCP and A2A; lists, what waits and what was used have one's own alone. Some requests are by
token, some by a browser's login. Requests that only look go out together, of both users at once. TH_WALK says how many requests (100,000;
10,000 on a sanitizer's build, 10,000,000 with TH_TORTURE), TH_WALK_SEED where it begins.
"""

import collections
import hashlib
import json
import os
import random
import re
import struct
import unittest
import zlib

import pipeline
import serving

USUAL = "10000000" if os.environ.get("TH_TORTURE") else "10000" if os.environ.get("TH_SANITIZED") else "100000"
REQUESTS = int(os.environ.get("TH_WALK", USUAL))
SEED = int(os.environ.get("TH_WALK_SEED", "1"))
USERS = ("alice", "bob")
OTHER = {"alice": "bob", "bob": "alice"}
TOGETHER = 64   # requests on one connection before their answers are read
OWN_MAX = 20    # sessions of a user
LEADS_MAX = 12  # what is done to a session before it is deleted: its log stays short
NOBODY = "0" * 64


def picture(color):
    """A PNG of one pixel: its bytes, and the name of its blob."""
    def piece(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    made = (b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
            + piece(b"IDAT", zlib.compress(b"\0" + color)) + piece(b"IEND", b""))
    return made, hashlib.sha256(made).hexdigest()


class Walk(serving.Served):
    def begin(self):
        agents = self.folder / "agents"
        agents.mkdir(exist_ok=True)
        (agents / "default.yaml").write_text("name: default\ntools: [shell]\n")
        (agents / "asks.yaml").write_text("name: asks\ntools: [shell]\napprove: [shell]\n")
        (agents / "looks.yaml").write_text("name: looks\ntools: [edit]\n")
        look = {"command": "view", "path": "dot.png"}
        rules = [{"if": {"tail": "look"}, "parts": [{"function_call": {"name": "edit", "arguments": look}}]},
                 {"if": {"tail": "wait"}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "true"}}}]}]
        made = {}
        for who, color in zip(USERS, (b"abc", b"xyz")):
            made[who] = picture(color)
            (self.work / ("seen-" + who)).mkdir(mode=0o700)
            (self.work / ("seen-" + who) / "dot.png").write_bytes(made[who][0])
        self.serve_rules(rules + [{"parts": [{"text": "Yes."}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work, "--quiet")
        self.chance = random.Random(SEED)
        self.count, self.done, self.waiting = 0, collections.Counter(), 0
        self.own = {who: {} for who in USERS}      # a session's name -> how often it was led
        self.gone = {who: [] for who in USERS}     # the last ones that were deleted
        self.responses = {who: [] for who in USERS}
        self.conversations = {who: [] for who in USERS}
        self.pictures = {}                         # of each user: the session that has it, and its blob
        self.lines, self.doors = {}, {}
        for who in USERS:
            self.lines[who], self.doors[who] = self.seat(who)
        self.routes = {"/api/sessions/": [], "/v1/responses/": [], "/v1/conversations/": []}
        for path, methods in self.good_call("GET", "/api/openapi.json")["paths"].items():
            for prefix, found in self.routes.items():
                if path.startswith(prefix + "{id}"):
                    filled = re.sub(r"\{(?!id\})\w+\}", NOBODY, path).replace("{id}", "%s")
                    found += [(method.upper(), filled) for method in methods]
        self.assertTrue(all(self.routes.values()))
        for who in USERS:
            self.good_call("POST", "/api/sessions", {"agent": "looks", "id": "seen-" + who, "message": "look"}, who=who, status=201)
            connection, response = self.stream("/api/sessions/seen-%s/events?until=rest" % who, who=who)
            list(serving.frames(response))
            connection.close()
            self.pictures[who] = "seen-" + who, made[who][1]
            self.assertEqual(self.ask(who, "GET", "/api/sessions/%s/blobs/%s" % self.pictures[who]).body, made[who][0])

    def seat(self, who):
        """A connection to the server, and the ways to say who asks: by a browser's login, and by token."""
        answer = self.call("POST", "/api/login", {"token": serving.TOKENS[who]}, who=None)
        cookie = "Cookie: %s\r\nOrigin: http://127.0.0.1:%d\r\n" % (answer.headers["Set-Cookie"].split(";")[0], self.port)
        token = "Authorization: Bearer %s\r\n" % serving.TOKENS[who]
        return pipeline.Line(self.port), [cookie.encode()] + 2 * [token.encode()]

    # ---- requests ----

    def soon(self, check, who, method, path, body=None, headers=b""):
        """With others; nothing that they ask may be changed before their answers were read."""
        self.lines[who].put(method, path, body, self.chance.choice(self.doors[who]) + headers, check)
        self.count += 1
        self.waiting += 1

    def flush(self):
        for line in self.lines.values():
            line.send()
        for line in self.lines.values():
            line.read()
        self.waiting = 0

    def ask(self, who, method, path, body=None):
        found = []
        self.flush()
        self.soon(found.append, who, method, path, body)
        self.flush()
        return found[0]

    def alike(self, who, method, path, body, name, statuses=(404,), headers=b""):
        """What is another's is as what is not there. `name` stands for %s in the path, and for NAME in the body."""
        nobody = "z" * len(name)
        theirs = []

        def check(none):
            about = (who, method, path, body, name)
            self.assertIn(theirs[0].status, statuses, (about, theirs))
            self.assertEqual((theirs[0].status, theirs[0].body.replace(name.encode(), nobody.encode())), (none.status, none.body), about)
        for one, told in ((name, theirs.append), (nobody, check)):
            filled = json.loads(json.dumps(body).replace("NAME", one)) if body else body
            self.soon(told, who, method, path.replace("%s", one), filled, headers.replace(b"NAME", one.encode()))

    def is_mine(self, who, rows):
        self.assertTrue(all(row["user"] == who for row in rows), rows)
        self.assertFalse({row["session_id"] for row in rows} & set(self.own[OTHER[who]]))

    # ---- what only looks ----

    def look_own(self, who):
        if not self.own[who]:
            return
        name = self.chance.choice(list(self.own[who]))

        def check(answer):
            self.assertEqual(answer.status, 200, answer)
            if not path:
                self.assertEqual((answer.json()["user"], answer.json()["metadata"]), (who, {"of": who}))
        path = self.chance.choice(["", "", "", "/events", "/events?limit=2", "/items", "/export"])
        self.soon(check, who, "GET", "/api/sessions/%s%s" % (name, path))

    def look_foreign(self, who):
        """Any route of the document; what is wrong with a body may be said before it is known whose it is for."""
        prefix = self.chance.choice(list(self.routes))
        theirs = {"/api/sessions/": list(self.own[OTHER[who]]) + self.gone[who], "/v1/responses/": self.responses[OTHER[who]],
                  "/v1/conversations/": self.conversations[OTHER[who]]}[prefix]
        if not theirs:
            return
        method, path = self.chance.choice(self.routes[prefix])
        body = None if method in ("GET", "DELETE") else {}
        self.alike(who, method, path, body, self.chance.choice(theirs), (404,) if body is None else (404, 400, 403))

    def look_foreign_with_a_body(self, who):
        theirs = list(self.own[OTHER[who]])
        if not theirs:
            return
        path, body = self.chance.choice([
            ("messages", {"text": "x"}), ("cancel", {}), ("pause", {}), ("resume", {}), ("fork", {}), ("approve", {}), ("reject", {}),
            ("settle", {"outcome": "done"}), ("answer", {"answer": "yes"})])
        self.alike(who, "POST", "/api/sessions/%s/" + path, body, self.chance.choice(theirs))

    def look_blob(self, who):
        """By the owner's session it is not there, and in one's own another's picture is not either."""
        (mine, blob), (theirs, their_blob) = self.pictures[who], self.pictures[OTHER[who]]
        self.alike(who, "GET", "/api/sessions/%s/blobs/" + their_blob, None, theirs)
        self.alike(who, "GET", "/api/sessions/" + mine + "/blobs/%s", None, their_blob)
        self.soon(lambda answer: self.assertEqual(answer.status, 200), who, "GET", "/api/sessions/%s/blobs/%s" % (mine, blob))

    def look_responses(self, who):
        mine, theirs = self.responses[who], self.responses[OTHER[who]]
        if mine:
            self.soon(lambda answer: self.assertEqual(answer.json()["status"], "completed", answer), who, "GET",
                      "/v1/responses/" + self.chance.choice(mine))
        if theirs:
            name = self.chance.choice(theirs)
            self.alike(who, "POST", "/v1/responses", {"model": "default", "input": "go", "previous_response_id": "NAME"}, name, (400,))
        if self.conversations[OTHER[who]]:
            name = self.chance.choice(self.conversations[OTHER[who]])
            self.alike(who, "POST", "/v1/responses", {"model": "default", "input": "go", "conversation": "NAME"}, name, (400, 404))

    def look_protocols(self, who):
        """The tasks of A2A and of MCP, and MCP's tools and resources."""
        theirs = list(self.own[OTHER[who]])
        if not theirs:
            return
        tool = self.chance.choice(["get_session", "session_events", "message_session"])
        path, method, params = self.chance.choice([
            ("/a2a/default", "GetTask", {"id": "NAME.0"}), ("/a2a/default", "tasks/get", {"id": "NAME.0"}),
            ("/a2a/default", "CancelTask", {"id": "NAME.0"}), ("/mcp", "tasks/get", {"taskId": "NAME"}),
            ("/mcp", "tools/call", {"name": tool, "arguments": dict({"session_id": "NAME"}, **({"message": "x"} if "message" in tool else {}))}),
            ("/mcp", "resources/read", {"uri": "thole://sessions/NAME"})])
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.alike(who, "POST", path, body, self.chance.choice(theirs), (200,), b"Accept: application/json, text/event-stream\r\n")

    def look_waiting(self, who):
        self.soon(lambda answer: self.is_mine(who, answer.json()["waiting"]), who, "GET", "/api/waiting?limit=1000")

    def look_search(self, who):
        self.soon(lambda answer: self.assertEqual(answer.json()["sessions"], []), who, "GET", "/api/sessions?metadata=of%3D" + OTHER[who])
        self.soon(lambda answer: self.is_mine(who, answer.json()["sessions"]), who, "GET", "/api/sessions?text=go&limit=20")
        for user in (OTHER[who], "*"):
            self.soon(lambda answer: self.assertEqual(answer.status, 403), who, "GET", "/api/sessions?user=" + user)

    def look_usage(self, who):
        self.soon(lambda answer: self.is_mine(who, answer.json()["usage"]), who, "GET", "/api/usage?by=session&limit=50")
        self.soon(lambda answer: self.assertLessEqual({row["user"] for row in answer.json()["usage"]}, {who}), who, "GET", "/api/usage?by=user")
        for user in (OTHER[who], "*"):
            self.soon(lambda answer: self.assertEqual(answer.status, 403), who, "GET", "/api/usage?user=" + user)

    def look_me(self, who):
        self.soon(lambda answer: self.assertEqual(answer.json()["user"], who), who, "GET", "/api/me")

    # ---- what changes something ----

    def walk_list(self, who):
        seen, after = [], ""
        while True:
            page = self.ask(who, "GET", "/api/sessions?order=created&limit=20" + after).json()
            self.is_mine(who, page["sessions"])
            seen += [row["session_id"] for row in page["sessions"]]
            if "next" not in page:
                break
            after = "&after=" + page["next"]
        self.assertEqual(sorted(name for name in seen if name[:2] in ("a-", "b-", "c-", "f-")), sorted(self.own[who]))

    def walk_create(self, who):
        if len(self.own[who]) >= OWN_MAX:
            return
        name = "%s-%d" % (self.chance.choice("abc"), self.chance.randrange(10**9))
        agent, message = self.chance.choice([("default", "go"), ("asks", "go"), ("asks", "wait")])
        body = {"agent": agent, "id": name, "message": message, "metadata": {"of": who}}
        answer = self.ask(who, "POST", "/api/sessions", body)
        self.assertEqual(answer.status, 201, answer)
        self.own[who][name] = 0
        # The name is taken, and says no more than that, whoever has it.
        for again in USERS:
            self.soon(lambda answer: self.assertEqual(answer.status, 409), again, "POST", "/api/sessions", {"id": name})

    def walk_lead(self, who):
        names = [name for name, led in self.own[who].items() if led < LEADS_MAX]
        if not names:
            return
        name = self.chance.choice(names)
        self.own[who][name] += 1
        what, body = self.chance.choice([("messages", {"text": "go"}), ("cancel", {}), ("pause", {}), ("resume", {}), ("approve", {}), ("reject", {})])
        answer = self.ask(who, "POST", "/api/sessions/%s/%s" % (name, what), body)
        self.assertIn(answer.status, (200, 202, 404, 409), answer)
        self.assertNotIn(b"no session", answer.body)

    def walk_fork(self, who):
        if not self.own[who] or len(self.own[who]) >= OWN_MAX:
            return
        name, new = self.chance.choice(list(self.own[who])), "f-%d" % self.chance.randrange(10**9)
        answer = self.ask(who, "POST", "/api/sessions/%s/fork" % name, {"id": new})
        self.assertIn(answer.status, (201, 409, 413), answer)
        if answer.status == 201:
            self.own[who][new] = self.own[who][name]

    def walk_delete(self, who):
        if len(self.own[who]) < OWN_MAX // 2:
            return
        name = self.chance.choice(list(self.own[who]))
        answer = self.ask(who, "DELETE", "/api/sessions/" + name)
        self.assertIn(answer.status, (204, 409), answer)
        if answer.status == 204:
            del self.own[who][name]
            self.gone[who] = self.gone[who][-4:] + [name]
            for user in USERS:
                self.alike(user, "GET", "/api/sessions/%s", None, name)

    def walk_respond(self, who):
        mine = self.responses[who]
        if len(mine) >= 10:
            answer = self.ask(who, "DELETE", "/v1/responses/" + mine[0])
            self.assertEqual(answer.status, 200, answer)
            for user in USERS:
                self.alike(user, "GET", "/v1/responses/%s", None, mine[0])
            del mine[0]
        answer = self.ask(who, "POST", "/v1/responses", {"model": "default", "input": "go"})
        self.assertEqual(answer.status, 200, answer)
        mine.append(answer.json()["id"])

    def walk_converse(self, who):
        mine = self.conversations[who]
        if len(mine) < 10:
            answer = self.ask(who, "POST", "/v1/conversations", {"metadata": {"of": who}})
            self.assertEqual(answer.status, 200, answer)
            mine.append(answer.json()["id"])
        self.assertEqual(self.ask(who, "GET", "/v1/conversations/" + self.chance.choice(mine)).json()["metadata"], {"of": who})

    def test_walk(self):
        self.begin()
        weights = {self.look_own: 300, self.look_foreign: 250, self.look_foreign_with_a_body: 90, self.look_blob: 50, self.look_responses: 60,
                   self.look_protocols: 60, self.look_waiting: 20, self.look_search: 20, self.look_usage: 20, self.look_me: 40, self.walk_list: 4,
                   self.walk_create: 7, self.walk_lead: 20, self.walk_fork: 3, self.walk_delete: 8, self.walk_respond: 2, self.walk_converse: 4}
        steps, weights = list(weights), list(weights.values())
        while self.count < REQUESTS:
            for step in self.chance.choices(steps, weights, k=1000):
                before = self.count
                step(self.chance.choice(USERS))
                self.done[step.__name__] += self.count - before
                if self.waiting >= TOGETHER:
                    self.flush()
                if self.count >= REQUESTS:
                    break
        self.flush()
        for line in self.lines.values():
            line.close()
        print("%d requests from seed %d: %s" % (self.count, SEED, dict(self.done)))
        self.assertEqual({name for name, count in self.done.items() if not count}, set(), "what was never tried")


if __name__ == "__main__":
    unittest.main()
