/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin.c - a history that begins with a list of items, of which an answer or its results
 * may be left only in part.
 */
#include <stdlib.h>

#include "history/internal.h"

static bool is_whole(const struct th_transcript_item *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (first[i].index != i || first[i].of != count)
			return false;
	return true;
}

/* Whose words these are. */
static void speaks(struct th_history *h, const struct th_transcript_who *who)
{
	h->asks = (struct th_speaker){ 0 };
	if (who->model && h->options->who)
		h->options->who(h->options->who_ctx, who->agent, who->choice, &h->asks);
}

static bool is_next(const struct th_transcript_item *item, const struct th_transcript_item *next)
{
	return !item->of || !next->of || item->index + 1 == next->index;
}

static bool is_reasoning(const struct th_transcript_item *item)
{
	return th_str_is(th_json_raw_get(item->item, "type"), "\"reasoning\"");
}

/* Of an answer that was taken apart, reasoning goes whose item is gone, and a call that lost its
 * reasoning goes without its id, by which the server would miss that.  What no answer has is what a
 * filter made of a neighbour. */
static void print_answer(const struct th_transcript_item *first, size_t count, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < count; i++) {
		struct th_json_raw_iter it = th_json_raw_iter(first[i].item);

		if (i + 1 < count && is_reasoning(&first[i]) && !is_next(&first[i], &first[i + 1]))
			continue;
		if (!first[i].bare || !first[i].call_id.len) {
			th_jw_raw(w, first[i].item);
			continue;
		}
		th_jw_object(w);
		while (th_json_raw_next(&it)) {
			if (th_str_is(it.key, "id"))
				continue;
			th_jw_name(w, it.key);
			th_jw_raw(w, it.val);
		}
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* The items of one answer, or what is left of them. */
static enum th_code begin_answer(struct th_history *h, const struct th_transcript_item *first,
				 size_t count, struct th_err *err)
{
	struct th_group g = { .kind = TH_GROUP_ANSWER };
	struct th_buf items;
	struct th_jw w;
	size_t own = 0;
	enum th_code code;

	while (own + 1 < count && !first[own].of)
		own++;
	th_buf_init_try(&items, TH_ANSWER_MAX);
	w = th_jw(&items);
	print_answer(first, count, &w);
	code = th_buf_check(&items, "an answer", err);
	g.items = th_buf_str(&items);
	if (is_whole(first, count))
		g.raw = first->raw;
	speaks(h, &first[own].who);
	if (!code)
		code = th_history_render_answer(h, &g, err);
	th_buf_deinit(&items);
	return code;
}

static enum th_code begin_results(struct th_history *h, const struct th_transcript_item *first,
				  size_t count, struct th_err *err)
{
	struct th_result *results = th_alloc(count * sizeof(*results));
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = results, .result_count = count };
	struct th_arena scratch;
	enum th_code code = TH_OK;

	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	for (size_t i = 0; i < count && !code; i++) {
		struct th_str item = first[i].item;

		speaks(h, &first[i].who);
		if (item.len)
			code = th_history_adopt_call(h, &item, err);
		results[i] =
		    (struct th_result){ .call_item = item,
					.call_id = first[i].call_id,
					.tool = first[i].tool,
					.output = th_history_shown(h, first[i].output, first[i].seq,
								   first[i].whole, &scratch),
					.acknowledged = first[i].acknowledged,
					.status = first[i].status,
					.evidence = first[i].evidence };
	}
	h->no_memory |= scratch.no_memory;
	if (!code)
		code = h->no_memory ? th_fail_memory(err) : th_history_render(h, &g, err);
	th_arena_deinit(&scratch);
	free(results);
	return code;
}

/* How many items from here go together: results, or what is left of one answer.  What no
 * answer has is what a filter made of a neighbour: reasoning alone would not be sent. */
static size_t together(const struct th_transcript_item *first, size_t max)
{
	uint64_t seq = 0;
	size_t n = 0;

	for (; n < max && first[n].kind == first->kind; n++) {
		if (first->kind != TH_TRANSCRIPT_OUTPUT || !first[n].of)
			continue;
		if (seq && first[n].seq != seq)
			break;
		seq = first[n].seq;
	}
	return n;
}

enum th_code th_history_begin(struct th_history *h, const struct th_transcript *transcript,
			      uint64_t seq, bool asked, struct th_err *err)
{
	enum th_code code = TH_OK;

	assert(h->seq == 0);
	for (size_t i = 0, n; i < transcript->count && !code; i += n) {
		const struct th_transcript_item *first = &transcript->list[i];
		struct th_group message = { .kind = TH_GROUP_MESSAGE,
					    .role = first->role,
					    .content = first->content };

		if (i == transcript->tail_at)
			th_history_begin_tail(h);
		n = transcript->tail_at > i ? transcript->tail_at - i : transcript->count - i;
		n = first->kind == TH_TRANSCRIPT_MESSAGE ? 1 : together(first, n);
		if (first->kind == TH_TRANSCRIPT_MESSAGE)
			code = th_history_render(h, &message, err);
		else if (first->kind == TH_TRANSCRIPT_OUTPUT)
			code = begin_answer(h, first, n, err);
		else
			code = begin_results(h, first, n, err);
	}
	if (transcript->tail_at == transcript->count)
		th_history_begin_tail(h);
	h->seq = seq;
	h->asked = asked;
	h->asks = (struct th_speaker){ 0 }; /* of a request under way: our model */
	h->no_memory |= h->waiting.no_memory;
	return !code && h->no_memory ? th_fail_memory(err) : code;
}
