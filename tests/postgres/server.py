# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own: on a scratch folder, with a socket in it and a port of its own, gone afterwards.

    server.py COMMAND [ARGUMENT...]     runs the command with THOLE_TEST_POSTGRES=postgres://…/ (a name follows)

Without PostgreSQL it says so and ends with 77: skipped.
"""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

SKIP = 77


class Missing(Exception):
    """PostgreSQL is not installed."""


def programs():
    """The folder of initdb and postgres; the newest."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda f: float(f.split("/")[-2]), reverse=True)
    for folder in folders + os.environ.get("PATH", "").split(":"):
        real = os.path.dirname(os.path.realpath(os.path.join(folder, "initdb")))
        if all(os.access(os.path.join(real, name), os.X_OK) for name in ("initdb", "postgres")):
            return real
    raise Missing("PostgreSQL's server is not installed (in Debian the package postgresql-15)")


def run(tests):
    """A file of tests; not where there is no PostgreSQL."""
    try:
        programs()
    except Missing as e:
        print(f"not run: {e}")
        sys.exit(SKIP)
    tests()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`start` and `stop`, or a `with`.  The database's own user is "thole"; nobody is asked for a password."""

    def __init__(self, folder=None, settings=()):
        self.bin = programs()
        self.folder = folder or tempfile.mkdtemp(prefix="thole-pg-")
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.settings = list(settings)
        self.process = self.log = None
        # initdb and postgres refuse to run as root.
        self.user = None
        if os.getuid() == 0:
            names = [name for name in ("postgres", "nobody") if self.known(name)]
            self.user = pwd.getpwnam(names[0])
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)

    @staticmethod
    def known(name):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            return None

    def run(self, *words, **more):
        return self.run_program(os.path.join(self.bin, words[0]), *words[1:], **more)

    def run_program(self, program, *words, **more):
        """As the user that the server has."""
        kind = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        return subprocess.Popen([program, *words], cwd=self.folder,
                                stdin=subprocess.DEVNULL, start_new_session=True, **kind, **more)

    def init(self):
        if os.path.exists(self.data):
            return
        with open(os.path.join(self.folder, "initdb.log"), "w", encoding="utf-8") as log:
            made = self.run("initdb", "-D", self.data, "-U", "thole", "-A", "trust", "-E", "UTF8", "--locale=C",
                            "-N", stdout=log, stderr=log)
            if made.wait() != 0:
                raise RuntimeError("initdb: " + open(log.name, encoding="utf-8").read())

    def start(self):
        self.init()
        words = ["postgres", "-D", self.data, "-k", self.folder, "-p", str(self.port), "-h", "127.0.0.1"]
        for setting in ["max_connections=60", "shared_buffers=16MB", *self.settings]:
            words += ["-c", setting]
        if not self.log:
            self.log = open(os.path.join(self.folder, "server.log"), "a", encoding="utf-8")
        self.process = self.run(*words, stdout=self.log, stderr=self.log)
        self.wait()
        return self

    def wait(self, seconds=60):
        """Until it takes connections."""
        probe = self.run_probe()
        end = time.monotonic() + seconds
        while not probe():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("postgres: " + open(self.log.name, encoding="utf-8").read()[-2000:])
            time.sleep(0.02)

    def run_probe(self):
        def ready():
            return subprocess.run([os.path.join(self.bin, "pg_isready"), "-q", "-h", self.folder, "-p",
                                   str(self.port)], check=False).returncode == 0
        return ready

    def url(self, name="postgres"):
        """By its socket."""
        return f"postgres://thole@{urllib.parse.quote(self.folder, safe='')}:{self.port}/{name}"

    def tcp(self, name="postgres", port=None):
        return f"postgres://thole@127.0.0.1:{port or self.port}/{name}"

    def sql(self, text, name="postgres"):
        done = subprocess.run([os.path.join(self.bin, "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(name),
                               "-c", text], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    @contextlib.contextmanager
    def busy(self, *texts, name="postgres"):
        """Statements that are under way meanwhile, each on a connection of its own; yields when all have begun."""
        url = self.url(name) + "?application_name=busy"
        own = " FROM pg_stat_activity WHERE application_name = 'busy'"
        sent = [subprocess.Popen([os.path.join(self.bin, "psql"), "-XqAt", "-d", url, "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for text in texts]
        try:
            while int(self.sql("SELECT count(*)" + own + " AND wait_event = 'PgSleep'")) < len(texts):
                if any(process.poll() is not None for process in sent):
                    raise RuntimeError("a statement ended")
                time.sleep(0.02)
            yield
        finally:
            self.sql("SELECT pg_terminate_backend(pid)" + own)
            for process in sent:
                process.wait()

    def signal(self, number):
        """To the server and all its processes: SIGKILL is a power cut but for the disk's own memory."""
        before = self.processes()  # dead, it is nobody's parent
        os.kill(self.process.pid, number)
        for process in before | self.processes():  # and those that it began meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def processes(self):
        """Those that the server began: each is the leader of a group of its own."""
        found = set()
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(path.read_text().rsplit(")", 1)[1].split()[1]) == self.process.pid:
                    found.add(int(path.parent.name))
        return found

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast: connections are cut
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Pooler:
    """pgbouncer in front of a server: each transaction may get another session of it."""

    def __init__(self, postgres, sessions):
        self.program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not os.access(self.program, os.X_OK):
            raise Missing("pgbouncer is not installed")
        self.postgres, self.port, self.process = postgres, free_port(), None
        self.file = os.path.join(postgres.folder, "bouncer.ini")
        users = os.path.join(postgres.folder, "users")
        with open(users, "w", encoding="utf-8") as file:
            file.write('"thole" ""\n')
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"[databases]\npostgres = host={postgres.folder} port={postgres.port} user=thole\n[pgbouncer]\n"
                       f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\n"
                       f"pool_mode = transaction\ndefault_pool_size = {sessions}\n")
        self.start()

    def start(self):
        self.process = self.postgres.run_program(self.program, self.file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def url(self):
        return self.postgres.tcp(port=self.port)


def main():
    try:
        server = Server(settings=["fsync=off"])  # the machine's power is not cut
    except Missing as e:
        print(f"not run: {e}")
        return SKIP
    with server:
        env = dict(os.environ, THOLE_TEST_POSTGRES=server.url(""))
        return subprocess.run(sys.argv[1:], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
