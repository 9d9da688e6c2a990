# SPDX-License-Identifier: Apache-2.0
"""What a screenshot costs in the database, in a folder and in an object store (the tests' own, on this machine), in turns on one server with
fsync on: an append that names it, and reading it.  One JSON line each.

    blobs.py FOLDER-OF-THE-BENCHMARKS THOLE [ROUNDS]
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "postgres"))

import s3
import server


def main():
    folder, thole, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 50
    try:
        database = server.Server()
    except server.Missing as e:
        print(f"not run: {e}")
        return server.SKIP
    store = s3.S3()
    with database:
        env = dict(os.environ, THOLE_STORE=database.url(), **store.env())
        subprocess.run([thole, "store", "migrate"], check=True, env=env)
        for _ in range(2):
            for place in ("database", f"folder:{database.folder}-blobs", store.url()):
                for count in (1, 8):
                    subprocess.run([thole, "store", "blobs", place], check=True, env=env, stdout=subprocess.DEVNULL)
                    out = subprocess.run([os.path.join(folder, "blobs"), f"store={database.url()}", f"count={count}", f"rounds={rounds}"],
                                         check=True, env=env, stdout=subprocess.PIPE, text=True).stdout
                    print(place.split(":")[0], out.strip(), flush=True)
    subprocess.run(["rm", "-r", f"{database.folder}-blobs"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
