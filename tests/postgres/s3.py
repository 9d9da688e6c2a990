# SPDX-License-Identifier: Apache-2.0
"""An object store of a test's own: one bucket in memory, by path.  It takes nothing that is not signed as Signature Version 4 has it,
with the right digest of the body and the right time, and can be told to fail.  With a certificate it speaks TLS."""

import collections
import datetime
import hashlib
import hmac
import http.server
import re
import ssl
import threading
import time
import urllib.parse
import xml.sax.saxutils

KEY, SECRET, REGION, BUCKET = "AKIDTHOLETEST", "s3cret/do+not/print", "eu-test-1", "bucket"
Object = collections.namedtuple("Object", "body changed")


def sign(method, path, query, headers, names, payload, when, secret=SECRET, region=REGION):
    """The signature, as https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html says."""
    canonical = "\n".join([method, path, query, *[f"{n}:{headers[n].strip()}" for n in names], "", ";".join(names), payload])
    scope = f"{when[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (when[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Refused(Exception):
    """(status, name)"""


class S3:
    """`objects`: what there is, by key.  `fail`: called with (method, key) before anything happens; what it returns is the
    answer's status, None: go on, 0: the connection is cut, and what was asked has happened."""

    def __init__(self, certificate=None, token=None, page=1000):
        self.objects, self.asked, self.fail, self.token, self.page = {}, [], None, token, page
        self.list_size = 0  # bytes of an answer with a list, at least
        self.lock = threading.Lock()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused):
                pass

            def any(self):
                store.answer(self)

            do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, prefix="pictures", host="127.0.0.1"):
        return f"s3:{self.scheme}://{host}:{self.server.server_port}/{BUCKET}/{prefix}?region={REGION}"

    def env(self):
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, **({"AWS_SESSION_TOKEN": self.token} if self.token else {})}

    def age(self, seconds):
        """What there is was put so long before it was."""
        with self.lock:
            self.objects = {k: Object(o.body, o.changed - seconds) for k, o in self.objects.items()}

    def check(self, request, body):
        said = request.headers.get("Authorization", "")
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                             r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", said)
        if not match:
            raise Refused(403, "AccessDenied")
        key, day, region, names, signature = match.groups()
        names = names.split(";")
        when = request.headers.get("x-amz-date", "")
        if key != KEY or region != REGION or names != sorted(names) or when[:8] != day:
            raise Refused(403, "InvalidAccessKeyId")
        # All that could change what is asked for is signed.
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names):
            raise Refused(403, "AccessDenied")
        if any(n.startswith("x-amz-") and n not in names for n in (h.lower() for h in request.headers)):
            raise Refused(403, "AccessDenied")
        if request.headers.get("x-amz-security-token") != self.token:
            raise Refused(403, "InvalidToken")
        at = datetime.datetime.strptime(when, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs(at.timestamp() - time.time()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        payload = request.headers["x-amz-content-sha256"]
        if payload != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        path, _, query = request.path.partition("?")
        # As they are to be signed: names in order, and everything encoded in the one way.
        parts = [p.split("=", 1) for p in query.split("&")] if query else []
        again = "&".join(sorted(f"{urllib.parse.quote(urllib.parse.unquote(n), safe='-_.~')}="
                                f"{urllib.parse.quote(urllib.parse.unquote(v), safe='-_.~')}" for n, v in parts))
        wanted = sign(request.command, urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"), again,
                      {n: request.headers[n] for n in names}, names, payload, when)
        if not hmac.compare_digest(wanted, signature):
            raise Refused(403, "SignatureDoesNotMatch")

    def list(self, query):
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if asked.get("list-type") != "2":
            raise Refused(400, "InvalidArgument")
        keys = sorted(k for k in self.objects if k.startswith(asked.get("prefix", "")) and k > asked.get("start-after", ""))
        most = min(int(asked.get("max-keys", 1000)), self.page)
        out = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.example/doc/2006-03-01/\">",
               f"<Name>{BUCKET}</Name><KeyCount>{min(most, len(keys))}</KeyCount>",
               f"<IsTruncated>{'true' if len(keys) > most else 'false'}</IsTruncated>"]
        for key in keys[:most]:
            changed = datetime.datetime.fromtimestamp(self.objects[key].changed, datetime.timezone.utc)
            out.append(f"<Contents><Key>{xml.sax.saxutils.escape(key)}</Key><LastModified>{changed:%Y-%m-%dT%H:%M:%S}.000Z"
                       f"</LastModified><Size>{len(self.objects[key].body)}</Size></Contents>")
        end = "</ListBucketResult>"
        return ("".join(out).ljust(self.list_size - len(end)) + end).encode()

    def act(self, method, key, query, body):
        with self.lock:
            if method == "GET" and not key:
                return 200, self.list(query)
            if method == "PUT":
                self.objects[key] = Object(body, time.time())
                return 200, b""
            if method == "DELETE":
                self.objects.pop(key, None)
                return 204, b""
            if method == "GET" and key in self.objects:
                return 200, self.objects[key].body
        raise Refused(404, "NoSuchKey")

    def answer(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        path, _, query = request.path.partition("?")
        bucket, _, key = path[1:].partition("/")
        try:
            self.check(request, body)
            with self.lock:
                self.asked.append((request.command, key))
            if bucket != BUCKET:
                raise Refused(404, "NoSuchBucket")
            status = self.fail(request.command, key) if self.fail else None
            if status == 0:
                self.act(request.command, key, query, body)
                request.close_connection = True
                return
            if status:
                raise Refused(status, "SlowDown" if status == 503 else "InternalError")
            status, out = self.act(request.command, key, query, body)
        except Refused as e:
            status, name = e.args
            out = f"<?xml version=\"1.0\"?><Error><Code>{name}</Code></Error>".encode()
            with self.lock:
                self.asked.append((request.command, key, status, name))
        request.send_response(status)
        request.send_header("Content-Length", str(len(out)))
        request.end_headers()
        request.wfile.write(out)
