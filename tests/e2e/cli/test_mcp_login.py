# SPDX-License-Identifier: Apache-2.0
"""Logins at servers of tools: the person's way, renewal, more rights, and what a hostile server gets."""

import base64
import hashlib
import http.server
import json
import os
import re
import secrets
import stat
import threading
import urllib.error
import urllib.parse
import urllib.request

import house
import test_mcp_client

Http = test_mcp_client.Http
call = test_mcp_client.call


class Authority(http.server.BaseHTTPRequestHandler):
    """An authorization server whose person says yes at once.  Codes and refresh tokens count once."""

    def log_message(self, *args):
        pass

    def answer(self, status, body=None, **headers):
        text = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        test, url = self.server.test, urllib.parse.urlsplit(self.path)
        if url.path == "/.well-known/oauth-authorization-server":
            self.answer(200, dict({"issuer": test.issuer, "authorization_endpoint": test.issuer + "/authorize",
                                   "token_endpoint": test.issuer + "/token", "registration_endpoint": test.issuer + "/register",
                                   "code_challenge_methods_supported": ["S256"], "scopes_supported": ["read", "write", "offline_access"],
                                   "authorization_response_iss_parameter_supported": True}, **test.document))
        elif url.path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
            test.asked.append(asked)
            code = secrets.token_urlsafe(8)
            test.codes[code] = asked
            back = {"code": code, "state": asked["state"], "iss": test.iss or test.issuer}
            self.answer(302, Location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(back))
        else:
            self.answer(404)

    def do_POST(self):
        test, body = self.server.test, self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/register":
            test.registered.append(json.loads(body))
            self.answer(201, {"client_id": "client-%d" % len(test.registered), "client_secret": "client-secret-5678"})
            return
        form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
        test.forms.append(form)
        asked = test.refreshes.pop(form.get("refresh_token"), None)
        if form["grant_type"] == "refresh_token":
            test.meanwhile()
        if form["grant_type"] == "authorization_code":
            asked = test.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
                asked = None
        pair = base64.b64decode(self.headers.get("Authorization", "")[len("Basic "):]).decode()
        if not asked or form["resource"] != test.url or pair != asked["client_id"] + ":client-secret-5678":
            self.answer(400, {"error": "invalid_grant"})
            return
        token, refresh = "access-" + secrets.token_urlsafe(12), "refresh-" + secrets.token_urlsafe(12)
        test.refreshes[refresh] = asked
        test.give(token, asked["scope"])
        self.answer(200, {"access_token": token, "refresh_token": refresh, "token_type": "Bearer", "expires_in": test.expires_in,
                          "scope": asked["scope"]})


class Login(Http):
    def setUp(self):
        super().setUp()
        self.asked, self.registered, self.forms, self.codes, self.refreshes = [], [], [], {}, {}
        self.document, self.iss, self.expires_in, self.tokens = {}, "", 3600, {}
        self.meanwhile, self.before = lambda: None, lambda link: None
        authority = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Authority)
        authority.test = self
        self.issuer = "http://127.0.0.1:%d" % authority.server_port
        thread = threading.Thread(target=authority.serve_forever, args=(0.02,))
        thread.start()
        self.addCleanup(authority.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(authority.shutdown)
        self.give("nobody", "")
        self.url = self.begin("--era", "modern", "--login", str(self.work / "login.json"))
        self.file = self.folder / "state" / "thole" / "mcp" / (hashlib.sha256(self.url.encode()).hexdigest() + ".json")

    def give(self, token, scope):
        self.tokens[token] = scope
        path = self.work / "login.json"
        path.with_suffix(".new").write_text(json.dumps({"issuer": self.issuer, "tokens": self.tokens}))
        path.with_suffix(".new").rename(path)

    def log_in(self, *options, code=0, browser=True):
        """The terminal and the browser of a person."""
        process = self.start("mcp", "login", self.url, *options, text=True)
        said = []
        for line in process.stderr:
            said.append(line)
            link = re.search(r"http://(127.0.0.1|localhost):\d+/authorize\?\S+", line)
            if link and browser:
                self.before(link.group())
                try:
                    with urllib.request.urlopen(link.group(), timeout=10) as page:
                        said.append(page.read().decode())
                except urllib.error.HTTPError as error:
                    said.append(error.read().decode())
                    error.close()
                    if code:
                        process.terminate()
        out = process.stdout.read()
        process.stdout.close()
        process.stderr.close()
        process.wait(house.SECONDS)
        self.assertEqual(process.returncode == 0, code == 0, "".join(said))
        return out + "".join(said)

    def run_agent(self, name, *calls, code=0):
        self.serve({"parts": list(calls)}, {"parts": [{"text": "Done."}]})
        self.violations = self.violations and code == 0
        ended = self.good("run", "-a", self.address(self.url), "-s", name, "go", code=code)
        self.standin.end()
        return ended.out + ended.err

    def nothing_leaked(self, *names):
        values = [t for t in self.tokens if t != "nobody"] + list(self.refreshes) + ["client-secret-5678"]
        for name in names:
            shown = self.good("log", name, "--json").out
            for value in values:
                self.assertNotIn(value, shown)
        store = b"".join(p.read_bytes() for p in (self.folder / "state").rglob("*") if p.is_file() and p != self.file)
        for value in values:
            self.assertNotIn(value.encode(), store)

    def test_login(self):
        """A run says what to do; the login is asked for what the server wants; the token is in one file, and in nothing else."""
        said = self.run_agent("before", call("t_look"), code=1)
        self.assertIn("wants a login (HTTP status 401): thole mcp login " + self.url, said)
        self.assertIn("logged in", self.log_in())
        self.assertEqual(self.asked[0]["scope"], "read offline_access")
        self.assertEqual((self.asked[0]["resource"], self.asked[0]["code_challenge_method"]), (self.url, "S256"))
        self.assertEqual(self.registered[0]["application_type"], "native")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.file.parent).st_mode), 0o700)
        self.run_agent("after", call("t_look"))
        self.assertEqual(self.outcomes("after")[0]["status"], "done")
        self.nothing_leaked("before", "after")
        self.good("mcp", "logout", self.url)
        self.assertFalse(self.file.exists())
        self.bad(1, "no login", "mcp", "logout", self.url)

    def test_metadata_without_https(self):
        """An address of a document that is not https is not written down, and a run and a login both say why."""
        self.url = self.begin("--login", str(self.work / "login.json"), "--fault", "metadata")
        said = self.run_agent("plain", call("t_look"), code=1)
        self.assertIn("names a document about it at an address that is not https: thole mcp login", said)
        self.assertNotIn("192.0.2.1", b"".join(p.read_bytes() for p in (self.folder / "state").rglob("*.json")).decode())
        self.assertIn("not at an https address", self.log_in(code=1))

    def test_more(self):
        """A call that the login does not allow is refused before it does anything; the next login asks for that, too, as the same client."""
        self.log_in()
        self.run_agent("little", call("t_add", a=1, b=2))
        (outcome,) = self.outcomes("little")
        self.assertEqual(outcome["status"], "not_started")
        self.assertIn("wants more than the login allows", str(outcome["output"]))
        self.log_in()
        self.assertEqual(self.asked[-1]["scope"], "read offline_access write")
        self.run_agent("more", call("t_add", a=1, b=2))
        self.assertEqual(self.outcomes("more")[0]["output"], "3")

    def test_renewal(self):
        """A token that is refused, or near its end, is renewed without a person, and what was refused is sent again."""
        self.expires_in = 30
        self.log_in()
        self.tokens.clear()
        self.run_agent("one", call("t_look"))
        self.assertEqual(self.outcomes("one")[0]["status"], "done")
        self.assertGreaterEqual([f["grant_type"] for f in self.forms].count("refresh_token"), 1)
        stored = json.loads(self.file.read_text())
        self.assertIn(stored["refresh_token"], self.refreshes)  # the new one
        self.refreshes.clear()
        self.tokens.clear()
        self.give("nobody", "")
        said = self.run_agent("gone", call("t_look"), code=1)
        self.assertIn("wants a new login", said)
        self.nothing_leaked("one", "gone")

    def test_a_logout_while_it_is_renewed(self):
        """The token that comes then is written nowhere."""
        self.expires_in = 30
        self.log_in()
        self.tokens.clear()
        self.meanwhile = lambda: self.good("mcp", "logout", self.url)
        self.run_agent("out", call("t_look"), code=1)
        self.assertIn("refresh_token", [f["grant_type"] for f in self.forms])
        self.assertFalse(self.file.exists() and "access_token" in self.file.read_text())
        self.nothing_leaked("out")

    def test_a_stream_that_is_refused(self):
        """A call whose token ends before its stream is taken up is not sent a second time."""
        self.url = self.begin("--era", "legacy", "--login", str(self.work / "login.json"), "--fault", "expires")
        self.log_in()
        self.run_agent("s", call("t_steps"))
        self.assertEqual([(o["status"], o["output"]) for o in self.outcomes("s")], [("done", "both steps")])
        self.assertEqual(len(self.received("tools/call")), 1)

    def test_a_page_that_guesses(self):
        """Answers to no login of ours, as many as there may be, are forgotten."""
        def guess(link):
            (back,) = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["redirect_uri"]
            for size in 600 * [2000] + 100 * [30]:
                with self.assertRaises(urllib.error.HTTPError) as caught:
                    urllib.request.urlopen(back + "?state=" + "x" * size, timeout=10)
                self.assertEqual(caught.exception.code, 400)
                caught.exception.close()
        self.before = guess
        self.assertIn("logged in", self.log_in())

    def test_a_secret_stays_where_it_was(self):
        """A client's secret is not sent to an authorization server that the server of tools names later."""
        self.env["CLIENT_SECRET"] = "client-secret-5678"
        options = ("--client-id", "mine", "--client-secret-env", "CLIENT_SECRET")
        self.log_in(*options)
        self.log_in(*options)
        self.assertEqual(len(self.forms), 2)
        self.issuer = self.issuer.replace("127.0.0.1", "localhost")
        self.give("nobody", "")
        self.assertIn("names another authorization server than before", self.log_in(*options, code=1))
        self.assertEqual(len(self.forms), 2)

    def test_hostile(self):
        """Another issuer's answer, a document of another server, an address without https, an authority without PKCE."""
        self.iss = "https://evil.example"
        said = self.log_in(code=1)
        self.assertIn("no answer to this login", said)
        self.assertEqual(self.forms, [])
        self.iss = ""
        for document, words in (({"issuer": "https://evil.example"}, "not of the issuer asked"),
                                ({"token_endpoint": "http://10.0.0.1/token"}, "not https"),
                                ({"code_challenge_methods_supported": ["plain"]}, "PKCE")):
            self.document = document
            self.assertIn(words, self.log_in(code=1))
        self.issuer = "http://169.254.169.254"
        self.give("nobody", "")
        self.assertIn("no https address", self.log_in(code=1))
        self.assertFalse(self.file.exists() and "access_token" in self.file.read_text())
        self.bad(2, "no https address", "mcp", "login", "http://tools.example/mcp")
        self.bad(2, "-a FILE", "mcp", "login", "tracker")


for inherited in [name for name in dir(Http) if name.startswith("test_") and name not in vars(Login)]:
    setattr(Login, inherited, None)  # what is above it has tests of its own
del Http

if __name__ == "__main__":
    house.main()
