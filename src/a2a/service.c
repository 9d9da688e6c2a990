/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - agents for other agents: the A2A protocol. */
#include "a2a/internal.h"

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/.well-known/agent-card.json", 0, th_a2a_card, 0, NULL, "what A2A clients read first: the agent default", NULL },
	{ "GET", "/a2a/{agent}/.well-known/agent-card.json", TH_SCOPE_READ, th_a2a_agent_card, 0, NULL, "the same of another agent", NULL },
	{ "POST", "/a2a/{agent}", TH_SCOPE_READ, th_a2a_post, TH_SERVE_JSON_MAX, NULL, "an agent for other agents: A2A 1.0 and 0.3, docs/A2A.md", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

/* Of the task, or of the context, that a request names: as a2a.c reads it. */
static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_str params = th_json_raw_get(th_http_body(a->request), "params");
	struct th_str message = th_json_raw_get(params, "message");
	struct th_buf task TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	uint64_t after;

	if (strcmp(a->route->method, "POST") != 0)
		return false;
	if (th_json_unescape(message.ptr ? th_json_raw_get(message, "taskId")
					 : th_json_raw_get(params, "id"),
			     &task) &&
	    task.len)
		return th_a2a_task_parse(th_buf_str(&task), ret, &after);
	return th_session_name_raw(th_json_raw_get(message, "contextId"), ret);
}

const struct th_service th_service_a2a = {
	.name = "a2a",
	.routes = routes,
	.session_of = session_of,
};
