/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_driver.c - the driver in a world of paper: a store that is durable when
 * the test says so, a model that answers what the test says, effects that are
 * counted.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/driver.h"

#define EVENTS_MAX 256

struct stored {
	struct th_event ev;
	char *call, *data;
};

struct world {
	struct th_driver *driver;
	struct stored log[EVENTS_MAX];
	size_t count;
	struct th_batch *batch; /* handed over, not durable yet */
	th_commit_fn *done;
	void *done_ctx;
	enum th_code next_result;
	bool flush, model_open, model_cancelled;
	struct th_ticket model, tool[8], timer;
	char *body;
	size_t tool_count, runs, settles, cancels, ready_asked;
	bool starting, no_executor; /* the executor is not there yet, or cannot be */
	struct th_ticket tool_ticket;
	char tool_journal[64];
	int64_t timer_ms, clock, tool_epoch;
	uint8_t random;
	bool tool_early; /* an effect started before its intent was durable */
	bool local_ran;
	char tool_name[32], tool_arguments[256];
	struct th_handle h;
	size_t model_at;
	bool got;
	char path[128];
	char ended[128]; /* path of the request that ends an answer */
	size_t rests;
	char rest_error[TH_ERR_MSG_MAX];
	bool rest_failed;
};

static int64_t now(void *ctx)
{
	struct world *w = ctx;

	return w->clock += 10;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	struct world *w = ctx;

	memset(ptr, ++w->random, len);
}

static void flush_soon(void *ctx)
{
	struct world *w = ctx;

	w->flush = true;
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

	assert_null(w->batch);
	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code one_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err)
{
	(void)ctx, (void)hash, (void)out;
	if (hash->bytes[0] == 0xab) {
		th_buf_add_cstr(out, "picture");
		return TH_OK;
	}
	return th_fail(err, TH_ENOENT, "no such blob");
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct world *w = ctx;
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	(void)id;
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
	if (th_str_ends(call->path, TH_STR("/cancel"))) {
		snprintf(w->ended, sizeof(w->ended), "%.*s", TH_FMT(call->path));
		return TH_OK;
	}
	assert_false(w->model_open);
	w->got = call->get;
	snprintf(w->path, sizeof(w->path), "%.*s", TH_FMT(call->path));
	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	free(w->body);
	w->body = th_buf_steal(&body, NULL);
	w->model = t;
	w->model_at = call->model_at;
	w->model_open = true;
	return TH_OK;
}

static void model_alive(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	if (t.seq >> 61 & 1)
		return; /* of one that ends an answer */
	assert_int_equal(t.seq, w->model.seq);
	w->model_open = false;
	w->model_cancelled = true;
}

static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct world *w = ctx;

	w->ready_asked++;
	w->tool_ticket = t;
	*ret_journal = w->no_executor ? TH_STR("") : TH_STR("journal-1");
	return !w->starting;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_tool_call *call, bool settle)
{
	struct world *w = ctx;

	/* The event that allows it must be among the durable ones. */
	w->tool_early |= t.seq > w->count;
	assert_int_equal(call->effect_id.len, 32);
	w->tool[w->tool_count++ % 8] = t;
	w->tool_epoch = call->epoch;
	snprintf(w->tool_journal, sizeof(w->tool_journal), "%.*s", TH_FMT(call->journal));
	snprintf(w->tool_name, sizeof(w->tool_name), "%.*s", TH_FMT(call->tool));
	snprintf(w->tool_arguments, sizeof(w->tool_arguments), "%.*s", TH_FMT(call->arguments));
	w->runs += !settle;
	w->settles += settle;
}

static void tool_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	(void)t;
	w->cancels++;
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
	.blob = one_blob,
	.read = read_log,
	.model_call = model_call,
	.model_alive = model_alive,
	.model_cancel = model_cancel,
	.tool_ready = tool_ready,
	.tool_run = tool_run,
	.tool_cancel = tool_cancel,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

static void make_durable(struct world *w)
{
	struct th_batch *batch = w->batch;
	struct th_err err = { 0 };

	w->batch = NULL;
	for (size_t i = 0; i < batch->append_count; i++) {
		struct th_append *a = &batch->appends[i];

		a->result = w->next_result;
		for (size_t j = 0; j < a->event_count && !a->result; j++) {
			struct stored *s = &w->log[w->count++];

			assert_true(w->count < EVENTS_MAX);
			s->ev = a->events[j];
			assert_int_equal(s->ev.seq, w->count);
			s->call = strndup(s->ev.call.ptr, s->ev.call.len);
			s->data = strndup(s->ev.data.ptr, s->ev.data.len);
			s->ev.call = th_str_of(s->call);
			s->ev.data = th_str_of(s->data);
			s->ev.build = TH_STR("test");
		}
	}
	w->done(w->done_ctx, batch, TH_OK, &err);
}

/* Iterations of the loop until nothing moves by itself. */
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

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	struct world *w = ctx;

	(void)h, (void)s;
	w->rests++;
	w->rest_failed = err != NULL;
	if (err)
		memcpy(w->rest_error, err->msg, sizeof(w->rest_error));
}

static struct th_choice fallback[2]; /* as many as agent.fallback has */

static struct th_agent agent = { .name = TH_STR_INIT("tester"),
				 .instructions = TH_STR_INIT("Be brief.") };

static void look_up(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct world *w = ctx;
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	w->tool_early |= call->ticket.seq > w->count;
	w->local_ran = true;
	th_driver_tool_done(d, call->ticket, &r);
}

static struct th_tool_row rows[] = {
	{ .spec = { .name = TH_STR_INIT("shell"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_W } },
	{ .spec = { .name = TH_STR_INIT("weather"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_R },
	  .local = look_up },
	{ .spec = { .name = TH_STR_INIT("look"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_R } },
};

static struct th_outfit outfit(struct world *w)
{
	struct th_outfit o = {
		.agent = &agent, .fallback = fallback, .tools = rows, .tool_count = TH_COUNT(rows)
	};
	struct th_err err;

	rows[1].ctx = w;
	assert_int_equal(
	    th_model_resolve(TH_STR("gpt-5.4"), &o.first.profile, &o.first.model, &err), TH_OK);
	return o;
}

static struct th_observer observer(struct world *w)
{
	return (struct th_observer){ .rest = on_rest, .ctx = w };
}

static struct world *begin(const char *task)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_err err = { 0 };

	w->clock = 1000000;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(task), &err), TH_OK);
	settle(w);
	return w;
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

/* The process dies and another one takes the session up from its log. */
static void restart(struct world *w)
{
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_session_row row = { .session_id = TH_STR("a1"),
				      .head_seq = w->count,
				      .epoch = 2 };
	struct th_err err = { 0 };

	w->model_open = w->flush = false;
	w->batch = NULL;
	th_driver_free(w->driver);
	w->batch = NULL; /* what was not durable is lost */
	w->flush = w->model_open = false;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_open(w->driver, &row, &o, &see, &w->h, &err), TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
}

static void answer(struct world *w, const char *output)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };
	struct th_ticket t = w->model;

	assert_true(w->model_open);
	w->model_open = false;
	th_buf_printf(&body,
		      "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\","
		      "\"model\":\"gpt-5.4\","
		      "\"output\":[%s],\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"total_"
		      "tokens\":15}}",
		      output);
	assert_true(th_driver_model_data(w->driver, t, th_buf_str(&body)));
	th_driver_model_done(w->driver, t, &done);
	th_buf_deinit(&body);
	settle(w);
}

#define TEXT(s)                                                                                   \
	"{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" s "\",\"annotations\":[]}]}"
#define CALL(id, name, args)                                                                       \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id "\",\"name\":\"" name \
	"\",\"arguments\":\"" args "\",\"status\":\"completed\"}"

static void tool_done(struct world *w, size_t index, enum th_outcome_status status,
		      const char *text)
{
	struct th_tool_result r = { .status = status, .output = th_str_of(text) };

	th_driver_tool_done(w->driver, w->tool[index], &r);
	settle(w);
}

static const char *kinds(const struct world *w)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < w->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
					th_event_name(w->log[i].ev.kind));
	return text;
}

static enum th_state state(const struct world *w)
{
	return th_driver_session(w->driver, w->h)->state;
}

static void test_text_finishes(void **unused)
{
	struct world *w = begin("hello");

	(void)unused;
	assert_non_null(strstr(w->body, "hello"));
	assert_non_null(strstr(w->body, "Be brief."));
	answer(w, TEXT("hi there"));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered final");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(w->rests, 1);
	assert_non_null(strstr(w->log[4].data, "hi there"));
	end(w);
}

static void test_nothing_is_sent_before_it_is_durable(void **unused)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_err err = { 0 };

	(void)unused;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("go"), &err), TH_OK);
	assert_false(w->model_open);
	th_driver_flush(w->driver);
	assert_false(w->model_open);
	make_durable(w);
	assert_true(w->model_open);
	end(w);
}

static void test_a_local_read_takes_two_flushes(void **unused)
{
	struct world *w = begin("weather?");

	(void)unused;
	answer(w, CALL("call_1", "weather", "{}"));
	assert_true(w->local_ran);
	assert_false(w->tool_early);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "function_call_output"));
	assert_non_null(strstr(w->body, "sunny"));
	answer(w, TEXT("It is sunny."));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered call intent "
			    "outcome model_requested model_answered final");
	end(w);
}

static void test_effects_wait_for_their_intent(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{\\\"command\\\":\\\"true\\\"}") "," CALL(
		      "call_2", "shell", "{\\\"command\\\":\\\"false\\\"}"));
	assert_int_equal(w->runs, 2);
	assert_false(w->tool_early);
	/* The second one ends first; the model gets both, in the order of the calls. */
	tool_done(w, 1, TH_OUTCOME_FAILED, "\"two\"");
	assert_false(w->model_open);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"one\"");
	assert_true(w->model_open);
	assert_true(strstr(w->body, "\"one\"") < strstr(w->body, "\"two\""));
	answer(w, TEXT("done"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	end(w);
}

/* The first INTENT waits until it can name the journal; others of the answer with it. */
static void test_an_intent_names_its_journal(void **unused)
{
	struct world *w = begin("go");
	struct th_err err = { 0 };

	(void)unused;
	w->starting = true;
	answer(w, CALL("c1", "shell", "{}") "," CALL("c2", "weather", "{}") "," CALL("c3", "shell",
										     "{}"));
	assert_true(w->local_ran);
	assert_int_equal(w->ready_asked, 2);
	assert_int_equal(w->tool_count, 0);
	assert_null(strstr(kinds(w), "intent intent"));
	/* A pause meanwhile: nothing begins, and a resume asks again. */
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	th_driver_tool_ready(w->driver, w->tool_ticket);
	settle(w);
	assert_int_equal(w->tool_count, 0);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	assert_int_equal(w->ready_asked, 4);
	assert_int_equal(w->tool_count, 0);
	w->starting = false;
	th_driver_tool_ready(w->driver, w->tool_ticket);
	th_driver_tool_ready(w->driver, w->tool_ticket);
	settle(w);
	assert_int_equal(w->tool_count, 2);
	assert_false(w->tool_early);
	assert_string_equal(w->tool_journal, "journal-1");
	/* After a crash the same is asked for. */
	w->tool_journal[0] = '\0';
	restart(w);
	assert_int_equal(w->settles, 2);
	assert_string_equal(w->tool_journal, "journal-1");
	end(w);

	/* A stop while it waits: it is refused, and no intent is left behind. */
	w = begin("go");
	w->starting = true;
	answer(w, CALL("c1", "shell", "{}"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	w->starting = false;
	th_driver_tool_ready(w->driver, w->tool_ticket);
	settle(w);
	assert_int_equal(w->tool_count, 0);
	assert_null(strstr(kinds(w), "intent"));
	end(w);

	/* None to be had: the intent says so, and whoever runs it says why. */
	w = begin("go");
	w->no_executor = true;
	answer(w, CALL("c1", "shell", "{}"));
	assert_int_equal(w->tool_count, 1);
	assert_string_equal(w->tool_journal, "");
	end(w);
}

static void test_a_late_result_changes_nothing(void **unused)
{
	struct world *w = begin("run it");
	size_t count;

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	tool_done(w, 0, TH_OUTCOME_DONE, "\"one\"");
	count = w->count;
	tool_done(w, 0, TH_OUTCOME_DONE, "\"again\"");
	assert_int_equal(w->count, count);
	end(w);
}

static void test_unknown_tools_and_bad_arguments_are_told(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "teleport", "{}") "," CALL("call_2", "shell", "{oops"));
	assert_int_equal(w->runs, 0);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "there is no tool named"));
	assert_non_null(strstr(w->body, "the arguments of shell are not usable"));
	end(w);
}

static void test_approval_is_waited_for_and_bound(void **unused)
{
	struct world *w = begin("run it");
	struct th_str all[] = { TH_STR("shell") };
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	answer(w, CALL("call_1", "shell", "{}") "," CALL("call_2", "weather", "{}"));
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_int_equal(w->rests, 1);
	assert_int_equal(w->runs, 0);
	assert_true(w->local_ran); /* class R may start early */
	/* A message approves nothing. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("yes, approved"), &err), TH_OK);
	settle(w);
	assert_int_equal(w->runs, 0);
	/* Also after a restart. */
	restart(w);
	assert_int_equal(w->runs, 0);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("call_9"), true, TH_STR("me"),
					  TH_STR(""), &err),
			 TH_ENOENT);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("call_1"), true, TH_STR("me"),
					  TH_STR(""), &err),
			 TH_OK);
	settle(w);
	assert_int_equal(w->runs, 1);
	assert_false(w->tool_early);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"ok\"");
	assert_true(w->model_open);
	/* What was said meanwhile stands behind the results. */
	assert_true(strstr(w->body, "yes, approved") > strstr(w->body, "sunny"));
	agent.approve = (struct th_strs){ 0 };
	end(w);
}

static void test_a_rejected_call_is_told(void **unused)
{
	struct world *w = begin("run it");
	struct th_str all[] = { TH_STR("all") };
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR(""), false, TH_STR("me"),
					  TH_STR("too risky"), &err),
			 TH_OK);
	settle(w);
	assert_int_equal(w->runs, 0);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "too risky"));
	agent.approve = (struct th_strs){ 0 };
	end(w);
}

static void fail_model(struct world *w, int status, const char *body)
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

static void test_overload_is_tried_again(void **unused)
{
	struct world *w = begin("hello");

	(void)unused;
	fail_model(w, 429,
		   "{\"error\":{\"message\":\"slow "
		   "down\",\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"}}");
	assert_false(w->model_open);
	assert_true(w->timer_ms >= 0);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	th_driver_timer(w->driver, w->timer);
	settle(w);
	assert_true(w->model_open);
	answer(w, TEXT("hi"));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_failed model_requested "
			    "model_answered final");
	end(w);
}

static void test_attempts_end(void **unused)
{
	struct world *w = begin("hello");
	int attempts = 0;

	(void)unused;
	while (w->model_open && attempts < 50) {
		attempts++;
		fail_model(w, 500, "oops");
		th_driver_timer(w->driver, w->timer);
		settle(w);
	}
	assert_int_equal(attempts, TH_ATTEMPTS_DEFAULT);
	assert_int_equal(state(w), TH_STATE_FAILED);
	assert_int_equal(w->log[w->count - 1].ev.kind, TH_EV_ERROR);
	end(w);
}

static void test_a_bad_request_is_not_tried_again(void **unused)
{
	struct world *w = begin("hello");

	(void)unused;
	fail_model(
	    w, 400,
	    "{\"error\":{\"message\":\"no such parameter\",\"type\":\"invalid_request_error\"}}");
	assert_int_equal(state(w), TH_STATE_FAILED);
	assert_non_null(strstr(w->log[w->count - 1].data, "no such parameter"));
	end(w);
}

/* Two more models, the first of them on another wire. */
static struct world *begin_with_fallback(const char *task)
{
	static struct th_str names[] = { TH_STR_INIT("chat:other"), TH_STR_INIT("gpt-5.2") };
	struct th_err err;

	for (size_t i = 0; i < TH_COUNT(names); i++)
		assert_int_equal(
		    th_model_resolve(names[i], &fallback[i].profile, &fallback[i].model, &err),
		    TH_OK);
	agent.fallback = (struct th_strs){ names, TH_COUNT(names) };
	return begin(task);
}

static void end_with_fallback(struct world *w)
{
	end(w);
	agent.fallback = (struct th_strs){ 0 };
}

static void answer_chat(struct world *w, const char *message)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };
	struct th_ticket t = w->model;

	assert_true(w->model_open);
	w->model_open = false;
	th_buf_printf(&body,
		      "{\"id\":\"c1\",\"object\":\"chat.completion\",\"model\":\"other\","
		      "\"choices\":[{\"index\":0,\"message\":%s,\"finish_reason\":\"stop\"}]}",
		      message);
	assert_true(th_driver_model_data(w->driver, t, th_buf_str(&body)));
	th_driver_model_done(w->driver, t, &done);
	th_buf_deinit(&body);
	settle(w);
}

#define REFUSED "{\"error\":{\"message\":\"no such key\",\"type\":\"invalid_request_error\"}}"

static void test_the_next_model_goes_on(void **unused)
{
	struct world *w = begin_with_fallback("hello");
	char *before;

	(void)unused;
	assert_non_null(strstr(w->body, "\"input\":["));
	answer(w, CALL("call_1", "weather", "{}"));
	assert_int_equal(w->model_at, 0);
	fail_model(w, 401, REFUSED);
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered call intent "
			    "outcome model_requested model_failed model_requested");
	assert_non_null(strstr(w->log[8].data, "\"next\":\"chat:other\""));
	assert_non_null(strstr(w->log[9].data, "\"model\":\"other\""));
	/* The same history in the words of the other wire. */
	assert_int_equal(w->model_at, 1);
	assert_non_null(strstr(w->body, "\"messages\":["));
	assert_non_null(strstr(w->body, "\"tool_calls\":["));
	assert_non_null(strstr(w->body, "sunny"));
	assert_null(strstr(w->body, "function_call_output"));
	before = strdup(w->body);
	restart(w);
	assert_int_equal(w->model_at, 1);
	assert_string_equal(w->body, before);
	free(before);
	/* Its own tries, of which the restart took one, then the next one; the last one's failure
	 * ends the run. */
	for (int i = 2; i <= TH_ATTEMPTS_DEFAULT; i++) {
		assert_int_equal(w->model_at, 1);
		fail_model(w, 500, "oops");
		th_driver_timer(w->driver, w->timer);
		settle(w);
	}
	assert_int_equal(w->model_at, 2);
	fail_model(w, 401, REFUSED);
	assert_int_equal(state(w), TH_STATE_FAILED);
	end_with_fallback(w);
}

/* What it asks for is read in its own words, and the next task is the first model's. */
static void test_a_task_begins_with_the_first_model(void **unused)
{
	struct world *w = begin_with_fallback("hello");
	struct th_err err;

	(void)unused;
	fail_model(w, 401, REFUSED);
	answer_chat(w, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"t1\","
		       "\"type\":\"function\",\"function\":{\"name\":\"weather\","
		       "\"arguments\":\"{}\"}}]}");
	assert_true(w->local_ran);
	assert_int_equal(w->model_at, 1);
	assert_non_null(strstr(w->body, "sunny"));
	answer_chat(w, "{\"role\":\"assistant\",\"content\":\"fair\"}");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and now?"), &err), TH_OK);
	settle(w);
	assert_int_equal(w->model_at, 0);
	assert_non_null(strstr(w->body, "\"input\":["));
	assert_non_null(strstr(w->body, "function_call_output"));
	assert_non_null(strstr(w->body, "and now?"));
	end_with_fallback(w);
}

/* A narrowed history says what another model said in our model's words, too. */
static void test_another_model_in_a_narrowed_history(void **unused)
{
	struct world *w;
	struct th_err err;

	(void)unused;
	agent.history_items = 20;
	w = begin_with_fallback("hello");
	fail_model(w, 401, REFUSED);
	answer_chat(w,
		    "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\","
		    "\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":"
		    "\"weather\",\"arguments\":\"{}\"}}]}");
	assert_non_null(strstr(w->body, "tool_calls")); /* its own words */
	answer_chat(w, "{\"role\":\"assistant\",\"content\":\"fair\"}");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and now?"), &err), TH_OK);
	settle(w);
	assert_int_equal(w->model_at, 0);
	assert_null(strstr(w->body, "tool_calls"));
	assert_null(strstr(w->body, "\"hm\""));
	assert_non_null(strstr(w->body, "\"type\":\"function_call\""));
	assert_non_null(strstr(w->body, "function_call_output"));
	assert_non_null(strstr(w->body, "fair"));
	agent.history_items = 0;
	end_with_fallback(w);
}

/* The history of another model is made from the log, so all of that has to be there; what is said
 * meanwhile is in the one request that follows. */
static void test_another_model_waits_for_the_log(void **unused)
{
	struct world *w = begin_with_fallback("hello");
	struct th_model_end done = { .status_only = true, .http_status = 401, .hints = { -1, -1 } };
	struct th_err err;

	(void)unused;
	w->model_open = false;
	assert_true(th_driver_model_data(w->driver, w->model, TH_STR(REFUSED)));
	th_driver_model_done(w->driver, w->model, &done);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("hurry"), &err), TH_OK);
	w->flush = false;
	th_driver_flush(w->driver);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("please"), &err), TH_OK);
	assert_false(w->model_open);
	make_durable(w);
	assert_false(w->model_open);
	settle(w);
	assert_string_equal(kinds(w), "session_created message model_requested model_failed "
				      "message message model_requested");
	assert_true(w->model_open);
	assert_int_equal(w->model_at, 1);
	assert_non_null(strstr(w->body, "hurry"));
	assert_non_null(strstr(w->body, "please"));
	end_with_fallback(w);
}

/* What the provider has kept is named, and only what is new is sent. */
static void test_goes_on_from_the_last_answer(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct world *w;
	char *before;

	(void)unused;
	agent.settings = &kept;
	w = begin("hello");
	assert_non_null(strstr(w->body, "\"store\":true"));
	assert_null(strstr(w->body, "previous_response_id"));
	answer(w, CALL("call_1", "weather", "{}"));
	assert_non_null(strstr(w->body, "\"previous_response_id\":\"resp_1\""));
	assert_non_null(strstr(w->body, "\"input\":[{\"type\":\"function_call_output\""));
	assert_null(strstr(w->body, "hello"));
	assert_non_null(strstr(w->body, "Be brief."));
	assert_non_null(strstr(w->log[7].data, "\"previous\":\"resp_1\""));
	assert_non_null(strstr(w->log[7].data, "\"items\":1"));
	/* The same after a crash. */
	before = strdup(w->body);
	restart(w);
	assert_string_equal(w->body, before);
	free(before);
	/* It is gone: the whole history, at once, and it was no try. */
	fail_model(w, 400,
		   "{\"error\":{\"message\":\"Previous response with id 'resp_1' not found.\","
		   "\"type\":\"invalid_request_error\",\"param\":\"previous_response_id\","
		   "\"code\":\"previous_response_not_found\"}}");
	assert_true(w->model_open);
	assert_null(strstr(w->body, "previous_response_id"));
	assert_non_null(strstr(w->body, "hello"));
	assert_non_null(strstr(w->body, "sunny"));
	assert_non_null(strstr(w->log[9].data, "\"whole\":true"));
	/* From there it goes on as before. */
	answer(w, CALL("call_2", "weather", "{}"));
	assert_non_null(strstr(w->body, "\"previous_response_id\":\"resp_1\""));
	assert_null(strstr(w->body, "call_1"));
	agent.settings = NULL;
	end(w);
}

/* What the provider has kept is more than a narrowed history has. */
static void test_a_narrowed_history_is_sent_whole(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct world *w;

	(void)unused;
	agent.settings = &kept;
	agent.history_items = 5;
	w = begin("hello");
	answer(w, CALL("call_1", "weather", "{}"));
	assert_null(strstr(w->body, "previous_response_id"));
	assert_non_null(strstr(w->body, "hello"));
	assert_null(strstr(w->log[7].data, "\"previous\""));
	agent.settings = NULL;
	agent.history_items = 0;
	end(w);
}

static void test_another_model_breaks_the_chain(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct world *w;

	(void)unused;
	agent.settings = &kept;
	w = begin_with_fallback("hello");
	answer(w, CALL("call_1", "weather", "{}"));
	assert_non_null(strstr(w->body, "previous_response_id"));
	fail_model(w, 401, REFUSED);
	assert_int_equal(w->model_at, 1);
	assert_null(strstr(w->body, "previous_response_id"));
	assert_non_null(strstr(w->body, "hello"));
	agent.settings = NULL;
	end_with_fallback(w);
}

/* ---- answers that the provider works on by itself ---- */

static struct world *begin_background(void)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET, .background = true };

	agent.settings = &kept;
	return begin("hello");
}

static void end_background(struct world *w)
{
	end(w);
	agent.settings = NULL;
}

static void say(struct world *w, const char *body)
{
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

	assert_true(w->model_open);
	w->model_open = false;
	assert_true(th_driver_model_data(w->driver, w->model, th_str_of(body)));
	th_driver_model_done(w->driver, w->model, &done);
	settle(w);
}

#define UNDER_WAY(status) \
	"{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"" status "\",\"output\":[]}"

static void ring(struct world *w)
{
	assert_false(w->model_open);
	th_driver_timer(w->driver, w->timer);
	settle(w);
}

static void test_an_answer_in_the_background(void **unused)
{
	struct world *w = begin_background();

	(void)unused;
	assert_non_null(strstr(w->body, "\"store\":true,\"background\":true"));
	assert_false(w->got);
	say(w, UNDER_WAY("queued"));
	assert_string_equal(kinds(w), "session_created message model_requested model_started");
	assert_int_equal(w->timer_ms, TH_POLL_FIRST_MS);
	ring(w);
	assert_true(w->got);
	assert_string_equal(w->path, "/responses/resp_1");
	say(w, UNDER_WAY("in_progress"));
	assert_int_equal(w->timer_ms, 2 * TH_POLL_FIRST_MS);
	for (int i = 0; i < 8; i++) {
		ring(w);
		say(w, UNDER_WAY("in_progress"));
	}
	assert_int_equal(w->timer_ms, TH_POLL_MAX_MS);
	ring(w);
	answer(w, TEXT("hi"));
	assert_string_equal(kinds(w), "session_created message model_requested model_started "
				      "model_answered final");
	end_background(w);
}

/* After a crash, a cut, a pause: it is fetched, and never asked for again. */
static void test_an_answer_is_found_again(void **unused)
{
	struct world *w = begin_background();
	struct th_model_end cut = { .failure = TH_FAILURE_CUT, .hints = { -1, -1 } };
	struct th_err err;

	(void)unused;
	say(w, UNDER_WAY("queued"));
	restart(w);
	assert_true(w->got);
	assert_string_equal(w->path, "/responses/resp_1");
	w->model_open = false;
	th_driver_model_done(w->driver, w->model, &cut);
	settle(w);
	assert_non_null(strstr(w->log[w->count - 1].data, "\"kept\":true"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("hurry"), &err), TH_OK);
	settle(w);
	ring(w);
	assert_true(w->got);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	settle(w);
	assert_string_equal(w->ended, "");
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	assert_true(w->got);
	answer(w, TEXT("hi"));
	/* What was said meanwhile stands behind the answer. */
	assert_true(w->model_open);
	assert_false(w->got);
	assert_true(strstr(w->body, "hurry") > strstr(w->body, "hi"));
	end_background(w);
}

static void test_an_answer_that_is_gone_is_asked_for_again(void **unused)
{
	struct world *w = begin_background();

	(void)unused;
	say(w, UNDER_WAY("queued"));
	ring(w);
	fail_model(w, 404, "{\"error\":{\"message\":\"no such response\"}}");
	ring(w);
	assert_false(w->got);
	assert_non_null(strstr(w->body, "hello"));
	/* One that failed is asked for again, too. */
	say(w, UNDER_WAY("queued"));
	ring(w);
	say(w, "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"failed\",\"output\":[],"
	       "\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}");
	assert_null(strstr(w->log[w->count - 1].data, "\"kept\""));
	ring(w);
	assert_false(w->got);
	end_background(w);
}

static void test_a_stop_ends_the_answer(void **unused)
{
	struct world *w = begin_background();
	struct th_err err;

	(void)unused;
	say(w, UNDER_WAY("queued"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	settle(w);
	assert_string_equal(w->ended, "/responses/resp_1/cancel");
	assert_null(strstr(w->log[w->count - 1].data, "\"kept\""));
	end_background(w);
}

/* An id goes into a path: what could lead elsewhere is none. */
static void test_ids_that_are_none(void **unused)
{
	struct world *w = begin_background();

	(void)unused;
	say(w, "{\"id\":\"../../files/x\",\"object\":\"response\",\"status\":\"queued\","
	       "\"output\":[]}");
	assert_null(strstr(kinds(w), "model_started"));
	assert_false(w->model_open);
	end_background(w);
}

static void test_garbage_is_an_outcome(void **unused)
{
	struct world *w = begin("hello");
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

	(void)unused;
	w->model_open = false;
	assert_true(th_driver_model_data(w->driver, w->model, TH_STR("<html>\0\xff not json")));
	th_driver_model_done(w->driver, w->model, &done);
	settle(w);
	assert_int_equal(w->log[w->count - 1].ev.kind, TH_EV_MODEL_FAILED);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	end(w);
}

static void test_turns_end_at_the_limit(void **unused)
{
	static struct th_agent_limits limits = { .turns = 3 };
	struct world *w;
	int turns = 0;

	(void)unused;
	agent.limits = &limits;
	w = begin("weather for ever");
	while (w->model_open && turns < 50) {
		turns++;
		answer(w, CALL("call_1", "weather", "{}"));
	}
	assert_int_equal(turns, 3);
	assert_int_equal(state(w), TH_STATE_LIMIT);
	agent.limits = NULL;
	end(w);
}

static void test_an_answered_turn_is_not_asked_again(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->runs, 1);
	restart(w);
	assert_false(w->model_open);
	assert_int_equal(w->runs, 1);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"it may or may not have happened\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"a.txt\"");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "may or may not"));
	end(w);
}

static const char *last_of(const struct world *w, enum th_event_kind kind)
{
	for (size_t i = w->count; i-- > 0;)
		if (w->log[i].ev.kind == kind)
			return w->log[i].data;
	return "";
}

#define MAKE CALL("call_1", "shell", "{\\\"command\\\":\\\"make\\\"}")

/* A command of which nobody knows how it ended: the model is told so, and what is there now. */
static void test_unknown_comes_with_a_look(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	/* Before the look nothing is written and nobody is told. */
	assert_false(w->model_open);
	assert_string_equal(last_of(w, TH_EV_OUTCOME), "");
	assert_string_equal(w->tool_name, "list_dir");
	assert_int_equal(w->runs, 2);
	/* The same word once more changes nothing. */
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	assert_int_equal(w->tool_count, 3);
	tool_done(w, 2, TH_OUTCOME_DONE, "\"built.o 123\"");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "It may or may not have happened. It was not repeated."));
	assert_non_null(strstr(w->body, "built.o 123"));
	assert_null(strstr(w->body, "did not complete"));
	assert_non_null(
	    strstr(last_of(w, TH_EV_OUTCOME), "\"observation\":{\"tool\":\"list_dir\""));
	assert_non_null(strstr(last_of(w, TH_EV_OUTCOME), "built.o 123"));
	end(w);
}

/* A crash between the word and the look: both come again, the effect does not. */
static void test_a_crash_while_looking(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	restart(w);
	assert_int_equal(w->settles, 2);
	assert_string_equal(w->tool_name, "shell");
	tool_done(w, 3, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 4, TH_OUTCOME_FAILED, "\"error: gone\"");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "did not succeed"));
	end(w);
}

/* A second time the very same, unseen, is refused; after a look it is the model's to decide. */
static void test_look_before_you_repeat(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"\"");
	assert_int_equal(w->runs, 2);
	/* Other blanks are no other action; and a look in the same answer was not seen yet. */
	answer(w, CALL("call_2", "shell", "{ \\\"command\\\": \\\"make\\\" }"));
	assert_int_equal(w->runs, 2);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "look first"));
	/* Also after a restart. */
	restart(w);
	answer(w, CALL("call_3", "shell", "{\\\"command\\\":\\\"make\\\"}"));
	assert_int_equal(w->runs, 2);
	answer(w, CALL("call_4", "shell", "{\\\"command\\\":\\\"ls\\\"}"));
	assert_int_equal(w->runs, 3);
	tool_done(w, 3, TH_OUTCOME_DONE, "\"nothing\"");
	answer(w, CALL("call_5", "shell", "{\\\"command\\\":\\\"make\\\"}"));
	assert_int_equal(w->runs, 4);
	assert_string_equal(w->tool_arguments, "{\"command\":\"make\"}");
	tool_done(w, 4, TH_OUTCOME_DONE, "\"ok\"");
	end(w);
}

static void test_a_person_may_let_it_repeat(void **unused)
{
	struct world *w;
	struct th_err err = { 0 };

	(void)unused;
	agent.repeat = TH_REPEAT_ASK;
	w = begin("run it");
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"\"");
	answer(w, CALL("call_2", "shell", "{\\\"command\\\":\\\"make\\\"}"));
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_non_null(strstr(last_of(w, TH_EV_APPROVAL_REQUESTED), "may have happened already"));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR(""), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	settle(w);
	assert_int_equal(w->runs, 3);
	assert_non_null(strstr(last_of(w, TH_EV_INTENT), "\"approval\":"));
	agent.repeat = TH_REPEAT_REFUSE;
	end(w);
}

static void test_parked_until_a_person_says(void **unused)
{
	struct world *w;
	struct th_err err = { 0 };

	(void)unused;
	agent.unknown = TH_UNKNOWN_PARK;
	w = begin("run it");
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"built.o 123\"");
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_false(w->model_open);
	assert_int_equal(w->log[w->count - 1].ev.kind, TH_EV_PARKED);
	assert_non_null(strstr(last_of(w, TH_EV_PARKED), "built.o 123"));
	restart(w);
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_int_equal(w->settles, 1);
	assert_int_equal(th_driver_settle(w->driver, w->h, TH_STR("call_9"), TH_OUTCOME_DONE,
					  TH_STR("ada"), TH_STR(""), &err),
			 TH_ENOENT);
	assert_int_equal(th_driver_settle(w->driver, w->h, TH_STR(""), TH_OUTCOME_NOT_STARTED,
					  TH_STR("ada"), TH_STR("no object file"), &err),
			 TH_OK);
	settle(w);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "A person (ada) looked: it did not happen"));
	assert_non_null(strstr(w->body, "no object file"));
	assert_non_null(strstr(last_of(w, TH_EV_OUTCOME), "\"status\":\"not_started\""));
	assert_int_equal(w->runs, 2);
	agent.unknown = TH_UNKNOWN_TELL;
	end(w);
}

/* The word is in the log, its outcome is not: the next runtime writes it. */
static void test_a_crash_after_the_word(void **unused)
{
	struct world *w;
	struct th_err err = { 0 };
	size_t count;

	(void)unused;
	agent.unknown = TH_UNKNOWN_PARK;
	w = begin("run it");
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"\"");
	assert_int_equal(th_driver_settle(w->driver, w->h, TH_STR(""), TH_OUTCOME_DONE,
					  TH_STR("ada"), TH_STR(""), &err),
			 TH_OK);
	settle(w);
	count = w->count;
	/* As thole settle leaves it: word without outcome. */
	while (w->log[w->count - 1].ev.kind != TH_EV_SETTLED) {
		w->count--;
		free(w->log[w->count].call);
		free(w->log[w->count].data);
	}
	assert_true(w->count < count);
	restart(w);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "it did happen"));
	agent.unknown = TH_UNKNOWN_TELL;
	end(w);
}

/* The log's call of a computer is not what this build reads in the answer. */
static void test_divergence_stops_a_resume(void **unused)
{
	struct world *w = begin("click it");
	struct th_str all[] = { TH_STR("all") };
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_session_row row = { .session_id = TH_STR("a1"), .epoch = 2 };
	struct th_err err = { 0 };
	struct stored *call;
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_buf data = TH_BUF_INIT(TH_KIB);
	const char *arguments = "{\"actions\":[{\"type\":\"click\",\"x\":9,\"y\":9,\"button\":"
				"\"left\",\"count\":1}],\"screenshot\":true,\"settle\":true}";

	(void)unused;
	th_driver_free(w->driver);
	agent.approve = (struct th_strs){ all, 1 };
	o.has_computer = true;
	o.screen = (struct th_size){ 100, 100 };
	for (size_t i = 0; i < w->count; i++) {
		free(w->log[i].call);
		free(w->log[i].data);
	}
	w->count = 0;
	w->flush = w->model_open = false;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(
	    th_driver_create(w->driver, TH_STR("a1"), &o,
			     &(struct th_ev_session_created){ .model = TH_STR("gpt-5.4") }, &see,
			     &w->h, &err),
	    TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("click it"), &err), TH_OK);
	settle(w);
	answer(w, "{\"type\":\"computer_call\",\"id\":\"cu_1\",\"call_id\":\"call_1\",\"status\":"
		  "\"completed\",\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":"
		  "\"left\"}],\"pending_safety_checks\":[]}");
	assert_int_equal(state(w), TH_STATE_WAITING);
	/* Whole it is taken up. */
	row.head_seq = w->count;
	th_driver_free(w->driver);
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_open(w->driver, &row, &o, &see, &w->h, &err), TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	/* Now the log says another point. */
	th_driver_free(w->driver);
	call = &w->log[4];
	assert_int_equal(call->ev.kind, TH_EV_CALL);
	th_call_digest(TH_STR("computer"), th_str_of(arguments), digest);
	th_buf_printf(&data,
		      "{\"call_id\":\"call_1\",\"tool\":\"computer\",\"arguments\":%s,\"class\":"
		      "\"W\",\"digest\":\"%s\",\"policy\":\"ask\"}",
		      arguments, digest);
	free(call->data);
	call->data = th_buf_steal(&data, NULL);
	call->ev.data = th_str_of(call->data);
	row.head_seq = 5;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_open(w->driver, &row, &o, &see, &w->h, &err), TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_EDIVERGED);
	assert_non_null(strstr(err.msg, "session a1: diverged"));
	assert_non_null(strstr(err.msg, "\"x\":9"));
	assert_non_null(strstr(err.msg, "\"x\":1"));
	agent.approve = (struct th_strs){ 0 };
	end(w);
}

/* A world with a model that writes its actions as text, and a screen. */
static struct world *begin_text(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("UI-TARS-1.5-7B") };
	struct th_err err = { 0 };

	o.has_computer = true;
	o.screen = (struct th_size){ 1280, 800 };
	assert_int_equal(th_model_resolve(created.model, &o.first.profile, &o.first.model, &err),
			 TH_OK);
	w->clock = 1000000;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("go"), &err), TH_OK);
	settle(w);
	return w;
}

static void test_the_first_picture(void **unused)
{
	struct world *w = begin_text();
	struct th_blob blob = { .media_type = TH_STR("image/png"), .bytes = TH_STR("picture") };
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .blobs = &blob, .blob_count = 1 };
	struct th_err err = { 0 };
	char hex[TH_SHA256_HEX_SIZE + 1], output[200];

	(void)unused;
	assert_false(w->model_open);
	assert_string_equal(w->tool_name, "computer");
	assert_int_equal(w->runs, 1);
	/* What is said meanwhile asks for no second one. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("quick"), &err), TH_OK);
	settle(w);
	assert_int_equal(w->runs, 1);
	memset(blob.hash.bytes, 0xab, sizeof(blob.hash.bytes));
	th_digest_hex(&blob.hash, hex);
	snprintf(output, sizeof(output),
		 "[{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"%s\"}]", hex);
	r.output = th_str_of(output);
	th_driver_tool_done(w->driver, w->tool[0], &r);
	settle(w);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "This is the screen now:"));
	assert_non_null(strstr(w->body, "base64,cGljdHVyZQ=="));
	end(w);
}

/* Without a screen to be seen the model is asked all the same. */
static void test_no_first_picture(void **unused)
{
	struct world *w = begin_text();

	(void)unused;
	tool_done(w, 0, TH_OUTCOME_FAILED, "\"the display is gone\"");
	assert_true(w->model_open);
	assert_int_equal(w->runs, 1);
	end(w);
}

static void test_a_lost_request_is_sent_again(void **unused)
{
	struct world *w = begin("hello");

	(void)unused;
	restart(w);
	assert_true(w->model_open);
	answer(w, TEXT("hi"));
	assert_string_equal(
	    kinds(w),
	    "session_created message model_requested model_requested model_answered final");
	end(w);
}

static void test_pause_and_resume(void **unused)
{
	struct world *w = begin("run it");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("Ctrl-C"), &err), TH_OK);
	settle(w);
	assert_int_equal(state(w), TH_STATE_PAUSED);
	assert_int_equal(w->rests, 1);
	restart(w);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_DONE, "\"ok\"");
	answer(w, TEXT("done"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	end(w);
}

static void test_stop_cancels_what_runs(void **unused)
{
	struct world *w = begin("run it");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	settle(w);
	assert_int_equal(w->cancels, 1);
	tool_done(w, 0, TH_OUTCOME_FAILED, "\"killed\"");
	assert_false(w->model_open);
	assert_int_equal(state(w), TH_STATE_STOPPED);
	/* A new message goes on from there. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("try again"), &err), TH_OK);
	settle(w);
	assert_true(w->model_open);
	end(w);
}

static void test_stop_cancels_the_request(void **unused)
{
	struct world *w = begin("hello");
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	settle(w);
	assert_true(w->model_cancelled);
	assert_string_equal(kinds(w),
			    "session_created message model_requested state_changed model_failed");
	end(w);
}

static void test_a_stale_owner_is_told_and_stops(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	w->next_result = TH_EFENCED;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->runs, 0);
	assert_int_equal(w->rests, 1);
	assert_true(w->rest_failed);
	assert_non_null(strstr(w->rest_error, "another runtime"));
	end(w);
}

static void test_a_second_task_continues(void **unused)
{
	struct world *w = begin("first");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, TEXT("one"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	settle(w);
	assert_non_null(strstr(w->body, "first"));
	assert_non_null(strstr(w->body, "one"));
	assert_non_null(strstr(w->body, "second"));
	answer(w, TEXT("two"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(w->rests, 2);
	end(w);
}

static void test_the_request_is_the_same_after_a_restart(void **unused)
{
	struct world *w = begin("run it");
	char *before;

	(void)unused;
	answer(w, CALL("call_1", "weather", "{}"));
	before = strdup(w->body);
	restart(w);
	assert_true(w->model_open);
	assert_string_equal(before, w->body);
	free(before);
	end(w);
}

/* A journal that was not there when the intent was written proves nothing by what it lacks. */
static void test_what_is_settled_is_of_its_own_epoch(void **unused)
{
	struct world *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->tool_epoch, 1);
	restart(w);
	assert_int_equal(w->settles, 1);
	assert_int_equal(w->tool_epoch, 1);
	end(w);
}

/* A read needs no proof; under its first epoch the executor would refuse it. */
static void test_a_read_is_done_again_under_our_epoch(void **unused)
{
	struct world *w = begin("look");

	(void)unused;
	answer(w, CALL("call_1", "look", "{}"));
	assert_int_equal(w->tool_epoch, 1);
	restart(w);
	assert_int_equal(w->tool_epoch, 2);
	end(w);
}

static void test_a_message_to_a_busy_model_is_answered(void **unused)
{
	struct world *w = begin("first");
	struct th_err err = { 0 };
	const char *one, *second;

	(void)unused;
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	settle(w);
	answer(w, TEXT("one"));
	assert_int_equal(state(w), TH_STATE_RUNNING);
	one = strstr(w->body, "one");
	second = strstr(w->body, "second");
	assert_true(one && second && one < second);
	restart(w);
	assert_true(w->model_open);
	answer(w, TEXT("two"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	end(w);
}

static void test_a_request_is_what_its_event_says(void **unused)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_err err = { 0 };

	(void)unused;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("first"), &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	settle(w);
	assert_non_null(strstr(w->body, "first"));
	assert_null(strstr(w->body, "second"));
	end(w);
}

/* The first request is durable, the one that took its place is not: neither is sent. */
static void test_a_request_waits_for_its_own_event(void **unused)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_err err = { 0 };

	(void)unused;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("first"), &err), TH_OK);
	th_driver_flush(w->driver);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	make_durable(w);
	assert_false(w->model_open);
	assert_int_equal(w->rests, 0);
	settle(w);
	assert_true(w->model_open);
	end(w);
}

/* Its history is made of the log, so it waits for all of that, however often more is said. */
static void test_a_request_waits_for_the_whole_log(void **unused)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = observer(w);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_err err = { 0 };

	(void)unused;
	agent.history_items = 5;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("first"), &err), TH_OK);
	for (int i = 0; i < 3; i++) {
		th_driver_flush(w->driver);
		assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
		make_durable(w);
		assert_false(w->model_open);
	}
	settle(w);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "first"));
	agent.history_items = 0;
	end(w);
}

static void test_messages_to_a_busy_model_have_a_maximum(void **unused)
{
	struct world *w = begin("first");
	struct th_err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < TH_HELD_MESSAGES_MAX; i++)
		assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_ELIMIT);
	settle(w);
	assert_int_equal(w->rests, 0);
	answer(w, TEXT("one"));
	assert_true(w->model_open);
	end(w);
}

/* ---- the API's own items ----------------------------------------------------------------- */

static const struct th_tool_native native_shell = { .kind = TH_NATIVE_SHELL };

#define SHELL_CALL(id)                                                                       \
	"{\"type\":\"shell_call\",\"id\":\"sh_" id "\",\"call_id\":\"" id                    \
	"\",\"status\":\"completed\",\"created_by\":\"m\",\"action\":{\"commands\":[\"ls\"," \
	"\"pwd\"],\"timeout_ms\":900,\"max_output_length\":4}}"

static void test_a_shell_of_the_api(void **unused)
{
	struct th_tool_result r = {
		.status = TH_OUTCOME_DONE,
		.output = TH_STR("\"$ ls\""),
		.evidence = TH_STR("{\"commands\":[{\"stdout\":\"abcdef\",\"stderr\":\"\","
				   "\"outcome\":{\"type\":\"exit\",\"exit_code\":2}}]}"),
	};
	struct th_str all[] = { TH_STR("shell") };
	struct th_err err = { 0 };
	struct world *w;
	char *before;

	(void)unused;
	rows[0].spec.native = &native_shell;
	agent.approve = (struct th_strs){ all, 1 };
	w = begin_with_fallback("look");
	assert_non_null(strstr(w->body, "{\"type\":\"shell\",\"environment\":{\"type\":"
					"\"local\"}}"));
	answer(w, SHELL_CALL("s1"));
	assert_int_equal(state(w), TH_STATE_WAITING); /* an approval like any other */
	restart(w);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("s1"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	settle(w);
	assert_int_equal(w->runs, 1);
	assert_false(w->tool_early);
	assert_string_equal(w->tool_name, "commands");
	assert_string_equal(w->tool_arguments, "{\"commands\":[\"ls\",\"pwd\"],\"timeout_ms\":900,"
					       "\"max_output_length\":4}");
	th_driver_tool_done(w->driver, w->tool[0], &r);
	settle(w);
	/* What came goes back, but for who made it; the result has the API's form. */
	assert_non_null(strstr(w->body, "{\"type\":\"shell_call\",\"id\":\"sh_s1\","));
	assert_null(strstr(w->body, "created_by"));
	assert_non_null(strstr(w->body,
			       "{\"type\":\"shell_call_output\",\"call_id\":\"s1\",\"output\":"
			       "[{\"stdout\":\"abcd\",\"stderr\":\"\",\"outcome\":{\"type\":"
			       "\"exit\",\"exit_code\":2}}],\"max_output_length\":4}"));
	before = strdup(w->body);
	restart(w);
	assert_string_equal(w->body, before);
	free(before);
	/* Another wire's model sees a function's call, and what was said of it. */
	fail_model(w, 401, REFUSED);
	assert_int_equal(w->model_at, 1);
	assert_non_null(strstr(w->body, "\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":"
					"\\\"ls\\\\npwd\\\"}\""));
	assert_non_null(strstr(w->body, "\"$ ls\""));
	assert_null(strstr(w->body, "\"type\":\"shell\""));
	rows[0].spec.native = NULL;
	agent.approve = (struct th_strs){ 0 };
	end_with_fallback(w);
}

/* Stopped where nobody knows what became of it, it is settled as the same effect. */
static void test_a_shell_of_the_api_is_settled(void **unused)
{
	struct world *w;

	(void)unused;
	rows[0].spec.native = &native_shell;
	w = begin("look");
	answer(w, SHELL_CALL("s1"));
	assert_int_equal(w->runs, 1);
	restart(w);
	assert_int_equal(w->runs, 1);
	assert_int_equal(w->settles, 1);
	assert_string_equal(w->tool_name, "commands");
	tool_done(w, 1, TH_OUTCOME_DONE, "\"$ ls\"");
	assert_true(w->model_open);
	rows[0].spec.native = NULL;
	end(w);
}

#define MCP(id, name)                                                                    \
	"{\"type\":\"mcp_approval_request\",\"id\":\"" id "\",\"server_label\":\"srv\"," \
	"\"name\":\"" name "\",\"arguments\":\"{\\\"a\\\":1}\"}"
#define SERVER "[{\"type\":\"mcp\",\"server_label\":\"srv\",\"server_url\":\"https://x\"}]"

static void decide_mcp(struct world *w, const char *id, bool approve, bool always,
		       const char *message)
{
	struct th_err err = { 0 };

	assert_int_equal(th_driver_decide_as(w->driver, w->h, th_str_of(id), approve, always,
					     TH_STR("me"), th_str_of(message), &err),
			 TH_OK);
	settle(w);
}

static void test_a_provider_asks_for_its_server(void **unused)
{
	struct world *w;

	(void)unused;
	agent.hosted_tools = TH_STR(SERVER);
	w = begin("do it");
	answer(w, MCP("m1", "do") "," MCP("m2", "look") "," CALL("call_1", "shell", "{}"));
	/* Nothing begins before all of it is decided; a restart asks the same. */
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_int_equal(w->runs, 0);
	restart(w);
	decide_mcp(w, "m1", true, true, "");
	assert_int_equal(w->runs, 0);
	assert_null(strstr(kinds(w), "outcome")); /* nor is the provider told so */
	assert_false(w->model_open);
	decide_mcp(w, "m2", false, false, "nope");
	assert_int_equal(w->runs, 1);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"ok\"");
	assert_non_null(strstr(w->body, MCP("m1", "do")));
	assert_non_null(strstr(w->body, "{\"type\":\"mcp_approval_response\","
					"\"approval_request_id\":\"m1\",\"approve\":true}"));
	assert_non_null(strstr(w->body, "\"approval_request_id\":\"m2\",\"approve\":false,"
					"\"reason\":\"nope\"}"));
	assert_int_equal(strstr(kinds(w), "intent") == strstr(kinds(w), "intent outcome"), 1);
	/* For good: of that tool, not of the server. */
	answer(w, MCP("m3", "do"));
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "\"approval_request_id\":\"m3\",\"approve\":true}"));
	answer(w, MCP("m4", "look"));
	assert_int_equal(state(w), TH_STATE_WAITING);
	decide_mcp(w, "m4", false, false, "");
	assert_non_null(strstr(w->body, "\"approval_request_id\":\"m4\",\"approve\":false}"));
	/* A server that the agent does not have. */
	agent.hosted_tools = TH_STR("[]");
	answer(w, MCP("m5", "do"));
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "\"reason\":\"MCP server label srv not found\"}"));
	agent.hosted_tools = (struct th_str){ 0 };
	end(w);
}

static void test_a_rule_answers_for_a_server(void **unused)
{
	struct th_agent_rule rules[] = {
		{ .tool = TH_STR("srv.do"), .class = -1, .decide = TH_RULE_RUN },
		{ .tool = TH_STR("srv.*"),
		  .class = -1,
		  .decide = TH_RULE_REFUSE,
		  .message = TH_STR("not that one") },
	};
	struct world *w;

	(void)unused;
	agent.hosted_tools = TH_STR(SERVER);
	agent.rules = (struct th_objects){ rules, TH_COUNT(rules) };
	w = begin("do it");
	answer(w, MCP("m1", "do") "," MCP("m2", "rm"));
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "\"approval_request_id\":\"m1\",\"approve\":true}"));
	assert_non_null(strstr(w->body, "\"approval_request_id\":\"m2\",\"approve\":false,"
					"\"reason\":\"not that one\"}"));
	agent.hosted_tools = (struct th_str){ 0 };
	agent.rules = (struct th_objects){ 0 };
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_finishes),
		cmocka_unit_test(test_nothing_is_sent_before_it_is_durable),
		cmocka_unit_test(test_a_local_read_takes_two_flushes),
		cmocka_unit_test(test_effects_wait_for_their_intent),
		cmocka_unit_test(test_an_intent_names_its_journal),
		cmocka_unit_test(test_a_late_result_changes_nothing),
		cmocka_unit_test(test_unknown_tools_and_bad_arguments_are_told),
		cmocka_unit_test(test_approval_is_waited_for_and_bound),
		cmocka_unit_test(test_a_rejected_call_is_told),
		cmocka_unit_test(test_overload_is_tried_again),
		cmocka_unit_test(test_attempts_end),
		cmocka_unit_test(test_a_bad_request_is_not_tried_again),
		cmocka_unit_test(test_the_next_model_goes_on),
		cmocka_unit_test(test_a_task_begins_with_the_first_model),
		cmocka_unit_test(test_another_model_in_a_narrowed_history),
		cmocka_unit_test(test_another_model_waits_for_the_log),
		cmocka_unit_test(test_goes_on_from_the_last_answer),
		cmocka_unit_test(test_a_narrowed_history_is_sent_whole),
		cmocka_unit_test(test_another_model_breaks_the_chain),
		cmocka_unit_test(test_an_answer_in_the_background),
		cmocka_unit_test(test_an_answer_is_found_again),
		cmocka_unit_test(test_an_answer_that_is_gone_is_asked_for_again),
		cmocka_unit_test(test_a_stop_ends_the_answer),
		cmocka_unit_test(test_ids_that_are_none),
		cmocka_unit_test(test_garbage_is_an_outcome),
		cmocka_unit_test(test_turns_end_at_the_limit),
		cmocka_unit_test(test_an_answered_turn_is_not_asked_again),
		cmocka_unit_test(test_unknown_comes_with_a_look),
		cmocka_unit_test(test_a_crash_while_looking),
		cmocka_unit_test(test_look_before_you_repeat),
		cmocka_unit_test(test_a_person_may_let_it_repeat),
		cmocka_unit_test(test_parked_until_a_person_says),
		cmocka_unit_test(test_a_crash_after_the_word),
		cmocka_unit_test(test_divergence_stops_a_resume),
		cmocka_unit_test(test_the_first_picture),
		cmocka_unit_test(test_no_first_picture),
		cmocka_unit_test(test_a_lost_request_is_sent_again),
		cmocka_unit_test(test_pause_and_resume),
		cmocka_unit_test(test_stop_cancels_what_runs),
		cmocka_unit_test(test_stop_cancels_the_request),
		cmocka_unit_test(test_a_stale_owner_is_told_and_stops),
		cmocka_unit_test(test_a_second_task_continues),
		cmocka_unit_test(test_the_request_is_the_same_after_a_restart),
		cmocka_unit_test(test_what_is_settled_is_of_its_own_epoch),
		cmocka_unit_test(test_a_read_is_done_again_under_our_epoch),
		cmocka_unit_test(test_a_message_to_a_busy_model_is_answered),
		cmocka_unit_test(test_a_request_is_what_its_event_says),
		cmocka_unit_test(test_a_request_waits_for_its_own_event),
		cmocka_unit_test(test_a_request_waits_for_the_whole_log),
		cmocka_unit_test(test_messages_to_a_busy_model_have_a_maximum),
		cmocka_unit_test(test_a_shell_of_the_api),
		cmocka_unit_test(test_a_shell_of_the_api_is_settled),
		cmocka_unit_test(test_a_provider_asks_for_its_server),
		cmocka_unit_test(test_a_rule_answers_for_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
