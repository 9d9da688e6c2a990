# SPDX-License-Identifier: Apache-2.0
"""thole demo serve, clicked through as a newcomer does.

With TH_PAGE_PICTURES=DIR it also writes the two pictures of README there:

    TH_PAGE_PICTURES=docs BUILD_DIR=build python3 tests/page/test_demo.py
"""

import json
import os
import re
import signal
import socket
import subprocess

import house_page


class Demo(house_page.Paged):
    def test_what_the_end_of_a_demo_says(self):
        """The command that it prints makes a file, which a browser opens without a server."""
        told = self.good("demo").out
        folder = self.folder / "d"
        folder.mkdir()
        command = re.search(r"in the page:\s+(\S+ export .*)\n", told).group(1)
        self.addCleanup(subprocess.run, ["rm", "-r", re.search(r"throw away:\s+rm -r (\S+)", told).group(1)], check=True)
        subprocess.run(command, shell=True, check=True, cwd=folder, env=self.env, stderr=subprocess.DEVNULL)
        tab = self.browser.page("file://%s/demo.html" % folder)
        self.tabs.append(tab)
        tab.wait("document.querySelector('.replay .transport')")
        tab.key("End")
        tab.wait_text("Finished", ".entry.final")
        tab.wait("[...document.querySelectorAll('.stage img')].every((i) => i.naturalWidth > 0)")

    def picture(self, tab, name):
        self.shot(tab, "demo-" + name)
        if os.environ.get("TH_PAGE_PICTURES"):
            tab.shot(os.path.join(os.environ["TH_PAGE_PICTURES"], "page-%s.png" % name))

    def test_clicked_through(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            at = "127.0.0.1:%d" % free.getsockname()[1]
        folder = self.folder / "tour"
        demo = self.start("demo", "serve", "--folder", folder, "--listen", at)
        try:
            text = ""
            while "listening at" not in text:
                line = demo.stdout.readline().decode()
                self.assertTrue(line, text + demo.stderr.read().decode() if demo.poll() is not None else text)
                text += line
            link = re.search(r"http://\S+#code=\S+", text).group()
            tab = self.browser.page("", width=1280, height=800)
            self.tabs.append(tab)
            self.expected.append("401")
            tab.go(link)
            tab.wait_text("One decision waits for you", ".waits-banner")
            self.assertEqual(tab.js("location.hash"), "#/")  # the code is out of the address
            tab.click(".session-row a")
            tab.wait_text("xterm", ".pending .command")
            self.shot(tab, "demo-first")
            for number in range(3):
                tab.wait("document.querySelector('.pending .decide-card:not(.busy)')")
                call = tab.js("document.querySelector('.pending .decide-card').dataset.call")
                if number == 1:  # it clicks: the point is marked on the screen before
                    tab.wait("document.querySelector('.pending .mark.click') && [...document.querySelectorAll('.shot img')].every((i) => i.complete) && [...document.querySelectorAll('.shot canvas')].every((c) => 'drawn' in c.dataset)")
                    tab.wait_text("Waits for you", ".session-head .badge")
                    tab.js("document.querySelector('.pending').scrollTop = 0")
                    self.picture(tab, "approve")
                tab.click(".pending button", "Approve once")
                tab.wait("document.querySelector('.pending .decide-card')?.dataset.call !== %s" % json.dumps(call))
            tab.wait_text("Finished", ".badge", 60)
            self.assertEqual((folder / "workspaces" / "demo" / "hello.txt").read_text(), "Every action written down before it happens.\n")
            self.shot(tab, "demo-finished")
            tab.click("a.button", "Replay")
            tab.wait("document.querySelector('.replay .transport')")
            steps = tab.js("document.querySelectorAll('.thumb').length")
            self.assertGreaterEqual(steps, 3)
            tab.click(".thumb[aria-label^='Picture 2']")
            tab.wait("document.querySelectorAll('.stage .side-shot').length === 2 && [...document.querySelectorAll('.stage img, .thumb img')].every((i) => i.complete)")
            self.picture(tab, "replay")
            used = self.thole("log", "demo", "--verify", "--store", "sqlite:%s/log.db" % folder)
            self.assertEqual(used.code, 0, used)
        finally:
            demo.send_signal(signal.SIGINT)
            try:
                out, err = demo.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                demo.kill()
                raise
        self.assertEqual((demo.returncode, err), (0, b""))
        self.thole("computer", "-s", "demo", "end", "--store", "sqlite:%s/log.db" % folder)


if __name__ == "__main__":
    house_page.main()
