# SPDX-License-Identifier: Apache-2.0
"""A2A over HTTP+JSON, files by their bytes, questions that a client answers, and who is told of a task."""

import base64
import http.server
import json
import queue
import signal
import struct
import threading
import zlib

import house
import serving
from a2a import Agents, shell

QUESTION = [{"function_call": {"name": "ask", "arguments": {"question": "Which colour?", "options": ["red", "blue"]}}}]


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress((b"\0" + b"\xff\0\0" * 2) * 2)) + chunk(b"IEND", b"")


def b64(data):
    return base64.b64encode(data).decode()


class Rest(Agents):
    def http(self, method, path, body=None, status=200, **more):
        answer = self.call(method, "/a2a/worker" + path, body, **more)
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "application/a2a+json"), answer)
        return answer.json()

    def refused(self, status, reason, *args, **more):
        error = self.http(*args, status=status, **more)["error"]
        self.assertEqual((error["code"], [d["reason"] for d in error["details"]]), (status, [reason] if reason else []), error)
        return error["message"]

    def events(self, method, path, body=None):
        connection = self.connect()
        connection.request(method, "/a2a/worker" + path, body=body and json.dumps(body),
                           headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        found = [f[2] for f in serving.frames(response)]
        connection.close()
        return found

    def test_tasks(self):
        self.begin([{"text": "One."}], after="repeat_last")
        name = "x" * 128  # the longest
        task = self.http("POST", "/message:send", self.says("Count.", contextId=name), headers={"A2A-Version": "1.0"})["task"]
        self.assertEqual(task["id"], name + ".0")
        self.assertEqual(self.http("GET", "/tasks/%s" % task["id"]), task)
        self.assertEqual(self.http("GET", "/tasks/%s?historyLength=0" % task["id"])["history"], [])
        self.assertEqual(self.good("GetTask", {"id": task["id"]}), task)
        parts = self.events("POST", "/message:stream", self.says("Again.", contextId=name))
        self.assertEqual([next(iter(p)) for p in parts], ["task", "statusUpdate", "artifactUpdate", "statusUpdate"])
        page = self.http("GET", "/tasks?pageSize=1&historyLength=5&includeArtifacts=true&status=TASK_STATE_COMPLETED&contextId=" + name)
        self.assertEqual((len(page["tasks"]), page["tasks"][0]["history"][0]["parts"], page["totalSize"]), (1, [{"text": "Again."}], 2))
        self.assertEqual([t["id"] for t in self.http("GET", "/tasks?pageSize=1&pageToken=" + page["nextPageToken"] + "&contextId=" + name)["tasks"]], [task["id"]])
        body = json.dumps(self.says("Typed.")).encode()
        self.http("POST", "/message:send", body, headers={"Content-Type": "application/a2a+json"})
        self.assertEqual(self.call("POST", "/a2a/worker/message:send", body, headers={"Content-Type": "text/plain"}).status, 415)
        for how in ("GET", "POST"):
            self.refused(400, "UNSUPPORTED_OPERATION", how, "/tasks/%s:subscribe" % task["id"])
        self.refused(400, "TASK_NOT_CANCELABLE", "POST", "/tasks/%s:cancel" % task["id"])
        self.refused(404, "TASK_NOT_FOUND", "GET", "/tasks/%s" % task["id"], who="bob")
        self.refused(404, "TASK_NOT_FOUND", "GET", "/tasks/nothing.0")
        self.refused(400, "VERSION_NOT_SUPPORTED", "GET", "/tasks", headers={"A2A-Version": "0.3"})
        self.refused(400, "CONTENT_TYPE_NOT_SUPPORTED", "POST", "/message:send", {"message": {"parts": [{"raw": "AAAA"}]}})
        self.refused(400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "GET", "/extendedAgentCard")
        self.refused(400, None, "POST", "/message:send", b"[]")
        self.refused(400, None, "GET", "/tasks?pageSize=many")
        self.assertEqual(self.call("GET", "/a2a/worker/tasks/" + "y" * 160).status, 404)
        self.assertEqual(self.call("DELETE", "/a2a/worker/tasks/x.0").status, 405)

    def test_cancelled(self):
        self.begin(shell("sleep 60"))
        task = self.http("POST", "/message:send", dict(self.says("go"), configuration={"returnImmediately": True}))["task"]
        self.assertEqual(self.http("POST", "/tasks/%s:cancel" % task["id"])["status"]["state"], "TASK_STATE_CANCELED")


class Files(Agents):
    def content(self):
        """Of the last message that the model was told."""
        return [i for i in self.asked()["input"] if i.get("role") == "user"][-1]["content"]

    def test_bytes(self):
        self.begin([{"text": "Seen."}], after="repeat_last")
        parts = [{"text": "Look."}, {"raw": b64(png()), "mediaType": "image/png", "filename": "a.png"},
                 {"raw": b64(b"a,b\n1,2\n"), "mediaType": "text/csv", "filename": "t.csv"}, {"raw": b64("é".encode())},
                 {"raw": b64(b"%PDF-1.4"), "mediaType": "application/pdf", "filename": "r.pdf"}, {"url": "https://example.org/x.zip"}]
        task = self.good("SendMessage", {"message": {"messageId": "m", "parts": parts}})["task"]
        self.assertEqual((task["status"]["state"], task["artifacts"][0]["parts"]), ("TASK_STATE_COMPLETED", [{"text": "Seen."}]))
        said = self.content()
        self.assertEqual([p["type"] for p in said], ["input_text", "input_image", "input_text", "input_text", "input_file", "input_text"])
        self.assertEqual(base64.b64decode(said[1]["image_url"].split(",")[1]), png())
        self.assertEqual([said[i]["text"] for i in (0, 2, 3, 5)], ["Look.", "t.csv:\n```\na,b\n1,2\n\n```", "file:\n```\né\n```", "https://example.org/x.zip"])
        self.assertEqual((said[4]["filename"], said[4]["file_data"]), ("r.pdf", "data:application/pdf;base64," + b64(b"%PDF-1.4")))
        self.assertEqual(self.good("GetTask", {"id": task["id"]}), task)
        self.assertEqual(task["history"][0]["parts"][0]["text"].splitlines()[:2], ["Look.", "[picture]"])
        self.assertIn("\n[file r.pdf]\n", task["history"][0]["parts"][0]["text"])
        # The next one of the context begins with a picture alone, in the words of before.
        old = {"messageId": "n", "contextId": task["contextId"], "role": "user",
               "parts": [{"kind": "file", "file": {"bytes": b64(png()), "mimeType": "image/png", "name": "b.png"}}]}
        after = self.good("message/send", {"message": old})
        self.assertNotEqual(after["id"], task["id"])
        self.assertEqual([p["type"] for p in self.content()], ["input_image"])
        parts = self.follow("SendStreamingMessage", {"message": {"messageId": "p", "parts": parts[1:2]}})
        self.assertEqual(parts[0]["task"]["history"][0]["parts"], [{"text": "[picture]"}])
        self.assertEqual(len(self.good("ListTasks", {"contextId": task["contextId"]})["tasks"]), 2)

    def test_what_is_refused(self):
        self.begin([{"text": "Seen."}])
        edge = 4 * 1024 * 1024 // 4 * 3
        for size, mime in ((edge, "image/png"), (edge * 2, "image/png"), (edge + 1, "text/plain")):
            self.assertIn("4 MiB", self.bad(-32602, "SendMessage", {"message": {"parts": [{"raw": b64(b"x" * size), "mediaType": mime}]}}))
        for part in ({"raw": b64(b"PK\3\4"), "mediaType": "application/zip"}, {"raw": b64(b"\xff\xfe"), "mediaType": "text/plain"}, {}):
            self.bad(-32005, "SendMessage", {"message": {"parts": [part]}})
        self.assertEqual(self.good("ListTasks", {})["totalSize"], 0)


class Questions(Agents):
    def test_a_question(self):
        self.begin(QUESTION, [{"text": "Red then."}], tools="[ask]")
        task = self.good("SendMessage", self.says("Paint."))["task"]
        message = task["status"]["message"]["parts"]
        self.assertEqual((task["status"]["state"], message[0]["text"]), ("TASK_STATE_INPUT_REQUIRED", "Which colour?\n- red\n- blue"))
        self.assertEqual([(w["word"], w["arguments"]["options"]) for w in message[1]["data"]["waiting"]], [("answer", ["red", "blue"])])
        self.assertIn("scope approve", self.bad(-32004, "SendMessage", self.says("red", taskId=task["id"]), who="runner"))
        self.bad(-32004, "SendMessage", {"message": {"taskId": task["id"], "parts": [{"raw": b64(png()), "mediaType": "image/png"}]}})
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.again()
        done = self.good("SendMessage", self.says("Red.", taskId=task["id"]))["task"]
        self.assertEqual((done["id"], done["status"]["state"], done["artifacts"][0]["parts"]), (task["id"], "TASK_STATE_COMPLETED", [{"text": "Red then."}]))
        outputs = [i["output"] for i in self.asked()["input"] if i["type"] == "function_call_output"]
        self.assertIn("Red.", json.dumps(outputs))

    def test_by_a_data_part(self):
        self.begin(QUESTION, [{"text": "Blue then."}], tools="[ask]")
        task = self.good("SendMessage", self.says("Paint."))["task"]
        call = task["status"]["message"]["parts"][1]["data"]["waiting"][0]["call_id"]
        word = {"decision": "answer", "call_id": call}
        self.bad(-32602, "SendMessage", {"message": {"taskId": task["id"], "parts": [{"data": word}]}})
        done = self.good("SendMessage", {"message": {"taskId": task["id"], "parts": [{"data": dict(word, message="blue")}]}})["task"]
        self.assertEqual(done["status"]["state"], "TASK_STATE_COMPLETED")

    def test_a_text_approves_nothing(self):
        self.begin([*QUESTION, {"function_call": {"name": "shell", "arguments": {"command": "touch made"}}}], [{"text": "So."}], tools="[ask, shell]",
                   agent="approve: [shell]\n")
        task = self.good("SendMessage", self.says("Go."))["task"]
        self.assertEqual(len(task["status"]["message"]["parts"][1]["data"]["waiting"]), 2)
        task = self.good("SendMessage", self.says("yes, approve", taskId=task["id"]))["task"]
        self.assertEqual(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
        self.assertIn("decision", self.bad(-32004, "SendMessage", self.says("yes, approve", taskId=task["id"])))
        self.assertEqual(list(self.work.rglob("made")), [])


class Told(http.server.ThreadingHTTPServer):
    """Whoever is told of tasks; `answers` says with what, the last one for all that follow."""

    daemon_threads = True

    def __init__(self, *answers, port=0):
        super().__init__(("127.0.0.1", port), Teller)
        self.answers = list(answers or (200,))
        self.got = queue.Queue()
        self.port = self.server_address[1]
        self.url = "http://127.0.0.1:%d/told?key=do-not-log-me" % self.port
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next(self):
        return self.got.get(timeout=house.SECONDS)

    def stop(self):
        self.shutdown()
        self.server_close()


class Teller(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0])
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.got.put((dict(self.headers), body))

    def log_message(self, *_):
        pass


class Pushes(Agents):
    def setUp(self):
        super().setUp()
        self.allow(True)

    def allow(self, private):
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\nserve: {client_hooks_private: %s}\n" % str(private).lower())

    def told(self, *answers, **more):
        told = Told(*answers, **more)
        self.addCleanup(told.stop)
        return told

    def tearDown(self):
        text = (self.folder / "journal").read_text()
        for secret in ("do-not-log-me", "my-token", "my-word"):
            self.assertNotIn(secret, text)
        super().tearDown()

    def test_with_the_message(self):
        self.begin(shell("echo one"), [{"text": "One."}], agent="approve: [shell]\n")
        told = self.told()
        config = {"url": told.url, "token": "my-token", "authentication": {"scheme": "Bearer", "credentials": "my-word"}}
        task = self.good("SendMessage", dict(self.says("go"), configuration={"taskPushNotificationConfig": config}))["task"]
        headers, body = told.next()
        self.assertEqual((headers["Content-Type"], headers["Authorization"], headers["X-A2A-Notification-Token"]),
                         ("application/a2a+json", "Bearer my-word", "my-token"))
        self.assertEqual((body["task"]["id"], body["task"]["status"]["state"], body["task"]["history"]), (task["id"], "TASK_STATE_INPUT_REQUIRED", []))
        listed = self.good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
        self.assertEqual(listed, {"configs": [{"taskId": task["id"], "id": task["id"], "url": told.url, "authentication": {"scheme": "Bearer"}}], "nextPageToken": ""})
        call = task["status"]["message"]["parts"][1]["data"]["waiting"][0]["call_id"]
        self.good("SendMessage", {"message": {"taskId": task["id"], "parts": [{"data": {"decision": "approve", "call_id": call}}]}})
        headers, body = told.next()
        self.assertEqual((body["task"]["status"]["state"], body["task"]["artifacts"][0]["parts"]), ("TASK_STATE_COMPLETED", [{"text": "One."}]))
        # What ended the task was taken: there is no hook any more, and the next task of the context has none.
        self.wait_for(lambda: not self.good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"])
        self.assertTrue(told.got.empty())

    def test_with_a_message_that_is_refused(self):
        """It takes no hook that is there, and leaves none that was not."""
        self.begin(shell("echo one"), [{"text": "One."}], agent="approve: [shell]\n")
        told = self.told()
        asked = lambda name: {"configuration": {"taskPushNotificationConfig": {"url": told.url, "id": name}}}
        task = self.good("SendMessage", dict(self.says("go"), **asked("mine")))["task"]
        told.next()
        for name in ("mine", "other"):
            self.bad(-32004, "SendMessage", dict(self.says("yes", taskId=task["id"]), **asked(name)))
        self.assertEqual([c["id"] for c in self.good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]], ["mine"])
        self.good("CancelTask", {"id": task["id"]})
        self.assertEqual(told.next()[1]["task"]["status"]["state"], "TASK_STATE_CANCELED")

    def test_by_its_own_methods(self):
        self.begin(shell("sleep 60"), [{"text": "x"}])
        told = self.told()
        task = self.good("SendMessage", dict(self.says("go"), configuration={"returnImmediately": True}))["task"]
        new = {"taskId": task["id"], "id": "mine", "url": told.url, "token": "my-token"}
        self.assertEqual(self.good("CreateTaskPushNotificationConfig", new), new)
        self.good("CreateTaskPushNotificationConfig", dict(new, id="other"))
        bare = {k: v for k, v in new.items() if k != "token"}
        self.assertEqual(self.good("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "mine"}), bare)
        base = "/a2a/worker/tasks/%s/pushNotificationConfigs" % task["id"]
        self.assertEqual(self.call("GET", base + "/mine").json(), bare)
        self.assertEqual(sorted(c["id"] for c in self.call("GET", base).json()["configs"]), ["mine", "other"])
        deleted = self.call("DELETE", base + "/other")
        self.assertEqual((deleted.status, deleted.json()), (200, {}), "google.protobuf.Empty, which a2a-sdk for Python reads as JSON")
        self.assertEqual(self.call("DELETE", base + "/other").status, 404)
        made = self.call("POST", base, {"url": told.url, "id": "third"})
        self.assertEqual((made.status, made.json()["id"], made.json()["taskId"]), (200, "third", task["id"]))
        old = self.good("tasks/pushNotificationConfig/get", {"id": task["id"], "pushNotificationConfigId": "third"})
        self.assertEqual(old, {"taskId": task["id"], "pushNotificationConfig": {"id": "third", "url": told.url}})
        self.assertIsNone(self.good("tasks/pushNotificationConfig/delete", {"id": task["id"], "pushNotificationConfigId": "third"}))
        self.good("tasks/pushNotificationConfig/set", {"taskId": task["id"], "pushNotificationConfig": {
            "id": "old", "url": told.url, "authentication": {"schemes": ["Basic"], "credentials": "my-word"}}})
        for who, code in (("bob", -32001), ("reader", -32004)):
            self.bad(code, "CreateTaskPushNotificationConfig", dict(new, id="theirs"), who=who)
        self.bad(-32001, "ListTaskPushNotificationConfigs", {"taskId": task["id"]}, who="bob")
        for wrong in ({"url": "ftp://example.org/"}, {"url": "http://a:b@example.org/"}, {"url": ""}, {"id": "a/b"}, {"token": "a\r\nb: c"}, {"token": "x" * 17000}):
            self.bad(-32602, "CreateTaskPushNotificationConfig", dict(new, **wrong))
        self.good("CancelTask", {"id": task["id"]})
        got = {h.get("X-A2A-Notification-Token") or h["Authorization"]: (h["Content-Type"], b) for h, b in (told.next(), told.next())}
        self.assertEqual(sorted(got), ["Basic my-word", "my-token"])
        self.assertEqual(got["my-token"][1]["task"]["status"]["state"], "TASK_STATE_CANCELED")
        self.assertEqual((got["Basic my-word"][0], got["Basic my-word"][1]["kind"], got["Basic my-word"][1]["status"]["state"]), ("application/json", "task", "canceled"))

    def test_a_kill_loses_nothing(self):
        """And while one that was not taken waits for its next try, another user has as many hooks as he may."""
        self.begin(*2 * [shell("sleep 60")])
        told = self.told()
        task = self.good("SendMessage", dict(self.says("go"), configuration={"returnImmediately": True}))["task"]
        told.stop()
        self.good("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": told.url, "token": "my-token"})
        self.good("CancelTask", {"id": task["id"]})
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        again = self.told(500, 200, port=told.port)
        self.again()
        first, body = again.next()
        self.how_many("bob")
        second, _ = again.next()
        self.assertEqual((body["task"]["id"], body["task"]["status"]["state"]), (task["id"], "TASK_STATE_CANCELED"))
        self.assertEqual(first["webhook-id"], second["webhook-id"])
        self.wait_for(lambda: not self.good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"])

    def test_a_task_that_is_over(self):
        self.begin([{"text": "\1" * 180000}], [{"text": "Two."}])  # each is \\u0001 in JSON
        told = self.told()
        task = self.good("SendMessage", self.says("go"))["task"]
        self.good("SendMessage", self.says("more", contextId=task["contextId"]))
        self.good("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": told.url})
        body = told.next()[1]["task"]
        self.assertEqual((body["id"], body["status"]["state"], "artifacts" in body), (task["id"], "TASK_STATE_COMPLETED", False))  # TH_LETTER_SIZE_MAX

    def test_no_private_address(self):
        self.allow(False)
        self.begin([{"text": "One."}])
        told = self.told()
        task = self.good("SendMessage", dict(self.says("go"), configuration={"taskPushNotificationConfig": {"url": told.url}}))["task"]
        self.wait_for(lambda: "client_hooks_private" in (self.folder / "journal").read_text())
        self.assertTrue(told.got.empty())
        self.assertEqual(len(self.good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]), 1)
        self.assertEqual(self.call("DELETE", "/api/sessions/" + task["contextId"]).status, 204)
        self.bad(-32001, "ListTaskPushNotificationConfigs", {"taskId": task["id"]})
        saved = (self.folder / "state" / "thole" / "webhooks.jsonl").read_text
        self.wait_for(lambda: told.url not in saved())

    def how_many(self, who):
        def good(*args):
            return self.good(*args, who=who)

        task = good("SendMessage", dict(self.says("go"), configuration={"returnImmediately": True}))["task"]
        new = {"taskId": task["id"], "url": "https://example.org/"}
        for i in range(128):  # TH_CLIENT_HOOKS_USER_MAX
            good("CreateTaskPushNotificationConfig", dict(new, id=str(i)))
        self.assertIn("128", self.bad(-32602, "CreateTaskPushNotificationConfig", dict(new, id="128"), who=who))
        good("CreateTaskPushNotificationConfig", dict(new, id="0", url="https://example.org/other"))
        good("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "5"})
        good("CreateTaskPushNotificationConfig", dict(new, id="128"))
        full = dict(self.says("x"), configuration={"taskPushNotificationConfig": {"url": "https://example.org/"}})
        self.assertIn("128", self.bad(-32602, "SendMessage", full, who=who))
        self.assertEqual(good("ListTasks", {})["totalSize"], 1)  # nothing was begun
        for config in good("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]:
            good("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": config["id"]})
        good("CancelTask", {"id": task["id"]})


if __name__ == "__main__":
    house.main()
