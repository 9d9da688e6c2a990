/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_write.c - writing JSON: text is escaped, commas come by themselves.
 */
#include "base/json_internal.h"
#include "base/text.h"

static void escape_char(struct th_buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char names[] = "btn\0fr"; /* 8..13; 11 has no name */
	char text[6] = { '\\', (char)c };
	size_t len = 2;

	if (c >= 8 && c <= 13 && names[c - 8]) {
		text[1] = names[c - 8];
	} else if (c < 0x20) {
		memcpy(text, "\\u00", 4);
		text[4] = hex[c >> 4];
		text[5] = hex[c & 15];
		len = 6;
	}
	th_buf_add_mem(out, text, len);
}

/* `s` is UTF-8 */
static void escape_valid(struct th_buf *out, struct th_str s)
{
	const char *p = s.ptr, *end = p + s.len;

	while (p < end) {
		const char *stop = th_json_skip_to(p, end, TH_JSON_ESCAPE);

		th_buf_add_mem(out, p, (size_t)(stop - p));
		if (stop == end || out->failed)
			return;
		escape_char(out, (unsigned char)*stop);
		p = stop + 1;
	}
}

void th_json_escape(struct th_buf *out, struct th_str s)
{
	size_t plain;

	if (s.len == 0) /* its pointer may be NULL */
		return;
	/* Most strings, and all keys, are nothing else. */
	plain = (size_t)(th_json_skip_to(s.ptr, s.ptr + s.len, TH_JSON_PLAIN) - s.ptr);
	th_buf_add_mem(out, s.ptr, plain);
	s = th_str_sub(s, plain, s.len);
	while (s.len && !out->failed) {
		size_t good = th_utf8_valid(s);

		escape_valid(out, (struct th_str){ s.ptr, good });
		if (good == s.len)
			return;
		th_utf8_add(out, 0xFFFD);
		s = th_str_sub(s, good + 1, s.len);
	}
}

static inline void comma(struct th_jw *w)
{
	if (w->comma)
		th_buf_add_char(w->out, ',');
	w->comma = true;
}

static void container_begin(struct th_jw *w, char c)
{
	comma(w);
	th_buf_add_char(w->out, c);
	w->comma = false;
}

static void container_end(struct th_jw *w, char c)
{
	th_buf_add_char(w->out, c);
	w->comma = true;
}

void th_jw_object(struct th_jw *w)
{
	container_begin(w, '{');
}

void th_jw_object_end(struct th_jw *w)
{
	container_end(w, '}');
}

void th_jw_array(struct th_jw *w)
{
	container_begin(w, '[');
}

void th_jw_array_end(struct th_jw *w)
{
	container_end(w, ']');
}

static void add_str(struct th_buf *out, struct th_str s)
{
	th_buf_reserve(out, s.len + 2);
	th_buf_add_char(out, '"');
	th_json_escape(out, s);
	th_buf_add_char(out, '"');
}

void th_jw_name(struct th_jw *w, struct th_str name)
{
	size_t len = name.len + 3 + w->comma;
	char *p = th_buf_grow(w->out, len);

	if (p) {
		if (w->comma)
			*p++ = ',';
		*p++ = '"';
		memcpy(p, name.ptr, name.len);
		memcpy(p + name.len, "\":", 2);
		th_buf_grown(w->out, len);
	}
	w->comma = false;
}

void th_jw_key(struct th_jw *w, struct th_str key)
{
	comma(w);
	add_str(w->out, key);
	th_buf_add_char(w->out, ':');
	w->comma = false;
}

void th_jw_str(struct th_jw *w, struct th_str s)
{
	comma(w);
	add_str(w->out, s);
}

void th_jw_int(struct th_jw *w, int64_t v)
{
	comma(w);
	th_buf_add_i64(w->out, v);
}

void th_jw_uint(struct th_jw *w, uint64_t v)
{
	comma(w);
	th_buf_add_u64(w->out, v);
}

void th_jw_real(struct th_jw *w, double v)
{
	comma(w);
	th_json_add_real(w->out, v);
}

void th_jw_bool(struct th_jw *w, bool v)
{
	th_jw_raw(w, v ? TH_STR("true") : TH_STR("false"));
}

void th_jw_null(struct th_jw *w)
{
	th_jw_raw(w, TH_STR("null"));
}

void th_jw_raw(struct th_jw *w, struct th_str text)
{
	comma(w);
	th_buf_add(w->out, text);
}

/* The depth of `v` is bounded by th_json_parse; it was parsed, so its texts are UTF-8. */
void th_jw_json(struct th_jw *w, const struct th_json *v)
{
	struct th_json_iter it;

	switch (th_json_type(v)) {
	case TH_JSON_BOOL:
		th_jw_bool(w, th_json_bool(v, false));
		return;
	case TH_JSON_INT:
		if (th_json_int(v, 0) < 0)
			th_jw_int(w, th_json_int(v, 0));
		else
			th_jw_uint(w, th_json_uint(v, 0));
		return;
	case TH_JSON_REAL:
		th_jw_real(w, th_json_num(v, 0));
		return;
	case TH_JSON_STR:
		comma(w);
		th_buf_add_char(w->out, '"');
		escape_valid(w->out, th_json_str(v));
		th_buf_add_char(w->out, '"');
		return;
	case TH_JSON_ARRAY:
		th_jw_array(w);
		for (it = th_json_iter(v); th_json_next(&it);)
			th_jw_json(w, it.val);
		th_jw_array_end(w);
		return;
	case TH_JSON_OBJECT:
		th_jw_object(w);
		for (it = th_json_iter(v); th_json_next(&it);) {
			comma(w);
			th_buf_add_char(w->out, '"');
			escape_valid(w->out, it.key);
			th_buf_add_mem(w->out, "\":", 2);
			w->comma = false;
			th_jw_json(w, it.val);
		}
		th_jw_object_end(w);
		return;
	case TH_JSON_NULL:
	case TH_JSON_ABSENT:
		th_jw_null(w);
		return;
	}
}
