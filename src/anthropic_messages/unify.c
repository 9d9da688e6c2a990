/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unify.c - a request's body in the unified form, and back.
 *
 * Each block is shown as an item.  Where writing that item as a block again
 * would not give the same value, the block stands beside it as raw.block; where
 * a message does not begin or is not written as the items alone would have it,
 * its first item has raw.message: an object of the message's members beside its
 * blocks, or the whole message when it is not a list of them.  So
 * encode(decode(body)) is body by construction, whatever the API adds.
 */
#include "anthropic_messages/messages.h"
#include "anthropic_messages/view.h"
#include "base/limits.h"
#include "dialects/actions.h"
#include "model_wire/unified.h"

static bool has_rest(struct th_str object, const char *const *names)
{
	struct th_json_raw_iter it = th_json_raw_iter(object);

	while (it.object && th_json_raw_next(&it))
		if (!th_messages_is_among(it.key, names))
			return true;
	return false;
}

/* ---- decode ---- */

struct decoder {
	struct th_jw w;
	struct th_str role; /* of the message before */
	struct th_err *err;
};

/* Whether the item alone would be written as this block. */
static bool is_faithful(struct th_str item, struct th_str block)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(&text);
	bool same;

	same = !th_json_parse(item, &doc, NULL);
	if (same)
		th_messages_put_blocks(&w, th_json_root(doc), item);
	same = same && th_unified_equal(th_buf_str(&text), block);
	th_json_free(doc);
	th_buf_deinit(&text);
	return same;
}

static void put_item(struct decoder *d, struct th_str message, struct th_str role,
		     struct th_str block, bool first)
{
	static const char *const known[] = { "role", "content", NULL };
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&text);
	bool raw_block, raw_message;
	struct th_str item;

	th_jw_object(&w);
	th_messages_put_view(&w, block, role);
	th_jw_object_end(&w);
	item = th_buf_str(&text);
	raw_block = !is_faithful(item, block);
	/* An item whose own role differs must not begin another message either. */
	raw_message = (first && (th_str_eq(role, d->role) || has_rest(message, known))) ||
		      !th_str_eq(th_messages_role_of(item), role);
	th_jw_raw(&d->w, th_str_sub(item, 0, item.len - 1));
	if (raw_block || raw_message) {
		th_jw_key(&d->w, TH_STR("raw"));
		th_jw_object(&d->w);
		th_jw_kstr(&d->w, "wire", TH_STR("messages"));
		if (raw_message) {
			th_jw_key(&d->w, TH_STR("message"));
			th_jw_object(&d->w);
			th_jw_kstr(&d->w, "role", role);
			th_jw_kbool(&d->w, "first", first);
			th_messages_put_rest(&d->w, message, known);
			th_jw_object_end(&d->w);
		}
		if (raw_block)
			th_jw_kraw(&d->w, "block", block);
		th_jw_object_end(&d->w);
	}
	th_buf_add_char(d->w.out, '}');
	th_buf_deinit(&text);
}

/* A message whose content is a string, nothing at all, or an empty list. */
static void put_whole(struct decoder *d, struct th_str message, struct th_str role)
{
	struct th_str content = th_json_raw_get(message, "content");

	th_jw_object(&d->w);
	th_jw_kstr(&d->w, "type", TH_STR("message"));
	th_jw_kstr(&d->w, "role", role);
	th_jw_kraw(&d->w, "content", content.len ? content : TH_STR("[]"));
	th_jw_key(&d->w, TH_STR("raw"));
	th_jw_object(&d->w);
	th_jw_kstr(&d->w, "wire", TH_STR("messages"));
	th_jw_kraw(&d->w, "whole", message);
	th_jw_object_end(&d->w);
	th_jw_object_end(&d->w);
}

static enum th_code decode_message(struct decoder *d, const struct th_json *message,
				   struct th_str raw, size_t index)
{
	const struct th_json *content = th_json_get(message, "content");
	struct th_json_iter it = th_json_iter(content);
	struct th_json_raw_iter blocks = th_json_raw_iter(th_json_raw_get(raw, "content"));
	struct th_str role = th_json_get_str(message, "role");
	bool plain = th_json_type(content) == TH_JSON_STR || th_json_is_null(content);

	if (!th_str_is(role, "user") && !th_str_is(role, "assistant") && !th_str_is(role, "system"))
		return th_fail(d->err, TH_EPROTO,
			       "messages.%zu.role: Input should be 'user' or 'assistant'", index);
	if (!plain && !th_json_is_array(content))
		return th_fail(d->err, TH_EPROTO,
			       "messages.%zu.content: Input should be a valid string or list",
			       index);
	if (plain || th_json_count(content) == 0) {
		put_whole(d, raw, role);
		d->role = role;
		return TH_OK;
	}
	while (th_json_next(&it) && th_json_raw_next(&blocks)) {
		if (!th_json_get_str(it.val, "type").len)
			return th_fail(d->err, TH_EPROTO,
				       "messages.%zu.content.%zu.type: Field required", index,
				       it.index);
		put_item(d, raw, role, blocks.val, it.index == 0);
	}
	d->role = role;
	return TH_OK;
}

static enum th_code decode_messages(struct decoder *d, const struct th_json *root,
				    struct th_str body)
{
	const struct th_json *list = th_json_get(root, "messages");
	struct th_json_iter it = th_json_iter(list);
	struct th_json_raw_iter raw = th_json_raw_iter(th_json_raw_get(body, "messages"));
	enum th_code code = TH_OK;

	if (!th_json_is_array(list) || th_json_count(list) == 0)
		return th_fail(d->err, TH_EPROTO, "messages: Field required");
	th_jw_key(&d->w, TH_STR("items"));
	th_jw_array(&d->w);
	while (!code && th_json_next(&it) && th_json_raw_next(&raw))
		code = decode_message(d, it.val, raw.val, it.index);
	th_jw_array_end(&d->w);
	return code;
}

/* The text of a system prompt that is a list of blocks is shown too. */
static void decode_system(struct th_jw *w, const struct th_json *system)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_iter it = th_json_iter(system);

	if (th_json_type(system) == TH_JSON_STR)
		th_buf_add(&text, th_json_str(system));
	while (th_json_is_array(system) && th_json_next(&it)) {
		if (text.len)
			th_buf_add_char(&text, '\n');
		th_buf_add(&text, th_json_get_str(it.val, "text"));
	}
	if (!th_json_is_null(system))
		th_jw_kstr(w, "instructions", th_buf_str(&text));
	th_buf_deinit(&text);
}

static const char *const tool_members[] = { "name", "description", "input_schema", NULL };

static enum th_code decode_tools(struct decoder *d, const struct th_json *root, struct th_str body)
{
	const struct th_json *list = th_json_get(root, "tools");
	struct th_json_iter it = th_json_iter(list);
	struct th_json_raw_iter raw = th_json_raw_iter(th_json_raw_get(body, "tools"));

	if (!th_json_is_array(list))
		return TH_OK;
	th_jw_key(&d->w, TH_STR("tools"));
	th_jw_array(&d->w);
	while (th_json_next(&it) && th_json_raw_next(&raw)) {
		struct th_str type = th_json_get_str(it.val, "type"),
			      name = th_json_get_str(it.val, "name"),
			      schema = th_json_raw_get(raw.val, "input_schema"),
			      description = th_json_raw_get(raw.val, "description");
		bool custom = !type.len || th_str_is(type, "custom"),
		     computer = th_str_starts(type, TH_STR("computer_"));

		if (!th_json_is_object(it.val) || (custom && (!name.len || !schema.len)))
			return th_fail(d->err, TH_EPROTO, "tools.%zu.custom.%s: Field required",
				       it.index, name.len ? "input_schema" : "name");
		th_jw_object(&d->w);
		th_jw_kstr(&d->w, "type",
			   custom     ? TH_STR("function")
			   : computer ? TH_STR("computer")
				      : type);
		th_jw_kstr(&d->w, "name", computer ? TH_STR(TH_COMPUTER_FUNCTION_NAME) : name);
		if (custom && description.len)
			th_jw_kraw(&d->w, "description", description);
		if (custom)
			th_jw_kraw(&d->w, "parameters", schema);
		if (!custom || has_rest(raw.val, tool_members))
			th_jw_kraw(&d->w, "raw", raw.val);
		th_jw_object_end(&d->w);
	}
	th_jw_array_end(&d->w);
	return TH_OK;
}

/* Ours and theirs. */
static const struct {
	const char *ours, *theirs;
} settings[] = {
	{ "max_output_tokens", "max_tokens" },
	{ "temperature", "temperature" },
	{ "top_p", "top_p" },
};

static bool is_setting(struct th_str key)
{
	for (size_t i = 0; i < TH_COUNT(settings); i++)
		if (th_str_is(key, settings[i].theirs))
			return true;
	return false;
}

static void put_output(struct th_jw *w, struct th_str given)
{
	struct th_str format = th_json_raw_get(given, "format");

	if (!format.len)
		return;
	th_jw_object(w);
	th_jw_kraw(w, "format", format);
	th_jw_object_end(w);
}

/* Theirs, from ours: nothing when nothing is said. */
static void put_choice(struct th_jw *w, struct th_str given)
{
	struct th_str choice = th_json_raw_get(given, "tool_choice");
	struct th_str name = th_json_raw_get(choice, "name");
	bool serial = th_str_is(th_json_raw_get(given, "parallel_tool_calls"), "false");
	bool none = th_str_is(choice, "\"none\"");

	if (!choice.len && !serial)
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type",
		   name.len                            ? TH_STR("tool")
		   : none                              ? TH_STR("none")
		   : th_str_is(choice, "\"required\"") ? TH_STR("any")
						       : TH_STR("auto"));
	if (name.len)
		th_jw_kraw(w, "name", name);
	if (serial && !none)
		th_jw_kbool(w, "disable_parallel_tool_use", true);
	th_jw_object_end(w);
}

static void decode_choice(struct th_jw *w, const struct th_json *choice, struct th_str raw)
{
	struct th_str type = th_json_get_str(choice, "type");

	if (th_str_is(type, "tool") && th_json_get_str(choice, "name").ptr) {
		th_jw_key(w, TH_STR("tool_choice"));
		th_jw_raw(w, TH_STR("{\"type\":\"function\",\"name\":"));
		th_buf_add(w->out, th_json_raw_get(raw, "name"));
		th_buf_add_char(w->out, '}');
	} else if (th_str_is(type, "auto") || th_str_is(type, "none")) {
		th_jw_kstr(w, "tool_choice", type);
	} else if (th_str_is(type, "any")) {
		th_jw_kstr(w, "tool_choice", TH_STR("required"));
	}
	if (th_json_bool(th_json_get(choice, "disable_parallel_tool_use"), false))
		th_jw_kbool(w, "parallel_tool_calls", false);
}

/* Thinking is an effort here; it is shown where `display` does not say otherwise. */
static void decode_thinking(struct th_jw *w, const struct th_json *root)
{
	const struct th_json *thinking = th_json_get(root, "thinking");
	const struct th_json *budget = th_json_get(thinking, "budget_tokens");
	struct th_str type = th_json_get_str(thinking, "type");
	struct th_str effort = th_json_get_str(th_json_get(root, "output_config"), "effort");

	if (!type.len || th_str_is(type, "disabled"))
		return;
	if (!effort.len)
		effort =
		    th_str_of(th_json_is_null(budget) ? "high" /* as the API has it */
						      : th_messages_effort(th_json_int(budget, 0)));
	th_jw_kstr(w, "effort", effort);
	if (!th_str_is(th_json_get_str(thinking, "display"), "omitted"))
		th_jw_kstr(w, "summary", TH_STR("auto"));
}

/* Whether the settings say all that the body's member does. */
static bool is_said(struct th_str key, struct th_str val, struct th_str ours)
{
	struct th_buf again = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&again);
	bool same;

	if (th_str_is(key, "tool_choice"))
		put_choice(&w, ours);
	else if (th_str_is(key, "output_config"))
		put_output(&w, ours);
	same = again.len && th_unified_equal(th_buf_str(&again), val);
	th_buf_deinit(&again);
	return same;
}

static void decode_rest(struct th_jw *w, const struct th_json *root, struct th_str body)
{
	static const char *const known[] = { "model", "stream", "messages", NULL };
	struct th_str format = th_json_raw_get(th_json_raw_get(body, "output_config"), "format");
	struct th_buf ours = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw s = th_jw(&ours);
	struct th_json_raw_iter it;

	th_jw_object(&s);
	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct th_str val = th_json_raw_get(body, settings[i].theirs);

		if (val.len)
			th_jw_kraw(&s, settings[i].ours, val);
	}
	decode_choice(&s, th_json_get(root, "tool_choice"), th_json_raw_get(body, "tool_choice"));
	decode_thinking(&s, root);
	if (format.len && format.ptr[0] == '{')
		th_jw_kraw(&s, "format", format);
	th_jw_object_end(&s);
	th_jw_kraw(w, "settings", th_buf_str(&ours));
	th_jw_key(w, TH_STR("extra"));
	th_jw_object(w);
	for (it = th_json_raw_iter(body); th_json_raw_next(&it);) {
		bool system = th_str_is(it.key, "system") &&
			      th_json_type(th_json_get(root, "system")) == TH_JSON_STR;
		bool tools =
		    th_str_is(it.key, "tools") && th_json_is_array(th_json_get(root, "tools"));

		if (!th_messages_is_among(it.key, known) && !system && !tools &&
		    !is_setting(it.key) && !is_said(it.key, it.val, th_buf_str(&ours)))
			th_messages_put_member(w, it.key, it.val);
	}
	th_jw_object_end(w);
	th_buf_deinit(&ours);
}

enum th_code th_messages_request_decode(struct th_str model, struct th_str body, struct th_buf *out,
					struct th_err *err)
{
	struct decoder d = { .w = th_jw(out), .err = err };
	struct th_json_doc *doc = NULL;
	const struct th_json *root, *stream;
	enum th_code code = th_json_parse(body, &doc, err);

	if (code)
		return th_prefix(err, code, "the body");
	root = th_json_root(doc);
	body = th_str_trim(body);
	if (th_json_get_str(root, "model").len)
		model = th_json_get_str(root, "model");
	stream = th_json_get(root, "stream");
	if (!th_json_is_object(root))
		code = th_fail(err, TH_EPROTO, "Input should be a valid dictionary");
	else if (!model.len)
		code = th_fail(err, TH_EPROTO, "model: Field required");
	else if (stream && th_json_type(stream) != TH_JSON_BOOL)
		code = th_fail(err, TH_EPROTO, "stream: Input should be a valid boolean");
	if (!code) {
		th_jw_object(&d.w);
		th_jw_kstr(&d.w, "model", model);
		if (stream)
			th_jw_kbool(&d.w, "stream", th_json_bool(stream, false));
		decode_system(&d.w, th_json_get(root, "system"));
		code = decode_messages(&d, root, body);
	}
	if (!code)
		code = decode_tools(&d, root, body);
	if (!code) {
		decode_rest(&d.w, root, body);
		th_jw_object_end(&d.w);
		code = th_buf_check(out, "the request", err);
	}
	th_json_free(doc);
	return code;
}

/* ---- encode ---- */

struct encoder {
	struct th_jw w;
	struct th_str role; /* of the open message; absent: none is open */
};

static void close_message(struct encoder *e)
{
	if (!e->role.len)
		return;
	th_jw_array_end(&e->w);
	th_jw_object_end(&e->w);
	e->role.len = 0;
}

static void open_message(struct encoder *e, struct th_str role, struct th_str more)
{
	static const char *const ours[] = { "role", "first", NULL };

	close_message(e);
	th_jw_object(&e->w);
	th_jw_kstr(&e->w, "role", role);
	th_messages_put_rest(&e->w, more, ours);
	th_jw_key(&e->w, TH_STR("content"));
	th_jw_array(&e->w);
	e->role = role;
}

static void encode_item(struct encoder *e, const struct th_json *item, struct th_str text)
{
	struct th_str raw = th_json_raw_get(text, "raw"), message, block, role;

	if (!th_str_is(th_messages_raw_str(raw, "wire"), "messages"))
		raw = (struct th_str){ NULL, 0 };
	message = th_json_raw_get(raw, "message");
	block = th_json_raw_get(raw, "block");
	if (th_json_raw_get(raw, "whole").len) {
		close_message(e);
		th_jw_raw(&e->w, th_json_raw_get(raw, "whole"));
		return;
	}
	role = message.len ? th_messages_raw_str(message, "role") : th_messages_role_of(text);
	if (th_str_is(role, "developer"))
		role = TH_STR("system");
	if (!th_str_eq(role, e->role) || th_str_is(th_json_raw_get(message, "first"), "true"))
		open_message(e, role, message);
	if (block.len)
		th_jw_raw(&e->w, block);
	else
		th_messages_put_blocks(&e->w, item, text);
}

static void encode_tools(struct th_jw *w, struct th_str tools)
{
	struct th_json_raw_iter it = th_json_raw_iter(tools);

	if (!tools.len || it.object)
		return;
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	while (th_json_raw_next(&it)) {
		struct th_str raw = th_json_raw_get(it.val, "raw"),
			      description = th_json_raw_get(it.val, "description"),
			      schema = th_json_raw_get(it.val, "parameters");

		if (raw.len && raw.ptr[0] == '{') {
			th_jw_raw(w, raw);
			continue;
		}
		th_jw_object(w);
		th_jw_kraw(w, "name", th_json_raw_get(it.val, "name"));
		if (description.len)
			th_jw_kraw(w, "description", description);
		th_jw_kraw(w, "input_schema",
			   schema.len ? schema : TH_STR("{\"type\":\"object\"}"));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void encode_rest(struct th_jw *w, const struct th_json *root, struct th_str unified)
{
	struct th_str extra = th_json_raw_get(unified, "extra"),
		      given = th_json_raw_get(unified, "settings");
	static const char *const none[] = { NULL };

	th_jw_kstr(w, "model", th_json_get_str(root, "model"));
	if (!th_json_is_null(th_json_get(root, "stream")))
		th_jw_kraw(w, "stream", th_json_raw_get(unified, "stream"));
	if (th_json_get(root, "instructions") && !th_json_raw_get(extra, "system").len)
		th_jw_kraw(w, "system", th_json_raw_get(unified, "instructions"));
	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct th_str val = th_json_raw_get(given, settings[i].ours);

		if (val.len)
			th_jw_kraw(w, settings[i].theirs, val);
	}
	if (th_json_raw_get(given, "format").len && !th_unified_has(extra, "output_config")) {
		th_jw_key(w, TH_STR("output_config"));
		put_output(w, given);
	}
	encode_tools(w, th_json_raw_get(unified, "tools"));
	if ((th_json_raw_get(given, "tool_choice").len ||
	     th_str_is(th_json_raw_get(given, "parallel_tool_calls"), "false")) &&
	    !th_unified_has(extra, "tool_choice")) {
		th_jw_key(w, TH_STR("tool_choice"));
		put_choice(w, given);
	}
	th_messages_put_rest(w, extra, none);
}

enum th_code th_messages_request_encode(struct th_str unified, struct th_buf *out,
					struct th_err *err)
{
	struct encoder e = { .w = th_jw(out) };
	struct th_json_doc *doc = NULL;
	const struct th_json *root;
	struct th_json_iter it;
	struct th_json_raw_iter raw;
	enum th_code code = th_json_parse(unified, &doc, err);

	if (code)
		return th_prefix(err, code, "the request");
	root = th_json_root(doc);
	it = th_json_iter(th_json_get(root, "items"));
	if (!th_json_is_array(th_json_get(root, "items"))) {
		th_json_free(doc);
		return th_fail(err, TH_EPROTO, "the request must have a list \"items\"");
	}
	unified = th_str_trim(unified);
	raw = th_json_raw_iter(th_json_raw_get(unified, "items"));
	th_jw_object(&e.w);
	encode_rest(&e.w, root, unified);
	th_jw_key(&e.w, TH_STR("messages"));
	th_jw_array(&e.w);
	while (th_json_next(&it) && th_json_raw_next(&raw))
		encode_item(&e, it.val, raw.val);
	close_message(&e);
	th_jw_array_end(&e.w);
	th_jw_object_end(&e.w);
	th_json_free(doc);
	return th_buf_check(out, "the request", err);
}
