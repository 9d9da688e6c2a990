/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_asks.h - a call whose server (MCP) asks in the middle of it.  The effect ends with
 * the question in its evidence (mcp/question.h); it is an event, the call waits as one does
 * that nobody has approved, and an intent goes on with the answer.
 */
#ifndef TH_SESSION_TOOLS_MCP_ASKS_H
#define TH_SESSION_TOOLS_MCP_ASKS_H

#include "live/live.h"

/* It has not ended: its server asks. */
bool th_live_mcp_asks(const struct th_live *l, const struct th_call *c,
		      const struct th_effect_result *r);
void th_live_mcp_question(struct th_live *l, const struct th_call *c,
			  const struct th_effect_result *r);
/* See th_driver_tool_task; of the INTENT with that number. */
void th_live_mcp_task(struct th_live *l, uint64_t intent_seq, struct th_str task);

#endif
