# SPDX-License-Identifier: Apache-2.0
"""A server of agents, as a client of A2A sees it."""

import json

import house
import serving


def shell(command):
    return [{"function_call": {"name": "shell", "arguments": {"command": command}}}]


class Agents(serving.Served):
    def begin(self, *turns, agent="", tools="[shell]", **more):
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: %s\n%s" % (tools, agent))
        self.standin = house.Standin(self.folder, dict({"turns": list(turns)}, **more), "--bodies", str(self.folder / "asked"))
        self.env["OPENAI_BASE_URL"] = self.standin.url
        self.again()

    def asked(self):
        """What the model was asked last."""
        return json.loads(max((self.folder / "asked").iterdir()).read_text())

    def again(self):
        self.serve_http("--agents", self.folder / "agents", "--workspaces", self.work)

    def ask(self, method, params, who="alice", agent="worker", **headers):
        body = {"jsonrpc": "2.0", "id": "q", "method": method, "params": params}
        answer = self.good_call("POST", "/a2a/" + agent, body, who=who, headers={k.replace("_", "-"): v for k, v in headers.items()})
        self.assertEqual((answer["jsonrpc"], answer["id"]), ("2.0", "q"))
        return answer

    def good(self, *args, **more):
        return super().good(*args, **more) if args[0] in ("log", "sessions", "resume", "token") else self.ask(*args, **more)["result"]

    def bad(self, code, *args, **more):
        answer = self.ask(*args, **more)
        self.assertEqual(answer.get("error", {}).get("code"), code, answer)
        return answer["error"]["message"]

    def follow(self, method, params):
        connection = self.connect()
        connection.request("POST", "/a2a/worker", body=json.dumps({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}),
                           headers={"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        found = [f[2] for f in serving.frames(response)]
        connection.close()
        self.assertTrue(all(f["id"] == 5 for f in found))
        return [f["result"] for f in found]

    @staticmethod
    def says(text, **more):
        return {"message": dict({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}, **more)}
