/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#define REPLACEMENT 0xFFFD
#define ELLIPSIS TH_STR("\xe2\x80\xa6")

/* Bytes of the character at p (1..4) and its code point, or 0 when it is none.  RFC 3629's table.
 */
static size_t decode(const unsigned char *p, size_t len, uint32_t *ret)
{
	unsigned char lead = p[0], low = 0x80, high = 0xbf;
	size_t size;

	if (lead < 0x80) {
		*ret = lead;
		return 1;
	}
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (len < size)
		return 0;
	if (lead == 0xe0)
		low = 0xa0; /* overlong */
	else if (lead == 0xed)
		high = 0x9f; /* surrogates */
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	if (p[1] < low || p[1] > high)
		return 0;
	uint32_t cp = (uint32_t)((lead & (0x7f >> size)) << 6) | (p[1] & 0x3f);

	for (size_t i = 2; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	*ret = cp;
	return size;
}

size_t th_utf8_valid(struct th_str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t at = 0, size;
	uint32_t cp;

	while (at < s.len) {
		while (s.len - at >= 16) { /* sixteen ASCII bytes at once */
			uint64_t a, b;

			memcpy(&a, p + at, 8);
			memcpy(&b, p + at + 8, 8);
			if ((a | b) & UINT64_C(0x8080808080808080))
				break;
			at += 16;
		}
		/* Text that is not ASCII tends to stay so: a few characters before the next try. */
		for (int i = 0; i < 16 && at < s.len; i++) {
			size = decode(p + at, s.len - at, &cp);
			if (!size)
				return at;
			at += size;
		}
	}
	return at;
}

bool th_utf8_next(struct th_str *s, uint32_t *ret)
{
	size_t size;

	if (!s->len)
		return false;
	size = decode((const unsigned char *)s->ptr, s->len, ret);
	if (!size) {
		*ret = REPLACEMENT;
		size = 1;
	}
	s->ptr += size;
	s->len -= size;
	return true;
}

void th_utf8_add(struct th_buf *out, uint32_t cp)
{
	char bytes[4];
	size_t len;

	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		cp = REPLACEMENT;
	if (cp < 0x80) {
		th_buf_add_char(out, (char)cp);
		return;
	}
	len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	for (size_t i = len - 1; i > 0; i--, cp >>= 6)
		bytes[i] = (char)(0x80 | (cp & 0x3f));
	bytes[0] = (char)(cp | (0xf00u >> len & 0xff));
	th_buf_add_mem(out, bytes, len);
}

void th_utf8_clean(struct th_buf *out, struct th_str s)
{
	for (;;) {
		size_t good = th_utf8_valid(s);

		th_buf_add_mem(out, s.ptr, good);
		if (good == s.len || out->failed)
			return;
		th_utf8_add(out, REPLACEMENT);
		s = th_str_sub(s, good + 1, s.len);
	}
}

static bool is_inside(char c) /* the second or a later byte of a character */
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

struct th_str th_utf8_cut(struct th_str s, size_t size_max)
{
	size_t len = size_max;

	if (s.len <= size_max)
		return s;
	for (int i = 0; i < 3 && len > 0 && is_inside(s.ptr[len]); i++)
		len--;
	/* Four continuation bytes are no character: cut where asked. */
	if (is_inside(s.ptr[len]))
		len = size_max;
	return (struct th_str){ s.ptr, len };
}

size_t th_utf8_count(struct th_str s)
{
	size_t count = 0;
	uint32_t cp;

	while (th_utf8_next(&s, &cp))
		count++;
	return count;
}

bool th_text_is_bidi(uint32_t cp)
{
	return cp == 0x061c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069);
}

/* ASCII once more, in letters that no screen shows and a model may read all the same. */
static bool is_tag(uint32_t cp)
{
	return cp >= 0xe0000 && cp <= 0xe007f;
}

/* How a character is shown on a line: itself, or an escape of more than one column. */
static size_t line_char(uint32_t cp, char out[static 8])
{
	static const char names[] = "abtnvfr"; /* 7..13 */
	static const char hex[] = "0123456789abcdef";

	if (cp >= 7 && cp <= 13) {
		out[0] = '\\';
		out[1] = names[cp - 7];
		return 2;
	}
	if (cp < 0x20 || cp == 0x7f) {
		out[0] = '\\';
		out[1] = 'x';
		out[2] = hex[cp >> 4];
		out[3] = hex[cp & 15];
		return 4;
	}
	return 0;
}

void th_text_line(struct th_buf *out, struct th_str s, size_t columns_max)
{
	size_t start = out->len, fits_len = start, columns = 0;
	uint32_t cp;

	/* fits_len: where to cut so that "…" still fits behind. */
	while (th_utf8_next(&s, &cp)) {
		char escape[8];
		size_t len = line_char(cp, escape), width = len ? len : 1;

		if (columns + width > columns_max) {
			if (out->failed)
				return;
			th_buf_truncate(out, fits_len);
			if (columns_max)
				th_buf_add(out, ELLIPSIS);
			return;
		}
		if (len)
			th_buf_add_mem(out, escape, len);
		else if ((cp >= 0x80 && cp < 0xa0) || th_text_is_bidi(cp) || cp == 0x2028 ||
			 cp == 0x2029 || is_tag(cp))
			th_utf8_add(out, REPLACEMENT);
		else
			th_utf8_add(out, cp);
		columns += width;
		if (columns < columns_max)
			fits_len = out->len;
	}
}

void th_text_clip(struct th_buf *out, struct th_str s, size_t size_max)
{
	struct th_str head, tail;

	if (s.len <= size_max) {
		th_utf8_clean(out, s);
		return;
	}
	head = th_utf8_cut(s, size_max - size_max / 2);
	tail = th_str_sub(s, s.len - size_max / 2, s.len);
	for (int i = 0; i < 3 && tail.len && is_inside(tail.ptr[0]); i++)
		tail = th_str_sub(tail, 1, tail.len);
	th_utf8_clean(out, head);
	th_buf_printf(out, "\n\xe2\x80\xa6 %zu bytes left out \xe2\x80\xa6\n",
		      s.len - head.len - tail.len);
	th_utf8_clean(out, tail);
}

void th_text_inside(struct th_buf *out, struct th_str text, const char *name)
{
	struct th_str label = th_str_of(name);
	size_t from = 0;

	for (size_t i = 0; i + 2 + label.len <= text.len; i++) {
		if (text.ptr[i] != '<' || text.ptr[i + 1] != '/' ||
		    memcmp(text.ptr + i + 2, label.ptr, label.len) != 0)
			continue;
		th_buf_add(out, th_str_sub(text, from, i + 1));
		th_buf_add_char(out, '\\');
		from = i + 1;
	}
	th_buf_add(out, th_str_sub(text, from, text.len));
}
