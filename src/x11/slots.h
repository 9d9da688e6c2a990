/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - the part of a keyboard that makes what its layout lacks:
 * keycodes that nobody uses are given keysyms, two each.
 *
 * A slot keeps its keysym until the program that it was typed into has read
 * it, which takes a question (keyboard.h says why).  So whoever types:
 * takes a slot for each keysym, publishes them, says whom it types into, marks
 * what it pressed as unread, and waits when none is left.  Nothing here presses
 * a key.
 *
 * All of it works on the fields of struct th_x11_keyboard that are of slots,
 * of the reader, and `map` and `stale`.
 */
#ifndef TH_X11_SLOTS_H
#define TH_X11_SLOTS_H

#include "x11/keyboard.h"

/* Sets of keycodes, a bit each. */
static inline bool th_x11_bit(const uint8_t bits[static 32], uint8_t n)
{
	return bits[n / 8] & (1u << (n % 8));
}

static inline void th_x11_set_bit(uint8_t bits[static 32], uint8_t n, bool on)
{
	if (on)
		bits[n / 8] |= (uint8_t)(1u << (n % 8));
	else
		bits[n / 8] &= (uint8_t) ~(1u << (n % 8));
}

/* Reads the keymap and chooses the keycodes for what it lacks. */
TH_NODISCARD enum th_code th_x11_slots_load(struct th_x11 *x, struct th_x11_keyboard *k,
					    struct th_err *err);
/* The same, if somebody changed the keymap; what was typed is read before. */
TH_NODISCARD enum th_code th_x11_slots_refresh(struct th_x11 *x, struct th_x11_keyboard *k,
					       struct th_err *err);

/* The slot that holds the keysym; NULL: none.  plain: only one that takes no Shift. */
struct th_x11_slot *th_x11_slots_find(struct th_x11_keyboard *k, uint32_t keysym, bool plain);
/* The same, or one that now does, pinned; NULL: none is free. */
struct th_x11_slot *th_x11_slots_take(struct th_x11_keyboard *k, uint32_t keysym, bool plain);
void th_x11_slots_unpin(struct th_x11_keyboard *k); /* all of them */

/* The changed slots, known to the server, and to the reader where it can tell: Chromium, when busy,
 * was seen to read a key by the map that it had before. */
TH_NODISCARD enum th_code th_x11_slots_publish(struct th_x11 *x, struct th_x11_keyboard *k,
					       struct th_err *err);
/*
 * Before slots are typed: if another program than before is the reader, the
 * old one is waited for, and the new one too, for the focus may have moved
 * while we typed.
 */
TH_NODISCARD enum th_code th_x11_slots_type_into(struct th_x11 *x, struct th_x11_keyboard *k,
						 struct th_err *err);
/* After this every slot may be given another keysym.  TH_EIO: the program does not read its keys.
 */
TH_NODISCARD enum th_code th_x11_slots_wait(struct th_x11 *x, struct th_x11_keyboard *k,
					    struct th_err *err);

/* The server gets its keycodes back, where the display is not our own; there are no slots then. */
void th_x11_slots_give_back(struct th_x11 *x, struct th_x11_keyboard *k);

#endif
