/* SPDX-License-Identifier: Apache-2.0 */
/* response_wire.c - a WebSocket of the Responses API: its beginning and its end. */
#include <stdlib.h>

#include "model_api/response_lanes.h"

void th_lanes_free(struct th_lanes *s)
{
	struct th_lane *l;

	th_timer_stop(&s->limit);
	th_loop_undefer(s->server->loop, &s->closing);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	while ((l = s->first)) {
		s->first = l->next;
		th_lane_free(l);
	}
	free(s->making.body);
	free(s);
}

static void on_gone(struct th_access *a)
{
	struct th_lanes *s = a->ctx;

	s->gone = true;
	a->gone = NULL; /* it is told once */
	a->message = NULL;
	for (struct th_lane *l = s->first; l; l = l->next) {
		if (l->now)
			th_response_gone(l->now);
		th_response_pass_free(l->passed);
		l->passed = NULL;
	}
	th_needs_forget(&a->needs);
	if (s->making.load)
		th_stored_load_cancel(s->making.load);
	th_stored_deinit(&s->making.before);
	th_hubs_let_go(a->server, s);
	if (!s->busy)
		th_lanes_free(s);
}

/* ---- its end ---- */

void th_lanes_enter(struct th_lanes *s)
{
	s->busy++;
}

void th_lanes_leave(struct th_lanes *s)
{
	if (--s->busy)
		return;
	if (s->gone) {
		th_lanes_free(s);
	} else if (s->close) {
		struct th_http_request *r = s->access->request;
		unsigned code = s->close;

		on_gone(s->access); /* the access ends with the socket */
		th_http_close(r, code);
	}
}

void th_lanes_end_if_due(struct th_lanes *s)
{
	bool works = s->making.lane != NULL, server_ends = s->server->finishing;

	for (const struct th_lane *l = s->first; l; l = l->next)
		works |= l->now || l->passed;
	if (works || s->gone || s->close || !(s->ended || server_ends))
		return;
	s->close = server_ends ? 1001 : 1000;
	if (server_ends)
		return;
	th_lanes_fault(s, "", 400, "websocket_connection_limit_reached",
		       "a connection lasts for 60 minutes: open another one");
}

static void on_closing(void *ctx)
{
	struct th_lanes *s = ctx;

	th_lanes_enter(s);
	th_lanes_leave(s);
}

static void on_limit(void *ctx)
{
	struct th_lanes *s = ctx;

	th_lanes_enter(s);
	s->ended = true;
	th_lanes_end_if_due(s);
	th_lanes_leave(s);
}

void th_v1_sockets_finish(struct th_server *server)
{
	struct th_lanes *next;

	for (struct th_lanes *s = server->lanes; s; s = next) {
		next = s->next;
		th_lanes_enter(s);
		th_lanes_end_if_due(s);
		th_lanes_leave(s);
	}
}

/* ---- its beginning ---- */

struct th_lanes *th_lanes_new(struct th_access *a)
{
	struct th_lanes *s = th_alloc(sizeof(*s));

	*s = (struct th_lanes){ .access = a, .server = a->server };
	s->closing = (struct th_deferred){ .fn = on_closing, .ctx = s };
	th_timer_init(&s->limit, a->server->loop, on_limit, s);
	a->ctx = s;
	a->gone = on_gone;
	s->link = &a->server->lanes;
	s->next = *s->link;
	*s->link = s;
	if (s->next)
		s->next->link = &s->next;
	return s;
}
