# SPDX-License-Identifier: Apache-2.0
"""scenarios.py - agents of every kind, killed at every event, then resumed: the same end, and every effect once.

Each scenario is data: an agent file, what the model says, what people do.  It is played once in peace; then once for each stop of
killer.c: SIGKILL right after a commit (its events are in the store, nothing has acted on them) and right before the next one
(everything has acted, the next events are not there), of `thole run`, `resume`, `approve` and `reject` alike; events of one
commit cannot be told apart by a kill.  The model is a server here that answers by what a request holds, so that a repeated
request has the same answer.  Effects are lines that a tool writes.

The executor lives on: then the log is as it was in peace, but for requests that were cut off, the model is sent the same requests,
at most one of them once more, and nothing is unknown.  Or it dies too: then no effect happens twice, and every outcome is true.

    scenarios.py                      a sample, as ./dev check does; TH_TORTURE=1: every point, the executor dead or alive
    scenarios.py NAME [AT] [dead]     one scenario: all its points, or one, with the executor or without; -v says more
"""
import collections
import concurrent.futures
import http.server
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from scenario_list import SCENARIOS

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build")).resolve()
THOLE = os.environ.get("THOLE", str(BUILD / "thole"))
KILLER = str(BUILD / "tests" / "torture" / "killer")
SKIPPED = 77
SECONDS = 60
ROUNDS_MAX = 40
SAMPLE = 4  # kills of a scenario with the executor alive, in the sample; and one with it dead

# Of an event, what a kill may not change.
KEPT = {
    "session_created": (), "message": ("role", "content"), "model_answered": ("items", "status"),
    "call": ("call_id", "tool", "arguments", "class", "policy", "unknown"), "approval_requested": ("call_id", "reason"),
    "approval_decided": ("call_id", "approve", "always", "message"), "intent": ("call_id", "class", "tool"),
    "outcome": ("call_id", "status", "output", "fails"), "guardrail": ("name", "stage", "tripped", "agent", "call_id", "message"),
    "delegation_started": ("call_id",), "delegation_finished": ("call_id", "output"), "handoff": ("from", "to", "call_id"), "code": ("use", "name", "agent", "answer"), "error": ("class", "message"),
    "mcp_tools": ("server", "tools"), "question": ("call_id", "arguments"), "sampled": ("call_id", "answer"), "final": ("output", "status", "instead_of"), "condensation": ("name", "summary", "fallback", "items", "left_out"),
}


# ---- the model -----------------------------------------------------------------------------------

class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.begin("", None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begin(self, trial, scenario):
        with self.lock:
            self.trial, self.scenario = trial, scenario
            self.asked, self.unanswerable = collections.Counter(), []

    def answer(self, trial, body):
        """The output items, or the status of an error."""
        with self.lock:
            if trial != self.trial:
                return 410  # of a runtime that is dead
            text = json.dumps(body, sort_keys=True).replace(self.trial, "SESSION")
            self.asked[text] += 1
            answered = {"out:" + i["call_id"] for i in body["input"] if i.get("type", "").endswith("_call_output")}
            found = [then for when, then in self.scenario.model if all(w in answered or w in text for w in when)]
            if not found:
                self.unanswerable.append(text)
                return 400
            if callable(found[-1]):
                return found[-1](self.asked[text])
            return found[-1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        items = self.server.answer(self.path.split("/")[1], body)
        if isinstance(items, int):
            return self.send(items, json.dumps({"error": {"message": "scripted"}}), "application/json")
        response = {"id": "resp_1", "object": "response", "status": "completed", "model": body["model"], "output": items,
                    "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
        if not body.get("stream"):
            return self.send(200, json.dumps(response), "application/json")
        events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
        for at, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": at, "item": {**item, "status": "in_progress"}})
            text = item.get("arguments") or (item.get("content") or [{}])[0].get("text", "")
            kind = "function_call_arguments" if "arguments" in item else "output_text"
            for i in range(0, len(text), 9):
                events.append({"type": "response.%s.delta" % kind, "item_id": item["id"], "output_index": at, "content_index": 0,
                               "delta": text[i:i + 9]})
            events.append({"type": "response.output_item.done", "output_index": at, "item": item})
        events.append({"type": "response.completed", "response": response})
        return self.send(200, "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events), "text/event-stream")

    def send(self, status, text, kind):
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError:
            pass  # whoever asked is dead


# ---- one run -------------------------------------------------------------------------------------

class Trouble(Exception):
    pass


class Run:
    """A scenario in a home of its own, killed at stop `at` (0: never)."""

    def __init__(self, model, scenario, at, dead):
        self.model, self.scenario, self.at, self.dead = model, scenario, at, dead
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="thole-scenario-"))
        self.folder.chmod(0o755)
        self.name = self.folder.name.replace("thole-", "")
        self.work = self.folder / "work"
        self.work.mkdir()
        self.work.chmod(0o777)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "OPENAI_API_KEY": "none"}
        for kind in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
            (self.folder / kind).mkdir(mode=0o700)
            self.env[kind] = str(self.folder / kind)
        self.env["THOLE_STORE"] = "sqlite:%s/log.db" % self.folder
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/%s/v1" % (model.server_port, self.name)
        (self.work / "agent.yaml").write_text(json.dumps(scenario.agent))
        model.begin(self.name, scenario)
        self.stops, self.killed, self.said, self.seen_at_kill = 0, False, [], 0

    # -- what is in the log --

    def look(self):
        self.state, self.events, self.helpers = "", [], []  # helpers: agents that are tools have logs of their own
        if not (self.folder / "log.db").exists():
            return
        db = sqlite3.connect("file:%s/log.db?mode=ro" % self.folder, uri=True)
        try:
            rows = [(session, kind, json.loads(data)) for session, kind, data in
                    db.execute("SELECT session_id, kind, data FROM events ORDER BY session_id, seq")]
            self.events = [(kind, data) for session, kind, data in rows if session == self.name]
            self.helpers = [(kind, data) for session, kind, data in rows if session != self.name]
        except sqlite3.OperationalError as e:
            if "no such table" not in str(e):
                raise
        finally:
            db.close()

        for kind, data in self.events:
            self.state = {"final": "finished", "error": "failed", "state_changed": data.get("to")}.get(kind, "running")

    def of(self, kind):
        return [data for k, data in self.events if k == kind]

    # -- what a person does next --

    def next(self):
        """Arguments of thole, or None: it is over."""
        s, said = self.scenario, [m["content"] for m in self.of("message")]
        if not self.state:
            return ["run", "-a", "agent.yaml", "-s", self.name, s.tasks[0]]
        if s.tasks[0] not in said:
            return ["run", "-s", self.name, s.tasks[0]]
        all_events = self.events + self.helpers
        decided = {d["call_id"] for k, d in all_events if k == "approval_decided"}
        waits = [d["call_id"] for k, d in all_events if k == "approval_requested" and d["call_id"] not in decided]
        if waits and s.also and s.also not in said:
            return ["run", "-s", self.name, s.also]
        if waits:
            return [*s.decide.get(waits[0], ["approve"]), self.name, waits[0]]
        if self.state not in ("finished", "failed", "limit"):
            return ["resume", self.name]
        left = [t for t in s.tasks if t not in said]
        return ["run", "-s", self.name, left[0]] if left else None

    def thole(self, *args):
        command, report = [THOLE, *args], self.folder / "report"
        traced = not self.killed
        if traced:
            command = [KILLER, str(report), str(max(self.at - self.stops, 0)), self.name if self.dead else "-", *command]
        ended = subprocess.run(command, env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=SECONDS)
        self.said.append("$ thole %s\n%s(exit status %d)" % (" ".join(args), ended.stdout.decode(errors="replace"), ended.returncode))
        if traced:
            stops, killed = map(int, report.read_text().split())
            self.stops += stops
            self.killed = bool(killed)
        return ended.returncode

    def play(self):
        for _ in range(ROUNDS_MAX):
            self.look()
            if self.killed and not self.seen_at_kill:
                self.seen_at_kill = len(self.events)
            args = self.next()
            if not args:
                return
            status = self.thole(*args)
            if status == 1 and args[0] in ("approve", "reject"):  # a helper asks, and its session has not heard of it
                status = self.thole("resume", self.name)
            if status not in (0, 1, 3, 4, 137):
                raise Trouble("thole %s ended with exit status %d" % (args[0], status))
        raise Trouble("it made no progress")

    def end(self):
        """All that is known of it."""
        self.killed = True  # what comes now is not traced
        try:
            verified = self.thole("log", "--verify") == 0
        finally:
            self.thole("computer", "-s", self.name, "end")
        effects = self.work / "effects"
        return {
            "state": self.state, "finals": [f["output"] for f in self.of("final")], "errors": [e["message"] for e in self.of("error")],
            "effects": effects.read_text().split() if effects.exists() else [], "verified": verified,
            "events": [(k, {n: d.get(n) for n in KEPT[k]}) for k, d in self.events + self.helpers if k in KEPT],
            "asked": dict(self.model.asked), "unanswerable": self.model.unanswerable, "stops": self.stops,
        }


# ---- judging -------------------------------------------------------------------------------------

def happened(effects):
    """How often, by name; a keyed effect is "ID/NAME", and its repeats under one id are one."""
    return collections.Counter([e for e in effects if "/" not in e] + [e.split("/")[1] for e in set(effects) if "/" in e])


def lines(events):
    return collections.Counter(json.dumps(e, sort_keys=True) for e in events)


def judge_always(got):
    if got["unanswerable"]:
        yield "the model was sent what makes no sense: " + got["unanswerable"][0][:400]
    if not got["verified"]:
        yield "the log does not verify"
    for name, times in happened(got["effects"]).items():
        if times > 1:
            yield "%s happened %d times" % (name, times)


def judge_alive(want, got):
    """The executor lives: nothing is lost, and nothing is unknown."""
    yield from judge_always(got)
    for what in ("state", "finals", "errors"):
        if got[what] != want[what]:
            yield "%s: %s, in peace %s" % (what, got[what], want[what])
    if happened(got["effects"]) != happened(want["effects"]):
        yield "effects: %s, in peace %s" % (got["effects"], want["effects"])
    for line in lines(got["events"]) - lines(want["events"]):
        yield "not in peace: " + line[:400]
    for line in lines(want["events"]) - lines(got["events"]):
        yield "only in peace: " + line[:400]
    for text in got["asked"].keys() - want["asked"].keys():
        yield "another request than in peace: " + text[:400]
    more = sum(got["asked"].values()) - sum(want["asked"].values())
    if more > 1:
        yield "the model was asked %d times more than in peace" % more


def judge_dead(want, got):
    """The executor died too: every outcome is true, and said as it is."""
    yield from judge_always(got)
    times = happened(got["effects"])
    calls = {d["call_id"]: d["arguments"].get("what") for k, d in got["events"] if k == "call"}
    statuses = {}
    for kind, d in got["events"]:
        if kind != "outcome":
            continue
        if d["call_id"] in statuses:
            yield "%s has two outcomes" % d["call_id"]
        statuses[d["call_id"]] = d["status"]
        name = calls.get(d["call_id"])
        if d["status"] == "done" and name in want["effects"] and times[name] != 1:
            yield "%s is said to be done, and was not" % name
        if d["status"] in ("not_started", "refused") and times[name]:
            yield "%s is said to be %s, and happened" % (name, d["status"])
        if d["status"] == "unknown" and "may or may not have happened" not in json.dumps(d["output"]):
            yield "the model is not told that %s is unknown" % name
    for call in calls.keys() - statuses.keys():
        yield "%s has no outcome" % call
    if not got["state"] or got["state"] in ("running", "waiting"):
        yield "it is still %s" % got["state"]
    if not {"unknown", "not_started"} & set(statuses.values()) and got["finals"] != want["finals"]:
        yield "finals: %s, in peace %s" % (got["finals"], want["finals"])


def selftest():
    """The judges find what is wrong."""
    call = ("call", {"call_id": "c_w1", "arguments": {"what": "w1"}})
    out = ("outcome", {"call_id": "c_w1", "status": "done", "output": "did-w1"})
    good = {"state": "finished", "finals": ["over"], "errors": [], "effects": ["w1"], "verified": True, "events": [call, out],
            "asked": {"a": 1, "b": 1}, "unanswerable": [], "stops": 9}
    unknown = ("outcome", {"call_id": "c_w1", "status": "unknown", "output": "It may or may not have happened."})
    both = [{"effects": ["w1", "w1"]}, {"verified": False}, {"unanswerable": ["?"]}, {"effects": []}, {"events": [call, out, out]},
            {"finals": []}, {"state": "running"}]
    alive = [{"asked": {"a": 2, "b": 2}}, {"asked": {"a": 1, "c": 1}}, {"events": [call, unknown]}, {"events": [call]}, {"errors": ["no"]}]
    dead = [{"events": [call, (out[0], {**out[1], "status": "not_started"})]}, {"events": [call, (out[0], {**out[1], "status": "unknown"})]},
            {"events": [call]}]
    assert not list(judge_alive(good, good)) and not list(judge_dead(good, good))
    assert not list(judge_alive(good, {**good, "asked": {"a": 2, "b": 1}}))
    assert not list(judge_dead(good, {**good, "events": [call, unknown], "effects": []}))
    for change in both + alive:
        assert list(judge_alive(good, {**good, **change})), change
    for change in both + dead:
        assert list(judge_dead(good, {**good, **change})), change


# ---- many runs -----------------------------------------------------------------------------------

model = None


def one(number, at, dead, want):
    """What it came to, and what was wrong."""
    global model
    model = model or Model()
    run = Run(model, SCENARIOS[number], at, dead)
    wrong, got = [], None
    try:
        run.play()
        got = run.end()
        if want:
            wrong = list((judge_dead if dead else judge_alive)(want, got))
        else:
            wrong = list(judge_always(got)) + list(SCENARIOS[number].check(got))
    except (Trouble, subprocess.TimeoutExpired, OSError, sqlite3.Error) as e:
        wrong = [repr(e)]
    if wrong and os.environ.get("TH_E2E_KEEP"):
        wrong.append("kept: %s" % run.folder)
    else:
        shutil.rmtree(run.folder, ignore_errors=True)
    unknown = sum(k == "outcome" and d["status"] == "unknown" for k, d in got["events"]) if got else 0
    return {"got": got, "wrong": wrong, "said": "\n".join(run.said), "seen": run.seen_at_kill, "unknown": unknown}


def points(stops, number, every):
    """(at, dead): all, or some that another scenario has elsewhere."""
    if every:
        return [(at, dead) for dead in (False, True) for at in range(1, stops + 1)]
    spread = [1 + (2 * i + number % 2) * stops // (2 * SAMPLE) for i in range(SAMPLE)]
    return [(at, False) for at in spread if at <= stops] + [(1 + (7 * number + 3) % stops, True)]


def main():
    words = [w for w in sys.argv[1:] if w != "-v"]
    verbose, only = "-v" in sys.argv, words[0] if words else None
    every = bool(only or os.environ.get("TH_TORTURE"))
    chosen = [i for i, s in enumerate(SCENARIOS) if only in (None, s.name)]
    begun, failed, kills, unknown, asked = time.monotonic(), 0, collections.Counter(), 0, {}
    selftest()
    if not chosen:
        sys.exit("there is no scenario %s; there are %s" % (only, " ".join(s.name for s in SCENARIOS)))
    if subprocess.run([KILLER, os.devnull, "0", "-", THOLE, "version"], stdout=subprocess.DEVNULL).returncode == SKIPPED:
        print("not run: this system does not let a process be traced")
        sys.exit(SKIPPED)
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("JOBS", 2))) as pool:
        peace = {i: pool.submit(one, i, 0, False, None) for i in chosen}
        for i in chosen:
            p = peace[i].result()
            peace[i] = p
            if p["wrong"]:
                failed += 1
                print("FAILED  %s in peace: %s\n%s" % (SCENARIOS[i].name, "; ".join(p["wrong"]), p["said"]))
                continue
            if verbose:
                print("%s: %d events, %d stops, %s %s, effects %s" % (SCENARIOS[i].name, len(p["got"]["events"]), p["got"]["stops"],
                                                                    p["got"]["state"], p["got"]["finals"], p["got"]["effects"]))
            for at, dead in points(p["got"]["stops"], i, every):
                if len(words) < 2 or (int(words[1]) == at and dead == ("dead" in words)):
                    asked[pool.submit(one, i, at, dead, p["got"])] = (i, at, dead)
        for done in concurrent.futures.as_completed(asked):
            (i, at, dead), r = asked[done], done.result()
            kills["the executor too" if dead else "the runtime"] += 1
            unknown += r["unknown"]
            if verbose:
                print("%s %d%s: killed with %d events" % (SCENARIOS[i].name, at, " dead" if dead else "", r["seen"]))
            if r["wrong"]:
                failed += 1
                print("FAILED  scenarios.py %s %d%s (killed with %d events)\n        %s" % (
                    SCENARIOS[i].name, at, " dead" if dead else "", r["seen"], "\n        ".join(r["wrong"])))
                if verbose:
                    print(r["said"])
    text = "%d scenarios, killed at %s; %d failed; %d unknown; %.0f s\n" % (
        len(chosen), ", ".join("%d points (%s)" % (n, who) for who, n in sorted(kills.items())) or "no point", failed, unknown,
        time.monotonic() - begun)
    print(text, end="")
    if not only and (BUILD / "meson-logs").is_dir():
        (BUILD / "meson-logs" / "torture-scenarios.txt").write_text(text)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
