/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches a run, in which order, and who decides in a person's place. */
#include "json_says.h"
#include "rig.h"

/* ---- scripts ---- */

static void uses_then_hands_over(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "You are the desk.") && !strstr(request, "\"call_id\":\"c1\"")) {
		scripted_say(items, "Let me see.");
		scripted_call(items, "c1", "look", "{\"at\":\"desk\"}");
	} else if (strstr(request, "You are the desk.")) {
		scripted_call(items, "h1", "transfer_to_billing", "{}");
	} else {
		scripted_say(items, "You owe us 7.");
	}
}

static void asks_for_danger(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	switch (scripted_count(request, "function_call_output")) {
	case 0:
		scripted_call(items, "d1", "danger", "{\"level\":9}");
		break;
	case 1:
		scripted_call(items, "d2", "danger", "{\"level\":10}");
		break;
	default:
		scripted_say(items, strstr(request, "too high") ? "Not that high." : "Done.");
	}
}

/* ---- functions ---- */

static void count_call(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	GOOD(thole_call_done(call, "all went well", &error));
}

static void pass(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	GOOD(thole_call_done(call, NULL, &error));
}

static void keep_call(void *ctx, struct thole_call *call)
{
	*(struct thole_call **)ctx = call;
}

static void nothing(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	(void)ctx;
	(void)s;
	(void)n;
}

struct kept {
	struct thole_call *calls[8];
	size_t count;
};

static void keep_all(void *ctx, struct thole_call *call)
{
	struct kept *kept = ctx;

	assert_true(kept->count < 8);
	kept->calls[kept->count++] = call;
}

struct seen {
	char names[2000], last[2000];
};

static void add_name(struct seen *seen, const char *of, const char *name)
{
	size_t len = strlen(seen->names);

	snprintf(seen->names + len, sizeof(seen->names) - len, "%s%s%s", len ? " " : "", of, name);
}

static void run_hook(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct seen *seen = ctx;

	assert_int_equal(thole_note_kind(n), THOLE_NOTE_HOOK);
	assert_string_equal(thole_session_id(s), "s");
	assert_true(thole_note_seq(n) > 0);
	add_name(seen, thole_note_text(n), ":");
	strcat(seen->names, thole_note_name(n));
	snprintf(seen->last, sizeof(seen->last), "%s %s", thole_note_id(n) ? thole_note_id(n) : "-",
		 thole_note_json(n));
}

static void own_hook(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	(void)s;
	add_name(ctx, "own ", thole_note_name(n));
	if (strcmp(thole_note_name(n), "tool_end") == 0)
		assert_json_text(thole_note_json(n), "output", "all went well");
}

static void note(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->names);

	(void)s;
	if (thole_note_kind(n) != THOLE_NOTE_DELTA)
		add_name(seen, "", thole_note_name(n));
	else if (len < 5 || strcmp(seen->names + len - 5, "delta") != 0)
		add_name(seen, "", "delta");
}

/* ---- tests ---- */

static struct thole_agent *desk_and_billing(int *looks)
{
	struct thole_agent *desk = agent_of("desk"), *billing = agent_of("billing");

	GOOD(thole_agent_set(desk, "instructions", "You are the desk.", &error));
	GOOD(thole_agent_set(billing, "instructions", "You are billing.", &error));
	GOOD(thole_agent_tool(desk, "look", count_call, looks, NULL, &error));
	GOOD(thole_agent_member(desk, billing, &error));
	GOOD(thole_agent_handoff(desk, "billing", NULL, NULL, &error));
	thole_agent_free(billing);
	return desk;
}

static void hooks_of_a_team(void **state)
{
	struct scripted *model = scripted_new(uses_then_hands_over, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct seen seen = { .names = "" };
	int looks = 0;
	struct thole_agent *desk = desk_and_billing(&looks);
	struct thole_session *s = NULL;

	(void)state;
	for (int h = THOLE_HOOK_AGENT_START; h <= THOLE_HOOK_TOOL_END; h++)
		GOOD(thole_agent_hook(desk, (enum thole_hook)h, true, run_hook, &seen, &error));
	GOOD(thole_agent_hook(desk, THOLE_HOOK_TOOL_END, false, own_hook, &seen, &error));
	GOOD(thole_agent_hook(desk, THOLE_HOOK_AGENT_END, false, own_hook, &seen, &error));
	GOOD(thole_session_new(rt, desk, "s", &s, &error));
	GOOD(thole_session_run(s, "What do I owe?", &error));
	assert_string_equal(thole_session_output(s), "You owe us 7.");
	assert_string_equal(
	    seen.names,
	    "desk:agent_start desk:llm_start desk:llm_end desk:tool_start desk:tool_end own "
	    "tool_end "
	    "desk:llm_start desk:llm_end desk:handoff billing:agent_start billing:llm_start "
	    "billing:llm_end billing:agent_end");
	assert_json_text(strchr(seen.last, '{'), "output", "You owe us 7.");
	assert_int_equal(looks, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(desk);
	scripted_free(model);
}

static void delegates(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "You are the checker."))
		scripted_say(items, "It is good.");
	else if (!strstr(request, "\"call_id\":\"l1\""))
		scripted_call(items, "l1", "check", "{\"input\":\"this\"}");
	else
		scripted_say(items, "All is well.");
}

/* A member that is a tool brings its own functions along, and is watched with the team. */
static void functions_of_a_delegate(void **state)
{
	struct scripted *model = scripted_new(delegates, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *lead = agent_of("lead"), *checker = agent_of("checker");
	struct thole_session *s = NULL;
	struct seen seen = { .names = "" };
	int checked = 0;

	(void)state;
	GOOD(thole_agent_set(checker, "instructions", "You are the checker.", &error));
	GOOD(thole_agent_hook(checker, THOLE_HOOK_AGENT_START, false, own_hook, &seen, &error));
	GOOD(thole_agent_hook(checker, THOLE_HOOK_AGENT_END, false, own_hook, &seen, &error));
	GOOD(thole_agent_guardrail(checker, "good", THOLE_STAGE_OUTPUT, false, pass, &checked,
				   &error));
	GOOD(thole_agent_hook(lead, THOLE_HOOK_TOOL_START, false, own_hook, &seen, &error));
	GOOD(thole_agent_hook(lead, THOLE_HOOK_LLM_END, true, own_hook, &seen, &error));
	GOOD(thole_agent_member(lead, checker, &error));
	GOOD(thole_agent_delegate(lead, "check", "checker", "Checks", NULL, 3, &error));
	GOOD(thole_session_new(rt, lead, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	if (thole_session_state(s) != THOLE_FINISHED)
		fail_msg("%s", thole_session_reason(s));
	assert_string_equal(thole_session_output(s), "All is well.");
	assert_string_equal(seen.names, "own llm_end own tool_start own agent_start own llm_end "
					"own agent_end own llm_end");
	assert_int_equal(checked, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(lead);
	thole_agent_free(checker);
	scripted_free(model);
}

/* A function that the definition names answers like any other; what it says is nobody's. */
static void a_hook_by_its_name(void **state)
{
	struct scripted *model = scripted_new(asks_for_danger, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	struct kept slow = { .count = 0 };
	int runs = 0, told = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "danger", count_call, &runs, NULL, &error));
	GOOD(thole_agent_set_json(
	    a, "hooks", "{\"tool_start\":\"watch\",\"llm_start\":\"slow\",\"fail\":true}", &error));
	GOOD(thole_agent_function(a, "watch", count_call, &told, &error));
	GOOD(thole_agent_function(a, "slow", keep_all, &slow, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	/* Nobody waits for the slow one: all is over before it answers. */
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_int_equal(runs, 2);
	assert_int_equal(told, 2);
	assert_int_equal(slow.count, 3);
	BAD(THOLE_EUSAGE, thole_call_trip(slow.calls[0], NULL, &error));
	BAD(THOLE_EUSAGE, thole_call_approve(slow.calls[0], &error));
	for (size_t i = 0; i < slow.count; i++)
		GOOD(thole_call_fail(slow.calls[i], "too late", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

static void free_it(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	(void)n;
	++*(int *)ctx;
	thole_session_free(s);
}

static void a_session_given_back_in_a_hook(void **state)
{
	struct scripted *model = scripted_new(asks_for_danger, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	int told = 0;

	(void)state;
	GOOD(thole_agent_hook(a, THOLE_HOOK_AGENT_START, true, free_it, &told, &error));
	GOOD(thole_agent_hook(a, THOLE_HOOK_AGENT_START, false, free_it, &told, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_message(s, "go", &error));
	while (thole_runtime_sessions(rt) > 0)
		GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(told, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* Deltas, then the items of the answer in its order, then what calls led to; agents as they change.
 */
static void what_is_streamed(void **state)
{
	struct scripted *model = scripted_new(uses_then_hands_over, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct seen seen = { .names = "" };
	int looks = 0;
	struct thole_agent *desk = desk_and_billing(&looks);
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_session_new(rt, desk, NULL, &s, &error));
	GOOD(thole_session_watch(s,
				 THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT |
				     THOLE_NOTE_ASK | THOLE_NOTE_REST,
				 note, &seen, &error));
	GOOD(thole_session_run(s, "What do I owe?", &error));
	assert_string_equal(seen.names, "desk delta message_output_created tool_called tool_output "
					"handoff_requested handoff_occurred billing delta "
					"message_output_created finished");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(desk);
	scripted_free(model);
}

struct cancelling {
	struct seen seen;
	enum thole_when when;
	bool done;
	int later; /* deltas since */
};

static void cancel_at_delta(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct cancelling *c = ctx;

	note(&c->seen, s, n);
	c->later += c->done && thole_note_kind(n) == THOLE_NOTE_DELTA;
	if (c->done || thole_note_kind(n) != THOLE_NOTE_DELTA)
		return;
	c->done = true;
	GOOD(thole_session_cancel(s, c->when, &error));
}

/* Stopped in the middle of a stream: now, or when the turn has all its results. */
static void a_stream_cancelled(void **state)
{
	static const char *const wanted[] = {
		[THOLE_NOW] = "desk delta stopped",
		[THOLE_AFTER_TURN] =
		    "desk delta message_output_created tool_called tool_output stopped",
	};

	(void)state;
	for (int when = THOLE_NOW; when <= THOLE_AFTER_TURN; when++) {
		struct scripted *model = scripted_new(uses_then_hands_over, NULL);
		struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
		struct cancelling c = { .when = (enum thole_when)when };
		int looks = 0;
		struct thole_agent *desk = desk_and_billing(&looks);
		struct thole_session *s = NULL;

		GOOD(thole_session_new(rt, desk, NULL, &s, &error));
		GOOD(thole_session_watch(
		    s, THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT | THOLE_NOTE_REST,
		    cancel_at_delta, &c, &error));
		GOOD(thole_session_run(s, "What do I owe?", &error));
		if (thole_session_state(s) != THOLE_STOPPED)
			fail_msg("%s", c.seen.names);
		/* A whole answer may have come before it was said. */
		if (when == THOLE_AFTER_TURN)
			assert_string_equal(c.seen.names, wanted[when]);
		else
			assert_int_equal(strncmp(c.seen.names, "desk delta", 10), 0);
		if (when == THOLE_NOW)
			assert_int_equal(c.later, 0);
		else
			assert_true(c.later > 0);
		assert_null(thole_session_output(s));
		assert_int_equal(scripted_requests(model), 1);
		GOOD(thole_session_run(s, NULL, &error));
		assert_string_equal(thole_session_output(s), "You owe us 7.");
		GOOD(thole_runtime_free(rt));
		thole_agent_free(desk);
		scripted_free(model);
	}
}

/* ---- decisions ---- */

static void decide_by_level(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	assert_string_equal(thole_call_string(call, "tool"), "danger");
	assert_non_null(thole_call_string(call, "reason"));
	if (strstr(thole_call_arguments(call), "\"level\":9"))
		GOOD(thole_call_approve(call, &error));
	else
		GOOD(thole_call_reject(call, "too high", &error));
}

static void approvals_by_a_function(void **state)
{
	struct scripted *model = scripted_new(asks_for_danger, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct seen seen = { .names = "" };
	int runs = 0, asked = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "danger", count_call, &runs, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_agent_approvals(a, decide_by_level, &asked, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_REST, note, &seen, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_string_equal(thole_session_output(s), "Not that high.");
	assert_string_equal(seen.names, "finished"); /* it never waited */
	assert_int_equal(asked, 2);
	assert_int_equal(runs, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

static void leave_it(void *ctx, struct thole_call *call)
{
	char *huge = malloc(((size_t)1 << 20) + 2);

	memset(huge, 'x', ((size_t)1 << 20) + 1);
	huge[((size_t)1 << 20) + 1] = '\0';
	BAD(THOLE_ELIMIT, thole_call_reject(call, huge, &error)); /* and it still waits */
	free(huge);
	++*(int *)ctx;
	GOOD(thole_call_done(call, "I do not know", &error));
}

/* What it leaves, a person decides: here once for all. */
static void approvals_for_good(void **state)
{
	struct scripted *model = scripted_new(asks_for_danger, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	int runs = 0, asked = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "danger", count_call, &runs, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_agent_approvals(a, leave_it, &asked, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	BAD(THOLE_ENOENT, thole_session_approve_always(s, NULL, NULL, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	assert_int_equal(asked, 1);
	BAD(THOLE_EUSAGE, thole_session_approve_always(s, "\xff", NULL, &error));
	BAD(THOLE_ENOENT, thole_session_reject_always(s, "d9", NULL, NULL, &error));
	GOOD(thole_session_approve_always(s, "d1", "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "Done.");
	assert_int_equal(runs, 2);
	assert_int_equal(asked, 1);
	thole_session_free(s);

	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	BAD(THOLE_EUSAGE, thole_session_reject_always(s, NULL, NULL, "\xff", &error));
	GOOD(thole_session_reject_always(s, NULL, "me", "the level is too high", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "Not that high.");
	assert_int_equal(runs, 2);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* ---- misuse ---- */

static void misuse(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	struct thole_agent *a = agent_of("a"), *b = agent_of("b"), *c = agent_of("c");
	struct thole_session *s = NULL;

	(void)state;
	BAD(THOLE_EUSAGE, thole_agent_hook(NULL, THOLE_HOOK_LLM_END, false, nothing, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_hook(a, (enum thole_hook)7, false, nothing, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_hook(a, (enum thole_hook) - 1, false, nothing, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_hook(a, THOLE_HOOK_LLM_END, false, NULL, NULL, &error));
	GOOD(thole_agent_hook(a, THOLE_HOOK_LLM_END, false, nothing, NULL, &error));
	GOOD(thole_agent_hook(a, THOLE_HOOK_LLM_END, true, nothing, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_hook(a, THOLE_HOOK_LLM_END, false, nothing, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_hook(a, THOLE_HOOK_LLM_END, true, nothing, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_approvals(NULL, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_approvals(a, NULL, NULL, &error));
	GOOD(thole_agent_approvals(a, keep_call, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_approvals(a, keep_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_call_approve(NULL, &error));
	BAD(THOLE_EUSAGE, thole_call_reject(NULL, "no", &error));
	BAD(THOLE_EUSAGE, thole_session_approve_always(NULL, "c", "by", &error));
	BAD(THOLE_EUSAGE, thole_session_reject_always(NULL, "c", "by", "no", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "hooks", "{\"tool_begin\":\"f\"}", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "hooks", "{\"tool_start\":\"\"}", &error));
	/* Only who begins may watch all. */
	GOOD(thole_agent_hook(b, THOLE_HOOK_LLM_END, true, nothing, NULL, &error));
	GOOD(thole_agent_member(c, b, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, c, NULL, &s, &error));
	assert_non_null(strstr(error.text, "run_hooks"));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	BAD(THOLE_EPROTO, thole_agent_hook(a, THOLE_HOOK_LLM_START, false, nothing, NULL, &error));
	BAD(THOLE_EPROTO, thole_agent_approvals(a, keep_call, NULL, &error));
	/* What only hooks are told cannot be asked for. */
	BAD(THOLE_EUSAGE, thole_session_watch(s, THOLE_NOTE_HOOK, nothing, NULL, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	thole_agent_free(b);
	thole_agent_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_of_a_team),
		cmocka_unit_test(functions_of_a_delegate),
		cmocka_unit_test(a_hook_by_its_name),
		cmocka_unit_test(a_session_given_back_in_a_hook),
		cmocka_unit_test(what_is_streamed),
		cmocka_unit_test(a_stream_cancelled),
		cmocka_unit_test(approvals_by_a_function),
		cmocka_unit_test(approvals_for_good),
		cmocka_unit_test(misuse),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
