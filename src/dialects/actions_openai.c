/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions_openai.c - an action is rewritten member by member into our form,
 * and th_action_parse checks it there: ranges, limits and sentences are the
 * same for every dialect.
 */
#include "dialects/actions.h"

#include "base/text.h"

#define WAIT_MS 2000 /* what the API's wait without a time means */

enum {
	NEEDS_POINT = 1 << 0,
	MAY_HOLD = 1 << 1, /* keys held meanwhile */
};

struct row {
	const char *theirs, *ours, *more; /* more: members that the word implies */
	unsigned flags;
};

static const struct row rows[] = {
	{ "click", "click", "", NEEDS_POINT | MAY_HOLD },
	{ "double_click", "click", ",\"count\":2", NEEDS_POINT | MAY_HOLD },
	{ "triple_click", "click", ",\"count\":3", NEEDS_POINT | MAY_HOLD },
	{ "right_click", "click", ",\"button\":\"right\"", NEEDS_POINT | MAY_HOLD },
	{ "drag", "drag", "", MAY_HOLD },
	{ "keypress", "key", "", MAY_HOLD },
	{ "move", "move", "", NEEDS_POINT | MAY_HOLD },
	{ "screenshot", "screenshot", "", 0 },
	{ "scroll", "scroll", ",\"unit\":\"pixel\"", NEEDS_POINT | MAY_HOLD },
	{ "type", "type", "", 0 },
	{ "wait", "wait", ",\"duration_ms\":2000", 0 },
};
#define WORDS "click, double_click, drag, keypress, move, screenshot, scroll, type and wait"
_Static_assert(WAIT_MS == 2000, "the row of wait says it in text");

/* ---- parsing ---- */

/* Numbers with a fraction go to the nearest pixel; what is no number is left to the check. */
static void put_number(struct th_jw *w, const char *key, const struct th_json *v)
{
	double d = th_json_num(v, 0);

	if (th_json_is_null(v))
		return;
	th_jw_key(w, th_str_of(key));
	if (th_json_type(v) == TH_JSON_REAL && d > -1e9 && d < 1e9)
		th_jw_int(w, (int64_t)(d < 0 ? d - 0.5 : d + 0.5));
	else
		th_jw_json(w, v);
}

static void put_copy(struct th_jw *w, const char *key, const struct th_json *v)
{
	if (th_json_is_null(v))
		return;
	th_jw_key(w, th_str_of(key));
	th_jw_json(w, v);
}

static void put_point(struct th_jw *w, const struct th_json *x, const struct th_json *y)
{
	th_jw_object(w);
	put_number(w, "x", x);
	put_number(w, "y", y);
	th_jw_object_end(w);
}

/* Points are {x, y} or [x, y]. */
static void put_path(struct th_jw *w, const struct th_json *v)
{
	const struct th_json *path = th_json_get(v, "path");
	struct th_json_iter it = th_json_iter(path);

	th_jw_key(w, TH_STR("path"));
	if (!th_json_is_array(path)) {
		th_jw_json(w, path);
		return;
	}
	th_jw_array(w);
	while (th_json_next(&it)) {
		if (th_json_is_object(it.val))
			put_point(w, th_json_get(it.val, "x"), th_json_get(it.val, "y"));
		else if (th_json_count(it.val) == 2)
			put_point(w, th_json_at(it.val, 0), th_json_at(it.val, 1));
		else
			th_jw_json(w, it.val);
	}
	th_jw_array_end(w);
}

static bool capital(struct th_str key)
{
	return key.len == 1 && key.ptr[0] >= 'A' && key.ptr[0] <= 'Z';
}

/* Keys are named by their caps there: a lone "R" is the key, not shift and the key. */
static bool put_lone_capital(struct th_jw *w, const struct th_json *keys)
{
	bool list = th_json_type(keys) == TH_JSON_ARRAY && th_json_count(keys) == 1;
	struct th_str key = th_json_str(list ? th_json_at(keys, 0) : keys);
	char letter;

	if (!capital(key))
		return false;
	letter = (char)(key.ptr[0] | 0x20);
	th_jw_key(w, TH_STR("keys"));
	th_jw_array(w);
	th_jw_str(w, th_str_n(&letter, 1));
	th_jw_array_end(w);
	return true;
}

static void put_keys(struct th_jw *w, const struct th_json *keys)
{
	if (put_lone_capital(w, keys))
		return;
	if (th_json_type(keys) != TH_JSON_STR) {
		put_copy(w, "keys", keys);
		return;
	}
	th_jw_key(w, TH_STR("keys"));
	th_jw_array(w);
	th_jw_json(w, keys);
	th_jw_array_end(w);
}

static void rewrite(const struct row *row, const struct th_json *v, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(row->ours));
	th_buf_add_cstr(out, row->more);
	if (row->flags & NEEDS_POINT) {
		put_number(&w, "x", th_json_get(v, "x"));
		put_number(&w, "y", th_json_get(v, "y"));
	}
	if (row->flags & MAY_HOLD)
		put_keys(&w, th_json_get(v, "keys"));
	if (!strcmp(row->theirs, "click"))
		put_copy(&w, "button", th_json_get(v, "button"));
	if (!strcmp(row->theirs, "drag"))
		put_path(&w, v);
	if (!strcmp(row->theirs, "type"))
		put_copy(&w, "text", th_json_get(v, "text"));
	if (!strcmp(row->theirs, "scroll")) {
		put_number(&w, "dx", th_json_get(v, "scroll_x"));
		put_number(&w, "dy", th_json_get(v, "scroll_y"));
	}
	th_jw_object_end(&w);
}

/* What our check would not ask for, or would ask for in our words. */
static enum th_code check(const struct row *row, const struct th_json *v, struct th_err *err)
{
	static const char *const point[] = { "x", "y" };

	for (size_t i = 0; row->flags & NEEDS_POINT && i < TH_COUNT(point); i++)
		if (th_json_is_null(th_json_get(v, point[i])))
			return th_fail(err, TH_EPROTO, "%s: %s is missing", row->theirs, point[i]);
	if (!strcmp(row->theirs, "scroll") && th_json_num(th_json_get(v, "scroll_x"), 0) == 0 &&
	    th_json_num(th_json_get(v, "scroll_y"), 0) == 0)
		return th_fail(err, TH_EPROTO,
			       "scroll: scroll_x and scroll_y are both 0: say how many pixels to "
			       "scroll, scroll_x > 0 to the right, scroll_y > 0 down");
	return TH_OK;
}

enum th_code th_actions_openai_parse(const struct th_json *v, struct th_arena *a,
				     struct th_action *ret, struct th_err *err)
{
	struct th_str type = th_json_get_str(v, "type");
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	const struct row *row = NULL;
	struct th_json_doc *doc = NULL;
	enum th_code code;

	if (!th_json_is_object(v))
		return th_fail(err, TH_EPROTO,
			       "an action must be an object with a \"type\", not %s",
			       th_json_type_name(th_json_type(v)));
	for (size_t i = 0; i < TH_COUNT(rows) && !row; i++)
		if (th_str_is(type, rows[i].theirs))
			row = &rows[i];
	if (!row)
		return th_fail(err, TH_EPROTO, "unknown action \"%.*s\"; known are " WORDS,
			       TH_FMT(th_utf8_cut(type, 40)));
	code = check(row, v, err);
	if (code)
		return code;
	rewrite(row, v, &text);
	code = th_buf_check(&text, "the action", err);
	if (!code)
		code = th_json_parse(th_buf_str(&text), &doc, err);
	if (!code)
		code = th_action_parse(th_json_root(doc), a, ret, err);
	th_json_free(doc);
	th_buf_deinit(&text);
	return code;
}

/* ---- encoding ---- */

static enum th_code no_word(struct th_err *err, const struct th_action *action, const char *what)
{
	return th_fail(err, TH_EUNSUPPORTED, "OpenAI's computer tool has no word for %s: %s",
		       th_action_name(action->kind), what);
}

/* Why the vocabulary cannot say it, or NULL. */
static const char *unsayable(const struct th_action *a, bool keys)
{
	bool holds = a->key_count > 0 && a->kind != TH_ACTION_KEY;

	if (a->key_count == 1 && capital(a->keys[0]))
		return "a capital alone means its key there; say shift and the letter";
	if (holds && !keys)
		return "no keys can be held in the preview tool";
	switch (a->kind) {
	case TH_ACTION_CLICK:
		if (!a->has_at)
			return "it must have a point";
		if (a->count > 2 || (a->count == 2 && a->button != TH_BUTTON_LEFT))
			return "only the left button clicks twice, and none three times";
		return NULL;
	case TH_ACTION_DRAG:
		if (a->button != TH_BUTTON_LEFT || a->duration_ms)
			return "only the left button, and no duration";
		return NULL;
	case TH_ACTION_SCROLL:
		if (!a->has_at || a->unit != TH_SCROLL_PIXEL)
			return "it must have a point, and pixels as its unit";
		return NULL;
	case TH_ACTION_TYPE:
		return a->has_at || a->clear || a->enter ? "text only, no point, clear or enter"
							 : NULL;
	case TH_ACTION_KEY:
		return a->count > 1 ? "pressed once only" : NULL;
	case TH_ACTION_WAIT:
		return a->duration_ms != WAIT_MS ? "two seconds only" : NULL;
	case TH_ACTION_MOVE:
	case TH_ACTION_SCREENSHOT:
		return NULL;
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
	case TH_ACTION_COUNT:
		break;
	}
	return "it is not in the vocabulary";
}

static void put_key_list(const struct th_action *a, struct th_jw *w)
{
	th_jw_key(w, TH_STR("keys"));
	th_jw_array(w);
	for (size_t i = 0; i < a->key_count; i++)
		th_jw_str(w, a->keys[i]);
	th_jw_array_end(w);
}

static const char *word_of(const struct th_action *a)
{
	if (a->kind == TH_ACTION_CLICK && a->count == 2)
		return "double_click";
	return a->kind == TH_ACTION_KEY ? "keypress" : th_action_name(a->kind);
}

enum th_code th_actions_openai_encode(const struct th_action *a, bool keys, struct th_jw *w,
				      struct th_err *err)
{
	const char *why = unsayable(a, keys), *word = word_of(a);
	bool twice = a->kind == TH_ACTION_CLICK && a->count == 2;

	if (why)
		return no_word(err, a, why);
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(word));
	if (a->kind == TH_ACTION_CLICK && !twice)
		th_jw_kstr(
		    w, "button",
		    th_str_of(a->button == TH_BUTTON_MIDDLE ? "wheel" : th_button_name(a->button)));
	if (a->kind == TH_ACTION_CLICK || a->kind == TH_ACTION_MOVE ||
	    a->kind == TH_ACTION_SCROLL) {
		th_jw_kint(w, "x", a->at.x);
		th_jw_kint(w, "y", a->at.y);
	}
	if (a->kind == TH_ACTION_SCROLL) {
		th_jw_kint(w, "scroll_x", a->dx);
		th_jw_kint(w, "scroll_y", a->dy);
	}
	if (a->kind == TH_ACTION_DRAG) {
		th_jw_key(w, TH_STR("path"));
		th_jw_array(w);
		for (size_t i = 0; i < a->path_count; i++) {
			th_jw_object(w);
			th_jw_kint(w, "x", a->path[i].x);
			th_jw_kint(w, "y", a->path[i].y);
			th_jw_object_end(w);
		}
		th_jw_array_end(w);
	}
	if (a->kind == TH_ACTION_TYPE)
		th_jw_kstr(w, "text", a->text);
	if (a->kind == TH_ACTION_KEY || a->key_count > 0)
		put_key_list(a, w);
	else if (twice && keys)
		th_jw_kraw(w, "keys", TH_STR("null")); /* the API wants the member */
	th_jw_object_end(w);
	return TH_OK;
}
