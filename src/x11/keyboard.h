/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyboard.h - keys and text on an X display, through XTEST.
 *
 * What the layout has is pressed on the layout's keys.  For everything else
 * (CJK, emoji, a key that this layout lacks) unused keycodes are given the
 * keysym.  Programs read such a change late: not when MappingNotify arrives
 * but with the next key they handle.  So a keycode keeps its keysym until the
 * program that it was typed into has shown that it read all of it (it answered
 * a _NET_WM_PING, which comes after the keys), and longer: the one that has had
 * it for longest goes first.  th_x11_keyboard_deinit gives them all back.
 *
 * Each call leaves no key down that it pressed, whatever happened in between,
 * but for th_x11_keyboard_down.  CapsLock and NumLock are off meanwhile.
 */
#ifndef TH_X11_KEYBOARD_H
#define TH_X11_KEYBOARD_H

#include "actions/keys.h"
#include "x11/keymap.h"

/* A symbol on an unused keycode: two of them fit, without and with Shift. */
struct th_x11_slot {
	struct th_x11_stroke stroke;
	uint32_t keysym; /* 0: none yet */
	bool unread;     /* pressed, and the program may not have read it yet */
	bool pinned;     /* belongs to what is being typed */
	bool changed;    /* the server does not know yet */
};

#define TH_X11_SLOTS_MAX (2 * TH_X11_KEYCODES)

struct th_x11_keyboard {
	struct th_x11_keymap map;
	bool stale; /* somebody changed the keymap */
	struct th_x11_slot slots[TH_X11_SLOTS_MAX];
	size_t slot_count;
	size_t next_slot;    /* whose turn it is to be given a keysym */
	uint8_t own[32];     /* keycodes of the slots, a bit each */
	uint8_t mapped[32];  /* those that have a keysym of ours on the server */
	bool announced;      /* the root window's property names them */
	uint8_t down[32];    /* keycodes that th_x11_keyboard_down keeps down */
	uint8_t shifts;      /* modifiers that typing holds at this moment */
	xcb_window_t reader; /* where the unread slots were typed into; 0: nobody */
	bool reader_pings;   /* it answers pings */
	int64_t typed_us;    /* when the last unread one was pressed */
	uint32_t ping, pong; /* number of the last ping sent and answered */
	xcb_atom_t wm_protocols, net_wm_ping, keycodes;
};

/* The keys of a chord as they will be pressed. */
struct th_x11_press {
	uint8_t keycodes[TH_CHORD_KEYS_MAX + 2]; /* in this order; released in the other */
	size_t count;
	size_t modifier_count; /* the first ones are modifiers, which repeats leave down */
	uint8_t locks;         /* lock modifiers that must be on */
	bool is_lock;          /* one of them is a lock key: locks are left alone */
};

TH_NODISCARD enum th_code th_x11_keyboard_init(struct th_x11 *x, struct th_x11_keyboard *k,
					       struct th_err *err);
void th_x11_keyboard_deinit(struct th_x11 *x, struct th_x11_keyboard *k);
void th_x11_keyboard_event(struct th_x11 *x, struct th_x11_keyboard *k,
			   const xcb_generic_event_t *event);

/* Names to keycodes; nothing is pressed yet, but unused keycodes may have been mapped. */
TH_NODISCARD enum th_code th_x11_keyboard_resolve(struct th_x11 *x, struct th_x11_keyboard *k,
						  const struct th_str *names, size_t count,
						  struct th_x11_press *ret, struct th_err *err);

/* Presses the chord `count` times and lets go. */
TH_NODISCARD enum th_code th_x11_keyboard_press(struct th_x11 *x, struct th_x11_keyboard *k,
						const struct th_x11_press *press, int32_t count,
						struct th_err *err);
/* Presses it, lets time pass, lets go; also when interrupted. */
TH_NODISCARD enum th_code th_x11_keyboard_hold(struct th_x11 *x, struct th_x11_keyboard *k,
					       const struct th_x11_press *press,
					       int32_t duration_ms, struct th_err *err);
/* Keeps keys down, and lets them go: key_down, key_up. */
TH_NODISCARD enum th_code th_x11_keyboard_down(struct th_x11 *x, struct th_x11_keyboard *k,
					       const struct th_x11_press *press,
					       struct th_err *err);
TH_NODISCARD enum th_code th_x11_keyboard_up(struct th_x11 *x, struct th_x11_keyboard *k,
					     const struct th_x11_press *press, struct th_err *err);
/* Keys held while the pointer acts: sent without waiting. */
void th_x11_keyboard_hold_begin(struct th_x11 *x, struct th_x11_keyboard *k,
				const struct th_x11_press *press);
void th_x11_keyboard_hold_end(struct th_x11 *x, struct th_x11_keyboard *k,
			      const struct th_x11_press *press);

/* Types any Unicode text; newline is Return.  The message of an error says how much was typed. */
TH_NODISCARD enum th_code th_x11_keyboard_type(struct th_x11 *x, struct th_x11_keyboard *k,
					       struct th_str text, struct th_err *err);

/* Lets go of what th_x11_keyboard_down holds; sent without waiting. */
void th_x11_keyboard_let_go(struct th_x11 *x, struct th_x11_keyboard *k);
/* Releases every key that is down on the display, by any client; *ret_count: how many. */
TH_NODISCARD enum th_code th_x11_keyboard_reset(struct th_x11 *x, struct th_x11_keyboard *k,
						int32_t *ret_count, struct th_err *err);

#endif
