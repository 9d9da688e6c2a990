/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_raw.c - verbatim pieces of a JSON text that is not parsed: total on any
 * bytes, and each piece is the text's own.
 */
#include "base/json_internal.h"
#include "base/limits.h"
#include "base/text.h"

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* Behind the container that starts at p, its brackets paired by kind; NULL: no end, or too deep. */
static const char *skip_container(const char *p, const char *end)
{
	uint64_t kinds = 0; /* a bit for each open bracket: 1 is { */
	size_t depth = 0;

	_Static_assert(TH_JSON_DEPTH_MAX <= 64, "kinds has a bit for each level");
	while ((p = th_json_skip_to(p, end, TH_JSON_NEST)) < end) {
		char c = *p++;

		if (c == '"') {
			p = th_json_skip_string(p, end);
			if (!p)
				return NULL;
		} else if (c == '[' || c == '{') {
			if (++depth > TH_JSON_DEPTH_MAX)
				return NULL;
			kinds = kinds << 1 | (c == '{');
		} else {
			if ((c == '}') != (kinds & 1))
				return NULL;
			kinds >>= 1;
			if (--depth == 0)
				return p;
		}
	}
	return NULL;
}

/* Behind the value that starts at p; NULL when none does.  A scalar ends where JSON must go on. */
static const char *skip_value(const char *p, const char *end)
{
	const char *start = p;

	if (p == end)
		return NULL;
	if (*p == '"')
		return th_json_skip_string(p + 1, end);
	if (*p == '[' || *p == '{')
		return skip_container(p, end);
	while (p < end && (unsigned char)*p > ' ' && *p != ',' && *p != ':' &&
	       !(th_json_stops[(unsigned char)*p] & (TH_JSON_NEST | TH_JSON_QUOTE)))
		p++;
	return p == start ? NULL : p;
}

struct th_json_raw_iter th_json_raw_iter(struct th_str container)
{
	struct th_str none = { NULL, 0 }, rest = none;
	const char *end, *p = container.ptr;
	bool object = false;

	if (container.len) {
		end = p + container.len;
		p = skip_space(p, end);
		object = p < end && *p == '{';
		if (object || (p < end && *p == '['))
			rest = th_str_n(p + 1, (size_t)(end - p - 1));
	}
	return (struct th_json_raw_iter){ rest, none, none, object, false };
}

/* Behind a member's key and colon, at its value; NULL when there is no such thing. */
static const char *raw_key(struct th_json_raw_iter *it, const char *p, const char *end)
{
	const char *close;

	if (p == end || *p != '"')
		return NULL;
	close = th_json_skip_string(p + 1, end);
	if (!close)
		return NULL;
	it->key = th_str_n(p + 1, (size_t)(close - 1 - (p + 1)));
	p = skip_space(close, end);
	return p < end && *p == ':' ? skip_space(p + 1, end) : NULL;
}

bool th_json_raw_next(struct th_json_raw_iter *it)
{
	struct th_str rest = it->rest;
	const char *p, *end, *stop;

	it->key = it->val = it->rest = (struct th_str){ NULL, 0 };
	if (!rest.ptr)
		return false;
	end = rest.ptr + rest.len;
	p = skip_space(rest.ptr, end);
	if (it->started) {
		if (p == end || *p != ',')
			return false;
		p = skip_space(p + 1, end);
	}
	it->started = true;
	if (it->object)
		p = raw_key(it, p, end);
	stop = p ? skip_value(p, end) : NULL;
	if (!stop) {
		it->key = (struct th_str){ NULL, 0 };
		return false;
	}
	it->val = th_str_n(p, (size_t)(stop - p));
	it->rest = th_str_n(stop, (size_t)(end - stop));
	return true;
}

struct th_json_walk th_json_walk(struct th_str text)
{
	if (!text.ptr)
		text = TH_STR("");
	return (struct th_json_walk){ text.ptr, text.ptr + text.len, false, false };
}

bool th_json_enter(struct th_json_walk *w, char open)
{
	w->at = skip_space(w->at, w->end);
	if (w->failed || w->at == w->end || *w->at != open)
		return false;
	w->at++;
	w->fresh = true;
	return true;
}

static bool walk_fail(struct th_json_walk *w)
{
	w->failed = true;
	w->at = w->end;
	return false;
}

/* Behind the comma, or `close`, or where the first value is. */
static bool walk_on(struct th_json_walk *w, char close)
{
	w->at = skip_space(w->at, w->end);
	if (w->at == w->end)
		return walk_fail(w);
	if (*w->at == close) {
		w->at++;
		w->fresh = false;
		return false;
	}
	if (!w->fresh && *w->at++ != ',')
		return walk_fail(w);
	w->fresh = false;
	w->at = skip_space(w->at, w->end);
	return true;
}

bool th_json_member(struct th_json_walk *w, struct th_str *ret_key)
{
	const char *close = NULL, *p;

	*ret_key = (struct th_str){ NULL, 0 };
	if (!walk_on(w, '}'))
		return false;
	p = w->at;
	if (p < w->end && *p == '"')
		close = th_json_skip_string(p + 1, w->end);
	if (!close)
		return walk_fail(w);
	w->at = skip_space(close, w->end);
	if (w->at == w->end || *w->at != ':')
		return walk_fail(w);
	w->at = skip_space(w->at + 1, w->end);
	*ret_key = th_str_n(p + 1, (size_t)(close - 1 - (p + 1)));
	return true;
}

bool th_json_element(struct th_json_walk *w)
{
	return walk_on(w, ']');
}

struct th_str th_json_skip(struct th_json_walk *w)
{
	const char *p = w->at, *stop = skip_value(p, w->end);

	if (!stop) {
		walk_fail(w);
		return (struct th_str){ NULL, 0 };
	}
	w->at = stop;
	return th_str_n(p, (size_t)(stop - p));
}

bool th_json_walked(const struct th_json_walk *w)
{
	return !w->failed && skip_space(w->at, w->end) == w->end;
}

static int hex4(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* The escape behind a backslash at *p: moves *p behind it and gives its character, -1 for none. */
static int32_t unescape_one(const char **p, const char *end)
{
	static const char names[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	int high, low;

	if (*p == end)
		return -1;
	char c = *(*p)++;

	if (c != 'u') {
		for (const char *n = names; *n; n += 2)
			if (*n == c)
				return n[1];
		return -1;
	}
	high = hex4(*p, end);
	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return -1;
	*p += 4;
	if (high < 0xd800 || high > 0xdbff)
		return high;
	if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return -1;
	low = hex4(*p + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*p += 6;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The inside of a raw string. */
static bool unescape(struct th_str inside, struct th_buf *out)
{
	const char *p = inside.ptr, *end = p + inside.len;

	while (p < end) {
		const char *stop = th_json_skip_to(p, end, TH_JSON_ESCAPE);
		int32_t cp;

		th_buf_add_mem(out, p, (size_t)(stop - p));
		if (stop == end)
			break;
		if (*stop != '\\')
			return false; /* a bare quote or control character */
		p = stop + 1;
		cp = unescape_one(&p, end);
		if (cp < 0)
			return false;
		th_utf8_add(out, (uint32_t)cp);
	}
	return true;
}

bool th_json_unescape(struct th_str raw, struct th_buf *out)
{
	size_t len = out->len;

	if (raw.len < 2 || raw.ptr[0] != '"' || raw.ptr[raw.len - 1] != '"')
		return false;
	raw = th_str_sub(raw, 1, raw.len - 2);
	if (th_utf8_valid(raw) == raw.len && unescape(raw, out))
		return true;
	th_buf_truncate(out, len);
	return false;
}

/* Whether a raw key means `key`, escaped or not, as the parser would have it. */
static bool raw_key_is(struct th_str raw, struct th_str key)
{
	/* An escape is longer than what it means. */
	if (raw.len < key.len || (raw.len == key.len && memcmp(raw.ptr, key.ptr, key.len) != 0))
		return false;
	if (th_str_find_char(raw, '\\') < 0)
		return raw.len == key.len;

	struct th_buf plain = TH_BUF_INIT(raw.len);
	bool same = unescape(raw, &plain) && th_str_eq(th_buf_str(&plain), key);

	th_buf_deinit(&plain);
	return same;
}

struct th_str th_json_raw_getn(struct th_str object, struct th_str key)
{
	struct th_json_raw_iter it = th_json_raw_iter(object);

	while (it.object && th_json_raw_next(&it))
		if (raw_key_is(it.key, key))
			return it.val;
	return (struct th_str){ NULL, 0 };
}

void th_json_raw_gets(struct th_str object, size_t count, const char *const keys[],
		      struct th_str values[])
{
	struct th_json_raw_iter it = th_json_raw_iter(object);
	size_t left = count;

	for (size_t i = 0; i < count; i++)
		values[i] = (struct th_str){ NULL, 0 };
	while (left > 0 && it.object && th_json_raw_next(&it))
		for (size_t i = 0; i < count; i++)
			if (!values[i].ptr && raw_key_is(it.key, th_str_of(keys[i]))) {
				values[i] = it.val;
				left--;
				break;
			}
}
