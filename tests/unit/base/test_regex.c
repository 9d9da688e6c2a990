/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: what they match whole, what Python refuses, what is not here, and the
 * limits. */
#include "unit.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/regex.h"

static enum th_code compile(struct th_arena *a, const char *text, const struct th_regex **re)
{
	struct th_err err = { 0 };

	return th_regex_compile(th_str_of(text), a, re, &err);
}

static void whole_texts_match(void **state)
{
	const struct {
		const char *pattern, *text;
		bool want;
	} rows[] = {
		{ "a|b", "a", true },
		{ "a|b", "ab", false },
		{ "term.*", "terminal", true },
		{ "term", "terminal", false },
		{ "(file|term).*", "file_editor", true },
		{ "(file|term|x)_?.*z", "filez", true },
		{ "|a", "", true },
		{ "a*", "", true },
		{ "a*", "aaaa", true },
		{ "(a*)*", "aab", false },
		{ "(a*)*b", "aab", true },
		{ "a+?", "aaa", true },
		{ "a{2,3}", "a", false },
		{ "a{2,3}", "aaa", true },
		{ "a{2,3}", "aaaa", false },
		{ "a{,2}b", "b", true },
		{ "(ab){2}", "abab", true },
		{ "(ab){0}c", "c", true },
		{ "(a|bc){2,}", "abca", true },
		{ "(a|bc){2,}", "a", false },
		{ "a{,x}", "a{,x}", true },
		{ "[a-c_]+", "a_b", true },
		{ "[^a-c]+", "xyz", true },
		{ "[^a-c]+", "xaz", false },
		{ "[]a]", "]", true },
		{ "[a-]+", "a-", true },
		{ "[\\d.]+", "1.5", true },
		{ "\\w+\\s\\d", "ab 1", true },
		{ "\\D\\S\\W", "ab.", true },
		{ "\\bab\\b", "ab", true },
		{ "a\\Bb", "ab", true },
		{ "^mcp__.+$", "mcp__x", true },
		{ "\\x41\\.", "A.", true },
		{ "(?:a|b)(?P<n>c)", "bc", true },
		{ ".", "\n", false },
		{ ".", "x", true },
		{ "a.c",
		  "a\xff"
		  "c",
		  true },
		{ "(x?){20}", "xxxxxxxxxxxxxxxxxxxx", true },
	};
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_regex *re;

		if (compile(&a, rows[i].pattern, &re))
			fail_msg("%s does not compile", rows[i].pattern);
		if (th_regex_matches(re, th_str_of(rows[i].text)) != rows[i].want)
			fail_msg("%s against %s", rows[i].pattern, rows[i].text);
	}
}

static void bad_ones_are_told_apart(void **state)
{
	static const char *const bad[] = { "[bad",   "a(b",     "a)",       "*a",    "a**",
					   "^*",     "\\",      "\\q",      "[z-a]", "(?z)",
					   "a{3,2}", "[a-\\d]", "(?P<1>a)", "\\x4",  "a|*" };
	static const char *const missing[] = { "(?!a).*", "(?=a)a", "(?<=a)b",    "(a)\\1",
					       "(?i)a",   "a++",    "[\xc3\xa4]", "\\u0041" };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	const struct th_regex *re;

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		if (compile(&a, bad[i], &re) != TH_EUSAGE)
			fail_msg("%s is not refused", bad[i]);
	for (size_t i = 0; i < TH_COUNT(missing); i++)
		if (compile(&a, missing[i], &re) != TH_EUNSUPPORTED)
			fail_msg("%s is not said to be missing", missing[i]);
}

static void limits_are_errors(void **state)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_regex *re;
	char number[32];

	(void)state;
	th_arena_init(&a, TH_MIB);
	/* With its end it has one step more. */
	snprintf(number, sizeof(number), "a{%d}", TH_REGEX_STEPS_MAX - 1);
	assert_int_equal(compile(&a, number, &re), TH_OK);
	snprintf(number, sizeof(number), "a{%d}", TH_REGEX_STEPS_MAX);
	assert_int_equal(compile(&a, number, &re), TH_ELIMIT);
	assert_int_equal(compile(&a, "(((((a{99}){99}){99}){99}){99})", &re), TH_ELIMIT);
	assert_int_equal(compile(&a, "((((){900}){900}){900}){900}", &re), TH_ELIMIT);
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		for (int i = 0; i < TH_REGEX_DEPTH_MAX + more; i++)
			th_buf_add_char(&text, '(');
		for (int i = 0; i < TH_REGEX_DEPTH_MAX + more; i++)
			th_buf_add_char(&text, ')');
		assert_int_equal(compile(&a, text.ptr, &re), more ? TH_ELIMIT : TH_OK);
	}
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		for (int i = 0; i < TH_REGEX_TEXT_MAX + more; i++)
			th_buf_add_char(&text, 'a');
		assert_int_equal(compile(&a, ".*", &re), TH_OK);
		assert_int_equal(th_regex_matches(re, th_buf_str(&text)), !more);
		/* So long a word has too many steps; too long a one is not even read. */
		assert_int_equal(compile(&a, text.ptr, &re), TH_ELIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_texts_match),
		cmocka_unit_test(bad_ones_are_told_apart),
		cmocka_unit_test(limits_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
