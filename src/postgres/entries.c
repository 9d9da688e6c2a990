/* SPDX-License-Identifier: Apache-2.0 */
/* entries.c - the sessions of one transaction, by their ids. */
#include "postgres/append.h"

struct th_pg_entry *th_pg_entry_find(const struct th_pg_appending *w, struct th_str id)
{
	size_t slot = th_hash64(id.ptr, id.len) & (w->slot_count - 1);

	for (uint32_t i = w->slots[slot]; i; i = w->slots[slot]) {
		if (th_str_eq(w->entries[i - 1].id, id))
			return &w->entries[i - 1];
		slot = (slot + 1) & (w->slot_count - 1);
	}
	return NULL;
}

void th_pg_entry_add(struct th_pg_appending *w, struct th_str id)
{
	size_t slot = th_hash64(id.ptr, id.len) & (w->slot_count - 1);

	while (w->slots[slot])
		slot = (slot + 1) & (w->slot_count - 1);
	w->entries[w->count] = (struct th_pg_entry){ .id = id };
	w->slots[slot] = (uint32_t)++w->count;
	th_pq_array_text(&w->columns->ids, id);
}
