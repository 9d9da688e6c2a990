# SPDX-License-Identifier: Apache-2.0
"""The fleet in the page: its nodes, what they have, one that dies; by keyboard, at 360 pixels; and a server that is alone."""

import json
import pathlib
import signal
import sys

import house_page

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "postgres"))

import chrome  # noqa: E402
import house  # noqa: E402
import server  # noqa: E402
from nodes import WithNodes  # noqa: E402

ROWS = "JSON.stringify([...document.querySelectorAll('.nodes tbody tr')].map((r) => [...r.children].map((c) => c.textContent)))"


class Fleet(WithNodes):
    url, open, shot = house_page.Paged.url, house_page.Paged.open, house_page.Paged.shot

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = chrome.Chrome()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.tabs = []

    def tearDown(self):
        problems = [p for tab in self.tabs for p in tab.problems]
        for tab in self.tabs:
            tab.close()
        super().tearDown()
        self.assertEqual(problems, [], "the console")

    def rows(self, tab):
        return {row[0]: row[1:] for row in json.loads(tab.js(ROWS))}

    def test_nodes(self):
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=1)
        first, second = self.node("n1", capacity=50), self.node("<b>n2", labels=["gpu", "eu"])
        for name in ("one", "two"):
            second.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, 201)
        self.port = first.port
        tab = self.open("#/fleet", who="boss")
        tab.wait_text("2 nodes live.", ".money")
        tab.wait("document.querySelectorAll('.nodes tbody tr').length === 2")
        self.wait_for(lambda: self.rows(tab)["<b>n2"][:2] == ["live", "2"])
        rows = self.rows(tab)
        self.assertEqual((rows["n1"][0], rows["n1"][1], rows["n1"][5]), ("live", "0", "50"))
        self.assertEqual((rows["<b>n2"][5], rows["<b>n2"][10]), ("any", second.address))
        self.assertTrue(rows["<b>n2"][9].startswith("gpu, eu"), rows)
        self.assertEqual(tab.js("document.querySelector('nav a[aria-current]').textContent"), "Fleet")
        self.assertTrue(tab.js("(() => { const box = document.querySelector('.table-box'); return box.scrollWidth <= box.clientWidth; })()"), "a column is cut off at 1280 pixels")
        self.shot(tab, "fleet")
        # The table is reached and scrolled by keyboard, also while it is filled anew.
        tab.js("document.querySelector('.table-box').focus()")
        second.end(signal.SIGKILL)
        self.wait_for(lambda: self.rows(tab).get("<b>n2", [""])[0] in ("dead", "") and "n1" in self.rows(tab), 30)
        self.assertTrue(tab.js("document.activeElement.className === 'table-box'"))
        # A statement that takes long, and a session that waits longer than its node is dead for, are said.
        with self.postgres.busy("SELECT pg_sleep(60) -- <b>slow"):
            tab.wait_text("SELECT pg_sleep(60) -- <b>slow", ".slow")
            tab.wait_text("Timeout: PgSleep", ".slow")
        tab.wait("document.querySelector('.slow').hidden")
        for name in ("one", "two"):
            (self.work / name / "go").write_text("")
        self.wait_for(lambda: all(self.state(name) == "finished" for name in ("one", "two")), 30)
        # On a phone nothing stands out of the screen but within the table's box.
        tab.size(360, 740, touch=True)
        self.assertLessEqual(tab.js("document.documentElement.scrollWidth"), 360)
        self.assertEqual(tab.js("[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 361 && e.checkVisibility()"
                                " && !e.closest('.table-box')).length"), 0)
        self.shot(tab, "phone-fleet")
        # Who may not see it has no way there.
        other = self.open("#/", who="alice")
        self.assertEqual(other.js("[...document.querySelectorAll('nav a')].some((a) => a.hash === '#/fleet')"), False)


class Alone(house_page.Paged):
    def test_alone(self):
        self.begin()
        tab = self.open("#/fleet", who="boss")
        tab.wait_text("This server is alone", ".money")
        self.assertEqual(tab.js("document.querySelectorAll('.nodes tbody tr').length"), 0)
        self.expected = ["403"]
        other = self.open("#/fleet", who="alice")
        other.wait_text("This cannot be shown", "main")


if __name__ == "__main__":
    server.run(house_page.main)
