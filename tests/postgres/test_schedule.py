# SPDX-License-Identifier: Apache-2.0
"""Sessions that begin later, on several nodes: each once, by whoever is there, also when who was told of them is dead."""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from nodes import WithNodes


class Scheduled(WithNodes):
    def test_begun_once(self):
        self.serve_steps("echo x >> made", turns=1)
        (self.agents / "trained.yaml").write_text("name: trained\nmodel: gpt-5.4\ntools: [shell]\nlabels: [gpu]\n")
        first, second, third = self.node("n1"), self.node("n2"), self.node("n3", labels=["gpu"])
        names = ["s%d" % i for i in range(12)]
        for i, name in enumerate(names):
            made = first.good("POST", "/api/sessions", {"agent": "worker", "id": name, "message": "Go.", "start_at": 4}, 201)
            self.assertEqual(made["state"], "scheduled")
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "late", "message": "Go.", "start_at": "2033-01-01T00:00:00Z"}, 201)
        first.good("POST", "/api/sessions", {"agent": "worker", "id": "never", "message": "Go.", "start_at": 4}, 201)
        # One is begun where its labels are; a word to one at another node gets there.
        first.good("POST", "/api/sessions", {"agent": "trained", "id": "placed", "message": "Go.", "start_at": 4}, 201)
        second.good("POST", "/api/sessions/never/cancel", {}, 202)
        second.good("POST", "/api/sessions/s0/messages", {"text": "And this."}, 202)
        self.assertEqual([self.state(name) for name in names], ["scheduled"] * 12)
        first.end(signal.SIGKILL)
        self.wait_for(lambda: self.postgres.sql("SELECT count(*) FROM thole.sessions WHERE agent_state = 'finished'") == "13", 30)
        self.assertEqual(self.made(), ["x\n"] * 13)
        self.assertEqual([self.state(name) for name in ("late", "never", "placed")], ["scheduled", "stopped", "finished"])
        self.assertEqual(self.postgres.sql("SELECT o.node FROM thole.sessions s JOIN thole.owners o USING (owner) WHERE session_id = 'placed'"), "n3")
        for name in [*names, "placed"]:
            kinds = self.kinds(name)
            self.assertEqual((kinds.count("model_requested"), kinds.count("intent"), kinds.count("final")), (2, 1, 1), kinds)
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.events WHERE event_class = 'state_changed'"
                                           " AND event_data->>'to' = 'running'"), "13")
        # No row of one that is over is in the index by which they are found.
        plan = self.postgres.sql("SET enable_seqscan = off; EXPLAIN SELECT 1 FROM thole.sessions WHERE agent_state = 'scheduled' AND CASE WHEN"
                                 " jsonb_typeof(raw_metadata -> 'thole_start_ms') = 'number' THEN (raw_metadata ->> 'thole_start_ms')::numeric END <= 5")
        self.assertIn("sessions_start", plan)
        for node in (second, third):
            self.assertEqual(node.end(), 0)

    def test_by_the_databases_clock(self):
        """A time that is over by the clock of the database: the node's own is not asked."""
        self.serve_steps("echo x >> made", turns=1)
        node = self.node("n1")
        node.good("POST", "/api/sessions", {"agent": "worker", "id": "one", "message": "Go.", "start_at": 3600}, 201)
        self.assertEqual(node.end(), 0)
        digests = self.postgres.sql("SELECT head FROM thole.sessions")
        # As if it were an hour later there: what the index says is what counts.
        self.postgres.sql("UPDATE thole.sessions SET raw_metadata = jsonb_set(raw_metadata, '{thole_start_ms}', '1')")
        self.assertEqual(self.postgres.sql("SELECT head FROM thole.sessions"), digests)
        self.node("n2")
        self.wait_for(lambda: self.state("one") == "finished")
        self.assertEqual(self.made(), ["x\n"])
        self.postgres.sql("UPDATE thole.sessions SET raw_metadata = convert_from(metadata, 'UTF8')::jsonb")


if __name__ == "__main__":
    server.run(house.main)
