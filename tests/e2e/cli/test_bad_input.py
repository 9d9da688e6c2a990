# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is one clear sentence and an exit code; nothing is lost and nothing half-written is left."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess

import house


class Options(house.House):
    def test_long_lists(self):
        names = ",".join(["shell"] * 129)
        for option in ("--tools", "--approve", "--model"):
            self.bad(2, [option, "at most 128 names"], "run", "-m", "gpt-5.4", option, names, "x")

    def test_closed_descriptors(self):
        """What is opened gets no number of a closed input or output."""
        for closed in ([0], [0, 1, 2]):
            ended = subprocess.run([house.THOLE, "run", "-m", "human", "x"], env=self.env, cwd=self.work, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, timeout=house.SECONDS,
                                   preexec_fn=lambda fds=closed: [os.close(fd) for fd in fds])
            self.assertEqual(ended.returncode, 2, ended)

    def test_wrong_options(self):
        self.bad(2, ["--modle", "did you mean --model"], "run", "--modle", "x", "task")
        self.bad(2, ["-Z", house.THOLE + " run --help"], "run", "-Z", "task")
        self.bad(2, ["--model needs a value"], "run", "task", "--model")
        self.bad(2, ["--json takes no value"], "run", "--json=1", "task")
        self.bad(2, ["--turns must be a whole number"], "run", "--turns", "many", "task")
        self.bad(2, ["exclude each other"], "run", "--json", "--quiet", "task")
        self.bad(2, ["doctor takes no operand"], "doctor", "x")
        self.bad(2, ["version takes no operand"], "version", "x")
        self.bad(2, ["--limit must be above 0"], "sessions", "--limit", "0")
        self.bad(2, ["exclude each other"], "log", "--verify", "--trace", "x")
        self.bad(2, ["no command", "did you mean %s resume" % house.THOLE], "resum")
        self.bad(2, ["no command", "did you mean %s resume" % house.THOLE], "help", "resum")
        self.bad(2, ["the server: a server's URL must begin with http:// or https://"], "sessions", "--server", "htp://x")
        self.bad(2, ["needs a task"], "run")
        self.bad(2, ["quotes"], "run", "two", "words")
        self.bad(2, ["empty"], "run", "  ")
        self.bad(2, ["--sandbox"], "run", "--sandbox", "on", "task")
        self.bad(2, ["--net must be none, host or hosts such as example.org, not \"all\""], "run", "--net", "all", "-m", "gpt-5.4", "task")
        self.bad(2, ["red_file", 'did you mean "read_file"'], "run", "--approve", "red_file", "-m", "gpt-5.4", "task")
        self.bad(2, ["blanks"], "run", "-s", "a b", "-m", "gpt-5.4", "task")
        self.bad(2, ["deskop", "did you mean desktop"], "run", "-c", "deskop", "-m", "gpt-5.4", "task")
        for size in ("big", "0x1", "16385x1"):
            self.bad(2, ["WIDTHxHEIGHT", "at most 16384", size], "run", "-c", "desktop:" + size, "-m", "gpt-5.4", "task")

    def test_spellings(self):
        for args in (["-n", "3"], ["-n3"], ["--limit=3"], ["--limit", "3"]):
            self.good("sessions", "--names", *args)
        self.bad(2, "takes no name", "sessions", "--", "--names")

    def test_help_everywhere(self):
        commands = re.findall(r"^  (\w+)  ", self.good("help").out.split("Commands:")[1].split("\n\n")[0], re.M)
        self.assertGreater(len(commands), 14)
        for line in self.good("help").out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        for name in commands:
            text = self.good(name, "--help").out
            self.assertIn("thole %s: " % name, text)
            self.assertEqual(text, self.good("help", name).out)
            if name == "plumb":
                text += "".join(self.good(name, verb, "--help").out for verb in ("route", "decode", "encode", "fold", "patch", "docs"))
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertEqual(self.thole().code, 2)

    def test_help_that_cannot_be_written(self):
        for args in (["help"], [], ["run", "--help"], ["log", "-h"], ["plumb", "--help"], ["help", "--man"], ["version"]):
            with open("/dev/full", "w") as full:
                ended = subprocess.run([house.THOLE, *args], env=self.env, stdout=full, stderr=subprocess.PIPE, text=True,
                                       timeout=house.SECONDS)
            self.assertEqual((args, ended.returncode, ended.stderr),
                             (args, 1, "thole: cannot write to standard output: No space left on device\n"))

    def test_output_that_cannot_be_written(self):
        self.serve([{"text": "hi"}])
        self.good("run", "-m", "gpt-5.4", "-s", "had", "hello")
        text = "thole: cannot write to standard output: No space left on device"
        for code, args in ((1, ["log", "had"]), (1, ["log", "had", "--json"]), (1, ["doctor"]), (1, ["sessions"]),
                           (130, ["run", "-m", "gpt-5.4", "-s", "new", "hello"])):
            with open("/dev/full", "w") as full:
                ended = subprocess.run([house.THOLE, *args], env=self.env, stdout=full, stderr=subprocess.PIPE, text=True,
                                       cwd=self.work, timeout=house.SECONDS)
            self.assertEqual((args, ended.returncode, ended.stderr),
                             (args, code, text + ("; session new is idle\n" if code == 130 else "\n")))

    def test_by_hand(self):
        """What programs begin says to a person at a terminal that it waits for one."""
        self.env["THOLE_TOKEN"] = "x"
        for words, who in ((["acp", "-m", "chat:x", "--approve", "all"], "an editor"), (["mcp", "--server", "http://127.0.0.1:9"], "an MCP host")):
            main, side = pty.openpty()
            process = self.start(*words, stdin=side, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            self.assertIn("thole: waits for the messages of " + who, process.stderr.readline().decode())
            process.send_signal(signal.SIGINT)
            process.wait(house.SECONDS)
            process.stderr.close()
            os.close(side)
            os.close(main)

    def test_completions(self):
        for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            script = self.good("completion", shell).out
            self.assertIn("approve", script)
            if shutil.which(check[0]):
                (self.folder / "c").write_text(script)
                subprocess.run([*check, str(self.folder / "c")], check=True)
        self.bad(2, "bash, zsh or fish", "completion", "csh")
        # The script really completes.
        probe = ("source <(%s completion bash); COMP_WORDS=(thole ru); COMP_CWORD=1; _thole; echo ${COMPREPLY[@]};"
                 "COMP_WORDS=(thole run --comp); COMP_CWORD=2; _thole; echo ${COMPREPLY[@]}" % house.THOLE)
        done = subprocess.run(["bash", "-c", probe], env=self.env, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["run", "--computer"])

    def test_manual(self):
        text = self.good("help", "--man").out
        self.assertIn(".TH THOLE 1", text)
        self.assertIn("\\-\\-approve", text)


class Agents(house.House):
    def test_agent_file(self):
        path = self.folder / "agent.yaml"
        cases = [
            ("name: a\nlimits:\n  turns: many\n", ["agent.yaml:3: ", "limits.turns must be an integer, not a string"]),
            ("name: a\ntols: [shell]\n", ["agent.yaml:2: ", 'tols is not known; did you mean "tools"?']),
            ("name: [\n", ["agent.yaml:", "not YAML"]),
            ("name: a\nname: b\n", ["agent.yaml:2: ", "twice"]),
            ("a: &x [1]\nb: *x\n", ["agent.yaml:1: ", "anchors"]),
            ("computer:\n  kind: desktop\n  width: 1280\n", ["agent.yaml:3: ", "computer.width"]),
            # What would hold nothing back, and not say so.
            ("name: a\nrules:\n- {tool: shell, decide: run}\n- {tool: raed_file, decide: refuse}\n",
             ["agent.yaml:4: ", 'rules[1].tool is "raed_file", which is not a tool; did you mean "read_file"?']),
            ("name: a\nguardrails:\n- {name: g, stage: tool_input, tools: [shel]}\nscript: 'function g() end'\n",
             ["agent.yaml:3: ", 'guardrails[0].tools[0] is "shel"', 'did you mean "shell"?']),
        ]
        for text, words in cases:
            path.write_text(text)
            self.bad(2, words, "run", "-a", path, "-m", "gpt-5.4", "task")
        path.write_text("hooks:\n  pre_tool_use:\n  - command: ./check.sh\n")
        self.bad(2, ["agent.yaml:", 'pre_tool_use[0]: takes matcher and hooks, not "command"'], "run", "-a", path, "-m", "gpt-5.4", "task")
        path.write_text("script: rules.lua\n")
        self.bad(2, "script_file names a file with it", "run", "-a", path, "-m", "gpt-5.4", "task")
        path.write_text("name: a\nrules:\n- {tool: 'shell*', decide: run}\n- {tool: refund, decide: refuse}\n- {tool: read_fil?, decide: ask}\n")
        self.good("plumb", "encode", "--model", "gpt-5.4", "--agent", path, stdin='{"items":[]}')
        self.bad(1, ["gone.yaml"], "run", "-a", self.folder / "gone.yaml", "-m", "gpt-5.4", "task")
        self.assertEqual(self.good("sessions", "--names").out, "")

    def test_configuration(self):
        path = self.folder / "config" / "thole" / "config.yaml"
        path.write_text("modle: x\n")
        self.bad(2, ["config.yaml:1: ", "did you mean"], "run", "task")
        path.write_text("")
        self.bad(2, ["config.yaml", "empty"], "run", "task")
        # What another part reads has its line, too.
        for text, words in (("store: 'memory:'\nserve:\n  listn: x\n", "config.yaml:3: serve.listn is not known"),
                            ("serve:\n  priority: low\n  users:\n  - {name: a, turns_per_day: many}\n", "config.yaml:4: serve.users[0].turns_per_day must be an integer"),
                            ("serve: {priority: urgent}\n", "config.yaml:1: serve: priority is low, normal or high")):
            path.write_text(text)
            self.bad(2, words, "serve", "--listen", "unix:%s" % (self.folder / "sock"))
        path.unlink()

    def test_workspace(self):
        self.bad(1, ["nowhere"], "run", "-C", self.folder / "nowhere", "-m", "gpt-5.4", "task")
        (self.folder / "file").write_text("")
        self.bad(2, ["not a folder"], "run", "-C", self.folder / "file", "-m", "gpt-5.4", "task")


class Models(house.House):
    def test_model(self):
        self.bad(2, ["no model is named", "THOLE_MODEL"], "run", "task")
        self.bad(2, ["no-such-model", "command `models`"], "run", "-m", "no-such-model", "task")
        self.bad(2, ["no-such-model"], "models", "no-such-model")
        self.bad(2, ['did you mean "gpt-4"'], "run", "-m", "gpt4", "task")
        for wrong, right in (("gtp-5.4", "gpt-5.4"), ("cluade-sonnet-4-5", "claude-sonnet-4-5")):  # of the README
            self.bad(2, ['did you mean "%s"' % right], "run", "-m", wrong, "task")
        (self.work / "models.yaml").write_text("models:\n- {name: office-llama, wire: chat, base_url: 'http://127.0.0.1:1/v1'}\n")
        self.bad(2, ['did you mean "office-llama"'], "run", "-m", "ofice-lama", "--models", self.work / "models.yaml", "task")
        self.bad(2, ["no planner", "GROUNDER+PLANNER"], "models", "gta1+")
        self.assertNotIn("", self.good("models", "--names").out.splitlines())
        self.bad(2, ["cannot use a computer"], "run", "-m", "o3-mini", "-c", "desktop", "task")

    def test_price(self):
        """A limit of the price needs a price, of every model that may be asked."""
        words = ["limits.cost_usd cannot hold", "the price of the model mine is not known", "price.input and price.output", "limits.tokens", "models file"]
        agent = self.work / "agent.yaml"
        self.serve([{"text": "Hello."}])
        for text in ("model: responses:mine", "model: gpt-5.2\nfallback: [responses:mine]",
                     "model: gpt-5.2\nagents: {other: {model: 'responses:mine'}}\nhandoffs: [other]"):
            agent.write_text("name: a\nlimits: {cost_usd: 1}\n%s\n" % text)
            self.bad(2, words, "run", "-a", agent, "task")
        # A grounder's price counts too.
        agent.write_text("name: a\nlimits: {cost_usd: 1}\nmodel: hosted_vllm/GTA1-7B+gpt-5.2\n")
        self.env["HOSTED_VLLM_API_BASE"] = "http://127.0.0.1:9/v1"
        self.bad(2, ["limits.cost_usd cannot hold", "the price of the model GTA1-7B is not known"], "run", "-a", agent, "task")
        agent.write_text("name: a\nlimits: {cost_usd: 1}\n")
        self.good("run", "-a", agent, "-m", "gpt-5.2", "task")
        (self.work / "models.yaml").write_text("models:\n- {name: mine, like: gpt-5.4, price: {input: 1, output: 2}}\n")
        self.good("run", "-a", agent, "-m", "mine", "--models", self.work / "models.yaml", "task")

    def test_limits_of_a_team(self):
        """What holds for the whole team would do nothing in another agent."""
        agent = self.work / "agent.yaml"
        for field in ("limits: {turns: 3}", "net: host", "environment: [A=b]"):
            agent.write_text("name: a\nmodel: gpt-5.2\nhandoffs: [b]\nagents: {b: {%s}}\n" % field)
            self.bad(2, ["agent b", field.split(":")[0] + " holds for the whole team"], "run", "-a", agent, "task")
        agent.write_text("name: a\nmodel: gpt-5.2\nnet: host\nhandoffs: [b]\nagents: {b: {net: none}}\n")
        self.bad(2, ["agent b", "net holds for the whole team"], "run", "-a", agent, "task")

    def test_limits_of_a_task(self):
        """Of an agent that the tool does not have they would hold nothing."""
        agent = self.work / "agent.yaml"
        for limits, words in (("[{agent: c, turns: 3}]", "not one of agents"), ("[{agent: b}, {agent: b, turns: 1}]", "there twice"),
                              ("[{agent: b, turns: 0}]", "limits[0].turns")):
            agent.write_text("name: a\nmodel: gpt-5.2\ntools:\n- {name: t, agents: [b], limits: %s}\nagents: {b: {}}\n" % limits)
            self.bad(2, ["tools[0].limits", words], "run", "-a", agent, "task")

    def test_key(self):
        del self.env["OPENAI_API_KEY"]
        self.bad(2, ["no key", "OPENAI_API_KEY", "--api-key-file"], "run", "-m", "gpt-5.4", "task")
        self.bad(1, ["key file", "gone"], "run", "-m", "gpt-5.4", "--api-key-file", self.folder / "gone", "task")
        (self.folder / "two").write_text("secret-one\nsecret-two\n")
        ended = self.bad(2, ["one line"], "run", "-m", "gpt-5.4", "--api-key-file", self.folder / "two", "task")
        self.assertNotIn("secret", ended.err)
        # The key that is given is the planner's: another provider's server does not get it.
        (self.folder / "key").write_text("secret\n")
        ended = self.bad(2, ["grounder qwen/qwen3-vl-8b", "no key", "OPENROUTER_API_KEY"], "run", "-m",
                         "openrouter/qwen/qwen3-vl-8b+claude-sonnet-4-5", "--api-key-file", self.folder / "key", "task")
        self.assertNotIn("secret", ended.err)


    def test_url(self):
        for url, words in (("nonsense", "http://"), ("ftp://x/", "http://"), ("http://u:p@127.0.0.1/", "password"),
                           ("http:///v1", "no host"), ("http://a b/", "blank")):
            ended = self.bad(2, words, "run", "-m", "gpt-5.4", "--base-url", url, "task")
            self.assertNotIn("u:p", ended.err)
            self.env["OPENAI_BASE_URL"] = url
            self.bad(2, words, "run", "-m", "gpt-5.4", "task")
            del self.env["OPENAI_BASE_URL"]
        self.bad(2, "OPENAI_BASE_URL", "run", "-m", "responses:mine", "task")
        self.bad(2, "HOSTED_VLLM_API_BASE", "run", "-m", "hosted_vllm/mine", "task")
        self.assertIn("HOSTED_VLLM_API_BASE", self.good("models", "hosted_vllm/mine").out)
        self.assertEqual(self.good("sessions", "--names").out, "")

    def test_unreachable(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d/v1" % free.getsockname()[1]
        (self.folder / "a.yaml").write_text("limits: {model_attempts: 1}\n")
        ended = self.good("run", "-a", self.folder / "a.yaml", "-m", "gpt-5.4", "--base-url", url, "-s", "un", "task",
                          code=1)
        self.assertRegex(ended.out, r"\nthe model gave no answer: cannot connect to 127\.0\.0\.1 port \d+ after \d+ ms\n")
        self.assertIn(house.THOLE + " resume un", ended.out)
        self.assertEqual(self.events("un")[-1]["kind"], "error")
        # A pair too gets as far as asking its planner.
        ended = self.good("run", "-a", self.folder / "a.yaml", "-m", "gta1+gpt-5.4", "--base-url", url, "-s", "pair",
                          "task", code=1)
        self.assertIn("connect", ended.out)
        # Nothing is lost: with a server it goes on.
        self.serve([{"text": "here I am"}])
        self.assertIn("here I am", self.good("resume", "un", "--base-url", self.standin.url).out)


class Computers(house.House):
    def test_display(self):
        self.bad(2, ["DISPLAY is not set", "-c desktop"], "run", "-c", "x11", "-m", "gpt-5.4", "task")
        self.bad(2, ["DISPLAY is not set"], "computer", "-c", "x11", "see", "-o", "x.png")
        self.env["DISPLAY"] = ":4711"
        self.bad(1, [":4711"], "run", "-c", "x11", "-m", "gpt-5.4", "task")
        self.bad(1, [":4711"], "computer", "-c", "x11", "size")
        self.assertEqual(self.good("sessions", "--names").out, "")

    def test_missing_package(self):
        if not shutil.which("bwrap"):
            self.skipTest("no bwrap")
        hide = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/Xvfb"]
        if subprocess.run([*hide, "true"], capture_output=True).returncode:
            self.skipTest("bwrap may not make namespaces here")
        done = subprocess.run([*hide, house.THOLE, "run", "-c", "desktop", "-m", "gpt-5.4", "task"], env=self.env,
                              cwd=self.work, capture_output=True, text=True, timeout=house.SECONDS)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("xvfb", done.stderr)
        done = subprocess.run([*hide, house.THOLE, "doctor"], env=self.env, cwd=self.work, capture_output=True,
                              text=True, timeout=house.SECONDS)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("Debian package xvfb", done.stdout)

    def test_missing_libraries(self):
        """Each says what it is and where it comes from; what needs none of them works."""
        for name in ("libcurl.so.4", "libpq.so.5"):
            (self.folder / name).touch()
        self.env["LD_LIBRARY_PATH"] = str(self.folder)
        self.bad(1, ["libcurl.so.4, the library that speaks HTTP, is not installed here (Debian, Ubuntu: libcurl4; Fedora"],
                 "run", "-m", "gpt-5.4", "task")
        self.bad(1, ["libpq.so.5, PostgreSQL's client library, is not installed here (Debian, Ubuntu: libpq5; Fedora"],
                 "sessions", "--store", "postgres://ada@db.example/thole")
        self.good("sessions")
        checks = {c["check"]: c for c in map(json.loads, self.thole("doctor", "--json").out.splitlines())}
        self.assertEqual(checks["http"]["result"], "BROKEN")
        self.assertIn("libcurl4", checks["http"]["text"])
        del self.env["LD_LIBRARY_PATH"]
        self.assertIn("http           libcurl can be used", self.thole("doctor").out)

    def test_verbs(self):
        self.bad(2, ["needs a verb"], "computer")
        self.bad(2, ["clik", "did you mean click"], "computer", "clik")
        self.bad(2, ["usage: %s computer move X Y" % house.THOLE], "computer", "move", "1")
        self.bad(2, ["X must be a whole number"], "computer", "click", "a", "2")
        self.bad(2, ["--button does not go with"], "computer", "type", "x", "--button", "left")
        self.bad(2, ["direction"], "computer", "scroll", "sideways")
        self.bad(2, ["--button must be"], "computer", "click", "1", "2", "--button", "top")
        self.bad(1, ["no computer runs"], "computer", "-s", "nobody", "size")
        self.bad(2, ["x.gif", "--format"], "computer", "see", "-o", self.work / "x.gif")
        self.bad(2, ['no computer "desktp"', "did you mean desktop"], "computer", "-c", "desktp", "end")
        self.good("computer", "end")


class Stores(house.House):
    def test_folder(self):
        """A mistyped path makes no folders; the default log's are made."""
        path = self.folder / "srv" / "thole" / "log.db"
        for args in (["run", "-m", "gpt-5.4", "task"], ["import"]):
            self.bad(1, [str(path), "mkdir -p %s" % path.parent, "another store"], *args, "--store", "sqlite:%s" % path)
        self.assertFalse((self.folder / "srv").exists())
        shutil.rmtree(self.folder / "state")
        self.serve([{"text": "Hello."}])
        self.good("run", "-m", "gpt-5.4", "task")

    def test_names(self):
        """A beginning stands for a name when it is long enough and only one has it; else the names are told."""
        self.bad(1, ["there is no log at"], "log", "report")
        self.serve([{"text": "Hello."}])
        for name in ("report-1", "other", "sum-1", "sum-2", "sum-3"):
            self.good("run", "-m", "gpt-5.4", "-s", name, "task")
        self.assertIn("Hello.", self.good("log", "repo").out)
        self.bad(1, ['no session "rep" in this log; did you mean report-1?'], "log", "rep")
        self.bad(1, ["did you mean report-1?"], "resume", "reprot-1")
        self.bad(1, ['no session "nothing" in this log; %s sessions lists them' % house.THOLE], "approve", "nothing")
        self.bad(1, ['no session ""'], "log", "")
        self.bad(2, ['more than one session begins with "sum": sum-3, sum-2, sum-1'], "fork", "sum")
        self.good("fork", "sum-1", "sum-4")
        self.bad(2, ["sum-4, sum-3, sum-2 and others; %s sessions lists them" % house.THOLE], "log", "sum-")

    def test_imports(self):
        """What is no exported session says so, not only where it is not JSON."""
        file = self.work / "file"
        for text, words in (("", "file: it is empty: nothing was exported into it"),
                            ("name: agent\n", "file: this is not an exported session: line 1: not JSON"),
                            ('{"a":1}\n', "file: this is not an exported session: line 1: this is not a line of")):
            file.write_text(text)
            self.bad(1, words, "import", file)
        self.bad(1, "work: it has no folder events, as a conversation of OpenHands has", "import", self.work)
        self.bad(1, "standard input: it is empty", "import", stdin="")
        self.serve([{"text": "Hello."}])
        self.good("run", "-m", "gpt-5.4", "-s", "one", "task")
        lines = self.good("export", "one").out
        self.bad(1, "standard input: this log has a session one already", "import", stdin=lines)
        self.bad(1, "standard input: it is cut off after line 2, before its end", "import", "--store",
                 "sqlite:%s/o.db" % self.folder, stdin="\n".join(lines.splitlines()[:2]) + "\n")

    def test_database(self):
        path = self.folder / "x.db"
        store = "sqlite:%s" % path
        self.bad(1, ["there is no log at", str(path)], "log", "a", "--store", store)
        path.write_text("this is not a database, but long enough to look like one\n" * 50)
        before = path.read_bytes()
        for args in (["sessions"], ["log", "--verify"], ["run", "-m", "gpt-5.4", "task"], ["fork", "a"]):
            self.bad(1, [str(path)], *args, "--store", store)
        self.assertEqual(path.read_bytes(), before)
        self.bad(2, ["nosuch"], "sessions", "--store", "nosuch:x")
        for words in (["check"], ["migrate"], ["clean"], ["copy", "a", "b"], ["blobs"]):
            self.bad(2, ["--over goes with blobs PLACE"], "store", *words, "--over", "5")

    def test_unreadable(self):
        folder = self.folder / "shut"
        folder.mkdir()
        code = 1
        if os.geteuid() == 0:
            # Root may read all; a folder in the way is refused to everybody.
            (folder / "log.db").mkdir()
            code = 2
        else:
            (folder / "log.db").write_text("")
            (folder / "log.db").chmod(0)
        self.bad(code, ["log.db"], "sessions", "--store", "sqlite:%s/log.db" % folder)
        self.bad(code, ["log.db"], "run", "-m", "gpt-5.4", "task", "--store", "sqlite:%s/log.db" % folder)

    def test_diffs_of_others(self):
        self.bad(1, ["standard input"], "plumb", "patch", stdin="@@\n")
        self.bad(2, ["input", "diff"], "plumb", "patch", stdin='{"diff":"+a"}')
        self.bad(2, ["--mode"], "plumb", "patch", "--mode", "delete", stdin="{}")
        self.bad(2, ["no operand"], "plumb", "patch", "x", stdin="{}")

    def test_events_of_others(self):
        self.bad(1, ["line 1"], "plumb", "fold", stdin="this is no event\n")
        self.bad(1, ["line 1", "session_created"], "plumb", "fold",
                 stdin='{"session":"a","seq":1,"ts_ms":1,"id":"01890000-0000-7000-8000-000000000000","source":"user",'
                       '"kind":"message","data":{"role":"user","content":"x"},"build":"x"}\n')


if __name__ == "__main__":
    house.main()
