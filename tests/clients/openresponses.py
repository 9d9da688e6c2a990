# SPDX-License-Identifier: Apache-2.0
"""The compliance suite of Open Responses against thole serve: the Responses API over HTTP and a WebSocket; 13 tests in April 2026, 17 in July.

usage: openresponses.py FOLDER   (FOLDER keeps what is installed; --missing: says why it cannot run here)

The suite is in no registry. OPENRESPONSES names a folder with its sources (bin, src, tsconfig.json); without it ../shared/suites/openresponses is looked at.
`./dev check clients` calls it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import run  # reads the arguments, and finds the modules of tests/e2e/cli
import house
import serving

SUITE = pathlib.Path(os.environ.get("OPENRESPONSES") or house.SHARED / "suites" / "openresponses").resolve()
PARTS = ("bin", "src", "tsconfig.json")
TESTS_MIN = 13
ENTRY = 'globalThis.WebSocket = (await import("ws")).WebSocket;\nawait import("./bin/compliance-test.ts");\n'
RULES = [{"if": {"tool": "get_weather"}, "parts": [{"function_call": {"name": "get_weather", "arguments": {"location": "San Francisco, CA"}}}]},
         {"parts": [{"text": run.SAID}]}]


def missing():
    """Why it cannot run here; empty: it can."""
    for part in PARTS:
        if not (SUITE / part).exists():
            return "the suite of Open Responses is not here (no %s in %s); OPENRESPONSES names its folder" % (
                part, "OPENRESPONSES" if os.environ.get("OPENRESPONSES") else "../shared/suites/openresponses")
    return run.missing()


class OpenResponses(serving.Served):
    def test_suite(self):
        folder = run.installed("openresponses", "tsx", "ws", "zod@3.25.76")
        for part in PARTS:
            place = folder / part
            if place.is_dir():
                shutil.rmtree(place)
            (shutil.copytree if (SUITE / part).is_dir() else shutil.copy)(SUITE / part, place)
        (folder / "entry.mjs").write_text(ENTRY)
        config = pathlib.Path(self.env["XDG_CONFIG_HOME"]) / "thole" / "config.yaml"
        config.write_text("serve:\n  models: [gpt-5.4]\n")
        self.serve_rules(RULES)
        self.serve_http()
        done = subprocess.run(["npx", "tsx", "entry.mjs", "-u", "http://127.0.0.1:%d/v1" % self.port, "-k", serving.TOKENS["alice"], "-m", "gpt-5.4", "--json"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        said = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, 0, said)
        summary = json.loads(done.stdout)["summary"]
        self.assertEqual((summary["failed"], summary["skipped"], summary["passed"]), (0, 0, summary["total"]), said)
        self.assertGreaterEqual(summary["total"], TESTS_MIN, said)


if __name__ == "__main__":
    why = missing()
    if run.ONLY_ASK:
        print(why)
    elif why:
        print("openresponses: skipped: " + why)
    else:
        unittest.main()
