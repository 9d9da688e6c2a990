/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_llm.c - when there are more than max_size items, a model sums up
 * those between the oldest keep_first and the newest; half of max_size stay.
 */
#include "context/condenser.h"

static const char prompt[] =
    "The conversation above has become too long. Write a status summary that takes the place of "
    "its "
    "older part; an earlier summary is part of it and must be carried on. Call no tool, and do not "
    "go on with the task in this answer.\n\n"
    "Use these headings, and leave out those with nothing under them:\n"
    "USER_CONTEXT: what the user wants, with every rule, limit and clarification.\n"
    "TASK_TRACKING: open and finished tasks, with their ids and states exactly as they are.\n"
    "COMPLETED: what was done, with short results.\n"
    "PENDING: what remains.\n"
    "CURRENT_STATE: variables, data structures, and what is known now.\n"
    "For work on code, also:\n"
    "CODE_STATE: paths, signatures, data structures.\n"
    "TESTS: which fail, with their errors, and which pass.\n"
    "CHANGES: edits of files, and why.\n"
    "DEPS: libraries and calls outside.\n"
    "VERSION_CONTROL_STATUS: repository, branch, changes, commits.\n\n"
    "Keep names, paths, numbers and ids exactly. Say nothing that is not above.";

static void drop_middle(struct th_condense_plan *p, size_t target)
{
	size_t first = (size_t)p->own.keep_first;
	/* The summary takes the place of one. */
	size_t tail = target > first + 1 ? target - first - 1 : 1;
	size_t from = th_plan_cut_after(p, first);
	size_t to = th_plan_cut_after(p, th_plan_tail(p, tail));

	if (from < to)
		th_plan_drop(p, from, to);
}

static bool drops_any(const struct th_condense_plan *p)
{
	for (size_t i = 0; i < p->t->count; i++)
		if (p->fates[i] == TH_FATE_GOES && !p->t->list[i].made)
			return true;
	return false;
}

void th_plan_drop_middle(struct th_condense_plan *p)
{
	drop_middle(p, (size_t)p->own.max_size / 2);
	/* Somebody asks, or there are too many tokens, while there are not many items. */
	if (!drops_any(p))
		drop_middle(p, p->t->count / 2);
	if (drops_any(p))
		th_plan_note_summary(p);
}

void th_plan_ask(const struct th_condense_plan *p, const char *words, struct th_buf *text)
{
	size_t each = (size_t)p->own.max_event_length;

	if (each && p->t->summary.len)
		th_buf_printf(text, "<PREVIOUS SUMMARY>\n%.*s\n</PREVIOUS SUMMARY>\n",
			      TH_FMT(p->t->summary));
	for (size_t i = 0; each && i < p->t->count; i++)
		if (p->fates[i] == TH_FATE_GOES && !p->t->list[i].made)
			th_condenser_list(p->t, i, i + 1, each, text);
	if (each)
		th_buf_add_cstr(text, "\n");
	th_buf_add_cstr(text, words);
}

static void ask(const struct th_condense_plan *p, struct th_buf *text)
{
	th_plan_ask(p, prompt, text);
}

bool th_condenser_max_size(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh)
{
	uint64_t max = (uint64_t)own->max_size;

	return items > max && th_condenser_is_fresh(max, fresh);
}

const struct th_condenser th_condenser_llm = {
	.name = "llm",
	.summary =
	    "of more than max_size items half of max_size stay, and a model sums up the rest",
	.numbers = { "keep_first", "max_size", "max_event_length" },
	.own = { .keep_first = 1, .max_size = 100 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = th_condenser_max_size,
	.plan = th_plan_drop_middle,
	.ask = ask,
};
