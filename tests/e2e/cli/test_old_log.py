# SPDX-License-Identifier: Apache-2.0
"""Logs that earlier builds wrote: whole, readable, and their sessions go on where they stood."""

import json
import os
import pathlib
import shutil
import stat

import house

LOGS = pathlib.Path(__file__).parent / "logs"
WORKSPACE = pathlib.Path("/tmp/thole-old-log")  # as the sessions say


class OldLog(house.House):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "old.db"
        shutil.copy(LOGS / "c7c5409.db", self.log)
        self.env["THOLE_STORE"] = "sqlite:%s" % self.log
        WORKSPACE.mkdir(exist_ok=True)
        self.assertTrue(stat.S_ISDIR(os.lstat(WORKSPACE).st_mode))
        self.addCleanup(lambda: shutil.rmtree(WORKSPACE, ignore_errors=True))

    def since(self, name, before):
        return [e["kind"] for e in self.events(name)[len(before):]]

    def test_whole_and_readable(self):
        self.assertIn("whole: 9 sessions", self.good("log", "--verify").out)
        for name in self.good("sessions", "--names").out.split():
            self.assertTrue(self.events(name))
            self.good("log", name)
            self.good("log", name, "--trace")
            self.assertTrue(self.good("export", name).out)
        unknown = [e["data"] for e in self.events("unknown") if e["kind"] == "outcome"]
        self.assertEqual([o["status"] for o in unknown], ["unknown"])
        states = {line.split()[0]: line.split()[1] for line in self.good("sessions").out.splitlines()[1:]}
        self.assertEqual({n: states[n] for n in ("done", "asks", "cut", "team", "human")},
                         {"done": "finished", "asks": "waiting", "cut": "running", "team": "finished", "human": "paused"})

    def test_brought_to_this_version(self):
        names = sorted(self.good("sessions", "--names").out.split())
        self.assertEqual(sorted(self.good("sessions", "--user", "local", "--names").out.split()), names)
        turns = {r["session"]: r["turns"] for r in map(json.loads, self.good("sessions", "--json").out.splitlines())}
        self.assertEqual(self.good("usage", "--json").out, "")  # a log that is only read stays as it is
        self.good("fork", "done", "branch")  # the first that writes
        used = [json.loads(line) for line in self.good("usage", "--by", "user", "--json").out.splitlines()]
        self.assertEqual([u["user"] for u in used], ["local"])
        self.assertGreater(used[0]["turns"], 0)
        self.assertLessEqual(used[0]["turns"], sum(turns.values()))
        self.assertIn("whole: 10 sessions", self.good("log", "--verify").out)
        self.good("delete", "branch")
        self.bad(1, "session forked, which was forked from it", "delete", "done")
        self.good("delete", "human")
        self.assertIn("whole: 8 sessions", self.good("log", "--verify").out)
        self.assertEqual(sorted(self.good("sessions", "--names").out.split()), [n for n in names if n != "human"])

    def test_an_approval_that_waited(self):
        before = self.events("asks")
        self.serve([{"text": "never asked for"}], {"expect": [{"tool_output": {"contains": "approved"}}], "parts": [{"text": "It ran."}]})
        self.good("approve", "asks")
        self.assertIn("It ran.", self.good("resume", "asks").out)
        self.assertEqual(self.since("asks", before),
                         ["approval_decided", "intent", "outcome", "model_requested", "model_answered", "final"])

    def test_a_request_that_was_cut(self):
        before = self.events("cut")
        self.serve([{"text": "Said at last."}])
        self.assertIn("Said at last.", self.good("resume", "cut").out)
        self.assertIn("model_answered", self.since("cut", before))

    def test_finished_sessions_take_another_task(self):
        self.violations = False  # this server never gave the answer that "chained" goes on from
        for name, parts in (("done", 3), ("team", 3), ("unknown", 2), ("chained", 2)):
            with self.subTest(name):
                before = self.events(name)
                self.serve(*[[{"text": "not this turn"}]] * parts, [{"text": "Another one is done."}])
                self.assertIn("Another one is done.", self.good("run", "-s", name, "once more").out)
                self.assertEqual(self.since(name, before)[-2:], ["model_answered", "final"])
                asked = self.standin.requests()[-1]
                self.assertNotIn("never", str(asked))
                self.standin.end()
                self.standin.record.unlink()


if __name__ == "__main__":
    house.main()
