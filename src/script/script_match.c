/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_match.c - the matcher of Lua's patterns, with every step charged.
 */
#include <ctype.h>
#include <string.h>

#include "script/script_match.h"

/* Where the item that begins at p ends, without its repetition. */
static const char *item_end(struct match *m, const char *p)
{
	if (*p == '%') {
		if (p + 1 == m->pattern_end)
			luaL_error(m->L, "malformed pattern (ends with '%%')");
		return p + 2;
	}
	if (*p++ != '[')
		return p;
	if (p < m->pattern_end && *p == '^')
		p++;
	/* A ']' at the beginning is one of the set. */
	do {
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (missing ']')");
		if (*p++ == '%' && p < m->pattern_end)
			p++;
	} while (p == m->pattern_end || *p != ']');
	return p + 1;
}

static bool in_class(int c, int class)
{
	bool ret;

	switch (tolower(class)) {
	case 'a':
		ret = isalpha(c);
		break;
	case 'c':
		ret = iscntrl(c);
		break;
	case 'd':
		ret = isdigit(c);
		break;
	case 'g':
		ret = isgraph(c);
		break;
	case 'l':
		ret = islower(c);
		break;
	case 'p':
		ret = ispunct(c);
		break;
	case 's':
		ret = isspace(c);
		break;
	case 'u':
		ret = isupper(c);
		break;
	case 'w':
		ret = isalnum(c);
		break;
	case 'x':
		ret = isxdigit(c);
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !ret : ret;
}

/* [p, end): from '[' to the ']' that closes it. */
static bool in_set(int c, const char *p, const char *end)
{
	bool wanted = true;

	if (*++p == '^') {
		wanted = false;
		p++;
	}
	for (; p < end; p++) {
		if (*p == '%' && p + 1 < end) {
			if (in_class(c, (unsigned char)*++p))
				return wanted;
		} else if (p + 2 < end && p[1] == '-') {
			if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
				return wanted;
			p += 2;
		} else if ((unsigned char)*p == c)
			return wanted;
	}
	return !wanted;
}

/* Does the item [p, end) match the character at s? */
static bool matches_one(struct match *m, const char *s, const char *p, const char *end)
{
	if (s >= m->end)
		return false;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return in_class((unsigned char)*s, (unsigned char)p[1]);
	case '[':
		th_script_charge(m->L, (end - p) / 8);
		return in_set((unsigned char)*s, p, end - 1);
	default:
		return *p == *s;
	}
}

static const char *match_longest(struct match *m, const char *s, const char *p, const char *end)
{
	ptrdiff_t count = 0;

	for (; matches_one(m, s + count, p, end); count++)
		th_script_charge(m->L, 1);
	for (; count >= 0; count--) {
		const char *ret = th_script_match(m, s + count, end + 1);

		if (ret)
			return ret;
	}
	return NULL;
}

static const char *match_shortest(struct match *m, const char *s, const char *p, const char *end)
{
	for (;; s++) {
		const char *ret = th_script_match(m, s, end + 1);

		if (ret)
			return ret;
		if (!matches_one(m, s, p, end))
			return NULL;
	}
}

static const char *match_open(struct match *m, const char *s, const char *p, ptrdiff_t what)
{
	const char *ret;

	if (m->count >= TH_SCRIPT_CAPTURES_MAX)
		luaL_error(m->L, "too many captures");
	m->captures[m->count].start = s;
	m->captures[m->count].len = what;
	m->count++;
	ret = th_script_match(m, s, p);
	if (!ret)
		m->count--;
	return ret;
}

static const char *match_close(struct match *m, const char *s, const char *p)
{
	const char *ret;
	int i = m->count - 1;

	while (i >= 0 && m->captures[i].len != OPEN)
		i--;
	if (i < 0)
		luaL_error(m->L, "invalid pattern capture");
	m->captures[i].len = s - m->captures[i].start;
	ret = th_script_match(m, s, p);
	if (!ret)
		m->captures[i].len = OPEN;
	return ret;
}

static const char *match_balance(struct match *m, const char *s, const char *p)
{
	int depth = 1;

	if (p + 1 >= m->pattern_end)
		luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
	if (s >= m->end || *s != *p)
		return NULL;
	while (++s < m->end) {
		th_script_charge(m->L, 1);
		if (*s == p[1]) {
			if (--depth == 0)
				return s + 1;
		} else if (*s == p[0])
			depth++;
	}
	return NULL;
}

static int capture_index(struct match *m, int digit)
{
	int i = digit - '1';

	if (i < 0 || i >= m->count || m->captures[i].len == OPEN)
		luaL_error(m->L, "invalid capture index %%%d", i + 1);
	return i;
}

static const char *match_back(struct match *m, const char *s, int digit)
{
	int i = capture_index(m, digit);
	size_t len = (size_t)TH_MAX(m->captures[i].len, 0);

	th_script_charge(m->L, (int64_t)(len / 64));
	if ((size_t)(m->end - s) < len || memcmp(m->captures[i].start, s, len) != 0)
		return NULL;
	return s + len;
}

/* %f[set] */
static bool at_frontier(struct match *m, const char *s, const char *p, const char *end)
{
	int before = s == m->start ? 0 : (unsigned char)s[-1];
	int here = s < m->end ? (unsigned char)*s : 0;

	th_script_charge(m->L, (end - p) / 4);
	return !in_set(before, p, end - 1) && in_set(here, p, end - 1);
}

/* What stands at *p, where it is neither a capture nor an anchor.  True: *s and *p were moved, and
 * it goes on; false: *ret is the end of it all. */
static bool match_item(struct match *m, const char **s, const char **p, const char **ret)
{
	char what = **p == '%' && *p + 1 < m->pattern_end ? (*p)[1] : '\0';
	const char *end;

	*ret = NULL;
	if (what == 'b') {
		*s = match_balance(m, *s, *p + 2);
		*p += 4;
		return *s;
	}
	if (what == 'f') {
		*p += 2;
		if (*p == m->pattern_end || **p != '[')
			luaL_error(m->L, "missing '[' after '%%f' in pattern");
		end = item_end(m, *p);
		if (!at_frontier(m, *s, *p, end))
			return false;
		*p = end;
		return true;
	}
	if (isdigit((unsigned char)what)) {
		*s = match_back(m, *s, (unsigned char)what);
		*p += 2;
		return *s;
	}
	end = item_end(m, *p);
	switch (end < m->pattern_end ? *end : '\0') {
	case '?':
		if (matches_one(m, *s, *p, end)) {
			*ret = th_script_match(m, *s + 1, end + 1);
			if (*ret)
				return false;
		}
		*p = end + 1;
		return true;
	case '*':
		*ret = match_longest(m, *s, *p, end);
		return false;
	case '+':
		*ret = matches_one(m, *s, *p, end) ? match_longest(m, *s + 1, *p, end) : NULL;
		return false;
	case '-':
		*ret = match_shortest(m, *s, *p, end);
		return false;
	default:
		if (!matches_one(m, *s, *p, end))
			return false;
		++*s;
		*p = end;
		return true;
	}
}

/* Where the match ends, or NULL. */
const char *th_script_match(struct match *m, const char *s, const char *p)
{
	const char *ret = NULL;

	if (++m->depth > TH_SCRIPT_MATCH_DEPTH_MAX)
		luaL_error(m->L, "pattern too complex");
	for (;;) {
		th_script_charge(m->L, 1);
		if (p == m->pattern_end) {
			ret = s;
			break;
		}
		if (*p == '(') {
			bool position = p + 1 < m->pattern_end && p[1] == ')';

			ret = match_open(m, s, p + (position ? 2 : 1), position ? POSITION : OPEN);
			break;
		}
		if (*p == ')') {
			ret = match_close(m, s, p + 1);
			break;
		}
		if (*p == '$' && p + 1 == m->pattern_end) {
			ret = s == m->end ? s : NULL;
			break;
		}
		if (!match_item(m, &s, &p, &ret))
			break;
	}
	m->depth--;
	return ret;
}
