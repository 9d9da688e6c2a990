# SPDX-License-Identifier: Apache-2.0
"""Every public function is given what it cannot use by a test of tests/unit/api.

usage: api_tests.py HEADER TEST...
"""

import re
import sys

import tree


def check(header, tests):
    declared = re.findall(r"^TH_API\b[^;]*?\b(\w+)\s*\(", tree.code(tree.read(".", header)), re.MULTILINE)
    called = "\n".join(tree.code(tree.read(".", test)) for test in tests)
    return [f"{header}: no test of the API calls {name}" for name in declared if not re.search(rf"\b{name}\(", called)]


if __name__ == "__main__":
    tree.report(check(sys.argv[1], sys.argv[2:]))
