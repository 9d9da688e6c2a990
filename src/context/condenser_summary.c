/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_summary.c - a model sums up the older part; the newest items stay, by
 * their size.
 */
#include "context/condenser.h"

static const char prompt[] =
    "The conversation above has become too long. Write a summary that takes the place of its older "
    "part. The newest items and the user's own messages stay beside it. Call no tool, and do not "
    "go "
    "on with the task in this answer.\n\n"
    "Use these headings, and leave out those with nothing under them:\n"
    "TASK: what is wanted, with every rule, limit and preference that was given.\n"
    "DONE: what was done so far, and how it ended.\n"
    "STATE: files, programs, accounts and screens as they are now: paths, names, values, ids.\n"
    "FACTS: what was found out: figures, names, errors and what solved them.\n"
    "OPEN: what remains, in order; what waits for a person; actions whose outcome is unknown.\n"
    "NEXT: the very next step.\n\n"
    "Keep names, paths, numbers, ids and commands exactly. Say nothing that is not above.";

/* How many are the tail: as many as the options say, else about a quarter of all. */
static size_t newest(const struct th_condense_plan *p, size_t all_size)
{
	size_t at = p->t->count, size = 0;

	if (p->own.keep)
		return (size_t)p->own.keep;
	while (at > 0) {
		size += th_condenser_size(&p->t->list[at - 1]);
		if (p->t->count - at >= TH_COMPACT_KEEP_DEFAULT || size > all_size / 4)
			break;
		at--;
	}
	return p->t->count - at;
}

static void plan(struct th_condense_plan *p)
{
	size_t all = 0, gone;

	for (size_t i = 0; i < p->t->count; i++)
		all += th_condenser_size(&p->t->list[i]);
	th_plan_drop(p, 0, th_plan_cut_before(p, th_plan_tail(p, newest(p, all))));
	gone = th_condense_plan_settle(p);
	/* So much at least, so that there is progress; and the note takes the place of one. */
	if (gone < 2 || th_plan_gone_size(p) < all / TH_COMPACT_PROGRESS)
		th_plan_keep_all(p);
	else
		th_plan_note_summary(p);
}

static void ask(const struct th_condense_plan *p, struct th_buf *text)
{
	th_plan_ask(p, prompt, text);
}

const struct th_condenser th_condenser_summary = {
	.name = "summary",
	.summary = "a model sums up the older part; the newest items stay",
	.numbers = { "keep", "max_event_length" },
	.own = { .keep_first = -1 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.plan = plan,
	.ask = ask,
};
