/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - all that the driver asks of the world, as one vtable: the real one
 * (runtime/runtime.c) has a loop, curl, executors and SQLite behind it, the
 * simulator has virtual time and seeded faults.
 *
 * The driver is called back through its own functions (driver.h) with the
 * ticket it gave.  No function here may call the driver back before it
 * returns.
 */
#ifndef TH_DRIVER_WORLD_H
#define TH_DRIVER_WORLD_H

#include "core/effect_call.h"
#include "models/model.h"

/* What a ticket names, and what its `seq` counts. */
enum th_ticket_kind {
	TH_TICKET_EVENT,       /* what an event started: a turn's request, a tool's run, a timer */
	TH_TICKET_OBSERVATION, /* the first observation; the last event when it began */
	TH_TICKET_BACKGROUND_END, /* the end of an answer in the background; its request's event */
	TH_TICKET_CALLBACK,       /* a question to the agent's code; the questions of the session */
	TH_TICKET_SIDE,           /* a side request; the side requests of the session */
};

/* Names one thing under way; a ticket whose thing is over is a miss, never another thing. */
struct th_ticket {
	uint32_t index, generation; /* of the session in the driver */
	uint64_t seq;
	enum th_ticket_kind kind;
	uint32_t part; /* of a request in the background: the fetches of its answer; else 0 */
};

static inline bool th_ticket_eq(struct th_ticket a, struct th_ticket b)
{
	return a.index == b.index && a.generation == b.generation && a.kind == b.kind &&
	       a.seq == b.seq && a.part == b.part;
}

/* A model request.  The body's pieces live until model_cancel or th_driver_model_done. */
struct th_model_call {
	const struct th_profile *profile;
	size_t agent;    /* of the team: whose choices these are */
	size_t model_at; /* 0: the session's first choice, n: its fallback n-1 */
	bool grounder;   /* the first half of that, which has a key of its own */
	struct th_str base_url;
	struct th_str path;    /* behind it */
	struct th_str headers; /* lines "name: value\n" beside the key and the content type */
	const struct th_str *body;
	size_t body_count;                              /* 0: it has none */
	bool get;                                       /* not a POST */
	const struct th_agent_model_settings *settings; /* may be NULL */
	int64_t total_ms_max; /* what is left of the task's time; -1: no limit */
	bool stream;
};

/* How the transport ended; the driver's decoder had the bytes before. */
struct th_model_end {
	int http_status;         /* 0: none came */
	bool ok;                 /* the whole body came with a status of 2xx */
	bool status_only;        /* the whole body came with another status */
	enum th_failure failure; /* otherwise */
	struct th_str message;
	struct th_retry_hints hints;
};

struct th_world_ops {
	int64_t (*now_ms)(void *ctx);
	void (*random)(void *ctx, void *ptr, size_t len);

	/* Wants th_driver_flush called once before the loop sleeps. */
	void (*flush_soon)(void *ctx);
	/* Wants th_driver_timer(ticket) after the delay. */
	void (*timer)(void *ctx, struct th_ticket t, int64_t delay_ms);

	void (*commit)(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx);
	enum th_code (*blob)(void *ctx, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err);
	enum th_code (*read)(void *ctx, struct th_str session_id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err);

	/* th_driver_model_data, then th_driver_model_done once.  An error here is a connect
	 * failure. */
	enum th_code (*model_call)(void *ctx, struct th_ticket t, const struct th_model_call *call,
				   struct th_err *err);
	void (*model_alive)(void *ctx, struct th_ticket t);
	void (*model_cancel)(void *ctx, struct th_ticket t); /* no call comes after it */

	/* Asked before an INTENT of the executor's is written: *ret_journal is what its journal is
	 * called, borrowed for the moment (empty: there is none to be had, and tool_run will say
	 * why).  False: not known yet; th_driver_tool_ready(ticket) follows. */
	bool (*tool_ready)(void *ctx, struct th_ticket t, struct th_str *ret_journal);
	/* th_driver_tool_done once.  settle: an earlier runtime dispatched it; do not start it anew
	 * unless its class allows, and say what became of it. */
	void (*tool_run)(void *ctx, struct th_ticket t, const struct th_effect_call *call,
			 bool settle);
	void (*tool_cancel)(void *ctx, struct th_ticket t);
	/* Outcomes of these effects are durable. */
	void (*tool_forget)(void *ctx, struct th_str session_id, const struct th_str *effect_ids,
			    size_t count);

	/* Sessions that work on a call of another (delegate.h).  NULL: the world has nothing
	 * to do for them.  Takes the stored one of that id, as store->lease; TH_ENOENT: there is
	 * none. */
	enum th_code (*child_lease)(void *ctx, struct th_str session_id, struct th_arena *a,
				    struct th_session_row *ret, struct th_err *err);
	/* The driver has one open: `parent` is of the call. */
	void (*child_opened)(void *ctx, struct th_ticket parent, struct th_ticket child,
			     struct th_str session_id, int64_t epoch);
	/* It is over, and durable: to be closed soon, not before this returns. */
	void (*child_over)(void *ctx, struct th_ticket child);

	/* The store failed in a way that must stop the process. */
	void (*fatal)(void *ctx, const struct th_err *err);
};

struct th_world {
	const struct th_world_ops *ops;
	void *ctx;
};

#endif
