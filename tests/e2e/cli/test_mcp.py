# SPDX-License-Identifier: Apache-2.0
"""POST /mcp: both eras of the protocol, and what a model may do there."""

import base64
import http.client
import json
import pathlib
import signal
import struct
import subprocess
import unittest

import house
import serving

BOTH = {"Accept": "application/json, text/event-stream"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Mcp(serving.Served):
    def ask(self, method, params=None, status=200, who="alice", **headers):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = self.call("POST", "/mcp", body, who=who, headers=dict(BOTH, **{k.replace("_", "-"): v for k, v in headers.items()}))
        self.assertEqual(answer.status, status, answer)
        found = answer.json()
        self.assertEqual((found["jsonrpc"], found["id"]), ("2.0", 1))
        return found

    def use(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def modern(self, method, status=200, **params):
        return self.ask(method, dict(params, _meta=META), status, MCP_Protocol_Version="2026-07-28", Mcp_Method=method, **({"Mcp_Name": params["name"]} if "name" in params else {}))

    def test_a_run(self):
        self.serve([{"text": "Four."}], [{"text": "Five."}])
        self.serve_http()
        first = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})["result"]
        self.assertEqual((first["protocolVersion"], first["serverInfo"]["name"]), ("2025-06-18", "thole"))
        note = self.call("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=BOTH)
        self.assertEqual((note.status, note.body), (202, b""))
        names = [t["name"] for t in self.ask("tools/list")["result"]["tools"]]
        self.assertIn("run_agent", names)
        self.assertFalse([n for n in names if "approve" in n or "reject" in n or "settle" in n])
        done = self.use("run_agent", message="Two and two?")
        self.assertFalse(done["isError"], done)
        self.assertEqual((done["structuredContent"]["output"], done["structuredContent"]["session"]["state"]), ("Four.", "finished"))
        name = done["structuredContent"]["session"]["session_id"]
        self.assertEqual(self.use("message_session", session_id=name, message="Plus one?")["structuredContent"]["output"], "Five.")
        self.assertEqual(self.use("get_session", session_id=name)["structuredContent"]["output"], "Five.")
        self.assertEqual(self.use("session_events", session_id=name, limit=2)["structuredContent"]["events"][1]["seq"], 2)
        self.assertEqual(len(self.use("list_sessions")["structuredContent"]["sessions"]), 1)
        self.assertEqual(self.use("list_waiting")["structuredContent"]["waiting"], [])
        self.assertEqual(self.use("list_agents")["structuredContent"]["agents"], ["default"])
        other = self.ask("tools/call", {"name": "get_session", "arguments": {"session_id": name}}, who="bob")["result"]
        self.assertTrue(other["isError"])
        reads = self.ask("tools/call", {"name": "run_agent", "arguments": {"message": "x"}}, who="reader")["result"]
        self.assertTrue(reads["isError"])

    def test_the_stateless_era(self):
        self.serve_http()
        found = self.modern("server/discover")["result"]
        self.assertEqual((found["supportedVersions"], found["resultType"]), (["2026-07-28"], "complete"))
        found = self.modern("tools/list")["result"]
        self.assertEqual((found["ttlMs"], found["cacheScope"]), (0, "private"))
        self.assertEqual(self.modern("tools/call", name="list_agents")["result"]["resultType"], "complete")
        self.assertEqual(self.modern("initialize", 404)["error"]["code"], -32601)
        wrong = self.ask("tools/list", {"_meta": META}, 400, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call")
        self.assertEqual(wrong["error"]["code"], -32020)
        wrong = self.ask("tools/list", {}, 400, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/list")
        self.assertEqual(wrong["error"]["code"], -32602)
        other = dict(META, **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})
        wrong = self.ask("tools/list", {"_meta": other}, 400, MCP_Protocol_Version="2030-01-01", Mcp_Method="tools/list")["error"]
        self.assertEqual((wrong["code"], wrong["data"]["requested"]), (-32022, "2030-01-01"))
        self.assertEqual(self.ask("tools/list", {"_meta": other}, 400, Mcp_Method="tools/list")["error"]["code"], -32020)

    def test_over_standard_input(self):
        self.serve([{"text": "Four."}])
        self.serve_http()
        lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": "a", "method": "tools/list"},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run_agent", "arguments": {"message": "Two and two?"}}},
                 {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list_agents", "_meta": META}}]
        text = "\n".join(map(json.dumps, lines)) + "\nnonsense\n"
        env = dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"])
        ended = self.good("mcp", "--server", "http://127.0.0.1:%d/" % self.port, stdin=text, env=env)
        found = {m.get("id"): m for m in map(json.loads, ended.out.splitlines())}
        self.assertEqual(set(found), {0, "a", 2, 3, None})
        self.assertEqual(found[2]["result"]["structuredContent"]["output"], "Four.")
        self.assertEqual(found[3]["result"]["resultType"], "complete")
        self.assertEqual(found[None]["error"]["code"], -32700)
        ended = self.good("mcp", "--server", "http://127.0.0.1:%d" % self.port, stdin=json.dumps(lines[0]) + "\n",
                          env=dict(env, THOLE_TOKEN="wrong-token-0123456789"))
        self.assertIn("401", json.loads(ended.out)["error"]["message"])
        self.assertNotIn("wrong-token", ended.out + ended.err)
        self.bad(2, "THOLE_TOKEN", "mcp", stdin="")

    def test_asked_over_standard_input(self):
        self.asking_agent()
        bridge = self.start("mcp", "--server", "http://127.0.0.1:%d" % self.port, env=dict(self.env, THOLE_TOKEN=serving.TOKENS["alice"]),
                            stdin=subprocess.PIPE)

        def tell(message):
            bridge.stdin.write(json.dumps(message).encode() + b"\n")
            bridge.stdin.flush()

        tell({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}})
        self.assertIn("capabilities", json.loads(bridge.stdout.readline())["result"])
        tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tell(self.run_worker(7))
        asked = json.loads(bridge.stdout.readline())
        self.assertEqual(asked["method"], "elicitation/create")
        tell({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"decision": "approve"}}})
        done = json.loads(bridge.stdout.readline())
        self.assertEqual((done["id"], done["result"]["structuredContent"]["output"]), (7, "Made."))
        bridge.stdin.close()
        self.assertEqual(bridge.wait(house.SECONDS), 0)
        bridge.stdout.close()

    def session(self, capabilities, who="alice"):
        """The headers of a session of the protocol."""
        answer = self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}}, who=who, headers=BOTH)
        self.assertEqual(answer.status, 200, answer)
        return dict(BOTH, **{"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]})

    def test_no_more_than_so_many_sessions(self):
        """1,000 (limits.h): then the one that was used longest ago is over, whoever's it is."""
        self.serve_http()
        line = self.connect()
        begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
                 "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}

        def ask(body, who="alice", **headers):
            line.request("POST", "/mcp", body=json.dumps(body), headers=dict(
                BOTH, Authorization="Bearer " + serving.TOKENS[who], **{"Content-Type": "application/json"}, **headers))
            answer = line.getresponse()
            answer.read()
            return answer

        def is_there(name, who):
            return ask({"jsonrpc": "2.0", "id": 1, "method": "ping"}, who, **{"Mcp-Session-Id": name}).status == 200
        owners = ["alice", "bob"] + 998 * ["alice"]
        names = [ask(begin, who).headers["Mcp-Session-Id"] for who in owners]
        self.assertTrue(is_there(names[0], "alice"))  # and was used now
        names.append(ask(begin).headers["Mcp-Session-Id"])
        there = [is_there(*one) for one in zip(names, owners + ["alice"])]
        self.assertEqual([i for i, is_one in enumerate(there) if not is_one], [1])
        line.close()

    def stream_of(self, body, headers, who="alice"):
        """(connection, messages) of a call that is answered with a stream."""
        connection = self.connect()
        connection.request("POST", "/mcp", body=json.dumps(body).encode(), headers=dict(
            headers, Authorization="Bearer " + serving.TOKENS[who], **{"Content-Type": "application/json"}))
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        return connection, (data for _, _, data in serving.frames(response))

    def asking_agent(self):
        folder = self.folder / "agents"
        folder.mkdir()
        (folder / "worker.yaml").write_text("name: worker\ntools: [shell]\napprove: [shell]\n")
        self.serve([{"function_call": {"name": "shell", "arguments": {"command": "echo made > made"}}}], [{"text": "Made."}])
        self.serve_http("--agents", folder, "--workspaces", self.work)

    def run_worker(self, number=1, **meta):
        params = {"name": "run_agent", "arguments": {"agent": "worker", "message": "Make it."}}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": dict(params, **meta)}

    def decided(self, name):
        log = self.good_call("GET", "/api/sessions/%s/events" % name)["events"]
        return [(e["source"], e["data"]["by"], e["data"]["approve"]) for e in log if e["kind"] == "approval_decided"]

    def test_the_clients_user_approves(self):
        self.asking_agent()
        headers = self.session({"elicitation": {}})
        connection, messages = self.stream_of(self.run_worker(_meta={"progressToken": "p"}), headers)
        seen = []
        for message in messages:
            seen.append(message)
            if message.get("method") == "elicitation/create":
                self.assertIn("echo made", message["params"]["message"])
                other = dict(BOTH, **{"Mcp-Session-Id": self.session({"elicitation": {}}, "bob")["Mcp-Session-Id"]})
                word = {"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept", "content": {"decision": "approve"}}}
                self.assertEqual(self.call("POST", "/mcp", word, who="bob", headers=other).status, 202)
                self.assertEqual(self.call("POST", "/mcp", word, headers=headers).status, 202)
        connection.close()
        result = seen[-1]["result"]["structuredContent"]
        self.assertEqual((result["output"], result["session"]["state"]), ("Made.", "finished"))
        self.assertEqual(self.decided(result["session"]["session_id"]), [("user", "alice", True)])
        progress = [m["params"]["progress"] for m in seen if m.get("method") == "notifications/progress"]
        self.assertTrue(progress and progress == sorted(set(progress)), progress)
        self.assertEqual(self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, who="bob", headers=headers).status, 404)
        self.assertEqual(self.call("DELETE", "/mcp", headers=headers).status, 200)
        self.assertEqual(self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers).status, 404)

    def test_nobody_approves_by_himself(self):
        self.asking_agent()
        asked = dict(META, **{"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
        params = dict(name="run_agent", arguments={"agent": "worker", "message": "Make it."})
        call = dict(MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="run_agent")
        first = self.ask("tools/call", dict(params, _meta=asked), **call)["result"]
        self.assertEqual(first["resultType"], "input_required")
        (key, question), = first["inputRequests"].items()
        self.assertEqual(question["method"], "elicitation/create")
        again = dict(params, _meta=asked, requestState=first["requestState"])
        closed = self.ask("tools/call", dict(again, inputResponses={key: {"action": "decline"}}), **call)["result"]
        state = closed["structuredContent"]["session"]
        self.assertEqual((state["state"], self.decided(state["session_id"])), ("waiting", []))
        yes = {key: {"action": "accept", "content": {"decision": "approve"}}}
        wrong = self.ask("tools/call", dict(again, inputResponses=yes, requestState=first["requestState"] + "x"), 400, **call)
        self.assertEqual(wrong["error"]["code"], -32602)
        wrong = self.ask("tools/call", dict(again, inputResponses=yes), 400, who="bob", **call)
        self.assertEqual(wrong["error"]["code"], -32602, "the state is of another user")
        without = self.ask("tools/call", dict(again, inputResponses=yes), who="runner", **call)["result"]
        self.assertEqual((without["structuredContent"]["session"]["state"], self.decided(state["session_id"])), ("waiting", []))
        no = {key: {"action": "accept", "content": {"decision": "reject", "reason": "Not here."}}}
        done = self.ask("tools/call", dict(again, inputResponses=no), **call)["result"]
        self.assertEqual(done["structuredContent"]["output"], "Made.")
        self.assertEqual(self.decided(state["session_id"]), [("user", "alice", False)])
        self.assertFalse(list(self.work.glob("*/made")))

    def test_a_long_run_is_a_task(self):
        self.asking_agent()
        able = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
        meta = dict(META, **{"io.modelcontextprotocol/clientCapabilities": able})

        def tell(method, about, **params):
            return self.ask(method, dict(params, _meta=meta), MCP_Protocol_Version="2026-07-28", Mcp_Method=method, Mcp_Name=about)["result"]

        task = tell("tools/call", "run_agent", name="run_agent", arguments={"agent": "worker", "message": "Make it."})
        self.assertEqual((task["resultType"], task["status"]), ("task", "working"))
        name = task["taskId"]
        self.wait_for(lambda: tell("tasks/get", name, taskId=name)["status"] == "input_required")
        key, = tell("tasks/get", name, taskId=name)["inputRequests"]
        tell("tasks/update", name, taskId=name, inputResponses={key: {"action": "accept", "content": {"decision": "approve"}}})
        self.wait_for(lambda: tell("tasks/get", name, taskId=name)["status"] == "completed")
        self.assertEqual(tell("tasks/get", name, taskId=name)["result"]["structuredContent"]["output"], "Made.")
        self.assertEqual(tell("tasks/cancel", name, taskId=name)["resultType"], "complete")
        headers = self.session({})
        done = self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": name}}, headers=headers).json()
        self.assertEqual(done["result"]["structuredContent"]["output"], "Made.")
        task = self.call("POST", "/mcp", self.run_worker(task={"ttl": 1000}), headers=headers).json()["result"]["task"]
        self.assertEqual(task["status"], "working")
        other = self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": name}}, who="bob", headers=BOTH).json()
        self.assertEqual(other["error"]["code"], -32602)

    def test_sessions_are_resources(self):
        self.serve([{"text": "Four."}], [{"text": "Five."}])
        self.serve_http()
        name = self.use("run_agent", message="Two and two?")["structuredContent"]["session"]["session_id"]
        headers = self.session({})

        def read(uri, who="alice"):
            return self.ask("resources/read", {"uri": uri}, who=who)

        listed = self.ask("resources/list")["result"]["resources"]
        self.assertEqual([r["uri"] for r in listed], ["thole://sessions/" + name])
        self.assertEqual(json.loads(read(listed[0]["uri"])["result"]["contents"][0]["text"])["session"]["state"], "finished")
        events = read(listed[0]["uri"] + "/events")["result"]["contents"][0]["text"].splitlines()
        self.assertEqual(json.loads(events[0])["seq"], 1)
        for uri, who in ((listed[0]["uri"], "bob"), ("thole://sessions/none", "alice"), (listed[0]["uri"] + "/screen", "alice"), ("file:///etc/passwd", "alice")):
            self.assertEqual(read(uri, who)["error"]["data"], {"uri": uri})
        self.assertEqual(self.ask("resources/list", who="bob")["result"]["resources"], [])
        connection, response = self.stream("/mcp", headers=headers)
        told = (data for _, _, data in serving.frames(response))
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": listed[0]["uri"]}}
        self.assertEqual(self.call("POST", "/mcp", subscribe, headers=headers).json()["result"], {})
        self.use("message_session", session_id=name, message="Plus one?")
        self.assertEqual(next(told)["params"], {"uri": listed[0]["uri"]})
        connection.close()

    def test_no_more_than_so_many_resources_are_listened_to(self):
        """64 of one client (limits.h)."""
        self.serve_http()
        headers, ask = self.session({}), []
        for n in range(65):
            self.good_call("POST", "/api/sessions", {"id": "s%d" % n}, status=201)
            ask.append({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "thole://sessions/s%d" % n}})
        answers = [self.call("POST", "/mcp", body, headers=headers).json() for body in ask]
        self.assertEqual(["result" in answer for answer in answers], [True] * 64 + [False])
        self.call("POST", "/mcp", dict(ask[0], method="resources/unsubscribe"), headers=headers)
        self.assertEqual(self.call("POST", "/mcp", ask[64], headers=headers).json()["result"], {})

    def test_a_computer_of_ones_own(self):
        """See and act on a real desktop; what cannot be done is said."""
        folder = self.folder / "spaces"
        folder.mkdir()
        with (pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml").open("a") as config:
            config.write("serve:\n  computers: [desktop]\n")
        self.serve_http("--workspaces", folder)
        seen = self.use("see_computer")
        self.assertFalse(seen["isError"], seen)
        picture = base64.b64decode(seen["content"][0]["data"])
        self.assertEqual((seen["content"][0]["type"], seen["content"][0]["mimeType"], picture[:4]), ("image", "image/png", b"\x89PNG"))
        size = struct.unpack(">II", picture[16:24])
        done = self.use("act_on_computer", actions=[{"type": "move", "x": 30, "y": 40}])
        self.assertFalse(done["isError"], done)
        self.assertEqual(done["content"][0]["type"], "image")
        self.assertEqual([c["type"] for c in self.use("see_computer", tree=True)["content"]], ["text"])
        outside = self.use("act_on_computer", actions=[{"type": "click", "x": size[0] + 10, "y": 5}])
        self.assertTrue(outside["isError"], outside)
        self.assertTrue(self.use("act_on_computer", actions={"type": "move"})["isError"])
        self.assertTrue(self.use("act_on_computer", actions=[{"type": "no_such_action"}])["isError"])
        self.assertEqual(sorted(p.name for p in (folder / ".computers").iterdir()), ["alice"])
        refused = self.ask("tools/call", {"name": "see_computer", "arguments": {}}, who="reader")["result"]
        self.assertTrue(refused["isError"])

    def test_the_end_of_the_server_while_a_computer_is_at_work(self):
        """Nobody is told of what it does then, and nothing of it is lost in memory."""
        folder = self.folder / "spaces"
        folder.mkdir()
        with (pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml").open("a") as config:
            config.write("serve:\n  computers: [desktop]\n")
        self.serve_http("--workspaces", folder)
        self.assertFalse(self.use("see_computer")["isError"])
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "act_on_computer", "arguments": {"actions": [{"type": "wait", "duration_ms": 20000}]}}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)
        self.addCleanup(connection.close)
        connection.request("POST", "/mcp", json.dumps(body), dict(BOTH, Authorization="Bearer " + serving.TOKENS["alice"], **{"Content-Type": "application/json"}))
        self.ask("ping")  # it was read before
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.end_http(signal.SIGTERM), 0)  # asked twice: at once

    def test_what_is_wrong(self):
        self.serve_http()
        # serve.computers lists no desktop, so nobody gets one here.
        self.assertNotIn("see_computer", [t["name"] for t in self.ask("tools/list")["result"]["tools"]])
        for name in ("see_computer", "act_on_computer"):
            self.assertEqual(self.ask("tools/call", {"name": name, "arguments": {"actions": []}})["error"]["code"], -32602)
        self.assertEqual(self.ask("nothing")["error"]["code"], -32601)
        self.assertEqual(self.ask("tools/call", {"name": "none"})["error"]["code"], -32602)
        self.assertIn("message", self.use("run_agent")["content"][0]["text"])
        self.assertTrue(self.use("get_session", session_id="x")["isError"])
        self.assertEqual(self.call("POST", "/mcp", b"{", headers=BOTH).json()["error"]["code"], -32700)
        self.assertEqual(self.call("POST", "/mcp", {}, headers={"Accept": "application/json"}).status, 406)
        self.assertEqual(self.call("GET", "/mcp").status, 405)
        self.assertEqual(self.ask("ping")["result"], {})
        for more in (0, 1):
            answer = self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": "x" * (1022 + more), "method": "ping"}, headers=BOTH)
            self.assertEqual((answer.status, answer.json().get("id")), (400, None) if more else (200, "x" * 1022), answer)
        self.assertEqual(self.ask("resources/read", {"uri": "x" * 100000})["error"]["code"], -32002)
        self.assertEqual(self.ask("tools/call", {"name": "list_agents", "_meta": {"progressToken": "x" * 100000}})["result"]["isError"], False)


if __name__ == "__main__":
    unittest.main()
