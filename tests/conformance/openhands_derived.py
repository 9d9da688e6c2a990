# SPDX-License-Identifier: Apache-2.0
"""A run of OpenHands that is known by its events alone: what the model answered, what was done between, and the agent."""
import itertools
import re


def call(name, **arguments):
    return [{"function_call": {"name": name, "arguments": arguments}, "undeclared": True}]


def finish(message="ok"):
    return call("finish", message=message)


def text(words):
    return [{"text": words}]


THINK = call("think", thought="t")
CREATE = call("file_editor", command="create", path="crash.txt", file_text="x")
BAD = [{"function_call": {"name": "think", "arguments": "{bad"}}]
FAILS = {"parts": text("never said"), "faults": [{"status": 400, "message": "boom", "times": -1}]}


def said(event):
    """The words behind the kind and the source or tool of an event as the cases write it."""
    return event.split(":", 2)[-1] if event.startswith("MessageEvent") else event.partition(":")[2]


def refused_call(tool, result):
    """Arguments that a tool refuses in the way that its result tells."""
    known = {"think": {"thought": "t"}, "finish": {"message": "ok"}, "file_editor": {"command": "view", "path": "/tmp/W"}}.get(tool, {})
    wrong = re.search(r"validation error for \w+\n(\w+)\n", result)
    if not wrong:
        return BAD if tool == "think" and "JSON" in result else call(tool)
    if "Field required" in result:
        return call(tool, **{k: v for k, v in known.items() if k != wrong[1]})
    return call(tool, **{**known, wrong[1]: 1})


def call_of(event, result):
    """What the model called when this is the event, and this was its result."""
    tool, null = event.split(":")[1], event.endswith(":null")
    made = re.search(r"File created successfully at: (\S+)", result)
    if null:
        return refused_call(tool, result)
    if tool == "finish":
        return finish(said(result))
    if tool != "file_editor":
        return THINK if tool == "think" else call(tool)
    if made:
        return call(tool, command="create", path=made[1], file_text="x")
    if "Here's the" in result:
        return call(tool, command="view", path="/tmp/W")
    return call(tool, command="view", path="/tmp/W/none") if "Invalid `path`" in result else CREATE


def confirms(scenario):
    """The agent's rule about who must be asked, and whether it is asked about a call of unknown risk."""
    if "Always" in scenario:
        return "confirm: {when: always}", True
    if "Risky" in scenario:
        unknown = "confirm_unknown=False" not in scenario
        return "confirm: {when: risky, unknown: %s, analysers: [model]}" % str(unknown).lower(), unknown
    return "", False


def answer_of(events, at, asks, after):
    """The calls of the answer that begins here, and how many events they and their results are."""
    calls = list(itertools.takewhile(lambda e: e.startswith("ActionEvent:"), events[at:]))
    results = list(itertools.takewhile(lambda e: not e.startswith(("ActionEvent:", "Message", "Conversation")),
                                       events[at + len(calls):]))[:len(calls)]
    rejected = [said(e) for e in results if e.startswith("UserRejectObservation")]
    if asks and results and any(":file_editor" in e or ":terminal" in e for e in calls):
        after.append("reject " + rejected[0] if rejected else "approve")
        if not rejected or events[at + len(calls) + len(results):]:
            after.append("resume")
    turn = [part for n, e in enumerate(calls) for part in call_of(e, results[n] if n < len(results) else "")]
    return turn, len(calls) + len(results)


def derived(case):
    """(turns, what is done after the first run, more members of the agent); None: no such run is known."""
    scenario, events = case["input"].get("scenario", ""), case["expected"]["events"]
    if not events or not events[0].startswith("MessageEvent:user:"):
        return None
    events, turns, after, at = events[1:], [], [], 0
    rule, asks = confirms(scenario)
    more = [rule] if rule else []
    while at < len(events):
        event = events[at]
        if event.startswith("ActionEvent:"):
            turn, count = answer_of(events, at, asks, after)
            turns.append(turn)
            at += count
            continue
        if event.startswith("MessageEvent:agent:") and said(event).strip():
            turns.append(text(said(event)))
        elif event.startswith("MessageEvent:user:") and (said(event) == "bad call" or "malformed" in scenario):
            turns.append(BAD)
        elif event.startswith("MessageEvent:user:") and turns:
            after.append("run " + said(event))
        elif event.startswith("ConversationErrorEvent:MaxIterations"):
            turns.append(THINK)
            more = [rule] * bool(rule) + ["limits: {turns: %s}" % re.search(r"limit \((\d+)\)", event)[1]]
        elif event.startswith("ConversationErrorEvent:"):
            turns.append(FAILS)
        elif not event.startswith("MessageEvent:environment:"):
            return None
        at += 1
    if case["expected"]["status"] == "stuck":
        turns.append(turns[-1])
        more.append("stuck: {rules: openhands_v1}")
    return (turns, after, "\n".join(more)) if turns else None


def deviates(case, status, got):
    """Does the run differ only where thole does something else on purpose (docs/DEVIATIONS.md)?"""
    want = case["expected"]["events"]
    if "UserRejectObservation" in want[-1]:  # the result of a rejected call is written when the run goes on
        return got == want[:-1]
    if status != case["expected"]["status"]:
        return False
    behind = any(a.startswith("ActionEvent:finish") and b.startswith("ActionEvent:") for a, b in zip(want, want[1:]))
    if behind:  # what stands behind the end of the task is not done, and has a result that says so
        return [e for e in got if not e.startswith("AgentErrorEvent:Not done")] == [
            e + ":null" if n and e.startswith("ActionEvent:") and want[n - 1].startswith("ActionEvent:") else e for n, e in enumerate(want)]
    bad = [e for e in want[1:] if e.startswith("MessageEvent:user:") and said(e) == "bad call"]
    return bool(bad) and len([e for e in got if e.startswith("AgentErrorEvent:")]) == len(bad)
