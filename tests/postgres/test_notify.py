# SPDX-License-Identifier: Apache-2.0
"""Nodes tell each other what they leave; a word that is lost, and a connection that is cut, cost no more than the next look."""

import os
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import WithNodes
from relay import Relay

SESSIONS = int(os.environ.get("TH_SESSIONS", 3))
TURNS = 3
STEP = "echo x >> made; until [ -e go ]; do sleep 0.05; done"
# When each session was handed over, and when it was taken.
MOVES = """CREATE TABLE thole.moves (session_id text, owner text, at timestamptz);
CREATE FUNCTION thole.moved() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO thole.moves VALUES (new.session_id, new.owner, clock_timestamp()); RETURN new; END$$;
CREATE TRIGGER moved AFTER UPDATE ON thole.sessions FOR EACH ROW WHEN (old.owner <> new.owner) EXECUTE FUNCTION thole.moved();"""
WAITED = """SELECT round(avg(ms)) || ' ms on average, ' || round(max(ms)) || ' at most' FROM (SELECT
extract(epoch FROM min(at) FILTER (WHERE owner NOT IN ('', 'handed-over')) - min(at) FILTER (WHERE owner = 'handed-over')) * 1000 AS ms
FROM thole.moves GROUP BY session_id) m"""

WORD = "BA"  # the server's message of a notification


class Ear(Relay):
    """Between a node and what it is told.  `swallow`: words are lost, and all else goes on; `cut`: the connection ends at the
    first word, and there is no other one."""

    def __init__(self, port, swallow=False, cut=False):
        self.swallow, self.cut, self.words, self.lost = swallow, cut, 0, threading.Event()
        super().__init__(port)

    def is_it(self, kind):
        self.words += kind == WORD
        if self.lost.is_set() or (kind == WORD and self.cut):
            self.lost.set()
            return True
        return False

    def passes(self, kind):
        return not (kind == WORD and self.swallow)


class Notify(WithNodes):
    def ear(self, **more):
        ear = Ear(self.postgres.port, **more)
        self.addCleanup(ear.close)
        return ear, {"notify": self.postgres.tcp(port=ear.port) + "?sslmode=disable"}

    def told(self, node):
        for line in node.call("GET", "/metrics", who="boss").body.decode().splitlines():
            if line.startswith("thole_fleet_told_total "):
                return int(line.split()[1])
        return self.fail("no thole_fleet_told_total")

    def journal(self, node):
        return (self.folder / node.name / "journal").read_text()

    def begin(self, node, count=SESSIONS):
        self.postgres.sql(MOVES)
        names = ["s%d" % i for i in range(count)]
        for name in names:
            node.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, 201)
        self.wait_for(lambda: len(list(self.work.rglob("made"))) == count)
        return names

    def drain(self, node, names):
        """Each session is in the middle of a command when its node is told to end."""
        node.process.send_signal(signal.SIGTERM)
        self.wait_for(lambda: node.call("GET", "/readyz").status == 503)
        for name in names:
            (self.work / name / "go").write_text("")
        self.assertEqual(node.end(signal.SIGCONT), 0)

    def check_all_went_on(self, names):
        """Every step was done once, though another node has them all now."""
        self.wait_for(lambda: all(self.state(name) == "finished" for name in names))
        self.assertEqual(self.made(), ["x\n" * TURNS] * len(names))
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE epoch > 2"), str(len(names)))
        print("%s: %d sessions that were handed over waited %s" % (self._testMethodName, len(names), self.postgres.sql(WAITED)))

    def test_told(self):
        """What a node hands over is told to the others, not to itself, nor to one that ends as well."""
        self.serve_steps(STEP, TURNS)
        own, first_ear = self.ear()
        ear, second_ear = self.ear()
        first = self.node("n1", "--drain-s", "20", **first_ear)
        second = self.node("n2", **second_ear)
        self.wait_for(lambda: self.told(second) == 1)  # it listens, and has looked for what was left before
        names = self.begin(first)
        self.assertEqual((own.words, ear.words), (0, 0))
        self.drain(first, names)
        self.check_all_went_on(names)
        self.assertGreaterEqual(ear.words, 1)
        self.assertGreaterEqual(self.told(second), 2)
        self.assertEqual(own.words, 0)

    def test_left_at_the_end(self):
        """A node that ends with a command under way says so when its lease is given up."""
        self.serve_steps(STEP, turns=1)
        ear, second_ear = self.ear()
        first, second = self.node("n1", "--drain-s", "0"), self.node("n2", **second_ear)
        self.wait_for(lambda: self.told(second) == 1)
        self.begin(first, 1)
        self.assertEqual(first.end(), 0)
        self.wait_for(lambda: ear.words)
        (self.work / "s0" / "go").write_text("")
        self.wait_for(lambda: self.state("s0") == "finished")
        self.assertEqual(self.made(), ["x\n"])

    def test_words_are_lost(self):
        """All goes on by the looks: nothing hangs on a word."""
        self.serve_steps(STEP, TURNS)
        ear, second_ear = self.ear(swallow=True)
        first, second = self.node("n1", "--drain-s", "20"), self.node("n2", **second_ear)
        self.wait_for(lambda: self.told(second) == 1)
        names = self.begin(first)
        self.drain(first, names)
        self.check_all_went_on(names)
        self.assertGreaterEqual(ear.words, 1)
        self.assertEqual(self.told(second), 1)

    def test_cut(self):
        """The connection ends at the first word, and no other one comes: it is said once, and the looks find what was left."""
        self.serve_steps(STEP, TURNS)
        ear, second_ear = self.ear(cut=True)
        first, second = self.node("n1", "--drain-s", "20"), self.node("n2", **second_ear)
        self.wait_for(lambda: self.told(second) == 1)
        names = self.begin(first)
        self.drain(first, names)
        self.check_all_went_on(names)
        self.assertTrue(ear.lost.is_set())
        self.wait_for(lambda: "not told what other nodes leave" in self.journal(second))
        self.assertEqual(self.journal(second).count("not told what other nodes leave"), 1)
        self.assertEqual(self.told(second), 1)
        # It comes again as soon as it can, and looks for what it did not hear.
        ear.cut = False
        ear.lost.clear()
        self.wait_for(lambda: self.told(second) == 2)

    def test_urls(self):
        """Another database is refused with a sentence, and so is what is no URL; no password is shown."""
        first = self.node("n1", notify=self.postgres.tcp("template1").replace("thole@", "thole:do-not-print-me@"))
        self.wait_for(lambda: "not told what other nodes leave" in self.journal(first))
        self.assertNotIn("do-not-print-me", self.journal(first))
        with self.assertRaises(self.failureException) as failed:
            self.node("n2", notify="http://do-not-print-me")
        self.assertIn("notify is a URL of the store's database", str(failed.exception))
        self.assertNotIn("do-not-print-me", str(failed.exception))


if __name__ == "__main__":
    server.run(house.main)
