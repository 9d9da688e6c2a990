# SPDX-License-Identifier: Apache-2.0
"""thole as a client of thole serve: what a command prints and how it ends is the same there as on this machine."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import threading

import house
import serving

AGENT = "name: worker\nmodel: gpt-5.4\ntools: [shell]\n"


def say(text):
    return [{"text": text}]


def shell(command):
    return [{"function_call": {"name": "shell", "arguments": {"command": command}}}]


class Cutter:
    """A relay in front of a server that cuts each connection after so many bytes of its answer; the first answer to a request that
    begins with `swallow` is not passed on at all."""

    def __init__(self, port, after, swallow=None):
        self.target, self.after, self.cuts, self.swallow = port, after, 0, swallow
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(peer,), daemon=True).start()

    def relay(self, peer):
        with peer:
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            with server:
                swallows = []
                threading.Thread(target=self.up, args=(peer, server, swallows), daemon=True).start()
                left = self.after
                while left > 0:
                    try:
                        data = server.recv(min(left, 4096))
                        if not data:
                            return
                        if swallows:
                            break
                        peer.sendall(data)
                    except OSError:
                        return
                    left -= len(data)
                self.cuts += 1
                peer.shutdown(socket.SHUT_RDWR)

    def up(self, peer, server, swallows):
        try:
            while data := peer.recv(4096):
                if self.swallow and data.startswith(self.swallow):
                    self.swallow = None
                    swallows.append(True)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Remote(serving.Served):
    def begin(self, *turns, agent="", **more):
        """The same script for a run here and then for one there."""
        agents = self.folder / "agents"
        agents.mkdir()
        self.file = agents / "worker.yaml"
        self.file.write_text(AGENT + "workspace: %s\n" % self.work + agent)
        self.serve(*turns, **more)
        self.serve_http("--agents", agents)
        self.url = "http://127.0.0.1:%d" % self.port
        self.there = dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"])

    def far(self, *args, code=0, url=None, **more):
        return self.good("--server", url or self.url, *args, code=code, env=self.there, **more)

    def made(self, name):
        """What the session wrote into its file."""
        folder = self.work if name == "near" else self.folder / "state" / "thole" / "workspaces" / name
        return (folder / "made").read_text() if (folder / "made").exists() else ""

    def kinds_of(self, name):
        answer = self.call("GET", "/api/sessions/%s/events" % name)
        return [e["kind"] for e in answer.json().get("events", [])]

    def plain(self, text):
        """Without what differs from run to run, and from here to there."""
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+|call_\w+", "ID", text)
        text = re.sub(r"\d+ ms|\d+\.\d s", "TIME", text)
        text = text.replace(" --server " + self.url, "")
        text = re.sub(r", in /\S+", ", in FOLDER", text)
        text = re.sub(r"\bfar\b", "near", text)
        return re.sub(r"\n +\d:\d\d ", "\n 0:00 ", "\n" + text)

    def same(self, near, far):
        self.assertEqual(self.plain(near.out), self.plain(far.out))
        self.assertEqual(self.plain(near.err), self.plain(far.err))

    def both(self, *args, code=0):
        near = self.good("run", "-a", self.file, "-s", "near", *args, code=code)
        far = self.far("run", "-a", "worker", "-s", "far", *args, code=code)
        self.same(near, far)
        return far

    def test_a_task(self):
        turns = [shell("echo one; echo two"), say("It is done.")]
        self.begin(*turns)
        self.both("go")
        self.same(self.good("log", "near"), self.far("log", "far"))
        for trace in (self.good("log", "near", "--trace"), self.far("log", "far", "--trace")):
            self.assertIn("turn 2", trace.out)
        near = [json.loads(line) for line in self.good("log", "far", "--json").out.splitlines()]
        far = [json.loads(line) for line in self.far("log", "far", "--json").out.splitlines()]
        self.assertEqual(near, far)
        self.assertIn("far", self.far("sessions").out)
        self.assertNotIn("near", self.far("sessions", "--names").out)
        row = json.loads(self.far("sessions", "--json").out)
        whole = [json.loads(line) for line in self.good("sessions", "--json").out.splitlines()]
        mine = next(r for r in whole if r["session"] == "far")
        self.assertEqual({k: v for k, v in mine.items() if k != "owner"}, row)
        self.assertEqual(self.far("export", "far").out, self.good("export", "far").out)
        self.assertEqual(self.far("fork", "far@3", "copy").out, "copy\n")
        self.assertIn("copy", self.far("sessions", "--names").out)
        self.assertEqual(self.far("sessions", "--names", "--user", "alice").out, self.far("sessions", "--names").out)
        self.assertIn("needs the scope admin", self.far("sessions", "--user", "bob", code=1).err)
        self.assertIn("near", self.good("--server", self.url, "sessions", "--names", "--user", "local", env=dict(self.there, THOLE_TOKEN=serving.TOKENS["boss"])).out)
        self.far("log", "fa", code=1)
        quiet = self.far("run", "-a", "worker", "-q", "go")
        self.assertEqual((quiet.out, quiet.err), ("It is done.\n", ""))
        lines = self.far("run", "-a", "worker", "--json", "go").out.splitlines()
        self.assertEqual([json.loads(line)["seq"] for line in lines], list(range(1, len(lines) + 1)))

    def test_every_form_of_an_export(self):
        self.begin(shell("echo one; echo two"), say("It is done."))
        self.far("run", "-a", "worker", "-s", "far", "go")
        for form in ("lines", "html", "atif", "openai", "anthropic", "sharegpt"):
            with self.subTest(form=form):
                words = ["export", "far", "--format", form]
                near = self.good(*words)
                self.same(near, self.far(*words))
                self.assertTrue(near.out)
                self.far(*words, "-o", self.folder / form)
                self.assertEqual((self.folder / form).read_text(), near.out)
        for form in ("openhands", "openhands-v0"):
            with self.subTest(form=form):
                self.good("export", "far", "--format", form, "-o", self.folder / "here")
                self.far("export", "far", "--format", form, "-o", self.folder / "there")
                here, there = [{p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in (self.folder / "here", self.folder / "there")]
                self.assertTrue(here)
                self.assertEqual(here, there)
                shutil.rmtree(self.folder / "here")
                shutil.rmtree(self.folder / "there")

    def test_what_was_used(self):
        self.begin(shell("echo one"), say("It is done."))
        self.far("run", "-a", "worker", "-s", "far", "go")
        for by in ("day", "user", "agent", "model", "session"):
            for form in ([], ["--json"]):
                with self.subTest(by=by, form=form):
                    near = self.good("usage", "--by", by, *form)
                    self.same(near, self.far("usage", "--by", by, *form))
                    self.assertIn("{" if form else "sessions", near.out)
        self.assertEqual(self.far("usage", "--from", "2000-01-01", "--to", "2000-01-02").err, self.good("usage", "--to", "2000-01-02").err)
        self.bad(1, "needs the scope admin", "--server", self.url, "usage", "--user", "bob", env=self.there)
        boss = dict(self.env, THOLE_TOKEN=serving.TOKENS["boss"])
        self.assertIn("alice", self.good("--server", self.url, "usage", "--by", "user", "--user", "*", env=boss).out)

    def test_a_further_message(self):
        self.begin(say("One."), say("Two."))
        near = [self.good("run", "-a", self.file, "-s", "near", "go"), self.good("run", "-s", "near", "more")]
        far = [self.far("run", "-a", "worker", "-s", "far", "go"), self.far("run", "-s", "far", "more")]
        for one, other in zip(near, far):
            self.same(one, other)
        self.assertIn("Two.", far[1].out)
        self.assertNotIn("One.", far[1].out)
        self.same(self.good("resume", "near"), self.far("resume", "far"))

    def test_how_it_ends(self):
        refused = {"parts": [{"text": "never said"}], "faults": [{"status": 401, "times": -1}]}
        self.violations = False
        self.begin(refused)
        self.both("go", code=1)

    def test_at_a_limit(self):
        self.begin(shell("true"), agent="limits:\n  turns: 1\n", after="repeat_last")
        self.both("go", code=4)

    def test_a_person_decides(self):
        turns = [shell("echo yes >> made"), say("Made.")]
        self.begin(*turns, agent="approve: [shell]\n")
        self.both("go", code=3)
        self.same(self.good("log", "near"), self.far("log", "far"))
        self.same(self.far("resume", "far", code=3), self.good("resume", "near", code=3))
        self.assertEqual((self.made("near"), self.made("far")), ("", ""))
        self.same(self.good("approve", "near"), self.far("approve", "far"))
        near, far = self.good("resume", "near"), self.far("resume", "far")
        self.assertIn("Made.", far.out)
        self.assertEqual(self.plain(near.out).splitlines()[-2:], self.plain(far.out).splitlines()[-2:])
        self.assertEqual((self.made("near"), self.made("far")), ("yes\n", "yes\n"))
        ended = self.thole("--server", self.url, "approve", "far", env=self.there)
        self.assertEqual((ended.code, "nothing in it waits" in ended.err), (1, True), ended)
        self.far("run", "-a", "worker", "-s", "other", "go", code=3)
        self.assertIn("rejected: shell: echo yes", self.far("reject", "other", "-m", "not so").out)
        self.assertIn("Made.", self.far("resume", "other").out)
        self.assertIn("not so", self.far("log", "other").out)
        self.assertEqual(self.made("other"), "")

    def test_asked_on_a_terminal(self):
        self.begin(shell("echo yes >> made"), shell("echo again >> made"), say("Made."), agent="approve: [shell]\n")
        master, slave = pty.openpty()
        process = self.start("--server", self.url, "run", "-a", "worker", "-s", "far", "go", env=self.there, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        while b"[y/a/N/q]" not in seen:
            seen += os.read(master, 4096)
        os.write(master, b"a\n") # the second is not asked about
        while b"finished: " not in seen:
            seen += os.read(master, 4096)
        self.assertEqual(process.wait(house.SECONDS), 0)
        os.close(master)
        self.assertEqual(self.made("far"), "yes\nagain\n")

    def test_interrupted(self):
        late = {"parts": say("late"), "faults": [{"delay": 20}]}
        self.begin(late)
        process = self.start("--server", self.url, "run", "-a", "worker", "-s", "far", "go", env=self.there)
        self.wait_for(lambda: "model_requested" in self.kinds_of("far"))
        ended = self.interrupt(process)
        self.assertEqual(ended.code, 130, ended)
        self.assertIn("paused", ended.out)
        self.assertIn("resume far --server %s" % self.url, ended.out)
        self.assertIn("late", self.far("resume", "far").out)
        ended = self.far("cancel", "far", code=1)
        self.assertEqual(ended.err, "thole: session far is finished; there is nothing to cancel\n")

    def test_cancelled(self):
        self.begin(shell("sleep 60"))
        process = self.start("--server", self.url, "run", "-a", "worker", "-s", "other", "go", env=self.there)
        self.wait_for(lambda: "intent" in self.kinds_of("other"))
        self.assertEqual(self.far("cancel", "other").out, "other is stopped\n")
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 130, (out, err))
        self.assertEqual(self.far("cancel", "other").out, "other is stopped\n")
        # What its call came to is written behind that; who begins to listen then hears the end all the same.
        self.wait_for(lambda: "outcome" in self.kinds_of("other"))
        connection, response = self.stream("/api/sessions/other/events?until=rest")
        self.assertIn(b"outcome", response.read())
        connection.close()

    def test_cut_all_the_time(self):
        turns = [shell("echo %d" % i) for i in range(6)]
        self.begin(*turns, say("Through."))
        cutter = Cutter(self.port, 3000)
        lines = self.far("run", "-a", "worker", "-s", "far", "--json", "go", url="http://127.0.0.1:%d" % cutter.port).out
        self.assertGreater(cutter.cuts, 3)
        self.assertEqual(lines, self.good("log", "far", "--json").out)
        cutter.listener.close()

    def test_an_answer_that_is_lost(self):
        self.begin(say("One."), say("Two."))
        for request, name, text in ((b"POST /api/sessions HTTP", "far", "One."), (b"POST /api/sessions/far/messages", "far", "Two.")):
            cutter = Cutter(self.port, 1 << 30, request)
            ended = self.far("run", *(["-a", "worker"] if text == "One." else []), "-s", name, "say " + text, url="http://127.0.0.1:%d" % cutter.port)
            self.assertEqual((cutter.cuts, text in ended.out), (1, True), ended)
            cutter.listener.close()
        self.assertEqual(self.kinds_of("far").count("message"), 2)
        self.assertEqual(len(self.far("sessions", "--names").out.split()), 1)

    def test_the_server_is_killed_and_comes_back(self):
        self.begin({"parts": say("late"), "faults": [{"delay": 2}]}, say("On again."))
        process = self.start("--server", self.url, "run", "-a", "worker", "-s", "far", "--json", "go", env=self.there)
        self.wait_for(lambda: "model_requested" in self.kinds_of("far"))
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.serve_http("--agents", self.folder / "agents", port=self.port)
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertEqual(out.decode(), self.good("log", "far", "--json").out)

    def test_a_socket(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text(AGENT)
        tokens = self.folder / "tokens"
        tokens.write_text(serving.LINES)
        tokens.chmod(0o600)
        self.serve(say("Here."))
        path = "unix:%s" % (self.folder / "socket")
        server = self.start("serve", "--listen", path, "--tokens", tokens, "--agents", agents, "--workspaces", self.work)
        self.assertIn(path, server.stdout.readline().decode())
        try:
            (self.folder / "token").write_text(serving.TOKENS["alice"] + "\n")
            env = dict(self.env, THOLE_SERVER=path)
            ended = self.good("run", "-a", "worker", "--token-file", self.folder / "token", "go", env=env)
            self.assertIn("Here.", ended.out)
        finally:
            server.terminate()
            server.communicate(timeout=house.SECONDS)

    def test_what_does_not_work_there(self):
        self.begin(say("never"))
        far = ("--server", self.url)
        self.standin.requests()
        for words, args in ((["computer works on this machine"], [*far, "computer", "-s", "x", "see"]),
                            (["not a file of this machine"], [*far, "run", "-a", self.file, "go"]),
                            (["--model is for runs on this machine"], [*far, "run", "-m", "gpt-5.4", "go"]),
                            (["give one of them"], [*far, "log", "x", "--store", "memory:"]),
                            (["log --verify works on a log of this machine"], ["log", "--verify", *far]),
                            (["import works on this machine"], [*far, "import"]),
                            (["http"], ["--server", "ftp://x", "sessions"]),
                            (["no command"], [*far]),
                            (["there is no agent of that name; the server has: ", "worker"], [*far, "run", "-a", "nobody", "go"]),
                            (["no session \"nothing\" on this server"], [*far, "log", "nothing"]),
                            (["no session", "on this server"], [*far, "resume", "nothing"])):
            ended = self.thole(*args, env=self.there)
            self.assertEqual(len(ended.err.splitlines()), 1, ended)
            self.assertIn(ended.code, (1, 2), ended)
            for word in words:
                self.assertIn(word, ended.err)
        env = dict(self.there, THOLE_SERVER=self.url)
        self.bad(2, "import works on a log of this machine", "import", env=env)
        self.bad(2, "no token", "sessions", env=dict(self.env, THOLE_SERVER=self.url))
        self.bad(1, "does not take this token", "sessions", env=dict(env, THOLE_TOKEN="wrong-token-0123456789"))
        self.bad(1, "no server answers at http://127.0.0.1:1", "sessions", env=dict(env, THOLE_SERVER="http://127.0.0.1:1"))
        reader = dict(env, THOLE_TOKEN=serving.TOKENS["reader"])
        self.bad(1, "scope", "run", "go", env=reader)
        self.assertEqual(self.good("sessions", "--names", "--store", "sqlite:" + str(self.folder / "state/thole/log.db"), env=env).out, "")

    def test_too_many_requests(self):
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text(config.read_text() + "serve:\n  requests_per_second: 1\n")
        self.begin(say("never"))
        for _ in range(4):
            ended = self.thole("--server", self.url, "sessions", env=self.there)
            if ended.code:
                break
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("try again in 1 s", ended.err)


if __name__ == "__main__":
    house.main()
