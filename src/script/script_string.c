/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_string.c - the string library, each function of it bounded.
 */
#include "script/script_state.h"

#include <string.h>

/* Of one directive: "%.99f" of a large number is slow. */
#define FORMAT_COST 400

/* Lua's own loops for ever over ("").rep("", 1e18). */
static int str_rep(lua_State *L)
{
	size_t len, gap_len;
	const char *s = luaL_checklstring(L, 1, &len);
	lua_Integer count = luaL_checkinteger(L, 2);
	const char *gap = luaL_optlstring(L, 3, "", &gap_len);
	luaL_Buffer out;

	th_script_charge(L, 3);
	if (count <= 0 || len + gap_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	if ((lua_Unsigned)count > TH_SCRIPT_BLOCK_MAX / (len + gap_len))
		return luaL_error(L, "resulting string too large");
	luaL_buffinit(L, &out);
	for (lua_Integer i = 0; i < count; i++) {
		luaL_addlstring(&out, s, len);
		if (i + 1 < count)
			luaL_addlstring(&out, gap, gap_len);
	}
	luaL_pushresult(&out);
	th_script_charge(L, count / 4);
	return 1;
}

/* Addresses are not shown: no %p, and what %s would show one of is named by its type. */
static int str_format(lua_State *L)
{
	size_t len;
	const char *format = luaL_checklstring(L, 1, &len);
	const char *end = format + len;
	int count = lua_gettop(L);

	th_script_charge(L, 5 + (int64_t)(len / 16));
	for (const char *p = format; p < end; p++) {
		if (*p != '%')
			continue;
		for (p++; p < end && memchr("-+ #0123456789.", *p, 15); p++)
			;
		th_script_charge(L, FORMAT_COST);
		if (p < end && *p == 'p')
			return luaL_error(L, "%%p is not available in a script");
	}
	for (int i = 2; i <= count; i++) {
		int type = lua_type(L, i);

		th_script_charge(L, 1);
		if ((type <= LUA_TSTRING && type != LUA_TLIGHTUSERDATA) ||
		    luaL_getmetafield(L, i, "__tostring") != LUA_TNIL) {
			lua_settop(L, count);
			continue;
		}
		lua_pushstring(L, type == LUA_TLIGHTUSERDATA ? "null" : lua_typename(L, type));
		lua_replace(L, i);
	}
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int str_scan(lua_State *L)
{
	size_t len;

	luaL_checklstring(L, 1, &len);
	th_script_charge(L, 2 + (int64_t)(len / 8));
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void th_script_open_string(lua_State *L)
{
	static const char *const plain[] = { "char", "len", "sub" };
	static const struct {
		const char *name;
		lua_CFunction fn;
	} around[] = { { "byte", str_scan },
		       { "format", str_format },
		       { "lower", str_scan },
		       { "reverse", str_scan },
		       { "upper", str_scan } };

	lua_pushcfunction(L, luaopen_string);
	lua_call(L, 0, 1);
	lua_newtable(L);
	for (size_t i = 0; i < TH_COUNT(plain); i++) {
		lua_getfield(L, -2, plain[i]);
		th_script_wrap(L);
		lua_setfield(L, -2, plain[i]);
	}
	for (size_t i = 0; i < TH_COUNT(around); i++) {
		lua_getfield(L, -2, around[i].name);
		lua_pushcclosure(L, around[i].fn, 1);
		lua_setfield(L, -2, around[i].name);
	}
	lua_pushcfunction(L, str_rep);
	lua_setfield(L, -2, "rep");
	th_script_open_patterns(L);
	/* The metatable of all strings: its methods are these, and nobody gets at it. */
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushvalue(L, -3);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);
	lua_setglobal(L, "string");
	lua_pop(L, 1);
}
