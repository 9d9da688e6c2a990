/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watchers.c - who is told what a session does.
 *
 * Notes stand in the runtime's one queue until they are delivered.  A watcher that is held keeps
 * its own queue of them, which is bounded; the notes are shared, not copied.
 */
#include <stdlib.h>

#include "api/api.h"

static void queue_clear(struct thole_watcher *w)
{
	for (size_t i = 0; i < w->count; i++)
		th_api_note_unref(w->queue[(w->first + i) % w->cap]);
	w->first = w->count = w->size = 0;
}

static void queue_add(struct thole_watcher *w, struct thole_note *n)
{
	if (w->lost || w->count == TH_WATCHER_NOTES_MAX ||
	    w->size + n->size > TH_WATCHER_BYTES_MAX) {
		w->lost = true;
		if (!w->lost_from)
			w->lost_from = n->seq;
		return;
	}
	if (w->count == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		struct thole_note **queue = th_alloc(cap * sizeof(struct thole_note *));

		for (size_t i = 0; i < w->count; i++)
			queue[i] = w->queue[(w->first + i) % w->cap];
		free(w->queue);
		w->queue = queue;
		w->cap = cap;
		w->first = 0;
	}
	w->queue[(w->first + w->count++) % w->cap] = n;
	w->size += n->size;
	n->users++;
}

static void kinds_sum(struct thole_session *s)
{
	s->kinds = 0;
	for (const struct thole_watcher *w = s->watchers; w; w = w->next)
		s->kinds |= w->kinds;
}

/* Out of the runtime's list of those that are released. */
static void released_remove(struct thole_watcher *w)
{
	struct thole_watcher **at = &w->session->rt->released;

	if (!w->released)
		return;
	while (*at != w)
		at = &(*at)->next_released;
	*at = w->next_released;
	w->released = false;
}

/* Frees those that left. */
static void reap(struct thole_session *s)
{
	struct thole_watcher **at = &s->watchers, *w;

	s->last_watcher = NULL;
	while ((w = *at)) {
		if (w->fn) {
			s->last_watcher = w;
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w->queue);
		free(w);
	}
	s->left = false;
	kinds_sum(s);
}

static void leave(struct thole_watcher *w)
{
	w->session->left = true;
	w->fn = NULL;
	w->kinds = 0;
	released_remove(w);
	queue_clear(w);
}

void th_api_watchers_end(struct thole_session *s)
{
	for (struct thole_watcher *w = s->watchers; w; w = w->next)
		leave(w);
	s->kinds = 0;
	if (!s->telling)
		reap(s);
}

/* Those that are there when it begins; a callback may add others and let any go. */
void th_api_session_note(struct thole_note *n)
{
	struct thole_session *s = n->session;
	const struct thole_watcher *last = s->last_watcher;

	s->telling = true;
	for (struct thole_watcher *w = s->watchers; w; w = w == last ? NULL : w->next) {
		if (!(w->kinds & (unsigned)n->kind))
			continue;
		if (w->held || w->released)
			queue_add(w, n);
		else
			w->fn(w->ctx, s, n);
	}
	s->telling = false;
	if (s->left)
		reap(s);
}

/* Tells it what waited, until it is held again or leaves. */
static void catch_up(struct thole_watcher *w)
{
	struct thole_session *s = w->session;
	struct thole_note lost = { .kind = THOLE_NOTE_LOST, .session = s, .name = "lost" };

	while (w->fn && !w->held && w->count > 0) {
		struct thole_note *n = w->queue[w->first];

		w->first = (w->first + 1) % w->cap;
		w->count--;
		w->size -= n->size;
		w->fn(w->ctx, s, n);
		th_api_note_unref(n);
	}
	if (!w->fn || w->held || !w->lost)
		return;
	lost.seq = w->lost_from;
	w->lost = false;
	w->lost_from = 0;
	w->fn(w->ctx, s, &lost);
}

void th_api_watchers_release(struct thole_runtime *rt)
{
	struct thole_watcher *w;

	while ((w = rt->released)) {
		struct thole_session *s = w->session;

		released_remove(w);
		s->users++;
		s->telling = true;
		catch_up(w);
		s->telling = false;
		if (s->left)
			reap(s);
		th_api_session_unref(s);
	}
}

void th_api_watchers_deltas_drop(struct thole_session *s)
{
	for (struct thole_watcher *w = s->watchers; w; w = w->next) {
		size_t count = w->count;

		w->count = 0;
		for (size_t i = 0; i < count; i++) {
			struct thole_note *n = w->queue[(w->first + i) % w->cap];

			if (n->kind != THOLE_NOTE_DELTA) {
				w->queue[(w->first + w->count++) % w->cap] = n;
				continue;
			}
			w->size -= n->size;
			th_api_note_unref(n);
		}
	}
}

/* ---- what the program calls --------------------------------------------------------------------
 */

static int check_watch(struct thole_session *s, unsigned kinds, struct thole_error *err)
{
	const unsigned all = THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT |
			     THOLE_NOTE_EVENT | THOLE_NOTE_ASK | THOLE_NOTE_REST | THOLE_NOTE_OPEN;
	int code = th_api_enter_session(s, err);

	if (!code && (kinds & ~all))
		code = th_api_fail(err, TH_EUSAGE, "there are no such notes: %#x", kinds & ~all);
	return code;
}

static struct thole_watcher *only_find(struct thole_session *s)
{
	struct thole_watcher *w = s->watchers;

	while (w && !(w->only && w->fn))
		w = w->next;
	return w;
}

static int add(struct thole_session *s, unsigned kinds, thole_note_fn *fn, void *ctx,
	       struct thole_watcher **ret, struct thole_error *err)
{
	struct thole_watcher *w;
	size_t count = 0;

	for (w = s->watchers; w; w = w->next)
		count += w->fn != NULL;
	if (count == TH_WATCHERS_MAX)
		return th_api_fail(err, TH_ELIMIT, "a session has at most %d watchers",
				   TH_WATCHERS_MAX);
	w = th_alloc(sizeof(*w));
	*w = (struct thole_watcher){ .session = s, .kinds = kinds, .fn = fn, .ctx = ctx };
	if (s->last_watcher)
		s->last_watcher->next = w;
	else
		s->watchers = w;
	s->last_watcher = w;
	s->kinds |= kinds;
	*ret = w;
	return TH_OK;
}

int thole_session_watch(struct thole_session *s, unsigned kinds, thole_note_fn *fn, void *ctx,
			struct thole_error *err)
{
	struct thole_watcher *w;
	int code = check_watch(s, kinds, err);

	if (code)
		return code;
	w = only_find(s);
	if (!fn) {
		thole_watcher_free(w);
		return TH_OK;
	}
	if (!w) {
		code = add(s, kinds, fn, ctx, &w, err);
		if (!code)
			w->only = true;
		return code;
	}
	w->fn = fn;
	w->ctx = ctx;
	w->kinds = kinds;
	kinds_sum(s);
	return TH_OK;
}

int thole_session_watch_add(struct thole_session *s, unsigned kinds, thole_note_fn *fn, void *ctx,
			    struct thole_watcher **ret, struct thole_error *err)
{
	int code = check_watch(s, kinds, err);

	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "the function that is told is NULL");
	if (!code && !ret)
		code =
		    th_api_fail(err, TH_EUSAGE, "there is no place for the watcher: ret is NULL");
	return code ? code : add(s, kinds, fn, ctx, ret, err);
}

int thole_watcher_hold(struct thole_watcher *w, bool hold, struct thole_error *err)
{
	struct thole_runtime *rt;
	int code;

	if (!w)
		return th_api_fail(err, TH_EUSAGE, "the watcher is NULL");
	code = th_api_enter_session(w->session, err);
	if (code)
		return code;
	rt = w->session->rt;
	w->held = hold;
	if (hold) {
		released_remove(w);
	} else if (!w->released && (w->count > 0 || w->lost)) {
		struct thole_watcher **at = &rt->released;

		while (*at)
			at = &(*at)->next_released;
		w->next_released = NULL;
		*at = w;
		w->released = true;
		th_api_deliver_soon(rt);
	}
	return TH_OK;
}

void thole_watcher_free(struct thole_watcher *w)
{
	struct thole_session *s;

	if (!w || th_api_enter_session(w->session, NULL) == THOLE_EUSAGE)
		return;
	s = w->session;
	leave(w);
	if (!s->telling)
		reap(s);
	else
		kinds_sum(s);
}
