/* SPDX-License-Identifier: Apache-2.0 */
/* What a history that is made anew keeps: the same as the one that grew with the log. */
#include "unit.h"

#include "core/past.h"

struct line {
	enum th_event_kind kind;
	const char *data;
};

static void fill(struct th_past *past, size_t count, const struct line lines[])
{
	struct th_err err;

	th_past_init(past, true);
	for (size_t i = 0; i < count; i++) {
		const struct th_event ev = { .seq = i + 1,
					     .kind = lines[i].kind,
					     .cause = 3, /* verdicts' */
					     .data = th_str_of(lines[i].data) };

		assert_int_equal(th_past_add(past, &ev, &err), TH_OK);
	}
	th_past_prune(past);
}

#define CALL(type, id) "{\"type\":\"" type "\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define SAYS(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ANSWER(items) "{\"status\":\"completed\",\"items\":[" items "]}"
#define OUTCOME(id) "{\"call_id\":\"" id "\",\"status\":\"done\",\"output\":\"ok\"}"

/* Only calls that can have an outcome go for want of one. */
static void test_prune(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("do it") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("compUter_call", "a") "," CALL(
					    "function_call", "b") "," CALL("shell_call", "c")) },
	};
	struct th_past past;

	(void)state;
	fill(&past, TH_COUNT(lines), lines);
	assert_int_equal(past.count, 2);
	assert_true(th_str_is(past.list[1].call_id, "a"));
	th_past_deinit(&past);
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
		struct th_past past;

		fill(&past, TH_COUNT(lines), both[i]);
		assert_int_equal(past.count, 6);
		assert_int_equal(past.list[3].kind, TH_PAST_RESULT);
		assert_int_equal(past.list[4].kind, TH_PAST_RESULT);
		assert_true(th_str_is(past.list[4].call_id, "b"));
		assert_int_equal(past.list[5].kind, TH_PAST_MESSAGE);
		th_past_deinit(&past);
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
	struct th_past past;

	(void)state;
	fill(&past, TH_COUNT(lines), lines);
	assert_int_equal(past.count, 4);
	assert_true(th_str_is(past.list[1].call_id, "a"));
	assert_int_equal(past.list[2].kind, TH_PAST_RESULT);
	assert_int_equal(past.list[3].seq, 3);
	th_past_deinit(&past);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_said_in_a_run_and_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
