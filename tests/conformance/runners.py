# SPDX-License-Identifier: Apache-2.0
"""The runners take a file or a folder, whatever else is in it, and a run in which nothing was run is no success."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SHARED = pathlib.Path(os.environ["SHARED_DIR"])
MALFORMED = SHARED / "wire" / "anthropic" / "anthropic--spliced-message-start.sse"


def run(name, path, **env):
    done = subprocess.run([HERE / name, path], capture_output=True, text=True, env=dict(os.environ, WIRE_SPLITS="20", **env))
    counts = re.search(r"(\d+) passed, (\d+) failed$", done.stdout.strip())
    return done.returncode, *(int(n) for n in counts.groups()), done.stdout + done.stderr


class Runners(unittest.TestCase):
    def good(self, name, path, **env):
        code, passed, failed, said = run(name, path, **env)
        self.assertEqual((code, failed), (0, 0), said)
        self.assertGreater(passed, 0)
        return passed

    def test_file_and_folder(self):
        """All cases of a file are run by the tests of the runners themselves: here a few of each kind are enough."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            files = {"cua": "cua-dialects.json", "openhands": "openhands.json"}
            for file in files.values():
                cases = json.loads((SHARED / "cases" / file).read_text())
                few = cases[:9] if isinstance(cases, list) else {"cases": cases["cases"][:9]}
                (folder / file).write_text(json.dumps(few))
            shutil.copy(SHARED / "cases" / "agents-sdk.json", folder)
            (folder / "README.md").write_text("no cases\n")
            for name, file in files.items():
                self.assertEqual((self.good(name, folder), self.good(name, folder / file)), (9, 9))
        case = {"CASE": "basic-text"}
        self.assertEqual(self.good("agents_sdk", SHARED / "cases", **case), 1)
        self.assertEqual(self.good("agents_sdk", SHARED / "cases" / "agents-sdk.json", **case), 1)

    def test_a_file_by_itself_has_its_manifest(self):
        self.good("wire", MALFORMED)

    def test_nothing_is_no_success(self):
        with tempfile.TemporaryDirectory() as empty:
            for name in ("cua", "wire", "agents_sdk", "openhands"):
                code, passed, failed, said = run(name, empty)
                self.assertEqual((code, passed, failed), (1, 0, 0), name + ": " + said)


if __name__ == "__main__":
    unittest.main()
