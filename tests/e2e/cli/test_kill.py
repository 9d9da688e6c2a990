# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in the middle of things, then resume: nothing twice, and the model is told what is true."""

import os
import pathlib
import signal
import subprocess
import time

import house

COMMAND = "echo begun; until [ -e go ]; do sleep 0.1; done; echo done >> file; echo ended"


def shell(command=COMMAND):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class Killing(house.House):
    def executor(self, name):
        """The process of the session's executor."""
        want = ["thole", "exec", "--session", name]
        for entry in pathlib.Path("/proc").iterdir():
            try:
                argv = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdigit() else []
                if argv[:4] == want and str(self.folder) in (entry / "environ").read_bytes().decode():
                    return int(entry.name)
            except OSError:
                continue
        return None

    def kill_executor(self, name):
        pid = self.executor(name)
        self.assertIsNotNone(pid)
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: self.executor(name) != pid)

    def begun(self, name):
        """The command has said its first word, and the executor has spooled it."""
        spools = list((self.folder / "state").glob("thole/**/spool/*"))
        return any(b"begun" in s.read_bytes() for s in spools)

    def kill(self, process):
        process.kill()
        process.communicate()

    def last_outcome(self, name):
        return [e["data"] for e in self.events(name) if e["kind"] == "outcome"][-1]


class Kill(Killing):
    def test_a_command_goes_on(self):
        self.serve([shell()], {"expect": [{"tool_output": {"contains": "begun"}}, {"tool_output": {"contains": "ended"}}],
                               "parts": [{"text": "It is done."}]})
        process = self.start("run", "-m", "gpt-5.4", "-s", "k", "go")
        self.wait_for(lambda: self.begun("k"))
        self.kill(process)
        self.assertFalse((self.work / "file").exists())
        resumed = self.resume_held("k")
        (self.work / "go").touch()
        out, err = resumed.communicate(timeout=house.SECONDS)
        self.assertEqual(resumed.returncode, 0, (out, err))
        self.assertIn(b"It is done.", out)
        self.assertEqual((self.work / "file").read_text(), "done\n")
        outcome = self.last_outcome("k")
        self.assertEqual(outcome["status"], "done")
        self.assertEqual(outcome["evidence"]["exit_code"], 0)
        self.assertEqual(self.kinds("k").count("intent"), 1)

    def test_an_executor_of_an_older_build_goes_on(self):
        """The program is replaced while a command runs: the executor that has it is adopted, and says what became of it."""
        now = subprocess.run([house.THOLE, "--version"], stdout=subprocess.PIPE, check=True).stdout.split()[-1]
        then = b"0" * len(now)
        older = self.folder / "older" / "thole"
        older.parent.mkdir()
        older.write_bytes(pathlib.Path(house.THOLE).read_bytes().replace(now, then))
        older.chmod(0o755)
        self.serve([shell()], {"expect": [{"tool_output": {"contains": "ended"}}], "parts": [{"text": "It is done."}]})
        process = subprocess.Popen([older, "run", "-m", "gpt-5.4", "-s", "k", "go"], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for(lambda: self.begun("k"))
        executor = self.executor("k")
        self.assertEqual(os.readlink("/proc/%d/exe" % executor), str(older))
        self.kill(process)
        older.unlink()
        resumed = self.resume_held("k")
        self.assertEqual(self.executor("k"), executor)
        (self.work / "go").touch()
        out, err = resumed.communicate(timeout=house.SECONDS)
        self.assertEqual(resumed.returncode, 0, (out, err))
        self.assertEqual((self.work / "file").read_text(), "done\n")
        self.assertEqual((self.last_outcome("k")["status"], self.kinds("k").count("intent")), ("done", 1))
        self.assertEqual({e["build"] for e in self.events("k")}, {now.decode(), then.decode()})

    def told_unknown(self, more=()):
        return {"expect": [{"tool_output": {"contains": words}} for words in
                           ("may or may not have happened", "was not repeated", "This is the workspace now", *more)],
                "parts": [{"text": "I will look first."}]}

    def check_unknown(self, name):
        outcome = self.last_outcome(name)
        self.assertEqual(outcome["status"], "unknown")
        self.assertEqual(outcome["observation"]["status"], "done")
        self.assertEqual(outcome["observation"]["tool"], "list_dir")
        self.assertNotIn("did not complete", str(outcome))
        # Whether the command lives on without its executor or not: nobody begins it anew.
        (self.work / "go").touch()
        time.sleep(1)
        text = (self.work / "file").read_text() if (self.work / "file").exists() else ""
        self.assertIn(text, ("", "done\n"))
        self.assertEqual(self.kinds(name).count("intent"), 1)

    def test_the_executor_dies_too(self):
        (self.work / "seen.txt").write_text("x")
        self.serve([shell()], self.told_unknown(("begun", "seen.txt")))
        process = self.start("run", "-m", "gpt-5.4", "-s", "both", "go")
        self.wait_for(lambda: self.begun("both"))
        self.kill(process)
        self.kill_executor("both")
        self.assertIn("I will look first.", self.good("resume", "both").out)
        self.check_unknown("both")

    def test_the_executor_dies_alone(self):
        self.serve([shell()], self.told_unknown())
        process = self.start("run", "-m", "gpt-5.4", "-s", "alone", "go")
        self.wait_for(lambda: self.begun("alone"))
        self.kill_executor("alone")
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 0, (out, err))
        self.check_unknown("alone")

    def test_a_repeat_is_held_until_a_look(self):
        self.serve([shell()],
                   [shell()],
                   {"expect": [{"tool_output": {"contains": "look first"}}],
                    "parts": [{"function_call": {"name": "list_dir", "arguments": {"path": "."}}}]},
                   [shell("cat file || echo none")],
                   [{"text": "over"}])
        process = self.start("run", "-m", "gpt-5.4", "-s", "rep", "go")
        self.wait_for(lambda: self.begun("rep"))
        self.kill_executor("rep")
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 0, (out, err))
        statuses = [e["data"]["status"] for e in self.events("rep") if e["kind"] == "outcome"]
        self.assertEqual(statuses, ["unknown", "refused", "done", "done"])

    def test_parked_for_a_person(self):
        (self.folder / "a.yaml").write_text("name: careful\nmodel: gpt-5.4\nunknown: park\n")
        self.serve([shell()], {"expect": [{"tool_output": {"contains": "it did happen"}},
                                          {"tool_output": {"contains": "I saw the line"}}], "parts": [{"text": "Good."}]})
        process = self.start("run", "-a", self.folder / "a.yaml", "-s", "park", "go")
        self.wait_for(lambda: self.begun("park"))
        self.kill_executor("park")
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 3, (out, err))
        self.assertIn(house.THOLE.encode() + b" settle park", out)
        self.assertEqual(self.events("park")[-1]["kind"], "parked")
        self.good("resume", "park", code=3)
        self.assertIn("a person must say", self.good("log", "park").out)
        self.bad(2, ["--as done"], "settle", "park")
        self.bad(2, ["--as done"], "settle", "park", "--as", "failed")
        self.bad(1, ["waits for a word"], "settle", "park", "call_nope", "--as", "done")
        self.bad(1, ["waits for a decision"], "approve", "park")
        self.assertIn("done: shell:", self.good("settle", "park", "--as", "done", "-m", "I saw the line").out)
        self.assertIn("settled", self.good("log", "park").out)
        self.bad(1, ["nothing in it waits"], "settle", "park", "--as", "done")
        self.assertIn("Good.", self.good("resume", "park").out)
        self.assertEqual(self.kinds("park").count("intent"), 1)


# The terminal reports each press and release to a program that only writes them down.
PAD = ("xterm -geometry 80x20+60+60 -e sh -c 'stty raw -echo; printf \"\\033[?1000h\"; : > up; exec cat > clicks' "
       ">/dev/null 2>&1 & until [ -e up ]; do sleep 0.1; done")


class Click(Killing):
    ACTIONS = {"actions": [{"click": [200, 150]}, {"wait": 4}, {"click": [220, 170]}]}

    def presses(self):
        path = self.work / "clicks"
        data = path.read_bytes() if path.exists() else b""
        return sum(1 for i in range(len(data) - 3) if data[i:i + 3] == b"\033[M" and (data[i + 3] & 3) != 3)

    def begin(self, name, *turns):
        self.serve([shell(PAD)], [self.ACTIONS], *turns)
        process = self.start("run", "-m", "gpt-5.4", "-c", "desktop:640x480", "-s", name, "click twice")
        self.wait_for(lambda: self.presses() == 1, 60)
        self.kill(process)
        return process

    def test_clicks_go_on(self):
        self.begin("c", [{"text": "clicked"}])
        self.good("resume", "c")
        self.wait_for(lambda: self.presses() == 2)
        outcome = self.last_outcome("c")
        self.assertEqual(outcome["status"], "done")
        self.assertIn("image", [p["type"] for p in outcome["output"]])

    def test_clicks_are_not_resumed_halfway(self):
        self.begin("h", [{"text": "I look first"}])
        self.kill_executor("h")
        self.good("resume", "h")
        outcome = self.last_outcome("h")
        self.assertEqual(outcome["status"], "unknown")
        texts = " ".join(p.get("text", "") for p in outcome["output"])
        self.assertIn("may or may not have happened", texts)
        self.assertIn("At least 1 of its actions", texts)
        self.assertIn("This is the screen now", texts)
        self.assertEqual([p["type"] for p in outcome["output"]][-1], "image")
        self.assertEqual(self.presses(), 1)
        self.assertEqual(self.kinds("h").count("intent"), 2)


if __name__ == "__main__":
    house.main()
