/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_team.c - the driver with several agents and their code, in a world of
 * paper: what is asked, when, what becomes of the answers, and what a restart
 * asks again.
 */
#include "json_says.h"
#include "team_rig.h"

#define DYNAMIC "{\"name\":\"a\",\"instructions_from\":\"who\"}"

static void test_instructions_are_asked_once_a_turn(void **unused)
{
	struct paper *w = begin(DYNAMIC, "go");

	(void)unused;
	script.says[TH_ASK_INSTRUCTIONS] = "\"Be swift.\"";
	paper_settle(w);
	assert_non_null(strstr(w->request->body, "Be swift."));
	assert_json_text(w->log->list[2].data, "instructions", "Be swift.");
	/* A crash, and another try: the same words, not asked for again. */
	script.says[TH_ASK_INSTRUCTIONS] = "\"Be slow.\"";
	restart(w, DYNAMIC);
	assert_int_equal(script.ask_count, 0);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "Be swift."));
	paper_lose(w, w->request, TH_FAILURE_CUT);
	paper_ring(w);
	assert_int_equal(script.ask_count, 0);
	answer(w, CALL("c1", "weather", "{}"));
	assert_non_null(strstr(w->request->body, "Be slow."));
	/* Those that stay the same are not written again. */
	answer(w, CALL("c2", "weather", "{}"));
	assert_null(strstr(w->log->list[w->log->count - 1].data, "instructions"));
	assert_false(w->early);
	paper_free(w);

	w = begin(DYNAMIC, "go"); /* no such function */
	paper_settle(w);
	assert_false(w->request->open);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	paper_free(w);
}

static void test_guardrails_answer_when_they_like(void **unused)
{
	struct paper *w = begin(CHECKED, "my task");
	struct th_err err = { 0 };

	(void)unused;
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	assert_true(w->request->open);
	assert_int_equal(script.ask_count, 1);
	assert_json_text(script.asks[0].input, "input", "my task");
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 2);
	assert_string_equal(script.asks[1].function, "before");
	code_says(w, 1, false, "false");
	assert_int_equal(w->local_runs, 0); /* the other one has not spoken */
	code_says(w, 0, false, "null");
	assert_int_equal(w->local_runs, 1);
	assert_string_equal(script.asks[2].function, "after");
	assert_non_null(strstr(script.asks[2].input, "sunny"));
	assert_false(w->request->open);
	code_says(w, 2, false, "{\"message\":\"cloudy\"}");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "cloudy"));
	assert_null(strstr(w->request->body, "sunny"));
	answer(w, TEXT("a secret"));
	assert_string_equal(script.asks[3].function, "out");
	/* A crash while it thinks: it is asked again, and only it. */
	restart(w, CHECKED);
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "out");
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and this"), &err), TH_OK);
	paper_settle(w);
	code_says(w, 0, false, "false");
	assert_true(w->request->open); /* what was said meanwhile is read */
	assert_non_null(strstr(w->request->body, "and this"));
	answer(w, TEXT("a secret"));
	code_says(w, 1, true, "it broke"); /* what fails lets nothing through */
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(w->log->list[w->log->count - 1].data, "it broke"));
	code_says(w, 1, false, "false"); /* a ticket that is over */
	/* Nobody sees later what was withheld. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "more"));
	assert_null(strstr(w->request->body,
			   "\"m\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":"
			   "[{\"type\":\"output_text\",\"text\":\"a secret\",\"annotations\":[]}]},"
			   "{\"type\":\"message\",\"role\":\"user\",\"content\":\"more\""));
	assert_false(w->early);
	script.cancels = 0;
	paper_free(w);
}

static void test_a_tripwire_cancels_the_request(void **unused)
{
	struct paper *w = begin(CHECKED, "bad");

	(void)unused;
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	assert_true(w->request->open);
	code_says(w, 0, false, "{\"tripped\":true,\"message\":\"no\"}");
	assert_true(w->cancelled);
	assert_string_equal(paper_kinds(w, 3), "guardrail model_failed error");
	assert_non_null(strstr(w->log->list[5].data, "the guardrail in stopped the run: no"));
	paper_free(w);
}

#define FILTERED                                                                            \
	"{\"name\":\"a\",\"instructions\":\"I am "                                          \
	"a.\",\"handoffs\":[{\"agent\":\"b\",\"filter\":\"cut\"},"                          \
	"{\"agent\":\"c\",\"nest\":true}],\"agents\":{\"b\":{\"instructions\":\"I am b.\"," \
	"\"handoffs\":[\"c\"]},\"c\":{\"instructions\":\"I am c.\"}}}"

static void test_a_filter_says_what_the_next_agent_sees(void **unused)
{
	struct paper *w = begin(FILTERED, "my task");

	(void)unused;
	paper_settle(w);
	assert_non_null(strstr(w->request->body, "I am a."));
	assert_non_null(strstr(w->request->body, "transfer_to_b"));
	answer(w, CALL("c1", "weather", "{}"));
	script.later[TH_ASK_FILTER] = true;
	answer(w, TEXT("over to b") "," CALL("c2", "transfer_to_b", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_non_null(strstr(script.asks[0].input, "assistant\\\": \\\"b"));
	assert_false(w->request->open);
	/* A crash before the answer: it is asked anew. */
	restart(w, FILTERED);
	assert_int_equal(script.ask_count, 1);
	code_says(w, 0, false,
		  "[{\"role\":\"user\",\"content\":\"my task\"},{\"role\":\"user\",\"content\":"
		  "\"be quick\"}]");
	assert_string_equal(paper_kinds(w, w->log->count - 3), "outcome handoff model_requested");
	assert_non_null(strstr(w->log->list[w->log->count - 2].data, "[[2,0],{\"role\""));
	assert_non_null(strstr(w->request->body, "I am b."));
	assert_non_null(strstr(w->request->body, "my task"));
	assert_non_null(strstr(w->request->body, "be quick"));
	assert_null(strstr(w->request->body, "over to b"));
	assert_null(strstr(w->request->body, "weather\",\"arguments"));
	/* A replay makes the same request of the same log. */
	restart(w, FILTERED);
	assert_int_equal(script.ask_count, 0);
	assert_non_null(strstr(w->request->body, "be quick"));
	assert_null(strstr(w->request->body, "over to b"));
	/* And from there on history is the log again. */
	answer(w, CALL("c3", "transfer_to_c", "{}"));
	assert_non_null(strstr(w->request->body, "I am c."));
	assert_non_null(strstr(w->request->body, "be quick"));
	assert_non_null(strstr(w->request->body, "transfer_to_c"));
	answer(w, TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);

	w = begin(FILTERED, "my task");
	paper_settle(w);
	answer(w, CALL("c1", "transfer_to_c", "{}"));
	assert_non_null(strstr(w->request->body, "1. user: my task"));
	assert_non_null(strstr(w->request->body, "</CONVERSATION HISTORY>"));
	paper_free(w);

	w = begin(FILTERED, "my task");
	paper_settle(w);
	script.says[TH_ASK_FILTER] = "\"nope\"";
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_int_equal(paper_fold(w)->agent, 0);
	/* Whoever speaks next has it tried again. */
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"short\"}]";
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(paper_fold(w)->agent, 1);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "short"));
	paper_free(w);
}

#define BACK                                                                                      \
	"{\"name\":\"a\",\"handoffs\":[{\"agent\":\"b\",\"filter\":\"cut\"}],\"agents\":{\"b\":{" \
	"\"handoffs\":[{\"agent\":\"a\",\"filter\":\"cut\"}]}}}"

/* A second one, whose call is not the first item of its answer, names its result by where it is. */
static void test_a_filter_after_a_filter(void **unused)
{
	struct paper *w = begin(BACK, "my task");

	(void)unused;
	paper_settle(w);
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"be quick\"}]";
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_int_equal(paper_fold(w)->agent, 1);
	script.says[TH_ASK_FILTER] = "[" CALL(
	    "c2", "transfer_to_a", "{}") ",{\"type\":"
					 "\"function_call_output\",\"call_id\":\"c2\",\"output\":"
					 "\"{\\\"assistant\\\": \\\"a\\\"}\"}]";
	answer(w, TEXT("back to a") "," CALL("c2", "transfer_to_a", "{}"));
	assert_true(w->request->open);
	assert_int_equal(paper_fold(w)->agent, 0);
	assert_null(strstr(w->request->body, "back to a"));
	restart(w, BACK);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "function_call_output"));
	paper_free(w);
}

/* What was said while the model was asked stands behind its answer, after a restart too. */
static void test_said_while_the_model_is_asked(void **unused)
{
	struct paper *w = begin(BACK, "my task");
	char *body;

	(void)unused;
	paper_settle(w);
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"be quick\"}]";
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_int_equal(
	    th_driver_message(w->driver, w->h, TH_STR("and this"), &(struct th_err){ 0 }), TH_OK);
	paper_settle(w);
	answer(w, TEXT("an answer"));
	assert_true(w->request->open);
	assert_true(strstr(w->request->body, "an answer") < strstr(w->request->body, "and this"));
	body = strdup(w->request->body);
	restart(w, BACK);
	assert_true(w->request->open);
	assert_string_equal(body, w->request->body);
	free(body);
	paper_free(w);
}

/* An output that a guardrail stopped is not seen later, whatever was said meanwhile. */
static void test_a_withheld_output_stays_withheld(void **unused)
{
	static const char plain[] =
	    "{\"name\":\"a\",\"guardrails\":[{\"name\":\"out\",\"stage\":\"output\"}]}";
	struct paper *w = begin(plain, "my task");

	(void)unused;
	paper_settle(w);
	script.says[TH_ASK_GUARDRAIL] = "true";
	assert_int_equal(
	    th_driver_message(w->driver, w->h, TH_STR("and this"), &(struct th_err){ 0 }), TH_OK);
	paper_settle(w);
	answer(w, TEXT("secret"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "and this"));
	assert_null(strstr(w->request->body, "secret"));
	paper_free(w);
}

/* The result of a tool that ended the run, and that an output guardrail refused: later turns read
 * the agent's words, or those of its code, in its place. */
static void test_the_text_of_a_withheld_output(void **unused)
{
#define BLOCKED(more)                                                                    \
	"{\"name\":\"a\",\"tool_use_behavior\":\"stop_on_first_tool\",\"guardrails\":[{" \
	"\"name\":\"out\",\"stage\":\"output\"}]" more "}"
	static const struct {
		const char *agent, *code, *want;
	} rows[] = {
		{ BLOCKED(""), NULL, "Output withheld by an output guardrail." },
		{ BLOCKED(",\"output_withheld\":\"not for you\""), NULL, "not for you" },
		{ BLOCKED(",\"output_withheld\":\"not for you\""), "\"said by code\"",
		  "said by code" },
		{ BLOCKED(""), "7", "Output withheld by an output guardrail." },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct paper *w = begin(rows[i].agent, "my task");

		paper_settle(w);
		script.says[TH_ASK_GUARDRAIL] = "true";
		script.says[TH_ASK_TEXT] = rows[i].code;
		answer(w, CALL("c1", "weather", "{}"));
		assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
		for (size_t k = 0; k < script.ask_count; k++)
			if (script.asks[k].kind == TH_ASK_TEXT)
				assert_null(strstr(script.asks[k].input, "sunny"));
		for (int again = 0; again < 2; again++) {
			if (again)
				restart(w, rows[i].agent);
			else
				assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"),
								   &(struct th_err){ 0 }),
						 TH_OK);
			paper_settle(w);
			assert_true(w->request->open);
			assert_non_null(strstr(w->request->body, rows[i].want));
			assert_null(strstr(w->request->body, "sunny"));
		}
		paper_free(w);
	}
}

/* Nor is a tool's output that one stopped; its call is, with what became of it. */
static void test_a_refused_result_stays_withheld(void **unused)
{
	static const char plain[] =
	    "{\"name\":\"a\",\"guardrails\":[{\"name\":\"res\",\"stage\":\"tool_output\"}]}";
	struct paper *w = begin(plain, "my task");

	(void)unused;
	paper_settle(w);
	script.says[TH_ASK_GUARDRAIL] = "true";
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	assert_int_equal(times(w->request->body, "\"function_call_output\""), 1);
	assert_non_null(strstr(w->request->body, "withheld by a guardrail"));
	assert_null(strstr(w->request->body, "sunny"));
	paper_free(w);
}

/* Verdicts that come at once with each other: the second takes back what the first made due. */
static void test_a_trip_behind_the_last_result(void **unused)
{
	static const char plain[] =
	    "{\"name\":\"a\",\"guardrails\":[{\"name\":\"in\",\"stage\":\"input\"},"
	    "{\"name\":\"res\",\"stage\":\"tool_output\"}]}";
	struct paper *w = begin(plain, NULL);

	(void)unused;
	team.row.spec.class = TH_CLASS_R; /* which need not wait for the input's guardrail */
	script.later[TH_ASK_GUARDRAIL] = true;
	assert_int_equal(
	    th_driver_message(w->driver, w->h, TH_STR("my task"), &(struct th_err){ 0 }), TH_OK);
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 2);
	script.later[TH_ASK_GUARDRAIL] = false;
	script.says[TH_ASK_GUARDRAIL] = "false";
	script.trips = "in";
	restart(w, plain);
	assert_string_equal(paper_kinds(w, w->log->count - 3), "guardrail guardrail error");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	paper_free(w);
}

static void forget_last(struct paper *w, size_t count)
{
	for (; count > 0; count--) {
		free(w->log->list[--w->log->count].call);
		free(w->log->list[w->log->count].data);
	}
}

/* As a fork may: the result of the call is there, and the handoff is not. */
static void test_a_log_that_ends_within_a_handoff(void **unused)
{
	struct paper *w = begin(FILTERED, "my task");
	size_t count;

	(void)unused;
	paper_settle(w);
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"be quick\"}]";
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	forget_last(w, 2);
	count = w->log->count;
	restart(w, FILTERED);
	assert_string_equal(paper_kinds(w, count - 1), "outcome handoff model_requested");
	assert_int_equal(script.ask_count, 1);
	/* Once among all items, once among those of the turn. */
	assert_int_equal(times(script.asks[0].input, "function_call_output"), 2);
	assert_non_null(strstr(w->request->body, "I am b."));
	assert_non_null(strstr(w->request->body, "be quick"));
	answer(w, CALL("c2", "transfer_to_c", "{}")); /* neither filter nor summary */
	forget_last(w, 2);
	count = w->log->count;
	restart(w, FILTERED);
	assert_string_equal(paper_kinds(w, count - 1), "outcome handoff model_requested");
	assert_non_null(strstr(w->request->body, "I am c."));
	assert_int_equal(times(w->request->body, "function_call_output"), 1);
	paper_free(w);
}

#define NESTED                                                                            \
	"{\"name\":\"a\",\"handoffs\":[\"b\"],\"nest_history\":true,\"agents\":{\"b\":{"  \
	"\"handoffs\":[\"c\"],\"nest_history\":true},\"c\":{\"handoffs\":[\"a\"],\"nest_" \
	"history\":"                                                                      \
	"true,\"history_mapper\":\"own\"}}}"

/* What a handoff told the next agent is told again after a restart, the same to the byte. */
static void restart_is_the_same(struct paper *w, const char *definition)
{
	char *body = strdup(w->request->body);

	assert_true(w->request->open);
	restart(w, definition);
	assert_true(w->request->open);
	assert_string_equal(body, w->request->body);
	free(body);
}

static void test_a_nested_history(void **unused)
{
	struct paper *w = begin(NESTED, "my task");
	char *handoff;
	size_t count;

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	answer(w, TEXT("over to b") "," CALL("c2", "transfer_to_b", "{}"));
	assert_non_null(strstr(w->request->body, "1. user: my task\\n2. {"));
	assert_int_equal(times(w->request->body, "<CONVERSATION HISTORY>"), 2);
	assert_int_equal(times(w->request->body, "over to b"), 1);
	/* What is forwarded is named, not copied. */
	assert_null(strstr(last_data(w, TH_EV_HANDOFF), "over to b"));
	assert_null(strstr(last_data(w, TH_EV_HANDOFF), "run_items"));
	/* As a fork may, the log ends between the call's result and the handoff. */
	handoff = strdup(last_data(w, TH_EV_HANDOFF));
	forget_last(w, 2);
	count = w->log->count;
	restart(w, NESTED);
	assert_string_equal(paper_kinds(w, count), "handoff model_requested");
	assert_string_equal(last_data(w, TH_EV_HANDOFF), handoff);
	free(handoff);
	restart_is_the_same(w, NESTED);
	/* The next one tells of it record by record. */
	assert_int_equal(
	    th_driver_message(w->driver, w->h, TH_STR("and this"), &(struct th_err){ 0 }), TH_OK);
	paper_settle(w);
	answer(w, CALL("c3", "weather", "{}"));
	answer(w, CALL("c4", "transfer_to_c", "{}"));
	assert_non_null(strstr(w->request->body, "1. user: my task\\n2. {"));
	assert_null(strstr(w->request->body, "1. For context"));
	assert_int_equal(times(w->request->body, "<CONVERSATION HISTORY>"), 2);
	assert_int_equal(times(w->request->body, "\"content\":\"and this\""), 1);
	restart_is_the_same(w, NESTED);
	answer(w, TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	/* The next task goes on from there. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(times(w->request->body, "<CONVERSATION HISTORY>"), 2);
	restart_is_the_same(w, NESTED);
	paper_free(w);
}

static void test_a_history_in_a_form_of_ones_own(void **unused)
{
	struct paper *w = begin(NESTED, "my task");

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	answer(w, CALL("c2", "transfer_to_c", "{}"));
	script.later[TH_ASK_FILTER] = true;
	script.ask_count = 0;
	answer(w, TEXT("back to a") "," CALL("c3", "transfer_to_a", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "own");
	assert_json_text(script.asks[0].input, "from", "c");
	assert_json_text(script.asks[0].input, "to", "a");
	assert_json(script.asks[0].input, "items.0", "{\"role\":\"user\",\"content\":\"my task\"}");
	assert_non_null(strstr(script.asks[0].input, "back to a"));
	assert_null(strstr(script.asks[0].input, "CONVERSATION HISTORY"));
	restart(w, NESTED); /* it is asked anew */
	assert_int_equal(script.ask_count, 1);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"so far\"}]");
	assert_int_equal(paper_fold(w)->agent, 0);
	assert_non_null(strstr(w->request->body, "so far"));
	assert_null(strstr(w->request->body, "my task"));
	restart_is_the_same(w, NESTED);
	assert_int_equal(script.ask_count, 0);
	paper_free(w);

	w = begin(NESTED, "my task");
	paper_settle(w);
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	answer(w, CALL("c2", "transfer_to_c", "{}"));
	script.says[TH_ASK_FILTER] = "{\"new\":1}";
	answer(w, CALL("c3", "transfer_to_a", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_int_equal(paper_fold(w)->agent, 2);
	paper_free(w);
}

/* A filter that answers in parts says what the next handoff's parts are. */
static void test_a_filter_of_parts(void **unused)
{
	struct paper *w = begin(BACK, "my task");

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	script.says[TH_ASK_FILTER] = "{\"input_history\":\"be quick\"}";
	answer(w, CALL("c2", "transfer_to_b", "{}"));
	assert_non_null(strstr(script.asks[0].input, "\"run_context\":{\"turn\":2,\"usage\":{"));
	assert_json(last_data(w, TH_EV_HANDOFF), "run_items", "4");
	assert_null(strstr(w->request->body, "my task"));
	assert_non_null(strstr(w->request->body, "be quick"));
	restart_is_the_same(w, BACK);
	script.ask_count = 0;
	script.says[TH_ASK_FILTER] = "{\"new_items\":[]}";
	answer(w, CALL("c3", "transfer_to_a", "{}"));
	assert_non_null(strstr(script.asks[0].input,
			       "\"input_history\":[{\"role\":\"user\",\"content\":\"be quick\"}],"
			       "\"pre_handoff_items\":[{"));
	assert_int_equal(times(w->request->body, "\"function_call_output\""), 2);
	restart_is_the_same(w, BACK);
	paper_free(w);
}

static void test_each_request_may_be_filtered(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct paper *w = begin(plain, "one");

	(void)unused;
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"one\"}]";
	paper_settle(w);
	assert_true(w->request->open);
	answer(w, TEXT("yes"));
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"two\"}]";
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
	assert_null(strstr(w->request->body, "one"));
	assert_non_null(strstr(w->request->body, "two"));
	restart(w, plain);
	assert_null(strstr(w->request->body, "one"));
	assert_non_null(strstr(w->request->body, "two"));
	paper_free(w);
}

/* A filter answers about what it was shown: where more was said since, it is asked again. */
static void test_what_is_said_while_a_filter_thinks(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct th_model_end busy = { .failure = TH_FAILURE_OVERLOADED, .hints = { -1, -1 } };
	struct paper *w = begin(plain, "one");
	struct th_err err = { 0 };

	(void)unused;
	script.later[TH_ASK_FILTER] = true;
	paper_settle(w);
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	paper_settle(w);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_false(w->request->open);
	assert_int_equal(script.ask_count, 2);
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"two\"}]");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "two"));
	/* And between two tries; a mere try asks nothing. */
	paper_lose(w, w->request, TH_FAILURE_OVERLOADED);
	paper_ring(w);
	assert_true(w->request->open);
	assert_int_equal(script.ask_count, 2);
	assert_true(paper_reply(w, w->request, TH_STR(""), &busy));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("three"), &err), TH_OK);
	paper_settle(w);
	paper_ring(w);
	assert_false(w->request->open);
	assert_int_equal(script.ask_count, 3);
	assert_non_null(strstr(script.asks[2].input, "three"));
	paper_free(w);

	/* The next agent hears of it, too. */
	w = begin(FILTERED, "one");
	paper_settle(w);
	script.later[TH_ASK_FILTER] = true;
	answer(w, CALL("c1", "transfer_to_b", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	paper_settle(w);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_int_equal(script.ask_count, 2);
	assert_non_null(strstr(script.asks[1].input, "two"));
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"two\"}]");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "two"));
	paper_free(w);
}

/* A request that is made once more after a crash waits for what is said with it to be durable. */
static void test_what_is_said_before_a_request_is_made_once_more(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct paper *w = begin(plain, "one");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"one\"}]";
	paper_settle(w);
	assert_true(w->request->open);
	/* Said before the resume. */
	reopen(w, plain);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	assert_int_equal(script.ask_count, 1);
	assert_non_null(strstr(script.asks[0].input, "two"));
	/* Said while the filter thinks, which answers before that is durable. */
	script.later[TH_ASK_FILTER] = true;
	restart(w, plain);
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("three"), &err), TH_OK);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_int_equal(script.ask_count, 2);
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"three\"}]");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "three"));
	assert_false(w->early);
	answer(w, TEXT("yes"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* Paused and resumed with a request under way: it is made again, once. */
static void test_a_filtered_request_is_paused(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct paper *w = begin(plain, "one");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"one\"}]";
	paper_settle(w);
	assert_true(w->request->open);
	for (int at_once = 0; at_once < 2; at_once++) {
		size_t count = w->log->count;

		assert_int_equal(
		    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("p"), &err),
		    TH_OK);
		if (!at_once)
			paper_settle(w);
		assert_false(w->request->open);
		assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
		paper_settle(w);
		assert_true(w->request->open);
		assert_string_equal(paper_kinds(w, count),
				    "state_changed model_failed state_changed model_requested");
	}
	/* The same while the filter thinks about a request that is made once more. */
	script.later[TH_ASK_FILTER] = true;
	restart(w, plain);
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("p"), &err),
			 TH_OK);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(script.ask_count, 2);
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_true(w->request->open);
	paper_free(w);
}

/* A request that waits for one event, and then for the next, beside other things that wait. */
static void test_a_filtered_request_waits_again(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\","
				    "\"guardrails\":[{\"name\":\"in\",\"stage\":\"input\"}]}";
	struct paper *w = begin(plain, "one");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"one\"}]";
	script.later[TH_ASK_GUARDRAIL] = true;
	w->flush = false;
	th_driver_flush(w->driver);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	paper_commit(w); /* the first of the two */
	assert_int_equal(script.ask_count, 1);
	paper_settle(w);
	/* It would send the second message, and nobody has looked at that. */
	assert_int_equal(script.ask_count, 1);
	assert_false(w->request->open);
	code_says(w, 0, false, "false");
	assert_int_equal(script.ask_count, 3);
	if (!team_log_beside) /* then it waits for its log, too */
		assert_string_equal(script.asks[2].function, "in");
	assert_true(w->request->open);
	paper_free(w);
}

#define LOOKS                                                                      \
	"{\"name\":\"a\",\"guardrails\":[{\"name\":\"first\",\"stage\":\"input\"," \
	"\"blocking\":true},{\"name\":\"beside\",\"stage\":\"input\"}]}"

static void say(struct paper *w, const char *text)
{
	assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(text), &(struct th_err){ 0 }),
			 TH_OK);
	paper_settle(w);
}

/* A run whose first call has its result, while a request is under way and nobody looks. */
static struct paper *begin_looked_at(void)
{
	struct paper *w = begin(LOOKS, "my task");

	script.says[TH_ASK_GUARDRAIL] = "false";
	paper_settle(w);
	assert_int_equal(script.ask_count, 2);
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(w->local_runs, 1);
	assert_int_equal(script.ask_count, 2);
	assert_true(w->request->open);
	return w;
}

/* Each look is asked for once, crash or no crash, and its verdict says what it was about. */
static void test_what_is_said_in_a_run_is_looked_at(void **unused)
{
	struct paper *w = begin_looked_at();
	size_t count;

	(void)unused;
	script.later[TH_ASK_GUARDRAIL] = true;
	say(w, "and \\\"this\\\"");
	say(w, "and that");
	assert_int_equal(script.ask_count, 2);
	answer(w, CALL("c2", "weather", "{}"));
	assert_int_equal(w->local_runs, 2); /* it has not read them */
	assert_false(w->request->open);
	assert_int_equal(script.ask_count, 3);
	assert_string_equal(script.asks[2].function, "first");
	assert_json_text(script.asks[2].input, "input", "and \\\"this\\\"\n\nand that");
	restart(w, LOOKS); /* nobody has answered */
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "first");
	count = w->log->count;
	code_says(w, 0, false, "false");
	assert_string_equal(paper_kinds(w, count), "guardrail model_requested");
	assert_json(w->log->list[count].data, "after", "2");
	assert_non_null(strstr(w->request->body, "and that"));
	assert_int_equal(script.ask_count, 2);
	assert_string_equal(script.asks[1].function, "beside");
	restart(w, LOOKS); /* one has */
	assert_int_equal(script.ask_count, 1);
	assert_string_equal(script.asks[0].function, "beside");
	answer(w, CALL("c3", "weather", "{}"));
	assert_int_equal(w->local_runs, 2); /* no effect before it has, too */
	code_says(w, 0, false, "null");
	assert_int_equal(w->local_runs, 3);
	restart(w, LOOKS);
	assert_int_equal(script.ask_count, 0);
	answer(w, TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(script.ask_count, 0);
	assert_false(w->early);
	paper_free(w);
}

/* Nobody waits for the answer of a process that died, and what was said meanwhile would be sent. */
static void test_a_request_that_would_be_made_again_is_looked_at(void **unused)
{
	struct paper *w = begin_looked_at();
	size_t count;

	(void)unused;
	say(w, "a secret");
	count = w->log->count;
	script.trips = "first";
	restart(w, LOOKS);
	assert_string_equal(paper_kinds(w, count), "model_failed guardrail error");
	assert_false(w->request->open);
	paper_free(w);

	/* Said after the restart, before a filter has answered. */
	w = begin("{\"name\":\"a\",\"input_filter\":\"f\",\"guardrails\":[{\"name\":\"in\","
		  "\"stage\":\"input\"}]}",
		  "my task");
	script.says[TH_ASK_GUARDRAIL] = "false";
	script.says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"x\"}]";
	paper_settle(w);
	assert_true(w->request->open);
	script.later[TH_ASK_FILTER] = true;
	restart(w, "{\"name\":\"a\",\"input_filter\":\"f\",\"guardrails\":[{\"name\":\"in\","
		   "\"stage\":\"input\"}]}");
	assert_int_equal(script.ask_count, 1);
	count = w->log->count;
	say(w, "more");
	script.later[TH_ASK_FILTER] = false;
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"x\"}]");
	assert_string_equal(paper_kinds(w, count),
			    team_log_beside ? "message model_failed guardrail model_requested"
					    : "message model_failed model_requested guardrail");
	assert_true(w->request->open);
	paper_free(w);
}

/* A later task sees what was done before, and not what was answered to what was refused. */
static void test_what_is_said_in_a_run_may_end_it(void **unused)
{
	struct paper *w = begin_looked_at();

	(void)unused;
	say(w, "a secret");
	script.later[TH_ASK_GUARDRAIL] = true;
	answer(w, TEXT("so far so good"));
	code_says(w, 2, false, "false");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "so far so good"));
	answer(w, TEXT("the secret is out"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	code_says(w, 3, false, "{\"tripped\":true,\"message\":\"hush\"}");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(
	    strstr(last_data(w, TH_EV_ERROR), "the guardrail beside stopped the run: hush"));
	script.later[TH_ASK_GUARDRAIL] = false;
	say(w, "again");
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "sunny"));
	assert_non_null(strstr(w->request->body, "so far so good"));
	assert_null(strstr(w->request->body, "the secret is out"));
	paper_free(w);
}

/* More than one can be asked about at once lets nothing through. */
static void test_too_much_is_said(void **unused)
{
	struct paper *w = begin_looked_at();
	char *text = malloc(TH_MESSAGE_MAX);

	(void)unused;
	memset(text, 'x', TH_MESSAGE_MAX);
	for (size_t size = 0; size <= TH_GUARD_INPUT_MAX; size += TH_MESSAGE_MAX)
		assert_int_equal(th_driver_message(w->driver, w->h, th_str_n(text, TH_MESSAGE_MAX),
						   &(struct th_err){ 0 }),
				 TH_OK);
	paper_settle(w);
	answer(w, TEXT("so far so good"));
	assert_int_equal(script.ask_count, 2);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(last_data(w, TH_EV_ERROR), "what was said is larger than 50331648"));
	free(text);
	paper_free(w);
}

static void test_what_follows_a_tool_waits_for_the_resume(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"tool_use_behavior\":{\"code\":\"f\"}}", "go");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	script.later[TH_ASK_TOOL_USE] = true;
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	code_says(w, 0, true, "it broke");
	assert_int_equal(paper_fold(w)->state, TH_STATE_PAUSED);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(script.ask_count, 2);
	code_says(w, 1, false, "null");
	assert_true(w->request->open);
	paper_free(w);
}

static void test_items_are_history(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"history_items\":2}", NULL);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(
	    th_driver_items_add(
		w->driver, w->h,
		TH_STR("[{\"role\":\"user\",\"content\":\"oldest\"},"
		       "{\"type\":\"function_call\",\"call_id\":\"z\",\"name\":\"f\",\"arguments\":"
		       "\"{}\"},"
		       "{\"type\":\"function_call_output\",\"call_id\":\"z\",\"output\":\"r\"},"
		       "{\"role\":\"assistant\",\"content\":\"before\"},"
		       "{\"role\":\"user\",\"content\":\"taken back\"}]"),
		false, &err),
	    TH_OK);
	assert_int_equal(th_driver_items_add(w->driver, w->h, TH_STR("[{\"x\":1}]"), false, &err),
			 TH_EPROTO);
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 1, &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("now"), &err), TH_OK);
	paper_settle(w);
	/* Two of before: the result whose call is not there any more goes, too. */
	assert_null(strstr(w->request->body, "oldest"));
	assert_null(strstr(w->request->body, "taken back"));
	assert_null(strstr(w->request->body, "function_call"));
	assert_non_null(strstr(w->request->body, "before"));
	assert_non_null(strstr(w->request->body, "now"));
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 0, &err), TH_EPROTO);
	answer(w, TEXT("done"));
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 0, &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("anew"), &err), TH_OK);
	paper_settle(w);
	assert_null(strstr(w->request->body, "now"));
	paper_free(w);
}

#define ENDS "{\"name\":\"a\",\"tool_use_behavior\":{\"stop_at\":[\"weather\"]}}"

/* Where a tool is the last of its answer, what stands behind it does not run; and where it ends
 * nothing, it is a tool as others. */
static void test_nothing_behind_the_end(void **unused)
{
	static const struct {
		const char *agent;
		bool last, runs;
	} cases[] = { { ENDS, true, false },
		      { ENDS, false, true },
		      { "{\"name\":\"a\"}", true, true } };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct paper *w = begin(cases[i].agent, "go");

		team.row.spec.last = cases[i].last;
		paper_settle(w);
		answer(w, CALL("c1", "weather", "{}") "," CALL("c2", "weather", "{}"));
		paper_settle(w);
		assert_int_equal(paper_count(w->log, TH_EV_OUTCOME), 2);
		assert_int_equal(paper_count(w->log, TH_EV_INTENT), cases[i].runs ? 2 : 1);
		if (!cases[i].runs)
			assert_non_null(
			    strstr(paper_last(w->log, TH_EV_CALL),
				   "a call before it in the same answer ended the task"));
		assert_int_equal(paper_count(w->log, TH_EV_FINAL),
				 strcmp(cases[i].agent, ENDS) == 0);
		paper_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_behind_the_end),
		cmocka_unit_test(test_instructions_are_asked_once_a_turn),
		cmocka_unit_test(test_guardrails_answer_when_they_like),
		cmocka_unit_test(test_a_tripwire_cancels_the_request),
		cmocka_unit_test(test_a_filter_says_what_the_next_agent_sees),
		cmocka_unit_test(test_a_filter_after_a_filter),
		cmocka_unit_test(test_a_trip_behind_the_last_result),
		cmocka_unit_test(test_said_while_the_model_is_asked),
		cmocka_unit_test(test_a_withheld_output_stays_withheld),
		cmocka_unit_test(test_the_text_of_a_withheld_output),
		cmocka_unit_test(test_a_refused_result_stays_withheld),
		cmocka_unit_test(test_a_log_that_ends_within_a_handoff),
		cmocka_unit_test(test_a_nested_history),
		cmocka_unit_test(test_a_history_in_a_form_of_ones_own),
		cmocka_unit_test(test_a_filter_of_parts),
		cmocka_unit_test(test_each_request_may_be_filtered),
		cmocka_unit_test(test_what_is_said_while_a_filter_thinks),
		cmocka_unit_test(test_what_is_said_before_a_request_is_made_once_more),
		cmocka_unit_test(test_a_filtered_request_is_paused),
		cmocka_unit_test(test_a_filtered_request_waits_again),
		cmocka_unit_test(test_what_is_said_in_a_run_is_looked_at),
		cmocka_unit_test(test_a_request_that_would_be_made_again_is_looked_at),
		cmocka_unit_test(test_what_is_said_in_a_run_may_end_it),
		cmocka_unit_test(test_too_much_is_said),
		cmocka_unit_test(test_what_follows_a_tool_waits_for_the_resume),
		cmocka_unit_test(test_items_are_history),
	};

	int failed;

	RUN_BOTH_WAYS(failed, tests);
	return failed;
}
