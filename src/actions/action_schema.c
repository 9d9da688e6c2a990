/* SPDX-License-Identifier: Apache-2.0 */
/* action_schema.c - what an action may be, as JSON Schema for models. */
#include "actions/action_internal.h"

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
	schema_enum(w, "unit", th_action_units, TH_SCROLL_UNIT_COUNT,
		    "Notches of the wheel (default) or pixels.");
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
	unsigned may = th_action_parts[kind].may, must = th_action_parts[kind].must;

	if (may & HAS_POINT)
		schema_point(w);
	if (may & HAS_PATH)
		schema_path(w);
	if (may & HAS_BUTTON)
		schema_enum(w, "button", th_action_buttons, TH_BUTTON_COUNT, NULL);
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
		schema_int(w, "count", 1, th_action_parts[kind].count_max, "How many times.");
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
	for (size_t i = 0; i < TH_ACTION_MEMBERS; i++) {
		if ((th_action_members[i].part & must) && th_action_members[i].part != HAS_DELTA)
			th_jw_str(w, th_str_of(th_action_members[i].name));
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
		schema_doc(w, "object", th_action_doc(i));
		th_jw_key(w, TH_STR("properties"));
		th_jw_object(w);
		th_jw_key(w, TH_STR("type"));
		th_jw_object(w);
		th_jw_kstr(w, "const", th_str_of(th_action_name(i)));
		th_jw_object_end(w);
		schema_parts(w, (enum th_action_kind)i);
		th_jw_object_end(w);
		schema_required(w, th_action_parts[i].must);
		th_jw_kbool(w, "additionalProperties", false);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	th_jw_object_end(w);
}
