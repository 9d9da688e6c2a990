/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_world.c - the world as the drivers of the simulator see it: commits, requests, tools,
 * timers.
 */
#include <stdlib.h>

#include "sim/internal.h"

#define DEADLINE_MS 300000 /* of a silent provider */

static int64_t now(void *ctx)
{
	return ((struct th_sim_runtime *)ctx)->w->now_ms;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	struct th_sim_runtime *r = ctx;
	uint8_t *bytes = ptr;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)th_sim_draw(&r->w->random);
}

static void flush_soon(void *ctx)
{
	((struct th_sim_runtime *)ctx)->flush = true;
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of_ticket(r, t);

	if (r->dead)
		return;
	/* It may ring late: what ends then has ended all the same. */
	if (number < TH_SIM_SESSIONS_MAX && r->w->tasks[number].agent.approve_seconds &&
	    th_sim_chance(&r->w->random, 3))
		delay_ms += (int64_t)th_sim_below(&r->w->random, 1000);
	/* A session has one of each kind. */
	for (size_t i = 0; i < r->timer_count; i++)
		if (r->timers[i].ticket.index == t.index &&
		    r->timers[i].ticket.generation == t.generation &&
		    (r->timers[i].ticket.kind == TH_TICKET_WAIT) == (t.kind == TH_TICKET_WAIT))
			r->timers[i--] = r->timers[--r->timer_count];
	assert(r->timer_count < TH_SIM_TIMERS_MAX);
	r->timers[r->timer_count++] = (struct th_sim_later){ t, r->w->now_ms + delay_ms };
}

/* The variant: effects whose intents are only on their way to the log. */
static void dispatch_early(struct th_sim_runtime *r, const struct th_append *a)
{
	size_t number = th_sim_task_of(r->w, a->row->session_id);
	struct th_sim_resident *s = number < TH_SIM_SESSIONS_MAX ? &r->sessions[number] : NULL;
	const struct th_session *fold = s ? th_driver_session(r->d, s->handle) : NULL;

	for (size_t i = 0; fold && i < fold->call_count && s->client; i++) {
		const struct th_call *c = &fold->calls[i];
		struct th_ticket t = { s->handle.index, s->handle.generation, c->intent_seq,
				       TH_TICKET_EVENT, 0 };
		struct th_effect_call call = {
			.epoch = s->epoch,
			.effect_id = c->effect_id,
			.tool = c->tool,
			.arguments = c->arguments,
			.digest = th_str_of(c->digest),
			.journal = c->journal,
			.class = c->class,
		};

		if (c->phase == TH_CALL_INTENDED && c->intent_seq > a->seq_before &&
		    c->class != TH_CLASS_L && !th_str_is(c->tool, "peek") &&
		    !th_str_starts(c->tool, TH_STR("ask_")) && !th_sim_client_has(s->client, t))
			th_sim_client_run(s->client, t, &call, false);
	}
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct th_sim_runtime *r = ctx;

	assert(r->commit_count < TH_SIM_COMMITS_MAX);
	r->commits[r->commit_count++] = (struct th_sim_commit){ batch, done, done_ctx };
	for (size_t i = 0; r->w->variant == TH_SIM_NO_INTENT && !r->dead && i < batch->append_count;
	     i++)
		dispatch_early(r, &batch->appends[i]);
}

static enum th_code read_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			      struct th_err *err)
{
	return th_sim_store_blob(((struct th_sim_runtime *)ctx)->w->disk, hash, out, err);
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	return th_sim_store_read(((struct th_sim_runtime *)ctx)->w->disk, id, from, to, fn, fn_ctx,
				 err);
}

static enum th_code log_ask(void *ctx, struct th_ticket t, struct th_err *err)
{
	struct th_sim_runtime *r = ctx;

	if (r->dead || r->log_count == TH_COUNT(r->logs) || th_sim_chance(&r->w->random, 20))
		return th_fail(err, TH_EBUSY, "too much is read");
	r->logs[r->log_count++] = (struct th_sim_log){ t, th_sim_soon(r->w, 100), 1, 0 };
	return TH_OK;
}

static void log_cancel(void *ctx, struct th_ticket t)
{
	struct th_sim_runtime *r = ctx;

	for (size_t i = 0; i < r->log_count; i++)
		if (th_ticket_eq(r->logs[i].ticket, t))
			r->logs[i--] = r->logs[--r->log_count];
}

struct log_step {
	struct th_sim_runtime *r;
	struct th_ticket ticket;
};

static enum th_code take_logged(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	const struct log_step *s = ctx;

	return th_driver_log_take(s->r->d, s->ticket, ev, digest, err);
}

/* The next events of what is wanted, or that it was all. */
static enum th_code log_read_next(struct th_sim_runtime *r, struct th_sim_log *g,
				  struct th_err *err)
{
	struct th_sim_world *w = r->w;
	struct log_step s = { r, g->ticket };
	size_t number = th_sim_task_of_ticket(r, g->ticket);
	uint64_t some = g->next + th_sim_below(&w->random, 4), to = TH_MIN(g->to, some);
	enum th_code code = TH_OK;

	assert(number < TH_SIM_SESSIONS_MAX);
	if (g->next <= g->to)
		code = th_sim_store_read(w->disk, th_str_of(w->tasks[number].id), g->next, to,
					 take_logged, &s, err);
	g->next = to + 1;
	return code || g->next <= g->to ? code : th_driver_log_next(r->d, g->ticket, err);
}

void th_sim_log_step(struct th_sim_runtime *r, size_t index)
{
	struct th_sim_log *g = &r->logs[index];
	struct th_ticket ticket = g->ticket;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (g->next <= g->to || th_driver_log_wants(r->d, ticket, &g->next, &g->to)) {
		code = log_read_next(r, g, &err);
		g->due_ms = th_sim_soon(r->w, 20);
		if (!code)
			return;
	}
	log_cancel(r, ticket);
	th_driver_log_end(r->d, ticket, code ? &err : NULL);
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_world *w = r->w;
	size_t number = th_sim_task_of_ticket(r, t);
	struct th_sim_model_call *m;

	assert(number < TH_SIM_SESSIONS_MAX);
	if (r->dead)
		return th_fail(err, TH_ECONN, "dead");
	if (th_str_ends(call->path, TH_STR("/cancel")))
		return th_fail(err, TH_ECONN, "nobody hears it");
	if (!r->stale && !call->get && t.kind == TH_TICKET_EVENT)
		th_sim_check_request(w->check, number, t.seq, call->agent,
				     &w->tasks[number].options[call->agent][call->model_at],
				     call->body, call->body_count);
	th_sim_say(w, "runtime %d asks the model for %s at event %llu", r->number,
		   w->tasks[number].id, (unsigned long long)t.seq);
	if (th_sim_chance(&w->random, 50))
		return th_fail(err, TH_ECONN, "connection refused");
	m = th_alloc(sizeof(*m));
	m->ticket = t;
	m->due_ms = th_sim_soon(w, 500);
	th_sim_answer_draw(&w->random, &w->numbers, w->final_in, w->tasks[number].team,
			   w->tasks[number].asks ? &w->asks_left : NULL, &m->answer);
	if (w->tasks[number].settings.background && th_sim_chance(&w->random, call->get ? 3 : 2))
		th_sim_answer_not_yet(&w->numbers, &m->answer);
	m->next = r->calls;
	r->calls = m;
	return TH_OK;
}

static void model_alive(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

void th_sim_model_drop(struct th_sim_runtime *r, struct th_sim_model_call *m)
{
	struct th_sim_model_call **at = &r->calls;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	r->old = m->ticket;
	th_buf_deinit(&m->answer.body);
	free(m);
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct th_sim_runtime *r = ctx;

	for (struct th_sim_model_call *m = r->calls; m; m = m->next)
		if (m->ticket.index == t.index && m->ticket.generation == t.generation) {
			th_sim_model_drop(r, m);
			return;
		}
}

/* A piece of an answer, or its end. */
void th_sim_model_step(struct th_sim_runtime *r, struct th_sim_model_call *m)
{
	struct th_sim_world *w = r->w;
	struct th_str body = th_buf_str(&m->answer.body);
	struct th_ticket t = m->ticket;
	struct th_model_end end = m->answer.end;

	if (m->at < body.len) {
		size_t len = th_sim_chance(&w->random, 3)
				 ? 1 + th_sim_below(&w->random, body.len - m->at)
				 : body.len - m->at;
		struct th_str piece = th_str_sub(body, m->at, len);

		m->at += len;
		m->due_ms = th_sim_soon(w, 50);
		if (!th_driver_model_data(r->d, t, piece)) {
			end = (struct th_model_end){ .http_status = 200,
						     .failure = TH_FAILURE_CANCELLED,
						     .hints = { -1, -1 } };
			th_sim_model_drop(r, m);
			th_driver_model_done(r->d, t, &end);
			return;
		}
		if (m->answer.endless && m->at == body.len)
			m->due_ms = w->now_ms + DEADLINE_MS;
		return;
	}
	if (m->answer.endless && m->due_ms < w->now_ms && body.len == 0)
		m->answer.endless = false;
	th_sim_model_drop(r, m);
	th_driver_model_done(r->d, t, &end);
	if (th_sim_chance(&w->random, 8)) {
		(void)!th_driver_model_data(r->d, t, TH_STR("{}"));
		th_driver_model_done(r->d, t, &end);
	}
}

/* A session is opened when its client was greeted, so there is always one; but for one that works
 * on a call. */
static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of_ticket(r, t);

	assert(number < TH_SIM_SESSIONS_MAX);
	if (r->dead)
		return false;
	*ret_journal = th_sim_client_journal(th_sim_client_of(r, number));
	return ret_journal->len > 0 || r->sessions[number].unavailable;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_effect_call *call, bool settle)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of_ticket(r, t);
	struct th_sim_client *client;
	struct th_effect_call what = *call;

	assert(number < TH_SIM_SESSIONS_MAX);
	if (r->dead)
		return;
	client = th_sim_client_of(r, number);
	what.begin &= !r->w->wary;
	if (r->w->variant == TH_SIM_NO_INTENT && th_sim_client_has(client, t))
		return;
	th_sim_say(r->w, "runtime %d %s %.*s %.8s class %s for %s", r->number,
		   settle ? "settles" : "runs", TH_FMT(call->tool), call->effect_id.ptr,
		   th_class_name(call->class), r->w->tasks[number].id);
	th_sim_fault_in(r->w, 6);
	if (th_sim_client_cut(client)) /* the connection is cut: it may or may not have arrived */
		th_sim_check_unresolved(r->w->check, number);
	th_sim_client_run(client, t, &what, settle);
}

static void tool_cancel(void *ctx, struct th_ticket t)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of_ticket(r, t);

	if (!r->dead && number < TH_SIM_SESSIONS_MAX && r->sessions[number].client)
		th_sim_client_cancel(r->sessions[number].client, t);
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *effect_ids, size_t count)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of(r->w, id);

	if (!r->dead && number < TH_SIM_SESSIONS_MAX && r->sessions[number].client)
		th_sim_client_forget(r->sessions[number].client, effect_ids, count);
}

static void fatal(void *ctx, const struct th_err *err)
{
	struct th_sim_runtime *r = ctx;

	if (!r->dead)
		th_sim_say(r->w, "runtime %d must stop: %s", r->number, err->msg);
	r->dying = true;
}

const struct th_world_ops th_sim_world_ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = read_blob,
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
	.child_lease = th_sim_child_lease,
	.child_opened = th_sim_child_opened,
	.child_over = th_sim_child_over,
	.fatal = fatal,
};
