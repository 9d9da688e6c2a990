# SPDX-License-Identifier: Apache-2.0
"""Sessions deleted from the command line and over HTTP, and what they used."""

import datetime
import json
import os
import pathlib
import signal
import time
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
        self.assertRegex(self.good("usage", "--by", "user").out, "local .* not known\n")
        self.bad(2, "a day, such as", "usage", "--from", "yesterday")
        self.bad(2, "takes one session", "delete", "a", "b")
        # The name is free, and its executor knows nothing of who had it.
        self.standin.end()
        self.standin.record.unlink()
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
        self.assertEqual(self.good("sessions", "--agent", created[0]["agent"], "--names", "-n", "1").out, "three\n")
        self.assertEqual(self.good("sessions", "--agent", "nobody").err, "thole: no such session in this log\n")
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
        for user in ("bob", "*"):
            refused = self.call("GET", "/api/sessions?user=" + user)
            self.assertEqual((refused.status, refused.json()["error"]["code"]), (403, "scope"))
        def listed(query, who):
            return [(s["user"], s["session_id"]) for s in self.good_call("GET", "/api/sessions?order=created" + query, who=who)["sessions"]]
        self.assertEqual([listed("&user=alice", "alice"), listed("", "boss")], [[("alice", "mine")], []])
        self.assertEqual([listed("&user=bob", "boss"), listed("&user=*", "boss")],
                         [[("bob", "theirs")], [("bob", "theirs"), ("alice", "mine")]])
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

    def executors(self):
        """Processes of this test's own that are executors."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                own = str(self.folder).encode() in (folder / "environ").read_bytes()
            except OSError:
                continue
            if own and b"exec" in words:
                found.append(int(folder.name))
        return found

    def test_an_executor_that_does_not_end(self):
        """Nobody waits for it: it is held while its session is deleted, and the server answers."""
        (self.work / "agents").mkdir()
        (self.work / "agents" / "default.yaml").write_text("name: default\ntools: [shell]\n")
        self.serve([shell("echo made")], say("Done."))
        self.serve_http("--agents", self.work / "agents")
        self.good_call("POST", "/api/sessions", {"id": "one", "message": "Go."}, status=201)
        self.assertEqual(self.rested("one")[-1][1], "final")
        executor, = self.executors()
        os.kill(executor, signal.SIGSTOP)
        try:
            self.assertEqual(self.call("DELETE", "/api/sessions/one").status, 204)
            self.assertEqual(self.call("GET", "/api/sessions/one").status, 404)
            self.assertEqual(self.executors(), [executor])
        finally:
            os.kill(executor, signal.SIGCONT)
        self.end_http()  # waits until it has said goodbye
        self.wait_for(lambda: self.executors() == [])

    def test_described_anew(self):
        self.serve(say("One."), say("Two."))
        self.serve_http()
        for name, words in (("one", "x" * 90 + " the invoice of May"), ("two", "Other")):
            self.good_call("POST", "/api/sessions", {"id": name, "message": words, "metadata": {"team": "red"}}, status=201)
            self.rested(name)
        found = lambda query: [r["session_id"] for r in self.good_call("GET", "/api/sessions?order=created&" + query)["sessions"]]
        self.assertEqual(found("text=INVOICE"), ["one"])
        self.assertEqual(found("title=invoice"), [])
        self.assertEqual((found("agent=default"), found("agent=defaul"), found("agent=default&text=invoice")), (["two", "one"], [], ["one"]))
        self.assertEqual(self.good_call("GET", "/api/sessions?text=invoice", who="bob")["sessions"], [])
        row = self.good_call("PATCH", "/api/sessions/one", {"title": "Renamed", "metadata": {"team": "blue"}})
        self.assertEqual((row["title"], row["metadata"]), ("Renamed", {"team": "blue"}))
        self.assertEqual(found("metadata=team%3Dblue"), ["one"])
        self.assertEqual(found("text=invoice"), ["one"])
        row = self.good_call("PATCH", "/api/sessions/one", {"title": "Once more"})
        self.assertEqual((row["title"], row["metadata"], row["state"]), ("Once more", {"team": "blue"}, "finished"))
        events = [e for e in self.good_call("GET", "/api/sessions/one/events")["events"] if e["kind"] == "session_changed"]
        self.assertEqual([e["data"] for e in events],
                         [{"title": "Renamed", "metadata": {"team": "blue"}, "by": "alice"}, {"title": "Once more", "by": "alice"}])
        for body in ({}, {"title": "two\nlines"}, {"title": "x" * 81}, {"metadata": []}, {"metadata": {"thole_response": {}}},
                     {"metadata": {"delegated_by": {}}}, {"name": "x"}):
            self.assertEqual(self.call("PATCH", "/api/sessions/one", body).status, 400, body)
        self.assertEqual(self.call("PATCH", "/api/sessions/one", {"title": "x"}, who="bob").status, 404)
        self.assertEqual(self.call("PATCH", "/api/sessions/one", {"title": "x"}, who="reader").status, 403)
        self.end_http()
        self.assertIn("whole: 2 sessions", self.good("log", "--verify").out)
        self.assertEqual(self.good("sessions", "--text", "invoice", "--names").out, "one\n")
        self.assertIn("Once more", self.good("log", "one").out)
        lines = self.good("export", "one").out
        self.good("import", "--store", "sqlite:%s" % (self.folder / "other.db"), stdin=lines)
        other = json.loads(self.good("sessions", "--json", "--store", "sqlite:%s" % (self.folder / "other.db")).out)
        self.assertEqual((other["title"], other["metadata"]), ("Once more", {"team": "blue"}))
        self.assertIn("whole: 1 session", self.good("log", "--verify", "--store", "sqlite:%s" % (self.folder / "other.db")).out)

    def sessions(self):
        return [r["session_id"] for r in self.good_call("GET", "/api/sessions?order=created")["sessions"]]

    def until_gone(self):
        for _ in range(house.SECONDS * 20):
            if not self.sessions():
                return
            time.sleep(0.05)
        self.fail("a session is still there")

    def test_responses(self):
        self.serve_rules([{"parts": [{"text": "Yes."}]}])
        self.serve_http()
        ask = lambda **more: self.good_call("POST", "/v1/responses", dict({"model": "default", "input": "go"}, **more))
        one = ask()
        two = ask(previous_response_id=one["id"])
        self.assertEqual(len(self.sessions()), 1)
        self.assertEqual(self.call("DELETE", "/v1/responses/" + one["id"], who="bob").status, 404)
        self.assertEqual(self.good_call("DELETE", "/v1/responses/" + one["id"]),
                         {"id": one["id"], "object": "response", "deleted": True})
        self.assertEqual(self.call("GET", "/v1/responses/" + one["id"]).status, 404)
        self.assertEqual(self.call("DELETE", "/v1/responses/" + one["id"]).status, 404)
        self.assertEqual(self.good_call("GET", "/v1/responses/" + two["id"])["status"], "completed")
        # One that is all of its session takes that with it.
        three = ask()
        self.assertEqual(len(self.sessions()), 2)
        self.good_call("DELETE", "/v1/responses/" + three["id"])
        self.assertEqual(len(self.sessions()), 1)
        self.assertEqual(self.call("DELETE", "/api/sessions/" + self.sessions()[0]).status, 204)
        # Not kept: gone when it is over, and what it used is counted.
        before = self.good_call("GET", "/api/usage")["usage"][-1]["sessions"]
        four = ask(store=False)
        self.assertEqual(self.call("GET", "/v1/responses/" + four["id"]).status, 404)
        self.until_gone()
        self.assertEqual(self.good_call("GET", "/api/usage")["usage"][-1]["sessions"], before + 1)


if __name__ == "__main__":
    unittest.main()
