# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, led over its debugging pipe: JSON messages on two descriptors, no library and no port."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 20
PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--remote-debugging-pipe", "--lang=en-GB",
    "--disable-features=Translate,MediaRouter,OptimizationHints", "--proxy-server=direct://", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


class Failed(Exception):
    """Chromium, or the page in it, says no."""


class Chrome:
    def __init__(self, *flags):
        self.folder = tempfile.mkdtemp(prefix="thole-chromium-")
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        # Chromium reads messages at descriptor 3 and writes them at 4.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"', str(to_read), str(to_write), PROGRAM, *FLAGS, *flags,
             "--user-data-dir=" + self.folder, "about:blank"],
            pass_fds=[to_read, to_write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.folder, "TZ": "Europe/Berlin"})
        os.close(to_read)
        os.close(to_write)
        self.rest = b""
        self.number = 0
        self.pages = {}
        self.answers = {}

    def close(self):
        try:
            self.call("Browser.close")
        except (Failed, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)

    def post(self, method, params=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        return self.number

    def call(self, method, params=None, session=None, seconds=SECONDS):
        number = self.post(method, params, session)
        deadline = time.monotonic() + seconds
        while number not in self.answers:
            if not self.pump(deadline):
                raise Failed("%s: no answer in %d s" % (method, seconds))
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failed("%s: %s" % (method, answer["error"].get("message")))
        return answer["result"]

    def pump(self, deadline):
        """Takes in what came; False: nothing did before the deadline."""
        if not select.select([self.into], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        data = os.read(self.into, 1 << 20)
        if not data:
            raise Failed("Chromium ended")
        *whole, self.rest = (self.rest + data).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].take(message["method"], message["params"])
        return True

    def page(self, url, width=1280, height=800, **more):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Page(self, session, target, url, width, height, **more)


KEYS = {"Enter": (13, "\r"), "Escape": (27, None), "Tab": (9, None), "ArrowDown": (40, None), "ArrowUp": (38, None), "ArrowLeft": (37, None), "ArrowRight": (39, None),
        "Home": (36, None), "End": (35, None), " ": (32, " ")}


class Page:
    """A tab of its own context: no cookie of another one's."""

    def __init__(self, chrome, session, target, url, width, height, dark=False, reduced=True):
        self.chrome, self.session, self.target = chrome, session, target
        self.problems, self.requests = [], []
        chrome.pages[session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(width, height)
        self.call("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}]})
        if url:
            self.go(url)

    def call(self, method, params=None, seconds=SECONDS):
        return self.chrome.call(method, params, self.session, seconds)

    def take(self, method, params):
        if method == "Runtime.exceptionThrown":
            d = params["exceptionDetails"]
            self.problems.append("exception: %s" % (d.get("exception", {}).get("description") or d["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append("console: %s" % " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append("log: %s %s" % (params["entry"]["text"], params["entry"].get("url", "")))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Tracing.dataCollected":
            self.trace += params["value"]
        elif method == "Tracing.tracingComplete":
            self.trace_ended = True

    def tasks_while(self, do):
        """What `do` gives, and how long each task of a page's main thread took meanwhile: milliseconds of its processor time, longest first.
        On a busy machine it says what the page costs, where a clock says how long others ran."""
        self.trace, self.trace_ended = [], False
        self.call("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": {"includedCategories": ["toplevel"]}})
        result = do()
        self.call("Tracing.end")
        deadline = time.monotonic() + SECONDS
        while not self.trace_ended:
            if not self.chrome.pump(deadline):
                raise Failed("the trace did not end")
        mains = {(e["pid"], e["tid"]) for e in self.trace if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"}
        tasks = [e["tdur"] / 1000 for e in self.trace if (e["pid"], e["tid"]) in mains and e["name"].endswith("RunTask") and "tdur" in e]
        if not tasks:
            raise Failed("the trace has no task")
        return result, sorted(tasks, reverse=True)

    def close(self):
        self.chrome.pages.pop(self.session, None)
        self.chrome.call("Target.closeTarget", {"targetId": self.target})

    def size(self, width, height, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch})

    def go(self, url):
        answer = self.call("Page.navigate", {"url": url})
        if answer.get("errorText"):
            raise Failed("%s: %s" % (url, answer["errorText"]))

    def js(self, expression, seconds=SECONDS):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True}, seconds)
        if "exceptionDetails" in answer:
            d = answer["exceptionDetails"]
            raise Failed("%s: %s" % (expression[:200], d.get("exception", {}).get("description") or d["text"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=SECONDS):
        """Until the expression is true; its value.  It is looked at in each frame, and a page that is replaced begins anew."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                value = self.js("new Promise((done) => { const end = Date.now() + %d; const look = () => { let v = null; try { v = %s; } catch {} "
                                "if (v || Date.now() > end) done(v instanceof Node ? true : v); else setTimeout(look, 15); }; look(); })" % (int(1000 * min(left, 5)), expression), seconds + 5)
            except Failed as error:
                if time.monotonic() > deadline or not ("context" in str(error) or "navigat" in str(error)):
                    raise
                continue
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failed("waited %d s in vain for %s\n%s\n%s" % (seconds, expression, "\n".join(self.problems), self.js("document.body?.innerText?.slice(0, 3000)")))

    def text(self, selector="body"):
        return self.js("document.querySelector(%s)?.innerText ?? ''" % json.dumps(selector))

    def wait_text(self, text, selector="body", seconds=SECONDS):
        return self.wait("[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))" % (json.dumps(selector), json.dumps(text)), seconds)

    def click(self, selector, text=None):
        """A real click into the middle of the element, once it is seen there and nothing covers it."""
        at = self.wait(
            "(() => { const e = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && !e.disabled && (%s === null || e.textContent.includes(%s))); "
            "e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2; "
            "return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null; })()" % (json.dumps(selector), json.dumps(text), json.dumps(text)))
        self.mouse(*at)

    def mouse(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "none" if kind == "mouseMoved" else "left", "clickCount": 0 if kind == "mouseMoved" else 1})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def key(self, key, modifiers=0):
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key if len(key) == 1 else None))
        base = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **base, **({"text": text} if text and modifiers in (0, 8) else {})})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **base})

    def fill(self, selector, text):
        self.wait("document.querySelector(%s)" % json.dumps(selector))
        self.js("document.querySelector(%s).focus()" % json.dumps(selector))
        self.js("document.querySelector(%s).select?.()" % json.dumps(selector))
        self.type(text)

    def shot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
        return path
