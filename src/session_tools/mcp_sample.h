/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_sample.h - the model answers what a call's server asks of it (sampling), once a
 * person, or the agent file, has allowed it.
 *
 * The request is one of its own: it has no tools and nothing of the session, neither its
 * history nor its instructions, so a server learns nothing of them by it, and what it says
 * makes the model do nothing.  The answer and its cost are an event (SAMPLED), before the
 * intent that takes it to the server; a request that was under way at a crash is made again.
 */
#ifndef TH_SESSION_TOOLS_MCP_SAMPLE_H
#define TH_SESSION_TOOLS_MCP_SAMPLE_H

#include "live/live.h"

/* A call that may go on: it first needs the model's answer, which is being asked for.  Then it is
 * given out again. */
bool th_live_mcp_samples(struct th_live *l, struct th_call *c);
/* What the agent file says of such a question: 1 yes, 0 no, -1: a person decides.  `ret_why`: of a
 * no. */
int th_live_mcp_sample_policy(const struct th_live *l, const struct th_call *c,
			      const char **ret_why);
void th_live_mcp_samples_free(struct th_live *l); /* requests under way are given up */

#endif
