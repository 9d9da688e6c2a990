# SPDX-License-Identifier: Apache-2.0
"""The suites of tests/e2e/cli about thole serve, where its log is on PostgreSQL.

    test_http.py                        a few of them; with TH_TORTURE all
    test_http.py serve_Sessions...      these classes or tests: the file's name, and the class in it
"""

import importlib
import os
import signal
import sys

from on_postgres import OnPostgres  # finds the modules of tests/e2e/cli
import house
import server

SHORT = ("quotas", "webhooks")
SUITES = ("a2a", "a2a_ways", "ask_host", "control", "delete", "files", "login", "mcp", "openhands_api", "openhands_goal", "openhands_storm", "openhands_work",
          "ops", "quotas", "remote", "schedule", "serve", "takeover", "terminal", "v1", "v1_clients", "v1_socket", "webhooks")


class Here(OnPostgres):
    """One server for all; each test has an empty database."""

    @classmethod
    def setUpClass(cls):
        cls.postgres = SERVER

    @classmethod
    def tearDownClass(cls):
        pass

    def end_http(self, how=signal.SIGTERM):
        """What a killed one had is its own until its lease is over (tests/postgres/test_nodes.py has that)."""
        code = super().end_http(how)
        if how == signal.SIGKILL:
            house.House.wait_for(self, lambda: self.postgres.sql("SELECT count(*) FROM thole.owners WHERE expires > now()") == "0")
        return code

    def tearDown(self):
        written = [str(path) for path in self.folder.rglob("log.db")]
        super().tearDown()
        self.assertEqual(written, [], "it was to be on PostgreSQL")


def classes_of(suite):
    module = importlib.import_module("test_" + suite)
    for name, case in vars(module).items():
        if isinstance(case, type) and issubclass(case, house.House) and case.__module__ == module.__name__:
            yield "%s_%s" % (suite, name), type(name, (Here, case), {"__module__": __name__, "__qualname__": "%s_%s" % (suite, name)})


def setUpModule():
    global SERVER
    SERVER = server.Server(settings=["fsync=off"]).start()


def tearDownModule():
    SERVER.__exit__()


for suite in SUITES if os.environ.get("TH_TORTURE") or sys.argv[1:] else SHORT:
    globals().update(classes_of(suite))

if __name__ == "__main__":
    server.run(house.main)
