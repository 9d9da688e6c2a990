/* SPDX-License-Identifier: Apache-2.0 */
/* clip.c - see clip.h. */
#include "tools/clip.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"

void th_clip_init(struct th_clip *c, size_t size_max)
{
	*c = (struct th_clip){ .half = (size_max + 1) / 2 };
	th_buf_init(&c->head, c->half);
}

void th_clip_deinit(struct th_clip *c)
{
	th_buf_deinit(&c->head);
	free(c->ring);
	c->ring = NULL;
}

void th_clip_add(struct th_clip *c, struct th_str bytes)
{
	c->size += bytes.len;
	if (c->head.len < c->half) {
		struct th_str first = th_str_sub(bytes, 0, c->half - c->head.len);
		th_buf_add(&c->head, first);
		bytes = th_str_sub(bytes, first.len, bytes.len);
	}
	if (bytes.len == 0)
		return;
	if (!c->ring)
		c->ring = (char *)th_alloc(c->half);
	uint64_t at = c->size - c->half - bytes.len; /* where these stand behind the head */
	if (bytes.len > c->half) {
		at += bytes.len - c->half;
		bytes = th_str_sub(bytes, bytes.len - c->half, c->half);
	}
	size_t from = (size_t)(at % c->half), first = TH_MIN(bytes.len, c->half - from);
	memcpy(c->ring + from, bytes.ptr, first);
	memcpy(c->ring, bytes.ptr + first, bytes.len - first);
}

/* ---- text ---- */

/* Length of the terminal's escape sequence at the start of `s`, or 0. */
static size_t escape_len(struct th_str s)
{
	if (s.len < 2 || s.ptr[0] != '\x1b')
		return 0;
	if (s.ptr[1] == '[') {
		for (size_t i = 2; i < s.len && i < 64; i++)
			if (s.ptr[i] >= 0x40 && s.ptr[i] <= 0x7e)
				return i + 1;
		return 0;
	}
	if (s.ptr[1] == ']') {
		for (size_t i = 2; i < s.len && i < 1024; i++) {
			if (s.ptr[i] == '\a')
				return i + 1;
			if (s.ptr[i] == '\x1b')
				return i + 1 < s.len && s.ptr[i + 1] == '\\' ? i + 2 : 0;
		}
		return 0;
	}
	if ((s.ptr[1] == '(' || s.ptr[1] == ')') && s.len > 2)
		return 3;
	return s.ptr[1] >= 0x30 && s.ptr[1] <= 0x7e ? 2 : 0;
}

static bool is_control(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || (c >= 0x7f && c < 0xa0);
}

size_t th_clip_clean(struct th_buf *out, struct th_str bytes)
{
	size_t replaced = 0;
	uint32_t c;

	while (bytes.len > 0) {
		size_t run = 0;
		while (run < bytes.len && bytes.ptr[run] >= 0x20 && bytes.ptr[run] < 0x7f)
			run++;
		th_buf_add(out, th_str_sub(bytes, 0, run));
		bytes = th_str_sub(bytes, run, bytes.len);
		size_t skip = escape_len(bytes);
		if (skip > 0) {
			bytes = th_str_sub(bytes, skip, bytes.len);
			continue;
		}
		struct th_str before = bytes;
		if (!th_utf8_next(&bytes, &c))
			break;
		bool real = c != 0xfffd || before.len - bytes.len == 3;
		if (c == '\r' && bytes.len > 0 && bytes.ptr[0] == '\n')
			continue;
		if (!real || is_control(c)) {
			replaced++;
			c = 0xfffd;
		}
		th_utf8_add(out, c);
	}
	return replaced;
}

/* Without the rest of a character whose start is elsewhere. */
static struct th_str from_character(struct th_str s)
{
	for (int i = 0; i < 3 && s.len > 0 && ((unsigned char)s.ptr[0] & 0xc0) == 0x80; i++)
		s = th_str_sub(s, 1, s.len);
	return s;
}

static struct th_str to_character(struct th_str s)
{
	for (size_t back = 1; back <= 3 && back <= s.len; back++) {
		unsigned char c = (unsigned char)s.ptr[s.len - back];
		if (c < 0x80)
			break;
		if (c >= 0xc0) {
			size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
			return need > back ? th_str_sub(s, 0, s.len - back) : s;
		}
	}
	return s;
}

static struct th_str tail_of(const struct th_clip *c, struct th_buf *joined)
{
	uint64_t behind = c->size - c->head.len;
	if (behind <= c->half)
		return th_str_n(c->ring, (size_t)behind);
	size_t from = (size_t)(behind % c->half);
	th_buf_add_mem(joined, c->ring + from, c->half - from);
	th_buf_add_mem(joined, c->ring, from);
	return th_buf_str(joined);
}

uint64_t th_clip_text(const struct th_clip *c, struct th_buf *out)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf joined = TH_BUF_INIT(2 * c->half);
	struct th_str head = th_buf_str(&c->head), tail = tail_of(c, &joined);
	uint64_t left_out = c->size - head.len - tail.len;
	size_t start = out->len, replaced;

	if (left_out == 0) {
		TH_CLEANUP(th_buf_deinit) struct th_buf whole = TH_BUF_INIT(2 * c->half);
		th_buf_add(&whole, head);
		th_buf_add(&whole, tail);
		replaced = th_clip_clean(out, th_buf_str(&whole));
	} else {
		struct th_str first = to_character(head), last = from_character(tail);
		left_out += head.len - first.len + tail.len - last.len;
		replaced = th_clip_clean(out, first);
		th_buf_printf(out, "\n… %llu bytes left out …\n", (unsigned long long)left_out);
		replaced += th_clip_clean(out, last);
	}
	/* A tenth of it unreadable: showing the rest would only mislead. */
	if (replaced > 16 && replaced > (head.len + tail.len) / 10) {
		th_buf_truncate(out, start);
		th_buf_printf(out, "[binary output of %llu bytes, not shown]",
			      (unsigned long long)c->size);
		left_out = c->size;
	}
	return left_out;
}
