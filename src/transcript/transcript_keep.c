/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_keep.c - another list in a transcript's place, by marks: narrowed for a handoff, made
 * by a task's code, or condensed.
 */
#include <stdlib.h>

#include "transcript/transcript_internal.h"

/* Where what belongs to the task begins, in a list that event `seq` made. */
static size_t task_starts(const struct th_transcript *p, uint64_t seq)
{
	size_t at = 0;

	while (at < p->count && (p->list[at].seq < p->task_seq || p->list[at].seq == seq))
		at++;
	return at;
}

/* Is it the same item, or what somebody wrote in its place? */
static bool stands_for(const struct th_transcript_item *item, const struct th_transcript_item *was)
{
	return item->of ? item->seq == was->seq && item->index == was->index
			: th_transcript_is_reasoning(item);
}

enum th_code th_transcript_keep(struct th_transcript *p, uint64_t seq, const struct th_json *marks,
				struct th_err *err)
{
	struct th_transcript_item *before = p->list;
	size_t count = p->count, run_at = p->run_at, next = 0;
	struct th_json_iter it = th_json_iter(marks);
	enum th_code code = TH_OK;

	if (!th_json_is_array(marks))
		return th_fail(err, TH_EPROTO, "a narrowed history must be a list");
	free(p->aside); /* it stays as it is now */
	p->aside = NULL;
	p->list = NULL;
	p->count = p->cap = 0;
	p->run_at = SIZE_MAX;
	for (size_t n = 0; !code && !p->no_memory && th_json_next(&it); n++) {
		struct th_transcript_item *to = th_transcript_insert(p, p->count);
		uint64_t event = th_json_uint(th_json_at(it.val, 0), 0);
		uint64_t index = th_json_uint(th_json_at(it.val, 1), 0);
		bool found = false;

		if (!to)
			break;
		if (th_json_is_array(it.val)) {
			/* Mostly they come in the order in which they were. */
			for (size_t k = 0; k < count && !found; k++) {
				size_t i = next + k < count ? next + k : next + k - count;

				if (before[i].seq == event && before[i].index == index) {
					*to = before[i];
					to->bare |= th_transcript_is_reasoned(before, i) &&
						    !(n > 0 && stands_for(&to[-1], &before[i - 1]));
					found = true;
					next = i + 1;
					if (i >= run_at && p->run_at == SIZE_MAX)
						p->run_at = n;
				}
			}
			if (!found)
				code =
				    th_fail(err, TH_EPROTO,
					    "a narrowed history names item %llu of event %llu, "
					    "which is not there",
					    (unsigned long long)index, (unsigned long long)event);
		} else {
			to->seq = seq;
			to->index = n;
			th_transcript_fill(p, to, it.val, th_json_text(it.val, &p->memory));
		}
	}
	free(before);
	if (run_at != SIZE_MAX)
		p->run_at = TH_MIN(p->run_at, p->count);
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
	p->task_at = task_starts(p, seq);
	p->tail_at = 0;
	return code;
}

enum th_code th_transcript_join(struct th_transcript *p, uint64_t seq, const struct th_json *marks,
				struct th_err *err)
{
	size_t bytes = p->count * sizeof(*p->list);
	struct th_transcript_item *aside = th_try_alloc(bytes + 1);
	size_t count = p->count;
	enum th_code code;

	if (!aside)
		return th_fail_memory(err);
	if (bytes)
		memcpy(aside, p->list, bytes);
	code = th_transcript_keep(p, seq, marks, err);
	if (code) {
		free(aside);
		return code;
	}
	p->aside = aside;
	p->aside_count = count;
	p->joined_at = p->count;
	p->task_at = 0; /* a limit was kept to when it was asked */
	return TH_OK;
}

/* A result's item is its call's, which stands before it in most cases; `was` has the strings of
 * before. */
static struct th_str hold_item(struct th_transcript *p, size_t at, const struct th_str *was)
{
	for (size_t i = at; p->list[at].kind == TH_TRANSCRIPT_RESULT && i-- > 0;)
		if (p->list[i].kind == TH_TRANSCRIPT_OUTPUT && was[i].ptr == was[at].ptr)
			return p->list[i].item;
	return th_transcript_hold(p, was[at]);
}

/* The memory holds only what is left: so a history of many condensations needs no more than its
 * view. */
static void compact(struct th_transcript *p)
{
	struct th_arena before = p->memory;
	struct th_str *was = th_try_alloc((p->count + 1) * sizeof(*was));
	struct th_str agent = { NULL, 0 }, held = { NULL, 0 };

	if (!was) {
		p->no_memory = true;
		return;
	}
	th_arena_init_try(&p->memory, TH_TURN_MEMORY_MAX);
	p->memory.no_memory = before.no_memory;
	for (size_t i = 0; i < p->count; i++) {
		struct th_transcript_item *at = &p->list[i];
		struct th_str *const own[] = { &at->role,         &at->content, &at->raw,
					       &at->call_id,      &at->tool,    &at->output,
					       &at->acknowledged, &at->evidence };

		for (size_t k = 0; k < TH_COUNT(own); k++)
			*own[k] = th_transcript_hold(p, *own[k]);
		was[i] = at->item;
		at->item = hold_item(p, i, was);
		if (at->who.agent.ptr != agent.ptr) {
			agent = at->who.agent;
			held = th_transcript_hold(p, agent);
		}
		at->who.agent = held;
	}
	p->asked.agent = th_transcript_hold(p, p->asked.agent);
	p->summary = th_transcript_hold(p, p->summary);
	free(was);
	th_arena_deinit(&before);
}

void th_transcript_condensed(struct th_transcript *p, uint64_t seq, const struct th_json *v)
{
	for (size_t i = 0; i < p->count; i++)
		p->list[i].made |= p->list[i].seq == seq;
	p->summary = th_transcript_hold(p, th_json_get_str(v, "summary"));
	p->left_out = th_json_uint(th_json_get(v, "left_out"), p->left_out);
	compact(p);
}
