/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini_read.c - a call of Gemini's, as an action.
 */
#include "base/limits.h"
#include "base/text.h"
#include "dialects/gemini_words.h"

#define SCROLL_DEFAULT 800        /* of 1000, first generation */
#define SCROLL_PIXELS_DEFAULT 300 /* second */

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

enum th_code th_gemini_read(const struct th_dialect_context *c, const struct th_gemini_word *row,
			    const struct th_json *args, struct th_arena *a, struct th_action *ret,
			    struct th_err *err)
{
	enum th_code code = TH_OK;

	*ret = (struct th_action){ .kind = row->kind, .count = row->count, .button = row->button };
	switch (row->args) {
	case TH_GEMINI_NOTHING:
		if (row->kind == TH_ACTION_WAIT)
			ret->duration_ms = 5000;
		return TH_OK;
	case TH_GEMINI_MAYBE_POINT:
		if (!has_point(args))
			return TH_OK;
		ret->has_at = true;
		return read_point(c, args, "x", "y", &ret->at, err);
	case TH_GEMINI_POINT:
		ret->has_at = true;
		return read_point(c, args, "x", "y", &ret->at, err);
	case TH_GEMINI_TEXT_AT:
		ret->has_at = true;
		code = read_point(c, args, "x", "y", &ret->at, err);
		return code ? code : read_text(args, a, true, true, ret, err);
	case TH_GEMINI_TEXT:
		if (has_point(args)) {
			ret->has_at = true;
			code = read_point(c, args, "x", "y", &ret->at, err);
		}
		return code ? code : read_text(args, a, false, false, ret, err);
	case TH_GEMINI_CHORD:
		return read_keys(args, a, ret, err);
	case TH_GEMINI_SCROLL:
		ret->count = row->generation == 1; /* for its default, see read_scroll */
		code = read_scroll(c, args, ret, err);
		ret->count = 0;
		return code;
	case TH_GEMINI_DOCUMENT:
		ret->has_at = true;
		ret->at = (struct th_point){ c->screen.width / 2, c->screen.height / 2 };
		return put_scroll(c, th_json_get_str(args, "direction"), SCROLL_DEFAULT, false, ret,
				  err);
	case TH_GEMINI_DRAG:
		return read_drag(c, args, a, ret, err);
	case TH_GEMINI_SECONDS: {
		double seconds = number(args, "seconds", 1);

		if (!(seconds > 0 && seconds * 1000 <= TH_WAIT_MS_MAX))
			return th_fail(err, TH_EPROTO, "seconds must be more than 0 and at most %d",
				       TH_WAIT_MS_MAX / 1000);
		ret->duration_ms = TH_MAX((int32_t)(seconds * 1000), 1);
		return TH_OK;
	}
	case TH_GEMINI_BROWSER:
		break;
	}
	return th_fail(err, TH_EPROTO, "it is not an action of the screen");
}
