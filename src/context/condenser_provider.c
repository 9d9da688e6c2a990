/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_provider.c - the model's provider shortens the history itself
 * (th_request_compacts), and what stands before its newest compaction goes.
 *
 * That item is opaque: the log has it as it came, and it is sent back so.  A
 * provider that edits the history without a word (Anthropic) gets all of it each
 * time.  Where nothing was done and a limit is passed, the newest half stays.
 */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	size_t at = p->t->count;

	while (at > 0 && !th_condenser_is_compaction(&p->t->list[at - 1]))
		at--;
	if (at > 0)
		th_plan_drop(p, 0, p->group[at - 1]);
	else if (p->c->reasons & (TH_CONDENSE_TOKENS | TH_CONDENSE_ASKED))
		th_plan_drop(p, 0, th_plan_cut_before(p, th_plan_tail(p, p->t->count / 2)));
}

const struct th_condenser th_condenser_provider = {
	.name = TH_COMPACT_PROVIDER,
	.summary = "the model's provider shortens it",
	.numbers = { "keep" },
	.own = { .keep_first = -1, .keep = 3 },
	.reasons = TH_CONDENSE_TOKENS | TH_CONDENSE_ASKED,
	.plan = plan,
};
