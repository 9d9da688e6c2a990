/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that hand over, and functions that decide. */
#include "rig.h"

#include <pthread.h>

/* ---- scripts ---- */

/* The first agent hands over; the second uses its tool and answers. */
static void hands_over(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "You are the desk.") && !strstr(request, "\"call_id\":\"h1\""))
		scripted_call(items, "h1", "transfer_to_billing", "{}");
	else if (strstr(request, "You are billing.") && !strstr(request, "\"call_id\":\"b1\""))
		scripted_call(items, "b1", "balance", "{}");
	else if (strstr(request, "You are billing."))
		scripted_say(items, "You owe us 7.");
	else
		scripted_say(items, "I did not hand over.");
}

static void asks_for_danger(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "d1", "danger", "{\"level\":9}");
	else
		scripted_say(items,
			     strstr(request, "all went well") ? "It went well." : "It did not.");
}

/* ---- functions ---- */

static void count_call(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	GOOD(thole_call_done(call, "all went well", &error));
}

struct guard {
	const char *stage; /* trips there */
	int asked;
	bool fail, late;
	struct thole_call *kept;
	pthread_t thread;
};

static void *let_pass(void *ctx)
{
	if (thole_call_done(ctx, NULL, NULL))
		abort();
	return NULL;
}

static void guard(void *ctx, struct thole_call *call)
{
	struct guard *g = ctx;

	g->asked++;
	assert_null(thole_call_effect_id(call));
	assert_string_equal(thole_call_string(call, "agent"), "a");
	if (g->late)
		assert_int_equal(pthread_create(&g->thread, NULL, let_pass, call), 0);
	else if (g->fail)
		GOOD(thole_call_fail(call, "the guard fell asleep", &error));
	else if (g->stage && strcmp(thole_call_string(call, "stage"), g->stage) == 0)
		GOOD(thole_call_trip(call, "not like this", &error));
	else
		GOOD(thole_call_done(call, "ignored", &error));
}

static void instructions(void *ctx, struct thole_call *call)
{
	char text[64];

	(void)ctx;
	snprintf(text, sizeof(text), "This is turn %lld.",
		 (long long)thole_call_integer(call, "turn", 0));
	GOOD(thole_call_done(call, text, &error));
}

/* The next agent sees nothing but what it is told here. */
static void forget(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	assert_string_equal(thole_call_string(call, "to"), "billing");
	GOOD(thole_call_answer(
	    call, "[{\"type\":\"message\",\"role\":\"user\",\"content\":\"a summary\"}]", &error));
}

/* ---- tests ---- */

struct seen {
	char names[500];
};

static void note(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->names);

	(void)s;
	snprintf(seen->names + len, sizeof(seen->names) - len, "%s ", thole_note_name(n));
}

static void a_handoff(void **state)
{
	struct scripted *model = scripted_new(hands_over, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *desk = agent_of("desk"), *billing = agent_of("billing");
	struct thole_session *s = NULL;
	struct seen seen = { "" };
	int balances = 0, filtered = 0;

	(void)state;
	GOOD(thole_agent_set(desk, "instructions", "You are the desk.", &error));
	GOOD(thole_agent_set(billing, "instructions", "You are billing.", &error));
	GOOD(thole_agent_tool(billing, "balance", count_call, &balances, NULL, &error));
	GOOD(thole_agent_member(desk, billing, &error));
	GOOD(thole_agent_handoff(desk, "billing", "Knows about money", "forget", &error));
	GOOD(thole_agent_function(desk, "forget", forget, &filtered, &error));
	GOOD(thole_session_new(rt, desk, NULL, &s, &error));
	thole_agent_free(billing);
	GOOD(thole_session_watch(s, THOLE_NOTE_ITEM | THOLE_NOTE_AGENT, note, &seen, &error));
	GOOD(thole_session_run(s, "What do I owe?", &error));
	if (thole_session_state(s) != THOLE_FINISHED)
		fail_msg("%s", thole_session_reason(s));
	assert_string_equal(thole_session_output(s), "You owe us 7.");
	assert_string_equal(seen.names,
			    "desk handoff_requested handoff_occurred billing tool_called "
			    "tool_output message_output_created ");
	assert_int_equal(balances, 1);
	assert_int_equal(filtered, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(desk);
	scripted_free(model);
}

static void play(struct guard *g, enum thole_stage stage, enum thole_state wanted, int ran,
		 const char *output)
{
	struct scripted *model = scripted_new(asks_for_danger, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	int runs = 0;

	GOOD(thole_agent_tool(a, "danger", count_call, &runs, NULL, &error));
	GOOD(thole_agent_guardrail(a, "guard", stage, true, guard, g, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), wanted);
	assert_int_equal(runs, ran);
	if (output)
		assert_string_equal(thole_session_output(s), output);
	else
		assert_non_null(thole_session_reason(s));
	if (g->late)
		pthread_join(g->thread, NULL);
	assert_int_equal(g->asked, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

static void guardrails(void **state)
{
	struct guard passes = { 0 }, later = { .late = true }, fails = { .fail = true };
	struct guard input = { .stage = "input" }, call = { .stage = "tool_input" };
	struct guard output = { .stage = "output" };

	(void)state;
	play(&passes, THOLE_STAGE_OUTPUT, THOLE_FINISHED, 1, "It went well.");
	play(&later, THOLE_STAGE_TOOL_INPUT, THOLE_FINISHED, 1, "It went well.");
	play(&fails, THOLE_STAGE_INPUT, THOLE_FAILED, 0, NULL);
	play(&input, THOLE_STAGE_INPUT, THOLE_FAILED, 0, NULL);
	play(&call, THOLE_STAGE_TOOL_INPUT, THOLE_FAILED, 0, NULL);
	play(&output, THOLE_STAGE_OUTPUT, THOLE_FAILED, 1, NULL);
}

static void says_turn(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	scripted_say(items, strstr(request, "This is turn 1.") ? "One." : "Another.");
}

static void instructions_of_each_turn(void **state)
{
	struct scripted *model = scripted_new(says_turn, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_agent_instructions(a, instructions, NULL, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_string_equal(thole_session_output(s), "One.");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* The agent's own script is asked, also where the program has functions of its own. */
static void instructions_of_a_script(void **state)
{
	static const char yaml[] =
	    "name: a\ninstructions_from: say\nscript: |\n"
	    "  function say(q) return 'This is turn ' .. q.turn .. '.' end\n";

	(void)state;
	for (int with_hook = 0; with_hook < 2; with_hook++) {
		struct scripted *model = scripted_new(says_turn, NULL);
		struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
		struct thole_agent *a = NULL;
		struct thole_session *s = NULL;
		struct seen seen = { "" };

		GOOD(thole_agent_parse(yaml, "a.yaml", &a, &error));
		if (with_hook)
			GOOD(thole_agent_hook(a, THOLE_HOOK_AGENT_END, false, note, &seen, &error));
		GOOD(thole_session_new(rt, a, NULL, &s, &error));
		GOOD(thole_session_run(s, "go", &error));
		assert_string_equal(thole_session_output(s), "One.");
		assert_string_equal(seen.names, with_hook ? "agent_end " : "");
		GOOD(thole_runtime_free(rt));
		thole_agent_free(a);
		scripted_free(model);
	}
}

static void keep_call(void *ctx, struct thole_call *call)
{
	*(struct thole_call **)ctx = call;
}

/* A question that nobody wants any more may still be answered. */
static void a_question_given_up(void **state)
{
	struct scripted *model = scripted_new(says_turn, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	struct thole_call *call = NULL;
	const size_t huge_len = (8 << 20) + 1;
	char *huge = malloc(huge_len + 1);

	(void)state;
	GOOD(thole_agent_guardrail(a, "slow", THOLE_STAGE_INPUT, true, keep_call, &call, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_message(s, "go", &error));
	while (!call)
		(void)thole_session_wait(s, 10, NULL);
	BAD(THOLE_EUSAGE, thole_call_trip(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_call_trip(call, "\xff", &error));
	memset(huge, 'x', huge_len);
	huge[huge_len] = '\0';
	BAD(THOLE_ELIMIT, thole_call_trip(call, huge, &error));
	BAD(THOLE_ELIMIT, thole_call_answer(call, huge, &error));
	free(huge);
	BAD(THOLE_EUSAGE, thole_call_answer(NULL, "1", &error));
	BAD(THOLE_EUSAGE, thole_call_answer(call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_call_answer(call, "", &error));
	BAD(THOLE_EPROTO, thole_call_answer(call, "{", &error));
	GOOD(thole_session_cancel(s, THOLE_NOW, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	assert_true(thole_call_cancelled(call)); /* with the run that it was about */
	thole_session_free(s);
	GOOD(thole_runtime_dispatch(rt, &error));
	GOOD(thole_call_trip(call, NULL, &error));
	GOOD(thole_runtime_dispatch(rt, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* What a task begins with, and what stands for a history that is too long. */
static void begin_with(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	GOOD(thole_call_answer(call, "[{\"role\":\"user\",\"content\":\"INSTEAD\"}]", &error));
}

static void one_word(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)nth;
	*(bool *)ctx = strstr(request, "INSTEAD") && !strstr(request, "really said");
	scripted_say(items, "Yes.");
}

static void histories_by_functions(void **state)
{
	static const char *const members[] = { "session_input", "compact" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		bool instead = false;
		struct scripted *model = scripted_new(one_word, &instead);
		struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
		struct thole_agent *a = agent_of("a");
		struct thole_session *s = NULL;
		int asked = 0;

		if (i == 0)
			GOOD(thole_agent_set(a, members[i], "begin_with", &error));
		else
			GOOD(thole_agent_set_json(
			    a, members[i], "{\"from\": \"begin_with\", \"items\": 2}", &error));
		GOOD(thole_agent_function(a, "begin_with", begin_with, &asked, &error));
		GOOD(thole_session_new(rt, a, NULL, &s, &error));
		GOOD(thole_session_run(s, "what I really said", &error));
		assert_int_equal(asked, i == 0);
		GOOD(thole_session_run(s, "what I really said then", &error));
		assert_string_equal(thole_session_output(s), "Yes.");
		assert_int_equal(asked, i == 0 ? 2 : 1);
		assert_true(instead);
		GOOD(thole_runtime_free(rt));
		thole_agent_free(a);
		scripted_free(model);
	}
}

/* A conversation, and what it cannot be combined with. */
static void a_conversation(void **state)
{
	struct thole_agent *a = agent_of("a");
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9/v1", "memory:");
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_agent_set_json(
	    a, "settings", "{\"conversation\": \"c\", \"previous_response_id\": \"r\"}", &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, NULL, &s, &error));
	assert_non_null(strstr(error.text, "previous_response_id and conversation"));
	thole_agent_free(a);
	a = agent_of("a");
	GOOD(thole_agent_set_json(a, "settings", "{\"conversation\": \"c\"}", &error));
	GOOD(thole_agent_set_json(a, "guardrails", "[{\"name\": \"g\", \"stage\": \"output\"}]",
				  &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, NULL, &s, &error));
	assert_non_null(strstr(error.text, "cannot be combined with output guardrails"));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
}

static void misuse(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	struct thole_agent *a = agent_of("a"), *b = agent_of("b"), *c = agent_of("b");
	struct thole_session *s = NULL;
	struct thole_agent *many;
	char name[80];
	int count = 0;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	BAD(THOLE_EUSAGE, thole_agent_member(NULL, b, &error));
	BAD(THOLE_EUSAGE, thole_agent_member(a, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_member(a, a, &error));
	GOOD(thole_agent_member(a, b, &error));
	BAD(THOLE_EEXIST, thole_agent_member(a, c, &error));
	BAD(THOLE_EUSAGE, thole_agent_member(c, a, &error));
	BAD(THOLE_EUSAGE, thole_agent_handoff(NULL, "b", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_handoff(a, NULL, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_handoff(a, "", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_handoff(a, "b", "\xff", NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_handoff(a, "b", NULL, "", &error));
	BAD(THOLE_ELIMIT, thole_agent_handoff(a, "b", NULL, name, &error));
	BAD(THOLE_EUSAGE, thole_agent_function(NULL, "f", keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_function(a, NULL, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_function(a, "", keep_call, NULL, &error));
	BAD(THOLE_ELIMIT, thole_agent_function(a, name, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_function(a, "f", NULL, NULL, &error));
	GOOD(thole_agent_function(a, "f", keep_call, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_function(a, "f", keep_call, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_agent_guardrail(NULL, "g", THOLE_STAGE_INPUT, false, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_agent_guardrail(a, NULL, THOLE_STAGE_INPUT, false, keep_call, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_agent_guardrail(a, name, THOLE_STAGE_INPUT, false, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_agent_guardrail(a, "g", (enum thole_stage)4, false, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_agent_guardrail(a, "g", THOLE_STAGE_INPUT, false, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_instructions(NULL, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_instructions(a, NULL, NULL, &error));
	/* Tools of one name in two agents are one tool, or a mistake. */
	GOOD(thole_agent_tool(a, "t", count_call, &count, NULL, &error));
	GOOD(thole_agent_tool(b, "t", count_call, &s, NULL, &error));
	BAD(THOLE_EEXIST, thole_session_new(rt, a, NULL, &s, &error));
	thole_agent_free(a);
	thole_agent_free(b);
	a = agent_of("a");
	GOOD(thole_agent_handoff(a, "nobody", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, NULL, &s, &error));
	thole_agent_free(a);
	a = agent_of("a");
	for (int i = 1; i < 64; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		many = agent_of(name);
		GOOD(thole_agent_member(a, many, &error));
		thole_agent_free(many);
	}
	BAD(THOLE_ELIMIT, thole_agent_member(a, c, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	BAD(THOLE_EPROTO, thole_agent_member(a, c, &error));
	BAD(THOLE_EPROTO, thole_agent_handoff(a, "m1", NULL, NULL, &error));
	BAD(THOLE_EPROTO, thole_agent_function(a, "f", keep_call, NULL, &error));
	BAD(THOLE_EPROTO,
	    thole_agent_guardrail(a, "g", THOLE_STAGE_INPUT, false, keep_call, NULL, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	thole_agent_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handoff),
		cmocka_unit_test(guardrails),
		cmocka_unit_test(instructions_of_each_turn),
		cmocka_unit_test(instructions_of_a_script),
		cmocka_unit_test(a_question_given_up),
		cmocka_unit_test(histories_by_functions),
		cmocka_unit_test(a_conversation),
		cmocka_unit_test(misuse),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
