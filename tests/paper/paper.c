/* SPDX-License-Identifier: Apache-2.0 */
#include "paper.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *to, size_t size, struct th_str s)
{
	(void)snprintf(to, size, "%.*s", TH_FMT(s));
}

static void must(enum th_code code, const struct th_err *err)
{
	if (code)
		(void)fprintf(stderr, "paper: %s\n", err->msg);
	assert(code == TH_OK);
}

static struct th_handle handle_of(struct th_ticket t)
{
	return (struct th_handle){ t.index, t.generation };
}

/* ---- the log ---- */

static struct paper_log *log_new(struct paper *w, struct th_str id)
{
	struct paper_log *log = calloc(1, sizeof(*log));

	assert(log && w->log_count < PAPER_LOGS_MAX);
	copy(log->id, sizeof(log->id), id);
	w->logs[w->log_count++] = log;
	return log;
}

static void log_free(struct paper_log *log)
{
	paper_log_cut(log, 0);
	free(log->list);
	free(log->metadata);
	free(log->title);
	free(log);
}

struct paper_log *paper_log_of(const struct paper *w, struct th_str id)
{
	for (size_t i = 0; i < w->log_count; i++)
		if (th_str_is(id, w->logs[i]->id))
			return w->logs[i];
	return NULL;
}

void paper_log_cut(struct paper_log *log, size_t count)
{
	while (log->count > count) {
		log->count--;
		if (!log->list)
			continue;
		free(log->list[log->count].call);
		free(log->list[log->count].data);
	}
}

void paper_log_forget(struct paper *w)
{
	assert(w->log_count > 1);
	log_free(w->logs[--w->log_count]);
}

static void keep_event(struct paper_log *log, const struct th_event *ev)
{
	struct paper_event *e;

	if (log->count == log->room) {
		log->room = log->room ? 2 * log->room : 32;
		log->list = realloc(log->list, log->room * sizeof(*log->list));
		assert(log->list);
	}
	e = &log->list[log->count];
	*e = (struct paper_event){ *ev, strndup(ev->call.ptr, ev->call.len),
				   strndup(ev->data.ptr, ev->data.len) };
	e->ev.call = th_str_of(e->call);
	e->ev.data = th_str_of(e->data);
	e->ev.build = TH_STR("test");
}

static void keep(struct paper *w, const struct th_append *a)
{
	struct paper_log *log = paper_log_of(w, a->row->session_id);

	if (!log) {
		assert(a->create);
		log = log_new(w, a->row->session_id);
	}
	if (!log->metadata)
		log->metadata = strndup(a->row->metadata.ptr, a->row->metadata.len);
	free(log->title);
	log->title = strndup(a->row->title.ptr ?: "", a->row->title.len);
	for (size_t i = 0; i < a->event_count; i++) {
		assert(a->events[i].seq == log->count + 1);
		if (!w->forgetful)
			keep_event(log, &a->events[i]);
		log->count++;
		if (w->on_event)
			w->on_event(w->own, &a->events[i]);
	}
}

const char *paper_last(const struct paper_log *log, enum th_event_kind kind)
{
	for (size_t i = log ? log->count : 0; i > 0; i--)
		if (log->list[i - 1].ev.kind == kind)
			return log->list[i - 1].data;
	return NULL;
}

size_t paper_count(const struct paper_log *log, enum th_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; log && i < log->count; i++)
		count += log->list[i].ev.kind == kind;
	return count;
}

const char *paper_kinds(const struct paper *w, size_t from)
{
	static char text[8192];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = from; i < w->log->count; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > from ? " " : "",
					th_event_name(w->log->list[i].ev.kind));
		assert(len < sizeof(text));
	}
	return text;
}

const struct th_session *paper_fold(const struct paper *w)
{
	return th_driver_session(w->driver, w->h);
}

bool paper_durable(const struct paper *w, struct th_ticket t)
{
	const struct paper_log *log =
	    paper_log_of(w, th_driver_session_id(w->driver, handle_of(t)));

	return log && t.kind == TH_TICKET_EVENT && t.seq <= log->count;
}

/* ---- the world: the store ---- */

static void flush_soon(void *ctx)
{
	((struct paper *)ctx)->flush = true;
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct paper *w = ctx;
	struct th_err err = { 0 };

	if (w->dead) {
		done(done_ctx, batch, th_fail(&err, TH_EIO, "dead"), &err);
		return;
	}
	assert(!w->batch);
	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code get_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err)
{
	struct paper *w = ctx;

	w->blob_reads++;
	if (!w->blob || hash->bytes[0] != w->blob_at)
		return th_fail(err, TH_ENOENT, "no such blob");
	th_buf_add_cstr(out, w->blob);
	return TH_OK;
}

static enum th_code ask_blob(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct paper *w = ctx;

	if (!w->beside)
		return th_fail(err, TH_EBUSY, "too much is asked for");
	w->blob_asks++;
	w->blob_asked = *hash;
	return TH_OK;
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct paper *w = ctx;
	const struct paper_log *log = paper_log_of(w, id);
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	if (w->forgetful)
		return th_fail(err, TH_ENOENT, "nothing was kept");
	w->reads += from != to;
	if (log)
		w->read_most = TH_MAX(w->read_most, (to ? to : log->count) + 1 - from);
	for (size_t i = from - 1; log && i < log->count && (to == 0 || i < to) && !code;
	     i++, w->read_events++)
		code = fn(fn_ctx, &log->list[i].ev, &none, err);
	return code;
}

static enum th_code log_ask(void *ctx, struct th_ticket t, struct th_err *err)
{
	struct paper *w = ctx;

	if (!w->log_beside)
		return th_fail(err, TH_EBUSY, "too much is read");
	assert(w->log_ask_count < PAPER_LOGS_MAX);
	w->log_asked[w->log_ask_count++] = t;
	w->logs_beside++;
	return TH_OK;
}

static void log_cancel(void *ctx, struct th_ticket t)
{
	struct paper *w = ctx;
	size_t i = 0;

	while (i < w->log_ask_count && !th_ticket_eq(w->log_asked[i], t))
		i++;
	assert(i < w->log_ask_count);
	w->log_asked[i] = w->log_asked[--w->log_ask_count];
	w->log_cancels++;
}

/* Of one session, to its end. */
static void read_beside(struct paper *w, struct th_ticket t)
{
	const struct paper_log *log =
	    paper_log_of(w, th_driver_session_id(w->driver, handle_of(t)));
	struct th_digest none = { { 0 } };
	struct th_err err = { 0 };
	enum th_code code = TH_OK;
	uint64_t from, to;

	while (!code && th_driver_log_wants(w->driver, t, &from, &to)) {
		for (; from <= to && !code; from++, w->read_events++) {
			assert(log && from <= log->count);
			code =
			    th_driver_log_take(w->driver, t, &log->list[from - 1].ev, &none, &err);
		}
		if (!code)
			code = th_driver_log_next(w->driver, t, &err);
	}
	th_driver_log_end(w->driver, t, code ? &err : NULL);
}

void paper_read_logs(struct paper *w)
{
	while (w->log_ask_count > 0)
		read_beside(w, w->log_asked[--w->log_ask_count]);
}

static struct th_session_row row_of(struct paper *w, const struct paper_log *log)
{
	return (struct th_session_row){ .session_id = th_str_of(log->id),
					.head_seq = log->count,
					.epoch = ++w->epoch,
					.metadata = th_str_of(log->metadata) };
}

static enum th_code child_lease(void *ctx, struct th_str id, struct th_arena *a TH_UNUSED,
				struct th_session_row *ret, struct th_err *err)
{
	struct paper *w = ctx;
	const struct paper_log *log = paper_log_of(w, id);

	w->leases++;
	if (!log)
		return th_fail(err, TH_ENOENT, "no such session");
	if (w->held && th_str_is(id, w->held))
		return th_fail(err, TH_EBUSY, "another runtime has it");
	*ret = row_of(w, log);
	return TH_OK;
}

static void child_over(void *ctx, struct th_ticket child)
{
	struct paper *w = ctx;

	assert(w->over_count < PAPER_LOGS_MAX);
	w->over[w->over_count++] = child;
}

static void fatal(void *ctx, const struct th_err *err)
{
	if (!((struct paper *)ctx)->dead)
		must(err->code, err);
}

/* ---- the world: time and chance ---- */

static int64_t now(void *ctx)
{
	return ((struct paper *)ctx)->clock += 10;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	uint32_t drawn = ++((struct paper *)ctx)->drawn;

	memset(ptr, 0, len);
	memcpy(ptr, &drawn, TH_MIN(len, sizeof(drawn)));
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct paper *w = ctx;

	if (t.kind == TH_TICKET_WAIT) {
		w->wait = t;
		w->wait_ms = delay_ms;
		return;
	}
	w->timer = t;
	w->timer_ms = delay_ms;
	w->timed = true;
}

/* ---- the world: models ---- */

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err TH_UNUSED)
{
	struct paper *w = ctx;
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct paper_request *r;

	if (w->on_request)
		w->on_request(w->own);
	if (th_str_ends(call->path, TH_STR("/cancel"))) {
		copy(w->ended, sizeof(w->ended), call->path);
		return TH_OK;
	}
	for (size_t i = 0; i < w->request_count && !call->grounder; i++) {
		r = w->requests[i];
		assert(!r->open || r->grounder || r->ticket.index != t.index);
	}
	assert(w->request_count < PAPER_REQUESTS_MAX);
	r = w->requests[w->request_count++] = calloc(1, sizeof(*r));
	assert(r);
	*r = (struct paper_request){ .ticket = t,
				     .open = true,
				     .grounder = call->grounder,
				     .get = call->get,
				     .stream = call->stream,
				     .model_at = call->model_at };
	copy(r->session, sizeof(r->session), th_driver_session_id(w->driver, handle_of(t)));
	copy(r->path, sizeof(r->path), call->path);
	for (size_t i = 0; i < call->body_count && !w->forgetful; i++)
		th_buf_add(&body, call->body[i]);
	assert(!body.failed);
	r->body = th_buf_steal(&body, NULL);
	w->request = r;
	return TH_OK;
}

static void model_alive(void *ctx TH_UNUSED, struct th_ticket t TH_UNUSED)
{
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct paper *w = ctx;
	bool found = w->ended[0] != '\0'; /* which is none of the requests, and may be cancelled */

	for (size_t i = 0; i < w->request_count; i++)
		if (w->requests[i]->open && th_ticket_eq(w->requests[i]->ticket, t)) {
			w->requests[i]->open = false;
			w->cancelled = found = true;
		}
	assert(found);
}

static void forget_requests(struct paper *w)
{
	for (size_t i = 0; i < w->request_count; i++) {
		free(w->requests[i]->body);
		free(w->requests[i]);
	}
	w->request_count = 0;
	w->request = &w->no_request;
}

struct paper_request *paper_request_of(const struct paper *w, const char *session)
{
	for (size_t i = w->request_count; i > 0; i--)
		if (w->requests[i - 1]->open && strcmp(w->requests[i - 1]->session, session) == 0)
			return w->requests[i - 1];
	return NULL;
}

bool paper_reply(struct paper *w, struct paper_request *r, struct th_str bytes,
		 const struct th_model_end *end)
{
	bool wanted;

	assert(r && r->open);
	r->open = false;
	wanted = !bytes.len || th_driver_model_data(w->driver, r->ticket, bytes);
	th_driver_model_done(w->driver, r->ticket, end);
	return wanted;
}

static const struct th_model_end whole = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

void paper_answer_unwritten(struct paper *w, struct paper_request *r, const char *items)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	bool wanted;

	th_buf_printf(&body,
		      "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\","
		      "\"model\":\"gpt-5.4\",\"output\":[%s],\"usage\":{\"input_tokens\":10,"
		      "\"output_tokens\":5,\"total_tokens\":15}}",
		      items);
	wanted = paper_reply(w, r, th_buf_str(&body), &whole);
	assert(!body.failed && wanted);
	th_buf_deinit(&body);
}

void paper_answer(struct paper *w, struct paper_request *r, const char *items)
{
	paper_answer_unwritten(w, r, items);
	paper_settle(w);
}

void paper_say(struct paper *w, struct paper_request *r, const char *body)
{
	bool wanted = paper_reply(w, r, th_str_of(body), &whole);

	assert(wanted);
	paper_settle(w);
}

void paper_refuse(struct paper *w, struct paper_request *r, int status, const char *body)
{
	struct th_model_end end = { .status_only = true,
				    .http_status = status,
				    .hints = { -1, -1 } };
	bool wanted = paper_reply(w, r, th_str_of(body), &end);

	assert(wanted);
	paper_settle(w);
}

void paper_lose(struct paper *w, struct paper_request *r, enum th_failure failure)
{
	struct th_model_end end = { .failure = failure,
				    .message = TH_STR("the connection broke"),
				    .hints = { -1, -1 } };

	(void)paper_reply(w, r, TH_STR(""), &end);
	paper_settle(w);
}

/* ---- the world: the executor ---- */

static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct paper *w = ctx;

	w->ready_asked++;
	w->ready = t;
	*ret_journal = w->no_executor ? TH_STR("") : TH_STR("journal-1");
	return !w->starting;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_effect_call *call, bool settle)
{
	struct paper *w = ctx;
	struct paper_effect *e = &w->effects[w->effect_count++];

	assert(w->effect_count <= PAPER_EFFECTS_MAX);
	assert(call->effect_id.len == 32);
	/* A look of a hook is of no event; all that led to it must be durable. */
	w->early |= t.kind == TH_TICKET_LOOK
			? th_driver_session(w->driver, handle_of(t))->seq > w->log->count
			: !paper_durable(w, t);
	*e = (struct paper_effect){ .ticket = t, .settle = settle, .epoch = call->epoch };
	copy(e->tool, sizeof(e->tool), call->tool);
	copy(e->arguments, sizeof(e->arguments), call->arguments);
	copy(e->journal, sizeof(e->journal), call->journal);
	w->effect = e;
	w->runs += !settle;
	w->settles += settle;
	w->looks += !settle && call->class == TH_CLASS_R;
	if (w->on_effect)
		w->on_effect(w->own, call);
}

static void tool_cancel(void *ctx, struct th_ticket t TH_UNUSED)
{
	((struct paper *)ctx)->cancels++;
}

static void tool_forget(void *ctx TH_UNUSED, struct th_str id TH_UNUSED,
			const struct th_str *ids TH_UNUSED, size_t count TH_UNUSED)
{
}

void paper_weather(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct paper *w = ctx;
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	w->early |= !paper_durable(w, call->ticket);
	w->local_runs++;
	w->local = call->ticket;
	if (!w->local_later)
		th_driver_tool_done(d, call->ticket, &r);
}

/* ---- lives ---- */

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = get_blob,
	.blob_ask = ask_blob,
	.read = read_log,
	.log_ask = log_ask,
	.log_cancel = log_cancel,
	.model_call = model_call,
	.model_alive = model_alive,
	.model_cancel = model_cancel,
	.tool_ready = tool_ready,
	.tool_run = tool_run,
	.tool_cancel = tool_cancel,
	.tool_forget = tool_forget,
	.child_lease = child_lease,
	.child_over = child_over,
	.fatal = fatal,
};

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s TH_UNUSED,
		    const struct th_err *err)
{
	struct paper *w = ctx;

	w->rests++;
	w->rest_failed = err != NULL;
	if (err)
		memcpy(w->rest_error, err->msg, sizeof(w->rest_error));
	if (err && w->close_lost)
		th_driver_close(w->driver, h);
}

static void begin_life(struct paper *w)
{
	struct th_world world = { &ops, w };

	w->driver = th_driver_new(&world, TH_STR("test"));
	assert(w->driver);
	if (w->log_beside)
		th_driver_log_short(w->driver, 0);
}

struct paper *paper_new(void)
{
	struct paper *w = calloc(1, sizeof(*w));
	static char nothing[] = "";

	assert(w);
	w->clock = 1000000;
	w->epoch = 1;
	w->no_request.body = nothing;
	w->request = &w->no_request;
	w->effect = &w->no_effect;
	w->log = log_new(w, TH_STR("a1"));
	begin_life(w);
	return w;
}

static void end_life(struct paper *w)
{
	w->dead = true;
	w->driver = th_driver_free(w->driver);
	forget_requests(w);
}

struct paper *paper_free(struct paper *w)
{
	if (!w)
		return NULL;
	end_life(w);
	for (size_t i = 0; i < w->log_count; i++)
		log_free(w->logs[i]);
	free(w);
	return NULL;
}

enum th_code paper_create(struct paper *w, const struct th_session_config *session_config,
			  const struct th_ev_session_created *created, struct th_err *err)
{
	struct th_observer seen = { .rest = on_rest, .ctx = w };

	return th_driver_create(w->driver, TH_STR("a1"), session_config, created, &seen, &w->h,
				err);
}

void paper_die(struct paper *w)
{
	end_life(w);
	w->batch = NULL;
	w->dead = w->flush = false;
	w->over_count = w->commits_max = 0;
	begin_life(w);
}

struct th_handle paper_open(struct paper *w, const char *id,
			    const struct th_session_config *session_config)
{
	struct th_observer seen = { .rest = on_rest, .ctx = w };
	struct th_session_row row = row_of(w, paper_log_of(w, th_str_of(id)));
	struct th_handle h;
	struct th_err err = { 0 };

	must(th_driver_open(w->driver, &row, session_config, &seen, &h, &err), &err);
	return h;
}

void paper_resume(struct paper *w)
{
	struct th_err err = { 0 };

	must(th_driver_resume(w->driver, w->h, &err), &err);
	paper_settle(w);
}

void paper_commit(struct paper *w)
{
	struct th_batch *batch = w->batch;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	assert(batch);
	w->batch = NULL;
	for (size_t i = 0; i < batch->append_count; i++) {
		struct th_append *a = &batch->appends[i];

		/* What begins to work on a call begins where that call's session says so. */
		if (a->create && th_delegated_by(a->row->metadata).len)
			assert(a->needs && a->needs < a && a->needs >= batch->appends);
		a->result = th_str_is(a->row->session_id, w->log->id) ? w->result : w->child_result;
		if (a->needs && a->needs->result)
			a->result = TH_EFENCED;
		if (a->result == TH_OK)
			keep(w, a);
	}
	if (++w->commits == w->commits_max) {
		w->dead = true;
		code = th_fail(&err, TH_EIO, "dead");
	}
	w->done(w->done_ctx, batch, code, &err);
}

void paper_settle(struct paper *w)
{
	while (!w->dead &&
	       (w->flush || w->batch || w->over_count || (w->log_ask_count && !w->log_later))) {
		if (w->flush) {
			w->flush = false;
			th_driver_flush(w->driver);
		}
		if (w->batch)
			paper_commit(w);
		while (w->over_count > 0 && !w->flush && !w->batch && !w->dead)
			th_driver_close(w->driver, handle_of(w->over[--w->over_count]));
		if (!w->flush && !w->batch && !w->log_later)
			paper_read_logs(w);
	}
}

void paper_ring(struct paper *w)
{
	th_driver_timer(w->driver, w->timer);
	paper_settle(w);
}
