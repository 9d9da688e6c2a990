# SPDX-License-Identifier: Apache-2.0
"""Limits of time that are minutes and hours, by a clock that the test turns (clock.c)."""

import json
import os
import re
import select
import signal
import socket
import struct
import threading
import time
import unittest
from unittest import mock

import house
import serving
import test_openhands_work
import test_v1
import websocket

LIBRARY = house.BUILD / "tests" / "e2e" / "cli" / "libclock_ahead.so"
CUA_LOGIN, PARK, SOCKET, STATE, SILENT, AWAY, CONNECT = 10, 600, 3600, 86400, 60, 120, 10  # seconds: src/base/limits.h
COMPUTER, COMPUTERS, REFRESH = 600, 16, 60
SHORT = 3  # before a limit: what the test itself may take


class Clock:
    def __init__(self, folder):
        self.path = folder / "clock"
        self.path.write_bytes(bytes(16))
        self.path.chmod(0o644)
        self.env = {"LD_PRELOAD": str(LIBRARY), "TH_TEST_CLOCK": str(self.path)}
        self.began, self.by = time.monotonic(), SHORT

    def turn(self, seconds, day=0):
        """To so many seconds ahead of the real one; `day`: the time of day, which else goes on as it does."""
        file = os.open(self.path, os.O_WRONLY)
        os.pwrite(file, struct.pack("<qq", int(seconds * 1e9), int(day * 1e9)), 0)
        os.close(file)

    def short_of(self, limit, since=None, by=SHORT):
        """`since`: when that began which the limit is of, where it was not just now."""
        self.began, self.by = since or time.monotonic(), by
        self.turn(limit - by)

    def late(self):
        """More real time has gone by than it stays short of the limit by: nothing can be said."""
        return time.monotonic() - self.began > self.by - 0.5


class Relay:
    """In front of a server.  What it has open when it is told to be quiet stays open, and brings nothing more."""

    def __init__(self, port):
        self.target, self.count, self.quiet = port, 0, []
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                peer.close()
                continue
            self.count += 1
            self.open.append(peer)
            for source, target in ((peer, server), (server, peer)):
                threading.Thread(target=self.relay, args=(source, target, peer), daemon=True).start()

    def be_quiet(self):
        self.quiet = list(self.open)

    def relay(self, source, target, peer):
        try:
            while data := source.recv(65536):
                if peer not in self.quiet:
                    target.sendall(data)
            if peer not in self.quiet:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Times(test_v1.Face):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self.folder)
        self.env.update(self.clock.env)

    def figure(self, name):
        text = self.call("GET", "/metrics", who="boss").body.decode()
        return int(re.search(r"^thole_%s (\d+)$" % name, text, re.MULTILINE)[1])

    def is_silent(self, wire):
        """It was neither closed nor told anything, although the server has looked at its clock since."""
        self.figure("connections")
        self.figure("connections")
        return not select.select([wire.socket], [], [], 0)[0]

    def test_a_socket_of_cua_says_who_it_is(self):
        self.serve_http("--cua", "127.0.0.1:0")
        port = int(self.server.stdout.readline().decode().rsplit(":", 1)[1])
        wire, known = websocket.Socket(port, "/ws"), websocket.Socket(port, "/ws", serving.TOKENS["runner"])
        self.addCleanup(wire.close)
        self.addCleanup(known.close)
        self.clock.short_of(CUA_LOGIN)
        self.assertTrue(self.is_silent(wire) or self.clock.late())
        self.clock.turn(CUA_LOGIN)
        self.assertEqual(wire.receive(), 1008)
        known.send({"command": "version", "params": {}})
        self.assertTrue(known.receive()["success"])

    def test_a_socket_of_responses_lasts_an_hour(self):
        wait = test_v1.shell("until test -e go; do sleep 0.02; done")
        self.begin([wait], [{"text": "Through."}], agents=[("worker", "name: worker\ntools: [shell]\n")])
        wires = [websocket.Socket(self.port, "/v1/responses", serving.TOKENS["alice"]) for _ in range(2)]
        idle, busy = wires
        for wire in wires:
            self.addCleanup(wire.close)
        busy.send({"type": "response.create", "model": "worker", "input": "Begin."})
        made = busy.until(lambda m: m["type"] == "response.created")["response"]
        self.wait_for(lambda: any(e["kind"] == "intent" for e in self.log_of(made)))
        self.clock.short_of(SOCKET)
        idle.send({"type": "nothing"})
        self.assertEqual(idle.receive()["status"], 400)
        self.clock.turn(SOCKET)
        self.assertEqual(idle.receive()["error"]["code"], "websocket_connection_limit_reached")
        self.assertEqual(idle.receive(), 1000)
        # What is under way ends first.
        (self.work / self.session_of(made) / "go").write_text("")
        busy.until(lambda m: m["type"] == "response.completed")
        self.assertEqual(busy.receive()["error"]["code"], "websocket_connection_limit_reached")
        self.assertEqual(busy.receive(), 1000)

    def session_of(self, response):
        digits = response["id"].split("_")[1]
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def test_a_call_of_a_client_s_waits_in_memory_for_ten_minutes(self):
        self.begin([test_v1.CALL], [{"text": "Rain."}])
        one = self.respond(input="Weather in Oslo?", tools=[test_v1.WEATHER])
        call = [i for i in one["output"] if i["type"] == "function_call"][0]
        self.clock.short_of(PARK)
        self.assertTrue(self.figure("sessions_open") == 1 or self.clock.late())
        self.clock.turn(2 * PARK)  # the call may have been given to its client a moment behind the answer
        self.wait_for(lambda: self.figure("sessions_open") == 0)
        two = self.respond(input=[{"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}, {"role": "user", "content": "Is it cold?"}],
                           tools=[test_v1.WEATHER], previous_response_id=one["id"])
        self.assertEqual(two["output"][-1]["content"][0]["text"], "Rain.")
        self.assertIn("Is it cold?", json.dumps(self.sent()["input"]))

    def modern(self, **params):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": dict(params, name="run_agent", _meta=meta)}
        answer = self.call("POST", "/mcp", body, headers={"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                                                          "Mcp-Method": "tools/call", "Mcp-Name": "run_agent"})
        text = answer.body.decode()
        if answer.headers["Content-Type"] == "text/event-stream":
            text = [line for line in text.splitlines() if line.startswith("data: ")][-1][6:]
        return json.loads(text)

    def test_what_a_client_keeps_for_a_tool_holds_a_day(self):
        self.begin([test_v1.shell("true")], [{"text": "Not then."}], agents=[("worker", "name: worker\ntools: [shell]\napprove: [shell]\n")])
        arguments = {"agent": "worker", "message": "go"}
        asked = self.modern(arguments=arguments)["result"]
        self.assertEqual(asked["resultType"], "input_required", asked)
        self.clock.began = time.monotonic()
        self.clock.turn(0, day=STATE - SHORT)
        again = self.modern(arguments=arguments, requestState=asked["requestState"])
        self.assertTrue("result" in again or self.clock.late(), again)
        self.clock.turn(0, day=STATE + 1)
        late = self.modern(arguments=arguments, requestState=asked["requestState"])
        self.assertIn("has run out", late["error"]["message"])


    def test_computers_of_users(self):
        """So many users have one, and who does not use it gives it up."""
        users = {"user-%d" % n: "user-token-%013d" % n for n in range(COMPUTERS + 1)}
        lines = serving.LINES + "".join("%s %s read,run,approve\n" % (token, name) for name, token in users.items())
        for patch in (mock.patch.dict(serving.TOKENS, users), mock.patch.object(serving, "LINES", lines)):
            patch.start()
            self.addCleanup(patch.stop)
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 1\nserve:\n  computers: [desktop]\n")
        self.serve_http()

        def has_one(user):
            """An action that is none is told by the user's own executor."""
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act_on_computer", "arguments": {"actions": [{"type": "none"}]}}}
            answer = self.call("POST", "/mcp", body, who=user, headers={"Accept": "application/json, text/event-stream"}).json()["result"]
            said = answer["content"][0]["text"]
            self.assertTrue(answer["isError"], answer)
            self.assertIn("%d users have a computer" % COMPUTERS if "users have" in said else "none", said)
            return "users have" not in said

        *have, late = users
        began = time.monotonic()
        for user in have:
            self.assertTrue(has_one(user), user)
        self.assertFalse(has_one(late))
        self.clock.short_of(COMPUTER, began, 30)
        self.figure("connections")
        self.assertTrue(not has_one(late) or self.clock.late())
        self.assertTrue(has_one(have[0]))
        self.clock.turn(COMPUTER)
        self.wait_for(lambda: has_one(late))
        self.assertTrue(has_one(have[0]))


class Secrets(test_openhands_work.Given):
    def test_a_client_s_secret_is_asked_for_again_after_a_minute(self):
        clock = Clock(self.folder)
        self.env.update(clock.env)
        vault = test_openhands_work.Vault()
        self.addCleanup(vault.end)
        command = "echo $DEPLOY > out"
        self.begin(rules=[{"if": {"tail": "shell: " + command}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": command}}}]}],
                   serve="  secret_servers: [%s]\n" % vault.origin)
        vault.values["/a"] = "the value of the first minute"
        c = self.create(secrets={"DEPLOY": vault.lookup("/a")})
        began = time.monotonic()
        self.assertEqual(self.has_run(c, "shell", command)[1], vault.values["/a"] + "\n")
        clock.short_of(REFRESH, began, 20)
        self.has_run(c, "shell", command)
        self.assertTrue(len(vault.asked) == 1 or clock.late())
        vault.values["/a"] = "the value of the minute behind it"
        clock.turn(REFRESH)
        self.assertEqual(self.has_run(c, "shell", command)[1], vault.values["/a"] + "\n")


class Far(serving.Served):
    """A command as a client of a server, whose clock is the one that is turned."""

    def setUp(self):
        super().setUp()
        self.clock = Clock(self.folder)
        self.there = dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"], **self.clock.env)

    def begin(self):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\nworkspace: %s\n" % self.work)
        wait = test_v1.shell("until test -e go; do sleep 0.02; done")
        self.serve([wait], [{"text": "Through."}])
        self.serve_http("--agents", agents)
        self.relay = Relay(self.port)
        self.addCleanup(self.relay.listener.close)
        process = self.start("--server", "http://127.0.0.1:%d" % self.relay.port, "run", "-a", "worker", "-s", "far", "--json", "go", env=self.there)
        self.wait_for(lambda: any(e["kind"] == "intent" for e in self.call("GET", "/api/sessions/far/events").json().get("events", [])))
        return process

    def let_go(self):
        (self.folder / "state" / "thole" / "workspaces" / "far" / "go").write_text("")

    def has_looked(self, process):
        """It has waited, and so looked at its clock, some times more."""
        def waits():
            try:
                with open("/proc/%d/status" % process.pid) as status:
                    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status.read(), re.MULTILINE)[1])
            except (FileNotFoundError, TypeError):
                return 1 << 60  # it has ended
        before = waits()
        self.wait_for(lambda: process.poll() is not None or waits() >= before + 5)

    def test_a_stream_that_brings_nothing(self):
        process = self.begin()
        self.wait_for(lambda: self.figure_of_streams() == 1)
        before = self.relay.count
        self.relay.be_quiet()
        self.clock.short_of(SILENT)
        self.has_looked(process)
        self.assertTrue(self.relay.count == before or self.clock.late())
        self.clock.turn(SILENT + 1)
        self.wait_for(lambda: self.relay.count > before)
        self.let_go()
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertEqual(out.decode(), self.good("log", "far", "--json").out)

    def figure_of_streams(self):
        text = self.call("GET", "/metrics", who="boss").body.decode()
        return int(re.search(r"^thole_streams (\d+)$", text, re.MULTILINE)[1])

    def test_a_server_that_does_not_come_back(self):
        process = self.begin()
        self.relay.listener.close()
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.clock.short_of(AWAY)
        self.has_looked(process)
        self.assertTrue(process.poll() is None or self.clock.late())
        self.clock.turn(AWAY + 1)
        _, err = process.communicate(timeout=house.SECONDS)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(b"session far is followed no more", err)
        self.let_go()

    def test_a_server_that_does_not_answer(self):
        """Its queue of connections is full."""
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            tries = []
            for _ in range(4):
                tries.append(socket.socket())
                tries[-1].setblocking(False)
                tries[-1].connect_ex(full.getsockname())
            process = self.start("--server", "http://127.0.0.1:%d" % full.getsockname()[1], "sessions", env=self.there)
            self.clock.short_of(CONNECT)
            self.has_looked(process)
            self.assertTrue(process.poll() is None or self.clock.late())
            self.clock.turn(CONNECT + 1)
            _, err = process.communicate(timeout=house.SECONDS)
            self.assertNotEqual(process.returncode, 0)
            self.assertTrue(err.startswith(b"thole: "), err)
            for one in tries:
                one.close()


if __name__ == "__main__":
    unittest.main()
