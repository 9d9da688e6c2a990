/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - a request in the unified form as a body of this API.  An item
 * with a raw message stands for that message, together with the items behind it
 * that are views of the same.
 */
#include "base/limits.h"
#include "openai_chat/server.h"
#include "openai_chat/writer.h"

static const struct th_profile anybody = { .name = "chat", .vision = true };
static const struct th_request_options options = { .profile = &anybody };

static struct th_group_writer writer(struct th_buf *out, struct th_err *err)
{
	return (struct th_group_writer){ .o = &options, .w = th_jw(out), .err = err };
}

static bool is_type(struct th_str item, const char *type)
{
	return th_str_is(th_chat_raw_str(item, "type"), type);
}

static bool is_message(struct th_str item)
{
	struct th_str type = th_chat_raw_str(item, "type");

	return !type.len || th_str_is(type, "message");
}

static bool is_assistant(struct th_str item)
{
	return !th_str_ends(th_chat_raw_str(item, "type"), TH_STR("_output")) &&
	       (!is_message(item) || th_str_is(th_chat_raw_str(item, "role"), "assistant"));
}

static enum th_code put_content(struct th_group_writer *x, struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);
	enum th_code code = TH_OK;

	if (!content.len || content.ptr[0] != '[') {
		th_jw_raw(&x->w, content.len ? content : TH_STR("null"));
		return TH_OK;
	}
	th_jw_array(&x->w);
	while (!code && th_json_raw_next(&it))
		code = th_chat_put_part(x, it.val);
	th_jw_array_end(&x->w);
	return code;
}

/* Not of the assistant. */
static enum th_code put_item(struct th_group_writer *x, struct th_str item)
{
	struct th_str role = th_json_raw_get(item, "role");
	enum th_code code;

	if (is_message(item) && (!role.len || role.ptr[0] != '"'))
		return th_fail(x->err, TH_EPROTO, "an item must have a type, or a role");
	th_jw_object(&x->w);
	if (is_message(item)) {
		th_jw_kraw(&x->w, "role", role);
		th_jw_key(&x->w, TH_STR("content"));
		code = put_content(x, th_json_raw_get(item, "content"));
	} else {
		struct th_str call_id = th_json_raw_get(item, "call_id");

		th_jw_kstr(&x->w, "role", TH_STR("tool"));
		th_jw_kraw(&x->w, "tool_call_id", call_id.len ? call_id : TH_STR("\"\""));
		th_jw_key(&x->w, TH_STR("content"));
		code = put_content(x, th_json_raw_get(item, "output"));
	}
	th_jw_object_end(&x->w);
	return code;
}

/* The run of items from the front that are one message of the assistant: thoughts, one text, calls.
 */
static struct th_str cut_answer(struct th_str list, struct th_json_raw_iter *it)
{
	const char *from = it->val.ptr;
	struct th_str last = it->val;
	bool said = is_message(it->val), called = !said && !is_type(it->val, "reasoning");

	(void)list;
	for (struct th_json_raw_iter next = *it; th_json_raw_next(&next);) {
		bool message = is_message(next.val), thought = is_type(next.val, "reasoning");

		if (!is_assistant(next.val) || th_json_raw_get(next.val, "raw").len ||
		    ((message || thought) && called) || ((message || thought) && said))
			break;
		said = said || message;
		called = called || (!message && !thought);
		last = next.val;
		*it = next;
	}
	return th_str_n(from, (size_t)(last.ptr + last.len - from));
}

enum th_code th_chat_put_unified(struct th_str items, struct th_buf *out, bool first,
				 struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_buf answer = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_group_writer x = writer(out, err);
	enum th_code code = TH_OK;

	x.w.comma = !first;
	while (!code && th_json_raw_next(&it)) {
		struct th_str raw = th_json_raw_get(it.val, "raw");
		struct th_str message = th_json_raw_get(raw, "message");
		int64_t count = 1;

		if (!it.val.len || it.val.ptr[0] != '{') {
			code = th_fail(err, TH_EPROTO, "an item must be an object");
		} else if (th_str_is(th_chat_raw_str(raw, "wire"), "chat") && message.len) {
			th_jw_raw(&x.w, message);
			if (!th_str_i64(th_json_raw_get(raw, "items"), &count))
				count = 1;
			while (--count > 0 && th_json_raw_next(&it))
				;
		} else if (!is_assistant(it.val)) {
			code = put_item(&x, it.val);
		} else {
			th_buf_clear(&answer);
			th_buf_add_char(&answer, '[');
			th_buf_add(&answer, cut_answer(items, &it));
			th_buf_add_char(&answer, ']');
			code = th_chat_put_items(&x, th_buf_str(&answer));
		}
	}
	th_buf_deinit(&answer);
	return code ? code : th_buf_check(out, "the request", err);
}

void th_chat_put_tool(struct th_jw *w, struct th_str tool)
{
	static const char *const members[] = { "name", "description", "parameters", "strict" };
	struct th_str raw = th_json_raw_get(th_json_raw_get(tool, "raw"), "message");

	if (raw.len) {
		th_jw_raw(w, raw);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function"));
	th_jw_key(w, TH_STR("function"));
	th_jw_object(w);
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		struct th_str val = th_json_raw_get(tool, members[i]);

		if (val.len)
			th_jw_kraw(w, members[i], val);
	}
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void put_choice(struct th_jw *w, struct th_str choice)
{
	struct th_str name = th_json_raw_get(choice, "name");

	th_jw_key(w, TH_STR("tool_choice"));
	if (!name.len) {
		th_jw_raw(w, choice);
		return;
	}
	th_jw_raw(w, TH_STR("{\"type\":\"function\",\"function\":{\"name\":"));
	th_buf_add(w->out, name);
	th_buf_add(w->out, TH_STR("}}"));
}

void th_chat_put_format(struct th_jw *w, struct th_str ours)
{
	struct th_json_raw_iter it = th_json_raw_iter(ours);
	struct th_str type = th_json_raw_get(ours, "type");

	th_jw_object(w);
	if (type.len)
		th_jw_kraw(w, "type", type);
	if (th_str_is(type, "\"json_schema\"")) {
		th_jw_key(w, TH_STR("json_schema"));
		th_jw_object(w);
		while (it.object && th_json_raw_next(&it))
			if (!th_str_is(it.key, "type"))
				th_chat_put_member(w, it.key, it.val);
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
}

static void put_settings(struct th_jw *w, struct th_str settings, struct th_str extra)
{
	struct th_json_raw_iter it = th_json_raw_iter(settings);
	bool said = th_json_raw_get(extra, "max_tokens").len ||
		    th_json_raw_get(extra, "max_completion_tokens").len;

	while (it.object && th_json_raw_next(&it)) {
		if (th_str_is(it.key, "effort")) {
			th_jw_kraw(w, "reasoning_effort", it.val);
		} else if (th_str_is(it.key, "tool_choice")) {
			put_choice(w, it.val);
		} else if (th_str_is(it.key, "format")) {
			th_jw_key(w, TH_STR("response_format"));
			th_chat_put_format(w, it.val);
		} else if (!th_str_is(it.key, "max_output_tokens")) {
			th_chat_put_member(w, it.key, it.val);
		} else if (!said) {
			th_jw_kraw(w, "max_completion_tokens", it.val);
		}
	}
}

static enum th_code put_messages(struct th_jw *w, struct th_str unified, struct th_err *err)
{
	struct th_str instructions = th_json_raw_get(unified, "instructions");
	enum th_code code;

	th_jw_key(w, TH_STR("messages"));
	th_jw_array(w);
	if (instructions.len) {
		th_jw_object(w);
		th_jw_kstr(w, "role", TH_STR("system"));
		th_jw_kraw(w, "content", instructions);
		th_jw_object_end(w);
	}
	code =
	    th_chat_put_unified(th_json_raw_get(unified, "items"), w->out, !instructions.len, err);
	th_jw_array_end(w);
	return code;
}

enum th_code th_chat_request_encode(struct th_str unified, struct th_buf *out, struct th_err *err)
{
	struct th_json_raw_iter tools = th_json_raw_iter(th_json_raw_get(unified, "tools"));
	struct th_str extra = th_json_raw_get(unified, "extra");
	struct th_json_raw_iter it = th_json_raw_iter(extra);
	struct th_jw w = th_jw(out);
	struct th_json_doc *doc;
	enum th_code code = th_json_parse(unified, &doc, err);

	if (code)
		return th_prefix(err, code, "the request");
	th_json_free(doc); /* it is JSON: its text can be walked */
	th_jw_object(&w);
	if (th_json_raw_get(unified, "model").len)
		th_jw_kraw(&w, "model", th_json_raw_get(unified, "model"));
	if (th_json_raw_get(unified, "stream").len)
		th_jw_kraw(&w, "stream", th_json_raw_get(unified, "stream"));
	put_settings(&w, th_json_raw_get(unified, "settings"), extra);
	if (th_json_raw_get(unified, "tools").len) {
		th_jw_key(&w, TH_STR("tools"));
		th_jw_array(&w);
		while (th_json_raw_next(&tools))
			th_chat_put_tool(&w, tools.val);
		th_jw_array_end(&w);
	}
	while (it.object && th_json_raw_next(&it))
		th_chat_put_member(&w, it.key, it.val);
	code = put_messages(&w, unified, err);
	th_jw_object_end(&w);
	return code ? code : th_buf_check(out, "the request", err);
}
