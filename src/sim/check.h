/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - what must hold in every simulation, and who counts: a ledger of
 * the outside world that neither runtime nor executor can write, and a second
 * fold of what is durable.
 *
 * It only looks.  The first thing that is wrong is kept as one sentence; the
 * counters go on.
 */
#ifndef TH_SIM_CHECK_H
#define TH_SIM_CHECK_H

#include "core/session.h"
#include "history/history.h"
#include "sim/disk.h"

struct th_sim_counts {
	uint64_t seeds, failed_seeds, steps, crashes, events, requests, effects, duplicated, lost,
	    diverged, unknown, unknown_happened, false_claims;
};

struct th_sim_check;

struct th_sim_check *th_sim_check_new(struct th_sim_disk *disk, struct th_sim_counts *counts);
struct th_sim_check *th_sim_check_free(struct th_sim_check *c);
/* The first thing that was wrong, or NULL. */
const char *th_sim_check_failure(const struct th_sim_check *c);
TH_PRINTF(2, 3) void th_sim_check_blame(struct th_sim_check *c, const char *fmt, ...);

/* Session `number` is what `id` names from now on. */
void th_sim_check_session(struct th_sim_check *c, size_t number, struct th_str id);
/* Something was committed, or a power cut took something: catches up with the store. */
void th_sim_check_log(struct th_sim_check *c, size_t number);
/* A runtime's own state, when nothing of it waits to be written. */
void th_sim_check_live(struct th_sim_check *c, size_t number, const struct th_session *live);
/* An append under this epoch was taken; the store's own was `current`. */
void th_sim_check_append(struct th_sim_check *c, size_t number, int64_t epoch, int64_t current);

/* The outside world: it happened.  An id's part behind 32 characters is an alias's. */
void th_sim_check_act(struct th_sim_check *c, size_t number, struct th_str effect_id,
		      enum th_class class);
bool th_sim_check_acted(const struct th_sim_check *c, struct th_str effect_id);
/* From now on UNKNOWN is an honest answer about what is open in the session. */
void th_sim_check_unresolved(struct th_sim_check *c, size_t number);

/* The owner of that child session has lost it: what the child did may be unknown. */
void th_sim_check_taken(struct th_sim_check *c, size_t number);
bool th_sim_check_is_taken(const struct th_sim_check *c, size_t number);

/* The owner asks a guardrail: what it is about is durable, and its verdict is not there yet. */
void th_sim_check_guard(struct th_sim_check *c, size_t number, struct th_str stage,
			struct th_str name, struct th_str call_id);

/* A request of the owner, of this agent, when it goes out. */
void th_sim_check_request(struct th_sim_check *c, size_t number, uint64_t seq, size_t agent,
			  const struct th_request_options *options, const struct th_str *body,
			  size_t body_count);

/* No more faults, and nothing moves: did every session come to rest? */
void th_sim_check_end(struct th_sim_check *c);

#endif
