# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/c, built as a stranger would: against an installed library, with pkg-config alone; then run
against a scripted model.  Under valgrind, where a run takes seconds, each program takes one way only.

usage: run.py [--valgrind[=NAME,NAME…]] BUILD_DIR EXAMPLES CC…
"""

import glob
import os
import shlex
import subprocess
import sys
import tempfile

from model import Model, call, computer, outputs, say

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite,possible"]


def run(command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def install(build, root):
    """The environment in which pkg-config finds what was installed below root."""
    run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", root])
    pc = glob.glob(root + "/**/thole.pc", recursive=True)[0]
    with open(pc, encoding="utf-8") as file:
        text = file.read()
    prefix = text.split("prefix=", 1)[1].split("\n", 1)[0]
    with open(pc, "w", encoding="utf-8") as file:
        file.write(text.replace("prefix=" + prefix, "prefix=" + root + prefix, 1))
    return dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc))


class Examples:
    def __init__(self, root, env, compiler, wrapper):
        self.root, self.env, self.compiler, self.wrapper = root, env, compiler, wrapper
        self.libdir = run(["pkg-config", "--variable=libdir", "thole"], env=env).strip()
        self.flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "thole"], env=env))
        self.runs = 0

    def build(self, source):
        program = os.path.join(self.root, os.path.basename(source)[:-2])
        run([*self.compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", source, "-o", program, *self.flags])

    def run(self, answer, name, *arguments, store=None, wanted=0):
        self.runs += 1
        home = os.path.join(self.root, "store-" + (store or str(self.runs)))
        os.makedirs(home, exist_ok=True)
        model = Model(answer)
        env = dict(self.env, LD_LIBRARY_PATH=self.libdir, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="sk-none",
                   THOLE_MODEL="gpt-5.4", THOLE_STORE="sqlite:" + home + "/log.db", XDG_CONFIG_HOME=home, HOME=home,
                   XDG_RUNTIME_DIR=home)
        try:
            done = subprocess.run([*self.wrapper, os.path.join(self.root, name), *arguments], env=env, text=True,
                                  stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=home, timeout=240)
        finally:
            model.end()
        assert done.returncode == wanted, f"{name}: exit code {done.returncode}, output {done.stdout!r}"
        print(f"{name} {' '.join(arguments)}: ok")
        return done.stdout


def check_tool(x):
    def answer(request):
        said = outputs(request)
        return [say("I was told: " + said[0])] if said else [call("weather", city="Paris")]

    assert x.run(answer, "tool") == "I was told: It is sunny in Paris, 21 degrees.\n"


def check_approval(x):
    def answer(request):
        said = outputs(request)
        return [say("Told: " + said[0])] if said else [call("delete_backups", year=2019)]

    for decision, wanted in (("approve", "deleting the backups of 2019\nTold: deleted\n"), ("reject", "Told: "))[:1 if x.wrapper else 2]:
        asked = x.run(answer, "approval", "ask", "Delete the backups of 2019.", store="approval")
        assert 'waits: delete_backups {"year":2019} (this cannot be undone)' in asked, asked
        session = asked.split()[1]
        told = x.run(answer, "approval", decision, session, store="approval")
        assert told.startswith(wanted), told
        assert ("deleting" in told) == (decision == "approve"), told
    if not x.wrapper:
        x.run(answer, "approval", store="approval", wanted=2)


def check_stream(x):
    wanted = ("agent: teller\nOars |are |long. |\n[message_output_created] Oars are long.\nfinished\n")
    got = x.run(lambda request: [say("Oars are long.")], "stream")
    assert got == wanted, got


def check_computer(x):
    def answer(request):
        seen = outputs(request)
        if not seen:
            return [computer({"type": "screenshot"})]
        assert seen[-1]["image_url"].startswith("data:image/png;base64,"), seen[-1]
        if len(seen) == 1:
            return [dict(computer({"type": "click", "x": 150, "y": 110, "button": "left"}), call_id="call_click")]
        return [say("It shines.")]

    assert x.run(answer, "computer") == "the lamp is on: It shines.\n"


def check_handoff(x):
    def answer(request, euros):
        names = [tool["name"] for tool in request["tools"]]
        if "transfer_to_billing" in names:
            return [call("transfer_to_billing")]
        said = outputs(request)
        return [say("It is " + said[-1])] if said[-1:] == ["paid back"] else [call("refund", euros=euros)]

    wanted = "agent: desk\nagent: billing\npaying back 20\nIt is paid back\n"
    got = x.run(lambda request: answer(request, 20), "handoff")
    assert got == wanted, got
    if x.wrapper:
        return
    got = x.run(lambda request: answer(request, 5), "handoff", "5, please.")
    assert "paying back 5" in got, got
    got = x.run(lambda request: answer(request, 2000), "handoff", "2000, please.")
    assert "paying" not in got and "failed: " in got and "without a word" in got, got


def check_sessions(x):
    def answer(request):
        return [say("The answer is " + outputs(request)[0])] if outputs(request) else [call("lookup")]

    count = "50" if x.wrapper else "1000"
    assert x.run(answer, "sessions", count) == f"{count} of {count} sessions finished\n"


def main(arguments):
    wrapper, names = [], ""
    if arguments[0].startswith("--valgrind"):
        wrapper, names, arguments = VALGRIND, arguments[0].partition("=")[2], arguments[1:]
    build, sources, *compiler = arguments
    with tempfile.TemporaryDirectory() as root:
        x = Examples(root, install(build, root), compiler, wrapper)
        wanted = names.split(",") if names else sorted(os.path.basename(path)[:-2] for path in glob.glob(sources + "/*.c"))
        for name in wanted:
            x.build(os.path.join(sources, name + ".c"))
            globals()["check_" + name](x)


if __name__ == "__main__":
    main(sys.argv[1:])
