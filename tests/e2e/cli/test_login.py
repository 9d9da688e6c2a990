# SPDX-License-Identifier: Apache-2.0
"""Logging in with a browser: links, cookies, and who may use one."""

import http.cookies
import json
import os
import pty
import re
import signal
import socket
import unittest

import house
import serving
import websocket


class Login(serving.Served):
    def log_in(self, body, **headers):
        """(answer, cookie)"""
        answer = self.call("POST", "/api/login", body, who=None, headers=headers)
        text = answer.headers["Set-Cookie"]
        return answer, http.cookies.SimpleCookie(text or "").get("thole_login")

    def by(self, cookie, method, path, body=None, **headers):
        sent = {"Cookie": "theme=dark; thole_login=%s; more=1" % cookie}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        return self.call(method, path, body, who=None, headers=sent)

    def own(self):
        return "http://127.0.0.1:%d" % self.port

    def link(self, *args):
        text = self.good("token", "link", *args).out.strip()
        self.codes = getattr(self, "codes", []) + [text.split("#code=")[1]]
        return text

    def tearDown(self):
        journal = self.folder / "journal"
        text = journal.read_text() if journal.exists() else ""
        super().tearDown()
        for secret in getattr(self, "codes", []) + getattr(self, "cookies", []):
            self.assertNotIn(secret, text)

    def test_a_link_is_good_once(self):
        self.serve_http()
        text = self.link("carol", "--scopes", "read,run", "--url", self.own() + "/")
        url, code = text.split("/#code=")
        self.assertEqual(url, self.own())
        answer, cookie = self.log_in({"code": code}, Origin=self.own())
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json()["user"], answer.json()["scopes"]), ("carol", ["read", "run"]))
        self.assertEqual((cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]), (True, "Strict", "/", ""))
        self.assertLessEqual(int(cookie["max-age"]), 7 * 86400)
        self.cookies = [cookie.value]
        again, none = self.log_in({"code": code})
        self.assertEqual((again.status, none), (401, None))
        self.assertEqual(self.by(cookie.value, "GET", "/api/me").json()["user"], "carol")
        self.assertEqual(self.by(cookie.value, "GET", "/metrics").status, 403)
        # What is kept cannot be used.
        kept = (self.folder / "state" / "thole" / "tokens.jsonl").read_text()
        for secret in (code, cookie.value):
            self.assertNotIn(secret, kept)
        for row in map(json.loads, kept.splitlines()):
            self.assertEqual(self.by(row["digest"], "GET", "/api/me").status, 401)
        # A cookie is no token, and a code neither.
        for secret in (cookie.value, self.link("carol").split("#code=")[1]):
            self.assertEqual(self.call("GET", "/api/me", who=None, headers={"Authorization": "Bearer " + secret}).status, 401)
            self.assertEqual(self.log_in({"token": secret})[0].status, 401)
        self.assertEqual(self.log_in({"code": serving.TOKENS["alice"]})[0].status, 401)

    def test_a_login_outlives_the_server_and_ends(self):
        port = self.serve_http()
        token = self.good("token", "new", "carol").out.strip()
        answer, cookie = self.log_in({"token": token})
        self.assertEqual(answer.json()["scopes"], ["read", "run", "approve"])
        other = self.log_in({"token": token})[1]
        self.end_http(signal.SIGKILL)
        self.serve_http(port=port)
        self.assertEqual(self.by(cookie.value, "GET", "/api/me").status, 200)
        out = self.by(cookie.value, "POST", "/api/logout", Origin=self.own())
        self.assertEqual(out.status, 204, out)
        self.assertRegex(out.headers["Set-Cookie"], r"thole_login=; .*Max-Age=0")
        self.assertEqual(self.by(cookie.value, "GET", "/api/me").status, 401)
        self.assertEqual(self.by(other.value, "GET", "/api/me").status, 200)
        rows = [json.loads(line) for line in self.good("token", "list", "--json").out.splitlines()]
        self.assertEqual([row["kind"] for row in rows], ["token", "login"])
        self.good("token", "revoke", rows[0]["id"])  # and the login goes with it
        self.assertEqual(self.by(other.value, "GET", "/api/me").status, 401)
        # One of the file of tokens goes with its line, and has its scopes.
        answer, cookie = self.log_in({"token": serving.TOKENS["alice"]})
        self.assertEqual(self.by(cookie.value, "GET", "/api/me").json()["user"], "alice")
        (self.folder / "tokens").write_text(serving.LINES.replace("alice read,run,approve", "alice read"))
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.by(cookie.value, "GET", "/api/me").json().get("scopes") == ["read"])
        (self.folder / "tokens").write_text("".join(line for line in serving.LINES.splitlines(True) if serving.TOKENS["alice"] not in line))
        self.server.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.by(cookie.value, "GET", "/api/me").status == 401)

    def test_what_comes_behind_a_logout_is_out(self):
        self.serve_http()
        _, cookie = self.log_in({"code": self.link("carol").split("#code=")[1]}, Origin=self.own())
        self.cookies = [cookie.value]
        head = " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: %s\r\nCookie: thole_login=%s\r\n" % (self.port, self.own(), cookie.value)
        asked = "GET /api/me%s\r\n" % head
        out = "POST /api/logout%sContent-Length: 0\r\n\r\n" % head
        last = "GET /api/me%sConnection: close\r\n\r\n" % head
        with socket.create_connection(("127.0.0.1", self.port), house.SECONDS) as s:
            s.sendall((asked + out + last).encode())  # at once: read in one pass of the loop
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        self.assertEqual(re.findall("HTTP/1.1 ([0-9]+)", text), ["200", "204", "401"], text)

    def test_what_was_opened_ends_with_its_token(self):
        """A stream, a WebSocket and a request that waits end with a sentence; those of others go on."""
        nobody = socket.create_server(("127.0.0.1", 0))  # a model that never answers
        self.addCleanup(nobody.close)
        self.env["OPENAI_BASE_URL"] = "http://127.0.0.1:%d/v1" % nobody.getsockname()[1]
        self.serve_http()
        token = self.good("token", "new", "carol").out.strip()
        row, = [json.loads(line) for line in self.good("token", "list", "--json").out.splitlines()]
        cookie = self.log_in({"token": token})[1].value
        own = {"Authorization": "Bearer " + token}
        mine, theirs = "mine", "theirs"
        self.good_call("POST", "/api/sessions", {"message": "x", "id": mine}, status=201, who=None, headers=own)
        self.good_call("POST", "/api/sessions", {"message": "y", "id": theirs}, status=201)
        events = self.stream("/api/sessions/%s/events" % mine, headers=own)
        by_cookie = self.stream("/api/sessions/%s/events" % mine, headers={"Authorization": "", "Cookie": "thole_login=" + cookie})
        other = self.stream("/api/sessions/%s/events?deltas=false" % theirs)
        lane = websocket.Socket(self.port, "/v1/responses", token=token)
        waiting = self.connect()
        waiting.request("POST", "/v1/responses", json.dumps({"model": "default", "input": "z"}), {**own, "Content-Type": "application/json"})
        self.wait_for(lambda: len(self.good_call("GET", "/api/sessions", who=None, headers=own)["sessions"]) == 2)
        self.good("token", "revoke", row["id"])
        for _, response in (events, by_cookie):
            name, data = [(name, data) for _, name, data in serving.frames(response)][-1]
            self.assertEqual((name, data["error"]["code"]), ("error", "invalid_api_key"))
            self.assertIn("no good any more", data["error"]["message"])
        self.assertEqual(lane.receive()["error"]["code"], "invalid_api_key")
        self.assertEqual(lane.receive(), 1008)
        answer = serving.Answer(waiting.getresponse())
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (401, "invalid_api_key"))
        self.good_call("POST", "/api/sessions/%s/cancel" % theirs, {}, status=202)
        self.assertIn("state_changed", [data["kind"] for _, name, data in self.until_rest(other)])
        for connection in (lane, waiting, events[0], by_cookie[0], other[0]):
            connection.close()

    @staticmethod
    def until_rest(stream):
        for frame in serving.frames(stream[1]):
            yield frame
            if frame[2].get("kind") == "state_changed":
                return

    def test_only_our_own_pages(self):
        self.serve_http()
        cookie = self.log_in({"token": serving.TOKENS["alice"]})[1].value
        theirs = "http://127.0.0.1:%d" % (self.port + 1)
        socket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13", "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
        for what, method, path, headers, status in [
            ("own", "POST", "/api/sessions", {"Origin": self.own()}, 201),
            ("no origin", "POST", "/api/sessions", {}, 403),
            ("the origin null", "POST", "/api/sessions", {"Origin": "null"}, 403),
            ("another port", "POST", "/api/sessions", {"Origin": theirs}, 403),
            ("another name of ours", "POST", "/api/sessions", {"Origin": "http://localhost:%d" % self.port}, 403),
            ("own, a deletion", "DELETE", "/v1/responses/none", {"Origin": self.own()}, 404),
            ("a deletion", "DELETE", "/v1/responses/none", {}, 403),
            ("reads", "GET", "/api/sessions", {}, 200),
            ("reads, typed", "GET", "/api/sessions", {"Sec_Fetch_Site": "none"}, 200),
            ("reads, our page", "GET", "/api/sessions", {"Sec_Fetch_Site": "same-origin"}, 200),
            ("a picture in a page of another port", "GET", "/api/sessions", {"Sec_Fetch_Site": "same-site"}, 403),
            ("a picture in a foreign page", "GET", "/api/sessions", {"Sec_Fetch_Site": "cross-site"}, 403),
            ("reads, another port", "GET", "/api/sessions", {"Origin": theirs}, 403),
            ("a socket", "GET", "/v1/responses", dict(socket), 403),
            ("a socket of another port", "GET", "/v1/responses", dict(socket, Origin=theirs), 403),
        ]:
            with self.subTest(what=what):
                answer = self.by(cookie, method, path, {} if method == "POST" else None, **headers)
                self.assertEqual(answer.status, status, answer)
        # Two cookies: one of them is somebody else's.
        both = {"Cookie": "thole_login=%s; thole_login=%s" % (cookie, "x" * 44)}
        self.assertEqual(self.call("GET", "/api/me", who=None, headers=both).status, 401)
        # A token goes before it, good or not.
        both = {"Cookie": "thole_login=" + cookie, "Authorization": "Bearer " + serving.TOKENS["bob"]}
        self.assertEqual(self.call("GET", "/api/me", who=None, headers=both).json()["user"], "bob")
        both["Authorization"] = "Bearer wrong"
        self.assertEqual(self.call("GET", "/api/me", who=None, headers=both).status, 401)

    def test_a_page_that_the_configuration_lets_call_has_no_cookie(self):
        config = self.folder / "config" / "thole" / "config.yaml"
        config.write_text("serve:\n  origins: ['https://app.example.org']\n  public_url: https://agents.example.org/\n")
        self.serve_http()
        self.assertTrue(self.link("alice").startswith("https://agents.example.org/#code="))
        cookie = self.log_in({"token": serving.TOKENS["alice"]})[1].value
        page = {"Origin": "https://app.example.org"}
        self.assertEqual(self.call("POST", "/api/sessions", {}, headers=page).status, 201)
        self.assertEqual(self.by(cookie, "POST", "/api/sessions", {}, **page).status, 403)
        at_home = {"Origin": "https://agents.example.org", "Host": "agents.example.org"}
        self.assertEqual(self.by(cookie, "POST", "/api/sessions", {}, **at_home).status, 201)
        for origin in ("https:", "https:/", "https://", "https://agents.example", "https://agents.example.org/"):
            self.assertEqual(self.by(cookie, "POST", "/api/sessions", {}, Origin=origin).status, 403, origin)
        # Who speaks TLS gets a cookie that goes over TLS alone.
        self.assertTrue(self.log_in({"token": serving.TOKENS["alice"]}, **at_home)[1]["secure"])

    def test_what_is_no_login(self):
        self.serve_http()
        for body, status in [({}, 400), ({"code": "x", "token": "y"}, 400), ({"code": 1}, 400), ({"code": ""}, 400), (b"[]", 400), (b"{", 400),
                             ({"code": "x"}, 401), ({"token": "x"}, 401), ({"name": "x"}, 400)]:
            with self.subTest(body=body):
                answer, cookie = self.log_in(body)
                self.assertEqual((answer.status, cookie), (status, None), answer)
        self.assertEqual(self.call("GET", "/api/me", who=None).status, 401)
        self.assertEqual(self.call("GET", "/api/me").json(), {"user": "alice", "scopes": ["read", "run", "approve"]})
        self.bad(2, "http", "token", "link", "--url", "agents.example.org")

    def test_the_first_start_on_a_terminal(self):
        # Standard output is a terminal; the journal is a file, and never has the code.
        main, side = pty.openpty()
        journal = (self.folder / "journal").open("ab")
        self.server = self.start("serve", "--listen", "127.0.0.1:0", stdout=side, stderr=journal)
        os.close(side)
        out = b""
        while b"\n" not in out.split(b"#code=", 1)[-1] or b"#code=" not in out:
            out += os.read(main, 1000)
        self.port, code = re.search(rb"good once: http://127\.0\.0\.1:(\d+)/#code=(\S+)", out).groups()
        self.port, self.codes = int(self.port), [code.decode()]
        answer, cookie = self.log_in({"code": code.decode()})
        self.assertEqual((answer.json()["user"], answer.json()["scopes"]), ("local", ["read", "run", "approve", "admin"]))
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(house.SECONDS), 0)
        os.close(main)
        journal.close()
        self.server = None
        # Not a terminal: nothing but where it listens.
        self.serve_http()
        self.assertEqual(self.by(cookie.value, "GET", "/api/me").json()["user"], "local")


if __name__ == "__main__":
    unittest.main()
