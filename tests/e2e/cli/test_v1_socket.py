# SPDX-License-Identifier: Apache-2.0
"""The Responses API over a WebSocket of thole serve: lanes, and what is said to a response that is under way."""

import contextlib
import json
import socket
import struct
import unittest
import uuid

import serving
import test_v1
import websocket

WAIT = test_v1.shell("until test -e go; do sleep 0.02; done")


class LongAnswer(test_v1.Cutter):
    def __init__(self):
        super().__init__(" ".join(["x" * 100000] * 100), "")

    def run(self, first, second):
        with contextlib.suppress(OSError):  # it is ended before somebody asked
            super().run(first, second)

    def parts(self, first, second):
        return [(first, True)]

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        super().end()


class Sockets(test_v1.Face):
    def begin_waiting(self, *turns):
        self.begin([WAIT], *turns, agents=[("worker", "name: worker\ntools: [shell]\n")])
        self.open()

    def open(self):
        self.wire = websocket.Socket(self.port, "/v1/responses", serving.TOKENS["alice"])
        self.addCleanup(self.wire.close)

    def ask(self, model="worker", **more):
        self.wire.send(dict({"type": "response.create", "model": model, "input": "Begin."}, **more))

    def waits(self):
        """The id of the response of this socket whose command has begun."""
        made = self.wire.until(lambda m: m["type"] == "response.created")["response"]["id"]
        self.wait_for(lambda: any(e["kind"] == "intent" for e in self.log_of({"id": made})))
        return made

    def let_go(self, response):
        (self.work / str(uuid.UUID(response.split("_")[1])) / "go").write_text("")

    def steer(self, response, said, **more):
        self.wire.send(dict({"type": "response.steer", "previous_response_id": response, "input": said}, **more))
        return self.wire.until(lambda m: m["type"].startswith("response.steer."))

    def test_lanes_run_beside_each_other(self):
        self.begin_waiting([{"text": "Done."}], [{"text": "Again."}])
        self.ask(stream_id="a")
        first = self.waits()
        self.ask(stream_id="a", previous_response_id=first, input="More.")  # waits for the one before it
        self.ask(stream_id="b", generate=False)
        self.ask(generate=False)
        for lane in ("b", None):
            told = self.wire.until(lambda m: m["type"] == "response.completed")
            self.assertEqual((told.get("stream_id"), told["response"]["output"]), (lane, []))
        self.let_go(first)
        seen = []
        while sum(m["type"] == "response.completed" for m in seen) < 2:
            seen.append(self.wire.receive())
        self.assertEqual({m["stream_id"] for m in seen}, {"a"})
        self.assertEqual([m["response"]["output"][-1]["content"][0]["text"] for m in seen if m["type"] == "response.completed"], ["Done.", "Again."])
        numbers = [m["sequence_number"] for m in seen]
        self.assertEqual(numbers[-1], numbers[numbers.index(0):][-1])

    def test_a_response_of_another_lane_is_gone_on_from(self):
        """Also when it is not stored; and who fails to go on has it no more."""
        self.begin([{"text": "One."}], [{"text": "Two."}])
        self.open()
        done = lambda: self.wire.until(lambda m: m["type"] in ("response.completed", "error"))
        self.ask("gpt-5.4", stream_id="a", store=False)
        one = done()["response"]["id"]
        self.ask("gpt-5.4", stream_id="b", store=False, previous_response_id=one)
        self.assertEqual(done()["response"]["output"][-1]["content"][0]["text"], "Two.")
        self.ask("gpt-5.4", stream_id="b", store=False, previous_response_id=one,
                 input=[{"type": "function_call_output", "call_id": "call_missing", "output": "x"}])
        failed = done()
        self.assertEqual((failed["status"], failed["stream_id"]), (400, "b"))
        self.ask("gpt-5.4", stream_id="b", store=False, previous_response_id=one)
        self.assertEqual(done()["error"]["code"], "previous_response_not_found")

    def test_something_is_said_to_one_that_is_under_way(self):
        self.begin_waiting([{"text": "Stopped."}])
        self.ask(stream_id="a")
        one = self.waits()
        for said, why in ((None, "invalid_input"), ([], "invalid_input"), ("", "invalid_input"), ([{"role": "assistant", "content": "x"}], "invalid_input"),
                          ([{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}], "invalid_input")):
            failed = self.steer(one, said)
            self.assertEqual((failed["type"], failed["error"]["code"]), ("response.steer.failed", why), said)
        told = self.steer(one, [{"role": "user", "content": "Stop at"}, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "three."}]}])
        self.assertEqual(told, {"type": "response.steer.accepted", "stream_id": "a", "previous_response_id": one})
        self.let_go(one)
        over = self.wire.until(lambda m: m["type"] == "response.completed")
        self.assertEqual((over["response"]["id"], over["response"]["output"][-1]["content"][0]["text"]), (one, "Stopped."))
        self.assertIn("Stop at\\nthree.", json.dumps(self.sent()["input"]))
        said, = [e for e in self.log_of({"id": one}) if e["kind"] == "message"]
        self.assertEqual(said["data"]["content"], "Stop at\nthree.")
        self.assertEqual(self.good_call("GET", "/v1/responses/" + one)["output"], over["response"]["output"])
        for response, why in ((one, "response_already_completed"), ("resp_none", "response_not_found"), (None, "response_not_found")):
            said = self.steer(response, "x")["error"]
            self.assertEqual((said["code"], "is missing" in said["message"]), (why, response is None), said)

    def test_how_much_is_said_to_one_before_it_is_written(self):
        """TH_SERVE_STEERS_MAX, while another process writes to the store."""
        self.begin_waiting([{"text": "Done."}])
        self.ask()
        one = self.waits()
        with self.store_held():
            for n in range(17):
                self.wire.send({"type": "response.steer", "previous_response_id": one, "input": "Word %d." % n})
            refused = self.wire.until(lambda m: m["type"].startswith("response.steer."))
            self.assertEqual((refused["type"], refused["error"]["code"]), ("response.steer.failed", "too_many_pending_steers"))
        for _ in range(16):
            self.assertEqual(self.wire.until(lambda m: m["type"].startswith("response.steer."))["type"], "response.steer.accepted")
        self.assertEqual(self.steer(one, "Word 17.")["type"], "response.steer.accepted")
        self.let_go(one)
        self.wire.until(lambda m: m["type"] == "response.completed")
        said = [e["data"]["content"] for e in self.log_of({"id": one}) if e["kind"] == "message"]
        self.assertEqual(said, ["Word %d." % n for n in range(16)] + ["Word 17."])

    def test_how_many_lanes(self):
        """TH_SERVE_LANES_MAX that work; of others the one goes that was used least lately."""
        self.begin()
        self.open()
        for n in range(17):
            self.ask("gpt-5.4", stream_id="s%d" % n, generate=False)
            self.assertEqual(self.wire.until(lambda m: m["type"] in ("response.completed", "error"))["type"], "response.completed")
        self.assertEqual(self.end_http(), 0)
        self.assertEqual(self.wire.receive(), 1001)
        with test_v1.socket_of_nobody() as model:
            self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % model.getsockname()[1]
            self.serve_http("--workspaces", self.work)
            self.open()
            for n in range(17):
                self.ask("gpt-5.4", stream_id="s%d" % n)
            refused = self.wire.until(lambda m: m["type"] == "error")
            self.assertEqual((refused["status"], refused["stream_id"], refused["error"]["code"]), (429, "s16", "rate_limit_exceeded"))
            self.assertIn("streams", refused["error"]["message"])

    def test_names_of_lanes(self):
        self.begin()
        self.open()
        for name, good in (("é" * 32, True), ("x" * 65, False), ("", False), (5, False), ("a\0b", False), ({}, False)):
            self.ask("gpt-5.4", stream_id=name, generate=False)
            said = self.wire.until(lambda m: m["type"] in ("response.completed", "error"))
            self.assertEqual((said["type"], said.get("stream_id")), ("response.completed", name) if good else ("error", None))

    # ---- who does not read, or leaves in the midst of an answer ----

    def begin_long(self):
        """A model whose answer is longer than what waits for a peer, and than what a kernel takes of it."""
        self.env["MALLOC_PERTURB_"] = "165"  # what is used after it is freed shows
        model = LongAnswer()
        self.addCleanup(model.end)
        self.env["OPENAI_BASE_URL"] = model.url
        self.begin()

    def ask_by_socket(self):
        self.wire = websocket.Socket(self.port, "/v1/responses", serving.TOKENS["alice"], buffer=4096)
        self.addCleanup(self.wire.close)
        self.ask("gpt-5.4", stream_id="a")
        return self.wire.socket

    def ask_by_stream(self):
        wire = socket.socket()
        self.addCleanup(wire.close)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.connect(("127.0.0.1", self.port))
        data = json.dumps({"model": "gpt-5.4", "input": "Write.", "stream": True}).encode()
        wire.sendall(("POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                      % (serving.TOKENS["alice"], len(data))).encode() + data)
        return wire

    def states(self):
        return {s["state"] for s in self.good_call("GET", "/api/sessions")["sessions"]}

    def over_in(self, *states):
        """Its session is, and the server ends as it should."""
        self.wait_for(lambda: self.states() and self.states() <= set(states))
        self.assertEqual(self.end_http(), 0)

    def reset(self, wire):
        wire.recv(100)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
        self.over_in("stopped")

    def test_a_socket_that_does_not_read(self):
        self.begin_long()
        self.ask_by_socket()
        self.over_in("stopped")

    def test_a_stream_that_is_not_read(self):
        self.begin_long()
        self.ask_by_stream()
        self.over_in("finished")  # GET has it

    def test_a_socket_that_is_reset(self):
        """The server meets that as it writes."""
        self.begin_long()
        wire = self.ask_by_socket()
        self.wire.file.close()  # it has a share of the socket
        self.reset(wire)

    def test_a_stream_that_is_reset(self):
        self.begin_long()
        self.reset(self.ask_by_stream())


if __name__ == "__main__":
    unittest.main()
