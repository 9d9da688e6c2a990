# SPDX-License-Identifier: Apache-2.0
"""omni+PLANNER on a private desktop, a person as its planner: marks on what tesseract reads or an OmniParser server finds, clicks by
number, and numbers that are not there."""

import codecs
import http.server
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import threading
import time
import unittest

import house

# The system's Python has GTK; the tests' own may be another.
QUESTION = "/usr/bin/python3 question.py"
DIALOG = QUESTION + " 'Delete the file?' Yes && echo yes > answer || echo no > answer"
HAS_GTK = subprocess.run(["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"], capture_output=True).returncode == 0


CHROMIUM = ("chromium --no-first-run --no-default-browser-check --disable-gpu --start-maximized "
            "--force-renderer-accessibility %s >/dev/null 2>&1 &")


class Parser(http.server.BaseHTTPRequestHandler):
    """A button where the test says, whatever the picture."""
    boxes, asked = [], []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body["base64_image"][:8]))
        answer = json.dumps({"som_image_base64": "", "parsed_content_list": self.boxes, "latency": 0.1}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


def with_question(test):
    shutil.copy(pathlib.Path(__file__).parent / "question.py", test.work)


class Marks(house.House):
    def setUp(self):
        super().setUp()
        with_question(self)

    def write_agent(self, command, **more):
        agent = {"name": "marks", "model": "omni+human/human", "workspace": str(self.work), "tools": [],
                 "computer": {"kind": "desktop", "width": 640, "height": 400, "start": [command]}, **more}
        (self.work / "agent.yaml").write_text(json.dumps(agent))

    def begin(self, name, command):
        self.write_agent(command)
        self.process = self.start("run", "-a", self.work / "agent.yaml", "-s", name, "answer the question",
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.said, self.decoder = "", codecs.getincrementaldecoder("utf-8")()
        self.say("")

    def say(self, line, wanted="\n> "):
        """Says a line; what is shown then."""
        if line:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        while wanted not in self.said:
            self.assertTrue(select.select([self.process.stderr], [], [], 30)[0], self.said)
            more = os.read(self.process.stderr.fileno(), 65536)
            self.assertTrue(more, self.said)
            self.said += self.decoder.decode(more)
        at = self.said.index(wanted) + len(wanted)
        shown, self.said = self.said[:at], self.said[at:]
        return shown

    def until(self, pattern):
        """Looks until an element is marked; its number."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = re.search(pattern, self.say("wait 0.1"))
            if found:
                return int(found.group(1))
        self.fail("no mark for " + pattern)

    def end(self):
        self.process.stdin.write(b"done\n")
        self.process.communicate(timeout=30)
        self.assertEqual(self.process.returncode, 0)

    def calls(self, name):
        return [e["data"] for e in self.events(name) if e["kind"] == "call"]

    @unittest.skipUnless(HAS_GTK and shutil.which("tesseract"), "python3-gi with GTK 3 and tesseract are not here")
    def test_a_click_by_number(self):
        self.begin("m", DIALOG)
        number = self.until(r'(\d+) [a-z ]+ "Yes"')
        shown = self.say("click #998")
        self.assertIn("there is no 998 on this picture", shown)
        self.say("click #%d" % number)
        self.wait_for(lambda: (self.work / "answer").exists())
        self.end()
        self.assertEqual((self.work / "answer").read_text(), "yes\n")
        calls = self.calls("m")
        self.assertEqual([c["policy"] for c in calls[-2:]], ["refuse", "run"])
        self.assertEqual(calls[-1]["grounding"]["places"][0]["id"], number)
        action = calls[-1]["arguments"]["actions"][0]
        self.assertEqual((action["x"], action["y"]), tuple(calls[-1]["grounding"]["places"][0][k] for k in "xy"))
        self.assertNotIn(0, (action["x"], action["y"]))

    @unittest.skipUnless(os.environ.get("TH_TORTURE"), "many runs of one session: ./dev torture's")
    def test_recorded_before_it_acts(self):
        """A click that waits for approval happens where it was recorded, by another process that looks for nothing again."""
        self.write_agent(DIALOG, approve=["computer"])
        ended = self.good("run", "-a", self.work / "agent.yaml", "-s", "r", "answer", stdin="screenshot\n", code=3)
        for _ in range(40):
            self.good("approve", "r")
            found = re.search(r'(\d+) [a-z ]+ "Yes"', self.good("resume", "r", stdin="", code=3).err)
            if found:
                break
            ended = self.good("resume", "r", stdin="wait 0.2\n", code=3)
        self.assertTrue(found, ended)
        self.good("resume", "r", stdin="click #%s\n" % found.group(1), code=3)
        before = self.calls("r")
        self.assertEqual(before[-1]["grounding"]["places"][0]["id"], int(found.group(1)))
        self.assertFalse((self.work / "answer").exists())
        self.good("approve", "r")
        self.good("resume", "r", stdin="done\n")
        self.wait_for(lambda: (self.work / "answer").exists())
        self.assertEqual(self.calls("r"), before)
        self.assertEqual((self.work / "answer").read_text(), "yes\n")

    def test_a_parser(self):
        """Its boxes are marked, its words are shown without their control characters; a number keeps to its place."""
        Parser.boxes = [{"type": "icon", "bbox": [0.25, 0.5, 0.5, 0.75], "content": "Go\x1b[2J\nthere"},
                        {"type": "icon", "bbox": [2, 0, 3, 1], "content": "nowhere"}]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Parser)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            self.env["OMNIPARSER_BASE_URL"] = "http://127.0.0.1:%d" % server.server_port
            self.begin("p", "true")
            number = self.until(r'(\d+) icon "Go')
            self.assertEqual(self.until(r'(\d+) icon "Go'), number)
            shown = self.say("click #%d" % number)
            self.assertNotIn("nowhere", shown)
            self.assertNotIn("\x1b", shown)
            self.end()
            action = self.calls("p")[-1]["arguments"]["actions"][0]
            self.assertEqual((action["x"], action["y"]), (240, 250))
            self.assertEqual(Parser.asked[0][0], "/parse/")
            self.assertEqual(Parser.asked[0][1], "iVBORw0K")
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def test_a_parser_that_is_not_there(self):
        """The picture comes all the same, by tesseract or without marks, and the reason beside it."""
        self.env["OMNIPARSER_BASE_URL"] = "http://127.0.0.1:9"
        self.begin("g", "true")
        self.assertRegex(self.say("screenshot"), "Marks on|No element|There are no marks: the parser")
        self.end()
        self.bad(2, "the parser", "run", "-m", "omni+human", "-c", "desktop", "x", env=dict(self.env, OMNIPARSER_BASE_URL="ftp://x"))
        self.bad(2, "no planner is named", "run", "-m", "omni+", "-c", "desktop", "x")


def call(**arguments):
    return {"function_call": {"name": "computer", "arguments": arguments}}


class Wires(house.House):
    """A planner of each wire: the stand-in is as strict as its provider about what it is sent."""

    def plan(self, model, root="/v1", **script):
        self.env.update({name: house.KEY for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")})
        self.serve([call(action="screenshot")],
                   {"expect": [{"images": {"min": 1}}], "parts": [call(action="click", element_id=998)]},
                   {"expect": [{"tool_output": {"contains": "there is no 998 on this picture"}}], "parts": [call(action="wait", time=0)]},
                   [{"text": "Nothing to press."}], **script)
        ended = self.good("run", "-m", "omni+" + model, "-c", "desktop:640x400", "-t", "none", "-s", "w", "press something",
                          "--base-url", self.standin.url.replace("/v1", root))
        self.assertIn("Nothing to press.", ended.out)

    def test_responses(self):
        self.plan("gpt-5.4")

    @unittest.skipUnless(os.environ.get("TH_TORTURE"), "the other wires are ./dev torture's")
    def test_messages(self):
        self.plan("claude-sonnet-4-5", "")

    @unittest.skipUnless(os.environ.get("TH_TORTURE"), "the other wires are ./dev torture's")
    def test_chat(self):
        self.plan("chat:org/open", flavour="vllm", api="chat")

    @unittest.skipUnless(os.environ.get("TH_TORTURE"), "the other wires are ./dev torture's")
    def test_gemini(self):
        self.plan("gemini-3-pro", "/v1beta")


class Tree(house.House):
    def setUp(self):
        super().setUp()
        with_question(self)

    def tearDown(self):
        self.thole("computer", "end")
        super().tearDown()

    @unittest.skipUnless(HAS_GTK and shutil.which("dbus-daemon") and
                         os.path.exists("/usr/share/defaults/at-spi2/accessibility.conf"), "python3-gi with GTK 3 and at-spi2-core are not here")
    def test_what_programs_say(self):
        """Buttons by their accessibility, with their whole area; what a program says of them is shown without control characters."""
        self.good("computer", "-c", "desktop:640x400", "shell",
                  "printf 'a\\033[2Jb' > name; %s x \"$(cat name)\" >/dev/null 2>&1 &" % QUESTION)
        self.wait_for(lambda: "button" in self.good("computer", "tree", "--settle").out)
        ended = self.good("computer", "tree")
        self.assertNotIn("\x1b", ended.out)
        elements = json.loads(self.good("computer", "tree", "--json").out)["evidence"]["elements"]
        buttons = [e for e in elements if e.get("role") == "button"]
        self.assertEqual(len(buttons), 2, elements)
        for e in buttons:
            self.assertEqual(e["source"], "tree")
            x, y, w, h = e["box"]
            self.assertTrue(x >= 0 and y >= 0 and x + w <= 640 and y + h <= 400 and w > 40 and h > 15, e)

    @unittest.skipUnless(all(map(shutil.which, ("Xvfb", "xprop", "dbus-daemon"))) and HAS_GTK and
                         os.path.exists("/usr/share/defaults/at-spi2/accessibility.conf"),
                         "Xvfb, xprop, python3-gi with GTK 3 and at-spi2-core are not here")
    def test_what_a_display_says(self):
        """The bus of a display that is there already, named by an address or by the display itself; without being named it is
        left alone."""
        reading, writing = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x400x24", "-nolisten", "tcp", "-noreset"],
                                  pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        os.close(writing)
        with os.fdopen(reading) as number:
            self.env["DISPLAY"] = ":" + number.readline().strip()
        address = "unix:path=%s/bus" % self.folder
        inside = dict(self.env, AT_SPI_BUS_ADDRESS=address)  # of the session; thole's own has no such word
        bus = subprocess.Popen(["dbus-daemon", "--config-file=/usr/share/defaults/at-spi2/accessibility.conf", "--nofork",
                                "--address", address], env=inside, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (bus.kill(), bus.wait()))
        self.wait_for(lambda: (self.folder / "bus").exists())
        program = subprocess.Popen(["/usr/bin/python3", self.work / "question.py", "x", "Press"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=inside)
        self.addCleanup(lambda: (program.kill(), program.wait()))
        named = '"Press"'

        def marks(session, **computer):
            (self.work / "x.yaml").write_text(json.dumps(
                {"name": "x", "model": "omni+human/human", "workspace": str(self.work), "tools": [],
                 "computer": {"kind": "x11", **computer}}))
            return self.good("run", "-a", self.work / "x.yaml", "-s", session, "look", stdin="screenshot\ndone\n").err

        self.wait_for(lambda: re.search(r"button " + named, self.good(
            "computer", "-c", "x11", "-s", "t", "tree", env=inside).out))
        self.good("computer", "-s", "t", "end")
        self.assertNotIn('button "', marks("none"))
        self.assertNotIn('button "', marks("silent", bus="display"))
        subprocess.run(["xprop", "-root", "-f", "AT_SPI_BUS", "8s", "-set", "AT_SPI_BUS", address], env=self.env, check=True)
        self.assertRegex(marks("named", bus="display"), r"button " + named)
        self.assertRegex(marks("given", bus=address), r"button " + named)

    @unittest.skipUnless(shutil.which("chromium") and shutil.which("dbus-daemon") and
                         os.path.exists("/usr/share/defaults/at-spi2/accessibility.conf"), "chromium and at-spi2-core are not here")
    def test_what_a_page_says(self):
        """A browser tells the elements of its page, in and below the page's own words."""
        (self.work / "page.html").write_text("<title>shop</title><h1>Order</h1><label>Name <input></label>"
                                             "<button>Send it</button><a href='#x'>Help page</a>")
        self.good("computer", "-c", "desktop:640x400", "shell", CHROMIUM % ("file://%s/page.html" % self.work))
        self.wait_for(lambda: "Send it" in self.good("computer", "tree").out)
        elements = json.loads(self.good("computer", "tree", "--json").out)["evidence"]["elements"]
        said = {(e.get("role"), e.get("name") or e.get("text")) for e in elements if e["source"] == "tree"}
        for wanted in [("heading", "Order"), ("entry", "Name"), ("button", "Send it"), ("link", "Help page")]:
            self.assertIn(wanted, said)


if __name__ == "__main__":
    house.main()
