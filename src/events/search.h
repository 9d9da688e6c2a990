/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - which events of a log are meant: by place, source, kind, time and words.
 *
 * Pure: the caller reads the log, and asks about each event.
 */
#ifndef TH_EVENTS_SEARCH_H
#define TH_EVENTS_SEARCH_H

#include "base/limits.h"
#include "base/str.h"

struct th_search {
	uint64_t from, to;     /* both included; to 0: the last */
	struct th_str query;   /* somewhere in the event's JSON; ASCII letters in either case */
	struct th_str source;  /* empty: any */
	struct th_str kinds;   /* names with commas; empty: any */
	struct th_str without; /* names with commas that are left out */
	size_t limit;          /* at most TH_SEARCH_MAX */
	bool newest;           /* the newest of them, newest first; else the oldest */
};

/* An event as it is seen. */
struct th_searched {
	uint64_t seq;
	struct th_str source, kind, text; /* text: its JSON */
};

bool th_search_matches(const struct th_search *s, const struct th_searched *ev);

/* Those that were found, in a ring. */
struct th_found {
	uint64_t seqs[TH_SEARCH_MAX];
	size_t count; /* all that matched */
};

/* Notes the event if it is one of those.  False: no later one can be. */
bool th_search_add(const struct th_search *s, const struct th_searched *ev, struct th_found *found);
/* How many there are, and the n-th of them in the order that was asked for. */
size_t th_search_count(const struct th_search *s, const struct th_found *found);
uint64_t th_search_nth(const struct th_search *s, const struct th_found *found, size_t n);

#endif
