/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_fixtures.h - what the MCP conformance suite expects of a server. */
#ifndef TH_TESTS_MCP_FIXTURES_H
#define TH_TESTS_MCP_FIXTURES_H

#include "mcp_protocol/mcp.h"

extern const struct th_mcp_kit mcp_fixtures;

/* mcp_fixtures_ask.c: tools and a prompt that ask the client */
void mcp_ask_sampling(struct th_mcp *m, const void *arguments);
void mcp_ask_elicitation(struct th_mcp *m, const void *arguments);
void mcp_ask_defaults(struct th_mcp *m, const void *arguments);
void mcp_ask_enums(struct th_mcp *m, const void *arguments);
void mcp_ask_missing(struct th_mcp *m, const void *arguments);
void mcp_ask_streaming(struct th_mcp *m, const void *arguments);
void mcp_ask_name(struct th_mcp *m, const void *arguments);
void mcp_ask_capital(struct th_mcp *m, const void *arguments);
void mcp_ask_roots(struct th_mcp *m, const void *arguments);
void mcp_ask_state(struct th_mcp *m, const void *arguments);
void mcp_ask_many(struct th_mcp *m, const void *arguments);
void mcp_ask_rounds(struct th_mcp *m, const void *arguments);
void mcp_ask_capabilities(struct th_mcp *m, const void *arguments);
void mcp_ask_prompt(struct th_mcp *m);

#endif
