/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - a person asks the session's model something beside its history.
 *
 * It is a side request on the history as it is (side_request.h): its answer is no turn, nothing of
 * it is in the history, and the model calls nothing.  An event (ASKED) has it, and what it took.
 */
#ifndef TH_SIDE_MODELS_ASK_H
#define TH_SIDE_MODELS_ASK_H

#include "live/live.h"

/* See th_driver_ask. */
TH_NODISCARD enum th_code th_live_ask(struct th_live *l, struct th_str by, struct th_str question,
				      th_asked_fn *fn, void *ctx, struct th_err *err);
/* The requests of the session are given up: who asked is told.  NULL `why`: nobody is. */
void th_live_ask_end(struct th_live *l, const struct th_err *why);

#endif
