/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - everything that the driver needs from outside, as one vtable.  The
 * real implementation (runtime/runtime.c) uses a loop, curl, executors and
 * SQLite; the simulator's uses virtual time and seeded faults.
 *
 * Results come back through the functions of driver.h, with the ticket that
 * the driver gave.  No function of the vtable may call the driver back before
 * it returns.
 */
#ifndef TH_LIVE_WORLD_H
#define TH_LIVE_WORLD_H

#include "core/effect_call.h"
#include "models/model.h"

/* What a ticket names, and what its `seq` counts. */
enum th_ticket_kind {
	TH_TICKET_EVENT,       /* what an event started: a turn's request, a tool's run, a timer */
	TH_TICKET_OBSERVATION, /* the first observation; the last event when it began */
	TH_TICKET_BACKGROUND_END, /* the end of an answer in the background; its request's event */
	TH_TICKET_CALLBACK,       /* a question to the agent's code; the questions of the session */
	TH_TICKET_SIDE,           /* a side request; the side requests of the session */
	TH_TICKET_SERVER,         /* the list of an MCP server's tools; those of the session */
	TH_TICKET_HOOK,           /* a hook that is a program; its event */
	TH_TICKET_ANALYSER,       /* a question to an analyser; the questions of the session */
	TH_TICKET_LOOK,           /* what a hook's model looks at; the questions of the session */
	TH_TICKET_CRITIC,         /* a question to a critic; the same */
	TH_TICKET_WAIT,           /* the end of what a call waits for, by a timer of its own */
	TH_TICKET_LOG,            /* a log that is read beside the loop; those of the driver */
	TH_TICKET_PERSON,         /* what a person does; its event, or the looks of the session */
};

/* Identifies one operation under way.  The ticket of a finished operation matches nothing. */
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
	size_t agent;    /* index of the agent in the team */
	size_t model_at; /* 0: the agent's model, n: its fallback n-1; behind these its judge */
	bool grounder;   /* the grounder of that model; it has its own key */
	struct th_str base_url;
	struct th_str path;    /* relative to base_url */
	struct th_str headers; /* lines "name: value\n", without the key and the content type */
	const struct th_str *body;
	size_t body_count;                              /* 0: no body */
	bool get;                                       /* GET instead of POST */
	const struct th_agent_model_settings *settings; /* may be NULL */
	int64_t total_ms_max; /* remaining time of the task; -1: no limit */
	bool stream;
};

/* How the transfer ended.  The decoder already has all bytes of the body. */
struct th_model_end {
	int http_status;         /* 0: no response */
	bool ok;                 /* a complete body with status 2xx */
	bool status_only;        /* a complete body with another status */
	enum th_failure failure; /* otherwise */
	struct th_str message;
	struct th_retry_hints hints;
};

struct th_world_ops {
	int64_t (*now_ms)(void *ctx);
	void (*random)(void *ctx, void *ptr, size_t len);

	/* Asks for one call of th_driver_flush before the loop sleeps. */
	void (*flush_soon)(void *ctx);
	/* Asks for th_driver_timer(ticket) after the delay.  A session has one for its calls' waits
	 * (TH_TICKET_WAIT), and one for all else; each is for the last that asked. */
	void (*timer)(void *ctx, struct th_ticket t, int64_t delay_ms);

	void (*commit)(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx);
	enum th_code (*blob)(void *ctx, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err);
	/* The same beside the loop: th_driver_blob_here follows.  NULL, or an error: `blob` is
	 * called instead. */
	enum th_code (*blob_ask)(void *ctx, const struct th_digest *hash, struct th_err *err);
	enum th_code (*read)(void *ctx, struct th_str session_id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err);

	/* Reads the log of the ticket's session beside the loop: the events that
	 * th_driver_log_wants names go to th_driver_log_take, and then th_driver_log_next is
	 * called, until nothing is wanted; in the end th_driver_log_end, once.  None of these
	 * comes before this returns.  NULL, or an error: `read` is called instead. */
	enum th_code (*log_ask)(void *ctx, struct th_ticket t, struct th_err *err);
	void (*log_cancel)(void *ctx, struct th_ticket t); /* none of these comes any more */

	/* Calls th_driver_model_data for each piece, then th_driver_model_done once.  An error
	 * counts as a failed connection. */
	enum th_code (*model_call)(void *ctx, struct th_ticket t, const struct th_model_call *call,
				   struct th_err *err);
	void (*model_alive)(void *ctx, struct th_ticket t);
	void (*model_cancel)(void *ctx, struct th_ticket t); /* no callback follows it */

	/* Called before the INTENT of an effect of the executor is written: *ret_journal is the
	 * name of the executor's journal, borrowed until the next call (empty: there is no
	 * executor, and tool_run will report why).  False: not known yet;
	 * th_driver_tool_ready(ticket) follows. */
	bool (*tool_ready)(void *ctx, struct th_ticket t, struct th_str *ret_journal);
	/* Where that executor lives, for the INTENT: ev_intent.executor, borrowed until the next
	 * call; empty: nobody else reaches it, or it is not known.  NULL: the same. */
	struct th_str (*tool_place)(void *ctx, struct th_ticket t);
	/* Calls th_driver_tool_done once.  settle: an earlier runtime dispatched the effect; find
	 * out how it ended, and start it again only if its class allows that. */
	void (*tool_run)(void *ctx, struct th_ticket t, const struct th_effect_call *call,
			 bool settle);
	/* A question to a server (TH_ANALYSER_TOOL) is given up, and nothing follows. */
	void (*tool_cancel)(void *ctx, struct th_ticket t);
	/* Whether the effect's programs may reach the host that they asked for
	 * (th_driver_tool_asks). */
	void (*tool_host)(void *ctx, struct th_ticket t, struct th_str host, uint16_t port,
			  bool allow);
	/* The outcomes of these effects are durable; the executor may forget them. */
	void (*tool_forget)(void *ctx, struct th_str session_id, const struct th_str *effect_ids,
			    size_t count);

	/* Child sessions, which work on a call of another session (delegate.h).  NULL: not
	 * supported.  Takes the lease of the stored session with that id; TH_ENOENT: there is no
	 * such session. */
	enum th_code (*child_lease)(void *ctx, struct th_str session_id, struct th_arena *a,
				    struct th_session_row *ret, struct th_err *err);
	/* The driver has opened a child session; `parent` is the ticket of the call. */
	void (*child_opened)(void *ctx, struct th_ticket parent, struct th_ticket child,
			     struct th_str session_id, int64_t epoch);
	/* The child session has ended and is durable.  Close it soon, after this returns. */
	void (*child_over)(void *ctx, struct th_ticket child);

	/* The store failed in a way that must stop the process. */
	void (*fatal)(void *ctx, const struct th_err *err);
};

struct th_world {
	const struct th_world_ops *ops;
	void *ctx;
};

struct th_driver;
/* What flush_soon asked for: all that waits becomes one transaction. */
void th_driver_flush(struct th_driver *d);
/* A log that is read beside the loop (log_ask); what cannot be taken ends it, with that error.
 * False: nothing more is wanted. */
bool th_driver_log_wants(const struct th_driver *d, struct th_ticket t, uint64_t *ret_from,
			 uint64_t *ret_to);
TH_NODISCARD enum th_code th_driver_log_take(struct th_driver *d, struct th_ticket t,
					     const struct th_event *ev,
					     const struct th_digest *digest, struct th_err *err);
TH_NODISCARD enum th_code th_driver_log_next(struct th_driver *d, struct th_ticket t,
					     struct th_err *err);
void th_driver_log_end(struct th_driver *d, struct th_ticket t, const struct th_err *err);
/* Instead of TH_LOG_SHORT_MAX; for worlds whose logs are short. */
void th_driver_log_short(struct th_driver *d, uint64_t events);

#endif
