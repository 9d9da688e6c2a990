# SPDX-License-Identifier: Apache-2.0
"""acts.py - cells, actions of a browser and calls of a server at an address, killed at random system calls between their
intent and their outcome: nothing twice, and no outcome that is not true.

A session does one act after the other, each as a task of its own.  What happened is what stands outside of thole: the file to
which a cell adds a line, the requests that a page's button makes, the calls that a server of tools was sent.  SIGKILL hits the
runtime, its executor, or both, at a system call that a seed draws from those between the model's answer and the next request;
half of those that take a killed run up again are killed as well.  Kills that hit before the intent or behind the outcome are
judged like the others, and not counted.

    acts.py KIND COUNT [SEED]     COUNT kills of a cell, a browser or a server; TH_TORTURE without a seed: 500, with one of the day
"""
import collections
import http.server
import json
import mmap
import os
import pathlib
import random
import struct
import subprocess
import sys
import threading
import time

from scenario_list import Scenario, agent, call, say
from scenarios import KILLER, SKIPPED, THOLE, Model, Run, Trouble

ACTS_MAX = 25   # of a session: a request holds all that was before it
WIDE = 3        # kills inside by which the drawing learns where the inside is
LEFT_S = 20     # until what has ended is gone
TRIALS_MAX = 8  # per kill that is wanted
UNKNOWN = "may or may not have happened"


# ---- what is acted on ------------------------------------------------------------------------------

class World(http.server.ThreadingHTTPServer):
    """Pages with one button each, and a server of tools (MCP, 2026-07-28)."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.did = threading.Lock(), collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # who asked was killed

    def note(self, what):
        with self.lock:
            self.did[what] += 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        page = self.path.strip("/")
        if page.startswith("w"):
            self.server.note("page " + page)
        # The click is over when the request is answered, so what is said to be done was done.
        self.send("<!doctype html><title>%s</title><link rel=icon href='data:,'><button style='position:fixed;inset:0;width:100%%;height:100%%' onclick=\""
                  "const r = new XMLHttpRequest(); r.open('POST', '/did/%s', false); r.send(); this.textContent = 'did-%s'\">Go</button>"
                  % (page, page, page), "text/html")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/did/"):
            self.server.note(self.path[5:])
            return self.send("", "text/plain")
        message = json.loads(body)
        result = {"resultType": "complete"}
        if message["method"] == "tools/list":
            result["tools"] = [{"name": "act", "inputSchema": {"type": "object"}}]
        elif message["method"] == "tools/call":
            self.server.note(message["params"]["arguments"]["what"])
            result["content"] = [{"type": "text", "text": "did-" + message["params"]["arguments"]["what"]}]
        return self.send(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}), "application/json")


CELL = "with open('effects', 'a') as f: f.write('%s\\n')\nprint('did-%s')"

# kind -> the agent's members, the call of an act, who is killed how often (a call at an address is the runtime's own)
KINDS = {
    "cell": (lambda url: {"tools": ["python"]}, lambda n, url: call("python", "c_" + n, code=CELL % (n, n)), {"runtime": 8, "executor": 1, "both": 1}),
    "browser": (lambda url: {"tools": ["browser"], "net": "host", "computer": {"kind": "browser", "width": 400, "height": 300}},
                lambda n, url: call("browser", "c_" + n, steps=[{"action": "open", "url": url + "/" + n}, {"action": "click", "x": 200, "y": 150}]),
                {"runtime": 18, "executor": 1, "both": 1}),
    "server": (lambda url: {"tools": ["none"], "mcp_servers": [{"name": "s", "url": url + "/mcp", "revision": "2026-07-28"}]},
               lambda n, url: call("s_act", "c_" + n, what=n), {"runtime": 1}),
}


# ---- the model -------------------------------------------------------------------------------------

class Acting(Model):
    """Does the newest task, whose text is the name of the act; counts requests where the killer sees it."""

    def __init__(self, kind, url):
        super().__init__()
        self.act, self.url, self.count = KINDS[kind][1], url, None

    def handle_error(self, *_):
        pass  # who asked was killed

    def watch(self, path):
        path.write_bytes(bytes(4))
        with path.open("r+b") as f:
            self.count = mmap.mmap(f.fileno(), 4)

    def number(self):
        return struct.unpack("I", self.count)[0]

    def answer(self, trial, body):
        with self.lock:
            if trial != self.trial:
                return 410
            self.count[:] = struct.pack("I", self.number() + 1)
            told = [i for i in body["input"] if i.get("type", "").endswith("_call_output")]
            name = [text_of(i) for i in body["input"] if i.get("role") == "user"]
            name = [n for n in name if n.startswith("w")][-1]
            if any(i["call_id"] == "c_" + name for i in told):
                return say("over-" + name)
            return [self.act(name, self.url)]


def text_of(item):
    content = item.get("content", "")
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


# ---- a session of acts -------------------------------------------------------------------------------

class Acts(Run):
    def __init__(self, kind, model, world):
        members, _, self.victims = KINDS[kind]
        super().__init__(model, Scenario(kind, agent(**members("http://127.0.0.1:%d" % world.server_port)), []), 0, False)
        self.kind, self.world = kind, world
        model.watch(self.folder / "asked")
        self.first = True

    def traced(self, victim, at, least, most, *args):
        """One process; its stops, whether it was killed."""
        report = self.folder / "report"
        now = self.model.number()
        ended = subprocess.run([KILLER, "--asked", str(self.folder / "asked"), str(now + least), str(now + most), victim, str(report), str(at), "-",
                                THOLE, *args], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=120)
        self.said.append("$ thole %s\n%s(exit status %d, %s at %d)" % (" ".join(args), ended.stdout.decode(errors="replace"), ended.returncode, victim, at))
        if ended.returncode not in (0, 137):
            raise Trouble("thole %s ended with exit status %d" % (args[0], ended.returncode))
        stops, killed = map(int, report.read_text().split())
        return stops, bool(killed)

    def last(self, kind, name):
        return [d for k, d in self.events if k == kind and d.get("call_id") == "c_" + name]

    def between(self, name):
        """Its intent is in the log, and its outcome is not."""
        self.look()
        return bool(self.last("intent", name)) and not self.last("outcome", name)

    def play(self, name, victim, at, again):
        """An act with a kill at stop `at`; when it hit, whoever takes the run up is killed at its stop `again` (0: not).
        Returns the stops of the first, and whether each kill hit between intent and outcome."""
        if victim != "runtime":
            self.thole("computer", "-s", self.name, "end")  # its executor is a new one, which the killer sees from its beginning
        words = ["run", *(["-a", "agent.yaml"] if self.first else []), "-s", self.name, name]
        self.first = False
        stops, killed = self.traced(victim, at, 1, 2, *words)
        inside = [killed and (self.between(name) or victim == "executor" and self.cut(name))]
        if killed and again and not self.over():
            inside.append(self.traced("runtime", again, 0, 1, "resume", self.name)[1] and self.between(name))
        for _ in range(4):
            if self.over():
                return stops, inside
            self.thole("resume", self.name)
        raise Trouble("it made no progress")

    def cut(self, name):
        """The runtime has lived on, and its executor had not said what came of the act."""
        return any(o["status"] in ("unknown", "not_started") for o in self.last("outcome", name))

    def over(self):
        self.look()
        return self.state in ("finished", "failed", "limit")

    def thole(self, *args):
        self.killed = True  # the base's own kills are none of ours
        return super().thole(*args)

    def happened(self, name):
        if self.kind != "cell":
            return self.world.did[name]
        effects = self.work / "effects"
        return effects.read_text().split().count(name) if effects.exists() else 0

    def judge(self, name, victim):
        """What is wrong with an act that is over."""
        self.look()
        finals = [f["output"] for f in self.of("final")]
        yield from judge(name, [len(self.last("intent", name)), self.last("outcome", name), self.happened(name), self.world.did["page " + name],
                                self.state, finals[-1] if finals else None], victim == "runtime" and self.kind != "server")

    def leave(self):
        """What is wrong with the whole of it."""
        if self.thole("log", "--verify") != 0:
            yield "the log does not verify"
        self.thole("computer", "-s", self.name, "end")
        deadline = time.monotonic() + LEFT_S
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in self.processes():
            yield "left behind: " + pathlib.Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace")[:200]
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)

    def processes(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found


# ---- judging -------------------------------------------------------------------------------------------

def judge(name, facts, lived):
    """`lived`: the executor, so nothing may be unknown."""
    intents, outcomes, times, loads, state, final = facts
    if times > 1 or loads > 1:
        yield "it happened %d times, and its page was opened %d times" % (times, loads)
    if intents > 1 or len(outcomes) != 1:
        yield "%d intents and %d outcomes" % (intents, len(outcomes))
        return
    status, output = outcomes[0]["status"], json.dumps(outcomes[0]["output"])
    if status == "done" and (times != 1 or "did-" + name not in output):
        yield "it is said to be done, and happened %d times: %s" % (times, output[:300])
    if status in ("not_started", "refused", "failed") and times:
        yield "it is said to be %s, and happened" % status
    if status == "unknown" and UNKNOWN not in output:
        yield "the model is not told that it is unknown: " + output[:300]
    if lived and status != "done":
        yield "its executor lived, and it is %s: %s" % (status, output[:300])
    if state != "finished" or final != "over-" + name:
        yield "it ended as %s %s" % (state, final)


def selftest():
    """The judge finds what is wrong."""
    done, unknown = {"status": "done", "output": "did-w1"}, {"status": "unknown", "output": "It may or may not have happened."}
    good = [1, [done], 1, 1, "finished", "over-w1"]
    assert not list(judge("w1", good, True))
    assert not list(judge("w1", [1, [unknown], 0, 0, *good[4:]], False)) and list(judge("w1", [1, [unknown], 0, 0, *good[4:]], True))
    for at, wrong in ((0, 2), (1, []), (1, [done, done]), (1, [{**done, "output": "?"}]), (1, [{**done, "status": "failed"}]), (1, [{**unknown, "output": ""}]),
                      (2, 0), (2, 2), (3, 2), (4, "failed"), (5, None), (5, "over-w0")):
        assert list(judge("w1", good[:at] + [wrong] + good[at + 1:], False)), (at, wrong)


# ---- many of them --------------------------------------------------------------------------------------

class Range:
    """Where kills of a victim are drawn from: all stops that were seen, and most of the time the part that was inside."""

    def __init__(self):
        self.stops, self.inside = 0, []

    def draw(self, rng):
        if len(self.inside) < WIDE or rng.random() < 0.2:
            return rng.randint(1, max(self.stops, 2))
        low, high = min(self.inside), max(self.inside)
        return rng.randint(max(1, low - (high - low) // 10), high + (high - low) // 10)


class Tally:
    def __init__(self):
        self.kills, self.inside, self.statuses, self.wrong = collections.Counter(), collections.Counter(), collections.Counter(), 0

    def wrongs(self, where, found, said):
        for text in found:
            self.wrong += 1
            print("FAILED  %s: %s\n%s" % (where, text, "\n".join(said[-6:])), flush=True)


def trial(acts, name, rng, ranges, tally):
    """One act.  A victim's first is in peace, to learn its stops."""
    victim = rng.choices(list(acts.victims), list(acts.victims.values()))[0]
    known = ranges[victim]
    at = known.draw(rng) if known.stops else 0
    again = rng.randint(1, 1500) if at and rng.random() < 0.5 else 0
    stops, inside = acts.play(name, victim, at, again)
    if at:
        tally.kills[victim] += len(inside)
        tally.inside[victim] += inside[0]
        tally.inside["runtime again"] += sum(inside[1:])
        tally.statuses.update(o["status"] for o in acts.last("outcome", name))
        if inside[0]:
            known.inside.append(at)
    else:
        known.stops = stops
    return list(acts.judge(name, victim if at else "runtime")), "%s %s, %s killed at %d, again at %d" % (acts.kind, name, victim, at, again)


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if os.environ.get("TH_TORTURE") and len(sys.argv) < 4:
        count, seed = 500, int(time.time()) // 86400
    if subprocess.run([KILLER, os.devnull, "0", "-", THOLE, "version"], stdout=subprocess.DEVNULL).returncode == SKIPPED:
        print("not run: this system does not let a process be traced")
        sys.exit(SKIPPED)
    if kind == "browser" and not any(os.path.exists(p) for p in ("/usr/lib/chromium/chromium", "/usr/bin/chromium")):
        print("not run: no Chromium is installed")
        sys.exit(SKIPPED)
    selftest()
    rng, begun, tally, ranges, world = random.Random(seed), time.monotonic(), Tally(), collections.defaultdict(Range), World()
    number = 0
    model = Acting(kind, "http://127.0.0.1:%d" % world.server_port)
    while sum(tally.inside.values()) < count and number < TRIALS_MAX * count:
        acts = Acts(kind, model, world)
        for _ in range(ACTS_MAX):
            number += 1
            try:
                found, where = trial(acts, "w%d" % number, rng, ranges, tally)
            except (Trouble, subprocess.TimeoutExpired, OSError) as e:
                found, where = [repr(e)], "%s w%d" % (kind, number)
            tally.wrongs(where, found, acts.said)
            if sum(tally.inside.values()) >= count:
                break
        tally.wrongs("the session", acts.leave(), acts.said)
    text = "%s: %d kills, %d between intent and outcome (%s), seed %d; outcomes %s; %d wrong; %.0f s\n" % (
        kind, sum(tally.kills.values()), sum(tally.inside.values()), ", ".join("%s %d" % row for row in sorted(tally.inside.items())), seed,
        ", ".join("%s %d" % row for row in sorted(tally.statuses.items())), tally.wrong, time.monotonic() - begun)
    print(text, end="")
    logs = pathlib.Path(os.environ.get("BUILD_DIR", "build")) / "meson-logs"
    if logs.is_dir():
        (logs / ("torture-acts-%s.txt" % kind)).write_text(text)
    sys.exit(tally.wrong > 0 or sum(tally.inside.values()) < count)


if __name__ == "__main__":
    main()
