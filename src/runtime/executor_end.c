/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_end.c - executors whose session is over: each is told to end, and the loop goes on
 * meanwhile.  What one runs may take its time to die.
 *
 * One that does not answer ends itself when nobody comes back, so a failure is nobody's to mend.
 */
#include <stdlib.h>

#include "runtime/internal.h"

struct th_runtime_ending {
	struct th_runtime_ending *next;
	struct th_runtime *rt;
	struct th_executor_client *client;
	struct th_deferred gone; /* not inside the client's own call */
	struct th_buf session, far;
	int64_t epoch;
};

static void ending_free(struct th_runtime_ending *e)
{
	struct th_runtime_ending **at = &e->rt->endings;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	th_loop_undefer(e->rt->loop, &e->gone);
	th_executor_client_free(e->client);
	th_buf_deinit(&e->session);
	th_buf_deinit(&e->far);
	free(e);
}

static void on_gone(void *ctx)
{
	ending_free(ctx);
}

static void on_ended(void *ctx, const struct th_err *err)
{
	struct th_runtime_ending *e = ctx;

	(void)err;
	th_loop_defer(e->rt->loop, &e->gone);
}

static struct th_executor_options options_of(const struct th_runtime *rt, struct th_str session,
					     int64_t epoch, struct th_str far)
{
	return (struct th_executor_options){
		.session = session,
		.scope = th_buf_str(&rt->scope),
		.epoch = epoch,
		.place = rt->far_tls ? far : TH_STR(""),
		.tls = rt->far_tls,
		.only_running = true,
	};
}

void th_runtime_executor_end(struct th_runtime *rt, struct th_str session, int64_t epoch,
			     struct th_str far)
{
	struct th_executor_options o = options_of(rt, session, epoch, far);
	struct th_runtime_ending *e = th_alloc(sizeof(*e));
	struct th_err ignored;

	*e = (struct th_runtime_ending){ .rt = rt, .next = rt->endings, .epoch = epoch };
	e->gone = (struct th_deferred){ .fn = on_gone, .ctx = e };
	th_buf_init(&e->session, TH_SESSION_ID_MAX + 1);
	th_buf_add(&e->session, session);
	th_buf_init(&e->far, TH_FLEET_TEXT_MAX + 1);
	th_buf_add(&e->far, far);
	rt->endings = e;
	if (th_executor_client_new(rt->loop, &o, &e->client, &ignored))
		ending_free(e);
	else
		th_executor_client_end(e->client, on_ended, e);
}

void th_runtime_executor_removed(struct th_runtime *rt, struct th_str session, int64_t epoch,
				 struct th_str place)
{
	bool away = rt->far_tls && place.len && !th_str_is(place, rt->here);

	th_runtime_executor_end(rt, session, away ? epoch : 0, away ? place : TH_STR(""));
}

void th_runtime_executor_ended(struct th_runtime *rt, struct th_str session)
{
	struct th_runtime_ending *e = rt->endings, *next;
	struct th_err ignored;

	for (; e; e = next) {
		struct th_executor_options o =
		    options_of(rt, th_buf_str(&e->session), e->epoch, th_buf_str(&e->far));

		next = e->next;
		if (session.len && !th_str_eq(session, o.session))
			continue;
		e->client = th_executor_client_free(e->client);
		(void)(th_executor_client_end_once(&o, &ignored) == TH_OK);
		ending_free(e);
	}
}
