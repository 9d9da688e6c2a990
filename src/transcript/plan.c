/* SPDX-License-Identifier: Apache-2.0 */
#include "transcript/plan.h"
#include "events/native.h"

/* `raw`: the item's text in the answer.  False: the item is no call. */
static bool read_call(const struct th_json *item, struct th_str raw, struct th_arena *a,
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
		    th_arena_str(a, th_json_raw_get(raw, "pending_safety_checks"));
	call->call_id = th_arena_str(a, th_json_get_str(item, th_native_id_member(native)));
	call->item = th_arena_str(a, raw);
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

/* Is the same call there already?  Where ids do not tell calls apart, next->bad_ids says why. */
static bool is_duplicate(struct th_next *next, const struct th_call *call)
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

static void note_duplicate(struct th_next *next, size_t index, struct th_arena *a)
{
	if (!next->duplicates)
		next->duplicates = th_arena_array(a, next->item_count, sizeof(*next->duplicates));
	if (next->duplicates)
		next->duplicates[next->duplicate_count++] = index;
}

/* An item that is a call goes behind `calls`, unless it is there already.  What could not be read
 * (it has an "error") may have no id, or that of another. */
static bool add_call(const struct th_json *item, struct th_str raw, size_t index,
		     struct th_arena *a, struct th_next *next)
{
	struct th_call *call = &next->calls[next->call_count];
	bool bad = th_json_get_str(item, "error").len > 0;

	if (!read_call(item, raw, a, call))
		return false;
	next->unread_count += bad;
	if (!bad && is_duplicate(next, call)) {
		*call = (struct th_call){ 0 }; /* the next one's */
		note_duplicate(next, index, a);
	} else {
		next->call_count++;
	}
	return true;
}

enum th_code th_plan_items(const struct th_json *items, struct th_str raw, struct th_arena *a,
			   struct th_buf *text, struct th_next *ret, struct th_err *err)
{
	struct th_json_raw_iter verbatim = th_json_raw_iter(raw);
	struct th_json_iter it;
	size_t silent = 0;
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
		if (!th_json_raw_next(&verbatim) || !th_json_is_object(it.val)) {
			code = th_fail(err, TH_EPROTO, "item %zu of the answer must be an object",
				       it.index);
		} else if (!add_call(it.val, verbatim.val, it.index, a, ret)) {
			silent += says_nothing(th_json_get_str(it.val, "type"));
			plan_text(it.val, text, ret);
		} else if (ret->call_count > TH_CALLS_MAX) {
			code = th_fail(err, TH_ELIMIT, "more than %d calls in one answer",
				       TH_CALLS_MAX);
		}
	}
	if (a->no_memory || text->no_memory)
		return th_fail_memory(err);
	if (code)
		return code;
	assert(ret->call_count + ret->duplicate_count <= ret->item_count);
	ret->unread =
	    ret->item_count == 0 || (ret->unread_count > 0 && ret->unread_count == ret->call_count);
	if (ret->call_count > 0)
		ret->kind = TH_NEXT_CALLS;
	else if (silent > 0 && silent == ret->item_count)
		ret->kind = TH_NEXT_FINAL;
	return TH_OK;
}

enum th_code th_plan_answer(struct th_str items, struct th_arena *a, struct th_buf *text,
			    struct th_next *ret, struct th_err *err)
{
	struct th_json_room room TH_UNSET;
	struct th_json_doc *doc;
	enum th_code code = th_json_parse_in(&room, a->may_fail, items, &doc, err);

	*ret = (struct th_next){ .kind = TH_NEXT_AGAIN };
	if (code)
		return th_prefix(err, code, "items of the answer");
	code = th_plan_items(th_json_root(doc), items, a, text, ret, err);
	th_json_free(doc);
	return code;
}
