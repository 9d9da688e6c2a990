/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ws.h"

#include <stdlib.h>
#include <wslay/wslay.h>

#include "base/limits.h"

struct th_ws {
	wslay_event_context_ptr wslay;
	th_ws_fn *fn;
	void *ctx;
	struct th_buf *out;
	struct th_str in; /* not read yet */
};

static ssize_t take(wslay_event_context_ptr c, uint8_t *to, size_t len, int flags, void *ctx)
{
	struct th_ws *w = ctx;
	size_t n = TH_MIN(len, w->in.len);

	(void)flags;
	if (n == 0) {
		wslay_event_set_error(c, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(to, w->in.ptr, n);
	w->in = th_str_sub(w->in, n, w->in.len - n);
	return (ssize_t)n;
}

static ssize_t give(wslay_event_context_ptr c, const uint8_t *from, size_t len, int flags,
		    void *ctx)
{
	struct th_ws *w = ctx;

	(void)flags;
	th_buf_add_mem(w->out, from, len);
	if (w->out->failed) {
		wslay_event_set_error(c, WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	return (ssize_t)len;
}

static void on_message(wslay_event_context_ptr c, const struct wslay_event_on_msg_recv_arg *arg,
		       void *ctx)
{
	struct th_ws *w = ctx;

	(void)c;
	if (arg->opcode == WSLAY_TEXT_FRAME || arg->opcode == WSLAY_BINARY_FRAME)
		w->fn(w->ctx, th_str_n(arg->msg, arg->msg_length), arg->opcode == WSLAY_TEXT_FRAME);
}

static const struct wslay_event_callbacks callbacks = {
	.recv_callback = take,
	.send_callback = give,
	.on_msg_recv_callback = on_message,
};

struct th_ws *th_ws_new(size_t message_max, th_ws_fn *fn, void *ctx, struct th_buf *out)
{
	struct th_ws *w = th_alloc(sizeof(*w));

	*w = (struct th_ws){ .fn = fn, .ctx = ctx, .out = out };
	if (wslay_event_context_server_init(&w->wslay, &callbacks, w) != 0)
		abort(); /* out of memory: there is nothing else it says */
	wslay_event_config_set_max_recv_msg_length(w->wslay, message_max);
	return w;
}

struct th_ws *th_ws_free(struct th_ws *w)
{
	if (w) {
		wslay_event_context_free(w->wslay);
		free(w);
	}
	return NULL;
}

enum th_code th_ws_feed(struct th_ws *w, struct th_str bytes, struct th_err *err)
{
	int bad;

	w->in = bytes;
	bad = wslay_event_recv(w->wslay);
	w->in = (struct th_str){ NULL, 0 };
	if (wslay_event_send(w->wslay) != 0 || bad)
		return th_fail(err, TH_EPROTO, "these are no good WebSocket frames");
	if (!wslay_event_want_read(w->wslay))
		return th_fail(err, wslay_event_get_close_received(w->wslay) ? TH_ECONN : TH_EPROTO,
			       "the WebSocket is closed");
	return TH_OK;
}

void th_ws_send(struct th_ws *w, struct th_str message, bool text)
{
	struct wslay_event_msg m = { .opcode = text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
				     .msg = (const uint8_t *)message.ptr,
				     .msg_length = message.len };

	if (wslay_event_queue_msg(w->wslay, &m) == 0)
		(void)wslay_event_send(w->wslay);
}

void th_ws_close(struct th_ws *w, unsigned code)
{
	if (wslay_event_queue_close(w->wslay, (uint16_t)code, NULL, 0) == 0)
		(void)wslay_event_send(w->wslay);
}
