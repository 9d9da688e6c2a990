/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_observation.c - results that are not among the newest
 * attention_window items are masked: that a call was made stays, what it gave
 * goes.  It masks in steps of half the window, so that a provider's cache holds
 * in between; a limit that is passed does not make it mask with each turn.
 */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	size_t window = (size_t)p->own.attention_window, count = p->t->count;

	for (size_t i = 0; i + window < count; i++)
		if (th_plan_may_mask(p, i))
			th_plan_mask(p, i, TH_STR("<MASKED>"));
}

static bool due(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh)
{
	uint64_t window = (uint64_t)own->attention_window, step = TH_MAX(window / 2, (uint64_t)2);

	return items > window && fresh >= step && items - window >= step;
}

const struct th_condenser th_condenser_observation = {
	.name = "observation_masking",
	.summary = "results outside of the newest attention_window items are masked",
	.numbers = { "attention_window" },
	.own = { .keep_first = -1, .attention_window = 100 },
	.due = due,
	.plan = plan,
};
