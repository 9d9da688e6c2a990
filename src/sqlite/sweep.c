/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.c - what removed sessions leave behind goes in pieces, each in a
 * transaction of its own.
 *
 * First their events, the newest append first; `removed` says how far that is.
 * Blobs are shared, and nothing is counted when one is written.  So each blob
 * that a removed event names is noted in `orphans`, and a walk through all
 * events marks those that another one names.  A blob goes in the transaction
 * that has seen the last event there is; it is kept if somebody stored it again
 * meanwhile, who takes it out of `orphans`.  The walk is only in memory: after
 * a kill it begins anew.
 *
 * The highest place stays taken, by an event without contents: places only grow.
 */
#include <stdlib.h>

#include "io/clock.h"
#include "sqlite/sqlite.h"

/* ---- rows ---- */

static uint32_t removed_crc(const struct th_removed *r)
{
	uint32_t crc = th_crc_u64(th_crc_str(0, r->session_id), r->id);

	return th_crc_u64(th_crc_u64(crc, r->place), r->last);
}

const char *th_removed_column(sqlite3_stmt *st, struct th_removed *ret)
{
	uint64_t crc = 0;

	*ret = (struct th_removed){ 0 };
	return th_column_u64(st, 0, &ret->id) && th_column_str(st, 1, &ret->session_id) &&
		       th_column_u64(st, 2, &ret->place) && th_column_u64(st, 3, &ret->last) &&
		       th_column_u64(st, 4, &crc) && crc == removed_crc(ret)
		   ? NULL
		   : "it is not what was written";
}

enum th_code th_db_removed_add(struct th_db *db, const struct th_removed *r, struct th_err *err)
{
	struct th_removed row = *r;
	sqlite3_stmt *st;
	enum th_code code = th_db_last(db, TH_SQL_LAST_REMOVED, &row.id, err);
	int status;

	if (code != TH_OK)
		return code;
	row.id++;
	st = th_db_get(db, TH_SQL_REMOVED_INSERT);
	if (st) {
		th_bind_str(st, 1, row.session_id);
		th_bind_u64(st, 2, row.place);
		th_bind_u64(st, 3, row.last);
		sqlite3_bind_int64(st, 4, removed_crc(&row));
		th_bind_u64(st, 5, row.id);
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

static uint32_t orphan_crc(const struct th_orphan *o)
{
	return th_crc_u64(th_crc32c(0, o->hash.bytes, sizeof(o->hash.bytes)), (uint64_t)o->stamp);
}

const char *th_orphan_column(sqlite3_stmt *st, struct th_orphan *ret)
{
	int64_t crc = 0;

	*ret = (struct th_orphan){ 0 };
	return th_column_bytes(st, 0, ret->hash.bytes, sizeof(ret->hash.bytes)) &&
		       th_column_i64(st, 1, &ret->stamp) && th_column_i64(st, 2, &crc) &&
		       crc == orphan_crc(ret)
		   ? NULL
		   : "it is not what was written";
}

static enum th_code run_u64(struct th_db *db, enum th_statement id, uint64_t a, uint64_t b,
			    struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, id);
	int status;

	if (st) {
		th_bind_u64(st, 1, a);
		if (sqlite3_bind_parameter_count(st) > 1)
			th_bind_u64(st, 2, b);
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* ---- events ---- */

struct removing {
	struct th_db *db;
	struct th_removed *r;
	int64_t stamp;
	uint64_t first, last, prev; /* places of what goes, and of the append before it */
	uint64_t seq;               /* of the last of it */
	uint64_t next;              /* place that goes in the next step; 0: none */
	size_t count, size;
};

static enum th_code note_orphan(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	const struct removing *m = ctx;
	const struct th_orphan o = { .hash = *hash, .stamp = m->stamp };
	sqlite3_stmt *st = th_db_get(m->db, TH_SQL_ORPHAN_INSERT);
	int status;

	if (st) {
		th_bind_blob(st, 1, o.hash.bytes, sizeof(o.hash.bytes));
		sqlite3_bind_int64(st, 2, o.stamp);
		sqlite3_bind_int64(st, 3, orphan_crc(&o));
	}
	status = th_db_step(m->db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* Is it the next event of the same append? */
static bool goes_on(const struct removing *m, const struct th_placed_event *e)
{
	return th_str_eq(e->session_id, m->r->session_id) &&
	       (m->count == 0 ||
		(e->place == m->last + 1 && e->prev == m->prev && e->ev.seq == m->seq + 1));
}

/* Reads as much of the append as goes now. */
static enum th_code append_read(struct removing *m, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(m->db, TH_SQL_EVENT_RANGE);
	enum th_code code = TH_OK;
	int status = 0;

	if (st) {
		th_bind_u64(st, 1, m->r->place);
		th_bind_u64(st, 2, m->r->last);
	}
	while (!code && !m->next && (status = th_db_step(m->db, st, err)) == 1) {
		struct th_placed_event e;
		const char *bad = th_event_column(st, &e);

		if (!bad && m->count == 0 && (e.place != m->r->place || e.prev >= e.place))
			bad = "the event is missing";
		if (bad) {
			code = th_db_fail_event(m->db, m->r->session_id, e.ev.seq, bad, err);
		} else if (!goes_on(m, &e)) {
			break;
		} else if (m->count == TH_SWEEP_EVENTS_MAX || m->size > TH_SWEEP_BYTES_MAX) {
			m->next = e.place;
		} else {
			m->first = m->count++ ? m->first : e.place;
			m->last = e.place;
			m->prev = e.prev;
			m->seq = e.ev.seq;
			m->size += e.ev.data.len;
			code = th_hashes_in(e.ev.data, note_orphan, m, err);
		}
	}
	if (st)
		sqlite3_reset(st);
	if (status < 0)
		return (enum th_code)status;
	if (!code && m->count == 0)
		code = th_db_fail_event(m->db, m->r->session_id, 0, "the event is missing", err);
	m->next = m->next ?: m->prev;
	return code;
}

/* The highest place stays taken. */
static enum th_code keep_last(struct removing *m, uint64_t *last, struct th_err *err)
{
	struct th_removed kept = { .session_id = TH_STR(""), .place = *last + 1 };
	enum th_code code;

	if (m->last < *last)
		return TH_OK;
	code = th_db_run(m->db, TH_SQL_EVENT_FREE, err);
	if (code == TH_OK && (uint64_t)sqlite3_last_insert_rowid(m->db->sqlite) != kept.place)
		code = th_fail(err, TH_ECORRUPT, "%s is damaged: the last event's place is wrong",
			       m->db->path);
	kept.last = kept.place;
	*last = kept.place;
	return code == TH_OK ? th_db_removed_add(m->db, &kept, err) : code;
}

static enum th_code removed_update(struct removing *m, struct th_err *err)
{
	struct th_removed r = *m->r;
	sqlite3_stmt *st;
	int status;

	if (m->next == 0)
		return run_u64(m->db, TH_SQL_REMOVED_DELETE, r.id, 0, err);
	r.place = m->next;
	st = th_db_get(m->db, TH_SQL_REMOVED_UPDATE);
	if (st) {
		th_bind_u64(st, 1, r.id);
		th_bind_u64(st, 2, r.place);
		sqlite3_bind_int64(st, 3, removed_crc(&r));
	}
	status = th_db_step(m->db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* A piece of what one removed session has left. */
static enum th_code events_remove(struct th_db *db, struct th_removed *r, struct th_err *err)
{
	struct removing m = { .db = db, .r = r };
	uint64_t last = 0;
	enum th_code code = th_db_last(db, TH_SQL_LAST_PLACE, &last, err);

	th_random(&m.stamp, sizeof(m.stamp));
	if (code == TH_OK)
		code = append_read(&m, err);
	if (code == TH_OK)
		code = keep_last(&m, &last, err);
	if (code == TH_OK)
		code = run_u64(db, TH_SQL_EVENT_DELETE, m.first, m.last, err);
	if (code == TH_OK)
		code = removed_update(&m, err);
	if (code == TH_OK)
		code = run_u64(db, TH_SQL_FREE_EVENTS_DELETE, last, 0, err);
	if (code == TH_OK)
		code = run_u64(db, TH_SQL_FREE_DELETE, last, 0, err);
	return code;
}

/* The session whose events go next; 1, 0, or a code. */
static int removed_next(struct th_db *db, struct th_arena *a, struct th_removed *ret,
			struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_REMOVED_NEXT);
	int status = th_db_step(db, st, err);
	const char *bad;

	if (status != 1)
		return status;
	bad = th_removed_column(st, ret);
	ret->session_id = th_arena_str(a, ret->session_id);
	sqlite3_reset(st);
	if (!ret->session_id.ptr)
		return (int)th_fail_memory(err);
	return bad ? (int)th_fail(err, TH_ECORRUPT, "%s is damaged: removed %llu: %s", db->path,
				  (unsigned long long)ret->id, bad)
		   : 1;
}

/* ---- blobs ---- */

void th_sweep_end(struct th_sweep *w)
{
	free(w->list);
	*w = (struct th_sweep){ 0 };
}

static int by_hash(const void *a, const void *b)
{
	const struct th_orphan *x = a, *y = b;

	return memcmp(x->hash.bytes, y->hash.bytes, sizeof(x->hash.bytes));
}

static enum th_code walk_begin(struct th_db *db, struct th_sweep *w, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_ORPHAN_ALL);
	enum th_code code = TH_OK;
	int status;

	while ((status = th_db_step(db, st, err)) == 1 && !code && w->count < TH_SWEEP_BLOBS_MAX) {
		struct th_orphan o;

		if (!w->list)
			w->list = th_try_alloc(TH_SWEEP_BLOBS_MAX * sizeof(*w->list));
		if (!w->list)
			code = th_fail_memory(err);
		else if (!th_orphan_column(st, &o)) /* else verify tells, and its blob stays */
			w->list[w->count++] = o;
	}
	if (status == 1)
		sqlite3_reset(st);
	if (w->count == 0)
		th_sweep_end(w);
	return status < 0 ? (enum th_code)status : code;
}

static enum th_code note_named(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct th_sweep *w = ctx;
	struct th_orphan key = { .hash = *hash }, *o;

	(void)err;
	o = bsearch(&key, w->list, w->count, sizeof(key), by_hash);
	if (o)
		o->named = true;
	return TH_OK;
}

/* A piece of all events; *ret_end: there are no more. */
static enum th_code walk_on(struct th_db *db, struct th_sweep *w, bool *ret_end, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_EVENT_SCAN);
	size_t count = 0, size = 0;
	enum th_code code = TH_OK;
	int status = 1;

	if (st)
		th_bind_u64(st, 1, w->at);
	while (count < TH_SWEEP_EVENTS_MAX && size < TH_SWEEP_BYTES_MAX && !code &&
	       (status = th_db_step(db, st, err)) == 1) {
		struct th_str data = {};
		uint64_t place = 0;

		if (!th_column_u64(st, 0, &place) || !th_column_str(st, 1, &data))
			code = th_fail(err, TH_ECORRUPT, "%s is damaged: event at place %llu",
				       db->path, (unsigned long long)place);
		else
			code = th_hashes_in(data, note_named, w, err);
		w->at = place;
		count++;
		size += data.len;
	}
	if (st)
		sqlite3_reset(st);
	*ret_end = status == 0;
	return status < 0 ? (enum th_code)status : code;
}

static enum th_code run_orphan(struct th_db *db, enum th_statement id, const struct th_orphan *o,
			       struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, id);
	int status;

	if (st) {
		th_bind_blob(st, 1, o->hash.bytes, sizeof(o->hash.bytes));
		sqlite3_bind_int64(st, 2, o->stamp);
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* All events were looked at: some of those that none names go. */
static enum th_code blobs_remove(struct th_db *db, struct th_sweep *w, size_t *ret_done,
				 struct th_err *err)
{
	size_t until = TH_MIN(w->deleted + TH_SWEEP_DELETES_MAX, w->count);
	enum th_code code = TH_OK;

	for (size_t i = w->deleted; i < until && code == TH_OK; i++) {
		if (!w->list[i].named)
			code = run_orphan(db, TH_SQL_BLOB_DELETE, &w->list[i], err);
		if (code == TH_OK)
			code = run_orphan(db, TH_SQL_ORPHAN_DELETE, &w->list[i], err);
	}
	*ret_done = until;
	return code;
}

static enum th_code blobs_step(struct th_sqlite *s, bool *ret_more, struct th_err *err)
{
	struct th_db *db = &s->writer;
	struct th_sweep *w = &s->sweep;
	size_t done = w->deleted;
	bool end = false;
	enum th_code code = TH_OK;

	if (!w->list)
		code = walk_begin(db, w, err);
	*ret_more = w->list != NULL;
	if (code != TH_OK || !w->list)
		return code;
	/* Nobody writes between the look at the last event and the blobs' end. */
	code = th_db_run(db, TH_SQL_BEGIN_IMMEDIATE, err);
	if (code == TH_OK)
		code = walk_on(db, w, &end, err);
	if (code == TH_OK && end)
		code = blobs_remove(db, w, &done, err);
	if (code == TH_OK)
		code = th_db_run(db, TH_SQL_COMMIT, err);
	if (code != TH_OK) {
		th_sqlite_forget(s);
		th_sweep_end(w);
		return code;
	}
	w->deleted = done;
	if (done == w->count)
		th_sweep_end(w);
	return TH_OK;
}

/* ---- a step ---- */

static enum th_code step(struct th_sqlite *s, bool *ret_more, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_db *db = &s->writer;
	struct th_removed r = { 0 };
	enum th_code code;
	int found;

	th_arena_init_try(&a, TH_KIB);
	found = removed_next(db, &a, &r, err);
	if (found <= 0)
		return found < 0 ? (enum th_code)found : blobs_step(s, ret_more, err);
	*ret_more = true;
	th_sweep_end(&s->sweep); /* what it saw may go */
	code = th_db_run(db, TH_SQL_BEGIN_IMMEDIATE, err);
	if (code == TH_OK) { /* another process may have been faster */
		found = removed_next(db, &a, &r, err);
		code = found < 0 ? (enum th_code)found : TH_OK;
	}
	if (code == TH_OK && found)
		code = events_remove(db, &r, err);
	if (code == TH_OK)
		code = th_db_run(db, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_sqlite_forget(s);
	return code;
}

enum th_code th_sqlite_sweep(struct th_store *store, bool *ret_more, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	enum th_code code = th_sqlite_writable(s, err);
	struct th_err local;

	*ret_more = false;
	if (code != TH_OK)
		return code;
	err = err ?: &local;
	pthread_mutex_lock(&s->writing);
	code = th_sqlite_writer(s, err);
	if (code == TH_OK)
		code = step(s, ret_more, err);
	if (code == TH_EIO)
		th_group_break(&s->group, err);
	pthread_mutex_unlock(&s->writing);
	if (code != TH_OK)
		*ret_more = false;
	return code;
}
