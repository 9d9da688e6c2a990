/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_judge.c - verdicts on a final output, in a world of paper: what is asked
 * and told, what it costs, and that a death at any commit counts no verdict
 * twice and finishes nothing that nobody judged.
 */
#include "delegate_rig.h"

#define JUDGED(more)                                                                              \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\",\"tools\":[\"none\"],\"judge\":{\"rounds\":3" more \
	"}}"
#define VERDICT(score, complete, missing)                                                       \
	TEXT("{\\\"score\\\":" score ",\\\"complete\\\":" complete ",\\\"missing\\\":[" missing \
	     "]}")

static bool judges(struct paper *w)
{
	struct paper_request *r = paper_request_of(w, "a1");

	return r && strstr(r->body, "Judge now");
}

/* Not done at first, then done. */
static void step(struct paper *w)
{
	if (!judges(w))
		answer(w, "a1", TEXT("done"));
	else if (count_of(w, "a1", TH_EV_MODEL_ANSWERED) == 1)
		answer(w, "a1", VERDICT("0.1", "false", "\\\"look again\\\""));
	else
		answer(w, "a1", VERDICT("0.9", "true", ""));
}

static void what_is_missing_is_told(void **unused)
{
	struct paper *w = begin(JUDGED(""));

	(void)unused;
	step(w);
	assert_true(judges(w));
	assert_int_equal(count_of(w, "a1", TH_EV_FINAL), 0);
	step(w);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_MESSAGE), "look again"));
	assert_null(strstr(paper_request_of(w, "a1")->body, "Judge now")); /* it leaves no trace */
	step(w);
	step(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(paper_fold(w)->totals.side[TH_SIDE_JUDGE].requests, 2);
	assert_int_equal(paper_fold(w)->totals.tokens_in, 40);
	assert_int_equal(paper_fold(w)->totals.turns, 2);
	paper_free(w);
}

static void nothing_counts_twice(void **unused)
{
	size_t last = 1000;

	(void)unused;
	for (size_t at = 2; at < last; at++) {
		struct paper *w = begin_until(JUDGED(""), at);
		bool died = false;

		for (int i = 0; i < 40 && paper_fold(w)->state != TH_STATE_FINISHED; i++) {
			if (w->dead) {
				died = true;
				reopen(w, JUDGED(""));
			} else {
				step(w);
			}
		}
		if (!died)
			last = at; /* it lives through all of them */
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
		assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 2);
		assert_int_equal(count_of(w, "a1", TH_EV_MODEL_ANSWERED), 2);
		assert_int_equal(count_of(w, "a1", TH_EV_MESSAGE), 2);
		assert_int_equal(count_of(w, "a1", TH_EV_FINAL), 1);
		paper_free(w);
	}
	assert_in_range(last, 5, 999);
}

/* ---- a critic ---- */

#define CRITIC JUDGED(",\"critic\":{\"url\":\"http://critic.example/v1\"}")

static void a_critic_is_asked_once(void **unused)
{
	/* What it would answer is test_critic.c's: this is none. */
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"none\"") };
	struct paper *w = begin(CRITIC);

	(void)unused;
	answer(w, "a1", TEXT("done"));
	assert_string_equal(w->effect->tool, TH_ANALYSER_TOOL);
	th_driver_tool_done(w->driver, w->effect->ticket, &r);
	paper_settle(w);
	assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 1);
	assert_int_equal(w->cancels, 0); /* it is over */
	paper_free(w);
}

static void a_critic_of_a_stopped_session_is_given_up(void **unused)
{
	struct th_effect_result late = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"late\"") };
	struct paper *w = begin(CRITIC);
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", TEXT("done"));
	assert_int_equal(w->effect_count, 1);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->cancels, 1);
	th_driver_tool_done(w->driver, w->effect->ticket, &late);
	paper_settle(w);
	assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 0);
	assert_int_equal(count_of(w, "a1", TH_EV_FINAL), 0);
	paper_free(w);
}

/* ---- a goal that the session is given ---- */

#define PLAIN "{\"name\":\"a\",\"model\":\"gpt-5.4\",\"tools\":[\"none\"]}"

static void give(struct paper *w, const char *goal, int64_t rounds)
{
	struct th_err err = { 0 };

	assert_int_equal(
	    th_driver_goal(w->driver, w->h, th_str_of(goal), rounds, TH_STR("ann"), &err), TH_OK);
	paper_settle(w);
}

/* Without a judge in the file; with one, that waits until the goal is over. */
static void a_goal_is_judged(void **unused)
{
	const char *const agents[] = { PLAIN, JUDGED(",\"goal\":\"another one\"") };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(agents); i++) {
		struct paper *w = begin(agents[i]);
		struct th_err err = { 0 };

		if (i == 1) {
			answer(w, "a1", TEXT("done"));
			answer(w, "a1", VERDICT("0.9", "true", ""));
		} else {
			answer(w, "a1", TEXT("done"));
		}
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
		assert_int_equal(th_driver_goal(w->driver, w->h, TH_STR(""), 1, TH_STR(""), &err),
				 TH_ENOENT);
		give(w, "the sum is right", 2);
		assert_int_equal(
		    th_driver_goal(w->driver, w->h, TH_STR("other"), 1, TH_STR(""), &err),
		    TH_EPROTO);
		answer(w, "a1", TEXT("done"));
		assert_true(judges(w));
		assert_non_null(strstr(paper_request_of(w, "a1")->body, "the sum is right"));
		answer(w, "a1", VERDICT("0.1", "false", "\\\"look again\\\""));
		answer(w, "a1", TEXT("done"));
		answer(w, "a1", VERDICT("0.1", "false", "\\\"look again\\\"")); /* the last round */
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
		assert_true(paper_fold(w)->judge->goal.over);
		/* Only the file's counts again. */
		assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
		paper_settle(w);
		answer(w, "a1", TEXT("done"));
		assert_int_equal(judges(w), i == 1);
		paper_free(w);
	}
}

/* What is under way is not judged by it any more, also while a verdict is awaited. */
static void a_goal_is_ended(void **unused)
{
	struct paper *w = begin(PLAIN);
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", TEXT("done"));
	assert_int_equal(th_driver_goal_end(w->driver, w->h, TH_STR(""), &err), TH_EPROTO);
	give(w, "the sum is right", 2);
	answer(w, "a1", TEXT("done"));
	assert_true(judges(w));
	assert_int_equal(th_driver_goal_end(w->driver, w->h, TH_STR("ann"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 0);
	/* It goes on where it was. */
	give(w, "", 0);
	answer(w, "a1", TEXT("done"));
	assert_true(judges(w));
	answer(w, "a1", VERDICT("0.9", "true", ""));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* What is said while a verdict is awaited is read before the run is over. */
static void what_is_said_ends_a_goal(void **unused)
{
	struct paper *w = begin(PLAIN);
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", TEXT("done"));
	give(w, "the sum is right", 2);
	answer(w, "a1", TEXT("done"));
	assert_true(judges(w));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("something else"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_false(judges(w));
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "something else"));
	answer(w, "a1", TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 0);
	assert_int_equal(count_of(w, "a1", TH_EV_GOAL), 2);
	paper_free(w);
}

/* Plan mode begins between tasks: who is told so still has the goal. */
static void plan_mode_that_cannot_begin_ends_no_goal(void **unused)
{
	struct paper *w = begin(PLAIN);
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", TEXT("done"));
	give(w, "the sum is right", 2);
	assert_int_equal(th_driver_plan(w->driver, w->h, TH_STR("a plan"), TH_STR("ann"), &err),
			 TH_EPROTO);
	paper_settle(w);
	assert_true(paper_fold(w)->judge->goal.on);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(th_driver_plan(w->driver, w->h, TH_STR("a plan"), TH_STR("ann"), &err),
			 TH_OK);
	paper_settle(w);
	assert_false(paper_fold(w)->judge->goal.on);
	paper_free(w);
}

/* A session may be paused while its answer is judged: that verdict is none on a goal given then. */
static void a_verdict_on_what_was_before(void **unused)
{
	struct paper *w = begin(JUDGED(""));
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", TEXT("done"));
	assert_true(judges(w));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("wait"), &err), TH_OK);
	give(w, "the sum is right", 2);
	assert_false(judges(w));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_true(paper_fold(w)->judge->goal.on);
	answer(w, "a1", TEXT("done"));
	assert_true(judges(w));
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "the sum is right"));
	answer(w, "a1", VERDICT("0.9", "true", ""));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(count_of(w, "a1", TH_EV_VERDICT), 1);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(nothing_counts_twice),
		cmocka_unit_test(a_critic_is_asked_once),
		cmocka_unit_test(a_critic_of_a_stopped_session_is_given_up),
		cmocka_unit_test(a_goal_is_judged),
		cmocka_unit_test(a_goal_is_ended),
		cmocka_unit_test(what_is_said_ends_a_goal),
		cmocka_unit_test(plan_mode_that_cannot_begin_ends_no_goal),
		cmocka_unit_test(a_verdict_on_what_was_before),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
