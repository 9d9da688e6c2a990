# SPDX-License-Identifier: Apache-2.0
"""What the tests with a database share: a server of PostgreSQL for a class, and an empty database for each test."""

import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
import serving


def say(text):
    return [{"text": text}]


def shell(command):
    return {"function_call": {"name": "shell", "arguments": {"command": command}}}


class OnPostgres(serving.Served):
    @classmethod
    def setUpClass(cls):
        cls.postgres = server.Server(settings=["fsync=off"]).start()

    @classmethod
    def tearDownClass(cls):
        cls.postgres.__exit__()

    def setUp(self):
        self.postgres.sql("DROP SCHEMA IF EXISTS thole CASCADE")
        self.more_env = {"THOLE_MODEL": "gpt-5.4", "THOLE_STORE": self.postgres.url()}
        super().setUp()

    def store_url(self):
        return self.postgres.url()

    @contextlib.contextmanager
    def store_held(self):
        with self.postgres.busy("LOCK TABLE thole.events IN EXCLUSIVE MODE; SELECT pg_sleep(%d)" % house.SECONDS):
            yield

    @contextlib.contextmanager
    def event_missing(self, seq):
        self.postgres.sql("CREATE TABLE thole.missing AS SELECT * FROM thole.events WHERE seq = %d; DELETE FROM thole.events WHERE seq = %d" % (seq, seq))
        self.assertNotEqual(self.postgres.sql("SELECT count(*) FROM thole.missing"), "0")
        yield
        self.postgres.sql("INSERT INTO thole.events SELECT * FROM thole.missing; DROP TABLE thole.missing")

    def sqlite(self, *args, **more):
        return self.good(*args, "--store", f"sqlite:{self.folder}/other.db", **more)
