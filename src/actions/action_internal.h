/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action_internal.h - what an action's JSON object may hold, for who reads it, prints it and tells
 * models of it.
 */
#ifndef TH_ACTIONS_ACTION_INTERNAL_H
#define TH_ACTIONS_ACTION_INTERNAL_H

#include "actions/action.h"

/* What a kind's JSON object may hold besides "type". */
enum {
	HAS_POINT = 1 << 0, /* x, y */
	HAS_BUTTON = 1 << 1,
	HAS_COUNT = 1 << 2,
	HAS_KEYS = 1 << 3,
	HAS_PATH = 1 << 4,
	HAS_DURATION = 1 << 5,
	HAS_DELTA = 1 << 6, /* dx, dy, unit */
	HAS_TEXT = 1 << 7,
	HAS_FLAGS = 1 << 8, /* clear, enter */
	HAS_REGION = 1 << 9,
};

struct th_action_member {
	const char *name;
	unsigned part;
};

struct th_action_parts {
	unsigned may, must;
	int32_t count_max;
};

#define TH_ACTION_MEMBERS 14

/* In the order of printing. */
extern const struct th_action_member th_action_members[TH_ACTION_MEMBERS];
extern const struct th_action_parts th_action_parts[TH_ACTION_COUNT];
extern const char *const th_action_buttons[TH_BUTTON_COUNT];
extern const char *const th_action_units[TH_SCROLL_UNIT_COUNT];

#endif
