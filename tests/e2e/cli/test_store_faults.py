# SPDX-License-Identifier: Apache-2.0
"""A full disk, a store that may only be read, a changed row, a cut log: one clear sentence each, and what was acknowledged is
there."""

import os
import pathlib
import resource
import sqlite3
import subprocess

import house


class StoreFaults(house.House):
    def one_run(self):
        self.serve([{"text": "Hello, person."}])
        self.good("run", "-m", "gpt-5.4", "-s", "one", "hello")
        self.good("log", "--verify", "one")
        return self.kinds("one")

    def sentence(self, ended, words):
        lines = [line for line in ended.err.splitlines() if line.startswith("thole:")]
        self.assertEqual(len(lines), 1, ended)
        self.assertIn(words, lines[0])

    def test_full_disk(self):
        kinds = self.one_run()
        size = max(p.stat().st_size for p in self.store().parent.iterdir() if p.is_file())
        self.standin.end()
        self.serve([{"text": "x" * 200000}])
        # The limit of a file's size is told as a full disk is; the signal of it is not to end the process.
        process = self.start("run", "-m", "gpt-5.4", "-s", "two", "hello", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 65536, size + 65536)))
        out, err = process.communicate(timeout=60)
        ended = house.Ended(process.returncode, out if isinstance(out, str) else out.decode(),
                            err if isinstance(err, str) else err.decode())
        self.assertEqual(ended.code, 1, ended)
        self.sentence(ended, "the disk is full")
        self.assertEqual(self.kinds("one"), kinds)
        self.good("log", "--verify")

    def read_only(self, place, *words):
        """How the program ends where this file or folder may only be read; to root modes say nothing, and a file system does."""
        if os.geteuid() == 0:
            mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
            folder = place if place.is_dir() else place.parent
            words = ["unshare", "--mount", "sh", "-c", mount, "sh", str(folder), *words]
        else:
            os.chmod(place, 0o500 if place.is_dir() else 0o400)
        done = subprocess.run(words, env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        ended = house.Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
        if "unshare: " in ended.err or "mount: " in ended.err:
            self.skipTest("root may write everything, and may not mount: " + ended.err)
        self.assertEqual(ended.code, 1, ended)
        return ended

    def test_read_only(self):
        kinds = self.one_run()
        words = [house.THOLE, "run", "-m", "gpt-5.4", "-s", "two", "hello"]
        self.sentence(self.read_only(self.store(), *words), "read")
        self.assertEqual(self.kinds("one"), kinds)
        self.good("log", "--verify")

    def test_read_only_folder(self):
        """Where no log can be made, the reason is not that its folder is not there."""
        shut = self.folder / "shut"
        shut.mkdir()
        words = [house.THOLE, "run", "-m", "gpt-5.4", "hello"]
        why = "(Read-only file system|Permission denied)"
        self.assertRegex(self.read_only(shut, *words, "--store", "sqlite:%s/new.db" % shut).err, "new.db: no file can be made in its folder: " + why)
        self.assertRegex(self.read_only(shut, "env", "XDG_STATE_HOME=%s" % shut, *words).err, "make the folder %s/thole: %s" % (shut, why))
        self.assertEqual(list(shut.iterdir()), [])

    def test_changed_row(self):
        self.one_run()
        store = self.store()
        whole = store.read_bytes()
        with sqlite3.connect(self.store()) as db:
            db.execute("update events set data = replace(data, 'person', 'nobody') where kind = 'final'")
        db.close()
        ended = self.thole("log", "--verify", "one")
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("events", ended.out + ended.err)
        self.assertIn("session one event 5", ended.out + ended.err)
        with sqlite3.connect(self.store()) as db:
            db.execute("update sessions set head_seq = 3")
        db.close()
        ended = self.thole("resume", "one")
        self.assertEqual(ended.code, 1, ended)
        self.sentence(ended, "is damaged: session one")
        for beside in store.parent.glob(store.name + "-*"):
            beside.unlink()
        store.write_bytes(whole)

    def test_cut_log(self):
        self.one_run()
        store = self.store()
        note = pathlib.Path(str(store) + ".owners", "last")
        note.write_text("%020d\n" % (int(note.read_text()) + 2))  # as if later events had been acknowledged, and were cut
        self.assertEqual(self.thole("log", "--verify").code, 1)
        ended = self.thole("run", "-s", "one", "go on")
        self.assertEqual(ended.code, 1, ended)
        self.sentence(ended, "was acknowledged: its -wal file was cut")
        note.unlink()
        self.good("log", "--verify", "one")


if __name__ == "__main__":
    house.main()
