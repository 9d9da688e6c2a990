# SPDX-License-Identifier: Apache-2.0
"""A session's page, open for a long time: what it grows by, and how soon it shows what changes on the desktop.

bench/page_live.py [MINUTES] [CHANGES]   (BUILD_DIR: build; CHANGES of the desktop a second: 3)

A real server, a real desktop, a real Chromium. A program on the desktop paints the time of day as black and white cells; the page reads them
from its canvas when a frame is drawn. Every 8 s a person says something, and the agent runs a command, or looks at the screen. Memory is taken after a
forced collection: the heap of the scripts, and what the renderers have for themselves. Growth is the median of the last tenth of the samples less that of the
first behind the warm-up. Samples go to standard error, and one JSON line to standard output; the exit code is 1 where growth is above 20 MB.
"""

import json
import os
import pathlib
import statistics
import sys
import time

SOURCE = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(SOURCE / "tests" / "page"), str(SOURCE / "tests" / "e2e" / "cli")]
os.environ.setdefault("SOURCE_DIR", str(SOURCE))
import chrome  # noqa: E402
import house_page  # noqa: E402
import serving  # noqa: E402

MINUTES = float(sys.argv[1]) if len(sys.argv) > 1 else 30
CHANGES = float(sys.argv[2]) if len(sys.argv) > 2 else 3
SAMPLES = max(12, int(2 * MINUTES))
ASKS_S = 8  # a session that rests for 10 s is given back, and its desktop ends
GROWTH_MAX_MB = 20
CELL, BITS, CHECK = 16, 16, 8

PAINTER = pathlib.Path(serving.__file__).with_name("painter.py").read_text().split("display = Display()")[0] + """
import random
import time
chance, display, changes = random.Random(1), Display(), float(sys.argv[1])
display.paint(0xffffff)
while True:
    y = 40 + chance.randrange(700)
    display.paint(chance.randrange(1 << 24), chance.randrange(1000), y, 40 + chance.randrange(240), 18)
    now = int(time.time() * 1000) & 0xffff
    value = now << 8 | (now ^ now >> 8) & 0xff
    for bit in range(24):
        display.send(56, struct.pack("<III", display.gc, 4, 0xffffff if value >> bit & 1 else 0))
        display.send(70, struct.pack("<IIhhHH", display.root, display.gc, 16 * bit, 0, 16, 16))
    display.paint(0x808080, 0, 20, 8, 8)  # and its answer: all of it is drawn
    time.sleep(chance.uniform(0.5, 1.5) / changes)
"""

WATCH = """(() => {
    const canvas = document.querySelector('.live-box canvas');
    const probe = new OffscreenCanvas(%d, %d).getContext('2d', {willReadFrequently: true});
    const seen = window.seen = {counts: new Uint32Array(4096), last: -1, bad: 0};
    new MutationObserver(() => {
        const now = Date.now();
        probe.drawImage(canvas, 0, 0);
        const pixels = probe.getImageData(0, 0, %d, %d).data;
        let value = 0;
        for (let bit = 0; bit < 24; bit++) if (pixels[4 * (%d * 8 + 16 * bit + 8)] > 127) value |= 1 << bit;
        const at = value >> 8;
        if (((at ^ at >> 8) & 0xff) !== (value & 0xff)) { seen.bad++; return; }  // half of it was drawn
        if (at === seen.last) return;
        seen.last = at;
        seen.counts[Math.min(4095, (now - at) & 0xffff)]++;
    }).observe(canvas, {attributeFilter: ['data-frames']});
})()""" % (CELL * 24, CELL, CELL * 24, CELL, CELL * 24)


def private_mb(pid):
    total = 0
    for line in pathlib.Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
        if line.startswith(("Private_Clean:", "Private_Dirty:")):
            total += int(line.split()[1])
    return total / 1024


class Bench(house_page.Paged):
    def runTest(self):
        pass

    def sample(self, tab):
        for _ in range(2):
            tab.call("HeapProfiler.collectGarbage", seconds=120)
        heap = tab.call("Runtime.getHeapUsage")
        dom = tab.call("Memory.getDOMCounters")
        pids = [p["id"] for p in self.browser.call("SystemInfo.getProcessInfo")["processInfo"] if p["type"] == "renderer"]
        return {"heap_mb": heap["usedSize"] / 1e6, "private_mb": sum(map(private_mb, pids)), "nodes": dom["nodes"], "listeners": dom["jsEventListeners"],
                "changes": tab.js("window.seen.counts.reduce((n, c) => n + c)")}

    def measure(self, tab, begin):
        end, asked, samples, warm = begin + 60 * MINUTES, begin, [], max(20, 6 * MINUTES)
        for number in range(SAMPLES):
            due = begin + warm + number * (end - begin - warm) / (SAMPLES - 1)
            while time.monotonic() < due:
                if time.monotonic() >= asked + ASKS_S and due - time.monotonic() > 1:
                    asked = time.monotonic()
                    self.good_call("POST", "/api/sessions/%s/messages" % self.name, {"text": "What is there now?"}, status=202)
                # What the browser tells is read as it comes, or its pipe fills.
                self.browser.pump(min(due, asked + ASKS_S, time.monotonic() + 1))
            samples.append(self.sample(tab))
            print("%5.1f min  %s" % ((time.monotonic() - begin) / 60, "  ".join("%s %.1f" % p for p in samples[-1].items())), file=sys.stderr, flush=True)
        return samples

    def bench(self):
        self.setUpClass()
        self.setUp()
        try:
            self.agent("desk", "computer: {kind: desktop, start: [{run: python3 b.py %s, window: false}]}\ntools: [shell]\nlimits: {turns: 100000}\nstuck: {then: tell}\n" % CHANGES)
            place = self.work / "live"
            place.mkdir(mode=0o700)
            (place / "b.py").write_text(PAINTER)
            turns = []
            for n in range(2 + int(60 * MINUTES / ASKS_S)):
                turns += [[house_page.shell("date; seq %d" % n) if n % 4 else house_page.computer({"type": "screenshot"})], house_page.say("Time %d." % n)]
            self.serve(*turns)
            self.begin()
            self.name = self.begin_session("Look.", agent="desk", id="live")
            self.wait_event(self.name, "final")
            tab = self.open("#/s/" + self.name, reduced=False)
            tab.call("Network.disable")  # for a debugger the browser would hold what it loads
            tab.wait("Number(document.querySelector('.live-box canvas')?.dataset.frames) > 3")
            tab.js(WATCH)
            tab.wait("window.seen.last >= 0")
            tab.js("window.seen.counts.fill(0)")  # the first may have stood there for long
            samples = self.measure(tab, time.monotonic())
            counts = tab.js("[...window.seen.counts]")
            frames, drawn, bad = sum(counts), tab.js("Number(document.querySelector('.live-box canvas').dataset.frames)"), tab.js("window.seen.bad")
            events = self.good_call("GET", "/api/sessions/" + self.name)["head_seq"]
        finally:
            self.tearDown()
            self.tearDownClass()
        few = max(3, len(samples) // 10)

        def grown(what):
            return round(statistics.median(s[what] for s in samples[-few:]) - statistics.median(s[what] for s in samples[:few]), 2)

        def reached(part):
            at, sofar = 0, 0
            while sofar + counts[at] < part * frames:
                sofar += counts[at]
                at += 1
            return at
        told = {"bench": "page live", "minutes": MINUTES, "changes_seen": frames, "half_drawn": bad, "frames": drawn, "events": events,
                "latency_ms": {"median": reached(0.5), "p95": reached(0.95), "p99": reached(0.99)},
                "heap_grown_mb": grown("heap_mb"), "private_grown_mb": grown("private_mb"), "nodes_grown": grown("nodes"), "listeners_grown": grown("listeners"),
                "heap_mb": round(samples[-1]["heap_mb"], 1), "private_mb": round(samples[-1]["private_mb"], 1)}
        print(json.dumps(told))
        if max(told["heap_grown_mb"], told["private_grown_mb"]) > GROWTH_MAX_MB:
            sys.exit(1)


if not chrome.PROGRAM or not house_page.house.SHARED.is_dir():
    print("not run: it needs chromium and ../shared")
    sys.exit(77)
Bench().bench()
