# SPDX-License-Identifier: Apache-2.0
"""Makes the log that test_old_log.py opens: THOLE=BINARY python3 make.py FILE.  The file beside this one was written by the
build of its name.  It is made once and never again: that newer builds read what this one wrote is what the test is about."""

import os
import pathlib
import shutil
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import house

TEAM = """name: lead
model: gpt-5.4
workspace: /tmp/thole-old-log
handoffs: [helper]
agents:
  helper: {instructions: You help.}
  counter: {instructions: You count.}
tools: [{name: count, agent: counter, description: Counts.}]
"""


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


class Make(house.House):
    def agent(self, text):
        path = self.folder / "agent.yaml"
        path.write_text(text)
        return path

    def begin(self, *turns):
        if self.standin:
            self.standin.end()
        self.serve(*turns)

    def test_make(self):
        self.violations = False
        os.makedirs("/tmp/thole-old-log", exist_ok=True)
        shell = "name: a\nmodel: gpt-5.4\nworkspace: /tmp/thole-old-log\n"
        self.begin([{"reasoning": "I look."}, call("shell", command="echo one")], [call("shell", command="echo two; exit 3")],
                   [{"text": "Both were done."}])
        self.good("run", "-a", self.agent(shell), "-s", "done", "two commands")
        self.good("fork", "done", "forked")

        self.begin([call("shell", command="echo approved")], [{"text": "unused"}])
        self.good("run", "-a", self.agent(shell + "approve: [shell]\n"), "-s", "asks", "ask me", code=3)

        self.begin({"parts": [{"text": "never"}], "faults": [{"delay": 20}]})
        process = self.start("run", "-a", self.agent(shell), "-s", "cut", "say something")
        self.wait_for(lambda: "model_requested" in self.thole("log", "cut", "--json").out)
        process.kill()
        process.communicate()

        self.begin([call("shell", command="echo first")], [{"text": "Answered once."}])
        self.good("run", "-a", self.agent(shell + "settings: {history: previous_response}\n"), "-s", "chained", "go")

        self.standin.end()
        lead, count = [{"first_user": "count and hand over"}], [{"first_user": "to three"}]
        self.standin = house.Standin(self.folder, {"rules": [
            {"if": lead + [{"turns": {"max": 0}}], "parts": [call("count", input="to three")]},
            {"if": lead + [{"turns": {"min": 1, "max": 1}}], "parts": [call("transfer_to_helper")]},
            {"if": lead + [{"turns": {"min": 2}}], "parts": [{"text": "Helped."}]},
            {"if": count, "parts": [{"text": "one, two, three"}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.good("run", "-a", self.agent(TEAM), "-s", "team", "count and hand over")

        self.begin([call("shell", command="echo begun; sleep 30")], [{"text": "I will look first."}])
        process = self.start("run", "-a", self.agent(shell), "-s", "unknown", "go")
        self.wait_for(lambda: "intent" in self.thole("log", "unknown", "--json").out)
        time.sleep(1)
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "cmdline").read_bytes().split(b"\0")[:4] == [b"thole", b"exec", b"--session", b"unknown"] \
                        and str(self.folder) in (entry / "environ").read_bytes().decode():
                    os.kill(int(entry.name), 9)
            except OSError:
                continue
        process.communicate(timeout=60)

        self.good("run", "-a", self.agent("name: h\nmodel: human/human\nworkspace: /tmp/thole-old-log\n"), "-s", "human", "think", code=3, stdin="")
        for name in self.thole("sessions", "--names").out.split():
            self.thole("computer", "-s", name, "end")
        log = next((self.folder / "state").glob("thole/*.db"))
        target = pathlib.Path(FILE)
        with sqlite3.connect(log) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("VACUUM")
            db.execute("PRAGMA journal_mode=DELETE")
        shutil.copy(log, target)
        print(target, target.stat().st_size)


if __name__ == "__main__":
    FILE = sys.argv.pop()
    unittest.main(verbosity=2)
