/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approval.c - what cannot be undone waits for a person, also across a restart.
 *
 *	./approval ask "Delete the backups of 2019."     says which session waits, and ends
 *	./approval approve SESSION                        a new process: runs it, once
 *	./approval reject SESSION "They are still needed."
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thole/thole.h>

static struct thole_error err;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "approval: %s\n", err.text);
	exit(1);
}

static void delete_backups(void *ctx, struct thole_call *call)
{
	(void)ctx;
	printf("deleting the backups of %lld\n", (long long)thole_call_integer(call, "year", 0));
	check(thole_call_done(call, "deleted", &err));
}

static struct thole_agent *operator_agent(void)
{
	struct thole_agent *agent;
	struct thole_tool *tool;

	check(thole_agent_new("operator", &agent, &err));
	check(thole_agent_tool(agent, "delete_backups", delete_backups, NULL, &tool, &err));
	check(thole_tool_schema(tool,
				"{\"type\": \"object\","
				" \"properties\": {\"year\": {\"type\": \"integer\"}},"
				" \"required\": [\"year\"], \"additionalProperties\": false}",
				true, &err));
	check(thole_tool_class(tool, THOLE_CLASS_IRREVERSIBLE, &err));
	return agent;
}

/* A call waits: say what it would do. */
static void on_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	(void)ctx;
	printf("session %s waits: %s %s (%s)\n", thole_session_id(session), thole_note_name(note),
	       thole_note_json(note), thole_note_text(note));
}

int main(int argc, char **argv)
{
	const char *command = argc > 2 ? argv[1] : "";
	bool ask = strcmp(command, "ask") == 0, reject = strcmp(command, "reject") == 0;
	struct thole_agent *agent;
	struct thole_runtime *rt;
	struct thole_session *session;

	if (!ask && !reject && strcmp(command, "approve") != 0) {
		fprintf(stderr,
			"usage: approval ask TEXT | approve SESSION | reject SESSION [WHY]\n");
		return 2;
	}
	agent = operator_agent();
	check(thole_runtime_new(NULL, &rt, &err));
	if (ask) {
		check(thole_session_new(rt, agent, NULL, &session, &err));
		check(thole_session_watch(session, THOLE_NOTE_ASK, on_note, NULL, &err));
		check(thole_session_run(session, argv[2], &err));
	} else if (reject) {
		check(thole_session_open(rt, agent, argv[2], &session, &err));
		check(thole_session_reject(session, NULL, "me", argc > 3 ? argv[3] : NULL, &err));
		check(thole_session_wait(session, -1, &err));
	} else {
		check(thole_session_open(rt, agent, argv[2], &session, &err));
		check(thole_session_approve(session, NULL, "me", &err));
		check(thole_session_wait(session, -1, &err));
	}
	if (thole_session_state(session) == THOLE_FINISHED)
		printf("%s\n", thole_session_output(session));

	thole_session_free(session);
	thole_agent_free(agent);
	thole_runtime_free(rt);
	return 0;
}
