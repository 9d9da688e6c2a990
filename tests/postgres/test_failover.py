# SPDX-License-Identifier: Apache-2.0
"""A primary that dies, freezes, fills its disk or waits, and its standby that takes over: nothing that was told is lost, no step is done twice."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import Follower, Node, WithNodes

ROUNDS = 25 if os.environ.get("TH_TORTURE") else 1
SESSIONS = 4
TURNS = 6
SETTINGS = ["fsync=off", "wal_level=replica", "max_wal_senders=8", "wal_keep_size=64MB", "hot_standby=on", "wal_receiver_status_interval=1",
            "wal_sender_timeout=4s"]


class Pair:
    """A primary, and a standby that it waits for with each commit."""

    def __init__(self):
        self.primary = server.Server(settings=SETTINGS).start()
        self.standby = server.Server(settings=SETTINGS)
        made = self.primary.run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-d", self.primary.url(), "-D", self.standby.data,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if made.wait(house.SECONDS):
            raise RuntimeError("pg_basebackup")
        self.standby.start()
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        self.system = self.identity(self.primary)

    def url(self):
        return "postgres://thole@127.0.0.1:%d,127.0.0.1:%d/postgres" % (self.primary.port, self.standby.port)

    @staticmethod
    def identity(which):
        return which.sql("SELECT system_identifier FROM pg_control_system()")

    @staticmethod
    def timeline(which):
        return int(which.sql("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"), 16)

    def promote(self):
        self.standby.sql("SELECT pg_promote()")

    def close(self):
        for which in (self.primary, self.standby):
            if which.process and which.process.poll() is None:
                which.kill()
            which.process = None
            which.__exit__()


class Watched(threading.Thread):
    """A node with a service manager, which starts it anew when it fails."""

    def __init__(self, test, name):
        super().__init__(daemon=True)
        self.test, self.name, self.over, self.starts = test, name, False, 0
        self.node = self.begin()
        self.start()

    def begin(self):
        self.starts += 1
        return Node(self.test, self.name)

    def run(self):
        while not self.over:
            self.node.process.wait()
            self.node.end(signal.SIGKILL)
            while not self.over:
                time.sleep(0.2)
                try:
                    if not self.over:
                        self.node = self.begin()
                    break
                except AssertionError:  # the database is not there yet
                    continue

    def stream(self, *args):
        return self.node.stream(*args)

    def end(self):
        self.over = True
        self.node.end(signal.SIGKILL)
        self.join()
        self.node.end(signal.SIGKILL)


class Failover(WithNodes):
    def setUp(self):
        super().setUp()
        self.watched, self.pair, self.store_at_end = [], None, self.env["THOLE_STORE"]

    def tearDown(self):
        try:
            for node in self.watched:
                node.end()
            self.env["THOLE_STORE"] = self.store_at_end
        finally:
            super().tearDown()
            if self.pair:
                self.pair.close()

    def work_on(self, url):
        """Sessions at two nodes that work, and who follows them."""
        self.store_at_end = self.env["THOLE_STORE"] = url
        self.serve_steps("echo x >> made; sleep 0.5", TURNS)
        self.watched = [Watched(self, "n1"), Watched(self, "n2")]
        names = ["s%d" % i for i in range(SESSIONS)]
        for i, name in enumerate(names):
            self.watched[i % 2].node.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, 201)
        self.followers = [Follower(self.watched, name, 3 * house.SECONDS) for name in names]
        self.wait_for(lambda: len(list(self.work.rglob("made"))) == SESSIONS)

    def told(self):
        return sum(len(f.seen) for f in self.followers)

    def moves(self, since):
        """All sessions have told more than at `since`, or are over."""
        return all(f.over or len(f.seen) > n for f, n in zip(self.followers, since))

    def check(self, url):
        """Whoever followed saw each event once, and what he saw is in the log; each step was done once."""
        self.store_at_end = self.env["THOLE_STORE"] = url
        for follower in self.followers:
            follower.join(3 * house.SECONDS)
            self.assertTrue(follower.over, (follower.name, follower.seen))
            self.assertEqual(follower.seen, list(range(1, len(follower.seen) + 1)), follower.name)
            events = {e["seq"]: e for e in self.events(follower.name)}
            for number, event in follower.events.items():
                self.assertEqual(events[number]["id"], event["id"], (follower.name, number))
        self.assertEqual(self.made(), ["x\n" * TURNS] * SESSIONS)

    def wait_long(self, what):
        end = time.monotonic() + 2 * house.SECONDS
        while not what():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.05)

    # ---- two servers ----

    def fail_over(self, fault, delay):
        self.pair = Pair()
        self.work_on(self.pair.url())
        time.sleep(delay)
        fault()
        self.pair.promote()
        since = [len(f.seen) for f in self.followers]
        promoted = time.monotonic()
        self.wait_long(lambda: self.moves(since))
        moved = time.monotonic() - promoted
        print("moving again %.1f s after the promotion; nodes were started %s times" % (moved, [n.starts for n in self.watched]))
        self.assertLess(moved, 10)
        self.assertEqual(Pair.identity(self.pair.standby), self.pair.system)
        self.assertGreater(Pair.timeline(self.pair.standby), 1)

    def again(self, name, body):
        for i in range(ROUNDS):
            with self.subTest(i):
                body(random.Random("%s %d" % (name, i)).random())
                if i + 1 < ROUNDS:
                    self.tearDown()
                    self.setUp()

    def test_primary_killed(self):
        def once(delay):
            self.fail_over(lambda: self.pair.primary.kill(), delay)
            self.check(self.pair.standby.tcp())

        self.again("killed", once)

    def test_primary_frozen_then_thawed(self):
        """Two that take themselves for the primary: nothing that the old one is asked is ever acknowledged."""
        def once(delay):
            self.fail_over(lambda: self.pair.primary.signal(signal.SIGSTOP), delay)
            self.pair.primary.signal(signal.SIGCONT)
            self.wait_long(lambda: self.pair.primary.run_probe()())
            stale = self.start("run", "-s", "stale", "Go.", "--store", self.pair.primary.tcp())
            self.check(self.pair.standby.tcp())
            try:
                self.assertNotEqual(stale.wait(5), 0)
            except subprocess.TimeoutExpired:
                stale.kill()  # it waits for the server's word still
            stale.communicate()
            self.assertEqual(self.pair.standby.sql("SELECT count(*) FROM thole.sessions WHERE session_id = 'stale'"), "0")

        self.again("frozen", once)

    def test_standby_away(self):
        """A commit that waits for its standby is not acknowledged, and not lost either."""
        self.pair = Pair()
        self.work_on(self.pair.url())
        self.pair.standby.kill()
        told = self.told()
        time.sleep(1.5)  # what was under way may still be told
        self.assertLess(self.told() - told, 4 * SESSIONS)
        self.pair.standby.start()
        self.check(self.pair.primary.tcp())

    # ---- one server ----

    def test_rows_held_by_others(self):
        """Somebody's transaction holds the sessions for longer than a statement may take."""
        self.work_on(self.postgres.url())
        held = subprocess.Popen([os.path.join(self.postgres.bin, "psql"), "-XqAt", "-d", self.postgres.url(), "-c",
                                 "BEGIN; SELECT count(*) FROM (SELECT 1 FROM thole.sessions FOR UPDATE) AS a; SELECT pg_sleep(6.5); COMMIT"],
                                stdout=subprocess.DEVNULL)
        self.addCleanup(held.wait)
        self.check(self.postgres.url())
        # It is waited for: no node ends for it.
        self.assertEqual([n.starts for n in self.watched], [1, 1])

    def test_another_database(self):
        """Whatever answers at the address of before, with another identifier, is refused; what was there goes on when it is back."""
        port = self.postgres.port
        self.work_on(self.postgres.tcp())
        self.postgres.kill()
        other = server.Server(settings=["fsync=off"])
        self.addCleanup(other.__exit__)
        other.port = port
        other.start()
        self.wait_long(lambda: any("another database" in (self.folder / n.name / "journal").read_text() or n.starts > 1 for n in self.watched))
        other.stop()
        self.postgres.start()
        self.check(self.postgres.tcp())

    def test_pooler_restarted(self):
        try:
            pooler = server.Pooler(self.postgres, 8)
        except server.Missing as e:
            self.skipTest(str(e))
        self.addCleanup(pooler.stop)
        self.good("store", "migrate")
        url = pooler.url()
        self.wait_long(lambda: self.thole("sessions", "--store", url).code == 0)
        self.work_on(url)
        for _ in range(3):
            since = [len(f.seen) for f in self.followers]
            pooler.stop()
            pooler.start()
            self.wait_long(lambda: self.moves(since))
        self.check(self.postgres.url())

    def test_disk_full(self):
        """A disk that is full while they work, and then has room again."""
        place = self.folder / "small"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=0755", "tmpfs", str(place)], capture_output=True, check=False).returncode:
            self.skipTest("no file system of a given size can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=False)
        small = server.Server(folder=str(place), settings=["fsync=off", "max_wal_size=48MB", "min_wal_size=32MB", "wal_keep_size=0"])
        self.small = small
        small.start()
        self.addCleanup(small.stop)
        self.work_on(small.tcp())
        since = [len(f.seen) for f in self.followers]
        with (place / "filler").open("wb", buffering=0) as filler:  # else closing it would write what had no place
            try:
                while True:
                    filler.write(b"x" * 65536)
            except OSError:
                pass
        # Until something was to be written that has no place.
        self.wait_long(lambda: "No space left" in (place / "server.log").read_text(errors="replace"))
        (place / "filler").unlink()
        if small.process.poll() is not None:
            small.start()
        self.wait_long(lambda: self.moves(since))
        self.check(small.tcp())
        for node in self.watched:
            node.end()
        self.watched = []


if __name__ == "__main__":
    server.run(house.main)
