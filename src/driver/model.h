/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - one model request, from its event to its answer.
 */
#ifndef TH_DRIVER_MODEL_H
#define TH_DRIVER_MODEL_H

#include "live/live.h"

void th_live_request(struct th_live *l);    /* REQUEST: writes MODEL_REQUESTED; request.c */
void th_live_model_call(struct th_live *l); /* MODEL_CALL: sends it */
void th_live_model_cancel(struct th_live *l, bool log);
void th_live_poll(struct th_live *l); /* the timer expired */

#endif
