/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.c - a thousand sessions at once, inside this program's own event loop.
 *
 *	./sessions 1000
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <thole/thole.h>

static struct thole_error err;
static int running, finished;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "sessions: %s\n", err.text);
	exit(1);
}

static void lookup(void *ctx, struct thole_call *call)
{
	(void)ctx;
	check(thole_call_done(call, "42", &err));
}

/* A session rests: count it, and give it back. It stays in the store. */
static void on_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	(void)ctx;
	(void)note;
	running--;
	if (thole_session_state(session) == THOLE_FINISHED)
		finished++;
	else
		fprintf(stderr, "%s\n", thole_session_reason(session));
	thole_session_free(session);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000;
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *session;

	check(thole_runtime_new(NULL, &rt, &err));
	check(thole_agent_new("clerk", &agent, &err));
	check(thole_agent_tool(agent, "lookup", lookup, NULL, NULL, &err));
	for (running = 0; running < count; running++) {
		check(thole_session_new(rt, agent, NULL, &session, &err));
		check(thole_session_watch(session, THOLE_NOTE_REST, on_note, NULL, &err));
		check(thole_session_message(session, "What is the answer?", &err));
	}
	while (running > 0) {
		struct pollfd fd = { thole_runtime_fd(rt), POLLIN, 0 };

		poll(&fd, 1, thole_runtime_timeout_ms(rt));
		check(thole_runtime_dispatch(rt, &err));
	}
	printf("%d of %d sessions finished\n", finished, count);

	thole_agent_free(agent);
	thole_runtime_free(rt);
	return finished == count ? 0 : 1;
}
