# SPDX-License-Identifier: Apache-2.0
"""What a person says to a run: more than its limits, no by a message, plan mode and its end; and a judge before the end."""

import json
import os
import shutil

import house
import serving


def call(name, **arguments):
    return [{"function_call": {"name": name, "arguments": arguments}}]


def says(text):
    return [{"text": text}]


class Control(house.House):
    def agent(self, more=""):
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: gpt-5.4\nworkspace: %s\ntools: [shell, read_file]\n%s" % (self.work, more))
        return path

    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def of(self, name, kind):
        return [e["data"] for e in self.events(name) if e["kind"] == kind]

    def asked(self):
        return len(self.standin.requests())


class Limits(Control):
    def test_turns(self):
        """Exactly as many as were given, and once: then the limit again, and a later task has its own."""
        self.rules({"if": {"tail": "enough"}, "parts": says("Stopped.")}, {"parts": call("shell", command="echo x >> steps")})
        self.good("run", "-a", self.agent("limits: {turns: 2}\n"), "-s", "n", "go", code=4)
        self.assertEqual(self.asked(), 2)
        ended = self.good("resume", "n", "--more", "turns=3", code=4)
        self.assertIn("3 turns more", ended.out)
        self.assertEqual(self.asked(), 5)
        given = self.of("n", "budget")
        self.assertEqual((len(given), given[0]["turns"], given[0]["limits"]["turns"]), (1, 3, 2))
        self.assertTrue(given[0]["by"])
        self.good("resume", "n", code=4)  # a plain one counts anew
        self.assertEqual(self.asked(), 7)
        self.assertEqual((self.work / "steps").read_text(), "x\n" * 7)
        self.assertIn("Stopped.", self.good("run", "-s", "n", "enough").out)

    def test_tokens(self):
        self.rules({"if": {"turns": {"max": 0}}, "parts": call("shell", command="echo x >> steps")}, {"parts": says("Done.")})
        ended = self.good("run", "-a", self.agent("limits: {tokens: 60}\n"), "-s", "n", "go", code=4)
        self.assertIn("resume n --more tokens=N", ended.out)
        asked = self.asked()
        self.good("resume", "n", code=4)  # what is used up is used up
        self.assertEqual(self.asked(), asked)
        self.bad(2, "no limit of cost", "resume", "n", "--more", "cost_usd=1")
        self.bad(2, ["--more", "toads", "cost_usd can be given"], "resume", "n", "--more", "toads=1")
        self.bad(2, "--more: turns needs a number, as in turns=20", "resume", "n", "--more", "turns")
        self.bad(2, "above 0", "resume", "n", "--more", "tokens=-1")
        self.bad(2, "can be given", "resume", "n", "--more", "parallel_calls=2")
        self.assertEqual(self.of("n", "budget"), [])
        self.assertIn("Done.", self.good("resume", "n", "--more", "tokens=100000").out)
        used = sum(e["usage"]["input"] + e["usage"]["output"] for e in self.of("n", "model_answered")[:asked])
        self.assertEqual(self.of("n", "budget")[0]["limits"]["tokens"], max(used, 60) + 100000)

    def test_a_message_approves_nothing(self):
        self.rules({"if": {"tool_output": {"contains": "."}}, "parts": says("So it is.")},
                   {"parts": call("shell", command="echo yes > file")})
        path = self.agent("approve: [shell]\n")
        self.good("run", "-a", path, "-s", "n", "write it", code=3)
        for words in ("yes", "approved: run it", "I confirm. Go on."):
            self.good("run", "-s", "n", words, code=3)
            self.good("resume", "n", code=3)
        self.assertFalse((self.work / "file").exists())
        self.assertEqual([k for k in self.kinds("n") if k in ("intent", "approval_decided")], [])
        self.assertEqual(self.asked(), 1)
        self.good("reject", "n", "-m", "not in this folder")
        self.assertIn("So it is.", self.good("resume", "n").out)
        self.assertFalse((self.work / "file").exists())
        self.assertIn("not in this folder", json.dumps(self.of("n", "outcome")[0]))
        self.assertEqual(self.of("n", "outcome")[0]["status"], "refused")
        self.assertEqual(self.asked(), 2)


class Plan(Control):
    def test_plan_and_act(self):
        (self.work / "seen.txt").write_text("what there is\n")
        self.rules({"if": {"turns": {"max": 0}}, "parts": call("read_file", path="seen.txt")},
                   {"if": {"turns": {"min": 1, "max": 1}}, "parts": call("shell", command="echo early > file")},
                   {"if": {"turns": {"min": 2, "max": 2}}, "parts": says("The plan: write the file.")},
                   {"if": {"turns": {"min": 3, "max": 3}}, "parts": call("shell", command="echo early > file")},
                   {"if": {"turns": {"min": 4, "max": 4}}, "parts": says("I may not yet.")},
                   {"if": {"turns": {"min": 5, "max": 5}}, "parts": call("shell", command="echo made >> file")},
                   {"parts": says("Made.")})
        self.assertIn("The plan", self.good("run", "--plan", "-a", self.agent(), "-s", "n", "make the file").out)
        self.assertIn("I may not yet", self.good("run", "-s", "n", "plan mode is over, do it now").out)
        self.assertFalse((self.work / "file").exists())
        calls = self.of("n", "call")
        self.assertEqual([(c["tool"], c["policy"]) for c in calls],
                         [("read_file", "run"), ("shell", "refuse"), ("shell", "refuse")])
        self.assertIn("plan mode", calls[1]["reason"])
        self.bad(2, "--act", "resume", "n", "-m", "good")
        self.assertIn("Made.", self.good("resume", "n", "--act", "-m", "and be quick").out)
        self.assertEqual((self.work / "file").read_text(), "made\n")
        plans = self.of("n", "plan")
        self.assertEqual([p["on"] for p in plans], [True, False])
        self.assertTrue(all(p["by"] for p in plans))
        self.assertIn("and be quick", json.dumps(self.of("n", "message")))
        self.bad(1, "thole: the session is not in plan mode", "resume", "n", "--act")


class Judge(Control):
    def verdict(self, score, complete, *missing):
        return {"if": {"tail": "Judge now whether the task is done"},
                "parts": says(json.dumps({"score": score, "complete": complete, "missing": list(missing)}))}

    def test_done(self):
        rule = self.verdict(0.9, True)
        rule["if"] = [rule["if"], {"tail": "the sum is right"}]
        self.rules(rule, {"parts": says("Two and two are four.")})
        self.good("run", "-a", self.agent("judge: {goal: the sum is right}\n"), "-s", "n", "add")
        verdicts = self.of("n", "verdict")
        self.assertEqual([(v["complete"], v["score"], v["usage"]["requests"]) for v in verdicts], [(True, 0.9, 1)])
        self.assertIn("verdict    done, score 0.90", self.good("log", "n").out)
        self.assertIn("(judge: 2 requests", self.good("run", "-s", "n", "again").out)

    def test_another_model_judges(self):
        """It is told what was said and done as texts, with its own name in the log; the agent's model is not asked."""
        rule = self.verdict(0.9, True)
        rule["expect"] = [{"body": {"contains": "Two and two are four."}}, {"body": {"contains": "<EVENT"}}, {"body": {"not_contains": "\"tools\""}}]
        self.rules(rule, {"parts": says("Two and two are four.")})
        self.good("run", "-a", self.agent("judge: {model: gpt-5.4-mini}\n"), "-s", "n", "add two and two")
        self.assertEqual([(v["complete"], v["model"], v["usage"]["requests"]) for v in self.of("n", "verdict")], [(True, "gpt-5.4-mini", 1)])
        self.assertEqual([r["model"] for r in self.standin.requests()], ["gpt-5.4", "gpt-5.4-mini"])
        self.assertEqual([r.get("expect_failed") for r in self.standin.requests()], [None, None])
        self.assertIn("gpt-5.4-mini", self.good("log", "n").out)
        self.bad(2, "judge.model", "run", "-a", self.agent("judge: {model: no-such/model}\n"), "-s", "m", "add")

    def test_another_model_sees_the_newest_picture(self):
        """One that takes pictures, and no other."""
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.py"), self.work)  # commands see the workspace alone
        for model, sees in (("gpt-5.4-mini", True), ("gpt-oss-120b", False)):
            rule = self.verdict(0.9, True)
            rule["expect"] = [{"body": {"contains" if sees else "not_contains": "data:image/png;base64,"}}, {"body": {"contains": "It is drawn."}}]
            draw = {"function_call": {"name": "t_draw", "arguments": {}}}
            self.rules(rule, *[{"if": {"turns": {"equals": i}}, "parts": [draw]} for i in range(2)], {"parts": says("It is drawn.")})
            self.good("run", "-a", self.agent("mcp_servers: [{name: t, command: [python3, mcp_server.py]}]\njudge: {model: %s}\n" % model), "-s", model, "draw")
            self.assertEqual([(v["complete"], v["model"]) for v in self.of(model, "verdict")], [(True, model)])
            self.assertEqual({r.get("expect_failed") for r in self.standin.requests()}, {None})
            self.standin.end()

    def test_another_model_judges_a_long_task(self):
        """What it is told has an end: of each item the first bytes."""
        long = "y" * 60000
        rule = self.verdict(0.9, True)
        rule["expect"] = [{"body": {"contains": "BEGIN"}}, {"body": {"contains": "the last word"}}]
        call = {"function_call": {"name": "shell", "arguments": {"command": "true"}}}
        self.rules(rule, *[{"if": {"turns": {"equals": i}}, "parts": [{"text": long}, call]} for i in range(12)], {"parts": says("the last word")})
        self.good("run", "-a", self.agent("judge: {model: gpt-5.4-mini}\n"), "-s", "n", "BEGIN")
        self.assertEqual([v["complete"] for v in self.of("n", "verdict")], [True])
        self.assertLess(self.standin.requests()[-1]["body_bytes"], 400000)

    def test_missing_then_done(self):
        no = self.verdict(0.2, False, "the file is empty")
        no["if"] = [no["if"], {"turns": {"max": 1}}]
        self.rules(no, self.verdict(1, True), {"if": {"tail": "the file is empty"}, "parts": says("Now it is there.")},
                   {"parts": says("Done.")})
        self.assertIn("Now it is there.", self.good("run", "-a", self.agent("judge: {rounds: 3}\n"), "-s", "n", "do it").out)
        self.assertEqual([v["complete"] for v in self.of("n", "verdict")], [False, True])
        self.assertEqual(self.of("n", "verdict")[0]["missing"], ["the file is empty"])
        told = [m["content"] for m in self.of("n", "message")]
        self.assertIn("- the file is empty", told[1])

    def test_never_done(self):
        """At most so many rounds; then a limit, which a person lets go on, or the answer as it is."""
        self.rules(self.verdict(0.5, True), {"parts": says("Done.")})
        self.good("run", "-a", self.agent("judge: {rounds: 2}\n"), "-s", "n", "do it", code=4)
        self.assertEqual(len(self.of("n", "verdict")), 2)
        self.assertEqual(self.asked(), 4)
        self.good("resume", "n", code=4)
        self.assertEqual(len(self.of("n", "verdict")), 4)
        self.good("run", "-a", self.agent("judge: {rounds: 2, then: finish}\n"), "-s", "m", "do it")
        self.assertEqual(len(self.of("m", "verdict")), 2)

    def test_no_verdict(self):
        """What is no verdict takes a round; nothing counts as done that nobody judged."""
        self.rules({"if": {"tail": "Judge now"}, "parts": says('{"score": 1, "complete": true, "missing": [], "more": 1}')},
                   {"parts": says("Done.")})
        ended = self.good("run", "-a", self.agent("judge: {rounds: 2}\n"), "-s", "n", "do it", code=1)
        self.assertIn("nobody judged whether the task is done", ended.out)
        self.assertEqual([v["complete"] for v in self.of("n", "verdict")], [False, False])
        self.assertIn("more", self.of("n", "verdict")[0]["failed"])
        self.assertEqual(self.of("n", "error")[-1]["class"], "judge")


class Goal(Control):
    verdict = Judge.verdict

    def goals(self, name):
        return [(g.get("goal"), g.get("rounds")) for g in self.of(name, "goal")]

    def test_until_it_is_reached(self):
        self.rules({"if": [self.verdict(0, True)["if"], {"turns": {"max": 1}}], "parts": self.verdict(0.2, False, "the sum")["parts"]},
                   self.verdict(0.9, True), {"parts": says("Here.")})
        self.good("run", "--goal", "--rounds", "3", "-a", self.agent(), "-s", "n", "the sum is right")
        self.assertEqual((self.goals("n"), [v["complete"] for v in self.of("n", "verdict")]), ([("the sum is right", 3)], [False, True]))
        # It is over; the next task is judged by nobody.
        self.good("run", "-s", "n", "again")
        self.assertEqual((len(self.of("n", "goal")), len(self.of("n", "verdict"))), (1, 2))
        self.bad(1, "there is no goal that was ended", "resume", "n", "--goal")

    def test_a_message_ends_it(self):
        """At a limit the goal waits; what is said then is something else, and is judged by nobody."""
        self.rules({"if": {"tail": "something else"}, "parts": says("Else.")}, self.verdict(0.9, True),
                   {"if": {"tail": "Go on towards the goal"}, "parts": says("Reached.")}, {"parts": call("shell", command="true")})
        self.good("run", "--goal", "-a", self.agent("limits: {turns: 2}\n"), "-s", "n", "the sum is right", code=4)
        self.assertIn("Else.", self.good("run", "-s", "n", "something else").out)
        self.assertEqual((self.goals("n"), self.of("n", "verdict")), ([("the sum is right", 10), (None, None)], []))
        # A person takes it up again.
        self.assertIn("Reached.", self.good("resume", "n", "--goal").out)
        self.assertEqual(self.goals("n")[2:], [("the sum is right", 10)])
        self.assertEqual(len(self.of("n", "verdict")), 1)
        # So does plan mode.
        self.good("run", "--goal", "-s", "n", "a second one", code=4)
        self.good("run", "--plan", "-s", "n", "anything", code=4)
        self.assertEqual(self.goals("n")[3:], [("a second one", 10), (None, None)])

    def test_what_is_wrong(self):
        self.rules({"parts": says("Hello.")})
        for words, options in (("--rounds is for a goal", ["--rounds", "2"]), ("--rounds is 1 to 100", ["--goal", "--rounds", "0"]),
                               ("--rounds is 1 to 100", ["--goal", "--rounds", "101"]), ("exclude each other", ["--goal", "--plan"])):
            self.bad(2, words, "run", "-a", self.agent(), "-s", "n", *options, "x")
        self.assertEqual(self.asked(), 0)


class Server(serving.Served):
    """The same over HTTP, and at a server by the command line."""

    def rest(self, name):
        def rests():
            self.row = self.good_call("GET", "/api/sessions/" + name)
            return self.row["state"] not in ("running", "loading")
        self.wait_for(rests)
        return self.row["state"]

    def begin(self, more, rules):
        folder = self.work / "agents"
        folder.mkdir()
        (folder / "tester.yaml").write_text("name: tester\nmodel: gpt-5.4\ntools: [shell]\n" + more)
        self.serve_rules(rules)
        self.serve_http("--agents", folder, "--workspaces", self.work)

    def posted(self, name, what, body, status=202):
        return self.good_call("POST", "/api/sessions/%s/%s" % (name, what), body, status=status)

    def kinds_of(self, name):
        return [e["kind"] for e in self.events_of(name)]

    def events_of(self, name):
        return [json.loads(line) for line in self.good("--server", "http://127.0.0.1:%d" % self.port, "log", name, "--json",
                                                       env=dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"])).out.splitlines()]

    def test_more(self):
        self.begin("limits: {turns: 2}\n", [{"if": {"turns": {"max": 1}}, "parts": call("shell", command="true")}, {"parts": says("Done.")}])
        self.good_call("POST", "/api/sessions", {"agent": "tester", "id": "n", "message": "go"}, status=201)
        self.assertEqual(self.rest("n"), "limit")
        self.posted("n", "resume", {"more": {"cost_usd": 1}}, status=400)
        self.posted("n", "resume", {"more": {"turns": 0}}, status=400)
        self.posted("n", "resume", {"more": 5}, status=400)
        self.assertNotIn("budget", self.kinds_of("n"))
        self.posted("n", "resume", {"more": {"turns": 5}})
        self.wait_for(lambda: self.rest("n") == "finished")
        given = [e["data"] for e in self.events_of("n") if e["kind"] == "budget"]
        self.assertEqual([(g["by"], g["turns"]) for g in given], [("alice", 5)])

    def test_plan(self):
        self.begin("", [{"if": {"turns": {"max": 0}}, "parts": call("shell", command="echo early >> file")},
                        {"if": {"turns": {"min": 1, "max": 1}}, "parts": says("The plan.")},
                        {"if": {"turns": {"min": 2, "max": 2}}, "parts": call("shell", command="echo made >> made")},
                        {"parts": says("Made.")}])
        self.good_call("POST", "/api/sessions", {"agent": "tester", "id": "n", "message": "go", "plan": True}, status=201)
        self.assertEqual(self.rest("n"), "finished")
        self.assertEqual(self.kinds_of("n").count("intent"), 0)
        self.env["THOLE_TOKEN"] = serving.TOKENS["alice"]
        self.assertIn("Made.", self.good("--server", "http://127.0.0.1:%d" % self.port, "resume", "n", "--act", "-m", "now").out)
        self.assertEqual([p.read_text() for p in self.work.glob("*/n/made")] or [p.read_text() for p in self.work.glob("**/made")], ["made\n"])
        self.posted("n", "act", {}, status=409)
        self.assertEqual([e["data"]["by"] for e in self.events_of("n") if e["kind"] == "plan"], ["alice", "alice"])

    def test_goal(self):
        """Of a new session and of one that rests; its end and its resume; a message ends it."""
        done = {"if": {"tail": "Judge now whether the task is done"}, "parts": says('{"score": 1, "complete": true, "missing": []}')}
        self.begin("limits: {turns: 2}\n", [{"if": {"tail": "something else"}, "parts": says("Else.")}, done,
                                            {"if": {"tail": "Go on towards"}, "parts": says("Reached.")}, {"parts": call("shell", command="true")}])

        def goals():
            return [(e["data"].get("goal"), e["data"].get("by")) for e in self.events_of("n") if e["kind"] == "goal"]

        for wrong in ({"message": "x", "goal": True, "plan": True}, {"message": "x", "rounds": 2}, {"message": "x", "goal": True, "rounds": 101}, {"goal": True}):
            self.good_call("POST", "/api/sessions", dict(wrong, agent="tester", id="n"), status=400)
        self.good_call("POST", "/api/sessions", {"agent": "tester", "id": "n", "message": "it is made", "goal": True, "rounds": 2}, status=201)
        self.wait_for(lambda: self.rest("n") == "limit")
        self.posted("n", "goal/resume", {}, status=409)
        self.posted("n", "goal/end", {})
        self.posted("n", "goal/end", {}, status=409)
        self.posted("n", "goal/resume", {})
        self.wait_for(lambda: self.rest("n") == "finished")
        self.assertEqual(goals(), [("it is made", "alice"), (None, "alice"), ("it is made", "alice")])
        self.posted("n", "goal/resume", {}, status=409)
        self.posted("n", "messages", {"text": "a second", "goal": True})
        self.wait_for(lambda: self.rest("n") == "limit")
        self.posted("n", "messages", {"text": "something else"})
        self.wait_for(lambda: self.rest("n") == "finished")
        self.assertEqual(goals()[3:], [("a second", "alice"), (None, None)])
        self.env["THOLE_TOKEN"] = serving.TOKENS["alice"]
        there = "--server", "http://127.0.0.1:%d" % self.port
        self.assertIn("Reached.", self.good(*there, "resume", "n", "--goal").out)
        self.good(*there, "run", "--goal", "--rounds", "4", "-s", "n", "a third", code=4)
        self.assertEqual(goals()[5:], [("a second", "alice"), ("a third", "alice")])
        self.assertEqual(self.kinds_of("n").count("verdict"), 2)


if __name__ == "__main__":
    house.main()
