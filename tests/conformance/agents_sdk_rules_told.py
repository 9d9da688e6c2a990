# SPDX-License-Identifier: Apache-2.0
"""Where thole tells the model what is wrong with its call, and the SDK's run ends (agents_sdk_rules.py)."""
import json

import agents_sdk_model
from agents_sdk_case import asked, calls_of, ends_with, error_of, is_object, turns


def model_is_told(case):
    """A call of a hosted tool that is not there where unknown tools are told, and a patch that cannot be read, have a result."""
    phases, said = case["expected"]["phases"], turns(case)
    p, options = phases[-1], case["config"].get("options", {})
    if len(phases) > 1 or p.get("error", {}).get("class") != "ModelBehaviorError" or "stream_events" in p or not said:
        return False
    calls = calls_of(said[-1])
    if len(calls) != 1 or len(said[-1]) != 1:
        return False
    call, patch = calls[0], "apply_patch" in error_of(p).lower() or "apply patch" in error_of(p).lower()
    unknown = call["type"] != "function_call" and options.get("tool_not_found_behavior") == "return_error_to_model"
    if not unknown and not (patch and call.get("name") == "apply_patch"):
        return False
    agent = p["hooks"][0].split(":", 1)[1]
    if p["hooks"][-1].startswith("llm_start:"):
        p["hooks"].append("llm_end:" + agent)
    if patch and not unknown and is_object(call.get("arguments")):
        p["hooks"] += ["tool_start:apply_patch", "tool_end:apply_patch"]
        inner = json.loads(call["arguments"] or "{}").get("operation")
        if isinstance(inner, dict):  # the scenario's editor does what it is given
            p["side_effects"].append("%s %s" % (inner["type"].partition("_")[0], inner["path"]))
    case["more_requests"] = 1
    goes_on(case, p, agent)
    return True


def goes_on(case, p, agent):
    n = asked(case)
    turn = case["model_turns"][n] if n < len(case["model_turns"]) else agents_sdk_model.NO_MORE
    p["hooks"].append("llm_start:" + agent)
    p["next_steps"].append("NextStepRunAgain")
    p["requests_made"] += 1
    if "http_error" in turn:
        ends_with(p, turn)
        return
    if calls_of(turn["output"]):
        raise ValueError("this turn is not plain")
    for key in ("error", "last_agent", "new_items", "interruptions", "usage_requests"):
        p.pop(key, None)
    p["hooks"] += ["llm_end:" + agent, "agent_end:" + agent]
    p["next_steps"].append("NextStepFinalOutput")
    p["final_output"] = "".join(c.get("text", "") for i in turn["output"][-1:] for c in i.get("content", []))
