# SPDX-License-Identifier: Apache-2.0
"""Many cheap requests on one connection: they go out together, and their answers are read in order."""

import json
import socket
import time


class Answer:
    __slots__ = ("status", "body")

    def __init__(self, status, body):
        self.status, self.body = status, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %s" % (self.status, self.body[:2000])


class Line:
    """A connection of HTTP/1.1 with requests under way; check(answer) is called for each, in order, by read()."""

    def __init__(self, port, seconds=60):
        self.host = b"Host: 127.0.0.1:%d\r\n" % port
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.out, self.checks, self.have, self.at = [], [], b"", 0

    def put(self, method, path, body, door, check):
        """`door`: header lines that say who asks, each with its end."""
        text = json.dumps(body).encode() if body is not None else b""
        kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(text) if body is not None else b""
        request = (b"%s %s HTTP/1.1\r\n%s%s%s\r\n%s" % (method.encode(), path.encode(), self.host, door, kind, text))
        self.out.append(request)
        self.checks.append((request, check))

    def send(self):
        self.socket.sendall(b"".join(self.out))
        self.out = []

    def read(self):
        """A server that has too much to do did nothing, and is asked again, a minute long; the checks come in order."""
        answers, asked = [self.answer() for _ in self.checks], self.checks
        self.checks = []
        for answer, (request, check) in zip(answers, asked):
            tries = 600
            while answer.status == 503 and b'"overloaded"' in answer.body and tries:
                time.sleep(0.1)
                self.socket.sendall(request)
                answer, tries = self.answer(), tries - 1
            check(answer)
        self.have, self.at = self.have[self.at:], 0

    def close(self):
        self.socket.close()

    def more(self):
        piece = self.socket.recv(262144)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self.have, self.at = self.have[self.at:] + piece, 0

    def until(self, mark):
        while (end := self.have.find(mark, self.at)) < 0:
            self.more()
        found, self.at = self.have[self.at:end], end + len(mark)
        return found

    def take(self, size):
        while len(self.have) - self.at < size:
            self.more()
        found = self.have[self.at:self.at + size]
        self.at += size
        return found

    def answer(self):
        head = self.until(b"\r\n\r\n")
        status, lower = int(head[9:12]), head.lower()
        at = lower.find(b"\r\ncontent-length:")
        if at >= 0:
            return Answer(status, self.take(int(lower[at + 17:].split(b"\r\n", 1)[0])))
        if b"\r\ntransfer-encoding: chunked" not in lower:
            return Answer(status, b"")
        pieces = []
        while size := int(self.until(b"\r\n"), 16):
            pieces.append(self.take(size))
            self.until(b"\r\n")
        self.until(b"\r\n")
        return Answer(status, b"".join(pieces))
