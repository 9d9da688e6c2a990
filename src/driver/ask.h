/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - a person asks the session's model something beside its history.
 *
 * It is a side request on the history as it is (side_request.h): its answer is no turn, nothing of
 * it is in the history, and the model calls nothing.  An event (ASKED) has it, and what it took.
 */
#ifndef TH_DRIVER_ASK_H
#define TH_DRIVER_ASK_H

#include "driver/live.h"

/* The requests of the session are given up: who asked is told.  NULL `why`: nobody is. */
void th_live_ask_end(struct th_live *l, const struct th_err *why);

#endif
