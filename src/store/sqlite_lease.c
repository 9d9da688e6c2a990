/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_lease.c - taking sessions and giving them back, on the reader's
 * connection, or by the worker between its commits.  `writing` keeps it apart from this process's
 * worker; SQLite's lock keeps processes apart.
 */
#include <stdlib.h>

#include "store/sqlite.h"

static enum th_code lease_check(struct th_sqlite *s, const struct th_session_row *row,
				struct th_err *err)
{
	enum th_code code;

	if (row->owner.len == 0 || th_str_is(row->owner, s->owner.name))
		return TH_OK;
	code = th_owner_check(s->owners, row->owner, err);
	if (code != TH_OK)
		return th_prefix(err, code, "session %s is held by another runtime",
				 th_session_shown(row->session_id).text);
	return TH_OK;
}

static enum th_code lease_set(struct th_db *db, struct th_placed_row *r, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_LEASE);
	int status;

	if (st) {
		th_bind_u64(st, 1, r->number);
		sqlite3_bind_int64(st, 2, r->row.epoch);
		th_bind_str(st, 3, r->row.owner);
		sqlite3_bind_int64(st, 4, th_session_row_crc(&r->row, r->number, r->last_place));
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* The row as it is in its table, strings in the arena. */
static enum th_code row_get(struct th_db *db, struct th_str id, struct th_arena *a,
			    struct th_placed_row *ret, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_GET);
	enum th_code code = TH_OK;
	const char *bad;
	int status;

	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	bad = th_session_column(st, ret);
	if (bad)
		code = th_fail(err, TH_ECORRUPT, "%s is damaged: session %s: %s", db->path,
			       th_session_shown(id).text, bad);
	else
		code = th_row_keep(a, &ret->row, err);
	sqlite3_reset(st);
	return code;
}

static enum th_code lease_one(struct th_sqlite *s, struct th_str id, struct th_arena *a,
			      struct th_session_row *ret, struct th_err *err)
{
	struct th_placed_row r = {}, newest;
	enum th_code code = row_get(&s->reader, id, a, &r, err);

	if (code == TH_OK)
		code = lease_check(s, &r.row, err);
	if (code != TH_OK)
		return code;
	r.row.epoch++;
	r.row.owner = th_arena_str(a, th_str_of(s->owner.name));
	if (!r.row.owner.ptr)
		return th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes", a->max);
	newest = r;
	code = th_recent_patch(&s->reader, &newest, err);
	if (code == TH_OK && newest.row.state.ptr != r.row.state.ptr)
		newest.row.state = th_arena_str(a, newest.row.state);
	if (code == TH_OK && !newest.row.state.ptr)
		code = th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes", a->max);
	*ret = newest.row;
	return code == TH_OK ? lease_set(&s->reader, &r, err) : code;
}

/* What belongs to one session only, and lets the others go on. */
static bool of_one(enum th_code code)
{
	return code == TH_OK || code == TH_EBUSY || code == TH_ENOENT;
}

enum th_code th_sqlite_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				  struct th_arena *a, struct th_session_row *rows,
				  enum th_code *codes, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local;
	enum th_code code;

	if (!err)
		err = &local;
	code = th_sqlite_writable(s, err);
	assert(s->reading == 0 && "no lease from inside a callback of list or read");
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = th_owner_take(&s->owner, s->owners, err);
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_BEGIN_IMMEDIATE, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		codes[i] = lease_one(s, ids[i], a, &rows[i], err);
		if (!of_one(codes[i]))
			code = codes[i];
	}
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(&s->reader);
	if (code == TH_EIO)
		th_group_break(&s->group, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

enum th_code th_sqlite_lease(struct th_store *store, struct th_str id, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err)
{
	enum th_code code = TH_OK;
	enum th_code all = th_sqlite_lease_many(store, &id, 1, a, ret, &code, err);

	return all != TH_OK ? all : code;
}

enum th_code th_sqlite_release(struct th_store *store, struct th_str id, int64_t epoch,
			       struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_placed_row r = {};
	enum th_code code = th_sqlite_writable(s, err);

	assert(s->reading == 0 && "no release from inside a callback of list or read");
	th_arena_init(&a, TH_EVENT_DATA_MAX * 2);
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = th_db_run(&s->reader, TH_SQL_BEGIN_IMMEDIATE, err);
	if (code == TH_OK)
		code = row_get(&s->reader, id, &a, &r, err);
	if (code == TH_OK && (r.row.epoch != epoch || !th_str_is(r.row.owner, s->owner.name)))
		code = th_fail_fenced(err, id, epoch);
	r.row.epoch++;
	r.row.owner = TH_STR("");
	if (code == TH_OK)
		code = lease_set(&s->reader, &r, err);
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(&s->reader);
	pthread_mutex_unlock(&s->writing);
	return code;
}

/* ---- without waiting: `writing` is held as long as a disk takes ---- */

static bool has_given(struct th_sqlite *s)
{
	bool has;

	pthread_mutex_lock(&s->given_lock);
	has = s->given != NULL;
	pthread_mutex_unlock(&s->given_lock);
	return has;
}

static void on_given(void *ctx, struct th_batch *batch, enum th_code code, const struct th_err *err)
{
	struct th_sqlite *s = ctx;

	(void)batch, (void)err;
	s->is_giving = code == TH_OK && has_given(s);
	if (s->is_giving)
		th_group_commit(&s->group, &s->giving, on_given, s);
}

void th_sqlite_release_soon(struct th_store *store, struct th_str id, int64_t epoch)
{
	struct th_sqlite *s = th_sqlite_of(store);
	/* Where nothing is being written there is nothing to wait for, and no flush of its own. */
	struct th_given *g =
	    s->group.loop && s->group.under_way > 0 ? th_try_alloc(sizeof(*g)) : NULL;
	struct th_err err;

	if (!g || id.len > sizeof(g->id)) {
		free(g);
		(void)!th_sqlite_release(store, id, epoch, &err);
		return;
	}
	*g = (struct th_given){ .epoch = epoch, .id_len = id.len };
	memcpy(g->id, id.ptr, id.len);
	th_sqlite_given(s, g, false);
	if (s->is_giving)
		return;
	s->is_giving = true;
	th_group_commit(&s->group, &s->giving, on_given, s);
}

void th_sqlite_given(struct th_sqlite *s, struct th_given *list, bool done)
{
	for (struct th_given *g = list, *next; g; g = next) {
		next = g->next;
		if (done) {
			free(g);
			continue;
		}
		pthread_mutex_lock(&s->given_lock);
		g->next = s->given;
		s->given = g;
		pthread_mutex_unlock(&s->given_lock);
	}
}

static enum th_code give_one(struct th_sqlite *s, const struct th_given *g, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_placed_row r = {};
	enum th_code code;

	th_arena_init_try(&a, TH_EVENT_DATA_MAX * 2);
	code = row_get(&s->writer, th_str_n(g->id, g->id_len), &a, &r, err);
	/* Removed, damaged, or taken again since: nothing of it is ours to give. */
	if (code == TH_ENOENT || code == TH_ECORRUPT ||
	    (code == TH_OK && (r.row.epoch != g->epoch || !th_str_is(r.row.owner, s->owner.name))))
		return TH_OK;
	if (code != TH_OK)
		return code;
	r.row.epoch++;
	r.row.owner = TH_STR("");
	th_known_forget(s, r.row.session_id, r.number);
	return lease_set(&s->writer, &r, err);
}

enum th_code th_sqlite_give(struct th_sqlite *s, struct th_given **ret_given, struct th_err *err)
{
	enum th_code code = TH_OK;

	pthread_mutex_lock(&s->given_lock);
	*ret_given = s->given;
	s->given = NULL;
	pthread_mutex_unlock(&s->given_lock);
	for (const struct th_given *g = *ret_given; g && code == TH_OK; g = g->next)
		code = give_one(s, g, err);
	return code;
}
