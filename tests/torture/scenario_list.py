# SPDX-License-Identifier: Apache-2.0
"""scenario_list.py - what scenarios.py plays: agents, what the model says to what, what people do, and how it ends.

The model's answers are a list of (when, items); the last one counts whose words are all in the request ("out:ID": it holds
that call's result).  In place of items: a status, or a function of how often exactly this was asked."""
import dataclasses
import json


@dataclasses.dataclass
class Scenario:
    name: str
    agent: dict
    model: list
    final: str = "over"     # the last final output; None: there is none
    effects: tuple = ()     # lines that its tools have written in the end
    state: str = "finished"
    tasks: tuple = ("do it",)
    decide: dict = dataclasses.field(default_factory=dict)  # call -> words of thole; else it is approved
    also: str = ""          # a message while a call waits
    told: tuple = ()        # words that a request has

    def check(self, got):
        """In peace it ends as it should."""
        names = sorted(e.split("/")[-1] for e in got["effects"])
        final = got["finals"][-1] if got["finals"] else None
        for what, is_so, wanted in (("state", got["state"], self.state), ("final", final, self.final), ("effects", names, sorted(self.effects))):
            if is_so != wanted:
                yield "%s: %s, wanted %s" % (what, is_so, wanted)
        for words in self.told:
            if not any(words in text for text in got["asked"]):
                yield "the model is not told %r" % words


# ---- tools ----

def tool(name, script, **more):
    """A program that is given {"what": NAME}."""
    shell = "IFS='\"' read -r _ _ _ w _; " + script
    parameters = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    return {"name": name, "description": name, "parameters": parameters, "command": ["/bin/sh", "-c", shell], **more}


ACT = tool("act", 'echo "$w" >> effects; echo "did-$w"')
SLOW = tool("slow", 'echo "half of $w" >&2; echo "$w" >> effects; echo "almost $w" >&2; seq 40; echo "did-$w"')
LOOK = tool("look", 'echo "saw-$w"', **{"class": "read"})
SEND = tool("send", 'echo "$THOLE_EFFECT_ID/$w" >> effects; echo "sent-$w"', **{"class": "keyed"})


# A server of tools (MCP) in a shell.  Of what begins with "m" it asks a model before it does anything.
SERVE = r"""
end() { printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":%s}}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%,*}; w=${line#*'"what":"'}; w=${w%%'"'*}
  case $line in
    *'"tools/list"'*) end '"complete","tools":[{"name":"act","inputSchema":{"type":"object"}}]' ;;
    *'"what":"m'*'"inputResponses"'*) echo "$w" >> effects; end '"complete","content":[{"type":"text","text":"did-'"$w"' by Paris"}]' ;;
    *'"what":"m'*) end '"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Where is '"$w"'?"}}]}}}' ;;
    *'"tools/call"'*) echo "$w" >> effects; end '"complete","content":[{"type":"text","text":"did-'"$w"'"}]' ;;
  esac
done
"""


def server(**more):
    return {"name": "s", "command": ["/bin/sh", "-c", SERVE], "revision": "2026-07-28", **more}


def agent(*tools, **more):
    return {"name": "one", "model": "gpt-5.4", "instructions": "You are one.", "tools": list(tools) or ["none"], **more}


def member(letter, *tools, **more):
    return {"instructions": "You are %s." % letter, "tools": list(tools) or ["none"], **more}


# ---- what the model says ----

def call(name, call_id, **arguments):
    return {"type": "function_call", "id": "fc_" + call_id, "call_id": call_id, "name": name, "arguments": json.dumps(arguments),
            "status": "completed"}


def act(*names, by="act"):
    return [call(by, "c_" + n, what=n) for n in names]


def say(text):
    return [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": text, "annotations": []}]}]


def think(name):
    return [{"type": "reasoning", "id": "rs_" + name, "summary": [], "encrypted_content": "b3BhcXVl"}]


def to(name):
    return [call("transfer_to_" + name, "h_" + name)]


def once(status, items):
    """A failure first, then the answer."""
    return lambda times: status if times == 1 else items


CODE = """
function no_secrets(q) return type(q.input) == "string" and q.input:find("secret", 1, true) ~= nil end
function polite(q) return type(q.input) == "string" and q.input:find("stupid", 1, true) ~= nil end
function short(q) return #q.output > 20 end
function calm(q) if q.arguments.what == "bad" then return { message = "not that" } end end
function blank(q) if q.output:find("did-w2", 1, true) then return { message = "blanked" } end end
function fatal(q) return q.arguments.what == "bad" end
function enough(q)
  for _, r in ipairs(q.results) do
    if r.call_id == "c_w2" then return { final = true, output = "enough" } end
  end
end
function words(q) return "You are one, at turn " .. q.turn .. "." end
function risky(q) if q.arguments.what == "w2" then return "it is risky" end end
function spoken(q)
  local kept = {}
  for _, item in ipairs(q.items) do if item.role then kept[#kept + 1] = item end end
  return kept
end
function newest(q)
  local kept = {}
  for i, item in ipairs(q.items) do if i == 1 or i > #q.items - 2 then kept[#kept + 1] = item end end
  return kept
end
"""
FIRST, SECOND = (), ("out:c_w1",)
STEPS = [(FIRST, act("w1")), (SECOND, act("w2")), (("out:c_w2",), say("over"))]


def guard(name, stage, **more):
    return {"name": name, "stage": stage, **more}


SCENARIOS = [
    Scenario("steps", agent(ACT), [(FIRST, act("w1")), (SECOND, say("Next.") + act("w2")), (("out:c_w2",), act("w3")),
                                   (("out:c_w3",), say("over"))], effects=("w1", "w2", "w3")),
    Scenario("parallel", agent(ACT, LOOK), [(FIRST, act("w1", "w2", "w3") + act("r1", by="look")), (("out:c_w1", "out:c_r1"), act("w4")),
                                            (("out:c_w4",), say("over"))], effects=("w1", "w2", "w3", "w4")),
    Scenario("progress", agent(SLOW), [(FIRST, act("w1", "w2", by="slow")), (("out:c_w2",), say("over"))], effects=("w1", "w2")),
    Scenario("whole", agent(ACT, settings={"stream": False}), STEPS, effects=("w1", "w2")),
    Scenario("reasoning", agent(ACT), [(FIRST, think("a") + say("I begin, with some words that come in pieces.") + act("w1")),
                                       (SECOND, think("b") + say("over"))], effects=("w1",)),
    Scenario("keyed", agent(SEND), [(FIRST, act("w1", "w2", by="send")), (SECOND, say("over"))], effects=("w1", "w2")),
    Scenario("approve", agent(ACT, approve=["act"]), STEPS, effects=("w1", "w2")),
    Scenario("reject", agent(ACT, approve=["act"]), STEPS, effects=("w2",), decide={"c_w1": ["reject", "-m", "not today"]}),
    Scenario("always", agent(ACT, approve=["act"]), STEPS, effects=("w1", "w2"), decide={"c_w1": ["approve", "--always"]}),
    Scenario("barrier", agent(ACT, {**SLOW, "approve": True}, LOOK),
             [(FIRST, act("w1") + act("w2", "w3", by="slow") + act("r1", by="look")), (SECOND, say("over"))], effects=("w1", "w3"),
             decide={"c_w2": ["reject"]}),
    Scenario("handoffs", agent(ACT, handoffs=["b"], agents={"b": member("b", ACT, handoffs=["c"]), "c": member("c", ACT)}),
             [(("You are one",), act("w1") + to("b")), (("You are b",), act("w2")), (("You are b", "out:c_w2"), to("c")),
              (("You are c",), act("w3")), (("You are c", "out:c_w3"), say("over"))], effects=("w1", "w2", "w3")),
    Scenario("narrowed", agent(ACT, handoffs=[{"agent": "b", "nest": True}], script=CODE,
                               agents={"b": member("b", ACT, handoffs=[{"agent": "c", "filter": "spoken"}]), "c": member("c", ACT)}),
             [(("You are one",), say("I pass it on.") + act("w1") + to("b")), (("You are b",), act("w2")),
              (("You are b", "out:c_w2"), to("c")), (("You are c",), act("w3")), (("You are c", "out:c_w3"), say("over"))],
             effects=("w1", "w2", "w3")),
    Scenario("input guardrails", agent(ACT, script=CODE, guardrails=[guard("no_secrets", "input", blocking=True), guard("polite", "input")]),
             STEPS, effects=("w1", "w2")),
    Scenario("input tripped", agent(ACT, script=CODE, guardrails=[guard("no_secrets", "input", blocking=True)]), STEPS, final=None,
             state="failed", tasks=("a secret",)),
    Scenario("input tripped beside", agent(ACT, script=CODE, guardrails=[guard("no_secrets", "input")]), STEPS, final=None,
             state="failed", tasks=("a secret",)),
    Scenario("output tripped", agent(ACT, script=CODE, guardrails=[guard("short", "output")]),
             [(FIRST, act("w1")), (SECOND, say("Far too many words for one answer."))], effects=("w1",), final=None, state="failed"),
    Scenario("tool guardrails", agent(ACT, script=CODE, guardrails=[guard("calm", "tool_input"), guard("blank", "tool_output", tools=["act"])]),
             [(FIRST, act("w1", "bad", "w2")), (("out:c_bad",), say("over"))], effects=("w1", "w2"),
             told=("not that", "blanked")),
    Scenario("tool tripped", agent(ACT, script=CODE, guardrails=[guard("fatal", "tool_input")]),
             [(FIRST, act("w1")), (SECOND, act("w2", "bad"))], effects=("w1",), final=None, state="failed"),
    Scenario("stop", agent(ACT, LOOK, tool_use_behavior={"stop_at": ["act"]}), [(FIRST, act("r1", by="look")), (("out:c_r1",), act("w1"))],
             effects=("w1",), final="did-w1"),
    Scenario("stop by code", agent(ACT, script=CODE, tool_use_behavior={"code": "enough"}), STEPS, effects=("w1", "w2"), final="enough"),
    Scenario("structured", agent(ACT, output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
             [(FIRST, act("w1")), (SECOND, say("seven")), (("seven", "does not fit"), say('{"n": 7}'))], effects=("w1",), final='{"n": 7}'),
    Scenario("retry", agent(ACT), [(FIRST, once(500, act("w1"))), (SECOND, once(503, say("over")))], effects=("w1",)),
    Scenario("fallback", agent(ACT, fallback=["gpt-5.4-mini"], limits={"model_attempts": 1}),
             [(FIRST, 500), (('"gpt-5.4-mini"',), act("w1")), (('"gpt-5.4-mini"', "out:c_w1"), say("over"))], effects=("w1",)),
    Scenario("unknown tool", agent(ACT), [(FIRST, act("w1") + [call("nope", "c_no", what="x")]), (("out:c_no",), say("over"))], effects=("w1",)),
    Scenario("turns", agent(ACT, limits={"turns": 2}, instead={"max_turns": {"output": "enough", "in_history": True}}),
             [(FIRST, act("w1")), (SECOND, act("w2")), (("out:c_w2",), act("w3"))], effects=("w1", "w2"), final="enough"),
    Scenario("condensed", agent(ACT, compact={"condenser": "recent", "items": 4, "keep": 2}),
             [(FIRST, act("w1")), (SECOND, act("w2")), (("out:c_w2",), act("w3")), (("out:c_w3",), act("w4")), (("out:c_w4",), say("over"))],
             effects=("w1", "w2", "w3", "w4"), told=("[4 earlier items",)),
    Scenario("summed up", agent(ACT, compact={"condenser": "summary", "items": 4, "keep": 2}),
             [(FIRST, act("w1")), (SECOND, act("w2")), (("out:c_w2",), act("w3")), (("out:c_w3",), act("w4")), (("out:c_w4",), say("over")),
              (("has become too long",), say("DONE: some."))],
             effects=("w1", "w2", "w3", "w4"), told=("DONE: some.",)),
    Scenario("also", agent(ACT, approve=["act"]), [(FIRST, act("w1")), (("out:c_w1", "and this"), say("over"))], effects=("w1",),
             also="and this"),
    Scenario("also looked at", agent(ACT, approve=["act"], script=CODE, guardrails=[guard("no_secrets", "input", blocking=True), guard("polite", "input")]),
             [(FIRST, act("w1")), (("out:c_w1", "and this"), act("w2")), (("out:c_w2",), say("over"))], effects=("w1", "w2"), also="and this"),
    Scenario("also refused", agent(ACT, approve=["act"], script=CODE, guardrails=[guard("no_secrets", "input", blocking=True)]),
             [(FIRST, act("w1")), (("out:c_w1",), act("w2"))], effects=("w1",), final=None, state="failed", also="a secret"),
    Scenario("code", agent(ACT, script=CODE, instructions_from="words", approve_from="risky", input_filter="newest"),
             [(("at turn 1",), act("w1")), (("at turn 2",), act("w2")), (("at turn 3",), say("over"))], effects=("w1", "w2")),
    Scenario("next task", agent(ACT, handoffs=["b"], agents={"b": member("b", ACT)}),
             [(("You are one",), act("w1") + to("b")), (("You are b",), say("first")), (("You are b", "again"), act("w2")),
              (("You are b", "again", "out:c_w2"), say("over"))], effects=("w1", "w2"), tasks=("do it", "again")),
    Scenario("agent as a tool", agent(ACT, {"name": "ask", "description": "b", "agent": "b"}, agents={"b": member("b", ACT, approve=["act"])}),
             [(("You are one",), act("w1") + [call("ask", "c_ask", input="look")]), (("You are b",), act("w2")),
              (("You are b", "out:c_w2"), say("found")), (("You are one", "out:c_ask"), act("w3")),
              (("You are one", "out:c_w3"), say("over"))], effects=("w1", "w2", "w3")),
    Scenario("agents side by side", agent({"name": "ask", "description": "b", "agent": "b"}, agents={"b": member("b", ACT)}),
             [(("You are one",), [call("ask", "c_1", input="left"), call("ask", "c_2", input="right")]),
              (("You are b", "left"), act("w1")), (("You are b", "right"), act("w2")), (("You are b", "out:c_w1"), say("west")),
              (("You are b", "out:c_w2"), say("east")), (("You are one", "out:c_1", "out:c_2"), say("over"))], effects=("w1", "w2")),
    Scenario("rules", agent(ACT, rules=[{"tool": "act", "arguments": {"what": "bad*"}, "decide": "refuse", "message": "never"},
                                        {"tool": "act", "arguments": {"what": "w2"}, "decide": "ask"}]),
             [(FIRST, act("w1", "bad1", "w2")), (("out:c_bad1",), say("over"))], effects=("w1", "w2")),
    Scenario("server", agent(mcp_servers=[server()]),
             [(FIRST, act("w1", by="s_act")), (SECOND, act("w2", "w3", by="s_act")), (("out:c_w3",), say("over"))], effects=("w1", "w2", "w3")),
    Scenario("server that asks", agent(mcp_servers=[server(sampling="ask")]),
             [(FIRST, act("w1", "m1", by="s_act")), (("Where is m1",), say("Paris")), (("out:c_m1",), say("over"))], effects=("w1", "m1")),
]
