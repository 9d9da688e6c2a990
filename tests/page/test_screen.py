# SPDX-License-Identifier: Apache-2.0
"""The page: a session's desktop, live; what a person sees there is what is on it."""

import json

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
        tab.js("window.points = []; new MutationObserver(() => window.points.push(...[...document.querySelectorAll('.live-box .mark.click .point')].map((c) => [c.getAttribute('cx'), c.getAttribute('cy')])))"
               ".observe(document.querySelector('.live-box .points'), {childList: true})")
        tab.click(".pending button", "Approve once")
        # The window is there before anybody looks again, and the page has it.
        tab.wait("Math.abs(%s - %d) > 60" % (MIDDLE, empty))
        self.shot(tab, "live-window")
        # Where the agent clicks is marked while it does, and its pointer is where it left it.
        tab.wait("document.querySelector('.pending .command')?.textContent === 'cat answer'")
        self.assertEqual(tab.js("window.points"), [["400", "250"]])
        tab.wait("document.querySelector('.live-box .pointer').style.left === '50%' && document.querySelector('.live-box .pointer').style.top === '50%'")
        tab.js("location.hash = '/'")
        tab.wait("document.querySelector('.session-row')")

    def test_a_person_takes_over_and_gives_back(self):
        self.agent("desk", "computer: {kind: desktop, width: 800, height: 500}\ntools: [shell]\napprove: [shell]\n")
        self.serve([computer({"type": "screenshot"})], [shell(OPEN)], [computer({"type": "click", "x": 400, "y": 250})], say("I wait for you."), [shell("cat answer")], say("Thank you."))
        self.begin()
        name = self.begin_session("Ask for the name.", agent="desk", id="take-1")
        self.wait_event(name, "approval_requested")
        tab = self.open("#/s/" + name)
        if not self.has_screen(tab):
            self.skipTest("this server shows no desktop")
        tab.click(".pending button", "Approve once")
        self.wait_event(name, "final")
        tab.click(".live-screen button", "Take over")
        tab.wait_text("You have the desktop", ".live-status")
        taken = self.wait_event(name, "control")
        self.assertEqual((taken["data"]["taken"], taken["data"]["by"]), (True, "alice"))
        box = tab.js("(() => { const r = document.querySelector('.live-box canvas').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        tab.mouse(box[0] + box[2] * 400 / 800, box[1] + box[3] * 252 / 500)
        for key in "Ada":
            tab.key(key, 8 if key.isupper() else 0)
        tab.click(".live-screen button", "Send text")
        tab.fill("#send-text", " Łovelace ✓")
        tab.click("dialog button", "Type it")
        self.shot(tab, "live-taken")
        # Its clipboard, both ways.
        tab.click(".live-screen button", "Send text")
        tab.fill("#send-text", "<b>Žluťoučký</b>")
        tab.click("dialog button", "To the clipboard")
        tab.click(".live-screen button", "Its clipboard")
        tab.wait("document.querySelector('dialog textarea')?.value === '<b>Žluťoučký</b>'")
        tab.key("Escape")
        tab.js("document.querySelector('.live-box canvas').focus()")
        tab.key("Enter")
        answer = self.work / name / "answer"
        self.wait_for(lambda: answer.exists() and answer.read_text() == "Ada Łovelace ✓\n")
        tab.click(".live-screen button", "Give back")
        tab.fill("#give-note", "I typed the name.")
        tab.click("dialog button", "Give back")
        tab.wait_text("cat answer", ".pending .command")
        tab.click(".pending button", "Approve once")
        tab.wait_text("Thank you.", ".entry.turn .said")
        log = self.log(name)
        self.assertEqual([(e["data"]["taken"], e["data"].get("note")) for e in log if e["kind"] == "control"], [(True, None), (False, "I typed the name.")])
        typed = [a["text"] for e in log if e["kind"] == "input" for a in e["data"]["arguments"]["actions"] if a["type"] == "type"]
        self.assertEqual(typed, [" Łovelace ✓"])
        self.assertIn("Ada Łovelace ✓", json.dumps([e["data"]["output"] for e in log if e["kind"] == "outcome"][-1], ensure_ascii=False))
        tab.wait_text("alice acted on the desktop", ".entry.input")
        # Whoever leaves gives back: the tab is closed while it holds the desktop.
        tab.click(".live-screen button", "Take over")
        tab.wait_text("You have the desktop", ".live-status")
        self.tabs.remove(tab)
        tab.close()
        self.wait_for(lambda: [e["data"]["taken"] for e in self.log(name) if e["kind"] == "control"] == [True, False, True, False])


if __name__ == "__main__":
    house_page.main()
