/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_task.c - a tool that is several agents: a call names one, an earlier task
 * goes on, what it takes counts once, a shared budget holds, and a death at any
 * commit begins nothing twice.
 */
#include "delegate_rig.h"
#include "json_says.h"

#define TASKS(more, sub)                                                                      \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\"" more                                          \
	",\"tools\":[\"task\"],\"commands\":[{\"name\":\"task\",\"agents\":[\"b\",\"c\"]" sub \
	"}],\"agents\":{\"b\":{\"name\":\"b\",\"tools\":[\"weather\"],\"approve\":"           \
	"[\"risky\"]},\"c\":{\"name\":\"c\",\"tools\":[\"weather\"]}}}"

#define TASK(id, words) CALL(id, "task", "{\\\"prompt\\\":\\\"" words "\\\"}")
#define TASK_OF(id, agent, words) \
	CALL(id, "task",          \
	     "{\\\"prompt\\\":\\\"" words "\\\",\\\"subagent_type\\\":\\\"" agent "\\\"}")

/* The id that the model was told with the last result. */
static void task_id(struct paper *w, char ret[static 14])
{
	const char *at = strstr(data_of(w, "a1", TH_EV_OUTCOME), "task_");

	assert_non_null(at);
	snprintf(ret, 14, "%s", at);
}

static void resume_with(struct paper *w, const char *id, const char *task)
{
	char items[512];

	snprintf(items, sizeof(items),
		 CALL("%s", "task", "{\\\"prompt\\\":\\\"go on\\\",\\\"resume\\\":\\\"%s\\\"}"), id,
		 id, task);
	answer(w, "a1", items);
}

static int64_t used(struct paper *w)
{
	return paper_fold(w)->totals.tokens_in + paper_fold(w)->totals.tokens_out;
}

static void a_call_names_its_agent(void **unused)
{
	struct paper *w = begin(TASKS("", ""));

	(void)unused;
	assert_json(paper_request_of(w, "a1")->body,
		    "tools.name=task.parameters.properties.subagent_type.enum", "[\"b\",\"c\"]");
	answer(w, "a1", TASK("c1", "one") "," TASK_OF("c2", "c", "two"));
	assert_json_text(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "begins", "b");
	assert_json_text(data_of(w, child(w, 1), TH_EV_SESSION_CREATED), "begins", "c");
	assert_json_text(data_of(w, child(w, 1), TH_EV_MESSAGE), "content", "two");
	answer(w, child(w, 0), TEXT("1"));
	answer(w, child(w, 1), TEXT("2"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), " is completed"));
	/* What there is not is told, and begins nothing. */
	answer(w, "a1", TASK_OF("c3", "d", "three"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "do not fit its schema"));
	assert_int_equal(w->log_count, 3);
	paper_free(w);
}

static void an_earlier_task_goes_on(void **unused)
{
	struct paper *w = begin(TASKS("", ""));
	char id[14];

	(void)unused;
	answer(w, "a1", TASK_OF("c1", "c", "one"));
	answer(w, child(w, 0), TEXT("the first answer"));
	task_id(w, id);
	assert_int_equal(used(w), 45 - 15);
	resume_with(w, "c2", id);
	assert_int_equal(w->log_count, 2);
	/* It knows what it did, and is told what comes next. */
	assert_non_null(strstr(paper_request_of(w, child(w, 0))->body, "the first answer"));
	assert_non_null(strstr(paper_request_of(w, child(w, 0))->body, "go on"));
	answer(w, child(w, 0), TEXT("the second"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "the second"));
	assert_json(data_of(w, "a1", TH_EV_DELEGATION_FINISHED), "turns", "1");
	assert_json(data_of(w, "a1", TH_EV_DELEGATION_STARTED), "before.turns", "1");
	assert_int_equal(used(w), 4 * 15); /* each answer once */
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void what_cannot_be_resumed(void **unused)
{
	static const char *const ids[] = { "task_00000001", "task_0000ffff",
					   "task_",         "task_zz",
					   "a1.5",          "task_1234567890abcdef0" };
	struct paper *w = begin(TASKS("", ""));
	char id[14];

	(void)unused;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		char call_id[8];

		snprintf(call_id, sizeof(call_id), "c%zu", i);
		resume_with(w, call_id, ids[i]);
		assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"not_started\""));
		assert_int_equal(w->log_count, 1);
	}
	/* One that is under way is not over. */
	answer(w, "a1", TASK("d1", "one"));
	answer(w, child(w, 0), TEXT("1"));
	task_id(w, id);
	{
		char two[1024];

		snprintf(
		    two, sizeof(two),
		    CALL(
			"e1", "task",
			"{\\\"prompt\\\":\\\"go on\\\",\\\"resume\\\":\\\"%s\\\"}") "," CALL("e2",
											     "task",
											     "{\\\""
											     "promp"
											     "t\\\""
											     ":\\\""
											     "me "
											     "too\\"
											     "\","
											     "\\\"r"
											     "esume"
											     "\\\":"
											     "\\\"%"
											     "s\\\""
											     "}"),
		    id, id);
		answer(w, "a1", two);
	}
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "\"not_started\""));
	answer(w, child(w, 0), TEXT("2"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "2\\n\\n[task_"));
	assert_int_equal(count_of(w, child(w, 0), TH_EV_MESSAGE), 2);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void budgets_of_their_own(void **unused)
{
	struct paper *w = begin(TASKS(",\"limits\":{\"tokens\":1015}", ",\"tokens\":20"));

	(void)unused;
	answer(w, "a1", TASK("c1", "one"));
	assert_json(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "agent.limits.tokens", "20");
	answer(w, child(w, 0), CALL("w1", "weather", "{}"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "(limit)"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "has failed; it can be resumed"));
	paper_free(w);
}

/* The parent's limit covers its helpers, whichever of them takes how much. */
static void a_budget_that_is_shared(void **unused)
{
	struct paper *w = begin(TASKS(",\"limits\":{\"tokens\":100}", ",\"budget\":\"shared\""));

	(void)unused;
	answer(w, "a1", TASK("c1", "one") "," TASK("c2", "two"));
	for (int i = 0; i < 3; i++)
		answer(w, child(w, 0),
		       CALL("w1", "weather", "{}")); /* 15 + 45, and 15 of the other */
	answer(w, child(w, 1), CALL("w1", "weather", "{}"));
	/* One of both had the last: 75 are used, and another request takes 15 and more. */
	if (paper_request_of(w, child(w, 0)))
		answer(w, child(w, 0), CALL("w1", "weather", "{}"));
	assert_null(paper_request_of(w, child(w, 0)));
	if (paper_request_of(w, child(w, 1)))
		answer(w, child(w, 1), CALL("w1", "weather", "{}"));
	assert_null(paper_request_of(w, child(w, 1)));
	assert_in_range(used(w), 76, 100);
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 2);
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "that it works for"));
	paper_free(w);
}

/* After a death nobody asks before it is known what each of them has used: the requests under way
 * may have been paid for. */
static void a_shared_budget_after_a_death(void **unused)
{
	static const char agents[] =
	    TASKS(",\"limits\":{\"tokens\":100}", ",\"budget\":\"shared\"");
	struct paper *w = begin(agents);

	(void)unused;
	answer(w, "a1", TASK("c1", "one") "," TASK("c2", "two"));
	answer(w, child(w, 0), CALL("w1", "weather", "{}"));
	for (int i = 0; i < 2; i++)
		answer(w, child(w, 1), CALL("w1", "weather", "{}"));
	assert_non_null(paper_request_of(w, child(w, 0)));
	assert_non_null(paper_request_of(w, child(w, 1)));
	w->commits_max = w->commits; /* 15 + 15 + 30 are used, and 15 twice may be */
	reopen(w, agents);
	assert_null(paper_request_of(w, child(w, 0)));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "that it works for"));
	paper_free(w);
}

/* Whoever asks is answered: a1 asks for three at once, then goes on with the last of them. */
static void step(struct paper *w)
{
	size_t outcomes = count_of(w, "a1", TH_EV_OUTCOME);
	char id[14];

	for (size_t i = 0; i < 3; i++)
		if (paper_request_of(w, child(w, i))) {
			answer(w, child(w, i),
			       count_of(w, child(w, i), TH_EV_OUTCOME)
				   ? TEXT("it rains")
				   : CALL("w", "weather", "{}"));
			return;
		}
	if (outcomes == 0) {
		answer(w, "a1",
		       TASK("c1", "one") "," TASK_OF("c2", "c", "two") "," TASK("c3", "three"));
	} else if (outcomes == 3) {
		task_id(w, id);
		resume_with(w, "c4", id);
	} else {
		answer(w, "a1", TEXT("over"));
	}
}

static void nothing_of_three_is_done_twice(void **unused)
{
	static const char *const budgets[] = { TASKS("", ""), TASKS(",\"limits\":{\"tokens\":9999}",
								    ",\"budget\":\"shared\"") };
	size_t last;

	(void)unused;
	for (size_t b = 0; b < 2; b++) {
		last = 1000;
		for (size_t at = 2; at < last; at++) {
			struct paper *w = begin_until(budgets[b], at);
			bool died = false;

			for (int i = 0; i < 60 && paper_fold(w)->state != TH_STATE_FINISHED; i++) {
				if (w->dead) {
					died = true;
					reopen(w, budgets[b]);
				} else {
					step(w);
				}
			}
			if (!died)
				last = at; /* it lives through all of them */
			assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
			assert_int_equal(w->log_count, 4);
			assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), 4);
			assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 4);
			assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 4);
			assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "it rains"));
			/* a1: three answers; three children: two each; and one once more. */
			assert_int_equal(used(w), (3 + 6 + 1) * 15);
			paper_free(w);
		}
		assert_in_range(last, 20, 999);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_names_its_agent),
		cmocka_unit_test(an_earlier_task_goes_on),
		cmocka_unit_test(what_cannot_be_resumed),
		cmocka_unit_test(budgets_of_their_own),
		cmocka_unit_test(a_budget_that_is_shared),
		cmocka_unit_test(a_shared_budget_after_a_death),
		cmocka_unit_test(nothing_of_three_is_done_twice),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
