/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

/* `raw`: how it stands in the answer; .ptr NULL: it is printed. */
static bool plan_call(const struct th_json *item, struct th_str raw, struct th_arena *a,
		      struct th_call *call)
{
	const struct th_json *checks;
	struct th_str type = th_json_get_str(item, "type");
	enum th_native native = th_native_of(item, a);

	if (native) {
		call->native = (uint8_t)native;
		th_native_read(native, item, a, &call->tool, &call->arguments);
	} else if (th_str_is(type, "function_call")) {
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
	checks = th_json_get(item, "pending_safety_checks");
	if (th_json_count(checks) > 0)
		call->safety_checks =
		    raw.ptr ? th_arena_str(a, th_json_raw_get(raw, "pending_safety_checks"))
			    : th_json_text(checks, a);
	call->call_id = th_arena_str(a, th_json_get_str(item, th_native_id_member(native)));
	call->item = raw.ptr ? th_arena_str(a, raw) : th_json_text(item, a);
	call->incomplete = th_str_is(th_json_get_str(item, "status"), "incomplete");
	call->class = TH_CLASS_W;
	return true;
}

/* Of what leaves nothing to be done when it stands alone. */
static bool says_nothing(struct th_str type)
{
	return th_str_is(type, "reasoning") || th_str_is(type, "compaction") ||
	       th_str_is(type, "mcp_list_tools");
}

/* Is there the same call already?  Of ids that no result can be told by `next` says why. */
static bool plan_duplicates(struct th_next *next, const struct th_call *call)
{
	bool same = false;

	if (!call->call_id.len)
		next->bad_ids = "Tool invocations require a non-empty string call ID "
				"before execution.";
	for (size_t i = 0; call->call_id.len && i < next->call_count; i++) {
		const struct th_call *before = &next->calls[i];

		if (!th_str_eq(before->call_id, call->call_id))
			continue;
		if (!th_str_eq(before->tool, call->tool) ||
		    !th_str_eq(before->arguments, call->arguments) ||
		    (call->computer && !th_str_eq(before->item, call->item)))
			next->bad_ids =
			    "Model reused a tool call ID for a different invocation in "
			    "one response. Use a unique call ID for each tool invocation.";
		else
			same = true;
	}
	return same;
}

/* The last message speaks: with its texts or, where it has one, with its refusal.  What has no id
 * is one with what was before: a wire that has no messages within an answer gives its texts so. */
static void plan_text(const struct th_json *item, struct th_buf *text, struct th_next *next)
{
	struct th_json_iter it;

	if (!th_str_is(th_json_get_str(item, "type"), "message"))
		return;
	next->kind = TH_NEXT_FINAL;
	next->gave_up |= th_str_is(th_json_get_str(item, "outcome"), "failed");
	if (th_json_get_str(item, "id").len) {
		next->refusal = false;
		th_buf_clear(text);
	}
	for (it = th_json_iter(th_json_get(item, "content")); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "output_text"))
			th_buf_add(text, th_json_get_str(it.val, "text"));
		if (th_str_is(type, "refusal")) {
			th_buf_clear(text);
			th_buf_add(text, th_json_get_str(it.val, "refusal"));
			next->refusal = true;
			return;
		}
	}
}

/* `raw`: NULL, or at the first item. */
static enum th_code plan(const struct th_json *items, struct th_json_raw_iter *raw,
			 struct th_arena *a, struct th_buf *text, struct th_next *ret,
			 struct th_err *err)
{
	size_t unread = 0, silent = 0;
	struct th_json_iter it;
	enum th_code code = TH_OK;

	*ret = (struct th_next){ .kind = TH_NEXT_AGAIN };
	if (!th_json_is_array(items))
		return th_fail(err, TH_EPROTO, "items of the answer must be a list");
	ret->item_count = th_json_count(items);
	ret->calls = th_arena_array(a, TH_MIN(ret->item_count, (size_t)TH_CALLS_MAX) + 1,
				    sizeof(*ret->calls));
	if (!ret->calls)
		code = th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
	for (it = th_json_iter(items); !code && th_json_next(&it);) {
		struct th_str verbatim = { NULL, 0 };

		if (raw) {
			bool more = th_json_raw_next(raw);

			assert(more);
			verbatim = raw->val;
		}
		if (!th_json_is_object(it.val)) {
			code = th_fail(err, TH_EPROTO, "item %zu of the answer must be an object",
				       it.index);
		} else if (!plan_call(it.val, verbatim, a, &ret->calls[ret->call_count])) {
			silent += says_nothing(th_json_get_str(it.val, "type"));
			plan_text(it.val, text, ret);
		} else {
			/* What could not be read may have no id, or anybody's. */
			struct th_call *call = &ret->calls[ret->call_count];
			bool bad = th_json_get_str(it.val, "error").len > 0;
			bool duplicate_calls = !bad && plan_duplicates(ret, call);

			if (duplicate_calls)
				*call = (struct th_call){ 0 }; /* the next one's */
			unread += bad;
			ret->duplicate_calls += duplicate_calls;
			ret->call_count += !duplicate_calls;
			if (ret->call_count > TH_CALLS_MAX)
				code = th_fail(err, TH_ELIMIT, "more than %d calls in one answer",
					       TH_CALLS_MAX);
		}
	}
	if (a->no_memory || text->no_memory)
		return th_fail_memory(err);
	if (code)
		return code;
	ret->unread = ret->item_count == 0 || (unread > 0 && unread == ret->call_count);
	if (ret->call_count > 0)
		ret->kind = TH_NEXT_CALLS;
	else if (silent > 0 && silent == ret->item_count)
		ret->kind = TH_NEXT_FINAL;
	return TH_OK;
}

enum th_code th_plan_items(const struct th_json *items, struct th_arena *a, struct th_buf *text,
			   struct th_next *ret, struct th_err *err)
{
	return plan(items, NULL, a, text, ret, err);
}

enum th_code th_plan_answer(struct th_str items, struct th_arena *a, struct th_buf *text,
			    struct th_next *ret, struct th_err *err)
{
	struct th_json_room room TH_UNSET;
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	enum th_code code = th_json_parse_in(&room, a->may_fail, items, &doc, err);

	*ret = (struct th_next){ .kind = TH_NEXT_AGAIN };
	if (code)
		return th_prefix(err, code, "items of the answer");
	code = plan(th_json_root(doc), &raw, a, text, ret, err);
	th_json_free(doc);
	return code;
}

enum th_code th_plan_ids(struct th_str items, struct th_err *err)
{
	struct th_next next;
	struct th_arena a;
	struct th_buf text;
	enum th_code code;

	th_arena_init_try(&a, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&text, TH_ANSWER_MAX);
	code = th_plan_answer(items, &a, &text, &next, err);
	if (!code && next.bad_ids)
		code = th_fail(err, TH_EPROTO, "%s", next.bad_ids);
	th_buf_deinit(&text);
	th_arena_deinit(&a);
	return code;
}
