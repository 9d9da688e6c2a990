/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - a message of the assistant as items, and as the raw message
 * that goes back.
 */
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "openai_chat/chat.h"

struct view {
	const struct th_json *message;
	struct th_str text; /* of the message: raw JSON */
	struct th_jw items, raw;
	struct th_str seed;
	bool incomplete;
	size_t item_count, call_count;
};

/* ---- what was thought and said ---- */

static void put_reasoning(struct view *v, struct th_str text)
{
	if (!text.len)
		return;
	th_jw_object(&v->items);
	th_jw_kstr(&v->items, "type", TH_STR("reasoning"));
	th_jw_kraw(&v->items, "summary", TH_STR("[]"));
	th_jw_key(&v->items, TH_STR("content"));
	th_jw_array(&v->items);
	th_jw_object(&v->items);
	th_jw_kstr(&v->items, "type", TH_STR("reasoning_text"));
	th_jw_kstr(&v->items, "text", text);
	th_jw_object_end(&v->items);
	th_jw_array_end(&v->items);
	th_jw_object_end(&v->items);
	v->item_count++;
}

/* The texts of parts: {"text"}, {"summary"}, {"thinking": a string or parts}. */
static void add_thoughts(const struct th_json *list, bool thinking_only, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it)) {
		const struct th_json *thinking = th_json_get(it.val, "thinking");

		th_buf_add(out, th_json_str(thinking));
		if (th_json_is_array(thinking) && thinking_only)
			add_thoughts(thinking, false, out);
		if (thinking_only)
			continue;
		th_buf_add(out, th_json_get_str(it.val, "text"));
		th_buf_add(out, th_json_get_str(it.val, "summary"));
	}
}

static bool is_nonempty(const struct th_json *v)
{
	return th_json_str(v).len || th_json_count(v);
}

/* Under one of the names that servers have for it; the text that is left is in *content. */
static void put_thoughts(struct view *v, struct th_str *content)
{
	struct th_buf joined = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str text = th_json_get_str(v->message, "reasoning_content"), rest;
	bool named;

	if (!text.len)
		text = th_json_get_str(v->message, "reasoning");
	if (!text.len) {
		add_thoughts(th_json_get(v->message, "reasoning_details"), false, &joined);
		add_thoughts(th_json_get(v->message, "content"), true, &joined);
		text = th_buf_str(&joined);
	}
	named = text.len > 0;
	put_reasoning(v, text);
	if (th_chat_split_think(*content, !named, &text, &rest)) {
		put_reasoning(v, text);
		*content = rest;
	}
	th_buf_deinit(&joined);
}

/* {"type":"url_citation","url_citation":{…}} becomes flat, as the items have it. */
static void put_annotations(struct view *v)
{
	struct th_json_iter it = th_json_iter(th_json_get(v->message, "annotations"));

	th_jw_key(&v->items, TH_STR("annotations"));
	th_jw_array(&v->items);
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");
		struct th_json_iter member = th_json_iter(th_json_getn(it.val, type));

		if (!th_json_is_object(member.parent)) {
			th_jw_json(&v->items, it.val);
			continue;
		}
		th_jw_object(&v->items);
		th_jw_kstr(&v->items, "type", type);
		while (th_json_next(&member)) {
			th_jw_key(&v->items, member.key);
			th_jw_json(&v->items, member.val);
		}
		th_jw_object_end(&v->items);
	}
	th_jw_array_end(&v->items);
}

static void put_text(struct view *v, struct th_str text)
{
	th_jw_object(&v->items);
	th_jw_kstr(&v->items, "type", TH_STR("output_text"));
	th_jw_kstr(&v->items, "text", text);
	put_annotations(v);
	th_jw_object_end(&v->items);
}

static void put_parts(struct view *v, const struct th_json *parts)
{
	struct th_json_iter it = th_json_iter(parts);

	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "text") || th_str_is(type, "output_text"))
			put_text(v, th_json_get_str(it.val, "text"));
		else if (th_json_type(it.val) == TH_JSON_STR)
			put_text(v, th_json_str(it.val));
		else if (!th_str_is(type, "thinking") && th_json_is_object(it.val))
			th_jw_json(&v->items, it.val);
	}
}

/* Whether a list of parts holds more than thoughts. */
static bool has_said(const struct th_json *parts)
{
	struct th_json_iter it = th_json_iter(parts);

	while (th_json_is_array(parts) && th_json_next(&it))
		if (!th_str_is(th_json_get_str(it.val, "type"), "thinking"))
			return true;
	return false;
}

static void put_message(struct view *v, struct th_str content)
{
	const struct th_json *parts = th_json_get(v->message, "content");
	struct th_str refusal = th_json_get_str(v->message, "refusal");

	if (!content.len && !has_said(parts) && !refusal.len)
		return;
	th_jw_object(&v->items);
	th_jw_kstr(&v->items, "type", TH_STR("message"));
	th_jw_kstr(&v->items, "role", TH_STR("assistant"));
	th_jw_key(&v->items, TH_STR("content"));
	th_jw_array(&v->items);
	if (content.len)
		put_text(v, content);
	else if (th_json_is_array(parts))
		put_parts(v, parts);
	if (refusal.len) {
		th_jw_object(&v->items);
		th_jw_kstr(&v->items, "type", TH_STR("refusal"));
		th_jw_kstr(&v->items, "refusal", refusal);
		th_jw_object_end(&v->items);
	}
	th_jw_array_end(&v->items);
	th_jw_object_end(&v->items);
	v->item_count++;
}

/* ---- calls ---- */

/* Whether call number `n` has an id that no call before it has. */
static bool has_own_id(const struct view *v, struct th_str id, size_t n)
{
	struct th_json_iter it = th_json_iter(th_json_get(v->message, "tool_calls"));

	while (th_json_next(&it) && it.index < n)
		if (th_str_eq(th_json_get_str(it.val, "id"), id))
			return false;
	return id.len > 0;
}

/* From the answer and the call's place in it. */
static void make_id(const struct view *v, size_t n, struct th_buf *out)
{
	struct th_str seed = v->seed.len ? v->seed : v->text;
	struct th_digest digest = th_sha256_of(seed.ptr, seed.len);
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_digest_hex(&digest, hex);
	th_buf_printf(out, "call_%.16s_%zu", hex, n);
}

/* Arguments as text: an object where a server gives one, {} for nothing. */
static void add_arguments(const struct th_json *v, struct th_buf *out)
{
	if (th_json_type(v) == TH_JSON_STR)
		th_buf_add(out, th_json_str(v));
	else if (!th_json_is_null(v))
		th_json_print(v, out);
	if (!out->len)
		th_buf_add(out, TH_STR("{}"));
}

static bool is_json(struct th_str text)
{
	struct th_json_doc *doc;
	bool good = !th_json_parse(text, &doc, NULL);

	if (good)
		th_json_free(doc);
	return good;
}

static void put_call(struct view *v, bool custom, struct th_str id, struct th_str name,
		     struct th_str arguments)
{
	struct th_jw *w = &v->items;

	th_jw_object(w);
	th_jw_kstr(w, "type", custom ? TH_STR("custom_tool_call") : TH_STR("function_call"));
	th_jw_kstr(w, "call_id", id);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, custom ? "input" : "arguments", arguments);
	if (v->incomplete && !custom && !is_json(arguments))
		th_jw_kstr(w, "status", TH_STR("incomplete"));
	th_jw_object_end(w);
	v->item_count++;
	v->call_count++;
}

/* The member "function" of a call as it was, with arguments that are text. */
static void put_raw_function(struct th_jw *w, struct th_str raw, struct th_str name,
			     struct th_str arguments)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	th_jw_object(w);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "arguments", arguments);
	while (it.object && th_json_raw_next(&it))
		if (!th_str_is(it.key, "name") && !th_str_is(it.key, "arguments"))
			th_chat_put_member(w, it.key, it.val);
	th_jw_object_end(w);
}

static void put_raw_call(struct view *v, struct th_str raw, bool custom, struct th_str id,
			 struct th_str name, struct th_str arguments)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	struct th_jw *w = &v->raw;

	th_jw_object(w);
	th_jw_kstr(w, "id", id);
	th_jw_kstr(w, "type", custom ? TH_STR("custom") : TH_STR("function"));
	while (th_json_raw_next(&it)) {
		if (th_str_is(it.key, "function") && !custom) {
			th_jw_key(w, TH_STR("function"));
			put_raw_function(w, it.val, name, arguments);
		} else if (!th_str_is(it.key, "id") && !th_str_is(it.key, "type") &&
			   !th_str_is(it.key, "index")) {
			th_chat_put_member(w, it.key, it.val);
		}
	}
	th_jw_object_end(w);
}

static void add_call(struct view *v, const struct th_json *call, struct th_str raw, size_t n)
{
	const struct th_json *custom = th_json_get(call, "custom"),
			     *function = th_json_get(call, "function"), *made;
	struct th_buf id = TH_BUF_INIT(TH_ANSWER_MAX), arguments = TH_BUF_INIT(TH_ANSWER_MAX);
	bool is_custom = !function && th_json_is_object(custom);
	struct th_str given = th_json_get_str(call, "id"), name;

	made = is_custom ? custom : function;
	name = th_json_get_str(made, "name");
	if (has_own_id(v, given, n))
		th_buf_add(&id, given);
	else
		make_id(v, n, &id);
	if (is_custom)
		th_buf_add(&arguments, th_json_get_str(made, "input"));
	else
		add_arguments(th_json_get(made, "arguments"), &arguments);
	put_call(v, is_custom, th_buf_str(&id), name, th_buf_str(&arguments));
	put_raw_call(v, raw, is_custom, th_buf_str(&id), name, th_buf_str(&arguments));
	th_buf_deinit(&id);
	th_buf_deinit(&arguments);
}

/* The old single call, as one of the list that took its place. */
static void add_old_call(struct view *v, const struct th_json *call)
{
	struct th_buf id = TH_BUF_INIT(TH_KIB), arguments = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str name = th_json_get_str(call, "name");

	make_id(v, 0, &id);
	add_arguments(th_json_get(call, "arguments"), &arguments);
	put_call(v, false, th_buf_str(&id), name, th_buf_str(&arguments));
	th_jw_object(&v->raw);
	th_jw_kstr(&v->raw, "id", th_buf_str(&id));
	th_jw_kstr(&v->raw, "type", TH_STR("function"));
	th_jw_key(&v->raw, TH_STR("function"));
	put_raw_function(&v->raw, TH_STR(""), name, th_buf_str(&arguments));
	th_jw_object_end(&v->raw);
	th_buf_deinit(&id);
	th_buf_deinit(&arguments);
}

/* Items and the raw list at once, so that both have the same ids. */
static void put_calls(struct view *v)
{
	const struct th_json *list = th_json_get(v->message, "tool_calls"),
			     *old = th_json_get(v->message, "function_call");
	struct th_json_raw_iter raw = th_json_raw_iter(th_json_raw_get(v->text, "tool_calls"));
	struct th_json_iter it = th_json_iter(list);
	bool is_old = !th_json_count(list) && th_json_get_str(old, "name").len;

	if (!is_old && (!th_json_is_array(list) || !th_json_count(list)))
		return;
	th_jw_key(&v->raw, TH_STR("tool_calls"));
	th_jw_array(&v->raw);
	if (is_old)
		add_old_call(v, old);
	while (!is_old && th_json_next(&it) && th_json_raw_next(&raw))
		if (th_json_is_object(it.val))
			add_call(v, it.val, raw.val, it.index);
	th_jw_array_end(&v->raw);
}

/* ---- both ---- */

static void put_raw_members(struct view *v)
{
	struct th_json_raw_iter it = th_json_raw_iter(v->text);

	while (th_json_raw_next(&it))
		if (!th_str_is(it.key, "role") && !th_str_is(it.key, "tool_calls") &&
		    !th_str_is(it.key, "function_call"))
			th_chat_put_member(&v->raw, it.key, it.val);
}

enum th_code th_chat_items(struct th_str message, struct th_str seed, bool incomplete,
			   struct th_buf *items, struct th_buf *raw, struct th_err *err)
{
	struct view v = { .text = message, .seed = seed, .incomplete = incomplete };
	struct th_json_doc *doc;
	struct th_str content;
	enum th_code code = th_json_parse(message, &doc, err);

	if (code)
		return code;
	v.message = th_json_root(doc);
	v.items = th_jw(items);
	v.raw = th_jw(raw);
	content = th_json_get_str(v.message, "content");
	if (!content.len && !is_nonempty(th_json_get(v.message, "content")))
		content = th_json_get_str(th_json_get(v.message, "audio"), "transcript");
	th_jw_array(&v.items);
	th_jw_object(&v.raw);
	th_jw_kstr(&v.raw, "wire", TH_STR("chat"));
	th_jw_key(&v.raw, TH_STR("message"));
	th_jw_object(&v.raw);
	th_jw_kstr(&v.raw, "role", TH_STR("assistant"));
	put_raw_members(&v);
	put_thoughts(&v, &content);
	put_message(&v, content);
	put_calls(&v);
	th_jw_object_end(&v.raw);
	th_jw_object_end(&v.raw);
	th_jw_array_end(&v.items);
	th_json_free(doc);
	if (v.call_count > TH_CALLS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d calls", TH_CALLS_MAX);
	if (v.item_count > TH_ANSWER_ITEMS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d items",
			       TH_ANSWER_ITEMS_MAX);
	code = th_buf_check(items, "the answer", err);
	return code ? code : th_buf_check(raw, "the answer", err);
}
