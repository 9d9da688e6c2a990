/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_look.h - what a guardrail looks at, whether its answer is awaited, and the event that has
 * it. Whoever answers, code (guardrail.h) or a program (program.h), fills in stage, guard, member,
 * call_seq and asked_seq of `a`.
 */
#ifndef TH_GUARDS_GUARD_LOOK_H
#define TH_GUARDS_GUARD_LOOK_H

#include "live/live.h"
#include "live/pending_callback.h"

/* What it looks at, as members of an object.  TH_ELIMIT: more than it can be shown; else the log
 * cannot be read. */
TH_NODISCARD enum th_code th_live_guard_subject(struct th_live *l,
						const struct th_pending_callback *a,
						struct th_jw *w, struct th_err *err);
/* The event that an answer is about, beside a call. */
uint64_t th_live_guard_about(const struct th_session *s, enum th_guard_stage stage);
/* Has it not answered?  And, open, is the session at work as well? */
bool th_live_guard_awaited(struct th_live *l, const struct th_pending_callback *a);
bool th_live_guard_open(struct th_live *l, const struct th_pending_callback *a);
/* Appends its answer; fills in what it is about. */
void th_live_guard_write(struct th_live *l, const struct th_pending_callback *a,
			 struct th_ev_guardrail *d);

#endif
