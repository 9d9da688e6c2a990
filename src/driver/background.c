/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.c - answers that the provider works on by itself.
 *
 * The request is sent once; as soon as its answer has an id, MODEL_STARTED has
 * it too.  From then on a cut connection, a pause or a crash costs nothing: the
 * next request of the turn fetches the answer by its id.  One that was streamed
 * is taken up where its events began, so that the decoder has heard all of it
 * and who watches sees it come; should that bring no end of it, and where it
 * was never streamed, it is looked at again after a while, which is no event.
 */
#include "driver/background.h"

#include "live/log.h"
#include "model_wire/frame.h"

#define END_MS 10000

bool th_live_background(const struct th_live *l)
{
	const struct th_agent_model_settings *s = l->session_config->agent->settings;

	return s && s->background && l->resolved->profile->wire->background_path;
}

/* It becomes a part of a path, and comes from outside. */
static bool is_id(struct th_str id)
{
	for (size_t i = 0; i < id.len; i++) {
		char c = id.ptr[i];

		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		      c == '_' || c == '-'))
			return false;
	}
	return id.len > 0 && id.len <= TH_RESPONSE_ID_MAX;
}

void th_live_started(struct th_live *l, struct th_str id, int64_t next_event)
{
	struct th_ev_model_started d = { .response_id = id, .next_event = next_event };

	if (!th_live_background(l) || l->fold.started.len || l->fold.phase != TH_TURN_REQUESTED ||
	    !is_id(id))
		return;
	th_live_write_event(l, TH_EV_MODEL_STARTED, TH_SOURCE_ENVIRONMENT, l->fold.request_seq,
			    TH_STR(""), &d);
}

bool th_live_unfinished(const struct th_live *l, const struct th_answer *a)
{
	return l->fold.started.len && a->status == TH_ANSWER_INCOMPLETE &&
	       (th_str_is(a->reason, "queued") || th_str_is(a->reason, "in_progress"));
}

static void background_path(const struct th_live *l, int64_t next_event, struct th_buf *out)
{
	l->resolved->profile->wire->background_path(th_buf_str(&l->fold.started), next_event, out);
}

static struct th_model_call call_of(const struct th_live *l, const struct th_buf *path,
				    const struct th_buf *headers)
{
	return (struct th_model_call){
		.profile = l->resolved->profile,
		.base_url = l->resolved->base_url,
		.agent = l->speaks,
		.model_at = l->model_at,
		.path = th_buf_str(path),
		.headers = th_buf_str(headers),
		.settings = l->session_config->agent->settings,
	};
}

enum th_code th_live_fetch(struct th_live *l, th_delta_fn *fn, struct th_err *err)
{
	const struct th_wire *wire = l->resolved->profile->wire;
	struct th_driver *d = l->driver;
	struct th_flight *f = l->flight;
	struct th_model_call call;
	enum th_code code;

	th_buf_deinit(&f->path);
	th_buf_deinit(&f->headers);
	th_buf_init(&f->path, TH_REQUEST_HEAD_MAX);
	th_buf_init(&f->headers, TH_REQUEST_HEAD_MAX);
	f->resumes = l->options.stream && !f->polls && l->fold.started_next > 0;
	background_path(l, f->resumes ? l->fold.started_next : 0, &f->path);
	th_request_headers(&l->options, &f->headers);
	code = th_buf_check(&f->headers, "the model's headers", err);
	if (code)
		return code;
	f->fetches = true;
	f->ticket.part++;
	f->decoder = wire->decoder_new(l->resolved->profile, fn, l);
	call = call_of(l, &f->path, &f->headers);
	call.get = true;
	call.stream = f->resumes;
	call.total_ms_max = th_session_time_left_ms(&l->fold, d->world.ops->now_ms(d->world.ctx));
	code = d->world.ops->model_call(d->world.ctx, f->ticket, &call, err);
	f->in_world = !code;
	return code;
}

void th_live_observe_again(struct th_live *l)
{
	struct th_driver *d = l->driver;
	struct th_flight *f = l->flight;

	f->decoder = l->resolved->profile->wire->decoder_free(f->decoder);
	f->waits = f->polls = true;
	f->resumes = false;
	f->poll_ms =
	    f->poll_ms ? TH_MIN(f->poll_ms * 2, (int64_t)TH_POLL_MAX_MS) : TH_POLL_FIRST_MS;
	d->world.ops->timer(d->world.ctx, th_live_ticket(l, f->seq), f->poll_ms);
}

bool th_live_poll_is_late(const struct th_live *l)
{
	const struct th_agent_model_settings *s = l->session_config->agent->settings;
	int64_t now = l->driver->world.ops->now_ms(l->driver->world.ctx);
	int64_t most = s->total_seconds ? s->total_seconds * 1000 : TH_MODEL_TOTAL_MS;

	return now - l->flight->started_ms > most || th_session_time_left_ms(&l->fold, now) == 0;
}

/* Nobody waits for what becomes of it. */
void th_live_background_end(struct th_live *l)
{
	const struct th_wire *wire = l->resolved->profile->wire;
	struct th_driver *d = l->driver;
	struct th_buf path = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
	struct th_buf headers = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
	struct th_model_call call;
	struct th_err ignored;

	if (!l->fold.started.len || !wire->background_path || l->ending)
		return;
	background_path(l, 0, &path);
	th_buf_add_cstr(&path, "/cancel");
	th_request_headers(&l->options, &headers);
	call = call_of(l, &path, &headers);
	call.total_ms_max = END_MS;
	l->ending = l->fold.request_seq;
	if (d->world.ops->model_call(d->world.ctx,
				     th_live_ticket_of(l, TH_TICKET_BACKGROUND_END, l->ending),
				     &call, &ignored))
		l->ending = 0; /* it then ends by itself */
	th_buf_deinit(&path);
	th_buf_deinit(&headers);
}

bool th_live_end_done(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	if (t.kind != TH_TICKET_BACKGROUND_END)
		return false;
	if (l && l->ending == t.seq)
		l->ending = 0;
	return true;
}

void th_live_ending_free(struct th_live *l)
{
	struct th_driver *d = l->driver;

	if (l->ending)
		d->world.ops->model_cancel(
		    d->world.ctx, th_live_ticket_of(l, TH_TICKET_BACKGROUND_END, l->ending));
	l->ending = 0;
}
