/* SPDX-License-Identifier: Apache-2.0 */
/* What a history that is made anew keeps: the same as the one that grew with the log. */
#include "transcript_rig.h"

/* Only calls that can have an outcome go for want of one. */
static void test_prune(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("do it") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("compUter_call", "a") "," CALL(
					    "function_call", "b") "," CALL("shell_call", "c")) },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	th_transcript_prune(&transcript);
	assert_int_equal(transcript.count, 2);
	assert_true(th_str_is(transcript.list[1].call_id, "a"));
	th_transcript_deinit(&transcript);
}

/* A call that the task before left behind has its result where its answer is, whatever becomes of
 * what was said then. */
static void test_left_behind(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("first") },
		{ TH_EV_MODEL_ANSWERED,
		  ANSWER(CALL("function_call", "a") "," CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_ERROR, "{\"class\":\"code\",\"message\":\"it broke\"}" },
		{ TH_EV_MESSAGE, SAYS("second") },
		{ TH_EV_GUARDRAIL, "{\"name\":\"in\",\"stage\":\"input\",\"tripped\":true}" },
		{ TH_EV_OUTCOME, OUTCOME("b") },
	};
	const struct line late[] = { lines[0], lines[1], lines[2], lines[3],
				     lines[4], lines[6], lines[5] };
	const struct line *const both[] = { lines, late };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(both); i++) {
		struct th_transcript transcript;

		fill(&transcript, TH_COUNT(lines), both[i]);
		th_transcript_prune(&transcript);
		assert_int_equal(transcript.count, 6);
		assert_int_equal(transcript.list[3].kind, TH_TRANSCRIPT_RESULT);
		assert_int_equal(transcript.list[4].kind, TH_TRANSCRIPT_RESULT);
		assert_true(th_str_is(transcript.list[4].call_id, "b"));
		assert_int_equal(transcript.list[5].kind, TH_TRANSCRIPT_MESSAGE);
		th_transcript_deinit(&transcript);
	}
}

/* Of what was said during a run, only what was answered to that is forgotten. */
static void test_said_in_a_run_and_refused(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("first") },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}" },
		{ TH_EV_MESSAGE, SAYS("meanwhile") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":2,\"attempt\":1}" },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "b")) },
		{ TH_EV_GUARDRAIL,
		  "{\"name\":\"in\",\"stage\":\"input\",\"tripped\":true,\"after\":1}" },
		{ TH_EV_OUTCOME, OUTCOME("b") },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	th_transcript_prune(&transcript);
	assert_int_equal(transcript.count, 4);
	assert_true(th_str_is(transcript.list[1].call_id, "a"));
	assert_int_equal(transcript.list[2].kind, TH_TRANSCRIPT_RESULT);
	assert_int_equal(transcript.list[3].seq, 3);
	th_transcript_deinit(&transcript);
}

/* What was refused is not sent with what is said next; who lets its task go on has it back. */
static void test_refused(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("fine") },
		{ TH_EV_FINAL, "{\"output\":\"ok\"}" },
		{ TH_EV_MESSAGE, SAYS("bad") },
		{ TH_EV_GUARDRAIL, "{\"name\":\"in\",\"stage\":\"input\",\"tripped\":true}" },
		{ TH_EV_ERROR, "{\"class\":\"input_guardrail\",\"message\":\"no\"}" },
		{ TH_EV_MESSAGE, SAYS("again") },
	};
	static const struct line goes_on = { TH_EV_STATE_CHANGED, "{\"to\":\"running\"}" };
	struct line let[TH_COUNT(lines) + 1];
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines) - 1, lines);
	assert_int_equal(transcript.count, 2); /* as long as that may be its task */
	th_transcript_deinit(&transcript);
	fill(&transcript, TH_COUNT(lines), lines);
	assert_int_equal(transcript.count, 2);
	assert_int_equal(transcript.list[0].seq, 1);
	assert_int_equal(transcript.list[1].seq, 6);
	th_transcript_deinit(&transcript);
	memcpy(let, lines, sizeof(lines));
	let[5] = goes_on;
	let[6] = lines[5];
	fill(&transcript, TH_COUNT(let), let);
	assert_int_equal(transcript.count, 3);
	th_transcript_deinit(&transcript);
}

/* A call that its answer has twice has one result, and is there once. */
static void test_twice(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("go") },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}" },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "a") "," CALL(
					    "function_call", "a") "," CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ TH_EV_OUTCOME, OUTCOME("a") },
	};
	static const char *const ids[] = { "", "a", "b", "a", "b" };
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	assert_int_equal(transcript.count, TH_COUNT(ids));
	for (size_t i = 0; i < TH_COUNT(ids); i++)
		assert_true(th_str_is(transcript.list[i].call_id, ids[i]));
	assert_int_equal(transcript.list[2].index, 2); /* named as the log has it */
	th_transcript_deinit(&transcript);
}

/* Only the plan says what is a duplicate: an item with the id of a call may be something else. */
static void test_same_id(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("go") },
		{ TH_EV_MODEL_REQUESTED, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}" },
		{ TH_EV_MODEL_ANSWERED,
		  ANSWER(CALL("web_call", "a") "," CALL("web_call_output", "a") "," CALL(
		      "function_call", "b") "," CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
	};
	static const enum th_transcript_kind kinds[] = { TH_TRANSCRIPT_MESSAGE,
							 TH_TRANSCRIPT_OUTPUT, TH_TRANSCRIPT_RESULT,
							 TH_TRANSCRIPT_OUTPUT,
							 TH_TRANSCRIPT_RESULT };
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	assert_int_equal(transcript.count, TH_COUNT(kinds));
	for (size_t i = 0; i < TH_COUNT(kinds); i++)
		assert_int_equal(transcript.list[i].kind, kinds[i]);
	th_transcript_deinit(&transcript);
}

/* A call knows that the reasoning before it is gone, whatever took it. */
static void test_bare(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MODEL_ANSWERED,
		  ANSWER("{\"type\":\"reasoning\"}," CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_FINAL, "{\"output\":\"a\"}" },
		{ TH_EV_MESSAGE, SAYS("more") },
		{ TH_EV_HANDOFF, "{\"history\":[[1,1],[2,1],[4,0]]}" },
		{ TH_EV_HANDOFF, "{\"history\":[[1,1],[2,1],[4,0]]}" },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, 4, lines);
	assert_int_equal(transcript.count, 4);
	assert_false(transcript.list[1].bare);
	th_transcript_limit(&transcript, 2);
	assert_int_equal(transcript.count, 3);
	assert_true(transcript.list[0].bare);
	th_transcript_deinit(&transcript);
	for (size_t count = 5; count <= 6; count++) { /* once, and from what is left */
		fill(&transcript, count, lines);
		assert_int_equal(transcript.count, 3);
		assert_true(transcript.list[0].bare);
		th_transcript_deinit(&transcript);
	}
}

/* What the run began with, what it brought, and its last turn. */
static void test_parts(void **state)
{
	static const struct {
		size_t run_at, turn_at;
		struct line lines[12];
	} cases[] = {
		{ 1, 1, { { TH_EV_MESSAGE, SAYS("do it") } } },
		{ 1,
		  1,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("a") "," CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") } } },
		/* What is said while the model is asked is of the run, and of the turn. */
		{ 2,
		  5,
		  { { TH_EV_MESSAGE, SAYS("old") },
		    { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MESSAGE, SAYS("and this") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) } } },
		/* A person was asked: what the model said was before that. */
		{ 1,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("a") "," CALL("function_call", "1")) },
		    { TH_EV_APPROVAL_DECIDED, "{}" },
		    { TH_EV_OUTCOME, OUTCOME("1") } } },
		{ 1,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("a") "," CALL("function_call", "1")) },
		    { TH_EV_DELEGATION_WAITS, "~{}" },
		    { TH_EV_OUTCOME, OUTCOME("1") } } },
		{ 1,
		  1,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("a") "," CALL("function_call", "1")) },
		    { TH_EV_APPROVAL_DECIDED, "~{}" },
		    { TH_EV_OUTCOME, OUTCOME("1") } } },
		/* The next task begins with all of it. */
		{ 3,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("a")) },
		    { TH_EV_FINAL, "{\"output\":\"a\"}" },
		    { TH_EV_MESSAGE, SAYS("more") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) } } },
		/* A handoff says how much of what it leaves is the run's own; nothing is the
		   default. */
		{ 3,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") },
		    { TH_EV_HANDOFF, "{\"history\":[[1,0],[2,0],[3,0]]}" },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) } } },
		{ 1,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") },
		    { TH_EV_HANDOFF, "{\"history\":[[1,0],[2,0],[3,0]],\"run_items\":2}" },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) } } },
		{ 0,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") },
		    { TH_EV_HANDOFF, "{\"history\":[[1,0],[2,0],[3,0]],\"run_items\":4}" },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) } } },
		/* What stands for a history that has become too long is of before. */
		{ 1,
		  3,
		  { { TH_EV_MESSAGE, SAYS("do it") },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		    { TH_EV_OUTCOME, OUTCOME("1") },
		    { TH_EV_CONDENSATION,
		      "{\"history\":[{\"role\":\"user\",\"content\":\"so far\"},[2,0],[3,0]]}" },
		    { TH_EV_MODEL_REQUESTED, "{}" },
		    { TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) } } },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_transcript transcript;
		size_t count = 0;

		while (count < 12 && cases[i].lines[count].data)
			count++;
		fill(&transcript, count, cases[i].lines);
		if (th_transcript_run_at(&transcript) != cases[i].run_at ||
		    th_transcript_turn_at(&transcript) != cases[i].turn_at)
			fail_msg("case %zu: %zu, %zu", i, th_transcript_run_at(&transcript),
				 th_transcript_turn_at(&transcript));
		th_transcript_deinit(&transcript);
	}
}

/* What goes of before takes the parts with it. */
static void test_parts_that_lose_items(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "0")) },
		{ TH_EV_ERROR, "{\"class\":\"code\",\"message\":\"it broke\"}" },
		{ TH_EV_MESSAGE, SAYS("two") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "1")) },
		{ TH_EV_OUTCOME, OUTCOME("1") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "2")) },
		{ TH_EV_OUTCOME, OUTCOME("2") },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	assert_int_equal(th_transcript_run_at(&transcript), 3);
	assert_int_equal(th_transcript_turn_at(&transcript), 5);
	th_transcript_prune(&transcript);
	assert_int_equal(th_transcript_run_at(&transcript), 2);
	assert_int_equal(th_transcript_turn_at(&transcript), 4);
	th_transcript_limit(&transcript, 0);
	assert_int_equal(th_transcript_run_at(&transcript), 1);
	assert_int_equal(th_transcript_turn_at(&transcript), 3);
	th_transcript_deinit(&transcript);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_said_in_a_run_and_refused),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_same_id),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_parts_that_lose_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
