/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_amortized.c - when there are more than max_size items, half of
 * max_size stay: the oldest keep_first, and the newest.
 */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	size_t count = p->t->count, first = (size_t)p->own.keep_first;
	/* Where somebody asks while there is room: half of what there is. */
	size_t half = TH_MIN((size_t)p->own.max_size, count) / 2;

	th_plan_drop(p, th_plan_cut_after(p, first),
		     th_plan_cut_after(p, th_plan_tail(p, half > first ? half - first : 1)));
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
