# SPDX-License-Identifier: Apache-2.0
"""What a scenario of the Agents SDK is about: its turns, calls, guardrails."""
import json

import agents_sdk_model

KINDS = {"message": "message_output_item", "reasoning": "reasoning_item", "compaction": "compaction_item",
         "mcp_list_tools": "mcp_list_tools_item", "mcp_approval_request": "mcp_approval_request_item"}
OUTPUT, HANDOFF_CALL, HANDOFF_OUTPUT = "tool_call_output_item", "handoff_call_item", "handoff_output_item"


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


def tool_names(case):
    return {h["tool_name"] for a in case["config"]["agents"].values() for h in a.get("handoffs", [])
            if isinstance(h, dict) and h.get("tool_name")}


def guards_of(case, key):
    start = case["config"]["agents"][case["config"]["start"]]
    return start.get(key, []) + case["config"].get("options", {}).get(key, [])
