/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles.h - the models that are known, as data: a table per family, tried in
 * the order of th_profile_tables.  The first row that fits a name is its
 * profile, so a family's exceptions stand before it; its last row takes every
 * version that is newer than the table.
 *
 * Prices are in 1e-9 US dollars per token: 2.50 dollars per million is 2500.
 */
#ifndef TH_PROFILES_PROFILES_H
#define TH_PROFILES_PROFILES_H

#include "dialects/dialect.h"
#include "models/model.h"

/* Each ends with name == NULL. */
extern const struct th_profile th_profiles_chat[], th_profiles_google[],
    th_profiles_google_interactions[], th_profiles_openai[], th_profiles_anthropic[],
    th_profiles_open[];
/* As Cua's gateway serves them: not in the tables, found by th_profile_served. */
extern const struct th_profile th_profiles_google_at_cua[], th_profiles_anthropic_at_cua[];

extern const struct th_profile *const th_profile_tables[]; /* NULL-terminated */

/* Whether a pattern of the row fits a name without its server's prefix. */
bool th_profile_fits(const struct th_profile *p, struct th_str name);
/* A model on a server of th_profiles_chat: the server's row with what the model's family says and
 * counts in; NULL: no family is known, the server's row stands.  What of the name only says whose
 * it is and is not sent is cut off. */
const struct th_profile *th_profile_served(const struct th_profile *server, struct th_str *name);

/* Both are asked at one server with one key, as far as profiles say. */
bool th_profile_same_provider(const struct th_profile *a, const struct th_profile *b);

/* All rows in order: th_profile_next(NULL) is the first; NULL: no more. */
const struct th_profile *th_profile_next(const struct th_profile *p);

#endif
