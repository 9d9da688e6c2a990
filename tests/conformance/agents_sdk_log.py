# SPDX-License-Identifier: Apache-2.0
"""A runtime's log in the SDK's words: items, hooks, steps, events of a stream, errors."""
import re

import agents_sdk_model
from agents_sdk_agent import NATIVE, handoff_tool, own_name, real_name

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
        self.children, self.late = {}, []

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
        self.tell_late()
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
            if d["call_id"] in self.servers:
                self.late.append("mcp_approval_response_item")
            else:
                self.item("tool_call_output_item")

    def tell_late(self):
        """What the SDK tells behind the results of an answer's calls."""
        for kind in self.late:
            self.item(kind)
        self.late = []

    def on_handoff(self, source, d):
        self.tell_late()
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
        if d["to"] == "stopped" and self.asked and not self.phase.get("cancelled"):
            self.phase["cancelled"] = True  # by the program, before the request was sent
            self.phase["requests_made"] -= 1
            self.unhook("llm_start:" + self.agent)

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
        self.tell_late()
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
    failed = re.search(r"its code failed: (.*)", message, re.S)
    if kind in tripwires and failed:
        return {"class": "RuntimeError", "message": failed[1]}
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
    if "gave back no list of items" in message and "session_input" in message:
        return {"class": "UserError", "message": "Session input callback must return a list of input items."}
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
