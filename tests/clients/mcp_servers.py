# SPDX-License-Identifier: Apache-2.0
"""An agent of ours and servers of tools (MCP) that others wrote, from npm and PyPI.

Each is installed in a folder that the sandbox can read, and runs as it does for a user: without the network, in the workspace.
"""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e" / "cli"))
import house  # noqa: E402


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


def installed(folder):
    """A workspace with the servers in it: a sandbox shows nothing else of a home.  Returns where npm's and pip's programs are."""
    npm, pip = folder / "node_modules" / ".bin", folder / "python" / "bin"
    if not npm.exists() or not (pip / "mcp-server-git").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n')
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "@modelcontextprotocol/server-everything",
                        "@modelcontextprotocol/server-filesystem", "@playwright/mcp"], cwd=folder, check=True, timeout=600)
        # Of the system: a Python in somebody's home is not there in a sandbox.
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(folder / "python")], check=True, timeout=600)
        subprocess.run([str(pip / "pip"), "install", "--quiet", "--no-compile", "mcp-server-git", "mcp-server-fetch"], check=True, timeout=600)
    return npm, pip


class Servers(house.House):
    packages = None  # a folder, set by run.py

    def setUp(self):
        super().setUp()
        self.npm, self.pip = installed(self.packages / "mcp_servers")
        self.place = self.packages / "mcp_servers" / "files"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        self.place.chmod(0o777)

    def ask(self, server, *calls, code=0, more=""):
        """One answer with these calls; their outcomes, in order."""
        path = self.work / "agent.yaml"
        path.write_text("model: gpt-5.4\ntools: [none]\nworkspace: %s\nmcp_servers: [%s]\n%s"
                        % (self.packages / "mcp_servers", json.dumps(server), more))
        self.serve({"parts": list(calls)}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", path, "-s", "one", "go", code=code)
        events = self.events("one")
        order = [e["data"]["call_id"] for e in events if e["kind"] == "call"]
        outcomes = [e["data"] for e in events if e["kind"] == "outcome"]
        self.told = next(e["data"] for e in events if e["kind"] == "mcp_tools")
        return sorted(outcomes, key=lambda o: order.index(o["call_id"]))

    def test_everything(self):
        echo, total, image, structured, progress = self.ask(
            {"name": "e", "command": [str(self.npm / "mcp-server-everything")]}, call("e_echo", message="hello"), call("e_get-sum", a=2, b=3),
            call("e_get-tiny-image"), call("e_get-structured-content", location="New York"),
            call("e_trigger-long-running-operation", duration=1, steps=2))
        self.assertEqual((echo["status"], echo["output"]), ("done", "Echo: hello"))
        self.assertIn("5", total["output"])
        self.assertIn("a picture that cannot be shown", str(image["output"]))  # its check sum is wrong
        self.assertIn("temperature", json.dumps(structured["output"]))
        self.assertIn("completed", progress["output"])

    def test_filesystem(self):
        (self.place / "a.txt").write_text("alpha\n")
        read, outside = self.ask({"name": "fs", "command": [str(self.npm / "mcp-server-filesystem"), str(self.place)], "reads": ["read_*"]},
                                 call("fs_read_text_file", path=str(self.place / "a.txt")), call("fs_read_text_file", path="/etc/passwd"))
        self.assertEqual((read["status"], read["output"]), ("done", "alpha\n"))
        self.assertEqual(outside["status"], "failed")
        classes = {t["tool"]: t["class"] for t in self.told["tools"]}
        self.assertEqual((classes["read_text_file"], classes["write_file"]), ("R", "X"))

    def test_playwright(self):
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("there is no chromium")
        command = [str(self.npm / "playwright-mcp"), "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium]
        (page,) = self.ask({"name": "p", "command": command, "annotations": "ignore", "timeout_s": 60},
                           call("p_browser_navigate", url="data:text/html,<title>A page</title><button>Press me</button>"))
        self.assertEqual(page["status"], "done", page)
        self.assertIn("A page", str(page["output"]))

    def test_git(self):
        subprocess.run("git init -q && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm first"
                       " && chmod -R a+rwX .", shell=True, cwd=self.place, check=True)
        (log,) = self.ask({"name": "git", "command": [str(self.pip / "mcp-server-git")]}, call("git_git_log", repo_path=str(self.place)))
        self.assertIn("first", str(log["output"]))

    def test_fetch(self):
        (page,) = self.ask({"name": "web", "command": [str(self.pip / "mcp-server-fetch")]}, call("web_fetch", url="http://127.0.0.1:9/"))
        self.assertEqual(page["status"], "failed")
        self.assertEqual([t["name"] for t in self.told["tools"]], ["web_fetch"])
