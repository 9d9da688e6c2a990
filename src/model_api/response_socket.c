/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_socket.c - the Responses API over a WebSocket.  Messages of one
 * stream_id (or of none) are a lane: one response after the other, and each may
 * go on from the last, also when it is not stored.  Lanes run beside each other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_pass.h"

struct lane {
	struct th_lanes *wire;
	struct lane *next;
	struct th_response *now;
	struct th_response_pass *passed;       /* a message, to another node; NULL: none is */
	char *at_node;                         /* that message */
	bool here;                             /* the next one is this node's: it was looked for */
	char *waiting[TH_SERVE_QUEUE_MAX + 1]; /* messages, oldest first; one may come back */
	size_t count;
	char last[TH_RESPONSE_NAME_MAX]; /* what may be gone on from here, also when not stored */
	char id[TH_SERVE_STREAM_ID_MAX + 1]; /* empty: of messages that name none */
};

/* The message of which a response is made: one at a time, since they share the access's needs. */
struct making {
	struct lane *lane; /* NULL: none */
	char *body;
	struct th_stored before; /* what it goes on from, while that is read */
	struct thole_error lost; /* why that could not be read */
	struct th_stored_load *load;
	struct lane *own; /* whose last one that is */
};

/* One socket. */
struct th_lanes {
	struct th_lanes *next, **link; /* of the server's */
	struct th_server *server;
	struct th_access *access; /* until it is gone */
	struct lane *first;       /* the one that was used least lately is first */
	size_t lanes, waiting;
	struct making making;
	struct th_timer limit;
	struct th_deferred
	    closing;      /* from the loop: who is told something may be at work with it */
	bool gone, ended; /* ended: its time is over, and it takes no more */
	unsigned close;   /* the code that it is to be closed with; 0: it stays */
	unsigned busy;    /* functions below that are at work with it */
};

static void wire_next(struct th_lanes *s);
static void on_gone(struct th_access *a);

static void lane_free(struct lane *l)
{
	th_response_pass_free(l->passed);
	free(l->at_node);
	for (size_t i = 0; i < l->count; i++)
		free(l->waiting[i]);
	free(l);
}

static void wire_free(struct th_lanes *s)
{
	struct lane *l;

	th_timer_stop(&s->limit);
	th_loop_undefer(s->server->loop, &s->closing);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	while ((l = s->first)) {
		s->first = l->next;
		lane_free(l);
	}
	free(s->making.body);
	free(s);
}

/* ---- what it is told beside the events of responses ---- */

static struct th_jw message(struct th_buf *json, const char *type, const char *id)
{
	struct th_jw w = th_jw(json);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	if (id[0])
		th_jw_kstr(&w, "stream_id", th_str_of(id));
	return w;
}

/* Its peer does not read. */
static void unread(struct th_lanes *s)
{
	s->close = 1008;
	th_loop_defer(s->server->loop, &s->closing);
}

/* Where the peer turns out to have left, s is gone behind it, and freed unless it is busy. */
static void wire_send(struct th_lanes *s, struct th_jw *w)
{
	th_jw_object_end(w);
	if (!s->gone && th_http_send(s->access->request, th_buf_str(w->out), true) == TH_ELIMIT)
		unread(s);
}

/* "error": {…} */
static void put_error(struct th_jw *w, int status, const char *code, const char *text)
{
	struct th_buf error TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	th_error_print(status, code ? code : "invalid_request_error", text, &error);
	th_jw_kraw(w, "error", th_json_raw_get(th_buf_str(&error), "error"));
}

static void wire_fault(struct th_lanes *s, const char *id, int status, const char *code,
		       const char *text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = message(&json, "error", id);

	th_jw_kint(&w, "status", status);
	put_error(&w, status, code, text);
	wire_send(s, &w);
}

static void tell_steer(struct th_lanes *s, const char *id, struct th_str response,
		       const struct th_response_fault *why)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w =
	    message(&json, why ? "response.steer.failed" : "response.steer.accepted", id);

	th_jw_kstr(&w, "previous_response_id", response);
	if (why)
		put_error(&w, why->status, why->code, why->message);
	wire_send(s, &w);
}

/* ---- its end ---- */

static void wire_enter(struct th_lanes *s)
{
	s->busy++;
}

/* Closes it where that is due, and frees it where the peer left meanwhile: when nobody is at work
 * with it. */
static void wire_leave(struct th_lanes *s)
{
	if (--s->busy)
		return;
	if (s->gone) {
		wire_free(s);
	} else if (s->close) {
		struct th_http_request *r = s->access->request;
		unsigned code = s->close;

		on_gone(s->access); /* the access ends with the socket */
		th_http_close(r, code);
	}
}

/* Its time is over, or the server's, and nothing is under way: what was is told to its end. */
static void end_if_due(struct th_lanes *s)
{
	bool works = s->making.lane != NULL, server_ends = s->server->finishing;

	for (const struct lane *l = s->first; l; l = l->next)
		works |= l->now || l->passed;
	if (works || s->gone || s->close || !(s->ended || server_ends))
		return;
	s->close = server_ends ? 1001 : 1000;
	if (server_ends)
		return;
	wire_fault(s, "", 400, "websocket_connection_limit_reached",
		   "a connection lasts for 60 minutes: open another one");
}

static void on_closing(void *ctx)
{
	struct th_lanes *s = ctx;

	wire_enter(s);
	wire_leave(s);
}

static void on_limit(void *ctx)
{
	struct th_lanes *s = ctx;

	wire_enter(s);
	s->ended = true;
	end_if_due(s);
	wire_leave(s);
}

/* ---- a response ---- */

static void on_steered(struct th_response *p)
{
	struct lane *l = p->over_ctx;

	tell_steer(l->wire, l->id, th_str_of(p->name), NULL);
}

static void on_unread(struct th_response *p)
{
	struct lane *l = p->over_ctx;

	unread(l->wire);
}

static void on_over(struct th_response *p)
{
	struct lane *l = p->over_ctx;
	struct th_lanes *s = l->wire;
	struct th_response_fault late;

	l->now = NULL;
	if (p->reply.status == TH_REPLY_COMPLETED || p->reply.status == TH_REPLY_PARKED ||
	    p->reply.status == TH_REPLY_WAITING)
		snprintf(l->last, sizeof(l->last), "%s", p->name);
	if (s->gone)
		return;
	wire_enter(s);
	(void)th_response_fault(&late, 400, "response_already_completed",
				"the response was over before it was said to it");
	for (; p->steers; p->steers--)
		tell_steer(s, l->id, th_str_of(p->name), &late);
	end_if_due(s);
	wire_next(s);
	wire_leave(s);
}

/* False: something is to be read first, and it is made again then. */
static bool make(struct th_lanes *s)
{
	struct making *m = &s->making;
	struct lane *l = m->lane;
	bool has_before = m->before.doc != NULL;
	struct th_order order = { .face = &th_face_responses,
				  .body = th_str_of(m->body),
				  .socket = true,
				  .stream_id = l->id,
				  .before = has_before ? &m->before : NULL,
				  .lost = m->lost.code ? &m->lost : NULL,
				  .on_over = on_over,
				  .on_steered = on_steered,
				  .on_unread = on_unread,
				  .over_ctx = l,
				  .keeper = s };
	struct th_response_fault fault;
	struct th_refusal refusal;
	enum th_room room;

	th_response_tier(s->access, order.body);
	room = th_quota_room(&s->access->needs, s->access->user, s->access->priority, &refusal);
	if (room == TH_ROOM_PENDING)
		return false;
	/* One that is not stored is gone on from where it was made. */
	if (has_before && !m->lost.code && !m->own &&
	    !th_json_bool(th_json_get(m->before.member, "store"), true))
		order.before = NULL;
	if (room == TH_ROOM_NO) {
		wire_fault(s, l->id, refusal.status, refusal.code, refusal.why.msg);
	} else if (!th_response_make(s->access, &order, &l->now, &fault)) {
		l->now = NULL;
		if (fault.pending)
			return false;
		if (m->own)
			m->own->last[0] = '\0'; /* who fails to go on has it no more */
		wire_fault(s, l->id, fault.status, fault.code, fault.message);
	}
	if (!s->gone)
		th_needs_forget(&s->access->needs);
	th_stored_deinit(&m->before);
	free(m->body);
	*m = (struct making){ 0 };
	return true;
}

static void make_again(struct th_access *a)
{
	struct th_lanes *s = a->ctx;

	wire_enter(s);
	if (make(s)) {
		end_if_due(s);
		wire_next(s);
	}
	wire_leave(s);
}

static void on_before(void *ctx, const struct thole_error *err)
{
	struct th_lanes *s = ctx;

	s->making.load = NULL;
	if (err)
		s->making.lost = *err;
	make_again(s->access);
}

static struct lane *whose_last(struct th_lanes *s, struct th_str response)
{
	struct lane *l = s->first;

	while (l && !(response.len && th_str_is(response, l->last)))
		l = l->next;
	return l;
}

/* ---- of a session of another node ---- */

static void on_passed_event(void *ctx, struct th_str json)
{
	struct th_lanes *s = ((struct lane *)ctx)->wire;

	wire_enter(s);
	if (th_http_send(s->access->request, json, true) == TH_ELIMIT)
		unread(s);
	wire_leave(s);
}

static void on_passed_over(void *ctx, bool here, const struct th_response_fault *fault)
{
	struct lane *l = ctx;
	struct th_lanes *s = l->wire;

	l->passed = NULL;
	wire_enter(s);
	if (here) {
		memmove(l->waiting + 1, l->waiting, l->count++ * sizeof(char *));
		l->waiting[0] = l->at_node;
		s->waiting++;
	} else {
		free(l->at_node);
	}
	l->at_node = NULL;
	l->here = here;
	if (fault)
		wire_fault(s, l->id, fault->status, fault->code, fault->message);
	if (!s->gone) {
		end_if_due(s);
		wire_next(s);
	}
	wire_leave(s);
}

/* Takes the message over where another node may have the session that it goes on from. */
static bool passes(struct lane *l, struct th_str before, char *body)
{
	static const struct th_response_pass_ops ops = { on_passed_event, on_passed_over };
	char session[TH_UUID_TEXT_SIZE + 1];
	bool here = l->here;

	l->here = false;
	if (here || !th_response_session_of(before, session))
		return false;
	l->passed =
	    th_response_pass_start(l->wire->access, session, th_str_of(body), l->id, &ops, l);
	if (l->passed)
		l->at_node = body;
	return l->passed != NULL;
}

/* Takes the message over. */
static void begin(struct lane *l, char *body)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_lanes *s = l->wire;
	struct making *m = &s->making;
	struct thole_error err = { 0 };

	th_response_before(th_str_of(body), &before);
	if (!whose_last(s, th_buf_str(&before)) && passes(l, th_buf_str(&before), body))
		return;
	*m = (struct making){ .lane = l, .body = body, .own = whose_last(s, th_buf_str(&before)) };
	s->access->again = make_again;
	if (before.len && th_stored_load_start(s->server, s->access->user, th_buf_str(&before),
					       &m->before, on_before, s, &m->load, &err) == 0)
		return;
	m->lost = err;
	(void)make(s);
}

/* The first lane that has something to do and nothing under way. */
static struct lane *due(const struct th_lanes *s)
{
	struct lane *l = s->first;

	while (l && (l->now || l->passed || !l->count))
		l = l->next;
	return l;
}

static void wire_next(struct th_lanes *s)
{
	struct lane *l;

	/* What waits is not begun by a server that ends: its client asks the next one. */
	while (!s->gone && !s->ended && !s->close && !s->making.lane && !s->server->finishing &&
	       (l = due(s))) {
		char *body = l->waiting[0];

		memmove(l->waiting, l->waiting + 1, --l->count * sizeof(char *));
		s->waiting--;
		begin(l, body);
	}
}

/* ---- lanes ---- */

static bool is_idle(const struct lane *l)
{
	return !l->now && !l->passed && !l->count && l->wire->making.lane != l &&
	       l->wire->making.own != l;
}

static struct lane *take_out(struct th_lanes *s, struct lane **at)
{
	struct lane *l = *at;

	*at = l->next;
	l->next = NULL;
	s->lanes--;
	return l;
}

/* Where there are too many, one that has nothing to do goes; what it was at the end of, and is not
 * stored, goes with it. */
static bool make_room(struct th_lanes *s)
{
	struct lane **at = &s->first;

	if (s->lanes < TH_SERVE_LANES_MAX)
		return true;
	while (*at && !is_idle(*at))
		at = &(*at)->next;
	if (!*at)
		return false;
	lane_free(take_out(s, at));
	return true;
}

/* The one of that name, put last; NULL: there are too many that work. */
static struct lane *lane_of(struct th_lanes *s, const char *id)
{
	struct lane **at = &s->first, *l;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (*at) {
		l = take_out(s, at);
	} else if (make_room(s)) {
		l = th_alloc(sizeof(*l));
		*l = (struct lane){ .wire = s };
		snprintf(l->id, sizeof(l->id), "%s", id);
	} else {
		return NULL;
	}
	for (at = &s->first; *at; at = &(*at)->next)
		;
	*at = l;
	s->lanes++;
	return l;
}

/* The message's stream_id; empty: it has none. */
static bool read_id(struct th_str text, char ret[static TH_SERVE_STREAM_ID_MAX + 1])
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str raw = th_json_raw_get(text, "stream_id");

	ret[0] = '\0';
	if (!raw.len || th_str_is(raw, "null"))
		return true;
	if (!th_json_unescape(raw, &id) || id.failed || !id.len ||
	    id.len > TH_SERVE_STREAM_ID_MAX || memchr(id.ptr, 0, id.len))
		return false;
	memcpy(ret, id.ptr, id.len);
	ret[id.len] = '\0';
	return true;
}

/* ---- messages ---- */

/* It is said to the response that is under way, at once.  The answer names that one's lane. */
static void steer(struct th_lanes *s, const char *id, struct th_str text)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_response_fault fault;
	struct lane *l = s->first;

	th_response_before(text, &name);
	while (l && !(l->now && name.len && th_str_is(th_buf_str(&name), l->now->name)))
		l = l->next;
	if (l ? th_response_steer(l->now, text, &fault)
	      : th_response_fault(&fault, 400,
				  whose_last(s, th_buf_str(&name)) ? "response_already_completed"
								   : "response_not_found",
				  name.len ? "no response %.*s is under way on this connection"
					   : "previous_response_id is missing%.*s",
				  (int)TH_MIN(name.len, (size_t)80), name.len ? name.ptr : ""))
		return;
	tell_steer(s, l ? l->id : id, th_buf_str(&name), &fault);
}

static void take_text(struct th_lanes *s, struct th_str text)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(text, "type"));
	bool steers = th_str_is(type, "response.steer");
	char id[TH_SERVE_STREAM_ID_MAX + 1], *copy;
	struct lane *l;
	bool full;

	if (!read_id(text, id)) {
		wire_fault(s, "", 400, "invalid_value", "stream_id is a text of 1 to 64 bytes");
		return;
	}
	if (!steers && !th_str_is(type, "response.create")) {
		wire_fault(s, id, 400, "invalid_request_error",
			   "a message is {\"type\": \"response.create\", …} or {\"type\": "
			   "\"response.steer\", …}");
		return;
	}
	if (steers) {
		steer(s, id, text);
		return;
	}
	full = s->waiting >= TH_SERVE_QUEUE_MAX;
	l = full ? NULL : lane_of(s, id);
	if (!l) {
		wire_fault(s, id, 429, "rate_limit_exceeded",
			   full ? "too many responses wait on this socket"
				: "too many streams of this socket have a response under way");
		return;
	}
	copy = th_alloc(text.len + 1);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	l->waiting[l->count++] = copy;
	s->waiting++;
	wire_next(s);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_lanes *s = a->ctx;

	if (s->ended || s->close)
		return;
	wire_enter(s);
	if (is_text)
		take_text(s, text);
	else
		wire_fault(s, "", 400, NULL, "messages are text");
	wire_leave(s);
}

static void on_gone(struct th_access *a)
{
	struct th_lanes *s = a->ctx;

	s->gone = true;
	a->gone = NULL; /* it is told once */
	a->message = NULL;
	for (struct lane *l = s->first; l; l = l->next) {
		if (l->now)
			th_response_gone(l->now);
		th_response_pass_free(l->passed);
		l->passed = NULL;
	}
	th_needs_forget(&a->needs);
	if (s->making.load)
		th_stored_load_cancel(s->making.load);
	th_stored_deinit(&s->making.before);
	th_hubs_let_go(a->server, s);
	if (!s->busy)
		wire_free(s);
}

void th_v1_sockets_finish(struct th_server *server)
{
	struct th_lanes *next;

	for (struct th_lanes *s = server->lanes; s; s = next) {
		next = s->next;
		wire_enter(s);
		end_if_due(s);
		wire_leave(s);
	}
}

void th_v1_responses_socket(struct th_access *a)
{
	struct th_lanes *s;

	if (!th_http_wants_socket(a->request)) {
		th_access_fail(a, 426, NULL,
			       "GET /v1/responses is for WebSockets; POST asks for "
			       "a response");
		return;
	}
	s = th_alloc(sizeof(*s));
	*s = (struct th_lanes){ .access = a, .server = a->server };
	s->closing = (struct th_deferred){ .fn = on_closing, .ctx = s };
	th_timer_init(&s->limit, a->server->loop, on_limit, s);
	a->ctx = s;
	a->gone = on_gone;
	a->message = on_message;
	s->link = &a->server->lanes;
	s->next = *s->link;
	*s->link = s;
	if (s->next)
		s->next->link = &s->next;
	if (!th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) {
		wire_free(s);
		return;
	}
	th_timer_start(&s->limit, TH_SERVE_SOCKET_MS, 0);
}
