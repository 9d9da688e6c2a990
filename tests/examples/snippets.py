# SPDX-License-Identifier: Apache-2.0
"""Each piece of C in docs/EMBEDDING.md stands, line for line, in the example that is named before it.

usage: snippets.py PAGE EXAMPLES
"""

import os
import re
import sys
import textwrap


def lines_of(text):
    return [line.expandtabs(8).rstrip() for line in textwrap.dedent(text.expandtabs(8)).strip("\n").split("\n")]


def stands_in(piece, source):
    """A piece may be indented otherwise, and leave lines out where it says "…"."""
    for part in re.split(r"^\s*/\* … \*/\s*$", piece, flags=re.MULTILINE):
        wanted = lines_of(part)
        have = source.expandtabs(8).split("\n")
        if not any(lines_of("\n".join(have[i:i + len(wanted)])) == wanted for i in range(len(have))):
            return part
    return None


def main(page, examples):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    named = re.findall(r"^<!-- (\w+\.c) -->\n```c\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(named) == text.count("```c\n"), "a piece of C has no <!-- FILE --> before it"
    assert named, "there is no piece of C"
    for name, piece in named:
        with open(os.path.join(examples, name), encoding="utf-8") as file:
            missing = stands_in(piece, file.read())
        assert missing is None, f"not in {name}:\n{missing}"
    for name in os.listdir(examples):
        assert not name.endswith(".c") or name in text, f"{name} is not named in the page"
    print(f"{len(named)} pieces")


if __name__ == "__main__":
    main(*sys.argv[1:])
