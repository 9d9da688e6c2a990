/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/slots.h"

#include <stdlib.h>

#define SLOTS_SHARE_MAX 120   /* unused keycodes that are taken; each is two slots */
#define READER_MS 5000        /* a program that does not read its keys for so long is stuck */
#define SILENT_READER_MS 1000 /* what a program that answers no ping is given to read its keys */
#define FAREWELL_MS 200       /* ... and before the keycodes are given back */
#define ANCESTORS_MAX 32

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
		if (th_x11_bit(k->own, (uint8_t)keycode))
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
		th_x11_set_bit(*ret_busy ? foreign : k->own, (uint8_t)list[i], true);
		if (!*ret_busy && !k->announced)
			th_x11_set_bit(k->mapped, (uint8_t)list[i], true);
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
		th_x11_set_bit(k->mapped, (uint8_t)(first + at), !clear);
	xcb_change_keyboard_mapping(x->conn, (uint8_t)count, (uint8_t)first, 2, syms);
}

/* Neighbours go in one request, since each costs every program on the display a new reading of the
 * keymap. */
static void send_mappings(struct th_x11 *x, struct th_x11_keyboard *k,
			  const uint8_t changed[static 32], bool clear)
{
	for (unsigned first = 0, end; first < TH_X11_KEYCODES; first = end) {
		end = first + 1;
		if (!th_x11_bit(changed, (uint8_t)first))
			continue;
		while (end < TH_X11_KEYCODES && th_x11_bit(changed, (uint8_t)end))
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
			th_x11_set_bit(changed, k->slots[i].stroke.keycode, true);
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
			.stroke = { keycode, (uint8_t)(shift ? XCB_MOD_MASK_SHIFT : 0) },
		};
	}
	th_x11_set_bit(k->own, keycode, true);
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
	return !x->computer.kind->outlives;
}

enum th_code th_x11_slots_load(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
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
		if (!th_x11_bit(foreign, k->map.spare[i]))
			spare[spare_count++] = k->map.spare[i];
	}
	memset(k->own, 0, sizeof(k->own));
	make_slots(k, spare, spare_count);
	k->announced = !busy && !is_private(x);
	if (k->announced)
		announce(x, k);
	return TH_OK;
}

struct th_x11_slot *th_x11_slots_find(struct th_x11_keyboard *k, uint32_t keysym, bool plain)
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
		    th_x11_bit(k->down, s->stroke.keycode))
			continue;
		k->next_slot = (k->next_slot + i + 1) % k->slot_count;
		return s;
	}
	return NULL;
}

struct th_x11_slot *th_x11_slots_take(struct th_x11_keyboard *k, uint32_t keysym, bool plain)
{
	struct th_x11_slot *slot = th_x11_slots_find(k, keysym, plain);

	if (!slot && (slot = free_slot(k, plain))) {
		slot->keysym = keysym;
		slot->changed = true;
	}
	if (slot)
		slot->pinned = true;
	return slot;
}

void th_x11_slots_unpin(struct th_x11_keyboard *k)
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

enum th_code th_x11_slots_publish(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
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

enum th_code th_x11_slots_type_into(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
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

enum th_code th_x11_slots_refresh(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (k->stale && k->reader) /* the slots are about to be forgotten */
		code = wait_reader(x, k, READER_MS, err);
	return code == TH_OK && k->stale ? th_x11_slots_load(x, k, err) : code;
}

enum th_code th_x11_slots_wait(struct th_x11 *x, struct th_x11_keyboard *k, struct th_err *err)
{
	return wait_reader(x, k, READER_MS, err);
}

/* ---- the end ---- */

void th_x11_slots_give_back(struct th_x11 *x, struct th_x11_keyboard *k)
{
	uint8_t mapped[32];

	if (!x->lost && k->slot_count > 0 && !is_private(x)) {
		if (k->reader)
			(void)!wait_reader(x, k, FAREWELL_MS, NULL);
		memcpy(mapped, k->mapped, sizeof(mapped));
		send_mappings(x, k, mapped, true);
		if (k->announced)
			xcb_delete_property(x->conn, x->root, k->keycodes);
		(void)!th_x11_sync(x, NULL);
	}
	k->slot_count = 0;
}
