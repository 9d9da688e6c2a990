# SPDX-License-Identifier: Apache-2.0
"""What `./dev check` ends with: its closing line and its exit status say the same, whether a test passes, fails or passes
only alone. Meson, ninja and dpkg-query are played by a few lines each, so only the script itself is looked at."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))

MESON = """#!/bin/sh
case $1 in
setup) mkdir -p "$2" && : >"$2/build.ninja" ;;
test)
	mkdir -p "$3/meson-logs"
	case "$3" in build) for n in $(seq ${AHEAD:+500}); do [ -e "$AHEAD" ] || sleep 0.02; done ;; esac
	[ -z "${AHEAD-}" ] || [ -e "$AHEAD" ] || exit 1
	[ -z "${UNUSED-}" ] || [ ! -e "$UNUSED" ] || exit 1
	for result in $RESULTS; do
		case "$result $*" in
		"ALONE "*"--num-processes 1 "*) result=OK ;;
		ALONE*) result=FAIL ;;
		esac
		echo "{\\"name\\": \\"thole:unit / a test\\", \\"result\\": \\"$result\\"}"
	done >"$3/meson-logs/testlog.json"
	;;
esac
"""
TOOLS = {
    "meson": MESON,
    "ninja": "#!/bin/sh\nexit ${NINJA_STATUS-0}\n",
    "dpkg-query": "#!/bin/sh\nfor name; do echo \"$name installed\"; done\n",
}


class Parts(unittest.TestCase):
    def test_every_part_has_its_function(self):
        text = (ROOT / "dev").read_text(encoding="utf-8")
        table = text.split("<<'TABLE'\n", 1)[1].split("\nTABLE\n", 1)[0]
        names = [line.split()[0] for line in table.splitlines() if line.strip()]
        self.assertIn("gcc", names)
        for name in names:
            self.assertIn(f"\npart_{name}() {{", text)


class Words(unittest.TestCase):
    """What is no name of anything is told at once, and nothing is installed or built."""

    def test_wrong_names(self):
        for words, status, told in ((["setup", "nosuch"], 1, "no package names for 'debian nosuch'"), (["setup", "--print", "nosuch"], 1, "'nosuch run'"),
                                    (["check", "gcc", "nosuch"], 1, "check: no part 'nosuch'"), (["torture", "nosuch"], 1, "torture: no part 'nosuch'"),
                                    (["nosuch"], 2, 'there is no command "nosuch"')):
            ended = subprocess.run([ROOT / "dev", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            self.assertEqual(ended.returncode, status, ended.stdout)
            self.assertIn(told, ended.stdout)
            self.assertNotIn("setup: installing", ended.stdout)


class Check(unittest.TestCase):
    def check(self, results, *parts, clients=None, missing="", **more):
        """`clients` is the exit status of each client, or they are not there; `missing` is why the last one cannot run."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            tree, tools = folder / "tree", folder / "tools"
            (tree / "tests" / "house").mkdir(parents=True)
            tools.mkdir()
            shutil.copy(ROOT / "dev", tree)
            shutil.copy(ROOT / "tests" / "house" / "tally.py", tree / "tests" / "house")
            if clients is not None:
                (folder / "shared").mkdir()
                (tree / "tests" / "clients").mkdir()
                for name, why in (("run", ""), ("openhands_sdk", ""), ("openresponses", missing)):
                    (tree / "tests" / "clients" / (name + ".py")).write_text(
                        f"import sys\nif '--missing' in sys.argv:\n    print({why!r})\nelse:\n    sys.exit({clients})\n", encoding="utf-8")
            for name, text in TOOLS.items():
                (tools / name).write_text(text, encoding="utf-8")
                (tools / name).chmod(0o755)
            env = {"PATH": f"{tools}:{os.environ['PATH']}", "RESULTS": results, **more}
            done = subprocess.run(
                ["bash", tree / "dev", "check", *parts], env=env, capture_output=True, text=True, timeout=60, check=False
            )
            return done.returncode, done.stdout.strip().splitlines()

    def test_all_pass(self):
        status, lines = self.check("OK OK SKIP")
        # five suites, three builds and the analyzer's
        self.assertEqual((status, lines[-1]), (0, "14 passed, 0 failed, 5 skipped"))

    def test_builds_are_made_ahead(self):
        """gcc's tests, which here begin no sooner than another build is configured, leave time for what later parts need."""
        status, lines = self.check("OK OK SKIP", "core", AHEAD="build-clang/build.ninja")
        self.assertEqual((status, lines[-1]), (0, "7 passed, 0 failed, 2 skipped"))
        self.assertEqual([line.split()[0] for line in lines[-5:-2]], ["gcc", "asan", "analyzer"])
        status, lines = self.check("OK", "gcc", "analyzer", AHEAD="build-analyzer/build.ninja", UNUSED="build-clang")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 0 skipped"))

    def test_clients_beside_other_parts(self):
        status, lines = self.check("OK OK SKIP", clients=0)
        self.assertEqual((status, lines[-1]), (0, "17 passed, 0 failed, 5 skipped"))
        self.assertIn("ok    clients: openhands_sdk.py", " ".join(lines))
        status, lines = self.check("OK OK SKIP", clients=0, missing="it is not here")
        self.assertEqual((status, lines[-1]), (0, "16 passed, 0 failed, 5 skipped"))
        self.assertIn("clients: openresponses.py: skipped: it is not here", lines)
        status, lines = self.check("OK OK SKIP", clients=3)
        self.assertEqual((status, lines[-1]), (1, "14 passed, 1 failed, 5 skipped"))
        self.assertIn("failed: clients: run.py", lines)

    def test_one_fails(self):
        status, lines = self.check("OK FAIL")
        self.assertEqual((status, lines[-1]), (1, "9 passed, 5 failed, 0 skipped"))
        self.assertIn("failed: gcc: 1 tests", lines)

    def test_one_passes_alone(self):
        status, lines = self.check("OK ALONE")
        self.assertEqual(status, 1)  # a fuzz target is not run again
        self.assertIn("unsteady, passed alone: gcc: a test", lines)
        self.assertIn("failed: fuzz: 1 tests", lines)

    def test_no_test_runs(self):
        status, lines = self.check("")
        self.assertEqual((status, lines[-1]), (1, "4 passed, 5 failed, 0 skipped"))
        self.assertIn("failed: gcc: no test ran", lines)

    def test_a_build_fails(self):
        status, lines = self.check("OK", NINJA_STATUS="1")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 6 failed, 0 skipped"))


class Bench(unittest.TestCase):
    def test_compare_without_a_bench_build(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, ROOT / "bench" / "compare", "--build", folder],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
