# SPDX-License-Identifier: Apache-2.0
"""The page: what a session changed in its folder, as text."""

import house_page
from house_page import say, shell

EVIL = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


class Files(house_page.Paged):
    def test_files_as_diffs(self):
        self.agent("worker", "tools: [shell]\n")
        self.serve([shell("cat new.html > page.html; rm new.html; printf '\\000' > bin; echo '%s' > '<b>name'" % EVIL)], say("Changed."),
                   [shell("echo later > later.txt")], say("Again."))
        place = self.work / "f1"
        place.mkdir(mode=0o700)
        (place / "page.html").write_text("first\nsecond\n")
        (place / "new.html").write_text("first\n%s\n" % EVIL)
        self.begin()
        name = self.begin_session("Change it.", agent="worker", id="f1")
        self.wait_event(name, "final")
        tab = self.open("#/s/" + name)
        tab.wait_text("Changed.", ".entry .said")
        tab.click("a.button", "Files")
        tab.wait_text("4 files changed since it began", ".page p")
        rows = tab.js("[...document.querySelectorAll('.files summary')].map((s) => [...s.children].map((c) => c.textContent))")
        self.assertEqual([r[:2] for r in rows], [["added", "<b>name"], ["added", "bin"], ["removed", "new.html"], ["changed", "page.html"]])
        tab.click(".files summary", "page.html")
        tab.wait("document.querySelector('.files .changed .diff')")
        lines = tab.js("[...document.querySelectorAll('.files .changed .diff .line')].map((l) => [l.className, l.textContent])")
        self.assertEqual(lines, [["line place", "@@ -1,2 +1,2 @@\n"], ["line ", " first\n"], ["line removed", "-second\n"], ["line added", "+%s\n" % EVIL]])
        self.assertEqual(tab.js("document.querySelectorAll('.files img, .files script, .files b').length"), 0)
        self.assertIsNone(tab.js("window.hacked ?? null"))
        self.assertEqual(tab.js("document.querySelector('.files .changed a').getAttribute('href')"), "/api/sessions/f1/files/content?path=page.html")
        self.assertEqual(tab.js("fetch(document.querySelector('.files .changed a').href).then((r) => r.text())"), (place / "page.html").read_text())
        tab.click(".files summary", "bin")
        tab.wait_text("It is no text", ".files")
        self.shot(tab, "files")
        # What it does next comes by itself, and what is open stays open.
        self.good_call("POST", "/api/sessions/f1/messages", {"text": "Go on."}, status=202)
        tab.wait_text("5 files changed since it began", ".page p")
        tab.wait("document.querySelectorAll('.files .changed .diff .line').length === 4")
        # A session without a folder says so.
        self.good_call("POST", "/api/sessions/f1/fork", {"id": "branch"}, status=201)
        self.expected += ["404"]
        tab.js("location.hash = '/s/branch/files'")
        tab.wait_text("no folder of its own", ".page p")


if __name__ == "__main__":
    house_page.main()
