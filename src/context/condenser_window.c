/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_window.c - on a request only: what the conversation began with
 * stays, and of the rest the newest half.
 */
#include "context/condenser.h"

static bool is_said_by(const struct th_transcript_item *item, bool user)
{
	return item->kind == TH_TRANSCRIPT_MESSAGE && !item->made &&
	       th_str_is(item->role, "user") == user;
}

/* What comes before the user's first message, it, and what others than the user say to it: one past
 * them. */
static size_t beginning(const struct th_transcript *t)
{
	size_t at = 0;

	while (at < t->count && !is_said_by(&t->list[at], true))
		at++;
	at = TH_MIN(at + 1, t->count);
	while (at < t->count && is_said_by(&t->list[at], false))
		at++;
	return at;
}

static void plan(struct th_condense_plan *p)
{
	size_t first = beginning(p->t), rest = p->t->count - first, tail;

	/* Calls from before the user's first words are no beginning. */
	for (size_t i = 0; i < first; i++) {
		if (p->t->list[i].kind == TH_TRANSCRIPT_MESSAGE)
			continue;
		th_plan_drop(p, i, i + 1);
		rest++;
	}
	tail = th_plan_cut_after(p, th_plan_tail(p, rest / 2));
	if (tail > first)
		th_plan_drop(p, first, tail);
}

const struct th_condenser th_condenser_window = {
	.name = "conversation_window",
	.summary =
	    "on a request, or where it is too long: the beginning stays, and the newest half",
	.own = { .keep_first = -1 },
	.reasons = TH_CONDENSE_TOKENS | TH_CONDENSE_ASKED,
	.plan = plan,
};
