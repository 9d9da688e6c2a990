# SPDX-License-Identifier: Apache-2.0
"""Requests that name their session in the body: MCP, A2A, responses, conversations and OpenHands' server, asked at the node that has it not."""

import json
import pathlib
import signal
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving
import websocket
from nodes import WithNodes
from on_postgres import say, shell
from test_a2a_ways import Told
from test_mcp import BOTH
from test_openhands_api import AGENT

CAN_ASK = {"elicitation": {}}


class Named(WithNodes):
    def two(self, rules, *args, **more):
        self.serve_rules(rules)
        return self.node("n1", *args), self.node("n2", *args, **more)

    def epochs(self):
        """How often each session was taken, the most of all: 1 is by who began it alone."""
        return self.postgres.sql("SELECT max(epoch) FROM thole.sessions")

    def forwarded(self, node):
        return int(node.call("GET", "/metrics", who="boss").body.decode().split("\nthole_fleet_forwarded_total ")[1].split()[0])

    def owner(self, where):
        return self.postgres.sql("SELECT DISTINCT o.node FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE " + where)

    # ---- MCP ----

    def mcp(self, node, method, params=None, status=200, session=None, **headers):
        sent = dict(BOTH, **headers)
        if session:
            sent["Mcp-Session-Id"] = session
        answer = node.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}, headers=sent)
        self.assertEqual(answer.status, status, answer)
        return answer

    def use(self, node, name, session=None, **arguments):
        answer = self.mcp(node, "tools/call", {"name": name, "arguments": arguments}, session=session)
        text = answer.body.decode()
        found = json.loads(text.split("data: ")[-1]) if text.startswith("event:") else answer.json()
        self.assertIn("structuredContent", found["result"], found)
        return found["result"]

    def test_mcp(self):
        first, second = self.two([{"parts": say("Four.")}])
        done = self.use(first, "run_agent", message="Two and two?")["structuredContent"]
        name = done["session"]["session_id"]
        said = self.use(second, "message_session", session_id=name, message="Again?")
        self.assertEqual((said["isError"], said["structuredContent"]["output"]), (False, "Four."), said)
        self.assertEqual(self.use(second, "get_session", session_id=name)["structuredContent"]["output"], "Four.")
        read = self.mcp(second, "resources/read", {"uri": "thole://sessions/" + name}).json()["result"]["contents"][0]["text"]
        self.assertEqual(json.loads(read)["output"], "Four.")
        self.assertEqual((self.epochs(), self.forwarded(first)), ("1", 0))
        self.assertEqual(self.forwarded(second), 3)
        # What is another user's is not there.
        found = second.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                             "params": {"name": "get_session", "arguments": {"session_id": name}}}, who="bob", headers=BOTH).json()
        self.assertTrue(found["result"]["isError"])

    def test_sessions_of_mcp(self):
        """A session of the protocol is in one node's memory: what is said in it at another one gets there."""
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": [shell("until [ -e go ]; do sleep 0.05; done")]}, {"parts": say("Four.")}])
        began = self.mcp(first, "initialize", {"protocolVersion": "2025-11-25", "capabilities": CAN_ASK, "clientInfo": {"name": "t", "version": "1"}})
        session = began.headers["Mcp-Session-Id"]
        self.assertEqual(self.mcp(second, "ping", session=session).json()["result"], {})
        self.assertEqual(second.call("GET", "/mcp", who="bob", headers={"Mcp-Session-Id": session}).status, 404)
        # An agent's session of its node's, and one of the other node's, from both.
        mine = self.use(second, "run_agent", session=session, agent="worker", message="Go.", wait_seconds=0)["structuredContent"]["session"]["session_id"]
        self.assertEqual(self.owner("session_id = '%s'" % mine), "n1")
        other = self.use(second, "run_agent", agent="worker", message="Go.", wait_seconds=0)["structuredContent"]["session"]["session_id"]
        self.assertEqual(self.owner("session_id = '%s'" % other), "n2")
        for name in (mine, other):
            for node in (first, second):
                self.assertEqual(self.use(node, "get_session", session=session, session_id=name)["structuredContent"]["session"]["state"], "running")
            (self.work / name / "go").write_text("")
        self.wait_for(lambda: self.state(mine) == self.state(other) == "finished")
        self.assertEqual(self.epochs(), "1")
        self.assertEqual(second.call("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status, 200)
        self.mcp(first, "ping", status=404, session=session)
        # One of a node that is gone is over: the client begins another.
        session = self.mcp(first, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}).headers["Mcp-Session-Id"]
        self.assertEqual(first.end(), 0)
        self.assertEqual(self.mcp(second, "ping", status=404, session=session).json()["error"]["code"], "session_not_found")
        # One of a node that was killed, and that others still take for alive: the request names a session of nobody.
        third = self.node("n3")
        session = self.mcp(third, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}).headers["Mcp-Session-Id"]
        third.end(signal.SIGKILL)
        params = {"name": "get_session", "arguments": {"session_id": "nobody"}}
        self.assertEqual(self.mcp(second, "tools/call", params, 503, session).json()["error"]["code"], "other_node")

    def test_a_form_of_mcp(self):
        """2026-07-28: what the client keeps for one node is opened by the other."""
        (self.agents / "asks.yaml").write_text("name: asks\nmodel: gpt-5.4\ntools: [shell]\nrules: [{tool: shell, decide: ask}]\n")
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": CAN_ASK}
        call = {"name": "run_agent", "arguments": {"agent": "asks", "message": "Go."}, "_meta": meta}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_agent"}
        asked = self.mcp(first, "tools/call", call, **headers).json()["result"]
        self.assertEqual(asked["resultType"], "input_required", asked)
        answers = {key: {"action": "accept", "content": {"decision": "approve"}} for key in asked["inputRequests"]}
        call.update(inputResponses=answers, requestState=asked["requestState"])
        done = self.mcp(second, "tools/call", call, **headers).json()["result"]
        self.assertEqual(done["structuredContent"]["output"], "Done.", done)
        self.assertEqual((self.epochs(), self.made(), self.forwarded(second)), ("1", ["x\n"], 1))
        call["requestState"] = "0" * 64 + asked["requestState"][64:]
        self.assertEqual(self.mcp(second, "tools/call", call, status=400, **headers).json()["error"]["code"], -32602)

    def stream_of_mcp(self, node, session, method="GET", body=None):
        """(connection, messages) of a channel, or of a call that is answered with a stream."""
        connection = node.connect()
        connection.request(method, "/mcp", body=body and json.dumps(body), headers=dict(
            BOTH, Authorization="Bearer " + serving.TOKENS["alice"], **{"Content-Type": "application/json", "Mcp-Session-Id": session}))
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        return connection, (data for _, _, data in serving.frames(response))

    def session_of_mcp(self, node, capabilities=CAN_ASK, **more):
        return self.mcp(node, "initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities,
                                             "clientInfo": {"name": "t", "version": "1"}}, **more).headers["Mcp-Session-Id"]

    def test_a_client_of_mcp_is_asked_by_another_node(self):
        (self.agents / "asks.yaml").write_text("name: asks\nmodel: gpt-5.4\ntools: [shell]\nrules: [{tool: shell, decide: ask}]\n")
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        third = self.node("n3")
        session, silent = self.session_of_mcp(first), self.session_of_mcp(first, {})
        for round, way in enumerate((first, second, third), 1):
            name = self.use(second, "run_agent", agent="asks", message="Go.")["structuredContent"]["session"]["session_id"]
            self.assertEqual(self.owner("session_id = '%s'" % name), "n2")
            quiet = self.use(way, "get_session", session=silent, session_id=name)["structuredContent"]
            self.assertEqual(quiet["session"]["state"], "waiting")
            call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get_session", "arguments": {"session_id": name}}}
            connection, messages = self.stream_of_mcp(way, session, "POST", call)
            asked = next(messages)
            self.assertEqual(asked["method"], "elicitation/create", asked)
            word = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"decision": "approve"}}}
            sent = dict(BOTH, **{"Mcp-Session-Id": session})
            # Only who was asked answers, in the session that he was asked in.
            self.assertIn(way.call("POST", "/mcp", word, who="bob", headers=sent).status, (202, 404))
            self.assertEqual(way.call("POST", "/mcp", word, headers=dict(BOTH, **{"Mcp-Session-Id": silent})).status, 202)
            self.assertEqual(self.state(name), "waiting")
            self.assertEqual(way.call("POST", "/mcp", word, headers=sent).status, 202)
            done = list(messages)[-1]
            connection.close()
            self.assertEqual((done["id"], done["result"]["structuredContent"]["output"]), (7, "Done."), done)
            self.assertEqual(self.made(), ["x\n"] * round)
            # Said once more, it is of no use, and the session goes on.
            self.assertEqual(way.call("POST", "/mcp", word, headers=sent).status, 202)
            self.assertEqual(self.mcp(way, "ping", session=session).json()["result"], {})
        self.assertEqual(self.epochs(), "1")
        # A question of a node that is gone: nobody waits for its answer.
        self.assertEqual(second.end(), 0)
        self.assertEqual(first.call("POST", "/mcp", word, headers=sent).status, 202)
        self.assertEqual(third.call("POST", "/mcp", word, headers=sent).status, 202)
        self.assertEqual(self.mcp(third, "ping", session=session).json()["result"], {})

    def test_a_client_of_mcp_hears_of_a_session_of_another_node(self):
        first, second = self.two([{"parts": say("Four.")}])
        third = self.node("n3")
        name = self.use(second, "run_agent", message="Two and two?")["structuredContent"]["session"]["session_id"]
        uri, session = "thole://sessions/" + name, self.session_of_mcp(first)
        connection, told = self.stream_of_mcp(first, session)
        self.assertEqual(self.mcp(first, "resources/subscribe", {"uri": uri}, session=session).json()["result"], {})
        self.use(second, "message_session", session_id=name, message="Again?")
        self.assertEqual(next(told)["params"], {"uri": uri})
        connection.close()
        # 2026-07-28: the request is the channel.
        connection = first.connect()
        listen = {"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": {"notifications": {"resourceSubscriptions": [uri]}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}
        connection.request("POST", "/mcp", body=json.dumps(listen), headers=dict(BOTH, Authorization="Bearer " + serving.TOKENS["alice"], **{
            "Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}))
        heard = (data for _, _, data in serving.frames(connection.getresponse()))
        self.assertEqual(next(heard)["params"]["notifications"], {"resourceSubscriptions": [uri]})
        self.use(second, "message_session", session_id=name, message="Again?")
        self.assertEqual(next(heard)["params"]["uri"], uri)
        connection.close()
        # It goes to a third node, and the first hears of it as before.
        self.assertEqual(second.end(), 0)
        connection, told = self.stream_of_mcp(first, session)
        self.use(third, "message_session", session_id=name, message="And again?")
        self.assertEqual(self.owner("session_id = '%s'" % name), "n3")
        self.assertEqual(next(told)["params"], {"uri": uri})
        connection.close()
        # What is deleted is told of, too.
        connection, told = self.stream_of_mcp(first, session)
        self.assertEqual(third.call("DELETE", "/api/sessions/" + name).status, 204)
        self.assertEqual(next(told)["params"], {"uri": uri})
        connection.close()

    def test_more_than_are_looked_at_in_a_second(self):
        """200 (limits.h) of those that listen are looked at in a second: the others have their turn in the next ones."""
        first, second = self.two([{"parts": say("Four.")}])
        name = self.use(second, "run_agent", message="Two and two?")["structuredContent"]["session"]["session_id"]
        sessions = [self.session_of_mcp(first) for _ in range(4)]
        channels = [self.stream_of_mcp(first, session) for session in sessions]
        wanted = {"thole://sessions/%s/%d" % (name, i) for i in range(64)}
        for session in sessions:
            for uri in wanted:
                self.mcp(first, "resources/subscribe", {"uri": uri}, session=session)
        self.use(second, "message_session", session_id=name, message="Again?")
        for connection, told in channels:
            left = set(wanted)
            while left:
                left.discard(next(told)["params"]["uri"])
            connection.close()

    # ---- A2A ----

    def a2a(self, node, method, params, **more):
        answer = node.good("POST", "/a2a/worker", {"jsonrpc": "2.0", "id": "q", "method": method, "params": params}, **more)
        self.assertIn("result", answer, answer)
        return answer["result"]

    @staticmethod
    def says(*parts, **more):
        return {"message": dict({"messageId": "m", "role": "ROLE_USER", "parts": list(parts)}, **more)}

    def test_a2a(self):
        (self.agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\nrules: [{tool: shell, decide: ask}]\n")
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        task = self.a2a(first, "SendMessage", self.says({"text": "Go."}, contextId="talk"))["task"]
        self.assertEqual(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        self.assertEqual(self.a2a(second, "GetTask", {"id": task["id"]})["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        done = self.a2a(second, "SendMessage", self.says({"data": {"decision": "approve"}}, taskId=task["id"]))["task"]
        self.assertEqual(done["status"]["state"], "TASK_STATE_COMPLETED")
        # As a stream, by its context.
        connection = second.connect()
        connection.request("POST", "/a2a/worker", headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"},
                           body=json.dumps({"jsonrpc": "2.0", "id": 5, "method": "SendStreamingMessage", "params": self.says({"text": "Again."}, contextId="talk")}))
        parts = [f[2]["result"] for f in serving.frames(connection.getresponse())]
        connection.close()
        self.assertEqual(parts[-1]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", parts)
        self.assertEqual((self.epochs(), self.made(), self.forwarded(second)), ("1", ["x\n"], 3))

    def test_a_hook_of_a2a_is_told_of_what_happens_elsewhere(self):
        """By the node that was asked for it, as long as it lives, and then by another one."""
        (self.agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\nrules: [{tool: shell, decide: ask}]\n")
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        told = Told()
        self.addCleanup(told.stop)

        def node(name):
            return self.node(name, env={"XDG_STATE_HOME": str(self.folder / name / "state")}, serve={"client_hooks_private": True})

        first, second = node("n1"), node("n2")
        tasks = [self.a2a(second, "SendMessage", self.says({"text": "Go."}))["task"]["id"] for _ in range(3)]
        self.assertEqual(second.end(), 0)
        for task in tasks[:2]:
            self.a2a(first, "CreateTaskPushNotificationConfig", {"taskId": task, "url": told.url})
        third = node("n3")

        def finish(task):
            done = self.a2a(third, "SendMessage", self.says({"data": {"decision": "approve"}}, taskId=task))["task"]
            self.assertEqual(done["status"]["state"], "TASK_STATE_COMPLETED")

        def heard(task):
            said = told.next()[1]["task"]
            self.assertEqual((said["id"], said["status"]["state"]), (task, "TASK_STATE_COMPLETED"))

        finish(tasks[0])
        heard(tasks[0])
        # More than are looked after in a second (50, limits.h): the others have their turn in the next one.
        for number in range(60):
            self.a2a(first, "CreateTaskPushNotificationConfig", {"taskId": tasks[2], "id": str(number), "url": told.url})
        finish(tasks[2])
        for _ in range(60):
            heard(tasks[2])
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.outbox") == "1")  # what was told is written down
        first.end(signal.SIGKILL)
        finish(tasks[1])
        heard(tasks[1])
        # A task whose hook is asked for with its message, at a node that is gone before the task is over.
        asked = {"configuration": {"returnImmediately": True, "taskPushNotificationConfig": {"url": told.url, "token": "do-not-print-me"}}}
        fourth = node("n4")
        task = self.a2a(fourth, "SendMessage", {**self.says({"text": "Go."}), **asked})["task"]["id"]
        self.wait_for(lambda: self.a2a(third, "GetTask", {"id": task})["status"]["state"] == "TASK_STATE_INPUT_REQUIRED")
        self.assertEqual(told.next()[1]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        # What its client wants to recognise us by is in the database for none but the nodes.
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.outbox WHERE position('do-not-print-me' in encode(line, 'escape')) > 0"
                                           " OR position('%s' in encode(line, 'escape')) > 0" % told.url.split("//")[1]), "0")
        self.assertNotEqual(self.postgres.sql("SELECT count(*) FROM thole.outbox"), "0")
        self.assertEqual(fourth.end(), 0)
        finish(task)
        headers, said = told.next()
        self.assertEqual((headers["X-A2A-Notification-Token"], said["task"]["id"]), ("do-not-print-me", task))
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.outbox") == "0")
        self.assertTrue(told.got.empty())
        self.assertEqual(self.postgres.sql("SELECT DISTINCT node FROM thole.sessions JOIN thole.owners USING (owner)"), "n3")

    # ---- /v1 ----

    def test_responses_and_conversations(self):
        first, second = self.two([{"parts": say("Four.")}])
        one = first.good("POST", "/v1/responses", {"model": "worker", "input": "Two and two?"})
        two = second.good("POST", "/v1/responses", {"model": "worker", "input": "Again?", "previous_response_id": one["id"]})
        self.assertEqual((two["status"], two["previous_response_id"]), ("completed", one["id"]))
        conversation = first.good("POST", "/v1/conversations", {"items": [{"role": "user", "content": "Hello."}]})["id"]
        path = "/v1/conversations/" + conversation
        for node, named in ((second, conversation), (first, {"id": conversation}), (second, {"id": conversation})):
            answer = node.good("POST", "/v1/responses", {"model": "worker", "input": "And?", "conversation": named})
            self.assertEqual(answer["conversation"]["id"], conversation)
        listed = [[item["id"] for item in node.good("GET", path + "/items?order=asc")["data"]] for node in (first, second)]
        self.assertEqual(listed[0], listed[1])
        self.assertEqual(len(listed[0]), 7)
        second.good("POST", path + "/items", {"items": [{"role": "user", "content": "One more."}]})
        self.assertEqual(second.good("POST", path, {"metadata": {"a": "b"}})["metadata"], {"a": "b"})
        second.good("DELETE", path + "/items/" + listed[0][1])
        self.assertEqual(len(first.good("GET", path + "/items")["data"]), 7)
        self.assertEqual(self.epochs(), "1")
        self.assertTrue(second.good("DELETE", path)["deleted"])
        for node in (first, second):
            self.assertEqual(node.call("GET", path).status, 404)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions"), "1")

    def test_messages_of_a_socket(self):
        """They go on from what another node has, in their lanes; what it refuses is told, and the socket goes on."""
        (self.agents / "slow.yaml").write_text("name: slow\nmodel: gpt-5.4\ntools: [shell]\n")
        first, second = self.two([{"parts": say("Four.")}])
        one = first.good("POST", "/v1/responses", {"model": "worker", "input": "Two and two?"})
        other = first.good("POST", "/v1/responses", {"model": "slow", "input": "And here?"})
        wire = websocket.Socket(second.port, "/v1/responses", serving.TOKENS["alice"])
        self.addCleanup(wire.close)

        def ask(model, before, **more):
            wire.send({"type": "response.create", "model": model, "input": "Again?", "previous_response_id": before, **more})

        def ended():
            return wire.until(lambda m: m["type"] in ("response.completed", "error"))

        ask("worker", one["id"], stream_id="a\"b")
        created = wire.until(lambda m: m["type"] == "response.created")
        done = ended()
        self.assertEqual((created["stream_id"], done["stream_id"], done["response"]["id"]), ("a\"b", "a\"b", created["response"]["id"]))
        self.assertEqual((done["response"]["previous_response_id"], done["response"]["output"][-1]["content"][0]["text"]), (one["id"], "Four."))
        # And from that; a message of no lane has none.
        ask("worker", done["response"]["id"])
        again = ended()
        self.assertEqual((again.get("stream_id"), again["response"]["status"], self.forwarded(second)), (None, "completed", 2))
        # What that node refuses.
        ask("worker", one["id"], stream_id="c", tools=[{"type": "shell"}])
        refused = ended()
        self.assertEqual((refused["type"], refused["status"], refused["stream_id"]), ("error", 400, "c"), refused)
        self.assertIn("shell", refused["error"]["message"])
        # What nobody has is this node's, and so is what goes on from nothing.
        ask("worker", "resp_" + uuid.uuid4().hex + "_1")
        self.assertEqual(ended()["type"], "error")
        wire.send({"type": "response.create", "model": "worker", "input": "New?"})
        mine = ended()["response"]["id"]
        ask("worker", mine)
        self.assertEqual(ended()["response"]["status"], "completed")
        self.assertEqual(self.forwarded(second), 3)
        # The node is gone: what it had rests, and goes on here.
        first.end(signal.SIGKILL)
        self.postgres.sql("UPDATE thole.owners SET expires = clock_timestamp() WHERE node = 'n1'")
        ask("slow", other["id"], stream_id="a\"b")
        self.assertEqual(ended()["response"]["status"], "completed")
        self.assertEqual(self.postgres.sql("SELECT DISTINCT epoch > 1 FROM thole.sessions WHERE agent_type = 'slow'"), "t")

    def test_a_conversation_on_a_socket(self):
        first, second = self.two([{"parts": say("Four.")}])
        conversation = first.good("POST", "/v1/conversations", {})["id"]
        first.good("POST", "/v1/responses", {"model": "worker", "input": "Two and two?", "conversation": conversation})
        wire = websocket.Socket(second.port, "/v1/responses", serving.TOKENS["alice"])
        self.addCleanup(wire.close)

        def ask(named, **more):
            wire.send({"type": "response.create", "model": "worker", "input": "Again?", "conversation": named, "stream_id": "a", **more})
            return wire.until(lambda m: m["type"] in ("response.completed", "error"))

        before = self.forwarded(second)
        for named in (conversation, {"id": conversation}):
            done = ask(named)
            self.assertEqual((done["stream_id"], done["response"]["conversation"]["id"]), ("a", conversation), done)
            self.assertEqual(done["response"]["output"][-1]["content"][0]["text"], "Four.")
        self.assertEqual((self.forwarded(second) - before, self.epochs()), (2, "1"))
        self.assertEqual(len(first.good("GET", "/v1/conversations/%s/items" % conversation)["data"]), 6)
        # What nobody has is this node's to refuse, and one of its own goes on here.
        self.assertEqual((ask("conv_" + uuid.uuid4().hex)["error"]["code"], ask(7)["type"]), ("conversation_not_found", "error"))
        mine = second.good("POST", "/v1/conversations", {})["id"]
        self.assertEqual((ask(mine)["response"]["conversation"]["id"], self.forwarded(second) - before), (mine, 2))
        # The node is gone, and the conversation goes on here.
        self.assertEqual(first.end(), 0)
        self.assertEqual(ask(conversation)["response"]["conversation"]["id"], conversation)

    def test_something_is_said_on_a_socket(self):
        """To a response of another node that is under way, as to one of this node."""
        waits = "until [ -e go ]; do sleep 0.05; done"
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": say("Four.")}, {"if": {"turns": {"max": 1}}, "parts": [shell(waits)]},
                                  {"parts": say("Done.")}])
        one = first.good("POST", "/v1/responses", {"model": "worker", "input": "Two?"})["id"]
        session = str(uuid.UUID(one.split("_")[1]))
        wire = websocket.Socket(second.port, "/v1/responses", serving.TOKENS["alice"])
        self.addCleanup(wire.close)

        def steer(response, said):
            wire.send({"type": "response.steer", "previous_response_id": response, "input": said, "stream_id": "b"})
            return wire.until(lambda m: m["type"].startswith("response.steer."))

        wire.send({"type": "response.create", "model": "worker", "input": "More.", "previous_response_id": one, "stream_id": "a"})
        two = wire.until(lambda m: m["type"] == "response.created")["response"]["id"]
        log = lambda kind: [e["data"] for e in first.good("GET", "/api/sessions/%s/events" % session)["events"] if e["kind"] == kind]
        self.wait_for(lambda: log("intent"))
        refused = steer(two, "")
        self.assertEqual((refused["type"], refused["error"]["code"], refused["stream_id"]), ("response.steer.failed", "invalid_input", "a"), refused)
        for said in ("Stop at three.", "Or at four."):
            self.assertEqual(steer(two, said), {"type": "response.steer.accepted", "stream_id": "a", "previous_response_id": two})
        # The same as a request, of any client of the same user, at any node.
        path = "/v1/responses/%s/steer" % two
        self.assertEqual(second.good("POST", path, {"input": "Or at five."}), {"type": "response.steer.accepted", "previous_response_id": two})
        self.assertEqual(first.good("POST", path, {"input": []}, 400)["error"]["code"], "invalid_input")
        for node in (first, second):
            self.assertEqual(node.call("POST", path, {"input": "x"}, who="bob").status, 404)
        (self.work / session / "go").write_text("")
        done = wire.until(lambda m: m["type"] == "response.completed")
        self.assertEqual((done["response"]["id"], done["response"]["output"][-1]["content"][0]["text"]), (two, "Done."))
        self.assertEqual([m["content"] for m in log("message")], ["Stop at three.", "Or at four.", "Or at five."])
        self.assertEqual(steer(two, "x")["error"]["code"], "response_not_found")
        self.assertEqual(second.good("POST", path, {"input": "x"}, 404)["error"]["code"], "response_not_found")

    def test_a_socket_that_ends_meanwhile(self):
        """Either end of what is passed on: who asked leaves, and then the node that was asked dies."""
        waits = "until [ -e go ]; do sleep 0.05; done"
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": say("Four.")}, {"if": {"turns": {"max": 1}}, "parts": [shell(waits)]},
                                  {"parts": say("Done.")}])
        asked = [first.good("POST", "/v1/responses", {"model": "worker", "input": "Two?"})["id"] for _ in range(2)]
        running = "SELECT count(*) FROM thole.sessions WHERE agent_state = 'running'"

        def ask(before):
            wire = websocket.Socket(second.port, "/v1/responses", serving.TOKENS["alice"])
            self.addCleanup(wire.close)
            wire.send({"type": "response.create", "model": "worker", "input": "More.", "previous_response_id": before, "stream_id": "a"})
            wire.until(lambda m: m["type"] == "response.created")
            return wire

        wire = ask(asked[0])
        self.wait_for(lambda: self.postgres.sql(running) == "1")
        wire.close()  # as of any stream: what nobody waits for is stopped
        self.wait_for(lambda: self.postgres.sql(running) == "0")
        wire = ask(asked[1])
        first.end(signal.SIGKILL)
        told = wire.until(lambda m: m["type"] == "error")
        self.assertEqual((told["status"], told["error"]["code"], told["stream_id"]), (502, "other_node", "a"))
        wire.send({"type": "response.create", "model": "worker", "input": "New?", "stream_id": "a"})
        self.assertEqual(wire.until(lambda m: m["type"] in ("response.completed", "error"))["response"]["status"], "completed")

    # ---- OpenHands ----

    def test_openhands(self):
        (self.agents / "asks.yaml").write_text("name: asks\nmodel: gpt-5.4\ntools: [shell]\n")
        first, second = self.two([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}], "--openhands", "127.0.0.1:0")
        third = self.node("n3")
        doors = {node: int(node.process.stdout.readline().decode().rsplit(":", 1)[1]) for node in (first, second)}
        name = str(uuid.uuid4())

        def call(node, method, path, body=None, who="alice"):
            port, node.port = node.port, doors[node]
            try:
                return node.call(method, path, body, who=who)
            finally:
                node.port = port

        agent = dict(AGENT, llm={"model": "thole/asks"})
        began = call(first, "POST", "/api/conversations", {"conversation_id": name, "agent": agent, "workspace": {"working_dir": "/x"},
                                                           "confirmation_policy": {"kind": "AlwaysConfirm"}})
        self.assertEqual(began.status, 201, began)
        path = "/api/conversations/" + name
        said = call(second, "POST", path + "/events", {"role": "user", "content": [{"type": "text", "text": "Go."}], "run": True})
        self.assertEqual(said.status, 200, said)
        self.wait_for(lambda: call(second, "GET", path).json()["execution_status"] == "waiting_for_confirmation")
        self.assertEqual(call(second, "POST", path + "/events/respond_to_confirmation", {"accept": True}, who="runner").status, 403)
        self.assertEqual(call(second, "POST", path + "/events/respond_to_confirmation", {"accept": True}).status, 200)
        self.wait_for(lambda: call(second, "GET", path).json()["execution_status"] == "finished")
        self.assertEqual((self.epochs(), self.made(), self.forwarded(first)), ("1", ["x\n"], 0))
        # Errors are in that API's form; who is no node cannot say that he comes through a door.
        self.assertIn("detail", call(second, "POST", path + "/run", {}, who="bob").json())
        self.assertEqual(first.call("POST", path + "/run", {}, headers={"Thole-Node-Door": "openhands"}).status, 403)
        # A node without that listener says so.
        third.good("POST", "/api/sessions", {"agent": "worker", "id": str(uuid.uuid4()), "message": "Go."}, 201)
        lonely = self.postgres.sql("SELECT session_id FROM thole.sessions WHERE agent_type = 'worker'")
        answer = call(first, "POST", "/api/conversations/%s/run" % lonely, {})
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("no listener for this API", answer.json()["error"]["message"])

    # ---- placement ----

    def test_begun_where_it_can_run(self):
        (self.agents / "trained.yaml").write_text("name: trained\nmodel: gpt-5.4\ntools: [shell]\nlabels: [gpu]\n")
        first, second = self.two([{"parts": say("Four.")}], "--openhands", "127.0.0.1:0", labels=["gpu"])
        door = int(first.process.stdout.readline().decode().rsplit(":", 1)[1])
        done = self.use(first, "run_agent", agent="trained", message="Go.")
        self.assertEqual(done["structuredContent"]["output"], "Four.", done)
        answer = first.good("POST", "/a2a/trained", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": self.says({"text": "Go."})})
        self.assertEqual(answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED")
        conversation = first.good("POST", "/v1/conversations", {})["id"]
        self.assertEqual(self.owner("agent_type = 'trained'"), "n2")
        port, first.port = first.port, door
        began = first.call("POST", "/api/conversations", {"agent": dict(AGENT, llm={"model": "thole/trained"}), "workspace": {"working_dir": "/x"}})
        self.assertEqual(began.status, 201, began)
        first.port = port
        self.assertEqual(self.owner("agent_type = 'trained'"), "n2")
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE agent_type = 'trained'"), "3")
        self.assertEqual(second.end(), 0)
        self.assertEqual(first.call("GET", "/v1/conversations/" + conversation).status, 200)
        refused = first.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                              "params": {"name": "run_agent", "arguments": {"agent": "trained", "message": "Go."}}}, headers=BOTH)
        self.assertEqual((refused.status, refused.json()["error"]["code"]), (503, "place"), refused)


if __name__ == "__main__":
    server.run(house.main)
