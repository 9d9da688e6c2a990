# SPDX-License-Identifier: Apache-2.0
"""A server as a service: what the service manager is told, how it ends, and what it takes up again."""

import json
import shutil
import signal
import socket
import subprocess
import unittest

import house
import serving


class Service(serving.Served):
    def test_the_unit(self):
        text = (house.BUILD / "docs" / "thole.service").read_text()
        line = [line for line in text.splitlines() if line.startswith("ExecStart=")][0]
        self.assertRegex(line, r"^ExecStart=/\S+/thole serve --agents /etc/thole/agents$")
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not here")
        unit = self.folder / "thole.service"
        unit.write_text(text.replace(line.split("=")[1].split()[0], str(house.THOLE)))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=house.SECONDS)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, ""))

    def test_the_service_manager_is_told(self):
        for name in (str(self.folder / "notify"), "\0thole-test-%d" % self.folder.stat().st_ino):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(name)
                manager.settimeout(house.SECONDS)
                self.env["NOTIFY_SOCKET"] = name.replace("\0", "@")
                self.serve_http()
                self.assertEqual(manager.recv(100), b"READY=1")
                self.server.send_signal(signal.SIGHUP)
                self.assertRegex(manager.recv(100), rb"^RELOADING=1\nMONOTONIC_USEC=[1-9]\d+$")
                self.assertEqual(manager.recv(100), b"READY=1")
                self.assertEqual(self.end_http(), 0)
                self.assertEqual(manager.recv(100), b"STOPPING=1")

    def test_a_line_for_each_request(self):
        self.serve_http()
        self.call("GET", "/api/sessions?title=do-not-log", headers={"X-Secret": "do-not-log"})
        self.call("POST", "/api/sessions", {"message": 1})
        self.call("GET", "/no\"thing", who="bob")
        self.call("GET", "/api/agents", who=None)
        self.end_http()
        text = (self.folder / "journal").read_text()
        self.assertNotIn("do-not-log", text)
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(r["method"], r["path"], r["status"], r.get("user"), r["from"]) for r in rows],
                         [("GET", "/api/sessions", 200, "alice", "127.0.0.1"), ("POST", "/api/sessions", 400, "alice", "127.0.0.1"),
                          ("GET", "/no\"thing", 404, "bob", "127.0.0.1"), ("GET", "/api/agents", 401, None, "127.0.0.1")])
        self.assertTrue(all(r["ts_ms"] > 10**12 and r["ms"] >= 0 and r["sent"] > 0 for r in rows))


class Recovery(serving.Served):
    def silent(self):
        """A model's server that takes requests and never answers."""
        listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(listening.close)
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % listening.getsockname()[1]

    def ask_in_front(self):
        """A request in the foreground, whose answer is not waited for; its session."""
        before = {row["session_id"] for row in self.good_call("GET", "/api/sessions")["sessions"]}
        connection = self.connect()
        connection.request("POST", "/v1/responses", body=json.dumps({"model": "default", "input": "In front."}),
                           headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
        self.addCleanup(connection.close)
        new = set()

        def begun():
            new.update({row["session_id"] for row in self.good_call("GET", "/api/sessions")["sessions"]} - before)
            return new and "model_requested" in self.kinds(min(new))

        self.wait_for(begun)
        return new.pop()

    def begin_three(self):
        self.silent()
        port = self.serve_http()
        alone = self.good_call("POST", "/api/sessions", {"message": "Alone."}, status=201)["session_id"]
        behind = self.good_call("POST", "/v1/responses", {"model": "default", "input": "Behind.", "background": True})
        return port, alone, behind["id"], self.ask_in_front()

    def after_it(self, alone, behind, in_front):
        self.wait_for(lambda: self.good_call("GET", "/v1/responses/" + behind)["status"] == "completed")
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/" + alone)["state"] == "finished")
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/" + in_front)["state"] == "stopped")
        self.assertEqual(len(self.standin.requests()), 2)  # nobody waits for the third answer
        self.assertEqual(self.kinds(in_front).count("final"), 0)

    def test_killed(self):
        port, *names = self.begin_three()
        self.end_http(signal.SIGKILL)
        self.serve([{"text": "Done."}])
        self.serve_http(port=port)
        self.after_it(*names)
        self.assertIn("thole_sessions_recovered_total 2\n", self.call("GET", "/metrics", who="boss").body.decode())

    def test_ended(self):
        port, *names = self.begin_three()
        states = {name: self.good_call("GET", "/api/sessions/" + name)["state"] for name in (names[0], names[2])}
        self.assertEqual(set(states.values()), {"running"})
        self.assertEqual(self.end_http(), 0)
        self.assertEqual(self.good("log", "--verify").code, 0)
        self.assertEqual(self.kinds(names[0])[-1], "model_requested")  # neither stopped nor failed
        self.serve([{"text": "Done."}])
        self.serve_http(port=port)
        self.after_it(*names)

    def test_a_persons_sessions_are_left_alone(self):
        self.silent()
        held = self.start("run", "-s", "held", "Wait.")
        self.wait_for(lambda: any(e["kind"] == "model_requested" for e in self.logged("held")))
        self.interrupt(held)
        killed = self.start("run", "-s", "killed", "Wait.")
        self.wait_for(lambda: any(e["kind"] == "model_requested" for e in self.logged("killed")))
        killed.kill()
        killed.communicate()
        before = {name: self.events(name) for name in ("held", "killed")}
        self.assertIn("paused", [e["data"].get("to") for e in before["held"]])
        self.serve([{"text": "Done."}])
        self.serve_http()
        # One of the server's own goes on meanwhile, from its beginning to its end.
        name = self.good_call("POST", "/api/sessions", {"message": "Go."}, status=201)["session_id"]
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/" + name)["state"] == "finished")
        self.assertEqual({name: self.events(name) for name in before}, before)
        self.assertEqual(len(self.standin.requests()), 1)
        self.end_http()
        self.assertEqual(self.good("resume", "held", "-q").out.strip(), "Done.")

    def logged(self, name):
        ended = self.thole("log", name, "--json")
        return [json.loads(line) for line in ended.out.splitlines()] if ended.code == 0 else []


if __name__ == "__main__":
    unittest.main()
