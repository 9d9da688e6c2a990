# SPDX-License-Identifier: Apache-2.0
"""The tool browser on pages that are hard to act on (hard_pages.py), by a model that looks before each step. What a page notes counts."""

import json
import os
import re
import subprocess
import unittest

import hard_pages
import house_browser


class Hard(house_browser.Browsed):
    """The model is the test: it reads what a call said, finds its elements by their words, and says the next."""

    def setUp(self):
        super().setUp()
        self.agent("plain", "tools: [browser]\n")
        self.talk = self.start("run", "-a", self.folder / "agent.yaml", "-m", "human/human", "-s", "h", "look", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.last = self.said = self.hear()

    def tearDown(self):
        if self.talk.poll() is None:
            self.talk.stdin.close()  # it waits for nobody any more
            self.talk.wait(30)
        self.talk.stderr.close()
        super().tearDown()

    def hear(self):
        """What was told, up to the next question."""
        told = b""
        while not told.endswith(b"\n> "):
            got = os.read(self.talk.stderr.fileno(), 1 << 16)
            self.assertTrue(got, "it ended: %s" % told.decode())
            told += got
        return "\n".join(line[2:] for line in told.decode().splitlines() if line.startswith("  "))  # all that is told stands so

    def do(self, action=None, **more):
        arguments = dict(more, action=action) if action else more
        self.talk.stdin.write(("browser " + json.dumps(arguments) + "\n").encode())
        self.talk.stdin.flush()
        self.last = self.hear()
        self.said += "\n" + self.last
        return self.last

    def go(self, page, host="127.0.0.1"):
        return self.do("open", url="http://%s:%d/%s" % (host, self.site.port, page))

    def ref(self, words):
        """The number of an element by its role and name, as it was told last."""
        found = re.findall(r"\[(\d+) " + re.escape(words), self.said)
        self.assertTrue(found, "no %s in\n%s" % (words, self.said[-3000:]))
        return int(found[-1])

    def click(self, words, **more):
        return self.do("click", ref=self.ref(words), **more)

    def shows(self, words):
        """It was told at once, or on a machine that is busy with a later look."""
        if words not in self.last:
            self.do("wait", text=(re.findall(r'"(.*)"', words) or [words])[0], seconds=60)
            self.assertIn(words, self.do("snapshot"))

    def did(self, page, *what):
        self.assertEqual(self.site.done(page), [list(w) if isinstance(w, tuple) else [w, None] for w in what])

    def test_frames(self):
        self.assertIn('frame "Middle":\nOpen [', self.go("nest"))
        self.click('button "Deep"')
        self.do("type", ref=self.ref('textbox "Word"'), text="low", enter=True)
        self.did("nest_inner", ("deep", True), ("word", "low"))
        self.go("sandbox")
        self.click('button "Boxed"')
        self.did("sandbox", ("message", ["pressed null", "null"]))
        # A frame that goes while the button is down costs its frame alone.
        self.go("vanish")
        near = self.ref('button "Going"')
        for title in ("Near", "Far"):
            number = int(re.findall(r'frame "%s":\n\[(\d+) button "Going"' % title, self.said)[-1])
            self.do("click", ref=number)
            if "Unframed " + title not in self.last:
                self.do("wait", text="Unframed " + title)
        self.wait_for(lambda: len(self.site.done("vanish")) == 2)
        self.did("vanish", ("removed", "Near"), ("removed", "Far"))
        self.assertNotIn(["clicked", "127.0.0.1"], self.site.done("vanish_inner"))  # it was gone before the button was up
        self.do("snapshot")  # one that was cut off in the middle is not done again without a look
        self.assertIn("no longer", self.do("click", ref=near))

    def test_lists(self):
        self.go("recycle")
        row = self.ref('button "Row 5"')
        self.do("scroll", ref=self.ref("element"), dy=2000)
        self.shows('button "Row 100"')
        # The same element is another row now, and that was told before it is clicked.
        shown = re.search(r'\[%d button "Row (\d+)"' % row, self.last)
        self.assertTrue(shown, self.last)
        self.do("click", ref=row)
        self.did("recycle", ("row", int(shown[1])))
        self.assertGreaterEqual(int(shown[1]), 100)
        self.go("endless")
        for _ in range(3):
            buttons = re.findall(r'\[(\d+) button "Item (\d+)"', self.said)
            before = len(self.site.done("endless"))
            self.do("scroll", ref=int(max(buttons, key=lambda b: int(b[1]))[0]))
            self.do("scroll", dy=5000)
            self.wait_for(lambda: len(self.site.done("endless")) > before)
            self.do("snapshot")
        loaded = [more for what, more in self.site.done("endless") if what == "loaded"]
        self.shows('button "Item %d"' % (loaded[-1] - 1))
        last = self.ref('button "Item %d"' % (loaded[-1] - 1))
        self.do("click", ref=last)
        self.assertEqual(self.site.done("endless")[-1], ["item", loaded[-1] - 1])
        # What can be acted on is shown of a page that is too long to show; the rest is in a file.
        text = self.go("huge")
        self.assertLess(len(text.encode()), 18 << 10)
        self.assertRegex(text, r"… \d+ lines are left out; ")
        self.click('button "Last"')
        self.did("huge", "found")
        whole = [p.read_text() for p in (self.work / "downloads").iterdir()]
        self.assertTrue(any("Line 1499 " in w for w in whole))
        self.go("sorting")
        self.do("drag", ref=self.ref('button "One"'), to=self.ref('button "Three"'))
        self.assertNotIn("Nothing has changed", self.last)
        self.did("sorting", ("order", ["Two", "Three", "One"]))

    def test_fields(self):
        self.go("inputs")
        values = {"Day": "2026-02-03", "At": "14:05", "Both": "2026-02-03T04:05", "Month": "2026-07", "Week": "2026-W09", "Colour": "#12ab34", "Loud": "7", "Count": "12", "Secret": "a b<c"}
        steps = [{"action": "type", "ref": int(re.findall(r'\[(\d+) \w+ "%s"' % name, self.said)[-1]), "text": value} for name, value in values.items()]
        self.do(steps=steps)
        self.assertNotIn("a b<c", self.last)
        self.click('button "Send"')
        self.did("inputs", ("sent", {name.lower(): value for name, value in values.items()}))
        self.go("tracked")
        day, fixed, colour = (int(re.findall(r'\[(\d+) \w+ "%s"' % name, self.said)[-1]) for name in ("Day", "Fixed", "Colour"))
        self.do("type", ref=day, text="31/12/2026")
        self.assertIn("it takes values such as 2026-01-31", self.last)
        self.do("type", ref=fixed, text="2026-12-31")
        self.assertIn("it takes no input", self.last)
        self.do("select", ref=self.ref('select "Off"'), values=["B"])
        self.assertIn("it is disabled", self.last)
        self.do("type", ref=colour, text="red")
        self.assertIn("it takes values such as #", self.last)
        self.do(steps=[{"action": "type", "ref": day, "text": "2026-12-31"}, {"action": "type", "ref": colour, "text": "#AA0011"}])
        self.did("tracked", ("day", "2026-12-31"), ("colour", "#aa0011"))
        self.go("choices")
        self.do("select", ref=self.ref('select "Fruit"'), values=["Cherry", "Banana"])
        self.do("select", ref=self.ref('select "One"'), values=["A", "C"])
        self.assertIn("it takes one choice", self.last)
        self.do("select", ref=self.ref('select "One"'), values=["B"])
        self.assertIn('the choice "B" is disabled', self.last)
        self.do("select", ref=self.ref('select "One"'), values=["C"])
        self.did("choices", ("fruit", ["c", "b"]), ("one", "C"))
        self.go("editor")
        self.do("type", ref=self.ref('textbox "Text"'), text="Hello you", clear=True)
        self.click('button "Save"')
        (_, (text, _, count)), = self.site.done("editor")
        self.assertEqual(text.strip(), "Hello you")
        self.assertGreaterEqual(count, 9)  # key by key
        self.go("late")
        self.assertIn("it is disabled", self.click('button "Send"'))
        self.do("type", ref=self.ref('textbox "Name"'), text="A")
        self.do("wait", text="Ready now")
        self.click('button "Send"')
        self.did("late", "sent")
        # Who is caught in a field sees that, and what became of the letters.
        self.go("trap")
        self.do("type", ref=self.ref('textbox "Trap"'), text="ab")
        self.shows('"AB"')
        self.do("key", keys=["Tab"])
        self.click('textbox "Next"')
        self.do("key", keys=["Escape"], ref=self.ref('textbox "Trap"'))
        self.click('button "Out"')
        self.did("trap", "tab", "freed", "left")
        for name in ("one.txt", "two.png"):
            (self.work / name).write_text(name)
        self.go("hidden_files")
        self.assertIn("The page asks for a file", self.click('button "Choose"'))
        self.do("upload", files=["one.txt", "two.png"])
        self.do("upload", ref=self.ref('button "Photo'), files=["two.png"])
        self.do("upload", ref=self.ref('button "Shadowed'), files=["one.txt"])
        self.wait_for(lambda: len(self.site.done("hidden_files")) == 3)
        self.did("hidden_files", ("many", [["one.txt", 7], ["two.png", 7]]), ("photo", "two.png"), ("shadowed", "one.txt"))

    def test_places(self):
        self.assertIn("another element (div#banner) is in front of it", (self.go("covered"), self.click('button "Buy"'))[1])
        self.click('button "Agree"')
        self.click('button "Buy"')
        self.did("covered", "agreed", "bought")
        self.go("moving")
        self.click('button "There"')
        self.shows('button "Here"')
        self.click('button "Here"')
        self.did("moving", "moved", "missed", "hit")
        self.go("drawn")
        canvas = self.ref("canvas")
        self.do("click", ref=canvas, x=320, y=215, screenshot=True)
        self.do("click", ref=canvas, x=320, y=215)
        self.do("click", ref=canvas, x=40, y=55)
        (_, (x, y)), = [d for d in self.site.done("drawn") if d[0] == "missed"]
        self.assertTrue(abs(x - 320) <= 2 and abs(y - 215) <= 2, (x, y))
        self.did("drawn", ("hit", 1), ("missed", [x, y]), ("hit", 2))
        self.assertNotIn('"Act"', self.go("details"))
        self.click('summary "More"')
        self.shows('button "Act"')
        self.click('button "Act"')
        self.did("details", ("toggled", True), "inside")
        text = self.go("right_to_left")
        self.assertIn("\u0645\u0631\u062d\u0628\u0627 12 \ufffdfdp.exe\ufffd", text)
        self.assertIn("# \u05e9\u05dc\u05d5\u05dd", text)
        self.click('button "\u05e9\u05dc\u05d7"')
        self.do("type", ref=self.ref('textbox "\u05e9\u05dd"'), text="\u05d0\u05d1", enter=True)
        self.did("right_to_left", ("pressed", "rtl"), ("name", "\u05d0\u05d1"))
        self.go("printing")
        self.click('button "Print"')
        self.shows("Printed")
        self.did("printing", "printed")

    def test_ways(self):
        self.go("app")
        self.click('link "Orders"')
        self.shows("View /app/orders")
        self.click('link "People"')
        self.assertIn("/app/orders", self.do("back"))
        self.did("app", ("view", "/app/orders"), ("view", "/app/people"), ("view", "/app/orders"))
        self.assertIn("# Details", self.go("refresh"))
        self.assertIn("went on to others by itself more than 20 times", self.go("spin_script"))
        # As many as are let by, and more.
        text = self.go("hop?19")
        self.assertIn("# Arrived", text)
        self.assertNotIn("by itself", text)
        text = self.go("hop?60")
        self.assertIn("by itself", text)
        self.assertNotIn("# Arrived", text)
        self.assertIn("# Chain", self.go("chain"))
        self.click('button "First"')
        self.shows('button "Second"')
        self.assertIn("tab 2 of 2", self.last)
        self.click('button "Second"')
        self.shows('button "Third"')
        self.assertIn("tab 3 of 3", self.last)
        self.click('button "Third"')
        self.do("wait", text="told", seconds=60)
        self.assertNotIn("chain_", self.do("tabs"))
        self.assertIn("told", self.do("snapshot"))
        self.did("chain", "told")
        self.go("nagging")
        self.assertIn("Really, number 1?", self.click('button "Ask"'))
        self.assertIn("Really, number 2?", self.do("dialog", dismiss=True))
        self.assertIn("Really, number 3?", self.do("dialog", dismiss=True))
        self.do("dialog")
        self.click('button "Tell"')
        self.do(steps=[{"action": "dialog"}] * 3 + [{"action": "dialog", "text": "enough"}])
        self.did("nagging", ("yes", 3), ("alerted", "enough"))
        self.go("leaving")
        self.do("type", ref=self.ref('textbox "Draft"'), text="x")
        self.assertIn("beforeunload", self.go("plain"))
        self.do("dialog", dismiss=True)
        self.click('button "Still"')
        self.go("plain")
        self.do("dialog")
        self.assertIn("# Plain", self.do("snapshot"))
        self.wait_for(lambda: len(self.site.done("leaving")) == 3)
        self.did("leaving", "asked", "still", "asked")
        self.assertIn("/spin", self.go("spin"))  # never at rest, and shown all the same

    def test_orders(self):
        """What a page says to the model is words of the page: none hidden, none that looks like an element, or like a word of ours."""
        text = self.go("orders")
        self.assertIn(hard_pages.ORDERS, text)
        self.assertNotIn(hard_pages.HIDDEN, text + self.do("read"))
        lines = text.splitlines()
        self.assertEqual([line for line in lines if line.startswith("Page ")], lines[:1] if lines[0].startswith("Page") else lines[1:2])
        self.assertEqual(sorted(re.findall(r"\[\d+ \w+", text)), sorted(set(re.findall(r"\[\d+ \w+", text))))
        self.assertEqual(re.findall(r"\[\d+ (\w+)", text), ["button", "link"])
        self.assertFalse([c for c in text if ord(c) >= 0xe0000 or c in "\u2066\u2028\u202e"], text)
        self.click("button")
        self.assertEqual(self.site.done("orders"), [["tidied", None]])
        self.go("halves")
        self.assertIn("+ x\ufffdy", self.click('button "Halve"'))
        self.assertIn("\ufffd", self.do("console"))
        self.did("halves", "halved")


if __name__ == "__main__":
    unittest.main()
