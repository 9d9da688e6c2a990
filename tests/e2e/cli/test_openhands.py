# SPDX-License-Identifier: Apache-2.0
"""Conversations of OpenHands: in, gone on with, and out again; and sessions in the forms of others."""

import json
import os
import unittest

import house

ID = "11111111-1111-4111-8111-00000000000%d"
PNG = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
SECRET = "sk-ant-of-the-conversation"


def text(words):
    return {"cache_prompt": False, "type": "text", "text": words}


def action(number, call, command, **more):
    return dict({"id": ID % number, "timestamp": "2025-01-01T00:00:0%d" % number, "source": "agent", "thought": [],
                 "thinking_blocks": [], "action": {"command": command, "kind": "TerminalAction"}, "tool_name": "terminal",
                 "tool_call_id": call, "tool_call": {"id": call, "name": "terminal", "arguments": json.dumps({"command": command}),
                                                     "origin": "completion"},
                 "llm_response_id": "r%d" % number, "security_risk": "LOW", "kind": "ActionEvent"}, **more)


EVENTS = [
    {"id": ID % 0, "timestamp": "2025-01-01T00:00:00.5", "source": "agent", "system_prompt": text("Be good."), "tools": [],
     "kind": "SystemPromptEvent"},
    {"id": ID % 1, "timestamp": "2025-01-01T00:00:01.000123", "source": "user",
     "llm_message": {"role": "user", "content": [text("Make tetris."), {"type": "image", "image_urls": [PNG]}]},
     "activated_skills": [], "extended_content": [text("A skill says so.")], "kind": "MessageEvent"},
    action(2, "c2", "ls", thought=[text("I look.")]),
    {"id": "not-hexadecimal", "timestamp": "2025-01-01T00:00:03", "source": "environment", "tool_name": "terminal",
     "tool_call_id": "c2", "observation": {"content": [text("a.txt")], "is_error": False, "kind": "TerminalObservation"},
     "action_id": ID % 2, "extended_content": [], "kind": "ObservationEvent"},
    {"id": "of-tomorrow", "timestamp": "2025-01-01T00:00:03", "source": "environment", "what": [1], "kind": "FutureEvent"},
    action(4, "c4", "rm -r build"),
]


class OpenHands(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"

    def conversation(self, events=EVENTS, **state):
        folder = self.folder / "conversation"
        (folder / "events").mkdir(parents=True)
        for i, event in enumerate(events):
            (folder / "events" / ("event-%05d-%s.json" % (i, event["id"]))).write_text(json.dumps(event))
        (folder / "base_state.json").write_text(json.dumps(dict({
            "id": ID % 9, "agent": {"kind": "Agent", "llm": {"model": "openai/gpt-5.4", "api_key": SECRET}, "tools": []},
            "workspace": {"kind": "LocalWorkspace", "working_dir": "/w"}, "execution_status": "running"}, **state)))
        return folder

    def answers(self, said, seen, unseen=()):
        """One answer to a request that has all of this; the stand-in refuses another."""
        self.standin = house.Standin(self.folder, {"rules": [{"parts": [{"text": said}], "expect": [
            *({"body": {"contains": words}} for words in seen), *({"body": {"not_contains": words}} for words in unseen)]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def log(self, name):
        return [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]

    def test_in_on_and_out(self):
        folder = self.conversation()
        self.answers("All is done.", ["Make tetris.", "A skill says so.", "I look.", "a.txt", "was not repeated", "Go on.", PNG])
        said = self.good("import", folder, "-s", "tetris")
        self.assertEqual(said.out, "tetris\n")
        self.assertIn("6 events, 1 that OpenHands would refuse", said.err)
        self.assertIn("1 call without a result", said.err)
        self.assertNotIn(SECRET, json.dumps(self.log("tetris")))
        self.assertFalse((self.work / "build").exists())
        self.good("run", "-s", "tetris", "Go on.")
        out = self.folder / "out"
        self.good("export", "tetris", "--format", "openhands", "-o", out)
        names = sorted(os.listdir(out / "events"))
        for i, event in enumerate(EVENTS):
            self.assertEqual(json.loads((out / "events" / ("event-%05d-%s.json" % (i, event["id"]))).read_text()), event)
        new = [json.loads((out / "events" / name).read_text()) for name in names[len(EVENTS):]]
        self.assertEqual([(e["kind"], e["source"]) for e in new],
                         [("AgentErrorEvent", "agent"), ("MessageEvent", "user"), ("MessageEvent", "agent")])
        self.assertEqual(new[0]["tool_call_id"], "c4")
        state = json.loads((out / "base_state.json").read_text())
        self.assertEqual((state["id"], state["execution_status"], state["leaf_event_id"]), (ID % 9, "finished", new[-1]["id"]))
        self.assertEqual(state["agent"]["llm"]["api_key"], "<redacted>")
        # What came out goes in again, and out again, byte for byte.
        self.good("import", out, "-s", "again")
        self.good("export", "again", "--format", "openhands", "-o", self.folder / "out2")
        for name in names:
            self.assertEqual((out / "events" / name).read_bytes(), (self.folder / "out2" / "events" / name).read_bytes())
        self.bad(1, "not empty", "export", "tetris", "--format", "openhands", "-o", out)

    def test_a_condensation_is_what_the_model_sees(self):
        more = [{"id": ID % 5, "timestamp": "2025-01-01T00:00:05", "source": "environment", "summary": "We looked.",
                 "forgotten_event_ids": [ID % 2, "not-hexadecimal"], "summary_offset": 2, "llm_response_id": "r",
                 "kind": "Condensation"}]
        self.answers("Done.", ["Make tetris.", "We looked.", "Go on."], ["a.txt"])
        self.good("import", self.conversation(EVENTS[:5] + more), "-s", "short")
        self.good("run", "-s", "short", "Go on.")
        self.good("export", "short", "--format", "openhands", "-o", self.folder / "out")
        self.assertEqual(len(os.listdir(self.folder / "out" / "events")), 8)
        self.assertIn("a.txt", self.good("export", "short", "--format", "atif").out)

    def test_what_only_python_writes(self):
        """NaN and halves of characters in it: the rest of the conversation comes in, and it is said."""
        folder = self.folder / "py"
        (folder / "events").mkdir(parents=True)
        events = [{"id": 0, "timestamp": "2025-01-01T00:00:00", "source": "user", "action": "message", "args": {"content": "half \ud83d of one"}},
                  {"id": 1, "timestamp": "2025-01-01T00:00:01", "source": "agent", "action": "message", "args": {"content": "x"}, "cost": float("nan")}]
        for event in events:
            (folder / "events" / ("%d.json" % event["id"])).write_text(json.dumps(event))
        said = self.good("import", folder)
        self.assertIn("2 of Python's NaN, Infinity and halves of characters", said.err)
        self.good("export", "openhands-py", "--format", "openhands-v0", "-o", self.folder / "store")
        out = self.folder / "store" / "sessions" / "openhands-py" / "events"
        back = [json.loads((out / ("%d.json" % i)).read_text()) for i in range(2)]
        self.assertEqual((back[0]["args"]["content"], back[1]["cost"]), ("half \ufffd of one", None))

    def test_the_first_generation(self):
        folder = self.folder / "sid"
        (folder / "events").mkdir(parents=True)
        events = [
            {"id": 0, "timestamp": "2025-01-01T00:00:00", "source": "user", "message": "x", "action": "message",
             "args": {"content": "Count.", "images_urls": [PNG]}},
            {"id": 1, "timestamp": "2025-01-01T00:00:01", "source": "agent", "action": "run", "args": {"command": "wc", "thought": "So."}},
            {"id": 2, "timestamp": "2025-01-01T00:00:02", "source": "environment", "cause": 1, "observation": "run", "content": "12",
             "extras": {"command": "wc", "exit_code": 0}},
            {"id": 3, "timestamp": "2025-01-01T00:00:03", "source": "environment", "observation": "of_tomorrow", "content": "?"},
        ]
        for event in events:
            (folder / "events" / ("%d.json" % event["id"])).write_text(json.dumps(event, indent=2))
        (folder / "events" / "4.json").write_text('{"id": 4, "action": "mess')
        (folder / "agent_state.pkl").write_bytes(b"never read")
        self.answers("Twelve.", ["Count.", PNG, "So.", "event_1", "12", "And?"])
        said = self.good("import", folder)
        self.assertEqual(said.out, "openhands-sid\n")
        self.assertIn("the last one was cut off", said.err)
        self.good("run", "-s", "openhands-sid", "And?")
        self.good("export", "openhands-sid", "--format", "openhands-v0", "-o", self.folder / "store")
        out = self.folder / "store" / "sessions" / "openhands-sid" / "events"
        for event in events:
            self.assertEqual(json.loads((out / ("%d.json" % event["id"])).read_text()), event)
        last = [json.loads((out / ("%d.json" % i)).read_text()) for i in (4, 5)]
        self.assertEqual([(e["id"], e["source"], e["args"]["content"]) for e in last], [(4, "user", "And?"), (5, "agent", "Twelve.")])

    def test_the_page_says_what_works(self):
        self.conversation().rename(self.work / "conversation")
        page = (house.SOURCE / "docs" / "OPENHANDS.md").read_text()
        for block in page.split("```sh\n")[1:]:
            for line in block.split("```")[0].splitlines():
                self.good(*line.split()[1:])
        self.assertTrue((self.work / "back" / "events").is_dir())

    def test_risk_asks_a_person(self):
        agent = self.folder / "agent.yaml"
        agent.write_text("tools: [bash, think]\nworkspace: %s\nconfirm: {when: risky, threshold: medium, analysers: [model, rails]}\n" % self.work)
        self.serve([{"function_call": {"name": "bash", "arguments": {"command": "echo fine > a", "security_risk": "LOW"}}}],
                   [{"function_call": {"name": "bash", "arguments": {"command": "rm -rf ~", "security_risk": "LOW"}}}], [{"text": "No."}])
        self.assertEqual(self.thole("run", "-a", agent, "-s", "risk", "Go.").code, 3)
        self.assertTrue((self.work / "a").exists())
        calls = [e["data"] for e in self.log("risk") if e["kind"] == "call"]
        self.assertEqual([(c["policy"], c["risk"]) for c in calls], [("run", "low"), ("ask", "high")])
        self.assertIn("deletes a whole system", calls[1]["reason"])
        self.good("reject", "risk", "-m", "never")
        self.good("resume", "risk")
        self.good("export", "risk", "--format", "openhands", "-o", self.folder / "out")
        events = [json.loads(f.read_text()) for f in sorted((self.folder / "out" / "events").iterdir())]
        self.assertEqual([e["security_risk"] for e in events if e["kind"] == "ActionEvent"], ["LOW", "HIGH"])
        self.assertEqual([e["rejection_reason"] for e in events if e["kind"] == "UserRejectObservation"], ["never"])
        agent.write_text("confirm: {when: risky, analysers: [nope]}\n")
        self.bad(2, "confirm.analysers has a name", "run", "-a", agent, "Go.")

    def test_what_is_no_conversation(self):
        folder = self.conversation(EVENTS[:2])
        outside = self.folder / "outside.json"
        outside.write_text(json.dumps(EVENTS[2]))
        link = folder / "events" / "event-00002-x.json"
        link.symlink_to(outside)
        self.bad(1, "event-00002-x.json", "import", folder, "-s", "a")
        link.unlink()
        link.write_text("{")
        (folder / "events" / ("event-00003-%s.json" % (ID % 3))).write_text(json.dumps(EVENTS[2]))
        self.bad(1, "event-00002-x.json", "import", folder, "-s", "a")
        link.write_text(json.dumps(EVENTS[1]))
        self.bad(1, "is there already", "import", folder, "-s", "a")
        self.bad(1, "no folder events", "import", self.work)
        self.bad(2, "agent, model, name", "import", "-s", "a", "-", stdin="")
        self.assertEqual(self.good("sessions", "--names").out, "")

    def test_forms(self):
        self.serve([{"function_call": {"name": "shell", "arguments": {"command": "echo seen"}}}], [{"text": "I saw it."}])
        self.good("run", "-s", "one", "Look.")
        form = {name: json.loads(self.good("export", "one", "--format", name).out)
                for name in ("atif", "openai", "anthropic", "sharegpt")}
        self.assertEqual([m["role"] for m in form["openai"]["messages"]], ["system", "user", "assistant", "tool", "assistant"])
        self.assertEqual([m["role"] for m in form["anthropic"]["messages"]], ["user", "assistant", "user", "assistant"])
        self.assertEqual([m["from"] for m in form["sharegpt"]["conversations"]], ["human", "function_call", "observation", "gpt"])
        steps = form["atif"]["steps"]
        self.assertEqual([s["step_id"] for s in steps], [1, 2, 3, 4])
        self.assertIn("seen", steps[2]["observation"]["results"][0]["content"])
        self.assertEqual(form["atif"]["final_metrics"]["total_prompt_tokens"], sum(s["metrics"]["prompt_tokens"] for s in steps[2:]))
        self.good("export", "one", "--format", "sharegpt", "-o", "row.json")
        self.assertEqual(json.loads((self.work / "row.json").read_text()), form["sharegpt"])
        self.bad(2, "--format is one of", "export", "one", "--format", "pickle")
        self.bad(2, "is a folder", "export", "one", "--format", "openhands")
        kinds = [json.loads(line)["kind"] for line in self.good("log", "one", "--json", "--find", "SEEN", "-r", "-n", "2").out.splitlines()]
        self.assertEqual(kinds[0], "outcome")
        self.assertEqual(len(self.good("log", "one", "--json", "--kind", "message,final", "--from", "1", "--to", "99").out.splitlines()), 2)
        self.assertRegex(self.good("log", "one", "--kind", "model_answered").out, r"turn +[\d,]+ tokens in")
        self.assertIn("no event of session one fits", self.good("log", "one", "--find", "nowhere in it").err)
        self.bad(2, 'no event "cal"', "log", "one", "--kind", "cal")
        self.bad(2, "1 to 1000", "log", "one", "-n", "1001")
        # A fork has the events of its parent, by the same ids, and is idle.
        self.good("fork", "one", "two")
        for name in ("one", "two"):
            self.good("export", name, "--format", "openhands", "-o", self.folder / name)
        self.assertEqual(os.listdir(self.folder / "one" / "events"), os.listdir(self.folder / "two" / "events"))
        state = [json.loads((self.folder / name / "base_state.json").read_text())["execution_status"] for name in ("one", "two")]
        self.assertEqual(state, ["finished", "idle"])


if __name__ == "__main__":
    unittest.main()
