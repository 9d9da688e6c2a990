/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given.h - secrets that commands get when they name them (agents/agent_secret.h, `give`).
 *
 * A program of its own finds the value in its environment; a shell that lives on keeps the
 * variable.
 */
#ifndef TH_TOOLS_GIVEN_H
#define TH_TOOLS_GIVEN_H

#include "base/arena.h"
#include "base/buf.h"

struct th_given_secret {
	struct th_str name;
	const char *entry; /* NAME=value */
};

struct th_given {
	struct th_given_secret *list;
	size_t count;
};

/* NAME=value of that name; NULL: there is none. */
const char *th_given_entry(const struct th_given *g, struct th_str name);
/* The environment, and of those that the command names the values.  NULL: the arena is full. */
const char *const *th_given_environment(const struct th_given *g, struct th_str command,
					const char *const *base, struct th_arena *a);
/* The same as lines of a shell before the command. */
void th_given_export(const struct th_given *g, struct th_str command, struct th_buf *out);

#endif
