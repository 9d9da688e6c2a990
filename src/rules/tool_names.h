/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool_names.h - by which names a tool goes, and which tools do the same: what a name in a policy
 * of an agent file (approve, rules, quarantine, guardrails, hooks) holds for.
 *
 * A policy that names a tool holds
 *  - for that tool by each of its names: terminal and execute_bash are bash;
 *  - where it holds something back, also for a tool that does what the named one does: what is said
 *    of shell holds for bash, and the other way round; what is said of read_file and list_dir holds
 *    for calls of edit that look, of write_file for those that change something, and what is said
 *    of edit for all three.
 * A word that lets something run is for the tool itself, by each of its names.
 */
#ifndef TH_RULES_TOOL_NAMES_H
#define TH_RULES_TOOL_NAMES_H

#include "base/str.h"
#include "events/event.h"

/* What others call a tool of ours; the last row has NULL. */
struct th_tool_alias {
	const char *name, *ours;
};
extern const struct th_tool_alias th_tool_aliases[];

/* Our name of it; of what is no tool of ours: the same name. */
struct th_str th_tool_own_name(struct th_str name);

/* Names that hold for a call: first its own, the one that it was called by before all, then those
 * of tools that do the same. */
#define TH_TOOL_CALLED_MAX 8
struct th_tool_called {
	struct th_str names[TH_TOOL_CALLED_MAX];
	size_t same, count;
};

/* Which calls are meant: what a tool may do depends on its arguments. */
enum th_tool_calls { TH_TOOL_LOOKS = 1, TH_TOOL_CHANGES = 2, TH_TOOL_ANY = 3 };
enum th_tool_calls th_tool_calls_of(enum th_class class);

/* Of a tool of ours.  `calls`: bits of enum th_tool_calls. */
struct th_tool_called th_tool_called(struct th_str tool, unsigned calls);
/* Of a tool that has a name of ours, but is another's: a program's function, a command. */
struct th_tool_called th_tool_called_alone(struct th_str tool);

/* May what is said of `named` hold for some call of `tool`? */
bool th_tool_named(struct th_str named, struct th_str tool);

#endif
