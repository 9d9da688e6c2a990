/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - touching an X display: pointer, keys, text, clipboard.
 *
 * x11.c calls the first five functions; the rest is for pointer.c, keyboard.c and
 * clipboard.c.  All input is synthetic (XTEST), so programs cannot tell
 * it from a person's, and it goes where a person's would: the pointer's window
 * and the focus.
 *
 * Keys that key_down holds stay down during all other actions.
 */
#ifndef TH_X11_INPUT_H
#define TH_X11_INPUT_H

#include "x11/clipboard.h"
#include "x11/keyboard.h"

#define TH_X11_FAKE_SIZE 36 /* bytes of one XTEST request */
#define TH_X11_BUTTONS 32   /* of the pointer that we know: 1 to 31 */

struct th_x11_input {
	struct th_x11_keyboard keyboard;
	struct th_x11_clipboard clipboard;
	size_t unsynced;                 /* bytes sent since the server last answered */
	uint32_t buttons_down;           /* pressed by mouse_down; bit n: button n */
	uint8_t buttons[TH_X11_BUTTONS]; /* logical button -> what to press for it */
	bool buttons_stale;              /* somebody changed the pointer's mapping */
	struct th_x11_wheel {
		int32_t sign,
		    left_over; /* direction of the last scroll; its pixels not yet turned */
	} wheels[2];           /* x and y */
	/* the last click, for those that come after it */
	struct th_point click_at;
	enum th_button click_button;
	int32_t click_count;
	int64_t click_us;
	bool click_unfocused; /* nobody has looked yet whether it moved the focus */
	/* th_x11_input_time */
	xcb_atom_t time_property;
	xcb_timestamp_t time;
	bool time_came;
};

/* After the connection, extensions, window and damage are set up. */
TH_NODISCARD enum th_code th_x11_input_init(struct th_x11 *x, struct th_err *err);
/* Releases what is down if the connection lives; x->input may be NULL, and is afterwards. */
void th_x11_input_deinit(struct th_x11 *x);
/* All kinds but SCREENSHOT, ZOOM and WAIT.  *ret comes zeroed, and the caller has collected the
 * damage of before.  TH_OK: the server has taken it. */
TH_NODISCARD enum th_code th_x11_input_act(struct th_x11 *x, const struct th_action *action,
					   struct th_act_result *ret, struct th_err *err);
TH_NODISCARD enum th_code th_x11_input_reset(struct th_x11 *x, struct th_act_result *ret,
					     struct th_err *err);
/* Every event that is not damage, RandR or a cursor's change (selections, keymap, properties).
 * Waits for nothing, and sends no more than TH_X11_UNSYNCED_MAX bytes. */
void th_x11_input_event(struct th_x11 *x, const xcb_generic_event_t *event);

/* Queues one event of XCB_KEY_PRESS, XCB_BUTTON_RELEASE ...; motion has a function of its own. */
void th_x11_input_fake(struct th_x11 *x, uint8_t type, uint8_t detail);
/* Between many: waits for the server when TH_X11_UNSYNCED_MAX comes near. */
TH_NODISCARD enum th_code th_x11_input_pace(struct th_x11 *x, struct th_err *err);
/* The server's clock: selections must not be taken with a made-up time. */
TH_NODISCARD enum th_code th_x11_input_time(struct th_x11 *x, xcb_timestamp_t *ret,
					    struct th_err *err);
TH_NODISCARD enum th_code th_x11_input_atom(struct th_x11 *x, const char *name, xcb_atom_t *ret,
					    struct th_err *err);

#endif
