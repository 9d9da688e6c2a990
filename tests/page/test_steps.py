# SPDX-License-Identifier: Apache-2.0
"""The page: the steps of a session as they go, and what a person does about them: streamed text, pause and stop, what became of a call
that nobody saw the end of, sessions that work for it, its events as they stand in the log."""

import datetime
import json
import zoneinfo

import house_page
import house
import test_kill
from house_page import say, shell

TEAM = """tools:
  - {name: research, agent: researcher, description: Looks something up.}
agents:
  researcher:
    instructions: You look things up.
    tools: [shell]
"""


def rule(first, turn, *parts):
    return {"if": [{"first_user": first}, {"turns": {"min": turn, "max": turn}}], "parts": list(parts)}


class Steps(house_page.Paged, test_kill.Killing):
    def test_text_comes_as_it_is_said(self):
        words = "It comes word by word, " * 12
        self.serve({"parts": say(words + "and ends."), "faults": [{"drip": {"bytes": 40, "ms": 40}}]})
        self.violations = False  # the answer is given up
        self.begin()
        name = self.good_call("POST", "/api/sessions", {}, status=201)["session_id"]
        tab = self.open("#/s/" + name)
        tab.fill(".composer textarea", "Tell.")
        tab.key("Enter")
        tab.wait_text("It comes word by word, It comes", ".entry.turn .said.live")
        self.assertEqual([e["kind"] for e in self.log(name)][-1], "model_requested")  # none of it is in the log yet
        # Pause gives the request up; Resume asks once more.
        tab.click(".controls button", "Pause")
        tab.wait_text("Paused", ".session-head .badge")
        self.assertEqual([e["data"]["to"] for e in self.log(name) if e["kind"] == "state_changed"], ["paused"])
        tab.click(".controls button", "Resume")
        tab.wait_text("and ends.", ".entry.turn .said")
        self.wait_event(name, "final")
        tab.wait("document.querySelectorAll('.said.live').length === 0")
        # Times are those of the viewer's zone, which this browser has in Berlin.
        made = self.log(name)[1]
        there = datetime.datetime.fromtimestamp(made["ts_ms"] / 1000, zoneinfo.ZoneInfo("Europe/Berlin"))
        shown = tab.js("(() => { const t = document.querySelector('.entry.message time'); return [t.dateTime, t.textContent]; })()")
        self.assertEqual(shown[0], datetime.datetime.fromtimestamp(made["ts_ms"] / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        self.assertIn(there.strftime(":%M:%S"), shown[1])
        self.assertIn(int(shown[1].split(":")[0]), (there.hour, there.hour % 12 or 12))

    def test_stopped(self):
        self.agent("w", "tools: [shell]\n")
        self.serve([shell("echo begun; until [ -e go ]; do sleep 0.1; done; echo over")], say("Never said."))
        self.begin()
        name = self.begin_session("Wait.", agent="w", id="stop-1")
        tab = self.open("#/s/" + name)
        tab.wait_text("Runs", ".entry.call .chip")
        tab.click(".controls button", "Stop")
        tab.click("dialog button", "Stop now")
        tab.wait_text("Stopped", ".session-head .badge")
        self.wait_event(name, "outcome")  # the command was ended
        log = self.log(name)
        self.assertEqual([e["data"]["to"] for e in log if e["kind"] == "state_changed"][-1], "stopped")
        self.assertEqual(sum(e["kind"] == "outcome" for e in log), 1)

    def test_an_unknown_outcome_is_settled(self):
        self.agent("careful", "tools: [shell]\nunknown: park\n")
        self.serve([shell("echo begun; until [ -e go ]; do sleep 0.1; done; echo over")],
                   {"expect": [{"tool_output": {"contains": "I saw the line"}}], "parts": say("Good.")})
        self.begin()
        name = self.begin_session("Do it.", agent="careful", id="park-1")
        tab = self.open("#/s/" + name)
        self.wait_for(lambda: self.begun(name))
        self.kill_executor(name)
        tab.wait_text("It may or may not have happened. It was not done again.", ".entry.call")
        tab.wait_text("What became of this?", ".pending .decide-card")
        self.shot(tab, "unknown")
        tab.fill(".pending .word", "I saw the line")
        tab.click(".pending button", "It was done")
        tab.wait_text("Good.", ".entry.turn .said")
        settled = [e["data"] for e in self.log(name) if e["kind"] == "settled"]
        self.assertEqual([(s["status"], s["by"], s["message"]) for s in settled], [("done", "alice", "I saw the line")])
        tab.wait_text("Settled as done by alice", ".entry.call")

    def test_a_tree_of_sessions_and_an_event_as_it_stands(self):
        self.agent("lead", TEAM)
        self.standin = house.Standin(self.folder, {"rules": [
            rule("how many?", 0, {"function_call": {"name": "research", "arguments": {"input": "look it up"}}}), rule("how many?", 1, *say("Seven.")),
            rule("look it up", 0, shell("echo seven")), rule("look it up", 1, *say("Seven, it says."))]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.begin()
        name = self.begin_session("how many?", agent="lead", id="tree-1")
        self.wait_event(name, "final")
        child = [e["data"]["child"] for e in self.log(name) if e["kind"] == "delegation_started"][0]
        tab = self.open("#/s/" + name)
        tab.wait_text("researcher works on this", ".entry.call .child")
        tab.click(".entry.call .child button", "Show its steps")
        tab.wait_text("Seven, it says.", ".entry.call .child .steps .entry.turn .said")
        self.assertIn("echo seven", tab.text(".child .steps .entry.call .command"))
        self.assertEqual(tab.js("[...document.querySelectorAll('.child .steps > .entry')].map((e) => Number(e.dataset.seq))"),
                         [e["seq"] for e in self.log(child) if e["kind"] in ("session_created", "message", "model_requested", "call", "final")])
        self.shot(tab, "tree")
        # The events of an entry as they stand in the log, by keyboard.
        tab.js("[...document.querySelectorAll('.timeline .virtual > .entry.call > header [aria-label=\"Event as JSON\"]')].at(-1).focus()")
        tab.key("Enter")
        tab.wait("document.querySelector('dialog .whole')")
        shown = [json.loads(t) for t in tab.text("dialog .whole").split("\n\n")]
        log = self.log(name)
        call = next(e for e in log if e["kind"] == "call")
        self.assertEqual(shown, [log[e["seq"] - 1] for e in shown])
        self.assertIn(call["seq"], [e["seq"] for e in shown])
        tab.key("Escape")
        tab.click(".entry.call .child a", "researcher")
        tab.wait("location.hash === %s" % json.dumps("#/s/" + child))

    def test_compared_with_any_other(self):
        self.serve(say("The same."))
        self.begin()
        for name in ("c1", "c2"):
            self.wait_event(self.begin_session("Say it.", id=name), "final")
        tab = self.open("#/s/c1")
        tab.wait_text("Finished", ".session-head .badge")
        tab.click("[aria-label='More']")
        tab.wait("[...document.querySelector('#compare-with')?.options ?? []].some((o) => o.value === 'c2')")
        tab.js("document.querySelector('#compare-with').value = 'c2'")
        tab.click("dialog button", "Compare")
        tab.wait_text("They are the same, in all of their 3 steps", ".compare .meta")


if __name__ == "__main__":
    house_page.main()
