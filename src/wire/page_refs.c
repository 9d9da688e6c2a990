/* SPDX-License-Identifier: Apache-2.0 */
/* page_refs.c - numbers of elements: see page.h. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "wire/page.h"

void th_page_refs_deinit(struct th_page_refs *r)
{
	free(r->list);
	free(r->table);
	*r = (struct th_page_refs){ 0 };
}

static size_t slot_of(const struct th_page_refs *r, int32_t space, int64_t node)
{
	const int64_t key[2] = { space, node };
	size_t at = (size_t)th_hash64(key, sizeof(key)) & (r->table_size - 1);

	for (; r->table[at]; at = (at + 1) & (r->table_size - 1)) {
		const struct th_page_ref *of = &r->list[r->table[at] - 1];
		if (of->space == space && of->node == node)
			break;
	}
	return at;
}

static void rebuild(struct th_page_refs *r, size_t size)
{
	free(r->table);
	r->table = th_alloc(size * sizeof(*r->table));
	r->table_size = size;
	for (size_t i = 0; i < r->count; i++)
		r->table[slot_of(r, r->list[i].space, r->list[i].node)] = (uint32_t)i + 1;
}

int32_t th_page_refs_get(struct th_page_refs *r, int32_t space, int64_t node)
{
	if (r->count == TH_PAGE_REFS_MAX) {
		/* The older half is forgotten; its numbers are not given again. */
		r->count /= 2;
		memmove(r->list, r->list + TH_PAGE_REFS_MAX - r->count,
			r->count * sizeof(*r->list));
		rebuild(r, r->table_size);
	}
	if (2 * (r->count + 1) > r->table_size)
		rebuild(r, r->table_size ? 2 * r->table_size : 256);
	size_t at = slot_of(r, space, node);
	if (r->table[at])
		return r->list[r->table[at] - 1].number;
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 128;
		r->list = th_realloc(r->list, r->cap * sizeof(*r->list));
	}
	assert(r->last < INT32_MAX);
	r->list[r->count] = (struct th_page_ref){ ++r->last, space, node };
	r->table[at] = (uint32_t)++r->count;
	return r->last;
}

const struct th_page_ref *th_page_refs_find(const struct th_page_refs *r, int32_t number)
{
	size_t from = 0, to = r->count;

	while (from < to) {
		size_t middle = (from + to) / 2;
		if (r->list[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return from < r->count && r->list[from].number == number ? &r->list[from] : NULL;
}
