# SPDX-License-Identifier: Apache-2.0
"""Packs a text file into C, as a string that a header declares.

usage: pack_text.py OUT.c HEADER NAME FILE
"""

import sys


def main(out, header, name, path):
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */", "/* made by src/tools/pack_text.py */", f'#include "{header}"', ""]
    lines.append(f"const char {name}[] =")
    with open(path, encoding="ascii") as file:
        texts = ['\t"' + line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in file]
    with open(out, "w", encoding="ascii") as file:
        file.write("\n".join(lines + texts) + ";\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
