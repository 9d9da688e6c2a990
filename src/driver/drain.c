/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - a session that is to go on elsewhere, without anything under way. */
#include "driver/driver.h"
#include "driver/person.h"
#include "guards/program.h"
#include "live/live.h"

/* What is in the log of a call alone says all of it. */
static bool call_is_still(const struct th_call *c)
{
	return c->phase == TH_CALL_SETTLED || c->phase == TH_CALL_ASKED ||
	       c->phase == TH_CALL_PARKED || (c->phase == TH_CALL_CLEARED && !c->emitted);
}

bool th_driver_drain(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = th_driver_find(d, h);

	if (!l || l->lost)
		return true;
	l->fold.held_back = true;
	if (l->dirty || l->commits || l->durable_seq != l->fold.seq || l->held_count ||
	    l->queue_at < l->queue_count)
		return false;
	if (l->flight || l->ending || l->summarizing || l->pending_callbacks || l->unknowns ||
	    l->grounds || l->sides || l->children || th_live_programs_run(l) || th_live_taken(l))
		return false;
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (!call_is_still(&l->fold.calls[i]))
			return false;
	return true;
}
