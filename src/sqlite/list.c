/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - lists of sessions: their rows, and what is newer than these. */
#include <stdlib.h>

#include "sqlite/sqlite.h"

/* A list in its order, of two: rows as they are in their table, and those of which `recent` knows
 * something newer. */
struct listing {
	struct th_db *db;
	const struct th_session_filter *filter;
	sqlite3_stmt *st;
	enum th_statement id;  /* st's */
	bool in_place;         /* what is newer does not move a row: there is only one list */
	struct th_arena arena; /* of `newer` */
	struct th_placed_row *newer, row;
	size_t newer_count, newer_at;
};

static int in_order(const void *a, const void *b, void *order)
{
	const struct th_placed_row *x = a, *y = b;

	return th_list_compare(*(const enum th_list_order *)order, &x->row, &y->row);
}

static enum th_code row_damaged(struct th_db *db, const struct th_placed_row *r, const char *bad,
				struct th_err *err)
{
	return th_db_fail_session(db, r->row.session_id, bad, err);
}

/* As far as `recent` says. */
static bool newer_may_do(const struct th_session_filter *f, const struct th_recent_row *e)
{
	if (f->state.len > 0 && !th_str_eq(f->state, th_str_n(e->state, e->state_len)))
		return false;
	return f->order == TH_LIST_CREATED || f->after.id.len == 0 || e->updated_ms <= f->after.ms;
}

static enum th_code newer_load(struct listing *l, struct th_err *err)
{
	struct th_db *db = l->db;
	enum th_code code = th_recent_load(db, err);
	size_t count = db->recent.count;
	enum th_list_order order = l->filter->order;

	if (code != TH_OK || count == 0 || l->in_place)
		return code;
	l->newer = th_try_alloc(count * sizeof(*l->newer));
	if (!l->newer)
		return th_fail_memory(err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		const struct th_recent_row *e = &db->recent.list[i];
		sqlite3_stmt *st;
		struct th_placed_row *r = &l->newer[l->newer_count];
		int status;

		if (!newer_may_do(l->filter, e))
			continue;
		st = th_db_get(db, TH_SQL_SESSION_NUMBER);
		if (st)
			th_bind_u64(st, 1, e->number);
		status = th_db_step(db, st, err);
		if (status < 0)
			return (enum th_code)status;
		if (status == 0)
			continue;
		const char *bad = th_session_column(st, r);
		uint64_t place = r->last_place;

		code = bad ? row_damaged(db, r, bad, err) : th_recent_patch(db, r, err);
		if (code == TH_OK && r->last_place > place) {
			code = th_row_keep(&l->arena, &r->row, err);
			l->newer_count++;
		}
		sqlite3_reset(st);
	}
	if (code == TH_OK && l->newer_count > 0)
		qsort_r(l->newer, l->newer_count, sizeof(*l->newer), in_order, &order);
	return code;
}

/* The next row of the table that is as it says; 1, 0, or a code. */
static int listing_step(struct listing *l, struct th_err *err)
{
	const struct th_recent_row *newer;
	int status;

	do {
		enum th_code code = TH_OK;
		const char *bad;

		status = th_db_step(l->db, l->st, err);
		if (status != 1)
			break;
		bad = th_session_column(l->st, &l->row);
		newer = NULL;
		code = bad ? row_damaged(l->db, &l->row, bad, err)
			   : th_recent_find(l->db, l->row.number, l->row.last_place, &newer, err);
		if (code == TH_OK && newer && l->in_place)
			code = th_recent_patch(l->db, &l->row, err);
		if (code != TH_OK)
			return (int)code;
	} while (newer && !l->in_place);
	return status;
}

/* What its first task says, when the title has not the text; 1, 0, or a code. */
static int takes(struct listing *l, const struct th_placed_row *r, struct th_err *err)
{
	struct th_str task = {};
	bool ask, good = th_filter_takes(l->filter, &r->row, NULL, &ask);
	sqlite3_stmt *st;
	int64_t crc = 0;
	int status;

	if (!ask)
		return good;
	st = th_db_get(l->db, TH_SQL_TASK_GET);
	if (st)
		th_bind_u64(st, 1, r->number);
	status = th_db_step(l->db, st, err);
	if (status != 1)
		return status;
	if (th_column_str(st, 0, &task) && th_column_i64(st, 1, &crc) &&
	    crc == th_task_crc(r->number, task))
		status = th_filter_takes(l->filter, &r->row, &task, &ask);
	else
		status =
		    (int)row_damaged(l->db, r, "its row of tasks is not what was written", err);
	sqlite3_reset(st);
	return status;
}

static enum th_code listing_run(struct listing *l, th_session_fn *fn, void *ctx, struct th_err *err)
{
	const struct th_session_filter *filter = l->filter;
	enum th_list_order order = filter->order;
	size_t given = 0;
	int status = listing_step(l, err);

	while (status >= 0 && (status == 1 || l->newer_at < l->newer_count)) {
		const struct th_placed_row *newer =
		    l->newer_at < l->newer_count ? &l->newer[l->newer_at] : NULL;
		bool first = newer && (status == 0 || in_order(newer, &l->row, &order) < 0);
		const struct th_placed_row *placed = first ? newer : &l->row;
		const struct th_session_row *row = &placed->row;
		enum th_code code = TH_OK;
		int taken = takes(l, placed, err);

		if (taken < 0)
			return (enum th_code)taken;
		if (taken) {
			if (filter->limit > 0 && given++ == filter->limit)
				return TH_OK;
			code = fn(ctx, row, err);
		}
		if (code != TH_OK)
			return code;
		if (first)
			l->newer_at++;
		else
			status = listing_step(l, err);
	}
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* Which index serves it best. */
static enum th_statement list_statement(const struct th_session_filter *f)
{
	if (f->order == TH_LIST_UPDATED)
		return TH_SQL_LIST_UPDATED;
	if (th_str_is(f->state, "waiting"))
		return TH_SQL_LIST_WAITING;
	return f->user.len > 0 && !th_str_is(f->user, TH_USER_LOCAL) ? TH_SQL_LIST_USER
								     : TH_SQL_LIST_CREATED;
}

static void list_bind(const struct listing *l)
{
	const struct th_session_cursor *after = &l->filter->after;

	sqlite3_bind_int64(l->st, 1, after->id.len > 0 ? after->ms : INT64_MAX);
	th_bind_str(l->st, 2, after->id);
	if (l->id == TH_SQL_LIST_USER)
		th_bind_str(l->st, 3, l->filter->user);
}

enum th_code th_sqlite_list(struct th_store *store, const struct th_session_filter *filter,
			    th_session_fn *fn, void *ctx, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct listing l = { .db = &s->reader, .filter = filter };
	enum th_code code = th_sqlite_read_begin(s, err);

	if (code != TH_OK)
		return code;
	th_arena_init_try(&l.arena, TH_BATCH_MEMORY_MAX);
	/* Not one of the kept statements: a callback may read as well. */
	l.id = list_statement(filter);
	l.in_place = l.id == TH_SQL_LIST_CREATED || l.id == TH_SQL_LIST_USER;
	l.st = th_db_take(l.db, l.id);
	if (!l.st)
		code = th_db_fail(l.db, err);
	else
		list_bind(&l);
	if (code == TH_OK)
		code = newer_load(&l, err);
	if (code == TH_OK)
		code = listing_run(&l, fn, ctx, err);
	th_db_give(l.db, l.id, l.st);
	free(l.newer);
	th_arena_deinit(&l.arena);
	th_sqlite_read_end(s);
	return code;
}
