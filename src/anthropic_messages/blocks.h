/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h - the content blocks of a message while it streams, told
 * apart by their index.  What is kept is raw JSON as it came.
 */
#ifndef TH_ANTHROPIC_MESSAGES_BLOCKS_H
#define TH_ANTHROPIC_MESSAGES_BLOCKS_H

#include "base/buf.h"

struct th_block {
	int64_t index;
	bool done;               /* its stop event came */
	bool broken;             /* its input is no JSON object: was cut, or never was one */
	const char *member;      /* where its text goes: "text", "thinking", "content", "input" */
	struct th_buf start;     /* content_block of its start event */
	struct th_buf text;      /* of its deltas: the inside of a JSON string */
	struct th_buf signature; /* likewise */
	struct th_buf notes;     /* citations, with commas */
	size_t at, len;          /* where it was printed */
};

struct th_blocks {
	struct th_block *list; /* by index */
	size_t count, cap;
	size_t size; /* bytes kept */
	bool failed; /* over a maximum: nothing more is taken */
};

void th_blocks_deinit(struct th_blocks *blocks); /* empty again */
/* The block of that index, or NULL. */
struct th_block *th_blocks_find(struct th_blocks *blocks, int64_t index);
/* The same, made when there is none; NULL when over a maximum. */
struct th_block *th_blocks_at(struct th_blocks *blocks, int64_t index);
/* Keeps a copy of `json` in `to`, one of the buffers above, in place of what it had or behind it.
 */
void th_blocks_set(struct th_blocks *blocks, struct th_buf *to, struct th_str json);
void th_blocks_add(struct th_blocks *blocks, struct th_buf *to, struct th_str json);

/* The list of content: each block's start with its deltas in it.  Blocks that never started are
 * dropped; what came must be checked as JSON.  An input that is no JSON object is printed as {},
 * and the block marked.  Where each stands is counted from byte `from` of `out`. */
void th_blocks_print(struct th_blocks *blocks, struct th_buf *out, size_t from);

#endif
