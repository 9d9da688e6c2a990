/* SPDX-License-Identifier: Apache-2.0 */
/* test_expiry.c - approvals that nobody decides within the agent's time. */
#include "team_rig.h"

#define SECONDS 600
#define ASKS(more) "{\"name\":\"a\",\"rules\":[{\"tool\":\"weather\",\"decide\":\"ask\"}]" more "}"
#define EXPIRES ASKS(",\"approve_seconds\":600")

static struct paper *to_question(const char *definition)
{
	struct paper *w = begin(definition, "go");

	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	return w;
}

static int64_t expires(const struct paper *w)
{
	struct th_json_doc *doc;
	struct th_err err;
	int64_t at;

	assert_int_equal(
	    th_json_parse(th_str_of(last_data(w, TH_EV_APPROVAL_REQUESTED)), &doc, &err), TH_OK);
	at = th_json_get_int(th_json_root(doc), "expires_ms", 0);
	th_json_free(doc);
	return at;
}

static void is_refused(const struct paper *w)
{
	assert_int_equal(w->local_runs, 0);
	assert_non_null(strstr(last_data(w, TH_EV_APPROVAL_DECIDED), "\"expired\":true"));
	assert_non_null(strstr(last_data(w, TH_EV_APPROVAL_DECIDED), "\"approve\":false"));
	assert_non_null(strstr(last_data(w, TH_EV_OUTCOME), "\"status\":\"refused\""));
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "nobody decided in time"));
}

/* While the session is open a timer ends it; rung early, it is set again. */
static void test_it_expires_by_itself(void **unused)
{
	struct paper *w = to_question(EXPIRES);

	(void)unused;
	assert_true(w->timer_ms > SECONDS * 1000 - 1000 && w->timer_ms <= SECONDS * 1000);
	w->clock = expires(w) - 5000;
	w->timer_ms = 0;
	paper_ring(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_true(w->timer_ms > 0 && w->timer_ms <= 5000);
	w->clock = expires(w);
	paper_ring(w);
	is_refused(w);
	paper_free(w);
}

/* At the very millisecond it is over, one before it is not. */
static void test_its_edge(void **unused)
{
	struct th_err err = { 0 };

	(void)unused;
	for (int over = 0; over <= 1; over++) {
		struct paper *w = to_question(EXPIRES);
		enum th_code code;

		w->clock = expires(w) - 11 + over; /* each look at the clock moves it by 10 */
		code = th_driver_decide(w->driver, w->h, TH_STR("c1"), true, TH_STR("me"),
					TH_STR(""), &err);
		paper_settle(w);
		assert_int_equal(code, over ? TH_ENOENT : TH_OK);
		assert_int_equal(w->local_runs, !over);
		if (over) {
			assert_string_equal(err.msg, "no call c1 waits for a decision any more: "
						     "its time was over");
			is_refused(w);
		}
		paper_free(w);
	}
}

/* No process had it when its time was over: whoever opens it finds that. */
static void test_it_expires_while_nobody_looks(void **unused)
{
	struct paper *w = to_question(EXPIRES);

	(void)unused;
	w->clock = expires(w) - 5000;
	w->timer_ms = 0;
	restart(w, EXPIRES);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_true(w->timer_ms > 0 && w->timer_ms <= 5000);
	w->clock = expires(w) + 86400000;
	restart(w, EXPIRES);
	is_refused(w);
	/* And it is over for good. */
	restart(w, EXPIRES);
	assert_int_equal(times(paper_kinds(w, 0), "approval_decided"), 1);
	paper_free(w);
}

/* A pause does not stop the time; what waits is refused when it is over. */
static void test_it_expires_in_a_pause(void **unused)
{
	struct paper *w = to_question(EXPIRES);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	w->clock = expires(w) + 1;
	paper_settle(w);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	is_refused(w);
	paper_free(w);
}

/* Each call has its own time, and a decision in time stands. */
static void test_of_two_calls(void **unused)
{
	struct paper *w = begin(EXPIRES, "go");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}") "," CALL("c2", "weather", "{}"));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("c2"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	w->clock = expires(w) + 1;
	paper_ring(w);
	assert_int_equal(w->local_runs, 1);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "nobody decided in time"));
	assert_non_null(strstr(w->request->body, "sunny"));
	/* The timer that is left over does nothing. */
	paper_ring(w);
	assert_true(w->request->open);
	paper_free(w);
}

/* Without a time it waits for ever, and no timer is set. */
static void test_without_a_time(void **unused)
{
	struct paper *w = to_question(ASKS(""));

	(void)unused;
	assert_int_equal(w->timer_ms, 0);
	assert_int_equal(expires(w), 0);
	w->clock += (int64_t)1000 * 86400000;
	paper_ring(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	paper_free(w);
}

/* The log cannot say that one expired which had not. */
static void test_only_what_was_over_expires(void **unused)
{
	struct paper *w = to_question(EXPIRES);
	struct th_session s;
	struct th_effects fx;
	struct th_err err = { 0 };
	struct th_buf data = TH_BUF_INIT(TH_KIB);
	struct th_event ev = { .kind = TH_EV_APPROVAL_DECIDED, .call = TH_STR("c1") };

	(void)unused;
	th_session_init(&s);
	for (size_t i = 0; i < w->log->count; i++) {
		if (w->log->list[i].ev.kind == TH_EV_CALL)
			ev.cause = w->log->list[i].ev.seq;
		assert_int_equal(th_session_step(&s, &w->log->list[i].ev, &fx, &err), TH_OK);
	}
	th_buf_printf(&data,
		      "{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":false,"
		      "\"expired\":true}",
		      s.calls[0].digest);
	ev.data = th_buf_str(&data);
	ev.seq = s.seq + 1;
	ev.ts_ms = expires(w) - 1;
	assert_int_equal(th_session_step(&s, &ev, &fx, &err), TH_EPROTO);
	ev.ts_ms++;
	assert_int_equal(th_session_step(&s, &ev, &fx, &err), TH_OK);
	th_session_deinit(&s);
	th_buf_deinit(&data);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_expires_by_itself),
		cmocka_unit_test(test_its_edge),
		cmocka_unit_test(test_it_expires_while_nobody_looks),
		cmocka_unit_test(test_it_expires_in_a_pause),
		cmocka_unit_test(test_of_two_calls),
		cmocka_unit_test(test_without_a_time),
		cmocka_unit_test(test_only_what_was_over_expires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
