/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - the sessions that are open: by handle and by id. */
#include "runtime/internal.h"

struct th_runtime_session *th_runtime_find(struct th_runtime *rt, uint32_t index,
					   uint32_t generation)
{
	struct th_runtime_session *s = index < rt->by_index_cap ? rt->by_index[index] : NULL;

	return s && s->handle.generation == generation ? s : NULL;
}

bool th_runtime_has(const struct th_runtime *rt, struct th_str session_id)
{
	for (const struct th_runtime_session *s = rt->sessions; s; s = s->next)
		if (th_str_eq(s->id, session_id))
			return true;
	return false;
}

bool th_runtime_works_for(const struct th_runtime *rt, struct th_str session_id)
{
	for (const struct th_runtime_session *s = rt->sessions; s; s = s->next)
		if (s->parent && th_str_eq(s->id, session_id))
			return true;
	return false;
}
