# SPDX-License-Identifier: Apache-2.0
"""A history that is summed up in the middle of a task, on every wire: the provider takes each request, and nothing is done twice."""

import house

STEPS = 7
RULE = "Never touch the file keep.txt."


def shell(number):
    return [{"function_call": {"name": "shell", "arguments": {"command": "echo step %d | tee -a made.txt" % number}}}]


RULES = [{"if": {"tail": "has become too long"}, "parts": [{"text": "TASK: steps. DONE: some. NEXT: the next one."}]},
         {"if": {"tool_output": {"nth": -1, "contains": "step %d" % STEPS}}, "parts": [{"text": "All done."}]}]
RULES += [{"if": {"tool_output": {"nth": -1, "contains": "step %d" % n}}, "parts": shell(n + 1)} for n in range(1, STEPS)]
RULES += [{"parts": shell(1)}]


class Wire:
    """The tests; each wire is a class below."""

    def agent(self, compact):
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: %s\nworkspace: %s\ntools: [shell]\ncompact: {%s}\n" % (self.model, self.work, compact))
        return path

    def run_steps(self, rules, compact):
        # The stand-in holds a history that was cut against no turn of its own.
        self.standin = house.Standin(self.folder, dict({"rules": rules}, **self.script))
        self.env[self.variable] = self.standin.url[:-len("/v1")] + self.root
        self.env[self.key] = house.KEY
        self.said = self.good("run", "-a", self.agent(compact), "-s", "long", "Do the steps. " + RULE).out
        self.assertEqual((self.work / "made.txt").read_text().split("\n"), ["step %d" % n for n in range(1, STEPS + 1)] + [""])
        return [e["data"] for e in self.events("long") if e["kind"] == "condensation"]

    def test_summary(self):
        found = self.run_steps(RULES, "condenser: summary, items: 6, keep: 2")
        self.assertGreater(len(found), 0)
        for data in found:
            self.assertEqual((data["name"], data.get("fallback"), data["usage"]["requests"]), ("summary", None, 1), data)
            self.assertIn("DONE: some.", data["summary"])
        self.assertIn("(condenser: %d requests" % len(found), self.said)
        self.assertIn("condensation summary", self.good("log", "long", "--trace").out)

    def test_no_summary(self):
        rules = [{"if": {"tail": "has become too long"}, "parts": shell(99)}] + RULES[1:]
        found = self.run_steps(rules, "condenser: summary, items: 6, keep: 2")
        self.assertGreater(len(found), 0)
        for data in found:
            self.assertEqual((data["name"], data["fallback"]), ("recent", "the model gave no summary"), data)


def call(name, **arguments):
    return [{"function_call": {"name": name, "arguments": arguments}}]


class Kept(house.House):
    """What is kept beside the history, and what is found again of what was left out."""

    def test_history_and_notes(self):
        rules = [{"if": {"tool_output": {"nth": -1, "contains": "newest first"}}, "parts": call("history", event=2)},
                 {"if": {"tool_output": {"nth": -1, "contains": "[event 2, user, bytes 0"}}, "parts": [{"text": "Found."}]},
                 {"if": {"tool_output": {"nth": -1, "contains": "step %d" % STEPS}}, "parts": call("history", query="notes 4711")}]
        rules += [{"if": {"tool_output": {"nth": -1, "contains": "step %d" % n}}, "parts": shell(n + 1)} for n in range(1, STEPS)]
        rules += [{"if": {"tool_output": {"nth": -1, "contains": "notes are kept"}}, "parts": shell(1)},
                  {"parts": call("notes", text="the gate is 4711")}]
        self.standin = house.Standin(self.folder, {"rules": rules})
        self.env["OPENAI_BASE_URL"], self.env["OPENAI_API_KEY"] = self.standin.url, house.KEY
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: gpt-5.4\nworkspace: %s\ntools: [shell, history, notes]\n"
                        "compact: {condenser: recent, items: 6, keep: 2}\n" % self.work)
        self.assertIn("Found.", self.good("run", "-a", path, "-s", "long", "Do the steps. " + RULE).out)
        events = self.events("long")
        notes = [item["content"] for e in events if e["kind"] == "condensation" for item in e["data"]["history"]
                 if isinstance(item, dict)]
        self.assertGreater(len(notes), 0)
        for note in notes:
            self.assertIn("[Your notes:]\nthe gate is 4711", note)
            self.assertIn("The tool history finds what was left out.", note)
        outputs = [e["data"]["output"] for e in events if e["kind"] == "outcome"]
        self.assertIn("the gate is 4711", next(o for o in outputs if "newest first" in o))
        self.assertIn(RULE, outputs[-1])
        # The index goes with its session.
        index = list(self.folder.glob("**/*.text/*"))
        self.assertEqual(len(index), 1, index)
        self.good("delete", "long")
        self.assertEqual(list(self.folder.glob("**/*.text/*")), [])


    def test_a_long_result(self):
        """The model is shown head and tail; the rest is read on, also what a blob alone has."""
        seq = 7  # the outcome of the first call
        rules = [{"if": {"tool_output": {"nth": -1, "contains": "the whole result"}}, "parts": [{"text": "Read."}]},
                 {"if": {"tool_output": {"nth": -1, "contains": 'read on with history {"event": %d, "offset": 1024}' % seq}},
                  "parts": call("history", event=seq, offset=100000)},
                 {"parts": call("shell", command="seq 1 30000")}]
        self.standin = house.Standin(self.folder, {"rules": rules})
        self.env["OPENAI_BASE_URL"], self.env["OPENAI_API_KEY"] = self.standin.url, house.KEY
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: gpt-5.4\nworkspace: %s\ntools: [shell, history]\nresult_bytes: 2048\n" % self.work)
        self.assertIn("Read.", self.good("run", "-a", path, "-s", "long", "Count.").out)
        outcomes = [e for e in self.events("long") if e["kind"] == "outcome"]
        self.assertEqual(outcomes[0]["seq"], seq)
        self.assertGreater(len(outcomes[0]["data"]["output"]), 16000)  # the log has what the tool gave
        whole = "".join("%d\n" % n for n in range(1, 30001))
        label, text = outcomes[1]["data"]["output"].split("\n", 1)
        self.assertEqual(label, "[event %d, the whole result, bytes 100000 to 116384 of %d]" % (seq, len(whole)))
        self.assertEqual(text, whole[100000:116384])
        path.write_text("name: tester\nmodel: gpt-5.4\nresult_bytes: 1023\n")
        self.assertIn("result_bytes must be 1024 at least", self.thole("run", "-a", path, "Count.").err)


class Provider:
    """The provider takes what it is asked to do with the history."""

    def test_provider(self):
        self.assertEqual(self.run_steps(RULES, "condenser: provider, tokens: 60000"), [])


class Responses(Provider, Wire, house.House):
    model, variable, root, key, script = "gpt-5.4", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY", {}


class Chat(Wire, house.House):
    model, variable, root, key, script = "vllm/org/open-model", "HOSTED_VLLM_API_BASE", "/v1", "HOSTED_VLLM_API_KEY", {"flavour": "vllm", "api": "chat"}


class Messages(Provider, Wire, house.House):
    model, variable, root, key, script = "claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY", {}


class Gemini(Wire, house.House):
    model, variable, root, key, script = "gemini-2.5-pro", "GEMINI_BASE_URL", "/v1beta", "GEMINI_API_KEY", {}


if __name__ == "__main__":
    house.main()
