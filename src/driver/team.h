/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - handoffs, filters, and the history as the current agent sees it.
 */
#ifndef TH_DRIVER_TEAM_H
#define TH_DRIVER_TEAM_H

#include "driver/live.h"

struct th_transcript;

void th_live_hand_over(struct th_live *l, struct th_call *c);
void th_live_correct(struct th_live *l);
/* The history is something other than the log from its beginning. */
bool th_live_history_rewritten(const struct th_live *l);
bool th_live_filter(struct th_live *l); /* true: the request waits for the code's answer */
/* `message_seq`: the last message when the filter was called; after a newer one it is called again.
 */
void th_live_filtered(struct th_live *l, uint64_t message_seq, struct th_str items);
void th_live_handed(struct th_live *l, uint64_t call_seq, uint64_t message_seq,
		    struct th_str items);
TH_NODISCARD enum th_code th_live_transcript(struct th_live *l, uint64_t upto, uint64_t marks_seq,
					     const struct th_event *next,
					     struct th_transcript *transcript, struct th_err *err);
/* The history of a session whose events are all durable. */
TH_NODISCARD enum th_code th_live_history_make(struct th_live *l, struct th_err *err);
/* What the model has seen, also while history_due.  The caller frees *ret_own. */
TH_NODISCARD enum th_code th_live_seen(struct th_live *l, const struct th_history **ret,
				       struct th_history **ret_own, struct th_err *err);

#endif
