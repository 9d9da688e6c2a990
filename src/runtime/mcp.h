/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - calls of servers of tools (MCP) at an address: made by this process, which has
 * the network and the tokens.
 *
 * They leave no journal.  A call that may have happened and whose answer this process
 * took with it when it died is unknown to the next one, and is not made again.
 */
#ifndef TH_RUNTIME_MCP_H
#define TH_RUNTIME_MCP_H

#include "runtime/internal.h"

/* False: the call is the executor's. */
bool th_runtime_mcp_run(struct th_runtime_session *s, struct th_ticket t,
			const struct th_effect_call *call, bool settle);
/* False: there is none. */
bool th_runtime_mcp_cancel(struct th_runtime_session *s, struct th_ticket t);
/* A client gave the session secrets, or values have come that were asked for: what servers say is
 * masked, too. */
TH_NODISCARD enum th_code th_runtime_mcp_given(struct th_runtime_session *s, struct th_err *err);
/* Nobody hears of its calls any more; its servers are let go. */
void th_runtime_mcp_free(struct th_runtime_session *s);

/* With the loop that is ours: waits a moment until servers have heard that their sessions are over.
 */
void th_runtime_mcp_drain(struct th_runtime *rt);

#endif
