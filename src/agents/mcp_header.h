/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_header.h - arguments of a server's tool (MCP) that stand in the head of a request,
 * too: a member of its schema says so ("x-mcp-header": "Region" is the header
 * Mcp-Param-Region), for whoever looks only at heads.  Of servers at an address, in the
 * revision 2026-07-28.
 */
#ifndef TH_AGENTS_MCP_HEADER_H
#define TH_AGENTS_MCP_HEADER_H

#include "base/json.h"

/* What is wrong with those of a schema, for which the tool cannot be used; NULL: nothing. */
const char *th_mcp_headers_fault(const struct th_json *schema);
/* Appends a string "Name: value" for each that the arguments have; null is none. */
void th_mcp_headers_put(const struct th_json *schema, const struct th_json *arguments,
			struct th_jw *list);
/* A text as the value of a header: as it is where it is visible ASCII inside, else =?base64?…?=. */
void th_mcp_header_value(struct th_str text, struct th_buf *out);

#endif
