# SPDX-License-Identifier: Apache-2.0
"""One failover after the other: the primary is killed, or frozen and thawed when its standby has taken over, and becomes the next standby.

    test_failovers.py [COUNT [SEED [SECONDS]]]

Sessions at two nodes write the numbers of their turns all the while; a client follows each. After some failovers they end, and others
begin: what was told is in the log, once, and each step was done once; all sessions move again in SECONDS (10) after a promotion. Prints one JSON line.
"""

import json
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import Follower, WithNodes
from test_failover import Pair, Watched

COUNT, SEED, MOVES_S = 8, 1, 10
BATCH = 20  # failovers of the same sessions


class Turning(Pair):
    """A pair whose roles change."""

    def renew(self):
        """The old primary is the standby of the new one, which waits for it."""
        self.primary, self.standby = self.standby, self.primary
        if self.standby.process.poll() is None:
            self.standby.kill()
        shutil.rmtree(self.standby.data)
        made = self.primary.run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-d", self.primary.url(), "-D", self.standby.data,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if made.wait(house.SECONDS):
            raise RuntimeError("pg_basebackup")
        self.standby.start()
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")

    def promote(self):
        super().promote()
        self.standby.wait()


class Failovers(WithNodes):
    def setUp(self):
        super().setUp()
        self.chance, self.watched, self.pair, self.model = random.Random(SEED), [], None, None

    def tearDown(self):
        try:
            for node in self.watched:
                node.end()
            if self.pair:
                self.env["THOLE_STORE"] = self.pair.primary.tcp()
        finally:
            try:
                super().tearDown()
            finally:
                if self.model:
                    self.model.kill()
                    self.model.wait()
                if self.pair:
                    self.pair.close()

    def begin(self, batch):
        (self.folder / "over").unlink(missing_ok=True)
        names = ["b%ds%d" % (batch, i) for i in range(4)]
        for i, name in enumerate(names):
            self.wait_long(lambda: self.begun(i, name))
        self.followers = [Follower(self.watched, name, 100 * house.SECONDS) for name in names]
        self.wait_long(lambda: all((self.work / name / "made").exists() for name in names))

    def begun(self, i, name):
        try:
            return self.watched[i % 2].node.call("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go: command."}).status in (201, 409)
        except OSError:
            return False

    def wait_long(self, what, seconds=2 * house.SECONDS):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "waited in vain: " + str([(f.name, len(f.seen)) for f in self.followers]))
            time.sleep(0.02)

    def fail_over(self):
        """Seconds from the promotion until all sessions moved again."""
        frozen = self.chance.random() < 0.5
        time.sleep(self.chance.uniform(0, 1.5))
        if frozen:
            self.pair.primary.signal(signal.SIGSTOP)
        else:
            self.pair.primary.kill()
        self.pair.promote()
        promoted, since = time.monotonic(), [len(f.seen) for f in self.followers]
        if frozen and self.chance.random() < 0.5:
            self.pair.primary.signal(signal.SIGCONT)  # two that take themselves for the primary
        self.wait_long(lambda: all(len(f.seen) > n for f, n in zip(self.followers, since)))
        took = time.monotonic() - promoted
        if self.pair.primary.process.poll() is None:
            self.pair.primary.signal(signal.SIGCONT)
        self.assertLess(took, MOVES_S)
        self.pair.renew()
        return frozen, took

    def end(self):
        """Those that write now come to their end: what must hold."""
        (self.folder / "over").write_text("")
        self.wait_long(lambda: all(f.over for f in self.followers))
        self.env["THOLE_STORE"] = self.pair.primary.tcp()
        steps = 0
        for f in self.followers:
            self.assertEqual(f.seen, list(range(1, len(f.seen) + 1)), f.name)
            events = self.events(f.name)
            self.assertEqual([f.events[e["seq"]]["id"] for e in events[:len(f.seen)]], [e["id"] for e in events[:len(f.seen)]], f.name)
            outcomes = [e["data"]["status"] for e in events if e["kind"] == "outcome"]
            self.assertEqual(set(outcomes), {"done"}, f.name)
            self.assertEqual((self.work / f.name / "made").read_text().split(), [str(n) for n in range(len(outcomes))], f.name)
            steps += len(outcomes)
        return steps

    def test_one_after_the_other(self):
        self.model = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("many_model.py")), str(self.folder), "0.1", "0.3"])
        self.wait_for((self.folder / "port").exists)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%s/v1" % (self.folder / "port").read_text()
        (self.agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\nlimits: {turns: 100000}\n")
        self.pair = Turning()
        self.env["THOLE_STORE"] = self.pair.url()
        self.watched = [Watched(self, "n1"), Watched(self, "n2")]
        times, steps = {False: [], True: []}, 0
        for i in range(COUNT):
            if i % BATCH == 0:
                self.begin(i // BATCH)
            frozen, took = self.fail_over()
            times[frozen].append(took)
            if (i + 1) % BATCH == 0 or i + 1 == COUNT:
                steps += self.end()
                print("%d failovers" % (i + 1), flush=True)
        figures = {"killed" if not frozen else "frozen": {"count": len(t), "median_s": round(statistics.median(t), 1), "most_s": round(max(t), 1)}
                   for frozen, t in times.items() if t}
        print(json.dumps({"bench": "failovers", "seed": SEED, "failovers": COUNT, "steps": steps, "node_starts": [n.starts for n in self.watched],
                          **figures}), flush=True)


def main():
    global COUNT, SEED, MOVES_S
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    COUNT, SEED, MOVES_S = [*map(int, numbers), *[COUNT, SEED, MOVES_S][len(numbers):]]
    sys.argv[1:] = [word for word in sys.argv[1:] if not word.isdigit()]
    server.run(house.main)


if __name__ == "__main__":
    main()
