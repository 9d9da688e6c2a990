# SPDX-License-Identifier: Apache-2.0
"""thole serve with a certificate of its own: --tls-cert and --tls-key."""

import http.client
import shutil
import socket
import ssl
import subprocess

import house
import serving


class Tls(serving.Served):
    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            self.skipTest("openssl makes the certificate, and is not installed")
        self.cert, self.key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=thole",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.cert], check=True, capture_output=True)

    def begin(self):
        self.env["THOLE_MODEL"] = "gpt-5.4"
        tokens = self.folder / "tokens"
        tokens.write_text(serving.LINES)
        tokens.chmod(0o600)
        self.journal = (self.folder / "journal").open("ab")
        self.server = self.start("serve", "--listen", "127.0.0.1:0", "--tokens", tokens, "--tls-cert", self.cert, "--tls-key", self.key, stderr=self.journal)
        line = self.server.stdout.readline().decode()
        self.assertTrue(line.startswith("listening at https://127.0.0.1:"), line)
        self.port = int(line.rsplit(":", 1)[1])

    def dial(self, context):
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=house.SECONDS), server_hostname="127.0.0.1", suppress_ragged_eofs=False)

    def test_requests(self):
        self.begin()
        context = ssl.create_default_context(cafile=self.cert)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=house.SECONDS, context=context)
        headers = {"Authorization": "Bearer " + serving.TOKENS["alice"]}
        for path in ("/healthz", "/api/sessions"):  # on one connection
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            self.assertEqual((answer.status, bool(answer.read())), (200, True))
        connection.request("POST", "/api/sessions", body=b"x" * 300000, headers={**headers, "Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 400)
        connection.close()

    def test_the_end_is_told(self):
        """Without TLS's own end a client cannot tell a whole answer from one that was cut."""
        self.begin()
        with self.dial(ssl.create_default_context(cafile=self.cert)) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % self.port)
            text = b""
            while more := s.recv(4096):  # raises where the end is missing
                text += more
        self.assertTrue(text.startswith(b"HTTP/1.1 200 "), text)

    def test_what_is_refused(self):
        self.begin()
        with socket.create_connection(("127.0.0.1", self.port), timeout=house.SECONDS) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertNotIn(b"HTTP/1.1", s.recv(4096))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.load_verify_locations(self.cert)
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.dial(old).close()
        self.assertEqual(self.call_tls("/healthz"), 200)  # it still serves

    def call_tls(self, path):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=house.SECONDS, context=ssl.create_default_context(cafile=self.cert))
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status

    def test_a_bad_certificate(self):
        self.bad(2, "no-cert.pem: No such file or directory", "serve", "--listen", "127.0.0.1:0", "--tls-cert", self.folder / "no-cert.pem", "--tls-key", self.key)
        self.bad(2, "no-key.pem: No such file or directory", "serve", "--listen", "127.0.0.1:0", "--tls-cert", self.cert, "--tls-key", self.folder / "no-key.pem")


if __name__ == "__main__":
    house.main()
