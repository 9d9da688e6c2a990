/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geom.h - points, sizes and rectangles of screens, in pixels.
 *
 * x grows to the right, y downwards; a point (x, y) is inside a size when
 * 0 <= x < width and 0 <= y < height.  "No point" is said by a flag beside
 * the point, never by (0, 0).
 */
#ifndef TH_BASE_GEOM_H
#define TH_BASE_GEOM_H

#include "base/base.h"

struct th_point {
	int32_t x, y;
};

struct th_size {
	int32_t width, height;
};

struct th_rect {
	int32_t x, y, width, height;
};

static inline bool th_size_has(struct th_size s, struct th_point p)
{
	return p.x >= 0 && p.y >= 0 && p.x < s.width && p.y < s.height;
}

/* The part of `r` that lies inside `s`; width or height 0 when none does. */
struct th_rect th_rect_clip(struct th_rect r, struct th_size s);

/*
 * The largest size of the same shape that is not larger than `fit` nor than
 * `size`; at least 1x1.  0x0 (or one side 0) does not bind.
 */
struct th_size th_size_fit(struct th_size size, struct th_size fit);

static inline bool th_size_eq(struct th_size a, struct th_size b)
{
	return a.width == b.width && a.height == b.height;
}

/*
 * Between an image as the model saw it and the screen it shows: the middle of
 * a model pixel goes to the screen pixel that contains it.  Exact for equal
 * sizes.  The result is inside `to` whenever `p` is inside `from`.
 */
struct th_point th_point_map(struct th_point p, struct th_size from, struct th_size to);

#endif
