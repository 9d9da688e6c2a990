/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tools.h - tools of MCP servers that the agent file names: when their lists are
 * read, what the agent has of them, and how a call reaches its server.
 *
 * A server is asked for its list before the first request that needs it, by an effect
 * of class R in the executor, which starts the server.  The answer is an event
 * (MCP_TOOLS); from then on the agent has these tools, also after a crash.  A server
 * that says that its list has changed is asked again before the next request.
 *
 * A call of such a tool is an effect of the executor like any other (src/mcp/): the
 * INTENT is durable before it, the executor's journal outlives this process, and an
 * answer that nobody can know is UNKNOWN.
 */
#ifndef TH_SESSION_TOOLS_MCP_TOOLS_H
#define TH_SESSION_TOOLS_MCP_TOOLS_H

#include "live/live.h"

/* The lists of all servers of the current agent are known.  False: they are asked for, and the
 * request is made when they are there; or the run failed. */
bool th_live_mcp_listed(struct th_live *l);
void th_live_mcp_list_done(struct th_driver *d, struct th_ticket t,
			   const struct th_effect_result *r);
/* A MCP_TOOLS event, new or read again; for th_live_tools_listed. */
TH_NODISCARD enum th_code th_live_mcp_event(struct th_live *l, const struct th_json *data,
					    struct th_err *err);
/* A call has ended: its evidence may say that the list has changed. */
void th_live_mcp_called(struct th_live *l, const struct th_call *c,
			const struct th_effect_result *r);
void th_live_mcp_free(struct th_live *l);
/* Appends what the servers of the current agent say of their use; not of those whose results are
 * read in quarantine. */
void th_live_mcp_instructions(const struct th_live *l, struct th_buf *out);

/* The tools that the current agent has of servers: NULL ends them. */
const struct th_tool_row *th_live_mcp_row(const struct th_live *l, size_t index);
/* Is it a call of a server's tool? */
bool th_live_mcp_is(const struct th_live *l, const struct th_call *c);
/* The agent's own, or a server's. */
const struct th_tool_row *th_live_tool(const struct th_live *l, struct th_str name);
/* How a call is run; NULL: nothing is known of its tool, or the computer is the executor's. */
const struct th_tool_row *th_live_row(const struct th_live *l, const struct th_call *c);
/* Runs, or settles, a call of such a tool. */
void th_live_mcp_run(struct th_live *l, const struct th_call *c, const struct th_tool_row *row,
		     struct th_ticket ticket, struct th_effect_call *call, bool settle);

#endif
