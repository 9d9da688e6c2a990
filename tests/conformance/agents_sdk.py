# SPDX-License-Identifier: Apache-2.0
"""agents_sdk.py BUILD FILE|FOLDER...: files of the OpenAI Agents SDK's behaviour: vectors (agents_sdk_vectors.c), and scenarios,
played by an embedded runtime (agents_sdk_host.c) against a scripted model over HTTP
(agents_sdk_model.py).  What the runtime's log says is put into the SDK's words and compared.

A scenario in which thole does something else on purpose is found by what it is about (agents_sdk_rules.py,
docs/DEVIATIONS.md says why); then it is checked that thole does exactly that."""
import ast
import copy
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import agents_sdk_model
from agents_sdk_rules import DEVIATIONS_MAX, deviations, functions_of

BUILD = sys.argv[1]
HOST = os.path.join(BUILD, "tests/conformance/conformance-agents-host")
VECTORS = os.path.join(BUILD, "tests/conformance/conformance-agents-vectors")
HOSTED = {"web_search", "file_search", "code_interpreter", "image_generation"}
NATIVE = {"shell": "shell", "local_shell": "shell", "apply_patch": "apply_patch"}  # types, and our tools


# ---- a scenario as an agent file -----------------------------------------------------------------

class Cannot(Exception):
    """The scenario asks for something that thole does not have."""


def closed(schema):
    """A schema as the SDK's models print it: all of it is required."""
    return {**schema, "required": list(schema.get("properties", {}))} if schema.get("type", "object") == "object" else schema


PRIMITIVES = {"str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"}, "bool": {"type": "boolean"}}


def primitive(text):
    """A Python type's schema."""
    m = re.fullmatch(r"[Ll]ist\[(.*)\]", text)
    return {"items": primitive(m[1]), "type": "array"} if m else PRIMITIVES.get(text, {"type": text})


def output_schema(output_type):
    if isinstance(output_type, str):
        return primitive(output_type)
    if isinstance(output_type.get("schema"), dict):
        return closed(output_type["schema"])
    kind = next((output_type[k] for k in ("primitive", "python", "python_type", "wrap", "type") if output_type.get(k)), "str")
    return primitive(kind) if isinstance(kind, str) else kind


def behaviour(value):
    if isinstance(value, dict) and "stop_at_tool_names" in value:
        return {"stop_at": value["stop_at_tool_names"]}
    return "run_again" if value in (None, "run_llm_again") else value


def real_name(alias, agent):
    return agent.get("name", alias.lower())


def own_name(alias, config):
    """thole tells agents apart by their names: of two of one name the second has a number, as in the SDK's states."""
    same = [a for a in config["agents"] if real_name(a, config["agents"][a]) == real_name(alias, config["agents"][alias])]
    same.sort(key=lambda a: a != config["start"])
    return real_name(alias, config["agents"][alias]) + ("#%d" % (same.index(alias) + 1) if same[0] != alias else "")


def handoff(h, config):
    h = {"to": h} if isinstance(h, str) else h
    options = config.get("options", {})
    out = {"agent": own_name(h["to"], config)}
    if h.get("tool_name") or "#" in out["agent"]:
        out["tool"] = h.get("tool_name") or handoff_tool(h, config)
    for key, names in (("description", ("description", "tool_description")), ("enabled", ("enabled", "is_enabled")),
                       ("filter", ("input_filter",)), ("nest", ("nest_handoff_history",))):
        for name in names:
            if h.get(name) is not None:
                out[key] = h[name]
    if "filter" not in out and options.get("handoff_input_filter"):
        out["filter"] = options["handoff_input_filter"]
    return out


def delegate(name, config):
    """A tool that is an agent."""
    t = config["tools"][name]
    out = {"name": tool_name(name, t), "agent": own_name(t["agent"], config),
           "description": t.get("description") or t.get("tool_description") or ""}
    if t.get("params"):
        out["parameters"] = t["params"]
    if t.get("max_turns"):
        out["turns"] = t["max_turns"]
    if t.get("needs_approval") is True:
        out["approve"] = True
    return out


def handoff_tool(h, config):
    return h.get("tool_name") or "transfer_to_" + re.sub(r"\W", "_", real_name(h["to"], config["agents"][h["to"]])).lower()


def guard(g):
    """A check in one form: the text it looks for and, of a tool's, what the model is told instead."""
    texts = [v for k, v in g.items() if k.endswith("contains") and isinstance(v, str)]
    told = next((g[k] for k in ("reject", "reject_content", "message", "reject_message") if isinstance(g.get(k), str)), None)
    kind = next((g[k] for k in ("behavior", "behaviour", "kind", "action", "mode", "on_trip") if isinstance(g.get(k), (str, dict))), "")
    if isinstance(kind, dict):
        told, kind = kind.get("message", told), kind.get("type", "")
    out = {**g, "trip_if_contains": texts[0] if texts else "", "always": not texts and (told is not None or bool(kind) and kind != "allow")}
    if "raise" in kind or g.get("raise"):
        told = None
    if told is not None:
        out["reject"] = told
    return out


def guard_name(name, g, guards, others):
    """The name under which thole knows a check: the SDK tells two of one name apart."""
    while name in [o["name"] for o in others] or guards.get(name, guard(g)) != guard(g):
        name += "#"
    guards[name] = guard(g)
    return name


def tool_guards(t):
    """The checks of a tool, with their stages."""
    both = t.get("guardrails") or {}
    if isinstance(both, dict):
        both = [{"stage": k, **g} for k in both for g in (both[k] if isinstance(both[k], list) else [both[k]])]
    for n, g in enumerate(both):
        stage = next((str(g[k]) for k in ("stage", "on", "when", "type", "at") if g.get(k)), "input")
        yield "tool_output" if "output" in stage else "tool_input", g
    for key in ("input", "output"):
        for name in (key + "_guardrails", "tool_" + key + "_guardrails"):
            for g in t.get(name) or []:
                yield "tool_" + key, g


def kept(options):
    return any(options.get(k) for k in ("previous_response_id", "conversation_id", "auto_previous_response_id"))


def definition(case, alias, guards):
    config, options = case["config"], case["config"].get("options", {})
    agent = config["agents"][alias]
    tools = [t for t in agent.get("tools", []) if config["tools"][t].get("enabled", True) is not False]
    delegates = [t for t in tools if config["tools"][t].get("type") == "agent"]
    hosted = [{"type": config["tools"][t]["type"]} for t in tools if config["tools"][t].get("type") in HOSTED]
    tools = [t for t in tools if config["tools"][t].get("type") not in HOSTED]
    servers = [config["tools"][t]["server_label"] for t in tools if config["tools"][t].get("type") == "hosted_mcp"]
    hosted += [{"type": "mcp", "server_label": s, "server_url": "https://%s.test/mcp" % s} for s in servers]
    natives = [config["tools"][t]["type"] for t in tools if config["tools"][t].get("type") in NATIVE]
    tools = [tool_name(t, config["tools"][t]) for t in tools if config["tools"][t].get("type") != "hosted_mcp"]
    out = {"name": own_name(alias, config), "tools": tools or ["none"], "unknown_tool": "fail", "output_retries": 0,
           "instructions": agent.get("instructions", "")}
    if options.get("tool_not_found_behavior") == "return_error_to_model":
        out["unknown_tool"] = "tell"
    if hosted:
        out["hosted_tools"] = hosted
    if natives:
        out["native_tools"] = natives
    asked = [approval(t) for t in config["tools"].values() if approval(t)]
    if asked:
        out["approve_from"] = "approval"
    if delegates:
        out["commands"] = [delegate(t, config) for t in delegates]
    if any("approve" in a["callback"] for a in asked):
        out["decide_from"] = "decision"
    computer = [t for t in tools if config["tools"].get(t, {}).get("type") == "computer"]
    if computer:
        out["computer"] = {"kind": "custom", "width": 1024, "height": 768}
        out["tools"] = [t for t in tools if t not in computer] or ["none"]
    if agent.get("handoffs"):
        out["handoffs"] = [handoff(h, config) for h in agent["handoffs"]]
        if options.get("nest_handoff_history") and not kept(options):  # the SDK warns, and leaves it out
            out["nest_history"] = True
        if options.get("handoff_history_mapper"):
            out["history_mapper"] = options["handoff_history_mapper"]
    if agent.get("handoff_description"):
        out["handoff_description"] = agent["handoff_description"]
    if agent.get("tool_use_behavior"):
        out["tool_use_behavior"] = behaviour(agent["tool_use_behavior"])
    if agent.get("output_type"):
        out["output_schema"] = output_schema(agent["output_type"])
    if agent.get("reset_tool_choice") is False:
        out["reset_tool_choice"] = False
    filters = [f for f in (options.get("model_input_filter"),
                           "omit_reasoning_ids" if options.get("reasoning_item_id_policy") == "omit" and not kept(options) else None) if f]
    if filters:
        out["input_filter"] = "+".join(filters)
    if options.get("session_limit"):
        out["history_items"] = options["session_limit"]
    out["settings"] = {"stream": bool(config.get("streamed")), "store": True}
    if options.get("auto_previous_response_id"):
        out["settings"]["history"] = "previous_response"
    if agent.get("model_settings", {}).get("tool_choice"):
        out["settings"]["tool_choice"] = agent["model_settings"]["tool_choice"]
    list_ = []
    for key, stage in (("input_guardrails", "input"), ("output_guardrails", "output")):
        for g in agent.get(key, []) + options.get(key, []):
            list_.append({"name": guard_name(g["name"], g, guards, list_), "stage": stage, "blocking": stage == "input" and g.get("run_in_parallel") is False})
    for t in tools:
        for n, (stage, g) in enumerate(tool_guards(config["tools"].get(t, {}))):
            name = guard_name(g.get("name") or "%s_%s_%d" % (t, stage, n), g, guards, list_)
            list_.append({"name": name, "stage": stage, "tools": [t]})
    if list_:
        out["guardrails"] = list_
    handlers = {}
    for key, name in (("max_turns", "max_turns"), ("model_refusal", "refusal"), ("invalid_final_output", "invalid_output")):
        h = options.get("error_handlers", {}).get(key)
        if h is not None:
            h = h if isinstance(h, dict) and "final_output" in h else {"final_output": h}
            handlers[name] = {"output": h["final_output"], "in_history": h.get("include_in_history", True) is not False}
    if handlers:
        out["instead"] = handlers
    return out


def body(b):
    """What a tool's body gives back, in the SDK's conversion: parts as input parts, any other value as Python prints it."""
    kind = b.get("kind", "const")
    value = next((b[k] for k in ("value", "parts", "output") if k in b), None)
    if kind == "parts" and isinstance(value, list):
        return {**b, "parts": [part(p) for p in value]}
    if kind in ("const", "json") and not isinstance(value, str) and ("value" in b or kind == "json"):
        return {**b, "kind": "const", "value": str(value)}
    return b


def part(p):
    if isinstance(p, str):
        return {"type": "input_text", "text": p}
    return {**p, "type": {"text": "input_text", "image": "input_image", "file": "input_file"}.get(p.get("type"), p.get("type"))}


def tool_name(alias, t):
    if t.get("type") == "agent":
        return t.get("tool_name") or alias
    return NATIVE.get(t.get("type"), t.get("name", alias) if t.get("type") == "custom" else alias)


def approval(t):
    """What the program's code says about calls of a tool, where more is asked than yes or no; None: nothing."""
    callback = next((t[k] for k in ("callback", "on_approval", "on_approval_request") if isinstance(t.get(k), dict)), None)
    needs = t.get("needs_approval")
    if not callback and not isinstance(needs, dict):
        return None
    out = {"always": needs is True, "callback": callback or {}}
    if isinstance(needs, dict):
        out.update({"arg": needs.get("arg", ""), "equals": needs.get("equals")})
    return out


def answers(case, kind):
    """What a scenario's executor answered where only its requests say so, by call."""
    types = {"shell": "shell_call_output", "local_shell": "local_shell_call_output", "apply_patch": "apply_patch_call_output",
             "custom": "custom_tool_call_output"}
    return {i["call_id"]: i.get("output") for r in case["expected"].get("requests", []) for i in r["input"]
            if i.get("type") == types.get(kind)}


def tool(name, t, case):
    kind = t.get("type", "function")
    if kind not in ("function", "custom") and kind not in NATIVE:
        raise Cannot(kind)
    out = {"name": tool_name(name, t), "schema": t.get("params") or {"type": "object", "properties": {}},
           "ask": t.get("needs_approval") is True and not approval(t), "behavior": body(t.get("behavior", {}))}
    if kind != "function":
        out["native"] = {"kind": kind, "answers": answers(case, kind)}
        out["native"].update({k: t[k] for k in ("raise", "max_output_length") if k in t})
        value = next((t[k] for k in ("value", "output", "outputs", "result") if k in t), None)
        if value is not None:
            out["native"]["value"] = value
    for key in ("failure", "timeout_ms", "timeout_behavior"):
        if key in t:
            out[key] = t[key]
    return out


def stays(steps):
    """Is more to come, before the run goes on, than people's decisions?"""
    ops = [s["op"] for s in steps]
    ops = ops[:ops.index("resume")] if "resume" in ops else ops
    return "add_input" in ops or "serialize_roundtrip" in ops


def plan(case):
    """The scenario's steps as the host does them.  What people decide or say is acted on at once, unless the session is held;
    the SDK waits until it is told to go on."""
    config, out, ran, held = case["config"], [], False, False
    accepts = [t["ack"] for t in config["tools"].values() if t.get("ack") is not None]
    for n, s in enumerate(case["steps"]):
        op = s["op"]
        if op in ("approve", "reject", "add_input") and not held and stays(case["steps"][n:]):
            out.append({"op": "pause"})
            held = True
        if op == "run":
            if ran and not config.get("options", {}).get("session"):
                out.append({"op": "fresh"})
            out += [s, {"op": "wait"}]
            if accepts:  # the program answers the provider's checks
                out += [{"op": "approve" if accepts[0] else "reject"}, {"op": "wait"}]
            out.append({"op": "items"})
            ran, held = True, False
        elif op == "serialize_roundtrip":
            out += [{"op": "reopen"}] + [{"op": "go"}] * (not held)
        elif op == "resume":
            out += [{"op": "go"}] * held + [{"op": "wait"}, {"op": "items"}]
            held = False
        elif op == "add_input" and not isinstance(s.get("input"), str):
            out += [{"op": op, "input": i["content"]} if set(i) <= {"role", "content", "type"} and i.get("role") == "user"
                    and isinstance(i.get("content"), str) else {"op": op, "input": [i]} for i in s.get("input") or []]
        else:
            out.append(s)
    return out


def spec(case, store, url):
    config, options, guards = case["config"], case["config"].get("options", {}), {}
    start = config["start"]
    agent = definition(case, start, guards)
    others = {own_name(a, config): definition(case, a, guards) for a in config["agents"] if a != start}
    if others:
        agent["agents"] = others
    agent.update({"model": "responses:test-model", "base_url": url})
    if options.get("conversation_history_wrappers"):
        agent["history_markers"] = [options["conversation_history_wrappers"][k] for k in ("start", "end")]
    retry = options.get("retry")
    turns = options.get("max_turns", 10)
    agent["limits"] = {"turns": turns if turns is not None else 1000, "model_attempts": 1 + (retry.get("max_retries", 0) if retry else 0)}
    if options.get("max_function_tool_concurrency"):
        agent["limits"]["parallel_calls"] = options["max_function_tool_concurrency"]
    for key, name in (("previous_response_id", "previous_response_id"), ("conversation_id", "conversation")):
        if options.get(key):
            agent["settings"][name] = options[key]
    used = {t for a in config["agents"].values() for t in a.get("tools", [])}
    tools = [tool(n, t, case) for n, t in config["tools"].items()
             if n in used and t.get("type") not in HOSTED and t.get("type") not in ("computer", "hosted_mcp", "agent")]
    approvals = {t["server_label"] if t.get("type") == "hosted_mcp" else tool_name(n, t): approval(t)
                 for n, t in config["tools"].items() if approval(t)}
    delegates = {tool_name(n, t): {"turns": t.get("max_turns") or 10, "failure": t.get("failure")}
                 for n, t in config["tools"].items() if t.get("type") == "agent"}
    formatter = options.get("rejection_formatter", {})
    texts = {"rejected": formatter.get("approval_rejected"), "unknown_tool": formatter.get("tool_not_found")}
    steps = []
    if options.get("session_preload"):
        steps.append({"op": "preload", "input": options["session_preload"]})
    steps += plan(case)
    return {"store": store, "agent": agent, "tools": tools, "steps": steps,
            "codes": {"guards": guards, "delegates": delegates, "approvals": approvals, "texts": {k: v for k, v in texts.items() if v}}}


# ---- the log in the SDK's words ------------------------------------------------------------------

ITEMS = {"message": "message_output_item", "reasoning": "reasoning_item", "compaction": "compaction_item",
         "mcp_list_tools": "mcp_list_tools_item", "mcp_approval_request": "mcp_approval_request_item"}
STREAM = {"message_output_item": "message_output_created", "reasoning_item": "reasoning_item_created",
          "tool_call_item": "tool_called", "handoff_call_item": "handoff_requested", "tool_call_output_item": "tool_output",
          "handoff_output_item": "handoff_occured", "mcp_list_tools_item": "mcp_list_tools",
          "mcp_approval_request_item": "mcp_approval_requested", "mcp_approval_response_item": "mcp_approval_response"}


class Reader:
    """Folds the log into phases."""

    def __init__(self, case):
        self.case = case
        self.config = case["config"]
        self.agents = {own_name(a, self.config): v for a, v in self.config["agents"].items()}
        self.speaks = own_name(self.config["start"], self.config)
        self.agent = real_name(self.config["start"], self.config["agents"][self.config["start"]])
        self.phases, self.items, self.usage = [], [], 0
        self.calls, self.tools_of, self.waiting = {}, {}, {}
        self.servers, self.types, self.heard, self.asked, self.handed = set(), [], 0, False, False
        self.announced, self.phase, self.said = None, None, 0
        self.children = {}

    def child(self, id):
        """Who folds the log of a session that works on a call."""
        if id not in self.children:
            self.children[id] = Child(self)
        return self.children[id]

    def begin(self, op):
        for c in self.children.values():
            c.begin(op)
        if op == "run":
            self.items, self.usage, self.announced, self.tried = [], 0, None, 0
        self.announced = None
        self.phase = {"op": op, "hooks": [], "next_steps": [], "side_effects": [], "requests_made": 0,
                      "stream_events": ["agent_updated:" + self.agent]}
        self.ended = self.stepped = self.handed = False
        self.resumed, self.answered = op == "resume", False
        self.results &= op == "resume"

    def hook(self, name):
        self.phase["hooks"].append(name)

    def unhook(self, name):
        """The last one of that name was none."""
        hooks = self.phase["hooks"]
        if name in hooks:
            del hooks[len(hooks) - 1 - hooks[::-1].index(name)]

    def item(self, kind):
        self.items.append(kind)
        if kind in STREAM:
            self.stream(STREAM[kind])

    def stream(self, name):
        self.phase["stream_events"].append(name)

    def step(self, name, of=None):
        self.phase["next_steps"].append(("resumed:" if self.resumed and not of else "") + name)
        if of is None:
            self.resumed = self.answered = False

    def final(self):
        if not self.ended:
            self.ended = True
            self.hook("agent_end:" + self.agent)

    def event(self, kind, source, d):
        getattr(self, "on_" + kind, lambda source, d: None)(source, d)

    def runs_again(self):
        if self.results or self.answered:
            self.step("NextStepRunAgain")
        self.results = False

    def on_model_requested(self, source, d):
        self.runs_again()
        self.asked, self.handed = True, False
        for _ in range(self.said):
            self.item("input_item")
        self.said = 0
        if d["attempt"] == 1:
            if self.announced != self.agent:
                self.announced = self.agent
                self.hook("agent_start:" + self.agent)
            self.hook("llm_start:" + self.agent)
        self.phase["requests_made"] += 1
        self.tried += 1

    results, tried = False, 0

    def use(self, requests):
        """Requests count when one is answered, with those before it that were not."""
        self.usage += requests

    def on_model_answered(self, source, d):
        self.use(self.tried)
        self.tried = 0
        self.answered, self.heard, self.asked = True, len(self.phase["stream_events"]), False
        if d["status"] == "incomplete" and not any(i["type"].endswith("_call") for i in d["items"]):
            return  # the SDK takes nothing of it
        self.hook("llm_end:" + self.agent)
        names = self.handoffs()
        self.answer_text = False
        seen = set()
        for item in d["items"]:
            if item.get("call_id") in seen:
                continue  # the same call once more
            seen.add(item.get("call_id") or item.get("id") or id(item))
            kind = ITEMS.get(item["type"], "tool_call_item")
            if item["type"] == "function_call" and item["name"] in names:
                kind = "handoff_call_item"
            self.answer_text |= item["type"] == "message"
            self.item(kind)
            if item["type"] in ("function_call", "custom_tool_call"):
                self.tools_of[item["call_id"]] = item["name"]
            elif item["type"][:-5] in NATIVE:
                self.tools_of[item["call_id"]] = item["type"][:-5]
            elif item["type"] == "mcp_approval_request":
                self.tools_of[item["id"]] = item["name"]
                self.servers.add(item["id"])
        self.types = [i["type"] for i in d["items"]]
        self.any_calls = any(i["type"].endswith("_call") for i in d["items"])

    def handoffs(self):
        out = {}
        for h in self.agents.get(self.speaks, {}).get("handoffs", []):
            h = {"to": h} if isinstance(h, str) else h
            out[handoff_tool(h, self.config)] = real_name(h["to"], self.config["agents"][h["to"]])
        return out

    def on_approval_requested(self, source, d):
        name = self.tools_of.get(d["call_id"], "computer_use_preview")
        self.waiting[d["call_id"]] = {"name": name, "call_id": d["call_id"]}
        self.item("tool_approval_item")

    def on_approval_decided(self, source, d):
        self.waiting.pop(d["call_id"], None)
        if source == "environment" or any(t.get("ack") for t in self.config["tools"].values()):
            self.items.remove("tool_approval_item")  # the SDK asks a callback, and says nothing of it

    def on_intent(self, source, d):
        if d["tool"] == "computer":
            d = {**d, "tool": "computer_use_preview"}
        self.waiting.pop(d["call_id"], None)
        self.hook("tool_start:" + self.tools_of.get(d["call_id"], d["tool"]))

    def on_outcome(self, source, d):
        name = self.tools_of.get(d["call_id"])
        self.waiting.pop(d["call_id"], None)
        self.results = True
        if name in self.handoffs() and d["status"] == "done":
            return
        if d.get("effect_id") and not d.get("fails"):
            self.hook("tool_end:" + (name or "computer_use_preview"))
        if not d.get("fails") and not self.phase.get("error"):
            self.item("mcp_approval_response_item" if d["call_id"] in self.servers else "tool_call_output_item")

    def on_handoff(self, source, d):
        self.results, self.handed = False, True
        to = d["to"].split("#")[0]
        self.hook("handoff:%s->%s" % (self.agent, to))
        self.step("NextStepHandoff")
        self.item("handoff_output_item")
        self.agent, self.speaks, self.announced = to, d["to"], None
        self.phase["stream_events"].append("agent_updated:" + self.agent)

    def on_guardrail(self, source, d):
        if d["stage"] == "input":
            if d.get("after"):
                self.runs_again()  # what was said is looked at when a request is next
            self.hook("guard_in:%s:%s" % (d["name"].rstrip("#"), d.get("agent", self.agent).split("#")[0]))
        elif d["stage"] == "tool_output" and d["tripped"] and not d.get("message"):
            self.unhook("tool_end:" + self.tools_of.get(d.get("call_id"), ""))  # the SDK looks before it says that it ended
        elif d["stage"] == "output":
            self.final()
            if not self.stepped:
                self.stepped = True
                if not (self.handed and self.at_limit()):
                    self.step("NextStepRunAgain" if self.at_limit() else "NextStepFinalOutput")
            self.hook("guard_out:%s:%s" % (d["name"].rstrip("#"), d.get("agent", self.agent)))

    def at_limit(self):
        """Is what a guardrail looks at said instead of an answer?"""
        options = self.config.get("options", {})
        return ((self.results or self.handed) and not self.agents.get(self.speaks, {}).get("tool_use_behavior")
                and "max_turns" in options.get("error_handlers", {}))

    def on_message(self, source, d):
        if self.phase and self.phase["op"] == "resume" and source == "user":
            pass

    def on_final(self, source, d):
        instead = d.get("instead_of")
        if d.get("status") == "refused":
            self.phase["error"] = {"class": "ModelRefusalError", "message": "Model refused to produce output: " + d["output"]}
            return
        self.final()
        if instead == "max_turns" and not self.stepped:
            self.runs_again()
        elif not self.stepped:
            self.step("NextStepFinalOutput")
        if instead and d.get("in_history"):
            self.item("message_output_item")
        self.phase["final_output"] = d["output"]

    def on_state_changed(self, source, d):
        if d["to"] == "limit":
            if self.results or self.answered:
                self.step("NextStepRunAgain")
            self.results = False
            turns = self.config.get("options", {}).get("max_turns", 10)
            self.phase["error"] = {"class": "MaxTurnsExceeded", "message": "Max turns (%d) exceeded" % turns}

    def on_error(self, source, d):
        made = sum(p["requests_made"] for p in self.phases + [self.phase])
        fault = case_fault(self.case, made) if d["class"] == "model" else None
        e = self.phase["error"] = fault or error(d["class"], d["message"], self.agent, self.types)
        if re.match(r"(Tool|MCP server label) .* not found|Model produced .* without", e["message"] or ""):
            del self.phase["stream_events"][self.heard:]  # nothing of such an answer is told
        elif not self.asked:  # nor results of a turn that fails
            told = self.phase["stream_events"]
            told[self.heard:] = [e for e in told[self.heard:] if e not in ("tool_output", "handoff_occured")]
        if "gave back no list of items" in d["message"] and self.config.get("options", {}).get("model_input_filter") == "invalid":
            e["message"] = "call_model_input_filter must return a ModelInputData instance"
            if self.announced != self.agent:
                self.hook("agent_start:" + self.agent)

    def waits(self):
        """Calls that wait for a person, also those of sessions that work for this one."""
        return list(self.waiting.values()) + [w for c in self.children.values() for w in c.interrupt()]

    def end(self):
        p = self.phase
        waits = self.waits()
        if "error" not in p:
            p["last_agent"] = self.agent
            p["new_items"] = list(self.items)
            p["interruptions"] = waits
            p["usage_requests"] = self.usage
            p.setdefault("final_output", None)
            if p["interruptions"]:
                self.step("NextStepInterruption")
                self.results = False
        self.phases.append(p)


def case_fault(case, made):
    """What the model last said, in the last of so many answers, where that ends a run."""
    turns, ends = case["model_turns"], case.get("ends")
    fault = (turns[made - 1] if made <= len(turns) else agents_sdk_model.NO_MORE).get("http_error")
    if fault:
        return agents_sdk_model.http_error(fault)
    if ends and case["config"].get("streamed"):
        return {"class": "ModelBehaviorError", "message": "Responses stream ended with terminal event `response.%s`." % ends}
    return {"class": "ModelBehaviorError", "message": None} if ends else None


# Of a call whose tool is not there, by the type of its item.
MISSING = {"computer_call": "Model produced computer action without a computer tool.",
           "shell_call": "Model produced shell call without a shell tool.",
           "local_shell_call": "Model produced local shell call without a local shell tool.",
           "apply_patch_call": "Model produced apply_patch call without an apply_patch tool."}


class Child(Reader):
    """A session that works on a call: its steps and requests count, what else it does is not the run's."""

    def __init__(self, parent):
        super().__init__(parent.case)
        self.parent = parent
        self.begin(parent.phase["op"])
        self.resumed = False

    def step(self, name, of=None):
        self.parent.step(("resumed:" if self.resumed and not of else "") + name, self)
        if of is None:
            self.resumed = self.answered = False

    def on_session_created(self, source, d):
        self.agent = self.speaks = d["begins"]

    def hook(self, name):
        super().hook(name)
        if name.startswith("guard_"):
            self.parent.hook(name)

    def use(self, requests):
        super().use(requests)
        self.parent.use(requests)

    def on_model_requested(self, source, d):
        super().on_model_requested(source, d)
        r = self.parent
        while r:
            r.phase["requests_made"] += 1
            r = getattr(r, "parent", None)

    def interrupt(self):
        waits = self.waits()
        if waits:
            self.step("NextStepInterruption")
            self.results = False
        return waits


def error(kind, message, agent, types=()):
    tripwires = {"input_guardrail": ("InputGuardrailTripwireTriggered", "Guardrail InputGuardrail triggered tripwire"),
                 "output_guardrail": ("OutputGuardrailTripwireTriggered", "Guardrail OutputGuardrail triggered tripwire"),
                 "tool_input_guardrail": ("ToolInputGuardrailTripwireTriggered",
                                          "Tool input guardrail ToolInputGuardrail triggered tripwire"),
                 "tool_output_guardrail": ("ToolOutputGuardrailTripwireTriggered",
                                           "Tool output guardrail ToolOutputGuardrail triggered tripwire")}
    if kind in tripwires:
        return dict(zip(("class", "message"), tripwires[kind]))
    if kind == "output" and "does not fit output_schema" in message:
        return {"class": "ModelBehaviorError", "message": "Invalid JSON when parsing model output"}
    if kind == "tool":
        return {"class": "ToolTimeoutError" if "timed out" in message else "UserError", "message": message}
    m = re.match(r'there is no tool named "(.*)"', message)
    for t in types if m else ():
        if t in MISSING:
            return {"class": "ModelBehaviorError", "message": MISSING[t]}
    if re.match(r"MCP server label .* not found", message):
        return {"class": "ModelBehaviorError", "message": message}
    if m:
        return {"class": "ModelBehaviorError", "message": "Tool %s not found in agent %s" % (m[1], agent)}
    m = re.search(r"(Model reused a [^;]*|Tool invocations require [^;]*)", message)
    if m:
        return {"class": "ModelBehaviorError", "message": m[1]}
    if "gave back no list of items" in message:
        return {"class": "UserError", "message": "Invalid input filter result: nope"}
    if "cannot be combined with output guardrails" in message:
        return {"class": "UserError", "message": "Output guardrails cannot be combined with conversation_id, previous_response_id, "
                "or auto_previous_response_id because rejected output cannot be removed from server-managed conversation history."}
    if "a handoff cannot change what the provider has kept" in message:
        return {"class": "UserError", "message": "Server-managed conversations do not support handoff input filters. Remove "
                "Handoff.input_filter or RunConfig.handoff_input_filter, or disable conversation_id, previous_response_id, and "
                "auto_previous_response_id."}
    if kind == "start" and "does not fit output_schema" in message:
        return {"class": "UserError", "message": "Invalid run error handler final_output for structured output."}
    return {"class": kind, "message": message}


# ---- comparing -----------------------------------------------------------------------------------

def plain_output(text):
    """The words for arguments that cannot be read are the program's own; a value is the same as Python and as JSON prints it."""
    if not isinstance(text, str):
        return text
    text = re.sub(r"^An error occurred while .*?(Invalid JSON input for tool [^:]*).*", r"\1", text, flags=re.S)
    if re.match(r"[{\[]|[A-Za-z_]\w*=", text):
        for read in (json.loads, ast.literal_eval, members):
            try:
                return {"value": read(text)}
            except (ValueError, SyntaxError):
                pass
    return text


def members(text):
    """A Python object as it prints itself: its members, as an object of JSON has them."""
    pairs = [part.split("=", 1) for part in re.split(r" (?=[A-Za-z_]\w*=)", text)]
    return {name: ast.literal_eval(value) for name, value in pairs}


def plain_record(line):
    """A line of a summary: "n. " and an item is the same however JSON is written."""
    m = re.fullmatch(r"(\d+)\. (\{.*\})", line)
    try:
        return {"record": int(m[1]), "item": plain_item(json.loads(m[2]))} if m else line
    except ValueError:
        return line


def plain_item(item):
    """An item without what both say differently and mean the same."""
    item = {k: v for k, v in item.items() if v is not None}
    if item.get("id") == "__fake_id__" or item.get("role") == "assistant" and "id" not in item:  # not the model's
        item = {k: v for k, v in item.items() if k not in ("id", "status")}
    if item.get("type") == "function_call_output":
        item = {**item, "output": plain_output(item.get("output"))}
    if item.get("type") == "computer_call":
        item = {k: v for k, v in item.items() if v != []}
    if item.get("type") == "computer_call_output":
        item = {**item, "output": {"type": "computer_screenshot"}}  # any picture
    if "role" in item and item.get("type", "message") == "message":
        content = item["content"]
        if isinstance(content, list) and len(content) == 1 and content[0].get("type") in ("input_text", "output_text", "text"):
            if item.get("role") != "assistant" or "id" not in item:
                content = content[0]["text"]
        if isinstance(content, list):
            content = [{k: v for k, v in p.items() if v not in (None, [])} for p in content]
        if isinstance(content, str) and content.startswith("For context, here is the conversation so far"):
            item.pop("status", None)  # which it has where a state was read back
            content = [plain_record(line) for line in content.split("\n")]
        item["content"] = content
        item.pop("type", None)
    return item


def plain_request(r):
    out = {"input": [plain_item(i) for i in r.get("input", [])]}
    for key in ("instructions", "tool_choice", "previous_response_id", "conversation", "text"):
        if r.get(key):
            out[key] = untitled(r[key]) if key == "text" else r[key]
    out["tools"] = sorted(t if isinstance(t, str) else t.get("name") or t.get("server_label") or t["type"] for t in r.get("tools", []))
    if out.get("tool_choice") == "auto":
        del out["tool_choice"]
    return out


HOOKS = ("agent_start:", "agent_end:", "llm_start:", "llm_end:", "tool_start:", "tool_end:", "handoff:", "guard_in:", "guard_out:")


def plain_hooks(hooks):
    """A guardrail beside the model comes when it comes; hooks that the form does not name are not compared."""
    hooks = [h for h in hooks if h.startswith(HOOKS)]
    return ([h for h in hooks if not h.startswith("guard_in:")], sorted(h for h in hooks if h.startswith("guard_in:")))


def untitled(value):
    """A schema without the titles that the SDK's models print into it."""
    if isinstance(value, list):
        return [untitled(v) for v in value]
    return {k: untitled(v) for k, v in value.items() if k != "title" or not isinstance(v, str)} if isinstance(value, dict) else value


def heard(want, got):
    """The first guardrail that says no ends the run: others that look at the same may still be asked, and need not be."""
    ends = "Guardrail" in (want.get("error") or {}).get("class", "")
    return [h for h in want["hooks"] if not ends or not h.startswith("guard_") or h in got["hooks"]]


def compare(path, want, got, out):
    if want != got:
        out.append("%s:\n      expected %s\n      found    %s" % (path, json.dumps(want), json.dumps(got)))


def joined(effect, want):
    """Several commands of one call, in the words of the scenario."""
    for sep in (",", ", ", ";", "; ", " && ", "|", " ", "\n"):
        if effect.replace("\x1f", sep) in want:
            return effect.replace("\x1f", sep)
    return effect.replace("\x1f", ",")


def plain_error(error, got):
    """How a stream ended counts, not its details; where the spec has no words the class does."""
    if not error:
        return error
    message = re.sub(r"^(Responses stream ended with terminal event `[^`]*`\.).*", r"\1", error.get("message") or "", flags=re.S)
    return {"class": error["class"], "message": message if (got.get("error") or {}).get("message") else None}


def plain_effects(effects, case):
    """What a computer did: words and numbers, however they are written."""
    if not any(t.get("type") == "computer" for t in case["config"]["tools"].values()):
        return effects
    return [re.findall(r"[^\W_]+|-\d+", e.lower()) for e in effects]


def own_members(value, want):
    """An object of a Python type has no members but its own."""
    if not isinstance(value, dict) or not isinstance(want, dict) or not want:
        return value
    return {k: v for k, v in value.items() if k in want}


def compare_phase(n, want, got, structured, out):
    path = "phase %d" % n
    compare(path + " error", plain_error(want.get("error"), got), plain_error(got.get("error"), got), out)
    for key in ("last_agent", "new_items", "interruptions", "usage_requests", "requests_made", "session_items", "stream_events"):
        if key in want:
            w, g = want[key], got.get(key)
            if key == "session_items":
                w, g = [plain_item(i) for i in w], [plain_item(i) for i in g or []]
            compare("%s %s" % (path, key), w, g, out)
    if "final_output" in want:
        g = got.get("final_output")
        if structured and isinstance(g, str):
            try:
                g = json.loads(g)
            except ValueError:
                pass
            if want["final_output"] != g:
                g = own_members(g, want["final_output"])
        compare(path + " final_output", plain_output(want["final_output"]), plain_output(g), out)
    compare(path + " next_steps", want["next_steps"], got["next_steps"], out)
    compare(path + " hooks", plain_hooks(heard(want, got)), plain_hooks(got["hooks"]), out)
    compare(path + " side_effects", want["side_effects"], got["side_effects"], out)


def by_name(hooks):
    """Those of the calls of one answer, sorted."""
    return [h for calls, list_ in itertools.groupby(hooks, lambda h: h.startswith("tool_")) for h in (sorted(list_) if calls else list_)]


def in_no_order(case, phase):
    """Agents that work on calls of one answer do so side by side: what they do and when they end has no order between them.
    Nor have calls of different kinds."""
    if any(len({i["type"] for i in t.get("output", []) if i["type"].endswith("_call")}) > 1 for t in case["model_turns"]):
        phase = {**phase, "hooks": by_name(phase["hooks"]), "side_effects": sorted(phase["side_effects"])}
    agents = {tool_name(n, t) for n, t in case["config"]["tools"].items() if t.get("type") == "agent"}
    if all(sum(i["name"] in agents for i in functions_of(t.get("output", []))) < 2 for t in case["model_turns"]):
        return phase
    hooks, ends = [], []
    for h in phase["hooks"] + [""]:
        if h[:9] == "tool_end:" and h[9:] in agents:
            ends.append(h)
        else:
            hooks, ends = hooks + sorted(ends) + [h], []
    return {**phase, "hooks": hooks, "next_steps": sorted(phase["next_steps"]), "side_effects": sorted(phase["side_effects"])}


def play(case, model, folder):
    store = "sqlite:" + os.path.join(folder, re.sub(r"\W", "_", case["name"]) + ".db")
    text = json.dumps(spec(case, store, "http://127.0.0.1:%d" % model.server_address[1]))
    model.begin(case["model_turns"], [plain_request(r)["input"] for r in case["expected"].get("requests", [])],
                lambda body: plain_request(body)["input"], (case["config"].get("options", {}).get("retry") or {}).get("statuses"))
    env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder,
           "OPENAI_API_KEY": "test"}
    r = subprocess.run([HOST], input=text, capture_output=True, text=True, env=env, timeout=60)
    if r.returncode or r.stderr:
        raise RuntimeError("the host ended with %d: %s%s" % (r.returncode, r.stdout[-300:], r.stderr[-600:]))
    case = {**case, "ends": next((t["status"] for t in case["model_turns"][:len(model.taken)][-1:]
                                                        if t.get("status", "completed") != "completed"), None)}
    reader, ops = Reader(case), [s["op"] for s in case["steps"] if s["op"] in ("run", "resume")]
    reader.begin(ops[0])
    for line in r.stdout.splitlines():
        v = json.loads(line)
        if "kind" in v:
            if v["kind"] == "message" and v["source"] == "user" and reader.phases and reader.phase["op"] == "resume":
                reader.said += 1  # and is read with the next request
            r = reader
            for id in v.get("sessions", []):
                r = r.child(id)
            r.event(v["kind"], v["source"], v["data"])
        elif "side" in v:
            reader.phase["side_effects"].append(v["side"])
        elif "items" in v:
            reader.phase["session_items"] = v["items"]
            reader.end()
            ops.pop(0)
            if ops:
                reader.begin(ops[0])
        elif "refused" in v:
            reader.phase["refused"] = v["refused"]
        elif "not_started" in v:
            reader.phase["error"] = error("start", v["not_started"], reader.agent)
            reader.end()
    return reader.phases, [plain_request(x) for x in model.requests()]


def check(case, phases, requests, out):
    structured = any("output_type" in a for a in case["config"]["agents"].values())
    want = [p for p in case["expected"]["phases"] if p["op"] in ("run", "resume")]
    compare("phases", len(want), len(phases), out)
    for n, (w, g) in enumerate(zip(want, phases)):
        g["side_effects"] = [joined(s, w["side_effects"]) for s in g["side_effects"]]
        for p in (w, g):
            p["side_effects"] = plain_effects(p["side_effects"], case)
        compare_phase(n, in_no_order(case, w), in_no_order(case, g), structured, out)
    wanted = [plain_request(r) for r in case["expected"].get("requests", [])]
    if requests or not case.get("unsent"):
        compare("requests", len(wanted) + case.get("more_requests", 0), len(requests), out)
    for n, (w, g) in enumerate(zip(wanted, requests)):
        for key in sorted(set(w) | set(g)):
            compare("request %d %s" % (n, key), w.get(key), g.get(key), out)


def files(args):
    for path in args:
        if os.path.isdir(path):
            for name in sorted(os.listdir(path)):
                if name.endswith(".json"):
                    yield os.path.join(path, name)
        else:
            yield path


def vectors(path):
    """Diffs, strict schemas and names: how many passed and failed."""
    r = subprocess.run([VECTORS, path], capture_output=True, text=True, timeout=60)
    print("".join(line + "\n" for line in r.stdout.splitlines()[:-1]), end="")
    last = re.fullmatch(r"(\d+) passed, (\d+) failed", (r.stdout.splitlines() or [""])[-1])
    if not last:
        raise RuntimeError("the vectors ended with %d: %s" % (r.returncode, r.stderr[-600:]))
    return int(last[1]), int(last[2])


def main():
    passed = failed = skipped = all_deviate = 0
    built_only = "--built" in sys.argv  # what is not there yet is not counted as wrong
    only = os.environ.get("CASE")
    model = agents_sdk_model.start()
    for path in files(a for a in sys.argv[2:] if a != "--built"):
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        if not isinstance(content, dict):  # of a folder of cases not all are ours
            continue
        cases, deviate = [c for c in content.get("cases", []) if "config" in c], 0
        if content.get("vectors") and not only:
            good, bad = vectors(path)
            passed, failed = passed + good, failed + bad
        for case in cases:
            if only and case["name"] != only:
                continue
            faults = []
            with tempfile.TemporaryDirectory() as folder:
                try:
                    phases, requests = play(case, model, folder)
                    wanted = copy.deepcopy(case)
                    deviate += bool(deviations(wanted))
                    check(wanted, phases, requests, faults)
                except Cannot as e:
                    if built_only:
                        skipped += 1
                        continue
                    faults.append("thole cannot: %s" % e)
                except Exception as e:  # noqa: BLE001 - any of them is this scenario's failure
                    faults.append("%s: %s" % (type(e).__name__, e))
            passed, failed = passed + (not faults), failed + bool(faults)
            if faults:
                print("FAIL %s\n    %s" % (case["name"], "\n    ".join(faults)))
        if deviate > DEVIATIONS_MAX:
            failed += 1
            print("FAIL %s: %d scenarios deviate, at most %d may" % (path, deviate, DEVIATIONS_MAX))
        all_deviate += deviate
    print("%d deviate on purpose, %d ask for what is not there" % (all_deviate, skipped))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
