/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - see diff.h. */
#include "base/diff.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"

#define CONTEXT 3 /* lines of a hunk around what differs */

struct line {
	struct th_str text; /* with its newline */
	uint64_t hash;
	bool differs; /* taken away, or added */
};

struct side {
	struct line *lines;
	size_t count;
};

struct pair {
	struct side before, after;
};

static enum th_code side_read(struct th_str text, struct side *s, struct th_err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '\n' || i + 1 == text.len;
	if (count > TH_DIFF_LINES_MAX)
		return th_fail(err, TH_ELIMIT, "a text has more than %d lines", TH_DIFF_LINES_MAX);
	s->lines = th_alloc((count + 1) * sizeof(*s->lines));
	for (; text.len; s->count++) {
		ptrdiff_t at = th_str_find_char(text, '\n');
		size_t len = at < 0 ? text.len : (size_t)at + 1;

		s->lines[s->count].text = th_str_sub(text, 0, len);
		s->lines[s->count].hash = th_hash64(text.ptr, len);
		s->lines[s->count].differs = false;
		text = th_str_sub(text, len, text.len);
	}
	return TH_OK;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->hash == b->hash && th_str_eq(a->text, b->text);
}

/* ---- the script ---- */

/* What is between the common beginning and the common end. */
struct middle {
	struct line *before, *after;
	int n, m;
};

/* Furthest points by diagonal -d…d, kept for each d one after the other: those of d begin at d*d.
 */
static int *row_of(int *rows, int d)
{
	return rows + (size_t)d * (size_t)d + d;
}

static bool goes_down(const int *last, int k, int d)
{
	return k == -d || (k != d && last[k - 1] < last[k + 1]);
}

static void mark(struct middle *w, int *rows, int d)
{
	int x = w->n, y = w->m;

	for (; d > 0; d--) {
		const int *last = row_of(rows, d - 1);
		int k = x - y;

		if (goes_down(last, k, d)) {
			x = last[k + 1];
			y = x - (k + 1);
			w->after[y].differs = true;
		} else {
			x = last[k - 1];
			y = x - (k - 1);
			w->before[x].differs = true;
		}
	}
}

/* False: they differ in more than `most` edits. */
static bool find(struct middle *w, int most)
{
	int *rows = th_alloc(((size_t)most + 1) * ((size_t)most + 1) * sizeof(*rows));
	bool found = false;

	for (int d = 0; d <= most && !found; d++) {
		int *now = row_of(rows, d);

		for (int k = -d; k <= d && !found; k += 2) {
			const int *last = d ? row_of(rows, d - 1) : NULL;
			int x = !last ? 0 : goes_down(last, k, d) ? last[k + 1] : last[k - 1] + 1;
			int y = x - k;

			while (x < w->n && y < w->m && same(&w->before[x], &w->after[y])) {
				x++;
				y++;
			}
			now[k] = x;
			found = x >= w->n && y >= w->m;
		}
		if (found)
			mark(w, rows, d);
	}
	free(rows);
	return found;
}

static void compare(struct pair *p)
{
	size_t start = 0, end = 0, less = TH_MIN(p->before.count, p->after.count);
	struct middle w;

	while (start < less && same(&p->before.lines[start], &p->after.lines[start]))
		start++;
	while (end < less - start && same(&p->before.lines[p->before.count - 1 - end],
					  &p->after.lines[p->after.count - 1 - end]))
		end++;
	w = (struct middle){ .before = p->before.lines + start,
			     .after = p->after.lines + start,
			     .n = (int)(p->before.count - start - end),
			     .m = (int)(p->after.count - start - end) };
	if (find(&w, TH_MIN(w.n + w.m, TH_DIFF_EDITS_MAX)))
		return;
	for (int i = 0; i < w.n; i++)
		w.before[i].differs = true;
	for (int i = 0; i < w.m; i++)
		w.after[i].differs = true;
}

/* ---- its text ---- */

static void print_name(const char *mark, const char *prefix, struct th_str name, struct th_buf *out)
{
	bool quoted = false;

	for (size_t i = 0; i < name.len; i++)
		quoted |= (unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f ||
			  name.ptr[i] == '"' || name.ptr[i] == '\\';
	th_buf_add_cstr(out, mark);
	if (!name.ptr) {
		th_buf_add_cstr(out, "/dev/null\n");
		return;
	}
	if (quoted)
		th_buf_add_char(out, '"');
	th_buf_add_cstr(out, prefix);
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			th_buf_printf(out, "\\%03o", c);
		else
			th_buf_add_char(out, (char)c);
	}
	th_buf_add_cstr(out, quoted ? "\"\n" : "\n");
}

static void print_line(char mark, const struct line *l, struct th_buf *out)
{
	th_buf_add_char(out, mark);
	th_buf_add(out, l->text);
	if (!th_str_ends(l->text, TH_STR("\n")))
		th_buf_add_cstr(out, "\n\\ No newline at end of file\n");
}

static void print_range(size_t at, size_t count, struct th_buf *out)
{
	/* Of no line, the number of the one before. */
	th_buf_printf(out, "%zu", count ? at + 1 : at);
	if (count != 1)
		th_buf_printf(out, ",%zu", count);
}

/* A place in both: up to here the same lines are left. */
struct place {
	size_t i, j;
};

static bool differs(const struct pair *p, struct place at)
{
	return (at.i < p->before.count && p->before.lines[at.i].differs) ||
	       (at.j < p->after.count && p->after.lines[at.j].differs);
}

static void pass(const struct pair *p, struct place *at, struct th_buf *out)
{
	while (at->i < p->before.count && p->before.lines[at->i].differs)
		print_line('-', &p->before.lines[at->i++], out);
	while (at->j < p->after.count && p->after.lines[at->j].differs)
		print_line('+', &p->after.lines[at->j++], out);
}

/* Where the hunk ends that begins here: behind CONTEXT lines that are followed by as many. */
static struct place hunk_end(const struct pair *p, struct place at)
{
	size_t run = 0;

	while (at.i < p->before.count || at.j < p->after.count) {
		if (differs(p, at)) {
			at.i += at.i < p->before.count && p->before.lines[at.i].differs;
			at.j += at.j < p->after.count && p->after.lines[at.j].differs;
			run = 0;
			continue;
		}
		if (++run > 2 * (size_t)CONTEXT)
			return (struct place){ at.i - CONTEXT, at.j - CONTEXT };
		at.i++;
		at.j++;
	}
	run = run > CONTEXT ? run - CONTEXT : 0;
	return (struct place){ at.i - run, at.j - run };
}

static void print_hunk(const struct pair *p, struct place *at, struct th_buf *out)
{
	size_t lead = TH_MIN(at->i, (size_t)CONTEXT);
	struct place from = { at->i - lead, at->j - lead }, end = hunk_end(p, *at);

	th_buf_add_cstr(out, "@@ -");
	print_range(from.i, end.i - from.i, out);
	th_buf_add_cstr(out, " +");
	print_range(from.j, end.j - from.j, out);
	th_buf_add_cstr(out, " @@\n");
	*at = from;
	while (at->i < end.i || at->j < end.j) {
		if (differs(p, *at)) {
			pass(p, at, out);
			continue;
		}
		print_line(' ', &p->before.lines[at->i++], out);
		at->j++;
	}
}

static void print(const struct pair *p, struct th_buf *out)
{
	struct place at = { 0, 0 };

	while (at.i < p->before.count || at.j < p->after.count) {
		if (differs(p, at)) {
			print_hunk(p, &at, out);
			continue;
		}
		at.i++;
		at.j++;
	}
}

enum th_code th_diff(struct th_str before, struct th_str after, struct th_str name_before,
		     struct th_str name_after, struct th_buf *out, struct th_err *err)
{
	struct pair p = {};
	enum th_code code = side_read(before, &p.before, err);

	if (!code)
		code = side_read(after, &p.after, err);
	if (!code && (!th_str_eq(before, after) || !name_before.ptr != !name_after.ptr)) {
		compare(&p);
		print_name("--- ", "a/", name_before, out);
		print_name("+++ ", "b/", name_after, out);
		print(&p, out);
		code = th_buf_check(out, "the diff", err);
	}
	free(p.before.lines);
	free(p.after.lines);
	return code;
}
