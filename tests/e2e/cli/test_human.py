# SPDX-License-Identifier: Apache-2.0
"""A person plays the model: answers on standard input, end of input, no input at all, SIGKILL while he thinks."""

import os
import pty
import select
import subprocess

import house

NOBODY = "nobody is there to play the model"


class Human(house.House):
    def test_answers_on_a_pipe(self):
        ended = self.good("run", "-m", "human/human", "-s", "p", "make a file",
                          stdin="help\nclick\nshell echo made > made; echo shown\nread_file {\"path\": \"made\"}\ndone it is there\n")
        self.assertEqual((self.work / "made").read_text(), "made\n")
        self.assertIn("it is there", ended.out)
        for words in ("make a file", "it is written: click X Y", "scroll down 5", "  shown", "tools: shell, read_file"):
            self.assertIn(words, ended.err)
        self.assertEqual(self.kinds("p").count("model_answered"), 3)

    def test_json_stays_json(self):
        ended = self.good("run", "--json", "-m", "human/human", "-s", "j", "say it", stdin="well\n")
        self.assertTrue(all(line.startswith("{") for line in ended.out.splitlines()), ended)

    def test_the_end_of_input(self):
        """He leaves, comes back, and gives up; what he answered is not asked again."""
        ended = self.thole("run", "-m", "human/human", "-s", "e", "think", stdin="shell echo once >> file\n")
        self.assertEqual(ended.code, 3, ended)
        self.assertIn("the person who plays the model left", ended.out)
        self.assertIn("thole resume e", ended.out)
        ended = self.thole("resume", "e", stdin="fail it cannot be done\n")
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("could not do the task: it cannot be done", ended.out)
        self.assertEqual((self.work / "file").read_text(), "once\n")
        self.assertEqual(self.kinds("e").count("model_answered"), 2)

    def test_nobody(self):
        self.bad(2, NOBODY, "run", "-m", "human/human", "-s", "n", "hello")
        ended = subprocess.run([house.THOLE, "run", "-m", "human", "hello"], env=self.env, cwd=self.work, capture_output=True,
                               preexec_fn=lambda: os.close(0), timeout=house.SECONDS)
        self.assertEqual(ended.returncode, 2)
        self.assertIn(NOBODY, ended.stderr.decode())
        self.assertEqual(self.good("sessions", "--names").out, "")

    def test_killed_while_he_thinks(self):
        """The question that is open is asked again; nothing that was answered is."""
        read, write = os.pipe()
        process = self.start("run", "-m", "human/human", "-s", "k", "think", stdin=read)
        os.close(read)
        os.write(write, b"shell echo once >> file\n")
        self.wait_for(lambda: (self.work / "file").exists() and self.kinds("k").count("model_requested") == 2)
        process.kill()
        process.communicate()
        os.close(write)
        ended = self.good("resume", "k", stdin="done good\n")
        self.assertIn("good", ended.out)
        self.assertEqual(ended.err.count("you are the model of"), 1)
        self.assertIn("result", ended.err)
        self.assertEqual((self.work / "file").read_text(), "once\n")
        self.assertEqual(self.kinds("k").count("model_answered"), 2)

    def test_at_a_terminal(self):
        """The approval of a call is asked for at the same terminal."""
        main, side = pty.openpty()
        process = self.start("run", "-m", "human/human", "-s", "t", "--approve", "shell", "think", stdin=side, stdout=side,
                             stderr=side)
        os.close(side)
        said = b""
        for wanted, answer in ((b"help says what can be said", b"shell echo yes > file\n"), (b"Run it?", b"y\n"),
                               (b"result:", b"done\n")):
            while wanted not in said:
                self.assertTrue(select.select([main], [], [], 20)[0], said)
                said += os.read(main, 4096)
            said = said[said.index(wanted):]
            os.write(main, answer)
        self.assertEqual(process.wait(20), 0)
        os.close(main)
        self.assertEqual((self.work / "file").read_text(), "yes\n")


if __name__ == "__main__":
    house.main()
