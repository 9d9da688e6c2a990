/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_lib.c - the globals of a script: Lua's own, without what reaches out
 * of the box, and with what could loop inside C held.
 *
 * Left out, and why: load, dofile, require, package, io, os, debug (they reach
 * out, or into the state); string.dump, pack and unpack (bytecode, layouts);
 * math.random (a script gives the same answer each time); collectgarbage;
 * xpcall (its handler runs where the error is); coroutine.close and __gc (both
 * run code where Lua's hook is off).
 */
#include "script/script_state.h"

#include <stdio.h>

#include "base/text.h"

/* ---- basics ------------------------------------------------------------------------------- */

static int pcall_ended(lua_State *L, int status, lua_KContext ctx)
{
	(void)ctx;
	if (status != LUA_OK && status != LUA_YIELD) {
		th_script_caught(L, status, -1);
		lua_pushboolean(L, false);
		lua_insert(L, -2);
		return 2;
	}
	th_script_charge(L, 0);
	return lua_gettop(L); /* true is the first of them */
}

static int base_pcall(lua_State *L)
{
	int status;

	luaL_checkany(L, 1);
	th_script_charge(L, 5);
	lua_pushboolean(L, true);
	lua_insert(L, 1);
	status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, pcall_ended);
	return pcall_ended(L, status, 0);
}

/* A finalizer would run while no hook does. */
static int base_setmetatable(lua_State *L)
{
	th_script_charge(L, 2);
	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
	if (lua_istable(L, 2)) {
		for (int i = 0; i < 2; i++) {
			lua_pushstring(L, i ? "__mode" : "__gc");
			if (lua_rawget(L, 2) != LUA_TNIL)
				return luaL_error(L, "%s is not available in a script",
						  i ? "__mode" : "__gc");
			lua_pop(L, 1);
		}
	}
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

/* Without addresses: they differ from run to run, and are nobody's business. */
static int base_tostring(lua_State *L)
{
	int type = lua_type(L, 1);

	luaL_checkany(L, 1);
	th_script_charge(L, 30);
	if (type == LUA_TLIGHTUSERDATA)
		lua_pushliteral(L, "null");
	else if (type > LUA_TSTRING && luaL_getmetafield(L, 1, "__tostring") == LUA_TNIL)
		lua_pushstring(L, lua_typename(L, type));
	else
		luaL_tolstring(L, 1, NULL);
	return 1;
}

static int base_print(lua_State *L)
{
	struct th_script *s = th_script_of(L);
	int count = lua_gettop(L);

	th_script_charge(L, 5);
	for (int i = 1; i <= count; i++) {
		size_t len;
		const char *text;

		lua_pushcfunction(L, base_tostring);
		lua_pushvalue(L, i);
		lua_call(L, 1, 1);
		text = lua_tolstring(L, -1, &len);
		if (i > 1)
			th_buf_add_char(&s->said, '\t');
		/* What does not fit any more is left out. */
		if (text)
			th_utf8_clean(&s->said,
				      th_utf8_cut(th_str_n(text, len), s->said.max - s->said.len));
		lua_pop(L, 1);
	}
	th_buf_add_char(&s->said, '\n');
	return 0;
}

static int base_next(lua_State *L)
{
	th_script_charge(L, 1);
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	if (lua_next(L, 1))
		return 2;
	lua_pushnil(L);
	return 1;
}

static int base_pairs(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_pushcfunction(L, base_next);
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

static int ipairs_next(lua_State *L)
{
	lua_Integer i = luaL_checkinteger(L, 2);

	th_script_charge(L, 1);
	i = (lua_Integer)((lua_Unsigned)i + 1);
	lua_pushinteger(L, i);
	return lua_geti(L, 1, i) == LUA_TNIL ? 1 : 2;
}

static int base_ipairs(lua_State *L)
{
	luaL_checkany(L, 1);
	lua_pushcfunction(L, ipairs_next);
	lua_pushvalue(L, 1);
	lua_pushinteger(L, 0);
	return 3;
}

/* ---- coroutines --------------------------------------------------------------------------- */

/* A new thread inherits the hook, with its count at the start: one that is shorter than a tick is
 * never counted by it, so each resume pays for a tick. */
#define RESUME_COST 150

/* Moves its results (or its error) to L; -1: an error. */
static int resume(lua_State *L, lua_State *co, int args)
{
	int results = 0, status;

	th_script_charge(L, RESUME_COST);
	if (!lua_checkstack(co, args)) {
		lua_pushliteral(L, "too many arguments to resume");
		return -1;
	}
	lua_xmove(L, co, args);
	status = lua_resume(co, L, args, &results);
	if (status == LUA_OK || status == LUA_YIELD) {
		th_script_charge(L, 0);
		luaL_checkstack(L, results + 1, "too many results to resume");
		lua_xmove(co, L, results);
		return results;
	}
	/* A dead coroutine is not reset: that would run its <close> values without a hook. */
	lua_xmove(co, L, 1);
	th_script_caught(L, status, -1);
	return -1;
}

static lua_State *check_coroutine(lua_State *L)
{
	lua_State *co = lua_tothread(L, 1);

	luaL_argexpected(L, co, 1, "coroutine");
	return co;
}

static int co_create(lua_State *L)
{
	lua_State *co;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	th_script_charge(L, RESUME_COST);
	co = lua_newthread(L);
	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	return 1;
}

static int co_resume(lua_State *L)
{
	lua_State *co = check_coroutine(L);
	int results = resume(L, co, lua_gettop(L) - 1);

	int count = results < 0 ? 1 : results;

	lua_pushboolean(L, results >= 0);
	lua_insert(L, -(count + 1));
	return count + 1;
}

static int wrapped(lua_State *L)
{
	lua_State *co = lua_tothread(L, lua_upvalueindex(1));
	int results = resume(L, co, lua_gettop(L));

	return results < 0 ? lua_error(L) : results;
}

static int co_wrap(lua_State *L)
{
	co_create(L);
	lua_pushcclosure(L, wrapped, 1);
	return 1;
}

static int co_yield (lua_State *L)
{
	th_script_charge(L, 5);
	return lua_yield(L, lua_gettop(L));
}

static int co_running(lua_State *L)
{
	th_script_charge(L, 1);
	lua_pushboolean(L, lua_pushthread(L));
	return 2;
}

static const char *status_of(lua_State *L, lua_State *co)
{
	lua_Debug ar;

	if (L == co)
		return "running";
	switch (lua_status(co)) {
	case LUA_YIELD:
		return "suspended";
	case LUA_OK:
		if (lua_getstack(co, 0, &ar))
			return "normal";
		return lua_gettop(co) ? "suspended" : "dead";
	default:
		return "dead";
	}
}

static int co_status(lua_State *L)
{
	th_script_charge(L, 1);
	lua_pushstring(L, status_of(L, check_coroutine(L)));
	return 1;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Lua's own functions ask __len and __index, which may answer anything; ours takes plain tables,
 * whose length memory bounds, and charges it. */
static void check_plain(lua_State *L, int index, int64_t factor)
{
	luaL_checktype(L, index, LUA_TTABLE);
	if (lua_getmetatable(L, index)) {
		lua_rawgeti(L, LUA_REGISTRYINDEX, th_script_of(L)->list_ref);
		if (!lua_rawequal(L, -1, -2))
			luaL_argerror(L, index, "a table without a metatable expected");
		lua_pop(L, 2);
	}
	th_script_charge(L, 2 + factor * (int64_t)lua_rawlen(L, index));
}

static int original(lua_State *L)
{
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Adding at the end moves nothing. */
static int table_insert(lua_State *L)
{
	check_plain(L, 1, lua_gettop(L) > 2 ? 1 : 0);
	return original(L);
}

static int table_remove(lua_State *L)
{
	check_plain(L, 1, lua_gettop(L) > 1 ? 1 : 0);
	return original(L);
}

/* Without a function of the script's own texts are compared in C, where no hook rings. */
static void charge_compared(lua_State *L)
{
	lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
	int64_t bytes = 0;

	for (lua_Integer i = 1; i <= count; i++) {
		if (lua_rawgeti(L, 1, i) == LUA_TSTRING)
			bytes += (int64_t)lua_rawlen(L, -1);
		lua_pop(L, 1);
	}
	th_script_charge(L, bytes / 2); /* each some 20 times, 32 bytes for one */
}

static int table_sort(lua_State *L)
{
	check_plain(L, 1, 20);
	if (lua_isnoneornil(L, 2))
		charge_compared(L);
	return original(L);
}

static void charge_range(lua_State *L, lua_Integer from, lua_Integer to)
{
	lua_Unsigned count = from > to ? 0 : (lua_Unsigned)to - (lua_Unsigned)from;

	th_script_charge(L, (int64_t)TH_MIN(count, (lua_Unsigned)INT64_MAX / 2));
}

static int table_unpack(lua_State *L)
{
	check_plain(L, 1, 0);
	charge_range(L, luaL_optinteger(L, 2, 1),
		     luaL_optinteger(L, 3, (lua_Integer)lua_rawlen(L, 1)));
	return original(L);
}

static int table_concat(lua_State *L)
{
	check_plain(L, 1, 1);
	charge_range(L, luaL_optinteger(L, 3, 1),
		     luaL_optinteger(L, 4, (lua_Integer)lua_rawlen(L, 1)));
	return original(L);
}

static int table_move(lua_State *L)
{
	check_plain(L, 1, 0);
	if (!lua_isnoneornil(L, 5))
		check_plain(L, 5, 0);
	charge_range(L, luaL_checkinteger(L, 2), luaL_checkinteger(L, 3));
	return original(L);
}

/* Reads all of a text. */
static int text_scan(lua_State *L)
{
	th_script_charge(L,
			 2 + (lua_type(L, 1) == LUA_TSTRING ? (int64_t)lua_rawlen(L, 1) / 4 : 0));
	return original(L);
}

/* ---- UTF-8 -------------------------------------------------------------------------------- */

/* The function that it gives walks over continuation bytes. */
static int utf8_codes(lua_State *L)
{
	int count;

	th_script_charge(L, 5);
	count = original(L);
	lua_pushvalue(L, -count);
	th_script_wrap(L);
	lua_replace(L, -count - 1);
	return count;
}

/* ---- the tables --------------------------------------------------------------------------- */

/* How a function of Lua's is had: NULL: with what every one pays. */
struct row {
	const char *name;
	lua_CFunction around; /* calls `original` */
	lua_CFunction instead;
};

static const struct row base_rows[] = {
	{ "assert", NULL, NULL },        { "error", NULL, NULL },
	{ "getmetatable", NULL, NULL },  { "ipairs", NULL, base_ipairs },
	{ "next", NULL, base_next },     { "pairs", NULL, base_pairs },
	{ "pcall", NULL, base_pcall },   { "print", NULL, base_print },
	{ "rawequal", NULL, NULL },      { "rawget", NULL, NULL },
	{ "rawlen", NULL, NULL },        { "rawset", NULL, NULL },
	{ "select", NULL, NULL },        { "setmetatable", NULL, base_setmetatable },
	{ "tonumber", text_scan, NULL }, { "tostring", NULL, base_tostring },
	{ "type", NULL, NULL },
};

static const struct row coroutine_rows[] = {
	{ "create", NULL, co_create }, { "isyieldable", NULL, NULL },
	{ "resume", NULL, co_resume }, { "running", NULL, co_running },
	{ "status", NULL, co_status }, { "wrap", NULL, co_wrap },
	{ "yield", NULL, co_yield },
};

static const struct row table_rows[] = {
	{ "concat", table_concat, NULL }, { "insert", table_insert, NULL },
	{ "move", table_move, NULL },     { "pack", NULL, NULL },
	{ "remove", table_remove, NULL }, { "sort", table_sort, NULL },
	{ "unpack", table_unpack, NULL },
};

static const struct row math_rows[] = {
	{ "abs", NULL, NULL },        { "acos", NULL, NULL }, { "asin", NULL, NULL },
	{ "atan", NULL, NULL },       { "ceil", NULL, NULL }, { "cos", NULL, NULL },
	{ "deg", NULL, NULL },        { "exp", NULL, NULL },  { "floor", NULL, NULL },
	{ "fmod", NULL, NULL },       { "log", NULL, NULL },  { "max", NULL, NULL },
	{ "min", NULL, NULL },        { "modf", NULL, NULL }, { "rad", NULL, NULL },
	{ "sin", NULL, NULL },        { "sqrt", NULL, NULL }, { "tan", NULL, NULL },
	{ "type", NULL, NULL },       { "ult", NULL, NULL },  { "tointeger", NULL, NULL },
	{ "pi", NULL, NULL },         { "huge", NULL, NULL }, { "maxinteger", NULL, NULL },
	{ "mininteger", NULL, NULL },
};

static const struct row utf8_rows[] = {
	{ "char", NULL, NULL },           { "charpattern", NULL, NULL },
	{ "codepoint", text_scan, NULL }, { "codes", utf8_codes, NULL },
	{ "len", text_scan, NULL },       { "offset", text_scan, NULL },
};

/* From the library at the top of the stack, which is replaced by what is had of it. */
static void take(lua_State *L, const struct row *rows, size_t count)
{
	lua_newtable(L);
	for (size_t i = 0; i < count; i++) {
		lua_getfield(L, -2, rows[i].name);
		if (rows[i].instead) {
			lua_pop(L, 1);
			lua_pushcfunction(L, rows[i].instead);
		} else if (rows[i].around)
			lua_pushcclosure(L, rows[i].around, 1);
		else if (lua_iscfunction(L, -1))
			th_script_wrap(L);
		assert(!lua_isnil(L, -1));
		lua_setfield(L, -2, rows[i].name);
	}
	lua_remove(L, -2);
}

static void library(lua_State *L, const char *name, lua_CFunction open, const struct row *rows,
		    size_t count)
{
	lua_pushcfunction(L, open);
	lua_pushstring(L, name);
	lua_call(L, 1, 1);
	take(L, rows, count);
	lua_setglobal(L, name);
}

/* luaopen_base fills the global table itself: what is wanted is taken from it, the rest is not. */
static void open_base(lua_State *L)
{
	lua_pushcfunction(L, luaopen_base);
	lua_call(L, 0, 1);
	take(L, base_rows, TH_COUNT(base_rows));
	lua_pushvalue(L, -1);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "_G");
	lua_pop(L, 1);
}

void th_script_open(lua_State *L)
{
	open_base(L);
	library(L, LUA_COLIBNAME, luaopen_coroutine, coroutine_rows, TH_COUNT(coroutine_rows));
	library(L, LUA_TABLIBNAME, luaopen_table, table_rows, TH_COUNT(table_rows));
	library(L, LUA_MATHLIBNAME, luaopen_math, math_rows, TH_COUNT(math_rows));
	library(L, LUA_UTF8LIBNAME, luaopen_utf8, utf8_rows, TH_COUNT(utf8_rows));
}
