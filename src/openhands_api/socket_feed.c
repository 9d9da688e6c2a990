/* SPDX-License-Identifier: Apache-2.0 */
/* socket_feed.c - what a socket is told: events as they become durable, and how all stands. */
#include <stdio.h>

#include "base/text.h"
#include "openhands_api/socket.h"

/* ---- how it stands ---- */

static bool tell(struct th_oh_socket *s, const char *key, const struct th_json *row)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_OPENHANDS_STATE_MAX);
	struct th_jw w = th_jw(&json);

	th_oh_socket_head("ConversationStateUpdateEvent", "environment", &w);
	th_jw_kstr(&w, "key", th_str_of(key));
	th_jw_name(&w, TH_STR("value"));
	if (strcmp(key, "full_state") == 0)
		th_oh_print_info(s->o->server, row, &w);
	else
		th_jw_str(&w, th_str_of(s->status));
	th_jw_object_end(&w);
	return json.failed || th_oh_socket_send(s, th_buf_str(&json));
}

/* False: the socket is over. */
static bool tell_state(struct th_oh_socket *s, const struct th_json *row)
{
	const char *status = th_oh_status(s->listener.hub, row);
	bool whole = s->whole;

	s->whole = false;
	if (s->status != status) {
		s->status = status;
		if (!tell(s, "execution_status", row))
			return false;
	}
	return !whole || tell(s, "full_state", row);
}

void th_oh_socket_looked(void *ctx)
{
	struct th_oh_socket *s = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_found *row =
	    th_need_session(&s->look, s->listener.hub->id, s->access->user);
	bool looks = s->looks, tells = s->tells;
	uint64_t head;

	if (!row)
		return;
	if (s->stale) {
		s->stale = false;
		th_needs_forget(&s->look);
		th_oh_socket_looked(s);
		return;
	}
	s->looks = s->tells = false;
	if (row->err || th_json_parse(row->text, &doc, NULL) != TH_OK) {
		if (looks && row->err && row->err->code == THOLE_ENOENT)
			th_oh_socket_end(s, TH_OH_CLOSE_NONE);
		return;
	}
	head = (uint64_t)th_json_get_int(th_json_root(doc), "head_seq", 0);
	if (looks && head != s->head_seq) {
		s->whole |= s->head_seq > 0;
		s->head_seq = head;
		th_oh_socket_go_on(s);
	}
	/* What was written while the row was read goes before the state that it led to. */
	if (tells && !s->more && !s->reading)
		(void)tell_state(s, th_json_root(doc));
}

/* Reads the row, for what is wanted of it. */
static void look(struct th_oh_socket *s)
{
	s->stale = th_needs_wait(&s->look);
	if (s->stale)
		return;
	th_needs_forget(&s->look);
	th_oh_socket_looked(s);
}

/* ---- its events ---- */

static int on_event(void *ctx, const char *line, size_t len)
{
	struct th_oh_socket *s = ctx;
	struct th_str event = th_str_n(line, len);
	struct th_str stamp = th_json_raw_inside(th_json_raw_get(event, "timestamp"));

	s->at++;
	if (s->since.len && th_str_cmp(stamp, th_buf_str(&s->since)) < 0)
		return 0;
	s->o->server->metrics.events_streamed++;
	if (!th_oh_socket_send(s, event)) /* it is freed, and the reading with it */
		return 1;
	return s->full;
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_oh_socket *s = ctx;

	(void)err;
	s->reading = NULL;
	if (code == 1) /* full; when there is room again it goes on */
		return;
	if (code) {
		th_oh_socket_end(s, code == THOLE_ENOENT ? TH_OH_CLOSE_NONE : 1011);
		return;
	}
	if (!s->begun) { /* what is there already is asked for by requests */
		s->begun = true;
		s->at = th_oh_count(s->o, s->listener.hub->id);
		s->whole = true;
	}
	if (s->more) {
		th_loop_defer(s->o->server->loop, &s->pump);
		return;
	}
	s->tells = true;
	look(s);
}

void th_oh_socket_pump(void *ctx)
{
	struct th_oh_socket *s = ctx;
	struct thole_error err;
	char from[24];
	const char *options[] = { "from", from, NULL };

	if (!s->authenticated || s->full || s->reading || !s->listener.hub)
		return;
	s->more = false;
	snprintf(from, sizeof(from), "%lld", s->begun ? (long long)s->at : (long long)INT64_MAX);
	if (th_oh_read(s->o, s->listener.hub->id, options, on_event, on_read, s, &s->reading,
		       &err) != 0)
		th_oh_socket_end(s, TH_OH_CLOSE_MANY);
}

void th_oh_socket_go_on(struct th_oh_socket *s)
{
	s->more = true;
	th_loop_defer(s->o->server->loop, &s->pump);
}

static void on_delta(struct th_oh_socket *s, const struct thole_note *note)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	bool text = strcmp(thole_note_name(note), "text") == 0;
	struct th_jw w = th_jw(&json);

	if (!s->deltas || s->full || !s->begun ||
	    (!text && strcmp(thole_note_name(note), "reasoning") != 0))
		return;
	th_oh_socket_head("StreamingDeltaEvent", "agent", &w);
	th_jw_kstr(&w, text ? "content" : "reasoning_content", th_str_of(thole_note_text(note)));
	th_jw_object_end(&w);
	s->o->server->metrics.deltas_streamed++;
	if (!json.failed)
		(void)th_oh_socket_send(s, th_buf_str(&json));
}

/* The server ends, the conversation was deleted, or goes on elsewhere: who asks again is told
 * which.  Who has said something that waits hears first why it was not taken. */
static void on_lost(struct th_oh_socket *s)
{
	struct thole_session *session = s->listener.hub->session;
	bool within = s->sends;
	struct thole_error why;

	s->sends = true; /* it is not freed meanwhile */
	if (s->said.len && session && thole_session_lost(session, &why))
		th_oh_socket_tell_error(s, thole_code_name(why.code), why.text);
	if (!s->gone)
		th_oh_socket_end(s, 1012);
	s->sends = within;
	if (!within)
		th_oh_socket_free(s);
}

/* It waits for its first run, or the next: a message may have begun a request before that. */
static bool is_held(const struct thole_note *note)
{
	return strcmp(thole_note_name(note), "paused") == 0 &&
	       strcmp(thole_note_text(note), TH_HELD_REASON) == 0;
}

static bool is_of_a_run(const char *kind)
{
	return strcmp(kind, "model_requested") == 0 || strcmp(kind, "intent") == 0;
}

void th_oh_socket_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_oh_socket *s = TH_CONTAINER_OF(l, struct th_oh_socket, listener);

	if (!note) {
		on_lost(s);
		return;
	}
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_REST:
		/* To a client this is the end of a run.  Behind a message or another policy it
		 * would come when the next run has begun, and end that one for him. */
		s->whole |= s->ran && !is_held(note);
		s->ran = false;
		th_oh_socket_go_on(s);
		break;
	case THOLE_NOTE_EVENT:
		s->ran |= is_of_a_run(thole_note_name(note));
		th_oh_socket_go_on(s);
		break;
	case THOLE_NOTE_DELTA:
		on_delta(s, note);
		break;
	default:
		break;
	}
}

/* Somebody else's process may have written more. */
void th_oh_socket_look(struct th_listener *l)
{
	struct th_oh_socket *s = TH_CONTAINER_OF(l, struct th_oh_socket, listener);

	if (th_needs_wait(&s->look))
		return; /* the store is slow */
	s->looks = true;
	look(s);
}
