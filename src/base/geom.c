/* SPDX-License-Identifier: Apache-2.0 */
#include "base/geom.h"

/* One axis: the part of [at, at + len) inside [0, size), as start and length. */
static void clip(int32_t at, int32_t len, int32_t size, int32_t *ret_at, int32_t *ret_len)
{
	int64_t from = TH_MAX((int64_t)at, 0);
	int64_t to = TH_MIN((int64_t)at + len, (int64_t)size);

	*ret_at = (int32_t)TH_MIN(from, (int64_t)TH_MAX(size, 0));
	*ret_len = (int32_t)(to > from ? to - from : 0);
}

struct th_rect th_rect_clip(struct th_rect r, struct th_size s)
{
	struct th_rect out;

	clip(r.x, r.width, s.width, &out.x, &out.width);
	clip(r.y, r.height, s.height, &out.y, &out.height);
	return out;
}

/* floor((at + 1/2) * to / from) in whole numbers. */
static int32_t map(int32_t at, int32_t from, int32_t to)
{
	assert(from > 0 && to > 0);
	__int128 top = (2 * (__int128)at + 1) * to, bottom = 2 * (__int128)from;
	__int128 out = top / bottom - (top % bottom < 0);

	return (int32_t)TH_MIN(TH_MAX(out, (__int128)INT32_MIN), (__int128)INT32_MAX);
}

struct th_point th_point_map(struct th_point p, struct th_size from, struct th_size to)
{
	return (struct th_point){ map(p.x, from.width, to.width),
				  map(p.y, from.height, to.height) };
}

struct th_size th_size_fit(struct th_size size, struct th_size fit)
{
	assert(size.width > 0 && size.height > 0);
	int64_t w = size.width, h = size.height;
	int64_t fw = fit.width > 0 && fit.width < w ? fit.width : w;
	int64_t fh = fit.height > 0 && fit.height < h ? fit.height : h;

	/* The side that must shrink more decides; the other follows, rounded. */
	if (fw * h <= fh * w)
		fh = TH_MIN(fh, (h * fw + w / 2) / w);
	else
		fw = TH_MIN(fw, (w * fh + h / 2) / h);
	return (struct th_size){ (int32_t)TH_MAX(fw, 1), (int32_t)TH_MAX(fh, 1) };
}
