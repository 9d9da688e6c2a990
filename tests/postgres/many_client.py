# SPDX-License-Identifier: Apache-2.0
"""A client that begins thousands of sessions and follows each of them through any node: its balancer knows which nodes are down."""

import asyncio
import http
import json
import random
import threading
import time

import serving

AT_ONCE = 48  # sessions that are begun at the same time
SILENCE = 40  # seconds without a sign of life, which comes every 15


class Wrong(Exception):
    """What must never be."""


class Session:
    def __init__(self, name, agent, words):
        self.name, self.agent, self.words = name, agent, words
        self.ids = []  # of its events, in order
        self.made = self.over = False
        self.last = self.stalled = 0  # when the last event came; the longest time without one


class Client(threading.Thread):
    """`sessions`: all that it begins and follows. `wrong`: sentences about what must not be."""

    def __init__(self, nodes, sessions, seed):
        super().__init__(daemon=True)
        self.nodes = nodes  # called, gives the ports that a balancer would choose from
        self.sessions, self.chance = sessions, random.Random(seed)
        self.wrong, self.streams, self.refused = [], {}, {}
        self.ended = False
        self.loop = None
        self.start()

    def run(self):
        asyncio.run(self.all())

    async def all(self):
        self.loop, self.room = asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)
        self.tasks = [asyncio.ensure_future(self.one(s)) for s in self.sessions]
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def stop(self):
        self.ended = True
        while self.loop and self.is_alive():  # a task that was about to be woken does not hear of it
            self.loop.call_soon_threadsafe(lambda: [t.cancel() for t in self.tasks])
            self.join(1)

    def down(self, port):
        """A node is gone, or does not answer: the balancer cuts what goes through it."""
        self.loop.call_soon_threadsafe(lambda: [w.transport.abort() for w in list(self.streams.get(port, ()))])

    async def one(self, s):
        try:
            async with self.room:
                await self.until(self.begin, s)
            s.last = time.monotonic()
            await self.until(self.follow, s)
        except Wrong as e:
            self.wrong.append("%s: %s" % (s.name, e))

    async def until(self, what, s):
        """Again and again, through any node."""
        while not self.ended:
            ports = self.nodes()
            try:
                if ports and await what(s, self.chance.choice(ports)):
                    return
            except (OSError, EOFError, asyncio.TimeoutError, ValueError):
                pass
            await asyncio.sleep(self.chance.uniform(0.05, 0.5))

    async def ask(self, port, method, path, body=b"", **headers):
        """(reader, writer, status, headers)."""
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port, limit=1 << 24), SILENCE)
        self.streams.setdefault(port, set()).add(writer)
        try:
            lines = ["%s %s HTTP/1.1" % (method, path), "Host: localhost", "Authorization: Bearer " + serving.TOKENS["alice"],
                     "Content-Length: %d" % len(body), *("%s: %s" % (k.replace("_", "-"), v) for k, v in headers.items())]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SILENCE)).decode().split("\r\n")
            status = int(head[0].split(" ")[1])
            if status >= 400:
                self.refused[status] = self.refused.get(status, 0) + 1
            return reader, writer, status
        except BaseException:
            self.close(port, writer)
            raise

    def close(self, port, writer):
        self.streams[port].discard(writer)
        writer.transport.abort()

    async def begin(self, s, port):
        """True: it has begun."""
        body = json.dumps({"agent": s.agent, "id": s.name, "message": s.words}).encode()
        _, writer, status = await self.ask(port, "POST", "/api/sessions", body, Content_Type="application/json")
        self.close(port, writer)
        if status not in (http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT, *range(500, 600)):
            raise Wrong("refused with %d" % status)
        s.made = status < 500  # 409: a try whose answer was lost has made it
        return s.made

    async def follow(self, s, port):
        """True: its task is over."""
        more = {"Last_Event_ID": len(s.ids)} if s.ids else {}
        reader, writer, status = await self.ask(port, "GET", "/api/sessions/%s/events?deltas=false" % s.name, Accept="text/event-stream", **more)
        try:
            if status in (401, 403, 404):
                raise Wrong("refused with %d after %d events" % (status, len(s.ids)))
            if status != 200:
                return False
            frame = {}
            async for line in self.lines(reader):
                if line:
                    name, _, value = line.partition(": ")
                    frame[name] = value
                    continue
                self.event(s, frame)
                if frame.get("event") == "final":
                    s.over = True
                    return True
                frame = {}
            return False
        finally:
            self.close(port, writer)

    @staticmethod
    async def lines(reader):
        """Of a chunked body."""
        rest = b""
        while size := int(await asyncio.wait_for(reader.readline(), SILENCE), 16):
            rest += (await asyncio.wait_for(reader.readexactly(size + 2), SILENCE))[:-2]
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield line.decode()

    @staticmethod
    def event(s, frame):
        if frame.get("event") == "lost":
            raise Wrong("the session has no event %d" % (len(s.ids) + 1))
        if not frame.get("id"):
            return
        if int(frame["id"]) != len(s.ids) + 1:
            raise Wrong("event %s came after %d" % (frame["id"], len(s.ids)))
        s.ids.append(json.loads(frame["data"])["id"])
        now = time.monotonic()
        s.stalled, s.last = max(s.stalled, now - s.last), now
