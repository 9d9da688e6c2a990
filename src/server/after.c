/* SPDX-License-Identifier: Apache-2.0 */
#include "server/after.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

struct wait {
	struct th_listener listener;
	struct th_access *access;
	int status;
	const char *kinds; /* NULL: until it is open */
	uint64_t seq;      /* of the event that must be durable; 0: one of the kinds */
	th_after_fn *fn;
};

static void wait_end(struct wait *w)
{
	th_hub_unlisten(&w->listener);
	free(w);
}

static void wait_gone(struct th_access *a)
{
	wait_end(a->ctx);
}

static bool is_among(const char *names, const char *name)
{
	struct th_str list = th_str_of(names);

	while (list.len)
		if (th_str_is(th_str_split(&list, ' '), name))
			return true;
	return names[0] == '\0';
}

static bool goes_on(const struct wait *w, const struct thole_note *note)
{
	if (w->seq)
		return thole_note_kind(note) != THOLE_NOTE_EVENT || thole_note_seq(note) < w->seq;
	if (!w->kinds)
		return thole_note_kind(note) != THOLE_NOTE_OPEN;
	return thole_note_kind(note) != THOLE_NOTE_EVENT ||
	       !is_among(w->kinds, thole_note_name(note));
}

/* One that could not be opened, or was taken from this server. */
static void answer_lost(struct th_access *a, struct thole_session *session)
{
	struct thole_error err = { 0 };
	int code = session ? thole_session_lost(session, &err) : 0;

	if (code == THOLE_EBUSY || code == THOLE_ENOENT || code == THOLE_EPLACE)
		th_access_error(a, &err);
	else
		th_access_fail(a, 503, "lost", "the session is not this server's any more: %s",
			       code ? err.text : "the server ends");
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct wait *w = TH_CONTAINER_OF(l, struct wait, listener);
	struct th_access *a = w->access;
	char id[TH_SESSION_ID_MAX + 1];
	th_after_fn *fn = w->fn;
	int status = w->status;

	if (note && goes_on(w, note))
		return;
	snprintf(id, sizeof(id), "%s", l->hub->id);
	a->gone = NULL;
	if (note) {
		wait_end(w);
		fn(a, id, status);
	} else {
		answer_lost(a, l->hub->session);
		wait_end(w);
	}
}

static void begin(struct th_access *a, struct th_hub *h, const struct wait *how)
{
	struct wait *w = th_alloc(sizeof(*w));

	*w = *how;
	w->access = a;
	w->listener.fn = on_note;
	a->ctx = w;
	a->gone = wait_gone;
	th_hub_listen(h, &w->listener);
	th_server_kick(a->server);
}

void th_access_after(struct th_access *a, struct th_hub *h, int status, const char *kinds,
		     th_after_fn *fn)
{
	begin(a, h, &(struct wait){ .status = status, .kinds = kinds, .fn = fn });
}

void th_access_durable(struct th_access *a, struct th_hub *h, int status, th_after_fn *fn)
{
	uint64_t seq = thole_session_unwritten(h->session);

	if (seq)
		begin(a, h, &(struct wait){ .status = status, .seq = seq, .fn = fn });
	else
		fn(a, h->id, status);
}

void th_access_ready(struct th_access *a, struct th_hub *h, th_after_fn *fn)
{
	if (thole_session_state(h->session) == THOLE_LOADING)
		begin(a, h, &(struct wait){ .fn = fn });
	else
		fn(a, h->id, 0);
}
