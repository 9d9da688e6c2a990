# SPDX-License-Identifier: Apache-2.0
"""Reads Meson's testlog.json and prints how many tests passed, failed and were skipped; fails when there is no test.
With --failed, the names of those that failed, a line each, as `meson test` takes them."""

import json
import sys


def sort(lines):
    passed, failed, skipped = [], [], []
    for line in lines:
        test = json.loads(line)
        if test["result"] in ("OK", "EXPECTEDFAIL"):
            into = passed
        elif test["result"] == "SKIP":
            into = skipped
        else:
            into = failed
        into.append(test.get("name", ""))
    return passed, failed, skipped


def tally(lines):
    return tuple(len(names) for names in sort(lines))


def main():
    try:
        with open(sys.argv[-1], encoding="utf-8") as log:
            if "--failed" in sys.argv:
                # "suite / name", or with the project before it
                print(*(name.split(" / ")[-1] for name in sort(log)[1]), sep="\n")
            else:
                counts = tally(log)
                if not any(counts):
                    sys.exit("no test ran")
                print(*counts)
    except FileNotFoundError:
        sys.exit("no test ran")


if __name__ == "__main__":
    main()
