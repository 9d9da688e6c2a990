/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - approvals of tools that the provider itself runs.
 */
#ifndef TH_SESSION_TOOLS_MCP_H
#define TH_SESSION_TOOLS_MCP_H

#include "live/live.h"

/* A tool that the provider itself runs after an approval.  NULL: the agent has no such
 * server. */
const struct th_tool_spec *th_live_mcp_spec(const struct th_live *l, const struct th_call *c);
void th_live_mcp_admit(struct th_live *l, const struct th_call *c);
/* The evidence of a refusal: its reason, if somebody gave one. */
void th_live_mcp_reason(const struct th_call *c, struct th_buf *out);

#endif
