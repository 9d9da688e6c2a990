# SPDX-License-Identifier: Apache-2.0
"""thole serve --openhands: the API of OpenHands' agent-server, by hand-written requests and WebSockets."""

import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time
import uuid
import unittest

import house
import serving
import websocket
from openhands_routes import ROUTES

SAID = "One two three."
WRITE = {"function_call": {"name": "write_file", "arguments": {"path": "a", "content": "b"}}}
RULES = [{"if": {"tail": "write"}, "parts": [WRITE]},
         {"if": {"tail": "slow"}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "sleep 0.3"}}}]},
         {"if": {"tail": "fail"}, "parts": [{"text": "x"}], "faults": [{"status": 400, "message": "no", "times": -1}]},
         {"parts": [{"text": SAID}]}]
AGENT = {"kind": "Agent", "llm": {"model": "thole/default", "api_key": "a-key-of-the-client"}, "tools": []}


class Faces(serving.Served):
    def begin(self, *more, rules=(), tools="shell, read_file, write_file", serve=""):
        (self.folder / "config" / "thole" / "config.yaml").write_text(
            "executor_linger_s: 20\nserve:\n  models: [gpt-5.4]\n  strangers_per_second: 1000000\n%stools: [%s]\n" % (serve, tools))
        self.serve_rules([*rules, *RULES])
        self.workspaces = self.folder / "workspaces"
        self.workspaces.mkdir(exist_ok=True)
        self.listen(*more)

    def listen(self, *more):
        self.serve_http("--openhands", "127.0.0.1:0", "--workspaces", self.workspaces, *more)
        line = self.server.stdout.readline().decode()
        self.assertTrue(line.startswith("OpenHands' agent-server at http://127.0.0.1:"), line)
        self.main, self.port = self.port, int(line.rsplit(":", 1)[1])

    def call(self, method, path, body=None, who="alice", headers=None):
        sent = dict({"X-Session-API-Key": serving.TOKENS[who]} if who else {}, **(headers or {}))
        for _ in range(100):  # 503: nothing was done
            answer = super().call(method, path, body, who=None, headers=sent)
            if answer.status != 503 or b"more to do" not in answer.body:
                break
            time.sleep(0.2)
        return answer

    def create(self, status=201, who="alice", **more):
        return self.good_call("POST", "/api/conversations", dict({"agent": AGENT, "workspace": {"working_dir": "/x"}}, **more), status, who=who)

    def socket(self, conversation, who="alice", **more):
        s = websocket.Socket(self.port, "/sockets/events/" + conversation["id"] + more.pop("query", ""), **more)
        self.addCleanup(s.close)
        if who:
            s.send({"type": "auth", "session_api_key": serving.TOKENS[who]})
        return s

    def say(self, conversation, text, run=False):
        self.good_call("POST", self.path(conversation, "/events"), {"role": "user", "content": [{"type": "text", "text": text}], "run": run})

    def path(self, conversation, rest=""):
        return "/api/conversations/" + conversation["id"] + rest

    def status(self, conversation):
        return self.good_call("GET", self.path(conversation))["execution_status"]

    def run_on(self, conversation, status):
        """Runs it, and waits on a socket until it rests so."""
        s = self.socket(conversation)
        self.ended(s)
        self.good_call("POST", self.path(conversation, "/run"))
        s.until(lambda m: m.get("key") == "full_state" and m["value"]["execution_status"] == status)
        s.close()

    def ended(self, s):
        return s.until(lambda m: m.get("key") == "full_state")["value"]

    def told(self, conversation, query=""):
        """All of them, page by page."""
        found, page = [], ""
        while True:
            answer = self.good_call("GET", self.path(conversation, "/events/search?limit=3" + query + page))
            self.assertLessEqual(len(answer["items"]), 3)
            found += answer["items"]
            if not answer["next_page_id"]:
                return found
            page = "&page_id=" + answer["next_page_id"]


class Conversations(Faces):
    def test_changes_at_once(self):
        """Who changes one thing of a conversation takes nothing back that another one changes meanwhile."""
        self.begin()
        c = self.create()
        for i in range(8):
            policy = {"kind": "AlwaysConfirm" if i % 2 else "NeverConfirm"}
            wanted = [("PATCH", self.path(c), {"tags": {"n": str(i)}}), ("POST", self.path(c, "/confirmation_policy"), {"policy": policy}),
                      ("PATCH", self.path(c), {"title": "Title %d" % i})]
            threads = [threading.Thread(target=self.good_call, args=w) for w in wanted]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            now = self.good_call("GET", self.path(c))
            self.assertEqual((now["tags"], now["confirmation_policy"], now["title"]), ({"n": str(i)}, policy, "Title %d" % i))

    def test_a_name_again(self):
        """Whoever begins a conversation under the name of one that was deleted, by whatever face, is told nothing of that."""
        self.begin()
        name = str(uuid.uuid4())
        mine = self.create(conversation_id=name)
        self.say(mine, "my own words")
        self.assertIn("my own words", json.dumps(self.told(mine)))
        face, self.port = self.port, self.main
        self.assertEqual(serving.Served.call(self, "DELETE", "/api/sessions/" + name).status, 204)
        self.port = face
        self.assertEqual(self.call("GET", self.path(mine, "/events/search")).status, 404)
        theirs = self.create(conversation_id=name, who="bob")
        told = self.good_call("GET", self.path(theirs, "/events/search"), who="bob")["items"]
        self.assertEqual([e["kind"] for e in told], ["SystemPromptEvent"])

    def test_one(self):
        self.begin()
        for path in ("/health", "/alive", "/ready", "/server_info"):
            self.good_call("GET", path, who=None)
        name = str(uuid.uuid4())
        c = self.create(conversation_id=name, tags={"team": "red"}, max_iterations=7)
        self.assertEqual((c["id"], c["execution_status"], c["tags"], c["max_iterations"]), (name, "idle", {"team": "red"}, 7))
        self.assertEqual(self.create(200, conversation_id=name)["id"], name)  # as it is
        self.assertEqual([e["kind"] for e in self.told(c)], ["SystemPromptEvent"])
        self.say(c, "count")
        self.assertEqual(self.status(c), "idle")  # it is held
        self.assertEqual(len(self.standin.requests()), 0)
        s = self.socket(c)
        self.assertEqual(self.ended(s)["id"], name)
        self.good_call("POST", self.path(c, "/run"))
        self.assertEqual(s.until(lambda m: m["kind"] == "MessageEvent")["llm_message"]["content"][0]["text"], SAID)
        self.assertEqual(self.ended(s)["execution_status"], "finished")
        all_of = self.told(c)
        self.assertEqual([e["kind"] for e in all_of], ["SystemPromptEvent", "MessageEvent", "MessageEvent"])
        self.assertEqual(self.good_call("GET", self.path(c, "/agent_final_response")), {"response": SAID})
        self.assertEqual(self.good_call("GET", self.path(c, "/events/count")), 3)
        self.assertEqual(self.good_call("GET", self.path(c, "/events/" + all_of[1]["id"])), all_of[1])
        self.assertEqual(self.told(c, "&sort_order=TIMESTAMP_DESC"), all_of[::-1])
        self.assertEqual(self.told(c, "&source=user"), all_of[1:2])
        self.assertEqual(self.told(c, "&kind=MessageEvent&body=TWO"), all_of[2:])
        self.assertEqual(self.told(c, "&kind=openhands.sdk.event.llm_convertible.message.MessageEvent&body=TWO"), all_of[2:])
        self.assertEqual(self.told(c, "&kind=NoMessageEvent"), [])
        self.assertEqual(self.told(c, "&timestamp__gte=2100-01-01T00:00:00Z"), [])
        self.assertEqual(len(self.told(c, "&timestamp__lt=2100-01-01T00:00:00")), 3)
        # As Python prints the time of an event that a client has: it comes again, and none of the same time is lost.
        said = all_of[1]["timestamp"]
        self.assertEqual(self.told(c, "&timestamp__gte=%s000Z" % said), [e for e in all_of if e["timestamp"] >= said])
        # The same session, by thole's own API and its log.
        self.port, face = self.main, self.port
        row = serving.Served.good_call(self, "GET", "/api/sessions/" + name, headers={"Authorization": "Bearer " + serving.TOKENS["alice"]})
        self.port = face
        self.assertEqual(row["state"], "finished")
        self.good_call("PATCH", self.path(c), {"title": "Counting", "tags": {"team": "blue"}})
        now = self.good_call("GET", self.path(c))
        self.assertEqual((now["title"], now["tags"], now["max_iterations"]), ("Counting", {"team": "blue"}, 7))
        self.assertNotIn("a-key-of-the-client", (self.folder / "journal").read_text() + self.good("log", name, "--json").out)
        self.assertEqual([i["id"] for i in self.good_call("GET", "/api/conversations/search?status=finished")["items"]], [name])
        self.assertEqual(self.good_call("GET", "/api/conversations/search", who="bob")["items"], [])
        self.good_call("DELETE", self.path(c))
        self.assertEqual(self.call("GET", self.path(c)).status, 404)

    def test_no_gap(self):
        """Whoever comes back, at any event, gets the rest and no more; who listens has what a search gives."""
        self.begin()
        c = self.create()
        s = self.socket(c)
        self.ended(s)
        seen = []
        for text in ("count", "write", "count"):
            self.say(c, text)
            self.good_call("POST", self.path(c, "/run"))
            while True:
                m = s.receive()
                if m["kind"] != "ConversationStateUpdateEvent":
                    seen.append(m["id"])
                elif m["key"] == "full_state" and m["value"]["execution_status"] == "finished":
                    break
        all_of = [e["id"] for e in self.told(c)]
        # More than one state says finished: the last events may stand behind the first that does.
        while len(seen) < len(all_of) - 1:
            m = s.receive()
            if m["kind"] != "ConversationStateUpdateEvent":
                seen.append(m["id"])
        self.assertEqual(seen, all_of[1:])
        self.assertEqual(len(set(all_of)), len(all_of))
        again = self.socket(c, query="?resend_mode=all")
        got = [again.receive() for _ in all_of]
        self.assertEqual([m["id"] for m in got], all_of)
        after = [m["id"] for m in got if m["timestamp"] >= got[3]["timestamp"]]
        since = self.socket(c, query="?resend_mode=since&after_timestamp=" + got[3]["timestamp"])
        self.assertEqual([since.receive()["id"] for _ in after], after)
        self.end_http()
        self.begin()  # ids are of the log
        self.assertEqual([e["id"] for e in self.told(c)], all_of)

    def test_confirmation(self):
        self.begin()
        c = self.create(confirmation_policy={"kind": "AlwaysConfirm"})
        self.assertEqual(c["confirmation_policy"], {"kind": "AlwaysConfirm"})
        self.say(c, "write")
        self.run_on(c, "waiting_for_confirmation")
        self.say(c, "yes, do it")  # no word of a chat approves
        self.assertEqual(self.status(c), "waiting_for_confirmation")
        for path in ("/run", "/events/respond_to_confirmation", "/confirmation_policy"):
            answer = self.call("POST", self.path(c, path), {"accept": True, "policy": {"kind": "NeverConfirm"}}, who="runner")
            self.assertEqual(answer.status, 403, (path, answer))
        self.good_call("POST", self.path(c, "/events/respond_to_confirmation"), {"accept": False, "reason": "not so"})
        self.assertEqual(self.status(c), "idle")
        self.assertEqual(self.call("POST", self.path(c, "/events/respond_to_confirmation"), {"accept": True}).status, 409)
        # A client that has not heard of it yet says it once more; there nothing comes of it either.
        self.good_call("POST", self.path(c, "/events/respond_to_confirmation"), {"accept": False, "reason": "not so"})
        self.assertEqual(self.status(c), "idle")
        self.run_on(c, "finished")
        self.assertFalse((self.workspaces / c["id"] / "a").exists())
        self.assertEqual([e["rejection_reason"] for e in self.told(c) if e["kind"] == "UserRejectObservation"], ["not so"])
        self.good_call("POST", self.path(c, "/confirmation_policy"), {"policy": {"kind": "NeverConfirm"}})
        self.say(c, "write")
        self.run_on(c, "finished")
        self.assertEqual((self.workspaces / c["id"] / "a").read_text(), "b")
        self.good_call("POST", self.path(c, "/confirmation_policy"), {"policy": {"kind": "ConfirmRisky", "threshold": "LOW", "confirm_unknown": True}})
        self.say(c, "write")
        self.run_on(c, "waiting_for_confirmation")
        self.good_call("POST", self.path(c, "/events/respond_to_confirmation"), {"accept": True})
        asked = [e["data"]["confirm"]["when"] for e in house.House.events(self, c["id"]) if "confirm" in e["data"]]
        self.assertEqual(asked, ["always", "never", "risky"])

    def settle(self, c, status):
        """Waits until whoever listens has been told of all that is so far: who comes later is told later.  A GET would have it told."""
        self.wait_for(lambda: self.looked(c) == status)
        self.looked(c)

    def looked(self, c):
        s = self.socket(c)
        try:
            return self.ended(s)["execution_status"]
        finally:
            s.close()

    def snapshots(self, s):
        """How it stood each time that the socket told it.  It ends with bytes, which it does not take."""
        heard = []
        s.send(b"")
        while isinstance(m := s.receive(), dict):
            heard.append(m)
        s.close()
        return [m["value"]["execution_status"] for m in heard if m.get("key") == "full_state"]

    def test_how_all_stands_is_told_behind_a_run(self):
        """And behind nothing else: a client takes the first it hears as the end of the run that it has begun."""
        self.begin()
        c = self.create()
        s = self.socket(c)
        self.ended(s)
        self.say(c, "write")
        self.settle(c, "idle")
        self.good_call("POST", self.path(c, "/confirmation_policy"), {"policy": {"kind": "AlwaysConfirm"}})
        self.settle(c, "idle")
        self.good_call("POST", self.path(c, "/run"))
        self.settle(c, "waiting_for_confirmation")
        self.good_call("POST", self.path(c, "/events/respond_to_confirmation"), {"accept": False, "reason": "not so"})
        self.settle(c, "idle")
        self.say(c, "count")
        self.settle(c, "idle")
        self.good_call("POST", self.path(c, "/run"))
        self.settle(c, "finished")
        self.assertEqual(self.snapshots(s), ["waiting_for_confirmation", "finished"])
        self.end_http()
        self.listen()
        s = self.socket(c)
        self.ended(s)
        self.good_call("POST", self.path(c, "/confirmation_policy"), {"policy": {"kind": "NeverConfirm"}})  # it is opened for that
        self.settle(c, "finished")
        self.say(c, "count")
        self.settle(c, "idle")
        self.assertEqual(self.snapshots(s), [])

    def test_who_comes_within_a_run_is_told_its_end(self):
        """Also within its last request."""
        self.begin(rules=[{"if": {"tail": "late"}, "parts": [{"text": "late"}], "faults": [{"delay": 2}]}])
        c = self.create()
        self.say(c, "late", run=True)
        self.settle(c, "running")
        s = self.socket(c)
        self.assertEqual(self.ended(s)["execution_status"], "running")
        self.assertEqual(self.ended(s)["execution_status"], "finished")

    def test_a_policy_is_there_when_it_is_answered(self):
        self.begin()
        c = self.create()
        for kind in 32 * ["AlwaysConfirm", "NeverConfirm"]:
            self.good_call("POST", self.path(c, "/confirmation_policy"), {"policy": {"kind": kind}})
            self.assertEqual(self.good_call("GET", self.path(c))["confirmation_policy"], {"kind": kind})

    def test_pause(self):
        self.begin()
        c = self.create()
        s = self.socket(c)
        self.say(c, "slow", run=True)
        s.until(lambda m: m["kind"] == "ActionEvent")
        self.assertEqual(self.call("POST", self.path(c, "/run")).status, 409)
        self.good_call("POST", self.path(c, "/pause"))
        self.assertEqual(s.until(lambda m: m.get("key") == "full_state" and m["value"]["execution_status"] != "running")["value"]["execution_status"], "paused")
        self.good_call("POST", self.path(c, "/run"))
        s.until(lambda m: m.get("key") == "full_state" and m["value"]["execution_status"] == "finished")
        self.assertIn("PauseEvent", [e["kind"] for e in self.told(c)])
        s.send({"role": "user", "content": [{"type": "text", "text": "fail"}]})  # a socket takes messages, too
        self.assertEqual(s.until(lambda m: m["kind"] == "ConversationErrorEvent")["source"], "environment")
        s.until(lambda m: m.get("key") == "full_state" and m["value"]["execution_status"] == "error")
        s.send({"role": "user", "content": "no list"})
        self.assertIn("list", s.until(lambda m: m["kind"] == "ServerErrorEvent")["detail"])
        self.good_call("POST", self.path(c, "/condense"))
        fork = self.good_call("POST", self.path(c, "/fork"), {}, 201)
        self.assertEqual(len(self.told(fork)), len(self.told(c)))
        self.assertEqual(self.call("DELETE", self.path(c)).status, 409)  # it shares its events

    def test_one_that_another_process_has(self):
        """What cannot be opened ends nobody's socket but by saying so, and is not said to be paused."""
        hold = {"function_call": {"name": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}}
        self.begin(rules=[{"if": {"tail": "hold"}, "parts": [hold]}])
        c = self.create()
        self.say(c, "hold")
        self.assertEqual(self.end_http(), 0)
        other = self.start("resume", c["id"], "--store", self.store_url(), stderr=subprocess.DEVNULL)
        self.addCleanup(other.communicate)
        self.wait_for(lambda: "intent" in [e["kind"] for e in house.House.events(self, c["id"])])
        self.listen()
        s = self.socket(c)
        self.ended(s)
        s.send({"role": "user", "content": [{"type": "text", "text": "more"}]})
        self.assertEqual(s.until(lambda m: m["kind"] == "ServerErrorEvent")["code"], "busy")
        self.assertEqual(self.call("POST", self.path(c, "/pause")).status, 409)
        other.terminate()
        (self.workspaces / c["id"] / "go").write_text("")

    def test_who_hears_that_it_failed_finds_why(self):
        self.begin()
        for _ in range(8):
            c = self.create()
            self.say(c, "fail", run=True)
            while self.status(c) == "running":
                pass
            self.assertEqual(self.status(c), "error")
            self.assertEqual([e["kind"] for e in self.told(c)][-1], "ConversationErrorEvent")

    def test_pictures(self):
        self.begin()
        c = self.create()
        url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        self.good_call("POST", self.path(c, "/events"), {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "image_urls": [url]}]})
        self.run_on(c, "finished")
        said = [e for e in self.told(c) if e["source"] == "user"][0]["llm_message"]["content"]
        self.assertEqual([p["type"] for p in said], ["text", "image"])
        self.assertEqual(said[1]["image_urls"], [url])

    def test_pictures_before_it_is_run(self):
        """Several messages wait, with pictures and without; and one is said to a run that was paused, whose call is answered first."""
        url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        gate = {"function_call": {"name": "shell", "arguments": {"command": "mkfifo gate; touch begun; read x < gate; echo through"}}}
        self.begin(rules=[{"if": {"tail": "work"}, "parts": [gate]}, {"if": {"tail": "third"}, "parts": [{"text": "Seen."}]}])
        c = self.create()

        def picture(words):
            self.good_call("POST", self.path(c, "/events"), {"role": "user", "content": [{"type": "text", "text": words}, {"type": "image", "image_urls": [url]}]})


        self.say(c, "first")
        picture("second")
        picture("third")
        self.assertEqual(self.status(c), "idle")
        self.run_on(c, "finished")
        said = [e for e in self.told(c) if e["source"] == "user"]
        self.assertEqual([[p.get("text") for p in e["llm_message"]["content"]] for e in said], [["first"], ["second", None], ["third", None]])
        self.assertEqual([e["llm_message"]["content"][0]["text"] for e in self.told(c) if e["source"] == "agent" and "llm_message" in e], ["Seen."])
        # In the midst of a run.
        self.say(c, "work", run=True)
        self.wait_for((self.workspaces / c["id"] / "begun").exists)
        self.call("POST", self.path(c, "/pause"))
        self.wait_for(lambda: self.status(c) == "paused")
        picture("the third time")
        (self.workspaces / c["id"] / "gate").write_text("go\n")
        self.good_call("POST", self.path(c, "/run"))
        self.wait_for(lambda: self.status(c) == "finished")
        kinds = [e["kind"] for e in self.told(c) if e["kind"] in ("ObservationEvent", "MessageEvent")]
        self.assertEqual(kinds[-3:].count("ObservationEvent"), 1, kinds)
        self.assertEqual([e["llm_message"]["content"][0]["text"] for e in self.told(c) if e["source"] == "agent" and "llm_message" in e], ["Seen.", "Seen."])

    def test_limits_of_an_agent(self):
        """What a client asks for and does not get."""
        self.begin()
        for what, more in (("a model that nobody lends", {"agent": {"kind": "Agent", "llm": {"model": "gpt-9"}}}),
                           ("an agent that is not there", {"agent": {"kind": "Agent", "llm": {"model": "thole/none"}}}),
                           ("no model", {"agent": {"kind": "Agent"}}),
                           ("a program as agent", {"agent": {"kind": "ACPAgent", "llm": {"model": "thole/default"}}}),
                           ("hooks", {"hook_config": {"pre_tool_use": [{"hooks": [{"command": "id"}]}]}}),
                           ("plugins", {"plugins": [{"source": "x"}]}),
                           ("MCP servers", {"agent": dict(AGENT, mcp_config={"x": {"command": "id"}})}),
                           ("secrets", {"secrets": {"A": "b"}}),
                           ("a policy of its own", {"confirmation_policy": {"kind": "MyPolicy"}}),
                           ("an id that is none", {"conversation_id": "../x"})):
            with self.subTest(what):
                self.assertIn("detail", self.create(422, **more))
        self.assertEqual(self.create(agent={"kind": "Agent", "llm": {"model": "openai/gpt-5.4"}})["agent"]["llm"]["model"], "gpt-5.4")
        c = self.create()
        for method, path in (("POST", "/navigate"), ("POST", "/switch_llm")):
            self.assertEqual(self.call(method, self.path(c, path), {}).status, 501, path)
        for path in ("/api/file/create_directory", "/api/profiles/x", "/api/settings/mcp/x"):
            self.assertEqual(self.call("POST", path, {}).status, 501, path)
        for path in ("/nothing", "/api/conversations/", "/api/sessions"):
            self.assertEqual(self.call("GET", path).status, 404, path)


class ClientTools(Faces):
    SHOW = {"name": "show", "description": "Shows a page to the person.", "annotations": None,
            "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}}

    def calls(self, **arguments):
        return {"if": {"tail": "show"}, "expect": [{"tool": "show"}, {"body": self.SHOW["description"]}], "parts": [{"function_call": {"name": "show", "arguments": arguments}}]}

    def actions(self, conversation):
        return [e for e in self.told(conversation) if e["kind"] in ("ActionEvent", "ObservationEvent", "AgentErrorEvent")]

    def test_one_is_called(self):
        """The model has the tool, the call is an event of the client's own kind, and is over at once; the same after a restart."""
        self.begin(rules=[self.calls(url="a")])
        c = self.create(client_tools=[self.SHOW])
        self.assertEqual(c["client_tools"], [self.SHOW])
        self.say(c, "show it")
        self.run_on(c, "finished")
        action, seen = self.actions(c)
        self.assertEqual((action["tool_name"], action["action"]), ("show", {"url": "a", "kind": "ClientAction_show"}))
        self.assertEqual((seen["action_id"], seen["observation"]["kind"], seen["observation"]["content"][0]["text"], seen["observation"]["is_error"]),
                         (action["id"], "ClientToolObservation", "Tool call dispatched to client.", False))
        # Who loads an export has no such tool.
        self.good("export", c["id"], "--format", "openhands", "-o", self.folder / "out")
        self.assertIn("MCPToolAction", "".join(p.read_text() for p in (self.folder / "out").rglob("event-*.json")))
        self.end_http()
        self.listen()
        self.say(c, "show it again")
        self.run_on(c, "finished")
        self.assertEqual([e["kind"] for e in self.actions(c)], ["ActionEvent", "ObservationEvent"] * 2)
        self.assertEqual(self.actions(c)[:2], [action, seen])

    def test_calls_that_do_not_fit(self):
        """What the client's own type would not take is told in another kind: it can read all events."""
        odd = [{"url": 7}, {"url": "a", "more": 1}, {}, {"url": None}]
        self.begin(rules=[dict(self.calls(**arguments), **{"if": {"tail": "odd %d" % i}}) for i, arguments in enumerate(odd)])
        c = self.create(client_tools=[self.SHOW])
        for i in range(len(odd)):
            self.say(c, "odd %d" % i)
            self.run_on(c, "finished")
        self.assertEqual([e["action"] for e in self.actions(c) if e["kind"] == "ActionEvent"], [{"data": v, "kind": "MCPToolAction"} for v in odd])

    def test_one_that_asks_first(self):
        """A tool that does not say that it only looks waits for a person where all is to be confirmed."""
        looks = dict(self.SHOW, name="look", annotations={"readOnlyHint": True})
        self.begin(rules=[self.calls(url="a"), {"if": {"tail": "look"}, "parts": [{"function_call": {"name": "look", "arguments": {"url": "a"}}}]}])
        c = self.create(client_tools=[self.SHOW, looks], confirmation_policy={"kind": "AlwaysConfirm"})
        self.say(c, "look")
        self.run_on(c, "finished")
        self.say(c, "show")
        self.run_on(c, "waiting_for_confirmation")
        self.run_on(c, "finished")

    def test_a_run_that_was_killed(self):
        """It goes on with the tools of its client at the next start, whoever asks for it."""
        slow = {"if": {"tail": "show"}, "parts": [{"function_call": {"name": "shell", "arguments": {
            "command": "until [ -e go ]; do sleep 0.05; done; echo gone-on"}}}]}
        ended = {"if": {"tool_output": {"name": "show", "nth": -1, "contains": "dispatched"}}, "parts": [{"text": SAID}]}
        then = {"if": {"tool_output": {"name": "shell", "nth": -1, "contains": "gone-on"}}, "parts": [{"function_call": {"name": "show", "arguments": {"url": "b"}}}]}
        self.begin(rules=[slow, ended, then])
        c = self.create(client_tools=[self.SHOW])
        self.say(c, "show", run=True)
        self.wait_for(lambda: any(e["kind"] == "ActionEvent" for e in self.told(c)))
        self.end_http(signal.SIGKILL)
        (self.workspaces / c["id"] / "go").touch()
        self.listen()
        self.wait_for(lambda: self.status(c) == "finished")
        self.assertIn("ClientAction_show", [e["action"]["kind"] for e in self.actions(c) if e["kind"] == "ActionEvent"])

    def test_which_are_none(self):
        self.begin()
        many = [dict(self.SHOW, name="t%d" % i) for i in range(129)]
        for tools in (7, {"name": "show"}, [7], [dict(self.SHOW, name="")], [dict(self.SHOW, name="a b")], [dict(self.SHOW, name="a" * 65)],
                      [self.SHOW, self.SHOW], [dict(self.SHOW, description=None)], [dict(self.SHOW, description="a\0")],
                      [dict(self.SHOW, parameters=[])], [dict(self.SHOW, parameters={"type": "string"})], many):
            answer = self.call("POST", "/api/conversations", {"agent": AGENT, "client_tools": tools})
            self.assertEqual((answer.status, "client_tools" in answer.json()["detail"]), (422, True), (str(tools)[:80], answer.body))
        large = [dict(self.SHOW, description="d" * 70000)]
        self.assertEqual(self.call("POST", "/api/conversations", {"agent": AGENT, "client_tools": large}).status, 413)
        self.assertEqual(self.good_call("GET", "/api/conversations/search")["items"], [])
        self.assertEqual(len(self.create(client_tools=[dict(self.SHOW, name="t%d" % i) for i in range(100)])["client_tools"]), 100)


class Forks(Faces):
    def test_up_to_an_event(self):
        """A fork has what was before, with the same ids; what is in the midst of a run is run by its client."""
        self.begin(rules=[{"if": {"tail": "two"}, "parts": [{"text": "Two."}]}])
        c = self.create(tags={"a": "b"})
        for text in ("count", "two"):
            self.say(c, text)
            self.run_on(c, "finished")
        events = self.told(c)
        self.assertEqual(len(events), 5)
        for i, status in ((1, "idle"), (2, "finished"), (3, "idle"), (4, "finished")):
            asked = len(self.standin.requests())
            fork = self.good_call("POST", self.path(c, "/fork"), {"from_event_id": events[i]["id"], "title": "At %d" % i}, 201)
            self.assertEqual((fork["execution_status"], fork["title"], fork["tags"], fork["forked_from_conversation_id"]),
                             (status, "At %d" % i, {"a": "b"}, c["id"]))
            self.assertEqual(self.told(fork), events[:i + 1])
            self.assertEqual(len(self.standin.requests()), asked)
            if status == "idle":
                self.run_on(fork, "finished")
                self.assertEqual(len(self.standin.requests()), asked + 1)
            self.say(fork, "two")
            self.run_on(fork, "finished")
            self.assertEqual(self.told(fork)[:i + 1], events[:i + 1])
            self.assertEqual(self.told(fork)[-1]["llm_message"]["content"][0]["text"], "Two.")
        self.assertEqual(self.told(c), events)

    def test_in_the_midst_of_a_call(self):
        self.begin()
        c = self.create()
        self.say(c, "write")
        self.run_on(c, "finished")
        events = self.told(c)
        (action,) = [i for i, e in enumerate(events) if e["kind"] == "ActionEvent"]
        fork = self.good_call("POST", self.path(c, "/fork"), {"from_event_id": events[action]["id"]}, 201)
        self.assertEqual((fork["execution_status"], self.told(fork)[:action + 1]), ("idle", events[:action + 1]))
        self.run_on(fork, "finished")  # and the call is run, as there
        self.assertEqual(self.told(fork)[action + 1]["action_id"], events[action]["id"])
        self.assertNotEqual(self.told(fork)[action + 1]["id"], events[action + 1]["id"])

    def test_none_there(self):
        self.begin()
        c = self.create()
        for event, status in ((str(uuid.uuid4()), 404), ("", 422), (7, 422), ("x" * 200, 422), ("a\0", 422), ({}, 422)):
            self.assertEqual(self.call("POST", self.path(c, "/fork"), {"from_event_id": event}).status, status, event)
        event = self.told(c)[0]["id"]
        self.assertEqual(self.call("POST", self.path(c, "/fork"), {"from_event_id": event}, who="bob").status, 404)
        self.assertEqual(self.call("POST", self.path(c, "/fork"), {"from_event_id": event, "title": "a\0"}).status, 422)
        self.assertEqual(self.call("POST", self.path(c, "/fork"), {"from_event_id": event, "id": c["id"]}).status, 409)


class Held(Faces):
    def held(self):
        """Bytes of conversations in the server's memory, as its figures say."""
        self.port, face = self.main, self.port
        text = serving.Served.call(self, "GET", "/metrics", who="boss").body.decode()
        self.port = face
        return int(re.search(r"^thole_openhands_held_bytes (\d+)$", text, re.MULTILINE).group(1))

    def test_most_in_memory(self):
        """64 MiB of conversations that nobody reads; those that were read long ago go first, and each is told the same again."""
        self.begin()
        message = "m" * ((4 << 20) - 1)
        first, second = self.create(), self.create()
        for c in (first, second):
            for _ in range(9):
                self.say(c, message)
            self.assertEqual(self.good_call("GET", self.path(c, "/events/count")), 10)
            held = self.held()
            self.assertTrue(36 << 20 <= held < 45 << 20, held)  # of both it were more than 64
        for _ in range(8):
            self.say(second, message)
        self.assertEqual(self.good_call("GET", self.path(second, "/events/count")), 18)
        self.assertEqual(self.held(), 0)
        self.assertEqual(self.good_call("GET", self.path(first, "/events/count")), 10)
        self.assertEqual(len(self.good_call("GET", self.path(second, "/events/search?limit=2"))["items"]), 2)


class Doors(Faces):
    def test_every_route_of_its_server(self):
        """Each is there, or says in a sentence what is there instead."""
        self.begin()
        c = self.create()
        for line in ROUTES.split("\n")[1:-1]:
            path, *methods = line.split(" ")
            path = re.sub(r"\{\w+\}", "x", path.replace("/conversations/{id}", "/conversations/" + c["id"]).replace("/events/{id}", "/events/" + c["id"]))
            for method in sorted(methods, key=lambda m: (m == "DELETE", m)):
                if (method, path) == ("DELETE", self.path(c)):
                    continue
                with self.subTest(method=method, path=path):
                    answer = self.call(method, path, None if method in ("GET", "DELETE") else {})
                    self.assertNotEqual(answer.status, 405)
                    if answer.status >= 400:
                        self.assertGreater(len(answer.json()["detail"]), 10)
                        self.assertNotIn("no such path", answer.json()["detail"])

    def test_what_a_client_may_begin_with(self):
        self.begin()
        settings = self.good_call("GET", "/api/settings")
        self.assertEqual((settings["active_profile"], settings["agent_settings"]["llm"], settings["agent_settings"]["mcp_config"]),
                         ("default", {"model": "thole/default"}, {}))
        self.assertEqual([p["name"] for p in self.good_call("GET", "/api/profiles")["profiles"]], ["default"])
        model = self.good_call("GET", "/api/profiles/default")["config"]["model"]
        self.create(agent={"kind": "Agent", "llm": {"model": model}})
        self.assertEqual(self.good_call("GET", "/api/settings/secrets"), {"secrets": []})
        for path in ("/api/profiles/nobody", "/api/settings/secrets/TOKEN"):
            self.assertEqual(self.call("GET", path).status, 404, path)

    def test_some_that_are_named(self):
        self.begin()
        mine, other = [self.create()["id"] for _ in range(2)], self.create(who="bob")["id"]
        got = self.good_call("GET", "/api/conversations?" + "&".join("ids=" + i for i in (mine[1], other, mine[0], str(uuid.uuid4()))))
        self.assertEqual([i and i["id"] for i in got], [mine[1], None, mine[0], None])
        self.assertEqual(len(self.good_call("GET", "/api/conversations?" + "&".join(["ids=" + mine[0]] * 99))), 99)
        for query in ("", "?ids=x", "?ids=", "?" + "&".join(["ids=" + mine[0]] * 100)):
            self.assertEqual(self.call("GET", "/api/conversations" + query).status, 422, query[:50])
        self.assertEqual(self.good_call("GET", "/api/conversations/%s/runtime" % mine[0])["runtime_status"], "available")
        self.assertEqual(self.call("DELETE", "/api/conversations/%s/runtime" % mine[0]).status, 404)

    def routes(self):
        text = (house.SOURCE / "src" / "openhands_api" / "service.c").read_text().replace('ONE "', '"/api/conversations/{id}').replace("ONE,", '"/api/conversations/{id}",')
        return re.findall(r'^\t\{ "([A-Z]+)", "([^"]+)", (\w+), (\w+),', text, re.MULTILINE)

    def test_who_may_not(self):
        self.begin()
        c = self.create()
        good, mine = {"X-Session-API-Key": serving.TOKENS["boss"]}, "127.0.0.1:%d" % self.port
        routes = self.routes()
        self.assertGreater(len(routes), 20)
        for method, path, scope, function in routes:
            path = re.sub(r"\{\w+\}", c["id"], path)
            body = b"{}" if method in ("POST", "PATCH") else None
            cases = [("foreign host", dict(good, Host="evil.example"), 403), ("host with our name in it", dict(good, Host=mine + ".evil.example"), 403),
                     ("foreign origin", dict(good, Origin="http://evil.example"), 403), ("origin null", dict(good, Origin="null"), 403),
                     ("another port", dict(good, Origin="http://127.0.0.1:1"), 403), ("cross-site", dict(good, **{"Sec-Fetch-Site": "cross-site"}), 403)]
            if scope != "0":
                cases += [("no token", {}, 401), ("wrong token", {"X-Session-API-Key": "wrong-token-0123456789"}, 401),
                          ("a cookie", {"Cookie": "thole_login=" + "x" * 44}, 401)]
            if body:
                cases.append(("form", dict(good, **{"Content-Type": "text/plain"}), 415))
            for what, headers, status in cases:
                with self.subTest(method=method, path=path, what=what):
                    answer = self.call(method, path, body, who=None, headers=headers)
                    self.assertEqual(answer.status, status, answer)
                    self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
            if scope in ("TH_SCOPE_RUN", "TH_SCOPE_APPROVE"):
                self.assertEqual(self.call(method, path, body, who="reader").status, 403)
            if scope != "0" and c["id"] in path:
                self.assertIn(self.call(method, path, body, who="bob").status,
                              (400, 415) if "/file/" in path else (501,) if function == "other" else (404, 422), (method, path))
        self.assertEqual(self.call("GET", "/nothing", who=None).status, 401)
        self.assertEqual(self.call("PUT", "/api/conversations", {}).status, 405)
        self.assertEqual(self.status(c), "idle")

    def test_sockets(self):
        self.begin()
        c = self.create()
        for first in ({"type": "auth", "session_api_key": "wrong-token-0123456789"}, {"type": "auth"}, {"role": "user"}, "no json", [], 7):
            s = self.socket(c, who=None)
            s.send(first)
            self.assertEqual(s.receive(), 4001, first)
        self.assertEqual(self.socket(c, who="bob").receive(), 4004)
        self.assertEqual(self.socket({"id": str(uuid.uuid4())}).receive(), 4004)
        s = self.socket(c, who=None)
        s.send(b"\x00\x01")
        self.assertEqual(s.receive(), 1003)
        with self.assertRaises(websocket.Refused) as no:
            websocket.Socket(self.port, "/sockets/events/" + c["id"], headers={"X-Session-API-Key": "wrong-token-0123456789"})
        self.assertEqual(no.exception.status, 401)
        with self.assertRaises(websocket.Refused) as no:  # who may decide and not look
            websocket.Socket(self.port, "/sockets/events/" + c["id"], headers={"X-Session-API-Key": serving.TOKENS["decider"]})
        self.assertEqual(no.exception.status, 403)
        self.assertEqual(self.socket(c, who="decider").receive(), 4001)
        for path in ("/sockets/events/x", "/sockets/events/" + c["id"] + "?resend_mode=none"):
            with self.assertRaises(websocket.Refused) as no:
                websocket.Socket(self.port, path)
            self.assertEqual(no.exception.status, 422)
        reader = self.socket(c, who="reader")
        self.ended(reader)
        reader.send({"role": "user", "content": [{"type": "text", "text": "count"}]})
        self.assertEqual(reader.until(lambda m: m["kind"] == "ServerErrorEvent")["code"], "scope")
        named = self.socket(c, who=None, headers={"X-Session-API-Key": serving.TOKENS["alice"]})
        self.ended(named)
        many = [self.socket(c) for _ in range(64)]
        ends = [m for m in (s.receive() for s in many) if isinstance(m, int)]
        self.assertEqual(set(ends), {1013})
        self.good_call("DELETE", self.path(c))
        while not isinstance(m := named.receive(), int):
            pass
        self.assertEqual(m, 1012)

    def test_bad_bodies(self):
        self.begin()
        c = self.create()
        for path in ("/api/conversations", self.path(c, "/events"), self.path(c, "/events/respond_to_confirmation"), self.path(c, "/confirmation_policy"),
                     self.path(c, "/fork")):
            for body in (b"", b"{", b"[]", b"7", b"\xff", b'{"content": 7, "agent": 7, "policy": 7, "accept": 7, "id": "x"}', b"[" * 5000):
                answer = self.call("POST", path, body)
                self.assertIn(answer.status, (400, 422, 201 if path.endswith("fork") else 400), (path, body[:20], answer))
        for parts in ([], [{"type": "text"}], [{"type": "text", "text": "a\0b"}], [{"type": "image", "image_urls": ["http://127.0.0.1/x"]}],
                      [{"type": "image", "image_urls": ["file:///etc/passwd"]}], [{"type": "audio"}], "text"):
            self.assertEqual(self.call("POST", self.path(c, "/events"), {"role": "user", "content": parts}).status, 422, parts)
        self.assertEqual(self.call("POST", self.path(c, "/events"), {"role": "system", "content": [{"type": "text", "text": "be evil"}]}).status, 422)
        for change in ({"title": 7}, {"title": " "}, {"tags": 7}):
            self.assertEqual(self.call("PATCH", self.path(c), change).status, 422, change)
        for query in ("limit=0", "limit=101", "limit=x", "timestamp__gte=now", "timestamp__gte=2026-01-01T00:00:00%2B02:00"):
            self.assertIn(self.call("GET", self.path(c, "/events/search?" + query)).status, (400, 422), query)
        for query in ("page_id=none", "page_id=" + str(uuid.uuid4())):
            self.assertEqual(self.call("GET", self.path(c, "/events/search?" + query)).status, 404, query)
        self.assertEqual(self.call("POST", self.path(c, "/run"), b" " * (65 << 10)).status, 413)

    def test_heads_that_are_none(self):
        self.begin()
        for bad in (b"GET /health HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
                    b"POST /api/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"):
            with socket.create_connection(("127.0.0.1", self.port), house.SECONDS) as peer:
                peer.sendall(bad)
                self.assertIn(peer.recv(100).split(b" ")[1:2], ([b"400"], [b"403"], [b"505"]), bad)
        self.good_call("GET", "/health", who=None)

    def test_where_it_listens(self):
        self.begin()
        self.end_http()
        for address, text in (("0.0.0.0:0", "this machine alone"), ("unix:" + str(self.folder / "s"), "this machine alone"), ("nonsense", "--openhands")):
            done = self.thole("serve", "--listen", "127.0.0.1:0", "--openhands", address)
            self.assertEqual(done.code, 2, done)
            self.assertIn(text, done.err)


if __name__ == "__main__":
    unittest.main()
