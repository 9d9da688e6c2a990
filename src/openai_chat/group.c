/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - the messages of a request: of a person, and with the results
 * of calls.  The tool role takes text only, so pictures follow in a message of
 * the user after all results.
 */
#include "base/hash.h"
#include "openai_chat/writer.h"

struct th_str th_chat_raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

static enum th_code add_hole(struct th_group_writer *x, struct th_hole hole)
{
	if (x->hole_count == x->hole_max)
		return th_fail(x->err, TH_ELIMIT, "more than %zu images in one group", x->hole_max);
	x->holes[x->hole_count++] = hole;
	return TH_OK;
}

/* `mark`: the cache's may go inside of it, behind its last member, unless it is empty. */
static enum th_code put_text_part(struct th_group_writer *x, struct th_str raw, bool mark)
{
	enum th_code code = TH_OK;
	size_t at;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("text"));
	th_jw_kraw(&x->w, "text", raw);
	at = x->w.out->len;
	if (mark && raw.len > 2)
		code =
		    add_hole(x, (struct th_hole){ TH_HOLE_MARK, at, at, at, at, { { 0 } }, false });
	th_jw_object_end(&x->w);
	return code;
}

static void put_words(struct th_group_writer *x, const char *text)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("text"));
	th_jw_kstr(&x->w, "text", th_str_of(text));
	th_jw_object_end(&x->w);
}

/* "data:<type>;base64,<hole>", and the words for when it is left out. */
static enum th_code put_image(struct th_group_writer *x, struct th_str part)
{
	struct th_str media = th_chat_raw_str(part, "media_type");
	struct th_hole *hole;
	struct th_digest digest;

	if (!x->o->profile->vision) {
		put_words(x, TH_IMAGE_NOT_TAKEN);
		return TH_OK;
	}
	if (!th_digest_parse(th_chat_raw_str(part, "blob"), &digest))
		return th_fail(x->err, TH_EPROTO,
			       "an image part's blob must be the 64 digits of a SHA-256");
	if (add_hole(x, (struct th_hole){ .kind = TH_HOLE_IMAGE, .blob = digest, .part = true }) <
	    0)
		return TH_ELIMIT;
	hole = &x->holes[x->hole_count - 1];
	th_jw_object(&x->w);
	hole->from = x->w.out->len - 1; /* behind the comma */
	th_jw_kstr(&x->w, "type", TH_STR("image_url"));
	th_jw_key(&x->w, TH_STR("image_url"));
	th_jw_raw(&x->w, TH_STR("{\"url\":\"data:"));
	th_buf_add(x->w.out, media.len ? media : TH_STR("image/png"));
	th_buf_add(x->w.out, TH_STR(";base64,"));
	hole->at = x->w.out->len;
	th_buf_add(x->w.out, TH_STR("\"}"));
	th_jw_object_end(&x->w);
	hole->to = x->w.out->len;
	th_buf_add(x->w.out, TH_STR("{\"type\":\"text\",\"text\":\"" TH_IMAGE_LEFT_OUT "\"}"));
	hole->end = x->w.out->len;
	return TH_OK;
}

/* {"type":"input_image","image_url":"…","detail":…} of the unified form. */
static void put_input_image(struct th_group_writer *x, struct th_str part)
{
	struct th_str detail = th_json_raw_get(part, "detail");

	if (!x->o->profile->vision) {
		put_words(x, TH_IMAGE_NOT_TAKEN);
		return;
	}
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("image_url"));
	th_jw_key(&x->w, TH_STR("image_url"));
	th_jw_object(&x->w);
	th_jw_kraw(&x->w, "url", th_json_raw_get(part, "image_url"));
	if (detail.len && detail.ptr[0] == '"')
		th_jw_kraw(&x->w, "detail", detail);
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
}

/* {"type":"input_file",…}: its members are those of {"type":"file","file":{…}}. */
static void put_input_file(struct th_group_writer *x, struct th_str part)
{
	struct th_json_raw_iter it = th_json_raw_iter(part);

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("file"));
	th_jw_key(&x->w, TH_STR("file"));
	th_jw_object(&x->w);
	while (th_json_raw_next(&it))
		if (!th_str_is(it.key, "type"))
			th_chat_put_member(&x->w, it.key, it.val);
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
}

static bool is_str(struct th_str raw)
{
	return raw.len && raw.ptr[0] == '"';
}

static enum th_code put_part(struct th_group_writer *x, struct th_str part, bool mark)
{
	struct th_str type = th_chat_raw_str(part, "type"), text = th_json_raw_get(part, "text");

	if (!part.len || part.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "a part of a content list must be an object");
	if (th_str_is(type, "image"))
		return put_image(x, part);
	if (th_str_is(type, "input_image") && is_str(th_json_raw_get(part, "image_url"))) {
		put_input_image(x, part);
	} else if (th_str_is(type, "input_file")) {
		put_input_file(x, part);
	} else if (th_str_is(type, "input_text") || th_str_is(type, "output_text")) {
		if (!is_str(text))
			return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
		return put_text_part(x, text, mark);
	} else if (th_str_is(type, "text") && !is_str(text)) {
		return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
	} else if (th_str_is(type, "text") && mark) {
		return put_text_part(x, text, true);
	} else {
		th_jw_raw(&x->w, part);
	}
	return TH_OK;
}

enum th_code th_chat_put_part(struct th_group_writer *x, struct th_str part)
{
	return put_part(x, part, false);
}

/* The last text of a list takes the mark. */
static enum th_code put_parts(struct th_group_writer *x, struct th_str list, bool marks)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	const char *last = NULL;
	enum th_code code = TH_OK;

	while (marks && th_json_raw_next(&it))
		if (is_str(th_json_raw_get(it.val, "text")))
			last = it.val.ptr;
	for (it = th_json_raw_iter(list); !code && th_json_raw_next(&it);)
		code = put_part(x, it.val, it.val.ptr == last);
	return code;
}

void th_chat_add_text(struct th_str content, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);

	if (content.len >= 2 && content.ptr[0] == '"') {
		th_buf_add(out, th_str_sub(content, 1, content.len - 2));
		return;
	}
	while (th_json_raw_next(&it)) {
		struct th_str text = th_chat_raw_str(it.val, "text");

		if (!text.len)
			text = th_chat_raw_str(it.val, "refusal");
		if (text.len && out->len)
			th_buf_add(out, TH_STR("\\n"));
		th_buf_add(out, text);
	}
}

/* ---- ids ---- */

static bool is_short_id(struct th_str id)
{
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];

		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
			return false;
	}
	return id.len == 9;
}

#define ID_MAX 64

void th_chat_put_id(struct th_group_writer *x, struct th_str id)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest;

	if (th_chat_flavour_of(x->o->profile)->short_ids ? is_short_id(id)
							 : id.len > 0 && id.len <= ID_MAX) {
		th_jw_str(&x->w, id);
		return;
	}
	digest = th_sha256_of(id.ptr, id.len);
	th_digest_hex(&digest, hex);
	th_jw_str(&x->w, th_str_n(hex, th_chat_flavour_of(x->o->profile)->short_ids ? 9 : 32));
}

/* ---- messages ---- */

static const char *role_of(const struct th_group_writer *x, struct th_str role)
{
	if (th_str_is(role, "user"))
		return "user";
	if (th_str_is(role, "assistant"))
		return "assistant";
	if (th_str_is(role, "system"))
		return "system";
	if (th_str_is(role, "developer")) /* few but OpenAI know it */
		return x->o->profile->strict ? "developer" : "system";
	return NULL;
}

enum th_code th_chat_message(struct th_group_writer *x, const struct th_group *g)
{
	const char *role = role_of(x, g->role);
	bool user = role && !strcmp(role, "user"), marks = user && th_chat_marks(x->o);
	enum th_code code = TH_OK;

	if (!role)
		return th_fail(x->err, TH_EPROTO,
			       "a message's role must be user, assistant, developer or system");
	if (!g->content.len || (g->content.ptr[0] != '"' && g->content.ptr[0] != '['))
		return th_fail(x->err, TH_EPROTO, "content must be a string or a list of parts");
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", th_str_of(role));
	th_jw_key(&x->w, TH_STR("content"));
	if (g->content.ptr[0] == '"' && marks) {
		th_jw_array(&x->w);
		code = put_text_part(x, g->content, true);
		th_jw_array_end(&x->w);
	} else if (g->content.ptr[0] == '"') {
		th_jw_raw(&x->w, g->content);
	} else if (!user) { /* text for all others, which every server takes */
		th_jw_raw(&x->w, TH_STR("\""));
		struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
		th_chat_add_text(g->content, &text);
		th_buf_add(x->w.out, th_buf_str(&text));
		th_buf_deinit(&text);
		th_buf_add_char(x->w.out, '"');
	} else {
		th_jw_array(&x->w);
		code = put_parts(x, g->content, marks);
		th_jw_array_end(&x->w);
	}
	th_jw_object_end(&x->w);
	return code;
}

/* ---- results ---- */

static bool is_image(struct th_str part)
{
	struct th_str type = th_chat_raw_str(part, "type");

	return th_str_is(type, "image") || th_str_is(type, "input_image") ||
	       th_str_is(type, "image_url");
}

static bool has_image(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	while (!it.object && th_json_raw_next(&it))
		if (is_image(it.val))
			return true;
	return false;
}

/* A dialect's call was text, and so is its result. */
static bool is_for_user(const struct th_group_writer *x, const struct th_result *r)
{
	const struct th_dialect *dialect = x->o->profile->dialect;

	return dialect && dialect->results_as_user &&
	       (dialect->tools_in_prompt ||
		th_str_is(th_chat_raw_str(r->call_item, "type"), "computer_call"));
}

static enum th_code put_tool_message(struct th_group_writer *x, const struct th_result *r,
				     bool mark)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX), quoted = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code = TH_OK;

	if (!r->output.len || (r->output.ptr[0] != '"' && r->output.ptr[0] != '['))
		return th_fail(x->err, TH_EPROTO, "a result must be a string or a list of parts");
	th_chat_add_text(r->output, &text);
	if (!text.len)
		th_buf_add(&text, has_image(r->output) ? TH_STR("Done; the picture follows.")
						       : TH_STR("Done; there is no output."));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", TH_STR("tool"));
	th_jw_key(&x->w, TH_STR("tool_call_id"));
	th_chat_put_id(x, r->call_id);
	th_jw_key(&x->w, TH_STR("content"));
	th_buf_printf(&quoted, "\"%.*s\"", TH_FMT(th_buf_str(&text)));
	if (mark) {
		th_jw_array(&x->w);
		code = put_text_part(x, th_buf_str(&quoted), true);
		th_jw_array_end(&x->w);
	} else {
		th_jw_raw(&x->w, th_buf_str(&quoted));
	}
	th_jw_object_end(&x->w);
	th_buf_deinit(&quoted);
	th_buf_deinit(&text);
	return code;
}

/* As OpenHands says it. */
static void put_result_of(struct th_group_writer *x, const struct th_result *r)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, "EXECUTION RESULT of [%.*s]:", TH_FMT(r->tool));
	put_words(x, text.ptr);
}

/* Text of a dialect's result, and the pictures of any, as parts of a message of the user. */
static enum th_code put_user_parts(struct th_group_writer *x, const struct th_result *r, bool named)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->output);
	bool for_user = is_for_user(x, r);
	size_t start = x->w.out->len;
	enum th_code code = TH_OK;

	if (for_user && x->o->profile->dialect->tools_in_prompt && r->tool.len)
		put_result_of(x, r);
	if (for_user && r->output.len > 2 && r->output.ptr[0] == '"')
		code = put_text_part(x, r->output, false);
	if (!for_user && named && has_image(r->output)) {
		struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

		th_buf_add(&text, TH_STR("From the call of "));
		th_buf_add(&text, r->tool.len ? r->tool : TH_STR("the tool"));
		th_buf_add(&text, TH_STR(" with the id "));
		th_buf_add(&text, r->call_id);
		th_buf_add_char(&text, ':');
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("text"));
		th_jw_kstr(&x->w, "text", th_buf_str(&text));
		th_jw_object_end(&x->w);
		th_buf_deinit(&text);
	}
	while (!code && !it.object && th_json_raw_next(&it))
		if (for_user || is_image(it.val))
			code = th_chat_put_part(x, it.val);
	if (!code && for_user && x->w.out->len == start)
		put_words(x, "Done; there is no output.");
	return code;
}

static enum th_code put_user_message(struct th_group_writer *x, const struct th_group *g,
				     bool answered)
{
	enum th_code code = TH_OK;

	if (answered && th_chat_flavour_of(x->o->profile)->answer_first)
		th_jw_raw(&x->w, TH_STR("{\"role\":\"assistant\",\"content\":\"OK\"}"));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", TH_STR("user"));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
	for (size_t i = 0; i < g->result_count && !code; i++)
		code = put_user_parts(x, &g->results[i], g->result_count > 1);
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

enum th_code th_chat_results(struct th_group_writer *x, const struct th_group *g)
{
	bool user = false, answered = false, marks = th_chat_marks(x->o);
	enum th_code code = TH_OK;

	for (size_t i = 0; i < g->result_count && !code; i++) {
		const struct th_result *r = &g->results[i];
		bool for_user = is_for_user(x, r);

		user = user || for_user || has_image(r->output);
		answered = answered || !for_user;
		if (!for_user)
			code = put_tool_message(x, r, marks && i + 1 == g->result_count);
	}
	return user && !code ? put_user_message(x, g, answered) : code;
}
