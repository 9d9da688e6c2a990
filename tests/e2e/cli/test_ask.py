# SPDX-License-Identifier: Apache-2.0
"""The tool ask: a question waits for a person, at a terminal, by a command, over HTTP and MCP, and across kill -9."""

import json
import os
import pty
import select
import shlex
import subprocess

import house
import serving

QUESTION = 'ask {"question": "Which colour?", "options": ["red", "blue"]}\n'


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


class Here(house.House):
    def setUp(self):
        super().setUp()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 2\ntools: [ask, shell]\n")

    def outcomes(self, name):
        return [(e["data"]["status"], e["data"]["output"]) for e in self.events(name) if e["kind"] == "outcome"]

    def test_a_command_answers(self):
        ended = self.good("run", "-m", "human/human", "-s", "q", "go", code=3, stdin=QUESTION)
        self.assertIn("ask: Which colour?", ended.out)
        # The line that says how to answer is a command that does.
        line = next(l for l in ended.out.splitlines() if l.startswith("answer:"))
        words = shlex.split(line.split("(or")[0].partition(":")[2].replace("TEXT", "light blue"))
        self.good("fork", "q", "q2")
        self.assertIn("answered: ask: Which colour?", self.good(*[w.replace("q", "q2") if w == "q" else w for w in words[1:]]).out)
        self.bad(2, "needs the name of a session, and the answer", "answer", "q")
        self.bad(1, "no call", "answer", "q", "blue", "other")
        self.assertIn("answered: ask: Which colour?", self.good("answer", "q", "dark blue").out)
        self.assertRegex(self.good("log", "q").out, r"answered   by \S+: dark blue\n")
        self.bad(1, "nothing in it waits", "answer", "q", "again")
        # A word about one question is about no other, and no answer is none.
        self.good("resume", "q", code=3, stdin=QUESTION)
        self.good("approve", "q", "--always")
        self.good("resume", "q", code=3, stdin=QUESTION)
        self.good("reject", "q", "-m", "do not ask me that")
        self.good("resume", "q", stdin="done so\n")
        self.assertEqual(self.outcomes("q"), [("done", "dark blue"), ("done", "[the person let you go on, and gave no answer]"),
                                              ("refused", "Not done: do not ask me that. Nothing was executed.")])
        self.good("log", "--verify", "q")

    def test_what_is_no_question(self):
        self.good("run", "-m", "human/human", "-s", "w", "go", stdin='ask {"options": ["red"]}\ndone so\n')
        (status, text), = self.outcomes("w")
        self.assertEqual(status, "refused")
        self.assertIn("do not fit its schema", text)

    def test_only_questions_are_answered(self):
        self.good("run", "-m", "human/human", "-s", "n", "--approve", "shell", "go", code=3, stdin="shell touch made\n")
        self.bad(2, "shell is no question", "answer", "n", "yes")
        self.assertFalse((self.work / "made").exists())

    def test_no_rule_answers(self):
        agent = self.folder / "r.yaml"
        agent.write_text("name: r\nmodel: human/human\ntools: [ask]\nrules: [{tool: ask, decide: run}]\n")
        self.good("run", "-a", agent, "-s", "r", "go", code=3, stdin=QUESTION)
        self.assertEqual(self.outcomes("r"), [])

    def test_at_a_terminal(self):
        main, side = pty.openpty()
        process = self.start("run", "-m", "human/human", "-s", "t", "go", stdin=side, stdout=side, stderr=side)
        os.close(side)
        said = b""
        for wanted, answer in ((b"help says what can be said", QUESTION.encode()), (b"q: leave it waiting)", b"2\n"),
                               (b"result:", b"done\n")):
            while wanted not in said:
                self.assertTrue(select.select([main], [], [], 20)[0], said)
                said += os.read(main, 4096)
            said = said[said.index(wanted):]
            os.write(main, answer)
        self.assertEqual(process.wait(20), 0)
        os.close(main)
        self.assertEqual(self.outcomes("t"), [("done", "blue")])

    def test_killed_with_the_answer_written(self):
        """The answer is an event before it is used; whoever opens the session next uses it."""
        killed = self.start("run", "-m", "human/human", "-s", "k", "go", stdin=subprocess.PIPE)
        killed.stdin.write(QUESTION.encode())
        killed.communicate()
        self.assertEqual(killed.returncode, 3)
        self.good("answer", "k", "red")
        taken = self.start("resume", "k", stdin=subprocess.PIPE)
        self.wait_for(lambda: "outcome" in self.kinds("k"))
        taken.kill()
        taken.communicate()
        self.good("resume", "k", stdin="done\n")
        self.assertEqual(self.outcomes("k"), [("done", "red")])


class There(serving.Served):
    def asks(self, *more):
        folder = self.folder / "agents"
        folder.mkdir()
        (folder / "curious.yaml").write_text("name: curious\ntools: [ask]\n")
        self.serve([call("ask", question="Which colour?", options=["red", "blue"])], *more, [{"text": "So be it."}])
        self.serve_http("--agents", folder, "--workspaces", self.work)

    def outcomes(self, name):
        page = self.good_call("GET", "/api/sessions/%s/events" % name)
        return [e["data"]["output"] for e in page["events"] if e["kind"] == "outcome"]

    def test_over_http(self):
        self.asks()
        self.good_call("POST", "/api/sessions", {"agent": "curious", "message": "go", "id": "h"}, status=201)
        waiting = []
        self.wait_for(lambda: waiting.extend(self.good_call("GET", "/api/waiting")["waiting"]) or waiting)
        self.assertEqual((waiting[0]["question"], waiting[0]["word"], waiting[0]["arguments"]["options"]), (True, "approve", ["red", "blue"]))
        self.assertEqual(waiting[0]["reason"], "the agent asks: Which colour?")
        self.assertEqual(self.call("POST", "/api/sessions/h/answer", {}).status, 400)
        self.assertEqual(self.call("POST", "/api/sessions/h/answer", {"answer": ""}).status, 400)
        self.assertEqual(self.call("POST", "/api/sessions/h/answer", {"answer": "x"}, who="bob").status, 404)
        self.assertEqual(self.call("POST", "/api/sessions/h/answer", {"answer": "x"}, who="runner").status, 403)
        self.good_call("POST", "/api/sessions/h/answer", {"answer": "green", "call_id": waiting[0]["call_id"]})
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/h")["state"] == "finished")
        self.assertEqual(self.outcomes("h"), ["green"])
        self.assertEqual(self.call("POST", "/api/sessions/h/answer", {"answer": "x"}).status, 404)

    def test_over_mcp(self):
        """The client shows its user a form of the options; what he chooses is the answer."""
        self.asks()
        able = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_agent"}

        def run(**more):
            params = dict(name="run_agent", arguments={"agent": "curious", "message": "go"}, _meta=able, **more)
            answer = self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers=headers)
            return answer.json()["result"]

        first = run()
        (key, form), = first["inputRequests"].items()
        self.assertEqual(form["params"]["message"], "The agent asks: Which colour?")
        self.assertEqual(form["params"]["requestedSchema"], {"type": "object", "required": ["answer"], "properties": {
            "answer": {"type": "string", "title": "Your answer", "enum": ["red", "blue"]}}})
        done = run(requestState=first["requestState"], inputResponses={key: {"action": "accept", "content": {"answer": "red"}}})
        result = done["structuredContent"]
        self.assertEqual(result["output"], "So be it.", json.dumps(done))
        self.assertEqual(self.outcomes(result["session"]["session_id"]), ["red"])


if __name__ == "__main__":
    house.main()
