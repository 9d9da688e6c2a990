/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - many sessions, one loop: steps the pure core, writes the log, and
 * carries out the effects.
 *
 * Per iteration of the loop: inputs are drained and each session is stepped;
 * then one flush hands all new events of all sessions to the store as one
 * transaction; when that is durable the effects they stand for start.
 * Persist, then act.  The driver itself does no I/O: world.h does.
 *
 * One thread.  A session is named by a handle whose generation makes a late
 * use a miss.  Strings given are copied unless a comment says otherwise.
 */
#ifndef TH_DRIVER_DRIVER_H
#define TH_DRIVER_DRIVER_H

#include "core/session.h"
#include "driver/callbacks.h"
#include "driver/world.h"

struct th_driver;

struct th_handle {
	uint32_t index, generation; /* {0, 0}: none */
};

/* How one tool is run: in the executor, or by a function of this process. */
struct th_local_call {
	struct th_ticket ticket;
	struct th_str tool, arguments;     /* JSON object; borrowed until the function returns */
	struct th_str call_id, session_id; /* the same */
	struct th_str effect_id;           /* of the INTENT: the same whenever it is run again */
	enum th_class class;
};
/* Answers with th_driver_tool_done, at once or later. */
typedef void th_local_fn(void *ctx, struct th_driver *d, const struct th_local_call *call);

struct th_tool_row {
	struct th_tool_spec spec; /* borrowed: lives as long as the driver */
	th_local_fn *local;       /* NULL: the executor's */
	/* Of local ones; NULL: it cannot.  Nobody wants it any more: it answers soon. */
	void (*cancel)(void *ctx, struct th_ticket t);
	/* Is it under way in this process?  Then it is not settled: its answer comes. */
	bool (*alive)(void *ctx, struct th_ticket t);
	void *ctx;
	const struct th_agent_command *command; /* the executor's, as a program; else NULL */
	bool check; /* the arguments must fit spec.schema; else the call is refused */
};

/* A model that may be asked. */
struct th_resolved_model {
	const struct th_profile *profile;
	struct th_str model; /* name on the wire */
	struct th_str base_url;
	const struct th_composed *composed; /* NULL, or the grounder behind `profile` */
	struct th_str grounder_url;         /* its base URL */
};

/* What a session is run with; borrowed, lives as long as the session is open. */
struct th_session_config {
	const struct th_agent *agent;
	struct th_resolved_model first;
	const struct th_resolved_model
	    *fallback; /* as many as agent->fallback names, in its order */
	const struct th_tool_row *tools;
	size_t tool_count;
	bool has_computer;
	const struct th_tool_row *computer; /* a function of this process; NULL: the executor's */
	struct th_size screen;
	const struct th_callbacks *callbacks; /* the agent's code; NULL: it has none */
	const struct th_session_config
	    *members;        /* of a team: its other agents, [0] being agent 1 */
	size_t member_count; /* as many as the definition has, less one */
};
const struct th_session_config *th_config_member(const struct th_session_config *o, size_t agent);

/* Who watches.  Events come when they are durable; deltas as they stream, never logged. */
struct th_observer {
	void (*event)(void *ctx, struct th_handle h, const struct th_event *ev);
	void (*delta)(void *ctx, struct th_handle h, enum th_delta_kind kind, struct th_str text);
	/* Progress of a command tool, as it comes; may be NULL. */
	void (*progress)(void *ctx, struct th_handle h, struct th_str tool, struct th_str bytes);
	/* The session rests (th_session_rests) and all of it is durable; or it was lost (err not
	 * NULL: another runtime took it, the store failed). */
	void (*rest)(void *ctx, struct th_handle h, const struct th_session *s,
		     const struct th_err *err);
	void *ctx;
};

/* NULL: out of memory. */
TH_NODISCARD struct th_driver *th_driver_new(const struct th_world *world, struct th_str build);
struct th_driver *
th_driver_free(struct th_driver *d); /* world's things must be cancelled or over; NULL is fine */

/*
 * Begins a new session: session_created goes into the next flush.  `created`
 * gives agent, workspace, user, metadata; if its `agent` is empty, that of
 * `session_config` is printed.  TH_ELIMIT: too many sessions.
 */
TH_NODISCARD enum th_code th_driver_create(struct th_driver *d, struct th_str session_id,
					   const struct th_session_config *session_config,
					   const struct th_ev_session_created *created,
					   const struct th_observer *observer,
					   struct th_handle *ret, struct th_err *err);
/*
 * Takes up a stored session whose lease is held: `row` as store->lease gave
 * it.  Reads and folds its log.  Nothing is done before th_driver_resume.
 */
TH_NODISCARD enum th_code th_driver_open(struct th_driver *d, const struct th_session_row *row,
					 const struct th_session_config *session_config,
					 const struct th_observer *observer, struct th_handle *ret,
					 struct th_err *err);
/* The same where the log's first event says what the session is run with: it is read only once. */
typedef enum th_code th_session_config_fn(void *ctx, const struct th_event *first,
					  struct th_session_config *ret, struct th_err *err);
TH_NODISCARD enum th_code th_driver_open_by(struct th_driver *d, const struct th_session_row *row,
					    th_session_config_fn *fit, void *fit_ctx,
					    const struct th_observer *observer,
					    struct th_handle *ret, struct th_err *err);
/* Starts a fork: `row` is the new session's (parent, parent_seq, head of the prefix). */
TH_NODISCARD enum th_code th_driver_fork(struct th_driver *d, const struct th_session_row *row,
					 const struct th_session_config *session_config,
					 const struct th_observer *observer, struct th_handle *ret,
					 struct th_err *err);
/* Gives out what is open after th_driver_open; continues a paused or interrupted run.  TH_EUSAGE:
 * it is a record of what imported forks share. */
TH_NODISCARD enum th_code th_driver_resume(struct th_driver *d, struct th_handle h,
					   struct th_err *err);
/* Forgets a session; what it has under way in the world is cancelled (effects go on in the
 * executor). */
void th_driver_close(struct th_driver *d, struct th_handle h);

/* Inputs.  Each is an event; refused (EPROTO, with the reason) when the state does not take it. */
TH_NODISCARD enum th_code th_driver_message(struct th_driver *d, struct th_handle h,
					    struct th_str text, struct th_err *err);
/* call_id: a call's name, see th_driver_waits; empty: the first.  TH_ENOENT: none waits that is so
 * named; TH_EUSAGE: several do, or a person was asked about another of that name before. */
TH_NODISCARD enum th_code th_driver_decide(struct th_driver *d, struct th_handle h,
					   struct th_str call_id, bool approve, struct th_str by,
					   struct th_str message, struct th_err *err);
/* The same; `always`: and so with every later call of that tool in this session, and with those
 * of this answer that wait. */
TH_NODISCARD enum th_code th_driver_decide_as(struct th_driver *d, struct th_handle h,
					      struct th_str call_id, bool approve, bool always,
					      struct th_str by, struct th_str message,
					      struct th_err *err);
/*
 * Puts items into the history, in the Responses API's form (admin/items.h), a
 * JSON list; `begins`: a task begins with them.  Between tasks only, as is
 * taking the newest `count` out (0: all): the log keeps what the model does not
 * see any more.
 */
TH_NODISCARD enum th_code th_driver_items_add(struct th_driver *d, struct th_handle h,
					      struct th_str items, bool begins, struct th_err *err);
TH_NODISCARD enum th_code th_driver_items_remove(struct th_driver *d, struct th_handle h,
						 int64_t count, struct th_err *err);
/* A person's word on a parked call: done, not_started or unknown.  call_id empty: the first. */
TH_NODISCARD enum th_code th_driver_settle(struct th_driver *d, struct th_handle h,
					   struct th_str call_id, enum th_outcome_status status,
					   struct th_str by, struct th_str message,
					   struct th_err *err);
/* Another title, or other metadata (th_edit_check_change); in any state. */
TH_NODISCARD enum th_code th_driver_describe(struct th_driver *d, struct th_handle h,
					     const struct th_ev_session_changed *change,
					     struct th_err *err);
/* to: paused, stopped or running, by an operator. */
TH_NODISCARD enum th_code th_driver_set_state(struct th_driver *d, struct th_handle h,
					      enum th_state to, struct th_str reason,
					      struct th_err *err);

/*
 * Calls that wait for a decision (TH_CALL_ASKED) or a word (TH_CALL_PARKED), of the session and of
 * those that work for it: th_driver_decide and th_driver_settle reach them by the session.  A
 * call's name is its call_id (th_call_name), or SESSION/CALL_ID; empty: the first of any.  NULL:
 * none, or several have it.  `ret_name` (may be NULL) gets the name that is only this call's.  And
 * all.
 */
const struct th_call *th_driver_waits(const struct th_driver *d, struct th_handle h,
				      enum th_call_phase phase, struct th_str name,
				      struct th_buf *ret_name);
typedef void th_waiting_fn(void *ctx, const struct th_call *c);
void th_driver_waiting(const struct th_driver *d, struct th_handle h, th_waiting_fn *fn, void *ctx);

/* Of the session's row, as long as it is open; empty: it has none. */
struct th_str th_driver_metadata(const struct th_driver *d, struct th_handle h);

/* NULL: a miss. */
const struct th_session *th_driver_session(const struct th_driver *d, struct th_handle h);
struct th_str th_driver_session_id(const struct th_driver *d, struct th_handle h);
/* Nothing waits for a flush. */
bool th_driver_durable(const struct th_driver *d, struct th_handle h);
/* The answer to the request of that ticket: 1 it is in the log for good, 0 that is not decided, -1
 * it will not be (unreadable, fenced, lost). */
int th_driver_answered(const struct th_driver *d, struct th_ticket t);
bool th_driver_idle(const struct th_driver *d); /* no session waits for a flush */
size_t th_driver_count(const struct th_driver *d);

/* ---- called by the world ---- */

void th_driver_flush(struct th_driver *d);
void th_driver_timer(struct th_driver *d, struct th_ticket t);
/* False: the request is to be cancelled (too large, or over). */
bool th_driver_model_data(struct th_driver *d, struct th_ticket t, struct th_str bytes);
void th_driver_model_done(struct th_driver *d, struct th_ticket t, const struct th_model_end *end);
/* The executor of the ticket's session is there, or cannot be had: intents that waited for it. */
void th_driver_tool_ready(struct th_driver *d, struct th_ticket t);
void th_driver_tool_done(struct th_driver *d, struct th_ticket t,
			 const struct th_effect_result *result);
/* The same for a tool that was not started; `why` is the end of a sentence for the model. */
void th_driver_tool_not_started(struct th_driver *d, struct th_ticket t, const char *why);
/* What an effect writes before its end, for who watches. */
void th_driver_tool_progress(struct th_driver *d, struct th_ticket t, struct th_str bytes);

#endif
