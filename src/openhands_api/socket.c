/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c - a conversation's events over a WebSocket, as they become durable.
 *
 * A socket knows how many events its peer has.  A note of the session only says that there
 * are more: they are read (held.c), and so a slow reader holds nothing in memory, and there is no
 * gap and no repeat.  Behind the events comes how the conversation stands, which is not stored
 * and has an id of its own each time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "openhands_api/internal.h"

#define CLOSE_AUTH 4001 /* clients do not try again */
#define CLOSE_NONE 4004
#define CLOSE_MANY 1013

struct th_oh_socket {
	struct th_oh_socket *prev, *next;
	struct th_oh *o;
	struct th_access *access;
	struct th_listener listener; /* once it is known who it is */
	struct th_oh_reading *reading;
	struct th_deferred pump;
	struct th_timer login;
	struct th_buf since;       /* only events from this time on */
	size_t at;                 /* events that its peer has */
	uint64_t head_seq;         /* of one that others write */
	const char *status;        /* that was told last */
	bool authenticated, begun; /* begun: `at` is known */
	bool more;                 /* something happened since the reading began */
	bool full;                 /* the peer takes no more for now */
	bool whole;                /* it is to be told how all stands */
	bool deltas, sends, gone;
};

static void socket_free(struct th_oh_socket *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		s->o->sockets = s->next;
	if (s->next)
		s->next->prev = s->prev;
	th_oh_read_free(s->reading);
	th_loop_undefer(s->o->server->loop, &s->pump);
	th_timer_stop(&s->login);
	th_hub_unlisten(&s->listener);
	th_buf_deinit(&s->since);
	s->o->server->metrics.sockets--;
	free(s);
}

/* It may be in the middle of sending: whoever sends frees it then. */
static void leave(struct th_oh_socket *s)
{
	s->gone = true;
	if (!s->sends)
		socket_free(s);
}

static void on_gone(struct th_access *a)
{
	leave(a->ctx);
}

static void end(struct th_oh_socket *s, unsigned code)
{
	struct th_http_request *r = s->access->request;

	s->access->gone = NULL;
	s->access->message = NULL;
	s->access->room = NULL;
	s->gone = true;
	if (!s->sends)
		socket_free(s);
	th_http_close(r, code);
}

/* False: it is over; it is freed by who holds `sends`, or is. */
static bool send(struct th_oh_socket *s, struct th_str json)
{
	bool within = s->sends;
	enum th_code code;

	s->sends = true;
	code = th_http_send(s->access->request, json, true);
	if (code == TH_EBUSY)
		s->full = true;
	else if (code == TH_ELIMIT && !s->gone)
		end(s, 1008);
	s->sends = within;
	if (!s->gone)
		return true;
	if (!within)
		socket_free(s);
	return false;
}

/* ---- how it stands ---- */

/* What is not stored: an id and the time of now. */
static void put_head(const char *kind, const char *source, struct th_jw *w)
{
	struct th_uuid id = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1];

	th_uuid_text(&id, text);
	th_jw_object(w);
	th_jw_kstr(w, "kind", th_str_of(kind));
	th_jw_kstr(w, "id", th_str_of(text));
	th_jw_kstr(w, "source", th_str_of(source));
	th_jw_name(w, TH_STR("timestamp"));
	th_oh_put_time((int64_t)th_clock_wall_ms(), false, w);
}

static bool tell(struct th_oh_socket *s, const char *key, const struct th_json *row)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_OPENHANDS_STATE_MAX);
	struct th_jw w = th_jw(&json);

	put_head("ConversationStateUpdateEvent", "environment", &w);
	th_jw_kstr(&w, "key", th_str_of(key));
	th_jw_name(&w, TH_STR("value"));
	if (strcmp(key, "full_state") == 0)
		th_oh_print_info(s->o->server, row, &w);
	else
		th_jw_str(&w, th_str_of(s->status));
	th_jw_object_end(&w);
	return json.failed || send(s, th_buf_str(&json));
}

/* False: the socket is over. */
static bool tell_state(struct th_oh_socket *s)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	const char *status;
	char *row = NULL;
	bool whole = s->whole;

	if (thole_runtime_session(s->o->server->rt, s->listener.hub->id, s->access->user, &row,
				  &err) != 0)
		return true;
	if (th_json_parse(th_str_of(row), &doc, NULL) != TH_OK) {
		thole_free(row);
		return true;
	}
	thole_free(row);
	status = th_oh_status(s->listener.hub, th_json_root(doc));
	s->whole = false;
	if (s->status != status) {
		s->status = status;
		if (!tell(s, "execution_status", th_json_root(doc)))
			return false;
	}
	return !whole || tell(s, "full_state", th_json_root(doc));
}

/* ---- its events ---- */

static int on_event(void *ctx, const char *line, size_t len)
{
	struct th_oh_socket *s = ctx;
	struct th_str event = th_str_n(line, len);
	struct th_str stamp = th_json_raw_inside(th_json_raw_get(event, "timestamp"));

	s->at++;
	if (s->since.len && th_str_cmp(stamp, th_buf_str(&s->since)) < 0)
		return 0;
	s->o->server->metrics.events_streamed++;
	if (!send(s, event)) /* it is freed, and the reading with it */
		return 1;
	return s->full;
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_oh_socket *s = ctx;

	(void)err;
	s->reading = NULL;
	if (code == 1) /* full; when there is room again it goes on */
		return;
	if (code) {
		end(s, code == THOLE_ENOENT ? CLOSE_NONE : 1011);
		return;
	}
	if (!s->begun) { /* what is there already is asked for by requests */
		s->begun = true;
		s->at = th_oh_count(s->o, s->listener.hub->id);
		s->whole = true;
	}
	if (s->more)
		th_loop_defer(s->o->server->loop, &s->pump);
	else
		(void)tell_state(s);
}

static void pump(void *ctx)
{
	struct th_oh_socket *s = ctx;
	struct thole_error err;
	char from[24];
	const char *options[] = { "from", from, NULL };

	if (!s->authenticated || s->full || s->reading || !s->listener.hub)
		return;
	s->more = false;
	snprintf(from, sizeof(from), "%lld", s->begun ? (long long)s->at : (long long)INT64_MAX);
	if (th_oh_read(s->o, s->listener.hub->id, options, on_event, on_read, s, &s->reading,
		       &err) != 0)
		end(s, CLOSE_MANY);
}

static void go_on(struct th_oh_socket *s)
{
	s->more = true;
	th_loop_defer(s->o->server->loop, &s->pump);
}

static void on_room(struct th_access *a)
{
	struct th_oh_socket *s = a->ctx;

	if (!s->full)
		return;
	s->full = false;
	go_on(s);
}

static void on_delta(struct th_oh_socket *s, const struct thole_note *note)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	bool text = strcmp(thole_note_name(note), "text") == 0;
	struct th_jw w = th_jw(&json);

	if (!s->deltas || s->full || !s->begun ||
	    (!text && strcmp(thole_note_name(note), "reasoning") != 0))
		return;
	put_head("StreamingDeltaEvent", "agent", &w);
	th_jw_kstr(&w, text ? "content" : "reasoning_content", th_str_of(thole_note_text(note)));
	th_jw_object_end(&w);
	s->o->server->metrics.deltas_streamed++;
	if (!json.failed)
		(void)send(s, th_buf_str(&json));
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_oh_socket *s = TH_CONTAINER_OF(l, struct th_oh_socket, listener);

	if (!note) {
		/* The server ends, the conversation was deleted, or goes on elsewhere: who asks
		 * again is told which. */
		end(s, 1012);
		return;
	}
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_REST:
		s->whole = true;
		go_on(s);
		break;
	case THOLE_NOTE_EVENT:
		go_on(s);
		break;
	case THOLE_NOTE_DELTA:
		on_delta(s, note);
		break;
	default:
		break;
	}
}

/* Somebody else's process may have written more. */
static void on_look(struct th_listener *l)
{
	struct th_oh_socket *s = TH_CONTAINER_OF(l, struct th_oh_socket, listener);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	char *row = NULL;
	int code = thole_runtime_session(s->o->server->rt, l->hub->id, s->access->user, &row, &err);
	uint64_t head;

	if (!code && th_json_parse(th_str_of(row), &doc, NULL) == TH_OK) {
		head = (uint64_t)th_json_get_int(th_json_root(doc), "head_seq", 0);
		if (head != s->head_seq) {
			s->whole |= s->head_seq > 0;
			s->head_seq = head;
			go_on(s);
		}
	}
	thole_free(row);
	if (code == THOLE_ENOENT)
		end(s, CLOSE_NONE);
}

/* ---- who it is ---- */

static void listen(struct th_oh_socket *s)
{
	struct th_access *a = s->access;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	size_t count = 0;
	char *row = NULL;

	th_timer_stop(&s->login);
	s->authenticated = true;
	if (thole_runtime_session(s->o->server->rt, a->args[0], a->user, &row, &err) != 0 ||
	    th_json_parse(th_str_of(row), &doc, NULL) != TH_OK) {
		thole_free(row);
		end(s, CLOSE_NONE);
		return;
	}
	thole_free(row);
	for (struct th_oh_socket *other = s->o->sockets; other; other = other->next)
		count += other->listener.hub && strcmp(other->listener.hub->id, a->args[0]) == 0;
	if (count >= TH_SERVE_OPENHANDS_SOCKETS_MAX) {
		end(s, CLOSE_MANY);
		return;
	}
	s->deltas = th_json_bool(
	    th_json_get(th_json_get(th_json_get(th_json_root(doc), "metadata"), TH_OH_MEMBER),
			"stream"),
	    false);
	s->listener = (struct th_listener){ .fn = on_note, .look = on_look, .only_listens = true };
	th_hub_listen(th_hub_get(s->o->server, a->args[0], a->user), &s->listener);
	go_on(s);
}

static void refuse(struct th_oh_socket *s)
{
	s->o->server->metrics.refused_tokens++;
	end(s, CLOSE_AUTH);
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
	listen(s);
}

static void tell_error(struct th_oh_socket *s, const char *code, const char *detail)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	put_head("ServerErrorEvent", "environment", &w);
	th_jw_kstr(&w, "code", th_str_of(code));
	th_jw_kstr(&w, "detail", th_str_of(detail));
	th_jw_object_end(&w);
	(void)send(s, th_buf_str(&json));
}

/* A message over the socket is run, as it is there. */
static void take_message(struct th_oh_socket *s, const struct th_json *v)
{
	struct th_hub *h = s->listener.hub;
	struct th_server *server = s->o->server;
	struct th_oh_said said = { 0 };
	struct thole_error e = { 0 };
	struct th_refusal no;
	struct th_err err = {};

	if (!(s->access->scopes & TH_SCOPE_RUN)) {
		tell_error(s, "scope", "this token may not do that");
	} else if (th_oh_said_read(v, &said, &err)) {
		tell_error(s, "message", err.msg);
	} else if (th_functions_open(h, &e) != 0) {
		tell_error(s, thole_code_name(e.code), e.text);
	} else if (!th_hub_runs(h) && !th_quota_has_room(server, s->access->user, &no)) {
		tell_error(s, no.code, no.why.msg);
	} else {
		said.run = true;
		if (th_oh_say(h, &said, &e) != 0)
			tell_error(s, thole_code_name(e.code), e.text);
		else
			th_server_kick(server);
	}
	th_oh_said_deinit(&said);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_oh_socket *s = a->ctx;
	struct th_err err = {};

	if (!is_text) {
		end(s, 1003);
		return;
	}
	if (th_json_parse(text, &doc, &err) != TH_OK) {
		if (s->authenticated)
			tell_error(s, "message", err.msg);
		else
			refuse(s);
		return;
	}
	if (!s->authenticated)
		authenticate(s, th_json_root(doc));
	else if (s->listener.hub && !th_str_is(th_json_get_str(th_json_root(doc), "type"), "auth"))
		take_message(s, th_json_root(doc));
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
	if (!read_mode(a, s) || !th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) {
		th_buf_deinit(&s->since);
		free(s);
		return;
	}
	th_timer_init(&s->login, a->server->loop, on_late, s);
	s->pump = (struct th_deferred){ .fn = pump, .ctx = s };
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
		listen(s);
	else
		th_timer_start(&s->login, TH_SERVE_OPENHANDS_LOGIN_MS, 0);
}

void th_oh_sockets_poll(struct th_oh *o, const char *id)
{
	for (struct th_oh_socket *s = o->sockets; s; s = s->next)
		if (s->listener.hub && strcmp(s->listener.hub->id, id) == 0 &&
		    !th_hub_runs(s->listener.hub)) {
			s->whole = true;
			go_on(s);
		}
}

void th_oh_sockets_finish(struct th_oh *o)
{
	while (o->sockets)
		end(o->sockets, 1001);
}

void th_oh_sockets_free(struct th_oh *o)
{
	while (o->sockets) {
		o->sockets->access->gone = NULL;
		leave(o->sockets);
	}
}
