/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.c - the HTTP+JSON binding of A2A 1.0 below /a2a/{agent}: each path is a method of JSON-RPC,
 * whose parameters are read from the path, the query and the body.
 */
#include "a2a/internal.h"
#include "wire/percent.h"

/* The route's path behind {agent}. */
static const struct row {
	const char *http, *path, *method;
} rows[] = {
	{ "POST", "/message:send", "SendMessage" },
	{ "POST", "/message:stream", "SendStreamingMessage" },
	{ "GET", "/tasks", "ListTasks" },
	{ "POST", "/tasks/{task}:cancel", "CancelTask" },
	{ "POST", "/tasks/{task}:subscribe", "SubscribeToTask" },
	{ "GET", "/tasks/{task}:subscribe", "SubscribeToTask" },
	{ "GET", "/tasks/{task}", "GetTask" },
	{ "POST", "/tasks/{task}/pushNotificationConfigs", "CreateTaskPushNotificationConfig" },
	{ "GET", "/tasks/{task}/pushNotificationConfigs", "ListTaskPushNotificationConfigs" },
	{ "GET", "/tasks/{task}/pushNotificationConfigs/{config}",
	  "GetTaskPushNotificationConfig" },
	{ "DELETE", "/tasks/{task}/pushNotificationConfigs/{config}",
	  "DeleteTaskPushNotificationConfig" },
	{ "GET", "/extendedAgentCard", "GetExtendedAgentCard" },
};

static const struct row *row_of(const struct th_route *route)
{
	const char *path = route->path + strlen("/a2a/{agent}");

	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (strcmp(rows[i].path, path) == 0 && strcmp(rows[i].http, route->method) == 0)
			return &rows[i];
	return NULL;
}

static bool has_task(const struct row *row)
{
	return row && th_str_starts(th_str_of(row->path), TH_STR("/tasks/"));
}

bool th_a2a_rest_task(const struct th_access *a, struct th_str *ret)
{
	bool is = a->route->fn == th_a2a_rest && has_task(row_of(a->route));

	if (is)
		*ret = th_str_of(a->task);
	return is;
}

/* ---- parameters ---- */

static void put_query(struct th_str query, struct th_jw *w)
{
	static const struct {
		const char *name;
		bool text;
	} members[] = {
		{ "contextId", true }, { "status", true },
		{ "pageToken", true }, { "statusTimestampAfter", true },
		{ "pageSize", false }, { "historyLength", false },
	};
	struct th_buf value TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	for (size_t i = 0; i < TH_COUNT(members); i++) {
		int64_t n = -1; /* what is no number is as good as one that is never allowed */

		if (!th_query_get(query, members[i].name, &value))
			continue;
		if (members[i].text)
			th_jw_kstr(w, members[i].name, th_buf_str(&value));
		else
			th_jw_kint(w, members[i].name, th_str_i64(th_buf_str(&value), &n) ? n : -1);
	}
	if (th_query_get(query, "includeArtifacts", &value))
		th_jw_kbool(w, "includeArtifacts", th_str_is(th_buf_str(&value), "true"));
}

/* The body's members but those that the path says, `named`, and the task. */
static bool put_body(struct th_str body, const char *named, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (!body.len)
		return true;
	if (th_json_parse(body, &doc, NULL) != TH_OK || !th_json_is_object(th_json_root(doc)))
		return false;
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "taskId") || th_str_is(it.key, named))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	return true;
}

const char *th_a2a_rest_read(const struct th_a2a_rest_request *r, struct th_buf *params)
{
	const struct row *row = row_of(r->route);
	bool config = strstr(row->path, "{config}"), hooks = strstr(row->path, "Configs");
	const char *task = hooks ? "taskId" : "id";
	struct th_jw w = th_jw(params);
	bool good = true;

	th_jw_object(&w);
	if (strcmp(row->http, "GET") == 0)
		put_query(r->query, &w);
	else if (!th_str_ends(th_str_of(row->path), TH_STR("}:cancel")))
		good = put_body(r->body, config ? "id" : has_task(row) ? task : "", &w);
	if (has_task(row))
		th_jw_kstr(&w, task, th_str_of(r->task));
	if (config)
		th_jw_kstr(&w, "id", th_str_of(r->config));
	th_jw_object_end(&w);
	return good ? row->method : NULL;
}

void th_a2a_rest(struct th_access *a)
{
	struct th_buf params TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	const struct th_a2a_rest_request request = { .route = a->route,
						     .query = th_http_query(a->request),
						     .body = th_http_body(a->request),
						     .task = a->task,
						     .config = a->args[1] };
	const char *method = th_a2a_rest_read(&request, &params);
	struct th_a2a *m = th_a2a_new(a);

	m->rest = true;
	if (method) {
		th_a2a_serve(m, method, th_buf_str(&params));
		return;
	}
	th_a2a_fail(m, TH_RPC_EPARSE, "the body is no JSON object");
	th_a2a_free(m);
}
