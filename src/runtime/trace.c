/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - each task that ends is sent as a trace, where that is wanted.
 */
#include "trace/trace.h"
#include "runtime/internal.h"

static enum th_code trace_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	(void)err;
	th_trace_event(ctx, ev);
	return TH_OK;
}

/* A task that is over, as the log has it.  What cannot be read or sent is no reason to fail. */
static void send_trace(struct th_runtime_session *s, const struct th_session *fold)
{
	struct th_str by = th_delegated_by(th_driver_metadata(s->rt->driver, s->handle));
	struct th_trace_origin origin;
	bool works = th_trace_origin_read(by, &origin);
	struct th_trace trace;
	struct th_buf body = TH_BUF_INIT(TH_TRACE_BODY_MAX);
	struct th_err ignored;

	th_trace_init(&trace);
	trace.agent_name = fold->agent_name;
	if (!s->rt->store->kind->read(s->rt->store, s->id, fold->task_seq, 0, trace_event, &trace,
				      &ignored) &&
	    th_trace_otlp(&trace, s->id, works ? &origin : NULL, fold->task_seq, TH_STR(TH_VERSION),
			  &body) > 0 &&
	    !th_buf_check(&body, "a trace", &ignored))
		th_otlp_send(s->rt->otlp, th_buf_str(&body));
	th_trace_deinit(&trace);
	th_buf_deinit(&body);
}

void th_runtime_session_trace(struct th_runtime_session *s, const struct th_session *fold)
{
	if (s->rt->otlp && fold->task_seq)
		send_trace(s, fold);
}

static void watched_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	struct th_runtime_session *s = ctx;

	s->watcher.event(s->watcher.ctx, h, ev);
}

static void watched_delta(void *ctx, struct th_handle h, enum th_delta_kind kind,
			  struct th_str text)
{
	struct th_runtime_session *s = ctx;

	s->watcher.delta(s->watcher.ctx, h, kind, text);
}

static void watched_progress(void *ctx, struct th_handle h, struct th_str tool, struct th_str bytes)
{
	struct th_runtime_session *s = ctx;

	s->watcher.progress(s->watcher.ctx, h, tool, bytes);
}

/* The session may be closed by the caller's, so that one is called last. */
static void watched_rest(void *ctx, struct th_handle h, const struct th_session *fold,
			 const struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	struct th_observer watcher = s->watcher;

	if (!err && fold->task_seq && fold->state != TH_STATE_WAITING &&
	    !th_state_holds(fold->state) && fold->state != TH_STATE_IDLE)
		send_trace(s, fold);
	if (watcher.rest)
		watcher.rest(watcher.ctx, h, fold, err);
}

void th_runtime_session_watch(struct th_runtime_session *s, const struct th_observer *observer)
{
	s->observer = s->watcher = *observer;
	if (s->rt->otlp)
		s->observer = (struct th_observer){
			.event = observer->event ? watched_event : NULL,
			.delta = observer->delta ? watched_delta : NULL,
			.progress = observer->progress ? watched_progress : NULL,
			.rest = watched_rest,
			.ctx = s,
		};
}
