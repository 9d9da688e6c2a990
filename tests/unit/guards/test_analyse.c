/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_analyse.c - external analysers in a world of paper: a call waits for all of them, and nobody
 * is asked any more once the session was stopped.
 */
#include "delegate_rig.h"

#define AGENT                                                                                  \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\",\"confirm\":{\"when\":\"risky\",\"external\":[" \
	"{\"name\":\"s\",\"url\":\"http://s.example/\"},"                                      \
	"{\"name\":\"t\",\"url\":\"http://t.example/\"}]}}"
#define LOW "\"{\\\"out\\\":\\\"{\\\\\\\"risk\\\\\\\":\\\\\\\"low\\\\\\\"}\\\"}\""

static void say_low(struct paper *w, size_t n)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR(LOW) };

	assert_string_equal(w->effects[n].tool, TH_ANALYSER_TOOL);
	th_driver_tool_done(w->driver, w->effects[n].ticket, &r);
	paper_settle(w);
}

static void set_state(struct paper *w, enum th_state to)
{
	struct th_err err = { 0 };

	if (th_driver_set_state(w->driver, w->h, to, TH_STR("enough"), &err))
		fail_msg("%s", err.msg);
	paper_settle(w);
}

static void a_call_waits_for_all(void **unused)
{
	struct paper *w = begin(AGENT);

	(void)unused;
	answer(w, "a1", CALL("c1", "weather", "{}"));
	assert_int_equal(w->effect_count, 2);
	say_low(w, 1);
	assert_int_equal(count_of(w, "a1", TH_EV_CALL), 0);
	say_low(w, 0);
	assert_int_equal(count_of(w, "a1", TH_EV_ANALYSIS), 2);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_CALL), "\"policy\":\"run\""));
	assert_int_equal(w->local_runs, 1);
	assert_int_equal(w->cancels, 0);
	paper_free(w);
}

static void nobody_is_asked_after_a_stop(void **unused)
{
	struct paper *w = begin(AGENT);
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", CALL("c1", "weather", "{}"));
	say_low(w, 0);
	set_state(w, TH_STATE_PAUSED);
	assert_int_equal(w->cancels, 0); /* it may go on */
	set_state(w, TH_STATE_STOPPED);
	assert_int_equal(w->cancels, 1);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_CALL), "\"policy\":\"refuse\""));
	say_low(w, 1); /* too late */
	assert_int_equal(count_of(w, "a1", TH_EV_ANALYSIS), 1);
	assert_int_equal(count_of(w, "a1", TH_EV_CALL), 1);
	/* Another task begins, and the call is not made. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	paper_settle(w);
	answer(w, "a1", TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(w->local_runs, 0);
	assert_int_equal(w->effect_count, 2);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_waits_for_all),
		cmocka_unit_test(nobody_is_asked_after_a_stop),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
