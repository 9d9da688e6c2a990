# SPDX-License-Identifier: Apache-2.0
"""Whole runs over Gemini's Interactions API, against a strict server of our own: interactions_server.py."""

import json

import house
import interactions_server

MODEL = "interactions:gemini-3-flash-preview"


def thought(number):
    return {"type": "thought", "summary": [{"type": "text", "text": "Step %d needs thought." % number}],
            "signature": "c2lnbmF0dXJl%04d" % number}


def call(number, name, **arguments):
    return {"type": "function_call", "id": "call%d" % number, "name": name, "arguments": arguments}


def says(text):
    return {"type": "model_output", "content": [{"type": "text", "text": text}]}


def files():
    return [{"steps": [thought(1), call(1, "shell", command="echo hello > made.txt; cat made.txt")]},
            {"steps": [thought(2), call(2, "read_file", path="made.txt"), call(3, "list_dir", path=".")]},
            {"steps": [thought(3), says("It says hello.")]}]


class Base(house.House):
    def serve_steps(self, turns):
        self.server = interactions_server.Server(turns)
        self.env["GEMINI_BASE_URL"] = self.server.url
        self.env["GEMINI_API_KEY"] = house.KEY
        return self.server

    def tearDown(self):
        self.server.end()
        super().tearDown()
        self.assertEqual(self.server.violations, [])

    def agent(self, settings, tools="[shell, read_file, list_dir]"):
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: %s\nworkspace: %s\ntools: %s\nsettings: {%s}\n"
                        % (MODEL, self.work, tools, settings))
        return path

    def run_files(self, settings, turns, name="files"):
        server = self.serve_steps(turns)
        ended = self.good("run", "-a", self.agent(settings), "-s", name, "make a file")
        self.assertEqual((self.work / "made.txt").read_text(), "hello\n")
        self.assertIn("It says hello.", ended.out)
        events = self.events(name)
        self.assertEqual([e["data"]["status"] for e in events if e["kind"] == "outcome"], ["done"] * 3)
        return server, events


class Interactions(Base):
    def test_whole_history(self):
        """Nothing is stored; thoughts and calls go back as they came, which the server checks."""
        server, events = self.run_files("effort: high", files())
        self.assertEqual([r["store"] for r in server.requests], [False] * 3)
        self.assertEqual([len(r["input"]) for r in server.requests], [1, 4, 9])
        self.assertFalse(any("previous_interaction_id" in r for r in server.requests))
        self.assertEqual(server.requests[0]["generation_config"]["thinking_level"], "high")
        usage = [e["data"]["usage"] for e in events if e["kind"] == "model_answered"]
        self.assertEqual([(u["input"], u["cached"], u["output"], u["reasoning"]) for u in usage], [(100, 40, 15, 5)] * 3)
        # 60 tokens at 0.5, 40 at 0.05 and 15 at 3 dollars per million.
        costs = [e["data"]["cost_nano"] for e in events if e["kind"] == "model_answered"]
        self.assertEqual(costs, [60 * 500 + 40 * 50 + 15 * 3000] * 3)

    def test_state_of_the_server(self):
        """Each request names the interaction before and holds only what is new."""
        server, _ = self.run_files("history: previous_response", files())
        self.assertEqual([r["store"] for r in server.requests], [True] * 3)
        self.assertEqual([[s["type"] for s in r["input"]] for r in server.requests],
                         [["user_input"], ["function_result"], ["function_result"] * 2])
        self.assertEqual([r.get("previous_interaction_id") for r in server.requests],
                         [None, "v1_test0-1", "v1_test1-2"])
        # Tools are not taken over from the interaction before.
        self.assertTrue(all(r["tools"] for r in server.requests))

    def test_state_that_is_lost(self):
        """The server knows the interaction no more: it gets the whole history, once."""
        turns = files()
        turns[1]["forget"] = True
        server, _ = self.run_files("history: previous_response", turns)
        self.assertEqual([len(r["input"]) for r in server.requests], [1, 1, 4, 2])
        self.assertEqual(["previous_interaction_id" in r for r in server.requests], [False, True, False, True])

    def test_faults(self):
        """An error that passes and a stream that is cut: asked again, and nothing is done twice."""
        turns = files()
        turns[0]["error"] = {"status": 503, "body": {"error": {"code": 503, "message": "Later", "status": "UNAVAILABLE"}}}
        turns[1]["cut"] = 6
        server, events = self.run_files("effort: low", turns)
        self.assertEqual(len(server.requests), 5)
        failures = [e["data"]["class"] for e in events if e["kind"] == "model_failed"]
        self.assertEqual(failures, ["overloaded", "cut"])

    def test_an_error_that_stays(self):
        self.serve_steps([{"steps": [says("never")], "error": {
            "status": 400, "body": {"error": {"code": 400, "message": "Bad schema", "status": "INVALID_ARGUMENT"}}}}])
        ended = self.good("run", "-a", self.agent("effort: low"), "-s", "bad", "hello", code=1)
        self.assertIn("Bad schema", ended.out + ended.err)
        self.assertEqual(len(self.server.requests), 1)

    def test_background(self):
        """The answer is fetched by its id until it is there."""
        server, events = self.run_files("background: true", files())
        self.assertTrue(all(r["background"] and r["store"] for r in server.requests))
        self.assertEqual([e["data"]["response_id"] for e in events if e["kind"] == "model_started"],
                         ["v1_test0-1", "v1_test1-2", "v1_test2-3"])

    def test_another_model_answered_before(self):
        """What another wire said is written as steps: the first call has the documented placeholder."""
        server = self.serve_steps([{"steps": [says("Done.")]}])
        body = {"items": [{"type": "message", "role": "user", "content": "go"},
                          {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
                          {"type": "function_call_output", "call_id": "x", "output": "ok"}]}
        found = json.loads(self.good("plumb", "encode", "--model", MODEL, stdin=json.dumps(body)).out)
        self.assertEqual(found["path"], "/interactions")
        interactions_server.check_body(found["body"])
        interactions_server.check_order(found["body"]["input"])
        self.assertEqual(found["body"]["input"][1]["signature"], "skip_thought_signature_validator")
        self.assertEqual(server.requests, [])


class Screen(Base):
    def test_a_computer(self):
        """The tool of the API on a private desktop: points of a thousandth, screenshots in the results."""
        def seen(body):
            result = body["input"][-1]["result"]
            picture = [p for p in result if p["type"] == "image"]
            return None if picture and json.loads(result[0]["text"]).keys() >= {"output"} else "no picture in %s" % result

        def acknowledged(body):
            result = json.loads(body["input"][-1]["result"][0]["text"])
            return None if result.get("safety_acknowledgement") is True else "not acknowledged: %s" % result

        turns = [{"steps": [thought(1), call(1, "click", x=500, y=250, intent="to point")],
                  "expect": lambda body: None if {"type": "computer_use", "environment": "desktop"} in body["tools"]
                  else "computer_use is not declared"},
                 {"steps": [thought(2), call(2, "take_screenshot")], "expect": seen},
                 {"steps": [call(3, "type", text="a", safety_decision={"decision": "require_confirmation",
                                                                      "explanation": "It is sent at once."})],
                  "expect": seen},
                 {"steps": [says("Seen.")], "expect": acknowledged}]
        self.serve_steps(turns)
        ended = self.good("run", "-a", self.agent("images: 5", tools="[]"), "-c", "desktop:800x600", "-s", "screen",
                          "click there", code=3)
        self.assertIn("It is sent at once.", ended.out)
        self.good("approve", "screen", "--all")
        ended = self.good("resume", "screen")
        self.assertIn("Seen.", ended.out)
        calls = [e["data"] for e in self.events("screen") if e["kind"] == "call"]
        self.assertIn('"x":400,"y":150', json.dumps(calls).replace(" ", "").replace("\\", ""))


if __name__ == "__main__":
    house.main()
