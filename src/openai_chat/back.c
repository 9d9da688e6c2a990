/* SPDX-License-Identifier: Apache-2.0 */
/*
 * back.c - an answer as a message of the next request: the raw message
 * without what the server does not take back, or one made of items, where the
 * answer came by another wire.
 */
#include "base/limits.h"
#include "dialects/actions.h"
#include "openai_chat/writer.h"

#define CALL_NAME_MAX 64

static bool is_list(struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	return !it.object && th_json_raw_next(&it);
}

/* A name that every server takes. */
static void put_name(struct th_jw *w, struct th_str raw)
{
	struct th_buf name = TH_BUF_INIT(TH_ANSWER_MAX);

	if (!th_json_unescape(raw, &name) || !name.len) {
		th_buf_clear(&name);
		th_buf_add(&name, TH_STR("unknown"));
	}
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i], low = (char)(c | 0x20);

		if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || c == '_' || c == '-'))
			name.ptr[i] = '_';
	}
	th_buf_truncate(&name, CALL_NAME_MAX);
	th_jw_kstr(w, "name", th_buf_str(&name));
	th_buf_deinit(&name);
}

/* Arguments that are no JSON break the templates of many servers: they go back as a string inside.
 */
static void put_arguments(struct th_jw *w, struct th_str text)
{
	struct th_buf mended = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw inner = th_jw(&mended);
	struct th_json_doc *doc = NULL;

	if (!th_str_trim(text).len) {
		text = TH_STR("{}");
	} else if (th_json_parse(text, &doc, NULL)) {
		th_jw_object(&inner);
		th_jw_kstr(&inner, "not_json", text);
		th_jw_object_end(&inner);
		text = th_buf_str(&mended);
	} else {
		th_json_free(doc);
	}
	th_jw_kstr(w, "arguments", text);
	th_buf_deinit(&mended);
}

static void put_raw_arguments(struct th_jw *w, struct th_str raw)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!raw.len || raw.ptr[0] != '"')
		th_buf_add(&text, th_json_raw_is_null(raw) ? TH_STR("{}") : raw);
	else if (!th_json_unescape(raw, &text))
		th_buf_clear(&text);
	put_arguments(w, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_id(struct th_group_writer *x, struct th_str raw)
{
	struct th_buf id = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!th_json_unescape(raw, &id))
		th_buf_clear(&id);
	th_jw_key(&x->w, TH_STR("id"));
	th_chat_put_id(x, th_buf_str(&id));
	th_buf_deinit(&id);
}

/* ---- the raw message ---- */

/* Whether `name` is in a list with |. */
static bool is_named(const char *list, struct th_str name)
{
	struct th_str rest = th_str_of(list);

	while (rest.len)
		if (th_str_eq(th_str_split(&rest, '|'), name))
			return true;
	return false;
}

/* What servers say of an answer and nobody takes back. */
static const char remarks[] = "annotations|audio|channel|executed_tools|images|index|logprobs|"
			      "parsed|reasoning|reasoning_content|token_id|token_ids";

/* Members beside role, content, tool_calls and refusal. */
static bool is_taken(const struct th_group_writer *x, struct th_str key, bool calls)
{
	const struct th_chat_flavour *f = th_chat_flavour_of(x->o->profile);

	if (f->thinks_in_calls && th_str_is(key, "reasoning_content"))
		return calls;
	if (!strcmp(f->back, "*"))
		return !is_named(remarks, key);
	return is_named(f->back, key);
}

/* Signatures may hang on a call. */
static bool takes_more_in_calls(const struct th_chat_flavour *f)
{
	return !strcmp(f->back, "*") || is_named(f->back, TH_STR("extra_content")) ||
	       is_named(f->back, TH_STR("reasoning_details"));
}

static void put_raw_function(struct th_group_writer *x, struct th_str raw, bool more)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	th_jw_object(&x->w);
	put_name(&x->w, th_json_raw_get(raw, "name"));
	put_raw_arguments(&x->w, th_json_raw_get(raw, "arguments"));
	while (more && it.object && th_json_raw_next(&it))
		if (!th_str_is(it.key, "name") && !th_str_is(it.key, "arguments"))
			th_chat_put_member(&x->w, it.key, it.val);
	th_jw_object_end(&x->w);
}

static void put_raw_call(struct th_group_writer *x, struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);
	struct th_str custom = th_json_raw_get(raw, "custom");
	bool more = takes_more_in_calls(th_chat_flavour_of(x->o->profile));
	bool function = th_json_raw_is_null(custom) || !th_json_raw_iter(custom).object;

	th_jw_object(&x->w);
	put_id(x, th_json_raw_get(raw, "id"));
	th_jw_kstr(&x->w, "type", function ? TH_STR("function") : TH_STR("custom"));
	if (function) {
		th_jw_key(&x->w, TH_STR("function"));
		put_raw_function(x, th_json_raw_get(raw, "function"), more);
	} else {
		th_jw_kraw(&x->w, "custom", custom);
	}
	while (more && th_json_raw_next(&it))
		if (!is_named("id|type|function|custom|index", it.key))
			th_chat_put_member(&x->w, it.key, it.val);
	th_jw_object_end(&x->w);
}

/* Parts of a kind that only the server that sent them knows. */
static bool has_own_parts(struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);

	while (!it.object && th_json_raw_next(&it))
		if (!th_str_is(th_chat_raw_str(it.val, "type"), "text"))
			return true;
	return false;
}

static void put_content(struct th_group_writer *x, struct th_str content, struct th_str refusal,
			bool calls)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	th_jw_key(&x->w, TH_STR("content"));
	if (th_json_raw_is_null(content) && !th_json_raw_is_null(refusal) &&
	    !x->o->profile->strict) {
		th_jw_raw(&x->w, refusal);
	} else if (th_json_raw_is_null(content) || (content.ptr[0] == '[' && !is_list(content))) {
		if (calls || !th_json_raw_is_null(refusal))
			th_jw_null(&x->w);
		else
			th_jw_str(&x->w, TH_STR(""));
	} else if (content.ptr[0] == '[' && !th_chat_flavour_of(x->o->profile)->short_ids &&
		   has_own_parts(content)) {
		th_chat_add_text(content, &text);
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_buf_str(&text));
		th_buf_add_char(x->w.out, '"');
	} else {
		th_jw_raw(&x->w, content);
	}
	th_buf_deinit(&text);
}

static bool is_empty(struct th_str content)
{
	return th_json_raw_is_null(content) || th_str_eq(content, TH_STR("\"\"")) ||
	       (content.ptr[0] == '[' && !is_list(content));
}

static void put_raw_message(struct th_group_writer *x, struct th_str message)
{
	struct th_json_raw_iter it = th_json_raw_iter(message),
				call = th_json_raw_iter(th_json_raw_get(message, "tool_calls"));
	struct th_str content = th_json_raw_get(message, "content"),
		      refusal = th_json_raw_get(message, "refusal");
	bool calls = is_list(th_json_raw_get(message, "tool_calls"));

	if (!calls && is_empty(content) && is_empty(refusal))
		return;
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", TH_STR("assistant"));
	put_content(x, content, is_empty(refusal) ? TH_STR("null") : refusal, calls);
	if (x->o->profile->strict && !is_empty(refusal))
		th_jw_kraw(&x->w, "refusal", refusal);
	while (th_json_raw_next(&it))
		if (!is_named("role|content|refusal|tool_calls", it.key) &&
		    !th_json_raw_is_null(it.val) && is_taken(x, it.key, calls))
			th_chat_put_member(&x->w, it.key, it.val);
	if (calls && th_chat_flavour_of(x->o->profile)->thinks_in_calls &&
	    th_json_raw_is_null(th_json_raw_get(message, "reasoning_content")))
		th_jw_kstr(&x->w, "reasoning_content", TH_STR(""));
	if (calls) {
		th_jw_key(&x->w, TH_STR("tool_calls"));
		th_jw_array(&x->w);
		while (th_json_raw_next(&call))
			put_raw_call(x, call.val);
		th_jw_array_end(&x->w);
	}
	th_jw_object_end(&x->w);
}

/* ---- items ---- */

static bool is_call(struct th_str item)
{
	struct th_str type = th_chat_raw_str(item, "type");

	return th_chat_raw_str(item, "call_id").len && th_str_ends(type, TH_STR("_call"));
}

/* Our actions, in the words of the function that stands for the computer. */
static void put_actions(struct th_group_writer *x, struct th_str item)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_action *actions;
	struct th_arena a;
	size_t count = 0;

	th_arena_init(&a, TH_ANSWER_MAX);
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("actions"));
	th_jw_array(&w);
	if (!th_json_parse(item, &doc, NULL) &&
	    !th_model_actions(x->o->profile, th_json_root(doc), &a, &actions, &count, NULL)) {
		for (size_t i = 0; i < count; i++)
			th_action_print(&actions[i], &w);
	} else if (!th_json_raw_is_null(
		       th_json_raw_get(item, "action"))) { /* as the model wrote it */
		th_jw_raw(&w, th_json_raw_get(item, "action"));
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_jw_kstr(&x->w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	th_jw_kstr(&x->w, "arguments", th_buf_str(&text));
	th_json_free(doc);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
}

/* Calls of tools that only one API has, as functions. */
static void put_other_call(struct th_group_writer *x, struct th_str item, struct th_str type)
{
	static const char *const members[] = { "arguments", "action", "operation" };
	struct th_str raw = { NULL, 0 };
	struct th_buf name = TH_BUF_INIT(TH_ANSWER_MAX);

	for (size_t i = 0; i < TH_COUNT(members) && th_json_raw_is_null(raw); i++)
		raw = th_json_raw_get(item, members[i]);
	if (th_str_is(type, "custom_tool_call")) {
		struct th_jw w = th_jw(&name);

		th_jw_object(&w);
		raw = th_json_raw_get(item, "input");
		th_jw_kraw(&w, "input", raw.len ? raw : TH_STR("null"));
		th_jw_object_end(&w);
		put_name(&x->w, th_json_raw_get(item, "name"));
		put_arguments(&x->w, th_buf_str(&name));
	} else {
		th_buf_add_char(&name, '"');
		th_buf_add(&name, th_str_sub(type, 0, type.len - strlen("_call")));
		th_buf_add_char(&name, '"');
		put_name(&x->w, th_buf_str(&name));
		put_raw_arguments(&x->w, raw);
	}
	th_buf_deinit(&name);
}

static void put_call(struct th_group_writer *x, struct th_str item)
{
	struct th_str type = th_chat_raw_str(item, "type");

	th_jw_object(&x->w);
	put_id(x, th_json_raw_get(item, "call_id"));
	th_jw_kstr(&x->w, "type", TH_STR("function"));
	th_jw_key(&x->w, TH_STR("function"));
	th_jw_object(&x->w);
	if (th_str_is(type, "function_call")) {
		put_name(&x->w, th_json_raw_get(item, "name"));
		put_raw_arguments(&x->w, th_json_raw_get(item, "arguments"));
	} else if (th_str_is(type, "computer_call")) {
		put_actions(x, item);
	} else {
		put_other_call(x, item, type);
	}
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
}

/* Escaped texts of messages, or of reasoning, one behind the other. */
static bool add_texts(struct th_str items, const char *type, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);

	while (th_json_raw_next(&it)) {
		struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

		if (!th_str_is(th_chat_raw_str(it.val, "type"), type))
			continue;
		th_chat_add_text(th_json_raw_get(it.val, "content"), &text);
		if (text.len && out->len)
			th_buf_add(out, TH_STR("\\n"));
		th_buf_add(out, th_buf_str(&text));
		th_buf_deinit(&text);
	}
	return out->len > 0;
}

static void put_escaped(struct th_jw *w, const char *key, struct th_str text)
{
	th_jw_key(w, th_str_of(key));
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, text);
	th_buf_add_char(w->out, '"');
}

static void put_calls(struct th_group_writer *x, struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);

	th_jw_key(&x->w, TH_STR("tool_calls"));
	th_jw_array(&x->w);
	while (th_json_raw_next(&it))
		if (is_call(it.val))
			put_call(x, it.val);
	th_jw_array_end(&x->w);
}

enum th_code th_chat_put_items(struct th_group_writer *x, struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX), thought = TH_BUF_INIT(TH_REQUEST_MAX);
	bool calls = false, thinks = is_named(th_chat_flavour_of(x->o->profile)->back,
					      TH_STR("reasoning_content"));

	while (th_json_raw_next(&it)) {
		if (it.val.len && it.val.ptr[0] != '{')
			return th_fail(x->err, TH_EPROTO, "an item must be an object");
		calls = calls || is_call(it.val);
	}
	if (add_texts(items, "message", &text) || calls) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "role", TH_STR("assistant"));
		if (text.len)
			put_escaped(&x->w, "content", th_buf_str(&text));
		else
			th_jw_kraw(&x->w, "content", TH_STR("null"));
		if (thinks && (add_texts(items, "reasoning", &thought) ||
			       (calls && th_chat_flavour_of(x->o->profile)->thinks_in_calls)))
			put_escaped(&x->w, "reasoning_content", th_buf_str(&thought));
		if (calls)
			put_calls(x, items);
		th_jw_object_end(&x->w);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&thought);
	return TH_OK;
}

enum th_code th_chat_answer(struct th_group_writer *x, const struct th_group *g)
{
	const struct th_dialect *dialect = x->o->profile->dialect;
	struct th_dialect_context c = th_chat_dialect_context(x->o);
	struct th_buf said = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str items = g->items;
	enum th_code code = TH_OK;

	/* A call in a text ends with the stop word, so the model's own text is not whole. */
	if (dialect && dialect->tools_in_prompt && !dialect->encode(&c, items, &said, NULL)) {
		code = th_chat_put_items(x, th_buf_str(&said));
		th_buf_deinit(&said);
		return code;
	}
	th_buf_clear(&said);
	if (th_str_is(th_chat_raw_str(g->raw, "wire"), "chat")) {
		struct th_str message = th_json_raw_get(g->raw, "message");

		if (!message.len || message.ptr[0] != '{')
			return th_fail(x->err, TH_EPROTO, "a raw answer must hold a message");
		put_raw_message(x, message);
		return TH_OK;
	}
	if (items.len && items.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO, "an answer's items must be a list");
	if (dialect && dialect->encode) {
		code = dialect->encode(&c, items, &said, x->err);
		if (!code)
			items = th_buf_str(&said);
		else if (code == TH_EUNSUPPORTED) /* no word for it: as the function */
			code = TH_OK;
	}
	if (!code)
		code = th_chat_put_items(x, items);
	th_buf_deinit(&said);
	return code;
}
