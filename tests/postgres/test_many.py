# SPDX-License-Identifier: Apache-2.0
"""Many sessions at several nodes that are killed, frozen, drained and added at random, with clocks that are minutes off: a client follows
every session and sees each event once, each effect is once in a ledger outside, and no session is without an owner for long.

    test_many.py [nodes=3] [sessions=60] [commands=6] [desktops=2] [faults=5] [seconds=3] [seed=1]

`seconds` is what an answer of the model takes on average. Prints one JSON line. Each node is on a machine of its own: folders, a gate
(thole exec --listen) and executors that outlive it. A node that ends without being told to is started anew, as a service manager does.
"""

import collections
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from many_client import Client, Session
from nodes import Gate, Node, WithMachines, make_certificates

SIZES = {"nodes": 3, "sessions": 60, "commands": 6, "desktops": 2, "faults": 5, "seconds": 3, "seed": 1}
GAP_S = 10  # without an owner
LEASE_S = 9  # TH_STORE_LEASE_MS
OFF_S = (-300, 240, 0, 420, -180)  # the clocks of the machines, in turns
AGENTS = {"think": "tools: [notes]", "command": "tools: [shell]",
          "desktop": "tools: [shell]\ncomputer: {kind: desktop, width: 640, height: 480}"}
FAULTS = ("kill", "freeze", "drain", "add", "leave")
OWNERLESS = """SELECT s.session_id FROM thole.sessions s LEFT JOIN thole.owners o USING (owner)
 WHERE s.agent_state = 'running' AND (o.owner IS NULL OR o.expires < clock_timestamp())"""


class Asking:
    """A psql that answers one query after the other."""

    def __init__(self, postgres):
        self.process = subprocess.Popen([os.path.join(postgres.bin, "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", postgres.url()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def rows(self, query):
        self.process.stdin.write(query + ";\n\\echo .\n")
        self.process.stdin.flush()
        found = []
        while (line := self.process.stdout.readline()) != ".\n":
            if not line:
                raise RuntimeError("psql has ended")
            found.append(line.rstrip("\n"))
        return found

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Owners(threading.Thread):
    """Looks all the time which running sessions have no owner, and what dead nodes have yet."""

    def __init__(self, postgres):
        super().__init__(daemon=True)
        self.asking, self.over = Asking(postgres), False
        self.since, self.longest, self.long = {}, 0.0, []
        self.dead, self.taken = {}, []  # process of a dead node: since when; seconds until nothing was its any more
        self.start()

    def run(self):
        while not self.over:
            now = time.monotonic()
            names = set(self.asking.rows(OWNERLESS))
            for name in [name for name in self.since if name not in names]:
                self.end(name, now)
            for name in names:
                self.since.setdefault(name, now)
            for process, since in list(self.dead.items()):
                if self.asking.rows("SELECT count(*) FROM thole.sessions JOIN thole.owners USING (owner) WHERE process = %d" % process) == ["0"]:
                    self.taken.append(now - since)
                    del self.dead[process]
            time.sleep(0.2)
        for name in list(self.since):
            self.end(name, time.monotonic())

    def end(self, name, now):
        gap = now - self.since.pop(name)
        self.longest = max(self.longest, gap)
        if gap > GAP_S:
            self.long.append((name, round(gap, 1)))

    def stop(self):
        self.over = True
        self.join()
        self.asking.close()


class Manager(threading.Thread):
    """A service manager: starts a node anew that ended by itself."""

    def __init__(self, test):
        super().__init__(daemon=True)
        self.test, self.over = test, False
        self.start()

    def run(self):
        while not self.over:
            for machine in list(self.test.machines):
                if not machine.fault and not machine.gone and machine.node.process.poll() is not None:
                    machine.suffer("restart", None)
            time.sleep(0.2)

    def stop(self):
        self.over = True
        self.join()


class Machine:
    """Where a node runs."""

    def __init__(self, test, name, off_s):
        self.test, self.name, self.off_s = test, name, off_s
        self.env = {"LD_PRELOAD": test.shim, "SHIFTED_CLOCK_S": str(off_s)} if off_s else {}
        for kind in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            path = test.folder / name / kind.lower()
            path.mkdir(parents=True, mode=0o700)
            self.env[kind] = str(path)
        self.gate = Gate(test, name, self.env)
        test.gates.append(self.gate)
        self.fault = None  # what is being done to it; such a node is not asked anything
        self.gone = False
        self.begin()

    def begin(self):
        at = self.test.certificates
        self.node = Node(self.test, self.name, "--drain-s", "10", env=self.env, executors=self.gate.place, cert=str(at / "node.pem"),
                         key=str(at / "node.key"), ca=str(at / "ca.pem"))
        self.test.nodes.append(self.node)

    def end_with(self, how):
        """Its exit code; the balancer knows."""
        code = self.node.end(how)
        self.test.client.down(self.node.port)
        self.test.nodes.remove(self.node)
        if code < 0 and code != -signal.SIGKILL:
            self.test.crashes.append((self.name, code, self.journal()))
        return code

    def sound(self):
        return not self.fault and not self.gone and self.node.process.poll() is None

    # ---- what is done to it, each in a thread of its own ----

    def kill(self, chance):
        self.test.owners.dead[self.node.process.pid] = time.monotonic()
        self.end_with(signal.SIGKILL)
        time.sleep(chance.uniform(0, 4))
        self.begin()

    def freeze(self, chance):
        """For less than a lease, or for longer: then others have its sessions, and it ends. The first one is such."""
        process = self.node.process
        self.test.froze += 1
        long = self.test.froze == 1 or chance.random() < 0.5
        process.send_signal(signal.SIGSTOP)
        self.test.client.down(self.node.port)
        time.sleep(chance.uniform(LEASE_S + 2, LEASE_S + 7) if long else chance.uniform(1, LEASE_S - 3))
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(house.SECONDS / 2 if long else 3)
        except subprocess.TimeoutExpired:
            if long:
                self.test.client.wrong.append("%s goes on though its lease was over: %s" % (self.name, self.journal()))
            return
        self.end_with(signal.SIGKILL)
        self.test.ended_itself += 1
        self.begin()

    def restart(self, chance):
        self.end_with(signal.SIGKILL)
        self.test.ended_itself += 1
        self.test.reasons.append((self.name, self.journal()[-200:]))
        self.begin()

    def drain(self, chance):
        self.told_to_end()
        time.sleep(chance.uniform(0, 2))
        self.begin()

    def leave(self, chance):
        self.gone = True
        self.told_to_end()

    def told_to_end(self):
        code = self.end_with(signal.SIGTERM)
        if code:
            self.test.client.wrong.append("%s was told to end, and did with %d: %s" % (self.name, code, self.journal()))

    def journal(self):
        return (self.test.folder / self.name / "journal").read_text()[-3000:]

    def suffer(self, kind, chance):
        def body():
            try:
                getattr(self, kind)(chance)
            except Exception as e:  # a thread's error is the test's
                self.test.client.wrong.append("%s of %s: %r" % (kind, self.name, e))
            self.fault = None

        self.fault = kind
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        self.test.under_way.append(thread)


class Many(WithMachines):
    sizes = SIZES

    def setUp(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        super().setUp()
        self.leaves_executors = False  # looked for below
        self.shim = str(house.BUILD / "tests" / "postgres" / "shifted_clock.so")
        for name, text in AGENTS.items():
            (self.agents / (name + ".yaml")).write_text("name: %s\nmodel: gpt-5.4\nlimits: {turns: 100000}\n%s\n" % (name, text))
        self.machines, self.under_way, self.crashes, self.ended_itself, self.froze = [], [], [], 0, 0
        self.reasons, self.model, self.manager, self.client, self.owners = [], None, None, None, None

    def with_certificates(self):
        """Valid since an hour, for the machines whose clocks are behind."""
        if not shutil.which("openssl"):
            self.skipTest("openssl makes the certificates, and is not installed")
        self.certificates = self.folder / "certificates"
        make_certificates(self.certificates, {**os.environ, "LD_PRELOAD": str(house.BUILD / "tests" / "postgres" / "shifted_clock.so"),
                                              "SHIFTED_CLOCK_S": "-3600"})

    def tearDown(self):
        if self.manager:
            self.manager.stop()
        for thread in self.under_way:
            thread.join(house.SECONDS)  # it may begin a node
        for thing in (self.client, self.owners):
            if thing:
                thing.stop()
        try:
            super().tearDown()
        finally:
            if self.model:
                self.model.kill()
                self.model.wait()
            for pid in self.executors():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it was about to end

    def thole(self, *args, **more):
        return super().thole(*args, **{"timeout": 600, **more})  # to verify all that was written takes a while

    def executors(self):
        """Processes of this test that run commands or screens yet."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if ("=%s" % self.folder).encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def serve_model(self):
        seconds = self.sizes["seconds"]
        self.model = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("many_model.py")), str(self.folder), str(seconds / 2),
                                       str(seconds * 3 / 2)])
        self.wait_for((self.folder / "port").exists)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%s/v1" % (self.folder / "port").read_text()

    def ports(self):
        return [m.node.port for m in self.machines if m.sound()]

    def add(self):
        number = len(self.machines)
        self.machines.append(Machine(self, "n%d" % number, OFF_S[number % len(OFF_S)]))

    # ---- the run ----

    def test_many(self):
        self.serve_model()
        for _ in range(self.sizes["nodes"]):
            self.add()
        if self.sizes["desktops"] and not (shutil.which("Xvfb") and shutil.which("bwrap") and shutil.which("xterm")):
            self.skipTest("Xvfb, xterm and bwrap are not installed")
        desktops, commands = self.sizes["desktops"], self.sizes["commands"]
        kinds = ["desktop"] * desktops + ["command"] * commands + ["think"] * (self.sizes["sessions"] - desktops - commands)
        chance = random.Random(self.sizes["seed"])
        chance.shuffle(kinds)
        sessions = [Session("s%04d" % i, kind, "Go: %s." % kind) for i, kind in enumerate(kinds)]
        began = time.monotonic()
        self.owners = Owners(self.postgres)
        self.client = Client(self.ports, sessions, self.sizes["seed"])
        self.manager = Manager(self)
        self.wait_for(lambda: all(s.ids for s in sessions) or self.client.wrong, self.patience())
        all_there = time.monotonic()
        done = self.do_faults(chance)
        memory = self.memory()
        (self.folder / "over").write_text("")
        end = time.monotonic() + self.patience()
        while not all(s.over for s in sessions) and not self.client.wrong and time.monotonic() < end:
            time.sleep(0.2)
        took = time.monotonic() - all_there
        self.owners.stop()
        self.client.stop()
        owners, self.owners = self.owners, None
        self.check(sessions, owners, done)
        figures = {"bench": "many", **self.sizes, **done, "ended_themselves": self.ended_itself, "events": sum(len(s.ids) for s in sessions),
                   "effects": self.effects, "unknown": self.unknown, "longest_without_owner_s": round(owners.longest, 1),
                   "after_death_until_taken_s": round(max(owners.taken, default=0), 1), "longest_silence_s": round(max(s.stalled for s in sessions), 1),
                   "refused": self.client.refused, "begin_s": round(all_there - began, 1), "run_s": round(took, 1), "memory_mb": memory}
        print(json.dumps(figures), *self.reasons, sep="\n", flush=True)

    def patience(self):
        """Seconds for all sessions to do one thing."""
        return 60 + self.sizes["sessions"] / 10 + 10 * self.sizes["seconds"]

    def do_faults(self, chance):
        done, deck = collections.Counter(), []
        for _ in range(self.sizes["faults"]):
            deck = deck or chance.sample(FAULTS, len(FAULTS))
            kind = deck.pop()
            time.sleep(chance.uniform(0.5, 4))
            if self.client.wrong or self.crashes:
                break
            sound = [m for m in self.machines if m.sound()]
            if kind == "leave" and len([m for m in self.machines if not m.gone]) <= self.sizes["nodes"]:
                kind = "add"
            if kind == "add" and len([m for m in self.machines if not m.gone]) > 2 * self.sizes["nodes"]:
                kind = "kill"
            if kind == "add":
                self.add()
            else:
                while len(sound) < 2:
                    time.sleep(0.1)
                    sound = [m for m in self.machines if m.sound()]
                chance.choice(sound).suffer(kind, chance)
            done[kind] += 1
        for thread in self.under_way:
            thread.join()
        return dict(done)

    def memory(self):
        """Resident, in MB, shared pages by their share: of nodes, of executors, and of what these run, which is desktops for the most part."""
        parents, found = {}, collections.Counter()
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
        ours = {pid: "nodes" for pid in (node.process.pid for node in self.nodes)}
        for pid in self.executors():
            try:
                if pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")[1:3] == [b"exec", b"--session"]:
                    ours[pid] = "executors"
            except OSError:
                continue
        for pid in parents:
            above = pid
            while above not in ours and above > 1:
                above = parents.get(above, 0)
            if above not in ours or (above != pid and ours[above] == "nodes"):
                continue
            try:
                rollup = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
                found[ours[pid] if pid == above else "programs"] += int(rollup.split("Pss:")[1].split()[0]) / 1024
            except (OSError, IndexError):
                continue
        return {kind: round(mb) for kind, mb in found.items()}

    # ---- what must hold ----

    def check(self, sessions, owners, done):
        self.assertEqual(self.client.wrong, [])
        self.assertEqual(self.crashes, [])
        waiting = [(s.name, s.agent, len(s.ids), self.state(s.name)) for s in sessions if not s.over]
        self.assertEqual(waiting[:20], [], "%d sessions did not come to their end" % len(waiting))
        self.assertEqual(owners.long, [], "sessions without an owner")
        there = collections.defaultdict(list)
        asking = Asking(self.postgres)
        for row in asking.rows("SELECT session_id, seq, event_id FROM thole.sessions s JOIN thole.events e ON e.session_number = s.number"
                               " ORDER BY session_id, seq"):
            name, number, event = row.split("|")
            self.assertEqual(int(number), len(there[name]) + 1)
            there[name].append(event)
        for s in sessions:
            self.assertEqual(s.ids, there[s.name][:len(s.ids)], s.name)
        # Each call has one outcome, and what was done is in the ledger once.
        calls = collections.defaultdict(dict)
        for row in asking.rows("SELECT session_id, call_id, event_data->>'status' FROM thole.sessions s JOIN thole.events e"
                               " ON e.session_number = s.number WHERE event_class = 'outcome' AND agent_type <> 'think'"):
            name, call, status = row.split("|")
            self.assertNotIn(call, calls[name], name)
            calls[name][call] = status
        asking.close()
        self.effects = self.unknown = 0
        for s in sessions:
            if s.agent != "think":
                self.check_ledger(s, calls[s.name])

    def check_ledger(self, s, calls):
        file = self.work / s.name / ("made" if s.agent == "command" else "typed")
        written = file.read_text().split() if file.exists() else []
        self.effects += len(written)
        unknown = {call for call, status in calls.items() if status == "unknown"}
        self.unknown += len(unknown)
        self.assertEqual(len(written), len(set(written)), (s.name, written))
        if not unknown:
            first = 0 if s.agent == "command" else 1  # the desktop's first call opens its terminal
            self.assertEqual(written, [str(n) for n in range(first, len(calls))], (s.name, calls))


def main():
    words = [word for word in sys.argv[1:] if "=" in word]
    for word in words:
        name, _, value = word.partition("=")
        if name not in SIZES:
            sys.exit("test_many.py: no size '%s'; there are %s" % (name, ", ".join(SIZES)))
        SIZES[name] = int(value)
        sys.argv.remove(word)
    server.run(house.main)


if __name__ == "__main__":
    main()
