/* SPDX-License-Identifier: Apache-2.0 */
/* th_str_f64 is in json.c, which has a number reader that no locale can change. */
#include "base/str.h"

static unsigned char fold(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

bool th_str_ieq(struct th_str a, struct th_str b)
{
	return a.len == b.len && th_str_istarts(a, b);
}

int th_str_cmp(struct th_str a, struct th_str b)
{
	size_t len = TH_MIN(a.len, b.len);
	int diff = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

bool th_str_starts(struct th_str s, struct th_str prefix)
{
	return s.len >= prefix.len && (!prefix.len || !memcmp(s.ptr, prefix.ptr, prefix.len));
}

bool th_str_ends(struct th_str s, struct th_str suffix)
{
	return s.len >= suffix.len &&
	       (!suffix.len || !memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len));
}

bool th_str_istarts(struct th_str s, struct th_str prefix)
{
	if (s.len < prefix.len)
		return false;
	for (size_t i = 0; i < prefix.len; i++)
		if (fold(s.ptr[i]) != fold(prefix.ptr[i]))
			return false;
	return true;
}

ptrdiff_t th_str_find(struct th_str s, struct th_str what)
{
	const char *at;

	if (!what.len)
		return 0;
	if (s.len < what.len)
		return -1;
	at = memmem(s.ptr, s.len, what.ptr, what.len);
	return at ? at - s.ptr : -1;
}

ptrdiff_t th_str_find_char(struct th_str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? at - s.ptr : -1;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct th_str th_str_trim(struct th_str s)
{
	while (s.len && is_space(s.ptr[s.len - 1]))
		s.len--;
	while (s.len && is_space(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	return s;
}

struct th_str th_str_sub(struct th_str s, size_t from, size_t len)
{
	from = TH_MIN(from, s.len);
	if (from)
		s.ptr += from;
	s.len = TH_MIN(len, s.len - from);
	return s;
}

struct th_str th_str_split(struct th_str *s, char sep)
{
	ptrdiff_t at = th_str_find_char(*s, sep);
	struct th_str head = *s;

	if (at < 0) {
		*s = th_str_sub(*s, s->len, 0);
		return head;
	}
	head.len = (size_t)at;
	*s = th_str_sub(*s, head.len + 1, s->len);
	return head;
}

bool th_str_i64(struct th_str s, int64_t *ret)
{
	bool minus = s.len && s.ptr[0] == '-';
	int64_t v = 0;

	if (s.len == minus)
		return false;
	for (size_t i = minus; i < s.len; i++) {
		int digit = s.ptr[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, minus ? -digit : digit, &v))
			return false;
	}
	*ret = v;
	return true;
}
