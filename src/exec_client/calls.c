/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the calls of a client and what becomes of each: sent, heard
 * of, given up.  Knows nothing of how the connection came to be.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "core/unknown.h"
#include "exec_client/internal.h"
#include "exec_client/start.h"

#define BLOBS_MAX 16

/* ---- calls ---- */

struct th_link_call *th_link_call_new(struct th_executor_client *x, struct th_executor_id *ret)
{
	if (x->call_free == 0) {
		uint32_t room = x->call_room + 16;
		x->calls = (struct th_link_call **)th_realloc(x->calls,
							      room * sizeof(struct th_link_call *));
		for (uint32_t i = room; i > x->call_room; i--) {
			x->calls[i - 1] =
			    (struct th_link_call *)th_alloc(sizeof(struct th_link_call));
			th_arena_init(&x->calls[i - 1]->arena, 2 * TH_FRAME_JSON_MAX);
			x->calls[i - 1]->next_free = x->call_free;
			x->call_free = i;
		}
		x->call_room = room;
	}
	uint32_t index = x->call_free - 1;
	struct th_link_call *c = x->calls[index];
	x->call_free = c->next_free;
	c->generation++;
	x->call_count++;
	*ret = (struct th_executor_id){ index + 1, c->generation };
	return c;
}

static void call_free(struct th_executor_client *x, struct th_link_call *c)
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

bool th_link_call_is(const struct th_link_call *c)
{
	return c->generation & 1;
}

static struct th_link_call *call_find(struct th_executor_client *x, int64_t id)
{
	for (uint32_t i = 0; id != 0 && i < x->call_room; i++)
		if (th_link_call_is(x->calls[i]) && x->calls[i]->id == id)
			return x->calls[i];
	return NULL;
}

static void call_finish(struct th_executor_client *x, struct th_link_call *c,
			const struct th_effect_result *result)
{
	struct th_executor_handlers on = c->on;
	call_free(x, c);
	on.on_finished(on.ctx, result);
}

static void call_finish_text(struct th_executor_client *x, struct th_link_call *c,
			     enum th_outcome_status status, const char *text,
			     const struct th_err *why)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_str(&w, th_str_of(text));
	struct th_effect_result result = { .status = status,
					   .output = th_buf_str(&out),
					   .code = why->code,
					   .why = th_str_of(why->msg) };
	call_finish(x, c, &result);
	th_buf_deinit(&out);
}

void th_link_call_give_up(struct th_executor_client *x, struct th_link_call *c,
			  const struct th_err *why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_ERR_MSG_MAX);
	bool read = c->what.class == TH_CLASS_R;

	if (c->tries == 0 && !c->attach) {
		th_buf_printf(&text, TH_ERROR_MARK "not started: %s", why->msg);
		call_finish_text(x, c, TH_OUTCOME_NOT_STARTED, text.ptr, why);
	} else if (read) {
		th_buf_printf(&text, TH_ERROR_MARK "%s", why->msg);
		call_finish_text(x, c, TH_OUTCOME_FAILED, text.ptr, why);
	} else {
		th_buf_printf(&text, "%s (%s)", TH_UNKNOWN_SENTENCE, why->msg);
		call_finish_text(x, c, TH_OUTCOME_UNKNOWN, text.ptr, why);
	}
	th_buf_deinit(&text);
}

/* ---- sending ---- */

static bool send_with(struct th_executor_client *x, const struct th_table *t, const void *m,
		      struct th_str attachment)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	th_exec_print(t, m, &head);
	if (th_buf_check(&head, "a message", NULL))
		return false;
	enum th_code code = th_sock_send(x->sock, th_buf_str(&head), attachment, NULL);
	return code != TH_ELIMIT;
}

bool th_link_send(struct th_executor_client *x, const struct th_table *t, const void *m)
{
	return send_with(x, t, m, TH_STR(""));
}

void th_link_call_send(struct th_executor_client *x, struct th_link_call *c)
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
		.hosts = c->what.hosts,
		.strict = c->what.strict,
		.begin = join && c->what.begin,
	};
	struct th_err err;

	if (x->given && !x->gave) { /* what it gives out would not be masked */
		th_fail(&err, TH_ELIMIT, "too much waits for the executor");
		th_link_call_give_up(x, c, &err);
		return;
	}
	/* Without an INTENT: the first one that it was sent to.  Only where we sent it ourselves:
	 * an attach may have met a second journal, and its silence proves nothing. */
	if (m.journal.len == 0 && m.again)
		m.journal = th_str_of(c->journal);
	if (!th_link_send(x, &th_exec_run_table, &m)) {
		th_fail(&err, TH_ELIMIT,
			"the arguments are too large for the executor, or too much waits for it");
		th_link_call_give_up(x, c, &err);
		return;
	}
	c->id = m.id;
	if (c->tries++ == 0)
		memcpy(c->journal, x->journal, sizeof(c->journal));
	if (c->cancelled) {
		struct th_exec_request cancel = { .op = TH_STR("cancel"), .id = c->id };
		th_link_send(x, &th_exec_request_table, &cancel);
	}
}

void th_link_say_host(struct th_executor_client *x, int64_t id, struct th_str host, uint16_t port,
		      bool allow)
{
	struct th_exec_host m = {
		.op = TH_STR("host"), .id = id, .host = host, .port = port, .allow = allow
	};

	(void)th_link_send(x, &th_exec_host_table, &m); /* else it is asked for again */
}

void th_link_say_input(struct th_executor_client *x, int64_t id, struct th_str bytes, int columns,
		       int rows)
{
	const struct th_exec_input m = {
		.op = TH_STR("input"), .id = id, .columns = columns, .rows = rows
	};

	(void)send_with(x, &th_exec_input_table, &m, bytes); /* else it is lost, as on a line */
}

void th_link_forget(struct th_executor_client *x)
{
	struct th_exec_forget m = { .op = TH_STR("forget"),
				    .effect_ids = { x->forget, x->forget_count } };
	if (x->forget_count > 0 && th_link_send(x, &th_exec_forget_table, &m)) {
		x->forget_count = 0;
		th_arena_reset(&x->forget_arena);
	}
}

void th_link_give(struct th_executor_client *x)
{
	struct th_buf head TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	struct th_exec_give m = { .op = TH_STR("give") };

	if (!x->given || x->gave)
		return;
	m.secrets = th_secret_expose(x->given);
	th_buf_reserve(&head, m.secrets.len + TH_KIB); /* so that no copy is left behind */
	th_exec_print(&th_exec_give_table, &m, &head);
	x->gave =
	    !head.failed && th_sock_send(x->sock, th_buf_str(&head), TH_STR(""), NULL) != TH_ELIMIT;
}

void th_link_watch_send(struct th_executor_client *x)
{
	struct th_exec_watch m = { .op = TH_STR("watch"),
				   .format = th_str_of(x->watch.format),
				   .quality = x->watch.quality,
				   .interval_ms = x->watch.interval_ms };

	if (!x->watch.on_frame || x->watch_id)
		return;
	m.id = ++x->next_id;
	if (th_link_send(x, &th_exec_watch_table, &m))
		x->watch_id = m.id;
}

void th_link_watch_give_up(struct th_executor_client *x, const struct th_err *why)
{
	struct th_executor_watch w = x->watch;

	x->watch = (struct th_executor_watch){};
	x->watch_id = 0;
	if (w.on_frame)
		w.on_frame(w.ctx, NULL, TH_STR(""), why);
}

void th_link_hello(struct th_executor_client *x)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf computer = TH_BUF_INIT(TH_MIB);
	struct th_exec_hello m = {
		.op = TH_STR("hello"),
		.session = x->o.session,
		.epoch = x->o.epoch,
		.build = TH_STR(TH_VERSION),
		.protocol = TH_EXEC_PROTOCOL,
		.workspace = x->o.workspace,
		.looks_on = x->o.looks_on,
	};
	struct th_buf token = TH_BUF_INIT(256);
	if (x->place.len) /* the gate there puts the token in */
		m.scope = x->o.scope;
	else
		th_executor_announced(x->state_dir.ptr, NULL, &token);
	th_executor_computer(&x->o, &computer);
	m.token = th_buf_str(&token);
	m.computer = th_buf_str(&computer);
	th_link_send(x, &th_exec_hello_table, &m);
	th_buf_deinit(&token);
}

/* ---- what the executor says ---- */

void th_link_tell(struct th_executor_client *x, bool screen, int64_t id, const struct th_err *err)
{
	for (struct th_link_waiter **at = &x->waiters; *at && !x->freed;) {
		struct th_link_waiter *w = *at;
		bool meant =
		    err ? id == 0 || w->id == id : (!w->screen && id == 0) || (w->screen && screen);
		if (!meant) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		struct th_link_waiter copy = *w;
		free(w);
		copy.fn(copy.ctx, err ? NULL : &x->info, err);
		at = &x->waiters; /* the callback may have added or taken some */
	}
}

static enum th_code on_welcome(struct th_executor_client *x, const struct th_exec_welcome *m,
			       struct th_err *err)
{
	struct th_arena *a = &x->info_arena;
	enum th_code code = th_exec_check_protocol(m->protocol, err);

	if (code)
		return th_prefix(err, code, "the executor");
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
	if (x->state == TH_LINK_GREETING) {
		x->state = TH_LINK_OPEN;
		x->attempts = 0;
		x->reach_ms = 0;
		th_timer_stop(&x->timer);
	}
	th_link_tell(x, m->width > 0, m->id, NULL);
	th_link_soon(x);
	return TH_OK;
}

static enum th_code take_blobs(const struct th_exec_finished *m, struct th_str bytes,
			       struct th_arena *a, struct th_blob *blobs, size_t *ret_count,
			       struct th_err *err)
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
		struct th_blob *to = &blobs[(*ret_count)++];
		if ((uint64_t)b.size > bytes.len || !th_digest_parse(b.blob, &to->hash))
			return th_fail(err, TH_EPROTO, "a blob without its bytes");
		to->media_type = th_arena_str(a, b.media_type);
		to->bytes = th_str_sub(bytes, 0, (size_t)b.size);
		bytes = th_str_sub(bytes, (size_t)b.size, bytes.len);
	}
	return TH_OK;
}

static enum th_code on_finished(struct th_executor_client *x, const struct th_exec_finished *m,
				struct th_str bytes, struct th_arena *a, struct th_err *err)
{
	struct th_blob blobs[BLOBS_MAX];
	struct th_link_call *c = call_find(x, m->id);
	int status = th_outcome_find(m->status);
	size_t count;

	if (!c)
		return TH_OK; /* of one that was given up */
	enum th_code code = take_blobs(m, bytes, a, blobs, &count, err);
	if (code == TH_OK && status < 0)
		code = th_fail(err, TH_EPROTO, "an outcome that is none");
	if (code)
		return code;
	struct th_effect_result result = {
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

static void on_output(struct th_executor_client *x, const struct th_exec_output *m,
		      struct th_str bytes)
{
	struct th_link_call *c = call_find(x, m->id);
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

static void on_asks(struct th_executor_client *x, const struct th_exec_host *m)
{
	const struct th_link_call *c = call_find(x, m->id);

	if (m->withdrawn) {
		if (c && c->on.on_withdrawn && m->port <= UINT16_MAX)
			c->on.on_withdrawn(c->on.ctx, m->host, (uint16_t)m->port);
		return;
	}
	if (c && c->on.on_asks && m->port <= UINT16_MAX)
		c->on.on_asks(c->on.ctx, m->host, (uint16_t)m->port, m->listed);
	else
		th_link_say_host(x, m->id, m->host, (uint16_t)m->port, false);
}

/* A request was not done. */
static void on_error(struct th_executor_client *x, int64_t id, const struct th_err *e)
{
	struct th_link_call *c = call_find(x, id);
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

	if (id == 0) {
		th_link_lost(x, e);
	} else if (id == x->watch_id) {
		th_link_watch_give_up(x, e);
	} else if (!c) {
		th_link_tell(x, false, id, e);
	} else if (e->code == TH_ECONN) {
		/* It is about to end: again with the next one. */
		c->id = 0;
		c->held = true;
		c->tries--;
	} else if (e->code == TH_EEXIST && !c->attach) {
		c->attach = true;
		c->id = 0;
		th_link_soon(x);
	} else if (c->attach || c->broken) {
		th_link_call_give_up(x, c, e);
	} else {
		th_buf_printf(&text, TH_ERROR_MARK "%s", e->msg);
		call_finish_text(x, c, TH_OUTCOME_NOT_STARTED, text.ptr, e);
	}
	th_buf_deinit(&text);
}

enum th_code th_link_heard(struct th_executor_client *x, const struct th_frame *frame,
			   struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	enum th_exec_op op;
	union {
		struct th_exec_welcome welcome;
		struct th_exec_request accepted;
		struct th_exec_output output;
		struct th_exec_finished finished;
		struct th_exec_error error;
		struct th_exec_frame frame;
		struct th_exec_host host;
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
		return code ? code : on_welcome(x, &m.welcome, err);
	case TH_EXEC_OP_ACCEPTED: {
		code = th_table_parse(&th_exec_request_table, v, &arena, &m.accepted, err);
		struct th_link_call *c = code == TH_OK ? call_find(x, m.accepted.id) : NULL;
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
	case TH_EXEC_OP_ASKS:
		code = th_table_parse(&th_exec_host_table, v, &arena, &m.host, err);
		if (code == TH_OK)
			on_asks(x, &m.host);
		return code;
	case TH_EXEC_OP_FRAME:
		code = th_table_parse(&th_exec_frame_table, v, &arena, &m.frame, err);
		if (code == TH_OK && x->watch.on_frame && m.frame.id == x->watch_id)
			x->watch.on_frame(x->watch.ctx, &m.frame, frame->attachment, NULL);
		return code;
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
