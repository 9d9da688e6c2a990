# SPDX-License-Identifier: Apache-2.0
"""examples/fleet/compose.yaml without containers: its setup runs, and its three nodes do, by their own lines with the places of this machine."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from on_postgres import OnPostgres, say, shell

try:
    import yaml
except ImportError:
    print("not run: there is no yaml for Python")
    sys.exit(server.SKIP)

NODES = ("one", "two", "three")


class Compose(OnPostgres):
    def setUp(self):
        super().setUp()
        self.compose = yaml.safe_load((house.SOURCE / "examples" / "fleet" / "compose.yaml").read_text())
        self.started = []
        for name in ("fleet", "work", "agents"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "agents" / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\n")
        self.env["PATH"] = "%s:%s" % (pathlib.Path(house.THOLE).parent, self.env["PATH"])

    def tearDown(self):
        try:
            for process in self.started:
                if process.poll() is None:
                    process.kill()
                process.wait()
                process.stdout.close()
        finally:
            super().tearDown()

    def here(self, text):
        for name, port in self.ports.items():
            text = text.replace("http://%s:7711" % name, "http://127.0.0.1:%d" % port)
        for place in ("fleet", "work"):
            text = re.sub(r"(^|[ =\[])/%s\b" % place, r"\g<1>%s/%s" % (self.folder, place), text)
        return text.replace("/etc/thole/agents", "%s/agents" % self.folder)

    def test_what_stands_in_it(self):
        services = self.compose["services"]
        self.assertEqual(sorted(services), sorted(["db", "setup", *NODES]))
        volumes = {v.split(":")[0] for s in services.values() for v in s.get("volumes", [])}
        self.assertEqual(volumes, set(self.compose["volumes"]))
        ports = [p for s in services.values() for p in s.get("ports", [])]
        self.assertEqual(len(set(ports)), 3)
        for port in ports:  # nobody else's machine reaches them by accident
            self.assertTrue(port.startswith("127.0.0.1:") and port.endswith(":7711"), port)
        for name in NODES:
            self.assertEqual([c["source"] for c in services[name]["configs"]], [name])
            store = services[name]["environment"]["THOLE_STORE"]
            self.assertEqual(store, "postgres://thole:${POSTGRES_PASSWORD:?is not set}@db/thole")
        # What makes the image is what docs/DEPLOY.md has.
        deploy = (house.SOURCE / "docs" / "DEPLOY.md").read_text()
        for line in services["one"]["build"]["dockerfile_inline"].splitlines():
            if line.startswith(("FROM", "COPY", "USER", "ENV")):
                self.assertIn(line, deploy)

    def test_it_runs(self):
        self.ports = {name: server.free_port() for name in NODES}
        services = self.compose["services"]
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        program, flag, script = services["setup"]["command"]
        for _ in range(2):  # the second time it leaves all as it is
            done = subprocess.run([program, flag, self.here(script.replace("$$", "$"))], env=self.env, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            kept = [(self.folder / "fleet" / name).read_text() for name in ("secret", "tokens")]
            self.assertEqual((len(kept[0]), os.stat(self.folder / "fleet" / "secret").st_mode & 0o777), (64, 0o600))
        self.assertEqual(kept, [(self.folder / "fleet" / name).read_text() for name in ("secret", "tokens")])
        for name in NODES:
            home = self.folder / name
            home.mkdir()
            config = home / "node.yaml"
            config.write_text(self.here(self.compose["configs"][name]["content"]))
            config.chmod(0o600)
            words = [self.here(word) for word in services[name]["command"]]
            self.assertEqual(words.pop(0), "thole")
            words[words.index("--config") + 1] = str(config)
            words[words.index("--listen") + 1] = "127.0.0.1:%d" % self.ports[name]
            process = subprocess.Popen([house.THOLE, *words, "--quiet"], env=dict(self.env, XDG_STATE_HOME=str(home / "state")), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE)
            self.started.append(process)
            self.assertTrue(process.stdout.readline().startswith(b"listening at "), name)
        checks, *words = services["one"]["healthcheck"]["test"]
        self.assertEqual((checks, words[0]), ("CMD", "thole"))
        listed = self.good(*words[1:]).out
        for port in self.ports.values():
            self.assertIn("http://127.0.0.1:%d" % port, listed)
        bearer = {"Authorization": "Bearer " + kept[1].split()[0]}
        self.port = self.ports["one"]
        self.good_call("POST", "/api/sessions", {"agent": "worker", "id": "new", "message": "Go."}, 201, who=None, headers=bearer)
        self.port = self.ports["three"]
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/new", who=None, headers=bearer)["state"] == "finished")
        self.assertEqual((self.folder / "work" / "new" / "made").read_text(), "x\n")


if __name__ == "__main__":
    server.run(house.main)
