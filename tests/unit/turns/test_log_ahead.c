/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_ahead.c - what needs a long log waits until it was read beside the loop: on
 * the loop no more than TH_LOG_SHORT_MAX events are read at a time, nothing that is said
 * meanwhile is missed, and a session that ends meanwhile leaves nothing.
 */
#include "team_rig.h"

#define LIMITS "\"instructions\":\"x\",\"limits\":{\"turns\":5000}"
#define PLAIN "{\"name\":\"a\"," LIMITS "}"
#define FILTERS "{\"name\":\"a\"," LIMITS ",\"input_filter\":\"cut\"}"
#define LIMITED "{\"name\":\"a\"," LIMITS ",\"history_items\":9}"
#define CUT_TEXT "all that is left"
#define CUT "[{\"role\":\"user\",\"content\":\"" CUT_TEXT "\"}]"
#define HANDS                                                                             \
	"{\"name\":\"a\"," LIMITS ",\"handoffs\":[{\"agent\":\"b\",\"filter\":\"cut\"}]," \
	"\"agents\":{\"b\":{\"instructions\":\"y\"}}}"
#define COMPACTS "{\"name\":\"a\"," LIMITS ",\"compact\":{\"from\":\"cut\",\"items\":150}}"

static void call(struct paper *w, const char *id, const char *tool)
{
	char items[256];

	snprintf(items, sizeof(items),
		 "{\"type\":\"function_call\",\"id\":\"fc_%s\",\"call_id\":\"%s\",\"name\":"
		 "\"%s\",\"arguments\":\"{}\",\"status\":\"completed\"}",
		 id, id, tool);
	script.ask_count = 0;
	answer(w, items);
}

/* A session whose log has at least so many events; its model is asked just now. */
static struct paper *begin_long(const char *definition, size_t events)
{
	struct paper *w = begin(definition, "the task");
	char id[32];

	script.says[TH_ASK_FILTER] = CUT;
	script.says[TH_ASK_COMPACT] = "null"; /* it leaves all as it is */
	paper_settle(w);
	while (w->log->count < events) {
		snprintf(id, sizeof(id), "c%zu", w->log->count);
		call(w, id, "weather");
	}
	script.says[TH_ASK_COMPACT] = CUT;
	w->log_beside = true;
	return w;
}

/* The runtime dies, and the next one opens the session without its history. */
static void take_up(struct paper *w, const char *definition)
{
	reopen(w, definition);
	th_driver_log_short(w->driver, TH_LOG_SHORT_MAX);
	w->read_most = 0;
	paper_resume(w);
}

static bool sent(const struct paper *w, const char *text)
{
	return w->request->open && strstr(w->request->body, text);
}

static void say(struct paper *w, const char *text)
{
	struct th_err err = { 0 };

	assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(text), &err), TH_OK);
	paper_settle(w);
}

/* Every way in which a request, or a handoff, needs what was before. */
static void test_no_long_read_on_the_loop(void **unused)
{
	static const struct {
		const char *agent, *sees, *then_sees, *calls;
	} rows[] = {
		{ PLAIN, "the task", "the task", "weather" },
		{ FILTERS, CUT_TEXT, CUT_TEXT, "weather" },
		{ LIMITED, "function_call_output", "function_call_output", "weather" },
		{ HANDS, "the task", CUT_TEXT, "transfer_to_b" },
		{ COMPACTS, "the task", CUT_TEXT, "weather" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct paper *w = begin_long(rows[i].agent, 4 * TH_LOG_SHORT_MAX);

		take_up(w, rows[i].agent);
		assert_true(sent(w, rows[i].sees));
		call(w, "h1", rows[i].calls);
		assert_true(sent(w, rows[i].then_sees));
		assert_true(w->logs_beside > 0);
		if (w->read_most > TH_LOG_SHORT_MAX)
			fail_msg("%s: %zu events were read on the loop", rows[i].agent,
				 w->read_most);
		assert_false(w->early);
		paper_free(w);
	}
}

/* As long as is read on the loop, and one event longer. */
static void test_the_edge(void **unused)
{
	(void)unused;
	for (size_t more = 0; more < 2; more++) {
		struct paper *w = begin_long(PLAIN, TH_LOG_SHORT_MAX);
		size_t count = w->log->count;

		reopen(w, PLAIN);
		th_driver_log_short(w->driver, count - more);
		paper_resume(w);
		assert_int_equal(w->logs_beside, more);
		assert_true(sent(w, "the task"));
		paper_free(w);
	}
}

static void test_what_is_said_meanwhile_is_seen(void **unused)
{
	static const char *const agents[] = { PLAIN, FILTERS };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(agents); i++) {
		struct paper *w = begin_long(agents[i], 4 * TH_LOG_SHORT_MAX);

		/* The request is not in the log yet, and so sees what comes. */
		paper_log_cut(w->log, w->log->count - 1);
		script.says[TH_ASK_FILTER] = NULL;
		script.later[TH_ASK_FILTER] = true;
		w->log_later = true;
		take_up(w, agents[i]);
		assert_int_equal(w->log_ask_count, 1);
		assert_false(w->request->open);
		say(w, "and mind the gap");
		assert_false(w->request->open);
		while (w->log_ask_count) {
			paper_read_logs(w);
			paper_settle(w);
		}
		if (i == 1)
			assert_non_null(strstr(script.asks[0].input, "\"items\""));
		else
			assert_true(sent(w, "and mind the gap"));
		assert_true(w->read_most <= TH_LOG_SHORT_MAX);
		paper_free(w);
	}
}

/* More is written while it is read than is read on the loop. */
static void test_it_goes_on_to_what_was_written(void **unused)
{
	struct paper *w = begin_long(PLAIN, 4 * TH_LOG_SHORT_MAX);

	(void)unused;
	w->log_later = true;
	reopen(w, PLAIN);
	th_driver_log_short(w->driver, 2);
	w->read_most = 0;
	paper_resume(w);
	for (int i = 0; i < 6; i++)
		say(w, i == 5 ? "the last word" : "more");
	w->log_later = false;
	paper_settle(w);
	assert_true(sent(w, "the last word"));
	assert_true(w->read_most <= 2);
	paper_free(w);
}

static void test_a_pause_and_an_end(void **unused)
{
	struct paper *w = begin_long(PLAIN, 4 * TH_LOG_SHORT_MAX);
	struct th_err err = { 0 };

	(void)unused;
	w->log_later = true;
	take_up(w, PLAIN);
	assert_int_equal(w->log_ask_count, 1);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	paper_read_logs(w);
	paper_settle(w);
	assert_false(w->request->open);
	paper_resume(w);
	assert_true(sent(w, "the task"));
	assert_int_equal(w->logs_beside, 1);

	take_up(w, PLAIN);
	assert_int_equal(w->log_ask_count, 1);
	th_driver_close(w->driver, w->h);
	assert_int_equal(w->log_cancels, 1);
	assert_int_equal(w->log_ask_count, 0);
	paper_free(w);
}

static void test_a_log_that_cannot_be_read(void **unused)
{
	struct paper *w = begin_long(PLAIN, 4 * TH_LOG_SHORT_MAX);
	struct th_err err = { 0 };

	(void)unused;
	w->log_later = w->close_lost = true;
	take_up(w, PLAIN);
	assert_int_equal(w->log_ask_count, 1);
	(void)th_fail(&err, TH_EIO, "the disk is gone");
	th_driver_log_end(w->driver, w->log_asked[--w->log_ask_count], &err);
	assert_true(w->rest_failed);
	assert_string_equal(w->rest_error, "the disk is gone");
	paper_settle(w);
	assert_false(w->request->open);
	/* A ticket that is over. */
	th_driver_log_end(w->driver, w->log_asked[0], NULL);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_long_read_on_the_loop),
		cmocka_unit_test(test_the_edge),
		cmocka_unit_test(test_what_is_said_meanwhile_is_seen),
		cmocka_unit_test(test_it_goes_on_to_what_was_written),
		cmocka_unit_test(test_a_pause_and_an_end),
		cmocka_unit_test(test_a_log_that_cannot_be_read),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
