# SPDX-License-Identifier: Apache-2.0
"""Where thole's results stand in another order than the SDK's (agents_sdk_rules.py)."""
import json
import re

from agents_sdk_case import OUTPUT, calls_of, functions_of, is_output, tool_names, turns
from agents_sdk_rules_session import told


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
