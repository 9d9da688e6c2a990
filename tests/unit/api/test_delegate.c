/* SPDX-License-Identifier: Apache-2.0 */
/* A member of the team as a tool: its functions, its questions, what it is given wrong. */
#include "rig.h"

/* The lead asks for a check; the checker uses its tool and answers. */
static void delegates(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "You are the checker.") && !strstr(request, "\"call_id\":\"k1\""))
		scripted_call(items, "k1", "pay", "{}");
	else if (strstr(request, "You are the checker."))
		scripted_say(items,
			     strstr(request, "paid in full") ? "It was paid." : "It was not.");
	else if (!strstr(request, "\"call_id\":\"l1\""))
		scripted_call(items, "l1", "check", "{\"input\":\"the bill\"}");
	else
		scripted_say(items, strstr(request, "It was paid.") ? "All is well." : "We owe.");
}

static char worked_in[256];

static void pay(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	snprintf(worked_in, sizeof(worked_in), "%s", thole_call_session_id(call));
	GOOD(thole_call_done(call, "paid in full", &error));
}

static struct thole_agent *team(int *paid)
{
	struct thole_agent *lead = agent_of("lead"), *checker = agent_of("checker");
	struct thole_tool *tool = NULL;

	GOOD(thole_agent_set(lead, "instructions", "You are the lead.", &error));
	GOOD(thole_agent_set(checker, "instructions", "You are the checker.", &error));
	GOOD(thole_agent_tool(checker, "pay", pay, paid, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_agent_member(lead, checker, &error));
	GOOD(thole_agent_delegate(lead, "check", "checker", "Checks a bill", NULL, 3, &error));
	thole_agent_free(checker);
	return lead;
}

struct asked {
	int count;
	char id[32], tool[32];
};

static void note(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct asked *a = ctx;

	(void)s;
	a->count++;
	snprintf(a->id, sizeof(a->id), "%s", thole_note_id(n));
	snprintf(a->tool, sizeof(a->tool), "%s", thole_note_name(n));
}

static void asks_through_its_parent(bool approve, const char *output)
{
	struct scripted *model = scripted_new(delegates, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	int paid = 0;
	struct thole_agent *lead = team(&paid);
	struct thole_session *s = NULL;
	struct asked asked = { 0 };

	GOOD(thole_session_new(rt, lead, "bill", &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_ASK, note, &asked, &error));
	GOOD(thole_session_run(s, "Check the bill", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	assert_string_equal(thole_session_waits_for(s), "bill.6/k1");
	assert_int_equal(asked.count, 1);
	assert_string_equal(asked.id, "bill.6/k1");
	assert_string_equal(asked.tool, "pay");
	BAD(THOLE_ENOENT, thole_session_approve(s, "k2", "me", &error));
	BAD(THOLE_ENOENT, thole_session_approve(s, "bill.7/k1", "me", &error));
	BAD(THOLE_ENOENT, thole_session_approve(s, "bill.6k1", "me", &error));
	if (approve)
		GOOD(thole_session_approve(s, asked.id, "me", &error));
	else
		GOOD(thole_session_reject(s, NULL, "me", "too dear", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_string_equal(thole_session_output(s), output);
	assert_int_equal(paid, approve);
	if (approve)
		assert_string_equal(worked_in, "bill.6");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(lead);
	scripted_free(model);
}

static void a_person_is_asked_through_the_parent(void **state)
{
	(void)state;
	asks_through_its_parent(true, "All is well.");
	asks_through_its_parent(false, "We owe.");
}

/* The parent is given back while the other one waits: both go, in that order or the other. */
static void it_goes_with_its_parent(void **state)
{
	struct scripted *model = scripted_new(delegates, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	int paid = 0;
	struct thole_agent *lead = team(&paid);
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_session_new(rt, lead, "bill", &s, &error));
	GOOD(thole_session_run(s, "Check the bill", &error));
	thole_session_free(s);
	GOOD(thole_session_open(rt, lead, "bill", &s, &error));
	GOOD(thole_session_approve(s, "k1", "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "All is well.");
	assert_int_equal(paid, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(lead);
	scripted_free(model);
}

static void what_is_wrong(void **state)
{
	struct thole_agent *a = agent_of("a"), *b = agent_of("b");
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9/v1", "memory:");
	struct thole_session *s = NULL;
	char name[200];
	int paid = 0;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	BAD(THOLE_EUSAGE, thole_agent_delegate(NULL, "t", "b", NULL, NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, NULL, "b", NULL, NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "", "b", NULL, NULL, 0, &error));
	BAD(THOLE_ELIMIT, thole_agent_delegate(a, name, "b", NULL, NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t t", "b", NULL, NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t", NULL, NULL, NULL, 0, &error));
	BAD(THOLE_ELIMIT, thole_agent_delegate(a, "t", name, NULL, NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t", "b", "\xff", NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t", "b", NULL, "", 0, &error));
	BAD(THOLE_EPROTO, thole_agent_delegate(a, "t", "b", NULL, "{", 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t", "b", NULL, "[]", 0, &error));
	BAD(THOLE_EUSAGE, thole_agent_delegate(a, "t", "b", NULL, NULL, -1, &error));
	GOOD(thole_agent_tool(a, "f", pay, &paid, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_delegate(a, "f", "b", NULL, NULL, 0, &error));
	GOOD(thole_agent_delegate(a, "t", "b", NULL, "{\"type\":\"object\"}", 0, &error));
	BAD(THOLE_EEXIST, thole_agent_delegate(a, "t", "b", NULL, NULL, 0, &error));
	/* There is no such agent. */
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, NULL, &s, &error));
	thole_agent_free(a);
	a = agent_of("a");
	GOOD(thole_agent_member(a, b, &error));
	for (int i = 0; i < 128; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		GOOD(thole_agent_delegate(a, name, "b", NULL, NULL, 0, &error));
	}
	BAD(THOLE_ELIMIT, thole_agent_delegate(a, "t128", "b", NULL, NULL, 0, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	BAD(THOLE_EPROTO, thole_agent_delegate(a, "t", "b", NULL, NULL, 0, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	thole_agent_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_is_asked_through_the_parent),
		cmocka_unit_test(it_goes_with_its_parent),
		cmocka_unit_test(what_is_wrong),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
