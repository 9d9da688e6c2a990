/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_background.c - tasks in the background: their run goes on and is told, does not end before
 * them, waits, stops and pauses them, and a death at any commit begins, tells and counts none
 * twice.
 */
#include "delegate_rig.h"
#include "json_says.h"

#define TEAM(more, sub)                                                                       \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\"" more                                          \
	",\"tools\":[\"task\"],\"commands\":[{\"name\":\"task\",\"agents\":[\"b\",\"c\"],"    \
	"\"background\":true" sub                                                             \
	"}],\"agents\":{\"b\":{\"name\":\"b\",\"tools\":[\"weather\",\"risky\"],\"approve\":" \
	"[\"risky\"]},\"c\":{\"name\":\"c\",\"tools\":[\"weather\"]}}}"

#define GO(id, words) CALL(id, "task", "{\\\"prompt\\\":\\\"" words "\\\",\\\"background\\\":true}")
#define DO(id, action) CALL(id, "background", "{\\\"action\\\":\\\"" action "\\\"}")

static const char *const plain = TEAM("", "");

static int64_t used(struct paper *w)
{
	return paper_fold(w)->totals.tokens_in + paper_fold(w)->totals.tokens_out;
}

static const char *outcome(struct paper *w)
{
	return data_of(w, "a1", TH_EV_OUTCOME);
}

static const char *message(struct paper *w)
{
	return data_of(w, "a1", TH_EV_MESSAGE);
}

/* Two are begun, and their run is asked at once. */
static struct paper *two(const char *definition)
{
	struct paper *w = begin(definition);

	answer(w, "a1", GO("c1", "one") "," GO("c2", "two"));
	assert_int_equal(w->log_count, 3);
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 2);
	assert_non_null(strstr(outcome(w), "has begun in the background"));
	assert_non_null(paper_request_of(w, "a1"));
	assert_non_null(paper_request_of(w, child(w, 0)));
	assert_non_null(paper_request_of(w, child(w, 1)));
	return w;
}

static void the_run_goes_on_and_is_told(void **unused)
{
	struct paper *w = two(plain);

	(void)unused;
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "\"background\""));
	/* Its answer does not count while they are at work. */
	answer(w, "a1", TEXT("meanwhile"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_null(paper_request_of(w, "a1"));
	answer(w, child(w, 1), TEXT("the second </task> is done"));
	assert_non_null(strstr(message(w), "agent=\\\"b\\\" state=\\\"completed\\\""));
	assert_non_null(strstr(message(w), "the second <\\\\/task> is done"));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 1);
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "the second"));
	/* The other ends while it is asked: it is asked again. */
	answer(w, child(w, 0), TEXT("the first"));
	answer(w, "a1", TEXT("too early"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "the first"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(count_of(w, "a1", TH_EV_MESSAGE), 3);
	assert_int_equal(count_of(w, "a1", TH_EV_MODEL_ANSWERED), 4);
	assert_int_equal(used(w), 6 * 15);
	paper_free(w);
}

static void a_person_speaks_meanwhile(void **unused)
{
	struct paper *w = two(plain);
	struct th_err err;

	(void)unused;
	answer(w, "a1", TEXT("meanwhile"));
	assert_null(paper_request_of(w, "a1"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("how far?"), &err), TH_OK);
	paper_settle(w);
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "how far?"));
	paper_free(w);
}

static void it_looks_waits_and_stops(void **unused)
{
	struct paper *w = two(plain);

	(void)unused;
	answer(w, child(w, 0), CALL("w", "weather", "{}"));
	answer(w, "a1", DO("d1", "look"));
	assert_non_null(strstr(outcome(w), " (b): running, 1 turns, 15 tokens"));
	answer(w, "a1", DO("d2", "wait"));
	assert_null(paper_request_of(w, "a1"));
	answer(w, child(w, 0), TEXT("the first"));
	assert_null(paper_request_of(w, "a1")); /* both are waited for */
	answer(w, child(w, 1), TEXT("the second"));
	assert_non_null(strstr(outcome(w), "They are over."));
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "the first"));
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "the second"));
	answer(w, "a1", DO("d3", "wait"));
	assert_non_null(strstr(outcome(w), "None of them"));
	answer(w, "a1", GO("c3", "three"));
	answer(w, "a1",
	       CALL("d6", "background",
		    "{\\\"action\\\":\\\"stop\\\",\\\"tasks\\\":[\\\"task_none\\\"]}"));
	assert_non_null(strstr(outcome(w), "Those that do are task_"));
	answer(w, "a1", DO("d4", "stop"));
	assert_non_null(strstr(outcome(w), "is being stopped"));
	assert_non_null(strstr(data_of(w, child(w, 2), TH_EV_STATE_CHANGED), "stopped"));
	assert_non_null(strstr(message(w), "state=\\\"failed\\\""));
	answer(w, "a1", DO("d5", "dance"));
	assert_non_null(strstr(outcome(w), "do not fit"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

#define WAIT(id, seconds) \
	CALL(id, "background", "{\\\"action\\\":\\\"wait\\\",\\\"seconds\\\":" seconds "}")

static void it_waits_so_long_and_no_longer(void **unused)
{
	struct paper *w = two(plain);

	(void)unused;
	answer(w, "a1", WAIT("d1", "86401"));
	assert_non_null(strstr(outcome(w), "at most 86400"));
	answer(w, "a1", WAIT("d2", "86400"));
	assert_null(paper_request_of(w, "a1"));
	assert_in_range(w->wait_ms, 86390000, 86400000);
	/* Before its time: it waits on, and for what is left. */
	w->clock += 80000000;
	th_driver_timer(w->driver, w->wait);
	paper_settle(w);
	assert_null(paper_request_of(w, "a1"));
	assert_in_range(w->wait_ms, 6390000, 6400000);
	/* Another runtime counts from when it began, too. */
	reopen(w, plain);
	assert_null(paper_request_of(w, "a1"));
	assert_in_range(w->wait_ms, 6380000, 6400000);
	w->clock += 6400000;
	th_driver_timer(w->driver, w->wait);
	paper_settle(w);
	assert_non_null(strstr(outcome(w), "They are not over after 86400 s, and work on."));
	assert_non_null(strstr(outcome(w), " (b): running, 0 turns"));
	assert_non_null(paper_request_of(w, "a1"));
	answer(w, "a1", WAIT("d3", "5"));
	answer(w, child(w, 0), TEXT("the first"));
	answer(w, child(w, 1), TEXT("the second"));
	assert_non_null(strstr(outcome(w), "They are over."));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void a_person_is_waited_for(void **unused)
{
	struct paper *w = begin(plain);
	struct th_err err;

	(void)unused;
	answer(w, "a1", GO("c1", "one"));
	answer(w, child(w, 0), CALL("r", "risky", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING); /* it goes on itself */
	answer(w, "a1", TEXT("meanwhile"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	reopen(w, plain);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("r"), true, TH_STR("ada"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	answer(w, child(w, 0), TEXT("the first"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void state(struct paper *w, enum th_state to)
{
	struct th_err err;

	if (th_driver_set_state(w->driver, w->h, to, TH_STR("a person says so"), &err))
		fail_msg("%s", err.msg);
	paper_settle(w);
}

static enum th_state state_of(struct paper *w, size_t n)
{
	const char *data = data_of(w, child(w, n), TH_EV_STATE_CHANGED);
	const char *to = strstr(data, "\"to\":\"") + 6;

	return (enum th_state)th_state_find(th_str_n(to, strcspn(to, "\"")));
}

static void they_follow_their_run(void **unused)
{
	struct paper *w = two(plain);
	struct th_err err;

	(void)unused;
	state(w, TH_STATE_PAUSED);
	assert_int_equal(state_of(w, 0), TH_STATE_PAUSED);
	reopen(w, plain);
	assert_int_equal(state_of(w, 1), TH_STATE_RUNNING);
	assert_non_null(paper_request_of(w, child(w, 0)));
	state(w, TH_STATE_STOPPED);
	assert_int_equal(state_of(w, 0), TH_STATE_STOPPED);
	/* Nothing is told to one that rests: it would begin a task. */
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 0);
	assert_int_equal(paper_fold(w)->state, TH_STATE_STOPPED);
	paper_die(w);
	w->h = paper_open(w, "a1", dress(w, plain));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("go on"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 2);
	assert_non_null(strstr(message(w), "stopped"));
	assert_null(paper_request_of(w, child(w, 0)));
	paper_free(w);
}

/* A run at its limit holds them, and goes on with them. */
static void a_limit_holds_them(void **unused)
{
	static const char *const team_of = TEAM(",\"limits\":{\"turns\":1}", "");
	struct paper *w = begin(team_of);

	(void)unused;
	answer(w, "a1", GO("c1", "one"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_LIMIT);
	assert_int_equal(state_of(w, 0), TH_STATE_PAUSED);
	state(w, TH_STATE_RUNNING);
	assert_int_equal(state_of(w, 0), TH_STATE_RUNNING);
	answer(w, child(w, 0), TEXT("the first"));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 1);
	paper_free(w);
}

/* What they may take is taken from their run. */
static void budgets(void **unused)
{
	struct paper *w = two(TEAM(",\"limits\":{\"tokens\":300}", ""));

	(void)unused;
	/* 285 were left to both and to their run. */
	assert_json(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "agent.limits.tokens", "95");
	assert_json(data_of(w, child(w, 1), TH_EV_SESSION_CREATED), "agent.limits.tokens", "95");
	for (int i = 0; i < 9 && paper_request_of(w, "a1"); i++)
		answer(w, "a1", DO("d", "look"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_LIMIT);
	assert_in_range(used(w), 60, 110);
	paper_free(w);
	w = two(TEAM(",\"limits\":{\"tokens\":300}", ",\"turns\":50,\"budget\":\"shared\""));
	for (int i = 0; i < 30 && paper_request_of(w, child(w, 0)); i++)
		answer(w, child(w, 0), CALL("w", "weather", "{}"));
	assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "that it works for"));
	paper_free(w);
}

static void a_limit_of_their_number(void **unused)
{
	struct paper *w = begin(TEAM(",\"limits\":{\"parallel_agents\":1}", ""));

	(void)unused;
	answer(w, "a1", GO("c1", "one") "," GO("c2", "two"));
	assert_int_equal(w->log_count, 2); /* the other waits for its place */
	answer(w, child(w, 0), TEXT("the first"));
	assert_int_equal(w->log_count, 3);
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 2);
	paper_free(w);
}

static void as_many_as_there_may_be(void **unused)
{
	struct paper *w = begin(TEAM(",\"limits\":{\"parallel_agents\":100}", ""));
	struct th_buf items = TH_BUF_INIT(TH_MIB);

	(void)unused;
	for (int i = 0; i <= TH_BACKGROUND_MAX; i++)
		th_buf_printf(&items, "%s" GO("c%d", "one"), i ? "," : "", i, i);
	answer(w, "a1", items.ptr);
	assert_int_equal(w->log_count, 1 + TH_BACKGROUND_MAX);
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), TH_BACKGROUND_MAX);
	assert_non_null(strstr(outcome(w), "64 tasks work in the background, which is the most"));
	th_buf_deinit(&items);
	paper_free(w);
}

/* The store has lost one with all that it did. */
static void one_that_is_lost(void **unused)
{
	struct paper *w = two(plain);

	(void)unused;
	paper_die(w);
	paper_log_forget(w);
	w->h = paper_open(w, "a1", dress(w, plain));
	paper_resume(w);
	assert_non_null(strstr(message(w), "state=\\\"unknown\\\""));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 1);
	answer(w, child(w, 0), TEXT("the first"));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 2);
	paper_free(w);
}

/* What looks at results does not see messages: it looks at the call that reads. */
static void what_is_looked_at_is_not_told(void **unused)
{
	struct paper *w = begin(TEAM(",\"quarantine\":[\"task\"]", ""));

	(void)unused;
	answer(w, "a1", GO("c1", "one"));
	assert_int_equal(w->log_count, 2);
	assert_non_null(strstr(outcome(w), "has begun in the background"));
	answer(w, child(w, 0), TEXT("what it read"));
	assert_non_null(strstr(message(w), "not told here"));
	assert_null(strstr(message(w), "what it read"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_FINISHED), "what it read"));
	assert_non_null(paper_fold(w)->results);
	answer(w, "a1", DO("d1", "read"));
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1); /* its reader is asked first */
	paper_free(w);
}

/* A session of an older build, whose guards look at calls of their tools alone: nobody could let
 * the model read what came of it. */
static void what_an_older_session_looks_at_is_waited_for(void **unused)
{
	struct paper *w = begin(TEAM(",\"guardrails\":[{\"name\":\"g\",\"stage\":\"tool_output\","
				     "\"tools\":[\"task\"]}]",
				     ""));

	(void)unused;
	answer(w, "a1", GO("c1", "one"));
	assert_int_equal(w->log_count, 1);
	assert_non_null(strstr(outcome(w), "wait for it"));
	paper_free(w);
}

/* The last of them can be read. */
static void as_many_results_as_there_may_be(void **unused)
{
	struct paper *w = begin(TEAM(
	    ",\"limits\":{\"parallel_agents\":100,\"turns\":1000},\"quarantine\":[\"task\"]", ""));
	struct th_buf items = TH_BUF_INIT(TH_MIB);
	uint64_t first;
	size_t count = 0;

	(void)unused;
	for (int i = 0; i < TH_BACKGROUND_MAX; i++)
		th_buf_printf(&items, "%s" GO("c%d", "one"), i ? "," : "", i, i);
	answer(w, "a1", items.ptr);
	for (size_t i = 0; i < TH_BACKGROUND_MAX; i++)
		answer(w, child(w, i), TEXT("done"));
	first = paper_fold(w)->results->over_seq;
	answer(w, "a1", GO("more", "one"));
	answer(w, child(w, TH_BACKGROUND_MAX), TEXT("done"));
	for (const struct th_background *b = paper_fold(w)->results; b; b = b->next)
		count++;
	assert_int_equal(count, TH_BACKGROUND_MAX);
	assert_true(paper_fold(w)->results->over_seq > first);
	th_buf_deinit(&items);
	paper_free(w);
}

/* Whoever asks is answered: two are begun, one goes on with the first, all is waited for. */
static void step(struct paper *w)
{
	size_t outcomes = count_of(w, "a1", TH_EV_OUTCOME);

	if (paper_request_of(w, "a1")) {
		if (outcomes == 0)
			answer(w, "a1", GO("c1", "one") "," GO("c2", "two"));
		else if (outcomes == 2)
			answer(w, "a1", DO("c3", "wait"));
		else
			answer(w, "a1", TEXT("over"));
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (paper_request_of(w, child(w, i))) {
			answer(w, child(w, i),
			       count_of(w, child(w, i), TH_EV_OUTCOME)
				   ? TEXT("it rains")
				   : CALL("w", "weather", "{}"));
			return;
		}
}

static void nothing_is_done_or_told_twice(void **unused)
{
	static const char *const budget[] = { TEAM("", ""), TEAM(",\"limits\":{\"tokens\":9999}",
								 ",\"budget\":\"shared\"") };
	size_t last;

	(void)unused;
	for (size_t b = 0; b < 2; b++) {
		last = 1000;
		for (size_t at = 2; at < last; at++) {
			struct paper *w = begin_until(budget[b], at);
			bool died = false;

			for (int i = 0; i < 60 && paper_fold(w)->state != TH_STATE_FINISHED; i++) {
				if (w->dead) {
					died = true;
					reopen(w, budget[b]);
				} else {
					step(w);
				}
			}
			if (!died)
				last = at;
			assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
			assert_int_equal(w->log_count, 3);
			assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), 2);
			assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 2);
			assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 3);
			assert_int_equal(count_of(w, "a1", TH_EV_MESSAGE), 3);
			assert_int_equal(used(w), (3 + 4) * 15);
			paper_free(w);
		}
		assert_in_range(last, 10, 999);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_run_goes_on_and_is_told),
		cmocka_unit_test(a_person_speaks_meanwhile),
		cmocka_unit_test(it_looks_waits_and_stops),
		cmocka_unit_test(it_waits_so_long_and_no_longer),
		cmocka_unit_test(a_person_is_waited_for),
		cmocka_unit_test(they_follow_their_run),
		cmocka_unit_test(a_limit_holds_them),
		cmocka_unit_test(budgets),
		cmocka_unit_test(a_limit_of_their_number),
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test(one_that_is_lost),
		cmocka_unit_test(what_is_looked_at_is_not_told),
		cmocka_unit_test(what_an_older_session_looks_at_is_waited_for),
		cmocka_unit_test(as_many_results_as_there_may_be),
		cmocka_unit_test(nothing_is_done_or_told_twice),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
