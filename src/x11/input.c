/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/input.h"

#include <stdlib.h>
#include <xcb/xtest.h>

#include "x11/pointer.h"

#define PACE_SIZE (TH_X11_UNSYNCED_MAX / 2)

/* ---- what all parts use ---- */

void th_x11_input_fake(struct th_x11 *x, uint8_t type, uint8_t detail)
{
	xcb_test_fake_input(x->conn, type, detail, XCB_CURRENT_TIME, x->root, 0, 0, 0);
	x->input->unsynced += TH_X11_FAKE_SIZE;
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
	enum th_code code = th_x11_pointer_follow(x, err);

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
	enum th_code code = th_x11_pointer_follow(x, err);

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

static enum th_code finish(struct th_x11 *x, struct th_act_result *ret, struct th_err *err)
{
	xcb_query_pointer_reply_t pointer;
	enum th_code code = th_x11_pointer_query(x, &pointer, err);

	if (code < 0)
		return code;
	ret->has_at = true;
	ret->at = x->pointer;
	return TH_OK;
}

static enum th_code act(struct th_x11 *x, const struct th_action *action,
			const struct th_x11_press *keys, struct th_act_result *ret,
			struct th_err *err)
{
	switch (action->kind) {
	case TH_ACTION_CLICK:
		return th_x11_pointer_click(x, action, keys, err);
	case TH_ACTION_MOVE:
		return th_x11_pointer_move(x, action, keys);
	case TH_ACTION_MOUSE_DOWN:
		return th_x11_pointer_press(x, action, true);
	case TH_ACTION_MOUSE_UP:
		return th_x11_pointer_press(x, action, false);
	case TH_ACTION_DRAG:
		return th_x11_pointer_drag(x, action, keys, err);
	case TH_ACTION_SCROLL:
		return th_x11_pointer_scroll(x, action, keys, err);
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
	if (in->buttons_stale && (code = th_x11_pointer_load(x, err)) < 0)
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
	enum th_code code = th_x11_pointer_query(x, &pointer, err);

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
		th_x11_pointer_button(x, button, false);
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
		code = th_x11_pointer_load(x, err);
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
			th_x11_pointer_button(x, button, false);
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
