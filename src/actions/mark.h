/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.h - elements of a screen that a model names by a number: buttons,
 * fields, words.  They come from whoever can see them (the accessibility tree,
 * reading the picture, a parser), in one space of numbers.
 *
 * What is said of an element is other programs' text: it is cleaned of
 * control characters and cut, and there are at most TH_MARKS_MAX.
 *
 * An element keeps its number from picture to picture; the number of one that
 * went is not given again before TH_MARK_NUMBER_MAX, so that a number out of an
 * older picture is unknown, and not another element.
 */
#ifndef TH_ACTIONS_MARK_H
#define TH_ACTIONS_MARK_H

#include "base/err.h"
#include "base/geom.h"
#include "base/json.h"
#include "base/limits.h"

enum th_mark_source { TH_MARK_TREE, TH_MARK_PARSER, TH_MARK_OCR, TH_MARK_SOURCE_COUNT };

struct th_mark {
	int32_t number; /* 0: none yet */
	bool named;     /* by whoever found it: its number is that element's alone */
	struct th_rect box;
	enum th_mark_source source;
	char role[TH_MARK_ROLE_MAX + 1], name[TH_MARK_NAME_MAX + 1];
};

struct th_marks {
	struct th_mark list[TH_MARKS_MAX];
	size_t count;
	size_t left_out; /* did not fit */
};

/* Returns it, for its number where it has one already; NULL: it was passed over, or has no room.
 * Takes any rectangle and any bytes.  What lies outside of the screen, or is nearly all of it, is
 * passed over; sources are to be added in their order: what another one has found at the same
 * place is passed over too, its name taken where there was none. */
struct th_mark *th_marks_add(struct th_marks *m, struct th_size screen, enum th_mark_source source,
			     struct th_rect box, struct th_str role, struct th_str name);

/* Puts them in reading order and numbers those that have none: those of `before` (may be NULL) keep
 * theirs, others count on from *last, up to `most` and then from 1.  Those that come with a number
 * are named by it. */
void th_marks_number(struct th_marks *m, const struct th_marks *before, int32_t *last,
		     int32_t most);

/* [{"id","box":[x,y,width,height],"source","role"?,"name"?}, …] */
void th_marks_print(const struct th_marks *m, struct th_jw *w);
/* "7 button \"OK\"", a line each, at most so many. */
void th_marks_text(const struct th_marks *m, size_t count_max, struct th_buf *out);

/* The middle of the element with this number in a list as printed; false: there is none, or the
 * list is not one. */
bool th_marks_find(struct th_str list, int64_t number, struct th_point *ret);

#endif
