# SPDX-License-Identifier: Apache-2.0
"""Sessions deleted from the command line and over HTTP, and what they used."""

import datetime
import json
import unittest

import house
import serving


def say(text):
    return [{"text": text}]


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Delete(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"

    def used(self, *args):
        return [json.loads(line) for line in self.good("usage", "--json", *args).out.splitlines()]

    def test_gone_and_counted(self):
        self.serve([shell("echo made > made")], say("One."), say("Two."))
        self.good("run", "-s", "one", "Go.")
        self.good("run", "-s", "two", "Go on.")
        before = self.used()
        today = datetime.datetime.now(datetime.timezone.utc).date()
        self.assertIn(datetime.date.fromisoformat(before[-1]["day"]), (today, today - datetime.timedelta(days=1)))
        self.assertEqual((sum(d["sessions"] for d in before), sum(d["turns"] for d in before)), (2, 4))
        rows = [json.loads(line) for line in self.good("sessions", "--json").out.splitlines()]
        for name in ("tokens_in", "tokens_out"):
            self.assertEqual(sum(d[name] for d in before), sum(r[name] for r in rows))
        self.good("fork", "one@2", "branch")
        self.bad(1, "session branch, which was forked from it", "delete", "one")
        self.good("delete", "branch")
        self.assertEqual(self.good("delete", "one").out, "")
        self.assertEqual(self.good("sessions", "--names").out, "two\n")
        self.bad(1, "no session", "log", "one")
        self.bad(1, "no session", "delete", "one")
        self.assertIn("whole: 1 session", self.good("log", "--verify").out)
        after = self.used()
        self.assertEqual(sum(d["sessions"] for d in after), 3)
        self.assertEqual([d["tokens_in"] for d in after], [d["tokens_in"] for d in before])
        self.assertEqual([u["session_id"] for u in self.used("--by", "session")], ["two"])
        self.assertIn("made\n", (self.work / "made").read_text())
        self.assertIn("local", self.good("usage", "--by", "user").out)
        self.bad(2, "a day, such as", "usage", "--from", "yesterday")
        self.bad(2, "takes one session", "delete", "a", "b")
        # The name is free, and its executor knows nothing of who had it.
        self.serve([shell("cat made")], say("Again."))
        self.assertIn("Again.", self.good("run", "-s", "one", "Go.").out)

    def test_a_page_by_its_filters(self):
        self.serve(say("1."), say("2."), say("3."))
        for name in ("one", "two", "three"):
            self.good("run", "-s", name, "Task %s: the words." % name)
        created = [json.loads(line) for line in self.good("sessions", "--order", "created", "--json").out.splitlines()]
        self.assertEqual([r["session"] for r in created], ["three", "two", "one"])
        behind = self.good("sessions", "--order", "created", "--after", created[0]["cursor"], "--names").out
        self.assertEqual(behind.split(), ["two", "one"])
        self.assertEqual(self.good("sessions", "--title", "TASK TWO", "--names").out, "two\n")
        self.assertEqual(self.good("sessions", "--user", "local", "--names", "-n", "1").out, "three\n")
        self.assertEqual(self.good("sessions", "--user", "anna", "--names").out, "")
        self.assertEqual(self.good("sessions", "--metadata", "ticket=7", "--names").out, "")
        self.bad(2, "KEY=VALUE", "sessions", "--metadata", "ticket")
        self.bad(2, "updated or created", "sessions", "--order", "age")
        self.bad(2, "another order", "sessions", "--order", "updated", "--after", created[0]["cursor"])


class Served(serving.Served):
    def rested(self, name, who="alice"):
        connection, response = self.stream("/api/sessions/%s/events?until=rest" % name, who=who)
        events = list(serving.frames(response))
        connection.close()
        return events

    def test_over_http(self):
        self.serve(say("Mine."), say("Theirs."), say("New."))
        self.serve_http("--workspaces", self.work)
        for name, who in (("mine", "alice"), ("theirs", "bob")):
            self.good_call("POST", "/api/sessions", {"id": name, "message": "Go."}, status=201, who=who)
            self.rested(name, who)
        day = self.good_call("GET", "/api/usage")
        self.assertEqual((day["by"], [(d["sessions"], d["turns"]) for d in day["usage"]]), ("day", [(1, 1)]))
        self.assertEqual(self.call("GET", "/api/usage?user=bob").status, 403)
        self.assertEqual(self.call("GET", "/api/usage?user=*").status, 403)
        everybody = self.good_call("GET", "/api/usage?by=user&user=*", who="boss")["usage"]
        self.assertEqual([u["user"] for u in everybody], ["alice", "bob"])
        self.assertEqual(self.call("GET", "/api/usage?by=week").status, 400)
        self.assertEqual(self.call("DELETE", "/api/sessions/theirs").status, 404)
        self.assertEqual(self.call("DELETE", "/api/sessions/mine", who="reader").status, 403)
        connection, response = self.stream("/api/sessions/mine/events")
        frames = serving.frames(response)
        self.assertEqual(next(frames)[1], "session_created")
        (self.work / "mine" / "kept").write_text("x")
        answer = self.call("DELETE", "/api/sessions/mine")
        self.assertEqual((answer.status, answer.body), (204, b""))
        list(frames)  # the stream of one that is deleted ends
        connection.close()
        self.assertFalse((self.work / "mine").exists())
        self.assertEqual(self.call("GET", "/api/sessions/mine").status, 404)
        self.assertEqual(self.call("DELETE", "/api/sessions/mine").status, 404)
        self.assertEqual(self.good_call("GET", "/api/usage"), day)
        self.good_call("POST", "/api/sessions", {"id": "mine", "message": "Go."}, status=201)
        self.assertEqual(self.rested("mine")[-1][1], "final")
        self.good_call("POST", "/api/sessions/mine/fork", {"id": "branch"}, status=201)
        answer = self.call("DELETE", "/api/sessions/mine")
        self.assertEqual(answer.status, 409, answer)
        self.assertIn("branch, which was forked from it", answer.json()["error"]["message"])
        self.assertEqual(self.call("DELETE", "/api/sessions/branch").status, 204)
        self.assertEqual(self.call("DELETE", "/api/sessions/mine").status, 204)


if __name__ == "__main__":
    unittest.main()
