# SPDX-License-Identifier: Apache-2.0
"""The maps in the docs show the folders of src/ at the ranks of src/ranks.

usage: maps.py SOURCE_ROOT
"""

import os
import re
import sys

import includes
import tree

MAPS = [os.path.join("docs", "ARCHITECTURE.md"), "CONTRIBUTING.md"]
ROW = re.compile(r"^rank (\d+)((?:\s+\w+/)+)")
MORE = re.compile(r"^\s{5,}((?:\w+/\s+)+)\S")


def check(root):
    rank, _, _, _ = includes.ranks()
    findings = []
    for path in MAPS:
        shown, now = {}, None
        for line in tree.read(root, path).splitlines():
            match = ROW.match(line)
            if match:
                now, names = int(match.group(1)), match.group(2)
            elif now is not None and MORE.match(line):
                names = MORE.match(line).group(1)
            else:
                now, names = None, ""
            shown.update((name.strip("/"), now) for name in names.split())
        findings += [f"{path}: {name}/ stands at rank {shown[name]}, in src/ranks at {rank.get(name, 'none')}"
                     for name in shown if rank.get(name) != shown[name]]
        findings += [f"{path}: the map does not show {name}/ (rank {rank[name]})" for name in rank if name not in shown]
    for name in sorted(os.listdir(os.path.join(root, "src"))):
        if os.path.isdir(os.path.join(root, "src", name)) and name not in rank:
            findings.append(f"src/{name}: no row of src/ranks")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
