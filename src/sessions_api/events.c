/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - the events of a session as streams that can be taken up again.
 *
 * A stream knows the number of its next event.  What is written already comes
 * from the log, read beside the loop; then each event comes as it becomes durable.
 * A reader that is slow falls back to the log and holds nothing in memory, so
 * there is never a gap and never a repeat.  Pieces of an answer that is being
 * made (deltas) are no events: they have no number, only a reader that has all
 * events gets them, and they are not repeated.
 */
#include <stdlib.h>

#include "base/text.h"
#include "sessions_api/internal.h"

#define HELD_MAX (64 * TH_KIB) /* of pieces of an answer; more are left out */

struct stream {
	struct th_listener listener;
	struct th_access *access;
	struct th_deferred pump;
	uint64_t next;  /* number of the event that comes next */
	uint64_t heard; /* the last event that was told while the log is read; 0: none */
	struct thole_reading *reading; /* of the log */
	bool current;                  /* it has all that is durable: events come by notes */
	bool full;                     /* the peer takes no more for now */
	bool deltas, until_rest, rested;
	bool ended;           /* its peer is gone, or it was */
	struct th_needs look; /* of the session's row, when it is not open here */
	/* Deltas behind the last event that was heard, told while the log is read. */
	struct th_buf held;
};

/* ---- a stream's frames ---- */

static struct stream *of(struct th_listener *l)
{
	return TH_CONTAINER_OF(l, struct stream, listener);
}

static void stream_free(struct stream *s)
{
	struct th_server *server = s->access->server;

	th_loop_undefer(server->loop, &s->pump);
	thole_reading_free(s->reading);
	th_needs_forget(&s->look);
	th_buf_deinit(&s->held);
	th_hub_unlisten(&s->listener);
	server->metrics.streams--;
	s->access->ctx = NULL;
	s->access->gone = NULL;
	free(s);
}

static void stream_end(struct stream *s)
{
	struct th_http_request *r = s->access->request;

	stream_free(s);
	th_http_end(r);
}

static void on_gone(struct th_access *a)
{
	struct stream *s = a->ctx;

	s->ended = true;
	stream_free(s);
}

/* False: the peer is gone, and so is the stream. */
static bool put(struct stream *s, const struct th_buf *frame)
{
	enum th_code code = th_http_write(s->access->request, th_buf_str(frame));

	if (code == TH_EBUSY)
		s->full = true;
	return code != TH_ECONN;
}

static void frame_event(struct th_buf *out, struct th_str line)
{
	struct th_str kind = th_json_raw_inside(th_json_raw_get(line, "kind"));
	struct th_str seq = th_json_raw_get(line, "seq");

	th_buf_printf(out, "id: %.*s\nevent: %.*s\ndata: ", TH_FMT(seq), TH_FMT(kind));
	th_buf_add(out, line);
	th_buf_add_cstr(out, "\n\n");
}

/* ---- from the log ---- */

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct stream *s = ctx;

	frame_event(&frame, th_str_n(line, len));
	if (!put(s, &frame))
		return 1; /* s is gone, and the reading with it */
	s->next++;
	s->access->server->metrics.events_streamed++;
	return s->full;
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct stream *s = ctx;

	(void)err;
	s->reading = NULL;
	if (code == 1) /* full; when there is room again it goes on */
		return;
	if (code && code != THOLE_ENOENT) { /* one that is not written yet has nothing */
		struct th_http_request *request = s->access->request;

		stream_free(s);
		th_http_abort(request);
		return;
	}
	if (s->heard >= s->next) { /* of one that became durable meanwhile */
		th_loop_defer(s->access->server->loop, &s->pump);
		return;
	}
	s->current = true;
	if (s->held.len && !s->held.failed && !put(s, &s->held))
		return;
	th_buf_clear(&s->held);
	if (s->rested && s->until_rest)
		stream_end(s);
}

static void pump(void *ctx)
{
	struct stream *s = ctx;
	struct th_server *server = s->access->server;
	struct thole_error err;
	int code;

	if (s->current || s->full || s->reading)
		return;
	s->heard = 0;
	code = thole_runtime_log_start(server->rt, s->listener.hub->id, s->next, on_line, on_read,
				       s, &s->reading, &err);
	if (code)
		on_read(s, code, &err);
	else
		th_server_kick(server);
}

static void go_on(struct stream *s)
{
	s->current = false;
	th_loop_defer(s->access->server->loop, &s->pump);
}

static void on_room(struct th_access *a)
{
	struct stream *s = a->ctx;

	if (!s || !s->full)
		return;
	s->full = false;
	go_on(s);
}

/* ---- as it happens ---- */

static void on_delta(struct stream *s, const struct thole_note *note)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&frame);

	/* What only a provider can read says nothing to who watches. */
	if (!s->deltas || s->full || strcmp(thole_note_name(note), "sealed") == 0)
		return;
	th_buf_add_cstr(&frame, "event: delta\ndata: ");
	th_jw_object(&w);
	th_jw_kstr(&w, "kind", th_str_of(thole_note_name(note)));
	th_jw_kstr(&w, "text", th_str_of(thole_note_text(note)));
	th_jw_object_end(&w);
	th_buf_add_cstr(&frame, "\n\n");
	s->access->server->metrics.deltas_streamed++;
	if (s->current)
		(void)put(s, &frame);
	else
		th_buf_add(&s->held, th_buf_str(&frame));
}

static void on_event(struct stream *s, const struct thole_note *note)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	uint64_t seq = thole_note_seq(note);

	s->rested = s->rested && !th_hub_runs(s->listener.hub);
	s->heard = TH_MAX(s->heard, seq);
	th_buf_clear(&s->held); /* what they were pieces of is an event now */
	if (!s->current || seq < s->next)
		return;
	if (seq > s->next || s->full) {
		if (!s->full)
			go_on(s);
		s->current = false;
		return;
	}
	frame_event(&frame, th_str_of(thole_note_json(note)));
	s->next++;
	s->access->server->metrics.events_streamed++;
	(void)put(s, &frame);
}

static bool rests(struct th_str state)
{
	return !th_str_is(state, "running") && !th_str_is(state, "loading");
}

/* Somebody else's process may have written more, or removed it. */
static void on_looked(void *ctx)
{
	struct stream *s = ctx;
	const struct th_found *row = th_need_session(&s->look, s->listener.hub->id, NULL);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;

	if (!row)
		return;
	if (row->err && row->err->code == THOLE_ENOENT) {
		stream_end(s);
		return;
	}
	if (row->err || !s->current || s->full || th_json_parse(row->text, &doc, NULL) != TH_OK)
		return;
	v = th_json_root(doc);
	s->rested = rests(th_json_get_str(v, "state"));
	if ((uint64_t)th_json_get_int(v, "head_seq", 0) >= s->next || s->rested)
		go_on(s);
}

static void on_look(struct th_listener *l)
{
	struct stream *s = of(l);

	if (th_needs_wait(&s->look))
		return; /* the store is slow */
	th_needs_forget(&s->look);
	on_looked(s);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct stream *s = of(l);

	if (!note) { /* it ends with the server, or goes on elsewhere: there the client asks again
		      */
		if (s->access->server->finishing)
			stream_end(s);
		else
			on_look(l); /* or was deleted */
		return;
	}
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_EVENT:
		on_event(s, note);
		break;
	case THOLE_NOTE_DELTA:
		on_delta(s, note);
		break;
	case THOLE_NOTE_REST:
		s->rested = true;
		if (s->until_rest && s->current && !s->full)
			stream_end(s);
		break;
	default:
		break;
	}
}

static void on_ping(struct th_listener *l)
{
	struct stream *s = of(l);

	if (!s->full && th_http_write(s->access->request, TH_STR(": still here\n\n")) == TH_EBUSY)
		s->full = true;
}

/* ---- requests ---- */

static bool is_yes(struct th_access *a, const char *name, bool otherwise)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	if (!th_access_query(a, name, &text))
		return otherwise;
	return th_str_is(th_buf_str(&text), "true") || th_str_is(th_buf_str(&text), "1");
}

/* Where it goes on from: behind Last-Event-ID, else at ?from.  False: it was answered. */
static bool first_event(struct th_access *a, uint64_t *ret)
{
	struct th_str last = th_http_header(a->request, "last-event-id");
	int64_t from = 1;

	if (last.len && (!th_str_i64(last, &from) || from < 0)) {
		th_access_fail(a, 400, NULL, "Last-Event-ID is the number of an event");
		return false;
	}
	if (last.len)
		from++;
	else if (!th_access_query_int(a, "from", &from))
		return false;
	*ret = from ? (uint64_t)from : 1;
	return true;
}

/* One that is open here: its row was read a while ago, and it may have come to rest meanwhile. */
static bool is_at_rest(const struct th_hub *h)
{
	enum thole_state state = thole_session_state(h->session);

	return h->rested_ms && state != THOLE_RUNNING && state != THOLE_LOADING;
}

static void stream_begin(struct th_access *a, uint64_t from, const struct th_json *row)
{
	struct th_buf until TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	uint64_t head = (uint64_t)th_json_get_int(row, "head_seq", 0);
	struct th_hub *h = th_hub_get(a->server, a->args[0], a->user);
	struct stream *s = th_alloc(sizeof(*s));

	*s = (struct stream){ .access = a, .next = from, .deltas = is_yes(a, "deltas", true) };
	s->look = (struct th_needs){ .server = a->server, .again = on_looked, .ctx = s };
	s->until_rest =
	    th_access_query(a, "until", &until) && th_str_is(th_buf_str(&until), "rest");
	s->rested = h->session ? is_at_rest(h) : rests(th_json_get_str(row, "state"));
	th_buf_init(&s->held, HELD_MAX);
	s->listener.fn = on_note;
	s->listener.look = on_look;
	s->listener.ping = on_ping;
	s->listener.only_listens = true;
	s->listener.deltas = s->deltas;
	s->pump = (struct th_deferred){ .fn = pump, .ctx = s };
	a->ctx = s;
	a->gone = on_gone;
	a->room = on_room;
	a->server->metrics.streams++;
	a->server->metrics.streams_begun++;
	th_hub_listen(h, &s->listener);
	th_http_begin(a->request, 200, "text/event-stream",
		      TH_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"));
	th_buf_add_cstr(&frame, "retry: 1000\n\n");
	if (from > head + 1) { /* a number that no event has: nothing can be taken up there */
		a->server->metrics.cursors_lost++;
		th_buf_printf(&frame, "event: lost\ndata: {\"asked\":%llu,\"head_seq\":%llu}\n\n",
			      (unsigned long long)from, (unsigned long long)head);
		s->next = head + 1;
	}
	if (th_http_write(a->request, th_buf_str(&frame)) != TH_ECONN)
		go_on(s);
}

void th_api_session_events(struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str accept = th_http_header(a->request, "accept");
	struct th_str row;
	uint64_t from;

	if (!first_event(a, &from) || !th_session_mine(a, &row))
		return;
	if (th_json_parse(row, &doc, NULL) != TH_OK)
		th_access_fail(a, 500, NULL, "the session's row is no JSON");
	else if (th_str_find(accept, TH_STR("text/event-stream")) >= 0)
		stream_begin(a, from, th_json_root(doc));
	else
		th_api_page_give(a, from);
}
