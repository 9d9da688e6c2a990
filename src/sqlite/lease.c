/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - taking sessions and giving them back, on a connection of its own that does not
 * flush.  `writing` keeps it apart from this process's worker; SQLite's lock keeps processes apart.
 */
#include "sqlite/sqlite.h"

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

/* `crc`: of the row with that epoch and that owner. */
static enum th_code lease_set(struct th_db *db, const struct th_placed_row *r, uint32_t crc,
			      struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_LEASE);
	int status;

	if (st) {
		th_bind_u64(st, 1, r->number);
		sqlite3_bind_int64(st, 2, r->row.epoch);
		th_bind_str(st, 3, r->row.owner);
		sqlite3_bind_int64(st, 4, crc);
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

static uint32_t crc_of(const struct th_placed_row *r)
{
	return th_session_row_crc(&r->row, r->number, r->last_place);
}

/* The row as it is in its table; its strings are there until *ret_st is reset. */
static enum th_code row_find(struct th_db *db, struct th_str id, sqlite3_stmt **ret_st,
			     struct th_placed_row *ret, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_GET);
	const char *bad;
	int status;

	*ret_st = NULL; /* which a reset takes */
	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	*ret_st = st;
	bad = th_session_column(st, ret);
	return bad ? th_fail(err, TH_ECORRUPT, "%s is damaged: session %s: %s", db->path,
			     th_session_shown(id).text, bad)
		   : TH_OK;
}

/* Its strings in the arena. */
static enum th_code row_get(struct th_db *db, struct th_str id, struct th_arena *a,
			    struct th_placed_row *ret, struct th_err *err)
{
	sqlite3_stmt *st;
	enum th_code code = row_find(db, id, &st, ret, err);

	if (code == TH_OK)
		code = th_row_keep(a, &ret->row, err);
	sqlite3_reset(st);
	return code;
}

static enum th_code lease_one(struct th_sqlite *s, struct th_str id, struct th_arena *a,
			      struct th_session_row *ret, struct th_err *err)
{
	struct th_placed_row r = {}, newest;
	enum th_code code = row_get(&s->taker, id, a, &r, err);

	if (code == TH_OK)
		code = lease_check(s, &r.row, err);
	if (code != TH_OK)
		return code;
	r.row.epoch++;
	r.row.owner = th_arena_str(a, th_str_of(s->owner.name));
	if (!r.row.owner.ptr)
		return th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes", a->max);
	newest = r;
	code = th_recent_patch(&s->taker, &newest, err);
	if (code == TH_OK && newest.row.state.ptr != r.row.state.ptr)
		newest.row.state = th_arena_str(a, newest.row.state);
	if (code == TH_OK && !newest.row.state.ptr)
		code = th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes", a->max);
	*ret = newest.row;
	return code == TH_OK ? lease_set(&s->taker, &r, crc_of(&r), err) : code;
}

/* What belongs to one session only, and lets the others go on. */
static bool of_one(enum th_code code)
{
	return code == TH_OK || code == TH_EBUSY || code == TH_ENOENT || code == TH_ECORRUPT;
}

/* With `writing`. */
static enum th_code taker_begin(struct th_sqlite *s, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (!s->taker.sqlite)
		code = th_db_open(&s->taker, s->path, TH_DB_READ_WRITE, false, err);
	return code == TH_OK ? th_db_run(&s->taker, TH_SQL_BEGIN_IMMEDIATE, err) : code;
}

static enum th_code taker_end(struct th_sqlite *s, enum th_code code, struct th_err *err)
{
	if (code == TH_OK)
		code = th_db_run(&s->taker, TH_SQL_COMMIT, err);
	if (code != TH_OK && s->taker.sqlite)
		th_db_rollback(&s->taker);
	if (code == TH_EIO)
		th_group_break(&s->group, err);
	return code;
}

enum th_code th_sqlite_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				  bool skip, struct th_arena *a, struct th_session_row *rows,
				  struct th_err *errs, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local = { 0 };
	enum th_code code;

	(void)skip; /* one writes at a time */
	if (!err)
		err = &local;
	code = th_sqlite_writable(s, err);
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = th_owner_take(&s->owner, s->owners, err);
	if (code == TH_OK)
		code = taker_begin(s, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		errs[i].code = lease_one(s, ids[i], a, &rows[i], &errs[i]);
		if (!of_one(errs[i].code))
			code = th_fail(err, errs[i].code, "%s", errs[i].msg);
	}
	code = taker_end(s, code, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

static enum th_code release_one(struct th_sqlite *s, const struct th_held *held, struct th_err *err)
{
	struct th_placed_row r = {};
	sqlite3_stmt *st;
	uint32_t crc;
	enum th_code code = row_find(&s->taker, held->session_id, &st, &r, err);

	if (code == TH_OK && (r.row.epoch != held->epoch || !th_str_is(r.row.owner, s->owner.name)))
		code = th_fail_fenced(err, held->session_id, held->epoch);
	r.row.epoch++;
	r.row.owner = TH_STR("");
	crc = code == TH_OK ? crc_of(&r) : 0;
	sqlite3_reset(st);
	return code == TH_OK ? lease_set(&s->taker, &r, crc, err) : code;
}

enum th_code th_sqlite_release_many(struct th_store *store, const struct th_held *list,
				    size_t count, struct th_err *errs, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local = { 0 };
	enum th_code code;

	if (!err)
		err = &local;
	code = th_sqlite_writable(s, err);
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = taker_begin(s, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		errs[i].code = release_one(s, &list[i], &errs[i]);
		if (!of_one(errs[i].code) && errs[i].code != TH_EFENCED)
			code = th_fail(err, errs[i].code, "%s", errs[i].msg);
	}
	code = taker_end(s, code, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}
