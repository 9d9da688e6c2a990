/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/patch.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "wire/patch_internal.h"

/* Each of them ends a file's diff. */
static const char *const terminators[] = { END_PATCH, "*** Update File:", "*** Delete File:",
					   "*** Add File:", NULL };

struct lines {
	struct th_str *list;
	size_t count;
};

/* Lines that come in place of `del_count` lines of the file from `at` on. */
struct chunk {
	size_t at, del_count;
	size_t ins_first, ins_count; /* in apply.inserted */
};

struct apply {
	struct th_arena arena;
	struct lines file, diff;
	size_t index;  /* of the diff's line that is read */
	size_t cursor; /* the file's line from which on the next hunk is looked for */
	struct th_str *inserted;
	struct chunk *chunks;
	size_t inserted_count, chunk_count;
	size_t steps; /* comparisons of lines */
	struct th_buf *out;
	struct th_err *err;
};

/* A hunk: the lines of the file that it is about, and its chunks, which count from them. */
struct section {
	struct lines old;
	size_t chunk_first;
	bool eof;
};

/* ---- lines ---- */

bool th_patch_line_starts(struct th_str line, const char *prefix)
{
	return th_str_starts(line, th_str_of(prefix));
}

bool th_patch_ends_file(struct th_str line)
{
	for (const char *const *t = terminators; *t; t++)
		if (th_patch_line_starts(line, *t))
			return true;
	return false;
}

static size_t count_lines(struct th_str text)
{
	size_t count = 1;

	for (const char *p = text.ptr, *end = p + text.len;
	     p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
		count++;
	return count;
}

/* Takes a line off; its end (\n or \r\n) belongs to neither. */
struct th_str th_patch_take_line(struct th_str *rest)
{
	const char *nl = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
	struct th_str line = *rest;

	if (!nl) {
		*rest = th_str_n(rest->ptr + rest->len, 0);
		return line;
	}
	line.len = (size_t)(nl - line.ptr);
	*rest = th_str_n(nl + 1, rest->len - line.len - 1);
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* All lines of `text`, with room for one more. */
static enum th_code split_lines(struct apply *p, struct th_str text, struct lines *ret)
{
	size_t count = count_lines(text);

	if (count > TH_PATCH_LINES_MAX)
		return th_fail(p->err, TH_ELIMIT, "a text of more than %d lines is not patched",
			       TH_PATCH_LINES_MAX);
	ret->list = th_arena_array(&p->arena, count + 1, sizeof(*ret->list));
	if (!ret->list)
		return th_fail(p->err, TH_ELIMIT, "too many lines to patch");
	for (ret->count = 0; ret->count < count; ret->count++)
		ret->list[ret->count] = th_patch_take_line(&text);
	return TH_OK;
}

/* The diff's lines: no \r at their ends, no empty one at the end; then an end of patch. */
static enum th_code split_diff(struct apply *p, struct th_str diff)
{
	struct lines *l = &p->diff;
	enum th_code code = split_lines(p, diff, l);

	if (code)
		return code;
	for (size_t i = 0; i < l->count; i++)
		while (l->list[i].len && l->list[i].ptr[l->list[i].len - 1] == '\r')
			l->list[i].len--;
	if (!l->list[l->count - 1].len)
		l->count--;
	l->list[l->count++] = TH_STR(END_PATCH);
	return TH_OK;
}

static struct th_str diff_line(const struct apply *p)
{
	return p->index < p->diff.count ? p->diff.list[p->index] : TH_STR("");
}

/* ---- reasons ---- */

/* "LEAD" and lines, in `out`; the first line of it in err. */
static enum th_code refuse(struct apply *p, const char *lead, const struct th_str *lines,
			   size_t count)
{
	struct th_str reason, first;
	size_t from = p->out->len;

	th_buf_add_cstr(p->out, lead);
	for (size_t i = 0; i < count && p->out->len - from < TH_PATCH_REASON_MAX; i++) {
		if (i)
			th_buf_add_char(p->out, '\n');
		th_buf_add(p->out, lines[i]);
	}
	if (p->out->len - from > TH_PATCH_REASON_MAX) {
		reason = th_str_n(p->out->ptr + from, p->out->len - from);
		th_buf_truncate(p->out, from + th_utf8_cut(reason, TH_PATCH_REASON_MAX).len);
		th_buf_add_cstr(p->out, "…");
	}
	reason = th_str_n(p->out->ptr + from, p->out->len - from);
	first = th_str_split(&reason, '\n');
	return th_fail(p->err, TH_EPROTO, "%.*s", TH_FMT(first));
}

static enum th_code refuse_line(struct apply *p, const char *lead, struct th_str line)
{
	return refuse(p, lead, &line, 1);
}

static enum th_code step(struct apply *p)
{
	if (++p->steps > TH_PATCH_STEPS_MAX)
		return th_fail(p->err, TH_ELIMIT, "the diff takes too long to place");
	return TH_OK;
}

/* ---- comparing, as Python strips ---- */

enum strip { STRIP_NOTHING, STRIP_END, STRIP_BOTH };

static bool is_space(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' ') || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

static struct th_str strip(struct th_str s, enum strip how)
{
	uint32_t c;

	while (how == STRIP_BOTH && s.len) {
		struct th_str rest = s;

		if (!th_utf8_next(&rest, &c) || !is_space(c))
			break;
		s = rest;
	}
	while (how != STRIP_NOTHING && s.len) {
		size_t len = s.len - 1;
		struct th_str last;

		while (len && s.len - len < 4 && ((unsigned char)s.ptr[len] & 0xc0) == 0x80)
			len--;
		last = th_str_n(s.ptr + len, s.len - len);
		if (!th_utf8_next(&last, &c) || last.len || !is_space(c))
			break;
		s.len = len;
	}
	return s;
}

static bool same(struct th_str a, struct th_str b, enum strip how)
{
	return th_str_eq(a, b) || (how && th_str_eq(strip(a, how), strip(b, how)));
}

/* ---- where a hunk belongs ---- */

/* The first line in [from, to) that is `text`; `to`: none.  */
static enum th_code find_line(struct apply *p, struct th_str text, size_t from, size_t to,
			      enum strip how, size_t *ret)
{
	for (*ret = from; *ret < to; ++*ret) {
		enum th_code code = step(p);

		if (code || same(p->file.list[*ret], text, how))
			return code;
	}
	return TH_OK;
}

/* The cursor goes behind the line that the anchor names.  One that stands before the cursor
 * leaves it where it is; what follows another in a stack is only looked for behind that. */
static enum th_code follow_anchor(struct apply *p, struct th_str anchor, bool first, bool must)
{
	static const enum strip ways[] = { STRIP_NOTHING, STRIP_BOTH };
	enum th_code code;
	char lead[64];
	size_t at;

	for (size_t i = 0; i < TH_COUNT(ways); i++) {
		if (first) {
			code = find_line(p, anchor, 0, p->cursor, ways[i], &at);
			if (code || at < p->cursor)
				return code;
		}
		code = find_line(p, anchor, p->cursor, p->file.count, ways[i], &at);
		if (!code && at < p->file.count)
			p->cursor = at + 1;
		if (code || at < p->file.count)
			return code;
	}
	if (!must)
		return TH_OK;
	(void)snprintf(lead, sizeof(lead), "Invalid Anchor %zu:\n", p->cursor);
	return refuse_line(p, lead, anchor);
}

/* The anchors of one hunk, all of them before any is followed: a stack must fit. */
static enum th_code read_anchors(struct apply *p)
{
	size_t from = p->index;
	bool first = true;

	while (th_patch_line_starts(diff_line(p), "@@ ") || th_str_is(diff_line(p), "@@"))
		p->index++;
	if (p->index == from && p->cursor)
		return refuse_line(p, "Invalid Line:\n", diff_line(p));
	for (size_t i = from; i < p->index; i++) {
		struct th_str anchor = th_str_sub(p->diff.list[i], 3, SIZE_MAX);
		enum th_code code;

		if (!strip(anchor, STRIP_BOTH).len)
			continue;
		code = follow_anchor(p, anchor, first, p->index - from > 1);
		if (code)
			return code;
		first = false;
	}
	return TH_OK;
}

/* Where the old lines stand at or behind `from`, before `to`; SIZE_MAX: nowhere. */
static enum th_code find_old(struct apply *p, const struct lines *old, size_t from, size_t to,
			     size_t *ret)
{
	*ret = from;
	if (!old->count)
		return TH_OK;
	for (enum strip how = STRIP_NOTHING; how <= STRIP_BOTH; how++) {
		for (size_t i = from; i + old->count <= to; i++) {
			size_t n = 0;
			enum th_code code;

			do {
				code = step(p);
				if (code)
					return code;
			} while (same(p->file.list[i + n], old->list[n], how) && ++n < old->count);
			if (n == old->count) {
				*ret = i;
				return TH_OK;
			}
		}
	}
	*ret = SIZE_MAX;
	return TH_OK;
}

static enum th_code place(struct apply *p, const struct section *s, size_t *ret)
{
	size_t count = s->old.count, end = p->file.count;
	enum th_code code = TH_OK;
	char lead[64];

	*ret = SIZE_MAX;
	/* What stands behind the last newline ends the file and is no line of it. */
	if (s->eof && end && !p->file.list[end - 1].len)
		end--;
	if (s->eof)
		code = find_old(p, &s->old, end - TH_MIN(count, end), end, ret);
	if (!code && *ret == SIZE_MAX)
		code = find_old(p, &s->old, TH_MIN(p->cursor, end), end, ret);
	if (code || *ret != SIZE_MAX)
		return code;
	(void)snprintf(lead, sizeof(lead), "Invalid %sContext %zu:\n", s->eof ? "EOF " : "",
		       p->cursor);
	return refuse(p, lead, s->old.list, count);
}

/* ---- a hunk's lines ---- */

/* Whether a section ends before this line. */
static bool ends_section(struct th_str line)
{
	return th_patch_line_starts(line, "@@") || th_patch_ends_file(line) ||
	       th_patch_line_starts(line, END_FILE) || th_str_is(line, "***");
}

/* Lines that go or come without one that stays between them are one chunk; it is open until such a
 * one, or the end. */
static void close_chunk(struct apply *p, const struct section *s, struct chunk *open)
{
	if (open->del_count || open->ins_count) {
		open->at = s->old.count - open->del_count;
		p->chunks[p->chunk_count++] = *open;
	}
	*open = (struct chunk){ .ins_first = p->inserted_count };
}

static enum th_code read_lines(struct apply *p, struct section *s)
{
	struct chunk open = { .ins_first = p->inserted_count };

	for (; !ends_section(diff_line(p)); p->index++) {
		struct th_str line = diff_line(p);
		struct th_str text = th_str_sub(line, 1, SIZE_MAX);

		if (th_patch_line_starts(line, "***"))
			return refuse_line(p, "Invalid Line: ", line);
		switch (line.len ? line.ptr[0] : ' ') {
		case '+':
			p->inserted[p->inserted_count++] = text;
			open.ins_count++;
			continue;
		case '-':
			open.del_count++;
			break;
		case ' ':
			close_chunk(p, s, &open);
			break;
		default:
			return refuse_line(p, "Invalid Line: ", line);
		}
		s->old.list[s->old.count++] = text;
	}
	close_chunk(p, s, &open);
	return TH_OK;
}

/* From the first line behind the anchors. `old`: room for all lines of the diff. */
static enum th_code read_section(struct apply *p, struct th_str *old, struct section *s)
{
	size_t from = p->index;
	enum th_code code;
	char lead[64];

	*s = (struct section){ .old.list = old, .chunk_first = p->chunk_count };
	code = read_lines(p, s);
	if (code)
		return code;
	if (th_str_is(diff_line(p), END_FILE)) {
		p->index++;
		s->eof = true;
		return TH_OK;
	}
	if (p->index > from)
		return TH_OK;
	(void)snprintf(lead, sizeof(lead), "Nothing in this section - index=%zu ", p->index);
	return refuse_line(p, lead, diff_line(p));
}

static enum th_code read_hunks(struct apply *p)
{
	struct th_str *old = th_arena_array(&p->arena, p->diff.count, sizeof(*old));
	struct section s;
	size_t at;

	p->inserted = th_arena_array(&p->arena, p->diff.count, sizeof(*p->inserted));
	p->chunks = th_arena_array(&p->arena, p->diff.count, sizeof(*p->chunks));
	if (!old || !p->inserted || !p->chunks)
		return th_fail(p->err, TH_ELIMIT, "too many lines to patch");
	while (!th_patch_ends_file(diff_line(p)) && !th_patch_line_starts(diff_line(p), END_FILE)) {
		enum th_code code = read_anchors(p);

		if (!code)
			code = read_section(p, old, &s);
		if (!code)
			code = place(p, &s, &at);
		if (code)
			return code;
		p->cursor = at + s.old.count;
		for (size_t i = s.chunk_first; i < p->chunk_count; i++)
			p->chunks[i].at += at;
	}
	return TH_OK;
}

/* ---- the result ---- */

struct joiner {
	struct th_buf *out;
	const char *newline;
	bool more;
};

static void join(struct joiner *j, const struct th_str *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (j->more)
			th_buf_add_cstr(j->out, j->newline);
		th_buf_add(j->out, lines[i]);
		j->more = true;
	}
}

static const char *newline_of(struct th_str text)
{
	return th_str_find(text, TH_STR("\r\n")) >= 0 ? "\r\n" : "\n";
}

static enum th_code check_chunks(struct apply *p)
{
	size_t cursor = 0;
	char text[80];

	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct chunk *c = &p->chunks[i];

		if (cursor > c->at) {
			(void)snprintf(text, sizeof(text), "overlapping chunk at %zu (cursor %zu)",
				       c->at, cursor);
			return refuse_line(p, "applyDiff: ", th_str_of(text));
		}
		cursor = c->at + c->del_count;
		assert(cursor <= p->file.count); /* it was found there */
	}
	return TH_OK;
}

static enum th_code update(struct apply *p, const char *newline)
{
	struct joiner j = { p->out, newline, false };
	enum th_code code = read_hunks(p);
	size_t cursor = 0;

	if (!code)
		code = check_chunks(p);
	if (code)
		return code;
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct chunk *c = &p->chunks[i];

		join(&j, p->file.list + cursor, c->at - cursor);
		join(&j, p->inserted + c->ins_first, c->ins_count);
		cursor = c->at + c->del_count;
	}
	join(&j, p->file.list + cursor, p->file.count - cursor);
	return th_buf_check(p->out, "the patched file", p->err);
}

static enum th_code create(struct apply *p, const char *newline)
{
	struct joiner j = { p->out, newline, false };

	for (size_t i = 0; !th_patch_ends_file(p->diff.list[i]); i++)
		if (!th_patch_line_starts(p->diff.list[i], "+"))
			return refuse_line(p, "Invalid Add File Line: ", p->diff.list[i]);
	for (; !th_patch_ends_file(diff_line(p)); p->index++) {
		struct th_str text = th_str_sub(diff_line(p), 1, SIZE_MAX);

		join(&j, &text, 1);
	}
	return th_buf_check(p->out, "the patched file", p->err);
}

enum th_code th_patch_apply(enum th_patch_mode mode, struct th_str input, struct th_str diff,
			    struct th_buf *out, struct th_err *err)
{
	struct apply p = { .out = out, .err = err };
	bool of_input = mode == TH_PATCH_UPDATE && th_str_find_char(input, '\n') >= 0;
	const char *newline = newline_of(of_input ? input : diff);
	enum th_code code;

	if (!input.ptr)
		input = TH_STR("");
	if (!diff.ptr)
		diff = TH_STR("");
	th_arena_init(&p.arena, TH_PATCH_MEMORY_MAX);
	code = split_diff(&p, diff);
	if (!code && mode == TH_PATCH_UPDATE)
		code = split_lines(&p, input, &p.file);
	if (!code)
		code = mode == TH_PATCH_CREATE ? create(&p, newline) : update(&p, newline);
	th_arena_deinit(&p.arena);
	return code;
}
