# SPDX-License-Identifier: Apache-2.0
"""The page when things are hard: the server is killed, text is hostile, the screen is small, the log is long; and what axe-core says."""

import json
import shutil
import signal
import subprocess

import house_page
from house_page import say, shell

EVIL = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script></pre><a href=javascript:window.hacked=1>x</a>"
TURNED = "echo safe \u202egpj.exe\u202c \u001b[31mred\u001b[0m \u0007 \u200bend"
AXE = "axe-core@4.10.2"


class Killed(house_page.Paged):
    def test_the_server_is_killed_in_between(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([shell("echo one >> made")], [shell("echo two >> made")], say("Both are made."))
        port = self.begin()
        name = self.begin_session("Make both.", agent="careful", id="k1")
        tab = self.open("#/s/" + name)
        self.expected += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "409"]
        tab.wait_text("echo one", ".pending .command")
        self.end_http(signal.SIGKILL)
        tab.wait_text("This page goes on by itself", ".link-state")
        self.shot(tab, "server-away")
        self.begin("--listen", "127.0.0.1:%d" % port)
        tab.wait("document.querySelector('.link-state').textContent === ''")
        tab.click(".pending button", "Approve once")
        tab.wait_text("echo two", ".pending .command")
        self.end_http(signal.SIGKILL)
        self.begin("--listen", "127.0.0.1:%d" % port)
        tab.wait("document.querySelector('.link-state').textContent === ''")
        tab.click(".pending button", "Approve once")
        tab.wait_text("Both are made.", ".entry.turn .said")
        self.wait_event(name, "final")
        self.assertEqual((self.work / "k1" / "made").read_text(), "one\ntwo\n")
        # Each entry once, in the log's order, and none is missing.
        tab.wait("document.querySelector('.entry.final')")
        shown = tab.js("[...document.querySelectorAll('.timeline .virtual > .entry')].map((e) => Number(e.dataset.seq)).sort((a, b) => a - b)")
        log = self.log(name)
        calls = [e["seq"] for e in log if e["kind"] == "call"]
        self.assertEqual(len(shown), len(set(shown)))
        self.assertEqual(tab.js("[...document.querySelectorAll('.entry.call')].map((e) => Number(e.dataset.seq)).sort((a, b) => a - b)"), calls)
        self.assertEqual([e["seq"] for e in log], list(range(1, len(log) + 1)))
        wanted = [e["seq"] for e in log if e["kind"] in ("session_created", "message", "model_requested", "call", "final", "state_changed")]
        self.assertEqual(shown, wanted)


class Hostile(house_page.Paged):
    def test_text_is_text_wherever_it_comes_from(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        long = "A" * 1000000
        self.serve([{"reasoning": "thought " + EVIL}, {"text": "said " + EVIL + TURNED}, shell(TURNED + "; printf '%s' '" + EVIL.replace("'", "") + "'")],
                   [shell("head -c 1000000 /dev/zero | tr '\\0' B")], [{"text": "end " + EVIL + " " + "C" * 300000}])
        self.begin()
        name = self.begin_session("asked " + EVIL + TURNED + long, agent="careful", id="evil-1")
        tab = self.open("#/s/evil-1")
        tab.wait("document.querySelector('.pending .command')")
        command = tab.js("document.querySelector('.pending .command').textContent")
        self.assertIn("⟦RLO⟧gpj.exe⟦PDF⟧", command)
        self.assertIn("⟦ESC⟧[31mred⟦ESC⟧[0m ⟦BEL⟧ ⟦ZWSP⟧end", command)
        for sign in "\u202e\u001b\u0007\u200b":
            self.assertNotIn(sign, tab.text())
        self.shot(tab, "hostile-card")
        tab.click(".pending button", "Approve once")
        tab.wait_text("tr", ".pending .command")
        tab.click(".pending button", "Approve once")
        tab.wait_text("Finished", ".badge")
        tab.wait("document.querySelector('.entry.final')")
        self.assertEqual(self.nothing_ran(tab), [])
        tab.click("button", "Show all")
        tab.wait("document.querySelector('dialog .whole')?.textContent.length > 100000")
        tab.key("Escape")
        tab.click(".filters button", "Calls")
        for place in ("#/", "#/waiting", "#/s/evil-1/replay", "#/s/evil-1/money", "#/money", "#/compare/evil-1/evil-1", "#/s/%3Cscript%3E"):
            tab.js("location.hash = %s" % json.dumps(place))
            tab.wait("document.querySelector('main') && !document.querySelector('main .muted')?.textContent.startsWith('Reads')")
            self.assertEqual(self.nothing_ran(tab), [], place)
            self.assertLessEqual(tab.js("document.documentElement.scrollWidth"), 1280, place)
        self.expected.append("404")  # the last one
        file = self.folder / "evil.html"
        self.good("export", name, "--format", "html", "-o", file)
        tab.go("file://%s" % file)
        tab.wait("document.querySelector('.replay .entry')")
        tab.key("End")
        tab.wait("document.querySelector('.entry.final')")
        self.assertEqual(self.nothing_ran(tab), [])

    def nothing_ran(self, tab):
        return tab.js("[window.hacked, ...[...document.querySelectorAll('#app img, #app iframe, #app object, #app embed, #app link, #app style, #app script')]"
                      ".filter((e) => e.tagName !== 'IMG' || !/^(blob:|http:)/.test(e.src) || e.src.endsWith('/x')).map((e) => e.outerHTML), "
                      "...[...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href')).filter((u) => !/^(#|\\/api\\/)/.test(u))].filter(Boolean)")


class Long(house_page.Paged):
    def test_ten_thousand_events(self):
        self.agent("many", "tools: [shell]\nrules: [{tool: shell, decide: refuse, message: not here}]\nlimits: {turns: 1000}\nstuck: {then: tell}\n")
        turns = [[shell("echo %d %d" % (t, c)) for c in range(100)] for t in range(50)]
        self.serve(*turns, say("All were refused."))
        self.begin()
        name = self.begin_session("Go.", agent="many", id="long-1")
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/long-1")["state"] in ("finished", "failed", "limit", "stuck"), 120)
        head = self.good_call("GET", "/api/sessions/" + name)["head_seq"]
        self.assertGreaterEqual(head, 10000)
        tab = self.open("#/")
        took = tab.js("new Promise((done) => { const t = performance.now(); location.hash = '/s/long-1'; const look = () => document.querySelector('.entry.final') ? "
                      "requestAnimationFrame(() => done(performance.now() - t)) : setTimeout(look, 5); look(); })")
        tab.wait("document.querySelectorAll('.timeline .virtual > .entry').length > 3")
        _, tasks = tab.tasks_while(lambda: tab.js("""new Promise((done) => {
            const box = document.querySelector('.timeline .scroller');
            let n = 0;
            const step = () => {
                box.scrollTop -= 400;
                if (++n < 200) requestAnimationFrame(step); else done(n);
            };
            requestAnimationFrame(step);
        })""", 60))
        nodes = tab.js("document.querySelectorAll('*').length")
        print("\nfirst view of %d events: %.0f ms; longest task while it scrolls %.0f ms; %d elements" % (head, took, tasks[0], nodes))
        self.assertLess(tasks[0], 50)
        # What is in the page does not grow with the log; times are of a busy machine, so only ten times the aim fails.
        self.assertLess(nodes, 6000)
        self.assertLess(took, 10000)
        # All the way up: the first event is there, and each came once.
        tab.wait("(() => { const b = document.querySelector('.timeline .scroller'); b.scrollTop = 0; return [...document.querySelectorAll('.entry')].some((e) => e.dataset.seq === '1'); })()", 60)
        self.assertEqual(tab.js("document.querySelector('.older').textContent"), "")


class Phone(house_page.Paged):
    VIEWS = ["#/", "#/waiting", "#/s/p1", "#/s/p1/replay", "#/s/p1/files", "#/s/p1/money", "#/money", "#/compare/p1/p1"]

    def phone_session(self):
        self.agent("careful", "tools: [shell]\napprove: [shell]\n")
        self.serve([{"reasoning": "I think about it for a while."}, {"text": "First I look at what is there, and then I go on with the next thing."}, shell("ls -la /a/very/long/path/that/has/no/blank/in/it/at/all/and/goes/on/and/on; echo " + "x" * 200)],
                   say("Done."))
        self.begin()
        self.begin_session("Make a report of the numbers in the folder, and send it to nobody.", agent="careful", id="p1")
        self.wait_event("p1", "approval_requested")

    def test_nothing_moves_by_itself(self):
        """Cumulative layout shift, as browsers measure it: what is shown once stays where it is while the rest comes."""
        self.phone_session()
        shifts = []
        for width, height in ((1280, 800), (360, 740)):
            for view in self.VIEWS:
                tab = self.open(view, width=width, height=height)
                tab.wait("document.querySelector('main h1') && !document.querySelector('.card.loading') && !document.querySelector('progress')")
                moved = tab.js("""new Promise((done) => {
                    new PerformanceObserver((list) => done(list.getEntries().filter((e) => !e.hadRecentInput && e.value > 0.01).map((e) => [e.value, ...e.sources.map((s) => s.node?.className)])))
                        .observe({type: 'layout-shift', buffered: true});
                    setTimeout(() => done([]), 1000);
                })""")
                shifts += [(width, view, m) for m in moved if sum(m[0] for m in moved) > 0.1]
        self.assertEqual(shifts, [])

    def test_at_360_pixels(self):
        self.phone_session()
        tab = self.open("#/", width=360, height=740)
        tab.size(360, 740, touch=True)
        for view in self.VIEWS:
            tab.js("location.hash = %s" % json.dumps(view))
            tab.wait("document.querySelector('main h1') && !document.querySelector('.card.loading') && !document.querySelector('progress')")
            self.assertLessEqual(tab.js("document.documentElement.scrollWidth"), 360, view)
            # Nothing stands out of the screen but in boxes that are scrolled sideways by themselves.
            out = tab.js("[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 361 && e.checkVisibility() && "
                         "!e.closest('.filters, .controls, .film, pre, table, .table-box, svg, .clip, .meta, .overview')).map((e) => e.tagName + '.' + e.className).slice(0, 5)")
            self.assertEqual(out, [], view)
            self.shot(tab, "phone-" + (view.strip("#/").replace("/", "-") or "sessions"))
        tab.js("location.hash = '/waiting'")
        tab.click(".decide-card button", "Approve once")
        self.wait_event("p1", "final")
        self.assertEqual([e["data"]["approve"] for e in self.log("p1") if e["kind"] == "approval_decided"], [True])


class Accessible(Phone):
    test_at_360_pixels = test_nothing_moves_by_itself = None

    def axe(self):
        """The source of axe-core, from npm into the build folder; None: it cannot be had here."""
        folder = house_page.house.BUILD / "axe"
        found = folder / "node_modules" / "axe-core" / "axe.min.js"
        if not found.exists() and shutil.which("npm"):
            folder.mkdir(exist_ok=True)
            subprocess.run(["npm", "install", "--prefix", str(folder), "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", AXE],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        return found.read_text() if found.exists() else None

    def test_axe_finds_nothing_serious(self):
        source = self.axe()
        if not source:
            self.skipTest("axe-core cannot be had here: it needs npm and its registry")
        self.phone_session()
        found = []
        for dark in (False, True):
            tab = self.open("#/", dark=dark)
            tab.js(source + ";0")
            for view in self.VIEWS:
                tab.js("location.hash = %s" % json.dumps(view))
                tab.wait("document.querySelector('main h1') && !document.querySelector('.card.loading') && !document.querySelector('progress')")
                bad = tab.js("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))"
                             ".map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join(' | ')))")
                found += ["%s %s %s" % ("dark" if dark else "light", view, b) for b in bad]
                self.shot(tab, "%s-%s" % ("dark" if dark else "light", view.strip("#/").replace("/", "-") or "sessions"))
        self.assertEqual(found, [])

    def test_axe_on_what_comes_and_goes(self):
        """Dialogs, the login, the live desktop, a question, and an exported file."""
        source = self.axe()
        if not source:
            self.skipTest("axe-core cannot be had here: it needs npm and its registry")
        self.agent("desk", "computer: {kind: desktop, width: 800, height: 500}\ntools: [ask, bash]\n")
        self.serve([house_page.computer({"type": "screenshot"})], [{"function_call": {"name": "bash", "arguments": {"command": "echo seen"}}}],
                   [{"function_call": {"name": "ask", "arguments": {"question": "Which?", "options": ["red", "blue"]}}}], say("Thank you."))
        self.begin()
        name = self.begin_session("Ask me.", agent="desk", id="d1")
        self.wait_event(name, "approval_requested")
        file = self.folder / "one.html"
        self.good("export", name, "--format", "html", "-o", file)

        def look(tab, what):
            tab.js(source + ";0")
            bad = tab.js("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))"
                         ".map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join(' | ')))")
            self.shot(tab, "axe-" + what)
            self.assertEqual(bad, [], what)

        for dark in (False, True):
            tab = self.open("#/s/" + name, dark=dark)
            word = "dark" if dark else "light"
            tab.wait("Number(document.querySelector('.live-box canvas')?.dataset.frames) > 0 && document.querySelector('.question-card') && !document.querySelector('.live-terminal').hidden")
            look(tab, word + "-desktop")
            for button, shown in ((".live-screen button", "#give-note"), ("[aria-label='More']", "#compare-with"), ("[aria-label='Event as JSON']", "dialog .whole")):
                tab.click(button)
                if button.startswith(".live"):
                    tab.wait_text("You have the desktop", ".live-status")
                    tab.click(".live-screen button", "Give back")
                tab.wait("document.querySelector('%s')" % shown)
                look(tab, "%s-dialog-%s" % (word, shown.strip("#").replace("dialog .", "")))
                tab.key("Escape")
                if button.startswith(".live"):
                    tab.click(".live-screen button", "Give back")
                    tab.click("dialog button", "Give back")
                    tab.wait_text("Take over", ".live-screen button")
            tab.js("location.hash = '/'")
            tab.click("button", "New task")
            tab.wait("document.querySelector('#task')")
            look(tab, word + "-new-task")
            tab.key("Escape")
            self.expected.append("401")
            out = self.browser.page(self.url(), dark=dark)
            self.tabs.append(out)
            out.wait("document.querySelector('#token')")
            look(out, word + "-login")
        self.good_call("POST", "/api/sessions/%s/answer" % name, {"call_id": self.log(name)[-1].get("call") or self.waiting(name), "answer": "red"})
        self.wait_event(name, "final")

    def waiting(self, name):
        return next(w["call_id"] for w in self.good_call("GET", "/api/waiting")["waiting"] if w["session_id"] == name)


if __name__ == "__main__":
    house_page.main()
