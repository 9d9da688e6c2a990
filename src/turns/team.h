/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - handoffs, filters, and the history as the current agent sees it.
 */
#ifndef TH_TURNS_TEAM_H
#define TH_TURNS_TEAM_H

#include "live/live.h"

struct th_transcript;

void th_live_hand_over(struct th_live *l, struct th_call *c);
void th_live_correct(struct th_live *l);
bool th_live_filter(struct th_live *l); /* true: the request waits for the code's answer */
/* Items `from` to `to` as the member `name` of an object. */
void th_live_put_items(struct th_jw *w, const char *name, const struct th_transcript *transcript,
		       size_t from, size_t to);
/* The history of a session whose events are all durable. */
TH_NODISCARD enum th_code th_live_history_make(struct th_live *l, struct th_err *err);
/* Makes the rendered history up to the last event, by reading the store if there is none yet. */
TH_NODISCARD enum th_code th_live_history(struct th_live *l, struct th_err *err);
/* What the model has seen, also while history_due.  The caller frees *ret_own. */
TH_NODISCARD enum th_code th_live_seen(struct th_live *l, const struct th_history **ret,
				       struct th_history **ret_own, struct th_err *err);

#endif
