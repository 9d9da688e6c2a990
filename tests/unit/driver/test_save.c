/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_save.c - what a session keeps, and what code makes of it: what a task
 * begins with (session_input), what replaces a history that is too long
 * (compact), and what a guardrail that trips leaves.
 */
#include "json_says.h"
#include "team_rig.h"

#include "transcript/transcript.h"

#define JOINS "{\"name\":\"a\",\"session_input\":\"join\"}"
#define MESSAGE(text) "{\"role\":\"user\",\"content\":\"" text "\"}"

static bool sent(const struct paper *w, const char *part)
{
	return strstr(w->request->body, part) != NULL;
}

static void say(struct paper *w, const char *text)
{
	struct th_err err = { 0 };

	if (th_driver_message(w->driver, w->h, th_str_of(text), &err))
		fail_msg("%s", err.msg);
	paper_settle(w);
}

/* Asked once a task; the next one begins with all that was, and a restart does not ask again. */
static void test_what_a_task_begins_with(void **unused)
{
	struct paper *w = begin(JOINS, "one");

	(void)unused;
	script.says[TH_ASK_SESSION_INPUT] = "[" MESSAGE("one") "]";
	paper_settle(w);
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "join");
	assert_non_null(
	    strstr(script.asks[0].input, "\"history\":[],\"input\":[" MESSAGE("one") "]"));
	assert_true(sent(w, "one"));
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 1); /* not for each request */
	answer(w, TEXT("fine"));
	/* The second: of before only a note, and the new message. */
	script.says[TH_ASK_SESSION_INPUT] = "[" MESSAGE("note") "," MESSAGE("two") "]";
	say(w, "two");
	assert_int_equal(script.ask_count, 2);
	assert_non_null(strstr(script.asks[1].input, "\"history\":[" MESSAGE("one")));
	assert_non_null(strstr(script.asks[1].input, "fine"));
	assert_non_null(strstr(script.asks[1].input, "\"input\":[" MESSAGE("two") "]"));
	assert_true(sent(w, "note") && sent(w, "two"));
	assert_false(sent(w, "one") || sent(w, "fine") || sent(w, "sunny"));
	/* It is named in the log where it is as it was, else written there. */
	assert_json_text(last_data(w, TH_EV_CODE), "use", "session_input");
	assert_non_null(strstr(last_data(w, TH_EV_CODE), MESSAGE("note") ",["));
	restart(w, JOINS);
	assert_int_equal(script.ask_count, 0);
	assert_true(sent(w, "note") && sent(w, "two"));
	assert_false(sent(w, "one"));
	answer(w, CALL("c2", "weather", "{}"));
	assert_true(sent(w, "note") && sent(w, "sunny"));
	assert_false(sent(w, "one"));
	answer(w, TEXT("good"));
	/* The third sees all of it again, and not the note. */
	script.says[TH_ASK_SESSION_INPUT] = NULL;
	script.later[TH_ASK_SESSION_INPUT] = true;
	say(w, "three");
	assert_non_null(strstr(script.asks[0].input, "\"history\":[" MESSAGE("one")));
	assert_non_null(strstr(script.asks[0].input, MESSAGE("two")));
	assert_non_null(strstr(script.asks[0].input, "good"));
	assert_null(strstr(script.asks[0].input, "note"));
	assert_false(w->early);
	paper_free(w);
}

/* Nothing is asked before its answer; what is said meanwhile is seen; no list is no answer. */
static void test_what_it_answers(void **unused)
{
	static const char *const bad[] = { "\"nope\"", "null", "[{\"x\":1}]" };
	struct paper *w = begin(JOINS, "one");

	(void)unused;
	script.later[TH_ASK_SESSION_INPUT] = true;
	paper_settle(w);
	assert_false(w->request->open);
	say(w, "two");
	code_says(w, 0, false, "[" MESSAGE("one") "]");
	assert_false(w->request->open);
	assert_int_equal(script.ask_count, 2);
	assert_non_null(strstr(script.asks[1].input, MESSAGE("two")));
	/* A crash before it has answered asks anew. */
	restart(w, JOINS);
	assert_int_equal(script.ask_count, 1);
	code_says(w, 0, false, "[" MESSAGE("two") "]");
	assert_true(w->request->open);
	assert_true(sent(w, "two"));
	assert_false(sent(w, "one"));
	paper_free(w);

	for (size_t i = 0; i < TH_COUNT(bad) + 1; i++) {
		w = begin(JOINS, "one");
		script.later[TH_ASK_SESSION_INPUT] = true;
		paper_settle(w);
		code_says(w, 0, i == TH_COUNT(bad), i < TH_COUNT(bad) ? bad[i] : "it broke");
		assert_false(w->request->open);
		assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
		assert_non_null(strstr(last_data(w, TH_EV_ERROR),
				       i < TH_COUNT(bad)
					   ? "session_input gave back no list of items"
					   : "session_input: it broke"));
		paper_free(w);
	}
}

/* Two items of before, of which its code takes one. */
static void test_a_limit_comes_first(void **unused)
{
	static const char limited[] =
	    "{\"name\":\"a\",\"session_input\":\"join\",\"history_items\":2}";
	struct paper *w = begin(limited, NULL);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_items_add(w->driver, w->h,
					     TH_STR("[" MESSAGE("oldest") "," MESSAGE(
						 "older") "," MESSAGE("old") "]"),
					     false, &err),
			 TH_OK);
	script.says[TH_ASK_SESSION_INPUT] = "[" MESSAGE("old") "," MESSAGE("now") "]";
	say(w, "now");
	assert_non_null(
	    strstr(script.asks[0].input, "\"history\":[" MESSAGE("older") "," MESSAGE(
					     "old") "],\"input\":[" MESSAGE("now") "]"));
	assert_true(sent(w, "\"old\"") && sent(w, "now"));
	assert_false(sent(w, "older"));
	paper_free(w);
}

#define COMPACTS(numbers)                                                                   \
	"{\"name\":\"a\",\"compact\":{\"from\":\"shrink\"" numbers "},\"instructions\":\"x" \
	"\"}"

/* What has become too long is replaced for good, once; a replay does not ask. */
static void test_a_history_that_is_too_long(void **unused)
{
	static const char compacts[] = COMPACTS(",\"items\":3");
	struct paper *w = begin(compacts, "one");

	(void)unused;
	script.later[TH_ASK_COMPACT] = true;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}")); /* 3 items: as many as there may be */
	assert_int_equal(script.ask_count, 0);
	assert_true(w->request->open);
	answer(w, CALL("c2", "weather", "{}")); /* 5 */
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "shrink");
	assert_non_null(strstr(script.asks[0].input, "\"items\":[" MESSAGE("one")));
	assert_false(w->request->open);
	/* A crash asks anew: nothing was said yet. */
	restart(w, compacts);
	assert_int_equal(script.ask_count, 1);
	code_says(w, 0, false, "[" MESSAGE("in short") "]");
	assert_true(w->request->open);
	assert_true(sent(w, "in short"));
	assert_false(sent(w, "one") || sent(w, "function_call"));
	assert_json(last_data(w, TH_EV_CONDENSATION), "items", "1");
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "shrink");
	assert_int_equal(paper_fold(w)->items, 1);
	restart(w, compacts);
	assert_int_equal(script.ask_count, 0);
	assert_true(w->request->open);
	assert_true(sent(w, "in short"));
	assert_false(sent(w, "one"));
	/* It stays so, also for later tasks. */
	answer(w, TEXT("over"));
	say(w, "two");
	assert_int_equal(script.ask_count, 0);
	assert_true(sent(w, "in short") && sent(w, "over") && sent(w, "two"));
	assert_false(sent(w, "one"));
	assert_false(w->early);
	paper_free(w);
}

/* A condenser needs no code: the request that follows has what stays, also after a restart. */
static void test_a_condenser(void **unused)
{
	static const char agent[] = "{\"name\":\"a\",\"compact\":{\"condenser\":\"recent\","
				    "\"items\":5,\"keep\":2},\"instructions\":\"x\"}";
	struct paper *w = begin(agent, "one");

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	answer(w, CALL("c2", "weather", "{}")); /* 5 items: as many as there may be */
	assert_true(sent(w, "c1") && sent(w, "c2"));
	answer(w, CALL("c3", "weather", "{}")); /* 7 */
	assert_true(sent(w, "one") && sent(w, "4 earlier items") && sent(w, "c3"));
	assert_false(sent(w, "c1") || sent(w, "c2"));
	assert_json_text(last_data(w, TH_EV_CONDENSATION), "name", "recent");
	assert_int_equal(paper_fold(w)->items, 4);
	assert_int_equal(script.ask_count, 0);
	restart(w, agent);
	assert_true(sent(w, "one") && sent(w, "4 earlier items") && sent(w, "c3"));
	assert_false(sent(w, "c1") || sent(w, "c2"));
	/* Another task: the first one stays too, and there is one note, which counts all that is
	 * not there any more. */
	answer(w, TEXT("over"));
	say(w, "two");
	assert_true(sent(w, "one") && sent(w, "two") && sent(w, "6 earlier items"));
	assert_json(last_data(w, TH_EV_CONDENSATION), "left_out", "6");
	assert_false(sent(w, "4 earlier items") || sent(w, "c3"));
	assert_false(w->early);
	paper_free(w);
}

/* "Not now" is asked again with the next request, bytes count too, and what is no list fails. */
static void test_what_compact_answers(void **unused)
{
	static const char compacts[] = COMPACTS(",\"bytes\":300");
	struct paper *w = begin(compacts, "one");

	(void)unused;
	script.says[TH_ASK_COMPACT] = "null";
	paper_settle(w);
	assert_int_equal(script.ask_count, 0);
	answer(w, CALL("c1", "weather", "{}"));
	assert_true(paper_fold(w)->bytes > 300);
	assert_int_equal(script.ask_count, 1);
	assert_true(w->request->open);
	assert_true(sent(w, "one") && sent(w, "sunny"));
	answer(w, CALL("c2", "weather", "{}"));
	assert_int_equal(script.ask_count, 2);
	script.says[TH_ASK_COMPACT] = "7";
	answer(w, CALL("c3", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), "compact gave back no list of items"));
	paper_free(w);

	/* Without a number it is TH_COMPACT_ITEMS_DEFAULT items. */
	w = begin(COMPACTS(""), NULL);
	for (int i = 0; i < TH_COMPACT_ITEMS_DEFAULT - 1; i++)
		assert_int_equal(th_driver_items_add(w->driver, w->h, TH_STR("[" MESSAGE("x") "]"),
						     false, &(struct th_err){ 0 }),
				 TH_OK);
	script.says[TH_ASK_COMPACT] = "null";
	say(w, "as many as there may be");
	assert_int_equal(script.ask_count, 0);
	answer(w, TEXT("ok"));
	say(w, "more");
	assert_int_equal(script.ask_count, 1);
	paper_free(w);
}

static const char *items(struct paper *w)
{
	static char text[4096];
	struct th_buf b = TH_BUF_INIT(sizeof(text) - 1);
	struct th_jw jw = th_jw(&b);
	struct th_transcript transcript;
	struct th_err err = { 0 };

	th_transcript_init(&transcript, false);
	for (size_t i = 0; i < w->log->count; i++)
		assert_int_equal(th_transcript_add(&transcript, &w->log->list[i].ev, &err), TH_OK);
	for (size_t i = 0; i < transcript.count; i++)
		th_transcript_print(&transcript.list[i], &jw);
	assert_false(b.failed);
	snprintf(text, sizeof(text), "%.*s", TH_FMT(th_buf_str(&b)));
	th_transcript_deinit(&transcript);
	th_buf_deinit(&b);
	return text;
}

/* An input that a guardrail refuses was said, and stays in the session; nothing that was answered
 * to it does, and no later task sends it. */
static void test_a_refused_input_keeps_no_answer(void **unused)
{
	static const char guarded[] =
	    "{\"name\":\"a\",\"guardrails\":[{\"name\":\"g\",\"stage\":\"input\"}]}";
	struct paper *w = begin(guarded, "first");

	(void)unused;
	script.says[TH_ASK_GUARDRAIL] = "false";
	paper_settle(w);
	answer(w, TEXT("fine"));
	script.says[TH_ASK_GUARDRAIL] = NULL;
	script.later[TH_ASK_GUARDRAIL] = true;
	say(w, "evil");
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(w->local_runs, 0);
	code_says(w, 1, false, "true");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(items(w), "first"));
	assert_non_null(strstr(items(w), "fine"));
	assert_non_null(strstr(items(w), "evil"));
	assert_null(strstr(items(w), "c1"));
	say(w, "next");
	assert_true(sent(w, "fine") && sent(w, "next"));
	assert_false(sent(w, "c1") || sent(w, "evil"));
	assert_non_null(strstr(items(w), "evil"));
	paper_free(w);
}

/* An answer stands before what was said while the model was asked: it has not read it. */
static void test_items_stand_in_the_order_in_which_they_are_read(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\"}", "one");
	const char *text;

	(void)unused;
	paper_settle(w);
	say(w, "two");
	answer(w, TEXT("first"));
	text = items(w);
	assert_true(strstr(text, "one") < strstr(text, "first"));
	assert_true(strstr(text, "first") < strstr(text, "two"));
	paper_free(w);
}

/* The row of an older build has no title where the first words are items. */
static void test_the_first_words_are_the_title(void **unused)
{
	static const char plain[] = "{\"name\":\"a\"}";
	struct paper *w = begin(plain, NULL);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_driver_items_add(w->driver, w->h,
					     TH_STR("[" MESSAGE("first words") "]"), false, &err),
			 TH_OK);
	paper_settle(w);
	assert_string_equal(w->log->title, "first words");
	reopen(w, plain);
	assert_int_equal(
	    th_driver_items_add(w->driver, w->h, TH_STR("[" MESSAGE("second") "]"), false, &err),
	    TH_OK);
	paper_settle(w);
	assert_string_equal(w->log->title, "first words");
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_task_begins_with),
		cmocka_unit_test(test_what_it_answers),
		cmocka_unit_test(test_a_limit_comes_first),
		cmocka_unit_test(test_a_history_that_is_too_long),
		cmocka_unit_test(test_a_condenser),
		cmocka_unit_test(test_what_compact_answers),
		cmocka_unit_test(test_a_refused_input_keeps_no_answer),
		cmocka_unit_test(test_items_stand_in_the_order_in_which_they_are_read),
		cmocka_unit_test(test_the_first_words_are_the_title),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
