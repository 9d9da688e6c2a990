/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_condense.c - a history that is too long: a model sums it up, or cannot;
 * the provider does not take it.
 */
#include "json_says.h"
#include "team_rig.h"

#define SUMMARY "\"compact\":{\"condenser\":\"summary\",\"items\":5,\"keep\":2}"
#define AGENT "{\"name\":\"a\",\"instructions\":\"x\"," SUMMARY "}"
#define PLAIN "{\"name\":\"a\",\"instructions\":\"x\"}"
#define TOO_LONG                                                                   \
	"{\"error\":{\"message\":\"Your input exceeds the context window of this " \
	"model.\",\"type\":"                                                       \
	"\"invalid_request_error\",\"code\":\"context_length_exceeded\"}}"
#define ASKED "has become too long. Write a summary"

static bool sent(const struct paper *w, const char *text)
{
	return w->request->open && strstr(w->request->body, text);
}

/* One, and three calls with their results: 7 items. */
static struct paper *to_too_long(const char *definition)
{
	struct paper *w = begin(definition, "one");

	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	answer(w, CALL("c2", "weather", "{}"));
	answer(w, CALL("c3", "weather", "{}"));
	return w;
}

static void test_a_summary(void **unused)
{
	struct paper *w = to_too_long(AGENT);
	size_t turns = (size_t)paper_fold(w)->totals.turns;
	char *before = strdup(w->requests[w->request_count - 2]->body);
	size_t same = 0;

	(void)unused;
	/* The session's own request goes before the words: the same bytes, so that a cache holds.
	 */
	assert_true(sent(w, ASKED) && sent(w, "c1") && sent(w, "c3"));
	while (before[same] == w->request->body[same])
		same++;
	assert_true(same > strlen(before) - 40);
	free(before);
	answer(w, TEXT("THE SUMMARY"));
	/* It is no turn, its cost has a line, and the next request has it. */
	assert_int_equal(paper_fold(w)->totals.turns, turns);
	assert_true(sent(w, "one") && sent(w, "THE SUMMARY") && sent(w, "c3"));
	assert_false(sent(w, ASKED) || sent(w, "c1") || sent(w, "c2"));
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "summary", "THE SUMMARY");
	assert_json(last_data(w, TH_EV_CONDENSATION), "usage.requests", "1");
	assert_json(last_data(w, TH_EV_CONDENSATION), "usage.input", "10");
	assert_int_equal(paper_fold(w)->totals.side[TH_SIDE_CONDENSER].tokens_in, 10);
	restart(w, AGENT);
	assert_true(sent(w, "one") && sent(w, "THE SUMMARY") && sent(w, "c3"));
	assert_false(sent(w, "c1"));
	assert_int_equal(times(paper_kinds(w, 0), "condensation"), 1);
	/* It is not asked for again as long as the limit holds. */
	answer(w, TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* The process dies while it is asked for: it is asked for again. */
static void test_a_summary_that_is_lost(void **unused)
{
	struct paper *w = to_too_long(AGENT);

	(void)unused;
	assert_true(sent(w, ASKED));
	restart(w, AGENT);
	assert_true(sent(w, ASKED));
	answer(w, TEXT("AGAIN"));
	assert_true(sent(w, "AGAIN") && !sent(w, "c1"));
	assert_int_equal(times(paper_kinds(w, 0), "condensation"), 1);
	paper_free(w);
}

/* Somebody says more while it is asked for: that stays as it is. */
static void test_a_word_meanwhile(void **unused)
{
	struct paper *w = to_too_long(AGENT);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("hurry up"), &err), TH_OK);
	paper_settle(w);
	answer(w, TEXT("S"));
	assert_true(sent(w, "hurry up") && sent(w, "c3") && !sent(w, "c1"));
	paper_free(w);
}

/* No summary: a cut without a model, and the event says why. */
static void test_no_summary(void **unused)
{
	static const char refusal[] =
	    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
	    "\"refusal\",\"refusal\":\"no\"}]}";
	static const struct {
		const char *items, *why;
	} rows[] = {
		{ CALL("c9", "weather", "{}"), "the model gave no summary" },
		{ refusal, "the model refused to summarize" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct paper *w = to_too_long(AGENT);

		answer(w, rows[i].items);
		assert_non_null(strstr(last_data(w, TH_EV_CONDENSATION), rows[i].why));
		assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "recent");
		assert_json(last_data(w, TH_EV_CONDENSATION), "usage.requests", "1");
		assert_true(sent(w, "one") && sent(w, "earlier items") && !sent(w, "c1"));
		assert_int_equal(w->local_runs, 3);
		paper_free(w);
	}
}

static void test_a_pause_meanwhile(void **unused)
{
	struct paper *w = to_too_long(AGENT);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	answer(w, TEXT("S"));
	assert_int_equal(times(paper_kinds(w, 0), "condensation"), 0);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(times(paper_kinds(w, 0), "condensation"), 1);
	assert_true(sent(w, "c3") && !sent(w, "c1"));
	paper_free(w);
}

/* The provider's own word, without any `compact`: half of it goes, and it is asked again. */
static void test_the_provider_says_so(void **unused)
{
	struct paper *w = to_too_long(PLAIN);

	(void)unused;
	assert_true(sent(w, "c1"));
	paper_refuse(w, w->request, 400, TOO_LONG);
	assert_json_text(last_data(w, TH_EV_MODEL_FAILED), "class", "context_length");
	assert_json(last_data(w, TH_EV_MODEL_FAILED), "too_long", "true");
	assert_true(sent(w, "one") && sent(w, "c3") && !sent(w, "c1"));
	restart(w, PLAIN);
	assert_true(sent(w, "one") && sent(w, "c3") && !sent(w, "c1"));
	answer(w, TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* It says so whatever is sent: there is an end. */
static void test_it_never_fits(void **unused)
{
	struct paper *w = to_too_long(PLAIN);
	int refusals = 0;

	(void)unused;
	for (; w->request->open && refusals < 50; refusals++)
		paper_refuse(w, w->request, 400, TOO_LONG);
	assert_in_range(refusals, 2, TH_CONTEXT_CUTS_MAX + 1);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	paper_free(w);
}

/* The tokens are the provider's count of the last request and answer, 15 here, and an estimate of
 * the result that came since, some 20. */
static void test_tokens(void **unused)
{
	static const struct {
		const char *agent;
		bool asks;
	} rows[] = {
		{ "{\"name\":\"a\",\"compact\":{\"condenser\":\"summary\",\"tokens\":60,\"keep\":2}"
		  "}",
		  false },
		{ "{\"name\":\"a\",\"compact\":{\"condenser\":\"summary\",\"tokens\":20,\"keep\":2}"
		  "}",
		  true },
		{ "{\"name\":\"a\",\"compact\":{\"condenser\":\"summary\",\"tokens\":14,\"keep\":2}"
		  "}",
		  true },
		{ "{\"name\":\"a\",\"compact\":{\"condenser\":\"summary\"}}", false },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct paper *w = to_too_long(rows[i].agent);

		/* With 14: the first that may be left out is after the second call. */
		assert_int_equal(times(paper_kinds(w, 0), "condensation") + sent(w, ASKED) > 0,
				 rows[i].asks);
		paper_free(w);
	}
}

/* Somebody asks, or the model does by a tool: before the next request, also after a crash, and
 * once. */
static void test_on_request(void **unused)
{
	(void)unused;
	for (int by_tool = 0; by_tool <= 1; by_tool++) {
		struct paper *w = to_too_long(PLAIN);
		struct th_err err = { 0 };

		if (!by_tool)
			assert_int_equal(th_driver_condense(w->driver, w->h, TH_STR("Ann"), &err),
					 TH_OK);
		paper_settle(w);
		assert_int_equal(times(paper_kinds(w, 0), "condensation_requested"), !by_tool);
		if (!by_tool)
			restart(w, PLAIN);
		team.row.spec.name = TH_STR("request_condensation");
		answer(w, CALL("c4", "request_condensation", "{}"));
		assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "conversation_window");
		assert_true(sent(w, "one") && sent(w, "earlier items") && !sent(w, "c1") &&
			    sent(w, "c4"));
		team.row.spec.name = TH_STR("weather");
		answer(w, CALL("c5", "weather", "{}"));
		assert_true(sent(w, "c4") && sent(w, "c5"));
		paper_free(w);
	}
}

/* Two thousand turns through a window of 32,000 tokens: each request fits, and has the rule of the
 * first turn and, at the end, the tasks and the notes of the third; the log has all the rest. */
static void test_two_thousand_turns(void **unused)
{
#define LONG                                                                               \
	"{\"name\":\"a\",\"instructions\":\"x\",\"limits\":{\"turns\":3000},\"compact\":{" \
	"\"condenser\":\"recent\",\"bytes\":60000,\"keep\":30}}"
	struct paper *w = begin(LONG, "Never touch the file keep.txt");
	struct th_buf tasks = TH_BUF_INIT(TH_KIB * 4), call = TH_BUF_INIT(TH_KIB * 8);
	size_t condensed = 0, read = 0, last = 0;
	char text[64];

	(void)unused;
	paper_settle(w);
	for (int i = 0; i < 10; i++)
		th_buf_printf(&tasks, "%s{\\\"title\\\":\\\"open task %d\\\"}", i ? "," : "", i);
	th_buf_printf(
	    &call,
	    CALL("t1", "task_list", "{\\\"command\\\":\\\"plan\\\",\\\"task_list\\\":[%.*s]}"),
	    TH_FMT(th_buf_str(&tasks)));
	th_buf_add_char(&call, '\0');
	team.row.spec.name = TH_STR("task_list");
	answer(w, call.ptr);
	team.row.spec.name = TH_STR("notes");
	answer(w, CALL("t2", "notes", "{\\\"text\\\":\\\"the gate is 4711\\\"}"));
	team.row.spec.name = TH_STR("weather");
	for (int i = 0; i < 2000; i++) {
		th_buf_clear(&call);
		th_buf_printf(
		    &call,
		    "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"weather\","
		    "\"arguments\":\"{\\\"number\\\":%d}\"}",
		    i, 700000 + i);
		th_buf_add_char(&call, '\0');
		read = w->read_events;
		condensed = paper_count(w->log, TH_EV_CONDENSATION);
		answer(w, call.ptr);
		/* A condensation reads what is new since the last one, once; the first reads the
		 * log. */
		if (paper_count(w->log, TH_EV_CONDENSATION) > condensed) {
			assert_true(!condensed || w->read_events - read <= w->log->count - last);
			last = w->log->count;
		}
		assert_true(w->request->open && strlen(w->request->body) < 32000 * 4);
		assert_true(sent(w, "Never touch the file keep.txt"));
		if (i % 500 == 77) {
			restart(w, LONG);
			team.row.spec.name = TH_STR("weather");
		}
	}
	condensed = paper_count(w->log, TH_EV_CONDENSATION);
	assert_true(condensed >= 3 && condensed < 200);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "%d. [ ] open task %d", i + 1, i);
		assert_true(sent(w, text));
	}
	assert_true(sent(w, "the gate is 4711") && !sent(w, "700300") && sent(w, "701999"));
	th_buf_deinit(&tasks);
	th_buf_deinit(&call);
	paper_free(w);
}

/* Where the history is past what the model takes already, no summary is asked for on it. */
static void test_past_the_model(void **unused)
{
	static const char agent[] = "{\"name\":\"a\",\"compact\":{\"condenser\":\"summary\","
				    "\"tokens\":1000,\"keep\":2}}";
	struct paper *w;

	(void)unused;
	team_model = "gpt-4o"; /* takes 128,000 tokens */
	w = to_too_long(agent);
	paper_say(
	    w, w->request,
	    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[" CALL(
		"c4", "weather", "{}") "],\"usage\":{\"input_tokens\":2000000,"
				       "\"output_tokens\":5}}");
	assert_int_equal(times(paper_kinds(w, 0), "condensation"), 1);
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "recent");
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "fallback",
			 "the history was longer than the model takes");
	assert_true(sent(w, "c4") && !sent(w, "c1") && !sent(w, ASKED));
	paper_free(w);
	team_model = "gpt-5.4";
}

/* The provider does it: what stands before its compaction goes, and that is sent back as it came.
 */
static void test_the_providers_own(void **unused)
{
#define COMPACTION "{\"type\":\"compaction\",\"id\":\"cmp_1\",\"encrypted_content\":\"b3BhcXVl\"}"
	static const char agent[] = "{\"name\":\"a\",\"instructions\":\"x\",\"compact\":{"
				    "\"condenser\":\"provider\",\"tokens\":70000,\"keep\":5}}";
	struct paper *w = to_too_long(agent);

	(void)unused;
	assert_true(sent(w,
			 "\"context_management\":[{\"type\":\"compaction\",\"compact_threshold\":"
			 "70000}]"));
	assert_true(sent(w, "c1") && sent(w, "c3"));
	answer(w, COMPACTION "," CALL("c4", "weather", "{}"));
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "provider");
	assert_json(last_data(w, TH_EV_CONDENSATION), "left_out", "6");
	assert_true(sent(w, "one") && sent(w, COMPACTION) && sent(w, "c4") && !sent(w, "c3"));
	restart(w, agent);
	assert_true(sent(w, "one") && sent(w, COMPACTION) && sent(w, "c4") && !sent(w, "c3"));
	/* Nothing more is before it: it is left alone, and stays when a person asks. */
	answer(w, CALL("c5", "weather", "{}"));
	assert_int_equal(paper_count(w->log, TH_EV_CONDENSATION), 1);
	paper_free(w);

	team_model = "claude-sonnet-4-5";
	w = begin(agent, "one");
	paper_settle(w);
	assert_true(
	    sent(w, "\"context_management\":{\"edits\":[{\"type\":\"clear_tool_uses_20250919\","
		    "\"trigger\":{\"type\":\"input_tokens\",\"value\":70000},\"keep\":{\"type\":"
		    "\"tool_uses\",\"value\":5},\"clear_at_least\":{\"type\":\"input_tokens\","
		    "\"value\":8750}}]}"));
	paper_free(w);
	team_model = "gpt-5.4";
}

/* What began the task stays, so it must leave room for the rest. */
static void test_a_task_too_long(void **unused)
{
	struct th_buf task = TH_BUF_INIT(TH_MIB);
	struct paper *w;

	(void)unused;
	team_model = "gpt-4o";
	while (task.len < 300 * TH_KIB)
		th_buf_add_cstr(&task, "do it again and again, ");
	th_buf_add_char(&task, '\0');
	w = begin(PLAIN, task.ptr);
	paper_settle(w);
	paper_refuse(w, w->request, 400, TOO_LONG);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_json_text(last_data(w, TH_EV_ERROR), "class", "context_length");
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), "may have 50 % of the"));
	paper_free(w);
	team_model = "gpt-5.4";
	th_buf_deinit(&task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_summary),
		cmocka_unit_test(test_a_summary_that_is_lost),
		cmocka_unit_test(test_a_word_meanwhile),
		cmocka_unit_test(test_no_summary),
		cmocka_unit_test(test_a_pause_meanwhile),
		cmocka_unit_test(test_the_provider_says_so),
		cmocka_unit_test(test_it_never_fits),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_on_request),
		cmocka_unit_test(test_past_the_model),
		cmocka_unit_test(test_the_providers_own),
		cmocka_unit_test(test_a_task_too_long),
		cmocka_unit_test(test_two_thousand_turns),
	};

	int failed;

	RUN_BOTH_WAYS(failed, tests);
	return failed;
}
