# SPDX-License-Identifier: Apache-2.0
"""A2A: the card, and tasks in the words of version 1.0 and of 0.3."""

import json
import signal

import house
import serving
from a2a import Agents, shell


class A2a(Agents):
    def test_a_log_that_cannot_be_read(self):
        self.begin([{"text": "Hello."}])
        task = self.good("SendMessage", self.says("Say hello."))["task"]
        self.end_http()
        with self.event_missing(3):
            self.again()
            for ask in (("GetTask", {"id": task["id"]}), ("SendMessage", self.says("More.", contextId=task["contextId"]))):
                self.assertIn("damaged", self.bad(-32603, *ask))
            self.end_http()

    def test_the_card(self):
        self.begin([{"text": "x"}])
        card = self.call("GET", "/.well-known/agent-card.json", who=None).json()
        url = "http://127.0.0.1:%d/a2a/default" % self.port
        self.assertEqual((card["name"], card["url"], card["capabilities"]["streaming"]), ("default", url, True))
        self.assertEqual([(i["url"], i["protocolBinding"], i["protocolVersion"]) for i in card["supportedInterfaces"]],
                         [(url, "JSONRPC", "1.0"), (url, "HTTP+JSON", "1.0"), (url, "JSONRPC", "0.3")])
        self.assertNotIn("worker", json.dumps(card))
        path = "/a2a/worker/.well-known/agent-card.json"
        self.assertEqual(self.call("GET", path, who=None).status, 401)
        self.assertEqual(self.good_call("GET", path)["name"], "worker")
        self.assertEqual(self.call("GET", "/a2a/nobody/.well-known/agent-card.json").status, 404)
        self.assertEqual(self.call("POST", "/a2a/default", {}, who=None).status, 401)

    def test_a_task_and_the_next(self):
        self.begin([{"text": "I look."}, *shell("echo one")], [{"text": "One."}], [{"text": "Two."}])
        task = self.good("SendMessage", self.says("Count."), A2A_Version="1.0")["task"]
        self.assertEqual(task["status"]["state"], "TASK_STATE_COMPLETED")
        self.assertEqual([a["parts"] for a in task["artifacts"]], [[{"text": "One."}]])
        self.assertEqual([(m["role"], m["parts"][0]["text"]) for m in task["history"]], [("ROLE_USER", "Count."), ("ROLE_AGENT", "I look.")])
        self.assertEqual(self.good("GetTask", {"id": task["id"]}), task)
        self.assertEqual(len(self.good("GetTask", {"id": task["id"], "historyLength": 1})["history"]), 1)
        old = self.good("tasks/get", {"id": task["id"]})
        self.assertEqual((old["kind"], old["status"]["state"], old["artifacts"][0]["parts"]), ("task", "completed", [{"kind": "text", "text": "One."}]))
        self.bad(-32004, "SendMessage", self.says("More.", taskId=task["id"]))
        after = self.good("SendMessage", self.says("More.", contextId=task["contextId"]))["task"]
        self.assertEqual((after["contextId"], after["artifacts"][0]["parts"][0]["text"]), (task["contextId"], "Two."))
        self.assertNotEqual(after["id"], task["id"])
        self.assertEqual(self.good("GetTask", {"id": task["id"]}), task)
        self.assertEqual(self.good("GetTask", {"id": after["id"]}), after)
        self.bad(-32002, "CancelTask", {"id": after["id"]})
        self.assertIn("Two.", self.good("log", task["contextId"]).out)
        for who in ("bob", "reader"):
            self.bad(-32001 if who == "bob" else -32004, "CancelTask", {"id": task["id"]}, who=who)
        self.bad(-32001, "GetTask", {"id": task["id"]}, who="bob")
        self.bad(-32004, "SendMessage", self.says("x"), who="reader")

    def test_a_stream(self):
        self.begin([{"text": "I look."}, *shell("echo one")], [{"text": "One."}])
        parts = self.follow("SendStreamingMessage", self.says("Count."))
        self.assertEqual([next(iter(p)) for p in parts], ["task", "statusUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"])
        self.assertEqual([p["statusUpdate"]["status"]["state"] for p in parts if "statusUpdate" in p],
                         ["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"])
        self.assertEqual(parts[2]["statusUpdate"]["status"]["message"]["parts"], [{"text": "I look."}])
        self.assertEqual(parts[3]["artifactUpdate"]["artifact"]["parts"], [{"text": "One."}])
        task = parts[0]["task"]
        self.assertEqual(self.good("GetTask", {"id": task["id"]})["status"], parts[4]["statusUpdate"]["status"])
        self.assertEqual(self.call("POST", "/a2a/worker", {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}).json()["error"]["code"], -32004)

    def test_a_reader_that_leaves(self):
        self.begin(shell("sleep 1"), [{"text": "Over."}])
        for method in ("SendStreamingMessage", "SendMessage"):
            connection = self.connect()
            connection.request("POST", "/a2a/worker", body=json.dumps({"jsonrpc": "2.0", "id": 5, "method": method, "params": self.says("go", contextId=method)}),
                               headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
            self.wait_for(lambda name=method: self.call("GET", "/api/sessions/" + name).status == 200)
            connection.close()
            self.wait_for(lambda name=method: self.ask("GetTask", {"id": name + ".0"}).get("result", {}).get("status", {}).get("state") == "TASK_STATE_COMPLETED")

    def test_a_caller_that_leaves_while_its_task_is_read(self):
        self.begin([{"text": "One."}])
        task = self.good("SendMessage", self.says("Count."))["task"]
        for _ in range(20):
            for path, method, params in (("/a2a/worker", "GetTask", {"id": task["id"]}),
                                         ("/mcp", "resources/read", {"uri": "thole://sessions/%s/events" % task["contextId"]})):
                connection = self.connect()
                connection.request("POST", path, body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                                   headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json",
                                            "Accept": "application/json, text/event-stream"})
                connection.close()
        self.assertEqual(self.good("GetTask", {"id": task["id"]}), task)

    def test_a_stream_of_before(self):
        self.begin([{"text": "One."}])
        parts = self.follow("message/stream", {"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "Count."}]}})
        self.assertEqual([p["kind"] for p in parts], ["task", "status-update", "artifact-update", "status-update"])
        self.assertEqual((parts[-1]["status"]["state"], parts[-1]["final"], parts[1]["final"]), ("completed", True, False))
        again = self.follow("tasks/resubscribe", {"id": parts[0]["id"]})
        self.assertEqual([(p["kind"], p["status"]["state"]) for p in again], [("task", "completed")])

    def test_a_decision(self):
        self.begin(shell("echo yes >> made"), [{"text": "Made."}], agent="approve: [shell]\n")
        task = self.good("SendMessage", self.says("go"))["task"]
        self.assertEqual(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        waits = task["status"]["message"]["parts"][1]["data"]["waiting"]
        self.assertEqual([(w["tool"], w["word"], w["arguments"]) for w in waits], [("shell", "approve", {"command": "echo yes >> made"})])
        self.assertIn("decision", self.bad(-32004, "SendMessage", self.says("approve it", taskId=task["id"])))
        word = {"message": {"messageId": "d", "role": "ROLE_USER", "taskId": task["id"],
                            "parts": [{"data": {"decision": "approve", "call_id": waits[0]["call_id"]}}]}}
        self.bad(-32001, "SendMessage", word, who="bob")
        runs = {"Authorization": "Bearer " + self.good("token", "new", "alice", "--scopes", "read,run").out.strip()}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": word}
        refused = self.call("POST", "/a2a/worker", body, who=None, headers=runs).json()["error"]
        self.assertEqual((refused["code"], "scope approve" in refused["message"]), (-32004, True), refused)
        self.assertEqual(list(self.work.rglob("made")), [])
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.again()
        self.assertEqual(self.good("GetTask", {"id": task["id"]})["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        done = self.good("SendMessage", word)["task"]
        self.assertEqual((done["id"], done["status"]["state"]), (task["id"], "TASK_STATE_COMPLETED"))
        self.assertEqual([p.read_text() for p in self.work.rglob("made")], ["yes\n"])
        self.bad(-32004, "SendMessage", word)

    def test_cancelled_and_at_once(self):
        self.begin(shell("sleep 60"))
        task = self.good("SendMessage", dict(self.says("go"), configuration={"returnImmediately": True}))["task"]
        self.assertIn(task["status"]["state"], ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"))
        self.assertEqual(self.good("CancelTask", {"id": task["id"]})["status"]["state"], "TASK_STATE_CANCELED")
        self.assertEqual(self.good("GetTask", {"id": task["id"]})["status"]["state"], "TASK_STATE_CANCELED")

    def test_failed(self):
        self.begin({"parts": [{"text": "never said"}], "faults": [{"status": 401, "times": -1}]})
        self.violations = False
        task = self.good("SendMessage", self.says("go"))["task"]
        self.assertEqual(task["status"]["state"], "TASK_STATE_FAILED")
        self.assertTrue(task["status"]["message"]["parts"][0]["text"])

    def pages(self, **params):
        """All tasks of a list, page after page, and how many there were in each."""
        tasks, sizes, totals, token = [], [], set(), ""
        while True:
            page = self.good("ListTasks", dict(params, pageToken=token))
            totals.add(page["totalSize"])
            tasks += page["tasks"]
            sizes.append(len(page["tasks"]))
            token = page["nextPageToken"]
            if not token:
                self.assertEqual(totals, {len(tasks)})
                return tasks, sizes

    def test_lists(self):
        self.begin([{"text": "One."}], after="repeat_last")
        made = []
        for context in ("a", "b", "c"):
            for _ in range(3):
                made.append(self.good("SendMessage", self.says("Go.", contextId=context))["task"])
        self.good("SendMessage", self.says("Mine.", contextId="of-bob"), who="bob")
        self.good_call("POST", "/api/sessions", {"agent": "worker", "id": "without"}, status=201)  # it has no task
        wanted = ["%s.%s" % (c, t["id"].split(".")[1]) for c in "cba" for t in reversed(made) if t["contextId"] == c]
        for size in (1, 2, 3, 4, 9, 100):
            tasks, sizes = self.pages(pageSize=size)
            self.assertEqual([t["id"] for t in tasks], wanted)
            self.assertLessEqual(max(sizes), size)
        whole = self.good("ListTasks", {"historyLength": 5, "includeArtifacts": True})
        self.assertEqual((whole["pageSize"], whole["nextPageToken"]), (50, ""))
        self.assertEqual(whole["tasks"], [self.good("GetTask", {"id": i}) for i in wanted])
        bare = self.good("ListTasks", {"contextId": "b"})["tasks"]
        self.assertEqual([(t["id"], t["history"], "artifacts" in t) for t in bare], [(i, [], False) for i in wanted if i[0] == "b"])
        self.assertEqual(self.good("ListTasks", {"contextId": "of-bob"})["tasks"], [])
        self.assertEqual(self.good("tasks/list", {"status": "failed"})["tasks"], [])
        self.assertEqual([self.good("ListTasks", dict(p, pageSize=1))["totalSize"] for p in ({"contextId": "b"}, {"status": "failed"}, {})], [3, 0, 9])
        self.assertEqual(len(self.good("tasks/list", {"status": "completed"})["tasks"]), 9)
        newest = made[-1]["status"]["timestamp"]
        self.assertEqual([t["id"] for t in self.good("ListTasks", {"statusTimestampAfter": newest})["tasks"]], [made[-1]["id"]])
        for wrong in ({"pageSize": 0}, {"pageSize": 101}, {"status": "lost"}, {"statusTimestampAfter": "then"}, {"pageToken": "x"}, {"pageToken": "x.0.0"},
                      {"pageToken": "x.0.0.0"}, {"pageToken": ".101.0.0"}, {"pageToken": ".0.0.9999999999"}, {"contextId": "x" * 300}):
            self.bad(-32602, "ListTasks", wrong)

    def test_a_list_that_is_large(self):
        self.begin([{"text": "One."}], after="repeat_last")
        for context in "abcd":
            self.good("SendMessage", self.says(context * 3500000, contextId=context))
        tasks, sizes = self.pages(historyLength=1)  # TH_A2A_LIST_SIZE
        self.assertEqual(([t["contextId"] for t in tasks], sizes), (list("dcba"), [3, 1]))

    def test_nonsense(self):
        self.begin([{"text": "x"}])
        for code, method, params, headers in (
                (-32601, "Nothing", {}, {}), (-32602, "SendMessage", {}, {}), (-32602, "SendMessage", {"message": {"parts": []}}, {}),
                (-32005, "SendMessage", {"message": {"parts": [{"raw": "AAAA"}]}}, {}), (-32602, "SendMessage", {"message": {"parts": [{"raw": "no"}]}}, {}), (-32009, "GetTask", {}, {"A2A_Version": "7"}),
                (-32001, "GetTask", {"id": "x"}, {}), (-32001, "GetTask", {"id": "x.0"}, {}), (-32001, "GetTask", {"id": ".0"}, {}),
                (-32001, "CreateTaskPushNotificationConfig", {}, {}), (-32007, "GetExtendedAgentCard", {}, {}),
                (-32602, "SendMessage", self.says("x" * 10, contextId="y" * 200), {})):
            self.bad(code, method, params, **headers)
        self.bad(-32602, "SendMessage", self.says("x"), agent="nobody")
        for body, code in ((b"nonsense", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","method":"x"}', -32600)):
            answer = self.call("POST", "/a2a/worker", body)
            self.assertEqual((answer.status, answer.json()["error"]["code"]), (200, code))


if __name__ == "__main__":
    house.main()
