/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_internal.h - a hook that runs (program.h): begun and ended in program.c, told what it is
 * about in program_input.c, understood in program_end.c.
 */
#ifndef TH_GUARDS_PROGRAM_INTERNAL_H
#define TH_GUARDS_PROGRAM_INTERNAL_H

#include "guards/hook_ask.h"
#include "guards/program.h"
#include "guards/verdict.h"

struct th_program {
	struct th_program *next;
	const struct th_hook_program *hook;
	struct th_pending_callback about; /* the guardrail; of session_end nothing */
	bool waited;                      /* for: it has a stage */
	uint64_t seq;                     /* of HOOK_STARTED; 0: the executor is not ready */
	bool started, over;
	char effect_id[33];
	struct th_buf journal;
	/* How it ended, when that came too early or too late to be used. */
	struct th_hook_end end;
	struct th_buf why, out, err;
	int64_t elapsed_ms;
	struct th_hook_ask ask; /* where it asks a model */
};

/* A text as it is; anything else as JSON. */
void th_program_add_plain(struct th_buf *out, struct th_str raw);
/* What the hook is told: JSON.  TH_ELIMIT: it is too large. */
TH_NODISCARD enum th_code th_program_print_input(struct th_live *l, struct th_program *p,
						 struct th_buf *out, struct th_err *err);
/* Arguments of the tool `command`: the line goes to sh. */
void th_program_print_command(const struct th_live *l, const struct th_program *p,
			      struct th_str input, struct th_buf *out);

/* Takes over what the result says. */
void th_program_read_end(struct th_program *p, const struct th_effect_result *r);
/* Nobody waits for it: what it did is noted, and a failure ends the run where the agent file wants
 * that. */
void th_program_note(struct th_live *l, struct th_program *p);
/* Its answer, where that is still awaited; what it tells the model comes right behind. */
void th_program_conclude(struct th_live *l, struct th_program *p);

#endif
