# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, from npm and PyPI, against thole serve; servers of tools that others wrote; and the Python of the README.

usage: run.py FOLDER   (FOLDER keeps what is installed)

Needs node 20 and npm. `./dev check clients` calls it.
"""

import json
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
import openhands_sdk  # noqa: E402
import serving  # noqa: E402
from mcp_servers import Servers  # noqa: E402

ONLY_ASK = "--missing" in sys.argv and not sys.argv.remove("--missing")
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SAID = "One two three four five."
OSLO = {"location": "Oslo"}
RULES = [{"if": {"tool": "get_weather"}, "parts": [{"function_call": {"name": "get_weather", "arguments": OSLO}}]},
         {"if": {"tool_output": {"name": "once", "nth": -1, "contains": "rain"}}, "parts": [{"text": SAID}]},
         {"if": {"tool": "once"}, "parts": [{"reasoning": "Once."}, {"function_call": {"name": "once", "arguments": OSLO}}]},
         {"parts": [{"text": SAID}]}]


def answers(tool, **output):
    return {"if": {"tool_output": {"name": tool, "nth": -1, **output}}, "parts": [{"text": SAID}]}


def calls(tool, word, **arguments):
    return {"if": [{"tool": tool}, {"tail": word}], "parts": [{"function_call": {"name": tool, "arguments": arguments}}]}


AGENTS_RULES = [answers("space__once", contains="rain"), answers("run_agent", contains=SAID), answers("bash", contains="hello"),
                calls("space__once", "go", location="Oslo"), calls("run_agent", "delegate", message="hi"), calls("bash", "say hello", command="echo hello"), *RULES]
# In the order in which Codex learns of its tools: a namespace, a search, a script.
CODEX_RULES = [answers("mcp__thole__list_agents", exists=True), answers("functions__exec", contains="made"),
               calls("mcp__thole__list_agents", ""), calls("tool_search", "", query="list agents"),
               {"if": {"tool": "functions__exec"}, "parts": [{"custom_call": {"name": "functions__exec", "input":
                   "const r = await tools.exec_command({cmd: 'echo made > made; cat made'}); text(JSON.stringify(r));"}}]}, {"parts": [{"text": "no"}]}]
CODEX = """model_provider = "thole"
[model_providers.thole]
name = "thole"
base_url = "%s/v1"
env_key = "TOKEN"
wire_api = "responses"
[mcp_servers.thole]
command = "%s"
args = ["mcp"]
env = { THOLE_SERVER = "%s", THOLE_TOKEN = "%s" }
"""


def installed(name, *packages):
    """A folder with these packages of npm."""
    folder = FOLDER / name
    if not (folder / "node_modules").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *packages], cwd=folder, check=True, timeout=600)
    return folder


def node_22():
    """For what needs more than the node of the machine."""
    return str(installed("node", "node@22") / "node_modules" / "node" / "bin" / "node")


def python(name, *packages):
    """A Python with these packages; what is imported of them is compiled then."""
    folder = FOLDER / name
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=600)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--no-compile", *packages], check=True, timeout=600)
    return folder / "bin" / "python"


def writes(name):
    return {"if": {"tail": "write " + name}, "parts": [{"function_call": {"name": "write_file", "arguments": {"path": name, "content": name}}}]}


def sdks():
    return python("python_sdks", "openai[realtime]", "anthropic", "pydantic-ai-slim[openai,anthropic]")


class Clients(serving.Served):
    def begin(self, rules=RULES, models="gpt-5.4"):
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\nserve:\n  models: [%s]\n  client_hooks_private: true\n" % models)
        self.serve_rules(rules)
        self.env.update(ANTHROPIC_BASE_URL=self.standin.url[:-len("/v1")], ANTHROPIC_API_KEY=house.KEY)
        self.serve_http()

    def client(self, *command, cwd, **more):
        env = dict(os.environ, PORT=str(self.port), TOKEN=serving.TOKENS["alice"], SAID=SAID, THOLE=house.THOLE, **more)
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode()

    def node(self, name, *packages):
        folder = installed(name, *packages)
        shutil.copy(HERE / (name + ".mjs"), folder)
        self.begin()
        self.client("node", name + ".mjs", cwd=folder)

    def test_openai_and_anthropic(self):
        self.node("openai_anthropic", "openai", "@anthropic-ai/sdk", "ws")

    def test_agents_and_ai(self):
        self.node("agents_ai", "openai", "@openai/agents", "zod", "ai", "@ai-sdk/open-responses")

    def test_langchain(self):
        self.node("langchain", "--legacy-peer-deps", "@langchain/openai", "@langchain/anthropic", "@langchain/core", "zod")

    def test_openrouter_and_providers_of_ai(self):
        self.node("openrouter", "@openrouter/agent", "ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "zod")

    def test_clients_for_python(self):
        interpreter = sdks()
        self.begin()
        self.client(str(interpreter), str(HERE / "python_sdks.py"), cwd=self.work)

    def test_agents_for_python(self):
        interpreter = python("python_agents", "openai-agents==0.24.0", "a2a-sdk==1.3.0", "agent-client-protocol==0.12.1", "httpx")
        self.begin(AGENTS_RULES)
        own = {k: v for k, v in self.env.items() if k.startswith(("XDG_", "OPENAI_"))}
        self.client(str(interpreter), str(HERE / "python_agents.py"), cwd=self.work, **own)

    def test_codex(self):
        """As it works with models that it does not know, with those that search for tools, and with those that write scripts."""
        program = installed("codex", "@openai/codex@0.171.0") / "node_modules/.bin/codex"
        self.begin(CODEX_RULES, "gpt-5.4, gpt-5.5, gpt-6.2-sol")
        home, url = self.folder / "codex", "http://127.0.0.1:%d" % self.port
        home.mkdir()
        (home / "config.toml").write_text(CODEX % (url, house.THOLE, url, serving.TOKENS["alice"]))
        for model, does in (("gpt-5.4", "thole/list_agents (completed)"), ("gpt-5.5", "thole/list_agents (completed)"), ("gpt-6.2-sol", "echo made")):
            with self.subTest(model=model):
                said = self.client(str(program), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", model, "go",
                                   cwd=self.work, CODEX_HOME=str(home))
                self.assertIn(does, said)
                self.assertEqual(said.strip().splitlines()[-1], SAID)
        self.assertEqual((self.work / "made").read_text(), "made\n")

    def test_claude_code(self):
        program = installed("claude_code", "@anthropic-ai/claude-code@2.1.197") / "node_modules/.bin/claude"
        self.begin([answers("mcp__thole__list_agents", exists=True), calls("mcp__thole__list_agents", "which"),
                    calls("Bash", "make", command="echo made > made", description="Makes it."), {"parts": [{"text": SAID}]}], "claude-sonnet-4-5, gpt-5.4")
        url, token = "http://127.0.0.1:%d" % self.port, serving.TOKENS["alice"]
        servers = {"mcpServers": {"thole": {"type": "http", "url": url + "/mcp", "headers": {"Authorization": "Bearer " + token}}}}
        for word in ("make it", "which are there?"):
            said = self.client(str(program), "-p", word, "--dangerously-skip-permissions", "--mcp-config", json.dumps(servers), cwd=self.work, IS_SANDBOX="1",
                               ANTHROPIC_BASE_URL=url, ANTHROPIC_AUTH_TOKEN=token, ANTHROPIC_MODEL="claude-sonnet-4-5", HOME=str(self.folder),
                               ANTHROPIC_SMALL_FAST_MODEL="claude-sonnet-4-5", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
            self.assertEqual(said.strip(), SAID)
        self.assertEqual((self.work / "made").read_text(), "made\n")

    def test_mcp(self):
        self.node("mcp_sdk", "@modelcontextprotocol/sdk", "@modelcontextprotocol/client@2")

    def test_mcp_inspector(self):
        folder = installed("inspector", "@modelcontextprotocol/inspector@2.12.0")
        self.begin()
        inspector = [node_22(), str(folder / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli"]
        url, token = "http://127.0.0.1:%d" % self.port, serving.TOKENS["alice"]
        for era in ("legacy", "modern"):
            said = self.client(*inspector, url + "/mcp", "--transport", "http", "--protocol-era", era, "--header", "Authorization: Bearer " + token,
                               "--method", "tools/call", "--tool-name", "run_agent", "--tool-arg", "message=hi", cwd=folder)
            self.assertIn(SAID, said)
        listed = self.client(*inspector, "-e", "THOLE_SERVER=" + url, "-e", "THOLE_TOKEN=" + token, house.THOLE, "mcp",
                             "--method", "resources/list", cwd=folder)
        self.assertEqual(listed.count("thole://sessions/"), 2)

    def test_mcp_conformance(self):
        """The suite sends no token, so it drives a program of its own: the protocol's files over the suite's fixtures."""
        folder = installed("conformance", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
        server = subprocess.Popen([str(house.BUILD / "tests/conformance/conformance-mcp-server"), "0"], stdout=subprocess.PIPE)
        try:
            url = server.stdout.readline().decode().split()[-1]
            for revision in ("2025-11-25", "2026-07-28"):
                done = subprocess.run([node_22(), str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server", "--url", url,
                                       "--requirements", revision, "-o", str(folder / "results")],
                                      cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200, check=False)
                self.assertEqual(done.returncode, 0, done.stdout.decode()[-6000:])
        finally:
            server.terminate()
            self.assertEqual(server.wait(20), 0)
            server.stdout.close()

    def test_mcp_conformance_client(self):
        """All that the revisions require, and of the extensions what needs no person."""
        folder = installed("conformance", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
        client = str(house.BUILD / "tests/conformance/conformance-mcp-client")
        for revision in ("2025-11-25", "2026-07-28"):
            for what in (("--requirements", revision), ("--scenario", "auth/client-credentials-jwt", "--spec-version", revision),
                         ("--scenario", "auth/client-credentials-basic", "--spec-version", revision)):
                with self.subTest(revision=revision, what=what):
                    done = subprocess.run([node_22(), str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "client",
                                           "--command", client, *what],
                                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout.decode()[-4000:])

    def test_a2a(self):
        self.node("a2a_sdk", "@a2a-js/sdk")

    def test_cua(self):
        folder = installed("cua_computer", "@trycua/computer@0.1.3")
        shutil.copy(HERE / "cua_computer.mjs", folder)
        self.serve_http("--cua", "127.0.0.1:0", "--cua-open")
        self.port = int(self.server.stdout.readline().decode().rsplit(":", 1)[1])
        os.environ["CUA_TELEMETRY"] = os.environ["CUA_TELEMETRY_ENABLED"] = "off"
        self.client("node", "cua_computer.mjs", cwd=folder)

    def test_cua_sandbox(self):
        interpreter = python("cua_sandbox", "cua-sandbox==0.4.3")
        self.serve_http("--cua", "127.0.0.1:0")
        self.port = int(self.server.stdout.readline().decode().rsplit(":", 1)[1])
        self.client(str(interpreter), str(HERE / "cua_transports.py"), cwd=HERE)

    def test_openhands(self):
        """OpenHands' RemoteConversation as it is, and the guide's own lines."""
        why = openhands_sdk.missing(FOLDER)
        if why:
            self.skipTest(why)
        program, text = openhands_sdk.installed(FOLDER), (house.SOURCE / "docs" / "OPENHANDS.md").read_text()
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("executor_linger_s: 20\nserve:\n  models: [gpt-5.4]\ntools: [shell, read_file, write_file]\n")
        self.serve_rules([writes("a"), writes("b"), writes("c"),
                          {"if": {"tail": "show"}, "parts": [{"function_call": {"name": "show", "arguments": {"url": "a"}}}]},
                          {"if": {"tail": "secret"}, "parts": [{"function_call": {"name": "shell", "arguments": {
                              "command": "echo $DEPLOY $KEY $MADE > secret; cat secret"}}}]},
                          {"if": {"tail": "slow"}, "parts": [{"function_call": {"name": "shell", "arguments": {"command": "sleep 1"}}}]},
                          {"if": {"tail": "fail"}, "parts": [{"text": "x"}], "faults": [{"status": 400, "message": "no", "times": -1}]},
                          {"parts": [{"text": SAID}]}])
        workspaces = self.folder / "workspaces"
        workspaces.mkdir()
        self.serve_http("--openhands", "127.0.0.1:0", "--workspaces", workspaces)
        self.port = int(self.server.stdout.readline().decode().rsplit(":", 1)[1])
        os.environ.update(WORKSPACES=str(workspaces), LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1", LOG_LEVEL="CRITICAL")
        said = self.client(str(program), str(HERE / "openhands_remote.py"), cwd=self.work)
        self.assertEqual(said.count(" ok\n"), 9, said)
        lines = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
        self.assertEqual(self.client(str(program), "-c", lines.replace("8010", str(self.port)), cwd=self.work).splitlines()[-1], SAID)

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
        program = sdks()
        self.begin()
        self.assertEqual(self.client(str(program), "-c", text.replace("7711", str(self.port)), cwd=self.work).strip(), SAID)


def missing():
    """Why the clients cannot be had here; empty: they can."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "it needs node 20 and npm"
    asked = subprocess.run(["npm", "ping", "--fetch-timeout=20000", "--fetch-retries=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
                           check=False)
    return "" if asked.returncode == 0 or (FOLDER and FOLDER.exists() and any(FOLDER.iterdir())) else "the registry of npm cannot be reached"


def run():
    """Real programs are not always in time: what failed is run once more, and ./dev names it as unsteady when it passes then."""
    note = FOLDER / "unsteady"
    note.unlink(missing_ok=True)
    result = unittest.main(exit=False).result
    names = [case.id() for case, _ in result.failures + result.errors]
    if not names or len(names) > 2:
        return result.wasSuccessful()
    print("once more, alone:", *names, file=sys.stderr)
    again = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromNames(names))
    if again.wasSuccessful():
        note.write_text(" ".join(names) + "\n")
    return again.wasSuccessful()


if __name__ == "__main__":
    why = missing()
    if ONLY_ASK:
        print(why)
        sys.exit(0)
    if why:
        print("clients: skipped: " + why)
        sys.exit(0)
    Servers.packages = FOLDER
    sys.exit(0 if run() else 1)
