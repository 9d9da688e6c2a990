/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening.c - logs that are read a piece at a time beside the loop: of stored sessions
 * that are opened, and of open ones whose driver wants to read theirs (world.h: log_ask).
 */
#include <stdlib.h>

#include "runtime/internal.h"
#include "runtime/log_feed.h"

/* ---- a session is opened ---- */

struct th_runtime_opening {
	struct th_runtime_session *session;
	struct th_opening *opening; /* the driver's */
	th_opened_fn *opened;
	struct th_log_feed *feed;
};

static bool opening_wants(void *ctx, uint64_t *ret_from, uint64_t *ret_to)
{
	const struct th_runtime_opening *o = ctx;

	return th_driver_open_wants(o->opening, ret_from, ret_to);
}

static enum th_code opening_take(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	struct th_runtime_opening *o = ctx;

	return th_driver_open_take(o->opening, ev, digest, err);
}

static enum th_code opening_next(void *ctx, struct th_err *err)
{
	struct th_runtime_opening *o = ctx;

	return th_driver_open_next(o->opening, err);
}

static void opening_over(void *ctx, const struct th_err *err)
{
	struct th_runtime_opening *o = ctx;
	struct th_runtime_session *s = o->session;
	th_opened_fn *opened = o->opened;

	if (err)
		th_driver_open_drop(o->opening);
	else
		s->handle = th_driver_open_end(o->opening);
	s->opening = NULL;
	free(o);
	opened(s, err);
}

static const struct th_log_taker opening_taker = {
	.wants = opening_wants,
	.take = opening_take,
	.next = opening_next,
	.over = opening_over,
};

enum th_code th_runtime_open_begin(struct th_runtime_session *s, th_session_config_fn *fit,
				   th_opened_fn *opened, struct th_err *err)
{
	struct th_runtime_opening *o = th_alloc(sizeof(*o));
	enum th_code code;

	*o = (struct th_runtime_opening){ .session = s, .opened = opened };
	code = th_driver_open_begin(s->rt->driver, &s->row, fit, s, &s->observer, &o->opening, err);
	if (!code) {
		code = th_log_feed_begin(s->rt->loop, s->rt->reader, s->id, &opening_taker, o,
					 &o->feed, err);
		if (code)
			th_driver_open_drop(o->opening);
	}
	if (code) {
		free(o);
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
	th_log_feed_drop(o->feed);
	th_driver_open_drop(o->opening);
	free(o);
}

/* ---- an open one ---- */

struct th_runtime_log {
	struct th_runtime_session *session;
	struct th_ticket ticket;
	struct th_log_feed *feed;
};

static bool log_wants(void *ctx, uint64_t *ret_from, uint64_t *ret_to)
{
	const struct th_runtime_log *g = ctx;

	return th_driver_log_wants(g->session->rt->driver, g->ticket, ret_from, ret_to);
}

static enum th_code log_take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	const struct th_runtime_log *g = ctx;

	return th_driver_log_take(g->session->rt->driver, g->ticket, ev, digest, err);
}

static enum th_code log_next(void *ctx, struct th_err *err)
{
	const struct th_runtime_log *g = ctx;

	return th_driver_log_next(g->session->rt->driver, g->ticket, err);
}

static void log_over(void *ctx, const struct th_err *err)
{
	struct th_runtime_log *g = ctx;
	struct th_runtime_session *s = g->session;
	struct th_ticket t = g->ticket;

	s->log = NULL;
	free(g);
	th_driver_log_end(s->rt->driver, t, err);
}

static const struct th_log_taker log_taker = {
	.wants = log_wants,
	.take = log_take,
	.next = log_next,
	.over = log_over,
};

enum th_code th_world_log_ask(void *ctx, struct th_ticket t, struct th_err *err)
{
	struct th_runtime_session *s = th_runtime_find(ctx, t.index, t.generation);
	struct th_runtime_log *g;
	enum th_code code;

	if (!s)
		return th_fail(err, TH_ENOENT, "no such session is open");
	assert(!s->log);
	g = th_alloc(sizeof(*g));
	*g = (struct th_runtime_log){ .session = s, .ticket = t };
	code = th_log_feed_begin(s->rt->loop, s->rt->reader, s->id, &log_taker, g, &g->feed, err);
	if (code)
		free(g);
	else
		s->log = g;
	return code;
}

void th_runtime_log_drop(struct th_runtime_session *s)
{
	if (!s->log)
		return;
	th_log_feed_drop(s->log->feed);
	free(s->log);
	s->log = NULL;
}

void th_world_log_cancel(void *ctx, struct th_ticket t)
{
	struct th_runtime_session *s = th_runtime_find(ctx, t.index, t.generation);

	if (s && s->log && th_ticket_eq(s->log->ticket, t))
		th_runtime_log_drop(s);
}
