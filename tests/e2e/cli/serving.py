# SPDX-License-Identifier: Apache-2.0
"""A thole serve of the test's own, and a small client for it."""

import http.client
import json
import signal
import subprocess
import time

import house

TOKENS = {
    "alice": "alice-token-0123456789",
    "bob": "bob-token-0123456789ab",
    "reader": "reader-token-0123456789",
    "runner": "runner-token-0123456789",
    "decider": "decider-token-012345678",
    "boss": "boss-token-0123456789a",
}
LINES = """# tokens of a test
alice-token-0123456789 alice read,run,approve
bob-token-0123456789ab bob read,run,approve
reader-token-0123456789 alice read
runner-token-0123456789 alice read,run
decider-token-012345678 alice approve
boss-token-0123456789a boss read,run,approve,admin
"""


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %s" % (self.status, self.body[:2000])


class Served(house.House):
    """A test with a server; self.call makes a request, self.events_of reads a stream."""

    server = None

    def serve_http(self, *args, port=0):
        self.env.setdefault("THOLE_MODEL", "gpt-5.4")
        tokens = self.folder / "tokens"
        tokens.write_text(LINES)
        tokens.chmod(0o600)
        self.journal = (self.folder / "journal").open("ab")
        self.server = self.start("serve", "--listen", "127.0.0.1:%d" % port, "--tokens", tokens, *args,
                                 stderr=self.journal)
        line = self.server.stdout.readline().decode()
        self.assertTrue(line.startswith("listening at http://127.0.0.1:"), (line, (self.folder / "journal").read_text()))
        self.port = int(line.rsplit(":", 1)[1])
        return self.port

    def serve_rules(self, rules):
        self.standin = house.Standin(self.folder, {"rules": rules})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def end_http(self, how=signal.SIGTERM):
        if self.server:
            self.server.send_signal(how)
            code = self.server.wait(house.SECONDS)
            self.server.stdout.close()
            self.server = None
            self.journal.close()
            return code
        return None

    def tearDown(self):
        try:
            code = self.end_http()
            self.assertIn(code, (None, 0), "the server's exit code")
            if (self.folder / "journal").exists():
                text = (self.folder / "journal").read_text()
                for secret in [house.KEY, *TOKENS.values()]:
                    self.assertNotIn(secret, text)
        finally:
            super().tearDown()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)

    def call(self, method, path, body=None, who="alice", headers=None):
        connection = self.connect()
        try:
            sent = {"Authorization": "Bearer " + TOKENS[who]} if who else {}
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
            if body is not None:
                sent["Content-Type"] = "application/json"
            sent.update(headers or {})
            connection.request(method, path, body=body, headers=sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def patient_call(self, method, path, body=None, **more):
        """As call; a server that has too much to do at the moment is asked again, as it says."""
        answer = self.call(method, path, body, **more)
        for _ in range(5):
            if answer.status != 503 or answer.json()["error"].get("code") != "overloaded":
                break
            time.sleep(int(answer.headers["Retry-After"]))
            answer = self.call(method, path, body, **more)
        return answer

    def good_call(self, method, path, body=None, status=200, **more):
        answer = (self.call if status == 503 else self.patient_call)(method, path, body, **more)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def open_here(self):
        """How many sessions the server has open."""
        text = self.call("GET", "/metrics", who="boss").body.decode()
        return int(text.split("\nthole_sessions_open ")[1].split("\n")[0])

    def stream(self, path, who="alice", headers=None):
        """(connection, response) of an event stream."""
        connection = self.connect()
        sent = {"Authorization": "Bearer " + TOKENS[who], "Accept": "text/event-stream"}
        sent.update(headers or {})
        connection.request("GET", path, headers=sent)
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        return connection, response


def frames(response):
    """The frames of an event stream as (id, event, data), until it ends."""
    frame = {}
    for line in response:
        line = line.decode().rstrip("\n")
        if not line:
            if "data" in frame:
                yield frame.get("id"), frame.get("event"), json.loads(frame["data"])
            frame = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            frame[name] = value
