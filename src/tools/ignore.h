/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ignore.h - which files a search passes over: .gitignore and .ignore files, as
 * git reads them.
 *
 * A level is a folder's own rules and what is above it.  The last rule that
 * matches decides, the deepest folder's first; "!" takes a file in again.  Pure.
 */
#ifndef TH_TOOLS_IGNORE_H
#define TH_TOOLS_IGNORE_H

#include "base/arena.h"

struct th_ignore_rule {
	struct th_str pattern;
	bool negated, folders_only, anchored;
};

struct th_ignore {
	const struct th_ignore *above; /* NULL: there is none */
	size_t base_len; /* of the folder's path with its slash, in paths that are asked about */
	struct th_ignore_rule *rules;
	size_t count;
};

/* Adds the rules of a file; its text is borrowed.  More than TH_IGNORE_RULES_MAX are not read. */
void th_ignore_parse(struct th_ignore *level, struct th_str text, struct th_arena *a);

/* `path` is relative to where the search's levels begin. */
bool th_ignored(const struct th_ignore *level, struct th_str path, bool is_folder);

#endif
