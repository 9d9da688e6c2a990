/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini.c - the predefined functions of Gemini's computer use, both
 * generations: click_at, type_text_at … (2.5) and click, type … (3).  Points
 * are 0 to 1000 over each side, and so are lengths of a scroll of the first
 * generation.
 *
 * What only a browser can do (navigate, search, go_back …) becomes a call of
 * the tool `browser`, which a plain desktop does not have: the model is told so.
 * An action that cannot be read is an item of error; a decision that a person
 * must confirm is a pending safety check, and so is one that is not known.
 */
#include "base/limits.h"
#include "base/text.h"
#include "dialects/actions.h"
#include "dialects/dialect.h"
#include "dialects/list.h"

#define MEMORY(size) (8 * (size) + 256 * TH_KIB) /* that reading a call of this size may take */
#define SCROLL_DEFAULT 800                       /* of 1000, first generation */
#define SCROLL_PIXELS_DEFAULT 300                /* second */

enum args {
	NOTHING,
	POINT, /* x, y */
	MAYBE_POINT,
	TEXT_AT,  /* x, y, text, press_enter, clear_before_typing */
	TEXT,     /* text, press_enter */
	CHORD,    /* keys: "Control+A" or a list, or key */
	SCROLL,   /* x, y, direction, magnitude */
	DOCUMENT, /* direction */
	DRAG,
	SECONDS,
	BROWSER,
};

struct row {
	const char *name;
	enum args args;
	enum th_action_kind kind;
	int count;
	enum th_button button;
	const char *browser; /* BROWSER: what it is called there */
	unsigned generation; /* that has the word: 1, 2 or both (3) */
};

#define ACT(kind) TH_ACTION_##kind
// clang-format off
static const struct row rows[] = {
	{ "click_at", POINT, ACT(CLICK), 1, TH_BUTTON_LEFT, NULL, 1 },
	{ "hover_at", POINT, ACT(MOVE), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "type_text_at", TEXT_AT, ACT(TYPE), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "key_combination", CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 1 },
	{ "scroll_at", SCROLL, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "scroll_document", DOCUMENT, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "wait_5_seconds", NOTHING, ACT(WAIT), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "drag_and_drop", DRAG, ACT(DRAG), 0, TH_BUTTON_LEFT, NULL, 3 },
	{ "click", POINT, ACT(CLICK), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "double_click", POINT, ACT(CLICK), 2, TH_BUTTON_LEFT, NULL, 2 },
	{ "triple_click", POINT, ACT(CLICK), 3, TH_BUTTON_LEFT, NULL, 2 },
	{ "right_click", POINT, ACT(CLICK), 1, TH_BUTTON_RIGHT, NULL, 2 },
	{ "middle_click", POINT, ACT(CLICK), 1, TH_BUTTON_MIDDLE, NULL, 2 },
	{ "move", POINT, ACT(MOVE), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "mouse_down", MAYBE_POINT, ACT(MOUSE_DOWN), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "mouse_up", MAYBE_POINT, ACT(MOUSE_UP), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "type", TEXT, ACT(TYPE), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "press_key", CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "hotkey", CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "key_down", CHORD, ACT(KEY_DOWN), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "key_up", CHORD, ACT(KEY_UP), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "scroll", SCROLL, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "wait", SECONDS, ACT(WAIT), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "take_screenshot", NOTHING, ACT(SCREENSHOT), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "navigate", BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "goto", 3 },
	{ "search", BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "search", 1 },
	{ "go_back", BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "back", 3 },
	{ "go_forward", BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "forward", 3 },
	{ "open_web_browser", BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "open", 1 },
};
// clang-format on

static const struct row *find(struct th_str name)
{
	static const char *const prefixes[] = { "web_agent_api:", "default_api:" };

	for (size_t i = 0; i < TH_COUNT(prefixes); i++)
		if (th_str_starts(name, th_str_of(prefixes[i])))
			name = th_str_sub(name, strlen(prefixes[i]), name.len);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

/* The preview of 2.5 knows a browser only. */
static unsigned generation(const struct th_profile *p)
{
	return p->tool && strstr(p->tool, "BROWSER") ? 1 : 2;
}

/* ---- reading a call ---- */

/* 1000 of 1000 is the last pixel, as documented; what is beyond is refused. */
static enum th_code to_pixel(const struct th_dialect_context *c, double n, int32_t side,
			     const char *name, int32_t *ret, struct th_err *err)
{
	double max = c->profile->space.max;

	if (!(n >= 0 && n <= max))
		return th_fail(err, TH_EUSAGE, "%s is outside the screen: it must be 0 to %d", name,
			       c->profile->space.max);
	*ret = TH_MIN((int32_t)(n * side / max + 0.5), side - 1);
	return TH_OK;
}

static enum th_code read_point(const struct th_dialect_context *c, const struct th_json *args,
			       const char *x, const char *y, struct th_point *ret,
			       struct th_err *err)
{
	const char *const names[] = { x, y };
	double n[2];

	for (size_t i = 0; i < 2; i++) {
		const struct th_json *v = th_json_get(args, names[i]);
		enum th_json_type type = th_json_type(v);

		if (type == TH_JSON_STR) {
			if (!th_str_f64(th_json_str(v), &n[i]))
				return th_fail(err, TH_EPROTO, "%s must be a number", names[i]);
			continue;
		}
		if (type != TH_JSON_INT && type != TH_JSON_REAL)
			return th_fail(err, TH_EPROTO, "%s is missing: it must be a number",
				       names[i]);
		n[i] = th_json_num(v, 0);
	}
	if (to_pixel(c, n[0], c->screen.width, x, &ret->x, err))
		return TH_EUSAGE;
	return to_pixel(c, n[1], c->screen.height, y, &ret->y, err);
}

static bool has_point(const struct th_json *args)
{
	return !th_json_is_null(th_json_get(args, "x")) || !th_json_is_null(th_json_get(args, "y"));
}

static enum th_code read_drag(const struct th_dialect_context *c, const struct th_json *args,
			      struct th_arena *a, struct th_action *ret, struct th_err *err)
{
	bool first = has_point(args);
	enum th_code code;

	ret->path = th_arena_array(a, 2, sizeof(*ret->path));
	if (!ret->path)
		return th_fail(err, TH_ELIMIT, "the call takes too much memory");
	ret->path_count = 2;
	code = read_point(c, args, first ? "x" : "start_x", first ? "y" : "start_y", &ret->path[0],
			  err);
	if (code)
		return code;
	return read_point(c, args, first ? "destination_x" : "end_x",
			  first ? "destination_y" : "end_y", &ret->path[1], err);
}

/* `unit`: of 1000 over the side that is scrolled, or pixels. */
static enum th_code put_scroll(const struct th_dialect_context *c, struct th_str direction,
			       double amount, bool pixels, struct th_action *ret,
			       struct th_err *err)
{
	bool up = th_str_ieq(direction, TH_STR("up")), down = th_str_ieq(direction, TH_STR("down"));
	bool left = th_str_ieq(direction, TH_STR("left"));
	bool right = th_str_ieq(direction, TH_STR("right"));
	int32_t side = up || down ? c->screen.height : c->screen.width, length;

	if (!up && !down && !left && !right)
		return th_fail(err, TH_EPROTO, "direction must be up, down, left or right");
	if (!(amount > 0 && amount <= TH_SCROLL_MAX))
		return th_fail(err, TH_EPROTO,
			       "how far to scroll must be more than 0 and at most %d",
			       TH_SCROLL_MAX);
	length = (int32_t)(pixels ? amount + 0.5 : amount / 1000 * side + 0.5);
	length = TH_MAX(TH_MIN(length, TH_SCROLL_MAX), 1);
	ret->unit = TH_SCROLL_PIXEL;
	ret->dx = right ? length : left ? -length : 0;
	ret->dy = down ? length : up ? -length : 0;
	return TH_OK;
}

static double number(const struct th_json *args, const char *key, double otherwise)
{
	const struct th_json *v = th_json_get(args, key);
	double d;

	if (th_json_type(v) == TH_JSON_STR && th_str_f64(th_json_str(v), &d))
		return d;
	return th_json_num(v, otherwise);
}

static enum th_code read_scroll(const struct th_dialect_context *c, const struct th_json *args,
				struct th_action *ret, struct th_err *err)
{
	bool pixels = !th_json_is_null(th_json_get(args, "magnitude_in_pixels"));
	bool grid = !th_json_is_null(th_json_get(args, "magnitude"));
	struct th_str direction = th_json_get_str(args, "direction");
	enum th_code code;

	code = read_point(c, args, "x", "y", &ret->at, err);
	ret->has_at = true;
	if (code)
		return code;
	if (pixels)
		return put_scroll(c, direction, number(args, "magnitude_in_pixels", 0), true, ret,
				  err);
	if (grid || ret->count)
		return put_scroll(c, direction, number(args, "magnitude", SCROLL_DEFAULT), false,
				  ret, err);
	return put_scroll(c, direction, SCROLL_PIXELS_DEFAULT, true, ret, err);
}

/* "Control+A"; a plus is a key where a name is expected. */
static enum th_code split_chord(struct th_str text, struct th_action *ret, struct th_err *err)
{
	text = th_str_trim(text);
	while (text.len) {
		size_t len = 1;

		while (len < text.len && text.ptr[0] != '+' && text.ptr[len] != '+')
			len++;
		if (ret->key_count == TH_CHORD_KEYS_MAX)
			return th_fail(err, TH_EPROTO, "a chord has at most %d keys",
				       TH_CHORD_KEYS_MAX);
		ret->keys[ret->key_count++] = th_str_trim(th_str_sub(text, 0, len));
		text = th_str_sub(text, len + (len < text.len), text.len);
	}
	return ret->key_count ? TH_OK : th_fail(err, TH_EPROTO, "the keys are missing");
}

static enum th_code read_keys(const struct th_json *args, struct th_arena *a, struct th_action *ret,
			      struct th_err *err)
{
	const struct th_json *keys = th_json_get(args, "keys");
	struct th_json_iter it;

	if (th_json_is_null(keys))
		keys = th_json_get(args, "key");
	if (th_json_type(keys) == TH_JSON_STR)
		return split_chord(th_arena_str(a, th_json_str(keys)), ret, err);
	for (it = th_json_iter(keys); th_json_is_array(keys) && th_json_next(&it);) {
		if (th_json_type(it.val) != TH_JSON_STR || ret->key_count == TH_CHORD_KEYS_MAX)
			return th_fail(err, TH_EPROTO, "keys must be a list of 1 to %d names",
				       TH_CHORD_KEYS_MAX);
		ret->keys[ret->key_count++] = th_arena_str(a, th_json_str(it.val));
	}
	return ret->key_count ? TH_OK : th_fail(err, TH_EPROTO, "the keys are missing");
}

static enum th_code read_text(const struct th_json *args, struct th_arena *a, bool enter,
			      bool clear, struct th_action *ret, struct th_err *err)
{
	const struct th_json *text = th_json_get(args, "text");

	if (th_json_type(text) != TH_JSON_STR)
		return th_fail(err, TH_EPROTO, "text is missing: it must be a string");
	ret->text = th_arena_str(a, th_json_str(text));
	ret->enter = th_json_bool(th_json_get(args, "press_enter"), enter);
	ret->clear = th_json_bool(th_json_get(args, "clear_before_typing"), clear);
	return TH_OK;
}

static enum th_code read_action(const struct th_dialect_context *c, const struct row *row,
				const struct th_json *args, struct th_arena *a,
				struct th_action *ret, struct th_err *err)
{
	enum th_code code = TH_OK;

	*ret = (struct th_action){ .kind = row->kind, .count = row->count, .button = row->button };
	switch (row->args) {
	case NOTHING:
		if (row->kind == TH_ACTION_WAIT)
			ret->duration_ms = 5000;
		return TH_OK;
	case MAYBE_POINT:
		if (!has_point(args))
			return TH_OK;
		ret->has_at = true;
		return read_point(c, args, "x", "y", &ret->at, err);
	case POINT:
		ret->has_at = true;
		return read_point(c, args, "x", "y", &ret->at, err);
	case TEXT_AT:
		ret->has_at = true;
		code = read_point(c, args, "x", "y", &ret->at, err);
		return code ? code : read_text(args, a, true, true, ret, err);
	case TEXT:
		if (has_point(args)) {
			ret->has_at = true;
			code = read_point(c, args, "x", "y", &ret->at, err);
		}
		return code ? code : read_text(args, a, false, false, ret, err);
	case CHORD:
		return read_keys(args, a, ret, err);
	case SCROLL:
		ret->count = row->generation == 1; /* for its default, see read_scroll */
		code = read_scroll(c, args, ret, err);
		ret->count = 0;
		return code;
	case DOCUMENT:
		ret->has_at = true;
		ret->at = (struct th_point){ c->screen.width / 2, c->screen.height / 2 };
		return put_scroll(c, th_json_get_str(args, "direction"), SCROLL_DEFAULT, false, ret,
				  err);
	case DRAG:
		return read_drag(c, args, a, ret, err);
	case SECONDS: {
		double seconds = number(args, "seconds", 1);

		if (!(seconds > 0 && seconds * 1000 <= TH_WAIT_MS_MAX))
			return th_fail(err, TH_EPROTO, "seconds must be more than 0 and at most %d",
				       TH_WAIT_MS_MAX / 1000);
		ret->duration_ms = TH_MAX((int32_t)(seconds * 1000), 1);
		return TH_OK;
	}
	case BROWSER:
		break;
	}
	return th_fail(err, TH_EPROTO, "it is not an action of the screen");
}

/* What th_action_parse would not take must not get into an item. */
static enum th_code checked(const struct th_action *action, struct th_arena *a, struct th_buf *text,
			    struct th_err *err)
{
	struct th_jw w = th_jw(text);
	struct th_json_doc *doc = NULL;
	struct th_action again;
	enum th_code code;

	th_action_print(action, &w);
	code = th_json_parse(th_buf_str(text), &doc, err);
	if (!code)
		code = th_action_parse(th_json_root(doc), a, &again, err);
	th_json_free(doc);
	return code;
}

/* ---- items ---- */

/* Members of a call that its result needs: see gemini.h. */
static void put_ids(struct th_jw *w, struct th_str item)
{
	static const char *const names[] = { "id", "call_id", "name", "arguments" };

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str raw = th_json_raw_get(item, names[i]);

		if (raw.len)
			th_jw_kraw(w, names[i], raw);
	}
}

/* {"decision":"require_confirmation","explanation":"…"}: what is not known to be harmless must be
 * confirmed. */
static void put_safety(struct th_jw *w, const struct th_json *args, struct th_str call_id)
{
	const struct th_json *safety = th_json_get(args, "safety_decision");
	struct th_str decision = th_json_get_str(safety, "decision");
	struct th_str why = th_json_get_str(safety, "explanation");

	th_jw_key(w, TH_STR("pending_safety_checks"));
	th_jw_array(w);
	if (!th_json_is_null(safety) && !th_str_ieq(decision, TH_STR("regular")) &&
	    !th_str_ieq(decision, TH_STR("allow")) && !th_str_ieq(decision, TH_STR("allowed"))) {
		if (!decision.len)
			decision = th_json_str(safety);
		th_jw_object(w);
		th_jw_kraw(w, "id", call_id);
		th_jw_kstr(w, "code", decision.len ? decision : TH_STR("require_confirmation"));
		th_jw_kstr(w, "message",
			   why.len ? why : TH_STR("The model asks for confirmation."));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void say_computer(const struct th_dialect_context *c, const struct row *row,
			 const struct th_json *args, struct th_str item, struct th_jw *w)
{
	struct th_arena a;
	struct th_action action;
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX), sentence = TH_BUF_INIT(TH_KIB);
	struct th_err err;
	enum th_code code;

	th_arena_init(&a, MEMORY(item.len));
	code = read_action(c, row, args, &a, &action, &err);
	if (!code)
		code = checked(&action, &a, &text, &err);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_call"));
	put_ids(w, item);
	th_jw_key(w, TH_STR("actions"));
	th_jw_array(w);
	if (!code)
		th_jw_raw(w, th_buf_str(&text));
	th_jw_array_end(w);
	if (code) {
		th_buf_printf(&sentence, "%s: %s", row->name, err.msg);
		th_jw_kstr(w, "error", th_buf_str(&sentence));
	}
	put_safety(w, args, th_json_raw_get(item, "call_id"));
	th_jw_kstr(w, "status", TH_STR("completed"));
	th_jw_object_end(w);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
	th_buf_deinit(&sentence);
}

static void say_browser(const struct row *row, const struct th_json *args, struct th_str item,
			struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw inner = th_jw(&text);
	static const char *const copied[] = { "url", "query" };

	th_jw_object(&inner);
	th_jw_kstr(&inner, "action", th_str_of(row->browser));
	for (size_t i = 0; i < TH_COUNT(copied); i++)
		if (th_json_type(th_json_get(args, copied[i])) == TH_JSON_STR)
			th_jw_kstr(&inner, copied[i], th_json_get_str(args, copied[i]));
	th_jw_object_end(&inner);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	if (th_json_raw_get(item, "id").len)
		th_jw_kraw(w, "id", th_json_raw_get(item, "id"));
	th_jw_kraw(w, "call_id", th_json_raw_get(item, "call_id"));
	th_jw_kstr(w, "name", TH_STR(TH_TOOL_BROWSER));
	th_jw_kstr(w, "arguments", th_buf_str(&text));
	th_jw_kraw(w, "function", th_json_raw_get(item, "name"));
	put_safety(w, args, th_json_raw_get(item, "call_id"));
	th_jw_object_end(w);
	th_buf_deinit(&text);
}

static void say_item(const struct th_dialect_context *c, const struct th_json *v,
		     struct th_str item, struct th_jw *w)
{
	bool call = th_str_is(th_json_get_str(v, "type"), "function_call");
	const struct row *row = call ? find(th_json_get_str(v, "name")) : NULL;
	struct th_json_doc *args = NULL;

	/* Words of a browser may well be tools of the agent where the model was not given them. */
	if (row && row->args == BROWSER && !(row->generation & generation(c->profile)))
		row = NULL;
	if (!row || th_json_parse(th_json_get_str(v, "arguments"), &args, NULL)) {
		th_jw_raw(w, item);
		return;
	}
	if (row->args == BROWSER)
		say_browser(row, th_json_root(args), item, w);
	else
		say_computer(c, row, th_json_root(args), item, w);
	th_json_free(args);
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	/* Without a screen these are names like any other. */
	if (c->screen.width <= 0 || c->screen.height <= 0 || th_json_parse(items, &doc, NULL)) {
		th_buf_add(out, items);
		return th_buf_check(out, "the answer's items", err);
	}
	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it) && th_json_raw_next(&raw);)
		say_item(c, it.val, raw.val, &w);
	th_jw_array_end(&w);
	th_json_free(doc);
	return th_buf_check(out, "the answer's items", err);
}

/* ---- writing a call ---- */

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

/* The row that says the action in this generation, or NULL. */
static const struct row *word_of(const struct th_action *a, unsigned gen)
{
	bool held = a->key_count > 0 && a->kind != TH_ACTION_KEY && a->kind != TH_ACTION_KEY_DOWN &&
		    a->kind != TH_ACTION_KEY_UP;

	for (size_t i = 0; i < TH_COUNT(rows) && !held; i++) {
		const struct row *r = &rows[i];
		bool at = a->has_at, good = false;

		if (r->kind != a->kind || !(r->generation & gen) || r->args == BROWSER)
			continue;
		switch (r->args) {
		case POINT:
			good = at && (a->kind != TH_ACTION_CLICK ||
				      (r->count == a->count && r->button == a->button));
			break;
		case MAYBE_POINT:
			good = a->button == TH_BUTTON_LEFT;
			break;
		case TEXT_AT:
			good = at;
			break;
		case TEXT:
			good = !at && !a->clear;
			break;
		case CHORD:
			if (a->kind != TH_ACTION_KEY)
				good = a->key_count == 1;
			else
				good = a->count <= 1 &&
				       (a->key_count == 1) == !strcmp(r->name, "press_key");
			good = good || (a->kind == TH_ACTION_KEY && a->count <= 1 && gen == 1);
			break;
		case SCROLL:
			good = at && a->unit == TH_SCROLL_PIXEL && !a->dx != !a->dy;
			break;
		case DRAG:
			good = a->path_count == 2 && a->button == TH_BUTTON_LEFT && !a->duration_ms;
			break;
		case NOTHING:
			good = a->kind != TH_ACTION_WAIT || a->duration_ms == 5000;
			break;
		case SECONDS:
			good = a->duration_ms > 0;
			break;
		case DOCUMENT:
		case BROWSER:
			break;
		}
		if (good)
			return r;
	}
	return NULL;
}

static bool put_chord(const struct row *row, const struct th_action *a, struct th_jw *w)
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

static void put_scroll_args(const struct th_dialect_context *c, const struct row *row,
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

static bool put_args(const struct th_dialect_context *c, const struct row *row,
		     const struct th_action *a, struct th_jw *w)
{
	bool first = row->generation == 1 || generation(c->profile) == 1;

	switch (row->args) {
	case POINT:
	case MAYBE_POINT:
		if (a->has_at)
			put_place(c, a->at, "x", "y", w);
		return true;
	case TEXT_AT:
		put_place(c, a->at, "x", "y", w);
		th_jw_kstr(w, "text", a->text);
		th_jw_kbool(w, "press_enter", a->enter);
		th_jw_kbool(w, "clear_before_typing", a->clear);
		return true;
	case TEXT:
		th_jw_kstr(w, "text", a->text);
		th_jw_kbool(w, "press_enter", a->enter);
		return true;
	case CHORD:
		return put_chord(row, a, w);
	case SCROLL:
		put_scroll_args(c, row, a, w);
		return row->generation == 2 ||
		       (a->dx ? a->dx : a->dy) * 1000.0 /
			       (a->dx ? c->screen.width : c->screen.height) <=
			   TH_SCROLL_MAX;
	case DRAG:
		put_place(c, a->path[0], first ? "x" : "start_x", first ? "y" : "start_y", w);
		put_place(c, a->path[1], first ? "destination_x" : "end_x",
			  first ? "destination_y" : "end_y", w);
		return true;
	case SECONDS:
		put_number(w, "seconds", a->duration_ms / 1000.0);
		return true;
	case NOTHING:
	case DOCUMENT:
	case BROWSER:
		break;
	}
	return true;
}

/* One action as a call; `n` tells the calls of one item apart. */
static enum th_code say_action(const struct th_dialect_context *c, const struct th_action *action,
			       struct th_str item, size_t n, struct th_jw *w, struct th_err *err)
{
	const struct row *row = word_of(action, generation(c->profile));
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

	th_arena_init(&a, MEMORY(item.len));
	code = th_model_actions(c->profile, v, &a, &actions, &count, err);
	for (size_t i = 0; !code && i < count; i++)
		code = say_action(c, &actions[i], item, i, w, err);
	th_arena_deinit(&a);
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
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

/* ---- functions, for models without the tool ---- */

static void put_parameter(struct th_jw *w, const char *name, const char *schema)
{
	th_jw_kraw(w, name, th_str_of(schema));
}

#define PLACE "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}"
static const struct {
	const char *name, *description;
	const char *const *parameters; /* name, schema … */
	const char *required;          /* NULL: all */
} functions[] = {
#define AT "x", PLACE, "y", PLACE
#define LIST(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
	{ "click", "Click the left button.", LIST(AT), NULL },
	{ "double_click", "Click the left button twice.", LIST(AT), NULL },
	{ "triple_click", "Click the left button three times.", LIST(AT), NULL },
	{ "right_click", "Click the right button.", LIST(AT), NULL },
	{ "middle_click", "Click the middle button.", LIST(AT), NULL },
	{ "move", "Move the pointer.", LIST(AT), NULL },
	{ "type", "Type text where the keyboard's focus is.",
	  LIST("text", "{\"type\":\"string\"}", "press_enter", "{\"type\":\"boolean\"}"),
	  "[\"text\"]" },
	{ "hotkey", "Press keys together, such as [\"ctrl\",\"a\"] or [\"enter\"].",
	  LIST("keys", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"), NULL },
	{ "scroll", "Turn the wheel at a place.",
	  LIST(AT, "direction",
	       "{\"type\":\"string\",\"enum\":[\"up\",\"down\",\"left\",\"right\"]}",
	       "magnitude_in_pixels", "{\"type\":\"integer\",\"minimum\":1}"),
	  "[\"x\",\"y\",\"direction\"]" },
	{ "drag_and_drop", "Press the left button, move, release.",
	  LIST("start_x", PLACE, "start_y", PLACE, "end_x", PLACE, "end_y", PLACE), NULL },
	{ "wait", "Wait some seconds.",
	  LIST("seconds", "{\"type\":\"number\",\"minimum\":0.1,\"maximum\":60}"), NULL },
	{ "take_screenshot", "Look at the screen.", (const char *const[]){ NULL }, NULL },
#undef AT
#undef LIST
};

static void tools(const struct th_dialect_context *c, struct th_jw *w)
{
	(void)c;
	for (size_t i = 0; i < TH_COUNT(functions); i++) {
		const char *const *p = functions[i].parameters;

		th_jw_object(w);
		th_jw_kstr(w, "name", th_str_of(functions[i].name));
		th_jw_kstr(w, "description", th_str_of(functions[i].description));
		th_jw_key(w, TH_STR("parameters"));
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("object"));
		th_jw_key(w, TH_STR("properties"));
		th_jw_object(w);
		for (; *p; p += 2)
			put_parameter(w, p[0], p[1]);
		th_jw_object_end(w);
		th_jw_key(w, TH_STR("required"));
		if (functions[i].required) {
			th_jw_raw(w, th_str_of(functions[i].required));
		} else {
			th_jw_array(w);
			for (p = functions[i].parameters; *p; p += 2)
				th_jw_str(w, th_str_of(p[0]));
			th_jw_array_end(w);
		}
		th_jw_object_end(w);
		th_jw_object_end(w);
	}
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	if (c->profile->computer == TH_COMPUTER_DIALECT)
		th_buf_add_cstr(out, "You see the screen of a computer and act on it with the "
				     "functions. Points are counted from 0 to 1000 from left to "
				     "right (x) and from top to bottom (y), whatever the size of "
				     "the screen. After each call you are shown the screen.");
}

const struct th_dialect th_dialect_gemini = {
	.name = "gemini",
	.note = "predefined functions of Gemini's computer use",
	.prompt = prompt,
	.tools = tools,
	.decode = decode,
	.encode = encode,
};
