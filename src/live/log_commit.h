/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_commit.h - the transaction that is being filled, and the events of each session that wait to
 * go with it.
 */
#ifndef TH_LIVE_LOG_COMMIT_H
#define TH_LIVE_LOG_COMMIT_H

#include "live/live.h"

void th_driver_ask_flush(struct th_driver *d);
/* The one that is being filled.  NULL: out of memory. */
struct th_commit *th_commit_filling(struct th_driver *d);
void th_commit_recycle(struct th_driver *d, struct th_commit *c); /* it is over */

/* Room for one more; false: the batch has no memory left. */
bool th_pending_room(struct th_pending *p, struct th_arena *a);
void th_pending_add(struct th_live *l, const struct th_event *ev); /* there is room */
/* What waited went with its batch, or is lost with it. */
void th_pending_end(struct th_pending *p);
/* An event was refused: room that nothing waits in goes with its commit, and is nobody's then. */
void th_pending_refused(struct th_pending *p);

#endif
