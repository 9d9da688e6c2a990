/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_valid.c - whether a text is JSON, in one pass and without memory.  What
 * it says of any text is what th_json_parse does: tests and fuzzing hold the
 * one against the other.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

static bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
	while (is_digit(p, end))
		p++;
	return p;
}

/* ---- strings ---- */

/* The first byte that is no plain ASCII of a string: " \ C0 and what is not ASCII; or end. */
static const char *skip_plain(const char *p, const char *end)
{
#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* Signed: what is not ASCII is less than 0. */
		__m128i stop = _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)),
					    _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
							 _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
		unsigned mask = (unsigned)_mm_movemask_epi8(stop);

		if (mask)
			return p + __builtin_ctz(mask);
	}
#endif
	while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Four hex digits; -1: they are none. */
static int hex4(const char *p, const char *end)
{
	int v = 0;

	for (int i = 0; i < 4; i++, p++) {
		char low = (char)(p < end ? *p | 0x20 : 0);

		if (is_digit(p, end))
			v = v << 4 | (*p - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (low - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* Behind what a backslash escapes; NULL: nothing that it may. */
static const char *skip_escape(const char *p, const char *end)
{
	int high, low;

	if (p == end)
		return NULL;
	if (*p != 'u')
		return *p && strchr("\"\\/bfnrt", *p) ? p + 1 : NULL;
	high = hex4(p + 1, end);
	if (high < 0xd800 || high > 0xdfff)
		return high < 0 ? NULL : p + 5;
	if (high > 0xdbff || end - p < 7 || p[5] != '\\' || p[6] != 'u')
		return NULL;
	low = hex4(p + 7, end);
	return low >= 0xdc00 && low <= 0xdfff ? p + 11 : NULL;
}

/* Behind the closing quote, given what stands behind the opening one. */
static const char *skip_string(const char *p, const char *end)
{
	while (p && (p = skip_plain(p, end)) < end) {
		const char *from = p;

		if (*p == '"')
			return p + 1;
		if (*p == '\\') {
			p = skip_escape(p + 1, end);
		} else if (*p == 0x7f) {
			p++;
		} else if ((unsigned char)*p < 0x20) {
			return NULL;
		} else {
			while (p < end && (unsigned char)*p >= 0x80)
				p++;
			if (th_utf8_valid(th_str_n(from, (size_t)(p - from))) != (size_t)(p - from))
				return NULL;
		}
	}
	return NULL;
}

/* ---- scalars ---- */

#define DIGITS_SAFE 300 /* a number of so many characters without an exponent is finite */

static const char *skip_number(const char *p, const char *end)
{
	const char *from = p;
	struct th_str text;
	double value;

	p += *p == '-';
	if (!is_digit(p, end))
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p, end);
	if (p < end && *p == '.') {
		if (!is_digit(p + 1, end))
			return NULL;
		p = skip_digits(p + 1, end);
	}
	if (p < end && (*p | 0x20) == 'e') {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		if (!is_digit(p, end))
			return NULL;
		p = skip_digits(p, end);
	} else if (p - from <= DIGITS_SAFE) {
		return p;
	}
	/* It may be more than a number can be, which the parser refuses. */
	text = th_str_n(from, (size_t)(p - from));
	if (text.len <= TH_NUMBER_TEXT_MAX) {
		if (!th_str_f64(text, &value))
			return NULL;
	} else {
		struct th_json_doc *doc;

		if (th_json_parse(text, &doc, NULL))
			return NULL;
		th_json_free(doc);
	}
	return p;
}

static const char *skip_word(const char *p, const char *end)
{
	static const struct th_str words[] = { TH_STR_INIT("true"), TH_STR_INIT("false"),
					       TH_STR_INIT("null") };
	struct th_str rest = th_str_n(p, (size_t)(end - p));

	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_starts(rest, words[i]))
			return p + words[i].len;
	return NULL;
}

static const char *skip_scalar(const char *p, const char *end)
{
	if (*p == '"')
		return skip_string(p + 1, end);
	if (*p == '-' || is_digit(p, end))
		return skip_number(p, end);
	return skip_word(p, end);
}

/* ---- containers ---- */

/* A member's key and colon, and the space behind it. */
static const char *skip_key(const char *p, const char *end)
{
	if (p == end || *p != '"')
		return NULL;
	p = skip_string(p + 1, end);
	if (!p)
		return NULL;
	p = skip_space(p, end);
	return p < end && *p == ':' ? skip_space(p + 1, end) : NULL;
}

struct nest {
	uint64_t kinds; /* a bit for each open container, the innermost's lowest: 1 is an object */
	size_t depth;
};

/* Behind all that closes at p, to where the next value is; at the end of the outermost one *done.
 */
static const char *close_all(struct nest *n, const char *p, const char *end, bool *done)
{
	for (;;) {
		bool object = n->kinds & 1;

		*done = n->depth == 0;
		if (*done)
			return p;
		p = skip_space(p, end);
		if (p == end)
			return NULL;
		if (*p == ',') {
			p = skip_space(p + 1, end);
			return object ? skip_key(p, end) : p;
		}
		if (*p != (object ? '}' : ']'))
			return NULL;
		p++;
		n->kinds >>= 1;
		n->depth--;
	}
}

bool th_json_valid(struct th_str text)
{
	const char *end, *p;
	struct nest n = { .depth = 0 };
	bool done = false;

	_Static_assert(TH_JSON_DEPTH_MAX <= 64, "kinds has a bit for each level");
	if (!text.len || text.len > TH_JSON_SIZE_MAX)
		return false;
	end = text.ptr + text.len;
	p = skip_space(text.ptr, end);
	while (p && p < end && !done) {
		char c = *p;

		if (c == '{' || c == '[') {
			if (n.depth == TH_JSON_DEPTH_MAX)
				return false;
			n.depth++;
			n.kinds = n.kinds << 1 | (c == '{');
			p = skip_space(p + 1, end);
			if (p == end || *p != (c == '{' ? '}' : ']')) {
				p = c == '{' ? skip_key(p, end) : p;
				continue;
			}
		} else {
			p = skip_scalar(p, end);
		}
		p = p ? close_all(&n, p, end, &done) : NULL;
	}
	return done && p && skip_space(p, end) == end;
}
