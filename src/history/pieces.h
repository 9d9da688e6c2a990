/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.h - a rendered history as bytes that never move, with places for pictures and the
 * wire's marks among them; and the slices that a request sends of it.
 */
#ifndef TH_HISTORY_PIECES_H
#define TH_HISTORY_PIECES_H

#include "models/model.h"

enum th_piece_kind {
	TH_PIECE_BYTES, /* `bytes` */
	TH_PIECE_IMAGE, /* `bytes`, base64 of `blob`, `after`; or `instead` when it is left out */
	TH_PIECE_MARK   /* the wire's mark, or nothing */
};
struct th_piece {
	enum th_piece_kind kind;
	bool part; /* IMAGE: the wire's `same` may stand for it */
	struct th_str bytes, after, instead;
	struct th_digest blob;
};

struct th_chunk;
struct th_pieces { /* {0}: none */
	struct th_chunk *chunks;
	struct th_piece *list;
	size_t count, cap;
	size_t tail; /* where what is new since the last answer begins */
	size_t bytes, images, marks;
	struct th_piece lost; /* stands for one that there was no memory for */
	bool no_memory;
};

/* What a request sends: bytes or (bytes.ptr == NULL) the base64 of `blob`. */
struct th_slice {
	struct th_str bytes;
	struct th_digest blob;
};

void th_pieces_deinit(struct th_pieces *all);
/* The bytes of a rendered group, with the holes among them.  Without memory all->no_memory is set,
 * and the pieces are of no use any more. */
void th_pieces_add(struct th_pieces *all, const struct th_wire *wire, struct th_str out,
		   const struct th_hole *holes, size_t count);
/* What comes from here on is new since the last answer. */
void th_pieces_begin_tail(struct th_pieces *all);
bool th_pieces_last_image(const struct th_pieces *all, struct th_digest *ret); /* false: none */
/* As th_history_slices and th_history_tail_slices (history.h) say. */
size_t th_pieces_slices(const struct th_pieces *all, const struct th_wire *wire, size_t images_keep,
			struct th_slice **ret);
size_t th_pieces_tail_slices(const struct th_pieces *all, const struct th_wire *wire,
			     size_t images_keep, struct th_slice **ret);
/* How many of `count` pictures are left out, the oldest. */
size_t th_pieces_left_out(size_t count, size_t images_keep);

#endif
