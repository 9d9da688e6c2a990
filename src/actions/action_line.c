/* SPDX-License-Identifier: Apache-2.0 */
/* action_line.c - an action in a line, for people. */
#include "actions/action_internal.h"

#include "base/text.h"

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

/* What is done, without where. */
static void line_deed(const struct th_action *action, struct th_buf *out)
{
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
}

void th_action_line(const struct th_action *action, struct th_buf *out)
{
	/* Keys are held meanwhile. */
	bool held =
	    action->kind == TH_ACTION_DRAG || (th_action_parts[action->kind].may & HAS_POINT) != 0;

	line_deed(action, out);
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
