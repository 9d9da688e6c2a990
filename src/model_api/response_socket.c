/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_socket.c - the Responses API over a WebSocket: one response after
 * the other, and each may go on from the last, also when it is not stored.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

/* One socket: its responses come one after the other. */
struct lane {
	struct th_access *access;
	struct th_response *now;
	struct th_stored before; /* what `body` goes on from, while that is read */
	struct thole_error lost; /* why that could not be read */
	struct th_stored_load *load;
	bool own;                          /* that is the last one of this socket */
	char *body;                        /* of the message that waits for it; NULL: none does */
	char *waiting[TH_SERVE_QUEUE_MAX]; /* messages, oldest first */
	size_t count;
	char last[TH_RESPONSE_NAME_MAX]; /* what may be gone on from here, also when not stored */
	struct th_timer limit;
	bool gone, ended; /* ended: its time is over, and it takes no more */
	unsigned close;   /* the code that it is to be closed with; 0: it stays */
	unsigned busy;    /* functions below that are at work with it */
};

static void lane_next(struct lane *l);
static void on_gone(struct th_access *a);

static void lane_free(struct lane *l)
{
	th_timer_stop(&l->limit);
	for (size_t i = 0; i < l->count; i++)
		free(l->waiting[i]);
	free(l->body);
	free(l);
}

static void lane_fault(struct lane *l, int status, const char *code, const char *message)
{
	struct th_buf error TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	if (l->gone)
		return;
	th_error_print(status, code ? code : "invalid_request_error", message, &error);
	th_buf_printf(&json, "{\"type\":\"error\",\"status\":%d,", status);
	th_buf_add(&json, th_str_sub(th_buf_str(&error), 1, error.len));
	if (th_http_send(l->access->request, th_buf_str(&json), true) == TH_ELIMIT)
		l->close = 1008;
}

static void lane_enter(struct lane *l)
{
	l->busy++;
}

/* Closes it where that is due, and frees it where the peer left meanwhile: when nobody is at work
 * with it. */
static void lane_leave(struct lane *l)
{
	if (--l->busy)
		return;
	if (l->gone) {
		lane_free(l);
	} else if (l->close) {
		struct th_http_request *r = l->access->request;
		unsigned code = l->close;

		on_gone(l->access); /* the access ends with the socket */
		th_http_close(r, code);
	}
}

static void lane_end(struct lane *l)
{
	lane_fault(l, 400, "websocket_connection_limit_reached",
		   "a connection lasts for 60 minutes: open another one");
	l->close = l->close ?: 1000;
}

/* What is under way is told to its end. */
static void on_limit(void *ctx)
{
	struct lane *l = ctx;

	lane_enter(l);
	l->ended = true;
	if (!l->now && !l->body)
		lane_end(l);
	lane_leave(l);
}

static void lane_over(struct th_response *p)
{
	struct lane *l = p->over_ctx;

	l->now = NULL;
	if (p->reply.status == TH_REPLY_COMPLETED || p->reply.status == TH_REPLY_PARKED ||
	    p->reply.status == TH_REPLY_WAITING)
		snprintf(l->last, sizeof(l->last), "%s", p->name);
	if (l->gone)
		return;
	lane_enter(l);
	if (l->ended)
		lane_end(l);
	else
		lane_next(l);
	lane_leave(l);
}

/* False: something is to be read first, and it is made again then. */
static bool lane_make(struct lane *l)
{
	bool has_before = l->before.doc != NULL;
	struct th_order order = { .face = &th_face_responses,
				  .body = th_str_of(l->body),
				  .socket = true,
				  .before = has_before ? &l->before : NULL,
				  .lost = l->lost.code ? &l->lost : NULL,
				  .on_over = lane_over,
				  .over_ctx = l };
	struct th_response_fault fault;
	struct th_refusal refusal;
	enum th_room room = th_quota_room(&l->access->needs, l->access->user, &refusal);

	if (room == TH_ROOM_PENDING)
		return false;
	/* One that is not stored is gone on from where it was made. */
	if (has_before && !l->lost.code && !l->own &&
	    !th_json_bool(th_json_get(l->before.member, "store"), true))
		order.before = NULL;
	if (room == TH_ROOM_NO) {
		lane_fault(l, refusal.status, refusal.code, refusal.why.msg);
	} else if (!th_response_make(l->access, &order, &l->now, &fault)) {
		l->now = NULL;
		if (fault.pending)
			return false;
		if (l->own)
			l->last[0] = '\0'; /* who fails to go on has it no more */
		lane_fault(l, fault.status, fault.code, fault.message);
	}
	th_needs_forget(&l->access->needs);
	th_stored_deinit(&l->before);
	l->lost = (struct thole_error){ 0 };
	free(l->body);
	l->body = NULL;
	return true;
}

static void make_again(struct th_access *a)
{
	struct lane *l = a->ctx;

	lane_enter(l);
	if (lane_make(l)) {
		if (l->ended && !l->now)
			lane_end(l);
		else
			lane_next(l);
	}
	lane_leave(l);
}

static void on_before(void *ctx, const struct thole_error *err)
{
	struct lane *l = ctx;

	l->load = NULL;
	if (err)
		l->lost = *err;
	make_again(l->access);
}

/* Takes the message over. */
static void lane_begin(struct lane *l, char *body)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str type = th_json_raw_inside(th_json_raw_get(th_str_of(body), "type"));
	struct thole_error err = { 0 };

	if (th_str_is(type, "response.steer")) {
		lane_fault(l, 400, "steering_not_supported",
			   "a response that is under way is not steered: cancel it, or wait");
	} else if (!th_str_is(type, "response.create")) {
		lane_fault(l, 400, "invalid_request_error",
			   "a message is {\"type\":"
			   "\"response.create\", …}");
	} else {
		th_response_before(th_str_of(body), &before);
		l->body = body;
		l->access->again = make_again;
		l->own = before.len && th_str_is(th_buf_str(&before), l->last);
		if (before.len &&
		    th_stored_load_start(l->access->server, l->access->user, th_buf_str(&before),
					 &l->before, on_before, l, &l->load, &err) == 0)
			return;
		l->lost = err;
		(void)lane_make(l);
		return;
	}
	free(body);
}

static void lane_next(struct lane *l)
{
	/* What waits is not begun by a server that ends: its client asks the next one. */
	while (!l->gone && !l->now && !l->body && l->count && !l->close &&
	       !l->access->server->finishing) {
		char *body = l->waiting[0];

		memmove(l->waiting, l->waiting + 1, --l->count * sizeof(char *));
		lane_begin(l, body);
	}
}

static void take(struct lane *l, struct th_str text, bool is_text)
{
	char *copy;

	if (!is_text) {
		lane_fault(l, 400, NULL, "messages are text");
		return;
	}
	if (l->count == TH_SERVE_QUEUE_MAX) {
		lane_fault(l, 429, "rate_limit_exceeded", "too many responses wait on this socket");
		return;
	}
	copy = th_alloc(text.len + 1);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	l->waiting[l->count++] = copy;
	lane_next(l);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct lane *l = a->ctx;

	if (l->ended || l->close)
		return;
	lane_enter(l);
	take(l, text, is_text);
	lane_leave(l);
}

static void on_gone(struct th_access *a)
{
	struct lane *l = a->ctx;

	l->gone = true;
	a->gone = NULL; /* it is told once */
	a->message = NULL;
	if (l->now)
		th_response_gone(l->now);
	th_needs_forget(&a->needs);
	if (l->load)
		th_stored_load_cancel(l->load);
	th_stored_deinit(&l->before);
	th_hubs_let_go(a->server, l);
	if (!l->busy)
		lane_free(l);
}

void th_v1_responses_socket(struct th_access *a)
{
	struct lane *l;

	if (!th_http_wants_socket(a->request)) {
		th_access_fail(a, 426, NULL,
			       "GET /v1/responses is for WebSockets; POST asks for "
			       "a response");
		return;
	}
	l = th_alloc(sizeof(*l));
	*l = (struct lane){ .access = a };
	th_timer_init(&l->limit, a->server->loop, on_limit, l);
	a->ctx = l;
	a->gone = on_gone;
	a->message = on_message;
	if (!th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) {
		lane_free(l);
		return;
	}
	th_timer_start(&l->limit, TH_SERVE_SOCKET_MS, 0);
}
