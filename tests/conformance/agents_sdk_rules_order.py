# SPDX-License-Identifier: Apache-2.0
"""Where thole's results stand in another order than the SDK's (agents_sdk_rules.py)."""
import json
import re

from agents_sdk_case import OUTPUT, functions_of, is_output, tool_names, turns

ASKED = "tool_approval_item"


def results_in_order(case):
    """Results stand in the order of the calls: of handoffs that did not take place, of unknown tools, of whatever kind."""
    lists = [r["input"] for r in case["expected"].get("requests", [])]
    lists += [p["session_items"] for p in case["expected"]["phases"] if "session_items" in p]
    calls = {}
    for c in (c for t in turns(case) for c in t if answered_by(c)):
        calls.setdefault(answered_by(c), len(calls))
    kept = any(case["config"].get("options", {}).get(k) for k in ("previous_response_id", "conversation_id", "auto_previous_response_id"))
    return any([in_order(items, dict(calls) if kept else None) for items in lists] + [unknown_first(case)])


def unknown_first(case):
    """The results of calls that no tool takes, and the questions about others, come in the order of the calls."""
    if case["config"].get("options", {}).get("rejection_formatter"):
        return False  # the program gives the words, while the person is asked
    hit, tools = False, case["config"]["tools"]
    known = set(tools) | {"transfer_to_" + a.get("name", n.lower()) for n, a in case["config"]["agents"].items()}
    known |= tool_names(case) | {t.get("tool_name") for t in tools.values()}
    for items in turns(case):
        ours = [OUTPUT if c["name"] not in known else ASKED for c in functions_of(items)
                if c["name"] not in known or tools.get(c["name"], {}).get("needs_approval")]
        theirs = sorted(ours, key=lambda x: x == OUTPUT)
        if ours == theirs:
            continue
        for p in case["expected"]["phases"]:
            new = p.get("new_items", [])
            at = next((n for n in range(len(new)) if new[n:n + len(theirs)] == theirs and new[n - 1] != ASKED), None)
            if at is not None:
                new[at:at + len(theirs)], hit = ours, True
    return hit


def answered_by(item):
    """By what the result of a call, or a person's word about a server's, names it."""
    return item.get("approval_request_id") or item.get("call_id") or (item.get("id") if item.get("type") == "mcp_approval_request" else None)


def is_answer(item):
    return is_output(item) or item.get("type") == "mcp_approval_response"


def in_order(items, order=None):
    order, at, hit = {} if order is None else order, 0, False
    while at < len(items):
        hit |= in_order_told(items[at], order)
        end = at
        while end < len(items) and is_answer(items[end]):
            end += 1
        block = sorted(items[at:end], key=lambda o: order.get(answered_by(o), 0))
        hit |= block != items[at:end]
        items[at:end] = block
        if end == at:
            order[answered_by(items[at])] = len(order)
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
