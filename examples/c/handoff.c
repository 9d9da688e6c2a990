/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handoff.c - a desk that hands over to billing, and a check before anything is paid back.
 *
 *	./handoff "Please pay me back 20 euros."
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <thole/thole.h>

static struct thole_error err;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "handoff: %s\n", err.text);
	exit(1);
}

static void refund(void *ctx, struct thole_call *call)
{
	(void)ctx;
	printf("paying back %lld\n", (long long)thole_call_integer(call, "euros", 0));
	check(thole_call_done(call, "paid back", &err));
}

/* Asked before a call of billing runs, with the call as JSON. */
static void no_large_sums(void *ctx, struct thole_call *call)
{
	int64_t euros = thole_call_integer(call, "arguments.euros", 0);

	(void)ctx;
	if (euros >= 1 && euros <= 20)
		check(thole_call_done(call, NULL, &err));
	else
		check(thole_call_trip(call, "only up to 20 euros without a word", &err));
}

static void on_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	(void)ctx;
	(void)session;
	printf("agent: %s\n", thole_note_name(note));
}

int main(int argc, char **argv)
{
	struct thole_runtime *rt;
	struct thole_agent *desk, *billing;
	struct thole_tool *tool;
	struct thole_session *session;

	check(thole_runtime_new(NULL, &rt, &err));

	check(thole_agent_new("billing", &billing, &err));
	check(thole_agent_set(billing, "instructions", "You pay back what was asked for.", &err));
	check(thole_agent_tool(billing, "refund", refund, NULL, &tool, &err));
	check(thole_tool_describe(tool, "Pays so many euros back, at once", &err));
	check(thole_tool_schema(tool,
				"{\"type\": \"object\","
				" \"properties\": {\"euros\": {\"type\": \"integer\"}},"
				" \"required\": [\"euros\"], \"additionalProperties\": false}",
				true, &err));
	check(thole_agent_guardrail(billing, "no_large_sums", THOLE_STAGE_TOOL_INPUT, true,
				    no_large_sums, NULL, &err));

	check(thole_agent_new("desk", &desk, &err));
	check(thole_agent_member(desk, billing, &err));
	check(thole_agent_handoff(desk, "billing", "For everything about money", NULL, &err));

	check(thole_session_new(rt, desk, NULL, &session, &err));
	check(thole_session_watch(session, THOLE_NOTE_AGENT, on_note, NULL, &err));
	check(
	    thole_session_run(session, argc > 1 ? argv[1] : "Please pay me back 20 euros.", &err));
	if (thole_session_state(session) == THOLE_FINISHED)
		printf("%s\n", thole_session_output(session));
	else
		printf("%s: %s\n", thole_state_name(thole_session_state(session)),
		       thole_session_reason(session));

	thole_session_free(session);
	thole_agent_free(billing);
	thole_agent_free(desk);
	thole_runtime_free(rt);
	return 0;
}
