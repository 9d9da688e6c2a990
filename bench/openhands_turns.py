#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a turn costs in thole and in openhands-sdk, on the same scripted model, interleaved. CPU of the whole process.

usage: bench/openhands_turns.py --python PROGRAM [--build DIR] [--rounds N] [--folder DIR] [one|many|long ...]

PROGRAM is a Python that has openhands-sdk (`./dev check clients` leaves one in build/clients/openhands/bin/python). The model's server is
../shared/bench/modelsrv.c. Both speak Chat Completions without streaming, write their events below DIR and condense nothing; a turn is a request, its answer
and the call of a tool that answers at once. one: 50 turns in one session; many: 64 sessions of 50 turns; long: 400 turns in one session. What counts
is the ratio of the medians of one run.

thole waits for the disk twice in a turn, and openhands-sdk never: with DIR in memory (/dev/shm) the disk's part is left out on both sides.
"""

import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELSRV = ROOT.parent / "shared" / "bench" / "modelsrv.c"
WANTED = {"one": (1, 50, 100), "many": (64, 50, 200), "long": (1, 400, 300)}  # sessions, turns, how many times less


class Model:
    def __init__(self, build):
        program = build / "modelsrv"
        if not program.exists():
            subprocess.run(["cc", "-O3", "-w", "-o", program, MODELSRV, "-lpthread"], check=True)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([program, "-p", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                sys.exit("openhands_turns: the model's server ended")
            time.sleep(0.01)

    def url(self, turns):
        return "http://127.0.0.1:%d/l0/n%d/k0/v1" % (self.port, turns)

    def end(self):
        self.process.terminate()
        self.process.wait()


def cost(command):
    """CPU of a turn, microseconds."""
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])["cpu_us_turn"]


def ours(args, model, sessions, turns):
    """A session of some milliseconds is too short to be measured once."""
    def once():
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            return cost([args.build / "bench" / "turns", "url=" + model.url(turns), "model=chat:scripted", "sessions=%d" % sessions,
                         "store=sqlite:%s/log.db" % folder])
    return statistics.median(once() for _ in range(5))


def theirs(args, model, sessions, turns):
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        return cost([args.python, ROOT / "bench" / "peer_openhands.py", model.url(turns), model.url(2), sessions, folder])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--build", type=lambda p: pathlib.Path(p).resolve(), default=ROOT / "build")
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("what", nargs="*", default=list(WANTED))
    args = parser.parse_args()
    model = Model(args.build)
    try:
        for what in args.what:
            sessions, turns, wanted = WANTED[what]
            rounds = [(ours(args, model, sessions, turns), theirs(args, model, sessions, turns)) for _ in range(args.rounds)]
            a, b = (statistics.median(side) for side in zip(*rounds))
            print(json.dumps({"measure": what, "folder": args.folder or tempfile.gettempdir(), "sessions": sessions, "turns": turns, "thole_us": round(a, 1), "openhands_us": round(b),
                              "ratio": round(b / a), "wanted": wanted, "rounds": [[round(x, 1), round(y)] for x, y in rounds]}), flush=True)
    finally:
        model.end()


if __name__ == "__main__":
    main()
