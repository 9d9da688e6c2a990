/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.h - guardrails: of the agent's code, and hooks.
 */
#ifndef TH_DRIVER_GUARDRAIL_H
#define TH_DRIVER_GUARDRAIL_H

#include "driver/live.h"
#include "driver/pending_callback.h"

void th_live_guard(struct th_live *l, const struct th_held *held);

/* For hooks (program.h); of `a` there are stage, guard, member, call_seq and asked_seq. */
/* What it looks at, as members of an object.  TH_ELIMIT: more than it can be shown; else the log
 * cannot be read. */
TH_NODISCARD enum th_code th_live_guard_subject(struct th_live *l,
						const struct th_pending_callback *a,
						struct th_jw *w, struct th_err *err);
/* Is its answer still wanted? */
bool th_live_guard_open(struct th_live *l, const struct th_pending_callback *a);
/* Appends its answer; fills in what it is about. */
void th_live_guard_write(struct th_live *l, const struct th_pending_callback *a,
			 struct th_ev_guardrail *d);

#endif
