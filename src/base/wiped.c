/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wiped.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct block {
	size_t size;
	_Alignas(16) char bytes[];
};

static struct block *block_of(void *ptr)
{
	return (struct block *)(void *)((char *)ptr - offsetof(struct block, bytes));
}

void *th_wiped_alloc(size_t size)
{
	struct block *b;

	assert(size < PTRDIFF_MAX - sizeof(*b));
	b = th_realloc(NULL, sizeof(*b) + size);
	b->size = size;
	return b->bytes;
}

void *th_wiped_realloc(void *ptr, size_t size)
{
	void *to = th_wiped_alloc(size);

	if (ptr)
		memcpy(to, ptr, block_of(ptr)->size < size ? block_of(ptr)->size : size);
	th_wiped_free(ptr);
	return to;
}

void th_wiped_free(void *ptr)
{
	if (!ptr)
		return;
	explicit_bzero(ptr, block_of(ptr)->size);
	free(block_of(ptr));
}

void th_buf_wipe(struct th_buf *b)
{
	if (b->cap)
		explicit_bzero(b->ptr, b->cap);
	th_buf_deinit(b);
}
