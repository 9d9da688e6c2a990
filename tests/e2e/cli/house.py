# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: a home of their own, thole in it, and the stand-in model server."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import standins

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build")).resolve()
SOURCE = pathlib.Path(os.environ.get("SOURCE_DIR", pathlib.Path(__file__).parents[3])).resolve()
SHARED = pathlib.Path(os.environ.get("SHARED_DIR", SOURCE.parent / "shared")).resolve()
THOLE = os.environ.get("THOLE", str(BUILD / "thole"))
SECONDS = 60
KEY = "sk-test-do-not-print-me"
CLEARED = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "THOLE_MODEL", "THOLE_STORE", "THOLE_MODELS", "THOLE_SERVER", "THOLE_TOKEN",
           "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS",
           "DISPLAY", "XAUTHORITY", "AT_SPI_BUS_ADDRESS", "NO_COLOR",
           "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


# Commands that look at what others did. On a sanitizer's build the search for leaks at the end is a third of what a short
# command takes; those that do something are searched.
LOOK = ("approve", "computer", "log", "sessions")


class Ended:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return "exit %d\n--- stdout\n%s\n--- stderr\n%s" % (self.code, self.out[-3000:], self.err[-3000:])


class Standin:
    live = []  # those that nobody has ended: a test may put another one in their place

    def __init__(self, folder, script, *options):
        self.folder = folder
        script.setdefault("name", "test")
        script.setdefault("model", ".*")
        (folder / "script.json").write_text(json.dumps(script))
        port = folder / "port.txt"
        port.unlink(missing_ok=True)  # of the stand-in before this one
        self.record = folder / "record.jsonl"
        self.log = (folder / "standin.log").open("w")
        self.process = standins.Process(SHARED / "standin", [
            "--port", "0", "--port-file", port, "--script", folder / "script.json", "--record", self.record, "--seed", "1",
            "--fail-on-violation", *options], self.log)
        self.live.append(self)
        deadline = time.monotonic() + 30
        while not port.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the stand-in does not listen: " + (folder / "standin.log").read_text())
            time.sleep(0.02)
        self.url = "http://127.0.0.1:%s/v1" % port.read_text().strip()

    def requests(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []

    def end(self):
        if self in self.live:
            self.live.remove(self)
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)
        self.log.close()
        return self.process.returncode


class House(unittest.TestCase):
    """A test with a home of its own; executors that are left are told to end."""

    more_env = {}  # what its environment has besides

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="thole-cli-"))
        self.folder.chmod(0o755)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.work.chmod(0o777)
        self.env = {k: v for k, v in os.environ.items() if k not in CLEARED}
        for kind in ("STATE", "CONFIG", "CACHE", "DATA"):
            path = self.folder / kind.lower()
            path.mkdir(mode=0o700)
            self.env["XDG_%s_HOME" % kind] = str(path)
        (self.folder / "runtime").mkdir(mode=0o700)
        self.env["XDG_RUNTIME_DIR"] = str(self.folder / "runtime")
        self.env["HOME"] = str(self.folder)
        self.env["OPENAI_API_KEY"] = KEY
        self.env.update(self.more_env)
        (self.folder / "config" / "thole").mkdir(mode=0o700)
        (self.folder / "config" / "thole" / "config.yaml").write_text(
            "executor_linger_s: 20\ntools: [shell, read_file, write_file, list_dir]\n")
        self.standin = None
        self.violations = True
        self.leaves_executors = True

    def tearDown(self):
        names = self.thole("sessions", "--names").out.split()
        if self.standin:
            status = self.standin.end()
            bad = [r for r in self.standin.requests()
                   if r.get("violations") or r.get("expect_failed") or r.get("script_fault")]
            if self.violations:
                self.assertEqual(bad, [], "the stand-in objects")
                self.assertEqual(status, 0, (self.folder / "standin.log").read_text())
        for replaced in list(Standin.live):
            replaced.end()
        for name in names if self.leaves_executors else []:
            self.thole("computer", "-s", name, "end")
        if names:
            verified = self.thole("log", "--verify")
            self.assertEqual(verified.code, 0, verified)
        if os.environ.get("TH_E2E_KEEP"):
            print("kept: %s" % self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def serve(self, *turns, **more):
        self.standin = Standin(self.folder, dict({"turns": list(turns)}, **more))
        self.env["OPENAI_BASE_URL"] = self.standin.url
        return self.standin

    def start(self, *args, **more):
        options = dict(env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        options.update(more)
        return subprocess.Popen([THOLE, *map(str, args)], **options)

    def thole(self, *args, stdin=None, **more):
        options = dict(env=self.env, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
        if stdin is None:
            options["stdin"] = subprocess.DEVNULL
        else:
            options["input"] = stdin.encode()
        options.update(more)
        if args and args[0] in LOOK and "ASAN_OPTIONS" in options["env"]:
            options["env"] = dict(options["env"], ASAN_OPTIONS=options["env"]["ASAN_OPTIONS"] + ":detect_leaks=0")
        done = subprocess.run([THOLE, *map(str, args)], **options)
        ended = Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        self.assertNotIn(KEY, ended.out + ended.err)
        return ended

    def good(self, *args, code=0, **more):
        ended = self.thole(*args, **more)
        self.assertEqual(ended.code, code, "thole %s: %s" % (" ".join(map(str, args)), ended))
        return ended

    def bad(self, code, words, *args, **more):
        """The command fails with this exit code and one sentence that has the words."""
        ended = self.thole(*args, **more)
        self.assertEqual(ended.code, code, "thole %s: %s" % (" ".join(map(str, args)), ended))
        lines = ended.err.splitlines()
        self.assertEqual(len(lines), 1, ended)
        self.assertTrue(lines[0].startswith("thole: "), ended)
        self.assertLess(len(lines[0]), 600)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, lines[0])
        return ended

    def events(self, name):
        return [json.loads(line) for line in self.good("log", name, "--json").out.splitlines()]

    def store(self):
        """The path of its database."""
        found = [p for p in self.folder.rglob("*.db")]
        self.assertEqual(len(found), 1, found)
        return found[0]

    # What tests/postgres does in another way; the tests know of their log no more than this.

    def store_url(self):
        return "sqlite:%s" % self.store()

    @contextlib.contextmanager
    def store_held(self):
        """Another process writes to it, and nobody else can."""
        with contextlib.closing(sqlite3.connect(self.store(), isolation_level=None)) as db:
            db.execute("begin immediate")
            yield
            db.execute("rollback")

    @contextlib.contextmanager
    def event_missing(self, seq):
        """Meanwhile this event of each session is not there. At both ends nobody has the log."""
        whole = self.store().read_bytes()
        with contextlib.closing(sqlite3.connect(self.store(), isolation_level=None)) as db:
            self.assertTrue(db.execute("delete from events where seq = ?", (seq,)).rowcount)
        yield
        self.store().write_bytes(whole)

    def kinds(self, name):
        return [e["kind"] for e in self.events(name)]

    def wait_for(self, what, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            said = what()
            if said:
                return said
            time.sleep(0.05)
        return self.fail("waited in vain")

    def resume_held(self, name, held=None):
        """A process that goes on with a session, and has it (or one that works for it).  To ask who has one is to have it for a
        moment: a resume that finds it so ends, and says by whom it is held."""
        processes = [self.start("resume", name)]

        def holds():
            if processes[-1].poll() is not None:
                self.assertIn(b"held by another runtime", processes[-1].communicate()[1])
                processes.append(self.start("resume", name))
            return "process %d" % processes[-1].pid in self.thole("approve", held or name).err

        self.wait_for(holds)
        return processes[-1]

    def interrupt(self, process, signum=signal.SIGINT):
        process.send_signal(signum)
        out, err = process.communicate(timeout=SECONDS)
        return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def main():
    if not SHARED.is_dir():
        print("not run: ../shared is not here")
        sys.exit(77)
    unittest.main(verbosity=2)
