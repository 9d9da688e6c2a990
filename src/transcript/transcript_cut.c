/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_cut.c - what is cut off a transcript, so that its calls and results stay in pairs; and
 * the parts that a handoff sees of it.
 */
#include "transcript/transcript_internal.h"

void th_transcript_limit(struct th_transcript *p, size_t max)
{
	bool bare;

	if (p->task_at <= max)
		return;
	bare = p->task_at - max < p->count && th_transcript_is_reasoned(p->list, p->task_at - max);
	th_transcript_cut(p, 0, p->task_at - max);
	if (bare)
		p->list[0].bare = true;
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
}

static bool has_result(const struct th_transcript *p, const struct th_transcript_item *call)
{
	for (const struct th_transcript_item *i = call + 1; i < p->list + p->count; i++)
		if (i->kind == TH_TRANSCRIPT_RESULT && th_str_eq(i->call_id, call->call_id))
			return true;
	return false;
}

/* `type` is JSON. */
static enum th_native native_type(struct th_str type)
{
	return th_native_of_type(th_str_sub(type, 1, type.len ? type.len - 2 : 0));
}

/* One that has an outcome: of a type that nobody knows, nothing was made. */
static bool is_local_call(const struct th_transcript_item *i)
{
	struct th_str type = th_json_raw_get(i->item, "type");

	return i->kind == TH_TRANSCRIPT_OUTPUT && i->call_id.len &&
	       (th_str_is(type, "\"function_call\"") || th_str_is(type, "\"computer_call\"") ||
		native_type(type));
}

/* Of several results of a call the first is it. */
static bool answers_call(const struct th_transcript *p, size_t result)
{
	const struct th_transcript_item *item = &p->list[result];

	for (size_t i = result; i-- > 0;) {
		if (!th_str_eq(p->list[i].call_id, item->call_id))
			continue;
		if (p->list[i].kind == TH_TRANSCRIPT_RESULT)
			return false;
		if (is_local_call(&p->list[i]))
			return true;
	}
	return false;
}

void th_transcript_prune(struct th_transcript *p)
{
	for (size_t i = 0; i < p->count;) {
		const struct th_transcript_item *item = &p->list[i];
		bool orphan = false;
		size_t from = i;

		if (is_local_call(item)) {
			orphan = !has_result(p, item);
			while (orphan && from > 0 && th_transcript_is_reasoning(&p->list[from - 1]))
				from--;
		} else if (item->kind == TH_TRANSCRIPT_RESULT) {
			orphan = !answers_call(p, i);
		}
		if (!orphan) {
			i++;
			continue;
		}
		th_transcript_cut(p, from, i + 1 - from);
		i = from;
	}
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
}

size_t th_transcript_run_at(const struct th_transcript *p)
{
	return TH_MIN(p->run_at, p->count);
}

size_t th_transcript_turn_at(const struct th_transcript *p)
{
	size_t from = th_transcript_run_at(p), first = p->count, end = from;

	for (size_t i = from; i < p->count; i++)
		if (p->list[i].kind != TH_TRANSCRIPT_RESULT && p->list[i].seq == p->answer_seq) {
			first = TH_MIN(first, i);
			end = i + 1;
		}
	return p->waited ? end : first;
}
