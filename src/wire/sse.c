/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sse.h"

#include "base/limits.h"

void th_sse_init(struct th_sse *s, size_t line_max)
{
	*s = (struct th_sse){ .retry_ms = -1, .line_max = line_max };
	th_buf_init(&s->line, line_max);
	th_buf_init(&s->data, line_max);
	th_buf_init(&s->name, TH_SSE_NAME_MAX);
	th_buf_init(&s->last_id, TH_SSE_NAME_MAX);
}

void th_sse_deinit(struct th_sse *s)
{
	th_buf_deinit(&s->line);
	th_buf_deinit(&s->data);
	th_buf_deinit(&s->name);
	th_buf_deinit(&s->last_id);
}

static int fail(struct th_sse *s, struct th_err *err)
{
	s->failed = true;
	return th_fail(err, TH_ELIMIT, "event stream: a line or an event is longer than %zu bytes",
		       s->line_max);
}

/* Bytes before the first CR or LF, or all. */
static size_t line_len(struct th_str s)
{
	const char *lf = memchr(s.ptr, '\n', s.len);
	size_t len = lf ? (size_t)(lf - s.ptr) : s.len;
	const char *cr = memchr(s.ptr, '\r', len);

	return cr ? (size_t)(cr - s.ptr) : len;
}

/* Short texts: one that is too long counts as none. */
static void set_short(struct th_buf *b, struct th_str value)
{
	th_buf_clear(b);
	th_buf_add(b, value);
	if (b->failed)
		th_buf_clear(b);
}

/* The event's data, made the whole content of our own buffer. */
static void own_data(struct th_sse *s)
{
	if (s->borrowed) {
		th_buf_clear(&s->data);
		th_buf_add(&s->data, s->event_data);
	} else {
		th_buf_drop(&s->data, (size_t)(s->event_data.ptr - s->data.ptr));
	}
	s->borrowed = false;
	s->event_data = th_buf_str(&s->data);
}

/* `in_line`: the value stands in s->line. */
static void take_data(struct th_sse *s, struct th_str value, bool in_line)
{
	if (s->has_data) {
		own_data(s);
		th_buf_add_char(&s->data, '\n');
		th_buf_add(&s->data, value);
		s->event_data = th_buf_str(&s->data);
		return;
	}
	s->has_data = true;
	s->borrowed = !in_line;
	if (in_line) { /* the line's buffer becomes the data's: nothing is copied */
		struct th_buf line = s->line;

		s->line = s->data;
		s->data = line;
	}
	s->event_data = value;
}

static void take_retry(struct th_sse *s, struct th_str value)
{
	int64_t ms;

	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return;
	if (th_str_i64(value, &ms))
		s->retry_ms = ms;
}

static void take_field(struct th_sse *s, struct th_str line, bool in_line)
{
	ptrdiff_t colon = th_str_find_char(line, ':');
	struct th_str name = line, value = { NULL, 0 };

	if (colon == 0)
		return; /* a comment */
	if (colon > 0) {
		name = th_str_sub(line, 0, (size_t)colon);
		value = th_str_sub(line, (size_t)colon + 1, line.len);
		if (value.len && value.ptr[0] == ' ')
			value = th_str_sub(value, 1, value.len);
	} else {
		value = th_str_n(line.ptr + line.len, 0);
	}
	if (th_str_eq(name, TH_STR("data")))
		take_data(s, value, in_line);
	else if (th_str_eq(name, TH_STR("event")))
		set_short(&s->name, value);
	else if (th_str_eq(name, TH_STR("id")) && !(value.len && memchr(value.ptr, 0, value.len)))
		set_short(&s->last_id, value);
	else if (th_str_eq(name, TH_STR("retry")))
		take_retry(s, value);
}

/* True when the line closes an event. */
static bool take_line(struct th_sse *s, struct th_str line, bool in_line)
{
	if (!s->started) {
		s->started = true;
		if (th_str_starts(line, TH_STR("\xef\xbb\xbf")))
			line = th_str_sub(line, 3, line.len);
	}
	if (line.len)
		take_field(s, line, in_line);
	else if (s->has_data)
		return true;
	else
		th_buf_clear(&s->name);
	return false;
}

static void forget_event(struct th_sse *s)
{
	s->given = s->has_data = s->borrowed = false;
	s->event_data = (struct th_str){ NULL, 0 };
	th_buf_clear(&s->name);
}

static int give(struct th_sse *s, struct th_sse_event *ret)
{
	s->given = true;
	*ret = (struct th_sse_event){ th_buf_str(&s->name), s->event_data };
	return 1;
}

/* A line's bytes: its end when `whole`, else a beginning of it. */
static bool next_line(struct th_sse *s, struct th_str piece, bool whole)
{
	bool in_line = s->line.len > 0, closes;

	if (in_line || !whole)
		th_buf_add(&s->line, piece);
	if (!whole)
		return false;
	closes = take_line(s, in_line ? th_buf_str(&s->line) : piece, in_line);
	th_buf_clear(&s->line);
	return closes;
}

int th_sse_next(struct th_sse *s, struct th_str *bytes, struct th_sse_event *ret,
		struct th_err *err)
{
	if (s->failed)
		return fail(s, err);
	if (s->given)
		forget_event(s);
	while (bytes->len) {
		if (s->skip_lf) {
			s->skip_lf = false;
			if (bytes->ptr[0] == '\n') {
				*bytes = th_str_sub(*bytes, 1, bytes->len);
				continue;
			}
		}
		size_t len = line_len(*bytes);
		bool whole = len < bytes->len, closes;

		if (len > s->line_max - s->line.len)
			return fail(s, err);
		s->skip_lf = whole && bytes->ptr[len] == '\r';
		closes = next_line(s, th_str_sub(*bytes, 0, len), whole);
		*bytes = th_str_sub(*bytes, len + whole, bytes->len);
		if (s->data.failed)
			return fail(s, err);
		if (closes)
			return give(s, ret);
	}
	if (s->has_data && s->borrowed)
		own_data(s);
	return 0;
}

int th_sse_end(struct th_sse *s, struct th_sse_event *ret, struct th_err *err)
{
	if (s->failed)
		return fail(s, err);
	if (s->given)
		forget_event(s);
	if (s->line.len)
		next_line(s, (struct th_str){ NULL, 0 }, true);
	if (s->data.failed)
		return fail(s, err);
	return s->has_data ? give(s, ret) : 0;
}
