/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - requests of the Interactions API in the unified form,
 * and back.  Each step is items; where their canonical form is not what came,
 * the first has the step as "raw".  Members that no table knows, and those whose
 * canonical form is not what came, stay in "extra".
 */
#include "base/limits.h"
#include "google_interactions/encode.h"
#include "google_interactions/interactions.h"
#include "google_interactions/steps.h"
#include "model_wire/unified.h"

/* ---- tools and settings, back ---- */

/* ---- steps as items ---- */

struct reader {
	struct th_jw w;
	struct th_buf items, back; /* of the step under way: a list; the step they make */
	struct th_err *err;
};

static void put_part(struct th_jw *w, struct th_str part, bool assistant)
{
	struct th_str type = th_interactions_raw(part, "type"),
		      text = th_json_raw_get(part, "text");
	struct th_str media = th_interactions_raw(part, "mime_type"),
		      data = th_interactions_raw(part, "data");
	struct th_str uri = th_json_raw_get(part, "uri");
	bool image = th_str_is(type, "image");

	th_jw_object(w);
	if (th_str_is(type, "text") && th_interactions_is_string(text)) {
		th_jw_kstr(w, "type", assistant ? TH_STR("output_text") : TH_STR("input_text"));
		th_jw_kraw(w, "text", text);
	} else {
		th_jw_kstr(w, "type", image ? TH_STR("input_image") : TH_STR("input_file"));
		th_jw_key(w, image ? TH_STR("image_url") : TH_STR("file_data"));
		if (th_interactions_is_string(uri)) {
			th_jw_raw(w, uri);
		} else {
			th_jw_raw(w, TH_STR("\"data:"));
			th_buf_add(w->out, media);
			th_buf_add_cstr(w->out, ";base64,");
			th_buf_add(w->out, data);
			th_buf_add_char(w->out, '"');
		}
	}
	th_jw_object_end(w);
}

static void put_parts(struct th_jw *w, const char *key, struct th_str list, bool assistant)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);

	th_jw_key(w, th_str_of(key));
	if (!th_interactions_is_list(list)) {
		th_jw_raw(w, th_interactions_is_string(list) ? list : TH_STR("\"\""));
		return;
	}
	th_jw_array(w);
	while (th_json_raw_next(&it))
		if (th_json_raw_is_object(it.val))
			put_part(w, it.val, assistant);
	th_jw_array_end(w);
}

static void put_input(struct reader *r, struct th_str content)
{
	struct th_jw w = th_jw(&r->items);

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "role", TH_STR("user"));
	put_parts(&w, "content", content, false);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
}

/* An object is the output's JSON. */
static void put_function_result(struct reader *r, struct th_str step)
{
	struct th_str result = th_json_raw_get(step, "result"),
		      id = th_json_raw_get(step, "call_id");
	struct th_jw w = th_jw(&r->items);

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call_output"));
	th_jw_kraw(&w, "call_id", th_interactions_is_string(id) ? id : TH_STR("\"\""));
	if (th_interactions_is_string(th_json_raw_get(step, "name")))
		th_jw_kraw(&w, "name", th_json_raw_get(step, "name"));
	if (th_interactions_is_list(result) || th_interactions_is_string(result))
		put_parts(&w, "output", result, false);
	else
		th_jw_kstr(&w, "output", result);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
}

/* Its items into the list; with the step as raw on the first, where they do not say all of it. */
static enum th_code put_items(struct reader *r, struct th_str step)
{
	struct th_buf one = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;
	size_t count = 0;
	bool raw;

	th_buf_clear(&r->back);
	th_buf_add_char(&one, '[');
	th_buf_add(&one, step);
	th_buf_add_char(&one, ']');
	raw = th_interactions_put_steps(th_buf_str(&r->items), &r->back, NULL) ||
	      !th_unified_equal(th_buf_str(&r->back), th_buf_str(&one));
	th_buf_deinit(&one);
	for (it = th_json_raw_iter(th_buf_str(&r->items)); th_json_raw_next(&it);)
		count++;
	if (!count) { /* nothing that anybody else would see */
		th_jw_object(&r->w);
		th_jw_kstr(&r->w, "type", TH_STR("reasoning"));
		th_jw_kraw(&r->w, "summary", TH_STR("[]"));
		th_unified_put_raw(&r->w, TH_INTERACTIONS_WIRE, step, 1);
		th_jw_object_end(&r->w);
	}
	it = th_json_raw_iter(th_buf_str(&r->items));
	while (th_json_raw_next(&it)) {
		if (!raw) {
			th_jw_raw(&r->w, it.val);
			continue;
		}
		th_jw_raw(&r->w, th_str_sub(it.val, 0, it.val.len - 1)); /* without its brace */
		th_unified_put_raw(&r->w, TH_INTERACTIONS_WIRE, step, count);
		th_jw_object_end(&r->w);
		raw = false;
	}
	return th_buf_check(r->w.out, "the request", r->err);
}

static enum th_code put_step(struct reader *r, struct th_str step, size_t index)
{
	struct th_str type = th_interactions_raw(step, "type");
	struct th_buf one = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code = TH_OK;

	th_buf_clear(&r->items);
	if (!th_json_raw_is_object(step) || !type.len) {
		code =
		    th_fail(r->err, TH_EPROTO, "input[%zu] must be an object with a type", index);
	} else if (th_str_is(type, "user_input")) {
		put_input(r, th_json_raw_get(step, "content"));
	} else if (th_str_is(type, "function_result")) {
		put_function_result(r, step);
	} else {
		th_buf_add_char(&one, '[');
		th_buf_add(&one, step);
		th_buf_add_char(&one, ']');
		code = th_interactions_items(th_buf_str(&one), NULL, TH_STR("request"), &r->items,
					     r->err);
	}
	th_buf_deinit(&one);
	return code ? code : put_items(r, step);
}

/* A content by itself, or a list of them: what the user says.  It stays in "extra" as it came. */
static bool is_content(struct th_str input)
{
	static const char *const types[] = { "text", "image", "audio", "video", "document" };
	struct th_json_raw_iter it = th_json_raw_iter(input);
	struct th_str type = th_interactions_raw(input, "type");

	if (th_interactions_is_list(input) && th_json_raw_next(&it))
		type = th_interactions_raw(it.val, "type");
	for (size_t i = 0; i < TH_COUNT(types); i++)
		if (th_str_is(type, types[i]))
			return true;
	return false;
}

static enum th_code put_said(struct reader *r, struct th_str input)
{
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;

	th_buf_clear(&r->items);
	if (th_json_raw_is_object(input)) {
		th_buf_add_char(&list, '[');
		th_buf_add(&list, input);
		th_buf_add_char(&list, ']');
		input = th_buf_str(&list);
	}
	put_input(r, input);
	for (it = th_json_raw_iter(th_buf_str(&r->items)); th_json_raw_next(&it);)
		th_jw_raw(&r->w, it.val);
	th_buf_deinit(&list);
	return TH_OK;
}

static enum th_code put_all(struct reader *r, struct th_str input)
{
	struct th_json_raw_iter it = th_json_raw_iter(input);
	enum th_code code = TH_OK;

	th_jw_key(&r->w, TH_STR("items"));
	th_jw_array(&r->w);
	if (th_interactions_is_string(input) || is_content(input))
		code = put_said(r, input);
	else if (!th_interactions_is_list(input) && input.len && !th_json_raw_is_null(input))
		code = th_fail(r->err, TH_EPROTO,
			       "input must be a string, a content, or a list of steps");
	else
		for (size_t i = 0; !code && th_interactions_is_list(input) && th_json_raw_next(&it);
		     i++)
			code = put_step(r, it.val, i);
	th_jw_array_end(&r->w);
	return code;
}

/* ---- tools and settings ---- */

static void read_tools(struct reader *r, struct th_str tools)
{
	struct th_json_raw_iter it = th_json_raw_iter(tools);
	bool function;

	th_jw_key(&r->w, TH_STR("tools"));
	th_jw_array(&r->w);
	while (th_interactions_is_list(tools) && th_json_raw_next(&it)) {
		if (!th_json_raw_is_object(it.val))
			continue;
		function = th_str_is(th_interactions_raw(it.val, "type"), "function");
		if (function) {
			struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
			struct th_jw w = th_jw(&list);

			th_jw_array(&w);
			th_jw_raw(&w, it.val);
			th_jw_array_end(&w);
			th_buf_clear(&r->back);
			w = th_jw(&r->back);
			th_interactions_put_tools(&w, th_buf_str(&list));
			function = th_unified_equal(th_buf_str(&r->back), th_buf_str(&list));
			th_buf_deinit(&list);
		}
		if (function) {
			th_jw_raw(&r->w, it.val);
			continue;
		}
		th_jw_object(&r->w);
		th_jw_kraw(&r->w, "type",
			   th_interactions_is_string(th_json_raw_get(it.val, "type"))
			       ? th_json_raw_get(it.val, "type")
			       : TH_STR("\"unknown\""));
		if (th_interactions_is_string(th_json_raw_get(it.val, "name")))
			th_jw_kraw(&r->w, "name", th_json_raw_get(it.val, "name"));
		th_unified_put_raw(&r->w, TH_INTERACTIONS_WIRE, it.val, 1);
		th_jw_object_end(&r->w);
	}
	th_jw_array_end(&r->w);
}

static void read_choice(struct th_jw *w, struct th_str choice)
{
	struct th_str allowed = th_json_raw_get(choice, "allowed_tools");
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(allowed, "tools"));

	if (th_str_is(choice, "\"any\""))
		th_jw_kstr(w, "tool_choice", TH_STR("required"));
	else if (th_str_is(choice, "\"auto\"") || th_str_is(choice, "\"none\""))
		th_jw_kraw(w, "tool_choice", choice);
	else if (th_str_is(th_interactions_raw(allowed, "mode"), "any") && !it.object &&
		 th_json_raw_next(&it) && th_interactions_is_string(it.val)) {
		th_jw_key(w, TH_STR("tool_choice"));
		th_jw_raw(w, TH_STR("{\"type\":\"function\",\"name\":"));
		th_buf_add(w->out, it.val);
		th_buf_add_char(w->out, '}');
	}
}

static void read_settings(struct th_jw *w, struct th_str body)
{
	struct th_str config = th_json_raw_get(body, "generation_config"),
		      format = th_json_raw_get(body, "response_format"),
		      schema = th_json_raw_get(format, "schema"),
		      level = th_json_raw_get(config, "thinking_level");

	th_jw_key(w, TH_STR("settings"));
	th_jw_object(w);
	for (size_t i = 0; i < TH_COUNT(th_interactions_numbers); i++)
		if (!th_json_raw_is_null(th_json_raw_get(config, th_interactions_numbers[i])))
			th_jw_kraw(w, th_interactions_numbers[i],
				   th_json_raw_get(config, th_interactions_numbers[i]));
	if (th_interactions_is_string(level))
		th_jw_kraw(w, "effort", level);
	read_choice(w, th_json_raw_get(config, "tool_choice"));
	if (th_str_is(th_interactions_raw(format, "mime_type"), "application/json")) {
		th_jw_key(w, TH_STR("format"));
		th_jw_object(w);
		th_jw_kstr(w, "type", schema.len ? TH_STR("json_schema") : TH_STR("json_object"));
		if (schema.len)
			th_jw_kraw(w, "schema", schema);
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
}

/* ---- the request ---- */

/* Everything but "extra", without the last brace. */
static enum th_code put_known(struct reader *r, struct th_str body)
{
	struct th_str name = th_json_raw_get(body, "model"),
		      stream = th_json_raw_get(body, "stream"),
		      instructions = th_json_raw_get(body, "system_instruction");
	enum th_code code;

	if (name.len && th_interactions_has(body, "agent"))
		return th_fail(r->err, TH_EPROTO, "a request has a model or an agent, not both");
	if (!name.len) /* one of the provider's agents */
		name = th_json_raw_get(body, "agent");
	if (!th_interactions_is_string(name))
		return th_fail(r->err, TH_EPROTO, "model must be a string");
	th_jw_object(&r->w);
	th_jw_kraw(&r->w, "model", name);
	if (th_str_is(stream, "true") || th_str_is(stream, "false"))
		th_jw_kraw(&r->w, "stream", stream);
	if (th_interactions_is_string(instructions))
		th_jw_kraw(&r->w, "instructions", instructions);
	code = put_all(r, th_json_raw_get(body, "input"));
	if (code)
		return code;
	read_tools(r, th_json_raw_get(body, "tools"));
	read_settings(&r->w, body);
	return TH_OK;
}

static enum th_code read_request(struct reader *r, struct th_str body)
{
	static const char *const nothing[] = { NULL };
	struct th_buf again = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str out;
	size_t start = r->w.out->len, known;
	enum th_code code = put_known(r, body);

	known = r->w.out->len;
	if (!code) {
		th_jw_object_end(&r->w);
		out = th_buf_str(r->w.out);
		code =
		    th_interactions_request_encode(th_str_sub(out, start, out.len), &again, r->err);
		th_buf_truncate(r->w.out, known);
	}
	if (!code) {
		r->w.comma = true;
		th_jw_key(&r->w, TH_STR("extra"));
		th_unified_extra(&r->w, body, th_buf_str(&again), nothing);
		th_jw_object_end(&r->w);
		code = th_buf_check(r->w.out, "the request", r->err);
	}
	th_buf_deinit(&again);
	if (code)
		th_buf_truncate(r->w.out, start);
	return code;
}

enum th_code th_interactions_request_decode(struct th_str model, struct th_str body,
					    struct th_buf *out, struct th_err *err)
{
	struct reader r = { .w = th_jw(out), .err = err };
	enum th_code code = th_unified_check(body, err);

	(void)model; /* the body names it */
	th_buf_init(&r.items, TH_REQUEST_MAX);
	th_buf_init(&r.back, TH_REQUEST_MAX);
	if (!code)
		code = read_request(&r, body);
	th_buf_deinit(&r.items);
	th_buf_deinit(&r.back);
	return code;
}
