/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/keymap.h"

#include <stdlib.h>
#include <xkbcommon/xkbcommon.h>
/* xkb.h calls a member `explicit`, which only C++ minds. */
#include <xcb/xkb.h>

#include "actions/keys.h"

#define SHIFT_MASK 1
#define LOCK_MASK 2
#define ROWS_MAX (TH_X11_KEYCODES * 8)
#define XF86_FIRST 0x10080000 /* vendor keysyms: players, browsers, volume, brightness ... */

/* What the server said; freed together. */
struct answers {
	xcb_xkb_get_map_reply_t *map;
	xcb_get_modifier_mapping_reply_t *modifiers;
	xcb_xkb_get_state_reply_t *state;
};

/* Characters have many keysyms (Cyrillic_ef, U0444): one is chosen, the others become it. */
static uint32_t canonical(uint32_t keysym)
{
	uint32_t c;

	if (keysym >= 0xfd00 && keysym <= 0xffff) /* functions, modifiers, dead keys, number pad */
		return keysym;
	c = xkb_keysym_to_utf32(keysym);
	return c ? th_keys_of_char(c) : keysym;
}

/* What holding these modifiers costs; 0xff: they cannot be held. */
static uint8_t modifier_cost(const struct th_x11_keymap *map, uint8_t mask)
{
	uint8_t cost = 0;

	if (mask & SHIFT_MASK)
		cost = (uint8_t)(cost + (map->shift_keycode ? 1 : 0x80));
	if (mask & LOCK_MASK)
		cost = (uint8_t)(cost + 8);
	mask &= (uint8_t) ~(SHIFT_MASK | LOCK_MASK);
	if (mask & map->level3_mask) {
		cost = (uint8_t)(cost + 2);
		mask &= (uint8_t)~map->level3_mask;
	}
	if (mask & map->num_mask) {
		cost = (uint8_t)(cost + 4);
		mask &= (uint8_t)~map->num_mask;
	}
	return mask || cost >= 0x80 ? 0xff : cost;
}

/* The cheapest modifiers that select `level` of a key type. */
static bool level_modifiers(const struct th_x11_keymap *map, const xcb_xkb_key_type_t *type,
			    unsigned level, uint8_t *ret, uint8_t *ret_cost)
{
	xcb_xkb_kt_map_entry_iterator_t it = xcb_xkb_key_type_map_iterator(type);

	if (level == 0) {
		*ret = 0;
		*ret_cost = 0;
		return true;
	}
	*ret_cost = 0xff;
	for (; it.rem > 0; xcb_xkb_kt_map_entry_next(&it)) {
		uint8_t cost = modifier_cost(map, it.data->mods_mask);

		if (it.data->active && it.data->level == level && it.data->mods_mask != 0 &&
		    cost < *ret_cost) {
			*ret = it.data->mods_mask;
			*ret_cost = cost;
		}
	}
	return *ret_cost != 0xff;
}

/* Which group of a key counts while `group` is on: XKB protocol, section 2.2.2. */
static unsigned key_group(uint8_t info, unsigned group)
{
	unsigned count = info & 0x0f;

	if (group < count)
		return group;
	if (info & 0x80) /* redirect */
		return ((info >> 4) & 3u) < count ? (info >> 4) & 3u : 0;
	if (info & 0x40) /* clamp */
		return count - 1;
	return group % count;
}

struct types {
	const xcb_xkb_key_type_t *list[256];
	size_t count;
};

static void add_key(struct th_x11_keymap *map, const struct types *types, uint8_t keycode,
		    const xcb_xkb_key_sym_map_t *key)
{
	const xcb_keysym_t *syms = xcb_xkb_key_sym_map_syms(key);
	unsigned group, first;
	uint8_t type_index;

	if ((key->groupInfo & 0x0f) == 0)
		return;
	group = key_group(key->groupInfo, map->group);
	type_index = key->kt_index[group & 3];
	first = group * key->width;
	if (type_index >= types->count)
		return;
	for (unsigned level = 0; level < key->width && first + level < key->nSyms; level++) {
		struct th_x11_keymap_row row = { canonical(syms[first + level]),
						 { keycode, 0 },
						 0 };

		if (row.keysym == XKB_KEY_NoSymbol || map->count == ROWS_MAX ||
		    !level_modifiers(map, types->list[type_index], level, &row.stroke.modifiers,
				     &row.cost))
			continue;
		map->rows[map->count++] = row;
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct th_x11_keymap_row *p = a, *q = b;

	if (p->keysym != q->keysym)
		return p->keysym < q->keysym ? -1 : 1;
	if (p->cost != q->cost)
		return p->cost < q->cost ? -1 : 1;
	return (int)p->stroke.keycode - (int)q->stroke.keycode;
}

static const xcb_keysym_t *first_symbol(const xcb_xkb_key_sym_map_t *key)
{
	return key->nSyms > 0 ? xcb_xkb_key_sym_map_syms(key) : NULL;
}

/* Finds Shift, AltGr and NumLock among the keys that are modifiers. */
static void find_modifiers(struct th_x11_keymap *map, const struct answers *a,
			   const xcb_xkb_key_sym_map_t *const keys[static TH_X11_KEYCODES],
			   bool ret_is_modifier[static TH_X11_KEYCODES])
{
	const uint8_t *codes = xcb_get_modifier_mapping_keycodes(a->modifiers);
	unsigned per = a->modifiers->keycodes_per_modifier;

	for (unsigned i = 0; i < 8 * per; i++) {
		uint8_t keycode = codes[i], mask = (uint8_t)(1u << (i / per));
		const xcb_keysym_t *symbol = keys[keycode] ? first_symbol(keys[keycode]) : NULL;

		if (!symbol)
			continue;
		ret_is_modifier[keycode] = true;
		if (*symbol == TH_KEYSYM_SHIFT_L && mask == SHIFT_MASK && !map->shift_keycode)
			map->shift_keycode = keycode;
		if (*symbol == TH_KEYSYM_LEVEL3_SHIFT && !map->level3_keycode) {
			map->level3_keycode = keycode;
			map->level3_mask = mask;
		}
		if (*symbol == TH_KEYSYM_NUM_LOCK)
			map->num_mask = mask;
	}
}

/*
 * Chromium looks at the keycode of a key whose keysym tells it nothing, and
 * goes back, reloads or opens a window for some of those below this one.
 */
#define MEDIA_FIRST 187

static bool is_harmless(unsigned keycode)
{
	static const uint8_t harmful[] = {
		8 /* no key at all */, 136, 163, 164, 166, 167, 180, 181
	};

	return !memchr(harmful, (int)keycode, sizeof(harmful));
}

/* Nothing is on the key, or nothing that would be missed. */
static bool is_spare(const xcb_xkb_key_sym_map_t *key, unsigned keycode, bool take_media)
{
	for (unsigned i = 0; i < key->nSyms; i++) {
		xcb_keysym_t symbol = xcb_xkb_key_sym_map_syms(key)[i];

		if (symbol != XKB_KEY_NoSymbol &&
		    !(take_media && symbol >= XF86_FIRST && keycode >= MEDIA_FIRST))
			return false;
	}
	return true;
}

/* The reply's variable part, by keycode. */
struct parts {
	struct types types;
	const xcb_xkb_key_sym_map_t *keys[TH_X11_KEYCODES];
};

static void unpack(const xcb_xkb_get_map_reply_t *r, struct parts *ret)
{
	xcb_xkb_get_map_map_t map;
	xcb_xkb_key_type_iterator_t type;
	xcb_xkb_key_sym_map_iterator_t sym;

	xcb_xkb_get_map_map_unpack(xcb_xkb_get_map_map(r), r->nTypes, r->nKeySyms, r->nKeyActions,
				   r->totalActions, r->totalKeyBehaviors, r->virtualMods,
				   r->totalKeyExplicit, r->totalModMapKeys, r->totalVModMapKeys,
				   r->present, &map);
	type = xcb_xkb_get_map_map_types_rtrn_iterator(r, &map);
	for (; type.rem > 0 && ret->types.count < TH_COUNT(ret->types.list);
	     xcb_xkb_key_type_next(&type))
		ret->types.list[ret->types.count++] = type.data;
	sym = xcb_xkb_get_map_map_syms_rtrn_iterator(r, &map);
	for (unsigned keycode = r->firstKeySym; sym.rem > 0 && keycode < TH_X11_KEYCODES;
	     keycode++) {
		ret->keys[keycode] = sym.data;
		xcb_xkb_key_sym_map_next(&sym);
	}
}

static void build(struct th_x11_keymap *map, const struct answers *a, const uint8_t own[static 32],
		  bool take_media, const xcb_setup_t *setup)
{
	bool is_modifier[TH_X11_KEYCODES] = {};
	struct parts parts = {};

	unpack(a->map, &parts);
	map->group = a->state->group;
	find_modifiers(map, a, parts.keys, is_modifier);
	for (unsigned keycode = setup->min_keycode; keycode <= setup->max_keycode; keycode++) {
		const xcb_xkb_key_sym_map_t *key = parts.keys[keycode];
		bool is_own = own[keycode / 8] & (1u << (keycode % 8));

		if (!key)
			continue;
		if (!is_modifier[keycode] && (is_own || is_spare(key, keycode, take_media))) {
			if (is_harmless(keycode))
				map->spare[map->spare_count++] = (uint8_t)keycode;
		} else {
			add_key(map, &parts.types, (uint8_t)keycode, key);
		}
	}
	qsort(map->rows, map->count, sizeof(*map->rows), compare_rows);
}

static enum th_code ask(struct th_x11 *x, struct answers *a, struct th_err *err)
{
	const uint16_t full = XCB_XKB_MAP_PART_KEY_TYPES | XCB_XKB_MAP_PART_KEY_SYMS;
	unsigned map = xcb_xkb_get_map(x->conn, XCB_XKB_ID_USE_CORE_KBD, full, 0, 0, 0, 0, 0, 0, 0,
				       0, 0, 0, 0, 0, 0, 0, 0, 0)
			   .sequence;
	unsigned modifiers = xcb_get_modifier_mapping(x->conn).sequence;
	unsigned state = xcb_xkb_get_state(x->conn, XCB_XKB_ID_USE_CORE_KBD).sequence;
	void *reply = NULL;
	enum th_code code = th_x11_reply(x, map, &reply, err);

	if (code < 0)
		goto forget_modifiers;
	a->map = reply;
	if ((code = th_x11_reply(x, modifiers, &reply, err)) < 0)
		goto forget_state;
	a->modifiers = reply;
	if ((code = th_x11_reply(x, state, &reply, err)) < 0)
		return code;
	a->state = reply;
	return TH_OK;
forget_modifiers:
	xcb_discard_reply(x->conn, modifiers);
forget_state:
	xcb_discard_reply(x->conn, state);
	return code;
}

enum th_code th_x11_keymap_load(struct th_x11 *x, const uint8_t own[static 32], bool take_media,
				struct th_x11_keymap *map, struct th_err *err)
{
	struct th_x11_keymap fresh = {};
	struct answers a = {};
	enum th_code code = ask(x, &a, err);

	if (code == TH_OK) {
		fresh.rows = th_alloc(ROWS_MAX * sizeof(*fresh.rows));
		build(&fresh, &a, own, take_media, x->setup);
		th_x11_keymap_deinit(map);
		*map = fresh;
	}
	free(a.map);
	free(a.modifiers);
	free(a.state);
	return code < 0 ? th_prefix(err, code, "the keymap of the display") : TH_OK;
}

void th_x11_keymap_deinit(struct th_x11_keymap *map)
{
	free(map->rows);
	*map = (struct th_x11_keymap){};
}

bool th_x11_keymap_find(const struct th_x11_keymap *map, uint32_t keysym, struct th_x11_stroke *ret)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->rows[middle].keysym < keysym)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == map->count || map->rows[low].keysym != keysym)
		return false;
	*ret = map->rows[low].stroke;
	return true;
}
