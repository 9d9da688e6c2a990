/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate.h - agents as tools: a call on which a session of its own works.
 *
 * The tool names an agent of the team (agents/agent_command.h).  Its call becomes
 * a session in the same driver, the *child*, that begins with that agent and
 * sees nothing but the call's input; what it ends with is the call's result.
 * A child that fails, is stopped or reaches a limit is told to the parent's
 * model as a call that failed; it never fails its parent.
 *
 * Nothing twice: the child's id is made of its parent's and the number of the
 * call's INTENT, and its first event names the effect id of that.  A runtime
 * that takes the parent up settles the call by looking for it: one that is
 * there goes on by its own log, and one that is over gives its answer.
 * DELEGATION_STARTED and the child's first events are one transaction: one that
 * is not there is begun if the parent's log does not say that it was; else it
 * was lost, and with it what it did: UNKNOWN, as of one that another runtime
 * took.  DELEGATION_FINISHED and the call's OUTCOME are one transaction, too.
 *
 * Budget: tokens and money that are left to the parent are divided by the
 * calls of its answer that delegate, and a child's part is its own limit, so
 * that all of them together stay within; or they share what is left, which is
 * counted before each of their requests (live/delegation_budget.c).  What a child
 * took is added to its parent's totals when it is over (DELEGATION_FINISHED).
 * Its time is the parent's.
 *
 * A tool that is several agents may go on with an earlier task: its session is
 * opened again and gets limits of its own anew (BUDGET), the parent's event
 * says what it had used, and only what it takes from there is added again.
 *
 * A child that waits for a person makes its parent wait (DELEGATION_WAITS),
 * when nothing else of the parent's is under way; a decision given to the
 * parent reaches the child's call.  Pause, resume and stop of the parent reach its children.
 *
 * A task in the background (session_background.c) is a call whose result says only that
 * it has begun: DELEGATION_STARTED and that OUTCOME are one transaction, and so are
 * DELEGATION_FINISHED and the message that says what became of it (delegate_background.c).
 *
 * Memory: a child borrows its parent's configuration (tools, code, keys) and is closed
 * before it.  TH_DELEGATES_MAX, TH_DELEGATE_DEPTH_MAX bound how many there are.
 */
#ifndef TH_DRIVER_DELEGATE_H
#define TH_DRIVER_DELEGATE_H

#include "live/delegation.h"
#include "live/live.h"

/* The call of this row is an agent's. */
static inline bool th_row_delegates(const struct th_tool_row *row)
{
	return row && row->command && th_agent_command_delegates(row->command);
}

/* TOOL_RUN and TOOL_SETTLE: begins the child, takes it up, or lets it go on. */
void th_live_delegate(struct th_live *l, const struct th_call *c,
		      const struct th_agent_command *tool, bool settle);
/* TOOL_CANCEL: stops it; its end is the call's. */
void th_live_delegate_cancel(struct th_live *l, const struct th_call *c);

/* The same for a word that may be late: TH_EUSAGE also if another call had that name before. */
enum th_code th_live_word(struct th_live *l, enum th_call_phase phase, struct th_str name,
			  struct th_live **ret, const struct th_call **ret_call,
			  struct th_err *err);
/* A person's word was written into it: those that waited because of it go on. */
void th_live_word_given(struct th_live *l);

/* The call that waited for something else is over: may its siblings' waiting be told? */
void th_live_delegates_check(struct th_live *l);
/* The session was paused, or runs again. */
void th_live_delegates_state(struct th_live *l, enum th_state to, struct th_str reason);
/* It is resumed: nobody is said to wait before his session was looked at. */
void th_live_delegates_resume(struct th_live *l);

/* For how many it works, one for another; as its metadata says, which anyone may have written. */
int64_t th_live_depth(const struct th_live *l);
void th_live_delegates_close(struct th_live *l); /* those that work for it */
void th_live_delegation_free(struct th_live *l); /* as one of them; it goes itself */

/* ---- among its own files: delegate.c, _background.c, _end.c, _task.c, _wait.c ---- */

/* What a call asks for; strings in the arena. */
struct th_delegation_task {
	size_t agent;          /* index of the team */
	struct th_str prompt;  /* what its agent is told */
	struct th_str session; /* of the one that does it */
	bool resumed;          /* that worked on an earlier call */
	bool background;       /* nobody waits for it */
};
/* TH_EUSAGE: it names no agent, or no task of this session. */
TH_NODISCARD enum th_code th_delegation_task_read(struct th_live *l, const struct th_call *c,
						  const struct th_agent_command *tool,
						  struct th_arena *a,
						  struct th_delegation_task *ret,
						  struct th_err *err);
/* "task_%08x" of a session that works for this one, or nothing. */
void th_delegation_task_id(const struct th_live *l, struct th_str session, struct th_buf *out);
/* One that is over and was opened goes on with another call: its limits, that it began, and what
 * it is told, in one transaction. */
TH_NODISCARD enum th_code th_delegation_task_resume(struct th_live *l, const struct th_call *c,
						    struct th_delegation *g,
						    const struct th_delegation_task *task,
						    struct th_err *err);
/* {turns, usage, cost_nano, …} of DELEGATION_FINISHED, less what counts already. */
void th_delegation_usage(const struct th_session *s, const struct th_child_before *before,
			 struct th_ev_delegation_finished *ret, struct th_buf *usage);
struct th_delegation *th_delegation_of(const struct th_live *l, uint64_t intent_seq); /* or NULL */
/* One in the background that another runtime began: opens its session.  The call is over where
 * that cannot be had. */
void th_delegation_take(struct th_live *l, const struct th_call *c);
/* One that was taken up, or was paused, or whose wait is to be told again; `fresh`: what it began
 * is to be settled. */
void th_delegation_go_on(struct th_live *l, struct th_delegation *g, const struct th_call *c,
			 bool fresh);
void th_delegation_stop(struct th_live *l, struct th_delegation *g, const char *why);
bool th_delegation_works(const struct th_live *l); /* the run that it is of goes on */
/* It has ended, though what it began may not have its result. */
bool th_delegation_has_ended(const struct th_session *s);
/* What was said, or came of a tool, last; nothing where its log cannot be read. */
void th_delegation_last(struct th_live *child, struct th_buf *last);
void th_delegation_remove(struct th_delegation *g); /* from its parent's list */
/* It has ended, and all that it began has its result. */
bool th_delegation_is_over(const struct th_session *s);
/* Its session is closed.  The call that is to end; NULL: the parent is lost, too. */
const struct th_call *th_delegation_part(struct th_delegation *g);
void th_delegation_end(struct th_delegation *g); /* its child is over: the call is, too */
/* The session that worked on it cannot be had: nobody knows what it did. */
void th_delegation_lost(struct th_live *l, const struct th_call *c, struct th_str child,
			const struct th_err *why);
/* The child's observer. */
void th_delegation_rest(void *ctx, struct th_handle h, const struct th_session *s,
			const struct th_err *err);
/* `child` NULL: the session goes on. */
void th_delegation_waits(struct th_live *l, const struct th_call *c, struct th_str id,
			 const struct th_live *child);

#endif
