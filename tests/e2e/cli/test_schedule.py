# SPDX-License-Identifier: Apache-2.0
"""Sessions whose task begins later: in the store until then, seen, begun once by whoever is there, and cancelled."""

import concurrent.futures
import os
import signal
import time
import unittest

import house
import serving

MOST = 1000  # TH_SERVE_SCHEDULED_MAX


class Scheduled(serving.Served):
    def begin(self, name, at, status=201, **more):
        return self.patient_call("POST", "/api/sessions", {"id": name, "message": "Go.", "start_at": at, **more})

    def made(self, name, at, **more):
        answer = self.begin(name, at, **more)
        self.assertEqual(answer.status, 201, answer)
        return answer.json()

    def state(self, name):
        return self.good_call("GET", "/api/sessions/" + name)["state"]

    def kinds(self, name):
        return [e["kind"] for e in self.log(name)]

    def log(self, name):
        return self.good_call("GET", "/api/sessions/%s/events?limit=200" % name)["events"]

    def test_begun_when_its_time_comes(self):
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        soon, late = self.made("soon", 2), self.made("late", "2033-01-02T03:04:05+01:00")
        self.assertEqual((late["state"], late["start_ms"], late["title"]), ("scheduled", 1988244245000, "Go."))
        self.assertAlmostEqual(soon["start_ms"], soon["created_ms"] + 2000, delta=1000)
        self.wait_for(lambda: self.state("soon") == "finished")
        log = self.log("soon")
        self.assertEqual([e["kind"] for e in log], ["session_created", "state_changed", "message", "state_changed", "model_requested", "model_answered", "final"])
        self.assertEqual([e["data"]["to"] for e in log if e["kind"] == "state_changed"], ["scheduled", "running"])
        self.assertTrue(log[1]["data"]["reason"].startswith("it begins at 20"), log[1])
        self.assertGreaterEqual(log[3]["ts_ms"], soon["start_ms"])
        self.assertNotIn("start_ms", self.good_call("GET", "/api/sessions/soon"))
        # What waits is a list of its own; what is over is not.
        listed = self.good_call("GET", "/api/sessions?state=scheduled")["sessions"]
        self.assertEqual([(s["session_id"], s["start_ms"]) for s in listed], [("late", late["start_ms"])])
        self.assertIn("scheduled", self.good("sessions", "--store", self.store_url()).out)
        # What is said meanwhile is read then; it may begin earlier, and never.  Nobody has it open in a new server.
        self.assertEqual(self.end_http(), 0)
        self.serve_http()
        self.good_call("POST", "/api/sessions/late/messages", {"text": "And this."}, 202)
        self.assertEqual((self.state("late"), self.kinds("late").count("message")), ("scheduled", 2))
        self.good_call("POST", "/api/sessions/late/resume", {}, 202)
        self.wait_for(lambda: self.state("late") == "finished")
        self.made("never", 3600)
        self.good_call("POST", "/api/sessions/never/cancel", {}, 202)
        self.wait_for(lambda: self.state("never") == "stopped")
        self.assertNotIn("model_requested", self.kinds("never"))
        # It is not begun a second time; a fork from before its beginning is another one, whose time has come.
        self.good_call("POST", "/api/sessions/soon/fork", {"seq": 3, "id": "fork"}, 201)
        self.wait_for(lambda: self.state("fork") == "finished")
        self.assertEqual(self.kinds("soon").count("model_requested"), 1)

    def test_by_the_command_line(self):
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        self.env["THOLE_TOKEN"] = serving.TOKENS["alice"]
        at = ["--server", "http://127.0.0.1:%d" % self.port]
        name = self.good("run", *at, "--at", "2033-01-01T00:00:00Z", "Go.").out.strip()
        self.assertEqual(self.state(name), "scheduled")
        self.assertEqual(self.good("run", *at, "--at", "1", "-s", "named", "--json", "Go.").out, '{"session_id":"named"}\n')
        self.wait_for(lambda: self.state("named") == "finished")
        self.bad(2, "session named exists", "run", *at, "--at", "1", "-s", "named", "Go.")
        for wrong in ("soon", ""):
            self.bad(2, "--at: a time is 2026", "run", *at, "--at", wrong, "Go.")
        self.bad(2, "nobody is there to begin it", "run", "--at", "1", "Go.")
        self.assertIn(name, self.good("sessions", *at, "--state", "scheduled").out)
        self.assertIn("Done.", self.good("resume", name, *at).out)

    def test_the_priority_of_a_task(self):
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        self.env["THOLE_TOKEN"] = serving.TOKENS["alice"]
        at = ["--server", "http://127.0.0.1:%d" % self.port]
        self.assertIn("Done.", self.good("run", *at, "--priority", "low", "-s", "named", "Go.").out)
        name = self.good("run", *at, "--priority", "low", "--at", "2033-01-01T00:00:00Z", "Go.").out.strip()
        self.assertEqual([self.good_call("GET", "/api/sessions/" + n)["priority"] for n in ("named", name)], ["low", "low"])
        # A higher one than the user may have is refused, and nothing begins.
        self.bad(1, "priority", "run", *at, "--priority", "high", "-s", "other", "Go.")
        self.assertEqual(self.call("GET", "/api/sessions/other").status, 404)
        self.bad(2, "session named exists", "run", *at, "--priority", "low", "-s", "named", "Go.")
        self.bad(2, '--priority is low, normal or high, not "urgent"', "run", *at, "--priority", "urgent", "Go.")
        self.bad(2, "on this machine a task begins at once", "run", "--priority", "low", "Go.")

    def test_over_a_kill(self):
        """One whose time came while no server was there, and one whose time comes in the next one."""
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        past = self.made("past", 1)
        self.made("coming", 4)
        self.made("cancelled", 1)
        self.good_call("POST", "/api/sessions/cancelled/cancel", {}, 202)
        self.wait_for(lambda: self.state("cancelled") == "stopped")
        self.assertEqual(self.state("past"), "scheduled")
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.wait_for(lambda: time.time() * 1000 > past["start_ms"])
        self.serve_http()
        for name in ("past", "coming"):
            self.wait_for(lambda name=name: self.state(name) == "finished")
            self.assertEqual([self.kinds(name).count(kind) for kind in ("model_requested", "final")], [1, 1])
        self.assertEqual(self.state("cancelled"), "stopped")

    def test_the_time_of_a_task_over_a_kill(self):
        """limits.seconds: counted from the log, and looked at before each turn: what passes while no server is there counts."""
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "default.yaml").write_text("name: default\nmodel: gpt-5.4\ntools: [shell]\nlimits: {seconds: 2}\n")
        self.serve_rules([{"parts": [{"function_call": {"name": "shell", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}}]}])
        self.serve_http("--agents", agents, "--workspaces", self.work)
        made = self.good_call("POST", "/api/sessions", {"id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("one"))
        self.assertEqual(self.end_http(signal.SIGKILL), -signal.SIGKILL)
        self.wait_for(lambda: time.time() * 1000 > made["created_ms"] + 2500)
        self.serve_http("--agents", agents, "--workspaces", self.work)
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: self.state("one") == "limit")
        self.assertEqual(self.kinds("one").count("model_requested"), 1)

    def test_no_more_wait_than_may(self):
        """Those who ask at once see each other, though nothing of them is in the store yet."""
        (self.folder / "config" / "thole" / "config.yaml").write_text("serve: {sessions_per_user: 2}\n")
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        with concurrent.futures.ThreadPoolExecutor(16) as many:
            answers = [a.status for a in many.map(lambda i: self.begin("at-%d" % i, 3600), range(16))]
        self.assertEqual((answers.count(201), answers.count(429)), (2, 14))

    @unittest.skipUnless(os.environ.get("TH_TORTURE"), "a thousand sessions take 20 s; TH_TORTURE=1 makes them")
    def test_the_most_that_wait(self):
        """TH_SERVE_SCHEDULED_MAX, where no quota is less; another user's do not count."""
        self.leaves_executors = False
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        with concurrent.futures.ThreadPoolExecutor(8) as many:
            answers = [a.status for a in many.map(lambda i: self.begin("at-%d" % i, 36000), range(MOST))]
        self.assertEqual(set(answers), {201})
        refused = self.begin("more", 36000)
        self.assertEqual((refused.status, refused.json()["error"]["message"]), (429, "%d sessions of yours wait for their time already" % MOST))
        self.good_call("POST", "/api/sessions", {"id": "bobs", "message": "Go.", "start_at": 36000}, status=201, who="bob")
        self.good_call("POST", "/api/sessions/at-7/cancel", {}, status=202)
        self.wait_for(lambda: self.state("at-7") == "stopped")
        self.assertEqual(self.begin("more", 36000).status, 201)

    def test_what_is_no_time(self):
        (self.folder / "config" / "thole" / "config.yaml").write_text("serve: {sessions_per_user: 2}\n")
        self.serve_rules([{"parts": [{"text": "Done."}]}])
        self.serve_http()
        for at in ("tomorrow", "2026-02-30T00:00:00Z", -1, 1.5, 1e12, True, None, [], {}, "2033-01-01T00:00:00Z\0", "", "x" * 5000):
            if at is None:
                continue
            answer = self.begin("bad", at)
            self.assertEqual(answer.status, 400, (at, answer))
        answer = self.call("POST", "/api/sessions", {"id": "bad", "start_at": 5})
        self.assertEqual((answer.status, answer.json()["error"]["param"]), (400, "start_at"))
        for ours in ({"thole_start_ms": 1}, {"thole_keep": False}):
            answer = self.begin("bad", 5, metadata=ours)
            self.assertIn("begin with thole_", answer.json()["error"]["message"])
        answer = self.begin("bad", 5, metadata={"a": "\0"})
        self.assertIn("\\u0000", answer.json()["error"]["message"])
        self.assertEqual(self.call("GET", "/api/sessions/bad").status, 404)
        # What is past is at once, and no more wait than may run.
        self.made("past", "2020-01-01T00:00:00Z")
        self.wait_for(lambda: self.state("past") == "finished")
        self.made("one", 3600)
        self.made("two", 3600, metadata={"mine": 1})
        answer = self.begin("three", 3600)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (429, "scheduled"), answer)
        self.assertIn("Retry-After", answer.headers)
        # The time is not the caller's to change by the metadata, and stays when they change.
        changed = self.good_call("PATCH", "/api/sessions/two", {"metadata": {"other": 2}})
        self.assertEqual((changed["state"], changed["metadata"]["other"], changed["metadata"]["thole_start_ms"]), ("scheduled", 2, changed["start_ms"]))


if __name__ == "__main__":
    house.main()
