/* SPDX-License-Identifier: Apache-2.0 */
/* page_show.c - as much of a page's text as is shown, and what has changed in it: see page.h. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "wire/page.h"

#define LINE_SHOWN_MAX 1000 /* bytes of one line, where there is no room for all */

static struct th_str line_text(const struct th_page *p, const struct th_page_line *l)
{
	return th_str_sub(th_page_text(p), l->at, l->len);
}

size_t th_page_show(const struct th_page *p, size_t size_max, struct th_buf *out)
{
	size_t count, from = out->len, left_out = 0, room = size_max;
	const struct th_page_line *lines = th_page_lines(p, &count);

	if (th_page_text(p).len <= size_max) {
		th_buf_add(out, th_page_text(p));
		return 0;
	}
	/* What can be acted on has its room first; what is left goes to the texts, in order. */
	for (size_t i = 0; i < count; i++)
		if (lines[i].acts)
			room -= TH_MIN(room, TH_MIN(lines[i].len, (size_t)LINE_SHOWN_MAX) + 1);
	for (size_t i = 0; i < count; i++) {
		struct th_str text = th_utf8_cut(line_text(p, &lines[i]), LINE_SHOWN_MAX);
		size_t need = text.len + 1;
		if (lines[i].acts ? out->len - from + need > size_max : need > room) {
			left_out++;
			continue;
		}
		if (!lines[i].acts)
			room -= need;
		th_buf_add(out, text);
		th_buf_add_char(out, '\n');
	}
	return left_out;
}

/* ---- changes ---- */

struct counted {
	uint32_t hash;
	int32_t count;
};

static int by_hash(const void *a, const void *b)
{
	uint32_t x = ((const struct counted *)a)->hash, y = ((const struct counted *)b)->hash;

	return (x > y) - (x < y);
}

/* The lines of a text as a bag. */
static struct counted *bag(const struct th_page *p, size_t *ret_count)
{
	size_t count, used = 0;
	const struct th_page_line *lines = th_page_lines(p, &count);
	struct counted *list = th_alloc((count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = (struct counted){ lines[i].hash, 1 };
	qsort(list, count, sizeof(*list), by_hash);
	for (size_t i = 0; i < count; i++) {
		if (used > 0 && list[used - 1].hash == list[i].hash)
			list[used - 1].count++;
		else
			list[used++] = list[i];
	}
	*ret_count = used;
	return list;
}

static bool take(struct counted *list, size_t count, uint32_t hash)
{
	struct counted key = { hash, 0 };
	struct counted *found = bsearch(&key, list, count, sizeof(*list), by_hash);

	return found && found->count-- > 0;
}

static bool has_element(const struct th_page *p, int32_t number)
{
	size_t count;
	const struct th_page_element *e = th_page_elements(p, &count);

	for (size_t i = 0; i < count; i++)
		if (e[i].number == number)
			return true;
	return false;
}

/* The lines of `of` that `other` does not have.  Of one that went nothing is said when its first
 * element is still there: it is in a line that came. */
static size_t differing(const struct th_page *of, const struct th_page *other, const char *mark,
			size_t end, struct th_buf *out)
{
	size_t count, bag_count, found = 0;
	const struct th_page_line *lines = th_page_lines(of, &count);
	struct counted *list = bag(other, &bag_count);

	for (size_t i = 0; i < count; i++) {
		struct th_str text = th_utf8_cut(line_text(of, &lines[i]), LINE_SHOWN_MAX);
		if (take(list, bag_count, lines[i].hash))
			continue;
		if (mark[0] == '-' && lines[i].first && has_element(other, lines[i].first))
			continue;
		found++;
		if (out->len + text.len + 3 > end)
			continue;
		th_buf_add_cstr(out, mark);
		th_buf_add(out, text);
		th_buf_add_char(out, '\n');
	}
	free(list);
	return found;
}

size_t th_page_changes(const struct th_page *before, const struct th_page *after, size_t size_max,
		       struct th_buf *out)
{
	size_t from = out->len;
	/* What went takes a fifth at most: what is there is what can be used. */
	size_t came = differing(after, before, "+ ", from + size_max / 5 * 4, out);
	size_t went = differing(before, after, "- ", from + size_max, out);

	return came + went;
}
