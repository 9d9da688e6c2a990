# SPDX-License-Identifier: Apache-2.0
"""The server never waits for its store: it and its services call no function of thole.h that reads or writes it at once.

usage: waits.py SOURCE_ROOT
"""

import re
import sys

import tree

RANKS = "src/ranks"
CLIENT = "client"  # the server and its services; the program may wait
WAITS = (
    "thole_runtime_list thole_runtime_page thole_runtime_session thole_runtime_log thole_runtime_export thole_runtime_import "
    "thole_runtime_describe thole_runtime_delete thole_runtime_usage thole_runtime_waiting thole_runtime_approve "
    "thole_runtime_answer thole_runtime_reject thole_runtime_settle thole_runtime_blob thole_runtime_run thole_session_open "
    "thole_session_fork thole_session_items thole_session_items_pop thole_session_wait thole_session_run"
).split()
CALL = re.compile(r"\b(%s)\b(?!_)" % "|".join(WAITS))
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NEW = re.compile(r"thole_session_new\(|thole_session_new_with\(")
FRESH = re.compile(r'"fresh",\s*"yes"')


def folders(root):
    found = []
    for line in tree.read(root, RANKS).splitlines():
        words = line.split()
        if len(words) > 2 and words[0].isdigit() and CLIENT in words[2:]:
            found.append(words[1])
    return found


def check(root):
    findings = []
    for path in tree.files(root, "src"):
        if not path.endswith((".c", ".h")) or path.split("/")[1] not in folders(root):
            continue
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), tree.read(root, path))
        for match in CALL.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{number}: {match.group()} waits for the store: see server/needs.h")
        if NEW.search(text) and not FRESH.search(text):
            number = text.count("\n", 0, NEW.search(text).start()) + 1
            findings.append(f"{path}:{number}: a session that is begun looks for its name in the store: say that it is fresh")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
