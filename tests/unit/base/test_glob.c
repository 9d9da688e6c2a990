/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include "unit.h"

#include "base/limits.h"

static void matches_paths(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool braces, matches;
	} rows[] = {
		{ "a.c", "a.c", false, true },
		{ "*.c", "a.c", false, true },
		{ "*.c", "d/a.c", false, false },
		{ "*", "", false, true },
		{ "a?c", "abc", false, true },
		{ "a?c", "a/c", false, false },
		{ "**/a.c", "a.c", false, true },
		{ "**/a.c", "d/e/a.c", false, true },
		{ "**/a.c", "d/ea.c", false, false },
		{ "d/**", "d/e/f", false, true },
		{ "d/**", "d", false, false },
		{ "d/**/f", "d/f", false, true },
		{ "d/**/f", "d/e/e/f", false, true },
		{ "d/**/f", "de/f", false, false },
		{ "**/**/f", "f", false, true },
		{ "a**c", "abbc", false, true },
		{ "a**c", "ab/bc", false, false },
		{ "[a-c]x", "bx", false, true },
		{ "[!a-c]x", "bx", false, false },
		{ "[]]", "]", false, true },
		{ "[a", "[a", false, true },
		{ "[!a]", "/", false, false },
		{ "\\*", "*", false, true },
		{ "\\*", "a", false, false },
		{ "*.{c,h}", "a.h", true, true },
		{ "*.{c,h}", "a.o", true, false },
		{ "*.{c,h}", "a.{c,h}", false, true },
		{ "{src,test/{a,b}}/**", "test/b/x", true, true },
		{ "{src,test/{a,b}}/**", "test/c/x", true, false },
		{ "{,a}b", "b", true, true },
		{ "{a", "{a", true, true },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_glob_path(th_str_of(rows[i].pattern), th_str_of(rows[i].path),
				 rows[i].braces) != rows[i].matches)
			fail_msg("%s %s", rows[i].pattern, rows[i].path);
}

/* A pattern that would take for ever, or is too long, matches nothing; and soon. */
static void is_bounded(void **state)
{
	char pattern[TH_GLOB_SIZE_MAX + 1], path[4096];

	(void)state;
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[99] = 'b';
	assert_false(th_glob_path(th_str_n(pattern, 100), th_str_n(path, sizeof(path)), false));
	memset(pattern, '{', sizeof(pattern));
	assert_false(th_glob_path(th_str_n(pattern, 500), TH_STR("a"), true));
	memset(pattern, 'a', sizeof(pattern));
	assert_true(th_glob_path(th_str_n(pattern, TH_GLOB_SIZE_MAX - 1),
				 th_str_n(path, TH_GLOB_SIZE_MAX - 1), true));
	assert_false(th_glob_path(th_str_n(pattern, TH_GLOB_SIZE_MAX),
				  th_str_n(path, TH_GLOB_SIZE_MAX), true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_paths),
		cmocka_unit_test(is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
