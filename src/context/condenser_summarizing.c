/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_summarizing.c - as llm, with what its second generation added: it
 * also acts on tokens, it keeps the least that its reasons ask for, and it asks
 * nobody for what would make little difference.
 */
#include "context/condenser.h"

/* How many of the newest have no more than `share` of the tokens, by their sizes. */
static size_t fits(const struct th_condense_plan *p, int64_t tokens_max)
{
	double all = 0, size = 0, most;
	size_t keep = 0;

	for (size_t i = 0; i < p->t->count; i++)
		all += (double)th_condenser_size(&p->t->list[i]) + 1;
	most = p->c->tokens > 0 ? all * ((double)tokens_max / (double)p->c->tokens) : all / 2;
	for (size_t i = p->t->count; i-- > 0; keep++) {
		size += (double)th_condenser_size(&p->t->list[i]) + 1;
		if (size > most)
			break;
	}
	return keep;
}

static void plan(struct th_condense_plan *p)
{
	const struct th_condense *c = p->c;
	size_t count = p->t->count, first = (size_t)p->own.keep_first, tail = count, from, to;
	size_t half = (size_t)p->own.max_size / 2;

	if (count > (size_t)p->own.max_size || (c->reasons & TH_CONDENSE_ITEMS))
		tail = half > first + 1 ? half - first - 1 : 1;
	if (c->reasons & TH_CONDENSE_ASKED)
		tail = TH_MIN(tail, count / 2 > first + 1 ? count / 2 - first - 1 : (size_t)1);
	if (c->reasons & TH_CONDENSE_TOKENS)
		tail = TH_MIN(tail, fits(p, c->tokens_max / 2));
	from = th_plan_cut_after(p, first);
	to = th_plan_cut_after(p, th_plan_tail(p, tail));
	if (from >= to || (to - from) * TH_COMPACT_PROGRESS < count)
		return;
	th_plan_drop(p, from, to);
	th_plan_note_summary(p);
}

static void ask(const struct th_condense_plan *p, struct th_buf *text)
{
	th_condenser_llm.ask(p, text);
}

const struct th_condenser th_condenser_summarizing = {
	.name = "llm_summarizing",
	.summary = "as llm, also by tokens, and only where a tenth goes",
	.numbers = { "keep_first", "max_size", "max_event_length" },
	.own = { .keep_first = 4, .max_size = 80 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = th_condenser_max_size,
	.plan = plan,
	.ask = ask,
};
