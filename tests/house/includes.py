# SPDX-License-Identifier: Apache-2.0
"""The include graph: arrows point to a lower rank or stay in their folder; pure folders see only harmless headers.

usage: includes.py SOURCE_ROOT
"""

import os
import re
import sys

import tree

RANKS_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "ranks")


def ranks():
    """src/ranks as four: the rank of each folder, the pure ones, those that may include <thole/...>, those that know no other
    layer than each other and a few harmless ones."""
    rank, pure, public, client = {}, set(), set(), set()
    with open(RANKS_FILE, encoding="utf-8") as file:
        for words in map(str.split, file):
            if not words or words[0] == "#":
                continue
            rank[words[1]] = int(words[0])
            if "pure" in words:
                pure.add(words[1])
            if "public" in words:
                public.add(words[1])
            if "client" in words:
                client.add(words[1])
    return rank, pure, public, client


# <stdio.h> and <stdlib.h> are here for vsnprintf and calloc; symbols.py sees what else of them is used.
PURE_HEADERS = {
    "assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdarg.h", "stdatomic.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "strings.h",
}  # fmt: skip
PURE_BASE_HEADERS = {"cpuid.h", "emmintrin.h", "immintrin.h", "arm_neon.h", "endian.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
LIBRARIES = {  # each is seen by one file
    "pcre2.h": "tools/search.c",
    "vterm.h": "tools/terminal.c",
    "yyjson.h": "base/json.c",
    "llhttp.h": "wire/http1.c",
    "wslay/wslay.h": "wire/ws.c",
}
LUA_HEADERS = {"lua.h", "lauxlib.h", "lualib.h"}
YYJSON_IO = re.compile(r"\byyjson_\w+_(?:file|fp)\b")


def check(root):
    findings = []
    layers = ranks()
    for path in tree.files(root, "src"):
        if not path.endswith((".c", ".h")):
            continue
        layer = path.split(os.sep)[1]
        if layer not in layers[0] or path.count(os.sep) != 2:
            findings.append(f"{path}: not a file of a layer; files are flat in src/LAYER/")
            continue
        text = tree.code(tree.read(root, path))
        for match in INCLUDE.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            name = match.group(2)
            if match.group(1) == '"':
                findings += quoted(root, layers, where, layer, name)
            else:
                findings += system(layers, where, path, layer, name)
        for match in YYJSON_IO.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            findings.append(f"{where}: {match.group()} reaches a file; the caller reads and writes files")
    return findings


CLIENT_SEES = {"base", "wire", "models", "model_wire", "providers", "io"}


def quoted(root, layers, where, layer, name):
    rank = layers[0]
    other = name.split("/")[0]
    if other not in rank or name.count("/") != 1:
        return [f'{where}: "{name}" is not spelled "layer/file.h"']
    if not os.path.isfile(os.path.join(root, "src", name)):
        return [f'{where}: "{name}" does not exist']
    if other != layer and rank[other] >= rank[layer]:
        return [f'{where}: {layer} (rank {rank[layer]}) may not include "{name}" (rank {rank[other]})']
    if layer in layers[3] and other != layer and other not in CLIENT_SEES | layers[3]:
        return [f'{where}: {layer} stands on <thole/thole.h>, not on "{name}"']
    return []


def system(layers, where, path, layer, name):
    _, pure, public, _ = layers
    if name in LIBRARIES:
        only = LIBRARIES[name]
        return [] if path == os.path.join("src", only) else [f"{where}: only {only} sees {name.split('.')[0].split('/')[0]}"]
    if name in LUA_HEADERS:
        return [] if layer == "script" else [f"{where}: only script/ sees Lua"]
    if name.startswith("thole/"):
        return [] if layer in public else [f"{where}: the public API is above {layer}"]
    if layer in pure and name not in PURE_HEADERS and not (layer == "base" and name in PURE_BASE_HEADERS):
        return [f"{where}: <{name}> is not on the list of headers for pure layers"]
    return []


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
