/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_delegate.c - agents as tools, in a world of paper: what a session that
 * works on a call is begun with, how it ends, who waits for whom, and that a
 * death at any commit begins nothing twice.
 */
#include "delegate_rig.h"
#include "json_says.h"

#define TEAM(more, sub)                                                            \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\"" more                               \
	",\"tools\":[\"ask\"],\"commands\":[{\"name\":\"ask\",\"agent\":\"b\"" sub \
	"}],\"agents\":{\"b\":{\"name\":\"b\",\"tools\":[\"weather\"],\"approve\":[\"risky\"]}}}"
#define SELF_WITH(more)                              \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\"" more \
	",\"tools\":[\"ask\"],\"commands\":[{\"name\":\"ask\",\"agent\":\"a\"}]}"
#define SELF SELF_WITH("")

#define ASK(id) CALL(id, "ask", "{\\\"input\\\":\\\"do it\\\"}")

/* ---- tests ---- */

static void an_agent_answers_a_call(void **unused)
{
	struct paper *w = begin(TEAM("", ",\"turns\":3"));
	struct paper_request *r;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	assert_int_equal(w->log_count, 2);
	assert_null(paper_request_of(w, "a1"));
	r = paper_request_of(w, child(w, 0));
	assert_non_null(r);
	/* Nothing but the input, with its own tools. */
	assert_non_null(strstr(r->body, "do it"));
	assert_null(strstr(r->body, "my task"));
	assert_non_null(strstr(r->body, "weather"));
	assert_null(strstr(r->body, "\"ask\""));
	assert_json_text(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "begins", "b");
	assert_json(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "agent.limits.turns", "3");
	assert_json_text(data_of(w, child(w, 0), TH_EV_SESSION_CREATED), "user", "ada");
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_STARTED), child(w, 0)));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	assert_int_equal(w->local_runs, 1);
	answer(w, child(w, 0), TEXT("it rains"));
	assert_json_text(data_of(w, "a1", TH_EV_OUTCOME), "output", "it rains");
	assert_json_text(data_of(w, "a1", TH_EV_OUTCOME), "status", "done");
	/* What it took counts here; it is closed. */
	assert_int_equal(paper_fold(w)->totals.tokens_in, 30);
	assert_int_equal(paper_fold(w)->totals.turns, 1);
	assert_int_equal(th_driver_count(w->driver), 1);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(w->leases, 0);
	paper_free(w);
}

/* Empty output: what was said, or came of a tool, last. */
static void silence_is_answered_with_what_was_last(void **unused)
{
	struct paper *w = begin(TEAM("", ""));

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	answer(w, child(w, 0), "{\"type\":\"reasoning\",\"id\":\"r1\",\"summary\":[]}");
	assert_json_text(data_of(w, "a1", TH_EV_OUTCOME), "output", "sunny");
	paper_free(w);
}

static void a_failure_is_told_and_fails_nobody(void **unused)
{
	struct paper *w = begin(TEAM("", ",\"turns\":1"));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_json_text(told, "status", "failed");
	assert_non_null(strstr(told, "The agent b gave no answer (limit)"));
	assert_json_text(data_of(w, "a1", TH_EV_DELEGATION_FINISHED), "state", "limit");
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	/* A last turn without a call is within the limit. */
	answer(w, "a1", ASK("c2"));
	answer(w, child(w, 1), TEXT("quick"));
	assert_json_text(data_of(w, "a1", TH_EV_OUTCOME), "output", "quick");
	answer(w, "a1", ASK("c3"));
	answer(w, child(w, 2), REFUSAL("I will not"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(strstr(told, "gave no answer (refused): I will not"));
	/* Arguments that do not fit reach nobody. */
	answer(w, "a1", CALL("c4", "ask", "{\\\"question\\\":1}"));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "do not fit its schema"));
	assert_int_equal(w->log_count, 4);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void two_work_side_by_side_and_share_what_is_left(void **unused)
{
	struct paper *w = begin(TEAM(",\"limits\":{\"tokens\":1015,\"cost_usd\":2}", ""));

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	assert_int_equal(w->log_count, 3);
	assert_non_null(paper_request_of(w, child(w, 0)));
	assert_non_null(paper_request_of(w, child(w, 1)));
	for (size_t i = 0; i < 2; i++)
		assert_json(data_of(w, child(w, i), TH_EV_SESSION_CREATED), "agent.limits.tokens",
			    "500");
	answer(w, child(w, 1), TEXT("two"));
	assert_null(paper_request_of(w, "a1"));
	answer(w, child(w, 0), TEXT("one"));
	assert_non_null(paper_request_of(w, "a1"));
	assert_int_equal(paper_fold(w)->totals.tokens_in + paper_fold(w)->totals.tokens_out, 45);
	paper_free(w);
}

/* Of the parent's commits and the children's: death after each of them, before anybody heard. */
static void nothing_is_begun_twice(void **unused)
{
	size_t last = 1000;

	(void)unused;
	for (size_t at = 2; at < last; at++) {
		struct paper *w = begin_until(TEAM("", ""), at);
		bool died = false, said = false;

		for (int i = 0; i < 40 && paper_fold(w)->state != TH_STATE_FINISHED; i++) {
			const char *id;

			if (w->dead) {
				died = true;
				reopen(w, TEAM("", ""));
				continue;
			}
			if (paper_request_of(w, "a1")) {
				answer(w, "a1",
				       count_of(w, "a1", TH_EV_OUTCOME) ? TEXT("over") : ASK("c1"));
				continue;
			}
			id = child(w, 0);
			said = count_of(w, id, TH_EV_OUTCOME) > 0;
			answer(w, id, said ? TEXT("it rains") : CALL("c9", "weather", "{}"));
		}
		if (!died)
			last = at; /* it lives through all of them */
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
		assert_int_equal(w->log_count, 2);
		assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), 1);
		assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 1);
		assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_MESSAGE), 1);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_MODEL_ANSWERED), 2);
		assert_int_equal(count_of(w, child(w, 0), TH_EV_FINAL), 1);
		assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "it rains"));
		assert_int_equal(paper_fold(w)->totals.tokens_in, 40);
		paper_free(w);
	}
	assert_in_range(last, 8, 999);
}

#define RISKY CALL("c9", "risky", "{}")

static void a_person_is_asked_through_the_parent(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	struct th_str me = TH_STR("me"), nothing = TH_STR("");
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	answer(w, child(w, 0), RISKY);
	/* The other one works: nobody is called yet. */
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	answer(w, child(w, 1), TEXT("two"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->rests, 1);
	assert_json_text(data_of(w, "a1", TH_EV_DELEGATION_WAITS), "waits.0.tool", "risky");
	assert_non_null(strstr(data_of(w, "a1", TH_EV_DELEGATION_WAITS), child(w, 0)));
	assert_true(th_str_is(
	    th_driver_waits(w->driver, w->h, TH_CALL_ASKED, nothing, NULL)->call_id, "c9"));

	/* It still waits after a restart, and is said to. */
	reopen(w, TEAM("", ""));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->rests, 2);
	assert_int_equal(w->local_runs, 0);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c8"), true, me, nothing, &err),
			 TH_ENOENT);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c9"), true, me, nothing, &err),
			 TH_OK);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	paper_settle(w);
	assert_int_equal(w->local_runs, 1);
	assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c9"), true, me, nothing, &err),
			 TH_ENOENT);

	/* One that is turned down, while the session is held. */
	answer(w, child(w, 0), CALL("c10", "risky", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("held"), &err), TH_OK);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, nothing, false, me, TH_STR("no rain"), &err), TH_OK);
	paper_settle(w);
	assert_null(paper_request_of(w, child(w, 0)));
	reopen(w, TEAM("", "")); /* which resumes */
	assert_non_null(paper_request_of(w, child(w, 0)));
	assert_non_null(strstr(paper_request_of(w, child(w, 0))->body, "no rain"));
	assert_int_equal(w->local_runs, 1);
	answer(w, child(w, 0), TEXT("one"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void stop_and_pause_reach_who_works(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1"));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR("held"), &err), TH_OK);
	paper_settle(w);
	assert_null(paper_request_of(w, child(w, 0)));
	assert_json_text(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "to", "paused");
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_non_null(paper_request_of(w, child(w, 0)));
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_null(paper_request_of(w, child(w, 0)));
	assert_json_text(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "to", "stopped");
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "gave no answer (stopped)"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_STOPPED);
	paper_free(w);

	/* Stopped while nobody ran it: what was begun is stopped, what was not is not begun. */
	w = begin(TEAM("", ""));
	answer(w, "a1", ASK("c1"));
	w->commits_max = w->commits + 1;
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_true(w->dead);
	reopen(w, TEAM("", ""));
	assert_int_equal(paper_fold(w)->state, TH_STATE_STOPPED);
	assert_null(paper_request_of(w, child(w, 0)));
	assert_json_text(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "to", "stopped");
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
	paper_free(w);

	/* The same of the parent alone, as an operator does it to a log. */
	w = begin(TEAM("", ""));
	answer(w, "a1", ASK("c1"));
	w->h = take(w, TEAM("", ""), "a1");
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_STATE_CHANGED), 0);
	reopen(w, TEAM("", ""));
	assert_null(paper_request_of(w, child(w, 0)));
	assert_json_text(data_of(w, child(w, 0), TH_EV_STATE_CHANGED), "to", "stopped");
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 1);
	paper_free(w);
}

/* A person decides in the child's own log, while nobody runs either. */
static void a_word_between_two_runtimes(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	struct th_handle h;
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), RISKY);
	assert_int_equal(w->rests, 1);
	h = take(w, TEAM("", ""), child(w, 0));
	w->commits_max = w->commits + 1;
	assert_int_equal(
	    th_driver_decide(w->driver, h, TH_STR("c9"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_true(w->dead);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_APPROVAL_DECIDED), 1);
	w->rests = 0;
	/* Nobody is called again. */
	reopen(w, TEAM("", ""));
	assert_int_equal(w->rests, 0);
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_int_equal(w->local_runs, 1);
	answer(w, child(w, 0), TEXT("one"));
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

static void ask_many(struct paper *w, const char *id, int count)
{
	struct th_buf many = TH_BUF_INIT(TH_MIB);

	for (int i = 0; i < count; i++)
		th_buf_printf(&many,
			      "%s{\"type\":\"function_call\",\"id\":\"f%d\",\"call_id\":\"c%d\","
			      "\"name\":\"ask\",\"arguments\":\"{\\\"input\\\":\\\"x\\\"}\","
			      "\"status\":\"completed\"}",
			      i ? "," : "", i, i);
	answer(w, id, many.ptr);
	th_buf_deinit(&many);
}

static void depth_and_number_have_limits(void **unused)
{
	struct paper *w = begin(SELF);

	(void)unused;
	answer(w, "a1", ASK("c1"));
	for (int i = 1; i < TH_DELEGATE_DEPTH_MAX; i++)
		answer(w, w->logs[i]->id, ASK("c1"));
	assert_int_equal(w->log_count, 1 + TH_DELEGATE_DEPTH_MAX);
	answer(w, w->logs[TH_DELEGATE_DEPTH_MAX]->id, ASK("c1"));
	assert_int_equal(w->log_count, 1 + TH_DELEGATE_DEPTH_MAX);
	assert_non_null(
	    strstr(data_of(w, w->logs[TH_DELEGATE_DEPTH_MAX]->id, TH_EV_OUTCOME), "deep already"));
	paper_free(w);

	/* As many as may be at a time; one more begins when one of them is over. */
	w = begin(SELF_WITH(",\"limits\":{\"parallel_agents\":100}"));
	ask_many(w, "a1", TH_DELEGATES_PARALLEL_MAX + 1);
	assert_int_equal(w->log_count, 1 + TH_DELEGATES_PARALLEL_MAX);
	answer(w, w->logs[1]->id, TEXT("over"));
	assert_int_equal(w->log_count, 2 + TH_DELEGATES_PARALLEL_MAX);
	ask_many(w, w->logs[2]->id, TH_DELEGATES_PARALLEL_MAX);
	assert_int_equal(w->log_count, 2 + 2 * TH_DELEGATES_PARALLEL_MAX);
	ask_many(w, w->logs[3]->id, TH_DELEGATES_PARALLEL_MAX);
	assert_int_equal(w->log_count, 2 + TH_DELEGATES_MAX);
	assert_int_equal(count_of(w, w->logs[3]->id, TH_EV_OUTCOME),
			 3 * TH_DELEGATES_PARALLEL_MAX - TH_DELEGATES_MAX);
	assert_non_null(strstr(data_of(w, w->logs[3]->id, TH_EV_OUTCOME), "at work already"));
	paper_free(w);

	w = begin(SELF);
	ask_many(w, "a1", TH_DELEGATES_PARALLEL_DEFAULT + 1);
	assert_int_equal(w->log_count, 1 + TH_DELEGATES_PARALLEL_DEFAULT);
	paper_free(w);
}

/* A session of that name which is not this call's is left alone. */
static void another_session_is_not_taken(void **unused)
{
	struct paper *w = begin(TEAM("", ""));

	(void)unused;
	answer(w, "a1", ASK("c1"));
	w->commits_max = w->commits + 1;
	free(w->logs[1]->metadata);
	w->logs[1]->metadata = strdup("{\"delegated_by\":{\"effect_id\":\"00\"}}");
	reopen(w, TEAM("", ""));
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "is another's"));
	assert_null(paper_request_of(w, child(w, 0)));
	paper_free(w);
}

/* That it was begun is in the parent's log: what is not there was lost, and is not begun again. */
static void one_that_is_missing_is_not_begun_again(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	assert_int_equal(w->local_runs, 1);
	paper_log_forget(w); /* as in a store that it was not carried to */
	reopen(w, TEAM("", ""));
	assert_int_equal(w->log_count, 1);
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(told);
	assert_json_text(told, "status", "unknown");
	assert_non_null(strstr(told, "which was lost (this store does not have it)"));
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 0);
	/* It is in doubt: the same is not asked for again just so. */
	answer(w, "a1", ASK("c2"));
	assert_int_equal(w->log_count, 1);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	paper_free(w);
}

/* Another runtime took it, and may bring it to an end. */
static void one_that_was_taken_is_unknown(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	const char *told;

	(void)unused;
	answer(w, "a1", ASK("c1"));
	w->child_result = TH_EFENCED;
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	told = data_of(w, "a1", TH_EV_OUTCOME);
	assert_non_null(told);
	assert_json_text(told, "status", "unknown");
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_FINISHED), 0);
	assert_int_equal(paper_fold(w)->unresolved.count, 1);
	assert_int_equal(th_driver_count(w->driver), 1);
	answer(w, "a1", TEXT("over"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* Nobody is taken up whose session, or whose session's session, somebody else has. */
static void one_that_is_held_is_waited_for(void **unused)
{
	struct paper *w = begin(SELF);

	(void)unused;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), ASK("c2"));
	w->held = child(w, 1);
	reopen(w, SELF);
	assert_true(w->rest_failed);
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 0);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_OUTCOME), 0);
	w->held = NULL;
	reopen(w, SELF);
	answer(w, child(w, 1), TEXT("two"));
	answer(w, child(w, 0), TEXT("one"));
	assert_json_text(data_of(w, "a1", TH_EV_OUTCOME), "output", "one");
	paper_free(w);
}

/* It is not over while something that it began is: that, too, has its one result. */
static void what_it_began_has_a_result(void **unused)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };
	struct th_err err = { 0 };

	(void)unused;
	for (size_t restarted = 0; restarted < 2; restarted++) {
		struct paper *w = begin(TEAM("", ""));

		w->local_later = true;
		answer(w, "a1", ASK("c1"));
		answer(w, child(w, 0), CALL("c9", "weather", "{}"));
		assert_int_equal(
		    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err),
		    TH_OK);
		paper_settle(w);
		assert_non_null(data_of(w, child(w, 0), TH_EV_STATE_CHANGED));
		assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 0);
		if (restarted)
			reopen(w, TEAM("", ""));
		assert_int_equal(w->local_runs, 1 + restarted); /* a read is simply done again */
		assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 0);
		th_driver_tool_done(w->driver, w->local, &r);
		paper_settle(w);
		assert_non_null(strstr(data_of(w, child(w, 0), TH_EV_OUTCOME), "sunny"));
		assert_non_null(
		    strstr(data_of(w, "a1", TH_EV_OUTCOME), "gave no answer (stopped)"));
		assert_int_equal(th_driver_count(w->driver), 1);
		paper_free(w);
	}

	/* Of the one that asked alone, while nobody ran either: it is settled, too. */
	struct paper *w = begin(TEAM("", ""));

	w->local_later = true;
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), CALL("c9", "weather", "{}"));
	w->h = take(w, TEAM("", ""), "a1");
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	reopen(w, TEAM("", ""));
	assert_int_equal(w->local_runs, 2);
	assert_int_equal(count_of(w, "a1", TH_EV_OUTCOME), 0);
	th_driver_tool_done(w->driver, w->local, &r);
	paper_settle(w);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_OUTCOME), "gave no answer (stopped)"));
	paper_free(w);
}

/* Who has lost a session begins nothing for it any more. */
static void one_that_was_lost_begins_nothing(void **unused)
{
	struct paper *w = begin(TEAM("", ""));

	(void)unused;
	answer(w, "a1", CALL("c1", "ask", "{\\\"question\\\":1}"));
	paper_answer_unwritten(w, paper_request_of(w, "a1"), ASK("c2"));
	th_driver_flush(w->driver);
	paper_commit(w); /* the intent */
	w->result = TH_EFENCED;
	paper_settle(w);
	assert_true(w->rest_failed);
	assert_int_equal(w->log_count, 1);
	assert_int_equal(count_of(w, "a1", TH_EV_DELEGATION_STARTED), 0);
	paper_free(w);
}

/* Ids of calls are unique within an answer only: what a person saw is what he decides. */
static void two_calls_of_one_id(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	struct th_str me = TH_STR("me"), c9 = TH_STR("c9"), nothing = TH_STR("");
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	const struct th_call *c;
	struct th_err err = { 0 };

	(void)unused;
	answer(w, "a1", ASK("c1") "," ASK("c2"));
	answer(w, child(w, 0), CALL("c9", "risky", "{\\\"what\\\":\\\"ls\\\"}"));
	answer(w, child(w, 1), CALL("c9", "risky", "{\\\"what\\\":\\\"rm\\\"}"));
	assert_null(th_driver_waits(w->driver, w->h, TH_CALL_ASKED, c9, NULL));
	assert_int_equal(th_driver_decide(w->driver, w->h, c9, true, me, nothing, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "2 calls c9 wait; say of which session, as in a1."));
	th_buf_printf(&name, "%s/c9", child(w, 1));
	c = th_driver_waits(w->driver, w->h, TH_CALL_ASKED, th_buf_str(&name), NULL);
	assert_true(c && th_str_is(c->arguments, "{\"what\":\"rm\"}"));
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&name), false, me, nothing, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(count_of(w, child(w, 0), TH_EV_APPROVAL_DECIDED), 0);
	assert_int_equal(count_of(w, child(w, 1), TH_EV_APPROVAL_DECIDED), 1);
	/* The name of what was decided is nobody else's. */
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, th_buf_str(&name), true, me, nothing, &err),
	    TH_ENOENT);
	th_buf_clear(&name);
	c = th_driver_waits(w->driver, w->h, TH_CALL_ASKED, nothing, &name);
	assert_true(c && th_str_is(c->arguments, "{\"what\":\"ls\"}"));
	assert_true(th_str_starts(th_buf_str(&name), th_str_of(child(w, 0))));
	/* One is left: its own id is enough. */
	assert_int_equal(th_driver_decide(w->driver, w->h, c9, true, me, nothing, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->local_runs, 1);
	th_buf_deinit(&name);
	paper_free(w);
}

/* What DELEGATION_WAITS says when so many calls wait, each of 4,000 bytes. */
static const char *many_wait(struct paper *w, int count)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB);
	char what[4001];

	memset(what, 'x', sizeof(what) - 1);
	what[sizeof(what) - 1] = '\0';
	for (int i = 0; i < count; i++)
		th_buf_printf(&items,
			      "%s{\"type\":\"function_call\",\"id\":\"f%d\",\"call_id\":\"r%d\","
			      "\"name\":\"risky\",\"arguments\":\"{\\\"what\\\":\\\"%s\\\"}\","
			      "\"status\":\"completed\"}",
			      i ? "," : "", i, i, what);
	answer(w, "a1", ASK("c1"));
	answer(w, child(w, 0), items.ptr);
	th_buf_deinit(&items);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	return data_of(w, "a1", TH_EV_DELEGATION_WAITS);
}

/* More than the event has room for: the others are counted. */
static void what_waits_has_a_size(void **unused)
{
	struct paper *w = begin(TEAM("", ""));
	const char *told = many_wait(w, 64);
	struct th_err err = { 0 };

	(void)unused;
	assert_non_null(strstr(told, "\"r63\""));
	assert_null(strstr(told, "\"more\""));
	paper_free(w);

	w = begin(TEAM("", ""));
	told = many_wait(w, 100);
	assert_non_null(strstr(told, "\"r63\""));
	assert_null(strstr(told, "\"r99\""));
	assert_non_null(strstr(told, "\"more\":"));
	assert_true(strlen(told) < 300 * TH_KIB);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("r99"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_answers_a_call),
		cmocka_unit_test(silence_is_answered_with_what_was_last),
		cmocka_unit_test(a_failure_is_told_and_fails_nobody),
		cmocka_unit_test(two_work_side_by_side_and_share_what_is_left),
		cmocka_unit_test(nothing_is_begun_twice),
		cmocka_unit_test(a_person_is_asked_through_the_parent),
		cmocka_unit_test(stop_and_pause_reach_who_works),
		cmocka_unit_test(a_word_between_two_runtimes),
		cmocka_unit_test(depth_and_number_have_limits),
		cmocka_unit_test(another_session_is_not_taken),
		cmocka_unit_test(one_that_is_missing_is_not_begun_again),
		cmocka_unit_test(one_that_was_taken_is_unknown),
		cmocka_unit_test(one_that_is_held_is_waited_for),
		cmocka_unit_test(one_that_was_lost_begins_nothing),
		cmocka_unit_test(what_it_began_has_a_result),
		cmocka_unit_test(two_calls_of_one_id),
		cmocka_unit_test(what_waits_has_a_size),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
