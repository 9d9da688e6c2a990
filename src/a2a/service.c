/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - agents for other agents: the A2A protocol, over JSON-RPC and HTTP+JSON. */
#include "a2a/internal.h"

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/.well-known/agent-card.json", 0, th_a2a_card, 0, NULL, "what A2A clients read first: the agent default", NULL },
	{ "GET", "/a2a/{agent}/.well-known/agent-card.json", TH_SCOPE_READ, th_a2a_agent_card, 0, NULL, "the same of another agent", NULL },
	{ "POST", "/a2a/{agent}", TH_SCOPE_READ, th_a2a_post, TH_SERVE_JSON_MAX, NULL, "an agent for other agents: A2A 1.0 and 0.3, docs/A2A.md", NULL },
	{ "POST", "/a2a/{agent}/message:send", TH_SCOPE_READ, th_a2a_rest, TH_SERVE_JSON_MAX, NULL, "SendMessage of A2A's HTTP+JSON binding (1.0); so are those that follow", NULL },
	{ "POST", "/a2a/{agent}/message:stream", TH_SCOPE_READ, th_a2a_rest, TH_SERVE_JSON_MAX, NULL, "SendStreamingMessage: server-sent events", NULL },
	{ "GET", "/a2a/{agent}/tasks", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "ListTasks: contextId, status, pageSize, pageToken, historyLength, statusTimestampAfter, includeArtifacts", NULL },
	{ "POST", "/a2a/{agent}/tasks/{task}:cancel", TH_SCOPE_READ, th_a2a_rest, TH_SERVE_JSON_MAX, NULL, "CancelTask", NULL },
	{ "POST", "/a2a/{agent}/tasks/{task}:subscribe", TH_SCOPE_READ, th_a2a_rest, TH_SERVE_JSON_MAX, NULL, "SubscribeToTask: server-sent events", NULL },
	{ "GET", "/a2a/{agent}/tasks/{task}:subscribe", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "the same", NULL },
	{ "GET", "/a2a/{agent}/tasks/{task}", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "GetTask: historyLength", NULL },
	{ "POST", "/a2a/{agent}/tasks/{task}/pushNotificationConfigs", TH_SCOPE_READ, th_a2a_rest, TH_SERVE_JSON_MAX, NULL, "CreateTaskPushNotificationConfig", NULL },
	{ "GET", "/a2a/{agent}/tasks/{task}/pushNotificationConfigs", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "ListTaskPushNotificationConfigs", NULL },
	{ "GET", "/a2a/{agent}/tasks/{task}/pushNotificationConfigs/{config}", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "GetTaskPushNotificationConfig", NULL },
	{ "DELETE", "/a2a/{agent}/tasks/{task}/pushNotificationConfigs/{config}", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "DeleteTaskPushNotificationConfig", NULL },
	{ "GET", "/a2a/{agent}/extendedAgentCard", TH_SCOPE_READ, th_a2a_rest, 0, NULL, "there is none: 400", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

/* Of the task, or of the context, that a request names: as a2a.c reads it. */
static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_str body = th_http_body(a->request), named;
	struct th_str params = a->route->fn == th_a2a_rest ? body : th_json_raw_get(body, "params");
	struct th_str message = th_json_raw_get(params, "message");
	struct th_buf task TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	uint64_t after;

	if (th_a2a_rest_task(a, &named))
		return th_a2a_task_parse(named, ret, &after);
	if (strcmp(a->route->method, "POST") != 0)
		return false;
	named = th_json_raw_get(message.ptr ? message : params, "taskId");
	if (!named.ptr && !message.ptr)
		named = th_json_raw_get(params, "id");
	if (th_json_unescape(named, &task) && task.len)
		return th_a2a_task_parse(th_buf_str(&task), ret, &after);
	return th_session_name_raw(th_json_raw_get(message, "contextId"), ret);
}

const struct th_service th_service_a2a = {
	.name = "a2a",
	.routes = routes,
	.session_of = session_of,
	.letters = &th_a2a_letters,
};
