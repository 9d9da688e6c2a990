# SPDX-License-Identifier: Apache-2.0
"""web/fold.js: a log that is read from its end, cut at any event, gives the very entries of one read from its beginning."""

import json

import house_page


def log():
    """Events of every kind that an entry is made of."""
    events = []

    def add(kind, data, call=None):
        event = {"session": "s", "seq": len(events) + 1, "ts_ms": 1000 * len(events), "source": "agent", "kind": kind, "data": data}
        if call:
            event["call"] = call
        events.append(event)

    def turn(number, *texts, **more):
        add("model_requested", {"model": "m", "turn": number, "attempt": 1})
        add("model_answered", {"model": "m", "status": "completed", "usage": {"input": 10, "output": 2},
                               "items": [{"type": "reasoning", "summary": [{"text": "why"}]},
                                         *({"type": "message", "content": [{"type": "output_text", "text": t}]} for t in texts)], **more})

    def call(name, tool="shell"):
        add("call", {"call_id": name, "tool": tool, "arguments": {"command": name}, "class": "W", "policy": "ask", "reason": "a rule", "digest": "d"}, name)

    add("session_created", {"agent": {"name": "a", "limits": {"turns": 9}, "computer": {"width": 800, "height": 500}}, "model": "m"})
    add("message", {"role": "user", "content": "Go."})
    turn(1, "I begin.")
    call("c1")
    add("approval_requested", {"call_id": "c1", "digest": "d", "reason": "a rule"}, "c1")
    add("approval_decided", {"call_id": "c1", "digest": "d", "approve": True, "by": "ada"}, "c1")
    add("intent", {"call_id": "c1", "tool": "shell"}, "c1")
    add("outcome", {"call_id": "c1", "status": "done", "output": "made", "elapsed_ms": 5, "evidence": {"exit_code": 0}}, "c1")
    add("model_requested", {"model": "m", "turn": 2, "attempt": 1})
    add("model_failed", {"class": "overloaded", "message": "busy", "retry": True, "retry_in_ms": 10})
    add("model_requested", {"model": "m", "turn": 2, "attempt": 2})
    add("model_answered", {"model": "m", "status": "completed", "items": []})
    call("c2")
    add("intent", {"call_id": "c2", "tool": "shell"}, "c2")
    add("parked", {"call_id": "c2", "output": "may have run", "evidence": {"journal": "gone"}}, "c2")
    add("settled", {"call_id": "c2", "status": "done", "by": "ada", "message": "it ran"}, "c2")
    call("c3", "helper")
    add("delegation_started", {"child": "s.c3", "call_id": "c3", "agent": "helper"}, "c3")
    add("delegation_waits", {"child": "s.c3", "call_id": "c3", "waits": [{"session": "s.c3", "call_id": "x", "tool": "shell", "arguments": {"command": "ls"}}]}, "c3")
    add("delegation_finished", {"child": "s.c3", "call_id": "c3", "state": "finished", "turns": 2}, "c3")
    add("outcome", {"call_id": "c3", "status": "done", "output": [{"type": "image", "blob": "a" * 64, "width": 8, "height": 5}]}, "c3")
    add("handoff", {"from": "a", "to": "b"})
    add("guardrail", {"name": "g", "stage": "output", "tripped": True, "message": "no"})
    add("state_changed", {"to": "paused", "reason": "by ada"})
    add("model_requested", {"model": "m", "turn": 3, "attempt": 1})
    add("model_started", {"response_id": "r"})
    add("state_changed", {"to": "paused", "reason": "by ada"})
    add("model_requested", {"model": "m", "turn": 3, "attempt": 1})
    add("model_requested", {"model": "m", "turn": 3, "attempt": 2})  # after a crash
    add("control", {"taken": True, "by": "ada"})
    for n in range(4):
        add("input", {"by": "ada", "tool": "computer", "arguments": {"actions": [{"type": "move", "x": n, "y": 1}, {"type": "key_down", "keys": ["k"]}, {"type": "key_up", "keys": ["k"]}] + ([{"type": "type", "text": "t%d" % n}] if n == 3 else [])}, "effect_id": "i%d" % n})
        add("input_done", {"effect_id": "i%d" % n, "status": "failed" if n == 2 else "done", "why": "no such key"})
    add("control", {"taken": False, "by": "ada", "note": "I typed it."})
    add("budget", {"limits": {"turns": 20}})
    add("goal", {"goal": "The sum is right.", "rounds": 3, "by": "ada"})
    add("goal", {"by": "ada"})
    call("c1")  # providers give an id again
    add("outcome", {"call_id": "c1", "status": "refused", "output": "not again"}, "c1")
    turn(3, "All done.")
    add("final", {"output": "All done.", "status": "finished"})
    add("message", {"role": "user", "content": "More."})
    turn(4, "Other words.")
    add("final", {"output": "The output.", "status": "finished"})
    add("kind_of_tomorrow", {"x": 1})
    return events


class Fold(house_page.Paged):
    def test_cut_at_every_event(self):
        self.begin()
        tab = self.open()
        different = tab.js("""import('/web/fold.js').then(({ Fold }) => {
            const events = %s;
            // An entry keeps the name that it had when it was made, and how often it changed is its own affair.
            const plain = (fold) => JSON.stringify(fold.entries.map(({ rev, id, ...e }) => Object.entries(e).filter(([, v]) => v !== undefined).sort()));
            const whole = new Fold();
            for (const e of events) whole.add(e);
            const out = [];
            for (let k = 1; k < events.length; k++) {
                const late = new Fold();
                for (const e of events.slice(k)) late.add(e);
                late.prepend(events.slice(0, k));
                if (plain(late) !== plain(whole)) out.push([k, plain(late), plain(whole)]);
                for (let j = 1; j < k; j += 3) {
                    const three = new Fold();
                    for (const e of events.slice(k)) three.add(e);
                    three.prepend(events.slice(j, k));
                    three.prepend(events.slice(0, j));
                    if (plain(three) !== plain(whole) || three.orphans.length) out.push([j, k]);
                }
            }
            return out.slice(0, 3);
        })""" % json.dumps(log()))
        self.assertEqual(different, [])

    def test_hostile_in_every_field(self):
        """Markup, terminal escapes, marks that turn text and a line of 1 MB in each text of each event: text stays text, and the page goes on."""
        evil = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script></pre>&amp;\u202egpj.exe\u001b[2J\u0007\u200b javascript:window.hacked=1 "
        words = {"role", "kind", "status", "class", "policy", "type", "to"}  # that tell events and their parts apart

        def spoil(value, name=""):
            if isinstance(value, dict):
                return {(k if name in ("", "agent", "usage") or k in words or k in ("x", "y", "content", "text", "items", "summary") else evil + k): spoil(v, k) for k, v in value.items()}
            if isinstance(value, list):
                return [spoil(v, name) for v in value]
            return evil + value if isinstance(value, str) and name not in words and not name.endswith("_id") and name not in ("blob", "digest", "child") else value

        events = [{**e, "data": {k: spoil(v, k) for k, v in e["data"].items()}} for e in log()]
        long = json.loads(json.dumps(events).replace("shell", "shell " + "L" * 1000000, 3))
        self.begin()
        tab = self.open()
        for made in (events, long):
            told = tab.js("""Promise.all(['fold', 'entries', 'decide', 'states'].map((m) => import(`/web/${m}.js`))).then(([{ Fold }, { entry }, { card }, { nowLine }]) => {
                const fold = new Fold();
                const began = performance.now();
                for (const e of %s) { fold.add(e); nowLine(e); }
                const source = { id: 's', picture: () => null, other: () => source };
                const box = document.querySelector('main').appendChild(document.createElement('div'));
                for (const e of fold.entries) box.append(entry(e, { source, screen: () => fold.screen, decide: () => '', settle() {} }));
                for (const e of fold.entries) if (e.type === 'call') for (const state of ['asked', 'parked']) box.append(card({ source, fold, e: { ...e, state }, whole: null }));
                const text = box.textContent;
                return { text: text.length, ms: performance.now() - began, shown: text.includes("<img src=x onerror='window.hacked=1'>"),
                         signs: [...'\u202e\u001b\u0007\u200b'].filter((c) => text.includes(c)), elements: [...new Set([...box.querySelectorAll('*')].map((e) => e.localName))],
                         links: [...box.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((u) => !u.startsWith('#/')) };
            })""" % json.dumps(made), 60)
            self.assertTrue(told["shown"])
            self.assertEqual((told["signs"], told["links"], sorted(set(told["elements"]) & {"img", "script", "b", "iframe", "style", "link"})), ([], [], []), told)
            self.assertIsNone(tab.js("window.hacked ?? null"))
            self.assertLess(told["ms"], 5000)

    def test_what_is_shown_of_each(self):
        self.begin()
        tab = self.open()
        shown = tab.js("""Promise.all([import('/web/fold.js'), import('/web/entries.js')]).then(([{ Fold }, { entry }]) => {
            const fold = new Fold();
            for (const e of %s) fold.add(e);
            return fold.entries.map((e) => entry(e, { source: { id: 's', picture: () => null }, screen: () => fold.screen }).textContent);
        })""" % json.dumps(log()))
        text = "\n".join(shown)
        for words in ("Approved by ada", "is tried again in 10 ms", "may have run", "journal", "Settled as done by ada", "it ran", "helper works on this", "2 turns",
                      "a hands over to b", "Its answer was not waited for", "Guardrail g stopped output", "Paused", "ada took over the desktop", "13 actions", "Keys k k k k", "Type “t3”", "failed: no such key", "I typed it.", "Refused", "The output.", "ada gave it a goal: at most 3 verdicts", "The sum is right.", "ada ended its goal", "kind of tomorrow"):
            self.assertIn(words, text)
        self.assertEqual(text.count("All done."), 1)  # said once, not again as the final output


if __name__ == "__main__":
    house_page.main()
