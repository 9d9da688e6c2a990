# SPDX-License-Identifier: Apache-2.0
"""Reads Meson's testlog.json and prints how many tests passed, failed and were skipped; fails when there is no test."""

import json
import sys


def tally(lines):
    passed = failed = skipped = 0
    for line in lines:
        result = json.loads(line)["result"]
        if result in ("OK", "EXPECTEDFAIL"):
            passed += 1
        elif result == "SKIP":
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as log:
            print(*tally(log))
    except FileNotFoundError:
        sys.exit("no test ran")


if __name__ == "__main__":
    main()
