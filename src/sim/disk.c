/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/disk.h"

#include <stdlib.h>

#include "sim/disk_internal.h"

struct th_sim_disk *th_sim_disk_in_use;

/* ---- chance ---- */

uint64_t th_sim_draw(struct th_sim_random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t th_sim_below(struct th_sim_random *r, uint64_t n)
{
	assert(n > 0);
	return th_sim_draw(r) % n;
}

bool th_sim_chance(struct th_sim_random *r, unsigned one_in)
{
	return one_in > 0 && th_sim_below(r, one_in) == 0;
}

/* ---- life ---- */

char *th_sim_copy(struct th_str s)
{
	char *p = th_alloc(s.len + 1);

	if (s.len > 0)
		memcpy(p, s.ptr, s.len);
	return p;
}

struct th_sim_disk *th_sim_disk_new(struct th_sim_random *random)
{
	struct th_sim_disk *d = th_alloc(sizeof(*d));

	assert(!th_sim_disk_in_use);
	d->random = random;
	th_sim_disk_in_use = d;
	return d;
}

static void session_cut(struct stored_session *s, size_t count)
{
	while (s->count > count)
		free(s->events[--s->count]);
	s->synced = TH_MIN(s->synced, count);
}

static void session_free(struct stored_session *s)
{
	session_cut(s, 0);
	free(s->events);
	free(s->id);
	free(s->user);
	free(s->title);
	free(s->parent);
	free(s->metadata);
	free(s);
}

void th_sim_file_cut(struct file *f, size_t count)
{
	while (f->count > count) {
		f->size -= f->records[--f->count].len;
		free(f->records[f->count].bytes);
	}
	f->synced = TH_MIN(f->synced, count);
}

struct th_sim_disk *th_sim_disk_free(struct th_sim_disk *d)
{
	assert(d == th_sim_disk_in_use);
	th_sim_disk_in_use = NULL;
	for (size_t i = 0; i < d->session_count; i++)
		session_free(d->sessions[i]);
	for (size_t i = 0; i < d->blob_count; i++)
		free(d->blobs[i].bytes);
	free(d->blobs);
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++) {
		th_sim_file_cut(&d->files[i], 0);
		free(d->files[i].records);
	}
	free(d);
	return NULL;
}

void th_sim_disk_no_fencing(struct th_sim_disk *d)
{
	d->no_fencing = true;
}

void th_sim_disk_no_sync(struct th_sim_disk *d)
{
	d->no_sync = true;
}

void th_sim_disk_no_journal(struct th_sim_disk *d)
{
	d->no_journal = true;
}

void th_sim_disk_blind(struct th_sim_disk *d)
{
	d->blind = true;
}

void th_sim_disk_unsynced_journals(struct th_sim_disk *d)
{
	d->unsynced_journals = true;
}

void th_sim_disk_tidy_often(struct th_sim_disk *d)
{
	d->tidy_often = true;
}

/* ---- power ---- */

void th_sim_record_remove(struct file *f, size_t index)
{
	f->size -= f->records[index].len;
	free(f->records[index].bytes);
	memmove(f->records + index, f->records + index + 1,
		(f->count - index - 1) * sizeof(*f->records));
	f->count--;
	f->synced = TH_MIN(f->synced, f->count);
}

static void file_power_cut(struct th_sim_disk *d, struct file *f)
{
	size_t keep = f->synced + th_sim_below(d->random, f->count - f->synced + 1);

	/* Blocks reach the disk in any order: seldom the last record without the one before. */
	if (f->count - f->synced >= 2 && th_sim_chance(d->random, 4)) {
		size_t hole = f->synced + th_sim_below(d->random, f->count - f->synced - 1);

		th_sim_record_remove(f, hole);
		f->damaged = true;
	} else {
		f->torn = keep < f->count;
		th_sim_file_cut(f, keep);
	}
	f->synced = f->count;
}

void th_sim_disk_power_cut(struct th_sim_disk *d)
{
	for (size_t i = 0; i < d->session_count;) {
		struct stored_session *s = d->sessions[i];

		if (s->count > s->synced)
			session_cut(s, s->synced + th_sim_below(d->random, s->count - s->synced));
		if (s->count > 0) {
			s->synced = s->count;
			i++;
			continue;
		}
		session_free(s);
		d->sessions[i] = d->sessions[--d->session_count];
	}
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		file_power_cut(d, &d->files[i]);
}

void th_sim_disk_sync(struct th_sim_disk *d)
{
	for (size_t i = 0; i < d->session_count; i++)
		d->sessions[i]->synced = d->sessions[i]->count;
}

bool th_sim_disk_unsynced(const struct th_sim_disk *d)
{
	for (size_t i = 0; i < d->session_count; i++)
		if (d->sessions[i]->synced < d->sessions[i]->count)
			return true;
	return false;
}

/* ---- the store ---- */

static struct stored_session *session_find(const struct th_sim_disk *d, struct th_str id)
{
	for (size_t i = 0; i < d->session_count; i++)
		if (th_str_is(id, d->sessions[i]->id))
			return d->sessions[i];
	return NULL;
}

static uint64_t head_seq(const struct stored_session *s)
{
	return s->parent_seq + s->count;
}

static struct th_digest head(const struct stored_session *s)
{
	return s->count > 0 ? s->events[s->count - 1]->digest : s->parent_head;
}

static const struct stored *event_find(const struct th_sim_disk *d, const struct stored_session *s,
				       uint64_t seq)
{
	while (s && seq <= s->parent_seq)
		s = session_find(d, th_str_of(s->parent));
	return s && seq > s->parent_seq && seq <= head_seq(s) ? s->events[seq - s->parent_seq - 1]
							      : NULL;
}

static struct stored *event_new(const struct th_event *ev, const struct th_digest *digest)
{
	struct stored *e = th_alloc(sizeof(*e) + ev->call.len + ev->data.len + ev->build.len);
	char *p = (char *)(e + 1);
	struct th_str *const strings[] = { &e->ev.call, &e->ev.data, &e->ev.build };

	e->ev = *ev;
	e->digest = *digest;
	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		struct th_str s = *strings[i];

		if (s.len > 0)
			memcpy(p, s.ptr, s.len);
		*strings[i] = th_str_n(p, s.len);
		p += s.len;
	}
	return e;
}

static enum th_code create(struct th_sim_disk *d, const struct th_append *a,
			   struct stored_session **ret)
{
	const struct th_session_row *row = a->row;
	struct stored_session *s;

	if (session_find(d, row->session_id))
		return TH_EEXIST;
	if (row->parent.len > 0) {
		const struct stored *last =
		    event_find(d, session_find(d, row->parent), row->parent_seq);

		if (!last)
			return TH_ENOENT;
		if (!th_digest_eq(&last->digest, &a->head_before))
			return TH_EFENCED;
	}
	assert(d->session_count < TH_SIM_SESSIONS_MAX);
	s = d->sessions[d->session_count++] = th_alloc(sizeof(*s));
	s->id = th_sim_copy(row->session_id);
	s->user = th_sim_copy(row->user);
	s->title = th_sim_copy(row->title);
	s->parent = th_sim_copy(row->parent);
	s->metadata = th_sim_copy(row->metadata);
	s->parent_seq = row->parent.len > 0 ? row->parent_seq : 0;
	s->parent_head = a->head_before;
	s->epoch = row->epoch;
	s->created_ms = row->created_ms;
	*ret = s;
	return TH_OK;
}

static enum th_code apply(struct th_sim_disk *d, const struct th_append *a)
{
	struct stored_session *s = session_find(d, a->row->session_id);
	struct th_digest before;
	enum th_code code = TH_OK;

	if (a->needs && a->needs->result != TH_OK)
		code = TH_EFENCED;
	else if (a->create)
		code = create(d, a, &s);
	else if (!s)
		code = TH_ENOENT;
	if (code)
		return code;
	before = head(s);
	if (d->no_fencing && a->seq_before >= s->parent_seq && a->seq_before <= head_seq(s))
		session_cut(s, a->seq_before - s->parent_seq);
	else if (s->epoch != a->row->epoch || head_seq(s) != a->seq_before ||
		 !th_digest_eq(&before, &a->head_before))
		return TH_EFENCED;
	for (size_t i = 0; i < a->event_count; i++) {
		if (s->count == s->cap) {
			s->cap = s->cap ? s->cap * 2 : 16;
			s->events = th_realloc(s->events, s->cap * sizeof(struct stored *));
		}
		assert(a->events[i].seq == head_seq(s) + 1);
		s->events[s->count++] = event_new(&a->events[i], &a->digests[i]);
	}
	if (!d->no_sync)
		s->synced = s->count;
	return TH_OK;
}

static void blob_add(struct th_sim_disk *d, const struct th_blob *b)
{
	for (size_t i = 0; i < d->blob_count; i++)
		if (th_digest_eq(&d->blobs[i].hash, &b->hash))
			return;
	if (d->blob_count == d->blob_cap) {
		d->blob_cap = d->blob_cap ? d->blob_cap * 2 : 8;
		d->blobs = th_realloc(d->blobs, d->blob_cap * sizeof(*d->blobs));
	}
	d->blobs[d->blob_count++] =
	    (struct stored_blob){ b->hash, th_sim_copy(b->bytes), b->bytes.len };
}

enum th_code th_sim_store_commit(struct th_sim_disk *d, struct th_batch *batch,
				 enum th_sim_fault fault, bool *ret_written, struct th_err *err)
{
	*ret_written = false;
	if (fault == TH_SIM_FAULT_FULL)
		return th_fail(err, TH_ELIMIT, "the disk is full");
	if (fault == TH_SIM_FAULT_IO)
		return th_fail(err, TH_EIO, "input/output error");
	for (size_t i = 0; i < batch->append_count; i++)
		batch->appends[i].result = apply(d, &batch->appends[i]);
	for (size_t i = 0; i < batch->blob_count; i++)
		blob_add(d, &batch->blobs[i]);
	*ret_written = true;
	if (fault == TH_SIM_FAULT_REPORTED)
		return th_fail(err, TH_EIO, "input/output error");
	return TH_OK;
}

enum th_code th_sim_store_get(struct th_sim_disk *d, struct th_str id, struct th_session_row *ret,
			      struct th_err *err)
{
	const struct stored_session *s = session_find(d, id);

	if (!s)
		return th_fail(err, TH_ENOENT, "there is no session %.*s", TH_FMT(id));
	*ret = (struct th_session_row){
		.session_id = th_str_of(s->id),
		.user = th_str_of(s->user),
		.title = th_str_of(s->title),
		.parent = th_str_of(s->parent),
		.metadata = th_str_of(s->metadata),
		.parent_seq = s->parent_seq,
		.head_seq = head_seq(s),
		.head = head(s),
		.epoch = s->epoch,
		.created_ms = s->created_ms,
	};
	return TH_OK;
}

enum th_code th_sim_store_lease(struct th_sim_disk *d, struct th_str id, struct th_session_row *ret,
				struct th_err *err)
{
	struct stored_session *s = session_find(d, id);

	if (s)
		s->epoch++;
	return th_sim_store_get(d, id, ret, err);
}

enum th_code th_sim_store_read(struct th_sim_disk *d, struct th_str id, uint64_t from, uint64_t to,
			       th_event_fn *fn, void *ctx, struct th_err *err)
{
	const struct stored_session *s = session_find(d, id);
	enum th_code code = TH_OK;

	if (!s)
		return th_fail(err, TH_ENOENT, "there is no session %.*s", TH_FMT(id));
	if (to == 0 || to > head_seq(s))
		to = head_seq(s);
	for (uint64_t seq = TH_MAX(from, 1); seq <= to && !code; seq++) {
		const struct stored *e = event_find(d, s, seq);

		if (!e)
			return th_fail(err, TH_ECORRUPT, "event %llu is missing",
				       (unsigned long long)seq);
		code = fn(ctx, &e->ev, &e->digest, err);
	}
	return code;
}

enum th_code th_sim_store_blob(struct th_sim_disk *d, const struct th_digest *hash,
			       struct th_buf *out, struct th_err *err)
{
	for (size_t i = 0; i < d->blob_count; i++)
		if (th_digest_eq(&d->blobs[i].hash, hash)) {
			th_buf_add_mem(out, d->blobs[i].bytes, d->blobs[i].len);
			return TH_OK;
		}
	return th_fail(err, TH_ENOENT, "there is no such blob");
}

uint64_t th_sim_store_durable(const struct th_sim_disk *d, struct th_str id)
{
	const struct stored_session *s = session_find(d, id);

	return s ? s->parent_seq + s->synced : 0;
}
