/* SPDX-License-Identifier: Apache-2.0 */
/* http_socket.c - connections that became WebSockets, or that are passed on as they are. */
#include "io/http_parts.h"

static bool has_word(struct th_str list, const char *word)
{
	while (list.len)
		if (th_str_ieq(th_str_trim(th_str_split(&list, ',')), th_str_of(word)))
			return true;
	return false;
}

bool th_http_wants_socket(const struct th_http_request *r)
{
	return th_http1_upgrade(r->parser) && has_word(th_http_header(r, "upgrade"), "websocket");
}

static void on_ws(void *ctx, struct th_str message, bool text)
{
	struct th_http_request *r = ctx;

	if (r->state != TH_HTTP_SOCKET)
		return;
	r->depth++;
	r->server->h.on_message(r->server->h.ctx, r, message, text);
	r->depth--;
}

/* What wslay has written goes to the peer. */
static void ws_flush(struct th_http_request *r)
{
	struct th_buf plain = r->plain;

	if (r->plain.len == 0 || r->state == TH_HTTP_DEAD)
		return;
	th_buf_init(&r->plain, plain.max);
	th_http_put(r, th_buf_str(&plain));
	th_buf_deinit(&plain);
	th_http_flush(r);
}

/* 101 with these headers; what came behind the head is read soon. */
static void become_socket(struct th_http_request *r, struct th_str headers)
{
	r->chunked = false;
	r->last = true;
	r->state = TH_HTTP_SOCKET;
	th_http_put_head(r, 101, NULL, headers, -1);
	th_http_flush(r);
	th_loop_defer(r->server->loop, &r->again);
}

bool th_http_pass_socket(struct th_http_request *r, struct th_str headers)
{
	if (r->state == TH_HTTP_ANSWERS)
		become_socket(r, headers);
	return r->state == TH_HTTP_SOCKET;
}

void th_http_hold(struct th_http_request *r, bool hold)
{
	r->held = hold;
	if (r->state == TH_HTTP_SOCKET && !hold && r->in.len)
		th_loop_defer(r->server->loop, &r->again);
	th_http_set_poll(r);
}

bool th_http_upgrade(struct th_http_request *r, struct th_str headers)
{
	struct th_str key = th_http_header(r, "sec-websocket-key");
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	char accept[29];

	if (r->state != TH_HTTP_ANSWERS)
		return false;
	if (!th_http_wants_socket(r) || !th_str_is(th_http_method(r), "GET") || key.len != 24 ||
	    !th_str_is(th_http_header(r, "sec-websocket-version"), "13")) {
		th_http_reply(
		    r, 400, "application/json", TH_STR("Sec-WebSocket-Version: 13\r\n"),
		    TH_STR("{\"error\":{\"message\":\"this is not a valid WebSocket handshake\","
			   "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}"));
		return false;
	}
	th_tls_accept_key(key, accept);
	th_buf_printf(&more,
		      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
		      accept);
	th_buf_add(&more, headers);
	r->ws = th_ws_new(TH_HTTP_MESSAGE_MAX, on_ws, r, &r->plain);
	become_socket(r, th_buf_str(&more));
	return r->state == TH_HTTP_SOCKET;
}

enum th_code th_http_send(struct th_http_request *r, struct th_str message, bool text)
{
	if (r->state != TH_HTTP_SOCKET)
		return TH_ECONN;
	if (r->out.len - r->sent > 2 * TH_HTTP_QUEUE_MAX)
		return TH_ELIMIT;
	r->total += message.len;
	if (r->ws) {
		th_ws_send(r->ws, message, text);
		ws_flush(r);
	} else {
		th_http_put(r, message);
		th_http_flush(r);
	}
	return r->state == TH_HTTP_DEAD ? TH_ECONN : th_http_full(r);
}

void th_http_close(struct th_http_request *r, unsigned code)
{
	if (r->state != TH_HTTP_SOCKET)
		return;
	if (r->ws) {
		th_ws_close(r->ws, code);
		ws_flush(r);
	}
	if (r->state == TH_HTTP_DEAD)
		return;
	th_http_note_end(r);
	r->state = TH_HTTP_READS;
	r->last = true;
	r->held = false;
	th_http_flush(r);
}

void th_http_socket_feed(struct th_http_request *r)
{
	struct th_buf in = r->in;
	struct th_err err = {};
	enum th_code code;

	if (in.len == 0 || r->held)
		return;
	th_buf_init(&r->in, TH_HTTP_READ_SIZE + TH_HTTP_AHEAD_MAX);
	if (!r->ws) {
		on_ws(r, th_buf_str(&in), false);
		th_buf_deinit(&in);
		return;
	}
	code = th_ws_feed(r->ws, th_buf_str(&in), &err);
	th_buf_deinit(&in);
	ws_flush(r);
	if (code && r->state == TH_HTTP_SOCKET) {
		r->depth++;
		r->server->h.on_gone(r->server->h.ctx, r);
		r->depth--;
		th_http_note_end(r);
		r->state = TH_HTTP_READS;
		th_http_flush(r);
	}
}
