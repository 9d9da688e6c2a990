# SPDX-License-Identifier: Apache-2.0
"""Durable turns on PostgreSQL (fsync on, synchronous_commit=on) against libpq alone with the same bytes in the same groups, in
turns on one server. Prints one JSON line. With the Python of an environment that has langgraph, langgraph-checkpoint-postgres, psycopg[binary]
and dbos, also beside these (peer_durable.py).

    fleet.py FOLDER-OF-THE-BENCHMARKS [ROUNDS [PYTHON]]
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


def run_peer(python, name, url):
    script = pathlib.Path(__file__).with_name("peer_durable.py")
    out = subprocess.run([python, script, name, url, "64", "5"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout)["turns_per_s"]


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    found = {"append": [], "raw_postgres": []}
    peers = {"langgraph": [], "dbos": []} if len(sys.argv) > 3 else {}
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
            for name, rates in peers.items():
                rates.append(run_peer(sys.argv[3], name, s.tcp()))
    ours, raw = (statistics.median(f["turn_all_wall_us"] for f in figures) for figures in found.values())
    print(json.dumps({"bench": "fleet", "sessions": 64, "turns_per_s": round(64e6 / ours), "raw_turns_per_s": round(64e6 / raw),
                      "share_of_raw": round(raw / ours, 2),
                      "turn_cpu_us": statistics.median(f["turn_cpu_us"] for f in found["append"]),
                      "fdatasync_us": statistics.median(f["fdatasync_us"] for f in found["append"]),
                      **{name + "_turns_per_s": statistics.median(rates) for name, rates in peers.items()}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
