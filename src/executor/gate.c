/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/gate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/codec.h"
#include "base/limits.h"
#include "exec_client/start.h"
#include "io/files.h"
#include "io/listen.h"
#include "io/relay.h"
#include "io/sock.h"
#include "io/stream.h"
#include "wire/exec.h"

struct gate {
	const struct th_exec_gate_options *o;
	struct th_loop *loop;
	struct th_listen *listen;
	struct th_tls_config *tls;
	struct visitor *first;
	size_t count;
};

/* A runtime of another machine. */
struct visitor {
	struct visitor *prev, *next;
	struct gate *gate;
	struct th_stream *stream;
	struct th_relay *relay; /* NULL: it has not said hello yet, or was refused */
	struct th_buf in;       /* what it said before */
	struct th_timer timer;  /* until then */
	bool refused;
};

static void visitor_free(struct visitor *v)
{
	struct gate *g = v->gate;

	*(v->prev ? &v->prev->next : &g->first) = v->next;
	if (v->next)
		v->next->prev = v->prev;
	g->count--;
	th_timer_stop(&v->timer);
	th_relay_free(v->relay);
	th_stream_free(v->stream);
	th_buf_deinit(&v->in);
	free(v);
}

/* ---- the hello ---- */

static void refuse(struct visitor *v, int64_t id, const struct th_err *why)
{
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(32 * TH_KIB);

	v->refused = true;
	th_timer_stop(&v->timer);
	th_exec_print_error(id, why, &head);
	th_frame_write(&frame, th_buf_str(&head), TH_STR(""));
	/* What cannot be written is lost with the connection. */
	if (th_stream_write(v->stream, th_buf_str(&frame)) == TH_OK && !v->gate->o->quiet)
		fprintf(stderr, "refused: %s\n", why->msg);
	th_stream_end(v->stream);
}

static enum th_code check(const struct th_exec_hello *m, struct th_err *err)
{
	enum th_code code = th_exec_check_protocol(m->protocol, err);

	if (code)
		return th_prefix(err, code, "the runtime");
	if (!m->session.len || m->session.len > TH_SESSION_ID_MAX || !m->scope.len)
		return th_fail(err, TH_EPROTO, "a hello names the session and its store");
	if (m->epoch == 0 && !m->looks_on)
		return th_fail(err, TH_EPERM, "a guest may only look on from another machine");
	return TH_OK;
}

/* A socket to the executor, and what is said to it first. */
static enum th_code find(struct th_exec_hello *m, struct th_buf *first, int *ret_fd,
			 struct th_err *err)
{
	struct th_buf state_dir TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf ignored TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf socket TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf token TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	struct th_err local = { 0 };
	struct th_pipe pipe;
	enum th_code code = th_executor_paths(m->scope, m->session, &state_dir, &ignored, err);

	if (code)
		return code;
	th_executor_announced(state_dir.ptr, &socket, &token);
	th_pipe_init(&pipe, -1);
	code = socket.len ? th_pipe_connect(&pipe, socket.ptr, &local) : TH_ENOENT;
	if (code == TH_ENOENT || code == TH_ECONN)
		return th_fail(err, TH_ENOENT, "no executor of session %.*s runs on that machine",
			       TH_FMT(m->session));
	if (code)
		return th_fail(err, code, "%s", local.msg);
	m->token = th_buf_str(&token);
	m->scope = (struct th_str){ NULL, 0 };
	th_exec_print(&th_exec_hello_table, m, &head);
	th_frame_write(first, th_buf_str(&head), TH_STR(""));
	*ret_fd = pipe.fd;
	pipe.fd = -1;
	th_pipe_deinit(&pipe);
	return th_buf_check(first, "the hello", err);
}

static void on_relay_end(void *ctx)
{
	visitor_free(ctx);
}

static enum th_code on_hello(struct visitor *v, const struct th_frame *frame, int64_t *ret_id,
			     struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	struct th_buf first TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXEC_GATE_HELLO_MAX);
	struct th_exec_hello m;
	enum th_exec_op op;
	int fd = -1;

	th_arena_init(&arena, 2 * TH_FRAME_JSON_MAX);
	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_HELLO)
		code = th_fail(err, TH_EPROTO, "hello comes first");
	if (code == TH_OK)
		code = th_table_parse(&th_exec_hello_table, th_json_root(doc), &arena, &m, err);
	*ret_id = doc ? th_json_get_int(th_json_root(doc), "id", 0) : 0;
	if (code == TH_OK)
		code = check(&m, err);
	if (code == TH_OK)
		code = find(&m, &first, &fd, err);
	if (code == TH_OK)
		code = th_relay_new(v->gate->loop, fd, v->stream, on_relay_end, v, &v->relay, err);
	if (code)
		return code;
	th_timer_stop(&v->timer);
	if (!v->gate->o->quiet)
		fprintf(stderr, "session %.*s, epoch %lld\n", TH_FMT(m.session),
			(long long)m.epoch);
	th_relay_data(v->relay, th_buf_str(&first));
	th_relay_data(v->relay, th_str_sub(th_buf_str(&v->in), frame->size, v->in.len));
	th_buf_deinit(&v->in);
	return TH_OK;
}

/* ---- connections ---- */

static void on_data(void *ctx, struct th_str bytes)
{
	struct visitor *v = ctx;
	struct th_frame frame;
	struct th_err err = { 0 };
	int64_t id = 0;
	int status;

	if (v->relay) {
		th_relay_data(v->relay, bytes);
		return;
	}
	if (v->refused)
		return;
	th_buf_add(&v->in, bytes);
	status = th_frame_read(th_buf_str(&v->in), &frame, &err);
	if (v->in.failed || status < 0)
		th_fail(&err, TH_EPROTO, "its first message is no hello");
	else if (status == 0 || on_hello(v, &frame, &id, &err) == TH_OK)
		return;
	refuse(v, id, &err);
}

static void on_open(void *ctx)
{
	(void)ctx; /* it speaks first */
}

static void on_room(void *ctx)
{
	struct visitor *v = ctx;

	if (v->relay)
		th_relay_room(v->relay);
}

static void on_close(void *ctx, const struct th_err *err)
{
	struct visitor *v = ctx;

	if (err->code && !v->gate->o->quiet)
		fprintf(stderr, "a connection: %s\n", err->msg);
	if (v->relay)
		th_relay_over(v->relay);
	else
		visitor_free(v);
}

static void on_late(void *ctx)
{
	struct visitor *v = ctx;
	struct th_err err = { 0 };

	th_fail(&err, TH_ETIMEOUT, "no hello came");
	refuse(v, 0, &err);
}

static void on_connection(void *ctx, int fd)
{
	struct gate *g = ctx;
	struct visitor *v = th_alloc(sizeof(*v));
	const struct th_stream_handlers h = { .on_open = on_open,
					      .on_data = on_data,
					      .on_room = on_room,
					      .on_close = on_close,
					      .ctx = v };
	struct th_err err = { 0 };

	if (g->count >= (g->o->connections ?: TH_EXEC_GATE_MAX)) {
		if (!g->o->quiet)
			fprintf(stderr,
				"refused: %zu connections are open, as many as there may be\n",
				g->count);
		th_fd_close(&fd);
		free(v);
		return;
	}
	*v = (struct visitor){ .gate = g, .next = g->first };
	if (th_stream_take(g->loop, fd, g->tls, &h, &v->stream, &err) != TH_OK) {
		fprintf(stderr, "a connection: %s\n", err.msg);
		free(v);
		return;
	}
	th_buf_init(&v->in, TH_EXEC_GATE_HELLO_MAX);
	th_timer_init(&v->timer, g->loop, on_late, v);
	th_timer_start(&v->timer, TH_EXEC_START_MS, 0);
	if (v->next)
		v->next->prev = v;
	g->first = v;
	g->count++;
}

/* ---- the process ---- */

static enum th_code read_certificates(struct gate *g, struct th_err *err)
{
	struct th_tls_config *tls;
	enum th_code code = th_tls_config_mutual(g->o->cert, g->o->key, g->o->ca, true, &tls, err);

	if (code)
		return code;
	if (g->tls)
		th_tls_config_replace(g->tls, tls);
	else
		g->tls = tls;
	return TH_OK;
}

static void on_signal(void *ctx, int signum)
{
	struct gate *g = ctx;
	struct th_err err = { 0 };

	if (signum != SIGHUP)
		th_loop_stop(g->loop);
	else if (read_certificates(g, &err) != TH_OK)
		fprintf(stderr, "the certificates stay as they were: %s\n", err.msg);
}

static enum th_code run(struct gate *g, struct th_err *err)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	struct th_buf place TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_signal *signals[TH_COUNT(numbers)] = { NULL };
	enum th_code code = th_listen_new(g->loop, g->o->listen, on_connection, g, &g->listen, err);

	for (size_t i = 0; i < TH_COUNT(numbers) && !code; i++)
		code = th_signal_new(g->loop, numbers[i], on_signal, g, &signals[i], err);
	if (!code) {
		th_listen_print(g->listen, &place);
		printf("listening at %s\n", place.ptr);
		fflush(stdout);
		th_loop_run(g->loop);
	}
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		th_signal_free(signals[i]);
	th_listen_free(g->listen);
	while (g->first)
		visitor_free(g->first);
	return code;
}

enum th_code th_exec_gate(const struct th_exec_gate_options *o, struct th_err *err)
{
	struct gate g = { .o = o };
	enum th_code code = read_certificates(&g, err);

	signal(SIGPIPE, SIG_IGN);
	if (!code)
		code = th_loop_new(&g.loop, err);
	if (!code)
		code = run(&g, err);
	th_loop_free(g.loop);
	th_tls_config_free(g.tls);
	return code;
}
