/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - the log as spans: what took how long, inside what, and what it
 * cost.
 *
 *	task                    from what somebody said to the final output
 *	  agent                 while one agent of the team has the word
 *	    turn                a request, with its tries, and the calls of its answer
 *	      model             one try
 *	      tool              one call, from the answer to its outcome
 *	        approval        while a person was waited for
 *	      guardrail, handoff
 *
 * A tool that is an agent has spans in the log of its session, which its own
 * span names; what that took is in it.
 *
 * A task is a trace; what a session does for a call of another is in that one's
 * trace, inside the call.  Nothing is added to the log for it: a fold of events gives
 * the same spans with the same ids at any time, so what was exported before a
 * crash is the same when it is exported again.  What was said and done is not in
 * it, but for names.
 */
#ifndef TH_TRACE_TRACE_H
#define TH_TRACE_TRACE_H

#include "core/side.h"
#include "events/event.h"

#define TH_SPANS(X)             \
	X(TASK, "task")         \
	X(AGENT, "agent")       \
	X(TURN, "turn")         \
	X(MODEL, "model")       \
	X(TOOL, "tool")         \
	X(APPROVAL, "approval") \
	X(GUARDRAIL, "guardrail") X(HANDOFF, "handoff") X(CONDENSATION, "condensation")
#define X(id, name) TH_SPAN_##id,
enum th_span_kind { TH_SPANS(X) TH_SPAN_COUNT };
#undef X
const char *th_span_name(enum th_span_kind k);

#define TH_SPAN_NONE SIZE_MAX

struct th_span {
	enum th_span_kind kind;
	size_t parent, first_child, last_child, next; /* indices, or TH_SPAN_NONE */
	uint64_t seq;                                 /* of the event that began it */
	int64_t start_ms, end_ms;                     /* end 0: it is open */
	struct th_str name;                           /* model, tool, agent …; task: empty */
	struct th_str call_id;                        /* tool */
	struct th_str
	    child;          /* tool: the session that works on it, whose log has spans of its own */
	bool in_background; /* tool: that is under way, and it ends with it */
	struct th_str
	    status; /* outcome, "final", "failed", a failure's class; empty: nothing to say */
	bool failed;
	struct th_str message; /* why */
	enum th_class class;   /* tool */
	/* turn: which; model: which try; task: the event that began it (one that was stopped and
	 * goes on has two spans) */
	int64_t number;
	/* model: of this try; tool: of finding elements */
	int64_t tokens_in, tokens_cached, tokens_out, tokens_reasoning, cost_nano;
	bool cost_known;
	/* Side requests that this needed; their cost is in the numbers above.  0 requests: none. */
	enum th_side_kind side_kind;
	struct th_side_usage side;
	struct th_str side_model;
};

struct th_trace {
	struct th_arena memory;
	struct th_span *spans;
	size_t count, cap;
	size_t task, agent, turn, model; /* open ones */
	uint64_t task_seq;               /* of the event that began the last task; 0: none */
	struct th_str agent_name;        /* of the current agent */
	bool full;                       /* TH_TRACE_SPANS_MAX: later ones are left out */
};

void th_trace_init(struct th_trace *t);
void th_trace_deinit(struct th_trace *t);
/* The next event.  What does not fit its kind is passed over. */
void th_trace_event(struct th_trace *t, const struct th_event *ev);

/* What the models of a span and of all in it took. */
struct th_trace_sum {
	int64_t requests, calls, tokens_in, tokens_cached, tokens_out, tokens_reasoning, cost_nano;
	bool cost_unknown;
};
struct th_trace_sum th_trace_sum(const struct th_trace *t, size_t span);

/* Where a session that works on a call belongs, in hexadecimal. */
struct th_trace_origin {
	char trace_id[32 + 1], span_id[16 + 1]; /* span: of the call */
};
/* Of the call whose CALL is event `call_seq` of that session, in the task that `task_seq` began.
 * `own`: where that session belongs itself; may be NULL. */
void th_trace_origin(struct th_str session_id, const struct th_trace_origin *own, uint64_t task_seq,
		     uint64_t call_seq, struct th_trace_origin *ret);
/* Members "trace" and "span" of a JSON object; false: they are not there, or no such ids. */
void th_trace_origin_print(const struct th_trace_origin *o, struct th_jw *w);
bool th_trace_origin_read(struct th_str object, struct th_trace_origin *ret);

/*
 * The spans of tasks that began with an event from `from_seq` on, as the body
 * of an OTLP/HTTP JSON export (ExportTraceServiceRequest).  Only spans that
 * have ended; 0: there are none, and nothing is written.  `origin`: the call
 * that the session works on; NULL: on none.
 */
size_t th_trace_otlp(const struct th_trace *t, struct th_str session_id,
		     const struct th_trace_origin *origin, uint64_t from_seq, struct th_str version,
		     struct th_buf *out);

#endif
