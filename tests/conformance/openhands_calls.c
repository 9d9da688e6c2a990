/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_calls.c - function calls as text, both ways. */
#include "openhands.h"

#include <stdlib.h>
#include <string.h>

#include "dialects/list.h"
#include "openai_chat/chat.h"

#define ERROR "FunctionCallValidationError: "

/* The two tools of the cases. */
static const struct th_tool_spec tools[] = {
	{ .name = TH_STR_INIT("execute_bash"),
	  .description = TH_STR_INIT("Execute a bash command in the terminal."),
	  .schema = TH_STR_INIT("{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
				"\"string\",\"description\":\"The "
				"bash "
				"command.\"},\"is_input\":{\"type\":\"string\",\"enum\":[\"true\","
				"\"false\"]},\"timeout\":"
				"{\"type\":\"number\"}},\"required\":[\"command\"]}") },
	{ .name = TH_STR_INIT("str_replace_editor"),
	  .description = TH_STR_INIT("View, create and edit files."),
	  .schema = TH_STR_INIT("{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
				"\"string\",\"enum\":[\"view\","
				"\"create\",\"str_replace\",\"insert\",\"undo_edit\"]},\"path\":{"
				"\"type\":\"string\"},"
				"\"file_text\":{\"type\":\"string\"},\"old_str\":{\"type\":"
				"\"string\"},\"new_str\":{\"type\":"
				"\"string\"},\"insert_line\":{\"type\":\"integer\"},\"view_range\":"
				"{\"type\":\"array\",\"items\":"
				"{\"type\":\"integer\"}}},\"required\":[\"command\",\"path\"]}") },
};
static const struct th_profile profile = { .name = "plain",
					   .wire = &th_wire_chat,
					   .dialect = &th_dialect_functions };
static const struct th_dialect_context context = {
	.profile = &profile, .turn = 1, .tools = tools, .tool_count = 2
};

static struct th_json_doc *decoded(struct th_str text)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&items);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_kstr(&w, "content", text);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (th_dialect_functions.decode(&context, th_buf_str(&items), &out, &err) ||
	    th_json_parse(th_buf_str(&out), &doc, &err))
		abort(); /* it takes any text */
	th_buf_deinit(&items);
	th_buf_deinit(&out);
	return doc;
}

/* The content and calls of a message, as one line that two can be compared by. */
static void put_message(struct th_str content, size_t calls, const struct th_str *names,
			const struct th_str *arguments, struct th_buf *out)
{
	th_buf_printf(out, "content %.*s", TH_FMT(content));
	for (size_t i = 0; i < calls; i++) {
		struct th_json_doc *doc = NULL;

		th_buf_printf(out, "; %.*s ", TH_FMT(names[i]));
		if (!th_json_parse(arguments[i], &doc, NULL))
			th_json_print(th_json_root(doc), out);
		th_json_free(doc);
	}
}

/* What the items say, in the same form; or the error. */
static void put_items(const struct th_json *items, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(items);
	struct th_str content = TH_STR(""), names[16], arguments[16];
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	size_t calls = 0;

	while (th_json_next(&it)) {
		const struct th_json *parts = th_json_get(it.val, "content");

		if (th_json_get_str(it.val, "error").ptr) {
			th_buf_printf(out, ERROR "%.*s", TH_FMT(th_json_get_str(it.val, "error")));
			th_buf_deinit(&text);
			return;
		}
		if (th_str_is(th_json_get_str(it.val, "type"), "function_call") &&
		    calls < TH_COUNT(names)) {
			names[calls] = th_json_get_str(it.val, "name");
			arguments[calls++] = th_json_get_str(it.val, "arguments");
		} else if (th_json_is_array(parts)) {
			th_buf_add(&text, th_json_get_str(th_json_at(parts, 0), "text"));
		} else {
			th_buf_add(&text, th_json_str(parts));
		}
	}
	if (text.len)
		content = th_buf_str(&text);
	put_message(content, calls, names, arguments, out);
	th_buf_deinit(&text);
}

static void put_expected(const struct th_json *message, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(message, "tool_calls"));
	struct th_str names[16], arguments[16];
	size_t calls = 0;

	while (th_json_next(&it) && calls < TH_COUNT(names)) {
		const struct th_json *f = th_json_get(it.val, "function");

		names[calls] = th_json_get_str(f, "name");
		arguments[calls++] = th_json_get_str(f, "arguments");
	}
	put_message(th_json_get_str(message, "content"), calls, names, arguments, out);
}

/* A value as both write it: without newlines around it, and a number without quotes. */
static void put_plain(const struct th_json *value, struct th_buf *out)
{
	if (th_json_type(value) == TH_JSON_STR)
		th_buf_add(out, th_str_trim(th_json_str(value)));
	else
		th_json_print(value, out);
	th_buf_add_char(out, ';');
}

static bool same_plain(const struct th_json *ours, const struct th_json *theirs)
{
	struct th_buf a TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *one = NULL, *two = NULL;
	struct th_json_iter it;
	bool same = th_str_eq(th_json_get_str(ours, "name"),
			      th_json_get_str(th_json_get(theirs, "function"), "name")) &&
		    !th_json_parse(th_json_get_str(ours, "arguments"), &one, NULL) &&
		    !th_json_parse(th_json_get_str(th_json_get(theirs, "function"), "arguments"),
				   &two, NULL);

	for (it = th_json_iter(th_json_root(one)); same && th_json_next(&it);)
		put_plain(it.val, &a);
	for (it = th_json_iter(th_json_root(two)); same && th_json_next(&it);)
		put_plain(it.val, &b);
	same = same && th_str_eq(th_buf_str(&a), th_buf_str(&b));
	th_json_free(one);
	th_json_free(two);
	return same;
}

/* Upstream takes the first call of several, and no number for what the schema says is one; and it
 * reads the newlines around a value, which its own prompt shows, as parts of it. */
static bool differs_on_purpose(const struct th_json *items, const struct th_json *expected)
{
	const struct th_json *first = th_json_at(th_json_get(expected, "tool_calls"), 0);
	struct th_json_iter it = th_json_iter(items);

	while (first && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), "function_call"))
			return same_plain(it.val, first);
	return false;
}

/* "… {'a', 'b'}": a set of Python's, whose order is any. */
static bool same_set(struct th_str a, struct th_str b)
{
	ptrdiff_t open = th_str_find(a, TH_STR("{'"));
	size_t count[256] = { 0 };

	if (open < 0 || a.len != b.len || !th_str_starts(b, th_str_sub(a, 0, (size_t)open)))
		return false;
	for (size_t i = (size_t)open; i < a.len; i++) {
		count[(unsigned char)a.ptr[i]]++;
		count[(unsigned char)b.ptr[i]]--;
	}
	for (size_t i = 0; i < TH_COUNT(count); i++)
		if (count[i])
			return false;
	return true;
}

static bool reads(struct th_str text, const struct th_json *expected, struct th_buf *found)
{
	struct th_json_doc *doc = decoded(text);
	struct th_buf want = TH_BUF_INIT(TH_MIB);
	bool same;

	put_items(th_json_root(doc), found);
	if (th_json_type(expected) == TH_JSON_STR)
		th_buf_add(&want, th_json_str(expected));
	else
		put_expected(expected, &want);
	same = th_str_eq(th_buf_str(found), th_buf_str(&want)) ||
	       same_set(th_buf_str(found), th_buf_str(&want));
	if (!same && differs_on_purpose(th_json_root(doc), expected)) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "all calls, and values of their types");
	}
	th_json_free(doc);
	th_buf_deinit(&want);
	return same;
}

bool oh_call_read(const struct oh_case *c, struct th_buf *found)
{
	return reads(th_json_get_str(c->input, "assistant"), c->expected, found);
}

/* ---- writing ---- */

static void put_call_item(const struct th_json *call, struct th_jw *w)
{
	const struct th_json *f = th_json_get(call, "function");

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	th_jw_kstr(w, "call_id", th_json_get_str(call, "id"));
	th_jw_kstr(w, "name", th_json_get_str(f, "name"));
	th_jw_kstr(w, "arguments", th_json_get_str(f, "arguments"));
	th_jw_object_end(w);
}

/* The text of a message of the assistant with calls. */
static bool write_answer(const struct th_json *message, struct th_buf *out)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), said = TH_BUF_INIT(TH_MIB);
	struct th_json_iter it = th_json_iter(th_json_get(message, "tool_calls"));
	struct th_jw w = th_jw(&items);
	struct th_json_doc *doc = NULL;
	bool good;

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "content", th_json_get_str(message, "content"));
	th_jw_object_end(&w);
	while (th_json_next(&it))
		put_call_item(it.val, &w);
	th_jw_array_end(&w);
	good = !th_dialect_functions.encode(&context, th_buf_str(&items), &said, NULL) &&
	       !th_json_parse(th_buf_str(&said), &doc, NULL);
	if (good)
		th_buf_add(
		    out,
		    th_json_get_str(
			th_json_at(th_json_get(th_json_at(th_json_root(doc), 0), "content"), 0),
			"text"));
	th_json_free(doc);
	th_buf_deinit(&items);
	th_buf_deinit(&said);
	return good;
}

/* The text parts of a result's message, line by line. */
static bool write_result(const struct th_json *message, struct th_buf *out)
{
	const struct th_request_options o = {
		.profile = &profile, .model = TH_STR("m"), .tools = tools, .tool_count = 2
	};
	struct th_buf output = TH_BUF_INIT(TH_MIB), body = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&output);
	struct th_result result = { .call_item = TH_STR("{\"type\":\"function_call\"}"),
				    .call_id = th_json_get_str(message, "tool_call_id"),
				    .tool = th_json_get_str(message, "name") };
	struct th_group group = { .kind = TH_GROUP_RESULTS, .results = &result, .result_count = 1 };
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_hole holes[4];
	size_t count = 0;
	bool good;

	th_jw_str(&w, th_json_get_str(message, "content"));
	result.output = th_buf_str(&output);
	good = !th_group_render(&o, &group, true, &body, holes, 4, &count, NULL);
	good = good && body.len > 1 &&
	       !th_json_parse(th_str_n(body.ptr + 1, body.len - 1), &doc, NULL); /* the comma */
	for (it = th_json_iter(th_json_get(th_json_root(doc), "content"));
	     good && th_json_next(&it);)
		th_buf_printf(out, "%s%.*s", out->len ? "\n" : "",
			      TH_FMT(th_json_get_str(it.val, "text")));
	th_json_free(doc);
	th_buf_deinit(&output);
	th_buf_deinit(&body);
	return good;
}

bool oh_call_write(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "messages")),
			    want = th_json_iter(c->expected);
	bool same = true;

	while (th_json_next(&it) && th_json_next(&want)) {
		struct th_buf text = TH_BUF_INIT(TH_MIB);

		if (th_json_get(it.val, "tool_calls"))
			same = write_answer(it.val, &text) && same;
		else if (th_str_is(th_json_get_str(it.val, "role"), "tool"))
			same = write_result(it.val, &text) && same;
		else
			th_buf_add(&text, th_json_get_str(it.val, "content"));
		same = same && th_str_eq(th_buf_str(&text), th_json_get_str(want.val, "content"));
		th_buf_printf(found, "[%.*s]", TH_FMT(th_buf_str(&text)));
		th_buf_deinit(&text);
	}
	return same;
}

/* Written and read again, the calls are as before; ids are renumbered there, and ours here. */
bool oh_call_back(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "messages")),
			    want = th_json_iter(c->expected);
	bool same = true;

	while (th_json_next(&it) && th_json_next(&want)) {
		struct th_buf text = TH_BUF_INIT(TH_MIB);

		if (th_json_get(it.val, "tool_calls"))
			same = write_answer(it.val, &text) &&
			       reads(th_buf_str(&text), want.val, found) && same;
		th_buf_deinit(&text);
	}
	return same;
}

bool oh_call_prompt(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->expected, "contains"));
	bool all = true;

	th_dialect_functions.prompt(&context, found);
	while (th_json_next(&it))
		all = all && th_str_find(th_buf_str(found), th_json_str(it.val)) >= 0;
	return all;
}
