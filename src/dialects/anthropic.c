/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anthropic.c - calls of Anthropic's computer tool, which its wire
 * gives as calls of the function "computer", and computer_call items.
 */
#include "dialects/anthropic.h"
#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/actions_anthropic.h"
#include "dialects/anthropic_own.h"
#include "dialects/list.h"

static enum th_code read_call(const struct th_dialect_context *c, const struct th_json *item,
			      struct th_jw *w, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	enum th_code code = th_json_parse(th_json_get_str(item, "arguments"), &doc, err);

	if (code)
		th_prefix(err, code, "the input");
	else
		code = th_actions_anthropic_read(c, th_json_root(doc), w, err);
	th_json_free(doc);
	return code;
}

static void put_computer_call(const struct th_dialect_context *c, const struct th_json *item,
			      struct th_jw *w)
{
	struct th_str status = th_json_get_str(item, "status");
	struct th_err err = { 0 };
	enum th_code code;

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_call"));
	th_jw_kstr(w, "call_id", th_json_get_str(item, "call_id"));
	th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	th_jw_key(w, TH_STR("actions"));
	th_jw_array(w);
	code = read_call(c, item, w, &err);
	th_jw_array_end(w);
	if (code)
		th_jw_kstr(w, "error", th_str_of(err.msg));
	if (code)
		th_jw_kstr(w, "input", th_json_get_str(item, "arguments"));
	th_jw_kstr(w, "status", status.len ? status : TH_STR("completed"));
	th_jw_object_end(w);
}

/* Claude's editor deletes old_str where no new_str is given; ours wants that to be said, as other
 * models leave one out by mistake. */
static bool deletes(enum th_native kind, const struct th_json *arguments)
{
	return kind == TH_NATIVE_EDITOR &&
	       th_str_is(th_json_get_str(arguments, "command"), "str_replace") &&
	       th_json_is_null(th_json_get(arguments, "new_str"));
}

static void put_arguments(const struct th_json *value, enum th_native kind, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw inner = th_jw(&text);
	struct th_json_iter it;

	if (th_json_parse(th_json_str(value), &doc, NULL) || !deletes(kind, th_json_root(doc))) {
		th_jw_json(w, value);
		return;
	}
	th_jw_object(&inner);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		if (th_str_is(it.key, "new_str"))
			continue;
		th_jw_key(&inner, it.key);
		th_jw_json(&inner, it.val);
	}
	th_jw_kstr(&inner, "new_str", TH_STR(""));
	th_jw_object_end(&inner);
	th_jw_str(w, th_buf_str(&text));
}

/* A call by the name of one of the model's own forms, as one of our tool. */
static void put_function(const struct th_json *item, struct th_str tool, enum th_native kind,
			 struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(item);

	th_jw_object(w);
	while (th_json_next(&it)) {
		th_jw_key(w, it.key);
		if (th_str_is(it.key, "name"))
			th_jw_str(w, tool);
		else if (th_str_is(it.key, "arguments"))
			put_arguments(it.val, kind, w);
		else
			th_jw_json(w, it.val);
	}
	th_jw_object_end(w);
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(items, &doc, err);

	if (code == TH_ELIMIT)
		return code;
	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it) && th_json_raw_next(&raw);) {
		bool call = th_str_is(th_json_get_str(it.val, "type"), "function_call");
		struct th_str name = th_json_get_str(it.val, "name");
		enum th_native kind;
		struct th_str tool =
		    th_own_form_tool(c->profile, c->tools, c->tool_count, name, &kind);

		if (call && th_str_is(name, TH_COMPUTER_FUNCTION_NAME))
			put_computer_call(c, it.val, &w);
		else if (call && kind)
			put_function(it.val, tool, kind, &w);
		else
			th_jw_raw(&w, raw.val);
	}
	th_jw_array_end(&w);
	th_json_free(doc);
	return th_buf_check(out, "the answer", err);
}

enum th_code th_anthropic_input(const struct th_dialect_context *c, const struct th_json *item,
				struct th_buf *out, struct th_err *err)
{
	struct th_action *actions = NULL;
	struct th_arena a;
	struct th_jw w = th_jw(out);
	size_t count = 0, start = out->len;
	enum th_code code;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	code = th_model_actions(c->profile, item, &a, &actions, &count, err);
	if (!code && count > 1) {
		th_jw_object(&w);
		th_jw_key(&w, TH_STR("actions"));
		th_jw_array(&w);
	}
	for (size_t i = 0; !code && i < count; i++)
		code = th_actions_anthropic_write(c, &actions[i], &w, err);
	if (!code && count > 1) {
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	if (code)
		th_buf_truncate(out, start);
	th_arena_deinit(&a);
	return code;
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_json *item,
			     struct th_jw *w, struct th_err *err)
{
	struct th_buf input = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_code code = th_anthropic_input(c, item, &input, err);

	if (!code) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function_call"));
		th_jw_kstr(w, "call_id", th_json_get_str(item, "call_id"));
		th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
		th_jw_kstr(w, "arguments", th_buf_str(&input));
		th_jw_object_end(w);
	}
	th_buf_deinit(&input);
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(items, &doc, err);

	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc));
	     !code && th_json_next(&it) && th_json_raw_next(&raw);) {
		if (th_str_is(th_json_get_str(it.val, "type"), "computer_call"))
			code = put_call(c, it.val, &w, err);
		else
			th_jw_raw(&w, raw.val);
	}
	th_jw_array_end(&w);
	th_json_free(doc);
	return code ? code : th_buf_check(out, "the items", err);
}

const struct th_dialect th_dialect_anthropic = {
	.name = "anthropic",
	.note = "Anthropic's computer tool, all versions",
	.decode = decode,
	.encode = encode,
};
