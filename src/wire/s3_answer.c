/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/s3_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

#define ERROR_NAME_MAX 64
#define DAY_S 86400

/* What is between <name> and </name>, the first in *at, which moves behind it.  False: none. */
static bool element(struct th_str *at, const char *name, struct th_str *ret)
{
	char tag[32];
	ptrdiff_t from, to;

	snprintf(tag, sizeof(tag), "<%s>", name);
	from = th_str_find(*at, th_str_of(tag));
	if (from < 0)
		return false;
	*ret = th_str_sub(*at, (size_t)from + strlen(tag), at->len);
	snprintf(tag, sizeof(tag), "</%s>", name);
	to = th_str_find(*ret, th_str_of(tag));
	if (to < 0)
		return false;
	*at = th_str_sub(*ret, (size_t)to + strlen(tag), ret->len);
	*ret = th_str_sub(*ret, 0, (size_t)to);
	return true;
}

/* Digits alone; -1: others. */
static int64_t digits(struct th_str s, size_t from, size_t count)
{
	int64_t v = 0;

	if (from + count > s.len)
		return -1;
	for (size_t i = from; i < from + count; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -1;
		v = v * 10 + (s.ptr[i] - '0');
	}
	return v;
}

/* "2013-05-24T00:00:00.000Z".  False: it is no time. */
static bool time_read(struct th_str s, int64_t *ret)
{
	int64_t year = digits(s, 0, 4), month = digits(s, 5, 2), day = digits(s, 8, 2);
	int64_t hour = digits(s, 11, 2), minute = digits(s, 14, 2), second = digits(s, 17, 2);
	int64_t era, yoe, doy;

	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 ||
	    hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 ||
	    s.ptr[4] != '-' || s.ptr[7] != '-' || s.ptr[10] != 'T' || s.ptr[13] != ':' ||
	    s.ptr[16] != ':' || !th_str_ends(s, TH_STR("Z")))
		return false;
	year -= month <= 2; /* years begin in March */
	era = year / 400;
	yoe = year % 400;
	doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	*ret = (era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468) * DAY_S +
	       hour * 3600 + minute * 60 + second;
	return true;
}

enum th_code th_s3_list_read(struct th_str xml, th_s3_object_fn *fn, void *ctx, bool *ret_more,
			     struct th_err *err)
{
	struct th_str rest = xml, all, truncated, object, key, changed;
	enum th_code code = TH_OK;
	size_t count = 0;

	*ret_more = false;
	ptrdiff_t from = th_str_find(rest, TH_STR("<ListBucketResult"));
	ptrdiff_t to = th_str_find(rest, TH_STR("</ListBucketResult>"));
	if (from < 0 || to < from)
		return th_fail(err, TH_EPROTO, "the answer is no list of objects");
	all = th_str_sub(rest, (size_t)from, (size_t)(to - from));
	rest = all;
	if (!element(&rest, "IsTruncated", &truncated))
		return th_fail(err, TH_EPROTO, "the list does not say whether it is whole");
	rest = all;
	for (; code == TH_OK && element(&rest, "Contents", &object); count++) {
		struct th_str at = object;
		int64_t when;

		if (count == TH_PLACE_LIST_MAX)
			return th_fail(err, TH_EPROTO, "the list has more than %d objects",
				       TH_PLACE_LIST_MAX);
		if (!element(&at, "Key", &key))
			return th_fail(err, TH_EPROTO, "the list has an object without a key");
		at = object;
		if (!element(&at, "LastModified", &changed) || !time_read(changed, &when))
			return th_fail(err, TH_EPROTO,
				       "the list does not say when an object was made");
		code = fn(ctx, key, when, err);
	}
	/* One that says there is more and has nothing would be asked for ever. */
	*ret_more = count > 0 && th_str_is(truncated, "true");
	return code;
}

struct th_str th_s3_error_name(struct th_str xml)
{
	struct th_str name;

	if (!element(&xml, "Code", &name) || name.len > ERROR_NAME_MAX)
		return TH_STR("");
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i] | 0x20;

		if ((c < 'a' || c > 'z') && (name.ptr[i] < '0' || name.ptr[i] > '9'))
			return TH_STR("");
	}
	return name;
}
