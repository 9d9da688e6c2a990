/* SPDX-License-Identifier: Apache-2.0 */
#include "computers/x11_keyboard.h"

#include <stdlib.h>
#include <xcb/xcbext.h>
#include <xcb/xkb.h>

#include "base/text.h"
#include "computers/x11_input.h"

#define SHIFT_MASK 1
#define LOCK_MASK 2
#define CHUNK_CHARS 64        /* typed between two round trips */
#define SLOTS_SHARE_MAX 120   /* unused keycodes that are taken; each is two slots */
#define READER_MS 5000        /* a program that does not read its keys for so long is stuck */
#define SILENT_READER_MS 1000 /* what a program that answers no ping is given to read its keys */
#define FAREWELL_MS 200       /* ... and before the keycodes are given back */
#define ANCESTORS_MAX 32

static bool bit(const uint8_t bits[static 32], uint8_t n)
{
	return bits[n / 8] & (1u << (n % 8));
}

static void set_bit(uint8_t bits[static 32], uint8_t n, bool on)
{
	if (on)
		bits[n / 8] |= (uint8_t)(1u << (n % 8));
	else
		bits[n / 8] &= (uint8_t) ~(1u << (n % 8));
}

static void fake_key(struct th_x11 *x, uint8_t keycode, bool press)
{
	th_x11_input_fake(x, press ? XCB_KEY_PRESS : XCB_KEY_RELEASE, keycode);
}

/* ---- keycodes of our own ---- */

/*
 * A property of the root window names the keycodes we use and our window, so
 * that a runtime that was killed does not lose them for the next one.
 */
static void announce(struct th_x11 *x, struct th_x11_keyboard *k)
{
	uint32_t list[1 + TH_X11_KEYCODES] = { x->window };
	uint32_t count = 1;

	for (unsigned keycode = 0; keycode < TH_X11_KEYCODES; keycode++) {
		if (bit(k->own, (uint8_t)keycode))
			list[count++] = keycode;
	}
	xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, x->root, k->keycodes, XCB_ATOM_CARDINAL,
			    32, count, list);
}

/*
 * Takes over what a dead runtime left: its keycodes are added to k->own.  What
 * a living one uses goes to `foreign` instead; *ret_busy says that there is one.
 */
static enum th_code inherit(struct th_x11 *x, struct th_x11_keyboard *k, uint8_t foreign[static 32],
			    bool *ret_busy, struct th_err *err)
{
	xcb_get_property_cookie_t cookie = xcb_get_property(
	    x->conn, 0, x->root, k->keycodes, XCB_ATOM_CARDINAL, 0, 1 + TH_X11_KEYCODES);
	xcb_get_property_reply_t *property;
	void *reply = NULL;
	enum th_code code = th_x11_reply(x, cookie.sequence, &reply, err);
	const uint32_t *list;
	size_t count;

	if (code < 0)
		return code;
	property = reply;
	list = xcb_get_property_value(property);
	count = property->format == 32 ? property->value_len : 0;
	*ret_busy = false;
	/* Window numbers are used again: ours may have been a dead runtime's. */
	if (count > 0 && list[0] != x->window) {
		reply = NULL;
		code = th_x11_reply(x, xcb_get_window_attributes(x->conn, list[0]).sequence, &reply,
				    NULL);
		free(reply);
		*ret_busy = code == TH_OK;
		if (code == TH_EIO) /* no such window any more */
			code = TH_OK;
		else if (code < 0)
			th_fail(err, code, "the display does not answer");
	}
	for (size_t i = 1; i < count && code == TH_OK; i++) {
		set_bit(*ret_busy ? foreign : k->own, (uint8_t)list[i], true);
		if (!*ret_busy && !k->announced)
			set_bit(k->mapped, (uint8_t)list[i], true);
	}
	free(property);
	return code;
}

/* Gives keycodes [first, first + count) what their slots hold, or nothing. */
static void send_mapping(struct th_x11 *x, struct th_x11_keyboard *k, unsigned first,
			 unsigned count, bool clear)
{
	xcb_keysym_t syms[2 * TH_X11_KEYCODES] = {};

	for (size_t i = 0; i < k->slot_count && !clear; i++) {
		const struct th_x11_slot *s = &k->slots[i];
		unsigned at = s->stroke.keycode - first;

		if (s->stroke.keycode < first || at >= count)
			continue;
		syms[2 * at + (s->stroke.modifiers ? 1 : 0)] = s->keysym;
	}
	/* With one symbol only, the server would make a pair of its lower and upper case. */
	for (unsigned at = 0; at < count; at++) {
		if (syms[2 * at + 1] == 0)
			syms[2 * at + 1] = syms[2 * at];
		else if (syms[2 * at] == 0)
			syms[2 * at] = syms[2 * at + 1];
	}
	for (unsigned at = 0; at < count; at++)
		set_bit(k->mapped, (uint8_t)(first + at), !clear);
	xcb_change_keyboard_mapping(x->conn, (uint8_t)count, (uint8_t)first, 2, syms);
}

/* Neighbours go in one request, since each costs every program on the display a new reading of the
 * keymap. */
static void send_mappings(struct th_x11 *x, struct th_x11_keyboard *k,
			  const uint8_t changed[static 32], bool clear)
{
	for (unsigned first = 0, end; first < TH_X11_KEYCODES; first = end) {
		end = first + 1;
		if (!bit(changed, (uint8_t)first))
			continue;
		while (end < TH_X11_KEYCODES && bit(changed, (uint8_t)end))
			end++;
		send_mapping(x, k, first, end - first, clear);
	}
}

/* Tells the server about changed slots; *ret_any says that there were some. */
static enum th_code commit_slots(struct th_x11 *x, struct th_x11_keyboard *k, bool *ret_any,
				 struct th_err *err)
{
	uint8_t changed[32] = {};
	bool any = false;

	for (size_t i = 0; i < k->slot_count; i++) {
		if (k->slots[i].changed)
			set_bit(changed, k->slots[i].stroke.keycode, true);
		any |= k->slots[i].changed;
		k->slots[i].changed = false;
	}
	*ret_any = any;
	if (!any)
		return TH_OK;
	send_mappings(x, k, changed, false);
	return th_x11_sync(x,
			   err); /* now MappingNotify is on its way to everybody, before any key */
}

/* How many of `spare` follow one another from `at` on. */
static size_t run_length(const uint8_t *spare, size_t count, size_t at)
{
	size_t end = at + 1;

	while (end < count && spare[end] == spare[end - 1] + 1)
		end++;
	return end - at;
}

static void add_slots(struct th_x11_keyboard *k, uint8_t keycode)
{
	for (unsigned shift = 0; shift < 2; shift++) {
		if ((shift && !k->map.shift_keycode) || k->slot_count == TH_X11_SLOTS_MAX)
			return;
		k->slots[k->slot_count++] = (struct th_x11_slot){
			.stroke = { keycode, (uint8_t)(shift ? SHIFT_MASK : 0) },
		};
	}
	set_bit(k->own, keycode, true);
}

/* Turns spare keycodes (ascending) into slots: the longest runs first, so that the fewest requests
 * change the most of them. */
static void make_slots(struct th_x11_keyboard *k, const uint8_t *spare, size_t count)
{
	k->slot_count = k->next_slot = 0;
	for (size_t want = count; want > 0; want--) {
		for (size_t at = 0, run; at < count; at += run) {
			run = run_length(spare, count, at);
			for (size_t i = 0; i < run && run == want; i++)
				add_slots(k, spare[at + i]);
		}
	}
}

/* Nobody's keyboard is connected to it, and it ends with us. */
static bool is_private(const struct th_x11 *x)
{
	return strcmp(x->computer.kind->name, "desktop") == 0;
}

/* Reads the keymap and chooses the keycodes for what it lacks. */
static enum th_code load(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	uint8_t before[32], foreign[32] = {}, spare[TH_X11_KEYCODES];
	size_t spare_count = 0;
	bool busy;
	enum th_code code;

	k->stale = false; /* a change during the reading makes it stale again */
	memcpy(before, k->own, sizeof(before));
	code = inherit(x, k, foreign, &busy, err);
	if (code == TH_OK)
		code = th_x11_keymap_load(x, k->own, is_private(x), &k->map, err);
	if (code < 0) {
		k->stale = true;
		memcpy(k->own, before, sizeof(before));
		return code;
	}
	for (size_t i = 0; i < k->map.spare_count && spare_count < SLOTS_SHARE_MAX; i++) {
		if (!bit(foreign, k->map.spare[i]))
			spare[spare_count++] = k->map.spare[i];
	}
	memset(k->own, 0, sizeof(k->own));
	make_slots(k, spare, spare_count);
	k->announced = !busy && !is_private(x);
	if (k->announced)
		announce(x, k);
	return TH_OK;
}

static struct th_x11_slot *find_slot(struct th_x11_keyboard *k, uint32_t keysym, bool plain)
{
	for (size_t i = 0; i < k->slot_count; i++) {
		if (k->slots[i].keysym == keysym && !(plain && k->slots[i].stroke.modifiers))
			return &k->slots[i];
	}
	return NULL;
}

/*
 * The next slot that is empty or may be given another keysym; NULL: none.  One
 * after the other: neighbours change together, and the one whose turn it is
 * has kept its keysym for longest.  plain: only one that takes no Shift.
 */
static struct th_x11_slot *free_slot(struct th_x11_keyboard *k, bool plain)
{
	for (size_t i = 0; i < k->slot_count; i++) {
		struct th_x11_slot *s = &k->slots[(k->next_slot + i) % k->slot_count];

		if ((plain && s->stroke.modifiers) || s->unread || s->pinned ||
		    bit(k->down, s->stroke.keycode))
			continue;
		k->next_slot = (k->next_slot + i + 1) % k->slot_count;
		return s;
	}
	return NULL;
}

/* The slot that holds the keysym, or one that now does; NULL: none is free. */
static struct th_x11_slot *take_slot(struct th_x11_keyboard *k, uint32_t keysym, bool plain)
{
	struct th_x11_slot *slot = find_slot(k, keysym, plain);

	if (!slot && (slot = free_slot(k, plain))) {
		slot->keysym = keysym;
		slot->changed = true;
	}
	if (slot)
		slot->pinned = true;
	return slot;
}

static void unpin(struct th_x11_keyboard *k)
{
	for (size_t i = 0; i < k->slot_count; i++)
		k->slots[i].pinned = false;
}

/* ---- who reads the keys ---- */

static bool has_ping(struct th_x11 *x, const struct th_x11_keyboard *k, xcb_window_t window,
		     enum th_code *ret_code)
{
	xcb_get_property_cookie_t cookie =
	    xcb_get_property(x->conn, 0, window, k->wm_protocols, XCB_ATOM_ATOM, 0, 32);
	void *reply = NULL;
	bool found = false;

	*ret_code = th_x11_reply(x, cookie.sequence, &reply, NULL);
	if (*ret_code == TH_OK) {
		const xcb_get_property_reply_t *r = reply;
		const xcb_atom_t *atoms = xcb_get_property_value(r);

		for (uint32_t i = 0; r->format == 32 && i < r->value_len; i++)
			found |= atoms[i] == k->net_wm_ping;
	}
	free(reply);
	return found;
}

/*
 * The window that has the focus, or the one above it that answers pings.  An
 * X error on the way means that a window has just gone: nobody reads.
 */
static enum th_code find_reader(struct th_x11 *x, const struct th_x11_keyboard *k,
				xcb_window_t *ret, bool *ret_pings, struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(x, xcb_get_input_focus(x->conn).sequence, &reply, err);
	xcb_window_t window;

	if (code < 0)
		return code;
	window = ((xcb_get_input_focus_reply_t *)reply)->focus;
	free(reply);
	*ret = window;
	*ret_pings = false;
	for (int i = 0; i < ANCESTORS_MAX && window > 1 && window != x->root; i++) {
		if (has_ping(x, k, window, &code)) {
			*ret = window;
			*ret_pings = true;
			return TH_OK;
		}
		reply = NULL;
		if (code == TH_OK)
			code =
			    th_x11_reply(x, xcb_query_tree(x->conn, window).sequence, &reply, NULL);
		if (code == TH_OK)
			window = ((xcb_query_tree_reply_t *)reply)->parent;
		free(reply);
		if (code == TH_EIO)
			break;
		if (code < 0)
			return th_fail(err, code, "the display does not answer");
	}
	return TH_OK;
}

/* Our events on the root window, with SubstructureNotify, where answers to pings arrive. */
static enum th_code select_root(struct th_x11 *x, uint32_t *ret_before, struct th_err *err)
{
	void *reply = NULL;
	enum th_code code =
	    th_x11_reply(x, xcb_get_window_attributes(x->conn, x->root).sequence, &reply, err);
	uint32_t mask;

	if (code < 0)
		return code;
	*ret_before = ((xcb_get_window_attributes_reply_t *)reply)->your_event_mask;
	free(reply);
	mask = *ret_before | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY;
	xcb_change_window_attributes(x->conn, x->root, XCB_CW_EVENT_MASK, &mask);
	return TH_OK;
}

static void send_ping(struct th_x11 *x, struct th_x11_keyboard *k)
{
	/* The "time" is a number of our own: programs send it back as it is. */
	xcb_client_message_event_t event = {
		.response_type = XCB_CLIENT_MESSAGE,
		.format = 32,
		.window = k->reader,
		.type = k->wm_protocols,
		.data.data32 = { k->net_wm_ping, ++k->ping, k->reader },
	};

	xcb_send_event(x->conn, 0, k->reader, 0, (const char *)&event);
}

/* Waits for the answer; TH_EIO: none came. */
static enum th_code wait_pong(struct th_x11 *x, struct th_x11_keyboard *k, int64_t limit_ms,
			      struct th_err *err)
{
	int64_t end_us = th_x11_now_us() + limit_ms * 1000;
	enum th_code code;

	while (k->pong != k->ping) {
		int64_t left_ms = (end_us - th_x11_now_us() + 999) / 1000;
		bool served, pings;

		if (left_ms <= 0)
			return th_fail(
			    err, TH_EIO,
			    "the program does not read its keys: it has not answered for "
			    "%lld ms",
			    (long long)limit_ms);
		code = th_x11_wait_event(x, TH_MIN(left_ms, (int64_t)500), &served, err);
		if (code < 0)
			return code;
		if (!served) { /* it may have gone */
			pings = has_ping(x, k, k->reader, &code);
			if (code == TH_EIO || (code == TH_OK && !pings))
				return TH_OK;
		}
	}
	return TH_OK;
}

/* Returns when the reader, which answers pings, has read all that was sent to it so far. */
static enum th_code ask_reader(struct th_x11 *x, struct th_x11_keyboard *k, int64_t limit_ms,
			       struct th_err *err)
{
	uint32_t before;
	enum th_code code = select_root(x, &before, err);

	if (code < 0)
		return code;
	send_ping(x, k);
	code = wait_pong(x, k, limit_ms, err);
	xcb_change_window_attributes(x->conn, x->root, XCB_CW_EVENT_MASK, &before);
	return code;
}

/* The changed slots, known to the server, and to the reader where it can tell: Chromium, when busy,
 * was seen to read a key by the map that it had before. */
static enum th_code publish_slots(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	bool any;
	enum th_code code = commit_slots(x, k, &any, err);

	if (code == TH_OK && any && k->reader && k->reader_pings)
		code = ask_reader(x, k, READER_MS, err);
	return code;
}

/*
 * After this every slot may be given another keysym: the program that they
 * were typed into has read them all.
 */
static enum th_code wait_reader(struct th_x11 *x, struct th_x11_keyboard *k, int64_t limit_ms,
				struct th_err *err)
{
	enum th_code code = TH_OK;

	if (k->reader && k->reader_pings) {
		code = ask_reader(x, k, limit_ms, err);
	} else if (k->reader) {
		int64_t passed_ms = (th_x11_now_us() - k->typed_us) / 1000;

		int64_t given_ms = TH_MIN(limit_ms, (int64_t)SILENT_READER_MS);

		if (passed_ms < given_ms)
			code = th_x11_wait(x, given_ms - passed_ms, err);
	}
	if (code < 0)
		return code;
	for (size_t i = 0; i < k->slot_count; i++)
		k->slots[i].unread = false;
	k->reader = 0;
	return TH_OK;
}

/*
 * Before slots are typed: if another program than before is the reader, the
 * old one is waited for, and the new one too, for the focus may have moved
 * while we typed.
 */
static enum th_code check_reader(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	xcb_window_t reader;
	bool pings, moved;
	enum th_code code = find_reader(x, k, &reader, &pings, err);

	moved = k->reader && k->reader != reader;
	if (code == TH_OK && moved)
		code = wait_reader(x, k, READER_MS, err);
	if (code < 0)
		return code;
	k->reader = reader;
	k->reader_pings = pings;
	if (moved) {
		code = wait_reader(x, k, READER_MS, err);
		k->reader = reader;
	}
	return code;
}

/* The keymap anew, if somebody changed it. */
static enum th_code refresh(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (k->stale && k->reader) /* the slots are about to be forgotten */
		code = wait_reader(x, k, READER_MS, err);
	return code == TH_OK && k->stale ? load(x, k, err) : code;
}

/* ---- locks ---- */

struct locks {
	uint8_t before, now;
};

static void set_locks(struct th_x11 *x, const struct th_x11_keyboard *k, uint8_t locks)
{
	xcb_xkb_latch_lock_state(x->conn, XCB_XKB_ID_USE_CORE_KBD,
				 (uint8_t)(LOCK_MASK | k->map.num_mask), locks, 0, 0, 0, 0, 0);
}

/* The locks as they are, to be put back; notices that another layout (group) is on. */
static enum th_code read_locks(struct th_x11 *x, struct th_x11_keyboard *k, struct locks *ret,
			       struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(
	    x, xcb_xkb_get_state(x->conn, XCB_XKB_ID_USE_CORE_KBD).sequence, &reply, err);
	const xcb_xkb_get_state_reply_t *state = reply;

	if (code < 0)
		return code;
	k->stale |= state->group != k->map.group;
	ret->before = state->lockedMods & (uint8_t)(LOCK_MASK | k->map.num_mask);
	ret->now = ret->before;
	free(reply);
	return TH_OK;
}

static void want_locks(struct th_x11 *x, const struct th_x11_keyboard *k, struct locks *locks,
		       uint8_t wanted)
{
	if (locks->now != wanted)
		set_locks(x, k, wanted);
	locks->now = wanted;
}

/* ---- chords ---- */

/* Where a layout lacks one of a pair, the other does the same. */
static uint32_t substitute(uint32_t keysym)
{
	switch (keysym) {
	case TH_KEYSYM_SHIFT_R:
		return TH_KEYSYM_SHIFT_L;
	case TH_KEYSYM_CONTROL_R:
		return TH_KEYSYM_CONTROL_L;
	case TH_KEYSYM_ALT_R:
	case TH_KEYSYM_META_L:
	case TH_KEYSYM_META_R:
		return TH_KEYSYM_ALT_L;
	case TH_KEYSYM_SUPER_R:
	case TH_KEYSYM_HYPER_L:
	case TH_KEYSYM_HYPER_R:
		return TH_KEYSYM_SUPER_L;
	}
	return TH_KEYSYM_NONE;
}

static bool is_lock_key(uint32_t keysym)
{
	const uint32_t scroll_lock = 0xff14, shift_lock = 0xffe6;

	return keysym == TH_KEYSYM_CAPS_LOCK || keysym == TH_KEYSYM_NUM_LOCK ||
	       keysym == scroll_lock || keysym == shift_lock;
}

/* The key for a keysym: of the layout, or a slot. */
static enum th_code find_stroke(struct th_x11 *x, struct th_x11_keyboard *k, uint32_t keysym,
				struct th_x11_stroke *ret, struct th_err *err)
{
	uint32_t other = substitute(keysym);
	const char *name = th_keys_name(keysym);
	struct th_x11_slot *slot;
	enum th_code code;

	if (th_x11_keymap_find(&k->map, keysym, ret) ||
	    (other && th_x11_keymap_find(&k->map, other, ret)))
		return TH_OK;
	if (th_keys_is_modifier(keysym) || is_lock_key(keysym))
		return th_fail(err, TH_EUNSUPPORTED,
			       "the keyboard layout of the display has no %s key",
			       name ? name : "such");
	slot = take_slot(k, keysym, true); /* ctrl+z must not become ctrl+shift+z */
	if (!slot && k->reader) {
		if ((code = wait_reader(x, k, READER_MS, err)) < 0)
			return code;
		slot = take_slot(k, keysym, true);
	}
	if (!slot)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "the keyboard layout of the display has no key for this and no unused "
		    "keycode to give it one");
	if ((code = check_reader(x, k, err)) < 0)
		return code;
	slot->unread = true;
	k->typed_us = th_x11_now_us();
	*ret = slot->stroke;
	return TH_OK;
}

static void add_keycode(struct th_x11_press *press, uint8_t keycode)
{
	for (size_t i = 0; i < press->count; i++) {
		if (press->keycodes[i] == keycode)
			return;
	}
	assert(press->count < TH_COUNT(press->keycodes));
	press->keycodes[press->count++] = keycode;
}

static enum th_code resolve_chord(struct th_x11 *x, struct th_x11_keyboard *k,
				  const struct th_chord *chord, struct th_x11_press *ret,
				  struct th_err *err)
{
	struct th_x11_stroke strokes[TH_CHORD_KEYS_MAX];
	uint8_t needed = 0;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < chord->count && code == TH_OK; i++) {
		code = find_stroke(x, k, chord->keysyms[i], &strokes[i], err);
		ret->is_lock |= is_lock_key(chord->keysyms[i]);
		/* Alt_R that sits on AltGr's key with Shift is still pressed alone. */
		if (code == TH_OK && i >= chord->modifier_count)
			needed |= strokes[i].modifiers;
	}
	unpin(k);
	if (code < 0 || (code = publish_slots(x, k, err)) < 0)
		return code;
	for (size_t i = 0; i < chord->modifier_count; i++)
		add_keycode(ret, strokes[i].keycode);
	if ((needed & SHIFT_MASK) && k->map.shift_keycode)
		add_keycode(ret, k->map.shift_keycode);
	if ((needed & k->map.level3_mask) && k->map.level3_keycode)
		add_keycode(ret, k->map.level3_keycode);
	ret->modifier_count = ret->count;
	for (size_t i = chord->modifier_count; i < chord->count; i++)
		add_keycode(ret, strokes[i].keycode);
	if (ret->count == ret->modifier_count) /* modifiers alone: they are what is pressed */
		ret->modifier_count = 0;
	ret->locks = needed & (uint8_t)(LOCK_MASK | k->map.num_mask);
	return TH_OK;
}

enum th_code th_x11_keyboard_resolve(struct th_x11 *x, struct th_x11_keyboard *k,
				     const struct th_str *names, size_t count,
				     struct th_x11_press *ret, struct th_err *err)
{
	struct th_x11_press press = {};
	struct th_chord chord;
	struct locks locks;
	enum th_code code = th_keys_chord(names, count, &chord, err);

	if (code < 0)
		return code;
	if ((code = read_locks(x, k, &locks, err)) < 0 || (code = refresh(x, k, err)) < 0 ||
	    (code = resolve_chord(x, k, &chord, &press, err)) < 0)
		return code;
	*ret = press;
	return TH_OK;
}

/* Presses or releases a part of the keys; those that key_down holds stay as they are. */
static void send_keys(struct th_x11 *x, const struct th_x11_keyboard *k,
		      const struct th_x11_press *press, size_t from, size_t to, bool down)
{
	for (size_t i = from; i < to; i++) {
		uint8_t keycode = press->keycodes[down ? i : to - 1 - (i - from)];

		if (!bit(k->down, keycode))
			fake_key(x, keycode, down);
	}
}

void th_x11_keyboard_hold_begin(struct th_x11 *x, struct th_x11_keyboard *k,
				const struct th_x11_press *press)
{
	send_keys(x, k, press, 0, press->count, true);
}

void th_x11_keyboard_hold_end(struct th_x11 *x, struct th_x11_keyboard *k,
			      const struct th_x11_press *press)
{
	send_keys(x, k, press, 0, press->count, false);
}

/* Locks as the chord wants them; a chord of a lock key leaves them alone. */
static enum th_code begin_press(struct th_x11 *x, struct th_x11_keyboard *k,
				const struct th_x11_press *press, struct locks *ret,
				struct th_err *err)
{
	enum th_code code = read_locks(x, k, ret, err);

	if (code == TH_OK && !press->is_lock)
		want_locks(x, k, ret, press->locks);
	return code;
}

static enum th_code end_press(struct th_x11 *x, struct th_x11_keyboard *k, struct locks *locks,
			      enum th_code code, struct th_err *err)
{
	want_locks(x, k, locks, locks->before);
	return code < 0 ? code : th_x11_sync(x, err);
}

enum th_code th_x11_keyboard_press(struct th_x11 *x, struct th_x11_keyboard *k,
				   const struct th_x11_press *press, int32_t count,
				   struct th_err *err)
{
	struct locks locks;
	enum th_code code = begin_press(x, k, press, &locks, err);

	if (code < 0)
		return code;
	send_keys(x, k, press, 0, press->modifier_count, true);
	for (int32_t i = 0; i < count && code == TH_OK; i++) {
		send_keys(x, k, press, press->modifier_count, press->count, true);
		send_keys(x, k, press, press->modifier_count, press->count, false);
		code = th_x11_input_pace(x, err);
	}
	send_keys(x, k, press, 0, press->modifier_count, false);
	return end_press(x, k, &locks, code, err);
}

enum th_code th_x11_keyboard_hold(struct th_x11 *x, struct th_x11_keyboard *k,
				  const struct th_x11_press *press, int32_t duration_ms,
				  struct th_err *err)
{
	struct locks locks;
	enum th_code code = begin_press(x, k, press, &locks, err);

	if (code < 0)
		return code;
	send_keys(x, k, press, 0, press->count, true);
	code = th_x11_wait(x, duration_ms, err);
	send_keys(x, k, press, 0, press->count, false);
	return end_press(x, k, &locks, code, err);
}

enum th_code th_x11_keyboard_down(struct th_x11 *x, struct th_x11_keyboard *k,
				  const struct th_x11_press *press, struct th_err *err)
{
	struct locks locks;
	enum th_code code = begin_press(x, k, press, &locks, err);

	if (code < 0)
		return code;
	send_keys(x, k, press, 0, press->count, true);
	for (size_t i = 0; i < press->count; i++)
		set_bit(k->down, press->keycodes[i], true);
	return end_press(x, k, &locks, code, err);
}

enum th_code th_x11_keyboard_up(struct th_x11 *x, struct th_x11_keyboard *k,
				const struct th_x11_press *press, struct th_err *err)
{
	for (size_t i = press->count; i-- > 0;) {
		set_bit(k->down, press->keycodes[i], false);
		fake_key(x, press->keycodes[i], false);
	}
	return th_x11_sync(x, err);
}

void th_x11_keyboard_let_go(struct th_x11 *x, struct th_x11_keyboard *k)
{
	for (unsigned keycode = 0; keycode < TH_X11_KEYCODES; keycode++) {
		if (bit(k->down, (uint8_t)keycode))
			fake_key(x, (uint8_t)keycode, false);
	}
	memset(k->down, 0, sizeof(k->down));
}

enum th_code th_x11_keyboard_reset(struct th_x11 *x, struct th_x11_keyboard *k, int32_t *ret_count,
				   struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(x, xcb_query_keymap(x->conn).sequence, &reply, err);
	const xcb_query_keymap_reply_t *keys = reply;

	if (code < 0)
		return code;
	*ret_count = 0;
	for (unsigned keycode = 0; keycode < TH_X11_KEYCODES; keycode++) {
		if (!bit(keys->keys, (uint8_t)keycode))
			continue;
		fake_key(x, (uint8_t)keycode, false);
		++*ret_count;
	}
	memset(k->down, 0, sizeof(k->down));
	free(reply);
	return th_x11_sync(x, err);
}

/* ---- text ---- */

/* Shift and AltGr as the next key needs them. */
static void want_shifts(struct th_x11 *x, struct th_x11_keyboard *k, uint8_t wanted)
{
	const struct {
		uint8_t mask, keycode;
	} keys[] = { { SHIFT_MASK, k->map.shift_keycode },
		     { k->map.level3_mask, k->map.level3_keycode } };

	for (size_t i = 0; i < TH_COUNT(keys); i++) {
		bool want = wanted & keys[i].mask, have = k->shifts & keys[i].mask;

		if (keys[i].keycode && want != have && !bit(k->down, keys[i].keycode))
			fake_key(x, keys[i].keycode, want);
	}
	k->shifts = wanted;
}

/* The layout's key for a character, if it takes no more than Shift and AltGr. */
static bool plain_stroke(const struct th_x11_keyboard *k, uint32_t keysym,
			 struct th_x11_stroke *ret)
{
	return th_x11_keymap_find(&k->map, keysym, ret) &&
	       !(ret->modifiers & (uint8_t) ~(SHIFT_MASK | k->map.level3_mask));
}

/* The next character's keysym; "\r\n" is one Return.  False at the end. */
static bool next_keysym(struct th_str *text, uint32_t *ret)
{
	uint32_t c;

	if (!th_utf8_next(text, &c))
		return false;
	if (c == '\r' && text->len > 0 && text->ptr[0] == '\n')
		th_utf8_next(text, &c);
	*ret = th_keys_of_char(c);
	return true;
}

/*
 * How much of `text` can be typed without giving any slot another keysym on
 * the way: each of its characters is on a key or has been given a slot.
 * *ret_slots: any has.
 */
static struct th_str plan(struct th_x11_keyboard *k, struct th_str text, bool *ret_slots)
{
	struct th_str rest = text, before = text;
	struct th_x11_stroke stroke;
	uint32_t keysym;

	*ret_slots = false;
	while (next_keysym(&rest, &keysym)) {
		if (keysym != TH_KEYSYM_NONE && !plain_stroke(k, keysym, &stroke)) {
			if (!take_slot(k, keysym, false))
				break;
			*ret_slots = true;
		}
		before = rest;
	}
	unpin(k);
	return th_str_sub(text, 0, text.len - before.len);
}

static void type_keysym(struct th_x11 *x, struct th_x11_keyboard *k, uint32_t keysym)
{
	struct th_x11_stroke stroke;

	if (!plain_stroke(k, keysym, &stroke)) {
		struct th_x11_slot *slot = find_slot(k, keysym, false);

		assert(slot);
		stroke = slot->stroke;
		slot->unread = true;
	}
	want_shifts(x, k, stroke.modifiers);
	fake_key(x, stroke.keycode, true);
	fake_key(x, stroke.keycode, false);
}

/* Types what was planned; ends early when the layout changes.  *text loses what was typed. */
static enum th_code type_planned(struct th_x11 *x, struct th_x11_keyboard *k, struct th_str planned,
				 struct th_str *text, struct th_err *err)
{
	enum th_code code = TH_OK;
	uint32_t keysym;

	while (planned.len > 0 && code == TH_OK && !k->stale) {
		for (int i = 0; i < CHUNK_CHARS && next_keysym(&planned, &keysym); i++) {
			if (keysym != TH_KEYSYM_NONE)
				type_keysym(x, k, keysym);
		}
		*text = th_str_sub(*text, (size_t)(planned.ptr - text->ptr), text->len);
		k->typed_us = th_x11_now_us();
		code = th_x11_sync(x, err);
		if (code == TH_OK && text->len > 0)
			code = th_x11_wait(x, 0, err); /* interrupted? */
	}
	return code;
}

static enum th_code type_some(struct th_x11 *x, struct th_x11_keyboard *k, struct th_str *text,
			      struct th_err *err)
{
	bool slots;
	struct th_str planned = plan(k, *text, &slots);
	enum th_code code;

	if (planned.len == 0) { /* every slot waits for its reader */
		if (!k->reader)
			return th_fail(err, TH_EUNSUPPORTED,
				       "the display has no unused keycode for characters that its "
				       "keyboard layout lacks");
		want_shifts(x, k, 0);
		return wait_reader(x, k, READER_MS, err);
	}
	if (slots && (code = check_reader(x, k, err)) < 0)
		return code;
	if ((code = publish_slots(x, k, err)) < 0)
		return code;
	return type_planned(x, k, planned, text, err);
}

enum th_code th_x11_keyboard_type(struct th_x11 *x, struct th_x11_keyboard *k, struct th_str text,
				  struct th_err *err)
{
	struct th_str rest = text;
	struct locks locks;
	enum th_code code = read_locks(x, k, &locks, err);

	if (code < 0)
		return code;
	want_locks(x, k, &locks, 0);
	while (rest.len > 0 && code == TH_OK) {
		code = refresh(x, k, err); /* somebody may change the layout under our hands */
		if (code == TH_OK)
			code = type_some(x, k, &rest, err);
	}
	want_shifts(x, k, 0);
	want_locks(x, k, &locks, locks.before);
	if (code == TH_OK)
		code = th_x11_sync(x, err);
	if (code < 0)
		return th_prefix(err, code, "%zu of %zu characters were typed",
				 th_utf8_count(text) - th_utf8_count(rest), th_utf8_count(text));
	return TH_OK;
}

/* ---- life ---- */

static void on_map_change(struct th_x11_keyboard *k, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count && i < TH_X11_KEYCODES; i++) {
		if (!bit(k->own, (uint8_t)i))
			k->stale = true;
	}
}

static void on_xkb(struct th_x11_keyboard *k, const xcb_generic_event_t *event)
{
	const xcb_xkb_map_notify_event_t *map = (const xcb_xkb_map_notify_event_t *)event;

	if (map->xkbType == XCB_XKB_NEW_KEYBOARD_NOTIFY) {
		k->stale = true;
	} else if (map->xkbType == XCB_XKB_MAP_NOTIFY) {
		if (map->changed & XCB_XKB_MAP_PART_KEY_SYMS)
			on_map_change(k, map->firstKeySym, map->nKeySyms);
		if (map->changed & XCB_XKB_MAP_PART_MODIFIER_MAP)
			on_map_change(k, map->firstModMapKey, map->nModMapKeys);
	}
}

void th_x11_keyboard_event(struct th_x11 *x, struct th_x11_keyboard *k,
			   const xcb_generic_event_t *event)
{
	uint8_t type = event->response_type & 0x7f;

	if (x->xkb.present && type == x->xkb.first_event) {
		on_xkb(k, event);
	} else if (type == XCB_MAPPING_NOTIFY) {
		const xcb_mapping_notify_event_t *map = (const xcb_mapping_notify_event_t *)event;

		if (map->request == XCB_MAPPING_KEYBOARD)
			on_map_change(k, map->first_keycode, map->count);
		else if (map->request == XCB_MAPPING_MODIFIER)
			k->stale = true;
	} else if (type == XCB_CLIENT_MESSAGE) {
		const xcb_client_message_event_t *message =
		    (const xcb_client_message_event_t *)event;

		if (message->window == x->root && message->type == k->wm_protocols &&
		    message->format == 32 && message->data.data32[0] == k->net_wm_ping &&
		    message->data.data32[2] == k->reader)
			k->pong = message->data.data32[1];
	}
}

enum th_code th_x11_keyboard_init(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	const uint16_t events =
	    XCB_XKB_EVENT_TYPE_MAP_NOTIFY | XCB_XKB_EVENT_TYPE_NEW_KEYBOARD_NOTIFY;
	const uint16_t parts = XCB_XKB_MAP_PART_KEY_SYMS | XCB_XKB_MAP_PART_MODIFIER_MAP;
	void *reply = NULL;
	enum th_code code;
	bool supported;

	if (!x->xkb.present || !x->xtest.present)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "display %.*s has no %s extension, without which no key can be pressed",
		    TH_FMT(x->name), x->xtest.present ? "XKEYBOARD" : "XTEST");
	code = th_x11_reply(x, xcb_xkb_use_extension(x->conn, 1, 0).sequence, &reply, err);
	if (code < 0)
		return code;
	supported = ((xcb_xkb_use_extension_reply_t *)reply)->supported;
	free(reply);
	if (!supported)
		return th_fail(err, TH_EUNSUPPORTED,
			       "display %.*s speaks another XKEYBOARD than 1.0", TH_FMT(x->name));
	xcb_xkb_select_events(x->conn, XCB_XKB_ID_USE_CORE_KBD, events, 0, events, parts, parts,
			      NULL);
	if ((code = th_x11_input_atom(x, "WM_PROTOCOLS", &k->wm_protocols, err)) < 0 ||
	    (code = th_x11_input_atom(x, "_NET_WM_PING", &k->net_wm_ping, err)) < 0 ||
	    (code = th_x11_input_atom(x, "_THOLE_KEYCODES", &k->keycodes, err)) < 0)
		return code;
	return load(x, k, err);
}

void th_x11_keyboard_deinit(struct th_x11 *x, struct th_x11_keyboard *k)
{
	bool give_back = !x->lost && k->slot_count > 0 && !is_private(x);

	if (give_back && k->reader)
		(void)!wait_reader(x, k, FAREWELL_MS, NULL);
	if (give_back) {
		uint8_t mapped[32];

		memcpy(mapped, k->mapped, sizeof(mapped));
		send_mappings(x, k, mapped, true);
		if (k->announced)
			xcb_delete_property(x->conn, x->root, k->keycodes);
		(void)!th_x11_sync(x, NULL);
	}
	th_x11_keymap_deinit(&k->map);
	k->slot_count = 0;
}
