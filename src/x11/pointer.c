/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/pointer.h"

#include <stdlib.h>
#include <xcb/xtest.h>

#define CLICK_APART_MS 3     /* presses of one millisecond are the same press to Chromium */
#define MULTI_CLICK_MS 510   /* programs count clicks together for so long (Chromium: 500) */
#define MULTI_CLICK_PIXELS 8 /* ... and when they are no further apart */
/* A window manager moves the focus within this time, also on a busy machine, or not at all.  Text
 * in the wrong window is worse than a wait, and few windows that it manages never take the focus.
 */
#define FOCUS_MS 500
#define FOCUS_RECENT_US 1000000
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

static void motion(struct th_x11 *x, struct th_point p)
{
	xcb_test_fake_input(x->conn, XCB_MOTION_NOTIFY, 0, XCB_CURRENT_TIME, x->root, (int16_t)p.x,
			    (int16_t)p.y, 0);
	x->input->unsynced += TH_X11_FAKE_SIZE;
}

/* Lets the server, not us, wait before it goes on: a motion to where the pointer is, later. */
static void pause_later(struct th_x11 *x, uint32_t pause_ms)
{
	const uint8_t relative = 1;

	xcb_test_fake_input(x->conn, XCB_MOTION_NOTIFY, relative, pause_ms, XCB_NONE, 0, 0, 0);
	x->input->unsynced += TH_X11_FAKE_SIZE;
}

void th_x11_pointer_button(struct th_x11 *x, uint8_t logical, bool press)
{
	uint8_t button = logical < TH_X11_BUTTONS ? x->input->buttons[logical] : logical;

	th_x11_input_fake(x, press ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, button);
}

/* ---- buttons ---- */

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

enum th_code th_x11_pointer_load(struct th_x11 *x, struct th_err *err)
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

enum th_code th_x11_pointer_query(struct th_x11 *x, xcb_query_pointer_reply_t *ret,
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

/* ---- clicks ---- */

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

enum th_code th_x11_pointer_click(struct th_x11 *x, const struct th_action *action,
				  const struct th_x11_press *held, struct th_err *err)
{
	uint8_t button = logical_button(action->button);
	int32_t count = TH_MAX(action->count, 1);
	enum th_code code = part_clicks(x, action, count, err);

	if (code < 0)
		return code;
	if (action->has_at)
		motion(x, action->at);
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	for (int32_t i = 0; i < count; i++) {
		if (i > 0)
			pause_later(x, CLICK_APART_MS);
		th_x11_pointer_button(x, button, true);
		th_x11_pointer_button(x, button, false);
	}
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	remember_click(x, action, count);
	return TH_OK;
}

enum th_code th_x11_pointer_move(struct th_x11 *x, const struct th_action *action,
				 const struct th_x11_press *held)
{
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	motion(x, action->at);
	th_x11_keyboard_hold_end(x, &x->input->keyboard, held);
	return TH_OK;
}

enum th_code th_x11_pointer_press(struct th_x11 *x, const struct th_action *action, bool press)
{
	uint8_t button = logical_button(action->button);

	if (action->has_at)
		motion(x, action->at);
	th_x11_pointer_button(x, button, press);
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
		motion(x, between(from, to, i, steps));
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

enum th_code th_x11_pointer_drag(struct th_x11 *x, const struct th_action *action,
				 const struct th_x11_press *held, struct th_err *err)
{
	uint8_t button = logical_button(action->button);
	int64_t duration_us = (int64_t)th_action_duration(action) * 1000;
	enum th_code code = TH_OK;

	assert(action->path_count >= 2);
	motion(x, action->path[0]);
	th_x11_keyboard_hold_begin(x, &x->input->keyboard, held);
	th_x11_pointer_button(x, button, true);
	code = drag_path(x, action, duration_us * 4 / 5, err);
	if (code == TH_OK)
		code = th_x11_wait(x, duration_us / 5000, err);
	/* Whatever happened, the button does not stay down. */
	th_x11_pointer_button(x, button, false);
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
		th_x11_pointer_button(x, button, true);
		th_x11_pointer_button(x, button, false);
	}
	return code;
}

enum th_code th_x11_pointer_scroll(struct th_x11 *x, const struct th_action *action,
				   const struct th_x11_press *held, struct th_err *err)
{
	struct th_x11_wheel *wheels = x->input->wheels;
	int32_t dx = notches(action->dx, action->unit, &wheels[0]);
	int32_t dy = notches(action->dy, action->unit, &wheels[1]);
	enum th_code code;

	if (action->has_at)
		motion(x, action->at);
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

enum th_code th_x11_pointer_follow(struct th_x11 *x, struct th_err *err)
{
	struct th_x11_input *in = x->input;
	xcb_query_pointer_reply_t pointer;
	enum th_code code;

	if (!in->click_unfocused)
		return TH_OK;
	in->click_unfocused = false;
	if (th_x11_now_us() - in->click_us > FOCUS_RECENT_US)
		return TH_OK;
	if ((code = th_x11_pointer_query(x, &pointer, err)) < 0)
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
