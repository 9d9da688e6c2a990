# SPDX-License-Identifier: Apache-2.0
"""The random walk of two users (tests/e2e/cli/test_two_users.py) over two nodes whose log is on PostgreSQL.

Each user asks one node, and both change their places now and then: what is asked for is at the node that is asked or at the other one.
TH_WALK says how many requests: 6,000; 1,000,000 with TH_TORTURE.
"""

import os
import pathlib
import random
import sys

os.environ.setdefault("TH_WALK", "1000000" if os.environ.get("TH_TORTURE") else "6000")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

from nodes import WithNodes
import house
import server
import test_two_users as walk

CHANGES = 40  # of so many answers that are waited for, one is followed by a change of places


class OverNodes(WithNodes, walk.Walk):
    def serve_http(self, *args, port=0):
        self.agents = self.folder / "agents"
        nodes = [self.node(name, "--quiet") for name in ("n1", "n2")]
        self.seats = []
        for node in nodes:
            self.port = node.port
            self.seats.append({who: super(OverNodes, self).seat(who) for who in walk.USERS})
        self.placed, self.places = 0, random.Random(walk.SEED)

    def seat(self, who):
        return self.seats[walk.USERS.index(who)][who]

    def flush(self):
        super().flush()
        if self.places.randrange(CHANGES) == 0:
            self.placed += 1
            for n, who in enumerate(walk.USERS):
                self.lines[who], self.doors[who] = self.seats[(n + self.placed) % len(self.seats)][who]

    def test_walk(self):
        super().test_walk()
        self.assertGreater(self.placed, 1)
        forwarded = [int(node.call("GET", "/metrics", who="boss").body.decode().split("\nthole_fleet_forwarded_total ")[1].split()[0])
                     for node in self.nodes]
        self.assertGreater(min(forwarded), 0, "each node asked the other one")


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(OverNodes)


if __name__ == "__main__":
    server.run(house.main)
