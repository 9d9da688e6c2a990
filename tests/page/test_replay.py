# SPDX-License-Identifier: Apache-2.0
"""The page: replay, forks, comparing, and an exported file without a server; with a session that has a desktop."""

import pathlib

import house_page
from house_page import computer, say, shell

WINDOW = ("zenity --info --title Hello --text 'Press the button' --width 300 >/dev/null 2>&1 & "
          "n=0; until xwininfo -name Hello >/dev/null 2>&1 || [ $n -gt 100 ]; do sleep 0.1; n=$((n+1)); done; echo open")


class Replay(house_page.Paged):
    def desktop_session(self):
        """A session with pictures: it looks, opens a window, clicks, and types."""
        self.agent("desk", "computer: {kind: desktop, width: 800, height: 500}\ntools: [shell]\n")
        self.serve([computer({"type": "screenshot"})], [shell(WINDOW)], [computer({"type": "click", "x": 400, "y": 280})],
                   [computer({"type": "type", "text": "hello"})], say("Pressed it."))
        self.begin()
        name = self.begin_session("Press the button.", agent="desk", id="desk-1")
        self.wait_event(name, "final")
        return name

    def newest_picture(self, name):
        return [p["blob"] for e in self.log(name) if e["kind"] == "outcome" and isinstance(e["data"]["output"], list) for p in e["data"]["output"] if p.get("blob")][-1]

    def file_of(self, name, file):
        """The file that export makes; what it said about its size."""
        told = self.good("export", name, "--format", "html", "-o", file)
        self.assertRegex(told.err, r"^\d.*[KM]B: \d+ events and \d+ pictures?\n$")
        size, unit = told.err.split(":")[0].split()
        self.assertAlmostEqual(pathlib.Path(file).stat().st_size / {"KB": 1e3, "MB": 1e6}[unit], float(size), delta=1.1)

    def step_of(self, log, seq):
        """The index of the step that this event is in; a turn and a call are one step each."""
        return sum(1 for e in log if e["seq"] <= seq and e["kind"] in ("session_created", "message", "model_requested", "call", "final")) - 1

    def test_replay_fork_compare_export(self):
        name = self.desktop_session()
        tab = self.open("#/s/" + name)
        tab.wait_text("Pressed it.", ".entry .said")
        # The point of the click is marked where it was: 400, 280 of 800 x 500.
        tab.wait("document.querySelector('.entry .mark.click circle')")
        self.assertEqual(tab.js("[...document.querySelectorAll('.entry .mark.click .point')].map((c) => [c.getAttribute('cx'), c.getAttribute('cy')])[0]"), ["400", "280"])
        tab.wait("document.querySelectorAll('.entry .shot canvas').length && [...document.querySelectorAll('.entry .shot canvas')].every((c) => 'drawn' in c.dataset)")
        # Made as small as they are shown; what is drawn is the picture: the colour of its upper left corner.
        self.assertEqual(tab.js("[...document.querySelectorAll('.entry .shot canvas')].every((c) => c.width === 440 && c.height === 275)"), True)
        corner = tab.js("""new Promise((done) => { const i = new Image(); i.onload = () => { const p = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}); const at = (x) => { p.drawImage(x, 0, 0, 1, 1, 0, 0, 1, 1); return [...p.getImageData(0, 0, 1, 1).data].join(); };
            done([at(i), ...[...document.querySelectorAll('.entry .shot canvas')].map(at)]); }; i.src = document.querySelector('.side .shot img')?.src ?? `/api/sessions/%s/blobs/${%s}`; })""" % (name, "'%s'" % self.newest_picture(name)))
        self.assertEqual(len(set(corner)), 1, corner)
        self.shot(tab, "session-desktop")
        tab.click("a.button", "Replay")
        tab.wait_text("No picture of the screen up to here", ".stage")
        steps = tab.js("Number(document.querySelector('.transport input').max) + 1")
        log = self.log(name)
        self.assertEqual(tab.js("document.querySelectorAll('.thumb').length"), sum(1 for e in log if e["kind"] == "outcome" and isinstance(e["data"]["output"], list)))
        # To the step of the click: before and after, the point on the screen before.
        click = next(e for e in log if e["kind"] == "call" and e["data"]["arguments"].get("actions", [{}])[0].get("type") == "click")
        tab.js("location.hash = '/s/%s/replay?at=%d'" % (name, click["seq"]))
        tab.wait("document.querySelectorAll('.stage .side-shot').length === 2")
        self.assertEqual(tab.js("document.querySelectorAll('.stage .side-shot')[0].querySelectorAll('.mark.click').length"), 1)
        self.assertIn("Click at 400, 280", tab.text(".caption"))
        tab.wait("[...document.querySelectorAll('.stage img, .thumb img')].every((i) => i.complete)")
        self.shot(tab, "replay")
        # By key to the end, and a range that filters the timeline.
        tab.js("document.activeElement.blur()")
        tab.key("End")
        tab.wait("document.querySelector('.transport input').value === '%d'" % (steps - 1))
        tab.key("ArrowLeft")
        tab.key("[")
        tab.wait("document.querySelector('.replay .virtual').children.length === 2")
        # The same by a drag over the band.
        tab.click("button", "All")
        band = tab.js("(() => { const r = document.querySelector('.overview').getBoundingClientRect(); return [r.x, r.y + r.height / 2, r.width]; })()")
        for kind, part in (("mousePressed", 0.01), ("mouseMoved", 0.2), ("mouseMoved", 0.4), ("mouseReleased", 0.4)):
            tab.call("Input.dispatchMouseEvent", {"type": kind, "x": band[0] + band[2] * part, "y": band[1], "button": "left", "buttons": 1, "clickCount": 1})
        some = tab.wait("(() => { const n = Number(document.querySelector('.range .muted').textContent.split(' ')[0]); return n > 1 && n < %d ? n : 0; })()" % steps)
        self.assertEqual(tab.js("Number(document.querySelector('.replay [role=listitem]').ariaSetSize)"), some)
        tab.js("(() => { const s = document.querySelector('[aria-label=Speed]'); s.value = '50'; s.dispatchEvent(new Event('change')); })()")
        tab.click("button", "All")
        tab.js("document.activeElement.blur()")
        tab.key("Home")
        tab.click("[aria-label='Play']")
        tab.wait("Number(document.querySelector('.transport input').value) > 1")
        tab.click("[aria-label='Pause']")
        # Fork after the look, with another message; the first session stays as it is.
        tab.js("location.hash = '/s/%s/replay?at=%d'" % (name, click["seq"] - 2))
        tab.wait("document.querySelector('.replay .place')?.textContent.startsWith('%d /')" % (1 + self.step_of(log, click["seq"] - 2)))
        tab.click(".controls button", "Fork here")
        tab.fill("dialog textarea", "Do it another way.")
        tab.click("dialog button", "Fork")
        tab.wait("/^#\\/s\\/(?!desk-1)/.test(location.hash)")
        fork = tab.js("decodeURIComponent(location.hash.slice(4))")
        self.wait_event(fork, "final")
        both = self.log(name), self.log(fork)
        parted = next(i for i, (a, b) in enumerate(zip(*both)) if a["id"] != b["id"])
        self.assertGreater(parted, 3)
        self.assertEqual([e["id"] for e in both[0]], [e["id"] for e in log])
        self.assertEqual([e["data"]["content"] for e in both[1] if e["kind"] == "message"], ["Press the button.", "Do it another way."])
        tab.click("a", "fork: compare")
        tab.wait_text("Do it another way.", ".column .entry")
        # What was said there can be said otherwise: the fork begins before that message.
        tab.js("location.hash = '/s/%s'" % fork)
        tab.wait_text("Do it another way.", ".entry.message .said")
        tab.js("[...document.querySelectorAll('.entry.message')].find((e) => e.innerText.includes('another way')).querySelector('[aria-label=\"Fork after this\"]').click()")
        tab.wait("document.querySelector('dialog textarea')?.value === 'Do it another way.'")
        tab.key("Escape")
        tab.js("history.back()")
        tab.wait_text("Do it another way.", ".column .entry")
        tab.wait_text("are the same", ".compare .meta")
        columns = tab.js("[...document.querySelectorAll('.column')].map((c) => c.querySelector('.entry').innerText)")
        self.assertNotIn("Do it another way.", columns[0])  # they begin where they part
        self.assertIn("Do it another way.", columns[1])
        self.shot(tab, "compare")

    def test_the_exported_file(self):
        name = self.desktop_session()
        file = self.folder / "one.html"
        self.file_of(name, file)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        tab = self.browser.page("")
        self.tabs.append(tab)
        tab.call("Network.emulateNetworkConditions", {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        tab.go("file://%s" % file)
        tab.wait("document.querySelector('.stage img')?.naturalWidth > 0 || document.querySelector('.no-shot')")
        tab.key("End")
        tab.wait_text("Pressed it.", ".entry .said")
        tab.wait("[...document.querySelectorAll('.stage img')].every((i) => i.naturalWidth === 800)")
        self.shot(tab, "exported")
        self.assertEqual([u for u in tab.requests if not u.startswith(("file://", "blob:", "data:"))], [])
        self.expected += ["TrustedScript", "Content Security Policy"]
        # Its policy lets nothing else run.
        self.assertEqual(tab.js("(() => { const s = document.createElement('script'); try { s.text = 'window.ran = 1'; } catch (e) { return e.name; } document.body.append(s); return window.ran ?? 'refused'; })()"), "TypeError")


if __name__ == "__main__":
    house_page.main()
