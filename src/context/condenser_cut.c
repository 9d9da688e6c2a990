/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_cut.c - where a history can be cut: what belongs together, and what
 * always stays; and the numbers of a condenser.
 */
#include "context/condenser.h"

#include <stdlib.h>

static bool is_reasoning(const struct th_transcript_item *item)
{
	return item->kind == TH_TRANSCRIPT_OUTPUT &&
	       th_str_is(th_json_raw_get(item->item, "type"), "\"reasoning\"");
}

static size_t call_of(const struct th_transcript *t, size_t result)
{
	size_t at = result;

	while (at-- > 0)
		if (t->list[at].kind == TH_TRANSCRIPT_OUTPUT &&
		    th_str_eq(t->list[at].call_id, t->list[result].call_id))
			return at;
	return result;
}

/* Do the item and the one before it belong to one answer? */
static bool is_inside(const struct th_transcript *t, size_t at)
{
	const struct th_transcript_item *item = &t->list[at];

	return item->kind == TH_TRANSCRIPT_OUTPUT && at > 0 &&
	       t->list[at - 1].kind == TH_TRANSCRIPT_OUTPUT && t->list[at - 1].seq == item->seq;
}

/* Nothing is cut behind `from`, up to `to`. */
static void join(struct th_condense_plan *p, size_t from, size_t to)
{
	for (size_t i = from + 1; i <= to; i++)
		p->legal[i] = false;
}

/* The answer that begins at `from`: where it ends, and what it has. */
static size_t answer_end(const struct th_transcript *t, size_t from, bool *ret_reasons,
			 bool *ret_calls)
{
	size_t end = from;

	*ret_reasons = *ret_calls = false;
	do {
		*ret_reasons |= is_reasoning(&t->list[end]);
		*ret_calls |= t->list[end].call_id.len > 0;
	} while (++end < t->count && is_inside(t, end));
	return end;
}

/* The answers of a loop of calls of which an earlier one has reasoning, and they have none. */
static void join_loops(struct th_condense_plan *p)
{
	const struct th_transcript *t = p->t;
	size_t before = SIZE_MAX; /* the answer before, of a loop that has reasoning */

	for (size_t i = 0, end; i < t->count; i = end) {
		bool reasons, calls;

		end = i + 1;
		if (t->list[i].kind == TH_TRANSCRIPT_MESSAGE)
			before = SIZE_MAX;
		if (t->list[i].kind != TH_TRANSCRIPT_OUTPUT)
			continue;
		end = answer_end(t, i, &reasons, &calls);
		if (!reasons && calls && before != SIZE_MAX)
			join(p, before, i);
		if (!calls)
			before = SIZE_MAX; /* it ended with words */
		else if (reasons || before != SIZE_MAX)
			before = i;
	}
}

/* `loose`: loops may be cut, where nothing else helps. */
static void find_cuts(struct th_condense_plan *p, bool loose)
{
	const struct th_transcript *t = p->t;

	for (size_t i = 0; i <= t->count; i++)
		p->legal[i] = true;
	for (size_t i = 0; i < t->count; i++) {
		p->group[i] = i;
		if (is_inside(t, i)) {
			p->group[i] = p->group[i - 1];
			p->legal[i] = false;
		}
		if (t->list[i].kind == TH_TRANSCRIPT_RESULT) {
			size_t call = call_of(t, i);

			p->group[i] = p->group[call];
			join(p, p->group[call], i);
		}
	}
	if (!loose)
		join_loops(p);
}

void th_condense_plan_init(struct th_condense_plan *p, const struct th_condense *c, bool loose)
{
	size_t count = c->transcript->count;

	*p = (struct th_condense_plan){ .c = c, .t = c->transcript };
	th_arena_init(&p->memory, TH_TURN_MEMORY_MAX);
	th_buf_init(&p->note, TH_EVENT_DATA_MAX);
	p->fates = th_alloc(count + 1);
	p->legal = th_alloc((count + 1) * sizeof(*p->legal));
	p->group = th_alloc((count + 1) * sizeof(*p->group));
	p->masks = th_alloc((count + 1) * sizeof(*p->masks));
	find_cuts(p, loose);
}

void th_condense_plan_deinit(struct th_condense_plan *p)
{
	th_arena_deinit(&p->memory);
	th_buf_deinit(&p->note);
	free(p->fates);
	free(p->legal);
	free(p->group);
	free(p->masks);
}

size_t th_plan_cut_before(const struct th_condense_plan *p, size_t at)
{
	at = TH_MIN(at, p->t->count);
	while (at > 0 && !p->legal[at])
		at--;
	return at;
}

size_t th_plan_cut_after(const struct th_condense_plan *p, size_t at)
{
	at = TH_MIN(at, p->t->count);
	while (at < p->t->count && !p->legal[at])
		at++;
	return at;
}

size_t th_plan_tail(const struct th_condense_plan *p, size_t keep)
{
	const struct th_condense *c = p->c;
	size_t at = p->t->count - TH_MIN(p->t->count, TH_MAX(keep, (size_t)1));

	/* What came after the model had read the history is in no summary. */
	while (c->summary.len && at > 0 && p->t->list[at - 1].seq > c->read_seq)
		at--;
	return at;
}

struct th_agent_condenser th_condenser_own(const struct th_condenser *condenser,
					   const struct th_agent_condenser *given)
{
	struct th_agent_condenser own = condenser->own;

	own.condenser = th_str_of(condenser->name);
	own.keep = given->keep ?: own.keep;
	own.keep_first = given->keep_first >= 0 ? given->keep_first : own.keep_first;
	own.max_size = given->max_size ?: own.max_size;
	own.max_events = given->max_events ?: own.max_events;
	own.attention_window = given->attention_window ?: own.attention_window;
	own.max_event_length = given->max_event_length ?: own.max_event_length;
	return own;
}

bool th_condenser_is_compaction(const struct th_transcript_item *item)
{
	return item->kind == TH_TRANSCRIPT_OUTPUT &&
	       th_str_is(th_json_raw_get(item->item, "type"), "\"compaction\"");
}

static bool is_newest_compaction(const struct th_transcript *transcript, size_t at)
{
	if (!th_condenser_is_compaction(&transcript->list[at]))
		return false;
	while (++at < transcript->count)
		if (th_condenser_is_compaction(&transcript->list[at]))
			return false;
	return true;
}

bool th_condenser_pinned(const struct th_transcript *transcript, size_t at)
{
	const struct th_transcript_item *item = &transcript->list[at];
	size_t task = transcript->task_at;

	if (is_newest_compaction(transcript, at))
		return true;
	if (item->kind != TH_TRANSCRIPT_MESSAGE || item->made)
		return false;
	return at == 0 || at == task ||
	       (at > task && task < transcript->count && item->seq == transcript->list[task].seq &&
		th_condenser_pinned(transcript, at - 1));
}

bool th_condenser_said(const struct th_transcript_item *item)
{
	return item->kind == TH_TRANSCRIPT_MESSAGE && item->seq > 0 && !item->made;
}

size_t th_condenser_size(const struct th_transcript_item *item)
{
	return item->content.len + item->output.len +
	       (item->kind == TH_TRANSCRIPT_OUTPUT ? item->item.len : 0);
}
