/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - what was used, when somebody asks: the table of sums, and
 * what is still in `recent`.
 */
#include "store/usage.h"
#include "sqlite/sqlite.h"

struct asking {
	struct th_db *db;
	const struct th_usage_filter *filter;
	struct th_usage_sums sums;
};

static enum th_code take_line(struct asking *a, const struct th_usage_row *row, struct th_err *err)
{
	struct th_usage_row group;

	if (!th_usage_takes(a->filter, row))
		return TH_OK;
	group = th_usage_group(a->filter->by, row);
	return th_usage_sums_add(&a->sums, &group, err);
}

/* A table of sums: all of its lines, or those of a user; `column` reads one. */
struct table {
	enum th_statement all, of_user;
	const char *(*column)(sqlite3_stmt *st, struct th_usage_row *ret);
};

static enum th_code take_table(struct asking *a, const struct table *t, struct th_err *err)
{
	const struct th_usage_filter *f = a->filter;
	/* Whoever has no user is "local", too. */
	bool of_user = f->user.len > 0 && !th_str_is(f->user, TH_USER_LOCAL);
	sqlite3_stmt *st = th_db_get(a->db, of_user ? t->of_user : t->all);
	enum th_code code = TH_OK;
	int status;

	if (st && of_user) {
		th_bind_str(st, 1, f->user);
		sqlite3_bind_int64(st, 2, f->from_day ? f->from_day : INT64_MIN);
		sqlite3_bind_int64(st, 3, f->to_day ? f->to_day : INT64_MAX);
	}
	while ((status = th_db_step(a->db, st, err)) == 1 && code == TH_OK) {
		struct th_usage_row row;
		const char *bad = t->column(st, &row);

		code = bad ? th_db_fail_usage(a->db, &row, bad, err) : take_line(a, &row, err);
	}
	if (status == 1)
		sqlite3_reset(st);
	return status < 0 ? (enum th_code)status : code;
}

/* What the row of a session does not have yet. */
static enum th_code take_newer(struct asking *a, const struct th_recent_row *e, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(a->db, TH_SQL_SESSION_NUMBER);
	struct th_session_row before;
	struct th_usage_row more;
	struct th_placed_row r;
	enum th_code code = TH_OK;
	int status;

	if (st)
		th_bind_u64(st, 1, e->number);
	status = th_db_step(a->db, st, err);
	if (status != 1)
		return status < 0 ? (enum th_code)status : TH_OK;
	if (!th_session_column(st, &r) && r.last_place < e->place) {
		before = r.row;
		th_recent_apply(e, &r);
		if (th_usage_of(&before, &r.row, &more))
			code = take_line(a, &more, err);
	}
	sqlite3_reset(st);
	return code;
}

enum th_code th_sqlite_usage(struct th_store *store, const struct th_usage_filter *filter,
			     th_usage_fn *fn, void *ctx, struct th_err *err)
{
	static const struct table tables[] = {
		{ TH_SQL_USAGE_ALL, TH_SQL_USAGE_OF_USER, th_usage_column },
		{ TH_SQL_USED_ALL, TH_SQL_USED_OF_USER, th_used_column },
	};
	struct th_sqlite *s = th_sqlite_of(store);
	struct asking a = { .db = &s->reader, .filter = filter };
	enum th_code code = th_sqlite_read_begin(s, err);

	if (code != TH_OK)
		return code;
	th_usage_sums_init(&a.sums);
	for (size_t i = 0; i < TH_COUNT(tables) && code == TH_OK; i++)
		code = take_table(&a, &tables[i], err);
	if (code == TH_OK)
		code = th_recent_load(a.db, err);
	for (size_t i = 0; i < a.db->recent.count && code == TH_OK; i++)
		code = take_newer(&a, &a.db->recent.list[i], err);
	th_sqlite_read_end(s);
	if (code == TH_OK)
		code = th_usage_give(&a.sums, fn, ctx, err);
	th_usage_sums_deinit(&a.sums);
	return code;
}
