# SPDX-License-Identifier: Apache-2.0
"""How what tools start comes to its end: every tool that runs programs against what programs do to live on, to flood or to hang;
judged from outside: by processes, mounts, cgroups, files and descriptors.

THOLE_STARTS: how many starts and ends leave nothing (default 200; TH_TORTURE: 10,000)."""

import concurrent.futures
import json
import os
import pathlib
import random
import time

import house

LIMIT = 1  # seconds that a command may take
SLACK = 20  # and what a loaded machine may add

# What a command does; whether its limit ends it.
WAYS = {
    "hang": ("sleep %(mark)s", True),
    "deaf": ("trap '' TERM INT HUP; while :; do sleep %(mark)s; done", True),
    "flood": ("cat /dev/zero | tr '\\0' x", True),
    "lines": ("yes %(mark)s", True),
    "noise": ("head -c 300000 /dev/urandom", False),
    "closed": ("exec >&- 2>&-; true", False),
    "closed and hangs": ("exec >&- 2>&-; sleep %(mark)s", True),
    "daemon": ("setsid sleep %(mark)s > /dev/null 2>&1 & true", False),
    "daemon that holds the output": ("setsid sleep %(mark)s & true", False),
    "forked twice": ("(setsid sh -c '(trap \"\" TERM HUP; exec env -i /bin/sleep %(mark)s) &' &) > /dev/null 2>&1; true", False),
    "bomb": ("f() { f | f & }; f; sleep %(mark)s", True),
}


def cell(command):
    return "import subprocess\nsubprocess.run(['bash', '-c', %r])" % command


# How each tool runs it.
TOOLS = {
    "shell": lambda c: {"command": c},
    "bash": lambda c: {"command": c},
    "python": lambda c: {"code": cell(c)},
    "own": lambda c: {"text": c},
}


class Ends(house.House):
    def setUp(self):
        super().setUp()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\n")
        self.agent = self.folder / "a.yaml"
        own = {"name": "own", "description": "runs a text", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
               "command": ["python3", "-c", "import json, os, sys; os.execvp('bash', ['bash', '-c', json.load(sys.stdin)['text']])"]}
        self.agent.write_text(json.dumps({"name": "a", "model": "human/human", "tools": ["shell", "bash", "python", own],
                                          "limits": {"command_seconds": LIMIT, "turns": 100000}}))
        self.makers = set()
        self.mark = "4%07d" % random.SystemRandom().randrange(10 ** 7)

    def alive(self):
        """Processes that have the mark, wherever they are."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if self.mark.encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found

    def of_the_test(self):
        """All processes with this home: executor, reaper, sandboxes."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found

    def is_there(self, session):
        """Its executor."""
        for pid in self.of_the_test():
            try:
                if pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")[1:4] == [b"exec", b"--session", session.encode()]:
                    return True
            except OSError:
                pass
        return False

    def executor(self):
        for pid in self.of_the_test():
            try:
                words = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:2] == [b"exec"] and b"--role" not in words:
                return pid
        self.fail("no executor runs")

    def outside(self):
        """What may not grow: mounts and cgroups. These have their maker's number (io/cgroup.c); other tests of the machine have theirs."""
        self.makers.update(self.of_the_test())
        groups = [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob("**/thole-*") if p.name.split("-")[1] in self.makers]
        mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(self.folder) in line]
        return groups, mounts

    def ways(self, tool):
        """A bomb loads the machine: one is enough for the check."""
        return {w: v for w, v in WAYS.items() if w != "bomb" or tool == "shell" or os.environ.get("TH_TORTURE")}

    def act(self, tool):
        """All ways of a tool, in a session of its own; what became of each."""
        lines = [tool + " " + json.dumps(TOOLS[tool](command % {"mark": self.mark})) for command, _ in self.ways(tool).values()] + ["done x"]
        begun = time.monotonic()
        ended = self.thole("run", "-a", self.agent, "-s", tool, "go", stdin="\n".join(lines) + "\n")
        return ended, time.monotonic() - begun

    def test_every_tool(self):
        before = self.outside()
        with concurrent.futures.ThreadPoolExecutor(len(TOOLS)) as pool:
            runs = dict(zip(TOOLS, pool.map(self.act, TOOLS)))
        for tool, (ended, seconds) in runs.items():
            self.assertEqual(ended.code, 0, ended)
            self.assertLess(seconds, len(WAYS) * (LIMIT + 6) + SLACK, "in bounded time")
            outcomes = [e["data"] for e in self.events(tool) if e["kind"] == "outcome"]
            self.assertEqual(len(outcomes), len(self.ways(tool)))
            for (way, (_, limited)), outcome in zip(self.ways(tool).items(), outcomes):
                with self.subTest(tool=tool, way=way):
                    text = json.dumps(outcome)
                    self.assertLess(len(text), 1 << 20, "what is said of it")
                    self.assertIn(outcome["status"], ("failed", "done"))
                    if limited:
                        self.assertRegex(text, "time|limit|second|interrupt|still|running|exit|resource")
            self.makers.update(self.of_the_test())
            # A session's shell may hold a job until it ends; then nothing is left of it.
            self.good("computer", "-s", tool, "end")
        self.wait_for(lambda: not self.alive(), 10)
        self.wait_for(lambda: not self.of_the_test(), 10)
        self.assertEqual(self.outside(), before)
        self.assertEqual([str(p) for p in (self.folder / "runtime").rglob("*.sock") if p.name != "egress.sock"], [])
        stored = sum(p.stat().st_size for p in (self.folder / "state").rglob("*") if p.is_file())
        self.assertLess(stored, len(TOOLS) * (16 << 20), "floods cost a bounded log")

    def test_many_starts_and_ends(self):
        """Of a command, a session's shell and files: as many descriptors, processes, mounts and files as after the first."""
        count = int(os.environ.get("THOLE_STARTS", "10000" if os.environ.get("TH_TORTURE") else "200"))
        step = ["shell " + json.dumps({"command": "true & setsid true; true"})]

        def run(message, lines, *options):
            self.good("run", *options, "-s", "many", message, stdin="\n".join(lines + ["done x"]) + "\n", timeout=house.SECONDS + len(lines))
            pid = self.executor()
            return (len(os.listdir("/proc/%s/fd" % pid)), len(self.of_the_test()), len(list((self.folder / "runtime").rglob("*"))), len(list((self.folder / "state").rglob("spool/*"))), self.outside())

        first = run("begin", step * 3, "-a", self.agent)
        last = run("go on", step * count)
        self.assertEqual(last, first)
        self.good("computer", "-s", "many", "end")
        self.wait_for(lambda: not self.of_the_test(), 10)

    def test_all_kinds(self):
        """thole computer end, without -c and -s, ends what was begun of any kind, and no session's."""
        for name in ("computer", "computer-browser", "report"):
            self.good("run", "-a", self.agent, "-s", name, "go", stdin='shell {"command": "true"}\ndone x\n')
        self.assertTrue(self.is_there("computer") and self.is_there("computer-browser"))
        self.good("computer", "-c", "browser", "end")
        self.wait_for(lambda: not self.is_there("computer-browser"), 10)
        self.assertTrue(self.is_there("computer"))
        self.good("run", "-s", "computer-browser", "again", stdin='shell {"command": "true"}\ndone x\n')
        self.good("computer", "end")
        self.wait_for(lambda: not self.is_there("computer") and not self.is_there("computer-browser"), 10)
        self.assertTrue(self.is_there("report"))
        self.good("computer", "-s", "report", "end")
        self.good("computer", "end")  # none is there


if __name__ == "__main__":
    house.main()
