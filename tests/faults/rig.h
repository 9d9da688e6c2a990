/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h - a small host of one session, made of the real parts: the driver, the
 * SQLite store with its worker, and the executor's journal, in one process that
 * may die anywhere.  The model is a script; effects are counted in memory that
 * outlives the process, as an independent ledger.
 */
#ifndef TH_TESTS_RIG_H
#define TH_TESTS_RIG_H

#include "store/store.h"

#define RIG_EFFECTS_MAX 64
#define RIG_SESSION "s1"

/* What is known outside of the process that runs. */
struct rig_truth {
	size_t effect_count;
	struct {
		char id[33];
		int acted;
	} effects[RIG_EFFECTS_MAX];
	uint64_t acked_seq; /* the store said that it is durable */
	struct th_digest acked_head;
	int64_t acked_turns;
	bool asked_again;  /* the model, for a turn whose answer was durable */
	bool acted_early;  /* an effect before its intent was durable */
	bool finished;     /* the session rests at its end, all of it durable */
	char stopped[512]; /* the sentence with which the last run stopped, or "" */
	enum th_code code;
};

struct rig_truth *rig_truth_new(void); /* shared with children */
struct rig_options {
	int turns;                   /* of two calls each */
	void (*begin)(void);         /* called when the loop is there: faults begin */
	void (*acked)(uint64_t seq); /* called when a commit was acknowledged */
	void (*acted)(void);         /* called when an effect was done */
	void (*ended)(void);         /* called when the task or the run is over, before closing */
};
/* Plays to the end of the task, or to an error: TH_OK means that the session is finished. */
enum th_code rig_play(const char *folder, struct rig_truth *t, const struct rig_options *o);

/* What must hold of a folder whatever happened to it. */
struct rig_faults {
	long lost, duplicated, diverged, false_claims;
	long unknown; /* outcomes, which is no fault */
	char what[600];
};
void rig_check(const char *folder, const struct rig_truth *t, struct rig_faults *f);

/* One line of the table at the end, and whether it is all zeros. */
bool rig_report(const char *what, long points, long errors, long stops, const struct rig_faults *f);

#endif
