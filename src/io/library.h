/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - shared libraries that are opened when they are first needed.
 *
 * Most of a short process's start is its libraries: libcurl brings 26 of its own, half of the time.
 * Executors, helpers and commands that only look start tens of times more often than anything
 * speaks HTTP.
 */
#ifndef TH_IO_LIBRARY_H
#define TH_IO_LIBRARY_H

#include <stddef.h>

struct th_library {
	const char *file; /* "libpq.so.5" */
	const char *what; /* "PostgreSQL's client library" */
	/* Where it comes from, "Debian: libpq5; Fedora: libpq"; a test of the house compares it
	 * with what ./dev installs. */
	const char *packages;
	const char *const *names;
	size_t count;
	void *table; /* a pointer to a function for each name, in this order */
	int state;
	char missing[300];
};

/* The table is filled.  NULL, or a sentence: why it cannot be used.  From any thread. */
const char *th_library_open(struct th_library *l);

#endif
