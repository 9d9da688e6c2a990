# SPDX-License-Identifier: Apache-2.0
"""A scenario of the Agents SDK as an agent file, its tools' bodies and the steps of the host (agents_sdk_host.c)."""
import re

HOSTED = {"web_search", "file_search", "code_interpreter", "image_generation"}
NATIVE = {"shell": "shell", "local_shell": "shell", "apply_patch": "apply_patch"}  # types, and our tools


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


def behaviour(value, alias):
    if isinstance(value, dict) and "stop_at_tool_names" in value:
        return {"stop_at": value["stop_at_tool_names"]}
    if decides_by_code(value):
        return {"code": "tool_use_of_" + alias}
    return "run_again" if value in (None, "run_llm_again") else value


def decides_by_code(value):
    return isinstance(value, dict) and isinstance(value.get("custom"), dict)


def real_name(alias, agent):
    return agent.get("name", alias.lower())


def function_name(name):
    """The name of a tool that is an agent, where it has none of its own."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name.replace(" ", "_")).lower()


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
    out = {"name": tool_name(name, t, config), "agent": own_name(t["agent"], config),
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
    if "raise" in kind or g.get("raise") is True:
        told = None
    if isinstance(g.get("raise"), str):
        out["fails"] = g["raise"]
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
    tools = [tool_name(t, config["tools"][t], config) for t in tools if config["tools"][t].get("type") != "hosted_mcp"]
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
        out["tool_use_behavior"] = behaviour(agent["tool_use_behavior"], alias)
    if agent.get("output_type"):
        out["output_schema"] = output_schema(agent["output_type"])
    if agent.get("reset_tool_choice") is False:
        out["reset_tool_choice"] = False
    filters = [f for f in (options.get("model_input_filter"),
                           "omit_reasoning_ids" if options.get("reasoning_item_id_policy") == "omit" and not kept(options) else None) if f]
    if filters:
        out["input_filter"] = "+".join(filters)
    if options.get("session") and options.get("session_input_callback"):
        out["session_input"] = options["session_input_callback"]
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
    if kind == "parts":
        return {**b, "parts": [part(p) for p in (value if isinstance(value, list) else named_parts(b))]}
    if kind in ("const", "json") and not isinstance(value, str) and ("value" in b or kind == "json"):
        return {**b, "kind": "const", "value": str(value)}
    return b


def named_parts(b):
    """Parts that a scenario lists by their kind."""
    for key, type_, member in (("text", "input_text", "text"), ("image_url", "input_image", "image_url"),
                               ("image_file_id", "input_image", "file_id"), ("file_id", "input_file", "file_id"),
                               ("file_url", "input_file", "file_url"), ("file_data", "input_file", "file_data")):
        for value in ([b[key]] if isinstance(b.get(key), str) else []) + (b.get(key + "s") or []):
            yield {"type": type_, member: value}


def part(p):
    if isinstance(p, str):
        return {"type": "input_text", "text": p}
    return {**p, "type": {"text": "input_text", "image": "input_image", "file": "input_file"}.get(p.get("type"), p.get("type"))}


def tool_name(alias, t, config):
    if t.get("type") == "agent":
        return t.get("tool_name") or function_name(real_name(t["agent"], config["agents"][t["agent"]]))
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


def answers(case, kind, member="output"):
    """What a scenario's executor answered where only its requests say so, by call."""
    types = {"shell": "shell_call_output", "local_shell": "local_shell_call_output", "apply_patch": "apply_patch_call_output",
             "custom": "custom_tool_call_output"}
    return {i["call_id"]: i.get(member) for r in case["expected"].get("requests", []) for i in r["input"]
            if i.get("type") == types.get(kind)}


def tool(name, t, case):
    kind = t.get("type", "function")
    if kind not in ("function", "custom") and kind not in NATIVE:
        raise Cannot(kind)
    out = {"name": tool_name(name, t, case["config"]), "schema": t.get("params") or {"type": "object", "properties": {}},
           "ask": t.get("needs_approval") is True and not approval(t), "behavior": body(t.get("behavior", {}))}
    if kind != "function":
        out["native"] = {"kind": kind, "answers": answers(case, kind), "ended": answers(case, kind, "status")}
        out["native"].update({k: t[k] for k in ("raise", "max_output_length") if k in t})
        value = next((t[k] for k in ("value", "output", "outputs", "result") if k in t), None)
        if value is not None:
            out["native"]["value"] = str(value) if kind == "custom" else value
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
    approvals = {t["server_label"] if t.get("type") == "hosted_mcp" else tool_name(n, t, config): approval(t)
                 for n, t in config["tools"].items() if approval(t)}
    delegates = {tool_name(n, t, config): {"turns": t.get("max_turns") or 10, "failure": t.get("failure")}
                 for n, t in config["tools"].items() if t.get("type") == "agent"}
    decides = {"tool_use_of_" + a: v["tool_use_behavior"]["custom"] for a, v in config["agents"].items()
               if decides_by_code(v.get("tool_use_behavior"))}
    formatter = options.get("rejection_formatter", {})
    texts = {"rejected": formatter.get("approval_rejected"), "unknown_tool": formatter.get("tool_not_found")}
    steps = []
    if options.get("session_preload"):
        steps.append({"op": "preload", "input": options["session_preload"]})
    steps += plan(case)
    return {"store": store, "agent": agent, "tools": tools, "steps": steps,
            "codes": {"guards": guards, "delegates": delegates, "approvals": approvals, "tool_use": decides, "texts": {k: v for k, v in texts.items() if v}}}
