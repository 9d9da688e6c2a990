# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: a server with a scripted model, and a browser that is logged in."""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "e2e" / "cli"))

import chrome  # noqa: E402
import house  # noqa: E402
import serving  # noqa: E402

SHOTS = pathlib.Path(os.environ.get("TH_PAGE_SHOTS") or house.BUILD / "page-shots")


def say(text):
    return [{"text": text}]


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


def computer(*actions):
    return {"function_call": {"name": "computer", "arguments": {"actions": list(actions)}}}


class Paged(serving.Served):
    """A test with a server and a Chromium; self.open gives a tab that is logged in."""

    browser = None

    @classmethod
    def setUpClass(cls):
        cls.browser = chrome.Chrome()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        super().setUp()
        self.tabs = []
        self.expected = []  # what the console may say

    def tearDown(self):
        try:
            for tab in self.tabs:
                problems = [p for p in tab.problems if not any(word in p for word in self.expected)]
                tab.close()
                self.assertEqual(problems, [], "the console")
        finally:
            super().tearDown()

    def agent(self, name, text):
        folder = self.folder / "agents"
        folder.mkdir(exist_ok=True)
        (folder / (name + ".yaml")).write_text("name: %s\n%s" % (name, text))
        return folder

    def begin(self, *more):
        (self.folder / "agents").mkdir(exist_ok=True)
        return self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work, *more)

    def url(self, place=""):
        return "http://127.0.0.1:%d/%s" % (self.port, place)

    def open(self, place="#/", who="alice", **more):
        """A tab with the cookie of a login, made as the form makes it."""
        answer = self.call("POST", "/api/login", {"token": serving.TOKENS[who]}, who=None, headers={"Origin": self.url()[:-1]})
        self.assertEqual(answer.status, 200, answer)
        name, _, value = answer.headers["Set-Cookie"].split(";")[0].partition("=")
        tab = self.browser.page("", **more)
        self.tabs.append(tab)
        tab.call("Network.setCookie", {"name": name, "value": value, "url": self.url(), "httpOnly": True, "sameSite": "Strict"})
        tab.go(self.url(place))
        tab.wait("document.querySelector('.top')")
        return tab

    def shot(self, tab, name):
        return tab.shot(SHOTS / (name + ".png"))

    def begin_session(self, message, **more):
        return self.good_call("POST", "/api/sessions", {"message": message, **more}, status=201)["session_id"]

    def log(self, name):
        events, at = [], 1
        while at:
            page = self.good_call("GET", "/api/sessions/%s/events?from=%d&limit=1000" % (name, at))
            events += page["events"]
            at = page.get("next")
        return events

    def wait_event(self, name, kind):
        """Until the log has an event of this kind; it."""
        found = []

        def look():
            found[:] = [e for e in self.log(name) if e["kind"] == kind]
            return found

        self.wait_for(look)
        return found[-1]


def main():
    if not chrome.PROGRAM:
        print("not run: there is no chromium")
        sys.exit(77)
    if not house.SHARED.is_dir():
        print("not run: ../shared is not here")
        sys.exit(77)
    unittest.main(verbosity=2)
