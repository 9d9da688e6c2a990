/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - requests of the Responses API in the unified form, and
 * back.  The unified form is this API's, so items and tools are taken verbatim,
 * of whatever kind they are; only an input that is a mere string is more than
 * its item.  previous_response_id, conversation, background, store and the like
 * are in "extra".
 */
#include "base/limits.h"
#include "model_wire/unified.h"
#include "openai_responses/responses.h"

#define WIRE "responses"

/* Members whose value is a setting of ours. */
static const struct {
	const char *theirs, *inner, *ours;
} settings[] = {
	{ "reasoning", "effort", "effort" },
	{ "reasoning", "summary", "summary" },
	{ "temperature", NULL, "temperature" },
	{ "top_p", NULL, "top_p" },
	{ "max_output_tokens", NULL, "max_output_tokens" },
	{ "parallel_tool_calls", NULL, "parallel_tool_calls" },
	{ "tool_choice", NULL, "tool_choice" },
	{ "text", "format", "format" },
};

/* Members that both forms have, in one pass over a body that may be long. */
enum { MODEL, INSTRUCTIONS, TOOLS, STREAM, INPUT, EXTRA, SETTINGS, MEMBERS };
static const char *const body_members[] = {
	[MODEL] = "model", [INSTRUCTIONS] = "instructions", [TOOLS] = "tools", [STREAM] = "stream",
	[INPUT] = "input",
};
static const char *const unified_members[] = {
	[MODEL] = "model",       [INSTRUCTIONS] = "instructions",
	[TOOLS] = "tools",       [STREAM] = "stream",
	[INPUT] = "items",       [EXTRA] = "extra",
	[SETTINGS] = "settings",
};

static bool is_empty_list(struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	return !it.object && !th_json_raw_next(&it);
}

static bool is_value(struct th_str raw)
{
	return raw.len && !th_str_is(raw, "null");
}

/* ---- to the unified form ---- */

static enum th_code put_items(struct th_str input, struct th_jw *w, struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(input);
	size_t items;

	th_jw_key(w, TH_STR("items"));
	th_jw_array(w);
	if (input.len && input.ptr[0] == '"') {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("message"));
		th_jw_kstr(w, "role", TH_STR("user"));
		th_jw_kraw(w, "content", input);
		th_unified_put_raw(w, WIRE, input, 1);
		th_jw_object_end(w);
	} else if (is_value(input) && input.ptr[0] != '[') {
		return th_fail(err, TH_EPROTO, "input must be a string or a list of items");
	}
	while (!it.object && th_json_raw_next(&it)) {
		if (!it.val.len || it.val.ptr[0] != '{')
			return th_fail(err, TH_EPROTO, "an item of the input must be an object");
		if (th_unified_raw(it.val, WIRE, &items).len)
			return th_fail(err, TH_EPROTO, "an item has no member \"raw\"");
		th_jw_raw(w, it.val);
	}
	th_jw_array_end(w);
	return TH_OK;
}

static void put_settings(struct th_str body, struct th_jw *w)
{
	const char *names[TH_COUNT(settings)];
	struct th_str found[TH_COUNT(settings)];

	for (size_t i = 0; i < TH_COUNT(settings); i++)
		names[i] = settings[i].theirs;
	th_json_raw_gets(body, TH_COUNT(settings), names, found);
	th_jw_key(w, TH_STR("settings"));
	th_jw_object(w);
	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct th_str val;

		if (i > 0 && strcmp(names[i], names[i - 1]) == 0) /* two of one object */
			found[i] = found[i - 1];
		val = found[i];
		if (settings[i].inner)
			val = th_json_raw_get(val, settings[i].inner);
		if (is_value(val))
			th_jw_kraw(w, settings[i].ours, val);
	}
	th_jw_object_end(w);
}

/* Everything but "extra", without the last brace. */
static enum th_code put_known(struct th_str model, struct th_str body, struct th_jw *w,
			      struct th_err *err)
{
	struct th_str found[MEMBERS], name, instructions, tools;
	enum th_code code;

	th_json_raw_gets(body, TH_COUNT(body_members), body_members, found);
	name = found[MODEL];
	instructions = found[INSTRUCTIONS];
	tools = found[TOOLS];

	th_jw_object(w);
	if (name.len > 2 && name.ptr[0] == '"')
		th_jw_kraw(w, "model", name);
	else if (model.len)
		th_jw_kstr(w, "model", model);
	else
		return th_fail(err, TH_EPROTO, "model is missing: it must be a string");
	th_jw_kbool(w, "stream", th_str_is(found[STREAM], "true"));
	if (is_value(instructions) && instructions.ptr[0] == '"')
		th_jw_kraw(w, "instructions", instructions);
	code = put_items(found[INPUT], w, err);
	if (code)
		return code;
	th_jw_kraw(w, "tools", tools.len && tools.ptr[0] == '[' ? tools : TH_STR("[]"));
	put_settings(body, w);
	return TH_OK;
}

enum th_code th_responses_request_decode(struct th_str model, struct th_str body,
					 struct th_buf *out, struct th_err *err)
{
	static const char *const without[] = { NULL };
	struct th_buf again = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(out);
	size_t start = out->len;
	enum th_code code = th_unified_check(body, err);

	if (!code)
		code = put_known(model, body, &w, err);
	if (!code) {
		size_t known = out->len;

		th_jw_object_end(&w);
		code = th_responses_request_encode(th_str_n(out->ptr + start, out->len - start),
						   &again, err);
		th_buf_truncate(out, known);
	}
	if (!code) {
		w.comma = true;
		th_jw_key(&w, TH_STR("extra"));
		th_unified_extra(&w, body, th_buf_str(&again), without);
		th_jw_object_end(&w);
		code = th_buf_check(out, "the request", err);
	}
	th_buf_deinit(&again);
	if (code)
		th_buf_truncate(out, start);
	return code;
}

/* ---- and back ---- */

static void put_input(struct th_str items, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_str message = { NULL, 0 };
	bool any;
	size_t count;

	any = th_json_raw_next(&it);
	if (any)
		message = th_unified_raw(it.val, WIRE, &count);
	if (!any)
		return;
	th_jw_key(w, TH_STR("input"));
	if (message.len && message.ptr[0] == '"' && !th_json_raw_next(&it)) {
		th_jw_raw(w, message);
		return;
	}
	th_jw_raw(w, items);
}

/* A member that holds settings of ours. */
static void put_object(const char *theirs, struct th_str ours, struct th_jw *w)
{
	bool open = false;

	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct th_str val = th_json_raw_get(ours, settings[i].ours);

		if (!settings[i].inner || !val.len || strcmp(settings[i].theirs, theirs))
			continue;
		if (!open) {
			th_jw_key(w, th_str_of(theirs));
			th_jw_object(w);
		}
		open = true;
		th_jw_kraw(w, settings[i].inner, val);
	}
	if (open)
		th_jw_object_end(w);
}

static void put_unified(struct th_str unified, struct th_jw *w)
{
	struct th_str found[MEMBERS], extra, ours, instructions, tools;

	th_json_raw_gets(unified, TH_COUNT(unified_members), unified_members, found);
	extra = found[EXTRA];
	ours = found[SETTINGS];
	instructions = found[INSTRUCTIONS];
	tools = found[TOOLS];
	th_jw_object(w);
	if (!th_unified_has(extra, "model"))
		th_jw_kraw(w, "model", found[MODEL]);
	if (instructions.len && !th_unified_has(extra, "instructions"))
		th_jw_kraw(w, "instructions", instructions);
	if (!th_unified_has(extra, "input"))
		put_input(found[INPUT], w);
	if (!is_empty_list(tools) && !th_unified_has(extra, "tools"))
		th_jw_kraw(w, "tools", tools);
	if (!th_unified_has(extra, "reasoning"))
		put_object("reasoning", ours, w);
	if (!th_unified_has(extra, "text"))
		put_object("text", ours, w);
	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct th_str val = th_json_raw_get(ours, settings[i].ours);

		if (!settings[i].inner && val.len && !th_unified_has(extra, settings[i].theirs))
			th_jw_kraw(w, settings[i].theirs, val);
	}
	if (th_str_is(found[STREAM], "true") && !th_unified_has(extra, "stream"))
		th_jw_kbool(w, "stream", true);
	th_unified_put_extra(w, extra);
	th_jw_object_end(w);
}

enum th_code th_responses_request_encode(struct th_str unified, struct th_buf *out,
					 struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_jw w = th_jw(out);
	bool object;
	enum th_code code = th_json_parse(unified, &doc, err);

	if (code)
		return th_prefix(err, code, "the request");
	object = th_json_is_object(th_json_root(doc)) &&
		 th_json_type(th_json_get(th_json_root(doc), "model")) == TH_JSON_STR;
	th_json_free(doc);
	if (!object)
		return th_fail(err, TH_EPROTO, "the request must be an object with a model");
	put_unified(unified, &w);
	return th_buf_check(out, "the request", err);
}
