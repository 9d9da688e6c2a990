/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - conversations that were told lately, so that the next page costs what is new.
 *
 * Any of them may be dropped while nobody reads it: it is told anew, and the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "openhands_api/internal.h"

struct th_oh_held {
	struct th_oh_held *prev, *next;
	struct th_oh *o;
	struct thole_conversation *c;
	size_t readings;
	uint64_t used_ms;
	bool gone; /* it was deleted: freed with its last reading */
	char id[TH_SESSION_ID_MAX + 1];
};

struct th_oh_reading {
	struct th_oh_held *held;
	struct thole_reading *reading;
	thole_line_fn *fn;
	thole_done_fn *done;
	void *ctx;
	bool names_event;
};

static void take_out(struct th_oh_held *x)
{
	if (x->prev)
		x->prev->next = x->next;
	else
		x->o->held = x->next;
	if (x->next)
		x->next->prev = x->prev;
}

static void put_first(struct th_oh_held *x)
{
	x->prev = NULL;
	x->next = x->o->held;
	if (x->next)
		x->next->prev = x;
	x->o->held = x;
}

static void drop(struct th_oh_held *x)
{
	take_out(x);
	thole_conversation_free(x->c);
	free(x);
}

static struct th_oh_held *find(struct th_oh *o, const char *id)
{
	struct th_oh_held *x = o->held;

	while (x && (x->gone || strcmp(x->id, id) != 0))
		x = x->next;
	return x;
}

/* Those that were used long ago go first. */
static void trim(struct th_oh *o)
{
	size_t size = 0;

	for (struct th_oh_held *x = o->held, *next; x; x = next) {
		next = x->next;
		size += thole_conversation_size(x->c);
		if (!x->readings && (x->gone || size > TH_SERVE_OPENHANDS_HELD_MAX)) {
			size -= thole_conversation_size(x->c);
			drop(x);
		}
	}
	o->server->metrics.conversations_held = size;
}

static struct th_oh *leave(struct th_oh_reading *r)
{
	struct th_oh *o = r->held->o;

	r->held->readings--;
	r->held->used_ms = th_loop_now_ms(o->server->loop);
	free(r);
	trim(o);
	return o;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_oh_reading *r = ctx;

	return r->fn(r->ctx, line, len);
}

/* Otherwise what it holds is of no use any more: what could not be read once (a picture, while the
 * database was away) is never told from there.  EBUSY: nothing was read.  ENOENT: most often the
 * client's event is not there; of a session that is gone the next reading says it again. */
static bool is_harmless(const struct th_oh_reading *r, int code)
{
	return code == THOLE_EBUSY || (code == THOLE_ENOENT && r->names_event);
}

static bool names_event(const char *const *options)
{
	for (; options && *options; options += 2)
		if (strcmp(*options, "event") == 0)
			return true;
	return false;
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct th_oh_reading *r = ctx;
	thole_done_fn *done = r->done;
	void *theirs = r->ctx;

	if (err && !is_harmless(r, code))
		r->held->gone = true;
	done(theirs, code, err); /* it may ask for th_oh_count: one that is too large goes then */
	(void)leave(r);
}

int th_oh_read(struct th_oh *o, const char *id, const char *const *options, thole_line_fn *fn,
	       thole_done_fn *done, void *ctx, struct th_oh_reading **ret, struct thole_error *err)
{
	struct th_oh_held *x = find(o, id);
	struct th_oh_reading *r;
	int code = 0;

	if (!x) {
		x = th_alloc(sizeof(*x));
		*x = (struct th_oh_held){ .o = o };
		snprintf(x->id, sizeof(x->id), "%s", id);
		code = thole_conversation_new(o->server->rt, id, &x->c, err);
		if (code) {
			free(x);
			return code;
		}
		put_first(x);
	}
	take_out(x);
	put_first(x);
	r = th_alloc(sizeof(*r));
	*r = (struct th_oh_reading){
		.held = x, .fn = fn, .done = done, .ctx = ctx, .names_event = names_event(options)
	};
	x->readings++;
	code = thole_conversation_read(x->c, options, on_line, on_done, r, &r->reading, err);
	if (code) {
		(void)leave(r);
		return code;
	}
	*ret = r;
	th_server_kick(o->server);
	return 0;
}

void th_oh_read_free(struct th_oh_reading *r)
{
	if (!r)
		return;
	thole_reading_free(r->reading);
	(void)leave(r);
}

size_t th_oh_count(struct th_oh *o, const char *id)
{
	const struct th_oh_held *x = find(o, id);

	return x ? thole_conversation_count(x->c) : 0;
}

void th_oh_forget(struct th_oh *o, const char *id)
{
	struct th_oh_held *x = find(o, id);

	if (x)
		x->gone = true;
	trim(o);
}

void th_oh_held_sweep(struct th_oh *o)
{
	uint64_t now_ms = th_loop_now_ms(o->server->loop);

	for (struct th_oh_held *x = o->held, *next; x; x = next) {
		next = x->next;
		if (!x->readings && now_ms - x->used_ms >= TH_SERVE_REST_MS)
			drop(x);
	}
	trim(o);
}

void th_oh_held_free(struct th_oh *o)
{
	while (o->held)
		drop(o->held);
}
