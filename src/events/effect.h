/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect.h - what the calls of a tool act on, and what they show.
 *
 * The tool's row says it (th_tool_spec).  The CALL event repeats it, so that a
 * session can be replayed by a program that does not have the tool.
 */
#ifndef TH_EVENTS_EFFECT_H
#define TH_EVENTS_EFFECT_H

#include "base/str.h"

enum th_effect_target {
	TH_TARGET_OTHER,  /* functions of the host program, remote tools: we cannot observe it */
	TH_TARGET_SCREEN, /* a screenshot shows it */
	TH_TARGET_FILES,  /* the workspace; the argument "path", if there is one, names the file */
	TH_TARGET_WEB,    /* pages of strangers, which nothing of ours is on */
	TH_TARGET_COUNT
};

/* Which unresolved effects on the same target a call of the tool resolves. */
enum th_effect_shows {
	TH_SHOWS_ONE,    /* a call of class R shows the file "path", or the whole target */
	TH_SHOWS_FOLDER, /* a call of class R shows everything below the folder "path" */
	TH_SHOWS_ANY,    /* a call of any class may show anything, unless it is the same call */
	TH_SHOWS_COUNT
};

struct th_effect_scope {
	uint8_t target; /* enum th_effect_target */
	uint8_t shows;  /* enum th_effect_shows */
};

/* Of a tool that changes things: its calls whose argument `member` is one of `values` only look,
 * and are of class R. */
struct th_effect_looks {
	const char *member;
	const char *const *values; /* NULL-terminated */
};
/* `arguments`: JSON.  NULL: the tool has no such calls. */
bool th_effect_only_looks(const struct th_effect_looks *looks, struct th_str arguments);

/* So begins why a call whose arguments its tool cannot read was refused. */
#define TH_ARGUMENTS_MARK "arguments of "

/* The members of a CALL event; `shows` is empty for TH_SHOWS_ONE. */
struct th_str th_effect_target_name(struct th_effect_scope s);
struct th_str th_effect_shows_name(struct th_effect_scope s);
/* The reverse.  `target` empty: an older build wrote the event, and only the name of the tool
 * tells.  A word of a newer build counts as other. */
struct th_effect_scope th_effect_scope_of(struct th_str target, struct th_str shows,
					  struct th_str tool);

#endif
