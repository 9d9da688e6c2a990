#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sessions at rest cost a node, and how fast one wakes: fills a PostgreSQL server of its own with copies of a session that
is over, beside `thole serve`, whose memory is read before and after; then says something to some of them.

usage: BUILD_DIR=build SOURCE_DIR=. SHARED_DIR=../shared bench/idle.py [SESSIONS [SECONDS]]

It stops filling after SECONDS; the server flushes nothing meanwhile (fsync off), and everything when sessions wake. fill_kb is memory that came with the sessions, wake_ms the time from a message to its answer,
when the session is leased, read, open and the message is durable.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import random
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "postgres"), str(ROOT / "tests" / "e2e" / "cli"), str(ROOT / "bench")]

import server
from nodes import WithNodes
from on_postgres import say
from serve import memory_kb

SESSIONS, SECONDS = (list(map(int, sys.argv[1:])) + [100000, 120][len(sys.argv) - 1:])[:2]
WRITERS, WAKES, NUMBER = 6, 200, 8  # runtimes that fill; wakes; bytes of a number of the digest
VERSION = b"\x01"  # of the digest (events/event.c)


def mixed(text):
    return len(text).to_bytes(4, "little") + text


class Copies:
    """A session as `thole export` wrote it, under other names."""

    def __init__(self, export):
        self.head, *self.events = export.splitlines()[:-1]
        self.events = [line.split(',"digest":')[0] for line in self.events]

    def copy(self, name):
        digest, lines = bytes(32), []
        for line in self.events:
            event = json.loads(line + "}")["event"]
            data = line[line.index(',"data":') + 8:line.rindex(',"build":')]
            digest = hashlib.sha256(
                VERSION + digest + b"".join(event.get(k, 0).to_bytes(NUMBER, "little") for k in ("seq", "ts_ms", "cause")) +
                bytes.fromhex(event["id"].replace("-", "")) +
                b"".join(mixed(text.encode()) for text in (name, event["source"], event["kind"], event.get("call", ""), data, event["build"]))).digest()
            lines.append('%s,"digest":"%s"}' % (line.replace('"session":"one"', '"session":"%s"' % name, 1), digest.hex()))
        head = json.loads(self.head)
        head.update(session=name, head=digest.hex())
        return "\n".join([json.dumps(head, separators=(",", ":")), *lines]) + "\n"


class Idle(WithNodes):
    @classmethod
    def setUpClass(cls):
        cls.postgres = server.Server().start()

    def flushes(self, what):
        self.postgres.sql("ALTER SYSTEM SET fsync = " + what)
        self.postgres.sql("SELECT pg_reload_conf()")
        self.wait_for(lambda: self.postgres.sql("SHOW fsync") == what)

    def runTest(self):
        self.flushes("off")
        self.serve_rules([{"parts": say("Done.")}])
        node = self.node("n1")
        node.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go."}, 201)
        self.wait_for(lambda: self.state("one") == "finished")
        copies = Copies(self.good("export", "one").out)
        self.wake(node, ["one"])
        before, end = memory_kb(node.process.pid), time.monotonic() + SECONDS
        counts = [0] * WRITERS
        writers = [threading.Thread(target=self.fill, args=(copies, counts, i, end)) for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        count = min(counts) * WRITERS  # these have names without a gap
        after = memory_kb(node.process.pid)
        self.flushes("on")
        os.sync()
        self.postgres.sql("CHECKPOINT")
        waits = self.wake(node, random.sample(["s%06d" % i for i in range(count)], WAKES))
        print(json.dumps({"bench": "idle", "sessions": sum(counts), "before_kb": before, "fill_kb": after - before,
                          "wake_p50_ms": round(statistics.median(waits), 1), "wake_p99_ms": round(waits[int(len(waits) * 0.99)], 1)}))

    def fill(self, copies, counts, first, end):
        """With a runtime of its own, as any program of libthole."""
        lib = ctypes.CDLL(os.path.join(os.environ["BUILD_DIR"], "libthole.so"))
        rt, error = ctypes.c_void_p(), ctypes.create_string_buffer(1024)
        options = (ctypes.c_char_p * 3)(b"store", self.postgres.url().encode(), None)
        self.assertEqual(lib.thole_runtime_new(options, ctypes.byref(rt), error), 0, error.raw[4:].split(b"\0")[0])
        for i in range(first, SESSIONS, WRITERS):
            text = copies.copy("s%06d" % i).encode() + b'{"end":1}\n'
            self.assertEqual(lib.thole_runtime_import(rt, text, ctypes.c_size_t(len(text)), None, error), 0, error.raw[4:].split(b"\0")[0])
            counts[first] += 1
            if time.monotonic() > end:
                break
        self.assertEqual(lib.thole_runtime_free(rt, error), 0)

    def wake(self, node, names):
        waits = []
        for name in names:
            began = time.monotonic()
            node.good("POST", "/api/sessions/%s/messages" % name, {"text": "Once more."}, 202)
            waits.append(1000 * (time.monotonic() - began))
        return sorted(waits)


if __name__ == "__main__":
    Idle.setUpClass()
    bench = Idle()
    try:
        bench.setUp()
        try:
            bench.runTest()
        finally:
            bench.tearDown()
    finally:
        Idle.tearDownClass()
