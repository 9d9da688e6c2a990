# SPDX-License-Identifier: Apache-2.0
"""The terminal of a session's shell over a WebSocket: rows that changed, and a person who types."""

import json

import house
import serving
import websocket


def bash(command, **more):
    return {"function_call": {"name": "bash", "arguments": dict(command=command, **more)}}


def is_type(kind, **wanted):
    return lambda m: m["type"] == kind and all(m[k] == v for k, v in wanted.items())


class View:
    """What the messages say is on the terminal."""

    def __init__(self, test, name, who="alice", query="", **more):
        self.socket = websocket.Socket(test.port, "/api/sessions/%s/terminal%s" % (name, query), serving.TOKENS.get(who, who), **more)
        self.rows, self.cursor, self.size, self.frames, self.sent = {}, None, None, 0, 0

    def next(self):
        m = self.socket.receive()
        assert isinstance(m, dict), m
        if m["type"] == "terminal":
            self.rows, self.size = {}, (m["columns"], m["rows"])
        elif m["type"] == "rows":
            self.frames += 1
            self.sent += len(m["rows"])
            self.rows.update((n, text) for n, text in m["rows"])
            self.cursor = m.get("cursor")
        return m

    def until(self, what):
        while not what(m := self.next()):
            pass
        return m

    def text(self):
        return "\n".join(self.rows.get(n, "") for n in range(self.size[1])).rstrip() if self.size else ""

    def until_text(self, wanted):
        while wanted not in self.text():
            self.next()

    def type(self, text):
        self.socket.send({"type": "input", "text": text})


class Terminals(serving.Served):
    def begin(self, *turns, tools="[bash]"):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "sh.yaml").write_text("name: sh\nmodel: gpt-5.4\ntools: %s\n" % tools)
        self.serve(*turns)
        self.serve_http("--agents", agents, "--workspaces", self.work)
        self.good_call("POST", "/api/sessions", {"agent": "sh", "message": "Do it.", "id": "t"}, status=201)

    def events(self):
        return [json.loads(line) for line in self.good("log", "t", "--json").out.splitlines()]

    def count(self, kind):
        return sum(e["kind"] == kind for e in self.events())

    def go(self, name="go"):
        (self.work / "t" / name).write_text("")

    def test_what_is_printed_is_seen(self):
        self.begin([bash("printf 'one\\n\\e[31mr\\xc3\\xa4d\\e[0m\\n<b>'; until [ -e go ]; do sleep 0.05; done; clear; echo cleared; "
                         "until [ -e go2 ]; do sleep 0.05; done")], [{"text": "Done."}])
        view = View(self, "t")
        view.until_text("one\nräd\n<b>")
        self.assertEqual((view.size, view.cursor), ((200, 50), [3, 2]))
        late = View(self, "t", "reader")
        late.until_text("one\nräd\n<b>")
        self.go()
        late.until_text("cleared")
        self.assertEqual(late.text(), "cleared")
        with self.assertRaises(websocket.Refused) as refused:
            View(self, "t", "bob")
        self.assertEqual(refused.exception.status, 404)
        self.assertEqual(self.call("GET", "/api/sessions/t/terminal").status, 426)
        self.go("go2")

    def test_a_flood_costs_screens_not_lines(self):
        self.begin([bash("until [ -e go ]; do sleep 0.05; done; seq 200000; echo THE END")], [{"text": "Done."}])
        view = View(self, "t", query="?rate=10")
        view.until(is_type("terminal"))
        self.go()
        view.until_text("THE END")
        self.assertEqual(view.text().split("\n")[-2:], ["200000", "THE END"])
        self.assertLess(view.sent, 20000)  # of 200,001 lines

    def test_a_person_types(self):
        self.begin([bash("X=agent; until [ -e go ]; do sleep 0.05; done")], [bash("echo $X $Y")], [{"text": "Done."}])
        view, other = View(self, "t"), View(self, "t", "reader")
        view.until(is_type("terminal"))
        view.type("echo no")
        self.assertEqual(view.until(is_type("refused"))["code"], "control")
        other.socket.send({"type": "take"})
        self.assertEqual(other.until(is_type("refused"))["code"], "scope")
        view.socket.send({"type": "take"})
        view.until(is_type("control", mine=True, ready=False))
        self.go()
        view.until(is_type("control", mine=True, ready=True))
        # A command of his own, in the agent's shell; what it asks; a key.
        view.type("echo \"he sees $X\"; read -p 'name? ' Y; cat")
        view.until_text("he sees agent\nname?")
        view.type("Ann")
        view.type("echoed by cat")
        view.until_text("echoed by cat")
        other.until_text("echoed by cat")
        view.type("C-c")
        # What is typed before that has ended it is for it, and not run.
        self.wait_for(lambda: view.type("touch back") or (self.work / "t" / "back").exists())
        # All of them are there (what is refused says so behind them) and have ended: else the next line is for one of them, too.
        view.type("")
        view.until(is_type("refused"))
        self.wait_for(lambda: self.count("input") == self.count("input_done"))
        # The last of them has ended before the agent goes on.
        view.type("echo $((40 + 2)) is all")
        view.until_text("42 is all")
        for bad in ("", "x" * 5000, "a\0b"):
            view.type(bad)
            self.assertEqual(view.until(is_type("refused"))["code"], "usage")
        view.socket.send({"type": "give", "note": "My name is there."})
        view.until(is_type("control", holder=None))
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/t")["state"] == "finished")
        events = self.events()
        inputs = [e for e in events if e["kind"] == "input"]
        typed = [e["data"]["arguments"]["command"] for e in inputs]
        self.assertEqual(typed[:5], ["echo \"he sees $X\"; read -p 'name? ' Y; cat", "Ann", "echoed by cat", "C-c", "touch back"])
        self.assertEqual(set(typed[5:-1]) | {"touch back"}, {"touch back"})
        self.assertEqual(typed[-1], "echo $((40 + 2)) is all")
        self.assertEqual({(e["source"], e["data"]["by"], e["data"]["tool"]) for e in inputs}, {("user", "alice", "bash")})
        self.assertEqual([e["data"]["status"] for e in events if e["kind"] == "input_done"], ["done"] * len(inputs))
        self.assertIn("agent Ann\n[The command completed with exit code 0.]",
                      [e["data"]["output"] for e in events if e["kind"] == "outcome"][-1])

    def test_without_a_shell(self):
        self.begin([{"function_call": {"name": "think", "arguments": {"thought": "so"}}}], [{"text": "Done."}], tools="[think]")
        view = View(self, "t")
        view.until(is_type("none"))
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/t")["state"] == "finished")
        view.socket.send({"type": "take"})
        view.until(is_type("control", mine=True, ready=True))
        view.type("id")
        self.assertIn("no shell", view.until(is_type("refused"))["message"])
        self.assertEqual([e for e in self.events() if e["kind"] == "input"], [])


if __name__ == "__main__":
    house.main()
