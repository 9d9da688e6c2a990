# SPDX-License-Identifier: Apache-2.0
"""thole acp: an editor's side of the Agent Client Protocol, line by line."""

import base64
import contextlib
import http.server
import json
import pathlib
import shutil
import signal
import struct
import threading
import zlib

import house



def picture():
    """A PNG of one pixel, in base64."""
    def piece(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = piece(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", zlib.compress(b"\0\1\2\3")) + piece(b"IEND", b"")).decode()


def shell(command):
    return [{"function_call": {"name": "shell", "arguments": {"command": command}}}]


class Editor:
    """Starts the agent; ask() sends a request and collects what comes before its answer."""

    def __init__(self, test, *args, **more):
        self.test = test
        self.process = test.start("acp", *args, stdin=-1, **more)
        self.last, self.updates, self.asked, self.choose = 0, [], [], None
        self.forms, self.fill = [], None

    def send(self, **message):
        self.process.stdin.write((json.dumps(dict(message, jsonrpc="2.0")) + "\n").encode())
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        self.test.assertTrue(line, "the agent is gone: %s" % (self.process.stderr.read() if not line else ""))
        return json.loads(line)

    def begin(self, method, **params):
        self.last += 1
        self.send(id=self.last, method=method, params=params)
        return self.last

    def wait(self, number, until=None):
        while True:
            m = self.read()
            if m.get("method") == "session/update":
                self.updates.append(m["params"]["update"])
                if until and until(self.updates[-1]):
                    return None
            elif m.get("method") == "session/request_permission":
                self.asked.append(m["params"])
                choice = self.choose(m["params"])
                if choice is not None:
                    self.send(id=m["id"], result={"outcome": choice})
                elif until:
                    return m
            elif m.get("method") == "elicitation/create":
                self.forms.append(m["params"])
                self.send(id=m["id"], result=self.fill(m["params"]))
            else:
                self.test.assertEqual(m["id"], number)
                return m

    def ask(self, method, **params):
        self.updates = []
        return self.wait(self.begin(method, **params))

    def good(self, method, **params):
        answer = self.ask(method, **params)
        self.test.assertIn("result", answer)
        return answer["result"]

    def prompt(self, session, text):
        return self.good("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])["stopReason"]

    def said(self, kind="agent_message_chunk"):
        return "".join(u["content"]["text"] for u in self.updates if u["sessionUpdate"] == kind)

    def kinds(self):
        kinds = [u["sessionUpdate"] for u in self.updates]
        return [k for i, k in enumerate(kinds) if i == 0 or kinds[i - 1] != k]

    def end(self, how=None):
        if how:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=house.SECONDS)
        return self.process.returncode, out, err.decode()


class Acp(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.editor = None

    def tearDown(self):
        if self.editor and self.editor.process.poll() is None:
            self.assertEqual(self.editor.end(), (0, b"", ""))
        super().tearDown()

    def edit(self, *args, **can):
        self.editor = Editor(self, *args)
        first = self.editor.good("initialize", protocolVersion=1, clientCapabilities=can)
        self.assertEqual((first["protocolVersion"], first["agentCapabilities"]["loadSession"]), (1, True))
        return self.editor

    def new(self):
        return self.editor.good("session/new", cwd=str(self.work), mcpServers=[])["sessionId"]

    def test_a_turn(self):
        self.serve([{"reasoning": "I count."}, *shell("echo one > made; echo hello")], [{"text": "There is one."}])
        editor = self.edit()
        name = self.new()
        self.assertEqual(editor.prompt(name, "Count."), "end_turn")
        self.assertEqual((editor.said("agent_thought_chunk"), editor.said()), ("I count.", "There is one."))
        self.assertEqual(editor.kinds(), ["agent_thought_chunk", "tool_call", "tool_call_update", "agent_message_chunk"])
        call = next(u for u in editor.updates if u["sessionUpdate"] == "tool_call")
        self.assertEqual((call["title"], call["kind"], call["status"]), ("shell: echo one > made; echo hello", "execute", "pending"))
        done = [u for u in editor.updates if u["sessionUpdate"] == "tool_call_update"]
        self.assertEqual([(u["toolCallId"], u["status"]) for u in done], [(call["toolCallId"], s) for s in ("in_progress", "completed")])
        self.assertIn("hello", done[1]["content"][0]["content"]["text"])
        self.assertEqual((self.work / "made").read_text(), "one\n")
        began = json.loads(self.good("log", name, "--json").out.splitlines()[0])
        self.assertEqual(began["data"]["agent"]["tools"], ["shell", "read_file", "write_file", "list_dir"], "the configuration's")
        self.assertIn("There is one.", self.good("log", name).out)
        listed = editor.good("session/list", cwd=str(self.work))["sessions"]
        self.assertEqual([(s["sessionId"], s["cwd"], s["title"]) for s in listed], [(name, str(self.work), "Count.")])
        self.assertEqual(editor.good("session/list", cwd="/elsewhere")["sessions"], [])

    def test_no_command_ends_it(self):
        """It has the other sessions of its editor, too."""
        self.serve([{"text": "One."}], [{"text": "Two."}])
        editor = self.edit()
        name = self.new()
        self.assertEqual(editor.prompt(name, "Say one."), "end_turn")
        for words in (["cancel", name], ["run", "-s", name, "more"], ["delete", name]):
            self.bad(1, "that is %s acp, which its editor began: do it there" % house.THOLE, *words)
        self.assertEqual(editor.prompt(name, "Say two."), "end_turn")
        self.assertEqual(editor.said(), "Two.")

    def test_loaded_after_a_kill(self):
        self.serve(shell("echo hello"), [{"text": "Said."}], [{"text": "More."}])
        editor = self.edit()
        name = self.new()
        editor.prompt(name, "Say hello.")
        before = [u for u in editor.updates]
        editor.end(signal.SIGKILL)
        editor = self.edit()
        unknown = editor.ask("session/load", sessionId="nothing", cwd=str(self.work), mcpServers=[])
        self.assertEqual(unknown["error"]["code"], -32002)
        editor.good("session/load", sessionId=name, cwd=str(self.work), mcpServers=[])
        self.assertEqual(editor.said("user_message_chunk"), "Say hello.")
        self.assertEqual([u for u in editor.updates if u["sessionUpdate"].startswith("tool")], [u for u in before if u["sessionUpdate"].startswith("tool")])
        self.assertEqual(editor.said(), "Said.")
        self.assertEqual(editor.prompt(name, "Again."), "end_turn")
        self.assertEqual(editor.said(), "More.")

    def test_killed_in_the_middle(self):
        self.serve(shell("echo x >> once; sleep 2"), [{"text": "Over."}])
        editor = self.edit()
        name = self.new()
        editor.wait(editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "go"}]),
                    until=lambda u: u.get("status") == "in_progress")
        self.wait_for((self.work / "once").exists)
        editor.end(signal.SIGKILL)
        editor = self.edit()
        editor.good("session/load", sessionId=name, cwd=str(self.work), mcpServers=[])
        self.assertEqual(editor.prompt(name, "And?"), "end_turn")
        self.assertEqual(editor.said(), "Over.")
        self.assertEqual((self.work / "once").read_text(), "x\n")

    def test_a_person_decides(self):
        self.serve(shell("echo a >> made"), shell("echo b >> made"), [{"text": "Over."}])
        editor = self.edit("--approve", "shell")
        name = self.new()
        answers = ["once", "no"]
        editor.choose = lambda asked: {"outcome": "selected", "optionId": answers.pop(0)}
        self.assertEqual(editor.prompt(name, "go"), "end_turn")
        self.assertEqual((self.work / "made").read_text(), "a\n")
        asked = editor.asked[0]
        self.assertEqual((asked["sessionId"], asked["toolCall"]["title"]), (name, "shell: echo a >> made"))
        self.assertEqual([o["kind"] for o in asked["options"]], ["allow_once", "allow_always", "reject_once", "reject_always"])
        calls = [u["toolCallId"] for u in editor.updates if u["sessionUpdate"] == "tool_call"]
        self.assertEqual([a["toolCall"]["toolCallId"] for a in editor.asked], calls)
        self.assertEqual([u["status"] for u in editor.updates if u["sessionUpdate"] == "tool_call_update"], ["in_progress", "completed", "failed"])

    def asking(self, question, *answers, **can):
        """An editor of an agent that asks, once for each answer; what the agent was told."""
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\ntools: [ask]\n")
        self.serve(*[[{"function_call": {"name": "ask", "arguments": question}}] for _ in answers], [{"text": "So."}])
        editor, answers = self.edit(**can), list(answers)
        editor.choose = lambda asked: {"outcome": "selected", "optionId": answers.pop(0)}
        editor.fill = lambda form: answers.pop(0)
        name = self.new()
        self.assertEqual(editor.prompt(name, "go"), "end_turn")
        return [(e["data"]["status"], e["data"]["output"]) for e in self.events(name) if e["kind"] == "outcome"]

    def test_a_question_as_choices(self):
        told = self.asking({"question": "Which colour?", "options": ["red", "blue"]}, "1", "no")
        self.assertEqual(told[0], ("done", "blue"))
        self.assertEqual(told[1][0], "refused")
        asked = self.editor.asked[0]
        self.assertIn("Which colour?", asked["toolCall"]["title"])
        self.assertEqual([(o["name"], o["kind"]) for o in asked["options"]], [("red", "allow_once"), ("blue", "allow_once"), ("Give no answer", "reject_once")])

    def test_a_question_without_options(self):
        told = self.asking({"question": "Why?"}, "once")
        self.assertIn("gave no answer", told[0][1])
        self.assertEqual([o["optionId"] for o in self.editor.asked[0]["options"]], ["once", "no"])

    def test_a_question_as_a_form(self):
        told = self.asking({"question": "Which?", "options": ["red"]}, {"action": "accept", "content": {"answer": "red"}},
                           {"action": "accept", "content": {"answer": "red", "other": "green"}}, {"action": "decline"}, elicitation={"form": {}})
        self.assertEqual((told[0], told[1], told[2][0]), (("done", "red"), ("done", "green"), "refused"))
        form = self.editor.forms[0]
        self.assertEqual((form["mode"], form["message"], form["requestedSchema"]["properties"]["answer"]["enum"]), ("form", "Which?", ["red"]))
        self.assertEqual(self.editor.asked, [])

    def test_a_choice_that_was_not_offered(self):
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\ntools: [ask]\n")
        self.serve([{"function_call": {"name": "ask", "arguments": {"question": "Which?", "options": ["red"]}}}])
        editor = self.edit()
        for choice in ("1", "once", "always"):
            editor.choose = lambda asked, choice=choice: {"outcome": "selected", "optionId": choice}
            self.assertEqual(editor.prompt(self.new(), "go"), "cancelled")

    def test_servers_of_the_editor(self):
        shutil.copy(pathlib.Path(__file__).with_name("mcp_server.py"), self.work / "server.py")
        self.serve([{"function_call": {"name": "my_tests_add", "arguments": {"a": 2, "b": 3}}}], [{"text": "Five."}])
        editor = self.edit()
        name = editor.good("session/new", cwd=str(self.work), mcpServers=[
            {"name": "my tests", "command": "python3", "args": ["server.py"], "env": []},
            {"name": "secretive", "command": "/bin/true", "args": [], "env": [{"name": "KEY", "value": "do-not-log-me"}]},
            {"type": "sse", "name": "old", "url": "https://example.org/", "headers": []}])["sessionId"]
        self.assertEqual(editor.prompt(name, "Add."), "end_turn")
        self.assertEqual(editor.said(), "Five.")
        self.assertIn("5", json.dumps([u for u in editor.updates if u["sessionUpdate"] == "tool_call_update"][-1]["content"]))
        self.assertNotIn("do-not-log-me", self.good("log", name, "--json").out)
        code, _, err = editor.end()
        self.assertEqual((code, err.count("is left out"), "secretive" in err, "old" in err), (0, 2, True, True), err)
        self.editor = None

    def test_tokens_of_servers(self):
        """Each goes to its own address, also where servers of two sessions have one name; none stands in a log."""
        self.serve([{"text": "Over."}], after="repeat_last")
        editor, told = self.edit(), {}

        class Refuses(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                told.setdefault(self.server, set()).add(self.headers["Authorization"])
                self.send_error(500)
            do_GET = do_DELETE = do_POST

            def log_message(self, *_):
                pass
        servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses) for _ in range(2)]
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        names = [editor.good("session/new", cwd=str(self.work), mcpServers=[
            {"type": "http", "name": "api", "url": "http://127.0.0.1:%d/" % server.server_address[1],
             "headers": [{"name": "Authorization", "value": "Bearer do-not-log-%d" % i}]}])["sessionId"] for i, server in enumerate(servers)]
        for name in names:
            self.assertEqual(editor.prompt(name, "Go."), "end_turn")
        self.assertEqual([told[server] for server in servers], [{"Bearer do-not-log-0"}, {"Bearer do-not-log-1"}])
        editor.end()
        self.editor = None
        for name in names:
            self.assertNotIn("do-not-log", self.good("log", name, "--json").out)

    def test_approved_for_good(self):
        self.serve(shell("echo a >> made"), shell("echo b >> made"), [{"text": "Over."}])
        editor = self.edit("--approve", "shell")
        editor.choose = lambda asked: {"outcome": "selected", "optionId": "always"}
        self.assertEqual(editor.prompt(self.new(), "go"), "end_turn")
        self.assertEqual(((self.work / "made").read_text(), len(editor.asked)), ("a\nb\n", 1))

    def test_what_a_call_would_change(self):
        write = [{"function_call": {"name": "write_file", "arguments": {"path": "a.txt", "content": "new\n"}}}]
        self.serve(write, [{"function_call": {"name": "read_file", "arguments": {"path": "a.txt"}}}], [{"text": "Over."}])
        (self.work / "a.txt").write_text("old\n")
        (self.work / "a.txt").chmod(0o666)
        editor = self.edit("--approve", "write_file")
        editor.choose = lambda asked: {"outcome": "selected", "optionId": "once"}
        self.assertEqual(editor.prompt(self.new(), "go"), "end_turn")
        path = str(self.work / "a.txt")
        call = editor.asked[0]["toolCall"]
        self.assertEqual((call["kind"], call["locations"]), ("edit", [{"path": path}]))
        self.assertIn({"type": "diff", "path": path, "oldText": "old\n", "newText": "new\n"}, call["content"])
        self.assertEqual((self.work / "a.txt").read_text(), "new\n")
        self.assertEqual([u["kind"] for u in editor.updates if u["sessionUpdate"] == "tool_call"], ["edit", "read"])

    def test_no_word_is_no_approval(self):
        for outcome in ({"outcome": "cancelled"}, {"outcome": "selected", "optionId": "whatever"}, "nonsense"):
            with self.subTest(outcome=outcome):
                self.serve(shell("echo a >> made"))
                editor = self.edit("--approve", "all")
                editor.choose = lambda asked, outcome=outcome: outcome
                self.assertEqual(editor.prompt(self.new(), "go"), "cancelled")
                self.assertFalse((self.work / "made").exists())
                self.assertEqual(editor.end()[0], 0)
                self.standin.end()

    def test_a_decision_after_a_kill(self):
        self.serve(shell("echo a >> made"), [{"text": "Made."}], [{"text": "Next."}])
        editor = self.edit("--approve", "shell")
        name = self.new()
        editor.choose = lambda asked: None
        editor.wait(editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "go"}]), until=lambda u: False)
        editor.end(signal.SIGKILL)
        editor = self.edit("--approve", "shell")
        editor.good("session/load", sessionId=name, cwd=str(self.work), mcpServers=[])
        editor.choose = lambda asked: {"outcome": "selected", "optionId": "once"}
        self.assertEqual(editor.prompt(name, "Well?"), "end_turn")
        self.assertEqual((self.work / "made").read_text(), "a\n")
        self.assertEqual(editor.said(), "Made.Next.")

    def test_cancelled(self):
        self.serve({"parts": [{"text": "late"}], "faults": [{"delay": 20}]}, after="repeat_last")
        editor = self.edit()
        name = self.new()
        number = editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "go"}])
        self.wait_for(lambda: '"model_requested"' in self.thole("log", name, "--json").out)
        busy = editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "more"}])
        self.assertEqual(editor.wait(busy)["error"]["code"], -32600)
        editor.send(method="session/cancel", params={"sessionId": name})
        self.assertEqual(editor.wait(number)["result"], {"stopReason": "cancelled"})
        self.assertEqual(editor.good("session/close", sessionId=name), {})
        self.assertEqual(editor.ask("session/prompt", sessionId=name, prompt=[])["error"]["code"], -32002)

    def test_closed_while_it_runs(self):
        self.serve(shell("sleep 60"))
        editor = self.edit()
        name = self.new()
        number = editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "go"}])
        editor.wait(number, until=lambda u: u.get("status") == "in_progress")
        closing = editor.begin("session/close", sessionId=name)
        again = editor.begin("session/close", sessionId=name)
        self.assertEqual(editor.wait(again)["error"]["code"], -32600)
        self.assertEqual(editor.wait(number)["result"], {"stopReason": "cancelled"})
        self.assertEqual(editor.wait(closing)["result"], {})
        self.assertIn("stopped", self.good("sessions").out)

    def test_the_editor_leaves(self):
        self.serve({"parts": [{"text": "late"}], "faults": [{"delay": 20}]})
        editor = self.edit()
        name = self.new()
        editor.begin("session/prompt", sessionId=name, prompt=[{"type": "text", "text": "go"}])
        self.wait_for(lambda: '"model_requested"' in self.thole("log", name, "--json").out)
        editor.process.stdin.close()
        self.assertEqual(editor.process.wait(house.SECONDS), 0)
        editor.process.stdout.close()
        editor.process.stderr.close()
        self.assertIn("the editor is gone", self.good("log", name).out)
        self.assertIn("late", self.good("resume", name).out)

    def test_at_a_limit_and_failed(self):
        (self.work / "a.yaml").write_text("name: a\ntools: [shell]\nlimits:\n  turns: 1\n")
        self.serve(shell("true"), after="repeat_last")
        editor = self.edit("-a", self.work / "a.yaml")
        self.assertEqual(editor.prompt(self.new(), "go"), "max_turn_requests")
        editor.end()
        self.standin.end()
        self.serve({"parts": [{"text": "never said"}], "faults": [{"status": 401, "times": -1}]})
        self.violations = False
        editor = self.edit()
        failed = editor.ask("session/prompt", sessionId=self.new(), prompt=[{"type": "text", "text": "go"}])
        self.assertEqual(failed["error"]["code"], -32603)

    def test_what_a_prompt_may_hold(self):
        self.serve([{"text": "Seen."}])
        editor = self.edit()
        name = self.new()
        blocks = [{"type": "text", "text": "Look:"}, {"type": "image", "mimeType": "image/png", "data": picture()},
                  {"type": "resource_link", "name": "a.c", "uri": "file:///a.c"},
                  {"type": "resource", "resource": {"uri": "file:///b.c", "text": "int b;"}}]
        self.assertEqual(editor.good("session/prompt", sessionId=name, prompt=blocks)["stopReason"], "end_turn")
        editor.good("session/load", sessionId=name, cwd=str(self.work), mcpServers=[])
        shown = [u["content"] for u in editor.updates if u["sessionUpdate"] == "user_message_chunk"]
        self.assertEqual([c for c in shown if c["type"] == "image"], [{"type": "image", "mimeType": "image/png", "data": picture()}])
        log = self.good("log", name, "--json").out
        for part in ("Look:", "[a.c](file:///a.c)", "int b;", "image"):
            self.assertIn(part, log)
        for bad in ([], [{"type": "text", "text": "a\0b"}], [{"type": "audio", "data": "", "mimeType": "audio/wav"}], [{"type": "image", "mimeType": "text/html", "data": ""}]):
            self.assertEqual(editor.ask("session/prompt", sessionId=name, prompt=bad)["error"]["code"], -32602)

    def test_as_many_as_may_be_open(self):
        editor = self.edit()
        names = [self.new() for _ in range(64)]
        self.assertEqual(len(set(names)), 64)
        self.assertEqual(editor.ask("session/new", cwd=str(self.work), mcpServers=[])["error"]["code"], -32600)
        editor.good("session/close", sessionId=names[0])
        self.new()

    def test_nonsense(self):
        editor = self.edit()
        for line, code in ((b"nonsense\n", -32700), (b"[]\n", -32600), (b'{"jsonrpc":"2.0","id":9,"method":3}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":9,"method":"x"}\n', -32601),
                           (b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"here","mcpServers":[]}}\n', -32602),
                           (b'{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}\n', -32002)):
            editor.process.stdin.write(b'\n{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","method":"session/cancel"}\n' + line)
            editor.process.stdin.flush()
            self.assertEqual(editor.read()["error"]["code"], code, line)
        room = 32 * 1024 * 1024  # TH_ACP_MESSAGE_MAX, with the end of the line
        whole = b'{"jsonrpc":"2.0","id":9,"method":"x"}'
        for more, code in ((0, -32601), (1, -32700)):
            with contextlib.suppress(BrokenPipeError):  # it reads no more behind a line that is too long
                editor.process.stdin.write(whole + b" " * (room + more - len(whole) - 1) + b"\n")
                editor.process.stdin.flush()
            self.assertEqual(editor.read()["error"]["code"], code)
        ended = self.thole("acp", "-a", "nothing.yaml")
        self.assertNotEqual(ended.code, 0)
        self.assertIn("nothing.yaml", ended.err)


if __name__ == "__main__":
    house.main()
