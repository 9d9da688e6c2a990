/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening.c - stored sessions with a long log are opened a piece at a time: the
 * log is read beside the loop, and other sessions have their turns in between.
 */
#include <stdlib.h>

#include "runtime/internal.h"

struct th_runtime_opening {
	struct th_read job;
	struct th_runtime_session *session; /* NULL: it was given up */
	struct th_opening *opening;         /* the driver's */
	th_opened_fn *opened;
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

static void opening_free(struct th_runtime_opening *o)
{
	th_arena_deinit(&o->memory);
	free(o);
}

/* ---- on the thread ---- */

static enum th_code take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			 struct th_err *err)
{
	struct th_runtime_opening *o = ctx;
	struct th_event *copy = &o->events[o->log.count];

	*copy = *ev;
	copy->call = th_arena_str(&o->memory, ev->call);
	copy->data = th_arena_str(&o->memory, ev->data);
	copy->build = th_arena_str(&o->memory, ev->build);
	if (!copy->call.ptr || !copy->data.ptr || !copy->build.ptr)
		return th_fail_memory(err);
	o->digests[o->log.count] = *digest;
	o->log.bytes += ev->data.len;
	return TH_OK;
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct th_runtime_opening *o = TH_CONTAINER_OF(job, struct th_runtime_opening, job);

	th_arena_reset(&o->memory);
	return th_log_read_next(&o->log, store, th_str_n(o->id, o->id_len), err);
}

/* ---- on the loop ---- */

static void fail(struct th_runtime_opening *o, const struct th_err *err)
{
	struct th_runtime_session *s = o->session;
	th_opened_fn *opened = o->opened;

	th_driver_open_drop(o->opening);
	s->opening = NULL;
	opening_free(o);
	opened(s, err);
}

/* Asks for the next piece, if there is one: o->asked. */
static enum th_code ask(struct th_runtime_opening *o, struct th_err *err)
{
	enum th_code code = TH_OK;
	uint64_t from, to;

	while (o->log.over && !code && th_driver_open_wants(o->opening, &from, &to)) {
		o->log.next = from;
		o->log.to = to;
		o->log.over = from > to; /* nothing is to be read in between */
		if (o->log.over)
			code = th_driver_open_next(o->opening, err);
	}
	if (code || o->log.over)
		return code;
	code = th_reader_ask(o->session->rt->reader, &o->job, err);
	o->asked = !code;
	return code;
}

static void go_on(struct th_runtime_opening *o)
{
	struct th_runtime_session *s = o->session;
	th_opened_fn *opened = o->opened;
	struct th_err err = { 0 };
	enum th_code code = ask(o, &err);

	if (!code && !o->asked) {
		s->handle = th_driver_open_end(o->opening);
		s->opening = NULL;
		opening_free(o);
		opened(s, NULL);
		return;
	}
	if (code)
		fail(o, &err);
}

/* Some events of the piece: a pass of the loop is short. */
static void on_step(void *ctx)
{
	struct th_runtime_opening *o = ctx;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_OPEN_PASS_EVENTS && o->at < o->log.count && !code; i++, o->at++)
		code = th_driver_open_take(o->opening, &o->events[o->at], &o->digests[o->at], &err);
	if (!code && o->at < o->log.count) {
		th_loop_defer(o->session->rt->loop, &o->step);
		return;
	}
	if (!code && o->log.over)
		code = th_driver_open_next(o->opening, &err);
	if (code)
		fail(o, &err);
	else
		go_on(o);
}

static void on_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct th_runtime_opening *o = TH_CONTAINER_OF(job, struct th_runtime_opening, job);

	o->asked = false;
	if (code) {
		fail(o, err);
		return;
	}
	o->at = 0;
	on_step(o);
}

static void on_drop(struct th_read *job)
{
	struct th_runtime_opening *o = TH_CONTAINER_OF(job, struct th_runtime_opening, job);

	opening_free(o); /* the session is gone, and the driver's part with it */
}

enum th_code th_runtime_open_begin(struct th_runtime_session *s, th_session_config_fn *fit,
				   th_opened_fn *opened, struct th_err *err)
{
	struct th_runtime_opening *o = th_alloc(sizeof(*o));
	enum th_code code =
	    th_driver_open_begin(s->rt->driver, &s->row, fit, s, &s->observer, &o->opening, err);

	if (code) {
		free(o);
		return code;
	}
	o->job = (struct th_read){ .run = run, .done = on_done, .drop = on_drop };
	o->step = (struct th_deferred){ .fn = on_step, .ctx = o };
	o->session = s;
	o->opened = opened;
	th_arena_init_try(&o->memory, TH_READ_PIECE_BYTES + 2 * TH_EVENT_DATA_MAX);
	o->id_len = s->id.len;
	memcpy(o->id, s->id.ptr, s->id.len);
	o->log = (struct th_log_read){ .over = true, .take = take, .ctx = o };
	code = ask(o, err);
	if (code) {
		th_driver_open_drop(o->opening);
		opening_free(o);
		return code;
	}
	s->opening = o;
	return TH_OK;
}

void th_runtime_open_drop(struct th_runtime_session *s)
{
	struct th_runtime_opening *o = s->opening;

	if (!o)
		return;
	s->opening = NULL;
	o->opening = th_driver_open_drop(o->opening);
	o->session = NULL;
	th_loop_undefer(s->rt->loop, &o->step);
	if (o->asked)
		th_reader_cancel(&o->job);
	else
		opening_free(o);
}
