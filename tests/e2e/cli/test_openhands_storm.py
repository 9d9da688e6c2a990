# SPDX-License-Identifier: Apache-2.0
"""thole serve --openhands under clients that mean it ill: wrong types in each field, sockets that close in the midst, all at once."""

import http.client
import json
import os
import random
import socket
import struct
import threading
import unittest
import uuid

import serving
import websocket
from test_openhands_api import AGENT, Faces

ROUNDS = int(os.environ.get("THOLE_STORM_ROUNDS", "40"))  # of each of the clients
SEED = int(os.environ.get("THOLE_STORM_SEED", "0"))
CLIENTS = 6
SHOW = {"name": "show", "description": "Shows it.", "parameters": {"type": "object", "properties": {"url": {"type": "string"}}}}
TEXT = [{"type": "text", "text": "count"}]
PICTURE = [{"type": "image", "image_urls": [
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="]}]
ODD = [None, True, 0, -1, 2 ** 63, 1.5, 1e308, "", "x", "\0", "\ud800", "ä" * 300, [], {}, [[]], [None], {"kind": 7}, {"type": {}}, [{"text": 7}], "9" * 5000]


class Client(threading.Thread):
    """One of them: what it does is the same for the same number."""

    def __init__(self, test, number):
        super().__init__()
        self.test, self.random, self.why = test, random.Random(number), None

    def run(self):
        try:
            for _ in range(ROUNDS):
                self.random.choice((self.ask, self.ask, self.ask, self.leave, self.listen))()
        except Exception as why:  # noqa: BLE001
            self.why = why

    def conversation(self):
        return self.random.choice(self.test.names)

    def bodies(self):
        c, r = "/api/conversations/" + self.conversation(), self.random
        event = r.choice(self.test.events or ["x"])
        command = r.choice(["true", "echo a; echo b >&2", "sleep 0.2", "exit 3"])
        return r.choice([
            ("POST", "/api/conversations", {"agent": AGENT, "conversation_id": self.conversation(), "tags": {"a": "b"}, "max_iterations": 3, "client_tools": [SHOW],
                                            "confirmation_policy": {"kind": "ConfirmRisky", "threshold": "LOW"}, "secrets": {"TOKEN": "a value of nobody's"},
                                            "initial_message": {"role": "user", "content": TEXT, "run": True}}),
            ("POST", c + "/events", {"role": "user", "content": r.choice([TEXT, PICTURE, [{"type": "text", "text": "slow"}]]), "run": r.random() < 0.5}),
            ("POST", c + "/events/respond_to_confirmation", {"accept": r.random() < 0.5, "reason": "no"}),
            ("POST", c + "/run", {}), ("POST", c + "/pause", {}), ("POST", c + "/interrupt", {}), ("POST", c + "/condense", {}),
            ("POST", c + "/confirmation_policy", {"policy": {"kind": r.choice(["AlwaysConfirm", "NeverConfirm"])}}),
            ("POST", c + "/security_analyzer", {"security_analyzer": None}), ("POST", c + "/ask_agent", {"question": "How far?"}),
            ("POST", c + "/secrets", {"secrets": {"TOKEN": {"kind": "StaticSecret", "value": "another of nobody's"}}}),
            ("PATCH", c, {"title": "Title", "tags": {"a": "c"}}), ("DELETE", c, None), ("GET", c, None), ("GET", c + "/events/search?limit=3&body=o", None),
            ("GET", c + "/events/search?sort_order=TIMESTAMP_DESC&page_id=" + event, None), ("GET", c + "/events/count?kind=MessageEvent", None),
            ("GET", c + "/events/" + event, None), ("GET", c + "/agent_final_response", None), ("GET", "/api/conversations/search?limit=2", None),
            ("GET", "/api/conversations?ids=%s&ids=%s" % (self.conversation(), self.conversation()), None),
            ("POST", c + "/fork", {"id": self.conversation(), "title": "Fork", "tags": {}, "from_event_id": event}), ("POST", c + "/fork", {}),
            ("POST", c + "/bash/execute_bash_command", {"command": command, "timeout": 1}),
            ("POST", c + "/bash/start_bash_command", {"command": command, "cwd": "a", "timeout": 5}),
            ("GET", "/api/bash/bash_events/search?limit=5", None), ("POST", c + "/bash/bash_commands/%s/stop" % event, {}),
            ("GET", c + "/git/changes?path=.", None), ("GET", c + "/git/diff?path=a", None), ("GET", c + "/file/download?path=/a", None)])

    def bent(self, body):
        """With one member of it, at any depth, of another type."""
        body, places = json.loads(json.dumps(body)), []

        def walk(v):
            for key in (v if isinstance(v, dict) else range(len(v)) if isinstance(v, list) else ()):
                places.append((v, key))
                walk(v[key])

        walk(body)
        if places:
            v, key = self.random.choice(places)
            v[key] = self.random.choice(ODD)
        return body

    def request(self):
        method, path, body = self.bodies()
        if body is not None and self.random.random() < 0.5:
            body = self.bent(body)
        return method, path, body

    def ask(self):
        method, path, body = self.request()
        try:
            answer = self.test.call(method, path, body)
        except (OSError, http.client.HTTPException) as why:
            raise AssertionError("%s %s %s: %r" % (method, path, json.dumps(body), why)) from why
        if answer.status == 500:  # only what ends under it
            said = answer.json()["detail"]
            assert "any more" in said or "being deleted" in said or "model" in said, (method, path, body, said)
        if answer.status >= 400:
            assert answer.json()["detail"], answer
        elif method == "GET" and "/events/search" in path:
            self.test.events += [e["id"] for e in answer.json()["items"]][:3]
            del self.test.events[:-50]

    def connect(self):
        peer = socket.create_connection(("127.0.0.1", self.test.port), 60)
        if self.random.random() < 0.5:  # it resets
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return peer

    def leave(self):
        """It goes away in its request, or before the answer, or in that."""
        method, path, body = self.request()
        sent = b"" if body is None else json.dumps(body).encode()
        head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Session-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (
            method, path, self.test.port, serving.TOKENS["alice"], len(sent))
        whole = head.encode() + sent
        with self.connect() as peer:
            peer.sendall(whole[:self.random.choice([len(whole), len(whole), self.random.randrange(len(whole))])])
            if self.random.random() < 0.3:
                peer.settimeout(0.05)
                try:
                    peer.recv(10)
                except (TimeoutError, OSError):
                    pass

    def listen(self):
        mode = self.random.choice(["", "?resend_mode=all", "?resend_mode=since&after_timestamp=2026-01-01T00:00:00"])
        try:
            s = websocket.Socket(self.test.port, "/sockets/events/" + self.conversation() + mode)
        except (websocket.Refused, OSError):
            return
        try:
            s.send({"type": "auth", "session_api_key": serving.TOKENS["alice"]})
            for _ in range(self.random.randrange(3)):
                message = {"role": "user", "content": TEXT}
                s.send(self.random.choice([message, self.bent(message), "no json"]))
            if self.random.random() < 0.5:
                s.receive()
        except OSError:
            pass
        finally:
            s.close()


class Storm(Faces):
    def test_all_at_once(self):
        """Afterwards the server answers, a conversation of its own runs, and it ends in order."""
        self.begin()
        self.names, self.events = [str(uuid.UUID(int=(7 << 100) + i)) for i in range(4)], []
        for name in self.names:
            self.create(conversation_id=name)
        clients = [Client(self, SEED + i) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual([str(client.why) for client in clients if client.why], [])
        c = self.create()
        self.say(c, "count")
        self.run_on(c, "finished")


if __name__ == "__main__":
    unittest.main()
