# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in the middle of a browser's action: nothing twice, nothing false, nothing left."""

import os
import pathlib
import signal
import unittest

import house_browser
from house_browser import browser, browsers_of, say


class Kill(house_browser.Browsed):
    def processes(self, *words):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0") if entry.name.isdigit() else []
                if argv[1:1 + len(words)] == list(words) and str(self.folder) in (entry / "environ").read_bytes().decode(errors="replace"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def begin(self, *turns):
        """A run that waits for a slow page."""
        self.serve([browser("open", url=self.site.url + "/slow")], *turns)
        process = self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go")
        self.wait_for(lambda: self.site.slow)
        return process

    def end(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, (out, err))

    def outcomes(self):
        return [e["data"] for e in self.events("k") if e["kind"] == "outcome"]

    def test_the_runtime(self):
        process = self.begin([browser("snapshot")], say("Done."))
        process.kill()
        process.communicate()
        resumed = self.resume_held("k")
        self.site.go_on.set()
        self.end(resumed)
        self.assertEqual([o["status"] for o in self.outcomes()], ["done", "done"])
        self.assertIn("# Slow", str(self.outcomes()[0]["output"]))
        self.assertEqual(self.site.slow, 1)

    def test_the_executor(self):
        process = self.begin(say("I look first."))
        for pid in self.processes("exec", "--session", "k"):
            os.kill(pid, signal.SIGKILL)
        self.end(process)
        self.assertEqual(self.outcomes()[0]["status"], "unknown")
        self.assertEqual((self.site.slow, [e["kind"] for e in self.events("k")].count("intent")), (1, 1))
        self.site.go_on.set()

    def test_the_browser(self):
        process = self.begin([browser("snapshot")], [browser("open", url=self.site.url + "/plain")], say("Done."))
        main = house_browser.main_of(self.folder)
        self.assertEqual(len(main), 1)
        os.kill(main[0], signal.SIGKILL)
        self.end(process)
        first, second, third = self.outcomes()
        self.assertEqual((first["status"], self.site.slow), ("unknown", 1), first)
        self.assertIn("the browser has ended", str(first["output"]))
        # A new one takes its place when it is wanted, and that is said.
        self.assertEqual((second["status"], third["status"]), ("done", "done"), (second, third))
        self.assertTrue(second["evidence"].get("restarted") or first.get("observation"), second)
        self.assertIn("# Plain", str(third["output"]))
        self.site.go_on.set()

    def test_the_browser_comes_back(self):
        """What a page had put on the disk is there for the browser after it."""
        visits = [browser(steps=[{"action": "open", "url": self.site.url + "/visits"}, {"action": "wait", "text": "Visit"}, {"action": "read"}])]
        self.serve(visits, [browser("open", url=self.site.url + "/slow")], visits, say("Done."))
        process = self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go")
        self.wait_for(lambda: self.site.slow)
        os.kill(house_browser.main_of(self.folder)[0], signal.SIGKILL)
        self.end(process)
        self.site.go_on.set()
        first, second, third = self.outcomes()
        self.assertEqual([first["status"], second["status"], third["status"]], ["done", "unknown", "done"])
        self.assertIn("Visit 1", str(first["output"]))
        self.assertIn("Visit 2", str(third["output"]))

    leaves = True

    def left(self):
        """What stays of a computer that died, beside its folder."""
        return list(self.folder.rglob("*.d-profile"))

    def test_the_executor_comes_back(self):
        """So it is where the executor died with it."""
        visits = [browser(steps=[{"action": "open", "url": self.site.url + "/visits"}, {"action": "wait", "text": "Visit"}, {"action": "read"}])]
        self.serve(visits, [browser("open", url=self.site.url + "/slow")], visits, say("Done."))
        process = self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go")
        self.wait_for(lambda: self.site.slow)
        for pid in self.processes("exec", "--session", "k"):
            os.kill(pid, signal.SIGKILL)
        self.end(process)
        self.site.go_on.set()
        first, second, third = self.outcomes()
        self.assertEqual([first["status"], second["status"], third["status"]], ["done", "unknown", "done"])
        self.assertIn("Visit 1", str(first["output"]))
        self.assertIn("Visit 2", str(third["output"]))

    def test_nothing_stays_of_a_deleted_session(self):
        """Not what a browser left to the next one, whose executor was killed before that came."""
        self.serve([browser("snapshot")], say("Done."))
        self.end(self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go"))
        os.kill(house_browser.main_of(self.folder)[0], signal.SIGKILL)
        self.wait_for(self.left if self.leaves else lambda: not house_browser.main_of(self.folder))
        for pid in self.processes("exec", "--session", "k"):
            os.kill(pid, signal.SIGKILL)
        self.good("delete", "k")
        self.assertEqual(self.left(), [])

    def test_a_page(self):
        """Its process dies while it is waited for: an error, and the page is loaded again."""
        self.serve([browser("snapshot")], [browser("wait", text="never", seconds=50)], [browser("click", ref=4)], say("Done."))
        process = self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go")
        self.wait_for(lambda: len(self.standin.requests()) == 2)
        for pid in browsers_of(self.folder):
            try:
                if b"--type=renderer" in pathlib.Path("/proc", str(pid), "cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.end(process)
        self.assertRegex(str(self.outcomes()[1]["output"]), r"the page crashed \(killed, 9\) and is loaded again \([12] of 3\)")
        self.assertEqual((self.outcomes()[2]["status"], self.site.done("plain")), ("refused", []))


if __name__ == "__main__":
    unittest.main()
