/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/follow.h"

#include <stdio.h>

#include "base/field.h"
#include "base/limits.h"
#include "io/clock.h"
#include "models/model.h"

/* ---- events ---- */

void th_follow_flush(struct th_follow *f)
{
	if (th_show_flush(&f->show) || f->interrupted)
		return;
	f->interrupted = true;
	f->reason = "its output cannot be written";
	th_loop_stop(f->remote->loop);
}

enum th_code th_follow_take(struct th_follow *f, const struct th_event *ev, struct th_err *err)
{
	struct th_effects effects;
	enum th_code code;

	if (ev->seq < f->next)
		return TH_OK; /* it came before the cut */
	if (ev->seq > f->next)
		return th_fail(err, TH_EPROTO, "the server left out event %llu",
			       (unsigned long long)f->next);
	code = th_session_step(&f->fold, ev, &effects, err);
	if (code)
		return th_prefix(err, code, "event %llu", (unsigned long long)ev->seq);
	f->next++;
	if (ev->seq < f->show_from)
		return TH_OK;
	th_show_event(&f->show, th_str_of(f->id), true, ev);
	th_follow_flush(f);
	return TH_OK;
}

static enum th_code take_line(struct th_follow *f, struct th_str line, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_event ev;
	enum th_code code;

	th_arena_init(&a, 2 * TH_EVENT_DATA_MAX);
	code = th_json_parse(line, &doc, err);
	if (!code)
		code = th_event_parse(th_json_root(doc), &a, &ev, err);
	return code ? th_prefix(err, code, "an event of the server") : th_follow_take(f, &ev, err);
}

static void take_delta(struct th_follow *f, struct th_str data)
{
	static const char *const kinds[] = { "text", "reasoning", "refusal", NULL };
	static const enum th_delta_kind as[] = { TH_DELTA_TEXT, TH_DELTA_REASONING,
						 TH_DELTA_REFUSAL };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	int kind;

	if (th_json_parse(data, &doc, NULL) != TH_OK)
		return;
	kind = th_names_find(kinds, th_json_get_str(th_json_root(doc), "kind"));
	if (kind < 0)
		return;
	th_show_delta(&f->show, as[kind], th_json_get_str(th_json_root(doc), "text"));
	th_follow_flush(f);
}

static enum th_code take_frame(struct th_follow *f, const struct th_sse_event *e)
{
	f->tries = 0;
	if (th_str_is(e->name, "delta")) {
		take_delta(f, e->data);
		return TH_OK;
	}
	if (th_str_is(e->name, "lost"))
		return th_fail(&f->err, TH_ECORRUPT,
			       "the server has no event %llu of session %s any more",
			       (unsigned long long)f->next, f->id);
	return take_line(f, e->data, &f->err);
}

/* ---- the stream ---- */

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct th_follow *f = ctx;

	f->good = head->status == 200;
	if (f->good) /* one that takes no requests is as good as gone */
		f->heard_ms = th_clock_ms();
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_follow *f = ctx;
	struct th_sse_event e;
	int got;

	if (!f->good) {
		th_buf_add(&f->refused, bytes);
		return !f->refused.failed;
	}
	f->heard_ms = th_clock_ms();
	while ((got = th_sse_next(&f->sse, &bytes, &e, &f->err)) == 1)
		if (take_frame(f, &e) != TH_OK)
			return false;
	return got == 0;
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct th_follow *f = ctx;

	f->result = *result;
	f->ended = true;
	th_loop_stop(f->remote->loop);
}

static enum th_code pause_there(struct th_follow *f)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&body);
	struct th_remote_request q = { .method = "POST" };
	enum th_code code;

	f->paused = true;
	th_remote_path(&path, th_str_of(f->id), "/pause");
	th_jw_object(&w);
	th_jw_kstr(&w, "reason", th_str_of(f->reason));
	th_jw_object_end(&w);
	q.path = th_buf_str(&path);
	q.body = th_buf_str(&body);
	code = th_remote_call(f->remote, &q, NULL, &f->err);
	if (code == TH_EPROTO) { /* it rests by now: it is left as it is */
		f->err = (struct th_err){};
		return TH_OK;
	}
	return th_prefix(&f->err, code, "session %s was not paused and goes on", f->id);
}

/* One stream, from the next event on until it ends.  Not OK: it is of no use to try again. */
static enum th_code stream(struct th_follow *f)
{
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
	char last[24];
	struct th_fetch_header headers[] = { { "Accept", TH_STR("text/event-stream") },
					     { "Last-Event-ID", {} } };
	struct th_fetch_request q = {
		.method = "GET",
		.headers = headers,
		.header_count = 2,
		.secret = f->remote->place.token,
		.unix_path = f->remote->place.unix_path,
		.connect_ms = TH_REMOTE_CONNECT_MS,
		.byte_idle_ms = TH_REMOTE_SILENT_MS,
		.body_max = SIZE_MAX,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = f,
	};
	struct th_fetch_id id;
	enum th_code code;

	snprintf(last, sizeof(last), "%llu", (unsigned long long)(f->next - 1));
	headers[1].value = th_str_of(last);
	th_buf_add(&url, th_buf_str(&f->remote->place.url));
	th_remote_path(&url, th_str_of(f->id), "/events?until=rest");
	if (f->job->output != TH_OUTPUT_VIEW || !th_view_streams(f->show.view))
		th_buf_add_cstr(&url, "&deltas=false");
	q.url = th_buf_str(&url);
	th_sse_init(&f->sse, 2 * TH_EVENT_DATA_MAX);
	th_buf_init(&f->refused, 64 * TH_KIB);
	f->good = f->ended = false;
	code = th_fetch_start(f->remote->fetcher, &q, &id, &f->err);
	while (!code && !f->ended) {
		if (f->interrupted && !f->paused)
			code = pause_there(f);
		else
			th_loop_run(f->remote->loop);
	}
	if (!code && f->result.end == TH_FETCH_STATUS && f->result.head.status != 429 &&
	    f->result.head.status < 500)
		code = th_remote_fault(f->remote, &f->result, th_buf_str(&f->refused), &f->err);
	if (!f->ended)
		th_fetch_cancel(f->remote->fetcher, id);
	th_sse_deinit(&f->sse);
	th_buf_deinit(&f->refused);
	return code ?: f->err.code;
}

static void on_time(void *ctx)
{
	th_loop_stop(ctx);
}

void th_follow_wait(struct th_remote *r, unsigned tries, int64_t asked_ms)
{
	uint64_t ms = TH_REMOTE_AGAIN_MS << TH_MIN(tries, 10u);
	struct th_timer timer = {};
	uint32_t random;

	ms = TH_MIN(ms, (uint64_t)TH_REMOTE_AGAIN_MAX_MS);
	if (asked_ms > 0)
		ms = TH_MIN((uint64_t)asked_ms, (uint64_t)TH_REMOTE_WAIT_MAX_MS);
	th_random(&random, sizeof(random));
	th_timer_init(&timer, r->loop, on_time, r->loop);
	th_timer_start(&timer, ms + random % (ms / 4 + 1), 0);
	th_loop_run(r->loop);
	th_timer_stop(&timer);
}

enum th_code th_follow(struct th_follow *f, uint64_t past)
{
	enum th_code code;

	f->heard_ms = th_clock_ms();
	f->tries = 0;
	for (;;) {
		bool whole;

		code = stream(f);
		if (code)
			return code;
		whole = f->result.end == TH_FETCH_OK;
		if (whole && f->next >= past && th_session_rests(&f->fold))
			return TH_OK;
		if (th_clock_ms() - f->heard_ms > TH_REMOTE_AWAY_MS) {
			(void)th_remote_fault(f->remote, &f->result, TH_STR(""), &f->err);
			return th_prefix(&f->err, f->err.code,
					 "session %s is followed no more (thole resume goes on)",
					 f->id);
		}
		th_follow_wait(f->remote, f->tries++, f->result.head.retry_after_ms);
		if (f->interrupted && !f->paused && pause_there(f))
			return f->err.code;
	}
}
