# SPDX-License-Identifier: Apache-2.0
"""Hooks that are programs: each event of OpenHands' hooks.json, what refuses, changes and tells, and that none runs twice."""

import json
import os
import signal
import time
import unittest

import house

SHELL = {"function_call": {"name": "shell", "arguments": {"command": "echo made > made.txt"}}}
READ = {"function_call": {"name": "read_file", "arguments": {"path": "old.txt"}}}


def said(line):
    return {"if": {"turns": {"equals": 0}}, "parts": [line]}


class Hooks(house.House):
    def setUp(self):
        super().setUp()
        self.env["THOLE_MODEL"] = "gpt-5.4"
        (self.work / "old.txt").write_text("old\n")

    def hooks(self, file=None, more="", **events):
        """An agent with these hooks: event -> command lines; `file`: in a hooks.json of the repository."""
        lists = {event: [{"matcher": "*", "hooks": [hook if isinstance(hook, dict) else {"command": hook} for hook in hooks]}]
                 for event, hooks in events.items()}
        own = {} if file else lists
        if file:
            (self.work / ".openhands").mkdir(exist_ok=True)
            (self.work / ".openhands" / "hooks.json").write_text(json.dumps(file))
            own = {"repository": True}
        text = json.dumps({"workspace": str(self.work), "tools": ["shell", "read_file"], "hooks": dict(own, **json.loads(more or "{}"))})
        (self.folder / "agent.yaml").write_text(text)

    def run_rules(self, *rules, code=0, name="one", task="Begin."):
        if self.standin:
            self.standin.end()
        self.standin = house.Standin(self.folder, {"rules": list(rules) + [{"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        return self.good("run", "-a", self.folder / "agent.yaml", "-s", name, task, code=code)

    def events(self, *kinds, name="one"):
        lines = self.good("log", name, "--json").out.splitlines()
        return [e for e in map(json.loads, lines) if not kinds or e["kind"] in kinds]

    def guardrails(self, name="one"):
        return [e["data"] for e in self.events("guardrail", name=name)]

    def outcome(self):
        return self.events("outcome")[0]["data"]

    def test_a_call_is_refused_and_the_hook_knows_it(self):
        self.hooks(file={"hooks": {"PreToolUse": [{"matcher": "shell|terminal", "hooks": [
            {"type": "command", "command": "cat > given.json; env | grep OPENHANDS_ > env.txt; echo 'not here' >&2; exit 2"}]}]}})
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                       {"expect": [{"tool_output": {"nth": -1, "contains": "not here"}}], "parts": [{"text": "Done."}]})
        self.assertEqual(self.outcome()["status"], "refused")
        self.assertFalse((self.work / "made.txt").exists())
        given = json.loads((self.work / "given.json").read_text())
        self.assertEqual((given["event_type"], given["tool_name"], given["session_id"], given["working_dir"]),
                         ("PreToolUse", "shell", "one", str(self.work)))
        self.assertEqual(given["tool_input"], {"command": "echo made > made.txt"})
        self.assertEqual(given["message"], None)
        env = (self.work / "env.txt").read_text()
        for line in ("OPENHANDS_SESSION_ID=one", "OPENHANDS_EVENT_TYPE=PreToolUse", "OPENHANDS_TOOL_NAME=shell",
                     "OPENHANDS_PROJECT_DIR=%s" % self.work):
            self.assertIn(line + "\n", env)
        started = self.events("hook_started")[0]["data"]
        self.assertEqual((started["name"], started["event"], started["stage"]), ("pre_tool_use 1", "pre_tool_use", "tool_input"))
        self.assertEqual(self.guardrails()[0]["effect_id"], started["effect_id"])
        self.assertIn("not here", self.good("log", "one").out)

    def test_another_tool_is_not_asked_about(self):
        self.hooks(file={"pre_tool_use": [{"matcher": "read_.*", "hooks": [{"command": "exit 2"}]}]})
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        self.assertTrue((self.work / "made.txt").exists())
        self.assertEqual(self.events("hook_started"), [])

    def test_json_decides_changes_and_tells(self):
        change = json.dumps({"updatedInput": {"command": "echo other > other.txt"}, "additionalContext": "mind the gap"})
        self.hooks(pre_tool_use=["echo '%s'" % change], post_tool_use=["cat > after.json; echo '{\"additionalContext\": \"tidy up\"}'"])
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                       {"expect": [{"body": {"contains": "mind the gap"}}, {"body": {"contains": "tidy up"}},
                                   {"body": {"contains": "changed the arguments"}}], "parts": [{"text": "Done."}]})
        self.assertTrue((self.work / "other.txt").exists())
        self.assertFalse((self.work / "made.txt").exists())
        after = json.loads((self.work / "after.json").read_text())
        self.assertEqual(after["tool_input"], {"command": "echo other > other.txt"})
        self.assertIsNotNone(after["tool_response"])
        call, intent = self.events("call")[0]["data"], self.events("intent")[0]["data"]
        self.assertNotEqual(call["digest"], intent["digest"])

    def test_a_change_does_not_pass_policy(self):
        change = json.dumps({"updatedInput": {"command": "echo other > other.txt"}})
        self.hooks(pre_tool_use=["echo '%s'" % change])
        agent = json.loads((self.folder / "agent.yaml").read_text())
        agent["rules"] = [{"tool": "shell", "arguments": {"command": "*other*"}, "decide": "refuse"}]
        (self.folder / "agent.yaml").write_text(json.dumps(agent))
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                       {"expect": [{"tool_output": {"nth": -1, "contains": "would not simply run"}}], "parts": [{"text": "Done."}]})
        self.assertFalse((self.work / "other.txt").exists() or (self.work / "made.txt").exists())

    def test_a_prompt_is_refused(self):
        self.hooks(user_prompt_submit=["grep -q '\"message\":\"Begin.\"' && { echo no >&2; exit 2; }"])
        self.run_rules(code=1)
        self.assertEqual(self.events("model_requested"), [])
        self.assertTrue(self.guardrails()[0]["tripped"])
        self.assertEqual(self.guardrails()[0]["message"], "no")

    def test_the_agent_is_sent_back_and_no_more_than_ten_times(self):
        self.hooks(stop=["[ $(cat count 2>/dev/null | wc -l) -ge 2 ] || { echo x >> count; echo 'tests are missing' >&2; exit 2; }"])
        self.run_rules({"if": {"body": {"contains": "tests are missing"}}, "parts": [{"text": "Better."}]})
        self.assertEqual([g.get("again", False) for g in self.guardrails()], [True, True, False])
        self.assertEqual(self.events("final")[0]["data"]["output"], "Better.")
        self.standin.end()
        self.hooks(stop=["echo never >&2; exit 2"])
        self.run_rules(name="two")
        self.assertEqual(sum(g.get("again", False) for g in self.guardrails("two")), 10)
        self.assertEqual(len(self.events("final", name="two")), 1)

    def test_what_is_said_behind_the_end_is_said_to_nobody(self):
        self.hooks(stop=["echo '{\"additionalContext\": \"well done\"}'"])
        self.run_rules()
        self.assertIn("well done", self.guardrails()[0]["info"]["stdout"])
        self.assertEqual([e["data"]["content"] for e in self.events("message")][1:], [])

    def test_begin_and_end_of_a_session(self):
        self.hooks(session_start=["echo start >> order; echo '{\"additionalContext\": \"it is spring\"}'"],
                   user_prompt_submit=["echo prompt >> order"], session_end=["cat > end.json; echo end >> order"])
        self.run_rules({"expect": [{"body": {"contains": "it is spring"}}], "parts": [{"text": "Done."}]})
        self.assertEqual(sorted((self.work / "order").read_text().split()[:2]), ["prompt", "start"])
        self.assertEqual((self.work / "order").read_text().split()[2:], ["end"])
        self.assertEqual(json.loads((self.work / "end.json").read_text())["metadata"]["state"], "finished")
        self.good("run", "-s", "one", "More.")
        self.assertEqual((self.work / "order").read_text().split()[3:], ["prompt", "end"])

    def test_failures_pass_or_refuse_by_choice(self):
        broken = [{"command": "exit 3"}, {"command": "kill -9 $$"}, {"command": "sleep 60", "timeout": 1}, {"command": "echo '{broken'"}]
        self.hooks(pre_tool_use=broken)
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        self.assertTrue((self.work / "made.txt").exists())
        why = [g["info"]["failed"] for g in self.guardrails()]
        self.assertIn("exit status 3", why[0])
        self.assertIn("137", why[1])  # the sandbox says it as a shell does
        self.assertIn("time limit", why[2])
        self.assertIn("no JSON", why[3])
        self.assertEqual(self.good("log", "one").out.count("failed, and all goes on: "), 4)
        self.assertRegex(self.good("log", "one", "--trace").out, r"guardrail pre_tool_use 1 .* failed\n")
        for i, hook in enumerate(broken):
            self.standin.end()
            (self.work / "made.txt").unlink(missing_ok=True)
            self.hooks(more='{"fail": true}', pre_tool_use=[hook])
            self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name="closed%d" % i)
            self.assertFalse((self.work / "made.txt").exists(), hook)
        self.standin.end()
        self.hooks(more='{"fail": true}', stop=["exit 1"])
        self.run_rules(code=1, name="end")

    def test_each_agent_says_what_a_failure_of_its_hooks_means(self):
        """By its own `fail`; without, as the first agent says."""
        broken = {"pre_tool_use": [{"hooks": [{"command": "exit 3"}]}]}
        for i, (first, second, made) in enumerate(((None, None, True), (None, True, False), (True, None, False), (True, False, True))):
            own = broken if second is None else dict(broken, fail=second)
            hooks = {"stop": [{"hooks": [{"command": "true"}]}]}
            agent = {"workspace": str(self.work), "tools": ["none"], "handoffs": ["second"], "hooks": hooks if first is None else dict(hooks, fail=first),
                     "agents": {"second": {"tools": ["shell"], "hooks": own}}}
            (self.folder / "agent.yaml").write_text(json.dumps(agent))
            (self.work / "made.txt").unlink(missing_ok=True)
            self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [{"function_call": {"name": "transfer_to_second", "arguments": {}}}]},
                           {"if": {"turns": {"equals": 1}}, "parts": [SHELL]}, name="n%d" % i)
            self.assertEqual((self.work / "made.txt").exists(), made, (first, second))

    def test_nobody_waits_for_an_async_hook(self):
        os.mkfifo(self.work / "gate", 0o666)
        (self.work / "gate").chmod(0o666)
        self.hooks(pre_tool_use=[{"command": "cat gate > /dev/null; exit 2", "async": True}])
        open_gate = {"function_call": {"name": "shell", "arguments": {"command": "echo x > gate"}}}
        self.run_rules({"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, {"if": {"turns": {"equals": 1}}, "parts": [open_gate]})
        self.assertTrue((self.work / "made.txt").exists())
        self.assertEqual(self.events("guardrail"), [])
        self.assertTrue(self.events("hook_started")[0]["data"]["async"])

    def test_bad_files_are_refused_by_name(self):
        for file, words in (({"BogusEvent": []}, "Unknown event type 'BogusEvent'"),
                            ({"stop": [{"hooks": [{"type": "other", "command": "x"}]}]}, "command, prompt and agent are"),
                            ({"stop": [{"hooks": [{"command": "x", "timeout": 601}]}]}, "at most 600"),
                            ({"pre_tool_use": [{"matcher": "(?!shell).*", "hooks": [{"command": "x"}]}]}, "not supported"),
                            ({"stop": [{"hooks": [{"command": "x"}] * 33}]}, "at most 32"),
                            ({"stop": [{"hooks": [{"command": "x" * 300000}]}]}, "larger than")):
            self.hooks(file=file)
            ended = self.thole("run", "-a", self.folder / "agent.yaml", "-s", "bad", "Begin.")
            self.assertNotEqual(ended.code, 0)
            self.assertIn(words, ended.err)
            self.assertIn("hooks.json", ended.err)

    def test_killed_in_a_hook_it_runs_once(self):
        self.hooks(pre_tool_use=["echo x >> runs; until [ -e go ]; do sleep 0.05; done; exit 2"])
        self.standin = house.Standin(self.folder, {"rules": [{"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                                                             {"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        run = self.start("run", "-a", self.folder / "agent.yaml", "-s", "one", "Begin.")
        deadline = time.monotonic() + 30
        while not (self.work / "runs").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        (self.work / "go").touch()
        self.good("fork", "one", "two")
        self.good("resume", "one")
        self.assertEqual((self.work / "runs").read_text(), "x\n")
        self.assertEqual(len(self.events("hook_started")), 1)
        self.assertEqual(self.outcome()["status"], "refused")
        # What a fork does is looked at by a run of its own.
        self.good("resume", "two")
        self.assertEqual((self.work / "runs").read_text(), "x\nx\n")
        self.assertFalse((self.work / "made.txt").exists())

    def asked(self, answer, **more):
        """What the model says that a policy is given to; it is given no tools and nothing of the session."""
        return dict({"if": {"system": "The policy:\nNo files."}, "expect": [{"body": {"not_contains": "\"tools\""}}, {"body": {"not_contains": "Begin."}}],
                     "parts": [{"text": answer if isinstance(answer, str) else json.dumps(answer)}]}, **more)

    def test_a_model_decides_by_a_policy(self):
        policy = {"type": "prompt", "prompt": "No files."}
        self.hooks(file={"PreToolUse": [{"matcher": "shell", "hooks": [policy]}]})
        no = self.asked({"decision": "deny", "reason": "it makes a file"})
        no["expect"].append({"tail": "echo made > made.txt"})
        self.run_rules(no, {"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                       {"expect": [{"tool_output": {"nth": -1, "contains": "it makes a file"}}], "parts": [{"text": "Done."}]})
        self.assertEqual(self.outcome()["status"], "refused")
        self.assertFalse((self.work / "made.txt").exists())
        started, guard = self.events("hook_started")[0]["data"], self.guardrails()[0]
        self.assertEqual((started["type"], started["command"], started.get("journal")), ("prompt", "No files.", None))
        self.assertEqual((guard["effect_id"], guard["usage"]["requests"]), (started["effect_id"], 1))
        self.assertIn("(hook: 1 request", self.good("run", "-s", "one", "Again.").out)
        self.run_rules(self.asked({"decision": "allow"}), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name="two")
        self.assertTrue((self.work / "made.txt").exists())

    def test_an_answer_that_is_none_is_a_failure(self):
        answers = ("Yes.", {"decision": "perhaps"}, {"decision": "allow", "more": 1}, "```json\n{\"decision\": \"allow\"}\n```", {"reason": "x"})
        for i, answer in enumerate(answers):
            for fails in (False, True):
                (self.work / "made.txt").unlink(missing_ok=True)
                self.hooks(more='{"fail": %s}' % json.dumps(fails), pre_tool_use=[{"type": "prompt", "prompt": "No files."}])
                name = "n%d%s" % (i, fails)
                self.run_rules(self.asked(answer), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name=name)
                self.assertEqual((self.work / "made.txt").exists(), not fails, answer)
                self.assertIn("failed", self.guardrails(name)[0]["info"])

    def test_a_model_is_told_so_much_and_no_more(self):
        for more, tells in ((-4096, True), (0, False)):  # TH_HOOK_ASKED_MAX; the rest of the object takes less than that
            name = "n%d" % tells
            written = {"function_call": {"name": "write_file", "arguments": {"path": name, "content": "x" * (256 * 1024 + more)}}}
            self.hooks(more='{"fail": true}', pre_tool_use=[{"type": "prompt", "prompt": "No files."}])
            agent = self.folder / "agent.yaml"
            agent.write_text(agent.read_text().replace("read_file", "write_file"))
            self.run_rules(self.asked({"decision": "allow"}), {"if": {"turns": {"equals": 0}}, "parts": [written]}, name=name)
            self.assertEqual((self.work / name).exists(), tells)
        self.assertIn("a model is told at most 262144 bytes by a hook", self.guardrails(name)[0]["info"]["failed"])

    def test_a_model_is_asked_about_all_events(self):
        policy = {"type": "prompt", "prompt": "No files."}
        self.hooks(session_start=[policy], user_prompt_submit=[policy], pre_tool_use=[policy], post_tool_use=[policy], stop=[policy], session_end=[policy])
        self.run_rules(self.asked({"decision": "allow"}, expect=[]), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        self.assertEqual(sorted(e["data"]["event"] for e in self.events("hook_started")),
                         ["post_tool_use", "pre_tool_use", "session_end", "session_start", "stop", "user_prompt_submit"])
        (end,) = self.events("code")
        self.assertEqual((end["data"]["use"], end["data"]["usage"]["requests"]), ("session_end", 1))
        self.run_rules(self.asked({"decision": "deny", "reason": "no such words"}, expect=[]), code=1, name="two")
        self.assertIn("no such words", self.good("log", "two").out)

    def looks(self, call, *rules, **more):
        """The model of a hook of the type agent: its first answer is the call, the others are as the rules say."""
        policy = {"system": "The policy:\nNo files."}
        first = dict({"if": [policy, {"turns": {"equals": 0}}],
                      "expect": [{"body": {"contains": "read_file"}}, {"body": {"not_contains": "\"shell\",\"description"}},
                                 {"body": {"not_contains": "Begin."}}], "parts": [call]}, **more)
        return [first] + [{"if": [policy, {"turns": {"equals": i + 1}}], **rule} for i, rule in enumerate(rules)]

    def test_a_model_looks_before_it_decides(self):
        self.hooks(pre_tool_use=[{"type": "agent", "prompt": "No files.", "tools": ["read_file"]}])
        no = {"expect": [{"tool_output": {"nth": -1, "contains": "old"}}], "parts": [{"text": json.dumps({"decision": "deny", "reason": "there is an old one"})}]}
        self.run_rules(*self.looks(READ, no), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]},
                       {"expect": [{"tool_output": {"nth": -1, "contains": "there is an old one"}}, {"body": {"not_contains": "old\\n"}}], "parts": [{"text": "Done."}]})
        self.assertEqual(self.outcome()["status"], "refused")
        self.assertFalse((self.work / "made.txt").exists())
        started, guard = self.events("hook_started")[0]["data"], self.guardrails()[0]
        self.assertEqual((started["type"], started["command"]), ("agent", "No files."))
        self.assertEqual(guard["info"]["looked"], [{"tool": "read_file", "arguments": "{\"path\":\"old.txt\"}"}])
        self.assertEqual(guard["usage"]["requests"], 2)
        self.assertEqual(len(self.events("call")), 1)  # what it looked at is none of the session's
        self.assertIn("(hook: 2 requests", self.good("run", "-s", "one", "Again.").out)
        yes = {"parts": [{"text": json.dumps({"decision": "allow"})}]}
        self.run_rules(*self.looks(READ, yes), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name="two")
        self.assertTrue((self.work / "made.txt").exists())

    def test_one_that_may_look_does_nothing_else(self):
        yes = {"parts": [{"text": json.dumps({"decision": "allow"})}]}
        write = {"function_call": {"name": "shell", "arguments": {"command": "echo x > looked.txt"}}, "undeclared": True}
        self.hooks(pre_tool_use=[{"type": "agent", "prompt": "No files."}])
        refused = dict(yes, expect=[{"tool_output": {"nth": -1, "contains": "you have no such tool"}}])
        self.run_rules(*self.looks(write, refused), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        self.assertFalse((self.work / "looked.txt").exists())
        self.assertNotIn("looked", self.guardrails()[0]["info"])
        # The agent's rules are its rules, too.
        agent = json.loads((self.folder / "agent.yaml").read_text())
        agent["rules"] = [{"tool": "read_file", "arguments": {"path": "*old*"}, "decide": "refuse"}]
        (self.folder / "agent.yaml").write_text(json.dumps(agent))
        ruled = dict(yes, expect=[{"tool_output": {"nth": -1, "contains": "error"}}, {"body": {"not_contains": "old\\n"}}])
        self.run_rules(*self.looks(READ, ruled), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name="two")
        self.assertNotIn("looked", self.guardrails("two")[0]["info"])

    def test_one_that_only_looks_has_failed(self):
        again = {"parts": [READ]}
        yes = {"parts": [{"text": json.dumps({"decision": "allow"})}]}
        for i, (hook, rules, words) in enumerate((
                ({}, (again, again), "looked again instead of deciding"),
                ({"max_iterations": 1}, (), "looked again instead of deciding"),
                ({"tools": ["terminal"]}, (yes,), "has no tool \"terminal\" that only reads"))):
            for fails in (True, False) if i == 0 else (True,):
                (self.work / "made.txt").unlink(missing_ok=True)
                self.hooks(more='{"fail": %s}' % json.dumps(fails), pre_tool_use=[dict({"type": "agent", "prompt": "No files."}, **hook)])
                name = "n%d%s" % (i, fails)
                self.run_rules(*self.looks(READ, *rules), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, name=name)
                self.assertIn(words, self.guardrails(name)[0]["info"]["failed"])
                self.assertEqual((self.work / "made.txt").exists(), not fails)

    def test_one_that_looks_is_asked_again_after_a_kill(self):
        self.hooks(pre_tool_use=[{"type": "agent", "prompt": "No files."}])
        slow = {"parts": [{"text": json.dumps({"decision": "deny", "reason": "no"})}], "faults": [{"delay": 60}]}
        others = [{"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, {"parts": [{"text": "Done."}]}]
        self.standin = house.Standin(self.folder, {"rules": self.looks(READ, slow) + others})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        process = self.start("run", "-a", self.folder / "agent.yaml", "-s", "one", "Begin.")
        self.wait_for(lambda: len(self.standin.requests()) >= 2)  # the model was asked, and looked
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.standin.end()
        del slow["faults"]
        self.standin = house.Standin(self.folder, {"rules": self.looks(READ, slow) + others})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.good("resume", "one")
        self.assertEqual(len(self.events("hook_started")), 1)
        self.assertEqual(len(self.guardrails()), 1)
        self.assertEqual(self.outcome()["status"], "refused")
        self.assertFalse((self.work / "made.txt").exists())

    def test_a_model_is_asked_again_after_a_kill(self):
        self.hooks(pre_tool_use=[{"type": "prompt", "prompt": "No files."}])
        slow = self.asked({"decision": "allow"}, faults=[{"delay": 60}])
        self.standin = house.Standin(self.folder, {"rules": [slow, {"if": {"turns": {"equals": 0}}, "parts": [SHELL]}, {"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        process = self.start("run", "-a", self.folder / "agent.yaml", "-s", "one", "Begin.")
        self.wait_for(lambda: '"hook_started"' in self.thole("log", "one", "--json").out)
        process.kill()
        process.wait(house.SECONDS)
        process.stdout.close()
        process.stderr.close()
        self.standin.end()
        self.run_again(self.asked({"decision": "allow"}), {"if": {"turns": {"equals": 0}}, "parts": [SHELL]})
        self.assertTrue((self.work / "made.txt").exists())
        self.assertEqual(len(self.events("hook_started")), 1)

    def run_again(self, *rules):
        self.standin = house.Standin(self.folder, {"rules": list(rules) + [{"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.good("resume", "one")

    def test_another_prompt_is_looked_at_by_a_new_run_of_the_hook(self):
        """A task that was stopped in its hook leaves no answer for the next one."""
        self.hooks(user_prompt_submit=["cat > $(ls | grep -c given).given; until [ -e go ]; do sleep 0.05; done; grep -q Other *.given && exit 2"])
        self.standin = house.Standin(self.folder, {"rules": [{"parts": [{"text": "Done."}]}]})
        self.env["OPENAI_BASE_URL"] = self.standin.url
        run = self.start("run", "-a", self.folder / "agent.yaml", "-s", "one", "Begin.")
        deadline = time.monotonic() + 30
        while not (self.work / "0.given").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        self.good("cancel", "one")
        (self.work / "go").touch()
        self.good("run", "-s", "one", "Other.", code=1)
        self.assertIn("Other.", json.loads((self.work / "1.given").read_text())["message"])
        self.assertEqual(len(self.events("hook_started")), 2)
        self.assertTrue(self.guardrails()[-1]["tripped"])
        self.assertEqual(self.events("model_requested"), [])


if __name__ == "__main__":
    unittest.main()
