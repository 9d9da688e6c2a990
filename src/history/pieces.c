/* SPDX-License-Identifier: Apache-2.0 */
#include "history/pieces.h"

#include <stdlib.h>

#define CHUNK_MIN ((size_t)1024)
#define CHUNK_MAX (64 * TH_KIB)

/* Bytes that never move. */
struct th_chunk {
	struct th_chunk *older;
	size_t size, cap;
	char bytes[];
};

void th_pieces_deinit(struct th_pieces *all)
{
	while (all->chunks) {
		struct th_chunk *older = all->chunks->older;

		free(all->chunks);
		all->chunks = older;
	}
	free(all->list);
	*all = (struct th_pieces){ 0 };
}

static struct th_piece *piece_new(struct th_pieces *all)
{
	if (all->count == all->cap) {
		size_t cap = all->cap ? all->cap * 2 : 2;
		struct th_piece *list = th_try_realloc(all->list, cap * sizeof(*list));

		if (!list) { /* written to, and never read */
			all->no_memory = true;
			all->lost = (struct th_piece){ 0 };
			return &all->lost;
		}
		all->list = list;
		all->cap = cap;
	}
	all->list[all->count] = (struct th_piece){ 0 };
	return &all->list[all->count++];
}

/* A copy that never moves. */
static struct th_str keep(struct th_pieces *all, struct th_str s)
{
	struct th_chunk *c = all->chunks;
	char *at;

	if (!c || c->cap - c->size < s.len) {
		size_t cap = TH_MIN(TH_MAX(all->bytes / 8, CHUNK_MIN), CHUNK_MAX);

		cap = TH_MAX(cap, s.len);
		c = th_try_alloc(sizeof(*c) + cap);
		if (!c) {
			all->no_memory = true;
			return (struct th_str){ NULL, 0 };
		}
		c->cap = cap;
		c->older = all->chunks;
		all->chunks = c;
	}
	at = c->bytes + c->size;
	memcpy(at, s.ptr, s.len);
	c->size += s.len;
	all->bytes += s.len;
	return th_str_n(at, s.len);
}

/* Appends to the last piece where they touch. */
static void put(struct th_pieces *all, struct th_str s)
{
	struct th_piece *last = all->count ? &all->list[all->count - 1] : NULL;
	bool bytes = last && last->kind == TH_PIECE_BYTES && all->count != all->tail;

	if (s.len == 0)
		return;
	s = keep(all, s);
	if (bytes && last->bytes.ptr + last->bytes.len == s.ptr)
		last->bytes.len += s.len;
	else
		piece_new(all)->bytes = s;
}

static void piece_remove(struct th_pieces *all, size_t i)
{
	all->count--;
	all->tail -= i < all->tail;
	memmove(&all->list[i], &all->list[i + 1], (all->count - i) * sizeof(*all->list));
}

/* A mark that newer ones keep from ever being sent again; the bytes around it become one piece. */
static void drop_old_mark(struct th_pieces *all, size_t max)
{
	size_t newer = 0;

	for (size_t i = all->count; i-- > 0;) {
		struct th_piece *p = &all->list[i];

		if (p->kind != TH_PIECE_MARK || newer++ < max)
			continue;
		piece_remove(all, i);
		all->marks--;
		if (i > 0 && i < all->count && i != all->tail && p[-1].kind == TH_PIECE_BYTES &&
		    p->kind == TH_PIECE_BYTES &&
		    p[-1].bytes.ptr + p[-1].bytes.len == p->bytes.ptr) {
			p[-1].bytes.len += p->bytes.len;
			piece_remove(all, i);
		}
		return;
	}
}

void th_pieces_add(struct th_pieces *all, const struct th_wire *wire, struct th_str out,
		   const struct th_hole *holes, size_t count)
{
	size_t from = 0;

	for (size_t i = 0; i < count; i++) {
		const struct th_hole *hole = &holes[i];
		struct th_piece *piece;

		if (hole->kind == TH_HOLE_MARK) {
			put(all, th_str_sub(out, from, hole->at - from));
			piece_new(all)->kind = TH_PIECE_MARK;
			all->marks++;
			drop_old_mark(all, (size_t)wire->marks_max);
			from = hole->at;
			continue;
		}
		put(all, th_str_sub(out, from, hole->from - from));
		piece = piece_new(all);
		piece->kind = TH_PIECE_IMAGE;
		piece->blob = hole->blob;
		piece->part = hole->part;
		piece->bytes = keep(all, th_str_sub(out, hole->from, hole->at - hole->from));
		piece->after = keep(all, th_str_sub(out, hole->at, hole->to - hole->at));
		piece->instead = keep(all, th_str_sub(out, hole->to, hole->end - hole->to));
		all->images++;
		from = hole->end;
	}
	put(all, th_str_sub(out, from, out.len));
}

void th_pieces_begin_tail(struct th_pieces *all)
{
	all->tail = all->count;
}

bool th_pieces_last_image(const struct th_pieces *all, struct th_digest *ret)
{
	for (size_t i = all->count; i > 0; i--)
		if (all->list[i - 1].kind == TH_PIECE_IMAGE) {
			*ret = all->list[i - 1].blob;
			return true;
		}
	return false;
}

size_t th_pieces_left_out(size_t count, size_t images_keep)
{
	size_t step = TH_MAX(images_keep / 2, (size_t)1);

	if (!images_keep || count <= images_keep)
		return 0;
	return (count - images_keep + step - 1) / step * step;
}

static size_t slices_from(const struct th_pieces *all, const struct th_wire *wire, size_t first,
			  size_t images, size_t images_keep, struct th_slice **ret)
{
	size_t left_out = th_pieces_left_out(images, images_keep), image = 0, mark = 0, n = 0;
	size_t marks_max = (size_t)wire->marks_max;
	const struct th_piece *before =
	    NULL; /* the picture before, when it is sent or said to be the same */
	struct th_slice *list = th_alloc((all->count + 2 * all->images + 1) * sizeof(*list));

	for (size_t i = first; i < all->count; i++) {
		const struct th_piece *p = &all->list[i];
		bool same =
		    before && p->part && wire->same && th_digest_eq(&p->blob, &before->blob);

		if (p->kind == TH_PIECE_BYTES) {
			/* Where a mark between them is not sent, they touch. */
			struct th_str *last = n ? &list[n - 1].bytes : NULL;

			if (last && last->ptr && last->ptr + last->len == p->bytes.ptr)
				last->len += p->bytes.len;
			else
				list[n++].bytes = p->bytes;
		} else if (p->kind == TH_PIECE_MARK) {
			if (mark++ + marks_max >= all->marks)
				list[n++].bytes = th_str_of(wire->mark);
		} else if (image++ < left_out) {
			list[n++].bytes = p->instead;
		} else if (same) {
			list[n++].bytes = th_str_of(wire->same);
		} else {
			list[n++].bytes = p->bytes;
			list[n++].blob = p->blob;
			list[n++].bytes = p->after;
			before = p;
		}
	}
	*ret = list;
	return n;
}

size_t th_pieces_slices(const struct th_pieces *all, const struct th_wire *wire, size_t images_keep,
			struct th_slice **ret)
{
	return slices_from(all, wire, 0, all->images, images_keep, ret);
}

size_t th_pieces_tail_slices(const struct th_pieces *all, const struct th_wire *wire,
			     size_t images_keep, struct th_slice **ret)
{
	size_t images = 0, count;

	for (size_t i = all->tail; i < all->count; i++)
		images += all->list[i].kind == TH_PIECE_IMAGE;
	count = slices_from(all, wire, all->tail, images, images_keep, ret);
	/* The first group has the comma that parts it from what is not sent. */
	if (count > 0 && (*ret)[0].bytes.len > 0 && (*ret)[0].bytes.ptr[0] == ',')
		(*ret)[0].bytes = th_str_sub((*ret)[0].bytes, 1, (*ret)[0].bytes.len);
	return count;
}
