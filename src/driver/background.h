/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.h - answers that the provider works on by itself.
 */
#ifndef TH_DRIVER_BACKGROUND_H
#define TH_DRIVER_BACKGROUND_H

#include "live/live.h"

bool th_live_background(const struct th_live *l);
/* Writes MODEL_STARTED, once. */
void th_live_started(struct th_live *l, struct th_str id, int64_t next_event);
/* The provider is still working on it. */
bool th_live_unfinished(const struct th_live *l, const struct th_answer *a);
TH_NODISCARD enum th_code th_live_fetch(struct th_live *l, th_delta_fn *fn, struct th_err *err);
void th_live_observe_again(struct th_live *l);
bool th_live_poll_is_late(const struct th_live *l);
void th_live_background_end(struct th_live *l);
/* True: the ticket was of this kind. */
bool th_live_end_done(struct th_driver *d, struct th_ticket t);
void th_live_ending_free(struct th_live *l);

#endif
