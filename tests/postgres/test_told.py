# SPDX-License-Identifier: Apache-2.0
"""Webhooks of a fleet: what a node that is gone for good had to tell is told by another one, and what was told is not told again."""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving
from nodes import WithNodes
from on_postgres import say, shell
from test_webhooks import SECRET, Receiver


class Deaf(Receiver):
    """Says nothing about the first session that it hears of, however often, until it `hears`."""

    def __init__(self):
        super().__init__()
        self.first, self.hears, self.taken = None, False, []

    def answer(self, body):
        name = json.loads(body)["data"]["session_id"]
        self.first = self.first or name
        if name == self.first and not self.hears:
            return None
        self.taken.append(name)
        return 200


class Told(WithNodes):
    def setUp(self):
        super().setUp()
        self.serve_rules([{"parts": say("Done.")}])

    def receive(self):
        receiver = Deaf()
        self.addCleanup(receiver.stop)
        return receiver

    def told_node(self, name, receiver):
        """On a machine of its own."""
        return self.node(name, env={"XDG_STATE_HOME": str(self.folder / name / "state")},
                         serve={"webhooks": [{"url": receiver.url, "secret": SECRET, "private": True, "retry_ms": 20}]})

    def run_one(self, node):
        name = node.good("POST", "/api/sessions", {"message": "Go."}, status=201)["session_id"]
        self.wait_for(lambda: self.state(name) == "finished")
        return name

    def line(self, node):
        """Bytes of what that node's webhook remembers in the database."""
        return int(self.postgres.sql("SELECT coalesce(max(length(line)), 0) FROM thole.outbox JOIN thole.owners USING (owner) WHERE node = '%s'" % node))

    def test_a_node_that_never_returns(self):
        receiver = self.receive()
        first, second = self.told_node("n1", receiver), self.told_node("n2", receiver)
        lost = self.run_one(first)
        self.wait_for(lambda: receiver.first == lost)
        told = [self.run_one(second) for _ in range(3)]
        self.wait_for(lambda: sorted(receiver.taken) == sorted(told))
        self.wait_for(lambda: self.line("n1") > 0 and self.line("n2") > self.line("n1") + 3 * 60)
        before = self.line("n2")
        first.end(signal.SIGKILL)
        receiver.hears = True
        self.wait_for(lambda: lost in receiver.taken)
        self.wait_for(lambda: self.line("n2") > before + 50)  # that it was is written down, too
        # What the second had told is not told again, nor anything by who takes over from it.
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.outbox") == "1")
        third = self.told_node("n3", receiver)
        self.wait_for(lambda: self.line("n3") > 0)
        self.assertEqual(second.end(), 0)
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.outbox") == "1")
        last = self.run_one(third)
        self.wait_for(lambda: last in receiver.taken)
        self.assertEqual(sorted(receiver.taken), sorted([lost, *told, last]))

    def test_all_nodes_gone(self):
        """What nobody was there to tell is told by the first node that comes, whatever its machine."""
        receiver = self.receive()
        first = self.told_node("n1", receiver)
        lost = self.run_one(first)
        self.wait_for(lambda: receiver.first == lost)
        self.wait_for(lambda: self.line("n1") > 0)
        first.end(signal.SIGKILL)
        receiver.hears = True
        self.told_node("n2", receiver)
        self.wait_for(lambda: receiver.taken == [lost])
        # A file of before, of a machine that was no node yet, goes into the database.
        path = self.folder / "n3" / "state" / "thole" / "webhooks.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("\n")
        self.told_node("n3", receiver)
        self.wait_for(lambda: not path.exists())


class Left(WithNodes):
    def test_a_client_that_leaves_before_its_hook_is_written(self):
        """Its message is not said, and nothing is left of the hook."""
        self.serve_rules([{"parts": [shell("sleep 60")]}])
        node = self.node("n1")
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Go."}]},
            "configuration": {"returnImmediately": True, "taskPushNotificationConfig": {"url": "https://example.org/"}}}}
        self.assertIn("task", node.good("POST", "/a2a/worker", body)["result"])
        journal = lambda: (self.folder / "n1" / "journal").read_text().count("/a2a/worker")
        with self.postgres.busy("LOCK TABLE thole.outbox IN SHARE MODE; SELECT pg_sleep(60)"):
            connection = node.connect()
            connection.request("POST", "/a2a/worker", body=json.dumps(body),
                               headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
            self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0")
            connection.close()
            self.wait_for(lambda: journal() == 2)
        self.assertIn("task", node.good("POST", "/a2a/worker", body)["result"])
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.outbox") == "2")
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions"), "2")


if __name__ == "__main__":
    server.run(house.main)
