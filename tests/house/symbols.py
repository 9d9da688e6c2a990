# SPDX-License-Identifier: Apache-2.0
"""What the libraries really call and export, seen by nm.

usage: symbols.py --pure LIB...            the pure layers call nothing outside but the allow-list
       symbols.py --simulated SIM PURE... the executor's code in the simulator stands on the simulated world and pure layers
       symbols.py --prefix LIB...          every global symbol begins with th_ or thole_
       symbols.py --apart LIB FOLDER...    the library has no object of these folders of src/
       symbols.py --exports LIB HEADER...  the shared library exports what the public headers declare, all of it, no more
"""

import re
import subprocess
import sys

import tree

ALLOWED = set(
    """
    memchr memcmp memcpy memmem memmove memrchr memset explicit_bzero
    strchr strcmp strcspn strlen strncmp strnlen strrchr strspn strstr strcasecmp strncasecmp
    snprintf vsnprintf strtod strtol strtoll strtoul strtoull
    malloc calloc realloc free abort qsort bsearch
    ceil fabs floor fmod hypot llround lround modf pow round sqrt trunc log exp log2 log10 nearbyint rint lrint llrint
    __assert_fail __errno_location __stack_chk_fail _GLOBAL_OFFSET_TABLE_
    """.split()
)
FORTIFIED = re.compile(r"^__(?:mem(?:cpy|move|set)|explicit_bzero|v?snprintf)_chk$")
# What the compilers call for 128-bit division and the like.
COMPILER = re.compile(r"^__(?:u?div|u?mod|u?divmod|mul|float|fix|popcount)\w*[dt]i\w*$|^__(?:ashl|lshr|ashr)ti3$|^__cpu_(?:model|indicator_init)$")
YYJSON_IO = re.compile(r"_(?:file|fp)$")
# Libraries that do no input or output, each called by one file.
SANS_IO = {"llhttp_": "wire_http1.c", "wslay_": "wire_ws.c"}


def nm(*arguments):
    """(file, symbol) pairs; file is the archive member."""
    out = subprocess.run(["nm", "-A", "-P", *arguments], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        where, _, rest = line.partition(": ")
        yield where, rest.split()[0]


def pure(libs):
    defined = {symbol for _, symbol in nm("-g", "--defined-only", *libs)}
    for where, symbol in nm("-u", *libs):
        if symbol in defined or symbol in ALLOWED or FORTIFIED.match(symbol) or COMPILER.match(symbol):
            continue
        if symbol.startswith("yyjson_") and "base_json.c" in where and not YYJSON_IO.search(symbol):
            continue
        if any(symbol.startswith(prefix) and file in where for prefix, file in SANS_IO.items()):
            continue
        yield f"{where}: calls {symbol}, which is not on the list for pure layers"


def simulated(sim, libs):
    """ledger.c and effects.c of the executor, compiled again on top of sim/rename.h."""
    defined = {symbol for _, symbol in nm("-g", "--defined-only", *libs)}
    for where, symbol in nm("-u", sim):
        if not re.search(r"sim_(?:ledger|effects)\.c\.o", where):
            continue
        # The rows of tools are data.
        if symbol.startswith(("th_sim_", "th_tool_")) or symbol in defined or symbol in ALLOWED or FORTIFIED.match(symbol):
            continue
        yield f"{where}: calls {symbol} of the real world: give it a name of the simulator's in sim/rename.h"


def prefix(libs):
    for where, symbol in nm("-g", "--defined-only", *libs):
        if not symbol.startswith(("th_", "thole_")) and not (symbol == "main" and "cli_main.c" in where):
            yield f"{where}: global symbol {symbol} begins with neither th_ nor thole_"


def apart(lib, folders):
    members = subprocess.run(["ar", "t", lib], check=True, capture_output=True, text=True).stdout.splitlines()
    for member in members:
        for folder in folders:
            if f"src_{folder}_" in member:
                yield f"{lib}: {member} is of src/{folder}, which is no part of it"


def exports(lib, headers):
    declared = set()
    for header in headers:
        text = tree.code(tree.read(".", header))
        declared |= set(re.findall(r"^TH_API\b[^;]*?\b(\w+)\s*\(", text, re.MULTILINE))
    exported = {symbol for _, symbol in nm("-D", "-g", "--defined-only", lib)}
    # The linker's own marks of where its segments end.
    exported -= {"__bss_start", "_edata", "_end"}
    for symbol in sorted(exported - declared):
        yield f"{lib}: exports {symbol}, which no public header declares"
    for symbol in sorted(declared - exported):
        yield f"{lib}: does not export {symbol}, which a public header declares"
    for symbol in sorted(declared):
        if not symbol.startswith("thole_"):
            yield f"public symbol {symbol} does not begin with thole_"


def check(mode, arguments):
    if mode == "--pure":
        return list(pure(arguments))
    if mode == "--simulated":
        return list(simulated(arguments[0], arguments[1:]))
    if mode == "--prefix":
        return list(prefix(arguments))
    if mode == "--apart":
        return list(apart(arguments[0], arguments[1:]))
    return list(exports(arguments[0], arguments[1:]))


if __name__ == "__main__":
    tree.report(check(sys.argv[1], sys.argv[2:]))
