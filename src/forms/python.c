/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - values as Python writes them: OpenHands has them in old calls and in sentences.
 * Nothing is ever run; what is not a plain value is refused.
 */
#include "base/limits.h"
#include "base/text.h"
#include "forms/openhands.h"

struct reader {
	struct th_str rest;
	struct th_jw w;
	size_t depth;
};

static bool read_value(struct reader *r);

static void skip(struct reader *r)
{
	while (r->rest.len && strchr(" \t\r\n", r->rest.ptr[0]))
		r->rest = th_str_sub(r->rest, 1, r->rest.len);
}

static bool take(struct reader *r, char c)
{
	skip(r);
	if (!r->rest.len || r->rest.ptr[0] != c)
		return false;
	r->rest = th_str_sub(r->rest, 1, r->rest.len);
	return true;
}

static bool read_hex(struct reader *r, size_t digits, struct th_buf *out)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		char c = i < r->rest.len ? r->rest.ptr[i] : '\0';
		const char *at = c ? strchr("0123456789abcdef", c | 0x20) : NULL;

		if (!at)
			return false;
		code = code * 16 + (uint32_t)(at - "0123456789abcdef");
	}
	r->rest = th_str_sub(r->rest, digits, r->rest.len);
	th_utf8_add(out, code);
	return true;
}

static bool read_escape(struct reader *r, struct th_buf *out)
{
	static const char from[] = "nrt\\'\"abfv0", to[] = "\n\r\t\\'\"\a\b\f\v";
	char c = r->rest.len ? r->rest.ptr[0] : '\0';
	const char *at = c ? strchr(from, c) : NULL;

	r->rest = th_str_sub(r->rest, 1, r->rest.len);
	if (c == 'x')
		return read_hex(r, 2, out);
	if (c == 'u')
		return read_hex(r, 4, out);
	if (c == 'U')
		return read_hex(r, 8, out);
	if (c == '\n')
		return true; /* a line that goes on */
	if (!c)
		return false;
	if (!at)
		th_buf_add_char(out, '\\');
	th_buf_add_char(out, at ? to[at - from] : c);
	return true;
}

static bool read_text(struct reader *r, struct th_buf *out)
{
	char quote = r->rest.len ? r->rest.ptr[0] : '\0';

	if (quote != '\'' && quote != '"')
		return false;
	r->rest = th_str_sub(r->rest, 1, r->rest.len);
	while (r->rest.len && r->rest.ptr[0] != quote) {
		char c = r->rest.ptr[0];

		r->rest = th_str_sub(r->rest, 1, r->rest.len);
		if (c == '\\' ? !read_escape(r, out) : c == '\n')
			return false;
		if (c != '\\')
			th_buf_add_char(out, c);
	}
	return take(r, quote);
}

static bool put_text(struct reader *r, bool key)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool good = read_text(r, &text);

	if (good && key)
		th_jw_key(&r->w, th_buf_str(&text));
	else if (good)
		th_jw_str(&r->w, th_buf_str(&text));
	th_buf_deinit(&text);
	return good;
}

static bool read_list(struct reader *r, char end)
{
	th_jw_array(&r->w);
	for (bool first = true; !take(r, end); first = false) {
		if (!first && !take(r, ','))
			return false;
		if (!first && take(r, end))
			break;
		if (!read_value(r))
			return false;
	}
	th_jw_array_end(&r->w);
	return true;
}

static bool read_object(struct reader *r)
{
	th_jw_object(&r->w);
	for (bool first = true; !take(r, '}'); first = false) {
		if (!first && !take(r, ','))
			return false;
		if (!first && take(r, '}'))
			break;
		skip(r);
		if (!put_text(r, true) || !take(r, ':') || !read_value(r))
			return false;
	}
	th_jw_object_end(&r->w);
	return true;
}

static bool read_word(struct reader *r)
{
	static const char *const words[][2] = { { "None", "null" },
						{ "True", "true" },
						{ "False", "false" } };
	int64_t whole;
	double real;
	size_t len = 0;
	struct th_str word;

	while (len < r->rest.len && !strchr(" \t\r\n,]})", r->rest.ptr[len]))
		len++;
	word = th_str_sub(r->rest, 0, len);
	r->rest = th_str_sub(r->rest, len, r->rest.len);
	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_is(word, words[i][0])) {
			th_jw_raw(&r->w, th_str_of(words[i][1]));
			return true;
		}
	if (th_str_i64(word, &whole))
		th_jw_int(&r->w, whole);
	else if (th_str_f64(word, &real))
		th_jw_real(&r->w, real);
	else
		return false;
	return true;
}

static bool read_value(struct reader *r)
{
	bool good;

	skip(r);
	if (!r->rest.len || r->depth == TH_JSON_DEPTH_MAX)
		return false;
	r->depth++;
	if (r->rest.ptr[0] == '\'' || r->rest.ptr[0] == '"')
		good = put_text(r, false);
	else if (take(r, '{'))
		good = read_object(r);
	else if (take(r, '['))
		good = read_list(r, ']');
	else if (take(r, '('))
		good = read_list(r, ')');
	else
		good = read_word(r);
	r->depth--;
	return good;
}

bool th_python_to_json(struct th_str text, struct th_buf *out)
{
	struct reader r = { .rest = text, .w = th_jw(out) };

	if (!read_value(&r))
		return false;
	skip(&r);
	return r.rest.len == 0;
}

/* ---- the other way ---- */

static void put_python_text(struct th_str s, struct th_buf *out)
{
	bool single = th_str_find_char(s, '\'') < 0 || th_str_find_char(s, '"') >= 0;
	char quote = single ? '\'' : '"';

	th_buf_add_char(out, quote);
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c == '\n')
			th_buf_add_cstr(out, "\\n");
		else if (c == '\r')
			th_buf_add_cstr(out, "\\r");
		else if (c == '\t')
			th_buf_add_cstr(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			th_buf_printf(out, "\\x%02x", c);
		else if (c == '\\' || c == (unsigned char)quote)
			th_buf_printf(out, "\\%c", c);
		else
			th_buf_add_char(out, (char)c);
	}
	th_buf_add_char(out, quote);
}

static void put_python(const struct th_json *v, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_json_type type = th_json_type(v);
	bool object = type == TH_JSON_OBJECT;

	if (type == TH_JSON_STR) {
		put_python_text(th_json_str(v), out);
	} else if (object || type == TH_JSON_ARRAY) {
		th_buf_add_char(out, object ? '{' : '[');
		while (th_json_next(&it)) {
			if (it.index)
				th_buf_add_cstr(out, ", ");
			if (object) {
				put_python_text(it.key, out);
				th_buf_add_cstr(out, ": ");
			}
			put_python(it.val, out);
		}
		th_buf_add_char(out, object ? '}' : ']');
	} else if (type == TH_JSON_BOOL) {
		th_buf_add_cstr(out, th_json_bool(v, false) ? "True" : "False");
	} else if (th_json_is_null(v)) {
		th_buf_add_cstr(out, "None");
	} else {
		th_json_print(v, out);
	}
}

/* Depth is bounded by the parser. */
void th_python_print(const struct th_json *v, struct th_buf *out)
{
	if (th_json_type(v) == TH_JSON_STR)
		th_buf_add(out, th_json_str(v));
	else
		put_python(v, out);
}
