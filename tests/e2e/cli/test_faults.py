# SPDX-License-Identifier: Apache-2.0
"""Faults over HTTP, on every wire: what the model asked for is done exactly once, and no budget is passed.

Each turn appends its number to a file and has a fault of its own on the first try. Fewer cuts but with TH_TORTURE=1.
"""

import os
import random

import house

CUTS = 50 if os.environ.get("TH_TORTURE") else 12
FAULTS = [
    {"status": 429, "retry_after": 0}, {"status": 500, "retry_after": 0}, {"status": 503, "retry_after": 0},
    {"status": 529, "retry_after": 0, "times": 3}, {"stall": {"after": 120, "seconds": 8}}, {"drip": {"bytes": 9, "ms": 1}},
    {"split": {"seed": 3, "max": 20, "ms": 1, "level": "tcp"}}, {"duplicate": True}, {"garbage": True},
    {"comments": "endless"}, {"comments": 50}, {"no_finish": True}, {"truncate_event": True}, {"empty": True},
    {"error_event": {"after": 1, "status": 529}}, {"huge": 200000}, {"crlf": True}, {"bom": True}, {"framing": "close"},
    {"close": True},
]


class Wire:
    """The tests; each wire is a class below."""

    script = {}

    def serve_wire(self, turns, **more):
        self.serve(*turns, **dict(self.script, **more))
        self.env[self.variable] = self.standin.url[:-len("/v1")] + self.root
        self.env[self.key] = house.KEY
        self.violations = False  # an endless stream is left; the stand-in calls that the client's doing

    def agent(self, limits, name="agent.yaml"):
        path = self.folder / name
        path.write_text("name: tester\nmodel: %s\nworkspace: %s\ntools: [shell]\n"
                        "settings: {idle_seconds: 1, total_seconds: 30}\nlimits: {%s}\n" % (self.model, self.work, limits))
        return path

    def turn(self, number, fault, **more):
        parts = [{"text": "Step %d." % number},
                 {"function_call": {"name": "shell", "arguments": {"command": "echo %d >> made.txt" % number}}}]
        return dict({"parts": parts, "faults": [fault]}, **more)

    def lines(self):
        made = self.work / "made.txt"
        return made.read_text().split() if made.exists() else []

    def check_done_once(self, name, count):
        events = self.events(name)
        self.assertEqual(self.lines(), [str(n) for n in range(count)])
        intents = [e["data"]["effect_id"] for e in events if e["kind"] == "intent"]
        self.assertEqual(len(intents), count)
        self.assertEqual(len(set(intents)), count)
        self.assertEqual([e["data"]["status"] for e in events if e["kind"] == "outcome"], ["done"] * count)
        self.assertEqual([e for e in events if e["kind"] == "model_failed" and not e["data"].get("retry")], [])
        asked = [r for r in self.standin.requests() if r.get("violations")]
        self.assertEqual(asked, [], "the stand-in objects")
        return events

    def test_cuts(self):
        draw = random.Random(self.model)
        turns = [self.turn(n, {draw.choice(["cut", "reset"]): draw.randrange(0, 1200)}) for n in range(CUTS)]
        self.serve_wire(turns + [[{"text": "All done."}]])
        self.good("run", "-a", self.agent("turns: 100, model_attempts: 8"), "-s", "cuts", "go", timeout=300)
        self.check_done_once("cuts", CUTS)

    def test_each_fault(self):
        self.serve_wire([self.turn(n, f) for n, f in enumerate(FAULTS)] + [[{"text": "All done."}]])
        self.good("run", "-a", self.agent("turns: 100, model_attempts: 8"), "-s", "each", "go", timeout=300)
        self.check_done_once("each", len(FAULTS))

    def test_a_storm_ends(self):
        self.serve_wire([self.turn(0, {"status": 529, "retry_after": 0, "times": -1})])
        self.good("run", "-a", self.agent("model_attempts: 4"), "-s", "storm", "go", code=1)
        self.assertEqual(len(self.standin.requests()), 4)
        self.assertEqual(self.lines(), [])
        self.assertEqual([e["data"].get("retry", False) for e in self.events("storm") if e["kind"] == "model_failed"],
                         [True, True, True, False])

    def test_the_budget_holds(self):
        usage = {"input": 3000, "output": 100}
        turns = [self.turn(n, {"no_finish": True}, usage=usage) for n in range(30)]
        self.serve_wire(turns)
        self.good("run", "-a", self.agent("tokens: 20000, model_attempts: 4"), "-s", "budget", "go", code=4, timeout=120)
        spent = 0
        for e in self.events("budget"):
            usage = e["data"].get("usage") if e["kind"] in ("model_answered", "model_failed") else None
            spent += usage["input"] + usage["output"] if usage else 0
        self.assertLessEqual(spent, 20000)
        self.assertEqual(self.lines(), [str(n) for n in range(len(self.lines()))])
        self.assertGreater(len(self.lines()), 0)


class Responses(Wire, house.House):
    model, variable, key, root = "gpt-5.4", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1"


class Chat(Wire, house.House):
    model, variable, key, root = "vllm/org/open-model", "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY", "/v1"
    script = {"flavour": "vllm", "api": "chat"}


class Messages(Wire, house.House):
    model, variable, key, root = "claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ""


class Gemini(Wire, house.House):
    model, variable, key, root = "gemini-2.5-flash", "GEMINI_BASE_URL", "GEMINI_API_KEY", "/v1beta"


if __name__ == "__main__":
    house.main()
