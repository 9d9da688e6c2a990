/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include "base/limits.h"

struct glob {
	unsigned steps;
	unsigned depth;
	enum th_glob kind;
};

static bool match(struct glob *g, struct th_str p, struct th_str s, bool at_start);

static struct th_str rest(struct th_str s, size_t from)
{
	return th_str_sub(s, from, s.len);
}

/* The set that p begins with against one character; how long the set is, 0: it is none. */
static size_t match_set(struct th_str p, char c, bool *ret)
{
	size_t i = 1;
	bool not = p.len > 1 && (p.ptr[1] == '!' || p.ptr[1] == '^'), in = false;

	i += not ;
	for (size_t first = i; i < p.len && (i == first || p.ptr[i] != ']'); i++) {
		unsigned char from = (unsigned char)p.ptr[i], to = from, at = (unsigned char)c;

		if (from == '\\' && i + 1 < p.len)
			from = to = (unsigned char)p.ptr[++i];
		if (i + 2 < p.len && p.ptr[i + 1] == '-' && p.ptr[i + 2] != ']') {
			to = (unsigned char)p.ptr[i + 2];
			i += 2;
		}
		in |= at >= from && at <= to;
	}
	if (i >= p.len)
		return 0;
	*ret = in != not &&c != '/';
	return i + 1;
}

/* "**" as a whole part: `p` is what follows it, with its slash. */
static bool match_folders(struct glob *g, struct th_str p, struct th_str s)
{
	ptrdiff_t slash;

	if (p.len == 0)
		return true;
	p = rest(p, 1);
	for (;;) {
		if (match(g, p, s, true))
			return true;
		slash = th_str_find_char(s, '/');
		if (slash < 0)
			return false;
		s = rest(s, (size_t)slash + 1);
	}
}

/* Two stars of TH_GLOB_STARS: `p` is what follows them. */
static bool match_any(struct glob *g, struct th_str p, struct th_str s)
{
	if (th_str_starts(p, TH_STR("/")))
		return match_folders(g, p, s);
	for (size_t i = 0; i <= s.len; i++)
		if (match(g, p, rest(s, i), false))
			return true;
	return false;
}

static bool match_star(struct glob *g, struct th_str p, struct th_str s)
{
	for (size_t i = 0;; i++) {
		if (match(g, p, rest(s, i), false))
			return true;
		if (i >= s.len || s.ptr[i] == '/')
			return false;
	}
}

/* The end of what is in braces, or 0: they are not closed. */
static size_t braces_end(struct th_str p)
{
	size_t depth = 0;

	for (size_t i = 0; i < p.len; i++) {
		if (p.ptr[i] == '\\')
			i++;
		else if (p.ptr[i] == '{')
			depth++;
		else if (p.ptr[i] == '}' && --depth == 0)
			return i;
	}
	return 0;
}

/* One of "{a,b}" and then the rest: each is tried as a pattern of its own. */
static bool match_braces(struct glob *g, struct th_str p, size_t end, struct th_str s,
			 bool at_start)
{
	char joined[TH_GLOB_SIZE_MAX];
	size_t depth = 0, from = 1;

	for (size_t i = 1; i <= end; i++) {
		size_t len = i - from, more = p.len - end - 1;

		if (p.ptr[i] == '\\' && i < end) {
			i++;
			continue;
		}
		if (p.ptr[i] == '{')
			depth++;
		else if (p.ptr[i] == '}' && i < end)
			depth--;
		if (i < end && (p.ptr[i] != ',' || depth > 0))
			continue;
		memcpy(joined, p.ptr + from, len);
		memcpy(joined + len, p.ptr + end + 1, more);
		if (match(g, th_str_n(joined, len + more), s, at_start))
			return true;
		from = i + 1;
	}
	return false;
}

static bool is_folders(const struct glob *g, struct th_str p, bool at_start)
{
	return g->kind != TH_GLOB_STARS && at_start && th_str_starts(p, TH_STR("**")) &&
	       (p.len == 2 || p.ptr[2] == '/');
}

static bool match_here(struct glob *g, struct th_str p, struct th_str s, bool at_start)
{
	for (;; at_start = false) {
		size_t end = 1;
		bool same;

		if (++g->steps > TH_GLOB_STEPS_MAX)
			return false;
		if (p.len == 0)
			return s.len == 0;
		if (is_folders(g, p, at_start))
			return match_folders(g, rest(p, 2), s);
		if (g->kind == TH_GLOB_STARS && th_str_starts(p, TH_STR("**")))
			return match_any(g, rest(p, 2), s);
		if (p.ptr[0] == '*')
			return match_star(g, rest(p, 1), s);
		if (g->kind == TH_GLOB_SHELL && p.ptr[0] == '{' && (end = braces_end(p)) > 0)
			return match_braces(g, p, end, s, at_start);
		if (s.len == 0)
			return false;
		end = 1;
		if (p.ptr[0] == '?') {
			same = s.ptr[0] != '/';
		} else if (g->kind == TH_GLOB_STARS) {
			same = p.ptr[0] == s.ptr[0];
		} else if (p.ptr[0] != '[' || (end = match_set(p, s.ptr[0], &same)) == 0) {
			end = p.ptr[0] == '\\' && p.len > 1 ? 2 : 1;
			same = p.ptr[end - 1] == s.ptr[0];
		}
		if (!same)
			return false;
		if (s.ptr[0] == '/' && is_folders(g, rest(p, end), true))
			return match_folders(g, rest(p, end + 2), rest(s, 1));
		p = rest(p, end);
		s = rest(s, 1);
	}
}

static bool match(struct glob *g, struct th_str p, struct th_str s, bool at_start)
{
	bool found;

	if (g->depth == TH_GLOB_DEPTH_MAX)
		return false;
	g->depth++;
	found = match_here(g, p, s, at_start);
	g->depth--;
	return found;
}

bool th_glob_path(struct th_str pattern, struct th_str path, enum th_glob kind)
{
	struct glob g = { .kind = kind };

	return pattern.len < TH_GLOB_SIZE_MAX && match_here(&g, pattern, path, true);
}
