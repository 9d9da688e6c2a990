# SPDX-License-Identifier: Apache-2.0
"""A relay between libpq and a server that counts the messages of both sides and does something at one of them, once."""

import socket
import struct
import threading

SECONDS = 60  # a server that was killed comes back within it


class Relay:
    """`at`: the number of the message, from 1, instead of which both connections are cut; `then` is called first.  Connections
    that come later go through as they are."""

    def __init__(self, port, at=0, then=None):
        self.target, self.at, self.then = port, at, then
        self.count = 0
        self.kinds = []  # "F" or "B" and the type of each message so far
        self.lock = threading.Lock()
        self.pumps = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        """When the client has ended: what it said last has been counted and looked at then."""
        self.listener.close()
        for pump in self.pumps:
            pump.join(SECONDS)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for side, one, other in (("F", client, server), ("B", server, client)):
                self.pumps.append(threading.Thread(target=self.pump, args=(side, one, other), daemon=True))
                self.pumps[-1].start()

    @staticmethod
    def exactly(stream, count):
        data = b""
        while len(data) < count:
            part = stream.recv(count - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def pump(self, side, one, other):
        started = side == "B"  # the client's first message has no type
        try:
            while True:
                kind = self.exactly(one, 1) if started else b""
                size = self.exactly(one, 4)
                data = kind + size + self.exactly(one, struct.unpack("!I", size)[0] - 4)
                started = True
                if self.is_it(side + kind.decode("latin-1")):
                    if self.then:
                        self.then()
                    break
                if self.passes(side + kind.decode("latin-1")):
                    other.sendall(data)
        except OSError:
            pass
        for s in (one, other):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def passes(self, kind):
        """One that does not is lost, and all else goes on."""
        return True

    def is_it(self, kind):
        with self.lock:
            self.count += 1
            self.kinds.append(kind)
            return self.count == self.at
