/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_client.c - one connection to an executor, made when it is needed
 * and made again when it breaks, and the calls that wait for it.
 *
 * Everything that calls back happens in `pass` or in a callback of a socket,
 * between enter and leave: what is freed in between goes at leave.
 */
#include "run/executor_client.h"

#include <stdlib.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/sock.h"
#include "run/executor.h"
#include "run/executor_start.h"
#include "wire/exec.h"

#define ATTEMPTS_MAX 8 /* executors that ended before they were greeted */
#define TRIES_MAX 4    /* connections that broke under one call */
#define FORGET_MAX \
	1024 /* ids that wait for a connection; more are left to the executor's own limit */
#define BLOBS_MAX 16

static const char unknown_text[] =
    "This action was started, but its result was not recorded. It may or may not have happened. It "
    "was not "
    "repeated. Look first (screenshot, read file, list) before doing it again.";

enum state {
	STATE_IDLE,
	STATE_STARTING,
	STATE_GREETING,
	STATE_OPEN,
	STATE_ENDING,   /* told to end; its end is awaited */
	STATE_REMOVING, /* nobody to tell; what was left is removed */
};

/* In a worker; outlives the client if need be. */
struct removal {
	struct th_executor *x; /* NULL: freed */
	char *state_dir;
	enum th_code code;
	struct th_err err;
};

struct call {
	uint32_t generation; /* odd: in use */
	uint32_t next_free;
	struct th_arena arena;
	struct th_executor_call what;
	struct th_executor_handlers on;
	int64_t id;      /* on this connection; 0: not sent on it */
	uint64_t offset; /* of the output that comes next */
	unsigned tries;  /* connections it was sent on */
	bool attach, held, cancelled, broken;
	char journal[64]; /* that it was sent to */
};

struct waiter {
	struct waiter *next;
	th_executor_ready_fn *fn;
	void *ctx;
	bool screen;
	int64_t id; /* of its open; 0: not sent */
};

struct th_executor {
	struct th_loop *loop;
	struct th_arena arena;
	struct th_executor_options o;
	struct th_buf state_dir, socket;
	enum state state;
	struct th_sock *starter, *sock;
	unsigned attempts; /* to reach one, of which each ended meanwhile */
	struct th_timer watch;
	struct th_deferred pass;
	struct th_arena info_arena;
	struct th_executor_info info;
	char journal[64];
	struct call **calls;
	uint32_t call_room, call_free; /* 0: none; else index + 1 */
	size_t call_count;
	struct waiter *waiters;
	struct th_arena forget_arena;
	struct th_str forget[FORGET_MAX];
	size_t forget_count;
	int64_t next_id;
	bool end;
	struct removal *removal;
	void (*end_done)(void *ctx, const struct th_err *err);
	void *end_ctx;
	unsigned depth;
	bool freed;
};

static void on_pass(void *ctx);
static void lost(struct th_executor *x, const struct th_err *why);
static void fail_all(struct th_executor *x, const struct th_err *why);

/* ---- life ---- */

static void destroy(struct th_executor *x)
{
	th_loop_undefer(x->loop, &x->pass);
	th_timer_stop(&x->watch);
	if (x->removal)
		x->removal->x = NULL;
	th_sock_free(x->starter);
	th_sock_free(x->sock);
	for (uint32_t i = 0; i < x->call_room; i++) {
		th_arena_deinit(&x->calls[i]->arena);
		free(x->calls[i]);
	}
	free(x->calls);
	while (x->waiters) {
		struct waiter *w = x->waiters;
		x->waiters = w->next;
		free(w);
	}
	th_buf_deinit(&x->state_dir);
	th_buf_deinit(&x->socket);
	th_arena_deinit(&x->forget_arena);
	th_arena_deinit(&x->info_arena);
	th_arena_deinit(&x->arena);
	free(x);
}

static void enter(struct th_executor *x)
{
	x->depth++;
}

static void leave(struct th_executor *x)
{
	if (--x->depth == 0 && x->freed)
		destroy(x);
}

static void pass_soon(struct th_executor *x)
{
	th_loop_defer(x->loop, &x->pass);
}

/* ---- calls ---- */

static struct call *call_new(struct th_executor *x, struct th_executor_id *ret)
{
	if (x->call_free == 0) {
		uint32_t room = x->call_room + 16;
		x->calls = (struct call **)th_realloc(x->calls, room * sizeof(struct call *));
		for (uint32_t i = room; i > x->call_room; i--) {
			x->calls[i - 1] = (struct call *)th_alloc(sizeof(struct call));
			th_arena_init(&x->calls[i - 1]->arena, 2 * TH_FRAME_JSON_MAX);
			x->calls[i - 1]->next_free = x->call_free;
			x->call_free = i;
		}
		x->call_room = room;
	}
	uint32_t index = x->call_free - 1;
	struct call *c = x->calls[index];
	x->call_free = c->next_free;
	c->generation++;
	x->call_count++;
	*ret = (struct th_executor_id){ index + 1, c->generation };
	return c;
}

static void call_free(struct th_executor *x, struct call *c)
{
	uint32_t index = 0;
	while (x->calls[index] != c)
		index++;
	th_arena_deinit(&c->arena);
	th_arena_init(&c->arena, 2 * TH_FRAME_JSON_MAX);
	c->generation++;
	c->id = 0;
	c->next_free = x->call_free;
	x->call_free = index + 1;
	x->call_count--;
}

static bool in_use(const struct call *c)
{
	return c->generation & 1;
}

static struct call *call_find(struct th_executor *x, int64_t id)
{
	for (uint32_t i = 0; id != 0 && i < x->call_room; i++)
		if (in_use(x->calls[i]) && x->calls[i]->id == id)
			return x->calls[i];
	return NULL;
}

static void call_finish(struct th_executor *x, struct call *c,
			const struct th_executor_result *result)
{
	struct th_executor_handlers on = c->on;
	call_free(x, c);
	on.on_finished(on.ctx, result);
}

static void call_finish_text(struct th_executor *x, struct call *c, enum th_outcome_status status,
			     const char *text, enum th_code code)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_str(&w, th_str_of(text));
	struct th_executor_result result = { .status = status,
					     .output = th_buf_str(&out),
					     .code = code };
	call_finish(x, c, &result);
	th_buf_deinit(&out);
}

/* Nothing more can be learned of it. */
static void call_give_up(struct th_executor *x, struct call *c, const struct th_err *why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_ERR_MSG_MAX);
	bool read = c->what.class == TH_CLASS_R;

	if (c->tries == 0 && !c->attach) {
		th_buf_printf(&text, "error: not started: %s", why->msg);
		call_finish_text(x, c, TH_OUTCOME_NOT_STARTED, text.ptr, why->code);
	} else if (read) {
		th_buf_printf(&text, "error: %s", why->msg);
		call_finish_text(x, c, TH_OUTCOME_FAILED, text.ptr, why->code);
	} else {
		th_buf_printf(&text, "%s (%s)", unknown_text, why->msg);
		call_finish_text(x, c, TH_OUTCOME_UNKNOWN, text.ptr, why->code);
	}
	th_buf_deinit(&text);
}

/* ---- sending ---- */

static bool send(struct th_executor *x, const struct th_table *t, const void *m)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	th_exec_print(t, m, &head);
	if (th_buf_check(&head, "a message", NULL))
		return false;
	enum th_code code = th_sock_send(x->sock, th_buf_str(&head), TH_STR(""), NULL);
	return code != TH_ELIMIT;
}

static void send_call(struct th_executor *x, struct call *c)
{
	bool read = c->what.class == TH_CLASS_R;
	bool join = c->attach && !read;
	struct th_exec_run m = {
		.op = join ? TH_STR("attach") : TH_STR("run"),
		.id = ++x->next_id,
		.effect_id = c->what.effect_id,
		.epoch = c->what.epoch ? c->what.epoch : x->o.epoch,
		.class = th_str_of(th_class_name(c->what.class)),
		.tool = c->what.tool,
		.arguments = c->what.arguments,
		.digest = c->what.digest,
		.timeout_ms = c->what.timeout_ms,
		.watch = c->on.on_output != NULL,
		.offset = (int64_t)c->offset,
		.again = !join && !read && c->tries > 0,
		.journal = c->what.journal,
		.begin = join && c->what.begin,
	};
	struct th_err err;

	/* Without an INTENT: the first one that it was sent to.  Only where we sent it ourselves:
	 * an attach may have met a second journal, and its silence proves nothing. */
	if (m.journal.len == 0 && m.again)
		m.journal = th_str_of(c->journal);
	if (!send(x, &th_exec_run_table, &m)) {
		th_fail(&err, TH_ELIMIT,
			"the arguments are too large for the executor, or too much waits for it");
		call_give_up(x, c, &err);
		return;
	}
	c->id = m.id;
	if (c->tries++ == 0)
		memcpy(c->journal, x->journal, sizeof(c->journal));
	if (c->cancelled) {
		struct th_exec_request cancel = { .op = TH_STR("cancel"), .id = c->id };
		send(x, &th_exec_request_table, &cancel);
	}
}

static void send_forget(struct th_executor *x)
{
	struct th_exec_forget m = { .op = TH_STR("forget"),
				    .effect_ids = { x->forget, x->forget_count } };
	if (x->forget_count > 0 && send(x, &th_exec_forget_table, &m)) {
		x->forget_count = 0;
		th_arena_reset(&x->forget_arena);
	}
}

static void send_hello(struct th_executor *x)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf computer = TH_BUF_INIT(TH_MIB);
	struct th_exec_hello m = {
		.op = TH_STR("hello"),
		.session = x->o.session,
		.epoch = x->o.epoch,
		.build = TH_STR(TH_VERSION),
		.workspace = x->o.workspace,
	};
	struct th_buf token = TH_BUF_INIT(256);
	th_executor_token(x->state_dir.ptr, &token);
	th_executor_computer(&x->o, &computer);
	m.token = th_buf_str(&token);
	m.computer = th_buf_str(&computer);
	send(x, &th_exec_hello_table, &m);
	th_buf_deinit(&token);
}

/* ---- what the executor says ---- */

static void waiters_call(struct th_executor *x, bool screen, int64_t id, const struct th_err *err)
{
	for (struct waiter **at = &x->waiters; *at && !x->freed;) {
		struct waiter *w = *at;
		bool meant =
		    err ? id == 0 || w->id == id : (!w->screen && id == 0) || (w->screen && screen);
		if (!meant) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		struct waiter copy = *w;
		free(w);
		copy.fn(copy.ctx, err ? NULL : &x->info, err);
		at = &x->waiters; /* the callback may have added or taken some */
	}
}

static void on_welcome(struct th_executor *x, const struct th_exec_welcome *m)
{
	struct th_arena *a = &x->info_arena;

	th_arena_reset(a);
	x->info = (struct th_executor_info){
		.pid = m->pid,
		.epoch = m->epoch,
		.journal = th_arena_str(a, m->journal),
		.build = th_arena_str(a, m->build),
		.workspace = th_arena_str(a, m->workspace),
		.computer = th_arena_str(a, m->computer),
		.screen = { (int32_t)m->width, (int32_t)m->height },
		.caps = (unsigned)m->caps,
		.sandbox = th_arena_str(a, m->sandbox),
	};
	memset(x->journal, 0, sizeof(x->journal));
	memcpy(x->journal, m->journal.ptr, TH_MIN(m->journal.len, sizeof(x->journal) - 1));
	if (x->state == STATE_GREETING) {
		x->state = STATE_OPEN;
		x->attempts = 0;
		th_timer_stop(&x->watch);
	}
	waiters_call(x, m->width > 0, m->id, NULL);
	pass_soon(x);
}

static enum th_code take_blobs(const struct th_exec_finished *m, struct th_str bytes,
			       struct th_arena *a, struct th_executor_blob *blobs,
			       size_t *ret_count, struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(m->blobs);

	*ret_count = 0;
	while (m->blobs.len > 0 && th_json_raw_next(&it)) {
		TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
		struct th_exec_blob b;
		if (*ret_count == BLOBS_MAX)
			return th_fail(err, TH_ELIMIT, "more than %d blobs in one answer",
				       BLOBS_MAX);
		enum th_code code = th_json_parse(it.val, &doc, err);
		if (code == TH_OK)
			code = th_table_parse(&th_exec_blob_table, th_json_root(doc), a, &b, err);
		if (code)
			return code;
		struct th_executor_blob *to = &blobs[(*ret_count)++];
		if ((uint64_t)b.size > bytes.len || !th_digest_parse(b.blob, &to->hash))
			return th_fail(err, TH_EPROTO, "a blob without its bytes");
		to->media_type = th_arena_str(a, b.media_type);
		to->bytes = th_str_sub(bytes, 0, (size_t)b.size);
		bytes = th_str_sub(bytes, (size_t)b.size, bytes.len);
	}
	return TH_OK;
}

static int outcome_find(struct th_str name)
{
	for (int i = 0; i < TH_OUTCOME_COUNT; i++)
		if (th_str_is(name, th_outcome_name((enum th_outcome_status)i)))
			return i;
	return -1;
}

static enum th_code on_finished(struct th_executor *x, const struct th_exec_finished *m,
				struct th_str bytes, struct th_arena *a, struct th_err *err)
{
	struct th_executor_blob blobs[BLOBS_MAX];
	struct call *c = call_find(x, m->id);
	int status = outcome_find(m->status);
	size_t count;

	if (!c)
		return TH_OK; /* of one that was given up */
	enum th_code code = take_blobs(m, bytes, a, blobs, &count, err);
	if (code == TH_OK && status < 0)
		code = th_fail(err, TH_EPROTO, "an outcome that is none");
	if (code)
		return code;
	struct th_executor_result result = {
		.status = (enum th_outcome_status)status,
		.output = m->output,
		.evidence = m->evidence,
		.blobs = blobs,
		.blob_count = count,
		.elapsed_ms = m->elapsed_ms,
		.reattached = m->journal || c->attach || c->broken,
	};
	call_finish(x, c, &result);
	return TH_OK;
}

static void on_output(struct th_executor *x, const struct th_exec_output *m, struct th_str bytes)
{
	struct call *c = call_find(x, m->id);
	uint64_t at = (uint64_t)m->offset;

	if (!c || m->offset < 0)
		return;
	if (at < c->offset) { /* seen before the connection broke */
		uint64_t seen = TH_MIN(c->offset - at, (uint64_t)bytes.len);
		bytes = th_str_sub(bytes, (size_t)seen, bytes.len);
		at += seen;
	}
	if (bytes.len == 0)
		return;
	c->offset = at + bytes.len;
	if (c->on.on_output)
		c->on.on_output(c->on.ctx, at, bytes);
}

/* A request was not done. */
static void on_error(struct th_executor *x, int64_t id, const struct th_err *e)
{
	struct call *c = call_find(x, id);
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

	if (id == 0) {
		lost(x, e);
	} else if (!c) {
		waiters_call(x, false, id, e);
	} else if (e->code == TH_ECONN) {
		/* It is about to end: again with the next one. */
		c->id = 0;
		c->held = true;
		c->tries--;
	} else if (e->code == TH_EEXIST && !c->attach) {
		c->attach = true;
		c->id = 0;
		pass_soon(x);
	} else if (c->attach || c->broken) {
		call_give_up(x, c, e);
	} else {
		th_buf_printf(&text, "error: %s", e->msg);
		call_finish_text(x, c, TH_OUTCOME_NOT_STARTED, text.ptr, e->code);
	}
	th_buf_deinit(&text);
}

static enum th_code on_message(struct th_executor *x, const struct th_frame *frame,
			       struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	enum th_exec_op op;
	union {
		struct th_exec_welcome welcome;
		struct th_exec_request accepted;
		struct th_exec_output output;
		struct th_exec_finished finished;
		struct th_exec_error error;
	} m;
	struct th_err e = {};

	th_arena_init(&arena, 2 * TH_FRAME_JSON_MAX);
	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	switch ((int)op) {
	case TH_EXEC_OP_WELCOME:
		code = th_table_parse(&th_exec_welcome_table, v, &arena, &m.welcome, err);
		if (code == TH_OK)
			on_welcome(x, &m.welcome);
		return code;
	case TH_EXEC_OP_ACCEPTED: {
		code = th_table_parse(&th_exec_request_table, v, &arena, &m.accepted, err);
		struct call *c = code == TH_OK ? call_find(x, m.accepted.id) : NULL;
		if (c && c->on.on_accepted)
			c->on.on_accepted(c->on.ctx);
		return code;
	}
	case TH_EXEC_OP_OUTPUT:
		code = th_table_parse(&th_exec_output_table, v, &arena, &m.output, err);
		if (code == TH_OK)
			on_output(x, &m.output, frame->attachment);
		return code;
	case TH_EXEC_OP_FINISHED:
		code = th_table_parse(&th_exec_finished_table, v, &arena, &m.finished, err);
		return code ? code : on_finished(x, &m.finished, frame->attachment, &arena, err);
	case TH_EXEC_OP_ERROR:
		code = th_table_parse(&th_exec_error_table, v, &arena, &m.error, err);
		if (code == TH_OK && th_exec_error(&m.error, &e))
			on_error(x, m.error.id, &e);
		return code;
	default:
		return th_fail(err, TH_EPROTO, "'%s' is no answer of an executor",
			       th_exec_op_name(op));
	}
}

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *frame, int fd)
{
	struct th_executor *x = (struct th_executor *)ctx;
	struct th_err err;

	(void)s;
	th_fd_close(&fd);
	if (x->freed || !x->sock)
		return;
	enter(x);
	if (on_message(x, frame, &err) && !x->freed)
		lost(x, &err);
	leave(x);
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_executor *x = (struct th_executor *)ctx;
	struct th_err why = *err;

	(void)s;
	if (x->freed)
		return;
	if (why.code == TH_OK)
		th_fail(&why, TH_ECONN, "the executor ended");
	enter(x);
	lost(x, &why);
	leave(x);
}

/* ---- connecting ---- */

static void disconnect(struct th_executor *x)
{
	x->sock = th_sock_free(x->sock);
	x->starter = th_sock_free(x->starter);
	th_timer_stop(&x->watch);
	x->state = STATE_IDLE;
	for (struct waiter *w = x->waiters; w; w = w->next)
		w->id = 0;
	for (uint32_t i = 0; i < x->call_room; i++) {
		struct call *c = x->calls[i];
		c->held = false;
		if (in_use(c) && c->id != 0) {
			c->id = 0;
			c->broken = true;
		}
	}
}

static void end_finish(struct th_executor *x, const struct th_err *err)
{
	void (*done)(void *, const struct th_err *) = x->end_done;
	x->end = false;
	x->end_done = NULL;
	if (done)
		done(x->end_ctx, err);
}

/* All that waits is told why it waits in vain. */
static void fail_all(struct th_executor *x, const struct th_err *why)
{
	x->attempts = 0;
	waiters_call(x, false, 0, why);
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++)
		if (in_use(x->calls[i]))
			call_give_up(x, x->calls[i], why);
}

/* The connection, or the attempt to make one, is over. */
static void lost(struct th_executor *x, const struct th_err *why)
{
	enum state was = x->state;
	struct th_err err = *why; /* may be the socket's own */

	disconnect(x);
	if (was == STATE_ENDING) {
		fail_all(x, &err);
		if (!x->freed)
			end_finish(x, NULL);
		return;
	}
	/* An executor that ended just then is no reason to fail; one that always does is. */
	bool gone = was == STATE_GREETING && (err.code == TH_ECONN || err.code == TH_ENOENT);
	if (gone && ++x->attempts < ATTEMPTS_MAX) {
		pass_soon(x);
		return;
	}
	if (was != STATE_OPEN) {
		fail_all(x, &err);
		if (!x->freed && x->end)
			end_finish(x, &err);
		return;
	}
	for (uint32_t i = 0; i < x->call_room && !x->freed; i++)
		if (in_use(x->calls[i]) && x->calls[i]->tries >= TRIES_MAX)
			call_give_up(x, x->calls[i], &err);
	if (!x->freed)
		pass_soon(x);
}

static const struct th_sock_handlers handlers = { .on_frame = on_frame, .on_close = on_close };

/* TH_ENOENT, TH_ECONN: nobody listens. */
static enum th_code connect_to(struct th_executor *x, const char *path, struct th_err *err)
{
	struct th_sock_handlers h = handlers;
	h.ctx = x;
	enum th_code code = th_sock_connect(x->loop, path, &h, &x->sock, err);
	if (code)
		return code;
	x->state = STATE_GREETING;
	th_timer_start(&x->watch, TH_EXEC_START_MS, 0);
	send_hello(x);
	return TH_OK;
}

/* What the process that was started says: where to connect, or why not. */
static enum th_code on_start_message(struct th_executor *x, const struct th_frame *frame,
				     struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	struct th_exec_ready ready;
	struct th_exec_error error;
	enum th_exec_op op;

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
	x->state = STATE_GREETING; /* should it have gone again, that counts as this */
	return connect_to(x, path, err);
}

static void on_start_frame(void *ctx, struct th_sock *s, const struct th_frame *frame, int fd)
{
	struct th_executor *x = (struct th_executor *)ctx;
	struct th_err err = {};

	(void)s;
	th_fd_close(&fd);
	if (x->freed || !x->starter)
		return;
	enter(x);
	if (on_start_message(x, frame, &err))
		lost(x, &err);
	leave(x);
}

static void on_start_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_executor *x = (struct th_executor *)ctx;
	struct th_err why;

	(void)s;
	(void)err;
	if (x->freed)
		return;
	th_fail(&why, TH_ECONN, "the executor ended before it was ready; see %s/log",
		x->state_dir.ptr);
	enter(x);
	lost(x, &why);
	leave(x);
}

static enum th_code start(struct th_executor *x, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf message = TH_BUF_INIT(2 * TH_MIB);
	const struct th_sock_handlers h = { .on_frame = on_start_frame,
					    .on_close = on_start_close,
					    .ctx = x };
	int fd;

	th_executor_start_message(&x->o, x->state_dir.ptr, x->socket.ptr, &message);
	enum th_code code = th_buf_check(&message, "the options of the executor", err);
	if (code == TH_OK)
		code = th_executor_spawn(x->o.program, x->o.session, &fd, err);
	if (code == TH_OK)
		code = th_sock_new(x->loop, fd, &h, &x->starter, err);
	if (code == TH_OK)
		code = th_sock_send(x->starter, th_buf_str(&message), TH_STR(""), err);
	if (code)
		return code;
	x->state = STATE_STARTING;
	th_timer_start(&x->watch, TH_EXEC_START_MS, 0);
	return TH_OK;
}

static void on_watch(void *ctx)
{
	struct th_executor *x = (struct th_executor *)ctx;
	struct th_err err;

	th_fail(&err, TH_ETIMEOUT,
		x->state == STATE_ENDING ? "the executor does not end"
					 : "the executor does not answer");
	enter(x);
	if (x->state == STATE_ENDING) {
		disconnect(x);
		fail_all(x, &err);
		if (!x->freed)
			end_finish(x, &err);
	} else {
		lost(x, &err);
	}
	leave(x);
}

/* ---- doing what waits ---- */

static bool anything_waits(const struct th_executor *x)
{
	return x->call_count > 0 || x->waiters || x->end;
}

static void remove_work(void *ctx)
{
	struct removal *r = (struct removal *)ctx;
	r->code = th_executor_remove(r->state_dir, &r->err);
}

static void remove_done(void *ctx)
{
	struct removal *r = (struct removal *)ctx;
	struct th_executor *x = r->x;

	if (x) {
		enter(x);
		x->removal = NULL;
		x->state = STATE_IDLE;
		/* Somebody started one meanwhile: that one is told. */
		if (r->code == TH_EBUSY)
			pass_soon(x);
		else
			end_finish(x, r->code ? &r->err : NULL);
		if (!x->freed)
			pass_soon(x);
		leave(x);
	}
	free(r->state_dir);
	free(r);
}

/* Nobody to tell that it is over; but what the last one left goes. */
static void remove_start(struct th_executor *x)
{
	struct removal *r = (struct removal *)th_alloc(sizeof(*r));

	r->x = x;
	r->state_dir = (char *)th_alloc(x->state_dir.len + 1);
	memcpy(r->state_dir, x->state_dir.ptr, x->state_dir.len);
	x->removal = r;
	x->state = STATE_REMOVING;
	th_work(x->loop, remove_work, remove_done, r);
}

static void connect(struct th_executor *x)
{
	struct th_err err = {};
	enum th_code code = connect_to(x, x->socket.ptr, &err);

	if (code != TH_ENOENT && code != TH_ECONN) {
		if (code)
			lost(x, &err);
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
		lost(x, &err);
}

static void send_waiting(struct th_executor *x)
{
	send_forget(x);
	for (uint32_t i = 0; i < x->call_room && !x->freed && x->state == STATE_OPEN; i++) {
		struct call *c = x->calls[i];
		if (in_use(c) && c->id == 0 && !c->held)
			send_call(x, c);
	}
	if (x->freed || x->state != STATE_OPEN)
		return;
	for (struct waiter *w = x->waiters; w; w = w->next)
		if (w->screen && w->id == 0) {
			struct th_exec_request m = { .op = TH_STR("open"), .id = ++x->next_id };
			/* One open serves all. */
			for (struct waiter *other = x->waiters; other; other = other->next)
				if (other->screen && other->id == 0)
					other->id = m.id;
			send(x, &th_exec_request_table, &m);
		}
	waiters_call(x, false, 0, NULL);
	if (x->freed || x->state != STATE_OPEN)
		return;
	if (x->end) {
		struct th_exec_request m = { .op = TH_STR("end"), .id = ++x->next_id };
		x->state = STATE_ENDING;
		th_timer_start(&x->watch, TH_EXEC_STOP_MS + TH_EXEC_START_MS, 0);
		send(x, &th_exec_request_table, &m);
	}
}

static void on_pass(void *ctx)
{
	struct th_executor *x = (struct th_executor *)ctx;

	if (x->freed)
		return;
	enter(x);
	if (x->state == STATE_IDLE && anything_waits(x))
		connect(x);
	else if (x->state == STATE_OPEN)
		send_waiting(x);
	leave(x);
}

/* ---- interface ---- */

static const struct th_str *copy_list(struct th_arena *a, const struct th_str *list, size_t count)
{
	struct th_str *out = (struct th_str *)th_arena_array(a, count + 1, sizeof(*out));
	for (size_t i = 0; out && i < count; i++)
		out[i] = th_arena_str(a, list[i]);
	return out;
}

enum th_code th_executor_new(struct th_loop *l, const struct th_executor_options *o,
			     struct th_executor **ret, struct th_err *err)
{
	if (o->session.len == 0 || o->session.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_EUSAGE, "a session's id has 1 to %d bytes",
			       TH_SESSION_ID_MAX);
	if (o->workspace.len > 0 && o->workspace.ptr[0] != '/')
		return th_fail(err, TH_EUSAGE, "the workspace %.*s is not an absolute path",
			       TH_FMT(o->workspace));
	if (o->epoch < 0 || o->command_ms_max < 0 || o->linger_ms < 0)
		return th_fail(err, TH_EUSAGE, "a number below 0 in the executor's options");
	struct th_executor *x = (struct th_executor *)th_alloc(sizeof(*x));
	x->loop = l;
	th_arena_init(&x->arena, 2 * TH_MIB);
	th_arena_init(&x->info_arena, 256 * TH_KIB);
	th_arena_init(&x->forget_arena, TH_MIB);
	th_buf_init(&x->state_dir, TH_PATH_LEN_MAX);
	th_buf_init(&x->socket, TH_PATH_LEN_MAX);
	x->pass = (struct th_deferred){ .fn = on_pass, .ctx = x };
	th_timer_init(&x->watch, l, on_watch, x);
	x->o = *o;
	struct th_str *strs[] = { &x->o.session, &x->o.scope,      &x->o.workspace, &x->o.computer,
				  &x->o.display, &x->o.xauthority, &x->o.parser,    &x->o.ocr };
	for (size_t i = 0; i < TH_COUNT(strs); i++)
		*strs[i] = th_arena_str(&x->arena, *strs[i]);
	x->o.start = copy_list(&x->arena, o->start, o->start_count);
	x->o.environment = copy_list(&x->arena, o->environment, o->environment_count);
	if (o->program)
		x->o.program = th_arena_cstr(&x->arena, th_str_of(o->program));
	enum th_code code =
	    th_executor_paths(x->o.scope, x->o.session, &x->state_dir, &x->socket, err);
	if (code == TH_OK && (!x->o.start || !x->o.environment))
		code = th_fail(err, TH_ELIMIT, "the executor's options are too large");
	if (code) {
		destroy(x);
		return code;
	}
	*ret = x;
	return TH_OK;
}

struct th_executor *th_executor_free(struct th_executor *x)
{
	if (!x)
		return NULL;
	if (x->depth == 0) {
		destroy(x);
		return NULL;
	}
	x->freed = true;
	th_loop_undefer(x->loop, &x->pass);
	th_timer_stop(&x->watch);
	return NULL;
}

void th_executor_freep(struct th_executor **x)
{
	*x = th_executor_free(*x);
}

void th_executor_ready(struct th_executor *x, bool screen, th_executor_ready_fn *on_ready,
		       void *ctx)
{
	struct waiter *w = (struct waiter *)th_alloc(sizeof(*w)), **at = &x->waiters;
	*w = (struct waiter){ .fn = on_ready, .ctx = ctx, .screen = screen };
	while (*at)
		at = &(*at)->next;
	*at = w;
	pass_soon(x);
}

static struct th_executor_id add(struct th_executor *x, const struct th_executor_call *call,
				 bool attach, uint64_t offset, const struct th_executor_handlers *h)
{
	struct th_executor_id id;
	struct call *c = call_new(x, &id);

	assert(call->class != TH_CLASS_L && h->on_finished);
	c->what = *call;
	struct th_str *strs[] = { &c->what.effect_id, &c->what.tool, &c->what.arguments,
				  &c->what.digest, &c->what.journal };
	for (size_t i = 0; i < TH_COUNT(strs); i++)
		*strs[i] = th_arena_str(&c->arena, *strs[i]);
	c->on = *h;
	c->attach = attach;
	c->offset = offset;
	c->tries = 0;
	c->held = c->cancelled = c->broken = false;
	pass_soon(x);
	return id;
}

struct th_executor_id th_executor_run(struct th_executor *x, const struct th_executor_call *call,
				      const struct th_executor_handlers *h)
{
	return add(x, call, false, 0, h);
}

struct th_executor_id th_executor_attach(struct th_executor *x, const struct th_executor_call *call,
					 uint64_t offset, const struct th_executor_handlers *h)
{
	return add(x, call, true, offset, h);
}

void th_executor_cancel(struct th_executor *x, struct th_executor_id id)
{
	if (id.index == 0 || id.index > x->call_room)
		return;
	struct call *c = x->calls[id.index - 1];
	if (c->generation != id.generation || c->cancelled)
		return;
	c->cancelled = true;
	if (c->id != 0 && x->state == STATE_OPEN) {
		struct th_exec_request m = { .op = TH_STR("cancel"), .id = c->id };
		send(x, &th_exec_request_table, &m);
	}
}

void th_executor_forget(struct th_executor *x, const struct th_str *effect_ids, size_t count)
{
	for (size_t i = 0; i < count && x->forget_count < FORGET_MAX; i++) {
		struct th_str id = th_arena_str(&x->forget_arena, effect_ids[i]);
		if (id.ptr)
			x->forget[x->forget_count++] = id;
	}
	pass_soon(x);
}

void th_executor_end(struct th_executor *x, void (*done)(void *ctx, const struct th_err *err),
		     void *ctx)
{
	x->end = true;
	x->end_done = done;
	x->end_ctx = ctx;
	pass_soon(x);
}

struct th_str th_executor_journal(const struct th_executor *x)
{
	return th_str_of(x->journal);
}

size_t th_executor_count(const struct th_executor *x)
{
	return x->call_count;
}
