/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/profiles.h"

const struct th_profile *const th_profile_tables[] = { th_profiles_chat,
						       th_profiles_google,
						       th_profiles_google_interactions,
						       th_profiles_openai,
						       th_profiles_anthropic,
						       th_profiles_open,
						       NULL };

static const struct th_profile *first_of(size_t table)
{
	while (th_profile_tables[table] && !th_profile_tables[table]->name)
		table++;
	return th_profile_tables[table];
}

const struct th_profile *th_profile_next(const struct th_profile *p)
{
	size_t table = 0;

	if (!p)
		return first_of(0);
	if (p[1].name)
		return p + 1;
	for (const struct th_profile *end = p + 1;; table++) {
		const struct th_profile *row = th_profile_tables[table];

		while (row->name)
			row++;
		if (row == end)
			return first_of(table + 1);
	}
}

static bool same_name(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool th_profile_same_provider(const struct th_profile *a, const struct th_profile *b)
{
	if (a->own_server || b->own_server)
		return a->own_server && b->own_server && same_name(a->base_url, b->base_url);
	return same_name(a->key_env, b->key_env);
}
