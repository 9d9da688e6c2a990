# SPDX-License-Identifier: Apache-2.0
"""What the tests with a database share: a server of PostgreSQL for a class, and an empty database for each test."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

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
        super().setUp()
        self.postgres.sql("DROP SCHEMA IF EXISTS thole CASCADE")
        self.env["THOLE_MODEL"] = "gpt-5.4"
        self.env["THOLE_STORE"] = self.postgres.url()

    def sqlite(self, *args, **more):
        return self.good(*args, "--store", f"sqlite:{self.folder}/other.db", **more)
