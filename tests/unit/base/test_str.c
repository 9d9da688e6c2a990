/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "base/limits.h"
#include "rig.h"

static const struct th_str absent = { NULL, 0 };

static void absent_is_empty(void **state)
{
	struct th_str rest = absent;

	(void)state;
	assert_true(th_str_eq(absent, TH_STR("")));
	assert_true(th_str_is(absent, ""));
	assert_true(th_str_ieq(absent, TH_STR("")));
	assert_int_equal(th_str_cmp(absent, TH_STR("")), 0);
	assert_true(th_str_cmp(absent, TH_STR("a")) < 0);
	assert_true(th_str_starts(TH_STR("a"), absent) && th_str_ends(TH_STR("a"), absent));
	assert_true(th_str_starts(absent, absent) && !th_str_starts(absent, TH_STR("a")));
	assert_int_equal(th_str_find(absent, absent), 0);
	assert_int_equal(th_str_find(absent, TH_STR("a")), -1);
	assert_int_equal(th_str_find_char(absent, 'a'), -1);
	assert_int_equal(th_str_trim(absent).len, 0);
	assert_int_equal(th_str_sub(absent, 3, 4).len, 0);
	assert_int_equal(th_str_split(&rest, ',').len, 0);
	assert_int_equal(rest.len, 0);
	assert_null(th_str_of(NULL).ptr);
}

static void compares(void **state)
{
	(void)state;
	assert_true(th_str_eq(TH_STR("a\0b"), TH_STR("a\0b")));
	assert_false(th_str_eq(TH_STR("a\0b"), TH_STR("a\0c")));
	assert_false(th_str_eq(TH_STR("a"), TH_STR("ab")));
	assert_true(th_str_cmp(TH_STR("ab"), TH_STR("abc")) < 0);
	assert_true(th_str_cmp(TH_STR("abd"), TH_STR("abc")) > 0);
	assert_true(th_str_cmp(TH_STR("\xff"), TH_STR("a")) > 0);
	assert_true(th_str_ieq(TH_STR("Content-TYPE"), TH_STR("content-type")));
	assert_false(th_str_ieq(TH_STR("@"), TH_STR("`")));
	assert_false(th_str_ieq(TH_STR("["), TH_STR("{")));
	assert_false(th_str_ieq(TH_STR("\xc4"), TH_STR("\xe4")));
	assert_true(th_str_istarts(TH_STR("Bearer x"), TH_STR("bearer ")));
	assert_false(th_str_istarts(TH_STR("Bear"), TH_STR("bearer ")));
	assert_true(th_str_starts(TH_STR("abc"), TH_STR("ab")));
	assert_false(th_str_starts(TH_STR("abc"), TH_STR("bc")));
	assert_true(th_str_ends(TH_STR("abc"), TH_STR("bc")));
	assert_false(th_str_ends(TH_STR("abc"), TH_STR("ab")));
	assert_false(th_str_ends(TH_STR("c"), TH_STR("bc")));
}

static ptrdiff_t find_slowly(struct th_str s, struct th_str what)
{
	for (size_t i = 0; i + what.len <= s.len; i++)
		if (!memcmp(s.ptr + i, what.ptr, what.len))
			return (ptrdiff_t)i;
	return -1;
}

static void finds(void **state)
{
	char text[12], what[4];

	(void)state;
	for (uint64_t seed = 1, round = 0; round < 20000; round++) {
		struct th_str s = { text, draw_below(&seed, sizeof(text)) };
		struct th_str w = { what, 1 + draw_below(&seed, sizeof(what)) };

		for (size_t i = 0; i < s.len; i++)
			text[i] = (char)('a' + draw_below(&seed, 2));
		for (size_t i = 0; i < w.len; i++)
			what[i] = (char)('a' + draw_below(&seed, 2));
		assert_int_equal(th_str_find(s, w), find_slowly(s, w));
		if (w.len == 1)
			assert_int_equal(th_str_find_char(s, what[0]), find_slowly(s, w));
	}
}

static void cuts(void **state)
{
	struct th_str rest = TH_STR("a,,b"), s = TH_STR("abc");

	(void)state;
	assert_is(th_str_trim(TH_STR(" \t\r\n\v\fa b \n")), "a b");
	assert_is(th_str_trim(TH_STR(" \n ")), "");
	assert_str(th_str_trim(TH_STR("\xc2\xa0")), TH_STR("\xc2\xa0"));
	assert_is(th_str_sub(s, 1, 1), "b");
	assert_is(th_str_sub(s, 1, SIZE_MAX), "bc");
	assert_is(th_str_sub(s, 3, 1), "");
	assert_is(th_str_sub(s, SIZE_MAX, SIZE_MAX), "");
	assert_is(th_str_split(&rest, ','), "a");
	assert_is(th_str_split(&rest, ','), "");
	assert_is(rest, "b");
	assert_is(th_str_split(&rest, ','), "b");
	assert_is(rest, "");
	assert_is(th_str_split(&rest, ','), "");
}

static void reads_i64(void **state)
{
	static const char *const bad[] = { "",
					   "-",
					   "+1",
					   " 1",
					   "1 ",
					   "1.0",
					   "0x1",
					   "--1",
					   "1e3",
					   "9223372036854775808",
					   "-9223372036854775809",
					   "99999999999999999999999" };
	char text[32];
	int64_t v = 77;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_str_i64(th_str_of(bad[i]), &v));
	assert_false(th_str_i64(TH_STR("1\0"), &v));
	assert_int_equal(v, 77);
	assert_true(th_str_i64(TH_STR("-0"), &v) && v == 0);
	assert_true(th_str_i64(TH_STR("007"), &v) && v == 7);
	assert_true(th_str_i64(TH_STR("9223372036854775807"), &v) && v == INT64_MAX);
	assert_true(th_str_i64(TH_STR("-9223372036854775808"), &v) && v == INT64_MIN);
	for (uint64_t seed = 2, round = 0; round < 20000; round++) {
		int64_t wanted = (int64_t)(draw(&seed) >> draw_below(&seed, 64));

		if (round % 2)
			wanted = -wanted;
		(void)snprintf(text, sizeof(text), "%" PRId64, wanted);
		assert_true(th_str_i64(th_str_of(text), &v));
		assert_true(v == wanted);
	}
}

static void reads_f64(void **state)
{
	static const char *const good[] = { "0",
					    "-0",
					    "1",
					    "+1",
					    ".5",
					    "5.",
					    "-.5e-3",
					    "1e3",
					    "1E+3",
					    "007.25",
					    "0.1",
					    "1.7976931348623157e308",
					    "5e-324",
					    "2.2250738585072011e-308",
					    "1e-400",
					    "9007199254740993",
					    "123456789012345678901234567890",
					    "0000" };
	static const char *const bad[] = { "",    "-",         "+",     ".",    "-.",    "e3",
					   "1e",  "1e+",       "1x",    " 1",   "1 ",    "nan",
					   "inf", "-infinity", "NaN",   "0x10", "1e400", "-1e999",
					   "1,5", "1..2",      "1.2.3", "--1",  "1e3.5" };
	double v = 77;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_str_f64(th_str_of(bad[i]), &v));
	assert_false(th_str_f64(TH_STR("1\0"), &v));
	assert_true(v == 77);
	for (size_t i = 0; i < TH_COUNT(good); i++) {
		if (!th_str_f64(th_str_of(good[i]), &v) || v != strtod(good[i], NULL))
			fail_msg("%s", good[i]);
	}
	assert_true(th_str_f64(TH_STR("-0"), &v) && v == 0);
}

static void f64_round_trip(void **state)
{
	char text[40];

	(void)state;
	for (uint64_t seed = 3, round = 0; round < 50000; round++) {
		uint64_t bits = draw(&seed);
		double wanted, v;

		memcpy(&wanted, &bits, sizeof(wanted));
		if (!isfinite(wanted))
			continue;
		(void)snprintf(text, sizeof(text), round % 2 ? "%.17g" : "%.17e", wanted);
		assert_true(th_str_f64(th_str_of(text), &v));
		assert_memory_equal(&v, &wanted, sizeof(v));
	}
}

static void f64_limit(void **state)
{
	char text[TH_NUMBER_TEXT_MAX + 1];
	double v;

	(void)state;
	memset(text, '0', sizeof(text));
	text[0] = '.';
	text[TH_NUMBER_TEXT_MAX - 1] = '1';
	assert_true(th_str_f64(th_str_n(text, TH_NUMBER_TEXT_MAX), &v));
	assert_false(th_str_f64(th_str_n(text, TH_NUMBER_TEXT_MAX + 1), &v));
	memset(text, '9', sizeof(text)); /* 10^309 and more is no double */
	assert_true(th_str_f64(th_str_n(text, 308), &v) && isfinite(v));
	assert_false(th_str_f64(th_str_n(text, TH_NUMBER_TEXT_MAX), &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_is_empty), cmocka_unit_test(compares),
		cmocka_unit_test(finds),           cmocka_unit_test(cuts),
		cmocka_unit_test(reads_i64),       cmocka_unit_test(reads_f64),
		cmocka_unit_test(f64_round_trip),  cmocka_unit_test(f64_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
