# SPDX-License-Identifier: Apache-2.0
"""Functions that a layer exports and no other file uses: they go, or become static.

usage: unused.py ROOT

A function that only tests call must have a row in FOR_TESTS with its reason, unless its own file calls it too (then
the test looks at a part of a larger thing).
"""

import re
import sys

import tree

FOR_TESTS = {
    "th_cpu_limit": "the slower code for older processors is tested on newer ones",
    "th_desktop_level": "the tests ask for the confinement that a desktop really got",
    "th_display_host": "a display in the test's own process",
    "th_driver_count": "bounds: sessions in memory",
    "th_http_waiting": "bounds: bytes that a stream holds",
    "th_keys_at": "the tests go through the table of keys",
    "th_mcp_log": "the fixtures of the conformance suite log; thole's own tools have nothing to say that way",
    "th_memory_crash": "the store of the tests and the simulator loses what was not flushed",
    "th_memory_fail": "the store of the tests and the simulator fails",
    "th_memory_pending": "the store of the tests and the simulator waits",
    "th_model_action_encode": "the inverse of the decoder: what is decoded is encoded and compared",
    "th_runtime_recover": "bench/recover; thole_runtime_recover takes up sessions one by one, as its caller wants them",
    "th_sim_variant_doc": "the test prints which broken variant was not caught",
    "th_terminal_exact": "the shorter way of plain lines is held against the longer one",
    "th_try_alloc_fail_at": "the n-th allocation fails",
}

# Whole files that what comes next will use.
SOON = {
    "src/io/pty.c": "shell sessions",
    "src/io/child.c": "as pty.c, which hands its child on",
}

NAME = re.compile(r"\bth_\w+")
DEFINITION = re.compile(r"^(?!static\b|extern\b|struct th_\w+ \{|#|typedef\b)[a-z][\w\s\*]*?\b(th_\w+)\(", re.MULTILINE)


def definitions(text):
    """Functions that the C text defines for others."""
    for match in DEFINITION.finditer(text):
        end = re.compile(r"[;{]").search(text, match.end())
        if end and end[0] == "{":
            yield match[1]


def check(root, for_tests=FOR_TESTS):
    where, own, defined = {}, {}, {}
    for path in tree.files(root, "src", "tests", "bench"):
        if not path.endswith((".c", ".h")):
            continue
        text = tree.code(tree.read(root, path))
        for name in NAME.findall(text):
            if not path.endswith(".h") or not path.startswith("src/"):
                where.setdefault(name, set()).add(path)
            elif text.count(name) > 1 or re.search(r"#define[^\n]*(\\\n[^\n]*)*\b" + name + r"\b", text):
                where.setdefault(name, set()).add(path)  # an inline function or a macro of the header
        if path.startswith("src/") and path.endswith(".c"):
            for name in definitions(text):
                defined[name] = path
                own[name] = len(re.findall(rf"\b{name}\b", text)) > 1
    findings = []
    for name, path in sorted(defined.items(), key=lambda pair: (pair[1], pair[0])):
        others = where[name] - {path}
        in_src = {other for other in others if other.startswith("src/")}
        if not others:
            findings.append(f"{path}: {name}: no other file uses it: " + ("make it static" if own[name] else "take it out"))
        elif not in_src and not own[name] and name not in for_tests and path not in SOON:
            findings.append(f"{path}: {name}: only tests use it: take it out, or say why in tests/house/unused.py")
        elif in_src and name in for_tests:
            findings.append(f"{path}: {name}: it is used: take it off the list in tests/house/unused.py")
    for name in sorted(for_tests.keys() - defined.keys()):
        findings.append(f"tests/house/unused.py: {name}: there is no such function any more: take it off the list")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
