# SPDX-License-Identifier: Apache-2.0
"""The command line and the server with their log on PostgreSQL: as on SQLite; copied there and back; a node's death; passwords."""

import json
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from on_postgres import OnPostgres, say, shell

PASSWORD = "pw-do-not-print-me"


class Runs(OnPostgres):
    def test_as_on_sqlite(self):
        self.serve([shell("echo made > made")], say("One."), say("Two."))
        self.good("run", "-s", "one", "Go.")
        self.good("run", "-s", "two", "Go on.")
        self.assertEqual(self.good("sessions", "--names").out.split(), ["two", "one"])
        self.assertEqual(self.good("sessions", "--text", "go on", "--names").out, "two\n")
        self.assertEqual(self.kinds("one")[-1], "final")
        self.good("fork", "one@2", "branch")
        self.bad(1, "session branch, which was forked from it", "delete", "one")
        self.good("delete", "branch")
        self.good("delete", "one")
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.removed"), "0")
        self.assertEqual(self.postgres.sql("SELECT DISTINCT session_id FROM thole.event_list"), "two")
        self.assertEqual(self.postgres.sql("SELECT current_iteration, plan_main_goal, agent_state FROM thole.session_list"),
                         "2|Go on.|finished")
        self.assertIn("whole: 1 session", self.good("store", "check").out)
        day = json.loads(self.good("usage", "--json").out)
        self.assertEqual((day["sessions"], day["turns"]), (3, 4))  # the fork, too
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.owners WHERE host <> ''"), "0")

    def test_made_by_many_at_once(self):
        processes = [self.start("store", "migrate") for _ in range(6)]
        for process in processes:
            self.assertEqual((process.communicate()[1], process.returncode), (b"", 0))
        self.assertEqual(self.postgres.sql("SELECT version FROM thole.store"), "11")

    def test_copied_there_and_back(self):
        self.env["THOLE_STORE"] = f"sqlite:{self.folder}/log.db"
        self.serve([shell("echo made > made")], say("One."), say("Two."), say("Three."))
        self.good("run", "-s", "one", "Go.")
        self.good("fork", "one@3", "branch")
        self.good("run", "-s", "branch", "Another way.")
        before = {name: self.events(name) for name in ("one", "branch")}
        here, there, back = self.env["THOLE_STORE"], self.postgres.url(), f"sqlite:{self.folder}/back.db"
        report = json.loads(self.good("store", "copy", here, there, "--json").out)
        self.assertEqual((report["sessions"], report["there"]), (2, 0))
        report = json.loads(self.good("store", "copy", here, there, "--json").out)
        self.assertEqual((report["sessions"], report["events"], report["there"]), (0, 0, 2))
        # One goes on, and is brought up to date.
        self.good("run", "-s", "one", "Once more.")
        before["one"] = self.events("one")
        report = json.loads(self.good("store", "copy", here, there, "--json").out)
        self.assertEqual((report["sessions"], report["there"]), (1, 1))
        self.good("store", "copy", there, back)
        for url in (there, back):
            self.env["THOLE_STORE"] = url
            self.assertIn("whole: 2 sessions", self.good("store", "check").out)
            for name, events in before.items():
                self.assertEqual(self.events(name), events)
            self.assertEqual(self.good("sessions", "--text", "GO.", "--names").out.split(), ["one", "branch"])
        # Two histories of one name are not mixed.
        self.standin.end()
        self.serve(say("Else."))
        self.env["THOLE_STORE"] = f"sqlite:{self.folder}/else.db"
        self.good("run", "-s", "one", "Something else.")
        self.bad(1, "session one is there already, with another history", "store", "copy", self.env["THOLE_STORE"], there)

    def test_passwords(self):
        url = self.postgres.url().replace("thole@", f"thole:{PASSWORD}@")
        ended = self.bad(2, "~/.pgpass", "sessions", "--store", url)
        self.assertNotIn(PASSWORD, ended.err)
        self.bad(2, "~/.pgpass", "store", "copy", url, f"sqlite:{self.folder}/x.db")
        self.env["THOLE_STORE"] = url
        self.serve([shell("cat /proc/*/cmdline; env")], say("Done."))
        self.good("run", "-s", "one", "Go.")
        for ended in (self.good("log", "one", "--json"), self.thole("doctor"), self.thole("run", "--detach", "x")):
            self.assertNotIn(PASSWORD, ended.out + ended.err)
        self.env["THOLE_STORE"] = url.replace("/postgres", "/nowhere")
        ended = self.bad(1, "nowhere", "sessions")
        self.assertNotIn(PASSWORD, ended.err)
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(PASSWORD.encode(), path.read_bytes(), path)
        self.env["THOLE_STORE"] = url


class Nodes(OnPostgres):
    def serve_worker(self):
        """A server whose sessions make a file and take a while."""
        agents = self.folder / "agents"
        agents.mkdir(exist_ok=True)
        (agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\n")
        if not self.standin:
            self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made; sleep 2")]},
                              {"parts": say("Done.")}])
        self.serve_http("--agents", agents, "--workspaces", self.work)
        return self.server

    def test_two_nodes(self):
        """The sessions of a node that was killed go on at the other one, without anybody's doing."""
        first = self.serve_worker()
        for i in range(5):
            self.good_call("POST", "/api/sessions", {"agent": "worker", "id": "s%d" % i, "message": "Go."}, 201)
        self.wait_for(lambda: len(list(self.work.rglob("made"))) == 5)
        first.stdout.close()
        self.journal.close()
        self.serve_worker()
        first.kill()
        first.wait()
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE agent_state = 'finished'") == "5",
                      house.SECONDS)
        self.assertEqual([path.read_text() for path in self.work.rglob("made")], ["x\n"] * 5)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE epoch > 1"), "5")

    def test_a_dead_node(self):
        """What a server that was killed left is nobody's until its lease is over, then another one's; its effect is there once."""
        self.serve_worker()
        pid = self.server.pid
        self.good_call("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: list(self.work.rglob("made")))
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.bad(1, "session one is held by another runtime: process %d" % pid, "resume", "one")
        self.postgres.sql("UPDATE thole.owners SET expires = clock_timestamp()")
        self.good("resume", "one")
        self.assertEqual(self.kinds("one")[-1], "final")
        self.assertEqual([path.read_text() for path in self.work.rglob("made")], ["x\n"])
        self.assertEqual(self.postgres.sql("SELECT epoch > 1, agent_state FROM thole.sessions"), "t|finished")

    def test_a_lease_that_is_over(self):
        """A server that the database takes for dead ends with a sentence, and writes nothing more."""
        self.serve_rules([{"parts": say("Done.")}])
        self.serve_http()
        self.good_call("POST", "/api/sessions", {"id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "final" in self.kinds("one"))
        self.postgres.sql("DELETE FROM thole.owners")
        self.assertEqual(self.server.wait(house.SECONDS), 1)
        self.server.stdout.close()
        self.server = None
        self.journal.close()
        self.assertIn("lease", (self.folder / "journal").read_text())


class Pooled(OnPostgres):
    """Through pgbouncer, which gives each transaction another session of the server."""

    def setUp(self):
        super().setUp()
        try:
            pooler = server.Pooler(self.postgres, 2)
        except server.Missing as e:
            self.skipTest(str(e))
        self.addCleanup(pooler.stop)
        self.env["THOLE_STORE"] = pooler.url()
        self.wait_for(lambda: self.thole("sessions").code == 1)  # "there is no log"

    def test_runs(self):
        self.serve([shell("echo made > made")], say("One."), say("Two."), say("Three."))
        self.good("run", "-s", "one", "Go.")
        self.good("run", "-s", "two", "Go on.")
        self.good("run", "-s", "one", "And on.")
        self.good("fork", "one@3", "branch")
        self.assertIn("whole: 3 sessions", self.good("store", "check").out)
        self.env["THOLE_STORE"] = self.postgres.url()


if __name__ == "__main__":
    server.run(house.main)
