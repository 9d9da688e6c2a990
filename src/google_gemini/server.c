/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - requests of generateContent in the unified form.  Each
 * content becomes items, each declaration a tool; where their canonical form
 * (encode.c) is not what came, the first has the content as "raw".
 */
#include "google_gemini/server.h"
#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_gemini/writer.h"
#include "model_wire/unified.h"

#define WIRE "gemini"

struct reader {
	struct th_jw w;
	bool all_raw;         /* every content and tool keeps its own form */
	size_t content_index; /* for ids that are made */
	struct th_buf calls;  /* the items of the model's last content */
	struct th_buf made;   /* items of the content that is being read */
	struct th_err *err;
};

/* A member by its name in either spelling. */
static struct th_str get(struct th_str object, const char *camel, const char *snake)
{
	struct th_str raw = th_json_raw_get(object, camel);

	return raw.len ? raw : th_json_raw_get(object, snake);
}

static bool is_string(struct th_str raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"';
}

/* ---- contents of a user ---- */

/* The nth call of the last answer that has this name, or whose id is this. */
static struct th_str find_call(struct reader *r, struct th_str id, struct th_str name, size_t nth)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_buf_str(&r->calls));

	while (th_json_raw_next(&it)) {
		struct th_str call_id = th_json_raw_get(it.val, "call_id");

		if (!call_id.len)
			continue;
		if (id.len > 2 ? th_str_eq(id, call_id)
			       : th_str_eq(name, th_json_raw_get(it.val, "name")) && nth-- == 0)
			return call_id;
	}
	return (struct th_str){ NULL, 0 };
}

/* {"output":"text"} is the text; any other object is its JSON. */
static void put_output_text(struct th_jw *w, struct th_str response)
{
	struct th_json_raw_iter it = th_json_raw_iter(response);
	struct th_str output = th_json_raw_get(response, "output");
	struct th_json_doc *doc = NULL;
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	bool alone = th_json_raw_next(&it) && !th_json_raw_next(&it) && is_string(output);

	if (alone && th_json_unescape(output, &text) &&
	    (th_json_parse(th_buf_str(&text), &doc, NULL) || !th_json_is_object(th_json_root(doc))))
		th_jw_raw(w, output);
	else
		th_jw_str(w, response.len ? response : TH_STR("{}"));
	th_json_free(doc);
	th_buf_deinit(&text);
}

static bool put_data(struct th_jw *w, struct th_str blob)
{
	struct th_str mime = get(blob, "mimeType", "mime_type");
	struct th_str data = th_json_raw_get(blob, "data");
	bool image = th_str_starts(mime, TH_STR("\"image/"));

	if (!is_string(mime) || !is_string(data))
		return false;
	th_jw_object(w);
	th_jw_kstr(w, "type", image ? TH_STR("input_image") : TH_STR("input_file"));
	th_jw_key(w, image ? TH_STR("image_url") : TH_STR("file_data"));
	th_jw_raw(w, TH_STR("\"data:"));
	th_buf_add(w->out, th_str_sub(mime, 1, mime.len - 2));
	th_buf_add(w->out, TH_STR(";base64,"));
	th_buf_add(w->out, th_str_sub(data, 1, data.len - 2));
	th_buf_add_char(w->out, '"');
	th_jw_object_end(w);
	return true;
}

static void put_user_part(struct th_jw *w, struct th_str part, bool assistant)
{
	struct th_str text = th_json_raw_get(part, "text");
	struct th_str uri = get(get(part, "fileData", "file_data"), "fileUri", "file_uri");

	if (is_string(text)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", assistant ? TH_STR("output_text") : TH_STR("input_text"));
		th_jw_kraw(w, "text", text);
		th_jw_object_end(w);
	} else if (is_string(uri)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_file"));
		th_jw_kraw(w, "file_url", uri);
		th_jw_object_end(w);
	} else {
		(void)put_data(w, get(part, "inlineData", "inline_data"));
	}
}

/* "response" and the pictures beside it. */
static void put_output(struct th_jw *w, struct th_str made)
{
	struct th_str parts = th_json_raw_get(made, "parts");
	struct th_str response = th_json_raw_get(made, "response");
	struct th_json_raw_iter it = th_json_raw_iter(parts);

	th_jw_key(w, TH_STR("output"));
	if (!parts.len || it.object) {
		put_output_text(w, response);
		return;
	}
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("input_text"));
	th_jw_key(w, TH_STR("text"));
	put_output_text(w, response);
	th_jw_object_end(w);
	while (th_json_raw_next(&it))
		put_user_part(w, it.val, false);
	th_jw_array_end(w);
}

static enum th_code put_response(struct reader *r, struct th_jw *w, struct th_str made, size_t nth)
{
	struct th_str id = th_json_raw_get(made, "id"), name = th_json_raw_get(made, "name");
	struct th_str call_id = find_call(r, id, name, nth);

	if (!is_string(name))
		return th_fail(r->err, TH_EPROTO, "a function response must have a name");
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call_output"));
	th_jw_kraw(w, "call_id", call_id.len ? call_id : id.len > 2 && is_string(id) ? id : name);
	put_output(w, made);
	th_jw_object_end(w);
	return TH_OK;
}

/* How many parts before this one answer a function of the same name. */
static size_t same_before(struct th_str parts, struct th_str part, struct th_str name)
{
	struct th_json_raw_iter it = th_json_raw_iter(parts);
	size_t count = 0;

	while (th_json_raw_next(&it) && it.val.ptr != part.ptr)
		count += th_str_eq(
		    th_json_raw_get(get(it.val, "functionResponse", "function_response"), "name"),
		    name);
	return count;
}

static enum th_code put_user(struct reader *r, struct th_str parts)
{
	struct th_jw w = th_jw(&r->made);
	struct th_json_raw_iter it = th_json_raw_iter(parts);
	bool open = false;
	enum th_code code = TH_OK;

	th_jw_array(&w);
	while (!code && th_json_raw_next(&it)) {
		struct th_str made = get(it.val, "functionResponse", "function_response");

		if (made.len && open) {
			th_jw_array_end(&w);
			th_jw_object_end(&w);
			open = false;
		}
		if (made.len) {
			code = put_response(
			    r, &w, made, same_before(parts, it.val, th_json_raw_get(made, "name")));
			continue;
		}
		if (!open) {
			th_jw_object(&w);
			th_jw_kstr(&w, "type", TH_STR("message"));
			th_jw_kstr(&w, "role", TH_STR("user"));
			th_jw_key(&w, TH_STR("content"));
			th_jw_array(&w);
			open = true;
		}
		put_user_part(&w, it.val, false);
	}
	if (open) {
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_buf_clear(&r->calls);
	return code;
}

/* ---- contents ---- */

static enum th_code put_model(struct reader *r, struct th_str parts)
{
	char base[32];
	struct th_buf id = TH_BUF_INIT(sizeof(base));
	enum th_code code;

	th_buf_printf(&id, "request_%zu", r->content_index);
	code = th_gemini_items(parts, th_buf_str(&id), &r->made, r->err);
	th_buf_deinit(&id);
	th_buf_clear(&r->calls);
	th_buf_add(&r->calls, th_buf_str(&r->made));
	return code;
}

/* Copies what is in r->made; the first of them gets the content as "raw". */
static void put_made(struct reader *r, struct th_str content, struct th_str role)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_buf_str(&r->made));
	struct th_jw *w = &r->w;
	size_t count = 0;

	while (th_json_raw_next(&it))
		count++;
	it = th_json_raw_iter(th_buf_str(&r->made));
	if (!count) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("message"));
		th_jw_kraw(w, "role", role);
		th_jw_kraw(w, "content", TH_STR("[]"));
		th_unified_put_raw(w, WIRE, content, 1);
		th_jw_object_end(w);
		return;
	}
	for (size_t i = 0; th_json_raw_next(&it); i++) {
		if (i || !content.len) {
			th_jw_raw(w, it.val);
			continue;
		}
		th_jw_raw(w, th_str_sub(it.val, 0, it.val.len - 1));
		th_unified_put_raw(w, WIRE, content, count);
		th_jw_object_end(w);
	}
}

/* Whether the items alone give this content. */
static bool is_canonical(struct reader *r, struct th_str content)
{
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX), wanted = TH_BUF_INIT(TH_REQUEST_MAX);
	bool same;

	th_buf_add_char(&wanted, '[');
	th_buf_add(&wanted, content);
	th_buf_add_char(&wanted, ']');
	same = !th_gemini_encode_items(th_buf_str(&r->made), &list, NULL) &&
	       th_unified_equal(th_buf_str(&list), th_buf_str(&wanted));
	th_buf_deinit(&list);
	th_buf_deinit(&wanted);
	return same;
}

static enum th_code put_content(struct reader *r, struct th_str content)
{
	struct th_str role = th_json_raw_get(content, "role"), none = { NULL, 0 };
	struct th_str parts = th_json_raw_get(content, "parts");
	bool model = th_str_is(role, "\"model\"");
	enum th_code code;

	if (!content.len || content.ptr[0] != '{')
		return th_fail(r->err, TH_EPROTO, "contents[%zu] must be an object",
			       r->content_index);
	if (role.len && !model && !th_str_is(role, "\"user\"") && !th_str_is(role, "\"function\""))
		return th_fail(r->err, TH_EPROTO, "Please use a valid role: user, model.");
	if (parts.len && parts.ptr[0] != '[' && parts.ptr[0] != '{')
		return th_fail(r->err, TH_EPROTO, "contents[%zu].parts must be a list",
			       r->content_index);
	th_buf_clear(&r->made);
	if (parts.len && parts.ptr[0] == '{') { /* one message stands for a list of it */
		struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);

		th_buf_add_char(&list, '[');
		th_buf_add(&list, parts);
		th_buf_add_char(&list, ']');
		code = model ? put_model(r, th_buf_str(&list)) : put_user(r, th_buf_str(&list));
		th_buf_deinit(&list);
	} else {
		code = model ? put_model(r, parts) : put_user(r, parts);
	}
	if (code)
		return th_prefix(r->err, code, "contents[%zu]", r->content_index);
	put_made(r, r->all_raw || !is_canonical(r, content) ? content : none,
		 model ? TH_STR("\"assistant\"") : TH_STR("\"user\""));
	r->content_index++;
	return TH_OK;
}

static enum th_code put_contents(struct reader *r, struct th_str contents)
{
	struct th_json_raw_iter it = th_json_raw_iter(contents);
	enum th_code code = TH_OK;

	if (!contents.len || (contents.ptr[0] != '[' && contents.ptr[0] != '{'))
		return th_fail(r->err, TH_EPROTO, "contents is not specified");
	th_jw_key(&r->w, TH_STR("items"));
	th_jw_array(&r->w);
	if (contents.ptr[0] == '{')
		code = put_content(r, contents);
	while (!code && !it.object && th_json_raw_next(&it))
		code = put_content(r, it.val);
	th_jw_array_end(&r->w);
	return code;
}

/* ---- tools ---- */

static void put_declaration(struct th_jw *w, struct th_str f)
{
	struct th_str schema = get(f, "parametersJsonSchema", "parameters_json_schema");

	if (!schema.len)
		schema = th_json_raw_get(f, "parameters");
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function"));
	if (is_string(th_json_raw_get(f, "name")))
		th_jw_kraw(w, "name", th_json_raw_get(f, "name"));
	if (is_string(th_json_raw_get(f, "description")))
		th_jw_kraw(w, "description", th_json_raw_get(f, "description"));
	th_jw_kraw(w, "parameters", schema.len ? schema : TH_STR("{\"type\":\"object\"}"));
	th_jw_object_end(w);
}

/* One entry: declarations, or a tool that the provider runs, whose kind is the member's name. */
static void put_tool(struct reader *r, struct th_str entry)
{
	struct th_json_raw_iter it = th_json_raw_iter(entry);
	struct th_jw w = th_jw(&r->made);
	struct th_str none = { NULL, 0 };
	struct th_buf again = TH_BUF_INIT(TH_REQUEST_MAX), wanted = TH_BUF_INIT(TH_REQUEST_MAX);
	bool same;

	th_buf_clear(&r->made);
	th_jw_array(&w);
	while (it.object && th_json_raw_next(&it)) {
		bool functions = th_str_is(it.key, "functionDeclarations") ||
				 th_str_is(it.key, "function_declarations");
		struct th_json_raw_iter f = th_json_raw_iter(it.val);

		if (functions && f.object) {
			put_declaration(&w, it.val);
		} else if (functions) {
			while (th_json_raw_next(&f))
				put_declaration(&w, f.val);
		} else {
			th_jw_object(&w);
			th_jw_key(&w, TH_STR("type"));
			th_jw_raw(&w, TH_STR("\""));
			th_buf_add(w.out, it.key);
			th_buf_add_char(w.out, '"');
			th_jw_object_end(&w);
		}
	}
	th_jw_array_end(&w);
	th_gemini_encode_tools(th_buf_str(&r->made), &again);
	th_buf_add_char(&wanted, '[');
	th_buf_add(&wanted, entry);
	th_buf_add_char(&wanted, ']');
	same = !r->all_raw && th_unified_equal(th_buf_str(&again), th_buf_str(&wanted));
	if (r->made.len > 2)
		put_made(r, same ? none : entry, none);
	th_buf_deinit(&again);
	th_buf_deinit(&wanted);
}

static void put_tools(struct reader *r, struct th_str tools)
{
	struct th_json_raw_iter it = th_json_raw_iter(tools);

	th_jw_key(&r->w, TH_STR("tools"));
	th_jw_array(&r->w);
	if (it.object)
		put_tool(r, tools);
	while (!it.object && th_json_raw_next(&it))
		put_tool(r, it.val);
	th_jw_array_end(&r->w);
}

/* ---- settings and instructions ---- */

static void put_instructions(struct th_jw *w, struct th_str body)
{
	struct th_str system = get(body, "systemInstruction", "system_instruction");
	struct th_str parts = th_json_raw_get(system, "parts");
	struct th_json_raw_iter it = th_json_raw_iter(parts);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str one = th_gemini_raw_str(parts, "text");

	th_buf_add(&text, one);
	while (!it.object && th_json_raw_next(&it)) {
		if (text.len)
			th_buf_add(&text, TH_STR("\\n"));
		th_buf_add(&text, th_gemini_raw_str(it.val, "text"));
	}
	if (text.len) {
		th_jw_key(w, TH_STR("instructions"));
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, th_buf_str(&text));
		th_buf_add_char(w->out, '"');
	}
	th_buf_deinit(&text);
}

static void put_value(struct th_jw *w, const char *key, struct th_str raw)
{
	if (raw.len && !th_str_is(raw, "null"))
		th_jw_kraw(w, key, raw);
}

/* A list of one string: that one. */
static bool one_name(struct th_str list, struct th_str *ret)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	bool one = !it.object && th_json_raw_next(&it) && is_string(it.val);

	*ret = it.val;
	return one && !th_json_raw_next(&it);
}

/* JSON that fits a schema; the schema of OpenAPI's subset stays with the extras. */
static void put_format(struct th_jw *w, struct th_str config)
{
	struct th_str schema = get(config, "responseJsonSchema", "response_json_schema");
	struct th_str media = get(config, "responseMimeType", "response_mime_type");

	if (!th_str_is(media, "\"application/json\""))
		return;
	th_jw_key(w, TH_STR("format"));
	th_jw_object(w);
	th_jw_kstr(w, "type", schema.len ? TH_STR("json_schema") : TH_STR("json_object"));
	if (schema.len)
		th_jw_kraw(w, "schema", schema);
	th_jw_object_end(w);
}

static void put_settings(struct th_jw *w, struct th_str body)
{
	struct th_str config = get(body, "generationConfig", "generation_config");
	struct th_str thinking = get(config, "thinkingConfig", "thinking_config");
	struct th_str calling = get(get(body, "toolConfig", "tool_config"), "functionCallingConfig",
				    "function_calling_config");
	struct th_str mode = th_gemini_raw_str(calling, "mode"), name;
	struct th_str names = get(calling, "allowedFunctionNames", "allowed_function_names");
	struct th_str level = get(thinking, "thinkingLevel", "thinking_level");

	th_jw_key(w, TH_STR("settings"));
	th_jw_object(w);
	put_value(w, "temperature", th_json_raw_get(config, "temperature"));
	put_value(w, "top_p", get(config, "topP", "top_p"));
	put_value(w, "max_output_tokens", get(config, "maxOutputTokens", "max_output_tokens"));
	for (size_t i = 0; i < 4; i++) {
		static const char *const levels[] = { "minimal", "low", "medium", "high" };

		if (is_string(level) &&
		    th_str_ieq(th_str_sub(level, 1, level.len - 2), th_str_of(levels[i])))
			th_jw_kstr(w, "effort", th_str_of(levels[i]));
	}
	put_format(w, config);
	if (th_str_is(mode, "ANY") && one_name(names, &name)) {
		th_jw_key(w, TH_STR("tool_choice"));
		th_jw_raw(w, TH_STR("{\"type\":\"function\",\"name\":"));
		th_buf_add(w->out, name);
		th_buf_add_char(w->out, '}');
	} else if (th_str_is(mode, "AUTO")) {
		th_jw_kstr(w, "tool_choice", TH_STR("auto"));
	} else if (th_str_is(mode, "ANY")) {
		th_jw_kstr(w, "tool_choice", TH_STR("required"));
	} else if (th_str_is(mode, "NONE")) {
		th_jw_kstr(w, "tool_choice", TH_STR("none"));
	}
	th_jw_object_end(w);
}

/* ---- the request ---- */

/* Everything but "extra", without the last brace. */
static enum th_code put_known(struct reader *r, struct th_str model, struct th_str body)
{
	struct th_str stream = TH_STR(":streamGenerateContent"), verb = TH_STR(":generateContent");
	struct th_str name = th_gemini_raw_str(body, "model");
	ptrdiff_t streams = th_str_find(model, stream), ends = th_str_find(model, verb);

	if (streams >= 0 || ends >= 0)
		model = th_str_sub(model, 0, (size_t)(streams >= 0 ? streams : ends));
	if (th_str_starts(model, TH_STR("models/")))
		model = th_str_sub(model, 7, model.len);
	th_jw_object(&r->w);
	if (model.len || !name.len)
		th_jw_kstr(&r->w, "model", model);
	else
		th_jw_kraw(&r->w, "model", th_json_raw_get(body, "model"));
	th_jw_kbool(&r->w, "stream", streams >= 0);
	put_instructions(&r->w, body);
	enum th_code code = put_contents(r, th_json_raw_get(body, "contents"));

	if (code)
		return code;
	put_tools(r, th_json_raw_get(body, "tools"));
	put_settings(&r->w, body);
	return TH_OK;
}

/* TH_OK, and whether what was written gives the body back. */
static enum th_code attempt(struct th_str model, struct th_str body, bool all_raw,
			    struct th_buf *out, bool *ret_same, struct th_err *err)
{
	static const char *const contents[] = { "contents", "tools", NULL };
	static const char *const nothing[] = { NULL };
	struct reader r = { .w = th_jw(out), .all_raw = all_raw, .err = err };
	struct th_buf again = TH_BUF_INIT(TH_REQUEST_MAX);
	size_t start = out->len, known;
	enum th_code code;

	th_buf_init(&r.calls, TH_REQUEST_MAX);
	th_buf_init(&r.made, TH_REQUEST_MAX);
	code = put_known(&r, model, body);
	known = out->len;
	if (!code) {
		th_jw_object_end(&r.w);
		code = th_gemini_request_encode(th_str_sub(th_buf_str(out), start, out->len),
						&again, err);
		th_buf_truncate(out, known);
	}
	if (!code) {
		r.w.comma = true;
		th_jw_key(&r.w, TH_STR("extra"));
		th_unified_extra(&r.w, body, th_buf_str(&again), all_raw ? nothing : contents);
		th_jw_object_end(&r.w);
		th_buf_clear(&again);
		code = th_gemini_request_encode(th_str_sub(th_buf_str(out), start, out->len),
						&again, err);
		*ret_same = th_unified_equal(th_buf_str(&again), body);
	}
	if (!code)
		code = th_buf_check(out, "the request", err);
	th_buf_deinit(&again);
	th_buf_deinit(&r.calls);
	th_buf_deinit(&r.made);
	if (code)
		th_buf_truncate(out, start);
	return code;
}

enum th_code th_gemini_request_decode(struct th_str model, struct th_str body, struct th_buf *out,
				      struct th_err *err)
{
	size_t start = out->len;
	bool same = false;
	enum th_code code = th_unified_check(body, err);

	if (!code)
		code = attempt(model, body, false, out, &same, err);
	if (!code && !same) {
		th_buf_truncate(out, start);
		code = attempt(model, body, true, out, &same, err);
	}
	return code;
}
