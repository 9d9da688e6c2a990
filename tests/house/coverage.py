# SPDX-License-Identifier: Apache-2.0
"""Line coverage per layer, from a build with -Db_coverage=true in which tests ran; fails below the wanted share.

usage: coverage.py BUILD_DIR PERCENT LAYER[+LAYER...]...
"""

import json
import os
import re
import subprocess
import sys


def lines(build):
    """{file: {line: was run}} of all sources; a line counts as run when any program ran it."""
    found = {}
    notes = [os.path.join(d, n) for d, _, names in os.walk(build) for n in names if n.endswith(".gcno")]
    for note in notes:
        if not os.path.basename(os.path.dirname(note)).startswith("libth_"):
            continue
        out = subprocess.run(
            ["gcov", "--json-format", "--stdout", os.path.abspath(note)], check=True, capture_output=True, cwd=build
        ).stdout
        for report in out.splitlines():
            for file in json.loads(report)["files"]:
                match = re.search(r"(?:^|/)src/(\w+/\w+\.[ch])$", file["file"])
                if not match:
                    continue
                seen = found.setdefault(match.group(1), {})
                for line in file["lines"]:
                    number = line["line_number"]
                    seen[number] = seen.get(number, False) or line["count"] > 0
    return found


def main(build, wanted, layers):
    found = lines(build)
    low = []
    for layer in layers:
        files = {name: seen for name, seen in found.items() if name.split("/")[0] in layer.split("+")}
        total = sum(len(seen) for seen in files.values())
        if not total:
            continue
        run = sum(sum(seen.values()) for seen in files.values())
        share = 100 * run / total
        print(f"{layer}: {share:.1f} % of {total} lines")
        for name, seen in sorted(files.items(), key=lambda item: sum(item[1].values()) - len(item[1])):
            missed = [str(number) for number, was_run in sorted(seen.items()) if not was_run]
            if missed:
                print(f"  {name}: {len(missed)} of {len(seen)} not run: {' '.join(missed[:40])}")
        if share < wanted:
            low.append(layer)
    if low:
        sys.exit(f"below {wanted:g} %: {' '.join(low)}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
