/* SPDX-License-Identifier: Apache-2.0 */
/* action_parse.c - an action of its JSON object, or the sentence that says what is wrong with it.
 */
#include "actions/action_internal.h"

#include <stdio.h>

#include "actions/keys.h"
#include "base/text.h"

/* Where one value is, for the sentence: "path[3].x". */
#define WHERE_MAX 32

static enum th_code parse_int(const struct th_json *v, const char *where, int64_t min, int64_t max,
			      int32_t *ret, struct th_err *err)
{
	enum th_json_type type = th_json_type(v);
	int64_t low = th_json_int(v, INT64_MIN), high = th_json_int(v, INT64_MAX);

	if (type == TH_JSON_ABSENT)
		return th_fail(err, TH_EPROTO, "%s is missing", where);
	if (type != TH_JSON_INT && type != TH_JSON_REAL)
		return th_fail(err, TH_EPROTO, "%s must be an integer, not %s", where,
			       th_json_type_name(type));
	if (low != high || low < min || low > max)
		return th_fail(err, TH_EPROTO, "%s must be an integer from %lld to %lld", where,
			       (long long)min, (long long)max);
	*ret = (int32_t)low;
	return TH_OK;
}

static enum th_code parse_point(const struct th_json *v, const char *prefix, struct th_point *ret,
				struct th_err *err)
{
	char where[WHERE_MAX];
	struct th_point point;
	enum th_code code;

	snprintf(where, sizeof(where), "%sx", prefix);
	code = parse_int(th_json_get(v, "x"), where, -TH_POINT_MAX, TH_POINT_MAX, &point.x, err);
	if (code < 0)
		return code;
	snprintf(where, sizeof(where), "%sy", prefix);
	code = parse_int(th_json_get(v, "y"), where, -TH_POINT_MAX, TH_POINT_MAX, &point.y, err);
	if (code < 0)
		return code;
	*ret = point;
	return TH_OK;
}

static enum th_code parse_at(const struct th_json *v, bool must, struct th_action *ret,
			     struct th_err *err)
{
	if (th_json_is_null(th_json_get(v, "x")) && th_json_is_null(th_json_get(v, "y")) && !must)
		return TH_OK;
	ret->has_at = true;
	return parse_point(v, "", &ret->at, err);
}

static enum th_code parse_path(const struct th_json *v, struct th_arena *a, struct th_action *ret,
			       struct th_err *err)
{
	const struct th_json *list = th_json_get(v, "path");
	size_t count = th_json_count(list);
	struct th_json_iter it = th_json_iter(list);

	if (!th_json_is_array(list) || count < 2 || count > TH_DRAG_POINTS_MAX)
		return th_fail(err, TH_EPROTO,
			       "path must be a list of 2 to %d points {\"x\":…,\"y\":…}",
			       TH_DRAG_POINTS_MAX);
	ret->path = th_arena_array(a, count, sizeof(*ret->path));
	if (!ret->path)
		return th_fail(err, TH_ELIMIT, "the path is too long for the memory it may use");
	while (th_json_next(&it)) {
		char prefix[WHERE_MAX];
		struct th_json_iter member = th_json_iter(it.val);

		snprintf(prefix, sizeof(prefix), "path[%zu].", it.index);
		if (!th_json_is_object(it.val))
			return th_fail(err, TH_EPROTO,
				       "path[%zu] must be {\"x\":…,\"y\":…}, not %s", it.index,
				       th_json_type_name(th_json_type(it.val)));
		while (th_json_next(&member)) {
			if (!th_str_is(member.key, "x") && !th_str_is(member.key, "y"))
				return th_fail(err, TH_EPROTO,
					       "path[%zu] has only x and y, no %.*s", it.index,
					       TH_FMT(th_utf8_cut(member.key, 40)));
		}
		enum th_code code = parse_point(it.val, prefix, &ret->path[ret->path_count], err);

		if (code < 0)
			return code;
		ret->path_count++;
	}
	return TH_OK;
}

static enum th_code parse_button(const struct th_json *v, struct th_action *ret, struct th_err *err)
{
	const struct th_json *button = th_json_get(v, "button");
	int found;

	if (th_json_is_null(button))
		return TH_OK; /* left */
	found = th_button_find(th_json_str(button));
	if (found < 0)
		return th_fail(err, TH_EPROTO,
			       "button must be \"left\", \"right\", \"middle\", \"back\" or "
			       "\"forward\"");
	ret->button = (enum th_button)found;
	return TH_OK;
}

static enum th_code parse_delta(const struct th_json *v, struct th_action *ret, struct th_err *err)
{
	const struct th_json *dx = th_json_get(v, "dx"), *dy = th_json_get(v, "dy");
	const struct th_json *unit = th_json_get(v, "unit");
	enum th_code code;

	if (!th_json_is_null(dx) &&
	    (code = parse_int(dx, "dx", -TH_SCROLL_MAX, TH_SCROLL_MAX, &ret->dx, err)) < 0)
		return code;
	if (!th_json_is_null(dy) &&
	    (code = parse_int(dy, "dy", -TH_SCROLL_MAX, TH_SCROLL_MAX, &ret->dy, err)) < 0)
		return code;
	if (ret->dx == 0 && ret->dy == 0)
		return th_fail(err, TH_EPROTO,
			       "dx and dy are both 0: say how far to scroll, dx > 0 to the right, "
			       "dy > 0 down");
	if (th_json_is_null(unit) || th_str_is(th_json_str(unit), "notch"))
		ret->unit = TH_SCROLL_NOTCH;
	else if (th_str_is(th_json_str(unit), "pixel"))
		ret->unit = TH_SCROLL_PIXEL;
	else
		return th_fail(err, TH_EPROTO, "unit must be \"notch\" or \"pixel\"");
	return TH_OK;
}

/* The first character that no key makes. */
static bool untypable(struct th_str text, uint32_t *ret)
{
	while (th_utf8_next(&text, ret)) {
		if (th_keys_of_char(*ret) == TH_KEYSYM_NONE)
			return true;
	}
	return false;
}

static enum th_code parse_text(const struct th_json *v, struct th_arena *a, struct th_action *ret,
			       struct th_err *err)
{
	const struct th_json *text = th_json_get(v, "text");
	size_t max = ret->kind == TH_ACTION_TYPE ? TH_TYPE_TEXT_MAX : TH_CLIPBOARD_MAX;
	struct th_str s = th_json_str(text);
	uint32_t c;

	if (th_json_type(text) != TH_JSON_STR)
		return th_fail(err, TH_EPROTO, "text must be a string, not %s",
			       th_json_type_name(th_json_type(text)));
	if (s.len > max)
		return th_fail(err, TH_EPROTO,
			       "text has %zu bytes, of which at most %zu are allowed", s.len, max);
	if (ret->kind == TH_ACTION_TYPE && untypable(s, &c))
		return th_fail(
		    err, TH_EPROTO,
		    "text holds the character U+%04X, which no key makes; newline and tab "
		    "are the only control characters that can be typed",
		    (unsigned)c);
	ret->text = th_arena_str(a, s);
	if (!ret->text.ptr)
		return th_fail(err, TH_ELIMIT, "the text is too long for the memory it may use");
	return TH_OK;
}

static enum th_code parse_bool(const struct th_json *v, const char *name, bool *ret,
			       struct th_err *err)
{
	const struct th_json *value = th_json_get(v, name);

	if (th_json_is_null(value))
		return TH_OK;
	if (th_json_type(value) != TH_JSON_BOOL)
		return th_fail(err, TH_EPROTO, "%s must be true or false, not %s", name,
			       th_json_type_name(th_json_type(value)));
	*ret = th_json_bool(value, false);
	return TH_OK;
}

static enum th_code parse_flags(const struct th_json *v, struct th_action *ret, struct th_err *err)
{
	enum th_code code = parse_bool(v, "clear", &ret->clear, err);

	if (code < 0 || (code = parse_bool(v, "enter", &ret->enter, err)) < 0)
		return code;
	if (ret->text.len == 0 && !ret->clear && !ret->enter)
		return th_fail(err, TH_EPROTO,
			       "text is empty and neither clear nor enter is set: nothing to type");
	return TH_OK;
}

static enum th_code parse_keys(const struct th_json *v, bool must, struct th_arena *a,
			       struct th_action *ret, struct th_err *err)
{
	const struct th_json *list = th_json_get(v, "keys");
	struct th_json_iter it = th_json_iter(list);
	size_t count = th_json_count(list);

	if (th_json_is_null(list) && !must)
		return TH_OK;
	if (!th_json_is_array(list) || count > TH_CHORD_KEYS_MAX || (must && count == 0))
		return th_fail(
		    err, TH_EPROTO,
		    "keys must be a list of %s%d names of keys, such as [\"ctrl\",\"a\"]",
		    must ? "1 to " : "at most ", TH_CHORD_KEYS_MAX);
	while (th_json_next(&it)) {
		if (th_json_type(it.val) != TH_JSON_STR)
			return th_fail(err, TH_EPROTO, "keys[%zu] must be a string, not %s",
				       it.index, th_json_type_name(th_json_type(it.val)));
		ret->keys[ret->key_count] = th_arena_str(a, th_json_str(it.val));
		if (!ret->keys[ret->key_count].ptr)
			return th_fail(err, TH_ELIMIT,
				       "keys are too long for the memory they may use");
		ret->key_count++;
	}
	return TH_OK;
}

static enum th_code parse_region(const struct th_json *v, struct th_action *ret, struct th_err *err)
{
	static const char *const names[] = { "region's x", "region's y", "region's width",
					     "region's height" };
	const struct th_json *list = th_json_get(v, "region");
	int32_t *const targets[] = { &ret->region.x, &ret->region.y, &ret->region.width,
				     &ret->region.height };
	struct th_json_iter it = th_json_iter(list);

	if (!th_json_is_array(list) || th_json_count(list) != 4)
		return th_fail(err, TH_EPROTO, "region must be [x, y, width, height]");
	while (th_json_next(&it)) {
		enum th_code code =
		    parse_int(it.val, names[it.index], it.index < 2 ? -TH_POINT_MAX : 1,
			      TH_POINT_MAX, targets[it.index], err);

		if (code < 0)
			return code;
	}
	return TH_OK;
}

static enum th_code parse_count(const struct th_json *v, struct th_action *ret, struct th_err *err)
{
	const struct th_json *count = th_json_get(v, "count");

	ret->count = 1;
	if (th_json_is_null(count))
		return TH_OK;
	return parse_int(count, "count", 1, th_action_parts[ret->kind].count_max, &ret->count, err);
}

static enum th_code parse_duration(const struct th_json *v, struct th_action *ret,
				   struct th_err *err)
{
	const struct th_json *duration = th_json_get(v, "duration_ms");

	if (th_json_is_null(duration))
		return TH_OK;
	return parse_int(duration, "duration_ms", 0, TH_WAIT_MS_MAX, &ret->duration_ms, err);
}

static unsigned part_of(struct th_str name)
{
	for (size_t i = 0; i < TH_ACTION_MEMBERS; i++) {
		if (th_str_is(name, th_action_members[i].name))
			return th_action_members[i].part;
	}
	return 0;
}

/* Every member of the object must be one of the kind's. */
static enum th_code check_members(const struct th_json *v, unsigned may, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	char list[160] = "";

	for (size_t i = 0; i < TH_ACTION_MEMBERS; i++) {
		size_t used = strlen(list);

		if (th_action_members[i].part & may)
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 th_action_members[i].name);
	}
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "type") || (part_of(it.key) & may))
			continue;
		return th_fail(err, TH_EPROTO, "there is no \"%.*s\" in this action; it has %s",
			       TH_FMT(th_utf8_cut(it.key, 40)), *list ? list : "only \"type\"");
	}
	return TH_OK;
}

static enum th_code parse_kind(const struct th_json *v, enum th_action_kind *ret,
			       struct th_err *err)
{
	const struct th_json *type = th_json_get(v, "type");
	char list[400] = "";
	int found;

	if (!th_json_is_object(v))
		return th_fail(err, TH_EPROTO,
			       "an action must be an object with a \"type\", not %s",
			       th_json_type_name(th_json_type(v)));
	found = th_action_find(th_json_str(type));
	if (found >= 0) {
		*ret = (enum th_action_kind)found;
		return TH_OK;
	}
	for (int i = 0; i < TH_ACTION_COUNT; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
			 th_action_name(i));
	}
	if (th_json_type(type) != TH_JSON_STR)
		return th_fail(err, TH_EPROTO, "the action's \"type\" must be one of %s", list);
	return th_fail(err, TH_EPROTO, "unknown action \"%.*s\"; known are %s",
		       TH_FMT(th_utf8_cut(th_json_str(type), 40)), list);
}

static enum th_code parse_parts(const struct th_json *v, struct th_arena *a, struct th_action *ret,
				struct th_err *err)
{
	unsigned may = th_action_parts[ret->kind].may, must = th_action_parts[ret->kind].must;
	enum th_code code = check_members(v, may, err);

	if (code == TH_OK && (may & HAS_POINT))
		code = parse_at(v, must & HAS_POINT, ret, err);
	if (code == TH_OK && (may & HAS_PATH))
		code = parse_path(v, a, ret, err);
	if (code == TH_OK && (may & HAS_BUTTON))
		code = parse_button(v, ret, err);
	if (code == TH_OK && (may & HAS_DELTA))
		code = parse_delta(v, ret, err);
	if (code == TH_OK && (may & HAS_TEXT))
		code = parse_text(v, a, ret, err);
	if (code == TH_OK && (may & HAS_FLAGS))
		code = parse_flags(v, ret, err);
	if (code == TH_OK && (may & HAS_KEYS))
		code = parse_keys(v, must & HAS_KEYS, a, ret, err);
	if (code == TH_OK && (may & HAS_COUNT))
		code = parse_count(v, ret, err);
	if (code == TH_OK && (may & HAS_DURATION))
		code = parse_duration(v, ret, err);
	if (code == TH_OK && (may & HAS_REGION))
		code = parse_region(v, ret, err);
	return code;
}

enum th_code th_action_parse(const struct th_json *v, struct th_arena *a, struct th_action *ret,
			     struct th_err *err)
{
	struct th_action action = {};
	enum th_code code = parse_kind(v, &action.kind, err);

	if (code < 0)
		return code;
	code = parse_parts(v, a, &action, err);
	if (code < 0)
		return th_prefix(err, code, "%s", th_action_name(action.kind));
	*ret = action;
	return TH_OK;
}
