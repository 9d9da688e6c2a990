# SPDX-License-Identifier: Apache-2.0
"""Cua's computer-server face of thole serve: each command on one real desktop, exact answers, and who is kept out."""

import base64
import http.client
import http.server
import json
import os
import pathlib
import select
import shutil
import signal
import struct
import threading
import time
import unittest

import house
import serving
import websocket

TOKEN = serving.TOKENS["runner"]
PAINT = "printf 'P6 2 2 255\\n\\377\\0\\0\\377\\0\\0\\377\\0\\0\\377\\0\\0' > red.ppm"
PNG, JPEG = b"\x89PNG\r\n", b"\xff\xd8\xff"


def words(path):
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


class Cua(serving.Served):
    def serve_cua(self, *args):
        self.serve_http("--cua", "127.0.0.1:0", *args)
        line = self.server.stdout.readline().decode()
        self.assertTrue(line.startswith("Cua's computer-server at http://127.0.0.1:"), line)
        self.api, self.port = self.port, int(line.rsplit(":", 1)[1])
        self.home = pathlib.Path(self.env["XDG_STATE_HOME"]) / "thole" / "cua"

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)
        try:
            connection.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            return serving.Answer(connection.getresponse())
        finally:
            connection.close()

    def line(self, message, **headers):
        """The body of an answer to POST /cmd."""
        answer = self.request("POST", "/cmd", message if isinstance(message, str) else json.dumps(message), **{"X_API_Key": TOKEN, **headers})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/plain; charset=utf-8"), answer)
        self.assertEqual(answer.headers["Cache-Control"], "no-cache")
        text = answer.body.decode("ascii")
        self.assertTrue(text.startswith("data: ") and text.endswith("\n\n"), text[:100])
        # To the byte what Python's json.dumps makes of it.
        self.assertEqual(text[6:-2], json.dumps(json.loads(text[6:])))
        self.assertEqual(next(iter(json.loads(text[6:]))), "success")
        return json.loads(text[6:])

    def do(self, name, /, **params):
        return self.line({"command": name, "params": params})

    def done(self, name, wanted=None, /, **params):
        self.assertEqual(self.do(name, **params), {"success": True, **(wanted or {})}, name)

    def failed(self, name, error, /, **params):
        self.assertEqual(self.do(name, **params), {"success": False, "error": error}, name)

    def test_desktop(self):
        self.serve_cua()
        self.done("version", {"protocol": 1, "package": "0.3.42"})
        size = self.do("get_screen_size")["size"]
        self.assertEqual(size, {"width": 1280, "height": 800})
        for params, start, form in (({}, PNG, "png"), ({"format": "PNG"}, PNG, "png"), ({"format": "jpg", "quality": 300}, JPEG, "jpeg")):
            shot = self.do("screenshot", **params)
            self.assertEqual((list(shot), shot["format"]), (["success", "image_data", "format"], form))
            self.assertTrue(base64.b64decode(shot["image_data"]).startswith(start))
        self.failed("screenshot", "Unsupported screenshot format 'webp'. Supported: ['jpeg', 'png']", format="webp")
        for command, params, at in (
                ("move_cursor", {"x": 30, "y": 40}, (30, 40)), ("left_click", {"x": 50.4, "y": "60"}, (50, 60)),
                ("right_click", {"x": 1, "y": 2}, (1, 2)), ("double_click", {"x": 3, "y": 4}, (3, 4)),
                ("middle_click", {"x": 5, "y": 6}, (5, 6)), ("click", {"x": 7, "y": 8, "button": "right"}, (7, 8)), ("tap", {}, (7, 8)),
                ("mouse_down", {"x": 9, "y": 9}, (9, 9)), ("drag_to", {"x": 20, "y": 21}, (20, 21)), ("mouse_up", {"x": 11, "y": 12}, (11, 12)),
                ("drag_to", {"start_x": 1, "start_y": 1, "end_x": 31, "end_y": 32, "duration": 0}, (31, 32)),
                ("drag", {"path": [[1, 1], [2, 2], [33, 34]], "duration": 0}, (33, 34)),
                ("drag", {"path": [{"x": 41, "y": 42}], "duration": 0}, (41, 42)),
                ("scroll", {"x": 0, "y": -3}, (41, 42)), ("scroll", {"x": 70, "y": 71, "scroll_y": 1}, (70, 71)), ("scroll_up", {}, (70, 71)),
                ("scroll_down", {"clicks": 2}, (70, 71)), ("scroll_direction", {"direction": "left"}, (70, 71))):
            with self.subTest(command, **params):
                self.done(command, **params)
                self.done("get_cursor_position", {"position": {"x": at[0], "y": at[1]}})
        self.failed("move_cursor", "move_cursor() missing 1 required positional argument: 'y'", x=3)
        self.failed("drag", "Path is empty", path=[])
        self.failed("scroll_direction", "Invalid direction: in. Use 'up', 'down', 'left', or 'right'.", direction="in")
        self.assertIn("outside the screen", self.do("left_click", x=5000, y=1)["error"])
        self.done("set_clipboard", text="Größe 😀")
        self.done("copy_to_clipboard", {"content": "Größe 😀"})
        self.failed("type_text", "type_text() missing 1 required positional argument: 'text'")
        self.failed("diorama_cmd", "Diorama is not supported on this OS yet.")
        self.done("get_desktop_environment", {"environment": "unknown"})
        self.done("get_environment", {"environment": "linux"})

    def test_wallpaper(self):
        self.serve_cua()
        self.failed("set_wallpaper", "there is no file none", path="none")
        if not shutil.which("feh"):
            self.assertIn("needs the program feh", self.do("set_wallpaper", path=".")["error"])
            self.skipTest("feh is not installed")
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0}, command=PAINT)
        before = self.do("screenshot")["image_data"]
        self.done("set_wallpaper", path="red.ppm")
        self.until(lambda: self.do("screenshot")["image_data"] != before)
        self.assertFalse(self.do("set_wallpaper", path=".")["success"])

    def test_the_tree_of_elements(self):
        self.serve_cua()
        place = {"position": {"x": 0, "y": 0}, "size": {"width": 1280, "height": 800}, "bounds": {"x": 0, "y": 0, "width": 1280, "height": 800}}
        self.done("get_accessibility_tree", {"tree": {"role": "Window", "title": "Desktop", **place, "children": []}})
        self.do("launch", app="zenity --question --text=Continue? --ok-label=Yes-of-course --cancel-label=Never")
        found = {}

        def is_there():
            tree = self.do("get_accessibility_tree")["tree"]
            self.assertTrue(all(list(e) == ["role", "title", "position", "size", "bounds", "children"] for e in tree["children"]))
            found.update((e["title"], e) for e in tree["children"])
            return "Never" in found
        self.wait_for(is_there)
        self.assertIn("Yes-of-course", found)
        named = self.do("find_element", title="Never")
        self.assertEqual(named, {"success": True, "element": found["Never"]})
        self.assertEqual(self.do("find_element", title="Never", role=found["Never"]["role"]), named)
        for wish in ({"title": "Neve"}, {"title": "Never", "role": "nothing"}, {"title": "Never", "value": "x"}):
            self.failed("find_element", "Element not found", **wish)
        self.failed("find_element", "find_element() needs role, title or value")
        # Where it says that it is: a click there ends the program, as the person's would.
        at = found["Never"]["bounds"]
        self.done("left_click", x=at["x"] + at["width"] // 2, y=at["y"] + at["height"] // 2)
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0},
                  command="while pgrep -x zenity >/dev/null; do sleep 0.05; done", timeout=30)

    def test_no_more_than_so_many_commands(self):
        """128 at a time, and 256 that wait on one socket (limits.h)."""
        self.serve_cua()
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0}, command="mkfifo gate")
        body = json.dumps({"command": "run_command", "params": {"command": "[ -e go ] || read x < gate", "timeout": 60}})
        waiting = []
        for _ in range(127):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)
            connection.request("POST", "/cmd", body=body, headers={"X-API-Key": TOKEN})
            waiting.append(connection)
        socket = websocket.Socket(self.port, "/ws", TOKEN)
        socket.send(json.loads(body))
        self.wait_for(lambda: self.request("POST", "/cmd", '{"command":"version"}', X_API_Key=TOKEN).status == 429)
        refused = self.request("POST", "/cmd", '{"command":"version"}', X_API_Key=TOKEN)
        self.assertEqual((refused.status, refused.json()), (429, {"detail": "128 commands are under way"}))
        for _ in range(257):
            socket.send({"command": "version"})
        self.assertEqual(socket.receive(), 1008)
        socket.close()
        # They end with their shells, and there is room again.
        (self.home / "go").touch()
        for connection in waiting:
            while not select.select([connection.sock], [], [], 0.1)[0]:
                try:
                    os.close(os.open(self.home / "gate", os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    pass  # none of them is at the gate just now
            self.assertTrue(connection.getresponse().read())
            connection.close()
        self.wait_for(lambda: self.request("POST", "/cmd", '{"command":"version"}', X_API_Key=TOKEN).status == 200)

    def test_keys_reach_programs(self):
        self.serve_cua()
        self.assertGreater(self.do("launch", app="xterm -maximized -e sh -c 'touch up; cat > typed.txt'")["pid"], 1)
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0},
                  command="until [ -e up ] && xwininfo -root -tree | grep -q xterm; do sleep 0.05; done", timeout=30)
        self.done("left_click", x=300, y=300)
        self.done("type_text", text="helloo")
        self.done("press_key", key="backspace")
        self.done("key_down", key="shift")
        self.done("press_key", key="a")
        self.done("key_up", key="shift")
        self.done("type", text="é")
        self.done("key", key="Enter")
        self.done("hotkey", keys=["ctrl", "d"])
        self.done("run_command", {"stdout": "helloA\u00e9\n", "stderr": "", "return_code": 0},
                  command="until [ -s typed.txt ]; do sleep 0.05; done; cat typed.txt", timeout=30)
        self.assertIn("nokey", self.do("press_key", key="nokey")["error"])

    def test_windows(self):
        self.serve_cua()
        if not (shutil.which("xdotool") and shutil.which("wmctrl")):
            self.assertIn("xdotool, wmctrl", self.do("get_application_windows")["error"])
            self.skipTest("xdotool and wmctrl are not installed")
        # The desktop takes commands before its window manager has begun, which is who knows of windows.
        self.wait_for(lambda: self.do("get_application_windows")["success"])
        self.assertEqual(self.do("get_application_windows"), {"success": True, "windows": []})
        self.failed("get_current_window_id", "No active window")
        self.done("get_active_window_title", {"title": "", "result": ""})
        self.do("launch", app="xterm -geometry 80x24+100+120 -T 'Name $(id) one' -e sleep 300")
        found = lambda **more: self.do("get_application_windows", **more)["windows"]
        self.until(lambda: found(app="NAME $(ID)"))
        window, = found()
        self.assertEqual(found(app="other"), [])
        self.until(lambda: self.do("get_current_window_id") == {"success": True, "window_id": window})
        self.done("get_window_name", {"name": "Name $(id) one"}, window_id=window)
        self.done("get_active_window_title", {"title": "Name $(id) one", "result": "Name $(id) one"})
        self.done("set_window_size", window_id=str(window), width=400, height=300)
        # A terminal's size is whole characters.
        self.until(lambda: abs(self.do("get_window_size", window_id=window)["width"] - 400) < 20)
        self.done("set_window_position", window_id=window, x=200, y=150)
        self.until(lambda: self.do("get_window_position", window_id=window) == {"success": True, "x": 200, "y": 150})
        self.done("maximize_window", window_id=window)
        self.until(lambda: self.do("get_window_size", window_id=window)["width"] > 1200)
        self.assertEqual(list(self.do("get_active_window_bounds")), ["success", "x", "y", "width", "height"])
        self.done("minimize_window", window_id=window)
        self.until(lambda: self.do("get_current_window_id").get("window_id") != window)
        self.done("activate_window", window_id=window)
        self.until(lambda: self.do("get_current_window_id").get("window_id") == window)
        for name in ("get_window_name", "close_window", "activate_window", "get_window_size"):
            self.failed(name, "Window not found", window_id=99999999)
            self.failed(name, "Window not found", window_id="1; touch bad")
        self.assertIn("positional argument: 'window_id'", self.do("get_window_name")["error"])
        self.assertIn("width is a number of pixels", self.do("set_window_size", window_id=window, width="$(touch bad)", height=5)["error"])
        self.done("close_window", window_id=window)
        self.until(lambda: found() == [])
        self.failed("open", "there is no file none", target="none")
        self.assertFalse((self.home / "bad").exists())

    def until(self, is_so):
        for _ in range(house.SECONDS * 10):
            if is_so():
                return
            time.sleep(0.1)
        self.fail("it did not come to that")

    def test_commands_and_files(self):
        self.serve_cua()
        self.done("run_command", {"stdout": "hi", "stderr": "", "return_code": 3}, command="printf hi; exit 3")
        self.done("exec", {"stdout": "it's\n", "stderr": "bad\n", "return_code": 0}, command="echo \"it's\"; echo bad >&2")
        self.assertEqual(self.do("run_command", command="sleep 9", timeout=0.3),
                         {"success": False, "stdout": "", "stderr": "Command timed out after 0.3s", "return_code": -1})
        self.do("run_command", command="echo ended here; sleep 9", timeout=0.3)
        self.done("run_command", {"stdout": "0\n", "stderr": "", "return_code": 0},  # its folder is gone, too
                  command="cat \"${TMPDIR:-/tmp}\"/tmp.*/o | grep -c 'ended here' || true")
        long = self.do("shell", command="head -c 3000000 /dev/zero | tr '\\0' x; echo e >&2")
        self.assertEqual((len(long.get("stdout", "")), long.get("stderr"), long.get("error")), (3000000, "e\n", None))
        self.done("mkdir", path="a b'c/d")
        self.done("write_text", path="a b'c/t", content="Zeile\nGröße 'x' $HOME `id`\n")
        self.assertEqual((self.home / "a b'c" / "t").read_text(), "Zeile\nGröße 'x' $HOME `id`\n")
        self.done("read_text", {"content": "Zeile\nGröße 'x' $HOME `id`\n"}, path="a b'c/t")
        data = bytes(range(256)) * 6000
        self.done("write_bytes", path="b", content_b64=base64.b64encode(data).decode())
        self.done("write_bytes", path="b", content_b64=base64.b64encode(b"end").decode(), append=True)
        self.assertEqual((self.home / "b").read_bytes(), data + b"end")
        self.assertEqual(base64.b64decode(self.do("read_bytes", path="b")["content_b64"]), data + b"end")
        self.done("read_bytes", {"content_b64": base64.b64encode((data + b"end")[1535999:1536002]).decode()}, path="b", offset=1535999, length=3)
        self.done("read_bytes", {"content_b64": ""}, path="b", offset=99999999, length=1)
        self.failed("read_text", "the file is not UTF-8 text; read_bytes reads it", path="b")
        self.done("get_file_size", {"size": len(data) + 3}, path="b")
        (self.home / "big").write_bytes(b"x" * (8 << 20))
        self.assertEqual(len(self.do("read_text", path="big")["content"]), 8 << 20)
        with (self.home / "big").open("ab") as file:
            file.write(b"x")
        self.failed("read_bytes", "the file is longer than 8 MiB; read_bytes reads it in parts", path="big")
        cut = self.do("run_command", command="cat big; echo e >&2")
        self.assertEqual((len(cut["stdout"]), cut["stderr"]), (8 << 20, "e\n\n[cut after 8 MiB]\n"))
        for path, file, folder in (("b", True, False), ("a b'c", False, True), ("none", False, False)):
            self.done("file_exists", {"exists": file}, path=path)
            self.done("directory_exists", {"exists": folder}, path=path)
        self.assertEqual(sorted(self.do("ls", path="a b'c")["files"]), ["d", "t"])
        self.failed("read_text", "there is no file none", path="none")
        self.failed("write_bytes", "content_b64 is not base64", path="b", content_b64="*")
        for command, path in (("ls", "none"), ("get_file_size", "none"), ("rmdir", "a b'c"), ("rm", "a b'c"), ("write_text", "/proc/x")):
            self.assertFalse(self.do(command, path=path, content="")["success"], command)
        self.done("rm", path="a b'c/t")
        self.done("rmdir", path="a b'c/d")
        self.done("rmdir", path="a b'c")
        self.assertFalse((self.home / "a b'c").exists())
        # Its sandbox holds for files, too.
        outside = self.folder / "outside"
        self.assertFalse(self.do("write_text", path=str(outside), content="x")["success"])
        self.assertFalse(outside.exists())

    def test_requests(self):
        self.serve_cua()
        self.assertEqual(self.request("GET", "/status").json(), {"status": "ok", "os_type": "linux", "features": ["mcp"]})
        listed = self.request("GET", "/commands").json()
        self.assertEqual(listed["aliases"]["ls"], "list_dir")
        self.assertEqual(listed["commands"]["scroll_up"], {"params": [{"name": "clicks", "required": False, "default": 1}]})
        self.assertEqual(listed["commands"]["list_dir"], {"params": [{"name": "path", "required": True, "default": None}], "aliases": ["ls"]})
        for body, detail in (("{", "Invalid JSON: "), ("{}", "Command is required"), ('{"command":"nope"}', "Unknown command: nope"),
                             ('{"command":"version","params":3}', "params must be")):
            answer = self.request("POST", "/cmd", body, X_API_Key=TOKEN)
            self.assertEqual((answer.status, list(answer.json())), (400, ["detail"]))
            self.assertTrue(answer.json()["detail"].startswith(detail), answer)
        for method, path, status in (("GET", "/cmd", 405), ("GET", "/api/sessions", 404), ("GET", "/", 404), ("PUT", "/mcp", 405), ("GET", "/pty", 405)):
            self.assertEqual(self.request(method, path, X_API_Key=TOKEN).status, status, path)
        for body, status, detail in (("{", 400, "Invalid JSON body: "), ("{}", 400, "'model' and 'input' are required"),
                                     ('{"model":"m","input":"x"}', 501, "ComputerAgent not available")):
            answer = self.request("POST", "/responses", body, X_API_Key=TOKEN)
            self.assertEqual(answer.status, status)
            self.assertTrue(answer.json()["detail"].startswith(detail), answer)
        for body in ('{"command":"version"}', '{"command":"version","params":null}', '{"command":"version","other":1}'):
            self.assertTrue(self.line(body)["success"])
        # Who may.
        bearer = {"Authorization": "Bearer " + TOKEN}
        ask = '{"command":"version"}'
        for headers, status in ((bearer, 200), ({"X-API-Key": TOKEN}, 200), ({}, 401), ({"X-API-Key": "wrong"}, 401),
                                ({"X-API-Key": serving.TOKENS["reader"]}, 401), ({**bearer, "Host": "evil.example"}, 403),
                                ({**bearer, "Origin": "http://evil.example"}, 403), ({**bearer, "Sec-Fetch-Site": "cross-site"}, 403),
                                ({**bearer, "Origin": "null"}, 403)):
            self.assertEqual(self.request("POST", "/cmd", ask, **headers).status, status, headers)
        self.assertEqual(self.request("GET", "/status", Host="evil.example").status, 403)
        self.assertEqual(self.request("POST", "/cmd", ask).json(), {"detail": "API key required"})
        for path in ("/pty", "/mcp", "/mcp/"):
            self.assertEqual(self.request("POST", path, "{}").status, 401)
        self.refused_sockets()

    def refused_sockets(self):
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            with self.assertRaises(websocket.Refused) as refused:
                websocket.Socket(self.port, "/ws", TOKEN, headers)
            self.assertEqual(refused.exception.status, 403)
        for first, error in (({"command": "version"}, "First message must be authentication"), ("{", "First message must be authentication"),
                             ({"command": "authenticate", "params": {}}, "API key required"),
                             ({"command": "authenticate", "params": {"api_key": "wrong", "container_name": "x"}}, "Authentication failed")):
            socket = websocket.Socket(self.port, "/ws")
            socket.send(first)
            self.assertEqual(socket.receive(), {"success": False, "error": error})
            self.assertEqual(socket.receive(), 1000)
            socket.close()

    def pty(self, status=200, **body):
        answer = self.request("POST", "/pty", json.dumps(body), X_API_Key=TOKEN)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def test_the_server_is_killed(self):
        """What waits for a person's keys ends with the one who took them there; nothing stays behind."""
        self.end_http()
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 1\n")
        self.serve_cua()
        mark = "left-%d" % os.getpid()

        def there():
            return [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in words(p)]

        self.pty(command="sh -c 'read x' %s" % mark)
        self.wait_for(there)
        self.end_http(signal.SIGKILL)
        self.wait_for(lambda: not there())

    def follow(self, pid):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)
        connection.request("GET", "/pty/%d/stream" % pid, headers={"X-API-Key": TOKEN})
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        out = b""
        for _, _, frame in serving.frames(response):
            if frame["type"] == "exit":
                self.assertEqual(response.read(), b"")
                connection.close()
                return out, frame["code"]
            out += base64.b64decode(frame["data"])
        self.fail("the stream ended before the program: %r" % out)

    def test_terminals(self):
        self.serve_cua()
        made = self.pty(command="stty size; echo $A$TERM; pwd; touch begun; read x; stty size; printf \"<$x>\"; exit 7", cols=90, rows=30, cwd=str(self.home),
                        envs={"A": "b c "})
        self.assertEqual(made, {"pid": 1, "cols": 90, "rows": 30})
        path = "/pty/1"
        self.assertEqual(self.request("GET", path, X_API_Key=TOKEN).json(), made)
        self.wait_for(lambda: (self.home / "begun").exists())
        resized = self.request("POST", path + "/resize", '{"cols":100,"rows":40}', X_API_Key=TOKEN)
        self.assertEqual((resized.status, resized.json()), (200, {"ok": True}))
        # Base64, or the text itself, which is no base64.
        for data in (base64.b64encode(b"x ").decode(), "y z!\n"):
            self.assertEqual(self.request("POST", path + "/stdin", json.dumps({"data": data}), X_API_Key=TOKEN).json(), {"ok": True})
        out, code = self.follow(1)
        self.assertEqual(code, 7)
        lines = out.decode().split("\r\n")
        self.assertEqual(lines[:3], ["30 90", "b c xterm-256color", str(self.home)], out)
        self.assertEqual((lines[-2], lines[-1]), ("40 100", "<x y z!>"), out)
        # All of it is there again for who comes later.
        self.assertEqual(self.follow(1), (out, 7))
        self.assertEqual(self.request("POST", path + "/stdin", '{"data":"eA=="}', X_API_Key=TOKEN).status, 409)
        self.assertEqual(self.request("DELETE", path, X_API_Key=TOKEN).json(), {"killed": False})
        for method, more in (("GET", ""), ("GET", "/stream"), ("POST", "/stdin"), ("POST", "/resize")):
            gone = self.request(method, path + more, "{}" if method == "POST" else None, X_API_Key=TOKEN)
            self.assertEqual((gone.status, gone.json()), (404, {"detail": "PTY session 1 not found"}))
        # A program that it leaves behind lives, as one of run_command does.
        self.assertEqual(self.follow(self.pty(command="trap '' HUP; sleep 998.5 </dev/null >/dev/null 2>&1 & exit 0")["pid"])[1], 0)
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0}, command="pkill -f '^sleep 998[.]5'")
        self.bad_terminals()

    def bad_terminals(self):
        self.assertIn("columns is 1 to 1000", self.pty(400, cols=1001)["detail"])
        self.assertIn("rows is 1 to 1000", self.pty(400, rows=0)["detail"])
        self.assertIn("more than 64 entries", self.pty(400, envs={"A%d" % i: "" for i in range(65)})["detail"])
        self.assertEqual(self.request("POST", "/pty", "{", X_API_Key=TOKEN).status, 400)
        self.assertEqual(self.follow(self.pty(envs={"1A": ""}, command="true")["pid"])[1], -1)
        self.assertEqual(self.follow(self.pty(cwd="/none", command="true")["pid"])[1], 127)
        self.assertEqual(self.follow(self.pty(command="kill -9 $$")["pid"])[1], 137)

    def test_a_terminal_on_a_socket(self):
        """Job control, Ctrl-C, its screen, and a program that is deleted."""
        self.serve_cua()
        pid = self.pty(command="bash --norc -i")["pid"]
        for key in ("", "?api_key=wrong"):
            with self.assertRaises(websocket.Refused) as refused:
                websocket.Socket(self.port, "/pty/%d/ws%s" % (pid, key))
        self.assertEqual(refused.exception.status, 401)
        socket = websocket.Socket(self.port, "/pty/%d/ws?api_key=%s&container_name=x" % (pid, TOKEN))
        seen = b""

        def until(text):
            nonlocal seen
            while text not in seen:
                message = socket.receive()
                self.assertEqual(message["type"], "output", message)
                seen += base64.b64decode(message["data"])
            seen = seen[seen.index(text) + len(text):]

        def type_(text):
            socket.send({"type": "stdin", "data": base64.b64encode(text.encode()).decode()})
        type_("PS1='$ '; echo $DISPLAY-$((1+1)); [ -t 0 ] && ps -o tty= -p $$\n")
        until(b"-2\r\n")
        # Ctrl-C is for a program that has begun: bash itself may end of one that comes before that.
        type_("sh -c 'touch sleeps; exec sleep 1000'\n")
        self.wait_for(lambda: (self.home / "sleeps").exists())
        type_("\x03")
        until(b"^C")
        socket.send({"type": "resize", "cols": 61, "rows": 17})
        type_("stty size; echo $((20+2))\n")
        until(b"17 61\r\n22\r\n")
        type_("touch begun; sleep 999.5 & exec sleep 999.5\n")
        self.wait_for(lambda: (self.home / "begun").exists())
        self.assertEqual(self.request("DELETE", "/pty/%d" % pid, X_API_Key=TOKEN).json(), {"killed": True})
        while True:
            message = socket.receive()
            if message["type"] == "exit":
                break
        self.assertEqual(message["code"], -1)
        self.assertEqual(socket.receive(), 1000)
        socket.close()
        self.done("run_command", {"stdout": "", "stderr": "", "return_code": 0},
                  command="while pgrep -f 'sleep 999[.]5' >/dev/null; do sleep 0.05; done", timeout=30)

    def test_no_more_than_so_many_terminals(self):
        """32, of which one that has ended makes room; 16 who follow; a ring of 256 KiB; 64 KiB typed at once."""
        self.serve_cua()
        first = self.pty(command="exit 3")["pid"]
        self.assertEqual(self.follow(first), (b"", 3))
        flood = self.pty(command="head -c 400000 /dev/zero | tr '\\0' x; printf end")["pid"]
        self.wait_for(lambda: self.follow(flood)[1] == 0)
        out = self.follow(flood)[0]
        self.assertEqual((len(out), out[-4:]), (262144, b"xend"))
        waiting = [self.pty(command="cat")["pid"] for _ in range(30)]
        self.assertEqual(self.request("GET", "/pty/%d" % first, X_API_Key=TOKEN).status, 200)
        for gone in (first, flood):
            self.pty(command="cat")
            self.assertEqual(self.request("GET", "/pty/%d" % gone, X_API_Key=TOKEN).status, 404)
        self.assertEqual(self.pty(429), {"detail": "32 terminals are open"})
        path = "/pty/%d" % waiting[0]
        followers = [websocket.Socket(self.port, path + "/ws", TOKEN) for _ in range(16)]
        self.assertEqual(self.request("GET", path + "/stream", X_API_Key=TOKEN).json(), {"detail": "16 follow this terminal"})
        for size, status in ((65536, 200), (65537, 400)):
            data = base64.b64encode(b"\n" * size).decode()
            self.assertEqual(self.request("POST", path + "/stdin", json.dumps({"data": data}), X_API_Key=TOKEN).status, status)
        self.assertEqual(followers[0].receive()["type"], "output")
        for socket in followers:
            socket.close()

    def rpc(self, method, params=None, **headers):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = self.request("POST", "/mcp", json.dumps(body), X_API_Key=TOKEN, **headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["result"], answer.headers

    def test_mcp(self):
        """Its commands as 47 tools."""
        self.serve_cua()
        about, headers = self.rpc("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})
        self.assertEqual((about["serverInfo"]["name"], about["protocolVersion"]), ("cua-computer-server", "2025-06-18"))
        session = {"Mcp_Session_Id": headers["Mcp-Session-Id"]}
        tools = {t["name"]: t for t in self.rpc("tools/list", **session)[0]["tools"]}
        self.assertEqual(len(tools), 47)
        self.assertTrue(all(name.startswith("computer_") for name in tools))
        self.assertEqual(tools["computer_hotkey"]["inputSchema"],
                         {"type": "object", "properties": {"keys": {"type": "array", "items": {"type": "string"}}}, "required": ["keys"]})
        self.assertEqual(tools["computer_click"]["inputSchema"]["required"], ["x", "y"])

        def use(tool, /, **arguments):
            return self.rpc("tools/call", {"name": "computer_" + tool, "arguments": arguments}, **session)[0]
        size = {"success": True, "size": {"width": 1280, "height": 800}}
        got = use("get_screen_size")
        self.assertEqual((got["structuredContent"], json.loads(got["content"][0]["text"]), got["isError"]), (size, size, False))
        picture, = use("screenshot")["content"]
        self.assertEqual((picture["type"], picture["mimeType"]), ("image", "image/jpeg"))
        self.assertTrue(base64.b64decode(picture["data"]).startswith(JPEG))
        for tool, arguments, at in (("click", {"x": 40, "y": 50, "button": "middle"}, (40, 50)), ("scroll", {"x": 60, "y": 70}, (40, 50)),
                                    ("scroll", {"x": 60, "y": 70, "scroll_y": 2}, (60, 70)),
                                    ("drag", {"start_x": 1, "start_y": 2, "end_x": 80, "end_y": 90, "duration": 0}, (80, 90))):
            self.assertEqual(use(tool, **arguments)["structuredContent"], {"success": True}, tool)
            self.assertEqual(use("get_cursor_position")["structuredContent"]["position"], {"x": at[0], "y": at[1]}, tool)
        written = use("file_write", path="m", content="é")
        self.assertFalse(written["isError"], written)
        self.assertEqual(use("file_read", path="m")["structuredContent"], {"success": True, "content": "é"})
        self.assertEqual(use("run_command", command="echo hi; exit 2")["structuredContent"],
                         {"success": True, "stdout": "hi\n", "stderr": "", "return_code": 2})
        for tool, arguments, error in (("file_read", {"path": "none"}, "there is no file none"), ("move", {"x": 3}, "'y'"),
                                       ("get_desktop_state", {}, "needs the cua-driver backend"), ("click", {"x": 5000, "y": 1}, "outside the screen")):
            failed = use(tool, **arguments)
            self.assertEqual((failed["isError"], failed["structuredContent"]["success"]), (True, False), tool)
            self.assertIn(error, failed["structuredContent"]["error"])
        # Each tool but those of another backend is a command.
        listed = self.request("GET", "/commands").json()["commands"]
        for tool in sorted(set(tools) - {"computer_open", "computer_launch_app", "computer_close_window"}):
            if not tools[tool]["inputSchema"]["required"]:
                self.assertNotIn("Unknown command", json.dumps(use(tool[9:])), tool)
        self.assertIn("find_element", listed)
        self.not_elsewhere(session)

    def test_callers_that_leave_meanwhile(self):
        """What they asked for goes on, and so does the server."""
        self.serve_cua()
        wait = {"command": "echo x >> begun; until test -e go; do sleep 0.02; done"}
        for count, (path, body) in enumerate((("/cmd", {"command": "run_command", "params": wait}),
                                              ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                                        "params": {"name": "computer_run_command", "arguments": wait}})), 1):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=house.SECONDS)
            connection.request("POST", path, body=json.dumps(body), headers={"X-API-Key": TOKEN})
            self.wait_for(lambda: words(self.home / "begun").count(b"x") == count)
            connection.close()
        self.assertTrue(self.do("run_command", command="touch go")["success"])
        self.assertTrue(self.do("get_screen_size")["success"])

    def browse(self, command, /, **params):
        answer = self.request("POST", "/playwright_exec", json.dumps({"command": command, "params": params}), X_API_Key=TOKEN)
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"), answer)
        return answer.json()

    @unittest.skipUnless(any(os.path.exists(p) for p in ("/usr/lib/chromium/chromium", "/usr/bin/chromium")), "no Chromium is installed")
    def test_a_browser(self):
        """A page of this machine, over its network."""
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<body style='margin:0;height:5000px'><input autofocus style='width:300px;height:100px;display:block'>"
                                 b"<button style='width:300px;height:100px' onclick='location.href=document.querySelector(\"input\").value+\"-\"+scrollY'>go</button>")

            def log_message(self, *args):
                pass
        pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        self.addCleanup(pages.server_close)
        self.addCleanup(pages.shutdown)
        here = "http://127.0.0.1:%d" % pages.server_address[1]
        self.serve_cua("--cua-net", "host")
        self.assertEqual(self.browse("visit_url", url=here + "/one"), {"success": True, "url": here + "/one"})
        for command, params in (("click", {"x": 20, "y": 20}), ("type", {"text": "two"}), ("click", {"x": 20.0, "y": 150, "button": "left"})):
            self.assertEqual(self.browse(command, **params), {"success": True}, command)
        self.wait_for(lambda: self.browse("get_current_url") == {"success": True, "url": here + "/two-0"})
        self.assertEqual(self.browse("go_back"), {"success": True, "url": here + "/one"})
        self.assertEqual(self.browse("go_forward"), {"success": True, "url": here + "/two-0"})
        self.assertEqual(self.browse("scroll", delta_x=0, delta_y=300), {"success": True})
        self.assertEqual(self.browse("scroll"), {"success": True})
        picture = base64.b64decode(self.browse("screenshot")["screenshot"])
        self.assertEqual((picture[:6], picture[16:24]), (PNG, struct.pack(">II", 1024, 768)))

    def test_a_browser_that_is_asked_wrongly(self):
        self.serve_cua()
        for command, params, error in (("visit_url", {}, "url parameter is required"), ("visit_url", {"url": 5}, "url parameter is required"),
                                       ("web_search", {}, "query parameter is required"), ("click", {"x": 1}, "x and y parameters are required"),
                                       ("type", {"text": None}, "text parameter is required"), ("close", {}, "Unknown command: close")):
            self.assertEqual(self.browse(command, **params), {"success": False, "error": error})
        for body in ("", "{", "[]", "{}", '{"command": 5}'):
            answer = self.request("POST", "/playwright_exec", body, X_API_Key=TOKEN)
            self.assertEqual((answer.status, list(answer.json())), (400, ["detail"]), (body, answer))
        self.assertEqual(self.request("POST", "/playwright_exec", '{"command": "screenshot"}').status, 401)

    def not_elsewhere(self, session):
        """Its sessions are not those of the server's own /mcp, and end here."""
        ask = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        there = {"Mcp-Session-Id": session["Mcp_Session_Id"], "Accept": "application/json, text/event-stream"}
        port, self.port = self.port, self.api
        self.assertEqual(self.call("POST", "/mcp", ask.encode(), headers=there).status, 404)
        self.port = port
        self.assertEqual(self.request("DELETE", "/mcp", X_API_Key=TOKEN, **session).status, 200)
        self.assertEqual(self.request("POST", "/mcp", ask, X_API_Key=TOKEN, **session).status, 404)

    def test_socket(self):
        self.serve_cua()
        self.talk(websocket.Socket(self.port, "/ws"), {"api_key": TOKEN, "container_name": "any"})
        self.talk(websocket.Socket(self.port, "/ws", headers={"X-API-Key": TOKEN}), {"api_key": TOKEN})

    def talk(self, socket, login):
        socket.send({"command": "authenticate", "params": login})
        self.assertEqual(socket.receive(), {"success": True, "message": "Authentication successful"})
        # In their order, whichever takes longer; also those that are none.
        for message in ({"command": "run_command", "params": {"command": "sleep 0.2; echo hi"}}, {"command": "version"}, "{", {"command": "nope"},
                        {"command": "move_cursor", "x": 5, "y": 6}, {"command": "get_cursor_position", "params": {}}):
            socket.send(message)
        self.assertEqual(socket.receive(), {"success": True, "stdout": "hi\n", "stderr": "", "return_code": 0})
        self.assertEqual(socket.receive()["protocol"], 1)
        self.assertTrue(socket.receive()["error"].startswith("Invalid JSON: "))
        self.assertEqual(socket.receive(), {"success": False, "error": "Unknown command: nope"})
        self.assertEqual(socket.receive(), {"success": True, "result": {"success": True}})
        self.assertEqual(socket.receive(), {"success": True, "position": {"x": 5, "y": 6}})
        self.flat(socket)
        socket.send(b"bytes")
        self.assertEqual(socket.receive(), 1003)
        socket.close()
        # One that leaves while its command runs takes nothing with it.
        socket = websocket.Socket(self.port, "/ws", TOKEN)
        socket.send({"command": "run_command", "params": {"command": "echo x > left"}})
        socket.close()
        self.done("run_command", {"stdout": "x\n", "stderr": "", "return_code": 0}, command="until [ -s left ]; do sleep 0.05; done; cat left")

    def flat(self, socket):
        """Parameters beside the name, as cua-sandbox sends them, whose answers it reads in `result`."""
        size, position = {"width": 1280, "height": 800}, {"x": 5, "y": 6}
        for message, answer in (({"command": "get_screen_size"}, {"size": size, "result": size}),
                                ({"command": "get_environment"}, {"environment": "linux", "result": "linux"}),
                                ({"command": "get_cursor_position"}, {"position": position, "result": {"success": True, "position": position}})):
            socket.send(message)
            self.assertEqual(socket.receive(), {"success": True, **answer})
        socket.send({"command": "screenshot", "format": "jpeg"})
        shot = socket.receive()
        self.assertTrue(base64.b64decode(shot["result"]).startswith(JPEG))
        self.assertEqual(shot["result"], shot["image_data"])
        socket.send({"command": "move_cursor", "x": 1})
        self.assertEqual(list(socket.receive()), ["success", "error"])

    def test_open(self):
        self.serve_cua("--cua-open")
        self.assertEqual(self.request("POST", "/cmd", '{"command":"version"}').status, 200)
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-site"}):
            self.assertEqual(self.request("POST", "/cmd", '{"command":"version"}', **headers).status, 403)
        socket = websocket.Socket(self.port, "/ws")
        for message in ({"command": "version"}, {"command": "authenticate", "params": {"api_key": "any"}}):
            socket.send(message)
            self.assertTrue(socket.receive()["success"])
        socket.close()
        # Nothing of the API is open with it.
        self.assertEqual(self.call("GET", "/api/sessions", who=None).status, 404)
        self.port = self.api
        self.assertEqual(self.call("GET", "/api/sessions", who=None).status, 401)

    def test_wrong_options(self):
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.bad(2, "this machine alone", "serve", "--listen", "127.0.0.1:0", "--cua", "0.0.0.0:0")
        self.bad(2, "goes with --cua", "serve", "--cua-open")


if __name__ == "__main__":
    unittest.main()
