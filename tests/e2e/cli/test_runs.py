# SPDX-License-Identifier: Apache-2.0
"""Whole runs against the stand-in: tools, approvals, interruption, resumption, forks, the log."""

import http.server
import json
import os
import pty
import pwd
import select
import signal
import subprocess
import threading
import time
import urllib.request

import house

SHELL = {"function_call": {"name": "shell", "arguments": {"command": "echo hello > made.txt; cat made.txt"}}}


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Runs(house.House):
    def test_text(self):
        self.serve([{"text": "Hello, person."}])
        ended = self.good("run", "-m", "gpt-5.4", "-s", "one", "hello")
        self.assertIn("Hello, person.", ended.out)
        self.assertIn("finished: 1 turn", ended.out)
        self.assertIn(house.THOLE + " log one", ended.out)
        self.assertNotIn("\033", ended.out)
        self.assertEqual(self.kinds("one"),
                         ["session_created", "message", "model_requested", "model_answered", "final"])

    def test_hints(self):
        """A hint can be typed as it stands, however the program was called and whatever the session is called."""
        folder = self.folder / "it's here"
        folder.mkdir()
        (folder / "thole").symlink_to(house.THOLE)
        for program, path in ((str(folder / "thole"), os.environ["PATH"]), ("thole", "%s:%s" % (folder, os.environ["PATH"]))):
            name = "a$(touch,here)'%d" % len(program)
            options = dict(env=dict(self.env, PATH=path), cwd=self.work, input="", capture_output=True, text=True)
            ended = subprocess.run([program, "run", "-m", "human/human", "-s", name, "say hello"], **options)
            self.assertEqual(ended.returncode, 3, ended)
            hints = dict(line.split(":", 1) for line in ended.stdout.splitlines() if line.startswith(("log:", "go on:")))
            self.assertEqual(len(hints), 2, ended)
            self.assertIn("say hello", subprocess.run(["sh", "-c", hints["log"]], **options).stdout)
            self.assertEqual(subprocess.run(["sh", "-c", hints["go on"]], **options).returncode, 3)
            self.assertEqual(list(self.work.iterdir()), [])

    def test_refused_for_its_agent(self):
        """A session keeps its agent: after a 400 the hint says how to begin with a mended one, and that works."""
        self.violations = False
        self.serve([{"text": "Mended."}])
        agent = self.work / "agent.yaml"
        agent.write_text("name: a\nmodel: gpt-5.4\nsettings: {extra_body: {nonsense: 1}}\n")
        ended = self.good("run", "-a", agent, "-s", "bad", "hello", code=1)
        hint = ('go on:    %s run -a FILE "TASK"   (where the agent is to blame, mend its file and begin a new session: '
                'this one keeps the agent it has; or the same again: %s resume bad)\n')
        for ended in (ended, self.good("resume", "bad", code=1)):
            self.assertIn(hint % (house.THOLE, house.THOLE), ended.out)
        # Why nothing less helps: neither the session nor its fork takes another agent.
        self.bad(2, "keeps the agent it began with", "run", "-a", agent, "-s", "bad", "hello")
        self.bad(2, "no option -a", "fork", "bad", "other", "-a", agent)
        agent.write_text("name: a\nmodel: gpt-5.4\n")
        self.assertIn("Mended.", self.good("run", "-a", agent, "hello").out)

    def test_tools(self):
        self.serve([{"reasoning": "I make a file."}, SHELL],
                   [{"function_call": {"name": "read_file", "arguments": {"path": "made.txt"}}}],
                   {"expect": [{"tool_output": {"contains": "hello"}}], "parts": [{"text": "It says hello."}]})
        ended = self.good("run", "-m", "gpt-5.4", "-s", "tools", "make a file")
        self.assertEqual((self.work / "made.txt").read_text(), "hello\n")
        for words in ("thinks", "I make a file.", "does", "shell: echo hello", "exit 0", "read_file: made.txt",
                      "It says hello.", "finished: 3 turns, 2 calls"):
            self.assertIn(words, ended.out)
        log = self.good("log", "tools").out
        self.assertIn("shell: echo hello", log)
        events = self.events("tools")
        intents = [e["data"]["effect_id"] for e in events if e["kind"] == "intent"]
        outcomes = [e["data"]["effect_id"] for e in events if e["kind"] == "outcome"]
        self.assertEqual(intents, outcomes)

    def test_chat_completions(self):
        """A server of one's own: two calls at once, a fault on the way, the same answer's message back in the next turn."""
        self.serve({"parts": [{"text": "Two things."}, SHELL, shell("echo second")],
                    "faults": [{"status": 503}, {"cut": 400}]},
                   {"expect": [{"tool_output": {"nth": 0, "contains": "hello"}}, {"tool_output": {"nth": 1, "contains": "second"}}],
                    "parts": [{"text": "Both done."}]}, flavour="vllm", api="chat")
        ended = self.good("run", "-m", "chat:org/open-model", "-s", "chat", "two things")
        for words in ("Two things.", "exit 0", "Both done.", "finished: 2 turns, 2 calls"):
            self.assertIn(words, ended.out)
        self.assertEqual({r["path"] for r in self.standin.requests()}, {"/v1/chat/completions"})
        self.assertEqual({r["model"] for r in self.standin.requests()}, {"org/open-model"})

    def test_fallback(self):
        """The first server answers one turn and then no more; another provider's model goes on with the same history."""
        step = {"parts": [SHELL]}
        self.serve(step, {"parts": [{"text": "never said"}], "faults": [{"status": 401, "times": -1}]})
        (self.folder / "second").mkdir()
        second = house.Standin(self.folder / "second", {"turns": [step, {
            "expect": [{"tool_output": {"contains": "hello"}}], "parts": [{"text": "The other one is here."}]}]})
        try:
            self.env.update(ANTHROPIC_BASE_URL=second.url[:-len("/v1")], ANTHROPIC_API_KEY="sk-other-do-not-print-me")
            ended = self.good("run", "-m", "gpt-5.4,claude-sonnet-4-5", "-s", "two", "make a file")
            self.assertIn("goes on with claude-sonnet-4-5", ended.out)
            self.assertIn("The other one is here.", ended.out)
            events = self.events("two")
            self.assertEqual([e["data"].get("next") for e in events if e["kind"] == "model_failed"], ["claude-sonnet-4-5"])
            self.assertEqual([e["data"]["model"] for e in events if e["kind"] == "model_requested"],
                             ["gpt-5.4", "gpt-5.4", "claude-sonnet-4-5"])
            self.assertEqual(len([e for e in events if e["kind"] == "intent"]), 1)
            asked = second.requests()
            self.assertEqual([r["path"] for r in asked], ["/v1/messages"])
            self.assertEqual([r for r in asked if r.get("violations") or r.get("expect_failed")], [])
            self.assertNotIn(house.KEY, str(asked))
        finally:
            second.end()

    def test_previous_response(self):
        """Requests hold what is new since the answer before; a provider that has forgotten it gets the whole history once."""
        self.serve({"parts": [SHELL]},
                   {"expect": [{"tool_output": {"contains": "hello"}}], "parts": [shell("echo more")]},
                   {"parts": [shell("echo third")],
                    "faults": [{"status": 400, "body": {"error": {
                        "message": "Previous response with id 'x' not found.", "type": "invalid_request_error",
                        "param": "previous_response_id", "code": "previous_response_not_found"}}}]},
                   {"expect": [{"tool_output": {"contains": "third"}}], "parts": [{"text": "All three."}]})
        (self.folder / "agent.yaml").write_text(
            "model: gpt-5.4\nworkspace: %s\nsettings: {history: previous_response}\n" % self.work)
        self.assertIn("All three.", self.good("run", "-a", self.folder / "agent.yaml", "-s", "kept", "go").out)
        events = self.events("kept")
        asked = [e["data"] for e in events if e["kind"] == "model_requested"]
        answers = [e["data"]["response_id"] for e in events if e["kind"] == "model_answered"]
        self.assertEqual([r.get("previous") for r in asked], [None, answers[0], answers[1], None, answers[2]])
        self.assertEqual([r["items"] for r in asked], [1, 1, 1, 5, 1])
        self.assertEqual([r["attempt"] for r in asked], [1] * 5)
        self.assertEqual([e["data"].get("whole") for e in events if e["kind"] == "model_failed"], [True])

    def in_conversation(self, conversation, url=""):
        path = self.folder / "agent.yaml"
        path.write_text("model: gpt-5.4\nworkspace: %s\n%ssettings: {conversation: %s}\n" % (
            self.work, "base_url: %s\n" % url if url else "", conversation))
        return path

    def test_conversation(self):
        """Requests hold what the provider's conversation does not have, over a restart too."""
        self.serve({"parts": [SHELL]}, {"parts": [{"text": "Said."}]},
                   {"expect": [{"turns": {"min": 2}}], "parts": [{"text": "And again."}]})
        made = urllib.request.Request(self.standin.url + "/conversations", data=b"{}", method="POST", headers={
            "Authorization": "Bearer " + house.KEY, "Content-Type": "application/json"})
        with urllib.request.urlopen(made, timeout=house.SECONDS) as answer:
            conversation = json.load(answer)["id"]
        self.good("run", "-a", self.in_conversation(conversation), "-s", "kept", "go")
        self.assertIn("And again.", self.good("run", "-s", "kept", "once more").out)
        asked = [e["data"] for e in self.events("kept") if e["kind"] == "model_requested"]
        self.assertEqual([(r["conversation"], r["items"]) for r in asked], [(conversation, 1)] * 3)

    def test_a_lost_answer_in_a_conversation(self):
        """kill -9 while the model is asked: what was sent may be in the conversation, and is not sent again by itself."""
        asked, open_ = [], threading.Event()

        class Provider(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                if len(asked) == 1:
                    open_.set()
                    self.rfile.read()  # until the other side is gone
                    return
                text = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                         "content": [{"type": "output_text", "text": "Now it is said.", "annotations": []}]}]
                body = json.dumps({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.4",
                                   "output": text}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            agent = self.in_conversation("conv_1", "http://127.0.0.1:%d/v1" % server.server_port)
            first = self.start("run", "-a", agent, "-s", "lost", "go")
            self.assertTrue(open_.wait(house.SECONDS))
            first.kill()
            first.communicate()
            ended = self.thole("resume", "lost")
            self.assertEqual(ended.code, 1)
            self.assertIn("nobody knows whether the conversation conv_1 has what was sent", ended.out + ended.err)
            self.assertEqual(len(asked), 1)
            self.assertIn("Now it is said.", self.good("resume", "lost").out)
        finally:
            server.shutdown()
            server.server_close()
        self.assertEqual([(r["conversation"], r["input"]) for r in asked], [("conv_1", asked[0]["input"])] * 2)

    def test_background(self):
        """The answer is asked for once and fetched by its id, by another process after a kill too."""
        asked, state, polled = [], {"status": "in_progress"}, threading.Event()

        class Provider(http.server.BaseHTTPRequestHandler):
            def reply(self, status):
                text = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                         "content": [{"type": "output_text", "text": "Done in the background.", "annotations": []}]}]
                body = json.dumps({"id": "resp_1", "object": "response", "status": status, "model": "gpt-5.4",
                                   "output": text if status == "completed" else []}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append(("POST", self.path, body.get("background"), body.get("store")))
                self.reply("queued")

            def do_GET(self):
                asked.append(("GET", self.path))
                self.reply(state["status"])
                polled.set()

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            (self.folder / "agent.yaml").write_text(
                "model: gpt-5.4\nbase_url: http://127.0.0.1:%d/v1\nworkspace: %s\nsettings: {background: true}\n"
                % (server.server_port, self.work))
            first = self.start("run", "-a", self.folder / "agent.yaml", "-s", "bg", "go")
            self.assertTrue(polled.wait(house.SECONDS))
            first.kill()
            first.communicate()
            state["status"] = "completed"
            self.assertIn("Done in the background.", self.good("resume", "bg").out)
        finally:
            server.shutdown()
            server.server_close()
        self.assertEqual(asked[0], ("POST", "/v1/responses", True, True))
        self.assertEqual(set(asked[1:]), {("GET", "/v1/responses/resp_1")})
        self.assertEqual(self.kinds("bg"), ["session_created", "message", "model_requested", "model_started",
                                            "model_requested", "model_answered", "final"])

    def test_background_stream(self):
        """Killed while it streams: another process takes the stream up behind the event that was recorded."""
        asked, cut = [], threading.Event()

        def event(number, kind, **members):
            return ("event: response.%s\ndata: %s\n\n" % (kind, json.dumps(
                {"type": "response." + kind, "sequence_number": number, **members}))).encode()

        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Streamed to the end.", "annotations": []}]}
        events = [event(0, "created", response={"id": "resp_1", "status": "queued", "model": "gpt-5.4"}),
                  event(1, "output_item.added", output_index=0, item=dict(item, status="in_progress", content=[])),
                  event(2, "output_text.delta", output_index=0, content_index=0, item_id="msg_1", delta="Streamed to "),
                  event(3, "output_text.delta", output_index=0, content_index=0, item_id="msg_1", delta="the end."),
                  event(4, "output_item.done", output_index=0, item=item),
                  event(5, "completed", response={"id": "resp_1", "status": "completed", "model": "gpt-5.4", "output": []})]

        class Provider(http.server.BaseHTTPRequestHandler):
            def stream(self, some):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b"".join(some))
                self.wfile.flush()

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                asked.append(("POST", self.path))
                self.stream(events[:3])
                cut.wait(house.SECONDS)

            def do_GET(self):
                asked.append(("GET", self.path, self.headers["Accept"]))
                self.stream(events[1:])

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            (self.folder / "agent.yaml").write_text(
                "model: gpt-5.4\nbase_url: http://127.0.0.1:%d/v1\nworkspace: %s\nsettings: {background: true}\n"
                % (server.server_port, self.work))
            first = self.start("run", "-a", self.folder / "agent.yaml", "-s", "bs", "go")
            self.wait_for(lambda: "model_started" in self.thole("log", "bs", "--json").out)
            first.kill()
            first.communicate()
            self.assertIn("Streamed to the end.", self.good("resume", "bs").out)
        finally:
            cut.set()
            server.shutdown()
            server.server_close()
        self.assertEqual(asked, [("POST", "/v1/responses"),
                                 ("GET", "/v1/responses/resp_1?stream=true&starting_after=0", "text/event-stream")])
        self.assertEqual(self.kinds("bs"), ["session_created", "message", "model_requested", "model_started",
                                            "model_requested", "model_answered", "final"])

    def test_models_file(self):
        """A profile of one's own: its server, the name it sends, no key of another's; found again by a later message."""
        self.serve({"parts": [{"text": "One."}]}, {"parts": [{"text": "Two."}]}, flavour="vllm", api="chat")
        rows = self.folder / "config" / "thole" / "models.yaml"
        rows.write_text("models:\n- name: lab\n  wire: chat\n  base_url: %s\n  sends: org/open-model\n"
                        "  price: {input: 1, output: 2}\n" % self.standin.url)
        del self.env["OPENAI_BASE_URL"]
        self.violations = False  # the first request has no key, as its row asks for none
        self.assertEqual(self.thole("run", "-m", "lab", "-s", "keyless", "first").code, 1)
        self.assertEqual(self.standin.requests()[0]["status"], 401)
        rows.write_text(rows.read_text() + "  key_env: LAB_KEY\n")
        self.env["LAB_KEY"] = "sk-of-the-lab"
        self.good("run", "-m", "lab", "-s", "lab", "first")
        self.good("run", "-s", "lab", "second")
        self.assertEqual({r["model"] for r in self.standin.requests()[1:]}, {"org/open-model"})
        self.assertEqual({r["status"] for r in self.standin.requests()[1:]}, {200})
        self.assertTrue(all(e["data"]["cost_nano"] > 0 for e in self.events("lab") if e["kind"] == "model_answered"))
        said = self.good("models", "lab").out
        for words in ("org/open-model", "your row in %s" % rows, "is set", self.standin.url):
            self.assertIn(words, said)
        self.assertIn("* lab ", self.good("models").out)
        rows.write_text("models:\n- name: lab\n  wire: chatt\n")
        ended = self.thole("run", "-m", "lab", "third")
        self.assertEqual(ended.code, 2, ended)
        self.assertIn("models.yaml:3: models[0].wire", ended.err)
        self.good("log", "lab")  # a mistake there keeps nobody from his log

    def test_json_is_the_log(self):
        self.serve([SHELL], [{"text": "done"}])
        ended = self.good("run", "-m", "gpt-5.4", "-s", "j", "--json", "go")
        self.assertEqual(ended.err, "")
        self.assertEqual(ended.out, self.good("log", "j", "--json").out)
        for line in ended.out.splitlines():
            json.loads(line)
        items = json.loads(self.good("plumb", "fold", stdin=ended.out).out)["items"]
        self.assertEqual([i.get("type", "message") for i in items],
                         ["message", "function_call", "function_call_output", "message"])
        state = json.loads(self.good("plumb", "fold", "--state", stdin=ended.out).out)
        self.assertEqual(state["state"], "finished")

    def test_a_diff_is_applied(self):
        def patch(asked, *mode):
            return json.loads(self.good("plumb", "patch", *mode, stdin=json.dumps(asked)).out)

        self.assertEqual(patch({"input": "a\nb\n", "diff": "@@\n-a\n+A\n"}), {"output": "A\nb\n"})
        self.assertEqual(patch({"input": "a\n", "diff": "@@\n-b\n"}, "--mode", "update"),
                         {"error": "Invalid Context 0:\nb"})
        self.assertEqual(patch({"diff": "+one\n+two\n"}, "--mode", "create"), {"output": "one\ntwo"})

    def test_quiet_and_task_from_stdin(self):
        self.serve([{"text": "Just this."}])
        ended = self.good("run", "-m", "gpt-5.4", "--quiet", "-", stdin="hello\n")
        self.assertEqual(ended.out, "Just this.\n")
        self.assertEqual(ended.err, "")

    def test_session_goes_on(self):
        self.serve([{"text": "First."}], {"expect": [{"user": "again"}], "parts": [{"text": "Second."}]})
        self.good("run", "-m", "gpt-5.4", "-s", "talk", "hello")
        self.assertIn("Second.", self.good("run", "-s", "talk", "again").out)
        self.bad(2, ["talk exists", "-m"], "run", "-s", "talk", "-m", "gpt-5.4", "once more")
        ended = self.thole("resume", "talk")
        self.assertEqual(ended.code, 0)
        self.assertIn("is finished", ended.err)

    def test_agent_file_and_options(self):
        self.serve({"expect": [{"system": "You are a test."}], "parts": [{"text": "ok"}]})
        (self.folder / "a.yaml").write_text(
            "name: tester\ninstructions: You are a test.\nmodel: gpt-5.4\nworkspace: work\ntools: [read_file]\n")
        self.good("run", "-a", self.folder / "a.yaml", "-s", "a", "hello", cwd=str(self.folder))
        created = self.events("a")[0]["data"]
        self.assertEqual(created["agent"]["name"], "tester")
        self.assertEqual(created["workspace"], os.path.realpath(self.work))

    def test_limit(self):
        self.serve([SHELL], after="repeat_last")
        ended = self.good("run", "-m", "gpt-5.4", "-s", "lim", "--turns", "2", "go", code=4)
        self.assertIn("limit: 2 turns", ended.out)
        self.assertIn(house.THOLE + " resume lim", ended.out)

    def test_used_up(self):
        """Tokens and money are the session's for good: the command that is named gives more of them."""
        self.serve({"parts": [SHELL], "usage": {"input": 5000, "output": 5}}, after="repeat_last")
        (self.work / "small.yaml").write_text("model: gpt-5.4\nlimits: {tokens: 4000}\n")
        ended = self.good("run", "-a", self.work / "small.yaml", "-s", "used", "go", code=4)
        self.assertIn("the limit of tokens is reached", ended.out)
        self.assertIn(house.THOLE + " resume used --more tokens=N\n", ended.out)
        self.assertEqual(self.good("resume", "used", code=4).out.count("--more"), 1)

    def test_escapes_do_not_get_out(self):
        self.serve([{"text": "\033]0;title\007red \033[31m text \u202e end"}],)
        ended = self.good("run", "-m", "gpt-5.4", "-s", "esc", "hello")
        self.assertNotIn("\033", ended.out)
        self.assertNotIn("\007", ended.out)
        self.assertNotIn("\u202e", ended.out)
        self.assertNotIn("\033", self.good("log", "esc").out)

    def test_retry_is_shown(self):
        self.serve({"parts": [{"text": "at last"}], "faults": [{"status": 503}]})
        self.violations = False
        ended = self.good("run", "-m", "gpt-5.4", "-s", "r", "hello")
        self.assertIn("retries", ended.out)
        self.assertIn("at last", ended.out)


class Approvals(house.House):
    def test_restart_between(self):
        self.serve([shell("echo yes > approved.txt")], [{"text": "written"}])
        ended = self.good("run", "-m", "gpt-5.4", "-s", "ap", "--approve", "shell", "go", code=3)
        self.assertIn(house.THOLE + " approve ap", ended.out)
        self.assertIn("echo yes > approved.txt", ended.out)
        self.assertFalse((self.work / "approved.txt").exists())
        self.assertIn("waiting", self.good("sessions").out)
        # Going on without a decision changes nothing.
        self.good("resume", "ap", code=3)
        self.assertIn("approved: shell: echo yes", self.good("approve", "ap").out)
        self.assertFalse((self.work / "approved.txt").exists())
        self.good("resume", "ap")
        self.assertEqual((self.work / "approved.txt").read_text(), "yes\n")
        self.bad(1, ["nothing in it waits"], "approve", "ap")

    def test_approved_for_good(self):
        """One word for every later call of the tool."""
        self.serve([shell("echo a")], [shell("echo b")], [{"text": "both"}])
        self.good("run", "-m", "gpt-5.4", "-s", "yes", "--approve", "shell", "go", code=3)
        self.good("approve", "yes", "--always")
        self.assertIn("both", self.good("resume", "yes").out)

    def test_approved_for_good_with_those_that_wait(self):
        self.serve([shell("echo a"), shell("echo b")], [{"text": "both"}])
        self.good("run", "-m", "gpt-5.4", "-s", "two", "--approve", "shell", "go", code=3)
        self.assertEqual(self.good("approve", "two", "--always").out.count("approved: "), 2)
        self.assertIn("both", self.good("resume", "two").out)

    def test_rejected_for_good(self):
        self.serve([shell("echo a")], [shell("echo b")],
                   {"expect": [{"tool_output": {"contains": "no shells"}}], "parts": [{"text": "neither"}]})
        self.good("run", "-m", "gpt-5.4", "-s", "no", "--approve", "shell", "go", code=3)
        self.good("reject", "no", "--always", "-m", "no shells")
        self.assertIn("neither", self.good("resume", "no").out)
        self.assertEqual(self.kinds("no").count("approval_requested"), 1)
        self.assertNotIn("intent", self.kinds("no"))

    def test_its_desktop_meanwhile(self):
        self.serve([{"screenshot": True}], [shell("true")], [{"text": "over"}])
        ended = self.good("run", "-m", "gpt-5.4", "-c", "desktop:640x480", "-s", "desk", "--approve", "shell", "go", code=3)
        self.assertIn("picture 640x480", ended.out)
        self.assertEqual(self.good("computer", "-s", "desk", "size").out, "640x480\n")
        self.good("computer", "-s", "desk", "see", "-o", self.work / "p.png")
        self.good("approve", "desk")
        self.good("resume", "desk")
        self.good("log", "desk", "--blobs", self.work / "blobs")
        self.assertEqual(len(list((self.work / "blobs").iterdir())), 1)

    def test_reject(self):
        self.serve([shell("echo no > rejected.txt")],
                   {"expect": [{"tool_output": {"contains": "not today"}}], "parts": [{"text": "as you like"}]})
        self.good("run", "-m", "gpt-5.4", "-s", "re", "--approve", "all", "go", code=3)
        self.good("reject", "re", "-m", "not today")
        self.assertIn("as you like", self.good("resume", "re").out)
        self.assertFalse((self.work / "rejected.txt").exists())

    def test_on_a_terminal(self):
        for answer, code, exists in (("y", 0, True), ("n", 0, False), ("q", 3, False)):
            with self.subTest(answer=answer):
                if self.standin:
                    self.standin.end()
                    (self.folder / "port.txt").unlink()
                self.serve([shell("echo hi > t-%s.txt" % answer)], [{"text": "over"}])
                out, status = self.terminal("run", "-m", "gpt-5.4", "-s", "term-" + answer, "--approve", "shell", "go",
                                            when="[y/a/N/q]", say=[answer + "\n"])
                self.assertEqual(status, code, out)
                self.assertIn('"command"', out)
                self.assertEqual((self.work / ("t-%s.txt" % answer)).exists(), exists)

    def test_a_slip_on_a_terminal_decides_nothing(self):
        self.serve([shell("echo hi > slip.txt")], [{"text": "over"}])
        out, status = self.terminal("run", "-m", "gpt-5.4", "-s", "slip", "--approve", "shell", "go", when="[y/a/N/q]",
                                    say=["u\n", "y\n"])
        self.assertEqual((status, (self.work / "slip.txt").exists()), (0, True), out)
        self.assertEqual([e["data"]["approve"] for e in self.events("slip") if e["kind"] == "approval_decided"], [True])

    def test_who_decided_is_in_the_log(self):
        """Also where nobody logged in, as in a container or under cron: never the program's own name."""
        self.serve([shell("true")], [shell("true")], [{"text": "over"}])
        self.good("run", "-m", "gpt-5.4", "-s", "who", "--approve", "shell", "go", code=3)
        self.good("approve", "who")
        self.terminal("resume", "who", when="[y/a/N/q]", say=["y\n"])
        names = {pwd.getpwuid(os.getuid()).pw_name}
        try:
            names = {os.getlogin()}
        except OSError:
            pass
        decided = [e["data"]["by"] for e in self.events("who") if e["kind"] == "approval_decided"]
        self.assertEqual((len(decided), set(decided)), (2, names))

    def test_all_of_a_call_is_shown(self):
        """Who approves away from a terminal reads what run and log say: nothing of the call may be missing there."""
        (self.work / "pay.yaml").write_text("""model: gpt-5.4
tools:
  - name: pay
    parameters: {type: object, properties: {path: {type: string}, euros: {type: integer}}}
    command: [cat]
    approve: true
  - write_file
approve: [write_file]
""")
        self.serve([{"function_call": {"name": "pay", "arguments": {"path": "ann", "euros": 1000000}}},
                    {"function_call": {"name": "write_file", "arguments": {"path": "f", "content": "rm -rf /\n"}}}],
                   [{"text": "over"}])
        ended = self.good("run", "-a", self.work / "pay.yaml", "-s", "pay", "go", code=3)
        log = self.good("log", "pay").out
        for text in (ended.out, log):
            self.assertIn('waits:    pay: ann {"euros":1000000}\n', text)
            self.assertIn('waits:    write_file: f, 9 bytes\nwith:     {"path":"f","content":"rm -rf /\\n"}\n', text)
            self.assertIn("approve:  %s approve pay call_" % house.THOLE, text)
        self.good("reject", "pay", "--all")
        self.assertNotIn("waits:", self.good("log", "pay").out)

    def terminal(self, *args, when, say):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execve(house.THOLE, [house.THOLE, *args], self.env)
        out, said, deadline = b"", 0, time.monotonic() + house.SECONDS
        while time.monotonic() < deadline:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    break
                if not data:
                    break
                out += data
            if said < len(say) and out.count(when.encode()) > said:
                os.write(fd, say[said].encode())
                said += 1
        os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return out.decode(errors="replace"), status


class Interruption(house.House):
    def test_ctrl_c_while_the_model_is_asked(self):
        self.serve({"parts": [{"text": "late"}], "faults": [{"delay": 15}]})
        process = self.start("run", "-m", "gpt-5.4", "-s", "slow", "hello")
        self.wait_for(lambda: self.standin.requests() or self.has_event("slow", "model_requested"))
        began = time.monotonic()
        ended = self.interrupt(process)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(ended.code, 130, ended)
        self.assertIn(house.THOLE + " resume slow", ended.out)
        state = [e for e in self.events("slow") if e["kind"] == "state_changed"]
        self.assertEqual(state[-1]["data"]["to"], "paused")
        self.assertIn("late", self.good("resume", "slow").out)

    def has_event(self, name, kind):
        ended = self.thole("log", name, "--json")
        return ended.code == 0 and '"kind":"%s"' % kind in ended.out

    def test_ctrl_c_while_a_command_runs(self):
        self.serve([shell("echo x >> once.txt; sleep 4; echo y >> once.txt")],
                   {"expect": [{"tool_output": {"contains": "exit code 0"}}], "parts": [{"text": "over"}]})
        process = self.start("run", "-m", "gpt-5.4", "-s", "cmd", "go")
        self.wait_for(lambda: (self.work / "once.txt").exists())
        ended = self.interrupt(process)
        self.assertEqual(ended.code, 130, ended)
        self.good("resume", "cmd")
        self.assertEqual((self.work / "once.txt").read_text(), "x\ny\n")
        self.assertEqual(self.kinds("cmd").count("intent"), 1)

    def test_kill_while_a_command_runs(self):
        self.serve([shell("echo x >> once.txt; sleep 2; echo y >> once.txt")], [{"text": "over"}])
        process = self.start("run", "-m", "gpt-5.4", "-s", "kill", "go")
        self.wait_for(lambda: (self.work / "once.txt").exists())
        process.kill()
        process.communicate()
        self.good("resume", "kill")
        self.assertEqual((self.work / "once.txt").read_text(), "x\ny\n")
        self.assertEqual(self.kinds("kill").count("intent"), 1)

    def test_cancel(self):
        self.serve([shell("echo x > begun.txt; sleep 60; echo y > ended.txt")], [{"text": "over"}])
        process = self.start("run", "-m", "gpt-5.4", "-s", "can", "go")
        self.wait_for(lambda: (self.work / "begun.txt").exists())
        self.assertIn("can is stopped", self.good("cancel", "can").out)
        process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.events("can")[-1]["data"]["to"], "stopped")
        self.assertFalse((self.work / "ended.txt").exists())
        self.good("cancel", "can")

    def test_same_name_in_two_stores(self):
        """Each has an executor of its own, found by any spelling of the store's path."""
        self.serve([shell("test -e quick || { echo x > begun; sleep 300; }")], [{"text": "done"}])
        other = self.folder / "other"
        other.mkdir()
        other.chmod(0o777)
        (other / "quick").touch()
        stores = ["sqlite:%s/%s.db" % (self.folder, name) for name in "ab"]
        process = self.start("run", "-m", "gpt-5.4", "-s", "same", "--store", stores[0], "go")
        self.wait_for((self.work / "begun").exists)
        ended = self.good("run", "-m", "gpt-5.4", "-s", "same", "--store", stores[1], "go", cwd=str(other))
        self.assertIn("finished: 2 turns", ended.out)
        self.interrupt(process)
        journals = set()
        for store in stores:
            log = self.good("log", "same", "--json", "--store", store).out.splitlines()
            intents = [e["data"] for e in map(json.loads, log) if e["kind"] == "intent"]
            self.assertEqual(len(intents), 1)
            journals.add(intents[0]["journal"])
        self.assertEqual(len(journals), 2)
        there = self.folder / "state" / "thole" / "exec"
        self.assertEqual(len(list(there.iterdir())), 2)
        (self.folder / "link").symlink_to(self.folder)
        self.good("cancel", "same", "--store", "sqlite:../link/a.db")
        self.assertEqual(len(list(there.iterdir())), 1)
        self.good("computer", "-s", "same", "end", "--store", "sqlite:../link/./b.db")
        self.assertEqual(list(there.iterdir()), [])

    def test_second_runtime(self):
        self.serve({"parts": [{"text": "late"}], "faults": [{"delay": 20}]})
        process = self.start("run", "-m", "gpt-5.4", "-s", "held", "hello")
        self.wait_for(lambda: self.has_event("held", "model_requested"))
        for args in (["resume", "held"], ["run", "-s", "held", "more"], ["approve", "held"]):
            self.bad(1, ["held", "process %d" % process.pid], *args)
        self.assertEqual(self.interrupt(process, signal.SIGTERM).code, 130)

    def test_closed_pipe(self):
        self.serve([SHELL], [{"text": "over"}])
        process = self.start("run", "-m", "gpt-5.4", "-s", "pipe", "--json", "go")
        process.stdout.close()
        process.wait(house.SECONDS)
        process.stderr.close()
        self.assertEqual(process.returncode, 130)
        self.good("resume", "pipe")
        self.assertEqual(self.events("pipe")[-1]["kind"], "final")


class Forks(house.House):
    def test_fork(self):
        self.serve([{"text": "one"}], [{"text": "two"}])
        self.good("run", "-m", "gpt-5.4", "-s", "src", "hello")
        name = self.good("fork", "src").out.strip()
        self.assertEqual(len(name), 36)
        self.good("fork", "src@2", "early")
        self.assertEqual(self.kinds("early"), ["session_created", "message", "session_forked"])
        self.assertIn("two", self.good("run", "-s", name, "again").out)
        self.assertEqual(len(self.events("src")), 5)
        self.bad(2, "src has 5 events", "fork", "src@99")
        self.bad(2, "has no blanks", "fork", "src", "a b")
        self.bad(2, "number of an event", "fork", "src@x")
        self.bad(1, "exists already", "fork", "src", "early")
        self.bad(1, 'no session "gone"', "fork", "gone")


class Hints(house.House):
    def test_the_next_command(self):
        """What is said to be typed next works as it stands, in the log that was named."""
        place = self.work / "it's mine"
        place.mkdir()
        self.env["PATH"] = "%s:%s" % (os.path.dirname(house.THOLE), self.env["PATH"])
        self.serve([SHELL], [{"text": "done so"}])
        (self.work / "a.yaml").write_text("model: gpt-5.4\napprove: [shell]\n")

        def typed(out, label):
            line = [line for line in out.splitlines() if line.startswith(label)][0][len(label):].split("   (")[0]
            self.assertIn("--store", line)
            done = subprocess.run(["sh", "-c", line], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, timeout=house.SECONDS)
            self.assertEqual(done.returncode, 0, (line, done))
            return done.stdout

        ended = self.good("run", "-a", "a.yaml", "-s", "one", "hello", "--store", "sqlite:%s/log.db" % place, code=3)
        self.assertIn("hello", typed(ended.out, "log:"))
        ended = typed(typed(ended.out, "approve:"), "to go on:")
        self.assertIn("done so", ended)
        self.assertIn("done so", typed(ended, "log:"))
        self.assertTrue(self.good("run", "-m", "gpt-5.4", "hello", "--store", "memory:").out.endswith("none is kept (memory:)\n"))
        # Without the option there is nothing to repeat.
        self.assertIn("log:      %s log two\n" % house.THOLE, self.good("run", "-a", "a.yaml", "-s", "two", "hello", code=3).out)


class Exports(house.House):
    def record(self, name, store):
        """What an import brought only because a fork shares it is read, and not gone on with."""
        for args in (["resume", name], ["run", "-s", name, "and now?"]):
            ended = self.thole(*args, "--store", store)
            self.assertEqual((ended.code, "session %s is only a record here" % name in ended.err), (2, True), ended)
        self.assertEqual(json.loads(self.good("log", name, "--json", "--store", store).out.splitlines()[-1])["data"],
                         {"to": "stopped", "reason": "only what a fork shares with it was imported", "record": True})

    def test_a_session_in_another_log(self):
        """What waits here is approved there; a fork comes with what it was forked from; nothing that was changed gets in."""
        other = "sqlite:%s" % (self.folder / "other.db")
        self.serve([SHELL], {"branch": [{"if": [{"tool_output": {"contains": "hello"}}], "parts": [{"text": "one"}]},
                                        {"parts": [{"text": "not run"}]}]}, [{"text": "two"}])
        (self.work / "a.yaml").write_text("model: gpt-5.4\napprove: [shell]\n")
        self.good("run", "-a", "a.yaml", "-s", "mine", "hello", code=3)
        self.good("fork", "mine", "yours")
        file = self.work / "yours.jsonl"
        file.write_text(self.good("export", "yours").out)
        self.assertEqual(self.good("import", "--store", other, file).out.strip(), "yours")
        self.assertEqual(sorted(self.good("sessions", "--store", other, "--names").out.split()), ["mine", "yours"])
        self.good("log", "--verify", "--store", other)
        self.bad(1, "has a session yours already", "import", "--store", other, file)
        # Of what it was forked from only what it shares is there, stopped.
        self.assertIn("stopped", self.good("sessions", "--store", other).out)
        self.assertIn("only what a fork shares", self.good("log", "mine", "--json", "--store", other).out)
        self.bad(1, "waits for", "approve", "mine", "--store", other)
        # It is a record: nobody goes on with it, whoever has the whole of it does. A fork of it is a session.
        self.record("mine", other)
        self.good("fork", "mine", "third", "--store", other)
        self.assertIn("not run", self.good("resume", "third", "--store", other).out)
        # Also one that was over, whose log would else take another task.
        self.good("approve", "mine")
        self.good("resume", "mine")
        self.good("fork", "mine", "late")
        (self.work / "late.jsonl").write_text(self.good("export", "late").out)
        late = "sqlite:%s" % (self.folder / "late.db")
        self.good("import", "--store", late, self.work / "late.jsonl")
        self.record("mine", late)
        self.good("log", "--verify", "--store", late)
        self.good("approve", "yours", "--store", other)
        self.assertIn("one", self.good("resume", "yours", "--store", other).out)
        self.assertEqual((self.work / "made.txt").read_text(), "hello\n")
        self.assertIn("two", self.good("run", "-s", "yours", "--store", other, "again").out)
        self.bad(1, "there is nothing to cancel", "cancel", "yours", "--store", other)
        self.assertEqual(self.good("sessions", "--state", "stuck", "--store", other).err, "thole: no session in this log is stuck\n")
        self.assertIn("out, price not known\n", self.good("log", "yours", "--trace", "--store", other).out)
        self.good("log", "--verify", "--store", other)
        third = "sqlite:%s" % (self.folder / "third.db")
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[:3] + lines[4:]))
        self.bad(1, ["line 4", "is not what was written"], "import", "--store", third, file)
        file.write_text("".join(lines[:-1]))
        self.bad(1, "before its end", "import", "--store", third, file)
        file.write_bytes(b" " * (64 << 20))
        self.bad(1, ["line 1", "empty"], "import", "--store", third, file)
        file.write_bytes(b" " * ((64 << 20) + 1))
        self.bad(1, "line 1: it has more than 67108864 bytes", "import", "--store", third, file)
        file.write_text("hello\n")
        self.bad(1, "line 1", "import", "--store", third, file)
        self.assertEqual(self.good("sessions", "--store", third, "--names").out, "")  # nothing, also of what it needs
        self.bad(1, "%s: this is not an exported session: line 1: " % file, "import", "--store", third, file)
        file.write_text("")
        self.bad(1, "%s: it is empty" % file, "import", "--store", third, file)
        self.bad(1, "standard input: it is empty", "import", "--store", third, stdin="")
        with open("/dev/full", "w") as full:
            ended = subprocess.run([house.THOLE, "export", "yours"], env=self.env, stdout=full, stderr=subprocess.PIPE,
                                   text=True, timeout=house.SECONDS)
        self.assertEqual((ended.returncode, ended.stderr),
                         (1, "thole: cannot write to standard output: No space left on device\n"))
        self.bad(1, "cannot be opened", "import", "--store", third, "gone")
        self.bad(2, "one file", "import", "a", "b")
        self.bad(2, "needs the name", "export")
        self.bad(1, 'no session "gone"', "export", "gone")


class Log(house.House):
    def test_verify_names_what_is_wrong(self):
        import sqlite3

        self.serve([SHELL], [{"text": "done"}])
        self.good("run", "-m", "gpt-5.4", "-s", "v", "go")
        self.assertIn("1 session, 10 events", self.good("log", "--verify").out)
        path = self.folder / "state" / "thole" / "log.db"
        with sqlite3.connect(path) as db:
            before = db.execute("select data from events where seq = 4").fetchone()[0]
            db.execute("update events set data = replace(data, 'hello', 'jello') where seq = 4")
        self.bad(1, ["events", "session v event 4"], "log", "v", "--verify")
        self.bad(1, ["events", "session v event 4"], "log", "--verify")
        with sqlite3.connect(path) as db:
            db.execute("update events set data = ? where seq = 4", (before,))
        self.good("log", "--verify")

    def test_prefix_and_missing(self):
        self.serve([{"text": "done"}])
        self.good("run", "-m", "gpt-5.4", "-s", "longname", "go")
        self.assertIn("done", self.good("log", "longn").out)
        self.bad(1, 'no session "gone"', "log", "gone")
        self.bad(2, "needs the name", "log")

    def test_sessions(self):
        self.assertEqual(self.good("sessions", "--names").out, "")
        self.serve([{"text": "done"}])
        self.good("run", "-m", "gpt-5.4", "-s", "s1", "write a poem")
        self.assertIn("write a poem", self.good("sessions").out)
        row = json.loads(self.good("sessions", "--json").out)
        self.assertEqual((row["session"], row["state"], row["turns"]), ("s1", "finished", 1))
        self.assertEqual(self.good("sessions", "--state", "failed", "--names").out, "")
        self.bad(2, "no state", "sessions", "--state", "fine")


if __name__ == "__main__":
    house.main()
