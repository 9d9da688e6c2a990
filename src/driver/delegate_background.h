/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate_background.h - tasks in the background: they go on beside the run that began them, the
 * tool `background` looks at them, waits for them and stops them, and a message says what became of
 * each.
 *
 * They follow their run: paused with it, taken up with it by another runtime, held when it fails
 * or is at a limit, stopped when it is.  What one of them came to is told when the run goes on, not
 * before.
 */
#ifndef TH_DRIVER_DELEGATE_BACKGROUND_H
#define TH_DRIVER_DELEGATE_BACKGROUND_H

#include "agents/agent_command.h"
#include "driver/delegate.h"

/* The tool; an agent has it whose tools may work in the background.  Answered by the driver. */
extern const struct th_tool_row th_background_row;
bool th_background_wanted(const struct th_agent *agent);

/* TH_DO_BACKGROUND: brings them in line with the run. */
void th_live_background_tasks(struct th_live *l);
/* A call that waits for some is to have a result now; false: it does not. */
bool th_background_wait_cancel(struct th_live *l, const struct th_call *c);
/* The timer of those calls has rung (TH_TICKET_WAIT): what has waited long enough has its result.
 */
void th_background_wake(struct th_live *l);
/* This call does nothing but wait for them. */
bool th_background_is_wait(const struct th_live *l, const struct th_call *c);

/* ---- for the files of delegate.h ---- */

/* TH_EUSAGE, TH_ELIMIT: this call cannot work in the background. */
TH_NODISCARD enum th_code th_background_allows(const struct th_live *l,
					       const struct th_agent_command *tool,
					       struct th_err *err);
/* Results of its tool are looked at before the model reads them: by a reader in quarantine, or a
 * guardrail or hook of an agent of the team.  A message is seen by none of them, so it says
 * TH_BACKGROUND_UNREAD, and the event has what came of the task. */
bool th_background_is_looked_at(const struct th_live *l, const struct th_call *c);
#define TH_BACKGROUND_UNREAD                                                                      \
	TH_STR("What came of it is not told here: call the tool " TH_BACKGROUND_TOOL " with the " \
	       "action read.")
/* The call's result: it has begun. */
void th_background_begun(struct th_live *l, const struct th_call *c);
/* The run can be told what became of one. */
bool th_background_heard(const struct th_live *l);
/* How the one ended whose session this was; `state` as a person reads it.  DELEGATION_FINISHED
 * follows, and then _over: the run must not find that none is left before it has a message. */
void th_background_over(struct th_live *l);
void th_background_say(struct th_live *l, uint64_t intent_seq, struct th_str session,
		       struct th_str agent, const char *state, struct th_str text);
/* Nobody knows what it did. */
void th_background_lost(struct th_live *l, const struct th_call *c, struct th_str child,
			struct th_str text);

#endif
