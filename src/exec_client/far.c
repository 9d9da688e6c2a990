/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.c - a connection to an executor of another machine: the same socket and messages as here,
 * with a relay and TLS between them.
 */
#include "base/limits.h"
#include "exec_client/internal.h"
#include "io/files.h"
#include "io/relay.h"

static void lost(struct th_executor_client *x, const struct th_err *why)
{
	struct th_err err = { 0 };

	if (why->code)
		th_fail(&err, why->code, "the executor at %.*s: %s", TH_FMT(x->place), why->msg);
	else
		th_fail(&err, TH_ECONN, "the executor at %.*s: it closed the connection",
			TH_FMT(x->place));
	th_link_enter(x);
	th_link_lost(x, &err);
	th_link_leave(x);
}

/* What came before the end was heard by then: the socket tells its end itself. */
static void on_relay_end(void *ctx)
{
	struct th_executor_client *x = ctx;

	x->relay = th_relay_free(x->relay);
}

static void on_open(void *ctx)
{
	struct th_executor_client *x = ctx;
	struct th_err err = { 0 };
	int fd = x->far_fd;

	x->far_fd = -1;
	if (th_relay_new(x->loop, fd, x->stream, on_relay_end, x, &x->relay, &err) != TH_OK)
		lost(x, &err);
}

static void on_data(void *ctx, struct th_str bytes)
{
	struct th_executor_client *x = ctx;

	if (x->relay)
		th_relay_data(x->relay, bytes);
}

static void on_room(void *ctx)
{
	struct th_executor_client *x = ctx;

	if (x->relay)
		th_relay_room(x->relay);
}

static void on_close(void *ctx, const struct th_err *err)
{
	struct th_executor_client *x = ctx;

	if (x->relay && !err->code)
		th_relay_over(x->relay);
	else
		lost(x, err);
}

enum th_code th_link_far_connect(struct th_executor_client *x, struct th_err *err)
{
	struct th_sock_handlers of_sock = th_link_handlers;
	const struct th_stream_handlers h = { .on_open = on_open,
					      .on_data = on_data,
					      .on_room = on_room,
					      .on_close = on_close,
					      .ctx = x };
	int pair[2];
	enum th_code code = th_pipe_pair(pair, err);

	if (code)
		return code;
	of_sock.ctx = x;
	x->far_fd = pair[1];
	code = th_sock_new(x->loop, pair[0], &of_sock, &x->sock, err);
	if (!code)
		code = th_stream_dial(x->loop, x->place, x->o.tls, &h, &x->stream, err);
	if (!code)
		th_link_greet(x); /* it waits in the socket */
	return code;
}

void th_link_far_disconnect(struct th_executor_client *x)
{
	x->relay = th_relay_free(x->relay);
	x->stream = th_stream_free(x->stream);
	th_fd_close(&x->far_fd);
}

/* ---- when it cannot be had ---- */

/* The session goes on here: nobody can say any more what became of that which was sent there. */
static void leave_it(struct th_executor_client *x, const struct th_err *why)
{
	x->place = (struct th_str){ NULL, 0 };
	x->reach_ms = 0;
	x->attempts = 0;
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++) {
		struct th_link_call *c = x->calls[i];

		if (th_link_call_is(c) && c->what.class != TH_CLASS_R && (c->attach || c->tries))
			th_link_call_give_up(x, c, why);
	}
	if (!x->freed)
		th_link_soon(x);
}

bool th_link_far_failed(struct th_executor_client *x, const struct th_err *why)
{
	uint64_t now_ms = th_loop_now_ms(x->loop);

	/* There is none; or one end refuses the other's certificate, or does not speak as we do: it
	 * would be the same after ten seconds. */
	if (why->code == TH_ENOENT || why->code == TH_EPROTO) {
		leave_it(x, why);
		return true;
	}
	if (why->code == TH_EFENCED || why->code == TH_EUNSUPPORTED || why->code == TH_EPERM ||
	    why->code == TH_EBUSY)
		return false; /* it is there, and refuses */
	if (!x->reach_ms)
		x->reach_ms = now_ms + (x->o.only_running ? 0 : TH_EXEC_REACH_MS);
	if (now_ms >= x->reach_ms)
		leave_it(x, why);
	else
		th_timer_start(&x->timer, TH_EXEC_REACH_AGAIN_MS, 0);
	return true;
}
