# SPDX-License-Identifier: Apache-2.0
"""What is late, as it is seen from outside: sessions that wait to be taken, and slow statements; in the command, the API and /metrics."""

import json
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving
import test_webhooks
from nodes import WithNodes

SLOW_MAX = 8  # TH_STORE_SLOW_MAX
EPOCH = "SELECT epoch FROM thole.sessions WHERE session_id = 'left' AND owner = 'handed-over'"
LEFT = "SELECT (extract(epoch FROM clock_timestamp() - left_at) * 1000)::bigint FROM thole.sessions WHERE session_id = '%s'"


class Late(WithNodes):
    def fleet(self, node):
        return node.good("GET", "/api/fleet", who="boss")

    def row(self, node, name):
        """Of a node by its name; of nobody: ""."""
        found = [n for n in self.fleet(node)["nodes"] if (n["name"] if n["host"] else "") == name]
        return found[0] if found else {"queue": 0, "queue_ms": 0}

    def figure(self, node, name):
        text = node.call("GET", "/metrics", who="boss").body.decode()
        return int(re.search("^thole_fleet_%s ([0-9]+)$" % name, text, re.M).group(1))

    def test_waits_to_be_taken(self):
        """At a dead node, handed over, and due: nobody that is there can run it."""
        (self.agents / "trained.yaml").write_text("name: trained\nmodel: gpt-5.4\ntools: [shell]\nlabels: [gpu]\n")
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=2)
        plain, able = self.node("n1"), self.node("n2", "--drain-s", "20", labels=["gpu"])
        able.good("POST", "/api/sessions", {"agent": "trained", "id": "left", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("left"))
        self.assertEqual((self.row(plain, "n2")["queue"], self.row(plain, "n2")["queue_ms"]), (0, 0))
        able.process.send_signal(signal.SIGTERM)
        self.wait_for(lambda: self.row(plain, "n2")["draining"])
        (self.work / "left" / "go").write_text("")
        self.assertEqual(able.end(), 0)
        self.assertEqual(self.state("left"), "running")
        at_least = int(self.postgres.sql(LEFT % "left"))
        nobody = self.row(plain, "")
        at_most = int(self.postgres.sql(LEFT % "left"))
        self.assertEqual(nobody["queue"], 1)
        self.assertTrue(at_least <= nobody["queue_ms"] <= at_most, (at_least, nobody, at_most))
        # The other one takes it, finds that it cannot run it, and leaves it again: it has waited meanwhile.
        epoch = self.postgres.sql(EPOCH)
        self.wait_for(lambda: self.postgres.sql(EPOCH) > epoch)
        self.assertGreater(int(self.postgres.sql(LEFT % "left")), at_most)
        # One of `thole run` that died is nobody's to take.
        self.postgres.sql("UPDATE thole.sessions SET user_id = '' WHERE session_id = 'left'")
        self.assertEqual(self.row(plain, "")["queue"], 0)
        self.postgres.sql("UPDATE thole.sessions SET user_id = 'alice' WHERE session_id = 'left'")
        self.wait_for(lambda: self.figure(plain, "queue") == 1 and self.figure(plain, "queue_age_ms") >= at_least)
        line = [line for line in self.good("fleet").out.splitlines() if " nobody " in line][0]
        self.assertGreaterEqual(float(line.split()[7]), int(at_least / 100) / 10, line)

        # Killed: since its last word; and those whose time has come, and which nobody begins.
        third = self.node("n3", labels=["gpu"])
        self.wait_for(lambda: self.state("left") == "finished")
        self.wait_for(lambda: self.figure(plain, "queue") == 0 and self.figure(plain, "queue_age_ms") == 0)
        (self.work / "left" / "go").unlink()
        third.good("POST", "/api/sessions", {"agent": "trained", "id": "dead", "message": "Go."}, 201)
        third.good("POST", "/api/sessions", {"agent": "trained", "id": "due", "message": "Go.", "start_at": 3600}, 201)
        self.wait_for(lambda: "intent" in self.kinds("dead"))
        third.end(signal.SIGKILL)
        self.wait_for(lambda: self.row(plain, "n3")["queue"] == 1, 30)
        dead = self.row(plain, "n3")
        self.assertLessEqual(dead["queue_ms"], dead["seen_ms"])
        self.assertGreater(dead["queue_ms"], 6000)  # the lease was over, by the database's clock
        # It is n3's until the other one has taken it, which leaves it to nobody again.
        self.wait_for(lambda: sum(n["queue"] for n in self.fleet(plain)["nodes"]) == 1)
        self.postgres.sql("UPDATE thole.sessions SET raw_metadata = jsonb_set(raw_metadata, '{thole_start_ms}', to_jsonb((extract(epoch FROM"
                          " clock_timestamp()) * 1000)::bigint - 3600000)) WHERE session_id = 'due'")
        nobody = self.row(plain, "")
        self.assertIn(nobody["queue"], (1, 2))
        self.assertTrue(3600000 <= nobody["queue_ms"] <= 3700000, nobody)
        self.wait_for(lambda: self.figure(plain, "queue") == 2 and self.figure(plain, "queue_age_ms") >= 3600000)
        self.postgres.sql("UPDATE thole.sessions SET raw_metadata = convert_from(metadata, 'UTF8')::jsonb WHERE session_id = 'due'")

    def test_slow_statements(self):
        node = self.node("n1")
        self.assertEqual((self.fleet(node)["slow"], self.figure(node, "slow_queries")), ([], 0))
        with self.postgres.busy(*["SELECT pg_sleep(60) --\t%s" % ("x" * 200)] * SLOW_MAX):
            self.wait_for(lambda: len(self.fleet(node)["slow"]) == SLOW_MAX)
            with self.postgres.busy("SELECT pg_sleep(60) -- the last"):
                began = time.monotonic()
                self.wait_for(lambda: time.monotonic() - began > 1.2)  # slow, and one too many
                slow = self.fleet(node)["slow"]
                self.assertEqual(len(slow), SLOW_MAX)
                self.assertNotIn("the last", json.dumps(slow))
                self.assertEqual([s["ms"] for s in slow], sorted((s["ms"] for s in slow), reverse=True))
                self.assertGreater(slow[-1]["ms"], 1000)
                self.assertEqual((slow[0]["waits"], len(slow[0]["statement"])), ("Timeout: PgSleep", 120))
                self.wait_for(lambda: self.figure(node, "slow_queries") == SLOW_MAX and self.figure(node, "slow_query_age_ms") >= slow[0]["ms"])
                shown = [line for line in self.good("fleet").out.splitlines() if line.startswith("slow: ")]
                self.assertEqual(len(shown), SLOW_MAX)
                self.assertRegex(shown[0], r"^slow: process [0-9]+ of the database, for [0-9.]+ s, waits for Timeout: PgSleep: SELECT pg_sleep\(60\) --.{1,2}x+")
                self.assertNotIn("\t", shown[0])
                listed = [json.loads(line) for line in self.good("fleet", "--json").out.splitlines()]
                self.assertEqual(len([s for s in listed if "statement" in s]), SLOW_MAX)
        self.wait_for(lambda: self.fleet(node)["slow"] == [] and self.figure(node, "slow_queries") == 0)
        self.assertEqual(node.call("GET", "/api/fleet").status, 403)

    def test_a_node_that_waits_for_the_database(self):
        """Its own statements that were slow are counted, and said with its lease."""
        self.serve_steps("echo x >> made", turns=1)
        node, other = self.node("n1"), self.node("n2")
        before = self.row(node, "n1")["slow"]
        with self.postgres.busy("BEGIN; LOCK TABLE thole.events IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)"):
            connection = node.connect()
            connection.request("POST", "/api/sessions", json.dumps({"agent": "worker", "id": "one", "message": "Go."}),
                               {"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
            self.wait_for(lambda: [s for s in self.fleet(other)["slow"] if s["waits"].startswith("Lock: ")])
        self.assertEqual(connection.getresponse().status, 201)
        connection.close()
        self.wait_for(lambda: self.state("one") == "finished")
        self.wait_for(lambda: self.row(other, "n1")["slow"] > before)
        self.wait_for(lambda: self.figure(node, "slow_queries_total") > before)
        self.assertIn(" %d " % self.row(other, "n1")["slow"], [line for line in self.good("fleet").out.splitlines() if line.startswith("n1 ")][0])

    def test_a_webhook_waits_for_its_row(self):
        """What cannot be read now is told later, with the agent and the metadata in it."""
        receiver = test_webhooks.Receiver([500, 200])
        self.addCleanup(receiver.stop)
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        node = self.node("n1", serve={"webhooks": [{"url": receiver.url, "secret": test_webhooks.SECRET, "private": True, "retry_ms": 1000}]})
        node.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go.", "metadata": {"ticket": 7}}, 201)
        receiver.next()  # and it is tried again in a second
        self.postgres.sql("ALTER TABLE thole.sessions RENAME COLUMN title TO away")
        self.wait_for(lambda: "row cannot be read, and it is told later" in (self.folder / "n1" / "journal").read_text())
        self.assertTrue(receiver.got.empty())
        self.postgres.sql("ALTER TABLE thole.sessions RENAME COLUMN away TO title")
        _, told, _ = receiver.next()
        self.assertEqual((told["type"], told["data"]["agent"], told["data"]["metadata"]), ("session.finished", "worker", {"ticket": 7}))


if __name__ == "__main__":
    server.run(house.main)
