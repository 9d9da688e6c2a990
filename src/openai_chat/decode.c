/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - a body of this API as a request in the unified form.  What
 * the items cannot say is kept beside them as raw: the message is encoded again
 * and compared.
 */
#include "base/limits.h"
#include "model_wire/unified.h"
#include "openai_chat/server.h"
#include "openai_chat/writer.h"

struct reader {
	struct th_jw w;
	struct th_err *err;
	struct th_buf items; /* of the message under way, with commas between */
	struct th_buf raw, back;
	bool after_answer; /* the message before was the assistant's */
};

static bool is_str(struct th_str raw)
{
	return raw.len && raw.ptr[0] == '"';
}

/* ---- messages ---- */

static void put_part(struct th_jw *w, struct th_str part)
{
	struct th_str type = th_chat_raw_str(part, "type"), text = th_json_raw_get(part, "text");
	struct th_str image = th_json_raw_get(part, "image_url"),
		      url = th_json_raw_get(image, "url"),
		      detail = th_json_raw_get(image, "detail");

	if (th_str_is(type, "text") && is_str(text)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_text"));
		th_jw_kraw(w, "text", text);
		th_jw_object_end(w);
	} else if (th_str_is(type, "image_url") && is_str(url)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_image"));
		th_jw_kraw(w, "image_url", url);
		if (detail.len)
			th_jw_kraw(w, "detail", detail);
		th_jw_object_end(w);
	} else if (th_str_is(type, "file") && th_json_raw_get(part, "file").len) {
		struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(part, "file"));

		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_file"));
		while (it.object && th_json_raw_next(&it))
			if (!th_str_is(it.key, "type"))
				th_chat_put_member(w, it.key, it.val);
		th_jw_object_end(w);
	} else {
		th_jw_raw(w, part);
	}
}

static void put_content(struct th_jw *w, const char *key, struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);

	th_jw_key(w, th_str_of(key));
	if (!content.len || content.ptr[0] != '[') {
		th_jw_raw(w, is_str(content) ? content : TH_STR("\"\""));
		return;
	}
	th_jw_array(w);
	while (th_json_raw_next(&it))
		put_part(w, it.val);
	th_jw_array_end(w);
}

static void put_said(struct reader *r, struct th_str message)
{
	struct th_jw w = th_jw(&r->items);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kraw(&w, "role", th_json_raw_get(message, "role"));
	put_content(&w, "content", th_json_raw_get(message, "content"));
	th_jw_object_end(&w);
}

static void put_result(struct reader *r, struct th_str message)
{
	struct th_str id = th_json_raw_get(message, "tool_call_id");
	struct th_jw w = th_jw(&r->items);

	if (!is_str(id)) /* of the old role "function" */
		id = th_json_raw_get(message, "name");
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call_output"));
	th_jw_kraw(&w, "call_id", is_str(id) ? id : TH_STR("\"\""));
	put_content(&w, "output", th_json_raw_get(message, "content"));
	th_jw_object_end(&w);
}

static enum th_code put_answer(struct reader *r, struct th_str message)
{
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code = th_chat_items(message, TH_STR(""), false, &list, &r->raw, r->err);

	if (!code)
		th_buf_add(&r->items, th_str_sub(th_buf_str(&list), 1, list.len - 2));
	if (!code && !r->items.len)
		th_buf_add(&r->items, TH_STR("{\"type\":\"message\",\"role\":\"assistant\","
					     "\"content\":[]}"));
	th_buf_deinit(&list);
	return code;
}

/* Puts the items of the message into the list; the first with the message as raw, if need be. */
static enum th_code put_items(struct reader *r, struct th_str message, bool always_raw)
{
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;
	int64_t count = 0;
	bool raw = always_raw;

	th_buf_add_char(&list, '[');
	th_buf_add(&list, th_buf_str(&r->items));
	th_buf_add_char(&list, ']');
	th_buf_clear(&r->back);
	raw = raw || th_chat_put_unified(th_buf_str(&list), &r->back, true, NULL) ||
	      !th_unified_equal(th_buf_str(&r->back), message);
	for (it = th_json_raw_iter(th_buf_str(&list)); raw && th_json_raw_next(&it);)
		count++;
	it = th_json_raw_iter(th_buf_str(&list));
	while (th_json_raw_next(&it)) {
		if (!raw) {
			th_jw_raw(&r->w, it.val);
			continue;
		}
		th_jw_raw(&r->w, th_str_sub(it.val, 0, it.val.len - 1)); /* without its brace */
		th_jw_key(&r->w, TH_STR("raw"));
		th_jw_object(&r->w);
		th_jw_kstr(&r->w, "wire", TH_STR("chat"));
		th_jw_kint(&r->w, "items", count);
		th_jw_kraw(&r->w, "message", message);
		th_jw_object_end(&r->w);
		th_jw_object_end(&r->w);
		raw = false;
	}
	th_buf_deinit(&list);
	return th_buf_check(r->w.out, "the request", r->err);
}

static enum th_code put_message(struct reader *r, struct th_str message, size_t index)
{
	struct th_str role = th_chat_raw_str(message, "role");
	bool answer = th_str_is(role, "assistant");
	enum th_code code = TH_OK;

	if (!message.len || message.ptr[0] != '{')
		return th_fail(r->err, TH_EPROTO, "messages[%zu] must be an object", index);
	th_buf_clear(&r->items);
	th_buf_clear(&r->raw);
	if (answer)
		code = put_answer(r, message);
	else if (th_str_is(role, "tool") || th_str_is(role, "function"))
		put_result(r, message);
	else if (th_str_is(role, "user") || th_str_is(role, "system") ||
		 th_str_is(role, "developer"))
		put_said(r, message);
	else
		code = th_fail(r->err, TH_EPROTO,
			       "messages[%zu]: the role must be system, developer, user, assistant "
			       "or tool",
			       index);
	if (!code)
		code = put_items(r, message, answer && r->after_answer);
	r->after_answer = answer;
	return code;
}

/* Whether it is nothing but a text. */
static bool is_instructions(struct th_str message)
{
	struct th_json_raw_iter it = th_json_raw_iter(message);
	size_t members = 0;

	while (th_json_raw_next(&it))
		members++;
	return members == 2 && th_str_is(th_chat_raw_str(message, "role"), "system") &&
	       is_str(th_json_raw_get(message, "content"));
}

static enum th_code put_messages(struct reader *r, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	enum th_code code = TH_OK;
	const char *first;
	bool more;

	if (!list.len || list.ptr[0] != '[')
		return th_fail(r->err, TH_EPROTO, "messages must be a list");
	more = th_json_raw_next(&it);
	if (!more)
		return th_fail(r->err, TH_EPROTO, "messages must hold at least one");
	first = it.val.ptr;
	if (is_instructions(it.val)) {
		th_jw_kraw(&r->w, "instructions", th_json_raw_get(it.val, "content"));
		more = th_json_raw_next(&it);
	}
	th_jw_key(&r->w, TH_STR("items"));
	th_jw_array(&r->w);
	for (size_t i = more && it.val.ptr != first; more && !code; i++) {
		code = put_message(r, it.val, i);
		more = th_json_raw_next(&it);
	}
	th_jw_array_end(&r->w);
	return code;
}

/* ---- tools and the rest ---- */

static void put_tool(struct reader *r, struct th_str tool)
{
	static const char *const members[] = { "name", "description", "parameters", "strict" };
	struct th_str function = th_json_raw_get(tool, "function"),
		      type = th_chat_raw_str(tool, "type");
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&text), back;

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("type"));
	th_jw_raw(&w, TH_STR("\""));
	th_buf_add(&text, type.len ? type : TH_STR("function"));
	th_buf_add_char(&text, '"');
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		struct th_str val = th_json_raw_get(function, members[i]);

		if (val.len)
			th_jw_kraw(&w, members[i], val);
	}
	th_jw_object_end(&w);
	th_buf_clear(&r->back);
	back = th_jw(&r->back);
	th_chat_put_tool(&back, th_buf_str(&text));
	if (!th_unified_equal(th_buf_str(&r->back), tool)) {
		th_buf_truncate(&text, text.len - 1);
		th_jw_key(&w, TH_STR("raw"));
		th_jw_object(&w);
		th_jw_kstr(&w, "wire", TH_STR("chat"));
		th_jw_kint(&w, "items", 1);
		th_jw_kraw(&w, "message", tool);
		th_jw_object_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_raw(&r->w, th_buf_str(&text));
	th_buf_deinit(&text);
}

static enum th_code put_tools(struct reader *r, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);

	th_jw_key(&r->w, TH_STR("tools"));
	th_jw_array(&r->w);
	while (th_json_raw_next(&it)) {
		if (!it.val.len || it.val.ptr[0] != '{')
			return th_fail(r->err, TH_EPROTO, "every tool must be an object");
		put_tool(r, it.val);
	}
	th_jw_array_end(&r->w);
	return TH_OK;
}

static bool is_number(struct th_str raw)
{
	return raw.len && (raw.ptr[0] == '-' || (raw.ptr[0] >= '0' && raw.ptr[0] <= '9'));
}

static bool is_bool(struct th_str raw)
{
	return th_str_eq(raw, TH_STR("true")) || th_str_eq(raw, TH_STR("false"));
}

/* {"type":"function","function":{"name"}} becomes {"type":"function","name"}. */
static bool put_choice(struct th_jw *w, struct th_str raw)
{
	struct th_str function = th_json_raw_get(raw, "function"),
		      name = th_json_raw_get(function, "name");
	struct th_buf same = TH_BUF_INIT(TH_REQUEST_MAX);
	bool good = is_str(raw);

	if (good) {
		th_jw_kraw(w, "tool_choice", raw);
	} else if (is_str(name)) {
		th_buf_add(&same, TH_STR("{\"type\":\"function\",\"function\":{\"name\":"));
		th_buf_add(&same, name);
		th_buf_add(&same, TH_STR("}}"));
		good = th_unified_equal(th_buf_str(&same), raw);
		if (good) {
			th_jw_key(w, TH_STR("tool_choice"));
			th_jw_raw(w, TH_STR("{\"type\":\"function\",\"name\":"));
			th_buf_add(w->out, name);
			th_buf_add_char(w->out, '}');
		}
	}
	th_buf_deinit(&same);
	return good;
}

/* {"type":"json_schema","json_schema":{…}} becomes {"type":"json_schema",…}; other types have
 * nothing but their name. */
static bool put_format(struct th_jw *w, struct th_str raw)
{
	struct th_buf ours = TH_BUF_INIT(TH_REQUEST_MAX), again = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw o = th_jw(&ours), a = th_jw(&again);
	struct th_str type = th_json_raw_get(raw, "type");
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(raw, "json_schema"));
	bool good = is_str(type);

	if (good) {
		th_jw_object(&o);
		th_jw_kraw(&o, "type", type);
		while (it.object && th_json_raw_next(&it))
			th_chat_put_member(&o, it.key, it.val);
		th_jw_object_end(&o);
		th_chat_put_format(&a, th_buf_str(&ours));
		good = th_unified_equal(th_buf_str(&again), raw);
		if (good)
			th_jw_kraw(w, "format", th_buf_str(&ours));
	}
	th_buf_deinit(&ours);
	th_buf_deinit(&again);
	return good;
}

/* True: it is said in full by the settings. */
static bool put_setting(struct th_jw *w, struct th_str body, struct th_str key, struct th_str val)
{
	bool other = th_json_raw_get(body, "max_tokens").len &&
		     th_json_raw_get(body, "max_completion_tokens").len;

	if ((th_str_is(key, "temperature") || th_str_is(key, "top_p")) && is_number(val)) {
		th_chat_put_member(w, key, val);
		return true;
	}
	if (th_str_is(key, "reasoning_effort") && is_str(val)) {
		th_jw_kraw(w, "effort", val);
		return true;
	}
	if (th_str_is(key, "parallel_tool_calls") && is_bool(val)) {
		th_chat_put_member(w, key, val);
		return true;
	}
	if (th_str_is(key, "tool_choice"))
		return put_choice(w, val);
	if (th_str_is(key, "response_format"))
		return put_format(w, val);
	if (th_str_is(key, "max_completion_tokens") && is_number(val)) {
		th_jw_kraw(w, "max_output_tokens", val);
		return !other;
	}
	if (th_str_is(key, "max_tokens") && is_number(val) && !other)
		th_jw_kraw(w, "max_output_tokens", val);
	return false; /* the old name stays with the extras */
}

static void put_rest(struct reader *r, struct th_str body)
{
	struct th_buf settings = TH_BUF_INIT(TH_REQUEST_MAX), extra = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw s = th_jw(&settings), e = th_jw(&extra);
	struct th_json_raw_iter it = th_json_raw_iter(body);

	th_jw_object(&s);
	th_jw_object(&e);
	while (th_json_raw_next(&it)) {
		bool list = it.val.len && it.val.ptr[0] == '[';

		if (th_str_is(it.key, "messages") || th_str_is(it.key, "model") ||
		    (th_str_is(it.key, "tools") && list) ||
		    (th_str_is(it.key, "stream") && is_bool(it.val)))
			continue;
		if (!put_setting(&s, body, it.key, it.val))
			th_chat_put_member(&e, it.key, it.val);
	}
	th_jw_object_end(&s);
	th_jw_object_end(&e);
	th_jw_kraw(&r->w, "settings", th_buf_str(&settings));
	th_jw_kraw(&r->w, "extra", th_buf_str(&extra));
	th_buf_deinit(&settings);
	th_buf_deinit(&extra);
}

static enum th_code put_request(struct reader *r, struct th_str model, struct th_str body)
{
	struct th_str name = th_json_raw_get(body, "model"), tools = th_json_raw_get(body, "tools"),
		      stream = th_json_raw_get(body, "stream");
	enum th_code code;

	if (!is_str(name) && !model.len)
		return th_fail(r->err, TH_EPROTO, "model must be a string");
	th_jw_object(&r->w);
	th_jw_key(&r->w, TH_STR("model"));
	if (is_str(name))
		th_jw_raw(&r->w, name);
	else
		th_jw_str(&r->w, model);
	if (is_bool(stream))
		th_jw_kraw(&r->w, "stream", stream);
	code = put_messages(r, th_json_raw_get(body, "messages"));
	if (!code && tools.len && tools.ptr[0] == '[')
		code = put_tools(r, tools);
	if (code)
		return code;
	put_rest(r, body);
	th_jw_object_end(&r->w);
	return th_buf_check(r->w.out, "the request", r->err);
}

enum th_code th_chat_request_decode(struct th_str model, struct th_str body, struct th_buf *out,
				    struct th_err *err)
{
	struct reader r = { .w = th_jw(out), .err = err };
	size_t start = out->len;
	struct th_json_doc *doc;
	enum th_code code = th_json_parse(body, &doc, err);

	if (code)
		return th_prefix(err, code, "the request's body");
	if (!th_json_is_object(th_json_root(doc)))
		code = th_fail(err, TH_EPROTO, "the request's body must be an object");
	th_json_free(doc); /* it is JSON: its text can be walked */
	body = th_str_trim(body);
	th_buf_init(&r.items, TH_REQUEST_MAX);
	th_buf_init(&r.raw, TH_REQUEST_MAX);
	th_buf_init(&r.back, TH_REQUEST_MAX);
	if (!code)
		code = put_request(&r, model, body);
	if (code)
		th_buf_truncate(out, start);
	th_buf_deinit(&r.items);
	th_buf_deinit(&r.raw);
	th_buf_deinit(&r.back);
	return code;
}
