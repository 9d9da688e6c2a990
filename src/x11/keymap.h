/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keymap.h - the server's keymap as one table: keysym -> key and the
 * modifiers that must be on.  Read through XKB, so that layouts with AltGr,
 * several groups and odd key types come out right.  A snapshot: the keyboard
 * (keyboard.c) reads it anew when the server says that it changed.
 */
#ifndef TH_X11_KEYMAP_H
#define TH_X11_KEYMAP_H

#include "x11/x11.h"

/* One press of a key that gives a keysym. */
struct th_x11_stroke {
	uint8_t keycode;
	uint8_t modifiers; /* real modifiers (ShiftMask = 1 ...) that must be on, all others off */
};

struct th_x11_keymap_row {
	uint32_t keysym; /* as th_keys_of_char writes it, where it is a character */
	struct th_x11_stroke stroke;
	uint8_t cost; /* of two ways the cheaper one counts: fewer modifiers, no locks */
};

#define TH_X11_KEYCODES 256

struct th_x11_keymap {
	struct th_x11_keymap_row *rows; /* sorted by keysym, then cost */
	size_t count;
	uint8_t group;                         /* the group that the rows are of */
	uint8_t shift_keycode, level3_keycode; /* 0: the layout has none */
	uint8_t level3_mask, num_mask;         /* real modifiers of AltGr and NumLock; 0: none */
	uint8_t spare[TH_X11_KEYCODES];        /* keycodes that give nothing */
	size_t spare_count;
};

/*
 * Zeroed or loaded before; keeps what it had when it fails.  The keycodes of
 * `own` (a bit each) count as spare, whatever is on them; so do media keys
 * when `take_media` is set: for displays that no real keyboard is connected to.
 */
TH_NODISCARD enum th_code th_x11_keymap_load(struct th_x11 *x, const uint8_t own[static 32],
					     bool take_media, struct th_x11_keymap *map,
					     struct th_err *err);
void th_x11_keymap_deinit(struct th_x11_keymap *map);

/* The cheapest way to make the keysym. */
bool th_x11_keymap_find(const struct th_x11_keymap *map, uint32_t keysym,
			struct th_x11_stroke *ret);

#endif
