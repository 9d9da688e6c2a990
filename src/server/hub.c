/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hub.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "server/service.h"

#define KINDS (THOLE_NOTE_EVENT | THOLE_NOTE_REST | THOLE_NOTE_OPEN)
#define TABLE_FIRST 64
#define TRIM_AT_ONCE 64 /* their leases are given back in one transaction */

/* ---- the table ---- */

static size_t slot(const struct th_hubs *t, const char *id)
{
	return (size_t)th_hash64(id, strlen(id)) & (t->table_size - 1);
}

static void grow(struct th_hubs *t)
{
	size_t size = t->table_size ? 2 * t->table_size : TABLE_FIRST;

	free(t->table);
	t->table = th_alloc(size * sizeof(struct th_hub *));
	memset(t->table, 0, size * sizeof(struct th_hub *));
	t->table_size = size;
	for (struct th_hub *h = t->first; h; h = h->next) {
		struct th_hub **at = &t->table[slot(t, h->id)];

		h->chain = *at;
		*at = h;
	}
}

struct th_hub *th_hub_find(struct th_server *s, const char *id)
{
	struct th_hub *h = s->hubs.table_size ? s->hubs.table[slot(&s->hubs, id)] : NULL;

	while (h && strcmp(h->id, id) != 0)
		h = h->chain;
	return h;
}

struct th_hub *th_hub_get(struct th_server *s, const char *id, const char *user)
{
	struct th_hubs *t = &s->hubs;
	struct th_hub *h = th_hub_find(s, id), **at;

	if (h && !h->session && strcmp(h->user, user) != 0) {
		th_hub_lose(h); /* what had that name was another's */
		snprintf(h->user, sizeof(h->user), "%s", user);
	}
	if (h)
		return h;
	if (t->count >= t->table_size)
		grow(t);
	h = th_alloc(sizeof(*h));
	*h = (struct th_hub){ .server = s, .next = t->first };
	snprintf(h->id, sizeof(h->id), "%s", id);
	snprintf(h->user, sizeof(h->user), "%s", user);
	if (t->first)
		t->first->prev = h;
	t->first = h;
	at = &t->table[slot(t, h->id)];
	h->chain = *at;
	*at = h;
	t->count++;
	return h;
}

/* ---- who rests ---- */

/* It rests, and nobody needs it. */
static bool is_spare(const struct th_hub *h)
{
	return h->session && h->busy == 0 && h->rested_ms && !h->doomed && !th_hub_runs(h) &&
	       thole_session_state(h->session) != THOLE_WAITING; /* an approval may run out */
}

/* After anything that `is_spare` looks at: in the list of those that may be given back, or not. */
static void sort_in(struct th_hub *h)
{
	struct th_hubs *t = &h->server->hubs;
	bool spare = is_spare(h);

	if (spare == h->spare)
		return;
	h->spare = spare;
	if (spare) {
		h->spare_prev = t->spare_last;
		h->spare_next = NULL;
		*(t->spare_last ? &t->spare_last->spare_next : &t->spare_first) = h;
		t->spare_last = h;
		if (++t->spare_count > TH_SERVE_RESTING_MAX)
			th_loop_defer(h->server->loop, &t->trim);
		return;
	}
	*(h->spare_prev ? &h->spare_prev->spare_next : &t->spare_first) = h->spare_next;
	*(h->spare_next ? &h->spare_next->spare_prev : &t->spare_last) = h->spare_prev;
	t->spare_count--;
}

static void set_rested(struct th_hub *h, bool rests)
{
	h->rested_ms = rests ? th_loop_now_ms(h->server->loop) ?: 1 : 0;
	sort_in(h);
}

/* ---- to and from the store ---- */

void th_hub_drop_calls(struct th_hub *h)
{
	while (h->calls) {
		struct th_client_call *c = h->calls;

		h->calls = c->next;
		if (c->call)
			(void)thole_call_fail(c->call, "nobody waits for it", NULL);
		free(c->call_id);
		free(c->result);
		free(c);
	}
}

static void forget_session(struct th_hub *h)
{
	th_hub_drop_calls(h);
	th_hub_unreserve(h);
	th_needs_forget(&h->needs);
	h->parked_ms = 0; /* its watchers end with it */
	h->session = NULL;
	h->leaving = false;
	set_rested(h, false);
	h->server->hubs.open--;
	th_server_kick(h->server);
}

static void close_session(struct th_hub *h)
{
	if (!h->session)
		return;
	thole_session_free(h->session);
	forget_session(h);
}

/* At the server's end: what is under way here is given up, and what runs goes on at another node.
 */
static void leave_session(struct th_hub *h)
{
	struct thole_error e;
	int code =
	    th_hub_runs(h) ? thole_session_hand_over(h->session, true, &e) : THOLE_EUNSUPPORTED;

	if (code == THOLE_EUNSUPPORTED) {
		close_session(h);
		return;
	}
	/* One that is still being opened is not given back, which would be to nobody: it ends with
	 * the runtime, whose sessions others look for. */
	if (code && code != THOLE_EBUSY)
		th_journal_say(h->server, "store", "hand over %s: %s", h->id, e.text);
	forget_session(h);
}

static void drop(struct th_hub *h)
{
	struct th_hubs *t = &h->server->hubs;
	struct th_hub **at = &t->table[slot(t, h->id)];

	close_session(h);
	while (*at != h)
		at = &(*at)->chain;
	*at = h->chain;
	if (h->prev)
		h->prev->next = h->next;
	else
		t->first = h->next;
	if (h->next)
		h->next->prev = h->prev;
	t->count--;
	free(h);
}

/* ---- who listens ---- */

static thole_note_fn on_note;

/* For what its listeners are told; it replaces the watch before. */
static void watch(struct th_hub *h)
{
	struct thole_error err;
	unsigned kinds = h->deltas > 0 ? KINDS | THOLE_NOTE_DELTA : KINDS;

	if (h->session) /* it is the first: there is room */
		(void)thole_session_watch(h->session, kinds, on_note, h, &err);
}

void th_hub_listen(struct th_hub *h, struct th_listener *l)
{
	l->hub = h;
	l->next = NULL;
	l->prev = h->last;
	if (h->last)
		h->last->next = l;
	else
		h->first = l;
	h->last = l;
	h->busy += !l->only_listens;
	if (l->deltas && h->deltas++ == 0)
		watch(h);
	sort_in(h);
}

void th_hub_unlisten(struct th_listener *l)
{
	struct th_hub *h = l->hub;

	if (!h)
		return;
	l->hub = NULL;
	if (l->prev)
		l->prev->next = l->next;
	else
		h->first = l->next;
	if (l->next)
		l->next->prev = l->prev;
	else
		h->last = l->prev;
	for (struct th_hub_walk *w = h->walks; w; w = w->outer)
		if (w->next == l)
			w->next = l->next;
	h->busy -= !l->only_listens;
	if (l->deltas && --h->deltas == 0)
		watch(h);
	sort_in(h);
}

static void walk_begin(struct th_hub *h, struct th_hub_walk *w)
{
	*w = (struct th_hub_walk){ .outer = h->walks, .next = h->first };
	h->walks = w;
}

/* NULL: that was the last one. */
static struct th_listener *walk_next(struct th_hub_walk *w)
{
	struct th_listener *l = w->next;

	w->next = l ? l->next : NULL;
	return l;
}

static void walk_end(struct th_hub *h)
{
	h->walks = h->walks->outer;
}

/* Any of them may leave meanwhile, in its own function or in another one's. */
static void tell(struct th_hub *h, const struct thole_note *note)
{
	struct th_hub_walk w;
	struct th_listener *l;

	walk_begin(h, &w);
	while ((l = walk_next(&w)))
		l->fn(l, note);
	walk_end(h);
}

void th_hub_lose(struct th_hub *h)
{
	tell(h, NULL);
	close_session(h);
}

int th_hub_hand_over(struct th_hub *h, struct thole_error *err)
{
	int code = thole_session_hand_over(h->session, false, err);

	h->leaving = code == THOLE_EBUSY;
	if (code == THOLE_EBUSY || code == THOLE_EUNSUPPORTED)
		return code;
	forget_session(h);
	tell(h, NULL);
	return code;
}

static void on_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	struct th_hub *h = ctx;
	bool lost =
	    thole_note_kind(note) == THOLE_NOTE_REST && thole_session_state(session) == THOLE_LOST;
	struct thole_error why;

	if (lost) {
		if (thole_session_lost(session, &why) == THOLE_EPLACE)
			th_journal_say(h->server, "fleet", "left to other nodes: %s", why.text);
		th_hub_lose(h);
		return;
	}
	/* What comes behind its rest and does not wake it, such as the outcome of a call that was
	 * stopped, is told without another rest. */
	if (thole_note_kind(note) == THOLE_NOTE_REST && !th_hub_runs(h))
		th_hub_unreserve(h);
	if (thole_note_kind(note) == THOLE_NOTE_REST)
		set_rested(h, true);
	else if (thole_note_kind(note) == THOLE_NOTE_EVENT)
		set_rested(h, h->rested_ms && !th_hub_runs(h));
	if (thole_note_kind(note) == THOLE_NOTE_EVENT) {
		h->written = true;
		if (th_webhooks_any(h->server->webhooks)) /* else its text is not made */
			th_webhooks_event(h->server->webhooks, h->id, h->user,
					  th_str_of(thole_note_json(note)));
		if (strcmp(thole_note_name(note), "model_answered") == 0)
			th_quota_look(h);
	}
	tell(h, note);
}

/* ---- sessions ---- */

void th_hub_adopt(struct th_hub *h, struct thole_session *session)
{
	h->session = session;
	h->written = false;
	h->to_run = true;
	set_rested(h, false);
	h->server->hubs.open++;
	watch(h);
	th_server_kick(h->server);
}

int th_hub_open_start(struct th_hub *h, struct thole_agent *agent, struct thole_error *err)
{
	struct thole_session *session = NULL;
	int code;

	if (h->session)
		return 0;
	code = thole_session_open_start(h->server->rt, agent, h->id, &session, err);
	if (code)
		return code;
	th_hub_adopt(h, session);
	h->to_run = false;
	/* It may go back, unless something is said to it; one that is LOADING says when it
	 * rests. */
	set_rested(h, thole_session_state(session) != THOLE_LOADING &&
			  thole_session_state(session) != THOLE_RUNNING);
	return 0;
}

static bool goes_back(const struct th_hub *h, uint64_t now_ms)
{
	if (h->session && h->busy == 0 && h->parked_ms && now_ms - h->parked_ms >= TH_SERVE_PARK_MS)
		return true;
	return is_spare(h) && now_ms - h->rested_ms >= TH_SERVE_REST_MS;
}

/* Gives back those that rest longest. */
static void trim(void *ctx)
{
	struct th_server *s = ctx;

	if (s->hubs.spare_count <= TH_SERVE_RESTING_MAX)
		return;
	while (s->hubs.spare_count > TH_SERVE_RESTING_MAX - TRIM_AT_ONCE) {
		struct th_hub *h = s->hubs.spare_first;

		/* Something was said to it, or its end was decided, since it was put there. */
		sort_in(h);
		if (!h->spare)
			continue;
		close_session(h);
		if (!h->first && !h->keeper)
			drop(h);
	}
}

void th_hubs_init(struct th_server *s)
{
	s->hubs.trim = (struct th_deferred){ .fn = trim, .ctx = s };
}

void th_hubs_let_go(struct th_server *s, const void *keeper)
{
	for (struct th_hub *h = s->hubs.first; h; h = h->next)
		h->doomed |= h->keeper == keeper;
}

void th_hubs_sweep(struct th_server *s)
{
	uint64_t now_ms = th_loop_now_ms(s->loop);
	struct th_hub_walk w;
	struct th_listener *l;
	size_t looks = 0;

	for (struct th_hub *h = s->hubs.first, *next; h; h = next) {
		next = h->next;
		if (h->walks)
			continue;
		if (goes_back(h, now_ms))
			close_session(h);
		/* What it was told has nothing to do: no rest is told of that. */
		if (!th_hub_runs(h))
			th_hub_unreserve(h);
		if (!h->session && !h->first && !h->doomed && !h->keeper) {
			drop(h);
			continue;
		}
		walk_begin(h, &w);
		while (!h->session && looks < TH_SERVE_LOOKS_MAX && (l = walk_next(&w))) {
			if (!l->look || l->looked == s->hubs.round)
				continue;
			l->looked = s->hubs.round;
			l->look(l);
			looks++;
		}
		walk_end(h);
	}
	s->hubs.round += looks < TH_SERVE_LOOKS_MAX;
}

void th_hubs_ping(struct th_server *s)
{
	struct th_hub_walk w;
	struct th_listener *l;

	for (struct th_hub *h = s->hubs.first; h; h = h->next) {
		walk_begin(h, &w);
		while ((l = walk_next(&w)))
			if (l->ping)
				l->ping(l);
		walk_end(h);
	}
}

void th_hubs_finish(struct th_server *s)
{
	for (struct th_hub *h = s->hubs.first; h; h = h->next)
		tell(h, NULL);
}

void th_hubs_deinit(struct th_server *s)
{
	while (s->hubs.first) {
		leave_session(s->hubs.first);
		drop(s->hubs.first);
	}
	th_loop_undefer(s->loop, &s->hubs.trim);
	free(s->hubs.table);
}
