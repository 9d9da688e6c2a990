/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/input.h"

#include <stdlib.h>
#include <xcb/xtest.h>

#define FAKE_SIZE 36 /* bytes of one XTEST request */
#define PACE_SIZE (TH_X11_UNSYNCED_MAX / 2)
#define CLICK_APART_MS 3     /* presses of one millisecond are the same press to Chromium */
#define MULTI_CLICK_MS 510   /* programs count clicks together for so long (Chromium: 500) */
#define MULTI_CLICK_PIXELS 8 /* ... and when they are no further apart */
#define FOCUS_MS 150         /* a window manager moves the focus within this time, or not at all */
#define FOCUS_RECENT_US 400000
#define FOCUS_STEP_MS 2
#define DRAG_STEP_MS 8    /* between two motions */
#define DRAG_STEPS_MIN 12 /* motions of the shortest drag */
#define DRAG_STEPS_MAX 4096
/* A browser adds up the notches that come while it draws, and scrolls by one page at most for them:
 * so they come one by one, as from a hand, but no scroll takes longer than this. */
#define NOTCH_MS 20
#define SCROLL_MS_MAX 1500
#define ANCESTORS_MAX 32

enum {
	WHEEL_UP = 4,
	WHEEL_DOWN = 5,
	WHEEL_LEFT = 6,
	WHEEL_RIGHT = 7,
};

/* ---- what all parts use ---- */

void th_x11_input_fake(struct th_x11 *x, uint8_t type, uint8_t detail)
{
	xcb_test_fake_input(x->conn, type, detail, XCB_CURRENT_TIME, x->root, 0, 0, 0);
	x->input->unsynced += FAKE_SIZE;
}

static void fake_motion(struct th_x11 *x, struct th_point p)
{
	xcb_test_fake_input(x->conn, XCB_MOTION_NOTIFY, 0, XCB_CURRENT_TIME, x->root, (int16_t)p.x,
			    (int16_t)p.y, 0);
	x->input->unsynced += FAKE_SIZE;
}

/* Lets the server, not us, wait before it goes on: a motion to where the pointer is, later. */
static void fake_pause(struct th_x11 *x, uint32_t pause_ms)
{
	const uint8_t relative = 1;

	xcb_test_fake_input(x->conn, XCB_MOTION_NOTIFY, relative, pause_ms, XCB_NONE, 0, 0, 0);
	x->input->unsynced += FAKE_SIZE;
}

static void fake_button(struct th_x11 *x, uint8_t logical, bool press)
{
	uint8_t button = logical < TH_X11_BUTTONS ? x->input->buttons[logical] : logical;

	th_x11_input_fake(x, press ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, button);
}

enum th_code th_x11_input_pace(struct th_x11 *x, struct th_err *err)
{
	if (x->input->unsynced < PACE_SIZE)
		return TH_OK;
	x->input->unsynced = 0;
	return th_x11_sync(x, err);
}

enum th_code th_x11_input_atom(struct th_x11 *x, const char *name, xcb_atom_t *ret,
			       struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(
	    x, xcb_intern_atom(x->conn, 0, (uint16_t)strlen(name), name).sequence, &reply, err);

	if (code == TH_OK)
		*ret = ((xcb_intern_atom_reply_t *)reply)->atom;
	free(reply);
	return code;
}

enum th_code th_x11_input_time(struct th_x11 *x, xcb_timestamp_t *ret, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	int64_t end_us = th_x11_now_us() + (int64_t)x->reply_ms * 1000;

	in->time_came = false;
	/* Appending nothing to a property tells us the time in its PropertyNotify. */
	xcb_change_property(x->conn, XCB_PROP_MODE_APPEND, x->window, in->time_property,
			    XCB_ATOM_INTEGER, 32, 0, NULL);
	while (!in->time_came) {
		int64_t left_ms = (end_us - th_x11_now_us() + 999) / 1000;
		bool served;
		enum th_code code;

		if (left_ms <= 0)
			return th_fail(err, TH_ETIMEOUT, "display %.*s does not answer",
				       TH_FMT(x->name));
		if ((code = th_x11_wait_event(x, left_ms, &served, err)) < 0)
			return code;
	}
	*ret = in->time;
	return TH_OK;
}

/* ---- pointer ---- */

static uint8_t logical_button(enum th_button button)
{
	switch (button) {
	case TH_BUTTON_LEFT:
		return 1;
	case TH_BUTTON_MIDDLE:
		return 2;
	case TH_BUTTON_RIGHT:
		return 3;
	case TH_BUTTON_BACK:
		return 8;
	case TH_BUTTON_FORWARD:
		return 9;
	case TH_BUTTON_COUNT:
		break;
	}
	assert(button < TH_BUTTON_COUNT);
	return 1;
}

/*
 * A left-handed person's display presses 3 when told 1: what must be told so
 * that programs see what the action says.
 */
static enum th_code load_buttons(struct th_x11 *x, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	void *reply = NULL;
	enum th_code code;
	const uint8_t *map;
	int count;

	in->buttons_stale = false;
	code = th_x11_reply(x, xcb_get_pointer_mapping(x->conn).sequence, &reply, err);
	if (code < 0)
		return code;
	map = xcb_get_pointer_mapping_map(reply);
	count = xcb_get_pointer_mapping_map_length(reply);
	for (unsigned i = 0; i < TH_X11_BUTTONS; i++)
		in->buttons[i] = (uint8_t)i;
	for (int i = count - 1; i >= 0; i--) { /* of two for one button the first counts */
		if (map[i] > 0 && map[i] < TH_X11_BUTTONS)
			in->buttons[map[i]] = (uint8_t)(i + 1);
	}
	free(reply);
	return TH_OK;
}

/* Where the pointer is; the server has taken everything that was sent before. */
static enum th_code query_pointer(struct th_x11 *x, xcb_query_pointer_reply_t *ret,
				  struct th_err *err)
{
	void *reply = NULL;
	enum th_code code =
	    th_x11_reply(x, xcb_query_pointer(x->conn, x->root).sequence, &reply, err);

	if (code < 0)
		return code;
	*ret = *(xcb_query_pointer_reply_t *)reply;
	free(reply);
	x->input->unsynced = 0;
	x->pointer = (struct th_point){ ret->root_x, ret->root_y };
	return TH_OK;
}

static enum th_code finish(struct th_x11 *x, struct th_act_result *ret, struct th_err *err)
{
	xcb_query_pointer_reply_t pointer;
	enum th_code code = query_pointer(x, &pointer, err);

	if (code < 0)
		return code;
	ret->has_at = true;
	ret->at = x->pointer;
	return TH_OK;
}

/* Programs would count this click and the one before as one multiple click, which neither means. */
static enum th_code part_clicks(struct th_x11 *x, const struct th_action *action, int32_t count,
				struct th_err *err)
{
	struct th_x11_input *in = x->input;
	struct th_point at = action->has_at ? action->at : x->pointer;
	int64_t passed_ms = (th_x11_now_us() - in->click_us) / 1000;

	if ((count < 2 && in->click_count < 2) || in->click_us == 0 ||
	    action->button != in->click_button || passed_ms >= MULTI_CLICK_MS ||
	    abs(at.x - in->click_at.x) > MULTI_CLICK_PIXELS ||
	    abs(at.y - in->click_at.y) > MULTI_CLICK_PIXELS)
		return TH_OK;
	return th_x11_wait(x, MULTI_CLICK_MS - passed_ms, err);
}

static void remember_click(struct th_x11 *x, const struct th_action *action, int32_t count)
{
	struct th_x11_input *in = x->input;

	in->click_at = action->has_at ? action->at : x->pointer;
	in->click_button = action->button;
	in->click_count = count;
	in->click_us = th_x11_now_us();
	in->click_unfocused = true;
}

static enum th_code act_click(struct th_x11 *x, const struct th_action *action,
			      const struct th_x11_press *held, struct th_err *err)
{
	uint8_t button = logical_button(action->button);
	int32_t count = TH_MAX(action->count, 1);
	enum th_code code = part_clicks(x, action, count, err);

	if (code < 0)
		return code;
	if (action->has_at)
		fake_motion(x, action->at);
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	for (int32_t i = 0; i < count; i++) {
		if (i > 0)
			fake_pause(x, CLICK_APART_MS);
		fake_button(x, button, true);
		fake_button(x, button, false);
	}
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	remember_click(x, action, count);
	return TH_OK;
}

static enum th_code act_move(struct th_x11 *x, const struct th_action *action,
			     const struct th_x11_press *held)
{
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	fake_motion(x, action->at);
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	return TH_OK;
}

static enum th_code act_button(struct th_x11 *x, const struct th_action *action, bool press)
{
	uint8_t button = logical_button(action->button);

	if (action->has_at)
		fake_motion(x, action->at);
	fake_button(x, button, press);
	if (press)
		x->input->buttons_down |= 1u << button;
	else
		x->input->buttons_down &= ~(1u << button);
	remember_click(x, action, 1);
	return TH_OK;
}

/* ---- drag ---- */

static int32_t steps_of(struct th_point from, struct th_point to)
{
	return TH_MAX(abs(to.x - from.x), abs(to.y - from.y));
}

static struct th_point between(struct th_point from, struct th_point to, int32_t part,
			       int32_t whole)
{
	struct th_point p = { from.x + (int32_t)((int64_t)(to.x - from.x) * part / whole),
			      from.y + (int32_t)((int64_t)(to.y - from.y) * part / whole) };

	return p;
}

/* One straight line of a drag in `steps` motions, of which the last is its end. */
static enum th_code drag_line(struct th_x11 *x, struct th_point from, struct th_point to,
			      int32_t steps, double step_us, double *due_us, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (int32_t i = 1; i <= steps && code == TH_OK; i++) {
		int64_t wait_ms;

		*due_us += step_us;
		wait_ms = ((int64_t)*due_us - th_x11_now_us()) / 1000;
		fake_motion(x, between(from, to, i, steps));
		code = wait_ms > 0 ? th_x11_wait(x, wait_ms, err) : th_x11_input_pace(x, err);
	}
	return code;
}

/* All lines of the path, each with its share of the motions and of the time. */
static enum th_code drag_path(struct th_x11 *x, const struct th_action *action, int64_t duration_us,
			      struct th_err *err)
{
	int64_t length = 0, wanted = duration_us / (DRAG_STEP_MS * 1000);
	double due_us = (double)th_x11_now_us();
	enum th_code code = TH_OK;

	for (size_t i = 1; i < action->path_count; i++)
		length += steps_of(action->path[i - 1], action->path[i]);
	wanted = TH_MIN(TH_MAX(wanted, DRAG_STEPS_MIN), DRAG_STEPS_MAX);
	for (size_t i = 1; i < action->path_count && code == TH_OK; i++) {
		struct th_point from = action->path[i - 1], to = action->path[i];
		int32_t pixels = steps_of(from, to);
		int32_t steps = length ? (int32_t)(wanted * pixels / length) : 0;

		steps = TH_MIN(TH_MAX(steps, 1), TH_MAX(pixels, 1));
		code = drag_line(x, from, to, steps,
				 length ? (double)duration_us * pixels / (double)length / steps : 0,
				 &due_us, err);
	}
	return code;
}

static enum th_code act_drag(struct th_x11 *x, const struct th_action *action,
			     const struct th_x11_press *held, struct th_err *err)
{
	uint8_t button = logical_button(action->button);
	int64_t duration_us = (int64_t)th_action_duration(action) * 1000;
	enum th_code code = TH_OK;

	assert(action->path_count >= 2);
	fake_motion(x, action->path[0]);
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	fake_button(x, button, true);
	code = drag_path(x, action, duration_us * 4 / 5, err);
	if (code == TH_OK)
		code = th_x11_wait(x, duration_us / 5000, err);
	/* Whatever happened, the button does not stay down. */
	fake_button(x, button, false);
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	if (code < 0) {
		(void)!th_x11_sync(x, NULL);
		return th_prefix(err, code, "the drag was broken off and the button released");
	}
	return TH_OK;
}

/* ---- scroll ---- */

/* Notches for one axis: what pixels are left over counts next time, as long as it goes on in the
 * same direction. */
static int32_t notches(int32_t amount, enum th_scroll_unit unit, struct th_x11_wheel *wheel)
{
	const int32_t notch = TH_X11_NOTCH_PIXELS;
	int32_t sign = amount < 0 ? -1 : 1, pixels, count;

	if (wheel->sign != sign || unit == TH_SCROLL_NOTCH)
		wheel->left_over = 0;
	wheel->sign = sign;
	if (amount == 0 || unit == TH_SCROLL_NOTCH)
		return amount;
	pixels = abs(amount) + wheel->left_over;
	count = TH_MAX((pixels + notch / 2) / notch, 1);
	wheel->left_over = TH_MAX(pixels - count * notch, -notch / 2);
	return sign * count;
}

static enum th_code turn_wheel(struct th_x11 *x, int32_t count, uint8_t back, uint8_t forth,
			       struct th_err *err)
{
	uint8_t button = count < 0 ? back : forth;
	int32_t total = abs(count);
	int64_t begin_us = th_x11_now_us();
	enum th_code code = TH_OK;

	for (int32_t i = 0; i < total && code == TH_OK; i++) {
		int64_t due_us =
		    TH_MIN(i * (int64_t)NOTCH_MS * 1000, i * (int64_t)SCROLL_MS_MAX * 1000 / total);
		int64_t wait_ms = (begin_us + due_us - th_x11_now_us()) / 1000;

		if (i > 0)
			code =
			    wait_ms > 0 ? th_x11_wait(x, wait_ms, err) : th_x11_input_pace(x, err);
		if (code != TH_OK)
			break;
		fake_button(x, button, true);
		fake_button(x, button, false);
	}
	return code;
}

static enum th_code act_scroll(struct th_x11 *x, const struct th_action *action,
			       const struct th_x11_press *held, struct th_err *err)
{
	struct th_x11_wheel *wheels = x->input->wheels;
	int32_t dx = notches(action->dx, action->unit, &wheels[0]);
	int32_t dy = notches(action->dy, action->unit, &wheels[1]);
	enum th_code code;

	if (action->has_at)
		fake_motion(x, action->at);
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	code = turn_wheel(x, dy, WHEEL_UP, WHEEL_DOWN, err);
	if (code == TH_OK)
		code = turn_wheel(x, dx, WHEEL_LEFT, WHEEL_RIGHT, err);
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	return code;
}

/* ---- focus ---- */

/* The child of the root window that `window` is or is in. */
static enum th_code top_of(struct th_x11 *x, xcb_window_t window, xcb_window_t *ret)
{
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		void *reply = NULL;
		enum th_code code =
		    th_x11_reply(x, xcb_query_tree(x->conn, window).sequence, &reply, NULL);
		xcb_window_t parent;

		if (code < 0)
			return code;
		parent = ((xcb_query_tree_reply_t *)reply)->parent;
		free(reply);
		if (parent == x->root || parent == XCB_WINDOW_NONE) {
			*ret = window;
			return TH_OK;
		}
		window = parent;
	}
	return TH_EIO;
}

static bool is_managed(struct th_x11 *x, xcb_window_t window)
{
	void *reply = NULL;
	bool managed = th_x11_reply(x, xcb_get_window_attributes(x->conn, window).sequence, &reply,
				    NULL) == TH_OK &&
		       !((xcb_get_window_attributes_reply_t *)reply)->override_redirect;

	free(reply);
	return managed;
}

/* *ret: keys go to the window `clicked`, or it cannot be told. */
static enum th_code has_focus(struct th_x11 *x, xcb_window_t clicked, bool *ret, struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(x, xcb_get_input_focus(x->conn).sequence, &reply, err);
	xcb_window_t focus, top = XCB_WINDOW_NONE;

	if (code < 0)
		return code;
	focus = ((xcb_get_input_focus_reply_t *)reply)->focus;
	free(reply);
	*ret = focus == XCB_INPUT_FOCUS_POINTER_ROOT;
	if (focus > XCB_INPUT_FOCUS_POINTER_ROOT && top_of(x, focus, &top) == TH_OK)
		*ret = top == clicked;
	return TH_OK;
}

/*
 * Keys after a click must go where the click went.  The server handles both at
 * once, but it is the window manager that moves the focus, when it has seen
 * the click: wait for that, a little while, if the focus is elsewhere.
 */
static enum th_code follow_click(struct th_x11 *x, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	xcb_query_pointer_reply_t pointer;
	enum th_code code;

	if (!in->click_unfocused)
		return TH_OK;
	in->click_unfocused = false;
	if (th_x11_now_us() - in->click_us > FOCUS_RECENT_US)
		return TH_OK;
	if ((code = query_pointer(x, &pointer, err)) < 0)
		return code;
	if (pointer.child == XCB_WINDOW_NONE || !is_managed(x, pointer.child))
		return TH_OK;
	for (int passed_ms = 0; passed_ms < FOCUS_MS; passed_ms += FOCUS_STEP_MS) {
		bool focused;

		if ((code = has_focus(x, pointer.child, &focused, err)) < 0 || focused)
			return code;
		if ((code = th_x11_wait(x, FOCUS_STEP_MS, err)) < 0)
			return code;
	}
	return TH_OK;
}

/* ---- text and clipboard ---- */

static enum th_code press_named(struct th_x11 *x, const char *name, struct th_err *err)
{
	struct th_x11_keyboard *k = &x->input->keyboard;
	struct th_str names = th_str_of(name);
	struct th_x11_press press;
	enum th_code code = th_x11_keyboard_resolve(x, k, &names, 1, &press, err);

	return code < 0 ? code : th_x11_keyboard_press(x, k, &press, 1, err);
}

static enum th_code act_type(struct th_x11 *x, const struct th_action *action, struct th_err *err)
{
	enum th_code code = follow_click(x, err);

	if (code == TH_OK && action->clear) {
		code = press_named(x, "ctrl+a", err);
		if (code == TH_OK)
			code = press_named(x, "Delete", err);
	}
	if (code == TH_OK && action->text.len > 0)
		code = th_x11_keyboard_type(x, &x->input->keyboard, action->text, err);
	if (code == TH_OK && action->enter)
		code = press_named(x, "Return", err);
	return code;
}

static enum th_code act_keys(struct th_x11 *x, const struct th_action *action,
			     const struct th_x11_press *press, struct th_err *err)
{
	struct th_x11_keyboard *k = &x->input->keyboard;
	enum th_code code = follow_click(x, err);

	if (code < 0)
		return code;
	if (action->kind == TH_ACTION_KEY_DOWN)
		return th_x11_keyboard_down(x, k, press, err);
	if (action->kind == TH_ACTION_KEY_UP)
		return th_x11_keyboard_up(x, k, press, err);
	if (action->kind == TH_ACTION_HOLD_KEY)
		return th_x11_keyboard_hold(x, k, press, th_action_duration(action), err);
	return th_x11_keyboard_press(x, k, press, TH_MAX(action->count, 1), err);
}

/* ---- all kinds ---- */

static enum th_code act(struct th_x11 *x, const struct th_action *action,
			const struct th_x11_press *keys, struct th_act_result *ret,
			struct th_err *err)
{
	switch (action->kind) {
	case TH_ACTION_CLICK:
		return act_click(x, action, keys, err);
	case TH_ACTION_MOVE:
		return act_move(x, action, keys);
	case TH_ACTION_MOUSE_DOWN:
		return act_button(x, action, true);
	case TH_ACTION_MOUSE_UP:
		return act_button(x, action, false);
	case TH_ACTION_DRAG:
		return act_drag(x, action, keys, err);
	case TH_ACTION_SCROLL:
		return act_scroll(x, action, keys, err);
	case TH_ACTION_TYPE:
		return act_type(x, action, err);
	case TH_ACTION_KEY:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
		return act_keys(x, action, keys, err);
	case TH_ACTION_CLIPBOARD_GET:
		return th_x11_clipboard_get(x, &x->input->clipboard, &ret->text, err);
	case TH_ACTION_CLIPBOARD_SET:
		return th_x11_clipboard_set(x, &x->input->clipboard, action->text, err);
	case TH_ACTION_CURSOR_POSITION:
		return TH_OK; /* finish() says it */
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
	case TH_ACTION_WAIT:
	case TH_ACTION_COUNT:
		break;
	}
	return th_fail(err, TH_EUNSUPPORTED, "%s is not an input", th_action_name(action->kind));
}

enum th_code th_x11_input_act(struct th_x11 *x, const struct th_action *action,
			      struct th_act_result *ret, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	struct th_x11_press keys = {};
	enum th_code code;

	ret->started = false;
	/* First what the server has told us: another layout, another mapping, another size. */
	if ((code = th_x11_pump(x, err)) < 0 || (code = th_action_check(action, x->size, err)) < 0)
		return code;
	/* Names that mean nothing on this keyboard are refused before anything moves. */
	if (action->key_count > 0 &&
	    (code = th_x11_keyboard_resolve(x, &in->keyboard, action->keys, action->key_count,
					    &keys, err)) < 0)
		return code;
	if (in->buttons_stale && (code = load_buttons(x, err)) < 0)
		return code;
	ret->started = true;
	if ((code = act(x, action, &keys, ret, err)) < 0)
		return code;
	return finish(x, ret, err);
}

enum th_code th_x11_input_reset(struct th_x11 *x, struct th_act_result *ret, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	xcb_query_pointer_reply_t pointer;
	uint32_t down;
	enum th_code code = query_pointer(x, &pointer, err);

	if (code < 0)
		return code;
	/* The server tells the state of five buttons; of the others we know our own. */
	down = in->buttons_down | (uint32_t)(pointer.mask >> 7 & 0x3e);
	ret->keys_released = 0;
	code = th_x11_keyboard_reset(x, &in->keyboard, &ret->keys_released, err);
	if (code < 0)
		return code;
	for (uint8_t button = 1; button < TH_X11_BUTTONS; button++) {
		if (!(down & (1u << button)))
			continue;
		fake_button(x, button, false);
		ret->keys_released++;
	}
	in->buttons_down = 0;
	return finish(x, ret, err);
}

void th_x11_input_event(struct th_x11 *x, const xcb_generic_event_t *event)
{
	struct th_x11_input *in = x->input;
	uint8_t type = event->response_type & 0x7f;

	if (!in)
		return;
	if (type == XCB_PROPERTY_NOTIFY) {
		const xcb_property_notify_event_t *property =
		    (const xcb_property_notify_event_t *)event;

		if (property->window == x->window && property->atom == in->time_property) {
			in->time = property->time;
			in->time_came = true;
		}
	}
	if (type == XCB_MAPPING_NOTIFY &&
	    ((const xcb_mapping_notify_event_t *)event)->request == XCB_MAPPING_POINTER)
		in->buttons_stale = true;
	th_x11_keyboard_event(x, &in->keyboard, event);
	th_x11_clipboard_event(x, &in->clipboard, event);
}

enum th_code th_x11_input_init(struct th_x11 *x, struct th_err *err)
{
	enum th_code code;

	x->input = th_alloc(sizeof(*x->input));
	code = th_x11_input_atom(x, "_THOLE_TIME", &x->input->time_property, err);
	if (code == TH_OK)
		code = load_buttons(x, err);
	if (code == TH_OK)
		code = th_x11_clipboard_init(x, &x->input->clipboard, err);
	if (code == TH_OK)
		code = th_x11_keyboard_init(x, &x->input->keyboard, err);
	if (code < 0)
		th_x11_input_deinit(x);
	return code;
}

/* Only what we pressed ourselves: on a display that others use, their keys are theirs. */
static void let_go(struct th_x11 *x)
{
	struct th_x11_input *in = x->input;

	for (uint8_t button = 1; button < TH_X11_BUTTONS; button++) {
		if (in->buttons_down & (1u << button))
			fake_button(x, button, false);
	}
	th_x11_keyboard_let_go(x, &in->keyboard);
}

void th_x11_input_deinit(struct th_x11 *x)
{
	if (!x->input)
		return;
	if (!x->lost)
		let_go(x);
	th_x11_keyboard_deinit(x, &x->input->keyboard);
	th_x11_clipboard_deinit(&x->input->clipboard);
	free(x->input);
	x->input = NULL;
}
