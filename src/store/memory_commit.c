/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_commit.c - batches: they wait for the loop or the simulator, are checked, and written.
 */
#include "store/common.h"
#include "store/memory_internal.h"

/* ---- one session ---- */

static size_t fork_depth(const struct th_memory *m, struct th_str parent)
{
	size_t depth = 0;

	for (const struct th_memory_session *s = NULL; parent.len > 0; depth++) {
		s = th_memory_session_find(m, parent);
		if (!s || depth > TH_FORK_DEPTH_MAX)
			break;
		parent = s->row.parent;
	}
	return depth;
}

static enum th_code check_create(const struct th_memory *m, const struct th_append *a)
{
	const struct th_session_row *row = a->row;
	const struct th_memory_session *parent;
	const struct th_memory_record *r;

	if (th_memory_session_find(m, row->session_id))
		return TH_EEXIST;
	if (row->parent.len == 0)
		return TH_OK;
	parent = th_memory_session_find(m, row->parent);
	r = parent ? th_memory_record_find(m, parent, row->parent_seq) : NULL;
	if (!r)
		return TH_ENOENT;
	if (!th_digest_eq(&r->digest, &a->head_before))
		return TH_EFENCED;
	return fork_depth(m, row->parent) > TH_FORK_DEPTH_MAX ? TH_ELIMIT : TH_OK;
}

static void task_set(struct th_memory_session *s, struct th_str text)
{
	text = th_utf8_cut(text, TH_TASK_TEXT_MAX);
	s->task = th_alloc(text.len + 1);
	memcpy(s->task, text.ptr, text.len);
}

/* Before the row is written. */
static enum th_code usage_note(struct th_memory *m, const struct th_memory_session *s,
			       const struct th_append *a)
{
	struct th_usage_row more, used;
	enum th_code code = TH_OK;

	if (th_usage_used(a, &used))
		code = th_usage_sums_add(&m->usage, &used, NULL);
	if (code == TH_OK && th_usage_of(a->create ? NULL : &s->row, a->row, &more))
		code = th_usage_sums_add(&m->usage, &more, NULL);
	return code;
}

static enum th_code apply(struct th_memory_handle *h, const struct th_append *a)
{
	struct th_memory *m = h->m;
	struct th_memory_session *s = th_memory_session_find(m, a->row->session_id);
	enum th_code code = th_append_check(a);

	if (code != TH_OK)
		return code;
	if (a->create) {
		code = check_create(m, a);
		if (code != TH_OK)
			return code;
	} else if (!s) {
		return TH_ENOENT;
	} else if (s->row.epoch != a->row->epoch || s->row.head_seq != a->seq_before ||
		   !th_str_is(s->row.owner, h->owner) ||
		   !th_digest_eq(&s->row.head, &a->head_before)) {
		return TH_EFENCED;
	}
	code = usage_note(m, s, a);
	if (code != TH_OK)
		return code;
	if (a->create) {
		const struct th_memory_session *parent = th_memory_session_find(m, a->row->parent);

		s = th_memory_session_add(m, a->row->session_id);
		if (parent && parent->task && a->task.len == 0)
			task_set(s, th_str_of(parent->task));
	}
	if (a->task.len > 0 && !s->task)
		task_set(s, a->task);
	th_memory_row_set(s, a->row, th_str_of(h->owner), a->row->epoch);
	for (size_t i = 0; i < a->event_count; i++) {
		s->records = th_memory_grown(s->records, s->count, &s->cap, sizeof(*s->records));
		s->records[s->count++] = th_memory_record_new(&a->events[i], &a->digests[i]);
	}
	return TH_OK;
}

/* ---- batches ---- */

enum th_code th_memory_write_batch(struct th_memory_handle *h, struct th_batch *batch,
				   struct th_err *err)
{
	enum th_code code = th_batch_check(batch, err);

	if (code == TH_OK && h->read_only)
		code = th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (code == TH_OK && h->failing != TH_OK)
		code = th_fail(err, h->failing, "the store was told to fail");
	for (size_t i = 0; i < batch->append_count; i++)
		batch->appends[i].result = code == TH_OK ? apply(h, &batch->appends[i]) : code;
	for (size_t i = 0; code == TH_OK && i < batch->blob_count; i++)
		th_memory_blob_add(h->m, &batch->blobs[i]);
	return code;
}

struct th_batch *th_memory_take_first(struct th_memory_handle *h)
{
	struct th_batch *batch = h->first;

	if (!batch)
		return NULL;
	h->first = batch->next;
	if (!h->first)
		h->last = NULL;
	h->pending--;
	return batch;
}

void th_memory_run_pending(void *ctx)
{
	struct th_memory_handle *h = ctx;

	/* What the callbacks add waits for the next time. */
	for (size_t left = h->pending; left > 0; left--) {
		if (!th_memory_step(&h->base))
			break;
	}
	if (h->first && h->loop)
		th_loop_defer(h->loop, &h->run);
}

void th_memory_commit(struct th_store *s, struct th_batch *batch, th_commit_fn *done, void *ctx)
{
	struct th_memory_handle *h = th_memory_handle(s);

	batch->next = NULL;
	batch->done = done;
	batch->done_ctx = ctx;
	if (h->last)
		h->last->next = batch;
	else
		h->first = batch;
	h->last = batch;
	h->pending++;
	if (h->loop)
		th_loop_defer(h->loop, &h->run);
}

enum th_code th_memory_commit_now(struct th_store *s, struct th_batch *batch, struct th_err *err)
{
	struct th_memory_handle *h = th_memory_handle(s);

	while (h->first)
		th_memory_step(s);
	return th_memory_write_batch(h, batch, err);
}

/* ---- for the simulator ---- */

size_t th_memory_pending(const struct th_store *s)
{
	assert(strcmp(s->kind->scheme, "memory") == 0);
	return ((const struct th_memory_handle *)(const void *)s)->pending;
}

bool th_memory_step(struct th_store *s)
{
	struct th_memory_handle *h = th_memory_handle(s);
	struct th_batch *batch = th_memory_take_first(h);

	if (!batch)
		return false;
	batch->code = th_memory_write_batch(h, batch, &batch->err);
	batch->done(batch->done_ctx, batch, batch->code, batch->code == TH_OK ? NULL : &batch->err);
	return true;
}
