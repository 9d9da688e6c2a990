# SPDX-License-Identifier: Apache-2.0
"""An agent's servers of tools (MCP): what it has of them, what a call leaves, and what a hostile server gets."""

import json
import pathlib
import shutil
import subprocess
import sys

import house
import test_kill

SERVER = pathlib.Path(__file__).with_name("mcp_server.py")


def call(name, /, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


class Client(test_kill.Killing):
    def agent(self, *options, more="", **fields):
        """An agent file with the tests' own server, named t."""
        shutil.copy(SERVER, self.work / "server.py")
        server = dict({"name": "t", "command": ["/usr/bin/python3", "server.py", *options]}, **fields)
        path = self.work / "agent.yaml"
        path.write_text("model: gpt-5.4\ntools: [none]\nmcp_servers: [%s]\n%s" % (json.dumps(server), more))
        return path

    def received(self, method):
        lines = (self.work / "received.jsonl").read_text().splitlines()
        return [m for m in map(json.loads, lines) if m.get("method") == method]

    def told(self, name):
        return next(e["data"] for e in self.events(name) if e["kind"] == "mcp_tools")

    def outcomes(self, name):
        return [e["data"] for e in self.events(name) if e["kind"] == "outcome"]

    def ask(self, agent, *calls, name="one", code=0, end="Done."):
        """One answer with these calls, then the end; the outcomes in their order."""
        self.serve({"parts": list(calls)}, {"parts": [{"text": end}]})
        self.shown = self.good("run", "-a", agent, "-s", name, "go", code=code).out
        order = [e["data"]["call_id"] for e in self.events(name) if e["kind"] == "call"]
        return sorted(self.outcomes(name), key=lambda o: order.index(o["call_id"]))

    def test_calls(self):
        """Both eras, lists in pages: names, classes, results of each kind, and a picture as a blob."""
        for era in ("modern", "legacy"):
            with self.subTest(era=era):
                agent = self.agent("--era", era, "--pages", "3", deny=["hang", "crash"])
                add, draw, fail, long, steps, roots, structured = self.ask(
                    agent, call("t_add", a=19, b=23), call("t_draw"), call("t_fail"), call("t_long"), call("t_steps"),
                    call("t_roots"), call("t_structured"), name=era)
                told = self.told(era)
                self.assertEqual(told["revision"], "2026-07-28" if era == "modern" else "2025-06-18")
                self.assertEqual(told["software"], "test server 2" if era == "modern" else "test server 1")
                classes = {t["tool"]: t["class"] for t in told["tools"]}
                self.assertEqual((classes["add"], classes["look"], classes["wipe"]), ("W", "W", "X"))
                self.assertNotIn("hang", classes)
                self.assertEqual(told["left_out"], [{"tool": "no_object", "why": "its arguments are not an object"}])
                odd = next(t for t in told["tools"] if t["tool"].startswith("odd"))
                self.assertRegex(odd["name"], r"^t_odd_name_+[0-9a-f]{8}$")
                self.assertEqual(odd["description"], "bell  and [31mred")
                self.assertEqual((add["status"], add["output"]), ("done", "42"))
                self.assertEqual([p["type"] for p in draw["output"]], ["text", "image", "text"])
                self.assertIn("inside", draw["output"][2]["text"])
                self.assertEqual((fail["status"], fail["output"]), ("failed", "error: it did not work \ufffd"))
                self.assertIn("left out", long["output"])
                self.assertEqual(long["evidence"]["full_output"]["size"], 220010)
                self.assertEqual(steps["output"], "both steps")
                self.assertRegex(self.shown, r"progress   t_\w+: info: log\\x1b\[2J line")  # its stream does not say which call's
                self.assertIn("progress   t_steps: 1 of 2: step\\x1b[2J", self.shown)
                self.assertEqual(roots["output"], "file://%s" % self.work)
                self.assertEqual(json.loads(structured["output"]), {"answer": 42})
                self.assertEqual(len(self.received("tools/list")), 3)
                (self.work / "received.jsonl").unlink()
                self.standin.end()

    def test_approval_and_lists(self):
        """A destructive tool waits for a person; allow and reads; a list that grows is read again, and stays after a resume."""
        agent = self.agent(allow=["add", "look", "wipe", "grow", "late"], reads=["look"], approve=["add"], prefix="x-")
        self.serve({"parts": [call("x-look")]}, {"parts": [call("x-grow"), call("x-wipe")]},
                   {"expect": [{"tool": "x-late"}], "parts": [call("x-late"), call("x-add", a=1, b=1)]},
                   {"parts": [{"text": "Done."}]})
        self.good("run", "-a", agent, "-s", "one", "go", code=3)
        self.good("approve", "one")
        self.good("resume", "one", code=3)
        self.good("reject", "one")
        self.good("resume", "one")
        calls = [(e["data"]["tool"], e["data"]["class"], e["data"]["policy"]) for e in self.events("one") if e["kind"] == "call"]
        self.assertEqual(calls, [("x-look", "R", "run"), ("x-grow", "W", "run"), ("x-wipe", "X", "ask"),
                                 ("x-late", "W", "run"), ("x-add", "W", "ask")])
        self.assertEqual(self.kinds("one").count("mcp_tools"), 2)  # a list that is the same again is no event
        self.assertEqual(len(self.received("tools/list")), 3)
        self.assertEqual([m["params"]["name"] for m in self.received("tools/call")], ["look", "grow", "wipe", "late"])

    def test_no_answer(self):
        """A server that dies or is silent: unknown, and told; the next call has it again.  What only looks has failed."""
        agent = self.agent(reads=["hang"], timeout_s=1)
        crash, again, hang = self.ask(agent, call("t_crash"), call("t_add", a=1, b=2), call("t_hang"))
        self.assertEqual(crash["status"], "unknown")
        self.assertIn("exit status 9; it said: out of luck", json.dumps(crash["output"]))
        self.assertIn(again["status"], ("done", "unknown"))
        self.assertEqual(hang["status"], "failed")
        self.assertEqual(len([m for m in self.received("tools/call") if m["params"]["name"] == "crash"]), 1)

    def test_last_words(self):
        """Of a long traceback the end is told beside the beginning: there it says what is wrong."""
        said = "Traceback (most recent call last):\n%s\nAttributeError: 'é' has no attribute 'list_prompts'" % "\n".join(
            '  File "/x/python/lib/server.py", line %d, in ééé' % n for n in range(90))
        (crash,) = self.ask(self.agent(), call("t_crash", said=said))
        told = crash["output"][0]["text"]
        self.assertIn("it said: Traceback (most recent call last):", told)
        self.assertIn(" \u2026 ", told)
        self.assertTrue(told.endswith("AttributeError: 'é' has no attribute 'list_prompts'."), told)

    def test_offers(self):
        """Resources and prompts are tools that look, where allow names them; a tool of the server cannot be taken for one."""
        agent = self.agent("--era", "modern", allow=["add", "@*"], deny=["@*_templates"])
        listed, read, none, prompt, complete = self.ask(agent, call("t_list_resources"), call("t_read_resource", uri="note://1"),
                                              call("t_read_resource", uri="note://2"), call("t_get_prompt", name="p", arguments={"who": "Ann"}),
                                                        call("t_complete", ref={"type": "ref/prompt", "name": "p"}, argument={"name": "who", "value": "An"}))
        self.assertIn("note://1", listed["output"])
        self.assertIn('There are more: cursor "2"', listed["output"])
        self.assertIn("first note", str(read["output"]))
        self.assertEqual(none["status"], "failed")
        self.assertIn("Write to Ann", str(prompt["output"]))
        self.assertEqual(complete["output"], '["Ann","Anton"]')
        self.assertEqual({t["tool"]: t["class"] for t in self.told("one")["tools"]},
                         {"add": "W", "@list_resources": "R", "@read_resource": "R", "@list_prompts": "R", "@get_prompt": "R", "@complete": "R"})

    def test_person(self):
        """A server asks the person: the call waits without its clock, the answer is an event, and the server gets it in its form."""
        for era in ("modern", "legacy"):
            with self.subTest(era=era):
                agent = self.agent("--era", era, timeout_s=2)
                self.serve({"parts": [call("t_register")]}, {"parts": [{"text": "Done."}]})
                ended = self.good("run", "-a", agent, "-s", era, "go", code=3)
                self.assertIn("thole answer " + era, ended.out)
                (question,) = [e["data"] for e in self.events(era) if e["kind"] == "question"]
                self.assertIn("Who is it?", question["arguments"]["question"])
                self.good("answer", era, "name=Ann; age=old")
                self.good("resume", era, code=3)
                again = [e["data"] for e in self.events(era) if e["kind"] == "question"][-1]
                self.assertIn("age must be a number", again["arguments"]["question"])
                self.good("answer", era, "name=Ann")
                self.good("resume", era)
                (outcome,) = self.outcomes(era)
                self.assertEqual((outcome["status"], outcome["output"]), ("done", "registered Ann, 30"))
                self.assertEqual((self.work / "effects").read_text(), "register\n")
                self.assertEqual(self.kinds(era).count("intent"), 3)
                self.standin.end()

                self.serve({"parts": [call("t_register")]}, {"parts": [{"text": "Done."}]})
                self.good("run", "-a", agent, "-s", era + "-no", "go", code=3)
                self.good("reject", era + "-no")
                self.good("resume", era + "-no")
                self.assertEqual(self.outcomes(era + "-no")[0]["output"], "nobody: decline")
                (self.work / "effects").unlink()
                self.standin.end()

    def test_person_and_no_server(self):
        """The server that asked is gone: what it did before its question, nobody knows."""
        agent = self.agent("--era", "legacy")
        self.serve({"parts": [call("t_register")]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", agent, "-s", "gone", "go", code=3)
        self.kill_executor("gone")
        self.good("answer", "gone", "Ann")
        self.good("resume", "gone")
        (outcome,) = self.outcomes("gone")
        self.assertEqual(outcome["status"], "unknown")
        self.assertFalse((self.work / "effects").exists())

    def test_person_and_a_second_question(self):
        """What the server asks while its first question waits is called off, and the first goes on."""
        agent = self.agent("--era", "legacy", "--fault", "asks_twice")
        self.serve({"parts": [call("t_register")]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", agent, "-s", "two", "go", code=3)
        self.good("answer", "two", "Ann")
        self.good("resume", "two")
        self.assertEqual([o["output"] for o in self.outcomes("two")], ["registered Ann, 30"])

    def test_person_and_a_stop(self):
        agent = self.agent("--era", "modern")
        self.serve({"parts": [call("t_register")]})
        self.good("run", "-a", agent, "-s", "stop", "go", code=3)
        self.good("cancel", "stop")
        self.thole("resume", "stop")
        self.assertEqual([o["status"] for o in self.outcomes("stop")], ["unknown"])
        self.violations = False

    def begun(self):
        path = self.work / "received.jsonl"
        return path.exists() and any('"slow"' in line and "tools/call" in line for line in path.read_text().splitlines())

    def test_kill_runtime(self):
        """The runtime dies in a call: the server and the call go on, and the answer is taken over."""
        agent = self.agent()
        self.serve({"parts": [call("t_slow")]}, {"expect": [{"tool_output": {"contains": "slow is over"}}], "parts": [{"text": "Well."}]})
        process = self.start("run", "-a", agent, "-s", "k", "go")
        self.wait_for(self.begun)
        self.kill(process)
        resumed = self.resume_held("k")
        (self.work / "go").touch()
        out, err = resumed.communicate(timeout=house.SECONDS)
        self.assertEqual(resumed.returncode, 0, err)
        self.assertEqual((self.work / "effects").read_text(), "slow\n")
        self.assertEqual(len(self.received("tools/call")), 1)
        self.assertEqual(len(self.received("tools/list")), 1)
        self.assertEqual(len((self.work / "server.pid").read_text().splitlines()), 1)
        self.assertEqual(self.kinds("k").count("mcp_tools"), 1)

    def test_kill_executor(self):
        """The executor dies in a call: its server is gone with it, the call is unknown, and is not made again."""
        agent = self.agent()
        self.serve({"parts": [call("t_slow")]}, {"expect": [{"tool_output": {"contains": "may or may not have happened"}}],
                                                 "parts": [call("t_add", a=1, b=2)]}, {"parts": [{"text": "Well."}]})
        process = self.start("run", "-a", agent, "-s", "k", "go")
        self.wait_for(self.begun)
        self.kill_executor("k")
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual([o["status"] for o in self.outcomes("k")], ["unknown", "done"])
        self.assertFalse((self.work / "effects").exists())
        self.assertEqual([m["params"]["name"] for m in self.received("tools/call")], ["slow", "add"])

    def test_eras(self):
        """Servers that end, or are silent, when they are asked what they do not know; one whose era is given is not asked."""
        for options, fields, asked in ((("--era", "dies"), {}, 1), (("--era", "deaf"), {}, 1),
                                       (("--era", "legacy"), {"revision": "2025-11-25"}, 0),
                                       (("--era", "modern"), {"revision": "2026-07-28"}, 0)):
            with self.subTest(options=options):
                agent = self.agent(*options, **fields)
                (added,) = self.ask(agent, call("t_add", a=1, b=2), name=options[1])
                self.assertEqual(added["output"], "3")
                self.assertEqual(len(self.received("server/discover")), asked)
                (self.work / "received.jsonl").unlink()
                self.standin.end()

    def test_hostile(self):
        """Limits by name; noise is passed over, and an answer of another id is nobody's."""
        for fault, words in (("line", "more than 16777216 bytes"), ("chatter", "10000 messages"), ("deep", "cannot be read"),
                             ("version", "1999-01-01")):
            with self.subTest(fault=fault):
                agent = self.agent("--fault", fault, *(("--era", "legacy") if fault == "version" else ()))
                self.serve({"parts": [{"text": "never asked"}]})
                self.violations = False
                ended = self.good("run", "-a", agent, "-s", fault, "go", code=1)
                self.assertIn(words, ended.out + ended.err)
                self.standin.end()
        for fault in ("wrong_id", "noise"):
            with self.subTest(fault=fault):
                (added,) = self.ask(self.agent("--fault", fault), call("t_add", a=1, b=2), name=fault)
                self.assertEqual((added["status"], added["output"]), ("done", "3"))
                self.standin.end()
        self.ask(self.agent("--fault", "schema"), {"text": "well"}, name="schema")
        self.assertEqual([t["tool"] for t in self.told("schema")["tools"]], ["good"])
        self.assertEqual([t["tool"] for t in self.told("schema")["left_out"]], ["big", "deep"])

    def test_cannot_start(self):
        """The run fails, with what the server said; or goes on without it, as the file says."""
        agent = self.agent()
        (self.work / "server.py").write_text("import sys\nsys.exit('no luck today')\n")
        self.serve({"parts": [{"text": "Without."}]})
        ended = self.good("run", "-a", agent, "-s", "one", "go", code=1)
        self.assertIn("no luck today", ended.out + ended.err)
        agent = self.agent(optional=True)
        (self.work / "server.py").write_text("import sys\nsys.exit('no luck today')\n")
        self.good("run", "-a", agent, "-s", "two", "go")
        self.assertIn("no luck today", self.told("two")["failed"])


class Http(Client):
    """The same at an address."""

    def begin(self, *options):
        self.process = subprocess.Popen([sys.executable, str(SERVER.with_name("mcp_http.py")), *options], cwd=self.work, stdout=subprocess.PIPE)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.terminate)
        return self.process.stdout.readline().decode().strip()

    def address(self, url, **fields):
        path = self.work / "agent.yaml"
        path.write_text("model: gpt-5.4\ntools: [none]\nmcp_servers: [%s]\n" % json.dumps(dict({"name": "t", "url": url}, **fields)))
        return path

    def test_calls(self):
        """Both eras: a token that is in no log, headers, a picture, a stream that is taken up again, and the session's end."""
        self.env["MCP_TOKEN"] = "secret-token-1234"
        for era in ("modern", "legacy"):
            with self.subTest(era=era):
                agent = self.address(self.begin("--era", era, "--token", "secret-token-1234", "--pages", "2"), token_env="MCP_TOKEN",
                                     headers=["X-Team: blue"])
                add, draw, fail, long, steps, cut = self.ask(
                    agent, call("t_add", a=19, b=23), call("t_draw"), call("t_fail"), call("t_long"), call("t_steps"), call("t_cut"), name=era)
                self.assertEqual((add["status"], add["output"]), ("done", "42"))
                self.assertEqual([p["type"] for p in draw["output"]], ["text", "image", "text"])
                self.assertEqual((fail["status"], fail["output"]), ("failed", "error: it did not work \ufffd"))
                self.assertEqual(long["evidence"]["full_output"]["size"], 220010)
                self.assertEqual((steps["status"], steps["output"]), ("done", "both steps"))
                self.assertEqual(cut["status"], "unknown")
                received = [json.loads(line) for line in (self.work / "received.jsonl").read_text().splitlines()]
                self.assertEqual({r["headers"].get("x-team") for r in received}, {"blue"})
                gets = ["last-event-id" in r["headers"] for r in received if r["http"] == "GET"]
                self.assertEqual(gets, [False, True] if era == "legacy" else [])  # to what is said unasked; behind a cut
                self.assertEqual([r["http"] for r in received].count("DELETE"), 1 if era == "legacy" else 0)
                self.assertEqual(len(self.received("tools/call")), 6)
                self.assertNotIn("secret-token", self.good("log", era, "--json").out)
                (self.work / "received.jsonl").unlink()
                self.standin.end()

    def test_refused(self):
        """Without its token, without a server, and with a session that the server has forgotten."""
        self.env["MCP_TOKEN"] = "wrong"
        agent = self.address(self.begin("--token", "right"), token_env="MCP_TOKEN")
        self.serve({"parts": [{"text": "never asked"}]})
        self.violations = False
        ended = self.good("run", "-a", agent, "-s", "token", "go", code=1)
        self.assertIn("wants another token", ended.out)
        ended = self.good("run", "-a", self.address("http://127.0.0.1:9/"), "-s", "nobody", "go", code=1)
        self.assertIn("server t", ended.out)
        ended = self.good("run", "-a", self.address("http://127.0.0.1:9/", token_env="MCP_NONE"), "-s", "none", "go", code=1)
        self.assertIn("MCP_NONE", ended.out)
        self.bad(2, "http://", "run", "-a", self.address("ftp://x/"), "-s", "ftp", "go")

    def test_a_stream_that_is_refused(self):
        """The call was taken before, so nobody may say that it was not started."""
        self.env["MCP_TOKEN"] = "right"
        agent = self.address(self.begin("--era", "legacy", "--token", "right", "--fault", "expires"), token_env="MCP_TOKEN")
        (steps,) = self.ask(agent, call("t_steps"), name="u")
        self.assertEqual(steps["status"], "unknown")
        self.assertEqual(len(self.received("tools/call")), 1)

    def test_forgotten(self):
        """A session that the server no longer knows when its list is asked for."""
        url = self.begin("--era", "legacy", "--fault", "forgets")
        self.serve({"parts": [{"text": "never asked"}]})
        self.violations = False
        ended = self.good("run", "-a", self.address(url), "-s", "g", "go", code=1)
        self.assertIn("HTTP status 404", ended.out)

    def test_kill_runtime(self):
        """The runtime dies in a call: nobody can know, and it is not made again."""
        agent = self.address(self.begin())
        self.serve({"parts": [call("t_slow")]}, {"expect": [{"tool_output": {"contains": "may or may not have happened"}}],
                                                 "parts": [{"text": "Well."}]})
        process = self.start("run", "-a", agent, "-s", "k", "go")
        self.wait_for(self.begun)
        self.kill(process)
        (self.work / "go").touch()
        self.good("resume", "k")
        self.assertEqual([o["status"] for o in self.outcomes("k")], ["unknown"])
        self.assertEqual(len(self.received("tools/call")), 1)
        self.assertEqual(len(self.received("tools/list")), 1)

    test_offers = test_last_words = test_person = test_person_and_no_server = test_person_and_a_stop = None
    test_approval_and_lists = test_eras = test_hostile = test_no_answer = test_cannot_start = test_kill_executor = None


if __name__ == "__main__":
    house.main()
