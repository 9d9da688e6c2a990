# SPDX-License-Identifier: Apache-2.0
"""The page without a pointer: every control is reached by Tab, shows that it has the focus, and does its work; and what moves for those who want nothing to move."""

import json

import house_page
import serving
from house_page import computer, say, shell

STOPS_MAX = 250  # of one view

# Names of the elements that a person can use: what HTML makes so, and what a script made so.
NAMES = """
window.nameOf = (e) => [e.tagName.toLowerCase(), e.id && '#' + e.id, e.getAttribute('aria-label') || e.textContent.trim().slice(0, 40) || e.className, e.closest('[data-seq]')?.dataset.seq].filter(Boolean).join(' ');
window.controls = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((e) => !e.disabled && e.checkVisibility({visibilityProperty: true}) && !e.closest('[inert]') && e.getBoundingClientRect().width > 0);
0"""
# What shows the focus: an outline, or a border or ring that is there with the focus alone.
SEEN = """(() => {
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    const looks = (s) => [s.outlineStyle, s.outlineWidth, s.boxShadow, s.borderColor].join();
    const s = getComputedStyle(e), outline = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0;
    const ring = s.boxShadow !== 'none' || getComputedStyle(e.parentElement).boxShadow !== 'none';
    e.dataset.reached = '1';
    const r = e.getBoundingClientRect();
    const inView = r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth;
    return [nameOf(e), outline || ring, inView];
})()"""


class Keyboard(house_page.Paged):
    VIEWS = ["#/", "#/waiting", "#/s/k1", "#/s/k1/replay", "#/s/k1/files", "#/s/k1/money", "#/money", "#/compare/k1/k1"]

    def walk(self, tab):
        """Presses Tab until the focus has been everywhere; each place where it stood: its name, whether it shows, whether it is in view."""
        tab.js("document.activeElement?.blur(); getSelection().removeAllRanges()")
        stops = []
        for _ in range(STOPS_MAX):
            tab.key("Tab")
            at = tab.js(SEEN)
            if at is None or (stops and at == stops[0]):
                return stops
            stops.append(at)
        self.fail("Tab finds no end: %s" % stops[-5:])

    def test_tab_reaches_every_control(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([{"text": "First I look."}, shell("echo one > f.txt; cat f.txt")], say("Done."))
        self.begin()
        self.begin_session("Make a report.", agent="careful", id="k1")
        self.wait_event("k1", "approval_requested")
        tab = self.open("#/")
        tab.js(NAMES)
        missed = []
        for view in self.VIEWS:
            tab.js("location.hash = %s" % json.dumps(view))
            tab.wait("document.querySelector('main h1') && !document.querySelector('.card.loading') && !document.querySelector('progress')")
            stops = self.walk(tab)
            missed += [(view, "not reached", name) for name in tab.js("controls().filter((e) => !e.dataset.reached && e.tabIndex >= 0).map(nameOf)")]
            # A group of which one is reached by Tab and the others by arrows says so by tabindex -1; nothing else may be out of reach.
            missed += [(view, "out of the order", name) for name in tab.js("controls().filter((e) => e.tabIndex < 0 && !e.closest('[role=toolbar], [role=radiogroup], [role=listbox], .film')).map(nameOf)")]
            missed += [(view, "does not show the focus", name) for name, shows, _ in stops if not shows]
            missed += [(view, "is out of view", name) for name, _, inside in stops if not inside]
        self.assertEqual(missed, [])

    def reach(self, tab, words, selector="*"):
        """Tab after Tab until a control with these words has the focus."""
        for _ in range(STOPS_MAX):
            tab.key("Tab")
            if tab.js("document.activeElement.matches(%s) && nameOf(document.activeElement).includes(%s)" % (json.dumps(selector), json.dumps(words))):
                return
        self.fail("Tab does not come to %s" % words)

    def test_a_session_without_a_pointer(self):
        """Logs in, begins a task, approves, takes the desktop over, types, gives back, replays and forks: keys alone, and what became of them in the log."""
        self.agent("desk", "computer: {kind: desktop, width: 800, height: 500}\ntools: [shell]\napprove: [shell]\n")
        self.serve([computer({"type": "screenshot"})], [shell("echo done > seen.txt")], say("I wait for you."), say("Thank you."), say("Another way."))
        self.begin()
        tab = self.browser.page(self.url())
        self.tabs.append(tab)
        self.expected.append("401")
        tab.wait("document.activeElement.id === 'token'")
        tab.type(serving.TOKENS["alice"])
        tab.key("Enter")
        tab.wait("document.querySelector('.top')")
        tab.js(NAMES)
        tab.wait("document.querySelector('main h1')")
        tab.key("?")
        tab.wait_text("approve once", "dialog .keys")
        self.shot(tab, "keys")
        tab.key("Escape")
        tab.wait("!document.querySelector('dialog')")
        tab.key("n")
        tab.wait("document.activeElement.id === 'task'")
        tab.type("Ask for help.")
        self.reach(tab, "#agent", "dialog select")
        for _ in range(tab.js("document.activeElement.options.length")):
            if tab.js("document.activeElement.value") == "desk":
                break
            tab.key("ArrowDown")
        self.assertEqual(tab.js("document.activeElement.value"), "desk")
        self.reach(tab, "Start", "dialog button")
        tab.key("Enter")
        tab.wait("location.hash.startsWith('#/s/')")
        name = tab.js("decodeURIComponent(location.hash.slice(4))")
        tab.wait_text("echo done", ".pending .command")
        tab.key("d")
        tab.key("a")
        tab.wait_text("I wait for you.", ".entry.turn .said")
        self.assertEqual((self.work / name / "seen.txt").read_text(), "done\n")
        self.reach(tab, "Take over", ".live-screen button")
        tab.key("Enter")
        tab.wait_text("You have the desktop", ".live-status")
        tab.wait("document.activeElement.matches('.live-box canvas')")
        tab.key("x")
        tab.key("Escape", 2 + 8)  # the way out of the desktop, which takes every other key
        self.reach(tab, "Give back", ".live-screen button")
        tab.key("Enter")
        tab.wait("document.activeElement.id === 'give-note'")
        tab.type("Done with it.")
        self.reach(tab, "Give back", "dialog button")
        tab.key("Enter")
        tab.wait_text("Thank you.", ".entry.turn .said")
        log = self.log(name)
        self.assertEqual([(e["data"]["taken"], e["data"].get("note")) for e in log if e["kind"] == "control"], [(True, None), (False, "Done with it.")])
        pressed = [a["keys"] if "keys" in a else a["key"] for e in log if e["kind"] == "input" for a in e["data"]["arguments"]["actions"]]
        self.assertIn("x", str(pressed))
        self.assertNotIn("scape", str(pressed))
        self.reach(tab, "Replay", "a")
        tab.key("Enter")
        tab.wait("location.hash.includes('/replay')")
        tab.wait("document.querySelector('.transport .place')?.textContent")
        tab.key("Home")
        first = tab.text(".transport .place")
        tab.key("ArrowRight")
        tab.wait("document.querySelector('.transport .place').textContent !== %s" % json.dumps(first))
        self.reach(tab, "Fork here", "button")
        tab.key("Enter")
        tab.wait("document.querySelector('dialog textarea')")
        self.reach(tab, "Fork", "dialog button.primary")
        tab.key("Enter")
        tab.wait("!location.hash.includes(%s)" % json.dumps(name))
        forked = tab.js("decodeURIComponent(location.hash.slice(4))")
        self.assertEqual(self.wait_event(forked, "session_forked")["data"]["parent"], name)


class Still(house_page.Paged):
    """Who asks for less motion gets none: no animation runs, and nothing scrolls smoothly; who does not ask sees that something runs."""

    RUNS = "document.getAnimations().filter((a) => a.playState === 'running').map((a) => a.animationName ?? a.transitionProperty)"

    def test_reduced_motion(self):
        self.agent("busy", "tools: [shell]\n")
        self.serve([shell("n=0; until [ -e go ] || [ $n -gt 600 ]; do sleep 0.05; n=$((n+1)); done; echo gone")], say("Done."))
        self.begin()
        name = self.begin_session("Wait.", agent="busy", id="m1")
        self.wait_event(name, "intent")
        moving, still = self.open("#/s/" + name, reduced=False), self.open("#/s/" + name)
        for tab in (moving, still):
            tab.wait("document.querySelector('.badge[data-state=running]')")
        self.assertIn("breathe", moving.wait("((a) => a.length && a)(%s)" % self.RUNS))
        self.assertEqual(still.js(self.RUNS), [])
        for view in ("#/", "#/s/m1/replay", "#/money"):
            still.js("location.hash = %s" % json.dumps(view))
            still.wait("document.querySelector('main h1') && !document.querySelector('progress')")
            self.assertEqual(still.js(self.RUNS), [], view)
            self.assertEqual(still.js("[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).scrollBehavior === 'smooth').length"), 0, view)
        (self.work / name / "go").touch()
        self.wait_event(name, "final")


if __name__ == "__main__":
    house_page.main()
