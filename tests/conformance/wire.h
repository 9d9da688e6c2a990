/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the runner's view of a wire: one file and one row in wire.c each.
 */
#ifndef TESTS_CONFORMANCE_WIRE_H
#define TESTS_CONFORMANCE_WIRE_H

#include "base/limits.h"
#include "profiles/plumb.h"

struct wire_api {
	const char *name;        /* in the manifest, and of the folder */
	const char *model;       /* a name whose profile speaks it */
	const char *const *ends; /* what a stream's terminal event holds, in any of its forms */
	const char *const *unfinished_ignored; /* members that an unfinished answer may differ in */
	/* Whether an unfinished one lacks more than its end; NULL: never. */
	bool (*ends_with_more)(const struct th_json *final);
	/* The provider's own complete response against what th_plumb_answer prints. */
	void (*check)(const char *path, const struct th_json *final, const struct th_json *answer);
};

extern const struct wire_api wire_api_responses, wire_api_messages, wire_api_chat, wire_api_gemini,
    wire_api_interactions;

/* Counts, and says what failed. */
bool wire_check(bool good, const char *name, const char *what, const char *detail);
/* The same for two values; null, a missing member, "" and [] are equal, and arguments are compared
 * as JSON. */
bool wire_equal(const char *name, const char *what, const char *const *ignored,
		const struct th_json *expected, const struct th_json *found);
extern const char *const wire_nothing_ignored[];

#endif
