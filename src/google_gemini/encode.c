/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - unified requests as bodies of generateContent.  Items that
 * follow each other and come from one side are one content.
 */
#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_gemini/server.h"
#include "google_gemini/writer.h"
#include "model_wire/unified.h"

#define WIRE "gemini"

/* What unified items are written as: the oldest form, which every model takes. */
static const struct th_profile plain = {
	.name = "gemini",
	.flavour = "gemini-2",
	.vision = true,
};

enum side { NOBODY, USER, RESULTS, MODEL };

struct encoder {
	struct th_group_writer x;
	struct th_request_options o;
	struct th_str items;
	enum side open;
};

static enum side side_of(struct th_str item)
{
	struct th_str type = th_gemini_raw_str(item, "type");
	struct th_str role = th_gemini_raw_str(item, "role");

	if (th_str_ends(type, TH_STR("_output")))
		return RESULTS;
	if (role.len && !th_str_is(role, "assistant"))
		return USER;
	return MODEL;
}

static void close_content(struct encoder *e)
{
	if (e->open == NOBODY)
		return;
	th_jw_array_end(&e->x.w);
	th_jw_object_end(&e->x.w);
	e->open = NOBODY;
}

static void open_content(struct encoder *e, enum side side)
{
	if (e->open == side && side != USER)
		return;
	close_content(e);
	th_jw_object(&e->x.w);
	th_jw_kstr(&e->x.w, "role", side == MODEL ? TH_STR("model") : TH_STR("user"));
	th_jw_key(&e->x.w, TH_STR("parts"));
	th_jw_array(&e->x.w);
	e->open = side;
}

/* The call that a result answers, or an empty string. */
static struct th_str call_of(const struct encoder *e, struct th_str result)
{
	struct th_json_raw_iter it = th_json_raw_iter(e->items);
	struct th_str id = th_json_raw_get(result, "call_id"), found = { NULL, 0 };

	while (th_json_raw_next(&it) && it.val.ptr != result.ptr)
		if (th_str_ends(th_gemini_raw_str(it.val, "type"), TH_STR("_call")) &&
		    th_str_eq(th_json_raw_get(it.val, "call_id"), id))
			found = it.val;
	return found;
}

/* A string that is an object is the response itself. */
static void put_response(struct th_jw *w, struct th_str text_raw)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc = NULL;

	if (th_json_unescape(text_raw, &text) && !th_json_parse(th_buf_str(&text), &doc, NULL) &&
	    th_json_is_object(th_json_root(doc))) {
		th_jw_kraw(w, "response", th_str_trim(th_buf_str(&text)));
	} else {
		th_jw_key(w, TH_STR("response"));
		th_jw_object(w);
		th_jw_kraw(w, "output", text_raw.len ? text_raw : TH_STR("\"\""));
		th_jw_object_end(w);
	}
	th_json_free(doc);
	th_buf_deinit(&text);
}

/* Text first, pictures in the response's own parts. */
static enum th_code put_result(struct encoder *e, struct th_str item)
{
	struct th_str output = th_json_raw_get(item, "output"), call = call_of(e, item);
	struct th_str image = th_json_raw_get(output, "image_url"), text = { NULL, 0 };
	struct th_json_raw_iter it = th_json_raw_iter(output);
	struct th_group_writer *x = &e->x;
	enum th_code code = TH_OK;
	bool parts = false;

	if (output.len && output.ptr[0] == '"')
		text = output;
	while (!it.object && !text.len && th_json_raw_next(&it))
		text = th_json_raw_get(it.val, "text");
	th_jw_object(&x->w);
	th_jw_key(&x->w, TH_STR("functionResponse"));
	th_jw_object(&x->w);
	if (th_json_raw_get(call, "id").len)
		th_jw_kraw(&x->w, "id", th_json_raw_get(call, "call_id"));
	th_jw_kraw(&x->w, "name", th_gemini_call_name(call));
	put_response(&x->w, text);
	it = th_json_raw_iter(output);
	while (!code && (image.len || (!it.object && th_json_raw_next(&it)))) {
		struct th_str part = image.len ? output : it.val;

		if (!image.len && th_json_raw_get(part, "text").len)
			continue;
		if (!parts) {
			th_jw_key(&x->w, TH_STR("parts"));
			th_jw_array(&x->w);
		}
		parts = true;
		code = th_gemini_part(x, part);
		if (image.len)
			break;
	}
	if (parts)
		th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

static enum th_code put_item(struct encoder *e, struct th_str item)
{
	enum side side = side_of(item);
	bool signs = false;

	open_content(e, side);
	if (side == RESULTS)
		return put_result(e, item);
	if (side == MODEL)
		return th_gemini_item(&e->x, item, &signs);
	return th_gemini_content(&e->x, th_json_raw_get(item, "content"));
}

enum th_code th_gemini_encode_items(struct th_str items, struct th_buf *out, struct th_err *err)
{
	struct encoder e = { .items = items, .o = { .profile = &plain } };
	struct th_json_raw_iter it = th_json_raw_iter(items);
	enum th_code code = TH_OK;

	e.x = (struct th_group_writer){ .o = &e.o, .w = th_jw(out), .err = err };
	th_jw_array(&e.x.w);
	while (!code && !it.object && th_json_raw_next(&it)) {
		size_t count;
		struct th_str message = th_unified_raw(it.val, WIRE, &count);

		if (!message.len) {
			code = put_item(&e, it.val);
			continue;
		}
		close_content(&e);
		th_jw_raw(&e.x.w, message);
		while (--count > 0 && th_json_raw_next(&it))
			;
	}
	close_content(&e);
	th_jw_array_end(&e.x.w);
	return code ? code : th_buf_check(out, "the request", err);
}

/* ---- tools ---- */

static void put_function(struct th_jw *w, struct th_str tool)
{
	th_jw_object(w);
	th_jw_kraw(w, "name",
		   th_json_raw_get(tool, "name").len ? th_json_raw_get(tool, "name")
						     : TH_STR("\"\""));
	if (th_json_raw_get(tool, "description").len)
		th_jw_kraw(w, "description", th_json_raw_get(tool, "description"));
	if (th_json_raw_get(tool, "parameters").len)
		th_jw_kraw(w, "parametersJsonSchema", th_json_raw_get(tool, "parameters"));
	th_jw_object_end(w);
}

void th_gemini_encode_tools(struct th_str tools, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_json_raw_iter it = th_json_raw_iter(tools);
	bool open = false;

	th_jw_array(&w);
	while (!it.object && th_json_raw_next(&it)) {
		size_t count;
		struct th_str raw = th_unified_raw(it.val, WIRE, &count);
		bool function =
		    !raw.len && th_str_is(th_gemini_raw_str(it.val, "type"), "function");

		if (open && !function) {
			th_jw_array_end(&w);
			th_jw_object_end(&w);
			open = false;
		}
		if (raw.len) {
			th_jw_raw(&w, raw);
			while (--count > 0 && th_json_raw_next(&it))
				;
		}
		if (!function)
			continue; /* a tool that only another provider has */
		if (!open) {
			th_jw_object(&w);
			th_jw_key(&w, TH_STR("functionDeclarations"));
			th_jw_array(&w);
		}
		open = true;
		put_function(&w, it.val);
	}
	if (open) {
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
}

/* ---- the rest ---- */

static void put_instructions(struct th_jw *w, struct th_str text)
{
	th_jw_key(w, TH_STR("systemInstruction"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("parts"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kraw(w, "text", text);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

static const struct {
	const char *ours, *theirs;
} numbers[] = {
	{ "temperature", "temperature" },
	{ "top_p", "topP" },
	{ "max_output_tokens", "maxOutputTokens" },
};

static void put_format(struct th_jw *w, struct th_str format)
{
	struct th_str type = th_gemini_raw_str(format, "type");
	struct th_str schema = th_json_raw_get(format, "schema");

	if (!th_str_is(type, "json_schema") && !th_str_is(type, "json_object"))
		return;
	th_jw_kstr(w, "responseMimeType", TH_STR("application/json"));
	if (schema.len)
		th_jw_kraw(w, "responseJsonSchema", schema);
}

static void put_config(struct th_jw *w, struct th_str settings)
{
	static const char *const levels[] = { "minimal", "low", "medium", "high" };
	struct th_str effort = th_gemini_raw_str(settings, "effort");
	static const char *const names[] = { "\"MINIMAL\"", "\"LOW\"", "\"MEDIUM\"", "\"HIGH\"" };

	th_jw_key(w, TH_STR("generationConfig"));
	th_jw_object(w);
	for (size_t i = 0; i < TH_COUNT(numbers); i++) {
		struct th_str val = th_json_raw_get(settings, numbers[i].ours);

		if (val.len)
			th_jw_kraw(w, numbers[i].theirs, val);
	}
	put_format(w, th_json_raw_get(settings, "format"));
	for (size_t i = 0; i < TH_COUNT(levels); i++)
		if (th_str_is(effort, levels[i])) {
			th_jw_key(w, TH_STR("thinkingConfig"));
			th_jw_object(w);
			th_jw_kraw(w, "thinkingLevel", th_str_of(names[i]));
			th_jw_object_end(w);
		}
	th_jw_object_end(w);
}

/* `choice`: a word, or {"type":"function","name"}. */
static void put_choice(struct th_jw *w, struct th_str choice)
{
	struct th_str name = th_json_raw_get(choice, "name");
	const char *mode = name.len || th_str_is(choice, "\"required\"") ? "ANY"
			   : th_str_is(choice, "\"none\"")               ? "NONE"
									 : "AUTO";

	th_jw_key(w, TH_STR("toolConfig"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("functionCallingConfig"));
	th_jw_object(w);
	th_jw_kstr(w, "mode", th_str_of(mode));
	if (name.len) {
		th_jw_key(w, TH_STR("allowedFunctionNames"));
		th_jw_array(w);
		th_jw_raw(w, name);
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static enum th_code put_unified(struct th_str unified, struct th_jw *w, struct th_err *err)
{
	struct th_str extra = th_json_raw_get(unified, "extra");
	struct th_str settings = th_json_raw_get(unified, "settings");
	struct th_str instructions = th_json_raw_get(unified, "instructions");
	struct th_str choice = th_json_raw_get(settings, "tool_choice");
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code = TH_OK;
	size_t before;

	th_jw_object(w);
	if (instructions.len && !th_unified_has(extra, "systemInstruction"))
		put_instructions(w, instructions);
	th_gemini_encode_tools(th_json_raw_get(unified, "tools"), &list);
	if (list.len > 2 && !th_unified_has(extra, "tools"))
		th_jw_kraw(w, "tools", th_buf_str(&list));
	if (choice.len && !th_unified_has(extra, "toolConfig"))
		put_choice(w, choice);
	before = w->out->len;
	if (!th_unified_has(extra, "generationConfig")) {
		bool comma = w->comma;

		put_config(w, settings);
		if (th_str_ends(th_buf_str(w->out), TH_STR("\"generationConfig\":{}"))) {
			th_buf_truncate(w->out, before);
			w->comma = comma;
		}
	}
	if (!th_unified_has(extra, "contents")) {
		th_buf_clear(&list);
		code = th_gemini_encode_items(th_json_raw_get(unified, "items"), &list, err);
		th_jw_kraw(w, "contents", th_buf_str(&list));
	}
	th_unified_put_extra(w, extra);
	th_jw_object_end(w);
	th_buf_deinit(&list);
	return code;
}

enum th_code th_gemini_request_encode(struct th_str unified, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);
	enum th_code code = th_unified_is_request(unified, err);

	if (!code)
		code = put_unified(unified, &w, err);
	return code ? code : th_buf_check(out, "the request", err);
}
