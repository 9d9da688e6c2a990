# SPDX-License-Identifier: Apache-2.0
"""Agents as tools: a session that works on a call, killed in the middle, asked about through its parent, at its limit."""

import json
import os

import house
import test_kill

AGENT = """name: lead
model: gpt-5.4
instructions: You answer with what your researcher finds.
tools:
  - {name: research, agent: researcher, description: Looks something up., turns: %s}
agents:
  researcher:
    instructions: You look things up.
    tools:
      - shell
      - {name: double, script: double, parameters: {type: object, properties: {n: {type: number}}, required: [n]}}
    approve: [%s]
script: |
  function double(args)
    return string.format("%%d", 2 * args.n)
  end
"""


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


def child_says(*parts, turn=0):
    return {"if": [{"first_user": "look it up"}, {"turns": {"min": turn, "max": turn}}], "parts": list(parts)}


def lead_says(*parts, turn=0):
    return {"if": [{"first_user": "how many?"}, {"turns": {"min": turn, "max": turn}}], "parts": list(parts)}


RESEARCH = lead_says(call("research", input="look it up"))


class Delegate(test_kill.Killing):
    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def lead(self, turns=5, approve=""):
        path = self.folder / "lead.yaml"
        path.write_text(AGENT % (turns, approve))
        return str(path)

    def of(self, name, kind):
        return [e["data"] for e in self.events(name) if e["kind"] == kind]

    def child(self, name):
        return self.of(name, "delegation_started")[-1]["child"]

    def test_it_answers(self):
        self.rules(RESEARCH, child_says(call("double", n=21)), child_says({"text": "It is 42."}, turn=1),
                   lead_says({"text": "42 of them."}, turn=1))
        ended = self.good("run", "-a", self.lead(), "-s", "n", "how many?")
        self.assertIn("42 of them.", ended.out)
        child = self.child("n")
        self.assertEqual(self.last_outcome("n")["output"], "It is 42.")
        self.assertEqual([o["output"] for o in self.of(child, "outcome")], ["42"])
        # What the child was told, and nothing else; what it took is the parent's too.
        self.assertEqual([m["content"] for m in self.of(child, "message")], ["look it up"])
        finished = self.of("n", "delegation_finished")[0]
        self.assertEqual((finished["child"], finished["state"], finished["turns"]), (child, "finished", 2))
        self.assertGreater(finished["usage"]["input"], 0)
        # Lists, logs and traces show both.
        self.assertIn(child, self.good("sessions").out)
        self.assertIn('"delegated_by"', self.good("sessions", "--json").out)
        self.assertIn(child + ": agent researcher", self.good("log", "n").out)
        trace = self.good("log", "n", "--trace").out
        self.assertRegex(trace, r"(?m)^      tool research .* by " + child)
        self.assertRegex(trace, r"(?m)^        task ")
        self.assertRegex(trace, r"(?m)^              tool double ")
        self.assertIn("researcher, gpt-5.4: 2 requests", trace)
        self.assertIn("the session: 4 requests", trace)
        # A collector is told of one trace, in which the call holds what was done for it.
        mine, its = (self.spans(name) for name in ("n", child))
        self.assertEqual({s["traceId"] for s in its}, {s["traceId"] for s in mine})
        held = next(s for s in mine if s["name"] == "tool research")
        self.assertEqual([s["name"] for s in its if s["parentSpanId"] == held["spanId"]], ["task"])
        self.assertFalse({s["spanId"] for s in its} & {s["spanId"] for s in mine})

    def spans(self, name):
        exported = json.loads(self.good("log", name, "--trace", "--json").out)
        return [s for r in exported["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]

    def test_killed_in_the_child(self):
        self.rules(RESEARCH, child_says(test_kill.shell()), child_says({"text": "It ended."}, turn=1),
                   lead_says({"text": "All done."}, turn=1))
        process = self.start("run", "-a", self.lead(), "-s", "k", "how many?")
        self.wait_for(lambda: self.begun("k"))
        self.kill(process)
        child = self.child("k")
        self.kill(self.resume_held("k", child))  # and once more, while it re-attaches
        (self.work / "go").touch()
        self.assertIn("All done.", self.good("resume", "k").out)
        self.assertEqual((self.work / "file").read_text(), "done\n")
        self.assertEqual(self.kinds("k").count("delegation_started"), 1)
        self.assertEqual(self.kinds("k").count("delegation_finished"), 1)
        self.assertEqual(self.kinds(child).count("intent"), 1)
        self.assertEqual(self.kinds(child).count("model_answered"), 2)
        self.assertEqual(self.last_outcome("k")["output"], "It ended.")
        self.assertEqual(self.last_outcome(child)["evidence"]["exit_code"], 0)

    def test_a_fork_of_a_child_works_for_nobody(self):
        self.ask("f")
        self.good("fork", self.child("f"), "mine")
        rows = {row["session"]: row for row in map(json.loads, self.good("sessions", "--json").out.splitlines())}
        self.assertIn("delegated_by", rows[self.child("f")]["metadata"])
        self.assertNotIn("delegated_by", rows["mine"].get("metadata", {}))
        self.good("approve", "mine")
        self.assertIn("So.", self.good("resume", "mine").out)

    def test_a_child_that_ended_meanwhile(self):
        """Its parent's runtime dies; somebody brings the child to its end by itself; the parent has its answer."""
        self.rules(RESEARCH, child_says(test_kill.shell()), child_says({"text": "It ended."}, turn=1),
                   lead_says({"text": "All done."}, turn=1))
        process = self.start("run", "-a", self.lead(), "-s", "m", "how many?")
        self.wait_for(lambda: self.begun("m"))
        self.kill(process)
        (self.work / "go").touch()
        child = self.child("m")
        self.assertIn("It ended.", self.good("resume", child).out)
        self.assertIn("All done.", self.good("resume", "m").out)
        self.assertEqual(self.kinds(child).count("model_answered"), 2)
        self.assertEqual(self.last_outcome("m")["output"], "It ended.")

    def ask(self, name, *more):
        self.rules(RESEARCH, child_says(call("shell", command="echo yes >> said")), child_says({"text": "So."}, turn=1),
                   lead_says({"text": "Over."}, turn=1), *more)
        ended = self.thole("run", "-a", self.lead(approve="shell"), "-s", name, "how many?")
        self.assertEqual(ended.code, 3, ended)
        self.assertRegex(ended.out, "approve:  %s approve %s call_" % (house.THOLE, name))
        self.assertEqual(self.events(name)[-1]["kind"], "delegation_waits")
        self.assertFalse((self.work / "said").exists())

    def test_approved_through_the_parent(self):
        self.ask("a")
        self.good("resume", "a", code=3)  # nobody said anything yet
        self.assertIn("waits: shell", self.good("log", "a").out)
        self.bad(1, ["call_nope"], "approve", "a", "call_nope")
        waits = self.of("a", "delegation_waits")[-1]["waits"][0]
        approved = self.good("approve", "a", waits["call_id"])
        self.assertIn("approved: shell:", approved.out)
        self.assertIn("to go on: %s resume a\n" % house.THOLE, approved.out)
        self.bad(1, ["nothing in it waits"], "approve", "a")
        self.assertIn("Over.", self.good("resume", "a").out)
        self.assertEqual((self.work / "said").read_text(), "yes\n")
        self.assertEqual(self.of(self.child("a"), "approval_decided")[0]["approve"], True)

    def test_rejected_through_the_parent(self):
        self.ask("r")
        self.good("reject", "r", "-m", "not today")
        self.assertIn("Over.", self.good("resume", "r").out)
        self.assertFalse((self.work / "said").exists())
        self.assertIn("not today", str(self.last_outcome(self.child("r"))))

    def test_two_calls_of_one_id(self):
        """Both children's calls have the id c9: which one is meant must be said."""
        asks = dict(call("shell", command="echo yes >> said"), id="c9")
        self.rules(lead_says(call("research", input="look it up"), call("research", input="look it up")),
                   child_says(asks), child_says({"text": "So."}, turn=1), lead_says({"text": "Over."}, turn=1))
        self.good("run", "-a", self.lead(approve="shell"), "-s", "t", "how many?", code=3)
        one, two = [e["child"] for e in self.of("t", "delegation_started")]
        self.bad(2, ['calls "c9" wait in sessions %s and %s; name that session' % (one, two)], "approve", "t", "c9")
        self.good("approve", two, "c9")
        self.assertNotIn("approval_decided", self.kinds(one))
        self.good("reject", "t", "c9")  # one is left
        self.assertIn("Over.", self.good("resume", "t").out)
        self.assertEqual((self.work / "said").read_text(), "yes\n")

    def test_cancelled_with_the_parent(self):
        self.ask("c")
        self.good("cancel", "c")
        self.assertEqual(self.of(self.child("c"), "state_changed")[-1]["to"], "stopped")
        self.bad(1, ["no call"], "approve", "c", "call_nope")
        self.assertIn("Over.", self.good("resume", "c").out)  # a stopped session that somebody lets go on
        self.assertIn("(stopped)", self.last_outcome("c")["output"])
        self.assertEqual(self.of(self.child("c"), "state_changed")[-1]["to"], "stopped")
        self.assertFalse((self.work / "said").exists())

    def test_the_limit_at_its_edge(self):
        self.rules(RESEARCH, child_says(call("double", n=1)), child_says({"text": "Two."}, turn=1),
                   lead_says({"text": "Well."}, turn=1))
        self.good("run", "-a", self.lead(turns=2), "-s", "two", "how many?")
        self.assertEqual(self.last_outcome("two")["status"], "done")
        self.good("run", "-a", self.lead(turns=1), "-s", "one", "how many?")
        self.assertEqual(self.last_outcome("one")["status"], "failed")
        self.assertIn("(limit)", self.last_outcome("one")["output"])

    def test_files_that_are_wrong(self):
        path = self.folder / "bad.yaml"
        for words, tool in ((["there is no agent named \"nobody\"", "lead, b"], "{name: t, agent: nobody}"),
                            (["has a computer"], "{name: t, agent: seeing}"),
                            (["tools[0].agent", "beside command"], "{name: t, agent: b, command: [ls]}"),
                            (["tools[0].agent", "class is for programs"], "{name: t, agent: b, class: read}"),
                            (["tools[0].turns", "above 0"], "{name: t, agent: b, turns: 0}"),
                            (["tools[0].turns", "tools that are agents"], "{name: t, command: [ls], turns: 3}")):
            path.write_text("name: lead\ntools:\n  - %s\nagents: {b: {tools: [none]}, seeing: {computer: {kind: desktop}}}\n" % tool)
            self.bad(2, words, "run", "-m", "gpt-5.4", "-a", path, "x")


if __name__ == "__main__":
    house.main()
