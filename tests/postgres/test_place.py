# SPDX-License-Identifier: Apache-2.0
"""Nodes with labels: a session begins, is woken and is taken over where its agent's labels are, and nowhere else."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import SECRET, TURNS, WithNodes

SAYS = {"Thole-Node-User": "alice", "Thole-Node-Scopes": "read,run"}


class Placed(WithNodes):
    def setUp(self):
        super().setUp()
        for name, labels in (("trained", "[gpu, eu]"), ("rare", "[gpu, tpu]")):
            (self.agents / (name + ".yaml")).write_text(f"name: {name}\nmodel: gpt-5.4\ntools: [shell]\nlabels: {labels}\n")

    def owner(self, name):
        return self.postgres.sql("SELECT o.node FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE session_id = '%s'" % name)

    def journal(self, node):
        return (self.folder / node.name / "journal").read_text()

    def refused(self, node, body, missing, **more):
        answer = node.call("POST", "/api/sessions", body, **more)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (503, "place"), answer.body)
        self.assertIn(missing, answer.json()["error"]["message"])

    def test_begun_where_it_can_run(self):
        self.serve_steps("echo x >> made", turns=1)
        plain, able = self.node("n1"), self.node("n2", labels=["eu", "gpu", "fast"])
        made = plain.good("POST", "/api/sessions", {"agent": "trained", "id": "one", "message": "Go."}, 201)
        self.assertEqual(made["session_id"], "one")
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.owner("one"), "n2")
        # Others stay where they are asked for; the API of models is the same.
        plain.good("POST", "/api/sessions", {"agent": "worker", "id": "two", "message": "Go."}, 201)
        self.wait_for(lambda: self.state("two") == "finished")
        self.assertEqual(self.owner("two"), "n1")
        answer = plain.good("POST", "/v1/responses", {"model": "trained", "input": "Go."})
        self.assertEqual(answer["status"], "completed")
        self.assertEqual(self.postgres.sql("SELECT DISTINCT o.node FROM thole.sessions s JOIN thole.owners o USING (owner)"
                                           " WHERE s.agent_type = 'trained'"), "n2")
        # Nobody has all of these; who was passed a request passes it on to nobody.
        count = self.postgres.sql("SELECT count(*) FROM thole.sessions")
        self.refused(plain, {"agent": "rare"}, "no node that takes sessions has all the labels that this needs: gpu, tpu")
        self.refused(able, {"agent": "rare"}, "needs: gpu, tpu")
        self.refused(plain, {"agent": "trained"}, "lacks gpu, eu", who=SECRET, headers=SAYS)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions"), count)
        # They are seen; those that a machine has by itself are the same on both.
        labels = {n["name"]: n["labels"] for n in plain.good("GET", "/api/fleet", who="boss")["nodes"]}
        self.assertEqual(labels["n2"][:3], ["eu", "gpu", "fast"])
        self.assertEqual(labels["n1"], labels["n2"][3:])
        self.assertIn("eu, gpu, fast", self.good("fleet").out)
        listed = [json.loads(line) for line in self.good("fleet", "--json").out.splitlines()]
        self.assertEqual({n["name"]: n["labels"] for n in listed}, labels)

    def test_woken_where_it_can_run(self):
        """A session that rests and that nobody has: a word to it goes to a node that can open it."""
        self.serve_steps("echo x >> made", turns=1)
        plain, able = self.node("n1"), self.node("n2", labels=["eu", "gpu"])
        able.good("POST", "/api/sessions", {"agent": "trained", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(able.end(), 0)
        answer = plain.call("POST", "/api/sessions/one/messages", {"text": "Again."})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (503, "place"), answer.body)
        self.assertIn("gpu, eu", answer.json()["error"]["message"])
        # What it did is there to be read all the same.
        self.assertEqual(plain.good("GET", "/api/sessions/one")["state"], "finished")
        self.node("n3", labels=["gpu", "eu"])
        before = self.kinds("one").count("message")
        self.assertEqual(plain.call("POST", "/api/sessions/one/messages", {"text": "Again."}).status, 202)
        self.wait_for(lambda: self.state("one") == "finished" and self.kinds("one").count("message") > before)
        self.assertEqual(self.owner("one"), "n3")

    def test_taken_over_where_it_can_run(self):
        """What a node gives up is left by one that cannot run it, with a word of why, and goes on at one that can."""
        self.serve_steps()
        plain, able = self.node("n1"), self.node("n2", "--drain-s", "20", labels=["gpu", "eu"])
        able.good("POST", "/api/sessions", {"agent": "trained", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: self.made())
        self.assertEqual(able.end(), 0)
        self.wait_for(lambda: "left to other nodes: session one: this machine lacks gpu, eu; " in self.journal(plain))
        self.assertEqual(self.state("one"), "running")
        self.node("n3", labels=["eu", "gpu"])
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.owner("one"), "n3")
        self.assertEqual(self.made(), ["x\n" * TURNS])
        self.assertNotIn("paused", self.kinds("one"))

    def test_what_is_no_label(self):
        for labels, why in ((["GPU"], "labels[0] must be 1 to 24 of"), (["a", "a"], "labels[1] stands there twice"),
                            (list("abcdefghi"), "labels[8] is one too many")):
            with self.assertRaises(self.failureException):
                self.node("n1", labels=labels)
            self.assertIn(why, (self.folder / "n1" / "journal").read_text())


if __name__ == "__main__":
    server.run(house.main)
