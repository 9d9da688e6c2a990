/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render.c - groups as the provider wants to read them: long results cut, another model's
 * answers and calls adopted.
 */
#include "context/result.h"
#include "dialects/adopt.h"
#include "history/internal.h"

static bool has_tool(const struct th_request_options *o, const char *name)
{
	for (size_t i = 0; i < o->tool_count; i++)
		if (th_str_is(o->tools[i].name, name))
			return true;
	return false;
}

struct th_str th_history_shown(const struct th_history *h, struct th_str output, uint64_t seq,
			       int64_t whole, struct th_arena *memory)
{
	const struct th_agent *agent = h->options->agent;
	size_t max = agent ? (size_t)agent->result_bytes : 0;
	const struct th_result_shown how = { .max = max ?: TH_RESULT_SHOWN_DEFAULT,
					     .seq = seq,
					     .whole = whole,
					     .history = has_tool(h->options, "history") };
	struct th_buf text;

	th_buf_init_try(&text, 2 * TH_EVENT_DATA_MAX);
	if (th_result_shorten(output, &how, &text))
		output = th_buf_str(&text);
	output = th_arena_str(memory, output);
	memory->no_memory |= text.no_memory;
	th_buf_deinit(&text);
	return output;
}

/* Where the marks are on the pictures of a content list; the newest counts. */
static enum th_code take_elements(struct th_history *h, struct th_str parts, struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(parts);

	while (!it.object && th_json_raw_next(&it)) {
		struct th_str list = th_json_raw_get(it.val, "elements");

		if (!list.len || list.ptr[0] != '[')
			continue;
		th_buf_clear(&h->elements);
		th_buf_add(&h->elements, list);
	}
	return th_buf_check(&h->elements, "the marks of a picture", err);
}

static enum th_code take_marks(struct th_history *h, const struct th_group *g, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (g->kind == TH_GROUP_MESSAGE)
		code = take_elements(h, g->content, err);
	for (size_t i = 0; i < g->result_count && !code; i++)
		code = take_elements(h, g->results[i].output, err);
	return code;
}

enum th_code th_history_render(struct th_history *h, const struct th_group *g, struct th_err *err)
{
	struct th_hole holes[TH_GROUP_HOLES_MAX] TH_UNSET;
	size_t count = 0;
	struct th_buf out;
	enum th_code code;

	th_buf_init_try(&out, TH_REQUEST_MAX);
	code = th_group_render(h->options, g, h->items == 0, &out, holes, TH_GROUP_HOLES_MAX,
			       &count, err);
	if (!code || out.no_memory)
		code = th_buf_check(&out, "a history item", err);
	if (!code) {
		th_pieces_add(&h->pieces, h->options->profile->wire, th_buf_str(&out), holes,
			      count);
		h->no_memory |= h->pieces.no_memory;
		h->items += out.len > 0;
	}
	th_buf_deinit(&out);
	return code ? code : take_marks(h, g, err);
}

/* NULL: it is our model's. */
static const struct th_profile *stranger(const struct th_history *h)
{
	const struct th_request_options *o = h->options;
	bool ours = h->asks.profile == o->profile && th_str_eq(h->asks.model, o->model);

	return ours ? NULL : h->asks.profile;
}

/* Another model's answer, for ours. */
static enum th_code render_adopted(struct th_history *h, struct th_str items, struct th_err *err)
{
	struct th_buf adopted;
	struct th_group g = { .kind = TH_GROUP_ANSWER };
	enum th_code code;

	th_buf_init(&adopted, TH_REQUEST_MAX);
	code = th_adopt_answer(stranger(h), h->options, items, &adopted, err);
	g.items = th_buf_str(&adopted);
	if (!code)
		code = th_history_render(h, &g, err);
	th_buf_deinit(&adopted);
	return code;
}

enum th_code th_history_render_answer(struct th_history *h, const struct th_group *g,
				      struct th_err *err)
{
	return stranger(h) ? render_adopted(h, g->items, err) : th_history_render(h, g, err);
}

enum th_code th_history_adopt_call(struct th_history *h, struct th_str *item, struct th_err *err)
{
	struct th_buf adopted;
	enum th_code code;

	if (!stranger(h))
		return TH_OK;
	th_buf_init(&adopted, TH_REQUEST_MAX);
	code = th_adopt_call(stranger(h), h->options, *item, &adopted, err);
	*item = th_arena_str(&h->waiting, th_buf_str(&adopted));
	th_buf_deinit(&adopted);
	if (!code && !item->ptr)
		return th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
	return code;
}

void th_history_begin_tail(struct th_history *h)
{
	th_pieces_begin_tail(&h->pieces);
	h->tail_items = h->items;
}
