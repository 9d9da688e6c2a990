/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - what a message of the A2A protocol begins or goes on with.
 *
 * A message's text never decides about a call that waits for a person: that is
 * a data part which says so, by a token that may approve.
 */
#include <stdio.h>
#include <stdlib.h>

#include "a2a/internal.h"
#include "io/clock.h"

static int say_it(struct thole_session *session, const struct th_a2a_said *s,
		  struct thole_error *err)
{
	return s->files ? thole_session_items_add(session, s->items.ptr, true, err)
			: thole_session_message(session, s->text.ptr, err);
}

/* False: it was answered, or m->waits. */
static bool has_room(struct th_a2a *m)
{
	struct th_refusal r;
	enum th_room room =
	    th_quota_room(&m->access->needs, m->access->user, m->access->priority, &r);

	m->waits = room == TH_ROOM_PENDING;
	if (room == TH_ROOM_NO)
		th_access_wait(m->access, r.status, r.wait_ms, r.code, "%s", r.why.msg);
	return room == TH_ROOM_YES;
}

/* No session has that name, whosever it is.  False: the same. */
static bool is_new(struct th_a2a *m, const char *id)
{
	const struct th_found *row = th_need_session(&m->access->needs, id, NULL);
	struct thole_error err = { .code = THOLE_EEXIST };

	m->waits = !row;
	if (!row || (row->err && row->err->code == THOLE_ENOENT))
		return row != NULL;
	snprintf(err.text, sizeof(err.text), "session %s exists already", id);
	th_a2a_fail_api(m, row->err ?: &err);
	return false;
}

/* A new session; its name is the context that the client chose, or a UUID. */
static struct th_hub *begin(struct th_a2a *m, struct th_str context, const struct th_a2a_said *said)
{
	struct th_server *s = m->access->server;
	const struct th_served_agent *from =
	    th_served_find(&s->agents, th_str_of(m->access->args[0]));
	char id[TH_SESSION_ID_MAX + 1], *workspace = NULL;
	const char *options[] = { "id",    id,    "user",     m->access->user,
				  "fresh", "yes", "priority", th_priority_name(m->access->priority),
				  NULL };
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	struct thole_error err;
	struct th_hub *h;
	int code;

	if (!has_room(m))
		return NULL;
	memcpy(id, m->made, sizeof(m->made));
	if (context.len)
		snprintf(id, sizeof(id), "%.*s", TH_FMT(context));
	if (context.len && !is_new(m, id))
		return NULL;
	code = th_workspace_make(s, id, &workspace, &err);
	if (!code)
		code = th_served_make(from, workspace, &agent, &err);
	if (!code)
		code = thole_session_new_with(s->rt, agent, options, &session, &err);
	if (!code)
		code = say_it(session, said, &err);
	thole_agent_free(agent);
	free(workspace);
	if (code) {
		thole_session_free(session);
		th_a2a_fail_api(m, &err);
		return NULL;
	}
	s->metrics.sessions_begun++;
	h = th_hub_get(s, id, m->access->user);
	th_hub_adopt(h, session);
	th_quota_begins(&m->access->needs, h);
	return h;
}

static bool decide(struct th_a2a *m, const struct th_a2a_said *s, struct thole_session *session)
{
	struct th_str word = th_json_get_str(s->decision, "decision");
	struct th_str call = th_json_get_str(s->decision, "call_id");
	struct th_str message = th_json_get_str(s->decision, "message");
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const char *by = m->access->user;
	struct thole_error err = { 0 };
	const char *id, *told;
	int code;

	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	id = call.len ? th_arena_cstr(&memory, call) : NULL;
	told = message.len ? th_arena_cstr(&memory, message) : NULL;
	if (!s->decision)
		code = thole_session_answer(session, th_a2a_task_question(&m->task)->call_id, by,
					    s->text.ptr, &err);
	else if (th_str_is(word, "answer") && told)
		code = thole_session_answer(session, id, by, told, &err);
	else if (th_str_is(word, "approve"))
		code = thole_session_approve(session, id, by, &err);
	else if (th_str_is(word, "reject"))
		code = thole_session_reject(session, id, by, told, &err);
	else if (th_str_is(word, "done") || th_str_is(word, "not_started") ||
		 th_str_is(word, "unknown"))
		code = thole_session_settle(session, id,
					    th_str_is(word, "done")          ? THOLE_DONE
					    : th_str_is(word, "not_started") ? THOLE_NOT_STARTED
									     : THOLE_UNKNOWN,
					    by, told, &err);
	else {
		th_a2a_fail(m, TH_RPC_EPARAMS,
			    "decision is approve, reject, answer (with a message), done, "
			    "not_started or unknown");
		return false;
	}
	if (code)
		th_a2a_fail_api(m, &err);
	else
		m->access->server->metrics.decisions++;
	return !code;
}

/* A text answers a question, and decides about nothing else.  False: it was answered. */
static bool may_say(struct th_a2a *m, const struct th_a2a_said *s, bool waits)
{
	const char *why = NULL;

	if (waits && !s->decision && !th_a2a_task_question(&m->task))
		why = "the task waits for a decision: a data part {\"decision\": \"approve\" or "
		      "\"reject\", \"call_id\": …}, by a token that may approve";
	else if (waits && !s->decision && (s->files || !s->text.len))
		why = "the answer to a question is a text";
	else if (!waits && s->decision)
		why = "nothing in the task waits for a decision";
	else if (waits && !(m->access->scopes & TH_SCOPE_APPROVE))
		why = "this token may not decide, nor answer for a person: it lacks the scope "
		      "approve";
	if (why)
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED, "%s", why);
	return !why;
}

/* The last task of a session that is there, and the session open.  NULL: it was answered. */
static struct th_hub *go_on(struct th_a2a *m, const struct th_a2a_said *s, struct th_a2a_task *t)
{
	bool waits = t->state == TH_A2A_INPUT_REQUIRED;
	struct thole_error err;
	struct th_hub *h;

	if (!may_say(m, s, waits))
		return NULL;
	if (th_a2a_task_over(t) && !has_room(m))
		return NULL;
	/* First: where another node has to open it, that one decides, too. */
	h = th_a2a_open(m, t->session);
	if (!h || (waits && !decide(m, s, h->session)))
		return NULL;
	if (!waits && say_it(h->session, s, &err) != 0) {
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
	th_quota_begins(&m->access->needs, h);
	m->access->server->metrics.messages++;
	return h;
}

/* Which session is meant; its task is m->task.  NULL: it was answered. */
static struct th_hub *say(struct th_a2a *m, const struct th_a2a_said *s)
{
	const struct th_json *message = th_json_get(m->params, "message");
	struct th_str context = th_json_get_str(message, "contextId");
	struct th_hub *h;

	if (th_json_get_str(message, "taskId").len) {
		if (!m->found) {
			th_a2a_no_task(m);
			return NULL;
		}
		if (th_a2a_task_over(&m->task)) {
			th_a2a_fail(
			    m, TH_A2A_EUNSUPPORTED,
			    "the task is over; with its contextId alone a message begins the next");
			return NULL;
		}
		return go_on(m, s, &m->task);
	}
	if (m->found)
		return go_on(m, s, &m->task);
	if (context.len > TH_SESSION_ID_MAX || memchr(context.ptr ?: "", 0, context.len)) {
		th_a2a_fail(m, TH_RPC_EPARAMS, "a contextId has at most %d bytes",
			    TH_SESSION_ID_MAX);
		return NULL;
	}
	if (s->decision) {
		th_a2a_fail(m, TH_A2A_ENOTFOUND, "there is no task that waits for a decision");
		return NULL;
	}
	h = begin(m, context, s);
	if (h)
		th_a2a_task_init(&m->task, h->id, 0);
	return h;
}

static bool at_once(const struct th_a2a *m)
{
	const struct th_json *c = th_json_get(m->params, "configuration");

	return th_json_bool(th_json_get(c, "returnImmediately"), false) ||
	       !th_json_bool(th_json_get(c, "blocking"), true);
}

void th_a2a_send(struct th_a2a *m, bool stream)
{
	struct th_a2a_said s = { 0 };
	struct th_err why = { 0 };
	struct th_hub *h = NULL;
	int code;

	if (!(m->access->scopes & TH_SCOPE_RUN)) {
		th_a2a_fail(m, TH_A2A_EUNSUPPORTED,
			    "this token may not run agents: it lacks the scope run");
		return;
	}
	if (!m->made[0]) {
		struct th_uuid made = th_uuid_now();

		th_uuid_text(&made, m->made);
	}
	code = th_a2a_said_read(th_json_get(m->params, "message"), &s, &why);
	if (code)
		th_a2a_fail(m, code, "%s", why.msg);
	else if (th_a2a_push_add(m)) {
		h = say(m, &s);
		if (h || !m->waits)
			th_a2a_push_end(m, h != NULL);
	}
	th_a2a_said_deinit(&s);
	if (h)
		th_a2a_follow(
		    m, h,
		    &(struct th_a2a_how){ .stream = stream, .at_once = !stream && at_once(m) });
}
