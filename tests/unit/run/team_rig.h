/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_rig.h - the driver with several agents and their code, in a world of
 * paper: the log is a list, tools and the model are the test's.
 */
#ifndef TH_TESTS_UNIT_RUN_TEAM_RIG_H
#define TH_TESTS_UNIT_RUN_TEAM_RIG_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/driver.h"

#define EVENTS_MAX 256
#define ASKS_MAX 64

struct world {
	struct th_driver *driver;
	struct th_handle h;
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
	struct {
		struct th_event ev;
		char *call, *data;
	} log[EVENTS_MAX];
	size_t count;
	bool flush, model_open, cancelled;
	struct th_ticket model, timer;
	int64_t timer_ms; /* that it was set to; 0: it was not */
	char *body;
	int64_t clock;
	uint8_t random;
	size_t runs, reads; /* of more of the log than one event */
	bool early;         /* something was asked, or ran, before what led to it was durable */
	/* The agent's code: what it says, at once or (LATER) when the test says so. */
	const char *says[TH_ASK_COUNT];
	bool later[TH_ASK_COUNT];
	const char *trips; /* the guardrail of this name says true whatever the others say */
	struct {
		struct th_ticket ticket;
		enum th_ask_kind kind;
		char function[32], input[2048];
	} asks[ASKS_MAX];
	size_t ask_count, cancels;
};

static int64_t now(void *ctx)
{
	return ((struct world *)ctx)->clock += 10;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	memset(ptr, ++((struct world *)ctx)->random, len);
}

static void flush_soon(void *ctx)
{
	((struct world *)ctx)->flush = true;
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct world *w = ctx;

	w->timer = t;
	w->timer_ms = delay_ms;
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct world *w = ctx;

	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code no_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	(void)ctx, (void)hash, (void)out;
	return th_fail(err, TH_ENOENT, "no such blob");
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct world *w = ctx;
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	(void)id;
	w->reads += from != to;
	for (size_t i = from - 1; i < w->count && (to == 0 || i < to) && !code; i++)
		code = fn(fn_ctx, &w->log[i].ev, &none, err);
	return code;
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct world *w = ctx;
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	(void)err;
	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	free(w->body);
	w->body = th_buf_steal(&body, NULL);
	w->model = t;
	w->model_open = true;
	return TH_OK;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	(void)t;
	w->model_open = false;
	w->cancelled = true;
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	(void)ctx, (void)id, (void)ids, (void)count;
}

static void fatal(void *ctx, const struct th_err *err)
{
	(void)ctx, (void)err;
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = no_blob,
	.read = read_log,
	.model_call = model_call,
	.model_cancel = model_cancel,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

static void make_durable(struct world *w)
{
	struct th_batch *batch = w->batch;
	struct th_err err = { 0 };

	w->batch = NULL;
	for (size_t i = 0; i < batch->append_count; i++)
		for (size_t j = 0; j < batch->appends[i].event_count; j++) {
			const struct th_event *ev = &batch->appends[i].events[j];

			assert_true(w->count < EVENTS_MAX);
			w->log[w->count].call = strndup(ev->call.ptr, ev->call.len);
			w->log[w->count].data = strndup(ev->data.ptr, ev->data.len);
			w->log[w->count].ev = *ev;
			w->log[w->count].ev.call = th_str_of(w->log[w->count].call);
			w->log[w->count].ev.data = th_str_of(w->log[w->count].data);
			w->log[w->count].ev.build = TH_STR("test");
			w->count++;
		}
	w->done(w->done_ctx, batch, TH_OK, &err);
}

static void settle(struct world *w)
{
	while (w->flush || w->batch) {
		if (w->flush) {
			w->flush = false;
			th_driver_flush(w->driver);
		}
		if (w->batch)
			make_durable(w);
	}
}

/* ---- the agents and their code ---- */

static uint64_t told_of(struct th_str input)
{
	int64_t seq = 0;

	return th_str_i64(th_json_raw_get(input, "seq"), &seq) ? (uint64_t)seq : 0;
}

static enum th_asked on_ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			    struct th_err *err)
{
	struct world *w = ctx;

	assert_true(w->ask_count < ASKS_MAX);
	w->asks[w->ask_count].ticket = q->ticket;
	w->asks[w->ask_count].kind = q->kind;
	snprintf(w->asks[w->ask_count].function, 32, "%.*s", TH_FMT(q->function));
	snprintf(w->asks[w->ask_count++].input, 2048, "%.*s", TH_FMT(q->input));
	if (q->kind == TH_ASK_HOOK) /* it is told of one event, while others may be on their way */
		w->early |= told_of(q->input) > w->count || told_of(q->input) == 0;
	else
		w->early |=
		    q->kind != TH_ASK_TEXT && th_driver_session(w->driver, w->h)->seq > w->count;
	if (w->later[q->kind])
		return TH_ASKED_LATER;
	if (!w->says[q->kind])
		return TH_ASKED_NOTHING;
	if (w->says[q->kind][0] == '!') {
		(void)th_fail(err, TH_EPROTO, "%s", w->says[q->kind] + 1);
		return TH_ASKED_FAILED;
	}
	th_buf_add_cstr(answer,
			w->trips && th_str_is(q->function, w->trips) ? "true" : w->says[q->kind]);
	return TH_ASKED_ANSWERED;
}

static void on_cancel(void *ctx, struct th_ticket t)
{
	(void)t;
	((struct world *)ctx)->cancels++;
}

static const struct th_codes_ops code_ops = { .ask = on_ask, .cancel = on_cancel };

static void run_tool(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct world *w = ctx;
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	w->early |= call->ticket.seq > w->count;
	w->runs++;
	th_driver_tool_done(d, call->ticket, &r);
}

struct team {
	struct th_arena memory;
	struct th_json_doc *doc; /* the agents borrow from it */
	struct th_agent agents[4];
	struct th_outfit outfits[4];
	struct th_tool_row row;
	struct th_codes codes;
};

static struct team team;

static const struct th_outfit *dress(struct world *w, const char *definition)
{
	struct th_err err = { 0 };
	size_t count = 0;

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	memset(&team, 0, sizeof(team));
	th_arena_init(&team.memory, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &team.doc, &err), TH_OK);
	team.codes = (struct th_codes){ &code_ops, w };
	team.row = (struct th_tool_row){ .spec = { .name = TH_STR("weather"),
						   .schema = TH_STR("{\"type\":\"object\"}"),
						   .class = TH_CLASS_W },
					 .local = run_tool,
					 .ctx = w };
	for (; count < 4; count++) {
		struct th_outfit *o = &team.outfits[count];
		struct th_agent *a = &team.agents[count];

		if (th_team_agent(th_json_root(team.doc), count, &team.memory, a, &err))
			break;
		o->agent = a;
		o->tools = &team.row;
		o->tool_count = 1;
		o->codes = &team.codes;
		assert_int_equal(
		    th_model_resolve(TH_STR("gpt-5.4"), &o->first.profile, &o->first.model, &err),
		    TH_OK);
	}
	team.outfits[0].members = &team.outfits[1];
	team.outfits[0].member_count = count - 1;
	return &team.outfits[0];
}

static struct world *begin(const char *definition, const char *task)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_observer nobody = { 0 };
	struct th_err err = { 0 };

	w->clock = 1000000;
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_create(w->driver, TH_STR("a1"), dress(w, definition), &created, &nobody,
			     &w->h, &err))
		fail_msg("%s", err.msg);
	settle(w);
	if (task)
		assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(task), &err), TH_OK);
	return w;
}

static inline void restart(struct world *w, const char *definition)
{
	struct th_world world = { &ops, w };
	struct th_observer nobody = { 0 };
	struct th_err err = { 0 };
	struct th_session_row row = { .session_id = TH_STR("a1"),
				      .head_seq = w->count,
				      .epoch = 2 };

	th_driver_free(w->driver);
	w->flush = w->model_open = false;
	w->ask_count = 0;
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_open(w->driver, &row, dress(w, definition), &nobody, &w->h, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
}

static void end(struct world *w)
{
	th_driver_free(w->driver);
	for (size_t i = 0; i < w->count; i++) {
		free(w->log[i].call);
		free(w->log[i].data);
	}
	free(w->body);
	free(w);
}

/* Said, but not written yet. */
static void answer_unwritten(struct world *w, const char *items)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };
	struct th_ticket t = w->model;

	assert_true(w->model_open);
	w->model_open = false;
	th_buf_printf(
	    &body,
	    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
	    "\"output\":[%s],\"usage\":{\"input_tokens\":1,\"output_tokens\":1,"
	    "\"total_tokens\":2}}",
	    items);
	assert_true(th_driver_model_data(w->driver, t, th_buf_str(&body)));
	th_driver_model_done(w->driver, t, &done);
	th_buf_deinit(&body);
}

static void answer(struct world *w, const char *items)
{
	answer_unwritten(w, items);
	settle(w);
}

#define TEXT(s)                                                                               \
	"{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" s "\",\"annotations\":[]}]}"
#define CALL(id, name)                                                                             \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id "\",\"name\":\"" name \
	"\",\"arguments\":\"{}\",\"status\":\"completed\"}"

static inline const char *kinds(const struct world *w, size_t from)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = from; i < w->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > from ? " " : "",
					th_event_name(w->log[i].ev.kind));
	return text;
}

static inline const struct th_session *fold(const struct world *w)
{
	return th_driver_session(w->driver, w->h);
}

static inline void code_says(struct world *w, size_t ask, bool failed, const char *json)
{
	th_driver_code_done(w->driver, w->asks[ask].ticket, failed, th_str_of(json));
	settle(w);
}

#define CHECKED                                                                  \
	"{\"name\":\"a\",\"guardrails\":[{\"name\":\"in\",\"stage\":\"input\"}," \
	"{\"name\":\"out\",\"stage\":\"output\"},"                               \
	"{\"name\":\"before\",\"stage\":\"tool_input\"},"                        \
	"{\"name\":\"after\",\"stage\":\"tool_output\"}]}"

static inline size_t times(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* The provider refuses. */
static inline void fail_model(struct world *w, int status, const char *body)
{
	struct th_model_end done = { .status_only = true,
				     .http_status = status,
				     .hints = { -1, -1 } };
	struct th_ticket t = w->model;

	w->model_open = false;
	assert_true(th_driver_model_data(w->driver, t, th_str_of(body)));
	th_driver_model_done(w->driver, t, &done);
	settle(w);
}

/* The request ends without an answer. */
static inline void lose_model(struct world *w, enum th_failure failure)
{
	struct th_model_end done = { .failure = failure,
				     .message = TH_STR("the connection broke"),
				     .hints = { -1, -1 } };

	w->model_open = false;
	th_driver_model_done(w->driver, w->model, &done);
	settle(w);
}

static inline void ring(struct world *w)
{
	th_driver_timer(w->driver, (struct th_ticket){ w->h.index, w->h.generation, 0 });
	settle(w);
}

static inline const char *last_data(const struct world *w, enum th_event_kind kind)
{
	for (size_t i = w->count; i > 0; i--)
		if (w->log[i - 1].ev.kind == kind)
			return w->log[i - 1].data;
	fail_msg("there is no %s", th_event_name(kind));
	return "";
}

#endif
