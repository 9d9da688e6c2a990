# SPDX-License-Identifier: Apache-2.0
"""What the tests of the browser share: a site, a scripted model, and who looks for processes that are left."""

import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "e2e" / "cli"))

import house  # noqa: E402
import site_pages  # noqa: E402

AGENT = "net: host\ncomputer: {kind: browser, width: 800, height: 600, options: {start_url: '%s'}}\n%s"
WINDOW = AGENT.replace("kind: browser", "kind: browser_window")


def say(text):
    return [{"text": text}]


def computer(*actions):
    return {"function_call": {"name": "computer", "arguments": {"actions": list(actions)}}}


def browser(action=None, **more):
    arguments = dict(more, action=action) if action else more
    return {"function_call": {"name": "browser", "arguments": arguments}}


def chromium_missing():
    return None if any(os.path.exists(p) for p in ("/usr/lib/chromium/chromium", "/usr/bin/chromium")) else "no Chromium is installed"


def browsers_of(folder):
    """Processes of a Chromium whose profile is below the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if b"--user-data-dir=" + str(folder).encode() in words:  # some write it as one word
            found.append(int(pid))
    return found


def main_of(folder):
    """The first process of that Chromium, in which its tabs are."""
    found = []
    for pid in browsers_of(folder):
        try:
            words = pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
        except OSError:
            continue  # it has ended
        if b"--remote-debugging-pipe" in words and b"--type=" not in words and b"bwrap" not in words:
            found.append(pid)
    return found


@unittest.skipIf(chromium_missing(), chromium_missing())
class Browsed(house.House):
    form = AGENT

    def setUp(self):
        super().setUp()
        self.site = site_pages.Site()

    def tearDown(self):
        super().tearDown()
        self.site.close()
        deadline = time.monotonic() + 30  # one whose owner was killed sees that by itself
        while browsers_of(self.folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(browsers_of(self.folder), [], "a browser is left")

    def agent(self, page, more=""):
        (self.folder / "agent.yaml").write_text(self.form % (self.site.url + "/" + page, more))
        return self.folder / "agent.yaml"

    def texts(self, *turns, page="plain", **more):
        """The same with calls of the tool browser: what each said, in one text."""
        outcomes = self.browse(page, *turns, more="tools: [browser]\n" + more.pop("more", ""), **more)
        return ["\n".join(p["text"] for p in o["output"] if p["type"] == "text") if isinstance(o["output"], list) else o["output"] for o in outcomes], outcomes

    def browse(self, page, *turns, more="", session="b1", code=0):
        """A run on a page: what the calls gave, as the model was told."""
        self.serve(*turns)
        self.good("run", "-a", self.agent(page, more), "-m", "gpt-5.1", "-s", session, "look", code=code)
        return [json.loads(e["data"]) if isinstance(e["data"], str) else e["data"] for e in self.events(session) if e["kind"] == "outcome"]
