// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include "base/limits.h"

/* Under the names that servers have for it. */
static void add_reasoning(const struct th_json *message, struct th_buf *out)
{
	struct th_json_iter it, inner;

	th_buf_add(out, th_json_get_str(message, "reasoning_content"));
	if (!out->len)
		th_buf_add(out, th_json_get_str(message, "reasoning"));
	if (out->len)
		return;
	for (it = th_json_iter(th_json_get(message, "reasoning_details")); th_json_next(&it);) {
		th_buf_add(out, th_json_get_str(it.val, "text"));
		th_buf_add(out, th_json_get_str(it.val, "summary"));
	}
	for (it = th_json_iter(th_json_get(message, "content")); th_json_next(&it);)
		for (inner = th_json_iter(th_json_get(it.val, "thinking")); th_json_next(&inner);)
			th_buf_add(out, th_json_get_str(inner.val, "text"));
}

static void add_texts(const struct th_json *parts, const char *type, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(parts);

	th_buf_add(out, th_json_str(parts));
	while (th_json_is_array(parts) && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), type))
			th_buf_add(out, th_json_get_str(it.val, "text"));
}

/* What the model said and thought.  A <think> in the text is reasoning. */
static void check_texts(const char *path, const struct th_json *message,
			const struct th_json *items)
{
	struct th_buf said = TH_BUF_INIT(TH_JSON_SIZE_MAX), thought = said, text = said,
		      reasoning = said;
	struct th_json_iter it = th_json_iter(items);
	struct th_str whole;

	add_texts(th_json_get(message, "content"), "text", &said);
	add_reasoning(message, &thought);
	if (!said.len)
		th_buf_add(&said, th_json_get_str(th_json_get(message, "audio"), "transcript"));
	while (th_json_next(&it)) {
		add_texts(th_json_get(it.val, "content"), "output_text", &text);
		add_texts(th_json_get(it.val, "content"), "reasoning_text", &reasoning);
	}
	whole = th_buf_str(&said);
	if ((th_str_find(whole, TH_STR("</think>")) >= 0 ||
	     th_str_starts(whole, TH_STR("<think>"))) &&
	    !thought.len) {
		wire_check(th_str_ends(whole, th_buf_str(&text)), path, "text behind <think>",
			   text.ptr);
		wire_check(th_str_find(whole, th_buf_str(&reasoning)) >= 0, path, "<think>",
			   reasoning.ptr);
	} else {
		wire_check(th_str_eq(whole, th_buf_str(&text)), path, "text", text.ptr);
		wire_check(th_str_eq(th_buf_str(&thought), th_buf_str(&reasoning)), path,
			   "reasoning", reasoning.ptr);
	}
	th_buf_deinit(&said);
	th_buf_deinit(&thought);
	th_buf_deinit(&text);
	th_buf_deinit(&reasoning);
}

static const struct th_json *next_call(struct th_json_iter *items)
{
	while (th_json_next(items))
		if (th_json_get(items->val, "call_id"))
			return items->val;
	return NULL;
}

/* Arguments as JSON, whether they came as text, as an object or not at all. */
static bool same_arguments(const struct th_json *given, struct th_str found)
{
	struct th_str text = th_json_str(given);
	struct th_json_doc *a = NULL, *b = NULL;
	bool same;

	if (!text.len)
		text = TH_STR("{}");
	same = th_str_eq(text, found) ||
	       (!th_json_parse(text, &a, NULL) && !th_json_parse(found, &b, NULL) &&
		th_json_equal(th_json_is_object(given) ? given : th_json_root(a), th_json_root(b)));
	th_json_free(a);
	th_json_free(b);
	return same;
}

static void check_calls(const char *path, const struct th_json *calls, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(calls), found = th_json_iter(items);

	while (th_json_next(&it)) {
		const struct th_json *call = next_call(&found),
				     *function = th_json_get(it.val, "function"),
				     *custom = th_json_get(it.val, "custom");
		struct th_str id = th_json_get_str(it.val, "id"),
			      got = th_json_get_str(call, "call_id");

		if (!wire_check(call != NULL, path, "a call is missing", ""))
			return;
		wire_check(id.len ? th_str_eq(id, got) : got.len > 0, path, "id of a call",
			   got.ptr);
		wire_check(th_str_eq(th_json_get_str(function ? function : custom, "name"),
				     th_json_get_str(call, "name")),
			   path, "name of a call", "");
		if (function)
			wire_check(same_arguments(th_json_get(function, "arguments"),
						  th_json_get_str(call, "arguments")),
				   path, "arguments of a call",
				   th_json_get_str(call, "arguments").ptr);
		else
			wire_check(th_str_eq(th_json_get_str(custom, "input"),
					     th_json_get_str(call, "input")),
				   path, "input of a call", "");
	}
	wire_check(!next_call(&found), path, "a call too many", "");
}

static int64_t first_int(const struct th_json *v, const char *const *keys)
{
	int64_t n = -1;

	for (; *keys && n < 0; keys++)
		n = th_json_get_int(v, *keys, -1);
	return n;
}

static void check_usage(const char *path, const struct th_json *final, const struct th_json *got)
{
	static const char *const cached[] = { "prompt_cache_hit_tokens", "cached_tokens",
					      "num_cached_tokens", NULL };
	const struct th_json *usage = th_json_get(final, "usage"), *inner;
	int64_t output, reasoning, hits;

	if (th_json_is_null(usage))
		usage = th_json_get(th_json_get(final, "x_groq"), "usage");
	output = th_json_get_int(usage, "completion_tokens", -1);
	inner = th_json_get(usage, "completion_tokens_details");
	reasoning = th_json_get_int(inner, "reasoning_tokens",
				    th_json_get_int(usage, "reasoning_tokens", -1));
	hits = th_json_get_int(th_json_get(usage, "prompt_tokens_details"), "cached_tokens", -1);
	if (hits < 0)
		hits = first_int(usage, cached);
	/* xAI counts reasoning beside the output. */
	if (reasoning > 0 && th_json_get_int(usage, "total_tokens", -1) ==
				 th_json_get_int(usage, "prompt_tokens", -1) + output + reasoning)
		output += reasoning;
	wire_check(
	    th_json_get_int(usage, "prompt_tokens", -1) == th_json_get_int(got, "input", -1) &&
		output == th_json_get_int(got, "output", -1) &&
		th_json_get_int(usage, "total_tokens", -1) == th_json_get_int(got, "total", -1) &&
		reasoning == th_json_get_int(got, "reasoning", -1) &&
		hits == th_json_get_int(got, "cached", -1),
	    path, "usage", "");
}

static void check_completion(const char *path, const struct th_json *final,
			     const struct th_json *answer)
{
	const struct th_json *choice = th_json_at(th_json_get(final, "choices"), 0),
			     *message = th_json_get(choice, "message"),
			     *error = th_json_get(final, "error");
	struct th_str finish = th_json_get_str(choice, "finish_reason"),
		      status = th_json_get_str(answer, "status");
	bool cut = th_str_is(finish, "length") || th_str_is(finish, "content_filter");

	check_texts(path, message, th_json_get(answer, "items"));
	check_calls(path, th_json_get(message, "tool_calls"), th_json_get(answer, "items"));
	check_usage(path, final, th_json_get(answer, "usage"));
	wire_check(th_str_eq(th_json_get_str(final, "id"), th_json_get_str(answer, "response_id")),
		   path, "id", "");
	wire_check(th_str_is(status, !th_json_is_null(error) ? "failed"
				     : cut                   ? "incomplete"
							     : "completed"),
		   path, "status", status.ptr);
	if (!th_json_is_null(error))
		wire_equal(path, "error", wire_nothing_ignored, error,
			   th_json_get(th_json_get(answer, "error"), "raw"));
}

static const char *const ends[] = { NULL };

const struct wire_api wire_api_chat = {
	.name = "chat",
	.model = "chat:any",
	.ends = ends,
	.unfinished_ignored = wire_nothing_ignored,
	.check = check_completion,
};
