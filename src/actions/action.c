/* SPDX-License-Identifier: Apache-2.0 */
#include "actions/action_internal.h"

#include "actions/keys.h"

const struct th_action_member th_action_members[TH_ACTION_MEMBERS] = {
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

const struct th_action_parts th_action_parts[TH_ACTION_COUNT] = {
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
const char *const th_action_buttons[TH_BUTTON_COUNT] = { TH_BUTTONS(X) };
#undef X
const char *const th_action_units[TH_SCROLL_UNIT_COUNT] = { "notch", "pixel" };

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
	return th_action_buttons[button];
}

int th_button_find(struct th_str name)
{
	for (int i = 0; i < TH_BUTTON_COUNT; i++) {
		if (th_str_is(name, th_action_buttons[i]))
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

/* ---- printing ---- */

void th_action_print(const struct th_action *action, struct th_jw *w)
{
	unsigned may = th_action_parts[action->kind].may, must = th_action_parts[action->kind].must;

	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(th_action_name(action->kind)));
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
		th_jw_kstr(w, "unit", th_str_of(th_action_units[action->unit]));
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
