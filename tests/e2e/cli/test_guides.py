# SPDX-License-Identifier: Apache-2.0
"""What the guides tell people to write is taken. (The commands of docs/OPENHANDS.md are run by test_openhands.py.)"""

import re
import unittest

import house

# Whose agents test_agents.py runs.
ELSEWHERE = ("AGENTS.md",)
# Members of an agent file that stand in the text as `member: value`.
MEMBERS = ("compact", "skills", "subagents", "stuck", "confirm", "limits", "judge", "secrets", "hooks", "tool_use_behavior")
# Words of the text that stand for something else.
PLACES = ("NAME", "FUNCTION", "…", "N}", "VARIABLE", " or ")


def page(name):
    return (house.SOURCE / "docs" / name).read_text()


def blocks(text, language):
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.MULTILINE | re.DOTALL)


def mentioned(text):
    """Members in backquotes that are whole: `compact: {condenser: recent, keep: 100}`."""
    text = re.sub(r"^```.*?^```|``.*?``", "", text, flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`]+)`", text):
        code = " ".join(code.split())
        member, _, value = code.partition(": ")
        # `{turns, cost_usd}` only names members.
        names = re.fullmatch(r"\{[\w, ]+\}", value)
        if member in MEMBERS and value.startswith("{") and value.endswith("}") and not names and not any(word in value for word in PLACES):
            yield code


class Guides(house.House):
    def takes(self, text):
        path = self.folder / "agent.yaml"
        path.write_text(text + "\n" if text.startswith("name: ") else "name: a\n" + text + "\n")
        ended = self.thole("plumb", "encode", "--model", "gpt-5.4", "--agent", path, stdin='{"items": []}')
        self.assertEqual(ended.code, 0, "%s\n%s" % (text, ended))

    def takes_configuration(self, text):
        path = self.folder / "some.yaml"
        path.write_text(text)
        if re.search("^models:", text, re.MULTILINE):
            self.good("models", "--models", path)
        else:  # what is wrong with it is told before what is wrong with the folder
            self.bad(1, "agents %s" % (self.folder / "none"), "serve", "--config", path, "--agents", self.folder / "none", "--listen", "unix:%s" % (self.folder / "sock"))

    def test_agent_files(self):
        count = 0
        for path in sorted((house.SOURCE / "docs").glob("*.md")):
            text = page(path.name)
            for lua in blocks(text, "lua"):
                for function in re.findall(r"^function (\w+)", lua, re.MULTILINE):
                    (self.folder / (function + ".lua")).write_text(lua)
            for part in [*blocks(text, "yaml"), *mentioned(text)] if path.name not in ELSEWHERE else ():
                count += 1
                with self.subTest(page=path.name, part=part):
                    if re.search("^(models|serve|store):", part, re.MULTILINE):
                        self.takes_configuration(part)
                    else:
                        self.takes(part)
        self.assertGreater(count, 30)

    def test_the_skill(self):
        """The file of SKILLS.md is told when its word comes, and its input is filled in."""
        [skill] = blocks(page("SKILLS.md"), "markdown")
        folder = self.work / ".agents" / "skills" / "release"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill)
        agent = self.folder / "agent.yaml"
        agent.write_text("name: a\nmodel: gpt-5.4\nworkspace: %s\nskills: {repository: true}\n" % self.work)
        said = "Write what users notice"
        self.serve({"parts": [{"text": "One."}], "expect": [{"body": {"not_contains": said}}]},
                   {"parts": [{"text": "Two."}], "expect": [{"body": {"contains": said + ". The version is 9.8.7."}}]})
        self.good("run", "-a", agent, "-s", "s", "Hello.")
        self.good("run", "-s", "s", "/release version=9.8.7")


if __name__ == "__main__":
    if not house.SHARED.is_dir():
        house.main()
    unittest.main(verbosity=2)
