#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What thole serve costs: CPU of a response, memory of open streams and of callers who never end their request, and what
a small request waits for while many sessions run.

usage: bench/serve.py THOLE MODELSRV [responses N] [streams N] [slow N] [busy N] [peers N] [overload SECONDS]

MODELSRV is a model endpoint that answers at once (../shared/bench/modelsrv.c, compiled). The server's CPU and memory are
read from /proc, so the client's own do not count. `peers` runs the same agent behind Node's HTTP (@openai/agents) and behind
uvicorn (openai-agents) in turn with thole serve, three times, and compares the medians of CPU for a response. NODE_FOLDER is
a folder where npm installed openai and @openai/agents, PYTHON an interpreter with openai-agents, uvicorn and starlette; a
peer that is not given is left out. Peers keep nothing; thole's responses are durable. `overload` finds the most responses
a second, then asks for twice as many, with LOAD (bench/load.c, compiled).

Where other programs want the processors, `chrt --rr 5 bench/serve.py ...` (as root) keeps them from what is measured.
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
    def __init__(self, thole, modelsrv, folder, latency_ms=0):
        env = dict(os.environ, OPENAI_API_KEY="x", XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder, XDG_RUNTIME_DIR=folder)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            model_port = s.getsockname()[1]
        self.model_port = model_port
        self.model = subprocess.Popen([modelsrv, "-p", str(model_port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/l%d/n0/k5/v1" % (model_port, latency_ms)
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


refused = 0  # and asked for again: on a busy machine a server is late without its own doing


async def post_many(port, count):
    global refused
    body = json.dumps({"model": "gpt-5.4", "input": "Say something."}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    done = 0
    while done < count:
        writer.write(request("POST", "/v1/responses", body))
        status, answer = await read_answer(reader)
        if status == 503:
            refused += 1
            await asyncio.sleep(0.02)
            continue
        done += 1
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
    began, before = time.monotonic(), cpu_ms(server.pid)
    await asyncio.gather(*[r.readuntil(b"event: message\n") for r, _ in opened])
    print("streams: all %d had the next event after %.2f s, %.0f ms CPU of the server" %
          (count, time.monotonic() - began, cpu_ms(server.pid) - before))
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


async def waits_of(port, count):
    """Milliseconds of `count` small requests, one after the other, sorted."""
    waits = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        began = time.monotonic()
        writer.write(request("GET", "/healthz"))
        await read_answer(reader)
        waits.append((time.monotonic() - began) * 1000)
        await asyncio.sleep(0.005)
    writer.close()
    return sorted(waits)


async def waits_beside(port, count):
    """The same, measured by a process that has nothing else to do."""
    child = await asyncio.create_subprocess_exec(sys.executable, os.path.abspath(__file__), "waits", str(port), str(count), stdout=subprocess.PIPE)
    text, _ = await child.communicate()
    return json.loads(text)


async def busy(server, count):
    """Each of `count` connections has a response under way all the time; the model takes two seconds for each."""
    idle = await waits_beside(server.port, 400)

    async def goes_on(i):
        await asyncio.sleep(2 * i / count)  # not all at once
        await post_many(server.port, 1000)

    running = [asyncio.ensure_future(goes_on(i)) for i in range(count)]
    await asyncio.sleep(5)
    waits = await waits_beside(server.port, 400)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    print("busy: GET /healthz p50 %.2f ms, p99 %.2f ms idle; p50 %.2f ms, p99 %.2f ms while %d responses are under way" %
          (idle[200], idle[396], waits[200], waits[396], count))


async def answers(port, connections, count):
    await asyncio.gather(*[post_many(port, count // connections) for _ in range(connections)])


async def peers(server, count):
    here, programs = os.path.dirname(os.path.abspath(__file__)), {}
    if os.environ.get("NODE_FOLDER"):
        copy = os.path.join(os.environ["NODE_FOLDER"], "peer_serve.mjs")  # packages are looked for beside the file
        with open(os.path.join(here, "peer_serve.mjs")) as from_, open(copy, "w") as to:
            to.write(from_.read())
        programs["node"] = ["node", copy]
    if os.environ.get("PYTHON"):
        programs["python"] = [os.environ["PYTHON"], os.path.join(here, "peer_serve.py")]
    started = {name: subprocess.Popen([*command, str(server.model_port)], stdout=subprocess.PIPE) for name, command in programs.items()}
    ports = {name: int(p.stdout.readline().decode().rsplit(":", 1)[1]) for name, p in started.items()}
    places, taken = {"thole": (server.pid, server.port, count)}, {}
    places.update({name: (started[name].pid, ports[name], count // 5) for name in started})
    try:
        for _ in range(3):
            for name, (pid, port, wanted) in places.items():
                await answers(port, 16, 64)
                before = cpu_ms(pid)
                await answers(port, 64, wanted)
                taken.setdefault(name, []).append((cpu_ms(pid) - before) / (wanted // 64 * 64))
    finally:
        for process in started.values():
            process.terminate()
            process.wait()
    for name, values in taken.items():
        print("peers: %-6s %.3f ms CPU a response, %.1f times thole's (%s)" %
              (name, sorted(values)[1], sorted(values)[1] / sorted(taken["thole"])[1], " ".join("%.3f" % v for v in values)))


def load(server, rate, seconds):
    done = subprocess.run([os.environ["LOAD"], str(server.port), TOKEN, str(rate), str(seconds)], check=True, capture_output=True, text=True)
    print("overload: " + done.stdout.strip())
    return float(done.stdout.split("taken ")[1].split("/")[0])


async def overload(server, seconds):
    """The peak is what is taken of ever more, until more is offered than is taken."""
    await post_many(server.port, 20)
    rate, peak = 500, 0
    while rate <= 16000:
        taken = load(server, rate, seconds)
        peak = max(peak, taken)
        if taken < 0.9 * rate:
            break
        rate = int(rate * 1.5)
    taken = load(server, int(2 * peak), seconds)
    print("overload: peak %.0f a second; of twice as many %.0f are taken, %.0f %%" % (peak, taken, 100 * taken / peak))


def main():
    thole, modelsrv, *rest = sys.argv[1:]
    if thole == "waits":
        print(json.dumps(asyncio.run(waits_of(int(modelsrv), int(rest[0])))))
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    wanted = dict(zip(rest[::2], map(int, rest[1::2]))) or {"responses": 3200, "streams": 10000, "slow": 5000, "busy": 1000, "peers": 1600}
    for name, count in wanted.items():
        with tempfile.TemporaryDirectory() as folder:
            server = Server(thole, modelsrv, folder, 2000 if name == "busy" else 0)
            try:
                asyncio.run({"responses": responses, "streams": streams, "slow": slow, "busy": busy, "peers": peers, "overload": overload}[name](server, count))
            finally:
                server.end()
    if refused:
        print("%d were refused, and asked for again" % refused)


if __name__ == "__main__":
    main()
