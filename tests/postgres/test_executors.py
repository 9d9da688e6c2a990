# SPDX-License-Identifier: Apache-2.0
"""Executors of another machine: what runs on one whose node ends goes on there, and the next owner reaches it over TLS.

Each machine is a node with folders of state and sockets of its own, and a gate (thole exec --listen).
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving
import websocket
from nodes import WithMachines
from on_postgres import say, shell

WIDTH = 600 + os.getpid() % 97  # of a desktop
WAITS = "echo x >> made; until [ -e go ]; do sleep 0.05; done; echo it went on"


class Connection:
    """To a gate, as a runtime of another machine."""

    def __init__(self, test, gate, certificate="node"):
        context = ssl.create_default_context(cafile=test.certificates / "ca.pem")
        if certificate:
            context.load_cert_chain(test.certificates / (certificate + ".pem"), test.certificates / (certificate + ".key"))
        host, port = gate.place.rsplit(":", 1)
        self.socket = context.wrap_socket(socket.create_connection((host, int(port)), timeout=house.SECONDS), server_hostname=host)
        test.addCleanup(self.socket.close)

    def ask(self, message):
        head = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<II", len(head) + 4, len(head)) + head)
        return self.answer()

    def answer(self):
        """The head of the next frame; None: it was closed."""
        whole = b""
        while len(whole) < 4 or len(whole) < 4 + struct.unpack("<I", whole[:4])[0]:
            more = self.socket.recv(65536)
            if not more:
                return None
            whole += more
        return json.loads(whole[8:8 + struct.unpack("<I", whole[4:8])[0]])


class Refusing:
    """What listens where a gate is meant to, with another certificate, or for nodes of another authority."""

    def __init__(self, test, certificate, authority):
        at = test.certificates
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(at / (certificate + ".pem"), at / (certificate + ".key"))
        self.context.load_verify_locations(at / (authority + ".pem"))
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place, self.count = "127.0.0.1:%d" % self.listener.getsockname()[1], 0

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def run(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.count += 1
            self.refuse(connection)

    def refuse(self, connection):
        """Everything is read before it is closed, so that the other end hears why."""
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls, failed = self.context.wrap_bio(into, out, server_side=True), False
        with connection:
            while piece := connection.recv(65536):
                if failed:
                    continue
                into.write(piece)
                try:
                    tls.do_handshake()
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError:
                    failed = True
                connection.sendall(out.read())
                if failed:
                    connection.shutdown(socket.SHUT_WR)


class Executors(WithMachines):
    def setUp(self):
        super().setUp()
        self.runs(WAITS, "echo y >> made")

    def screens(self):
        """The X servers with screens as wide as this test's."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = path.read_bytes()
            except OSError:
                continue
            if os.path.basename(text.split(b"\0")[0]) == b"Xvfb" and b"%dx480x24" % WIDTH in text:
                found.append(int(path.parent.name))
        return sorted(found)

    def executor(self):
        """The process that runs the session's commands."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                environment = path.with_name("environ").read_bytes()
            except OSError:
                continue
            if words[1:4] == [b"exec", b"--session", b"one"] and str(self.folder).encode() in environment:
                found.append(int(path.parent.name))
        return found

    def runs(self, *commands):
        self.serve_rules([{"if": {"turns": {"max": i}}, "parts": [shell(c)]} for i, c in enumerate(commands)] + [{"parts": say("Done.")}])

    def begin(self, node, agent="worker"):
        node.good("POST", "/api/sessions", {"agent": agent, "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: self.made() == ["x\n"])

    def forget(self, name):
        """That a node which was killed has its sessions, before its lease is over."""
        self.postgres.sql("UPDATE thole.owners SET expires = clock_timestamp() WHERE node = '%s'" % name)

    def events(self, kind):
        return [e["data"] for e in map(json.loads, self.good("log", "one", "--json").out.splitlines()) if e["kind"] == kind]

    def owned(self, name):
        return self.postgres.sql("SELECT o.node FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE s.session_id = 'one'") == name

    def went_on(self, gate):
        """The command was adopted at that gate, its outcome came once, and the next one ran there, too."""
        self.wait_for(lambda: "session one, epoch" in gate.said())
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.made(), ["x\ny\n"])
        outcomes = self.events("outcome")
        self.assertEqual([o["status"] for o in outcomes], ["done", "done"])
        self.assertIn("it went on", json.dumps(outcomes[0]))
        self.assertEqual([i["executor"] for i in self.events("intent")], [gate.place] * 2)
        # The session is over, and so is its executor.
        self.wait_for(lambda: not self.executor())

    def test_killed(self):
        (gate, first), (other, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        before = self.executor()
        first.end(signal.SIGKILL)
        self.forget("n1")
        self.wait_for(lambda: self.owned("n2"))
        self.went_on(gate)
        self.assertEqual(len(before), 1)
        self.assertEqual(other.said(), "")

    def test_drained(self):
        (gate, first), (other, second) = self.machine("n1", "--drain-s", "0"), self.machine("n2")
        self.begin(first)
        self.assertEqual(first.end(), 0)
        self.went_on(gate)
        self.assertEqual(other.said(), "")

    def test_deleted_from_another_machine(self):
        """A session that rests, whose node is dead: its executor is told to end by whoever deletes it."""
        (gate, first), (other, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        first.good("POST", "/api/sessions/one/pause", {}, 202)
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: self.state("one") == "paused")
        before = self.executor()
        first.end(signal.SIGKILL)
        self.forget("n1")
        self.assertEqual((len(before), self.executor()), (1, before))
        self.assertEqual(gate.said(), "")
        self.assertEqual(second.call("DELETE", "/api/sessions/one").status, 204)
        self.wait_for(lambda: "session one" in gate.said())
        self.wait_for(lambda: not self.executor())
        self.assertEqual(other.said(), "")

    def test_a_desktop(self):
        """It is there as it was, and is seen through the next owner."""
        if not shutil.which("Xvfb") or not shutil.which("bwrap"):
            self.skipTest("Xvfb and bwrap are not installed")
        (self.agents / "desk.yaml").write_text("name: desk\nmodel: gpt-5.4\ntools: [shell]\ncomputer: {kind: desktop, width: %d, height: 480}\n" % WIDTH)
        (gate, first), (other, second) = self.machine("n1"), self.machine("n2")
        self.begin(first, "desk")
        before = self.screens()
        self.assertEqual(len(before), 1)
        first.end(signal.SIGKILL)
        self.forget("n1")
        self.wait_for(lambda: "session one, epoch" in gate.said())
        view = websocket.Socket(second.port, "/api/sessions/one/screen", serving.TOKENS["alice"])
        self.addCleanup(view.close)
        while (message := view.receive()) and not (isinstance(message, dict) and message["type"] == "screen"):
            pass
        self.assertEqual((message["width"], message["height"]), (WIDTH, 480))
        while isinstance(view.receive(), dict):  # a tile of what is on it
            pass
        self.assertEqual(self.screens(), before)
        self.went_on(gate)
        self.assertEqual(other.said(), "")
        self.wait_for(lambda: not self.screens())

    def test_twice(self):
        """Its owner dies, and the next one, too: the third one finds it where it was."""
        self.standin.end()
        self.runs(WAITS, "until [ -e gone ]; do sleep 0.05; done; echo y >> made", "echo z >> made")
        (gate, first), (_, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        first.end(signal.SIGKILL)
        self.forget("n1")
        self.wait_for(lambda: "session one, epoch 2" in gate.said())
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: len(self.events("intent")) == 2)
        (_, third) = self.machine("n3")
        second.end(signal.SIGKILL)
        self.forget("n2")
        self.wait_for(lambda: "session one, epoch 3" in gate.said())
        (self.work / "one" / "gone").write_text("")
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.made(), ["x\ny\nz\n"])
        self.assertEqual([o["status"] for o in self.events("outcome")], ["done"] * 3)
        self.assertEqual([i["executor"] for i in self.events("intent")], [gate.place] * 3)

    def is_unknown(self, place, seconds=20):
        self.wait_for(lambda: self.state("one") == "finished", seconds)
        outcomes = self.events("outcome")
        self.assertEqual([o["status"] for o in outcomes], ["unknown", "done"])
        self.assertEqual(self.made(), ["x\ny\n"])
        self.assertEqual([i["executor"] for i in self.events("intent")][1], place)  # it goes on at the next owner's

    def test_the_executor_died(self):
        (_, first), (other, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        first.end(signal.SIGKILL)
        for pid in self.executor():
            os.kill(pid, signal.SIGKILL)
        self.forget("n1")
        self.is_unknown(other.place)
        self.assertIn("no executor of session one runs on that machine", json.dumps(self.events("outcome")[0]))

    def test_the_machine_died(self):
        (gate, first), (other, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        first.end(signal.SIGKILL)
        gate.end(signal.SIGKILL)
        for pid in self.executor():
            os.kill(pid, signal.SIGKILL)
        self.forget("n1")
        began = time.monotonic()
        self.is_unknown(other.place, house.SECONDS)  # ten of them are for reaching it
        self.assertGreater(time.monotonic() - began, 5)  # it was tried for a while
        self.assertIn(gate.place, json.dumps(self.events("outcome")[0]))

    def refused(self, certificate, authority, words):
        """It is said at once, with the machine and the reason, and not tried again."""
        at = self.certificates
        with Refusing(self, certificate, authority) as machine:
            first = self.node("n1", executors=machine.place, cert=str(at / "node.pem"), key=str(at / "node.key"), ca=str(at / "ca.pem"))
            other, _ = self.machine("n2")
            self.begin(first)
            first.end(signal.SIGKILL)
            for pid in self.executor():
                os.kill(pid, signal.SIGKILL)
            self.forget("n1")
            self.is_unknown(other.place)
            self.assertIn("the executor at %s: TLS: %s" % (machine.place, words), json.dumps(self.events("outcome")[0]))
            self.assertEqual(machine.count, 1)

    def test_a_certificate_of_a_stranger(self):
        self.refused("stranger", "ca", "certificate verify failed: unable to get local issuer certificate")

    def test_a_machine_of_another_fleet(self):
        self.refused("node", "other", "tlsv1 alert unknown ca")

    def test_the_gate_comes_again(self):
        """What stands between is not what runs: a gate that ends and begins is waited for."""
        (gate, first), (_, second) = self.machine("n1"), self.machine("n2")
        self.begin(first)
        first.end(signal.SIGKILL)
        self.forget("n1")
        self.wait_for(lambda: "session one, epoch 2" in gate.said())
        gate.process.send_signal(signal.SIGHUP)  # only reads its certificates
        port = int(gate.place.rsplit(":", 1)[1])
        self.assertEqual(gate.end(), 0)
        env = {kind: str(self.folder / "n1" / kind.lower()) for kind in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
        at = self.certificates
        again = self.start("exec", "--listen", "127.0.0.1:%d" % port, "--cert", at / "node.pem", "--key", at / "node.key", "--ca", at / "ca.pem", "-q",
                           env={**self.env, **env})
        try:
            self.assertIn(gate.place, again.stdout.readline().decode())
            (self.work / "one" / "go").write_text("")
            self.wait_for(lambda: self.state("one") == "finished")
            self.assertEqual(self.made(), ["x\ny\n"])
            self.assertEqual([o["status"] for o in self.events("outcome")], ["done", "done"])
        finally:
            again.kill()
            again.wait()
            again.stdout.close()

    def test_who_is_refused(self):
        gate, first = self.machine("n1")
        self.begin(first)
        for certificate in (None, "stranger"):
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                if Connection(self, gate, certificate).ask({"op": "hello"}) is None:
                    raise ConnectionError
        with socket.create_connection(("127.0.0.1", int(gate.place.rsplit(":", 1)[1])), timeout=house.SECONDS) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            try:
                self.assertNotIn(b"op", s.recv(4096))
            except ConnectionError:
                pass
        scope = "postgres:" + self.postgres.url()  # th_store_scope
        hello = {"op": "hello", "session": "one", "epoch": 1, "token": "", "scope": scope, "protocol": 3}
        for change, code, words in (
                ({"op": "run"}, "protocol", "hello comes first"), ({"session": ""}, "protocol", "names the session"), ({"scope": ""}, "protocol", "names the session"),
                ({"epoch": 0}, "denied", "only look on"), ({"protocol": 7}, "unsupported", "version 7 of the protocol"), ({"protocol": 2}, "unsupported", "version 2 of the protocol"),
                ({"session": "two"}, "not_found", "no executor of session two"), ({"scope": scope + "x"}, "not_found", "no executor"), ({"session": None}, None, "session")):
            answer = Connection(self, gate).ask({**hello, **change})
            self.assertEqual(answer["op"], "error", answer)
            if code:
                self.assertEqual(answer["code"], code, answer)
            self.assertIn(words, answer["message"])
        # A newer owner: the one before it gets nothing done any more, and cannot come back.
        newer = Connection(self, gate)
        answer = newer.ask({**hello, "epoch": 5})
        self.assertEqual(answer["op"], "welcome", answer)
        answer = Connection(self, gate).ask({**hello, "epoch": 4})
        self.assertEqual((answer["op"], answer["code"]), ("error", "fenced"))
        answer = newer.ask({"op": "run", "id": 1, "effect_id": "stale", "epoch": 1, "class": "W", "tool": "shell",
                            "arguments": {"command": "echo stale >> made"}})
        self.assertEqual((answer["op"], answer["code"]), ("error", "fenced"), answer)
        self.assertEqual(self.made(), ["x\n"])

    def test_as_many_as_there_may_be(self):
        """TH_EXEC_GATE_MAX connections, the next one is closed at once, and there is room again when one ends."""
        most = 4096
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2 * most + 100:
            self.skipTest("this machine has not so many descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        gate, _ = self.machine("n1")
        place = ("127.0.0.1", int(gate.place.rsplit(":", 1)[1]))
        held = [socket.create_connection(place, timeout=house.SECONDS) for _ in range(most)]
        with socket.create_connection(place, timeout=house.SECONDS) as one_more:
            self.assertEqual(one_more.recv(1), b"")
        self.wait_for(lambda: "refused: %d connections are open" % most in gate.said())
        self.assertEqual(gate.said().count("refused: "), 1)
        held.pop().close()

        def has_room():
            try:
                return Connection(self, gate).ask({"op": "run"})["op"] == "error"
            except ConnectionResetError:
                return False  # it has not heard yet that one is closed
        self.wait_for(has_room)
        for s in held:
            s.close()

    def test_settings(self):
        at = self.certificates
        for args, words in (((), "needs --listen, --cert, --key and --ca"), (("--listen", "127.0.0.1:0", "--cert", at / "none", "--key", at / "node.key", "--ca", at / "ca.pem"), "none"),
                            (("--listen", "127.0.0.1:0", "--cert", at / "node.pem", "--key", at / "stranger.key", "--ca", at / "ca.pem"), "stranger.key")):
            ended = self.thole("exec", *args)
            self.assertNotEqual(ended.code, 0)
            self.assertIn(words, ended.err)
        config = self.folder / "bad.yaml"
        for more, words in (("executors: '127.0.0.1:1'", "go together"), ("executors: here, cert: %s/node.pem, key: %s/node.key, ca: %s/ca.pem" % (at, at, at), "HOST:PORT"),
                            ("executors: '127.0.0.1:1', cert: none, key: %s/node.key, ca: %s/ca.pem" % (at, at), "none")):
            config.write_text("serve: {fleet: {address: 'http://127.0.0.1:1', secret_file: %s, %s}}\n" % (self.secret, more))
            config.chmod(0o600)
            ended = self.thole("serve", "--config", config, "--listen", "127.0.0.1:0")
            self.assertNotEqual(ended.code, 0)
            self.assertIn(words, ended.err)


if __name__ == "__main__":
    server.run(house.main)
