# SPDX-License-Identifier: Apache-2.0
"""The browser in a window on a desktop: what is on the screen and what the tool acts on are one; it may end alone, and that is said."""

import os
import pathlib
import re
import shutil
import signal
import struct
import unittest
import zlib

import test_kill  # before house_browser, which puts another folder with one of this name in front
import house_browser
from house_browser import browser, computer, main_of, say

MISSING = next((p + " is not installed" for p in ("Xvfb", "openbox") if not shutil.which(p)), None)


def first_pixel(path):
    """Red, green, blue of the upper left one: before it is nothing that a filter could count on."""
    data, at, packed = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    return tuple(zlib.decompress(packed)[1:4])


# Answers as a browser does until its page is there, and ends before it has a window.
ENDS_EARLY = """#!/usr/bin/python3
import os, struct
def put(v):
    if isinstance(v, bool):
        return b"\\xf5" if v else b"\\xf4"
    if isinstance(v, int):
        return b"\\x1a" + struct.pack(">I", v)
    if isinstance(v, str):
        return b"\\x7a" + struct.pack(">I", len(v)) + v.encode()
    inside = b"\\xbf" + b"".join(put(k) + put(v[k]) for k in v) + b"\\xff"
    return b"\\xd8\\x18\\x5a" + struct.pack(">I", len(inside)) + inside
def get(b):
    kind, more, b = b[0] >> 5, b[0] & 31, b[1:]
    if kind == 7:
        return {20: False, 21: True, 22: None}.get(more), b[8:] if more == 27 else b
    if kind == 6:
        return get(b[6:])
    if more == 31:
        items = []
        while b[0] != 255:
            item, b = get(b)
            items.append(item)
        return (dict(zip(items[::2], items[1::2])) if kind == 5 else items), b[1:]
    if more == 26:
        more, b = struct.unpack(">I", b[:4])[0], b[4:]
    return (b[:more].decode(), b[more:]) if kind == 3 else (more, b)
def say(**message):
    os.write(4, put(message))
text = b""
while (more := os.read(3, 65536)):
    text += more
    while len(text) > 7 and len(text) >= 7 + struct.unpack(">I", text[3:7])[0]:
        asked, text = get(text)
        if asked["method"] == "Target.setAutoAttach" and "sessionId" not in asked:
            say(method="Target.attachedToTarget", params={"sessionId": "s", "waitingForDebugger": False, "targetInfo": {
                "targetId": "t", "type": "page", "title": "", "url": "about:blank", "attached": True}})
        say(id=asked["id"], result={}, **{k: v for k, v in asked.items() if k == "sessionId"})
        if asked["method"] == "Browser.setDownloadBehavior":
            raise SystemExit
"""


@unittest.skipIf(MISSING, MISSING)
class Window(house_browser.Browsed):
    form = house_browser.WINDOW

    def text(self, outcome):
        return "\n".join(p["text"] for p in outcome["output"] if p["type"] == "text") if isinstance(outcome["output"], list) else outcome["output"]

    def test_one_page(self):
        """The tool opens it, it is on the screen; a click there is in the page, and in what the tool reads."""
        outcomes = self.browse(
            "plain", [browser("open", url=self.site.url + "/window")], [computer({"type": "click", "x": 400, "y": 400})],
            [browser("type", ref=1, text="Ada", enter=True)], [browser("snapshot")], [browser("click", x=400, y=400)],
            [browser("click", ref=2)], [computer({"type": "key", "keys": ["ctrl", "w"]})],
            [browser("wait", text="# Clicked", seconds=60)], [browser("tabs")], say("Done."), more="tools: [browser]\n")
        self.assertEqual([o["status"] for o in outcomes], ["done"] * 4 + ["refused"] + ["done"] * 4, outcomes)
        self.assertIn("# Window", self.text(outcomes[0]))
        self.assertEqual(self.site.done("window"), [["clicked", [True, 400, 400]], ["typed", "Ada"]])
        self.assertIn("# Clicked", self.text(outcomes[3]))
        self.assertIn("in a window on the screen", self.text(outcomes[4]))
        # A tab that a key of the desktop closes is closed for the tool.
        self.assertIn("Tab 2 was opened.", self.text(outcomes[5]))
        self.assertRegex(self.text(outcomes[8]), r"^\* 1 \S+/window\s*$")
        picture = self.folder / "spot.png"
        self.good("computer", "-s", "b1", "zoom", 400, 400, 8, 8, "-o", picture)
        self.assertEqual(first_pixel(picture), (0xd1, 0x0a, 0xd1))

    def test_address_bar(self):
        """It opens what the tool opens; a new tab is its own page."""
        agent = self.folder / "agent.yaml"
        agent.write_text(self.form % (self.site.url + "/window", "tools: [browser]\n"))
        (self.work / "secret.txt").write_text("words of a file")

        def look(words=None):
            wait = 'browser {"action": "wait", "text": "%s", "seconds": 5}\n' % words if words else ""
            self.good("run", *(["-a", agent, "-m", "human/human"] if not self.seen else []), "-s", "m", "look",
                      stdin=wait + 'browser {"action": "snapshot"}\ndone seen\n')
            self.seen.append(self.text([e["data"] for e in self.events("m") if e["kind"] == "outcome"][-1]))
            self.assertNotIn("words of a file", self.seen[-1])
            return self.seen[-1]

        self.seen = []
        look("Window")
        for address, words in (("file://%s/secret.txt" % self.work, "is blocked"), (self.site.url + "/form", "# Order"), ("chrome://settings", "is blocked")):
            for _ in range(5):  # a person who sees that his keys were not taken presses them again
                for action in (("key", "ctrl+l"), ("type", address), ("key", "Return")):
                    self.good("computer", "-s", "m", *action)
                if address in look(words.strip("# ")):
                    break
            self.assertIn(address, self.seen[-1])
            self.assertIn(words, self.seen[-1])
        self.good("computer", "-s", "m", "key", "ctrl+t")
        self.assertRegex(look(), r"Page .*chrome://new.* \(tab 2 of 2 open\)")

    def test_first_look(self):
        """It waits for the tabs and the address bar, and not only for a window: that is of one colour at first."""
        self.good("computer", "-c", "browser_window", "zoom", 100, 8, 600, 56, "-o", self.folder / "bar.png")
        self.good("computer", "-c", "browser_window", "end")
        self.assertGreater((self.folder / "bar.png").stat().st_size, 1500)

    def test_marks(self):
        """One row of numbers: elements of the page have those of its snapshots, what is beside it has others; a click by either."""
        agent = self.folder / "agent.yaml"
        agent.write_text(self.form % (self.site.url + "/frames", "model: omni+human/human\ntools: [browser]\n"))
        self.good("run", "-a", agent, "-s", "m", "look", stdin='browser {"action": "snapshot"}\nscreenshot\ndone seen\n')
        before, seen = [e["data"]["output"] for e in self.events("m") if e["kind"] == "outcome"]
        elements = dict(re.findall(r'\[(\d+) (\w+(?: "[^"]*")?)', self.text({"output": before})))
        marks = dict(line.split(" ", 1) for line in seen[0]["text"].splitlines()[1:])
        self.assertEqual({n: marks.get(n) for n in elements}, elements)
        self.assertEqual([w for w in marks.values() if "Inner" in w or "Inside" in w], 2 * ['button "Inner button"'])
        bars = [n for n, what in marks.items() if "Reload" in what]
        self.assertEqual(len(bars), 1, marks)
        places = {str(e["id"]): e["box"] for e in seen[1]["elements"]}
        self.assertLess(places[bars[0]][1], min(places[n][1] for n in elements))
        far = max((n for n in elements if "button" in elements[n]), key=lambda n: places[n][1])  # in a frame of another process
        self.good("run", "-s", "m", "press", stdin="click #%s\nbrowser {\"action\": \"click\", \"ref\": %s}\nclick #%s\nbrowser {\"action\": \"wait\"}\n"
                  "browser {\"action\": \"snapshot\"}\ndone pressed\n" % (far, bars[0], bars[0]))
        self.assertEqual(self.site.did, [{"page": "inner", "what": "inner", "more": "localhost"}])
        told = [e["data"]["output"] for e in self.events("m") if e["kind"] == "outcome"]
        self.assertIn("%s is a mark outside of the page" % bars[0], self.text({"output": told[3]}))
        again = [int(n) for n in re.findall(r"\[(\d+) ", self.text({"output": told[-1]}))]  # loaded again by the button of its bar
        self.assertEqual(len(again), len(elements))
        self.assertGreater(min(again), max(map(int, marks)))

    def test_it_ends(self):
        """Killed in a call: unknown; killed between two: told with the next picture.  The desktop and what runs there stay."""
        self.serve([browser("open", url=self.site.url + "/slow")], [browser("open", url=self.site.url + "/window")], say("Done."),
                   [computer({"type": "move", "x": 10, "y": 10})], [browser("snapshot")], say("Done."))
        process = self.start("run", "-a", self.agent("plain", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "k", "go")
        self.wait_for(lambda: self.site.slow)
        desktop = self.good("computer", "-s", "k", "shell", "echo $THOLE_DESKTOP$DISPLAY; sleep 1000 & echo $!").out
        os.kill(main_of(self.folder)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, (out, err))
        os.kill(main_of(self.folder)[0], signal.SIGKILL)
        self.wait_for(lambda: not main_of(self.folder))
        self.good("run", "-s", "k", "again")
        first, second, third, fourth = [e["data"] for e in self.events("k") if e["kind"] == "outcome"]
        self.assertEqual([o["status"] for o in (first, second, third, fourth)], ["unknown", "done", "done", "done"], (first, second, third, fourth))
        self.assertIn("the browser in the window has ended", self.text(first))
        self.assertIn("this is a new one with the same profile", self.text(second))
        self.assertIn("# Window", self.text(second))
        self.assertIn("The browser has ended", self.text(third))
        self.assertIn("this is a new one with the same profile", self.text(fourth))
        self.assertFalse([o for o in (second, third, fourth) if o["evidence"].get("restarted")])
        self.assertEqual(self.good("computer", "-s", "k", "shell", "kill -0 %s && echo alive" % desktop.split()[-1]).out, "alive\n")
        self.site.go_on.set()

    def test_it_ends_before_its_window_is_there(self):
        """Told at once: nothing is drawn on the desktop that would end the wait."""
        program = self.work / "program"
        program.write_text(ENDS_EARLY)
        program.chmod(0o755)
        (self.folder / "agent.yaml").write_text("computer: {kind: browser_window, options: {program: %s}}\ntools: [browser]\n" % program)
        self.serve([browser("snapshot")], say("Done."))
        self.bad(1, ["the browser ended before its window was on the screen"], "run", "-a", self.folder / "agent.yaml", "-m", "gpt-5.1", "go")

    def test_files(self):
        """What is downloaded comes into the workspace; a link that a program of the desktop puts into the profile is not followed."""
        self.serve([browser("snapshot")], [browser("click", ref=3)], [browser("wait")], say("Done."), [browser("click", ref=3)], [browser("wait")], say("Done."))
        self.good("run", "-a", self.agent("window", "tools: [browser]\n"), "-m", "gpt-5.1", "-s", "f", "go")
        self.assertEqual((self.work / "downloads" / "report.csv").read_bytes(), b"a,b\n1,2\n")
        words = pathlib.Path("/proc", str(main_of(self.folder)[0]), "cmdline").read_bytes().decode()
        profile = words.replace("\0", " ").split("--user-data-dir=")[1].split(" ")[0]
        self.good("computer", "-s", "f", "shell", "mkdir %s/elsewhere && rmdir %s/downloads && ln -s %s/elsewhere %s/downloads" % (self.work, profile, self.work, profile))
        self.good("run", "-s", "f", "again")
        told = " ".join(self.text(e["data"]) for e in self.events("f") if e["kind"] == "outcome")
        self.assertRegex(told, "Downloaded downloads/report.csv")
        self.assertRegex(told, "The download of report.csv failed")
        self.assertEqual(os.listdir(self.work / "downloads"), ["report.csv"])


@unittest.skipIf(MISSING, MISSING)
class Killed(test_kill.Kill):
    """What is killed around it, or one page of it: as without a window."""

    form = house_browser.WINDOW
    test_the_browser = None  # differs: test_it_ends
    leaves = False  # the desktop has the profile, and goes with its executor


if __name__ == "__main__":
    unittest.main()
