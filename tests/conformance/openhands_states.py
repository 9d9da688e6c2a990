# SPDX-License-Identifier: Apache-2.0
"""Cases of OpenHands about whole runs: a scripted model, thole run, and the session's events as OpenHands would have them.

usage: openhands_states.py [--with RUNNER] FILE|FOLDER...

RUNNER plays all other cases; the last line has the counts of both.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "cli"))
import house  # noqa: E402

AREAS = ("state transitions (V1)", "fork (V1)")

# docs/DEVIATIONS.md, "OpenHands".
DEVIATIONS = ("alias str_replace_editor",)


def call(name, **arguments):
    return [{"function_call": {"name": name, "arguments": arguments}, "undeclared": True}]


def finish(message="ok"):
    return call("finish", message=message)


def text(words):
    return [{"text": words}]


THINK = call("think", thought="t")
CREATE = call("file_editor", command="create", path="crash.txt", file_text="x")


# What the model answers, in the order of the requests; then what is done after the first run, and more members of the agent.
SCENARIOS = {
    "plain text reply": ([text("hello")], [], ""),
    "think then finish": ([THINK, finish()], [], ""),
    "unknown tool": ([call("nope"), finish()], [], ""),
    "bad json args": ([[{"function_call": {"name": "think", "arguments": "{bad"}}], finish()], [], ""),
    "missing required arg": ([call("think"), finish()], [], ""),
    "unexpected arg": ([call("think", thought="t", zzz=1), finish()], [], ""),
    "alias str_replace_editor": ([call("str_replace_editor", command="view", path="/nonexistent_q"), finish()], [], ""),
    "max iterations 2": ([THINK, THINK, THINK], [], "limits: {turns: 2}"),
    "AlwaysConfirm: reject then run": ([CREATE, finish()], ["reject -m nope"], "confirm: {when: always}"),
    "send after finish resets": ([finish(), finish("ok2")], ["run more"], ""),
}


class Run(house.House):
    def runTest(self):
        pass

    def play(self, scenario, task):
        turns, after, more = SCENARIOS[scenario]
        self.violations = False
        self.serve(*turns)
        agent = self.folder / "agent.yaml"
        agent.write_text("model: gpt-5.4\nworkspace: %s\ntools: [think, finish, file_editor]\n"
                         "tool_use_behavior: {stop_at: [finish]}\n%s\n" % (self.work, more))
        self.thole("run", "-a", agent, "-s", "case", task)
        for step in after:
            word, _, rest = step.partition(" ")
            if word == "reject":
                self.good("reject", "case", *rest.split())
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


def same(got, want):
    """Python's words in errors are not compared."""
    return len(got) == len(want) and all(
        a == b or (a.startswith("AgentErrorEvent:") and b.startswith("AgentErrorEvent:")) for a, b in zip(got, want))


def check(run, case):
    """(passed, what was found); None: no such scenario is known."""
    expected, source = case["expected"], case["input"]
    if case["area"] == "fork (V1)":
        run.play("think then finish", "task")
        run.good("fork", "case", "branch")
        ours, theirs = run.events("case", "parent"), run.events("branch", "child")
        ids = [[e["id"] for e in events] for _, events in (ours, theirs)]
        return theirs[0] == expected["status"] and (ids[0] == ids[1]) == expected["same_ids"], "%s %s" % (theirs[0], ids)
    scenario = source.get("scenario")
    if scenario not in SCENARIOS:
        return None
    want = expected["events"]
    status, events = run.play(scenario, want[0].rpartition(":")[2])
    got = [shown(event) for event in events if event["kind"] != "SystemPromptEvent"]
    return status == expected["status"] and same(got, want), "%s %s" % (status, got)


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
        finally:
            run.tearDown()
        if result is None:
            unknown += 1
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
