/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - borrowed strings: pointer and length, no NUL promised.
 *
 * A th_str never owns.  { NULL, 0 } means "absent" where a field says so;
 * every function takes it as an empty string.
 */
#ifndef TH_BASE_STR_H
#define TH_BASE_STR_H

#include <string.h>

#include "base/base.h"

struct th_str {
	const char *ptr;
	size_t len;
};

#define TH_STR(literal) ((struct th_str){ "" literal, sizeof(literal) - 1 })
#define TH_STR_INIT(literal)                    \
	{                                       \
		"" literal, sizeof(literal) - 1 \
	} /* for static tables */
#define TH_FMT(s) (int)TH_MIN((s).len, (size_t)INT32_MAX), ((s).ptr ? (s).ptr : "") /* "%.*s" */

static inline struct th_str th_str_of(const char *cstr)
{
	return (struct th_str){ cstr, cstr ? strlen(cstr) : 0 };
}

static inline struct th_str th_str_n(const void *ptr, size_t len)
{
	return (struct th_str){ (const char *)ptr, len };
}

static inline bool th_str_eq(struct th_str a, struct th_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool th_str_is(struct th_str a, const char *cstr)
{
	return th_str_eq(a, th_str_of(cstr));
}

bool th_str_ieq(struct th_str a, struct th_str b); /* ASCII case folded */
int th_str_cmp(struct th_str a, struct th_str b);  /* bytes, like memcmp; for qsort */
bool th_str_starts(struct th_str s, struct th_str prefix);
bool th_str_ends(struct th_str s, struct th_str suffix);
bool th_str_istarts(struct th_str s, struct th_str prefix);
ptrdiff_t th_str_find(struct th_str s, struct th_str what); /* byte offset or -1 */
ptrdiff_t th_str_find_char(struct th_str s, char c);
struct th_str th_str_trim(struct th_str s); /* ASCII white space, both ends */
struct th_str th_str_sub(struct th_str s, size_t from, size_t len); /* clamped */

/* Cuts at the first `sep`: returns what stands before it and leaves the rest in *s. */
struct th_str th_str_split(struct th_str *s, char sep);

/* Whole string as a number; false (and *ret untouched) unless all of it is one and it fits. */
TH_NODISCARD bool th_str_i64(struct th_str s, int64_t *ret);
TH_NODISCARD bool th_str_f64(struct th_str s, double *ret); /* locale-free, finite */

#endif
