/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a2a.c - the server as an agent of the A2A protocol, POST /a2a/{agent}: JSON-RPC
 * with the methods of version 1.0 and of 0.3, each answered in its own words; and
 * what a request of either binding (rest.c) comes to.
 */
#include <stdlib.h>

#include "a2a/internal.h"

/* ---- methods ---- */

static void send_message(struct th_a2a *m)
{
	th_a2a_send(m, false);
}

static void stream_message(struct th_a2a *m)
{
	th_a2a_send(m, true);
}

static void get_task(struct th_a2a *m)
{
	if (m->found)
		th_a2a_answer_task(m, &m->task, th_a2a_history(m), true);
	else
		th_a2a_no_task(m);
}

static void cancel_task(struct th_a2a *m)
{
	struct thole_error err;
	struct th_hub *h;

	if (!(m->access->scopes & TH_SCOPE_RUN)) {
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not stop tasks: it lacks the scope run");
		return;
	}
	if (!m->found) {
		th_a2a_no_task(m);
		return;
	}
	if (th_a2a_task_over(&m->task)) {
		th_a2a_fail(m, TH_A2A_EOVER, "the task is over");
		return;
	}
	h = th_a2a_open(m, m->task.session);
	if (!h)
		return;
	if (thole_session_cancel(h->session, THOLE_NOW, &err) != 0)
		th_a2a_fail(m, TH_A2A_EOVER, "%s", err.text);
	else
		th_a2a_follow(m, h, &(struct th_a2a_how){ .plain = true });
}

static void subscribe(struct th_a2a *m)
{
	struct th_a2a_task *t = &m->task;
	struct th_hub *h;

	if (!m->found) {
		th_a2a_no_task(m);
		return;
	}
	if (th_a2a_task_over(t) || t->state == TH_A2A_INPUT_REQUIRED) {
		if (m->v1 && th_a2a_task_over(t)) {
			th_a2a_fail(m, TH_A2A_EUNSUPPORTED, "the task is over; GetTask has it");
			return;
		}
		h = th_hub_get(m->access->server, t->session, m->access->user);
		th_a2a_follow(m, h, &(struct th_a2a_how){ .stream = true, .rests = true });
		return;
	}
	h = th_a2a_open(m, t->session);
	if (h)
		th_a2a_follow(m, h, &(struct th_a2a_how){ .stream = true });
}

static void no_card(struct th_a2a *m)
{
	th_a2a_fail(m, TH_A2A_ENOCARD, "there is no other card than the open one");
}

static const struct method {
	const char *v1, *v03;
	th_a2a_fn *fn;
} methods[] = {
	{ "SendMessage", "message/send", send_message },
	{ "SendStreamingMessage", "message/stream", stream_message },
	{ "GetTask", "tasks/get", get_task },
	{ "CancelTask", "tasks/cancel", cancel_task },
	{ "SubscribeToTask", "tasks/resubscribe", subscribe },
	{ "ListTasks", "tasks/list", th_a2a_list_tasks },
	{ "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", th_a2a_push_set },
	{ "GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", th_a2a_push_get },
	{ "ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list",
	  th_a2a_push_list },
	{ "DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete",
	  th_a2a_push_delete },
	{ "GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", no_card },
};

/* ---- the task that is named ---- */

void th_a2a_free(struct th_a2a *m)
{
	th_a2a_push_end(m, false);
	th_a2a_task_deinit(&m->task);
	th_a2a_list_free(m->list);
	th_json_free(m->doc);
	free(m->id_text);
	free(m);
}

static void on_gone(struct th_access *a)
{
	struct th_a2a *m = a->ctx;

	th_log_load_cancel(m->load);
	th_a2a_free(m);
}

/* The method; once more, when it needs something of the store. */
static void run_again(struct th_access *a)
{
	struct th_a2a *m = a->ctx;

	a->ctx = NULL; /* of who answers later */
	a->gone = NULL;
	a->reads = false;
	m->waits = false;
	m->fn(m);
	if (!m->waits) {
		th_a2a_free(m);
		return;
	}
	a->ctx = m;
	a->gone = on_gone;
	a->reads = true;
}

static void run(struct th_a2a *m)
{
	m->access->ctx = m;
	m->access->again = run_again;
	run_again(m->access);
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_a2a *m = ctx;

	return th_a2a_task_event(&m->task, th_str_n(line, len)) ? 0 : 1;
}

static void on_loaded(void *ctx, int code, const struct thole_error *err)
{
	struct th_a2a *m = ctx;

	m->load = NULL;
	m->access->ctx = NULL;
	m->access->gone = NULL;
	m->access->reads = false;
	m->task.latest = false;
	if (code && code != 1 && code != THOLE_ENOENT) {
		th_a2a_fail(m, TH_RPC_EINTERNAL, "the task's log cannot be read: %s",
			    err ? err->text : "");
		th_a2a_free(m);
		return;
	}
	m->found = code != THOLE_ENOENT && m->task.last_seq;
	run(m);
}

/* True: the request names a task, or a context, which may be a session of the caller's. */
static bool names(const struct th_a2a *m, char session[static TH_SESSION_ID_MAX + 1],
		  uint64_t *ret_after, bool *ret_latest)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_str task = th_json_get_str(m->params, "taskId"); /* of a hook of 1.0 */
	struct th_str context = th_json_get_str(message, "contextId");

	*ret_latest = false;
	*ret_after = 0;
	if (message)
		task = th_json_get_str(message, "taskId");
	else if (!task.len)
		task = th_json_get_str(m->params, "id");
	if (task.len)
		return th_a2a_task_parse(task, session, ret_after);
	if (!context.len || context.len > TH_SESSION_ID_MAX || memchr(context.ptr, 0, context.len))
		return false;
	memcpy(session, context.ptr, context.len);
	session[context.len] = '\0';
	*ret_latest = true;
	return true;
}

/* Reads the task, and then does what the method says. */
static void begin_with_task(struct th_access *a)
{
	struct th_a2a *m = a->ctx;
	char session[TH_SESSION_ID_MAX + 1];
	const struct th_found *row;
	struct thole_error err = { 0 };
	uint64_t after;
	bool latest;

	if (!names(m, session, &after, &latest)) {
		run(m);
		return;
	}
	row = th_need_session(&a->needs, session, a->user);
	if (!row)
		return;
	if (row->err) {
		run(m);
		return;
	}
	th_a2a_task_init(&m->task, session, after);
	m->task.latest = latest;
	if (th_log_load(a->server, session, a->user, after + 1, on_line, on_loaded, m, &m->load,
			&err) != 0)
		on_loaded(m, err.code, &err);
}

/* ---- requests ---- */

static bool version_is_known(const struct th_a2a *m, struct th_str version)
{
	if (!version.len || th_str_is(version, "1.0") || th_str_starts(version, TH_STR("1.0.")))
		return true;
	return !m->rest && (th_str_is(version, "0.3") || th_str_starts(version, TH_STR("0.3.")));
}

/* NULL: it was answered. */
static const struct method *find_method(struct th_a2a *m, struct th_str name)
{
	if (!th_served_find(&m->access->server->agents, th_str_of(m->access->args[0]))) {
		th_a2a_fail(m, TH_RPC_EPARAMS, "there is no agent of that name");
		return NULL;
	}
	if (!version_is_known(m, th_http_header(m->access->request, "a2a-version"))) {
		th_a2a_fail(m, TH_A2A_EVERSION,
			    m->rest ? "the version of HTTP+JSON is 1.0"
				    : "the versions are 1.0 and 0.3");
		return NULL;
	}
	for (size_t i = 0; i < TH_COUNT(methods); i++) {
		m->v1 = th_str_is(name, methods[i].v1);
		if (m->v1 || th_str_is(name, methods[i].v03))
			return &methods[i];
	}
	th_a2a_fail(m, TH_RPC_EMETHOD, "there is no such method");
	return NULL;
}

struct th_a2a *th_a2a_new(struct th_access *a)
{
	struct th_a2a *m = th_alloc(sizeof(*m));

	m->access = a;
	return m;
}

static void serve(struct th_a2a *m, struct th_str name, struct th_str params)
{
	const struct method *method = find_method(m, name);
	struct th_access *a = m->access;
	struct th_err err = {};

	if (method && th_json_parse(params.len ? params : TH_STR("{}"), &m->doc, &err) != TH_OK) {
		th_a2a_fail(m, TH_RPC_EPARAMS, "%s", err.msg);
		method = NULL;
	}
	if (!method) {
		th_a2a_free(m);
		return;
	}
	m->params = th_json_root(m->doc);
	m->fn = method->fn;
	a->ctx = m;
	a->gone = on_gone;
	a->reads = true;
	a->again = begin_with_task;
	begin_with_task(a);
}

void th_a2a_serve(struct th_a2a *m, const char *method, struct th_str params)
{
	serve(m, th_str_of(method), params);
}

void th_a2a_post(struct th_access *a)
{
	struct th_a2a *m = th_a2a_new(a);
	struct th_rpc r;

	th_rpc_read(th_http_body(a->request), &r);
	m->id_text = th_alloc(r.id.len + 1);
	memcpy(m->id_text, r.id.ptr ?: "", r.id.len);
	m->id = th_str_n(m->id_text, r.id.len);
	if (r.kind == TH_RPC_REQUEST) {
		serve(m, r.method, r.params);
		return;
	}
	if (r.kind == TH_RPC_BROKEN)
		th_a2a_fail(m, TH_RPC_EPARSE, "the body is no JSON");
	else
		th_a2a_fail(m, TH_RPC_EREQUEST, "the body is no request of JSON-RPC 2.0");
	th_a2a_free(m);
}
