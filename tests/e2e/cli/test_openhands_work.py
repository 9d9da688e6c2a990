# SPDX-License-Identifier: Apache-2.0
"""thole serve --openhands: what a client does itself in a conversation's folder: commands, files, git."""

import http.server
import json
import threading
import unittest
import urllib.parse

import serving
from test_openhands_api import AGENT, Faces

BOUNDARY = "a-mark-between-parts"


class Vault:
    """Gives the values that it has now, to whom `asked` tells."""

    def __init__(self):
        self.asked, self.values = asked, values = [], {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, self.headers.get("X-Key")))
                value = values.get(self.path.split("?")[0])
                self.send_response(200 if value else 404)
                self.end_headers()
                self.wfile.write((value or "nothing-of-that-name").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.origin = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def lookup(self, path, at=None):
        return {"kind": "LookupSecret", "url": (at or self.origin) + path, "headers": {"X-Key": "key-of-the-vault"}, "description": None}

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Given(Faces):
    """Who gives secrets, and has a command run."""

    def give(self, conversation, secrets, status=200, who="alice"):
        answer = self.call("POST", self.path(conversation, "/secrets"), {"secrets": secrets}, who=who)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def has_run(self, conversation, tool, command):
        """What the agent's next command gave the model, and the file `out` that it wrote."""
        self.say(conversation, "%s: %s" % (tool, command))
        self.run_on(conversation, "finished")
        return self.told(conversation)[-2]["observation"]["content"][0]["text"], (self.workspaces / conversation["id"] / "out").read_text()


class Work(Given):
    def bash(self, conversation, command, how="execute", status=200, **more):
        path = self.path(conversation) if conversation else "/api"
        return self.good_call("POST", path + "/bash/%s_bash_command" % how, dict({"command": command}, **more), status)

    def folder_of(self, conversation):
        return self.good_call("GET", self.path(conversation))["workspace"]["working_dir"]

    def upload(self, path, content, above="/api", name="file"):
        body = b'--%b\r\nContent-Disposition: form-data; name="%b"; filename="x"\r\nContent-Type: text/plain\r\n\r\n%b\r\n--%b--\r\n' % (
            BOUNDARY.encode(), name.encode(), content, BOUNDARY.encode())
        return self.call("POST", above + "/file/upload?path=" + urllib.parse.quote(path), body,
                         headers={"Content-Type": "multipart/form-data; boundary=" + BOUNDARY})

    def kinds(self, conversation):
        return [e["kind"] for e in (json.loads(line) for line in self.good("log", conversation["id"], "--json").out.splitlines())]

    def test_commands(self):
        self.begin()
        c = self.create()
        folder = self.folder_of(c)
        done = self.bash(c, "echo out; echo err >&2; pwd; exit 3")
        self.assertEqual((done["kind"], done["exit_code"], done["stdout"], done["stderr"], done["order"]),
                         ("BashOutput", 3, "out\n%s\n" % folder, "err\n", 0))
        # Without the conversation in the path it is the one in whose folder the command begins.
        (self.workspaces / c["id"] / "below it").mkdir()
        self.assertEqual(self.bash(None, "pwd", cwd=folder + "/below it")["stdout"], folder + "/below it\n")
        self.assertEqual(self.bash(c, "pwd", cwd="below it")["stdout"], folder + "/below it\n")
        self.assertEqual(self.bash(c, "cat")["stdout"], None)  # nothing on its standard input
        for where in ({"cwd": "/"}, {"cwd": folder + "/../other"}):
            self.bash(None, "pwd", status=422 if where["cwd"] == "/" else 200, **where)
        self.bash(None, "pwd", status=422)
        self.bash(c, "pwd", status=422, cwd="/etc")
        for wrong in ({"command": ""}, {"command": "a\0b"}, {"timeout": 0}, {"timeout": "1"}, {"timeout": 1.5}):
            self.bash(c, wrong.pop("command", "true"), status=422, **wrong)
        # It is a person's act in the log, and in the folder's sandbox.
        self.assertGreaterEqual(self.kinds(c).count("input"), 4)
        self.assertIn('"by":"alice"', self.good("log", c["id"], "--json").out.replace(" ", ""))
        self.assertNotIn("input", [e["kind"] for e in self.told(c)])
        # Started, and asked for.
        began = self.bash(c, "mkfifo gate; touch begun; read x < gate", "start", timeout=60)
        self.wait_for(lambda: (self.workspaces / c["id"] / "begun").exists())
        self.assertEqual((began["kind"], began["timeout"]), ("BashCommand", 60))
        self.assertEqual(self.outputs(c, began), [])
        waits, behind = self.bash(c, "touch never", "start"), self.bash(c, "touch later", "start")  # one at a time
        self.good_call("POST", self.path(c, "/bash/bash_commands/%s/stop" % waits["id"]))
        self.assertIn("stopped", self.outputs(c, waits)[0]["stderr"])
        self.good_call("POST", self.path(c, "/bash/bash_commands/%s/stop" % began["id"]))
        (ended,) = self.wait_for(lambda: self.outputs(c, began))
        self.assertEqual(ended["exit_code"], -1)
        self.assertIn("stopped", ended["stderr"])
        self.good_call("POST", self.path(c, "/bash/bash_commands/%s/stop" % began["id"]))  # again: nothing
        self.assertEqual(self.wait_for(lambda: self.outputs(c, behind))[0]["exit_code"], 0)
        self.assertEqual([(self.workspaces / c["id"] / name).exists() for name in ("never", "later")], [False, True])
        self.assertEqual(self.good_call("GET", self.path(c, "/bash/bash_events/" + began["id"])), began)
        self.assertEqual(self.good_call("GET", "/api/bash/bash_events/" + ended["id"]), ended)
        self.assertEqual(self.call("GET", "/api/bash/bash_events/" + began["id"], who="bob").status, 404)
        self.assertEqual(self.call("GET", self.path(c, "/bash/bash_events/" + c["id"])).status, 404)
        slow = self.bash(c, "read x < gate", timeout=1)
        self.assertEqual((slow["exit_code"], slow["stderr"]), (-1, "Command timed out after 1 seconds"))
        # All of them, page by page, in both orders.
        for order in ("", "&sort_order=TIMESTAMP_DESC"):
            seen, page = [], ""
            while True:
                answer = self.good_call("GET", "/api/bash/bash_events/search?limit=3" + order + page)
                seen += [e["id"] for e in answer["items"]]
                if not answer["next_page_id"]:
                    break
                page = "&page_id=" + answer["next_page_id"]
            everything = [e["id"] for e in self.good_call("GET", "/api/bash/bash_events/search?limit=100" + order)["items"]]
            self.assertEqual(seen, everything)
            self.assertEqual(len(set(seen)), len(seen))
        self.assertEqual(self.good_call("GET", "/api/bash/bash_events/search", who="bob")["items"], [])
        self.assertEqual(self.call("POST", self.path(c, "/bash/execute_bash_command"), {"command": "true"}, who="bob").status, 404)
        self.assertEqual(self.call("POST", self.path(c, "/bash/execute_bash_command"), {"command": "true"}, who="reader").status, 403)

    def test_those_that_wait_end_with_their_conversation(self):
        self.begin()
        c = self.create()
        began = self.bash(c, "mkfifo gate; touch begun; read x < gate", "start", timeout=60)
        self.wait_for(lambda: (self.workspaces / c["id"] / "begun").exists())
        waiting = [self.bash(c, "touch never", "start") for _ in range(3)]
        self.good_call("DELETE", self.path(c))
        items = self.good_call("GET", "/api/bash/bash_events/search?kind__eq=BashOutput&limit=100")["items"]
        self.assertEqual(sorted(e["command_id"] for e in items), sorted(command["id"] for command in (began, *waiting)))
        for e in items:
            self.assertEqual((e["exit_code"], "not this server's any more" in e["stderr"]), (-1, True))

    def test_most_at_once(self):
        """64 commands wait or are under way; 128 are remembered, the last ones; a WebSocket has 10 seconds to say who it is."""
        self.begin()
        silent = self.socket({"id": "01234567-89ab-4def-8123-456789abcdef"}, who=None)
        first = None
        for _ in range(2):
            c = self.create()
            began = self.bash(c, "mkfifo gate; read x < gate", "start", timeout=60)
            first = first or began
            for _ in range(63):
                self.bash(c, "true", "start")
            full = self.call("POST", self.path(c, "/bash/start_bash_command"), {"command": "true"})
            self.assertEqual((full.status, "64 other commands are under way" in full.body.decode()), (409, True))
            self.good_call("DELETE", self.path(c))  # and all of them end
        items = lambda: self.good_call("GET", "/api/bash/bash_events/search?kind__eq=BashCommand&limit=100")
        self.assertEqual(self.good_call("GET", "/api/bash/bash_events/" + first["id"])["id"], first["id"])
        self.assertEqual(items()["items"][0]["id"], first["id"])
        self.bash(self.create(), "true")
        self.assertEqual(self.call("GET", "/api/bash/bash_events/" + first["id"]).status, 404)
        self.assertNotIn(first["id"], [e["id"] for e in items()["items"]])
        self.assertEqual(silent.receive(), 4001)

    def everything_written(self):
        """All files of the server's, but for the folders of conversations."""
        return b"".join(p.read_bytes() for p in self.folder.rglob("*") if p.is_file() and self.workspaces not in p.parents)

    def test_secrets(self):
        """A client's: for the commands that name them, in no file of the server, and masked in what comes back."""
        value, other, short = "a value of nobody's", "another\nvalue's", "seven 7"
        commands = ("echo $DEPLOY > out; echo got $DEPLOY", "env | grep -c nobody > out; true", "cat out.kept; echo ${#DEPLOY} > out",
                    "echo $KEY > out", "echo [$DEPLOY] > out")
        rules = [{"if": {"tail": "%s: %s" % (tool, line)}, "parts": [{"function_call": {"name": tool, "arguments": {"command": line}}}]}
                 for tool in ("shell", "bash") for line in commands]
        (self.folder / "config" / "thole").mkdir(parents=True, exist_ok=True)
        self.begin(rules=rules, tools="shell, bash")
        c = self.create(secrets={"DEPLOY": value})  # before it has an executor
        got, out = self.has_run(c, "shell", commands[0])
        self.assertIn("got " + "*" * len(value), got)
        self.assertEqual(out, value + "\n")
        self.assertEqual(self.has_run(c, "shell", commands[1])[1], "0\n")  # that one does not name it
        (self.workspaces / c["id"] / "out.kept").write_text(value)
        # Another value while a shell lives; the former one stays masked.
        self.assertEqual(self.has_run(c, "bash", commands[1])[1], "0\n")
        self.give(c, {"DEPLOY": {"kind": "StaticSecret", "value": "other than before"}, "KEY": {"value": other, "description": "d"}})
        got, out = self.has_run(c, "bash", commands[2])
        self.assertIn("*" * len(value), got)
        self.assertEqual(out, "17\n")
        self.assertEqual(self.has_run(c, "shell", commands[3])[1], other.replace("\n", " ") + "\n")
        self.give(c, {"DEPLOY": None, "NEVER": ""})
        self.assertEqual(self.has_run(c, "shell", commands[4])[1], "[]\n")
        for wrong in ({"DEPLOY": short}, {"1": value}, {"A": 1}, {"A": {"kind": "LookupSecret", "url": "http://127.0.0.1/"}}, {"A": {"url": "http://127.0.0.1/"}}, [], None):
            said = self.give(c, wrong, 422)
            self.assertNotIn(short, json.dumps(said))
        self.assertEqual(self.call("POST", "/api/conversations", {"agent": AGENT, "secrets": {"DEPLOY": short}}).status, 422)
        self.wait_for(lambda: len(self.good_call("GET", "/api/conversations/search")["items"]) == 1)  # that one is deleted
        self.give(c, {"DEPLOY": value}, 403, who="reader")
        self.give(c, {"DEPLOY": value}, 404, who="bob")
        changed = [json.loads(line)["data"] for line in self.good("log", c["id"], "--json").out.splitlines() if "session_changed" in line]
        self.assertEqual([e.get("secrets") for e in changed if e.get("secrets")], [["DEPLOY"], ["DEPLOY", "KEY"], ["DEPLOY", "NEVER"]])
        written = self.everything_written()
        for one in (value, "other than before", other, short):
            for form in (one, json.dumps(one)[1:-1]):
                self.assertNotIn(form.encode(), written)
        # A server that begins anew has none, until they are given again.
        self.end_http()
        self.listen()
        self.assertEqual(self.has_run(c, "shell", commands[4])[1], "[]\n")
        self.give(c, {"DEPLOY": value})
        self.assertEqual(self.has_run(c, "shell", commands[0])[1], value + "\n")

    def test_lookups(self):
        """A LookupSecret: its value is fetched of servers that the configuration names, with the client's headers."""
        vault = Vault()
        self.addCleanup(vault.end)
        asked, values, origin, lookup = vault.asked, vault.values, vault.origin, vault.lookup
        values.update({"/a": "first value looked up", "/b": "second value looked up", "/key": "-----BEGIN KEY-----\nits only line\n-----END KEY-----"})
        commands = ("echo $DEPLOY > out; echo got $DEPLOY", "echo again $DEPLOY > out", "echo none > out", "echo [$DEPLOY] > out",
                    "echo \"$DEPLOY\" > out; echo key")
        rules = [{"if": {"tail": "shell: " + line}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": line}}}]} for line in commands]
        self.begin(rules=rules, serve="  secret_servers: [%s]\n" % origin)
        for at in ("http://localhost:%d" % vault.port, origin + "@127.0.0.1", origin + "1"):
            said = self.call("POST", "/api/conversations", {"agent": AGENT, "secrets": {"DEPLOY": lookup("/a", at)}})
            self.assertEqual((said.status, b"serve.secret_servers" in said.body), (422, True))
        self.wait_for(lambda: not self.good_call("GET", "/api/conversations/search")["items"])
        c = self.create(secrets={"DEPLOY": lookup("/a?token=of-the-address")})
        got, out = self.has_run(c, "shell", commands[0])
        self.assertIn("got " + "*" * len(values["/a"]), got)
        self.assertEqual(out, values["/a"] + "\n")
        self.assertEqual(self.has_run(c, "shell", commands[1])[1], "again %s\n" % values["/a"])
        self.assertEqual(asked, [("/a?token=of-the-address", "key-of-the-vault")])  # once a minute
        # Another one of that name; then one that nobody has, so that no call begins, until it is taken away.
        self.give(c, {"DEPLOY": lookup("/b")})
        self.assertEqual(self.has_run(c, "shell", commands[0])[1], values["/b"] + "\n")
        self.give(c, {"DEPLOY": lookup("/key")})
        self.assertEqual(self.has_run(c, "shell", commands[4])[1], values["/key"] + "\n")
        self.give(c, {"DEPLOY": lookup("/b")})
        self.assertEqual(self.has_run(c, "shell", commands[0])[1], values["/b"] + "\n")
        self.give(c, {"DEPLOY": lookup("/c")})
        self.say(c, "shell: " + commands[2])
        self.run_on(c, "finished")
        self.assertIn("secrets.DEPLOY: its server answered HTTP 404", self.told(c)[-2]["error"])
        self.assertNotIn("nothing-of-that-name", json.dumps(self.told(c)))
        self.assertEqual((self.workspaces / c["id"] / "out").read_text(), values["/b"] + "\n")
        self.give(c, {"DEPLOY": None})
        self.assertEqual(self.has_run(c, "shell", commands[3])[1], "[]\n")
        for wrong in (dict(lookup("/a"), headers={"X-Key": 1}), dict(lookup("/a"), headers={"Host": "x"}), {"kind": "Other", "url": origin}, {"url": "http://127.0.0.1/"}):
            self.give(c, {"DEPLOY": wrong}, 422)
        written = self.everything_written()
        for one in (*values.values(), "key-of-the-vault", "token=of-the-address"):
            self.assertNotIn(one.encode(), written)

    def outputs(self, conversation, command):
        return self.good_call("GET", self.path(conversation, "/bash/bash_events/search?kind__eq=BashOutput&order__gt=-1&command_id__eq="
                                               + command["id"]))["items"]

    def test_files(self):
        self.begin()
        c = self.create()
        folder = self.folder_of(c)
        content = bytes(range(256)) * 4000  # a megabyte of no text, in several pieces
        answer = self.upload(folder + "/new/it's a file", content)
        self.assertEqual((answer.status, answer.json()), (200, {"success": True, "file_size": len(content)}))
        self.assertEqual((self.workspaces / c["id"] / "new" / "it's a file").read_bytes(), content)
        self.assertEqual([p.name for p in (self.workspaces / c["id"] / "new").iterdir()], ["it's a file"])
        self.assertEqual(self.kinds(c).count("input"), 4)
        self.assertEqual(self.upload(folder + "/empty", b"", self.path(c)).json()["file_size"], 0)
        self.assertEqual((self.workspaces / c["id"] / "empty").read_bytes(), b"")
        there = self.call("GET", self.path(c, "/file/download?path=" + urllib.parse.quote(folder + "/new/it's a file")))
        self.assertEqual((there.status, there.body), (200, content))
        self.assertEqual(self.call("GET", "/api/file/download?path=%s/empty" % folder).body, b"")
        for path, status in ((folder + "/none", 404), (folder, 400), ("new", 400), ("/etc/passwd", 422), (folder + "/../x", 400),
                             (folder + "/new", 409)):
            self.assertEqual(self.call("GET", "/api/file/download?path=" + path).status, status, path)
        for path, status in ((folder + "/new", 400), (folder + "/empty/x", 400), ("/etc/x", 422), ("x", 400)):
            self.assertEqual(self.upload(path, b"x").status, status, path)
        (self.workspaces / c["id"] / "out").symlink_to("/etc/hostname")
        self.assertEqual(self.call("GET", "/api/file/download?path=%s/out" % folder).status, 403)
        self.assertEqual(self.upload(folder + "/x", b"x", name="other").status, 422)
        self.assertEqual(self.call("POST", "/api/file/upload?path=%s/x" % folder, {}).status, 415)
        self.assertEqual(self.upload(folder + "/x", b"x" * (8 * 1024 * 1024 + 1)).status, 413)
        self.assertFalse((self.workspaces / c["id"] / "x").exists())

    def test_git(self):
        self.begin()
        c = self.create()
        folder = self.folder_of(c)
        self.assertEqual(self.good_call("GET", "/api/git/changes?path=" + folder), [])
        self.assertEqual(self.good_call("GET", "/api/git/diff?path=%s/a" % folder), {"modified": None, "original": None})
        script = """git init -q r && cd r && git config user.email a@example.org && git config user.name a && mkdir sub &&
            printf 'one\\ntwo\\n' > a && echo gone > gone && echo x > sub/x && git add . && git commit -qm first &&
            printf 'one\\r\\nthree' > a && rm gone && echo new > "sub/\u00e4 'n\u00fc\\"" && git add sub && echo y > untracked"""
        self.assertEqual(self.bash(c, script)["exit_code"], 0)
        before = self.kinds(c).count("input")
        found = self.good_call("GET", self.path(c, "/git/changes?path=%s/r" % folder))
        self.assertEqual(sorted((f["status"], f["path"]) for f in found),
                         [("ADDED", "sub/\u00e4 'n\u00fc\""), ("ADDED", "untracked"), ("DELETED", "gone"), ("UPDATED", "a")])
        self.assertEqual([f["path"] for f in self.good_call("GET", "/api/git/changes?path=%s/r/sub" % folder)], ["\u00e4 'n\u00fc\""])
        self.assertEqual(self.good_call("GET", "/api/git/diff?path=%s/r/a" % folder), {"original": "one\ntwo", "modified": "one\nthree"})
        self.assertEqual(self.good_call("GET", "/api/git/diff?path=%s/r/gone" % folder), {"original": "gone", "modified": ""})
        self.assertEqual(self.good_call("GET", "/api/git/diff?path=%s/r/untracked&ref=HEAD" % folder), {"original": "", "modified": "y"})
        for query, status in (("diff?path=%s/r/none" % folder, 400), ("changes?path=%s/r&ref=no-such" % folder, 400),
                              ("changes?path=%s/r&ref=--output=x" % folder, 422), ("changes?path=/", 422), ("diff?path=%s" % folder, 422),
                              ("diff?path=%s/r/a&commit=0123" % folder, 501)):
            self.assertEqual(self.call("GET", "/api/git/" + query).status, status, query)
        self.assertEqual(self.kinds(c).count("input"), before)  # looking is no event
        self.bash(c, "head -c 200000 /dev/zero | tr '\\0' x > r/a")
        self.assertEqual(self.call("GET", "/api/git/diff?path=%s/r/a" % folder).status, 413)

    def test_tags_forks_and_an_end(self):
        self.begin()
        for tags in ({"A": "x"}, {"": "x"}, {"a": 1}, {"a": "ä" * 257}, [1], {"k%d" % i: "" for i in range(51)}):
            self.assertEqual(self.call("POST", "/api/conversations", {"agent": AGENT, "workspace": {}, "tags": tags}).status, 422, tags)
        c = self.create(tags={"a1": "ä" * 256}, conversation_id=None)
        self.assertEqual(self.call("PATCH", self.path(c), {"tags": {"a-b": "x"}}).status, 422)
        self.say(c, "count")
        self.run_on(c, "finished")
        fork = self.good_call("POST", self.path(c, "/fork"), {"title": " Another ", "tags": {"of": "mine"}}, 201)
        self.assertEqual((fork["title"], fork["tags"], fork["forked_from_conversation_id"]), ("Another", {"of": "mine"}, c["id"]))
        self.assertEqual(self.good_call("POST", self.path(c, "/fork"), {}, 201)["tags"], c["tags"])
        for body, status in (({"tags": {"A": ""}}, 422), ({"id": "x"}, 422), ({"from_event_id": c["id"]}, 404)):
            self.assertEqual(self.call("POST", self.path(c, "/fork"), body).status, status)
        # One that runs and was forked is stopped, and stays.
        self.say(c, "slow", run=True)
        answer = self.call("DELETE", self.path(c))
        self.assertEqual((answer.status, "fork" in answer.body.decode()), (409, True), answer)
        self.assertEqual(self.status(c), "paused")
        # One that runs is gone when the answer comes.
        d = self.create()
        self.say(d, "slow", run=True)
        self.good_call("DELETE", self.path(d))
        self.assertEqual(self.call("GET", self.path(d)).status, 404)
        self.assertFalse((self.workspaces / d["id"]).exists())

    def test_what_it_took(self):
        self.begin(rules=[{"parts": [{"text": "Yes."}], "usage": {"input": 900, "output": 20, "cached": 600, "reasoning": 10}}])
        c = self.create()
        self.say(c, "count")
        self.run_on(c, "finished")
        took = self.good_call("GET", self.path(c))["stats"]["usage_to_metrics"]["agent"]["accumulated_token_usage"]
        self.assertEqual([took.get(name + "_tokens") for name in ("prompt", "completion", "cache_read")], [900, 20, 600])

    def test_a_question_beside(self):
        rules = [{"if": {"tail": "which fails"}, "parts": [{"text": "x"}], "faults": [{"status": 400, "message": "no", "times": -1}]},
                 {"if": {"tail": "beside the task"}, "expect": [{"tail": "How far?"}], "parts": [{"text": "Half of it."}]}]
        self.begin(rules=rules)
        c = self.create()
        self.say(c, "count")
        self.run_on(c, "finished")
        before, asked = self.told(c), len(self.standin.requests())
        self.assertEqual(self.good_call("POST", self.path(c, "/ask_agent"), {"question": "How far?"}), {"response": "Half of it."})
        self.assertEqual(self.told(c), before)
        self.assertEqual(self.status(c), "finished")
        (event,) = [e["data"] for e in map(json.loads, self.good("log", c["id"], "--json").out.splitlines()) if e["kind"] == "asked"]
        self.assertEqual((event["by"], event["question"], event["answer"], event["usage"]["requests"]), ("alice", "How far?", "Half of it.", 1))
        self.assertIn("How far?: Half of it.", self.good("log", c["id"]).out)
        # Neither is in what the model sees next.
        self.say(c, "count")
        self.run_on(c, "finished")
        self.assertEqual(len(self.standin.requests()), asked + 2)
        for wrong in ({}, {"question": ""}, {"question": "a\0"}, {"question": "x" * 65537}):
            self.assertEqual(self.call("POST", self.path(c, "/ask_agent"), wrong).status, 422)
        self.assertEqual(self.call("POST", self.path(c, "/ask_agent"), {"question": "How far?"}, who="bob").status, 404)
        self.assertEqual(self.call("POST", self.path(c, "/ask_agent"), {"question": "one which fails"}).status, 500)
        self.say(c, "slow", run=True)
        self.assertEqual(self.call("POST", self.path(c, "/ask_agent"), {"question": "How far?"}).status, 409)

    def test_only_where_the_agent_has_a_shell(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "reader.yaml").write_text("tools: [read_file]\n")
        self.begin("--agents", agents)
        c = self.create(agent={"kind": "Agent", "llm": {"model": "thole/reader"}})
        self.assertIn("no tool that runs commands", self.bash(c, "true", status=501)["detail"])
        self.assertEqual(self.upload(self.folder_of(c) + "/x", b"x").status, 501)


if __name__ == "__main__":
    unittest.main()
