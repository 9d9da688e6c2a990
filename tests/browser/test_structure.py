# SPDX-License-Identifier: Apache-2.0
"""The tool browser on hard pages: what it says of them, and what they note was done to them."""

import json
import pathlib
import unittest

import house_browser
from house_browser import browser, say


class Structure(house_browser.Browsed):
    def lines(self, text):
        return [line for line in text.splitlines() if not line.startswith("Page ")]

    def test_form(self):
        texts, outcomes = self.texts(
            [browser("snapshot")],
            [browser(steps=[{"action": "type", "ref": 3, "text": "Ada"}, {"action": "type", "ref": 4, "text": "2026-01-02"},
                            {"action": "select", "ref": 5, "values": ["Blue"]}, {"action": "click", "ref": 6}])],
            [browser("select", ref=5, values=["Pink"])],
            [browser("type", ref=3, text="Bob", clear=True, enter=True)],
            [browser("click", ref=8)], [browser("click", ref=9)], [browser("click", ref=2)], [browser("click", ref=3)], [browser("back")],
            say("Done."), page="form")
        self.assertEqual(self.lines(texts[0]), [
            "# Order", "navigation:", '[1 link "Plain"]', '[2 link "Drag"]', 'Name [3 textbox "Name"] Day [4 date "Day"]',
            'Colour [5 select "Colour" = "Red" (Red*|Green|Blue) closed] [6 checkbox "Keep"]', '[7 button "Send"]', '[8 button "Greet"]',
            '[9 button "Never" disabled]', "| Item | Price |", '| Shoes | 40 [10 link "edit"] |'])
        # After actions only what changed; an element keeps its number.
        self.assertEqual(self.lines(texts[1])[4:], [
            "Changed on the page:", '+ Name [3 textbox "Name" = "Ada"] Day [4 date "Day" = "2026-01-02"]',
            '+ Colour [5 select "Colour" = "Blue" (Red|Green|Blue*) closed] [6 checkbox "Keep" checked]', "Focus is on 6."])
        self.assertIn("there is no choice \"Pink\"; the choices are Red, Green, Blue", texts[2])
        self.assertEqual(self.site.done("form"), [["chose", "b"], ["sent", {"name": "Bob", "day": "2026-01-02", "colour": "b", "keep": "on"}]])
        # What a page says cannot write to a terminal or turn a text around.
        self.assertIn("+ Hello ", texts[4])
        self.assertFalse({"\x1b", "\u202e"} & set("".join(texts)))
        self.assertIn("element 9 cannot be clicked: it is disabled", texts[5])
        self.assertIn("# Drag", texts[6])
        self.assertIn("element 3 is of a page that is no longer there", texts[7])
        self.assertIn("# Order", texts[8])
        self.assertEqual([o["status"] for o in outcomes], ["done", "done", "refused", "done", "done", "refused", "done", "refused", "done"])
        calls = [e["data"] for e in self.events("b1") if e["kind"] == "call"]
        self.assertEqual([c["class"] for c in calls], ["R"] + ["W"] * 8)
        self.assertEqual(len([e for e in self.events("b1") if e["kind"] == "intent"]), 9)

    def test_words_of_others(self):
        """Playwright's tools, OpenHands' and BrowserGym's code reach the tool, under its rules. A person writes them: what was not declared."""
        lines = [("browser_snapshot", {}), ("browser_type", {"ref": "e3", "text": "Ada"}),
                 ("browser_fill_form", {"fields": [{"type": "combobox", "ref": "e5", "value": "Blue"}, {"type": "textbox", "ref": "3", "value": "Bob"}]}),
                 ("browser_click", {"index": 6}), ("browser_resize", {"width": 3, "height": 4}), ("browser_get_state", {"include_screenshot": True}),
                 ("browser", {"code": "press('3', 'Enter')"})]
        said = "".join("%s %s\n" % (name, json.dumps(arguments)) for name, arguments in lines) + "done seen\n"
        self.good("run", "-a", self.agent("form", "tools: [browser]\n"), "-m", "human/human", "-s", "b1", "look", stdin=said)
        outcomes = [e["data"] for e in self.events("b1") if e["kind"] == "outcome"]
        texts = [o["output"] if isinstance(o["output"], str) else "\n".join(p.get("text", "") for p in o["output"]) for o in outcomes]
        for text, words in zip(texts, ('[3 textbox "Name"]', '[3 textbox "Name" = "Ada"]', '[3 textbox "Name" = "Bob"]', '[6 checkbox "Keep" checked]',
                                       "browser_resize: the size of the page is the agent file's", "# Order", ""), strict=True):
            self.assertIn(words, text)
        self.assertIn("image", [p["type"] for p in outcomes[5]["output"]])
        self.assertEqual(self.site.done("form"), [["chose", "b"], ["sent", {"name": "Bob", "day": "", "colour": "b", "keep": "on"}]])
        self.assertEqual([o["status"] for o in outcomes], ["done"] * 4 + ["refused"] + ["done"] * 2)
        calls = [e["data"] for e in self.events("b1") if e["kind"] == "call"]
        self.assertEqual([c["tool"] for c in calls], ["browser"] * 7)
        self.assertEqual([c["class"] for c in calls], ["R", "W", "W", "W", "W", "R", "W"])

    def test_shadow_and_frames(self):
        texts, _ = self.texts(
            [browser("snapshot")], [browser(steps=[{"action": "click", "ref": 1}, {"action": "click", "ref": 2}])],
            [browser("open", url=self.site.url + "/frames")],
            [browser(steps=[{"action": "click", "ref": 3}, {"action": "click", "ref": 5}, {"action": "type", "ref": 6, "text": "far", "enter": True}])],
            say("Done."), page="shadow")
        self.assertEqual(self.lines(texts[0]), ["# Shadow", 'In the open shadow [1 button "Press open"]', 'In the closed shadow [2 button "Press closed"]'])
        self.assertEqual(self.site.done("shadow"), [["pressed", "open"], ["pressed", "closed"]])
        self.assertEqual(self.lines(texts[2])[1:], [
            "# Frames", 'frame "Same":', 'Inside [3 button "Inner button"]', '[4 textbox "Field"]', "end of frame",
            'frame "Far":', 'Inside [5 button "Inner button"]', '[6 textbox "Field"]', "end of frame"])
        self.assertEqual(self.site.done("inner"), [["inner", "127.0.0.1"], ["inner", "localhost"], ["typed", "far"]])

    def test_list_canvas_popup(self):
        texts, outcomes = self.texts(
            [browser("snapshot")], [browser("scroll", ref=1, dy=4000)], [browser("click", ref=14)],
            [browser("open", url=self.site.url + "/canvas")], [browser("click", ref=26, x=230, y=140, screenshot=True)],
            [browser("open", url=self.site.url + "/popup")], [browser("click", ref=27)], [browser("click", ref=28)],
            [browser("tabs")], [browser("close")],
            say("Done."), page="list")
        self.assertIn('[2 button "Row 0"]', self.lines(texts[0]))
        self.assertIn('+ [14 button "Row 200"]', self.lines(texts[1]))
        self.assertIn('- [2 button "Row 0"]', self.lines(texts[1]))
        self.assertEqual(self.site.done("list"), [["row", 200]])
        # A canvas has no structure: a place in it is clicked, and a picture shows it.
        self.assertIn('[26 canvas "Board"]', texts[3])
        self.assertTrue(any(p["type"] == "image" for p in outcomes[4]["output"]))
        what, (x, y) = self.site.done("canvas")[0]
        self.assertEqual(what, "canvas")
        self.assertTrue(abs(x - 230) <= 2 and abs(y - 140) <= 2, (x, y))
        self.assertIn("/inner (tab 2 of 2 open)", texts[6])
        self.assertEqual(self.site.done("inner"), [["inner", "127.0.0.1"]])
        self.assertRegex(texts[8], r"(?s)1 http://127.0.0.1:\d+/popup.*\* 2 http://127.0.0.1:\d+/inner")
        self.assertIn("# Popup", texts[9])

    def test_files(self):
        (self.work / "notes.txt").write_text("my notes\n")
        (self.folder / "secret").write_text("no")
        (self.work / "link").symlink_to(self.folder / "secret")
        texts, outcomes = self.texts(
            [browser("snapshot")], [browser("click", ref=3)], [browser("click", ref=3)], [browser("click", ref=4)],
            [browser("upload", ref=1, files=["notes.txt"])], [browser("click", ref=2)],
            [browser("upload", files=["link"])], [browser("upload", files=["../secret"])], [browser("upload", files=["notes.txt", "downloads/report.csv"])],
            say("Done."), page="files")
        # Told by the call that it came in, or by a later one on a slow machine.
        self.assertIn("Downloaded downloads/report.csv (8 bytes).", "".join(texts))
        self.assertIn("Downloaded downloads/report-1.csv (8 bytes).", "".join(texts))
        names = sorted(p.name for p in (self.work / "downloads").iterdir())
        self.assertEqual(len(names), 3)
        self.assertEqual((self.work / "downloads" / "report.csv").read_bytes(), b"a,b\n1,2\n")
        # A name of a site's stays one harmless name in this folder.
        self.assertTrue(all(n[0] != "." and not set(n) & set("/;\u202e\x1b ") for n in names), names)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.name.endswith("rm")), [])
        self.assertIn("The page asks for a file", texts[5])
        self.assertEqual([o["status"] for o in outcomes[6:]], ["refused", "refused", "done"])
        self.assertEqual(self.site.done("files"), [["file", ["notes.txt", "my notes\n"]], ["chosen", ["notes.txt", "report.csv"]]])

    def test_dialogs_and_addresses(self):
        texts, outcomes = self.texts(
            [browser("snapshot")], [browser("click", ref=1)], [browser("click", ref=2)], [browser("dialog", dismiss=True)],
            [browser(steps=[{"action": "click", "ref": 2}, {"action": "dialog", "text": "Ada"}])],
            [browser("open", url=self.site.url + "/loop")], [browser("open", url="file:///etc/passwd")], [browser("open", url="chrome://version")],
            [browser("open", url="javascript:alert(1)")], [browser("evaluate", script="1")],
            say("Done."), page="dialog")
        self.assertIn('confirm "Delete all files?"', texts[1])
        self.assertIn("the page shows a dialog", texts[2])
        self.assertEqual(self.site.done("dialog"), [["answer", False], ["name", "Ada"]])
        self.assertIn("ERR_TOO_MANY_REDIRECTS", texts[5])
        for text in texts[6:9]:
            self.assertIn("is not opened", text)
        self.assertIn("scripts are not allowed here", texts[9])
        self.assertEqual([o["status"] for o in outcomes], ["done", "done", "refused", "done", "done"] + ["refused"] * 5)

    def test_scripts(self):
        """What a script gives is told, as much as a model is shown; what is thrown, too, whatever it is."""
        self.form = house_browser.AGENT.replace("start_url: '%s'", "start_url: '%s', evaluate: true")
        scripts = ["document.querySelector('h1').textContent", "Promise.resolve({a: [1, null]})", "0 / 0", "5n ** 30n", "undefined", "throw 'no reason'",
                   "null.x", "window", "'word '.repeat(20000)"]
        texts, outcomes = self.texts([browser("snapshot")], *[[browser("evaluate", script=script)] for script in scripts], say("Done."), page="plain")
        for text, words in zip(texts[1:], ('"Plain"', '{"a":[1,null]}', "NaN", "931322574615478515625n", "undefined", "the script failed: no reason",
                                           "the script failed: TypeError", "its value cannot be told", "more bytes; all of it is in downloads/script.txt"), strict=True):
            self.assertIn(words, text)
        self.assertEqual((self.work / "downloads" / "script.txt").read_text(), '"%s"' % ("word " * 20000))
        self.assertEqual([o["status"] for o in outcomes], ["done"] * 6 + ["failed"] * 3 + ["done"])

    def test_hostile_words(self):
        texts, _ = self.texts([browser("snapshot")], [browser("click", ref=1)], [browser("read")], say("Done."), page="evil_words")
        # What a page writes cannot look like an element of the snapshot, or end a name.
        self.assertEqual([line for line in self.lines(texts[0]) if "[" in line and "]]]" not in line], ["[1 button \"x' disabled] (99 button 'Pay\"]"])
        self.assertIn(']]] (1 button "fake"]', texts[0])
        self.assertFalse({"\x1b", "\u202e"} & set("".join(texts)))
        self.assertEqual(self.site.done("evil_words"), [["real", None]])


if __name__ == "__main__":
    unittest.main()
