/* SPDX-License-Identifier: Apache-2.0 */
/* response_tier.c - service_tier of OpenAI's APIs: the priority of a session. */
#include "model_api/response_internal.h"

void th_response_tier(struct th_access *a, struct th_str body)
{
	struct th_str tier = th_json_raw_inside(th_json_raw_get(body, "service_tier"));
	enum th_priority highest = th_quota_highest(a);

	a->priority = th_str_is(tier, "flex")       ? TH_PRIORITY_LOW
		      : th_str_is(tier, "priority") ? highest
						    : TH_MIN(TH_PRIORITY_NORMAL, highest);
}

const char *th_response_tier_name(enum th_priority p)
{
	return p == TH_PRIORITY_LOW ? "flex" : p == TH_PRIORITY_HIGH ? "priority" : "default";
}
