# SPDX-License-Identifier: Apache-2.0
"""thole serve --openhands: /goal, by which a conversation's final outputs are judged until it is reached."""

import json
import signal
import unittest

from test_openhands_api import Faces

GOAL = "The sum of the list stands in sum.txt."
ASKED = {"tail": "Judge now whether the task is done"}


def verdict(score, complete, *missing, first=False):
    """`first`: of a conversation in which the agent has answered once."""
    return {"if": [ASKED, {"tail": GOAL}] + [{"turns": {"equals": 1}}] * first,
            "parts": [{"text": json.dumps({"score": score, "complete": complete, "missing": list(missing)})}]}


class Goals(Faces):
    def goal(self, conversation, path="", body=None, status=200, who="alice"):
        answer = self.call("POST", self.path(conversation, "/goal" + path), body, who=who)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def chips(self, conversation):
        """What a page shows of it."""
        return [e["value"] for e in self.told(conversation) if e["kind"] == "ConversationStateUpdateEvent" and e["key"] == "goal"]

    def short(self, conversation):
        return [(v["status"], v["iteration"]) for v in self.chips(conversation)]

    def ends(self, conversation, status):
        self.wait_for(lambda: self.status(conversation) == status)

    def test_until_it_is_reached(self):
        self.begin(rules=[verdict(0.2, False, "the file is not there", "nothing was added", first=True), verdict(0.9, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL, "max_iterations": 4})
        self.ends(c, "finished")
        first, second, third = self.chips(c)
        self.assertEqual(first, {"active": True, "status": "running", "iteration": 0, "max_iterations": 4, "objective": GOAL, "verdict": None})
        self.assertEqual((second["status"], second["iteration"], second["verdict"]),
                         ("running", 1, {"score": 0.2, "complete": False, "missing": "the file is not there\nnothing was added"}))
        self.assertEqual((third["status"], third["active"], third["iteration"], third["verdict"]["complete"]), ("complete", False, 2, True))
        said = [e["llm_message"]["content"][0]["text"] for e in self.told(c) if e["kind"] == "MessageEvent"]
        self.assertEqual(said[0], GOAL)
        self.assertTrue(any("the file is not there" in text for text in said))
        # What is judged is told before its verdict.
        self.assertEqual([e["value"]["iteration"] if e["kind"] == "ConversationStateUpdateEvent" else e["source"] for e in self.told(c)[1:]],
                         [0, "user", "agent", 1, "environment", "agent", 2])
        ids = [e["id"] for e in self.told(c)]
        self.assertEqual(len(set(ids)), len(ids))
        self.goal(c, "/resume", status=400)  # it is over
        # The next task is judged by nobody.
        self.say(c, "hello", run=True)
        self.ends(c, "finished")
        self.assertEqual(len(self.chips(c)), 3)
        # Another one, and the same after a restart and in an export.
        self.goal(c, body={"objective": GOAL})
        self.wait_for(lambda: self.short(c)[-1] == ("complete", 1))
        told = self.told(c)
        self.end_http()
        self.listen()
        self.assertEqual(self.told(c), told)

    def test_no_round_is_left(self):
        self.begin(rules=[verdict(0.2, False, "more")])
        c = self.create()
        self.goal(c, body={"objective": GOAL, "max_iterations": 2})
        self.ends(c, "finished")
        self.assertEqual(self.short(c), [("running", 0), ("running", 1), ("capped", 2)])
        self.goal(c, "/resume", status=400)

    def test_complete_below_the_threshold(self):
        """What the judge is too little sure of is not told as reached: the conversation goes on."""
        self.begin(rules=[verdict(0.5, True, first=True), verdict(0.6, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL})
        self.ends(c, "finished")
        self.assertEqual(self.short(c), [("running", 0), ("running", 1), ("complete", 2)])

    def test_an_answer_that_nobody_judges(self):
        """A model that refuses reaches no goal; it can go on."""
        self.begin(rules=[{"if": {"turns": {"equals": 0}}, "parts": [{"refusal": "I will not."}], "finish": "refusal"}, verdict(0.9, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL})
        self.ends(c, "finished")
        self.assertEqual(self.short(c), [("running", 0), ("interrupted", 0)])
        self.goal(c, "/resume")
        self.wait_for(lambda: self.short(c)[2:] == [("running", 0), ("complete", 1)])
        self.ends(c, "finished")

    def test_a_fork_in_the_midst(self):
        """Its own goal waits until it is run."""
        self.begin(rules=[verdict(0.2, False, "more", first=True), verdict(0.9, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL})
        self.ends(c, "finished")
        (second,) = [e for e in self.told(c) if e.get("key") == "goal" and e["value"]["iteration"] == 1]
        fork = self.good_call("POST", self.path(c, "/fork"), {"from_event_id": second["id"]}, 201)
        self.assertEqual((fork["execution_status"], self.short(fork)), ("idle", [("running", 0), ("running", 1), ("interrupted", 1)]))
        self.goal(fork, "/resume")
        self.wait_for(lambda: self.short(fork)[3:] == [("running", 1), ("complete", 2)])
        self.assertEqual(self.short(c), [("running", 0), ("running", 1), ("complete", 2)])
        # Between the goal and its message: it is said when it is run.
        (first,) = [e for e in self.told(c) if e.get("key") == "goal" and e["value"]["iteration"] == 0]
        fork = self.good_call("POST", self.path(c, "/fork"), {"from_event_id": first["id"]}, 201)
        self.goal(fork, "/resume")
        self.wait_for(lambda: self.short(fork) == [("running", 0), ("interrupted", 0), ("running", 0), ("running", 1), ("complete", 2)])
        (said,) = [e["llm_message"]["content"][0]["text"] for e in self.told(fork) if e["kind"] == "MessageEvent" and e["source"] == "user"]
        self.assertTrue(said.endswith(GOAL), said)

    def test_what_is_wrong(self):
        self.begin()
        c = self.create()
        for wrong in ({}, {"objective": " "}, {"objective": "x", "max_iterations": 0}, {"objective": "x", "max_iterations": 101},
                      {"objective": "x", "max_iterations": "9"}, {"objective": "x", "max_iterations": 1.5}, {"objective": "x" * 65537}, {"objective": "a\0b"}, {"objective": 1}):
            self.goal(c, body=wrong, status=422)
        self.goal(c, body=[], status=400)
        self.goal(c, "/stop")  # there is none: nothing
        self.goal(c, "/resume", status=400)
        self.goal(c, body={"objective": "x"}, status=403, who="reader")
        self.goal(c, body={"objective": "x"}, status=404, who="bob")
        self.assertEqual((self.chips(c), self.status(c)), ([], "idle"))

    def test_it_is_stopped_and_goes_on(self):
        """The run that is under way goes on without it; a message of the user's ends it, too."""
        self.begin(rules=[verdict(0.2, False, "more", first=True), {"if": {"tail": "more"}, "parts": [{"function_call": {"name": "shell", "arguments": {
            "command": "mkfifo gate; touch begun; read x < gate"}}}]}, verdict(0.9, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL, "max_iterations": 3})
        begun = self.workspaces / c["id"] / "begun"
        self.wait_for(begun.exists)
        self.goal(c, body={"objective": GOAL}, status=409)
        self.goal(c, "/resume", status=409)
        self.goal(c, "/stop")
        self.assertEqual(self.short(c), [("running", 0), ("running", 1), ("interrupted", 1)])
        self.assertEqual(self.status(c), "running")
        (self.workspaces / c["id"] / "gate").write_text("go\n")
        self.ends(c, "finished")
        self.assertEqual(len(self.chips(c)), 3)
        self.goal(c, "/resume")
        self.ends(c, "finished")
        self.wait_for(lambda: self.short(c)[3:] == [("running", 1), ("complete", 2)])
        self.assertEqual(self.chips(c)[3]["objective"], GOAL)

    def test_a_message_ends_it(self):
        """By a request, or over a WebSocket."""
        self.begin(rules=[{"if": {"tail": GOAL}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "mkfifo gate; touch begun; read x < gate"}}}]}])
        for over_socket in (False, True):
            c = self.create()
            self.goal(c, body={"objective": GOAL})
            self.wait_for((self.workspaces / c["id"] / "begun").exists)
            if over_socket:
                self.socket(c).send({"role": "user", "content": [{"type": "text", "text": "something else"}]})
                self.wait_for(lambda: len(self.chips(c)) == 2)
            else:
                self.say(c, "something else")
            self.assertEqual(self.short(c), [("running", 0), ("interrupted", 0)])
            (self.workspaces / c["id"] / "gate").write_text("go\n")
            self.ends(c, "finished")
            self.assertEqual(len(self.chips(c)), 2)

    def test_it_outlasts_a_pause_and_a_kill(self):
        self.begin(rules=[verdict(0.2, False, "more", first=True), {"if": {"tail": "more"}, "parts": [{"function_call": {"name": "shell", "arguments": {
            "command": "mkfifo gate; touch begun; read x < gate"}}}]}, verdict(0.9, True)])
        c = self.create()
        self.goal(c, body={"objective": GOAL, "max_iterations": 3})
        self.wait_for((self.workspaces / c["id"] / "begun").exists)
        self.good_call("POST", self.path(c, "/pause"))
        self.ends(c, "paused")
        self.assertEqual(self.short(c)[2:], [("interrupted", 1)])
        self.end_http(signal.SIGKILL)
        self.listen()
        self.goal(c, "/resume")
        (self.workspaces / c["id"] / "gate").write_text("go\n")
        self.wait_for(lambda: self.short(c)[3:] == [("running", 1), ("complete", 2)])
        self.ends(c, "finished")


if __name__ == "__main__":
    unittest.main()
