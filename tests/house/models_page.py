# SPDX-License-Identifier: Apache-2.0
"""models_page.py THOLE SOURCE: every command of docs/MODELS.md names a model that thole knows, and its row says how it is spoken to."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def ask(thole, *args):
    env = {k: v for k, v in os.environ.items() if not k.endswith(("_API_BASE", "_BASE_URL", "_API_KEY"))}
    done = subprocess.run([thole, *args], capture_output=True, text=True, env=env, timeout=60)
    if done.returncode:
        sys.exit("thole %s: exit %d: %s" % (" ".join(args), done.returncode, done.stderr))
    return done.stdout


def main():
    thole, source = sys.argv[1:3]
    page = (pathlib.Path(source) / "docs" / "MODELS.md").read_text()
    options = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", ask(thole, "run", "--help")))
    rows = [line.split(" | ") for line in page.splitlines() if "`thole run -m" in line and line.startswith("| ")]
    wrong = []
    for row in rows:
        words = shlex.split(row[1].strip("`"))
        name = words[words.index("-m") + 1]
        wire, dialect = row[4].strip(" |").split(", ")
        route = json.loads(ask(thole, "plumb", "route", name))
        said = ask(thole, "models", name)
        if (route["wire"], route["dialect"]) != (wire, dialect):
            wrong.append("%s is %s, %s; the page says %s, %s" % (name, route["wire"], route["dialect"], wire, dialect))
        if ("+" in name) != ("grounder" in route or "marks" in route):
            wrong.append("%s: one model or two?" % name)
        if "profile " not in said:
            wrong.append("thole models %s: %s" % (name, said))
        wrong += ["%s: thole run has no option %s" % (name, w) for w in words if w.startswith("-") and w not in options]
    print("\n".join(wrong) or "%d commands" % len(rows))
    if wrong or len(rows) != page.count("thole run -m"):
        sys.exit(1)


if __name__ == "__main__":
    main()
