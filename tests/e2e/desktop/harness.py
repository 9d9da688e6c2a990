# SPDX-License-Identifier: Apache-2.0
"""What the desktop tasks share: a folder per run, the stand-in model server,
one `thole run`, and what must hold after every run."""

import base64
import http.server
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build")).resolve()
SOURCE = pathlib.Path(os.environ.get("SOURCE_DIR", pathlib.Path(__file__).parents[3])).resolve()
SHARED = pathlib.Path(os.environ.get("SHARED_DIR", SOURCE.parent / "shared")).resolve()
THOLE = BUILD / "thole"
RUN_SECONDS = 1800 if os.environ.get("TH_TORTURE") else 200  # the largest screen takes the longest to read


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Standin:
    """The stand-in on a port of its own, with one script; refuses whatever the real API would."""

    def __init__(self, folder, script, reader="tesseract"):
        self.record = folder / "record.jsonl"
        path = folder / "script.json"
        path.write_text(json.dumps(script))
        port_file = folder / "port.txt"
        self.bodies = folder / "bodies"
        self.bodies.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-S", str(SHARED / "standin" / "standin.py"), "--port", "0", "--port-file", str(port_file),
             "--script", str(path), "--record", str(self.record), "--bodies", str(self.bodies), "--seed", "1",
             "--fail-on-violation", "--tesseract", reader],
            stdout=subprocess.DEVNULL, stderr=(folder / "standin.log").open("w"))
        # The port file is moved into place when the server listens.
        deadline = time.monotonic() + 30
        while not port_file.exists():
            check(self.process.poll() is None, "the stand-in ended: " + (folder / "standin.log").read_text())
            check(time.monotonic() < deadline, "the stand-in does not listen")
            time.sleep(0.02)
        self.url = "http://127.0.0.1:%s/v1" % port_file.read_text().strip()

    def base_url(self, model):
        return self.url + "beta" if model.startswith("gemini") else self.url

    def requests(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=30)


class Web:
    """A web server on loopback that serves one page and records what forms send."""

    def __init__(self, pages):
        self.posts = posts = []
        changed = threading.Condition()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                page = pages.get(self.path.split("?")[0])
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((page or "nothing here").encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                with changed:
                    posts.append((self.path, body))
                    changed.notify_all()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write("<body style='font:40px sans-serif'><p>Thank you, received".encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def gone(pid):
    """Whether a process that has said goodbye is gone within a few seconds."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], 10)[0])
    finally:
        os.close(fd)


def yaml_string(text):
    return json.dumps(text)


class Case:
    """One task in one folder."""

    def __init__(self, name, model="gpt-5.4", size=(1280, 800)):
        self.name, self.model, self.size = name, model, size
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="thole-e2e-"))
        # Commands run without rights of their own and must get at the workspace below.
        self.folder.chmod(0o755)
        self.workspace = self.folder / "work"
        self.workspace.mkdir()
        self.workspace.chmod(0o777)
        self.env = dict(os.environ)
        for kind in ("STATE", "CONFIG", "CACHE", "DATA"):
            path = self.folder / kind.lower()
            path.mkdir(mode=0o700)
            self.env["XDG_%s_HOME" % kind] = str(path)
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700)
        self.env["XDG_RUNTIME_DIR"] = str(runtime)
        for provider in ("OPENAI", "ANTHROPIC", "GEMINI"):
            self.env["%s_API_KEY" % provider] = "sk-e2e-0123456789"
            self.env.pop("%s_BASE_URL" % provider, None)
        self.settings = ""  # lines of the agent file
        self.reader = "tesseract"  # the stand-in's eyes
        self.store = "sqlite:%s" % (self.folder / "log.db")

    def agent(self, start, net=None, limits=40):
        lines = [
            "name: e2e",
            "instructions: You use a small desktop.",
            "model: %s" % self.model,
            "computer:",
            "  kind: desktop",
            "  width: %d" % self.size[0],
            "  height: %d" % self.size[1],
        ]
        if start:
            lines.append("  start:")
            lines += ["    - %s" % yaml_string(s) for s in start]
        lines += ["limits:", "  turns: %d" % limits, "workspace: %s" % yaml_string(str(self.workspace))]
        if net:
            lines.append("net: %s" % net)
        if self.settings:
            lines.append(self.settings)
        path = self.folder / "agent.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def run(self, script, task, start=(), net=None, limits=40):
        if "scripts" not in script:
            script = {"name": self.name, "retry": {"times": 12, "with": "wait"}, **script}
        standin = Standin(self.folder, script, self.reader)
        try:
            agent = self.agent(start, net, limits)
            done = subprocess.run(
                [str(THOLE), "run", "-a", str(agent), "-s", self.name, "--store", self.store, "--base-url",
                 standin.base_url(self.model), task], env=self.env, cwd=self.workspace, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=RUN_SECONDS)
        finally:
            status = standin.end()
        self.output = done.stdout.decode(errors="replace")
        self.requests = standin.requests()
        check(done.returncode == 0, "thole run ended with %d:\n%s" % (done.returncode, self.output[-3000:]))
        bad = [r for r in self.requests if r.get("violations") or r.get("expect_failed") or r.get("script_fault")]
        check(not bad, "the stand-in objects: %s" % json.dumps(bad[:2])[:3000])
        check(status == 0, "the stand-in ended with %d: %s" % (status, (self.folder / "standin.log").read_text()))
        return self.output

    def thole(self, *args, status=0):
        done = subprocess.run([str(THOLE), *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        text = done.stdout.decode(errors="replace")
        check(done.returncode == status, "thole %s ended with %d: %s" % (" ".join(args), done.returncode, text[-2000:]))
        return text

    def events(self):
        text = self.thole("log", "--store", self.store, "--json", self.name)
        return [json.loads(line) for line in text.splitlines()]

    def settle(self):
        """What must hold after every run: a log that is whole, one outcome for each intent, no orphan."""
        self.thole("log", "--store", self.store, "--verify")
        events = self.events()
        intents = [e["data"]["effect_id"] for e in events if e["kind"] == "intent"]
        outcomes = [e["data"]["effect_id"] for e in events if e["kind"] == "outcome" and e["data"].get("effect_id")]
        check(sorted(intents) == sorted(outcomes), "not every intent has its one outcome")
        check(len(set(intents)) == len(intents), "an effect_id came twice")
        check(events[-1]["kind"] == "final", "the log does not end with final but with %s" % events[-1]["kind"])
        self.thole("computer", "-s", self.name, "--store", self.store, "end")
        left = [line for pid, line in self.processes() if not gone(pid)]
        check(not left, "processes are left: %s" % left)

    def processes(self):
        """Whatever still mentions our folder, or has it as its place."""
        left = []
        mark = str(self.folder)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                line = pathlib.Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                env = pathlib.Path("/proc", pid, "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if mark in line or mark in env:
                left.append((int(pid), "%s %s" % (pid, line[:120])))
        return left

    def text(self, name):
        path = self.workspace / name
        check(path.is_file(), "there is no file %s; the workspace holds %s" % (name, os.listdir(self.workspace)))
        return path.read_text(encoding="utf-8")

    def pictures(self, folder):
        """The pictures the model was sent, for a person to look at."""
        folder.mkdir(parents=True, exist_ok=True)
        count = 0
        for body in sorted((self.folder / "bodies").iterdir()):
            for item in json.loads(body.read_text()).get("input", []):
                url = item.get("output", {}).get("image_url", "") if isinstance(item.get("output"), dict) else ""
                if url.startswith("data:image/png"):
                    count += 1
                    (folder / ("%s-%03d.png" % (body.stem, count))).write_bytes(base64.b64decode(url.split(",", 1)[1]))
        return count

    def end(self, keep):
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def main(tasks):
    """Runs the tasks named on the command line (default: all); TH_E2E_KEEP=1 keeps the folders."""
    if not SHARED.is_dir():
        print("not run: ../shared is not here")
        return 77
    names = sys.argv[1:] or list(tasks)
    passed = failed = 0
    for name in names:
        began = time.monotonic()
        case = None
        try:
            for case in tasks[name]():
                case.settle()
            passed += 1
            print("ok   %s (%.1f s)" % (name, time.monotonic() - began), flush=True)
        except (Failure, subprocess.TimeoutExpired) as error:
            failed += 1
            print("FAIL %s: %s" % (name, error), flush=True)
        finally:
            for one in Made.cases:
                one.end(bool(os.environ.get("TH_E2E_KEEP")))
                if os.environ.get("TH_E2E_KEEP"):
                    print("     kept: %s" % one.folder)
            Made.cases.clear()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


class Made:
    cases = []

    @classmethod
    def case(cls, *args, **kw):
        made = Case(*args, **kw)
        cls.cases.append(made)
        return made
