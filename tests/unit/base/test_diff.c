/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diff.h"

#include "unit.h"

#include "base/limits.h"

#define NAME TH_STR("f")

static void diff(const char *before, const char *after, const char *wanted)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	assert_int_equal(th_diff(th_str_of(before), th_str_of(after), NAME, NAME, &out, &err),
			 TH_OK);
	assert_string_equal(out.ptr, wanted);
}

static void is_a_unified_diff(void **state)
{
	(void)state;
	diff("", "", "");
	diff("a\n", "a\n", "");
	diff("a\nb\n", "a\nc\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
	diff("a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
	diff("", "x", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n");
	/* Six lines between are one hunk, seven are two. */
	diff("x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n",
	     "--- a/f\n+++ b/f\n@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n");
	diff(
	    "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n",
	    "--- a/f\n+++ b/f\n@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n");
}

static void names(void **state)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_str none = { NULL, 0 };
	struct th_err err;

	(void)state;
	assert_int_equal(th_diff(TH_STR(""), TH_STR(""), none, TH_STR("a\n+++ b"), &out, &err),
			 TH_OK);
	assert_string_equal(out.ptr, "--- /dev/null\n+++ \"b/a\\012+++ b\"\n");
}

/* The text that a diff makes of another one; false: it does not fit. */
static bool apply(struct th_str before, struct th_str patch, struct th_buf *out)
{
	size_t line = 1;

	(void)th_str_split(&patch, '\n');
	(void)th_str_split(&patch, '\n');
	while (patch.len) {
		struct th_str l = th_str_split(&patch, '\n');
		char mark = l.ptr[0];

		if (mark == '@') {
			struct th_str number = th_str_sub(l, 4, l.len), range, first;
			int64_t at;

			range = th_str_split(&number, ' ');
			first = th_str_split(&range, ',');
			if (!th_str_i64(first, &at))
				return false;
			at += th_str_is(range, "0");
			for (; line < (size_t)at; line++) {
				th_buf_add(out, th_str_split(&before, '\n'));
				th_buf_add_char(out, '\n');
			}
			continue;
		}
		if (mark != '+') {
			if (!th_str_eq(th_str_split(&before, '\n'), th_str_sub(l, 1, l.len)))
				return false;
			line++;
		}
		if (mark != '-') {
			th_buf_add(out, th_str_sub(l, 1, l.len));
			th_buf_add_char(out, '\n');
		}
	}
	th_buf_add(out, before);
	return true;
}

static void random_text(struct th_buf *out, unsigned *seed, int lines, int words)
{
	for (int i = 0; i < lines; i++) {
		*seed = *seed * 1103515245 + 12345;
		th_buf_printf(out, "%u\n", (*seed >> 16) % (unsigned)words);
	}
}

static void makes_the_other_text(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct th_buf a TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_buf made TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_err err;

		random_text(&a, &seed, i % 41, 1 + i % 7);
		random_text(&b, &seed, i % 37, 1 + i % 7);
		assert_int_equal(th_diff(th_buf_str(&a), th_buf_str(&b), NAME, NAME, &out, &err),
				 TH_OK);
		assert_true(apply(th_buf_str(&a), th_buf_str(&out), &made));
		assert_string_equal(made.ptr, b.ptr);
	}
}

static void limits(void **state)
{
	struct th_buf a TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct th_buf made TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	(void)state;
	/* More edits than are looked for: all between is replaced, and the result is the same. */
	for (int i = 0; i <= TH_DIFF_EDITS_MAX; i++) {
		th_buf_printf(&a, "same\nold %d\n", i);
		th_buf_printf(&b, "same\nnew %d\n", i);
	}
	assert_int_equal(th_diff(th_buf_str(&a), th_buf_str(&b), NAME, NAME, &out, &err), TH_OK);
	assert_true(apply(th_buf_str(&a), th_buf_str(&out), &made));
	assert_string_equal(made.ptr, b.ptr);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("\n same\n-old 1\n+new 1\n")) < 0);
	th_buf_clear(&a);
	th_buf_clear(&out);
	for (int i = 0; i < TH_DIFF_LINES_MAX; i++)
		th_buf_add_char(&a, '\n');
	assert_int_equal(th_diff(th_buf_str(&a), TH_STR(""), NAME, NAME, &out, &err), TH_OK);
	th_buf_clear(&out);
	th_buf_add_char(&a, '\n');
	assert_int_equal(th_diff(th_buf_str(&a), TH_STR(""), NAME, NAME, &out, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "lines"));
	{
		struct th_buf small TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(20);

		assert_int_equal(th_diff(TH_STR("a"), TH_STR("b"), NAME, NAME, &small, &err),
				 TH_ELIMIT);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_a_unified_diff),
		cmocka_unit_test(names),
		cmocka_unit_test(makes_the_other_text),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
