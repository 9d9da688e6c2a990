/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - what pictures need before they are encoded. */
#include "computer/image.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/limits.h"

struct th_pixels th_pixels_cut(const struct th_pixels *p, struct th_rect r)
{
	assert(r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0);
	assert(r.width <= p->size.width - r.x && r.height <= p->size.height - r.y);
	return (struct th_pixels){
		.ptr = th_pixels_row(p, r.y) + (size_t)r.x * 4,
		.stride = p->stride,
		.size = { r.width, r.height },
	};
}

enum th_code th_image_check(struct th_size size, struct th_err *err)
{
	if (size.width <= 0 || size.height <= 0)
		return th_fail(err, TH_EUSAGE, "a picture of %dx%d pixels has no content",
			       size.width, size.height);
	if (size.width > TH_SCREEN_SIDE_MAX || size.height > TH_SCREEN_SIDE_MAX ||
	    (int64_t)size.width * size.height > TH_SCREEN_PIXELS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%dx%d pixels is too large: a side may be %d and the area %d",
			       size.width, size.height, TH_SCREEN_SIDE_MAX, TH_SCREEN_PIXELS_MAX);
	return TH_OK;
}

/*
 * One axis of an area average.  In units where a source pixel is `to` long and
 * a target pixel `from` long, overlaps are whole numbers, and the weights of
 * one target pixel add up to `from`.
 */
static uint32_t overlap(int64_t source, int64_t target, int64_t from, int64_t to)
{
	int64_t lo = TH_MAX(source * to, target * from);
	int64_t hi = TH_MIN((source + 1) * to, (target + 1) * from);
	return hi > lo ? (uint32_t)(hi - lo) : 0;
}

#ifndef __SSE2__
typedef uint8_t pixel_u8 __attribute__((vector_size(4)));
#endif
typedef float pixel_f32 __attribute__((vector_size(16)));

static inline pixel_f32 widen(const uint8_t *pixel)
{
#ifdef __SSE2__
	int32_t word;
	memcpy(&word, pixel, sizeof(word));
	__m128i zero = _mm_setzero_si128();
	__m128i bytes = _mm_unpacklo_epi8(_mm_cvtsi32_si128(word), zero);
	return (pixel_f32)_mm_cvtepi32_ps(_mm_unpacklo_epi16(bytes, zero));
#else
	pixel_u8 p;
	memcpy(&p, pixel, sizeof(p));
	return __builtin_convertvector(p, pixel_f32);
#endif
}

/* acc += weight * row.  Exact: weights are whole and add up to at most TH_SCREEN_SIDE_MAX. */
static void add_row(pixel_f32 *restrict acc, const uint8_t *restrict row, int32_t width,
		    float weight)
{
	for (int32_t x = 0; x < width; x++)
		acc[x] += weight * widen(row + (size_t)x * 4);
}

/* What the pixels of one target row take from a source row, one after the other. */
struct spans {
	int32_t *first, *count; /* per target pixel */
	float *weights;         /* all spans in order */
};

static void spans_init(struct spans *s, int32_t from, int32_t to, float unit)
{
	s->first = th_alloc((size_t)to * sizeof(*s->first));
	s->count = th_alloc((size_t)to * sizeof(*s->count));
	s->weights = th_alloc(((size_t)from + (size_t)to) * sizeof(*s->weights));
	float *w = s->weights;
	for (int32_t x = 0; x < to; x++) {
		int32_t last = (int32_t)((((int64_t)x + 1) * from - 1) / to);
		s->first[x] = (int32_t)((int64_t)x * from / to);
		s->count[x] = last - s->first[x] + 1;
		for (int32_t i = s->first[x]; i <= last; i++)
			*w++ = unit * (float)overlap(i, x, from, to);
	}
	assert(w <= s->weights + from + to);
}

static void spans_deinit(struct spans *s)
{
	free(s->first);
	free(s->count);
	free(s->weights);
}

static void narrow_row(const struct spans *s, const pixel_f32 *acc, uint8_t *out, int32_t width)
{
	const float *w = s->weights;
	for (int32_t x = 0; x < width; x++, out += 4) {
		const pixel_f32 *from = acc + s->first[x];
		pixel_f32 sum = { 0.5f, 0.5f, 0.5f, 0.5f };
		for (int32_t i = 0; i < s->count[x]; i++)
			sum += *w++ * from[i];
		for (int c = 0; c < 3; c++) {
			int32_t v = (int32_t)sum[c];
			out[c] = (uint8_t)TH_MIN(v, 255);
		}
		out[3] = 0;
	}
}

void th_image_scale(const struct th_pixels *from, const struct th_pixels *to)
{
	int32_t fw = from->size.width, fh = from->size.height;
	int32_t tw = to->size.width, th = to->size.height;
	assert(tw > 0 && th > 0 && tw <= fw && th <= fh);

	if (tw == fw && th == fh) {
		for (int32_t y = 0; y < th; y++)
			memcpy(th_pixels_row(to, y), th_pixels_row(from, y), (size_t)tw * 4);
		return;
	}
	size_t size = (size_t)fw * sizeof(pixel_f32);
	pixel_f32 *acc = th_alloc(size);
	struct spans spans;
	spans_init(&spans, fw, tw, 1.0f / ((float)fw * (float)fh));
	for (int32_t y = 0; y < th; y++) {
		int64_t first = (int64_t)y * fh / th;
		int64_t last = (((int64_t)y + 1) * fh - 1) / th;
		memset(acc, 0, size);
		for (int64_t s = first; s <= last; s++)
			add_row(acc, th_pixels_row(from, (int32_t)s), fw,
				(float)overlap(s, y, fh, th));
		narrow_row(&spans, acc, th_pixels_row(to, y), tw);
	}
	spans_deinit(&spans);
	free(acc);
}

static uint8_t over(uint32_t front, uint32_t alpha, uint8_t back)
{
	uint32_t v = front + (back * (255 - alpha) + 127) / 255;
	return v > 255 ? 255 : (uint8_t)v;
}

void th_image_blend(const struct th_pixels *to, struct th_point at, const uint32_t *argb,
		    struct th_size size)
{
	struct th_rect r =
	    th_rect_clip((struct th_rect){ at.x, at.y, size.width, size.height }, to->size);
	for (int32_t y = r.y; y < r.y + r.height; y++) {
		uint8_t *p = th_pixels_row(to, y) + (size_t)r.x * 4;
		const uint32_t *c = argb + (size_t)(y - at.y) * size.width + (r.x - at.x);
		for (int32_t x = 0; x < r.width; x++, p += 4, c++) {
			uint32_t alpha = *c >> 24;
			if (alpha == 0)
				continue;
			p[0] = over(*c & 0xff, alpha, p[0]);
			p[1] = over(*c >> 8 & 0xff, alpha, p[1]);
			p[2] = over(*c >> 16 & 0xff, alpha, p[2]);
		}
	}
}

static const char *const format_names[TH_IMAGE_FORMAT_COUNT + 1] = {
	[TH_IMAGE_PNG] = "png",
	[TH_IMAGE_JPEG] = "jpeg",
	[TH_IMAGE_WEBP] = "webp",
};

const char *th_image_format_name(enum th_image_format format)
{
	assert(format < TH_IMAGE_FORMAT_COUNT);
	return format_names[format];
}

int th_image_format_find(struct th_str name)
{
	return th_names_find(format_names, name);
}
