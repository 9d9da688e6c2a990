/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_internal.h - the trees of a page, as they come and as they are written.
 */
#ifndef TH_WIRE_PAGE_INTERNAL_H
#define TH_WIRE_PAGE_INTERNAL_H

#include "wire/page.h"

struct node {
	const struct th_json *json;
	int64_t id, element;
	uint32_t next_same; /* index + 1 of the next node with this hash */
	bool done;
};

struct frame {
	const struct th_json *nodes;
	int32_t space;
	bool hangs; /* in the node `owner`, until it was written */
	int32_t owner_space;
	int64_t owner;
	size_t first, count; /* of p->nodes */
};

struct th_page {
	struct frame frames[TH_PAGE_FRAMES_MAX];
	int frame_count;
	struct node *nodes;
	size_t node_count, node_cap, left_out;
	uint32_t *by_id; /* hash of frame and id -> index + 1 */
	size_t by_id_size;

	struct th_page_refs *refs;
	struct th_buf text, line, piece;
	struct th_buf names; /* of elements */
	struct th_page_line *lines;
	size_t line_count, line_cap;
	struct th_page_element *elements;
	size_t element_count, element_cap;
	bool line_acts;
	int32_t line_first, focus;
};

void th_page_index_nodes(struct th_page *p);
struct node *th_page_node(struct th_page *p, int frame, int64_t id);
const struct th_json *th_page_property(const struct th_json *node, const char *name);
bool th_page_is_on(const struct th_json *node, const char *name);
int64_t th_page_id_of(const struct th_json *v);

#endif
