/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - a task of the A2A protocol: a stretch of a session, folded from
 * its events, live or from its log, and printed in the words of version 1.0
 * (ProtoJSON) or 0.3.
 *
 * A context is a session.  A task begins with a message to a session that has
 * nothing to do, and is over with the answer to it; what is said to the session
 * afterwards begins the next one.  Its id is SESSION.SEQ, the event before it,
 * so nothing is kept beside the log.
 */
#ifndef TH_A2A_TASK_H
#define TH_A2A_TASK_H

#include "base/json.h"
#include "base/limits.h"

enum th_a2a_state {
	TH_A2A_SUBMITTED,
	TH_A2A_WORKING,
	TH_A2A_INPUT_REQUIRED,
	TH_A2A_COMPLETED,
	TH_A2A_FAILED,
	TH_A2A_CANCELED
};

#define TH_A2A_ID_MAX (TH_TASK_ID_MAX + 1) /* with its zero */

struct th_a2a_message {
	char *text;
	uint64_t seq;
	bool user;
};

/* A call that has no result yet. */
struct th_a2a_call {
	char *call_id, *tool, *arguments, *reason;
	bool waits, parked, below; /* below: of a session that works for this one */
	bool question;             /* an answer is its result */
};

struct th_a2a_task {
	char session[TH_SESSION_ID_MAX + 1];
	uint64_t after;
	bool latest; /* of all tasks in the log the last one counts */
	enum th_a2a_state state;
	struct th_a2a_message *messages;
	size_t message_count;
	struct th_a2a_call *calls;
	size_t call_count;
	char *output, *why; /* may be NULL */
	int64_t at_ms;      /* of its last event */
	uint64_t last_seq;  /* 0: it has no event */
};

void th_a2a_task_init(struct th_a2a_task *t, const char *session, uint64_t after);
void th_a2a_task_deinit(struct th_a2a_task *t);
/* One event of its session.  False: it begins the next task (never with `latest`), and this one is
 * as it was. */
bool th_a2a_task_event(struct th_a2a_task *t, struct th_str event);
const char *th_a2a_state_name(enum th_a2a_state s, bool v1);
bool th_a2a_task_over(const struct th_a2a_task *t);
/* The first question that waits for its answer; NULL: none does. */
const struct th_a2a_call *th_a2a_task_question(const struct th_a2a_task *t);

void th_a2a_task_id(const struct th_a2a_task *t, char ret[static TH_A2A_ID_MAX]);
/* False: it is none. */
bool th_a2a_task_parse(struct th_str id, char session[static TH_SESSION_ID_MAX + 1],
		       uint64_t *after);

/* ---- printed; `v1`: in the words of version 1.0 ---- */

/* `history`: at most so many messages, the newest. */
void th_a2a_print_task(const struct th_a2a_task *t, bool v1, int64_t history, struct th_jw *w);
/* {"taskId", "contextId", "status", …} of an update; `v1` names its member. */
void th_a2a_print_status(const struct th_a2a_task *t, bool v1, struct th_jw *w);
void th_a2a_print_output(const struct th_a2a_task *t, bool v1, struct th_jw *w);

#endif
