# SPDX-License-Identifier: Apache-2.0
"""An agent's own code: programs as tools, scripts; and traces of what all that did."""

import http.server
import json
import re
import threading

import house


def call(name, **arguments):
    return {"function_call": {"name": name, "arguments": arguments}}


class Commands(house.House):
    def test_a_program_is_a_tool(self):
        """Found beside the agent file; its result, its progress and its failure; arguments that do not fit are told."""
        tools = self.work / "agents"  # a sandbox has a /tmp of its own
        tools.mkdir()
        program = tools / "weather.sh"
        program.write_text("#!/bin/sh\necho asking >&2\ncat\ntest -e none.txt && exit 4\nexit 0\n")
        program.chmod(0o755)
        agent = tools / "agent.yaml"
        agent.write_text("model: gpt-5.4\ntools:\n- shell\n- name: weather\n  description: The weather of a city.\n"
                         "  parameters: {type: object, properties: {city: {type: string}}, required: [city]}\n"
                         "  command: [./weather.sh]\n  class: read\n"
                         "- {name: deploy, command: [/bin/sh, -c, 'echo deployed'], approve: true}\n")
        self.serve({"parts": [call("weather", city="Bern"), call("weather", town="Bern")]},
                   {"expect": [{"tool_output": {"nth": 0, "contains": '{"city":"Bern"}'}},
                               {"tool_output": {"nth": 1, "contains": "city"}}],
                    "parts": [call("shell", command="echo > none.txt")]},
                   {"parts": [call("weather", city="Nowhere")]},
                   {"expect": [{"tool_output": {"contains": "exit status 4"}}], "parts": [call("deploy")]},
                   {"expect": [{"tool_output": {"contains": "deployed"}}], "parts": [{"text": "Done."}]})
        ended = self.good("run", "-a", agent, "-s", "one", "go", code=3)
        self.assertIn("deploy", ended.out)
        self.assertIn("progress   weather: asking", ended.out)
        self.good("approve", "one")
        self.good("resume", "one")
        events = self.events("one")
        calls = [e["data"] for e in events if e["kind"] == "call"]
        self.assertEqual([c["class"] for c in calls], ["R", "R", "W", "R", "W"])
        self.assertEqual([c["policy"] for c in calls], ["run", "refuse", "run", "run", "ask"])
        outcomes = [e["data"]["status"] for e in events if e["kind"] == "outcome"]
        self.assertEqual(sorted(outcomes), ["done", "done", "done", "failed", "refused"])
        self.assertEqual(events[-1]["kind"], "final")


class Scripts(house.House):
    def page(self):
        """The agents of docs/SCRIPTS.md, as files."""
        text = (house.SOURCE / "docs" / "SCRIPTS.md").read_text()
        blocks = re.findall(r"^```(yaml|lua)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for name, (kind, text) in zip(("clerk.yaml", "watched.yaml", "careful.yaml", "ask.lua"), blocks):
            self.assertTrue(name.endswith(kind))
            (self.work / name).write_text(text)

    def test_the_page(self):
        """The page's first agent: instructions, a tool, what follows it; its guardrails."""
        self.page()
        self.serve({"parts": [call("vat", net=100, country="CH"), call("vat", net=1, country="XX"),
                              call("shell", command="rm -r .")]})
        self.good("run", "-a", "clerk.yaml", "-s", "clerk", "100 francs?")
        events = self.events("clerk")
        self.assertEqual(events[-1]["data"]["output"], "The price is 108.10")
        outputs = [e["data"]["output"] for e in events if e["kind"] == "outcome"]
        self.assertIn("108.10", outputs)
        self.assertIn("error: no rate for XX", outputs)
        self.assertTrue(any("Deleting is not your job" in str(o) for o in outputs), outputs)
        drawn = self.good("log", "clerk", "--trace").out
        for words in ("task ", "  agent clerk", "    turn 1", "      model gpt-5.4", "      tool vat", "        guardrail no_rm",
                      "  guardrail no_secrets", "usage\n  clerk, gpt-5.4: 1 request"):
            self.assertIn(words, drawn)
        spans = json.loads(self.good("log", "clerk", "--trace", "--json").out)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        self.assertEqual(len({s["spanId"] for s in spans}), len(spans))
        self.assertEqual(len({s["traceId"] for s in spans}), 1)
        ended = self.thole("run", "-a", "clerk.yaml", "-s", "leak", "my key is sk-12345")
        self.assertEqual(ended.code, 1, ended)
        self.assertNotIn("final", self.kinds("leak"))
        self.assertEqual(len(self.standin.requests()), 1)
        # The same again would be stopped again: another task is the way on.
        self.assertIn('go on:    %s run -s leak "TASK"   (or the same again: %s resume leak)\n' % (house.THOLE, house.THOLE), ended.out)
        self.assertEqual(self.thole("resume", "leak").code, 1)
        self.good("run", "-s", "leak", "100 francs, then?")
        self.assertEqual(self.kinds("leak")[-1], "final")

    def test_approval_by_code_and_rules(self):
        self.page()
        text = (self.work / "careful.yaml").read_text() + """approve: [list_dir]
rules:
- {tool: list_dir, path: "**/work", decide: run}
- {path: /etc/**, decide: refuse, message: those are not yours}
"""
        (self.work / "careful.yaml").write_text(text)
        self.serve({"parts": [call("list_dir", path="."), call("list_dir", path="./sub/.."), call("list_dir", path="/usr"),
                              call("read_file", path="../../../../etc/passwd"), call("shell", command="sudo id"),
                              call("shell", command="true")]})
        self.good("run", "-a", "careful.yaml", "-s", "careful", "go", code=3)
        calls = [e["data"] for e in self.events("careful") if e["kind"] == "call"]
        self.assertEqual([c["policy"] for c in calls], ["run", "run", "ask", "refuse", "ask", "run"])
        asked = [e["data"]["reason"] for e in self.events("careful") if e["kind"] == "approval_requested"]
        self.assertIn("it wants to be root", asked)

    def test_hooks_of_the_page(self):
        """What they print is noted, one that fails too; the run goes on, and a resumed one is told nothing again."""
        self.page()
        text = (self.work / "watched.yaml").read_text()
        (self.work / "watched.yaml").write_text(text.replace("llm_end: note_cost", "llm_end: note_cost, agent_end: fails")
                                                + "  function fails(h) error('no end of ' .. h.output, 0) end\n")
        self.serve({"parts": [call("shell", command="echo hello")]}, {"parts": [{"text": "Done."}]})
        self.good("run", "-a", "watched.yaml", "-s", "watched", "go")
        notes = [e["data"] for e in self.events("watched") if e["kind"] == "code"]
        self.assertEqual([(n["use"], n["name"]) for n in notes], [("llm_end", "note_cost"), ("tool_start", "note_command"),
                                                                 ("llm_end", "note_cost"), ("agent_end", "fails")])
        self.assertEqual(notes[1]["answer"], "runs\techo hello")
        self.assertIn("no end of Done.", notes[3]["failed"])
        self.assertEqual(self.kinds("watched")[-3:], ["final", "code", "code"])
        self.good("resume", "watched")
        self.assertEqual(len([e for e in self.events("watched") if e["kind"] == "code"]), 4)
        self.good("log", "--verify")

    def test_a_script_decides(self):
        """Instead of a person: once yes, once no; what it leaves open waits."""
        (self.work / "a.yaml").write_text("""model: gpt-5.4
approve: [shell]
decide_from: judge
script: |
  function judge(q)
    local c = q.arguments.command
    if c == "true" then return {approve = true} end
    if c == "false" then return {approve = false, message = "not that"} end
  end
""")
        self.serve({"parts": [call("shell", command="true")]},
                   {"parts": [call("shell", command="false")]},
                   {"expect": [{"tool_output": {"contains": "not that"}}], "parts": [call("shell", command="id")]})
        self.good("run", "-a", "a.yaml", "-s", "one", "go", code=3)
        decided = [e["data"] for e in self.events("one") if e["kind"] == "approval_decided"]
        self.assertEqual([(d["approve"], d["by"]) for d in decided], [(True, "judge"), (False, "judge")])
        self.assertEqual(self.kinds("one").count("intent"), 1)

    def test_mistakes_are_found_before_the_run(self):
        def said(text, words):
            (self.work / "a.yaml").write_text("model: gpt-5.4\n" + text)
            self.bad(2, words, "run", "-a", "a.yaml", "hello")

        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
        said("instructions_from: gone\nscript: 'function f() end'\n", 'no function "gone"')
        said("script: |\n  function f(\n", "script:")
        said("script: while true do end\n", "instructions")
        said("script: x = 1\nscript_file: b.lua\n", "script_file stands beside script")
        said("tools: [{name: t, script: f}]\n", "there is none")
        said("tools: [{name: t, script: f, command: [x]}]\nscript: 'function f() end'\n", "one or the other")
        said("hooks: {tool_start: g}\nscript: 'function f() end'\n", 'agent "default", hooks.tool_start: the script has no function "g"')
        said("run_hooks: {llm_end: g}\nscript: 'function f() end'\n", 'run_hooks.llm_end: the script has no function "g"')
        said("hooks: {tool_begin: f}\nscript: 'function f() end'\n", "tool_begin")
        said("decide_from: g\nscript: 'function f() end'\n", 'decide_from: the script has no function "g"')
        said("guardrails: [{name: g, stage: output}]\nscript: 'function f() end'\n", 'a.yaml: agent "default", guardrails[0].name: the script has no function "g"')
        said("compact: {from: g}\nscript: 'function f() end'\n", 'compact.from: the script has no function "g"')
        said("tool_use_behavior: {code: g}\nscript: 'function f() end'\n", 'tool_use_behavior.code: the script has no function "g"')
        said("tools: [{name: t, script: g}]\nscript: 'function f() end'\n", 'tools, "t", script: the script has no function "g"')
        said("handoffs: [{agent: b, filter: g}]\nagents: {b: {}}\nscript: 'function f() end'\n", 'handoffs, "transfer_to_b", filter: the script')
        said("handoffs: [b]\nagents: {b: {input_filter: g}}\nscript: 'function f() end'\n", 'agent "b", input_filter: the script')
        # Nobody has one.
        for text, what in (("guardrails: [{name: g, stage: input}]\n", 'agent "default", guardrails[0].name'), ("instructions_from: g\n", "instructions_from"),
                           ("hooks: {tool_start: g}\n", "hooks.tool_start"), ("input_filter: g\n", "input_filter"), ("decide_from: g\n", "decide_from"),
                           ("tool_use_behavior: {code: g}\n", "tool_use_behavior.code"), ("compact: {from: g}\n", "compact.from"),
                           ("handoffs: [{agent: b, filter: g}]\nagents: {b: {}}\n", 'handoffs, "transfer_to_b", filter'),
                           ("agents: {b: {guardrails: [{name: g, stage: output}]}}\n", 'agent "b", guardrails[0].name')):
            said(text, 'a.yaml: ')
            said(text, what + ': "g" is a function of a script, and there is none: give script or script_file')


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Authorization"], json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Traces(house.House):
    def test_a_task_is_sent_when_it_ends(self):
        """Once, with its key and nothing that was said; a run that waits sends nothing; a dead collector harms no run."""
        self.serve({"parts": [call("shell", command="echo very-secret")]}, {"parts": [{"text": "Done."}]})
        self.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "collector:4318"
        self.bad(2, ["OTEL_EXPORTER_OTLP_ENDPOINT", '"collector:4318'], "run", "-m", "gpt-5.4", "hello")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        server.got = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:%d" % server.server_port
        self.env["OTEL_EXPORTER_OTLP_HEADERS"] = "Authorization=Bearer%20abc"
        (self.work / "a.yaml").write_text("model: gpt-5.4\napprove: [shell]\n")
        self.good("run", "-a", "a.yaml", "-s", "one", "very-secret", code=3)
        self.assertEqual(server.got, [])
        self.good("approve", "one")
        self.good("resume", "one")
        server.shutdown()
        thread.join()
        server.server_close()
        self.assertEqual([(path, key) for path, key, _ in server.got], [("/v1/traces", "Bearer abc")])
        body = server.got[0][2]
        self.assertNotIn("very-secret", json.dumps(body))
        names = [s["name"] for s in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]
        self.assertEqual(sorted(names), sorted(["task", "agent default", "turn", "model gpt-5.4", "tool shell", "approval",
                                                "turn", "model gpt-5.4"]))
        self.assertEqual(body, json.loads(self.good("log", "one", "--trace", "--json").out))
        self.good("run", "-a", "a.yaml", "-s", "two", "again", code=3)
        self.good("cancel", "two")


if __name__ == "__main__":
    house.main()
