# SPDX-License-Identifier: Apache-2.0
"""The screen of a session over a WebSocket: what is on the desktop is what the viewer has."""

import pathlib
import struct
import unittest
import zlib

import serving
import websocket

PAINTER = pathlib.Path(__file__).with_name("painter.py").read_text()
DESK = "name: desk\nmodel: gpt-5.4\ncomputer: {kind: desktop, width: 700, height: 500}\n"


def png(data):
    """(width, height, rows of RGB) of a file without filters, as thole writes them."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height = struct.unpack(">II", data[at + 8:at + 16])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    plain, line = zlib.decompress(packed), 3 * width + 1
    assert all(plain[y * line] == 0 for y in range(height))
    return width, height, [plain[y * line + 1:(y + 1) * line] for y in range(height)]


def tiles(message):
    version, flags, count, frame = struct.unpack("<BBHI", message[:8])
    assert (version, flags) == (1, 0)
    at, found = 8, []
    for _ in range(count):
        x, y, width, height, size = struct.unpack("<HHHHI", message[at:at + 12])
        found.append((x, y, width, height, message[at + 12:at + 12 + size]))
        at += 12 + size
    assert at == len(message)
    return frame, found


class Viewer(websocket.Socket):
    """Keeps what a canvas would show."""

    rows = None

    def see(self, wanted):
        """Until the canvas is as wanted."""
        while not (self.rows and wanted(self.rows)):
            message = self.receive()
            if isinstance(message, dict) and message["type"] == "screen":
                self.rows = [bytearray(3 * message["width"]) for _ in range(message["height"])]
            elif isinstance(message, dict) and message["type"] == "none":
                self.rows = None
            elif isinstance(message, bytes):
                for x, y, width, height, data in tiles(message)[1]:
                    size = png(data)
                    assert size[:2] == (width, height)
                    for i, row in enumerate(size[2]):
                        self.rows[y + i][3 * x:3 * (x + width)] = row
            elif not isinstance(message, dict):
                raise AssertionError("the socket ended: %r" % (message,))


class Screens(serving.Served):
    def setUp(self):
        super().setUp()
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "desk.yaml").write_text(DESK)
        self.serve_http("--agents", agents)

    def begin(self):
        return self.good_call("POST", "/api/sessions", {"agent": "desk"}, status=201)["session_id"]

    def watch(self, name, query="format=png&rate=30", who="alice", **more):
        return Viewer(self.port, "/api/sessions/%s/screen?%s" % (name, query), serving.TOKENS[who], **more)

    def picture(self, name):
        self.good("computer", "-s", name, "see", "-o", self.work / "p.png")
        return png((self.work / "p.png").read_bytes())[2]

    def paint(self, name, *colours):
        lines = "\n".join("%02x%02x%02x" % colour for colour in colours)
        self.good("computer", "-s", name, "shell", "cat > $HOME/p.py <<'END'\n%sEND\n/usr/bin/python3 $HOME/p.py <<END\n%s\nEND" % (PAINTER, lines))

    def test_what_is_drawn_is_seen_by_all(self):
        name = self.begin()
        one = self.watch(name)
        self.paint(name, (200, 30, 40))
        one.see(lambda rows: rows[0][:3] == bytes((200, 30, 40)) and rows[499][-3:] == bytes((200, 30, 40)))
        self.assertEqual([bytes(r) for r in one.rows], self.picture(name))
        # Who comes later has all of it, and both go on.
        two = self.watch(name)
        two.see(lambda rows: rows[250][:3] == bytes((200, 30, 40)))
        self.paint(name, (1, 2, 250))
        for viewer in (one, two):
            viewer.see(lambda rows: rows[499][-3:] == bytes((1, 2, 250)) and rows[0][:3] == bytes((1, 2, 250)))
            self.assertEqual([bytes(r) for r in viewer.rows], self.picture(name))
        self.good("computer", "-s", name, "move", "321", "123")
        self.assertEqual(one.until(lambda m: isinstance(m, dict) and m["type"] == "pointer" and m["x"] == 321)["y"], 123)
        one.close()
        two.close()

    def test_formats(self):
        name = self.begin()
        for form, begins in (("jpeg", b"\xff\xd8\xff"), ("webp", b"RIFF"), ("png", b"\x89PNG")):
            viewer = self.watch(name, "format=%s&quality=60" % form)
            self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "screen"),
                             {"type": "screen", "width": 700, "height": 500})
            found = tiles(viewer.until(lambda m: isinstance(m, bytes)))[1]
            self.assertEqual(len(found), 12)
            self.assertEqual(sum(t[2] * t[3] for t in found), 700 * 500)
            self.assertTrue(all(t[4].startswith(begins) for t in found))
            viewer.close()
        for query in ("format=gif", "quality=0", "quality=101", "rate=31", "rate=x"):
            with self.assertRaises(websocket.Refused) as caught:
                self.watch(name, query)
            self.assertEqual(caught.exception.status, 400)
        self.assertEqual(self.call("GET", "/api/sessions/%s/screen" % name).status, 426)

    def test_whose_it_is(self):
        name = self.begin()
        for who, status in (("bob", 404), (None, 401)):
            with self.assertRaises(websocket.Refused) as caught:
                Viewer(self.port, "/api/sessions/%s/screen" % name, serving.TOKENS.get(who))
            self.assertEqual(caught.exception.status, status)
        with self.assertRaises(websocket.Refused) as caught:
            self.watch(name, headers={"Origin": "https://evil.example"})
        self.assertEqual(caught.exception.status, 403)
        self.watch(name, who="reader").see(lambda rows: True)

    def test_a_desktop_that_goes_and_comes(self):
        name = self.begin()
        viewer = self.watch(name)
        viewer.see(lambda rows: True)
        self.good("computer", "-s", name, "end")
        said = viewer.until(lambda m: isinstance(m, dict) and m["type"] == "none")
        self.assertTrue(said["reason"])
        self.good("computer", "-s", name, "-c", "desktop:320x240", "size")
        self.assertEqual(viewer.until(lambda m: isinstance(m, dict) and m["type"] == "screen"),
                         {"type": "screen", "width": 320, "height": 240})
        viewer.close()

    def test_watching_starts_and_keeps_nothing(self):
        name = self.begin()
        viewer = self.watch(name)
        viewer.see(lambda rows: True)
        self.good("computer", "-s", name, "end")
        viewer.until(lambda m: isinstance(m, dict) and m["type"] == "none")
        other = self.watch(name)
        other.until(lambda m: isinstance(m, dict) and m["type"] == "none")
        folders = [p for p in pathlib.Path(self.env["XDG_STATE_HOME"]).rglob("lock") if "executor" in str(p)]
        self.assertEqual([p for p in folders if name in str(p)], [])
        self.assertEqual(self.server.poll(), None)
        self.end_http()
        self.assertIsInstance(other.receive(), int)

    def test_a_slow_reader_skips(self):
        name = self.begin()
        slow, fast = self.watch(name, buffer=4096), self.watch(name)
        for i in range(4):
            self.paint(name, *((10 * i + k, 2 * k, 200) for k in range(10)))
            fast.see(lambda rows: rows[0][0] == 10 * i + 9 and rows[499][-3] == 10 * i + 9)
        slow.see(lambda rows: rows[0][0] == 39 and rows[499][-3] == 39)
        self.assertEqual([bytes(r) for r in slow.rows], [bytes(r) for r in fast.rows])
        slow.close()
        fast.close()


if __name__ == "__main__":
    unittest.main()
