/* SPDX-License-Identifier: Apache-2.0 */
/*
 * used.h - what a session takes beside the numbers of its row: time, and what
 * was written to a provider's cache.
 *
 * For sums alone (store/usage.h).  A session's fold counts it, and says it when
 * the session comes to rest, and each TH_USED_SAID_MS while it runs: at the same
 * events whoever folds them.
 */
#ifndef TH_EVENTS_USED_H
#define TH_EVENTS_USED_H

#include <stdint.h>

struct th_used {
	int64_t tokens_written;                /* to a provider's cache */
	int64_t model_ms, tools_ms, person_ms; /* answers, tools, waiting for a person */
};

/* Never below 0, never past the largest number. */
void th_used_add(int64_t *to, int64_t more);
struct th_used th_used_more(const struct th_used *before, const struct th_used *now);

#endif
