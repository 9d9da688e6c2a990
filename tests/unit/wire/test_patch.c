/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_patch.c - V4A diffs: what fits where, what is refused and why, line
 * ends, envelopes, and the edges of the limits.
 */
#include "unit.h"

#include <stdlib.h>

#include "base/limits.h"
#include "wire/patch.h"

static void apply(enum th_patch_mode mode, const char *input, const char *diff, const char *wanted,
		  enum th_code wanted_code)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};
	enum th_code code = th_patch_apply(mode, th_str_of(input), th_str_of(diff), &out, &err);

	if (code != wanted_code || !th_str_is(th_buf_str(&out), wanted))
		fail_msg("%s: %d \"%.*s\", not \"%s\"", diff, (int)code, TH_FMT(th_buf_str(&out)),
			 wanted);
	if (code)
		assert_true(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
	th_buf_deinit(&out);
}

static void gives(const char *input, const char *diff, const char *wanted)
{
	apply(TH_PATCH_UPDATE, input, diff, wanted, TH_OK);
}

static void refused(const char *input, const char *diff, const char *reason)
{
	apply(TH_PATCH_UPDATE, input, diff, reason, TH_EPROTO);
}

static void test_places(void **unused)
{
	(void)unused;
	gives("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n");
	gives("a\nb\nc\n", " a\n-b\n+B", "a\nB\nc\n"); /* the first hunk needs no @@ */
	gives("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D\n", "A\nb\nc\nD\n");
	gives("x\ny\n", "@@\n+top\n x", "top\nx\ny\n");
	gives("x\n\ny\n", "@@\n x\n\n-y\n+z", "x\n\nz\n"); /* an empty line is an empty line */
	gives("a\nb\nc\nd\n", "@@\n a\n-b\n c\n+e\n-d", "a\nc\ne\n");
	gives("", "@@\n+one", "one\n"); /* before the one empty line */
	gives("a\n", "", "a\n");
	gives("a\n", "@@\n-a\n+b\n*** End Patch\n@@\n-z",
	      "b\n"); /* nothing behind the end counts */
	gives("a\n", "@@\n-a\n+b\n*** Update File: x\n-z", "b\n");
}

static void test_anchors(void **unused)
{
	const char *two = "class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n";

	(void)unused;
	gives(two, "@@ class B:\n-    x\n+    y",
	      "class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n");
	gives(two, "@@ class B:\n@@   def f():\n-    x\n+    y",
	      "class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n");
	gives(two, "@@   class B:  \n-    x\n+    y", /* white space aside */
	      "class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n");
	gives(two, "@@ nowhere\n-    x\n+    y", /* one that is nowhere says nothing */
	      "class A:\n  def f():\n    y\nclass B:\n  def f():\n    x\n");
	refused(two, "@@ class A:\n@@ nowhere\n-    x\n+    y", "Invalid Anchor 1:\nnowhere");
	/* One that was passed already leaves the place as it is; not one that follows another. */
	gives("f\nx\na\nf\na\n", "@@\n f\n-x\n+y\n@@ f\n-a\n+c", "f\ny\nc\nf\na\n");
	gives("f\nx\na\nf\na\n", "@@ x\n@@ f\n-a\n+c", "f\nx\na\nf\nc\n");
	gives("a\nb\n", "@@ \n-a\n+A", "A\nb\n");
}

static void test_white_space(void **unused)
{
	(void)unused;
	gives("a  \nb\n", "@@\n a\n-b\n+B", "a  \nB\n"); /* the file's own line stays */
	gives("\ta\nb\n", "@@\n a\n-b\n+B", "\ta\nB\n");
	gives("a\xc2\xa0\nb\n", "@@\n a\n-b\n+B", "a\xc2\xa0\nB\n"); /* no-break space */
	gives("\xe3\x80\x80"
	      "a\nb\n",
	      "@@\n a\n-b\n+B",
	      "\xe3\x80\x80"
	      "a\nB\n");
	/* What fits exactly further on is preferred to what nearly fits here. */
	gives("a \nx\na\nx\n", "@@\n-a\n x", "a \nx\nx\n");
	refused("\xff"
		"a\n",
		"@@\n-a", "Invalid Context 0:\na"); /* a bad byte is no space */
}

static void test_end_of_file(void **unused)
{
	(void)unused;
	gives("x\ny\nx", "@@\n-x\n+Z\n*** End of File", "x\ny\nZ");
	gives("x\ny\n", "@@\n-x\n+Z\n*** End of File", "Z\ny\n"); /* falls back */
	/* A newline ends the last line, and begins none. */
	gives("x\ny\nx\n", "@@\n-x\n+Z\n*** End of File", "x\ny\nZ\n");
	gives("one\n", "@@\n+new\n*** End of File", "one\nnew\n");
	gives("one\r\n", "@@\n+new\n*** End of File", "one\r\nnew\r\n");
	gives("a\nb\n", "@@ b\n b\n+c\n*** End of File",
	      "a\nb\nc\n"); /* the anchor is the last line */
	gives("a\n\n", "@@\n+n\n*** End of File", "a\n\nn\n");
	gives("", "@@\n+a\n*** End of File", "a\n");
	refused("x\n", "@@\n-q\n*** End of File", "Invalid EOF Context 0:\nq");
	refused("a\nb", "@@\n a\n-b\n+c\n*** End of File\n-b\n", "Invalid Line:\n-b");
	/* The end that was changed already is found again, and not changed twice. */
	refused("a\nb", "@@\n a\n-b\n+c\n@@\n-b\n+d\n*** End of File",
		"applyDiff: overlapping chunk at 1 (cursor 2)");
}

static void test_line_ends(void **unused)
{
	(void)unused;
	gives("a\r\nb\r\n", "@@\n-a\n+A\n", "A\r\nb\r\n");
	gives("a\nb\n", "@@\r\n-a\r\n+A\r\n", "A\nb\n");
	gives("a", "@@\r\n-a\r\n+A\r\n+B", "A\r\nB"); /* none in the file: the diff's */
	gives("a\rb\n", "@@\n-a\rb\n+c", "c\n");      /* a lone \r is no line's end */
	apply(TH_PATCH_CREATE, "", "+a\r\n+b\r\n", "a\r\nb", TH_OK);
	apply(TH_PATCH_CREATE, "", "+a\n+\n+b", "a\n\nb", TH_OK);
	apply(TH_PATCH_CREATE, "not looked at", "", "", TH_OK);
	apply(TH_PATCH_CREATE, "", "+a\nb", "Invalid Add File Line: b", TH_EPROTO);
	apply(TH_PATCH_CREATE, "", "+a\n*** End Patch\nb", "a", TH_OK);
}

static void test_refused(void **unused)
{
	(void)unused;
	refused("a\n", "@@\n?a", "Invalid Line: ?a");
	refused("a\n", "@@\n a\n*** Foo", "Invalid Line: *** Foo");
	refused("a\n", "@@\n", "Nothing in this section - index=1 *** End Patch");
	refused("a\n", "@@\n***", "Nothing in this section - index=1 ***");
	refused("a\nb\n", "@@\n-a\n***\n-b", "Invalid Line:\n***");
	refused("a\nb\nc\nd\n", "@@\n-d\n+D\n@@\n-a\n+A", "Invalid Context 4:\na");
	refused("a\n", "@@\n-b\n c", "Invalid Context 0:\nb\nc");
}

/* Hunks of random files, made by changing lines, always give the changed file. */
static void test_made_diffs(void **unused)
{
	unsigned seed = 7;

	(void)unused;
	for (int round = 0; round < 300; round++) {
		struct th_buf old = TH_BUF_INIT(TH_MIB), new = TH_BUF_INIT(TH_MIB);
		struct th_buf diff = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
		struct th_err err = {};
		int lines = 1 + round % 40;

		th_buf_add_cstr(&diff, "@@\n");
		for (int i = 0; i < lines; i++) {
			seed = seed * 1103515245U + 12345U;
			switch (seed >> 16 & 3) {
			case 0:
				th_buf_printf(&diff, "-line %d\n", i);
				th_buf_printf(&old, "line %d\n", i);
				break;
			case 1:
				th_buf_printf(&diff, "+new %d\n", i);
				th_buf_printf(&new, "new %d\n", i);
				break;
			default:
				th_buf_printf(&diff, " line %d\n", i);
				th_buf_printf(&old, "line %d\n", i);
				th_buf_printf(&new, "line %d\n", i);
			}
		}
		assert_int_equal(th_patch_apply(TH_PATCH_UPDATE, th_buf_str(&old),
						th_buf_str(&diff), &out, &err),
				 TH_OK);
		assert_string_equal(out.ptr, new.ptr);
		th_buf_deinit(&old);
		th_buf_deinit(&new);
		th_buf_deinit(&diff);
		th_buf_deinit(&out);
	}
}

/* ---- limits ---- */

static enum th_code apply_big(size_t file_lines, const char *file_line, size_t diff_lines,
			      const char *diff_line, const char *diff_end, size_t out_max)
{
	struct th_buf file = TH_BUF_INIT(64 * TH_MIB), diff = TH_BUF_INIT(64 * TH_MIB);
	struct th_buf out = TH_BUF_INIT(out_max);
	struct th_err err = {};
	enum th_code code;

	for (size_t i = 0; i < file_lines; i++)
		th_buf_add_cstr(&file, file_line);
	for (size_t i = 0; i < diff_lines; i++)
		th_buf_add_cstr(&diff, diff_line);
	th_buf_add_cstr(&diff, diff_end);
	code = th_patch_apply(TH_PATCH_UPDATE, th_buf_str(&file), th_buf_str(&diff), &out, &err);
	th_buf_deinit(&file);
	th_buf_deinit(&diff);
	th_buf_deinit(&out);
	return code;
}

static void test_limits(void **unused)
{
	(void)unused;
	/* What follows the last newline is a line too. */
	assert_int_equal(apply_big(TH_PATCH_LINES_MAX - 1, "\n", 0, "", "@@\n+x", 64 * TH_MIB),
			 TH_OK);
	assert_int_equal(apply_big(TH_PATCH_LINES_MAX, "\n", 0, "", "@@\n+x", 64 * TH_MIB),
			 TH_ELIMIT);
	assert_int_equal(apply_big(1, "\n", TH_PATCH_LINES_MAX, "+\n", "", 64 * TH_MIB), TH_ELIMIT);
	/* A hunk that nearly fits at every line. */
	assert_int_equal(apply_big(20000, "a\n", 10000, " a\n", "-b", TH_MIB), TH_ELIMIT);
	assert_int_equal(apply_big(2000, "a\n", 1000, " a\n", "-b", TH_MIB), TH_EPROTO);
	/* The result is larger than its buffer. */
	assert_int_equal(apply_big(3, "aaa\n", 0, "", "@@\n+x", 14), TH_OK);
	assert_int_equal(apply_big(3, "aaa\n", 0, "", "@@\n+x", 13), TH_ELIMIT);
}

/* What the lists take when file and diff are as long as they may be fits in TH_PATCH_MEMORY_MAX. */
static void test_the_longest(void **unused)
{
	(void)unused;
	assert_int_equal(
	    apply_big(TH_PATCH_LINES_MAX - 1, "\n", TH_PATCH_LINES_MAX - 1, "+\n", "", 64 * TH_MIB),
	    TH_OK);
}

/* TH_PATCH_STEPS_MAX comparisons, and one more: an anchor that is not there is compared with the
 * lines twice, then each place three times with `as` + 1 lines, of which only the last differs. */
static void test_steps(void **unused)
{
	static const struct {
		size_t lines, as, steps;
		enum th_code code;
	} rows[] = {
		{ 11241, 1755, TH_PATCH_STEPS_MAX, TH_EPROTO },
		{ 45452, 368, TH_PATCH_STEPS_MAX + 1, TH_ELIMIT },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		size_t n = rows[i].lines, k = rows[i].as + 1;
		struct th_buf file = TH_BUF_INIT(TH_MIB), diff = TH_BUF_INIT(TH_MIB);
		struct th_buf out = TH_BUF_INIT(TH_MIB);
		struct th_err err = {};

		assert_int_equal(2 * (n + 1) + 3 * (n - k + 2) * k, rows[i].steps);
		for (size_t j = 0; j < n; j++)
			th_buf_add_cstr(&file, "a\n");
		th_buf_add_cstr(&diff, "@@ z\n");
		for (size_t j = 0; j < rows[i].as; j++)
			th_buf_add_cstr(&diff, " a\n");
		th_buf_add_cstr(&diff, "-b");
		assert_int_equal(th_patch_apply(TH_PATCH_UPDATE, th_buf_str(&file),
						th_buf_str(&diff), &out, &err),
				 rows[i].code);
		if (rows[i].code == TH_ELIMIT)
			assert_string_equal(err.msg, "the diff takes too long to place");
		th_buf_deinit(&file);
		th_buf_deinit(&diff);
		th_buf_deinit(&out);
	}
}

static void test_long_reasons(void **unused)
{
	struct th_buf diff = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};

	(void)unused;
	th_buf_add_cstr(&diff, "?");
	for (size_t i = 0; i < TH_PATCH_REASON_MAX; i++)
		th_buf_add_cstr(&diff, "\xc3\xa9");
	assert_int_equal(th_patch_apply(TH_PATCH_UPDATE, TH_STR(""), th_buf_str(&diff), &out, &err),
			 TH_EPROTO);
	assert_in_range(out.len, TH_PATCH_REASON_MAX, TH_PATCH_REASON_MAX + 4);
	assert_true(th_str_ends(th_buf_str(&out), TH_STR("\xc3\xa9…")));
	th_buf_deinit(&diff);
	th_buf_deinit(&out);
}

/* ---- envelopes ---- */

static struct th_arena arena;

static size_t parse(const char *text, struct th_patch_file **ret)
{
	struct th_err err = {};
	size_t count = 0;

	if (th_patch_parse(th_str_of(text), &arena, ret, &count, &err))
		fail_msg("%s", err.msg);
	return count;
}

static void test_envelope(void **unused)
{
	struct th_patch_file *f;

	(void)unused;
	assert_int_equal(parse("\n*** Begin Patch\n"
			       "*** Add File: a.txt\n+one\n+two\n"
			       "*** Update File: b c.txt\n*** Move to: d.txt\n@@ x\n-y\n+z\n"
			       "*** Update File: e\n@@\n-1\n+2\n*** End of File\n"
			       "*** Update File: f\n*** Move to: g\n"
			       "*** Delete File: h\n"
			       "*** End Patch\n",
			       &f),
			 5);
	assert_int_equal(f[0].kind, TH_PATCH_ADD_FILE);
	assert_true(th_str_is(f[0].path, "a.txt"));
	assert_true(th_str_is(f[0].diff, "+one\n+two\n"));
	assert_int_equal(f[1].kind, TH_PATCH_UPDATE_FILE);
	assert_true(th_str_is(f[1].path, "b c.txt"));
	assert_true(th_str_is(f[1].move_to, "d.txt"));
	assert_true(th_str_is(f[1].diff, "@@ x\n-y\n+z\n"));
	assert_true(th_str_is(f[2].diff, "@@\n-1\n+2\n*** End of File\n"));
	assert_true(f[2].move_to.len == 0);
	assert_true(th_str_is(f[3].move_to, "g"));
	assert_true(f[3].diff.len == 0);
	assert_int_equal(f[4].kind, TH_PATCH_DELETE_FILE);
	assert_int_equal(parse("*** Begin Patch\r\n*** Add File: a\r\n+b\r\n*** End Patch", &f), 1);
	assert_true(th_str_is(f[0].path, "a"));
	assert_true(th_str_is(f[0].diff, "+b\r\n"));
	/* A new file may be empty, and white space behind the first line means nothing. */
	assert_int_equal(parse("*** Begin Patch \n*** Add File: a\n*** End Patch", &f), 1);
	assert_int_equal(f[0].kind, TH_PATCH_ADD_FILE);
	assert_true(f[0].diff.len == 0);
}

static void test_bad_envelopes(void **unused)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "line 1" },
		{ "*** Begin", "begins with *** Begin Patch" },
		{ "*** Begin Patch", "is wanted" },
		{ "*** Begin Patch\n*** End Patch", "at least one file" },
		{ "*** Begin Patch\n*** Add File: \n+a\n*** End Patch", "a path is wanted" },
		{ "*** Begin Patch\n*** Add File: a\nb\n*** End Patch", "line 3" },
		{ "*** Begin Patch\n*** Add File: a\n+b", "must end with" },
		{ "*** Begin Patch\n*** Add File: a", "begins with +" },
		{ "*** Begin Patch\n*** Update File: a\n*** End Patch", "lines of the file" },
		{ "*** Begin Patch\n*** Update File: a\n*** Move to: \n*** End Patch", "a path" },
		{ "*** Begin Patch\n*** Delete File: a\n-b\n*** End Patch", "deleted file" },
		{ "*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore",
		  "nothing may follow" },
		{ "*** Begin Patch\n*** Remove File: a\n*** End Patch", "is wanted" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_patch_file *f;
		struct th_err err = {};
		size_t count;

		assert_int_equal(th_patch_parse(th_str_of(bad[i].text), &arena, &f, &count, &err),
				 TH_EPROTO);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.msg);
	}
}

static void test_many_files(void **unused)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_patch_file *f;
	struct th_arena small;
	struct th_err err = {};
	size_t count;

	(void)unused;
	th_buf_add_cstr(&text, "*** Begin Patch\n");
	for (int i = 0; i < TH_PATCH_FILES_MAX; i++)
		th_buf_printf(&text, "*** Delete File: %d\n", i);
	th_buf_add_cstr(&text, "*** End Patch");
	assert_int_equal(parse(text.ptr, &f), TH_PATCH_FILES_MAX);
	th_buf_truncate(&text, text.len - strlen("*** End Patch"));
	th_buf_add_cstr(&text, "*** Delete File: x\n*** End Patch");
	assert_int_equal(th_patch_parse(th_buf_str(&text), &arena, &f, &count, &err), TH_ELIMIT);
	th_arena_init(&small, 16);
	assert_int_equal(th_patch_parse(th_buf_str(&text), &small, &f, &count, &err), TH_ELIMIT);
	th_arena_deinit(&small);
	th_buf_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),        cmocka_unit_test(test_anchors),
		cmocka_unit_test(test_white_space),   cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_line_ends),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_made_diffs),    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_the_longest),   cmocka_unit_test(test_steps),
		cmocka_unit_test(test_long_reasons),  cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_bad_envelopes), cmocka_unit_test(test_many_files),
	};
	int failed;

	th_arena_init(&arena, TH_MIB);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	th_arena_deinit(&arena);
	return failed;
}
