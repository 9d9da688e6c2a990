/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - hooks that are programs, or ask a model (agents/hook.h).
 *
 * A program is an effect of class W of the executor, in the sandbox of commands: HOOK_STARTED is
 * durable before it starts, and after a crash it is asked how it ended, never started again.  Its
 * answer is a GUARDRAIL.  What the program tells the model follows that as a message of the
 * environment.  A question to a model (hook_ask.h) is no effect, and is otherwise the same.
 */
#ifndef TH_GUARDS_PROGRAM_H
#define TH_GUARDS_PROGRAM_H

#include "live/live.h"
#include "live/pending_callback.h"

/* The guardrail is a program: begins it, finds out how it ended, or goes on to wait. */
void th_live_program(struct th_live *l, const struct th_pending_callback *about);
void th_live_programs_start(struct th_live *l); /* those whose HOOK_STARTED is durable */
void th_live_programs_ready(struct th_live *l); /* the executor is there, or will not be */
void th_live_program_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r);
/* What a hook's model looked at is there. */
void th_live_program_looked(struct th_live *l, struct th_ticket t,
			    const struct th_effect_result *r);
/* The session rests: those that nobody waits for any more end.  True: programs run because it is
 * over, and who watches it is told afterwards. */
bool th_live_programs_end(struct th_live *l);
/* The log has that one was started, and not yet how it ended. */
bool th_live_programs_run(const struct th_live *l);
/* Those that asked a model are given up. */
void th_live_programs_unask(struct th_live *l);
void th_live_programs_free(struct th_live *l);

#endif
