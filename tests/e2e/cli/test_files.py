# SPDX-License-Identifier: Apache-2.0
"""What an agent changed in its folder: the list, diffs, downloads, and nothing outside of it."""

import os
import pathlib
import re
import select
import socket
import unittest
import urllib.parse

import house
import serving


def say(text):
    return [{"text": text}]


def shell(command):
    return [{"function_call": {"name": "shell", "arguments": {"command": command}}}]


def apply(before, diff):
    """A text after a unified diff of it, strictly: each line that the diff names must be there."""
    old, new, at = before.splitlines(True), [], 0
    lines = diff.splitlines(True)[2:]
    for i, line in enumerate(lines):
        if line.startswith("@@"):
            first, count = re.match(r"@@ -(\d+)(?:,(\d+))? ", line).groups()
            start = int(first) - (count != "0")
            new += old[at:start]
            at = start
            continue
        if line.startswith("\\"):
            continue
        text = line[1:]
        if i + 1 < len(lines) and lines[i + 1].startswith("\\"):
            text = text[:-1]
        if line[0] in " -":
            assert old[at] == text, (old[at], text)
            at += 1
        if line[0] in " +":
            new.append(text)
    return "".join(new + old[at:])


class Files(serving.Served):
    def run_in(self, command, prepare=None):
        """The path of the files of a session whose agent did this in its folder, where `prepare` put something first."""
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\ntools: [shell]\n")
        self.place = self.work / "one"
        if prepare:
            self.place.mkdir(mode=0o700)
            prepare(self.place)
        self.serve(shell(command), say("Done."), say("More."))
        self.serve_http("--agents", agents, "--workspaces", self.work)
        self.good_call("POST", "/api/sessions", {"message": "Do it.", "id": "one", "agent": "worker"}, status=201)
        connection, response = self.stream("/api/sessions/one/events?until=rest")
        kinds = [f[1] for f in serving.frames(response)]
        connection.close()
        self.assertEqual(kinds[-1], "final")
        return "/api/sessions/one/files"

    def changes(self, path):
        answer = self.good_call("GET", path)
        self.assertTrue(answer["complete"], answer)
        return {f["path"]: f for f in answer["files"]}

    def get(self, path, name, what="content", **more):
        return self.call("GET", "%s/%s?path=%s" % (path, what, urllib.parse.quote(name, safe="")), **more)

    def test_no_more_than_so_many_at_a_time(self):
        """TH_FILES_JOBS_MAX of a server: here they wait for what the folder was."""
        path = self.run_in("touch a", lambda place: (place / "b").write_text("b"))
        start = self.work / ".starts" / "one" / "manifest"
        aside, pipe = self.folder / "aside", self.folder / "pipe"
        start.rename(aside)
        os.mkfifo(start)
        lines = [self.connect() for _ in range(5)]
        for line in lines:
            self.addCleanup(line.close)
            line.request("GET", path, headers={"Authorization": "Bearer " + serving.TOKENS["alice"]})
        answered = select.select([line.sock for line in lines], [], [], house.SECONDS)[0]
        one, = [line for line in lines if line.sock in answered]
        refused = serving.Answer(one.getresponse())
        self.assertEqual((refused.status, refused.headers["Retry-After"], refused.json()["error"]["code"]), (429, "1", "busy"))
        start.rename(pipe)
        aside.rename(start)
        os.close(os.open(pipe, os.O_RDWR))
        self.assertNotIn(429, [line.getresponse().status for line in lines if line is not one])
        self.assertEqual(set(self.changes(path)), {"a"})

    def refused(self, path, name, status, words, what="content"):
        answer = self.get(path, name, what)
        self.assertEqual(answer.status, status, answer)
        self.assertIn(words, answer.json()["error"]["message"])

    def test_added_changed_removed(self):
        before = {"kept.txt": "kept\n", "list.txt": "".join("line %d\n" % i for i in range(60)), "gone.txt": "one\ntwo\n", "sub/end": "no newline",
                  "same size": "aaaa", "picture": b"\x89PNG\0\1".decode("latin-1")}

        def prepare(place):
            (place / "sub").mkdir()
            for name, text in before.items():
                (place / name).write_bytes(text.encode("latin-1"))
            (place / "large").write_text("x\n" * 200000)
            os.utime(place / "same size", (1, 1))

        path = self.run_in(
            "sed -i -e '3s/.*/third/' -e '40d' -e '55a more' list.txt; rm gone.txt; printf ' now' >> sub/end; printf bbbb > 'same size'; touch -d @1 'same size'; touch kept.txt;"
            " printf 'x' >> picture; echo y >> large; mkdir -p new/deep; printf 'new\\n' > 'new/deep/a b%.txt'; : > empty", prepare)
        found = self.changes(path)
        self.assertEqual({n: (f["state"], f["was_size"], f["size"], f["binary"]) for n, f in found.items()}, {
            "list.txt": ("changed", len(before["list.txt"]), (self.place / "list.txt").stat().st_size, False),
            "gone.txt": ("removed", 8, None, False), "sub/end": ("changed", 10, 14, False), "same size": ("changed", 4, 4, False),
            "picture": ("changed", 6, 7, True), "large": ("changed", 400000, 400002, False), "new/deep/a b%.txt": ("added", None, 4, False),
            "empty": ("added", None, 0, False)})
        for name in ("list.txt", "gone.txt", "sub/end", "same size", "new/deep/a b%.txt"):
            answer = self.get(path, name, "diff")
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/x-diff; charset=utf-8"), answer)
            now = (self.place / name).read_text() if (self.place / name).exists() else ""
            self.assertEqual(apply(before.get(name, ""), answer.body.decode()), now, answer)
        self.assertEqual(self.get(path, "gone.txt", "diff").body, b"--- a/gone.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
        self.assertEqual(self.get(path, "new/deep/a b%.txt", "diff").body, b"--- /dev/null\n+++ b/new/deep/a b%.txt\n@@ -0,0 +1 @@\n+new\n")
        self.assertEqual(self.get(path, "kept.txt", "diff").body, b"")
        self.refused(path, "picture", 409, "no text", "diff")
        self.refused(path, "large", 409, "is not kept", "diff")
        self.refused(path, "no such", 404, "", "diff")
        answer = self.get(path, "new/deep/a b%.txt")
        self.assertEqual((answer.status, answer.body, answer.headers["X-Content-Type-Options"], answer.headers["Content-Disposition"]),
                         (200, b"new\n", "nosniff", "attachment; filename=\"a b_.txt\"; filename*=UTF-8''a%20b%25.txt"))
        # Without a token nothing, another user's as if it was not there.
        for what in ("", "/diff?path=list.txt", "/content?path=list.txt"):
            self.assertEqual(self.call("GET", path + what, who=None).status, 401)
            self.assertEqual(self.call("GET", path + what, who="bob").status, 404)
            self.assertEqual(self.call("GET", path + what, who="reader").status, 200)
        # Another session's message, or one of the same name, changes nothing of what it began with.
        kept = self.work / ".starts" / "one"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o700)
        stamp = (kept / "manifest").stat().st_mtime_ns
        self.assertEqual(self.call("POST", "/api/sessions", {"message": "x", "id": "one", "agent": "worker"}, who="bob").status, 409)
        self.assertEqual((kept / "manifest").stat().st_mtime_ns, stamp)
        self.assertEqual(self.call("DELETE", "/api/sessions/one").status, 204)
        self.wait_for(lambda: not [n for n in os.listdir(self.work) + os.listdir(self.work / ".starts") if n != ".starts"])
        self.assertEqual(self.call("GET", path).status, 404)

    def test_nothing_outside(self):
        (self.folder / "secret").write_text("outside\n")
        path = self.run_in(
            "ln -s /etc/passwd passwd; ln -s %s out; ln -s . loop; mkfifo pipe; truncate -s 100M sparse; mkdir d; echo in > d/file; ln -s d inside;"
            " printf x > \"$(printf 'bad\\377name')\"; printf '<b>' > page.html" % self.folder)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.place / "socket"))
        # Somebody who asks for a session of this name does not make what is there now its beginning.
        self.assertEqual(self.call("POST", "/api/sessions", {"message": "x", "id": "one", "agent": "worker"}, who="bob").status, 409)
        found = self.changes(path)
        self.assertEqual({n: f["kind"] for n, f in found.items()}, {
            "passwd": "link", "out": "link", "loop": "link", "inside": "link", "pipe": "special", "socket": "special", "sparse": "file", "d/file": "file",
            "bad\ufffdname": "file", "page.html": "file"})
        self.assertEqual((found["sparse"]["size"], found["sparse"]["binary"]), (100 << 20, True))
        self.assertEqual(found["bad\ufffdname"]["encoded"], "bad%FFname")
        self.assertEqual(self.call("GET", path + "/content?path=bad%FFname").body, b"x")
        for what in ("content", "diff"):
            self.refused(path, "passwd", 403, "link", what)
            self.refused(path, "out/secret", 403, "link", what)
            self.refused(path, "inside/file", 403, "link", what)
            self.refused(path, "pipe", 409, "no ordinary file", what)
            self.refused(path, "socket", 409, "no ordinary file", what)
            self.refused(path, "d", 409, "no ordinary file", what)
            self.refused(path, "sparse", 413, "larger than", what)
            for name in ("../secret", "..", ".", "/etc/passwd", "d/../../secret", "d//file", "d/", "./d/file", "../.starts/one/manifest"):
                self.refused(path, name, 400, "below the", what)
            for query in ("", "?path=", "?path=a%00b"):
                self.assertEqual(self.call("GET", path + "/" + what + query).status, 400)
            self.refused(path, "d/none", 404, "", what)
            self.refused(path, "x" * 300, 404, "", what)
        self.assertEqual(self.get(path, "d/file").body, b"in\n")
        self.assertEqual(self.get(path, "page.html").headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(self.get(path, "d/file", "diff").body, b"--- /dev/null\n+++ b/d/file\n@@ -0,0 +1 @@\n+in\n")
        if os.geteuid() == 0:  # a second name for what only root may read
            os.link(self.folder / "secret", self.place / "hard")
            os.chown(self.folder / "secret", 1, 1)
            self.refused(path, "hard", 403, "another name")
        # A session without a folder of its own.
        self.good_call("POST", "/api/sessions/one/fork", {"id": "branch"}, status=201)
        answer = self.call("GET", "/api/sessions/branch/files")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (404, "no_folder"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
