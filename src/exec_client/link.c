/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c - the one connection of a client: to the executor that is
 * there, else to one that it starts; again when it breaks.  What is under way
 * is handed to the next one, or given up when none is to be had.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "exec_client/claim.h"
#include "exec_client/internal.h"
#include "exec_client/start.h"
#include "io/files.h"
#include "io/role.h"

#define ATTEMPTS_MAX 8 /* executors that ended before they were greeted */
#define TRIES_MAX 4    /* connections that broke under one call */

void th_link_soon(struct th_executor_client *x)
{
	th_loop_defer(x->loop, &x->pass);
}

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *frame)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;
	struct th_err err;

	(void)s;
	if (x->freed || !x->sock)
		return;
	th_link_enter(x);
	if (th_link_heard(x, frame, &err) && !x->freed)
		th_link_lost(x, &err);
	th_link_leave(x);
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;
	struct th_err why = *err;

	(void)s;
	if (x->freed)
		return;
	if (why.code == TH_OK)
		th_fail(&why, TH_ECONN, "the executor ended");
	th_link_enter(x);
	th_link_lost(x, &why);
	th_link_leave(x);
}

/* ---- connecting ---- */

void th_link_end_started(struct th_executor_client *x)
{
	if (x->started >= 0)
		(void)!syscall(SYS_pidfd_send_signal, x->started, SIGKILL, NULL, 0u);
	th_fd_close(&x->started);
}

static void disconnect(struct th_executor_client *x)
{
	th_link_end_started(x);
	th_link_far_disconnect(x);
	x->sock = th_sock_free(x->sock);
	x->starter = th_sock_free(x->starter);
	th_timer_stop(&x->timer);
	x->state = TH_LINK_IDLE;
	x->watch_id = 0;
	x->gave = false;
	for (struct th_link_waiter *w = x->waiters; w; w = w->next)
		w->id = 0;
	for (uint32_t i = 0; i < x->call_room; i++) {
		struct th_link_call *c = x->calls[i];
		c->held = false;
		if (th_link_call_is(c) && c->id != 0) {
			c->id = 0;
			c->broken = true;
		}
	}
}

static void end_finish(struct th_executor_client *x, const struct th_err *err)
{
	void (*done)(void *, const struct th_err *) = x->end_done;
	x->end = false;
	x->end_done = NULL;
	if (done)
		done(x->end_ctx, err);
}

/* Everything that waits gets this error. */
static void fail_all(struct th_executor_client *x, const struct th_err *why)
{
	x->attempts = 0;
	th_link_tell(x, false, 0, why);
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++)
		if (th_link_call_is(x->calls[i]))
			th_link_call_give_up(x, x->calls[i], why);
	if (!x->freed)
		th_link_watch_give_up(x, why);
}

void th_link_lost(struct th_executor_client *x, const struct th_err *why)
{
	enum th_link_state was = x->state;
	struct th_err err = *why; /* may be the socket's own */

	disconnect(x);
	if (was == TH_LINK_ENDING) {
		fail_all(x, &err);
		if (!x->freed)
			end_finish(x, NULL);
		return;
	}
	if (x->place.len && was != TH_LINK_OPEN && th_link_far_failed(x, &err))
		return;
	/* An executor that ended just then is no reason to fail; one that always does is. */
	bool gone = was == TH_LINK_GREETING && (err.code == TH_ECONN || err.code == TH_ENOENT);
	if (gone && ++x->attempts < ATTEMPTS_MAX) {
		th_link_soon(x);
		return;
	}
	if (was != TH_LINK_OPEN) {
		fail_all(x, &err);
		if (!x->freed && x->end)
			end_finish(x, &err);
		return;
	}
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++)
		if (th_link_call_is(x->calls[i]) && x->calls[i]->tries >= TRIES_MAX)
			th_link_call_give_up(x, x->calls[i], &err);
	if (!x->freed)
		th_link_soon(x);
}

const struct th_sock_handlers th_link_handlers = { .on_frame = on_frame, .on_close = on_close };

void th_link_greet(struct th_executor_client *x)
{
	x->state = TH_LINK_GREETING;
	th_timer_start(&x->timer, x->o.start_ms, 0);
	th_link_hello(x);
}

/* TH_ENOENT, TH_ECONN: nobody listens. */
static enum th_code connect_to(struct th_executor_client *x, const char *path, struct th_err *err)
{
	struct th_sock_handlers h = th_link_handlers;
	h.ctx = x;
	enum th_code code = th_sock_connect(x->loop, path, &h, &x->sock, err);
	if (!code)
		th_link_greet(x);
	return code;
}

/* It is some other program: nothing was sent to it, and it is ended. */
static enum th_code not_an_executor(const struct th_executor_client *x, enum th_code code,
				    const char *how, struct th_err *err)
{
	return th_fail(err, code,
		       "the program %s %s that it is thole's executor; the thole program must be "
		       "named there",
		       x->o.program, how);
}

static enum th_code send_start(struct th_executor_client *x, struct th_err *err)
{
	TH_CLEANUP(th_buf_wipe) struct th_buf message = TH_BUF_INIT(2 * TH_MIB); /* secrets too */

	th_executor_start_message(&x->o, x->state_dir.ptr, x->socket.ptr, &message);
	enum th_code code = th_buf_check(&message, "the options of the executor", err);
	if (code == TH_OK)
		code = th_sock_send(x->starter, th_buf_str(&message), TH_STR(""), err);
	return code;
}

/* The first message of what was started. */
static enum th_code on_role(struct th_executor_client *x, const struct th_frame *frame,
			    struct th_err *err)
{
	enum th_code code = th_exec_check_role(frame->json, TH_ROLE_EXECUTOR, err);

	if (code == TH_EPROTO)
		return not_an_executor(x, code, "says something else than", err);
	if (code)
		return th_prefix(err, code, "%s", x->o.program);
	x->proved = true;
	th_timer_start(&x->timer, x->o.start_ms, 0);
	th_fd_close(&x->started);
	return send_start(x, err);
}

/* What the process that was started says: where to connect, or why not. */
static enum th_code on_start_message(struct th_executor_client *x, const struct th_frame *frame,
				     struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	struct th_exec_ready ready;
	struct th_exec_error error;
	enum th_exec_op op;

	if (!x->proved)
		return on_role(x, frame, err);
	th_arena_init(&arena, 64 * TH_KIB);
	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	if (op == TH_EXEC_OP_ERROR) {
		code = th_table_parse(&th_exec_error_table, v, &arena, &error, err);
		return code ? code : th_exec_error(&error, err);
	}
	if (op != TH_EXEC_OP_READY)
		return th_fail(err, TH_EPROTO, "the executor said '%s' instead of ready",
			       th_exec_op_name(op));
	code = th_table_parse(&th_exec_ready_table, v, &arena, &ready, err);
	const char *path = code == TH_OK ? th_arena_cstr(&arena, ready.socket) : NULL;
	if (!path)
		return code ? code : th_fail(err, TH_EPROTO, "an executor without a socket");
	x->starter = th_sock_free(x->starter);
	x->state = TH_LINK_GREETING; /* should it have gone again, that counts as this */
	return connect_to(x, path, err);
}

static void on_start_frame(void *ctx, struct th_sock *s, const struct th_frame *frame)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;
	struct th_err err = {};

	(void)s;
	if (x->freed || !x->starter)
		return;
	th_link_enter(x);
	if (on_start_message(x, frame, &err))
		th_link_lost(x, &err);
	th_link_leave(x);
}

static void on_start_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;
	struct th_err why;

	(void)s;
	if (x->freed)
		return;
	if (x->proved)
		th_fail(&why, TH_ECONN, "the executor ended before it was ready; see %s/log",
			x->state_dir.ptr);
	else if (err->code == TH_OK || err->code == TH_ECONN)
		not_an_executor(x, TH_ECONN, "ended without saying", &why);
	else
		not_an_executor(x, TH_EPROTO, "says something else than", &why);
	th_link_enter(x);
	th_link_lost(x, &why);
	th_link_leave(x);
}

static enum th_code start(struct th_executor_client *x, struct th_err *err)
{
	const struct th_sock_handlers h = { .on_frame = on_start_frame,
					    .on_close = on_start_close,
					    .ctx = x };
	int fd;

	x->proved = false;
	enum th_code code = th_executor_spawn(x->o.program, x->o.session, &fd, &x->started, err);
	if (code == TH_OK)
		code = th_sock_new(x->loop, fd, &h, &x->starter, err);
	if (code)
		return code;
	x->state = TH_LINK_STARTING;
	th_timer_start(&x->timer, x->o.start_ms, 0);
	return TH_OK;
}

void th_link_watch(void *ctx)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;
	struct th_err err;

	if (x->state == TH_LINK_IDLE) { /* another machine was not reached a while ago */
		th_link_soon(x);
		return;
	}
	if (x->state == TH_LINK_ENDING)
		th_fail(&err, TH_ETIMEOUT, "the executor does not end within %llu ms; see %s/log",
			(unsigned long long)x->o.end_ms, x->state_dir.ptr);
	else if (x->state == TH_LINK_STARTING && !x->proved)
		not_an_executor(x, TH_ETIMEOUT, "does not say", &err);
	else
		th_fail(&err, TH_ETIMEOUT,
			"the executor does not answer within %llu ms; see %s/log",
			(unsigned long long)x->o.start_ms, x->state_dir.ptr);
	th_link_enter(x);
	if (x->state == TH_LINK_ENDING) {
		disconnect(x);
		fail_all(x, &err);
		if (!x->freed)
			end_finish(x, &err);
	} else {
		th_link_lost(x, &err);
	}
	th_link_leave(x);
}

/* ---- doing what waits ---- */

static bool anything_waits(const struct th_executor_client *x)
{
	return x->call_count > 0 || x->waiters || x->watch.on_frame || x->end;
}

/* It is to begin, and has not been sent to anybody on this connection. */
static bool begins(const struct th_link_call *c)
{
	return th_link_call_is(c) && c->id == 0 && !c->held && c->tries == 0 && !c->attach;
}

/* Their secrets cannot be had. */
static void fail_new(struct th_executor_client *x, const struct th_err *why)
{
	th_link_tell(x, false, 0, why);
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++)
		if (begins(x->calls[i]))
			th_link_call_give_up(x, x->calls[i], why);
}

/* Whether what waits may go on to the executor.  False: later, or all of it was given up. */
static bool secrets_are_fresh(struct th_executor_client *x)
{
	struct th_err why = {};
	bool asks = x->waiters != NULL;
	enum th_code code;

	for (uint32_t i = 0; i < x->call_room && !asks; i++)
		asks = begins(x->calls[i]);
	code = asks && x->o.fresh && !x->end ? x->o.fresh(x->o.fresh_ctx, &why) : TH_OK;
	if (code && code != TH_EBUSY)
		fail_new(x, &why);
	return code != TH_EBUSY && !x->freed;
}

static void remove_work(void *ctx)
{
	struct th_link_removal *r = (struct th_link_removal *)ctx;
	r->code = th_executor_remove(r->state_dir, &r->err);
}

static void remove_done(void *ctx)
{
	struct th_link_removal *r = (struct th_link_removal *)ctx;
	struct th_executor_client *x = r->x;

	if (x) {
		th_link_enter(x);
		x->removal = NULL;
		x->state = TH_LINK_IDLE;
		/* Somebody else started one meanwhile: use that one. */
		if (r->code == TH_EBUSY)
			th_link_soon(x);
		else
			end_finish(x, r->code ? &r->err : NULL);
		if (!x->freed)
			th_link_soon(x);
		th_link_leave(x);
	}
	free(r->state_dir);
	free(r);
}

/* Nobody to tell that it is over; but what the last one left goes. */
static void remove_start(struct th_executor_client *x)
{
	struct th_link_removal *r = (struct th_link_removal *)th_alloc(sizeof(*r));

	r->x = x;
	r->state_dir = (char *)th_alloc(x->state_dir.len + 1);
	memcpy(r->state_dir, x->state_dir.ptr, x->state_dir.len);
	x->removal = r;
	x->state = TH_LINK_REMOVING;
	th_work(x->loop, remove_work, remove_done, r);
}

static void connect(struct th_executor_client *x)
{
	struct th_err err = {};
	enum th_code code =
	    x->place.len ? th_link_far_connect(x, &err) : connect_to(x, x->socket.ptr, &err);

	if (x->place.len && code == TH_OK)
		return;
	if (x->place.len) {
		x->state = TH_LINK_GREETING;
		th_link_lost(x, &err);
		return;
	}
	if (code != TH_ENOENT && code != TH_ECONN) {
		if (code)
			th_link_lost(x, &err);
		return;
	}
	if (x->end && x->call_count == 0 && !x->waiters) {
		remove_start(x);
		return;
	}
	if (x->o.only_running)
		code = th_fail(&err, TH_ENOENT, "this session has no executor running");
	else
		code = start(x, &err);
	if (code)
		th_link_lost(x, &err);
}

static void send_waiting(struct th_executor_client *x)
{
	th_link_forget(x);
	th_link_give(x);
	for (uint32_t i = 0; i < x->call_room && !x->freed && x->state == TH_LINK_OPEN; i++) {
		struct th_link_call *c = x->calls[i];
		if (th_link_call_is(c) && c->id == 0 && !c->held)
			th_link_call_send(x, c);
	}
	if (x->freed || x->state != TH_LINK_OPEN)
		return;
	th_link_watch_send(x);
	for (struct th_link_waiter *w = x->waiters; w; w = w->next)
		if (w->screen && w->id == 0) {
			struct th_exec_request m = { .op = TH_STR("open"), .id = ++x->next_id };
			/* One open serves all. */
			for (struct th_link_waiter *other = x->waiters; other; other = other->next)
				if (other->screen && other->id == 0)
					other->id = m.id;
			th_link_send(x, &th_exec_request_table, &m);
		}
	th_link_tell(x, false, 0, NULL);
	if (x->freed || x->state != TH_LINK_OPEN)
		return;
	if (x->end) {
		struct th_exec_request m = { .op = TH_STR("end"), .id = ++x->next_id };
		x->state = TH_LINK_ENDING;
		th_timer_start(&x->timer, x->o.end_ms, 0);
		th_link_send(x, &th_exec_request_table, &m);
	}
}

void th_link_pass(void *ctx)
{
	struct th_executor_client *x = (struct th_executor_client *)ctx;

	if (x->freed)
		return;
	th_link_enter(x);
	if (x->state == TH_LINK_IDLE && anything_waits(x) && !th_timer_running(&x->timer)) {
		if (secrets_are_fresh(x) && anything_waits(x))
			connect(x);
	} else if (x->state == TH_LINK_OPEN && secrets_are_fresh(x)) {
		send_waiting(x);
	}
	th_link_leave(x);
}
