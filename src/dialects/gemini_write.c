/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini_write.c - actions as the calls that Gemini would have made.
 */
#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/gemini_words.h"

static enum th_code no_word(struct th_err *err, const struct th_action *action)
{
	return th_fail(err, TH_EUNSUPPORTED, "computer use has no word for this %s",
		       th_action_name(action->kind));
}

static void put_number(struct th_jw *w, const char *key, double v)
{
	th_jw_key(w, th_str_of(key));
	if (v == (double)(int64_t)v)
		th_jw_int(w, (int64_t)v);
	else
		th_jw_real(w, v);
}

/* The whole number whose pixel this is, where there is one. */
static double of_pixel(const struct th_dialect_context *c, int32_t p, int32_t side)
{
	return (double)(((int64_t)p * c->profile->space.max + side / 2) / side);
}

static void put_place(const struct th_dialect_context *c, struct th_point p, const char *x,
		      const char *y, struct th_jw *w)
{
	put_number(w, x, of_pixel(c, p.x, c->screen.width));
	put_number(w, y, of_pixel(c, p.y, c->screen.height));
}

static bool put_chord(const struct th_gemini_word *row, const struct th_action *a, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_TYPE_TEXT_MAX);
	bool good = true;

	if (!strcmp(row->name, "key_combination")) {
		for (size_t i = 0; i < a->key_count; i++) {
			good = good && th_str_find_char(a->keys[i], '+') < 0 &&
			       th_str_find_char(a->keys[i], ' ') < 0;
			if (i)
				th_buf_add_char(&text, '+');
			th_buf_add(&text, a->keys[i]);
		}
		th_jw_kstr(w, "keys", th_buf_str(&text));
	} else if (!strcmp(row->name, "hotkey")) {
		th_jw_key(w, TH_STR("keys"));
		th_jw_array(w);
		for (size_t i = 0; i < a->key_count; i++)
			th_jw_str(w, a->keys[i]);
		th_jw_array_end(w);
	} else {
		good =
		    th_str_find_char(a->keys[0], '+') < 0 && th_str_find_char(a->keys[0], ' ') < 0;
		th_jw_kstr(w, "key", a->keys[0]);
	}
	th_buf_deinit(&text);
	return good;
}

static void put_scroll_args(const struct th_dialect_context *c, const struct th_gemini_word *row,
			    const struct th_action *a, struct th_jw *w)
{
	int32_t length = a->dx ? a->dx : a->dy, side = a->dx ? c->screen.width : c->screen.height;
	double amount = length < 0 ? -length : length;

	put_place(c, a->at, "x", "y", w);
	th_jw_kstr(
	    w, "direction",
	    th_str_of(a->dx ? (length > 0 ? "right" : "left") : (length > 0 ? "down" : "up")));
	if (row->generation == 2)
		put_number(w, "magnitude_in_pixels", amount);
	else
		put_number(w, "magnitude", amount * 1000 / side);
}

static bool put_args(const struct th_dialect_context *c, const struct th_gemini_word *row,
		     const struct th_action *a, struct th_jw *w)
{
	bool first = row->generation == 1 || th_gemini_generation(c->profile) == 1;

	switch (row->args) {
	case TH_GEMINI_POINT:
	case TH_GEMINI_MAYBE_POINT:
		if (a->has_at)
			put_place(c, a->at, "x", "y", w);
		return true;
	case TH_GEMINI_TEXT_AT:
		put_place(c, a->at, "x", "y", w);
		th_jw_kstr(w, "text", a->text);
		th_jw_kbool(w, "press_enter", a->enter);
		th_jw_kbool(w, "clear_before_typing", a->clear);
		return true;
	case TH_GEMINI_TEXT:
		th_jw_kstr(w, "text", a->text);
		th_jw_kbool(w, "press_enter", a->enter);
		return true;
	case TH_GEMINI_CHORD:
		return put_chord(row, a, w);
	case TH_GEMINI_SCROLL:
		put_scroll_args(c, row, a, w);
		return row->generation == 2 ||
		       (a->dx ? a->dx : a->dy) * 1000.0 /
			       (a->dx ? c->screen.width : c->screen.height) <=
			   TH_SCROLL_MAX;
	case TH_GEMINI_DRAG:
		put_place(c, a->path[0], first ? "x" : "start_x", first ? "y" : "start_y", w);
		put_place(c, a->path[1], first ? "destination_x" : "end_x",
			  first ? "destination_y" : "end_y", w);
		return true;
	case TH_GEMINI_SECONDS:
		put_number(w, "seconds", a->duration_ms / 1000.0);
		return true;
	case TH_GEMINI_NOTHING:
	case TH_GEMINI_DOCUMENT:
	case TH_GEMINI_BROWSER:
		break;
	}
	return true;
}

/* One action as a call; `n` tells the calls of one item apart. */
static enum th_code say_action(const struct th_dialect_context *c, const struct th_action *action,
			       struct th_str item, size_t n, struct th_jw *w, struct th_err *err)
{
	const struct th_gemini_word *row =
	    th_gemini_word_of(action, th_gemini_generation(c->profile));
	struct th_buf args = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw inner = th_jw(&args);
	struct th_str call_id = th_json_raw_get(item, "call_id");
	bool good;

	if (!row)
		return no_word(err, action);
	th_jw_object(&inner);
	good = put_args(c, row, action, &inner);
	th_jw_object_end(&inner);
	if (good) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function_call"));
		th_jw_key(w, TH_STR("call_id"));
		th_jw_raw(w, TH_STR("\""));
		if (call_id.len > 2)
			th_buf_add(w->out, th_str_sub(call_id, 1, call_id.len - 2));
		if (n)
			th_buf_printf(w->out, "_%zu", n + 1);
		th_buf_add_char(w->out, '"');
		th_jw_kstr(w, "name", th_str_of(row->name));
		th_jw_kstr(w, "arguments", th_buf_str(&args));
		th_jw_object_end(w);
	}
	th_buf_deinit(&args);
	return good ? TH_OK : no_word(err, action);
}

static enum th_code say_calls(const struct th_dialect_context *c, const struct th_json *v,
			      struct th_str item, struct th_jw *w, struct th_err *err)
{
	struct th_arena a;
	struct th_action *actions;
	size_t count = 0;
	enum th_code code;

	th_arena_init(&a, TH_GEMINI_MEMORY(item.len));
	code = th_model_actions(c->profile, v, &a, &actions, &count, err);
	for (size_t i = 0; !code && i < count; i++)
		code = say_action(c, &actions[i], item, i, w, err);
	th_arena_deinit(&a);
	return code;
}

enum th_code th_gemini_encode(const struct th_dialect_context *c, struct th_str items,
			      struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_jw w = th_jw(out);
	struct th_json_iter it;
	enum th_code code = th_json_parse(items, &doc, err);

	if (code)
		return th_prefix(err, code, "the items");
	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc));
	     !code && th_json_next(&it) && th_json_raw_next(&raw);) {
		if (th_str_is(th_json_get_str(it.val, "type"), "computer_call"))
			code = say_calls(c, it.val, raw.val, &w, err);
		else
			th_jw_raw(&w, raw.val);
	}
	th_jw_array_end(&w);
	th_json_free(doc);
	return code ? code : th_buf_check(out, "the items", err);
}
