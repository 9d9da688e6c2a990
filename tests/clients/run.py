# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, from npm and PyPI, against thole serve; and the Python of the README.

usage: run.py FOLDER   (FOLDER keeps what is installed)

Needs node 20 and npm. `./dev check clients` calls it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "cli"))
import house  # noqa: E402
import serving  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SAID = "One two three four five."
RULES = [{"if": {"tool": "get_weather"}, "parts": [{"function_call": {"name": "get_weather", "arguments": {"location": "Oslo"}}}]},
         {"parts": [{"text": SAID}]}]


def installed(name, *packages):
    """A folder with these packages of npm."""
    folder = FOLDER / name
    if not (folder / "node_modules").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *packages], cwd=folder, check=True, timeout=600)
    return folder


def python():
    """A Python with the openai package."""
    folder = FOLDER / "python"
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=600)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "openai"], check=True, timeout=600)
    return folder / "bin" / "python"


class Clients(serving.Served):
    def begin(self):
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\nserve:\n  models: [gpt-5.4]\n")
        self.serve_rules(RULES)
        self.serve_http()

    def client(self, *command, cwd):
        env = dict(os.environ, PORT=str(self.port), TOKEN=serving.TOKENS["alice"], SAID=SAID, THOLE=house.THOLE)
        done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode()

    def node(self, name, *packages):
        folder = installed(name, *packages)
        shutil.copy(HERE / (name + ".mjs"), folder)
        self.begin()
        self.client("node", name + ".mjs", cwd=folder)

    def test_openai_and_anthropic(self):
        self.node("openai_anthropic", "openai", "@anthropic-ai/sdk")

    def test_agents_and_ai(self):
        self.node("agents_ai", "openai", "@openai/agents", "zod", "ai", "@ai-sdk/open-responses")

    def test_mcp(self):
        self.node("mcp_sdk", "@modelcontextprotocol/sdk")

    def test_a2a(self):
        self.node("a2a_sdk", "@a2a-js/sdk")

    def test_acp(self):
        folder = installed("acp_sdk", "@agentclientprotocol/sdk")
        shutil.copy(HERE / "acp_sdk.mjs", folder)
        self.serve([{"function_call": {"name": "shell", "arguments": {"command": "echo hello"}}}], [{"text": SAID}])
        env = dict(self.env, SAID=SAID, THOLE=house.THOLE, WORK=str(self.work))
        done = subprocess.run(["node", "acp_sdk.mjs"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_python_of_the_readme(self):
        text = re.search(r"```python\n(.*?)```", (house.SOURCE / "README.md").read_text(), re.DOTALL).group(1)
        program = python()
        self.begin()
        self.assertEqual(self.client(str(program), "-c", text.replace("7711", str(self.port)), cwd=self.work).strip(), SAID)


if __name__ == "__main__":
    unittest.main()
