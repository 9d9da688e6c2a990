/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - a question to a conversation's agent, beside the conversation. */
#include <stdlib.h>

#include "openhands_api/internal.h"

struct th_oh_question {
	struct th_oh_question *next;
	struct th_oh *o;
	struct th_access *access; /* NULL: its client left */
	struct th_listener listener;
	struct th_buf answer; /* as JSON; empty: there is none yet */
	bool written;         /* its event is durable */
};

/* *ret: who waits; NULL: nobody. */
static void take_out(struct th_oh_question *q, struct th_access **ret)
{
	struct th_oh_question **at = &q->o->questions;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	*ret = q->access;
	if (q->access)
		q->access->gone = NULL;
	th_hub_unlisten(&q->listener);
	th_buf_deinit(&q->answer);
	free(q);
}

/* The answer, once it is in the log, too. */
static void give(struct th_oh_question *q)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = { 0 };
	struct th_access *a;

	if (!q->answer.len || !q->written)
		return;
	json = q->answer;
	q->answer = (struct th_buf){ 0 };
	take_out(q, &a);
	if (a)
		th_access_json(a, 200, &json);
}

static void on_gone(struct th_access *a)
{
	struct th_oh_question *q = a->ctx;

	q->access = NULL;
}

/* One at a time is under way in a session. */
static void on_answer(void *ctx, struct thole_session *session, const char *answer, const char *why)
{
	struct th_hub *h = ctx;
	struct th_oh *o = h->server->openhands;
	struct th_oh_question *q = o ? o->questions : NULL;
	struct th_access *a;
	struct th_jw w;

	(void)session;
	while (q && q->listener.hub != h)
		q = q->next;
	if (!q)
		return;
	if (!answer) {
		take_out(q, &a);
		if (a)
			th_access_fail(a, 500, NULL, "%s", why);
		return;
	}
	w = th_jw(&q->answer);
	th_jw_object(&w);
	th_jw_kstr(&w, "response", th_str_of(answer));
	th_jw_object_end(&w);
	give(q);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_oh_question *q = TH_CONTAINER_OF(l, struct th_oh_question, listener);
	struct th_access *a;

	if (note) {
		q->written |= thole_note_kind(note) == THOLE_NOTE_EVENT &&
			      strcmp(thole_note_name(note), "asked") == 0;
		give(q);
		return;
	}
	take_out(q, &a);
	if (a)
		th_access_fail(a, 503, NULL, "the session is not this server's any more");
}

static void ask(struct th_access *a, const char *session, int status)
{
	struct th_hub *h = th_hub_find(a->server, session);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_str question = th_json_get_str(doc ? th_json_root(doc) : NULL, "question");
	struct th_oh_question *q;
	struct thole_error err;

	(void)status;
	if (!doc)
		return;
	th_arena_init(&memory, 2 * TH_ASKED_MAX);
	if (!question.len || question.len > TH_ASKED_MAX || memchr(question.ptr, 0, question.len)) {
		th_access_fail(a, 422, NULL, "question is a text of at most %zu bytes",
			       (size_t)TH_ASKED_MAX);
		return;
	}
	if (thole_session_ask(h->session, a->user, th_arena_cstr(&memory, question), on_answer, h,
			      &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	q = th_alloc(sizeof(*q));
	*q = (struct th_oh_question){ .o = a->server->openhands, .access = a };
	th_buf_init(&q->answer, TH_JSON_SIZE_MAX);
	q->listener.fn = on_note;
	q->next = q->o->questions;
	q->o->questions = q;
	a->ctx = q;
	a->gone = on_gone;
	th_hub_listen(h, &q->listener);
	th_server_kick(a->server);
}

void th_oh_ask(struct th_access *a)
{
	th_oh_with_open(a, ask);
}

void th_oh_questions_free(struct th_oh *o)
{
	struct th_access *a;

	while (o->questions) {
		take_out(o->questions, &a);
		if (a)
			th_access_fail(a, 503, NULL, "the server ends");
	}
}
