/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.c - pictures of outcomes that nobody has taken over yet: the newest of them. */
#include "executor/state.h"

#include <stdlib.h>

#include "base/limits.h"

void th_exec_pictures_drop(struct th_executor_server *x, struct th_picture_cache **at)
{
	struct th_picture_cache *k = *at;
	*at = k->next;
	if (!*at)
		x->picture_cache_last = at;
	x->picture_cache_size -= k->size;
	for (size_t i = 0; i < k->count; i++)
		th_picture_unref(k->pictures[i]);
	free(k);
}

void th_exec_pictures_add(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_picture_cache *k = (struct th_picture_cache *)th_alloc(sizeof(*k));

	memcpy(k->id, e->id, sizeof(k->id));
	for (size_t i = 0; i < e->picture_count; i++) {
		k->pictures[k->count++] = th_picture_ref(e->pictures[i]);
		k->size += e->pictures[i]->size;
	}
	*x->picture_cache_last = k;
	x->picture_cache_last = &k->next;
	x->picture_cache_size += k->size;
	while (x->picture_cache_size > TH_EXEC_BLOBS_MAX)
		th_exec_pictures_drop(x, &x->picture_cache);
}

struct th_picture_cache **th_exec_pictures_find(struct th_executor_server *x, const char *id)
{
	struct th_picture_cache **at = &x->picture_cache;
	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}
