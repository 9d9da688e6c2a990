/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "egress/claim.h"
#include "io/detach.h"
#include "io/files.h"
#include "io/role.h"
#include "io/sock.h"
#include "rules/net_rule.h"
#include "wire/egress.h"

#define TEXT_MAX 256 /* of a host or a reason, in a row */

/* Equal connections. */
struct row {
	char host[TEXT_MAX], why[TEXT_MAX];
	char kind[16], decision[16];
	int64_t port, count, up, down, ms;
};

/* A connection that waits for a word about its host. */
struct ask {
	struct ask *next;
	int64_t id;
	uint16_t port;
	char host[TH_NET_HOST_MAX + 1];
};

enum state { STATE_DOWN, STATE_STARTING, STATE_GREETING, STATE_UP };

struct th_egress_link {
	struct th_loop *loop;
	struct th_arena arena;
	const char *program;
	struct th_str session, net;
	const struct th_secret *secrets, *authority;
	int listen_fd;
	enum state state;
	struct th_poll *listen_poll; /* while it is not up */
	int ready_fd;                /* of a process that is starting; -1 */
	struct th_poll *ready_poll;
	struct th_timer timer; /* a start that takes too long, or a sync */
	uint64_t tried_ms;     /* 0: never */
	struct th_sock *sock;
	struct th_deferred lost;
	struct th_egress_wait *waits;
	int64_t last_id;
	void (*on_ask)(void *ctx, struct th_str host, uint16_t port, bool listed);
	void (*on_withdrawn)(void *ctx, struct th_str host, uint16_t port);
	bool asks, asks_listed;
	void *ask_ctx;
	struct ask *asked;
	size_t ask_count;
	struct row *rows;
	size_t row_count;
	int64_t more; /* connections that have no row */
};

static void say(const struct th_egress_link *x, const char *what)
{
	fprintf(stderr, "thole executor: the egress of session %.*s: %s\n", TH_FMT(x->session),
		what);
}

/* ---- rows ---- */

static void copy(char *to, size_t size, struct th_str from)
{
	snprintf(to, size, "%.*s", (int)TH_MIN(from.len, size - 1), from.ptr ? from.ptr : "");
}

static void add(struct th_egress_link *x, const struct th_egress_connection *c)
{
	struct row new = { .port = c->port };
	struct row *r = NULL;

	copy(new.host, sizeof(new.host), c->host);
	copy(new.why, sizeof(new.why), c->why);
	copy(new.kind, sizeof(new.kind), c->kind);
	copy(new.decision, sizeof(new.decision), c->decision);
	for (size_t i = 0; i < x->row_count && !r; i++)
		if (x->rows[i].port == new.port && strcmp(x->rows[i].host, new.host) == 0 &&
		    strcmp(x->rows[i].decision, new.decision) == 0 &&
		    strcmp(x->rows[i].kind, new.kind) == 0 && strcmp(x->rows[i].why, new.why) == 0)
			r = &x->rows[i];
	if (!r && x->row_count == TH_EGRESS_ROWS_MAX) {
		x->more += c->count;
		return;
	}
	if (!r) {
		if (!x->rows)
			x->rows = (struct row *)th_alloc(TH_EGRESS_ROWS_MAX * sizeof(*x->rows));
		r = &x->rows[x->row_count++];
		*r = new;
	}
	r->count += c->count;
	r->up += c->bytes_up;
	r->down += c->bytes_down;
	r->ms += c->ms;
}

void th_egress_link_take(struct th_egress_link *x, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (x->row_count == 0)
		return;
	th_jw_array(&w);
	for (size_t i = 0; i < x->row_count; i++) {
		const struct row *r = &x->rows[i];

		th_jw_object(&w);
		th_jw_kstr(&w, "host", th_str_of(r->host));
		th_jw_kint(&w, "port", r->port);
		th_jw_kstr(&w, "kind", th_str_of(r->kind));
		th_jw_kstr(&w, "decision", th_str_of(r->decision));
		if (r->why[0])
			th_jw_kstr(&w, "why", th_str_of(r->why));
		th_jw_kint(&w, "connections", r->count);
		th_jw_kint(&w, "bytes_up", r->up);
		th_jw_kint(&w, "bytes_down", r->down);
		th_jw_kint(&w, "ms", r->ms);
		th_jw_object_end(&w);
	}
	if (x->more > 0) {
		th_jw_object(&w);
		th_jw_kint(&w, "more", x->more);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	x->row_count = 0;
	x->more = 0;
}

/* ---- syncs ---- */

static void release(struct th_egress_link *x, int64_t up_to)
{
	while (x->waits && x->waits->id <= up_to) {
		struct th_egress_wait *w = x->waits;

		x->waits = w->next;
		w->fn(w->ctx);
	}
	if (!x->waits && x->state == STATE_UP)
		th_timer_stop(&x->timer);
}

bool th_egress_link_sync(struct th_egress_link *x, struct th_egress_wait *w)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_KIB);
	struct th_egress_number m = { .op = TH_STR("sync"), .id = x->last_id + 1 };
	struct th_egress_wait **at = &x->waits;
	enum th_code code = TH_ECONN;

	th_egress_print(&th_egress_number_table, &m, &head);
	if (x->state == STATE_UP)
		code = th_sock_send(x->sock, th_buf_str(&head), TH_STR(""), NULL);
	if (code && code != TH_EBUSY) {
		w->fn(w->ctx);
		return false;
	}
	w->id = ++x->last_id;
	w->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = w;
	if (!th_timer_running(&x->timer))
		th_timer_start(&x->timer, TH_EGRESS_SYNC_MS, 0);
	return true;
}

/* ---- hosts that are asked for ---- */

static void drop_asks(struct th_egress_link *x)
{
	while (x->asked) {
		struct ask *a = x->asked;

		x->asked = a->next;
		free(a);
	}
	x->ask_count = 0;
}

static enum th_code on_ask(struct th_egress_link *x, const struct th_egress_ask *m,
			   struct th_err *err)
{
	struct ask *a;

	if (!(m->listed ? x->asks_listed : x->asks) || x->ask_count == TH_EGRESS_FLOWS_MAX ||
	    m->host.len > TH_NET_HOST_MAX || m->port > UINT16_MAX)
		return th_fail(err, TH_EPROTO, "it asks for what cannot be");
	a = (struct ask *)th_alloc(sizeof(*a));
	a->id = m->id;
	a->port = (uint16_t)m->port;
	copy(a->host, sizeof(a->host), m->host);
	a->next = x->asked;
	x->asked = a;
	x->ask_count++;
	x->on_ask(x->ask_ctx, m->host, a->port, m->listed);
	return TH_OK;
}

/* One that was answered meanwhile is not there any more. */
static void on_withdrawn(struct th_egress_link *x, int64_t id)
{
	struct ask gone = { .id = 0 };

	for (struct ask **at = &x->asked; *at && !gone.id;) {
		struct ask *a = *at;

		if (a->id != id) {
			at = &a->next;
			continue;
		}
		gone = *a;
		*at = a->next;
		x->ask_count--;
		free(a);
	}
	for (const struct ask *a = x->asked; a; a = a->next)
		if (a->port == gone.port && strcmp(a->host, gone.host) == 0)
			return;
	if (gone.id)
		x->on_withdrawn(x->ask_ctx, th_str_of(gone.host), gone.port);
}

void th_egress_link_answer(struct th_egress_link *x, struct th_str host, uint16_t port, bool allow,
			   const char *why)
{
	struct th_egress_answer m = { .op = TH_STR("answer"),
				      .allow = allow,
				      .why = allow ? TH_STR("") : th_str_of(why) };

	for (struct ask **at = &x->asked; *at;) {
		TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(4 * TH_KIB);
		struct ask *a = *at;
		enum th_code code;

		if (a->port != port || !th_str_is(host, a->host)) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		x->ask_count--;
		m.id = a->id;
		free(a);
		th_egress_print(&th_egress_answer_table, &m, &head);
		code =
		    x->sock ? th_sock_send(x->sock, th_buf_str(&head), TH_STR(""), NULL) : TH_ECONN;
		if (code && code != TH_EBUSY)
			th_loop_defer(x->loop, &x->lost);
	}
}

void th_egress_link_secrets(struct th_egress_link *x, const struct th_secret *secrets)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	struct th_egress_renew m = { .op = TH_STR("renew"), .secrets = th_secret_expose(secrets) };
	enum th_code code;

	if (!x->secrets) /* it has none: their hosts are not reached */
		return;
	x->secrets = secrets;
	if (!x->sock)
		return;
	th_buf_reserve(&head, TH_FRAME_JSON_MAX / 2); /* so that no copy is left behind */
	th_egress_print(&th_egress_renew_table, &m, &head);
	code = th_sock_send(x->sock, th_buf_str(&head), TH_STR(""), NULL);
	explicit_bzero(head.ptr, head.len);
	if (code && code != TH_EBUSY) /* the next one begins with them */
		th_loop_defer(x->loop, &x->lost);
}

/* ---- finding and starting ---- */

static void go_down(struct th_egress_link *x)
{
	x->state = STATE_DOWN;
	th_timer_stop(&x->timer);
	th_loop_undefer(x->loop, &x->lost);
	x->sock = th_sock_free(x->sock);
	drop_asks(x);
	x->ready_poll = th_poll_free(x->ready_poll);
	th_fd_close(&x->ready_fd);
	if (x->listen_poll)
		th_poll_set(x->listen_poll, TH_POLL_READ);
	release(x, INT64_MAX);
}

static void on_lost(void *ctx)
{
	go_down((struct th_egress_link *)ctx);
}

static enum th_code on_message(struct th_egress_link *x, struct th_str head, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	struct th_egress_connection c;
	struct th_egress_ask ask;
	enum th_code code = th_json_parse(head, &doc, err);

	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	struct th_str op = th_json_get_str(v, "op");
	if (th_str_is(op, "ready")) {
		x->state = STATE_UP;
		th_timer_stop(&x->timer);
		th_poll_set(x->listen_poll, 0);
	} else if (th_str_is(op, "synced")) {
		release(x, th_json_get_int(v, "id", 0));
	} else if (th_str_is(op, "withdrawn")) {
		on_withdrawn(x, th_json_get_int(v, "id", 0));
	} else if (th_str_is(op, "connection")) {
		th_arena_init(&a, 64 * TH_KIB);
		code = th_table_parse(&th_egress_connection_table, v, &a, &c, err);
		if (code == TH_OK)
			add(x, &c);
	} else if (th_str_is(op, "ask")) {
		th_arena_init(&a, 64 * TH_KIB);
		code = th_table_parse(&th_egress_ask_table, v, &a, &ask, err);
		if (code == TH_OK)
			code = on_ask(x, &ask, err);
	} else {
		struct th_str message = th_json_get_str(v, "message");

		code = th_fail(err, TH_EPROTO, "%.*s", TH_FMT(th_str_sub(message, 0, 300)));
	}
	return code;
}

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *frame)
{
	struct th_egress_link *x = (struct th_egress_link *)ctx;
	struct th_err err;

	(void)s;
	if (on_message(x, frame->json, &err)) {
		say(x, err.msg);
		th_loop_defer(x->loop, &x->lost);
	}
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_egress_link *x = (struct th_egress_link *)ctx;

	(void)s;
	(void)err;
	th_loop_defer(x->loop, &x->lost);
}

static enum th_code greet(struct th_egress_link *x, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	const struct th_str none = { NULL, 0 };
	const struct th_sock_handlers handlers = { .on_frame = on_frame,
						   .on_close = on_close,
						   .ctx = x };
	char socket[TH_PATH_LEN_MAX], token[TH_EGRESS_TOKEN_LEN + 1];
	enum th_code code = th_egress_find(socket, token, err);

	if (code == TH_OK)
		code = th_sock_connect(x->loop, socket, &handlers, &x->sock, err);
	if (code)
		return code;
	struct th_egress_begin m = { .op = TH_STR("begin"),
				     .token = th_str_of(token),
				     .session = x->session,
				     .net = x->net,
				     .ask = x->asks,
				     .ask_listed = x->asks_listed,
				     .secrets = x->secrets ? th_secret_expose(x->secrets) : none,
				     .authority =
					 x->authority ? th_secret_expose(x->authority) : none };
	if (x->secrets)
		th_buf_reserve(&head, TH_FRAME_JSON_MAX / 2); /* so that no copy is left behind */
	th_egress_print(&th_egress_begin_table, &m, &head);
	code = th_sock_send_fd(x->sock, th_buf_str(&head), x->listen_fd, err);
	if (x->secrets)
		explicit_bzero(head.ptr, head.len);
	if (code) {
		x->sock = th_sock_free(x->sock);
		return code;
	}
	x->state = STATE_GREETING;
	th_timer_start(&x->timer, TH_EGRESS_START_MS, 0);
	return TH_OK;
}

/* Its end of the pipe is closed: it listens, or found that another one does, or has died. */
static void on_ready(void *ctx, unsigned events)
{
	struct th_egress_link *x = (struct th_egress_link *)ctx;
	struct th_err err;

	(void)events;
	x->ready_poll = th_poll_free(x->ready_poll);
	th_fd_close(&x->ready_fd);
	if (greet(x, &err)) {
		say(x, err.msg);
		go_down(x);
	}
}

static enum th_code spawn(struct th_egress_link *x, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_fd_close) int theirs = -1;
	const char *const argv[] = { "thole", "exec", "--role", "egress", "--fd", "3", NULL };
	size_t count = 0;
	int fds[2];

	th_arena_init(&a, TH_MIB);
	while (environ[count])
		count++;
	const char **env = (const char **)th_arena_array(&a, count + 2, sizeof(*env));
	if (!env)
		return th_fail(err, TH_ELIMIT, "the environment is too large");
	/* An executor's is clean already. */
	if (count)
		memcpy(env, environ, count * sizeof(*env));
	env[count] = TH_ROLE_ENTRY(TH_ROLE_EGRESS);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	x->ready_fd = fds[0];
	theirs = fds[1];
	const struct th_child_fd map[] = { { theirs, 3 } };
	enum th_code code = th_poll_new(x->loop, x->ready_fd, on_ready, x, &x->ready_poll, err);
	if (code == TH_OK)
		code = th_detach(x->program, argv, env, map, 1, NULL, err);
	if (code)
		return th_prefix(err, code, "start it");
	th_poll_set(x->ready_poll, TH_POLL_READ);
	x->state = STATE_STARTING;
	th_timer_start(&x->timer, TH_EGRESS_START_MS, 0);
	return TH_OK;
}

/* One that runs, else a new one. */
static void connect_to(struct th_egress_link *x)
{
	struct th_err err;

	x->tried_ms = th_loop_now_ms(x->loop) ?: 1;
	th_poll_set(x->listen_poll, 0);
	if (greet(x, &err) == TH_OK || spawn(x, &err) == TH_OK)
		return;
	say(x, err.msg);
	go_down(x);
}

static void on_timer(void *ctx)
{
	struct th_egress_link *x = (struct th_egress_link *)ctx;

	say(x, x->state == STATE_UP ? "it does not answer" : "it does not start");
	go_down(x);
}

/* A program connects, and nobody is there. */
static void on_connect(void *ctx, unsigned events)
{
	struct th_egress_link *x = (struct th_egress_link *)ctx;
	int fd;

	(void)events;
	if (x->state != STATE_DOWN)
		return;
	if (x->tried_ms == 0 || th_loop_now_ms(x->loop) - x->tried_ms >= TH_EGRESS_RETRY_MS) {
		connect_to(x);
		return;
	}
	fd = accept4(x->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

/* ---- life ---- */

enum th_code th_egress_link_new(struct th_loop *l, const struct th_egress_options *o,
				struct th_egress_link **ret, struct th_err *err)
{
	struct th_egress_link *x = (struct th_egress_link *)th_alloc(sizeof(*x));

	x->loop = l;
	x->listen_fd = o->listen_fd;
	x->on_ask = o->on_ask;
	x->on_withdrawn = o->on_withdrawn;
	x->asks = o->asks;
	x->asks_listed = o->asks_listed;
	x->ask_ctx = o->ask_ctx;
	x->secrets = o->secrets;
	x->authority = o->authority;
	x->ready_fd = -1;
	x->lost = (struct th_deferred){ .fn = on_lost, .ctx = x };
	th_timer_init(&x->timer, l, on_timer, x);
	th_arena_init(&x->arena, 2 * TH_MIB);
	x->program = th_arena_cstr(&x->arena, th_str_of(o->program));
	x->session = th_arena_str(&x->arena, o->session);
	x->net = th_arena_str(&x->arena, o->net);
	enum th_code code = TH_OK;
	if (!x->program || !x->session.ptr || !x->net.ptr)
		code = th_fail(err, TH_ELIMIT, "the options of the egress are too large");
	if (code == TH_OK)
		code = th_poll_new(l, x->listen_fd, on_connect, x, &x->listen_poll, err);
	if (code) {
		th_egress_link_free(x);
		return code;
	}
	th_poll_set(x->listen_poll, TH_POLL_READ);
	*ret = x;
	return TH_OK;
}

struct th_egress_link *th_egress_link_free(struct th_egress_link *x)
{
	if (!x)
		return NULL;
	x->waits = NULL;
	x->listen_poll = th_poll_free(x->listen_poll);
	go_down(x);
	free(x->rows);
	th_arena_deinit(&x->arena);
	free(x);
	return NULL;
}
