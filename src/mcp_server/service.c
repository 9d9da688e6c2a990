/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - /mcp: agents as tools of other agents. */
#include "io/clock.h"
#include "mcp_server/kit.h"

// clang-format off
static const struct th_route routes[] = {
	{ "POST", "/mcp", TH_SCOPE_READ, th_mcp_request, TH_SERVE_JSON_MAX, NULL, "the same as an MCP server: tools to run agents and to follow them", NULL },
	{ "GET", "/mcp", TH_SCOPE_READ, th_mcp_request, 0, NULL, "of a session of MCP: what the server says unasked", NULL },
	{ "DELETE", "/mcp", TH_SCOPE_READ, th_mcp_request, 0, NULL, "ends a session of MCP", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

static enum th_code begin(struct th_server *s, struct th_err *err)
{
	(void)err;
	th_random(s->mcp_key, sizeof(s->mcp_key));
	return TH_OK;
}

static void end(struct th_server *s)
{
	th_mcp_sessions_free(s);
	th_mcp_computers_free(s);
}

const struct th_service th_service_mcp = {
	.name = "mcp",
	.routes = routes,
	.begin = begin,
	.sweep = th_mcp_computers_sweep,
	.finish = th_mcp_sessions_free, /* and so their streams */
	.free = end,
};
