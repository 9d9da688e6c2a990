# SPDX-License-Identifier: Apache-2.0
"""Durable turns of others on PostgreSQL, for bench/fleet.py: LangGraph with its PostgreSQL checkpointer, DBOS with its steps.

A turn is what bench/append writes for one: an answer of the model and the outcome of a call, 1,050 bytes together, in two commits. The model
and the tool are functions that answer at once, so that durability alone is measured. Prints one JSON line.

usage: peer_durable.py langgraph|dbos URL SESSIONS SECONDS
"""

import asyncio
import json
import sys
import time

ANSWER, OUTCOME = "t" * 750, "t" * 300


async def measure(sessions, seconds, turn):
    """How many turns a second `sessions` at once make, each one after the other."""
    await asyncio.gather(*(turn(i) for i in range(sessions)))  # what is made once
    count, began = 0, time.monotonic()

    async def session(i):
        nonlocal count
        while time.monotonic() - began < seconds:
            await turn(i)
            count += 1
    await asyncio.gather(*(session(i) for i in range(sessions)))
    return count / (time.monotonic() - began)


async def langgraph(url, sessions, seconds):
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.graph import END, START, StateGraph
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool
    from typing import Annotated, TypedDict
    import operator

    class State(TypedDict):
        said: Annotated[list, operator.add]

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(url, min_size=8, max_size=16, kwargs=options, open=False) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        made = StateGraph(State)
        made.add_node("model", lambda state: {"said": [ANSWER]})
        made.add_node("tool", lambda state: {"said": [OUTCOME]})
        made.add_edge(START, "model")
        made.add_edge("model", "tool")
        made.add_edge("tool", END)
        graph = made.compile(checkpointer=saver)

        async def turn(i):
            # As a conversation that was condensed: its history does not grow, which would only slow it down.
            turns[i] += 1
            await graph.ainvoke({"said": []}, {"configurable": {"thread_id": "s%d-%d" % (i, turns[i] // 20)}}, durability="sync")
        turns = [0] * sessions
        return await measure(sessions, seconds, turn)


async def dbos(url, sessions, seconds):
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR",
                 "enable_otlp": False})

    @DBOS.step()
    async def model():
        return ANSWER

    @DBOS.step()
    async def tool():
        return OUTCOME

    @DBOS.workflow()
    async def turns_of(count):
        for _ in range(count):
            await model()
            await tool()

    DBOS.launch()

    async def turn(_i):  # one workflow of a session for 20 turns: its own rows hardly count
        await turns_of(20)
    try:
        return 20 * await measure(sessions, seconds, turn)
    finally:
        DBOS.destroy()


def main():
    name, url, sessions, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    rate = asyncio.run({"langgraph": langgraph, "dbos": dbos}[name](url, sessions, seconds))
    print(json.dumps({"bench": name, "sessions": sessions, "turns_per_s": round(rate, 1)}))


main()
