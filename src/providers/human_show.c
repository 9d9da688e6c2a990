/* SPDX-License-Identifier: Apache-2.0 */
/*
 * human_show.c - a request as a person reads it.
 */
#include "base/limits.h"
#include "base/text.h"
#include "providers/human.h"

/* Untrusted text (tools, pages): line by line, without what a terminal would obey. */
static void put_lines(struct th_str text, bool all, struct th_buf *out)
{
	struct th_buf clipped = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!all && text.len > TH_HUMAN_SHOWN_MAX) {
		th_text_clip(&clipped, text, TH_HUMAN_SHOWN_MAX);
		text = th_buf_str(&clipped);
	}
	do {
		th_buf_add_cstr(out, "  ");
		th_text_line(out, th_str_split(&text, '\n'), TH_HUMAN_SHOWN_MAX);
		th_buf_add_char(out, '\n');
	} while (text.len);
	th_buf_deinit(&clipped);
}

static void put_content(const struct th_json *content, bool all, bool *picture, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(content);

	if (th_json_type(content) == TH_JSON_STR) {
		put_lines(th_json_str(content), all, out);
		return;
	}
	while (th_json_is_array(content) && th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (th_str_is(th_json_get_str(it.val, "type"), "image_url"))
			*picture = true;
		else if (text.len)
			put_lines(text, all, out);
	}
}

static void put_calls(const struct th_json *message, bool all, struct th_buf *out)
{
	const struct th_json *calls = th_json_get(message, "tool_calls");
	struct th_json_iter it = th_json_iter(calls);

	while (th_json_is_array(calls) && th_json_next(&it)) {
		const struct th_json *function = th_json_get(it.val, "function");
		struct th_buf line = TH_BUF_INIT(TH_REQUEST_MAX);

		th_buf_add(&line, th_json_get_str(function, "name"));
		th_buf_add_char(&line, ' ');
		th_buf_add(&line, th_json_get_str(function, "arguments"));
		put_lines(th_buf_str(&line), all, out);
		th_buf_deinit(&line);
	}
}

static const char *heading(struct th_str role)
{
	static const char *const names[][2] = { { "user", "task and news" },
						{ "tool", "result" },
						{ "assistant", "you said" },
						{ "system", "instructions" } };

	for (size_t i = 0; i < TH_COUNT(names); i++)
		if (th_str_is(role, names[i][0]))
			return names[i][1];
	return "message";
}

static size_t first_new(const struct th_json *messages)
{
	struct th_json_iter it = th_json_iter(messages);
	size_t first = 0;

	for (size_t i = 0; th_json_is_array(messages) && th_json_next(&it); i++)
		if (th_str_is(th_json_get_str(it.val, "role"), "assistant"))
			first = i + 1;
	return first;
}

static void put_tools(const struct th_json *request, struct th_buf *out)
{
	const struct th_json *tools = th_json_get(request, "tools");
	struct th_json_iter it = th_json_iter(tools);
	bool first = true;

	while (th_json_is_array(tools) && th_json_next(&it)) {
		th_buf_add_cstr(out, first ? "tools: " : ", ");
		th_text_line(out, th_json_get_str(th_json_get(it.val, "function"), "name"), 100);
		first = false;
	}
	if (!first)
		th_buf_add_char(out, '\n');
}

void th_human_show(const struct th_json *request, bool all, struct th_str picture,
		   struct th_buf *out)
{
	const struct th_json *messages = th_json_get(request, "messages");
	struct th_json_iter it = th_json_iter(messages);
	size_t first = all ? 0 : first_new(messages);
	bool seen = false;

	for (size_t i = 0; th_json_is_array(messages) && th_json_next(&it); i++) {
		struct th_str role = th_json_get_str(it.val, "role");

		if (i < first || (!all && th_str_is(role, "system")))
			continue;
		th_buf_printf(out, "%s:\n", heading(role));
		put_content(th_json_get(it.val, "content"), all, &seen, out);
		put_calls(it.val, all, out);
	}
	if (first == 0)
		put_tools(request, out);
	if (seen && picture.len) {
		th_buf_add_cstr(out, "screenshot: ");
		th_text_line(out, picture, TH_PATH_LEN_MAX);
		th_buf_add_char(out, '\n');
	}
}

struct th_str th_human_picture(const struct th_json *request)
{
	const struct th_json *messages = th_json_get(request, "messages");
	struct th_json_iter it = th_json_iter(messages);
	struct th_str last = { 0 };

	while (th_json_is_array(messages) && th_json_next(&it)) {
		const struct th_json *content = th_json_get(it.val, "content");
		struct th_json_iter part = th_json_iter(content);

		while (th_json_is_array(content) && th_json_next(&part)) {
			struct th_str url =
			    th_json_get_str(th_json_get(part.val, "image_url"), "url");
			ptrdiff_t at = th_str_find(url, TH_STR(";base64,"));

			if (at >= 0)
				last = th_str_sub(url, (size_t)at + 8, url.len);
		}
	}
	return last;
}
