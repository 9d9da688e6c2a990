# SPDX-License-Identifier: Apache-2.0
"""The guide's agents (docs/AGENTS.md) and the example of a team, each run as the page says."""

import os
import pathlib
import re
import shlex

import house

ROOT = pathlib.Path(os.environ["SOURCE_DIR"])


def snippets():
    text = (ROOT / "docs" / "AGENTS.md").read_text(encoding="utf-8")
    return {re.search(r"^name: (\S+)", s, re.M)[1]: s for s in re.findall(r"```yaml\n(.*?)```", text, re.S)}


def commands(name):
    """The command lines below an agent of the page, up to the next one."""
    text = (ROOT / "docs" / "AGENTS.md").read_text(encoding="utf-8")
    below = text.split("name: %s\n" % name, 1)[1].split("```", 1)[1].split("```yaml", 1)[0]
    return [shlex.split(line, comments=True)[1:] for line in re.findall(r"^    (thole .*)$", below, re.M)]


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


class Agents(house.House):
    def agent(self, name, text=None):
        path = self.folder / (name + ".yaml")
        path.write_text(text or snippets()[name], encoding="utf-8")
        return str(path)

    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def finals(self, session):
        return [e["data"]["output"] for e in self.events(session) if e["kind"] == "final"]

    def page(self, name, *codes):
        """Runs the commands that the page has for an agent, word for word."""
        lines = commands(name)
        self.assertEqual(len(lines), len(codes), lines)
        for words, code in zip(lines, codes):
            ended = self.thole(*(self.agent(name) if w == name + ".yaml" else w for w in words))
            self.assertEqual(ended.code, code, (words, ended))
        return ended

    def test_every_agent_of_the_page_is_run(self):
        tests = pathlib.Path(__file__).read_text(encoding="utf-8")
        for name in snippets():
            self.assertRegex(tests, r'self\.(agent|page)\("%s"' % name)
            if commands(name):
                self.assertIn('self.page("%s"' % name, tests)
        text = (ROOT / "docs" / "AGENTS.md").read_text(encoding="utf-8")
        self.assertEqual(sum(len(commands(name)) for name in snippets()), len(re.findall(r"^    thole ", text, re.M)))

    def test_first(self):
        (self.work / "notes.txt").write_text("milk\n")
        self.serve([call("read_file", path="notes.txt")], [{"text": "Milk."}])
        self.assertIn("read_file", self.page("first", 0, 0).out)
        self.assertEqual(self.finals("mine"), ["Milk."])

    def test_careful(self):
        self.serve([call("shell", command="ls .")], [call("shell", command="rm -f empty")], [{"text": "Done."}])
        self.page("careful", 3, 0, 0)
        self.assertEqual(self.finals("tidy"), ["Done."])
        self.assertEqual(self.kinds("tidy").count("approval_requested"), 1)

    def test_bounded(self):
        self.rules({"if": {"turns": {"max": 3}}, "parts": [call("shell", command="true")]}, {"parts": [{"text": "Through."}]})
        self.page("bounded", 4, 0)
        self.assertEqual(self.finals("list"), ["Through."])

    def test_mover(self):
        self.serve([call("shell", command="mkdir old")], [{"text": "The plan."}], [{"text": "Another."}],
                   [call("shell", command="mkdir new")], [{"text": "Sorted."}])
        self.page("mover", 0, 0, 0)
        self.assertEqual(self.finals("move"), ["The plan.", "Another.", "Sorted."])
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["new"])

    def test_thorough(self):
        done = [{"text": '{"score": 1, "complete": true, "missing": []}'}]
        judge = {"tail": "Judge now whether the task is done"}
        self.rules({"if": {"tail": "notes.txt has three lines"}, "parts": done}, {"if": [judge, {"tail": "notes.txt has five lines"}], "parts": done},
                   {"parts": [{"text": "Written."}]})
        self.page("thorough", 0, 0)
        self.assertEqual([k for k in self.kinds("three") if k in ("goal", "verdict")], ["verdict", "goal", "verdict"])

    def test_boss(self):
        (self.work / "notes.txt").write_text("milk\n")
        self.rules({"if": [{"first_user": "read notes"}, {"turns": {"max": 0}}], "parts": [call("read_file", path="notes.txt")]},
                   {"if": {"first_user": "read notes"}, "parts": [{"text": "Milk."}]},
                   {"if": {"turns": {"max": 0}}, "parts": [call("task", prompt="read notes", subagent_type="scout")]},
                   {"parts": [{"text": "It says milk."}]})
        self.assertIn("tool task", self.page("boss", 0, 0).out)
        self.assertEqual(self.finals("job"), ["It says milk."])
        self.assertRegex(next(e["data"]["output"] for e in self.events("job") if e["kind"] == "outcome"),
                         r"^Milk.\n\n\[task_[0-9a-f]{8} is completed")

    def test_sums(self):
        self.serve([call("add", a=2, b=3)])
        self.good("run", "-a", self.agent("sums"), "-s", "sum", "two and three?")
        self.assertEqual(self.finals("sum"), ["5"])

    def test_typed(self):
        self.serve([{"text": "Paris"}], [{"text": "{\"capital\": \"Paris\", \"sure\": true}"}])
        self.good("run", "-a", self.agent("typed"), "-s", "typed", "France?")
        self.assertEqual(self.finals("typed"), ["{\"capital\": \"Paris\", \"sure\": true}"])
        self.assertIn("does not fit the schema", self.good("log", "typed").out)

    def test_guarded(self):
        self.rules({"if": [{"first_user": "talk"}], "parts": [{"text": "x" * 401}]},
                   {"if": [{"turns": {"min": 1}}], "parts": [{"text": "I may not delete."}]},
                   {"parts": [call("shell", command="rm -r /")]})
        file = self.agent("guarded")
        ended = self.thole("run", "-a", file, "-s", "g1", "my key is sk-1234")
        self.assertEqual(ended.code, 1)
        self.assertNotIn("model_requested", self.kinds("g1"))
        self.good("run", "-a", file, "-s", "g2", "clean up")
        self.assertNotIn("intent", self.kinds("g2"))
        self.assertEqual(self.finals("g2"), ["I may not delete."])
        ended = self.thole("run", "-a", file, "-s", "g3", "talk")
        self.assertEqual(ended.code, 1)
        self.assertIn("too long", ended.out + ended.err)

    def test_native(self):
        def at(path, value):
            return {"path": path, "equals": value}

        ask = {"raw": {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "wiki", "name": "search",
                       "arguments": "{\"q\":\"oars\"}"}}
        edit = {"raw": {"type": "mcp_approval_request", "id": "mcpr_2", "server_label": "wiki", "name": "edit", "arguments": "{}"}}
        exits = [{"stdout": "one\n", "stderr": "two\n", "outcome": {"type": "exit", "exit_code": 3}},
                 {"stdout": "three\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
        self.serve({"parts": [{"shell": {"commands": ["echo one; echo two >&2; exit 3", "echo three"]}}],
                    "expect": [at("$.tools[%d].type" % n, t) for n, t in enumerate(["shell", "apply_patch", "custom", "mcp"])]},
                   {"parts": [{"apply_patch": {"type": "create_file", "path": "made.txt", "diff": "+made"}}],
                    "expect": [at("$.input[-1].type", "shell_call_output"), at("$.input[-1].output", exits)]},
                   {"parts": [{"custom_call": {"name": "shout", "input": "land ahoy"}}],
                    "expect": [at("$.input[-1].type", "apply_patch_call_output"), at("$.input[-1].status", "completed")]},
                   {"parts": [ask, edit],
                    "expect": [at("$.input[-1].type", "custom_tool_call_output"), at("$.input[-1].output", "LAND AHOY")]},
                   {"parts": [{"text": "Done."}],
                    "expect": [at("$.input[-2].approval_request_id", "mcpr_1"), at("$.input[-2].approve", True),
                               at("$.input[-1].approval_request_id", "mcpr_2"), at("$.input[-1].approve", False),
                               at("$.input[-1].reason", "not now")]})
        ended = self.thole("run", "-a", self.agent("native"), "-s", "own", "work")
        self.assertEqual(ended.code, 3, ended)
        self.assertIn("wiki.edit", ended.out)
        self.good("reject", "own", "-m", "not now")
        self.good("resume", "own")
        self.assertEqual(self.finals("own"), ["Done."])
        self.assertEqual((self.work / "made.txt").read_text(), "made\n")

    def test_lead(self):
        (self.work / "notes.txt").write_text("milk\n")
        child = {"first_user": "what about milk?"}
        self.rules({"if": [child, {"turns": {"min": 2}}], "parts": [{"text": "One line: milk."}]},
                   {"if": [child, {"turns": {"min": 1}}], "parts": [call("shell", command="wc -l notes.txt")]},
                   {"if": [child], "parts": [call("read_file", path="notes.txt")]},
                   {"if": [{"turns": {"min": 1}}], "parts": [{"text": "They say: milk."}]},
                   {"parts": [call("research", input="what about milk?")]})
        self.assertIn("One line: milk.", self.page("lead", 3, 0, 0, 0, 0).out)
        self.assertEqual(self.finals("mine"), ["They say: milk."])
        tree = self.good("log", "mine", "--trace").out
        self.assertLess(tree.index("tool research"), tree.index("tool shell"))

    def test_keeper(self):
        self.serve(*[[{"text": "Noted %d." % n}] for n in range(4)])
        file = self.agent("keeper")
        self.assertIn("items: 40", snippets()["keeper"])
        file = self.agent("keeper", snippets()["keeper"].replace("items: 40", "items: 6"))
        self.good("run", "-a", file, "-s", "diary", "day 0")
        for n in range(1, 4):
            self.good("run", "-s", "diary", "day %d" % n)
        self.assertEqual(self.kinds("diary").count("code"), 4)
        said = {e["seq"]: e["data"]["content"] if e["kind"] == "message" else e["data"]["items"][0]["content"][0]["text"]
                for e in self.events("diary") if e["kind"] in ("message", "model_answered")}
        joined = [[said[i[0]] if isinstance(i, list) and i[0] in said else "a note" for i in e["data"]["answer"]]
                  for e in self.events("diary") if e["kind"] == "code"]
        self.assertEqual(joined[2], ["day 0", "Noted 0.", "day 1", "Noted 1.", "day 2"])
        self.assertEqual(joined[3], ["day 0", "a note", "day 3"])
        self.assertEqual([e["data"]["items"] for e in self.events("diary") if e["kind"] == "condensation"], [3])

    def team(self, file):
        self.rules({"if": [{"tool": "transfer_to_support"}], "parts": [call("transfer_to_support")]},
                   {"if": [{"turns": {"min": 1}}], "parts": [{"text": "It prints again."}]},
                   {"parts": [call("shell", command="echo fixed > fixed.txt")]})
        ended = self.thole("run", "-a", file, "-s", "team", "the printer does not print")
        self.assertEqual(ended.code, 3)
        self.good("approve", "team")
        self.good("resume", "team")
        self.assertEqual(self.finals("team"), ["It prints again."])
        self.assertEqual((self.work / "fixed.txt").read_text(), "fixed\n")
        handoff = [e["data"] for e in self.events("team") if e["kind"] == "handoff"]
        self.assertEqual([(h["from"], h["to"], h["history"]) for h in handoff], [("reception", "support", [[2, 0]])])

    def test_reception(self):
        self.team(self.agent("reception"))
        self.rules({"if": [{"turns": {"min": 2}}], "parts": [{"text": "It is paid."}]},
                   {"if": [{"turns": {"min": 1}}], "parts": [call("transfer_to_billing", reason="a bill")]},
                   {"parts": [call("transfer_to_billing")]})
        self.good("run", "-a", self.agent("reception"), "-s", "bill", "my bill?")
        self.assertIn("do not fit its schema", self.good("log", "bill").out)
        handoff = [e["data"] for e in self.events("bill") if e["kind"] == "handoff"]
        self.assertEqual([(h["to"], h["arguments"]) for h in handoff], [("billing", {"reason": "a bill"})])

    def test_trainer(self):
        """Whoever starts it here has chosen the machine: the labels are in its log, and ask for nothing."""
        self.serve([{"text": "Trained."}])
        self.good("run", "-a", self.agent("trainer"), "-s", "trained", "train it")
        self.assertEqual(self.finals("trained"), ["Trained."])
        self.assertEqual(self.events("trained")[0]["data"]["agent"]["labels"], ["gpu", "eu"])

    def test_example(self):
        self.team(str(ROOT / "examples" / "team.yaml"))
        ended = self.thole("run", "-a", str(ROOT / "examples" / "team.yaml"), "-s", "card", "I paid with 4111 1111 1111 1111")
        self.assertEqual(ended.code, 1)
        self.assertIn("number of a card", ended.out + ended.err)


if __name__ == "__main__":
    house.main()
