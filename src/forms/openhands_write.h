/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_write.h - a session of ours as the events of an OpenHands conversation.
 *
 * An event that was imported stands there as it came.  Others are told in OpenHands' own
 * kinds; calls of tools that it does not know are calls of an MCP tool, which it loads without the
 * tool. What only we have (intents, budgets, requests) is left out.
 */
#ifndef TH_FORMS_OPENHANDS_WRITE_H
#define TH_FORMS_OPENHANDS_WRITE_H

#include "events/event.h"
#include "forms/openhands_log.h"
#include "forms/trajectory.h"

#define TH_FORM_OPENHANDS_V0 "openhands-v0"
#define TH_FORM_OPENHANDS_V1 "openhands"

struct th_openhands_call {
	struct th_str call_id, tool, arguments, rejection, risk;
	struct th_str event; /* id (V1) or number (V0) of its action */
	bool is_object;      /* its arguments are, as OpenHands wants them */
	bool of_client;      /* of a tool that a client gave */
	bool invalid;        /* there is no such tool, or its arguments cannot be used */
};

/* What the session was given to reach (GOAL). */
struct th_openhands_goal {
	struct th_str objective;
	int64_t rounds, given;
	double threshold; /* of a verdict that it is reached */
	bool on;
	bool halted; /* it is told as interrupted: the run does not go on by itself */
	bool held;   /* nor by a message */
};

/* Of SESSION_CREATED: before the others. */
void th_openhands_goal_created(struct th_openhands_goal *g, const struct th_json *created);
/* The status that it has from this event on, which is told; NULL: nothing is.  *ret_judged: with
 * the event's verdict. */
const char *th_openhands_goal_step(struct th_openhands_goal *g, const struct th_event *ev,
				   const struct th_json *v, struct th_arena *memory,
				   bool *ret_judged);

struct th_openhands_writer {
	struct th_openhands_log *log;
	const struct th_trajectory_out *out; /* bytes of pictures come from there */
	struct th_arena memory;
	uint64_t *seqs; /* our event of each of the log's */
	size_t seq_cap;
	struct th_openhands_call *calls;
	size_t call_count, call_cap;
	struct th_str said, thought; /* of an answer whose calls come next */
	struct th_str answer;        /* its id */
	struct th_str stamp, id;     /* of the event that is written */
	bool imported;               /* it began as a conversation of OpenHands */
	/* Whoever reads the events has the tools that a client gave to the session: calls of them
	 * have kinds of their own.  Set by the caller before the first event. */
	bool has_tools;
	struct th_json_doc *tools; /* a list of those; NULL: none */
	struct th_openhands_goal goal;
	bool finished, failed;
	int64_t turns_max;
};

void th_openhands_writer_init(struct th_openhands_writer *x, struct th_openhands_log *log,
			      const struct th_trajectory_out *out);
void th_openhands_writer_deinit(struct th_openhands_writer *x);
/* The bytes that it and its log hold. */
size_t th_openhands_writer_size(const struct th_openhands_writer *x);
/* The next event of the session.  Appends to the log. */
TH_NODISCARD enum th_code th_openhands_write(struct th_openhands_writer *x,
					     const struct th_event *ev, struct th_err *err);
/* What is left when all events are there. */
TH_NODISCARD enum th_code th_openhands_write_end(struct th_openhands_writer *x, struct th_err *err);

/* One generation's kinds. */
struct th_openhands_form {
	void (*system)(struct th_openhands_writer *x, struct th_str text, struct th_jw *w);
	void (*message)(struct th_openhands_writer *x, const char *role,
			const struct th_json *content, struct th_jw *w);
	void (*action)(struct th_openhands_writer *x, const struct th_openhands_call *c, bool first,
		       struct th_jw *w);
	void (*result)(struct th_openhands_writer *x, const struct th_openhands_call *c,
		       struct th_str status, const struct th_json *output, struct th_jw *w);
	void (*failure)(struct th_openhands_writer *x, struct th_str code, struct th_str detail,
			struct th_jw *w);
	void (*pause)(struct th_openhands_writer *x, struct th_jw *w);
	void (*condense)(struct th_openhands_writer *x, const size_t *forgotten, size_t count,
			 size_t place, struct th_str summary, struct th_jw *w);
	/* NULL: it has none.  `verdict`: the data of a VERDICT; NULL: none is told. */
	void (*goal)(struct th_openhands_writer *x, const char *status,
		     const struct th_json *verdict, struct th_jw *w);
};
extern const struct th_openhands_form th_openhands_form_v0, th_openhands_form_v1;

#endif
