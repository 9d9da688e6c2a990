/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - calls of servers' tools (MCP), as a tool of the executor.
 *
 * No model can ask for it: the driver makes its arguments from the agent file's server
 * and the model's call (session_tools/mcp_tools.c).  Without a tool's name it reads the
 * server's list of tools.
 *
 * A call that was sent and has no answer (the server ended, or took too long) is
 * UNKNOWN, unless its tool only looks: it may have happened.  One that the server does as a task is
 * asked about until it is over, by its name, which the job's `task` is told.
 */
#ifndef TH_MCP_TOOL_H
#define TH_MCP_TOOL_H

#include "tools/tool.h"

extern const struct th_tool th_tool_mcp;
/* The runtime lets go of the call, and a later one may take it up where it is a task; else it is
 * cancelled.  Nothing is said of it any more. */
void th_mcp_tool_leave(struct th_tool_job *job);

#endif
