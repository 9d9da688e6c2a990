# SPDX-License-Identifier: Apache-2.0
"""Several servers on one database: requests reach the node that has the session, sessions and streams survive its end."""

import json
import os
import pathlib
import signal
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving
import websocket
from nodes import SECRET, TURNS, Follower, WithNodes
from on_postgres import say, shell
from test_terminal import View, bash, is_type

CLAIMS = int(os.environ.get("TH_CLAIMS", 200))


class Nodes(WithNodes):
    def test_requests_find_their_node(self):
        self.serve_steps("until [ -e go ]; do sleep 0.05; done; echo x >> made")
        first, second = self.node("n1"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("one"))
        # Through the other node: what it says of itself, a stream with what is not written down, a word to it.
        self.assertEqual(second.good("GET", "/api/sessions/one")["state"], "running")
        follower = Follower([second], "one")
        self.assertTrue(follower.begun.wait(house.SECONDS))
        second.good("POST", "/api/sessions/one/pause", {"reason": "wait"}, 202)
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: self.state("one") == "paused")
        second.good("POST", "/api/sessions/one/resume", {}, 202)
        follower.join(house.SECONDS)
        self.assertEqual(follower.seen, list(range(1, len(follower.seen) + 1)))
        self.assertEqual(self.postgres.sql("SELECT epoch FROM thole.sessions"), "1")  # nobody else ever had it
        metrics = second.call("GET", "/metrics", who="boss").body.decode()
        self.assertGreaterEqual(int(metrics.split("\nthole_fleet_forwarded_total ")[1].split()[0]), 3)
        self.wait_for(lambda: "\nthole_fleet_nodes 2\n" in second.call("GET", "/metrics", who="boss").body.decode())
        # What is another user's is not there, at any node.
        self.assertEqual(second.call("GET", "/api/sessions/one", who="bob").status, 404)
        # Who may say for whom he asks is a node alone.
        says = {"Thole-Node-User": "alice", "Thole-Node-Scopes": "read,run"}
        self.assertEqual(first.call("GET", "/api/sessions/one", who=SECRET, headers=says).status, 200)
        # One that was passed on is not passed on again.
        self.assertEqual(second.call("GET", "/api/sessions/one", who=SECRET, headers=says).status, 421)
        self.assertEqual(second.call("GET", "/api/sessions/one", who=SECRET).status, 401)
        self.assertEqual(second.call("GET", "/api/sessions/one", who=SECRET + "x", headers=says).status, 401)
        self.assertEqual(second.call("GET", "/api/sessions/one", who="bob", headers=says).status, 404)
        # The fleet, from outside.
        listed = [json.loads(line) for line in self.good("fleet", "--json").out.splitlines()]
        self.assertEqual([(n["name"], n["address"], n["draining"]) for n in listed],
                         [("n1", first.address, False), ("n2", second.address, False)])
        self.assertEqual(len(first.good("GET", "/api/fleet", who="boss")["nodes"]), 2)
        self.assertEqual(first.call("GET", "/api/fleet").status, 403)
        self.assertIn("n2", self.good("fleet").out)
        for node in (first, second):
            self.assertEqual(node.end(), 0)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.owners WHERE host <> ''"), "0")

    def test_sockets(self):
        """A WebSocket at a node that has not got the session: it goes through, both ways, with what the other one refuses."""
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [bash("X=agent; until [ -e go ]; do sleep 0.05; done")]}, {"parts": say("Done.")}])
        first, second = self.node("n1"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "sh", "id": "one", "message": "Go."}, 201)
        view = View(second, "one")
        view.until(is_type("terminal"))
        for who, status, more in (("bob", 404, {}), ("nobody", 401, {}),
                                  (SECRET, 421, {"headers": {"Thole-Node-User": "alice", "Thole-Node-Scopes": "read"}})):
            with self.assertRaises(websocket.Refused) as refused:
                View(second, "one", who, **more)
            self.assertEqual(refused.exception.status, status)
        view.socket.send({"type": "take"})
        view.until(is_type("control", mine=True, ready=False))
        (self.work / "one" / "go").write_text("")
        view.until(is_type("control", mine=True, ready=True))
        view.type("echo \"he sees $X\"; seq 300 | tr '\\n' ' '")
        view.until_text("he sees agent")
        view.socket.send({"type": "give", "note": "So it is."})
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertIn("\nthole_fleet_forwards_lost_total 0\n", second.call("GET", "/metrics", who="boss").body.decode())
        # Who leaves is gone at the other node, too; and when that one ends, so does the socket.
        view.socket.close()
        self.wait_for(lambda: "\nthole_screens 0\n" in first.call("GET", "/metrics", who="boss").body.decode())
        view = View(second, "one")
        view.until(is_type("control"))
        first.end(signal.SIGKILL)
        while isinstance(view.socket.receive(), dict):
            pass

    def test_a_silent_node(self):
        """A node that lives and does not answer: what it was asked is given up in time, and nobody says that it was not done."""
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=1)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        first, second = self.node("n1"), self.node("n2", idle_s=1)
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.postgres.sql("UPDATE thole.owners SET address = 'http://127.0.0.1:%d' WHERE node = 'n1'" % silent.getsockname()[1])
        answer = second.call("POST", "/api/sessions/one/pause", {})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (502, "other_node"))
        self.assertIn("is not known", answer.json()["error"]["message"])
        self.assertEqual(self.state("one"), "running")

    def test_drained(self):
        """A node that is told to end gives its sessions to the other one: each step once, each event once."""
        self.serve_steps()
        first, second = self.node("n1", "--drain-s", "20"), self.node("n2", capacity=50)
        names = ["s%d" % i for i in range(4)]
        for name in names:
            first.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, 201)
        followers = [Follower([first, second], name) for name in names]
        self.wait_for(lambda: len(list(self.work.rglob("made"))) == 4)
        self.assertEqual(first.end(), 0)
        for follower in followers:
            follower.join(house.SECONDS)
            self.assertEqual(follower.seen, list(range(1, len(follower.seen) + 1)), follower.name)
        self.wait_for(lambda: all(self.state(name) == "finished" for name in names))
        self.assertEqual(self.made(), ["x\n" * TURNS] * 4)
        for name in names:
            kinds = self.kinds(name)
            self.assertNotIn("paused", kinds)
            # Nothing was asked or begun twice, and nothing is unknown.
            self.assertEqual((kinds.count("model_requested"), kinds.count("intent")), (TURNS + 1, TURNS), kinds)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE epoch > 2"), "4")

    def test_what_cannot_be_handed_over(self):
        """A command that outlasts the drain: the other node goes on with it all the same, and it is not begun twice."""
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made; sleep 4")]}, {"parts": say("Done.")}])
        first, second = self.node("n1", "--drain-s", "1"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: self.made())
        began = time.monotonic()
        self.assertEqual(first.end(), 0)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.made(), ["x\n"])

    def test_asked_while_it_leaves(self):
        """Who waits for an answer of a session that is about to leave does not keep it, nor wait for nothing."""
        self.serve_steps("until [ -e go ]; do sleep 0.05; done; echo x >> made", turns=1)
        first, second = self.node("n1", "--drain-s", "600"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("one"))
        first.process.send_signal(signal.SIGTERM)
        self.wait_for(lambda: first.call("GET", "/readyz").status == 503)
        asked = threading.Thread(target=first.call, args=("POST", "/a2a/worker", {
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": {"contextId": "one", "role": "ROLE_USER", "parts": [{"text": "And?"}]}}}))
        asked.start()
        self.wait_for(lambda: "message" in self.kinds("one")[3:])
        (self.work / "one" / "go").write_text("")
        asked.join(house.SECONDS)
        self.assertFalse(asked.is_alive())
        self.assertEqual(first.end(signal.SIGCONT), 0)
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.made(), ["x\n"])

    def test_killed(self):
        """A node that is killed: what it had goes on when its lease is over; whoever follows loses nothing."""
        self.serve_steps("echo x >> made; sleep 0.5")
        first, second = self.node("n1"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        follower = Follower([second], "one")
        self.wait_for(lambda: self.made())
        first.end(signal.SIGKILL)
        # It can be read meanwhile, and nobody has it.
        self.assertEqual(second.good("GET", "/api/sessions/one")["state"], "running")
        self.assertIn(second.call("POST", "/api/sessions/one/pause", {}).status, (202, 409, 502, 503))
        second.call("POST", "/api/sessions/one/resume", {})
        self.wait_for(lambda: self.state("one") in ("finished", "paused"))
        if self.state("one") == "paused":
            second.good("POST", "/api/sessions/one/resume", {}, 202)
        follower.join(house.SECONDS)
        self.assertEqual(follower.seen, list(range(1, len(follower.seen) + 1)))
        self.assertEqual(self.made(), ["x\n" * TURNS])

    def test_many_of_a_dead_node(self):
        """What a killed node had is taken in few transactions, each session by one node, and none over a node's capacity."""
        silent = socket.create_server(("127.0.0.1", 0), backlog=2 * CLAIMS)  # a model that never answers
        self.addCleanup(silent.close)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % silent.getsockname()[1]
        first = self.node("n1")
        for i in range(CLAIMS):
            first.good("POST", "/api/sessions", {"agent": "worker", "id": "s%d" % i, "message": "Go."}, 201)
        second, third = self.node("n2", capacity=CLAIMS // 4), self.node("n3")
        first.end(signal.SIGKILL)
        taken = lambda: int(self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE epoch > 1"))
        self.postgres.sql("UPDATE thole.owners SET expires = clock_timestamp() WHERE node = 'n1'")
        began = time.monotonic()
        self.wait_for(lambda: taken() == CLAIMS)
        print("%d sessions of a dead node taken in %.2f s" % (CLAIMS, time.monotonic() - began))
        self.assertEqual(self.postgres.sql("SELECT max(epoch) FROM thole.sessions"), "2")
        of_second = int(self.postgres.sql("SELECT count(*) FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE o.node = 'n2'"))
        self.assertLessEqual(of_second, CLAIMS // 4)
        for node in (second, third):
            node.end(signal.SIGKILL)
        self.postgres.sql("DROP SCHEMA thole CASCADE")
        self.good("store", "migrate")

    def test_many_nodes(self):
        """A list of nodes that is longer than a piece of a reading is whole."""
        node = self.node("n1")
        self.postgres.sql("INSERT INTO thole.owners (owner, host, process, began, expires, node) SELECT 'o' || n, 'h', n, clock_timestamp(),"
                          " clock_timestamp() + interval '1 hour', 'x' || to_char(n, 'FM000') FROM generate_series(1, 600) n")
        listed = node.good("GET", "/api/fleet", who="boss")["nodes"]
        self.assertEqual([n["name"] for n in listed], ["n1"] + ["x%03d" % n for n in range(1, 601)])
        self.wait_for(lambda: "\nthole_fleet_nodes 601\n" in node.call("GET", "/metrics", who="boss").body.decode())

    def test_capacity(self):
        """A node that is full begins nothing more, and takes nothing of a dead one."""
        self.serve_steps("sleep 30")
        node = self.node("n1", capacity=1)
        node.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("one"))
        answer = node.call("POST", "/api/sessions", {"agent": "worker", "id": "two", "message": "Go."})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (503, "overloaded"))
        node.good("POST", "/api/sessions/one/cancel", {"when": "now"}, 202)
        self.wait_for(lambda: self.state("one") == "stopped")

    def test_quotas(self):
        """What a user's sessions are at one node counts at every one."""
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=1)
        first, second = (self.node(name, serve={"sessions_per_user": 2}) for name in ("n1", "n2"))
        begin = lambda node, name, who="alice": node.call("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."}, who=who).status
        self.assertEqual((begin(first, "a"), begin(second, "b")), (201, 201))
        self.wait_for(lambda: self.state("a") == self.state("b") == "running")
        self.assertEqual([begin(node, "c") for node in (first, second)], [429, 429])
        for node in (first, second):
            self.assertEqual(node.good("GET", "/api/quota")["sessions"], {"used": 2, "limit": 2})
            self.assertEqual(node.good("GET", "/api/quota", who="boss")["sessions"]["used"], 0)
        self.assertEqual(begin(first, "other", "boss"), 201)
        (self.work / "a" / "go").write_text("")
        self.wait_for(lambda: self.state("a") == "finished")
        self.assertEqual(begin(second, "c"), 201)

    def test_quotas_at_once(self):
        """Nodes that begin at the same moment begin together what the user may have, and not one more; none is refused for one that is over."""
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=1)
        most, each = 4, 6
        nodes = [self.node(name, serve={"sessions_per_user": most}) for name in ("n1", "n2", "n3")]
        begin = lambda node, name: node.patient_call("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."})

        def end(names):
            for name in names:
                (self.work / name / "go").write_text("")
            self.wait_for(lambda: all(self.state(name) == "finished" for name in names))

        for turn in range(3):
            answers, ready = [], threading.Barrier(len(nodes) * each)

            def race(node, name):
                ready.wait(house.SECONDS)
                answers.append((name, begin(node, name)))

            racers = [threading.Thread(target=race, args=(node, "t%d-%s-%d" % (turn, node.name, i))) for node in nodes for i in range(each)]
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join(house.SECONDS)
            begun = [name for name, answer in answers if answer.status == 201]
            self.assertEqual(len(answers), len(racers))
            self.assertEqual(len(begun), most, [(name, answer.status) for name, answer in answers])
            self.assertEqual({answer.json()["error"]["code"] for _, answer in answers if answer.status != 201}, {"sessions"})
            self.assertEqual([begin(node, "more").status for node in nodes], [429] * len(nodes))
            # A message to one that rests is one more that runs.
            if turn:
                self.assertEqual([node.call("POST", "/api/sessions/%s/messages" % rests, {"text": "And?"}).status for node in nodes], [429] * len(nodes))
            end(begun)
            rests = begun[0]
        # One after the other, each at another node as soon as the one before is over.
        for i in range(len(nodes)):
            names = ["l%d-%d" % (i, k) for k in range(most)]
            self.assertEqual([begin(nodes[(i + k) % len(nodes)], name).status for k, name in enumerate(names)], [201] * most, i)
            end(names)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.reserved"), "0")

    def test_a_place_that_nobody_takes(self):
        """What was asked to go on and has nothing to do has no place among those that run."""
        self.serve_steps("true", turns=1)
        first, second = (self.node(name, serve={"sessions_per_user": 1}) for name in ("n1", "n2"))
        begin = lambda node, name: node.call("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go."})
        self.assertEqual(begin(first, "a").status, 201)
        self.wait_for(lambda: self.state("a") == "finished")
        self.assertEqual(first.call("POST", "/api/sessions/a/resume", {}).status, 202)
        wrong = {"agent": "worker", "message": "Go.", "limits": {"turns": "x"}}
        self.wait_for(lambda: first.call("POST", "/api/sessions", wrong).status == 400)
        self.wait_for(lambda: begin(second, "b").status == 201)
        self.wait_for(lambda: self.state("b") == "finished")
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.reserved"), "0")

    def test_a_place_is_one(self):
        """A session that waited for its client's results and goes on at once is one of those that run, not two."""
        tool = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
        look = {"function_call": {"name": "look", "arguments": {}}}
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [look]},
                          {"if": {"turns": {"max": 1}}, "parts": [shell("touch began; until [ -e go ]; do sleep 0.05; done")]}, {"parts": say("Done.")}])
        node = self.node("n1", serve={"sessions_per_user": 2})
        one = node.good("POST", "/v1/responses", {"model": "worker", "input": "Look.", "tools": [tool]})
        call = next(item for item in one["output"] if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Seen."}
        goes_on = threading.Thread(target=node.good, args=("POST", "/v1/responses", {
            "model": "worker", "previous_response_id": one["id"], "tools": [tool], "input": [result]}))
        goes_on.start()
        self.wait_for(lambda: list(self.work.rglob("began")))
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.reserved") == "0")
        next(self.work.rglob("began")).with_name("go").write_text("")
        goes_on.join(house.SECONDS)
        self.assertFalse(goes_on.is_alive())

    def test_a_goal_goes_on_in_its_place(self):
        """The append by which it runs takes its reservation away: in between nobody could count neither."""
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("until [ -e go ]; do sleep 0.05; done")]}, {"parts": say("Done.")}])
        node = self.node("n1", serve={"sessions_per_user": 1})
        node.good("POST", "/api/sessions", {"agent": "worker", "id": "g", "message": "Go.", "goal": True}, 201)
        self.wait_for(lambda: "intent" in self.kinds("g"))
        node.good("POST", "/api/sessions/g/goal/end", {}, 202)
        (self.work / "g" / "go").write_text("")
        self.wait_for(lambda: self.state("g") == "finished")
        self.postgres.sql("CREATE TABLE thole.seen (running bigint);"
                          "CREATE FUNCTION thole.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                          " INSERT INTO thole.seen SELECT count(*) FROM thole.sessions WHERE agent_state = 'running'; RETURN OLD; END $$;"
                          "CREATE TRIGGER see BEFORE DELETE ON thole.reserved FOR EACH ROW EXECUTE FUNCTION thole.see()")
        node.good("POST", "/api/sessions/g/goal/resume", {}, 202)
        self.assertEqual(self.wait_for(lambda: self.postgres.sql("SELECT running FROM thole.seen")), "1")

    def test_reload(self):
        """What a node is called is read again; whether it is one is not."""
        node = self.node("n1")
        config, journal = self.folder / "n1" / "config.yaml", self.folder / "n1" / "journal"
        named = lambda: node.good("GET", "/api/fleet", who="boss")["nodes"][0]["name"]
        config.write_text(config.read_text().replace('"name": "n1"', '"name": "other"'))
        node.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: named() == "other")
        config.write_text("serve: {}\n")
        node.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "serve.fleet: a server becomes a node" in journal.read_text())
        self.assertEqual(named(), "other")
        self.assertEqual(node.end(), 0)

    def test_settings(self):
        self.secret.chmod(0o644)
        config = self.folder / "bad.yaml"
        for text, words in (("address: http://127.0.0.1:1, secret_file: %s" % self.secret, "others may read it"),
                            ("address: ftp://x, secret_file: %s" % self.secret, "address is https://HOST:PORT"),
                            ("secret_file: %s" % self.secret, "address")):
            config.write_text("serve: {fleet: {%s}}\n" % text)
            config.chmod(0o600)
            ended = self.thole("serve", "--config", config, "--listen", "127.0.0.1:0")
            self.assertNotEqual(ended.code, 0)
            self.assertIn(words, ended.err)
        self.secret.write_text("short\n")
        self.secret.chmod(0o600)
        config.write_text("serve: {fleet: {address: http://127.0.0.1:1, secret_file: %s}}\n" % self.secret)
        self.assertIn("32 to 512", self.thole("serve", "--config", config, "--listen", "127.0.0.1:0").err)
        self.secret.write_text(SECRET)
        ended = self.thole("serve", "--config", config, "--listen", "127.0.0.1:0", "--store", "sqlite:%s/log.db" % self.folder)
        self.assertIn("PostgreSQL", ended.err)
        self.bad(1, "of this machine alone", "fleet", "--store", "sqlite:%s/log.db" % self.folder)


class OverTls(WithNodes):
    tls = True

    def test_between_nodes(self):
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [bash("echo seen; until [ -e go ]; do sleep 0.05; done")]}, {"parts": say("Done.")}])
        first, second = self.node("n1"), self.node("n2")
        first.good("POST", "/api/sessions", {"agent": "sh", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: "intent" in self.kinds("one"))
        follower = Follower([second], "one")
        view = View(second, "one", tls=self.trusts())
        view.until_text("seen")
        second.good("POST", "/api/sessions/one/pause", {"reason": "wait"}, 202)
        (self.work / "one" / "go").write_text("")
        self.wait_for(lambda: self.state("one") == "paused")
        second.good("POST", "/api/sessions/one/resume", {}, 202)
        follower.join(house.SECONDS)
        self.assertEqual(follower.seen, list(range(1, len(follower.seen) + 1)))
        self.assertEqual(self.postgres.sql("SELECT epoch FROM thole.sessions"), "1")
        metrics = second.call("GET", "/metrics", who="boss").body.decode()
        self.assertIn("\nthole_fleet_forwards_lost_total 0\n", metrics)
        self.assertGreaterEqual(int(metrics.split("\nthole_fleet_forwarded_total ")[1].split()[0]), 4)

    def test_another_is_not_believed(self):
        """Who is at a node's address without its certificate is not told the token of the fleet."""
        self.serve_steps("until [ -e go ]; do sleep 0.05; done", turns=1)
        with self.assertRaises(ssl.SSLError):
            self.node("n1", certificate="stranger").call("GET", "/healthz")
        first, second = self.nodes[0], self.node("n2")
        self.env["SSL_CERT_FILE"] = str(self.certificates / "other.pem")
        self.certificates.joinpath("ca.pem").rename(self.certificates / "own.pem")
        self.certificates.joinpath("ca.pem").write_text((self.certificates / "other.pem").read_text())
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.certificates.joinpath("ca.pem").write_text((self.certificates / "own.pem").read_text())
        self.assertEqual(second.good("GET", "/api/sessions/one")["state"], "running")  # out of the store
        self.assertEqual(second.call("POST", "/api/sessions/one/pause", {}).status, 503)
        with self.assertRaises(websocket.Refused) as refused:
            View(second, "one", tls=self.trusts())
        self.assertEqual(refused.exception.status, 503)
        self.assertIn("certificate verify failed", (self.folder / "n2" / "journal").read_text())


if __name__ == "__main__":
    server.run(house.main)
