# SPDX-License-Identifier: Apache-2.0
"""Plays scenarios with openhands-sdk: one JSON object a line on standard input, and one with what became of it on standard output.

Runs in a Python that has openhands-sdk and openhands-tools.
"""

import json
import os
import sys

os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what it prints for people is not what is read

from openhands.sdk import LLM, Agent, Conversation, Tool, register_agent  # noqa: E402
from openhands.sdk.context.condenser import LLMSummarizingCondenser  # noqa: E402
from openhands.sdk.security import confirmation_policy, llm_analyzer  # noqa: E402
from openhands.tools.file_editor import FileEditorTool  # noqa: E402
from openhands.tools.task import TaskToolSet  # noqa: E402


def made(scenario, model):
    llm = LLM(model="openai/scripted", base_url=model, api_key="none", usage_id="agent", num_retries=0)
    tools = [Tool(name=FileEditorTool.name)] + ([Tool(name=TaskToolSet.name)] if scenario.get("helper") else [])
    condenser = None
    if scenario.get("condense"):
        condenser = LLMSummarizingCondenser(llm=llm.model_copy(update={"usage_id": "condenser"}), **scenario["condense"])
    return Agent(llm=llm, tools=tools, condenser=condenser)


def helper(llm):
    return Agent(llm=llm, tools=[Tool(name=FileEditorTool.name)])


def step(conversation, what, rest):
    if what == "say":
        conversation.send_message(rest)
    elif what == "reject":
        conversation.reject_pending_actions(rest)
    elif what == "condense":
        conversation.condense()
        return
    try:
        conversation.run()
    except Exception as error:  # what it says is in its events
        print(error, file=sys.stderr)


def play(scenario):
    conversation = Conversation(agent=made(scenario, scenario["model"]), workspace=scenario["workspace"], visualizer=None,
                                persistence_dir=scenario["folder"], max_iteration_per_run=scenario.get("turns", 100))
    if scenario.get("confirm") == "always":
        conversation.set_confirmation_policy(confirmation_policy.AlwaysConfirm())
    elif scenario.get("confirm") == "risky":
        conversation.set_security_analyzer(llm_analyzer.LLMSecurityAnalyzer())
        conversation.set_confirmation_policy(confirmation_policy.ConfirmRisky())
    states = []
    for what, *rest in scenario["steps"]:
        step(conversation, what, *rest or [None])
        states.append(conversation.state.execution_status.value)
    events = [json.loads(event.model_dump_json()) for event in conversation.state.events]
    conversation.close()
    return {"states": states, "events": events}


def main():
    register_agent(name="helper", factory_func=helper, description="Looks at files.")
    print("ready", file=OUT, flush=True)
    for line in sys.stdin:
        print(json.dumps(play(json.loads(line))), file=OUT, flush=True)


main()
