/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c - a WebSocket of a conversation: who it is, what it says, where it begins and ends. */
#include <stdlib.h>

#include "base/text.h"
#include "openhands_api/socket.h"

static void on_gone(struct th_access *a)
{
	th_oh_socket_leave(a->ctx);
}

static void on_room(struct th_access *a)
{
	struct th_oh_socket *s = a->ctx;

	if (!s->full)
		return;
	s->full = false;
	th_oh_socket_go_on(s);
}

/* ---- who it is ---- */

static void say_all(struct th_access *a);

/* Its session's row is there, or is not. */
static void listen(struct th_access *a)
{
	struct th_oh_socket *s = a->ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_found *row = th_need_session(&a->needs, a->args[0], a->user);
	size_t count = 0;

	if (!row)
		return;
	if (row->err || th_json_parse(row->text, &doc, NULL) != TH_OK) {
		th_oh_socket_end(s, TH_OH_CLOSE_NONE);
		return;
	}
	for (struct th_oh_socket *other = s->o->sockets; other; other = other->next)
		count += other->listener.hub && strcmp(other->listener.hub->id, a->args[0]) == 0;
	if (count >= TH_SERVE_OPENHANDS_SOCKETS_MAX) {
		th_oh_socket_end(s, TH_OH_CLOSE_MANY);
		return;
	}
	s->deltas = th_json_bool(th_json_get(th_json_get(th_json_get(th_json_root(doc), "metadata"),
							 TH_OPENHANDS_MEMBER),
					     "stream"),
				 false);
	s->listener = (struct th_listener){ .fn = th_oh_socket_note,
					    .look = th_oh_socket_look,
					    .only_listens = true,
					    .deltas = s->deltas };
	th_hub_listen(th_hub_get(s->o->server, a->args[0], a->user), &s->listener);
	s->ran = th_hub_runs(s->listener.hub); /* its last request may have begun */
	th_oh_socket_go_on(s);
	th_needs_forget(&a->needs);
	a->again = say_all;
	say_all(a);
}

static void listen_begin(struct th_oh_socket *s)
{
	th_timer_stop(&s->login);
	s->authenticated = true;
	s->access->again = listen;
	listen(s->access);
}

static void refuse(struct th_oh_socket *s)
{
	s->o->server->metrics.refused_tokens++;
	th_oh_socket_end(s, TH_OH_CLOSE_AUTH);
}

/* {"type": "auth", "session_api_key": TOKEN} */
static void authenticate(struct th_oh_socket *s, const struct th_json *v)
{
	const struct th_token *t =
	    th_tokens_find(th_guard_tokens(s->o->server), th_json_get_str(v, "session_api_key"));

	if (!th_str_is(th_json_get_str(v, "type"), "auth") || !t || !(t->scopes & TH_SCOPE_READ)) {
		refuse(s);
		return;
	}
	th_guard_found(s->access, t, TH_SCOPE_READ);
	listen_begin(s);
}

/* A message over the socket is run, as it is there.  False: it waits for the store, and is said
 * when that has answered. */
static bool say_one(struct th_oh_socket *s, const struct th_json *v)
{
	struct th_access *a = s->access;
	const struct th_found *open = NULL;
	struct th_oh_said said = { 0 };
	struct thole_error e = { 0 };
	enum th_room room = TH_ROOM_YES;
	struct th_refusal no;
	struct th_err err = {};
	struct th_hub *h = s->listener.hub;
	bool good = th_oh_said_read(v, &said, &err) == TH_OK;

	if (good && (a->scopes & TH_SCOPE_RUN))
		open = th_need_open(&a->needs, h->id, a->user, true);
	if (open && !open->err && !th_hub_runs(h))
		room = th_quota_room(&a->needs, a->user, a->priority, &no);
	if (!(a->scopes & TH_SCOPE_RUN)) {
		th_oh_socket_tell_error(s, "scope", "this token may not do that");
	} else if (!good) {
		th_oh_socket_tell_error(s, "message", err.msg);
	} else if (!open || room == TH_ROOM_PENDING) {
		th_oh_said_deinit(&said);
		return false;
	} else if (open->err) {
		struct thole_error space;

		th_oh_socket_tell_error(s, thole_code_name(open->err->code),
					th_error_public(a->server, open->err, &space)->text);
	} else if (room == TH_ROOM_NO) {
		th_oh_socket_tell_error(s, no.code, no.why.msg);
	} else {
		said.run = true;
		if (th_oh_goal_end(h, a->user, &e) != 0 || th_oh_say(h, &said, &e) != 0)
			th_oh_socket_tell_error(s, thole_code_name(e.code), e.text);
		else {
			th_quota_begins(&a->needs, h);
			th_server_kick(a->server);
		}
	}
	th_oh_said_deinit(&said);
	return true;
}

/* What was said, in its order. */
static void say_all(struct th_access *a)
{
	struct th_oh_socket *s = a->ctx;

	while (s->said.len) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_err err = {};
		bool within = s->sends, over = true;

		s->sends = true; /* it is not freed meanwhile */
		if (th_json_parse(th_str_of(s->said.ptr), &doc, &err) != TH_OK)
			th_oh_socket_tell_error(s, "message", err.msg);
		else if (!th_str_is(th_json_get_str(th_json_root(doc), "type"), "auth"))
			over = say_one(s, th_json_root(doc));
		s->sends = within;
		if (s->gone) {
			if (!within)
				th_oh_socket_free(s);
			return;
		}
		if (!over)
			return;
		th_needs_forget(&a->needs);
		th_buf_drop(&s->said, strlen(s->said.ptr) + 1);
	}
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_oh_socket *s = a->ctx;

	if (!is_text || memchr(text.ptr, 0, text.len)) {
		th_oh_socket_end(s, 1003);
		return;
	}
	if (!s->authenticated) {
		if (th_json_parse(text, &doc, NULL) == TH_OK)
			authenticate(s, th_json_root(doc));
		else
			refuse(s);
		return;
	}
	th_buf_add(&s->said, text);
	th_buf_add_char(&s->said, '\0');
	if (s->said.failed)
		th_oh_socket_end(s, TH_OH_CLOSE_MANY);
	else if (s->listener.hub && !th_needs_wait(&a->needs))
		say_all(a);
}

static void on_late(void *ctx)
{
	refuse(ctx);
}

/* ---- it begins and ends ---- */

/* Which events it wants that are there already.  False: it was answered. */
static bool read_mode(struct th_access *a, struct th_oh_socket *s)
{
	struct th_buf mode TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	if (!th_access_query(a, "resend_mode", &mode))
		return true;
	if (th_str_is(th_buf_str(&mode), "all")) {
		s->begun = s->whole = true;
		return true;
	}
	if (!th_str_is(th_buf_str(&mode), "since")) {
		th_access_fail(a, 422, NULL, "resend_mode is all or since");
		return false;
	}
	s->begun = s->whole = true;
	return th_oh_query_time(a, "after_timestamp", &s->since);
}

void th_oh_socket(struct th_access *a)
{
	struct th_oh *o = a->server->openhands;
	bool named = th_http_header(a->request, "x-session-api-key").len > 0 ||
		     th_http_header(a->request, "authorization").len > 0;
	struct th_oh_socket *s;
	struct th_uuid id;

	if (!th_http_wants_socket(a->request)) {
		th_access_fail(a, 426, NULL, "this is a WebSocket");
		return;
	}
	if (!th_uuid_parse(th_str_of(a->args[0]), &id)) {
		th_access_fail(a, 422, NULL, "the id of a conversation is a UUID");
		return;
	}
	th_uuid_text(&id, a->args[0]);
	/* It says first who it is, so many times a second. */
	if (named ? !th_guard_caller(a) : !th_guard_stranger(a))
		return;
	if (named && !(a->scopes & TH_SCOPE_READ)) {
		th_access_fail(a, 403, "scope", "this token may not do that");
		return;
	}
	s = th_alloc(sizeof(*s));
	*s = (struct th_oh_socket){ .o = o, .access = a, .since = TH_BUF_INIT(TH_KIB) };
	th_buf_init(&s->said, 2 * (size_t)TH_SERVE_JSON_MAX);
	s->look = (struct th_needs){ .server = a->server, .again = th_oh_socket_looked, .ctx = s };
	if (!read_mode(a, s) || !th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) {
		th_buf_deinit(&s->since);
		free(s);
		return;
	}
	th_timer_init(&s->login, a->server->loop, on_late, s);
	s->pump = (struct th_deferred){ .fn = th_oh_socket_pump, .ctx = s };
	s->next = o->sockets;
	if (s->next)
		s->next->prev = s;
	o->sockets = s;
	a->server->metrics.sockets++;
	a->ctx = s;
	a->message = on_message;
	a->gone = on_gone;
	a->room = on_room;
	if (named)
		listen_begin(s);
	else
		th_timer_start(&s->login, TH_SERVE_OPENHANDS_LOGIN_MS, 0);
}

void th_oh_sockets_poll(struct th_oh *o, const char *id)
{
	for (struct th_oh_socket *s = o->sockets; s; s = s->next)
		if (s->listener.hub && strcmp(s->listener.hub->id, id) == 0 &&
		    !th_hub_runs(s->listener.hub)) {
			s->whole = true;
			th_oh_socket_go_on(s);
		}
}

void th_oh_sockets_finish(struct th_oh *o)
{
	while (o->sockets)
		th_oh_socket_end(o->sockets, 1001);
}

void th_oh_sockets_free(struct th_oh *o)
{
	while (o->sockets) {
		o->sockets->access->gone = NULL;
		th_oh_socket_leave(o->sockets);
	}
}
