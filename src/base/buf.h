/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growing byte buffer that cannot be made without a maximum.
 *
 * Appending past the maximum fails for good: the buffer keeps what it had, the
 * append and every later one add nothing, and th_buf_check says so.  So a
 * caller appends freely and checks once before it uses the result; a buffer
 * whose check was forgotten is short, never too long.  Memory comes from
 * th_realloc (running out stops the process), or in a buffer of the ledger path
 * (th_buf_init_try) from th_try_realloc: running out is then as passing the
 * maximum, and th_buf_check says which.  Always NUL-terminated behind
 * len, so `ptr` may be given to libc when the content holds no NUL; `ptr` is
 * "" before the first append.
 */
#ifndef TH_BASE_BUF_H
#define TH_BASE_BUF_H

#include <stdarg.h>

#include "base/err.h"
#include "base/str.h"

struct th_buf {
	char *ptr;
	size_t len;
	size_t cap; /* 0: nothing allocated, ptr is static */
	size_t max;
	bool failed;
	bool may_fail;  /* of the ledger path */
	bool no_memory; /* and it did; failed is set too */
};

/* clang-format off */
#define TH_BUF_INIT(size_max) { .ptr = (char *)(uintptr_t)"", .max = (size_max) }
/* clang-format on */

void th_buf_init(struct th_buf *b, size_t size_max);
void th_buf_init_try(struct th_buf *b, size_t size_max);
void th_buf_deinit(struct th_buf *b); /* frees; b is again as after init.  For TH_CLEANUP too. */
void th_buf_clear(struct th_buf *b);  /* len = 0, failed = false; keeps the memory */
void th_buf_reserve(struct th_buf *b, size_t more);

void th_buf_add(struct th_buf *b, struct th_str s);
void th_buf_add_mem(struct th_buf *b, const void *ptr, size_t len);
void th_buf_add_cstr(struct th_buf *b, const char *s);
void th_buf_add_u64(struct th_buf *b, uint64_t v);
void th_buf_add_i64(struct th_buf *b, int64_t v);
/* Half of what JSON is written with. */
static inline void th_buf_add_char(struct th_buf *b, char c)
{
	if (b->failed || b->len == b->cap) {
		th_buf_add_mem(b, &c, 1);
		return;
	}
	b->ptr[b->len++] = c;
	b->ptr[b->len] = '\0';
}

TH_PRINTF(2, 3) void th_buf_printf(struct th_buf *b, const char *fmt, ...);
TH_PRINTF(2, 0) void th_buf_vprintf(struct th_buf *b, const char *fmt, va_list ap);

/* Makes room for `len` bytes and returns where they go, or NULL when over the maximum (failed is
 * set).  The bytes count once th_buf_grown says how many were written. */
TH_NODISCARD char *th_buf_grow(struct th_buf *b, size_t len);
void th_buf_grown(struct th_buf *b, size_t len);

/* Drops the first `len` bytes. */
void th_buf_drop(struct th_buf *b, size_t len);
/* Cuts to the first `len` bytes; no change when there are fewer. */
void th_buf_truncate(struct th_buf *b, size_t len);

/* Hands the memory to the caller (free() it); b is empty afterwards. */
TH_NODISCARD char *th_buf_steal(struct th_buf *b, size_t *ret_len);

/* TH_OK, TH_ENOMEM, or TH_ELIMIT with "<what> is larger than <max> bytes". */
TH_NODISCARD enum th_code th_buf_check(const struct th_buf *b, const char *what,
				       struct th_err *err);

static inline struct th_str th_buf_str(const struct th_buf *b)
{
	return (struct th_str){ b->ptr, b->len };
}

#endif
