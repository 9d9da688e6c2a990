/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

static bool plan_call(const struct th_json *item, struct th_str raw, struct th_arena *a,
		      struct th_call *call)
{
	struct th_str type = th_json_get_str(item, "type");

	if (th_str_is(type, "function_call")) {
		call->tool = th_arena_str(a, th_json_get_str(item, "name"));
		/* The name is the computer's alone, also where a model has it as a function. */
		call->computer = th_str_is(call->tool, "computer");
		call->arguments = th_arena_str(a, th_json_get_str(item, "arguments"));
	} else if (th_str_is(type, "computer_call")) {
		call->computer = true;
		call->tool = TH_STR("computer");
	} else {
		return false;
	}
	/* Whatever the call is of: Gemini asks about functions too. */
	if (th_json_count(th_json_get(item, "pending_safety_checks")) > 0)
		call->safety_checks =
		    th_arena_str(a, th_json_raw_get(raw, "pending_safety_checks"));
	call->call_id = th_arena_str(a, th_json_get_str(item, "call_id"));
	call->item = th_arena_str(a, raw);
	call->incomplete = th_str_is(th_json_get_str(item, "status"), "incomplete");
	call->class = TH_CLASS_W;
	return true;
}

static void plan_text(const struct th_json *item, struct th_buf *text, struct th_next *next)
{
	struct th_json_iter it;

	if (!th_str_is(th_json_get_str(item, "type"), "message"))
		return;
	next->kind = TH_NEXT_FINAL;
	next->gave_up |= th_str_is(th_json_get_str(item, "outcome"), "failed");
	for (it = th_json_iter(th_json_get(item, "content")); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "output_text"))
			th_buf_add(text, th_json_get_str(it.val, "text"));
		if (th_str_is(type, "refusal")) {
			th_buf_add(text, th_json_get_str(it.val, "refusal"));
			next->refusal = true;
		}
	}
}

enum th_code th_plan_answer(struct th_str items, struct th_arena *a, struct th_buf *text,
			    struct th_next *ret, struct th_err *err)
{
	size_t unread = 0;
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_iter it;
	enum th_code code =
	    a->may_fail ? th_json_try_parse(items, &doc, err) : th_json_parse(items, &doc, err);

	*ret = (struct th_next){ .kind = TH_NEXT_AGAIN };
	if (code)
		return th_prefix(err, code, "items of the answer");
	if (!th_json_is_array(th_json_root(doc))) {
		th_json_free(doc);
		return th_fail(err, TH_EPROTO, "items of the answer must be a list");
	}
	ret->item_count = th_json_count(th_json_root(doc));
	ret->calls = th_arena_array(a, TH_MIN(ret->item_count, (size_t)TH_CALLS_MAX) + 1,
				    sizeof(*ret->calls));
	if (!ret->calls)
		code = th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
	for (it = th_json_iter(th_json_root(doc)); !code && th_json_next(&it);) {
		bool more = th_json_raw_next(&raw);

		assert(more);
		if (!th_json_is_object(it.val))
			code = th_fail(err, TH_EPROTO, "item %zu of the answer must be an object",
				       it.index);
		else if (!plan_call(it.val, raw.val, a, &ret->calls[ret->call_count]))
			plan_text(it.val, text, ret);
		else if (++ret->call_count > TH_CALLS_MAX)
			code = th_fail(err, TH_ELIMIT, "more than %d calls in one answer",
				       TH_CALLS_MAX);
		else if (th_json_get_str(it.val, "error").len)
			unread++;
	}
	th_json_free(doc);
	if (a->no_memory || text->no_memory)
		return th_fail_memory(err);
	if (code)
		return code;
	ret->unread = ret->item_count == 0 || (unread > 0 && unread == ret->call_count);
	if (ret->call_count > 0)
		ret->kind = TH_NEXT_CALLS;
	return TH_OK;
}
