/* SPDX-License-Identifier: Apache-2.0 */
/* drive.c - the runtime inside the server's loop: it is called when it has something to do. */
#include "server/service.h"

static void run_runtime(void *ctx)
{
	struct th_server *s = ctx;
	struct thole_error e;
	struct th_err err = {};
	int timeout;

	if (s->failed)
		return;
	if (thole_runtime_dispatch(s->rt, &e) != 0) {
		s->failed = true;
		(void)th_fail(&err, TH_EIO, "%s", e.text);
		s->o.on_failure(s->o.ctx, &err);
		return;
	}
	timeout = thole_runtime_timeout_ms(s->rt);
	if (timeout == 0)
		th_loop_defer(s->loop, &s->kick);
	else if (timeout > 0)
		th_timer_start(&s->rt_timer, (uint64_t)timeout, 0);
	else
		th_timer_stop(&s->rt_timer);
}

/* Once in a pass, behind what came for others. */
static void on_runtime(void *ctx, unsigned events)
{
	(void)events;
	th_server_kick(ctx);
}

void th_server_kick(struct th_server *s)
{
	th_loop_defer(s->loop, &s->kick);
}

enum th_code th_drive_begin(struct th_server *s, struct th_err *err)
{
	enum th_code code;

	s->kick = (struct th_deferred){ .fn = run_runtime, .ctx = s, .last = true };
	th_timer_init(&s->rt_timer, s->loop, run_runtime, s);
	code = th_poll_new(s->loop, thole_runtime_fd(s->rt), on_runtime, s, &s->rt_poll, err);
	if (!code)
		th_poll_set(s->rt_poll, TH_POLL_READ);
	return code;
}

void th_drive_end(struct th_server *s)
{
	s->rt_poll = th_poll_free(s->rt_poll);
	th_timer_stop(&s->rt_timer);
	th_loop_undefer(s->loop, &s->kick);
}
