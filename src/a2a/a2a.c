/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a2a.c - the server as an agent of the A2A protocol, POST /a2a/{agent}: JSON-RPC
 * with the methods of version 1.0 and of 0.3, each answered in its own words.
 *
 * A message's text never decides about a call that waits for a person: that is
 * a data part which says so, by a token that may approve.
 */
#include <stdio.h>
#include <stdlib.h>

#include "a2a/internal.h"
#include "io/clock.h"

/* ---- a task of the log ---- */

static int on_line(void *ctx, const char *line, size_t len)
{
	return th_a2a_task_event(ctx, th_str_n(line, len)) ? 0 : 1;
}

/* The session is the caller's, and the task has begun.  False: it was answered. */
static bool load(struct th_a2a *m, struct th_str id, struct th_a2a_task *t)
{
	char session[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	uint64_t after;
	char *row = NULL;
	int code = THOLE_ENOENT;

	*t = (struct th_a2a_task){ 0 };
	if (th_a2a_task_parse(id, session, &after) &&
	    thole_runtime_session(m->access->server->rt, session, m->access->user, &row, &err) ==
		0) {
		thole_free(row);
		th_a2a_task_init(t, session, after);
		code =
		    thole_runtime_log(m->access->server->rt, session, after + 1, on_line, t, &err);
	}
	if ((code == 0 || code == 1) && t->last_seq)
		return true;
	th_a2a_fail(m, TH_A2A_ENOTFOUND, "there is no such task");
	th_a2a_task_deinit(t);
	return false;
}

static struct th_hub *open_session(struct th_a2a *m, const char *id)
{
	struct th_hub *h = th_hub_get(m->access->server, id, m->access->user);
	struct thole_error err;

	if (th_functions_open(h, &err) == 0)
		return h;
	th_a2a_fail_api(m, &err);
	return NULL;
}

/* ---- a message ---- */

struct said {
	struct th_buf text;
	const struct th_json *decision; /* a data part that decides; NULL: none */
};

/* False: a part that is not taken. */
static bool read_part(const struct th_json *part, struct said *s)
{
	struct th_str text = th_json_get_str(part, "text");
	const struct th_json *data = th_json_get(part, "data");
	struct th_str url = th_json_get_str(part, "url");

	if (!url.len)
		url = th_json_get_str(th_json_get(part, "file"), "uri");
	if (text.ptr && s->text.len)
		th_buf_add_char(&s->text, '\n');
	if (text.ptr) {
		th_buf_add(&s->text, text);
	} else if (th_json_get_str(data, "decision").len) {
		s->decision = data;
	} else if (data) {
		th_json_print(data, &s->text);
	} else if (url.len) {
		th_buf_printf(&s->text, "%s%.*s", s->text.len ? "\n" : "", TH_FMT(url));
	} else {
		return false;
	}
	return true;
}

static bool read_message(struct th_a2a *m, struct said *s)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_json_iter it = th_json_iter(th_json_get(message, "parts"));

	th_buf_init(&s->text, TH_MESSAGE_MAX);
	while (th_json_next(&it))
		if (!read_part(it.val, s)) {
			th_a2a_fail(m, TH_A2A_ETYPE,
				    "a part is text, data, or the address of a file");
			return false;
		}
	if (s->text.failed || (!s->text.len && !s->decision) ||
	    memchr(s->text.ptr, 0, s->text.len)) {
		th_a2a_fail(m, TH_RPC_EPARAMS,
			    "message.parts hold 1 byte to 4 MiB of text, without a zero");
		return false;
	}
	return true;
}

/* A new session; its name is the context that the client chose, or a UUID. */
static struct th_hub *begin(struct th_a2a *m, struct th_str context, const char *text)
{
	struct th_server *s = m->access->server;
	const struct th_served_agent *from =
	    th_served_find(&s->agents, th_str_of(m->access->args[0]));
	struct th_uuid made = th_uuid_now();
	char id[TH_SESSION_ID_MAX + 1], *workspace = NULL;
	const char *options[] = { "id", id, "user", m->access->user, NULL };
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code;

	if (!th_quota_begin(m->access))
		return NULL;
	th_uuid_text(&made, id);
	if (context.len)
		snprintf(id, sizeof(id), "%.*s", TH_FMT(context));
	code = th_workspace_make(s, id, &workspace, &err);
	if (!code)
		code = th_served_make(from, workspace, &agent, &err);
	if (!code)
		code = thole_session_new_with(s->rt, agent, options, &session, &err);
	if (!code)
		code = thole_session_message(session, text, &err);
	thole_agent_free(agent);
	free(workspace);
	if (code) {
		thole_session_free(session);
		th_a2a_fail_api(m, &err);
		return NULL;
	}
	s->metrics.sessions_begun++;
	th_hub_adopt(th_hub_get(s, id, m->access->user), session);
	return th_hub_find(s, id);
}

static bool decide(struct th_a2a *m, const struct said *s, const char *session)
{
	struct th_str word = th_json_get_str(s->decision, "decision");
	struct th_str call = th_json_get_str(s->decision, "call_id");
	struct th_str message = th_json_get_str(s->decision, "message");
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct thole_runtime *rt = m->access->server->rt;
	const char *by = m->access->user;
	struct thole_error err = { 0 };
	const char *id, *told;
	int code;

	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	if (!(m->access->scopes & TH_SCOPE_APPROVE)) {
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not decide: it lacks the scope approve");
		return false;
	}
	id = call.len ? th_arena_cstr(&memory, call) : NULL;
	told = message.len ? th_arena_cstr(&memory, message) : NULL;
	if (th_str_is(word, "approve"))
		code = thole_runtime_approve(rt, session, id, by, false, &err);
	else if (th_str_is(word, "reject"))
		code = thole_runtime_reject(rt, session, id, by, told, false, &err);
	else if (th_str_is(word, "done") || th_str_is(word, "not_started") ||
		 th_str_is(word, "unknown"))
		code = thole_runtime_settle(rt, session, id,
					    th_str_is(word, "done")          ? THOLE_DONE
					    : th_str_is(word, "not_started") ? THOLE_NOT_STARTED
									     : THOLE_UNKNOWN,
					    by, told, &err);
	else {
		th_a2a_fail(m, TH_RPC_EPARAMS,
			    "decision is approve, reject, done, not_started or unknown");
		return false;
	}
	if (code)
		th_a2a_fail_api(m, &err);
	else
		m->access->server->metrics.decisions++;
	return !code;
}

/* The last task of a session that is there, and the session open.  NULL: it was answered. */
static struct th_hub *go_on(struct th_a2a *m, const struct said *s, struct th_a2a_task *t)
{
	bool waits = t->state == TH_A2A_INPUT_REQUIRED, was_open;
	struct thole_error err;
	struct th_hub *h;
	int code = 0;

	if (waits != (s->decision != NULL)) {
		th_a2a_fail(
		    m, TH_A2A_EUNSUPPORTED,
		    waits
			? "the task waits for a decision: a data part {\"decision\": "
			  "\"approve\" or \"reject\", \"call_id\": …}, by a token that may approve"
			: "nothing in the task waits for a decision");
		return NULL;
	}
	if (th_a2a_task_over(t) && !th_quota_begin(m->access))
		return NULL;
	h = th_hub_find(m->access->server, t->session);
	was_open = h && h->session;
	if (s->decision && !decide(m, s, t->session))
		return NULL;
	h = open_session(m, t->session);
	if (!h)
		return NULL;
	if (!s->decision)
		code = thole_session_message(h->session, s->text.ptr, &err);
	else if (!was_open) /* whoever has it lets it go on */
		code = thole_session_resume(h->session, &err);
	if (code) {
		th_a2a_fail_api(m, &err);
		return NULL;
	}
	if (th_a2a_task_over(t)) { /* it begins the next one */
		char session[TH_SESSION_ID_MAX + 1];
		uint64_t last = t->last_seq;

		memcpy(session, t->session, sizeof(session));
		th_a2a_task_deinit(t);
		th_a2a_task_init(t, session, last);
		t->last_seq = 0;
	}
	h->rested_ms = 0;
	m->access->server->metrics.messages++;
	return h;
}

/* Of the context: its last task.  False: there is no such session of this user. */
static bool load_last(struct th_a2a *m, struct th_str context, struct th_a2a_task *t)
{
	char session[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	char *row = NULL;

	if (!context.len || context.len > TH_SESSION_ID_MAX)
		return false;
	memcpy(session, context.ptr, context.len);
	session[context.len] = '\0';
	if (thole_runtime_session(m->access->server->rt, session, m->access->user, &row, &err) != 0)
		return false;
	thole_free(row);
	th_a2a_task_init(t, session, 0);
	t->latest = true;
	(void)thole_runtime_log(m->access->server->rt, session, 1, on_line, t, &err);
	t->latest = false;
	return true;
}

/* Which session and task is meant; NULL: it was answered. */
static struct th_hub *say(struct th_a2a *m, const struct said *s, struct th_a2a_task *t)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_str task = th_json_get_str(message, "taskId");
	struct th_str context = th_json_get_str(message, "contextId");
	struct th_a2a_task last = { 0 };
	struct th_hub *h;

	if (task.len) {
		if (!load(m, task, t))
			return NULL;
		if (th_a2a_task_over(t)) {
			th_a2a_fail(
			    m, TH_A2A_EUNSUPPORTED,
			    "the task is over; with its contextId alone a message begins the next");
			th_a2a_task_deinit(t);
			return NULL;
		}
		h = go_on(m, s, t);
	} else if (load_last(m, context, &last)) {
		*t = last;
		h = go_on(m, s, t);
	} else if (context.len > TH_SESSION_ID_MAX || memchr(context.ptr ?: "", 0, context.len)) {
		th_a2a_fail(m, TH_RPC_EPARAMS, "a contextId has at most %d bytes",
			    TH_SESSION_ID_MAX);
		return NULL;
	} else if (s->decision) {
		th_a2a_fail(m, TH_A2A_ENOTFOUND, "there is no task that waits for a decision");
		return NULL;
	} else {
		h = begin(m, context, s->text.ptr);
		if (h)
			th_a2a_task_init(t, h->id, 0);
	}
	if (!h)
		th_a2a_task_deinit(t);
	return h;
}

static bool at_once(const struct th_a2a *m)
{
	const struct th_json *c = th_json_get(m->params, "configuration");

	return th_json_bool(th_json_get(c, "returnImmediately"), false) ||
	       !th_json_bool(th_json_get(c, "blocking"), true);
}

static void send(struct th_a2a *m, bool stream)
{
	struct th_a2a_task t = { 0 };
	struct said s = { 0 };
	struct th_hub *h = NULL;

	if (!(m->access->scopes & TH_SCOPE_RUN))
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not run agents: it lacks the scope run");
	else if (read_message(m, &s))
		h = say(m, &s, &t);
	th_buf_deinit(&s.text);
	if (h)
		th_a2a_follow(
		    m, h, &t,
		    &(struct th_a2a_how){ .stream = stream, .at_once = !stream && at_once(m) });
}

static void send_message(struct th_a2a *m)
{
	send(m, false);
}

static void stream_message(struct th_a2a *m)
{
	send(m, true);
}

/* ---- tasks ---- */

static void get_task(struct th_a2a *m)
{
	struct th_a2a_task t;

	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	th_a2a_answer_task(m, &t, th_a2a_history(m), true);
	th_a2a_task_deinit(&t);
}

static void cancel_task(struct th_a2a *m)
{
	struct th_a2a_task t;
	struct thole_error err;
	struct th_hub *h;

	if (!(m->access->scopes & TH_SCOPE_RUN)) {
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not stop tasks: it lacks the scope run");
		return;
	}
	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	h = NULL;
	if (th_a2a_task_over(&t))
		th_a2a_fail(m, TH_A2A_EOVER, "the task is over");
	else
		h = open_session(m, t.session);
	if (h && thole_session_cancel(h->session, THOLE_NOW, &err) != 0) {
		th_a2a_fail(m, TH_A2A_EOVER, "%s", err.text);
		h = NULL;
	}
	if (h)
		th_a2a_follow(m, h, &t, &(struct th_a2a_how){ .plain = true });
	else
		th_a2a_task_deinit(&t);
}

static void subscribe(struct th_a2a *m)
{
	struct th_a2a_task t;
	struct th_hub *h;

	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	if (th_a2a_task_over(&t) || t.state == TH_A2A_INPUT_REQUIRED) {
		if (m->v1 && th_a2a_task_over(&t)) {
			th_a2a_fail(m, TH_A2A_EUNSUPPORTED, "the task is over; GetTask has it");
			th_a2a_task_deinit(&t);
			return;
		}
		h = th_hub_get(m->access->server, t.session, m->access->user);
		th_a2a_follow(m, h, &t, &(struct th_a2a_how){ .stream = true, .rests = true });
		return;
	}
	h = open_session(m, t.session);
	if (h)
		th_a2a_follow(m, h, &t, &(struct th_a2a_how){ .stream = true });
	else
		th_a2a_task_deinit(&t);
}

static void no_push(struct th_a2a *m)
{
	th_a2a_fail(m, TH_A2A_ENOPUSH, "there are no push notifications");
}

static void no_card(struct th_a2a *m)
{
	th_a2a_fail(m, TH_A2A_ENOCARD, "there is no other card than the open one");
}

static void no_list(struct th_a2a *m)
{
	th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
		    "tasks are not listed; GET /api/sessions lists their sessions");
}

static const struct {
	const char *v1, *v03;
	void (*fn)(struct th_a2a *m);
} methods[] = {
	{ "SendMessage", "message/send", send_message },
	{ "SendStreamingMessage", "message/stream", stream_message },
	{ "GetTask", "tasks/get", get_task },
	{ "CancelTask", "tasks/cancel", cancel_task },
	{ "SubscribeToTask", "tasks/resubscribe", subscribe },
	{ "ListTasks", "tasks/list", no_list },
	{ "CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", no_push },
	{ "GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", no_push },
	{ "ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", no_push },
	{ "DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", no_push },
	{ "GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", no_card },
};

static bool version_is_known(struct th_str version)
{
	return !version.len || th_str_is(version, "1.0") ||
	       th_str_starts(version, TH_STR("1.0.")) || th_str_is(version, "0.3") ||
	       th_str_starts(version, TH_STR("0.3."));
}

static void call(struct th_a2a *m, const struct th_rpc *r)
{
	if (!th_served_find(&m->access->server->agents, th_str_of(m->access->args[0]))) {
		th_a2a_fail(m, TH_RPC_EPARAMS, "there is no agent of that name");
		return;
	}
	if (!version_is_known(th_http_header(m->access->request, "a2a-version"))) {
		th_a2a_fail(m, TH_A2A_EVERSION, "the versions are 1.0 and 0.3");
		return;
	}
	for (size_t i = 0; i < TH_COUNT(methods); i++) {
		m->v1 = th_str_is(r->method, methods[i].v1);
		if (m->v1 || th_str_is(r->method, methods[i].v03)) {
			methods[i].fn(m);
			return;
		}
	}
	th_a2a_fail(m, TH_RPC_EMETHOD, "there is no such method");
}

void th_a2a_post(struct th_access *a)
{
	struct th_a2a m = { .access = a };
	struct th_err err = {};
	struct th_rpc r;

	th_rpc_read(th_http_body(a->request), &r);
	m.id = r.id;
	if (r.kind == TH_RPC_BROKEN) {
		th_a2a_fail(&m, TH_RPC_EPARSE, "the body is no JSON");
	} else if (r.kind != TH_RPC_REQUEST) {
		th_a2a_fail(&m, TH_RPC_EREQUEST, "the body is no request of JSON-RPC 2.0");
	} else if (th_json_parse(r.params.len ? r.params : TH_STR("{}"), &m.doc, &err) != TH_OK) {
		th_a2a_fail(&m, TH_RPC_EPARAMS, "%s", err.msg);
	} else {
		m.params = th_json_root(m.doc);
		call(&m, &r);
		th_json_free(m.doc);
	}
}
