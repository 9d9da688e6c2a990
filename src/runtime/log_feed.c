/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/log_feed.h"

#include <stdlib.h>

#include "base/arena.h"

struct th_log_feed {
	struct th_read job;
	struct th_loop *loop;
	struct th_reader *reader;
	const struct th_log_taker *taker; /* NULL: it was dropped */
	void *ctx;
	struct th_deferred step;
	bool asked; /* the reader has the job */
	/* The thread's while the reader has the job: a piece of the log. */
	struct th_log_read log;
	struct th_arena memory;
	size_t at, id_len;
	struct th_event events[TH_READ_PIECE_EVENTS];
	struct th_digest digests[TH_READ_PIECE_EVENTS];
	char id[TH_SESSION_ID_MAX];
};

static void feed_free(struct th_log_feed *f)
{
	th_arena_deinit(&f->memory);
	free(f);
}

/* ---- on the thread ---- */

static enum th_code take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			 struct th_err *err)
{
	struct th_log_feed *f = ctx;
	struct th_event *copy = &f->events[f->log.count];

	*copy = *ev;
	copy->call = th_arena_str(&f->memory, ev->call);
	copy->data = th_arena_str(&f->memory, ev->data);
	copy->build = th_arena_str(&f->memory, ev->build);
	if (!copy->call.ptr || !copy->data.ptr || !copy->build.ptr)
		return th_fail_memory(err);
	f->digests[f->log.count] = *digest;
	f->log.bytes += ev->data.len;
	return TH_OK;
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct th_log_feed *f = TH_CONTAINER_OF(job, struct th_log_feed, job);

	th_arena_reset(&f->memory);
	return th_log_read_next(&f->log, store, th_str_n(f->id, f->id_len), err);
}

/* ---- on the loop ---- */

static void end(struct th_log_feed *f, const struct th_err *err)
{
	const struct th_log_taker *taker = f->taker;
	void *ctx = f->ctx;

	feed_free(f);
	taker->over(ctx, err);
}

/* Asks for the next piece, if there is one: f->asked. */
static enum th_code ask(struct th_log_feed *f, struct th_err *err)
{
	enum th_code code = TH_OK;
	uint64_t from, to;

	while (f->log.over && !code && f->taker->wants(f->ctx, &from, &to)) {
		f->log.next = from;
		f->log.to = to;
		f->log.over = from > to; /* nothing is to be read in between */
		if (f->log.over)
			code = f->taker->next(f->ctx, err);
	}
	if (code || f->log.over)
		return code;
	code = th_reader_ask(f->reader, &f->job, err);
	f->asked = !code;
	return code;
}

/* Some events of the piece: a pass of the loop is short. */
static void on_step(void *ctx)
{
	struct th_log_feed *f = ctx;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_OPEN_PASS_EVENTS && f->at < f->log.count && !code; i++, f->at++)
		code = f->taker->take(f->ctx, &f->events[f->at], &f->digests[f->at], &err);
	if (!code && f->at < f->log.count) {
		th_loop_defer(f->loop, &f->step);
		return;
	}
	if (!code && f->log.over)
		code = f->taker->next(f->ctx, &err);
	if (!code)
		code = ask(f, &err);
	if (code || !f->asked)
		end(f, code ? &err : NULL);
}

static void on_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct th_log_feed *f = TH_CONTAINER_OF(job, struct th_log_feed, job);

	f->asked = false;
	job->goes_on = true; /* half of a log is worth nothing, and an open session would be lost */
	if (code) {
		end(f, err);
		return;
	}
	f->at = 0;
	on_step(f);
}

static void on_drop(struct th_read *job)
{
	feed_free(TH_CONTAINER_OF(job, struct th_log_feed, job));
}

enum th_code th_log_feed_begin(struct th_loop *loop, struct th_reader *reader,
			       struct th_str session_id, const struct th_log_taker *taker,
			       void *ctx, struct th_log_feed **ret, struct th_err *err)
{
	struct th_log_feed *f = th_alloc(sizeof(*f));
	enum th_code code;

	assert(session_id.len <= sizeof(f->id));
	*f = (struct th_log_feed){ .job = { .run = run, .done = on_done, .drop = on_drop },
				   .loop = loop,
				   .reader = reader,
				   .taker = taker,
				   .ctx = ctx };
	f->step = (struct th_deferred){ .fn = on_step, .ctx = f };
	th_arena_init_try(&f->memory, TH_READ_PIECE_BYTES + 2 * TH_EVENT_DATA_MAX);
	f->id_len = session_id.len;
	memcpy(f->id, session_id.ptr, session_id.len);
	f->log = (struct th_log_read){ .over = true, .take = take, .ctx = f };
	code = ask(f, err);
	if (code) {
		feed_free(f);
		return code;
	}
	assert(f->asked);
	*ret = f;
	return TH_OK;
}

struct th_log_feed *th_log_feed_drop(struct th_log_feed *f)
{
	if (!f)
		return NULL;
	th_loop_undefer(f->loop, &f->step);
	if (f->asked)
		th_reader_cancel(&f->job);
	else
		feed_free(f);
	return NULL;
}
