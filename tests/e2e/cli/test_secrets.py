# SPDX-License-Identifier: Apache-2.0
"""Secrets that an agent uses and never sees: what the servers of a made internet get, what comes back, and that no byte
written anywhere has a value.

THOLE_CANARIES: how many secrets are looked for (default 60); THOLE_CANARIES_SEED: which."""

import internet

internet.enter()

import base64
import json
import os
import pathlib
import random
import shutil
import string
import subprocess
import unittest

import house

VALUE = "ghp_Zx81kQ0vTnR5wLbE3uYc"


def forms(value):
    """What must stand nowhere; of base64 the part that the value alone decides."""
    raw = value.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw)
        first, end = (8 * before + 5) // 6, 8 * (before + len(raw)) // 6
        yield text[first:end]
        yield text[first:end].replace(b"+", b"-").replace(b"/", b"_")


class Secrets(house.House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl makes the certificates, and is not installed")
        internet.trust_authority("good.example", "other.example", "echo.example")

    def setUp(self):
        super().setUp()
        self.servers = [internet.Server(), internet.Server(port=443, tls=True)]
        self.plain, self.server = self.servers
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\n")
        self.env["TOKEN"] = VALUE
        self.agent = self.folder / "agent.yaml"
        self.say(net=["good.example", "other.example", "echo.example"], secrets={"TOKEN": {"hosts": ["good.example", "echo.example"]}})

    def tearDown(self):
        super().tearDown()
        for s in self.servers:
            s.end()

    def say(self, **agent):
        self.agent.write_text(json.dumps(dict({"name": "a", "tools": ["shell", "bash", "write_file", "read_file"]}, **agent)))

    def act(self, *commands, name="n", options=()):
        lines = [c if c.startswith(("bash ", "python ", "read_file ")) else "shell " + json.dumps({"command": c}) for c in commands] + ["done good"]
        self.good("run", "-m", "human/human", "-s", name, "-a", self.agent, *options, "go", stdin="\n".join(lines) + "\n")
        return [e["data"]["output"] for e in self.events(name) if e["kind"] == "outcome"]

    def assert_nowhere(self, values):
        """In no file that thole wrote, and in none of the workspace."""
        wanted = [f for v in values for f in forms(v)]
        looked = 0
        for top in ("state", "runtime", "data", "cache", "work"):
            for path in pathlib.Path(self.folder, top).rglob("*"):
                if not path.is_file():
                    continue
                data = path.read_bytes()
                looked += 1
                for w in wanted:
                    self.assertNotIn(w, data, path)
        self.assertGreater(looked, 3)

    def sent(self, path):
        return [a["headers"].get("Authorization") for a in self.server.asked if a["path"] == path]

    def test_the_value_is_put_in(self):
        out = self.act("echo $TOKEN; curl -sS -H \"Authorization: Bearer $TOKEN\" https://good.example/a",
                       "curl -sS -u me:$TOKEN https://good.example/b; curl -sS -d \"$TOKEN\" https://good.example/body",
                       'bash {"command": "python3 -c \\"import os, urllib.request as u; print(u.urlopen(u.Request(\'https://good.example/c\', '
                       'headers={\'Authorization\': \'token \' + os.environ[\'TOKEN\']})).read())\\""}')
        placeholder = out[0].split()[0]
        self.assertRegex(placeholder, "^thole_[0-9a-f]{40}$")
        self.assertEqual(self.sent("/a"), ["Bearer " + VALUE])
        self.assertEqual(self.sent("/b"), ["Basic " + base64.b64encode(b"me:" + VALUE.encode()).decode()])
        self.assertEqual(self.sent("/c"), ["token " + VALUE], out)
        body = [a["body"] for a in self.server.asked if a["path"] == "/body"]
        self.assertEqual(body, [placeholder])  # a body gets no value
        rows = [r for e in self.events("n") if e["kind"] == "outcome" for r in e["data"]["evidence"].get("network", [])]
        self.assertEqual({(r["host"], r["kind"], r["decision"]) for r in rows}, {("good.example", "tls", "allowed")})
        self.assert_nowhere([VALUE])

    def test_it_goes_nowhere_else(self):
        self.act("curl -sS -H \"Authorization: Bearer $TOKEN\" https://other.example/a",  # another host
                 "curl -sS -H \"X-Other: $TOKEN\" https://good.example/b",  # another header
                 "curl -sS -H \"Authorization: Bearer $TOKEN\" http://good.example/plain",  # not encrypted
                 "curl -sS -L --location-trusted -H \"Authorization: Bearer $TOKEN\" https://good.example/to/other.example/r",
                 "curl -sS -H 'Host: other.example' -H \"Authorization: Bearer $TOKEN\" https://good.example/front")
        everything = json.dumps(self.server.asked + self.plain.asked)
        self.assertEqual(everything.count(VALUE), 1)  # of the request that was redirected
        self.assertEqual([a["path"] for a in self.server.asked + self.plain.asked],
                         ["/a", "/b", "/to/other.example/r", "/plain", "/r"])
        self.assert_nowhere([VALUE])

    def test_what_comes_back_is_masked(self):
        out = self.act("curl -sS -H \"Authorization: Bearer $TOKEN\" https://good.example/echo",
                       "curl -sS -H \"Authorization: Bearer $TOKEN\" -H 'Accept-Encoding: gzip' https://good.example/echo/slow | tee kept | base64",
                       'bash {"command": "curl -sS -u x:$TOKEN https://good.example/echo; cat kept"}')
        for o in out:
            self.assertNotIn(VALUE, o)
        self.assertIn("Bearer " + "*" * len(VALUE), out[0])
        self.assertIn("Bearer " + "*" * len(VALUE), (self.work / "kept").read_text())
        self.assert_nowhere([VALUE])

    def test_another_server_is_not_believed(self):
        """One whose certificate is not of the system's roots gets nothing."""
        self.say(net=["false.example"], secrets={"TOKEN": {"hosts": ["false.example"]}})
        out = self.act("curl -sS -H \"Authorization: Bearer $TOKEN\" https://false.example/ 2>&1")
        self.assertEqual(self.server.asked, [])
        rows = [r for e in self.events("n") if e["kind"] == "outcome" for r in e["data"]["evidence"].get("network", [])]
        self.assertIn("certificate verify failed", json.dumps(rows), out)

    def test_others_are_tunnelled(self):
        """A host without a secret shows its own certificate."""
        self.say(net=["good.example", "other.example"], secrets={"TOKEN": {"hosts": ["good.example"]}})
        out = self.act("for h in good other; do curl -sSv https://$h.example/ 2>&1 | grep issuer; done")
        self.assertIn("CN=thole session", out[0])
        self.assertIn("CN=the test's authority", out[0])

    def test_a_tool_prints_it_all_the_same(self):
        """A file of the workspace has it: each way out is masked, also split over writes."""
        (self.work / "leak").write_text(VALUE)
        half = "python3 -u -c \"import time; t = open('leak').read()\nfor c in t: print(c, end='', flush=True); time.sleep(0.002)\""
        out = self.act("cat leak; od -An -v -tx1 leak | tr -d ' \\n'; base64 -w0 leak; (echo -n x; cat leak) | base64 -w0", half,
                       "bash " + json.dumps({"command": half}), 'read_file {"path": "leak"}', "cat leak >&2; cat leak leak",
                       "python3 -c \"t = open('leak').read(); [print(i, t) for i in range(3000)]\"")  # its whole is kept as a blob
        (self.work / "leak").unlink()
        for o in out:
            for f in forms(VALUE):
                self.assertNotIn(f.decode(), o)
        self.assert_nowhere([VALUE])

    def test_canaries(self):
        """Many secrets, used and echoed, then printed: none in any byte that was written."""
        rng, left = random.Random(int(os.environ.get("THOLE_CANARIES_SEED", "7"))), int(os.environ.get("THOLE_CANARIES", "60"))
        while left > 0:
            self.canaries(rng, min(left, 60))
            left -= 60
            if left > 0:  # the next ones have a home of their own
                self.tearDown()
                self.setUp()

    def canaries(self, rng, count):
        names = ["S%02d" % i for i in range(count)]
        values = ["".join(rng.choices(string.ascii_letters + string.digits + "+/=\"\\ ", k=rng.randint(8, 60))).strip() + "XYZ" for _ in names]
        used = rng.sample(range(count), min(count, 20))
        self.say(net=["good.example"], tools=["shell", "bash", "python", "read_file"],
                 secrets={n: {"hosts": ["good.example"], "headers": ["x-key"]} for n in names})
        self.env.update(zip(names, values))
        (self.work / "all").write_text("\n".join(values))
        (self.work / "name-of").mkdir()
        (self.work / "name-of" / values[0].replace("/", "_")).touch()  # a value may be a file's name, too
        out = self.act("for n in %s; do eval v=\\$$n; curl -sS -H \"X-Key: $v\" https://good.example/echo; done" % " ".join(names[i] for i in used),
                       "cat all", "od -An -tx1 all | tr -d ' \\n'; base64 -w0 all", 'bash {"command": "cat all; cat all >&2; ls name-of"}',
                       'python {"code": "import base64, json\\nt = open(\'all\').read()\\nprint(t, json.dumps(t), base64.urlsafe_b64encode(t.encode()))\\nt"}',
                       'read_file {"path": "all"}')
        (self.work / "all").unlink()
        shutil.rmtree(self.work / "name-of")
        self.assertEqual([a["headers"].get("X-Key") for a in self.server.asked], [values[i] for i in used])
        for o in out:
            for v in values:
                self.assertNotIn(v, json.dumps(o))
                self.assertNotIn(v, str(o))
        self.assert_nowhere(values)

    def test_the_process_list_and_environments(self):
        """No process but the runtime has the value in its environment or arguments."""
        ready = self.folder / "work" / "ready"
        run = self.start("run", "-m", "human/human", "-s", "p", "-a", self.agent, "go", stdin=subprocess.PIPE)
        run.stdin.write(b"shell touch ready; while [ -e ready ]; do sleep 0.05; done\n")
        run.stdin.flush()
        self.wait_for(ready.exists)
        seen = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if int(path.name) not in (run.pid, os.getpid()):
                    seen.append((path / "environ").read_bytes() + (path / "cmdline").read_bytes())
            except OSError:
                pass
        ready.unlink()
        run.communicate(b"done x\n")
        self.assertGreater(sum(b"TOKEN=thole_" in s for s in seen), 0)
        self.assertEqual(sum(VALUE.encode() in s for s in seen), 0)

    def test_the_placeholder_stays(self):
        first = self.act("echo $TOKEN")[0].split()[0]
        self.thole("computer", "-s", "n", "end")
        self.good("run", "-s", "n", "again", stdin='shell echo $TOKEN\ndone x\n')
        outputs = [e["data"]["output"] for e in self.events("n") if e["kind"] == "outcome"]
        self.assertEqual(outputs[1].split()[0], first)
        self.assertNotEqual(self.act("echo $TOKEN", name="other")[0].split()[0], first)

    def test_a_command_that_names_it_gets_the_value(self):
        self.env["DEPLOY"] = "it's deployed"
        (self.folder / "agent.json").write_text(json.dumps({"workspace": str(self.work), "tools": ["shell", "bash"], "secrets": {"DEPLOY": {"give": True}}}))
        for tool, name in (("shell", "g1"), ("bash", "g2")):
            script = "".join("%s %s\n" % (tool, json.dumps({"command": line})) for line in (
                "echo [${DEPLOYX:-}${#DEPLOY}]", 'test -n "$HOME" && env | grep -c deployed; true', "printf %s $deploy; echo $DEPLOY > out.txt; echo $DEPLOY"))
            (self.work / "out.txt").unlink(missing_ok=True)
            self.good("run", "-m", "human/human", "-a", self.folder / "agent.json", "-s", name, "go", stdin=script + "done x\n")
            outputs = [str(e["data"]["output"]) for e in self.events(name) if e["kind"] == "outcome"]
            self.assertIn("[13]", outputs[0])
            self.assertEqual((self.work / "out.txt").read_text(), "it's deployed\n")
            self.assertIn("*" * 13, outputs[2])
            self.assertNotIn("deployed", self.good("log", name, "--json").out.replace("grep -c deployed", ""))
        self.good("run", "-m", "human/human", "-a", self.folder / "agent.json", "-s", "g3", "go", stdin='shell {"command": "env | grep -c ^DEP; true"}\ndone x\n')
        self.assertIn("0", [str(e["data"]["output"]) for e in self.events("g3") if e["kind"] == "outcome"][0])

    def test_mistakes(self):
        def wrong(words, **agent):
            self.say(**agent)
            self.bad(2, words, "run", "-m", "human/human", "-a", self.agent, "go")

        wrong(["secrets", "need a net"], secrets={"T": {"hosts": ["a.example"]}})
        net = {"net": ["a.example"]}
        wrong(["secrets.T", "hosts", "missing"], secrets={"T": {}}, **net)
        wrong(["secrets.T", "give and hosts"], secrets={"T": {"hosts": ["a.example"], "give": True}}, **net)
        wrong(["secrets.T.hosts[0]", "any host"], secrets={"T": {"hosts": ["*"]}}, **net)
        wrong(["secrets.T.hosts[0]", "a method or a path"], secrets={"T": {"hosts": ["a.example/x"]}}, **net)
        wrong(["secrets.T.headers[0]", "no header"], secrets={"T": {"hosts": ["a.example"], "headers": ["host"]}}, **net)
        wrong(["secrets.T", "comes from one of them"], secrets={"T": {"hosts": ["a.example"], "env": "A", "file": "/b"}}, **net)
        wrong(["secrets.1T", "no name of a variable"], secrets={"1T": {"hosts": ["a.example"]}}, **net)
        for value, words in ((None, "is not set"), ("short", "has 5 bytes"), ("with\nnew lines in it", "a byte that no header")):
            self.say(secrets={"NOT_THERE": {"hosts": ["a.example"]}}, **net)
            self.env.pop("NOT_THERE", None)
            if value:
                self.env["NOT_THERE"] = value
            ended = self.bad(2, ["secrets.NOT_THERE: ", words], "run", "-m", "human/human", "-a", self.agent, "go")
            self.assertNotIn(value or "?", ended.err)
        self.assertEqual(self.good("sessions", "--names").out, "")


if __name__ == "__main__":
    house.main()
