/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegation.h - a call on which a session of its own works (driver/delegate.h), as every part of
 * either session knows it; and what such a session may use.
 */
#ifndef TH_LIVE_DELEGATION_H
#define TH_LIVE_DELEGATION_H

#include "live/live.h"

/* A call, and the session that works on it.  The child's to free. */
struct th_delegation {
	struct th_delegation *next; /* of the parent's list, while it is not over */
	struct th_live *parent;     /* NULL: it is over */
	struct th_live *child;      /* NULL: it is being opened */
	uint64_t intent_seq;
	const struct th_agent_command *tool; /* the parent's */
	bool held;                           /* it goes on when all that share with it are there */
	struct th_agent agent; /* the parent's, with limits of its own and no screen */
	struct th_agent_limits limits;
	struct th_session_config *members; /* where the parent's have a screen */
};

/* The call, of the answer or in the background, that has this INTENT; NULL: it is over. */
const struct th_call *th_delegation_call(struct th_live *l, uint64_t intent_seq);
/* Limits for one more child, which this agent is; `background`: beside what its parent does. */
void th_delegation_share(struct th_live *l, const struct th_agent_command *tool,
			 struct th_str agent, bool background, struct th_agent_limits *limits);
/* Why the budget that it shares, or that its tasks in the background do, allows no further request,
 * static text; NULL: it does. */
const char *th_live_shared_limit(struct th_live *l, struct th_reservation next);

#endif
