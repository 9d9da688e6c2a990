# SPDX-License-Identifier: Apache-2.0
"""A site of hard pages on the loopback. A page tells the server what was done to it (did(...)), and that alone counts."""

import http.server
import json
import threading

HEAD = """<!doctype html><meta charset=utf-8><title>%s</title><style>body{margin:20px;font:16px sans-serif}</style>
<script>function did(what, more) { const r = new XMLHttpRequest(); r.open("POST", "/did", false); r.send(JSON.stringify({page: document.title, what, more: more ?? null})); }</script>
"""

PAGES = {
    "plain": """<h1>Plain</h1><input id=name style="position:absolute;left:100px;top:100px;width:200px;height:30px" onchange="did('changed', this.value)">
<button style="position:absolute;left:100px;top:200px;width:200px;height:40px" onclick="did('clicked', event.isTrusted)">Press</button>
<div style="position:absolute;left:100px;top:300px;width:200px;height:40px;background:#ccc" oncontextmenu="did('context'); return false" ondblclick="did('double')">Area</div>
<div style="height:3000px"></div><script>addEventListener("keydown", (e) => { if (e.ctrlKey && e.key === "k") did("key", e.code + " " + e.isTrusted); });
addEventListener("scroll", () => did("scrolled", scrollY), {once: true});</script>""",
    "dialog": """<h1>Dialog</h1><button style="position:absolute;left:100px;top:100px;width:200px;height:40px" onclick="did('answer', confirm('Delete all files?'))">Delete</button>
<button style="position:absolute;left:100px;top:200px;width:200px;height:40px" onclick="did('name', prompt('Your name?', 'nobody'))">Name</button>""",
    "drag": """<h1>Drag</h1><div id=a draggable=true style="position:absolute;left:100px;top:100px;width:100px;height:60px;background:#8cf" ondragstart="event.dataTransfer.setData('text/plain', 'card')">Card</div>
<div id=b style="position:absolute;left:400px;top:100px;width:200px;height:100px;background:#fc8" ondragover="event.preventDefault()" ondrop="event.preventDefault(); did('dropped', event.dataTransfer.getData('text/plain'))">Bin</div>""",
}


class Site:
    """A server in a thread; `did` is what its pages told, in order."""

    def __init__(self):
        site, self.did = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body, kind="text/html; charset=utf-8", **headers):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/did":
                    site.did.append(json.loads(body))
                self.answer(204, b"")

            def do_GET(self):
                site.get(self, self.path.split("?")[0].strip("/"))

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, handler, name):
        if name in PAGES:
            handler.answer(200, (HEAD % name + PAGES[name]).encode())
        else:
            handler.answer(404, b"<title>nothing</title><h1>Not found</h1>")

    def done(self, page):
        """What was done to a page: [[what, more], ...]"""
        return [[d["what"], d["more"]] for d in self.did if d["page"] == page]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
