/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that dies together: per turn, per request, per parse.
 *
 * th_arena_alloc returns NULL only when the arena's maximum would be passed
 * (an ordinary TH_ELIMIT for the caller); running out of memory stops the
 * process, except in an arena of the ledger path (th_arena_init_try): that
 * one returns NULL as well, and remembers it until it is reset, so that a
 * caller may look once, when it is through.  Memory is zeroed and aligned for
 * any type.
 */
#ifndef TH_BASE_ARENA_H
#define TH_BASE_ARENA_H

#include "base/err.h"
#include "base/str.h"

struct th_arena_chunk;

struct th_arena {
	struct th_arena_chunk *chunks; /* newest first */
	size_t used;                   /* bytes given out */
	size_t max;
	bool may_fail;  /* of the ledger path */
	bool no_memory; /* and it did */
};

void th_arena_init(struct th_arena *a, size_t size_max);
void th_arena_init_try(struct th_arena *a, size_t size_max);
void th_arena_deinit(struct th_arena *a); /* frees all.  For TH_CLEANUP too. */
void th_arena_reset(struct th_arena *a);  /* keeps one chunk for reuse */

TH_NODISCARD void *th_arena_alloc(struct th_arena *a, size_t size);
/* Overflow-checked. */
TH_NODISCARD void *th_arena_array(struct th_arena *a, size_t count, size_t size);

/* Copies; on limit returns { NULL, 0 }.  An empty source gives a non-NULL ptr. */
struct th_str th_arena_str(struct th_arena *a, struct th_str s);
TH_PRINTF(2, 3) struct th_str th_arena_printf(struct th_arena *a, const char *fmt, ...);

/* NUL-terminated copy for libc; NULL when `s` holds a NUL (or on limit). */
TH_NODISCARD char *th_arena_cstr(struct th_arena *a, struct th_str s);

#define TH_NEW(arena, type) ((type *)th_arena_alloc((arena), sizeof(type)))

#endif
