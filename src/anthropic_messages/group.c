/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - one group of the history as one message.  The API joins
 * neighbours of one role itself, so an answer that was paused and its
 * continuation, or results and what a person said after them, need no joining
 * here; results come first because the group before them is.
 */
#include "anthropic_messages/messages.h"
#include "anthropic_messages/view.h"
#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/anthropic.h"
#include "dialects/anthropic_own.h"
#include "model_wire/seal.h"

static struct th_str raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

/* A raw string in which nothing can be read: the API refuses such a text. */
static bool is_blank(struct th_str raw)
{
	struct th_str s = raw.len >= 2 ? th_str_sub(raw, 1, raw.len - 2) : raw;

	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\\' && i + 1 < s.len && strchr("nrtf", s.ptr[i + 1]))
			i++;
		else if (s.ptr[i] != ' ')
			return false;
	}
	return true;
}

static enum th_code add_hole(struct th_group_writer *x, struct th_hole hole)
{
	if (x->hole_count == x->hole_max)
		return th_fail(x->err, TH_ELIMIT, "more than %zu images in one group", x->hole_max);
	x->holes[x->hole_count++] = hole;
	return TH_OK;
}

/* Where the mark of the cache may go: inside of a block, behind its last member. */
static enum th_code put_mark(struct th_group_writer *x)
{
	size_t at = x->w.out->len;

	return add_hole(x, (struct th_hole){ TH_HOLE_MARK, at, at, at, at, { { 0 } }, false });
}

/* ---- parts of our own form ---- */

static enum th_code put_text(struct th_group_writer *x, struct th_str raw_text, bool mark)
{
	enum th_code code = TH_OK;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("text"));
	th_jw_kraw(&x->w, "text", is_blank(raw_text) ? TH_STR("\"[an empty message]\"") : raw_text);
	if (mark)
		code = put_mark(x);
	th_jw_object_end(&x->w);
	return code;
}

static enum th_code put_image(struct th_group_writer *x, struct th_str part)
{
	struct th_str media = raw_str(part, "media_type");
	struct th_hole hole = { .kind = TH_HOLE_IMAGE, .part = true };
	struct th_buf *out = x->w.out;

	if (!th_digest_parse(raw_str(part, "blob"), &hole.blob))
		return th_fail(x->err, TH_EPROTO,
			       "an image part's blob must be the 64 digits of a SHA-256");
	if (!x->o->profile->vision)
		return put_text(x, TH_STR("\"" TH_IMAGE_NOT_TAKEN "\""), false);
	th_jw_raw(&x->w, TH_STR("")); /* the comma */
	hole.from = out->len;
	th_buf_add_cstr(out,
			"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"");
	th_buf_add(out, media.len ? media : TH_STR("image/png"));
	th_buf_add_cstr(out, "\",\"data\":\"");
	hole.at = out->len;
	th_buf_add_cstr(out, "\"}}");
	hole.to = out->len;
	th_buf_add_cstr(out, "{\"type\":\"text\",\"text\":\"" TH_IMAGE_LEFT_OUT "\"}");
	hole.end = out->len;
	return add_hole(x, hole);
}

/* The text of a part that is one, raw; else absent. */
static struct th_str text_of(struct th_str part)
{
	static const char *const types[] = { "text", "input_text", "output_text" };
	struct th_str type = raw_str(part, "type"), text = { NULL, 0 };

	for (size_t i = 0; i < TH_COUNT(types); i++)
		if (th_str_is(type, types[i]))
			text = th_json_raw_get(part, "text");
	if (th_str_is(type, "refusal"))
		text = th_json_raw_get(part, "refusal");
	return text.len && text.ptr[0] == '"' ? text : (struct th_str){ NULL, 0 };
}

/* `mark`: after the text. */
static enum th_code put_part(struct th_group_writer *x, struct th_str part, bool mark)
{
	struct th_str text = text_of(part), type = raw_str(part, "type");

	if (!part.len || part.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "a part of a content list must be an object");
	if (text.len)
		return put_text(x, text, mark);
	if (th_str_is(type, "text"))
		return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
	if (th_str_is(type, "image") && th_json_raw_get(part, "blob").len)
		return put_image(x, part);
	if (th_str_is(type, "input_image") && !x->o->profile->vision)
		return put_text(x, TH_STR("\"" TH_IMAGE_NOT_TAKEN "\""), mark);
	if (!th_messages_put_media(&x->w, part))
		th_jw_raw(&x->w, part); /* one of the API's own: a document, a search result */
	return TH_OK;
}

/* A string, or a list of parts, as the elements of a list.  The last text takes the mark. */
static enum th_code put_parts(struct th_group_writer *x, struct th_str content, bool marks)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);
	const char *last = NULL;
	size_t count = 0;
	enum th_code code = TH_OK;

	if (content.len && content.ptr[0] == '"')
		return put_text(x, content, marks);
	if (!content.len || content.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO, "content must be a string or a list of parts");
	while (th_json_raw_next(&it)) {
		if (text_of(it.val).len)
			last = it.val.ptr;
		count++;
	}
	if (!count)
		return put_text(x, TH_STR("\"\""), marks);
	for (it = th_json_raw_iter(content); !code && th_json_raw_next(&it);)
		code = put_part(x, it.val, marks && it.val.ptr == last);
	return code;
}

/* ---- messages ---- */

static void open_message(struct th_group_writer *x, const char *role)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", th_str_of(role));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
}

static void close_message(struct th_group_writer *x)
{
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
}

/* Few models take a role system between messages; all take a user's message that says what it is.
 */
enum th_code th_messages_message(struct th_group_writer *x, const struct th_group *g)
{
	bool assistant = th_str_is(g->role, "assistant"), user = th_str_is(g->role, "user");
	bool system = th_str_is(g->role, "system") || th_str_is(g->role, "developer");
	enum th_code code = TH_OK;

	if (!assistant && !user && !system)
		return th_fail(x->err, TH_EPROTO,
			       "a message's role must be user, assistant, developer or system");
	open_message(x, assistant ? "assistant" : "user");
	if (system)
		code = put_text(x, TH_STR("\"The following is from the operator, not the user.\""),
				false);
	if (!code)
		code = put_parts(x, g->content, !assistant);
	close_message(x);
	return code;
}

/* ---- answers ---- */

/* Names without their date: signatures are good for the model that made them. */
static struct th_str family(struct th_str model)
{
	static const char digits[] = "0123456789";
	size_t len = model.len;

	if (th_str_ends(model, TH_STR("-latest")))
		return th_str_sub(model, 0, len - strlen("-latest"));
	while (len > 0 && memchr(digits, model.ptr[len - 1], sizeof(digits) - 1))
		len--;
	if (model.len - len == 8 && len > 1 &&
	    (model.ptr[len - 1] == '-' || model.ptr[len - 1] == '@'))
		return th_str_sub(model, 0, len - 1);
	return model;
}

static bool is_own(const struct th_group_writer *x, struct th_str message)
{
	struct th_str by = raw_str(message, "model");

	return !by.len || th_str_ieq(family(by), family(x->o->model));
}

/* Whether a block goes back: not an empty text, not thinking that the server cannot check. */
static bool is_kept(struct th_str block, bool own)
{
	struct th_str type = raw_str(block, "type");

	if (th_str_is(type, "text"))
		return !is_blank(th_json_raw_get(block, "text"));
	if (th_str_is(type, "thinking"))
		return own && raw_str(block, "signature").len;
	return own || !th_str_is(type, "redacted_thinking");
}

static void put_raw_answer(struct th_group_writer *x, struct th_str message)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(message, "content"));
	bool own = is_own(x, message), open = false;

	if (th_str_is(raw_str(message, "stop_reason"), "refusal"))
		return; /* with it in the history the model goes on refusing */
	while (!it.object && th_json_raw_next(&it)) {
		if (!is_kept(it.val, own))
			continue;
		if (!open)
			open_message(x, "assistant");
		open = true;
		th_jw_raw(&x->w, it.val);
	}
	if (open)
		close_message(x);
}

/* The API takes letters, digits, - and _. */
static void put_id(struct th_group_writer *x, const char *key, struct th_str id)
{
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);

	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];
		bool good = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
			    c == '-' || c == '_';

		th_buf_add_char(&text, good ? c : '_');
	}
	th_jw_kstr(&x->w, key, text.len ? th_buf_str(&text) : TH_STR("call"));
	th_buf_deinit(&text);
}

static bool is_computer_call(struct th_str item)
{
	return th_str_is(raw_str(item, "type"), "computer_call");
}

/* A call of another wire's model.  Input that is no object goes as text: it must not be lost. */
static void put_use(struct th_group_writer *x, struct th_str call_id, struct th_str name,
		    struct th_str input, const char *wrap)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *root;

	if (th_json_parse(input, &doc, NULL))
		doc = NULL;
	root = th_json_root(doc);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("tool_use"));
	put_id(x, "id", call_id);
	th_jw_kstr(&x->w, "name", name.len ? name : TH_STR("unknown"));
	th_jw_key(&x->w, TH_STR("input"));
	if (th_json_is_object(root)) {
		th_jw_json(&x->w, root);
	} else {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, wrap, input);
		th_jw_object_end(&x->w);
	}
	th_jw_object_end(&x->w);
	th_json_free(doc);
}

/* {"action":"left_click",…} as a call of the member tool. */
static void put_member(struct th_group_writer *x, struct th_str call_id, struct th_str input)
{
	struct th_json_raw_iter it = th_json_raw_iter(input);

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("tool_use"));
	put_id(x, "id", call_id);
	th_jw_kraw(&x->w, "name", th_json_raw_get(input, "action"));
	th_jw_kstr(&x->w, "toolset_name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	th_jw_key(&x->w, TH_STR("input"));
	th_jw_object(&x->w);
	while (th_json_raw_next(&it)) {
		if (th_str_is(it.key, "action"))
			continue;
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, it.key);
		th_buf_add(x->w.out, TH_STR("\":"));
		th_buf_add(x->w.out, it.val);
	}
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
}

/* In the tool's words; what they cannot say, in ours: the call must stand before its result. */
static void put_computer_call(struct th_group_writer *x, const struct th_json *item,
			      struct th_str raw)
{
	struct th_dialect_context c = { .profile = x->o->profile,
					.screen = x->o->screen,
					.image = x->o->image };
	struct th_buf input = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str call_id = th_json_get_str(item, "call_id");

	if (x->o->image.width < 1 || x->o->screen.width < 1 ||
	    th_anthropic_input(&c, item, &input, NULL)) {
		struct th_str actions = th_json_raw_get(raw, "actions");
		struct th_jw w = th_jw(&input);

		th_buf_clear(&input);
		th_jw_object(&w);
		th_jw_kraw(&w, "actions",
			   actions.len                          ? actions
			   : th_json_raw_get(raw, "action").len ? th_json_raw_get(raw, "action")
								: TH_STR("[]"));
		th_jw_object_end(&w);
	}
	if (th_messages_is_toolset(x->o->profile) &&
	    th_json_raw_get(th_buf_str(&input), "action").len)
		put_member(x, call_id, th_buf_str(&input));
	else
		put_use(x, call_id, TH_STR(TH_COMPUTER_FUNCTION_NAME), th_buf_str(&input),
			"actions");
	th_buf_deinit(&input);
}

/* As it was signed: it came here through a client. */
static void put_thinking(struct th_group_writer *x, const struct th_json *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);

	th_seal_text(item, &text);
	th_seal_put_block(&x->w, th_buf_str(&text), th_json_get_str(item, "encrypted_content"));
}

/* Items of another wire's answer: its private reasoning and its own tools stay behind. */
static enum th_code put_item(struct th_group_writer *x, const struct th_json *item,
			     struct th_str raw, bool *open)
{
	struct th_str type = th_json_get_str(item, "type"), input;
	bool thinking = th_str_is(type, "reasoning") &&
			th_seal_is_own(th_json_get_str(item, "encrypted_content"));
	bool message = th_str_is(type, "message"), call = th_str_is(type, "function_call"),
	     custom = th_str_is(type, "custom_tool_call"), computer = is_computer_call(raw);
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(raw, "content"));
	enum th_code code = TH_OK;

	if (!message && !call && !custom && !computer && !thinking)
		return TH_OK;
	if (!*open && !message)
		open_message(x, "assistant");
	*open = *open || !message;
	if (computer) {
		put_computer_call(x, item, raw);
		return TH_OK;
	}
	if (thinking) {
		put_thinking(x, item);
		return TH_OK;
	}
	if (!message) {
		input = th_json_get_str(item, custom ? "input" : "arguments");
		put_use(x, th_json_get_str(item, "call_id"),
			th_own_form_name(x->o->profile, x->o->tools, x->o->tool_count,
					 th_json_get_str(item, "name")),
			input, custom ? "input" : "arguments");
		return TH_OK;
	}
	while (!code && !it.object && th_json_raw_next(&it)) {
		struct th_str text = text_of(it.val);

		if (!text.len || is_blank(text))
			continue;
		if (!*open)
			open_message(x, "assistant");
		*open = true;
		code = put_text(x, text, false);
	}
	return code;
}

static enum th_code put_items(struct th_group_writer *x, struct th_str items)
{
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	bool open = false;
	enum th_code code = th_json_parse(items, &doc, x->err);

	for (it = th_json_iter(th_json_root(doc));
	     !code && th_json_next(&it) && th_json_raw_next(&raw);)
		code = put_item(x, it.val, raw.val, &open);
	if (open)
		close_message(x);
	th_json_free(doc);
	return code;
}

enum th_code th_messages_answer(struct th_group_writer *x, const struct th_group *g)
{
	struct th_str message = th_json_raw_get(g->raw, "message");

	if (message.len && th_str_is(raw_str(g->raw, "wire"), "messages")) {
		put_raw_answer(x, message);
		return TH_OK;
	}
	if (!g->items.len || g->items.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO, "the items of an answer must be a list");
	return put_items(x, g->items);
}

/* ---- results ---- */

/* Text alone: with a picture the API takes no error. */
static bool is_text(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	while (output.len && output.ptr[0] == '[' && th_json_raw_next(&it))
		if (!text_of(it.val).len)
			return false;
	return true;
}

/* Whether anything is in it that may be sent. */
static bool has_content(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (output.len && output.ptr[0] == '"')
		return !is_blank(output);
	return !it.object && th_json_raw_next(&it);
}

static enum th_code put_result(struct th_group_writer *x, const struct th_result *r, bool mark)
{
	enum th_code code = TH_OK;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("tool_result"));
	put_id(x, "tool_use_id", r->call_id);
	if (is_computer_call(r->call_item) && th_messages_is_toolset(x->o->profile))
		th_jw_kstr(&x->w, "toolset_name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	if (has_content(r->output)) {
		th_jw_key(&x->w, TH_STR("content"));
		th_jw_array(&x->w);
		code = put_parts(x, r->output, false);
		th_jw_array_end(&x->w);
	}
	if (r->status != TH_OUTCOME_DONE && is_text(r->output))
		th_jw_kbool(&x->w, "is_error", true);
	if (!code && mark)
		code = put_mark(x);
	th_jw_object_end(&x->w);
	return code;
}

enum th_code th_messages_results(struct th_group_writer *x, const struct th_group *g)
{
	enum th_code code = TH_OK;

	open_message(x, "user");
	for (size_t i = 0; !code && i < g->result_count; i++)
		code = put_result(x, &g->results[i], i + 1 == g->result_count);
	close_message(x);
	return code;
}
