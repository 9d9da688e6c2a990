# SPDX-License-Identifier: Apache-2.0
"""An agent's own code: programs as tools."""

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
        self.good("approve", "one")
        self.good("resume", "one")
        events = self.events("one")
        calls = [e["data"] for e in events if e["kind"] == "call"]
        self.assertEqual([c["class"] for c in calls], ["R", "R", "W", "R", "W"])
        self.assertEqual([c["policy"] for c in calls], ["run", "refuse", "run", "run", "ask"])
        outcomes = [e["data"]["status"] for e in events if e["kind"] == "outcome"]
        self.assertEqual(sorted(outcomes), ["done", "done", "done", "failed", "refused"])
        self.assertEqual(events[-1]["kind"], "final")


if __name__ == "__main__":
    house.main()
