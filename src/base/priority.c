/* SPDX-License-Identifier: Apache-2.0 */
#include "base/priority.h"

#include "base/limits.h"

static const char *const names[] = {
	[TH_PRIORITY_LOW] = "low",
	[TH_PRIORITY_NORMAL] = "normal",
	[TH_PRIORITY_HIGH] = "high",
};

const char *th_priority_name(enum th_priority p)
{
	return names[p];
}

bool th_priority_parse(struct th_str name, enum th_priority *ret)
{
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		if (!th_str_is(name, names[i]))
			continue;
		*ret = (enum th_priority)i;
		return true;
	}
	return false;
}

enum th_priority th_priority_after(enum th_priority p, int64_t waited_ms)
{
	int64_t steps = waited_ms > 0 ? waited_ms / TH_PRIORITY_AGE_MS : 0;

	return (enum th_priority)TH_MIN((int64_t)p + steps, (int64_t)TH_PRIORITY_HIGH);
}
