# SPDX-License-Identifier: Apache-2.0
"""Every public function is given what it cannot use by a test of tests/unit/api: NULL in the place of its object, and
where it takes a text and can fail, one that is too long.

usage: api_tests.py HEADER TEST...
"""

import re
import sys

import tree

# A state is one of a few words, and nothing longer is looked at.
NO_LENGTH = {"thole_runtime_list"}


def check(header, tests):
    declared = re.findall(r"^TH_API\b[^;]*?\b(\w+)\s*\(([^;]*)\);", tree.code(tree.read(".", header)), re.MULTILINE)
    called = "\n".join(tree.code(tree.read(".", test)) for test in tests)
    faults = []
    for name, arguments in declared:
        first, fails = arguments.split(",")[0], "struct thole_error" in arguments
        if not re.search(rf"\b{name}\(", called):
            faults.append(f"no test of the API calls {name}")
            continue
        if re.search(r"\bstruct thole_\w+ \*\w+$", first.strip()) and not re.search(rf"\b{name}\(\s*NULL\b", called):
            faults.append(f"no test of the API gives {name} NULL for its object")
        if fails and "const char *" in arguments and name not in NO_LENGTH:
            if not re.search(rf"BAD\(\s*THOLE_ELIMIT,\s*{name}\(", called):
                faults.append(f"no test of the API gives {name} a text that is too long")
    return [f"{header}: {fault}" for fault in faults]


if __name__ == "__main__":
    tree.report(check(sys.argv[1], sys.argv[2:]))
