/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

/* The first allocation and the second: what does not stay small is a piece of JSON, mostly. */
#define CAP_MIN ((size_t)64)
#define CAP_MORE ((size_t)512)

void th_buf_init(struct th_buf *b, size_t size_max)
{
	*b = (struct th_buf)TH_BUF_INIT(size_max);
}

void th_buf_init_try(struct th_buf *b, size_t size_max)
{
	th_buf_init(b, size_max);
	b->may_fail = true;
}

/* As after init. */
static void forget(struct th_buf *b)
{
	bool may_fail = b->may_fail;

	th_buf_init(b, b->max);
	b->may_fail = may_fail;
}

void th_buf_deinit(struct th_buf *b)
{
	if (b->cap)
		free(b->ptr);
	forget(b);
}

void th_buf_clear(struct th_buf *b)
{
	b->len = 0;
	b->failed = b->no_memory = false;
	if (b->cap)
		b->ptr[0] = '\0';
}

/* The same where there is none yet. */
static bool grow(struct th_buf *b, size_t more)
{
	size_t cap;
	char *ptr;

	if (b->failed)
		return false;
	assert(b->len <= b->max);
	if (more > b->max - b->len) {
		b->failed = true;
		return false;
	}
	cap = b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
	cap = TH_MAX(cap, b->cap ? CAP_MORE : CAP_MIN);
	cap = TH_MIN(TH_MAX(cap, b->len + more), b->max);
	if (cap == 0) /* nothing may be put in, nor is */
		return true;
	if (cap >= PTRDIFF_MAX) {
		b->failed = true;
		return false;
	}
	ptr = b->may_fail ? th_try_realloc(b->cap ? b->ptr : NULL, cap + 1)
			  : th_realloc(b->cap ? b->ptr : NULL, cap + 1);
	if (!ptr) {
		b->failed = b->no_memory = true;
		return false;
	}
	b->ptr = ptr;
	b->cap = cap;
	b->ptr[b->len] = '\0';
	return true;
}

/* Room for `more` bytes and the NUL; false when that passes the maximum. */
static inline bool make_room(struct th_buf *b, size_t more)
{
	return (!b->failed && b->cap && more <= b->cap - b->len) || grow(b, more);
}

void th_buf_reserve(struct th_buf *b, size_t more)
{
	/* Only a hint: what does not fit fails when it is added, not now. */
	if (!b->failed && more <= b->max - b->len)
		(void)make_room(b, more);
}

void th_buf_add_mem(struct th_buf *b, const void *ptr, size_t len)
{
	if (!len || !make_room(b, len))
		return;
	memcpy(b->ptr + b->len, ptr, len);
	b->len += len;
	b->ptr[b->len] = '\0';
}

void th_buf_add(struct th_buf *b, struct th_str s)
{
	th_buf_add_mem(b, s.ptr, s.len);
}

void th_buf_add_cstr(struct th_buf *b, const char *s)
{
	th_buf_add(b, th_str_of(s));
}

void th_buf_add_u64(struct th_buf *b, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
	} while ((v /= 10) != 0);
	th_buf_add_mem(b, digits + at, sizeof(digits) - at);
}

void th_buf_add_i64(struct th_buf *b, int64_t v)
{
	char digits[21];
	size_t at = sizeof(digits);
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do {
		digits[--at] = (char)('0' + left % 10);
	} while ((left /= 10) != 0);
	if (v < 0)
		digits[--at] = '-';
	th_buf_add_mem(b, digits + at, sizeof(digits) - at);
}

void th_buf_vprintf(struct th_buf *b, const char *fmt, va_list ap)
{
	char small[256];
	va_list again;
	int n;

	if (b->failed)
		return;
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	assert(n >= 0);
	if ((size_t)n < sizeof(small)) {
		th_buf_add_mem(b, small, (size_t)n);
	} else if (make_room(b, (size_t)n)) {
		(void)vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void th_buf_printf(struct th_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

char *th_buf_grow(struct th_buf *b, size_t len)
{
	return make_room(b, len) ? b->ptr + b->len : NULL;
}

void th_buf_grown(struct th_buf *b, size_t len)
{
	assert(!len || (!b->failed && len <= b->cap - b->len));
	if (!b->cap)
		return;
	b->len += len;
	b->ptr[b->len] = '\0';
}

void th_buf_drop(struct th_buf *b, size_t len)
{
	assert(len <= b->len);
	if (!len)
		return;
	b->len -= len;
	memmove(b->ptr, b->ptr + len, b->len);
	b->ptr[b->len] = '\0';
}

void th_buf_truncate(struct th_buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->ptr[len] = '\0';
}

char *th_buf_steal(struct th_buf *b, size_t *ret_len)
{
	char *ptr = b->cap ? b->ptr : th_alloc(1);

	if (ret_len)
		*ret_len = b->len;
	forget(b);
	return ptr;
}

enum th_code th_buf_check(const struct th_buf *b, const char *what, struct th_err *err)
{
	if (!b->failed)
		return TH_OK;
	if (b->no_memory)
		return th_fail_memory(err);
	return th_fail(err, TH_ELIMIT, "%s is larger than %zu bytes", what, b->max);
}
