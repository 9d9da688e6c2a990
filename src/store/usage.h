/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what sessions used, added up by user, agent, model and day.
 *
 * A session's row has its totals.  Whenever a store writes such a row, what it
 * has more than the row before is added to the sum of its day.  So the sums
 * cost nothing where the row is not written, and they stay when the session is
 * removed.  What a session has when it comes in (a fork's past, an import) was
 * used elsewhere; one that works for another is counted with that one.
 */
#ifndef TH_STORE_USAGE_H
#define TH_STORE_USAGE_H

#include "base/arena.h"
#include "store/store.h"

/* The line that a write of the row adds to: of the user, agent and model that it had before, on the
 * day of its last event.  `before` NULL: it begins.  False: there is nothing to add. */
bool th_usage_of(const struct th_session_row *before, const struct th_session_row *after,
		 struct th_usage_row *ret);
/* What an append says itself; false: nothing. */
bool th_usage_used(const struct th_append *a, struct th_usage_row *ret);
/* Added to it; what passes the largest number stays there. */
void th_usage_add(struct th_usage_row *to, const struct th_usage_row *more);
/* Is the line asked for? */
bool th_usage_takes(const struct th_usage_filter *f, const struct th_usage_row *row);
uint32_t th_usage_crc(const struct th_usage_row *row);

/* Lines by user, agent, model and day, each once.  {0} and th_usage_sums_init. */
struct th_usage_sums {
	struct th_arena memory; /* of the strings */
	struct th_usage_row *list;
	size_t count, cap;
	uint32_t *slots; /* hash table: index + 1 */
	size_t slot_count;
};
void th_usage_sums_init(struct th_usage_sums *s);
void th_usage_sums_deinit(struct th_usage_sums *s);
/* ELIMIT: more than TH_USAGE_GROUPS_MAX lines; ENOMEM. */
TH_NODISCARD enum th_code th_usage_sums_add(struct th_usage_sums *s, const struct th_usage_row *row,
					    struct th_err *err);
/* The line without what is not asked for, so that lines of one group are one. */
struct th_usage_row th_usage_group(enum th_usage_by by, const struct th_usage_row *row);
/* All of it, in order, to the caller of a store. */
TH_NODISCARD enum th_code th_usage_give(struct th_usage_sums *s, th_usage_fn *fn, void *ctx,
					struct th_err *err);

#endif
