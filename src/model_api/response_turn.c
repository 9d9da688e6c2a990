/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_turn.c - a response of a lane: made of the message that waits, once what it goes on
 * from was read, or passed on to the node that has its session.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_lanes.h"

/* ---- a response ---- */

static void on_steered(struct th_response *p)
{
	struct th_lane *l = p->over_ctx;

	th_lanes_tell_steer(l->wire, l->id, th_str_of(p->name), NULL);
}

static void on_unread(struct th_response *p)
{
	struct th_lane *l = p->over_ctx;

	th_lanes_unread(l->wire);
}

static void on_over(struct th_response *p)
{
	struct th_lane *l = p->over_ctx;
	struct th_lanes *s = l->wire;
	struct th_response_fault late;

	l->now = NULL;
	if (p->reply.status == TH_REPLY_COMPLETED || p->reply.status == TH_REPLY_PARKED ||
	    p->reply.status == TH_REPLY_WAITING)
		snprintf(l->last, sizeof(l->last), "%s", p->name);
	if (s->gone)
		return;
	th_lanes_enter(s);
	(void)th_response_steer_late(&late);
	for (; p->steers; p->steers--)
		th_lanes_tell_steer(s, l->id, th_str_of(p->name), &late);
	th_lanes_end_if_due(s);
	th_lanes_next(s);
	th_lanes_leave(s);
}

/* False: something is to be read first, and it is made again then. */
static bool make(struct th_lanes *s)
{
	struct th_lane_making *m = &s->making;
	struct th_lane *l = m->lane;
	bool has_before = m->before.doc != NULL;
	struct th_order order = { .face = &th_face_responses,
				  .body = th_str_of(m->body),
				  .socket = true,
				  .stream_id = l->id,
				  .before = has_before ? &m->before : NULL,
				  .lost = m->lost.code ? &m->lost : NULL,
				  .on_over = on_over,
				  .on_steered = on_steered,
				  .on_unread = on_unread,
				  .over_ctx = l,
				  .keeper = s };
	struct th_response_fault fault;
	struct th_refusal refusal;
	enum th_room room;

	th_response_tier(s->access, order.body);
	room = th_quota_room(&s->access->needs, s->access->user, s->access->priority, &refusal);
	if (room == TH_ROOM_PENDING)
		return false;
	/* One that is not stored is gone on from where it was made. */
	if (has_before && !m->lost.code && !m->own &&
	    !th_json_bool(th_json_get(m->before.member, "store"), true))
		order.before = NULL;
	if (room == TH_ROOM_NO) {
		th_lanes_fault(s, l->id, refusal.status, refusal.code, refusal.why.msg);
	} else if (!th_response_make(s->access, &order, &l->now, &fault)) {
		l->now = NULL;
		if (fault.pending)
			return false;
		if (m->own)
			m->own->last[0] = '\0'; /* who fails to go on has it no more */
		th_lanes_fault(s, l->id, fault.status, fault.code, fault.message);
	}
	if (!s->gone)
		th_needs_forget(&s->access->needs);
	th_stored_deinit(&m->before);
	free(m->body);
	*m = (struct th_lane_making){ 0 };
	return true;
}

static void make_again(struct th_access *a)
{
	struct th_lanes *s = a->ctx;

	th_lanes_enter(s);
	if (make(s)) {
		th_lanes_end_if_due(s);
		th_lanes_next(s);
	}
	th_lanes_leave(s);
}

static void on_before(void *ctx, const struct thole_error *err)
{
	struct th_lanes *s = ctx;

	s->making.load = NULL;
	if (err)
		s->making.lost = *err;
	make_again(s->access);
}

/* ---- of a session of another node ---- */

static void on_passed_event(void *ctx, struct th_str json)
{
	struct th_lanes *s = ((struct th_lane *)ctx)->wire;

	th_lanes_enter(s);
	if (th_http_send(s->access->request, json, true) == TH_ELIMIT)
		th_lanes_unread(s);
	th_lanes_leave(s);
}

static void on_passed_steer(void *ctx, const char *name, const struct th_response_fault *why)
{
	struct th_lane *l = ctx;
	struct th_lanes *s = l->wire;

	th_lanes_enter(s);
	th_lanes_tell_steer(s, l->id, th_str_of(name), why);
	th_lanes_leave(s);
}

static void on_passed_over(void *ctx, bool here, const struct th_response_fault *fault)
{
	struct th_lane *l = ctx;
	struct th_lanes *s = l->wire;

	l->passed = NULL;
	th_lanes_enter(s);
	if (here) {
		memmove(l->waiting + 1, l->waiting, l->count++ * sizeof(char *));
		l->waiting[0] = l->at_node;
		s->waiting++;
	} else {
		free(l->at_node);
	}
	l->at_node = NULL;
	l->here = here;
	if (fault)
		th_lanes_fault(s, l->id, fault->status, fault->code, fault->message);
	if (!s->gone) {
		th_lanes_end_if_due(s);
		th_lanes_next(s);
	}
	th_lanes_leave(s);
}

/* Takes the message over where another node may have the session that it goes on from. */
static bool passes(struct th_lane *l, const char *session, char *body)
{
	static const struct th_response_pass_ops ops = { on_passed_event, on_passed_over,
							 on_passed_steer };

	l->passed =
	    th_response_pass_start(l->wire->access, session, th_str_of(body), l->id, &ops, l);
	if (l->passed)
		l->at_node = body;
	return l->passed != NULL;
}

/* Of the message of which a response is to be made.  False: something is to be read first. */
static bool make_here(struct th_lanes *s)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_lane_making *m = &s->making;
	struct thole_error err = { 0 };

	s->access->again = make_again;
	th_response_before(th_str_of(m->body), &before);
	if (before.len && th_stored_load_start(s->server, s->access->user, th_buf_str(&before),
					       &m->before, on_before, s, &m->load, &err) == 0)
		return false;
	m->lost = err;
	return make(s);
}

/* The session that it goes on from may be another node's, which makes it then.  False: something
 * is to be read first. */
static bool find_place(struct th_lanes *s)
{
	struct th_lane_making *m = &s->making;
	char session[TH_SESSION_ID_MAX + 1];
	enum th_stored_result look =
	    th_response_place(&s->access->needs, s->access->user, th_str_of(m->body), session);

	if (look == TH_STORED_PENDING)
		return false;
	if (look != TH_STORED_FOUND || !passes(m->lane, session, m->body))
		return make_here(s);
	th_needs_forget(&s->access->needs);
	*m = (struct th_lane_making){ 0 };
	return true;
}

static void find_place_again(struct th_access *a)
{
	struct th_lanes *s = a->ctx;

	th_lanes_enter(s);
	if (find_place(s)) {
		th_lanes_end_if_due(s);
		th_lanes_next(s);
	}
	th_lanes_leave(s);
}

/* Takes the message over. */
static void begin(struct th_lane *l, char *body)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_lanes *s = l->wire;
	bool here = l->here || !s->server->fleet;

	th_response_before(th_str_of(body), &before);
	s->making = (struct th_lane_making){ .lane = l,
					     .body = body,
					     .own = th_lane_whose_last(s, th_buf_str(&before)) };
	l->here = false;
	s->access->again = find_place_again;
	(void)(here || s->making.own ? make_here(s) : find_place(s));
}

void th_lanes_next(struct th_lanes *s)
{
	struct th_lane *l;

	/* What waits is not begun by a server that ends: its client asks the next one. */
	while (!s->gone && !s->ended && !s->close && !s->making.lane && !s->server->finishing &&
	       (l = th_lane_due(s))) {
		begin(l, th_lane_take(l));
	}
}

/* ---- said to one that is under way ---- */

static bool works_at(const struct th_lane *l, struct th_str response)
{
	return response.len &&
	       ((l->now && th_str_is(response, l->now->name)) ||
		(l->passed && th_str_is(response, th_response_pass_name(l->passed))));
}

void th_lanes_steer(struct th_lanes *s, const char *id, struct th_str text)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_response_fault fault;
	struct th_lane *l = s->first;
	bool said = false;

	th_response_before(text, &name);
	while (l && !works_at(l, th_buf_str(&name)))
		l = l->next;
	if (l)
		said = l->passed ? th_response_pass_steer(l->passed, text, &fault)
				 : th_response_steer(l->now, text, &fault);
	else
		(void)th_response_fault(
		    &fault, 400,
		    th_lane_whose_last(s, th_buf_str(&name)) ? "response_already_completed"
							     : "response_not_found",
		    name.len ? "no response %.*s is under way on this connection"
			     : "previous_response_id is missing%.*s",
		    (int)TH_MIN(name.len, (size_t)80), name.len ? name.ptr : "");
	if (!said)
		th_lanes_tell_steer(s, l ? l->id : id, th_buf_str(&name), &fault);
}
