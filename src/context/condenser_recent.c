/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_recent.c - the newest items stay, and what began the task; a note
 * says how many were left out.
 *
 * `keep` counts the newest.  With max_events the oldest keep_first stay too, and
 * they are counted in it; so that not every request begins with other bytes than
 * the one before, half as many more may come before they go.
 */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	const struct th_agent_condenser *own = &p->own;
	size_t count = p->t->count, all = (size_t)own->max_events;
	size_t first = all ? (size_t)own->keep_first : 0;

	if (all && count > all)
		th_plan_drop(p, th_plan_cut_after(p, first),
			     th_plan_cut_before(p, count - (all - first)));
	else if (!all)
		th_plan_drop(p, 0, th_plan_cut_before(p, th_plan_tail(p, (size_t)own->keep)));
	/* The note takes the place of one. */
	if (!all && th_condense_plan_settle(p) < 2)
		th_plan_keep_all(p);
}

static bool due(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh)
{
	uint64_t max = (uint64_t)own->max_events;

	return max && items > max + max / 2 && th_condenser_is_fresh(max, fresh);
}

const struct th_condenser th_condenser_recent = {
	.name = "recent",
	.summary = "the newest items stay, and what began the task",
	.numbers = { "keep", "keep_first", "max_events" },
	.own = { .keep = TH_COMPACT_KEEP_DEFAULT, .keep_first = 1 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = due,
	.plan = plan,
};
