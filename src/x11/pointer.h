/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointer.h - the pointer of an X display: clicks, drags, scrolls, and where the focus goes after
 * them.
 *
 * - A click is a motion, a press and a release in one write and one answer,
 *   without a pause.  The presses of a double click are a few milliseconds
 *   apart, which the server waits, not we.  Two click actions at one place, of
 *   which one has count > 1, are kept apart by the time in which programs
 *   count clicks together.
 * - Pixels of a scroll become notches, TH_X11_NOTCH_PIXELS each: as far as
 *   Chromium scrolls for one, and GTK and Firefox nearly.  What is left over
 *   counts in the next scroll of the same direction.  A scroll is never less
 *   than one notch.
 * - A drag takes its duration: the last fifth of it the pointer rests, so that
 *   the program below can answer before the button is released.
 */
#ifndef TH_X11_POINTER_H
#define TH_X11_POINTER_H

#include "x11/input.h"

#define TH_X11_NOTCH_PIXELS 120

/*
 * A left-handed person's display presses 3 when told 1: what must be told so
 * that programs see what the action says.
 */
TH_NODISCARD enum th_code th_x11_pointer_load(struct th_x11 *x, struct th_err *err);
/* Where the pointer is; the server has taken everything that was sent before. */
TH_NODISCARD enum th_code th_x11_pointer_query(struct th_x11 *x, xcb_query_pointer_reply_t *ret,
					       struct th_err *err);
/* Queues a press or a release of a button by its logical number. */
void th_x11_pointer_button(struct th_x11 *x, uint8_t logical, bool press);

/* The actions; `held` are keys that stay down during one. */
TH_NODISCARD enum th_code th_x11_pointer_click(struct th_x11 *x, const struct th_action *action,
					       const struct th_x11_press *held, struct th_err *err);
enum th_code th_x11_pointer_move(struct th_x11 *x, const struct th_action *action,
				 const struct th_x11_press *held);
enum th_code th_x11_pointer_press(struct th_x11 *x, const struct th_action *action, bool press);
TH_NODISCARD enum th_code th_x11_pointer_drag(struct th_x11 *x, const struct th_action *action,
					      const struct th_x11_press *held, struct th_err *err);
TH_NODISCARD enum th_code th_x11_pointer_scroll(struct th_x11 *x, const struct th_action *action,
						const struct th_x11_press *held,
						struct th_err *err);

/*
 * Keys after a click must go where the click went.  The server handles both at
 * once, but it is the window manager that moves the focus, when it has seen
 * the click: waits for that, a little while, if the focus is elsewhere.
 */
TH_NODISCARD enum th_code th_x11_pointer_follow(struct th_x11 *x, struct th_err *err);

#endif
