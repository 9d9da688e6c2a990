/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - the answer as it is written, and the steps of the run.
 *
 *	./stream "Tell me about oars."
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
	fprintf(stderr, "stream: %s\n", err.text);
	exit(1);
}

static void on_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	(void)ctx;
	(void)session;
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_DELTA:
		if (strcmp(thole_note_name(note), "text") == 0)
			printf("%s|", thole_note_text(note));
		fflush(stdout);
		break;
	case THOLE_NOTE_AGENT:
		printf("agent: %s\n", thole_note_name(note));
		break;
	case THOLE_NOTE_ITEM:
		printf("\n[%s] %s\n", thole_note_name(note), thole_note_text(note));
		break;
	case THOLE_NOTE_REST:
		printf("%s\n", thole_note_name(note));
		break;
	}
}

int main(int argc, char **argv)
{
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *session;

	check(thole_runtime_new(NULL, &rt, &err));
	check(thole_agent_new("teller", &agent, &err));
	check(thole_session_new(rt, agent, NULL, &session, &err));
	check(thole_session_watch(
	    session, THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT | THOLE_NOTE_REST,
	    on_note, NULL, &err));
	check(thole_session_run(session, argc > 1 ? argv[1] : "Tell me about oars.", &err));

	thole_session_free(session);
	thole_agent_free(agent);
	thole_runtime_free(rt);
	return 0;
}
