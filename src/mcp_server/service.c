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

/* What a request names, whatever its method: a tool's session, a task, a resource, or what the
 * tool wanted to have again. */
static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str body = th_http_body(a->request);
	struct th_str params = th_json_raw_get(body, "params"), rest;
	bool subscribes = th_str_is(th_json_raw_get(body, "method"), "\"resources/subscribe\"") ||
			  th_str_is(th_json_raw_get(body, "method"), "\"resources/unsubscribe\"");

	if (th_session_name_raw(th_json_raw_get(th_json_raw_get(params, "arguments"), "session_id"),
				ret) ||
	    th_session_name_raw(th_json_raw_get(params, "taskId"), ret))
		return true;
	if (!subscribes && th_json_unescape(th_json_raw_get(params, "uri"), &text))
		return th_mcp_kit_named(th_buf_str(&text), ret, &rest);
	th_buf_clear(&text);
	return th_json_unescape(th_json_raw_get(params, "requestState"), &text) &&
	       th_mcp_state_of(th_buf_str(&text), &state) &&
	       th_session_name(th_buf_str(&state), ret);
}

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
	.session_of = session_of,
	.keeper_of = th_mcp_session_keeper,
	.begin = begin,
	.sweep = th_mcp_computers_sweep,
	.finish = th_mcp_sessions_free, /* and so their streams */
	.free = end,
};
