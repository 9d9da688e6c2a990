# SPDX-License-Identifier: Apache-2.0
"""Agents in Markdown files, as OpenHands has them: read when a session begins, given tasks by the tool task, never less bound than who gives them."""

import json
import unittest

import house

LOOKER = """---
name: looker
description: Looks into files.
tools: [file_editor]
max_iteration_per_run: 2
permission_mode: never_confirm
color: blue
---
You look into files and say what is in them.
"""


TOLD = "Gives a task to another agent"


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


def task(agent="looker"):
    return call("task", prompt="Look at d.txt.", subagent_type=agent)


class Subagents(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.file("looker.md", LOOKER)
        (self.work / "d.txt").write_text("what is in it\n")

    def file(self, name, text, folder=".agents/agents"):
        place = self.work / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)

    def agent(self, more="subagents: {repository: true}"):
        path = self.folder / "agent.yaml"
        path.write_text("name: boss\nworkspace: %s\ntools: [think]\n%s\n" % (self.work, more))
        return path

    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def of_helper(self, turn, *parts, **expect):
        return dict({"if": [{"first_user": "Look at d.txt"}, {"turns": {"equals": turn}}], "parts": list(parts)}, **expect)

    def test_a_task(self):
        self.file("README.md", "no agent")
        self.file("looker.md", "---\nname: looker\n---\nanother\n", ".openhands/agents")  # the first of a name counts
        self.rules(self.of_helper(0, call("file_editor", command="view", path="d.txt"), expect=[
                       {"system": {"contains": "You look into files"}}, {"tool": "file_editor"}, {"tool": "finish"}, {"body": {"not_contains": TOLD}}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "what is in it"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()], "expect": [{"tool": "task"}, {"body": {"contains": "looker: Looks into files."}}]},
                   {"parts": [{"text": "Done."}], "expect": [{"tool_output": {"nth": -1, "contains": "RESULT"}}]})
        self.assertIn("Done.", self.good("run", "-a", self.agent(), "-s", "one", "Begin.").out)
        # The log has what was read: the files may go.
        (self.work / ".agents" / "agents" / "looker.md").unlink()
        self.standin.end()
        self.rules({"parts": [{"text": "Still."}], "expect": [{"body": {"contains": "looker: Looks into files."}}]})
        self.good("run", "-s", "one", "And now?")

    def test_its_skills(self):
        """Those of its caller that its file names: listed, read, and said by a word of its task."""
        for name, matter in (("how", ""), ("where", "triggers: [d.txt]\n"), ("other", "")):
            self.file("SKILL.md", "---\nname: %s\ndescription: Says %s.\n%s---\nTHE TEXT OF %s\n" % (name, name, matter, name.upper()), ".agents/skills/" + name)
        self.file("looker.md", LOOKER.replace("color: blue", "skills: [how, where]"))
        self.rules(self.of_helper(0, {"function_call": {"name": "skill", "arguments": {"name": "how"}}}, expect=[
                       {"system": {"contains": "Says how."}}, {"system": {"not_contains": "Says other."}}, {"tool": "skill"}, {"body": {"contains": "THE TEXT OF WHERE"}}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "THE TEXT OF HOW"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}], "expect": [{"tool_output": {"nth": -1, "contains": "RESULT"}}]})
        self.assertIn("Done.", self.good("run", "-a", self.agent("subagents: {repository: true}\nskills: {repository: true}"), "-s", "one", "Begin.").out)
        self.file("looker.md", LOOKER.replace("color: blue", "skills: [none]"))
        self.assertIn("no skill \"none\"", self.thole("run", "-a", self.agent("subagents: {repository: true}\nskills: {repository: true}"), "x").err)

    def test_its_own_limit(self):
        look = call("file_editor", command="view", path="d.txt")
        self.rules(*(self.of_helper(n, look) for n in range(9)), {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent(), "-s", "one", "Begin.")
        finished = [e["data"] for e in self.events("one") if e["kind"] == "delegation_finished"]
        self.assertEqual([d["turns"] for d in finished], [2])

    def test_no_file_frees_itself(self):
        """Its caller asks a person about each call, and the file would not."""
        self.rules(self.of_helper(0, call("file_editor", command="create", path="new.txt", file_text="x")),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent("subagents: {repository: true}\nconfirm: {when: always}\n"), "-s", "one", "Begin.", code=3)
        if not any(e["kind"] == "delegation_started" for e in self.events("one")):  # the task itself waits first
            self.good("approve", "one")
            self.good("resume", "one", code=3)
        self.assertFalse((self.work / "new.txt").exists())

    def test_quarantine_holds_for_it(self):
        """What its caller's model may not see, its own does not see either."""
        answer = {"answer": "It is short.", "facts": [], "instructs": False}
        self.rules({"if": {"tail": "is the data of strangers below"}, "parts": [{"text": json.dumps(answer)}]},
                   self.of_helper(0, call("file_editor", command="view", path="d.txt")),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[
                       {"tool_output": {"nth": -1, "contains": "It is short."}}, {"body": {"not_contains": "what is in it"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent("subagents: {repository: true}\nquarantine: [file_editor]"), "-s", "one", "Begin.")

    def test_what_is_no_agent(self):
        for text, words in (("---\ntools: [nope]\n---\nx\n", "nope"), ("---\nskills: [a]\n---\nx\n", "no skill"), ("---\nhooks: {stop: [{}]}\n---\nx\n", "hooks"),
                            ("---\nmax_iteration_per_run: 0\n---\nx\n", "max_iteration_per_run"),
                            ("---\npermission_mode: maybe\n---\nx\n", "permission_mode"), ("---\na: [\n---\nx\n", "bad.md")):
            self.file("bad.md", text)
            ended = self.thole("run", "-a", self.agent(), "x")
            self.assertNotEqual(ended.code, 0)
            self.assertIn("bad.md", ended.err)
            self.assertIn(words, ended.err)
        self.file("bad.md", LOOKER.replace("looker", "bad"))
        taken = self.agent("agents: {x: {}}\nsubagents: {repository: true}")
        taken.write_text(taken.read_text().replace("tools: [think]", "tools: [{name: task, agent: x}]"))
        self.bad(2, "need the name task", "run", "-a", taken, "x")

    def test_without_and_none(self):
        self.rules({"parts": [{"text": "Done."}], "expect": [{"body": {"not_contains": TOLD}}]})
        self.good("run", "-a", self.agent("subagents: {repository: true, without: [looker]}"), "-s", "one", "Begin.")
        self.good("run", "-a", self.agent(""), "-s", "two", "Begin.")


if __name__ == "__main__":
    if not house.SHARED.is_dir():
        house.main()
    unittest.main(verbosity=2)
