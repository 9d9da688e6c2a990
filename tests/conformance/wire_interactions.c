// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

static void texts_of_steps(const struct th_json *steps, const char *type, const char *list,
			   struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(steps), part;

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), type))
			for (part = th_json_iter(th_json_get(it.val, list)); th_json_next(&part);)
				th_buf_add(out, th_json_get_str(part.val, "text"));
}

static void check_texts(const char *path, const struct th_json *steps, const struct th_json *items)
{
	static const struct {
		const char *what, *step, *step_list, *item, *item_list;
	} rows[] = {
		{ "text", "model_output", "content", "message", "content" },
		{ "thoughts", "thought", "summary", "reasoning", "summary" },
	};
	struct th_buf a = TH_BUF_INIT(TH_JSON_SIZE_MAX), b = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		th_buf_clear(&a);
		th_buf_clear(&b);
		texts_of_steps(steps, rows[i].step, rows[i].step_list, &a);
		texts_of_steps(items, rows[i].item, rows[i].item_list, &b);
		wire_check(th_str_eq(th_buf_str(&a), th_buf_str(&b)), path, rows[i].what,
			   b.len ? b.ptr : "");
	}
	th_buf_deinit(&a);
	th_buf_deinit(&b);
}

static void check_calls(const char *path, const struct th_json *steps, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(steps), item = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_json_doc *args = NULL;

		if (!th_str_is(th_json_get_str(it.val, "type"), "function_call"))
			continue;
		while (th_json_next(&item) &&
		       !th_str_is(th_json_get_str(item.val, "type"), "function_call"))
			;
		if (!wire_check(item.val != NULL, path, "a call is missing", ""))
			return;
		wire_check(th_str_eq(th_json_get_str(it.val, "id"),
				     th_json_get_str(item.val, "call_id")) &&
			       th_str_eq(th_json_get_str(it.val, "name"),
					 th_json_get_str(item.val, "name")),
			   path, "name and id of a call", "");
		wire_check(!th_json_parse(th_json_get_str(item.val, "arguments"), &args, NULL),
			   path, "arguments are no JSON", "");
		wire_equal(path, "arguments", wire_nothing_ignored,
			   th_json_get(it.val, "arguments"), th_json_root(args));
		th_json_free(args);
	}
}

static int64_t sum(const struct th_json *usage, const char *a, const char *b)
{
	return th_json_get_int(usage, a, 0) + th_json_get_int(usage, b, 0);
}

static void check_usage(const char *path, const struct th_json *usage, const struct th_json *got)
{
	wire_check(sum(usage, "total_input_tokens", "total_tool_use_tokens") ==
			   th_json_get_int(got, "input", -1) &&
		       sum(usage, "total_output_tokens", "total_thought_tokens") ==
			   th_json_get_int(got, "output", -1) &&
		       th_json_get_int(usage, "total_thought_tokens", -1) ==
			   th_json_get_int(got, "reasoning", -1) &&
		       th_json_get_int(usage, "total_cached_tokens", -1) ==
			   th_json_get_int(got, "cached", -1) &&
		       th_json_get_int(usage, "total_tokens", -1) ==
			   th_json_get_int(got, "total", -1),
		   path, "usage", "");
}

static void check_response(const char *path, const struct th_json *final,
			   const struct th_json *answer)
{
	const struct th_json *steps = th_json_get(final, "steps");
	const struct th_json *message = th_json_get(th_json_get(answer, "raw"), "message");
	struct th_str status = th_json_get_str(answer, "status");

	check_texts(path, steps, th_json_get(answer, "items"));
	check_calls(path, steps, th_json_get(answer, "items"));
	check_usage(path, th_json_get(final, "usage"), th_json_get(answer, "usage"));
	/* What goes back is what came. */
	wire_equal(path, "steps", wire_nothing_ignored, steps, th_json_get(message, "steps"));
	wire_check(th_str_is(status, "completed"), path, "status", status.ptr);
	wire_check(
	    th_str_eq(th_json_get_str(final, "id"), th_json_get_str(answer, "response_id")) &&
		th_str_eq(th_json_get_str(final, "model"), th_json_get_str(answer, "model")),
	    path, "id and model", "");
}

static const char *const ends[] = { "event: interaction.completed", NULL };
static const char *const none[] = { NULL };

const struct wire_api wire_api_interactions = {
	.name = "interactions",
	.model = "interactions:gemini-3-flash-preview",
	.ends = ends,
	.unfinished_ignored = none,
	.check = check_response,
};
