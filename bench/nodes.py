#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of a fleet under load, on a PostgreSQL server of their own (fsync and synchronous_commit on), with a model that takes 5 s
(../shared/bench/modelsrv.c, compiled) and asks for a tool of the runtime in each turn. Prints one JSON line.

usage: BUILD_DIR=build bench/nodes.py one [SESSIONS [SECONDS [BYTES]]]
       BUILD_DIR=build bench/nodes.py two [SESSIONS [SECONDS [BYTES]]]

one: SESSIONS (10,000) with a history of BYTES (20,480) at one node. When all have begun and had a turn, the turns of SECONDS (30) are
counted against the ideal rate, which is a turn of each session in 5 s; with the node's memory, connections and processor time.
two: the processor time of a node that has SESSIONS (1,000), and of each of two nodes that share as many.
"""

import asyncio
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import resource
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "postgres"), str(ROOT / "tests" / "e2e" / "cli"), str(ROOT / "bench")]
sys.dont_write_bytecode = True

import house
import server
import serving
from nodes import WithNodes
from serve import cpu_ms, memory_kb, read_answer

KINDS = {"one": 10000, "two": 1000}
LATENCY_S, AT_ONCE = 5, 64
AGENT = """name: bench
model: gpt-4.1
limits: {turns: 1000000}
tools:
  - name: get_weather
    description: Get the weather for a city
    parameters: {type: object, properties: {city: {type: string}, unit: {type: string}}, required: [city, unit], additionalProperties: false}
    script: weather
script: |
  function weather(q) return "sunny, 21 degrees" end
"""


def instruments():
    """The module bench/compare, which has no suffix."""
    loader = importlib.machinery.SourceFileLoader("compare", str(ROOT / "bench" / "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


class Nodes(WithNodes):
    def __init__(self, kind, sessions, seconds, size):
        super().__init__()
        self.kind, self.sessions, self.seconds, self.size = kind, sessions, seconds, size

    @classmethod
    def setUpClass(cls):
        cls.postgres = server.Server(settings=["shared_buffers=256MB"]).start()

    def runTest(self):
        self.leaves_executors = False
        (self.agents / "bench.yaml").write_text(AGENT)
        compare = instruments()
        self.model = compare.Model(compare.tool("modelsrv", self.folder))
        self.env["OPENAI_BASE_URL"] = self.model.url(LATENCY_S * 1000, 1000000)
        try:
            print(json.dumps({"bench": "nodes " + self.kind, "sessions": self.sessions, "bytes": self.size, **getattr(self, self.kind)()}), flush=True)
        finally:
            for node in self.nodes:
                node.end(9)
            self.nodes = []
            self.model.end()
            self.postgres.sql("DROP SCHEMA IF EXISTS thole CASCADE")

    def requests(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/stats" % self.model.port, timeout=house.SECONDS) as answer:
            return json.load(answer)["requests"]

    # ---- sessions ----

    async def begin_some(self, ports, first):
        text = ("The quick brown fox jumps over the lazy dog. " * (self.size // 45 + 1))[:self.size]
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[first % len(ports)])
        began = time.monotonic()
        for i in range(first, self.sessions, AT_ONCE):
            await asyncio.sleep(began + LATENCY_S * i / self.sessions - time.monotonic())  # spread evenly over a turn
            body = json.dumps({"agent": "bench", "id": "b%d" % i, "message": text}).encode()
            status, answer = 503, b""
            for _ in range(house.SECONDS):
                writer.write(b"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (serving.TOKENS["alice"].encode(), len(body), body))
                status, answer = await asyncio.wait_for(read_answer(reader), house.SECONDS)
                if status != 503:  # it has more to do than it can
                    break
                await asyncio.sleep(1)
            self.assertEqual(status, 201, answer[:500])
        writer.close()

    def begin(self, nodes):
        """All sessions, shared by the nodes; they have had a turn when it returns."""
        async def all_of_them():
            await asyncio.gather(*[self.begin_some([n.port for n in nodes], i) for i in range(AT_ONCE)])

        began, before = time.monotonic(), self.requests()
        asyncio.run(all_of_them())
        took = time.monotonic() - began
        self.wait_for(lambda: self.requests() - before >= 2 * self.sessions, 20 * LATENCY_S)
        return took

    def measured(self, nodes):
        """Turns a second, and each node's processor time in percent of one processor."""
        turns, cpu, began = self.requests(), [cpu_ms(n.process.pid) for n in nodes], time.monotonic()
        time.sleep(self.seconds)
        took = time.monotonic() - began
        turns = (self.requests() - turns) / took
        return turns, [(cpu_ms(n.process.pid) - before) / took / 10 for n, before in zip(nodes, cpu)]

    # ---- kinds ----

    def one(self):
        node = self.node("n1")
        idle_kb = memory_kb(node.process.pid)
        took = self.begin([node])
        turns, (cpu,) = self.measured([node])
        connections = int(self.postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"))
        ideal = self.sessions / LATENCY_S
        return {"begin_s": round(took, 1), "turns_per_s": round(turns, 1), "ideal_percent": round(100 * turns / ideal, 1), "cpu_percent": round(cpu, 1),
                "idle_kb": idle_kb, "rss_kb": memory_kb(node.process.pid), "connections": connections,
                "sessions_per_connection": round(self.sessions / connections)}

    def two(self):
        node = self.node("n1")
        self.begin([node])
        turns, (alone,) = self.measured([node])
        node.end(9)
        self.postgres.sql("DROP SCHEMA thole CASCADE")
        self.nodes = []
        nodes = [self.node("n1"), self.node("n2")]
        self.begin(nodes)
        turns_of_two, shared = self.measured(nodes)
        return {"turns_per_s": round(turns, 1), "turns_per_s_of_two": round(turns_of_two, 1), "cpu_percent": round(alone, 2),
                "cpu_percent_of_two": [round(cpu, 2) for cpu in shared], "share": round(max(shared) / alone, 3)}


def main():
    words = sys.argv[1:]
    if not words or words[0] not in KINDS or len(words) > 4:
        sys.exit(__doc__)
    numbers = [*map(int, words[1:]), *[KINDS[words[0]], 30, 20480][len(words) - 1:]]
    if not house.SHARED.is_dir():
        print("not run: ../shared is not here")
        return server.SKIP
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        Nodes.setUpClass()
    except server.Missing as e:
        print("not run: %s" % e)
        return server.SKIP
    bench = Nodes(words[0], *numbers)
    try:
        bench.setUp()
        try:
            bench.runTest()
        finally:
            bench.tearDown()
    finally:
        Nodes.tearDownClass()
    return 0


if __name__ == "__main__":
    sys.exit(main())
