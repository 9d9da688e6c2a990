/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hook_look.c - a hook's model that looks before it decides, in a world of paper: what it may
 * call, what it is shown, and that a death at any commit decides nothing twice.
 */
#include "delegate_rig.h"

#define AGENT(more)                                                                            \
	"{\"name\":\"a\",\"model\":\"gpt-5.4\",\"tools\":[\"none\"],\"hooks\":{\"fail\":true," \
	"\"stop\":[{\"hooks\":[{\"type\":\"agent\",\"prompt\":\"Tests pass.\"" more "}]}]}}"
#define LOOK(id, tool) CALL(id, tool, "{\\\"path\\\":\\\"log.txt\\\"}")
#define DECIDES(text) TEXT("{\\\"decision\\\":\\\"" text "\\\"}")

static size_t looked; /* effects that have ended */

/* The executor's tool, beside one of the process. */
static void give_tools(void)
{
	team.rows[0][1] = (struct th_tool_row){ .spec = { .name = TH_STR("read_file"),
							  .schema = TH_STR("{\"type\":\"object\"}"),
							  .class = TH_CLASS_R } };
}

static struct paper *begin_with(const char *definition, size_t commits_max)
{
	struct paper *w = begin_until(definition, commits_max);

	looked = 0;
	give_tools();
	return w;
}

static bool asks_hook(struct paper *w)
{
	struct paper_request *r = paper_request_of(w, "a1");

	return r && strstr(r->body, "The policy");
}

static void show(struct paper *w, const char *output)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = th_str_of(output) };

	assert_int_equal(looked + 1, w->effect_count);
	looked++;
	th_driver_tool_done(w->driver, w->effect->ticket, &r);
	paper_settle(w);
}

/* Not yet at first; then it may stop. */
static void step(struct paper *w)
{
	struct paper_request *r = paper_request_of(w, "a1");

	if (w->effect_count > looked)
		show(w, "\"all 12 pass\"");
	else if (!asks_hook(w))
		answer(w, "a1", TEXT("done"));
	else if (!strstr(r->body, "all 12 pass"))
		answer(w, "a1", LOOK("h1", "read_file"));
	else if (count_of(w, "a1", TH_EV_MODEL_ANSWERED) == 1)
		answer(w, "a1", DECIDES("deny\\\",\\\"reason\\\":\\\"run them again"));
	else
		answer(w, "a1", DECIDES("allow"));
}

static void it_looks_and_decides(void **unused)
{
	struct paper *w = begin_with(AGENT(""), 0);

	(void)unused;
	step(w);
	assert_true(asks_hook(w));
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "\"read_file\""));
	assert_null(strstr(paper_request_of(w, "a1")->body, "\"weather\""));
	assert_null(
	    strstr(paper_request_of(w, "a1")->body, "my task")); /* nothing of the session */
	step(w);
	assert_int_equal(w->effect_count, 1);
	assert_string_equal(w->effect->tool, "read_file");
	assert_string_equal(w->effect->arguments, "{\"path\":\"log.txt\"}");
	assert_false(w->early);
	step(w);
	assert_true(asks_hook(w));
	step(w); /* no */
	assert_false(asks_hook(w));
	assert_null(
	    strstr(paper_request_of(w, "a1")->body, "all 12 pass")); /* it leaves no trace */
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "run them again"));
	assert_non_null(
	    strstr(data_of(w, "a1", TH_EV_GUARDRAIL), "\"looked\":[{\"tool\":\"read_file\""));
	for (int i = 0; i < 8 && paper_fold(w)->state == TH_STATE_RUNNING; i++)
		step(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_int_equal(paper_fold(w)->totals.side[TH_SIDE_HOOK].requests, 4);
	assert_int_equal(paper_fold(w)->totals.turns, 2);
	assert_int_equal(count_of(w, "a1", TH_EV_CALL), 0);
	paper_free(w);
}

static void it_has_those_tools_and_no_others(void **unused)
{
	struct paper *w = begin_with(AGENT(""), 0);

	(void)unused;
	step(w);
	answer(w, "a1", LOOK("h1", "weather")); /* the agent's, but none that reads the workspace */
	assert_int_equal(w->effect_count + w->local_runs, 0);
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "you have no such tool"));
	answer(w, "a1", LOOK("h2", "read_file"));
	show(w, "[{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"00\"}]");
	assert_non_null(strstr(paper_request_of(w, "a1")->body, "this is not text"));
	answer(w, "a1", LOOK("h3", "read_file")); /* its third answer: the last */
	assert_int_equal(w->effect_count, 1);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_GUARDRAIL), "looked again instead"));
	paper_free(w);

	w = begin_with(AGENT(",\"tools\":[\"weather\"]"), 0);
	step(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_GUARDRAIL), "no tool \\\"weather\\\""));
	paper_free(w);
}

#define EIGHT                                                                                      \
	LOOK("1", "read_file")                                                                     \
	"," LOOK("2", "read_file") "," LOOK("3", "read_file") "," LOOK("4", "read_file") "," LOOK( \
	    "5", "read_file") "," LOOK("6",                                                        \
				       "read_file") "," LOOK("7",                                  \
							     "read_file") "," LOOK("8",            \
										   "read_file")

static void so_many_at_once_and_no_more(void **unused)
{
	struct th_effect_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"text\"") };
	struct paper *w = begin_with(AGENT(""), 0);

	(void)unused;
	_Static_assert(TH_HOOK_LOOKS_MAX == 8, "as many as here");
	step(w);
	answer(w, "a1", EIGHT);
	assert_int_equal(w->effect_count, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_null(paper_request_of(w, "a1")); /* all are waited for */
		th_driver_tool_done(w->driver, w->effects[i].ticket, &r);
		paper_settle(w);
	}
	answer(w, "a1", DECIDES("allow"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);

	w = begin_with(AGENT(""), 0);
	step(w);
	answer(w, "a1", EIGHT "," LOOK("9", "read_file"));
	assert_int_equal(w->effect_count, 0);
	assert_non_null(strstr(data_of(w, "a1", TH_EV_GUARDRAIL), "more than 8 things"));
	paper_free(w);
}

/* The model is asked with what it looked at, which had so many bytes. */
static bool is_shown_whole(struct paper *w, size_t size)
{
	char *output = th_alloc(size + 3);
	bool whole;

	memset(output, 'x', size + 2);
	output[0] = output[size + 1] = '"';
	show(w, output);
	whole = strstr(paper_request_of(w, "a1")->body, output);
	assert_true(whole || strstr(paper_request_of(w, "a1")->body,
				    "[... 1 bytes of this result are not shown"));
	free(output);
	return whole;
}

static void so_much_of_a_result_and_no_more(void **unused)
{
	struct paper *w = begin_with(AGENT(""), 0);

	(void)unused;
	step(w);
	answer(w, "a1", LOOK("1", "read_file"));
	assert_true(is_shown_whole(w, TH_HOOK_LOOK_MAX));
	answer(w, "a1", LOOK("2", "read_file"));
	assert_false(is_shown_whole(w, TH_HOOK_LOOK_MAX + 1));
	answer(w, "a1", DECIDES("allow"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	paper_free(w);
}

/* A stop ends what is under way; what that brings comes too late. */
static void a_stop_while_it_looks(void **unused)
{
	struct paper *w = begin_with(AGENT(""), 0);
	struct th_effect_result late = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"late\"") };
	struct th_ticket first;
	struct th_err err = { 0 };

	(void)unused;
	step(w);
	step(w);
	first = w->effect->ticket;
	looked++;
	assert_int_equal(
	    th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR("enough"), &err), TH_OK);
	paper_settle(w);
	assert_int_equal(w->cancels, 1);
	th_driver_tool_done(w->driver, first, &late);
	paper_settle(w);
	assert_null(paper_request_of(w, "a1"));
	assert_int_equal(count_of(w, "a1", TH_EV_FINAL), 0);
	paper_free(w);
}

static void nothing_is_decided_twice(void **unused)
{
	size_t last = 1000;

	(void)unused;
	for (size_t at = 2; at < last; at++) {
		struct paper *w = begin_with(AGENT(""), at);
		bool died = false;

		for (int i = 0; i < 40 && paper_fold(w)->state != TH_STATE_FINISHED; i++) {
			if (w->dead) {
				died = true;
				w->h = take(w, AGENT(""), "a1");
				give_tools();
				looked = w->effect_count;
				paper_resume(w);
			} else {
				step(w);
			}
		}
		if (!died)
			last = at; /* it lives through all of them */
		assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
		assert_int_equal(count_of(w, "a1", TH_EV_HOOK_STARTED), 2);
		assert_int_equal(count_of(w, "a1", TH_EV_GUARDRAIL), 2);
		assert_int_equal(count_of(w, "a1", TH_EV_FINAL), 1);
		assert_false(w->early);
		paper_free(w);
	}
	assert_in_range(last, 5, 999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_looks_and_decides),
		cmocka_unit_test(it_has_those_tools_and_no_others),
		cmocka_unit_test(so_many_at_once_and_no_more),
		cmocka_unit_test(so_much_of_a_result_and_no_more),
		cmocka_unit_test(a_stop_while_it_looks),
		cmocka_unit_test(nothing_is_decided_twice),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	return failed;
}
