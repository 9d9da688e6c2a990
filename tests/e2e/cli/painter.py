# SPDX-License-Identifier: Apache-2.0
"""Paints the root window of DISPLAY: painter.py RRGGBB [X Y WIDTH HEIGHT], or lines of that on standard input."""

import os
import socket
import struct
import sys


def cookie():
    data, at = open(os.environ["XAUTHORITY"], "rb").read(), 2
    fields = []
    for _ in range(4):
        size, = struct.unpack(">H", data[at:at + 2])
        fields.append(data[at + 2:at + 2 + size])
        at += 2 + size
    return fields[2], fields[3]


def padded(data):
    return data + b"\0" * (-len(data) % 4)


class Display:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect("/tmp/.X11-unix/X" + os.environ["DISPLAY"].split(":")[1].split(".")[0])
        self.file = self.socket.makefile("rb")
        name, data = cookie()
        self.socket.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(data)) + padded(name) + padded(data))
        good, size = struct.unpack("<BxHHH", self.file.read(8))[0::3]
        setup = self.file.read(4 * size)
        if good != 1:
            raise SystemExit("the display refuses: %r" % setup)
        base, = struct.unpack("<I", setup[4:8])
        vendor, = struct.unpack("<H", setup[16:18])
        formats = setup[21]
        self.root, = struct.unpack("<I", setup[32 + (vendor + 3) // 4 * 4 + 8 * formats:][:4])
        self.gc = base
        self.send(55, struct.pack("<IIII", self.gc, self.root, 1 << 15, 1))  # graphics context: over its children, too

    def send(self, code, data, detail=0):
        self.socket.sendall(struct.pack("<BBH", code, detail, 1 + len(data) // 4) + data)

    def paint(self, colour, x=0, y=0, width=16383, height=16383):
        self.send(56, struct.pack("<III", self.gc, 4, colour))
        self.send(70, struct.pack("<IIhhHH", self.root, self.gc, x, y, width, height))
        self.send(43, b"")  # a question, so that it is done when its answer comes
        while self.file.read(32)[0] != 1:
            pass


display = Display()
for words in [sys.argv[1:]] if sys.argv[1:] else (line.split() for line in sys.stdin):
    display.paint(int(words[0], 16), *map(int, words[1:]))
