/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_attention.c - when there are more than max_size items, a model says
 * which of them matter; half of max_size stay: the oldest keep_first, those, and
 * where it named too few the newest.
 */
#include "context/condenser.h"

#include <stdlib.h>

static const char words[] =
    "Above are the events of a long conversation of an agent with its tools. Only some of them can "
    "be kept. Which matter most for going on with the task: decisions, rules, results, errors that "
    "were understood, and what is still open? Call no tool. Answer with one JSON object and "
    "nothing "
    "else: {\"ids\": [the ids of the events, the most important first]}";

static void ask(const struct th_condense_plan *p, struct th_buf *text)
{
	th_condenser_list(p->t, 0, p->t->count, (size_t)p->own.max_event_length, text);
	th_buf_printf(text, "\n%s, at most %zu of them.", words, (size_t)p->own.max_size / 2);
}

static enum th_code read_ids(struct th_str text, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *ids;
	enum th_code code = th_condenser_json(text, &doc, err);

	ids = code ? NULL : th_json_get(th_json_root(doc), "ids");
	if (!code && !th_json_is_array(ids))
		code = th_fail(err, TH_EPROTO, "the model gave no list of ids");
	if (!code)
		th_json_print(ids, out);
	th_json_free(doc);
	return code;
}

/* The item stays, and counts. */
static void pick(struct th_condense_plan *p, size_t at, size_t *left)
{
	if (*left && p->fates[at] == TH_FATE_GOES) {
		p->fates[at] = TH_FATE_STAYS;
		(*left)--;
	}
}

static void pick_ids(struct th_condense_plan *p, size_t *left)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;

	if (!p->c->summary.len || th_json_parse(p->c->summary, &doc, NULL))
		return;
	for (it = th_json_iter(th_json_root(doc)); *left && th_json_next(&it);) {
		uint64_t seq = th_json_uint(it.val, UINT64_MAX);

		for (size_t i = 0; i < p->t->count; i++)
			if (p->t->list[i].seq == seq)
				pick(p, i, left);
	}
	th_json_free(doc);
}

static void plan(struct th_condense_plan *p)
{
	size_t count = p->t->count, first = TH_MIN((size_t)p->own.keep_first, count);
	size_t target = TH_MIN((size_t)p->own.max_size, count) / 2;
	size_t left = target > first ? target - first : 1;

	p->spares = true;
	th_plan_drop(p, first, th_plan_tail(p, 1)); /* what it had not read stays */
	left -= TH_MIN(left, count - th_plan_tail(p, 1));
	pick_ids(p, &left);
	for (size_t i = count; i-- > 0 && left;)
		pick(p, i, &left);
}

const struct th_condenser th_condenser_attention = {
	.name = "llm_attention",
	.summary = "of more than max_size items half of max_size stay: those that a model names",
	.numbers = { "keep_first", "max_size", "max_event_length" },
	.own = { .keep_first = 1, .max_size = 100, .max_event_length = 10000 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = th_condenser_max_size,
	.plan = plan,
	.ask = ask,
	.read = read_ids,
};
