/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uitars_words.c - the vocabulary of UI-TARS: a call as an action, and what can be said of one.
 */
#include "actions/keys.h"
#include "dialects/call.h"
#include "dialects/uitars.h"

#define NOTCHES 5

enum shape { POINT, PATH, TURN, KEYS, TEXT, NOTHING, LAST, HELP };

struct row {
	const char *word;
	enum shape shape;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
};

static const struct row rows[] = {
	{ "click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_single", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "leftsingle", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_double", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "double_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "doubleclick", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "left_triple", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "triple_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "right_single", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "right_click", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "rightclick", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "rightsingle", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middle_click", POINT, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1 },
	{ "hover", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "move", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "move_to", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "moveto", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "mouse_move", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "mouse_down", POINT, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "mouse_up", POINT, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "left_click_drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "select", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "swipe", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "scroll", TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "hotkey", KEYS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "press", KEYS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "press_down", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "key_down", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "keydown", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "press_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "key_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "keyup", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "release", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "release_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "type", TEXT, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "wait", NOTHING, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "take_screenshot", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "screenshot", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "open_computer", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "finished", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
	{ "finish", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
	{ "call_user", HELP, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
};

bool th_uitars_knows(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_ieq(name, th_str_of(rows[i].word)))
			return true;
	return false;
}

static enum th_code read_point(const struct th_dialect_context *c, const struct th_value *v,
			       const char *what, struct th_point *ret, struct th_err *err)
{
	double n[4];
	int count = th_value_numbers(v, n, 4);

	if (!v)
		return th_fail(err, TH_EPROTO, "%s is missing", what);
	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "%s must be two numbers", what);
	return th_dialect_point(c, n, count, ret, err);
}

static const struct th_value *named(const struct th_text_call *call, const char *names, size_t at)
{
	const struct th_value *v = th_call_get(call, names);

	return v ? v : th_call_at(call, at);
}

static enum th_code read_pointing(const struct th_dialect_context *c,
				  const struct th_text_call *call, struct th_action *ret,
				  struct th_err *err)
{
	const struct th_value *v = named(call, "start_box|point|start_point|box", 0);
	bool optional = ret->kind == TH_ACTION_MOUSE_DOWN || ret->kind == TH_ACTION_MOUSE_UP;
	enum th_code code;

	if (!v && optional)
		return th_call_button(call, &ret->button, err);
	ret->has_at = true;
	code = read_point(c, v, "the point", &ret->at, err);
	return code || !optional ? code : th_call_button(call, &ret->button, err);
}

static enum th_code read_path(const struct th_dialect_context *c, const struct th_text_call *call,
			      struct th_arena *a, struct th_action *ret, struct th_err *err)
{
	enum th_code code;

	ret->path = th_arena_array(a, 2, sizeof(*ret->path));
	if (!ret->path)
		return th_fail(err, TH_EPROTO, "too many drags");
	ret->path_count = 2;
	code = read_point(c, named(call, "start_box|start_point|point", 0), "the drag's start",
			  &ret->path[0], err);
	return code ? code
		    : read_point(c, named(call, "end_box|end_point", 1), "the drag's end",
				 &ret->path[1], err);
}

static enum th_code read_scroll(const struct th_dialect_context *c, const struct th_text_call *call,
				struct th_action *ret, struct th_err *err)
{
	struct th_str way = th_str_trim(th_value_text(th_call_get(call, "direction")));
	const struct th_value *at = th_call_get(call, "start_box|point|start_point");

	if (th_str_ieq(way, TH_STR("up")))
		ret->dy = -NOTCHES;
	else if (!th_call_get(call, "direction") || th_str_ieq(way, TH_STR("down")))
		ret->dy = NOTCHES;
	else if (th_str_ieq(way, TH_STR("left")))
		ret->dx = -NOTCHES;
	else if (th_str_ieq(way, TH_STR("right")))
		ret->dx = NOTCHES;
	else
		return th_fail(err, TH_EPROTO, "direction must be up, down, left or right");
	ret->has_at = at != NULL;
	return at ? read_point(c, at, "the point", &ret->at, err) : TH_OK;
}

static bool is_modifier(const struct th_action *a)
{
	for (size_t i = 0; i < a->key_count; i++)
		if (!th_keys_is_modifier(th_keys_find(a->keys[i])))
			return false;
	return true;
}

static enum th_code read_keys(const struct th_text_call *call, struct th_action *ret,
			      struct th_err *err)
{
	const struct th_value *v = named(call, "key|keys|hotkey", 0);
	enum th_code code = TH_OK;

	if (!v)
		return th_fail(err, TH_EPROTO, "key is missing");
	if (v->kind == TH_VALUE_LIST) {
		for (size_t i = 0; !code && i < v->count; i++)
			code = th_dialect_keys(v->items[i].text, ret, err);
	} else {
		code = th_dialect_keys(v->text, ret, err);
	}
	if (!code && th_str_ieq(call->name, TH_STR("press")) && is_modifier(ret)) {
		ret->kind = TH_ACTION_KEY_DOWN;
		ret->count = 0;
	}
	return code;
}

enum th_code th_uitars_word(const struct th_dialect_context *c, const struct th_text_call *call,
			    struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	const struct th_value *content = named(call, "content|text", 0);
	const struct row *row = NULL;
	double seconds = TH_UITARS_WAIT_MS / 1000.0;
	enum th_code code = TH_OK;

	*ret = (struct th_word){ 0 };
	for (size_t i = 0; i < TH_COUNT(rows) && !row; i++)
		if (th_str_ieq(call->name, th_str_of(rows[i].word)))
			row = &rows[i];
	if (!row)
		return th_fail(err, TH_EPROTO, "there is no action %.*s()", TH_FMT(call->name));
	ret->action.kind = row->kind;
	ret->action.button = row->button;
	ret->action.count = row->count;
	switch (row->shape) {
	case POINT:
		code = read_pointing(c, call, &ret->action, err);
		break;
	case PATH:
		code = read_path(c, call, a, &ret->action, err);
		break;
	case TURN:
		code = read_scroll(c, call, &ret->action, err);
		break;
	case KEYS:
		code = read_keys(call, &ret->action, err);
		break;
	case TEXT:
		ret->action.text = th_value_text(content);
		if (!content)
			code = th_fail(err, TH_EPROTO, "content is missing");
		break;
	case NOTHING:
		if (row->kind == TH_ACTION_WAIT) {
			(void)th_value_number(named(call, "time|duration", 0), &seconds);
			ret->action.duration_ms =
			    (int32_t)(TH_MAX(TH_MIN(seconds, 86400.0), 0.0) * 1000 + 0.5);
		}
		break;
	case LAST:
		ret->verb = TH_VERB_END;
		ret->text = th_value_text(content);
		break;
	case HELP:
		ret->verb = TH_VERB_ASK;
		ret->text = th_value_text(content);
		break;
	}
	return code ? th_prefix(err, code, "%s", row->word) : TH_OK;
}

const char *th_uitars_word_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (rows[i].kind == a->kind && rows[i].shape != LAST && rows[i].shape != HELP &&
		    (a->kind != TH_ACTION_CLICK ||
		     (rows[i].button == a->button && rows[i].count == a->count)))
			return rows[i].word;
	return NULL;
}

const char *th_uitars_direction(const struct th_action *a)
{
	return a->dy ? (a->dy > 0 ? "down" : "up") : (a->dx > 0 ? "right" : "left");
}

/* "ctrl + c" is two keys. */
struct th_str th_uitars_key(struct th_str key)
{
	return th_str_is(key, "+") ? TH_STR("plus") : key;
}

static bool plain_keys(const struct th_action *a)
{
	for (size_t i = 0; i < a->key_count; i++) {
		struct th_str key = a->keys[i];

		if (!key.len || th_str_trim(key).len != key.len ||
		    th_str_find_char(key, ' ') >= 0 || th_str_find_char(key, '<') >= 0 ||
		    (key.len > 1 && th_str_find_char(key, '+') >= 0))
			return false;
	}
	return true;
}

const char *th_uitars_unsayable(const struct th_action *a)
{
	bool one = (a->dx == 0) != (a->dy == 0);

	if (!th_uitars_word_of(a))
		return "it is not in the vocabulary";
	if (!plain_keys(a))
		return "a key of this name";
	switch (a->kind) {
	case TH_ACTION_CLICK:
	case TH_ACTION_MOVE:
		return !a->has_at ? "it must have a point" : a->key_count ? "no keys held" : NULL;
	case TH_ACTION_DRAG:
		return a->path_count != 2 || a->button != TH_BUTTON_LEFT || a->duration_ms ||
			       a->key_count
			   ? "from one point to another with the left button only"
			   : NULL;
	case TH_ACTION_SCROLL:
		return a->unit != TH_SCROLL_NOTCH || !one || a->key_count ||
			       (a->dx + a->dy != NOTCHES && a->dx + a->dy != -NOTCHES)
			   ? "five notches in one direction only"
			   : NULL;
	case TH_ACTION_TYPE:
		return a->has_at || a->clear ? "text only" : NULL;
	case TH_ACTION_KEY:
		return a->count > 1 ? "pressed once only" : NULL;
	case TH_ACTION_WAIT:
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_COUNT:
		break;
	}
	return NULL;
}
