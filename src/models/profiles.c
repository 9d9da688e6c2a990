/* SPDX-License-Identifier: Apache-2.0 */
#include "models/profiles.h"

const struct th_profile *const th_profile_tables[] = { th_profiles_chat,   th_profiles_google,
						       th_profiles_openai, th_profiles_anthropic,
						       th_profiles_open,   NULL };

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
