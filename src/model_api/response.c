/* SPDX-License-Identifier: Apache-2.0 */
/* response.c - a response on its way: what its session says becomes what its client reads. */
#include "model_api/response.h"

#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

void th_response_free(struct th_response *p)
{
	struct th_response **at = &p->server->talks;

	while (*at && *at != p)
		at = &(*at)->next_talk;
	if (*at)
		*at = p->next_talk;
	th_loop_undefer(p->server->loop, &p->left);
	th_hub_unlisten(&p->listener);
	th_reply_deinit(&p->reply);
	th_function_names_free(p->functions, p->function_count);
	free(p->echo);
	free(p->items);
	free(p->stays);
	free(p->summary);
	th_buf_deinit(&p->shown.text);
	free(p);
}

static th_listener_fn on_note;

struct th_response *th_response_find(struct th_server *s, const char *user, struct th_str name)
{
	char session[TH_UUID_TEXT_SIZE + 1];
	struct th_hub *h = th_response_session_of(name, session) ? th_hub_find(s, session) : NULL;

	if (!h || strcmp(h->user, user) != 0)
		return NULL;
	for (struct th_listener *l = h->first; l; l = l->next) {
		struct th_response *p = TH_CONTAINER_OF(l, struct th_response, listener);

		if (l->fn == on_note && !p->over && th_str_is(name, p->name))
			return p;
	}
	return NULL;
}

/* Its reader does not read; GET has the response. */
static void drop_reader(struct th_response *p)
{
	struct th_http_request *r = p->access->request;

	p->access->gone = NULL; /* the access ends with the stream */
	p->access = NULL;
	th_http_abort(r);
}

/* Where the peer turns out to have left, the access is gone behind a write: so p has none then. */
void th_response_send(struct th_response *p, const char *event, struct th_str json)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_access *a = p->access;

	if (!a)
		return;
	if (p->socket) {
		if (th_http_send(a->request, json, true) == TH_ELIMIT)
			p->on_unread(p);
		return;
	}
	if (event)
		th_buf_printf(&frame, "event: %s\n", event);
	th_buf_add_cstr(&frame, "data: ");
	th_buf_add(&frame, json);
	th_buf_add_cstr(&frame, "\n\n");
	if (th_http_write(a->request, th_buf_str(&frame)) == TH_ELIMIT)
		drop_reader(p);
}

/* A stream on which nothing comes for long is cut by what is between. */
static void on_ping(struct th_listener *l)
{
	struct th_response *p = TH_CONTAINER_OF(l, struct th_response, listener);

	if (p->access && p->stream && p->began && !p->over && !p->socket)
		(void)!th_http_write(p->access->request, th_str_of(p->face->ping));
}

/* ---- its end ---- */

/* A client may ask once more where the model could not be reached and nothing was done here. */
static bool must_not_repeat(const struct th_response *p)
{
	for (size_t i = 0; i < p->reply.count; i++)
		if (p->reply.items[i].kind == TH_REPLY_OTHER)
			return true;
	return p->reply.fault != 429 && p->reply.fault < 502;
}

static void answer(struct th_response *p)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_access *a = p->access;

	if (!a)
		return;
	if (p->stream) {
		p->face->end(p);
		a = p->access; /* NULL: it left, or did not read */
	}
	p->access = NULL;
	if (!a || p->socket)
		return;
	a->gone = NULL;
	a->ctx = NULL;
	if (p->stream) {
		th_http_end(a->request);
		return;
	}
	if (!p->face->tells_failure &&
	    (p->reply.status == TH_REPLY_FAILED || p->reply.status == TH_REPLY_CANCELLED)) {
		a->once = must_not_repeat(p);
		th_access_fault(a, p->reply.fault ? p->reply.fault : 500, NULL, NULL,
				p->reply.why ? p->reply.why : "the run failed");
		return;
	}
	p->face->print(p, &json);
	th_access_json(a, 200, &json);
}

/* With store: false its session is kept while it runs, or while the socket lives on which the next
 * request may go on from it. */
static void not_kept(struct th_response *p)
{
	if (p->store || !p->hub)
		return;
	if (p->keeper)
		p->hub->keeper = p->keeper;
	else
		p->hub->doomed = true;
}

static void finish(struct th_response *p)
{
	struct th_server *server = p->server;

	if (p->face->put && !p->put && p->reply.status == TH_REPLY_COMPLETED) {
		p->put = true;
		p->reply.status = TH_REPLY_RUNNING;
		if (p->face->put(p))
			return;
	}
	p->over = true;
	if (p->hub && p->reply.status == TH_REPLY_PARKED)
		p->hub->parked_ms = th_loop_now_ms(server->loop) ?: 1;
	answer(p);
	not_kept(p);
	if (p->on_over)
		p->on_over(p);
	th_response_free(p);
}

static void on_left(void *ctx)
{
	struct th_response *p = ctx;
	struct thole_error err;

	if (p->background) /* it goes on, and is read later */
		;
	else if (p->hub && p->hub->session)
		(void)thole_session_cancel(p->hub->session, THOLE_NOW, &err);
	not_kept(p);
	th_server_kick(p->server);
	th_response_free(p);
}

/* Also in the midst of something that is told, by the write that found it out: who tells it goes on
 * with p.  What is of a socket goes now. */
void th_response_gone(struct th_response *p)
{
	p->access = NULL;
	p->on_over = p->on_steered = p->on_unread = NULL;
	p->stream_id = NULL;
	p->keeper = NULL;
	p->left = (struct th_deferred){ .fn = on_left, .ctx = p };
	th_loop_defer(p->server->loop, &p->left);
}

static void on_gone(struct th_access *a)
{
	th_response_gone(a->ctx);
}

/* ---- as it happens ---- */

static void tell_items(struct th_response *p)
{
	for (; p->told < p->reply.count; p->told++)
		if (p->access && p->stream && p->began)
			p->face->item(p, &p->reply.items[p->told]);
}

/* Its session never heard of it. */
static void refuse(struct th_response *p, const struct thole_error *err)
{
	struct th_access *a = p->access;

	p->access = NULL;
	if (a && !p->socket && !p->began) {
		a->gone = NULL;
		th_access_fault(a, th_response_status(err->code), NULL, NULL, err->text);
	}
	if (p->on_over)
		p->on_over(p);
	th_response_free(p);
}

/* What it was asked with goes to its session, once that is open. */
static bool put_items(struct th_response *p)
{
	struct thole_error err, ignored;
	char *items = p->items;

	if (!items || thole_session_state(p->hub->session) == THOLE_LOADING)
		return true;
	p->items = NULL;
	if (thole_session_items_add(p->hub->session, items, !p->warm, &err) != 0) {
		free(items);
		(void)thole_session_cancel(p->hub->session, THOLE_NOW, &ignored);
		refuse(p, &err);
		return false;
	}
	free(items);
	th_server_kick(p->server);
	return true;
}

/* ---- an answer in pieces ---- */

/*
 * A request whose answer was cut is made again, and that answer may be another.  What was told
 * stays told: as long as the new one says the same, its beginning is passed over.
 */

static void set_failed(struct th_response *p, const char *why)
{
	p->reply.status = TH_REPLY_FAILED;
	if (p->reply.why)
		return;
	p->reply.why = th_alloc(strlen(why) + 1);
	memcpy(p->reply.why, why, strlen(why) + 1);
}

/* The two cannot be joined.  False: it is over, and p is gone. */
static bool part_ways(struct th_response *p)
{
	struct thole_error err;

	if (p->face->tells_whole) {
		p->shown.holds = true;
		return true;
	}
	(void)thole_session_cancel(p->hub->session, THOLE_NOW, &err);
	set_failed(p,
		   "the model's answer was cut after a part of it was sent, and what it said when "
		   "it was asked again is another");
	p->reply.fault = 502;
	finish(p);
	return false;
}

/* The rest of a piece, behind what was told of it before. */
static bool pass_over(struct th_response *p, struct th_str *text)
{
	struct th_response_shown *s = &p->shown;
	size_t n = TH_MIN(text->len, s->text.len - s->matched);

	if (memcmp(text->ptr, s->text.ptr + s->matched, n) != 0)
		return false;
	s->matched += n;
	s->again = s->matched < s->text.len;
	*text = th_str_sub(*text, n, text->len);
	return true;
}

static void tell_text(struct th_response *p, struct th_str text)
{
	struct th_response_shown *s = &p->shown;

	if (s->holds)
		return;
	if (s->again && !pass_over(p, &text)) {
		(void)part_ways(p);
		return;
	}
	if (!text.len)
		return;
	th_buf_add(&s->text, text);
	p->face->delta(p, "text", text);
}

static void tell_piece(struct th_response *p, const char *kind, struct th_str text)
{
	if (strcmp(kind, "text") == 0) {
		tell_text(p, text);
		return;
	}
	if (p->shown.holds_thought)
		return;
	p->shown.reasoning |= strcmp(kind, "reasoning") == 0;
	p->face->delta(p, kind, text);
}

/* The model is asked again, or its answer is whole.  False: it is over, and p is gone. */
static bool on_answer(struct th_response *p, const char *kind)
{
	struct th_response_shown *s = &p->shown;

	if (strcmp(kind, "model_failed") == 0) {
		s->matched = 0;
		s->again = s->text.len > 0;
		s->holds_thought = s->again || (s->reasoning && !p->face->again);
		if (p->face->again)
			p->face->again(p);
	} else if (strcmp(kind, "model_answered") == 0) {
		if (s->again && !s->holds && !part_ways(p))
			return false;
		th_buf_clear(&s->text);
		s->again = s->reasoning = s->holds = s->holds_thought = false;
	}
	return true;
}

static void fold(struct th_response *p, const struct thole_note *note)
{
	const struct th_reply_parts event = {
		.seq = thole_note_seq(note),
		.ts_ms = thole_note_ts_ms(note),
		.kind = th_str_of(thole_note_name(note)),
		.call = th_str_of(thole_note_id(note)),
		.data = th_str_of(thole_note_data(note)),
	};

	th_reply_event_parts(&p->reply, &event);
}

/* Its session could not be opened, or is not this server's any more. */
static void on_lost(struct th_response *p)
{
	struct thole_session *session = p->hub->session;
	struct thole_error err = { .code = THOLE_EIO, .text = "the server ends" }, lost;

	if (session && thole_session_lost(session, &lost))
		err = lost;
	if (p->items && !p->began && p->access && !p->socket) {
		refuse(p, &err);
		return;
	}
	if (p->reply.status == TH_REPLY_RUNNING)
		set_failed(p, err.text);
	finish(p);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_response *p = TH_CONTAINER_OF(l, struct th_response, listener);

	if (!note) {
		on_lost(p);
		return;
	}
	if (!put_items(p))
		return;
	if (thole_note_kind(note) == THOLE_NOTE_DELTA) {
		if (p->access && p->stream && p->began && !p->background)
			tell_piece(p, thole_note_name(note), th_str_of(thole_note_text(note)));
		return;
	}
	if (thole_note_kind(note) == THOLE_NOTE_REST && p->face->tells_waiting && p->began &&
	    thole_session_state(p->hub->session) == THOLE_WAITING && th_reply_asks(&p->reply)) {
		th_reply_wait(&p->reply);
		tell_items(p);
		finish(p);
		return;
	}
	if (thole_note_kind(note) != THOLE_NOTE_EVENT || thole_note_seq(note) <= p->after ||
	    thole_note_seq(note) <= p->reply.last_seq)
		return;
	if (!on_answer(p, thole_note_name(note)))
		return;
	if (strcmp(thole_note_name(note), "session_created") == 0)
		p->reply.last_seq = thole_note_seq(note); /* long, and nothing of it is told */
	else
		fold(p, note);
	if (p->put)
		p->face->event(p, thole_note_name(note), th_str_of(thole_note_json(note)));
	if (p->empty && p->reply.status == TH_REPLY_RUNNING)
		p->reply.status = TH_REPLY_COMPLETED;
	th_response_started(p);
	if (strcmp(thole_note_name(note), "message") == 0)
		th_response_steered(p);
	tell_items(p);
	if (p->reply.status != TH_REPLY_RUNNING)
		finish(p);
}

/* Its first event is durable: it can be found again, and so is told of. */
void th_response_started(struct th_response *p)
{
	if (p->began)
		return;
	p->began = true;
	if (!p->access)
		return;
	if (p->stream) {
		if (!p->socket)
			th_http_begin(p->access->request, 200, p->face->type,
				      TH_STR("Cache-Control: no-store\r\n"
					     "X-Accel-Buffering: no\r\n"));
		p->face->begin(p);
	} else if (p->background) {
		struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
		struct th_access *a = p->access;

		p->access = NULL;
		a->gone = NULL;
		p->face->print(p, &json);
		th_access_json(a, 200, &json);
	}
}

void th_response_listen(struct th_response *p, struct th_hub *h)
{
	p->hub = h;
	p->reply.functions = p->functions;
	p->reply.function_count = p->function_count;
	p->listener.fn = on_note;
	p->listener.ping = on_ping;
	p->listener.deltas = p->stream && !p->background;
	if (p->access && !p->socket) {
		p->access->ctx = p;
		p->access->gone = on_gone;
	}
	th_hub_listen(h, &p->listener);
	th_server_kick(p->server);
}

/* What the log has of it already; false: it is over, and so is p. */
bool th_response_caught_up(struct th_response *p)
{
	tell_items(p);
	if (p->reply.status == TH_REPLY_RUNNING)
		return true;
	finish(p);
	return false;
}
