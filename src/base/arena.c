/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGN _Alignof(max_align_t)
#define CHUNK_MIN ((size_t)256)
#define CHUNK_MAX ((size_t)1 << 20)

/* Bytes at and above `used` are zero. */
struct th_arena_chunk {
	struct th_arena_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char bytes[];
};

void th_arena_init(struct th_arena *a, size_t size_max)
{
	*a = (struct th_arena){ .max = size_max };
}

void th_arena_init_try(struct th_arena *a, size_t size_max)
{
	*a = (struct th_arena){ .max = size_max, .may_fail = true };
}

static void chunks_free(struct th_arena_chunk *c)
{
	while (c) {
		struct th_arena_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void th_arena_deinit(struct th_arena *a)
{
	chunks_free(a->chunks);
	*a = (struct th_arena){ .max = a->max, .may_fail = a->may_fail };
}

void th_arena_reset(struct th_arena *a)
{
	struct th_arena_chunk *keep = a->chunks;

	a->used = 0;
	a->no_memory = false;
	if (!keep)
		return;
	chunks_free(keep->next);
	keep->next = NULL;
	if (keep->size > CHUNK_MAX / 4) { /* made for one large piece: not worth clearing */
		free(keep);
		a->chunks = NULL;
		return;
	}
	memset(keep->bytes, 0, keep->used);
	keep->used = 0;
}

static struct th_arena_chunk *chunk_add(struct th_arena *a, size_t need)
{
	/* By half of what there is: thousands of sessions have small ones, half empty at most. */
	size_t size = TH_MAX(CHUNK_MIN, TH_MIN(a->used / 2, CHUNK_MAX));
	struct th_arena_chunk *c;

	size = TH_MAX(size, need);
	c = a->may_fail ? th_try_alloc(sizeof(*c) + size) : th_alloc(sizeof(*c) + size);
	if (!c) {
		a->no_memory = true;
		return NULL;
	}
	c->size = size;
	/* A piece that fills a chunk of its own goes behind the one with room left. */
	if (a->chunks && need >= CHUNK_MAX) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		c->next = a->chunks;
		a->chunks = c;
	}
	return c;
}

void *th_arena_alloc(struct th_arena *a, size_t size)
{
	struct th_arena_chunk *c = a->chunks;
	size_t need;
	void *ptr;

	if (size > PTRDIFF_MAX / 2)
		return NULL;
	need = (TH_MAX(size, (size_t)1) + ALIGN - 1) & ~(ALIGN - 1);
	if (a->used > a->max || need > a->max - a->used)
		return NULL;
	if (!c || need > c->size - c->used)
		c = chunk_add(a, need);
	if (!c)
		return NULL;
	ptr = c->bytes + c->used;
	c->used += need;
	a->used += need;
	return ptr;
}

void *th_arena_array(struct th_arena *a, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return th_arena_alloc(a, total);
}

struct th_str th_arena_str(struct th_arena *a, struct th_str s)
{
	char *ptr = s.len < SIZE_MAX ? th_arena_alloc(a, s.len + 1) : NULL;

	if (!ptr)
		return (struct th_str){ NULL, 0 };
	if (s.len)
		memcpy(ptr, s.ptr, s.len);
	return (struct th_str){ ptr, s.len };
}

struct th_str th_arena_printf(struct th_arena *a, const char *fmt, ...)
{
	char small[256], *ptr;
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	assert(n >= 0);
	ptr = th_arena_alloc(a, (size_t)n + 1);
	if (ptr && (size_t)n < sizeof(small))
		memcpy(ptr, small, (size_t)n + 1);
	else if (ptr)
		(void)vsnprintf(ptr, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return ptr ? (struct th_str){ ptr, (size_t)n } : (struct th_str){ NULL, 0 };
}

char *th_arena_cstr(struct th_arena *a, struct th_str s)
{
	char *ptr;

	if (s.len >= SIZE_MAX || (s.len && memchr(s.ptr, '\0', s.len)))
		return NULL;
	ptr = th_arena_alloc(a, s.len + 1);
	if (ptr && s.len)
		memcpy(ptr, s.ptr, s.len);
	return ptr;
}
