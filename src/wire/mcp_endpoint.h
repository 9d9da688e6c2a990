/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_endpoint.h - where messages go to a server of the older form of HTTP (HTTP+SSE of
 * 2024-11-05): its stream begins with an event `endpoint`, an address or a part of one.
 *
 * The address must have the origin of the stream's own: a token and what an agent says
 * go to the server that the agent file names, and to no other.  Pure, and total.
 */
#ifndef TH_WIRE_MCP_ENDPOINT_H
#define TH_WIRE_MCP_ENDPOINT_H

#include "base/buf.h"
#include "base/err.h"

/* `url`: of the stream; `named`: what its event says.  TH_EPROTO: it is no address, or another
 * origin's. */
TH_NODISCARD enum th_code th_mcp_endpoint(struct th_str url, struct th_str named,
					  struct th_buf *out, struct th_err *err);

#endif
