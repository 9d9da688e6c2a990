/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - runs many sessions on one loop: steps the pure core, writes the
 * log, and performs the effects.
 *
 * In each iteration of the loop, inputs are taken and each session is stepped.
 * Then one flush gives all new events of all sessions to the store as one
 * transaction.  When the transaction is durable, the effects of these events
 * start: persist, then act.  The driver does no I/O itself; it uses world.h.
 *
 * Single-threaded.  A handle has a generation, so a handle of a closed session
 * matches nothing.  Strings are copied unless a comment says otherwise.
 */
#ifndef TH_DRIVER_DRIVER_H
#define TH_DRIVER_DRIVER_H

#include "agents/agent.h"
#include "core/session.h"
#include "live/callbacks.h"
#include "live/session_config.h"
#include "live/world.h"

/* NULL: out of memory. */
TH_NODISCARD struct th_driver *th_driver_new(const struct th_world *world, struct th_str build);
struct th_driver *
th_driver_free(struct th_driver *d); /* no operation may be under way; NULL is fine */

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
 * Opens a stored session whose lease is held; `row` is from store->lease.
 * Reads and folds its log.  No effect starts before th_driver_resume.
 */
TH_NODISCARD enum th_code th_driver_open(struct th_driver *d, const struct th_session_row *row,
					 const struct th_session_config *session_config,
					 const struct th_observer *observer, struct th_handle *ret,
					 struct th_err *err);
/* The same, when the configuration depends on the log's first event.  The log is read once. */
typedef enum th_code th_session_config_fn(void *ctx, const struct th_event *first,
					  struct th_session_config *ret, struct th_err *err);
TH_NODISCARD enum th_code th_driver_open_by(struct th_driver *d, const struct th_session_row *row,
					    th_session_config_fn *fit, void *fit_ctx,
					    const struct th_observer *observer,
					    struct th_handle *ret, struct th_err *err);
/*
 * The same in steps, for a log that is too long to be read at once.  `row` and `fit_ctx` live until
 * the end.  While _wants says so, the caller reads the events from..to of the session (none where
 * from > to), gives each to _take, and calls _next.  The history is made as well, so that nothing
 * is read when the session goes on.  Then _end; _drop gives it up, also after an error.
 */
struct th_opening;
TH_NODISCARD enum th_code th_driver_open_begin(struct th_driver *d,
					       const struct th_session_row *row,
					       th_session_config_fn *fit, void *fit_ctx,
					       const struct th_observer *observer,
					       struct th_opening **ret, struct th_err *err);
bool th_driver_open_wants(const struct th_opening *o, uint64_t *ret_from, uint64_t *ret_to);
TH_NODISCARD enum th_code th_driver_open_take(struct th_opening *o, const struct th_event *ev,
					      const struct th_digest *digest, struct th_err *err);
TH_NODISCARD enum th_code th_driver_open_next(struct th_opening *o, struct th_err *err);
struct th_handle th_driver_open_end(struct th_opening *o);
struct th_opening *th_driver_open_drop(struct th_opening *o); /* takes NULL, returns NULL */
/* Starts the effects that are open after th_driver_open, and continues a paused or interrupted run.
 * TH_EUSAGE: the session is a record that imported forks share. */
TH_NODISCARD enum th_code th_driver_resume(struct th_driver *d, struct th_handle h,
					   struct th_err *err);
/* Closes a session and cancels its operations; effects in the executor continue. */
void th_driver_close(struct th_driver *d, struct th_handle h);

/* Nothing of it begins any more: no request, and no call.  True: nothing is under way either, and
 * all is durable, so that another runtime may go on with it. */
bool th_driver_drain(struct th_driver *d, struct th_handle h);

/* What an earlier runtime left open in a session that is held is settled by its class, and no more
 * than that. */
TH_NODISCARD enum th_code th_driver_find_out(struct th_driver *d, struct th_handle h,
					     struct th_err *err);
/*
 * A person in the agent's place (person.h).  take: parks the agent; a request is given up, calls
 * under way end first.  TH_EBUSY: somebody has taken over.  input: in a session that rests, or was
 * taken, one at a time (TH_EBUSY); class R only looks, is not recorded, and may always be.  `fn` is
 * called once with the result, from inside the driver, unless the session is closed or lost before.
 * give: the model is told, with the note and a fresh picture, and the run goes on if it was under
 * way; it happens when the picture is there.
 */
struct th_person_input {
	struct th_str by, tool, arguments;
	enum th_class class; /* R, or W */
	int64_t timeout_ms;  /* 0: the tool's own */
};
typedef void th_person_fn(void *ctx, const struct th_effect_result *r);
TH_NODISCARD enum th_code th_driver_take(struct th_driver *d, struct th_handle h, struct th_str by,
					 struct th_err *err);
TH_NODISCARD enum th_code th_driver_input(struct th_driver *d, struct th_handle h,
					  const struct th_person_input *in, th_person_fn *fn,
					  void *ctx, struct th_err *err);
/* The input under way is given up, if there is one; `fn` still comes. */
void th_driver_input_cancel(struct th_driver *d, struct th_handle h);
/* Whether its agent has a tool of that name, which is no program of its file. */
bool th_driver_has_tool(struct th_driver *d, struct th_handle h, struct th_str name);
TH_NODISCARD enum th_code th_driver_give(struct th_driver *d, struct th_handle h, struct th_str by,
					 struct th_str note, struct th_str reason,
					 struct th_err *err);

/* A question of a person to the session's model, beside its history; while the agent rests
 * (TH_EBUSY).  `fn` is called once, from inside the driver, unless the session is closed or lost
 * before; `err`: why there is no answer, or NULL. */
TH_NODISCARD enum th_code th_driver_ask(struct th_driver *d, struct th_handle h, struct th_str by,
					struct th_str question, th_asked_fn *fn, void *ctx,
					struct th_err *err);

/* Inputs.  Each becomes an event; TH_EPROTO, with the reason, if the state does not allow it. */
TH_NODISCARD enum th_code th_driver_message(struct th_driver *d, struct th_handle h,
					    struct th_str text, struct th_err *err);
/* call_id: a call's name, see th_driver_waits; empty: the first.  TH_ENOENT: no waiting call has
 * that name; TH_EUSAGE: several have it, or an earlier call that a person was asked about had. */
TH_NODISCARD enum th_code th_driver_decide(struct th_driver *d, struct th_handle h,
					   struct th_str call_id, bool approve, struct th_str by,
					   struct th_str message, struct th_err *err);
/* The same; `always`: also for every later call of that tool in this session, and for its calls
 * that wait now. */
TH_NODISCARD enum th_code th_driver_decide_as(struct th_driver *d, struct th_handle h,
					      struct th_str call_id, bool approve, bool always,
					      struct th_str by, struct th_str message,
					      struct th_err *err);
/*
 * Adds items to the history: a JSON list in the format of the Responses API
 * (admin/items.h); `begins`: a task begins with them.  th_driver_items_remove
 * removes the newest `count` items (0: all) from the history that the model
 * sees; the log keeps them.  Both are allowed between tasks only.
 */
TH_NODISCARD enum th_code th_driver_items_add(struct th_driver *d, struct th_handle h,
					      struct th_str items, bool begins, struct th_err *err);
TH_NODISCARD enum th_code th_driver_items_remove(struct th_driver *d, struct th_handle h,
						 int64_t count, struct th_err *err);
/* A person says how a parked call ended: done, not_started or unknown.  call_id empty: the first.
 */
TH_NODISCARD enum th_code th_driver_settle(struct th_driver *d, struct th_handle h,
					   struct th_str call_id, enum th_outcome_status status,
					   struct th_str by, struct th_str message,
					   struct th_err *err);
/* Another title, or other metadata (th_edit_check_change); in any state. */
TH_NODISCARD enum th_code th_driver_describe(struct th_driver *d, struct th_handle h,
					     const struct th_ev_session_changed *change,
					     struct th_err *err);
/* Asks that its history is condensed before the next request; in any state.  TH_EUSAGE: the
 * provider keeps it, and nothing of it can be replaced. */
TH_NODISCARD enum th_code th_driver_condense(struct th_driver *d, struct th_handle h,
					     struct th_str by, struct th_err *err);
/* A person gives it more turns, tokens, money or time than its limits (BUDGET), in any state; what
 * rests at one is resumed as always.  TH_EUSAGE as th_session_more. */
TH_NODISCARD enum th_code th_driver_more(struct th_driver *d, struct th_handle h,
					 const struct th_more *more, struct th_str by,
					 struct th_err *err);
/*
 * A task in plan mode (PLAN), in which every call that does more than look is refused, and the end
 * of that mode: a person lets the agent do what it has planned, which begins a task; `note` is said
 * with it.  Messages between begin tasks of plan mode, too.  TH_EPROTO: a task is under way (plan),
 * this is not plan mode (act).
 */
TH_NODISCARD enum th_code th_driver_plan(struct th_driver *d, struct th_handle h,
					 struct th_str text, struct th_str by, struct th_err *err);
TH_NODISCARD enum th_code th_driver_act(struct th_driver *d, struct th_handle h, struct th_str note,
					struct th_str by, struct th_err *err);
/*
 * A goal (GOAL): a task begins with it, and final outputs are judged by it, at most `rounds` times.
 * `goal` empty: the one that was ended before it was reached goes on.  TH_EPROTO: a task is under
 * way; TH_ENOENT: there is none that could go on.  The end: the run goes on and is not judged by it
 * any more; TH_EPROTO: there is no goal.  A message of the user's, or items with which a task
 * begins, end it as well.
 */
TH_NODISCARD enum th_code th_driver_goal(struct th_driver *d, struct th_handle h,
					 struct th_str goal, int64_t rounds, struct th_str by,
					 struct th_err *err);
TH_NODISCARD enum th_code th_driver_goal_end(struct th_driver *d, struct th_handle h,
					     struct th_str by, struct th_err *err);
/* to: paused, stopped or running, by an operator. */
TH_NODISCARD enum th_code th_driver_set_state(struct th_driver *d, struct th_handle h,
					      enum th_state to, struct th_str reason,
					      struct th_err *err);

/*
 * Finds a call that waits for a decision (TH_CALL_ASKED) or for a person to say how it ended
 * (TH_CALL_PARKED), in the session or in its child sessions.  A call's name is its call_id
 * (th_call_name) or SESSION/CALL_ID; empty: the first call.  NULL: no call has the name, or several
 * have.  `ret_name` (may be NULL) gets the call's unique name.  th_driver_waiting visits all of
 * them.
 */
const struct th_call *th_driver_waits(const struct th_driver *d, struct th_handle h,
				      enum th_call_phase phase, struct th_str name,
				      struct th_buf *ret_name);
typedef void th_waiting_fn(void *ctx, const struct th_call *c);
void th_driver_waiting(const struct th_driver *d, struct th_handle h, th_waiting_fn *fn, void *ctx);

/* The metadata of an open session; empty: none. */
struct th_str th_driver_metadata(const struct th_driver *d, struct th_handle h);

/* NULL: no such session is open. */
const struct th_session *th_driver_session(const struct th_driver *d, struct th_handle h);
struct th_str th_driver_session_id(const struct th_driver *d, struct th_handle h);
/* All events of the session are durable. */
bool th_driver_durable(const struct th_driver *d, struct th_handle h);
/* Is the answer to the request of that ticket in the log?  1: yes, durably; 0: not decided yet; -1:
 * it never will be (unreadable, fenced, lost). */
int th_driver_answered(const struct th_driver *d, struct th_ticket t);
bool th_driver_idle(const struct th_driver *d); /* no session waits for a flush */
size_t th_driver_count(const struct th_driver *d);

/* ---- called by the world ---- */

/* All sessions are another's now, or may be: nothing more is written of them. */
void th_driver_lose_all(struct th_driver *d, const struct th_err *err);
void th_driver_timer(struct th_driver *d, struct th_ticket t);
/* False: cancel the request (the answer is too large, or nobody waits for it). */
bool th_driver_model_data(struct th_driver *d, struct th_ticket t, struct th_str bytes);
/* A blob that was asked for, or why it cannot be had (`why` NULL: it is here). */
void th_driver_blob_here(struct th_driver *d, const struct th_digest *hash, struct th_str bytes,
			 const struct th_err *why);
void th_driver_model_done(struct th_driver *d, struct th_ticket t, const struct th_model_end *end);
/* The executor of the ticket's session is ready, or cannot be started: the intents that waited for
 * it are written now. */
void th_driver_tool_ready(struct th_driver *d, struct th_ticket t);
void th_driver_tool_done(struct th_driver *d, struct th_ticket t,
			 const struct th_effect_result *result);
/* The same for a call that was not started; `why` completes a sentence for the model. */
void th_driver_tool_not_started(struct th_driver *d, struct th_ticket t, const char *why);
/* A program of an effect that still runs wants to reach a host that net does not list,
 * or (`listed`) one that it has not reached since untrusted bytes came; tool_host
 * says what became of it, at once or when somebody decided. */
void th_driver_tool_asks(struct th_driver *d, struct th_ticket t, struct th_str host, uint16_t port,
			 bool listed);
/* It has hung up: nobody need decide. */
void th_driver_tool_withdraws(struct th_driver *d, struct th_ticket t, struct th_str host,
			      uint16_t port);
/* Output of an effect that still runs, for observers. */
void th_driver_tool_progress(struct th_driver *d, struct th_ticket t, struct th_str bytes);
/* Its server does it as a task of that name, which is written down: a later runtime asks for it. */
void th_driver_tool_task(struct th_driver *d, struct th_ticket t, struct th_str task);

#endif
