/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.c - an agent with a tool that is a function of this program.
 *
 *	cc tool.c -o tool $(pkg-config --cflags --libs thole)
 *	OPENAI_API_KEY=… THOLE_MODEL=gpt-5.4 ./tool "What is the weather in Paris?"
 */
#include <stdio.h>
#include <stdlib.h>
#include <thole/thole.h>

static struct thole_error err;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "tool: %s\n", err.text);
	exit(1);
}

/* The model calls this. It may answer here, or later, from any thread. */
static void weather(void *ctx, struct thole_call *call)
{
	const char *city = thole_call_string(call, "city");
	char text[200];

	(void)ctx;
	snprintf(text, sizeof(text), "It is sunny in %s, 21 degrees.", city ? city : "the city");
	check(thole_call_done(call, text, &err));
}

int main(int argc, char **argv)
{
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_tool *tool;
	struct thole_session *session;

	check(thole_runtime_new(NULL, &rt, &err));

	check(thole_agent_new("forecaster", &agent, &err));
	check(thole_agent_set(agent, "instructions", "You answer in one sentence.", &err));
	check(thole_agent_tool(agent, "weather", weather, NULL, &tool, &err));
	check(thole_tool_describe(tool, "The weather of a city, now", &err));
	check(thole_tool_schema(tool,
				"{\"type\": \"object\","
				" \"properties\": {\"city\": {\"type\": \"string\"}},"
				" \"required\": [\"city\"], \"additionalProperties\": false}",
				true, &err));
	check(thole_tool_class(tool, THOLE_CLASS_READ, &err));

	check(thole_session_new(rt, agent, NULL, &session, &err));
	check(
	    thole_session_run(session, argc > 1 ? argv[1] : "What is the weather in Paris?", &err));
	if (thole_session_state(session) == THOLE_FINISHED)
		printf("%s\n", thole_session_output(session));
	else
		printf("%s: %s\n", thole_state_name(thole_session_state(session)),
		       thole_session_reason(session));

	thole_session_free(session);
	thole_agent_free(agent);
	thole_runtime_free(rt);
	return 0;
}
