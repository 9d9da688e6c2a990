/* SPDX-License-Identifier: Apache-2.0 */
#include "core/action.h"

#include <stdio.h>

#include "base/text.h"
#include "core/keys.h"

/* What a kind's JSON object may hold besides "type". */
enum {
	HAS_POINT = 1 << 0, /* x, y */
	HAS_BUTTON = 1 << 1,
	HAS_COUNT = 1 << 2,
	HAS_KEYS = 1 << 3,
	HAS_PATH = 1 << 4,
	HAS_DURATION = 1 << 5,
	HAS_DELTA = 1 << 6, /* dx, dy, unit */
	HAS_TEXT = 1 << 7,
	HAS_FLAGS = 1 << 8, /* clear, enter */
	HAS_REGION = 1 << 9,
};

struct member {
	const char *name;
	unsigned part;
};

/* In the order of printing. */
static const struct member members[] = {
	{ "x", HAS_POINT },
	{ "y", HAS_POINT },
	{ "path", HAS_PATH },
	{ "button", HAS_BUTTON },
	{ "dx", HAS_DELTA },
	{ "dy", HAS_DELTA },
	{ "unit", HAS_DELTA },
	{ "text", HAS_TEXT },
	{ "clear", HAS_FLAGS },
	{ "enter", HAS_FLAGS },
	{ "keys", HAS_KEYS },
	{ "count", HAS_COUNT },
	{ "duration_ms", HAS_DURATION },
	{ "region", HAS_REGION },
};

struct kind_row {
	const char *name, *doc;
	char class;
};

#define CLASS_R 'R'
#define CLASS_W 'W'
#define X(id, name, class, doc) { name, doc, CLASS_##class },
static const struct kind_row kinds[] = { TH_ACTIONS(X) };
#undef X

struct kind_parts {
	unsigned may, must;
	int32_t count_max;
};

static const struct kind_parts parts[TH_ACTION_COUNT] = {
	[TH_ACTION_SCREENSHOT] = { 0, 0, 0 },
	[TH_ACTION_ZOOM] = { HAS_REGION, HAS_REGION, 0 },
	[TH_ACTION_CURSOR_POSITION] = { 0, 0, 0 },
	[TH_ACTION_CLIPBOARD_GET] = { 0, 0, 0 },
	[TH_ACTION_WAIT] = { HAS_DURATION, 0, 0 },
	[TH_ACTION_CLICK] = { HAS_POINT | HAS_BUTTON | HAS_COUNT | HAS_KEYS, 0,
			      TH_CLICK_COUNT_MAX },
	[TH_ACTION_MOVE] = { HAS_POINT | HAS_KEYS, HAS_POINT, 0 },
	[TH_ACTION_MOUSE_DOWN] = { HAS_POINT | HAS_BUTTON, 0, 0 },
	[TH_ACTION_MOUSE_UP] = { HAS_POINT | HAS_BUTTON, 0, 0 },
	[TH_ACTION_DRAG] = { HAS_PATH | HAS_BUTTON | HAS_KEYS | HAS_DURATION, HAS_PATH, 0 },
	[TH_ACTION_SCROLL] = { HAS_POINT | HAS_DELTA | HAS_KEYS, HAS_DELTA, 0 },
	[TH_ACTION_TYPE] = { HAS_POINT | HAS_TEXT | HAS_FLAGS, HAS_TEXT, 0 },
	[TH_ACTION_KEY] = { HAS_KEYS | HAS_COUNT, HAS_KEYS, TH_KEY_REPEAT_MAX },
	[TH_ACTION_KEY_DOWN] = { HAS_KEYS, HAS_KEYS, 0 },
	[TH_ACTION_KEY_UP] = { HAS_KEYS, HAS_KEYS, 0 },
	[TH_ACTION_HOLD_KEY] = { HAS_KEYS | HAS_DURATION, HAS_KEYS, 0 },
	[TH_ACTION_CLIPBOARD_SET] = { HAS_TEXT, HAS_TEXT, 0 },
};
_Static_assert(TH_COUNT(kinds) == TH_ACTION_COUNT, "one row for each kind");

#define X(id, name) name,
static const char *const buttons[] = { TH_BUTTONS(X) };
#undef X
static const char *const units[TH_SCROLL_UNIT_COUNT] = { "notch", "pixel" };

const char *th_action_name(enum th_action_kind kind)
{
	assert(kind < TH_ACTION_COUNT);
	return kinds[kind].name;
}

int th_action_find(struct th_str name)
{
	for (int i = 0; i < TH_ACTION_COUNT; i++) {
		if (th_str_is(name, kinds[i].name))
			return i;
	}
	return -1;
}

const char *th_action_doc(enum th_action_kind kind)
{
	assert(kind < TH_ACTION_COUNT);
	return kinds[kind].doc;
}

char th_action_class(enum th_action_kind kind)
{
	assert(kind < TH_ACTION_COUNT);
	return kinds[kind].class;
}

const char *th_button_name(enum th_button button)
{
	assert(button < TH_BUTTON_COUNT);
	return buttons[button];
}

int th_button_find(struct th_str name)
{
	for (int i = 0; i < TH_BUTTON_COUNT; i++) {
		if (th_str_is(name, buttons[i]))
			return i;
	}
	return th_str_is(name, "wheel") ? TH_BUTTON_MIDDLE : -1;
}

int32_t th_action_duration(const struct th_action *action)
{
	if (action->duration_ms > 0)
		return action->duration_ms;
	switch (action->kind) {
	case TH_ACTION_WAIT:
		return TH_WAIT_MS_DEFAULT;
	case TH_ACTION_HOLD_KEY:
		return TH_HOLD_MS_DEFAULT;
	case TH_ACTION_DRAG:
		return TH_DRAG_MS_DEFAULT;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLICK:
	case TH_ACTION_MOVE:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_SCROLL:
	case TH_ACTION_TYPE:
	case TH_ACTION_KEY:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_COUNT:
		break;
	}
	return 0;
}

/* ---- parsing ---- */

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
	return parse_int(count, "count", 1, parts[ret->kind].count_max, &ret->count, err);
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
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		if (th_str_is(name, members[i].name))
			return members[i].part;
	}
	return 0;
}

/* Every member of the object must be one of the kind's. */
static enum th_code check_members(const struct th_json *v, unsigned may, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	char list[160] = "";

	for (size_t i = 0; i < TH_COUNT(members); i++) {
		size_t used = strlen(list);

		if (members[i].part & may)
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 members[i].name);
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

		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", kinds[i].name);
	}
	if (th_json_type(type) != TH_JSON_STR)
		return th_fail(err, TH_EPROTO, "the action's \"type\" must be one of %s", list);
	return th_fail(err, TH_EPROTO, "unknown action \"%.*s\"; known are %s",
		       TH_FMT(th_utf8_cut(th_json_str(type), 40)), list);
}

static enum th_code parse_parts(const struct th_json *v, struct th_arena *a, struct th_action *ret,
				struct th_err *err)
{
	unsigned may = parts[ret->kind].may, must = parts[ret->kind].must;
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
		return th_prefix(err, code, "%s", kinds[action.kind].name);
	*ret = action;
	return TH_OK;
}

/* ---- printing ---- */

void th_action_print(const struct th_action *action, struct th_jw *w)
{
	unsigned may = parts[action->kind].may, must = parts[action->kind].must;

	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(kinds[action->kind].name));
	if ((may & HAS_POINT) && action->has_at) {
		th_jw_kint(w, "x", action->at.x);
		th_jw_kint(w, "y", action->at.y);
	}
	if (may & HAS_PATH) {
		th_jw_key(w, TH_STR("path"));
		th_jw_array(w);
		for (size_t i = 0; i < action->path_count; i++) {
			th_jw_object(w);
			th_jw_kint(w, "x", action->path[i].x);
			th_jw_kint(w, "y", action->path[i].y);
			th_jw_object_end(w);
		}
		th_jw_array_end(w);
	}
	if (may & HAS_BUTTON)
		th_jw_kstr(w, "button", th_str_of(th_button_name(action->button)));
	if (may & HAS_DELTA) {
		th_jw_kint(w, "dx", action->dx);
		th_jw_kint(w, "dy", action->dy);
		th_jw_kstr(w, "unit", th_str_of(units[action->unit]));
	}
	if (may & HAS_TEXT)
		th_jw_kstr(w, "text", action->text);
	if ((may & HAS_FLAGS) && action->clear)
		th_jw_kbool(w, "clear", true);
	if ((may & HAS_FLAGS) && action->enter)
		th_jw_kbool(w, "enter", true);
	if ((may & HAS_KEYS) && (action->key_count > 0 || (must & HAS_KEYS))) {
		th_jw_key(w, TH_STR("keys"));
		th_jw_array(w);
		for (size_t i = 0; i < action->key_count; i++)
			th_jw_str(w, action->keys[i]);
		th_jw_array_end(w);
	}
	if (may & HAS_COUNT)
		th_jw_kint(w, "count", TH_MAX(action->count, 1));
	if (may & HAS_DURATION)
		th_jw_kint(w, "duration_ms", action->duration_ms);
	if (may & HAS_REGION) {
		th_jw_key(w, TH_STR("region"));
		th_jw_array(w);
		th_jw_int(w, action->region.x);
		th_jw_int(w, action->region.y);
		th_jw_int(w, action->region.width);
		th_jw_int(w, action->region.height);
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
}

/* ---- JSON Schema ---- */

static void schema_doc(struct th_jw *w, const char *type, const char *doc)
{
	th_jw_kstr(w, "type", th_str_of(type));
	if (doc)
		th_jw_kstr(w, "description", th_str_of(doc));
}

static void schema_int(struct th_jw *w, const char *name, int64_t min, int64_t max, const char *doc)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	schema_doc(w, "integer", doc);
	th_jw_kint(w, "minimum", min);
	th_jw_kint(w, "maximum", max);
	th_jw_object_end(w);
}

static void schema_bool(struct th_jw *w, const char *name, const char *doc)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	schema_doc(w, "boolean", doc);
	th_jw_object_end(w);
}

static void schema_enum(struct th_jw *w, const char *name, const char *const *values, size_t count,
			const char *doc)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	schema_doc(w, "string", doc);
	th_jw_key(w, TH_STR("enum"));
	th_jw_array(w);
	for (size_t i = 0; i < count; i++)
		th_jw_str(w, th_str_of(values[i]));
	th_jw_array_end(w);
	th_jw_object_end(w);
}

static void schema_point(struct th_jw *w)
{
	schema_int(w, "x", 0, TH_SCREEN_SIDE_MAX - 1, "Pixels from the left edge of the screen.");
	schema_int(w, "y", 0, TH_SCREEN_SIDE_MAX - 1, "Pixels from the top edge of the screen.");
}

static void schema_list(struct th_jw *w, const char *name, size_t min, size_t max, const char *doc)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	schema_doc(w, "array", doc);
	th_jw_kint(w, "minItems", (int64_t)min);
	th_jw_kint(w, "maxItems", (int64_t)max);
	th_jw_key(w, TH_STR("items"));
	th_jw_object(w);
}

static void schema_list_end(struct th_jw *w)
{
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void schema_path(struct th_jw *w)
{
	schema_list(w, "path", 2, TH_DRAG_POINTS_MAX,
		    "Where the pointer goes, from first to last.");
	schema_doc(w, "object", NULL);
	th_jw_key(w, TH_STR("properties"));
	th_jw_object(w);
	schema_point(w);
	th_jw_object_end(w);
	th_jw_kraw(w, "required", TH_STR("[\"x\",\"y\"]"));
	th_jw_kbool(w, "additionalProperties", false);
	schema_list_end(w);
}

static void schema_delta(struct th_jw *w)
{
	schema_int(w, "dx", -TH_SCROLL_MAX, TH_SCROLL_MAX, "How far to the right; negative: left.");
	schema_int(w, "dy", -TH_SCROLL_MAX, TH_SCROLL_MAX, "How far down; negative: up.");
	schema_enum(w, "unit", units, TH_COUNT(units), "Notches of the wheel (default) or pixels.");
}

static void schema_text(struct th_jw *w, enum th_action_kind kind)
{
	th_jw_key(w, TH_STR("text"));
	th_jw_object(w);
	schema_doc(w, "string",
		   kind == TH_ACTION_TYPE ? "Any Unicode text; a newline presses Return." : NULL);
	th_jw_kint(w, "maxLength", kind == TH_ACTION_TYPE ? TH_TYPE_TEXT_MAX : TH_CLIPBOARD_MAX);
	th_jw_object_end(w);
}

static void schema_parts(struct th_jw *w, enum th_action_kind kind)
{
	unsigned may = parts[kind].may, must = parts[kind].must;

	if (may & HAS_POINT)
		schema_point(w);
	if (may & HAS_PATH)
		schema_path(w);
	if (may & HAS_BUTTON)
		schema_enum(w, "button", buttons, TH_COUNT(buttons), NULL);
	if (may & HAS_DELTA)
		schema_delta(w);
	if (may & HAS_TEXT)
		schema_text(w, kind);
	if (may & HAS_FLAGS) {
		schema_bool(w, "clear", "Select all and delete it first.");
		schema_bool(w, "enter", "Press Return afterwards.");
	}
	if (may & HAS_KEYS) {
		schema_list(w, "keys", must & HAS_KEYS ? 1 : 0, TH_CHORD_KEYS_MAX,
			    must & HAS_KEYS
				? "Names of keys that are down together: [\"ctrl\",\"a\"]."
				: "Names of keys to hold meanwhile: [\"shift\"].");
		schema_doc(w, "string", NULL);
		schema_list_end(w);
	}
	if (may & HAS_COUNT)
		schema_int(w, "count", 1, parts[kind].count_max, "How many times.");
	if (may & HAS_DURATION)
		schema_int(w, "duration_ms", 0, TH_WAIT_MS_MAX, "Milliseconds; 0: a usual time.");
	if (may & HAS_REGION) {
		schema_list(w, "region", 4, 4, "[x, y, width, height] in pixels of the screen.");
		schema_doc(w, "integer", NULL);
		schema_list_end(w);
	}
}

static void schema_required(struct th_jw *w, unsigned must)
{
	th_jw_key(w, TH_STR("required"));
	th_jw_array(w);
	th_jw_str(w, TH_STR("type"));
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		if ((members[i].part & must) && members[i].part != HAS_DELTA)
			th_jw_str(w, th_str_of(members[i].name));
	}
	th_jw_array_end(w);
}

void th_action_schema(struct th_jw *w)
{
	th_jw_object(w);
	th_jw_key(w, TH_STR("oneOf"));
	th_jw_array(w);
	for (int i = 0; i < TH_ACTION_COUNT; i++) {
		th_jw_object(w);
		schema_doc(w, "object", kinds[i].doc);
		th_jw_key(w, TH_STR("properties"));
		th_jw_object(w);
		th_jw_key(w, TH_STR("type"));
		th_jw_object(w);
		th_jw_kstr(w, "const", th_str_of(kinds[i].name));
		th_jw_object_end(w);
		schema_parts(w, (enum th_action_kind)i);
		th_jw_object_end(w);
		schema_required(w, parts[i].must);
		th_jw_kbool(w, "additionalProperties", false);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	th_jw_object_end(w);
}

/* ---- against a screen ---- */

static enum th_code check_point(struct th_point p, struct th_size screen, struct th_err *err)
{
	if (th_size_has(screen, p))
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "(%d, %d) is outside the screen: x must be 0 to %d and y 0 to %d", p.x, p.y,
		       screen.width - 1, screen.height - 1);
}

enum th_code th_action_check(const struct th_action *action, struct th_size screen,
			     struct th_err *err)
{
	struct th_rect r = action->region;
	struct th_chord chord;
	enum th_code code = TH_OK;

	if (action->has_at)
		code = check_point(action->at, screen, err);
	for (size_t i = 0; i < action->path_count && code == TH_OK; i++) {
		code = check_point(action->path[i], screen, err);
		if (code < 0)
			return th_prefix(err, code, "path[%zu]", i);
	}
	if (code < 0)
		return code;
	if (action->kind == TH_ACTION_ZOOM &&
	    (r.x < 0 || r.y < 0 || r.width < 1 || r.height < 1 || r.width > screen.width - r.x ||
	     r.height > screen.height - r.y))
		return th_fail(
		    err, TH_EUSAGE,
		    "the region [%d, %d, %d, %d] does not lie on the screen, which is %d "
		    "wide and %d high",
		    r.x, r.y, r.width, r.height, screen.width, screen.height);
	if (action->key_count > 0 &&
	    (code = th_keys_chord(action->keys, action->key_count, &chord, err)) < 0) {
		if (err)
			err->code = TH_EUSAGE;
		return TH_EUSAGE;
	}
	return TH_OK;
}

/* ---- for people ---- */

static void line_keys(const struct th_action *action, struct th_buf *out)
{
	for (size_t i = 0; i < action->key_count; i++) {
		th_buf_add_cstr(out, i ? "+" : "");
		th_text_line(out, action->keys[i], 20);
	}
}

static void line_count(const struct th_action *action, struct th_buf *out)
{
	if (action->count > 1)
		th_buf_printf(out, " %d times", action->count);
}

static void line_scroll(const struct th_action *action, struct th_buf *out)
{
	const char *unit = action->unit == TH_SCROLL_PIXEL ? "pixel" : "notch";
	const char *many = action->unit == TH_SCROLL_PIXEL ? "s" : "es";
	int32_t amounts[] = { action->dy, action->dx };
	static const char *const words[][2] = { { "up", "down" }, { "left", "right" } };

	th_buf_add_cstr(out, "scroll");
	for (size_t i = 0; i < 2; i++) {
		int64_t n = amounts[i] < 0 ? -(int64_t)amounts[i] : amounts[i];

		if (n != 0)
			th_buf_printf(out, " %s %lld %s%s", words[i][amounts[i] > 0], (long long)n,
				      unit, n == 1 ? "" : many);
	}
}

static void line_drag(const struct th_action *action, struct th_buf *out)
{
	th_buf_printf(out, "drag %s", th_button_name(action->button));
	if (action->path_count > 0)
		th_buf_printf(out, " from (%d, %d) to (%d, %d)", action->path[0].x,
			      action->path[0].y, action->path[action->path_count - 1].x,
			      action->path[action->path_count - 1].y);
	if (action->path_count > 2)
		th_buf_printf(out, " through %zu points", action->path_count - 2);
	th_buf_printf(out, " in %d ms", th_action_duration(action));
}

static void line_text(const struct th_action *action, const char *verb, struct th_buf *out)
{
	th_buf_printf(out, "%s \"", verb);
	th_text_line(out, action->text, 60);
	th_buf_add_cstr(out, "\"");
}

static void line_click(const struct th_action *action, struct th_buf *out)
{
	static const char *const verbs[] = { "click", "double-click", "triple-click" };

	th_buf_printf(out, "%s %s", verbs[TH_MIN(TH_MAX(action->count, 1), 3) - 1],
		      th_button_name(action->button));
}

void th_action_line(const struct th_action *action, struct th_buf *out)
{
	bool held = parts[action->kind].may & HAS_POINT; /* keys are held meanwhile */

	switch (action->kind) {
	case TH_ACTION_SCREENSHOT:
		th_buf_add_cstr(out, "look at the screen");
		break;
	case TH_ACTION_ZOOM:
		th_buf_printf(out, "look at %d x %d pixels at (%d, %d)", action->region.width,
			      action->region.height, action->region.x, action->region.y);
		break;
	case TH_ACTION_CURSOR_POSITION:
		th_buf_add_cstr(out, "ask where the pointer is");
		break;
	case TH_ACTION_CLIPBOARD_GET:
		th_buf_add_cstr(out, "read the clipboard");
		break;
	case TH_ACTION_WAIT:
		th_buf_printf(out, "wait %d ms", th_action_duration(action));
		break;
	case TH_ACTION_CLICK:
		line_click(action, out);
		break;
	case TH_ACTION_MOVE:
		th_buf_add_cstr(out, "move the pointer");
		break;
	case TH_ACTION_MOUSE_DOWN:
		th_buf_printf(out, "press button %s", th_button_name(action->button));
		break;
	case TH_ACTION_MOUSE_UP:
		th_buf_printf(out, "release button %s", th_button_name(action->button));
		break;
	case TH_ACTION_DRAG:
		line_drag(action, out);
		held = true;
		break;
	case TH_ACTION_SCROLL:
		line_scroll(action, out);
		break;
	case TH_ACTION_TYPE:
		line_text(action, action->clear ? "replace with" : "type", out);
		break;
	case TH_ACTION_KEY:
		th_buf_add_cstr(out, "press ");
		line_keys(action, out);
		line_count(action, out);
		break;
	case TH_ACTION_KEY_DOWN:
		th_buf_add_cstr(out, "press and keep down ");
		line_keys(action, out);
		break;
	case TH_ACTION_KEY_UP:
		th_buf_add_cstr(out, "release ");
		line_keys(action, out);
		break;
	case TH_ACTION_HOLD_KEY:
		th_buf_add_cstr(out, "hold ");
		line_keys(action, out);
		th_buf_printf(out, " for %d ms", th_action_duration(action));
		break;
	case TH_ACTION_CLIPBOARD_SET:
		line_text(action, "copy", out);
		th_buf_add_cstr(out, " to the clipboard");
		break;
	case TH_ACTION_COUNT:
		break;
	}
	if (action->has_at)
		th_buf_printf(out, action->kind == TH_ACTION_MOVE ? " to (%d, %d)" : " at (%d, %d)",
			      action->at.x, action->at.y);
	if (held && action->key_count > 0) {
		th_buf_add_cstr(out, " with ");
		line_keys(action, out);
	}
	if (action->enter)
		th_buf_add_cstr(out, ", then Return");
}
