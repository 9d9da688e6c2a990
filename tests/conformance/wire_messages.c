// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "wire.h"

/* The texts and calls of the message, against those of the items. */
static void check_items(const char *path, const struct th_json *final, const struct th_json *items)
{
	struct th_buf said = TH_BUF_INIT(TH_JSON_SIZE_MAX), found = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool refused = th_str_is(th_json_get_str(final, "stop_reason"), "refusal");
	struct th_json_iter it, part;

	for (it = th_json_iter(th_json_get(final, "content")); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "text"))
			th_buf_add(&said, th_json_get_str(it.val, "text"));
		if (th_str_is(type, "thinking"))
			th_buf_add(&said, th_json_get_str(it.val, "thinking"));
		if (th_str_is(type, "tool_use") && !refused) {
			th_buf_printf(&said, "<%.*s %.*s ", TH_FMT(th_json_get_str(it.val, "id")),
				      TH_FMT(th_json_get_str(it.val, "name")));
			th_json_print(th_json_get(it.val, "input"), &said);
		}
	}
	for (it = th_json_iter(items); th_json_next(&it);) {
		bool reasoning = th_str_is(th_json_get_str(it.val, "type"), "reasoning");

		part = th_json_iter(th_json_get(it.val, reasoning ? "summary" : "content"));
		while (!th_json_is_null(part.parent) && th_json_next(&part))
			if (reasoning ||
			    th_str_is(th_json_get_str(part.val, "type"), "output_text"))
				th_buf_add(&found, th_json_get_str(part.val, "text"));
		if (th_str_is(th_json_get_str(it.val, "type"), "function_call")) {
			struct th_json_doc *doc = NULL;

			th_buf_printf(&found, "<%.*s %.*s ",
				      TH_FMT(th_json_get_str(it.val, "call_id")),
				      TH_FMT(th_json_get_str(it.val, "name")));
			if (!th_json_parse(th_json_get_str(it.val, "arguments"), &doc, NULL))
				th_json_print(th_json_root(doc), &found);
			th_json_free(doc);
		}
	}
	wire_check(th_str_eq(th_buf_str(&said), th_buf_str(&found)), path, "texts and calls",
		   found.ptr);
	th_buf_deinit(&said);
	th_buf_deinit(&found);
}

static int64_t prompt_of(const struct th_json *usage)
{
	return th_json_get_int(usage, "input_tokens", 0) +
	       th_json_get_int(usage, "cache_creation_input_tokens", 0) +
	       th_json_get_int(usage, "cache_read_input_tokens", 0);
}

/* What is paid: of all passes, where there were several. */
static void check_usage(const char *path, const struct th_json *usage, const struct th_json *got)
{
	struct th_json_iter it = th_json_iter(th_json_get(usage, "iterations"));
	int64_t input = 0, output = 0;

	if (th_json_count(th_json_get(usage, "iterations")) == 0) {
		input = prompt_of(usage);
		output = th_json_get_int(usage, "output_tokens", -1);
	}
	while (th_json_next(&it)) {
		input += prompt_of(it.val);
		output += th_json_get_int(it.val, "output_tokens", 0);
	}
	wire_check(input == th_json_get_int(got, "input", 0) &&
		       output == th_json_get_int(got, "output", -1),
		   path, "usage", "");
}

static void check_message(const char *path, const struct th_json *final,
			  const struct th_json *answer)
{
	static const char *const unfinished[] = { "max_tokens", "pause_turn", "compaction",
						  "model_context_window_exceeded", NULL };
	struct th_str stop = th_json_get_str(final, "stop_reason");
	const char *status = "completed";

	for (const char *const *name = unfinished; *name; name++)
		if (th_str_is(stop, *name))
			status = "incomplete";
	/* What goes back is the message itself. */
	wire_equal(path, "the raw form", wire_nothing_ignored, final,
		   th_json_get(th_json_get(answer, "raw"), "message"));
	wire_check(th_str_is(th_json_get_str(th_json_get(answer, "raw"), "wire"), "messages"), path,
		   "the raw form's wire", "");
	wire_check(th_str_is(th_json_get_str(answer, "status"), status), path, "status",
		   th_json_get_str(answer, "status").ptr);
	wire_check(th_str_eq(th_json_get_str(final, "id"), th_json_get_str(answer, "response_id")),
		   path, "id", "");
	wire_check(th_str_eq(th_json_get_str(final, "model"), th_json_get_str(answer, "model")),
		   path, "model", "");
	check_usage(path, th_json_get(final, "usage"), th_json_get(answer, "usage"));
	check_items(path, final, th_json_get(answer, "items"));
}

/* With its last two events, whose first tells why it ended. */
static const char *const ends[] = { "\"type\":\"message_delta\"", "\"type\": \"message_delta\"",
				    NULL };

/* What a refusal says of itself comes with its end. */
static bool ends_with_more(const struct th_json *final)
{
	return th_str_is(th_json_get_str(final, "stop_reason"), "refusal");
}

const struct wire_api wire_api_messages = {
	.name = "anthropic",
	.model = "claude-sonnet-4-5",
	.ends = ends,
	.unfinished_ignored = wire_nothing_ignored,
	.ends_with_more = ends_with_more,
	.check = check_message,
};
