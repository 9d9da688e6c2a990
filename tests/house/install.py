# SPDX-License-Identifier: Apache-2.0
"""What `meson install` leaves is enough: a stranger's program builds with pkg-config, shared and static, and runs.

usage: install.py BUILD_DIR CC…
"""

import glob
import os
import shlex
import subprocess
import sys
import tempfile

PROGRAM = """
#include <stdio.h>
#include <thole/thole.h>
int main(void)
{
	return puts(thole_version()) < 0;
}
"""


def run(command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout.strip()


def main(build, *cc):
    with tempfile.TemporaryDirectory() as root:
        run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", root])
        pc = glob.glob(root + "/**/thole.pc", recursive=True)
        assert len(pc) == 1, f"thole.pc: {pc}"
        # Two trees of .pc files: ours is moved to where it was put, the system's must not be.
        with open(pc[0], encoding="utf-8") as file:
            text = file.read()
        prefix = text.split("prefix=", 1)[1].split("\n", 1)[0]
        with open(pc[0], "w", encoding="utf-8") as file:
            file.write(text.replace("prefix=" + prefix, "prefix=" + root + prefix, 1))
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]))
        version = run(["pkg-config", "--modversion", "thole"], env=env)
        libdir = run(["pkg-config", "--variable=libdir", "thole"], env=env)
        source = root + "/program.c"
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for mode in ("shared", "static"):
            static = mode == "static"
            flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "thole"], env=env))
            if static:
                # Ours is linked in; what it stands on stays shared (distributions ship few of its .a files).
                needs = [line.split()[0] for line in run(["pkg-config", "--print-requires-private", "thole"],
                                                         env=env).splitlines()]
                flags = [libdir + "/libthole.a" if flag == "-lthole" else flag for flag in flags]
                flags += shlex.split(run(["pkg-config", "--libs", *needs], env=env)) + ["-lpthread", "-lm"]
            program = f"{root}/{mode}"
            run([*cc, "-o", program, source, *flags])
            got = run([program], env=dict(env, LD_LIBRARY_PATH="" if static else libdir))
            assert got == version, f"{mode}: says {got!r}, thole.pc says {version!r}"
            print(f"{mode}: {got}")
        binary = os.path.join(root + prefix, "bin", "thole")
        if os.path.exists(os.path.join(build, "thole")):
            print(run([binary, "--version"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
