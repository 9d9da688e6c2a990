/* SPDX-License-Identifier: Apache-2.0 */
#include "live/log_commit.h"

#include "live/blob_text.h"
#include "live/log.h"
#include "live/memory.h"

void th_driver_ask_flush(struct th_driver *d)
{
	if (d->flush_asked)
		return;
	d->flush_asked = true;
	d->world.ops->flush_soon(d->world.ctx);
}

void th_live_dirty(struct th_live *l)
{
	struct th_driver *d = l->driver;

	if (l->dirty)
		return;
	l->dirty = true;
	l->dirty_next = NULL;
	if (d->dirty)
		d->dirty_last->dirty_next = l;
	else
		d->dirty = l;
	d->dirty_last = l;
	th_driver_ask_flush(d);
}

struct th_commit *th_commit_filling(struct th_driver *d)
{
	if (d->filling)
		return d->filling;
	if (d->spare) {
		d->filling = d->spare;
		d->spare = d->spare->next;
		d->filling->next = NULL;
	} else {
		d->filling = th_try_alloc(sizeof(*d->filling));
		if (!d->filling)
			return NULL;
		d->filling->driver = d;
		th_arena_init_try(&d->filling->arena, TH_BATCH_MEMORY_MAX);
	}
	return d->filling;
}

void th_commit_recycle(struct th_driver *d, struct th_commit *c)
{
	th_arena_reset(&c->arena);
	c->batch = (struct th_batch){ 0 };
	c->blob_count = 0;
	c->handles = NULL;
	c->next = d->spare;
	d->spare = c;
}

bool th_pending_room(struct th_pending *p, struct th_arena *a)
{
	size_t cap = TH_MAX(p->cap * 2, (size_t)4);
	struct th_event *events;
	struct th_digest *digests;

	if (p->count < p->cap)
		return true;
	events = th_arena_array(a, cap, sizeof(*events));
	digests = th_arena_array(a, cap, sizeof(*digests));
	if (!events || !digests)
		return false;
	if (p->count > 0) {
		memcpy(events, p->events, p->count * sizeof(*events));
		memcpy(digests, p->digests, p->count * sizeof(*digests));
	}
	p->events = events;
	p->digests = digests;
	p->cap = cap;
	return true;
}

void th_pending_end(struct th_pending *p)
{
	p->events = NULL;
	p->digests = NULL;
	p->count = p->cap = 0;
	p->task = TH_STR("");
}

void th_pending_add(struct th_live *l, const struct th_event *ev)
{
	struct th_pending *p = &l->pending;

	if (p->count == 0) {
		p->seq_before = ev->seq - 1;
		p->head_before = l->head;
	}
	assert(p->count < p->cap);
	l->head = th_event_digest(&l->head, th_str_of(l->id), ev);
	p->events[p->count] = *ev;
	p->digests[p->count++] = l->head;
}

void th_pending_refused(struct th_pending *p)
{
	if (p->count == 0)
		th_pending_end(p);
}

enum th_code th_driver_add_blob(struct th_driver *d, const struct th_blob *blob, struct th_err *err)
{
	struct th_commit *c = th_commit_filling(d);
	struct th_blob kept = { .hash = blob->hash };

	for (size_t i = 0; c && i < c->blob_count; i++)
		if (th_digest_eq(&c->blobs[i].hash, &blob->hash))
			return TH_OK;
	if (!c || !th_list_room(&c->blobs, c->blob_count, &c->blob_cap, 1, sizeof(*c->blobs)))
		return th_fail_memory(err);
	kept.media_type = th_arena_str(&c->arena, blob->media_type);
	kept.bytes = th_arena_str(&c->arena, blob->bytes);
	if (c->arena.no_memory)
		return th_fail_memory(err);
	if (!kept.media_type.ptr || !kept.bytes.ptr)
		return th_fail(err, TH_ELIMIT, "too much waits to be written");
	c->blobs[c->blob_count++] = kept;
	/* The next request is likely to show it: it is not read back from the store. */
	if (th_str_starts(blob->media_type, TH_STR("image/")))
		th_driver_text_keep(d, &blob->hash, blob->bytes);
	return TH_OK;
}
