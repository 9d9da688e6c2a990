/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moment.h - points in time as people and programs write them.
 */
#ifndef TH_BASE_MOMENT_H
#define TH_BASE_MOMENT_H

#include "base/err.h"
#include "base/str.h"

/*
 * RFC 3339 ("2026-11-27T08:30:00Z", "…08:30:00.5+02:00"), in milliseconds since 1970 UTC; or a
 * number of seconds from `now_ms` on.  TH_EUSAGE: neither, no such day, or more than
 * TH_MOMENT_MAX_S after `now_ms`.  What is before `now_ms` is given as it is.
 */
TH_NODISCARD enum th_code th_moment_parse(struct th_str text, int64_t now_ms, int64_t *ret_ms,
					  struct th_err *err);

/* RFC 3339 alone, from 1970 on.  False: it is no such time. */
bool th_moment_read(struct th_str text, int64_t *ret_ms);

/* "2026-11-27" alone, from 1970 on, as days since then.  False: it is no such day. */
bool th_moment_day(struct th_str text, int64_t *ret_days);

/* The date of a day since 1970, of the Gregorian calendar in both directions. */
void th_moment_date(int64_t days, int64_t *year, int64_t *month, int64_t *day);

/* "2026-11-27 08:30:00 UTC" */
#define TH_MOMENT_TEXT_SIZE 32
void th_moment_print(int64_t ms, char ret[static TH_MOMENT_TEXT_SIZE]);

#endif
