#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What thole serve costs: CPU of a response, memory of open streams, and of callers who never end their request.

usage: bench/serve.py THOLE MODELSRV [responses N] [streams N] [slow N]

MODELSRV is a model endpoint that answers at once (../shared/bench/modelsrv.c, compiled). The server's CPU and memory are
read from /proc, so the client's own do not count.
"""

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time

TOKEN = "bench-token-0123456789"


def cpu_ms(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def memory_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


class Server:
    def __init__(self, thole, modelsrv, folder):
        env = dict(os.environ, OPENAI_API_KEY="x", XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder, XDG_RUNTIME_DIR=folder)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            model_port = s.getsockname()[1]
        self.model = subprocess.Popen([modelsrv, "-p", str(model_port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/l0/n0/k5/v1" % model_port
        os.makedirs(folder + "/thole", mode=0o700, exist_ok=True)
        with open(folder + "/thole/config.yaml", "w") as f:
            f.write("serve:\n  models: [gpt-5.4]\n")
        with open(os.open(folder + "/tokens", os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("%s bench read,run\n" % TOKEN)
        self.process = subprocess.Popen([thole, "serve", "--quiet", "--listen", "127.0.0.1:0", "--tokens", folder + "/tokens"], env=env,
                                        stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().decode().rsplit(":", 1)[1])
        self.pid = self.process.pid

    def end(self):
        for process in (self.process, self.model):
            process.terminate()
            process.wait()


def request(method, path, body=b"", accept="application/json"):
    head = "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: %s\r\n" % (method, path, TOKEN, accept)
    if body:
        head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    return head.encode() + b"\r\n" + body


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head.split(b" ")[1]), await reader.readexactly(size)


async def post_many(port, count):
    body = json.dumps({"model": "gpt-5.4", "input": "Say something."}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(request("POST", "/v1/responses", body))
        status, answer = await read_answer(reader)
        assert status == 200 and b'"status":"completed"' in answer, answer[:500]
    writer.close()


async def responses(server, count):
    connections = 64
    await post_many(server.port, 20)
    before, began = cpu_ms(server.pid), time.monotonic()
    await asyncio.gather(*[post_many(server.port, count // connections) for _ in range(connections)])
    took, done = time.monotonic() - began, count // connections * connections
    print("responses: %d at %d connections, %.3f ms CPU each, %.0f a second, %d KB resident" %
          (done, connections, (cpu_ms(server.pid) - before) / done, done / took, memory_kb(server.pid)))


async def streams(server, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request("POST", "/v1/responses", json.dumps({"model": "gpt-5.4", "input": "One."}).encode()))
    _, answer = await read_answer(reader)
    digits = json.loads(answer)["id"].split("_")[1]
    name = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    before, opened = memory_kb(server.pid), []
    for _ in range(count):
        r, w = await asyncio.open_connection("127.0.0.1", server.port)
        w.write(request("GET", "/api/sessions/%s/events?from=1" % name, accept="text/event-stream"))
        await r.readuntil(b"event: final\n")
        opened.append((r, w))
    print("streams: %d open, %d KB more resident, %.1f KB each" %
          (count, memory_kb(server.pid) - before, (memory_kb(server.pid) - before) / count))
    writer.write(request("POST", "/api/sessions/%s/messages" % name, b'{"text":"Again."}'))
    began = time.monotonic()
    await asyncio.gather(*[r.readuntil(b"event: message\n") for r, _ in opened])
    print("streams: all %d had the next event after %.2f s" % (count, time.monotonic() - began))
    for _, w in opened:
        w.close()


async def slow(server, count):
    before, sockets = memory_kb(server.pid), []
    for _ in range(count):
        _, w = await asyncio.open_connection("127.0.0.1", server.port)
        w.write(b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nX-")
        sockets.append(w)
    waits = []
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for i in range(300):
        sockets[i % count].write(b"y")
        began = time.monotonic()
        writer.write(request("GET", "/healthz"))
        await read_answer(reader)
        waits.append((time.monotonic() - began) * 1000)
        await asyncio.sleep(0.005)
    waits.sort()
    print("slow: %d callers that never end their head, %d KB more resident; GET /healthz p50 %.2f ms, p99 %.2f ms" %
          (count, memory_kb(server.pid) - before, waits[len(waits) // 2], waits[len(waits) * 99 // 100]))
    for w in sockets:
        w.close()


def main():
    thole, modelsrv, *rest = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    wanted = dict(zip(rest[::2], map(int, rest[1::2]))) or {"responses": 3200, "streams": 10000, "slow": 5000}
    for name, count in wanted.items():
        with tempfile.TemporaryDirectory() as folder:
            server = Server(thole, modelsrv, folder)
            try:
                asyncio.run({"responses": responses, "streams": streams, "slow": slow}[name](server, count))
            finally:
                server.end()


if __name__ == "__main__":
    main()
