# SPDX-License-Identifier: Apache-2.0
"""What a policy says of a tool holds for it by each of its names, and for a tool that does the same; a name of no tool is refused."""

import house
from test_acp import Editor

BASH = 'bash {"command": "touch made"}\n'
EDIT = 'edit {"command": "create", "path": "new", "file_text": "x"}\n'
LOOK = 'edit {"command": "view", "path": "there"}\n'


class Names(house.House):
    def setUp(self):
        super().setUp()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 2\n")  # and no tools: the default agent's
        (self.work / "there").write_text("text\n")

    def file(self, text):
        path = self.folder / "names.yaml"
        path.write_text("name: names\nmodel: human/human\n" + text)
        return path

    def asked(self, name, text, calls, *options):
        """Runs the calls, and returns the tools that a person was asked about."""
        words = ("-a", self.file(text)) if text is not None else ("-m", "human/human")
        ended = self.thole("run", *words, "-s", name, *options, "go", stdin=calls)
        self.assertIn(ended.code, (0, 3), ended)
        return [e["data"]["tool"] for e in self.events(name) if e["kind"] == "call" and e["data"].get("policy") == "ask"]

    def test_approve_on_the_default_agent(self):
        for number, (approve, calls, want) in enumerate([
                ("shell,write_file", BASH, ["bash"]), ("shell,write_file", EDIT, ["edit"]), ("shell,write_file", LOOK + "done so\n", []),
                ("read_file", LOOK, ["edit"]), ("read_file", EDIT + "done so\n", []), ("terminal", BASH, ["bash"]), ("execute_bash", BASH, ["bash"]),
                ("str_replace_editor", EDIT, ["edit"]), ("edit", 'write_file {"path": "new2", "content": "x"}\n', ["write_file"]),
                ("bash", 'shell {"command": "touch made"}\n', ["shell"])]):
            with self.subTest(approve=approve, calls=calls):
                self.assertEqual(self.asked("d%d" % number, None, calls, "--approve", approve), want)
                self.assertFalse((self.work / "made").exists())

    def test_files(self):
        for number, (text, calls, want) in enumerate([
                ("approve: [shell]\n", BASH, ["bash"]),
                ("tools: [execute_bash]\napprove: [bash]\n", "execute_" + BASH, ["execute_bash"]),
                ("tools: [terminal]\nrules: [{tool: bash, decide: ask}]\n", BASH.replace("bash", "terminal", 1), ["terminal"]),
                ("tools: [bash, shell]\napprove: [shell]\n", BASH, ["bash"]),
                # A word that lets run is for the tool itself.
                ("approve: [bash]\nrules: [{tool: shell, decide: run}]\n", BASH, ["bash"]),
                ("tools: [terminal]\napprove: [bash]\nrules: [{tool: execute_bash, decide: run}]\n",
                 'terminal {"command": "true"}\ndone so\n', [])]):
            with self.subTest(text=text):
                self.assertEqual(self.asked("f%d" % number, text, calls), want)
                self.assertFalse((self.work / "made").exists())

    def test_a_refusal_holds(self):
        for number, (text, calls) in enumerate([("rules: [{tool: shell, decide: refuse}]\n", BASH),
                                                ("tools: [terminal]\nrules: [{tool: bash, decide: refuse}]\n", BASH.replace("bash", "terminal", 1))]):
            with self.subTest(text=text):
                self.assertEqual(self.asked("r%d" % number, text, calls + "done so\n"), [])
                outcome, = [e["data"] for e in self.events("r%d" % number) if e["kind"] == "outcome"]
                self.assertEqual((outcome["status"], (self.work / "made").exists()), ("refused", False), outcome)

    def test_guardrails_and_hooks(self):
        guard = "guardrails: [{name: no, stage: tool_input, tools: [shell]}]\nscript: |\n  function no(q) return {message = 'not here'} end\n"
        hook = "hooks: {pre_tool_use: [{matcher: '%s', hooks: [{command: 'exit 2'}]}]}\n"
        shell = 'shell {"command": "touch made"}\n'
        for number, (text, calls) in enumerate([(guard, BASH), (hook % "shell", BASH), (hook % "terminal", shell), (hook % "/^execute_bash$/", shell)]):
            with self.subTest(text=text):
                self.asked("g%d" % number, text, calls + "done so\n")
                self.assertFalse((self.work / "made").exists())
                self.good("log", "--verify", "g%d" % number)

    def test_what_is_named_like_ours_is_its_own(self):
        text = ("tools: [search, {name: grep, command: [/bin/true]}]\napprove: [search]\n"
                "rules: [{tool: grep, decide: run}]\n")
        self.assertEqual(self.asked("own", text, 'search {"files": "*"}\n'), ["search"])

    def test_no_tool_of_the_agent(self):
        tells = [(["--approve", "python"], 'approve[0] is "python", which is no tool of this agent; it has: bash, edit, search'),
                 (["--approve", "terminal,fetch", "--tools", "bash"], 'approve[1] is "fetch", which is no tool of this agent; it has: bash'),
                 (["--approve", "computer"], 'approve[0] is "computer", which is no tool of this agent'),
                 (["--approve", "red_file"], 'did you mean "read_file"?')]
        for words, sentence in tells:
            self.bad(2, sentence, "run", "-m", "human/human", *words, "go")
        for text, sentence in [("approve: [python]\n", 'approve[0] is "python", which is no tool of this agent; it has: bash, edit, search'),
                               ("tools: [bash]\napprove: [edit]\n", 'names.yaml:4: approve[0] is "edit", which is no tool of this agent; it has: bash'),
                               ("rules: [{tool: refund, decide: ask}]\n", 'rules[0].tool is "refund", which is no tool of this agent')]:
            self.bad(2, sentence, "run", "-a", self.file(text), "go")
        # A file's word about a tool that this run leaves out is none about another.
        self.assertEqual(self.asked("less", "tools: [bash, edit]\napprove: [edit]\n", 'bash {"command": "true"}\ndone so\n', "--tools", "terminal,bash"), [])
        self.assertEqual(self.asked("blind", "computer: {kind: desktop}\napprove: [computer]\n", "done so\n", "-c", "none"), [])
        self.assertEqual(self.asked("more", "approve: [python]\n", "done so\n", "--tools", "python"), [])

    def test_an_editor(self):
        """What a program gives its agent is looked at when a session begins."""
        editor = Editor(self, "-m", "human/human", "--approve", "shell,python")
        editor.good("initialize", protocolVersion=1, clientCapabilities={})
        error = editor.ask("session/new", cwd=str(self.work), mcpServers=[])["error"]
        self.assertIn('approve[1] is "python", which is no tool of this agent; it has: bash, edit, search', error["message"])
        editor.end()


if __name__ == "__main__":
    house.main()
