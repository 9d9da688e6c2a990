# SPDX-License-Identifier: Apache-2.0
"""A person takes over a session's desktop, acts there, and gives it back."""

import json
import signal
import time
import unittest

import house
import serving
import websocket

DESK = """name: desk
model: gpt-5.4
tools: [shell]
computer: {kind: desktop, width: 640, height: 480, start: ["xterm -maximized -e sh -c 'cat > typed.txt'"]}
"""
WAIT = {"function_call": {"name": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}}


def control(**wanted):
    return lambda m: isinstance(m, dict) and m["type"] == "control" and all(m[k] == v for k, v in wanted.items())


class Takeovers(serving.Served):
    def setUp(self):
        super().setUp()
        self.agents = self.folder / "agents"
        self.agents.mkdir()
        (self.agents / "desk.yaml").write_text(DESK)

    def begin(self, *turns):
        self.serve(*turns)
        self.serve_http("--agents", self.agents, "--workspaces", self.work)
        name = self.good_call("POST", "/api/sessions", {"agent": "desk", "message": "Do it."}, status=201)["session_id"]
        self.wait_for(name, "intent")
        return name

    def events(self, name):
        return [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]

    def wait_for(self, name, kind, **wanted):
        connection, response = self.stream("/api/sessions/%s/events" % name)
        for _, event, data in serving.frames(response):
            if event == kind and all(data["data"].get(k) == v for k, v in wanted.items()):
                connection.close()
                return data
        self.fail("no " + kind)

    def viewer(self, name, who="alice"):
        return websocket.Socket(self.port, "/api/sessions/%s/screen" % name, serving.TOKENS[who])

    def go(self, name):
        (self.work / name / "go").write_text("")

    def take(self, name):
        """The agent's call ends first, and then the person acts."""
        viewer = self.viewer(name)
        viewer.until(control(holder=None))
        viewer.send({"type": "take"})
        viewer.until(control(holder="alice", mine=True, ready=False))
        viewer.send({"type": "input", "actions": [{"type": "move", "x": 1, "y": 1}]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "busy")
        self.go(name)
        viewer.until(control(holder="alice", mine=True, ready=True))
        return viewer

    def test_taken_used_and_given_back(self):
        name = self.begin([WAIT], {"expect": [{"user": {"contains": "I typed the greeting."}}, {"body": {"contains": "data:image/png;base64"}}],
                                   "parts": [{"text": "Thanks."}]})
        viewer = self.take(name)
        self.assertEqual(self.good_call("GET", "/api/sessions/" + name)["state"], "paused")
        other, reader = self.viewer(name), self.viewer(name, "reader")
        other.until(control(holder="alice", mine=False))
        for socket, code in ((other, "busy"), (reader, "scope")):
            socket.send({"type": "take"})
            self.assertEqual(socket.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], code)
        other.send({"type": "input", "actions": [{"type": "move", "x": 1, "y": 1}]})
        self.assertEqual(other.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "control")
        # Many moves are few inputs; the pointer is where the last one was.
        viewer.send({"type": "input", "actions": [{"type": "move", "x": x, "y": 200} for x in range(10, 300)]})
        viewer.until(lambda m: isinstance(m, dict) and m["type"] == "pointer" and (m["x"], m["y"]) == (299, 200))
        viewer.send({"type": "input", "actions": [{"type": "mouse_down", "x": 299, "y": 200, "button": "left"},
                                                  {"type": "mouse_up", "x": 299, "y": 200, "button": "left"},
                                                  {"type": "type", "text": "Gr\u00fc\u00dfe"}, {"type": "key_down", "key": "Return"},
                                                  {"type": "key_up", "key": "Return"}]})
        typed = self.work / name / "typed.txt"
        deadline = time.monotonic() + house.SECONDS
        while not (typed.exists() and typed.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(typed.read_text(), "Gr\u00fc\u00dfe\n")
        viewer.send({"type": "input", "actions": [{"type": "clipboard_set", "text": "\u6f22\u5b57"}, {"type": "clipboard_get"}]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "clipboard")["text"], "\u6f22\u5b57")
        viewer.send({"type": "input", "actions": [{"type": "move", "x": 9999, "y": 1}]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "refused")
        # TH_SERVE_INPUTS_MAX: so many may wait, and no more; what came before is done.
        keys = [{"type": kind, "key": "shift"} for _ in range(256) for kind in ("key_down", "key_up")]
        viewer.send({"type": "input", "actions": keys + keys[:2]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "limit")
        viewer.send({"type": "input", "actions": [{"type": "move", "x": 9998, "y": 1}]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "refused")
        viewer.send({"type": "input", "actions": [*keys[:511], {"type": "move", "x": 9997, "y": 1}]})
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "refused")["code"], "refused")
        viewer.send({"type": "give", "note": "I typed the greeting."})
        other.until(control(holder=None))
        self.wait_for(name, "final")
        events = self.events(name)
        kinds = [e["kind"] for e in events]
        taken, given = [i for i, k in enumerate(kinds) if k == "control"]
        self.assertEqual((events[taken]["source"], events[taken]["data"]["by"], events[taken]["data"]["taken"]), ("user", "alice", True))
        self.assertEqual(events[given]["data"]["note"], "I typed the greeting.")
        # Each input is there before its end, and by the person; none outside the time that it was taken.
        inputs = [i for i, k in enumerate(kinds) if k == "input"]
        self.assertTrue(all(taken < i < given and events[i]["source"] == "user" for i in inputs))
        self.assertLess(len(inputs), 32)  # of 300 moves and 1,024 keys
        self.assertEqual([e["cause"] for e in events if e["kind"] == "input_done"], [events[i]["seq"] for i in inputs])
        said = events[given + 1]
        self.assertEqual((said["kind"], said["source"]), ("message", "user"))
        self.assertIn("I typed the greeting.", said["data"]["content"][0]["text"])
        self.assertEqual(said["data"]["content"][1]["type"], "image")
        self.assertNotIn("model_requested", kinds[taken:given])
        for socket in (viewer, other, reader):
            socket.close()

    def test_who_leaves_gives_back(self):
        name = self.begin([WAIT], [{"text": "On."}])
        viewer = self.take(name)
        viewer.send({"type": "input", "actions": [{"type": "key_down", "key": "shift"}]})
        self.wait_for(name, "input_done")
        viewer.close()
        given = self.wait_for(name, "control", taken=False)
        self.assertEqual(given["data"]["reason"], "the lease ended")
        self.wait_for(name, "final")
        # What the person held down was let go of.
        inputs = [e["data"]["arguments"]["actions"] for e in self.events(name) if e["kind"] == "input"]
        self.assertEqual([a[0]["type"] for a in inputs], ["key_down", "key_up"])

    def test_a_server_that_dies_meanwhile(self):
        name = self.begin([WAIT], {"expect": [{"user": {"contains": "alice took over the computer"}}], "parts": [{"text": "After all."}]})
        viewer = self.take(name)
        viewer.send({"type": "input", "actions": [{"type": "move", "x": 5, "y": 6}]})
        self.wait_for(name, "input_done")
        self.end_http(signal.SIGKILL)
        viewer.close()
        self.serve_http("--agents", self.agents, "--workspaces", self.work)
        self.assertEqual(self.good_call("GET", "/api/sessions/" + name)["state"], "paused")
        again = self.viewer(name)
        again.until(control(mine=False))
        again.send({"type": "take"})
        again.until(control(holder="alice", mine=True, ready=True))
        again.send({"type": "input", "actions": [{"type": "move", "x": 50, "y": 60}]})
        again.until(lambda m: isinstance(m, dict) and m["type"] == "pointer" and m["x"] == 50)
        self.end_http(signal.SIGKILL)
        again.close()
        self.serve_http("--agents", self.agents, "--workspaces", self.work)
        # It stays parked until somebody says so.
        self.good_call("POST", "/api/sessions/%s/resume" % name, {}, status=202)
        self.wait_for(name, "final")
        controls = [e["data"] for e in self.events(name) if e["kind"] == "control"]
        self.assertEqual([c["taken"] for c in controls], [True, True, False])


if __name__ == "__main__":
    unittest.main()
