# SPDX-License-Identifier: Apache-2.0
"""A net that is a list: what gets through, what does not, and what the log says of both; judged by the servers of an
internet that the test makes itself."""

import internet

internet.enter()

import json
import os
import pathlib
import select
import signal
import subprocess
import textwrap
import unittest

import house


class Egress(house.House):
    def setUp(self):
        super().setUp()
        self.server, self.names = internet.Server(), internet.Names()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\ntools: [bash, shell]\n")

    def tearDown(self):
        super().tearDown()
        self.server.end()
        self.names.end()

    def act(self, net, *commands, name="n", options=()):
        """Commands of one session; their outputs."""
        lines = ["shell " + json.dumps({"command": c}) for c in commands] + ["done good"]
        self.good("run", "-m", "human/human", "-s", name, "--net", net, *options, "go", stdin="\n".join(lines) + "\n")
        return [e["data"]["output"] for e in self.events(name) if e["kind"] == "outcome"]

    def network(self, name="n"):
        return [row for e in self.events(name) if e["kind"] == "outcome"
                for row in e["data"].get("evidence", {}).get("network", [])]

    def egress(self):
        """The process, or None."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                environ = (path.parent / "environ").read_bytes()
            except OSError:
                continue
            if b"egress" in words and str(self.folder).encode() in environ:
                return int(path.parent.name)
        return None

    def test_what_is_listed(self):
        out = self.act("good.example,*.good.example:443",
                       "curl -sS http://good.example/a; curl -sS -p http://good.example/b; "
                       "curl -sS --socks5-hostname 127.0.0.1:3128 --noproxy '' http://good.example/c",
                       "echo hello | curl -sS --data-binary @- -H 'Transfer-Encoding: chunked' http://good.example/d; "
                       "curl -sS http://good.example/big/3000000 | wc -c")
        self.assertEqual(out[0].count("this is good.example"), 3, out)
        self.assertIn("3000000", out[1])
        self.assertEqual([a["path"] for a in self.server.asked], ["/a", "/b", "/c", "/d", "/big/3000000"])
        self.assertEqual(self.server.asked[3]["body"], "hello\n")
        self.assertEqual(self.server.asked[0]["headers"].get("Connection"), "close")
        self.assertNotIn("Proxy-Connection", self.server.asked[0]["headers"])
        rows = self.network()
        self.assertEqual({r["decision"] for r in rows}, {"allowed"})
        # The last bytes of a connection may come with the outcome behind that which counted it.
        rows = [r for r in rows if r["connections"]]
        self.assertEqual([r["kind"] for r in rows[:3]], ["http", "tunnel", "socks"])
        self.assertEqual((rows[3]["host"], rows[3]["port"], rows[3]["connections"]), ("good.example", 80, 2))
        self.assertGreater(rows[3]["bytes_down"], 3000000)
        self.assertEqual(rows[3]["bytes_up"], 6)

    def test_what_is_not_listed(self):
        tries = ["http://other.example/", "http://93.184.216.35/", "http://good.example:8080/", "http://xgood.example/",
                 "http://good.example.other.example/", "http://deep.api.good.example/"]
        out = self.act("good.example,api.good.example:443",
                       "for u in %s; do curl -sS $u; curl -sS -p $u; done 2>&1" % " ".join(tries),
                       "curl -sS http://good.example/to/other.example/secret -L 2>&1",
                       # around the proxy: there is nothing
                       "curl -sS --noproxy '*' --connect-timeout 3 http://93.184.216.34/ 2>&1; "
                       "curl -sS --noproxy '*' --connect-timeout 3 http://169.254.169.254/ 2>&1; "
                       "getent hosts leak.good.example; python3 -c 'import socket\n"
                       "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                       "s.sendto(b\"leak\", (\"127.0.0.1\", 53))\ntry: s.sendto(b\"leak\", (\"93.184.216.34\", 53))\n"
                       "except OSError as e: print(e)'")
        self.assertEqual(out[0].count("is not on the list of this agent (net)"), len(tries), out[0])
        self.assertEqual(out[0].count("response 403"), len(tries), out[0])
        self.assertIn("other.example:80 is not on the list", out[1])
        self.assertEqual([a["path"] for a in self.server.asked], ["/to/other.example/secret"])
        self.assertEqual(out[2].count("Couldn't connect to server"), 2, out[2])
        self.assertIn("unreachable", out[2])
        self.assertEqual(self.names.asked, [])
        refused = [r for r in self.network() if r["decision"] == "refused"]
        self.assertEqual(sum(r["connections"] for r in refused), 2 * len(tries) + 1)
        self.assertEqual({r["why"] for r in refused}, {"it is not on the list"})

    def test_addresses_that_are_not_public(self):
        """Whatever the names: only an address that is on the list itself."""
        names = [n for n, a in internet.NAMES.items() if a not in (internet.PUBLIC, internet.OTHER)]
        literals = [internet.PRIVATE, internet.METADATA, "127.0.0.1", "[::1]", "[::ffff:169.254.169.254]",
                    "[64:ff9b::a9fe:a9fe]", "0.0.0.0", "0x7f.1", "2852039166", "127.1"]
        out = self.act("*:*", "for h in %s; do curl -g -sS -p --noproxy '' http://$h/; "
                       "curl -g -sS --noproxy '' http://$h/; done 2>&1" % " ".join(names + literals))
        self.assertEqual(self.server.asked, [], out)
        self.assertEqual({r["decision"] for r in self.network()}, {"refused"})
        out = self.act("*:*,10.0.0.5", "curl -sS http://inside.example/; curl -sS http://metadata.example/", name="l")
        self.assertIn("this is inside.example", out[0])
        self.assertEqual([(a["to"], a["host"]) for a in self.server.asked], [(internet.PRIVATE, "inside.example")])

    def test_paths_and_methods(self):
        out = self.act("GET good.example/pool/**",
                       "curl -sS http://good.example/pool/a/b?c; curl -sS -d x http://good.example/pool/a; "
                       "curl -sS http://good.example/other; curl -sS --path-as-is http://good.example/pool/../other; "
                       "curl -sS http://good.example/pool/%2e%2e/other; curl -sS -p http://good.example/pool/a")
        self.assertEqual([(a["method"], a["path"]) for a in self.server.asked], [("GET", "/pool/a/b?c")], out)

    def test_one_request_per_connection(self):
        """A second request behind an allowed one goes nowhere, however it is hidden."""
        program = textwrap.dedent('''
            import socket
            def say(data):
                s = socket.create_connection(("127.0.0.1", 3128))
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                got = b""
                while True:
                    more = s.recv(65536)
                    if not more:
                        break
                    got += more
                print(got.split(b"\\r\\n")[0].decode())
            evil = b"GET http://other.example/smuggled HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n"
            head = b"GET http://good.example/1 HTTP/1.1\\r\\nHost: good.example\\r\\n"
            say(head + b"\\r\\n" + evil)
            say(head + b"\\r\\n" + evil.replace(b"http://other.example", b""))
            say(head + b"Content-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n" + evil)
            say(head + b"Content-Length: 0\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(evil) + evil)
            say(head + b"Content_Length: 5\\r\\n\\r\\n" + evil)
            say(head.replace(b"Host: good.example", b"Host: other.example") + b"\\r\\n")
            say(b"GET http://good.example@other.example/ HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n")
            say(b"GET http://good.example\\\\@other.example/ HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n")
            say(b"\\r\\n" * 40000)
            say(b"GET http://good.example/ HTTP/1.1\\r\\nHost: good.example\\r\\nX: " + b"x" * 40000 + b"\\r\\n\\r\\n")
            ''')
        (self.work / "evil.py").write_text(program)
        (out,) = self.act("good.example", "python3 evil.py")
        self.assertEqual([(a["host"], a["path"]) for a in self.server.asked], [("good.example", "/1")] * 3, out)

    def test_kills(self):
        """The runtime's SIGKILL changes nothing; after the egress's the next connection finds a new one."""
        killed = self.start("run", "-m", "human/human", "-s", "k", "--net", "good.example", "go", stdin=subprocess.PIPE)
        killed.stdin.write(b'bash {"command": "curl -sS http://good.example/1; echo begun"}\n')
        killed.stdin.flush()
        seen = b""
        while b"begun\n" not in seen:
            line = killed.stderr.readline()
            self.assertTrue(line, seen)
            seen += line
        killed.kill()
        killed.communicate()
        first = self.egress()
        self.assertIsNotNone(first)
        gone = os.pidfd_open(first)
        self.good("resume", "k", stdin='bash {"command": "curl -sS http://good.example/2"}\ndone yes\n')
        self.assertEqual(self.egress(), first)
        os.kill(first, signal.SIGKILL)
        self.assertTrue(select.select([gone], [], [], 20)[0])
        os.close(gone)
        self.good("run", "-s", "k", "again",
                  stdin='bash {"command": "curl -sS --retry 5 --retry-all-errors http://good.example/3"}\ndone yes\n')
        self.assertNotIn(self.egress(), (first, None))
        self.assertEqual([a["path"] for a in self.server.asked], ["/1", "/2", "/3"])

    def test_sessions_share_the_process_and_not_the_list(self):
        self.act("good.example", "curl -sS http://good.example/", name="a")
        first = self.egress()
        (out,) = self.act("other.example", "curl -sS http://other.example/; curl -sS http://good.example/", name="b")
        self.assertEqual(self.egress(), first)
        self.assertIn("good.example:80 is not on the list", out)
        for name in ("a", "b"):
            self.thole("computer", "-s", name, "end")
        self.wait_for(lambda: self.egress() is None)
        self.assertEqual((self.folder / "state" / "thole" / "egress" / "log").read_text(), "")

    def test_no_network_no_process(self):
        self.act("good.example", "true")
        self.assertIsNone(self.egress())

    def test_a_command_cannot_ask_for_itself(self):
        """Its files are not there: no token, no socket."""
        out = self.act("good.example", "ls -la /run /run/user %s %s 2>&1; curl -sS http://good.example/; "
                       "find / -name 'egress*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/usr/*' 2>/dev/null"
                       % (self.folder / "runtime", self.folder / "state"))
        self.assertIn("this is good.example", out[0])
        self.assertNotIn("egress.sock", out[0])

    def test_mistakes(self):
        self.bad(2, ["--net", "is a URL"], "run", "-m", "human/human", "--net", "https://good.example", "go")
        agent = self.folder / "a.yaml"
        agent.write_text("name: a\nnet: [good.example, 7]\n")
        self.bad(2, ["net[1]", "must be a string", "a.yaml:2"], "run", "-m", "human/human", "-a", agent, "go")
        agent.write_text("name: a\nnet: everything\n")
        self.bad(2, ["net", "none, host or a list"], "run", "-m", "human/human", "-a", agent, "go")
        agent.write_text("name: a\nnet: [good.example]\ntools: [shell]\n")
        out = self.good("run", "-m", "human/human", "-s", "off", "-a", agent, "--sandbox", "off", "go",
                        stdin="shell id\ndone x\n").err
        self.assertIn("holds only in a sandbox", out)

    def test_a_desktop_has_it_too(self):
        out = self.act("good.example", "curl -sS http://good.example/; curl -sS http://other.example/; "
                       "curl -sS --noproxy '*' --connect-timeout 3 http://93.184.216.34/ 2>&1",
                       options=["-c", "desktop:640x480"])
        self.assertIn("this is good.example", out[0])
        self.assertIn("other.example:80 is not on the list", out[0])
        self.assertIn("Couldn't connect", out[0])
        self.assertEqual(len(self.server.asked), 1)

    @unittest.skipUnless(os.path.exists("/usr/lib/chromium/chromium"), "no Chromium is installed")
    def test_a_browser_has_it_too(self):
        agent = self.folder / "a.yaml"
        for name, kind, host in (("b1", "browser", "good"), ("b2", "browser", "other"), ("b3", "browser_window", "good"), ("b4", "browser_window", "other")):
            agent.write_text("net: [good.example]\ncomputer: {kind: %s, width: 640, height: 480, options: {start_url: 'http://%s.example/page'}}\n" % (kind, host))
            self.good("run", "-m", "human/human", "-s", name, "-a", agent, "go", stdin="click 5 5\ndone x\n")
            self.thole("computer", "-s", name, "end")
        pages = [(a["to"], a["path"]) for a in self.server.asked if a["path"] == "/page"]
        self.assertEqual(pages, 2 * [(internet.PUBLIC, "/page")])


if __name__ == "__main__":
    house.main()
