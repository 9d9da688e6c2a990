/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.c - what ends the process: nothing is under way any more and it is to stop, nobody is there
 * for long, or its journal fails.
 */
#include <stdio.h>
#include <unistd.h>

#include "executor/state.h"

void th_exec_fatal(struct th_executor_server *x, const struct th_err *err)
{
	static bool entered;
	if (!entered) {
		entered = true;
		fprintf(stderr,
			"thole executor: %s; it stops, since nothing may be done that is not "
			"recorded\n",
			err->msg);
		x->stopping = true;
		th_exec_cancel_all(x);
	}
	_exit(3); /* what we started dies with us */
}

static void on_display_closed(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	th_tool_env_deinit(&x->env);
	th_loop_stop(x->loop); /* what is left of the link goes with the rest */
}

static void stop_next(struct th_executor_server *x)
{
	if (x->running > 0 || x->stopped)
		return;
	if (x->display) {
		x->stopped = true;
		th_display_close(x->display, on_display_closed, x);
		return;
	}
	th_loop_stop(x->loop);
}

static bool anybody_there(const struct th_executor_server *x)
{
	for (const struct th_exec_client *c = x->clients; c; c = c->next)
		if (c->greeted && !c->dead && !c->looks_on)
			return true;
	return false;
}

/* A terminal that people type into is no work of its own: with nobody there it would wait, and the
 * executor with it, for ever. */
static bool anything_done(const struct th_executor_server *x)
{
	for (const struct th_exec_effect *e = x->effects; e; e = e->next)
		if (!e->finished && !(e->tool && e->tool->input))
			return true;
	return false;
}

void th_exec_idle(struct th_executor_server *x)
{
	if (x->stopping)
		stop_next(x);
	else if ((x->running > 0 && anything_done(x)) || anybody_there(x))
		th_timer_stop(&x->linger);
	else if (!th_timer_running(&x->linger))
		th_timer_start(&x->linger, (uint64_t)x->linger_ms, 0);
}

static void on_stop_late(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	fprintf(stderr, "thole executor: something it runs did not end; it goes without\n");
	x->status = 4;
	th_loop_stop(x->loop);
}

void th_exec_stop(struct th_executor_server *x, bool remove)
{
	x->remove |= remove;
	if (x->stopping)
		return;
	x->stopping = true;
	x->server = th_sock_server_free(x->server);
	th_timer_stop(&x->linger);
	x->linger.fn = on_stop_late;
	th_timer_start(&x->linger, TH_EXEC_STOP_MS, 0);
	th_exec_cancel_all(x);
	th_loop_defer(x->loop, &x->flush);
	th_exec_idle(x);
}
