# SPDX-License-Identifier: Apache-2.0
"""tiers.py BUILD: a test that is longer with TH_TORTURE is in a suite that a part of ./dev torture runs.

A size that nothing ever runs is a promise that nobody looks at."""

import json
import pathlib
import sys

RUN = {"sim", "faults", "torture", "long", "tiers"}            # by default (dev: part_long, part_tiers)
NAMED = {"conformance", "e2e-desktop", "e2e-models", "page"}    # by a part that one names


def unrun(tests, reads):
    """Files that read it, and no test of such a suite has them."""
    suites = {}
    for test in tests:
        for word in test["cmd"]:
            if word.endswith(".py"):
                suites.setdefault(pathlib.Path(word).resolve(), set()).update(name.split(":")[-1] for name in test["suite"])
    return sorted(str(path) for path, of in suites.items() if not of & (RUN | NAMED) and reads(path))


def reads(path):
    return 'environ.get("TH_' + 'TORTURE")' in path.read_text(encoding="utf-8")


def main():
    tests = json.loads((pathlib.Path(sys.argv[1]) / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
    found = unrun(tests, reads)
    for path in found:
        print("%s is longer with TH_TORTURE, and no part of ./dev torture runs it so" % path)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
