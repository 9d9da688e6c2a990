/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_list.c - the list of a transcript: items of the Responses API's form put in, found and
 * cut out.
 */
#include <stdlib.h>

#include "transcript/transcript_internal.h"

void th_transcript_init(struct th_transcript *p, bool narrow)
{
	*p = (struct th_transcript){
		.narrow = narrow, .asked_at = SIZE_MAX, .run_at = SIZE_MAX, .over = true
	};
	th_arena_init_try(&p->memory, TH_TURN_MEMORY_MAX);
}

void th_transcript_deinit(struct th_transcript *p)
{
	th_arena_deinit(&p->memory);
	free(p->list);
	free(p->aside);
	*p = (struct th_transcript){ 0 };
}

bool th_transcript_copy(struct th_transcript *ret, const struct th_transcript *of)
{
	size_t bytes = of->count * sizeof(*of->list), aside = of->aside_count * sizeof(*of->aside);

	*ret = *of;
	th_arena_init_try(&ret->memory, TH_TURN_MEMORY_MAX);
	ret->list = th_try_alloc(bytes + 1);
	ret->aside = of->aside ? th_try_alloc(aside + 1) : NULL;
	ret->cap = of->count;
	if (!ret->list || (of->aside && !ret->aside)) {
		th_transcript_deinit(ret);
		return false;
	}
	if (of->list) /* one without items has none */
		memcpy(ret->list, of->list, bytes);
	if (of->aside)
		memcpy(ret->aside, of->aside, aside);
	return true;
}

struct th_transcript_item *th_transcript_insert(struct th_transcript *p, size_t at)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct th_transcript_item *list = th_try_realloc(p->list, cap * sizeof(*list));

		if (!list) {
			p->no_memory = true;
			return NULL;
		}
		p->list = list;
		p->cap = cap;
	}
	memmove(&p->list[at + 1], &p->list[at], (p->count - at) * sizeof(*p->list));
	p->count++;
	p->list[at] = (struct th_transcript_item){ .number = p->numbers++ };
	return &p->list[at];
}

bool th_transcript_is_reasoning(const struct th_transcript_item *i)
{
	return i->kind == TH_TRANSCRIPT_OUTPUT &&
	       th_str_is(th_json_raw_get(i->item, "type"), "\"reasoning\"");
}

bool th_transcript_is_reasoned(const struct th_transcript_item *list, size_t i)
{
	return i > 0 && list[i].of && list[i - 1].seq == list[i].seq &&
	       th_transcript_is_reasoning(&list[i - 1]);
}

void th_transcript_cut(struct th_transcript *p, size_t from, size_t count)
{
	memmove(&p->list[from], &p->list[from + count],
		(p->count - from - count) * sizeof(*p->list));
	p->count -= count;
	p->tail_at -= TH_MIN(p->tail_at, from + count) - TH_MIN(p->tail_at, from);
	p->task_at -= TH_MIN(p->task_at, from + count) - TH_MIN(p->task_at, from);
	if (p->run_at != SIZE_MAX)
		p->run_at -= TH_MIN(p->run_at, from + count) - TH_MIN(p->run_at, from);
}

struct th_str th_transcript_hold(struct th_transcript *p, struct th_str s)
{
	return s.ptr ? th_arena_str(&p->memory, s) : TH_STR("");
}

const struct th_transcript_item *th_transcript_call_of(const struct th_transcript *p,
						       struct th_str call_id)
{
	for (size_t i = p->count; i-- > 0;)
		if (p->list[i].kind == TH_TRANSCRIPT_OUTPUT && p->list[i].call_id.len &&
		    th_str_eq(p->list[i].call_id, call_id))
			return &p->list[i];
	return NULL;
}

static bool is_result(struct th_str type)
{
	return (type.len > 7 && th_str_ends(type, TH_STR("_output"))) ||
	       th_str_is(type, "mcp_approval_response");
}

/* A result of the API's own form: what it says beside its output. */
static void fill_native(struct th_transcript *p, struct th_transcript_item *to,
			const struct th_json *v, struct th_str raw)
{
	bool failed = th_str_is(th_json_get_str(v, "status"), "failed");

	if (th_str_is(th_json_get_str(v, "type"), "mcp_approval_response")) {
		to->call_id = th_transcript_hold(p, th_json_get_str(v, "approval_request_id"));
		to->evidence = th_transcript_hold(p, raw); /* has the reason */
		failed = !th_json_bool(th_json_get(v, "approve"), false);
	}
	to->status = failed ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE;
}

static bool is_said(struct th_str type, struct th_str role)
{
	bool said = role.len && (!type.len || th_str_is(type, "message"));

	return said && (!type.len || !th_str_is(role, "assistant"));
}

bool th_items_are_messages(const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_str role = th_json_get_str(it.val, "role");

		if (!is_said(th_json_get_str(it.val, "type"), role) || th_str_is(role, "assistant"))
			return false;
	}
	return true;
}

void th_transcript_fill(struct th_transcript *p, struct th_transcript_item *to,
			const struct th_json *v, struct th_str raw)
{
	struct th_str type = th_json_get_str(v, "type"), role = th_json_get_str(v, "role");
	const struct th_transcript_item place = *to;

	*to = (struct th_transcript_item){ .seq = place.seq,
					   .index = place.index,
					   .number = place.number };
	if (is_said(type, role)) {
		to->kind = TH_TRANSCRIPT_MESSAGE;
		to->role = th_transcript_hold(p, role);
		to->content = th_transcript_hold(p, th_json_raw_get(raw, "content"));
	} else if (is_result(type)) {
		const struct th_transcript_item *call;

		to->kind = TH_TRANSCRIPT_RESULT;
		to->call_id = th_transcript_hold(p, th_json_get_str(v, "call_id"));
		to->output = th_transcript_hold(p, th_json_raw_get(raw, "output"));
		fill_native(p, to, v, raw);
		call = th_transcript_call_of(p, to->call_id);
		if (call && call != to) {
			to->item = call->item;
			to->tool = call->tool;
			to->who = call->who;
		}
	} else {
		to->kind = TH_TRANSCRIPT_OUTPUT;
		to->item = th_transcript_hold(p, raw);
		to->call_id = th_transcript_hold(
		    p, th_json_get_str(v, th_native_id_member(th_native_of_type(type))));
		to->tool = th_transcript_hold(p, th_json_get_str(v, "name"));
	}
}

void th_transcript_add_list(struct th_transcript *p, size_t at, uint64_t seq, struct th_str raw,
			    const struct th_json *items, struct th_str answer_raw,
			    const struct th_next *plan, const struct th_transcript_who *who)
{
	struct th_json_iter it = th_json_iter(items);
	struct th_json_raw_iter text = th_json_raw_iter(raw);
	size_t next = 0;

	for (size_t i = 0, end = at; th_json_next(&it) && th_json_raw_next(&text); i++) {
		struct th_transcript_item *to;

		if (plan && next < plan->duplicate_count && plan->duplicates[next] == i) {
			next++;
			continue;
		}
		to = th_transcript_insert(p, end++);
		if (!to)
			return;
		to->seq = seq;
		to->index = i;
		to->kind = TH_TRANSCRIPT_MESSAGE;
		th_transcript_fill(p, to, it.val, text.val);
		to->of = th_json_count(items);
		if (who)
			to->who = *who;
		if (i == 0)
			to->raw = th_transcript_hold(p, answer_raw);
	}
}
