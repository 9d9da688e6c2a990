/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_state.h - what the files of script/ share; nobody else includes this.
 *
 * Every C function that a script can reach is ours or wrapped by ours, and
 * charges: Lua's hook does not count what happens inside C, so a C function
 * that charged nothing could be made to loop (as the order of a sort, or through
 * coroutines so short that no hook ever rings).
 */
#ifndef TH_SCRIPT_SCRIPT_STATE_H
#define TH_SCRIPT_SCRIPT_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/json.h"
#include "base/limits.h"
#include "script/script.h"
#include "script/script_seat.h"

enum th_script_stop { TH_STOP_NONE, TH_STOP_MEMORY, TH_STOP_INSTRUCTIONS, TH_STOP_TIME };

struct th_script {
	lua_State *L;
	struct th_script_seat *seat; /* NULL: all of it is on the heap */
	struct th_script_limits limits;
	bool bounded;  /* false while the libraries are made */
	size_t memory; /* in use */
	int64_t left;  /* instructions */
	uint64_t deadline_ns;
	enum th_script_stop stopped;
	struct th_buf said;
	/* Kept here so that an error which jumps over their users leaks nothing. */
	struct th_buf scratch;
	struct th_json_doc *doc;
	int list_ref; /* metatable of what came as a JSON array */
	char name[64];
};

static inline struct th_script *th_script_of(lua_State *L)
{
	return *(struct th_script **)lua_getextraspace(L);
}

/* Raises when a cap was passed; does not return then. */
void th_script_charge(lua_State *L, int64_t units);
/* What a protected call caught: raises again when it was a cap.  `value` is the error's place. */
void th_script_caught(lua_State *L, int status, int value);
/* Replaces the C function at the top of the stack by one that charges before it. */
void th_script_wrap(lua_State *L);

/* script_lib.c, script_string.c: fill the global table. */
void th_script_open(lua_State *L);
void th_script_open_string(lua_State *L);

/* script_value.c.  Both raise. */
void th_script_push(lua_State *L, const struct th_json *v, int depth);
void th_script_print(lua_State *L, int index, struct th_buf *out);
void th_script_open_values(lua_State *L);

/* script_pattern.c: find, match, gmatch and gsub, into the table at the top of the stack. */
void th_script_open_patterns(lua_State *L);

#endif
