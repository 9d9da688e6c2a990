/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorten.h - what was said and done, for a model that is told it in words and takes only so much.
 *
 * Both who are told it (judge.c, critic.c) leave out the same: first each item is cut to fewer
 * bytes, then items in the middle go.  The task, which is the first item, and the newest stay. Each
 * writes items in a form of its own, so it writes all, and while that is too long, it takes a step
 * and writes again.
 */
#ifndef TH_SIDE_MODELS_SHORTEN_H
#define TH_SIDE_MODELS_SHORTEN_H

#include "base/base.h"

#define TH_SHORTEN_ROOM (256 * TH_KIB)    /* bytes for a model that is not known to take less */
#define TH_SHORTEN_ITEM_MAX (16 * TH_KIB) /* bytes of an item at first */
#define TH_SHORTEN_ITEM_MIN 256           /* bytes of an item before one is left out */

struct th_shorten {
	size_t each; /* the first bytes of an item that are told */
	size_t from; /* items 1 to from - 1 are left out */
};

#define TH_SHORTEN_BEGIN                               \
	{                                              \
		.each = TH_SHORTEN_ITEM_MAX, .from = 1 \
	}

/* A step shorter, of `count` items.  False: nothing more can go, so it stays as it is. */
bool th_shorten(struct th_shorten *s, size_t count);

#endif
