/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - accessibility trees as text: see page.h. */
#include "wire/page.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "wire/page_internal.h"

/* ---- the trees ---- */

struct th_page *th_page_new(void)
{
	struct th_page *p = th_alloc(sizeof(*p));

	th_buf_init(&p->text, TH_PAGE_TEXT_MAX);
	th_buf_init(&p->line, TH_PAGE_TEXT_MAX);
	th_buf_init(&p->piece, TH_PAGE_TEXT_MAX);
	th_buf_init(&p->names, TH_PAGE_TEXT_MAX);
	return p;
}

struct th_page *th_page_free(struct th_page *p)
{
	if (!p)
		return NULL;
	th_buf_deinit(&p->text);
	th_buf_deinit(&p->line);
	th_buf_deinit(&p->piece);
	th_buf_deinit(&p->names);
	free(p->nodes);
	free(p->by_id);
	free(p->lines);
	free(p->elements);
	free(p);
	return NULL;
}

void th_page_begin(struct th_page *p)
{
	p->frame_count = 0;
	p->node_count = p->left_out = p->line_count = p->element_count = 0;
	p->line_acts = false;
	p->line_first = p->focus = 0;
	th_buf_clear(&p->text);
	th_buf_clear(&p->line);
	th_buf_clear(&p->names);
}

int64_t th_page_id_of(const struct th_json *v)
{
	int64_t id;

	return th_str_i64(th_json_str(v), &id) ? id : INT64_MIN;
}

int th_page_add(struct th_page *p, int32_t space, const struct th_json *nodes)
{
	struct th_json_iter it = th_json_iter(nodes);

	if (p->frame_count == TH_PAGE_FRAMES_MAX)
		return -1;
	struct frame *f = &p->frames[p->frame_count];
	*f = (struct frame){ .nodes = nodes, .space = space, .first = p->node_count };
	while (th_json_next(&it)) {
		if (p->node_count == TH_PAGE_NODES_MAX) {
			p->left_out++;
			continue;
		}
		if (p->node_count == p->node_cap) {
			p->node_cap = p->node_cap ? 2 * p->node_cap : 1024;
			p->nodes = th_realloc(p->nodes, p->node_cap * sizeof(*p->nodes));
		}
		p->nodes[p->node_count++] =
		    (struct node){ .json = it.val,
				   .id = th_page_id_of(th_json_get(it.val, "nodeId")),
				   .element = th_json_get_int(it.val, "backendDOMNodeId", 0) };
		f->count++;
	}
	return p->frame_count++;
}

void th_page_hang(struct th_page *p, int frame, int32_t space, int64_t owner)
{
	if (frame <= 0 || frame >= p->frame_count)
		return;
	p->frames[frame].hangs = true;
	p->frames[frame].owner_space = space;
	p->frames[frame].owner = owner;
}

static size_t bucket(const struct th_page *p, int frame, int64_t id)
{
	const int64_t key[2] = { frame, id };

	return (size_t)th_hash64(key, sizeof(key)) & (p->by_id_size - 1);
}

/* From the last to the first, so that of two nodes with one id the first is found. */
void th_page_index_nodes(struct th_page *p)
{
	size_t size = 1024;

	while (size < 2 * p->node_count)
		size *= 2;
	free(p->by_id);
	p->by_id = th_alloc(size * sizeof(*p->by_id));
	p->by_id_size = size;
	for (int f = p->frame_count; f-- > 0;)
		for (size_t i = p->frames[f].count; i-- > 0;) {
			struct node *n = &p->nodes[p->frames[f].first + i];
			size_t at = bucket(p, f, n->id);
			n->next_same = p->by_id[at];
			p->by_id[at] = (uint32_t)(n - p->nodes) + 1;
		}
}

struct node *th_page_node(struct th_page *p, int frame, int64_t id)
{
	const struct frame *f = &p->frames[frame];

	for (uint32_t i = p->by_id[bucket(p, frame, id)]; i; i = p->nodes[i - 1].next_same)
		if (p->nodes[i - 1].id == id && i - 1 >= f->first && i - 1 < f->first + f->count)
			return &p->nodes[i - 1];
	return NULL;
}

const struct th_json *th_page_property(const struct th_json *node, const char *name)
{
	struct th_json_iter it = th_json_iter(th_json_get(node, "properties"));

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "name"), name))
			return th_json_get(th_json_get(it.val, "value"), "value");
	return NULL;
}

bool th_page_is_on(const struct th_json *node, const char *name)
{
	const struct th_json *v = th_page_property(node, name);

	return th_json_bool(v, false) || th_str_is(th_json_str(v), "true");
}

/* ---- all else ---- */

/* ---- what it is ---- */

struct th_str th_page_text(const struct th_page *p)
{
	return th_buf_str(&p->text);
}

const struct th_page_line *th_page_lines(const struct th_page *p, size_t *ret_count)
{
	*ret_count = p->line_count;
	return p->lines;
}

const struct th_page_element *th_page_elements(const struct th_page *p, size_t *ret_count)
{
	*ret_count = p->element_count;
	return p->elements;
}

int32_t th_page_focus(const struct th_page *p)
{
	return p->focus;
}

size_t th_page_left_out(const struct th_page *p)
{
	return p->left_out;
}
