/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.h - what a step asks for, at once or when its event is durable.
 */
#ifndef TH_DRIVER_EFFECTS_H
#define TH_DRIVER_EFFECTS_H

#include "driver/live.h"

void th_live_hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq);
void th_live_queue(struct th_live *l, const struct th_effects *fx);
/* What waited for events up to durable_seq may happen now.  The session may be gone afterwards. */
void th_live_release(struct th_driver *d, struct th_handle h);
TH_NODISCARD enum th_code th_live_state(struct th_live *l, enum th_state to, struct th_str reason,
					struct th_err *err);
/* Performs the queued effects. */
void th_live_pump(struct th_live *l);
/* These make the request, or the handoff, when the whole log is durable. */
bool th_live_defer_request(struct th_live *l); /* true */
void th_live_hold_hand_over(struct th_live *l, const struct th_call *c);

#endif
