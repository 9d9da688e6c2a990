/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_flush.c - what waits of all sessions becomes one transaction, and what is told once it is
 * durable; or that a session is lost.
 */
#include "live/delegation.h"
#include "live/log.h"
#include "live/log_commit.h"

void th_live_no_memory(struct th_live *l)
{
	if (l->lost)
		return;
	l->lost = l->untold = l->driver->untold = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	l->driver->log_ops->lost(l);
	th_driver_ask_flush(l->driver);
}

/* Told, sessions may be closed. */
static void tell_lost(struct th_driver *d)
{
	if (!d->untold)
		return;
	d->untold = false;
	for (uint32_t i = 0; i < d->live_cap; i++) {
		struct th_live *l = d->lives[i];
		struct th_err err = { 0 };

		if (!l || !l->untold)
			continue;
		l->untold = false;
		(void)th_fail(&err, TH_ENOMEM, "session %s: out of memory", l->id);
		if (l->observer.rest)
			l->observer.rest(l->observer.ctx,
					 (struct th_handle){ l->index, l->generation }, &l->fold,
					 &err);
	}
}

void th_live_lose(struct th_live *l, const struct th_err *err)
{
	struct th_handle h = th_live_handle(l);

	if (l->lost)
		return;
	l->lost = true;
	l->held_count = 0;
	l->queue_at = l->queue_count = 0;
	l->driver->log_ops->lost(l);
	if (l->observer.rest)
		l->observer.rest(l->observer.ctx, h, &l->fold, err);
}

enum th_code th_live_read(const struct th_live *l, uint64_t from, uint64_t to, th_event_fn *fn,
			  void *ctx, struct th_err *err)
{
	const struct th_append *a = l->fresh;
	struct th_driver *d = l->driver;
	enum th_code code = TH_OK;

	if (!a || from <= a->seq_before || to > a->seq_before + a->event_count)
		return d->world.ops->read(d->world.ctx, th_str_of(l->id), from, to, fn, ctx, err);
	for (uint64_t seq = from; seq <= to && !code; seq++) {
		size_t at = (size_t)(seq - a->seq_before - 1);

		code = fn(ctx, &a->events[at], &a->digests[at], err);
	}
	return code;
}

static void forget_effects(struct th_driver *d, const struct th_append *a)
{
	struct th_str ids[16];
	size_t count = 0;

	for (size_t i = 0; i < a->event_count; i++) {
		struct th_str raw;

		if (a->events[i].kind != TH_EV_OUTCOME && a->events[i].kind != TH_EV_GUARDRAIL &&
		    a->events[i].kind != TH_EV_CODE && a->events[i].kind != TH_EV_QUESTION)
			continue;
		raw = th_json_raw_get(a->events[i].data, "effect_id");
		if (raw.len < 3)
			continue;
		ids[count++] = th_str_sub(raw, 1, raw.len - 2);
		if (count == TH_COUNT(ids)) {
			d->world.ops->tool_forget(d->world.ctx, a->row->session_id, ids, count);
			count = 0;
		}
	}
	if (count > 0)
		d->world.ops->tool_forget(d->world.ctx, a->row->session_id, ids, count);
}

static void append_done(struct th_driver *d, struct th_handle h, const struct th_append *a)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_err err = { 0 };

	if (!l)
		return;
	l->commits--;
	if (a->result != TH_OK) {
		if (a->result == TH_EEXIST)
			(void)th_fail(&err, a->result, "session %s exists already", l->id);
		else
			(void)th_fail(&err, a->result,
				      "session %s was taken by another runtime; nothing more was "
				      "written here",
				      l->id);
		th_live_lose(l, &err);
		return;
	}
	l->durable_seq = a->seq_before + a->event_count;
	l->fresh = a;
	for (size_t i = 0; l && i < a->event_count; i++) {
		if (l->observer.event)
			l->observer.event(l->observer.ctx, h, &a->events[i]);
		l = th_driver_find(d, h);
		if (l)
			d->log_ops->durable(l, &a->events[i]);
	}
	forget_effects(d, a);
	d->log_ops->released(d, h);
	l = th_driver_find(d, h);
	if (l)
		l->fresh = NULL;
}

/* Memory may be there for the other sessions; anything else is the store's end. */
static void on_commit(void *ctx, struct th_batch *batch, enum th_code code,
		      const struct th_err *err)
{
	struct th_commit *c = ctx;
	struct th_driver *d = c->driver;

	d->commits--;
	if (code) {
		if (code != TH_ENOMEM)
			d->world.ops->fatal(d->world.ctx, err);
		for (size_t i = 0; i < batch->append_count; i++) {
			struct th_live *l = th_driver_find(d, c->handles[i]);

			if (l) {
				l->commits--;
				th_live_lose(l, err);
			}
		}
	} else {
		for (size_t i = 0; i < batch->append_count; i++)
			append_done(d, c->handles[i], &batch->appends[i]);
	}
	th_commit_recycle(d, c);
}

static struct th_str keep(struct th_commit *c, const char *s)
{
	return s ? th_arena_str(&c->arena, th_str_of(s)) : TH_STR("");
}

static void fill_row(struct th_commit *c, struct th_live *l, struct th_session_row *row)
{
	const struct th_session *s = &l->fold;

	*row = (struct th_session_row){
		.session_id = keep(c, l->id),
		.user = keep(c, l->user),
		.title = keep(c, l->title),
		.parent = keep(c, l->parent),
		.parent_seq = l->parent_seq,
		.head = l->head,
		.epoch = l->epoch,
		.created_ms = l->created_ms ? l->created_ms : s->created_ms,
		.metadata = keep(c, l->metadata ? l->metadata : "{}"),
	};
	th_session_row_of(s, row);
	row->agent = th_arena_str(&c->arena, row->agent);
	row->model = th_arena_str(&c->arena, row->model);
}

/* False: out of memory, and nothing happened. */
static bool fill_append(struct th_commit *c, struct th_live *l, struct th_append *a)
{
	struct th_pending *p = &l->pending;
	struct th_session_row *row = TH_NEW(&c->arena, struct th_session_row);

	if (row)
		fill_row(c, l, row);
	if (c->arena.no_memory)
		return false;
	assert(row);
	*a = (struct th_append){
		.create = p->create,
		.row = row,
		.seq_before = p->seq_before,
		.head_before = p->head_before,
		.events = p->events,
		.digests = p->digests,
		.event_count = p->count,
		.task = p->task,
		.used = th_used_more(&l->used_said, &l->fold.used_said),
	};
	l->used_said = l->fold.used_said;
	th_pending_end(p);
	p->create = false;
	return true;
}

/* It begins to work on a call, whose session says so in the same transaction. */
static bool begins_for_another(const struct th_live *l)
{
	return l->pending.create && l->parent_call && l->parent_call->parent;
}

/* Behind those that they work for. */
static struct th_live *parents_first(struct th_live *list)
{
	struct th_live *children = NULL, **last = &children, **at = &list;

	while (*at) {
		struct th_live *l = *at;

		if (!begins_for_another(l)) {
			at = &l->dirty_next;
			continue;
		}
		*at = l->dirty_next;
		*last = l;
		last = &l->dirty_next;
	}
	*last = NULL;
	*at = children;
	return list;
}

/* A lost session begins nothing.  False: the event cannot be written. */
static bool fill_needs(const struct th_commit *c, const struct th_live *l, struct th_append *a)
{
	struct th_handle of = th_live_handle(l->parent_call->parent);

	for (size_t i = 0; i < c->batch.append_count && !a->needs; i++)
		if (c->handles[i].index == of.index && c->handles[i].generation == of.generation)
			a->needs = &c->batch.appends[i];
	return a->needs != NULL;
}

/* Nothing of what waits can be written: as if the process had died, for these sessions. */
static void flush_failed(struct th_driver *d, struct th_commit *c, struct th_live *list)
{
	for (struct th_live *l = list, *next; l; l = next) {
		next = l->dirty_next;
		l->dirty = false;
		th_pending_end(&l->pending);
		th_live_no_memory(l);
	}
	d->filling = NULL;
	if (c)
		th_commit_recycle(d, c);
	d->flush_asked = false;
	tell_lost(d);
}

void th_driver_flush(struct th_driver *d)
{
	struct th_commit *c = th_commit_filling(d);
	struct th_handle *idle = NULL;
	size_t count = 0, idle_count = 0;
	struct th_live *list = parents_first(d->dirty);

	d->flush_asked = false;
	d->dirty = d->dirty_last = NULL;
	for (struct th_live *l = list; l; l = l->dirty_next)
		count++;
	if (count == 0) {
		tell_lost(d);
		return;
	}
	if (c) {
		c->batch.appends = th_arena_array(&c->arena, count, sizeof(*c->batch.appends));
		c->handles = th_arena_array(&c->arena, count, sizeof(*c->handles));
		idle = th_arena_array(&c->arena, count, sizeof(*idle));
	}
	if (!c || c->arena.no_memory) {
		flush_failed(d, c, list);
		return;
	}
	assert(c->batch.appends && c->handles && idle);
	for (struct th_live *l = list, *next; l; l = next) {
		next = l->dirty_next;
		l->dirty = false;
		if (l->pending.count > 0) {
			struct th_append *a = &c->batch.appends[c->batch.append_count];
			bool child = begins_for_another(l);

			if (!fill_append(c, l, a) || (child && !fill_needs(c, l, a))) {
				c->arena.no_memory = false; /* the next one may fit */
				th_pending_end(&l->pending);
				th_live_no_memory(l);
				continue;
			}
			c->handles[c->batch.append_count++] = th_live_handle(l);
			l->commits++;
		} else if (l->commits == 0) {
			idle[idle_count++] = th_live_handle(l);
		}
	}
	d->filling = NULL;
	/* Effects of events that were durable already: they wait for nothing. */
	for (size_t i = 0; i < idle_count; i++)
		d->log_ops->released(d, idle[i]);
	c->batch.blobs = c->blobs;
	c->batch.blob_count = c->blob_count;
	if (c->batch.append_count == 0) {
		th_commit_recycle(d, c);
	} else {
		d->commits++;
		d->world.ops->commit(d->world.ctx, &c->batch, on_commit, c);
	}
	tell_lost(d);
}
