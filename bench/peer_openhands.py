# SPDX-License-Identifier: Apache-2.0
"""What a turn costs in openhands-sdk: sessions with a tool that answers at once, for bench/openhands_turns.py. One line of JSON.

usage: peer_openhands.py URL WARM_URL SESSIONS FOLDER

Nothing is condensed, nobody looks for loops and nothing is shown; events go to FOLDER, as they do in its agent server.
"""

import concurrent.futures
import json
import logging
import os
import sys
import time

os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LITELLM_LOCAL_MODEL_COST_MAP="True", LOG_LEVEL="ERROR")

from openhands.sdk import LLM, Agent, Conversation, Tool, register_tool  # noqa: E402
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor  # noqa: E402

logging.disable(logging.WARNING)
AT_A_TIME = 8  # with 64 threads at once some of its connections to the model break


class WeatherAction(Action):
    city: str
    unit: str


class WeatherObservation(Observation):
    pass


class Weather(ToolExecutor):
    def __call__(self, action, conversation=None):
        return WeatherObservation.from_text(text="The weather in Paris is sunny, 21 degrees.")


class GetWeather(ToolDefinition):
    name = "get_weather"

    @classmethod
    def create(cls, conv_state=None, **params):
        return [cls(description="Get the weather for a city", action_type=WeatherAction, observation_type=WeatherObservation, executor=Weather())]


def run(url, folder, failures):
    llm = LLM(model="openai/scripted", base_url=url, api_key="none", usage_id="agent", num_retries=0)
    agent = Agent(llm=llm, tools=[Tool(name="get_weather")], include_default_tools=[])
    conversation = Conversation(agent=agent, workspace=folder, persistence_dir=folder, visualizer=None, stuck_detection=False,
                                max_iteration_per_run=100000)
    conversation.send_message("What is the weather in Paris?")
    conversation.run()
    if conversation.state.execution_status.value != "finished":
        failures.append(conversation.state.execution_status.value)
    calls = sum(1 for event in conversation.state.events if type(event).__name__ == "ActionEvent")
    conversation.close()
    return calls + 1


def main(url, warm, sessions, folder):
    register_tool("get_weather", GetWeather)
    run(warm, os.path.join(folder, "warm"), [])  # what is imported and compiled with the first turns is no cost of a turn
    failures = []
    cpu, wall = time.process_time(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        turns = list(pool.map(lambda i: run(url, os.path.join(folder, str(i)), failures), range(int(sessions))))
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    if failures:
        sys.exit("peer_openhands: sessions ended %s" % failures)
    print(json.dumps({"sessions": int(sessions), "turns": sum(turns), "cpu_us_turn": cpu * 1e6 / sum(turns), "wall_us_turn": wall * 1e6 / sum(turns)}))


main(*sys.argv[1:])
