/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - one loop, one store, one driver: the runtime, and the world's clock,
 * chance and store.
 */
#include "runtime/internal.h"
#include "runtime/own_tools.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/label.h"
#include "io/clock.h"
#include "io/role.h"
#include "runtime/given.h"
#include "runtime/mcp.h"
#include "runtime/screen.h"
#include "stores/stores.h"

/* ---- the world: time, chance, store ------------------------------------------------------- */

static int64_t world_now(void *ctx)
{
	(void)ctx;
	return (int64_t)th_clock_wall_ms();
}

/* Ids, not secrets: drawn from the kernel a page at a time. */
static void world_random(void *ctx, void *ptr, size_t len)
{
	struct th_runtime *rt = ctx;

	assert(len <= TH_RANDOM_POOL);
	if (rt->random_left < len) {
		th_random(rt->random, TH_RANDOM_POOL);
		rt->random_left = TH_RANDOM_POOL;
	}
	memcpy(ptr, rt->random + TH_RANDOM_POOL - rt->random_left, len);
	rt->random_left -= len;
}

static void on_flush(void *ctx)
{
	struct th_runtime *rt = ctx;

	th_driver_flush(rt->driver);
}

static void world_flush_soon(void *ctx)
{
	struct th_runtime *rt = ctx;

	th_loop_defer(rt->loop, &rt->flush);
}

static void on_timer(void *ctx)
{
	struct th_runtime_session *s = ctx;

	th_driver_timer(s->rt->driver, s->timer_ticket);
}

static void on_wait(void *ctx)
{
	struct th_runtime_session *s = ctx;

	th_driver_timer(s->rt->driver, s->wait_ticket);
}

static void world_timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct th_runtime_session *s = th_runtime_find(ctx, t.index, t.generation);

	if (!s)
		return;
	if (t.kind == TH_TICKET_WAIT) {
		s->wait_ticket = t;
		if (!s->wait.loop)
			th_timer_init(&s->wait, s->rt->loop, on_wait, s);
		th_timer_start(&s->wait, (uint64_t)delay_ms, 0);
		return;
	}
	s->timer_ticket = t;
	if (!s->timer.loop)
		th_timer_init(&s->timer, s->rt->loop, on_timer, s);
	th_timer_start(&s->timer, (uint64_t)delay_ms, 0);
}

struct commit {
	struct th_runtime *rt;
	th_commit_fn *done;
	void *ctx;
};

static void on_committed(void *ctx, struct th_batch *batch, enum th_code code,
			 const struct th_err *err)
{
	struct commit *c = ctx;
	struct th_runtime *rt = c->rt;

	c->done(c->ctx, batch, code, err);
	free(c);
	th_human_model_committed(rt->person);
	if (rt->settling && th_driver_idle(rt->driver))
		th_loop_stop(rt->loop);
}

static void world_commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct th_runtime *rt = ctx;
	struct commit *c = th_alloc(sizeof(*c));

	*c = (struct commit){ rt, done, done_ctx };
	rt->store->kind->commit(rt->store, batch, on_committed, c);
}

static enum th_code world_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			       struct th_err *err)
{
	struct th_runtime *rt = ctx;

	return rt->store->kind->blob(rt->store, hash, out, err);
}

/* A blob that is read beside the loop. */
struct blob_read {
	struct th_read job;
	struct th_runtime *rt;
	struct th_digest hash;
	struct th_buf bytes;
};

static void blob_drop(struct th_read *job)
{
	struct blob_read *b = TH_CONTAINER_OF(job, struct blob_read, job);

	th_buf_deinit(&b->bytes);
	free(b);
}

static enum th_code blob_run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct blob_read *b = TH_CONTAINER_OF(job, struct blob_read, job);

	return store->kind->blob(store, &b->hash, &b->bytes, err);
}

static void blob_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct blob_read *b = TH_CONTAINER_OF(job, struct blob_read, job);

	th_driver_blob_here(b->rt->driver, &b->hash, th_buf_str(&b->bytes), code ? err : NULL);
	blob_drop(job);
}

static enum th_code world_blob_ask(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct th_runtime *rt = ctx;
	struct blob_read *b;
	enum th_code code;

	/* It would run on the loop all the same. */
	if (rt->store->kind->single)
		return th_fail(err, TH_EUNSUPPORTED, "the store is this process's memory");
	b = th_alloc(sizeof(*b));
	b->job.run = blob_run;
	b->job.done = blob_done;
	b->job.drop = blob_drop;
	b->rt = rt;
	b->hash = *hash;
	th_buf_init(&b->bytes, TH_BLOB_MAX);
	code = th_reader_ask(rt->blob_reader, &b->job, err);
	if (code)
		blob_drop(&b->job);
	return code;
}

static enum th_code world_read(void *ctx, struct th_str session_id, uint64_t from, uint64_t to,
			       th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct th_runtime *rt = ctx;

	return rt->store->kind->read(rt->store, session_id, from, to, fn, fn_ctx, err);
}

static void world_fatal(void *ctx, const struct th_err *err)
{
	struct th_runtime *rt = ctx;

	rt->failed = true;
	rt->failure = *err;
}

/* The store is another's: no effect begins, and what was under way is not written. */
static void on_lost(void *ctx)
{
	struct th_runtime *rt = ctx;

	if (!rt->failed)
		(void)th_fail(&rt->failure, TH_EFENCED,
			      "the lease of this runtime on its sessions was not renewed in time");
	rt->failed = true;
	th_driver_lose_all(rt->driver, &rt->failure);
	th_loop_stop(rt->loop);
}

static void on_store_lost(void *ctx, const struct th_err *err)
{
	world_fatal(ctx, err);
	on_lost(ctx);
}

static void on_store_told(void *ctx, const struct th_err *why)
{
	struct th_runtime *rt = ctx;

	if (rt->left && !rt->failed)
		rt->left(rt->left_ctx, why);
}

void th_runtime_when_left(struct th_runtime *rt, th_store_heard_fn *fn, void *ctx)
{
	rt->left = fn;
	rt->left_ctx = ctx;
}

bool th_runtime_holds(struct th_runtime *rt)
{
	if (!rt->failed && th_store_holds(rt->store))
		return true;
	th_loop_defer(rt->loop, &rt->lost);
	return false;
}

static const struct th_world_ops world_ops = {
	.now_ms = world_now,
	.random = world_random,
	.flush_soon = world_flush_soon,
	.timer = world_timer,
	.commit = world_commit,
	.blob = world_blob,
	.blob_ask = world_blob_ask,
	.read = world_read,
	.log_ask = th_world_log_ask,
	.log_cancel = th_world_log_cancel,
	.model_call = th_world_model_call,
	.model_alive = th_world_model_alive,
	.model_cancel = th_world_model_cancel,
	.tool_ready = th_world_tool_ready,
	.tool_place = th_world_tool_place,
	.tool_run = th_world_tool_run,
	.tool_cancel = th_world_tool_cancel,
	.tool_host = th_world_tool_host,
	.tool_forget = th_world_tool_forget,
	.child_lease = th_world_child_lease,
	.child_opened = th_world_child_opened,
	.child_over = th_world_child_over,
	.fatal = world_fatal,
};

/* ---- runtimes ----------------------------------------------------------------------------- */

static enum th_code add_own_tools(struct th_runtime *rt, struct th_err *err)
{
	struct th_tool_row rows[TH_OWN_TOOLS];
	enum th_code code = TH_OK;

	th_own_tools(rt, &rt->schemas.memory, rows);
	for (size_t i = 0; i < TH_OWN_TOOLS && !code; i++)
		code = th_runtime_tool(rt, &rows[i], err);
	return code;
}

enum th_code th_runtime_new(const struct th_runtime_options *options, struct th_runtime **ret,
			    struct th_err *err)
{
	struct th_runtime *rt = th_alloc(sizeof(*rt));
	struct th_world world = { &world_ops, rt };
	struct th_store_options so = {
		.create = options->store_create,
		.read_only = options->store_read_only,
		.lost = on_store_lost,
		.lost_ctx = rt,
		.told = on_store_told,
		.told_ctx = rt,
	};
	/* Before anything is opened that could get the number of a closed descriptor. */
	bool person = options->person && th_human_model_behind(options->person_in);
	int person_in = person ? options->person_in : -1;
	enum th_code code = th_role_check(err);

	rt->loop = options->loop;
	th_arena_init(&rt->schemas.memory, TH_JSON_SIZE_MAX);
	rt->config = options->config;
	rt->no_sandbox = options->no_sandbox;
	rt->program = options->program ? strdup(options->program) : NULL;
	/* What this pass has still to say goes with it. */
	rt->flush = (struct th_deferred){ .fn = on_flush, .ctx = rt, .last = true };
	rt->lost = (struct th_deferred){ .fn = on_lost, .ctx = rt };
	rt->reap = (struct th_deferred){ .fn = th_runtime_reap, .ctx = rt };
	if (!code && !rt->loop) {
		code = th_loop_new(&rt->loop, err);
		rt->own_loop = !code;
	}
	so.loop = rt->loop;
	if (!code)
		code = th_store_open(options->store_url, &so, &rt->store, err);
	if (!code) {
		rt->reader = th_reader_new(rt->loop, rt->store, options->store_url);
		rt->long_reader = th_reader_new(rt->loop, rt->store, options->store_url);
		rt->blob_reader = th_reader_new(rt->loop, rt->store, options->store_url);
		rt->writer = th_reader_new(rt->loop, rt->store, TH_STR(""));
		if (!rt->reader || !rt->long_reader || !rt->blob_reader || !rt->writer)
			code = th_fail_memory(err);
	}
	if (!code) {
		rt->leases = th_leases_new(rt->loop, rt->store, rt->writer);
		rt->reservations = th_reservations_new(rt->loop, rt->store, rt->writer);
	}
	th_buf_init(&rt->scope, 2 * TH_PATH_LEN_MAX);
	th_buf_init(&rt->labels, TH_LABELS_TEXT_MAX);
	if (!code)
		code = th_store_scope(options->store_url, &rt->scope, err);
	if (!code)
		code = th_fetcher_new(rt->loop, &rt->fetcher, err);
	if (!code && rt->config && rt->config->otlp.len && !options->store_read_only) {
		const struct th_otlp_options oo = { .url = rt->config->otlp,
						    .header = rt->config->otlp_header,
						    .secret = rt->config->otlp_secret };

		code = th_otlp_new(rt->loop, rt->fetcher, &oo, &rt->otlp, err);
	}
	if (!code)
		th_runtime_human_model(rt, options, person_in);
	if (!code)
		code = add_own_tools(rt, err);
	rt->driver = th_driver_new(&world, TH_STR(TH_VERSION));
	if (!rt->driver && !code)
		code = th_fail_memory(err);
	if (code)
		rt = th_runtime_free(rt);
	*ret = rt;
	return code;
}

struct th_runtime *th_runtime_free(struct th_runtime *rt)
{
	struct th_err err;

	if (!rt)
		return NULL;
	while (rt->sessions) {
		struct th_runtime_session *s = rt->sessions;

		if (s->handle.generation)
			th_runtime_close(rt, s->handle, false);
		else
			th_runtime_session_free(s);
	}
	if (rt->loop && rt->store && !rt->failed && th_runtime_settle(rt, &err))
		rt->failed = true;
	if (rt->loop)
		th_runtime_executor_ended(rt, (struct th_str){});
	th_runtime_given_free(rt);
	rt->leases = th_leases_free(rt->leases);
	rt->reservations = th_reservations_free(rt->reservations);
	rt->writer = th_reader_free(rt->writer);
	rt->reader = th_reader_free(rt->reader);
	rt->long_reader = th_reader_free(rt->long_reader);
	rt->blob_reader = th_reader_free(rt->blob_reader);
	th_screens_end(rt);
	th_loop_undefer(rt->loop, &rt->flush);
	th_loop_undefer(rt->loop, &rt->reap);
	th_loop_undefer(rt->loop, &rt->lost);
	rt->person = th_human_model_free(rt->person);
	if (rt->otlp && rt->own_loop)
		th_otlp_drain(rt->otlp, TH_OTLP_END_MS);
	rt->otlp = th_otlp_free(rt->otlp);
	if (rt->own_loop && rt->mcp)
		th_runtime_mcp_drain(rt);
	rt->fetcher = th_fetcher_free(rt->fetcher);
	rt->store = th_store_close(rt->store);
	rt->driver = th_driver_free(rt->driver);
	if (rt->own_loop)
		rt->loop = th_loop_free(rt->loop);
	free(rt->by_index);
	th_arena_deinit(&rt->schemas.memory);
	free(rt->tools);
	free(rt->program);
	th_tls_config_free(rt->far_tls);
	th_buf_deinit(&rt->scope);
	th_buf_deinit(&rt->labels);
	free(rt);
	return NULL;
}

struct th_loop *th_runtime_loop(struct th_runtime *rt)
{
	return rt->loop;
}

struct th_store *th_runtime_store(struct th_runtime *rt)
{
	return rt->store;
}

struct th_driver *th_runtime_driver(struct th_runtime *rt)
{
	return rt->driver;
}

struct th_reader *th_runtime_reader(struct th_runtime *rt)
{
	return rt->reader;
}

struct th_reader *th_runtime_long_reader(struct th_runtime *rt)
{
	return rt->long_reader;
}

struct th_reader *th_runtime_blob_reader(struct th_runtime *rt)
{
	return rt->blob_reader;
}

struct th_reader *th_runtime_writer(struct th_runtime *rt)
{
	return rt->writer;
}

struct th_reservations *th_runtime_reservations(struct th_runtime *rt)
{
	return rt->reservations;
}

enum th_code th_runtime_tool(struct th_runtime *rt, const struct th_tool_row *row,
			     struct th_err *err)
{
	if (rt->tool_count == TH_AGENT_TOOLS_MAX)
		return th_fail(err, TH_ELIMIT, "a runtime has at most %d tools of its own",
			       TH_AGENT_TOOLS_MAX);
	rt->tools = th_realloc(rt->tools, (rt->tool_count + 1) * sizeof(*rt->tools));
	rt->tools[rt->tool_count++] = *row;
	return TH_OK;
}

const struct th_err *th_runtime_failure(const struct th_runtime *rt)
{
	return rt->failed ? &rt->failure : NULL;
}

enum th_code th_runtime_settle(struct th_runtime *rt, struct th_err *err)
{
	rt->settling = true;
	while (!rt->failed && !th_driver_idle(rt->driver))
		th_loop_run(rt->loop);
	rt->settling = false;
	if (!rt->failed)
		return TH_OK;
	*err = rt->failure;
	return rt->failure.code;
}
