/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ground.h - calls whose points the grounder finds.
 */
#ifndef TH_SIDE_MODELS_GROUND_H
#define TH_SIDE_MODELS_GROUND_H

#include "live/live.h"

/* True: it is recorded after the grounder's answer. */
bool th_live_ground(struct th_live *l, struct th_call *c, th_record_item_fn *record);
/* The session was stopped: nothing is looked for any more, and each call that waited is recorded,
 * as one that was cancelled. */
void th_live_grounds_stop(struct th_live *l);
void th_live_grounds_free(struct th_live *l);

#endif
