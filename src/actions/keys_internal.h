/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys_internal.h - what the files of the keys share: keys_names.c has the names,
 * keys.c finds them, keys_chord.c reads several keys that go down together.
 */
#ifndef TH_ACTIONS_KEYS_INTERNAL_H
#define TH_ACTIONS_KEYS_INTERNAL_H

#include "actions/keys.h"

#define TH_KEY_NAMES_MAX 512 /* rows of the table, at most */
#define TH_KEY_SHOWN_MAX 40  /* bytes of a wrong name in a message */

struct th_key_name {
	const char *name; /* a space stands for " ", "-" or "_" */
	uint32_t keysym;
};

/* For each keysym its X name comes first, and the best known one where there are several. */
extern const struct th_key_name th_key_names[];
extern const size_t th_key_name_count;

/* Always TH_EPROTO, with the nearest names that are known. */
enum th_code th_keys_unknown(struct th_str name, struct th_err *err);

#endif
