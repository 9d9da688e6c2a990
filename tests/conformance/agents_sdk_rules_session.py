# SPDX-License-Identifier: Apache-2.0
"""Where thole's session has more, or other items, than the SDK's (agents_sdk_rules.py)."""
import copy
import json

from agents_sdk_case import (
    HANDOFF_CALL, HANDOFF_OUTPUT, KINDS, OUTPUT, calls_of, error_of, functions_of, guards_of, is_output, tool_names, turns)

TRIPS = ("InputGuardrailTripwireTriggered", "OutputGuardrailTripwireTriggered")


def items_stay(case):
    """What happened is an item of the run and of the session, also where a filter keeps it from the next agent."""
    phases = case["expected"]["phases"]
    filtered = any(isinstance(h, dict) and h.get("input_filter") for a in case["config"]["agents"].values()
                   for h in a.get("handoffs", [])) or case["config"].get("options", {}).get("handoff_input_filter")
    if not filtered or any(p["op"] != "run" or p["requests_made"] and "new_items" not in p for p in phases):
        return False
    hit, made, said = False, 0, turns(case)
    kept, old = [], []  # the session after the phase before, here and there
    for p in phases:
        count = len(p["next_steps"])
        hit |= items_of(case, p, said[made:made + count]) if "NextStepHandoff" in p["next_steps"] else False
        made += count
        if "session_items" in p:
            items, own = p["session_items"], []
            if "NextStepHandoff" in p["next_steps"]:
                own = session_of(case, items, said[made - count:made], p["next_steps"])
                begin = max(n for n, i in enumerate(items) if i.get("role") == "user") + 1
            new = kept + (items[len(old):begin] + own if own else items[len(old):])
            hit |= new != items
            kept, old, p["session_items"] = new, items, new
    return hit


def goes_of(case, items):
    return [c for c in functions_of(items) if c["name"].startswith("transfer_to_") or c["name"] in tool_names(case)]


def items_of(case, p, said):
    """The items and events of a phase's turns, with those that a filter took out of them."""
    out, results = [], 0
    for items, step in zip(said, p["next_steps"]):
        calls, goes = calls_of(items), goes_of(case, items)
        out += [HANDOFF_CALL if i in goes else KINDS.get(i["type"], "tool_call_item") for i in items]
        results = len(calls) - bool(goes and step.endswith("Handoff"))
        out += [OUTPUT] * results + ([HANDOFF_OUTPUT] if step.endswith("Handoff") else [])
        events = p.get("stream_events", [])
        for n in range(len(events) - 1, 0, -1):
            if step.endswith("Handoff") and events[n].startswith("agent_updated:") and events[n - 1] != "handoff_occured":
                events[n:n] = ["tool_output"] * results + ["handoff_occured"]
    if p["next_steps"][-1].endswith("Handoff") and p.get("final_output") is not None:
        out.append("message_output_item")  # said at the limit
    hit = out != p["new_items"]
    p["new_items"] = out
    return hit


def handed_to(case, call):
    """The agent that a call hands over to."""
    agents = case["config"]["agents"]
    names = {n: a.get("name", n.lower()) for n, a in agents.items()}
    own = {h["tool_name"]: names[h["to"]] for a in agents.values() for h in a.get("handoffs", [])
           if isinstance(h, dict) and h.get("tool_name")}
    return own.get(call["name"]) or next((n for n in names.values() if call["name"] == "transfer_to_" + n), None)


def answered(case, call):
    """The result of a call whose tool ran, where its behaviour says it; None: it does not."""
    tool = case["config"]["tools"].get(call["name"], {})
    b, failure = tool.get("behavior", {}), tool.get("failure")
    if b.get("kind") == "echo":
        return json.loads(call["arguments"] or "{}").get(b.get("arg"))
    if b.get("kind") == "raise" and isinstance(failure, dict):
        return failure["const"]
    if b.get("kind") == "raise" and failure is None:
        return "An error occurred while running the tool. Please try again. Error: " + b.get("message", "")
    return b.get("value")


def session_of(case, items, said, steps):
    """What a session has of a phase's turns."""
    sent = [i for r in case["expected"].get("requests", []) for i in r["input"]] + items
    out = []
    for list_, step in zip(said, steps):
        out += copy.deepcopy(list_)
        for c in calls_of(list_):
            to = handed_to(case, c) if c["type"] == "function_call" else None
            result = {"type": "function_call_output", "call_id": c["call_id"],
                      "output": json.dumps({"assistant": to}) if to and step.endswith("Handoff") else answered(case, c)}
            out.append(next((i for i in sent if is_output(i) and i["call_id"] == c["call_id"]), result))
    return out + [i for i in items[-1:] if i.get("role") == "assistant" and "id" not in i]


def log_at_once(case):
    """The log has an answer before people have decided about it, also with guardrails of the output."""
    p = case["expected"]["phases"][0]
    if not p["next_steps"][-1:] == ["NextStepInterruption"] or "session_items" not in p or p["requests_made"] != 1:
        return False
    items = turns(case)[0]
    if any(i.get("call_id") == items[-1].get("call_id") for i in p["session_items"]):
        return False
    p["session_items"] = p["session_items"] + copy.deepcopy(items)
    return True


def log_keeps_the_turn(case):
    """What was said and done is in the session, also of a turn that failed."""
    hit, made = False, 0
    phases = case["expected"]["phases"]
    for n, p in enumerate(phases):
        made += p.get("requests_made", 0)
        items = (case["model_turns"][made - 1] if 0 < made <= len(case["model_turns"]) else {}).get("output", [])
        if not p.get("error") or "session_items" not in p or not items or p["error"]["class"] in TRIPS:
            continue
        ids = {i["call_id"] for i in items if i.get("call_id")}
        if "llm_end" not in "".join(p["hooks"]) or p["hooks"][-1].startswith("llm_start") or (
                ids and ids <= {i.get("call_id") for i in p["session_items"]}):
            continue
        hit = True
        kept = copy.deepcopy(items) + [told(case, p, c) for c in items if c["type"].endswith(("_call", "_request"))]
        put_in(case, n, made, len(p["session_items"]), kept)
    return hit


def put_in(case, first, made, at, kept):
    """Items that a session has from a phase on, and the requests after it."""
    phases, limit = case["expected"]["phases"], case["config"].get("options", {}).get("session_limit")
    olds = [list(p.get("session_items", [])) for p in phases]
    for p in phases[first:]:
        if "session_items" in p:
            p["session_items"][at:at] = kept
    for n in range(first + 1, len(phases)):
        count = phases[n].get("requests_made", 0)
        old, new = limited(olds[n - 1], limit), limited(phases[n - 1].get("session_items", []), limit)
        for r in case["expected"].get("requests", [])[made:made + count]:
            if r["input"][:len(old)] == old:
                r["input"][:len(old)] = copy.deepcopy(new)
        made += count


def limited(items, limit):
    """The newest ones, without results of calls that are older, and calls without result."""
    items = items[-limit:] if limit else items
    calls = {i.get("call_id") for i in items if i.get("type", "").endswith("_call")}
    results = {i.get("call_id") for i in items if is_output(i)}
    return [i for i in items if not i.get("call_id") or i["call_id"] in (calls if is_output(i) else results)]


def last_turn(phase):
    """The hooks of the last answer's calls."""
    ends = [n for n, h in enumerate(phase["hooks"]) if h.startswith("llm_end:")]
    return phase["hooks"][ends[-1]:] if ends else []


def told(case, phase, call):
    """The result of a call, as the log has it, in a turn that failed."""
    texts = case["config"].get("options", {}).get("rejection_formatter", {})
    name = call.get("name") or call["type"].replace("_call", "")
    tool = case["config"]["tools"].get(name, {})
    unknown = texts.get("tool_not_found") or "Tool '%s' not found." % name
    own = {"computer_call": {"output": {}}, "custom_tool_call": {"output": unknown},
           "apply_patch_call": {"status": "failed", "output": unknown},
           "local_shell_call": {"output": "Tool 'shell' not found."},
           "shell_call": {"output": [{"stdout": "", "stderr": unknown, "outcome": {"type": "exit", "exit_code": 1}}]}}
    if call["type"] in own:
        return {"type": call["type"] + "_output", "call_id": call["call_id"], **own[call["type"]]}
    if call["type"] == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": call["id"], "approve": False, "reason": error_of(phase)}
    if call in goes_of(case, [call]) and "handoff:" in "".join(last_turn(phase)):
        output = json.dumps({"assistant": handed_to(case, call)})
    elif call in goes_of(case, [call]):
        output = "Not done: the run was stopped before this call began. Nothing was executed."
    elif not tool or tool.get("enabled") is False:
        output = unknown
    elif "tool_start:" + name not in last_turn(phase) or phase["error"]["class"] == "ToolInputGuardrailTripwireTriggered":
        output = "Not done: the run was stopped before this call began. Nothing was executed."
    elif phase["error"]["class"] == "ToolOutputGuardrailTripwireTriggered":
        output = "Output withheld by a guardrail of the tool's output."
    elif "tool_end:" + name in last_turn(phase) and answered(case, call) is not None:
        output = answered(case, call)
    else:
        output = error_of(phase)
    return {"type": "function_call_output", "call_id": call["call_id"], "output": output}


def spoken_after_refusal(case):
    """What was said in a task that an input guardrail stopped is not looked at again with the next task, nor sent with it."""
    phases, made, hit = case["expected"]["phases"], 0, False
    for n, p in enumerate(phases):
        before = phases[n - 1] if n else {}
        turn = case["model_turns"][made] if made < len(case["model_turns"]) else {}
        text = case["steps"][n].get("input") if n < len(case["steps"]) else None
        again = [x.get("error", {}).get("class") == "InputGuardrailTripwireTriggered" and x["op"] == "run" for x in (before, p)]
        items = turn.get("output", [])
        if all(again) and isinstance(text, str) and items and {i["type"] for i in items} <= {"message", "reasoning"}:
            guards = guards_of(case, "input_guardrails")
            if any(g["trip_if_contains"] in text for g in guards):
                return hit
            agent, hit = case["config"]["agents"][case["config"]["start"]].get("name", case["config"]["start"].lower()), True
            if not p["requests_made"]:
                case["more_requests"] = case.get("more_requests", 0) + 1
            else:
                r = case["expected"]["requests"][made]
                r["input"] = r["input"][-1:]
            del p["error"]
            p["requests_made"], p["next_steps"], p["side_effects"] = 1, ["NextStepFinalOutput"], []
            p["hooks"] = ["agent_start:" + agent, "llm_start:" + agent, "llm_end:" + agent, "agent_end:" + agent] + [
                "guard_in:%s:%s" % (g["name"], agent) for g in guards]
            p["final_output"] = "".join(c.get("text", "") for i in items[-1:] for c in i.get("content", []))
            if "session_items" in p:
                p["session_items"] = p["session_items"] + copy.deepcopy(items)
        made += p.get("requests_made", 0)
    return hit


def ids_stay(case):
    """The session has an answer as it came: what is not sent of it is left out of requests."""
    hit = False
    if case["config"].get("options", {}).get("reasoning_item_id_policy") != "omit":
        return False
    ids = [i["id"] for t in turns(case) for i in t if i["type"] == "reasoning" and i.get("id")]
    for p in case["expected"]["phases"]:
        for i, id in zip([i for i in p.get("session_items", []) if i.get("type") == "reasoning" and "id" not in i], ids):
            i["id"], hit = id, True
    return hit


def changed_history(case):
    """Does a handoff change what the next agent sees?"""
    options = case["config"].get("options", {})
    return options.get("nest_handoff_history") or options.get("handoff_input_filter") or any(
        isinstance(h, dict) and (h.get("input_filter") or h.get("nest_handoff_history"))
        for a in case["config"]["agents"].values() for h in a.get("handoffs", []))


def goes_on_from(case, made, p, input_):
    """The requests of a phase go on from the last one before it, whose history a handoff had changed."""
    requests = case["expected"]["requests"]
    said = [{"role": "user", "content": input_}] if isinstance(input_, str) else input_
    old = requests[made]["input"][:-len(said)]
    new = requests[made - 1]["input"] + copy.deepcopy(case["model_turns"][made - 1]["output"])
    for r in requests[made:made + p["requests_made"]]:
        r["input"] = new + r["input"][len(old):]


def who_speaks_goes_on(case):
    """The next task begins with the agent that speaks, and with what it sees, not with the first one and all that was."""
    phases, agents = case["expected"]["phases"], case["config"]["agents"]
    names = {a: v.get("name", a.lower()) for a, v in agents.items()}
    first, hit, made = names[case["config"]["start"]], False, 0
    if not case["config"].get("options", {}).get("session"):
        return False
    speaks = first
    for before, p in zip([{}] + phases, phases):
        passed = [h.rpartition("->")[2] for h in before.get("hooks", []) if h.startswith("handoff:")]
        speaks = before.get("last_agent") or (passed or [speaks])[-1]  # a run that failed may have passed it on
        if p["op"] == "run" and speaks != first and "NextStepHandoff" not in p["next_steps"]:
            alias = next(a for a in agents if names[a] == speaks)
            hit = True
            for key in ("hooks", "stream_events"):
                if key in p:
                    p[key] = [h[:-len(first)] + speaks if h.endswith(":" + first) else h for h in p[key]]
            if "last_agent" in p:
                p["last_agent"] = speaks
            if changed_history(case):
                runs = [s for s in case["steps"] if s["op"] in ("run", "resume")]
                goes_on_from(case, made, p, runs[phases.index(p)]["input"])
            for r in case["expected"]["requests"][made:made + p["requests_made"]]:
                r.pop("instructions", None)
                if agents[alias].get("instructions"):
                    r["instructions"] = agents[alias]["instructions"]
                r["tools"] = [t for t in agents[alias].get("tools", []) if case["config"]["tools"][t].get("enabled", True)] + [
                    isinstance(h, dict) and h.get("tool_name") or "transfer_to_" + names[h if isinstance(h, str) else h["to"]]
                    for h in agents[alias].get("handoffs", [])]
                r.pop("tool_choice", None)
                if agents[alias].get("model_settings", {}).get("tool_choice"):
                    r["tool_choice"] = agents[alias]["model_settings"]["tool_choice"]
        made += p.get("requests_made", 0)
    return hit


def answers_stay(case):
    """The session has a call in the form in which the model said it."""
    hit = False
    said = [c for t in turns(case) for c in functions_of(t)]
    for p in case["expected"]["phases"]:
        items = p.get("session_items", [])
        for n, i in enumerate(list(items)):
            call = next((c for c in said if c["call_id"] == i.get("call_id")), None)
            if call and i["type"] in ("apply_patch_call", "shell_call"):
                items[n], hit = copy.deepcopy(call), True
            elif call and i["type"] in ("apply_patch_call_output", "shell_call_output") and isinstance(i.get("output"), str):
                items[n] = {"type": "function_call_output", "call_id": i["call_id"], "output": i["output"]}
    return hit


def log_with_conversation(case):
    """The log is there whether or not the provider keeps the conversation: the two go together."""
    p, turn = case["expected"]["phases"][-1], case["model_turns"][0]
    if not error_of(p).startswith("Session persistence cannot be combined") or {i["type"] for i in turn["output"]} != {"message"}:
        return False
    start = case["config"]["agents"][case["config"]["start"]]
    options, agent = case["config"]["options"], start.get("name", case["config"]["start"].lower())
    said = [{"role": "user", "content": p_input(case)}]
    del p["error"]
    p.update({"hooks": ["agent_start:" + agent, "llm_start:" + agent, "llm_end:" + agent, "agent_end:" + agent],
              "next_steps": ["NextStepFinalOutput"], "requests_made": 1, "last_agent": agent, "new_items": ["message_output_item"],
              "final_output": turn["output"][-1]["content"][0]["text"],
              "session_items": options.get("session_preload", []) + said + copy.deepcopy(turn["output"])})
    request = {"input": said, "tools": list(start.get("tools", []))}
    request.update({to: options[key] for key, to in (("conversation_id", "conversation"), ("previous_response_id",) * 2) if options.get(key)})
    if start.get("instructions"):
        request["instructions"] = start["instructions"]
    case["expected"]["requests"] = [request]
    return True


def p_input(case):
    return next(s["input"] for s in case["steps"] if s["op"] == "run")


def names_tell_apart(case):
    """Agents are told apart by their names: of two of one name the second has a number."""
    names = [v.get("name", a.lower()) for a, v in case["config"]["agents"].items()]
    twice = {n for n in names if names.count(n) > 1}
    hit = False
    for r in case["expected"].get("requests", []):
        for i in r["input"]:
            for n in twice:
                if i.get("output") == '{"assistant": "%s"}' % n:
                    i["output"], hit = '{"assistant": "%s#2"}' % n, True
    return hit
