/* SPDX-License-Identifier: Apache-2.0 */
/* test_stuck.c - an agent that repeats itself: it stops, is told, or a person is asked. */
#include "team_rig.h"

#define STUCK(then) "{\"name\":\"a\",\"stuck\":{\"then\":\"" then "\"}}"

/* The same call again and again; returns how often the model was asked. */
static int repeat(struct paper *w, int most)
{
	int turns = 0;

	paper_settle(w);
	while (w->request->open && turns < most) {
		turns++;
		answer(w, CALL("c", "weather", "{}"));
		paper_settle(w);
	}
	return turns;
}

static void test_it_stops(void **unused)
{
	struct paper *w = begin(STUCK("stop"), "go");
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(repeat(w, 50), 4);
	assert_int_equal(paper_fold(w)->state, TH_STATE_STUCK);
	assert_string_equal(
	    last_data(w, TH_EV_STATE_CHANGED),
	    "{\"to\":\"stuck\",\"reason\":\"the agent repeats itself: the last 4 calls "
	    "were the same, with the same results\"}");
	/* It rests so after a restart, and a person may let it go on. */
	restart(w, STUCK("stop"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_STUCK);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR("resumed"), &err), TH_OK);
	assert_int_equal(repeat(w, 50), 4);
	assert_int_equal(paper_fold(w)->state, TH_STATE_STUCK);
	paper_free(w);
}

/* Once; then it stops.  A word of a person begins the count anew. */
static void test_it_is_told(void **unused)
{
	struct paper *w = begin(STUCK("tell"), "go");

	(void)unused;
	assert_int_equal(repeat(w, 4), 4);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_non_null(strstr(w->request->body, "You repeat yourself: the last 4 calls"));
	restart(w, STUCK("tell"));
	assert_int_equal(repeat(w, 50), 4);
	assert_int_equal(paper_fold(w)->state, TH_STATE_STUCK);
	assert_int_equal(times(paper_kinds(w, 0), "state_changed"), 1);
	paper_free(w);
}

static void test_a_person_is_asked(void **unused)
{
	struct paper *w = begin(STUCK("ask"), "go");

	(void)unused;
	assert_int_equal(repeat(w, 50), 4);
	assert_int_equal(paper_fold(w)->state, TH_STATE_PAUSED);
	assert_non_null(strstr(last_data(w, TH_EV_STATE_CHANGED), "the agent repeats itself"));
	paper_free(w);
}

/* Without `stuck` nobody looks, and other arguments are another call. */
static void test_it_goes_on(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\"}", "go");

	(void)unused;
	assert_int_equal(repeat(w, 20), 20);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	paper_free(w);
	w = begin(STUCK("stop"), "go");
	paper_settle(w);
	for (int i = 0; i < 10; i++) {
		char call[200];

		snprintf(call, sizeof(call), "%s%d%s",
			 "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"weather\","
			 "\"arguments\":\"{\\\"city\\\":\\\"",
			 i, "\\\"}\"}");
		answer(w, call);
		paper_settle(w);
	}
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	paper_free(w);
}

#define V1 "{\"name\":\"a\",\"stuck\":{\"rules\":\"openhands_v1\"}}"
#define REPEAT "You repeat yourself: the same call failed 3 times in a row."

static void fail_once(struct paper *w, const char *tool)
{
	char call[200];

	snprintf(call, sizeof(call), CALL("c", "%s", "{}"), tool);
	answer(w, call);
	paper_settle(w);
}

/* As OpenHands' SDK: the third failure is told of, once; the fourth is the last. */
static void test_a_hint(void **unused)
{
	struct paper *w = begin(V1, "go");

	(void)unused;
	paper_settle(w);
	fail_once(w, "nope");
	fail_once(w, "nope");
	assert_int_equal(times(w->request->body, REPEAT), 0);
	fail_once(w, "nope");
	assert_int_equal(times(w->request->body, REPEAT), 1);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	restart(w, V1); /* it knows that it was told */
	paper_settle(w);
	assert_int_equal(times(w->request->body, REPEAT), 1);
	/* Something else in between, and it begins anew. */
	fail_once(w, "other");
	fail_once(w, "nope");
	fail_once(w, "nope");
	assert_int_equal(times(w->request->body, REPEAT), 1);
	fail_once(w, "nope");
	assert_int_equal(times(w->request->body, REPEAT), 2);
	fail_once(w, "nope");
	assert_int_equal(paper_fold(w)->state, TH_STATE_STUCK);
	assert_int_equal(paper_count(w->log, TH_EV_MESSAGE), 3);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_stops),
		cmocka_unit_test(test_it_is_told),
		cmocka_unit_test(test_a_person_is_asked),
		cmocka_unit_test(test_it_goes_on),
		cmocka_unit_test(test_a_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
