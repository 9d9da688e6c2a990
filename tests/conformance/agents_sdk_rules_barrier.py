# SPDX-License-Identifier: Apache-2.0
"""Where thole waits for guardrails and people, and the SDK does not (agents_sdk_rules.py)."""
import collections
import copy
import itertools
import json

import agents_sdk_model
from agents_sdk_case import (
    KINDS, OUTPUT, asked, calls_of, ends_with, error_of, functions_of, guards_of, is_output, place_of, turns, without)


def barrier_guardrail(case):
    """No effect of an answer starts, and none is final, before the guardrails have spoken."""
    p = case["expected"]["phases"][0]
    late = late_trip(case) if p.get("error", {}).get("class") != "InputGuardrailTripwireTriggered" else []
    if late:
        p["error"] = {"class": "InputGuardrailTripwireTriggered", "message": "Guardrail InputGuardrail triggered tripwire"}
        p["hooks"] += [h for h in late if h not in p["hooks"]]
        for key in ("last_agent", "new_items", "interruptions", "usage_requests", "final_output"):
            p.pop(key, None)
    elif p.get("error", {}).get("class") != "InputGuardrailTripwireTriggered":
        return False
    ends = [n for n, h in enumerate(p["hooks"]) if h.startswith("llm_end:")]
    if not ends or ends[0] == len(p["hooks"]) - 1 and not p["next_steps"] and not p["side_effects"]:
        return False
    guards = [h for h in p["hooks"][ends[0] + 1:] if h.startswith("guard_in:")]
    if not late and not p["side_effects"] and not p["next_steps"] and p["hooks"][ends[0] + 1:] == guards:
        return False
    looks = [e for e in p["side_effects"] if e == "screenshot"]  # what only looks need not wait
    requests = case["expected"].get("requests", [])
    case["expected"]["requests"] = requests[:1] + requests[p["requests_made"]:]
    p["hooks"] = p["hooks"][:ends[0] + 1] + guards
    p["side_effects"], p["next_steps"], p["requests_made"] = looks[-1:], [], 1
    if "tool_output" in p.get("stream_events", []):
        p["stream_events"] = p["stream_events"][:p["stream_events"].index("tool_output")]
    return True


def late_trip(case):
    """The hooks of guardrails that say no after an answer that failed is there."""
    p, guards = case["expected"]["phases"][0], guards_of(case, "input_guardrails")
    if "error" not in p or "http_error" in case["model_turns"][0] or p["requests_made"] != 1 or len(case["expected"]["phases"]) > 1:
        return []
    text = case["input"] if isinstance(case["input"], str) else json.dumps(case["input"])
    return ["guard_in:%s:%s" % (g["name"], p["hooks"][0].split(":")[1]) for g in guards
            if g.get("delay_ms", 0) > case["model_turns"][0].get("delay_ms", 0) and g["trip_if_contains"] in text]


def barrier_approval(case):
    """No effect of an answer starts before people have decided about all of its calls."""
    hit = held_before_an_error(case) | words_to_servers(case)
    phases = case["expected"]["phases"]
    for place, (before, after) in enumerate(zip(phases, phases[1:])):
        ends = [n for n, h in enumerate(before["hooks"]) if h.startswith("llm_end:")]
        last = before["hooks"][(ends[-1] + 1 if ends else 0):]
        ran = [h for h in last if h.startswith("tool_")]
        if not ran or not before["next_steps"] or not before["next_steps"][-1].endswith("NextStepInterruption"):
            continue
        if len([n for n in before["next_steps"] if n.endswith("Interruption")]) > 1:
            continue  # a session within: it waits by itself
        hit = True
        del before["hooks"][len(before["hooks"]) - len(last):]
        names = [h.split(":", 1)[1] for h in ran if h.startswith("tool_start:")]
        own = list(takewhile_tools(after["hooks"]))
        answer = sum(p["requests_made"] for p in phases[:place + 1]) - 1
        after["hooks"][:len(own)] = side_by_side(case, answer, ran, own)
        count = len(names)
        late = before["side_effects"][len(before["side_effects"]) - count:]
        del before["side_effects"][len(before["side_effects"]) - count:]
        mine = sum(h.startswith("tool_start:") for h in own)
        after["side_effects"][:mine] = call_order(case, answer, late + after["side_effects"][:mine])
        hold_results(before, phases[place + 1:], count)
    return hit


def needs_a_person(case, call):
    needs = case["config"]["tools"].get(call["name"], {}).get("needs_approval")
    return json.loads(call["arguments"] or "{}").get(needs["arg"]) == needs["equals"] if isinstance(needs, dict) else bool(needs)


def held_before_an_error(case):
    """A run that a tool's error ended beside a call that waits for a person: it waits, and nothing has run."""
    p, said = case["expected"]["phases"][-1], case["model_turns"][:asked(case)]
    if not error_of(p).startswith("Error running tool") or p["op"] != "run" or any("http_error" in t for t in said):
        return False
    items = said[-1]["output"]
    held = [c for c in functions_of(items) if needs_a_person(case, c)]
    ends = [n for n, h in enumerate(p["hooks"]) if h.startswith("llm_end:")]
    if not held or any(h.startswith("handoff:") for h in p["hooks"]):
        return False
    ran = sum(h.startswith("tool_start:") for h in p["hooks"][ends[-1]:])
    before = said[len(said) - p["requests_made"]:-1]
    del p["error"], p["hooks"][ends[-1] + 1:], p["side_effects"][len(p["side_effects"]) - ran:]
    p["next_steps"].append("NextStepInterruption")
    p["new_items"] = [k for t in before for k in kinds_of(t["output"]) + [OUTPUT] * len(functions_of(t["output"]))] + kinds_of(items) + [
        "tool_approval_item"] * len(held)
    p.update({"final_output": None, "last_agent": p["hooks"][-1].removeprefix("llm_end:"), "usage_requests": p["requests_made"],
              "interruptions": [{"name": c["name"], "call_id": c["call_id"]} for c in held]})
    if "session_items" in p:
        p["session_items"] += copy.deepcopy(items)
    for events in [p["stream_events"]] if "stream_events" in p else []:
        del events[len(events) - events[::-1].index("tool_called"):]
    return True


def words_to_servers(case):
    """Nor is a server told what a person decided about one of its calls."""
    phases, hit, word = case["expected"]["phases"], False, "mcp_approval_response_item"
    items = phases[0].get("new_items", [])
    for n, p in enumerate(phases[1:-1], 1):
        more = p.get("new_items", [])[len(items):]
        if not p.get("interruptions") or p["new_items"][:len(items)] != items or word not in more or set(more) - {word, "tool_approval_item"}:
            continue
        hit, told = True, [word] * more.count(word)
        for q in phases[n + 1:]:
            q["new_items"] = items + told + q["new_items"][len(items) + len(more):]
        p["new_items"] = list(items)
        if "stream_events" in p:
            p["stream_events"] = p["stream_events"][:1]
            phases[n + 1]["stream_events"][1:1] = ["mcp_approval_response"] * len(told)
    return hit


def kinds_of(items):
    return [KINDS.get(i["type"], "tool_call_item") for i in items]


def takewhile_tools(hooks):
    for h in hooks:
        if not h.startswith("tool_"):
            return
        yield h


def call_order(case, answer, names):
    """The names in the order of the calls of this answer, if it has them."""
    called = [c["name"] for c in functions_of(case["model_turns"][answer].get("output", []))]
    left = collections.Counter(names)
    if left - collections.Counter(called):
        return names
    return [n for n in called if left[n] > 0 and not left.subtract([n])]


def side_by_side(case, answer, first, second):
    """The hooks of calls that now begin together."""
    if not first or not second:
        return first + second
    names = call_order(case, answer, [h.split(":", 1)[1] for h in first + second if h.startswith("tool_start:")])
    if case["config"].get("options", {}).get("max_function_tool_concurrency") == 1:
        return [h + n for n in names for h in ("tool_start:", "tool_end:")]
    ends = sorted(names, key=lambda n: case["config"]["tools"].get(n, {}).get("behavior", {}).get("sleep_ms", 0))
    return ["tool_start:" + n for n in names] + ["tool_end:" + n for n in ends]


def hold_results(before, later, count):
    """The results of `count` calls are items of the next phase; those behind it begin with the same items."""
    after, items = later[0], before["new_items"]
    held = [n for n, x in enumerate(items) if x == OUTPUT][len([x for x in items if x == OUTPUT]) - count:]
    at = len(items) - count if "tool_approval_item" in items else held[0]
    before["new_items"] = [x for n, x in enumerate(items) if n not in held]
    for phase in itertools.takewhile(lambda p: p["op"] == "resume", later):
        if phase.get("new_items"):
            phase["new_items"] = [x for n, x in enumerate(phase["new_items"]) if n not in held]
            phase["new_items"][at:at] = [OUTPUT] * count
    for events, add in ((before.get("stream_events"), False), (after.get("stream_events"), True)):
        for _ in range(count if events else 0):
            if add:
                events.insert(1, "tool_output")
            else:
                del events[len(events) - 1 - events[::-1].index("tool_output")]
    if before.get("session_items"):
        outputs = [n for n, i in enumerate(before["session_items"]) if is_output(i)][-count:]
        before["session_items"] = [i for n, i in enumerate(before["session_items"]) if n not in outputs]


def cancelled_at_once(case):
    """A guardrail that says no while the model is asked ends that: nobody waits for the answer, and what was not sent yet is not."""
    p = case["expected"]["phases"][0]
    if p.get("error", {}).get("class") != "InputGuardrailTripwireTriggered" or len(case["expected"]["phases"]) > 1:
        return False
    guards = [g for g in guards_of(case, "input_guardrails") if g.get("run_in_parallel") is not False]
    soonest = min([g.get("delay_ms", 0) for g in guards] + [1 << 30])
    agent = next(h[12:] for h in p["hooks"] if h.startswith("agent_start:"))
    if not p["requests_made"] and soonest == 0:
        p["hooks"].insert(p["hooks"].index("agent_start:" + agent) + 1, "llm_start:" + agent)
        p["requests_made"] = 1
        return True
    if not case["config"].get("streamed") or soonest > case["model_turns"][0].get("delay_ms", 0):
        return False
    p["hooks"] = ["agent_start:" + agent, "llm_start:" + agent] + [h for h in p["hooks"] if h.startswith("guard_in:")]
    p["side_effects"], p["next_steps"], p["requests_made"] = [], [], 1
    p["stream_events"] = p["stream_events"][:1]
    case["expected"]["requests"] = case["expected"]["requests"][:1]
    case["unsent"] = soonest == 0
    return True


def safety_waits(case):
    """What the provider has checked for its safety waits for a person, where no code speaks for one."""
    config, p = case["config"], case["expected"]["phases"][0]
    if len(case["expected"]["phases"]) > 1 or any(t.get("ack") is not None for t in config["tools"].values()):
        return False
    for n, items in enumerate(turns(case)):
        held = [i for i in items if i["type"] == "computer_call" and i.get("pending_safety_checks")]
        if held:
            break
    else:
        return False
    end = place_of(p["hooks"], "llm_end:", n) + 1
    started = sum(h.startswith("tool_start:") for h in p["hooks"][:end])
    done = sum(len(t) + len(calls_of(t)) for t in turns(case)[:n]) + len(items)
    p.pop("error", None)
    p["new_items"] = p["new_items"][:done] + ["tool_approval_item"] * len(held)
    p["interruptions"] = [{"name": "computer_use_preview", "call_id": c["call_id"]} for c in held]
    p["final_output"], p["hooks"], p["usage_requests"], p["requests_made"] = None, p["hooks"][:end], n + 1, n + 1
    p["next_steps"] = p["next_steps"][:n] + ["NextStepInterruption"]
    p["side_effects"] = p["side_effects"][:started]
    case["expected"]["requests"] = case["expected"]["requests"][:n + 1]
    return True


def checks_refused(case):
    """A check that is turned down is a rejected call: the model is told, the run goes on."""
    p, n = case["expected"]["phases"][0], asked(case)
    if "safety check was not acknowledged" not in error_of(p) or len(case["expected"]["phases"]) > 1:
        return False
    next_turn = case["model_turns"][n] if n < len(case["model_turns"]) else agents_sdk_model.NO_MORE
    p["hooks"] = [h for h in p["hooks"] if h != "tool_start:computer_use_preview"] + ["llm_start:a"]
    p["requests_made"] += 1
    p["next_steps"].append("NextStepRunAgain")
    p["side_effects"].append("screenshot")
    case["more_requests"] = 1
    if "http_error" in next_turn:
        ends_with(p, next_turn)
        return True
    del p["error"]
    if "stream_events" in p:
        p["stream_events"] += ["tool_output", "message_output_created"]
    p["hooks"] += ["llm_end:a", "agent_end:a"]
    p["next_steps"].append("NextStepFinalOutput")
    p["final_output"] = "".join(c.get("text", "") for i in next_turn["output"][-1:] for c in i.get("content", []))
    return True


def goes_on(case, p, agent):
    """A phase that does not end where the SDK ends it: the model is asked once more, and that is its next turn."""
    n = asked(case)
    turn = case["model_turns"][n] if n < len(case["model_turns"]) else agents_sdk_model.NO_MORE
    p["hooks"] = without(p["hooks"], "agent_end:" + agent) + ["agent_start:" + agent, "llm_start:" + agent]
    p["next_steps"] = ["resumed:NextStepRunAgain"]
    p["requests_made"] += 1
    case["more_requests"] = case.get("more_requests", 0) + 1
    if "http_error" in turn:
        ends_with(p, turn)
        return
    p.pop("error", None)
    for key in ("last_agent", "new_items", "interruptions", "usage_requests"):
        p.pop(key, None)
    p["hooks"] += ["llm_end:" + agent, "agent_end:" + agent]
    p["next_steps"].append("NextStepFinalOutput")
    p["final_output"] = "".join(c.get("text", "") for i in turn["output"][-1:] for c in i.get("content", []))


def input_at_any_time(case):
    """Input is taken at any time, and the run goes on with it where it would have ended."""
    phases = case["expected"]["phases"]
    refused = [p for p in phases if p["op"] == "add_input" and p.get("error")]
    if not refused:
        return False
    agent = phases[0].get("last_agent", "a")
    for before, p in zip(phases, phases[1:]):
        options = case["config"].get("options", {})
        limit = options.get("max_turns", 1 << 30)
        if p.get("error", {}).get("class") == "MaxTurnsExceeded" or asked(case) >= limit and options.get("error_handlers"):
            continue  # it is taken, and stands there for who lets it go on
        if before in refused and p["op"] == "resume" and not (p.get("next_steps") or [""])[-1].endswith("Interruption"):
            goes_on(case, p, agent)
    case["expected"]["phases"] = [p for p in phases if p not in refused]
    return True
