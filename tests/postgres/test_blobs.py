# SPDX-License-Identifier: Apache-2.0
"""Blobs in a folder and in an object store: written before the event that names them, checked when read, swept when nobody names them;
and whoever writes the same bytes meanwhile loses nothing."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "cli"))

import house
import server
from on_postgres import OnPostgres, say, shell
from s3 import KEY, S3, SECRET

DAY = 24 * 60 * 60
BIG = "seq 100000"  # more than an event holds: all of it is a blob
BIG_BYTES = b"".join(b"%d\n" % i for i in range(1, 100001))
HASH = hashlib.sha256(BIG_BYTES).hexdigest()


class Blobs(OnPostgres):
    """Cheap: one server for all classes."""

    database = None

    @classmethod
    def setUpClass(cls):
        if not Blobs.database:
            Blobs.database = server.Server(settings=["fsync=off"]).start()
            unittest.addModuleCleanup(Blobs.database.__exit__)
        cls.postgres = Blobs.database

    @classmethod
    def tearDownClass(cls):
        pass

    def begin(self, place, *more):
        self.good("store", "migrate")
        self.good("store", "blobs", place, *more)

    def run_big(self, name):
        """A session with one large blob."""
        self.serve([shell(BIG)], say("Done."))
        try:
            return self.good("run", "-s", name, "Count.")
        finally:
            self.standin.end()

    def rows(self):
        """(place, object, has bytes) of each blob."""
        return [tuple(line.split("|")) for line in
                self.postgres.sql("SELECT coalesce(place, 0), coalesce(object, ''), bytes IS NOT NULL FROM thole.blobs ORDER BY 1, 2").splitlines()]

    def places(self):
        return json.loads(self.good("store", "blobs", "--json").out)

    def clean(self):
        report = json.loads(self.good("store", "clean", "--json").out)
        return tuple(report[k] for k in ("seen", "doomed", "spared", "removed"))

    def doomed_for(self, seconds):
        self.postgres.sql(f"UPDATE thole.doomed SET since = since - interval '{seconds} s'")

    def lock(self, how):
        """Somebody who has all blobs locked, until he is told to go on."""
        psql = subprocess.Popen([os.path.join(self.postgres.bin, "psql"), "-XqAt", "-d", self.postgres.url()], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(psql.stdout.close)
        psql.stdin.write(f"BEGIN; SELECT 'locked' FROM thole.blobs FOR {how};\n")
        psql.stdin.flush()
        self.assertEqual(psql.stdout.readline(), "locked\n")
        return psql

    def waits(self, process):
        """For what somebody has locked."""
        self.assertIsNone(process.poll())
        return self.postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0"

    def whole(self):
        self.assertIn("whole", self.good("store", "check").out)

    def reads(self, name):
        """The blob comes out of the log as it went in."""
        folder = self.folder / f"blobs-{name}"
        self.good("log", name, "--blobs", str(folder))
        self.assertIn(HASH, {hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()})


class InDatabase(Blobs):
    def test_named_while_swept(self):
        """Who names a blob waits for who sweeps: its row is locked, and stays."""
        self.good("store", "migrate")
        self.run_big("one")
        psql = self.lock("UPDATE")
        self.serve([shell(BIG)], say("Done."))
        namer = self.start("run", "-s", "two", "Count.")
        self.wait_for(lambda: self.waits(namer))
        psql.stdin.write("COMMIT;\n")
        psql.stdin.close()
        psql.wait()
        self.assertEqual((namer.communicate()[1], namer.returncode), (b"", 0))
        self.assertEqual(self.postgres.sql("SELECT count(*) FROM thole.blob_names"), "2")
        self.reads("two")


class InFolder(Blobs):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"

    def files(self):
        return sorted(p for p in self.place.glob("*/*/*") if p.is_file())

    def age(self, seconds):
        for file in self.files():
            at = file.stat().st_mtime - seconds
            os.utime(file, (at, at))

    def test_kept_read_swept(self):
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        self.assertEqual([f.read_bytes() for f in self.files()], [BIG_BYTES])
        self.assertEqual(self.files()[0].stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.rows(), [("1", self.files()[0].parent.name + "/" + self.files()[0].name, "f")])
        self.reads("one")
        self.whole()
        # Another session with the same bytes puts nothing.
        self.run_big("two")
        self.assertEqual(len(self.files()), 1)
        # To a log of another kind, and from there into another place.
        self.good("store", "copy", self.postgres.url(), f"sqlite:{self.folder}/other.db")
        self.good("delete", "one")
        self.good("store", "clean")
        self.reads("two")
        self.good("delete", "two")
        self.assertEqual(self.clean(), (1, 0, 0, 0))  # doomed when its row went
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.places()[1]["doomed"], 1)
        self.doomed_for(DAY + 60)
        self.assertEqual(self.clean(), (1, 0, 0, 1))
        self.assertEqual((self.files(), self.places()[1]["doomed"]), ([], 0))
        self.good("store", "copy", f"sqlite:{self.folder}/other.db", self.postgres.url())
        self.assertEqual(len(self.files()), 1)
        self.reads("one")
        self.whole()

    def test_small_and_chosen(self):
        self.begin(f"folder:{self.place}", "--over", str(len(BIG_BYTES)))
        self.run_big("one")
        self.assertEqual((self.files(), [r[2] for r in self.rows()]), ([], ["t"]))
        self.good("delete", "one")
        self.good("store", "clean")
        self.good("store", "blobs", f"folder:{self.place}", "--over", str(len(BIG_BYTES) - 1))
        self.run_big("one")
        self.assertEqual([r[0] for r in self.rows()], ["2"])
        self.good("store", "blobs", "database")
        self.assertEqual([p["current"] for p in self.places()], [True, False, False])
        self.reads("one")
        self.bad(2, "a place for blobs is folder:PATH", "store", "blobs", "ftp://x")
        self.bad(2, "absolute path", "store", "blobs", "folder:x")
        self.bad(2, "no blob is larger", "store", "blobs", f"folder:{self.place}", "--over", str(64 * 1024 * 1024 + 1))
        self.sqlite("store", "migrate")
        self.bad(2, "is for postgres:", "store", "blobs", "--store", f"sqlite:{self.folder}/other.db")

    def test_damage_is_named(self):
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        file = self.files()[0]
        file.write_bytes(BIG_BYTES[:-1] + b"x")
        ended = self.bad(1, "was changed: its bytes are not what its name says", "log", "one", "--blobs", str(self.folder / "b"))
        self.assertIn(file.name, ended.err)
        self.assertIn(f"blob {HASH}", self.fails("store", "check"))
        file.unlink()
        self.assertIn(f"the object {file.parent.name}/{file.name} is not there", self.fails("store", "check"))
        file.write_bytes(BIG_BYTES)
        self.whole()

    def fails(self, *args):
        ended = self.thole(*args)
        self.assertEqual(ended.code, 1, ended)
        return ended.out + ended.err

    def test_not_mounted(self):
        """Nothing is written where the file system is not mounted: it goes into the database, and the reason is told."""
        self.begin(f"folder:{self.place}")
        self.place.rename(self.folder / "away")
        self.place.mkdir()
        self.run_big("one")
        self.assertEqual(list(self.place.iterdir()), [])
        self.assertEqual(self.rows(), [("0", "", "t")])
        self.assertIn("is the file system mounted?", self.places()[1]["failure"])
        self.place.rmdir()
        (self.folder / "away").rename(self.place)
        self.reads("one")
        self.whole()

    def test_spared(self):
        """What is named after all stays, whatever made it doomed; what a cut put left goes."""
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        name = self.rows()[0][1]
        self.postgres.sql(f"INSERT INTO thole.doomed (place, object, hash, since) VALUES (1, '{name}', decode('{HASH}', 'hex'),"
                          " now() - interval '9 days')")
        left = self.files()[0].with_name(".thole-0123456789abcdef.tmp")
        left.write_bytes(b"cut")
        other = self.files()[0].with_name("another")
        other.write_bytes(b"not ours")
        self.age(DAY + 60)
        self.assertEqual(self.clean(), (2, 1, 1, 0))
        self.doomed_for(DAY + 60)
        self.assertEqual(self.clean(), (2, 0, 0, 1))
        self.assertTrue(other.exists() and not left.exists())
        self.reads("one")

    def test_again_while_doomed(self):
        """The same bytes are written while an old object of them is on its way out: that goes, and the new one stays."""
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        old = self.files()[0]
        self.good("delete", "one")
        self.good("store", "clean")
        self.doomed_for(DAY + 60)
        self.run_big("two")
        self.assertEqual(len(self.files()), 2)
        self.assertEqual(self.clean()[3], 1)
        self.assertFalse(old.exists())
        self.reads("two")
        self.whole()

    def test_one_place_fails(self):
        """It keeps nobody from cleaning the others, and its row says why."""
        self.begin(f"folder:{self.folder}/first")
        shutil.rmtree(self.folder / "first")
        self.good("store", "blobs", f"folder:{self.place}")
        self.run_big("one")
        self.good("delete", "one")
        self.doomed_for(DAY + 60)
        ended = self.thole("store", "clean")
        self.assertEqual((ended.code, self.files()), (1, []))
        self.assertIn("is the file system mounted?", ended.err)
        self.assertIn("is the file system mounted?", self.places()[1]["failure"])
        self.assertNotIn("failure", self.places()[2])

    def test_as_many_as_there_may_be(self):
        self.begin(f"folder:{self.place}")
        self.postgres.sql("INSERT INTO thole.places (number, url, id, system, over, current)"
                          " SELECT 1 + i, url, md5(i::text), system, over, false FROM thole.places, generate_series(1, 62) AS i")
        other = self.folder / "other"
        other.mkdir()
        self.good("store", "blobs", f"folder:{other}")
        self.assertEqual(len(self.places()), 65)  # the database is one of these
        ended = self.thole("store", "blobs", f"folder:{self.place}")
        self.assertEqual(ended.code, 1)
        self.assertIn("a store has at most 64 places for blobs", ended.err)
        # Large blobs go to the last one all the same.
        self.run_big("one")
        self.assertEqual(self.rows()[-1][2], "f")
        self.reads("one")

    def test_copy_of_database(self):
        """Of a database that was dumped and restored the place is another's: read, and neither written nor cleaned."""
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        self.postgres.sql("UPDATE thole.places SET system = 'another/5'")
        self.age(9 * DAY)
        self.good("delete", "one")
        self.assertEqual(self.clean(), (0, 0, 0, 0))
        self.run_big("two")
        self.assertEqual((len(self.files()), self.rows()), (1, [("0", "", "t")]))
        self.assertEqual([p["ours"] for p in self.places()], [True, False])

    def test_swept_while_named(self):
        """Who is about to name a blob has its row locked: who sweeps waits, and then sees the name."""
        self.begin(f"folder:{self.place}")
        self.run_big("one")
        psql = self.lock("KEY SHARE")
        sweeper = self.start("delete", "one")
        self.wait_for(lambda: self.waits(sweeper))
        psql.stdin.write("INSERT INTO thole.blob_names (hash, session_number) SELECT hash, 77 FROM thole.blobs; COMMIT;\n")
        psql.stdin.close()
        psql.wait()
        self.assertEqual((sweeper.communicate()[1], sweeper.returncode), (b"", 0))
        self.assertEqual((len(self.rows()), len(self.files())), (1, 1))


class InS3(Blobs):
    def setUp(self):
        super().setUp()
        self.s3 = S3()
        self.addCleanup(self.s3.close)
        self.env.update(self.s3.env())

    def asked(self, method):
        return [a for a in self.s3.asked if a[0] == method]

    def test_kept_read_swept(self):
        self.begin(self.s3.url())
        self.run_big("one")
        self.assertEqual([o.body for o in self.s3.objects.values()], [BIG_BYTES])
        key = next(iter(self.s3.objects))
        self.assertEqual(self.rows(), [("1", key.split("/", 2)[2], "f")])
        self.reads("one")
        self.whole()
        self.good("fork", "one@4", "branch")
        self.good("delete", "branch")
        self.good("delete", "one")
        self.assertEqual(self.clean(), (1, 0, 0, 0))
        self.doomed_for(DAY + 60)
        self.assertEqual(self.clean(), (1, 0, 0, 1))
        self.assertEqual(self.s3.objects, {})
        self.assertEqual([a for a in self.s3.asked if len(a) > 2], [])  # nothing was refused

    def test_tried_again(self):
        """An overloaded store, and a put whose outcome is not known: put again."""
        self.begin(self.s3.url())
        ends = [503, 0, 500]
        self.s3.fail = lambda method, key: ends.pop(0) if method == "PUT" and ends else None
        self.run_big("one")
        self.assertEqual((ends, [r[2] for r in self.rows()], len(self.s3.objects)), ([], ["f"], 1))
        ends += [503, 0]
        self.s3.fail = lambda method, key: ends.pop(0) if method == "GET" and ends else None
        self.reads("one")
        self.assertEqual(ends, [])

    def test_away(self):
        """One that refuses or is away stops no session: its blobs are in the database, and why is told."""
        self.begin(self.s3.url())
        self.env["AWS_SECRET_ACCESS_KEY"] = SECRET + "x"
        self.run_big("one")
        self.assertEqual((self.rows(), self.s3.objects), ([("0", "", "t")], {}))
        self.assertIn("HTTP status 403, SignatureDoesNotMatch", self.places()[1]["failure"])
        self.env["AWS_SECRET_ACCESS_KEY"] = SECRET
        self.reads("one")
        self.run_big("two")
        self.s3.fail = lambda method, key: 500
        self.assertIn("HTTP status 500, InternalError", self.thole("store", "blobs", self.s3.url()).err)
        self.s3.fail = None
        del self.env["AWS_ACCESS_KEY_ID"]
        self.assertIn("there is no key of the object store", self.thole("store", "blobs", self.s3.url()).err)

    def test_one_that_is_slow(self):
        """Whoever wants a blob of it waits, and nobody else at the server."""
        self.begin(self.s3.url())
        self.serve([shell(BIG)], say("Done."))
        self.serve_http()
        self.good_call("POST", "/api/sessions", {"id": "one", "message": "Count."}, 201)
        self.wait_for(lambda: self.good_call("GET", "/api/sessions/one")["state"] == "finished")
        asked, go_on, got = threading.Event(), threading.Event(), []

        def hold(method, key):
            asked.set()
            go_on.wait(house.SECONDS)

        self.s3.fail = hold
        reader = threading.Thread(target=lambda: got.append(self.call("GET", f"/api/sessions/one/blobs/{HASH}")))
        reader.start()
        self.assertTrue(asked.wait(house.SECONDS))
        self.assertEqual([s["session_id"] for s in self.good_call("GET", "/api/sessions")["sessions"]], ["one"])
        self.assertEqual(got, [])
        go_on.set()
        reader.join()
        self.assertEqual((got[0].status, got[0].body), (200, BIG_BYTES))

    def test_a_list_at_the_edge(self):
        """Of an answer of 2 MiB all is read, and not a byte more."""
        self.begin(self.s3.url())
        self.run_big("one")
        self.good("delete", "one")
        self.s3.list_size = 2 * 1024 * 1024
        self.assertEqual(self.clean(), (1, 0, 0, 0))
        self.s3.list_size += 1
        ended = self.thole("store", "clean")
        self.assertEqual(ended.code, 1)
        self.assertIn("the answer is larger than 2097152 bytes", ended.err)

    def test_keys_in_a_file(self):
        keys = self.folder / "keys"
        keys.write_text(f"{KEY} {SECRET}\n")
        for name in self.s3.env():
            del self.env[name]
        self.env["THOLE_S3_KEYS"] = str(keys)
        self.good("store", "migrate")
        keys.chmod(0o644)
        self.assertIn("others may read it", self.thole("store", "blobs", self.s3.url()).err)
        keys.chmod(0o600)
        self.good("store", "blobs", self.s3.url())
        self.run_big("one")
        self.assertEqual(len(self.s3.objects), 1)
        keys.write_text(f"{KEY} {SECRET} token more\n")
        self.assertIn("has more than a key's name", self.thole("store", "blobs", self.s3.url()).err)
        keys.write_text(f"{KEY}\n{SECRET}\n")
        self.reads("one")

    def test_a_token_of_a_session(self):
        self.s3.token = "a/token+of=a-session"
        self.env.update(self.s3.env())
        self.begin(self.s3.url())
        self.run_big("one")
        self.assertEqual(len(self.s3.objects), 1)

    def test_urls(self):
        self.good("store", "migrate")
        for url in ("s3:x", "s3:https://host", "s3:https://host/", "s3:https://u:secret@host/b", "s3:https://host/b/../c", "s3:https://host/b?region=",
                    "s3:https://host/b?key=secret", "s3:https://host/b//c", "s3:https://host/b%2f"):
            ended = self.bad(2, "the key does not belong in it", "store", "blobs", url)
            self.assertNotIn("secret", ended.err)

    def test_killed_between_blob_and_event(self):
        """What was put when its writer dies is named by nobody, and is swept; the session goes on."""
        self.begin(self.s3.url())
        self.serve([shell(BIG)], say("Done."))
        running = threading.Event()

        def die(method, key):
            if method == "PUT" and not running.is_set():
                running.set()
                process.send_signal(signal.SIGKILL)
                process.wait()
                return 0
            return None

        self.s3.fail = die
        process = self.start("run", "-s", "one", "Count.")
        process.communicate()
        self.assertTrue(running.is_set())
        self.assertEqual((len(self.s3.objects), self.rows()), (1, []))
        self.assertNotIn("outcome", self.kinds("one"))
        self.postgres.sql("UPDATE thole.owners SET expires = '-infinity' WHERE host <> ''")  # its lease is over
        self.good("resume", "one")
        self.assertEqual(self.kinds("one").count("outcome"), 1)
        self.reads("one")
        self.assertEqual(len(self.s3.objects), 2)
        self.assertEqual(self.clean(), (2, 0, 0, 0))  # it is not a day old
        self.s3.age(DAY + 60)
        self.assertEqual(self.clean(), (2, 1, 0, 0))
        self.assertEqual(self.clean(), (2, 0, 0, 0))  # nor doomed for a day
        self.doomed_for(DAY + 60)
        self.assertEqual(self.clean(), (2, 0, 0, 1))
        self.reads("one")
        self.whole()

    def test_many_pages(self):
        """More pages of the list than one, and more objects than go in one piece (TH_PLACE_REMOVES_MAX)."""
        self.s3.page = 50
        self.begin(self.s3.url(prefix="a/b"), "--over", "0")
        self.run_big("one")
        key = next(iter(self.s3.objects))
        for i in range(201):
            digest = hashlib.sha256(b"%d" % i).hexdigest()
            self.s3.objects[f"{key.rsplit('/', 2)[0]}/{digest[:2]}/{digest}-{i:016x}"] = self.s3.objects[key]
        self.s3.objects["a/b/another"] = self.s3.objects[key]
        self.s3.age(DAY + 60)
        self.assertEqual(self.clean(), (202, 201, 0, 0))
        self.doomed_for(DAY + 60)
        self.assertEqual(self.clean(), (202, 0, 0, 201))
        self.assertEqual(len(self.s3.objects), 2)
        self.reads("one")

    def test_certificate(self):
        """Checked: by whom it is and for which name."""
        made = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj",
                        "/CN=s3", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made[1], "-out", made[0]], check=True, capture_output=True)
        s3 = S3(certificate=made)
        self.addCleanup(s3.close)
        self.env.update(s3.env())
        self.good("store", "migrate")
        self.assertIn("certificate", self.thole("store", "blobs", s3.url()).err)
        self.env["SSL_CERT_FILE"] = str(made[0])
        self.good("store", "blobs", s3.url())
        self.run_big("one")
        self.assertEqual(len(s3.objects), 1)
        self.reads("one")


if __name__ == "__main__":
    if not shutil.which("openssl"):
        sys.exit("openssl is missing")
    server.run(house.main)
