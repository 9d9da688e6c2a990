/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_pattern.c - Lua's patterns, with every step charged.
 *
 * The language is Lua 5.4's (manual, section 6.4.1).  Lua's own matcher has no
 * bound on its time: a pattern of twenty "a-" keeps it busy for years inside one
 * call, where no hook rings.
 */
#include "script/script_match.h"
#include "script/script_state.h"

#include <ctype.h>
#include <string.h>

const char *th_script_match(struct match *m, const char *s, const char *p);

/* ---- repetitions and captures --------------------------------------------------------------- */

/* ---- the pattern -------------------------------------------------------------------------- */

/* ---- for scripts -------------------------------------------------------------------------- */

/* Capture i; without any, the whole match is the first. */
static void push_capture(struct match *m, int i, const char *s, const char *end)
{
	if (i >= m->count) {
		if (i > 0)
			luaL_error(m->L, "invalid capture index %%%d", i + 1);
		lua_pushlstring(m->L, s, (size_t)(end - s));
		return;
	}
	if (m->captures[i].len == OPEN)
		luaL_error(m->L, "unfinished capture");
	if (m->captures[i].len == POSITION)
		lua_pushinteger(m->L, m->captures[i].start - m->start + 1);
	else
		lua_pushlstring(m->L, m->captures[i].start, (size_t)m->captures[i].len);
}

/* All of them; with `s`, the whole match where there are none. */
static int push_captures(struct match *m, const char *s, const char *end)
{
	int count = m->count == 0 && s ? 1 : m->count;

	luaL_checkstack(m->L, count, "too many captures");
	for (int i = 0; i < count; i++)
		push_capture(m, i, s, end);
	return count;
}

static const char *try_at(struct match *m, const char *s, const char *p)
{
	m->count = 0;
	m->depth = 0;
	return th_script_match(m, s, p);
}

static struct match matcher(lua_State *L, struct th_str subject, struct th_str pattern)
{
	struct match m = { .L = L };

	m.start = subject.ptr;
	m.end = subject.ptr + subject.len;
	m.pattern_end = pattern.ptr + pattern.len;
	return m;
}

static struct th_str check_str(lua_State *L, int index)
{
	struct th_str ret;

	ret.ptr = luaL_checklstring(L, index, &ret.len);
	return ret;
}

/* From a position as scripts give it, to an offset; past the end: len + 1. */
static size_t start_offset(lua_State *L, int index, size_t len)
{
	lua_Integer at = luaL_optinteger(L, index, 1);

	if (at > 0)
		return (size_t)TH_MIN((lua_Unsigned)at - 1, (lua_Unsigned)len + 1);
	if (at == 0 || at < -(lua_Integer)len)
		return 0;
	return len - (size_t)-at;
}

static int find_plain(lua_State *L, struct th_str subject, struct th_str what, size_t from)
{
	const char *at = memmem(subject.ptr + from, subject.len - from, what.ptr, what.len);

	th_script_charge(L, (int64_t)((subject.len - from + what.len) / 16));
	if (!at) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, at - subject.ptr + 1);
	lua_pushinteger(L, at - subject.ptr + (lua_Integer)what.len);
	return 2;
}

static bool has_specials(struct th_str pattern)
{
	for (size_t i = 0; i < pattern.len; i++)
		if (memchr("^$*+?.([%-", pattern.ptr[i], 10))
			return true;
	return false;
}

static int find_or_match(lua_State *L, bool find)
{
	struct th_str subject = check_str(L, 1), pattern = check_str(L, 2);
	size_t from = start_offset(L, 3, subject.len);
	struct match m = matcher(L, subject, pattern);
	const char *p = pattern.ptr, *s = subject.ptr + from;
	bool anchor = pattern.len > 0 && *p == '^';

	th_script_charge(L, 5 + (int64_t)(pattern.len / 16));
	if (from > subject.len) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || !has_specials(pattern)))
		return find_plain(L, subject, pattern, from);
	do {
		const char *end = try_at(&m, s, p + anchor);

		if (end && find) {
			lua_pushinteger(L, s - subject.ptr + 1);
			lua_pushinteger(L, end - subject.ptr);
			return push_captures(&m, NULL, NULL) + 2;
		}
		if (end)
			return push_captures(&m, s, end);
	} while (s++ < m.end && !anchor);
	lua_pushnil(L);
	return 1;
}

static int str_find(lua_State *L)
{
	return find_or_match(L, true);
}

static int str_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: subject, pattern, offset of the next try, end of the last match (or -1). */
static int gmatch_next(lua_State *L)
{
	struct th_str subject = check_str(L, lua_upvalueindex(1));
	struct th_str pattern = check_str(L, lua_upvalueindex(2));
	size_t at = (size_t)lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct match m = matcher(L, subject, pattern);

	th_script_charge(L, 3);
	for (; at <= subject.len; at++) {
		const char *s = subject.ptr + at, *end = try_at(&m, s, pattern.ptr);

		/* The end of the match before is no match of nothing again. */
		if (!end || end - subject.ptr == last)
			continue;
		lua_pushinteger(L, end - subject.ptr);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, s, end);
	}
	lua_pushinteger(L, (lua_Integer)subject.len + 1);
	lua_replace(L, lua_upvalueindex(3));
	return 0;
}

static int str_gmatch(lua_State *L)
{
	struct th_str subject = check_str(L, 1);
	size_t from;

	luaL_checkstring(L, 2);
	from = start_offset(L, 3, subject.len);
	th_script_charge(L, 5);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)from);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* ---- gsub --------------------------------------------------------------------------------- */

static void add_text(struct match *m, luaL_Buffer *out, struct th_str text, const char *s,
		     const char *end)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		th_script_charge(m->L, 1);
		if (c != '%') {
			luaL_addchar(out, c);
			continue;
		}
		c = ++i < text.len ? text.ptr[i] : '\0';
		if (c == '%')
			luaL_addchar(out, c);
		else if (c == '0')
			luaL_addlstring(out, s, (size_t)(end - s));
		else if (isdigit((unsigned char)c)) {
			push_capture(m, c - '1', s, end);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(out);
		} else
			luaL_error(m->L, "invalid use of '%%' in replacement string");
	}
}

/* What [s, end) becomes; the third argument says.  True: something else than it was. */
static bool add_replacement(struct match *m, luaL_Buffer *out, const char *s, const char *end)
{
	lua_State *L = m->L;

	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, s, end), 1);
		break;
	case LUA_TTABLE:
		push_capture(m, 0, s, end);
		lua_gettable(L, 3);
		break;
	default:
		add_text(m, out, check_str(L, 3), s, end);
		return true;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(out, s, (size_t)(end - s));
		return false;
	}
	if (!lua_isstring(L, -1))
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(out);
	return true;
}

static int str_gsub(lua_State *L)
{
	struct th_str subject = check_str(L, 1), pattern = check_str(L, 2);
	int kind = lua_type(L, 3);
	lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)subject.len + 1), count = 0;
	struct match m = matcher(L, subject, pattern);
	bool anchor = pattern.len > 0 && *pattern.ptr == '^';
	const char *s = subject.ptr, *last = NULL;
	luaL_Buffer out;

	luaL_argexpected(L,
			 kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION ||
			     kind == LUA_TTABLE,
			 3, "string/function/table");
	th_script_charge(L, 5);
	lua_settop(L, 4);
	luaL_buffinit(L, &out);
	while (count < most) {
		const char *end = try_at(&m, s, pattern.ptr + anchor);

		if (end && end != last) {
			count++;
			add_replacement(&m, &out, s, end);
			s = last = end;
		} else if (s < m.end)
			luaL_addchar(&out, *s++);
		else
			break;
		if (anchor)
			break;
	}
	luaL_addlstring(&out, s, (size_t)(m.end - s));
	luaL_pushresult(&out);
	lua_pushinteger(L, count);
	return 2;
}

void th_script_open_patterns(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "find", str_find }, { "match", str_match }, { "gmatch", str_gmatch },
		{ "gsub", str_gsub }, { NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
