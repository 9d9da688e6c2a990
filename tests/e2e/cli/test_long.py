# SPDX-License-Identifier: Apache-2.0
"""A long session through a small window: what each request has, and what comes back of what was left out.

    test_long.py                  120 turns through 6,000 tokens
    TH_TORTURE=1 test_long.py     2,000 turns through 32,000 tokens
"""

import http.server
import json
import os
import re
import threading

import house

LONG = bool(os.environ.get("TH_TORTURE"))
TURNS, WINDOW, MARKED = (2000, 32000, 300) if LONG else (120, 6000, 40)
RULE = "Never touch the file keep.txt."
CODE = "83417"
TOKEN = 4


class Model(http.server.ThreadingHTTPServer):
    """Answers by what a request holds: the newest result says which turn it was."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, text, items):
        self.bodies.append(text)
        outputs = [i["output"] for i in items if i.get("type") == "function_call_output"]
        last = outputs[-1] if outputs else ""
        turn = re.search(r"turn (\d+) is over", last)
        if not outputs:
            tasks = [{"title": "open task %d" % n, "status": "todo"} for n in range(10)]
            return self.call("task_list", command="plan", task_list=tasks)
        if "newest first" in last:
            return [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                     "content": [{"type": "output_text", "text": "Found: " + last, "annotations": []}]}]
        now = int(turn.group(1)) + 1 if turn else 1
        if now > TURNS:
            return self.call("history", query="secret code of turn %d" % MARKED)
        words = "The secret code of turn %d: %s. " % (now, CODE) if now == MARKED else ""
        return self.call("bash", command="echo '%sturn %d is over, and that are all the words of its result that there are'" % (words, now))

    def call(self, name, **arguments):
        number = len(self.bodies)
        return [{"type": "function_call", "id": "fc_%d" % number, "call_id": "c%d" % number, "name": name, "arguments": json.dumps(arguments),
                 "status": "completed"}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        output = self.server.answer(text, json.loads(text)["input"])
        body = json.dumps({"id": "resp_%d" % len(self.server.bodies), "object": "response", "status": "completed", "output": output,
                           "usage": {"input_tokens": len(text) // TOKEN, "output_tokens": 20}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class LongSession(house.House):
    def test_window(self):
        model = Model()
        self.env["OPENAI_BASE_URL"], self.env["OPENAI_API_KEY"] = "http://127.0.0.1:%d/v1" % model.server_port, house.KEY
        path = self.folder / "agent.yaml"
        path.write_text("name: tester\nmodel: gpt-5.4\nworkspace: %s\ntools: [bash, task_list, history]\nsettings: {stream: false}\n"
                        "limits: {turns: 5000}\ncompact: {condenser: recent, tokens: %d, keep: 40}\n" % (self.work, WINDOW * 3 // 4))
        said = self.good("run", "-a", path, "-s", "long", "Do all turns. " + RULE, timeout=1200).out
        self.assertIn(CODE, said)
        self.assertEqual(len(model.bodies), TURNS + 3)
        condensed = [e["data"] for e in self.events("long") if e["kind"] == "condensation"]
        self.assertGreater(len(condensed), 2)
        self.assertEqual([d["left_out"] for d in condensed], sorted(d["left_out"] for d in condensed))
        for body in model.bodies:
            self.assertLess(len(body), WINDOW * TOKEN)
            self.assertIn(RULE, body)
        self.assertNotIn(CODE, model.bodies[-2])  # it had been left out, and the search brought it back
        self.assertIn(CODE, model.bodies[-1])
        for number in range(10):
            self.assertIn("[ ] open task %d" % number, model.bodies[-1])
        model.shutdown()
        model.server_close()


if __name__ == "__main__":
    house.main()
