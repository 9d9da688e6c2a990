/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.c - the table of what was used, as those write it that write rows
 * of sessions: it has exactly what these have (and had, of those that are
 * removed), since the difference is added in the same transaction.
 */
#include "sqlite/sqlite.h"
#include "store/usage.h"

const char *th_usage_column(sqlite3_stmt *st, struct th_usage_row *ret)
{
	int64_t crc = 0;
	bool good;

	*ret = (struct th_usage_row){ 0 };
	good = th_column_str(st, 0, &ret->user) && th_column_i64(st, 1, &ret->day) &&
	       th_column_str(st, 2, &ret->agent) && th_column_str(st, 3, &ret->model) &&
	       th_column_i64(st, 4, &ret->sessions) && th_column_i64(st, 5, &ret->turns) &&
	       th_column_i64(st, 6, &ret->calls) && th_column_i64(st, 7, &ret->tokens_in) &&
	       th_column_i64(st, 8, &ret->tokens_cached) &&
	       th_column_i64(st, 9, &ret->tokens_out) && th_column_i64(st, 10, &ret->cost_nano) &&
	       th_column_i64(st, 11, &crc) && crc == th_usage_crc(ret);
	return good ? NULL : "it is not what was written";
}

enum th_code th_db_fail_usage(struct th_db *db, const struct th_usage_row *row, const char *bad,
			      struct th_err *err)
{
	return th_fail(err, TH_ECORRUPT, "%s is damaged: usage of day %lld: %s", db->path,
		       (long long)row->day, bad);
}

static void bind_key(sqlite3_stmt *st, const struct th_usage_row *row)
{
	th_bind_str(st, 1, row->user);
	sqlite3_bind_int64(st, 2, row->day);
	th_bind_str(st, 3, row->agent);
	th_bind_str(st, 4, row->model);
}

/* `more` with what its line has already.  1: there is one; 0: there is none; or a code. */
static int sum_of(struct th_db *db, enum th_statement find,
		  const char *(*column)(sqlite3_stmt *st, struct th_usage_row *ret),
		  const struct th_usage_row *more, struct th_usage_row *ret, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, find);
	struct th_usage_row row;
	const char *bad;
	int found;

	*ret = *more;
	if (st)
		bind_key(st, more);
	found = th_db_step(db, st, err);
	if (found <= 0)
		return found;
	bad = column(st, &row);
	th_usage_add(ret, &row);
	sqlite3_reset(st);
	return bad ? (int)th_db_fail_usage(db, more, bad, err) : 1;
}

enum th_code th_db_usage_add(struct th_db *db, const struct th_usage_row *more, struct th_err *err)
{
	struct th_usage_row whole;
	int found = sum_of(db, TH_SQL_USAGE_FIND, th_usage_column, more, &whole, err);
	sqlite3_stmt *st;

	if (found < 0)
		return (enum th_code)found;
	st = th_db_get(db, found ? TH_SQL_USAGE_UPDATE : TH_SQL_USAGE_INSERT);
	if (st) {
		const int64_t numbers[] = { whole.sessions,  whole.turns,         whole.calls,
					    whole.tokens_in, whole.tokens_cached, whole.tokens_out,
					    whole.cost_nano };

		bind_key(st, &whole);
		for (int i = 0; i < (int)TH_COUNT(numbers); i++)
			sqlite3_bind_int64(st, 5 + i, numbers[i]);
		sqlite3_bind_int64(st, 12, th_usage_crc(&whole));
	}
	found = th_db_step(db, st, err);
	return found < 0 ? (enum th_code)found : TH_OK;
}

/* ---- what sessions say themselves ---- */

static uint32_t used_crc(const struct th_usage_row *row)
{
	const int64_t numbers[] = { row->used.tokens_written, row->used.model_ms,
				    row->used.tools_ms, row->used.person_ms };
	uint32_t crc = th_usage_crc(row);

	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		crc = th_crc_u64(crc, (uint64_t)numbers[i]);
	return crc;
}

const char *th_used_column(sqlite3_stmt *st, struct th_usage_row *ret)
{
	int64_t crc = 0;
	bool good;

	*ret = (struct th_usage_row){ 0 };
	good = th_column_str(st, 0, &ret->user) && th_column_i64(st, 1, &ret->day) &&
	       th_column_str(st, 2, &ret->agent) && th_column_str(st, 3, &ret->model) &&
	       th_column_i64(st, 4, &ret->used.tokens_written) &&
	       th_column_i64(st, 5, &ret->used.model_ms) &&
	       th_column_i64(st, 6, &ret->used.tools_ms) &&
	       th_column_i64(st, 7, &ret->used.person_ms) && th_column_i64(st, 8, &crc) &&
	       crc == used_crc(ret);
	return good ? NULL : "it is not what was written";
}

enum th_code th_db_used_add(struct th_db *db, const struct th_usage_row *more, struct th_err *err)
{
	struct th_usage_row whole;
	int found = sum_of(db, TH_SQL_USED_FIND, th_used_column, more, &whole, err);
	sqlite3_stmt *st;

	if (found < 0)
		return (enum th_code)found;
	st = th_db_get(db, TH_SQL_USED_WRITE);
	if (st) {
		bind_key(st, &whole);
		sqlite3_bind_int64(st, 5, whole.used.tokens_written);
		sqlite3_bind_int64(st, 6, whole.used.model_ms);
		sqlite3_bind_int64(st, 7, whole.used.tools_ms);
		sqlite3_bind_int64(st, 8, whole.used.person_ms);
		sqlite3_bind_int64(st, 9, used_crc(&whole));
	}
	found = th_db_step(db, st, err);
	return found < 0 ? (enum th_code)found : TH_OK;
}

/* ---- a store from before ---- */

enum th_code th_db_usage_begin(struct th_db *db, struct th_err *err)
{
	static const struct th_session_row nothing;
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_ALL);
	struct th_usage_sums sums TH_CLEANUP(th_usage_sums_deinit) = {};
	enum th_code code = TH_OK;
	int status;

	th_usage_sums_init(&sums);
	while ((status = th_db_step(db, st, err)) == 1 && code == TH_OK) {
		struct th_session_row before = nothing;
		struct th_usage_row line;
		struct th_placed_row r;

		if (th_session_column(st, &r)) /* damaged: nothing that verify does not tell */
			continue;
		before.user = r.row.user;
		before.agent = r.row.agent;
		before.model = r.row.model;
		if (th_usage_of(NULL, &r.row, &line))
			code = th_usage_sums_add(&sums, &line, err);
		/* What a fork has of its parent's is not known any more. */
		if (!code && r.row.parent.len == 0 && th_usage_of(&before, &r.row, &line))
			code = th_usage_sums_add(&sums, &line, err);
	}
	if (status == 1)
		sqlite3_reset(st);
	if (status < 0)
		code = (enum th_code)status;
	for (size_t i = 0; i < sums.count && code == TH_OK; i++)
		code = th_db_usage_add(db, &sums.list[i], err);
	return code;
}
