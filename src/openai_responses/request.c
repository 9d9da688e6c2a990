/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - requests of the Responses wire.  Nothing is kept at
 * the server (store: false) but for agents that want it; opaque reasoning
 * travels in the items.
 */
#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/dialect.h"
#include "events/native.h"
#include "model_wire/format.h"
#include "openai_responses/responses.h"
#include "openai_responses/writer.h"

/* ---- head and tail ---- */

static void put_computer(const struct th_request_options *o, struct th_jw *w)
{
	switch (o->profile->computer) {
	case TH_COMPUTER_NONE:
	case TH_COMPUTER_NATIVE:
	case TH_COMPUTER_DIALECT:
	case TH_COMPUTER_CLICK:
		break;
	case TH_COMPUTER_PREVIEW:
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("computer_use_preview"));
		th_jw_kint(w, "display_width", o->screen.width);
		th_jw_kint(w, "display_height", o->screen.height);
		/* The provider's words. */
		th_jw_kraw(w, "environment",
			   o->has_pages ? TH_STR("\"browser\"") : TH_STR("\"linux\""));
		th_jw_object_end(w);
		break;
	case TH_COMPUTER_GA:
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("computer"));
		th_jw_object_end(w);
		break;
	case TH_COMPUTER_FUNCTION:
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
		th_jw_key(w, TH_STR("description"));
		th_computer_function_description(o->screen, w);
		th_jw_key(w, TH_STR("parameters"));
		th_computer_function_schema(w);
		th_jw_kbool(w, "strict", false);
		th_jw_object_end(w);
		break;
	}
}

static struct th_dialect_context context_of(const struct th_request_options *o)
{
	return (struct th_dialect_context){ .profile = o->profile,
					    .screen = o->screen,
					    .image = o->image };
}

/* The dialect writes {name, description, parameters}. */
static void put_dialect_tools(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = context_of(o);
	struct th_buf list = TH_BUF_INIT(TH_MIB);
	struct th_jw inner = th_jw(&list);
	struct th_json_raw_iter it;

	th_jw_array(&inner);
	if (o->profile->dialect->tools)
		o->profile->dialect->tools(&c, &inner);
	th_jw_array_end(&inner);
	it = th_json_raw_iter(th_buf_str(&list));
	while (th_json_raw_next(&it)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kraw(w, "name", th_json_raw_get(it.val, "name"));
		th_jw_kraw(w, "description", th_json_raw_get(it.val, "description"));
		th_jw_kraw(w, "parameters", th_json_raw_get(it.val, "parameters"));
		th_jw_kbool(w, "strict", false);
		th_jw_object_end(w);
	}
	th_buf_deinit(&list);
}

/* Of a tool that the provider runs: its type or, of an MCP server, its label. */
static bool put_hosted_choice(const struct th_request_options *o, struct th_jw *w)
{
	struct th_json_raw_iter it =
	    th_json_raw_iter(o->agent ? o->agent->hosted_tools : TH_STR(""));

	while (th_json_raw_next(&it)) {
		struct th_str type = th_writer_raw_str(it.val, "type");
		bool mcp = th_str_is(type, "mcp");

		if (!th_str_eq(mcp ? th_writer_raw_str(it.val, "server_label") : type,
			       o->choice.tool))
			continue;
		th_jw_kstr(w, "type", type);
		if (mcp)
			th_jw_kstr(w, "server_label", o->choice.tool);
		return true;
	}
	return false;
}

static void put_named_choice(const struct th_request_options *o, struct th_jw *w)
{
	bool computer = th_choice_is_computer(o);
	enum th_native native = TH_NATIVE_NONE;

	for (size_t i = 0; i < o->tool_count; i++)
		if (o->tools[i].native && th_str_eq(o->tools[i].name, o->choice.tool))
			native = o->tools[i].native->kind;
	if (!th_native_is_item(native))
		native = TH_NATIVE_NONE;
	th_jw_object(w);
	if (native == TH_NATIVE_CUSTOM) {
		th_jw_kstr(w, "type", TH_STR("custom"));
		th_jw_kstr(w, "name", o->choice.tool);
	} else if (native) {
		th_jw_kstr(w, "type",
			   native == TH_NATIVE_LOCAL_SHELL ? TH_STR("local_shell")
							   : o->choice.tool);
	} else if (computer && o->profile->computer == TH_COMPUTER_PREVIEW) {
		th_jw_kstr(w, "type", TH_STR("computer_use_preview"));
	} else if (computer && o->profile->computer == TH_COMPUTER_GA) {
		th_jw_kstr(w, "type", TH_STR("computer"));
	} else if (!put_hosted_choice(o, w)) {
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kstr(w, "name", o->choice.tool);
	}
	th_jw_object_end(w);
}

static void put_format(const struct th_request_options *o, struct th_jw *w)
{
	if (!th_format_wanted(o))
		return;
	th_jw_key(w, TH_STR("text"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("format"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("json_schema"));
	th_jw_kstr(w, "name", th_format_name(o));
	th_jw_kraw(w, "schema", o->format.schema);
	th_jw_kbool(w, "strict", o->format.strict);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void put_named(const char *type, const struct th_tool_spec *t, struct th_jw *w)
{
	th_jw_kstr(w, "type", th_str_of(type));
	th_jw_kstr(w, "name", t->name);
	if (t->description.len)
		th_jw_kstr(w, "description", t->description);
}

static void put_tool(const struct th_tool_spec *t, struct th_jw *w)
{
	switch (t->native ? t->native->kind : TH_NATIVE_NONE) {
	case TH_NATIVE_SHELL:
		th_jw_kstr(w, "type", TH_STR("shell"));
		th_jw_kraw(w, "environment", TH_STR("{\"type\":\"local\"}"));
		break;
	case TH_NATIVE_LOCAL_SHELL:
		th_jw_kstr(w, "type", TH_STR("local_shell"));
		break;
	case TH_NATIVE_PATCH:
		th_jw_kstr(w, "type", TH_STR("apply_patch"));
		break;
	case TH_NATIVE_CUSTOM:
		put_named("custom", t, w);
		if (t->native->format.len)
			th_jw_kraw(w, "format", t->native->format);
		break;
	case TH_NATIVE_NONE:
	case TH_NATIVE_MCP:
	case TH_NATIVE_BASH:
	case TH_NATIVE_EDITOR:
	case TH_NATIVE_MEMORY:
	case TH_NATIVE_COUNT:
		put_named("function", t, w);
		th_jw_kraw(w, "parameters", t->schema);
		th_jw_kbool(w, "strict", t->strict);
		break;
	}
}

static void put_tools(const struct th_request_options *o, struct th_jw *w)
{
	bool computer = o->has_computer && o->profile->computer != TH_COMPUTER_NONE;
	struct th_json_raw_iter hosted =
	    th_json_raw_iter(o->agent ? o->agent->hosted_tools : TH_STR(""));

	if (!o->tool_count && !computer && !(o->agent && o->agent->hosted_tools.len))
		return;
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	if (computer)
		put_computer(o, w);
	if (computer && o->profile->computer == TH_COMPUTER_DIALECT)
		put_dialect_tools(o, w);
	for (size_t i = 0; i < o->tool_count; i++) {
		th_jw_object(w);
		put_tool(&o->tools[i], w);
		th_jw_object_end(w);
	}
	/* What the provider does itself comes back as items, and asks nothing of us. */
	while (th_json_raw_next(&hosted))
		th_jw_raw(w, hosted.val);
	th_jw_array_end(w);
	th_choice_put(o, w, put_named_choice);
	if (computer && o->profile->computer == TH_COMPUTER_PREVIEW)
		th_jw_kstr(w, "truncation", TH_STR("auto")); /* the tool demands it */
}

static void put_settings(const struct th_agent_model_settings *s, struct th_jw *w)
{
	if (!s)
		return;
	if (s->effort.len || s->summary.len) {
		th_jw_key(w, TH_STR("reasoning"));
		th_jw_object(w);
		if (s->effort.len)
			th_jw_kstr(w, "effort", s->effort);
		if (s->summary.len)
			th_jw_kstr(w, "summary", s->summary);
		th_jw_object_end(w);
	}
	if (s->temperature >= 0)
		th_jw_kreal(w, "temperature", s->temperature);
	if (s->top_p >= 0)
		th_jw_kreal(w, "top_p", s->top_p);
	if (s->max_output_tokens > 0)
		th_jw_kint(w, "max_output_tokens", s->max_output_tokens);
}

static void put_instructions(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_dialect *dialect = o->has_computer ? o->profile->dialect : NULL;
	struct th_dialect_context c = context_of(o);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	if (o->agent)
		th_buf_add(&text, o->agent->instructions);
	if (dialect && dialect->prompt) {
		th_buf_add_cstr(&text, text.len ? "\n\n" : "");
		dialect->prompt(&c, &text);
	}
	if (text.len)
		th_jw_kstr(w, "instructions", th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_store(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	th_jw_kbool(w, "store", th_request_stores(o));
	if (s && s->background)
		th_jw_kbool(w, "background", true);
	if (o->previous.len)
		th_jw_kstr(w, o->conversation ? "conversation" : "previous_response_id",
			   o->previous);
}

/* The provider shortens the history itself, and says so with an item. */
static void put_compaction(const struct th_request_options *o, struct th_jw *w)
{
	int64_t tokens = th_request_compacts(o);

	if (!tokens)
		return;
	th_jw_key(w, TH_STR("context_management"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("compaction"));
	th_jw_kint(w, "compact_threshold", tokens);
	th_jw_object_end(w);
	th_jw_array_end(w);
}

void th_responses_head(const struct th_request_options *o, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", o->model);
	put_instructions(o, &w);
	put_tools(o, &w);
	if (o->agent)
		put_settings(o->agent->settings, &w);
	put_format(o, &w);
	put_store(o, &w);
	put_compaction(o, &w);
	if (o->profile->reasoning)
		th_jw_kraw(&w, "include", TH_STR("[\"reasoning.encrypted_content\"]"));
	th_jw_kbool(&w, "stream", o->stream);
	th_jw_key(&w, TH_STR("input"));
	th_jw_array(&w);
}

void th_responses_tail(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("]}"));
}

/* ---- entries ---- */

struct th_str th_writer_raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

/* "data:<type>;base64,<hole>" */
enum th_code th_writer_image_url(struct th_group_writer *x, struct th_str part, size_t from,
				 struct th_hole **ret)
{
	struct th_str media = th_writer_raw_str(part, "media_type"),
		      blob = th_writer_raw_str(part, "blob");
	struct th_digest digest;
	struct th_hole *hole;

	if (!th_digest_parse(blob, &digest))
		return th_fail(x->err, TH_EPROTO,
			       "an image part's blob must be the 64 digits of a SHA-256");
	if (x->hole_count == x->hole_max)
		return th_fail(x->err, TH_ELIMIT, "more than %zu images in one group", x->hole_max);
	th_jw_raw(&x->w, TH_STR("\"data:"));
	th_buf_add(x->w.out, media.len ? media : TH_STR("image/png"));
	th_buf_add(x->w.out, TH_STR(";base64,"));
	hole = *ret = &x->holes[x->hole_count++];
	*hole = (struct th_hole){ .kind = TH_HOLE_IMAGE, .from = from, .blob = digest };
	hole->at = x->w.out->len;
	th_buf_add_char(x->w.out, '"');
	return TH_OK;
}

/* A part with a picture, and the words that stand for it when it is left out. */
static enum th_code put_image(struct th_group_writer *x, struct th_str part)
{
	struct th_hole *hole = NULL;
	enum th_code code;

	th_jw_object(&x->w);
	size_t from = x->w.out->len - 1; /* behind the comma */
	th_jw_kstr(&x->w, "type", TH_STR("input_image"));
	th_jw_key(&x->w, TH_STR("image_url"));
	code = th_writer_image_url(x, part, from, &hole);
	if (code || !hole)
		return code;
	th_jw_kstr(&x->w, "detail", TH_STR("auto"));
	th_jw_object_end(&x->w);
	hole->part = true;
	hole->to = x->w.out->len;
	th_buf_add_cstr(x->w.out, "{\"type\":\"input_text\",\"text\":\"" TH_IMAGE_LEFT_OUT "\"}");
	hole->end = x->w.out->len;
	return TH_OK;
}

bool th_writer_is_image(struct th_str part)
{
	return th_str_is(th_writer_raw_str(part, "type"), "image");
}

/* One part of our own form, or one of the API's, which is left as it is. */
enum th_code th_writer_part(struct th_group_writer *x, struct th_str part, bool assistant)
{
	struct th_str type = th_writer_raw_str(part, "type"), text = th_json_raw_get(part, "text");

	if (!part.len || part.ptr[0] != '{')
		return th_fail(x->err, TH_EPROTO, "a part of a content list must be an object");
	if (th_str_is(type, "text")) {
		if (!text.len || text.ptr[0] != '"')
			return th_fail(x->err, TH_EPROTO, "a text part's text must be a string");
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", assistant ? TH_STR("output_text") : TH_STR("input_text"));
		th_jw_kraw(&x->w, "text", text);
		th_jw_object_end(&x->w);
		return TH_OK;
	}
	if (!th_writer_is_image(part)) {
		th_jw_raw(&x->w, part);
		return TH_OK;
	}
	if (x->o->profile->vision && !assistant)
		return put_image(x, part);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", assistant ? TH_STR("output_text") : TH_STR("input_text"));
	th_jw_kstr(&x->w, "text", TH_STR(TH_IMAGE_NOT_TAKEN));
	th_jw_object_end(&x->w);
	return TH_OK;
}

/* A string, or a list of parts. */
enum th_code th_writer_content(struct th_group_writer *x, struct th_str content, bool assistant)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);
	enum th_code code = TH_OK;

	if (content.len && content.ptr[0] == '"') {
		th_jw_raw(&x->w, content);
		return TH_OK;
	}
	if (!content.len || content.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO, "content must be a string or a list of parts");
	th_jw_array(&x->w);
	while (!code && th_json_raw_next(&it))
		code = th_writer_part(x, it.val, assistant);
	th_jw_array_end(&x->w);
	return code;
}

enum th_code th_responses_message(struct th_group_writer *x, const struct th_group *g)
{
	static const char *const roles[] = { "user", "assistant", "developer", "system" };
	bool known = false;
	enum th_code code;

	for (size_t i = 0; i < TH_COUNT(roles); i++)
		known = known || th_str_is(g->role, roles[i]);
	if (!known)
		return th_fail(x->err, TH_EPROTO,
			       "a message's role must be user, assistant, developer or system");
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("message"));
	th_jw_kstr(&x->w, "role", g->role);
	th_jw_key(&x->w, TH_STR("content"));
	code = th_writer_content(x, g->content, th_str_is(g->role, "assistant"));
	th_jw_object_end(&x->w);
	return code;
}

/* Items of an answer that came by another wire are unified items all the same; its own are
 * verbatim, and `raw` is then empty. */
enum th_code th_responses_answer(struct th_group_writer *x, const struct th_group *g)
{
	const struct th_dialect *dialect = x->o->profile->dialect;
	struct th_dialect_context c = context_of(x->o);
	struct th_buf said = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str items = g->items;
	struct th_json_raw_iter it;
	enum th_code code = TH_OK;

	if (dialect->encode) { /* in the model's own words again */
		code = dialect->encode(&c, g->items, &said, x->err);
		if (!code)
			code = th_buf_check(&said, "an answer in its dialect", x->err);
		items = th_buf_str(&said);
	}
	it = th_json_raw_iter(items);
	while (!code && th_json_raw_next(&it))
		code = th_writer_item(x, items, it.val);
	th_buf_deinit(&said);
	return code;
}

enum th_code th_responses_results(struct th_group_writer *x, const struct th_group *g)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < g->result_count && !code; i++)
		code = th_writer_result(x, &g->results[i]);
	return code;
}
