/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_json.h - servers of tools (MCP) in the form of other programs, as files of agents and skills
 * bring them:
 *
 *	{"mcpServers": {NAME: {"command": "npx", "args": ["server"], "env": {"A": "b"}}}}
 *
 * with the outer member or without.  Programs run in the sandbox of commands, and reach what these
 * reach.  A server at an address ({"url", "headers"}) is called by thole itself, past all that, so
 * the agent file must name it, or where such ones may be.  None gets values of our environment
 *(${NAME}), or a secret of the agent.
 */
#ifndef TH_CONFIG_MCP_JSON_H
#define TH_CONFIG_MCP_JSON_H

#include "agents/agent.h"

/* Appends them to a list as elements of mcp_servers.  `origins`: where those may be that are at an
 * address; NULL: nowhere.  TH_EUSAGE: the error names the server. */
TH_NODISCARD enum th_code th_mcp_json_put(const struct th_json *v, const struct th_agent *agent,
					  const struct th_strs *origins, struct th_jw *list,
					  struct th_err *err);
/* The same as more servers of the agent; those whose name it has are passed over. */
TH_NODISCARD enum th_code th_mcp_json_add(const struct th_json *v, struct th_agent *agent,
					  struct th_arena *a, struct th_err *err);

#endif
