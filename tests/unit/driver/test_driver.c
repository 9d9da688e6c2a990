/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_driver.c - the driver in a world of paper: a store that is durable when
 * the test says so, a model that answers what the test says, effects that are
 * counted.
 */
#include "json_says.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/blob_text.h"
#include "live/live.h"
#include "paper.h"

#define TICK_MS 10 /* the world's clock moves with each look at it */

static struct th_resolved_model fallback[2]; /* as many as agent.fallback has */

static struct th_agent agent = { .name = TH_STR_INIT("tester"),
				 .instructions = TH_STR_INIT("Be brief.") };

static struct th_tool_row rows[] = {
	{ .spec = { .name = TH_STR_INIT("shell"),
		    .scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_W } },
	{ .spec = { .name = TH_STR_INIT("weather"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_R },
	  .local = paper_weather },
	{ .spec = { .name = TH_STR_INIT("look"),
		    .schema = TH_STR_INIT("{\"type\":\"object\"}"),
		    .class = TH_CLASS_R } },
};

static struct th_session_config session_config(struct paper *w)
{
	struct th_session_config o = {
		.agent = &agent, .fallback = fallback, .tools = rows, .tool_count = TH_COUNT(rows)
	};
	struct th_err err;

	rows[1].ctx = w;
	assert_int_equal(
	    th_model_resolve(TH_STR("gpt-5.4"), &o.first.profile, &o.first.model, &err), TH_OK);
	return o;
}

static void create(struct paper *w, const struct th_session_config *o, struct th_str model)
{
	struct th_ev_session_created created = { .model = model };
	struct th_err err = { 0 };

	if (paper_create(w, o, &created, &err))
		fail_msg("%s", err.msg);
}

/* Nothing of it is written yet. */
static struct paper *begin_unwritten(const char *task)
{
	struct paper *w = paper_new();
	struct th_session_config o = session_config(w);
	struct th_err err = { 0 };

	create(w, &o, TH_STR("gpt-5.4"));
	assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(task), &err), TH_OK);
	return w;
}

static struct paper *begin(const char *task)
{
	struct paper *w = begin_unwritten(task);

	paper_settle(w);
	return w;
}

/* The process dies and another one takes the session up from its log. */
static void restart(struct paper *w)
{
	struct th_session_config o = session_config(w);

	paper_die(w);
	w->h = paper_open(w, "a1", &o);
	paper_resume(w);
}

static void answer(struct paper *w, const char *items)
{
	paper_answer(w, w->request, items);
}

static void say(struct paper *w, const char *body)
{
	paper_say(w, w->request, body);
}

static void tool_done(struct paper *w, size_t index, enum th_outcome_status status,
		      const char *text)
{
	struct th_effect_result r = { .status = status, .output = th_str_of(text) };

	assert_true(index < w->effect_count);
	th_driver_tool_done(w->driver, w->effects[index].ticket, &r);
	paper_settle(w);
}

static const char *kinds(const struct paper *w)
{
	return paper_kinds(w, 0);
}

static enum th_state state(const struct paper *w)
{
	return th_driver_session(w->driver, w->h)->state;
}

static enum th_code fit(void *ctx, const struct th_event *first, struct th_session_config *ret,
			struct th_err *err)
{
	(void)first, (void)err;
	*ret = *(const struct th_session_config *)ctx;
	return TH_OK;
}

static void on_lost(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	(void)h, (void)s;
	assert_int_equal(err->code, TH_EFENCED);
	++*(int *)ctx;
}

/* The lease is over while a session is read, none of whose events has come yet. */
static void test_lost_while_it_is_opened(void **unused)
{
	struct paper *w = begin("hello");
	struct th_session_config o = session_config(w);
	int told = 0;
	struct th_observer see = { .rest = on_lost, .ctx = &told };
	struct th_opening *opening = NULL;
	struct th_err err = { 0 }, why = { 0 };
	struct th_session_row row;

	(void)unused;
	paper_die(w);
	row = (struct th_session_row){ .session_id = TH_STR("a1"),
				       .head_seq = w->log->count,
				       .epoch = ++w->epoch };
	assert_int_equal(th_driver_open_begin(w->driver, &row, fit, &o, &see, &opening, &err),
			 TH_OK);
	(void)th_fail(&why, TH_EFENCED, "the lease is over");
	th_driver_lose_all(w->driver, &why);
	assert_int_equal(told, 1);
	th_driver_open_drop(opening);
	paper_free(w);
}

static void test_text_finishes(void **unused)
{
	struct paper *w = begin("hello");

	(void)unused;
	assert_non_null(strstr(w->request->body, "hello"));
	assert_non_null(strstr(w->request->body, "Be brief."));
	answer(w, TEXT("hi there"));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered final");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(w->rests, 1);
	assert_non_null(strstr(w->log->list[4].data, "hi there"));
	paper_free(w);
}

static void test_nothing_is_sent_before_it_is_durable(void **unused)
{
	struct paper *w = begin_unwritten("go");

	(void)unused;
	assert_false(w->request->open);
	th_driver_flush(w->driver);
	assert_false(w->request->open);
	paper_commit(w);
	assert_true(w->request->open);
	paper_free(w);
}

static void test_a_local_read_takes_two_flushes(void **unused)
{
	struct paper *w = begin("weather?");

	(void)unused;
	answer(w, CALL("call_1", "weather", "{}"));
	assert_true(w->local_runs > 0);
	assert_false(w->early);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "function_call_output"));
	assert_non_null(strstr(w->request->body, "sunny"));
	answer(w, TEXT("It is sunny."));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered call intent "
			    "outcome model_requested model_answered final");
	paper_free(w);
}

static void test_effects_wait_for_their_intent(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{\\\"command\\\":\\\"true\\\"}") "," CALL(
		      "call_2", "shell", "{\\\"command\\\":\\\"false\\\"}"));
	assert_int_equal(w->runs, 2);
	assert_false(w->early);
	/* The second one ends first; the model gets both, in the order of the calls. */
	tool_done(w, 1, TH_OUTCOME_FAILED, "\"two\"");
	assert_false(w->request->open);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"one\"");
	assert_true(w->request->open);
	assert_true(strstr(w->request->body, "\"one\"") < strstr(w->request->body, "\"two\""));
	answer(w, TEXT("done"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	paper_free(w);
}

/* The first INTENT waits until it can name the journal; others of the answer with it. */
static void test_an_intent_names_its_journal(void **unused)
{
	struct paper *w = begin("go");
	struct th_err err = { 0 };

	(void)unused;
	w->starting = true;
	answer(w, CALL("c1", "shell", "{}") "," CALL("c2", "weather", "{}") "," CALL("c3", "shell",
										     "{}"));
	assert_true(w->local_runs > 0);
	assert_int_equal(w->ready_asked, 2);
	assert_int_equal(w->effect_count, 0);
	assert_null(strstr(kinds(w), "intent intent"));
	/* A pause meanwhile: nothing begins, and a resume asks again. */
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	th_driver_tool_ready(w->driver, w->ready);
	paper_settle(w);
	assert_int_equal(w->effect_count, 0);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->ready_asked, 4);
	assert_int_equal(w->effect_count, 0);
	w->starting = false;
	th_driver_tool_ready(w->driver, w->ready);
	th_driver_tool_ready(w->driver, w->ready);
	paper_settle(w);
	assert_int_equal(w->effect_count, 2);
	assert_false(w->early);
	assert_string_equal(w->effect->journal, "journal-1");
	/* After a crash the same is asked for. */
	restart(w);
	assert_int_equal(w->settles, 2);
	assert_string_equal(w->effect->journal, "journal-1");
	paper_free(w);

	/* A stop while it waits: it is refused, and no intent is left behind. */
	w = begin("go");
	w->starting = true;
	answer(w, CALL("c1", "shell", "{}"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	w->starting = false;
	th_driver_tool_ready(w->driver, w->ready);
	paper_settle(w);
	assert_int_equal(w->effect_count, 0);
	assert_null(strstr(kinds(w), "intent"));
	paper_free(w);

	/* None to be had: the intent says so, and whoever runs it says why. */
	w = begin("go");
	w->no_executor = true;
	answer(w, CALL("c1", "shell", "{}"));
	assert_int_equal(w->effect_count, 1);
	assert_string_equal(w->effect->journal, "");
	paper_free(w);
}

static void test_a_late_result_changes_nothing(void **unused)
{
	struct paper *w = begin("run it");
	size_t count;

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	tool_done(w, 0, TH_OUTCOME_DONE, "\"one\"");
	count = w->log->count;
	tool_done(w, 0, TH_OUTCOME_DONE, "\"again\"");
	assert_int_equal(w->log->count, count);
	paper_free(w);
}

static void test_unknown_tools_and_bad_arguments_are_told(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "teleport", "{}") "," CALL("call_2", "shell", "{oops"));
	assert_int_equal(w->runs, 0);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "there is no tool named"));
	assert_non_null(strstr(w->request->body, "the arguments of shell are not usable"));
	paper_free(w);
}

static void test_approval_is_waited_for_and_bound(void **unused)
{
	struct paper *w = begin("run it");
	struct th_str all[] = { TH_STR("shell") };
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	answer(w, CALL("call_1", "shell", "{}") "," CALL("call_2", "weather", "{}"));
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_int_equal(w->rests, 1);
	assert_int_equal(w->runs, 0);
	assert_true(w->local_runs > 0); /* class R may start early */
	/* A message approves nothing. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("yes, approved"), &err), TH_OK);
	paper_settle(w);
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
	paper_settle(w);
	assert_int_equal(w->runs, 1);
	assert_false(w->early);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"ok\"");
	assert_true(w->request->open);
	/* What was said meanwhile stands behind the results. */
	assert_true(strstr(w->request->body, "yes, approved") > strstr(w->request->body, "sunny"));
	agent.approve = (struct th_strs){ 0 };
	paper_free(w);
}

/* An id that comes again is not enough to decide by: the word may be about the call before. */
static void test_a_late_word_is_about_what_was_asked(void **unused)
{
	struct paper *w = begin("run it");
	struct th_str all[] = { TH_STR("all") }, id = TH_STR("call_1"), me = TH_STR("me");
	struct th_buf old TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_err err = { 0 };
	const struct th_call *c;

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	answer(w, CALL("call_1", "shell", "{\\\"command\\\":\\\"ls\\\"}"));
	c = th_driver_waits(w->driver, w->h, TH_CALL_ASKED, TH_STR(""), &old);
	assert_true(th_str_is(th_buf_str(&old), "call_1"));
	th_buf_printf(&old, "#%llu", (unsigned long long)c->call_seq);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&old), false, me, TH_STR("no"), &err),
	    TH_OK);
	paper_settle(w);
	answer(w, CALL("call_1", "shell", "{\\\"command\\\":\\\"rm -r .\\\"}"));
	for (int restarted = 0; restarted < 2; restarted++) {
		assert_int_equal(th_driver_decide(w->driver, w->h, id, true, me, TH_STR(""), &err),
				 TH_EUSAGE);
		assert_non_null(strstr(err.msg, "rm -r ."));
		assert_int_equal(
		    th_driver_decide(w->driver, w->h, th_buf_str(&old), true, me, TH_STR(""), &err),
		    TH_ENOENT);
		assert_int_equal(state(w), TH_STATE_WAITING);
		restart(w);
	}
	assert_non_null(th_driver_waits(w->driver, w->h, TH_CALL_ASKED, id, &name));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&name), true, me, TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_int_equal(w->runs, 1);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"ok\"");
	/* An id that looks like the name of another is that other's. */
	answer(w, CALL("call_1#2", "shell", "{}"));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("call_1#2"), true, me, TH_STR(""), &err),
	    TH_EUSAGE);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR(""), false, me, TH_STR(""), &err),
			 TH_OK);
	agent.approve = (struct th_strs){ 0 };
	paper_free(w);
}

static void test_a_rejected_call_is_told(void **unused)
{
	struct paper *w = begin("run it");
	struct th_str all[] = { TH_STR("all") };
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR(""), false, TH_STR("me"),
					  TH_STR("too risky"), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(w->runs, 0);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "too risky"));
	agent.approve = (struct th_strs){ 0 };
	paper_free(w);
}

static void test_overload_is_tried_again(void **unused)
{
	struct paper *w = begin("hello");

	(void)unused;
	paper_refuse(w, w->request, 429,
		     "{\"error\":{\"message\":\"slow "
		     "down\",\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"}}");
	assert_false(w->request->open);
	assert_true(w->timer_ms >= 0);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	paper_ring(w);
	assert_true(w->request->open);
	answer(w, TEXT("hi"));
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_failed model_requested "
			    "model_answered final");
	paper_free(w);
}

static void test_attempts_end(void **unused)
{
	struct paper *w = begin("hello");
	int attempts = 0;

	(void)unused;
	while (w->request->open && attempts < 50) {
		attempts++;
		paper_refuse(w, w->request, 500, "oops");
		paper_ring(w);
	}
	assert_int_equal(attempts, TH_ATTEMPTS_DEFAULT);
	assert_int_equal(state(w), TH_STATE_FAILED);
	assert_int_equal(w->log->list[w->log->count - 1].ev.kind, TH_EV_ERROR);
	paper_free(w);
}

static void test_a_bad_request_is_not_tried_again(void **unused)
{
	struct paper *w = begin("hello");

	(void)unused;
	paper_refuse(
	    w, w->request, 400,
	    "{\"error\":{\"message\":\"no such parameter\",\"type\":\"invalid_request_error\"}}");
	assert_int_equal(state(w), TH_STATE_FAILED);
	assert_non_null(strstr(w->log->list[w->log->count - 1].data, "no such parameter"));
	paper_free(w);
}

/* Two more models, the first of them on another wire. */
static struct paper *begin_with_fallback(const char *task)
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

static void end_with_fallback(struct paper *w)
{
	paper_free(w);
	agent.fallback = (struct th_strs){ 0 };
}

static void answer_chat(struct paper *w, const char *message)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	th_buf_printf(&body,
		      "{\"id\":\"c1\",\"object\":\"chat.completion\",\"model\":\"other\","
		      "\"choices\":[{\"index\":0,\"message\":%s,\"finish_reason\":\"stop\"}]}",
		      message);
	say(w, body.ptr);
	th_buf_deinit(&body);
}

#define REFUSED "{\"error\":{\"message\":\"no such key\",\"type\":\"invalid_request_error\"}}"

static void test_the_next_model_goes_on(void **unused)
{
	struct paper *w = begin_with_fallback("hello");
	char *before;

	(void)unused;
	assert_non_null(strstr(w->request->body, "\"input\":["));
	answer(w, CALL("call_1", "weather", "{}"));
	assert_int_equal(w->request->model_at, 0);
	paper_refuse(w, w->request, 401, REFUSED);
	assert_string_equal(kinds(w),
			    "session_created message model_requested model_answered call intent "
			    "outcome model_requested model_failed model_requested");
	assert_json_text(w->log->list[8].data, "next", "chat:other");
	assert_json_text(w->log->list[9].data, "model", "other");
	/* The same history in the words of the other wire. */
	assert_int_equal(w->request->model_at, 1);
	assert_non_null(strstr(w->request->body, "\"messages\":["));
	assert_non_null(strstr(w->request->body, "\"tool_calls\":["));
	assert_non_null(strstr(w->request->body, "sunny"));
	assert_null(strstr(w->request->body, "function_call_output"));
	before = strdup(w->request->body);
	restart(w);
	assert_int_equal(w->request->model_at, 1);
	assert_string_equal(w->request->body, before);
	free(before);
	/* Its own tries, of which the restart took one, then the next one; the last one's failure
	 * ends the run. */
	for (int i = 2; i <= TH_ATTEMPTS_DEFAULT; i++) {
		assert_int_equal(w->request->model_at, 1);
		paper_refuse(w, w->request, 500, "oops");
		paper_ring(w);
	}
	assert_int_equal(w->request->model_at, 2);
	paper_refuse(w, w->request, 401, REFUSED);
	assert_int_equal(state(w), TH_STATE_FAILED);
	end_with_fallback(w);
}

/* What it asks for is read in its own words, and the next task is the first model's. */
/* What a server of its own was told of is not said to another's. */
static void test_extras_are_the_first_model_s(void **unused)
{
	static struct th_agent_model_settings extra = {
		TH_SETTINGS_UNSET,
		.parallel_tool_calls = TH_STR_INIT("false"),
		.extra_body = TH_STR_INIT("{\"service_tier\":\"flex\"}"),
	};
	struct paper *w;

	(void)unused;
	agent.settings = &extra;
	w = begin_with_fallback("hello");
	assert_json(w->request->body, "parallel_tool_calls", "false");
	assert_json_text(w->request->body, "service_tier", "flex");
	paper_refuse(w, w->request, 401, REFUSED);
	assert_int_equal(w->request->model_at, 1);
	assert_json(w->request->body, "parallel_tool_calls", "false");
	assert_null(strstr(w->request->body, "service_tier"));
	answer_chat(w, "{\"content\":\"done\"}");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	/* The next task is the first model's again. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), NULL), TH_OK);
	paper_settle(w);
	assert_json_text(w->request->body, "service_tier", "flex");
	end_with_fallback(w);
	agent.settings = NULL;
}

static void test_a_task_begins_with_the_first_model(void **unused)
{
	struct paper *w = begin_with_fallback("hello");
	struct th_err err;

	(void)unused;
	paper_refuse(w, w->request, 401, REFUSED);
	answer_chat(w, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"t1\","
		       "\"type\":\"function\",\"function\":{\"name\":\"weather\","
		       "\"arguments\":\"{}\"}}]}");
	assert_true(w->local_runs > 0);
	assert_int_equal(w->request->model_at, 1);
	assert_non_null(strstr(w->request->body, "sunny"));
	answer_chat(w, "{\"role\":\"assistant\",\"content\":\"fair\"}");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and now?"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->request->model_at, 0);
	assert_non_null(strstr(w->request->body, "\"input\":["));
	assert_non_null(strstr(w->request->body, "function_call_output"));
	assert_non_null(strstr(w->request->body, "and now?"));
	end_with_fallback(w);
}

/* A narrowed history says what another model said in our model's words, too. */
static void test_another_model_in_a_narrowed_history(void **unused)
{
	struct paper *w;
	struct th_err err;

	(void)unused;
	agent.history_items = 20;
	w = begin_with_fallback("hello");
	paper_refuse(w, w->request, 401, REFUSED);
	answer_chat(w,
		    "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\","
		    "\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":"
		    "\"weather\",\"arguments\":\"{}\"}}]}");
	assert_non_null(strstr(w->request->body, "tool_calls")); /* its own words */
	answer_chat(w, "{\"role\":\"assistant\",\"content\":\"fair\"}");
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and now?"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->request->model_at, 0);
	assert_null(strstr(w->request->body, "tool_calls"));
	assert_null(strstr(w->request->body, "\"hm\""));
	assert_json_text(w->request->body, "input.type=function_call.name", "weather");
	assert_non_null(strstr(w->request->body, "function_call_output"));
	assert_non_null(strstr(w->request->body, "fair"));
	agent.history_items = 0;
	end_with_fallback(w);
}

/* The history of another model is made from the log, so all of that has to be there; what is said
 * meanwhile is in the one request that follows. */
static void test_another_model_waits_for_the_log(void **unused)
{
	struct paper *w = begin_with_fallback("hello");
	struct th_model_end done = { .status_only = true, .http_status = 401, .hints = { -1, -1 } };
	struct th_err err;

	(void)unused;
	assert_true(paper_reply(w, w->request, TH_STR(REFUSED), &done));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("hurry"), &err), TH_OK);
	w->flush = false;
	th_driver_flush(w->driver);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("please"), &err), TH_OK);
	assert_false(w->request->open);
	paper_commit(w);
	assert_false(w->request->open);
	paper_settle(w);
	assert_string_equal(kinds(w), "session_created message model_requested model_failed "
				      "message message model_requested");
	assert_true(w->request->open);
	assert_int_equal(w->request->model_at, 1);
	assert_non_null(strstr(w->request->body, "hurry"));
	assert_non_null(strstr(w->request->body, "please"));
	end_with_fallback(w);
}

/* What the provider has kept is named, and only what is new is sent. */
static void test_goes_on_from_the_last_answer(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct paper *w;
	char *before;

	(void)unused;
	agent.settings = &kept;
	w = begin("hello");
	assert_json(w->request->body, "store", "true");
	assert_null(strstr(w->request->body, "previous_response_id"));
	answer(w, CALL("call_1", "weather", "{}"));
	assert_json_text(w->request->body, "previous_response_id", "resp_1");
	assert_json_text(w->request->body, "input.0.type", "function_call_output");
	assert_null(strstr(w->request->body, "hello"));
	assert_non_null(strstr(w->request->body, "Be brief."));
	assert_json_text(w->log->list[7].data, "previous", "resp_1");
	assert_json(w->log->list[7].data, "items", "1");
	/* The same after a crash. */
	before = strdup(w->request->body);
	restart(w);
	assert_string_equal(w->request->body, before);
	free(before);
	/* It is gone: the whole history, at once, and it was no try. */
	paper_refuse(w, w->request, 400,
		     "{\"error\":{\"message\":\"Previous response with id 'resp_1' not found.\","
		     "\"type\":\"invalid_request_error\",\"param\":\"previous_response_id\","
		     "\"code\":\"previous_response_not_found\"}}");
	assert_true(w->request->open);
	assert_null(strstr(w->request->body, "previous_response_id"));
	assert_non_null(strstr(w->request->body, "hello"));
	assert_non_null(strstr(w->request->body, "sunny"));
	assert_json(w->log->list[9].data, "whole", "true");
	/* From there it goes on as before. */
	answer(w, CALL("call_2", "weather", "{}"));
	assert_json_text(w->request->body, "previous_response_id", "resp_1");
	assert_null(strstr(w->request->body, "call_1"));
	agent.settings = NULL;
	paper_free(w);
}

/* What the provider has kept is more than a narrowed history has. */
static void test_a_narrowed_history_is_sent_whole(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct paper *w;

	(void)unused;
	agent.settings = &kept;
	agent.history_items = 5;
	w = begin("hello");
	answer(w, CALL("call_1", "weather", "{}"));
	assert_null(strstr(w->request->body, "previous_response_id"));
	assert_non_null(strstr(w->request->body, "hello"));
	assert_json_lacks(w->log->list[7].data, "previous");
	agent.settings = NULL;
	agent.history_items = 0;
	paper_free(w);
}

static void test_another_model_breaks_the_chain(void **unused)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						       .history = TH_HISTORY_PREVIOUS };
	struct paper *w;

	(void)unused;
	agent.settings = &kept;
	w = begin_with_fallback("hello");
	answer(w, CALL("call_1", "weather", "{}"));
	assert_non_null(strstr(w->request->body, "previous_response_id"));
	paper_refuse(w, w->request, 401, REFUSED);
	assert_int_equal(w->request->model_at, 1);
	assert_null(strstr(w->request->body, "previous_response_id"));
	assert_non_null(strstr(w->request->body, "hello"));
	agent.settings = NULL;
	end_with_fallback(w);
}

/* ---- answers that the provider works on by itself ---- */

static struct paper *begin_background(void)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET, .background = true };

	agent.settings = &kept;
	return begin("hello");
}

static void end_background(struct paper *w)
{
	paper_free(w);
	agent.settings = NULL;
}

#define UNDER_WAY(status) \
	"{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"" status "\",\"output\":[]}"

static void test_an_answer_in_the_background(void **unused)
{
	struct paper *w = begin_background();

	(void)unused;
	assert_json(w->request->body, "store", "true");
	assert_json(w->request->body, "background", "true");
	assert_false(w->request->get);
	say(w, UNDER_WAY("queued"));
	assert_string_equal(kinds(w), "session_created message model_requested model_started");
	assert_int_equal(w->timer_ms, TH_POLL_FIRST_MS);
	paper_ring(w);
	assert_true(w->request->get);
	assert_string_equal(w->request->path, "/responses/resp_1");
	say(w, UNDER_WAY("in_progress"));
	assert_int_equal(w->timer_ms, 2 * TH_POLL_FIRST_MS);
	for (int i = 0; i < 8; i++) {
		paper_ring(w);
		say(w, UNDER_WAY("in_progress"));
	}
	assert_int_equal(w->timer_ms, TH_POLL_MAX_MS);
	paper_ring(w);
	answer(w, TEXT("hi"));
	assert_string_equal(kinds(w), "session_created message model_requested model_started "
				      "model_answered final");
	end_background(w);
}

/* After a crash, a cut, a pause: it is fetched, and never asked for again. */
static void test_an_answer_is_found_again(void **unused)
{
	struct paper *w = begin_background();
	struct th_err err;

	(void)unused;
	say(w, UNDER_WAY("queued"));
	restart(w);
	assert_true(w->request->get);
	assert_string_equal(w->request->path, "/responses/resp_1");
	paper_lose(w, w->request, TH_FAILURE_CUT);
	assert_json(w->log->list[w->log->count - 1].data, "kept", "true");
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("hurry"), &err), TH_OK);
	paper_settle(w);
	paper_ring(w);
	assert_true(w->request->get);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_string_equal(w->ended, "");
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->get);
	answer(w, TEXT("hi"));
	/* What was said meanwhile stands behind the answer. */
	assert_true(w->request->open);
	assert_false(w->request->get);
	assert_true(strstr(w->request->body, "hurry") > strstr(w->request->body, "hi"));
	end_background(w);
}

static void test_an_answer_that_is_gone_is_asked_for_again(void **unused)
{
	struct paper *w = begin_background();

	(void)unused;
	say(w, UNDER_WAY("queued"));
	paper_ring(w);
	paper_refuse(w, w->request, 404, "{\"error\":{\"message\":\"no such response\"}}");
	paper_ring(w);
	assert_false(w->request->get);
	assert_non_null(strstr(w->request->body, "hello"));
	/* One that failed is asked for again, too. */
	say(w, UNDER_WAY("queued"));
	paper_ring(w);
	say(w, "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"failed\",\"output\":[],"
	       "\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}");
	assert_json_lacks(w->log->list[w->log->count - 1].data, "kept");
	paper_ring(w);
	assert_false(w->request->get);
	end_background(w);
}

static void test_a_stop_ends_the_answer(void **unused)
{
	struct paper *w = begin_background();
	struct th_err err;

	(void)unused;
	say(w, UNDER_WAY("queued"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_string_equal(w->ended, "/responses/resp_1/cancel");
	assert_json_lacks(w->log->list[w->log->count - 1].data, "kept");
	end_background(w);
}

#define EVENT(n, type, more)                                                                      \
	"event: response." type "\ndata: {\"type\":\"response." type "\",\"sequence_number\":" #n \
	"," more "}\n\n"
#define CREATED(n) EVENT(n, "created", "\"response\":{\"id\":\"resp_1\"}")
#define ITEM(n) EVENT(n, "output_item.done", "\"output_index\":0,\"item\":" TEXT("hi"))
#define COMPLETED(n)          \
	EVENT(n, "completed", \
	      "\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[]}")

/* Begins to stream one whose first event has that number, and is cut. */
static struct paper *begin_streamed(const char *events)
{
	static struct th_agent_model_settings kept = { TH_SETTINGS_UNSET, .background = true,
						       .stream = true };
	struct paper *w;

	agent.settings = &kept;
	w = begin("hello");
	assert_true(th_driver_model_data(w->driver, w->request->ticket, th_str_of(events)));
	paper_settle(w);
	return w;
}

/* After a crash its stream is taken up where it began: all that it brings is the answer. */
static void test_a_stream_is_taken_up(void **unused)
{
	struct paper *w = begin_streamed(CREATED(4) ITEM(5));

	(void)unused;
	assert_string_equal(paper_last(w->log, TH_EV_MODEL_STARTED),
			    "{\"response_id\":\"resp_1\",\"next_event\":5}");
	restart(w);
	assert_true(w->request->get);
	assert_true(w->request->stream);
	assert_string_equal(w->request->path, "/responses/resp_1?stream=true&starting_after=4");
	say(w, ITEM(5) COMPLETED(6));
	assert_json_text(paper_last(w->log, TH_EV_MODEL_ANSWERED), "items.0.content.0.text", "hi");
	assert_int_equal(paper_count(w->log, TH_EV_MODEL_FAILED), 0);
	assert_int_equal(paper_count(w->log, TH_EV_FINAL), 1);
	end_background(w);
}

/* Whatever else a server makes of that: the answer is looked at, and that is no failed try. */
static void test_a_stream_that_cannot_be_taken_up(void **unused)
{
	enum { NO_STREAM, GONE, CUT, SILENT, ENDS, BROKEN, IGNORED, WAYS };

	(void)unused;
	for (int way = 0; way < WAYS; way++) {
		struct paper *w = begin_streamed(CREATED(0));

		restart(w);
		assert_string_equal(w->request->path,
				    "/responses/resp_1?stream=true&starting_after=0");
		if (way == NO_STREAM || way == GONE)
			paper_refuse(w, w->request, way == GONE ? 404 : 400,
				     "{\"error\":{\"message\":\"no stream\"}}");
		else if (way == CUT || way == SILENT)
			paper_lose(w, w->request, way == CUT ? TH_FAILURE_CUT : TH_FAILURE_TIMEOUT);
		else
			say(w, way == ENDS     ? ITEM(1)
			       : way == BROKEN ? "event: response.completed\ndata: {\n\n"
					       : UNDER_WAY("in_progress"));
		assert_int_equal(paper_count(w->log, TH_EV_MODEL_FAILED), 0);
		assert_int_equal(w->timer_ms, TH_POLL_FIRST_MS);
		paper_ring(w);
		assert_true(w->request->get);
		assert_false(w->request->stream);
		assert_string_equal(w->request->path, "/responses/resp_1");
		say(w, UNDER_WAY("in_progress"));
		paper_ring(w);
		assert_string_equal(w->request->path, "/responses/resp_1");
		answer(w, TEXT("hi"));
		assert_int_equal(paper_count(w->log, TH_EV_FINAL), 1);
		end_background(w);
	}
}

/* One that says of itself that it failed is believed. */
static void test_a_stream_that_fails(void **unused)
{
	struct paper *w = begin_streamed(CREATED(0));

	(void)unused;
	restart(w);
	say(w, EVENT(1, "failed",
		     "\"response\":{\"id\":\"resp_1\",\"status\":\"failed\",\"error\":"
		     "{\"code\":\"server_error\",\"message\":\"oops\"}}"));
	assert_int_equal(paper_count(w->log, TH_EV_MODEL_FAILED), 1);
	assert_json_lacks(paper_last(w->log, TH_EV_MODEL_FAILED), "kept");
	end_background(w);
}

/* Events without numbers, or with one that is none, are a stream that is not taken up. */
static void test_a_stream_without_numbers(void **unused)
{
	static const char *const firsts[] = {
		"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{"
		"\"id\":\"resp_1\"}}\n\n",
		CREATED(-1),
		CREATED(9999999999999999999),
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(firsts); i++) {
		struct paper *w = begin_streamed(firsts[i]);

		assert_string_equal(paper_last(w->log, TH_EV_MODEL_STARTED),
				    "{\"response_id\":\"resp_1\"}");
		restart(w);
		assert_string_equal(w->request->path, "/responses/resp_1");
		assert_false(w->request->stream);
		end_background(w);
	}
}

/* Looked at until the longest time of an answer is over, and no millisecond longer. */
static void test_an_answer_that_takes_too_long(void **unused)
{
	for (int late = 0; late <= 1; late++) {
		struct paper *w = begin_background();
		int64_t begun;

		(void)unused;
		say(w, UNDER_WAY("queued"));
		begun = th_driver_find(w->driver, w->h)->flight->started_ms;
		w->clock = begun + TH_MODEL_TOTAL_MS + late - TICK_MS;
		paper_ring(w);
		assert_string_equal(w->ended, late ? "/responses/resp_1/cancel" : "");
		if (late) { /* it is asked for again, after a wait as behind any failure */
			assert_int_equal(paper_count(w->log, TH_EV_MODEL_FAILED), 1);
			assert_int_equal(paper_count(w->log, TH_EV_MODEL_REQUESTED), 1);
			paper_ring(w);
			assert_int_equal(paper_count(w->log, TH_EV_MODEL_REQUESTED), 2);
		}
		assert_int_equal(w->request->get, !late);
		end_background(w);
	}
}

/* An id goes into a path: what could lead elsewhere is none. */
static void test_ids_that_are_none(void **unused)
{
	struct paper *w = begin_background();

	(void)unused;
	say(w, "{\"id\":\"../../files/x\",\"object\":\"response\",\"status\":\"queued\","
	       "\"output\":[]}");
	assert_null(strstr(kinds(w), "model_started"));
	assert_false(w->request->open);
	end_background(w);
}

static void test_garbage_is_an_outcome(void **unused)
{
	struct paper *w = begin("hello");
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

	(void)unused;
	assert_true(paper_reply(w, w->request, TH_STR("<html>\0\xff not json"), &done));
	paper_settle(w);
	assert_int_equal(w->log->list[w->log->count - 1].ev.kind, TH_EV_MODEL_FAILED);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	paper_free(w);
}

static void test_turns_end_at_the_limit(void **unused)
{
	static struct th_agent_limits limits = { .turns = 3 };
	struct paper *w;
	int turns = 0;

	(void)unused;
	agent.limits = &limits;
	w = begin("weather for ever");
	while (w->request->open && turns < 50) {
		turns++;
		answer(w, CALL("call_1", "weather", "{}"));
	}
	assert_int_equal(turns, 3);
	assert_int_equal(state(w), TH_STATE_LIMIT);
	agent.limits = NULL;
	paper_free(w);
}

/* Its calls are done; then the run stops, since the next turn could not be counted. */
static void test_an_answer_without_usage_stops_at_a_limit(void **unused)
{
	static const struct th_agent_limits all[] = { { .tokens = 100000 }, { .cost_usd = 5 } };
	static struct th_agent_limits limits;

	(void)unused;
	for (size_t i = 0; i <= TH_COUNT(all); i++) {
		struct paper *w;

		limits = i < TH_COUNT(all) ? all[i] : (struct th_agent_limits){ 0 };
		agent.limits = &limits;
		w = begin("the weather");
		paper_say(
		    w, w->request,
		    "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\","
		    "\"model\":\"gpt-5.4\",\"output\":[" CALL("call_1", "weather", "{}") "]}");
		assert_int_equal(paper_count(w->log, TH_EV_OUTCOME), 1);
		assert_int_equal(state(w), i < TH_COUNT(all) ? TH_STATE_LIMIT : TH_STATE_RUNNING);
		agent.limits = NULL;
		paper_free(w);
	}
}

static void test_an_answered_turn_is_not_asked_again(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->runs, 1);
	restart(w);
	assert_false(w->request->open);
	assert_int_equal(w->runs, 1);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"it may or may not have happened\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"a.txt\"");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "may or may not"));
	paper_free(w);
}

static const char *last_of(const struct paper *w, enum th_event_kind kind)
{
	const char *data = paper_last(w->log, kind);

	return data ? data : "";
}

#define MAKE CALL("call_1", "shell", "{\\\"command\\\":\\\"make\\\"}")

/* A command of which nobody knows how it ended: the model is told so, and what is there now. */
static void test_unknown_comes_with_a_look(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	/* Before the look nothing is written and nobody is told. */
	assert_false(w->request->open);
	assert_string_equal(last_of(w, TH_EV_OUTCOME), "");
	assert_string_equal(w->effect->tool, "list_dir");
	assert_int_equal(w->runs, 2);
	/* The same word once more changes nothing. */
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	assert_int_equal(w->effect_count, 3);
	tool_done(w, 2, TH_OUTCOME_DONE, "\"built.o 123\"");
	assert_true(w->request->open);
	assert_non_null(
	    strstr(w->request->body, "It may or may not have happened. It was not repeated."));
	assert_non_null(strstr(w->request->body, "built.o 123"));
	assert_null(strstr(w->request->body, "did not complete"));
	assert_json_text(last_of(w, TH_EV_OUTCOME), "observation.tool", "list_dir");
	assert_non_null(strstr(last_of(w, TH_EV_OUTCOME), "built.o 123"));
	paper_free(w);
}

/* A crash between the word and the look: both come again, the effect does not. */
static void test_a_crash_while_looking(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	restart(w);
	assert_int_equal(w->settles, 2);
	assert_string_equal(w->effect->tool, "shell");
	tool_done(w, 3, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 4, TH_OUTCOME_FAILED, "\"error: gone\"");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "did not succeed"));
	paper_free(w);
}

/* A second time the very same, unseen, is refused; after a look it is the model's to decide. */
static void test_look_before_you_repeat(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"\"");
	assert_int_equal(w->runs, 2);
	/* Other blanks are no other action; and a look in the same answer was not seen yet. */
	answer(w, CALL("call_2", "shell", "{ \\\"command\\\": \\\"make\\\" }"));
	assert_int_equal(w->runs, 2);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "look first"));
	/* Also after a restart. */
	restart(w);
	answer(w, CALL("call_3", "shell", "{\\\"command\\\":\\\"make\\\"}"));
	assert_int_equal(w->runs, 2);
	answer(w, CALL("call_4", "shell", "{\\\"command\\\":\\\"ls\\\"}"));
	assert_int_equal(w->runs, 3);
	tool_done(w, 3, TH_OUTCOME_DONE, "\"nothing\"");
	answer(w, CALL("call_5", "shell", "{\\\"command\\\":\\\"make\\\"}"));
	assert_int_equal(w->runs, 4);
	assert_string_equal(w->effect->arguments, "{\"command\":\"make\"}");
	tool_done(w, 4, TH_OUTCOME_DONE, "\"ok\"");
	paper_free(w);
}

static void test_a_person_may_let_it_repeat(void **unused)
{
	struct paper *w;
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
	paper_settle(w);
	assert_int_equal(w->runs, 3);
	assert_non_null(strstr(last_of(w, TH_EV_INTENT), "\"approval\":"));
	agent.repeat = TH_REPEAT_REFUSE;
	paper_free(w);
}

static void test_parked_until_a_person_says(void **unused)
{
	struct paper *w;
	struct th_err err = { 0 };

	(void)unused;
	agent.unknown = TH_UNKNOWN_PARK;
	w = begin("run it");
	answer(w, MAKE);
	restart(w);
	tool_done(w, 1, TH_OUTCOME_UNKNOWN, "\"\"");
	tool_done(w, 2, TH_OUTCOME_DONE, "\"built.o 123\"");
	assert_int_equal(state(w), TH_STATE_WAITING);
	assert_false(w->request->open);
	assert_int_equal(w->log->list[w->log->count - 1].ev.kind, TH_EV_PARKED);
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
	paper_settle(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "A person (ada) looked: it did not happen"));
	assert_non_null(strstr(w->request->body, "no object file"));
	assert_json_text(last_of(w, TH_EV_OUTCOME), "status", "not_started");
	assert_int_equal(w->runs, 2);
	agent.unknown = TH_UNKNOWN_TELL;
	paper_free(w);
}

/* The word is in the log, its outcome is not: the next runtime writes it. */
static void test_a_crash_after_the_word(void **unused)
{
	struct paper *w;
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
	paper_settle(w);
	count = w->log->count;
	/* As thole settle leaves it: word without outcome. */
	while (w->log->list[w->log->count - 1].ev.kind != TH_EV_SETTLED)
		paper_log_cut(w->log, w->log->count - 1);
	assert_true(w->log->count < count);
	restart(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "it did happen"));
	agent.unknown = TH_UNKNOWN_TELL;
	paper_free(w);
}

/* The log's call of a computer is not what this build reads in the answer. */
static void test_divergence_stops_a_resume(void **unused)
{
	struct paper *w = paper_new();
	struct th_str all[] = { TH_STR("all") };
	struct th_session_config o = session_config(w);
	struct th_err err = { 0 };
	struct paper_event *call;
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_buf data = TH_BUF_INIT(TH_KIB);
	const char *arguments = "{\"actions\":[{\"type\":\"click\",\"x\":9,\"y\":9,\"button\":"
				"\"left\",\"count\":1}],\"screenshot\":true,\"settle\":true}";

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	o.has_computer = true;
	o.screen = (struct th_size){ 100, 100 };
	create(w, &o, TH_STR("gpt-5.4"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("click it"), &err), TH_OK);
	paper_settle(w);
	answer(w, "{\"type\":\"computer_call\",\"id\":\"cu_1\",\"call_id\":\"call_1\",\"status\":"
		  "\"completed\",\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":"
		  "\"left\"}],\"pending_safety_checks\":[]}");
	assert_int_equal(state(w), TH_STATE_WAITING);
	/* Whole it is taken up. */
	paper_die(w);
	w->h = paper_open(w, "a1", &o);
	paper_resume(w);
	/* Now the log says another point. */
	paper_die(w);
	call = &w->log->list[4];
	assert_int_equal(call->ev.kind, TH_EV_CALL);
	th_call_digest(TH_STR("computer"), th_str_of(arguments), digest);
	th_buf_printf(&data,
		      "{\"call_id\":\"call_1\",\"tool\":\"computer\",\"arguments\":%s,\"class\":"
		      "\"W\",\"digest\":\"%s\",\"policy\":\"ask\"}",
		      arguments, digest);
	free(call->data);
	call->data = th_buf_steal(&data, NULL);
	call->ev.data = th_str_of(call->data);
	paper_log_cut(w->log, 5);
	w->h = paper_open(w, "a1", &o);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_EDIVERGED);
	assert_non_null(strstr(err.msg, "session a1: diverged"));
	assert_non_null(strstr(err.msg, "\"x\":9"));
	assert_non_null(strstr(err.msg, "\"x\":1"));
	agent.approve = (struct th_strs){ 0 };
	paper_free(w);
}

/* A world with a model that writes its actions as text, and a screen. */
static struct paper *begin_text(void)
{
	struct paper *w = paper_new();
	struct th_session_config o = session_config(w);
	struct th_str model = TH_STR("UI-TARS-1.5-7B");
	struct th_err err = { 0 };

	o.has_computer = true;
	o.screen = (struct th_size){ 1280, 800 };
	w->blob_at = 0xab;
	w->blob = "picture";
	assert_int_equal(th_model_resolve(model, &o.first.profile, &o.first.model, &err), TH_OK);
	create(w, &o, model);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("go"), &err), TH_OK);
	paper_settle(w);
	return w;
}

/* The session of begin_text, with the same screen. */
static void restart_text(struct paper *w)
{
	struct th_session_config o = session_config(w);
	struct th_err err = { 0 };

	o.has_computer = true;
	o.screen = (struct th_size){ 1280, 800 };
	assert_int_equal(
	    th_model_resolve(TH_STR("UI-TARS-1.5-7B"), &o.first.profile, &o.first.model, &err),
	    TH_OK);
	paper_die(w);
	w->h = paper_open(w, "a1", &o);
	paper_resume(w);
}

/* The picture that it began with. */
static void give_picture(struct paper *w)
{
	struct th_blob blob = { .media_type = TH_STR("image/png"), .bytes = TH_STR("picture") };
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .blobs = &blob, .blob_count = 1 };
	char hex[TH_SHA256_HEX_SIZE + 1], output[200];

	memset(blob.hash.bytes, 0xab, sizeof(blob.hash.bytes));
	th_digest_hex(&blob.hash, hex);
	snprintf(output, sizeof(output),
		 "[{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"%s\"}]", hex);
	r.output = th_str_of(output);
	th_driver_tool_done(w->driver, w->effects[0].ticket, &r);
	paper_settle(w);
}

/* Its first request shows a picture. */
static struct paper *begin_picture(void)
{
	struct paper *w = begin_text();

	give_picture(w);
	return w;
}

static void test_the_first_picture(void **unused)
{
	struct paper *w = begin_text();
	struct th_err err = { 0 };

	(void)unused;
	assert_false(w->request->open);
	assert_string_equal(w->effect->tool, "computer");
	assert_int_equal(w->runs, 1);
	/* What is said meanwhile asks for no second one. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("quick"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->runs, 1);
	give_picture(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "This is the screen now:"));
	assert_non_null(strstr(w->request->body, "base64,cGljdHVyZQ=="));
	paper_free(w);
}

/* What was just written is not read back. */
static void test_a_new_picture_is_here(void **unused)
{
	struct paper *w = begin_picture();

	(void)unused;
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "base64,cGljdHVyZQ=="));
	assert_int_equal(w->blob_reads, 0);
	restart_text(w);
	assert_true(w->request->open);
	assert_int_equal(w->blob_reads, 1); /* nobody reads beside the loop here */
	paper_free(w);
}

static void test_a_picture_is_read_beside(void **unused)
{
	struct paper *w = begin_picture();
	struct th_digest other = { { 1 } };
	struct th_err why = { 0 };

	(void)unused;
	w->beside = true;
	restart_text(w);
	assert_int_equal(w->blob_asks, 1);
	assert_false(w->request->open);
	/* What nobody asked for changes nothing. */
	th_driver_blob_here(w->driver, &other, TH_STR("x"), NULL);
	assert_false(w->request->open);
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR("picture"), NULL);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "base64,cGljdHVyZQ=="));
	assert_int_equal(w->blob_reads, 0);
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR("picture"), NULL);
	/* It cannot be had: the request fails, and asks for it anew when it is tried again. */
	restart_text(w);
	assert_int_equal(w->blob_asks, 2);
	(void)th_fail(&why, TH_ECONN, "the place is away");
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR(""), &why);
	assert_false(w->request->open);
	paper_settle(w);
	assert_int_equal(w->blob_reads, 0);
	assert_non_null(strstr(w->log->list[w->log->count - 1].data,
			       "picture of the history: the place is away"));
	paper_free(w);
}

/* Another session takes the same picture meanwhile: who waits for it goes on all the same. */
static void test_a_picture_is_taken_meanwhile(void **unused)
{
	struct paper *w = begin_picture();

	(void)unused;
	w->beside = true;
	restart_text(w);
	assert_int_equal(w->blob_asks, 1);
	th_driver_text_keep(w->driver, &w->blob_asked, TH_STR("picture"));
	assert_false(w->request->open);
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR("picture"), NULL);
	assert_true(w->request->open);
	assert_int_equal(w->blob_reads, 0);
	paper_free(w);
}

/* The session is stopped while its picture comes: nothing is sent. */
static void test_a_picture_comes_too_late(void **unused)
{
	struct paper *w = begin_picture();
	struct th_err err = { 0 };

	(void)unused;
	w->beside = true;
	restart_text(w);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR("picture"), NULL);
	paper_settle(w);
	assert_false(w->request->open);
	assert_int_equal(state(w), TH_STATE_STOPPED);
	paper_free(w);
}

/* The session goes on, and its new request is not durable when the picture of the one before comes:
 * nothing is sent before it is. */
static void test_a_picture_comes_too_early(void **unused)
{
	struct paper *w = begin_picture();
	struct th_err err = { 0 };

	(void)unused;
	w->beside = true;
	restart_text(w);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("wait"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR("go on"), &err), TH_OK);
	th_driver_blob_here(w->driver, &w->blob_asked, TH_STR("picture"), NULL);
	assert_false(w->request->open);
	paper_settle(w);
	assert_true(w->request->open);
	paper_free(w);
}

/* Without a screen to be seen the model is asked all the same. */
static void test_no_first_picture(void **unused)
{
	struct paper *w = begin_text();

	(void)unused;
	tool_done(w, 0, TH_OUTCOME_FAILED, "\"the display is gone\"");
	assert_true(w->request->open);
	assert_int_equal(w->runs, 1);
	paper_free(w);
}

static void test_a_lost_request_is_sent_again(void **unused)
{
	struct paper *w = begin("hello");

	(void)unused;
	restart(w);
	assert_true(w->request->open);
	answer(w, TEXT("hi"));
	assert_string_equal(
	    kinds(w),
	    "session_created message model_requested model_requested model_answered final");
	paper_free(w);
}

static void test_pause_and_resume(void **unused)
{
	struct paper *w = begin("run it");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("Ctrl-C"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(state(w), TH_STATE_PAUSED);
	assert_int_equal(w->rests, 1);
	restart(w);
	assert_int_equal(state(w), TH_STATE_RUNNING);
	assert_int_equal(w->settles, 1);
	tool_done(w, 1, TH_OUTCOME_DONE, "\"ok\"");
	answer(w, TEXT("done"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	paper_free(w);
}

static void test_stop_cancels_what_runs(void **unused)
{
	struct paper *w = begin("run it");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->cancels, 1);
	tool_done(w, 0, TH_OUTCOME_FAILED, "\"killed\"");
	assert_false(w->request->open);
	assert_int_equal(state(w), TH_STATE_STOPPED);
	/* A new message goes on from there. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("try again"), &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	paper_free(w);
}

static void test_stop_cancels_the_request(void **unused)
{
	struct paper *w = begin("hello");
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_true(w->cancelled);
	assert_string_equal(kinds(w),
			    "session_created message model_requested state_changed model_failed");
	paper_free(w);
}

static void test_a_stale_owner_is_told_and_stops(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	w->result = TH_EFENCED;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->runs, 0);
	assert_int_equal(w->rests, 1);
	assert_true(w->rest_failed);
	assert_non_null(strstr(w->rest_error, "another runtime"));
	paper_free(w);
}

static void test_a_second_task_continues(void **unused)
{
	struct paper *w = begin("first");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, TEXT("one"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	paper_settle(w);
	assert_non_null(strstr(w->request->body, "first"));
	assert_non_null(strstr(w->request->body, "one"));
	assert_non_null(strstr(w->request->body, "second"));
	answer(w, TEXT("two"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	assert_int_equal(w->rests, 2);
	paper_free(w);
}

static void test_the_request_is_the_same_after_a_restart(void **unused)
{
	struct paper *w = begin("run it");
	char *before;

	(void)unused;
	answer(w, CALL("call_1", "weather", "{}"));
	before = strdup(w->request->body);
	restart(w);
	assert_true(w->request->open);
	assert_string_equal(before, w->request->body);
	free(before);
	paper_free(w);
}

/* A journal that was not there when the intent was written proves nothing by what it lacks. */
static void test_what_is_settled_is_of_its_own_epoch(void **unused)
{
	struct paper *w = begin("run it");

	(void)unused;
	answer(w, CALL("call_1", "shell", "{}"));
	assert_int_equal(w->effect->epoch, 1);
	restart(w);
	assert_int_equal(w->settles, 1);
	assert_int_equal(w->effect->epoch, 1);
	paper_free(w);
}

/* A read needs no proof; under its first epoch the executor would refuse it. */
static void test_a_read_is_done_again_under_our_epoch(void **unused)
{
	struct paper *w = begin("look");

	(void)unused;
	answer(w, CALL("call_1", "look", "{}"));
	assert_int_equal(w->effect->epoch, 1);
	restart(w);
	assert_int_equal(w->effect->epoch, 2);
	paper_free(w);
}

static void test_a_message_to_a_busy_model_is_answered(void **unused)
{
	struct paper *w = begin("first");
	struct th_err err = { 0 };
	const char *one, *second;

	(void)unused;
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	paper_settle(w);
	answer(w, TEXT("one"));
	assert_int_equal(state(w), TH_STATE_RUNNING);
	one = strstr(w->request->body, "one");
	second = strstr(w->request->body, "second");
	assert_true(one && second && one < second);
	restart(w);
	assert_true(w->request->open);
	answer(w, TEXT("two"));
	assert_int_equal(state(w), TH_STATE_FINISHED);
	paper_free(w);
}

static void test_a_request_is_what_its_event_says(void **unused)
{
	struct paper *w = begin_unwritten("first");
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	paper_settle(w);
	assert_non_null(strstr(w->request->body, "first"));
	assert_null(strstr(w->request->body, "second"));
	paper_free(w);
}

/* The first request is durable, the one that took its place is not: neither is sent. */
static void test_a_request_waits_for_its_own_event(void **unused)
{
	struct paper *w = begin_unwritten("first");
	struct th_err err = { 0 };

	(void)unused;
	th_driver_flush(w->driver);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("second"), &err), TH_OK);
	paper_commit(w);
	assert_false(w->request->open);
	assert_int_equal(w->rests, 0);
	paper_settle(w);
	assert_true(w->request->open);
	paper_free(w);
}

/* Its history is made of the log, so it waits for all of that, however often more is said. */
static void test_a_request_waits_for_the_whole_log(void **unused)
{
	struct paper *w;
	struct th_err err = { 0 };

	(void)unused;
	agent.history_items = 5;
	w = begin_unwritten("first");
	for (int i = 0; i < 3; i++) {
		th_driver_flush(w->driver);
		assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
		paper_commit(w);
		assert_false(w->request->open);
	}
	paper_settle(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "first"));
	agent.history_items = 0;
	paper_free(w);
}

static void test_messages_to_a_busy_model_have_a_maximum(void **unused)
{
	struct paper *w = begin("first");
	struct th_err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < TH_HELD_MESSAGES_MAX; i++)
		assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_ELIMIT);
	paper_settle(w);
	assert_int_equal(w->rests, 0);
	answer(w, TEXT("one"));
	assert_true(w->request->open);
	paper_free(w);
}

/* The longest message, and one more byte; also where JSON makes more of it. */
static void test_edges_of_a_message(void **unused)
{
	char *text = malloc(TH_MESSAGE_MAX + 1);
	struct th_str longest = th_str_n(text, TH_MESSAGE_MAX);
	struct th_err err = { 0 };
	struct paper *w = begin("first");
	char wanted[120];

	(void)unused;
	assert_non_null(text);
	memset(text, 'x', TH_MESSAGE_MAX + 1);
	assert_int_equal(th_driver_message(w->driver, w->h, longest, &err), TH_OK);
	snprintf(wanted, sizeof(wanted), "a message has at most %zu bytes, this one has %zu",
		 TH_MESSAGE_MAX, TH_MESSAGE_MAX + 1);
	assert_int_equal(
	    th_driver_message(w->driver, w->h, th_str_n(text, TH_MESSAGE_MAX + 1), &err),
	    TH_ELIMIT);
	assert_string_equal(err.msg, wanted);
	memset(text, '\1', TH_MESSAGE_MAX);
	assert_int_equal(th_driver_message(w->driver, w->h, longest, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "message"));
	paper_settle(w);
	paper_free(w);
	free(text);
}

/* ---- the API's own items ----------------------------------------------------------------- */

static const struct th_tool_native native_shell = { .kind = TH_NATIVE_SHELL };

#define SHELL_CALL(id)                                                                       \
	"{\"type\":\"shell_call\",\"id\":\"sh_" id "\",\"call_id\":\"" id                    \
	"\",\"status\":\"completed\",\"created_by\":\"m\",\"action\":{\"commands\":[\"ls\"," \
	"\"pwd\"],\"timeout_ms\":900,\"max_output_length\":4}}"

static void test_a_shell_of_the_api(void **unused)
{
	struct th_effect_result r = {
		.status = TH_OUTCOME_DONE,
		.output = TH_STR("\"$ ls\""),
		.evidence = TH_STR("{\"commands\":[{\"stdout\":\"abcdef\",\"stderr\":\"\","
				   "\"outcome\":{\"type\":\"exit\",\"exit_code\":2}}]}"),
	};
	struct th_str all[] = { TH_STR("shell") };
	struct th_err err = { 0 };
	struct paper *w;
	char *before;

	(void)unused;
	rows[0].spec.native = &native_shell;
	agent.approve = (struct th_strs){ all, 1 };
	w = begin_with_fallback("look");
	assert_json(w->request->body, "tools.type=shell",
		    "{\"type\":\"shell\",\"environment\":{\"type\":\"local\"}}");
	answer(w, SHELL_CALL("s1"));
	assert_int_equal(state(w), TH_STATE_WAITING); /* an approval like any other */
	restart(w);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("s1"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_int_equal(w->runs, 1);
	assert_false(w->early);
	assert_string_equal(w->effect->tool, "commands");
	assert_string_equal(w->effect->arguments,
			    "{\"commands\":[\"ls\",\"pwd\"],\"timeout_ms\":900,"
			    "\"max_output_length\":4}");
	th_driver_tool_done(w->driver, w->effects[0].ticket, &r);
	paper_settle(w);
	/* What came goes back, but for who made it; the result has the API's form. */
	assert_json_text(w->request->body, "input.type=shell_call.id", "sh_s1");
	assert_null(strstr(w->request->body, "created_by"));
	assert_json_text(w->request->body, "input.type=shell_call_output.call_id", "s1");
	assert_json(w->request->body, "input.type=shell_call_output.output",
		    "[{\"stdout\":\"abcd\",\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_"
		    "code\":2}}]");
	assert_json(w->request->body, "input.type=shell_call_output.max_output_length", "4");
	before = strdup(w->request->body);
	restart(w);
	assert_string_equal(w->request->body, before);
	free(before);
	/* Another wire's model sees a function's call, and what was said of it. */
	paper_refuse(w, w->request, 401, REFUSED);
	assert_int_equal(w->request->model_at, 1);
	assert_json_text(w->request->body, "messages.2.tool_calls.0.function.name", "shell");
	assert_json_text(w->request->body, "messages.2.tool_calls.0.function.arguments",
			 "{\"command\":\"ls\\npwd\"}");
	assert_non_null(strstr(w->request->body, "\"$ ls\""));
	assert_null(strstr(w->request->body, "\"type\":\"shell\""));
	rows[0].spec.native = NULL;
	agent.approve = (struct th_strs){ 0 };
	end_with_fallback(w);
}

/* Stopped where nobody knows what became of it, it is settled as the same effect. */
static void test_a_shell_of_the_api_is_settled(void **unused)
{
	struct paper *w;

	(void)unused;
	rows[0].spec.native = &native_shell;
	w = begin("look");
	answer(w, SHELL_CALL("s1"));
	assert_int_equal(w->runs, 1);
	restart(w);
	assert_int_equal(w->runs, 1);
	assert_int_equal(w->settles, 1);
	assert_string_equal(w->effect->tool, "commands");
	tool_done(w, 1, TH_OUTCOME_DONE, "\"$ ls\"");
	assert_true(w->request->open);
	rows[0].spec.native = NULL;
	paper_free(w);
}

#define MCP(id, name)                                                                    \
	"{\"type\":\"mcp_approval_request\",\"id\":\"" id "\",\"server_label\":\"srv\"," \
	"\"name\":\"" name "\",\"arguments\":\"{\\\"a\\\":1}\"}"
#define SERVER "[{\"type\":\"mcp\",\"server_label\":\"srv\",\"server_url\":\"https://x\"}]"

static void decide_mcp(struct paper *w, const char *id, bool approve, bool always,
		       const char *message)
{
	struct th_err err = { 0 };

	assert_int_equal(th_driver_decide_as(w->driver, w->h, th_str_of(id), approve, always,
					     TH_STR("me"), th_str_of(message), &err),
			 TH_OK);
	paper_settle(w);
}

static void test_a_provider_asks_for_its_server(void **unused)
{
	struct paper *w;

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
	assert_false(w->request->open);
	decide_mcp(w, "m2", false, false, "nope");
	assert_int_equal(w->runs, 1);
	tool_done(w, 0, TH_OUTCOME_DONE, "\"ok\"");
	assert_non_null(strstr(w->request->body, MCP("m1", "do")));
	assert_json(w->request->body, "input.approval_request_id=m1.approve", "true");
	assert_json(w->request->body, "input.approval_request_id=m2.approve", "false");
	assert_json_text(w->request->body, "input.approval_request_id=m2.reason", "nope");
	assert_int_equal(strstr(kinds(w), "intent") == strstr(kinds(w), "intent outcome"), 1);
	/* For good: of that tool, not of the server. */
	answer(w, MCP("m3", "do"));
	assert_true(w->request->open);
	assert_json(w->request->body, "input.approval_request_id=m3.approve", "true");
	answer(w, MCP("m4", "look"));
	assert_int_equal(state(w), TH_STATE_WAITING);
	decide_mcp(w, "m4", false, false, "");
	assert_json(w->request->body, "input.approval_request_id=m4.approve", "false");
	/* A server that the agent does not have. */
	agent.hosted_tools = TH_STR("[]");
	answer(w, MCP("m5", "do"));
	assert_true(w->request->open);
	assert_json_text(w->request->body, "input.approval_request_id=m5.reason",
			 "MCP server label srv not found");
	agent.hosted_tools = (struct th_str){ 0 };
	paper_free(w);
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
	struct paper *w;

	(void)unused;
	agent.hosted_tools = TH_STR(SERVER);
	agent.rules = (struct th_objects){ rules, TH_COUNT(rules) };
	w = begin("do it");
	answer(w, MCP("m1", "do") "," MCP("m2", "rm"));
	assert_true(w->request->open);
	assert_json(w->request->body, "input.approval_request_id=m1.approve", "true");
	assert_json(w->request->body, "input.approval_request_id=m2.approve", "false");
	assert_json_text(w->request->body, "input.approval_request_id=m2.reason", "not that one");
	agent.hosted_tools = (struct th_str){ 0 };
	agent.rules = (struct th_objects){ 0 };
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_finishes),
		cmocka_unit_test(test_lost_while_it_is_opened),
		cmocka_unit_test(test_nothing_is_sent_before_it_is_durable),
		cmocka_unit_test(test_a_local_read_takes_two_flushes),
		cmocka_unit_test(test_effects_wait_for_their_intent),
		cmocka_unit_test(test_an_intent_names_its_journal),
		cmocka_unit_test(test_a_late_result_changes_nothing),
		cmocka_unit_test(test_unknown_tools_and_bad_arguments_are_told),
		cmocka_unit_test(test_approval_is_waited_for_and_bound),
		cmocka_unit_test(test_a_late_word_is_about_what_was_asked),
		cmocka_unit_test(test_a_rejected_call_is_told),
		cmocka_unit_test(test_overload_is_tried_again),
		cmocka_unit_test(test_attempts_end),
		cmocka_unit_test(test_a_bad_request_is_not_tried_again),
		cmocka_unit_test(test_the_next_model_goes_on),
		cmocka_unit_test(test_extras_are_the_first_model_s),
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
		cmocka_unit_test(test_a_stream_is_taken_up),
		cmocka_unit_test(test_a_stream_that_cannot_be_taken_up),
		cmocka_unit_test(test_a_stream_that_fails),
		cmocka_unit_test(test_a_stream_without_numbers),
		cmocka_unit_test(test_an_answer_that_takes_too_long),
		cmocka_unit_test(test_ids_that_are_none),
		cmocka_unit_test(test_garbage_is_an_outcome),
		cmocka_unit_test(test_turns_end_at_the_limit),
		cmocka_unit_test(test_an_answer_without_usage_stops_at_a_limit),
		cmocka_unit_test(test_an_answered_turn_is_not_asked_again),
		cmocka_unit_test(test_unknown_comes_with_a_look),
		cmocka_unit_test(test_a_crash_while_looking),
		cmocka_unit_test(test_look_before_you_repeat),
		cmocka_unit_test(test_a_person_may_let_it_repeat),
		cmocka_unit_test(test_parked_until_a_person_says),
		cmocka_unit_test(test_a_crash_after_the_word),
		cmocka_unit_test(test_divergence_stops_a_resume),
		cmocka_unit_test(test_the_first_picture),
		cmocka_unit_test(test_a_new_picture_is_here),
		cmocka_unit_test(test_a_picture_is_read_beside),
		cmocka_unit_test(test_a_picture_is_taken_meanwhile),
		cmocka_unit_test(test_a_picture_comes_too_late),
		cmocka_unit_test(test_a_picture_comes_too_early),
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
		cmocka_unit_test(test_edges_of_a_message),
		cmocka_unit_test(test_a_shell_of_the_api),
		cmocka_unit_test(test_a_shell_of_the_api_is_settled),
		cmocka_unit_test(test_a_provider_asks_for_its_server),
		cmocka_unit_test(test_a_rule_answers_for_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
