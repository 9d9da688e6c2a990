/* SPDX-License-Identifier: Apache-2.0 */
/* lookups_internal.h - what is asked for, as lookups.c and lookup_values.c see it. */
#ifndef TH_RUNTIME_LOOKUPS_INTERNAL_H
#define TH_RUNTIME_LOOKUPS_INTERNAL_H

#include "io/child.h"
#include "io/fetch.h"
#include "runtime/lookups.h"

struct th_lookup {
	const struct th_agent_secret *of; /* NULL: it is a client's */
	uint64_t number;                  /* a client's: of its source, which may go meanwhile */
	struct th_lookup *next;           /* a client's */
	struct th_runtime_session *session;
	struct th_secret *value; /* the agent's; NULL: none yet */
	uint64_t due_ms;         /* the agent's: when it is asked for again; UINT64_MAX: never */
	bool runs;
	struct th_fetch_id fetch;
	struct th_child *child;
	struct th_timer timer; /* of the program */
	struct th_deferred end;
	struct th_buf answer;
	struct th_err why; /* the last time failed; code 0: it did not */
};

struct th_runtime_lookups {
	struct th_arena memory;
	struct th_lookup *list;  /* the agent's */
	struct th_lookup *asked; /* clients', which are under way or have just ended */
	size_t count, running;
	th_lookups_over_fn *over;
	bool answered; /* all have ended, and nobody heard of it yet */
};

#endif
