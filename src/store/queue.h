/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - which sessions begin or go on first, of those that wait for a runtime.
 *
 * First who matters most (base/priority.h), what has waited raised; among these the user who has
 * the fewest, counting what runs and what comes before it; then who has waited longest.  Those
 * without a user come last: few runtimes take them.  So a user
 * with a thousand sessions and one with a single session take turns.  A store that several machines
 * use orders them by its own query (th_store_kind.abandoned); for the others it is done here, in
 * memory for as many as are asked for, however many wait.
 */
#ifndef TH_STORE_QUEUE_H
#define TH_STORE_QUEUE_H

#include "store/store.h"

/* One that waits. */
struct th_queued {
	struct th_str id, user;
	enum th_priority level; /* as it is now (th_priority_after) */
	int64_t since_ms;
	int64_t running; /* sessions of the user that run */
};

/* The first `max` of those that are added, in any order. */
struct th_queue;
TH_NODISCARD struct th_queue *th_queue_new(size_t max);
struct th_queue *th_queue_free(struct th_queue *q);                 /* takes NULL, returns NULL */
void th_queue_add(struct th_queue *q, const struct th_queued *one); /* copies the id */
/* In their order, after the last one was added; empty: there are no more. */
struct th_str th_queue_next(struct th_queue *q);

/* Is this one passed over? */
typedef bool th_queue_skip_fn(void *ctx, struct th_str session_id);

/* Of a store of one machine: those that are scheduled and whose time has come, in their order,
 * TH_FLEET_CLAIM_MAX at most.  *ret_next_ms: when the next one of the others begins; 0: there is
 * none. */
TH_NODISCARD enum th_code th_queue_due(struct th_store *s, int64_t now_ms, th_queue_skip_fn *skip,
				       th_session_fn *fn, void *ctx, int64_t *ret_next_ms,
				       struct th_err *err);

#endif
