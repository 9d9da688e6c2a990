# SPDX-License-Identifier: Apache-2.0
"""Where thole does something else than the SDK on purpose (docs/DEVIATIONS.md says why).

Each rule finds by what a scenario is about whether it is meant, rewrites what is expected into what thole does, and says so.
It changes nothing where it finds nothing, or something that it does not know."""
import copy
import json
import re

import agents_sdk_model

DEVIATIONS_MAX = 15
TRIPS = ("InputGuardrailTripwireTriggered", "OutputGuardrailTripwireTriggered")
KINDS = {"message": "message_output_item", "reasoning": "reasoning_item", "compaction": "compaction_item",
         "mcp_list_tools": "mcp_list_tools_item", "mcp_approval_request": "mcp_approval_request_item"}
OUTPUT, HANDOFF_CALL, HANDOFF_OUTPUT = "tool_call_output_item", "handoff_call_item", "handoff_output_item"


# ---- what a scenario is about --------------------------------------------------------------------

def turns(case):
    """What the model said in the turns that took place."""
    return [t["output"] for t in case["model_turns"][:asked(case)] if "output" in t]


def asked(case):
    return sum(p.get("requests_made", 0) for p in case["expected"]["phases"])


def calls_of(items):
    return [i for i in items if i["type"].endswith("_call") and i.get("call_id")]


def functions_of(items):
    return [i for i in items if i["type"] == "function_call"]


def is_object(text):
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False


def is_output(item):
    return bool(item.get("call_id")) and item.get("type", "").endswith("_output")


def without(list_, *names):
    return [x for x in list_ if x not in names]


def place_of(list_, prefix, nth):
    """Where the nth (from 0) of what begins so stands."""
    at = [n for n, x in enumerate(list_) if x.startswith(prefix)]
    return at[nth]


def error_of(phase):
    return phase.get("error", {}).get("message", "")


def ends_with(phase, turn):
    """The phase ends with the error that a turn is."""
    for key in ("last_agent", "new_items", "interruptions", "usage_requests", "final_output"):
        phase.pop(key, None)
    phase["error"] = agents_sdk_model.http_error(turn["http_error"])


# ---- the rules -----------------------------------------------------------------------------------

def bad_arguments(case):
    """A call whose arguments are no JSON object is not run, so nobody hears that it starts."""
    hit = False
    hooks = [p["hooks"] for p in case["expected"]["phases"]]
    for call in (c for t in turns(case) for c in functions_of(t) if not is_object(c.get("arguments"))):
        for list_ in hooks:
            if "tool_start:" + call["name"] in list_ and "tool_end:" + call["name"] in list_:
                list_.remove("tool_start:" + call["name"])
                list_.remove("tool_end:" + call["name"])
                hit = True
                break
    return hit


def id_of_an_earlier_turn(case):
    """An id that was used in an earlier turn is a new call: many servers count from 0 in each answer."""
    p = case["expected"]["phases"][-1]
    if "reused a completed tool call ID" not in error_of(p):
        return False
    last = functions_of(turns(case)[-1])
    p["hooks"] += ["llm_end:a"] + ["%s:%s" % (h, c["name"]) for c in last for h in ("tool_start", "tool_end")]
    p["hooks"].append("llm_start:a")
    p["side_effects"] += [c["name"] for c in last]
    if "stream_events" in p:
        p["stream_events"] += ["tool_called"] * len(last) + ["tool_output"] * len(last)
    p["next_steps"].append("NextStepRunAgain")
    p["requests_made"] += 1
    p["error"] = agents_sdk_model.http_error(agents_sdk_model.NO_MORE["http_error"])
    case["more_requests"] = 1
    return True


def call_of_an_earlier_turn(case):
    """So is the very same call once more: it is run again, where the SDK passes over it."""
    p, seen = case["expected"]["phases"][0], {}
    if len(case["expected"]["phases"]) > 1 or error_of(p):
        return False
    for n, items in enumerate(turns(case)):
        again = [c for c in functions_of(items) if seen.get(c["call_id"]) == (c["name"], c["arguments"])]
        if again and len(again) == len(items):
            break
        seen.update({c["call_id"]: (c["name"], c["arguments"]) for c in functions_of(items)})
    else:
        return False
    requests = case["expected"]["requests"]
    results = [next(i for i in requests[n]["input"] if is_output(i) and i["call_id"] == c["call_id"]) for c in again]
    at = len(requests[n]["input"])
    for r in requests[n + 1:]:
        r["input"][at:at] = copy.deepcopy(again + results)
    names = [c["name"] for c in again]
    end = place_of(p["hooks"], "llm_end:", n) + 1
    before = sum(h.startswith("tool_start:") for h in p["hooks"][:end])
    p["hooks"][end:end] = ["tool_start:" + x for x in names] + ["tool_end:" + x for x in names]
    p["side_effects"][before:before] = names
    done = sum(len(t) + len(functions_of(t)) for t in turns(case)[:n])
    p["new_items"][done:done] = ["tool_call_item"] * len(again) + [OUTPUT] * len(again)
    return True


def empty_answer(case):
    """An answer without any item is none: the model is asked again."""
    p = case["expected"]["phases"][-1]
    if p.get("final_output") != "" or not turns(case) or turns(case)[-1] or "requests" not in case["expected"]:
        return False
    n = asked(case)
    next_turn = case["model_turns"][n] if n < len(case["model_turns"]) else agents_sdk_model.NO_MORE
    items, agent = next_turn.get("output", []), p["last_agent"]
    if calls_of(items) or "http_error" not in next_turn and not items:
        return False
    end = p["hooks"].index("agent_end:" + agent)
    p["requests_made"] += 1
    p["usage_requests"] += 1
    case["expected"]["requests"].append(copy.deepcopy(case["expected"]["requests"][-1]))
    p["next_steps"][-1:] = [p["next_steps"][-1].replace("FinalOutput", "RunAgain")]
    if "http_error" in next_turn:
        p["hooks"][end:] = ["llm_start:" + agent]
        ends_with(p, next_turn)
        return True
    p["hooks"][end:end] = ["llm_start:" + agent, "llm_end:" + agent]
    p["next_steps"].append("NextStepFinalOutput")
    p["new_items"] += [KINDS.get(i["type"], "tool_call_item") for i in items]
    p["final_output"] = "".join(c.get("text", "") for i in items[-1:] for c in i.get("content", []))
    return True


def results_in_order(case):
    """Results stand in the order of the calls: of handoffs that did not take place, of unknown tools, of whatever kind."""
    lists = [r["input"] for r in case["expected"].get("requests", [])]
    lists += [p["session_items"] for p in case["expected"]["phases"] if "session_items" in p]
    calls = {}
    for c in (c for t in turns(case) for c in calls_of(t)):
        calls.setdefault(c["call_id"], len(calls))
    kept = any(case["config"].get("options", {}).get(k) for k in ("previous_response_id", "conversation_id", "auto_previous_response_id"))
    return any([in_order(items, dict(calls) if kept else None) for items in lists] + [unknown_first(case)])


def unknown_first(case):
    """The result of a call that no tool takes is there before a person is asked about the others."""
    hit = False
    if case["config"].get("options", {}).get("rejection_formatter"):
        return False  # the program gives the words, while the person is asked
    known = set(case["config"]["tools"]) | {"transfer_to_" + a.get("name", n.lower()) for n, a in case["config"]["agents"].items()}
    known |= tool_names(case) | {t.get("tool_name") for t in case["config"]["tools"].values()}
    count = max([sum(c["name"] not in known for c in functions_of(t)) for t in turns(case)] + [0])
    for p in case["expected"]["phases"]:
        items = p.get("new_items", [])
        at = items.index("tool_approval_item") if count and "tool_approval_item" in items else len(items)
        asked_ = len(items[at:]) - len([*dropped(items[at:], "tool_approval_item")])
        results = items[at + asked_:at + asked_ + count]
        if asked_ and results and set(results) == {OUTPUT}:
            items[at:at + asked_ + len(results)] = results + items[at:at + asked_]
            hit = True
    return hit


def dropped(list_, name):
    """What is behind the first ones of that name."""
    at = 0
    while at < len(list_) and list_[at] == name:
        at += 1
    return list_[at:]


def in_order(items, order=None):
    order, at, hit = {} if order is None else order, 0, False
    while at < len(items):
        hit |= in_order_told(items[at], order)
        end = at
        while end < len(items) and is_output(items[end]):
            end += 1
        block = sorted(items[at:end], key=lambda o: order.get(o["call_id"], 0))
        hit |= block != items[at:end]
        items[at:end] = block
        if end == at:
            order[items[at].get("call_id")] = len(order)
        at = max(end, at + 1)
    return hit


def in_order_told(item, order):
    """The same of a nested history's records."""
    text = item.get("content")
    if not isinstance(text, str) or not text.startswith("For context, here is the conversation so far"):
        return False
    lines = text.split("\n")
    told = [re.fullmatch(r"\d+\. (\{.*\})", line) for line in lines[2:-1]]
    records = [json.loads(m[1]) if m else {} for m in told]
    before = list(records)
    if not in_order(records, order):
        return False
    lines[2:-1] = [line if old is new else "%d. %s" % (n + 1, json.dumps(new, ensure_ascii=False))
                   for n, (line, old, new) in enumerate(zip(lines[2:-1], before, records))]
    item["content"] = "\n".join(lines)
    return True


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
        functions, goes = functions_of(items), goes_of(case, items)
        out += [HANDOFF_CALL if i in goes else KINDS.get(i["type"], "tool_call_item") for i in items]
        results = len(functions) - bool(goes and step.endswith("Handoff"))
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


def session_of(case, items, said, steps):
    """What a session has of a phase's turns."""
    sent = [i for r in case["expected"].get("requests", []) for i in r["input"]] + items
    out = []
    for list_, step in zip(said, steps):
        out += copy.deepcopy(list_)
        for c in functions_of(list_):
            to = next((a.get("name", n.lower()) for n, a in case["config"]["agents"].items()
                       if c["name"] == "transfer_to_" + a.get("name", n.lower())), None)
            value = case["config"]["tools"].get(c["name"], {}).get("behavior", {}).get("value")
            result = {"type": "function_call_output", "call_id": c["call_id"],
                      "output": json.dumps({"assistant": to}) if to and step.endswith("Handoff") else value}
            out.append(next((i for i in sent if is_output(i) and i["call_id"] == c["call_id"]), result))
    return out + [i for i in items[-1:] if i.get("role") == "assistant" and "id" not in i]


def tool_names(case):
    return {h["tool_name"] for a in case["config"]["agents"].values() for h in a.get("handoffs", [])
            if isinstance(h, dict) and h.get("tool_name")}


def no_handoff_without_history(case):
    """A handoff whose filter fails does not take place, and nobody hears of it."""
    p = case["expected"]["phases"][-1]
    if "Invalid input filter result" not in error_of(p):
        return False
    p["hooks"] = [h for h in p["hooks"] if not h.startswith("handoff:")]
    return True


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
    hit = False
    phases = case["expected"]["phases"]
    for before, after in zip(phases, phases[1:]):
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
        after["hooks"][:len(own)] = side_by_side(case, ran, own)
        count = len(names)
        late = before["side_effects"][len(before["side_effects"]) - count:]
        del before["side_effects"][len(before["side_effects"]) - count:]
        mine = sum(h.startswith("tool_start:") for h in own)
        after["side_effects"][:mine] = call_order(case, late + after["side_effects"][:mine])
        hold_results(before, after, count)
    return hit


def takewhile_tools(hooks):
    for h in hooks:
        if not h.startswith("tool_"):
            return
        yield h


def call_order(case, names):
    """The names in the order of the calls of the turn that has them."""
    for items in turns(case):
        called = [c["name"] for c in functions_of(items)]
        if all(n in called for n in names):
            return sorted(names, key=called.index)
    return names


def side_by_side(case, first, second):
    """The hooks of calls that now begin together."""
    if not first or not second:
        return first + second
    names = call_order(case, [h.split(":", 1)[1] for h in first + second if h.startswith("tool_start:")])
    if case["config"].get("options", {}).get("max_function_tool_concurrency") == 1:
        return [h + n for n in names for h in ("tool_start:", "tool_end:")]
    ends = sorted(names, key=lambda n: case["config"]["tools"].get(n, {}).get("behavior", {}).get("sleep_ms", 0))
    return ["tool_start:" + n for n in names] + ["tool_end:" + n for n in ends]


def hold_results(before, after, count):
    """The results of `count` calls are items of the next phase."""
    items = before["new_items"]
    approvals = len(items) - len(without(items, "tool_approval_item"))
    at = max(n for n, x in enumerate(items) if x == OUTPUT) + 1 - count
    del items[at:at + count]
    if after.get("new_items"):
        del after["new_items"][at:at + count]
        at = len(items) if approvals else at
        after["new_items"][at:at] = [OUTPUT] * count
    for events, add in ((before.get("stream_events"), False), (after.get("stream_events"), True)):
        for _ in range(count if events else 0):
            if add:
                events.insert(1, "tool_output")
            else:
                del events[len(events) - 1 - events[::-1].index("tool_output")]
    if before.get("session_items"):
        outputs = [n for n, i in enumerate(before["session_items"]) if is_output(i)][-count:]
        before["session_items"] = [i for n, i in enumerate(before["session_items"]) if n not in outputs]


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
    p["hooks"] += ["llm_end:a", "agent_end:a"]
    p["next_steps"].append("NextStepFinalOutput")
    p["final_output"] = "".join(c.get("text", "") for i in next_turn["output"][-1:] for c in i.get("content", []))
    return True


def reasoning_is_followed(case):
    """Reasoning that nothing of its answer follows is not sent: the API refuses it."""
    hit = False
    for r in case["expected"].get("requests", []):
        keep = []
        for n, i in enumerate(r["input"]):
            after = next((j for j in r["input"][n + 1:] if j.get("type") != "reasoning"), None)
            own = any(i in t for t in turns(case))
            alone = i.get("type") == "reasoning" and own and (after is None or after.get("role") == "user" or is_output(after))
            keep += [] if alone else [i]
        hit |= len(keep) != len(r["input"])
        r["input"] = keep
    return hit


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
        if "llm_end" not in "".join(p["hooks"]) or p["hooks"][-1].startswith("llm_start") or any(
                i.get("call_id") == items[-1].get("call_id") for i in p["session_items"] if i.get("call_id")):
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
    if not tool or tool.get("enabled") is False:
        output = unknown
    elif "tool_start:" + name not in phase["hooks"] or phase["error"]["class"] == "ToolInputGuardrailTripwireTriggered":
        output = "Not done: the run was stopped before this call began. Nothing was executed."
    elif phase["error"]["class"] == "ToolOutputGuardrailTripwireTriggered":
        output = "Output withheld by a guardrail of the tool's output."
    elif "tool_end:" + name in phase["hooks"] and "value" in tool.get("behavior", {}):
        output = tool["behavior"]["value"]
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
    for before, p in zip([None] + phases, phases):
        speaks = before.get("last_agent", first) if before else first
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
                r["tools"] = [t for t in agents[alias].get("tools", [])] + [
                    "transfer_to_" + names[h if isinstance(h, str) else h["to"]] for h in agents[alias].get("handoffs", [])]
        made += p.get("requests_made", 0)
    return hit


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


def guards_of(case, key):
    start = case["config"]["agents"][case["config"]["start"]]
    return start.get(key, []) + case["config"].get("options", {}).get(key, [])


def told_at_the_start(case):
    """What cannot work is refused before anything is asked."""
    p = case["expected"]["phases"][-1]
    options = case["config"].get("options", {})
    filters = "do not support handoff input filters" in error_of(p) and (options.get("previous_response_id") or options.get("conversation_id"))
    if misfits(case):
        p = case["expected"]["phases"][0]
        p["error"] = {"class": "UserError", "message": "Invalid run error handler final_output for structured output."}
        case["expected"]["phases"], case["steps"] = [p], case["steps"][:1]
        p["session_items"] = []
        for key in ("last_agent", "new_items", "interruptions", "usage_requests", "final_output"):
            p.pop(key, None)
    elif not filters:
        return False
    p["hooks"], p["next_steps"], p["side_effects"], p["requests_made"] = [], [], [], 0
    if "stream_events" in p:
        p["stream_events"] = p["stream_events"][:1]
    case["expected"]["requests"] = []
    return True


def misfits(case):
    """Is a text said instead of an answer that has a form?"""
    handlers = case["config"].get("options", {}).get("error_handlers", {}).values()
    outputs = [h["final_output"] if isinstance(h, dict) and "final_output" in h else h for h in handlers]
    return any(a.get("output_type") for a in case["config"]["agents"].values()) and any(
        isinstance(o, str) and not o.startswith("{") for o in outputs)


def a_refusal_is_looked_at(case):
    """A refusal is a final output: guardrails of the output look at it."""
    p = case["expected"]["phases"][-1]
    guards = guards_of(case, "output_guardrails")
    if p.get("error", {}).get("class") != "ModelRefusalError" or not guards:
        return False
    agent = next(h[8:] for h in p["hooks"][::-1] if h.startswith("llm_end:"))
    p["hooks"] += ["agent_end:" + agent] + ["guard_out:%s:%s" % (g["name"], agent) for g in guards]
    p["next_steps"].append("NextStepFinalOutput")
    if any(g["trip_if_contains"] in error_of(p).split(": ", 1)[1] for g in guards):
        p["error"] = {"class": "OutputGuardrailTripwireTriggered", "message": "Guardrail OutputGuardrail triggered tripwire"}
    return True


def no_choice_without_tools(case):
    """The API refuses a choice of tools where there are none."""
    hit = False
    for r in case["expected"].get("requests", []):
        if r.get("tool_choice") and not r.get("tools"):
            del r["tool_choice"]
            hit = True
    return hit


def parted_from_its_reasoning(case):
    """A call whose reasoning is not sent is not sent by its id either: the API refuses it."""
    reasoned = {i["id"]: t[n - 1]["id"] for t in turns(case) for n, i in enumerate(t)
                if n and i["type"].endswith("_call") and i.get("id") and t[n - 1]["type"] == "reasoning"}
    hit = False
    for r in case["expected"].get("requests", []):
        for n, i in enumerate(r["input"]):
            if i.get("id") in reasoned and (not n or r["input"][n - 1].get("id") not in (reasoned[i["id"]], None)):
                del i["id"]
                hit = True
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


RULES = [spoken_after_refusal, told_at_the_start, cancelled_at_once, a_refusal_is_looked_at, no_choice_without_tools, answers_stay, bad_arguments,
         id_of_an_earlier_turn, call_of_an_earlier_turn, empty_answer, items_stay, no_handoff_without_history, input_at_any_time,
         barrier_guardrail, barrier_approval, log_at_once, safety_waits, checks_refused, reasoning_is_followed, log_keeps_the_turn,
         ids_stay, who_speaks_goes_on, names_tell_apart, results_in_order, parted_from_its_reasoning]


def deviations(case):
    """The names of the rules that hold of a scenario; what it expects is rewritten."""
    hits = []
    for rule in RULES:
        before = copy.deepcopy(case["expected"])
        try:
            hit = rule(case)
        except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):
            hit = False  # of a shape that no rule is about
        if hit:
            hits.append(rule.__name__)
        else:
            case["expected"] = before
    return hits
