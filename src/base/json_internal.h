/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_internal.h - what the files of json.h share: the search for the next
 * interesting byte of a text, sixteen at a time.
 */
#ifndef TH_BASE_JSON_INTERNAL_H
#define TH_BASE_JSON_INTERNAL_H

#include "base/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	TH_JSON_QUOTE = 1,  /* ends a run inside a string: " and \ */
	TH_JSON_NEST = 2,   /* matters outside of strings: " [ ] { } */
	TH_JSON_ESCAPE = 4, /* must be escaped when written: " \ and C0 */
	TH_JSON_PLAIN = 8,  /* that, and what is not ASCII: may not be UTF-8 */
};

static const uint8_t th_json_stops[256] = {
	[0 ... 0x1f] = TH_JSON_ESCAPE | TH_JSON_PLAIN,
	['"'] = TH_JSON_QUOTE | TH_JSON_NEST | TH_JSON_ESCAPE | TH_JSON_PLAIN,
	['\\'] = TH_JSON_QUOTE | TH_JSON_ESCAPE | TH_JSON_PLAIN,
	['['] = TH_JSON_NEST,
	[']'] = TH_JSON_NEST,
	['{'] = TH_JSON_NEST,
	['}'] = TH_JSON_NEST,
	[0x80 ... 0xff] = TH_JSON_PLAIN,
};

#ifdef __SSE2__
static inline unsigned th_json_eq(__m128i v, char c)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static inline unsigned th_json_stop_mask(const char *p, unsigned stop)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

	if (stop == TH_JSON_NEST) {
		/* 0x20 makes { of [ and } of ], and of nothing else that JSON knows. */
		__m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));

		return th_json_eq(v, '"') | th_json_eq(low, '{') | th_json_eq(low, '}');
	}
	unsigned mask = th_json_eq(v, '"') | th_json_eq(v, '\\');

	if (stop == TH_JSON_PLAIN) /* signed: what is not ASCII is less than any of it */
		mask |= (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)));
	if (stop == TH_JSON_ESCAPE)
		mask |= (unsigned)_mm_movemask_epi8(
		    _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v));
	return mask;
}
#endif

/* The first byte of [p, end) that `stop` names, or end. */
static inline __attribute__((always_inline)) const char *
th_json_skip_to(const char *p, const char *end, unsigned stop)
{
#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		unsigned mask = th_json_stop_mask(p, stop);

		if (mask)
			return p + __builtin_ctz(mask);
	}
#endif
	while (p < end && !(th_json_stops[(unsigned char)*p] & stop))
		p++;
	return p;
}

/* Behind a string's closing quote, given what stands behind its opening one; NULL: no end. */
static inline const char *th_json_skip_string(const char *p, const char *end)
{
	for (;;) {
		p = th_json_skip_to(p, end, TH_JSON_QUOTE);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

/* The shortest form that reads back as `v`; null where JSON has none. */
void th_json_add_real(struct th_buf *out, double v);

#endif
