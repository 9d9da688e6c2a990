/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - steps of the input: messages, answers of the model, and
 * results of its calls.  An answer of this wire goes back as it came; one of
 * another is written from its items, without its reasoning, which is not this
 * model's.
 */
#include "base/limits.h"
#include "google_gemini/writer.h"
#include "google_interactions/interactions.h"

/* What the documentation of generateContent gives for calls that another model made. */
#define NO_SIGNATURE "skip_thought_signature_validator"

static struct th_str raw_str(struct th_str object, const char *key)
{
	return th_gemini_raw_str(object, key);
}

/* ---- parts ---- */

static void put_text(struct th_group_writer *x, struct th_str raw)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("text"));
	th_jw_kraw(&x->w, "text", raw);
	th_jw_object_end(&x->w);
}

/* A picture of ours: {"type":"image","mime_type":…,"data":<hole>}. */
static enum th_code put_image(struct th_group_writer *x, struct th_str part)
{
	struct th_hole hole = { .kind = TH_HOLE_IMAGE, .part = true };
	struct th_str media = raw_str(part, "media_type");

	if (!x->o->profile->vision) {
		put_text(x, TH_STR("\"" TH_IMAGE_NOT_TAKEN "\""));
		return TH_OK;
	}
	if (!th_digest_parse(raw_str(part, "blob"), &hole.blob))
		return th_fail(x->err, TH_EPROTO,
			       "an image part's blob must be the 64 digits of a SHA-256");
	th_jw_object(&x->w);
	hole.from = x->w.out->len - 1; /* behind the comma */
	th_jw_kstr(&x->w, "type", TH_STR("image"));
	th_jw_kstr(&x->w, "mime_type", media.len ? media : TH_STR("image/png"));
	th_jw_key(&x->w, TH_STR("data"));
	th_jw_raw(&x->w, TH_STR("\""));
	hole.at = x->w.out->len;
	th_buf_add_char(x->w.out, '"');
	th_jw_object_end(&x->w);
	hole.to = x->w.out->len;
	th_buf_add_cstr(x->w.out, "{\"type\":\"text\",\"text\":\"" TH_IMAGE_LEFT_OUT "\"}");
	hole.end = x->w.out->len;
	return th_gemini_hole(x, hole);
}

/* "data:image/png;base64,…", or the address of a file. */
static void put_url(struct th_group_writer *x, struct th_str url, const char *type)
{
	ptrdiff_t at = th_str_find(url, TH_STR(";base64,"));

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", th_str_of(type));
	if (th_str_starts(url, TH_STR("data:")) && at > 5) {
		th_jw_kstr(&x->w, "mime_type", th_str_sub(url, 5, (size_t)at - 5));
		th_jw_key(&x->w, TH_STR("data"));
		url = th_str_sub(url, (size_t)at + 8, url.len);
	} else {
		th_jw_key(&x->w, TH_STR("uri"));
	}
	th_jw_raw(&x->w, TH_STR("\""));
	th_buf_add(x->w.out, url);
	th_buf_add_char(x->w.out, '"');
	th_jw_object_end(&x->w);
}

static enum th_code put_part(struct th_group_writer *x, struct th_str part)
{
	static const struct {
		const char *member, *type;
	} urls[] = {
		{ "image_url", "image" },
		{ "file_data", "document" },
		{ "file_url", "document" },
	};
	struct th_str type = raw_str(part, "type"), text = th_json_raw_get(part, "text");

	if (!th_json_raw_is_object(part))
		return th_fail(x->err, TH_EPROTO, "a part of a content list must be an object");
	if (th_str_is(type, "image") && th_json_raw_get(part, "blob").len)
		return put_image(x, part);
	if (th_str_is(type, "refusal"))
		text = th_json_raw_get(part, "refusal");
	if (text.len && text.ptr[0] == '"') {
		put_text(x, text);
		return TH_OK;
	}
	if (th_str_is(type, "text"))
		return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
	for (size_t i = 0; i < TH_COUNT(urls); i++)
		if (raw_str(part, urls[i].member).len) {
			put_url(x, raw_str(part, urls[i].member), urls[i].type);
			return TH_OK;
		}
	if (th_json_raw_get(part, "data").len || th_json_raw_get(part, "uri").len)
		th_jw_raw(&x->w, part); /* one of the wire's own */
	else
		put_text(x, TH_STR("\"[something was here that this model does not take]\""));
	return TH_OK;
}

enum th_code th_interactions_content(struct th_group_writer *x, struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);
	enum th_code code = TH_OK;

	if (content.len && content.ptr[0] == '"') {
		put_text(x, content);
		return TH_OK;
	}
	if (!content.len || content.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO, "content must be a string or a list of parts");
	while (!code && th_json_raw_next(&it))
		code = put_part(x, it.val);
	return code;
}

/* ---- messages ---- */

/* Nothing, where the content is empty: a step must have some. */
static enum th_code put_said(struct th_group_writer *x, struct th_str content, bool assistant)
{
	size_t start = x->w.out->len, empty;
	bool comma = x->w.comma;
	enum th_code code;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", assistant ? TH_STR("model_output") : TH_STR("user_input"));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
	empty = x->w.out->len;
	code = th_interactions_content(x, content);
	if (x->w.out->len == empty) {
		th_buf_truncate(x->w.out, start);
		x->w.comma = comma;
		return code;
	}
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

enum th_code th_interactions_message(struct th_group_writer *x, const struct th_group *g)
{
	static const char *const roles[] = { "user", "assistant", "developer", "system" };
	bool known = false;

	for (size_t i = 0; i < TH_COUNT(roles); i++)
		known = known || th_str_is(g->role, roles[i]);
	if (!known)
		return th_fail(x->err, TH_EPROTO,
			       "a message's role must be user, assistant, developer or system");
	return put_said(x, g->content, th_str_is(g->role, "assistant"));
}

/* ---- answers ---- */

/* `arguments` is a raw string of JSON; what is no object is given as a string. */
static void put_arguments(struct th_group_writer *x, struct th_str arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	th_jw_key(&x->w, TH_STR("arguments"));
	if (!th_json_unescape(arguments, &text) || !text.len) {
		th_jw_raw(&x->w, TH_STR("{}"));
	} else if (th_str_starts(th_str_trim(th_buf_str(&text)), TH_STR("{")) &&
		   th_json_valid(th_buf_str(&text))) {
		th_jw_raw(&x->w, th_str_trim(th_buf_str(&text)));
	} else {
		th_jw_object(&x->w);
		th_jw_kraw(&x->w, "arguments", arguments);
		th_jw_object_end(&x->w);
	}
	th_buf_deinit(&text);
}

static void put_call(struct th_group_writer *x, struct th_str call, bool sign)
{
	struct th_str id = th_json_raw_get(call, "call_id");

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("function_call"));
	th_jw_kraw(&x->w, "id", id.len ? id : TH_STR("\"\""));
	th_jw_kraw(&x->w, "name", th_gemini_call_name(call));
	put_arguments(x, th_json_raw_get(call, "arguments"));
	if (sign)
		th_jw_kstr(&x->w, "signature", TH_STR(NO_SIGNATURE));
	th_jw_object_end(&x->w);
}

enum th_code th_interactions_item(struct th_group_writer *x, struct th_str item, bool *signs)
{
	struct th_str type = raw_str(item, "type");
	struct th_buf calls = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;

	if (!th_json_raw_is_object(item))
		return th_fail(x->err, TH_EPROTO, "an item must be an object");
	if (th_str_is(type, "message"))
		return put_said(x, th_json_raw_get(item, "content"), true);
	if (!th_str_ends(type, TH_STR("_call")) || !th_json_raw_get(item, "call_id").len)
		return TH_OK;
	th_gemini_calls(x->o, item, &calls);
	for (it = th_json_raw_iter(th_buf_str(&calls)); th_json_raw_next(&it);) {
		put_call(x, it.val, *signs);
		*signs = false;
	}
	th_buf_deinit(&calls);
	return TH_OK;
}

enum th_code th_interactions_answer(struct th_group_writer *x, const struct th_group *g)
{
	struct th_str message = th_json_raw_get(g->raw, "message");
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(message, "steps"));
	bool signs = !th_gemini_is_old(x->o->profile);
	enum th_code code = TH_OK;

	if (th_str_is(raw_str(g->raw, "wire"), "interactions") && message.len) {
		if (!th_json_raw_get(message, "steps").len) /* a step by itself */
			th_jw_raw(&x->w, message);
		while (!it.object && th_json_raw_next(&it))
			th_jw_raw(&x->w, it.val);
		return TH_OK;
	}
	for (it = th_json_raw_iter(g->items); !code && th_json_raw_next(&it);)
		code = th_interactions_item(x, it.val, &signs);
	return code;
}

/* ---- results ---- */

static bool is_image(struct th_str part)
{
	return th_str_is(raw_str(part, "type"), "image");
}

static bool has_image(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	while (!it.object && th_json_raw_next(&it))
		if (is_image(it.val))
			return true;
	return false;
}

/* The texts of a result, as the inside of one string. */
static void add_texts(struct th_str output, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (output.len >= 2 && output.ptr[0] == '"') {
		th_buf_add(out, th_str_sub(output, 1, output.len - 2));
		return;
	}
	while (!it.object && th_json_raw_next(&it)) {
		struct th_str text = raw_str(it.val, "text");

		if (text.len && out->len)
			th_buf_add(out, TH_STR("\\n"));
		th_buf_add(out, text);
	}
}

static bool is_acknowledged(const struct th_result *r)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->acknowledged);

	return !it.object && th_json_raw_next(&it);
}

/* A call of the provider's computer tool, which came by this wire or was written as one. */
static bool is_computer(const struct th_result *r)
{
	return th_str_is(raw_str(r->call_item, "type"), "computer_call") ||
	       th_json_raw_get(r->call_item, "function").len;
}

/* The result of an action is an object: {"output":…,"safety_acknowledgement":true,"url":…}. */
static void put_action_text(struct th_group_writer *x, const struct th_result *r,
			    struct th_str escaped)
{
	struct th_buf object = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&object);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("output"));
	th_jw_raw(&w, TH_STR("\""));
	th_buf_add(&object, escaped);
	th_buf_add_char(&object, '"');
	if (is_acknowledged(r))
		th_jw_kbool(&w, "safety_acknowledgement", true);
	if (th_gemini_is_browser(x->o)) /* a desktop has no page to name */
		th_jw_kraw(&w, "url", th_gemini_address(r->output));
	th_jw_object_end(&w);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("text"));
	th_jw_kstr(&x->w, "text", th_buf_str(&object));
	th_jw_object_end(&x->w);
	th_buf_deinit(&object);
}

static enum th_code put_parts(struct th_group_writer *x, const struct th_result *r,
			      struct th_str escaped)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->output);
	enum th_code code = TH_OK;

	th_jw_array(&x->w);
	if (is_computer(r)) {
		put_action_text(x, r, escaped);
	} else if (escaped.len) {
		th_jw_raw(&x->w, TH_STR("{\"type\":\"text\",\"text\":\""));
		th_buf_add(x->w.out, escaped);
		th_buf_add_cstr(x->w.out, "\"}");
	}
	while (!code && !it.object && has_image(r->output) && th_json_raw_next(&it))
		if (is_image(it.val))
			code = put_image(x, it.val);
	th_jw_array_end(&x->w);
	return code;
}

static enum th_code put_call_result(struct th_group_writer *x, const struct th_result *r,
				    struct th_str call, bool last)
{
	struct th_str id = th_json_raw_get(call, "call_id");
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code = TH_OK;

	if (last)
		add_texts(r->output, &text);
	else
		th_buf_add_cstr(&text, "The result is that of the next call.");
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("function_result"));
	th_jw_kraw(&x->w, "call_id", id.len ? id : TH_STR("\"\""));
	th_jw_kraw(&x->w, "name", th_gemini_call_name(call));
	th_jw_key(&x->w, TH_STR("result"));
	if (last && (is_computer(r) || has_image(r->output))) {
		code = put_parts(x, r, th_buf_str(&text));
	} else {
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_buf_str(&text));
		th_buf_add_char(x->w.out, '"');
	}
	th_jw_object_end(&x->w);
	th_buf_deinit(&text);
	return code;
}

enum th_code th_interactions_results(struct th_group_writer *x, const struct th_group *g)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < g->result_count; i++)
		code = th_gemini_put_result(x, &g->results[i], put_call_result);
	return code;
}
