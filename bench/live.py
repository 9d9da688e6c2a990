# SPDX-License-Identifier: Apache-2.0
"""What a live view costs: a desktop of 1280x800 that changes 15 times a second, watched by no one, one and five.

bench/live.py [SECONDS]    (BUILD_DIR: build). Per kind of change: the processor time of executor, desktop and server in percent
of one core, on standard error, and one JSON line with what the first viewer and each further one add.
"""

import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "e2e" / "cli"))
os.environ.setdefault("SOURCE_DIR", str(pathlib.Path(__file__).parents[1]))
import serving  # noqa: E402
import websocket  # noqa: E402

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 4
PAINTER = (pathlib.Path(serving.__file__).with_name("painter.py")).read_text()
BUSY = PAINTER.split("display = Display()")[0] + """
import random
import time
chance, display, kind = random.Random(1), Display(), sys.argv[1]
display.paint(0xffffff)
def line(y):  # of a page: words in black, here and there something coloured
    display.paint(0xffffff, 0, y, 1280, 18)
    x = 40
    while x < 1240 and chance.random() < 0.97:
        if chance.random() < 0.15:
            x += 8
            continue
        for _ in range(2):
            display.paint(0x202020, x + chance.randrange(5), y + 2 + chance.randrange(8), 2 + chance.randrange(3), 1 + chance.randrange(8))
        x += 8
    if chance.random() < 0.1:
        display.paint(chance.randrange(1 << 24), 60 + chance.randrange(900), y, 40 + chance.randrange(200), 18)
for y in range(0, 800, 18):
    line(y)
due = time.monotonic()
while True:
    if kind == "all":      # the whole screen glides, as a page that is scrolled
        display.send(62, struct.pack("<IIIhhhhHH", display.root, display.root, display.gc, 0, 18, 0, 0, 1280, 782))
        line(782)
    elif kind == "window": # a window of a quarter of it
        display.send(62, struct.pack("<IIIhhhhHH", display.root, display.root, display.gc, 300, 218, 300, 200, 640, 382))
        display.paint(chance.randrange(1 << 24), 340, 582, 200 + chance.randrange(300), 9)
    else:                  # a word is typed
        display.paint(chance.randrange(1 << 24), 400 + chance.randrange(200), 300, 60, 16)
    due += 1 / 15
    time.sleep(max(0, due - time.monotonic()))
"""


class Bench(serving.Served):
    def runTest(self):
        pass

    def processes(self):
        """Those of this bench: they have our folder in their environment, or are on its desktop."""
        found, parents = set(), {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()
                parents[pid] = words[1]
                if str(self.folder).encode() in pathlib.Path("/proc", pid, "environ").read_bytes():
                    found.add(pid)
            except OSError:
                continue
        more = True
        while more:
            more = {p for p, parent in parents.items() if parent in found} - found
            found |= more
        return found - {str(os.getpid())}

    def spent(self):
        total = {}
        for pid in self.processes():
            try:
                name, rest = pathlib.Path("/proc", pid, "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                words = rest.split()
                line = pathlib.Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            kind = ("painter" if "python3" in line else "display" if "--role display" in line else
                    "server" if " serve " in line else name)
            total[kind] = total.get(kind, 0) + (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def measure(self, viewers):
        stop, counts, threads = threading.Event(), [0] * viewers, []

        def read(i):
            viewer = websocket.Socket(self.port, "/api/sessions/%s/screen" % self.name, serving.TOKENS["alice"])
            while not stop.is_set():
                counts[i] += isinstance(viewer.receive(), bytes)
            viewer.close()
        for i in range(viewers):
            threads.append(threading.Thread(target=read, args=(i,)))
            threads[-1].start()
        time.sleep(0.5)
        before, begin, frames = self.spent(), time.monotonic(), sum(counts)
        time.sleep(SECONDS)
        after, took = self.spent(), time.monotonic() - begin
        frames = (sum(counts) - frames) / took / max(viewers, 1)
        stop.set()
        for thread in threads:
            thread.join()
        return {k: 100 * (v - before.get(k, 0)) / took for k, v in after.items() if k != "painter"}, frames

    def bench(self):
        self.setUp()
        (self.folder / "agents").mkdir()
        (self.folder / "agents" / "desk.yaml").write_text("name: desk\nmodel: gpt-5.4\ncomputer: {kind: desktop}\n")
        self.serve_http("--agents", self.folder / "agents")
        self.name = self.good_call("POST", "/api/sessions", {"agent": "desk"}, status=201)["session_id"]
        self.good("computer", "-s", self.name, "shell", "cat > $HOME/b.py <<'END'\n%sEND" % BUSY)
        added = {"bench": "live", "seconds": SECONDS}
        try:
            for kind in ("word", "window", "all"):
                busy = self.start("computer", "-s", self.name, "shell", "exec /usr/bin/python3 $HOME/b.py " + kind)
                time.sleep(1)
                rows = [(n, *self.measure(n)) for n in (0, 1, 5)]
                busy.terminate()
                busy.communicate()
                costs = [sum(r[1].values()) for r in rows]
                for n, row, frames in rows:
                    print("%-7s %d viewers: %5.2f %%  %4.1f frames/s  %s" % (kind, n, sum(row.values()), frames,
                          "  ".join("%s %.2f" % p for p in sorted(row.items()) if p[1] > 0.05)),
                          file=sys.stderr, flush=True)
                added[kind] = {"first_percent": round(costs[1] - costs[0], 2), "further_percent": round((costs[2] - costs[1]) / 4, 2)}
            print(json.dumps(added))
        finally:
            self.tearDown()


Bench().bench()
