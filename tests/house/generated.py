# SPDX-License-Identifier: Apache-2.0
"""The reference pages in docs/ are what the program writes from its tables.

usage: generated.py THOLE SOURCE_ROOT [--update]
"""

import pathlib
import subprocess
import sys

PAGES = {"EVENTS.md": "events", "AGENT-FILES.md": "agents", "HTTP.md": "http"}


def main(thole, root, *more):
    stale = 0
    for name, page in PAGES.items():
        path = pathlib.Path(root, "docs", name)
        wanted = subprocess.run([thole, "plumb", "docs", page], check=True, stdout=subprocess.PIPE).stdout
        if "--update" in more:
            path.write_bytes(wanted)
        elif not path.exists() or path.read_bytes() != wanted:
            stale += 1
            print(f"docs/{name} is not current; write it anew: thole plumb docs {page} > docs/{name}")
    return stale


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
