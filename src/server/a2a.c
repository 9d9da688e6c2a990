/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a2a.c - the server as an agent of the A2A protocol, POST /a2a/{agent}: JSON-RPC
 * with the methods of version 1.0 and of 0.3, each answered in its own words.
 *
 * A message's text never decides about a call that waits for a person: that is
 * a data part which says so, by a token that may approve.
 */
#include "server/a2a_task.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "server/internal.h"
#include "wire/jsonrpc.h"

enum { /* of the protocol */
       TASK_NOT_FOUND = -32001,
       NOT_CANCELABLE = -32002,
       NO_PUSH = -32003,
       UNSUPPORTED = -32004,
       NO_CONTENT_TYPE = -32005,
       NO_CARD = -32007,
       NO_VERSION = -32009
};

/* A request; its strings are of `doc` and of the body. */
struct a2a {
	struct th_access *access;
	struct th_json_doc *doc;
	const struct th_json *params;
	struct th_str id;
	bool v1;
};

/* ---- answers ---- */

static void answer(struct a2a *m, const struct th_buf *result)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	th_rpc_print_result(m->id, th_buf_str(result), &json);
	th_access_json(m->access, 200, &json);
}

TH_PRINTF(3, 4)
static void fail(struct a2a *m, int code, const char *fmt, ...)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_rpc_print_error(m->id, code, th_buf_str(&text), TH_STR(""), &json);
	th_access_json(m->access, 200, &json);
}

static void fail_api(struct a2a *m, const struct thole_error *err)
{
	int code = err->code == THOLE_ENOENT                                ? TASK_NOT_FOUND
		   : err->code == THOLE_EPROTO                              ? UNSUPPORTED
		   : err->code == THOLE_EUSAGE || err->code == THOLE_EEXIST ? TH_RPC_EPARAMS
									    : TH_RPC_EINTERNAL;

	fail(m, code, "%s", err->text);
}

static int64_t history_wanted(const struct a2a *m)
{
	const struct th_json *n = th_json_get(m->params, "historyLength");

	if (!n)
		n = th_json_get(th_json_get(m->params, "configuration"), "historyLength");
	return th_json_int(n, TH_A2A_HISTORY_MAX);
}

/* `wrap`: what SendMessage answers, where GetTask answers with the task itself. */
static void put_task(const struct th_a2a_task *t, bool v1, int64_t history, bool wrap,
		     struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (v1 && wrap) {
		th_jw_object(&w);
		th_jw_name(&w, TH_STR("task"));
	}
	th_a2a_print_task(t, v1, history, &w);
	if (v1 && wrap)
		th_jw_object_end(&w);
}

/* ---- a task of the log ---- */

static int on_line(void *ctx, const char *line, size_t len)
{
	return th_a2a_task_event(ctx, th_str_n(line, len)) ? 0 : 1;
}

/* The session is the caller's, and the task has begun.  False: it was answered. */
static bool load(struct a2a *m, struct th_str id, struct th_a2a_task *t)
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
	fail(m, TASK_NOT_FOUND, "there is no such task");
	th_a2a_task_deinit(t);
	return false;
}

static struct th_hub *open_session(struct a2a *m, const char *id)
{
	struct th_hub *h = th_hub_get(m->access->server, id, m->access->user);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = h->session ? 0 : th_functions_agent_of(m->access->server, id, &agent, &err);

	if (!code)
		code = th_hub_open(h, agent, &err);
	thole_agent_free(agent);
	if (!code)
		return h;
	fail_api(m, &err);
	return NULL;
}

/* ---- what is waited for, or streamed ---- */

struct follow {
	struct th_listener listener;
	struct th_access *access;
	struct th_a2a_task task;
	char *id; /* of the request, raw */
	enum th_a2a_state told;
	size_t told_messages;
	int64_t history;
	bool v1, stream, began, at_once, wrap;
};

static void follow_free(struct follow *f)
{
	th_hub_unlisten(&f->listener);
	th_a2a_task_deinit(&f->task);
	free(f->id);
	free(f);
}

static void on_gone(struct th_access *a)
{
	follow_free(a->ctx); /* the task goes on: it can be got, or subscribed to */
}

static void frame(struct follow *f, const struct th_buf *result)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	th_rpc_print_result(th_str_of(f->id), th_buf_str(result), &json);
	th_buf_add_cstr(&line, "data: ");
	th_buf_add(&line, th_buf_str(&json));
	th_buf_add_cstr(&line, "\n\n");
	if (th_http_write(f->access->request, th_buf_str(&line)) == TH_ELIMIT)
		th_http_abort(f->access->request); /* a reader that does not read */
}

static void end(struct follow *f)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_access *a = f->access;

	a->gone = NULL;
	if (f->stream) {
		follow_free(f);
		th_http_end(a->request);
		return;
	}
	put_task(&f->task, f->v1, f->history, f->wrap, &out);
	{
		struct a2a m = { .access = a, .id = th_str_of(f->id), .v1 = f->v1 };

		answer(&m, &out);
	}
	follow_free(f);
}

/* What is new of it, as the parts of a stream. */
static void tell(struct follow *f)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);
	bool first = !f->began;

	if (!f->stream || !f->task.message_count)
		return; /* it begins with what was said */
	if (first) {
		f->began = true;
		put_task(&f->task, f->v1, f->history, true, &out);
		frame(f, &out);
	} else if (f->task.state != f->told || f->task.message_count != f->told_messages) {
		if (f->task.output && th_a2a_task_over(&f->task)) {
			th_a2a_print_output(&f->task, f->v1, &w);
			frame(f, &out);
			th_buf_clear(&out);
			w = th_jw(&out);
		}
		th_a2a_print_status(&f->task, f->v1, &w);
		frame(f, &out);
	}
	f->told = f->task.state;
	f->told_messages = f->task.message_count;
}

static bool ends(const struct follow *f, const struct thole_note *note)
{
	if (!note)
		return true;
	if (f->at_once)
		return f->task.message_count > 0;
	return thole_note_kind(note) == THOLE_NOTE_REST && f->task.last_seq > 0;
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct follow *f = TH_CONTAINER_OF(l, struct follow, listener);

	if (note && thole_note_kind(note) == THOLE_NOTE_EVENT) {
		if (!th_a2a_task_event(&f->task, th_str_of(thole_note_json(note)))) {
			end(f);
			return;
		}
		tell(f);
	}
	if (ends(f, note))
		end(f);
}

/* Answers with the task when its session rests; or streams it until then. */
static struct follow *follow_new(struct a2a *m, struct th_hub *h, const struct th_a2a_task *t,
				 bool stream)
{
	struct follow *f = th_alloc(sizeof(*f));

	*f = (struct follow){ .access = m->access,
			      .task = *t,
			      .history = history_wanted(m),
			      .v1 = m->v1,
			      .stream = stream,
			      .wrap = true };
	f->id = th_alloc(m->id.len + 1);
	memcpy(f->id, m->id.ptr, m->id.len);
	f->id[m->id.len] = '\0';
	f->listener.fn = on_note;
	m->access->ctx = f;
	m->access->gone = on_gone;
	th_hub_listen(h, &f->listener);
	if (stream) {
		th_http_begin(m->access->request, 200, "text/event-stream",
			      TH_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"));
		tell(f);
	}
	th_server_kick(m->access->server);
	return f;
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

static bool read_message(struct a2a *m, struct said *s)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_json_iter it = th_json_iter(th_json_get(message, "parts"));

	th_buf_init(&s->text, TH_MESSAGE_MAX);
	while (th_json_next(&it))
		if (!read_part(it.val, s)) {
			fail(m, NO_CONTENT_TYPE, "a part is text, data, or the address of a file");
			return false;
		}
	if (s->text.failed || (!s->text.len && !s->decision) ||
	    memchr(s->text.ptr, 0, s->text.len)) {
		fail(m, TH_RPC_EPARAMS,
		     "message.parts hold 1 byte to 4 MiB of text, without a zero");
		return false;
	}
	return true;
}

/* A new session; its name is the context that the client chose, or a UUID. */
static struct th_hub *begin(struct a2a *m, struct th_str context, const char *text)
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
		fail_api(m, &err);
		return NULL;
	}
	s->metrics.sessions_begun++;
	th_hub_adopt(th_hub_get(s, id, m->access->user), session);
	return th_hub_find(s, id);
}

static bool decide(struct a2a *m, const struct said *s, const char *session)
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
		fail(m, UNSUPPORTED, "this token may not decide: it lacks the scope approve");
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
		fail(m, TH_RPC_EPARAMS,
		     "decision is approve, reject, done, not_started or unknown");
		return false;
	}
	if (code)
		fail_api(m, &err);
	else
		m->access->server->metrics.decisions++;
	return !code;
}

/* The last task of a session that is there, and the session open.  NULL: it was answered. */
static struct th_hub *go_on(struct a2a *m, const struct said *s, struct th_a2a_task *t)
{
	bool waits = t->state == TH_A2A_INPUT_REQUIRED, was_open;
	struct thole_error err;
	struct th_hub *h;
	int code = 0;

	if (waits != (s->decision != NULL)) {
		fail(m, UNSUPPORTED,
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
		fail_api(m, &err);
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
static bool load_last(struct a2a *m, struct th_str context, struct th_a2a_task *t)
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
static struct th_hub *say(struct a2a *m, const struct said *s, struct th_a2a_task *t)
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
			fail(
			    m, UNSUPPORTED,
			    "the task is over; with its contextId alone a message begins the next");
			th_a2a_task_deinit(t);
			return NULL;
		}
		h = go_on(m, s, t);
	} else if (load_last(m, context, &last)) {
		*t = last;
		h = go_on(m, s, t);
	} else if (context.len > TH_SESSION_ID_MAX || memchr(context.ptr ?: "", 0, context.len)) {
		fail(m, TH_RPC_EPARAMS, "a contextId has at most %d bytes", TH_SESSION_ID_MAX);
		return NULL;
	} else if (s->decision) {
		fail(m, TASK_NOT_FOUND, "there is no task that waits for a decision");
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

static bool at_once(const struct a2a *m)
{
	const struct th_json *c = th_json_get(m->params, "configuration");

	return th_json_bool(th_json_get(c, "returnImmediately"), false) ||
	       !th_json_bool(th_json_get(c, "blocking"), true);
}

static void send(struct a2a *m, bool stream)
{
	struct th_a2a_task t = { 0 };
	struct said s = { 0 };
	struct th_hub *h = NULL;

	if (!(m->access->scopes & TH_SCOPE_RUN))
		fail(m, UNSUPPORTED, "this token may not run agents: it lacks the scope run");
	else if (read_message(m, &s))
		h = say(m, &s, &t);
	th_buf_deinit(&s.text);
	if (h)
		follow_new(m, h, &t, stream)->at_once = !stream && at_once(m);
}

static void send_message(struct a2a *m)
{
	send(m, false);
}

static void stream_message(struct a2a *m)
{
	send(m, true);
}

/* ---- tasks ---- */

static void get_task(struct a2a *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_a2a_task t;

	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	put_task(&t, m->v1, history_wanted(m), false, &out);
	answer(m, &out);
	th_a2a_task_deinit(&t);
}

static void cancel_task(struct a2a *m)
{
	struct th_a2a_task t;
	struct thole_error err;
	struct th_hub *h;

	if (!(m->access->scopes & TH_SCOPE_RUN)) {
		fail(m, UNSUPPORTED, "this token may not stop tasks: it lacks the scope run");
		return;
	}
	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	h = NULL;
	if (th_a2a_task_over(&t))
		fail(m, NOT_CANCELABLE, "the task is over");
	else
		h = open_session(m, t.session);
	if (h && thole_session_cancel(h->session, THOLE_NOW, &err) != 0) {
		fail(m, NOT_CANCELABLE, "%s", err.text);
		h = NULL;
	}
	if (h)
		follow_new(m, h, &t, false)->wrap = false;
	else
		th_a2a_task_deinit(&t);
}

static void subscribe(struct a2a *m)
{
	struct th_a2a_task t;
	struct th_hub *h;

	if (!load(m, th_json_get_str(m->params, "id"), &t))
		return;
	if (th_a2a_task_over(&t) || t.state == TH_A2A_INPUT_REQUIRED) {
		if (m->v1 && th_a2a_task_over(&t)) {
			fail(m, UNSUPPORTED, "the task is over; GetTask has it");
			th_a2a_task_deinit(&t);
			return;
		}
		h = th_hub_get(m->access->server, t.session, m->access->user);
		end(follow_new(m, h, &t, true)); /* it stands as it is told */
		return;
	}
	h = open_session(m, t.session);
	if (h)
		follow_new(m, h, &t, true);
	else
		th_a2a_task_deinit(&t);
}

static void no_push(struct a2a *m)
{
	fail(m, NO_PUSH, "there are no push notifications");
}

static void no_card(struct a2a *m)
{
	fail(m, NO_CARD, "there is no other card than the open one");
}

static void no_list(struct a2a *m)
{
	fail(m, UNSUPPORTED, "tasks are not listed; GET /api/sessions lists their sessions");
}

static const struct {
	const char *v1, *v03;
	void (*fn)(struct a2a *m);
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

static void call(struct a2a *m, const struct th_rpc *r)
{
	if (!th_served_find(&m->access->server->agents, th_str_of(m->access->args[0]))) {
		fail(m, TH_RPC_EPARAMS, "there is no agent of that name");
		return;
	}
	if (!version_is_known(th_http_header(m->access->request, "a2a-version"))) {
		fail(m, NO_VERSION, "the versions are 1.0 and 0.3");
		return;
	}
	for (size_t i = 0; i < TH_COUNT(methods); i++) {
		m->v1 = th_str_is(r->method, methods[i].v1);
		if (m->v1 || th_str_is(r->method, methods[i].v03)) {
			methods[i].fn(m);
			return;
		}
	}
	fail(m, TH_RPC_EMETHOD, "there is no such method");
}

void th_a2a_post(struct th_access *a)
{
	struct a2a m = { .access = a };
	struct th_err err = {};
	struct th_rpc r;

	th_rpc_read(th_http_body(a->request), &r);
	m.id = r.id;
	if (r.kind == TH_RPC_BROKEN) {
		fail(&m, TH_RPC_EPARSE, "the body is no JSON");
	} else if (r.kind != TH_RPC_REQUEST) {
		fail(&m, TH_RPC_EREQUEST, "the body is no request of JSON-RPC 2.0");
	} else if (th_json_parse(r.params.len ? r.params : TH_STR("{}"), &m.doc, &err) != TH_OK) {
		fail(&m, TH_RPC_EPARAMS, "%s", err.msg);
	} else {
		m.params = th_json_root(m.doc);
		call(&m, &r);
		th_json_free(m.doc);
	}
}
