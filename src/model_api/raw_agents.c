/* SPDX-License-Identifier: Apache-2.0 */
#include "model_api/raw_agents.h"

#include <stdlib.h>

struct th_raw_agents {
	struct raw_agent {
		char *key;
		size_t len;
		struct thole_agent *agent; /* NULL: the place is free */
	} list[TH_RAW_AGENTS_MAX];
	size_t next; /* the one that goes for another */
};

struct thole_agent *th_raw_agents_find(const struct th_server *s, struct th_str key)
{
	const struct th_raw_agents *all = s->raw_agents;

	for (size_t i = 0; all && i < TH_RAW_AGENTS_MAX; i++)
		if (all->list[i].agent &&
		    th_str_eq(key, th_str_n(all->list[i].key, all->list[i].len)))
			return all->list[i].agent;
	return NULL;
}

static void drop(struct raw_agent *one)
{
	thole_agent_free(one->agent);
	free(one->key);
	*one = (struct raw_agent){ 0 };
}

bool th_raw_agents_put(struct th_server *s, struct th_str key, struct thole_agent *agent)
{
	struct th_raw_agents *all = s->raw_agents;
	struct raw_agent *one;

	if (key.len > TH_RAW_AGENT_KEY_MAX)
		return false;
	if (!all)
		all = s->raw_agents = th_alloc(sizeof(*all));
	one = &all->list[all->next];
	all->next = (all->next + 1) % TH_RAW_AGENTS_MAX;
	drop(one);
	*one = (struct raw_agent){ .key = th_alloc(key.len + 1), .len = key.len, .agent = agent };
	memcpy(one->key, key.ptr, key.len);
	return true;
}

void th_raw_agents_free(struct th_server *s)
{
	struct th_raw_agents *all = s->raw_agents;

	for (size_t i = 0; all && i < TH_RAW_AGENTS_MAX; i++)
		drop(&all->list[i]);
	free(all);
	s->raw_agents = NULL;
}
