/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ground.c - a composed model in a world of paper: what is asked of the
 * grounder, when, and what becomes of its answers.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/compose.h"
#include "run/driver.h"

#define EVENTS_MAX 64
#define ASKED_MAX 8
#define PICTURE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct asked {
	struct th_ticket ticket;
	bool grounder, open;
	char *body;
};

struct world {
	struct th_driver *driver;
	struct th_event log[EVENTS_MAX];
	char *call[EVENTS_MAX], *data[EVENTS_MAX];
	size_t count;
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
	bool flush;
	struct asked asked[ASKED_MAX];   /* since the last restart */
	size_t asked_count, looks, runs; /* a run: what does more than look */
	struct th_ticket tool, timer;
	char arguments[1024];
	struct th_handle h;
	struct th_composed composed;
	int64_t clock;
	uint8_t random;
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

	(void)delay_ms;
	w->timer = t;
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct world *w = ctx;

	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			 struct th_err *err)
{
	(void)ctx, (void)hash, (void)err;
	th_buf_add_cstr(out, "a picture");
	return TH_OK;
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct world *w = ctx;
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	(void)id;
	for (size_t i = from - 1; i < w->count && (to == 0 || i < to) && !code; i++)
		code = fn(fn_ctx, &w->log[i], &none, err);
	return code;
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct world *w = ctx;
	struct asked *a = &w->asked[w->asked_count++];
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	(void)err;
	assert_true(w->asked_count <= ASKED_MAX);
	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	*a = (struct asked){ t, call->profile == w->composed.grounder, true, NULL };
	a->body = th_buf_steal(&body, NULL);
	return TH_OK;
}

static void model_alive(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	for (size_t i = 0; i < w->asked_count; i++)
		if (w->asked[i].ticket.seq == t.seq)
			w->asked[i].open = false;
}

static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	(void)ctx, (void)t;
	*ret_journal = TH_STR("journal-1");
	return true;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_tool_call *call, bool settle)
{
	struct world *w = ctx;

	assert_false(settle);
	w->tool = t;
	w->looks += call->class == TH_CLASS_R;
	w->runs += call->class != TH_CLASS_R;
	snprintf(w->arguments, sizeof(w->arguments), "%.*s", TH_FMT(call->arguments));
}

static void tool_cancel(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	(void)ctx, (void)id, (void)ids, (void)count;
}

static void fatal(void *ctx, const struct th_err *err)
{
	(void)ctx;
	fail_msg("%s", err->msg);
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = blob,
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

		a->result = TH_OK;
		for (size_t j = 0; j < a->event_count; j++) {
			struct th_event *e = &w->log[w->count];

			assert_true(w->count < EVENTS_MAX);
			*e = a->events[j];
			w->call[w->count] = strndup(e->call.ptr, e->call.len);
			w->data[w->count] = strndup(e->data.ptr, e->data.len);
			e->call = th_str_of(w->call[w->count]);
			e->data = th_str_of(w->data[w->count]);
			e->build = TH_STR("test");
			w->count++;
		}
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

static struct th_agent agent = { .name = TH_STR_INIT("tester") };

static struct th_outfit outfit(struct world *w)
{
	struct th_outfit o = { .agent = &agent,
			       .first.composed = &w->composed,
			       .has_computer = true,
			       .screen = { 1280, 800 } };
	struct th_match match;
	struct th_err err;

	assert_int_equal(
	    th_model_compose(NULL, TH_STR("gta1-7b+gpt-4.1"), &w->composed, &match, &err), TH_OK);
	o.first.profile = match.profile;
	o.first.model = match.name;
	return o;
}

static void forget_asked(struct world *w)
{
	for (size_t i = 0; i < w->asked_count; i++)
		free(w->asked[i].body);
	w->asked_count = 0;
}

/* What came last of the planner's or the grounder's requests and is not answered. */
static struct asked *open_request(struct world *w, bool grounder, size_t nth)
{
	for (size_t i = 0; i < w->asked_count; i++)
		if (w->asked[i].open && w->asked[i].grounder == grounder && nth-- == 0)
			return &w->asked[i];
	return NULL;
}

static size_t open_count(struct world *w, bool grounder)
{
	size_t count = 0;

	while (open_request(w, grounder, count))
		count++;
	return count;
}

static void reply(struct world *w, struct asked *a, const char *body,
		  const struct th_model_end *done)
{
	assert_non_null(a);
	a->open = false;
	assert_true(th_driver_model_data(w->driver, a->ticket, th_str_of(body)));
	th_driver_model_done(w->driver, a->ticket, done);
}

static const struct th_model_end whole = { .ok = true, .http_status = 200, .hints = { -1, -1 } };

static void plan(struct world *w, const char *id, const char *arguments)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_jw j = th_jw(&body);

	th_buf_add_cstr(&body, "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":"
			       "\"completed\",\"model\":\"gpt-4.1\",\"output\":[");
	th_jw_object(&j);
	th_jw_kstr(&j, "type", TH_STR("function_call"));
	th_jw_kstr(&j, "id", TH_STR("fc_1"));
	th_jw_kstr(&j, "call_id", th_str_of(id));
	th_jw_kstr(&j, "name", TH_STR("computer"));
	th_jw_kstr(&j, "arguments", th_str_of(arguments));
	th_jw_kstr(&j, "status", TH_STR("completed"));
	th_jw_object_end(&j);
	th_buf_add_cstr(&body, "],\"usage\":{\"input_tokens\":10,\"output_tokens\":5,"
			       "\"total_tokens\":15}}");
	reply(w, open_request(w, false, 0), body.ptr, &whole);
	th_buf_deinit(&body);
	settle(w);
}

/* The nth open request of the grounder is answered with this text. */
static void point(struct world *w, size_t nth, const char *text)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	th_buf_printf(&body,
		      "{\"id\":\"c1\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
		      "\"gta1-7b\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
		      "\"content\":\"%s\"},\"finish_reason\":\"stop\"}],\"usage\":{"
		      "\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}",
		      text);
	reply(w, open_request(w, true, nth), body.ptr, &whole);
	th_buf_deinit(&body);
	settle(w);
}

static void refuse(struct world *w, int status)
{
	struct th_model_end done = { .http_status = status,
				     .status_only = true,
				     .hints = { -1, -1 } };

	reply(w, open_request(w, true, 0), "{\"error\":{\"message\":\"not today\"}}", &done);
	settle(w);
}

static void tool_done(struct world *w)
{
	struct th_tool_result r = { .status = TH_OUTCOME_DONE,
				    .output = TH_STR("[{\"type\":\"image\",\"media_type\":"
						     "\"image/png\",\"blob\":\"" PICTURE
						     "\",\"width\":1280,\"height\":800}]") };

	th_driver_tool_done(w->driver, w->tool, &r);
	settle(w);
}

/* A session whose planner has seen the screen. */
static struct world *begin(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = { 0 };
	struct th_ev_session_created created = { .model = TH_STR("gta1-7b+gpt-4.1") };
	struct th_err err = { 0 };

	w->clock = 1000000;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_create(w->driver, TH_STR("a1"), &o, &created, &see, &w->h, &err),
			 TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("press OK"), &err), TH_OK);
	settle(w);
	plan(w, "look", "{\"action\":\"screenshot\"}");
	assert_int_equal(w->looks, 1);
	tool_done(w);
	return w;
}

static void end(struct world *w)
{
	th_driver_free(w->driver);
	forget_asked(w);
	for (size_t i = 0; i < w->count; i++) {
		free(w->call[i]);
		free(w->data[i]);
	}
	free(w);
}

static void restart(struct world *w)
{
	struct th_world world = { &ops, w };
	struct th_outfit o = outfit(w);
	struct th_observer see = { 0 };
	struct th_session_row row = { .session_id = TH_STR("a1"),
				      .head_seq = w->count,
				      .epoch = 2 };
	struct th_err err = { 0 };

	th_driver_free(w->driver);
	forget_asked(w);
	w->batch = NULL; /* what was not durable is lost */
	w->flush = false;
	w->driver = th_driver_new(&world, TH_STR("test"));
	assert_int_equal(th_driver_open(w->driver, &row, &o, &see, &w->h, &err), TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
}

static const char *last_of(const struct world *w, enum th_event_kind kind)
{
	for (size_t i = w->count; i > 0; i--)
		if (w->log[i - 1].kind == kind)
			return w->data[i - 1];
	return "";
}

#define CLICK_OK "{\"action\":\"click\",\"element_description\":\"the OK button\"}"
#define DRAG                                                                             \
	"{\"action\":\"drag\",\"start_element_description\":\"the file\",\"end_element_" \
	"description\":\"the bin\"}"

static void test_a_click_waits_for_its_place(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	assert_int_equal(open_count(w, true), 1);
	assert_int_equal(open_count(w, false), 0);
	assert_int_equal(w->runs, 0);
	/* It is asked with the picture, in its own form, and told nothing else. */
	assert_non_null(strstr(open_request(w, true, 0)->body, "the OK button"));
	assert_non_null(strstr(open_request(w, true, 0)->body, "YSBwaWN0dXJl"));
	assert_null(strstr(open_request(w, true, 0)->body, "press OK"));
	assert_string_not_equal(last_of(w, TH_EV_CALL), "");
	assert_null(strstr(last_of(w, TH_EV_CALL), "\"click\""));
	/* 1260 x 784 of the model's own picture are 1280 x 800 of the screen. */
	point(w, 0, "(630, 392)");
	assert_int_equal(w->runs, 1);
	assert_non_null(strstr(w->arguments, "\"x\":640,\"y\":400"));
	assert_non_null(strstr(last_of(w, TH_EV_CALL), "\"requests\":1,\"input\":7,\"output\":3"));
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	end(w);
}

/* Of a narrowed history there is none until the next request: the picture is found all the same. */
static void test_a_crash_while_the_grounder_is_asked(void **unused)
{
	struct world *w;

	(void)unused;
	agent.history_items = 5;
	w = begin();
	plan(w, "c1", CLICK_OK);
	restart(w);
	assert_int_equal(open_count(w, true), 1);
	assert_non_null(strstr(open_request(w, true, 0)->body, "YSBwaWN0dXJl"));
	point(w, 0, "(630, 392)");
	assert_int_equal(w->runs, 1);
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	agent.history_items = 0;
	end(w);
}

/* Nobody looks for what takes longer than TH_TARGET_MAX to describe. */
static void test_a_description_has_a_maximum(void **unused)
{
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf call = TH_BUF_INIT(16 * TH_KIB);
		struct world *w = begin();

		(void)unused;
		th_buf_add_cstr(&call, "{\"action\":\"click\",\"element_description\":\"");
		for (size_t i = 0; i < TH_TARGET_MAX + more; i++)
			th_buf_add_char(&call, 'x');
		th_buf_add_cstr(&call, "\"}");
		plan(w, "c1", call.ptr);
		assert_int_equal(open_count(w, true), !more);
		th_buf_deinit(&call);
		end(w);
	}
}

static void test_a_pause_while_the_grounder_is_asked(void **unused)
{
	struct world *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	plan(w, "c1", CLICK_OK);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	settle(w);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	assert_int_equal(open_count(w, true), 1);
	point(w, 0, "(630, 392)");
	assert_int_equal(w->runs, 1);
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	end(w);
}

static void test_both_ends_of_a_drag_are_asked_at_once(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "d1", DRAG);
	assert_int_equal(open_count(w, true), 2);
	assert_non_null(strstr(open_request(w, true, 0)->body, "the file"));
	assert_non_null(strstr(open_request(w, true, 1)->body, "the bin"));
	point(w, 1, "(1008, 588)"); /* in any order */
	assert_int_equal(w->runs, 0);
	point(w, 0, "(126, 98)");
	assert_int_equal(w->runs, 1);
	assert_non_null(strstr(w->arguments, "[{\"x\":128,\"y\":100},{\"x\":1024,\"y\":600}]"));
	end(w);
}

static void test_what_was_found_on_a_picture_is_known(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	point(w, 0, "(630, 392)");
	tool_done(w); /* the same picture */
	plan(w, "c2", CLICK_OK);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(w->runs, 2);
	assert_non_null(strstr(w->arguments, "\"x\":640,\"y\":400"));
	assert_non_null(strstr(last_of(w, TH_EV_CALL), "\"requests\":0"));
	end(w);
}

static void test_what_is_not_found_is_not_clicked(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	point(w, 0, "I cannot see it.");
	assert_int_equal(w->looks, 2); /* what the planner is shown beside the sentence */
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	assert_non_null(strstr(open_request(w, false, 0)->body, "element not found"));
	/* One end of a drag is as good as none. */
	plan(w, "d1", DRAG);
	point(w, 0, "(126, 98)");
	assert_int_equal(w->runs, 0);
	point(w, 0, "nowhere");
	tool_done(w);
	assert_int_equal(w->runs, 0);
	assert_int_equal(open_count(w, false), 1);
	end(w);
}

static void test_a_refusal_is_told_and_overload_is_tried_again(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	refuse(w, 503);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(open_count(w, false), 0);
	th_driver_timer(w->driver, w->timer);
	settle(w);
	assert_int_equal(open_count(w, true), 1);
	refuse(w, 400);
	tool_done(w);
	assert_int_equal(w->runs, 0);
	assert_int_equal(open_count(w, false), 1);
	assert_non_null(strstr(open_request(w, false, 0)->body, "not today"));
	assert_non_null(strstr(last_of(w, TH_EV_CALL), "\"requests\":2"));
	end(w);
}

static void test_a_crash_before_the_call_asks_again(void **unused)
{
	struct world *w = begin();

	(void)unused;
	plan(w, "d1", DRAG);
	point(w, 0, "(126, 98)");
	restart(w);
	assert_int_equal(w->runs, 0);
	assert_int_equal(open_count(w, true), 2);
	assert_int_equal(open_count(w, false), 0);
	point(w, 0, "(126, 98)");
	point(w, 0, "(1008, 588)");
	assert_int_equal(w->runs, 1);
	end(w);
}

/* The grounder would say another place now: the recorded one counts. */
static void test_a_crash_after_the_call_does_not_ask(void **unused)
{
	static struct th_str all[] = { TH_STR_INIT("all") };
	struct world *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	plan(w, "c1", CLICK_OK);
	point(w, 0, "(630, 392)");
	assert_int_equal(w->runs, 0);
	restart(w);
	assert_int_equal(w->asked_count, 0);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("c1"), true, TH_STR("ann"), TH_STR(""), &err),
	    TH_OK);
	settle(w);
	agent.approve = (struct th_strs){ 0 };
	assert_int_equal(w->asked_count, 0);
	assert_int_equal(w->runs, 1);
	assert_non_null(strstr(w->arguments, "\"x\":640,\"y\":400"));
	end(w);
}

static void test_a_stop_cancels_the_question(void **unused)
{
	struct world *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	plan(w, "d1", DRAG);
	assert_int_equal(open_count(w, true), 2);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	settle(w);
	th_driver_close(w->driver, w->h);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(w->runs, 0);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_click_waits_for_its_place),
		cmocka_unit_test(test_a_crash_while_the_grounder_is_asked),
		cmocka_unit_test(test_a_description_has_a_maximum),
		cmocka_unit_test(test_a_pause_while_the_grounder_is_asked),
		cmocka_unit_test(test_both_ends_of_a_drag_are_asked_at_once),
		cmocka_unit_test(test_what_was_found_on_a_picture_is_known),
		cmocka_unit_test(test_what_is_not_found_is_not_clicked),
		cmocka_unit_test(test_a_refusal_is_told_and_overload_is_tried_again),
		cmocka_unit_test(test_a_crash_before_the_call_asks_again),
		cmocka_unit_test(test_a_crash_after_the_call_does_not_ask),
		cmocka_unit_test(test_a_stop_cancels_the_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
