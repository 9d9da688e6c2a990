/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words_write.c - an action in one of the vocabularies of a computer
 * function, and the function's own description.  What a vocabulary cannot say
 * exactly is refused, so that reading gives back what was written.
 */
#include <stdio.h>

#include "dialects/space.h"
#include "dialects/words.h"

static enum th_code no_word(struct th_err *err, const struct th_action *a, const char *why)
{
	return th_fail(err, TH_EUNSUPPORTED, "the model has no word for %s: %s",
		       th_action_name(a->kind), why);
}

/* ---- what can be said ---- */

static const char *click_unsayable(enum th_words_style style, const struct th_action *a)
{
	bool side = a->button == TH_BUTTON_BACK || a->button == TH_BUTTON_FORWARD;

	if (style == TH_WORDS_CUA)
		return NULL;
	if (side || (a->count > 1 && a->button != TH_BUTTON_LEFT))
		return "this button";
	if (a->key_count && style != TH_WORDS_ANTHROPIC)
		return "no keys can be held";
	return NULL;
}

static const char *scroll_unsayable(enum th_words_style style, const struct th_action *a)
{
	bool notches = a->unit == TH_SCROLL_NOTCH;

	if (notches != (style == TH_WORDS_ANTHROPIC))
		return notches ? "pixels only" : "notches only";
	if (a->dx && a->dy && style != TH_WORDS_CUA)
		return "one direction at a time";
	if (a->key_count && (style == TH_WORDS_QWEN || style == TH_WORDS_FARA))
		return "no keys can be held";
	return NULL;
}

static const char *drag_unsayable(enum th_words_style style, const struct th_action *a)
{
	if (a->path_count != 2 || a->button != TH_BUTTON_LEFT || a->duration_ms)
		return "from one point to another with the left button only";
	return a->key_count && style != TH_WORDS_CUA ? "no keys can be held" : NULL;
}

/* Why the vocabulary cannot say it, or NULL. */
static const char *unsayable(enum th_words_style style, const struct th_action *a)
{
	bool anthropic = style == TH_WORDS_ANTHROPIC;

	switch (a->kind) {
	case TH_ACTION_CLICK:
		return click_unsayable(style, a);
	case TH_ACTION_SCROLL:
		return scroll_unsayable(style, a);
	case TH_ACTION_DRAG:
		return drag_unsayable(style, a);
	case TH_ACTION_MOVE:
		return a->key_count ? "no keys can be held" : NULL;
	case TH_ACTION_TYPE:
		return (a->has_at || a->clear) && style != TH_WORDS_FARA
			   ? "text only, no point and no clearing"
			   : NULL;
	case TH_ACTION_KEY:
		return a->count > 1 && !anthropic ? "pressed once only" : NULL;
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		return anthropic && a->button == TH_BUTTON_LEFT ? NULL : "not this button";
	case TH_ACTION_WAIT:
	case TH_ACTION_SCREENSHOT:
		return NULL;
	case TH_ACTION_HOLD_KEY:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
		return anthropic ? NULL : "it is not in the vocabulary";
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_COUNT:
		break;
	}
	return "it is not in the vocabulary";
}

/* ---- members ---- */

static void put_number(struct th_jw *w, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.10g", v);
	th_jw_raw(w, th_str_of(text));
}

static void put_pair(const struct th_dialect_context *c, const char *key, struct th_point p,
		     struct th_jw *w)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_jw_key(w, th_str_of(key));
	th_jw_array(w);
	put_number(w, at.x);
	put_number(w, at.y);
	th_jw_array_end(w);
}

static void put_flat(const struct th_dialect_context *c, const char *x, const char *y,
		     struct th_point p, struct th_jw *w)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_jw_key(w, th_str_of(x));
	put_number(w, at.x);
	th_jw_key(w, th_str_of(y));
	put_number(w, at.y);
}

static void put_at(const struct th_dialect_context *c, enum th_words_style style,
		   const struct th_action *a, struct th_jw *w)
{
	if (!a->has_at)
		return;
	if (style == TH_WORDS_CUA)
		put_flat(c, "x", "y", a->at, w);
	else
		put_pair(c, "coordinate", a->at, w);
}

static void put_keys(enum th_words_style style, const struct th_action *a, struct th_jw *w)
{
	struct th_buf chord = TH_BUF_INIT(TH_MIB);

	if (!a->key_count)
		return;
	th_jw_key(w, style == TH_WORDS_ANTHROPIC ? TH_STR("text") : TH_STR("keys"));
	if (style == TH_WORDS_ANTHROPIC) {
		for (size_t i = 0; i < a->key_count; i++) {
			th_buf_add_cstr(&chord, i ? "+" : "");
			th_buf_add(&chord, a->keys[i]);
		}
		th_jw_str(w, th_buf_str(&chord));
	} else {
		th_jw_array(w);
		for (size_t i = 0; i < a->key_count; i++)
			th_jw_str(w, a->keys[i]);
		th_jw_array_end(w);
	}
	th_buf_deinit(&chord);
}

static void put_seconds(struct th_jw *w, const char *key, int32_t ms)
{
	if (!ms)
		return;
	th_jw_key(w, th_str_of(key));
	put_number(w, ms / 1000.0);
}

/* ---- words ---- */

static const char *click_word(enum th_words_style style, const struct th_action *a)
{
	if (a->count > 1)
		return a->count == 2 ? "double_click" : "triple_click";
	if (style == TH_WORDS_CUA)
		return "click";
	return a->button == TH_BUTTON_RIGHT    ? "right_click"
	       : a->button == TH_BUTTON_MIDDLE ? "middle_click"
					       : "left_click";
}

static const char *word_of(enum th_words_style style, const struct th_action *a)
{
	bool cua = style == TH_WORDS_CUA;

	switch (a->kind) {
	case TH_ACTION_CLICK:
		return click_word(style, a);
	case TH_ACTION_MOVE:
		return cua ? "move" : "mouse_move";
	case TH_ACTION_DRAG:
		return cua ? "drag" : "left_click_drag";
	case TH_ACTION_SCROLL:
		return a->dx && (style == TH_WORDS_QWEN || style == TH_WORDS_FARA) ? "hscroll"
										   : "scroll";
	case TH_ACTION_KEY:
		return cua ? "keypress" : "key";
	case TH_ACTION_MOUSE_DOWN:
		return "left_mouse_down";
	case TH_ACTION_MOUSE_UP:
		return "left_mouse_up";
	case TH_ACTION_TYPE:
	case TH_ACTION_WAIT:
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_HOLD_KEY:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_COUNT:
		break;
	}
	return th_action_name(a->kind);
}

static void put_scroll(const struct th_dialect_context *c, enum th_words_style style,
		       const struct th_action *a, struct th_jw *w)
{
	if (style == TH_WORDS_ANTHROPIC) {
		int32_t n = a->dy ? a->dy : a->dx;
		const char *way = a->dy ? (n > 0 ? "down" : "up") : (n > 0 ? "right" : "left");

		th_jw_kstr(w, "scroll_direction", th_str_of(way));
		th_jw_kint(w, "scroll_amount", n > 0 ? n : -n);
	} else if (style == TH_WORDS_CUA) {
		th_jw_kint(w, "scroll_x", a->dx);
		th_jw_kint(w, "scroll_y", a->dy);
	} else {
		th_jw_kint(w, "pixels", a->dx ? a->dx : -(int64_t)a->dy);
	}
	put_at(c, style, a, w);
	put_keys(style, a, w);
}

static void put_drag(const struct th_dialect_context *c, enum th_words_style style,
		     const struct th_action *a, struct th_jw *w)
{
	if (style == TH_WORDS_CUA) {
		put_flat(c, "start_x", "start_y", a->path[0], w);
		put_flat(c, "end_x", "end_y", a->path[1], w);
	} else {
		put_pair(c, "start_coordinate", a->path[0], w);
		put_pair(c, "coordinate", a->path[1], w);
	}
	put_keys(style, a, w);
}

static void put_type(const struct th_dialect_context *c, enum th_words_style style,
		     const struct th_action *a, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_TYPE_TEXT_MAX + 2);

	th_buf_add(&text, a->text);
	if (a->enter && style != TH_WORDS_FARA)
		th_buf_add_char(&text, '\n');
	th_jw_kstr(w, "text", th_buf_str(&text));
	th_buf_deinit(&text);
	if (style != TH_WORDS_FARA)
		return;
	put_at(c, style, a, w);
	th_jw_kbool(w, "press_enter", a->enter);
	if (a->clear)
		th_jw_kbool(w, "delete_existing_text", true);
}

/* Edges lie between pixels, so the last one is the side itself. */
static double edge(int32_t at, int32_t side, int32_t range)
{
	return (double)(((int64_t)at * range + side / 2) / side);
}

static void put_region(const struct th_dialect_context *c, const struct th_rect *r, struct th_jw *w)
{
	struct th_size image = c->image.width > 0 && c->image.height > 0 ? c->image : c->screen;
	struct th_size range = th_space_size(&c->profile->space, image), screen = c->screen;

	th_jw_key(w, TH_STR("region"));
	th_jw_array(w);
	put_number(w, edge(r->x, screen.width, range.width));
	put_number(w, edge(r->y, screen.height, range.height));
	put_number(w, edge(r->x + r->width, screen.width, range.width));
	put_number(w, edge(r->y + r->height, screen.height, range.height));
	th_jw_array_end(w);
}

enum th_code th_words_write(const struct th_dialect_context *c, enum th_words_style style,
			    const struct th_action *a, struct th_jw *w, struct th_err *err)
{
	const char *why = unsayable(style, a);

	if (why)
		return no_word(err, a, why);
	th_jw_object(w);
	th_jw_kstr(w, "action", th_str_of(word_of(style, a)));
	switch (a->kind) {
	case TH_ACTION_CLICK:
		put_at(c, style, a, w);
		if (style == TH_WORDS_CUA)
			th_jw_kstr(w, "button", th_str_of(th_button_name(a->button)));
		put_keys(style, a, w);
		break;
	case TH_ACTION_SCROLL:
		put_scroll(c, style, a, w);
		break;
	case TH_ACTION_DRAG:
		put_drag(c, style, a, w);
		break;
	case TH_ACTION_TYPE:
		put_type(c, style, a, w);
		break;
	case TH_ACTION_KEY:
		put_keys(style, a, w);
		if (a->count > 1)
			th_jw_kint(w, "repeat", a->count);
		break;
	case TH_ACTION_HOLD_KEY:
		put_keys(style, a, w);
		put_seconds(w, "duration", a->duration_ms);
		break;
	case TH_ACTION_WAIT:
		put_seconds(w, style == TH_WORDS_ANTHROPIC ? "duration" : "time", a->duration_ms);
		break;
	case TH_ACTION_ZOOM:
		put_region(c, &a->region, w);
		break;
	case TH_ACTION_MOVE:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		put_at(c, style, a, w);
		break;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_COUNT:
		break;
	}
	th_jw_object_end(w);
	return TH_OK;
}

void th_words_write_end(enum th_words_style style, const char *outcome, struct th_str text,
			struct th_jw *w)
{
	bool failed = !strcmp(outcome, TH_DIALECT_FAILED);
	bool plain = th_str_is(text, failed ? "Task failed." : "Task completed.");

	th_jw_object(w);
	if (style == TH_WORDS_QWEN && !failed && !plain) {
		th_jw_kstr(w, "action", TH_STR("answer"));
	} else {
		th_jw_kstr(w, "action", TH_STR("terminate"));
		th_jw_kstr(w, "status", failed ? TH_STR("failure") : TH_STR("success"));
	}
	if (!plain)
		th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

/* ---- the function itself ---- */

#define STRINGS(list) "{\"type\":\"string\",\"enum\":[" list "]}"
#define DOC(type, doc) "{\"type\":\"" type "\",\"description\":\"" doc "\"}"
#define PAIR(doc) "{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"description\":\"" doc "\"}"
#define NAMES(doc) \
	"{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"" doc "\"}"

static const struct {
	const char *actions, *rest;
} schemas[] = {
	[TH_WORDS_CUA] = {
		"\"click\",\"double_click\",\"triple_click\",\"move\",\"drag\",\"scroll\",\"type\","
		"\"keypress\",\"wait\",\"screenshot\",\"terminate\"",
		"\"x\":" DOC("number", "To the right, from the left edge.") ","
		"\"y\":" DOC("number", "Down, from the top edge.") ","
		"\"button\":" STRINGS("\"left\",\"right\",\"middle\",\"back\",\"forward\"") ","
		"\"start_x\":" DOC("number", "Where a drag begins.") ","
		"\"start_y\":" DOC("number", "Where a drag begins.") ","
		"\"end_x\":" DOC("number", "Where a drag ends.") ","
		"\"end_y\":" DOC("number", "Where a drag ends.") ","
		"\"scroll_x\":" DOC("integer", "Pixels to the right; negative: to the left.") ","
		"\"scroll_y\":" DOC("integer", "Pixels down; negative: up.") ","
		"\"text\":" DOC("string", "What to type.") ","
		"\"keys\":" NAMES("keypress: keys that are down together; else keys to hold.") ","
		"\"time\":" DOC("number", "Seconds to wait.") ","
		"\"status\":" STRINGS("\"success\",\"failure\""),
	},
	[TH_WORDS_QWEN] = {
		"\"key\",\"type\",\"mouse_move\",\"left_click\",\"left_click_drag\",\"right_click\","
		"\"middle_click\",\"double_click\",\"triple_click\",\"scroll\",\"hscroll\","
		"\"screenshot\",\"wait\",\"terminate\",\"answer\"",
		"\"keys\":" NAMES("key: keys that are down together.") ","
		"\"text\":" DOC("string", "type: what to type. answer: what to say.") ","
		"\"coordinate\":" PAIR("[x, y]: from the left and the top edge; a drag's end.") ","
		"\"start_coordinate\":" PAIR("left_click_drag: where it begins.") ","
		"\"pixels\":" DOC("number", "scroll: up, negative down. hscroll: right, negative left.")
		",\"time\":" DOC("number", "wait: seconds.") ","
		"\"status\":" STRINGS("\"success\",\"failure\""),
	},
	[TH_WORDS_FARA] = {
		"\"key\",\"type\",\"mouse_move\",\"left_click\",\"left_click_drag\",\"right_click\","
		"\"middle_click\",\"double_click\",\"triple_click\",\"scroll\",\"hscroll\","
		"\"visit_url\",\"web_search\",\"history_back\",\"pause_and_memorize_fact\","
		"\"screenshot\",\"wait\",\"terminate\"",
		"\"keys\":" NAMES("key: keys that are down together.") ","
		"\"text\":" DOC("string", "type: what to type.") ","
		"\"coordinate\":" PAIR("[x, y]: from the left and the top edge. type: click there first.")
		",\"start_coordinate\":" PAIR("left_click_drag: where it begins.") ","
		"\"press_enter\":" DOC("boolean", "type: press Enter afterwards (default false).") ","
		"\"delete_existing_text\":" DOC("boolean", "type: delete what is there first.") ","
		"\"pixels\":" DOC("number", "scroll: up, negative down. hscroll: right, negative left.")
		",\"url\":" DOC("string", "visit_url") ",\"query\":" DOC("string", "web_search") ","
		"\"fact\":" DOC("string", "pause_and_memorize_fact: what to keep in mind.") ","
		"\"time\":" DOC("number", "wait: seconds.") ","
		"\"status\":" STRINGS("\"success\",\"failure\""),
	},
	[TH_WORDS_ANTHROPIC] = {
		"\"key\",\"type\",\"mouse_move\",\"left_click\",\"left_click_drag\",\"right_click\","
		"\"middle_click\",\"double_click\",\"triple_click\",\"left_mouse_down\","
		"\"left_mouse_up\",\"scroll\",\"hold_key\",\"wait\",\"screenshot\","
		"\"cursor_position\",\"zoom\"",
		"\"coordinate\":" PAIR("[x, y]: from the left and the top edge; a drag's end.") ","
		"\"start_coordinate\":" PAIR("left_click_drag: where it begins.") ","
		"\"text\":" DOC("string", "type: what to type. key: the chord. Else keys to hold.") ","
		"\"scroll_direction\":" STRINGS("\"up\",\"down\",\"left\",\"right\"") ","
		"\"scroll_amount\":" DOC("integer", "Notches of the wheel.") ","
		"\"duration\":" DOC("number", "Seconds to hold or wait.") ","
		"\"repeat\":" DOC("integer", "key: how many times.") ","
		"\"region\":" PAIR("zoom: [x0, y0, x1, y1]."),
	},
};

static void put_description(const struct th_dialect_context *c, struct th_jw *w)
{
	struct th_space_point last =
	    th_dialect_place(c, (struct th_point){ c->screen.width - 1, c->screen.height - 1 });
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text,
		      "Use a mouse and a keyboard on a computer's screen and look at it. Each call "
		      "is answered with a screenshot. Points count from the left upper corner, "
		      "(0, 0), to the right lower one, (%.10g, %.10g). Click the middle of things, "
		      "not their edges, and look whether it did what it should.",
		      last.x, last.y);
	th_jw_kstr(w, "description", th_buf_str(&text));
	th_buf_deinit(&text);
}

void th_words_tool(const struct th_dialect_context *c, enum th_words_style style, const char *name,
		   struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "name", th_str_of(name));
	put_description(c, w);
	th_jw_key(w, TH_STR("parameters"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("object"));
	th_jw_key(w, TH_STR("properties"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("action"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("string"));
	th_jw_key(w, TH_STR("enum"));
	th_buf_add_char(w->out, '[');
	th_buf_add_cstr(w->out, schemas[style].actions);
	th_buf_add_char(w->out, ']');
	w->comma = true;
	th_jw_object_end(w);
	th_buf_add_char(w->out, ',');
	th_buf_add_cstr(w->out, schemas[style].rest);
	th_jw_object_end(w);
	th_jw_kraw(w, "required", TH_STR("[\"action\"]"));
	th_jw_object_end(w);
	th_jw_object_end(w);
}
