/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/s3_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/moment.h"

#define ERROR_NAME_MAX 64

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
		if (!element(&at, "LastModified", &changed) || !th_moment_read(changed, &when))
			return th_fail(err, TH_EPROTO,
				       "the list does not say when an object was made");
		code = fn(ctx, key, when / 1000, err);
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
