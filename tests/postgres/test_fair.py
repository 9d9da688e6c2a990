# SPDX-License-Identifier: Apache-2.0
"""A full node is shared between users, and what a dead one left is taken by priority, then in turns."""

import pathlib
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import WithNodes


class Fair(WithNodes):
    def setUp(self):
        super().setUp()
        # A model that takes connections and never answers: what has begun goes on.
        silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(silent.close)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % silent.getsockname()[1]

    def begin(self, node, who, **more):
        return node.call("POST", "/api/sessions", {"agent": "worker", "message": "Go.", **more}, who=who)

    def at(self, node):
        rows = self.postgres.sql("SELECT s.session_id FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE o.node = '%s'"
                                 " AND s.agent_state = 'running'" % node.name)
        return sorted(rows.split())

    def test_one_floods(self):
        node = self.node("n1", capacity=3)
        alices = []
        for _ in range(3):
            answer = self.begin(node, "alice")
            self.assertEqual(answer.status, 201, answer.body)
            alices.append(answer.json()["session_id"])
        refused = self.begin(node, "bob")
        self.assertEqual((refused.status, refused.json()["error"]["code"], refused.headers["Retry-After"]), (503, "overloaded", "1"))
        begun, ended, said = [], threading.Event(), set()

        def flood():
            while not ended.is_set():
                answer = self.begin(node, "alice")
                if answer.status == 201:
                    begun.append("alice")
                else:
                    said.add(answer.json()["error"]["message"])

        def ask():
            """As one does who does what he is told, but for the second."""
            while not ended.is_set():
                if self.begin(node, "bob").status == 201:
                    begun.append("bob")
                    return
                time.sleep(0.2)

        threads = [threading.Thread(target=run) for run in (flood, flood, ask)]
        try:
            for thread in threads:
                thread.start()
            self.wait_for(lambda: said)
            node.good("POST", "/api/sessions/%s/cancel" % alices[0], {}, status=202)
            self.wait_for(lambda: begun)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual(begun, ["bob"])
        self.assertTrue([text for text in said if "users who have fewer sessions" in text], said)
        # When nobody else waits, all of it is hers.
        node.good("POST", "/api/sessions/%s/cancel" % alices[1], {}, status=202)
        self.wait_for(lambda: self.begin(node, "alice").status == 201)

    def test_taken_in_turns(self):
        users = {"users": [{"name": "alice", "priority": "high"}]}
        first = self.node("n1", serve=users)
        for name in ("a1", "a2", "a3", "a4"):
            self.assertEqual(self.begin(first, "alice", id=name).status, 201)
        made = self.begin(first, "alice", id="urgent", priority="high")
        self.assertEqual((made.status, made.json()["priority"]), (201, "high"))
        self.assertEqual(self.begin(first, "bob", id="b0", priority="low").status, 201)
        self.assertEqual(self.begin(first, "bob", id="b1").status, 201)
        # What one may ask for is the configuration's to say, and the scope admin's.
        refused = self.begin(first, "bob", priority="high")
        self.assertEqual((refused.status, refused.json()["error"]["code"]), (403, "priority"))
        self.assertIn("normal at most", refused.json()["error"]["message"])
        refused = self.begin(first, "bob", priority="highest")
        self.assertEqual((refused.status, refused.json()["error"]["param"]), (400, "priority"))
        self.wait_for(lambda: len(self.at(first)) == 7)
        first.end(signal.SIGKILL)
        second = self.node("n2", capacity=2, serve=users)
        self.wait_for(lambda: self.at(second) == ["b1", "urgent"], 30)
        # His other one matters less than all of hers.
        second.good("POST", "/api/sessions/b1/cancel", {}, status=202, who="bob")
        self.wait_for(lambda: self.at(second) == ["a1", "urgent"], 30)
        second.good("POST", "/api/sessions/a1/cancel", {}, status=202)
        second.good("POST", "/api/sessions/urgent/cancel", {}, status=202)
        self.wait_for(lambda: self.at(second) == ["a2", "a3"], 30)
        # It stays what it was, also where its metadata are changed.
        second.good("PATCH", "/api/sessions/urgent", {"metadata": {"a": 1}})
        self.assertEqual(second.good("GET", "/api/sessions/urgent")["priority"], "high")


if __name__ == "__main__":
    server.run(house.main)
