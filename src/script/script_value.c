/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_value.c - JSON to Lua and back.
 *
 * Objects and arrays are tables; an array has a metatable of ours, so that an
 * empty one stays one.  null is the light userdata `null`, since nil would
 * leave holes.  Only raw accesses: no code of the script runs here.
 */
#include "script/script_state.h"

#include <math.h>
#include <stdlib.h>

/* ---- in ----------------------------------------------------------------------------------- */

static void push_number(lua_State *L, const struct th_json *v)
{
	int64_t i = th_json_int(v, 0);

	if (i == 0 && th_json_uint(v, 0) != 0)
		lua_pushnumber(L, th_json_num(v, 0));
	else
		lua_pushinteger(L, i);
}

static void push_container(lua_State *L, const struct th_json *v, int depth)
{
	bool array = th_json_is_array(v);
	struct th_json_iter it = th_json_iter(v);
	lua_Integer index = 0;

	if (depth >= TH_SCRIPT_DEPTH_MAX)
		luaL_error(L, "a value is deeper than %d", TH_SCRIPT_DEPTH_MAX);
	luaL_checkstack(L, 4, "a value is too deep");
	lua_newtable(L);
	while (th_json_next(&it)) {
		th_script_charge(L, 1);
		if (array) {
			th_script_push(L, it.val, depth + 1);
			lua_rawseti(L, -2, ++index);
			continue;
		}
		lua_pushlstring(L, it.key.ptr, it.key.len);
		lua_pushvalue(L, -1);
		/* Of double keys the first counts. */
		if (lua_rawget(L, -3) != LUA_TNIL) {
			lua_pop(L, 2);
			continue;
		}
		lua_pop(L, 1);
		th_script_push(L, it.val, depth + 1);
		lua_rawset(L, -3);
	}
	if (array) {
		lua_rawgeti(L, LUA_REGISTRYINDEX, th_script_of(L)->list_ref);
		lua_setmetatable(L, -2);
	}
}

void th_script_push(lua_State *L, const struct th_json *v, int depth)
{
	struct th_str s;

	switch (th_json_type(v)) {
	case TH_JSON_ABSENT:
	case TH_JSON_NULL:
		lua_pushlightuserdata(L, NULL);
		return;
	case TH_JSON_BOOL:
		lua_pushboolean(L, th_json_bool(v, false));
		return;
	case TH_JSON_INT:
		push_number(L, v);
		return;
	case TH_JSON_REAL:
		lua_pushnumber(L, th_json_num(v, 0));
		return;
	case TH_JSON_STR:
		s = th_json_str(v);
		lua_pushlstring(L, s.ptr, s.len);
		return;
	case TH_JSON_ARRAY:
	case TH_JSON_OBJECT:
		push_container(L, v, depth);
		return;
	}
}

/* ---- out ---------------------------------------------------------------------------------- */

static void print_value(lua_State *L, int index, struct th_jw *w, int depth);

static bool is_list(lua_State *L, int index)
{
	bool ret = false;

	if (lua_getmetatable(L, index)) {
		lua_rawgeti(L, LUA_REGISTRYINDEX, th_script_of(L)->list_ref);
		ret = lua_rawequal(L, -1, -2);
		lua_pop(L, 2);
	}
	return ret || lua_rawlen(L, index) > 0;
}

static void print_list(lua_State *L, int index, struct th_jw *w, int depth)
{
	lua_Integer count = (lua_Integer)lua_rawlen(L, index);
	lua_Integer seen = 0;

	lua_pushnil(L);
	for (; lua_next(L, index); lua_pop(L, 1), seen++)
		th_script_charge(L, 1);
	if (seen != count)
		luaL_error(L,
			   "a table is neither a list nor an object: it has %d keys beside %d "
			   "elements",
			   (int)(seen - count), (int)count);
	th_jw_array(w);
	for (lua_Integer i = 1; i <= count; i++) {
		lua_rawgeti(L, index, i);
		print_value(L, lua_gettop(L), w, depth + 1);
		lua_pop(L, 1);
	}
	th_jw_array_end(w);
}

static int compare_keys(const void *a, const void *b)
{
	return th_str_cmp(*(const struct th_str *)a, *(const struct th_str *)b);
}

/* In the order of their keys: Lua's own differs from state to state. */
static void print_object(lua_State *L, int index, struct th_jw *w, int depth)
{
	size_t count = 0, i = 0;
	struct th_str *keys;

	lua_pushnil(L);
	for (; lua_next(L, index); lua_pop(L, 1), count++) {
		th_script_charge(L, 1);
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L,
				   "a table is neither a list nor an object: it has a key of "
				   "type %s",
				   luaL_typename(L, -2));
	}
	keys = lua_newuserdatauv(L, (count + 1) * sizeof(*keys), 0);
	lua_pushnil(L);
	for (; lua_next(L, index); lua_pop(L, 1), i++)
		keys[i].ptr = lua_tolstring(L, -2, &keys[i].len);
	qsort(keys, count, sizeof(*keys), compare_keys);
	th_jw_object(w);
	for (i = 0; i < count; i++) {
		lua_pushlstring(L, keys[i].ptr, keys[i].len);
		lua_rawget(L, index);
		th_jw_key(w, keys[i]);
		print_value(L, lua_gettop(L), w, depth + 1);
		lua_pop(L, 1);
	}
	th_jw_object_end(w);
	lua_pop(L, 1);
}

/* `index` is absolute. */
static void print_value(lua_State *L, int index, struct th_jw *w, int depth)
{
	size_t len;
	const char *ptr;

	th_script_charge(L, 1);
	luaL_checkstack(L, 8, "a value is too deep");
	if (depth >= TH_SCRIPT_DEPTH_MAX)
		luaL_error(L, "a value is deeper than %d", TH_SCRIPT_DEPTH_MAX);
	if (w->out->failed)
		luaL_error(L, "a value is larger than %d bytes as JSON", (int)w->out->max);
	switch (lua_type(L, index)) {
	case LUA_TNIL:
		th_jw_null(w);
		return;
	case LUA_TBOOLEAN:
		th_jw_bool(w, lua_toboolean(L, index));
		return;
	case LUA_TNUMBER:
		if (lua_isinteger(L, index))
			th_jw_int(w, lua_tointeger(L, index));
		else
			th_jw_real(w, lua_tonumber(L, index));
		return;
	case LUA_TSTRING:
		ptr = lua_tolstring(L, index, &len);
		th_script_charge(L, (int64_t)(len / 64));
		th_jw_str(w, th_str_n(ptr, len));
		return;
	case LUA_TTABLE:
		if (is_list(L, index))
			print_list(L, index, w, depth);
		else
			print_object(L, index, w, depth);
		return;
	case LUA_TLIGHTUSERDATA:
		if (!lua_touserdata(L, index)) {
			th_jw_null(w);
			return;
		}
		break;
	default:
		break;
	}
	luaL_error(L, "a %s cannot be given back", luaL_typename(L, index));
}

/* Through the scratch buffer: `out` may have another maximum, and stays whole on an error. */
void th_script_print(lua_State *L, int index, struct th_buf *out)
{
	struct th_script *s = th_script_of(L);
	struct th_jw w = th_jw(&s->scratch);

	th_buf_clear(&s->scratch);
	print_value(L, lua_absindex(L, index), &w, 0);
	if (s->scratch.failed)
		luaL_error(L, "a value is larger than %d bytes as JSON", (int)s->scratch.max);
	if (out)
		th_buf_add(out, th_buf_str(&s->scratch));
}

/* ---- for scripts -------------------------------------------------------------------------- */

static int json_encode(lua_State *L)
{
	luaL_checkany(L, 1);
	th_script_charge(L, 10);
	th_script_print(L, 1, NULL);
	lua_pushlstring(L, th_script_of(L)->scratch.ptr, th_script_of(L)->scratch.len);
	return 1;
}

/* nil and a sentence when it is none. */
static int json_decode(lua_State *L)
{
	struct th_script *s = th_script_of(L);
	struct th_err err;
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	th_script_charge(L, 10 + (int64_t)(len / 8));
	s->doc = th_json_free(s->doc);
	if (len > TH_SCRIPT_VALUE_MAX)
		return luaL_error(L, "the text is larger than %d bytes", (int)TH_SCRIPT_VALUE_MAX);
	if (th_json_parse(th_str_n(text, len), &s->doc, &err)) {
		lua_pushnil(L);
		lua_pushstring(L, err.msg);
		return 2;
	}
	th_script_push(L, th_json_root(s->doc), 0);
	s->doc = th_json_free(s->doc);
	return 1;
}

/* list{...}: stays a list when it is empty. */
static int make_list(lua_State *L)
{
	th_script_charge(L, 5);
	if (lua_isnoneornil(L, 1)) {
		lua_settop(L, 0);
		lua_newtable(L);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	if (lua_getmetatable(L, 1))
		return luaL_error(L, "list takes a table without a metatable");
	lua_settop(L, 1);
	lua_rawgeti(L, LUA_REGISTRYINDEX, th_script_of(L)->list_ref);
	lua_setmetatable(L, 1);
	return 1;
}

void th_script_open_values(lua_State *L)
{
	lua_newtable(L);
	lua_pushliteral(L, "list");
	lua_setfield(L, -2, "__metatable");
	th_script_of(L)->list_ref = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_pushlightuserdata(L, NULL);
	lua_setglobal(L, "null");
	lua_pushcfunction(L, make_list);
	lua_setglobal(L, "list");
	lua_newtable(L);
	lua_pushcfunction(L, json_encode);
	lua_setfield(L, -2, "encode");
	lua_pushcfunction(L, json_decode);
	lua_setfield(L, -2, "decode");
	lua_setglobal(L, "json");
}
