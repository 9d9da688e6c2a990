# SPDX-License-Identifier: Apache-2.0
"""A tool that is several agents: three at work when the runtime is killed, a hundred at once, and an earlier task that goes on."""

import json

import house
import test_kill

AGENT = """name: boss
model: gpt-5.4
instructions: You give tasks to others.
limits: {parallel_agents: %d, tokens: 10000000}
tools:
  - {name: task, agents: [quick, slow, careful], description: Gives a task to an agent., turns: 5, budget: shared}
agents:
  quick: {instructions: You answer., tools: [none]}
  slow: {instructions: You run it., tools: [shell]}
  careful: {instructions: You run it when you may., tools: [shell], approve: [shell]}
"""


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


def to(agent, prompt, **more):
    return call("task", prompt=prompt, subagent_type=agent, **more)


class Tasks(test_kill.Killing):
    def rules(self, *rules):
        if self.standin:
            self.standin.end()
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def agent(self, parallel=10):
        path = self.folder / "boss.yaml"
        path.write_text(AGENT % parallel)
        return str(path)

    def of(self, name, kind):
        return [e["data"] for e in self.events(name) if e["kind"] == kind]

    def children(self, name):
        return list(dict.fromkeys(d["child"] for d in self.of(name, "delegation_started")))

    def check_usage(self, name):
        """What its own answers and those of all that worked for it took, each once."""
        took = [d["usage"]["input"] + d["usage"]["output"] for s in [name, *self.children(name)] for d in self.of(s, "model_answered")]
        row = next(r for r in map(json.loads, self.good("sessions", "--json").out.splitlines()) if r["session"] == name)
        self.assertEqual(row["tokens_in"] + row["tokens_out"], sum(took))
        return len(took)

    def test_killed_among_three(self):
        """One was over, one at work, one waited for a person; the one at work ends while no runtime is there."""
        own = {"if": [{"first_user": "all three"}, {"turns": {"max": 0}}],
               "parts": [to("quick", "answer"), to("slow", "run it"), to("careful", "ask first")]}
        self.rules(own, {"if": {"first_user": "all three"}, "parts": [{"text": "All of it."}]},
                   {"if": {"first_user": "answer"}, "parts": [{"text": "Answered."}]},
                   {"if": [{"first_user": "run it"}, {"turns": {"max": 0}}], "parts": [test_kill.shell()]},
                   {"if": [{"first_user": "ask first"}, {"turns": {"max": 0}}], "parts": [call("shell", command="echo asked >> file2")]},
                   {"parts": [{"text": "It ended."}]})
        process = self.start("run", "-a", self.agent(), "-s", "n", "all three")
        self.wait_for(lambda: self.begun("n"))
        self.wait_for(lambda: self.kinds("n").count("delegation_finished") == 1)
        quick, slow, careful = self.children("n")
        self.wait_for(lambda: "approval_requested" in self.kinds(careful))
        self.kill(process)
        (self.work / "go").touch()
        self.wait_for((self.work / "file").exists)
        ended = self.good("resume", "n", code=3)
        self.assertIn("approve n", ended.out)
        self.assertFalse((self.work / "file2").exists())
        self.good("approve", "n")
        self.assertIn("All of it.", self.good("resume", "n").out)
        self.assertEqual((self.work / "file").read_text(), "done\n")
        self.assertEqual((self.work / "file2").read_text(), "asked\n")
        for kind in ("delegation_started", "delegation_finished", "outcome"):
            self.assertEqual(self.kinds("n").count(kind), 3, kind)
        self.assertEqual([self.kinds(s).count("model_answered") for s in (quick, slow, careful)], [1, 2, 2])
        self.assertEqual([o["status"] for o in self.of("n", "outcome")], ["done"] * 3)
        self.assertEqual(self.check_usage("n"), 7)

    def test_a_hundred(self):
        self.rules({"if": [{"first_user": "everybody"}, {"turns": {"max": 0}}], "parts": [to("quick", "answer") for _ in range(101)]},
                   {"if": {"first_user": "everybody"}, "parts": [{"text": "All."}]}, {"parts": [{"text": "Answered."}]})
        self.assertIn("All.", self.good("run", "-a", self.agent(100), "-s", "n", "everybody").out)
        self.assertEqual(len(self.of("n", "delegation_finished")), 101)
        self.assertEqual({o["status"] for o in self.of("n", "outcome")}, {"done"})
        self.assertEqual(len(self.standin.requests()), 103)
        # At most a hundred at a time: the last begins when one of them is over.
        kinds = [k for k in self.kinds("n") if k.startswith("delegation")]
        self.assertEqual(kinds[:101].count("delegation_started"), 100)

    def test_an_earlier_task_goes_on(self):
        self.rules({"if": [{"first_user": "ask"}, {"turns": {"max": 0}}], "parts": [to("quick", "answer")]},
                   {"if": {"first_user": "ask"}, "parts": [{"text": "So."}]}, {"parts": [{"text": "The first."}]})
        self.good("run", "-a", self.agent(), "-s", "n", "ask")
        task = self.last_outcome("n")["output"].split("[")[1].split(" ")[0]
        child = self.children("n")[0]
        self.rules({"if": [{"first_user": "ask"}, {"tail": "once more"}], "parts": [to("quick", "and then?", resume=task)]},
                   {"if": {"first_user": "ask"}, "parts": [{"text": "So again."}]},
                   {"if": {"tail": "and then"}, "parts": [{"text": "The second."}]})
        self.assertIn("So again.", self.good("run", "-s", "n", "once more").out)
        self.assertEqual(self.children("n"), [child])
        self.assertIn("The second.", self.last_outcome("n")["output"])
        self.assertEqual([m["content"] for m in self.of(child, "message")], ["answer", "and then?"])
        self.assertEqual([d["turns"] for d in self.of("n", "delegation_finished")], [1, 1])
        self.assertEqual(self.check_usage("n"), 6)
        self.good("export", "n")  # each of them once


if __name__ == "__main__":
    house.main()
