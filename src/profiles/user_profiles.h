/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_profiles.h - profiles that a user adds, or puts in the place of built-in
 * ones: the models file, as a list of rows that is tried before the tables of
 * profiles.h.
 *
 * A row begins as a copy of what it is like: the model or profile that `like`
 * names, the built-in profile of its own name, or the plain profile of its wire;
 * what it says itself is put on top.  A row with a server of its own has no key
 * but its own: a key is never sent to a server that it was not named for.
 *
 * Pure: config/config.c reads the file.
 */
#ifndef TH_PROFILES_USER_PROFILES_H
#define TH_PROFILES_USER_PROFILES_H

#include "models/model.h"

extern const struct th_table th_models_file_table;

/*
 * Checks a models file (its root) and makes its rows, which live in the arena and
 * borrow nothing from `root`.  TH_EUSAGE: the sentence begins with the path of
 * the bad field, as th_table_parse's does.  TH_ELIMIT: more than
 * TH_USER_PROFILES_MAX rows, or the arena is full.
 */
TH_NODISCARD enum th_code th_profiles_parse(const struct th_json *root, struct th_arena *a,
					    struct th_profiles *ret, struct th_err *err);

#endif
