/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.c - push notifications of the A2A protocol: a task's hooks, which stand in the server's
 * outbox (server/webhooks.h).
 *
 * The name of one is TASK/ID, ID being the client's, or else the task's.  What its client wants to
 * recognise us by is given back to nobody but who brought it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "a2a/internal.h"
#include "base/wiped.h"

/* What letter.c writes by; the request's words are those of 1.0, or of 0.3. */
static void read_more(const struct th_a2a *m, const struct th_a2a_task *t, const struct th_json *c,
		      struct th_buf *out)
{
	const struct th_json *auth = th_json_get(c, "authentication");
	struct th_str scheme = th_json_get_str(auth, "scheme");
	struct th_jw w = th_jw(out);

	if (!scheme.ptr)
		scheme = th_json_str(th_json_at(th_json_get(auth, "schemes"), 0));
	th_jw_object(&w);
	th_jw_kbool(&w, "v1", m->v1);
	th_jw_kuint(&w, "task", t->after);
	th_jw_kstr(&w, "id", th_json_get_str(c, "id"));
	th_jw_kstr(&w, "token", th_json_get_str(c, "token"));
	th_jw_kstr(&w, "scheme", scheme);
	th_jw_kstr(&w, "credentials", th_json_get_str(auth, "credentials"));
	th_jw_object_end(&w);
}

/* It may stand in a header. */
static bool is_header(struct th_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || (unsigned char)text.ptr[i] == 0x7f)
			return false;
	return true;
}

static bool are_headers(const struct th_json *c)
{
	const struct th_json *auth = th_json_get(c, "authentication");

	return is_header(th_json_get_str(c, "token")) &&
	       is_header(th_json_get_str(auth, "scheme")) &&
	       is_header(th_json_str(th_json_at(th_json_get(auth, "schemes"), 0))) &&
	       is_header(th_json_get_str(auth, "credentials"));
}

/* The configuration of a request: its own, or that of a message. */
static const struct th_json *config_of(const struct th_a2a *m)
{
	const struct th_json *c = th_json_get(m->params, "configuration");

	if (!th_json_get(m->params, "message"))
		return m->v1 ? m->params : th_json_get(m->params, "pushNotificationConfig");
	return th_json_get(c, "taskPushNotificationConfig")
		   ?: th_json_get(c, "pushNotificationConfig");
}

/* TASK/ID */
static void name_of(const struct th_a2a_task *t, struct th_str id, struct th_buf *out)
{
	char task[TH_A2A_ID_MAX];

	th_a2a_task_id(t, task);
	th_buf_printf(out, "%s/%.*s", task, TH_FMT(id.len ? id : th_str_of(task)));
}

/* ---- answers ---- */

/* `own`: what the request brought, with its secrets; NULL: without. */
static void put_config(const struct th_a2a *m, const struct th_client_hook *c,
		       const struct th_json *own, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str scheme = TH_STR(""), id = TH_STR("");
	char task[TH_A2A_ID_MAX];

	if (th_json_parse_secret(c->more, &doc, NULL) == TH_OK) {
		scheme = th_json_get_str(th_json_root(doc), "scheme");
		id = th_json_get_str(th_json_root(doc), "id");
	}
	th_a2a_task_id(&m->task, task);
	th_jw_object(w);
	th_jw_kstr(w, "taskId", th_str_of(task));
	if (!m->v1) {
		th_jw_name(w, TH_STR("pushNotificationConfig"));
		th_jw_object(w);
	}
	th_jw_kstr(w, "id", id.len ? id : th_str_of(task));
	th_jw_kstr(w, "url", c->url);
	if (th_json_get_str(own, "token").len)
		th_jw_kstr(w, "token", th_json_get_str(own, "token"));
	if (scheme.len) {
		struct th_str credentials =
		    th_json_get_str(th_json_get(own, "authentication"), "credentials");

		th_jw_name(w, TH_STR("authentication"));
		th_jw_object(w);
		if (m->v1) {
			th_jw_kstr(w, "scheme", scheme);
		} else {
			th_jw_name(w, TH_STR("schemes"));
			th_jw_array(w);
			th_jw_str(w, scheme);
			th_jw_array_end(w);
		}
		if (credentials.len)
			th_jw_kstr(w, "credentials", credentials);
		th_jw_object_end(w);
	}
	if (!m->v1)
		th_jw_object_end(w);
	th_jw_object_end(w);
}

static void answer_config(struct th_a2a *m, const struct th_client_hook *c,
			  const struct th_json *own)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_CLIENT_HOOK_SIZE_MAX);
	struct th_jw w = th_jw(&out);

	put_config(m, c, own, &w);
	th_a2a_answer(m, &out);
}

static void fail(struct th_a2a *m, int code, const char *why)
{
	bool theirs = code == THOLE_EUSAGE || code == THOLE_ELIMIT;

	th_a2a_fail(m, theirs ? TH_RPC_EPARAMS : TH_RPC_EINTERNAL, "%s", why);
}

/* ---- a new one ---- */

/* False: the request has none that is good, which was answered. */
static bool is_good(struct th_a2a *m, const struct th_json *c)
{
	struct th_str id = th_json_get_str(c, "id");

	if (!(m->access->scopes & TH_SCOPE_RUN))
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not have tasks told: it lacks the scope run");
	else if (!are_headers(c))
		th_a2a_fail(m, TH_RPC_EPARAMS,
			    "token, scheme and credentials have no control characters");
	else if (id.len > TH_SESSION_ID_MAX || th_str_find_char(id, '/') >= 0 ||
		 memchr(id.ptr ?: "", 0, id.len))
		th_a2a_fail(m, TH_RPC_EPARAMS, "the id of a hook has at most %d bytes, and no /",
			    TH_SESSION_ID_MAX);
	else
		return true;
	return false;
}

/* The task that the request is about: the one that it names or, of a message, that it goes on with
 * or begins.  Not to be deinited. */
static void task_to_be(const struct th_a2a *m, struct th_a2a_task *ret)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_str context = th_json_get_str(message, "contextId");

	*ret = m->task;
	if (!message || (m->found && !th_a2a_task_over(&m->task)) ||
	    th_json_get_str(message, "taskId").len)
		return;
	*ret = (struct th_a2a_task){ 0 };
	if (m->found) { /* it begins the next one */
		memcpy(ret->session, m->task.session, sizeof(ret->session));
		ret->after = m->task.last_seq;
	} else if (context.len) {
		snprintf(ret->session, sizeof(ret->session), "%.*s", TH_FMT(context));
	} else {
		memcpy(ret->session, m->made, sizeof(m->made));
	}
}

/* Of the task that is named; of a message, of the one that it begins or goes on with.  Its texts
 * are of the request, of *t, and of these buffers. */
static struct th_client_hook make(const struct th_a2a *m, const struct th_a2a_task *t,
				  const struct th_json *c, struct th_buf *name, struct th_buf *more)
{
	bool over = !th_json_get(m->params, "message") && th_a2a_task_over(t);

	name_of(t, th_json_get_str(c, "id"), name);
	read_more(m, t, c, more);
	return (struct th_client_hook){
		.service = TH_STR("a2a"),
		.id = th_buf_str(name),
		.session = th_str_of(t->session),
		.user = th_str_of(m->access->user),
		.url = th_json_get_str(c, "url"),
		.more = th_buf_str(more),
		.after = over ? t->after : TH_MAX(t->after, t->last_seq),
		.ended = over,
	};
}

/* A hook that was asked for and not begun yet.  The answer to a message that is refused ends the
 * access, and so does a client that leaves: this is what is left of the hook. */
struct th_a2a_push {
	struct th_webhooks *all;
	char user[TH_USER_MAX + 1];
	char name[TH_A2A_ID_MAX + TH_SESSION_ID_MAX + 2];
};

static void note_push(struct th_a2a *m, const struct th_client_hook *hook)
{
	if (!m->push)
		m->push = th_alloc(sizeof(*m->push));
	m->push->all = m->access->server->webhooks;
	snprintf(m->push->user, sizeof(m->push->user), "%s", m->access->user);
	snprintf(m->push->name, sizeof(m->push->name), "%.*s", TH_FMT(hook->id));
}

static void forget_push(struct th_a2a *m)
{
	free(m->push);
	m->push = NULL;
}

/* True: it is there, or `c` is NULL; false: it was answered, or m->waits.  `answers`: with it, and
 * it is begun. */
static bool add(struct th_a2a *m, const struct th_json *c, bool answers)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_KIB);
	struct th_buf more TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(8 * TH_CLIENT_HOOK_SIZE_MAX);
	struct th_client_hook hook;
	const struct th_found *there = NULL;
	struct th_a2a_task to_be;
	struct th_err err = {};
	bool good;

	if (!c)
		return true;
	if (!is_good(m, c))
		return false;
	task_to_be(m, &to_be);
	hook = make(m, &to_be, c, &name, &more);
	if (th_buf_check(&more, "a hook", &err) == TH_OK) {
		there = th_need_hook(&m->access->needs, &hook);
		note_push(m, &hook);
	} else {
		fail(m, err.code, err.msg);
	}
	m->waits = !there && err.code == TH_OK;
	good = there && !there->err; /* an answer is the end of what is there */
	if (there && !good) {
		forget_push(m); /* it was not added */
		fail(m, there->err->code, there->err->text);
	} else if (good && answers) {
		th_a2a_push_end(m, true);
		answer_config(m, &hook, c);
	}
	return good;
}

void th_a2a_push_set(struct th_a2a *m)
{
	if (!m->found)
		th_a2a_no_task(m);
	else
		(void)add(m, config_of(m), true);
}

bool th_a2a_push_add(struct th_a2a *m)
{
	return add(m, config_of(m), false);
}

void th_a2a_push_end(struct th_a2a *m, bool begun)
{
	const struct th_a2a_push *p = m->push;
	struct th_client_hook hook = { .service = TH_STR("a2a") };

	if (!p)
		return;
	hook.id = th_str_of(p->name);
	hook.user = th_str_of(p->user);
	if (begun)
		th_client_hook_begin(p->all, &hook);
	else
		th_client_hook_undo(p->all, &hook);
	forget_push(m);
}

/* ---- those that are there ---- */

static struct th_webhook *next_of(struct th_a2a *m, struct th_webhook *from, struct th_str prefix)
{
	return th_client_hook_next(m->access->server->webhooks, from, "a2a", m->access->user,
				   prefix);
}

/* The one that is named.  NULL: there is none, which was answered. */
static struct th_webhook *find(struct th_a2a *m)
{
	struct th_str id = th_json_get_str(m->params, m->v1 ? "id" : "pushNotificationConfigId");
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_webhook *h = NULL;

	if (!m->found) {
		th_a2a_no_task(m);
		return NULL;
	}
	name_of(&m->task, id, &name);
	do
		h = next_of(m, h, th_buf_str(&name));
	while (h && !th_str_eq(th_client_hook_of(h)->id, th_buf_str(&name)));
	if (!h)
		th_a2a_fail(m, TH_A2A_ENOTFOUND, "the task has no hook of that id");
	return h;
}

void th_a2a_push_get(struct th_a2a *m)
{
	struct th_webhook *h = find(m);

	if (h)
		answer_config(m, th_client_hook_of(h), NULL);
}

void th_a2a_push_list(struct th_a2a *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf prefix TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_webhook *h = NULL;
	struct th_jw w = th_jw(&out);
	char task[TH_A2A_ID_MAX];

	if (!m->found) {
		th_a2a_no_task(m);
		return;
	}
	th_a2a_task_id(&m->task, task);
	th_buf_printf(&prefix, "%s/", task);
	if (m->v1) {
		th_jw_object(&w);
		th_jw_name(&w, TH_STR("configs"));
	}
	th_jw_array(&w);
	while ((h = next_of(m, h, th_buf_str(&prefix))))
		put_config(m, th_client_hook_of(h), NULL, &w);
	th_jw_array_end(&w);
	if (m->v1) {
		th_jw_kstr(&w, "nextPageToken", TH_STR(""));
		th_jw_object_end(&w);
	}
	th_a2a_answer(m, &out);
}

/* What is not there is as good as deleted. */
void th_a2a_push_delete(struct th_a2a *m)
{
	struct th_webhook *h;

	if (!(m->access->scopes & TH_SCOPE_RUN)) {
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not change who is told: it lacks the scope run");
		return;
	}
	h = find(m);
	if (!h)
		return;
	th_client_hook_drop(h);
	th_a2a_answer_nothing(m);
}
