// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

static const struct th_json *candidate_of(const struct th_json *final)
{
	if (th_json_is_array(final)) /* a stream without events */
		final = th_json_at(final, th_json_count(final) - 1);
	return th_json_at(th_json_get(final, "candidates"), 0);
}

static void texts_of_parts(const struct th_json *parts, bool thought, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(parts);

	while (th_json_next(&it))
		if (th_json_bool(th_json_get(it.val, "thought"), false) == thought)
			th_buf_add(out, th_json_get_str(it.val, "text"));
}

static void texts_of_items(const struct th_json *items, const char *type, const char *list,
			   struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(items), part;

	while (th_json_next(&it)) {
		if (!th_str_is(th_json_get_str(it.val, "type"), type))
			continue;
		for (part = th_json_iter(th_json_get(it.val, list)); th_json_next(&part);)
			th_buf_add(out, th_json_get_str(part.val, "text"));
	}
}

static void check_texts(const char *path, const struct th_json *parts, const struct th_json *items)
{
	struct th_buf a = TH_BUF_INIT(TH_JSON_SIZE_MAX), b = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	texts_of_parts(parts, false, &a);
	texts_of_items(items, "message", "content", &b);
	wire_check(th_str_eq(th_buf_str(&a), th_buf_str(&b)), path, "text", b.ptr);
	th_buf_clear(&a);
	th_buf_clear(&b);
	texts_of_parts(parts, true, &a);
	texts_of_items(items, "reasoning", "summary", &b);
	wire_check(th_str_eq(th_buf_str(&a), th_buf_str(&b)), path, "thoughts", b.ptr);
	th_buf_deinit(&a);
	th_buf_deinit(&b);
}

static void check_call(const char *path, const struct th_json *call, const struct th_json *item)
{
	struct th_json_doc *args = NULL;
	const struct th_json *wanted = th_json_get(call, "args");

	wire_check(th_str_eq(th_json_get_str(call, "name"), th_json_get_str(item, "name")), path,
		   "name of a call", th_json_get_str(item, "name").ptr);
	wire_check(!th_json_parse(th_json_get_str(item, "arguments"), &args, NULL), path,
		   "arguments are no JSON", "");
	if (wanted)
		wire_equal(path, "arguments", wire_nothing_ignored, wanted, th_json_root(args));
	wire_check(th_json_get_str(item, "call_id").len > 0, path, "a call has an id", "");
	th_json_free(args);
}

static void check_calls(const char *path, const struct th_json *parts, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(parts), item = th_json_iter(items);

	while (th_json_next(&it)) {
		const struct th_json *call = th_json_get(it.val, "functionCall");

		if (!call)
			continue;
		while (th_json_next(&item) &&
		       !th_str_is(th_json_get_str(item.val, "type"), "function_call"))
			;
		if (wire_check(item.val != NULL, path, "a call is missing", ""))
			check_call(path, call, item.val);
	}
	while (th_json_next(&item))
		wire_check(!th_str_is(th_json_get_str(item.val, "type"), "function_call"), path,
			   "a call too many", "");
}

static int64_t sum(const struct th_json *usage, const char *a, const char *b)
{
	int64_t x = th_json_get_int(usage, a, -1), y = th_json_get_int(usage, b, -1);

	return x < 0 ? y : y < 0 ? x : x + y;
}

static void check_usage(const char *path, const struct th_json *usage, const struct th_json *got)
{
	wire_check(sum(usage, "promptTokenCount", "toolUsePromptTokenCount") ==
			   th_json_get_int(got, "input", -1) &&
		       sum(usage, "candidatesTokenCount", "thoughtsTokenCount") ==
			   th_json_get_int(got, "output", -1) &&
		       th_json_get_int(usage, "thoughtsTokenCount", -1) ==
			   th_json_get_int(got, "reasoning", -1) &&
		       th_json_get_int(usage, "cachedContentTokenCount", -1) ==
			   th_json_get_int(got, "cached", -1) &&
		       th_json_get_int(usage, "totalTokenCount", -1) ==
			   th_json_get_int(got, "total", -1),
		   path, "usage", "");
}

static void check_response(const char *path, const struct th_json *final,
			   const struct th_json *answer)
{
	const struct th_json *candidate = candidate_of(final);
	const struct th_json *parts = th_json_get(th_json_get(candidate, "content"), "parts");
	struct th_str reason = th_json_get_str(candidate, "finishReason");
	struct th_str status = th_json_get_str(answer, "status");

	check_texts(path, parts, th_json_get(answer, "items"));
	check_calls(path, parts, th_json_get(answer, "items"));
	check_usage(path, th_json_get(final, "usageMetadata"), th_json_get(answer, "usage"));
	wire_check(th_str_is(status, th_str_is(reason, "STOP") ? "completed"
				     : reason.len              ? "incomplete"
							       : "failed"),
		   path, "status", status.ptr);
	wire_check(
	    th_str_eq(th_json_get_str(final, "responseId"), th_json_get_str(answer, "response_id")),
	    path, "id", "");
}

static const char *const none[] = { NULL };

const struct wire_api wire_api_gemini = {
	.name = "gemini",
	.model = "gemini-3-flash-preview",
	.ends = none,
	.unfinished_ignored = none,
	.check = check_response,
};
