# SPDX-License-Identifier: Apache-2.0
"""Tasks in the background: the run goes on and is told, a person is asked for one of them, and the runtime is killed among them."""

import json

import house
import test_kill
import test_tasks

AGENT = """name: boss
model: gpt-5.4
instructions: You give tasks to others.
tools:
  - {name: task, agents: [quick, slow, careful], description: Gives a task to an agent., turns: 5, background: true}
agents:
  quick: {instructions: You answer., tools: [none]}
  slow: {instructions: You run it., tools: [shell]}
  careful: {instructions: You run it when you may., tools: [shell], approve: [shell]}
"""


def to(agent, prompt):
    return test_tasks.to(agent, prompt, background=True)


class Background(test_kill.Killing):
    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def agent(self):
        path = self.folder / "boss.yaml"
        path.write_text(AGENT)
        return str(path)

    def of(self, name, kind):
        return [e["data"] for e in self.events(name) if e["kind"] == kind]

    def told(self):
        return [m["content"] for m in self.of("n", "message")[1:]]

    def test_the_run_is_told(self):
        self.rules({"if": [{"first_user": "begin"}, {"turns": {"max": 0}}], "parts": [to("quick", "answer")],
                    "expect": [{"tool": "task"}, {"tool": "background"}]},
                   {"if": [{"first_user": "begin"}, {"body": {"contains": "Answered."}}], "parts": [{"text": "All of it."}]},
                   {"if": {"first_user": "begin"}, "parts": [{"text": "I wait."}]}, {"parts": [{"text": "Answered."}]})
        self.assertIn("All of it.", self.good("run", "-a", self.agent(), "-s", "n", "begin").out)
        self.assertEqual([d.get("background") for d in self.of("n", "delegation_started")], [True])
        self.assertEqual(len(self.told()), 1)
        self.assertIn('agent="quick" state="completed"', self.told()[0])
        self.assertEqual(self.kinds("n")[-1], "final")

    def test_killed_among_them(self):
        """One was over, one at work, one waited for a person; the one at work ends while no runtime is there."""
        self.rules({"if": [{"first_user": "begin"}, {"turns": {"max": 0}}], "parts": [to("quick", "answer"), to("slow", "run it"), to("careful", "ask first")]},
                   {"if": [{"first_user": "begin"}, {"body": {"contains": "It ended."}}], "parts": [{"text": "All of it."}]},
                   {"if": {"first_user": "begin"}, "parts": [{"text": "I wait."}]},
                   {"if": {"first_user": "answer"}, "parts": [{"text": "Answered."}]},
                   {"if": [{"first_user": "run it"}, {"turns": {"max": 0}}], "parts": [test_kill.shell()]},
                   {"if": [{"first_user": "ask first"}, {"turns": {"max": 0}}], "parts": [test_tasks.call("shell", command="echo asked >> file2")]},
                   {"parts": [{"text": "It ended."}]})
        process = self.start("run", "-a", self.agent(), "-s", "n", "begin")
        self.wait_for(lambda: self.begun("n"))
        self.wait_for(lambda: self.kinds("n").count("delegation_finished") == 1)
        children = [d["child"] for d in self.of("n", "delegation_started")]
        self.wait_for(lambda: "approval_requested" in self.kinds(children[2]))
        self.wait_for(lambda: "intent" in self.kinds(children[1]))
        self.kill(process)
        (self.work / "go").touch()
        self.wait_for((self.work / "file").exists)
        self.assertIn("approve n", self.good("resume", "n", code=3).out)
        self.assertFalse((self.work / "file2").exists())
        self.good("approve", "n")
        self.assertIn("All of it.", self.good("resume", "n").out)
        self.assertEqual((self.work / "file").read_text(), "done\n")
        self.assertEqual((self.work / "file2").read_text(), "asked\n")
        for kind in ("delegation_started", "delegation_finished", "outcome"):
            self.assertEqual(self.kinds("n").count(kind), 3, kind)
        self.assertEqual(len(self.told()), 3)
        self.assertEqual([self.kinds(s).count("model_answered") for s in children], [1, 2, 2])
        took = [d["usage"]["input"] + d["usage"]["output"] for s in ["n", *children] for d in self.of(s, "model_answered")]
        row = next(r for r in map(json.loads, self.good("sessions", "--json").out.splitlines()) if r["session"] == "n")
        self.assertEqual(row["tokens_in"] + row["tokens_out"], sum(took))

    def test_files(self):
        bad = self.folder / "bad.yaml"
        bad.write_text(AGENT.replace("agents: [quick, slow, careful]", "agent: quick"))
        self.bad(2, "is for tools that are several agents", "run", "-a", bad, "x")
        bad.write_text(AGENT.replace("tools:\n", "tools:\n  - {name: background, command: [echo]}\n", 1))
        self.bad(2, "needs the name background", "run", "-a", bad, "x")


if __name__ == "__main__":
    house.main()
