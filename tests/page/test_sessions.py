# SPDX-License-Identifier: Apache-2.0
"""The page: logging in, the list, a session as it goes, decisions; each against the log of the server."""

import http.client
import json

import house_page
import serving
from house_page import say, shell


class Files(house_page.Paged):
    def test_the_page_is_served_as_it_should_be(self):
        self.begin()
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request("GET", "/", headers={"Accept-Encoding": "gzip"})
        r = c.getresponse()
        body = r.read()
        self.assertEqual((r.status, r.headers["Content-Encoding"], body[:2]), (200, "gzip", b"\x1f\x8b"))
        policy = r.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        c.request("GET", "/", headers={"If-None-Match": r.headers["ETag"]})
        again = c.getresponse()
        self.assertEqual((again.status, again.read()), (304, b""))
        c.request("GET", "/web/main.js")
        plain = c.getresponse()
        text = plain.read().decode()
        self.assertEqual((plain.status, plain.headers["Content-Encoding"]), (200, None))
        self.assertTrue(text.startswith("// SPDX-License-Identifier: Apache-2.0"))
        for path, status in (("/web/none.js", 404), ("/web/pack.py", 404), ("/web/", 401), ("/web/..%2f", 404)):
            c.request("GET", path)
            answer = c.getresponse()
            answer.read()
            self.assertEqual(answer.status, status, path)
        c.close()
        self.assertEqual(self.call("GET", "/", who=None, headers={"Host": "evil.example"}).status, 403)


class Sessions(house_page.Paged):
    def test_log_in_start_and_see_it_end(self):
        self.serve(say("It is done, and checked."), say("Once more."))
        self.begin()
        tab = self.browser.page(self.url())
        self.tabs.append(tab)
        self.expected.append("401")  # which says to the page that nobody is logged in
        tab.fill("#token", serving.TOKENS["alice"])
        tab.click("button", "Log in")
        tab.wait_text("Nothing was asked yet")
        self.shot(tab, "sessions-empty")
        tab.click("button", "New task")
        tab.fill("#task", "Say that it is done.")
        self.shot(tab, "new-task")
        tab.click("dialog button", "Start")
        tab.wait("location.hash.startsWith('#/s/')")
        name = tab.js("decodeURIComponent(location.hash.slice(4))")
        tab.wait_text("It is done, and checked.", ".entry.turn .said")
        tab.wait_text("Finished", ".badge")
        log = self.log(name)
        self.assertEqual(log[-1]["kind"], "final")
        self.assertEqual([e["data"]["content"] for e in log if e["kind"] == "message"], ["Say that it is done."])
        tab.fill(".composer textarea", "And again?")
        tab.key("Enter")
        tab.wait_text("Once more.", ".entry.turn .said")
        self.assertEqual([e["data"]["content"] for e in self.log(name) if e["kind"] == "message"][-1], "And again?")
        tab.click(".back")
        tab.wait_text("Say that it is done.", ".session-row")
        # Who logs out is out: the cookie is good no more.
        tab.click("[aria-label='Log out']")
        tab.wait("document.querySelector('#token')")
        self.assertEqual(tab.js("fetch('/api/me').then((r) => r.status)"), 401)

    def test_limits_are_lowered_and_never_raised(self):
        self.agent("short", "limits: {turns: 5, seconds: 300}\n")
        self.serve(say("Done."), say("Done."))
        self.begin()
        tab = self.open()
        tab.click("button", "New task")
        tab.fill("#task", "Be quick.")
        tab.js("document.querySelector('#agent').value = 'short'")
        tab.fill("#limit-turns", "50")
        tab.fill("#limit-seconds", "60")
        tab.click("dialog button", "Start")
        tab.wait("location.hash.startsWith('#/s/')")
        limits = self.log(tab.js("decodeURIComponent(location.hash.slice(4))"))[0]["data"]["agent"]["limits"]
        self.assertEqual((limits["turns"], limits["seconds"]), (5, 60))
        # A limit of money needs the model's price, and the page says so.
        tab.js("location.hash = '/'")
        tab.click("button", "New task")
        tab.fill("#task", "Be cheap.")
        tab.fill("#limit-cost_usd", "0.5")
        tab.click("dialog button", "Start")
        tab.wait_text("price", "dialog .problem")
        tab.key("Escape")
        self.expected.append("400")
        self.assertEqual(self.call("POST", "/api/sessions", {"limits": {"turn": 1}}).status, 400)

    def test_a_computer_is_chosen(self):
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\nserve:\n  computers: [desktop]\n")
        self.serve([house_page.computer({"type": "screenshot"})], say("I see it."))
        self.begin()
        tab = self.open()
        tab.click("button", "New task")
        tab.fill("#task", "Look.")
        self.assertEqual(tab.js("[...document.querySelector('#computer').options].map((o) => o.value)"), ["", "desktop", "none"])
        tab.js("document.querySelector('#computer').value = 'desktop'")
        tab.click("dialog button", "Start")
        tab.wait_text("I see it.", ".entry.turn .said")
        log = self.log(tab.js("decodeURIComponent(location.hash.slice(4))"))
        self.assertEqual(log[0]["data"]["agent"]["computer"]["kind"], "desktop")
        self.assertEqual([e["data"]["status"] for e in log if e["kind"] == "outcome"], ["done"])

    def test_a_wrong_token_is_told(self):
        self.begin()
        tab = self.browser.page(self.url())
        self.tabs.append(tab)
        self.expected.append("401")
        tab.fill("#token", "no-such-token-0123456789")
        tab.click("button", "Log in")
        tab.wait_text("The server does not know this token", ".problem")
        self.shot(tab, "login")
        self.assertEqual(tab.js("document.cookie"), "")

    def test_approve_and_reject(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([shell("echo yes > made")], [shell("echo no > not-made")], say("One of two."))
        self.begin()
        name = self.begin_session("Make both.", agent="careful", id="w1")
        tab = self.open("#/waiting")
        tab.wait_text("echo yes > made", ".decide-card .command")
        tab.wait("document.title.startsWith('(1)')")
        self.shot(tab, "waiting")
        tab.js("document.querySelector('.decide-card').focus()")
        tab.key("a")
        tab.wait_text("echo no > not-made", ".decide-card .command")
        # By keyboard: r goes to the reason, Enter rejects.
        tab.js("document.querySelector('.decide-card').focus()")
        tab.key("r")
        tab.type("not this one")
        tab.key("Enter")
        tab.wait_text("Nothing waits", ".empty")
        self.wait_event(name, "final")
        decided = [(e["data"]["approve"], e["data"]["by"], e["data"].get("message")) for e in self.log(name) if e["kind"] == "approval_decided"]
        self.assertEqual(decided, [(True, "alice", None), (False, "alice", "not this one")])
        self.assertEqual((self.work / "w1" / "made").read_text(), "yes\n")
        self.assertFalse((self.work / "w1" / "not-made").exists())
        tab.js("location.hash = '/s/w1'")
        tab.wait_text("One of two.", ".entry .said")
        self.assertEqual(tab.js("[...document.querySelectorAll('.entry.call')].map((e) => e.dataset.state)"), ["done", "refused"])
        self.shot(tab, "session-decided")

    def test_a_question_is_answered(self):
        """Options as buttons, any other answer as a text; what the model wrote is never markup."""
        self.agent("curious", "tools: [ask]\n")
        asks = [{"function_call": {"name": "ask", "arguments": {"question": q, "options": o}}}
                for q, o in (("<b>Which</b> colour?", ["<i>red</i>", "blue"]), ("How many?", []), ("Really?", ["yes"]))]
        self.serve(*[[one] for one in asks], say("Thank you."))
        self.begin()
        name = self.begin_session("Ask.", agent="curious", id="q1")
        tab = self.open("#/waiting")
        tab.wait_text("<b>Which</b> colour?", ".question-card .question")
        self.assertEqual(tab.js("document.querySelectorAll('.question-card b, .question-card i').length"), 0)
        self.shot(tab, "question")
        tab.click(".question-card .options button", "<i>red</i>")
        tab.wait_text("How many?", ".question-card .question")
        tab.js("document.querySelector('.question-card textarea').focus()")
        tab.type("seven")
        tab.key("Enter")
        tab.wait_text("Really?", ".question-card .question")
        tab.click(".question-card button", "No answer")
        tab.wait_text("Nothing waits", ".empty")
        self.wait_event(name, "final")
        outcomes = [(e["data"]["status"], e["data"]["output"]) for e in self.log(name) if e["kind"] == "outcome"]
        self.assertEqual(outcomes[:2], [("done", "<i>red</i>"), ("done", "seven")])
        self.assertEqual(outcomes[2][0], "refused")
        tab.js("location.hash = '/s/q1'")
        tab.wait_text("Answered by alice", ".entry .decision")

    def test_always_in_the_session(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([shell("echo 1")], [shell("echo 2")], say("Both."))
        self.begin()
        name = self.begin_session("Both.", agent="careful")
        tab = self.open("#/s/" + name)
        tab.wait_text("echo 1", ".pending .command")
        self.assertIn("every later call of shell", tab.text(".pending .reasons"))
        self.shot(tab, "session-asks")
        # By key: d goes to what waits, Shift A approves it and all later ones.
        tab.key("d")
        tab.wait("document.activeElement.classList.contains('decide-card')")
        tab.key("A", 8)
        tab.wait_text("Both.", ".entry.turn .said")
        log = self.log(name)
        self.assertEqual([(e["data"]["approve"], e["data"].get("always")) for e in log if e["kind"] == "approval_decided"], [(True, True)])
        self.assertEqual([e["data"]["status"] for e in log if e["kind"] == "outcome"], ["done", "done"])

    def test_sums_and_deleting(self):
        self.serve(say("One."), say("Two."))
        self.begin()
        name = self.begin_session("First.", id="gone-1")
        self.wait_event(name, "final")
        tab = self.open("#/money")
        tab.wait_text("By agent", ".money")
        used = self.good_call("GET", "/api/usage?by=day")["usage"]
        self.assertEqual(len(used), 1)
        self.assertEqual(tab.js("[...document.querySelectorAll('.tile strong')].map((e) => e.textContent).slice(0, 3)"),
                         [str(used[0]["sessions"]), str(used[0]["tokens_in"]), str(used[0]["tokens_out"])])
        self.shot(tab, "money")
        tab.js("location.hash = '/s/gone-1'")
        tab.click("[aria-label='More']")
        tab.fill("#new-title", "A better title")
        tab.click("dialog button", "Save")
        tab.wait_text("A better title", "h1")
        self.assertEqual(self.good_call("GET", "/api/sessions/gone-1")["title"], "A better title")
        # Found by the words of its task, which its title does not have.
        tab.click(".back")
        tab.fill("input[type=search]", "first")
        tab.wait("document.querySelector('.session-row .title')?.textContent === 'A better title'")
        tab.fill("input[type=search]", "nowhere")
        tab.wait_text("No session fits", ".empty")
        tab.js("location.hash = '/s/gone-1'")
        tab.click("[aria-label='More']")
        tab.click("dialog button", "Delete for good")
        tab.click("dialog button", "Yes, delete its log and pictures")
        tab.wait("location.hash === '#/'")
        tab.wait_text("Nothing was asked yet", ".empty")
        self.assertEqual(self.call("GET", "/api/sessions/gone-1").status, 404)
        self.expected.append("404")  # the row is asked for once more while it goes

    def test_the_list_by_agent(self):
        """The filters stand in the address, and the way back from a session leads to the same list."""
        for agent in ("reads", "writes"):
            self.agent(agent, "tools: [shell]\n")
        self.serve(say("One."), say("Two."), say("Three."))
        self.begin()
        for name, agent in (("a1", "reads"), ("b1", "writes"), ("b2", "writes")):
            self.wait_event(self.begin_session("Task of %s." % name, agent=agent, id=name), "final")
        tab = self.open()
        tab.wait("document.querySelectorAll('.session-row').length === 3")
        self.assertEqual(tab.js("[...document.querySelector('[aria-label=Agent]').options].map((o) => o.value)"), ["", "reads", "writes"])
        self.choose(tab, "[aria-label=Agent]", "writes")
        tab.wait("document.querySelectorAll('.session-row').length === 2")
        self.assertEqual(tab.js("location.hash"), "#/?agent=writes")
        tab.fill("input[type=search]", "of b2")
        tab.wait("document.querySelectorAll('.session-row').length === 1")
        tab.click(".session-row a")
        tab.wait_text("Finished", ".session-head .badge")
        tab.click(".back")
        tab.wait("document.querySelectorAll('.session-row').length === 1")
        self.assertEqual(tab.js("[document.querySelector('input[type=search]').value, document.querySelector('[aria-label=Agent]').value]"), ["of b2", "writes"])
        self.choose(tab, "[aria-label=State]", "failed")
        tab.wait_text("No session fits", ".empty")

    def test_a_click_is_not_lost(self):
        """A row that changes while the button of the mouse is down is still the one that is clicked."""
        self.begin()
        for name in ("one", "two"):
            self.good_call("POST", "/api/sessions", {"id": name}, status=201)
        tab = self.open()
        row = "[...document.querySelectorAll('.session-row a')].find((a) => a.href.endsWith('/one'))"
        x, y = tab.wait("(() => { const r = %s.getBoundingClientRect(); return [r.x + 200, r.y + 20]; })()" % row)
        tab.call("Input.dispatchMouseEvent", {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1})
        for name in ("one", "two"):
            self.good_call("PATCH", "/api/sessions/" + name, {"title": "Now " + name})
        tab.wait_text("Now two", ".session-row .title")
        at = tab.js("(() => { const r = %s.getBoundingClientRect(); return [r.x + 200, r.y + 20]; })()" % row)
        tab.call("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": at[0], "y": at[1], "button": "left", "clickCount": 1})
        tab.wait("location.hash === '#/s/one'")
        tab.click(".back")
        tab.wait_text("Now one", ".session-row .title")

    def test_a_click_in_the_head_is_not_lost(self):
        """What is drawn again while the button of the mouse is down is still what is clicked, and what a person selected stays."""
        self.serve(say("One."), say("Two."), say("Three."))
        self.begin()
        self.wait_event(self.begin_session("First.", id="one"), "final")
        self.good_call("POST", "/api/sessions/one/fork", {"id": "two"}, 201)
        tab = self.open("#/s/two")
        x, y = tab.wait("(() => { const r = document.querySelector('.meta a').getBoundingClientRect(); return [r.x + 5, r.y + r.height / 2]; })()")
        tab.wait("document.querySelector('.figures dd')")
        tab.js("(() => { const all = getSelection(); all.selectAllChildren([...document.querySelectorAll('.figures dd')].find((e) => e.textContent === 'two')); })()")
        tab.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y, "button": "none"})
        turns = "document.querySelector('.figures dd').textContent"
        before = tab.js(turns)
        self.good_call("POST", "/api/sessions/two/messages", {"text": "More."}, 202)
        tab.wait("%s !== '%s'" % (turns, before))
        self.assertEqual(tab.js("getSelection().toString()"), "two")
        before = tab.js(turns)
        tab.call("Input.dispatchMouseEvent", {"type": "mousePressed", "x": x, "y": y, "button": "left", "clickCount": 1})
        self.good_call("POST", "/api/sessions/two/messages", {"text": "And more."}, 202)
        tab.wait("%s !== '%s'" % (turns, before))
        tab.wait_text("Finished", ".session-head .badge")
        tab.call("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": x, "y": y, "button": "left", "clickCount": 1})
        tab.wait("location.hash === '#/compare/one/two'")

    def choose(self, tab, selector, value):
        tab.js("(() => { const s = document.querySelector(%s); s.value = %s; s.dispatchEvent(new Event('change')); })()" % (json.dumps(selector), json.dumps(value)))

    def test_charts_of_agents_and_quota(self):
        (self.folder / "config" / "thole" / "config.yaml").write_text("executor_linger_s: 20\nserve:\n  turns_per_day: 8\n  sessions_per_user: 2\n")
        (self.folder / "config" / "thole" / "models.yaml").write_text("models: [{name: mine, like: gpt-5.4, price: {input: 1, output: 1}}]\n")
        self.agent("reads", "model: mine\ntools: [shell]\napprove: [shell]\n")
        self.agent("writes", "model: mine\ntools: [shell]\n")
        self.serve([shell("sleep 0.2; echo 1")], say("One."))
        self.begin()
        name = self.begin_session("First.", agent="reads", id="m1")
        self.wait_event(name, "approval_requested")
        self.good_call("POST", "/api/sessions/m1/approve", {"call_id": self.log("m1")[-1]["call"]})
        self.wait_event(name, "final")
        self.wait_event(self.begin_session("Second.", agent="writes", id="m2"), "final")
        tab = self.open("#/money")
        tab.wait_text("Tokens by agent", ".chart h2")
        used = self.good_call("GET", "/api/usage?by=agent")["usage"]
        # What the log of the session that waited says, the sums say.
        log = self.log("m1")
        one = next(u for u in used if u["agent"] == "reads")
        asked, decided = (next(e["ts_ms"] for e in log if e["kind"] == kind) for kind in ("approval_requested", "approval_decided"))
        self.assertEqual([one["model_ms"], one["tools_ms"]], [sum(e["data"]["elapsed_ms"] for e in log if e["kind"] == kind) for kind in ("model_answered", "outcome")])
        self.assertLessEqual(abs(one["person_ms"] - (decided - asked)), 5)
        tab.wait_text("Time by agent", ".chart h2")
        titles = tab.js("[...[...document.querySelectorAll('.chart')].find((c) => c.querySelector('h2').textContent === 'Cost by agent').querySelectorAll('svg.bars title')].map((t) => t.textContent)")
        self.assertEqual(sorted(t.split(":")[0] for t in titles), sorted(u["agent"] for u in used))
        meters = tab.js("[...document.querySelectorAll('.budget')].map((b) => b.querySelector('meter').getAttribute('aria-label'))")
        self.assertEqual(meters, ["Running at once: 0 of 2", "Turns today: 4 of 8"])
        tab.click(".newest button", "Read the newest")
        tab.wait_text("Time per session", ".newest h2")
        spent = sum(e["data"]["elapsed_ms"] for e in log if e["kind"] == "outcome")
        row = tab.js("(() => { const c = [...document.querySelectorAll('.newest .chart')].find((c) => c.querySelector('h2').textContent === 'Time per session'); c.querySelector('details').open = true;"
                     "return [...c.querySelectorAll('tbody tr')].map((r) => [...r.children].map((d) => d.textContent)).find((r) => r[0] === 'First.'); })()")
        self.assertEqual(row[2], tab.js("import('/web/format.js').then((m) => m.duration(%d))" % spent))
        self.assertGreaterEqual(spent, 200)
        self.shot(tab, "money-newest")
        # Whoever administers sees all users, and nobody else does.
        self.good_call("POST", "/api/sessions", {"message": "Third.", "agent": "writes", "id": "m3"}, status=201, who="bob")
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/m3", who="bob")["state"] == "finished")
        boss = self.open("#/money", who="boss")
        boss.wait_text("Tokens by user", ".chart h2")
        users = "[...[...document.querySelectorAll('section')].find((s) => s.querySelector('h2')?.textContent === 'By user').querySelectorAll('tbody th')].map((t) => t.textContent).sort()"
        self.assertEqual(boss.js(users), ["alice", "bob"])
        mine = self.open("#/money")
        mine.wait_text("Tokens by agent", ".chart h2")
        self.assertEqual(mine.js(users), ["alice"])

    def test_a_reader_may_look_only(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([shell("echo 1")], say("No."))
        self.begin()
        name = self.begin_session("Both.", agent="careful")
        self.wait_event(name, "approval_requested")
        tab = self.open("#/s/" + name, who="reader")
        tab.wait_text("Your login may look, and not decide", ".pending")
        self.assertEqual(tab.js("document.querySelectorAll('.pending button.primary').length"), 0)


if __name__ == "__main__":
    house_page.main()
