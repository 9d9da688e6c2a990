# SPDX-License-Identifier: Apache-2.0
"""net_ask: a connection to a host that is not listed waits until a person allows or refuses the host; judged by the
servers of an internet that the test makes itself, and by the log."""

import internet

internet.enter()

import json
import signal
import subprocess
import time

import house
import serving


def bash(command, **more):
    return {"function_call": {"name": "bash", "arguments": dict(command=command, **more)}}


TWICE = "curl -sS http://other.example/a; curl -sS http://other.example/b"


class AskHost(serving.Served):
    def setUp(self):
        super().setUp()
        self.internet, self.names = internet.Server(), internet.Names()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\n")
        agents = self.folder / "agents"
        agents.mkdir()
        self.agent = agents / "a.yaml"
        self.write("net: [good.example, 'GET api.good.example/pool/**']\nnet_ask: true\n")

    def tearDown(self):
        self.internet.end()
        self.names.end()
        super().tearDown()

    def write(self, text):
        self.agent.write_text("name: a\ntools: [bash]\n" + text)

    def begin(self, *turns):
        self.serve(*turns)
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)
        self.good_call("POST", "/api/sessions", {"agent": "a", "message": "go", "id": "s"}, status=201)

    def waits(self):
        found = []
        self.wait_for(lambda: found.extend(self.good_call("GET", "/api/waiting")["waiting"]) or found)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def say(self, word, **body):
        return self.good_call("POST", "/api/sessions/s/" + word, body)

    def rest(self, state="finished"):
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/s")["state"] == state)

    def message(self, text):
        self.good_call("POST", "/api/sessions/s/messages", {"text": text}, status=202)

    def log(self, kind):
        return [e for e in self.good_call("GET", "/api/sessions/s/events?limit=1000")["events"] if e["kind"] == kind]

    def outputs(self):
        return [e["data"]["output"] for e in self.log("outcome")]

    def test_allowed_for_the_task_and_for_good(self):
        self.begin([bash(TWICE)], [bash("curl -sS http://other.example/c")], [{"text": "one"}],
                   [bash("curl -sS http://other.example/d")], [{"text": "two"}],
                   [bash("curl -sS http://other.example/e")], [{"text": "three"}])
        w = self.waits()
        self.assertEqual((w["host"], w["port"], w["tool"], w["word"]), ("other.example", 80, "bash", "approve"))
        self.assertEqual(w["arguments"]["command"], TWICE)
        self.assertIn("other.example:80, which net does not list", w["reason"])
        self.assertEqual(w["expires_ms"] - w["asked_ms"], 600000)  # TH_EGRESS_ASK_MS
        self.assertEqual(self.internet.asked, [])
        self.assertEqual(self.call("POST", "/api/sessions/s/approve", {"message": "x"}, who="runner").status, 403)
        self.say("approve", call_id=w["call_id"])
        self.rest()
        self.assertEqual(self.outputs()[0].count("this is other.example"), 2)
        self.message("once more")
        self.say("approve", call_id=self.waits()["call_id"], always=True)
        self.wait_for(lambda: len(self.log("final")) == 2)
        self.message("and again")
        self.wait_for(lambda: len(self.log("final")) == 3)
        self.assertEqual([a["path"] for a in self.internet.asked], ["/a", "/b", "/c", "/d", "/e"])
        decided = [e["data"] for e in self.log("approval_decided")]
        self.assertEqual([(d["host"], d["port"], d["approve"], d.get("always", False), d["by"]) for d in decided],
                         [("other.example", 80, True, False, "alice"), ("other.example", 80, True, True, "alice")])
        self.assertEqual(len(self.log("approval_requested")), 2)
        rows = [r for e in self.log("outcome") for r in e["data"]["evidence"]["network"]]
        self.assertEqual({(r["host"], r["decision"]) for r in rows}, {("other.example", "allowed")})

    def test_more_hosts_than_are_asked_about(self):
        """TH_EGRESS_ASKS_MAX: that many wait, and the next one is refused at once."""
        self.begin([bash("for p in $(seq 1 17); do (curl -sS http://other.example:$p > $p.txt 2>&1; touch $p.done) & done; wait")], [{"text": "so be it"}])
        self.wait_for(lambda: list(self.work.rglob("*.done")))
        ended = [p.with_suffix(".txt").read_text() for p in self.work.rglob("*.done")]
        self.assertEqual(len(ended), 1)
        self.assertIn("is not on the list of this agent (net), and too many hosts are asked for", ended[0])
        self.assertEqual(len(list(self.work.rglob("*.txt"))), 17)
        asked = set()
        for _ in range(16):
            w = self.waits()
            asked.add(w["port"])
            self.say("reject", call_id=w["call_id"])
        self.rest()
        self.assertEqual(len(asked), 16)
        self.assertEqual(len(list(self.work.rglob("*.done"))), 17)

    def test_refused(self):
        """The program is told, a second try is not asked about, and the next host is another question."""
        self.begin([bash("%s; curl -sS http://good.example/; curl -sS http://false.example/" % TWICE)], [{"text": "so be it"}])
        first = self.waits()
        self.say("reject", call_id=first["call_id"])
        second = self.waits()
        self.assertEqual(second["host"], "false.example")
        self.assertEqual(self.call("POST", "/api/sessions/s/approve", {"call_id": first["call_id"]}).status, 404,
                         "a word about the first host is none about the second")
        self.say("reject", call_id=second["call_id"])
        self.rest()
        out = self.outputs()[0]
        self.assertEqual(out.count("other.example:80 is not on the list of this agent (net), and nobody allowed it"), 2, out)
        self.assertIn("this is good.example", out)
        self.assertEqual([a["host"] for a in self.internet.asked], ["good.example"])

    def test_hung_up(self):
        """A program that waits no longer takes its question back, and may ask again in the same call."""
        self.begin([bash("curl -sS -m 2 http://other.example/a; echo then; curl -sS http://other.example/b")], [{"text": "done"}])
        first = self.waits()
        self.wait_for(lambda: len(self.log("approval_requested")) == 2)
        (gone,) = self.log("approval_decided")
        self.assertEqual({k: gone["data"].get(k) for k in ("host", "approve", "expired", "withdrawn")},
                         {"host": "other.example", "approve": False, "expired": True, "withdrawn": True})
        second = self.waits()
        self.assertEqual((first["call_id"].split("#")[0], first["host"]), (second["call_id"].split("#")[0], second["host"]))
        self.say("approve", call_id=second["call_id"])
        self.rest()
        self.assertIn("then\\nthis is other.example", json.dumps(self.outputs()[0]))
        self.assertEqual([a["path"] for a in self.internet.asked], ["/b"])
        rows = self.log("outcome")[0]["data"]["evidence"]["network"]
        self.assertIn(("refused", "it hung up before anybody decided"), [(r["decision"], r.get("why")) for r in rows])

    def test_the_call_ends_while_others_are_asked_for(self):
        """What waits behind the first host is not asked for in the name of the call that has just ended."""
        # The second begins when the first is asked for, and the call's own when the second has sent its request.
        self.begin([bash("mkfifo asked sent; curl -sS http://other.example/1 & read x <asked; "
                         "curl -sSv http://false.example/2 2>&1 | while read -r line; do echo \"$line\"; "
                         "case $line in '> GET '*) echo >sent;; esac; done & read x <sent; curl -sS -m 2 http://third.example/3")],
                   [bash("wait; echo still here")], [{"text": "good"}])
        self.assertEqual(self.waits()["host"], "other.example")
        (asked,) = self.work.glob("**/asked")
        asked.write_text("\n")
        self.rest()
        out = "".join(self.outputs())
        self.assertIn("no call is under way that could ask for it", out)
        self.assertNotIn("nobody allowed it", out)
        self.assertEqual((len(self.log("approval_requested")), self.internet.asked), (1, []))

    def test_never_asked(self):
        """The way inside, and what an entry has decided about."""
        self.begin([bash("curl -sS http://169.254.169.254/; curl -sS http://10.0.0.5/; curl -sS 'http://[::1]/'; "
                         "curl -sS http://127.0.0.1:1/ --noproxy ''; curl -sS http://api.good.example/other")],
                   [{"text": "none"}])
        self.rest()
        self.assertEqual((self.log("approval_requested"), self.internet.asked), ([], []))

    def test_a_name_that_points_inside(self):
        """Who allows a name has not allowed what it leads to."""
        self.begin([bash("curl -sS http://metadata.example/")], [{"text": "none"}])
        self.say("approve", call_id=self.waits()["call_id"])
        self.rest()
        self.assertIn("may not be reached", self.outputs()[0])
        self.assertEqual(self.internet.asked, [])

    def test_the_clock_stands_still(self):
        self.write("net: [good.example]\nnet_ask: true\nlimits: {command_seconds: 3}\n")
        self.begin([bash("curl -sS http://other.example/slow", timeout=3)], [{"text": "good"}])
        w = self.waits()
        time.sleep(3.5)  # more than the command may take
        self.say("approve", call_id=w["call_id"])
        self.rest()
        self.assertIn("this is other.example", self.outputs()[0])

    def test_the_clock_of_a_later_call_stands_still(self):
        """Of one that only goes on with a command."""
        self.begin([bash("read x; curl -sS http://other.example/slow", timeout=0.5)], [bash("go", is_input="true", timeout=3)],
                   [{"text": "good"}])
        w = self.waits()
        time.sleep(3.5)  # more than that call may take
        self.say("approve", call_id=w["call_id"])
        self.rest()
        self.assertIn("this is other.example", self.outputs()[1])

    def test_the_server_is_killed(self):
        """The connection is refused; the word that comes while nobody runs holds for the next try."""
        self.begin([bash("curl -sS http://other.example/1; echo over > over")], [bash("curl -sS http://other.example/2")],
                   [{"text": "good"}])
        self.waits()
        self.end_http(signal.SIGKILL)
        self.wait_for(lambda: list(self.work.glob("**/over")))
        self.good("approve", "s")
        self.good("resume", "s")
        self.assertEqual([a["path"] for a in self.internet.asked], ["/2"])
        out = [e["data"]["output"] for e in self.events("s") if e["kind"] == "outcome"]
        self.assertIn("who could decide is gone", out[0])
        self.assertIn("this is other.example", out[1])
        self.assertEqual(self.kinds("s").count("approval_requested"), 1)

    def test_at_the_command_line(self):
        """A run that nobody watches ends and says what it waits for; a list on the command line asks for nothing."""
        lines = 'bash {"command": "curl -sS http://other.example/1"}\n'
        ended = self.good("run", "-m", "human/human", "-a", self.agent, "-s", "c", "go", stdin=lines, code=3)
        self.assertIn("wants to reach other.example:80", ended.out + ended.err)
        self.good("reject", "c")
        self.good("resume", "c", stdin=lines + "done x\n")
        self.assertEqual(self.internet.asked, [])
        self.assertEqual(self.kinds("c").count("approval_requested"), 1)
        self.good("run", "-m", "human/human", "-a", self.agent, "-s", "n", "--net", "good.example", "go", stdin=lines + "done x\n")

    def test_new_hosts_after_untrusted_bytes(self):
        """Rule of two: what was reached before is reached; a host that is listed and new is asked about."""
        self.write("net: ['*.example']\nuntrusted: rule_of_two\n")
        self.begin([bash("curl -sS http://good.example/1")], [bash("curl -sS http://good.example/2; curl -sS http://other.example/out")],
                   [bash("curl -sS http://other.example/again; curl -sS http://169.254.169.254/")], [{"text": "good"}])
        w = self.waits()
        self.assertEqual((w["host"], w["port"]), ("other.example", 80))
        tainted = self.log("outcome")[0]
        self.assertEqual(tainted["data"]["origins"], ["web", "workspace"])
        self.assertIn("since untrusted bytes (web, event %d) are in the context" % tainted["seq"], w["reason"])
        self.assertEqual([a["path"] for a in self.internet.asked], ["/1", "/2"])
        self.say("reject", call_id=w["call_id"])
        self.rest()
        self.assertEqual([a["path"] for a in self.internet.asked], ["/1", "/2"])
        out = self.outputs()
        self.assertIn("this is good.example", out[1])
        for text in out[1:]:
            self.assertIn("other.example:80 may not be reached now: nobody allowed it", text)
        self.assertIn("169.254.169.254:80 is not on the list of this agent (net)", out[2])
        self.assertEqual(len(self.log("approval_requested")), 1)

    def test_reached_is_not_allowed_for_good(self):
        """A word for one task is none for the next, also where it is noted what was reached."""
        self.write("net: [good.example]\nnet_ask: true\nuntrusted: {origins: [mcp], ask: [host]}\n")
        self.begin([bash("curl -sS http://other.example/1")], [{"text": "one"}],
                   [bash("curl -sS http://other.example/2")], [{"text": "two"}])
        self.say("approve", call_id=self.waits()["call_id"])
        self.rest()
        self.message("once more")
        self.say("reject", call_id=self.waits()["call_id"])
        self.wait_for(lambda: len(self.log("final")) == 2)
        self.assertEqual([a["path"] for a in self.internet.asked], ["/1"])

    def test_no_untrusted_bytes(self):
        """A session that has read nothing of others' is asked about nothing."""
        self.write("net: ['*.example']\nuntrusted: rule_of_two\n")
        self.begin([bash("echo x > f; cat f")], [bash("curl -sS http://good.example/1; curl -sS http://other.example/2")], [{"text": "x"}])
        self.rest()
        self.assertEqual([a["path"] for a in self.internet.asked], ["/1", "/2"])
        self.assertEqual([e["data"]["origins"] for e in self.log("outcome")], [["workspace"], ["web", "workspace"]])
        self.assertEqual(self.log("approval_requested"), [])

    def test_mistakes(self):
        self.write("net: host\nuntrusted: rule_of_two\n")
        self.bad(2, ["untrusted", "where net is host"], "run", "-m", "human/human", "-a", self.agent, "go")
        self.write("untrusted: {origins: [web, sky], ask: [host]}\n")
        self.bad(2, ["untrusted.origins[1]", "must be one of web"], "run", "-m", "human/human", "-a", self.agent, "go")
        self.write("net: host\nnet_ask: true\n")
        self.bad(2, ["net_ask", "list of hosts"], "run", "-m", "human/human", "-a", self.agent, "go")


if __name__ == "__main__":
    house.main()
