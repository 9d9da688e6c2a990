/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/keyboard.h"

#include <stdlib.h>
#include <xcb/xkb.h>

#include "base/text.h"
#include "x11/input.h"
#include "x11/slots.h"

#define CHUNK_CHARS 64 /* typed between two round trips */

static void fake_key(struct th_x11 *x, uint8_t keycode, bool press)
{
	th_x11_input_fake(x, press ? XCB_KEY_PRESS : XCB_KEY_RELEASE, keycode);
}

/* ---- locks ---- */

struct locks {
	uint8_t before, now;
};

static void set_locks(struct th_x11 *x, const struct th_x11_keyboard *k, uint8_t locks)
{
	xcb_xkb_latch_lock_state(x->conn, XCB_XKB_ID_USE_CORE_KBD,
				 (uint8_t)(XCB_MOD_MASK_LOCK | k->map.num_mask), locks, 0, 0, 0, 0,
				 0);
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
	ret->before = state->lockedMods & (uint8_t)(XCB_MOD_MASK_LOCK | k->map.num_mask);
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
	slot = th_x11_slots_take(k, keysym, true); /* ctrl+z must not become ctrl+shift+z */
	if (!slot && k->reader) {
		if ((code = th_x11_slots_wait(x, k, err)) < 0)
			return code;
		slot = th_x11_slots_take(k, keysym, true);
	}
	if (!slot)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "the keyboard layout of the display has no key for this and no unused "
		    "keycode to give it one");
	if ((code = th_x11_slots_type_into(x, k, err)) < 0)
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
	th_x11_slots_unpin(k);
	if (code < 0 || (code = th_x11_slots_publish(x, k, err)) < 0)
		return code;
	for (size_t i = 0; i < chord->modifier_count; i++)
		add_keycode(ret, strokes[i].keycode);
	if ((needed & XCB_MOD_MASK_SHIFT) && k->map.shift_keycode)
		add_keycode(ret, k->map.shift_keycode);
	if ((needed & k->map.level3_mask) && k->map.level3_keycode)
		add_keycode(ret, k->map.level3_keycode);
	ret->modifier_count = ret->count;
	for (size_t i = chord->modifier_count; i < chord->count; i++)
		add_keycode(ret, strokes[i].keycode);
	if (ret->count == ret->modifier_count) /* modifiers alone: they are what is pressed */
		ret->modifier_count = 0;
	ret->locks = needed & (uint8_t)(XCB_MOD_MASK_LOCK | k->map.num_mask);
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
	if ((code = read_locks(x, k, &locks, err)) < 0 ||
	    (code = th_x11_slots_refresh(x, k, err)) < 0 ||
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

		if (!th_x11_bit(k->down, keycode))
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
		th_x11_set_bit(k->down, press->keycodes[i], true);
	return end_press(x, k, &locks, code, err);
}

enum th_code th_x11_keyboard_up(struct th_x11 *x, struct th_x11_keyboard *k,
				const struct th_x11_press *press, struct th_err *err)
{
	for (size_t i = press->count; i-- > 0;) {
		th_x11_set_bit(k->down, press->keycodes[i], false);
		fake_key(x, press->keycodes[i], false);
	}
	return th_x11_sync(x, err);
}

void th_x11_keyboard_let_go(struct th_x11 *x, struct th_x11_keyboard *k)
{
	for (unsigned keycode = 0; keycode < TH_X11_KEYCODES; keycode++) {
		if (th_x11_bit(k->down, (uint8_t)keycode))
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
		if (!th_x11_bit(keys->keys, (uint8_t)keycode))
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
	} keys[] = { { XCB_MOD_MASK_SHIFT, k->map.shift_keycode },
		     { k->map.level3_mask, k->map.level3_keycode } };

	for (size_t i = 0; i < TH_COUNT(keys); i++) {
		bool want = wanted & keys[i].mask, have = k->shifts & keys[i].mask;

		if (keys[i].keycode && want != have && !th_x11_bit(k->down, keys[i].keycode))
			fake_key(x, keys[i].keycode, want);
	}
	k->shifts = wanted;
}

/* The layout's key for a character, if it takes no more than Shift and AltGr. */
static bool plain_stroke(const struct th_x11_keyboard *k, uint32_t keysym,
			 struct th_x11_stroke *ret)
{
	return th_x11_keymap_find(&k->map, keysym, ret) &&
	       !(ret->modifiers & (uint8_t) ~(XCB_MOD_MASK_SHIFT | k->map.level3_mask));
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
			if (!th_x11_slots_take(k, keysym, false))
				break;
			*ret_slots = true;
		}
		before = rest;
	}
	th_x11_slots_unpin(k);
	return th_str_sub(text, 0, text.len - before.len);
}

static void type_keysym(struct th_x11 *x, struct th_x11_keyboard *k, uint32_t keysym)
{
	struct th_x11_stroke stroke;

	if (!plain_stroke(k, keysym, &stroke)) {
		struct th_x11_slot *slot = th_x11_slots_find(k, keysym, false);

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
		return th_x11_slots_wait(x, k, err);
	}
	if (slots && (code = th_x11_slots_type_into(x, k, err)) < 0)
		return code;
	if ((code = th_x11_slots_publish(x, k, err)) < 0)
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
		code = th_x11_slots_refresh(
		    x, k, err); /* somebody may change the layout under our hands */
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
		if (!th_x11_bit(k->own, (uint8_t)i))
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
	return th_x11_slots_load(x, k, err);
}

void th_x11_keyboard_deinit(struct th_x11 *x, struct th_x11_keyboard *k)
{
	th_x11_slots_give_back(x, k);
	th_x11_keymap_deinit(&k->map);
}
