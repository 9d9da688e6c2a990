# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/FLEET.md, as they stand there: from one machine to three nodes. And its backups: a dump, and a moment of the past."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from on_postgres import OnPostgres, say, shell
from s3 import BUCKET, KEY, REGION, S3, SECRET

ROLE = "fleet_owner"  # the tests' server has "thole" already: it is its superuser


def blocks():
    """The pieces of shell of the guide: the database, a node, and its executors for the others."""
    text = (house.SOURCE / "docs" / "FLEET.md").read_text()
    text = text[text.index("## From one machine to three nodes"):]
    return re.findall(r"```sh\n(.*?)```", text, re.S)[:3]


class Guide(OnPostgres):
    def setUp(self):
        super().setUp()
        del self.env["THOLE_STORE"]
        self.env["PATH"] = "%s:%s:%s" % (pathlib.Path(house.THOLE).parent, self.postgres.bin, self.env["PATH"])
        self.env["PGUSER"], self.env["PGPORT"] = "thole", str(self.postgres.port)
        self.env["XDG_STATE_HOME"] = str(self.folder / ".local" / "state")
        self.started = []
        (self.folder / "agents").mkdir()
        (self.folder / "agents" / "worker.yaml").write_text("name: worker\nmodel: gpt-5.4\ntools: [shell]\n")

    def tearDown(self):
        try:
            for process in self.started:
                if process.poll() is None:
                    process.kill()
                process.wait()
                process.stdout.close()
            self.env["THOLE_STORE"] = self.postgres.url("thole")
        finally:
            super().tearDown()

    def here(self, text, port=0):
        text = text.replace("-h db.example.org", "-h 127.0.0.1").replace("@db.example.org", "@127.0.0.1:%d" % self.postgres.port)
        text = text.replace("10.0.0.1:7711", "127.0.0.1:%d" % port)
        return re.sub(r"(createuser .*|--owner |postgres://)thole\b", r"\1" + ROLE, text)

    def bash(self, text, folder, env):
        done = subprocess.run(["bash", "-ec", text], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=house.SECONDS, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), text)
        return done.stdout

    def machine(self, number, source, env):
        """A home and a folder of its own, with the two files of the first."""
        home = self.folder / ("machine%d" % number)
        home.mkdir()
        for name in ("fleet.secret", "tokens"):
            shutil.copy(source / name, home / name)
        return home, dict(env, HOME=str(home), XDG_STATE_HOME=str(home / "state"))

    def test_three_nodes(self):
        first, node, _ = blocks()
        lines = [line for block in (first, node) for line in block.splitlines()]
        self.assertEqual(len(lines), 10)
        self.serve_rules([{"if": {"turns": {"max": 0}}, "parts": [shell("echo x >> made")]}, {"parts": say("Done.")}])
        self.good("run", "-s", "old", "Go.")
        self.bash(self.here(first), self.folder, self.env)
        self.env["PGUSER"] = ROLE
        serves, ports = [], [server.free_port() for _ in range(3)]
        for number, port in enumerate(ports):
            home, env = self.machine(number, self.folder, self.env)
            export, config, serve, fleet = self.here(node, port).splitlines()
            self.bash("\n".join([export, config]), home, env)
            self.assertTrue(serve.endswith(" &"))
            process = subprocess.Popen(["bash", "-c", "%s\nexec %s --quiet --agents %s --workspaces %s" % (
                export, serve[:-2], self.folder / "agents", self.work)], cwd=home, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE)
            self.started.append(process)
            self.assertTrue(process.stdout.readline().startswith(b"listening at "))
            serves.append((home, env, export, fleet))
        home, env, export, fleet = serves[2]
        listed = self.bash("%s\n%s" % (export, fleet), home, env)
        self.assertEqual(sorted(word for line in listed.splitlines()[1:] for word in line.split() if word.startswith("http")),
                         sorted("http://127.0.0.1:%d" % port for port in ports))
        token = (self.folder / "tokens").read_text().split()[0]
        bearer = {"Authorization": "Bearer " + token}
        self.port = ports[0]
        self.good_call("POST", "/api/sessions", {"agent": "worker", "id": "new", "message": "Go."}, 201, who=None, headers=bearer)
        self.port = ports[2]
        state = lambda: self.good_call("GET", "/api/sessions/new", who=None, headers=bearer)["state"]
        self.wait_for(lambda: state() == "finished")
        self.assertEqual(sorted(self.bash("%s\nthole sessions --names" % export, home, env).split()), ["new", "old"])
        for process in self.started:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(house.SECONDS), 0)

    def test_executors_for_others(self):
        """A certificate of the fleet's authority, what listens with it, and the node that says so."""
        lines = blocks()[2].splitlines()
        gate, port = server.free_port(), server.free_port()
        (self.folder / "fleet.secret").write_text("x" * 40)
        (self.folder / "fleet.secret").chmod(0o600)
        self.env["THOLE_STORE"] = self.postgres.url()
        text = [self.here(line, port).replace("10.0.0.1:7712", "127.0.0.1:%d" % gate).replace("IP:10.0.0.1", "IP:127.0.0.1") for line in lines]
        listens = [line for line in text if line.endswith(" &")]
        self.assertEqual(len(listens), 1)
        made = subprocess.run(["bash", "-ec", "\n".join(line for line in text if line not in listens)], cwd=self.folder, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=house.SECONDS, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual((self.folder / "node.key").stat().st_mode & 0o77, 0)
        for line in (listens[0][:-2], "thole serve --config node.yaml --listen 127.0.0.1:%d --quiet" % port):
            process = subprocess.Popen(["bash", "-c", "exec " + line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.started.append(process)
            self.assertTrue(process.stdout.readline().startswith(b"listening at "), line)
        for process in self.started:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(house.SECONDS), 0)


class Places(OnPostgres):
    def test_lines_of_blobs(self):
        text = (house.SOURCE / "docs" / "FLEET.md").read_text()
        text = re.search(r"```sh\n(.*?)```", text[text.index("## Pictures in a folder or an object store"):], re.S)[1]
        store = S3()
        self.addCleanup(store.close)
        (self.folder / "s3.secret").write_text(SECRET + "\n")
        text = text.replace("ID=thole", "ID=" + KEY).replace("https://s3.example.org/thole/", "http://127.0.0.1:%d/%s/" % (
            store.server.server_port, BUCKET)).replace("eu-1", REGION).replace("/srv/blobs", str(self.folder / "blobs"))
        self.env["PATH"] = "%s:%s" % (pathlib.Path(house.THOLE).parent, self.env["PATH"])
        self.good("store", "migrate")
        done = subprocess.run(["bash", "-ec", text], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=house.SECONDS, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("* folder:%s/blobs: 0 blobs" % self.folder, done.stdout)
        self.assertEqual([a[0] for a in store.asked], ["PUT", "GET", "DELETE", "GET"])


class Backups(OnPostgres):
    @classmethod
    def setUpClass(cls):
        cls.postgres = server.Server(settings=["fsync=off", "wal_level=replica", "archive_mode=on", "max_wal_senders=4",
                                               "archive_command=cp %p ../archive/%f"])
        os.mkdir(os.path.join(cls.postgres.folder, "archive"))
        if cls.postgres.user:
            os.chown(os.path.join(cls.postgres.folder, "archive"), cls.postgres.user.pw_uid, cls.postgres.user.pw_gid)
        cls.postgres.start()

    def program(self, name, *words):
        with open(os.path.join(self.postgres.folder, name + ".log"), "wb") as log:
            self.assertEqual(self.postgres.run(name, *words, stdout=log, stderr=log).wait(house.SECONDS), 0,
                             pathlib.Path(log.name).read_text())

    def check(self, url, names):
        self.env["THOLE_STORE"] = url
        self.assertIn("whole: %d sessions" % len(names), self.good("store", "check").out)
        self.assertEqual(self.good("sessions", "--names").out.split(), names[::-1])
        self.env["THOLE_STORE"] = self.postgres.url()

    def test_dump_and_a_moment_of_the_past(self):
        self.serve(*[say(str(i)) for i in range(4)])
        self.good("run", "-s", "one", "Go.")
        self.program("pg_basebackup", "-d", self.postgres.url(), "-D", os.path.join(self.postgres.folder, "base"), "-X", "none", "-c", "fast")
        self.good("run", "-s", "two", "Go.")
        moment = self.postgres.sql("SELECT clock_timestamp()")
        self.good("run", "-s", "three", "Go.")
        # A dump is all of it.
        dump = os.path.join(self.postgres.folder, "dump")
        self.program("pg_dump", "-d", self.postgres.url(), "-n", "thole", "-Fc", "-f", dump)
        self.postgres.sql("CREATE DATABASE restored TEMPLATE template0")
        self.program("pg_restore", "-d", self.postgres.url("restored"), dump)
        self.check(self.postgres.url("restored"), ["one", "two", "three"])
        # The moment before the third session.
        last = self.postgres.sql("SELECT pg_walfile_name(pg_switch_wal())")
        self.wait_for(lambda: os.path.exists(os.path.join(self.postgres.folder, "archive", last)))
        past = server.Server(settings=["fsync=off", "restore_command=cp %s/archive/%%f %%p" % self.postgres.folder,
                                       "recovery_target_time=" + moment, "recovery_target_action=promote"])
        self.addCleanup(past.__exit__)
        os.rename(os.path.join(self.postgres.folder, "base"), past.data)
        signal_file = pathlib.Path(past.data) / "recovery.signal"
        signal_file.touch()
        if past.user:
            os.chown(signal_file, past.user.pw_uid, past.user.pw_gid)
        past.start()
        self.wait_for(lambda: past.sql("SELECT pg_is_in_recovery()") == "f")
        self.check(past.url(), ["one", "two"])


if __name__ == "__main__":
    server.run(house.main)
