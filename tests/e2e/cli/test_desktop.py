# SPDX-License-Identifier: Apache-2.0
"""thole demo, thole doctor and thole computer on a real private desktop."""

import json
import os
import pathlib
import re
import struct
import time

import house


def png_size(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    return struct.unpack(">II", data[16:24])


class Demo(house.House):
    def test_demo(self):
        place = self.folder / "demo"
        ended = self.good("demo", "-C", place)
        for words in ("built-in script", "finished: 6 turns, 5 calls", "The demo worked", "screenshots", "gpt-5.4"):
            self.assertIn(words, ended.out)
        self.assertEqual(ended.err, "")
        self.assertEqual(ended.out.count("log:  "), 1)
        self.assertIn("log:      %s log demo-" % house.THOLE, ended.out)
        self.assertEqual((place / "work" / "hello.txt").read_text(), "Every action written down before it happens.\n")
        pictures = sorted((place / "screenshots").iterdir())
        self.assertGreaterEqual(len(pictures), 3)
        for picture in pictures:
            self.assertEqual(png_size(picture), (1024, 640))
        self.good("log", "--verify", "--store", "sqlite:%s/log.db" % place)
        self.assertEqual(self.left(), [])

    def left(self):
        """Processes that mention our folder."""
        deadline = time.monotonic() + 10
        while True:
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    line = pathlib.Path("/proc", pid, "environ").read_bytes()
                except OSError:
                    continue
                if int(pid) != os.getpid() and str(self.folder).encode() in line:
                    found.append(pid)
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.1)

    def test_demo_crash(self):
        for more in ([], ["--no-trace"]):
            with self.subTest(more=more):
                for seconds in (4, 16, 64): # a busy machine may come to nothing in a few
                    ended = self.good("demo", "crash", "--seed", "1", "--seconds", seconds, "--json", *more)
                    self.assertEqual(ended.err, "")
                    found = json.loads(ended.out)
                    self.assertEqual([found[k] for k in ("seed", "duplicated", "lost", "diverged", "false_claims")],
                                     [1, 0, 0, 0, 0], ended)
                    self.assertLessEqual(found["unknown_happened"], found["unknown"])
                    self.assertFalse(more and found["traced"])
                    self.assertEqual(self.left(), [])
                    if found["clicks"] and found["runtime_kills"] > 2 and found["happened"]:
                        break
                else:
                    self.fail("nothing happened: %s" % ended)

    def test_demo_crash_for_people(self):
        ended = self.good("demo", "crash", "--seconds", "1", "-C", self.folder / "crash")
        for words in ("duplicated                   0", "lost                         0", "unknown", "Seed "):
            self.assertIn(words, ended.out)
        # In a second of a busy machine it may come to no effect; then nothing is concluded.
        nothing = re.search(r"^effects that happened +0 ", ended.out, re.M) is not None
        self.assertEqual("this says nothing" in ended.out, nothing, ended)
        self.assertEqual("What to conclude" in ended.out, not nothing, ended)
        self.good("log", "--verify", "--store", "sqlite:%s/log.db" % (self.folder / "crash"))
        self.bad(2, "--seconds", "demo", "crash", "--seconds", "0")
        self.bad(2, "demo crash", "demo", "--seed", "1")
        self.bad(2, "no operand but crash", "demo", "crush")

    def test_demo_as_json(self):
        ended = self.good("demo", "--json", "-C", self.folder / "demo")
        kinds = [json.loads(line)["kind"] for line in ended.out.splitlines()]
        self.assertEqual((kinds[0], kinds[-1]), ("session_created", "final"))

    def test_doctor(self):
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text("serve: {priority: low}\n")
        ended = self.good("doctor")
        self.assertRegex(ended.out, r"(?m)^ok +serve ")
        for wall in ("sandbox", "namespaces", "landlock", "seccomp", "cgroup", "egress"):
            self.assertRegex(ended.out, r"(?m)^(ok|note) +%s " % wall)
        self.assertIn("desktop", ended.out)
        self.assertNotIn("BROKEN", ended.out)
        config.write_text("serve:\n  priority: urgent\n")
        checks = {}
        for line in self.good("doctor", "--json", code=1).out.splitlines():
            row = json.loads(line)
            checks[row["check"]] = row["result"]
            if row["check"] == "serve":
                self.assertIn("config.yaml:1: serve: priority is low, normal or high", row["text"])
        self.assertEqual([name for name, result in checks.items() if result == "BROKEN"], ["serve"])
        self.assertEqual(checks["desktop"], "ok")
        self.assertEqual(checks["log"], "ok")


class Computer(house.House):
    def tearDown(self):
        self.thole("computer", "end")
        super().tearDown()

    def test_a_desktop_that_lives_on(self):
        picture = self.work / "a.png"
        self.assertEqual(self.good("computer", "-c", "desktop:800x600", "size").out, "800x600\n")
        self.good("computer", "see", "-o", picture)
        self.assertEqual(png_size(picture), (800, 600))
        self.good("computer", "move", "123", "45")
        self.assertIn("(123, 45)", self.good("computer", "cursor").out)
        self.good("computer", "clipboard", "täxt 漢字 🙂")
        self.assertEqual(self.good("computer", "clipboard").out, "täxt 漢字 🙂\n")
        self.good("computer", "clipboard", "-", stdin="all of it " * 6000)
        self.assertEqual(self.good("computer", "clipboard").out, "all of it " * 6000 + "\n")
        # As much as a clipboard holds; one byte more, and what is too long as JSON, is an ordinary error.
        self.good("computer", "clipboard", "-", stdin="x" * (4 << 20))
        self.bad(1, ["clipboard holds 4194304 bytes"], "computer", "clipboard")
        self.bad(2, ["larger than 4194304 bytes"], "computer", "clipboard", "-", stdin="x" * ((4 << 20) + 1))
        self.bad(2, ["the action as JSON"], "computer", "clipboard", "-", stdin="\1" * (4 << 20))
        self.assertEqual(json.loads(self.good("computer", "size", "--json").out)["width"], 800)
        # What is no kind and no size is told where one runs, too.
        self.bad(2, "did you mean desktop", "computer", "-c", "desktpo", "size")
        self.bad(2, "the size of a computer is WIDTHxHEIGHT", "computer", "-c", "desktop:800", "size")
        self.good("computer", "zoom", "0", "0", "100", "50", "-o", self.work / "z.webp")
        self.assertEqual((self.work / "z.webp").read_bytes()[8:12], b"WEBP")
        self.good("computer", "see", "-o", self.work / "s.jpg", "--fit", "400x300", "--quality", "50")
        self.assertEqual((self.work / "s.jpg").read_bytes()[:2], b"\xff\xd8")
        piped = self.thole("computer", "see")
        self.assertEqual(piped.code, 0)
        self.assertIn("PNG", piped.out[:8])
        self.bad(1, ["refused: (5000, 20) is outside the screen"], "computer", "click", "5000", "20")
        self.bad(1, ["key"], "computer", "key", "no-such-key")
        self.good("computer", "end")
        self.bad(1, ["no computer runs"], "computer", "-s", "computer", "size")

    def test_shell_and_keyboard(self):
        self.assertEqual(self.good("computer", "shell", "echo out; exit 0").out.splitlines()[0], "out")
        self.assertEqual(self.thole("computer", "shell", "exit 7").code, 7)
        self.good("computer", "shell",
                  "xterm -geometry 80x20+50+50 -e sh -c ': > up; exec sh' >/dev/null 2>&1 & "
                  "while [ ! -e up ]; do sleep 0.1; done")
        self.good("computer", "click", "200", "150")
        self.good("computer", "type", "echo typed > typed.txt", "--enter")
        self.wait_for(lambda: (self.work / "typed.txt").exists() and (self.work / "typed.txt").read_text())
        self.assertEqual((self.work / "typed.txt").read_text(), "typed\n")
        self.good("computer", "do", '[{"type":"type","text":"echo two > two.txt"},{"type":"key","keys":["Return"]}]')
        self.wait_for(lambda: (self.work / "two.txt").exists())
        for args in (["drag", "60", "60", "90", "90"], ["scroll", "down", "2", "--at", "200,150"],
                     ["double-click", "200", "150"], ["right-click", "600", "500"], ["key", "Escape", "-n", "2"],
                     ["press", "300", "300"], ["release"], ["hold", "shift", "-d", "20"], ["wait", "10"],
                     ["key-down", "ctrl"], ["key-up", "ctrl"]):
            self.good("computer", *args)


if __name__ == "__main__":
    house.main()
