/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include "unit.h"

#include "base/limits.h"

static void matches_paths(void **state)
{
	static const struct {
		const char *pattern, *path;
		enum th_glob kind;
		bool matches;
	} rows[] = {
		{ "a.c", "a.c", TH_GLOB_GITIGNORE, true },
		{ "*.c", "a.c", TH_GLOB_GITIGNORE, true },
		{ "*.c", "d/a.c", TH_GLOB_GITIGNORE, false },
		{ "*", "", TH_GLOB_GITIGNORE, true },
		{ "a?c", "abc", TH_GLOB_GITIGNORE, true },
		{ "a?c", "a/c", TH_GLOB_GITIGNORE, false },
		{ "**/a.c", "a.c", TH_GLOB_GITIGNORE, true },
		{ "**/a.c", "d/e/a.c", TH_GLOB_GITIGNORE, true },
		{ "**/a.c", "d/ea.c", TH_GLOB_GITIGNORE, false },
		{ "d/**", "d/e/f", TH_GLOB_GITIGNORE, true },
		{ "d/**", "d", TH_GLOB_GITIGNORE, false },
		{ "d/**/f", "d/f", TH_GLOB_GITIGNORE, true },
		{ "d/**/f", "d/e/e/f", TH_GLOB_GITIGNORE, true },
		{ "d/**/f", "de/f", TH_GLOB_GITIGNORE, false },
		{ "**/**/f", "f", TH_GLOB_GITIGNORE, true },
		{ "a**c", "abbc", TH_GLOB_GITIGNORE, true },
		{ "a**c", "ab/bc", TH_GLOB_GITIGNORE, false },
		{ "[a-c]x", "bx", TH_GLOB_GITIGNORE, true },
		{ "[!a-c]x", "bx", TH_GLOB_GITIGNORE, false },
		{ "[]]", "]", TH_GLOB_GITIGNORE, true },
		{ "[a", "[a", TH_GLOB_GITIGNORE, true },
		{ "[!a]", "/", TH_GLOB_GITIGNORE, false },
		{ "\\*", "*", TH_GLOB_GITIGNORE, true },
		{ "\\*", "a", TH_GLOB_GITIGNORE, false },
		{ "*.{c,h}", "a.h", TH_GLOB_SHELL, true },
		{ "*.{c,h}", "a.o", TH_GLOB_SHELL, false },
		{ "*.{c,h}", "a.{c,h}", TH_GLOB_GITIGNORE, true },
		{ "{src,test/{a,b}}/**", "test/b/x", TH_GLOB_SHELL, true },
		{ "{src,test/{a,b}}/**", "test/c/x", TH_GLOB_SHELL, false },
		{ "{,a}b", "b", TH_GLOB_SHELL, true },
		{ "{a", "{a", TH_GLOB_SHELL, true },
		{ "app/[id]/*.c", "app/[id]/a.c", TH_GLOB_STARS, true },
		{ "app/[id]/*.c", "app/i/a.c", TH_GLOB_STARS, false },
		{ "\\*.c", "*.c", TH_GLOB_STARS, false },
		{ "{a,b}.c", "a.c", TH_GLOB_STARS, false },
		{ "a**c", "ab/bc", TH_GLOB_STARS, true },
		{ "a**/c", "ab/d/c", TH_GLOB_STARS, true },
		{ "a**/c", "ab/dc", TH_GLOB_STARS, false },
		{ "**/c", "c", TH_GLOB_STARS, true },
		{ "d/**/f", "d/f", TH_GLOB_STARS, true },
		{ "d/**", "d", TH_GLOB_STARS, false },
		{ "d/**", "d/", TH_GLOB_STARS, true },
		{ "d/*", "d/e/f", TH_GLOB_STARS, false },
		{ "?", "/", TH_GLOB_STARS, false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_glob_path(th_str_of(rows[i].pattern), th_str_of(rows[i].path),
				 rows[i].kind) != rows[i].matches)
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
	assert_false(
	    th_glob_path(th_str_n(pattern, 100), th_str_n(path, sizeof(path)), TH_GLOB_GITIGNORE));
	for (size_t i = 0; i + 1 < 99; i += 3)
		memcpy(pattern + i, "**a", 3);
	assert_false(
	    th_glob_path(th_str_n(pattern, 100), th_str_n(path, sizeof(path)), TH_GLOB_STARS));
	memset(pattern, '{', sizeof(pattern));
	assert_false(th_glob_path(th_str_n(pattern, 500), TH_STR("a"), TH_GLOB_SHELL));
	memset(pattern, 'a', sizeof(pattern));
	assert_true(th_glob_path(th_str_n(pattern, TH_GLOB_SIZE_MAX - 1),
				 th_str_n(path, TH_GLOB_SIZE_MAX - 1), TH_GLOB_SHELL));
	assert_false(th_glob_path(th_str_n(pattern, TH_GLOB_SIZE_MAX),
				  th_str_n(path, TH_GLOB_SIZE_MAX), TH_GLOB_SHELL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_paths),
		cmocka_unit_test(is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
