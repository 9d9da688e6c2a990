# SPDX-License-Identifier: Apache-2.0
"""The random walk of two users (tests/e2e/cli/test_two_users.py) on a server whose log is on PostgreSQL.

TH_WALK says how many requests: 3,000; 1,000,000 with TH_TORTURE.
"""

import os
import sys

os.environ.setdefault("TH_WALK", "1000000" if os.environ.get("TH_TORTURE") else "3000")

from on_postgres import OnPostgres  # finds the modules of tests/e2e/cli
import house
import server
import test_two_users as walk


class OnServer(OnPostgres, walk.Walk):
    pass


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(OnServer)


if __name__ == "__main__":
    server.run(house.main)
