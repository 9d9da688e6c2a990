/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.c - sessions removed for good.
 *
 * One transaction takes their rows, after which nobody can reach their events:
 * a kill leaves all of it or nothing.  What they used stays in `usage`.  Their
 * events are noted in `removed`, and go in pieces (sweep.c).
 */
#include "sqlite/sqlite.h"

/* A row that may go; strings live until the next step of its statement. */
static enum th_code check_owner(struct th_sqlite *s, const struct th_session_row *row,
				struct th_err *err)
{
	enum th_code code;

	if (row->owner.len == 0 || th_str_is(row->owner, s->owner.name))
		return TH_OK;
	code = th_owner_check(s->owners, row->owner, err);
	return th_prefix(err, code, "session %s is held by another runtime",
			 th_session_shown(row->session_id).text);
}

static enum th_code delete_by_number(struct th_db *db, enum th_statement id, uint64_t number,
				     struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, id);
	int status;

	if (st)
		th_bind_u64(st, 1, number);
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

static enum th_code remove_one(struct th_sqlite *s, struct th_str id, uint64_t last,
			       struct th_err *err)
{
	struct th_db *db = &s->writer;
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_GET);
	struct th_removed removed = { .session_id = id, .last = last };
	struct th_placed_row r;
	enum th_code code;
	uint64_t number;
	const char *bad;
	int status;

	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	bad = th_session_column(st, &r);
	if (!bad && (r.last_place == 0 || r.last_place > last))
		bad = "column last_place is wrong";
	code = bad ? th_db_fail_session(db, id, bad, err) : check_owner(s, &r.row, err);
	number = r.number;
	removed.place = r.last_place;
	sqlite3_reset(st);
	if (code == TH_OK)
		code = th_db_removed_add(db, &removed, err);
	if (code == TH_OK)
		code = delete_by_number(db, TH_SQL_SESSION_DELETE, number, err);
	if (code == TH_OK)
		code = delete_by_number(db, TH_SQL_TASK_DELETE, number, err);
	return code;
}

/* Nobody who is left shares its events. */
static enum th_code check_forks(struct th_db *db, struct th_str id, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_FORK);
	enum th_code code = TH_OK;
	struct th_str fork = {};
	int status;

	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 1) {
		(void)th_column_str(st, 0, &fork);
		code = th_fail_forked(err, id, fork);
		sqlite3_reset(st);
	}
	return code;
}

static enum th_code remove_all(struct th_sqlite *s, const struct th_str *ids, size_t count,
			       struct th_err *err)
{
	struct th_db *db = &s->writer;
	uint64_t last = 0;
	enum th_code code = th_db_run(db, TH_SQL_BEGIN_IMMEDIATE, err);

	if (code == TH_OK)
		code = th_db_last(db, TH_SQL_LAST_PLACE, &last, err);
	if (code == TH_OK) /* the rows say all, and so do the sums */
		code = th_recent_settle(db, err);
	for (size_t i = 0; i < count && code == TH_OK; i++)
		code = remove_one(s, ids[i], last, err);
	for (size_t i = 0; i < count && code == TH_OK; i++)
		code = check_forks(db, ids[i], err);
	if (code == TH_OK)
		code = th_db_run(db, TH_SQL_COMMIT, err);
	if (code == TH_EIO)
		th_group_break(&s->group, err);
	th_sqlite_forget(s); /* also when it went well: numbers are given again */
	th_sweep_end(&s->sweep);
	return code;
}

enum th_code th_sqlite_remove(struct th_store *store, const struct th_str *ids, size_t count,
			      struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	enum th_code code = th_sqlite_writable(s, err);
	struct th_err local;

	if (code == TH_OK && count > TH_REMOVE_SESSIONS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d sessions cannot be deleted at once",
			       TH_REMOVE_SESSIONS_MAX);
	if (code != TH_OK)
		return code;
	for (size_t i = 0; i < count; i++) {
		code = th_sqlite_text_remove(s, ids[i], err ?: &local);
		if (code != TH_OK)
			return code;
	}
	th_group_wait(&s->group);
	pthread_mutex_lock(&s->writing);
	code = th_sqlite_writer(s, err ?: &local);
	if (code == TH_OK)
		code = remove_all(s, ids, count, err ?: &local);
	pthread_mutex_unlock(&s->writing);
	if (code == TH_OK)
		th_group_sweep_soon(&s->group);
	return code;
}
