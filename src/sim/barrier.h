/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - what must have been said before an effect may begin, read off
 * the log's own events and not off the fold: every guardrail of its call, of
 * the task's input and of what was said since and its answer has read, and every
 * person who was asked about its answer, in time.
 */
#ifndef TH_SIM_BARRIER_H
#define TH_SIM_BARRIER_H

#include "core/session.h"

#define TH_SIM_WAITS_MAX 16

struct th_sim_barrier {
	struct th_buf input, answer; /* verdicts "STAGE NAME CALL": of the task, of the answer; of
					input the event that it was about stands for the call */
	unsigned asked;              /* people who have not decided yet */
	struct th_buf late;          /* calls that nobody decided about in time, "CALL" */
	struct {
		char call_id[64];
		int64_t expires_ms;
	} waits[TH_SIM_WAITS_MAX]; /* of the answer's questions the newest that have an end */
	size_t wait_count;
	bool tripped;
	uint64_t task_seq;
	uint64_t said, read; /* the last message, and the last that a request has sent */
	uint64_t added;      /* the last that was sent in this task and did not begin it; 0: none */
	size_t added_to;     /* to whom */
};

void th_sim_barrier_init(struct th_sim_barrier *b);
void th_sim_barrier_deinit(struct th_sim_barrier *b);
/* The next event; `fold` has taken it.  Returns what is wrong, or NULL. */
const char *th_sim_barrier_event(struct th_sim_barrier *b, const struct th_session *fold,
				 const struct th_event *ev, const struct th_json *data);
/* Has this guardrail said its word?  `about`: the event, of input. */
bool th_sim_barrier_said(const struct th_sim_barrier *b, struct th_str stage, struct th_str name,
			 struct th_str call_id, uint64_t about);

#endif
