/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - dialects whose calls are functions of the wire: `computer`
 * in three vocabularies, and Yutori's n1, whose functions are the actions.
 */
#include "dialects/list.h"
#include "dialects/space.h"
#include "dialects/words.h"

#define FUNCTION "computer"

/* ---- encode ---- */

static void put_call(struct th_jw *w, struct th_str call_id, struct th_str name,
		     struct th_str arguments)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	th_jw_kstr(w, "call_id", call_id);
	th_jw_kstr(w, "name", name);
	th_jw_kstr(w, "arguments", arguments);
	th_jw_object_end(w);
}

typedef enum th_code put_fn(const struct th_dialect_context *c, const struct th_action *action,
			    struct th_buf *name, struct th_buf *arguments, struct th_err *err);

/* Several actions are one call with a list, where the function is the same. */
static enum th_code put_actions(const struct th_dialect_context *c, const struct th_json *item,
				struct th_arena *a, put_fn *put, struct th_jw *w,
				struct th_err *err)
{
	struct th_buf name = TH_BUF_INIT(TH_KIB), arguments = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_buf all = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_action *actions;
	size_t count;
	enum th_code code = th_item_actions(item, a, &actions, &count, err);

	for (size_t i = 0; !code && i < count; i++) {
		th_buf_clear(&name);
		th_buf_clear(&arguments);
		code = put(c, &actions[i], &name, &arguments, err);
		if (!code && count > 1 && !th_str_is(th_buf_str(&name), FUNCTION))
			code = th_fail(err, TH_EUNSUPPORTED, "one action in a call only");
		th_buf_add_cstr(&all, i ? "," : "");
		th_buf_add(&all, th_buf_str(&arguments));
	}
	if (!code && count > 1) {
		th_buf_clear(&arguments);
		th_buf_printf(&arguments, "{\"actions\":[%.*s]}", TH_FMT(th_buf_str(&all)));
	}
	if (!code)
		put_call(w, th_json_get_str(item, "call_id"), th_buf_str(&name),
			 th_buf_str(&arguments));
	th_buf_deinit(&name);
	th_buf_deinit(&arguments);
	th_buf_deinit(&all);
	return code;
}

enum th_code th_words_write_calls(const struct th_dialect_context *c, struct th_str items,
				  put_fn *put, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_iter it;
	struct th_json_doc *doc;
	struct th_arena a;
	enum th_code code = th_json_parse(items, &doc, err);

	if (code)
		return th_prefix(err, code, "the items");
	th_arena_init(&a, 64 * th_dialect_memory(items.len));
	th_jw_array(&w);
	it = th_json_iter(th_json_root(doc));
	while (!code && th_json_is_array(th_json_root(doc)) && th_json_next(&it) &&
	       th_json_raw_next(&raw)) {
		struct th_str name = th_json_get_str(it.val, "name");

		if (!th_item_is(it.val, "computer_call"))
			th_jw_raw(&w, raw.val);
		else if (name.len)
			put_call(&w, th_json_get_str(it.val, "call_id"), name,
				 th_json_get_str(it.val, "arguments"));
		else
			code = put_actions(c, it.val, &a, put, &w, err);
	}
	th_jw_array_end(&w);
	if (!code)
		code = th_buf_check(out, "the answer", err);
	th_arena_deinit(&a);
	th_json_free(doc);
	return code;
}

/* ---- the function `computer` ---- */

static enum th_words_style style_of(const struct th_dialect_context *c)
{
	if (c->profile->dialect == &th_dialect_json_qwen)
		return TH_WORDS_QWEN;
	return c->profile->dialect == &th_dialect_json_anthropic ? TH_WORDS_ANTHROPIC
								 : TH_WORDS_CUA;
}

static enum th_code put_computer(const struct th_dialect_context *c, const struct th_action *action,
				 struct th_buf *name, struct th_buf *arguments, struct th_err *err)
{
	struct th_jw w = th_jw(arguments);

	th_buf_add_cstr(name, FUNCTION);
	return th_words_write(c, style_of(c), action, &w, err);
}

static enum th_code encode_json(const struct th_dialect_context *c, struct th_str items,
				struct th_buf *out, struct th_err *err)
{
	return th_words_write_calls(c, items, put_computer, out, err);
}

static enum th_code decode_json(const struct th_dialect_context *c, struct th_str items,
				struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, th_qwen_say, NULL,
			       "the answer was empty: call a function, or say that you are done",
			       out, err);
}

static void tools_json(const struct th_dialect_context *c, struct th_jw *w)
{
	th_words_tool(c, style_of(c), FUNCTION, w);
}

const struct th_dialect th_dialect_json = {
	.name = "json",
	.note = "the function `computer`: action, x, y",
	.tools = tools_json,
	.decode = decode_json,
	.encode = encode_json,
};

const struct th_dialect th_dialect_json_qwen = {
	.name = "json_qwen",
	.note = "the function `computer` in Qwen's words: action, coordinate, pixels",
	.tools = tools_json,
	.decode = decode_json,
	.encode = encode_json,
};

const struct th_dialect th_dialect_json_anthropic = {
	.name = "json_anthropic",
	.note = "the function `computer` in Anthropic's words: action, coordinate, scroll_amount",
	.tools = tools_json,
	.decode = decode_json,
	.encode = encode_json,
};

/* ---- Yutori n1 ---- */

static bool say_yutori(struct th_say *s, struct th_str name, struct th_str arguments)
{
	if (th_str_is(name, "refresh")) {
		th_words_say(s, name, TH_STR("{\"action\":\"key\",\"keys\":[\"F5\"]}"));
		return true;
	}
	if (th_str_is(name, "scroll") && th_json_raw_get(arguments, "direction").len &&
	    !th_json_raw_get(arguments, "amount").len) { /* its own default is 3 */
		struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);

		th_buf_add_cstr(&text, "{\"amount\":3,");
		th_buf_add(&text, th_str_sub(th_str_trim(arguments), 1, arguments.len));
		th_words_say_named(s, name, th_buf_str(&text));
		th_buf_deinit(&text);
		return true;
	}
	return th_words_say_named(s, name, arguments);
}

/* n1 ends its task by calling nothing. */
static void put_end(struct th_buf *out)
{
	th_buf_clear(out);
	th_buf_add_cstr(out, "[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{"
			     "\"type\":\"output_text\",\"text\":\"Task completed.\","
			     "\"annotations\":[]}],\"status\":\"completed\","
			     "\"outcome\":\"" TH_DIALECT_COMPLETED "\"}]");
}

static enum th_code decode_yutori(const struct th_dialect_context *c, struct th_str items,
				  struct th_buf *out, struct th_err *err)
{
	enum th_code code = th_dialect_each(c, items, th_say_text, say_yutori, NULL, out, err);

	if (!code && th_str_is(th_buf_str(out), "[]"))
		put_end(out);
	return code;
}

static void put_pair(const struct th_dialect_context *c, const char *key, struct th_point p,
		     struct th_jw *w)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_jw_key(w, th_str_of(key));
	th_jw_array(w);
	th_jw_int(w, (int64_t)at.x);
	th_jw_int(w, (int64_t)at.y);
	th_jw_array_end(w);
}

static const char *yutori_word(const struct th_action *a)
{
	bool left = a->button == TH_BUTTON_LEFT, one = (a->dx == 0) != (a->dy == 0);

	if (a->key_count && a->kind != TH_ACTION_KEY)
		return NULL;
	if (a->kind == TH_ACTION_CLICK && a->has_at && left)
		return a->count == 1   ? "left_click"
		       : a->count == 2 ? "double_click"
				       : "triple_click";
	if (a->kind == TH_ACTION_CLICK && a->has_at && a->button == TH_BUTTON_RIGHT &&
	    a->count == 1)
		return "right_click";
	if (a->kind == TH_ACTION_MOVE)
		return "hover";
	if (a->kind == TH_ACTION_DRAG && a->path_count == 2 && left && !a->duration_ms)
		return "drag";
	if (a->kind == TH_ACTION_SCROLL && a->unit == TH_SCROLL_NOTCH && one)
		return "scroll";
	if (a->kind == TH_ACTION_TYPE && !a->has_at)
		return "type";
	if (a->kind == TH_ACTION_KEY && a->count == 1)
		return "key_press";
	if (a->kind == TH_ACTION_WAIT && !a->duration_ms)
		return "wait";
	return a->kind == TH_ACTION_SCREENSHOT ? "screenshot" : NULL;
}

static void put_chord(const struct th_action *a, struct th_jw *w)
{
	struct th_buf chord = TH_BUF_INIT(TH_MIB);

	for (size_t i = 0; i < a->key_count; i++) {
		th_buf_add_cstr(&chord, i ? "+" : "");
		th_buf_add(&chord, a->keys[i]);
	}
	th_jw_kstr(w, "key_comb", th_buf_str(&chord));
	th_buf_deinit(&chord);
}

static enum th_code put_yutori(const struct th_dialect_context *c, const struct th_action *a,
			       struct th_buf *name, struct th_buf *arguments, struct th_err *err)
{
	struct th_jw w = th_jw(arguments);
	const char *word = yutori_word(a);
	int32_t n = a->dy ? a->dy : a->dx;

	if (!word)
		return th_fail(err, TH_EUNSUPPORTED, "n1 has no word for %s",
			       th_action_name(a->kind));
	th_buf_add_cstr(name, word);
	th_jw_object(&w);
	if (a->has_at)
		put_pair(c, "coordinates", a->at, &w);
	if (a->kind == TH_ACTION_DRAG) {
		put_pair(c, "start_coordinates", a->path[0], &w);
		put_pair(c, "coordinates", a->path[1], &w);
	} else if (a->kind == TH_ACTION_SCROLL) {
		const char *way = a->dy ? (n > 0 ? "down" : "up") : (n > 0 ? "right" : "left");

		th_jw_kstr(&w, "direction", th_str_of(way));
		th_jw_kint(&w, "amount", n > 0 ? n : -n);
	} else if (a->kind == TH_ACTION_TYPE) {
		th_jw_kstr(&w, "text", a->text);
		if (a->enter)
			th_jw_kbool(&w, "press_enter_after", true);
		if (a->clear)
			th_jw_kbool(&w, "clear_before_typing", true);
	} else if (a->kind == TH_ACTION_KEY) {
		put_chord(a, &w);
	}
	th_jw_object_end(&w);
	return TH_OK;
}

static enum th_code encode_yutori(const struct th_dialect_context *c, struct th_str items,
				  struct th_buf *out, struct th_err *err)
{
	return th_words_write_calls(c, items, put_yutori, out, err);
}

const struct th_dialect th_dialect_yutori = {
	.name = "yutori",
	.note = "Yutori n1: its own functions, which need no declaration",
	.decode = decode_yutori,
	.encode = encode_yutori,
};
