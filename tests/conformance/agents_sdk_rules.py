# SPDX-License-Identifier: Apache-2.0
"""Where thole does something else than the SDK on purpose (docs/DEVIATIONS.md says why).

Each rule finds by what a scenario is about whether it is meant, rewrites what is expected into what thole does, and says so.
It changes nothing where it finds nothing, or something that it does not know."""
import copy

import agents_sdk_model
from agents_sdk_case import (
    KINDS, OUTPUT, asked, calls_of, ends_with, error_of, functions_of, guards_of, is_object, is_output, place_of, turns)
from agents_sdk_rules_barrier import (
    barrier_approval, barrier_guardrail, cancelled_at_once, checks_refused, input_at_any_time, safety_waits)
from agents_sdk_rules_order import results_in_order
from agents_sdk_rules_session import (
    answered, answers_stay, ids_stay, items_stay, log_at_once, log_keeps_the_turn, log_with_conversation, names_tell_apart, spoken_after_refusal, who_speaks_goes_on)
from agents_sdk_rules_told import model_is_told

DEVIATIONS_MAX = 15
MISFIT = "Invalid run error handler final_output for structured output."
GUARDED = ("Output guardrails cannot be combined with conversation_id, previous_response_id, or auto_previous_response_id because "
           "rejected output cannot be removed from server-managed conversation history.")


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


def no_handoff_without_history(case):
    """A handoff whose filter fails does not take place, and nobody hears of it."""
    p = case["expected"]["phases"][-1]
    if "Invalid input filter result" not in error_of(p):
        return False
    p["hooks"] = [h for h in p["hooks"] if not h.startswith("handoff:")]
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


def told_at_the_start(case):
    """What cannot work is refused before anything is asked."""
    p = case["expected"]["phases"][-1]
    options = case["config"].get("options", {})
    filters = "do not support handoff input filters" in error_of(p) and (options.get("previous_response_id") or options.get("conversation_id"))
    guards = any(a.get("output_guardrails") for a in case["config"]["agents"].values()) and (
        options.get("previous_response_id") or options.get("conversation_id"))
    if guards or misfits(case):
        p = case["expected"]["phases"][0]
        p["error"] = {"class": "UserError", "message": GUARDED if guards else MISFIT}
        if not p["requests_made"] and not p["hooks"]:
            return False  # the SDK looked at it first, too
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


def incomplete_is_used(case):
    """An answer that the provider ended early is used where it has calls: they run, and the model goes on."""
    p, n = case["expected"]["phases"][-1], asked(case) - 1
    items = case["model_turns"][n].get("output", [])
    if "terminal event `response.incomplete`" not in error_of(p) or p["op"] != "run" or not functions_of(items) or "stream_events" in p:
        return False
    if any(a.get("tool_use_behavior") for a in case["config"]["agents"].values()):
        return False
    agent = p["hooks"][-1].removeprefix("llm_start:")
    del p["error"]
    p["new_items"] = items_before(case["model_turns"][n + 1 - p["requests_made"]:n])
    while not ends_here(case, p, case["model_turns"][n] if n < len(case["model_turns"]) else agents_sdk_model.NO_MORE, agent):
        n += 1
    return True


def items_before(said):
    """The items of turns that were answers with calls of functions."""
    return [k for t in said for k in [KINDS.get(i["type"], "tool_call_item") for i in t.get("output", [])] +
            [OUTPUT] * len(functions_of(t.get("output", [])))]


def ends_here(case, p, turn, agent):
    """A plain turn of a phase: its calls of functions and their results.  True: it is the last one."""
    if "http_error" in turn:
        ends_with(p, turn)
        return True
    items, calls = turn["output"], functions_of(turn["output"])
    outputs = [{"type": "function_call_output", "call_id": c["call_id"], "output": answered(case, c)} for c in calls]
    if len(calls) < len(calls_of(items)) or not calls and turn.get("status") or any(o["output"] is None for o in outputs):
        raise ValueError("this turn is not plain")
    p["hooks"] += ["llm_end:" + agent] + [h + c["name"] for h in ("tool_start:", "tool_end:") for c in calls]
    p["side_effects"] += [c["name"] for c in calls]
    p["new_items"] += items_before([turn])
    p["next_steps"].append("NextStepRunAgain" if calls else "NextStepFinalOutput")
    p.get("session_items", []).extend(copy.deepcopy(items + outputs))
    if not calls:
        p["hooks"].append("agent_end:" + agent)
        p.update({"final_output": "".join(c.get("text", "") for i in items[-1:] for c in i.get("content", [])), "last_agent": agent,
                  "interruptions": [], "usage_requests": p["requests_made"]})
        return True
    if p["requests_made"] == case["config"].get("options", {}).get("max_turns", 10):
        ends_with(p, agents_sdk_model.NO_MORE)
        p["error"] = {"class": "MaxTurnsExceeded", "message": "Max turns (%d) exceeded" % p["requests_made"]}
        return True
    p["hooks"].append("llm_start:" + agent)
    p["requests_made"] += 1
    request = copy.deepcopy(case["expected"]["requests"][-1])
    request["input"] += copy.deepcopy(items + outputs)
    case["expected"]["requests"].append(request)
    return False


RULES = [incomplete_is_used, model_is_told, log_with_conversation, spoken_after_refusal, told_at_the_start, cancelled_at_once, a_refusal_is_looked_at, no_choice_without_tools, answers_stay, bad_arguments,
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
