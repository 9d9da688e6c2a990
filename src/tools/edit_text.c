/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit_text.h"

size_t th_editor_lines(struct th_str text)
{
	size_t lines = 0;

	for (ptrdiff_t at; (at = th_str_find_char(text, '\n')) >= 0; lines++)
		text = th_str_sub(text, (size_t)at + 1, text.len);
	return lines + (text.len > 0);
}

size_t th_editor_line_at(struct th_str text, size_t number)
{
	struct th_str rest = text;

	for (size_t i = 1; i < number; i++) {
		ptrdiff_t at = th_str_find_char(rest, '\n');

		if (at < 0)
			return text.len;
		rest = th_str_sub(rest, (size_t)at + 1, rest.len);
	}
	return text.len - rest.len;
}

/* The next "\r\n", or -1: most texts have no "\r" at all, and memchr finds that out fast. */
static ptrdiff_t find_crlf(struct th_str s)
{
	const char *end = s.ptr + s.len, *at = s.ptr;

	while (at < end && (at = memchr(at, '\r', (size_t)(end - at)))) {
		if (at + 1 < end && at[1] == '\n')
			return at - s.ptr;
		at++;
	}
	return -1;
}

static bool has_crlf(struct th_str s)
{
	return find_crlf(s) >= 0;
}

static void add_plain(struct th_buf *out, struct th_str s)
{
	for (ptrdiff_t at; (at = find_crlf(s)) >= 0;) {
		th_buf_add(out, th_str_sub(s, 0, (size_t)at));
		th_buf_add_char(out, '\n');
		s = th_str_sub(s, (size_t)at + 2, s.len);
	}
	th_buf_add(out, s);
}

/* With "\n" alone: itself, or a copy in `room`. */
static struct th_str plain(struct th_str s, struct th_buf *room)
{
	if (!has_crlf(s))
		return s;
	th_buf_init(room, s.len);
	add_plain(room, s);
	return th_buf_str(room);
}

/* Where byte `index` of the plain text stands in the text; of a "\n" its "\r", if it has one. */
static size_t place_of(struct th_str text, size_t index)
{
	struct th_str rest = text;
	size_t before = 0; /* plain bytes in front of `rest` */

	for (ptrdiff_t at; (at = find_crlf(rest)) >= 0;) {
		if (before + (size_t)at >= index)
			break;
		before += (size_t)at + 1;
		rest = th_str_sub(rest, (size_t)at + 2, rest.len);
	}
	return text.len - rest.len + (index - before);
}

/* The line end of the text at `at`: the next one, else the one before. */
static struct th_str line_end(struct th_str text, size_t at)
{
	const char *next = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;

	if (!next && at > 0)
		next = memrchr(text.ptr, '\n', at);
	return next && next > text.ptr && next[-1] == '\r' ? TH_STR("\r\n") : TH_STR("\n");
}

/* `s` with these line ends; a text without any "\r\n" takes it as it is. */
static void add_lines(struct th_buf *out, struct th_str text, struct th_str end, struct th_str s)
{
	struct th_buf room = TH_BUF_INIT(0);

	if (!has_crlf(text)) {
		th_buf_add(out, s);
		return;
	}
	s = plain(s, &room);
	for (ptrdiff_t at; (at = th_str_find_char(s, '\n')) >= 0;) {
		th_buf_add(out, th_str_sub(s, 0, (size_t)at));
		th_buf_add(out, end);
		s = th_str_sub(s, (size_t)at + 1, s.len);
	}
	th_buf_add(out, s);
	th_buf_deinit(&room);
}

static size_t count_ends(const char *from, const char *to)
{
	size_t n = 0;

	for (; (from = memchr(from, '\n', (size_t)(to - from))); from++)
		n++;
	return n;
}

void th_editor_find(struct th_str text, struct th_str old, struct th_edit_found *ret)
{
	struct th_buf text_room = TH_BUF_INIT(0), old_room = TH_BUF_INIT(0);
	struct th_str in = text, what = old, rest;
	const char *counted;
	size_t line = 1;

	assert(old.len > 0);
	*ret = (struct th_edit_found){ 0 };
	if (has_crlf(text)) {
		in = plain(text, &text_room);
		what = plain(old, &old_room);
	}
	counted = in.ptr;
	rest = in;
	for (ptrdiff_t at;
	     ret->count < TH_EDIT_PLACES_MAX && (at = th_str_find(rest, what)) >= 0;) {
		const char *here = rest.ptr + at;

		if (ret->count++ == 0)
			ret->at = (size_t)(here - in.ptr);
		line += count_ends(counted, here);
		counted = here;
		if (ret->line_count == 0 || ret->lines[ret->line_count - 1] != line)
			ret->lines[ret->line_count++] = line;
		rest = th_str_sub(rest, (size_t)at + 1, rest.len);
	}
	th_buf_deinit(&text_room);
	th_buf_deinit(&old_room);
}

void th_editor_replace(struct th_str text, const struct th_edit_found *f, struct th_str old,
		       struct th_str new, struct th_buf *out)
{
	struct th_buf old_room = TH_BUF_INIT(0), new_room = TH_BUF_INIT(0);
	size_t same = 0, tail = 0, from, to;

	assert(f->count > 0);
	if (has_crlf(text)) {
		old = plain(old, &old_room);
		new = plain(new, &new_room);
	}
	while (same < old.len && same < new.len &&old.ptr[same] == new.ptr[same])
		same++;
	while (tail < old.len - same &&
	       tail < new.len - same &&old.ptr[old.len - 1 - tail] == new.ptr[new.len - 1 - tail])
		tail++;
	from = place_of(text, f->at + same);
	to = place_of(text, f->at + old.len - tail);
	th_buf_add(out, th_str_sub(text, 0, from));
	add_lines(out, text, line_end(text, place_of(text, f->at)),
		  th_str_sub(new, same, new.len - same - tail));
	th_buf_add(out, th_str_sub(text, to, text.len));
	th_buf_deinit(&old_room);
	th_buf_deinit(&new_room);
}

void th_editor_insert(struct th_str text, size_t line, struct th_str new, struct th_buf *out)
{
	size_t at = th_editor_line_at(text, line + 1);
	struct th_str end = line_end(text, at > 0 ? at - 1 : 0);
	bool unended = at > 0 && text.ptr[at - 1] != '\n', ends = th_str_ends(new, TH_STR("\n"));

	th_buf_add(out, th_str_sub(text, 0, at));
	if (unended)
		th_buf_add(out, end);
	add_lines(out, text, end, new);
	if (!ends && !unended)
		th_buf_add(out, end);
	th_buf_add(out, th_str_sub(text, at, text.len));
}

size_t th_editor_number(struct th_str text, size_t first, size_t size_max, struct th_buf *out)
{
	size_t count = 0, start = out->len;

	for (bool more = true; more; count++) {
		ptrdiff_t at = th_str_find_char(text, '\n');
		struct th_str line = th_str_sub(text, 0, at < 0 ? text.len : (size_t)at);

		more = at >= 0;
		text = th_str_sub(text, line.len + 1, text.len);
		if (more && th_str_ends(line, TH_STR("\r")))
			line.len--;
		if (out->len - start + line.len + 8 > size_max)
			break;
		th_buf_printf(out, "%6zu\t", first + count);
		th_buf_add(out, line);
		th_buf_add_char(out, '\n');
	}
	return count;
}
