# SPDX-License-Identifier: Apache-2.0
"""The same conversations in thole and in openhands-sdk, against the same model: states, events and what the model sees are compared.

usage: openhands_sdk.py FOLDER [TEST...]   (FOLDER keeps what is installed; --missing: says why it cannot run here)

Needs a Python of 3.12 or later; openhands-sdk and openhands-tools come from PyPI. What is to differ is in docs/DEVIATIONS.md. `./dev check clients` calls it.
"""

import difflib
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e" / "cli"), str(HERE.parent / "conformance")]
import house  # noqa: E402
import openhands_states  # noqa: E402
from openhands_model import Model, texts_of  # noqa: E402
from openhands_scenarios import SCENARIOS, SUMMARY, SUMMED_UP  # noqa: E402

PACKAGES = ("openhands-sdk==1.58.2", "openhands-tools==1.58.2")
HELPER = r"Look at d\.txt\."


def runs(program):
    """A name in PATH may be a stand-in for a Python that nobody chose, which only says so."""
    return subprocess.run([program, "-c", "import venv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


def python():
    """A Python of 3.12 or later; None: there is none."""
    found = [shutil.which("python3.%d" % minor) for minor in (13, 12)]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[23]*/bin/python3")))
    return next((program for program in found if program and runs(program)), None)


def installed(folder):
    """The interpreter of an environment with the SDK."""
    program = folder / "openhands" / "bin" / "python"
    if not (folder / "openhands" / "whole").exists():
        shutil.rmtree(folder / "openhands", ignore_errors=True)
        subprocess.run([python(), "-m", "venv", str(folder / "openhands")], check=True, timeout=600)
        subprocess.run([str(program), "-m", "pip", "install", "--quiet", "--no-compile", *PACKAGES], check=True, timeout=1200)
        (folder / "openhands" / "whole").touch()
    return program


class Peer:
    def __init__(self, program, log):
        self.process = subprocess.Popen([str(program), str(HERE / "openhands_peer.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True)
        assert self.process.stdout.readline() == "ready\n", "openhands-sdk does not begin"

    def play(self, scenario):
        print(json.dumps(scenario), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


# ---- a normal form of what the model sees, and of what happened ----

SUMMED = re.compile(r"SUMMARY-\d+")
RESULT = re.compile(r"RESULT-\d+")


def plain(text, scenario):
    """One line; its folder is W; a summary and a helper's result are their own words, whatever is said around them."""
    text = text.replace(scenario["workspace"], "W").replace("\n", "\\n")
    told = SUMMED.search(text) or (RESULT.search(text) if scenario.get("helper") is not None else None)
    return told[0] if told else text


def arguments(raw):
    try:
        read = json.loads(raw)
    except ValueError:
        return "no JSON"
    return "no JSON" if {"not_json", "_openhands_malformed_tool_call"} & set(read) else read


class View:
    """What a model sees, but for the system's message: neighbouring messages of the user are one, calls have their places as ids. How an error, a rejection
    and a word of the environment are worded is not compared."""

    def __init__(self, events, scenario):
        self.scenario = scenario
        self.errors = [plain(e["error"], scenario) for e in events if e["kind"] == "AgentErrorEvent"]
        self.reasons = [e["rejection_reason"] for e in events if e["kind"] == "UserRejectObservation"]
        self.told = [plain(openhands_states.words(e["llm_message"]["content"]), scenario) for e in events
                     if e["kind"] == "MessageEvent" and e["source"] == "environment"]

    def result(self, text):
        if any(text.endswith(words) for words in self.errors):
            return "an error"
        return next(("rejected: " + reason for reason in self.reasons if reason in text), text)

    def of(self, body):
        seen, ids = [], {}
        for message in body["messages"]:
            parts = [plain(part, self.scenario) for part in texts_of(message)]
            text = "\\n".join("(the environment)" if part in self.told else part for part in parts)
            if message["role"] == "user" and seen and seen[-1].startswith("user: "):
                seen[-1] += "\\n" + text
            elif message["role"] == "tool":
                seen.append("result %s: %s" % (ids.get(message["tool_call_id"], "of nothing"), self.result(plain(text, self.scenario))))
            elif message["role"] != "system" and text:
                seen.append("%s: %s" % (message["role"], text))
            for call in message.get("tool_calls") or []:
                ids[call["id"]] = "#%d" % len(ids)
                seen.append("call %s %s %s" % (ids[call["id"]], call["function"]["name"],
                                               plain(json.dumps(arguments(call["function"]["arguments"]), sort_keys=True), self.scenario)))
        return seen


# Why a history was condensed, how a risk was found and what the system's message says is told in other places of our log.
NOT_COMPARED = ("SystemPromptEvent", "ConversationStateUpdateEvent", "CondensationRequest", "SecurityAnalysisEvent")


def lines(played, scenario):
    """All of it as lines: states, events, and each request."""
    told = ["state after step %d: %s" % (i, state) for i, state in enumerate(played["states"])]
    for event in played["events"]:
        if event["kind"] == "AgentErrorEvent":
            told.append("event AgentErrorEvent")
        elif event["kind"] == "MessageEvent" and event["source"] == "environment":
            told.append("event MessageEvent:environment")
        elif event["kind"] not in NOT_COMPARED:
            told.append("event " + plain(openhands_states.shown(event), scenario))
    view = View(played["events"], scenario)
    for who in sorted({who for who, _ in played["requests"]} - {SUMMED_UP}):
        for number, (_, body) in enumerate(pair for pair in played["requests"] if pair[0] == who):
            told += ["request %d%s  %s" % (number, " of the helper" if who else "", line) for line in view.of(body)]
    return told


class Differential(house.House):
    peer = None

    def agent(self, scenario):
        tools = "think, finish, file_editor"
        text = ["name: tester", "model: chat:scripted", "workspace: %s" % self.work, "settings: {stream: false}",
                "tool_use_behavior: {stop_at: [finish]}", "stuck: {rules: openhands_v1}", "limits: {turns: %d}" % scenario.get("turns", 100)]
        if "confirm" in scenario:
            text.append("confirm: {when: %s, analysers: [model]}" % scenario["confirm"])
        if "condense" in scenario:
            # The system's message is an event there and no item here.
            text.append("compact: {condenser: llm_summarizing, max_size: %d, keep_first: %d, max_event_length: 10000}"
                        % (scenario["condense"]["max_size"] - 1, scenario["condense"]["keep_first"] - 1))
        if "helper" in scenario:
            tools += ", {name: task, description: Gives a task to an agent., agents: [helper]}"
            text.append("agents: {helper: {instructions: You look at files., tools: [think, finish, file_editor], "
                        "tool_use_behavior: {stop_at: [finish]}}}")
        path = self.folder / "agent.yaml"
        path.write_text("\n".join([*text, "tools: [%s]" % tools]) + "\n")
        return path

    def step(self, agent, number, what, *rest):
        if what == "say":
            self.thole("run", *(("-a", agent) if not number else ()), "-s", "case", rest[0])
        elif what == "reject":
            self.good("reject", "case", "--all", "-m", rest[0])
            self.thole("resume", "case")
        else:
            self.thole("approve", "case", "--all")
            self.thole("resume", "case")

    def ours(self, scenario):
        agent, states = self.agent(scenario), []
        for number, step in enumerate(scenario["steps"]):
            self.step(agent, number, *step)
            out = self.folder / ("out%d" % number)
            self.good("export", "case", "--format", "openhands", "-o", out)
            states.append(json.loads((out / "base_state.json").read_text())["execution_status"])
        events = [json.loads(file.read_text()) for file in sorted((out / "events").iterdir())]
        return {"states": states, "events": events}

    def place(self, scenario, name):
        """The scenario in a folder of its own, and its model."""
        text = json.dumps(scenario)
        work = self.work if name == "thole" else self.folder / name
        work.mkdir(exist_ok=True)
        for file, words in scenario.get("files", {}).items():
            (work / file).write_text(words)
        placed = json.loads(text.replace("W/", "%s/" % work))
        placed["workspace"] = str(work)
        model = Model({SUMMED_UP: [SUMMARY] * 9, **({HELPER: placed["helper"]} if "helper" in placed else {}), "": placed["answers"]})
        self.addCleanup(model.end)
        return placed, model

    def compare(self, name):
        scenario, model = self.place(SCENARIOS[name], "thole")
        self.env["OPENAI_BASE_URL"] = model.url
        ours = lines(dict(self.ours(scenario), requests=model.requests), scenario)
        theirs_scenario, peer_model = self.place(SCENARIOS[name], "sdk")
        played = self.peer.play(dict(theirs_scenario, model=peer_model.url, folder=str(self.folder / "sdk-events")))
        theirs = lines(dict(played, requests=peer_model.requests), theirs_scenario)
        told = "\n".join(difflib.unified_diff(theirs, ours, "openhands-sdk", "thole", lineterm="", n=1))
        if "deviates" in scenario:
            sides = ["- " + line for line in theirs if line not in ours] + ["+ " + line for line in ours if line not in theirs]
            self.assertEqual(sorted(sides), sorted(scenario["deviates"]), told)
        else:
            self.assertEqual(theirs, ours, told)


def case(name):
    return lambda self: self.compare(name)


for number, name in enumerate(SCENARIOS):
    setattr(Differential, "test_%02d_%s" % (number, re.sub(r"\W+", "_", name)), case(name))


def missing(folder):
    """Why the SDK cannot be had here; empty: it can."""
    if (folder / "openhands" / "whole").exists():
        return ""
    if not python():
        return "it needs a Python of 3.12 or later"
    with tempfile.TemporaryDirectory() as dest:
        asked = subprocess.run([python(), "-m", "pip", "download", "--quiet", "--no-deps", "--timeout", "20", "--dest", dest, PACKAGES[0]],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=False)
    return "" if asked.returncode == 0 else "PyPI cannot be reached"


def main(arguments):
    ask = "--missing" in arguments and not arguments.remove("--missing")
    folder = pathlib.Path(arguments.pop(1)).resolve()
    why = missing(folder)
    if ask or why:
        print(why if ask else "openhands_sdk: skipped: " + why)
        return
    Differential.peer = Peer(installed(folder), subprocess.DEVNULL)
    try:
        unittest.main(argv=arguments)
    finally:
        Differential.peer.end()


if __name__ == "__main__":
    main(sys.argv)
