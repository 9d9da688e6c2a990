/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tried.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"

static uint64_t hash_of(struct th_str id)
{
	return th_hash64(id.ptr, id.len) | 1;
}

static struct th_tried_session *find(const struct th_tried *t, uint64_t hash)
{
	for (size_t i = 0; t->list && i < TH_FLEET_TRIED_MAX; i++)
		if (t->list[i].hash == hash)
			return &t->list[i];
	return NULL;
}

static struct th_tried_session *first_to_forget(const struct th_tried *t)
{
	struct th_tried_session *first = t->list;

	for (size_t i = 1; i < TH_FLEET_TRIED_MAX; i++)
		if (t->list[i].until_ms < first->until_ms)
			first = &t->list[i];
	return first;
}

void th_tried_deinit(struct th_tried *t)
{
	free(t->list);
	t->list = NULL;
}

void th_tried_note(struct th_tried *t, struct th_str id, uint64_t now_ms)
{
	struct th_tried_session *s;
	bool again;

	if (!t->list)
		t->list = th_alloc(TH_FLEET_TRIED_MAX * sizeof(*t->list));
	s = find(t, hash_of(id));
	again = s && now_ms < s->until_ms + (uint64_t)TH_FLEET_RETRY_MAX_MS;
	if (!s)
		s = first_to_forget(t);
	s->hash = hash_of(id);
	s->tries = again ? TH_MIN(s->tries + 1, 16u) : 0;
	s->until_ms = now_ms + TH_MIN((uint64_t)TH_FLEET_RETRY_MS << s->tries,
				      (uint64_t)TH_FLEET_RETRY_MAX_MS);
}

bool th_tried_rests(const struct th_tried *t, struct th_str id, uint64_t now_ms)
{
	const struct th_tried_session *s = find(t, hash_of(id));

	return s && now_ms < s->until_ms;
}

size_t th_tried_resting(const struct th_tried *t, uint64_t now_ms, uint64_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; t->list && i < TH_FLEET_TRIED_MAX; i++)
		if (t->list[i].hash && now_ms < t->list[i].until_ms)
			ret[count++] = t->list[i].hash;
	return count;
}

bool th_tried_has(const uint64_t *list, size_t count, struct th_str id)
{
	uint64_t hash = hash_of(id);

	for (size_t i = 0; i < count; i++)
		if (list[i] == hash)
			return true;
	return false;
}
