# SPDX-License-Identifier: Apache-2.0
"""Cases of OpenHands about whole runs: a scripted model, thole run, and the session's events as OpenHands would have them.

usage: openhands_states.py [--with RUNNER] FILE|FOLDER...

RUNNER plays all other cases; the last line has the counts of both.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "cli"))
import house  # noqa: E402
from openhands_derived import BAD, CREATE, THINK, call, derived, deviates, finish, said, text  # noqa: E402

AREAS = ("state transitions (V1)", "fork (V1)", "crash recovery (V1)", "fn-call converter (split multi) (V0)")

# docs/DEVIATIONS.md, "OpenHands".
DEVIATIONS = ("alias str_replace_editor", "malformed then ok")


# What the model answers, in the order of the requests; then what is done after the first run, and more members of the agent.
SCENARIOS = {
    "plain text reply": ([text("hello")], [], ""),
    "think then finish": ([THINK, finish()], [], ""),
    "unknown tool": ([call("nope"), finish()], [], ""),
    "bad json args": ([BAD, finish()], [], ""),
    "missing required arg": ([call("think"), finish()], [], ""),
    "unexpected arg": ([call("think", thought="t", zzz=1), finish()], [], ""),
    "alias str_replace_editor": ([call("str_replace_editor", command="view", path="/nonexistent_q"), finish()], [], ""),
    "max iterations 2": ([THINK, THINK, THINK], [], "limits: {turns: 2}"),
    "AlwaysConfirm: reject then run": ([CREATE, finish()], ["reject nope", "resume"], "confirm: {when: always}"),
    "send after finish resets": ([finish(), finish("ok2")], ["run more"], ""),
    "malformed then ok": ([BAD, finish()], [], ""),
}



# A hook holds the run until the file is there: before its first request, or before its call.
GATE = "hooks: {%s: [{hooks: [{command: 'touch reached; until [ -e go ]; do sleep 0.02; done'}]}]}"


class Run(house.House):
    def runTest(self):
        pass

    def begin(self, turns, more):
        self.violations = False
        self.serve(*turns)
        agent = self.folder / "agent.yaml"
        agent.write_text("model: gpt-5.4\nworkspace: %s\ntools: [think, finish, file_editor]\n"
                         "tool_use_behavior: {stop_at: [finish]}\n%s\n" % (self.work, more))
        return agent

    def interrupted(self, turns, event, signum, task):
        """A run that a signal ends while a hook holds it; then the hook lets go."""
        run = self.start("run", "-a", self.begin(turns, GATE % event), "-s", "case", task)
        deadline = time.monotonic() + 30
        while not (self.work / "reached").exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signum)
        run.communicate()
        (self.work / "go").touch()

    def paused(self, resumes):
        self.interrupted([finish()], "user_prompt_submit", signal.SIGINT, "t")
        if resumes:
            self.good("resume", "case")
        return self.events("case", "out")

    def crashed(self):
        """What is found when the session is read again, and after it went on."""
        create = call("file_editor", command="create", path=str(self.work / "crash.txt"), file_text="x")
        self.interrupted([create, finish()], "pre_tool_use", signal.SIGKILL, "t")
        loaded, _ = self.events("case", "loaded")
        before = (self.work / "crash.txt").exists()
        self.good("resume", "case")
        intents = [line for line in self.good("log", "case", "--json", "--kind", "intent").out.splitlines() if "file_editor" in line]
        status, events = self.events("case", "out")
        return loaded, not before and (self.work / "crash.txt").exists() and len(intents) == 1, events

    def split(self):
        """A conversation whose last call has no result: each request has one for each call."""
        metadata = {"tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "%d", "total_calls_in_response": 1,
                                           "model_response": {"id": "r%d", "choices": []}}}
        events = [{"id": 0, "timestamp": "2025-01-01T00:00:00", "source": "user", "action": "message", "args": {"content": "hi"}}]
        for i in (1, 3):
            extra = json.loads(json.dumps(metadata).replace("%d", str(i)))
            events.append(dict({"id": i, "timestamp": "2025-01-01T00:00:0%d" % i, "source": "agent", "action": "run",
                                "args": {"command": "ls"}}, **extra))
            if i == 1:
                events.append(dict({"id": 2, "timestamp": "2025-01-01T00:00:02", "source": "environment", "cause": 1, "observation": "run",
                                    "content": "a.txt", "extras": {"command": "ls", "exit_code": 0}}, **extra))
        (self.folder / "trajectory.json").write_text(json.dumps(events))
        self.violations = False
        self.standin = house.Standin(self.folder, {"rules": [{"expect": [{"tool_output": {"nth": -1, "contains": "may or may not have happened"}}],
                                                              "parts": text("Done.")}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.good("import", self.folder / "trajectory.json", "-m", "gpt-5.4", "-s", "case")
        ended = self.thole("run", "-s", "case", "Go on.")
        bad = [r for r in self.standin.requests() if r.get("violations") or r.get("expect_failed")]
        return ended.code == 0 and not bad, "%s %s" % (ended, bad)

    def play(self, scenario, task):
        turns, after, more = json.loads(json.dumps(scenario).replace("/tmp/W", str(self.work)))
        self.thole("run", "-a", self.begin(turns, more), "-s", "case", task)
        for step in after:
            word, _, rest = step.partition(" ")
            if word == "reject":
                self.good(word, "case", "--all", "-m", rest)
            elif word == "approve":
                self.good(word, "case", "--all")
            elif word == "resume":
                self.thole("resume", "case")
            else:
                self.thole("run", "-s", "case", rest)
        return self.events("case", "out")

    def events(self, name, folder):
        """The status, and the events as the cases write them."""
        out = self.folder / folder
        self.good("export", name, "--format", "openhands", "-o", out)
        events = [json.loads((out / "events" / file).read_text()) for file in sorted(os.listdir(out / "events"))]
        return json.loads((out / "base_state.json").read_text())["execution_status"], events


def words(parts):
    return "".join(part.get("text", "") for part in parts)


def shown(event):
    kind = event["kind"]
    if kind == "MessageEvent":
        return "%s:%s:%s" % (kind, event["source"], words(event["llm_message"]["content"]))
    if kind == "ActionEvent":
        return "%s:%s%s" % (kind, event["tool_name"], "" if event.get("action") else ":null")
    if kind == "ObservationEvent":
        return "%s:%s" % (kind, words(event["observation"]["content"]))
    if kind == "AgentErrorEvent":
        return "%s:%s" % (kind, event["error"])
    if kind == "UserRejectObservation":
        return "%s:%s" % (kind, event["rejection_reason"])
    if kind == "ConversationErrorEvent":
        return "%s:%s:%s" % (kind, event["code"], event["detail"])
    return kind


# So much of a result a case shows.
RESULT_SHOWN = 70


def same(got, want):
    """Python's words in errors and to the model are not compared, nor what a case has cut off a result."""
    return len(got) == len(want) and all(same_event(a, b) for a, b in zip(got, want))


def same_event(got, want):
    kinds = ("AgentErrorEvent:", "ConversationErrorEvent:", "MessageEvent:environment:")
    if any(got.startswith(k) and want.startswith(k) for k in kinds) and "MaxIterations" not in want:
        return True
    got, want = (e.replace("[An error occurred during execution.]\n", "") for e in (got, want))
    return got == want or len(said(want)) >= RESULT_SHOWN - 40 and got.startswith(want)


# What a check says of a case where thole does what docs/DEVIATIONS.md says.
DEVIATES = "deviates"


def check(run, case):
    """(passed, what was found); None: no such scenario is known."""
    expected, source = case["expected"], case["input"]
    if case["area"] == "fork (V1)":
        run.play(SCENARIOS["think then finish"], "task")
        run.good("fork", "case", "branch")
        ours, theirs = run.events("case", "parent"), run.events("branch", "child")
        ids = [[e["id"] for e in events] for _, events in (ours, theirs)]
        return theirs[0] == expected["status"] and (ids[0] == ids[1]) == expected["same_ids"], "%s %s" % (theirs[0], ids)
    if case["area"].startswith("fn-call converter"):
        good, found = run.split()
        return (DEVIATES if good else False), found
    scenario = source.get("scenario")
    if case["area"] == "crash recovery (V1)":
        status, once, events = run.crashed()
        got = [shown(event).replace(str(run.work), "/tmp/W") for event in events if event["kind"] != "SystemPromptEvent"]
        good = status == expected["status_on_load"] and once == expected["file_created_on_resume"] and same(got, expected["events"])
        return good, "%s %s %s" % (status, once, got)
    want = expected["events"]
    paused = want[1:2] == ["PauseEvent"] and want[2:] in ([], ["ActionEvent:finish", "ObservationEvent:ok"])
    played = SCENARIOS.get(scenario) or derived(case)
    if not paused and not played:
        return None
    status, events = run.paused(bool(want[2:])) if paused else run.play(played, said(want[0]))
    got = [shown(event).replace(str(run.work), "/tmp/W") for event in events if event["kind"] != "SystemPromptEvent"]
    good = status == expected["status"] and same(got, want)
    return good or deviates(case, status, got) and DEVIATES, "%s %s" % (status, got)


def cases(paths):
    for path in map(pathlib.Path, paths):
        files = sorted(f for f in path.glob("*.json") if "openhands" in f.name) if path.is_dir() else [path]
        for file in files:
            found = json.loads(file.read_text())
            yield from (c for c in (found["cases"] if isinstance(found, dict) else found) if c.get("area") in AREAS)


def others(runner, paths):
    """The counts of the other runner, whose output is printed."""
    done = subprocess.run([runner, *paths], stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    print("\n".join(lines[:-1] if counts else lines))
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def main(arguments):
    runner, paths = (arguments[1], arguments[2:]) if arguments[:1] == ["--with"] else (None, arguments)
    passed, failed = others(runner, paths) if runner else (0, 0)
    unknown = deviated = 0
    for case in cases(paths):
        run = Run()
        run.setUp()
        try:
            result = check(run, case)
        except Exception as e:  # noqa: BLE001 - any of them is this case's failure
            result = False, "%s: %s" % (type(e).__name__, e)
        finally:
            run.tearDown()
        if result is None:
            unknown += 1
        elif result[0] == DEVIATES:
            deviated += 1
            passed += 1
        elif result[0]:
            passed += 1
        elif case["input"].get("scenario") in DEVIATIONS:
            deviated += 1
            passed += 1
        else:
            failed += 1
            print("FAIL %s (%s)\n  expected %s\n  found    %s" % (case["id"], case["area"], json.dumps(case["expected"]), result[1]))
    if deviated:
        print("%d whole runs deviate on purpose (docs/DEVIATIONS.md)" % deviated)
    if unknown:
        print("%d are of runs that this runner does not play" % unknown)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
