/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condense.h - a history that has become too long: when that is so, and what a
 * condenser (context/condenser.h) makes of it.
 *
 * A condenser that needs a summary asks the session's own model, with the
 * session's own request and one message more, so that the provider's cache
 * holds.  Where that fails, and where the provider says that the history is
 * longer than the model takes, it is cut without a model.
 */
#ifndef TH_TURNS_CONDENSE_H
#define TH_TURNS_CONDENSE_H

#include "live/live.h"

/* A limit of the agent's `compact` is passed, and nothing was done about it for this request. */
bool th_live_is_too_long(const struct th_live *l);
/* Appends CONDENSATION; fills in what is the same for all. */
void th_live_write_condensed(struct th_live *l, struct th_ev_condensation *d);
/* Before a request.  True: it is made later, or not at all (the session is lost, or the run has
 * failed). */
bool th_live_condense(struct th_live *l);
void th_live_condense_free(struct th_live *l); /* a summary under way is given up */

#endif
