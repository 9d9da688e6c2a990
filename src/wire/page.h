/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - a page's accessibility trees (Accessibility.getFullAXTree, one for
 * each frame) as a text for a model, and what has changed in it.
 *
 * One line for what stands together; what can be acted on stands in brackets
 * and begins with its number:
 *
 *	# Orders
 *	[1 textbox "Search" = "shoes"] [2 button "Go"]
 *	- 3 items, [3 link "details"]
 *	| Shoes | 40.00 | [4 checkbox "keep" checked] |
 *
 * An element keeps its number as long as it lives, and the number of one that
 * went is not given again.  Pure and total: any trees give some text; texts of
 * pages are cleaned of control characters and cut.
 */
#ifndef TH_WIRE_PAGE_H
#define TH_WIRE_PAGE_H

#include "base/buf.h"
#include "base/json.h"

/* ---- numbers ---- */

/* An element: its node (backendDOMNodeId) in a space of such numbers, which is a process's. */
struct th_page_ref {
	int32_t number, space;
	int64_t node;
};

struct th_page_refs {
	struct th_page_ref *list; /* by number, growing */
	size_t count, cap;
	uint32_t *table; /* of indexes + 1, by space and node */
	size_t table_size;
	int32_t last;
};

void th_page_refs_deinit(struct th_page_refs *r);
/* The number of it, given now when it has none. */
int32_t th_page_refs_get(struct th_page_refs *r, int32_t space, int64_t node);
/* NULL: no element was ever given it, or it is too long ago. */
const struct th_page_ref *th_page_refs_find(const struct th_page_refs *r, int32_t number);

/* ---- the text ---- */

struct th_page_line {
	size_t at, len; /* in the text */
	uint32_t hash;
	int32_t first; /* number of its first element; 0: it has none */
	bool acts;     /* has an element that can be acted on, or is a heading */
};

struct th_page_element {
	int32_t number;
	char role[32];
	size_t at;          /* of its name, in a text of the page's */
	struct th_str name; /* cut */
};

struct th_page;
struct th_page *th_page_new(void);
struct th_page *th_page_free(struct th_page *p); /* takes NULL, returns NULL */

/* Of a new snapshot: what was added is forgotten. */
void th_page_begin(struct th_page *p);
/* A frame with its nodes, which live until th_page_write is done.  Returns its index; -1: there are
 * TH_PAGE_FRAMES_MAX already. */
int th_page_add(struct th_page *p, int32_t space, const struct th_json *nodes);
/* It is shown in this node of another frame. */
void th_page_hang(struct th_page *p, int frame, int32_t space, int64_t owner);
/* The frames as text: the first, and what hangs below it.  Numbers come from `refs`; NULL: plain
 * text, for reading, without elements. */
void th_page_write(struct th_page *p, struct th_page_refs *refs);

struct th_str th_page_text(const struct th_page *p);
const struct th_page_line *th_page_lines(const struct th_page *p, size_t *ret_count);
const struct th_page_element *th_page_elements(const struct th_page *p, size_t *ret_count);
int32_t th_page_focus(const struct th_page *p);   /* number of the element with the keys; 0: none */
size_t th_page_left_out(const struct th_page *p); /* nodes over TH_PAGE_NODES_MAX */

/* As much of it as fits: what can be acted on and headings first.  Returns how many lines were left
 * out. */
size_t th_page_show(const struct th_page *p, size_t size_max, struct th_buf *out);
/* The lines of `after` that `before` did not have with "+ ", and then those that went with "- ", at
 * most about so many bytes.  Returns how many there are, shown or not. */
size_t th_page_changes(const struct th_page *before, const struct th_page *after, size_t size_max,
		       struct th_buf *out);

#endif
