# SPDX-License-Identifier: Apache-2.0
"""The page: a session's desktop, live; what a person sees there is what is on it."""

import house_page
from house_page import computer, say, shell

OPEN = ("zenity --entry --title Ask --text 'Your name' > answer & "
        "n=0; until xwininfo -name Ask >/dev/null 2>&1 || [ $n -gt 100 ]; do sleep 0.1; n=$((n+1)); done; echo open")
# The canvas around the middle, as a sum: it changes when the window does.
MIDDLE = ("(() => { const c = document.querySelector('.live-box canvas'); if (!c || c.width < 700) return 0; "
          "window.probe ??= new OffscreenCanvas(800, 500).getContext('2d', {willReadFrequently: true}); probe.drawImage(c, 0, 0); const d = probe"
          ".getImageData(300, 200, 200, 100).data; let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i]; return Math.round(n / (d.length / 4)); })()")


class Screen(house_page.Paged):
    def begin_desktop(self):
        self.agent("desk", "computer: {kind: desktop, width: 800, height: 500}\ntools: [shell]\napprove: [shell]\n")
        self.serve([computer({"type": "screenshot"})], [shell(OPEN)], [computer({"type": "click", "x": 400, "y": 250})], [shell("cat answer")], say("Seen."))
        self.begin()
        name = self.begin_session("Ask for the name.", agent="desk", id="live-1")
        self.wait_event(name, "approval_requested")
        tab = self.open("#/s/" + name)
        return name, tab

    def has_screen(self, tab):
        return tab.js("import('/web/api.js').then((m) => m.has('get /api/sessions/{id}/screen'))")

    def test_the_desktop_is_drawn_as_it_is(self):
        name, tab = self.begin_desktop()
        if not self.has_screen(tab):
            self.skipTest("this server shows no desktop")
        tab.wait("Number(document.querySelector('.live-box canvas')?.dataset.frames) > 0")
        self.assertEqual(tab.js("[document.querySelector('.live-box canvas').width, document.querySelector('.live-box canvas').height]"), [800, 500])
        empty = tab.wait(MIDDLE)
        self.shot(tab, "live-empty")
        tab.click(".pending button", "Approve once")
        # The window is there before anybody looks again, and the page has it.
        tab.wait("Math.abs(%s - %d) > 60" % (MIDDLE, empty))
        self.shot(tab, "live-window")
        self.wait_event(name, "approval_requested")
        tab.js("location.hash = '/'")
        tab.wait("document.querySelector('.session-row')")


if __name__ == "__main__":
    house_page.main()
