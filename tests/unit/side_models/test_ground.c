/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ground.c - a composed model in a world of paper: what is asked of the
 * grounder, when, and what becomes of its answers.
 */
#include "json_says.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper.h"
#include "profiles/compose.h"

#define PICTURE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct th_composed composed;

static struct th_agent agent = { .name = TH_STR_INIT("tester") };

static struct th_session_config session_config(void)
{
	struct th_session_config o = { .agent = &agent,
				       .first.composed = &composed,
				       .has_computer = true,
				       .screen = { 1280, 800 } };
	struct th_match match;
	struct th_err err;

	assert_int_equal(th_model_compose(NULL, TH_STR("gta1-7b+gpt-4.1"), &composed, &match, &err),
			 TH_OK);
	o.first.profile = match.profile;
	o.first.model = match.name;
	return o;
}

/* What came first of the planner's or the grounder's requests and is not answered. */
static struct paper_request *open_request(struct paper *w, bool grounder, size_t nth)
{
	for (size_t i = 0; i < w->request_count; i++)
		if (w->requests[i]->open && w->requests[i]->grounder == grounder && nth-- == 0)
			return w->requests[i];
	return NULL;
}

static size_t open_count(struct paper *w, bool grounder)
{
	size_t count = 0;

	while (open_request(w, grounder, count))
		count++;
	return count;
}

/* How often more was done than to look. */
static size_t acts(const struct paper *w)
{
	return w->runs - w->looks;
}

static void plan(struct paper *w, const char *id, const char *arguments)
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
	paper_say(w, open_request(w, false, 0), body.ptr);
	th_buf_deinit(&body);
}

/* The nth open request of the grounder is answered with this text. */
static void point(struct paper *w, size_t nth, const char *text)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	th_buf_printf(&body,
		      "{\"id\":\"c1\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
		      "\"gta1-7b\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
		      "\"content\":\"%s\"},\"finish_reason\":\"stop\"}],\"usage\":{"
		      "\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}",
		      text);
	paper_say(w, open_request(w, true, nth), body.ptr);
	th_buf_deinit(&body);
}

static void refuse(struct paper *w, int status)
{
	paper_refuse(w, open_request(w, true, 0), status,
		     "{\"error\":{\"message\":\"not today\"}}");
}

static void tool_done(struct paper *w)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE,
				      .output = TH_STR("[{\"type\":\"image\",\"media_type\":"
						       "\"image/png\",\"blob\":\"" PICTURE
						       "\",\"width\":1280,\"height\":800}]") };

	th_driver_tool_done(w->driver, w->effect->ticket, &r);
	paper_settle(w);
}

/* A session whose planner has seen the screen. */
static struct paper *begin(void)
{
	struct paper *w = paper_new();
	struct th_session_config o = session_config();
	struct th_ev_session_created created = { .model = TH_STR("gta1-7b+gpt-4.1") };
	struct th_err err = { 0 };

	w->blob_at = 0x01;
	w->blob = "a picture";
	assert_int_equal(paper_create(w, &o, &created, &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("press OK"), &err), TH_OK);
	paper_settle(w);
	plan(w, "look", "{\"action\":\"screenshot\"}");
	assert_int_equal(w->looks, 1);
	tool_done(w);
	return w;
}

static void restart_dead(struct paper *w)
{
	struct th_session_config o = session_config();

	w->h = paper_open(w, "a1", &o);
	paper_resume(w);
	assert_int_equal(w->settles, 0);
}

static void restart(struct paper *w)
{
	paper_die(w);
	restart_dead(w);
}

static const struct th_side_usage *side_of(struct paper *w)
{
	static const struct th_side_usage none;
	const struct th_side_usage *side = th_driver_session(w->driver, w->h)->totals.side;

	return side ? &side[TH_SIDE_GROUNDER] : &none;
}

static const char *last_of(const struct paper *w, enum th_event_kind kind)
{
	const char *data = paper_last(w->log, kind);

	return data ? data : "";
}

#define CLICK_OK "{\"action\":\"click\",\"element_description\":\"the OK button\"}"
#define DRAG                                                                             \
	"{\"action\":\"drag\",\"start_element_description\":\"the file\",\"end_element_" \
	"description\":\"the bin\"}"

static void test_a_click_waits_for_its_place(void **unused)
{
	struct paper *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	assert_int_equal(open_count(w, true), 1);
	assert_int_equal(open_count(w, false), 0);
	assert_int_equal(acts(w), 0);
	/* It is asked with the picture, in its own form, and told nothing else. */
	assert_non_null(strstr(open_request(w, true, 0)->body, "the OK button"));
	assert_non_null(strstr(open_request(w, true, 0)->body, "YSBwaWN0dXJl"));
	assert_null(strstr(open_request(w, true, 0)->body, "press OK"));
	assert_string_not_equal(last_of(w, TH_EV_CALL), "");
	assert_null(strstr(last_of(w, TH_EV_CALL), "\"click\""));
	/* 1260 x 784 of the model's own picture are 1280 x 800 of the screen. */
	point(w, 0, "(630, 392)");
	assert_int_equal(acts(w), 1);
	assert_non_null(strstr(w->effect->arguments, "\"x\":640,\"y\":400"));
	assert_json(last_of(w, TH_EV_CALL), "grounding.requests", "1");
	assert_json(last_of(w, TH_EV_CALL), "grounding.input", "7");
	assert_json(last_of(w, TH_EV_CALL), "grounding.output", "3");
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	paper_free(w);
}

/* Of a narrowed history there is none until the next request: the picture is found all the same. */
/* What the bytes are counts, not what was said of them. */
static void test_the_grounder_is_told_what_the_picture_is(void **unused)
{
	static const char *const rows[][2] = {
		{ "\xff\xd8\xff and more", "data:image/jpeg;base64," },
		{ "RIFF1234WEBPVP8 ", "data:image/webp;base64," },
		{ "\x89PNG\r\n\x1a\n and more", "data:image/png;base64," },
		{ "\xff", "data:image/png;base64," },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct paper *w = begin();

		paper_die(w); /* the picture of the planner's request is not held any more */
		w->blob = rows[i][0];
		restart_dead(w);
		plan(w, "c1", CLICK_OK);
		if (!strstr(open_request(w, true, 0)->body, rows[i][1]))
			fail_msg("%s", open_request(w, true, 0)->body);
		paper_free(w);
	}
}

static void test_a_crash_while_the_grounder_is_asked(void **unused)
{
	struct paper *w;

	(void)unused;
	agent.history_items = 5;
	w = begin();
	plan(w, "c1", CLICK_OK);
	restart(w);
	assert_int_equal(open_count(w, true), 1);
	assert_non_null(strstr(open_request(w, true, 0)->body, "YSBwaWN0dXJl"));
	point(w, 0, "(630, 392)");
	assert_int_equal(acts(w), 1);
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	agent.history_items = 0;
	paper_free(w);
}

/* Nobody looks for what takes longer than TH_TARGET_MAX to describe. */
static void test_a_description_has_a_maximum(void **unused)
{
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf call = TH_BUF_INIT(16 * TH_KIB);
		struct paper *w = begin();

		(void)unused;
		th_buf_add_cstr(&call, "{\"action\":\"click\",\"element_description\":\"");
		for (size_t i = 0; i < TH_TARGET_MAX + more; i++)
			th_buf_add_char(&call, 'x');
		th_buf_add_cstr(&call, "\"}");
		plan(w, "c1", call.ptr);
		assert_int_equal(open_count(w, true), !more);
		th_buf_deinit(&call);
		paper_free(w);
	}
}

static void test_a_pause_while_the_grounder_is_asked(void **unused)
{
	struct paper *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	plan(w, "c1", CLICK_OK);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(open_count(w, true), 1);
	point(w, 0, "(630, 392)");
	assert_int_equal(acts(w), 1);
	tool_done(w);
	assert_int_equal(open_count(w, false), 1);
	paper_free(w);
}

static void test_both_ends_of_a_drag_are_asked_at_once(void **unused)
{
	struct paper *w = begin();

	(void)unused;
	plan(w, "d1", DRAG);
	assert_int_equal(open_count(w, true), 2);
	assert_non_null(strstr(open_request(w, true, 0)->body, "the file"));
	assert_non_null(strstr(open_request(w, true, 1)->body, "the bin"));
	point(w, 1, "(1008, 588)"); /* in any order */
	assert_int_equal(acts(w), 0);
	point(w, 0, "(126, 98)");
	assert_int_equal(acts(w), 1);
	assert_non_null(
	    strstr(w->effect->arguments, "[{\"x\":128,\"y\":100},{\"x\":1024,\"y\":600}]"));
	paper_free(w);
}

static void test_what_was_found_on_a_picture_is_known(void **unused)
{
	struct paper *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	point(w, 0, "(630, 392)");
	tool_done(w); /* the same picture */
	plan(w, "c2", CLICK_OK);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(acts(w), 2);
	assert_non_null(strstr(w->effect->arguments, "\"x\":640,\"y\":400"));
	assert_json(last_of(w, TH_EV_CALL), "grounding.requests", "0");
	paper_free(w);
}

static void test_what_is_not_found_is_not_clicked(void **unused)
{
	struct paper *w = begin();

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
	assert_int_equal(acts(w), 0);
	point(w, 0, "nowhere");
	tool_done(w);
	assert_int_equal(acts(w), 0);
	assert_int_equal(open_count(w, false), 1);
	paper_free(w);
}

static void test_a_refusal_is_told_and_overload_is_tried_again(void **unused)
{
	struct paper *w = begin();

	(void)unused;
	plan(w, "c1", CLICK_OK);
	refuse(w, 503);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(open_count(w, false), 0);
	paper_ring(w);
	assert_int_equal(open_count(w, true), 1);
	refuse(w, 400);
	tool_done(w);
	assert_int_equal(acts(w), 0);
	assert_int_equal(open_count(w, false), 1);
	assert_non_null(strstr(open_request(w, false, 0)->body, "not today"));
	assert_json(last_of(w, TH_EV_CALL), "grounding.requests", "2");
	/* The session has a line for it, which a replay makes anew. */
	assert_int_equal(side_of(w)->requests, 2);
	restart(w);
	assert_int_equal(side_of(w)->requests, 2);
	paper_free(w);
}

static const struct th_session *session(struct paper *w)
{
	return th_driver_session(w->driver, w->h);
}

/* Two requests of the planner and one of the grounder: it is in the whole, and has its own line. */
static void test_what_the_grounder_takes_has_its_own_line(void **unused)
{
	struct paper *w = begin();
	int64_t before = session(w)->totals.tokens_in;

	(void)unused;
	assert_int_equal(side_of(w)->requests, 0);
	plan(w, "c1", CLICK_OK);
	point(w, 0, "(630, 392)");
	assert_int_equal(side_of(w)->requests, 1);
	assert_int_equal(side_of(w)->tokens_in, 7);
	assert_int_equal(side_of(w)->tokens_out, 3);
	assert_int_equal(session(w)->totals.tokens_in, before + 10 + 7);
	paper_free(w);
}

/* What one request may take is reserved before it is sent, and so is what those under way may. */
static void test_the_budget_is_reserved_before_the_grounder_is_asked(void **unused)
{
	struct th_agent_limits limits = { .tokens = 46 };
	bool seen[3] = { 0 };
	size_t before = 0;

	(void)unused;
	agent.limits = &limits;
	for (; !seen[2] && limits.tokens < 10000; limits.tokens += 20) {
		struct paper *w = begin();
		size_t count;

		plan(w, "d1", DRAG);
		count = open_count(w, true);
		assert_true(count < TH_COUNT(seen) && count >= before);
		seen[count] = true;
		before = count;
		paper_free(w);
	}
	assert_true(seen[0] && seen[1] && seen[2]);
	agent.limits = NULL;
}

static void test_a_crash_before_the_call_asks_again(void **unused)
{
	struct paper *w = begin();

	(void)unused;
	plan(w, "d1", DRAG);
	point(w, 0, "(126, 98)");
	restart(w);
	assert_int_equal(acts(w), 0);
	assert_int_equal(open_count(w, true), 2);
	assert_int_equal(open_count(w, false), 0);
	point(w, 0, "(126, 98)");
	point(w, 0, "(1008, 588)");
	assert_int_equal(acts(w), 1);
	paper_free(w);
}

/* The grounder would say another place now: the recorded one counts. */
static void test_a_crash_after_the_call_does_not_ask(void **unused)
{
	static struct th_str all[] = { TH_STR_INIT("all") };
	struct paper *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	agent.approve = (struct th_strs){ all, 1 };
	plan(w, "c1", CLICK_OK);
	point(w, 0, "(630, 392)");
	assert_int_equal(acts(w), 0);
	restart(w);
	assert_int_equal(w->request_count, 0);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("c1"), true, TH_STR("ann"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	agent.approve = (struct th_strs){ 0 };
	assert_int_equal(w->request_count, 0);
	assert_int_equal(acts(w), 1);
	assert_non_null(strstr(w->effect->arguments, "\"x\":640,\"y\":400"));
	paper_free(w);
}

static void test_a_stop_cancels_the_question(void **unused)
{
	struct paper *w = begin();
	struct th_err err = { 0 };

	(void)unused;
	plan(w, "d1", DRAG);
	assert_int_equal(open_count(w, true), 2);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(open_count(w, true), 0);
	assert_int_equal(acts(w), 0);
	assert_non_null(strstr(paper_last(w->log, TH_EV_CALL), "\"policy\":\"refuse\""));
	th_driver_close(w->driver, w->h);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_click_waits_for_its_place),
		cmocka_unit_test(test_the_grounder_is_told_what_the_picture_is),
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
		cmocka_unit_test(test_what_the_grounder_takes_has_its_own_line),
		cmocka_unit_test(test_the_budget_is_reserved_before_the_grounder_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
