/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - sessions, events and blobs in this process's memory.  Owns copies
 * of all it was given.  One thread.
 */
#include "store/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "io/loop.h"
#include "store/common.h"
#include "store/usage.h"

struct record {
	struct th_event ev; /* strings behind it, in the same allocation */
	struct th_digest digest;
};

struct session {
	struct th_session_row row; /* strings in `text` */
	char *text;
	char *task; /* with which its first task begins; NULL: none */
	uint32_t crc;
	struct record **records; /* own events: seq row.parent_seq + 1 … */
	size_t count, cap;
};

struct blob {
	struct th_digest hash;
	char *bytes;
	size_t len;
	bool named; /* by an event, while they are looked at */
};

struct memory {
	char *name; /* NULL: not shared */
	struct memory *next;
	size_t users;
	unsigned owners; /* so far: numbers the next */
	struct handle *handles;
	struct session **sessions; /* sorted by id */
	size_t session_count, session_cap;
	struct blob *blobs; /* sorted by hash */
	size_t blob_count, blob_cap;
	struct th_usage_sums usage;
};

struct handle {
	struct th_store base;
	struct memory *m;
	struct handle *next;
	struct th_loop *loop;
	struct th_deferred run;
	char owner[32];
	bool read_only;
	enum th_code failing;
	struct th_batch *first, *last; /* pending */
	size_t pending;
};

static struct memory *shared; /* the named ones */

static struct handle *handle_of(struct th_store *s)
{
	assert(s && s->kind == &th_store_memory);
	return TH_CONTAINER_OF(s, struct handle, base);
}

/* Makes room for one more of `size` bytes. */
static void *grown(void *list, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 16;
	return th_realloc(list, *cap * size);
}

/* ---- sessions ---- */

/* Where `id` is, or would be. */
static size_t session_place(const struct memory *m, struct th_str id, bool *found)
{
	size_t low = 0, high = m->session_count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = th_str_cmp(m->sessions[middle]->row.session_id, id);

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct session *session_find(const struct memory *m, struct th_str id)
{
	bool found;
	size_t place = session_place(m, id, &found);

	return found ? m->sessions[place] : NULL;
}

static struct session *session_add(struct memory *m, struct th_str id)
{
	bool found;
	size_t place = session_place(m, id, &found);
	struct session *s = th_alloc(sizeof(*s));

	assert(!found);
	m->sessions =
	    grown(m->sessions, m->session_count, &m->session_cap, sizeof(struct session *));
	memmove(m->sessions + place + 1, m->sessions + place,
		(m->session_count - place) * sizeof(struct session *));
	m->sessions[place] = s;
	m->session_count++;
	return s;
}

static void session_free(struct session *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->records[i]);
	free(s->records);
	free(s->text);
	free(s->task);
	free(s);
}

static struct th_str copy_to(char **p, struct th_str s)
{
	struct th_str ret = { *p, s.len };

	if (s.len > 0)
		memcpy(*p, s.ptr, s.len);
	*p += s.len;
	return ret;
}

/* The row with this owner and epoch, all strings in one piece. */
static void row_set(struct session *s, const struct th_session_row *row, struct th_str owner,
		    int64_t epoch)
{
	struct th_session_row new = *row;
	struct th_str *const strings[] = {
		&new.session_id, &new.user,   &new.agent, &new.model,    &new.state,
		&new.title,      &new.parent, &new.owner, &new.metadata,
	};
	size_t size = 1;
	char *text, *p;

	new.owner = owner;
	new.epoch = epoch;
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		size += strings[i]->len;
	p = text = th_alloc(size);
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		*strings[i] = copy_to(&p, *strings[i]);
	free(s->text); /* `row` may be s->row */
	s->text = text;
	s->row = new;
	s->crc = th_session_row_crc(&s->row, 0, 0);
}

static struct record *record_new(const struct th_event *ev, const struct th_digest *digest)
{
	struct record *r = th_alloc(sizeof(*r) + ev->call.len + ev->data.len + ev->build.len);
	char *p = (char *)(r + 1);

	r->ev = *ev;
	r->digest = *digest;
	r->ev.call = copy_to(&p, ev->call);
	r->ev.data = copy_to(&p, ev->data);
	r->ev.build = copy_to(&p, ev->build);
	return r;
}

/* The event `seq` of a session or of what it was forked from; NULL when there is none. */
static const struct record *record_find(const struct memory *m, const struct session *s,
					uint64_t seq)
{
	for (size_t depth = 0; s && depth <= TH_FORK_DEPTH_MAX; depth++) {
		if (seq > s->row.head_seq || seq == 0)
			return NULL;
		if (seq > s->row.parent_seq)
			return s->records[seq - s->row.parent_seq - 1];
		s = session_find(m, s->row.parent);
	}
	return NULL;
}

static size_t fork_depth(const struct memory *m, struct th_str parent)
{
	size_t depth = 0;

	for (const struct session *s = NULL; parent.len > 0; depth++) {
		s = session_find(m, parent);
		if (!s || depth > TH_FORK_DEPTH_MAX)
			break;
		parent = s->row.parent;
	}
	return depth;
}

/* ---- committing ---- */

static enum th_code check_create(const struct memory *m, const struct th_append *a)
{
	const struct th_session_row *row = a->row;
	const struct session *parent;
	const struct record *r;

	if (session_find(m, row->session_id))
		return TH_EEXIST;
	if (row->parent.len == 0)
		return TH_OK;
	parent = session_find(m, row->parent);
	r = parent ? record_find(m, parent, row->parent_seq) : NULL;
	if (!r)
		return TH_ENOENT;
	if (!th_digest_eq(&r->digest, &a->head_before))
		return TH_EFENCED;
	return fork_depth(m, row->parent) > TH_FORK_DEPTH_MAX ? TH_ELIMIT : TH_OK;
}

static void task_set(struct session *s, struct th_str text)
{
	text = th_utf8_cut(text, TH_TASK_TEXT_MAX);
	s->task = th_alloc(text.len + 1);
	memcpy(s->task, text.ptr, text.len);
}

/* Before the row is written. */
static enum th_code usage_note(struct memory *m, const struct session *s, const struct th_append *a)
{
	struct th_usage_row more, used;
	enum th_code code = TH_OK;

	if (th_usage_used(a, &used))
		code = th_usage_sums_add(&m->usage, &used, NULL);
	if (code == TH_OK && th_usage_of(a->create ? NULL : &s->row, a->row, &more))
		code = th_usage_sums_add(&m->usage, &more, NULL);
	return code;
}

static enum th_code apply(struct handle *h, const struct th_append *a)
{
	struct memory *m = h->m;
	struct session *s = session_find(m, a->row->session_id);
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
		const struct session *parent = session_find(m, a->row->parent);

		s = session_add(m, a->row->session_id);
		if (parent && parent->task && a->task.len == 0)
			task_set(s, th_str_of(parent->task));
	}
	if (a->task.len > 0 && !s->task)
		task_set(s, a->task);
	row_set(s, a->row, th_str_of(h->owner), a->row->epoch);
	for (size_t i = 0; i < a->event_count; i++) {
		s->records = grown(s->records, s->count, &s->cap, sizeof(*s->records));
		s->records[s->count++] = record_new(&a->events[i], &a->digests[i]);
	}
	return TH_OK;
}

static size_t blob_place(const struct memory *m, const struct th_digest *hash, bool *found)
{
	size_t low = 0, high = m->blob_count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(m->blobs[middle].hash.bytes, hash->bytes, sizeof(hash->bytes));

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void blob_add(struct memory *m, const struct th_blob *b)
{
	bool found;
	size_t place = blob_place(m, &b->hash, &found);
	char *bytes;

	if (found)
		return;
	bytes = th_alloc(b->bytes.len + 1);
	if (b->bytes.len > 0)
		memcpy(bytes, b->bytes.ptr, b->bytes.len);
	m->blobs = grown(m->blobs, m->blob_count, &m->blob_cap, sizeof(*m->blobs));
	memmove(m->blobs + place + 1, m->blobs + place,
		(m->blob_count - place) * sizeof(*m->blobs));
	m->blobs[place] = (struct blob){ b->hash, bytes, b->bytes.len, false };
	m->blob_count++;
}

static enum th_code write_batch(struct handle *h, struct th_batch *batch, struct th_err *err)
{
	enum th_code code = th_batch_check(batch, err);

	if (code == TH_OK && h->read_only)
		code = th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (code == TH_OK && h->failing != TH_OK)
		code = th_fail(err, h->failing, "the store was told to fail");
	for (size_t i = 0; i < batch->append_count; i++)
		batch->appends[i].result = code == TH_OK ? apply(h, &batch->appends[i]) : code;
	for (size_t i = 0; code == TH_OK && i < batch->blob_count; i++)
		blob_add(h->m, &batch->blobs[i]);
	return code;
}

static struct th_batch *take_first(struct handle *h)
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

static void run_pending(void *ctx)
{
	struct handle *h = ctx;

	/* What the callbacks add waits for the next time. */
	for (size_t left = h->pending; left > 0; left--) {
		if (!th_memory_step(&h->base))
			break;
	}
	if (h->first && h->loop)
		th_loop_defer(h->loop, &h->run);
}

static void memory_commit(struct th_store *s, struct th_batch *batch, th_commit_fn *done, void *ctx)
{
	struct handle *h = handle_of(s);

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

static enum th_code memory_commit_now(struct th_store *s, struct th_batch *batch,
				      struct th_err *err)
{
	struct handle *h = handle_of(s);

	while (h->first)
		th_memory_step(s);
	return write_batch(h, batch, err);
}

/* ---- for the simulator ---- */

size_t th_memory_pending(const struct th_store *s)
{
	assert(s->kind == &th_store_memory);
	return ((const struct handle *)(const void *)s)->pending;
}

bool th_memory_step(struct th_store *s)
{
	struct handle *h = handle_of(s);
	struct th_batch *batch = take_first(h);

	if (!batch)
		return false;
	batch->code = write_batch(h, batch, &batch->err);
	batch->done(batch->done_ctx, batch, batch->code, batch->code == TH_OK ? NULL : &batch->err);
	return true;
}

static void memory_free(struct memory *m)
{
	for (struct memory **p = &shared; *p; p = &(*p)->next) {
		if (*p == m) {
			*p = m->next;
			break;
		}
	}
	for (size_t i = 0; i < m->session_count; i++)
		session_free(m->sessions[i]);
	for (size_t i = 0; i < m->blob_count; i++)
		free(m->blobs[i].bytes);
	free(m->sessions);
	free(m->blobs);
	th_usage_sums_deinit(&m->usage);
	free(m->name);
	free(m);
}

static void handle_free(struct handle *h)
{
	struct handle **p = &h->m->handles;

	if (h->loop)
		th_loop_undefer(h->loop, &h->run);
	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	if (--h->m->users == 0)
		memory_free(h->m);
	free(h);
}

void th_memory_crash(struct th_store *s, size_t written)
{
	struct handle *h = handle_of(s);

	for (size_t i = 0; i < written && h->first; i++)
		(void)write_batch(h, take_first(h), NULL);
	handle_free(h);
}

void th_memory_fail(struct th_store *s, enum th_code code)
{
	struct handle *h = handle_of(s);

	if (h->failing != TH_EIO)
		h->failing = code;
}

/* ---- opening and closing ---- */

static struct memory *memory_get(struct th_str name)
{
	struct memory *m;

	for (m = shared; m && name.len > 0; m = m->next) {
		if (th_str_is(name, m->name))
			return m;
	}
	m = th_alloc(sizeof(*m));
	th_usage_sums_init(&m->usage);
	if (name.len > 0) {
		m->name = th_alloc(name.len + 1);
		memcpy(m->name, name.ptr, name.len);
		m->next = shared;
		shared = m;
	}
	return m;
}

static enum th_code memory_open(struct th_str rest, const struct th_store_options *options,
				struct th_store **ret, struct th_err *err)
{
	struct handle *h;

	if (rest.len > TH_SESSION_ID_MAX || (rest.len > 0 && memchr(rest.ptr, 0, rest.len)))
		return th_fail(err, TH_EUSAGE, "memory: takes a short name, or none");
	h = th_alloc(sizeof(*h));
	h->base.kind = &th_store_memory;
	h->loop = options->loop;
	h->run = (struct th_deferred){ .fn = run_pending, .ctx = h };
	h->read_only = options->read_only;
	h->m = memory_get(rest);
	h->m->users++;
	h->next = h->m->handles;
	h->m->handles = h;
	snprintf(h->owner, sizeof(h->owner), "memory-%u", ++h->m->owners);
	*ret = &h->base;
	return TH_OK;
}

static void memory_close(struct th_store *s)
{
	struct handle *h = handle_of(s);

	while (th_memory_step(s))
		;
	handle_free(h);
}

/* ---- leases ---- */

static bool owner_alive(const struct memory *m, struct th_str owner)
{
	for (const struct handle *h = m->handles; h; h = h->next) {
		if (th_str_is(owner, h->owner))
			return true;
	}
	return false;
}

static enum th_code row_copy(const struct th_session_row *row, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err)
{
	*ret = *row;
	struct th_str *const strings[] = {
		&ret->session_id, &ret->user,   &ret->agent, &ret->model,    &ret->state,
		&ret->title,      &ret->parent, &ret->owner, &ret->metadata,
	};

	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		*strings[i] = th_arena_str(a, *strings[i]);
		if (!strings[i]->ptr)
			return th_fail(err, TH_ELIMIT,
				       "the row of a session takes more than %zu bytes", a->max);
	}
	return TH_OK;
}

static enum th_code memory_lease(struct th_store *store, struct th_str id, struct th_arena *a,
				 struct th_session_row *ret, struct th_err *err)
{
	struct handle *h = handle_of(store);
	struct session *s = session_find(h->m, id);

	if (h->read_only)
		return th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (!s)
		return th_fail_no_session(err, id);
	if (s->row.owner.len > 0 && !th_str_is(s->row.owner, h->owner) &&
	    owner_alive(h->m, s->row.owner))
		return th_fail(err, TH_EBUSY, "session %s is held by another runtime (%.*s)",
			       th_session_shown(id).text, TH_FMT(s->row.owner));
	row_set(s, &s->row, th_str_of(h->owner), s->row.epoch + 1);
	return row_copy(&s->row, a, ret, err);
}

static enum th_code memory_lease_many(struct th_store *store, const struct th_str *ids,
				      size_t count, bool skip, struct th_arena *a,
				      struct th_session_row *rows, struct th_err *errs,
				      struct th_err *err)
{
	(void)skip; /* nobody has anything in hand: there is one thread */
	for (size_t i = 0; i < count; i++) {
		errs[i].code = memory_lease(store, ids[i], a, &rows[i], &errs[i]);
		if (errs[i].code == TH_ELIMIT || errs[i].code == TH_EPERM)
			return th_fail(err, errs[i].code, "%s", errs[i].msg);
	}
	return TH_OK;
}

static enum th_code memory_release(struct th_store *store, struct th_str id, int64_t epoch,
				   struct th_err *err)
{
	struct handle *h = handle_of(store);
	struct session *s = session_find(h->m, id);

	if (!s)
		return th_fail_no_session(err, id);
	if (s->row.epoch != epoch || !th_str_is(s->row.owner, h->owner))
		return th_fail_fenced(err, id, epoch);
	row_set(s, &s->row, TH_STR(""), epoch + 1);
	return TH_OK;
}

static enum th_code memory_release_many(struct th_store *store, const struct th_held *list,
					size_t count, struct th_err *errs, struct th_err *err)
{
	(void)err;
	for (size_t i = 0; i < count; i++)
		errs[i].code = memory_release(store, list[i].session_id, list[i].epoch, &errs[i]);
	return TH_OK;
}

/* ---- reading ---- */

static enum th_code memory_get_row(struct th_store *store, struct th_str id, struct th_arena *a,
				   struct th_session_row *ret, struct th_err *err)
{
	const struct session *s = session_find(handle_of(store)->m, id);

	return s ? row_copy(&s->row, a, ret, err) : th_fail_no_session(err, id);
}

static int by_time(const void *a, const void *b, void *order)
{
	const struct session *one = *(const struct session *const *)a;
	const struct session *two = *(const struct session *const *)b;

	return th_list_compare(*(const enum th_list_order *)order, &one->row, &two->row);
}

static bool takes(const struct th_session_filter *filter, const struct session *s)
{
	struct th_str task = th_str_of(s->task);
	bool ask;

	return th_filter_takes(filter, &s->row, &task, &ask);
}

static enum th_code memory_list(struct th_store *store, const struct th_session_filter *filter,
				th_session_fn *fn, void *ctx, struct th_err *err)
{
	struct memory *m = handle_of(store)->m;
	enum th_list_order order = filter->order;
	size_t count = m->session_count, given = 0;
	struct session **sorted = th_alloc((count + 1) * sizeof(struct session *));
	enum th_code code = TH_OK;

	for (size_t i = 0; i < count; i++)
		sorted[i] = m->sessions[i];
	qsort_r(sorted, count, sizeof(struct session *), by_time, &order);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		if (!takes(filter, sorted[i]))
			continue;
		if (filter->limit > 0 && given++ == filter->limit)
			break;
		code = fn(ctx, &sorted[i]->row, err);
	}
	free(sorted);
	return code;
}

static enum th_code memory_read(struct th_store *store, struct th_str id, uint64_t from,
				uint64_t to, th_event_fn *fn, void *ctx, struct th_err *err)
{
	struct memory *m = handle_of(store)->m;
	const struct session *s = session_find(m, id);
	enum th_code code = TH_OK;

	if (!s)
		return th_fail_no_session(err, id);
	if (to == 0 || to > s->row.head_seq)
		to = s->row.head_seq;
	for (uint64_t seq = TH_MAX(from, 1); seq <= to && code == TH_OK; seq++) {
		const struct record *r = record_find(m, s, seq);

		if (!r)
			return th_fail(err, TH_ECORRUPT, "%s is missing",
				       th_event_key(id, seq).text);
		code = fn(ctx, &r->ev, &r->digest, err);
	}
	return code;
}

static enum th_code memory_blob(struct th_store *store, const struct th_digest *hash,
				struct th_buf *out, struct th_err *err)
{
	struct memory *m = handle_of(store)->m;
	bool found;
	size_t place = blob_place(m, hash, &found);
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (!found) {
		th_digest_hex(hash, hex);
		return th_fail(err, TH_ENOENT, "there is no blob %s", hex);
	}
	th_buf_add_mem(out, m->blobs[place].bytes, m->blobs[place].len);
	return th_buf_check(out, "the blob", err);
}

/* ---- what was used ---- */

static enum th_code memory_usage(struct th_store *store, const struct th_usage_filter *filter,
				 th_usage_fn *fn, void *ctx, struct th_err *err)
{
	const struct memory *m = handle_of(store)->m;
	struct th_usage_sums groups;
	enum th_code code = TH_OK;

	th_usage_sums_init(&groups);
	for (size_t i = 0; i < m->usage.count && code == TH_OK; i++) {
		struct th_usage_row group = th_usage_group(filter->by, &m->usage.list[i]);

		if (th_usage_takes(filter, &m->usage.list[i]))
			code = th_usage_sums_add(&groups, &group, err);
	}
	if (code == TH_OK)
		code = th_usage_give(&groups, fn, ctx, err);
	th_usage_sums_deinit(&groups);
	return code;
}

/* ---- removing ---- */

static bool is_among(const struct th_str *ids, size_t count, struct th_str id)
{
	for (size_t i = 0; i < count; i++)
		if (th_str_eq(ids[i], id))
			return true;
	return false;
}

static enum th_code check_remove(const struct handle *h, const struct th_str *ids, size_t count,
				 struct th_err *err)
{
	const struct memory *m = h->m;

	for (size_t i = 0; i < count; i++) {
		const struct session *s = session_find(m, ids[i]);

		if (!s)
			return th_fail_no_session(err, ids[i]);
		if (s->row.owner.len > 0 && !th_str_is(s->row.owner, h->owner) &&
		    owner_alive(m, s->row.owner))
			return th_fail(err, TH_EBUSY,
				       "session %s is held by another runtime (%.*s)",
				       th_session_shown(ids[i]).text, TH_FMT(s->row.owner));
	}
	for (size_t i = 0; i < m->session_count; i++) {
		const struct th_session_row *row = &m->sessions[i]->row;

		if (row->parent.len > 0 && is_among(ids, count, row->parent) &&
		    !is_among(ids, count, row->session_id))
			return th_fail_forked(err, row->parent, row->session_id);
	}
	return TH_OK;
}

static enum th_code note_named(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct memory *m = ctx;
	bool found;
	size_t place = blob_place(m, hash, &found);

	(void)err;
	if (found)
		m->blobs[place].named = true;
	return TH_OK;
}

/* The blobs that `gone` names and no event that is left does. */
static void blobs_remove(struct memory *m, const struct session *gone)
{
	struct th_err ignored;
	size_t kept = 0;

	for (size_t i = 0; i < m->blob_count; i++)
		m->blobs[i].named = false;
	for (size_t i = 0; i < gone->count; i++)
		(void)th_hashes_in(gone->records[i]->ev.data, note_named, m, &ignored);
	for (size_t i = 0; i < m->blob_count; i++) /* all but these stay */
		m->blobs[i].named = !m->blobs[i].named;
	for (size_t i = 0; i < m->session_count; i++)
		for (size_t k = 0; k < m->sessions[i]->count; k++)
			(void)th_hashes_in(m->sessions[i]->records[k]->ev.data, note_named, m,
					   &ignored);
	for (size_t i = 0; i < m->blob_count; i++) {
		if (m->blobs[i].named)
			m->blobs[kept++] = m->blobs[i];
		else
			free(m->blobs[i].bytes);
	}
	m->blob_count = kept;
}

static enum th_code memory_remove(struct th_store *store, const struct th_str *ids, size_t count,
				  struct th_err *err)
{
	struct handle *h = handle_of(store);
	struct memory *m = h->m;
	enum th_code code = TH_OK;

	if (h->read_only)
		return th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (h->failing != TH_OK)
		return th_fail(err, h->failing, "the store was told to fail");
	if (count > TH_REMOVE_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d sessions cannot be deleted at once",
			       TH_REMOVE_SESSIONS_MAX);
	while (h->first)
		th_memory_step(store);
	code = check_remove(h, ids, count, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		bool found;
		size_t place = session_place(m, ids[i], &found);
		struct session *gone = m->sessions[place];

		assert(found);
		m->session_count--;
		memmove(m->sessions + place, m->sessions + place + 1,
			(m->session_count - place) * sizeof(struct session *));
		blobs_remove(m, gone);
		session_free(gone);
	}
	return code;
}

/* All of it went at once. */
static enum th_code memory_sweep(struct th_store *store, bool *ret_more, struct th_err *err)
{
	(void)store;
	(void)err;
	*ret_more = false;
	return TH_OK;
}

/* ---- checking ---- */

static void verify_session(const struct memory *m, const struct session *s,
			   struct th_verify_report *r)
{
	struct th_shown id = th_session_key(s->row.session_id);
	struct th_digest before = {};
	const struct record *prefix;

	r->sessions++;
	if (s->crc != th_session_row_crc(&s->row, 0, 0)) {
		th_verify_blame(r, "sessions", id.text, "a column is not what was written");
		return;
	}
	if (s->row.parent_seq > 0) {
		prefix = record_find(m, session_find(m, s->row.parent), s->row.parent_seq);
		if (!prefix) {
			th_verify_blame(r, "sessions", id.text, "its prefix is missing");
			return;
		}
		before = prefix->digest;
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct record *e = s->records[i];
		struct th_digest d = th_event_digest(&before, s->row.session_id, &e->ev);

		r->events++;
		if (!th_digest_eq(&d, &e->digest) || e->ev.seq != s->row.parent_seq + 1 + i) {
			th_verify_blame(r, "events",
					th_event_key(s->row.session_id, e->ev.seq).text,
					"the event is not what its digest says");
			return;
		}
		before = d;
	}
	if (!th_digest_eq(&before, &s->row.head) || s->row.head_seq != s->row.parent_seq + s->count)
		th_verify_blame(r, "sessions", id.text, "the head is not its last event");
}

static enum th_code memory_verify(struct th_store *store, struct th_str session_id,
				  struct th_verify_report *ret, struct th_err *err)
{
	struct memory *m = handle_of(store)->m;
	const struct session *s = session_find(m, session_id);

	*ret = (struct th_verify_report){};
	if (session_id.len > 0) {
		if (!s)
			return th_fail_no_session(err, session_id);
		for (; s && !ret->bad; s = session_find(m, s->row.parent))
			verify_session(m, s, ret);
		return TH_OK;
	}
	for (size_t i = 0; i < m->session_count && !ret->bad; i++)
		verify_session(m, m->sessions[i], ret);
	for (size_t i = 0; i < m->blob_count && !ret->bad; i++) {
		struct th_digest d = th_sha256_of(m->blobs[i].bytes, m->blobs[i].len);
		char hex[TH_SHA256_HEX_SIZE + 1];

		ret->blobs++;
		th_digest_hex(&m->blobs[i].hash, hex);
		if (!th_digest_eq(&d, &m->blobs[i].hash))
			th_verify_blame(ret, "blobs", hex, "the bytes are not what the hash says");
	}
	return TH_OK;
}

/* Of this process: another one's sessions are others, whatever they are called. */
static enum th_code memory_scope(struct th_str rest, struct th_buf *out, struct th_err *err)
{
	static uint64_t process[2];

	(void)err;
	if (process[0] == 0)
		th_random(process, sizeof(process));
	th_buf_printf(out, "%016llx%016llx:", (unsigned long long)process[0],
		      (unsigned long long)process[1]);
	th_buf_add(out, rest);
	return TH_OK;
}

const struct th_store_kind th_store_memory = {
	.scheme = "memory",
	.single = true,
	.summary = "in this process, gone with it: memory: or memory:NAME",
	.scope = memory_scope,
	.open = memory_open,
	.close = memory_close,
	.commit = memory_commit,
	.commit_now = memory_commit_now,
	.lease = memory_lease,
	.lease_many = memory_lease_many,
	.release = memory_release,
	.release_many = memory_release_many,
	.get = memory_get_row,
	.list = memory_list,
	.read = memory_read,
	.blob = memory_blob,
	.usage = memory_usage,
	.remove = memory_remove,
	.sweep = memory_sweep,
	.verify = memory_verify,
};
