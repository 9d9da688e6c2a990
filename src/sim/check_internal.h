/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_internal.h - what a simulated world has done, as the check saw it.
 */
#ifndef TH_SIM_CHECK_INTERNAL_H
#define TH_SIM_CHECK_INTERNAL_H

#include "sim/barrier.h"
#include "sim/check.h"

#define EFFECT_ID_SIZE 32
#define EVENTS_MAX 4096
#define FOLD_MEMORY_MAX (4 * TH_MIB)
#define BODY_CALLS_MAX 512
#define TOOLS_MAX 32

struct effect {
	char id[EFFECT_ID_SIZE + 1];
	size_t session;
	enum th_class class;
	bool intended, durable, unresolved;
	bool asks;    /* it is an agent's: a session works on it, */
	size_t child; /* this one; 0: none was begun */
	unsigned acts;
	int outcome; /* enum th_outcome_status, or -1 */
};

struct shadow {
	char *id;
	struct th_session fold;
	struct th_sim_barrier barrier;
	bool there;
	/* It works on a call, */
	size_t asked; /* of this session; */
	bool taken;   /* and somebody else took it */
	int64_t task_turns, tokens, tries;
};

struct th_sim_check {
	struct th_sim_disk *disk;
	struct th_sim_counts *counts;
	char failure[TH_ERR_MSG_MAX];
	struct shadow sessions[TH_SIM_SESSIONS_MAX];
	struct effect *effects;
	size_t effect_count, effect_cap;
};

#endif
