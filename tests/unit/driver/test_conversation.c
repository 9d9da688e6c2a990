/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conversation.c - sessions whose history the provider has: what a request
 * holds, and what becomes of one whose answer is lost.
 */
#include "json_says.h"
#include "team_rig.h"

#define IN_CONVERSATION "{\"name\":\"a\",\"settings\":{\"conversation\":\"conv_1\"}}"
#define FROM_RESPONSE "{\"name\":\"a\",\"settings\":{\"previous_response_id\":\"resp_given\"}}"
#define TEAM(settings)                                                                        \
	"{\"name\":\"a\",\"settings\":{" settings "},\"handoffs\":[\"b\"],\"agents\":{\"b\":" \
	"{\"name\":\"b\",\"handoffs\":[\"a\"],\"settings\":{\"history\":\"previous_"          \
	"response\"}}}}"
#define UNKNOWN "nobody knows whether the conversation conv_1 has what was sent"
#define NOT_FOUND                                                                             \
	"{\"error\":{\"message\":\"Previous response with id 'resp_1' not found.\",\"type\":" \
	"\"invalid_request_error\",\"code\":\"previous_response_not_found\"}}"

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

/* Only what the conversation does not have is sent, whatever happened in between. */
static void test_a_conversation_gets_what_is_new(void **unused)
{
	struct paper *w = begin(IN_CONVERSATION, "my task");

	(void)unused;
	paper_settle(w);
	assert_true(sent(w, "\"conversation\":\"conv_1\""));
	assert_true(sent(w, "\"store\":true"));
	assert_true(sent(w, "my task"));
	assert_json_text(w->log->list[2].data, "conversation", "conv_1");
	assert_json(w->log->list[2].data, "items", "1");
	answer(w, CALL("c1", "weather", "{}"));
	assert_true(sent(w, "\"conversation\":\"conv_1\""));
	assert_false(sent(w, "previous_response_id"));
	assert_false(sent(w, "my task"));
	assert_true(sent(w, "\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c1\""));
	answer(w, TEXT("done"));
	say(w, "and then?");
	assert_false(sent(w, "function_call"));
	assert_true(sent(w, "\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":"
			    "\"and then?\"}]") ||
		    sent(w, "\"input\":[{\"role\":\"user\",\"content\":\"and then?\"}]"));
	paper_free(w);
}

/* What is said while the model is asked goes with the next request, once. */
static void test_what_is_said_meanwhile(void **unused)
{
	struct paper *w = begin(IN_CONVERSATION, "my task");

	(void)unused;
	paper_settle(w);
	say(w, "hurry");
	answer(w, CALL("c1", "weather", "{}"));
	assert_true(sent(w, "sunny"));
	assert_true(sent(w, "hurry"));
	answer(w, CALL("c2", "weather", "{}"));
	assert_false(sent(w, "hurry"));
	paper_free(w);
}

/* Items that a program adds are new too; so is what stands behind a message said meanwhile. */
static void test_items_go_to_the_conversation(void **unused)
{
	struct paper *w = begin(IN_CONVERSATION, NULL);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(
	    th_driver_items_add(w->driver, w->h,
				TH_STR("[{\"role\":\"user\",\"content\":\"one\"},"
				       "{\"role\":\"assistant\",\"content\":\"two\"}]"),
				false, &err),
	    TH_OK);
	say(w, "three");
	assert_true(sent(w, "one") && sent(w, "two") && sent(w, "three"));
	say(w, "meanwhile");
	answer(w, CALL("c1", "weather", "{}"));
	assert_false(sent(w, "one") || sent(w, "two") || sent(w, "three"));
	assert_true(sent(w, "sunny") && sent(w, "meanwhile"));
	answer(w, TEXT("ok"));
	assert_int_equal(th_driver_items_add(w->driver, w->h,
					     TH_STR("[{\"role\":\"user\",\"content\":\"four\"}]"),
					     true, &err),
			 TH_OK);
	paper_settle(w);
	assert_true(sent(w, "four"));
	assert_false(sent(w, "meanwhile") || sent(w, "sunny"));
	/* And what is there stays there. */
	answer(w, TEXT("ok"));
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 1, &err), TH_EUSAGE);
	assert_string_equal(err.msg, "the session is in the provider's conversation conv_1, which "
				     "keeps what is in it");
	paper_free(w);
}

/* The provider said no, or was never reached: the same is sent again. */
static void test_a_refused_request_is_sent_again(void **unused)
{
	static const int statuses[] = { 429, 500, 503, 529 };
	char *first;

	(void)unused;
	for (size_t i = 0; i <= TH_COUNT(statuses); i++) {
		struct paper *w = begin(IN_CONVERSATION, "my task");

		paper_settle(w);
		first = strdup(w->request->body);
		if (i < TH_COUNT(statuses))
			paper_refuse(w, w->request, statuses[i],
				     "{\"error\":{\"message\":\"no\"}}");
		else
			paper_lose(w, w->request, TH_FAILURE_CONNECT);
		assert_json(last_data(w, TH_EV_MODEL_FAILED), "retry", "true");
		paper_ring(w);
		assert_true(w->request->open);
		assert_string_equal(w->request->body, first);
		free(first);
		paper_free(w);
	}
}

/* Locked by another request: it is asked again. */
static void test_a_locked_conversation(void **unused)
{
	struct paper *w = begin(IN_CONVERSATION, "my task");

	(void)unused;
	paper_settle(w);
	paper_refuse(w, w->request, 400,
		     "{\"error\":{\"message\":\"busy\",\"type\":\"invalid_request_error\",\"code\":"
		     "\"conversation_locked\"}}");
	assert_json_text(last_data(w, TH_EV_MODEL_FAILED), "class", "overloaded");
	paper_ring(w);
	assert_true(w->request->open);
	paper_free(w);
}

/* The answer is lost: what was sent may be in the conversation, and is not sent again by itself. */
static void test_a_lost_answer_is_unknown(void **unused)
{
	static const enum th_failure failures[] = { TH_FAILURE_CUT, TH_FAILURE_TIMEOUT,
						    TH_FAILURE_MALFORMED };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(failures) + 2; i++) {
		struct paper *w = begin(IN_CONVERSATION, "my task");
		struct th_err err = { 0 };
		size_t requests;

		paper_settle(w);
		if (i < TH_COUNT(failures))
			paper_lose(w, w->request, failures[i]);
		else
			paper_refuse(w, w->request, i == TH_COUNT(failures) ? 502 : 504,
				     "a gateway");
		assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
		assert_non_null(strstr(last_data(w, TH_EV_MODEL_FAILED), UNKNOWN));
		assert_null(strstr(last_data(w, TH_EV_MODEL_FAILED), "\"retry\""));
		assert_non_null(strstr(last_data(w, TH_EV_ERROR), UNKNOWN));
		requests = times(paper_kinds(w, 0), "model_requested");
		assert_int_equal(requests, 1);
		/* Whoever looked, and resumes, has it sent again. */
		assert_int_equal(
		    th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR("looked"), &err),
		    TH_OK);
		paper_settle(w);
		assert_true(w->request->open);
		assert_true(sent(w, "my task"));
		paper_free(w);
	}
}

/* kill -9 with the answer lost: the same, and only then. */
static void test_a_crash_with_a_request_under_way(void **unused)
{
	struct paper *w = begin(IN_CONVERSATION, "my task");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	assert_true(w->request->open);
	restart(w, IN_CONVERSATION);
	assert_false(w->request->open);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), "the answer was lost"));
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), UNKNOWN));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR("looked"), &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	/* An answer that is durable leaves nothing unknown. */
	answer(w, CALL("c1", "weather", "{}"));
	answer(w, TEXT("done"));
	restart(w, IN_CONVERSATION);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	say(w, "again");
	assert_true(sent(w, "again"));
	assert_false(sent(w, "sunny"));
	paper_free(w);
}

/* The provider works on it by itself, under an id: nothing is unknown. */
static void test_a_conversation_in_the_background(void **unused)
{
	static const char kept[] = "{\"name\":\"a\",\"settings\":{\"conversation\":\"conv_1\","
				   "\"background\":true,\"stream\":false}}";
	struct paper *w = begin(kept, "my task");

	(void)unused;
	paper_settle(w);
	paper_say(w, w->request,
		  "{\"id\":\"r1\",\"object\":\"response\",\"status\":\"queued\",\"model\":\"m\","
		  "\"output\":[]}");
	restart(w, kept);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_true(w->request->open);
	paper_lose(w, w->request, TH_FAILURE_CUT);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_json(last_data(w, TH_EV_MODEL_FAILED), "kept", "true");
	paper_free(w);
}

/* What was put into the history breaks the chain once: from the next answer it goes on again. */
static void test_what_was_added_is_sent_with_the_rest(void **unused)
{
	static const char chained[] =
	    "{\"name\":\"a\",\"settings\":{\"history\":\"previous_response\"}}";
	static const char items[] = "[{\"role\":\"user\",\"content\":\"one\"},"
				    "{\"role\":\"user\",\"content\":\"two\"}]";
	struct paper *w = begin(chained, NULL);
	struct th_err err = { 0 };

	(void)unused;
	for (int task = 0; task < 2; task++) {
		assert_int_equal(th_driver_items_add(w->driver, w->h, th_str_of(items), true, &err),
				 TH_OK);
		paper_settle(w);
		assert_true(w->request->open);
		assert_false(sent(w, "previous_response_id"));
		assert_true(sent(w, "one") && sent(w, "two"));
		assert_int_equal(sent(w, "sunny"), task > 0);
		answer(w, CALL("c1", "weather", "{}"));
		assert_true(sent(w, "\"previous_response_id\":\"resp_1\""));
		assert_true(sent(w, "\"input\":[{\"type\":\"function_call_output\""));
		restart(w, chained); /* the same */
		assert_true(sent(w, "\"previous_response_id\":\"resp_1\""));
		assert_false(sent(w, "two"));
		answer(w, TEXT("done"));
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	}
	paper_free(w);
}

/* The first request names the given response; each later one the answer before. */
static void test_a_session_goes_on_from_a_response(void **unused)
{
	struct paper *w = begin(FROM_RESPONSE, "my task");

	(void)unused;
	paper_settle(w);
	assert_true(sent(w, "\"previous_response_id\":\"resp_given\""));
	assert_true(sent(w, "\"store\":true"));
	assert_true(sent(w, "my task"));
	/* Asking again changes nothing there, so nothing is unknown. */
	restart(w, FROM_RESPONSE);
	assert_true(w->request->open);
	assert_true(sent(w, "\"previous_response_id\":\"resp_given\""));
	answer(w, CALL("c1", "weather", "{}"));
	assert_true(sent(w, "\"previous_response_id\":\"resp_1\""));
	assert_false(sent(w, "my task"));
	assert_true(sent(w, "sunny"));
	/* That answer is gone: all that the log has follows the given response again. */
	paper_refuse(w, w->request, 400, NOT_FOUND);
	assert_true(w->request->open);
	assert_true(sent(w, "\"previous_response_id\":\"resp_given\""));
	assert_true(sent(w, "my task") && sent(w, "sunny"));
	/* And when that is gone, nobody has what was before. */
	paper_refuse(w, w->request, 400, NOT_FOUND);
	assert_false(w->request->open);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), "not found"));
	paper_free(w);
}

/* Who takes over at the same server goes on from the same answer, and so does who gets it back. */
static void test_a_handoff_keeps_what_is_kept(void **unused)
{
	static const char *const settings[] = {
		TEAM("\"conversation\":\"conv_1\""),
		TEAM("\"previous_response_id\":\"resp_given\""),
		TEAM("\"history\":\"previous_response\""),
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(settings); i++) {
		struct paper *w = begin(settings[i], "my task");
		const char *names = i ? "\"previous_response_id\":\"resp_1\"" : "\"conversation\":";

		paper_settle(w);
		answer(w, CALL("c1", "transfer_to_b", "{}"));
		assert_true(sent(w, names));
		assert_false(sent(w, "my task"));
		assert_int_equal(times(w->request->body, "function_call_output"), 1);
		assert_true(sent(w, "assistant\\\": \\\"b"));
		if (i > 0)
			restart(w, settings[i]);
		assert_true(sent(w, names));
		answer(w, CALL("c2", "transfer_to_a", "{}"));
		assert_true(sent(w, names));
		assert_int_equal(times(w->request->body, "function_call_output"), 1);
		paper_free(w);
	}
}

/* Of an agent that keeps nothing there is nothing to go on from, nor of another server. */
static void test_a_handoff_that_knows_nothing(void **unused)
{
	static const char other[] =
	    "{\"name\":\"a\",\"handoffs\":[\"b\"],\"agents\":{\"b\":{\"name\":\"b\",\"settings\":"
	    "{\"history\":\"previous_response\"}}}}";
	struct paper *w = begin(other, "my task");

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_false(sent(w, "previous_response_id"));
	assert_true(sent(w, "my task"));
	paper_free(w);

	w = begin(TEAM("\"history\":\"previous_response\""), "my task");
	paper_settle(w);
	team.session_configs[1].first.base_url = TH_STR("http://elsewhere");
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_false(sent(w, "previous_response_id"));
	assert_true(sent(w, "my task"));
	paper_free(w);
}

/* Refused before anything is asked. */
static void test_what_is_refused_at_the_start(void **unused)
{
	struct paper *w = paper_new();
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_session_config o;
	struct th_err err = { 0 };

	(void)unused;
	o = *dress(w, "{\"name\":\"a\",\"settings\":{\"conversation\":\"c\"},\"guardrails\":[{"
		      "\"name\":\"g\",\"stage\":\"output\"}]}");
	assert_int_equal(paper_create(w, &o, &created, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "settings.conversation cannot be combined with output "
					"guardrails"));
	o = *dress(w, TEAM("\"conversation\":\"c\""));
	assert_int_equal(th_model_resolve(TH_STR("claude-sonnet-4-5"),
					  &team.session_configs[1].first.profile,
					  &team.session_configs[1].first.model, &err),
			 TH_OK);
	assert_int_equal(paper_create(w, &o, &created, &err), TH_EUSAGE);
	assert_non_null(
	    strstr(err.msg, "settings.conversation is for models of the Responses API"));
	assert_int_equal(w->log->count, 0);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_conversation_gets_what_is_new),
		cmocka_unit_test(test_what_is_said_meanwhile),
		cmocka_unit_test(test_items_go_to_the_conversation),
		cmocka_unit_test(test_a_refused_request_is_sent_again),
		cmocka_unit_test(test_a_locked_conversation),
		cmocka_unit_test(test_a_lost_answer_is_unknown),
		cmocka_unit_test(test_a_crash_with_a_request_under_way),
		cmocka_unit_test(test_a_conversation_in_the_background),
		cmocka_unit_test(test_what_was_added_is_sent_with_the_rest),
		cmocka_unit_test(test_a_session_goes_on_from_a_response),
		cmocka_unit_test(test_a_handoff_keeps_what_is_kept),
		cmocka_unit_test(test_a_handoff_that_knows_nothing),
		cmocka_unit_test(test_what_is_refused_at_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
