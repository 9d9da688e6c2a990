# SPDX-License-Identifier: Apache-2.0
"""Durable turns on PostgreSQL (fsync on, synchronous_commit=on) against libpq alone with the same bytes in the same groups, in
turns on one server. Prints one JSON line.

    fleet.py FOLDER-OF-THE-BENCHMARKS [ROUNDS]
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "postgres"))

import server


def run(folder, name, url, sessions, turns):
    out = subprocess.run([os.path.join(folder, name), f"store={url}", f"sessions={sessions}", f"turns={turns}"], check=True,
                         stdout=subprocess.PIPE)
    return json.loads(out.stdout)


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    found = {"append": [], "raw_postgres": []}
    try:
        s = server.Server()
    except server.Missing as e:
        print(f"not run: {e}")
        return server.SKIP
    with s:
        for _ in range(rounds):
            for name, figures in found.items():
                s.sql("DROP SCHEMA IF EXISTS thole CASCADE")
                figures.append(run(folder, name, s.url(), 64, 100))
    ours, raw = (statistics.median(f["turn_all_wall_us"] for f in figures) for figures in found.values())
    print(json.dumps({"bench": "fleet", "sessions": 64, "turns_per_s": round(64e6 / ours), "raw_turns_per_s": round(64e6 / raw),
                      "share_of_raw": round(raw / ours, 2),
                      "turn_cpu_us": statistics.median(f["turn_cpu_us"] for f in found["append"]),
                      "fdatasync_us": statistics.median(f["fdatasync_us"] for f in found["append"])}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
