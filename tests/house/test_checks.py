# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule of the house once, in a small tree of its own, and expects its check to say so."""

import os
import subprocess
import tempfile
import unittest

import api_tests
import circles
import headers
import includes
import kinds
import libraries
import maps
import sources
import symbols
import tally
import tiers
import unused
import waits
import words

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("src/base/str.h")
        self.write("src/core/turn.h")
        self.write("src/io/loop.h")

    def write(self, path, text=""):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(SPDX + text)
        return full

    def one(self, findings, *words):
        self.assertEqual(len(findings), 1, findings)
        for word in words:
            self.assertIn(word, findings[0])

    def library(self, name, text):
        source = self.write(name + ".c", text)
        obj = os.path.join(self.root, os.path.basename(name) + ".c.o")
        subprocess.run(["cc", "-fno-builtin", "-fPIC", "-fcommon", "-c", "-o", obj, source], check=True)
        lib = os.path.join(self.root, "lib.a")
        subprocess.run(["ar", "rc", lib, obj], check=True)
        return lib


class Unused(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/core/a.h", "int th_a(void);\n")
        self.write("src/core/a.c", "int th_a(void)\n{\n\treturn 1;\n}\n")

    def test_used_by_another_file(self):
        self.write("src/core/b.c", "static int b(void)\n{\n\treturn th_a();\n}\n")
        self.assertEqual(unused.check(self.root, {}), [])
        self.one(unused.check(self.root, {"th_a": "why"}), "th_a", "take it off the list")

    def test_used_by_nobody(self):
        self.one(unused.check(self.root, {}), "src/core/a.c", "th_a", "take it out")
        self.write("src/core/a.c", "int th_a(void)\n{\n\treturn th_a();\n}\n")
        self.one(unused.check(self.root, {}), "th_a", "make it static")

    def test_used_by_tests_only(self):
        self.write("tests/unit/core/test_a.c", "int main(void)\n{\n\treturn th_a();\n}\n")
        self.one(unused.check(self.root, {}), "th_a", "only tests use it")
        self.assertEqual(unused.check(self.root, {"th_a": "why"}), [])
        self.one(unused.check(self.root, {"th_a": "why", "th_gone": "why"}), "th_gone", "no such function")


class Includes(Tree):
    def test_a_tree_that_keeps_the_rules(self):
        self.write("src/core/turn.c", '#include "core/turn.h"\n#include "base/str.h"\n#include <string.h>\n')
        self.write("src/base/json.c", "#include <yyjson.h>\n")
        self.write("src/io/loop.c", "#include <uv.h>\n// #include \"cli/main.h\"\n/* #include \"run/x.h\"\n*/\n")
        self.assertEqual(includes.check(self.root), [])

    def test_upwards(self):
        self.write("src/core/turn.c", '#include "io/loop.h"\n')
        self.one(includes.check(self.root), "src/core/turn.c:2", f"rank {includes.ranks()[0]['io']}")

    def test_sideways(self):
        self.write("src/driver/log.h")
        self.write("src/io/loop.c", '\n#include "driver/log.h"\n')
        self.one(includes.check(self.root), "src/io/loop.c:3", "may not include")

    def test_spelling(self):
        self.write("src/base/str.c", '#include "str.h"\n')
        self.one(includes.check(self.root), "layer/file.h")

    def test_missing(self):
        self.write("src/base/str.c", '#include "base/gone.h"\n')
        self.one(includes.check(self.root), "does not exist")

    def test_system_header_in_a_pure_layer(self):
        self.write("src/models/registry.c", "#  include <unistd.h>\n")
        self.one(includes.check(self.root), "src/models/registry.c:2", "unistd.h")

    def test_yyjson_elsewhere(self):
        self.write("src/base/field.c", "#include <yyjson.h>\n")
        self.one(includes.check(self.root), "only base/json.c")

    def test_yyjson_reaching_a_file(self):
        self.write("src/base/json.c", "#include <yyjson.h>\nvoid *p = yyjson_read_file;\nvoid *q = yyjson_write_fp;\n")
        self.assertEqual(len(includes.check(self.root)), 2)

    def test_lua_elsewhere(self):
        self.write("src/driver/callbacks.c", "#include <lauxlib.h>\n")
        self.one(includes.check(self.root), "only script/")
        self.write("src/driver/callbacks.c")
        self.write("src/script/script.c", "#include <lua.h>\n")
        self.assertEqual(includes.check(self.root), [])

    def test_public_api_from_below(self):
        self.write("src/store/store.c", "#include <thole/thole.h>\n")
        self.one(includes.check(self.root), "public API")

    def test_unknown_layer_and_nested_folder(self):
        self.write("src/misc/x.c")
        self.write("src/base/deep/x.c")
        self.assertEqual(len(includes.check(self.root)), 2)


class Words(Tree):
    def test_terms(self):
        self.write("src/core/turn.c", "int th_past_count; /* th_outfit */ int past; int th_address;\n")
        self.one(words.check(self.root), "src/core/turn.c:2", "th_past_count", "transcript")
        self.write("src/core/turn.c", "struct th_executor *x;\nint codes;\n")
        self.one(words.check(self.root), "th_executor_client")


class Kinds(Tree):
    def test_kinds(self):
        self.one(kinds.check(self.root) if self.write(kinds.HEADER) else [], "no rows")
        self.write(kinds.HEADER, '#define TH_COMPUTERS(X) \\\n\tX(desktop, "a") \\\n\tX(x11, "b")\n')
        self.write("src/computers/computers.c", 'bool x = th_str_is(k, "x11");\n')
        self.write("src/x11/kind.h", "extern const struct th_computer_kind th_computer_x11;\n")
        self.write("src/x11/tree.c", "bool x = c->kind == &th_computer_desktop;\n")
        self.write("src/io/role.h", '#define TH_ROLE_DESKTOP "desktop"\n')
        self.write("src/io/loop.c", 'struct o o = { .kind = TH_STR_INIT("desktop") }; /* "x11" */ char *s = "the desktop";\n')
        self.assertEqual(kinds.check(self.root), [])
        self.write("src/io/loop.c", '\nbool x = th_str_is(kind, "x11");\n')
        self.one(kinds.check(self.root), "src/io/loop.c:3", '"x11"')
        self.write("src/io/loop.c", "bool x = c->kind == &th_computer_desktop;\n")
        self.one(kinds.check(self.root), "src/io/loop.c:2", "th_computer_desktop")


class Libraries(Tree):
    def dev(self, **more):
        sets = {"debian": "run: libfoo2 libbar-3-1", "fedora": "run: foo\nbuild: gcc bar-devel", "arch": "run: foo", "alpine": "run: foo"}
        sets.update(more)
        self.write("dev")
        with open(self.root + "/dev", "w", encoding="utf-8") as file:
            file.write("case $3 in\n" + "".join("%s) echo '%s' ;;\n" % row for row in sets.items()) + "esac\n")

    def test_libraries(self):
        self.dev(fedora="run: foo bar-libs\nbuild: gcc bar-devel")
        self.write("src/io/link.c", 'static struct th_library library = {\n\t.file = "libfoo.so.2",\n'
                   '\t.packages = "Debian, Ubuntu: libfoo2; Fedora: foo; "\n\t\t"Arch: foo; Alpine: foo",\n};\n')
        self.assertEqual(libraries.check(self.root), [])
        self.dev()
        self.one(libraries.check(self.root), "fedora-run has nothing of bar-devel")
        self.dev(fedora="run: foo", arch="run: foo2")
        self.one(libraries.check(self.root), "src/io/link.c: libfoo.so.2", "arch does not install foo")

    def test_names_of_debian(self):
        for library, package in (("libuv.so.1", "libuv1"), ("libbar-3.so.1", "libbar-3-1"), ("libcrypto.so.3", "libssl3"),
                                 ("libllhttp.so.9.2", "libllhttp9.2"), ("libsqlite3.so.0", "libsqlite3-0")):
            self.assertEqual(libraries.of_debian(library), package)

    def test_a_program(self):
        self.dev(fedora="run: foo")
        library = self.write("bar.c", "int bar;\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libbar-4.so.1", "-o", self.root + "/libbar.so", library], check=True)
        program = self.write("main.c", "extern int bar;\nint main(void) { return bar; }\n")
        subprocess.run(["cc", "-o", self.root + "/main", program, "-L" + self.root, "-lbar"], check=True)
        self.one(libraries.check(self.root, self.root + "/main"), "no libbar-4-1")


class Waits(Tree):
    def test_waits(self):
        self.write(waits.RANKS, "8 api\n9 server client\n11 mcp_server client\n12 cli\n")
        for path in ("src/api/list.c", "src/cli/log.c"):
            self.write(path, "int x = thole_runtime_session(rt, id, NULL, &row, &err);\n")
        self.write("src/server/row.c", "/* as thole_runtime_session */ int x = thole_runtime_session_start(rt, id);\n")
        self.assertEqual(waits.check(self.root), [])
        self.write("src/mcp_server/row.c", "\nint x = thole_session_open(rt, a, id, &s, &err);\n")
        self.one(waits.check(self.root), "src/mcp_server/row.c:3", "thole_session_open")
        self.write("src/mcp_server/row.c", "int x = thole_session_new_with(rt, a, options, &s, &err);\n")
        self.one(waits.check(self.root), "src/mcp_server/row.c:2", "fresh")
        self.write("src/mcp_server/row.c", 'int x = thole_session_new_with(rt, a, (o){ "fresh", "yes" }, &s, &err);\n')
        self.assertEqual(waits.check(self.root), [])


class Maps(Tree):
    def map(self, *lines):
        for path in maps.MAPS:
            self.write(path, "\n".join(lines) + "\n")

    def test_maps(self):
        rank, _, _, _ = includes.ranks()
        rows = [f"rank {number} {name}/   text" for name, number in rank.items()]
        self.map(*rows)
        self.assertEqual(maps.check(self.root), [])
        self.map(*rows[1:])
        self.assertEqual(len(maps.check(self.root)), len(maps.MAPS))
        self.map(*rows, "rank 9 base/  twice")
        self.assertIn("rank 9", maps.check(self.root)[0])
        self.map(*rows)
        self.write("src/misc/x.c")
        self.one(maps.check(self.root), "src/misc")


class Symbols(Tree):
    def test_pure(self):
        lib = self.library("base_json", "void *malloc(unsigned long); int yyjson_read_opts(void);"
                           "void *th_x(void) { return yyjson_read_opts() ? malloc(1) : 0; }")
        self.assertEqual(list(symbols.pure([lib])), [])

    def test_pure_calls_the_clock(self):
        lib = self.library("base_clock", "long time(long *); long th_x(void) { return time(0); }")
        self.one(list(symbols.pure([lib])), "calls time")

    def test_pure_reads_the_environment(self):
        lib = self.library("core_env", "char *getenv(const char *); char *th_x(void) { return getenv(\"A\"); }")
        self.one(list(symbols.pure([lib])), "calls getenv")

    def test_pure_prints(self):
        lib = self.library("core_out", "extern void *stderr; void *th_x(void) { return stderr; }")
        self.one(list(symbols.pure([lib])), "calls stderr")

    def test_yyjson(self):
        lib = self.library("base_json", "int yyjson_read_file(void); int th_x(void) { return yyjson_read_file(); }")
        self.one(list(symbols.pure([lib])), "yyjson_read_file")
        lib = self.library("core_item", "int yyjson_read_opts(void); int th_y(void) { return yyjson_read_opts(); }")
        self.assertIn("core_item", "".join(symbols.pure([lib])))

    def test_simulated(self):
        pure = self.library("base_x", "int th_buf_a;")
        lib = self.library("src_sim_effects", "int th_sim_a(void); extern int th_buf_a; void *malloc(unsigned long);"
                           "int th_sim_b(void) { return th_sim_a() + th_buf_a + !malloc(1); }")
        self.assertEqual(list(symbols.simulated(lib, [pure])), [])
        lib = self.library("src_sim_ledger", "int th_spool_sync(void); int th_sim_b(void) { return th_spool_sync(); }")
        self.one(list(symbols.simulated(lib, [pure])), "calls th_spool_sync")

    def test_prefix(self):
        lib = self.library("base_x", "int th_a; int thole_b; static int c; int *th_p(void) { return &c; } int json_get;")
        self.one(list(symbols.prefix([lib])), "json_get")

    def test_apart(self):
        lib = self.library("src_sim_x", "int th_a;")
        self.one(list(symbols.apart(lib, ["sim", "cli"])), "src/sim")
        self.assertEqual(list(symbols.apart(lib, ["cli"])), [])

    def test_exports(self):
        header = self.write("thole.h", "TH_API const char *thole_a(void);\n/* TH_API int thole_no(void); */\n"
                            "TH_API int\nthole_gone(int a,\n\tint b);\n")
        source = self.write("a.c", "const char *thole_a(void) { return \"\"; } int th_inner;")
        lib = os.path.join(self.root, "a.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, source], check=True)
        found = list(symbols.exports(lib, [header]))
        self.assertEqual(len(found), 2, found)
        self.assertIn("th_inner", found[0])
        self.assertIn("thole_gone", found[1])


class Circles(Tree):
    def archive(self, **files):
        """Each file: the files that it calls."""
        lib = os.path.join(self.root, "libth_io.a")
        for name, called in files.items():
            source = self.write(f"{name}.c", "".join(f"void th_{x}(void); " for x in called.split())
                                + "void th_%s(void) { %s }\n" % (name, " ".join(f"th_{x}();" for x in called.split())))
            obj = os.path.join(self.root, f"src_io_{name}.c.o")
            subprocess.run(["cc", "-c", "-o", obj, source], check=True)
            subprocess.run(["ar", "rc", lib, obj], check=True)
        return lib

    def test_one_direction(self):
        self.assertEqual(circles.check([self.archive(a="b c", b="c", c="c")], []), [])

    def test_circle(self):
        lib = self.archive(a="b", b="c d", c="a", d="")
        self.one(circles.check([lib], []), "src/io: a b c", "a calls b (th_b), b calls c (th_c), c calls a (th_a)")
        self.assertEqual(circles.check([lib], [("io", "a b c", "why")]), [])
        self.one(circles.check([lib], [("core", "a b c", "another layer")]), "src/io: a b c")

    def test_a_file_joins(self):
        lib = self.archive(a="b", b="a", c="b a", d="c")
        self.assertEqual(circles.check([lib], [("io", "a b", "why")]), [])
        lib = self.archive(a="b d", b="a")
        self.one(circles.check([lib], [("io", "a b", "why")]), "src/io: c d")

    def test_a_file_leaves(self):
        lib = self.archive(a="b", b="a", c="b")
        self.one(circles.check([lib], [("io", "a b c", "why")]), "src/io: c is in no circle")


class Sources(Tree):
    def test_banned(self):
        self.write("src/io/x.c", "void th_x(void) {\n\tstrcpy(a, b);\n}\n")
        self.one(sources.check(self.root), "src/io/x.c:3", "strcpy")

    def test_not_banned(self):
        self.write("src/io/x.c", "/* strcpy(a) */\nchar *s = \"system(1)\";\nint i = snprintf(0, 0, 0) + job.system(1) + "
                   "job->gets() + th_system(1);\n")
        self.assertEqual(sources.check(self.root), [])

    def test_unset_cleanup(self):
        self.write("src/io/x.c", "void th_x(void)\n{\n\tTH_CLEANUP(th_y) struct th_y a = {};\n\tstruct th_y b TH_CLEANUP(th_y);\n}\n")
        self.one(sources.check(self.root), "src/io/x.c:5", "TH_CLEANUP")

    def test_licence(self):
        with open(self.write("tests/x.py"), "w", encoding="utf-8") as file:
            file.write("print()\n")
        self.one(sources.check(self.root), "tests/x.py", "SPDX")

    def test_machine(self):
        self.write("docs/x.md", "see /wo" + "rk/main/x and $R/wo" + "rk/a\n")
        self.one(sources.check(self.root), "docs/x.md:2")


class Headers(Tree):
    def check(self, text):
        self.write("include/thole/x.h", text)
        return headers.check(os.path.join(self.root, "include"), ["clang"])

    def test_good(self):
        self.assertEqual(self.check("#ifndef THOLE_X_H\n#define THOLE_X_H\n#include <stddef.h>\n"
                                    "struct thole_x { size_t n; };\n#endif\n"), [])

    def test_broken(self):
        self.one(self.check("#define THOLE_X_MAX 1\n"), "THOLE_X_MAX")
        self.one(self.check("int thole_x(int class);\n"), "c++")
        self.one(self.check("enum thole_x : int;\n"), "-x c ")
        self.assertEqual(len(self.check("struct thole_x { size_t n; };\n")), 2)


class ApiTests(Tree):
    def test_one_left_out(self):
        self.write("x.h", "TH_API int thole_x(int a);\nTH_API int thole_xy(void);\n")
        self.write("test.c", "int f(void) { return thole_xy(); } /* thole_x(1) */\n")
        x, test = (os.path.join(self.root, name) for name in ("x.h", "test.c"))
        self.one(api_tests.check(x, [test]), "thole_x")
        self.write("test.c", "int f(void) { return thole_xy() + thole_x(1); }\n")
        self.assertEqual(api_tests.check(x, [test]), [])

    def test_what_is_given(self):
        self.write("x.h", "TH_API int thole_x(struct thole_a *a, const char *t,\n\t\tstruct thole_error *err);\n")
        x, test = (os.path.join(self.root, name) for name in ("x.h", "test.c"))
        null, long = "thole_x(NULL, t, &e);", "BAD(THOLE_ELIMIT,\n\tthole_x(a, t, &e));"
        self.write("test.c", "void f(void) { %s }\n" % long)
        self.one(api_tests.check(x, [test]), "NULL")
        self.write("test.c", "void f(void) { %s }\n" % null)
        self.one(api_tests.check(x, [test]), "too long")
        self.write("test.c", "void f(void) { %s %s }\n" % (null, long))
        self.assertEqual(api_tests.check(x, [test]), [])


class Tally(unittest.TestCase):
    def test_counts(self):
        results = ["OK", "OK", "SKIP", "FAIL", "TIMEOUT", "ERROR", "EXPECTEDFAIL", "UNEXPECTEDPASS"]
        self.assertEqual(tally.tally(f'{{"result": "{r}"}}' for r in results), (3, 4, 1))


class Tiers(unittest.TestCase):
    def test_one_that_nothing_runs(self):
        tests = [{"cmd": ["python3", "/long.py", "/short.py"], "suite": ["thole:torture"]}, {"cmd": ["python3", "/short.py"], "suite": ["thole:e2e"]},
                 {"cmd": ["python3", "/both.py"], "suite": ["thole:e2e", "thole:tiers"]}, {"cmd": ["python3", "/plain.py"], "suite": ["thole:e2e"]},
                 {"cmd": ["python3", "/bad.py"], "suite": ["thole:e2e", "thole:once"]}]
        self.assertEqual(tiers.unrun(tests, lambda path: path.name != "plain.py"), ["/bad.py"])


if __name__ == "__main__":
    unittest.main()
