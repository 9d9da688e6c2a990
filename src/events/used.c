/* SPDX-License-Identifier: Apache-2.0 */
#include "events/used.h"

void th_used_add(int64_t *to, int64_t more)
{
	if (more > 0 && __builtin_add_overflow(*to, more, to))
		*to = INT64_MAX;
}

struct th_used th_used_more(const struct th_used *before, const struct th_used *now)
{
	return (struct th_used){
		.tokens_written = now->tokens_written - before->tokens_written,
		.model_ms = now->model_ms - before->model_ms,
		.tools_ms = now->tools_ms - before->tools_ms,
		.person_ms = now->person_ms - before->person_ms,
	};
}
