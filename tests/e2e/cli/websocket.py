# SPDX-License-Identifier: Apache-2.0
"""The client's end of a WebSocket, just enough for tests."""

import base64
import json
import os
import socket
import struct

import house


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__("%d %s" % (status, body[:500]))
        self.status, self.body = status, body


class Socket:
    def __init__(self, port, path, token=None, headers=None, buffer=None, tls=None):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(house.SECONDS)
        self.socket.connect(("127.0.0.1", port))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        sent = {"Host": "127.0.0.1:%d" % port, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
        if token:
            sent["Authorization"] = "Bearer " + token
        sent.update(headers or {})
        self.socket.sendall(("GET %s HTTP/1.1\r\n%s\r\n" % (path, "".join("%s: %s\r\n" % h for h in sent.items()))).encode())
        self.file = self.socket.makefile("rb")
        status = int(self.file.readline().split()[1])
        length = 0
        while (line := self.file.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if status != 101:
            body = self.file.read(length).decode()
            self.close()
            raise Refused(status, body)

    def send(self, message):
        """A text: a str, or what becomes JSON; or bytes."""
        code = 2 if isinstance(message, bytes) else 1
        if not isinstance(message, (str, bytes)):
            message = json.dumps(message)
        data = message.encode() if isinstance(message, str) else message
        head = bytes([0x80 | code])
        if len(data) < 126:
            head += bytes([0x80 | len(data)])
        elif len(data) < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(data))
        mask = os.urandom(4)
        masked = int.from_bytes(data, "big") ^ int.from_bytes((mask * (len(data) // 4 + 1))[:len(data)], "big")
        self.socket.sendall(head + mask + masked.to_bytes(len(data), "big"))

    def receive(self):
        """A message: a dict, bytes, or the code of a close."""
        whole, first = b"", None
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            code, size = head[0] & 15, head[1] & 127
            if size == 126:
                size, = struct.unpack(">H", self.file.read(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.file.read(8))
            data = self.file.read(size)
            if code == 8:
                return struct.unpack(">H", data[:2])[0] if data else 1005
            if code in (9, 10):
                continue
            first = code or first
            whole += data
            if head[0] & 128:
                return json.loads(whole) if first == 1 else whole

    def until(self, wanted):
        """The first message that `wanted` is true of."""
        while True:
            message = self.receive()
            if message is None or isinstance(message, int):
                raise AssertionError("the socket ended: %r" % (message,))
            if wanted(message):
                return message

    def close(self):
        self.file.close()
        self.socket.close()
