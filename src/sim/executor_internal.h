/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_internal.h - a simulated executor and its connections.
 */
#ifndef TH_SIM_EXECUTOR_INTERNAL_H
#define TH_SIM_EXECUTOR_INTERNAL_H

#include "executor/state.h"
#include "sim/executor.h"

struct message {
	struct message *next;
	char *head, *attachment;
	size_t head_len, attachment_len;
};

struct queue {
	struct message *first, **last;
};

struct th_sim_conn {
	struct th_exec_client client;
	struct th_sim_exec *x; /* NULL: it died */
	struct th_sim_conn *next;
	bool closed; /* by the runtime */
	int64_t stalled_ms;
	struct queue to_executor, to_runtime;
};

/* An effect under way. */
struct job {
	struct job *next;
	char id[TH_EFFECT_ID_MAX + 1];
	enum th_class class;
	struct th_tool_job *tool; /* one of the two; NULL both: only the late act is left */
	struct th_display_call *screen;
	int64_t due_ms, steps, steps_max;
	bool acts, probes, acted, cancelled, fails;
};

struct th_sim_exec {
	struct th_executor_server p;
	struct th_sim_exec_world world;
	size_t session;
	bool dead, stumbled, flush_due;
	struct th_sim_conn *conns;
	struct job *jobs; /* oldest first */
	unsigned pictures;
};

void th_sim_queue_drop(struct queue *q);
void th_sim_conn_free(struct th_sim_conn *c);

#endif
