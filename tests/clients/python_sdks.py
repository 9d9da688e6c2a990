# SPDX-License-Identifier: Apache-2.0
"""OpenAI's and Anthropic's clients for Python, also over a WebSocket and with thinking, and PydanticAI's agents with them."""

import asyncio
import os

import anthropic
import openai
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

BASE, KEY, SAID, MODEL = "http://127.0.0.1:" + os.environ["PORT"], os.environ["TOKEN"], os.environ["SAID"], "gpt-5.4"
THINKING = {"type": "enabled", "budget_tokens": 1024}
TOOL = {"name": "once", "description": "The weather.", "input_schema": {"type": "object", "properties": {"location": {"type": "string"}}}}


def direct():
    client = openai.OpenAI(base_url=BASE + "/v1", api_key=KEY, max_retries=0)
    with client.responses.stream(model=MODEL, input="hi") as stream:
        assert [event.type for event in stream][-1] == "response.completed"
        assert stream.get_final_response().output_text == SAID
    with client.responses.connect() as socket:
        socket.response.create(model=MODEL, input="hi")
        assert next(event for event in socket if event.type == "response.completed").response.output_text == SAID
    assert client.responses.compact(model=MODEL, input="hi").object == "response.compaction"

    client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0)
    asked = [{"role": "user", "content": "go"}]
    with client.messages.stream(model=MODEL, max_tokens=3000, thinking=THINKING, messages=asked, tools=[TOOL]) as stream:
        said = stream.get_final_message().content
    assert [block.type for block in said] == ["thinking", "tool_use"], said
    assert said[0].thinking == "Once." and said[0].signature
    asked += [{"role": "assistant", "content": said}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": said[1].id, "content": "rain"}]}]
    assert client.messages.create(model=MODEL, max_tokens=3000, thinking=THINKING, messages=asked, tools=[TOOL]).content[-1].text == SAID


def agents():
    provider = OpenAIProvider(base_url=BASE + "/v1", api_key=KEY)
    for model, settings in ((OpenAIChatModel(MODEL, provider=provider), {}), (OpenAIResponsesModel(MODEL, provider=provider), {}),
                            (AnthropicModel(MODEL, provider=AnthropicProvider(base_url=BASE, api_key=KEY)), {"anthropic_thinking": THINKING, "max_tokens": 3000})):
        calls = []

        def once(location: str) -> str:
            """The weather."""
            calls.append(location)  # noqa: B023
            return "rain"

        agent = Agent(model, tools=[once], model_settings=settings)
        assert agent.run_sync("go").output == SAID
        assert calls == ["Oslo"]

        async def streamed():
            async with Agent(model, model_settings=settings).run_stream("hi") as run:  # noqa: B023
                return "".join([piece async for piece in run.stream_text(delta=True)])

        assert asyncio.run(streamed()) == SAID


if __name__ == "__main__":
    direct()
    agents()
