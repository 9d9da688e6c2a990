/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/limits.h"
#include "base/moment.h"
#include "rig.h"

#define NOW INT64_C(1764133200000) /* 2025-11-26 05:00:00 UTC */

static bool reads(const char *text, int64_t ms)
{
	struct th_err err = { 0 };
	int64_t got = -1;

	return th_moment_parse(th_str_of(text), NOW, &got, &err) == TH_OK && got == ms;
}

static bool refuses(const char *text)
{
	struct th_err err = { 0 };
	int64_t got;

	return th_moment_parse(th_str_of(text), NOW, &got, &err) == TH_EUSAGE && err.msg[0];
}

static void test_dates(void **state)
{
	(void)state;
	assert_true(reads("1970-01-01T00:00:00Z", 0));
	assert_true(reads("2025-11-26T05:00:00Z", NOW));
	assert_true(reads("2025-11-26t06:30:00.25+01:30", NOW + 250));
	assert_true(reads("2025-11-26 00:00:00.1239-05:00", NOW + 123));
	assert_true(reads("2028-02-29T00:00:00Z", INT64_C(1835395200000)));
	assert_true(reads("2000-03-01T00:00:00Z", INT64_C(951868800000)));
	assert_true(reads("2016-12-31T23:59:60Z", INT64_C(1483228799000))); /* a leap second */
}

static void test_what_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		"now",
		"2025-11-26",
		"2025-11-26T05:00:00",
		"2025-11-26T05:00Z",
		"2025-02-29T00:00:00Z",
		"2100-02-29T00:00:00Z",
		"2025-13-01T00:00:00Z",
		"2025-00-01T00:00:00Z",
		"2025-01-32T00:00:00Z",
		"2025-01-01T24:00:00Z",
		"2025-01-01T00:60:00Z",
		"2025-01-01T00:00:61Z",
		"2025-01-01T00:00:00.Z",
		"2025-01-01T00:00:00+24:00",
		"2025-01-01T00:00:00+01:60",
		"2025-01-01T00:00:00+0100",
		"2025-01-01T00:00:00Zz",
		"1969-12-31T23:59:59Z",
		"-1",
		"1e9",
		"99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		if (!refuses(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
}

static void test_days_alone(void **state)
{
	static const char *const bad[] = {
		"",           "2026-1-31",  "2026-01-31T", "2026-02-29",
		"2026-+1-05", "1969-12-31", "20260131",    " 2026-01-31"
	};
	int64_t days = -1;

	(void)state;
	assert_true(th_moment_day(TH_STR("1970-01-01"), &days) && days == 0);
	assert_true(th_moment_day(TH_STR("2024-02-29"), &days) && days == 19782);
	assert_true(th_moment_day(TH_STR("9999-12-31"), &days) && days == 2932896);
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		if (th_moment_day(th_str_of(bad[i]), &days))
			fail_msg("\"%s\" is taken", bad[i]);
}

static void test_seconds_and_the_latest(void **state)
{
	char text[64];

	(void)state;
	assert_true(reads("0", NOW));
	assert_true(reads("90", NOW + 90000));
	snprintf(text, sizeof(text), "%lld", (long long)TH_MOMENT_MAX_S);
	assert_true(reads(text, NOW + TH_MOMENT_MAX_S * 1000));
	snprintf(text, sizeof(text), "%lld", (long long)TH_MOMENT_MAX_S + 1);
	assert_true(refuses(text));
	assert_true(refuses("9999-01-01T00:00:00Z"));
}

/* What is printed is what is read, on each day of four hundred years. */
static void test_printed(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 146097; day++) {
		int64_t ms = (day * 86400 + day % 86400) * 1000, got;
		char text[TH_MOMENT_TEXT_SIZE], iso[TH_MOMENT_TEXT_SIZE];
		time_t seconds = (time_t)(ms / 1000);
		struct tm tm;
		struct th_err err = { 0 };

		th_moment_print(ms, text);
		gmtime_r(&seconds, &tm);
		strftime(iso, sizeof(iso), "%Y-%m-%d %H:%M:%S UTC", &tm);
		assert_string_equal(text, iso);
		snprintf(iso, sizeof(iso), "%.19sZ", text);
		assert_int_equal(th_moment_parse(th_str_of(iso), ms, &got, &err), TH_OK);
		assert_int_equal(got, ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dates),      cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_days_alone), cmocka_unit_test(test_seconds_and_the_latest),
		cmocka_unit_test(test_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
