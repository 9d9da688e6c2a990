# SPDX-License-Identifier: Apache-2.0
"""Agents in Markdown files, as OpenHands has them: read when a session begins, given tasks by the tool task, never less bound than who gives them."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import house

LOOKER = """---
name: looker
description: Looks into files.
tools: [file_editor]
max_iteration_per_run: 2
permission_mode: never_confirm
color: blue
---
You look into files and say what is in them.
"""


TOLD = "Gives a task to another agent"


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


def task(agent="looker"):
    return call("task", prompt="Look at d.txt.", subagent_type=agent)


class Subagents(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.file("looker.md", LOOKER)
        (self.work / "d.txt").write_text("what is in it\n")

    def file(self, name, text, folder=".agents/agents"):
        place = self.work / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)

    def agent(self, more="subagents: {repository: true}"):
        path = self.folder / "agent.yaml"
        path.write_text("name: boss\nworkspace: %s\ntools: [think]\n%s\n" % (self.work, more))
        return path

    def rules(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules)})
        self.env["OPENAI_BASE_URL"] = self.standin.url

    def of_helper(self, turn, *parts, **expect):
        return dict({"if": [{"first_user": "Look at d.txt"}, {"turns": {"equals": turn}}], "parts": list(parts)}, **expect)

    def test_a_task(self):
        self.file("README.md", "no agent")
        self.file("looker.md", "---\nname: looker\n---\nanother\n", ".openhands/agents")  # the first of a name counts
        self.rules(self.of_helper(0, call("file_editor", command="view", path="d.txt"), expect=[
                       {"system": {"contains": "You look into files"}}, {"tool": "file_editor"}, {"tool": "finish"}, {"body": {"not_contains": TOLD}}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "what is in it"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()], "expect": [{"tool": "task"}, {"body": {"contains": "looker: Looks into files."}}]},
                   {"parts": [{"text": "Done."}], "expect": [{"tool_output": {"nth": -1, "contains": "RESULT"}}]})
        self.assertIn("Done.", self.good("run", "-a", self.agent(), "-s", "one", "Begin.").out)
        # The log has what was read: the files may go.
        (self.work / ".agents" / "agents" / "looker.md").unlink()
        self.standin.end()
        self.rules({"parts": [{"text": "Still."}], "expect": [{"body": {"contains": "looker: Looks into files."}}]})
        self.good("run", "-s", "one", "And now?")

    def test_its_skills(self):
        """Those of its caller that its file names: listed, read, and said by a word of its task."""
        for name, matter in (("how", ""), ("where", "triggers: [d.txt]\n"), ("other", "")):
            self.file("SKILL.md", "---\nname: %s\ndescription: Says %s.\n%s---\nTHE TEXT OF %s\n" % (name, name, matter, name.upper()), ".agents/skills/" + name)
        self.file("looker.md", LOOKER.replace("color: blue", "skills: [how, where]"))
        self.rules(self.of_helper(0, {"function_call": {"name": "skill", "arguments": {"name": "how"}}}, expect=[
                       {"system": {"contains": "Says how."}}, {"system": {"not_contains": "Says other."}}, {"tool": "skill"}, {"body": {"contains": "THE TEXT OF WHERE"}}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "THE TEXT OF HOW"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}], "expect": [{"tool_output": {"nth": -1, "contains": "RESULT"}}]})
        self.assertIn("Done.", self.good("run", "-a", self.agent("subagents: {repository: true}\nskills: {repository: true}"), "-s", "one", "Begin.").out)
        self.file("looker.md", LOOKER.replace("color: blue", "skills: [none]"))
        self.assertIn("no skill \"none\"", self.thole("run", "-a", self.agent("subagents: {repository: true}\nskills: {repository: true}"), "x").err)

    def test_its_own_limit(self):
        look = call("file_editor", command="view", path="d.txt")
        self.rules(*(self.of_helper(n, look) for n in range(9)), {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent(), "-s", "one", "Begin.")
        finished = [e["data"] for e in self.events("one") if e["kind"] == "delegation_finished"]
        self.assertEqual([d["turns"] for d in finished], [2])

    def test_no_file_frees_itself(self):
        """Its caller asks a person about each call, and the file would not."""
        self.rules(self.of_helper(0, call("file_editor", command="create", path="new.txt", file_text="x")),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent("subagents: {repository: true}\nconfirm: {when: always}\n"), "-s", "one", "Begin.", code=3)
        if not any(e["kind"] == "delegation_started" for e in self.events("one")):  # the task itself waits first
            self.good("approve", "one")
            self.good("resume", "one", code=3)
        self.assertFalse((self.work / "new.txt").exists())

    def test_quarantine_holds_for_it(self):
        """What its caller's model may not see, its own does not see either."""
        answer = {"answer": "It is short.", "facts": [], "instructs": False}
        self.rules({"if": {"tail": "is the data of strangers below"}, "parts": [{"text": json.dumps(answer)}]},
                   self.of_helper(0, call("file_editor", command="view", path="d.txt")),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[
                       {"tool_output": {"nth": -1, "contains": "It is short."}}, {"body": {"not_contains": "what is in it"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", self.agent("subagents: {repository: true}\nquarantine: [file_editor]"), "-s", "one", "Begin.")

    # ---- programs of its own ----

    SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_server.py")

    def with_programs(self, **more):
        shutil.copy(self.SERVER, self.work)  # commands see the workspace alone
        matter = dict({"name": "looker", "description": "Looks.", "mcp_servers": {"own": {"command": "sh", "args": [
            "-c", "env > server.env; exec python3 mcp_server.py"], "env": {"A_SETTING": "of the file"}}},
            "hooks": {"pre_tool_use": [{"matcher": "own_add", "hooks": [{"command": "cat > hook.json; env > hook.env; : $KEY"}]}],
                      "session_end": [{"hooks": [{"command": "touch ended"}]}]}}, **more)
        return "---\n%s\n---\nYou look.\n" % json.dumps(matter)

    def test_servers_and_hooks_of_a_trusted_place(self):
        """In the sandbox of commands, about this agent alone, and without its caller's secrets."""
        self.env["KEY"] = "the-key-of-the-caller"
        self.file("looker.md", self.with_programs())
        self.rules(self.of_helper(0, call("own_add", a=2, b=3), expect=[{"tool": "own_add"}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "5"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()], "expect": [{"body": {"not_contains": "own_add"}}]}, {"parts": [{"text": "Done."}]})
        more = "subagents: {repository: true, trusted: [repository]}\nsecrets: {KEY: {give: true, hooks: true}}"
        self.assertIn("Done.", self.good("run", "-a", self.agent(more), "-s", "one", "Begin.").out)
        self.assertEqual(json.loads((self.work / "hook.json").read_text())["tool_name"], "own_add")
        self.assertIn("A_SETTING=of the file", (self.work / "server.env").read_text())
        for name in ("server.env", "hook.env"):
            self.assertNotIn(self.env["KEY"], (self.work / name).read_text())
        self.assertTrue((self.work / "ended").exists())
        self.assertFalse([e for e in self.events("one") if e["kind"] in ("hook_started", "mcp_tools")])  # all of it is the helper's
        helper = [e["data"]["child"] for e in self.events("one") if e["kind"] == "delegation_started"][0]
        self.assertEqual([e["data"]["name"] for e in self.events(helper) if e["kind"] == "hook_started"],
                         ["looker: pre_tool_use 1", "looker: session_end 1"])

    def test_its_callers_rules_hold_for_its_servers(self):
        self.file("looker.md", self.with_programs())
        self.rules(self.of_helper(0, call("own_add", a=2, b=3)), self.of_helper(1, call("finish", message="RESULT"), expect=[
                       {"tool_output": {"nth": -1, "contains": "a rule of the agent file forbids this"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()]}, {"parts": [{"text": "Done."}]})
        more = "subagents: {repository: true, trusted: [repository]}\nrules: [{tool: 'own_*', decide: refuse}]"
        self.good("run", "-a", self.agent(more), "-s", "one", "Begin.")
        self.assertFalse((self.work / "hook.json").exists())

    def test_a_server_at_an_address_that_the_agent_file_names(self):
        """Thole itself calls it, so the place is named: by nobody, by another port, with another path, and then by its origin."""
        server = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(self.SERVER), "mcp_http.py")], cwd=self.work, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        url = server.stdout.readline().decode().strip()
        origin = url[:url.index("/", 8)]
        self.file("looker.md", self.with_programs(hooks=None, mcp_servers={"own": {"type": "http", "url": url, "headers": {"X-Team": "blue"}}}))
        self.rules(self.of_helper(0, call("own_add", a=2, b=3), expect=[{"tool": "own_add"}]),
                   self.of_helper(1, call("finish", message="RESULT"), expect=[{"tool_output": {"nth": -1, "contains": "5"}}]),
                   {"if": {"turns": {"equals": 0}}, "parts": [task()], "expect": [{"body": {"not_contains": "own_add"}}]}, {"parts": [{"text": "Done."}]})
        for servers, trusted, words in (([], "repository", "does not name"), ([origin + "0"], "repository", "does not name"), ([origin], "user", "has none where"),
                                        ([url], "repository", "servers[0] is not of the form")):
            ended = self.thole("run", "-a", self.agent("subagents: {repository: true, trusted: [%s], servers: %s}" % (trusted, json.dumps(servers))), "x")
            self.assertEqual((ended.code, words in ended.err), (2, True), ended.err)
        more = "subagents: {repository: true, trusted: [repository], servers: [%s]}" % json.dumps(origin)
        self.assertIn("Done.", self.good("run", "-a", self.agent(more), "-s", "one", "Begin.").out)

    def test_nothing_starts_where_nobody_trusts_it(self):
        (self.folder / "home" / ".agents" / "agents").mkdir(parents=True, exist_ok=True)
        for key in ("mcp_servers", "hooks"):
            for trusted in ("", ", trusted: [user, folders]"):
                matter = {"hooks": None, "mcp_servers": None}
                del matter[key]
                self.file("looker.md", self.with_programs(**matter))
                ended = self.thole("run", "-a", self.agent("subagents: {repository: true%s}" % trusted), "x")
                self.assertEqual(ended.code, 2)
                self.assertIn("looker.md: %s: an agent in a file has none where subagents.trusted" % key, ended.err)
        self.assertFalse((self.work / "server.env").exists())
        self.bad(2, "trusted[0] must be", "run", "-a", self.agent("subagents: {repository: true, trusted: [all]}"), "x")

    def test_servers_that_a_file_may_not_bring(self):
        for server, words in (({"url": "https://a.example"}, "does not name"), ({"args": ["x"]}, "no command"), ({"command": "x", "cwd": "/"}, "has cwd"),
                              ({"command": "x", "args": ["${KEY}"]}, "environment are not for files"), ({"command": "x", "env": {"A": "${KEY}"}}, "not for files"),
                              ({"command": "x", "args": "y"}, "no list of texts"), ({"command": "x", "env": {"A=B": "c"}}, "no object of texts"),
                              ({"command": "x", "type": "sse"}, "no program on standard")):
            self.file("looker.md", self.with_programs(hooks=None, mcp_servers={"own": server}))
            ended = self.thole("run", "-a", self.agent("subagents: {repository: true, trusted: [repository]}"), "x")
            self.assertIn("looker.md: the server own: ", ended.err)
            self.assertIn(words, ended.err)
        self.file("looker.md", self.with_programs(hooks=None))
        self.env["KEY"] = "the-key-of-the-caller"
        more = "subagents: {repository: true, trusted: [repository]}\nmcp_servers: [{name: own, command: [x]}]\nsecrets: {KEY: {give: true, servers: [own]}}"
        self.assertIn("has the name of one that gets a secret", self.thole("run", "-a", self.agent(more), "x").err)

    def test_what_is_no_agent(self):
        for text, words in (("---\ntools: [nope]\n---\nx\n", "nope"), ("---\nskills: [a]\n---\nx\n", "no skill"), ("---\nhooks: {stop: [{}]}\n---\nx\n", "hooks"),
                            ("---\nmax_iteration_per_run: 0\n---\nx\n", "max_iteration_per_run"),
                            ("---\npermission_mode: maybe\n---\nx\n", "permission_mode"), ("---\na: [\n---\nx\n", "bad.md")):
            self.file("bad.md", text)
            ended = self.thole("run", "-a", self.agent(), "x")
            self.assertNotEqual(ended.code, 0)
            self.assertIn("bad.md", ended.err)
            self.assertIn(words, ended.err)
        self.file("bad.md", LOOKER.replace("looker", "bad"))
        taken = self.agent("agents: {x: {}}\nsubagents: {repository: true}")
        taken.write_text(taken.read_text().replace("tools: [think]", "tools: [{name: task, agent: x}]"))
        self.bad(2, "need the name task", "run", "-a", taken, "x")

    def test_words_as_openhands_reads_them(self):
        """Great letters, blanks, numbers in quotes, and each word for a condenser or none."""
        self.file("readme.md", "---\nname: [\n---\n")
        for i, (members, condenses, confirm) in enumerate((
                ("condenser: off", False, None), ("condenser: false", False, None), ("condenser: ' None '", False, None), ("condenser: Disabled", False, None),
                ("condenser: inherit", True, None), ("condenser: true", True, None), ("condenser: ''", True, None), ("model: inherit", True, None),
                ("permission_mode: ' Always_Confirm'\nmax_iteration_per_run: '3'\nmax_budget_per_run: '0.5'", True, "always"))):
            self.file("looker.md", "---\nname: looker\ntools: [file_editor]\n%s\n---\nYou look.\n" % members)
            self.rules({"parts": [{"text": "Done."}]})
            self.good("run", "-a", self.agent(), "-s", "n%d" % i, "Begin.")
            self.standin.end()
            agent = self.events("n%d" % i)[0]["data"]["agent"]
            looker = agent["agents"]["looker"]
            self.assertEqual(("compact" in looker, (looker.get("confirm") or {}).get("when")), (condenses, confirm), members)
        self.assertEqual([(limit["turns"], limit["cost_usd"]) for limit in agent["commands"][0]["limits"]], [(3, 0.5)])
        for members, words in (("condenser: some", "condenser must be"), ("condenser: 3", "condenser must be"), ("max_iteration_per_run: '3x'", "numbers above 0")):
            self.file("looker.md", "---\nname: looker\n%s\n---\nYou look.\n" % members)
            self.bad(2, words, "run", "-a", self.agent(), "x")

    def test_without_and_none(self):
        self.rules({"parts": [{"text": "Done."}], "expect": [{"body": {"not_contains": TOLD}}]})
        self.good("run", "-a", self.agent("subagents: {repository: true, without: [looker]}"), "-s", "one", "Begin.")
        self.good("run", "-a", self.agent(""), "-s", "two", "Begin.")


if __name__ == "__main__":
    if not house.SHARED.is_dir():
        house.main()
    unittest.main(verbosity=2)
