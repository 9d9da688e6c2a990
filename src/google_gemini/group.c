/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - contents: messages, and answers of the model.  An answer of
 * this wire goes back as it came; one of another is written from its items,
 * without its reasoning, which is not this model's.
 */
#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_gemini/writer.h"

/* What the documentation gives for calls that another model made: where signatures are asked for,
 * the first call of an answer must have one. */
#define NO_SIGNATURE "skip_thought_signature_validator"

#define LEFT_OUT "{\"text\":\"[a picture was here; it was left out]\"}"

struct th_str th_gemini_raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

/* ---- pictures ---- */

enum th_code th_gemini_hole(struct th_group_writer *x, struct th_hole hole)
{
	if (x->hole_count == x->hole_max)
		return th_fail(x->err, TH_ELIMIT, "more than %zu images in one entry", x->hole_max);
	x->holes[x->hole_count++] = hole;
	return TH_OK;
}

enum th_code th_gemini_blob(struct th_group_writer *x, struct th_str part, size_t *ret_at,
			    struct th_digest *ret_blob)
{
	struct th_str media = th_gemini_raw_str(part, "media_type");

	if (!th_digest_parse(th_gemini_raw_str(part, "blob"), ret_blob))
		return th_fail(x->err, TH_EPROTO,
			       "an image part's blob must be the 64 digits of a SHA-256");
	th_jw_raw(&x->w, TH_STR("{\"inlineData\":{\"mimeType\":\""));
	th_buf_add(x->w.out, media.len ? media : TH_STR("image/png"));
	th_buf_add(x->w.out, TH_STR("\",\"data\":\""));
	*ret_at = x->w.out->len;
	th_buf_add(x->w.out, TH_STR("\"}}"));
	return TH_OK;
}

enum th_code th_gemini_image(struct th_group_writer *x, struct th_str part)
{
	struct th_hole hole = { .kind = TH_HOLE_IMAGE, .part = true };
	enum th_code code;

	if (!x->o->profile->vision) {
		th_jw_raw(&x->w,
			  TH_STR("{\"text\":\"[an image was here; this model takes none]\"}"));
		return TH_OK;
	}
	if (x->w.comma)
		th_buf_add_char(x->w.out, ',');
	x->w.comma = false;
	hole.from = x->w.out->len;
	code = th_gemini_blob(x, part, &hole.at, &hole.blob);
	if (code)
		return code;
	hole.to = x->w.out->len;
	th_buf_add(x->w.out, TH_STR(LEFT_OUT));
	hole.end = x->w.out->len;
	x->w.comma = true;
	return th_gemini_hole(x, hole);
}

/* "data:image/png;base64,…" as inlineData, any other address as fileData. */
static bool put_url(struct th_group_writer *x, struct th_str url)
{
	ptrdiff_t at = th_str_find(url, TH_STR(";base64,"));

	if (!url.len)
		return false;
	th_jw_object(&x->w);
	if (th_str_starts(url, TH_STR("data:")) && at > 5) {
		th_jw_key(&x->w, TH_STR("inlineData"));
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "mimeType", th_str_sub(url, 5, (size_t)at - 5));
		th_jw_key(&x->w, TH_STR("data"));
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_str_sub(url, (size_t)at + 8, url.len));
		th_buf_add_char(x->w.out, '"');
	} else {
		th_jw_key(&x->w, TH_STR("fileData"));
		th_jw_object(&x->w);
		th_jw_key(&x->w, TH_STR("fileUri"));
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, url);
		th_buf_add_char(x->w.out, '"');
	}
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return true;
}

/* ---- content ---- */

static void put_text(struct th_group_writer *x, struct th_str raw)
{
	th_jw_object(&x->w);
	th_jw_kraw(&x->w, "text", raw);
	th_jw_object_end(&x->w);
}

enum th_code th_gemini_part(struct th_group_writer *x, struct th_str part)
{
	struct th_str type = th_gemini_raw_str(part, "type"), text = th_json_raw_get(part, "text");

	if (!part.len || part.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "a part of a content list must be an object");
	if (th_str_is(type, "image"))
		return th_gemini_image(x, part);
	if (th_str_is(type, "refusal"))
		text = th_json_raw_get(part, "refusal");
	if (text.len && text.ptr[0] == '"') {
		put_text(x, text);
		return TH_OK;
	}
	if (th_str_is(type, "text"))
		return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
	if (!type.len || put_url(x, th_gemini_raw_str(part, "image_url")) ||
	    put_url(x, th_gemini_raw_str(part, "file_data")) ||
	    put_url(x, th_gemini_raw_str(part, "file_url"))) {
		if (!type.len)
			th_jw_raw(&x->w, part); /* one of the wire's own */
		return TH_OK;
	}
	th_jw_raw(&x->w,
		  TH_STR("{\"text\":\"[something was here that this model does not take]\"}"));
	return TH_OK;
}

enum th_code th_gemini_content(struct th_group_writer *x, struct th_str content)
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
		code = th_gemini_part(x, it.val);
	return code;
}

static void open_content(struct th_group_writer *x, const char *role)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", th_str_of(role));
	th_jw_key(&x->w, TH_STR("parts"));
	th_jw_array(&x->w);
}

static void close_content(struct th_group_writer *x)
{
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
}

enum th_code th_gemini_message(struct th_group_writer *x, const struct th_group *g)
{
	static const char *const roles[] = { "user", "assistant", "developer", "system" };
	bool known = false, assistant = th_str_is(g->role, "assistant");
	size_t start = x->w.out->len, empty;
	enum th_code code;

	for (size_t i = 0; i < TH_COUNT(roles); i++)
		known = known || th_str_is(g->role, roles[i]);
	if (!known)
		return th_fail(x->err, TH_EPROTO,
			       "a message's role must be user, assistant, developer or system");
	open_content(x, assistant ? "model" : "user");
	empty = x->w.out->len;
	code = th_gemini_content(x, g->content);
	if (x->w.out->len == empty) /* a content must have parts */
		th_buf_truncate(x->w.out, start);
	else
		close_content(x);
	return code;
}

/* ---- answers ---- */

struct th_str th_gemini_call_name(struct th_str call)
{
	struct th_str name = th_json_raw_get(call, "function");

	if (name.len <= 2)
		name = th_json_raw_get(call, "name");
	if (name.len <= 2)
		name = th_json_raw_get(call, "type");
	return name.len > 2 && name.ptr[0] == '"' ? name : TH_STR("\"call\"");
}

/* {"actions":[…]}: what no word of the model's says. */
static void say_as_computer(struct th_str item, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_buf args = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw inner = th_jw(&args);
	struct th_str actions = th_json_raw_get(item, "actions");

	if (!actions.len)
		actions = th_json_raw_get(item, "action");
	th_jw_object(&inner);
	th_jw_kraw(&inner, "actions", actions.len ? actions : TH_STR("[]"));
	th_jw_object_end(&inner);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call"));
	if (th_json_raw_get(item, "call_id").len)
		th_jw_kraw(&w, "call_id", th_json_raw_get(item, "call_id"));
	th_jw_kstr(&w, "name", TH_STR("computer"));
	th_jw_kstr(&w, "arguments", th_buf_str(&args));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_buf_deinit(&args);
}

void th_gemini_calls(const struct th_request_options *o, struct th_str item, struct th_buf *out)
{
	const struct th_dialect *d = o->profile->dialect;
	struct th_dialect_context c = th_gemini_context(o);
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&list);

	th_jw_array(&w);
	th_jw_raw(&w, item);
	th_jw_array_end(&w);
	if (!th_str_is(th_gemini_raw_str(item, "type"), "computer_call") ||
	    (th_json_raw_get(item, "name").len > 2 && th_json_raw_get(item, "arguments").len)) {
		th_buf_add(out, th_buf_str(&list));
	} else {
		size_t start = out->len;
		bool good = d && d->encode && c.screen.width > 0 &&
			    !d->encode(&c, th_buf_str(&list), out, NULL) && out->len > start + 2;

		if (!good) {
			th_buf_truncate(out, start);
			say_as_computer(item, out);
		}
	}
	th_buf_deinit(&list);
}

enum th_code th_gemini_put_result(struct th_group_writer *x, const struct th_result *r,
				  th_gemini_result_fn *put)
{
	struct th_buf calls = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;
	struct th_str call = { NULL, 0 };
	enum th_code code = TH_OK;

	th_gemini_calls(x->o, r->call_item, &calls);
	it = th_json_raw_iter(th_buf_str(&calls));
	if (th_json_raw_next(&it))
		call = it.val;
	while (!code && th_json_raw_next(&it)) {
		code = put(x, r, call, false);
		call = it.val;
	}
	if (!code)
		code = put(x, r, call, true);
	th_buf_deinit(&calls);
	return code;
}

/* `arguments` is a raw string of JSON; what is no object is given as a string. */
static void put_args(struct th_group_writer *x, struct th_str arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc = NULL;

	th_jw_key(&x->w, TH_STR("args"));
	if (!th_json_unescape(arguments, &text) || !text.len) {
		th_jw_raw(&x->w, TH_STR("{}"));
	} else if (!th_json_parse(th_buf_str(&text), &doc, NULL) &&
		   th_json_is_object(th_json_root(doc))) {
		th_jw_raw(&x->w, th_str_trim(th_buf_str(&text)));
	} else {
		th_jw_object(&x->w);
		th_jw_kraw(&x->w, "arguments", arguments);
		th_jw_object_end(&x->w);
	}
	th_json_free(doc);
	th_buf_deinit(&text);
}

static void put_call(struct th_group_writer *x, struct th_str call, bool sign)
{
	th_jw_object(&x->w);
	th_jw_key(&x->w, TH_STR("functionCall"));
	th_jw_object(&x->w);
	if (th_json_raw_get(call, "id").len) /* see gemini.h */
		th_jw_kraw(&x->w, "id", th_json_raw_get(call, "call_id"));
	th_jw_kraw(&x->w, "name", th_gemini_call_name(call));
	put_args(x, th_json_raw_get(call, "arguments"));
	th_jw_object_end(&x->w);
	if (sign)
		th_jw_kstr(&x->w, "thoughtSignature", TH_STR(NO_SIGNATURE));
	th_jw_object_end(&x->w);
}

enum th_code th_gemini_item(struct th_group_writer *x, struct th_str item, bool *signs)
{
	struct th_str type = th_gemini_raw_str(item, "type");
	struct th_buf calls = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it;

	if (!item.len || item.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "an item must be an object");
	if (th_str_is(type, "message"))
		return th_gemini_content(x, th_json_raw_get(item, "content"));
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

enum th_code th_gemini_answer(struct th_group_writer *x, const struct th_group *g)
{
	bool own = th_str_is(th_gemini_raw_str(g->raw, "wire"), "gemini");
	struct th_str message = th_json_raw_get(g->raw, "message");
	struct th_json_raw_iter it;
	bool signs = !th_gemini_is_old(x->o->profile);
	size_t start = x->w.out->len, empty;
	enum th_code code = TH_OK;

	if (own && message.len) {
		it = th_json_raw_iter(th_json_raw_get(message, "parts"));
		if (th_json_raw_next(&it))
			th_jw_raw(&x->w, message);
		return TH_OK;
	}
	open_content(x, "model");
	empty = x->w.out->len;
	for (it = th_json_raw_iter(g->items); !code && th_json_raw_next(&it);)
		code = th_gemini_item(x, it.val, &signs);
	if (x->w.out->len == empty)
		th_buf_truncate(x->w.out, start);
	else
		close_content(x);
	return code;
}

enum th_code th_gemini_results(struct th_group_writer *x, const struct th_group *g)
{
	enum th_code code;

	open_content(x, "user");
	code = th_gemini_responses(x, g);
	close_content(x);
	return code;
}
