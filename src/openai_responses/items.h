/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.h - the output items of an answer while it streams.
 *
 * Items are told apart by output_index, their parts by content_index or
 * summary_index, never by id: there are servers that change ids from event to
 * event.  What is kept is raw JSON as it came; an item is put together from
 * its parts only when its own end never came.
 */
#ifndef TH_OPENAI_RESPONSES_ITEMS_H
#define TH_OPENAI_RESPONSES_ITEMS_H

#include "base/buf.h"

enum th_part_kind {
	TH_PART_CONTENT, /* an element of content */
	TH_PART_SUMMARY, /* an element of summary */
	TH_PART_MEMBER,  /* a text that is a member of the item: arguments, input, code */
	TH_PART_KIND_COUNT
};

struct th_part {
	enum th_part_kind kind;
	int64_t index;
	const char *type;    /* "output_text"; NULL for a member */
	const char *member;  /* where the text goes: "text", "refusal", "arguments" … */
	struct th_buf text;  /* inside of a JSON string */
	struct th_buf notes; /* annotations, with commas */
	struct th_buf whole; /* the part as its done event has it; else empty */
};

struct th_item {
	int64_t index;
	bool done;         /* raw is the item's end form */
	struct th_buf raw; /* of output_item.added or .done; empty when neither came */
	struct th_part *parts;
	size_t part_count;
};

struct th_items {
	struct th_item *list; /* by index */
	size_t count, cap;
	size_t part_total;
	size_t size; /* bytes kept */
	bool failed; /* over a maximum: nothing more is taken */
};

void th_items_deinit(struct th_items *items);

/* The item or part of that index, made when there is none; NULL when over a maximum. */
struct th_item *th_items_at(struct th_items *items, int64_t index);
struct th_part *th_items_part(struct th_items *items, struct th_item *item, enum th_part_kind kind,
			      int64_t index, const char *type, const char *member);

/* Keeps a copy of `json` in `to`, one of the buffers above, in place of what it had or behind it.
 */
void th_items_set(struct th_items *items, struct th_buf *to, struct th_str json);
void th_items_add(struct th_items *items, struct th_buf *to, struct th_str json);
/* The item is whole: its parts are not needed any more. */
void th_items_done(struct th_items *items, struct th_item *item, struct th_str json);

/* All items as a JSON list; unfinished ones as far as they came.  What came must be checked as
 * JSON. */
void th_items_print(const struct th_items *items, struct th_buf *out);

#endif
