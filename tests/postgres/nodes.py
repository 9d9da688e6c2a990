# SPDX-License-Identifier: Apache-2.0
"""What the tests of fleets share: nodes, clients that follow a session through any of them, and a test that has some."""

import http.client
import json
import shutil
import signal
import ssl
import subprocess
import threading
import time

import house
import server
import serving
from on_postgres import OnPostgres, say, shell

SECRET = "fleet-secret-do-not-print-me-0123456789"
TURNS = 6


class Node:
    """One `thole serve` with an address of its own."""

    def __init__(self, test, name, *args, env=None, certificate="node", serve=None, **settings):
        self.test, self.name, self.port = test, name, server.free_port()
        self.address = "%s://127.0.0.1:%d" % ("https" if test.tls else "http", self.port)
        folder = test.folder / name
        folder.mkdir(exist_ok=True)
        config = folder / "config.yaml"
        settings = {"address": self.address, "secret_file": str(test.secret), "name": name, **settings}
        config.write_text("executor_linger_s: 20\nserve: %s\n" % json.dumps({"fleet": settings, **(serve or {})}))
        config.chmod(0o600)
        if test.tls:
            args += ("--tls-cert", test.certificates / (certificate + ".pem"), "--tls-key", test.certificates / (certificate + ".key"))
        self.journal = (folder / "journal").open("ab")
        self.process = test.start("serve", "--listen", "127.0.0.1:%d" % self.port, "--tokens", test.tokens, "--config", config,
                                  "--agents", test.agents, "--workspaces", test.work, *args, stderr=self.journal, env={**test.env, **(env or {})})
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening at "):
            self.end(signal.SIGKILL)
            test.fail((line, (folder / "journal").read_text()))

    def connect(self):
        if self.test.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=house.SECONDS, context=self.test.trusts())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)

    def call(self, method, path, body=None, who="alice", headers=None):
        connection = self.connect()
        try:
            sent = {"Authorization": "Bearer " + serving.TOKENS.get(who, who)} if who else {}
            if body is not None:
                sent["Content-Type"] = "application/json"
                body = json.dumps(body).encode()
            sent.update(headers or {})
            connection.request(method, path, body=body, headers=sent)
            return serving.Answer(connection.getresponse())
        finally:
            connection.close()

    patient_call = serving.Served.patient_call

    def good(self, method, path, body=None, status=200, **more):
        answer = self.call(method, path, body, **more)
        self.test.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def stream(self, name, after=None):
        connection = self.connect()
        headers = {"Authorization": "Bearer " + serving.TOKENS["alice"], "Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = str(after)
        connection.request("GET", "/api/sessions/%s/events" % name, headers=headers)
        response = connection.getresponse()
        self.test.assertEqual(response.status, 200)
        return connection, response

    def end(self, how=signal.SIGTERM):
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(house.SECONDS)
        self.process.stdout.close()
        self.journal.close()
        return code


class Gate:
    """`thole exec --listen` of one machine."""

    def __init__(self, test, name, env):
        self.test, self.env, self.log = test, env, test.folder / (name + ".gate")
        self.file = self.log.open("ab")
        at = test.certificates
        self.process = test.start("exec", "--listen", "127.0.0.1:0", "--cert", at / "node.pem", "--key", at / "node.key", "--ca", at / "ca.pem",
                                  stderr=self.file, env={**test.env, **env})
        line = self.process.stdout.readline().decode()
        test.assertTrue(line.startswith("listening at 127.0.0.1:"), (line, self.said()))
        self.place = line.split()[-1]

    def said(self):
        return self.log.read_text()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(house.SECONDS)
        self.process.stdout.close()
        self.file.close()
        return code


class Follower(threading.Thread):
    """A client that follows a session: through any node, from the last event that it saw."""

    def __init__(self, nodes, name, seconds=house.SECONDS):
        super().__init__(daemon=True)
        self.nodes, self.name, self.seconds = nodes, name, seconds
        self.seen, self.events, self.over, self.begun = [], {}, False, threading.Event()
        self.start()

    def run(self):
        end = time.monotonic() + self.seconds
        while not self.over and time.monotonic() < end:
            for node in self.nodes:
                try:
                    connection, response = node.stream(self.name, self.seen[-1] if self.seen else None)
                    for number, event, data in serving.frames(response):
                        if number:
                            self.seen.append(int(number))
                            self.events[int(number)] = data
                            self.begun.set()
                        self.over = self.over or event == "final"
                        if self.over:
                            break
                    connection.close()
                except (OSError, http.client.HTTPException, AssertionError):
                    time.sleep(0.05)
                if self.over:
                    break


def make_certificates(folder, env=None):
    """An authority, and what it vouches for: node.pem of 127.0.0.1; and stranger.pem, which another one does."""
    folder.mkdir()

    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder, env=env)

    for authority, name in (("ca", "node"), ("other", "stranger")):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" + authority,
                "-keyout", authority + ".key", "-out", authority + ".pem")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", name + ".pem")
        (folder / (name + ".key")).chmod(0o600)


class WithNodes(OnPostgres):
    tls = False  # between the nodes, and of clients

    def setUp(self):
        super().setUp()
        if self.tls:
            self.with_certificates()
            self.env["SSL_CERT_FILE"] = str(self.certificates / "ca.pem")
        self.secret = self.folder / "secret"
        self.secret.write_text(SECRET + "\n")
        self.secret.chmod(0o600)
        self.tokens = self.folder / "tokens"
        self.tokens.write_text(serving.LINES)
        self.tokens.chmod(0o600)
        self.agents = self.folder / "agents"
        self.agents.mkdir()
        (self.agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\n")
        (self.agents / "sh.yaml").write_text("name: sh\nmodel: gpt-5.4\ntools: [bash]\n")
        self.nodes = []

    def tearDown(self):
        try:
            for node in self.nodes:
                node.end(signal.SIGKILL)
            for path in self.folder.glob("n*/journal"):
                for secret in [SECRET, house.KEY, *serving.TOKENS.values()]:
                    self.assertNotIn(secret, path.read_text())
        finally:
            super().tearDown()

    def with_certificates(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl makes the certificates, and is not installed")
        self.certificates = self.folder / "certificates"
        make_certificates(self.certificates)

    def trusts(self):
        return ssl.create_default_context(cafile=self.certificates / "ca.pem")

    def node(self, name, *args, **more):
        node = Node(self, name, *args, **more)
        self.nodes.append(node)
        return node

    def serve_steps(self, command="echo x >> made; sleep 0.3", turns=TURNS):
        self.serve_rules([{"if": {"turns": {"max": turns - 1}}, "parts": [shell(command)]}, {"parts": say("Done.")}])

    def state(self, name):
        return self.postgres.sql("SELECT agent_state FROM thole.sessions WHERE session_id = '%s'" % name)

    def made(self):
        return sorted(path.read_text() for path in self.work.rglob("made"))


class WithMachines(WithNodes):
    """Nodes on machines of their own: of another one's they have nothing but the files of sessions, and what its gate lets them reach."""

    def setUp(self):
        super().setUp()
        self.with_certificates()
        self.gates = []

    def tearDown(self):
        try:
            for gate in self.gates:
                gate.end(signal.SIGKILL)
        finally:
            super().tearDown()

    def machine(self, name, *args, env=None, **more):
        """A gate and a node."""
        env = dict(env or {})
        for kind in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            path = self.folder / name / kind.lower()
            path.mkdir(parents=True, mode=0o700)
            env[kind] = str(path)
        gate = Gate(self, name, env)
        self.gates.append(gate)
        return gate, self.node_of(name, gate, *args, **more)

    def node_of(self, name, gate, *args, **more):
        """On that machine, also once more when the one before has ended."""
        at = self.certificates
        return self.node(name, *args, env=gate.env, executors=gate.place, cert=str(at / "node.pem"), key=str(at / "node.key"), ca=str(at / "ca.pem"), **more)
