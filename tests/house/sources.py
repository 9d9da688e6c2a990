# SPDX-License-Identifier: Apache-2.0
"""Small rules for every file: calls the house does not use, cleanups of unset variables, a licence line, no path or
mirror of one machine.

usage: sources.py SOURCE_ROOT
"""

import os
import re
import sys

import tree

BANNED = re.compile(
    r"(?<![.>\w])(strcpy|strcat|sprintf|vsprintf|strtok|strtok_r|atoi|atol|atoll|gets|system|popen|alloca)\s*\("
)
# Clang 14 sets no variable to zero: an early return would hand what stood on the stack to the cleanup.
UNSET = re.compile(r"^[ \t]+(?![ \t]*#)[^=;{}()]*TH_CLEANUP\(\w+\)[^=;{}()]*;", re.M)
LICENSED = (".c", ".h", ".py", ".sh", ".js", ".mjs", ".css", ".lua", "/meson.build", "/meson_options.txt", "/dev", "/run")
MACHINE = re.compile(
    r"(?<![\w.*$}])/(?:work|root)/[\w.]|\b(?:deb|archive|ftp|security)\.(?:debian|ubuntu)\.\w+|\bpypi\.org|\bregistry\.npmjs\b"
)
# One of these is in whatever MACHINE finds: a file is looked through only then.
HINTS = ("/work/", "/root/", ".debian.", ".ubuntu.", "pypi.org", "registry.npmjs")
TEXT = LICENSED + (".md", ".txt", ".yaml", ".yml", ".json", ".in", ".1", ".html", ".toml", "/.clang-format")


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check(root):
    findings = []
    for path in tree.files(root):
        name = "/" + path.replace(os.sep, "/")
        if not name.endswith(TEXT):
            continue
        text = tree.read(root, path)
        if name.endswith(LICENSED) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            findings.append(f"{path}:1: no SPDX-License-Identifier: Apache-2.0 in the first lines")
        if name.startswith("/src/") and name.endswith((".c", ".h")):
            stripped = tree.code(text)
            findings += [
                f"{path}:{line_of(stripped, m)}: {m.group(1)} is not used in this house" for m in BANNED.finditer(stripped)
            ]
            if "TH_CLEANUP" in stripped:
                findings += [
                    f"{path}:{line_of(stripped, m)}: a variable with TH_CLEANUP needs a value from the start"
                    for m in UNSET.finditer(stripped)
                ]
        if not name.startswith("/tests/house/") and any(hint in text for hint in HINTS):
            findings += [
                f"{path}:{line_of(text, m)}: '{m.group()}' belongs to one machine" for m in MACHINE.finditer(text)
            ]
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
