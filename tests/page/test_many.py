# SPDX-License-Identifier: Apache-2.0
"""The page with as much as it is meant for: 10,000 sessions in the list, 50,000 events in a session."""

import concurrent.futures
import hashlib
import json
import re
import struct
import time
import uuid

import house_page
import serving
from house_page import say, shell

SESSIONS, AT_ONCE = 10000, 16
EVENTS = 50000
LONG_MS = 50  # of a task of the main thread


def digest(before, e, data):
    """events/event.h: the chain."""
    out = hashlib.sha256(b"\1" + before + struct.pack("<QQQ", e["seq"], e["ts_ms"], e.get("cause", 0)) + uuid.UUID(e["id"]).bytes)
    for text in (e["session"], e["source"], e["kind"], e.get("call", ""), data, e["build"]):
        out.update(struct.pack("<I", len(text.encode())) + text.encode())
    return out.digest()


def longer(lines, name, count):
    """An exported session under another name, its last exchange again and again until it has so many events."""
    head, *events, end = [json.loads(line) for line in lines]
    events = [e["event"] for e in events]
    again = events[max(i for i, e in enumerate(events) if e["kind"] == "message"):]
    made, chain, turn, before = [], [], 0, bytes(32)
    while len(made) < count:
        # Numbers of events move on by as much as the part does, calls and effects have names of their own.
        part, round_number = (again, len(made)) if made else (events, 0)
        by = len(made) + 1 - part[0]["seq"]
        for old in part:
            e = json.loads(re.sub(r"call_(?=\w{24})", "call_%d_" % round_number, json.dumps(old)))
            e.update(session=name, seq=old["seq"] + by, ts_ms=old["ts_ms"] + 1000 * round_number, id=str(uuid.UUID(int=uuid.UUID(old["id"]).int + round_number)))
            if "cause" in e:
                e["cause"] += by
            if e["kind"] == "model_requested":
                turn += 1
                e["data"]["turn"] = turn
            if "effect_id" in e["data"]:
                e["data"]["effect_id"] = "%032x" % (int(old["data"]["effect_id"], 16) ^ round_number)
            data = json.dumps(e["data"], separators=(",", ":"))
            before = digest(before, e, data)
            chain.append(before.hex())
            made.append(json.dumps({"event": {**e, "data": "DATA"}, "digest": before.hex()}, separators=(",", ":")).replace('"DATA"', data, 1))
    head.update(session=name, title="Long", head_seq=len(made), head=chain[-1])
    return [json.dumps(head, separators=(",", ":")), *made, json.dumps(end, separators=(",", ":"))]


# How long until the expression is true, and the frame after it is drawn.
UNTIL = ("new Promise((done) => { const t = performance.now(); %s; const look = () => { let yes; try { yes = %s; } catch { } "
         "if (yes) requestAnimationFrame(() => done(performance.now() - t)); else setTimeout(look, 5); }; look(); })")
SCROLL = """new Promise((done) => {
    const box = document.querySelector('.scroller');
    let n = 0;
    const step = () => {
        box.scrollTop += %d;
        if (++n < 200) requestAnimationFrame(step); else setTimeout(() => done(n), 100);
    };
    requestAnimationFrame(step);
})"""


class Many(house_page.Paged):
    def make_sessions(self, agent):
        def some(first):
            connection = self.connect()
            for number in range(first, SESSIONS, AT_ONCE):
                body = json.dumps({"id": "many-%05d" % number, "agent": agent if number == SESSIONS // 2 else "default"})
                status = 503
                while status == 503:  # it has more to do than it can: a client comes again
                    connection.request("POST", "/api/sessions", body, {"Authorization": "Bearer " + serving.TOKENS["alice"], "Content-Type": "application/json"})
                    answer = connection.getresponse()
                    text, status = answer.read(), answer.status
                    if status == 503:
                        time.sleep(float(answer.headers["Retry-After"]))
                self.assertEqual(status, 201, text)
            connection.close()

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(some, range(AT_ONCE)))

    def test_ten_thousand_sessions(self):
        self.leaves_executors = False  # none of them has done anything
        self.agent("rare", "tools: [shell]\n")
        self.serve(say("Seen."))
        self.begin()
        self.make_sessions("rare")
        tab = self.open("#/money")
        took = tab.js(UNTIL % ("location.hash = '/'", "document.querySelectorAll('.session-row').length > 5"))
        _, tasks = tab.tasks_while(lambda: tab.js(SCROLL % 300, 60))
        # To the very end, page after page: each is there once, and little of it is in the page.
        tab.wait("(() => { const b = document.querySelector('.scroller'); b.scrollTop = b.scrollHeight; "
                 "return document.querySelector('.session-row')?.closest('[role=listitem]').getAttribute('aria-setsize') === '%d'; })()" % SESSIONS, 60)
        nodes = tab.js("document.querySelectorAll('*').length")
        # What changes in one of them comes to the front, with all of them loaded.
        self.good_call("POST", "/api/sessions/many-00007/messages", {"text": "Look."}, status=202)
        tab.wait("(document.querySelector('.scroller').scrollTop = 0, document.querySelector('.session-row .title')?.textContent === 'Look.')")
        tab.js("(() => { const s = document.querySelector('[aria-label=Agent]'); s.value = 'rare'; s.dispatchEvent(new Event('change')); })()")
        tab.wait("document.querySelectorAll('.session-row').length === 1")
        self.assertIn("many-%05d" % (SESSIONS // 2), tab.js("document.querySelector('.session-row a').href"))
        print("\n%d sessions: first view %.0f ms; longest task while it scrolls %.0f ms; %d elements" % (SESSIONS, took, tasks[0], nodes))
        self.assertLess(tasks[0], LONG_MS)
        self.assertLess(nodes, 2500)
        self.assertLess(took, 10000)  # of a busy machine: ten times the aim
        self.wait_event("many-00007", "final")

    def test_fifty_thousand_events(self):
        self.agent("w", "tools: [shell]\n")
        self.serve([shell("echo 1")], say("One."), [shell("echo 2")], say("Two."))
        self.begin()
        self.wait_event(self.begin_session("First.", agent="w", id="x1"), "final")
        self.good_call("POST", "/api/sessions/x1/messages", {"text": "More."}, status=202)
        self.wait_for(lambda: sum(e["kind"] == "final" for e in self.log("x1")) == 2)
        file = self.folder / "long.jsonl"
        file.write_text("\n".join(longer(self.good("export", "x1").out.splitlines(), "long-1", EVENTS)) + "\n")
        self.good("import", file)
        head = self.good_call("GET", "/api/sessions/long-1")["head_seq"]
        self.assertGreaterEqual(head, EVENTS)
        tab = self.open("#/")
        took = tab.js(UNTIL % ("location.hash = '/s/long-1'", "document.querySelector('.entry.final')"))
        tab.wait("document.querySelectorAll('.timeline .virtual > .entry').length > 3")
        _, tasks = tab.tasks_while(lambda: tab.js(SCROLL % -400, 60))
        nodes = tab.js("document.querySelectorAll('*').length")
        whole = tab.js(UNTIL % ("location.hash = '/s/long-1/replay'", "document.querySelector('.replay .transport')"), 120)
        tab.key("End")
        tab.wait("document.querySelector('.place').textContent.startsWith(document.querySelector('.transport input').ariaValueText.match(/Step (\\d+) of \\1:/)[1] + ' /')")
        print("\n%d events: first view %.0f ms; longest task while it scrolls %.0f ms; %d elements; whole in the replay %.0f ms" % (head, took, tasks[0], nodes, whole))
        self.assertLess(tasks[0], LONG_MS)
        self.assertLess(nodes, 6000)
        self.assertLess(took, 10000)


if __name__ == "__main__":
    house_page.main()
