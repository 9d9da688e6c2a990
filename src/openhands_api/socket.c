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

#include "base/text.h"
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
	bool ran;                  /* the agent did something since it was told, or does now */
	bool deltas, sends, gone;
	/* Of the session's row: one that others write is looked at, and how it stands is told. */
	struct th_needs look;
	bool looks, tells, stale; /* stale: it is to be read once more */
	struct th_buf said;       /* messages that wait until they can be said, a NUL behind each */
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
	th_buf_deinit(&s->said);
	th_needs_forget(&s->look);
	s->o->server->metrics.sockets--;
	free(s);
}

/* It may be in the middle of sending: whoever sends frees it then. */
static void leave(struct th_oh_socket *s)
{
	th_needs_forget(&s->access->needs);
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
	th_needs_forget(&s->access->needs);
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
static bool tell_state(struct th_oh_socket *s, const struct th_json *row)
{
	const char *status = th_oh_status(s->listener.hub, row);
	bool whole = s->whole;

	s->whole = false;
	if (s->status != status) {
		s->status = status;
		if (!tell(s, "execution_status", row))
			return false;
	}
	return !whole || tell(s, "full_state", row);
}

static void go_on(struct th_oh_socket *s);

static void on_looked(void *ctx)
{
	struct th_oh_socket *s = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_found *row =
	    th_need_session(&s->look, s->listener.hub->id, s->access->user);
	bool looks = s->looks, tells = s->tells;
	uint64_t head;

	if (!row)
		return;
	if (s->stale) {
		s->stale = false;
		th_needs_forget(&s->look);
		on_looked(s);
		return;
	}
	s->looks = s->tells = false;
	if (row->err || th_json_parse(row->text, &doc, NULL) != TH_OK) {
		if (looks && row->err && row->err->code == THOLE_ENOENT)
			end(s, CLOSE_NONE);
		return;
	}
	head = (uint64_t)th_json_get_int(th_json_root(doc), "head_seq", 0);
	if (looks && head != s->head_seq) {
		s->whole |= s->head_seq > 0;
		s->head_seq = head;
		go_on(s);
	}
	/* What was written while the row was read goes before the state that it led to. */
	if (tells && !s->more && !s->reading)
		(void)tell_state(s, th_json_root(doc));
}

/* Reads the row, for what is wanted of it. */
static void look(struct th_oh_socket *s)
{
	s->stale = th_needs_wait(&s->look);
	if (s->stale)
		return;
	th_needs_forget(&s->look);
	on_looked(s);
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
	if (s->more) {
		th_loop_defer(s->o->server->loop, &s->pump);
		return;
	}
	s->tells = true;
	look(s);
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

/* The server ends, the conversation was deleted, or goes on elsewhere: who asks again is told
 * which.  Who has said something that waits hears first why it was not taken. */
static void on_lost(struct th_oh_socket *s)
{
	struct thole_session *session = s->listener.hub->session;
	bool within = s->sends;
	struct thole_error why;

	s->sends = true; /* it is not freed meanwhile */
	if (s->said.len && session && thole_session_lost(session, &why))
		tell_error(s, thole_code_name(why.code), why.text);
	if (!s->gone)
		end(s, 1012);
	s->sends = within;
	if (!within)
		socket_free(s);
}

/* It waits for its first run, or the next: a message may have begun a request before that. */
static bool is_held(const struct thole_note *note)
{
	return strcmp(thole_note_name(note), "paused") == 0 &&
	       strcmp(thole_note_text(note), TH_HELD_REASON) == 0;
}

static bool is_of_a_run(const char *kind)
{
	return strcmp(kind, "model_requested") == 0 || strcmp(kind, "intent") == 0;
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_oh_socket *s = TH_CONTAINER_OF(l, struct th_oh_socket, listener);

	if (!note) {
		on_lost(s);
		return;
	}
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_REST:
		/* To a client this is the end of a run.  Behind a message or another policy it
		 * would come when the next run has begun, and end that one for him. */
		s->whole |= s->ran && !is_held(note);
		s->ran = false;
		go_on(s);
		break;
	case THOLE_NOTE_EVENT:
		s->ran |= is_of_a_run(thole_note_name(note));
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

	if (th_needs_wait(&s->look))
		return; /* the store is slow */
	s->looks = true;
	look(s);
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
		end(s, CLOSE_NONE);
		return;
	}
	for (struct th_oh_socket *other = s->o->sockets; other; other = other->next)
		count += other->listener.hub && strcmp(other->listener.hub->id, a->args[0]) == 0;
	if (count >= TH_SERVE_OPENHANDS_SOCKETS_MAX) {
		end(s, CLOSE_MANY);
		return;
	}
	s->deltas = th_json_bool(th_json_get(th_json_get(th_json_get(th_json_root(doc), "metadata"),
							 TH_OPENHANDS_MEMBER),
					     "stream"),
				 false);
	s->listener = (struct th_listener){ .fn = on_note, .look = on_look, .only_listens = true };
	th_hub_listen(th_hub_get(s->o->server, a->args[0], a->user), &s->listener);
	s->ran = th_hub_runs(s->listener.hub); /* its last request may have begun */
	go_on(s);
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
		tell_error(s, "scope", "this token may not do that");
	} else if (!good) {
		tell_error(s, "message", err.msg);
	} else if (!open || room == TH_ROOM_PENDING) {
		th_oh_said_deinit(&said);
		return false;
	} else if (open->err) {
		tell_error(s, thole_code_name(open->err->code), open->err->text);
	} else if (room == TH_ROOM_NO) {
		tell_error(s, no.code, no.why.msg);
	} else {
		said.run = true;
		if (th_oh_say(h, &said, &e) != 0)
			tell_error(s, thole_code_name(e.code), e.text);
		else
			th_server_kick(a->server);
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
			tell_error(s, "message", err.msg);
		else if (!th_str_is(th_json_get_str(th_json_root(doc), "type"), "auth"))
			over = say_one(s, th_json_root(doc));
		s->sends = within;
		if (s->gone) {
			if (!within)
				socket_free(s);
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
		end(s, 1003);
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
		end(s, CLOSE_MANY);
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
	s->look = (struct th_needs){ .server = a->server, .again = on_looked, .ctx = s };
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
