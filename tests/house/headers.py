# SPDX-License-Identifier: Apache-2.0
"""The public headers stand alone, as C11 and as C++, with no macro but their guard and TH_API.

usage: headers.py INCLUDE_ROOT COMPILER...
"""

import os
import re
import subprocess
import sys

import tree

MODES = [["-x", "c", "-std=c11"], ["-x", "c++", "-std=c++11"]]


def check(root, compiler):
    findings = []
    for path in tree.files(root):
        if not path.endswith(".h"):
            continue
        guard = re.sub(r"\W", "_", path).upper()
        for macro in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", tree.code(tree.read(root, path)), re.MULTILINE):
            if macro not in (guard, "TH_API"):
                findings.append(f"{path}: defines {macro}")
        for mode in MODES:
            run = subprocess.run(
                [*compiler, *mode, "-I", root, "-Wall", "-Wextra", "-pedantic-errors", "-Werror", "-fsyntax-only", "-"],
                input=f"#include <{path}>\n#include <{path}>\nint stranger;\n",
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode != 0:
                findings.append(f"{path}: {' '.join(mode)}: {run.stderr.strip()}")
    return findings


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    tree.report(check(sys.argv[1], sys.argv[2:]))
