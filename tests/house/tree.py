# SPDX-License-Identifier: Apache-2.0
"""What the house checks share: the files of the tree, C without comments and literals, and how findings are reported."""

import os
import re
import sys

SKIP = {".git", "__pycache__", "node_modules"}

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)


def files(root, *tops):
    """Paths from the root, in order, of all files under these folders; build folders are left out."""
    for top in tops or (".",):
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs[:] = sorted(d for d in dirs if d not in SKIP and not d.startswith("build"))
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def code(text):
    """C with comments and the insides of literals blanked; lines keep their numbers, includes their names."""

    def blank(match):
        piece = match.group()
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if piece[0] == '"' and re.match(r"\s*#\s*include\s*$", line):
            return piece
        return piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1] if piece[0] in "\"'" else re.sub(r"[^\n]", " ", piece)

    return TOKEN.sub(blank, text)


def report(findings):
    """Prints the findings and ends the program: 1 when there are any."""
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)
