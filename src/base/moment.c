/* SPDX-License-Identifier: Apache-2.0 */
#include "base/moment.h"

#include <stdio.h>

#include "base/limits.h"

#define DAY_S INT64_C(86400)
#define DAY_LEN 10 /* "2026-11-27" */

/* ---- days of the Gregorian calendar; years from 1970 on ---- */

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_in(int64_t year, int64_t month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Of the first of January; since 1970. */
static int64_t days_before(int64_t year)
{
	int64_t y = year - 1;

	return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 4);
}

/* ---- reading ---- */

/* So many digits off the text; -1: there are others. */
static int64_t number(struct th_str *s, size_t digits)
{
	int64_t n = 0;

	if (s->len < digits)
		return -1;
	for (size_t i = 0; i < digits; i++) {
		if (s->ptr[i] < '0' || s->ptr[i] > '9')
			return -1;
		n = 10 * n + (s->ptr[i] - '0');
	}
	*s = th_str_sub(*s, digits, s->len);
	return n;
}

static bool mark(struct th_str *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = th_str_sub(*s, 1, s->len);
	return true;
}

/* ".5" as 500; further digits are passed over.  -1: there is none behind the dot. */
static int64_t fraction_ms(struct th_str *s)
{
	int64_t ms = 0, unit = 100;

	if (!mark(s, '.'))
		return 0;
	if (!s->len || s->ptr[0] < '0' || s->ptr[0] > '9')
		return -1;
	for (; s->len && s->ptr[0] >= '0' && s->ptr[0] <= '9'; unit /= 10) {
		ms += unit * (s->ptr[0] - '0');
		*s = th_str_sub(*s, 1, s->len);
	}
	return ms;
}

/* "Z" or "+02:00", in seconds; false: neither. */
static bool zone(struct th_str *s, int64_t *ret)
{
	int64_t sign, hours, minutes;

	*ret = 0;
	if (mark(s, 'Z') || mark(s, 'z'))
		return true;
	sign = mark(s, '+') ? 1 : mark(s, '-') ? -1 : 0;
	hours = number(s, 2);
	if (!sign || hours < 0 || hours > 23 || !mark(s, ':'))
		return false;
	minutes = number(s, 2);
	*ret = sign * (hours * 3600 + minutes * 60);
	return minutes >= 0 && minutes < 60;
}

bool th_moment_day(struct th_str s, int64_t *ret_days)
{
	int64_t year, month, day, days;
	bool good;

	year = number(&s, 4);
	good = mark(&s, '-');
	month = number(&s, 2);
	good &= mark(&s, '-');
	day = number(&s, 2);
	if (!good || s.len || year < 1970 || month < 1 || month > 12 || day < 1 ||
	    day > days_in(year, month))
		return false;
	days = days_before(year) + day - 1;
	for (int64_t m = 1; m < month; m++)
		days += days_in(year, m);
	*ret_days = days;
	return true;
}

bool th_moment_read(struct th_str s, int64_t *ret_ms)
{
	int64_t days = 0, hour, minute, second, ms, offset;
	bool good = th_moment_day(th_str_sub(s, 0, DAY_LEN), &days);

	s = th_str_sub(s, DAY_LEN, s.len);
	good &= mark(&s, 'T') || mark(&s, 't') || mark(&s, ' ');
	hour = number(&s, 2);
	good &= mark(&s, ':');
	minute = number(&s, 2);
	good &= mark(&s, ':');
	second = number(&s, 2);
	ms = fraction_ms(&s);
	good &= zone(&s, &offset) && !s.len;
	if (!good || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
	    second > 60 || ms < 0)
		return false;
	*ret_ms =
	    (days * DAY_S + hour * 3600 + minute * 60 + TH_MIN(second, INT64_C(59)) - offset) *
		1000 +
	    ms;
	return true;
}

enum th_code th_moment_parse(struct th_str text, int64_t now_ms, int64_t *ret_ms,
			     struct th_err *err)
{
	int64_t seconds;

	if (th_str_i64(text, &seconds)) {
		if (seconds < 0 || seconds > TH_MOMENT_MAX_S)
			return th_fail(err, TH_EUSAGE, "seconds from now on are 0 to %lld",
				       (long long)TH_MOMENT_MAX_S);
		*ret_ms = now_ms + seconds * 1000;
		return TH_OK;
	}
	if (!th_moment_read(text, ret_ms))
		return th_fail(err, TH_EUSAGE,
			       "a time is 2026-11-27T08:30:00Z, or seconds from now on");
	if (*ret_ms - now_ms > TH_MOMENT_MAX_S * 1000)
		return th_fail(err, TH_EUSAGE, "that is more than %lld days from now",
			       (long long)(TH_MOMENT_MAX_S / DAY_S));
	return TH_OK;
}

/* ---- writing ---- */

void th_moment_date(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	int64_t shifted = days + 719468, era, of_era, year_of_era, of_year, shifted_month;

	era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	of_era = shifted - era * 146097;
	year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	shifted_month = (5 * of_year + 2) / 153;
	*day = of_year - (153 * shifted_month + 2) / 5 + 1;
	*month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
	*year = year_of_era + era * 400 + (*month <= 2);
}

void th_moment_print(int64_t ms, char ret[static TH_MOMENT_TEXT_SIZE])
{
	int64_t s = TH_MAX(ms, INT64_C(0)) / 1000, rest = s % DAY_S, year, month, day;

	th_moment_date(s / DAY_S, &year, &month, &day);
	snprintf(ret, TH_MOMENT_TEXT_SIZE, "%04d-%02d-%02d %02d:%02d:%02d UTC",
		 (int)TH_MIN(year, INT64_C(9999)), (int)(month % 100), (int)(day % 100),
		 (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
}
