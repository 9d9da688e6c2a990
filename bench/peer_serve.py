# SPDX-License-Identifier: Apache-2.0
"""The same agent behind uvicorn, for bench/serve.py: POST /v1/responses runs openai-agents. Nothing is durable.

usage: peer_serve.py MODEL_PORT
"""

import socket
import sys

import uvicorn
from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

set_tracing_disabled(True)
client = AsyncOpenAI(api_key="x", base_url="http://127.0.0.1:%s/l0/n0/k5/v1" % sys.argv[1], max_retries=0)
agent = Agent(name="model", model=OpenAIResponsesModel("gpt-5.4", client))


async def respond(request):
    run = await Runner.run(agent, (await request.json())["input"])
    return JSONResponse({"status": "completed", "output_text": run.final_output})


with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    s.listen(1024)
    print("listening at http://127.0.0.1:%d" % s.getsockname()[1], flush=True)
    uvicorn.run(Starlette(routes=[Route("/v1/responses", respond, methods=["POST"])]), fd=s.fileno(), log_level="error")
