/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.c - who is connected: they say hello with the token, and what they ask goes to the part
 * that does it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "display/display.h"
#include "executor/state.h"
#include "io/files.h"

/* ---- hello ---- */

static void send_welcome(struct th_exec_client *c, int64_t id)
{
	struct th_executor_server *x = c->x;
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(64 * TH_KIB);
	const struct th_exec_screen *screen = x->display ? th_display_screen(x->display) : NULL;
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_exec_welcome m = {
		.op = TH_STR("welcome"),
		.id = id,
		.pid = getpid(),
		.journal = th_str_of(th_ledger_id(x->ledger)),
		.epoch = th_ledger_epoch(x->ledger),
		.build = TH_STR(TH_VERSION),
		.protocol = TH_EXEC_PROTOCOL,
		.workspace = th_str_of(x->workspace),
		.sandbox = th_str_of(x->sandbox),
	};

	if (x->computer.len > 0 && th_json_parse(x->computer, &doc, NULL) == TH_OK)
		m.computer = th_json_get_str(th_json_root(doc), "kind");
	if (screen) {
		m.width = screen->width;
		m.height = screen->height;
		m.caps = screen->caps;
	}
	th_exec_print(&th_exec_welcome_table, &m, &head);
	th_exec_send(c, th_buf_str(&head), TH_STR(""));
}

/* The parts of a computer's description that must not contradict. */
static enum th_code check_computer(struct th_executor_server *x, struct th_str wanted,
				   struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *have = NULL;
	TH_CLEANUP(th_json_freep) struct th_json_doc *want = NULL;

	enum th_code code = TH_OK;
	if (x->computer.len == 0) {
		code = th_exec_display_make(x, wanted, err);
		if (code == TH_OK)
			th_exec_watches_begin(x);
		return code;
	}
	code = th_json_parse(x->computer, &have, err);
	if (code == TH_OK)
		code = th_json_parse(wanted, &want, err);
	if (code)
		return code;
	const struct th_json *h = th_json_root(have), *w = th_json_root(want);
	struct th_str kind = th_json_get_str(h, "kind");
	int64_t width = th_json_get_int(w, "width", 0), height = th_json_get_int(w, "height", 0);
	if (!th_str_eq(kind, th_json_get_str(w, "kind")))
		return th_fail(err, TH_EBUSY,
			       "this session's executor has a computer of kind %.*s, not %.*s",
			       TH_FMT(kind), TH_FMT(th_json_get_str(w, "kind")));
	if ((width && width != th_json_get_int(h, "width", width)) ||
	    (height && height != th_json_get_int(h, "height", height)))
		return th_fail(err, TH_EBUSY, "this session's desktop has another size, %lldx%lld",
			       (long long)th_json_get_int(h, "width", 0),
			       (long long)th_json_get_int(h, "height", 0));
	return TH_OK;
}

static enum th_code check_workspace(struct th_executor_server *x, struct th_str wanted,
				    struct th_err *err)
{
	char given[TH_PATH_LEN_MAX], real[TH_PATH_LEN_MAX];

	if (!x->workspace)
		return th_exec_env_make(x, wanted, err);
	if (wanted.len >= sizeof(given))
		return th_fail(err, TH_EUSAGE, "the workspace's path is too long");
	memcpy(given, wanted.ptr, wanted.len);
	given[wanted.len] = '\0';
	if (realpath(given, real) && strcmp(real, x->workspace) == 0)
		return TH_OK;
	return th_fail(err, TH_EBUSY, "this session's executor works in %s, not in %s",
		       x->workspace, given);
}

static bool token_fits(const struct th_executor_server *x, struct th_str token)
{
	unsigned char differs = 0;

	if (token.len != TH_EXEC_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < TH_EXEC_TOKEN_LEN; i++)
		differs |= (unsigned char)(token.ptr[i] ^ x->token[i]);
	return differs == 0;
}

static enum th_code on_hello(struct th_exec_client *c, const struct th_exec_hello *m,
			     struct th_err *err)
{
	struct th_executor_server *x = c->x;
	int64_t highest = th_ledger_epoch(x->ledger);
	enum th_code code = th_exec_check_protocol(m->protocol, err);

	if (code)
		return th_prefix(err, code, "the runtime");
	if (x->stopping)
		return th_fail(err, TH_ECONN, "the executor is ending");
	if (!token_fits(x, m->token))
		return th_fail(err, TH_EPERM, "the token is not this executor's");
	if (!th_str_eq(m->session, x->start.session))
		return th_fail(err, TH_EUSAGE, "this is the executor of another session");
	if (x->client_count > TH_EXEC_CLIENTS_MAX)
		return th_fail(err, TH_ELIMIT, "the executor has %d connections, its maximum",
			       TH_EXEC_CLIENTS_MAX);
	if (m->epoch > 0 && m->epoch < highest)
		return th_fail(err, TH_EFENCED,
			       "a newer owner has the session (epoch %lld, not %lld)",
			       (long long)highest, (long long)m->epoch);
	if (m->epoch > highest) {
		code = th_ledger_epoch_raise(x->ledger, m->epoch, err);
		if (code == TH_OK)
			code = th_ledger_sync(x->ledger, err);
		if (code == TH_EIO)
			th_exec_fatal(x, err);
		x->env.given.count = x->own_given; /* what clients gave its owner before */
		x->not_given.code = TH_OK;
	}
	if (code == TH_OK && m->workspace.len > 0)
		code = check_workspace(x, m->workspace, err);
	if (code == TH_OK && m->computer.len > 0)
		code = check_computer(x, m->computer, err);
	if (code)
		return code;
	c->greeted = true;
	c->looks_on = m->looks_on;
	c->epoch = m->epoch;
	th_exec_idle(x);
	send_welcome(c, 0);
	return TH_OK;
}

/* ---- what they ask ---- */

static void on_opened(void *ctx, const struct th_exec_screen *screen, const struct th_err *err)
{
	struct th_exec_client *c = (struct th_exec_client *)ctx;
	int64_t id = c->open_id;

	c->open_id = 0;
	if (screen)
		send_welcome(c, id);
	else
		th_exec_send_error(c, id, err);
}

static void on_open(struct th_exec_client *c, int64_t id)
{
	struct th_err err;

	if (c->x->stopping || !c->x->display || c->open_id) {
		th_fail(&err, c->x->stopping ? TH_ECONN : TH_EUNSUPPORTED, "%s",
			c->x->stopping ? "the executor is ending"
			: c->open_id   ? "it is being opened already"
				       : "this session has no computer");
		th_exec_send_error(c, id, &err);
		return;
	}
	c->open_id = id;
	th_display_open(c->x->display, on_opened, c);
}

static enum th_code on_end(struct th_exec_client *c, struct th_err *err)
{
	if (c->epoch > 0 && c->epoch < th_ledger_epoch(c->x->ledger))
		return th_fail(err, TH_EFENCED, "a newer owner has the session");
	th_exec_stop(c->x, true);
	return TH_OK;
}

/* What is only an op and a number. */
static enum th_code on_number(struct th_exec_client *c, enum th_exec_op op, int64_t id,
			      struct th_err *err)
{
	if (op == TH_EXEC_OP_END)
		return on_end(c, err);
	if (op == TH_EXEC_OP_OPEN)
		on_open(c, id);
	else if (op == TH_EXEC_OP_NEXT)
		th_exec_on_watch_next(c, id);
	else if (op == TH_EXEC_OP_UNWATCH)
		th_exec_on_unwatch(c, id);
	else
		th_exec_on_cancel(c, id);
	return TH_OK;
}

static enum th_code on_message(struct th_exec_client *c, const struct th_frame *frame,
			       int64_t *ret_id, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	enum th_exec_op op;
	union {
		struct th_exec_hello hello;
		struct th_exec_run run;
		struct th_exec_request request;
		struct th_exec_forget forget;
		struct th_exec_host host;
		struct th_exec_input input;
		struct th_exec_watch watch;
		struct th_exec_give give;
	} m;

	th_arena_init(&arena, 2 * TH_FRAME_JSON_MAX);
	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	*ret_id = th_json_get_int(v, "id", 0);
	if ((op == TH_EXEC_OP_HELLO) == c->greeted)
		return th_fail(err, TH_EPROTO, "%s",
			       c->greeted ? "hello was said before" : "hello comes first");
	switch ((int)op) {
	case TH_EXEC_OP_HELLO:
		code = th_table_parse(&th_exec_hello_table, v, &arena, &m.hello, err);
		return code ? code : on_hello(c, &m.hello, err);
	case TH_EXEC_OP_RUN:
	case TH_EXEC_OP_ATTACH:
		code = th_table_parse(&th_exec_run_table, v, &arena, &m.run, err);
		if (code == TH_OK)
			th_exec_on_run(c, &m.run, op == TH_EXEC_OP_ATTACH);
		return code;
	case TH_EXEC_OP_OPEN:
	case TH_EXEC_OP_CANCEL:
	case TH_EXEC_OP_END:
	case TH_EXEC_OP_NEXT:
	case TH_EXEC_OP_UNWATCH:
		code = th_table_parse(&th_exec_request_table, v, &arena, &m.request, err);
		return code ? code : on_number(c, op, m.request.id, err);
	case TH_EXEC_OP_WATCH:
		code = th_table_parse(&th_exec_watch_table, v, &arena, &m.watch, err);
		if (code == TH_OK)
			th_exec_on_watch(c, &m.watch);
		return code;
	case TH_EXEC_OP_HOST:
		code = th_table_parse(&th_exec_host_table, v, &arena, &m.host, err);
		if (code == TH_OK)
			th_exec_on_host(c, &m.host);
		return code;
	case TH_EXEC_OP_INPUT:
		code = th_table_parse(&th_exec_input_table, v, &arena, &m.input, err);
		if (code == TH_OK)
			th_exec_on_input(c, &m.input, frame->attachment);
		return code;
	case TH_EXEC_OP_GIVE:
		code = th_table_parse(&th_exec_give_table, v, &arena, &m.give, err);
		return code ? code : th_exec_on_give(c, &m.give, err);
	case TH_EXEC_OP_FORGET:
		code = th_table_parse(&th_exec_forget_table, v, &arena, &m.forget, err);
		if (code == TH_OK)
			th_exec_on_forget(c->x, m.forget.effect_ids);
		return code;
	default:
		return th_fail(err, TH_EPROTO, "'%s' is nothing to ask of an executor",
			       th_exec_op_name(op));
	}
}

/* ---- connections ---- */

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *frame)
{
	struct th_exec_client *c = (struct th_exec_client *)ctx;
	struct th_err err = {};
	int64_t id = 0;

	(void)s;
	if (!c->dead && on_message(c, frame, &id, &err))
		th_exec_send_error(c, id, &err);
}

static void on_drain(void *ctx, struct th_sock *s)
{
	(void)s;
	th_exec_client_drained((struct th_exec_client *)ctx);
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	(void)s;
	(void)err;
	th_exec_drop((struct th_exec_client *)ctx);
}

void th_exec_on_accept(void *ctx, int fd)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	struct th_exec_client *c = (struct th_exec_client *)th_alloc(sizeof(*c));
	const struct th_sock_handlers handlers = {
		.on_frame = on_frame, .on_drain = on_drain, .on_close = on_close, .ctx = c
	};

	c->x = x;
	/* Some more may stay, to be told by on_hello that they are too many. */
	if (x->client_count >= 2 * TH_EXEC_CLIENTS_MAX)
		th_fd_close(&fd);
	if (fd < 0 || th_sock_new(x->loop, fd, &handlers, &c->sock, NULL)) {
		free(c);
		return;
	}
	c->next = x->clients;
	x->clients = c;
	x->client_count++;
}

void th_exec_reap(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;

	for (struct th_exec_client **at = &x->clients; *at;) {
		struct th_exec_client *c = *at;
		if (!c->dead) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		x->client_count--;
		th_exec_client_gone(c);
		th_exec_watches_gone(c);
		if (x->display)
			th_display_open_cancel(x->display, c);
		th_sock_free(c->sock);
		free(c);
	}
	th_exec_idle(x);
}
