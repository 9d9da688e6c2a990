/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - pictures of screens: cut, scaled, pointed at, and encoded.
 *
 * Pixels are four bytes, blue green red and one that nobody looks at, as X
 * servers of depth 24 keep them.  A th_pixels borrows; encoders own their
 * output.  Nothing here knows X.
 */
#ifndef TH_COMPUTER_IMAGE_H
#define TH_COMPUTER_IMAGE_H

#include "base/buf.h"
#include "base/geom.h"
#include "computer/computer.h"

struct th_pixels {
	uint8_t *ptr;
	size_t stride; /* bytes from row to row */
	struct th_size size;
};

static inline uint8_t *th_pixels_row(const struct th_pixels *p, int32_t y)
{
	return p->ptr + (size_t)y * p->stride;
}

/* The part of `p` inside `r`, which must lie inside it.  Copies nothing. */
struct th_pixels th_pixels_cut(const struct th_pixels *p, struct th_rect r);

/* TH_ELIMIT when a side or the area is over TH_SCREEN_*_MAX, TH_EUSAGE when it is empty. */
TH_NODISCARD enum th_code th_image_check(struct th_size size, struct th_err *err);

/* Area average: each pixel of `to` is the mean of what it covers in `from`.  Only to smaller or
 * equal sizes. */
void th_image_scale(const struct th_pixels *from, const struct th_pixels *to);

/* Draws premultiplied ARGB words (a cursor) with their left upper corner at `at`, clipped. */
void th_image_blend(const struct th_pixels *to, struct th_point at, const uint32_t *argb,
		    struct th_size size);

/* ---- PNG ---- */

/*
 * RGB, 8 bits, filter none.  The picture is cut into bands of
 * TH_PNG_BAND_ROWS, each one IDAT chunk of its own that is kept compressed;
 * the next picture of the same size costs only the bands that differ.
 */
#define TH_PNG_BAND_ROWS 24

struct th_png;
struct th_png *th_png_new(void);
struct th_png *th_png_free(struct th_png *p); /* takes NULL, returns NULL */

/*
 * `stale`: one bool per band (th_png_bands); a band whose flag is false is
 * known to be as it was the last time and is not looked at.  NULL: all may
 * have changed.  *ret_changed: the picture differs from the last one.
 */
TH_NODISCARD enum th_code th_png_encode(struct th_png *p, const struct th_pixels *image,
					const bool *stale, bool *ret_changed, struct th_err *err);
struct th_str th_png_bytes(const struct th_png *p); /* until the next encode or free */

static inline int32_t th_png_bands(int32_t height)
{
	return (height + TH_PNG_BAND_ROWS - 1) / TH_PNG_BAND_ROWS;
}

/* A file that somebody else made: what its head says, TH_EPROTO when it is no PNG, TH_ELIMIT and
 * TH_EUSAGE as th_image_check. */
TH_NODISCARD enum th_code th_png_size(struct th_str bytes, struct th_size *ret, struct th_err *err);
/* All of it; alpha is not looked at.  free() ret->ptr. */
TH_NODISCARD enum th_code th_png_read(struct th_str bytes, struct th_pixels *ret,
				      struct th_err *err);

/* ---- the others: `out` is cleared first; quality 1..100, 0: 80 ---- */

TH_NODISCARD enum th_code th_jpeg_encode(const struct th_pixels *image, int quality,
					 struct th_buf *out, struct th_err *err);
/* Quality 100 is lossless. */
TH_NODISCARD enum th_code th_webp_encode(const struct th_pixels *image, int quality,
					 struct th_buf *out, struct th_err *err);

const char *th_image_format_name(enum th_image_format format); /* "png" */
int th_image_format_find(struct th_str name);                  /* or -1 */

#endif
