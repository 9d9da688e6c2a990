# SPDX-License-Identifier: Apache-2.0
"""The page: the terminal of a session's shell, live; a person types there, and gives it back."""

import house_page
from house_page import say


def bash(command):
    return {"function_call": {"name": "bash", "arguments": {"command": command}}}


class Terminal(house_page.Paged):
    def test_seen_typed_and_given_back(self):
        self.agent("sh", "tools: [bash]\n")
        self.serve([bash("X=kept; echo '<b>bold</b> words'; until [ -e go ]; do sleep 0.05; done")], [bash("echo then $Y")], say("Seen."))
        self.begin()
        name = self.begin_session("Look.", agent="sh", id="term-1")
        tab = self.open("#/s/" + name)
        tab.wait_text("<b>bold</b> words", ".terminal")
        self.assertEqual(tab.js("document.querySelectorAll('.terminal *').length"), 0)
        self.assertTrue(tab.js("document.querySelector('.terminal-line').hidden"))
        tab.click(".live-terminal button", "Take over")
        tab.wait_text("when the call under way is over", ".live-terminal .live-status")
        (self.work / name / "go").write_text("")
        tab.wait_text("You have the terminal", ".live-terminal .live-status")
        tab.fill(".terminal-line input", "echo mine $X; read Y; echo got $Y")
        tab.click(".terminal-line button", "Enter")
        tab.wait_text("mine kept", ".terminal")
        tab.fill(".terminal-line input", "Łovelace ✓")
        tab.click(".terminal-line button", "Enter")
        # What is typed while a command runs is that command's: each is waited for.
        tab.wait_text("got Łovelace ✓", ".terminal")
        tab.fill(".terminal-line input", "echo now $((6 * 7)); cat; echo over")
        tab.click(".terminal-line button", "Enter")
        tab.wait_text("now 42", ".terminal")
        tab.click(".terminal-line button", "Ctrl D")
        tab.wait_text("over", ".terminal")
        self.shot(tab, "terminal")
        tab.click(".live-terminal button", "Give back")
        tab.fill("#give-note", "I typed.")
        tab.click("dialog button", "Give back")
        self.wait_event(name, "final")
        log = self.log(name)
        self.assertEqual([e["data"]["arguments"]["command"] for e in log if e["kind"] == "input"],
                         ["echo mine $X; read Y; echo got $Y", "Łovelace ✓", "echo now $((6 * 7)); cat; echo over", "C-d"])
        self.assertIn("then Łovelace ✓", [e["data"]["output"] for e in log if e["kind"] == "outcome"][-1])


if __name__ == "__main__":
    house_page.main()
