#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of tools (MCP) on standard input and output, for tests: it writes down all that it is told in received.jsonl, in
the folder that it runs in, and does what its options say.

    mcp_server.py [--era legacy|modern|both|dies|deaf] [--fault NAME] [--pages N] [--name NAME] [--says INSTRUCTIONS]
"""

import argparse
import json
import os
import sys
import time

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"

TOOLS = [
    {"name": "add", "description": "Adds two numbers.", "inputSchema": {
        "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}},
    {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "wipe", "description": "Wipes.", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "draw", "description": "A picture.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}},
    {"name": "long", "description": "A long text.", "inputSchema": {"type": "object"}},
    {"name": "steps", "description": "Tells how far it is.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answers.", "inputSchema": {"type": "object"}},
    {"name": "crash", "description": "Ends the server.", "inputSchema": {"type": "object"}},
    {"name": "grow", "description": "One more tool.", "inputSchema": {"type": "object"}},
    {"name": "register", "description": "Asks who.", "inputSchema": {"type": "object"}},
    {"name": "roots", "description": "What it may work in.", "inputSchema": {"type": "object"}},
    {"name": "slow", "description": "Waits for a file.", "inputSchema": {"type": "object"}},
    {"name": "job", "description": "A task.", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
    {"name": "capital", "description": "Asks a model.", "inputSchema": {"type": "object"}},
    {"name": "leak", "description": "What a file holds.", "inputSchema": {"type": "object"}},
    {"name": "structured", "description": "No text.", "inputSchema": {"type": "object"}},
    {"name": "odd name/\u202e", "description": "bell \u0007 and \u001b[31mred", "inputSchema": {"type": "object"}},
    {"name": "no_object", "description": "Its schema is none.", "inputSchema": {"type": "string"}},
]

WHO = {"message": "Who is it?", "mode": "form", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}}, "required": ["name"]}}


class Server:
    def __init__(self, options):
        self.options = options
        self.tools = list(TOOLS)
        self.era = None
        self.ids = 1000
        self.asked = None
        self.tasks = {}
        self.can = {}
        self.log = open("received.jsonl", "a", encoding="utf-8")

    def say(self, message):
        sys.stdout.write(json.dumps(dict({"jsonrpc": "2.0"}, **message)) + "\n")
        sys.stdout.flush()

    def result(self, m, **result):
        if self.era == "modern":
            result = dict({"resultType": "complete"}, **result)
        self.say({"id": m["id"], "result": result})

    def error(self, m, code, text):
        self.say({"id": m["id"], "error": {"code": code, "message": text}})

    def text(self, m, text, **more):
        self.result(m, content=[{"type": "text", "text": text}], **more)

    def run(self):
        for line in sys.stdin:
            m = json.loads(line)
            self.log.write(json.dumps(m) + "\n")
            self.log.flush()
            self.hear(m)

    def hear(self, m):
        if "method" in m:
            self.can = m.get("params", {}).get("capabilities", self.can)
            self.on(m)
        elif "error" in m:
            self.text(self.asked, "refused: " + m["error"]["message"])
        elif m.get("id") == self.ids and self.asked:
            if "role" in m["result"]:
                self.text(self.asked, "it is " + m["result"]["content"]["text"])
            elif "roots" in m["result"]:
                self.text(self.asked, m["result"]["roots"][0]["uri"])
            else:
                self.register(self.asked, m["result"])

    def on(self, m):
        method = m["method"]
        params = m.get("params", {})
        modern = META + "protocolVersion" in params.get("_meta", {})
        speaks = self.options.era
        if modern and speaks == "dies":
            sys.exit(3)
        if modern and speaks == "deaf":
            return
        if modern and speaks == "legacy":
            self.error(m, -32601, "Method not found")
            return
        if method == "initialize" and speaks == "modern":
            self.error(m, -32601, "Method not found")
            return
        if modern:
            self.era = "modern"
        known = getattr(self, "on_" + method.replace("/", "_"), None)
        if known:
            known(m, params)
        elif "id" in m:
            self.error(m, -32601, "Method not found")

    def on_server_discover(self, m, params):
        if self.options.fault == "no_start":
            time.sleep(3600)
        self.result(m, supportedVersions=[MODERN], capabilities={"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}, ttlMs=0, cacheScope="private", **self.says(),
                    _meta={META + "serverInfo": {"name": self.options.name, "version": "2"}})

    def on_initialize(self, m, params):
        self.era = "legacy"
        version = "1999-01-01" if self.options.fault == "version" else "2025-06-18"
        self.result(m, protocolVersion=version, capabilities={"tools": {"listChanged": True}, "tasks": {"requests": {"tools": {"call": {}}}}},
                    serverInfo={"name": self.options.name, "version": "1"}, **self.says())

    def says(self):
        return {"instructions": self.options.says} if self.options.says else {}

    def on_resources_list(self, m, params):
        self.result(m, resources=[{"uri": "note://1", "name": "one"}], nextCursor="2")

    def on_resources_read(self, m, params):
        if params["uri"] == "note://1":
            self.result(m, contents=[{"uri": "note://1", "mimeType": "text/plain", "text": "first note"}])
        else:
            self.error(m, -32602, "no such note")

    def on_completion_complete(self, m, params):
        assert params["ref"] == {"type": "ref/prompt", "name": "p"}
        self.result(m, completion={"values": [v for v in ("Ann", "Anton", "Bob") if v.startswith(params["argument"]["value"])]})

    def on_prompts_get(self, m, params):
        self.result(m, messages=[{"role": "user", "content": {"type": "text", "text": "Write to " + params["arguments"]["who"]}}])

    def on_subscriptions_listen(self, m, params):
        self.say({"method": "notifications/subscriptions/acknowledged",
                  "params": {"_meta": {META + "subscriptionId": m["id"]}}})

    def on_tools_list(self, m, params):
        fault = self.options.fault
        if fault == "line":
            sys.stdout.write("x" * (17 << 20))
            sys.stdout.flush()
        elif fault == "chatter":
            while True:
                self.say({"method": "notifications/message", "params": {"level": "info", "data": "chatter"}})
        elif fault == "deep":
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' % (m["id"], '{"tools":' + "[" * 500, "]" * 500 + "}"))
            sys.stdout.flush()
        elif fault == "schema":
            big = {"type": "object", "properties": {"p%d" % i: {"description": "x" * 100} for i in range(1000)}}
            deep = {"type": "object"}
            for _ in range(20):
                deep = {"type": "object", "properties": {"x": deep}}
            self.result(m, tools=[{"name": "big", "inputSchema": big}, {"name": "deep", "inputSchema": deep},
                                  {"name": "good", "inputSchema": {}}])
        else:
            pages = self.options.pages
            at = int(params.get("cursor", "0"))
            size = (len(self.tools) + pages - 1) // pages
            more = {"nextCursor": str(at + 1)} if at + 1 < pages else {}
            self.result(m, tools=self.tools[at * size:(at + 1) * size], **more)

    def on_tools_call(self, m, params):
        arguments = params.get("arguments", {})
        name = params["name"]
        if name == "add":
            if self.options.fault == "wrong_id":
                self.say({"id": m["id"] + 1, "result": {"content": [{"type": "text", "text": "666"}]}})
                self.say({"id": "x", "result": {}})
                self.say({"id": None, "result": {}})
            if self.options.fault == "noise":
                print("warming up")
                print('{"half')
            self.text(m, str(arguments["a"] + arguments["b"]))
        elif name == "draw":
            self.result(m, content=[{"type": "text", "text": "one dot"}, {"type": "image", "data": PNG, "mimeType": "image/png"},
                                    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                                    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                                    {"type": "resource_link", "uri": "file:///x", "name": "x"},
                                    {"type": "resource", "resource": {"uri": "file:///y", "text": "inside", "mimeType": "text/plain"}}])
        elif name == "fail":
            self.text(m, "it did not work \ud83d", isError=True)
        elif name == "long":
            self.text(m, "begin " + "0123456789\n" * 20000 + " end")
        elif name == "steps":
            if self.era == "legacy" or params["_meta"].get(META + "logLevel") == "info":
                self.say({"method": "notifications/message", "params": {"level": "info", "logger": "x", "data": "log\u001b[2J line"}})
            token = params["_meta"]["progressToken"]
            for i in (1, 2):
                self.say({"method": "notifications/progress",
                          "params": {"progressToken": token, "progress": i, "total": 2, "message": "step\u001b[2J"}})
            self.text(m, "both steps")
        elif name == "hang":
            pass
        elif name == "crash":
            print(m["params"]["arguments"].get("said", "out of luck"), file=sys.stderr)
            sys.exit(9)
        elif name == "grow":
            self.tools.append({"name": "late", "description": "New.", "inputSchema": {"type": "object"}})
            self.say({"method": "notifications/tools/list_changed"})
            self.text(m, "grown")
        elif name == "look":
            self.say({"method": "notifications/tools/list_changed"})  # which is not true
            self.text(m, "looked")
        elif name == "slow":
            while not os.path.exists("go"):
                time.sleep(0.05)
            with open("effects", "a", encoding="ascii") as f:
                f.write("slow\n")
            self.text(m, "slow is over")
        elif name == "structured":
            self.result(m, content=[], structuredContent={"answer": 42})
        elif name == "roots":
            self.ask_roots(m, params)
        elif name == "register":
            self.ask_who(m, params)
        elif name == "capital":
            self.ask_model(m, params)
        elif name == "leak":
            with open("leak", encoding="ascii") as f:
                value = f.read()
            self.say({"method": "notifications/message", "params": {"level": "info", "data": "it is " + value}})
            self.say({"method": "notifications/progress", "params": {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": value}})
            self.text(m, "it is %s, %s" % (value, "and more " * 10000))
        elif name == "job":
            self.begin_task(m, params)
        elif name == "late":
            self.text(m, "late indeed")
        else:
            self.text(m, "called " + name)

    def ask_model(self, m, params):
        question = {"maxTokens": 100, "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital?"}}]}
        can = params["_meta"].get(META + "clientCapabilities", {}) if self.era == "modern" else self.can
        if "sampling" not in can:
            self.text(m, "no model")
        elif self.era == "legacy":
            self.ids += 1
            self.say({"id": self.ids, "method": "sampling/createMessage", "params": question})
            self.asked = m
        elif "inputResponses" in params:
            self.text(m, "it is " + params["inputResponses"]["q"]["content"]["text"])
        else:
            self.say({"id": m["id"], "result": {"resultType": "input_required", "inputRequests": {
                "q": {"method": "sampling/createMessage", "params": question}}}})

    def begin_task(self, m, params):
        """Until the file `go` is there; where it is to ask, until somebody has answered, too."""
        assert "task" in params or "io.modelcontextprotocol/tasks" in params["_meta"][META + "clientCapabilities"]["extensions"]
        with open("effects", "a", encoding="ascii") as f:
            f.write("job\n")
        name = "task-%d" % (len(self.tasks) + 1)
        self.tasks[name] = {"asks": params.get("arguments", {}).get("asks", False), "who": ""}
        about = self.about_task(name)
        self.result(m, **(dict(about, resultType="task") if self.era == "modern" else {"task": about}))

    def about_task(self, name):
        task = self.tasks[name]
        status = "cancelled" if task.get("cancelled") else "input_required" if task["asks"] else "completed" if os.path.exists("go") else "working"
        return {"taskId": name, "status": status, "pollIntervalMs" if self.era == "modern" else "pollInterval": 100}

    def task_result(self, name):
        return {"content": [{"type": "text", "text": "job is over" + self.tasks[name]["who"]}]}

    def on_tasks_get(self, m, params):
        name = params["taskId"]
        if self.options.fault == "forgets_tasks":
            self.error(m, -32602, "no such task")
            return
        about = self.about_task(name)
        if self.era == "modern" and about["status"] == "completed":
            about["result"] = self.task_result(name)
        if self.era == "modern" and about["status"] == "input_required":
            about["inputRequests"] = {"who": {"method": "elicitation/create", "params": WHO}}
        self.result(m, **about)

    def on_tasks_update(self, m, params):
        task = self.tasks[params["taskId"]]
        task["asks"], task["who"] = False, ", " + params["inputResponses"]["who"]["content"]["name"]
        self.result(m)

    def on_tasks_result(self, m, params):
        if self.tasks[params["taskId"]]["asks"]:
            self.ids += 1
            self.say({"id": self.ids, "method": "elicitation/create", "params": WHO})
            self.asked = m
        else:
            self.result(m, **self.task_result(params["taskId"]))

    def on_tasks_cancel(self, m, params):
        self.tasks[params["taskId"]]["cancelled"] = True
        self.result(m)

    def register(self, m, answer):
        if m["method"] == "tasks/result":
            name = m["params"]["taskId"]
            self.tasks[name].update(asks=False, who=", " + answer["content"]["name"])
            self.result(m, **self.task_result(name))
            return
        with open("effects", "a", encoding="ascii") as f:
            f.write("register\n")
        who = answer.get("content", {})
        self.text(m, "registered %s, %s" % (who["name"], who["age"]) if answer["action"] == "accept" else "nobody: " + answer["action"])

    def ask_who(self, m, params):
        form = WHO
        if self.era == "legacy":
            self.ids += 1
            self.say({"id": self.ids, "method": "elicitation/create", "params": form})
            if self.options.fault == "asks_twice":
                self.say({"id": "second", "method": "elicitation/create", "params": form})
            self.asked = m
        elif "inputResponses" in params:
            assert params["requestState"] == "who"
            self.register(m, params["inputResponses"]["who"])
        else:
            self.say({"id": m["id"], "result": {"resultType": "input_required", "requestState": "who",
                                                "inputRequests": {"who": {"method": "elicitation/create", "params": form}}}})

    def ask_roots(self, m, params):
        if self.era == "legacy":
            self.ids += 1
            self.say({"id": self.ids, "method": "roots/list"})
            self.asked = m
        elif "inputResponses" in params:
            assert params["requestState"] == "sealed"
            self.text(m, params["inputResponses"]["where"]["roots"][0]["uri"])
        else:
            self.say({"id": m["id"], "result": {"resultType": "input_required", "requestState": "sealed",
                                                "inputRequests": {"where": {"method": "roots/list", "params": {}}}}})


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="both")
    parser.add_argument("--fault", default="")
    parser.add_argument("--pages", type=int, default=1)
    parser.add_argument("--name", default="test server")
    parser.add_argument("--says", default="")
    return parser.parse_args()


def main():
    with open("server.pid", "a", encoding="ascii") as f:
        f.write("%d\n" % os.getpid())
    given = options()
    with open("starts", "a+", encoding="ascii") as f:
        f.write("%f\n" % time.monotonic())
        f.seek(0)
        if given.fault == "flaky" and len(f.readlines()) in (2, 3):
            sys.exit("not today")
    Server(given).run()


if __name__ == "__main__":
    main()
