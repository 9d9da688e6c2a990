# SPDX-License-Identifier: Apache-2.0
"""The browser as a screen: pointer and keys as from a device, dialogs, drags of data; nothing is left of it."""

import re
import shutil
import unittest

import house_browser
from house_browser import computer, say


class Pixels(house_browser.Browsed):
    def test_pointer_and_keys(self):
        outcomes = self.browse(
            "plain",
            [computer({"type": "click", "x": 200, "y": 115}, {"type": "type", "text": "Grüße, 世界!", "enter": True})],
            [computer({"type": "type", "x": 200, "y": 115, "text": "again", "clear": True}, {"type": "click", "x": 200, "y": 220})],
            [computer({"type": "click", "x": 200, "y": 320, "button": "right"}, {"type": "click", "x": 200, "y": 320, "count": 2})],
            [computer({"type": "key", "keys": ["ctrl", "k"]}, {"type": "scroll", "x": 400, "y": 400, "dx": 0, "dy": 3})],
            say("Done."))
        self.assertEqual([o["status"] for o in outcomes], ["done"] * 4, outcomes)
        self.assertEqual(self.site.done("plain"), [
            ["changed", "Grüße, 世界!"], ["changed", "again"], ["clicked", True], ["context", None], ["double", None],
            ["key", "KeyK true"], ["scrolled", 300]])
        for outcome in outcomes:
            self.assertTrue(any(p.get("type") == "image" and (p["width"], p["height"], p["url"]) == (800, 600, self.site.url + "/plain") for p in outcome["output"]), outcome)
            self.assertTrue(outcome["evidence"]["settled"], outcome)

    def test_dialogs(self):
        outcomes = self.browse(
            "dialog",
            [computer({"type": "click", "x": 200, "y": 120})],
            [computer({"type": "click", "x": 10, "y": 10})],
            [computer({"type": "key", "keys": ["Escape"]})],
            [computer({"type": "click", "x": 200, "y": 220})],
            [computer({"type": "type", "text": "Ada"})],
            say("Done."))
        self.assertIn('confirm \\"Delete all files?\\"', str(outcomes[0]["output"]).replace('"', '\\"'))
        # Nothing reaches a page that waits for its dialog, and that is said.
        self.assertEqual((outcomes[0]["status"], outcomes[1]["status"]), ("done", "refused"))
        self.assertIn("the page shows a dialog", str(outcomes[1]["output"]))
        self.assertEqual(self.site.done("dialog"), [["answer", False], ["name", "Ada"]])

    def test_menu(self):
        """The menu of a select element is told, as no picture shows it, and keys choose in it."""
        outcomes = self.browse(
            "menu",
            [computer({"type": "click", "x": 200, "y": 120})],
            [computer({"type": "key", "keys": ["Down"]})],
            [computer({"type": "key", "keys": ["Return"]})],
            say("Done."))
        told = [" ".join(p["text"] for p in o["output"] if p["type"] == "text") for o in outcomes]
        menu = 'the menu of a select element, which is not on the picture: "Red", "Green %s" (chosen), "Grey" (disabled), "Blue"%s. The keys'
        self.assertIn(menu % ('\\"x\\" \ufffd', ""), told[0])
        self.assertIn("select element", told[1])
        self.assertNotIn("select element", told[2])
        self.assertEqual(self.site.done("menu"), [["chose", "Blue"]])

    def test_a_long_menu(self):
        outcomes = self.browse("menu?long", [computer({"type": "click", "x": 200, "y": 120})], say("Done."))
        told = str(outcomes[0]["output"])
        self.assertIn('picture: (25 before) "More 21"', told)
        self.assertIn('"More 36" (chosen)', told)
        self.assertIn('"More 50" (9 behind). The keys', told)

    def test_drag(self):
        self.browse("drag", [computer({"type": "drag", "path": [{"x": 150, "y": 130}, {"x": 500, "y": 150}]})], say("Done."))
        self.assertEqual(self.site.done("drag"), [["dropped", "card"]])

    def test_marks(self):
        """omni+PLANNER: the marks of a picture are the elements of a snapshot, under the same numbers, in frames too; a click by one of them."""
        agent = self.folder / "agent.yaml"
        agent.write_text(house_browser.AGENT % (self.site.url + "/frames", "model: omni+human/human\ntools: [browser]\n"))
        self.good("run", "-a", agent, "-s", "m", "look", stdin='browser {"action": "snapshot"}\nscreenshot\nbrowser {"action": "snapshot"}\ndone seen\n')
        before, seen, after = [e["data"]["output"] for e in self.events("m") if e["kind"] == "outcome"]
        elements = dict(re.findall(r'\[(\d+) (\w+(?: "[^"]*")?)', after[0]["text"] if isinstance(after, list) else after))
        marks = dict(line.split(" ", 1) for line in seen[0]["text"].splitlines()[1:])
        self.assertEqual(sorted(marks.values()), 2 * ['button "Inner button"'] + 2 * ['textbox "Field"'])
        self.assertEqual(marks, elements)
        places = {str(e["id"]): e["box"] for e in seen[1]["elements"]}
        far = max((n for n in marks if "button" in marks[n]), key=lambda n: places[n][1])  # of another process
        self.good("run", "-s", "m", "press", stdin="click #%s\ndone pressed\n" % far)
        self.assertEqual(self.site.did, [{"page": "inner", "what": "inner", "more": "localhost"}])

    @unittest.skipUnless(shutil.which("tesseract"), "tesseract is not installed")
    def test_painted_marks(self):
        """Words in a canvas have marks beside the elements, and a click by one of them is in its place."""
        agent = self.folder / "agent.yaml"
        agent.write_text(house_browser.AGENT % (self.site.url + "/painted", "model: omni+human/human\ntools: [browser]\n"))
        self.good("run", "-a", agent, "-s", "m", "look", stdin='browser {"action": "snapshot"}\nscreenshot\ndone seen\n')
        before, seen = [e["data"]["output"] for e in self.events("m") if e["kind"] == "outcome"]
        marks = dict(line.split(" ", 1)[::-1] for line in seen[0]["text"].splitlines()[1:])
        for words in ('[%s button "Beside"]' % marks['button "Beside"'], "[%s canvas]" % marks["canvas"]):
            self.assertIn(words, before if isinstance(before, str) else before[0]["text"])
        word = next(number for words, number in marks.items() if "Customers" in words)
        self.good("run", "-s", "m", "press", stdin='click #%s\nbrowser {"action": "click", "ref": %s}\ndone pressed\n' % (word, word))
        self.assertEqual(self.site.done("painted"), [["customers", None]])
        refused = [e["data"] for e in self.events("m") if e["kind"] == "outcome"][-1]
        self.assertIn("%s is a mark outside of the page" % word, str(refused["output"]))

    def test_most_marks(self):
        """TH_BROWSER_MARKS_ASKED_MAX elements are asked where they are, and one more is not: the last two are on the screen, all others below it."""
        most = int(re.search(r"#define TH_BROWSER_MARKS_ASKED_MAX (\d+)", (house_browser.house.SOURCE / "src/base/limits.h").read_text())[1])
        page = ("data:text/html,<body><script>for(let i=1;i<%d;i++){let b=document.createElement(`button`);b.textContent=`n`+i;"
                "b.style=`position:absolute;left:9px;top:`+(i<%d?9000+i:i==%d?50:150)+`px`;document.body.append(b)}</script>" % (most + 2, most, most))
        agent = self.folder / "agent.yaml"
        agent.write_text(house_browser.AGENT % (page, "model: omni+human/human\ntools: [browser]\n"))
        self.good("run", "-a", agent, "-s", "m", "look", stdin="screenshot\ndone seen\n")
        seen, = [e["data"]["output"] for e in self.events("m") if e["kind"] == "outcome"]
        said = seen[0]["text"].splitlines()[1:]
        self.assertEqual([line.split(" ", 1)[1] for line in said[:1]] + said[1:], ['button "n%d"' % most, "(1 more have no mark)"])


if __name__ == "__main__":
    unittest.main()
