/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - calls of servers' tools (MCP), as a tool of the executor.
 *
 * No model can ask for it: the driver makes its arguments from the agent file's server
 * and the model's call (driver/mcp_tools.c).  Without a tool's name it reads the
 * server's list of tools.
 *
 * A call that was sent and has no answer (the server ended, or took too long) is
 * UNKNOWN, unless its tool only looks: it may have happened.
 */
#ifndef TH_MCP_TOOL_H
#define TH_MCP_TOOL_H

#include "tools/tool.h"

extern const struct th_tool th_tool_mcp;

#endif
