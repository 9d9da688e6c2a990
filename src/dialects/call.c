/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/call.h"

#include "base/text.h"

#define NAME_LEN_MAX 64
#define LIST_DEPTH_MAX 4
#define LIST_COUNT_MAX 64

struct scan {
	struct th_str s; /* the rest */
	struct th_arena *a;
	struct th_err *err;
};

bool th_call_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_char(char c)
{
	return name_start(c) || (c >= '0' && c <= '9');
}

static void drop(struct scan *x, size_t count)
{
	x->s = th_str_sub(x->s, count, x->s.len);
}

static size_t blanks(struct th_str s)
{
	size_t n = 0;

	while (n < s.len && th_call_blank(s.ptr[n]))
		n++;
	return n;
}

static char peek(struct scan *x)
{
	drop(x, blanks(x->s));
	return x->s.len ? x->s.ptr[0] : '\0';
}

/* Length of a dotted name at the start; 0: none. */
static size_t name_len(struct th_str s)
{
	size_t n = 0;

	if (!s.len || !name_start(s.ptr[0]))
		return 0;
	while (n < s.len && n < NAME_LEN_MAX && (name_char(s.ptr[n]) || s.ptr[n] == '.'))
		n++;
	return n < NAME_LEN_MAX ? n : 0;
}

bool th_call_begins(struct th_str *text)
{
	struct th_str s = th_str_sub(*text, blanks(*text), text->len);
	size_t n = name_len(s);

	*text = s;
	if (!n)
		return false;
	n += blanks(th_str_sub(s, n, s.len));
	return n < s.len && s.ptr[n] == '(';
}

/* ---- texts ---- */

/* Whether an argument's name and "=" stand here. */
static bool argument_begins(struct th_str s)
{
	size_t n = name_len(s);

	if (!n)
		return false;
	n += blanks(th_str_sub(s, n, s.len));
	return n < s.len && s.ptr[n] == '=';
}

/* Whether a quote with `s` behind it ends its text: models forget to escape them. */
static bool closes(struct th_str s)
{
	struct th_str rest;
	bool line = false;

	s = th_str_sub(s, blanks(s), s.len);
	if (!s.len)
		return false;
	rest = th_str_sub(s, 1, s.len);
	if (s.ptr[0] == ',') {
		rest = th_str_sub(rest, blanks(rest), rest.len);
		return argument_begins(rest) ||
		       (rest.len && strchr("'\"[()]-0123456789", rest.ptr[0]) && rest.ptr[0]);
	}
	if (s.ptr[0] != ')' && s.ptr[0] != ']')
		return false;
	while (rest.len && (th_call_blank(rest.ptr[0]) || strchr(")];,.", rest.ptr[0])) &&
	       rest.ptr[0]) {
		line = line || rest.ptr[0] == '\n';
		rest = th_str_sub(rest, 1, rest.len);
	}
	return !rest.len || line || strchr("<`#", rest.ptr[0]) || argument_begins(rest) ||
	       th_call_begins(&rest);
}

/* "[10,20]", "(10,20)": what holds a point holds no quote. */
static bool is_point(struct th_str s)
{
	double n[4];
	int count;

	s = th_str_trim(s);
	if (!s.len || !s.ptr[0] || !strchr("[(<", s.ptr[0]))
		return false;
	count = th_dialect_numbers(s, n, 4);
	return count == 2 || count == 4;
}

/* Where the text that begins at 0 ends: the quote's offset; -1: nowhere. */
static ptrdiff_t text_end(struct th_str s, char quote, bool raw)
{
	ptrdiff_t first = -1;

	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\\' && !raw) {
			i++;
		} else if (s.ptr[i] == quote) {
			if (closes(th_str_sub(s, i + 1, s.len)) ||
			    (first < 0 && is_point(th_str_sub(s, 0, i))))
				return (ptrdiff_t)i;
			if (first < 0)
				first = (ptrdiff_t)i;
		}
	}
	return first;
}

static bool hex(struct th_str s, uint32_t *ret)
{
	uint32_t v = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		uint32_t digit;

		if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return false;
		v = v << 4 | digit;
	}
	*ret = v;
	return s.len > 0;
}

/* One escape whose letter is s[0]; how many bytes it took, 0: it is none.  Python's \a, \b, \f
 * and \v are no characters that anybody types: "C:\files" is a path whose \ was not doubled. */
static size_t unescape(struct th_str s, struct th_buf *out)
{
	static const char from[] = "ntr\\'\"", to[] = "\n\t\r\\'\"";
	const char *at = s.len && s.ptr[0] ? strchr(from, s.ptr[0]) : NULL;
	size_t digits;
	uint32_t c;

	if (!s.len)
		return 0;
	if (at) {
		th_buf_add_char(out, to[at - from]);
		return 1;
	}
	if (s.ptr[0] == '\n')
		return 1; /* a line that goes on */
	digits = s.ptr[0] == 'x' ? 2 : s.ptr[0] == 'u' ? 4 : s.ptr[0] == 'U' ? 8 : 0;
	if (!digits || s.len <= digits || !hex(th_str_sub(s, 1, digits), &c) || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000))
		return 0;
	th_utf8_add(out, c);
	return digits + 1;
}

static struct th_str decode(struct th_str s, bool raw, struct th_arena *a)
{
	struct th_buf out = TH_BUF_INIT(s.len + 1);
	struct th_str copy;

	for (size_t i = 0; i < s.len; i++) {
		size_t took = 0;

		if (s.ptr[i] == '\\' && !raw)
			took = unescape(th_str_sub(s, i + 1, s.len), &out);
		if (!took)
			th_buf_add_char(&out, s.ptr[i]);
		i += took;
	}
	copy = th_arena_str(a, th_buf_str(&out));
	th_buf_deinit(&out);
	return copy;
}

/* `prefix` letters stand before the quote. */
static enum th_code read_text(struct scan *x, size_t prefix, struct th_value *ret)
{
	bool raw = prefix && (x->s.ptr[0] | 0x20) == 'r';
	struct th_str body = th_str_sub(x->s, prefix + 1, x->s.len);
	char quote = x->s.ptr[prefix], three[3] = { quote, quote, quote };
	ptrdiff_t end;
	size_t width = 1;

	if (th_str_starts(th_str_sub(x->s, prefix, x->s.len), th_str_n(three, 3))) {
		width = 3;
		body = th_str_sub(x->s, prefix + 3, x->s.len);
		end = th_str_find(body, th_str_n(three, 3));
	} else {
		end = text_end(body, quote, raw);
	}
	if (end < 0)
		return th_fail(x->err, TH_EPROTO, "a text has no closing quote");
	ret->kind = TH_VALUE_TEXT;
	ret->text = decode(th_str_sub(body, 0, (size_t)end), raw, x->a);
	if (!ret->text.ptr)
		return th_fail(x->err, TH_EPROTO, "a text is too long");
	x->s = th_str_sub(body, (size_t)end + width, body.len);
	return TH_OK;
}

/* ---- values ---- */

static enum th_code read_value(struct scan *x, int depth, struct th_value *ret);

static enum th_code read_list(struct scan *x, int depth, struct th_value *ret)
{
	char close = x->s.ptr[0] == '[' ? ']' : ')';
	struct th_str start = x->s;
	enum th_code code;

	if (depth >= LIST_DEPTH_MAX)
		return th_fail(x->err, TH_EPROTO, "lists are nested too deep");
	ret->kind = TH_VALUE_LIST;
	ret->items = th_arena_array(x->a, LIST_COUNT_MAX, sizeof(*ret->items));
	if (!ret->items)
		return th_fail(x->err, TH_EPROTO, "too many lists");
	drop(x, 1);
	while (peek(x) != close) {
		if (ret->count == LIST_COUNT_MAX)
			return th_fail(x->err, TH_EPROTO, "a list has more than %d elements",
				       LIST_COUNT_MAX);
		code = read_value(x, depth + 1, &ret->items[ret->count]);
		if (code)
			return code;
		ret->count++;
		if (peek(x) == ',')
			drop(x, 1);
		else if (peek(x) != close)
			return th_fail(x->err, TH_EPROTO, "a list does not end");
	}
	drop(x, 1);
	ret->text = th_str_sub(start, 0, start.len - x->s.len);
	return TH_OK;
}

/* "<point>1 2</point>" or "<|box_start|>(1,2)<|box_end|>" without quotes. */
static enum th_code read_tag(struct scan *x, struct th_value *ret)
{
	ptrdiff_t close = th_str_find(x->s, TH_STR("</"));
	size_t end;

	if (close < 0)
		close = th_str_find(x->s, TH_STR("<|box_end"));
	if (close < 0)
		return th_fail(x->err, TH_EPROTO, "a tag has no end");
	end = (size_t)close;
	while (end < x->s.len && x->s.ptr[end] != '>')
		end++;
	ret->kind = TH_VALUE_WORD;
	ret->text = th_str_sub(x->s, 0, end + 1);
	drop(x, end + 1);
	return TH_OK;
}

static size_t number_len(struct th_str s)
{
	size_t n = 0;

	while (n < s.len &&
	       ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || (s.ptr[n] && strchr("+-.eE", s.ptr[n]))))
		n++;
	return n;
}

static enum th_code read_value(struct scan *x, int depth, struct th_value *ret)
{
	char c = peek(x);
	size_t n = name_len(x->s);

	*ret = (struct th_value){ 0 };
	if (c == '\'' || c == '"')
		return read_text(x, 0, ret);
	if (n == 1 && x->s.len > 1 && (x->s.ptr[1] == '\'' || x->s.ptr[1] == '"') &&
	    strchr("rRuU", c))
		return read_text(x, 1, ret);
	if (c == '[' || c == '(')
		return read_list(x, depth, ret);
	if (c == '<')
		return read_tag(x, ret);
	if (n) {
		ret->kind = TH_VALUE_WORD;
		ret->text = th_str_sub(x->s, 0, n);
		drop(x, n);
		return TH_OK;
	}
	n = number_len(x->s);
	if (!n || !th_str_f64(th_str_sub(x->s, 0, n), &ret->number))
		return th_fail(x->err, TH_EPROTO, "an argument is not a text, a number or a list");
	ret->kind = TH_VALUE_NUMBER;
	ret->text = th_str_sub(x->s, 0, n);
	drop(x, n);
	return TH_OK;
}

/* ---- calls ---- */

static enum th_code read_args(struct scan *x, struct th_text_call *ret)
{
	while (peek(x) != ')') {
		enum th_code code;

		if (!x->s.len)
			return th_fail(x->err, TH_EPROTO, "%.*s(: the call does not end",
				       TH_FMT(ret->name));
		if (ret->count == TH_CALL_ARGS_MAX)
			return th_fail(x->err, TH_EPROTO, "a call has more than %d arguments",
				       TH_CALL_ARGS_MAX);
		ret->keys[ret->count] = (struct th_str){ NULL, 0 };
		if (argument_begins(x->s)) {
			size_t n = name_len(x->s);

			ret->keys[ret->count] = th_str_sub(x->s, 0, n);
			drop(x, n);
			peek(x);
			drop(x, 1);
		}
		code = read_value(x, 0, &ret->values[ret->count]);
		if (code)
			return th_prefix(x->err, code, "%.*s", TH_FMT(ret->name));
		ret->count++;
		if (peek(x) == ',')
			drop(x, 1);
		else if (peek(x) != ')')
			return th_fail(x->err, TH_EPROTO,
				       "%.*s: only plain values can be arguments",
				       TH_FMT(ret->name));
	}
	drop(x, 1);
	return TH_OK;
}

enum th_code th_call_read(struct th_str *text, struct th_arena *a, struct th_text_call *ret,
			  struct th_err *err)
{
	struct scan x = { .a = a, .err = err };
	enum th_code code;
	size_t n;

	ret->name = ret->source = (struct th_str){ NULL, 0 };
	ret->count = 0;
	if (!th_call_begins(text))
		return th_fail(err, TH_EPROTO, "there is no call");
	x.s = *text;
	n = name_len(x.s);
	ret->name = th_str_sub(x.s, 0, n);
	drop(&x, n);
	peek(&x);
	drop(&x, 1);
	code = read_args(&x, ret);
	ret->source = th_str_sub(*text, 0, text->len - x.s.len);
	if (!code)
		*text = x.s;
	return code;
}

const struct th_value *th_call_get(const struct th_text_call *call, const char *names)
{
	struct th_str rest = th_str_of(names);

	while (rest.len) {
		struct th_str name = th_str_split(&rest, '|');

		for (size_t i = 0; i < call->count; i++)
			if (th_str_ieq(call->keys[i], name))
				return &call->values[i];
	}
	return NULL;
}

const struct th_value *th_call_at(const struct th_text_call *call, size_t n)
{
	for (size_t i = 0; i < call->count; i++)
		if (!call->keys[i].len && n-- == 0)
			return &call->values[i];
	return NULL;
}

enum th_code th_call_button(const struct th_text_call *call, enum th_button *ret,
			    struct th_err *err)
{
	const struct th_value *v = th_call_get(call, "button");
	int button = th_button_find(th_value_text(v));

	if (!v)
		return TH_OK;
	if (button < 0)
		return th_fail(err, TH_EPROTO, "button must be left, right or middle");
	*ret = (enum th_button)button;
	return TH_OK;
}

struct th_str th_value_text(const struct th_value *v)
{
	return v ? v->text : TH_STR("");
}

bool th_value_number(const struct th_value *v, double *ret)
{
	if (v && v->kind == TH_VALUE_NUMBER) {
		*ret = v->number;
		return true;
	}
	return v && v->kind == TH_VALUE_TEXT && th_str_f64(th_str_trim(v->text), ret);
}

int th_value_numbers(const struct th_value *v, double *ret, int max)
{
	return v ? th_dialect_numbers(v->text, ret, max) : -1;
}

void th_call_quote(struct th_buf *out, struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c == '\\' || c == '\'')
			th_buf_add_char(out, '\\');
		if (c == '\n')
			th_buf_add_cstr(out, "\\n");
		else if (c == '\t')
			th_buf_add_cstr(out, "\\t");
		else if (c == '\r')
			th_buf_add_cstr(out, "\\r");
		else
			th_buf_add_char(out, c);
	}
}
