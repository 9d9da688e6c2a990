/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - one model request from its event to its answer's event.
 */
#include "driver/model.h"
#include "dialects/browser_words.h"

#include <stdlib.h>

#include "base/text.h"
#include "dialects/dialect.h"
#include "driver/background.h"
#include "driver/driver.h"
#include "guards/program.h"
#include "guards/quarantine.h"
#include "live/blob_text.h"
#include "live/log.h"
#include "live/queue.h"
#include "live/side_request.h"
#include "model_wire/frame.h"
#include "providers/human.h"
#include "session_tools/mcp_sample.h"
#include "side_models/ask.h"
#include "side_models/ground.h"
#include "side_models/judge.h"
#include "turns/condense.h"
#include "turns/log_ahead.h"
#include "turns/provider_state.h"
#include "turns/team.h"

/* ---- the request -------------------------------------------------------------------------- */

static void write_failed(struct th_live *l, const struct th_ev_model_failed *d)
{
	th_live_write_event(l, TH_EV_MODEL_FAILED, TH_SOURCE_ENVIRONMENT, l->fold.request_seq,
			    TH_STR(""), d);
}

static void flight_free(struct th_live *l)
{
	struct th_flight *f = l->flight;

	if (!f)
		return;
	l->flight = NULL;
	th_body_deinit(l, &f->body);
	if (f->decoder)
		f->decoder = l->resolved->profile->wire->decoder_free(f->decoder);
	th_buf_deinit(&f->frame);
	th_buf_deinit(&f->path);
	th_buf_deinit(&f->headers);
	free(f);
}

/* What the request went on from is not there any more: it is made anew, with all of the history.
 * True: that is written. */
static bool chain_lost(struct th_live *l, const struct th_answer *a, int http_status)
{
	struct th_ev_model_failed ev = {
		.class = th_str_of(th_failure_name(TH_FAILURE_NOT_FOUND)),
		.message = a->error_message,
		.http_status = http_status,
		.whole = true,
	};

	if (!th_live_provider_is_answer(l) ||
	    (!th_str_is(a->error_code, "previous_response_not_found") && http_status != 404))
		return false;
	write_failed(l, &ev);
	return true;
}

static void failed(struct th_live *l, enum th_failure failure, struct th_str message,
		   int http_status, const struct th_retry_hints *hints, struct th_str usage)
{
	struct th_driver *d = l->driver;
	struct th_retry_hints none = { -1, -1 };
	struct th_ev_model_failed ev = {
		.class = th_str_of(th_failure_name(failure)),
		.message = message,
		.http_status = http_status,
		.usage = usage,
	};
	struct th_buf unsure = TH_BUF_INIT(4 * TH_KIB);
	uint32_t random;
	int64_t delay;

	d->world.ops->random(d->world.ctx, &random, sizeof(random));
	delay = th_retry_delay_ms(failure, hints ? hints : &none, (int)l->fold.totals.attempts,
				  (int)l->fold.attempts_max, random / 4294967296.0);
	ev.retry = delay >= 0;
	ev.retry_in_ms = TH_MAX(delay, 0);
	/* What was to be fetched is gone: it is asked for again. */
	if (l->flight && l->flight->fetches && http_status == 404 &&
	    l->fold.totals.attempts < l->fold.attempts_max)
		ev.retry = true;
	else
		ev.kept = ev.retry && l->fold.started.len && !(l->flight && l->flight->over);
	ev.too_long = failure == TH_FAILURE_CONTEXT && l->fold.shortened < TH_CONTEXT_CUTS_MAX &&
		      !l->options.conversation;
	if (!ev.retry && !ev.too_long && failure != TH_FAILURE_CANCELLED)
		ev.next = th_session_next_model(&l->fold);
	if (th_live_provider_unsure(l, failure, http_status)) {
		ev.retry = false;
		ev.retry_in_ms = 0;
		th_live_provider_say(l, th_utf8_cut(message, TH_ERR_MSG_MAX), &unsure);
		ev.message = th_buf_str(&unsure);
	}
	write_failed(l, &ev);
	th_buf_deinit(&unsure);
}

static enum th_code body_build(struct th_live *l, struct th_flight *f, struct th_err *err)
{
	const struct th_wire *wire = l->resolved->profile->wire;
	size_t head;
	enum th_code code;

	th_buf_init(&f->path, TH_REQUEST_HEAD_MAX);
	wire->path(&l->options, &f->path);
	th_buf_init(&f->headers, TH_REQUEST_HEAD_MAX);
	th_request_headers(&l->options, &f->headers);
	th_buf_init(&f->frame, TH_REQUEST_MAX);
	code = th_request_frame(&l->options, &f->frame, &head, err);
	if (!code)
		code = th_buf_check(&f->path, "the model's path", err);
	if (!code)
		code = th_buf_check(&f->headers, "the model's headers", err);
	if (code)
		return code;
	th_body_add(&f->body, th_str_n(f->frame.ptr, head));
	code = th_body_add_history(l, &f->body, l->tail, err);
	th_body_add(&f->body, th_str_n(f->frame.ptr + head, f->frame.len - head));
	return code;
}

static void on_delta(void *ctx, enum th_delta_kind kind, size_t output_index, struct th_str text)
{
	struct th_live *l = ctx;

	(void)output_index;
	if (l->observer.delta)
		l->observer.delta(l->observer.ctx, (struct th_handle){ l->index, l->generation },
				  kind, text);
}

/* What the agent file says; of the choice, until a tool was used. */
static void set_options(struct th_live *l)
{
	static const char *const words[] = {
		[TH_CHOICE_AUTO] = "auto",
		[TH_CHOICE_REQUIRED] = "required",
		[TH_CHOICE_NONE] = "none",
	};
	const struct th_agent_model_settings *settings = l->speaking->settings;
	struct th_tool_choice *resolved = &l->options.choice;

	l->options.extra = l->model_at == 0;
	l->options.parallel = TH_PARALLEL_UNSET;
	if (settings && settings->parallel_tool_calls.len)
		l->options.parallel = th_str_is(settings->parallel_tool_calls, "true")
					  ? TH_PARALLEL_YES
					  : TH_PARALLEL_NO;
	*resolved = (struct th_tool_choice){ 0 };
	if (!settings || !settings->tool_choice.len || !th_session_tool_choice(&l->fold))
		return;
	resolved->kind = TH_CHOICE_TOOL;
	resolved->tool = settings->tool_choice;
	for (size_t i = TH_CHOICE_AUTO; i < TH_COUNT(words); i++)
		if (th_str_is(settings->tool_choice, words[i]))
			*resolved = (struct th_tool_choice){ .kind = (enum th_choice_kind)i };
}

void th_live_model_call(struct th_live *l)
{
	struct th_driver *d = l->driver;
	const struct th_profile *profile = l->resolved->profile;
	struct th_flight *f;
	struct th_model_call call;
	struct th_err err = { 0 };
	enum th_code code;

	if (l->fold.phase != TH_TURN_REQUESTED || l->flight)
		return;
	if (l->history_due && !th_live_history_here(l, TH_DO_MODEL_CALL, l->fold.request_seq))
		return;
	if (l->history_due && th_live_history_make(l, &err)) {
		th_live_lose(l, &err);
		return;
	}
	set_options(l);
	/* Pictures that are not here are read beside the loop: then this is called again. */
	if (!l->fold.started.len && th_body_waits(l))
		return;
	f = l->flight = th_alloc(sizeof(*f));
	f->seq = l->fold.request_seq;
	f->ticket = th_live_ticket(l, f->seq);
	f->started_ms = d->world.ops->now_ms(d->world.ctx);
	if (l->fold.started.len)
		code = th_live_fetch(l, on_delta, &err);
	else
		code = body_build(l, f, &err);
	th_live_items_used(l);
	if (!code && !l->fold.started.len) {
		f->decoder = profile->wire->decoder_new(profile, on_delta, l);
		call = (struct th_model_call){
			.profile = profile,
			.base_url = l->resolved->base_url,
			.agent = l->speaks,
			.model_at = l->model_at,
			.path = th_buf_str(&f->path),
			.headers = th_buf_str(&f->headers),
			.body = f->body.parts,
			.body_count = f->body.count,
			.settings = l->session_config->agent->settings,
			.stream = l->options.stream,
			.total_ms_max = th_session_time_left_ms(&l->fold, f->started_ms),
		};
		code = d->world.ops->model_call(d->world.ctx, f->ticket, &call, &err);
		f->in_world = !code;
	}
	if (code) {
		flight_free(l);
		failed(l,
		       code == TH_ELIMIT || code == TH_EUSAGE ? TH_FAILURE_LIMIT
							      : TH_FAILURE_CONNECT,
		       th_str_of(err.msg), 0, NULL, TH_STR(""));
		th_live_pump(l);
	}
}

void th_driver_blob_here(struct th_driver *d, const struct th_digest *hash, struct th_str bytes,
			 const struct th_err *why)
{
	/* Also one that is here already: another session took the same picture, or needed it at
	 * once, and who waits for it was told of neither. */
	th_driver_text_came(d, hash, bytes, why);
	for (uint32_t i = 0; i < d->live_cap; i++)
		if (d->lives[i] && th_body_waiting(d->lives[i]))
			th_live_model_call(d->lives[i]);
	th_driver_text_clear_error(d, hash);
}

void th_live_model_cancel(struct th_live *l, bool log)
{
	struct th_driver *d = l->driver;
	struct th_ev_model_failed ev = {
		.class = th_str_of(th_failure_name(TH_FAILURE_CANCELLED)),
		.message = TH_STR("the request was cancelled"),
		.kept = l->fold.started.len && l->fold.state == TH_STATE_PAUSED,
	};
	struct th_buf unsure = TH_BUF_INIT(4 * TH_KIB);
	struct th_err given_up = { 0 };

	(void)th_fail(&given_up, TH_EBUSY, "the session goes on, or was stopped: ask again");
	if (th_live_provider_unsure(l, TH_FAILURE_CANCELLED, 0)) {
		th_live_provider_say(l, ev.message, &unsure);
		ev.message = th_buf_str(&unsure);
	}
	th_live_grounds_free(l);
	th_live_condense_free(l);
	th_live_judge_free(l);
	th_live_quarantine_end(l, log);
	th_live_mcp_samples_free(l);
	th_live_programs_unask(l);
	th_live_ask_end(l, log ? &given_up : NULL);
	th_side_cancel_all(l);
	if (log && l->fold.state == TH_STATE_STOPPED)
		th_live_background_end(l);
	if (l->flight && l->flight->in_world)
		d->world.ops->model_cancel(d->world.ctx, l->flight->ticket);
	flight_free(l);
	if (log && l->fold.phase == TH_TURN_REQUESTED)
		write_failed(l, &ev);
	th_buf_deinit(&unsure);
}

/* ---- the answer --------------------------------------------------------------------------- */

static struct th_live *live_of(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	return l && l->flight && l->flight->in_world && th_ticket_eq(l->flight->ticket, t) &&
		       !l->lost
		   ? l
		   : NULL;
}

bool th_driver_model_data(struct th_driver *d, struct th_ticket t, struct th_str bytes)
{
	struct th_live *l = live_of(d, t);
	int events;

	if (t.kind == TH_TICKET_SIDE)
		return th_side_data(d, t, bytes);
	if (!l)
		return false;
	events = l->resolved->profile->wire->feed(l->flight->decoder, bytes);
	if (events > 0 && d->world.ops->model_alive)
		d->world.ops->model_alive(d->world.ctx, t);
	if (events > 0 && th_live_background(l)) {
		int64_t next_event;
		struct th_str id =
		    l->resolved->profile->wire->response_id(l->flight->decoder, &next_event);

		th_live_started(l, id, next_event);
	}
	return events >= 0;
}

/* The time is up that an answer which was not done is looked at again. */
void th_live_poll(struct th_live *l)
{
	struct th_flight *f = l->flight;
	struct th_err err = { 0 };

	if (!f || !f->waits)
		return;
	f->waits = false;
	if (th_live_poll_is_late(l)) {
		th_live_background_end(l);
		f->over = true;
		failed(l, TH_FAILURE_TIMEOUT,
		       TH_STR("the answer in the background was not done in time"), 0, NULL,
		       TH_STR(""));
		flight_free(l);
	} else if (th_live_fetch(l, on_delta, &err)) {
		failed(l, TH_FAILURE_CONNECT, th_str_of(err.msg), 0, NULL, TH_STR(""));
		flight_free(l);
	}
}

static void print_usage(const struct th_usage *u, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (u->input < 0 && u->output < 0)
		return;
	th_jw_object(&w);
	th_jw_kint(&w, "input", TH_MAX(u->input, 0));
	th_jw_kint(&w, "output", TH_MAX(u->output, 0));
	if (u->cached >= 0)
		th_jw_kint(&w, "cached", u->cached);
	if (u->written > 0)
		th_jw_kint(&w, "written", u->written);
	if (u->reasoning >= 0)
		th_jw_kint(&w, "reasoning", u->reasoning);
	if (u->total >= 0)
		th_jw_kint(&w, "total", u->total);
	th_jw_object_end(&w);
}

/* By hand, not by table: the items may be megabytes and are copied once. */
static void answered(struct th_live *l, const struct th_answer *a, struct th_str usage)
{
	struct th_driver *d = l->driver;
	int64_t cost = th_model_cost_nano(l->resolved->profile, &a->usage);
	int64_t elapsed = d->world.ops->now_ms(d->world.ctx) - l->flight->started_ms;
	struct th_err err = { 0 };
	struct th_buf data;
	struct th_jw w;
	enum th_code code;

	th_buf_init(&data, TH_EVENT_DATA_MAX);
	th_buf_reserve(&data, a->items.len + a->raw.len + 512);
	w = th_jw(&data);
	th_jw_object(&w);
	if (a->response_id.len)
		th_jw_kstr(&w, "response_id", a->response_id);
	if (a->model.len)
		th_jw_kstr(&w, "model", a->model);
	th_jw_kstr(&w, "status",
		   a->status == TH_ANSWER_INCOMPLETE ? TH_STR("incomplete") : TH_STR("completed"));
	if (a->reason.len)
		th_jw_kstr(&w, "reason", a->reason);
	th_jw_kraw(&w, "items", a->items);
	if (a->raw.len)
		th_jw_kraw(&w, "raw", a->raw);
	if (usage.len)
		th_jw_kraw(&w, "usage", usage);
	if (cost >= 0)
		th_jw_kint(&w, "cost_nano", cost);
	if (th_live_unmetered(l, l->resolved->profile, &a->usage, cost))
		th_jw_kbool(&w, "unmetered", true);
	th_jw_kint(&w, "elapsed_ms", elapsed);
	th_jw_object_end(&w);
	code = th_buf_check(&data, "the answer", &err);
	if (!code)
		code = th_live_append(l, TH_EV_MODEL_ANSWERED, TH_SOURCE_AGENT, l->flight->seq,
				      TH_STR(""), th_buf_str(&data), &err);
	th_buf_deinit(&data);
	/* An answer that cannot be taken (too many calls, too large) is an outcome, not a crash. */
	if (code && !l->lost)
		failed(l, code == TH_ELIMIT ? TH_FAILURE_LIMIT : TH_FAILURE_MALFORMED,
		       th_str_of(err.msg), 0, NULL, usage);
}

/* The answer in the words of its model, as items of ours.  Total: what it cannot read is an item
 * too. */
static enum th_code translate(const struct th_live *l, struct th_answer *a, struct th_buf *items,
			      struct th_err *err)
{
	const struct th_dialect *dialect = l->resolved->profile->dialect;
	const struct th_dialect_context c = {
		.profile = l->resolved->profile,
		.screen = l->options.screen,
		.image = l->options.image,
		.turn = l->fold.totals.turns + 1,
		.tools = l->options.tools,
		.tool_count = l->options.tool_count,
	};
	struct th_buf said = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_code code = TH_OK;
	bool changed;

	if (dialect->decode) {
		code = dialect->decode(&c, a->items, items, err);
		if (!code)
			code = th_buf_check(items, "the answer", err);
		a->items = th_buf_str(items);
	}
	if (!code)
		code = th_browser_words(&c, a->items, &said, &changed, err);
	if (!code && changed) {
		th_buf_clear(items);
		th_buf_add(items, th_buf_str(&said));
		code = th_buf_check(items, "the answer", err);
		a->items = th_buf_str(items);
	}
	th_buf_deinit(&said);
	return code;
}

static enum th_failure answer_failure(const struct th_answer *a)
{
	int f = th_failure_find(a->error_class);

	return th_failure_context(f >= 0 ? (enum th_failure)f : TH_FAILURE_MALFORMED, a->error_code,
				  a->error_message);
}

void th_driver_model_done(struct th_driver *d, struct th_ticket t, const struct th_model_end *end)
{
	struct th_live *l = live_of(d, t);
	const struct th_wire *wire;
	struct th_answer a = { .usage = { -1, -1, -1, -1, -1, -1 } };
	struct th_buf usage;
	bool finished;

	if (th_live_end_done(d, t))
		return;
	if (t.kind == TH_TICKET_SIDE) {
		th_side_end(d, t, end);
		return;
	}
	if (!l)
		return;
	l->flight->in_world = false;
	wire = l->resolved->profile->wire;
	finished = wire->finished(l->flight->decoder);
	th_buf_init(&usage, TH_KIB);
	if (end->ok || finished || end->failure == TH_FAILURE_CUT) {
		struct th_buf items = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_err err = { 0 };

		wire->end(l->flight->decoder, !end->ok && !finished, &a);
		print_usage(&a.usage, &usage);
		if (a.status != TH_ANSWER_COMPLETED && a.response_id.len)
			th_live_started(l, a.response_id, 0);
		if (th_live_unfinished(l, &a) ||
		    (l->flight->resumes && !finished && a.status == TH_ANSWER_FAILED)) {
			th_buf_deinit(&items);
			th_buf_deinit(&usage);
			th_live_observe_again(l);
			return;
		}
		l->flight->over = a.status == TH_ANSWER_FAILED &&
				  answer_failure(&a) != TH_FAILURE_CUT &&
				  answer_failure(&a) != TH_FAILURE_MALFORMED;
		if (a.status == TH_ANSWER_FAILED && chain_lost(l, &a, 0))
			;
		else if (a.status == TH_ANSWER_FAILED)
			failed(l, answer_failure(&a), a.error_message, 0, &end->hints,
			       th_buf_str(&usage));
		else if (translate(l, &a, &items, &err))
			failed(l, TH_FAILURE_LIMIT, th_str_of(err.msg), 0, &end->hints,
			       th_buf_str(&usage));
		else
			answered(l, &a, th_buf_str(&usage));
		th_buf_deinit(&items);
	} else if (l->flight->resumes) {
		th_buf_deinit(&usage);
		th_live_observe_again(l);
		return;
	} else if (end->status_only) {
		wire->error(l->flight->decoder, end->http_status, &a);
		if (!chain_lost(l, &a, end->http_status))
			failed(l, answer_failure(&a), a.error_message, end->http_status,
			       &end->hints, TH_STR(""));
	} else {
		failed(l, end->failure, end->message, end->http_status, &end->hints, TH_STR(""));
	}
	th_buf_deinit(&usage);
	flight_free(l);
	th_live_pump(l);
}
