# SPDX-License-Identifier: Apache-2.0
"""thole serve: sessions over HTTP, by the words of docs/HTTP.md."""

import json
import random
import re
import signal
import socket
import subprocess
import time
import unittest

import house
import serving


def say(text):
    return [{"text": text}]


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Sessions(serving.Served):
    def test_the_computer_may_be_chosen(self):
        self.serve([{"text": "Seen."}], [{"text": "Without."}])
        config = self.folder / "config" / "thole" / "config.yaml"
        with config.open("a") as out:
            out.write("serve:\n  computers: [desktop]\n")
        self.serve_http()
        self.assertEqual(self.good_call("GET", "/api/agents")["computers"], ["desktop"])
        refused = self.call("POST", "/api/sessions", {"computer": "x11"})
        self.assertEqual((refused.status, refused.json()["error"]["code"]), (403, "computer"))
        for kind, name in (("desktop", "with"), ("none", "without")):
            self.good_call("POST", "/api/sessions", {"id": name, "message": "Go.", "computer": kind}, status=201)
            connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
            first = next(serving.frames(response))[2]
            list(serving.frames(response))
            connection.close()
            self.assertEqual((first["data"]["agent"].get("computer") or {}).get("kind"), kind if kind == "desktop" else None)
        config.write_text(config.read_text().replace("[desktop]", "[]"))
        self.server.send_signal(signal.SIGHUP)
        for _ in range(house.SECONDS * 20):
            if self.good_call("GET", "/api/agents")["computers"] == []:
                break
            time.sleep(0.05)
        self.assertEqual(self.call("POST", "/api/sessions", {"computer": "desktop"}).status, 403)

    def test_tools_of_the_configuration(self):
        """An agent that names none has those; a file that names some has its own."""
        self.serve(say("One."), say("Two."))
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text(config.read_text().replace("write_file, list_dir", "serch"))
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "own.yaml").write_text("name: own\ntools: [bash]\n")
        refused = self.thole("serve", "--agents", agents)
        self.assertEqual(refused.code, 2)
        self.assertIn('config.yaml: tools[2] is "serch", which is not a tool; did you mean "search"?', refused.err)
        config.write_text(config.read_text().replace("serch", "search"))
        self.serve_http("--agents", agents)
        for name, offered in (("default", ["shell", "read_file", "search"]), ("own", ["bash"])):
            self.good_call("POST", "/api/sessions", {"id": name, "agent": name, "message": "Go."}, status=201)
            connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
            began = [f[2] for f in serving.frames(response) if f[1] != "delta"][0]
            connection.close()
            self.assertEqual(began["data"]["agent"]["tools"], offered)

    def test_those_that_rest_longest_go_back(self):
        """Never more than 1,024 are open that rest, however many are begun in a moment: when there is one more, the 65 that
        rest longest go back together.  A server that has too much to do did nothing, and is asked again.  One that has
        rested for ten seconds goes back as well: where the machine is so slow, there may be fewer, and never more."""
        self.serve_http("--store", "memory:")
        line, sent = self.connect(), {"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"}
        opened, began = [], time.monotonic()
        for i in range(1040):
            for _ in range(600):
                line.request("POST", "/api/sessions", body=b'{"id":"s%d"}' % i, headers=sent)
                answer = line.getresponse()
                body = answer.read()
                if answer.status != 503 or b'"overloaded"' not in body:
                    break
                time.sleep(0.1)
            self.assertEqual(answer.status, 201, body)
            if i in (1023, 1039):
                text = self.call("GET", "/metrics", who="boss").body.decode()
                opened.append((int(re.search(r"^thole_sessions_open (\d+)", text, re.MULTILINE).group(1)), time.monotonic() - began))
        line.close()
        for (count, took_s), wanted in zip(opened, (1024, 1040 - 65), strict=True):
            (self.assertEqual if took_s < 10 else self.assertLessEqual)(count, wanted)
        self.assertEqual(self.good_call("GET", "/api/sessions/s0")["state"], "idle")

    def test_a_burst_is_taken_or_refused(self):
        """Many begin at once: who waits for his turn is answered in it, or told that there is too much to do, and who leaves
        meanwhile is nobody any more."""
        self.serve_http("--store", "memory:")
        lines = []
        for i in range(300):
            body = b'{"id":"burst%d"}' % i
            line = socket.create_connection(("127.0.0.1", self.port), timeout=house.SECONDS)
            lines.append((line, b"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (serving.TOKENS["alice"].encode(), len(body), body)))
        for line, request in lines:
            line.sendall(request)
        for line, _ in lines[::2]:
            line.close()
        seen = set()
        for line, _ in lines[1::2]:
            with line.makefile("rb") as answer:
                seen.add(int(answer.readline().split()[1]))
            line.close()
        self.assertLessEqual(seen, {201, 503})
        self.assertEqual(self.good_call("POST", "/api/sessions", {"id": "after"}, status=201)["state"], "idle")

    def test_one_session_from_its_beginning_to_its_end(self):
        self.serve(say("Hello."), say("Again."))
        self.serve_http()
        row = self.good_call("POST", "/api/sessions", {"metadata": {"ticket": 7}}, status=201)
        name = row["session_id"]
        self.assertEqual((row["user"], row["metadata"]), ("alice", {"ticket": 7}))
        # The stream is there before the answer is made: none of its pieces comes before.
        connection, response = self.stream("/api/sessions/%s/events" % name)
        self.good_call("POST", "/api/sessions/%s/messages" % name, {"text": "Say hello."}, status=202)
        seen = []
        for frame in serving.frames(response):
            seen.append(frame)
            if frame[1] == "final":
                break
        connection.close()
        events = [f for f in seen if f[1] != "delta"]
        self.assertEqual([int(f[0]) for f in events], list(range(1, len(events) + 1)))
        self.assertEqual(events[-1][1], "final")
        self.assertEqual("".join(f[2]["text"] for f in seen if f[1] == "delta" and f[2]["kind"] == "text"), "Hello.")
        self.assertEqual([json.loads(line) for line in self.good("log", name, "--json").out.splitlines()], [f[2] for f in events])
        page = self.good_call("GET", "/api/sessions/%s/events?from=2&limit=2" % name)
        self.assertEqual(([e["seq"] for e in page["events"]], page["next"]), ([2, 3], 4))
        row = self.good_call("GET", "/api/sessions/" + name)
        self.assertEqual((row["state"], row["head_seq"]), ("finished", len(events)))
        self.good_call("POST", "/api/sessions/%s/messages" % name, {"text": "Once more."}, status=202)
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, headers={"Last-Event-ID": str(len(events))})
        more = [f for f in serving.frames(response) if f[1] != "delta"]
        connection.close()
        self.assertEqual(int(more[0][0]), len(events) + 1)
        self.assertEqual(more[-1][2]["data"]["output"], "Again.")
        items = self.good_call("GET", "/api/sessions/%s/items" % name)["items"]
        self.assertEqual([i["role"] for i in items], ["user", "assistant", "user", "assistant"])

    def test_begun_once_under_one_key(self):
        self.serve(say("Once."))
        self.serve_http()
        body = {"message": "Only once."}
        one = self.good_call("POST", "/api/sessions", body, status=201, headers={"Idempotency-Key": "k1"})
        two = self.good_call("POST", "/api/sessions", body, headers={"Idempotency-Key": "k1"})
        self.assertEqual(one["session_id"], two["session_id"])
        bob = self.good_call("POST", "/api/sessions", {}, status=201, who="bob", headers={"Idempotency-Key": "k1"})
        self.assertNotEqual(bob["session_id"], one["session_id"])
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % one["session_id"])
        list(serving.frames(response))
        connection.close()
        self.assertEqual(len(self.good_call("GET", "/api/sessions")["sessions"]), 1)

    def test_a_person_decides(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "careful.yaml").write_text("name: careful\ntools: [shell]\napprove: [shell]\n")
        self.serve([shell("echo yes > made")], say("Made."))
        self.serve_http("--agents", agents, "--workspaces", self.work)
        self.assertEqual([a["name"] for a in self.good_call("GET", "/api/agents")["agents"]], ["careful", "default"])
        name = self.good_call("POST", "/api/sessions", {"agent": "careful", "message": "Make it.", "id": "w1"}, status=201)["session_id"]
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
        kinds = [f[1] for f in serving.frames(response)]
        connection.close()
        self.assertIn("approval_requested", kinds)
        self.assertEqual(self.good_call("GET", "/api/waiting", who="bob")["waiting"], [])
        waiting = self.good_call("GET", "/api/waiting")["waiting"]
        self.assertEqual([(w["session_id"], w["tool"], w["word"]) for w in waiting], [(name, "shell", "approve")])
        path = "/api/sessions/%s/approve" % name
        self.assertEqual(self.call("POST", path, {"call_id": waiting[0]["call_id"]}, who="bob").status, 404)
        self.assertEqual(self.call("POST", path, {"call_id": waiting[0]["call_id"]}, who="reader").status, 403)
        self.good_call("POST", path, {"call_id": waiting[0]["call_id"]})
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
        events = [f[2] for f in serving.frames(response) if f[1] != "delta"]
        connection.close()
        self.assertEqual(events[-1]["kind"], "final")
        self.assertEqual([e["data"]["by"] for e in events if e["kind"] == "approval_decided"], ["alice"])
        self.assertEqual((self.work / "w1" / "made").read_text(), "yes\n")
        self.assertEqual((self.work / "w1").stat().st_mode & 0o777, 0o700)

    def test_fork_export_import(self):
        self.serve(say("First."), say("Second."))
        self.serve_http()
        name = self.good_call("POST", "/api/sessions", {"message": "Go."}, status=201)["session_id"]
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
        list(serving.frames(response))
        connection.close()
        fork = self.good_call("POST", "/api/sessions/%s/fork" % name, {"id": "branch"}, status=201)
        self.assertEqual((fork["session_id"], fork["parent"], fork["user"]), ("branch", name, "alice"))
        lines = self.call("GET", "/api/sessions/%s/export" % name)
        self.assertEqual(lines.status, 200)
        again = self.call("POST", "/api/sessions/import", lines.body, who="boss", headers={"Content-Type": "application/x-ndjson"})
        self.assertEqual(again.status, 409, again)

    def test_what_is_wrong_is_said(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "far.yaml").write_text("name: far\nlabels: [eu, gpu]\n")
        self.serve_http("--agents", agents)
        for method, path, body, status, word in [
            ("POST", "/api/sessions", {"agent": "none"}, 404, "the server has"),
            ("POST", "/api/sessions", {"agnet": "x"}, 400, "agent"),
            ("POST", "/api/sessions", {"agent": "far"}, 503, "lacks eu, gpu"),
            ("POST", "/v1/responses", {"model": "far", "input": "x"}, 503, "lacks eu, gpu"),
            ("POST", "/api/sessions", {"message": 1}, 400, "message"),
            ("POST", "/api/sessions", {"id": "a b"}, 400, "id has no blanks"),
            ("POST", "/api/sessions", {"id": "-a"}, 400, "id does not begin with a dash"),
            ("POST", "/api/sessions", {"id": "a" * 129}, 400, "id is text of 1 to 128 bytes"),
            ("POST", "/api/sessions/nobody/fork", {"id": "a/b"}, 400, "id has no blanks"),
            ("POST", "/api/sessions", b"{", 400, "JSON"),
            ("POST", "/api/sessions", b"[]", 400, "object"),
            ("GET", "/api/sessions?limit=0", None, 400, "limit"),
            ("GET", "/api/sessions?after=x", None, 400, "cursor"),
            ("GET", "/api/sessions/nobody", None, 404, "no session nobody"),
            ("GET", "/api/sessions/nobody/events", None, 404, "no session"),
            ("POST", "/api/sessions/nobody/messages", {"text": "x"}, 404, "no session"),
            ("POST", "/api/sessions/nobody/cancel", {"when": "later"}, 400, "after_turn"),
            ("PUT", "/api/sessions", {}, 405, "/api/sessions takes GET and POST"),
            ("GET", "/api/nothing", None, 404, "no such path"),
            ("GET", "/api/sessions/", None, 404, "no such path"),
        ]:
            with self.subTest(path=path, body=body):
                answer = self.call(method, path, body)
                self.assertEqual(answer.status, status, answer)
                error = answer.json()["error"]
                self.assertIn(word, error["message"])
                self.assertEqual(sorted(error), ["code", "message", "param", "type"])
                self.assertEqual(answer.headers["Allow"], "GET, POST" if status == 405 else None)


class Held(serving.Served):
    """A session that a server has, and commands beside it on the same machine and log."""

    def test_no_command_ends_the_server(self):
        (self.folder / "agents").mkdir()
        (self.folder / "agents" / "asks.yaml").write_text("name: asks\ntools: [ask]\n")
        self.serve([{"function_call": {"name": "ask", "arguments": {"question": "Which?"}}}])
        self.serve_http("--agents", self.folder / "agents")
        self.good_call("POST", "/api/sessions", {"id": "w", "agent": "asks", "message": "Ask."}, status=201)
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/w")["state"] == "waiting")
        for words in (["cancel", "w"], ["approve", "w"], ["resume", "w"], ["run", "-s", "w", "more"], ["delete", "w"]):
            self.bad(1, "held by another runtime: process %d" % self.server.pid, *words)
            self.bad(1, "that is %s serve: the same command with --server URL reaches it" % house.THOLE, *words)
        self.assertEqual(self.good_call("GET", "/api/sessions/w")["state"], "waiting")
        self.env["THOLE_TOKEN"] = serving.TOKENS["alice"]
        self.assertIn("w is stopped", self.good("cancel", "w", "--server", "http://127.0.0.1:%d" % self.port).out)


class Doors(serving.Served):
    """Who may come in: tokens, files of them, users."""

    def test_tokens_come_and_go(self):
        self.serve_http()
        self.assertEqual(self.good("token", "list").err, "thole: there is no token yet; %s token new USER makes one\n" % house.THOLE)
        token = self.good("token", "new", "carol", "--scopes", "read").out.strip()
        self.assertEqual(self.call("GET", "/api/sessions", who=None, headers={"Authorization": "Bearer " + token}).status, 200)
        row = json.loads(self.good("token", "list", "--json").out)
        self.assertEqual((row["user"], row["scopes"]), ("carol", "read"))
        store = (self.folder / "state" / "thole" / "tokens.jsonl")
        self.assertNotIn(token, store.read_text())
        self.assertEqual(store.stat().st_mode & 0o777, 0o600)
        self.good("token", "revoke", row["id"])
        for headers, word in (({"Authorization": "Bearer " + token}, "this token is not known here"), ({}, "a token is needed")):
            answer = self.call("GET", "/api/sessions", who=None, headers=headers)
            self.assertEqual(answer.status, 401)
            self.assertIn(word, answer.json()["error"]["message"])
        self.bad(1, "no token", "token", "revoke", row["id"])
        self.bad(2, "scopes", "token", "new", "x", "--scopes", "all")

    def test_a_file_of_tokens_is_checked(self):
        tokens = self.folder / "open"
        tokens.write_text(serving.LINES)
        tokens.chmod(0o644)
        self.bad(1, "chmod 600", "serve", "--listen", "127.0.0.1:0", "--tokens", tokens)
        tokens.chmod(0o600)
        tokens.write_text("short alice read\n")
        self.bad(2, ["open:1", "bytes"], "serve", "--listen", "127.0.0.1:0", "--tokens", tokens)
        self.bad(2, "not an address", "serve", "--listen", "nowhere")

    def test_two_users(self):
        self.serve(say("Mine."))
        self.serve_http()
        name = self.good_call("POST", "/api/sessions", {"message": "x"}, status=201)["session_id"]
        for method, path, body in [("GET", "", None), ("GET", "/events", None), ("GET", "/items", None), ("GET", "/export", None),
                                   ("GET", "/blobs/" + "0" * 64, None), ("POST", "/messages", {"text": "x"}), ("POST", "/cancel", {}),
                                   ("POST", "/pause", {}), ("POST", "/resume", {}), ("POST", "/fork", {}), ("POST", "/approve", {}),
                                   ("POST", "/reject", {}), ("POST", "/settle", {"outcome": "done"})]:
            with self.subTest(path=path):
                theirs = self.call(method, "/api/sessions/%s%s" % (name, path), body, who="bob")
                none = self.call(method, "/api/sessions/%s%s" % ("x" * len(name), path), body, who="bob")
                self.assertEqual(theirs.status, 404, theirs)
                self.assertEqual(theirs.body.replace(name.encode(), b"x" * len(name)), none.body)
        self.assertEqual(self.good_call("GET", "/api/sessions", who="bob")["sessions"], [])
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name)
        list(serving.frames(response))
        connection.close()


class Cuts(serving.Served):
    """A reader that is cut at any place, and a server that is killed: each event comes once, in order."""

    RECONNECTS, KILLS = 1000, (10, 25, 50, 300, 700)

    def test_every_event_once(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\ntools: [shell]\n")
        self.serve_rules([{"if": {"turns": {"max": 30}}, "parts": [shell("echo x")]}, {"parts": [{"text": "Done."}]}])
        port = self.serve_http("--agents", agents, "--workspaces", self.work)
        name = self.good_call("POST", "/api/sessions", {"agent": "worker", "message": "Go."}, status=201)["session_id"]
        chance, seen, passes, kills = random.Random(1), [], [], 0
        for n in range(self.RECONNECTS):
            if n in self.KILLS:
                self.end_http(signal.SIGKILL)
                port = self.serve_http("--agents", agents, "--workspaces", self.work, port=port)
                kills += 1
            headers = {"Last-Event-ID": seen[-1][0]} if seen else {}
            connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, headers=headers)
            left, over = chance.randint(0, 12), True
            for frame in serving.frames(response):
                if frame[1] == "delta":
                    continue
                seen.append(frame)
                left -= 1
                if left < 0:
                    over = False
                    break
            connection.sock and connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()
            if over and seen and seen[-1][1] == "final":
                passes.append(seen)
                seen = []
        self.assertGreater(len(passes), 1)
        self.assertEqual(kills, len(self.KILLS))
        log = [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]
        for one in passes:
            self.assertEqual([int(f[0]) for f in one], list(range(1, len(log) + 1)))
            self.assertEqual([f[2] for f in one], log)


class Readme(serving.Served):
    def test_its_commands(self):
        text = (house.SOURCE / "README.md").read_text()
        block = re.search(r"## Over HTTP.*?```sh\n(.*?)```", text, re.DOTALL).group(1)
        self.serve(say("None."))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        # As it stands there, but at a port of its own, and waiting until the server listens.
        block = block.replace("thole serve &", "thole serve --listen 127.0.0.1:7711 > listening &\nserver=$!\n"
                              "until grep -q listening listening; do kill -0 $server; done")
        block = block.replace("7711", str(port)).replace("export OPENAI_API_KEY=…\n", "")
        program = self.folder / "bin"
        program.mkdir()
        (program / "thole").symlink_to(house.THOLE)
        env = dict(self.env, PATH="%s:%s" % (program, self.env["PATH"]))
        done = subprocess.run(["bash", "-e", "-c", block + "\nkill $server\nwait $server"], env=env, cwd=self.work, timeout=house.SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = done.stdout.decode()
        self.assertEqual(done.returncode, 0, out)
        self.assertIn('"session_id":"first"', out)
        self.assertIn("event: final", out)
        self.assertNotIn(serving.house.KEY, out)


class Ends(serving.Served):
    def test_a_server_that_is_killed_goes_on(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\ntools: [shell]\n")
        self.serve([shell("echo once >> count; sleep 1")], say("Done."))
        self.serve_http("--agents", agents, "--workspaces", self.work)
        name = self.good_call("POST", "/api/sessions", {"agent": "worker", "message": "Go.", "id": "k"}, status=201)["session_id"]
        connection, response = self.stream("/api/sessions/%s/events" % name)
        seen = []
        for frame in serving.frames(response):
            if frame[1] != "delta":
                seen.append(frame)
            if frame[1] == "intent":
                break
        self.end_http(signal.SIGKILL)
        connection.close()
        self.serve_http("--agents", agents, "--workspaces", self.work)
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, headers={"Last-Event-ID": seen[-1][0]})
        seen += [f for f in serving.frames(response) if f[1] != "delta"]
        connection.close()
        self.assertEqual([int(f[0]) for f in seen], list(range(1, len(seen) + 1)))
        self.assertEqual(seen[-1][1], "final")
        self.assertEqual((self.work / "k" / "count").read_text(), "once\n")

    def test_sighup_reads_again(self):
        agents = self.folder / "agents"
        agents.mkdir()
        self.serve_http("--agents", agents)
        (agents / "late.yaml").write_text("name: late\n")
        self.assertEqual(len(self.good_call("GET", "/api/agents")["agents"]), 1)
        self.server.send_signal(signal.SIGHUP)
        for _ in range(500):
            if len(self.good_call("GET", "/api/agents")["agents"]) == 2:
                break
        else:
            self.fail("the agent is not there")

    def test_ready_and_figures(self):
        self.serve_http()
        self.assertEqual(self.good_call("GET", "/readyz", who=None), {"status": "ready"})
        self.assertEqual(self.call("GET", "/metrics").status, 403)
        text = self.call("GET", "/metrics", who="boss").body.decode()
        self.assertIn("thole_requests_total 3\n", text)
        self.assertIn('thole_answers_total{status="4xx"} 1\n', text)
        self.assertEqual(self.good_call("GET", "/api/fleet", who="boss"), {"nodes": [], "slow": []})


if __name__ == "__main__":
    unittest.main()
