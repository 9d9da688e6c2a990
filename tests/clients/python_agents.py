# SPDX-License-Identifier: Apache-2.0
"""OpenAI's Agents SDK for Python with its sessions, namespaces and MCP servers, and the SDKs for Python of A2A and of the Agent Client Protocol."""

import asyncio
import os

import acp
import httpx
from a2a import client as a2a
from a2a import types
from agents import (Agent, AsyncOpenAI, OpenAIChatCompletionsModel, OpenAIConversationsSession, OpenAIResponsesModel, OpenAIResponsesWSModel, Runner,
                    SQLiteSession, function_tool, set_tracing_disabled, tool_namespace)
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

BASE, KEY, SAID, MODEL, THOLE = "http://127.0.0.1:" + os.environ["PORT"], os.environ["TOKEN"], os.environ["SAID"], "gpt-5.4", os.environ["THOLE"]
HEADERS = {"Authorization": "Bearer " + KEY}
calls = []


@function_tool
def once(location: str) -> str:
    """The weather."""
    calls.append(location)
    return "rain"


async def sdk():
    client = AsyncOpenAI(base_url=BASE + "/v1", api_key=KEY, max_retries=0)
    responses = OpenAIResponsesModel(MODEL, client)
    for model, session in ((responses, OpenAIConversationsSession(openai_client=client)), (OpenAIChatCompletionsModel(MODEL, client), SQLiteSession("a")),
                           (OpenAIResponsesWSModel(MODEL, client), None)):
        calls.clear()
        agent = Agent("a", model=model, tools=[once])
        assert (await Runner.run(agent, "go", session=session)).final_output == SAID
        assert calls == ["Oslo"], calls
        streamed = Runner.run_streamed(agent, "more", session=session)
        assert [event async for event in streamed.stream_events()]
        assert streamed.final_output == SAID
    calls.clear()
    grouped = Agent("a", model=responses, tools=tool_namespace(name="space", description="A group.", tools=[once]))
    assert (await Runner.run(grouped, "go")).final_output == SAID
    assert calls == ["Oslo"], calls
    env = dict(os.environ, THOLE_SERVER=BASE, THOLE_TOKEN=KEY)
    for server in (MCPServerStreamableHttp(params={"url": BASE + "/mcp", "headers": HEADERS}), MCPServerStdio(params={"command": THOLE, "args": ["mcp"], "env": env})):
        async with server:
            run = await Runner.run(Agent("a", model=responses, mcp_servers=[server]), "delegate")
            assert run.final_output == SAID
            assert SAID in str([getattr(item, "output", "") for item in run.new_items])


def says(text):
    return types.SendMessageRequest(message=types.Message(role=types.Role.ROLE_USER, message_id=text, parts=[types.Part(text=text)]))


async def other_agents():
    async with httpx.AsyncClient(headers=HEADERS, timeout=30) as http:
        card = await a2a.A2ACardResolver(http, BASE).get_agent_card()
        for binding in ("JSONRPC", "HTTP+JSON"):
            client = a2a.ClientFactory(a2a.ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])).create(card)
            events = [event async for event in client.send_message(says("hi " + binding))]
            assert SAID in str(events)
            task = events[0].task.id
            assert SAID in str(await client.get_task(types.GetTaskRequest(id=task)))
            hook = await client.create_task_push_notification_config(types.TaskPushNotificationConfig(task_id=task, url="http://127.0.0.1:9/"))
            await client.delete_task_push_notification_config(types.DeleteTaskPushNotificationConfigRequest(task_id=task, id=hook.id))
            assert not (await client.list_task_push_notification_configs(types.ListTaskPushNotificationConfigsRequest(task_id=task))).configs


class Editor(acp.Client):
    def __init__(self):
        self.asked, self.updates = [], []

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked.append(tool_call.title)
        return acp.RequestPermissionResponse(outcome={"outcome": "selected", "optionId": options[0].option_id})

    async def session_update(self, session_id, update, **_):
        self.updates.append(type(update).__name__)


async def editor():
    one, folder = Editor(), os.getcwd()
    async with acp.spawn_agent_process(one, THOLE, "acp", "-m", MODEL, "--approve", "bash", env=dict(os.environ), cwd=folder) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = (await agent.new_session(cwd=folder, mcp_servers=[])).session_id
        assert (await agent.prompt(session_id=session, prompt=[acp.text_block("say hello")])).stop_reason == "end_turn"
        assert one.asked == ["bash: echo hello"], one.asked
        assert len((await agent.list_sessions(cwd=folder)).sessions) == 1
        one.updates.clear()
        await agent.load_session(cwd=folder, session_id=session, mcp_servers=[])
        assert "UserMessageChunk" in one.updates and "ToolCallStart" in one.updates, one.updates


if __name__ == "__main__":
    set_tracing_disabled(True)
    for part in (sdk, other_agents, editor):
        asyncio.run(part())
