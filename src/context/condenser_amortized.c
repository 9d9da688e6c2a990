/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_amortized.c - when there are more than max_size items, half of
 * max_size stay: the oldest keep_first, and the newest.
 */
#include "context/condenser.h"

/* Those between go; false: there are none. */
static bool leave(struct th_condense_plan *p, size_t target)
{
	size_t first = (size_t)p->own.keep_first;
	size_t from = th_plan_cut_after(p, first);
	size_t to = th_plan_cut_after(p, th_plan_tail(p, target > first ? target - first : 1));

	th_plan_drop(p, from, to);
	return from < to;
}

static void plan(struct th_condense_plan *p)
{
	/* Where somebody asks while there are fewer than that: half of what there is. */
	if (!leave(p, (size_t)p->own.max_size / 2))
		(void)leave(p, p->t->count / 2);
}

const struct th_condenser th_condenser_amortized = {
	.name = "amortized",
	.summary = "of more than max_size items, half of max_size stay",
	.numbers = { "keep_first", "max_size" },
	.own = { .keep_first = 1, .max_size = 100 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = th_condenser_max_size,
	.plan = plan,
};
