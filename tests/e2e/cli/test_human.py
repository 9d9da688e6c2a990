# SPDX-License-Identifier: Apache-2.0
"""A person plays the model: answers on standard input, end of input, no input at all, SIGKILL while he thinks."""

import json
import os
import pathlib
import pty
import re
import select
import socket
import subprocess
import urllib.error
import urllib.request

import house

NOBODY = "nobody is there to play the model"


class Human(house.House):
    def test_answers_on_a_pipe(self):
        ended = self.good("run", "-m", "human/human", "-s", "p", "make a file",
                          stdin="help\nclick\nshell echo made > made; echo shown\nread_file {\"path\": \"made\"}\ndone it is there\n")
        self.assertEqual((self.work / "made").read_text(), "made\n")
        self.assertIn("it is there", ended.out)
        for words in ("make a file", "it is written: click X Y", "scroll down 5", "  shown", "tools: shell, read_file, write_file, list_dir"):
            self.assertIn(words, ended.err)
        self.assertEqual(self.kinds("p").count("model_answered"), 3)

    def test_much_at_once(self):
        """One who has said all from the beginning, more than is held of it at a time: each line is taken, in its order."""
        lines = ["shell echo %d >> file # %s" % (i, "x" * 1300) for i in range(90)]
        self.assertIn("over", self.good("run", "-m", "human/human", "-s", "m", "count", stdin="\n".join(lines + ["done over"]) + "\n").out)
        self.assertEqual((self.work / "file").read_text().split(), [str(i) for i in range(90)])

    def test_json_stays_json(self):
        ended = self.good("run", "--json", "-m", "human/human", "-s", "j", "say it", stdin="well\n")
        self.assertTrue(all(line.startswith("{") for line in ended.out.splitlines()), ended)

    def test_the_end_of_input(self):
        """He leaves, comes back, and gives up; what he answered is not asked again."""
        ended = self.thole("run", "-m", "human/human", "-s", "e", "think", stdin="shell echo once >> file\n")
        self.assertEqual(ended.code, 3, ended)
        self.assertIn("the person who plays the model left", ended.out)
        self.assertIn(house.THOLE + " resume e", ended.out)
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

    def talk(self, *steps):
        """A run at a terminal: what it says, and what is typed then."""
        main, side = pty.openpty()
        process = self.start("run", "-m", "human/human", "-s", "t", "--approve", "shell", "think", stdin=side, stdout=side,
                             stderr=side)
        os.close(side)
        said = b""
        for wanted, answer in steps:
            while wanted not in said:
                self.assertTrue(select.select([main], [], [], 20)[0], said)
                said += os.read(main, 4096)
            said = said[said.index(wanted) + len(wanted):]
            os.write(main, answer)
        self.assertEqual(process.wait(20), 0)
        os.close(main)

    def test_at_a_terminal(self):
        """The approval of a call is asked for at the same terminal."""
        self.talk((b"help says what can be said", b"shell echo yes > file\n"), (b"Run it?", b"y\n"), (b"result:", b"done\n"))
        self.assertEqual((self.work / "file").read_text(), "yes\n")

    def test_always_at_a_terminal(self):
        """After that no call of the tool is asked about."""
        self.talk((b"help says what can be said", b"shell echo 1 >> file\n"), (b"a: always (this tool)", b"a\n"),
                  (b"result:", b"shell echo 2 >> file\n"), (b"result:", b"done\n"))
        self.assertEqual((self.work / "file").read_text(), "1\n2\n")
        said = [json.loads(line)["data"] for line in self.good("log", "t", "--json").out.splitlines() if json.loads(line)["kind"] == "approval_decided"]
        self.assertEqual([(d["approve"], d["always"]) for d in said], [(True, True)])


class Http(house.House):
    """Cua's completion queue, served by the run itself."""

    def begin(self, *args, **more):
        process = self.start(*args, "--base-url", "http://127.0.0.1:0", **more)
        line = b""
        while not line.endswith(b"\n"):
            self.assertTrue(select.select([process.stderr], [], [], 20)[0], line)
            line += os.read(process.stderr.fileno(), 1)
        self.url, self.token = re.match(r"a person is asked at (\S+); the token is (?:in )?(\S+)\n", line.decode()).groups()
        if self.token.startswith("/"):
            self.assertEqual(os.stat(self.token).st_mode & 0o777, 0o600)
            self.token = pathlib.Path(self.token).read_text()
            self.assertNotIn(self.token, line.decode())
        return process

    def ask(self, method, path, body=None, status=200, **headers):
        headers.setdefault("Authorization", "Bearer " + self.token)
        request = urllib.request.Request(self.url + path, method=method, headers={k.replace("_", "-"): v for k, v in headers.items() if v},
                                         data=None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                got, text = answer.status, answer.read()
        except urllib.error.HTTPError as e:
            got, text = e.code, e.read()
        self.assertEqual(got, status, text)
        return json.loads(text)

    def pending(self):
        self.wait_for(lambda: self.ask("GET", "/pending")["pending_calls"])
        calls = self.ask("GET", "/pending")["pending_calls"]
        self.assertEqual(len(calls), 1)
        return calls[0]

    def test_the_queue(self):
        process = self.begin("run", "-m", "human/human", "-s", "h", "make a file")
        first = self.pending()
        self.assertEqual(first["messages"][-1], {"role": "user", "content": "make a file"})
        self.assertEqual(self.ask("GET", "/status/" + first["id"])["status"], "pending")
        self.ask("POST", "/complete/" + first["id"], {"tool_calls": "none"}, 400)
        self.ask("POST", "/complete/" + first["id"], b"no json", 400)
        self.ask("POST", "/complete/nobody", {"response": "x"}, 404)
        call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": json.dumps({"command": "echo hi > file"})}}
        self.assertEqual(self.ask("POST", "/complete/" + first["id"], {"tool_calls": [call]}), {"status": "success"})
        self.assertEqual(self.kinds("h").count("model_answered"), 1)  # it was durable before it was said
        self.ask("POST", "/complete/" + first["id"], {"response": "again"}, 404)
        second = self.pending()
        self.assertNotEqual(second["id"], first["id"])
        self.assertEqual(self.ask("GET", "/status/" + first["id"])["status"], "completed")
        self.ask("POST", "/complete/" + second["id"], {"response": "It is there."})
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(b"It is there.", out)
        self.assertEqual((self.work / "file").read_text(), "hi\n")
        self.assertEqual(list((self.folder / "runtime" / "thole").glob("human*")), [])

    def test_what_is_remembered(self):
        """The status of the last TH_HUMAN_ANSWERED_MAX questions, and of no earlier one."""
        limits = (pathlib.Path(os.environ["SOURCE_DIR"]) / "src" / "base" / "limits.h").read_text()
        most = int(re.search(r"TH_HUMAN_ANSWERED_MAX (\d+)", limits)[1])
        process, asked = self.begin("run", "-m", "human/human", "-s", "h", "look"), []
        for n in range(most + 1):
            asked.append(self.pending()["id"])
            call = {"id": "c%d" % n, "type": "function", "function": {"name": "list_dir", "arguments": json.dumps({"path": "./" * n + "."})}}
            self.ask("POST", "/complete/" + asked[-1], {"tool_calls": [call]})
        last = self.pending()["id"]
        self.ask("GET", "/status/" + asked[0], status=404)
        self.assertEqual({self.ask("GET", "/status/" + id_)["status"] for id_ in asked[1:]}, {"completed"})
        self.ask("POST", "/complete/" + last, {"response": "Seen."})
        process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 0)

    def test_killed_while_he_thinks(self):
        """The same question has the same id; the reason of one who gives up is told."""
        self.env["HUMAN_API_KEY"] = house.KEY
        process = self.begin("run", "-m", "human/human", "-s", "k", "think")
        self.token = house.KEY
        first = self.pending()
        process.kill()
        process.communicate()
        process = self.begin("resume", "k")
        self.token = house.KEY
        self.assertEqual(self.pending()["id"], first["id"])
        self.ask("POST", "/fail/" + first["id"], {"error": "no idea"})
        out, err = process.communicate(timeout=house.SECONDS)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"could not do the task: no idea", out)

    def test_who_may_not(self):
        process = self.begin("run", "-m", "human/human", "-s", "w", "think")
        first = self.pending()
        for headers, status in (({"Authorization": None}, 401), ({"Authorization": "Bearer wrong"}, 401),
                                ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)):
            self.ask("GET", "/pending", None, status, **headers)
            self.ask("POST", "/complete/" + first["id"], {"response": "x"}, status, **headers)
        self.assertEqual(self.ask("GET", "/pending", Authorization=None, X_API_Key=self.token)["pending_calls"][0]["id"], first["id"])
        with socket.create_connection(("127.0.0.1", int(self.url.rsplit(":", 1)[1])), timeout=20) as s:
            s.sendall(b"POST /complete/x HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: 1048577\r\n\r\n" % self.token.encode())
            self.assertIn(b" 413 ", s.recv(4096))
        self.assertEqual(self.interrupt(process).code, 130)
        self.bad(2, "of the loopback", "run", "-m", "human/human", "x", "--base-url", "http://192.0.2.1:80")


if __name__ == "__main__":
    house.main()
