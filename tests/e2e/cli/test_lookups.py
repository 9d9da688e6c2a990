# SPDX-License-Identifier: Apache-2.0
"""Secrets whose values a server or a program is asked for (`from`): when they are asked for, who gets them, what happens
when nobody answers, and that no byte written anywhere has one."""

import internet

internet.enter()

import json
import os
import pathlib
import shutil
import unittest

import house

FIRST, TOKEN = "first-value-Zx81kQ0v", "token-of-the-vault-77"
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.py")  # commands see the workspace alone


class Vault:
    """A page of an internet.Server: a value in JSON, another one each time, as often as it has any."""

    def __init__(self, most=100):
        self.given, self.most = [], most

    def __iter__(self):
        if len(self.given) >= self.most:
            return iter(("none", b"the vault says: no-such-thing-here"))
        self.given.append("next-value-%d-of-it" % len(self.given) if self.given else FIRST)
        return iter(("application/json", json.dumps({"data": {"value": self.given[-1]}}).encode()))


class Lookups(house.House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl makes the certificates, and is not installed")
        internet.trust_authority("good.example", "other.example")

    def setUp(self):
        super().setUp()
        self.server = internet.Server(port=443, tls=True)
        self.vault = Vault()
        self.server.pages["/secret"] = self.vault
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\n")
        self.env["VAULT_TOKEN"] = TOKEN
        self.agent = self.folder / "agent.yaml"

    def tearDown(self):
        super().tearDown()
        self.server.end()

    def say(self, **agent):
        self.agent.write_text(json.dumps(dict({"name": "a", "tools": ["shell", "bash", "read_file"], "workspace": str(self.work)}, **agent)))

    def act(self, *lines, name="n", code=0):
        lines = [c if c.startswith(("bash ", "read_file ", "mine ", "theirs ")) else "shell " + json.dumps({"command": c}) for c in lines] + ["done good"]
        self.good("run", "-m", "human/human", "-s", name, "-a", self.agent, "go", stdin="\n".join(lines) + "\n", code=code)
        return [e["data"] for e in self.events(name) if e["kind"] == "outcome"]

    def assert_nowhere(self, *values):
        looked = 0
        for top in ("state", "runtime", "data", "cache"):
            for path in pathlib.Path(self.folder, top).rglob("*"):
                if path.is_file():
                    looked += 1
                    for v in values:
                        self.assertNotIn(v.encode(), path.read_bytes(), path)
        self.assertGreater(looked, 2)

    def asked(self, path):
        return [a for a in self.server.asked if a["path"] == path]


FROM = {"url": "https://good.example/secret", "token_env": "VAULT_TOKEN", "token_header": "X-Vault-Token", "member": ["data", "value"]}


class OfAServer(Lookups):
    def test_commands_that_name_it_get_it(self):
        (self.work / "old.txt").write_text("old\n")
        self.say(secrets={"DEPLOY": {"give": True, "from": FROM}})
        out = self.act('read_file {"path": "old.txt"}', "printf %s $DEPLOY > got.txt; echo $DEPLOY", 'bash {"command": "printf %s $DEPLOY > bash.txt"}')
        self.assertEqual(out[0]["status"], "done")  # one that only looks waits for it, too
        self.assertEqual((self.work / "got.txt").read_text(), FIRST)
        self.assertEqual((self.work / "bash.txt").read_text(), FIRST)
        self.assertIn("*" * len(FIRST), str(out[1]["output"]))
        self.assertEqual([a["headers"].get("X-Vault-Token") for a in self.asked("/secret")], [TOKEN])  # once
        self.assert_nowhere(FIRST, TOKEN)

    def test_it_is_put_in_and_asked_for_again(self):
        """The egress has the new one, and both are masked."""
        self.say(net=["good.example", "other.example"], secrets={"KEY": {"hosts": ["other.example"], "from": dict(FROM, refresh_s=1)}})
        use = "curl -sS -H \"Authorization: Bearer $KEY\" https://other.example/%s"
        out = self.act(use % "echo", "sleep 1.1", use % "echo?2")
        sent = [a["headers"]["Authorization"].split()[1] for a in self.server.asked if a["path"].startswith("/echo")]
        self.assertEqual(sent[0], FIRST)
        self.assertIn(sent[1], self.vault.given[1:])
        for o in (out[0], out[2]):
            self.assertIn("Bearer ****", str(o["output"]))
        self.assert_nowhere(*self.vault.given)

    def test_the_former_one_is_used_on(self):
        """Where it cannot be asked for again; it is not tried at once for each call."""
        self.vault.most = 1
        self.say(secrets={"DEPLOY": {"give": True, "from": dict(FROM, refresh_s=1)}})
        out = self.act("sleep 1.1", "printf %s $DEPLOY > 2.txt", "sleep 1.1", "printf %s $DEPLOY > 4.txt")
        self.assertEqual([o["status"] for o in out], ["done"] * 4)
        self.assertEqual([(self.work / n).read_text() for n in ("2.txt", "4.txt")], [FIRST] * 2)
        self.assertEqual(len(self.asked("/secret")), 2)

    def test_no_value_no_call(self):
        """A status is told, and nothing of what came with it; the next call asks again."""
        self.vault.most = 0
        self.say(secrets={"DEPLOY": {"give": True, "from": FROM}})
        out = self.act("touch made.txt", "touch made.txt")
        self.assertEqual([o["status"] for o in out], ["not_started"] * 2)
        self.assertIn("secrets.DEPLOY: its server answered HTTP 404", str(out[0]["output"]))
        self.assertNotIn("no-such-thing", json.dumps(self.events("n")))
        self.assertFalse((self.work / "made.txt").exists())
        self.assertEqual(len(self.asked("/secret")), 2)
        self.vault.most = 1
        self.good("run", "-s", "n", "again", stdin="shell touch made.txt\ndone x\n")
        self.assertTrue((self.work / "made.txt").exists())

    def test_two_are_asked_for_at_once(self):
        """A call waits for both; one that fails is named, and not the other."""
        other = Vault(0)
        self.server.pages["/other"] = other
        self.say(secrets={"DEPLOY": {"give": True, "from": FROM}, "SHIP": {"give": True, "from": dict(FROM, url="https://good.example/other", refresh_s=1)}})
        out = self.act("touch made.txt")
        self.assertIn("secrets.SHIP: its server answered HTTP 404", str(out[0]["output"]))
        other.most = 100
        out = self.act("printf '%s %s' $DEPLOY $SHIP > got.txt", name="m")
        self.assertEqual(out[0]["status"], "done", out)
        self.assertEqual((self.work / "got.txt").read_text(), "%s %s" % (FIRST if len(self.vault.given) == 1 else self.vault.given[-1], other.given[-1]))
        self.assertFalse((self.work / "made.txt").exists())


class OfAProgram(Lookups):
    def program(self, text):
        path = self.folder / "lookup"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return {"command": [str(path), "an argument"], "pass": ["VAULT_TOKEN"]}

    def test_its_output_is_the_value(self):
        """It has what it is passed of thole's environment, and no more."""
        self.env["OTHER_SECRET_OF_THOLE"] = "x"
        self.say(secrets={"DEPLOY": {"give": True, "from": self.program("env > %s/env; echo \"$1\"; echo hush-hush >&2\n" % self.folder)}})
        out = self.act("printf %s \"$DEPLOY\" > got.txt")
        self.assertEqual((self.work / "got.txt").read_text(), "an argument", out)
        env = (self.folder / "env").read_text()
        self.assertIn("VAULT_TOKEN=" + TOKEN, env)
        self.assertNotIn("OTHER_SECRET_OF_THOLE", env)
        self.assert_nowhere("an argument\n", "hush-hush")

    def test_it_fails(self):
        for text, words in (("echo hush-hush >&2; echo hush-hush; exit 3\n", "its program ended with exit status 3"), ("echo short\n", "has 5 bytes"),
                            ("head -c 70000 /dev/zero | tr '\\\\0' x; sleep 60\n", "writes too much"), ("kill -9 $$\n", "with signal 9")):
            self.say(secrets={"DEPLOY": {"give": True, "from": self.program(text)}})
            out = self.act("touch made.txt", name="f%d" % len(words))
            self.assertEqual(out[0]["status"], "not_started", text)
            self.assertIn(words, str(out[0]["output"]))
            self.assertNotIn("hush-hush", json.dumps(self.events("f%d" % len(words))))
        self.say(secrets={"DEPLOY": {"give": True, "from": dict(self.program("sleep 60\n"), timeout_s=1)}})
        self.assertIn("has not ended in time", str(self.act("touch made.txt", name="late")[0]["output"]))
        self.assertFalse((self.work / "made.txt").exists())

    def test_programs_that_are_tools_hooks_and_servers(self):
        """They get it where the file says so, and no other does."""
        self.env["KEY"], self.env["NONE"] = "key-of-them-all-1", "key-of-nobody-22"
        shutil.copy(SERVER, self.work)
        tools = [{"name": n, "description": "d", "command": ["sh", "-c", "env > tool.%s" % n]} for n in ("mine", "theirs")]
        servers = [{"name": n, "command": ["sh", "-c", "env > server.%s; exec python3 mcp_server.py" % n]} for n in ("ours", "others")]
        hooks = {"pre_tool_use": [{"matcher": "mine", "hooks": [{"command": "env > hook.1; : $KEY"}, {"command": "env > hook.2"}]}]}
        self.say(tools=["shell"] + tools, mcp_servers=servers, hooks=hooks,
                 secrets={"KEY": {"give": True, "tools": ["mine"], "servers": ["ours"], "hooks": True}, "NONE": {"give": True}})
        self.act('mine {}', 'theirs {}')
        for name, has in (("tool.mine", True), ("tool.theirs", False), ("server.ours", True), ("server.others", False), ("hook.1", True), ("hook.2", False)):
            env = (self.work / name).read_text()
            self.assertEqual("KEY=" + self.env["KEY"] in env, has, name)
            self.assertNotIn(self.env["NONE"], env, name)
        self.assert_nowhere(self.env["KEY"])

    def test_mistakes(self):
        def wrong(words, **secret):
            self.say(secrets={"T": dict({"give": True}, **secret)})
            self.bad(2, ["secrets.T"] + words, "run", "-m", "human/human", "-a", self.agent, "go")

        wrong(["from", "either a url or a command"], **{"from": {}})
        wrong(["from", "either a url or a command"], **{"from": {"url": "https://a.example", "command": ["x"]}})
        wrong(["from", "not http"], **{"from": {"url": "file:///etc/passwd"}})
        wrong(["from", "which is for a url"], **{"from": {"command": ["x"], "token_env": "A"}})
        wrong(["from", "token_env that is no name of a variable"], **{"from": {"url": "https://a.example", "token_env": "sk-a1"}})
        wrong(["env", "the name of a variable"], env="sk-a1")
        wrong(["from", "which is for a command"], **{"from": {"url": "https://a.example", "pass": ["A"]}})
        wrong(["from", "has no token_env"], **{"from": {"url": "https://a.example", "token_header": "X-A"}})
        wrong(["from", "may hold no token"], **{"from": {"url": "https://a.example", "token_env": "A", "token_header": "host"}})
        wrong(["from", "more than 300"], **{"from": {"url": "https://a.example", "timeout_s": 301}})
        wrong(["from", "more than 64 arguments"], **{"from": {"command": ["x"] * 65}})
        wrong(["from", "32 variables"], **{"from": {"command": ["x"], "pass": ["A"] * 33}})
        wrong(["from", "16 names"], **{"from": {"command": ["x"], "member": ["A"] * 17}})
        wrong(["comes from one of them"], env="A", **{"from": {"command": ["x"]}})
        wrong(["tools[0]", "no program that is a tool"], tools=["shell"])
        wrong(["servers[0]", "no MCP server"], servers=["nobody"])
        self.say(net=["a.example"], secrets={"T": {"hosts": ["a.example"], "hooks": True}})
        self.bad(2, ["secrets.T", "with give alone"], "run", "-m", "human/human", "-a", self.agent, "go")


del Lookups

if __name__ == "__main__":
    house.main()
