# SPDX-License-Identifier: Apache-2.0
"""An internet of the test's own: the program starts itself again in a network and a mount namespace, where names,
servers, the metadata address and other hosts are made of loopback.  No packet leaves the machine."""

import atexit
import ctypes
import gzip
import http.server
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

MARK = "THOLE_TEST_INTERNET"
PUBLIC, OTHER, PRIVATE, METADATA = "93.184.216.34", "93.184.216.35", "10.0.0.5", "169.254.169.254"
NAMES = {
    "good.example": PUBLIC, "api.good.example": PUBLIC, "other.example": OTHER,
    "inside.example": PRIVATE, "metadata.example": METADATA, "loop.example": "127.0.0.1",
    "echo.example": PUBLIC, "false.example": PUBLIC,
    "mapped.example": "::ffff:" + METADATA, "nat64.example": "64:ff9b::a9fe:a9fe", "zero.example": "0.0.0.0",
}
SKIPPED = 77  # as meson wants it


def enter():
    """To be called before anything else; returns in the namespaces."""
    if os.environ.get(MARK):
        make()
        return
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        print("skipped: an internet of its own needs root, unshare and ip")
        sys.exit(SKIPPED)
    wrapped = ["unshare", "-n", "-m"]
    if subprocess.run(wrapped + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: no network namespace can be made here")
        sys.exit(SKIPPED)
    os.environ[MARK] = "1"
    os.execvp(wrapped[0], wrapped + [sys.executable] + sys.argv)


def bind(there, path):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(str(there).encode(), str(path).encode(), None, 4096, None) != 0:  # MS_BIND
        raise OSError(ctypes.get_errno(), "bind %s" % path)


def make():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (PUBLIC, OTHER, PRIVATE, METADATA):
        subprocess.run(["ip", "address", "add", address + "/32", "dev", "lo"], check=True)
    subprocess.run(["ip", "address", "add", "64:ff9b::a9fe:a9fe/128", "dev", "lo", "nodad"], check=True)
    files = {"/etc/hosts": "".join("%s %s\n" % (a, n) for n, a in NAMES.items()) + "127.0.0.1 localhost\n",
             "/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
             "/etc/nsswitch.conf": "hosts: files dns\n"}
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), "thole-internet-%d" % os.getpid())
    folder.mkdir(mode=0o755)
    for path, text in files.items():
        there = folder / pathlib.Path(path).name
        there.write_text(text)
        real = os.path.realpath(path)
        if os.path.exists(real):
            bind(there, real)
    shutil.rmtree(folder)


authority = None  # folder


def trust_authority(*names):
    """An authority that this internet trusts, and no other; it has signed for servers of these names."""
    global authority
    authority = pathlib.Path(tempfile.mkdtemp(prefix="thole-authority-"))
    atexit.register(shutil.rmtree, authority, ignore_errors=True)
    authority.chmod(0o755)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    def openssl(*words):
        return subprocess.run(["openssl", *words], cwd=authority, check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout

    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=the test's authority")
    openssl("req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    (authority / "ext").write_text("subjectAltName=" + ",".join("DNS:" + n for n in names))
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "ext", "-out", "server.pem")
    roots = authority / "roots"
    roots.mkdir()
    for name in ("ca-certificates.crt", openssl("x509", "-hash", "-noout", "-in", "ca.pem").strip() + ".0"):
        shutil.copy(authority / "ca.pem", roots / name)
    bind(roots, "/etc/ssl/certs")


class Server:
    """An HTTP server that keeps what it was asked for, at all addresses of the internet; /echo gives the headers back."""

    def __init__(self, port=80, tls=False):
        asked = self.asked = []
        pages = self.pages = {}  # path -> (content type, bytes)
        zipped = self.zipped = set()  # those that are sent compressed

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while True:
                        size = int(self.rfile.readline(), 16)
                        body += self.rfile.read(size)
                        self.rfile.readline()
                        if size == 0:
                            break
                asked.append({"to": self.server.server_address[0], "host": self.headers.get("Host"), "method": self.command,
                              "path": self.path, "body": body.decode(errors="replace"), "headers": dict(self.headers)})
                text = b"this is %s\n" % self.headers.get("Host", "").encode()
                if self.path.startswith("/big"):
                    text = b"x" * int(self.path[5:])
                if self.path.startswith("/echo"):
                    text = "".join("%s: %s\n" % h for h in self.headers.items()).encode()
                kind, text = pages.get(self.path, (None, text))
                if self.path in zipped:
                    text = gzip.compress(text)
                self.send_response(302 if self.path.startswith("/to/") else 404 if kind == "none" else 200)
                if kind:
                    self.send_header("Content-Type", "text/plain" if kind == "none" else kind)
                if self.path in zipped:
                    self.send_header("Content-Encoding", "gzip")
                if self.path.startswith("/to/"):
                    self.send_header("Location", "http://" + self.path[4:])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.path != "/echo/slow":
                    self.wfile.write(text)
                    return
                for i in range(len(text)):  # a piece of TLS each
                    self.wfile.write(text[i:i + 1])

            do_GET = do_POST = do_PUT = do_HEAD = answer

            def log_message(self, *_):
                pass

        class V4(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # a client that does not trust it

        class V6(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6

            def server_bind(self):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                super().server_bind()

        self.servers = [V4((a, port), Handler)
                        for a in (PUBLIC, OTHER, PRIVATE, METADATA, "127.0.0.1")]
        self.servers.append(V6(("::", port), Handler))
        for s in self.servers if tls else ():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority / "server.pem", authority / "server.key")
            s.socket = context.wrap_socket(s.socket, server_side=True, do_handshake_on_connect=False)
        for s in self.servers:
            threading.Thread(target=s.serve_forever, args=(0.02,), daemon=True).start()

    def end(self):
        for s in self.servers:
            s.shutdown()
            s.server_close()


class Names:
    """The name server that nobody in a sandbox should reach: it keeps every question."""

    def __init__(self):
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                question, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            if not question:
                return
            self.asked.append(question)
            self.socket.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], sender)  # no such name

    def end(self):
        self.socket.sendto(b"", ("127.0.0.1", 53))
        self.thread.join()
        self.socket.close()
