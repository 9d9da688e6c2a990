/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_world.h - a whole small world in one thread on virtual time: the real
 * core and driver, the executor's real ledger and effects, a provider, people,
 * a disk; and what goes wrong with them.
 *
 * Everything is drawn from the seed: the same seed and variant make the same
 * story, step by step.  No file, clock or entropy is touched.
 */
#ifndef TH_RUN_SIM_WORLD_H
#define TH_RUN_SIM_WORLD_H

#include <stdio.h>

#include "run/sim_check.h"

/* Broken on purpose, to see that the checkers see it.  id, name, what is wrong */
#define TH_SIM_VARIANTS(X)                                                                    \
	X(NONE, "none", "as it is built")                                                     \
	X(NO_INTENT, "no-intent", "effects are dispatched before their intent is in the log") \
	X(OUTCOME_FIRST, "outcome-first", "the executor says done, then does it")             \
	X(NO_FENCING, "no-fencing", "neither store nor executor looks at the epoch")          \
	X(NO_JOURNAL, "no-journal", "the executor's journal is empty after its end")          \
	X(REPEAT, "repeat-on-recovery", "what has no outcome is done again")                  \
	X(NO_SYNC, "ack-before-sync", "the store acknowledges what is not on the disk")

#define X(id, name, doc) TH_SIM_##id,
enum th_sim_variant { TH_SIM_VARIANTS(X) TH_SIM_VARIANT_COUNT };
#undef X

const char *th_sim_variant_name(enum th_sim_variant v);
const char *th_sim_variant_doc(enum th_sim_variant v);
int th_sim_variant_find(struct th_str name); /* or -1 */

struct th_sim_options {
	uint64_t seed;
	enum th_sim_variant variant;
	FILE *trace; /* the story, one line per step; NULL: none */
};

/* One simulation.  False: something was wrong, said in `failure`. */
bool th_sim_run(const struct th_sim_options *options, struct th_sim_counts *counts,
		char failure[static TH_ERR_MSG_MAX]);

#endif
