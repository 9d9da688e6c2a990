/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - names that providers take for functions, made of those that people
 * give to agents.  Pure; results live in the arena, .ptr NULL: it is full.
 */
#ifndef TH_AGENTS_NAMES_H
#define TH_AGENTS_NAMES_H

#include "base/arena.h"
#include "base/limits.h"

/*
 * `name` as a function's name: lower case letters, digits and "_", one for each
 * character that is neither (a byte that is no UTF-8 counts as one).  What is
 * longer than TH_FUNCTION_NAME_MAX is cut and ends in "_" and eight hex digits
 * of the whole name's SHA-256, so that two long names stay two.
 */
struct th_str th_name_function(struct th_arena *a, struct th_str name);

/* The tool that hands over to `agent`: "transfer_to_" and its name, as a function's. */
struct th_str th_name_handoff(struct th_arena *a, struct th_str agent);
/* And its description; `about` says what the agent is for, and may be empty. */
struct th_str th_name_handoff_text(struct th_arena *a, struct th_str agent, struct th_str about);

#endif
