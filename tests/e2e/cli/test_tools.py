# SPDX-License-Identifier: Apache-2.0
"""The default agent's tools: the snippet of docs/TOOLS.md, and a shell that outlives the runtime's SIGKILL."""

import base64
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest
import zlib

import house


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(3 * width)) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Tools(house.House):
    def setUp(self):
        super().setUp()
        # The agent that people get: the house's own configuration names the tools of other tests.
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\n")

    def outputs(self, name):
        return [e["data"]["output"] for e in self.events(name) if e["kind"] == "outcome"]

    def test_the_guide(self):
        """What docs/TOOLS.md says to type does what it says."""
        guide = pathlib.Path(os.environ["SOURCE_DIR"], "docs", "TOOLS.md").read_text()
        (snippet,) = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
        env = dict(self.env, PATH="%s:%s" % (pathlib.Path(house.THOLE).parent, self.env["PATH"]))
        ended = subprocess.run(["bash", "-c", snippet], cwd=self.work, env=env, timeout=60,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("kept in sub\n", self.outputs("try")[1])
        self.assertTrue((self.work / "sub").is_dir())

    def test_each_tool(self):
        """Through intent, executor and journal; looking is of class R, and the old tools can still be called."""
        self.good("run", "-m", "human/human", "-s", "all", "go", stdin="\n".join([
            'edit {"command": "create", "path": "a/b.txt", "file_text": "one\\r\\ntwo\\r\\n"}',
            'edit {"command": "str_replace", "path": "a/b.txt", "old_str": "two", "new_str": "2\\n3"}',
            'edit {"command": "view", "path": "a/b.txt"}',
            'edit {"command": "undo_edit", "path": "a/b.txt"}',
            'search {"pattern": "t.o", "files": "*.txt"}',
            'bash {"command": "cat a/b.txt | wc -c"}',
            'shell echo old',
            'done it works']) + "\n")
        self.assertEqual((self.work / "a" / "b.txt").read_bytes(), b"one\r\ntwo\r\n")
        out = self.outputs("all")
        self.assertIn("     3\t3\n", out[2])
        self.assertIn("a/b.txt:2: two\n", out[4])
        self.assertIn("10\n[The command completed with exit code 0.]", out[5])
        self.assertIn("old", out[6])
        classes = [e["data"]["class"] for e in self.events("all") if e["kind"] == "call"]
        self.assertEqual(classes, ["V", "V", "R", "V", "R", "W", "W"])
        self.good("log", "--verify", "all")

    def test_anthropics_own_forms(self):
        """Claude is offered bash, editor and memory as tools of its own; the log, the rules and other models know ours."""
        def use(name, output, **arguments):
            turn = {"parts": [{"function_call": {"name": name, "arguments": arguments}}]}
            return dict(turn, expect=[{"tool_output": {"contains": output}}]) if output else turn

        editor = "str_replace_based_edit_tool"
        turns = [use("bash", None, command="echo one > a.txt; false"),
                 use(editor, "exit code 1", command="str_replace", path="a.txt", old_str="one", new_str="two"),
                 use(editor, "has been edited", command="create", path="a.txt", file_text="x"),
                 use("memory", "Cannot overwrite", command="create", path="/memories/m.md", file_text="likes tea"),
                 use("memory", "created", command="view", path="/memories/../a.txt"),
                 use(editor, "outside the workspace /memories", command="view", path="no.txt"),
                 {"expect": [{"tool_output": {"contains": "a rule forbids it"}}], "parts": [{"text": "done"}]}]
        self.standin = house.Standin(self.folder, {"turns": turns}, "--bodies", str(self.folder / "bodies"))
        self.env.update(ANTHROPIC_BASE_URL=self.standin.url[:-len("/v1")], ANTHROPIC_API_KEY="sk-other-do-not-print-me")
        agent = self.folder / "agent.yaml"
        agent.write_text("model: claude-sonnet-4-5\ntools: [bash, edit, memory]\nnative_tools: [bash, text_editor, memory]\n"
                         "rules: [{tool: edit, arguments: {path: no.txt}, decide: refuse, message: a rule forbids it}]\n")
        self.good("run", "-a", agent, "-s", "own", "go")
        self.assertEqual((self.work / "a.txt").read_text(), "two\n")
        self.assertEqual((self.work / ".thole-memory" / "m.md").read_text(), "likes tea")
        self.assertEqual([e["data"]["tool"] for e in self.events("own") if e["kind"] == "call"],
                         ["bash", "edit", "edit", "memory", "memory", "edit"])
        last = json.loads(sorted((self.folder / "bodies").iterdir())[-1].read_text())
        self.assertEqual([{k: v for k, v in tool.items() if k != "cache_control"} for tool in last["tools"]],
                         [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": editor},
                          {"type": "memory_20250818", "name": "memory"}])
        blocks = [b for m in last["messages"] for b in m["content"]]
        self.assertEqual([b["name"] for b in blocks if b["type"] == "tool_use"], ["bash", editor, editor, "memory", "memory", editor])
        self.assertEqual([bool(b.get("is_error")) for b in blocks if b["type"] == "tool_result"],
                         [False, False, True, False, True, True])

    def test_a_shell_outlives_the_runtime(self):
        killed = self.start("run", "-m", "human/human", "-s", "k", "go", stdin=subprocess.PIPE)
        killed.stdin.write(b'bash {"command": "X=kept; sleep 300 & echo begun"}\n')
        killed.stdin.flush()
        seen = b""
        while b"begun\n" not in seen:  # of the result that the model is told
            line = killed.stderr.readline()
            self.assertTrue(line, seen)
            seen += line
        killed.kill()
        killed.communicate()
        self.good("resume", "k", stdin='bash {"command": "echo $X; jobs | grep -c Running"}\ndone yes\n')
        self.assertIn("kept\n1\n", self.outputs("k")[1])

    @unittest.skipIf(subprocess.run(["/usr/bin/python3", "-I", "-c", "import IPython"], stderr=subprocess.DEVNULL).returncode, "no IPython here")
    def test_a_kernel_outlives_the_runtime(self):
        """A cell is of class W, its picture is in the log, and packages are asked for."""
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\ntools: [python, python_install]\n")
        picture = base64.b64encode(png(3, 2)).decode()
        killed = self.start("run", "-m", "human/human", "-s", "p", "go", stdin=subprocess.PIPE)
        killed.stdin.write(b'python {"code": "kept = 6; print(\'begun\')"}\n')
        killed.stdin.flush()
        seen = b""
        while b"begun\n" not in seen:
            line = killed.stderr.readline()
            self.assertTrue(line, seen)
            seen += line
        killed.kill()
        killed.communicate()
        cell = ("import base64\nclass P:\n  def _repr_png_(self): return base64.b64decode('%s')\n" % picture +
                "print(kept * 7); P()")
        self.good("resume", "p", code=3, stdin="python %s\npython_install %s\n" % (
            json.dumps({"code": cell}), json.dumps({"packages": ["numpy"]})))
        text, image = self.outputs("p")[1]
        self.assertEqual(text["text"], "42\nOut[2]: [picture 1]")
        blob = self.good("log", "p", "--blobs", self.work / "blobs").out
        kept = [f.read_bytes() for f in (self.work / "blobs").rglob("*") if f.is_file()]
        self.assertEqual(kept, [png(3, 2)], blob)
        self.assertEqual(self.kinds("p").count("approval_requested"), 1)
        self.assertEqual([e["data"]["class"] for e in self.events("p") if e["kind"] == "call"], ["W", "W", "W"])


if __name__ == "__main__":
    house.main()
