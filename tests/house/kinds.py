# SPDX-License-Identifier: Apache-2.0
"""What a kind of computer is like stands in its row: no code outside its own room and src/computers compares its name.

usage: kinds.py SOURCE_ROOT
"""

import os
import re
import sys

import tree

HEADER = "src/computers/computers.h"
KINDS = re.compile(r"#define TH_COMPUTERS\(X\)((?:[^\n]*\\\n)*[^\n]*)")
ROW = re.compile(r"\bX\((\w+),")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A kind that is chosen (`.computer = TH_STR("desktop")`) is compared with nothing; a role of a process and a tool are no kinds.
CHOSEN = re.compile(r"\.(?:kind|computer)\s*=\s*TH_STR(?:_INIT)?\($|#define TH_(?:ROLE|TOOL)_\w+\s+$")


def kinds(root):
    found = KINDS.search(tree.read(root, HEADER))
    return ROW.findall(found.group(1)) if found else []


def rooms(root):
    """The folders that may: the list's, and those with a kind."""
    homes = [os.path.dirname(path) for path in tree.files(root, "src")
             if os.path.basename(path) == "kind.h" and "th_computer_" in tree.read(root, path)]
    return tuple(os.path.join(home, "") for home in [os.path.dirname(HEADER)] + homes)


def check(root):
    names = kinds(root)
    if not names:
        return [f"{HEADER}: TH_COMPUTERS has no rows"]
    word = re.compile(r'"(%s)"|\bth_computer_(%s)\b' % (("|".join(names),) * 2))
    findings = []
    homes = rooms(root)
    for path in tree.files(root, "src"):
        if not path.endswith((".c", ".h")) or path.startswith(homes):
            continue
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), tree.read(root, path))
        for match in word.finditer(text):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if not CHOSEN.search(line):
                number = text.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{number}: names the kind {match.group()}: ask its row (struct th_computer_kind)")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
