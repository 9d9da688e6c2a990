# SPDX-License-Identifier: Apache-2.0
"""A connection that is cut, and a server that is killed, at each message of an append: what was acknowledged is there, once."""

import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import relay
import server

TORTURE = os.environ.get("TH_TORTURE")
CUTS = 100000 if TORTURE else 24  # of the messages, evenly; the last ones all
LAST = 8
KILLS = 100 if TORTURE else 8


class Held(relay.Relay):
    """The message does not arrive before it is released: whoever sends it is frozen."""

    def __init__(self, port, at):
        self.held, self.released = threading.Event(), threading.Event()
        self.which = at
        super().__init__(port)

    def passes(self, kind):
        if self.count == self.which:
            self.held.set()
            self.released.wait(house.SECONDS)
        return True


class Cuts(house.House):
    @classmethod
    def setUpClass(cls):
        cls.postgres = server.Server().start()

    @classmethod
    def tearDownClass(cls):
        cls.postgres.__exit__()

    def setUp(self):
        super().setUp()
        self.env["THOLE_STORE"] = f"sqlite:{self.folder}/log.db"
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.serve([{"text": "One."}])
        self.good("run", "-s", "one", "Go.")
        self.export = self.folder / "one.jsonl"
        self.good("export", "one", "-o", self.export)
        self.events_there = self.events("one")
        self.env["THOLE_STORE"] = self.postgres.url()
        self.good("store", "migrate")

    def empty(self):
        self.postgres.sql("TRUNCATE thole.sessions, thole.events, thole.tasks, thole.usage, thole.blobs, thole.owners CASCADE")

    def import_through(self, at, then=None):
        """An import whose message number `at` does not arrive.  The relay, and whether it ended well."""
        self.empty()
        r = relay.Relay(self.postgres.port, at, then)
        try:
            ended = self.thole("import", self.export, "--store", self.postgres.tcp(port=r.port) + "?sslmode=disable")
        finally:
            r.close()
        there = self.postgres.sql("SELECT count(*) FROM thole.sessions")
        if ended.code == 0:
            self.assertEqual(there, "1", "what was acknowledged is not there: message %d" % at)
            self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.events"), str(len(self.events_there)))
            self.assertEqual(self.events("one"), self.events_there)
            self.assertEqual(self.postgres.sql("SELECT sum(sessions) FROM thole.usage"), "1")
        else:
            self.assertIn("thole: ", ended.err)
        self.assertIn("whole: ", self.good("store", "check").out)
        return r, ended

    def test_cut_at_each_message(self):
        r, ended = self.import_through(0)
        self.assertEqual(ended.code, 0, ended)
        places = sorted({1 + (r.count - 1) * i // CUTS for i in range(CUTS)} | set(range(r.count - LAST, r.count + 1)))
        well = sum(self.import_through(at)[1].code == 0 for at in places)
        # Where it only reads, before it holds anything, it gives up.
        self.assertGreater(well, len(places) // 3)

    def test_frozen_within_a_transaction(self):
        """Who is silent there holds its rows for less than others wait for them; it is cut off, and begins again."""
        r, ended = self.import_through(0)
        asks = [i + 1 for i, kind in enumerate(r.kinds) if kind[0] == "F" and i and r.kinds[i - 1] == "BZ"]
        frozen = 0
        for at in asks:
            self.empty()
            held = Held(self.postgres.port, at)
            process = self.start("import", self.export, "--store", self.postgres.tcp(port=held.port) + "?sslmode=disable")
            self.assertTrue(held.held.wait(house.SECONDS), at)
            writes = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND backend_xid IS NOT NULL"
            silent = lambda: self.postgres.sql(writes) != "0"
            if silent():
                frozen += 1
                self.wait_for(lambda: not silent(), 4.5)
            held.released.set()
            _, err = process.communicate(timeout=house.SECONDS)
            held.close()
            self.assertEqual(process.returncode, 0, (at, err))
            self.assertEqual(self.events("one"), self.events_there)
        self.assertGreater(frozen, 0)

    def test_server_killed(self):
        def kill():
            self.postgres.kill()
            self.postgres.start()

        r, ended = self.import_through(0)
        self.assertEqual(ended.code, 0, ended)
        for i in range(KILLS):
            self.import_through(1 + (r.count - 1) * i // (KILLS - 1), kill)


if __name__ == "__main__":
    server.run(house.main)
