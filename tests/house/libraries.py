# SPDX-License-Identifier: Apache-2.0
"""`./dev setup run` installs every library that thole needs: those that it is linked with, those that it opens when it first
needs them (struct th_library), and no other distribution forgets one that is built with.

usage: libraries.py SOURCE_ROOT [PROGRAM]
"""

import re
import subprocess
import sys

import tree

DISTRIBUTIONS = ["debian", "fedora", "arch", "alpine"]
OPENED = re.compile(r"static struct th_library \w+ = \{(.*?)\n\};", re.DOTALL)
MEMBER = re.compile(r"\.(file|packages) = ((?:\s*\"[^\"]*\")+)")
# The C library and its loader, and what compilers bring.
SYSTEM = re.compile(r"^(?:libc|libm|libdl|libpthread|librt|libgcc_s|lib[atlu]+san|ld-linux[\w-]*|linux-vdso)\.so")
SAME_SOURCE = {"libcrypto3": "libssl3"}  # one package of Debian has both
# A package to build with is one to run with, by another name.
TOOLS = {"gcc", "glibc", "glibc-devel", "musl-dev", "linux-headers", "meson", "ninja", "ninja-build", "pkgconf", "pkgconf-pkg-config",
         "python", "python3", "bash"}
OTHERS = {"libjpeg-turbo-dev": ["libturbojpeg"], "openssl-dev": ["libssl3", "libcrypto3"]}


def packages(root, distribution):
    """{set: names}, as ./dev prints them."""
    done = subprocess.run(["bash", root + "/dev", "setup", "--print", distribution], capture_output=True, text=True, check=True)
    return {line.split(":", 1)[0]: line.split(":", 1)[1].split() for line in done.stdout.splitlines() if ":" in line}


def of_debian(library):
    """libyaml-0.so.2 -> libyaml-0-2, as Debian's policy has it."""
    name, version = library.split(".so.", 1)
    package = name.lower().replace("_", "-") + ("-" if name[-1].isdigit() else "") + version
    return SAME_SOURCE.get(package, package)


def needed(program):
    out = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", out) if not SYSTEM.match(name)]


def opened(root):
    """(path, file, {distribution: package}) of each library that is opened by name."""
    for path in tree.files(root, "src"):
        if not path.endswith(".c"):
            continue
        for row in OPENED.findall(tree.read(root, path)):
            text = {name: "".join(re.findall(r'"([^"]*)"', value)) for name, value in MEMBER.findall(row)}
            named = {}
            for part in text.get("packages", "").split(";"):
                systems, _, package = part.partition(":")
                named.update((system.strip().lower(), package.strip()) for system in systems.split(","))
            yield path, text.get("file", ""), named


def to_run(distribution, package):
    """The names that it may have without what is for building."""
    base = re.sub(r"-(devel|dev)$", "", package)
    if package in OTHERS:
        return OTHERS[package]
    return [base] if distribution == "arch" else [base, base + "-libs", "lib" + base]


def check(root, program=None):
    findings = []
    run = {name: packages(root, name) for name in DISTRIBUTIONS}
    for path, file, named in opened(root):
        for distribution in DISTRIBUTIONS:
            package = named.get(distribution)
            if package not in run[distribution]["run"]:
                findings.append(f"{path}: {file} is opened, and ./dev setup run of {distribution} does not install {package}")
    for distribution in DISTRIBUTIONS[1:]:
        for package in run[distribution].get("build", []):
            if package not in TOOLS and not set(to_run(distribution, package)) & set(run[distribution]["run"]):
                findings.append(f"dev: {distribution}-run has nothing of {package}, which {distribution}-build has")
    for library in needed(program) if program else []:
        if of_debian(library) not in run["debian"]["run"]:
            findings.append(f"dev: debian-run has no {of_debian(library)}, and thole is linked with {library}")
    return findings


if __name__ == "__main__":
    tree.report(check(*sys.argv[1:]))
