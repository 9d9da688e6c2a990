/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_match.h - the matcher of Lua's patterns.
 */
#ifndef TH_SCRIPT_SCRIPT_MATCH_H
#define TH_SCRIPT_SCRIPT_MATCH_H

#include "script/script_state.h"

#define POSITION (-1)
#define OPEN (-2)

struct match {
	lua_State *L;
	const char *start, *end; /* of the subject */
	const char *pattern_end;
	int depth, count;
	struct {
		const char *start;
		ptrdiff_t len; /* or POSITION, OPEN */
	} captures[TH_SCRIPT_CAPTURES_MAX];
};

/* Where the match that begins at `s` ends; NULL: there is none. */
const char *th_script_match(struct match *m, const char *s, const char *p);

#endif
